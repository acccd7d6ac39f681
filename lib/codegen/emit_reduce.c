/* Reductions and scans in emitted C (emit_write.h), in the order of tc-numerics(7), "Sums". Rows are reduced a block at a time into leaves of a
 * tree; columns keep one accumulator each, side by side. */
#include "codegen/emit_write.h"
#include "kernel/tree.h"

#include <math.h>

/* ---- reductions ---- */
typedef enum { SHAPE_TREE, SHAPE_WRAP, SHAPE_BEST, SHAPE_ARG, SHAPE_FLAG, SHAPE_WELFORD } rshape;
static rshape shape_of(const emitter *e, const tc_linst *in) {
    bool f = tc_is_float(e->l->inst.data[in->a[0]].dtype);
    switch (in->op) {
    case TC_R_SUM:
    case TC_R_PROD: return f ? SHAPE_TREE : SHAPE_WRAP;
    case TC_R_MAX:
    case TC_R_MIN: return SHAPE_BEST;
    case TC_R_ARGMAX:
    case TC_R_ARGMIN: return SHAPE_ARG;
    case TC_R_WELFORD: return SHAPE_WELFORD;
    default: return SHAPE_FLAG;
    }
}
static bool is_max(const tc_linst *in) { return in->op == TC_R_MAX || in->op == TC_R_ARGMAX; }

/* The initial value of max and min. */
static const char *worst(emitter *e, tc_dtype d, bool max) {
    if (d == TC_F32 || d == TC_F64) return emit_float(e, max ? -INFINITY : INFINITY, d == TC_F32);
    if (d == TC_BOOL) return max ? "0" : "1";
    const char *u = tc_dtypes[d].is_signed ? "" : "U";
    int bits = 8 * tc_dtypes[d].size;
    return max && *u ? "0" : T(e, "%sINT%d_%s", u, bits, max ? "MIN" : "MAX");
}
static const char *word(const tc_linst *in) { return in->op == TC_R_SUM ? "sum" : in->op == TC_R_PROD ? "prod" : is_max(in) ? "max" : "min"; }

static const char *way(const tc_linst *in) { return is_max(in) ? "above" : "below"; }

bool emit_aligned(const emitter *e) {
    if (e->t->inner < 0 || e->ph->columns) return false;
    const cexpr inner = e->ph->range[e->t->inner].extent;
    return e->t->over == UINT64_C(1) << e->t->inner || (inner.is_const && inner.v % TC_LEAF == 0);
}

int emit_row_room(const emitter *e) {
    enum { MOST = 4 * EMIT_BLOCK };
    if (e->t->inner < 0 || emit_aligned(e)) return EMIT_BLOCK;
    const cexpr n = e->ph->range[e->t->inner].extent;
    int64_t room = TC_LEAF;
    while (n.is_const && n.v && room % n.v && room <= MOST) room += TC_LEAF;
    return !n.is_const || !n.v || room > MOST ? EMIT_BLOCK : (int)((EMIT_BLOCK + room - 1) / room * room);
}

const char *emit_direct(emitter *e, int r) {
    if (e->t->kind != NEST_REDUCE || !emit_aligned(e)) return NULL;
    tc_lv v = e->l->inst.data[r].a[0];
    const tc_linst *in = &e->l->inst.data[v];
    if (e->ph->mat[v] == MAT_SCRATCH) {
        uint64_t rest = e->ph->mask[v] & ~e->ph->par;
        if (rest >> e->t->inner != 1) return NULL; /* the inner range is the last one, so its steps are 1 */
        return T(e, "m%d + %s", v, emit_kept_index(e, v, false));
    }
    if ((e->at[v] != AT_NONE && e->at[v] != AT_INNER) || !emit_plain_load(in) || in->pred != TC_LV_NONE ||
        emit_narrow(e->l->buffers.data[in->buffer].dtype))
        return NULL;
    cexpr step = cx_step(e->p, e->ph, &e->p->inst_access[v], e->t->inner);
    return step.is_const && step.v == 1 ? T(e, "x%d", v) : NULL;
}

bool emit_each_piece(emitter *e) {
    for (int k = 0; k < e->t->n; k++)
        if (shape_of(e, &e->l->inst.data[e->t->item[k]]) == SHAPE_WELFORD) return true;
    return emit_prefetches_results(e);
}

void emit_begin_rows(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    if (!emit_direct(e, r)) emit_line(e, "%s r%d[%d];", emit_ctype(d), r, emit_row_room(e));
    switch (shape_of(e, in)) {
    case SHAPE_TREE:
        emit_line(e, "tc_tree_%s s%d;", emit_suffix(d), r);
        emit_line(e, "s%d.count = 0;", r);
        break;
    case SHAPE_WELFORD:
        emit_line(e, "tc_tree_welford s%d;", r);
        emit_line(e, "s%d.count = 0;", r);
        break;
    case SHAPE_WRAP: emit_line(e, "uint64_t s%d = %d;", r, in->op == TC_R_PROD); break;
    case SHAPE_FLAG: emit_line(e, "uint8_t s%d = %d;", r, in->op == TC_R_ALL); break;
    case SHAPE_BEST: emit_line(e, "%s s%d = %s;", emit_ctype(d), r, worst(e, d, is_max(in))); break;
    case SHAPE_ARG:
        emit_line(e, "%s w%d = %s;", emit_ctype(d), r, worst(e, d, is_max(in)));
        emit_line(e, "int64_t s%d = -1, a%d = 0;", r, r);
        break;
    }
}

void emit_flush_rows(emitter *e, flush_kind which, const char *at, const char *n) {
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        const tc_linst *in = &e->l->inst.data[r];
        tc_dtype d = e->l->inst.data[in->a[0]].dtype;
        rshape shape = shape_of(e, in);
        if (which != FLUSH_ALL && (shape == SHAPE_WELFORD) != (which == FLUSH_PIECES)) continue;
        const char *x = emit_direct(e, r);
        x = T(e, "%s%s", x ? x : T(e, "r%d", r), at);
        switch (shape) {
        case SHAPE_TREE: emit_line(e, "tc_row_%s_%s(&s%d, %s, %s);", word(in), emit_suffix(d), r, x, n); break;
        case SHAPE_WELFORD: emit_line(e, "tc_row_welford_%s(&s%d, %s, %s);", emit_suffix(d), r, x, n); break;
        case SHAPE_WRAP:
            emit_line(e, "for (int64_t i = 0; i < %s; i++) s%d = %s;", n, r, emit_step(e, r, in->dtype, T(e, "s%d", r), T(e, "(%s)[i]", x)));
            break;
        case SHAPE_FLAG: emit_line(e, "for (int64_t i = 0; i < %s; i++) s%d %s= (%s)[i];", n, r, in->op == TC_R_ANY ? "|" : "&", x); break;
        case SHAPE_BEST: emit_line(e, "s%d = tc_row_%s_%s(s%d, %s, %s);", r, way(in), emit_suffix(d), r, x, n); break;
        case SHAPE_ARG:
            emit_line(e, "tc_row_arg_%s_%s(&w%d, &s%d, %s, a%d, %s);", way(in), emit_suffix(d), r, r, x, r, n);
            emit_line(e, "a%d += %s;", r, n);
            break;
        }
    }
}

const char *emit_row_result(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    switch (shape_of(e, in)) {
    case SHAPE_TREE: return T(e, "tc_tree_%s_%s(&s%d)", emit_suffix(d), word(in), r);
    case SHAPE_WELFORD: return T(e, "tc_tree_welford_sum(&s%d)", r);
    case SHAPE_WRAP: return T(e, "(%s)s%d", emit_type(in), r);
    case SHAPE_ARG: return T(e, "s%d < 0 ? 0 : s%d", r, r);
    default: return T(e, "s%d", r);
    }
}

void emit_keep(emitter *e, int r, const char *value) {
    if (e->ph->mat[r] == MAT_SCALAR) emit_line(e, "m%d = %s;", r, value);
    else emit_line(e, "m%d[%s] = %s;", r, emit_kept_index(e, r, false), value);
}

/* Columns: 16 lanes per column, folded into a leaf every 256 positions. */
static void clear_lanes(emitter *e, int r) {
    emit_line(e, "for (int l = 0; l < 16; l++)");
    emit_line(e, "    for (int64_t i = 0; i < m; i++) s%d[l * %d + i] = %s;", r, e->ph->block, e->l->inst.data[r].op == TC_R_PROD ? "1" : "-0.0f");
}
void emit_lanes(emitter *e) {
    for (int k = 0; k < e->t->n && e->t->kind == NEST_REDUCE && e->ph->columns; k++) {
        const tc_linst *in = &e->l->inst.data[e->t->item[k]];
        const rshape shape = shape_of(e, in);
        if (shape != SHAPE_TREE && shape != SHAPE_WELFORD) continue;
        emit_line(e, "%s *const l%d = s%d + (at & %d) * %d;", emit_ctype(e->l->inst.data[in->a[0]].dtype), e->t->item[k], e->t->item[k],
                  shape == SHAPE_TREE ? 15 : TC_LEAF - 1, e->ph->block);
    }
}
/* Indices of reduced rows are 32 bits where their number is known and values are no longer, so that they fill no more vectors than values do. */
static bool short_index(const emitter *e, tc_dtype d) {
    int64_t n = 1;
    if (tc_dtype_size(d) > 4) return false;
    for (int r = 0; r < e->ph->nr; r++)
        if (e->t->over >> r & 1 && (!e->ph->range[r].extent.is_const || !tc_mul_i64(n, e->ph->range[r].extent.v, &n))) return false;
    return n <= INT32_MAX;
}
void emit_begin_columns(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    const char *ty = emit_ctype(d);
    int cols = e->ph->block;
    switch (shape_of(e, in)) {
    case SHAPE_TREE:
        emit_line(e, "%s s%d[16 * %d], g%d[TC_LEVELS * %d];", ty, r, cols, r, cols);
        clear_lanes(e, r);
        break;
    case SHAPE_WELFORD: emit_line(e, "%s s%d[%d * %d]; double g%d[TC_LEVELS * 2 * %d];", ty, r, TC_LEAF, cols, r, cols); break;
    case SHAPE_WRAP:
        emit_line(e, "uint64_t s%d[%d];", r, cols);
        emit_line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %d;", r, in->op == TC_R_PROD);
        break;
    case SHAPE_FLAG:
        emit_line(e, "uint8_t s%d[%d];", r, cols);
        emit_line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %d;", r, in->op == TC_R_ALL);
        break;
    case SHAPE_ARG:
        emit_line(e, "%s s%d[%d];", short_index(e, d) ? "int32_t" : "int64_t", r, cols);
        emit_line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = -1;", r);
        emit_line(e, "%s w%d[%d];", ty, r, cols);
        emit_line(e, "for (int64_t i = 0; i < m; i++) w%d[i] = %s;", r, worst(e, d, is_max(in)));
        break;
    default:
        emit_line(e, "%s s%d[%d];", ty, r, cols);
        emit_line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %s;", r, worst(e, d, is_max(in)));
        break;
    }
}

void emit_column_step(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    const char *v = emit_ref(e, in->a[0]);
    switch (shape_of(e, in)) {
    case SHAPE_TREE: emit_line(e, "l%d[i] = l%d[i] %s %s;", r, r, in->op == TC_R_SUM ? "+" : "*", v); break;
    case SHAPE_WRAP: emit_line(e, "s%d[i] = %s;", r, emit_step(e, r, in->dtype, T(e, "s%d[i]", r), v)); break;
    case SHAPE_FLAG: emit_line(e, "s%d[i] %s= %s;", r, in->op == TC_R_ANY ? "|" : "&", v); break;
    case SHAPE_ARG:
        emit_line(e, "tc_%s_%s_%s(&w%d[i], &s%d[i], %s, at);", short_index(e, d) ? "short_arg" : "arg", way(in), emit_suffix(d), r, r, v);
        break;
    case SHAPE_WELFORD: emit_line(e, "l%d[i] = %s;", r, v); break;
    default: emit_line(e, "s%d[i] = tc_%s_%s(s%d[i], %s);", r, way(in), emit_suffix(d), r, v); break;
    }
}

void emit_fold_columns(emitter *e, bool last) {
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        const tc_linst *in = &e->l->inst.data[r];
        const char *S = emit_suffix(e->l->inst.data[in->a[0]].dtype);
        if (shape_of(e, in) == SHAPE_WELFORD)
            emit_line(e, "tc_cols_welford_%s(g%d, %d, leaves, s%d, %s, m);", S, r, e->ph->block, r, last ? "at & 255" : "256");
        if (shape_of(e, in) != SHAPE_TREE) continue;
        emit_line(e, "tc_cols_fold_%s_%s(s%d, %d, m);", word(in), S, r, e->ph->block);
        emit_line(e, "tc_cols_push_%s_%s(g%d, %d, leaves, s%d, m);", word(in), S, r, e->ph->block, r);
        if (!last) clear_lanes(e, r);
    }
}

bool emit_any_tree(const emitter *e) {
    for (int k = 0; k < e->t->n; k++)
        if (shape_of(e, &e->l->inst.data[e->t->item[k]]) == SHAPE_TREE || shape_of(e, &e->l->inst.data[e->t->item[k]]) == SHAPE_WELFORD) return true;
    return false;
}

void emit_end_columns(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    const char *out = e->ph->mat[r] == MAT_COLUMNS ? T(e, "m%d", r) : T(e, "(m%d + %s)", r, emit_kept_index(e, r, false));
    if (shape_of(e, in) == SHAPE_TREE)
        emit_line(e, "tc_cols_end_%s_%s(g%d, %d, leaves, %s, %d, m);", word(in), emit_suffix(d), r, e->ph->block, out, in->op == TC_R_PROD);
    else if (shape_of(e, in) == SHAPE_WELFORD) emit_line(e, "tc_cols_end_welford(g%d, %d, leaves, at, %s, m);", r, e->ph->block, out);
    else if (shape_of(e, in) == SHAPE_ARG) emit_line(e, "for (int64_t i = 0; i < m; i++) %s[i] = s%d[i] < 0 ? 0 : s%d[i];", out, r, r);
    else emit_line(e, "for (int64_t i = 0; i < m; i++) %s[i] = (%s)s%d[i];", out, emit_type(in), r);
}

/* The left-hand side for a scan's running value: a local variable when its own nest stores it, else where it is kept; a scalar when the scanned axis has
 * size 1. */
static const char *scanned(emitter *e, int r) {
    switch (e->ph->mat[r]) {
    case MAT_NONE: return T(e, "const %s v%d", emit_type(&e->l->inst.data[r]), r);
    case MAT_SCALAR: return T(e, "m%d", r);
    case MAT_COLUMNS: return T(e, "m%d[i]", r);
    default: return T(e, "m%d[%s]", r, emit_kept_index(e, r, true));
    }
}

/* Scans carry float64 for floats, c128 for complex numbers and int64 for integers, as the block executor does. */
void emit_scan_step(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    bool f = tc_is_float(d);
    const char *s = T(e, e->ph->columns ? "s%d[i]" : "s%d", r);
    if (tc_is_complex(d)) {
        const char *wide = d == TC_C128 ? emit_ref(e, in->a[0]) : T(e, "tc_x_cast_c64_c128(%s)", emit_ref(e, in->a[0]));
        if (in->op == TC_R_PROD) emit_line(e, "%s = tc_x_mul_c128(%s, %s);", s, s, wide);
        else emit_line(e, "%s = tc_x_logaddexp_c128(%s, %s);", s, wide, s);
        emit_line(e, d == TC_C128 ? "%s = %s;" : "%s = tc_x_cast_c128_c64(%s);", scanned(e, r), s);
        return;
    }
    emit_line(e, "const %s a%d = (%s)%s;", f ? "double" : "int64_t", r, f ? "double" : "int64_t", emit_ref(e, in->a[0]));
    if (in->op == TC_R_LOGADDEXP) emit_line(e, "%s = tc_x_logaddexp_f64(%s, a%d);", s, s, r);
    else if (in->op == TC_R_SUM || in->op == TC_R_PROD) {
        if (f) emit_line(e, "%s = %s %s a%d;", s, s, in->op == TC_R_SUM ? "+" : "*", r);
        else emit_line(e, "%s = (int64_t)(%s);", s, emit_step(e, r, in->dtype, s, T(e, "a%d", r)));
    } else {
        const char *sign = in->op == TC_R_MAX || in->op == TC_R_ANY ? ">" : "<", *nan = f ? T(e, "%s != %s || ", s, s) : "";
        emit_line(e, "%s = %s%s %s a%d ? %s : a%d;", s, nan, s, sign, r, s, r);
    }
    emit_line(e, "%s = (%s)%s;", scanned(e, r), emit_type(in), s);
}

void emit_begin_scan(emitter *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    bool f = tc_is_float(e->l->inst.data[in->a[0]].dtype), max = in->op == TC_R_MAX || in->op == TC_R_ANY || in->op == TC_R_LOGADDEXP;
    const char *none = in->op == TC_R_SUM    ? "0"
                       : in->op == TC_R_PROD ? "1"
                       : f                   ? max ? "-__builtin_inf()" : "__builtin_inf()"
                       : max                 ? "INT64_MIN"
                                             : "INT64_MAX";
    if (in->op > TC_R_MIN && in->op != TC_R_ANY && in->op != TC_R_ALL && in->op != TC_R_LOGADDEXP) emit_refuse(e, "a scan of this kind");
    const bool complex = tc_is_complex(e->l->inst.data[in->a[0]].dtype);
    const char *ty = complex ? "tc_c128" : f ? "double" : "int64_t";
    if (complex) none = in->op == TC_R_PROD ? "(tc_c128){1, 0}" : "(tc_c128){-__builtin_inf(), 0}";
    if (e->ph->columns) {
        emit_line(e, "%s s%d[%d];", ty, r, e->ph->block);
        emit_line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %s;", r, none);
    } else {
        emit_line(e, "%s s%d = %s;", ty, r, none);
    }
}
