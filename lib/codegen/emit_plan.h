/* The schedule of one group's C: emit_plan.c decides it, emit.c writes it.
 *
 * Stores over related axes form a phase: one parallel loop over items. Inside a phase adjacent axes are merged into ranges where every access allows it;
 * the ranges common to all stores and reductions (`par`) index the items; a nest is one pass of reductions, of scans, or of stores.
 *
 *     softmax [N, M]:   ranges r0 = N, r1 = M; par {r0}; nests: max over r1; sum over r1; store
 *
 * The inner range of a nest runs in blocks. Where it is in par (pointwise loops, sums over an outer dimension) an item is one block of it ("columns");
 * else an item is whole rows. A short inner range is lengthened by the ranges around it although operands are repeated along them (emit_repeat.c). A scan with expensive steps runs over columns even when these are strided ("apart"): along a row each step must wait for
 * the one before. */
#ifndef TC_CODEGEN_EMIT_PLAN_H
#define TC_CODEGEN_EMIT_PLAN_H

#include "codegen/group.h"

enum { EMIT_BLOCK = 1024, EMIT_MAX_NESTS = 128, COLS_BLOCK = 128, COLS_WIDE = 1024, COLS_APART = 16, COLS_WELFORD = 32, TREE_LEVELS = 32 };

/* A size or stride: a constant or C text. sym: its symbolic value; NULL when it is known at run time only. */
typedef struct {
    bool is_const;
    int64_t v;
    const char *s;
    tc_sym sym;
} cexpr;

typedef struct {
    int axis[64];
    int n;
    cexpr extent;
} crange;

/* An affine address or index: offset + sum of step[axis] * axis. */
typedef struct {
    bool present;
    cexpr offset;
    cexpr step[64];
} caccess;

typedef enum { NEST_REDUCE, NEST_SCAN, NEST_STORE } nest_kind;
typedef struct {
    nest_kind kind;
    int level;
    uint64_t outer; /* ranges of the surrounding loops: domain - par - over */
    uint64_t over;  /* ranges that are reduced */
    int inner;      /* range of the inner loop; -1: none */
    const int *item;
    int n; /* instructions (REDUCE, SCAN) or indices of stores */
    const int *scan;
    int nscans; /* STORE: scans over `over` that only these stores read, computed in the same loop and not kept */
} cnest;

typedef enum { MAT_NONE, MAT_SCALAR, MAT_COLUMNS, MAT_SCRATCH } mat_kind;

/* Where a block of a repeated value is filled: at the start of the function, of an item, of each block. */
typedef enum { REPEAT_NONE, REPEAT_FUNCTION, REPEAT_ITEM, REPEAT_BLOCK } repeat_kind;

typedef struct cphase {
    const int *stores;
    int nstores;
    bool *needed; /* by instruction */
    crange *range;
    int nr;
    int8_t range_of[64];   /* of an axis; -1: its extent is 1 */
    uint64_t *mask, *over; /* ranges of an instruction, and those that it reduces */
    uint64_t par;
    int vec;      /* the vectorised range (unit strides); -1: none */
    bool columns; /* vec is in par: items are blocks of it */
    int block;    /* elements of a block */
    bool wide;    /* columns: the block's width is chosen at run time by the number of workers */
    bool whole;   /* columns: one block, whose width is a constant, has them all */
    bool few;     /* whole, and so short that gcc would unroll loops over it instead of making vectors */
    bool apart;   /* strided columns: gathered into arrays, so that an expensive scan runs on vectors */
    cnest *nest;
    int nnests;
    mat_kind *mat; /* by instruction: how its value is kept for later nests */

    const struct cphase *split; /* vec was lengthened: the ranges before (those that became a part of vec are empty now); else NULL */
    uint64_t joined;            /* the ranges of `split` that vec consists of */
    int8_t order[64];           /* these, outermost first */
    repeat_kind *repeat;        /* by instruction: it varies along some of the joined ranges only, and what varies along all reads it */
} cphase;

typedef struct {
    const tc_loop *l;
    const tc_group_desc *d;
    tc_arena *a;
    caccess *inst_access;      /* LOAD, INDEX */
    caccess (*dim_access)[16]; /* LOAD: affine index of each gathered dimension */
    caccess *store_access;
    cexpr extent[64];                  /* of axes */
    uint64_t used_number, used_extent; /* of numbers (first 64) and axes: declared at the top of a function */
} cplan;

/* p->l is l, or a copy of it that emit_moves makes. */
tc_status emit_plan_init(cplan *p, const tc_loop *l, const tc_group_desc *d, tc_arena *a);
/* The phases, in order. */
tc_status emit_plan_phases(cplan *p, cphase **out, int *out_n);
/* Marks in seen[] the values that a nest computes to get v: its operands, back to reductions and scans. */
void emit_reach(const tc_loop *l, bool *seen, tc_lv v);

cexpr cx_int(int64_t v);
cexpr cx_add(cplan *p, cexpr a, cexpr b);
cexpr cx_mul(cplan *p, cexpr a, cexpr b);
const char *cx_text(cplan *p, cexpr e);
cexpr cx_size(cplan *p, int buffer, int dim);
cexpr cx_stride(cplan *p, int buffer, int dim);
cexpr cx_step(cplan *p, const cphase *ph, const caccess *x, int range); /* along a range */
bool cx_heavy(const tc_linst *in);
uint64_t cx_ranges(const cphase *ph, uint64_t axes); /* as a set of ranges */
/* Can the nested ranges a (outer) and b (inner) be merged into one? apart: instructions whose addresses do not matter, or NULL. */
bool cx_merges(cplan *p, const cphase *ph, const crange *a, const crange *b, const bool *apart);
int emit_last_over(const cphase *ph, uint64_t over); /* the reduced range that is innermost in row-major order: that of the highest axis */
bool emit_set_masks(cplan *p, cphase *ph);           /* sets mask, over and par; true: the phase has reductions or scans */

/* ---- emit_moves.c ---- */
/* The loop as it is scheduled and written: l, or a copy in the arena. */
const tc_loop *emit_moves(const tc_loop *l, tc_arena *a);

/* ---- emit_repeat.c ---- */
void emit_lengthen(cplan *p, cphase *ph);
void emit_place_repeated(cplan *p, cphase *ph, bool reduces); /* when nests and block are known */
bool emit_partial(const cphase *ph, tc_lv v);                 /* varies along some of the joined ranges only */

#endif
