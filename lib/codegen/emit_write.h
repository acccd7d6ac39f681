/* What the files of the emitter share: the writer of one group's C (emit.c: nests and phases; emit_block.c: a block of a nest; emit_value.c:
 * values and addresses; emit_reduce.c: reductions and scans). */
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
    place *at;  /* by instruction: where its value is found now */
    bool *mine; /* by instruction: the nest computes or reads it */
    int *seg;   /* by instruction: its segment of the inner loop */
    bool scratch;
    bool sanitize; /* integers that overflow are faults */
    bool quick;    /* no argument of the block is large: the forms without the branch */
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
bool ew_narrow(tc_dtype d);              /* computed in another type than stored */
const char *ew_float(ew *e, double v, bool single);
uint64_t ew_ranges(const ew *e); /* all ranges of the phase */
/* offset + steps of the ranges in `set`; the inner range counts from k0, or with the element (k0 + i). */
cexpr ew_address(ew *e, const caccess *x, uint64_t set, bool element);
const char *ew_kept_index(ew *e, tc_lv v, bool element);
const char *ew_ref(ew *e, tc_lv v);                                               /* a value where it is used */
const char *ew_value(ew *e, tc_lv v, bool inner);                                 /* the right-hand side of an instruction */
const char *ew_step(ew *e, int r, tc_dtype d, const char *so_far, const char *x); /* a sum or product of integers with one more, which wraps */
bool ew_plain_load(const tc_linst *in);                                           /* a load without gathered indices */
bool ew_rare(const tc_linst *in);      /* an operation with a branch for large arguments, and a form without: tc_x_NAME_small_T */
bool ew_varies(const ew *e, size_t v); /* along the inner range of the nest (emit.c) */

/* ---- emit_block.c ---- */
void ew_declare(ew *e, tc_lv v, bool inner);            /* the value as a constant of the scope */
bool ew_idle_block(ew *e);                              /* nothing is computed in a block: whatever is reduced lies in memory */
void ew_block(ew *e, const char *from, const char *to); /* the loop over elements of a block, in segments; pointers are there */

/* ---- emit_reduce.c: the nest e->t, reduction or scan r of it ---- */
bool ew_aligned(const ew *e); /* rows whose blocks are blocks of the inner range, and begin with a leaf */
/* Where the operand's elements of a block already stand in order ("x3", "m5 + k0"); NULL: they go through an array. */
const char *ew_direct(ew *e, int r);
bool ew_each_piece(ew *e); /* a block is better reduced piece by piece: others are fetched meanwhile */
void ew_begin_rows(ew *e, int r);
/* Reduces elements [0, n) from `at` of the block: of all items, of those that go piece by piece, of the others. */
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

/* ---- emit_fetch.c: memory that is asked for before it is needed ---- */
bool ew_fetches_results(ew *e);                         /* the nest fetches what later nests of its phase will write */
void ew_fetch(ew *e, const char *from, const char *to); /* rows: for elements [from, to) of the block */
void ew_fetch_columns(ew *e);

#endif
