/* The interface between block_bind.c (sizes, sides, shapes of blocks), block_plan.c (instructions to steps) and block_place.c (memory of values). */
#ifndef TC_RUNTIME_BLOCK_PLAN_H
#define TC_RUNTIME_BLOCK_PLAN_H

#include "runtime/block_impl.h"

typedef struct {
    int64_t base, s[64];
} raw; /* an affine expression over all axes of the loop, evaluated: base + s[axis] * index */

typedef struct {
    const tc_loop *loop;
    const tc_isa_ops *isa;
    const tc_nest *tn;
    const tc_costs *costs;
    int64_t block;                  /* of tc_block_env */
    int threads;                    /* at least 1 */
    bool in_place, row_only, scans; /* row_only: it has instructions that need row mode; scans: it has a scan */
    int column_values;              /* live operations on values that vary along the inner side only */
    int widest, work, blocks;       /* bytes of the widest value; live instructions; those, except loads, whose value varies along the inner side */
    tc_block *made;                 /* the block, for its tables */
    const tc_lv *root;              /* of find_tables */
    uint8_t *live;                  /* by instruction: the nest needs it */
    raw *raws;
    int nraw;
    int *raw_of, store_raw;                            /* number in raws by instruction (-1: none); of the first store */
    int *acc_of, *store_acc;                           /* the same in nest.acc; store_acc: by store */
    uint64_t outer, outer_on, inner_on;                /* outer axes; _on: axes of the side with an extent other than 1 */
    int last_axis[64], outer_axis[64], inner_axis[64]; /* by merged axis: the innermost of its axes */
    int full;                                          /* class of a value that varies along all axes */
} plan;

/* Sets steps, places and scratch of a nest whose sides, block shape and accesses are set. */
tc_status block_plan(const plan *p, nest *n);

/* ---- shared by block_plan.c, block_fuse.c and block_place.c ---- */
/* How often a value is computed: once by a worker (constants); for each R rows, before a stage; for each block of a stage. */
enum { ONCE, ROW, BODY };
/* V_TABLE: a look-up; V_CAST: a conversion between a 16-bit type and float32 for a table. */
enum { V_INST, V_BROADCAST, V_STORE, V_TABLE, V_CAST };

/* A value, or a store. */
typedef struct {
    uint8_t what, cls, level, dtype, shift; /* shift: log2 of the element size */
    bool kept;                              /* in a row buffer, for later stages */
    bool split;            /* a gather whose indices are added separately by what they vary along: rows, columns or both (gather_split) */
    bool strided;          /* a load in column mode that only reductions read, which step through memory themselves */
    bool thin;             /* a load with one element for each run along the last inner axis (thin_load) */
    int stage;             /* the first that can compute it */
    uint64_t need;         /* BODY: bit mask of the stages that use it */
    int inst, a[4], store; /* instruction, or -1; operands (nodes); store: index into tn->stores */
    uint8_t narrow;        /* bit k: operand k has one element for each row or in all (S_FN_NARROW) */
    /* The primitive that does this operation and the one before it, whose operands the node has: one of the two, or NULL. negate: of select. */
    tc_block_fn fused;
    tc_block_select select;
    bool negate;
    int acc, red, table;
    int pred;
} node;

typedef struct {
    const plan *p;
    nest *n;
    node *v;
    int nv, cap;
    int *of;     /* by instruction: its node */
    int *half;   /* by instruction: its value as 16-bit numbers, for tables; -1: none */
    int *uses;   /* by instruction: how many instructions and stores of the nest use its value */
    bool single; /* a block has all columns */
} ctx;

/* Steps are numbered in order; by value: the step that first computes it, and the last that uses it. */
typedef struct {
    int pos, *first, *last;
} live_ranges;

void raise_to(const ctx *c, node *v, int operand); /* v is computed no earlier, and no less often, than its operand */
void fuse_steps(const ctx *c, node *v);            /* if a primitive does v and the operation before it in one pass, v takes the operands of both */
bool direct_load(const ctx *c, const node *v);     /* a load that its users read from memory: dense, or strided; no conversion */
void place_all(ctx *c, const live_ranges *l);      /* sets nest.places, moving and scratch; drops stores that steps do themselves */
void plan_prefetch(const ctx *c);                  /* sets nest.streams and the pieces of steps */

#endif
