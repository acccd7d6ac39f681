/* Inside of the runtime: a frame is a graph with its plan; bound to a tuple of sizes it is a flat list of calls.
 *
 * Every tensor value has a root, the value whose memory it uses: itself, or for views and in-place results another. A root lies in the
 * bound program's arena, or in an input, or in a result made for the caller in each run. */
#ifndef TC_RUNTIME_FRAME_H
#define TC_RUNTIME_FRAME_H

#include "codegen/group.h"
#include "kernel/kernel.h"
#include "loop/nest.h"
#include "pass/plan.h"
#include "runtime/block.h"
#include "runtime/recycle.h"
#include "runtime/tuning.h"

typedef struct frame frame;

typedef enum { ROOT_NONE, ROOT_INPUT, ROOT_ARENA, ROOT_OUTPUT, ROOT_DYNAMIC } root_kind;
typedef struct {
    root_kind kind;
    int index;            /* INPUT: of the graph's inputs; OUTPUT: of its outputs */
    size_t offset, bytes; /* ARENA */
    int first, last;      /* calls between which it lives */
    bool inside;          /* only while a chain of slices is found: of one of them alone */
} root;

typedef enum { CALL_LOOP, CALL_KERNEL, CALL_COPY, CALL_CONTROL, CALL_ITEM, CALL_DYNAMIC } call_kind;

typedef struct {
    tc_karg *arg;
    tc_sym number;
} late_number;

/* A kernel's call with what alloc needs. */
typedef struct {
    tc_kcall k;
    frame *f;
    tc_karg *args;
    tc_tensor *outs;
    int *out_id;
    late_number *late;
    int nlate;
    const tc_tensor **lists;
    int64_t *ints;
    size_t scratch; /* bytes that a call needs, once one has asked: with a packed form or without */
    enum { SCRATCH_UNKNOWN, SCRATCH_PLAIN, SCRATCH_PACKED } scratch_of;
    size_t pack_bytes; /* 0: nothing of it is kept packed */
    bool may_pack;     /* as far as its sizes go */
    int pack_arg;
} kernel_call;

typedef struct {
    call_kind kind;
    const tc_group *group;
    int group_index;
    tc_block *block; /* LOOP, or the epilogue of a KERNEL, interpreted */
    bool keeps;      /* LOOP: what it stores stays in the arena from run to run */
    bool apart;      /* the epilogue is a loop of its own: the kernel's result lies such that it has no regions */
    void **data;     /* the same: addresses of buffers */
    int *id;         /* the same: values of buffers; COPY: to, from; ITEM: from */
    int nid;
    const tc_abi_group *code; /* the same, compiled */
    tc_abi_call abi;
    tc_abi_buffer *buffers;
    int64_t *extents;
    tc_abi_number *numbers;
    const tc_sym *number_syms;
    int nnumbers;
    kernel_call *kernel;
    tc_tensor copy[2];       /* COPY: shapes of to and from */
    const tc_node *copy_for; /* the same: the view that no strides show, or the kernel that asks for another order */
} call;

/* A tensor that shows some entries of dimension 0 at a time. */
typedef struct {
    int id;
    int64_t step;   /* elements between entries in memory; 0: it has room for those of one slice */
    int64_t offset; /* of entry 0, during a run */
} slice_value;
/* Calls that are made one after another for some entries of dimension 0, then for the next (slices.c). */
typedef struct {
    int first, ncalls;
    int64_t n, entries; /* of all; of a slice */
    slice_value *values;
    int nvalues;
    uint64_t *ns; /* by call, of a run that is timed */
} slices;

typedef struct bound {
    int64_t *key;
    bool watched;   /* every tensor that is written is whole when its call is told of */
    uint64_t stamp; /* of the last use */
    tc_tensor *t;   /* by value id; storages are borrowed from roots */
    int *root_of;   /* by value id; -1: no tensor */
    int64_t *delta; /* bytes from the root's start */
    root *roots;    /* by value id */
    TC_VEC(call) calls;
    TC_VEC(slices) slices;  /* in order, apart */
    TC_VEC(int) moved;      /* values whose storage changes from run to run: inputs, results, views of them; roots first */
    TC_VEC(int) end_copies; /* outputs that are copied at the end */
    tc_tensor *clones;      /* by end copy: of inputs that another of them writes, during a run's end */
    size_t arena_bytes, live_bytes, naive_bytes;
    size_t scratch, temps, kernel_scratch;
    bool *in_place; /* by output: a mutation that is done where the old value was */
} bound;

struct frame {
    tc_exec *e;
    tc_graph *g;
    tc_plan *plan;
    tc_schedule *schedules; /* by group */
    const tc_abi_group **code;
    tc_group_desc *descs;
    tc_arena arena;
    tc_storage *memory; /* of intermediates: one for all sizes, as large as the largest needs; only one runs at a time */
    int *target;        /* by output: the input that it mutates, or -1 */
    int *tied;          /* by input: the input whose memory it shares, or -1 */
    TC_VEC(bound *) cache;
    TC_VEC(frame *) children; /* subgraphs */
    bound *b;                 /* bound in the run that goes on */
    const bound *kept;        /* whose kept values lie in memory, made of state number kept_version; or NULL */
    uint64_t kept_version;
    unsigned char *told; /* by value, of a run that tells of every node: TOLD_LATER is a call's result to come; NULL: of groups alone */
};

/* An argument of a node as its kernel reads it (tc_kernel.pack), shared by all sizes under which the form is the same. */
typedef struct {
    const tc_node *node;
    const void *from[TC_PACKED_ARGS]; /* the data that was packed, of state number `version` */
    uint64_t version;
    size_t bytes;
    void *data;
} packed_form;

/* What the inputs of the last run were: where they are the same again, so are the symbols. */
typedef struct {
    tc_dtype dtype;
    int rank;
    const int64_t *size;
} seen_shape;
typedef struct {
    seen_shape *shapes; /* by user input, sizes behind them */
    size_t bytes;       /* of shapes */
    tc_symvalue *vars;
    bool known;   /* they are there: not before the first run, nor where a number is among the inputs */
    bool guarded; /* guards hold there */
} seen_sizes;

struct tc_exec {
    tc_program *program;
    tc_exec_options o;
    tc_pool *pool, *own_pool;
    const tc_isa_ops *isa;
    tc_block_tables *tables; /* of all frames */
    frame *main;
    tc_tensor *state; /* by program input */
    bool *owned;      /* the state's storage may be written */
    bool *mutated;    /* by program input */
    tc_symvalue *vars;
    size_t nvars;
    tc_tensor *room;         /* of a run: inputs, copies of them, results, each by the graph's */
    const tc_tensor **given; /* of a run: by the graph's inputs */
    seen_sizes last;
    int nuser; /* user inputs */
    void *scratch;
    size_t scratch_bytes;
    uint64_t clock, runs, version; /* version: of the state, as set from outside */
    TC_VEC(packed_form) packed;
    TC_VEC(void *) packed_memory; /* that they lie in */
    char *chunk;                  /* the last large piece of it, from where it is free */
    size_t packed_bytes, chunk_left;
    size_t dynamic_bytes;
    struct tc_generator *gen;
    bool layouts;                 /* images may lie channels last */
    bool guards_number;           /* a guard is about a number that is no part of the key of a bound: checked in every run */
    bool random;                  /* a node draws random numbers */
    bool for_c;                   /* bound to be written as C: no value lies channels last, loops have no blocks, control flow writes into the arena,
                           integers may be known in the run only */
    bool plan_only;               /* frame_bind makes the plan and no memory */
    tc_costs costs;               /* of this processor; a tuning file's come before them */
    const tc_tuning *tuning;      /* or NULL */
    tc_attention_list attentions; /* of the program as it was given */
    tc_exec_timed timed;          /* or NULL */
    void *timed_ctx;
    tc_exec_profile profile;
    void *profile_ctx;
    uint64_t profiled; /* ns of the groups that it was told of */
    recycler *memory;  /* of results */
    tc_storage *dummy; /* stands for memory while views are computed */
};

enum { MAX_BOUND = 16 };

tc_status frame_create(tc_exec *e, tc_graph *g, frame **out);
void frame_destroy(frame *f);
/* in: by graph input (numbers: {0}); out: by graph output; storage NULL: made. */
tc_status frame_run(frame *f, const tc_tensor *in, tc_tensor *out);
tc_status frame_bind(frame *f, bound **out);
void bound_destroy(bound *b);
void bound_plan_memory(bound *b, size_t nvalues);
size_t call_scratch(tc_exec *e, const call *c); /* bytes that this call needs of tc_exec.scratch */

/* solve.c */
tc_status solve_sizes(tc_exec *e, const tc_tensor *inputs, int ninputs);
tc_status check_guards(const tc_exec *e);                   /* of those whose numbers are known */
tc_status check_guards_about(const tc_exec *e, tc_sym var); /* data gave var its number */
bool no_size(tc_sym cond);                                  /* is it about floating-point numbers alone? */
bool guards_have_floats(const tc_exec *e);                  /* is one about an input of a float type? */
/* layout.c: the values that lie channels last (out, by value id), the groups that take argument 0 so (takes, by group); both zeroed.
 * last: by value id, the last group that reads it (INT32_MAX: a result). */
void frame_layouts(frame *f, const int *last, bool *out, bool *takes);
/* kargs.c: arguments of a node for a kernel; tensors point into t. *late is set when a number must be computed in each run. */
tc_status kernel_args(const tc_node *n, tc_tensor *t, const tc_symvalue *vars, size_t nvars, bool run_time, kernel_call *out);
void kernel_call_free(kernel_call *k);
tc_status meta_sizes(const tc_exec *e, const tc_value *v, int64_t *size);
/* dynamic.c */
tc_status run_dynamic(frame *f, const tc_group *g, int index);
/* packed.c */
bool packed_argument(const tc_exec *e, const tc_value *input); /* input of the main graph that stays as it is between runs */
/* *out is left as it is where there is no form yet, or no memory for one. */
tc_status packed_data(tc_exec *e, kernel_call *k, const tc_node *n, const void **out);
void packed_free(tc_exec *e);
void keep_values(const frame *f, bound *b, size_t nvalues,
                 int last); /* decides which calls keep what they store; last: number behind the last call */
/* tuning.c */
int64_t tuning_block(const tc_exec *e, const tc_loop *l);                       /* values of a block of this loop; 0: as it is chosen */
void tuning_kernel(const tc_exec *e, const tc_node *n, kernel_call *k);         /* sets its knobs */
bool tuning_unpacked(const tc_exec *e, const tc_node *n, const kernel_call *k); /* it reads its weights as they lie */
void tuning_tell(const frame *f, const call *c, uint64_t ns);                   /* e->timed, of each choice of a call */
const tc_costs *tuning_costs(const tc_exec *e);
/* control.c */
typedef enum { CONTROL_COND, CONTROL_WHILE, CONTROL_SCAN } control_kind;
/* Arguments of a control node. Where there are more than one, graphs stand as in the call: true, false; test, body. */
typedef struct {
    control_kind kind;
    const tc_arg *graph, *init, *xs, *more; /* NULL: not given; COND: its operands are `more` */
    bool associative;                       /* a scan whose carry is the result before, beginning with the first of xs */
} control_form;
tc_status control_read(const tc_node *n, control_form *out); /* TC_UNSUPPORTED: another operator */
frame *frame_child(const frame *f, const tc_graph *g);
tc_status run_control(frame *f, const tc_node *n);
/* cost.c */
typedef struct {
    double bytes, flops;
} call_cost;
call_cost cost_of(const frame *f, const call *c); /* of the sizes that f is bound to */
/* run.c */
tc_status run_loop_block(tc_exec *e, tc_block *b, void *const *data, const tc_loop *l);
tc_status run_kernel(tc_exec *e, kernel_call *k, const tc_node *n, call *epilogue); /* epilogue: the call, or NULL */
/* to and from have the same sizes and types; they may overlap only where both are contiguous. pool NULL: one thread. */
void copy_tensor(const tc_isa_ops *isa, tc_pool *pool, const tc_tensor *to, const tc_tensor *from);

#endif
