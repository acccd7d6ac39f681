/* A tuning file: what was measured on machines, as text that can be shipped, compared and joined with cat. Fields are tab-separated:
 *
 *     cost    Intel(R) Xeon(R) ..., avx512, 2 threads    far_bytes                                  2097152
 *     tile    Intel(R) Xeon(R) ..., avx512, 2 threads    loop gelu 128x3072                         2048
 *     tile    Intel(R) Xeon(R) ..., avx512, 2 threads    addmm f32 768 128x3072 3072x768            1
 *     tile    Intel(R) Xeon(R) ..., avx512, 2 threads    addmm.columns f32 768 128x3072 3072x768    256
 *
 * A line that begins with # is a comment. cost lines are the constants of runtime/costs.h (tc-bench --calibrate). tile lines (tc-compile --tune) say how many values a block of an
 * interpreted loop holds, that a product reads its weights as they lie (1), not packed, and what else a kernel can do in several ways (tc_kernel.knobs:
 * columns and rows of a task, the form of a convolution); 0: as it is chosen without a line. Lines of other
 * machines are kept and have no effect; of two lines with one key the later one counts. Whatever it says, results keep their bits. */
#ifndef TC_RUNTIME_TUNING_H
#define TC_RUNTIME_TUNING_H

#include "kernel/kernel.h"
#include "runtime/costs.h"
#include "runtime/runtime.h"

typedef struct tc_tuning tc_tuning;

tc_status tc_tuning_create(int threads, tc_tuning **out); /* of this machine with so many threads */
void tc_tuning_destroy(tc_tuning *t);                     /* NULL is allowed */
const char *tc_tuning_machine(const tc_tuning *t);
/* Adds the lines of a file; of a store of many programs the tiles, where there is no other line. TC_CONTENT: no such line, with its number. */
tc_status tc_tuning_read(tc_tuning *t, const char *text, size_t len, const char *name, bool store);
/* Sorted, behind a comment of the version and this machine. For a store tiles alone; else all but those of a store that nobody asked for. */
void tc_tuning_write(const tc_tuning *t, bool store, tc_buf *out);
size_t tc_tuning_lines(const tc_tuning *t, bool others); /* of this machine, or of others */

/* Runs of e, which was not run yet, are by it from now on; borrowed; NULL is allowed. */
void tc_exec_set_tuning(tc_exec *e, const tc_tuning *t);
/* Called after every call of a run for each of its choices: what is chosen ("block", "packing" or a kernel's knob), what a tile line calls it,
 * the values that it may have (ended by 0), the call's time. */
enum { TC_TUNING_CHOICES = TC_KNOB_VALUES };
typedef void (*tc_exec_timed)(void *ctx, const char *knob, const char *key, const int64_t *choices, uint64_t ns);
void tc_exec_set_timed(tc_exec *e, tc_exec_timed fn, void *ctx);

void tc_tuning_set_cost(tc_tuning *t, const char *name, int64_t value);
void tc_tuning_set_tile(tc_tuning *t, const char *key, int64_t tile);
bool tc_tuning_has_tile(tc_tuning *t, const char *key); /* and it is asked for */
/* For trials: from now on every call that has this tile among its choices of the knob takes it, others as they would without a line; other knobs
 * are by the lines. NULL: all are. knob is borrowed. */
void tc_tuning_try(tc_tuning *t, const char *knob, int64_t tile);

#endif
