/* Internal to tc-run: record sources (feeds.c), inputs (inputs.c, dims.c, image.c), outputs and comparisons (outputs.c), compiled variants (variants.c),
 * --signature (signature.c), --trace (trace.c), --profile-shapes (shapes.c). */
#ifndef TC_RUN_RUN_H
#define TC_RUN_RUN_H

#include "cmd/cmd.h"
#include "file/pt2.h"
#include "file/stream.h"
#include "graph/graph.h"
#include "runtime/variants.h"

/* ---- feeds.c: record sources; each file or pipe is opened once, however many inputs or expectations read from it ---- */
typedef struct {
    char *path; /* "-" is stdin */
    tc_stream *stream;
    tc_tensors record, old; /* the current one; the one before it, whose memory the next one takes */
    int64_t count;          /* records read */
    bool ended;
} feed;
typedef struct {
    TC_VEC(feed *) list;
} feeds;
/* Opens the feed of "FILE#KEY" (spec, without '@'); *out_key: KEY or NULL, pointing into spec. who: "--input x", for messages about stdin. */
tc_status feed_open(tc_cmd *c, feeds *f, const char *spec, const char *who, feed **out_feed, const char **out_key);
/* Advances all feeds to the next record; one-record feeds repeat. *out_end: no feed has another record. Record 0 always exists. */
tc_status feeds_next(feeds *f, int64_t record, bool *out_end);
/* The tensor of the current record: KEY, else the only one, else the one called name. */
tc_status feed_pick(const feed *f, const char *key, const char *name, const tc_tensor **out);
void feeds_close(feeds *f);

/* ---- inputs ---- */
typedef struct inputs inputs;
/* Parses every --input. TC_USAGE, with the program's signature, when one is missing. */
tc_status inputs_open(tc_cmd *c, const tc_program *p, const char *path, feeds *f, inputs **out);
void inputs_close(inputs *in);
int inputs_count(const inputs *in);
/* The tensors of the current record, one per TC_IN_USER input in order; the caller owns the references. Inputs that the program mutates are copied. */
tc_status inputs_get(const inputs *in, tc_tensor *out);

/* dims.c: the sizes that --dim gives to symbols */
typedef struct {
    const tc_program *program;
    tc_symvalue *vars; /* by index of symbol; .bound where --dim names it */
    size_t n;
} dims;
tc_status dims_open(tc_cmd *c, const tc_program *p, dims *d);
void dims_close(dims *d);
/* A literal of --input whose sizes may be symbols of --dim. TC_USAGE names one that has no size. */
tc_status dims_literal(tc_cmd *c, const dims *d, const char *text, tc_tensor *out);
bool dims_size(const dims *d, tc_sym size, int64_t *out_n);                  /* whether all symbols of size are given; then its value */
tc_status dims_check(const dims *d, const tc_input *in, const tc_tensor *t); /* TC_CONTENT when a size of t is not that of --dim */

/* image.c: decodes an image file into the tensor that input `in` takes; owned by the caller. */
tc_status image_fit(const char *file, const tc_tensor *bytes, const tc_input *in, tc_tensor *out);

/* ---- outputs ---- */
typedef struct outputs outputs;
/* Parses --output, --expect, --to, --cast and -o; errors are reported before anything is computed. */
tc_status outputs_open(tc_cmd *c, const tc_program *p, feeds *f, outputs **out);
/* Writes and compares one record; results: the run's tensors; given: its inputs. */
tc_status outputs_put(outputs *o, int64_t record, const tc_exec *e, const tc_tensor *results, const tc_tensor *given);
/* Finishes the files, or removes them when s is an error. Returns s, a new error, or TC_DIFFERENT when a comparison failed. */
tc_status outputs_close(outputs *o, tc_status s);

/* ---- variants.c: programs for other sizes and compiled variants of the archive's program, and logging of them ---- */
typedef struct {
    tc_cmd *c;
    tc_archive *a;
    const tc_program *p; /* of the archive */
} versions;
tc_status variants_open(versions *from, const tc_exec_options *o, tc_variants **out); /* `from` must outlive the variants */

/* ---- --profile-shapes (shapes.c) ---- */
typedef struct shapes shapes;
tc_status shapes_open(tc_cmd *c, shapes **out);                               /* *out NULL without the option */
tc_status shapes_add(shapes *s, const tc_program *p, const tc_tensor *given); /* adds one run's inputs; s may be NULL */
void shapes_close(shapes *s);                                                 /* NULL is allowed */

/* ---- trace.c: --trace, --debug-values: one line on stderr per computed value; --check nan: the first NaN ends the run ---- */
typedef struct {
    const tc_cmd *c;
    bool print, check;
} trace;
tc_status trace_event(void *trace, const tc_exec_event *event);

/* ---- the signature ---- */
void signature_print(tc_buf *b, const tc_program *p, const char *path, const char *model);
void signature_print_json(tc_buf *b, const tc_program *p);

/* Splits [NAME[:HINT]=]VALUE; *out_name and *out_hint: the caller's, or NULL when absent. */
void split_spec(const char *spec, char **out_name, char **out_hint, const char **out_value);

#endif
