/* The operator table. One family per file in lib/op (pointwise_unary.c, reduce.c, matmul.c ...), each ending in a table:
 *
 *     const tc_op tc_ops_activation[] = {
 *         {.schema = "aten::silu(Tensor self) -> Tensor", .shape = tc_shape_float_unary, .lower = lower_silu, .grad = grad_silu,
 *          .samples = "silu(f32[3,5]); silu(f64[0,2])", .doc = "x / (1 + exp(-x))"},
 *         ...
 *         {0}};
 *
 * Everything else follows from the row: it is callable as torch.x, F.x and tensor.x by its schema, printed, verified,
 * differentiated, fused, compiled, sampled by tests and bench, and listed in tc-ops(7). The list of families is generated
 * from the file names at build time (build/gen/op_families.c): a file NAME.c that defines `tc_ops_NAME` is a family.
 *
 * In-place (add_.Tensor) and out forms need no rows: they derive from the functional row of the same name. */
#ifndef TC_OP_OP_H
#define TC_OP_OP_H

#include "graph/graph.h"

typedef struct tc_op tc_op;

/* ---- schema, parsed on first use ---- */
typedef enum {
    TC_T_TENSOR,
    TC_T_OPT_TENSOR,
    TC_T_TENSORS,
    TC_T_OPT_TENSORS /* Tensor?[] */,
    TC_T_INT,
    TC_T_INTS,
    TC_T_FLOAT,
    TC_T_FLOATS,
    TC_T_BOOL,
    TC_T_BOOLS,
    TC_T_SCALAR,
    TC_T_SCALARS,
    TC_T_STRING,
    TC_T_DTYPE,
    TC_T_LAYOUT,
    TC_T_MEMFORMAT,
    TC_T_DEVICE,
    TC_T_GENERATOR,
    TC_T_DIMNAME,
    TC_T_GRAPH
} tc_type;
typedef struct {
    const char *name;
    tc_type type;
    bool optional; /* "?" (a None is accepted) */
    bool kw_only;
    bool sym_int;  /* SymInt: also accepts an integer tensor of one element */
    int fixed_len; /* int[2]: 2; 0: any */
    bool has_default;
    tc_arg def;   /* default; numbers as constants without a context: kind TC_A_SCALAR or TC_A_NONE, lists as floats */
    char alias;   /* 'a' of Tensor(a) or Tensor(a!); 0 none */
    bool mutated; /* '!' */
} tc_param;
typedef struct {
    const char *ns, *name, *overload; /* "aten", "add", "Tensor" ("" for default) */
    tc_param *params;
    int nparams;
    tc_param *rets;
    int nrets;
    bool inplace;  /* name ends in _ and param 0 is mutated */
    bool has_out;  /* ...an out= form */
    bool is_view;  /* a result aliases an argument without mutation */
    bool variadic; /* higher-order: "cond(...)": arguments as called, results as the last subgraph's */
} tc_schema;

/* ---- shape rule: types of the results from the arguments; runs at capture, verify and when a concrete call is made ---- */
typedef struct {
    tc_program *program; /* arena, symctx, guards */
    const tc_op *op;
    const tc_arg *args; /* schema order, complete */
    int nargs;
    tc_source source; /* for guards and messages */
    tc_value *outs;   /* caller's array of nouts zeroed values: the rule fills kind, meta, sym, list */
    int nouts;
    tc_dtype clash[2]; /* if clashes: two argument dtypes without a common type, which fails the call */
    bool clashes;
    tc_sym *needed; /* set to the symbolic number that the rule needs as a known one */
} tc_shape_ctx;
typedef tc_status (*tc_shape_fn)(tc_shape_ctx *c);

/* ---- lowering to loop IR: op/lower.h; kernels: kernel/kernel.h; emitting graph nodes: op/emit.h ---- */
struct tc_lower;
struct tc_kernel;
struct tc_emit;
typedef tc_status (*tc_lower_fn)(struct tc_lower *l);
/* Emits the composition of `node` and sets its results (tc_emit_result). */
typedef tc_status (*tc_decompose_fn)(struct tc_emit *e, const tc_node *node);
/* grad_outs[i]: gradient of result i or NULL when it has none; sets gradients of arguments with tc_emit_grad(e, arg, value). */
typedef tc_status (*tc_grad_fn)(struct tc_emit *e, const tc_node *node, tc_value *const *grad_outs);
/* Views: the strided alias of concrete sizes, used by the executor instead of copying: sizes, strides, offset of the result
 * over the storage of arg 0, or *possible = false when it needs a copy. */
struct tc_kcall;
typedef tc_status (*tc_view_alias_fn)(const struct tc_kcall *k, tc_tensor *out_view, bool *possible);

enum {
    TC_OP_RANDOM = 1,    /* draws from the generator: never merged, removed or reordered with other random nodes */
    TC_OP_IMPURE = 2,    /* has side effects (asserts): kept although unused */
    TC_OP_COMPOSITE = 4, /* CompositeImplicit in PyTorch: decomposed at capture, never recorded */
    TC_OP_HIGHER_ORDER = 8,
    TC_OP_DATA_SHAPE = 16,     /* result sizes depend on data: new symbols u0.. */
    TC_OP_NONDIFF = 32,        /* results carry no gradient */
    TC_OP_SAME_ORDER = 64,     /* a view that preserves the row-major order of elements */
    TC_OP_OF_VIEWS = 128,      /* a composition of views in PyTorch: its result aliases an argument if every part is a view */
    TC_OP_INDEX_RUNTIME = 256, /* an index out of bounds is a RuntimeError, not an IndexError */
    TC_OP_LIKE = 512,          /* reads only dtype and sizes of its last tensor argument: zeros_like, view_as */
    TC_OP_UNDERIVED = 1024,    /* results carry a gradient, which PyTorch has no formula for: asking for it is an error */
    TC_OP_ONE_GRAD = 2048,     /* only the first result carries a gradient */
    TC_OP_COLLECTIVE = 4096,   /* all ranks of a run call it together (base/comm.h) */
    TC_OP_PLAIN = 8192         /* TC_OP_PLAIN << i: result i carries no gradient */
};
/* Can result i of the operator carry a gradient? */
#define TC_OP_CARRIES(op, i) (!((op)->flags & (TC_OP_NONDIFF | (unsigned)TC_OP_PLAIN << (i))) && !((i) && ((op)->flags & TC_OP_ONE_GRAD)))

/* The row applies to calls that `fits` accepts; others are executed by the composition `rule`: lists too long for one loop, results that depend on
 * memory order, arguments whose validity is known only at run time. */
struct tc_otherwise {
    bool (*fits)(const tc_node *node);
    tc_decompose_fn rule;
};

struct tc_op {
    const char *schema;
    unsigned flags;
    tc_shape_fn shape;
    tc_lower_fn lower; /* one of lower, kernel, view_alias, else decompose, executes the operator */
    const struct tc_kernel *kernel;
    tc_decompose_fn decompose;
    tc_decompose_fn complex;              /* composition for complex arguments; NULL: the above handle them */
    const struct tc_otherwise *otherwise; /* NULL: the row applies to every call */
    tc_view_alias_fn view_alias;
    /* Length of a list result where it depends on possibly symbolic sizes; an archive that lists n results thereby guarantees it. NULL: invalid
     * arguments. */
    tc_sym (*pieces)(tc_symctx *s, const tc_arg *args);
    const char *
        keeps; /* the tensors that PyTorch saves for the gradient, as " self result " (result0 if there are several); "": none; NULL: those that the gradient rule reads */
    tc_grad_fn grad;     /* NULL: differentiate the decomposition; without one, an error names the operator */
    const char *samples; /* calls in the model language's syntax: tests, bench, fuzz and the man page run them */
    const char *doc;     /* one line: formula */
};

/* ---- registry ---- */
/* "add.Tensor", "aten::add.Tensor", "torch.ops.aten.add.Tensor"; the default overload is "relu" or "relu.default". NULL when tc lacks it. */
const tc_op *tc_op_find(const char *name);
/* All overloads of `name`, in the order in which PyTorch tries them. Returns their number, at most max. */
int tc_op_overloads(const char *name, const tc_op **out, int max);
/* Adds the row of an operator that an extension defines (extension.h); row is copied, schema lives for ever. functional: of one that writes to its
 * arguments, else NULL. TC_CONTENT: the name is taken, or its name space is tc's. */
tc_status tc_op_register(const tc_op *row, const tc_schema *schema, const tc_op *functional, const tc_op **out);
bool tc_op_takes_numbers(const tc_op *op); /* does PyTorch accept a Python number for Tensor parameters after the first? */
bool tc_op_takes_out(const tc_op *op);     /* does PyTorch accept torch.NAME(..., out=) for this functional row? */
/* What PyTorch does with an operator beyond its schema: letters behind the schemas in aten_schemas.txt. Those of one line are true of all forms of its
 * name. */
enum {
    TC_MARK_FUNCTION = 'f',  /* torch.NAME */
    TC_MARK_METHOD = 'm',    /* Tensor.NAME */
    TC_MARK_NN = 'n',        /* torch.nn.functional.NAME */
    TC_MARK_OUT_EXACT = 'E', /* out= and the tensor of an in-place form must have the result's type; those of others are converted to */
    TC_MARK_OUT_APART = 'A', /* out= must not share memory with the operands */
    TC_MARK_OVERLAPS = 'O',  /* may write to a tensor whose elements overlap: PyTorch checks no reductions, products and fills */
    TC_MARK_COUNTS = 'K',    /* what tc_op_lacks_kernel says holds only if all operands have elements */
    TC_MARK_NO_FORWARD = 'J' /* has no formula for forward mode (jvp), though it may have a gradient */
};
#define TC_MARKS "fmnEAOKJ"
bool tc_op_name_marked(const char *name, char mark);   /* "aten::add" */
bool tc_op_marked(const tc_op *functional, char mark); /* by the operator's name, for every form */
/* Has PyTorch's CPU backend no kernel of `name` ("aten::add", "aten::div.Tensor_mode") for d, though tc may have? Behind '!' in aten_schemas.txt, by dtype;
 * int: u8 to i64, uint: u16 to u64, complex: c64 and c128, f8: all floats of 8 bits. Made by calling every operator on its samples in every dtype, in
 * PyTorch 2.15 and in tc. */
bool tc_op_lacks_kernel(const char *name, tc_dtype d);
const tc_schema *tc_op_schema(const tc_op *op); /* parsed on first use, thread-safe, lives for ever */
/* The number of a parameter, which differs between overloads; -1: there is none of that name. */
int tc_schema_param(const tc_schema *s, const char *name);
int tc_op_param(const tc_op *op, const char *name);
bool tc_op_mutates(const tc_op *op);              /* its schema marks a parameter as written to */
const char *tc_op_name(const tc_op *op);          /* "aten.add.Tensor" */
bool tc_op_is_own_space(const char *ns);          /* "aten": does tc have rows of that name space? Others are extensions' */
bool tc_op_is_known_to_pytorch(const char *name); /* PyTorch has it, tc lacks it: exit 5; unknown to both: exit 3 */
size_t tc_op_count(void);                         /* the rows of tc, then those of extensions */
const tc_op *tc_op_at(size_t i);
/* Calls fn for each argument value of which n reads elements (not only sizes). */
void tc_op_each_read(const tc_node *n, void (*fn)(void *ctx, const tc_value *v), void *ctx);
/* In-place and out forms: the functional row they derive from, or op itself. */
const tc_op *tc_op_functional(const tc_op *op);
bool tc_op_resizes(const tc_op *op); /* resize_, resize_as_: changes the size of the mutated tensor */

/* The arguments of the functional row of an in-place or out form (of op itself otherwise), in its schema order; missing ones get their defaults. out
 * has room for tc_op_schema(tc_op_functional(op))->nparams. */
void tc_op_functional_args(tc_program *p, const tc_op *op, const tc_arg *args, tc_arg *out);
/* May an in-place form write a result of this type to its tensor? As PyTorch: not if that loses a kind of numbers (complex to real, real to whole) nor,
 * where the operator has the mark E, if it is another type. */
tc_status tc_op_check_cast(const tc_op *op, tc_dtype result, tc_dtype to);
/* Parameter p's default as an argument of program. TC_CONTENT when it has none and is not optional. */
tc_status tc_op_default(tc_program *program, const tc_op *op, int param, tc_arg *out);
/* Converts an argument to the form that nodes store for this parameter: numbers for Tensor and Scalar become TC_A_SCALAR (or a symbolic value), 3 or
 * [3] for int[2] becomes [3, 3], empty lists get the parameter's kind. TC_CONTENT names operator, parameter, found and expected. */
tc_status tc_op_coerce(tc_program *program, const tc_op *op, const tc_param *param, tc_arg *arg);

/* ---- calling an operator: capture, gradients, decompositions and readers all create nodes this way ---- */
/* Runs only the shape rule: result types of a call with coerced, complete arguments (also in-place and out forms). outs: tc_op_nouts zeroed values. */
int tc_op_nouts(const tc_op *op, const tc_arg *args, int nargs);
tc_status tc_op_infer(tc_program *p, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_value *outs, int nouts);
void tc_op_propagate_grad(tc_node *n); /* sets requires_grad of the results from the arguments */
/* Appends the node, runs the shape rule, makes the outputs. args in schema order; missing ones at the end take their defaults. TC_CONTENT naming
 * operator, argument and shapes, and no node is left then. Results require a gradient when an argument does. out_node may be NULL. */
tc_status tc_graph_call(tc_graph *g, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_node *before, tc_node **out_node);

/* For an operator with `pieces`: adds a guard that the list result of this call has `count` tensors. */
tc_status tc_op_promise_pieces(tc_program *p, const tc_op *op, const tc_arg *args, int nargs, int64_t count, tc_source src);

/* Runs one operator on concrete tensors. Filled in by the runtime, a higher layer; used by capture, constant folding, tests.
 * tensors in args are TC_A_VALUE whose value->aux points to a tc_tensor. out: nouts tensors, owned by the caller; Tensor[] results count
 * an entry for each element. Results of view operators share the storage of their argument. Numbers come as 0-d tensors. */
struct tc_generator;
typedef struct {
    tc_status (*call)(void *self, const tc_op *op, const tc_arg *args, int nargs, struct tc_generator *gen, tc_tensor *out, int nouts);
    void *self;
} tc_eval;

/* The status of a rule, or an error if it read a symbolic argument: tc_arg_int, tc_arg_float and tc_arg_ints return 0 for these, and the rule's
 * caller checks here. */
tc_status tc_op_checked(tc_program *p, tc_status s);

#endif
