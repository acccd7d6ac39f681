/* Internal to the emitter: the state while one group's C is written, and what its files offer each other (emit.c: phases and nests; emit_block.c: the
 * loop over a block; emit_value.c: values and addresses; emit_reduce.c: reductions and scans; emit_fetch.c: prefetch). */
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
    place *at;  /* by instruction: where its value is available at this point */
    bool *mine; /* by instruction: the nest computes or reads it */
    int *seg;   /* by instruction: its segment of the inner loop */
    bool scratch;
    bool sanitize; /* signed integer overflow is a fault */
    bool quick;    /* no argument in the block is large: use the variants without the branch */
    tc_status st;
} ew; /* emission, writer */

/* ---- emit_value.c ---- */
void ew_line(ew *e, const char *fmt, ...) TC_PRINTF(2, 3); /* one line of C, indented */
void ew_open(ew *e);
void ew_close(ew *e);
#define T(e, ...) tc_arena_printf((e)->p->a, __VA_ARGS__)
void ew_refuse(ew *e, const char *what); /* the group stays interpreted */
const char *ew_ctype(tc_dtype d);        /* C type of an element in memory */
const char *ew_type(const tc_linst *in); /* of a value */
const char *ew_suffix(tc_dtype d);       /* "f32" in names of scalar functions */
bool ew_narrow(tc_dtype d);              /* computed in a wider type than it is stored in */
const char *ew_float(ew *e, double v, bool single);
uint64_t ew_ranges(const ew *e); /* all ranges of the phase */
/* offset + steps of the ranges in `set`; the inner range counts from k0, or with the element (k0 + i). */
cexpr ew_address(ew *e, const caccess *x, uint64_t set, bool element);
const char *ew_kept_index(ew *e, tc_lv v, bool element);
const char *ew_ref(ew *e, tc_lv v);                                               /* how a use of the value is written */
const char *ew_value(ew *e, tc_lv v, bool inner);                                 /* the right-hand side of an instruction */
const char *ew_step(ew *e, int r, tc_dtype d, const char *so_far, const char *x); /* a wrapping integer sum or product with one more element */
bool ew_plain_load(const tc_linst *in);                                           /* a load without gathered indices */
bool ew_rare(const tc_linst *in);      /* an operation with a branch for large arguments, and a form without: tc_x_NAME_small_T */
bool ew_varies(const ew *e, size_t v); /* along the inner range of the nest (emit.c) */

/* ---- emit_block.c ---- */
void ew_declare(ew *e, tc_lv v, bool inner);            /* declares the value as a local constant */
bool ew_idle_block(ew *e);                              /* a block computes nothing: operands are reduced straight from memory */
void ew_block(ew *e, const char *from, const char *to); /* the loop over elements of a block, in segments */

/* ---- emit_reduce.c: the nest e->t, reduction or scan r of it ---- */
bool ew_aligned(const ew *e); /* row reduction whose blocks start at a leaf boundary */
/* The operand as a contiguous array in memory ("x3", "m5 + k0"); NULL: the block must be collected in an array first. */
const char *ew_direct(ew *e, int r);
bool ew_each_piece(ew *e); /* reduce a block leaf by leaf, with prefetches between */
void ew_begin_rows(ew *e, int r);
/* Writes the reduction of n elements from `at` of the block: for all reductions of the nest, for those done leaf by leaf, or for the others. */
typedef enum { FLUSH_ALL, FLUSH_PIECES, FLUSH_BLOCKS } flush_kind;
void ew_flush_rows(ew *e, flush_kind which, const char *at, const char *n);
const char *ew_row_result(ew *e, int r);
void ew_keep(ew *e, int r, const char *value);
void ew_begin_columns(ew *e, int r);
void ew_lanes(ew *e); /* pointers to the lanes of this row */
void ew_column_step(ew *e, int r);
void ew_fold_columns(ew *e);
bool ew_any_tree(const ew *e);
void ew_end_columns(ew *e, int r);
void ew_begin_scan(ew *e, int r);
void ew_scan_step(ew *e, int r);

/* ---- emit_fetch.c: software prefetch ---- */
bool ew_fetches_results(ew *e);                         /* the nest prefetches lines that later nests of its phase will write */
void ew_fetch(ew *e, const char *from, const char *to); /* rows: for elements [from, to) of the block */
void ew_fetch_columns(ew *e);

#endif
