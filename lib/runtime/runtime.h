/* Running programs: what tc-run, tc-train, tc-bench, folding and the model language execute everything with.
 *
 *     tc_exec *e;
 *     TC_TRY(tc_exec_create(program, &(tc_exec_options){0}, &e));        plans once: decomposes, fuses, assigns lifetimes
 *     TC_TRY(tc_exec_run(e, inputs, n, gen, outputs, program->noutputs)); solves sizes (cached by their tuple), then a flat list of calls
 *
 * Parameters, buffers and constants are state of the tc_exec: they start as the program's own data (shared, mapped), and a mutation in the
 * signature updates them in place between runs, so a training step or a key/value cache copies nothing.
 * A tc_exec is used by one thread at a time; several may share a pool one after another. */
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
#include "runtime/costs.h"

typedef struct tc_exec tc_exec;
struct tc_generator;

/* Compiled groups: find returns the group for a loop's key (codegen/group.h), or NULL: it is interpreted. Must outlive the tc_exec. */
typedef struct {
    const tc_abi_group *(*find)(void *self, const uint8_t key[TC_ABI_KEY_BYTES]);
    void *self;
    /* What find does not: one for more sizes than this loop's (tc_group_serves), with what it is passed; or NULL. */
    const tc_abi_group *(*find_general)(void *self, const tc_loop *l, tc_arena *a, tc_group_desc *out);
} tc_exec_code;

typedef struct {
    int threads;           /* 0: tc_default_threads(0); ignored when pool is given */
    tc_pool *pool;         /* borrowed; NULL: an own one */
    const tc_isa_ops *isa; /* NULL: tc_isa_ops_choose */
    const tc_costs *costs; /* borrowed; NULL: tc_costs_of this processor */
    tc_numerics numerics;
    bool no_fuse;             /* every node a group of its own: same bits, for tests and diagnosis */
    tc_sdpa sdpa;             /* what computes attention */
    bool loops;               /* operators that have a loop and a kernel run as loops, which can be written as C */
    bool skip_values;         /* guards and assertions about floating-point numbers, on which no size depends, are not evaluated */
    bool keep_packed;         /* parameters and constants change through tc_exec_set_state only: from the second run on their packed forms are kept,
                               * and small values that loops compute of them alone */
    tc_stepping *steps;       /* borrowed while the tc_exec is made: how far to optimise; NULL: all the way */
    const tc_exec_code *code; /* NULL: interpret everything */
} tc_exec_options;

/* The program must be functional and verified; it is cloned (weights are shared) and decomposed. TC_UNSUPPORTED names an operator that
 * nothing executes. */
tc_status tc_exec_create(const tc_program *p, const tc_exec_options *options, tc_exec **out_exec);
void tc_exec_destroy(tc_exec *e); /* NULL is allowed */

/* One run. inputs: a tensor for each TC_IN_USER entry of program->inputs, in order; symbolic numbers as 0-d i64, f64 or bool. Any strides.
 * Wrong type, rank, size, range or guard: TC_CONTENT, for instance "x.size(0)=65, expected 1..64".
 * gen: for random operators; NULL: a program that has one fails with TC_USAGE.
 * outputs: program->noutputs tensors. User results, losses and gradients are made when storage is NULL (owned by the caller, never
 * sharing memory that a later run writes), else written into when type and sizes agree. Symbolic numbers come as 0-d tensors. Entries of
 * mutations, constant leaves and tokens stay {0}: mutated buffers are state, mutated user inputs are written in place. */
tc_status tc_exec_run(tc_exec *e, const tc_tensor *inputs, int ninputs, struct tc_generator *gen, tc_tensor *outputs, int noutputs);

/* The conditions of a run alone: types, sizes, ranges and guards of the inputs, as tc_exec_run checks them. */
tc_status tc_exec_check(tc_exec *e, const tc_tensor *inputs, int ninputs);
size_t tc_exec_uncompiled(const tc_exec *e); /* loops that options.code has no group for; 0 without code */

/* The current tensor of input `index` of the program (parameter, buffer, constant): valid until the next run or set. NULL for other kinds. */
const tc_tensor *tc_exec_state(const tc_exec *e, int index);
/* Runs use (and mutate in place) this storage from now on; type and sizes must be the input's. Shares the storage. Ties follow (alias_of). */
tc_status tc_exec_set_state(tc_exec *e, int index, const tc_tensor *t);
tc_status tc_exec_state_fits(const tc_exec *e, int index, const tc_tensor *t); /* would set take it? */

const tc_program *tc_exec_program(const tc_exec *e); /* the planned (decomposed) program; inputs and outputs are as in the original */

/* ---- what -v, tc-compile and tc-bench show ---- */
/* Groups with the nodes in them, why neighbours were not fused, bytes of the last bound run, mutations that copy. */
void tc_exec_report(const tc_exec *e, tc_buf *out);
/* A line for each attention: where it stands, what it runs as, and why not as one kernel. */
void tc_exec_report_attention(const tc_exec *e, tc_buf *out);
typedef struct {
    size_t state;   /* bytes of parameters, buffers, constants */
    size_t arena;   /* planned intermediates of the last sizes */
    size_t live;    /* the most of them that live in one step: no plan is smaller */
    size_t naive;   /* the same without sharing memory between lifetimes */
    size_t packed;  /* weights in the form that kernels read, kept from the second run on; estimates: of all runs */
    size_t unread;  /* of state: in mapped files, of which runs read what they use (estimates only) */
    size_t inputs;  /* of the user (estimates only) */
    size_t pages;   /* arena, results and what is touched of scratch, in the pages that they are taken in (estimates only) */
    size_t dynamic; /* made during the run: data-dependent sizes */
    size_t scratch; /* of kernels and blocks, all workers */
    size_t results; /* of the program, without those that are state (estimates only) */
} tc_exec_memory;
tc_exec_memory tc_exec_memory_use(const tc_exec *e);
/* What a run at these sizes would need, without running or allocating it. vars: by symbol, in the order of tc_sym_var_at; those that are
 * not bound make the groups that depend on them dynamic, which are not counted. TC_CONTENT: a guard or range does not hold. */
tc_status tc_exec_estimate(tc_exec *e, const tc_symvalue *vars, size_t nvars, tc_exec_memory *out);
/* The same of a run with these inputs. */
tc_status tc_exec_forecast(tc_exec *e, const tc_tensor *inputs, int ninputs, tc_exec_memory *out);

/* Appends the loops that a run executes, for the code generator, in program order (subgraphs included). The caller frees the list. */
typedef TC_VEC(const tc_loop *) tc_loop_list;
void tc_exec_loops(const tc_exec *e, tc_loop_list *out);

/* Called after every group that a run executes (loops whose values are kept from the run before are not) with its nodes, its time and the tensors
 * that it wrote, which are valid during the call; NULL turns it off. */
typedef struct {
    const char *name;
    const tc_node *const *nodes;
    int nnodes;
    const tc_node *copy_for; /* of a copy, which has none: the view or kernel that needs it */
    uint64_t start, ns; /* when it began, by a clock that only moves on; what it took without the groups of its subgraphs, which are told of first */
    uint64_t whole;     /* with them */
    bool compiled;
    double bytes, flops;           /* that it must move and compute, counted from its sizes; a multiply-add is two; 0: not known */
    const tc_value *const *values; /* tensors[i] is values[i] now */
    const tc_tensor *const *tensors;
    int nvalues;
} tc_exec_event;
typedef tc_status (*tc_exec_profile)(void *ctx, const tc_exec_event *event); /* a failure ends the run */
void tc_exec_set_profile(tc_exec *e, tc_exec_profile fn, void *ctx);

/* ---- single operators on concrete tensors (op/op.h, tc_eval) ---- */
typedef struct tc_evaluator tc_evaluator;
/* Plans are kept, keyed by operator, types, sizes and literal arguments. */
tc_status tc_evaluator_create(const tc_exec_options *options, tc_evaluator **out);
void tc_evaluator_destroy(tc_evaluator *v);
void tc_evaluator_forget(tc_evaluator *v); /* gives back the plans and the memory that they keep for their next results */
tc_eval tc_evaluator_eval(tc_evaluator *v);

#endif
