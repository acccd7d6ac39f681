/* Internal to the emitter: the state while one group's C is written, and what its files offer each other (emit.c: phases and nests; emit_block.c: the
 * loop over a block; emit_value.c: values and addresses; emit_half.c: float16; emit_reduce.c: reductions and scans; emit_prefetch.c: prefetch). */
#ifndef TC_CODEGEN_EMIT_WRITE_H
#define TC_CODEGEN_EMIT_WRITE_H

#include "codegen/emit.h"
#include "codegen/emit_plan.h"

typedef enum { AT_NONE, AT_ITEM, AT_ROW, AT_INNER, AT_ARRAY, AT_KEPT } place;

typedef struct {
    cplan *p;
    const tc_loop *l;
    const cphase *ph;
    const cnest *t; /* nest being written */
    const char *name;
    tc_buf *b;
    int indent;
    place *at;     /* by instruction: where its value is available at this point */
    bool *in_nest; /* by instruction: the nest computes or reads it */
    int *segment;  /* by instruction: its segment of the inner loop */
    bool scratch;
    bool sanitize; /* signed integer overflow is a fault */
    bool quick;    /* no argument in the block is large: use the variants without the branch */
    bool whole;    /* some are: use those that are calls */
    tc_status st;
} emitter;

/* ---- emit_value.c ---- */
void emit_line(emitter *e, const char *fmt, ...) TC_PRINTF(2, 3); /* one line of C, indented */
void emit_open(emitter *e);
void emit_close(emitter *e);
#define T(e, ...) tc_arena_printf((e)->p->a, __VA_ARGS__)
void emit_refuse(emitter *e, const char *what); /* the group stays interpreted */
const char *emit_ctype(tc_dtype d);             /* C type of an element in memory */
const char *emit_type(const tc_linst *in);      /* of a value */
const char *emit_suffix(tc_dtype d);            /* "f32" in names of scalar functions */
bool emit_narrow(tc_dtype d);                   /* computed in a wider type than it is stored in */
const char *emit_float(emitter *e, double v, bool single);
uint64_t emit_ranges(const emitter *e); /* all ranges of the phase */
/* offset + steps of the ranges in `set`; the inner range counts from k0, or with the element (k0 + i). */
cexpr emit_address(emitter *e, const caccess *x, uint64_t set, bool element);
const char *emit_kept_index(emitter *e, tc_lv v, bool element);
const char *emit_ref(emitter *e, tc_lv v);                                               /* how a use of the value is written */
const char *emit_value(emitter *e, tc_lv v, bool inner);                                 /* the right-hand side of an instruction */
int emit_operands(const emitter *e, tc_lv v, tc_lv out[TC_LOOP_OPERANDS]);               /* those that emit_value writes; returns their number */
const char *emit_step(emitter *e, int r, tc_dtype d, const char *so_far, const char *x); /* a wrapping integer sum or product with one more element */
bool emit_plain_load(const tc_linst *in);                                                /* a load without gathered indices */
/* Of an operation with a branch or more steps for rare arguments the word of its form without: tc_x_NAME_small_T; else NULL. */
const char *emit_rare(const tc_linst *in);
bool emit_varies(const emitter *e, size_t v); /* along the inner range of the nest (emit.c) */
void emit_mark(emitter *e, tc_lv v);          /* in_nest: what must be computed for v (emit.c) */

/* ---- emit_block.c ---- */
void emit_declare(emitter *e, tc_lv v, bool inner);            /* declares the value as a local constant */
bool emit_idle_block(emitter *e);                              /* a block computes nothing: operands are reduced straight from memory */
void emit_block(emitter *e, const char *from, const char *to); /* the loop over elements of a block, in segments */

/* ---- emit_half.c: float16, a block at a time ---- */
/* Operands are widened into arrays, which are no longer there after the block: owned. */
void emit_half_loads(emitter *e, const char *from, const char *to, bool *owned);
bool emit_half_round(const emitter *e, tc_lv v); /* a result that is rounded between two segments */
void emit_half_rounds(emitter *e, int at, const bool *rounds, const char *from, const char *to);
bool emit_half_store(emitter *e, int s); /* written as float to an array z, which emit_half_results narrows */
void emit_half_results(emitter *e, const char *from, const char *to);

/* ---- emit_repeat.c ---- */
void emit_repeated(emitter *e,
                   repeat_kind where); /* fills the blocks of repeated values that are filled there, for a block those that the nest reads */

/* ---- emit_reduce.c: the nest e->t, reduction or scan r of it ---- */
bool emit_aligned(const emitter *e); /* row reduction whose blocks start at a leaf boundary */
int emit_row_room(const emitter *e); /* elements of the array that rows fill in turn: whole leaves and, where rows are short, whole rows */
/* The operand as a contiguous array in memory ("x3", "m5 + k0"); NULL: the block must be collected in an array first. */
const char *emit_direct(emitter *e, int r);
bool emit_each_piece(emitter *e); /* reduce a block leaf by leaf, with prefetches between */
void emit_begin_rows(emitter *e, int r);
/* Writes the reduction of n elements from `at` of the block: for all reductions of the nest, for those done leaf by leaf, or for the others. */
typedef enum { FLUSH_ALL, FLUSH_PIECES, FLUSH_BLOCKS } flush_kind;
void emit_flush_rows(emitter *e, flush_kind which, const char *at, const char *n);
const char *emit_row_result(emitter *e, int r);
void emit_keep(emitter *e, int r, const char *value);
void emit_begin_columns(emitter *e, int r);
void emit_lanes(emitter *e); /* pointers to the lanes of this row */
void emit_column_step(emitter *e, int r);
void emit_fold_columns(emitter *e, bool last); /* last: no further leaf follows */
bool emit_any_tree(const emitter *e);
void emit_end_columns(emitter *e, int r);
void emit_begin_scan(emitter *e, int r);
void emit_scan_step(emitter *e, int r);

/* ---- emit_prefetch.c: software prefetch ---- */
bool emit_prefetches_results(emitter *e);                         /* the nest prefetches lines that later nests of its phase will write */
void emit_prefetch(emitter *e, const char *from, const char *to); /* rows: for elements [from, to) of the block */
void emit_prefetch_columns(emitter *e);

#endif
