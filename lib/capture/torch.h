/* The tensor side of the model language: what torch_*.c and capture.c share.
 *
 *     tensor --- concrete: t holds memory; operators run at once through eval (constructors, initialisers, corpora)
 *            '-- symbolic: v is a value of the graph being captured; operators append nodes
 *
 * While a graph is captured every operator is recorded. A concrete tensor that takes part (a parameter, a buffer, a constant made before)
 * becomes an input of the program: lift says which value it is. */
#ifndef TC_CAPTURE_TORCH_H
#define TC_CAPTURE_TORCH_H

#include "base/rng.h"
#include "capture/object.h"
#include "op/op.h"

typedef struct tensor tensor;
struct tensor {
    obj h;       /* torch.Tensor, torch.nn.Parameter or torch.nn.Buffer */
    tc_tensor t; /* storage NULL: symbolic. Listed in tc_torch.owned, released with the context */
    tc_value *v; /* in graph `v->graph`; NULL: concrete and not lifted */
    bool requires_grad;
    bool computed;              /* the concrete result of an operator on what requires a gradient: no leaf */
    bool persistent;            /* Buffer */
    bool meta;                  /* on the device "meta": its numbers are nobody's */
    const tc_source *inference; /* where it was made in inference mode; NULL: a normal tensor */
    V grad;                     /* .grad, or NULL */
    V base;                     /* the leaf that requires a gradient of which this one is a view, or NULL */
    V known;                    /* of a tensor that torch.tensor made of numbers in the graph: a concrete one with the same values */
    tc_value *known_at;         /* ... as long as v is this value: no operator has written to it */
    tensor *next_owned;
};

typedef struct {
    obj h;
    const char *name;
    const tc_op *op;
    V self;
    bool method; /* its first argument is self, bound or not */
    bool strict; /* of torch.ops: arguments have the schema's names */
} opfn;          /* op NULL: all overloads of `name` ("aten::add") */
typedef struct {
    obj h;
    int code;
    const char *name;
    bool memory_format;
} layoutobj;
typedef struct {
    obj h;
    struct tc_generator g;
} genobj;

/* A graph being captured: the program's own, or a branch or body inside it. */
typedef struct region region;
struct region {
    region *outer;
    tc_graph *graph;
    TC_VEC(tc_value *) from;          /* values of the outer graph ... */
    TC_VEC(tc_value *) to;            /* ... and the inputs here that stand for them */
    bool saves;                       /* backward of an autograd.Function: what it lifts becomes a result of the outer graph */
    const char *pure;                 /* the function whose branch or body it is, where that may not write to what is outside; NULL: it may */
    bool shared;                      /* a value that is given as an operand several times is one */
    struct tc_functional *functional; /* once a gradient was asked for */
};

/* A number that was read out of a tensor while a graph is captured. */
struct read {
    const tc_graph *graph;
    const tc_value *of;
    uint64_t writes; /* tc_torch.writes at that time */
    V number;
};

/* A module of the model that is captured, by its qualified name, "" for the model itself. */
typedef struct {
    const char *name;
    size_t n;
    bool plain; /* the name can stand in a stack of calls */
    long times; /* it was called so far */
} tc_module_place;

enum { TC_TORCH_SCRATCH = 8 };
struct change {
    V owner;
    str *name; /* of the attribute, or of the variable that a cell is; NULL: a list, dict or set, whole */
    V before;  /* NULL: there was none */
};

struct tc_torch {
    tc_eval eval;                       /* call NULL: operators on concrete tensors are refused */
    struct tc_generator *gen;           /* torch.default_generator */
    tc_graph *graph;                    /* being captured; NULL: eager */
    region *region;                     /* of graph */
    struct tc_capture *capture;         /* the program being made; NULL: eager */
    tc_value *(*lift)(C *c, tensor *t); /* the value in c->torch->graph that stands for t (concrete, or of an outer graph) */
    bool no_grad;
    struct tc_generator *meta_gen; /* what is drawn on the device "meta" comes from; NULL: nothing was */
    bool on_meta;                  /* under torch.device("meta") */
    bool inference, any_inference; /* in torch.inference_mode; a tensor was made there */
    bool lanes;                    /* what is called works on each number alone (torch_lanes.c) */
    tc_dtype default_dtype;
    tc_dtype autocast;   /* TC_DTYPE_NONE: off */
    tc_program *scratch; /* expressions of eager calls; renewed when it has grown */
    tensor *owned;
    tensor *scratch_from[TC_TORCH_SCRATCH]; /* where `owned` was at each scratch_begin */
    int nscratch;
    tc_map overloads; /* of torch_call.c */
    const void *here_file, *here_program;
    const char *here_name;                     /* tc_here: the file's name in the program's arena */
    int checkpoint, ncheckpoints, replay_base; /* the call of torch.utils.checkpoint that is captured, how many there were, before `replayed` */
    const tc_source *replayed;                 /* of the node of another program that is called again: its place is the place; NULL: none */
    tc_symvalue *hint;
    size_t refolded; /* guards that tc_capture_refold_new has seen */
    size_t nhint;    /* example values of the captured program's symbols, by index; unbound: from data */
    uint64_t writes; /* nodes so far that write to a tensor */
    tc_map modules;  /* of the model that is captured: object -> its tc_module_place */
    TC_VEC(struct read) reads;
    TC_VEC(struct change) changes; /* of undo.c */
    tc_map noted;                  /* of undo.c: the lists, dicts and sets among them, by address */
    tc_map freed;                  /* of freed.c: nodes whose gradients kept nothing for another one */
    tc_map seen;                   /* of torch_names.c: the modules of the walk that runs */
    tc_buf joined;                 /* and the name that is being made */
    type *tensor_type, *parameter_type, *buffer_type;
};

void tc_torch_functional(C *c, module *m); /* names that torch.nn.functional's source lacks are operators */
static inline bool tc_is_tensor(V v) { return tc_kind_of(v) == K_TENSOR; }
static inline bool tc_is_symbolic(const tensor *t) { return t->v != NULL; }

void tc_torch_require_grad(tensor *t, bool on);         /* t is a leaf */
V tc_torch_wrap(C *c, tc_tensor t, bool requires_grad); /* takes t */
void tc_torch_forget(C *c, tensor *t);                  /* gives its memory back before the context ends; nobody looks at it any more */
V tc_torch_wrap_value(C *c, tc_value *v);               /* tensor, tuple of a list, or number */
tc_value *tc_torch_value(C *c, V t);                    /* in the graph being captured */
tc_dtype tc_torch_dtype(V t);
int tc_torch_rank(V t);
const tensor *tc_torch_known(V t);                 /* the concrete tensor that has the values of t, a symbolic one; NULL: they are data */
bool tc_torch_is_number(V v);                      /* a Python number or an expression of sizes */
V tc_torch_size(C *c, V t, int d);                 /* an int or a symbolic one; 0 <= d < rank */
void tc_torch_check_lanes(C *c, const tc_node *n); /* a RuntimeError unless n does */
V tc_torch_sized(C *c, V t);                       /* t; a RuntimeError where its sizes are asked for and it may be many numbers in lanes */
const char *tc_torch_calls(C *c);   /* of modules that are running, in the program's arena (tc_source); NULL: none but the model itself */
tc_program *tc_torch_program(C *c); /* of the graph being captured, or the scratch program */

/* (name, module) of m and all below it, m as `prefix`, each as often as it stands there; the name of the part `key` of `path` (NULL: of nothing),
 * a TypeError for a key that is no string. */
list *tc_torch_named_modules(C *c, V m, str *prefix);
str *tc_torch_joined(C *c, const str *path, V key);
const char *tc_torch_joined_text(C *c, const str *path, V key); /* until the next one */

dict *tc_undo_attributes(V o); /* of an object or a class; NULL: it has none yet */
void tc_undo_all(C *c);        /* what tc_undo_attr and tc_undo_container noted */
void tc_undo_forget(C *c);     /* keeps it as it is now */

void tc_capture_refold_new(C *c, tc_program *p); /* the same while capturing, where guards have come since it was last called */
void tc_capture_refold(C *c, tc_program *p);     /* sizes and size arguments in their final form, before the program is verified */
void tc_torch_enter(C *c, region *r, tc_graph *g);
void tc_torch_leave(C *c);
void tc_torch_unwind(C *c, region *to);                /* something was raised: leaves what was entered since `to` */
tc_value *tc_torch_lift_region(C *c, tc_value *outer); /* a value of an outer graph, in the one being captured */
/* An operator object: "add", "aten::add" or with an overload, "aten::add.Tensor". self: bound method, or NULL. NULL when there is none
 * in that place. */
typedef enum { TC_IN_OPS, TC_IN_TORCH, TC_IN_TENSOR, TC_IN_NN } tc_op_place;
V tc_torch_opfn(C *c, const char *name, V self, tc_op_place place);
extern const char tc_torch_device_types[];                   /* "cpu, cuda, ..." */
bool tc_torch_device_parse(const char *s, size_t *out_type); /* TYPE or TYPE:INDEX; false with the type's length, 0: an unknown one */
V tc_torch_device_named(C *c, str *s, V index);              /* "cpu", "cuda:1"; index NULL: none but in the name */
/* Calls the overload that fits, as PyTorch's argument parser chooses it; is_method: A->a[0] is self. */
V tc_torch_call(C *c, const char *name, args *A, bool is_method);
/* The same for C: positional arguments only. */
V tc_torch_calln(C *c, const char *name, int n, ...);
/* Runs or records one operator with arguments in schema order, values as they are; results as a Python call returns them. */
V tc_torch_apply(C *c, const tc_op *op, tc_arg *a, int nargs, V const *tensors, struct tc_generator *gen);
/* The example value of a symbol; false when it has none (it comes from data). out may be NULL. */
bool tc_torch_hint(C *c, tc_sym var, tc_symvalue *out);
bool tc_torch_eval_hint(C *c, tc_sym s, tc_symvalue *out);
void tc_torch_copy_into(C *c, V dst, V src); /* dst.copy_(src): type and sizes of dst stay */

#endif
