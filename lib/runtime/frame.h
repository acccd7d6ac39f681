/* Internals of the runtime. A frame is one graph with its plan; `bound` is a frame for one tuple of sizes, a flat list of calls:
 *
 *     tc_exec  --frame_create-->  frame (graph, plan)  --frame_bind, once for each tuple of sizes-->  bound (tensors, memory, calls)
 *                                                      --frame_run-->  the calls of the bound, one after the other
 *
 * Every tensor value has a root, which is the value whose memory it uses: the value itself, or another one for views and for results computed in
 * place. The memory of a root is in the arena of intermediates, in an input, or in a result that is allocated for the caller in each run. */
#ifndef TC_RUNTIME_FRAME_H
#define TC_RUNTIME_FRAME_H

#include "codegen/group.h"
#include "kernel/kernel.h"
#include "loop/nest.h"
#include "pass/plan.h"
#include "runtime/block.h"
#include "runtime/recycle.h"
#include "runtime/tuning.h"

/* Has t the strides that compiled code relies on, by its flag for this buffer (tc_abi_group.dense)? */
static inline bool strides_fit(uint8_t flag, const tc_tensor *t) {
    return !flag || (flag == 2 && (t->stride[t->rank - 1] == 1 || t->size[t->rank - 1] <= 1)) || tc_tensor_is_contiguous(t);
}

typedef struct frame frame;

typedef enum { ROOT_NONE, ROOT_INPUT, ROOT_ARENA, ROOT_OUTPUT, ROOT_DYNAMIC } root_kind;
typedef struct {
    root_kind kind;
    int index;            /* INPUT: number of the graph's input; OUTPUT: of its output */
    size_t offset, bytes; /* ARENA: offset in frame.memory */
    int first, last;      /* live range: numbers of the first and last call that use it */
    bool inside;          /* used only while slices are planned (slices.c): the root lives within the chain, and holds one slice */
} root;

typedef enum {
    CALL_LOOP,
    CALL_TILE, /* nothing: the kernel that follows runs the loop on tiles of its operand (pass/tiles.h) */
    CALL_KERNEL,
    CALL_COPY,
    CALL_CONTROL, /* control flow, only when C is written (tc_exec.for_c) */
    CALL_ITEM,    /* item() and assertions: a tensor's element becomes the value of a symbol */
    CALL_DYNAMIC  /* a group whose sizes depend on data, bound during the run (dynamic.c) */
} call_kind;

/* A number argument that is evaluated in each run: it is no size, so it may differ between runs of one bound. */
typedef struct {
    tc_karg *arg;
    tc_sym number;
} late_number;

/* A kernel's call and the memory of its arguments. */
typedef struct {
    tc_kcall k;
    frame *f;
    tc_tiles tiles[TC_TILES]; /* of k */
    tc_karg *args;
    tc_tensor *outs;
    int *out_id; /* value id of each result; -1: not wanted */
    late_number *late;
    int nlate;
    const tc_tensor **lists; /* elements of tensor list arguments */
    int64_t *ints;           /* elements of int list arguments */
    size_t scratch;          /* bytes, cached by run.c; depends on whether the call has a packed form */
    enum { SCRATCH_UNKNOWN, SCRATCH_PLAIN, SCRATCH_PACKED } scratch_of;
    size_t pack_bytes; /* of the packed form of argument pack_arg; 0: none is kept */
    bool may_pack;     /* a packed form is possible; a tuning file may decide against it */
    int pack_arg;
} kernel_call;

typedef struct {
    call_kind kind;
    const tc_group *group;
    int group_index;
    tc_block *block; /* the interpreted loop of a LOOP, or of the epilogue of a KERNEL */
    bool keeps;      /* LOOP: its results depend on state alone, stay in the arena, and are computed again only when state changes */
    bool apart;      /* the epilogue runs as a loop after the kernel: the layout of the kernel's result allows no regions (tc_epilogue) */
    void **data;     /* of block or code: addresses of the loop's buffers */
    int *id;         /* of block or code: value ids of the loop's buffers; COPY: to, from; ITEM: from */
    int nid;
    const tc_abi_group *code; /* the compiled loop of a LOOP; its arguments: */
    tc_abi_call abi;
    tc_abi_buffer *buffers;
    int64_t *extents;
    tc_abi_number *numbers;
    const tc_sym *number_syms;
    int nnumbers;
    kernel_call *kernel;
    int tiles[TC_TILES], ntiles; /* KERNEL: the numbers of the calls that make operands tile by tile */
    tc_tensor copy[2];           /* COPY: shapes of to and from, where they are not those of the values */
    const tc_node *copy_for;     /* COPY: the view that strides cannot express, or the kernel that requires a contiguous argument */
} call;

/* A tensor of a chain of slices, which shows some entries of dimension 0 at a time. */
typedef struct {
    int id;
    int64_t step;   /* elements from one entry to the next in memory; 0: its memory holds one slice */
    int64_t offset; /* of entry 0, during a run */
} slice_value;
/* Calls that are executed in order for some entries of dimension 0, then for the next ones (slices.c). */
typedef struct {
    int first, ncalls;
    int64_t n, entries; /* entries of dimension 0; those of a slice */
    slice_value *values;
    int nvalues;
    uint64_t *ns; /* [ncalls] time of each call in a timed run */
} slices;

typedef struct bound {
    int64_t *key;   /* [tc_exec.nvars] the sizes; INT64_MIN: not known, or no integer */
    bool watched;   /* made for a profiled run: when a call is reported, the tensors that it wrote hold all their elements */
    uint64_t stamp; /* tc_exec.clock at the last use */
    tc_tensor *t;   /* by value id; storages are borrowed from roots */
    int *root_of;   /* by value id; -1: no tensor */
    int64_t *delta; /* by value id: bytes from the start of the root */
    root *roots;    /* by value id */
    TC_VEC(call) calls;
    TC_VEC(slices) slices;  /* by first call; they do not overlap */
    TC_VEC(int) moved;      /* values whose storage differs between runs: inputs, results, and views of them; roots first */
    TC_VEC(int) end_copies; /* outputs that are copied after the last call */
    tc_tensor *clones;      /* by end copy, during a run's end: of inputs that another end copy overwrites */
    size_t arena_bytes, live_bytes, kept_bytes, naive_bytes; /* as tc_exec_memory's arena, live, kept, naive */
    size_t scratch, temps, kernel_scratch;                   /* bytes of scratch: of a block, for a worker; of temporaries; of a kernel */
    bool *in_place;                                          /* by output: a mutation that is computed in place */
} bound;

struct frame {
    tc_exec *e;
    tc_graph *g;
    tc_plan *plan;
    tc_schedule *schedules; /* by group */
    const tc_abi_group **code;
    tc_group_desc *descs;
    tc_arena arena;
    tc_storage *memory;       /* the arena of intermediates, shared by all bounds (only one runs at a time), as large as the largest needs */
    int *target;              /* by output: the input that it mutates, or -1 */
    int *tied;                /* by input: the input whose memory it shares, or -1 */
    uint8_t *unit;            /* by value: bytes of the largest elements that a view of it has, where larger than its own; else 0 */
    TC_VEC(bound *) cache;    /* at most MAX_BOUND; the least recently used one is replaced */
    TC_VEC(frame *) children; /* subgraphs */
    bound *b;                 /* of the current run */
    const bound *kept; /* memory holds the results of this bound's calls that keep them, computed from version kept_version of the state; or NULL */
    uint64_t kept_version;
    unsigned char *reported; /* by value: see run.c; NULL: only groups are reported, or nothing is */
};

/* The packed form of an argument of a node (tc_kernel.pack), shared by all bounds for which it has the same size. */
typedef struct {
    const tc_node *node;
    const void *from[TC_PACKED_ARGS]; /* the data that was packed, at version `version` of the state */
    uint64_t version;
    size_t bytes;
    void *data;
} packed_form;

/* The shapes of the inputs of the last run: equal shapes give equal values of symbols. */
typedef struct {
    tc_dtype dtype;
    int rank;
    const int64_t *size;
} seen_shape;
typedef struct {
    seen_shape *shapes; /* by user input; one allocation with the sizes, which follow */
    size_t bytes;       /* of that allocation */
    tc_symvalue *vars;
    bool known;   /* false before the first run, and if an input is a number */
    bool guarded; /* guards were checked for them, and hold */
} seen_sizes;

struct tc_exec {
    tc_program *program;
    tc_exec_options o;
    tc_pool *pool, *own_pool;
    const tc_isa_ops *isa;
    tc_block_tables *tables; /* shared by all frames */
    frame *main;
    tc_tensor *state;  /* by program input */
    bool *owned;       /* by program input: the state's storage may be written */
    bool *mutated;     /* by program input */
    tc_symvalue *vars; /* by symbol, in the order of tc_sym_var_at */
    size_t nvars;
    tc_tensor
        *run_tensors; /* during a run, in one array: by graph input, the inputs, then contiguous copies of them; then by graph output, the results */
    const tc_tensor **given; /* during a run, by graph input: the user's tensor */
    seen_sizes last;
    int nuser; /* user inputs */
    void *scratch;
    size_t scratch_bytes;
    uint64_t clock, runs, version; /* clock: counts uses of bounds; version: counts calls of tc_exec_set_state */
    TC_VEC(packed_form) packed;
    TC_VEC(void *) packed_memory; /* allocations for them */
    char *chunk;                  /* the free part of the last large allocation, chunk_left bytes */
    size_t packed_bytes, chunk_left;
    size_t dynamic_bytes;
    struct tc_generator *gen;
    bool layouts;                 /* images may be channels last (layout.c) */
    bool guards_number;           /* a guard depends on a number that is not in a bound's key: guards are checked in every run */
    bool random;                  /* a node draws random numbers */
    bool for_c;                   /* bound to be written as C: no value is channels last, loops have no blocks, control flow writes into the arena,
                                   * and integers may be known only in the run */
    bool plan_only;               /* frame_bind plans memory, but does not allocate it */
    tc_costs costs;               /* of this processor; those of a tuning file take precedence */
    const tc_tuning *tuning;      /* or NULL */
    tc_attention_list attentions; /* of the program before decomposition */
    tc_exec_timed timed;          /* or NULL */
    void *timed_ctx;
    tc_exec_profile profile; /* or NULL */
    void *profile_ctx;
    uint64_t profiled;       /* ns of the groups reported so far */
    const tc_node *fault_at; /* the node of a loop that failed, until its error has the place; NULL: any of the group */
    recycler *memory;        /* of results */
    tc_storage *dummy;       /* a storage without memory, for tensors of which only sizes and strides are known */
};

enum { MAX_BOUND = 16 };

tc_status frame_create(tc_exec *e, tc_graph *g, frame **out);
bool frame_takes(const frame *f, int at, const tc_tensor *t);
void frame_destroy(frame *f);
/* in: by graph input ({0} for numbers); out: by graph output; results whose storage is NULL are allocated. */
tc_status frame_run(frame *f, const tc_tensor *in, tc_tensor *out);
tc_status frame_bind(frame *f, bound **out);
void bound_destroy(bound *b);
void bound_plan_memory(bound *b, size_t nvalues);               /* sets the offsets of roots in the arena, and the sizes of the arena */
size_t call_scratch(tc_exec *e, const bound *b, const call *c); /* bytes of tc_exec.scratch that the call needs */

/* solve.c */
tc_status solve_sizes(tc_exec *e, const tc_tensor *inputs, int ninputs);
tc_status check_guards(const tc_exec *e);                   /* those whose numbers are known */
tc_status check_guards_about(const tc_exec *e, tc_sym var); /* those that depend on var, which data has just given a value */
bool no_size(tc_sym cond);                 /* does cond depend on floating-point numbers, and on none that were rounded to integers? */
bool guards_have_floats(const tc_exec *e); /* does a guard depend on a floating-point number? */
/* layout.c: sets out for the values that are channels last (by value id), and takes for the groups whose kernel accepts argument 0 in that layout
 * (by group). Both are zeroed by the caller. last: by value id, the last group that reads it (INT32_MAX: a result). */
void frame_layouts(frame *f, const int *last, bool *out, bool *takes);
/* kernel_args.c: the arguments of a node for its kernel; tensors are pointers into t (by value id). Without run_time, numbers that may differ between runs
 * are added to out->late. */
tc_status kernel_args(const tc_node *n, tc_tensor *t, const tc_symvalue *vars, size_t nvars, bool run_time, kernel_call *out);
void kernel_call_free(kernel_call *k);
tc_status meta_sizes(const tc_exec *e, const tc_value *v, int64_t *size);
/* dynamic.c */
tc_status run_dynamic(frame *f, const tc_group *g, int index);
/* packed.c */
bool packed_argument(const tc_exec *e, const tc_value *input); /* is this input of the main graph state that runs do not change? */
/* The packed form, made or updated. *out stays unchanged in the first run, and if there is no memory for it. */
tc_status packed_data(tc_exec *e, kernel_call *k, const tc_node *n, const void **out);
void packed_free(tc_exec *e);
/* Sets call.keeps, and makes the roots of kept results live from call 0 to `last`, the number of calls. */
void keep_values(const frame *f, bound *b, size_t nvalues, int last);
/* tuning.c */
int64_t tuning_block(const tc_exec *e, const tc_loop *l);                       /* elements of a block of this loop; 0: the default */
void tuning_kernel(const tc_exec *e, const tc_node *n, kernel_call *k);         /* sets the kernel's knobs */
bool tuning_unpacked(const tc_exec *e, const tc_node *n, const kernel_call *k); /* is the kernel to read its weights in place? */
void tuning_report(const frame *f, const call *c, uint64_t ns);                 /* calls e->timed for each choice of a call */
const tc_costs *tuning_costs(const tc_exec *e);
/* control.c */
typedef enum { CONTROL_COND, CONTROL_WHILE, CONTROL_SCAN } control_kind;
/* Arguments of a control flow node. graph is the first of two where there are two: true, false; test, body. */
typedef struct {
    control_kind kind;
    const tc_arg *graph, *init, *xs, *more; /* NULL: absent; COND: its operands are `more` */
    bool associative;                       /* a scan whose carry is the previous result, starting with the first of xs */
} control_form;
tc_status control_read(const tc_node *n, control_form *out); /* TC_UNSUPPORTED: another operator */
frame *frame_child(const frame *f, const tc_graph *g);
tc_status run_control(frame *f, const tc_node *n);
/* call_cost.c */
typedef struct {
    double bytes, flops;
} call_cost;
call_cost cost_of(const frame *f, const call *c); /* at the sizes that f is bound to */
/* run.c */
tc_status run_loop_block(tc_exec *e, tc_block *b, void *const *data, const tc_loop *l);
tc_status run_kernel(frame *f, kernel_call *k, const tc_node *n, call *c); /* c: the call, or NULL: no epilogue and no tiles */
/* copy.c: to and from have the same sizes and type; they may overlap only if both are contiguous. pool NULL: one thread. */
void copy_tensor(const tc_isa_ops *isa, tc_pool *pool, const tc_tensor *to, const tc_tensor *from);

#endif
