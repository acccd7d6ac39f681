/* Between block_bind.c, which knows sizes and addresses, and block_plan.c, which turns instructions into steps and gives them places. */
#ifndef TC_RUNTIME_BLOCK_PLAN_H
#define TC_RUNTIME_BLOCK_PLAN_H

#include "runtime/block_impl.h"

typedef struct {
    int64_t base, s[64];
} raw; /* an affine expression over all axes of the loop, evaluated */

typedef struct {
    const tc_loop *loop;
    const tc_isa_ops *isa;
    const tc_nest *tn;
    const tc_costs *costs;
    int64_t block;                  /* as tc_block_env has it */
    int threads;                    /* at least 1 */
    bool in_place, row_only, scans; /* row_only: something in it is not done column-wise; scans: it has a scan */
    int widest, work, blocks;       /* bytes of the widest value; instructions, and those of them that make blocks, loads aside */
    tc_block *made;                 /* has the tables */
    const tc_lv *root;              /* find_tables */
    uint8_t *live;                  /* by instruction: the nest needs it */
    raw *raws;
    int nraw;
    int *raw_of, store_raw;                            /* by instruction, -1: none; first of the stores */
    int *acc_of, *store_acc;                           /* the same as accesses of the nest */
    uint64_t outer, outer_on, inner_on;                /* axes; _on: those with an extent other than 1 */
    int last_axis[64], outer_axis[64], inner_axis[64]; /* innermost axis of each merged one */
    int full;                                          /* class of a value that varies along all */
} plan;

/* Steps, places and scratch of a nest whose sides, block and accesses are set. */
tc_status block_plan(const plan *p, nest *n);

#endif
