/* The parts of tc-run: where inputs come from (inputs.c), where outputs go and what they are compared with (outputs.c), what the
 * program asks for (signature.c), what every node gives (trace.c), what sizes were seen (shapes.c). */
#ifndef TC_RUN_RUN_H
#define TC_RUN_RUN_H

#include "cmd/cmd.h"
#include "file/pt2.h"
#include "file/stream.h"
#include "graph/graph.h"
#include "runtime/variants.h"

/* ---- records that are read: a file or pipe, opened once however many inputs or expectations take from it ---- */
typedef struct {
    char *path; /* "-" is stdin */
    tc_stream *stream;
    tc_tensors record; /* the current one */
    int64_t count;     /* records read */
    bool ended;
} feed;
typedef struct {
    TC_VEC(feed *) list;
} feeds;
/* "@FILE#KEY" after the '@': the feed of FILE, and KEY or NULL (it lives as long as spec). who: "--input x", for a second claim on stdin. */
tc_status feed_open(tc_cmd *c, feeds *f, const char *spec, const char *who, feed **out_feed, const char **out_key);
/* All feeds go on to the next record. One-record feeds repeat. *out_end: no feed has a further one. Record 0 is always there. */
tc_status feeds_next(feeds *f, int64_t record, bool *out_end);
/* The tensor of the current record: KEY, else the only one, else the one called name. */
tc_status feed_pick(const feed *f, const char *key, const char *name, const tc_tensor **out);
void feeds_close(feeds *f);

/* ---- inputs ---- */
typedef struct inputs inputs;
/* Parses every --input. TC_USAGE with the signature when one is missing. */
tc_status inputs_open(tc_cmd *c, const tc_program *p, const char *path, feeds *f, inputs **out);
void inputs_close(inputs *in);
int inputs_count(const inputs *in);
/* Tensors of the current record, one for each TC_IN_USER input in order; owned by the caller (references). Inputs that the program
 * writes to are copies. */
tc_status inputs_get(const inputs *in, tc_tensor *out);

/* The bytes of an image file as the tensor that the input takes (image.c); owned by the caller. */
tc_status image_fit(const char *file, const tc_tensor *bytes, const tc_input *in, tc_tensor *out);

/* ---- outputs ---- */
typedef struct outputs outputs;
/* Parses --output, --expect, --to, --cast and -o, and refuses before anything is computed. */
tc_status outputs_open(tc_cmd *c, const tc_program *p, feeds *f, outputs **out);
/* Writes and compares one record; results are the tensors of the run, given those of the inputs. */
tc_status outputs_put(outputs *o, int64_t record, const tc_exec *e, const tc_tensor *results, const tc_tensor *given);
/* Closes the files, s failing: removes them. Returns s, or a failure, or TC_DIFFERENT when a comparison found something. */
tc_status outputs_close(outputs *o, tc_status s);

/* ---- what runs at which sizes (variants.c): the program of the archive with its others and variants, and what is said of them ---- */
typedef struct {
    tc_cmd *c;
    tc_archive *a;
    const tc_program *p; /* of the archive */
} versions;
tc_status variants_open(versions *from, const tc_exec_options *o, tc_variants **out); /* from is read until the variants are destroyed */

/* ---- --profile-shapes (shapes.c) ---- */
typedef struct shapes shapes;
tc_status shapes_open(tc_cmd *c, shapes **out);                               /* NULL when it is not asked for */
tc_status shapes_add(shapes *s, const tc_program *p, const tc_tensor *given); /* one run's inputs; s NULL: nothing */
void shapes_close(shapes *s);                                                 /* NULL is allowed */

/* ---- --trace, --debug-values: a line on stderr for every value that is written; --check nan: the first NaN ends the run (trace.c) ---- */
typedef struct {
    const tc_cmd *c;
    bool print, check;
} trace;
tc_status trace_event(void *trace, const tc_exec_event *event);

/* ---- the signature ---- */
void signature_print(tc_buf *b, const tc_program *p, const char *path);
void signature_print_json(tc_buf *b, const tc_program *p);

/* [NAME[:HINT]=]VALUE; name is NULL when there is none. The copy in *out_name is the caller's. */
void split_spec(const char *spec, char **out_name, char **out_hint, const char **out_value);

#endif
