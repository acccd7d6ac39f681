/* Writes the C of one group (emit.h) from the schedule that emit_plan.c makes.
 *
 *     static void g0_softmax_0(void *ctx, int64_t begin, int64_t end, int worker) {     phase 0, items [begin, end)
 *         for each item: values of the item; then each nest:
 *             loops around; values of the row; pointers; loop over a block: loads, operations, stores or a reduction's block
 *     }
 *     static void g0_softmax(const tc_abi_call *c) { phases in order, in parallel when the caller can }
 *
 * A loop over a block holds at most one elementary function: several in one loop run out of registers. */
#include "codegen/emit.h"
#include "codegen/emit_plan.h"
#include "kernel/tree.h"

#include <math.h>

static const char *const op_names[TC_X_COUNT] = {
#define X(NAME, lower, ...) [TC_X_##NAME] = #lower,
#include "kernel/scalar.def"
#undef X
};

typedef enum { AT_NONE, AT_ITEM, AT_ROW, AT_INNER, AT_ARRAY, AT_KEPT } place;

typedef struct {
    cplan *p;
    const tc_loop *l;
    const cphase *ph;
    const cnest *t;       /* nest being written */
    const char *name;
    tc_buf *b;
    int indent;
    place *at;            /* by instruction: where its value is found now */
    bool *mine;           /* by instruction: the nest computes or reads it */
    int *seg;             /* by instruction: its segment of the inner loop */
    bool scratch;
    tc_status st;
} ew; /* emission, writer */

/* ---- text ---- */
static void line(ew *e, const char *fmt, ...) TC_PRINTF(2, 3);
static void line(ew *e, const char *fmt, ...) {
    for (int i = 0; i < e->indent; i++) tc_buf_puts(e->b, "    ");
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(e->b, fmt, ap);
    va_end(ap);
    tc_buf_putc(e->b, '\n');
}
static void open_(ew *e) { e->indent++; }
static void close_(ew *e) {
    e->indent--;
    line(e, "}");
}
#define T(e, ...) tc_arena_printf((e)->p->a, __VA_ARGS__)

static void refuse(ew *e, const char *what) {
    if (!e->st) e->st = tc_error(TC_UNSUPPORTED, "emitting C: %s", what);
}

/* C type of an element in memory, and of a value. */
static const char *stored_type(tc_dtype d) {
    switch (d) {
    case TC_F32: return "float";
    case TC_F64: return "double";
    case TC_I8: return "int8_t";
    case TC_I16: return "int16_t";
    case TC_I32: return "int32_t";
    case TC_I64: return "int64_t";
    case TC_U16: case TC_F16: case TC_BF16: return "uint16_t";
    case TC_U32: return "uint32_t";
    case TC_U64: return "uint64_t";
    case TC_C64: return "tc_c64";
    case TC_C128: return "tc_c128";
    default: return "uint8_t"; /* u8 bool f8 */
    }
}
static bool narrow(tc_dtype d) { return tc_dtype_compute(d) != d; }
static const char *type_of(const tc_linst *in) {
    if (in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD) return "tc_welford";
    return stored_type(tc_dtype_compute(in->dtype));
}
static const char *suffix(tc_dtype d) { return tc_dtypes[d].name; }

static const char *float_text(ew *e, double v, bool single) {
    const char *f = single ? "f" : "";
    if (isnan(v)) return T(e, "__builtin_nan%s(\"\")", f);
    if (isinf(v)) return T(e, "%s__builtin_inf%s()", v < 0 ? "-" : "", f);
    return single ? T(e, "%af", (double)(float)v) : T(e, "%a", v);
}

static const char *int_text(ew *e, tc_dtype d, int64_t v) {
    if (d == TC_BOOL) return v ? "1" : "0";
    if (d == TC_U64) return T(e, "UINT64_C(%llu)", (unsigned long long)v);
    if (v == INT64_MIN) return "INT64_MIN";
    if (d == TC_I64) return T(e, v < 0 ? "(-INT64_C(%lld))" : "INT64_C(%lld)", (long long)(v < 0 ? -v : v));
    return T(e, "(%s)%lld", stored_type(d), (long long)v);
}

static const char *const_text(ew *e, tc_dtype d, tc_scalar s) {
    if (d == TC_F32 || d == TC_F64) return float_text(e, tc_scalar_to_double(s), d == TC_F32);
    if (tc_is_complex(d)) {
        double re = s.kind == TC_KIND_COMPLEX ? s.re : tc_scalar_to_double(s), im = s.kind == TC_KIND_COMPLEX ? s.im : 0;
        return T(e, "(%s){%s, %s}", stored_type(d), float_text(e, re, d == TC_C64), float_text(e, im, d == TC_C64));
    }
    return int_text(e, d, d == TC_BOOL ? tc_scalar_to_double(s) != 0 : tc_scalar_to_int(s));
}

/* ---- addresses ---- */
/* offset + steps of the ranges in `set`; the inner range counts from k0, or with the element (k0 + i). */
static cexpr address(ew *e, const caccess *x, uint64_t set, bool element) {
    cexpr sum = x->offset;
    for (int r = 0; r < e->ph->nr; r++) {
        if (!(set >> r & 1)) continue;
        bool inner = e->t && r == e->t->inner;
        cexpr at = {.s = inner ? element ? "(k0 + i)" : "k0" : T(e, "i%d", r)};
        sum = cx_add(e->p, sum, cx_mul(e->p, at, cx_step(e->p, e->ph, x, r)));
    }
    return sum;
}

static uint64_t all_ranges(const ew *e) { return e->ph->nr == 64 ? ~UINT64_C(0) : (UINT64_C(1) << e->ph->nr) - 1; }

/* Index into what is kept in scratch: row-major over the ranges outside par, then the column. */
static const char *kept_index(ew *e, tc_lv v, bool element) {
    const cphase *ph = e->ph;
    cexpr at = cx_int(0);
    uint64_t rest = ph->mask[v] & ~ph->par;
    for (int r = 0; r < ph->nr; r++) {
        if (!(rest >> r & 1)) continue;
        bool inner = r == e->t->inner;
        at = cx_add(e->p, cx_mul(e->p, at, ph->range[r].extent), (cexpr){.s = inner ? element ? "k0 + i" : "k0" : T(e, "i%d", r)});
    }
    if (ph->columns && ph->mask[v] >> ph->vec & 1)
        at = cx_add(e->p, cx_mul(e->p, at, cx_int(ph->block)), (cexpr){.s = element ? "i" : "0"});
    return cx_text(e->p, at);
}

/* The value of an instruction where it is used. */
static const char *ref(ew *e, tc_lv v) {
    switch (e->at[v]) {
    case AT_ITEM: case AT_ROW: case AT_INNER: return T(e, "v%d", v);
    case AT_ARRAY: return T(e, "t%d[i]", v);
    case AT_KEPT:
        if (e->ph->mat[v] == MAT_SCALAR) return T(e, "m%d", v);
        if (e->ph->mat[v] == MAT_COLUMNS) return T(e, "m%d[i]", v);
        return T(e, "m%d[%s]", v, kept_index(e, v, true));
    default: TC_BUG("value %%%d of %s is used before it is there", v, e->name);
    }
}

/* ---- one instruction ---- */
static const char *widen(ew *e, tc_dtype d, const char *s) { return narrow(d) ? T(e, "tc_x_cast_%s_f32(%s)", suffix(d), s) : s; }

static bool plain_load(const tc_linst *in) {
    if (in->kind != TC_L_LOAD) return false;
    for (int d = 0; in->gather && d < in->rank; d++)
        if (in->gather[d] != TC_LV_NONE) return false;
    return true;
}

static const char *load_text(ew *e, tc_lv v, bool inner) {
    const tc_linst *in = &e->l->inst.data[v];
    const caccess *x = &e->p->inst_access[v];
    tc_dtype d = e->l->buffers.data[in->buffer].dtype;
    const char *s;
    if (plain_load(in)) {
        cexpr step = inner ? cx_mul(e->p, (cexpr){.s = "i"}, cx_step(e->p, e->ph, x, e->t->inner)) : cx_int(0);
        s = inner ? T(e, "x%d[%s]", v, cx_text(e->p, step)) : T(e, "b%d[%s]", in->buffer, cx_text(e->p, address(e, x, all_ranges(e), false)));
    } else {
        cexpr at = address(e, x, all_ranges(e), true);
        for (int k = 0; k < in->rank; k++) {
            if (in->gather[k] == TC_LV_NONE) continue;
            const char *g = ref(e, in->gather[k]);
            if (in->checked) {
                cexpr base = address(e, &e->p->dim_access[v][k], all_ranges(e), true);
                cexpr whole = cx_add(e->p, base, (cexpr){.s = g});
                g = T(e, "tc_fault_at(c->fault, %d, %d, %s, %s)", v, k, cx_text(e->p, whole), cx_text(e->p, cx_size(e->p, in->buffer, k)));
                if (!base.is_const || base.v) g = T(e, "(%s - (%s))", g, cx_text(e->p, base));
            }
            at = cx_add(e->p, at, cx_mul(e->p, (cexpr){.s = g}, cx_stride(e->p, in->buffer, k)));
        }
        s = T(e, "b%d[%s]", in->buffer, cx_text(e->p, at));
    }
    s = widen(e, d, s);
    if (in->pred != TC_LV_NONE) s = T(e, "%s ? %s : %s", ref(e, in->pred), s, const_text(e, in->dtype, tc_scalar_int(0)));
    return s;
}

static const char *host_text(ew *e, const tc_linst *in) {
    const cplan *p = e->p;
    tc_symtype type = tc_sym_type(in->host);
    int64_t i;
    double f;
    bool b;
    if (type == TC_SYM_INT && tc_sym_const_int(in->host, &i)) return const_text(e, in->dtype, tc_scalar_int(i));
    if (type == TC_SYM_FLOAT && tc_sym_const_float(in->host, &f)) return const_text(e, in->dtype, tc_scalar_float(f));
    if (type == TC_SYM_BOOL && tc_sym_const_bool(in->host, &b)) return const_text(e, in->dtype, tc_scalar_bool(b));
    for (int k = 0; k < p->d->nnumbers; k++)
        if (p->d->numbers[k] == in->host)
            return T(e, "tc_x_cast_%s_%s(c->numbers[%d].%s)", type == TC_SYM_FLOAT ? "f64" : "i64", suffix(in->dtype), k, type == TC_SYM_FLOAT ? "f" : "i");
    TC_BUG("a host number that the description lacks");
}

/* The right-hand side of an instruction. inner: it stands in the loop over a block. */
static const char *value_text(ew *e, tc_lv v, bool inner) {
    const tc_linst *in = &e->l->inst.data[v];
    const tc_linst *all = e->l->inst.data;
    switch (in->kind) {
    case TC_L_CONST: return const_text(e, in->dtype, in->imm);
    case TC_L_HOST: return host_text(e, in);
    case TC_L_INDEX: return cx_text(e->p, address(e, &e->p->inst_access[v], all_ranges(e), inner));
    case TC_L_LOAD: return load_text(e, v, inner);
    case TC_L_CAST: {
        tc_dtype from = all[in->a[0]].dtype;
        return from == in->dtype ? ref(e, in->a[0]) : T(e, "tc_x_cast_%s_%s(%s)", suffix(from), suffix(in->dtype), ref(e, in->a[0]));
    }
    case TC_L_ROUND:
        return T(e, "tc_x_cast_%s_f32(tc_x_cast_f32_%s(%s))", suffix(in->narrow), suffix(in->narrow), ref(e, in->a[0]));
    case TC_L_SCALAR: {
        if (in->op == TC_X_WHERE && tc_is_complex(in->dtype)) return T(e, "%s ? %s : %s", ref(e, in->a[0]), ref(e, in->a[1]), ref(e, in->a[2]));
        const char *s = T(e, "tc_x_%s_%s(%s", op_names[in->op], suffix(in->op == TC_X_WHERE ? in->dtype : all[in->a[0]].dtype), ref(e, in->a[0]));
        for (int k = 1; k < 3 && in->a[k] != TC_LV_NONE; k++) s = T(e, "%s, %s", s, ref(e, in->a[k]));
        return T(e, "%s)", s);
    }
    case TC_L_PART: return T(e, "%s.%s", ref(e, in->a[0]), in->part == 0 ? "mean" : in->part == 1 ? "m2" : "count");
    case TC_L_RAND:
        return T(e, "tc_x_philox_u32(%s, %s, %d)", host_text(e, &(tc_linst){.dtype = TC_I64, .host = in->host}), ref(e, in->a[0]), in->part);
    default: TC_BUG("instruction kind %d in a nest", in->kind);
    }
}

/* ---- which values a nest computes, and where ---- */
static int operands_of(const tc_linst *in, tc_lv out[20]) {
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (in->a[i] != TC_LV_NONE) out[n++] = in->a[i];
    if (in->pred != TC_LV_NONE) out[n++] = in->pred;
    for (int d = 0; in->gather && d < in->rank && d < 16; d++)
        if (in->gather[d] != TC_LV_NONE) out[n++] = in->gather[d];
    return n;
}

static bool at_item(const ew *e, size_t v) {
    return !(e->ph->mask[v] & ~e->ph->par) && !(e->ph->columns && e->ph->mask[v] >> e->ph->vec & 1);
}
static bool varies(const ew *e, size_t v) { return e->t->inner >= 0 && e->ph->mask[v] >> e->t->inner & 1; }

static void mark(ew *e, tc_lv v) {
    if (v == TC_LV_NONE) return;
    e->mine[v] = true;
    for (tc_lv i = v; i >= 0; i--) {
        if (!e->mine[i] || e->at[i] == AT_ITEM || e->at[i] == AT_KEPT) continue;
        tc_lv ops[20];
        int n = operands_of(&e->l->inst.data[i], ops);
        for (int k = 0; k < n; k++) e->mine[ops[k]] = true;
    }
}

static void comment_of(ew *e, tc_lv v, tc_buf *out) {
    const tc_linst *in = &e->l->inst.data[v];
    if (in->kind != TC_L_LOAD) return;
    const tc_value *val = e->l->buffers.data[in->buffer].value;
    if (!val || !val->name) return;
    tc_buf_puts(out, " /* ");
    tc_emit_comment(out, val->name);
    tc_buf_puts(out, " */");
}

static void declare(ew *e, tc_lv v, bool inner) {
    tc_buf note = {0};
    comment_of(e, v, &note);
    line(e, "const %s v%d = %s;%s", type_of(&e->l->inst.data[v]), v, value_text(e, v, inner), tc_buf_str(&note));
    tc_buf_free(&note);
}

/* Values that do not change inside an item: once, for all its nests. */
static void write_item_values(ew *e) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!e->mine[i] || e->at[i] != AT_NONE || !at_item(e, i)) continue;
        declare(e, (tc_lv)i, false);
        e->at[i] = AT_ITEM;
    }
}

/* A column's values that no loop around changes and that are dear or kept: an array before the loops. */
static void write_column_values(ew *e) {
    const cphase *ph = e->ph;
    if (!ph->columns || !(e->t->outer | e->t->over)) return;
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->mine[i] || e->at[i] != AT_NONE || !varies(e, i) || ph->mask[i] & ~ph->par || !(cx_heavy(in) || ph->mat[i])) continue;
        bool *saved = TC_NEWN(e->p->a, bool, e->l->inst.len + 1);
        memcpy(saved, e->mine, e->l->inst.len * sizeof *saved);
        memset(e->mine, 0, e->l->inst.len * sizeof *saved);
        mark(e, (tc_lv)i);
        if (!ph->mat[i]) line(e, "%s t%zu[%d];", type_of(in), i, ph->block);
        for (size_t k = 0; k < i; k++)
            if (e->mine[k] && e->at[k] == AT_NONE && plain_load(&e->l->inst.data[k]))
                line(e, "const %s *const x%zu = b%d + %s;", stored_type(e->l->buffers.data[e->l->inst.data[k].buffer].dtype), k,
                     e->l->inst.data[k].buffer, cx_text(e->p, address(e, &e->p->inst_access[k], all_ranges(e), false)));
        line(e, "TC_IVDEP for (int64_t i = 0; i < m; i++) {");
        open_(e);
        for (size_t k = 0; k <= i; k++) {
            if (!e->mine[k] || e->at[k] != AT_NONE) continue;
            declare(e, (tc_lv)k, true);
            e->at[k] = AT_INNER;
        }
        line(e, ph->mat[i] ? "m%zu[i] = v%zu;" : "t%zu[i] = v%zu;", i, i);
        close_(e);
        for (size_t k = 0; k < i; k++)
            if (e->at[k] == AT_INNER) e->at[k] = AT_NONE;
        e->at[i] = ph->mat[i] ? AT_KEPT : AT_ARRAY;
        memcpy(e->mine, saved, e->l->inst.len * sizeof *saved);
    }
}

static bool cheap_leaf(const tc_linst *in) {
    return (plain_load(in) && in->pred == TC_LV_NONE) || in->kind == TC_L_INDEX || in->kind == TC_L_CONST || in->kind == TC_L_HOST;
}

/* Segments of the inner loop: at most one elementary function each. Returns their number. */
static int split(ew *e) {
    int last = 0;
    int *heavy = TC_NEWN(e->p->a, int, e->l->inst.len + 1); /* elementary functions by segment */
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->mine[i] || e->at[i] != AT_NONE || !varies(e, i)) continue;
        tc_lv ops[20];
        int n = operands_of(in, ops), s = 0;
        for (int k = 0; k < n; k++)
            if (e->at[ops[k]] == AT_NONE && varies(e, (size_t)ops[k]) && !cheap_leaf(&e->l->inst.data[ops[k]]) && e->seg[ops[k]] > s) s = e->seg[ops[k]];
        if (cx_heavy(in)) {
            while (heavy[s]) s++;
            heavy[s]++;
        }
        e->seg[i] = s;
        if (s > last) last = s;
    }
    return last + 1;
}

/* The last segment that reads each value; results are read in the last one. */
static int *last_uses(ew *e, int nseg) {
    int *last = TC_NEWN(e->p->a, int, e->l->inst.len + 1);
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!e->mine[i] || e->at[i] != AT_NONE) continue;
        tc_lv ops[20];
        int n = operands_of(&e->l->inst.data[i], ops);
        while (n-- > 0)
            if (e->seg[i] > last[ops[n]]) last[ops[n]] = e->seg[i];
    }
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        const tc_lstore *s = &e->l->stores.data[e->t->kind == NEST_STORE ? r : 0];
        last[e->t->kind == NEST_STORE ? s->value : e->l->inst.data[r].a[0]] = nseg - 1;
        if (e->t->kind == NEST_STORE && s->pred != TC_LV_NONE) last[s->pred] = nseg - 1;
    }
    return last;
}

/* Values of the row (what the inner range does not change) and pointers to the row. */
static void write_row(ew *e) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!e->mine[i] || e->at[i] != AT_NONE || varies(e, i)) continue;
        declare(e, (tc_lv)i, false);
        e->at[i] = AT_ROW;
    }
}
static void write_pointers(ew *e) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->mine[i] || e->at[i] != AT_NONE || !plain_load(in)) continue;
        line(e, "const %s *const x%zu = b%d + %s;", stored_type(e->l->buffers.data[in->buffer].dtype), i, in->buffer,
             cx_text(e->p, address(e, &e->p->inst_access[i], all_ranges(e), false)));
    }
    for (int k = 0; e->t->kind == NEST_STORE && k < e->t->n; k++) {
        int s = e->t->item[k], b = e->l->stores.data[s].buffer;
        line(e, "%s *const y%d = b%d + %s;", stored_type(e->l->buffers.data[b].dtype), s, b, cx_text(e->p, address(e, &e->p->store_access[s], all_ranges(e), false)));
    }
}

static void write_store(ew *e, int s) {
    const tc_lstore *st = &e->l->stores.data[s];
    tc_dtype d = e->l->buffers.data[st->buffer].dtype;
    cexpr step = e->t->inner >= 0 ? cx_mul(e->p, (cexpr){.s = "i"}, cx_step(e->p, e->ph, &e->p->store_access[s], e->t->inner)) : cx_int(0);
    const char *v = ref(e, st->value);
    if (narrow(d)) v = T(e, "tc_x_cast_f32_%s(%s)", suffix(d), v);
    const char *when = st->pred == TC_LV_NONE ? "" : T(e, "if (%s) ", ref(e, st->pred));
    line(e, "%sy%d[%s] = %s;", when, s, cx_text(e->p, step), v);
}

static void write_results(ew *e);

/* The loop over a block of m elements from k0, in segments. */
static void write_block(ew *e) {
    int nseg = split(e);
    size_t n = e->l->inst.len;
    int *last = last_uses(e, nseg);
    for (size_t i = 0; i < n && nseg > 1; i++) { /* what crosses a segment has an array */
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->mine[i] || e->at[i] != AT_NONE || cheap_leaf(in) || last[i] <= e->seg[i]) continue;
        if (e->ph->mat[i] == MAT_NONE) line(e, "%s t%zu[%d];", type_of(in), i, e->ph->block);
    }
    write_pointers(e);
    bool *owned = TC_NEWN(e->p->a, bool, n + 1); /* computed in this block: forgotten after it */
    for (int s = 0; s < nseg; s++) {
        line(e, "TC_IVDEP for (int64_t i = 0; i < m; i++) {");
        open_(e);
        bool *used = TC_NEWN(e->p->a, bool, n + 1); /* cheap leaves that the segment reads */
        for (size_t i = 0; i < n; i++) {
            if (!e->mine[i] || e->at[i] != AT_NONE || cheap_leaf(&e->l->inst.data[i]) || e->seg[i] != s) continue;
            tc_lv ops[20];
            int k = operands_of(&e->l->inst.data[i], ops);
            while (k-- > 0) used[ops[k]] = true;
        }
        for (size_t i = 0; i < n; i++) used[i] |= s == nseg - 1 && last[i] == s;
        for (size_t i = 0; i < n; i++) {
            const tc_linst *in = &e->l->inst.data[i];
            if (!e->mine[i] || e->at[i] != AT_NONE) continue;
            bool leaf = cheap_leaf(in);
            if (leaf ? !used[i] : e->seg[i] != s) continue;
            declare(e, (tc_lv)i, true);
            e->at[i] = AT_INNER;
            owned[i] = true;
        }
        for (size_t i = 0; i < n; i++) {
            if (e->at[i] != AT_INNER) continue;
            bool leaf = cheap_leaf(&e->l->inst.data[i]);
            if (e->ph->mat[i] == MAT_SCRATCH) line(e, "m%zu[%s] = v%zu;", i, kept_index(e, (tc_lv)i, true), i);
            else if (e->ph->mat[i] == MAT_COLUMNS) line(e, "m%zu[i] = v%zu;", i, i);
            else if (!leaf && last[i] > s) line(e, "t%zu[i] = v%zu;", i, i);
        }
        if (s == nseg - 1) write_results(e);
        close_(e);
        for (size_t i = 0; i < n; i++)
            if (e->at[i] == AT_INNER) e->at[i] = cheap_leaf(&e->l->inst.data[i]) || s == nseg - 1 ? AT_NONE : e->ph->mat[i] ? AT_KEPT : AT_ARRAY;
    }
    for (size_t i = 0; i < n; i++)
        if (owned[i]) e->at[i] = e->ph->mat[i] ? AT_KEPT : AT_NONE;
}

/* ---- loops ---- */
static int open_loops(ew *e, uint64_t set) {
    int n = 0;
    for (int axis = 0; axis < 64; axis++) /* by first axis: row-major */
        for (int r = 0; r < e->ph->nr; r++) {
            if (!(set >> r & 1) || e->ph->range[r].axis[0] != axis) continue;
            line(e, "for (int64_t i%d = 0; i%d < n%d; i%d++) {", r, r, r, r);
            open_(e);
            n++;
        }
    return n;
}
static void close_loops(ew *e, int n) {
    while (n-- > 0) close_(e);
}
static uint64_t bit(int r) { return r < 0 ? 0 : UINT64_C(1) << r; }

/* ---- reductions ---- */
typedef enum { SHAPE_TREE, SHAPE_WRAP, SHAPE_BEST, SHAPE_ARG, SHAPE_FLAG, SHAPE_WELFORD } rshape;
static rshape shape_of(const ew *e, const tc_linst *in) {
    bool f = tc_is_float(e->l->inst.data[in->a[0]].dtype);
    switch (in->op) {
    case TC_R_SUM: case TC_R_PROD: return f ? SHAPE_TREE : SHAPE_WRAP;
    case TC_R_MAX: case TC_R_MIN: return SHAPE_BEST;
    case TC_R_ARGMAX: case TC_R_ARGMIN: return SHAPE_ARG;
    case TC_R_WELFORD: return SHAPE_WELFORD;
    default: return SHAPE_FLAG;
    }
}
static bool is_max(const tc_linst *in) { return in->op == TC_R_MAX || in->op == TC_R_ARGMAX; }

/* What max and min of nothing give. */
static const char *worst(ew *e, tc_dtype d, bool max) {
    if (d == TC_F32 || d == TC_F64) return float_text(e, max ? -INFINITY : INFINITY, d == TC_F32);
    if (d == TC_BOOL) return max ? "0" : "1";
    const char *u = tc_dtypes[d].is_signed ? "" : "U";
    int bits = 8 * tc_dtypes[d].size;
    return max && *u ? "0" : T(e, "%sINT%d_%s", u, bits, max ? "MIN" : "MAX");
}
static const char *word(const tc_linst *in) { return in->op == TC_R_SUM ? "sum" : in->op == TC_R_PROD ? "prod" : is_max(in) ? "max" : "min"; }

static const char *way(const tc_linst *in) { return is_max(in) ? "above" : "below"; }

static void begin_row_reduction(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    line(e, "%s r%d[%d];", stored_type(d), r, EMIT_BLOCK);
    switch (shape_of(e, in)) {
    case SHAPE_TREE: line(e, "tc_tree_%s s%d;", suffix(d), r); line(e, "s%d.count = 0;", r); break;
    case SHAPE_WELFORD: line(e, "tc_tree_welford s%d;", r); line(e, "s%d.count = 0;", r); break;
    case SHAPE_WRAP: line(e, "uint64_t s%d = %d;", r, in->op == TC_R_PROD); break;
    case SHAPE_FLAG: line(e, "uint8_t s%d = %d;", r, in->op == TC_R_ALL); break;
    case SHAPE_BEST: line(e, "%s s%d = %s;", stored_type(d), r, worst(e, d, is_max(in))); break;
    case SHAPE_ARG: line(e, "%s w%d = %s;", stored_type(d), r, worst(e, d, is_max(in))); line(e, "int64_t s%d = -1, a%d = 0;", r, r); break;
    }
}

static void flush_rows(ew *e) {
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        const tc_linst *in = &e->l->inst.data[r];
        tc_dtype d = e->l->inst.data[in->a[0]].dtype;
        switch (shape_of(e, in)) {
        case SHAPE_TREE: line(e, "tc_row_%s_%s(&s%d, r%d, fill);", word(in), suffix(d), r, r); break;
        case SHAPE_WELFORD: line(e, "tc_row_welford_%s(&s%d, r%d, fill);", suffix(d), r, r); break;
        case SHAPE_WRAP: line(e, "for (int64_t i = 0; i < fill; i++) s%d %s= (uint64_t)r%d[i];", r, in->op == TC_R_SUM ? "+" : "*", r); break;
        case SHAPE_FLAG: line(e, "for (int64_t i = 0; i < fill; i++) s%d %s= r%d[i];", r, in->op == TC_R_ANY ? "|" : "&", r); break;
        case SHAPE_BEST: line(e, "s%d = tc_row_%s_%s(s%d, r%d, fill);", r, way(in), suffix(d), r, r); break;
        case SHAPE_ARG:
            line(e, "tc_row_arg_%s_%s(&w%d, &s%d, r%d, a%d, fill);", way(in), suffix(d), r, r, r, r);
            line(e, "a%d += fill;", r);
            break;
        }
    }
}

static const char *row_result(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    switch (shape_of(e, in)) {
    case SHAPE_TREE: return T(e, "tc_tree_%s_%s(&s%d)", suffix(d), word(in), r);
    case SHAPE_WELFORD: return T(e, "tc_tree_welford_sum(&s%d)", r);
    case SHAPE_WRAP: return T(e, "(%s)s%d", type_of(in), r);
    case SHAPE_ARG: return T(e, "s%d < 0 ? 0 : s%d", r, r);
    default: return T(e, "s%d", r);
    }
}

static void keep(ew *e, int r, const char *value) {
    if (e->ph->mat[r] == MAT_SCALAR) line(e, "m%d = %s;", r, value);
    else line(e, "m%d[%s] = %s;", r, kept_index(e, r, false), value);
}

/* Columns: lanes of 16 x columns, folded every 256 positions. */
static void begin_column_reduction(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    const char *ty = stored_type(d);
    switch (shape_of(e, in)) {
    case SHAPE_TREE:
        line(e, "%s s%d[16][TC_COLS], g%d[TC_LEVELS][TC_COLS];", ty, r, r);
        line(e, "for (int l = 0; l < 16; l++)");
        line(e, "    for (int64_t i = 0; i < m; i++) s%d[l][i] = %s;", r, in->op == TC_R_PROD ? "1" : "-0.0f");
        break;
    case SHAPE_WRAP:
        line(e, "uint64_t s%d[TC_COLS];", r);
        line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %d;", r, in->op == TC_R_PROD);
        break;
    case SHAPE_FLAG:
        line(e, "uint8_t s%d[TC_COLS];", r);
        line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %d;", r, in->op == TC_R_ALL);
        break;
    case SHAPE_ARG:
        line(e, "int64_t s%d[TC_COLS];", r);
        line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = -1;", r);
        line(e, "%s w%d[TC_COLS];", ty, r);
        line(e, "for (int64_t i = 0; i < m; i++) w%d[i] = %s;", r, worst(e, d, is_max(in)));
        break;
    default:
        line(e, "%s s%d[TC_COLS];", ty, r);
        line(e, "for (int64_t i = 0; i < m; i++) s%d[i] = %s;", r, worst(e, d, is_max(in)));
        break;
    }
}

static void column_step(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    const char *v = ref(e, in->a[0]);
    switch (shape_of(e, in)) {
    case SHAPE_TREE: line(e, "s%d[at & 15][i] = s%d[at & 15][i] %s %s;", r, r, in->op == TC_R_SUM ? "+" : "*", v); break;
    case SHAPE_WRAP: line(e, "s%d[i] %s= (uint64_t)%s;", r, in->op == TC_R_SUM ? "+" : "*", v); break;
    case SHAPE_FLAG: line(e, "s%d[i] %s= %s;", r, in->op == TC_R_ANY ? "|" : "&", v); break;
    case SHAPE_ARG: line(e, "tc_arg_%s_%s(&w%d[i], &s%d[i], %s, at);", way(in), suffix(d), r, r, v); break;
    default: line(e, "s%d[i] = tc_%s_%s(s%d[i], %s);", r, way(in), suffix(d), r, v); break;
    }
}

static void fold_columns(ew *e) {
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        const tc_linst *in = &e->l->inst.data[r];
        if (shape_of(e, in) != SHAPE_TREE) continue;
        const char *S = suffix(e->l->inst.data[in->a[0]].dtype);
        line(e, "tc_cols_fold_%s_%s(s%d, m);", word(in), S, r);
        line(e, "tc_cols_push_%s_%s(g%d, leaves, s%d[0], m);", word(in), S, r, r);
        line(e, "for (int l = 0; l < 16; l++)");
        line(e, "    for (int64_t i = 0; i < m; i++) s%d[l][i] = %s;", r, in->op == TC_R_PROD ? "1" : "-0.0f");
    }
}

static bool any_tree(const ew *e) {
    for (int k = 0; k < e->t->n; k++)
        if (shape_of(e, &e->l->inst.data[e->t->item[k]]) == SHAPE_TREE) return true;
    return false;
}

static void end_column_reduction(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    tc_dtype d = e->l->inst.data[in->a[0]].dtype;
    const char *out = e->ph->mat[r] == MAT_COLUMNS ? T(e, "m%d", r) : T(e, "(m%d + %s)", r, kept_index(e, r, false));
    if (shape_of(e, in) == SHAPE_TREE) line(e, "tc_cols_end_%s_%s(g%d, leaves, %s, %d, m);", word(in), suffix(d), r, out, in->op == TC_R_PROD);
    else if (shape_of(e, in) == SHAPE_ARG) line(e, "for (int64_t i = 0; i < m; i++) %s[i] = s%d[i] < 0 ? 0 : s%d[i];", out, r, r);
    else line(e, "for (int64_t i = 0; i < m; i++) %s[i] = (%s)s%d[i];", out, type_of(in), r);
}

/* Scans carry float64 for floats and int64 for integers, as the block executor does. */
static void scan_step(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    bool f = tc_is_float(e->l->inst.data[in->a[0]].dtype);
    line(e, "const %s a%d = (%s)%s;", f ? "double" : "int64_t", r, f ? "double" : "int64_t", ref(e, in->a[0]));
    if (in->op == TC_R_SUM || in->op == TC_R_PROD) {
        const char *sign = in->op == TC_R_SUM ? "+" : "*";
        if (f) line(e, "s%d = s%d %s a%d;", r, r, sign, r);
        else line(e, "s%d = (int64_t)((uint64_t)s%d %s (uint64_t)a%d);", r, r, sign, r);
    } else {
        const char *sign = in->op == TC_R_MAX || in->op == TC_R_ANY ? ">" : "<", *nan = f ? T(e, "s%d != s%d || ", r, r) : "";
        line(e, "s%d = %ss%d %s a%d ? s%d : a%d;", r, nan, r, sign, r, r, r);
    }
    line(e, "m%d[%s] = (%s)s%d;", r, kept_index(e, r, true), type_of(in), r);
}

static void begin_scan(ew *e, int r) {
    const tc_linst *in = &e->l->inst.data[r];
    bool f = tc_is_float(e->l->inst.data[in->a[0]].dtype), max = in->op == TC_R_MAX || in->op == TC_R_ANY;
    const char *none = in->op == TC_R_SUM ? f ? "-0.0" : "0" : in->op == TC_R_PROD ? "1" : f ? max ? "-__builtin_inf()" : "__builtin_inf()" : max ? "INT64_MIN" : "INT64_MAX";
    if (in->op > TC_R_MIN && in->op != TC_R_ANY && in->op != TC_R_ALL) refuse(e, "a scan of this kind");
    line(e, "%s s%d = %s;", f ? "double" : "int64_t", r, none);
}

/* What the last segment does with its values. */
static void write_results(ew *e) {
    for (int k = 0; k < e->t->n; k++) {
        int r = e->t->item[k];
        if (e->t->kind == NEST_STORE) write_store(e, r);
        else if (e->t->kind == NEST_SCAN) scan_step(e, r);
        else if (e->ph->columns) column_step(e, r);
        else line(e, "r%d[fill + i] = %s;", r, ref(e, e->l->inst.data[r].a[0]));
    }
}

/* ---- nests ---- */
static void write_rows(ew *e, const char *room) {
    int inner = e->t->inner;
    if (inner < 0) {
        line(e, "{");
        open_(e);
        line(e, "const int64_t m = 1;");
        write_block(e);
    } else {
        line(e, "for (int64_t k0 = 0, m; k0 < n%d; k0 += m) {", inner);
        open_(e);
        line(e, "m = n%d - k0 < %s ? n%d - k0 : %s;", inner, room, inner, room);
        write_block(e);
    }
    if (e->t->kind == NEST_REDUCE) {
        line(e, "fill += m;");
        line(e, "if (fill == %d) {", EMIT_BLOCK);
        open_(e);
        flush_rows(e);
        line(e, "fill = 0;");
        close_(e);
    }
    close_(e);
}

static void write_nest(ew *e, const cnest *t) {
    const cphase *ph = e->ph;
    static const char *const what[] = {"reduce", "scan", "store"};
    e->t = t;
    memset(e->mine, 0, e->l->inst.len * sizeof *e->mine);
    memset(e->seg, 0, e->l->inst.len * sizeof *e->seg);
    for (int k = 0; k < t->n; k++) {
        mark(e, t->kind == NEST_STORE ? e->l->stores.data[t->item[k]].value : e->l->inst.data[t->item[k]].a[0]);
        if (t->kind == NEST_STORE) mark(e, e->l->stores.data[t->item[k]].pred);
    }
    write_item_values(e);
    write_column_values(e);
    line(e, "{ /* %s */", what[t->kind]);
    open_(e);
    int outer = open_loops(e, t->outer & ~bit(t->inner));
    if (t->kind == NEST_STORE) {
        write_row(e);
        if (ph->columns) write_block(e);
        else write_rows(e, T(e, "%d", EMIT_BLOCK));
    } else if (t->kind == NEST_SCAN) {
        for (int k = 0; k < t->n; k++) begin_scan(e, t->item[k]);
        write_row(e);
        write_rows(e, T(e, "%d", EMIT_BLOCK));
    } else if (ph->columns) {
        bool tree = any_tree(e);
        for (int k = 0; k < t->n; k++) begin_column_reduction(e, t->item[k]);
        line(e, "int64_t at = 0;");
        if (tree) line(e, "int64_t leaves = 0;");
        int n = open_loops(e, t->over);
        write_row(e);
        write_block(e);
        line(e, "at++;");
        if (tree) {
            line(e, "if ((at & 255) == 0) {");
            open_(e);
            fold_columns(e);
            line(e, "leaves++;");
            close_(e);
        }
        close_loops(e, n);
        if (tree) {
            line(e, "if (at & 255) {");
            open_(e);
            fold_columns(e);
            line(e, "leaves++;");
            close_(e);
        }
        for (int k = 0; k < t->n; k++) end_column_reduction(e, t->item[k]);
    } else {
        for (int k = 0; k < t->n; k++) begin_row_reduction(e, t->item[k]);
        line(e, "int64_t fill = 0;");
        int n = open_loops(e, t->over & ~bit(t->inner));
        write_row(e);
        write_rows(e, T(e, "%d - fill", EMIT_BLOCK));
        close_loops(e, n);
        line(e, "if (fill) {");
        open_(e);
        flush_rows(e);
        close_(e);
        for (int k = 0; k < t->n; k++) keep(e, t->item[k], row_result(e, t->item[k]));
    }
    close_loops(e, outer);
    close_(e);
    for (int k = 0; k < t->n && t->kind != NEST_STORE; k++) e->at[t->item[k]] = AT_KEPT;
    for (size_t i = 0; i < e->l->inst.len; i++) /* rows end with their loops; column arrays stand outside them */
        if (e->at[i] == AT_ROW) e->at[i] = AT_NONE;
    e->t = NULL;
}

/* ---- phases ---- */
static bool has_word(const char *text, const char *w) {
    size_t n = strlen(w);
    for (const char *at = text; (at = strstr(at, w)); at += n) {
        char before = at == text ? ' ' : at[-1], after = at[n];
        bool in = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9') || before == '_' || before == '.';
        bool out = (after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') || (after >= '0' && after <= '9') || after == '_';
        if (!in && !out) return true;
    }
    return false;
}

static cexpr product(ew *e, uint64_t set) {
    cexpr n = cx_int(1);
    for (int r = 0; r < e->ph->nr; r++)
        if (set >> r & 1) n = cx_mul(e->p, n, e->ph->range[r].extent.is_const ? e->ph->range[r].extent : (cexpr){.s = T(e, "n%d", r), .sym = NULL});
    return n;
}

/* Declares what `body` names: extents, numbers, extents of ranges. */
static void declare_used(ew *e, const char *body) {
    tc_buf ranges = {0}, *saved = e->b;
    int indent = e->indent;
    e->b = &ranges;
    for (int r = 0; r < e->ph->nr; r++)
        if (has_word(body, T(e, "n%d", r))) line(e, "const int64_t n%d = %s;", r, cx_text(e->p, e->ph->range[r].extent));
    e->b = saved;
    e->indent = indent;
    const char *more = tc_buf_str(&ranges);
    for (int i = 0; i < e->l->naxes; i++)
        if (has_word(body, T(e, "e%d", i)) || has_word(more, T(e, "e%d", i))) line(e, "const int64_t e%d = c->extents[%d];", i, i);
    for (int i = 0; i < e->p->d->nnumbers && i < 64; i++)
        if (has_word(body, T(e, "h%d", i)) && tc_sym_type(e->p->d->numbers[i]) == TC_SYM_INT) line(e, "const int64_t h%d = c->numbers[%d].i;", i, i);
    tc_buf_puts(e->b, more);
    tc_buf_free(&ranges);
}

/* Size of what instruction v keeps in scratch, in bytes, rounded up to 64. */
static const char *kept_bytes(ew *e, size_t v) {
    cexpr n = product(e, e->ph->mask[v] & ~e->ph->par);
    if (e->ph->columns && e->ph->mask[v] >> e->ph->vec & 1) n = cx_mul(e->p, n, cx_int(e->ph->block));
    return T(e, "((%s) * (int64_t)sizeof(%s) + 63) / 64 * 64", cx_text(e->p, n), type_of(&e->l->inst.data[v]));
}

static bool needs_scratch(const ew *e) {
    for (size_t i = 0; i < e->l->inst.len; i++)
        if (e->ph->mat[i] == MAT_SCRATCH) return true;
    return false;
}

static void write_phase(ew *e, int index) {
    const cphase *ph = e->ph;
    size_t n = e->l->inst.len;
    bool scratch = needs_scratch(e);
    tc_buf body = {0}, *out = e->b;
    memset(e->at, 0, n * sizeof *e->at);
    e->b = &body;
    e->indent = 2;
    uint64_t par = ph->par & all_ranges(e) & ~(ph->columns ? bit(ph->vec) : 0);
    if (ph->columns) {
        line(e, "const int64_t k0 = j * %d, m = n%d - k0 < %d ? n%d - k0 : %d;", ph->block, ph->vec, ph->block, ph->vec, ph->block);
    }
    for (size_t i = 0; i < n; i++) {
        const char *ty = type_of(&e->l->inst.data[i]);
        if (ph->mat[i] == MAT_SCALAR && e->l->inst.data[i].kind != TC_L_REDUCE && e->l->inst.data[i].kind != TC_L_SCAN) ((mat_kind *)ph->mat)[i] = MAT_NONE; /* an item value anyway */
        if (ph->mat[i] == MAT_SCALAR) line(e, "%s m%zu;", ty, i);
        if (ph->mat[i] == MAT_COLUMNS) line(e, "%s m%zu[%d];", ty, i, ph->block);
    }
    for (int k = 0; k < ph->nnests; k++) write_nest(e, &ph->nest[k]);
    /* the next item: the last index first */
    if (ph->columns) line(e, "if (++j < blocks) continue;");
    if (ph->columns) line(e, "j = 0;");
    int shown = 0, npar = __builtin_popcountll(par);
    for (int r = ph->nr - 1; r >= 0; r--) {
        if (!(par >> r & 1)) continue;
        if (++shown == npar) line(e, "i%d++;", r);
        else {
            line(e, "if (++i%d < n%d) continue;", r, r);
            line(e, "i%d = 0;", r);
        }
    }
    tc_buf start = {0};
    e->b = &start;
    e->indent = 1;
    bool decode = par || ph->columns;
    if (ph->columns) line(e, "const int64_t blocks = (n%d + %d) / %d;", ph->vec, ph->block - 1, ph->block);
    if (decode && (npar + ph->columns) > 1) {
        line(e, "int64_t rest = begin;");
        if (ph->columns) line(e, "int64_t j = rest %% blocks;");
        if (ph->columns) line(e, "rest /= blocks;");
        for (int r = ph->nr - 1, k = 0; r >= 0; r--) {
            if (!(par >> r & 1)) continue;
            if (++k == npar) line(e, "int64_t i%d = rest;", r);
            else line(e, "int64_t i%d = rest %% n%d;", r, r), line(e, "rest /= n%d;", r);
        }
    } else if (ph->columns) {
        line(e, "int64_t j = begin;");
    } else if (par) {
        line(e, "int64_t i%d = begin;", __builtin_ctzll(par));
    }
    tc_buf_putc(&body, '\0');
    tc_buf all = {0};
    tc_buf_puts(&all, tc_buf_str(&start));
    tc_buf_puts(&all, body.data);
    const char *text = tc_buf_str(&all);

    e->b = out;
    e->indent = 0;
    line(e, "static void %s_%d(void *ctx, int64_t begin, int64_t end, int worker) {", e->name, index);
    e->indent = 1;
    line(e, "const tc_abi_call *const c = (const tc_abi_call *)ctx;");
    tc_buf kept = {0};
    e->b = &kept;
    if (scratch) {
        line(e, "char *scratch = (char *)c->scratch + worker * %s_bytes(c);", e->name);
        for (size_t i = 0; i < n; i++) {
            if (ph->mat[i] != MAT_SCRATCH) continue;
            line(e, "%s *const m%zu = (%s *)scratch;", type_of(&e->l->inst.data[i]), i, type_of(&e->l->inst.data[i]));
            line(e, "scratch += %s;", kept_bytes(e, i));
        }
    }
    e->b = out;
    tc_buf both = {0};
    tc_buf_puts(&both, text);
    tc_buf_puts(&both, tc_buf_str(&kept));
    declare_used(e, tc_buf_str(&both));
    for (size_t i = 0; i < e->l->buffers.len; i++) {
        if (!has_word(text, T(e, "b%zu", i))) continue;
        const char *ty = stored_type(e->l->buffers.data[i].dtype);
        bool w = e->l->buffers.data[i].written;
        line(e, "%s%s *const b%zu = (%s%s *)c->buffers[%zu].data;", w ? "" : "const ", ty, i, w ? "" : "const ", ty, i);
    }
    tc_buf_puts(out, tc_buf_str(&kept));
    if (!scratch) line(e, "(void)worker;");
    tc_buf_puts(out, tc_buf_str(&start));
    line(e, "for (int64_t item = begin; item < end; item++) {");
    tc_buf_puts(out, body.data);
    line(e, "}");
    e->indent = 0;
    line(e, "}");
    tc_buf_free(&start);
    tc_buf_free(&body);
    tc_buf_free(&all);
    tc_buf_free(&both);
    tc_buf_free(&kept);
    e->scratch |= scratch;
}

/* Bytes of scratch of one worker: the largest of the phases. */
static void write_bytes(ew *e, cphase *ph, int nph) {
    tc_buf *out = e->b, body = {0};
    line(e, "__attribute__((unused)) static int64_t %s_bytes(const tc_abi_call *c) {", e->name);
    line(e, "    int64_t most = 0;");
    for (int k = 0; k < nph; k++) {
        e->ph = &ph[k];
        if (!needs_scratch(e)) continue;
        body.len = 0;
        e->b = &body;
        e->indent = 2;
        line(e, "int64_t bytes = 0;");
        for (size_t i = 0; i < e->l->inst.len; i++)
            if (e->ph->mat[i] == MAT_SCRATCH) line(e, "bytes += %s;", kept_bytes(e, i));
        line(e, "most = bytes > most ? bytes : most;");
        e->b = out;
        line(e, "{");
        e->indent = 2;
        declare_used(e, tc_buf_str(&body));
        tc_buf_puts(out, tc_buf_str(&body));
        e->indent = 1;
        line(e, "}");
    }
    e->indent = 0;
    line(e, "    (void)c;");
    line(e, "    return most;");
    line(e, "}");
    line(e, "__attribute__((unused)) static int64_t %s_scratch(const tc_abi_call *c) { return c->workers * %s_bytes(c); }", e->name, e->name);
    tc_buf_free(&body);
}

static void write_entry(ew *e, cphase *ph, int nph) {
    tc_buf *out = e->b;
    line(e, "static void %s(const tc_abi_call *c) {", e->name);
    for (int k = 0; k < nph; k++) {
        e->ph = &ph[k];
        uint64_t par = e->ph->par & all_ranges(e) & ~(e->ph->columns ? bit(e->ph->vec) : 0);
        cexpr items = product(e, par), each = product(e, all_ranges(e) & ~par & ~(e->ph->columns ? bit(e->ph->vec) : 0));
        tc_buf body = {0};
        e->b = &body;
        e->indent = 2;
        if (e->ph->columns) {
            cexpr n = {.s = T(e, "((n%d + %d) / %d)", e->ph->vec, e->ph->block - 1, e->ph->block)};
            items = cx_mul(e->p, items, n);
            each = cx_mul(e->p, each, (cexpr){.s = T(e, "(n%d < %d ? n%d : %d)", e->ph->vec, e->ph->block, e->ph->vec, e->ph->block)});
        }
        line(e, "tc_run_items(c, %s, %s, %s_%d);", cx_text(e->p, items), cx_text(e->p, each), e->name, k);
        e->b = out;
        e->indent = 1;
        line(e, "{");
        e->indent = 2;
        declare_used(e, tc_buf_str(&body));
        tc_buf_puts(out, tc_buf_str(&body));
        e->indent = 1;
        line(e, "}");
        tc_buf_free(&body);
    }
    e->indent = 0;
    line(e, "}");
}

void tc_emit_comment(tc_buf *b, const char *s) {
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch < 0x20 || ch >= 0x7f) tc_buf_printf(b, "\\x%02X", ch);
        else if ((ch == '/' && s[1] == '*') || (ch == '*' && s[1] == '/') || (ch == '?' && s[1] == '?')) tc_buf_printf(b, "%c ", ch);
        else if (ch == '\\') tc_buf_puts(b, "\\\\ ");
        else tc_buf_putc(b, (char)ch);
    }
}

/* "softmax  gpt.py:31" and the line of the model's source, where the program carries it. */
static void write_head(ew *e) {
    const tc_loop *l = e->l;
    int line_shown = -1;
    for (int i = 0; i < l->nnodes; i++) {
        const tc_node *n = l->nodes[i];
        tc_buf_puts(e->b, i ? " * " : "/* ");
        if (n->name) tc_emit_comment(e->b, n->name);
        if (n->source.file) {
            tc_buf_puts(e->b, "   ");
            tc_emit_comment(e->b, n->source.file);
            tc_buf_printf(e->b, ":%d", n->source.line);
            const tc_program *p = n->graph ? n->graph->program : NULL;
            if (p && p->source_text && p->source_file && !strcmp(p->source_file, n->source.file) && n->source.line != line_shown) {
                const char *s = p->source_text;
                for (int k = 1; s && k < n->source.line; k++) s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL;
                if (s) {
                    while (*s == ' ' || *s == '\t') s++;
                    const char *end = strchr(s, '\n');
                    tc_buf_puts(e->b, "   ");
                    tc_emit_comment(e->b, tc_arena_strndup(e->p->a, s, end ? (size_t)(end - s) : strlen(s)));
                }
                line_shown = n->source.line;
            }
        }
        tc_buf_putc(e->b, '\n');
    }
    tc_buf_puts(e->b, l->nnodes ? " */\n" : "");
}

tc_status tc_emit_group(const tc_loop *l, const tc_group_desc *d, const char *name, tc_emitted *out) {
    tc_arena a = {0};
    cplan p;
    cphase *ph = NULL;
    int nph = 0;
    *out = (tc_emitted){0};
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].kind == TC_L_RAND) return tc_error(TC_UNSUPPORTED, "emitting C: random bits");
    tc_status st = emit_plan_init(&p, l, d, &a);
    if (!st) st = emit_plan_phases(&p, &ph, &nph);
    if (!st) {
        ew e = {.p = &p, .l = l, .name = name, .b = &out->text};
        e.at = TC_NEWN(&a, place, l->inst.len + 1);
        e.mine = TC_NEWN(&a, bool, l->inst.len + 1);
        e.seg = TC_NEWN(&a, int, l->inst.len + 1);
        write_head(&e);
        tc_buf phases = {0};
        e.b = &phases;
        for (int k = 0; k < nph && !e.st; k++) {
            e.ph = &ph[k];
            write_phase(&e, k);
        }
        e.b = &out->text;
        e.indent = 0;
        if (e.scratch) write_bytes(&e, ph, nph);
        tc_buf_puts(&out->text, tc_buf_str(&phases));
        tc_buf_free(&phases);
        e.indent = 0;
        write_entry(&e, ph, nph);
        out->has_scratch = e.scratch;
        st = e.st;
    }
    if (st) tc_buf_free(&out->text);
    tc_arena_free(&a);
    return st;
}

/* The same sums as write_bytes writes. */
tc_status tc_emit_scratch(const tc_loop *l, const tc_group_desc *d, const int64_t *extents, int64_t *out_bytes) {
    tc_arena a = {0};
    cplan p;
    cphase *ph = NULL;
    int nph = 0;
    *out_bytes = 0;
    tc_status st = emit_plan_init(&p, l, d, &a);
    if (!st) st = emit_plan_phases(&p, &ph, &nph);
    for (int k = 0; k < nph; k++) {
        int64_t bytes = 0;
        for (size_t i = 0; i < l->inst.len; i++) {
            if (ph[k].mat[i] != MAT_SCRATCH) continue;
            const tc_linst *in = &l->inst.data[i];
            int64_t n = in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD ? (int64_t)sizeof(tc_welford) : (int64_t)tc_dtype_size(tc_dtype_compute(in->dtype));
            for (int r = 0; r < ph[k].nr; r++)
                for (int x = 0; (ph[k].mask[i] & ~ph[k].par) >> r & 1 && x < ph[k].range[r].n; x++) n *= extents[ph[k].range[r].axis[x]];
            if (ph[k].columns && ph[k].mask[i] >> ph[k].vec & 1) n *= ph[k].block;
            bytes += (n + 63) / 64 * 64;
        }
        if (bytes > *out_bytes) *out_bytes = bytes;
    }
    tc_arena_free(&a);
    return st;
}
