/* Tensors in the model language: state and internal interface of torch_*.c and capture.c.
 *
 *     tensor --- concrete: t holds memory; operators run at once through eval (constructors, initialisers)
 *            '-- symbolic: v is a value of the graph being captured; operators append nodes
 *
 * While a graph is captured every operator is recorded. A concrete tensor used in it (parameter, buffer, constant) becomes an input of the program: lift
 * returns its value. */
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
    bool computed;              /* concrete result of an operator on tensors that require a gradient, or an input that stands for one: not a leaf */
    bool persistent;            /* Buffer */
    bool meta;                  /* on the device "meta": its elements are meaningless */
    bool sparse;                /* made by to_sparse(): can be held, moved and made dense again, and nothing else; its elements are all there */
    const tc_source *inference; /* where it was created in inference mode; NULL: a normal tensor */
    V grad;                     /* .grad, or NULL */
    V base;                     /* if this is a view of a leaf that requires a gradient: that leaf; else NULL */
    V known;                    /* for a tensor whose values are known during capture (torch_known.c): a concrete copy of them */
    tc_value *known_at;         /* known is valid while v is this value, that is, until it is mutated */
    V known_of;                 /* a view of such a tensor: that tensor, whose values a write to this one changes */
    tc_value *known_from;       /* ... and known is valid while it is this value too; NULL: not a view, or nothing is known */
    tensor *next_owned;
};

typedef struct {
    obj h;
    const char *name;
    const tc_op *op;
    V self;
    bool method; /* its first argument is self, bound or not */
    bool strict; /* from torch.ops: only the schema's argument names */
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

/* A graph being captured: the main graph, or a subgraph (branch, loop body). */
typedef struct region region;
struct region {
    region *outer;
    tc_graph *graph;
    TC_VEC(tc_value *) from;          /* values of the outer graph ... */
    TC_VEC(tc_value *) to;            /* ... and the corresponding inputs of this one */
    bool saves;                       /* backward of an autograd.Function: lifted values become results of the outer graph */
    bool redraws;                     /* it set the generator's state, to draw again what was drawn before */
    const char *pure;                 /* name of the control-flow function whose subgraph must not mutate outer tensors; NULL: it may */
    bool shared;                      /* repeated operands share one input */
    TC_VEC(tensor *) leaves;          /* of a region that saves: what torch.autograd.backward gives gradients: tensors made to require one, inputs */
    struct tc_functional *functional; /* set once a gradient was taken */
};

/* A number read from a tensor during capture (item). */
struct read {
    const tc_graph *graph;
    const tc_value *of;
    uint64_t writes; /* tc_torch.writes at that time */
    V number;
};

/* A module of the captured model with its qualified name; "": the model itself. */
typedef struct {
    const char *name;
    size_t n;
    bool plain; /* the name can be part of tc_source.calls */
    long times; /* number of calls so far */
} tc_module_place;

enum { TC_TORCH_SCRATCH = 8 };
struct change {
    V owner;
    str *name; /* attribute or closure variable; NULL: a whole list, dict or set */
    V before;  /* NULL: there was none */
};

struct tc_torch {
    tc_eval eval;                       /* executor; call NULL: operators on concrete tensors are errors */
    struct tc_generator *gen;           /* torch.default_generator */
    tc_graph *graph;                    /* being captured; NULL: eager */
    region *region;                     /* of graph */
    struct tc_capture *capture;         /* capture in progress; NULL: eager */
    tc_value *(*lift)(C *c, tensor *t); /* the value in c->torch->graph that stands for t (concrete, or of an outer graph) */
    bool no_grad;
    struct tc_generator *meta_gen; /* generator for draws on "meta"; NULL: not used yet */
    bool on_meta;                  /* under torch.device("meta") */
    bool inference, any_inference; /* in torch.inference_mode; a tensor was created in that mode */
    bool lanes;                    /* only elementwise operations are allowed (torch_lanes.c) */
    tc_dtype default_dtype;
    tc_print_options print; /* torch.set_printoptions */
    tc_dtype autocast;      /* TC_DTYPE_NONE: off */
    tc_program *scratch;    /* program for eager calls; replaced when it has grown */
    tensor *owned;
    struct tc_undrawn *undrawn;             /* initial values that are drawn when they are read; NULL: at once */
    tensor *scratch_from[TC_TORCH_SCRATCH]; /* value of `owned` at each scratch_begin */
    int nscratch;
    tc_map overloads; /* of torch_call.c */
    const void *here_file, *here_program;
    const char *here_name;                     /* tc_here: the file's name in the program's arena */
    int checkpoint, ncheckpoints, replay_base; /* current torch.utils.checkpoint call; number of calls; number before `replayed` */
    const tc_source *replayed;                 /* location of the replayed node of another program, used instead of the current line; or NULL */
    tc_symvalue *hint;
    size_t simplified; /* number of guards when its sizes were last simplified during capture */
    size_t nhint;      /* example values of the program's symbols, by index; unbound: data-dependent */
    uint64_t writes;   /* number of mutating nodes so far */
    tc_map modules;    /* modules of the captured model: object -> tc_module_place */
    TC_VEC(struct read) reads;
    TC_VEC(struct change) changes; /* of undo.c */
    tc_map noted;                  /* of undo.c: containers in `changes`, by address */
    tc_map freed;                  /* of retain_graph.c: nodes whose saved tensors were freed */
    tc_map seen;                   /* of torch_names.c: modules visited by the current walk */
    tc_buf joined;                 /* of torch_names.c: the name being built */
    type *tensor_type, *parameter_type, *buffer_type;
};

void tc_torch_functional(C *c, module *m); /* missing names of torch.nn.functional resolve to operators */
static inline bool tc_is_tensor(V v) { return tc_kind_of(v) == K_TENSOR; }
static inline bool tc_is_symbolic(const tensor *t) { return t->v != NULL; }

void tc_torch_require_grad(tensor *t, bool on);         /* t is a leaf */
const tc_value *tc_torch_unwritten(const tc_value *v);  /* before writes in place under no_grad, which leave a leaf one */
V tc_torch_wrap(C *c, tc_tensor t, bool requires_grad); /* takes t */
void tc_torch_forget(C *c, tensor *t);                  /* frees its storage early; t must not be used any more */
V tc_torch_wrap_value(C *c, tc_value *v);               /* tensor, tuple of a list, or number */
tc_value *tc_torch_value(C *c, V t);                    /* its value in the graph being captured */
tc_dtype tc_torch_dtype(V t);
V tc_torch_dtype_object(C *c, tc_dtype d);
tc_dtype tc_torch_want_dtype(C *c, V v); /* of an argument dtype=; TC_DTYPE_NONE for NULL or None */
int tc_torch_rank(V t);
const tensor *tc_torch_known(V t); /* a concrete tensor equal to symbolic t; NULL: t depends on data */
bool tc_torch_is_number(V v);      /* a Python number or an expression of sizes */
V tc_torch_plain(C *c, V v);       /* the number that an object of a class derived from int or float is, such as a member of an IntEnum; else v */
V tc_torch_size(C *c, V t, int d); /* an int or a symbolic one; 0 <= d < rank */
void tc_torch_check_lanes(C *c, const tc_node *n); /* RuntimeError unless n is elementwise */
/* returns t; RuntimeError when sizes are asked for while only elementwise operations are allowed */
V tc_torch_sized(C *c, V t);
const char *tc_torch_calls(C *c);   /* stack of running module calls (tc_source.calls), in the program's arena; NULL: only the model itself */
tc_program *tc_torch_program(C *c); /* of the graph being captured, or the scratch program */

/* named_modules: (name, module) of m, named `prefix`, and all submodules, repeated ones included. tc_torch_joined: the name "path.key"; TypeError for a
 * key that is not a string. */
list *tc_torch_named_modules(C *c, V m, str *prefix);
str *tc_torch_joined(C *c, const str *path, V key);
const char *tc_torch_joined_text(C *c, const str *path, V key); /* until the next one */

dict *tc_undo_attributes(V o); /* of an object or a class; NULL: it has none yet */
void tc_undo_all(C *c);        /* undoes the recorded changes */
void tc_undo_forget(C *c);     /* forgets the recorded changes: they stay */

void tc_torch_enter(C *c, region *r, tc_graph *g);
void tc_torch_leave(C *c);
void tc_torch_unwind(C *c, region *to);                /* after an exception: leaves the regions entered since `to` */
tc_value *tc_torch_lift_region(C *c, tc_value *outer); /* a value of an outer graph, in the one being captured */
/* An operator object: "add", "aten::add", or one overload, "aten::add.Tensor". self: of a bound method, or NULL. NULL: no such operator in that
 * namespace. */
typedef enum { TC_IN_OPS, TC_IN_TORCH, TC_IN_TENSOR, TC_IN_NN } tc_op_place;
V tc_torch_opfn(C *c, const char *name, V self, tc_op_place place);
extern const char tc_torch_device_types[];                   /* "cpu, cuda, ..." */
bool tc_torch_device_parse(const char *s, size_t *out_type); /* TYPE or TYPE:INDEX; false with the type's length, 0: an unknown one */
V tc_torch_device_named(C *c, str *s, V index);              /* "cpu", "cuda:1"; index NULL: none but in the name */
/* Calls the overload that PyTorch's argument parser would choose; is_method: A->a[0] is self. */
V tc_torch_call(C *c, const char *name, args *A, bool is_method);
/* The same for C: positional arguments only. */
V tc_torch_calln(C *c, const char *name, int n, ...);
/* Runs or records one operator with arguments in schema order, values as they are; results as a Python call returns them. */
V tc_torch_apply(C *c, const tc_op *op, tc_arg *a, int nargs, V const *tensors, struct tc_generator *gen);
/* The example value of a symbol; false: none, it is data-dependent. out may be NULL. */
bool tc_torch_hint(C *c, tc_sym var, tc_symvalue *out);
bool tc_torch_eval_hint(C *c, tc_sym s, tc_symvalue *out);
void tc_torch_copy_into(C *c, V dst, V src); /* dst.copy_(src): type and sizes of dst stay */
void tc_torch_copy_strided(tc_tensor *dst, const tc_tensor *src);

/* The parts of tc_torch_init: each adds to torch or torch._C what its file implements. */
void tc_torch_generator_init(C *c, module *m);
void tc_torch_private_init(C *c, module *priv);
void tc_torch_tensor_init(C *c);
void tc_torch_hop_init(C *c, module *priv);
void tc_torch_names_init(C *c, module *priv);

#endif
