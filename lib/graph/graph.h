/* The one form of program: a graph of ATen operators over symbolic shapes.
 *
 *     program --- symctx, arena
 *        |--- inputs[]   parameter / buffer / constant / user tensor / symbolic scalar / constant leaf
 *        |--- graph      values (typed) and nodes (operator, arguments in schema order), subgraphs inside arguments
 *        |--- outputs[]  user results and mutations
 *        '--- guards, trees, sources
 *
 * Values are in single-assignment form. After functionalisation (op/functionalise.h) no node writes to an argument or
 * aliases one; mutation stands in the outputs. Everything is owned by the program's arena; nothing is freed singly. */
#ifndef TC_GRAPH_GRAPH_H
#define TC_GRAPH_GRAPH_H

#include "base/mem.h"
#include "sym/sym.h"
#include "tensor/tensor.h"

typedef struct tc_value tc_value;
typedef struct tc_node tc_node;
typedef struct tc_graph tc_graph;
typedef struct tc_program tc_program;
struct tc_op; /* op/op.h: operators are seen by the graph only as handles with a name */

/* ---- types ---- */
typedef struct {
    tc_dtype dtype;
    int rank;
    const tc_sym *size;   /* rank entries */
    const tc_sym *stride; /* rank entries, elements; PyTorch's visible strides. NULL: contiguous */
    bool requires_grad;
} tc_meta;

typedef enum {
    TC_V_NONE,   /* an absent optional result */
    TC_V_TENSOR, /* meta */
    TC_V_LIST,   /* Tensor[]: elements are values of their own (list, nlist) */
    TC_V_SYM     /* int, float or bool: sym is its expression (an own symbol u0 when it comes from data) */
} tc_value_kind;

typedef struct {
    const char *file;
    int line, col;
    const char *calls; /* of modules, outermost first: "blocks.3;blocks.3.attn@1" is the second call of blocks.3.attn; NULL: the model itself */
    int checkpoint;    /* which call of torch.utils.checkpoint it stands in: what is saved there is computed again in the backward; 0: none */
    bool again;        /* such a computation: not joined with the first (grad/recompute.c) */
} tc_source;

/* The module that it stands in, as messages name it: "blocks.3.attn@1"; NULL: the model itself. */
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
    int out_index;     /* of producer */
    tc_node *producer; /* NULL for graph inputs */
    tc_graph *graph;
    void *aux; /* for the pass that is running; NULL between passes */
};

/* ---- arguments: one entry for every parameter of the schema, defaults filled in ---- */
typedef enum __attribute__((packed)) { /* a byte: nodes have several arguments, graphs many nodes */
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

/* An operand or result of a node that was written to after the node ran, before functionalisation: its gradient may not need it. */
typedef struct tc_overwritten {
    int place, element; /* argument, and which of a list (-1: none); ~k: result k */
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
    const tc_node *origin;   /* the node of the captured program that this one came from; NULL: itself */
    bool no_grad;            /* stands in a no_grad region: no gradient flows through it */
    bool straight;           /* ... but for a write there: what was written to keeps its history, the gradient of result 0 is that of argument 0 */
    bool uncounted;          /* a write that leaves no node overwritten: of state that a replayed program gives back */
    bool leaf;               /* requires_grad_() was called on a result: it requires a gradient whatever the arguments do */
    const char *annotations; /* JSON text of PT2 metadata that tc only passes through, or NULL */
    tc_node *prev, *next;
    tc_graph *graph;
    void *aux;
};

struct tc_graph {
    tc_program *program;
    tc_graph *parent; /* of a subgraph */
    const char *name;
    tc_value **inputs;
    int ninputs;
    tc_value **outputs;
    int noutputs;
    bool single_tensor_return; /* subgraphs: the body returned a bare tensor */
    tc_node *first, *last;
    size_t nnodes;
    uint32_t nvalues;               /* ids handed out */
    tc_map names;                   /* that are taken, in the program's arena -> the number to try next for others that begin so */
    bool names_follow;              /* what tc_graph_call appends has no name until the caller gives it one */
    tc_graph *first_sub, *next_sub; /* every subgraph of the program, listed from the main graph */
};

/* ---- signature ---- */
typedef enum {
    TC_IN_PARAMETER,
    TC_IN_BUFFER,
    TC_IN_CONSTANT /* tensor */,
    TC_IN_USER,
    TC_IN_LEAF /* constant input: no value, arg holds it */,
    TC_IN_TOKEN
} tc_input_kind;
typedef struct {
    tc_input_kind kind;
    tc_value *value;  /* entry of graph->inputs, or NULL for a leaf */
    const char *name; /* FQN of parameters, buffers, constants; path ("idx", "past.0") of user inputs */
    bool persistent;  /* buffers */
    tc_arg leaf;      /* TC_IN_LEAF */
    tc_source read;   /* TC_IN_LEAF: the line of the source that first reads it, where the program was captured */
    tc_tensor data;   /* parameters, buffers, constants; storage NULL when weights are outside */
    int alias_of;     /* index of the input whose storage this one is (tied), or -1 */
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
    const char *op; /* the operator that requires it; NULL: the model's line does */
    bool apart;     /* nothing rests on it: it may be left out (--check-guards=no) */
    bool value;     /* while capturing: the model needs the number itself, and any would do; not stored */
    bool branch;    /* while capturing: the model has another side for sizes with which it does not hold; not stored */
} tc_guard;         /* must hold when run */

/* What a run gives to the user: results, gradients, numbers; the rest are writes. */
static inline bool tc_output_is_result(const tc_output *o) {
    return o->kind == TC_OUT_USER || o->kind == TC_OUT_LEAF || (o->kind >= TC_OUT_LOSS && o->kind <= TC_OUT_GRAD_USER);
}

/* Structure of inputs and outputs as a tree (pytree). */
typedef enum { TC_TREE_LEAF, TC_TREE_TUPLE, TC_TREE_LIST, TC_TREE_DICT, TC_TREE_OTHER } tc_tree_kind;
typedef struct tc_tree {
    tc_tree_kind kind;
    const char *type;    /* TREE_OTHER: PyTorch's type name, for instance "collections.namedtuple" */
    const char *context; /* JSON text as PyTorch writes it, or NULL */
    bool context_bare;   /* it is a value of the tree's JSON itself (defaultdict, classes that users register), not the text of a string there */
    const char **keys;   /* dict keys, field names; or NULL */
    struct tc_tree **children;
    int n;
} tc_tree;

/* What a call of a module took and gave (PyTorch's preserve_module_call_signature). Values are of the main graph; of a call of which one is gone
 * nothing is known any more. */
typedef struct {
    const char *module;       /* "blocks.2"; "blocks.2@1": its second call */
    tc_arg *inputs, *outputs; /* leaves of the trees: values, or what else they are */
    int ninputs, noutputs;
    tc_tree *in_tree, *out_tree;
    const char **names; /* of forward's parameters; NULL: not known */
    int nnames;
} tc_call_signature;

struct tc_program {
    tc_arena arena;
    tc_symctx *sym;
    const char *name;       /* "model", "train" */
    const char *instead_of; /* this program takes its place at sizes that break the guards of the one of this name; NULL: of none */
    tc_graph *graph;
    tc_input *inputs;
    int ninputs;
    tc_output *outputs;
    int noutputs;
    TC_VEC(tc_guard) guards;
    TC_VEC(tc_symvalue) examples;          /* while capturing: what symbols are in the example inputs, by index; not copied, not stored */
    const char *device;                    /* that its archive names, as cuda:1; NULL: cpu. Runs are on the CPU in any case */
    tc_tree *in_tree, *out_tree;           /* in_tree: ((args...), {kwargs}) */
    TC_VEC(tc_call_signature) calls;       /* of modules that were asked for */
    const char *source_text, *source_file; /* the model source, when the archive carries it */
    bool functional;                       /* no in-place or aliasing node: set by functionalise, required by later passes */
    bool no_grad;                          /* while set, new nodes' results require no gradient (no_grad regions during capture) */
    bool forward_mode;                     /* while set, gradients are built to be differentiated by what comes in: where PyTorch's two modes differ,
                                              the transpose of its forward one */
    int nfresh;                            /* symbols handed out by tc_program_fresh */
    tc_status refused;                     /* a rule asked for the value of an argument that has none yet (op/emit.h); taken by tc_op_checked */
    tc_sym wanted;          /* the symbolic number that the last rule to give up needed the value of: a capture may pin it and ask again */
    struct tc_watch *watch; /* borrowed: told of the passes over it and its copies (op/watch.h); NULL: nobody is */
    int refs;
};

/* Whether the guards hold for these values of its symbols, by index; those that need one which is not bound are passed over. */
bool tc_program_admits(const tc_program *p, const tc_symvalue *vars, size_t n);
/* Whether one takes the place of the other: what a run hands over and gets back is the same but for types and sizes. */
bool tc_program_same_form(const tc_program *a, const tc_program *b);

/* Calls fn for the place of every value in p->calls. */
void tc_program_each_call_value(tc_program *p, void (*fn)(void *ctx, tc_value **place), void *ctx);

/* ---- building ---- */
tc_program *tc_program_create(const char *name);
tc_program *tc_program_retain(tc_program *p);
void tc_program_release(tc_program *p);
tc_graph *tc_graph_create(tc_program *p, tc_graph *parent, const char *name);

/* A new value that nothing produces yet; name NULL: made from `hint`, unique. */
tc_value *tc_graph_value(tc_graph *g, tc_value_kind kind, const char *hint);
tc_value *tc_graph_add_input(tc_graph *g, tc_value *v); /* appends to graph->inputs */
void tc_graph_add_output(tc_graph *g, tc_value *v);
/* Appends a node (before `before` if not NULL) with room for nargs arguments and nouts outputs (values set by the caller). */
tc_node *tc_graph_node(tc_graph *g, const struct tc_op *op, int nargs, int nouts, tc_node *before);
void tc_node_set_output(tc_node *n, int i, tc_value *v);
void tc_node_remove(tc_node *n);                /* unlink; its outputs must be unused */
void tc_node_move(tc_node *n, tc_node *before); /* within its graph; NULL: to the end */
const char *tc_graph_unique(tc_graph *g, const char *hint);
tc_input *tc_program_add_input(tc_program *p, tc_input in);                      /* value must be a graph input already, or NULL */
tc_output *tc_program_add_output(tc_program *p, tc_output out);                  /* a value is also appended to graph->outputs */
tc_sym tc_program_fresh(tc_program *p, tc_symtype type, int64_t lo, int64_t hi); /* a new symbol for a number that comes from data: u0, u1, ... */
bool tc_sym_holds_data(tc_sym s);                                                /* holds such a symbol, told by its name as in PyTorch */
void tc_program_guard(tc_program *p, tc_guard g); /* also assumed in the symctx, unless apart; duplicates merge; op is copied */
void tc_program_set_example(tc_program *p, tc_sym var, int64_t value);
bool tc_program_example(const tc_program *p, tc_sym s, int64_t *out); /* the value in the example inputs; false: there is none */
/* s becomes a constant: what it is known to be, else its value in the example, with a guard of op (NULL: of the model). False: neither is known. */
bool tc_program_pin(tc_program *p, tc_sym s, tc_source source, const char *op, int64_t *out);

/* Copies type (kind, meta, sym, list with new element values) of `like`, also of another program, to v. */
void tc_value_copy_type(tc_value *v, const tc_value *like);
tc_meta tc_meta_make(tc_arena *a, tc_dtype dtype, int rank, const tc_sym *size, const tc_sym *stride);
tc_sym *tc_contiguous_sym_strides(tc_symctx *c, tc_arena *a, int rank, const tc_sym *size);
tc_sym tc_meta_numel(tc_symctx *c, const tc_meta *m);

/* Calls fn for every value that the node reads (lists and subgraph operands included). */
void tc_node_each_input(const tc_node *n, void (*fn)(void *ctx, tc_value **place), void *ctx);
/* Does a result of n bring in the symbol var, which neither an argument of n nor its type has? */
bool tc_node_decides(const tc_node *n, tc_sym var);
bool tc_node_brings_symbols(const tc_node *n); /* of any symbol: item, nonzero, indexing by a mask */
/* Replaces every use of a by b in g (nodes after `from`, or all) and its outputs, and in the signature. Linear in the graph:
 * passes that replace much use tc_rewrite below. */
void tc_graph_replace(tc_graph *g, tc_value *a, tc_value *b);
typedef struct {
    tc_value **to;
    size_t n;
} tc_rewrite; /* by value id; one linear sweep applies all */
void tc_graph_apply_rewrite(tc_graph *g, const tc_rewrite *r);
/* The nodes of a subgraph again in another graph of the same program. map: by value id of `from`, its inputs filled in; all its values after. */
void tc_graph_copy_nodes(tc_graph *to, const tc_graph *from, tc_value **map, tc_node *before);
/* The nodes of another program before `before`. map: by its value ids, its inputs filled in, all its values after; by: as tc_sym_import_with has it. */
void tc_graph_import_nodes(tc_graph *to, const tc_program *from, tc_value **map, const tc_sym *by, tc_node *before);
tc_program *tc_program_clone(const tc_program *p); /* deep; weights share storage */
/* The same with a number in the place of one of p's int symbols, which stays, unused. The number must lie in its range. */
tc_program *tc_program_clone_at(const tc_program *p, tc_sym var, int64_t value);

/* ---- verify.c: structure, types, schemas, signature, single assignment; TC_CONTENT naming the node ---- */
tc_status tc_program_verify(const tc_program *p);

/* ---- print.c: short: a line a node; full: strides, sources, guards, signature ---- */
typedef enum { TC_PRINT_SHORT, TC_PRINT_FULL } tc_print_level;
void tc_program_print(tc_buf *b, const tc_program *p, tc_print_level level);
void tc_program_print_dot(tc_buf *b, const tc_program *p);
void tc_program_print_guards(tc_buf *b, const tc_program *p); /* each condition that a run must meet, and the line that made it */
void tc_arg_print(tc_buf *b, const tc_arg *a);
void tc_value_print_type(tc_buf *b, const tc_value *v); /* "f32[B, T, 64]" */

#endif
