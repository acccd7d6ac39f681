/* Tuning files hold choices that were measured on machines, as text that can be shipped, compared and concatenated. Fields are separated by tabs:
 *
 *     cost    Intel(R) Xeon(R) ..., avx512, 2 threads    far_bytes                                  2097152
 *     tile    Intel(R) Xeon(R) ..., avx512, 2 threads    loop gelu 128x3072                         2048
 *     tile    Intel(R) Xeon(R) ..., avx512, 2 threads    addmm f32 768 128x3072 3072x768            1
 *     tile    Intel(R) Xeon(R) ..., avx512, 2 threads    addmm.columns f32 768 128x3072 3072x768    256
 *
 * A line that begins with # is a comment. cost lines are the constants of runtime/cost_model.h (tc-bench --calibrate). tile lines (tc-compile --tune) give
 * the elements of a block of an interpreted loop; or 1 if a product reads its weights in place instead of packed; or the value of a kernel's knob
 * (tc_kernel.knobs: columns and rows of a task, the algorithm of a convolution). The value 0 is the default choice. Lines of other machines are
 * kept, but have no effect; the last of several lines with the same key counts. No choice changes the bits of a result. */
#ifndef TC_RUNTIME_TUNING_H
#define TC_RUNTIME_TUNING_H

#include "kernel/kernel.h"
#include "runtime/cost_model.h"
#include "runtime/runtime.h"

typedef struct tc_tuning tc_tuning;

tc_status tc_tuning_create(int threads, tc_tuning **out); /* an empty tuning, for this machine with so many threads */
void tc_tuning_destroy(tc_tuning *t);                     /* NULL is allowed */
const char *tc_tuning_machine(const tc_tuning *t);
/* Adds the lines of a file; store: it holds tiles of many programs, which are added only where there is no line yet. TC_CONTENT: a malformed line, with
 * its number. */
tc_status tc_tuning_read(tc_tuning *t, const char *text, size_t len, const char *name, bool store);
/* The lines, sorted, after a comment with the version and this machine. For a store only the tiles; else all but lines from a store that were not used. */
void tc_tuning_write(const tc_tuning *t, bool store, tc_buf *out);
size_t tc_tuning_lines(const tc_tuning *t, bool others); /* how many lines are of this machine, or of others */

/* Sets the tuning for e, before its first run. Borrowed; NULL is allowed. */
void tc_exec_set_tuning(tc_exec *e, const tc_tuning *t);
/* Called after every call of a run, once for each choice that the call has. knob: "block", "packing" or the name of a kernel's knob; key: of its tile
 * line; choices: the possible values, ended by 0; ns: the time of the call. */
enum { TC_TUNING_CHOICES = TC_KNOB_VALUES };
typedef void (*tc_exec_timed)(void *ctx, const char *knob, const char *key, const int64_t *choices, uint64_t ns);
void tc_exec_set_timed(tc_exec *e, tc_exec_timed fn, void *ctx);

void tc_tuning_set_cost(tc_tuning *t, const char *name, int64_t value);
void tc_tuning_set_tile(tc_tuning *t, const char *key, int64_t tile);
bool tc_tuning_has_tile(tc_tuning *t, const char *key); /* and marks the line as used */
/* For measurements: calls for which `tile` is a choice of this knob use it, other calls use the default of the knob; other knobs follow the lines. NULL:
 * all knobs do. knob is borrowed. */
void tc_tuning_try(tc_tuning *t, const char *knob, int64_t tile);

#endif
