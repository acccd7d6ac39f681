/* Runs programs, for tc-run, tc-train, tc-bench, constant folding and the model language.
 *
 *     tc_exec *e;
 *     TC_TRY(tc_exec_create(program, &(tc_exec_options){0}, &e));         plans once: decomposes, fuses
 *     TC_TRY(tc_exec_run(e, inputs, n, gen, outputs, program->noutputs)); binds sizes (cached by their tuple), then executes a flat list of calls
 *
 * Parameters, buffers and constants are state of the tc_exec. They begin as the program's own data (shared, mapped); mutations in the signature
 * update them in place, so that a training step or a key/value cache copies nothing.
 * A tc_exec is used by one thread at a time; several may use one pool, one after the other. */
#ifndef TC_RUNTIME_RUNTIME_H
#define TC_RUNTIME_RUNTIME_H

#include "base/pool.h"
#include "base/steps.h"
#include "codegen/group.h"
#include "kernel/isa.h"
#include "kernel/kernel.h"
#include "loop/loop.h"
#include "op/attention_choice.h"
#include "op/op.h"
#include "runtime/cost_model.h"

typedef struct tc_exec tc_exec;
struct tc_generator;

/* Compiled groups. find returns the group for a loop's key (codegen/group.h), or NULL, and the loop is interpreted. Must outlive the tc_exec. */
typedef struct {
    const tc_abi_group *(*find)(void *self, const uint8_t key[TC_ABI_KEY_BYTES]);
    void *self;
    /* Or NULL: finds what find does not, a group compiled for more general sizes (tc_group_serves); *out describes its arguments. */
    const tc_abi_group *(*find_general)(void *self, const tc_loop *l, tc_arena *a, tc_group_desc *out);
} tc_exec_code;

typedef struct {
    int threads;           /* 0: tc_default_threads(0); ignored when pool is given */
    tc_pool *pool;         /* borrowed; NULL: the tc_exec creates one */
    const tc_isa_ops *isa; /* NULL: tc_isa_ops_choose */
    const tc_costs *costs; /* borrowed; NULL: tc_costs_of this processor */
    const tc_comm *comm;   /* borrowed: the ranks that run the program, for its collectives; NULL: none */
    tc_numerics numerics;
    bool no_fuse;             /* every node is a group of its own; same bits; for tests and diagnosis */
    tc_sdpa sdpa;             /* how attention is computed */
    bool loops;               /* operators that have both a loop and a kernel run as loops, which can be written as C */
    bool skip_values;         /* guards and assertions about floating-point numbers, on which no size depends, are not evaluated */
    bool keep_packed;         /* parameters and constants change through tc_exec_set_state only: from the second run on, their packed forms are kept,
                               * and small results that loops compute from them alone */
    tc_stepping *steps;       /* borrowed during tc_exec_create: limits the optimisation steps taken (base/steps.h); NULL: all */
    const tc_exec_code *code; /* NULL: interpret everything */
} tc_exec_options;

/* The program must be functional and verified; it is cloned (sharing weights) and decomposed. TC_UNSUPPORTED names an operator that cannot be
 * executed. */
tc_status tc_exec_create(const tc_program *p, const tc_exec_options *options, tc_exec **out_exec);
void tc_exec_destroy(tc_exec *e); /* NULL is allowed */

/* One run. inputs: a tensor for each TC_IN_USER entry of program->inputs, in order; symbolic numbers as 0-d i64, f64 or bool. Any strides.
 * Wrong type, rank, size, range or guard: TC_CONTENT, for instance "x.size(0)=65, expected 1..64".
 * gen: for random operators; NULL: a program that has one fails with TC_USAGE.
 * outputs: program->noutputs tensors. User results, losses and gradients are allocated if storage is NULL (the caller owns them; no later run writes
 * to them), else written into, if type and sizes agree. Symbolic numbers are 0-d tensors. Entries of mutations, constant leaves and tokens stay
 * {0}: mutated buffers are state, mutated user inputs are written in place. */
tc_status tc_exec_run(tc_exec *e, const tc_tensor *inputs, int ninputs, struct tc_generator *gen, tc_tensor *outputs, int noutputs);

/* Checks types, sizes, ranges and guards of the inputs as tc_exec_run does, and runs nothing. */
tc_status tc_exec_check(tc_exec *e, const tc_tensor *inputs, int ninputs);
size_t tc_exec_uncompiled(const tc_exec *e); /* loops for which options.code has no group; 0 without code */

/* The current tensor of input `index` of the program (parameter, buffer, constant), valid until the next run or set_state. NULL: another kind. */
const tc_tensor *tc_exec_state(const tc_exec *e, int index);
/* Runs use this tensor from now on, sharing its storage, and mutate it in place; type and sizes must be the input's. Inputs tied to it (alias_of)
 * follow. */
tc_status tc_exec_set_state(tc_exec *e, int index, const tc_tensor *t);
tc_status tc_exec_state_fits(const tc_exec *e, int index, const tc_tensor *t); /* would set_state accept it? */

const tc_program *tc_exec_program(const tc_exec *e); /* the planned (decomposed) program; inputs and outputs are as in the original */

/* ---- what -v, tc-compile and tc-bench show ---- */
/* The groups and their nodes, why neighbours were not fused, bytes of the last run, mutations that are copied. */
void tc_exec_report(const tc_exec *e, tc_buf *out);
/* A line for each attention: its source line, how it is computed, and why not by the attention kernel. */
void tc_exec_report_attention(const tc_exec *e, tc_buf *out);
/* Memory in bytes. */
typedef struct {
    size_t state;   /* parameters, buffers, constants */
    size_t arena;   /* planned intermediates at the last sizes */
    size_t live;    /* the most of them that are live at once: a lower bound of every plan */
    size_t kept;    /* of the arena: small results that depend on state alone, for later runs */
    size_t naive;   /* the same if intermediates shared no memory */
    size_t packed;  /* packed weights, kept from the second run on; in estimates: of all runs */
    size_t unread;  /* of state: pages of mapped files that runs read (estimates only) */
    size_t inputs;  /* user inputs (estimates only) */
    size_t pages;   /* arena, results and the touched part of scratch, rounded up to pages (estimates only) */
    size_t dynamic; /* intermediates of data-dependent sizes, allocated during the run */
    size_t scratch; /* of kernels and blocks, all workers together */
    size_t results; /* results other than state (estimates only) */
} tc_exec_memory;
tc_exec_memory tc_exec_memory_use(const tc_exec *e);
/* What a run at these sizes would need; nothing is run or allocated. vars: by symbol, in the order of tc_sym_var_at. Groups that depend on unbound
 * ones are dynamic, and not counted. TC_CONTENT: a guard or range does not hold. */
tc_status tc_exec_estimate(tc_exec *e, const tc_symvalue *vars, size_t nvars, tc_exec_memory *out);
/* The same for a run with these inputs. */
tc_status tc_exec_forecast(tc_exec *e, const tc_tensor *inputs, int ninputs, tc_exec_memory *out);

/* Appends the loops of the plan, including those of subgraphs, in program order, for the code generator. The caller frees the list. */
typedef TC_VEC(const tc_loop *) tc_loop_list;
void tc_exec_loops(const tc_exec *e, tc_loop_list *out);

/* Profiling: the callback is called after every group that a run executes (not for loops whose results are kept from the run before). The tensors are
 * valid during the callback. */
typedef struct {
    const char *name;
    const tc_node *const *nodes; /* NULL for a copy */
    int nnodes;
    const tc_node *copy_for;       /* of a copy: the view or kernel that needs it */
    uint64_t start, ns;            /* CLOCK_MONOTONIC, in ns: the begin; the duration without the groups of subgraphs, which are reported before */
    uint64_t whole;                /* the duration with them */
    bool compiled;                 /* else interpreted, or a kernel */
    double bytes, flops;           /* that it must move and compute, by its sizes (call_cost.c); a multiply-add is two; 0: not known */
    const tc_value *const *values; /* that it wrote; tensors[i] is the content of values[i] */
    const tc_tensor *const *tensors;
    int nvalues;
} tc_exec_event;
typedef tc_status (*tc_exec_profile)(void *ctx, const tc_exec_event *event); /* a failure ends the run */
void tc_exec_set_profile(tc_exec *e, tc_exec_profile fn, void *ctx);         /* fn NULL: off */

/* ---- single operators on concrete tensors (op/op.h, tc_eval) ---- */
typedef struct tc_evaluator tc_evaluator;
/* Plans are cached by operator, types, sizes and literal arguments. */
tc_status tc_evaluator_create(const tc_exec_options *options, tc_evaluator **out);
void tc_evaluator_destroy(tc_evaluator *v);
void tc_evaluator_forget(tc_evaluator *v); /* frees the cached plans, and the memory that they recycle for results */
tc_eval tc_evaluator_eval(tc_evaluator *v);

#endif
