/* Internal to the writer of models/NAME.json: types and arguments (pt2_write_args.c), nodes (pt2_write_nodes.c), regions
 * (pt2_write_regions.c), numbers of enclosing graphs (pt2_write_numbers.c), signature and trees (pt2_write_sig.c). */
#ifndef TC_FILE_PT2_WRITE_H
#define TC_FILE_PT2_WRITE_H

#include "base/json_write.h"
#include "file/pt2.h"
#include "op/op.h"

/* A graph being written. Size expressions used as arguments become nodes, each written once before its first use. */
typedef struct {
    const tc_program *program;
    const tc_graph *graph;
    tc_arena *arena;
    tc_buf nodes, tensors, ints, bools, floats; /* the members of the lists and maps, without brackets */
    tc_map numbers;                             /* expression -> name of the value that holds it */
    tc_map sizes;                               /* expression -> tc_size_place: a dimension that it is */
    tc_map taken;                               /* names in use */
    const char **value_names;                   /* by value id */
    const tc_symvalue *hints;                   /* of every symbol, by index */
    bool *used;                                 /* by symbol: used in the output? */
    size_t nhints;
    const tc_node *at; /* node whose arguments are being written, or NULL */
    tc_status status;  /* first failure */
} tc_pt2_writer;
typedef struct {
    const char *tensor;
    int dim;
} tc_size_place;

void tc_pt2_writer_init(tc_pt2_writer *w, const tc_program *p, const tc_graph *g, tc_arena *arena, const tc_symvalue *hints, bool *used,
                        size_t nhints);
void tc_pt2_writer_deinit(tc_pt2_writer *w);
void tc_pt2_fail(tc_pt2_writer *w, tc_status s);

/* pt2.c: the name that the archive gives its program p, by which PyTorch finds it. */
const char *tc_pt2_stored_name(const tc_archive_content *c, int p);

/* pt2_examples.c */
/* Appends the example inputs that archive `from` has for p as a file of torch.save; nothing when it has none that are inputs of p. */
tc_status tc_pt2_write_examples(const tc_archive *from, const tc_program *p, tc_buf *out);

/* pt2_write_args.c */
/* A Python identifier close to `wish` that is not taken and does not clash with names in PyTorch's generated code. */
const char *tc_pt2_identifier(tc_map *taken, tc_arena *a, const char *wish, size_t n);
const char *tc_pt2_fresh_name(tc_pt2_writer *w, const char *wish); /* a name unused in the graph */
const char *tc_pt2_value_name(tc_pt2_writer *w, const tc_value *v);
void tc_pt2_write_concrete_meta(tc_json *j, const tc_program *p, const tc_tensor *t, int64_t offset, bool requires_grad);
void tc_pt2_write_arg(tc_pt2_writer *w, tc_json *j, const tc_arg *a, bool optional_tensors);
/* {"as_tensor": ...}, {"as_sym_int": ...}: how an output or result is named. */
void tc_pt2_write_ref(tc_pt2_writer *w, tc_json *j, const tc_value *v);
/* Declares v: adds its type to the tables; its sizes can be referred to from now on. */
void tc_pt2_declare(tc_pt2_writer *w, const tc_value *v);
const char *tc_pt2_number(tc_pt2_writer *w, tc_sym s); /* the name of a value equal to s; writes nodes that compute it if there is none */

/* pt2_write_nodes.c: the whole Graph object, subgraphs inside. */
void tc_pt2_write_graph(tc_pt2_writer *w, tc_json *j);

/* pt2_write_regions.c: *out: p, or a clone in which mutations under no_grad are in regions and subgraphs get outer numbers as operands. The caller
 * releases it, also after an error. */
tc_status tc_pt2_with_regions(const tc_program *p, tc_program **out);
bool tc_pt2_written_in_region(const tc_output *o); /* is the mutation written in a region, and so not part of the signature? */

/* pt2_write_numbers.c: makes numbers of the enclosing graph that a subgraph uses its operands. */
bool tc_pt2_lacks_numbers(const tc_graph *g);
tc_status tc_pt2_give_numbers(tc_graph *g);

void tc_pt2_write_guards(tc_json *j, const tc_program *p, tc_arena *arena); /* pt2_write_guards.c: the list guards_code */

/* pt2_write_sig.c */
/* extra/tc/NAME.json: guards, names of inputs and outputs, the source file. */
void tc_pt2_write_state(const tc_program *p, tc_buf *out);

#endif
