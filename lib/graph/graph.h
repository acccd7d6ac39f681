/* The one form of program: a graph of ATen operators over symbolic shapes.
 *
 *     program --- symctx, arena
 *        |--- inputs[]   parameter / buffer / constant / user tensor / symbolic scalar / constant leaf
 *        |--- graph      values (typed) and nodes (operator, arguments in schema order), subgraphs inside arguments
 *        |--- outputs[]  user results and mutations
 *        '--- guards, trees, sources
 *
 * Values are in single-assignment form. After functionalisation (op/functionalise.h) no node writes to an argument or
 * aliases one; mutations are outputs of the signature. The program's arena owns everything; nothing is freed singly. */
#ifndef TC_GRAPH_GRAPH_H
#define TC_GRAPH_GRAPH_H

#include "base/mem.h"
#include "sym/sym.h"
#include "tensor/tensor.h"

typedef struct tc_value tc_value;
typedef struct tc_node tc_node;
typedef struct tc_graph tc_graph;
typedef struct tc_program tc_program;
struct tc_op; /* op/op.h: to this layer operators are handles with a name */

/* ---- types ---- */
typedef struct {
    tc_dtype dtype;
    int rank;
    const tc_sym *size;   /* rank entries */
    const tc_sym *stride; /* rank entries, in elements: the strides that PyTorch reports. NULL: contiguous */
    bool requires_grad;
} tc_meta;

typedef enum {
    TC_V_NONE,   /* an optional result that is absent */
    TC_V_TENSOR, /* meta */
    TC_V_LIST,   /* Tensor[]: elements are values of their own (list, nlist) */
    TC_V_SYM     /* int, float or bool: sym is its expression; a data-dependent number is an unbacked symbol, u0, u1, ... */
} tc_value_kind;

typedef struct {
    const char *file;
    int line, col;
    /* stack of module calls, outermost first: "blocks.3;blocks.3.attn@1" is the second call of blocks.3.attn; NULL: the model itself */
    const char *calls;
    int checkpoint; /* number of the enclosing torch.utils.checkpoint call, whose values are recomputed in the backward; 0: none */
    bool again;     /* a recomputation: CSE must not merge it with the original (grad/recompute.c) */
} tc_source;

/* The innermost module call, as messages name it: "blocks.3.attn@1"; NULL: the model itself. */
static inline const char *tc_source_module(const tc_source *s) {
    const char *last = s->calls ? strrchr(s->calls, ';') : NULL;
    return last ? last + 1 : s->calls;
}

struct tc_value {
    tc_value_kind kind;
    uint32_t id;      /* dense in its graph */
    const char *name; /* unique in its graph */
    tc_meta meta;
    tc_sym sym;
    tc_value **list;
    int nlist;
    int out_index;     /* index among the producer's results */
    tc_node *producer; /* NULL for graph inputs */
    tc_graph *graph;
    void *aux; /* scratch field of the running pass; NULL between passes */
};

/* ---- arguments: one entry for every parameter of the schema, defaults filled in ---- */
typedef enum __attribute__((packed)) { /* one byte, to keep nodes small */
                                       TC_A_NONE,
                                       TC_A_VALUE /* tensor or symbolic number */,
                                       TC_A_VALUES /* list; entries may be NULL (optional) */,
                                       TC_A_INT /* sym */,
                                       TC_A_INTS /* syms */,
                                       TC_A_SCALAR /* Scalar, float, bool literal */,
                                       TC_A_FLOATS,
                                       TC_A_BOOLS,
                                       TC_A_STRING,
                                       TC_A_DTYPE,
                                       TC_A_LAYOUT,
                                       TC_A_MEMFORMAT,
                                       TC_A_DEVICE,
                                       TC_A_GRAPH
} tc_arg_kind;

typedef struct {
    tc_arg_kind kind;
    bool is_sym; /* TC_A_SCALAR: the number is `sym` */
    int n;       /* length of lists */
    union {
        tc_value *value;
        tc_value **values;
        tc_sym sym; /* TC_A_INT: int expression; also TC_A_SCALAR with is_sym: float or bool expression */
        const tc_sym *syms;
        tc_scalar scalar;
        const double *floats;
        const bool *bools;
        const char *string; /* also device */
        tc_dtype dtype;
        int code; /* layout, memory format: PT2 codes */
        tc_graph *graph;
    };
} tc_arg;

/* Record of an operand or result of a node that was mutated after the node ran: the node's gradient must not need it. */
typedef struct tc_overwritten {
    int place, element; /* argument index and index within its list (-1: not a list); ~k: result k */
    tc_source at;       /* of the write */
    const struct tc_overwritten *next;
} tc_overwritten;

struct tc_node {
    const struct tc_op *op;
    tc_arg *args; /* schema order; higher-order operators: as called */
    tc_value **outs;
    int nargs, nouts;
    const char *name;
    tc_source source;
    const tc_overwritten *overwritten;
    const tc_node *origin; /* the node of the captured program that this one was derived from; NULL: itself */
    bool no_grad;          /* in a no_grad region: no gradient flows through it */
    /* a mutation in a no_grad region: the mutated tensor keeps its history, the gradient of result 0 passes straight to argument 0 */
    bool straight;
    bool uncounted;          /* a mutation that does not mark earlier readers as overwritten: state that a replayed program restores */
    bool leaf;               /* requires_grad_() was called on a result: it requires a gradient whatever the arguments do */
    const char *annotations; /* JSON text of PT2 node metadata that tc only passes through, or NULL */
    tc_node *prev, *next;
    tc_graph *graph;
    void *aux;
};

struct tc_graph {
    tc_program *program;
    tc_graph *parent; /* the enclosing graph of a subgraph, else NULL */
    const char *name;
    tc_value **inputs;
    int ninputs;
    tc_value **outputs;
    int noutputs;
    bool single_tensor_return; /* subgraphs: the body returned a tensor, not a tuple */
    tc_node *first, *last;
    size_t nnodes;
    uint32_t nvalues;               /* number of value ids allocated */
    tc_map names;                   /* names in use -> the next numeric suffix to try */
    bool names_follow;              /* tc_graph_call leaves new values unnamed; the caller names them */
    tc_graph *first_sub, *next_sub; /* linked list of all subgraphs of the program, from the main graph */
};

/* ---- signature ---- */
typedef enum {
    TC_IN_PARAMETER,
    TC_IN_BUFFER,
    TC_IN_CONSTANT /* tensor */,
    TC_IN_USER,
    TC_IN_LEAF /* constant input: no value, `leaf` holds it */,
    TC_IN_TOKEN
} tc_input_kind;
typedef struct {
    tc_input_kind kind;
    tc_value *value;  /* entry of graph->inputs; NULL for a leaf */
    const char *name; /* FQN of parameters, buffers, constants; path ("idx", "past.0") of user inputs */
    bool persistent;  /* buffers */
    tc_arg leaf;      /* TC_IN_LEAF */
    tc_source read;   /* TC_IN_LEAF: captured programs: the first source line that reads it */
    tc_tensor data;   /* parameters, buffers, constants; storage NULL when the weights are not loaded */
    int alias_of;     /* tied weights: index of the input that owns the storage; -1: this one does */
} tc_input;

typedef enum {
    TC_OUT_USER,
    TC_OUT_BUFFER,
    TC_OUT_PARAMETER,
    TC_OUT_USER_INPUT /* mutations: target is the input index */,
    TC_OUT_LOSS,
    TC_OUT_GRAD_PARAMETER,
    TC_OUT_GRAD_USER,
    TC_OUT_LEAF /* constant or number over the program's symbols: leaf */,
    TC_OUT_GENERATOR,
    TC_OUT_TOKEN
} tc_output_kind;
typedef struct {
    tc_output_kind kind;
    tc_value *value;
    const char *name; /* user outputs: dict key or field, else the returned variable's name, else "out.N" */
    int target;       /* mutations and gradients: index into program->inputs; -1 else */
    tc_arg leaf;
} tc_output;

typedef struct {
    tc_sym cond;
    tc_source source;
    const char *op; /* the operator that requires it; NULL: a branch or assertion of the model */
    bool apart;     /* no type or lowering relies on it, so the check may be skipped (--check-guards=no) */
    bool value;     /* capture only: the model needs a concrete number here, and any value would do */
    bool branch;    /* capture only: the model has another branch for sizes that violate it */
} tc_guard;         /* a condition on sizes that is checked at run time */

/* Is it a result for the user (value, gradient, number) rather than a mutation? */
static inline bool tc_output_is_result(const tc_output *o) {
    return o->kind == TC_OUT_USER || o->kind == TC_OUT_LEAF || (o->kind >= TC_OUT_LOSS && o->kind <= TC_OUT_GRAD_USER);
}

/* Structure of inputs and outputs as a tree (pytree). */
typedef enum { TC_TREE_LEAF, TC_TREE_TUPLE, TC_TREE_LIST, TC_TREE_DICT, TC_TREE_OTHER } tc_tree_kind;
typedef struct tc_tree {
    tc_tree_kind kind;
    const char *type;    /* PyTorch's type name, for instance "collections.namedtuple"; of a captured dict NULL, or its class if it has fields */
    const char *context; /* JSON text as PyTorch writes it, or NULL */
    bool context_bare;   /* in the serialised tree, context is a JSON value itself (defaultdict, user classes), not a string that holds JSON */
    const char **keys;   /* dict keys, field names; or NULL */
    struct tc_tree **children;
    int n;
} tc_tree;

/* Inputs and outputs of one call of a module (PyTorch's preserve_module_call_signature). Values belong to the main graph; the record is dropped when one
 * of them is removed. */
typedef struct {
    const char *module;       /* "blocks.2"; "blocks.2@1": its second call */
    tc_arg *inputs, *outputs; /* leaves of the trees: values or constants */
    int ninputs, noutputs;
    tc_tree *in_tree, *out_tree;
    const char **names; /* parameter names of forward; NULL: unknown */
    int nnames;
} tc_call_signature;

struct tc_program {
    tc_arena arena;
    tc_symctx *sym;
    const char *name;       /* "model", "train" */
    const char *instead_of; /* this program replaces the one of this name at sizes that violate its guards; NULL: it replaces none */
    tc_graph *graph;
    tc_input *inputs;
    int ninputs;
    tc_output *outputs;
    int noutputs;
    TC_VEC(tc_guard) guards;
    TC_VEC(tc_symvalue) examples;          /* capture only: the symbols' values in the example inputs, by index; neither cloned nor stored */
    const char *device;                    /* device that the archive names, such as cuda:1; NULL: cpu. Execution is on the CPU in any case */
    tc_tree *in_tree, *out_tree;           /* in_tree: ((args...), {kwargs}) */
    TC_VEC(tc_call_signature) calls;       /* calls of the modules whose signature is preserved */
    const char *source_text, *source_file; /* the model source, when the archive carries it */
    bool functional;                       /* no node mutates or aliases: set by functionalise, required by later passes */
    bool no_grad;                          /* while set, new nodes are in a no_grad region (capture) */
    bool forward_mode;                     /* while set, gradients are built as the transpose of PyTorch's forward mode, where its two modes differ */
    int nfresh;                            /* number of symbols made by tc_program_fresh */
    tc_status refused;                     /* error of a rule that needed an argument's concrete value (op/emit.h); taken by tc_op_checked */
    tc_sym wanted;                         /* the symbolic number whose value that rule needed: a capture may pin it and retry */
    struct tc_watch *watch;                /* borrowed: observer of the passes over this program and its clones (op/watch.h), or NULL */
    int refs;
};

/* Do the guards hold for these values of the symbols (by index)? Guards that need an unbound symbol are skipped. */
bool tc_program_admits(const tc_program *p, const tc_symvalue *vars, size_t n);
/* Have the programs the same inputs and outputs but for dtypes and sizes, so that one can run in place of the other? */
bool tc_program_same_form(const tc_program *a, const tc_program *b);

/* Calls fn with the address of every value pointer in p->calls. */
void tc_program_each_call_value(tc_program *p, void (*fn)(void *ctx, tc_value **place), void *ctx);

/* ---- building ---- */
tc_program *tc_program_create(const char *name);
tc_program *tc_program_retain(tc_program *p);
void tc_program_release(tc_program *p);
tc_graph *tc_graph_create(tc_program *p, tc_graph *parent, const char *name);

/* A new value without a producer, owned by the program's arena, with a unique name made from `hint`. */
tc_value *tc_graph_value(tc_graph *g, tc_value_kind kind, const char *hint);
tc_value *tc_graph_add_input(tc_graph *g, tc_value *v); /* appends to graph->inputs */
void tc_graph_add_output(tc_graph *g, tc_value *v);
/* Inserts a node before `before` (NULL: appends it) with space for nargs arguments and nouts outputs, which the caller fills in. */
tc_node *tc_graph_node(tc_graph *g, const struct tc_op *op, int nargs, int nouts, tc_node *before);
void tc_node_set_output(tc_node *n, int i, tc_value *v);
void tc_node_remove(tc_node *n);                /* unlinks it; its outputs must be unused */
void tc_node_move(tc_node *n, tc_node *before); /* within its graph; NULL: to the end */
const char *tc_graph_unique(tc_graph *g, const char *hint);
tc_input *tc_program_add_input(tc_program *p, tc_input in);     /* in.value: a graph input already, or NULL */
tc_output *tc_program_add_output(tc_program *p, tc_output out); /* out.value is appended to graph->outputs, too */
/* a new unbacked symbol (u0, u1, ...) for a data-dependent number in [lo, hi] */
tc_sym tc_program_fresh(tc_program *p, tc_symtype type, int64_t lo, int64_t hi);
void tc_program_guard(tc_program *p, tc_guard g); /* also assumed in the symctx, unless g.apart; duplicates are merged; g.op is copied */
void tc_program_set_example(tc_program *p, tc_sym var, int64_t value);
bool tc_program_example(const tc_program *p, tc_sym s, int64_t *out); /* value of s in the example inputs; false: unknown */
/* Specialises s to a constant: its known value, else its value in the example inputs, which adds a guard on behalf of op (NULL: the model). False:
 * neither is known. */
bool tc_program_pin(tc_program *p, tc_sym s, tc_source source, const char *op, int64_t *out);

/* Gives v the type of `like` (kind, meta, sym, new element values of a list), which may belong to another program. */
void tc_value_copy_type(tc_value *v, const tc_value *like);
tc_meta tc_meta_make(tc_arena *a, tc_dtype dtype, int rank, const tc_sym *size, const tc_sym *stride);
tc_sym *tc_contiguous_sym_strides(tc_symctx *c, tc_arena *a, int rank, const tc_sym *size);
tc_sym tc_meta_numel(tc_symctx *c, const tc_meta *m);

/* Calls fn with the address of every value pointer that the node reads, in lists and subgraph operands too. */
bool tc_node_has_operand(const tc_node *n, const tc_value *v); /* an argument is v, or a list that holds v */
void tc_node_each_input(const tc_node *n, void (*fn)(void *ctx, tc_value **place), void *ctx);
/* Does n define the symbol var: in a result, and in no argument or argument's type? */
bool tc_node_decides(const tc_node *n, tc_sym var);
bool tc_node_brings_symbols(const tc_node *n); /* does n define any symbol: item, nonzero, indexing by a mask? */
/* Replaces every use of a by b in g, its outputs and the signature. Linear in the graph: passes with many replacements use tc_rewrite below. */
void tc_graph_replace(tc_graph *g, tc_value *a, tc_value *b);
typedef struct {
    tc_value **to;
    size_t n;
} tc_rewrite; /* replacements by value id; one linear sweep applies all of them */
/* What v has become: replacements may be replaced in turn. */
static inline tc_value *tc_rewritten(const tc_rewrite *r, tc_value *v) {
    while (v->id < r->n && r->to[v->id] && r->to[v->id] != v) v = r->to[v->id];
    return v;
}
void tc_graph_apply_rewrite(tc_graph *g, const tc_rewrite *r);
/* Copies the nodes of a subgraph into another graph of the same program. map: by value id of `from`; on entry its inputs, on return all its values. */
void tc_graph_copy_nodes(tc_graph *to, const tc_graph *from, tc_value **map, tc_node *before);
/* Copies the nodes of another program before `before`. map: by its value ids; on entry its inputs, on return all its values; by: replacements of its
 * symbols (tc_sym_import_with). */
void tc_graph_import_nodes(tc_graph *to, const tc_program *from, tc_value **map, const tc_sym *by, tc_node *before);
tc_program *tc_program_clone(const tc_program *p); /* deep; weights share storage */
/* A clone with p's int symbol var replaced by a number within its range; the symbol remains, unused. */
tc_program *tc_program_clone_at(const tc_program *p, tc_sym var, int64_t value);

/* ---- verify.c: structure, types, schemas, signature, single assignment; TC_CONTENT naming the node ---- */
tc_status tc_program_verify(const tc_program *p);
/* Simplifies all sizes and size arguments by the ranges of symbols and by the guards that are there now (op/simplify.c). */
void tc_program_simplify(tc_program *p);

/* ---- print.c: short: one line per node; full: with strides, sources, guards, signature ---- */
typedef enum { TC_PRINT_SHORT, TC_PRINT_FULL } tc_print_level;
void tc_program_print(tc_buf *b, const tc_program *p, tc_print_level level);
void tc_program_print_dot(tc_buf *b, const tc_program *p);
void tc_program_print_guards(tc_buf *b, const tc_program *p); /* one line per guard: the condition and the source line that made it */
void tc_arg_print(tc_buf *b, const tc_arg *a);
void tc_value_print_type(tc_buf *b, const tc_value *v); /* "f32[B, T, 64]" */

#endif
