/* Values, constants and addresses of emitted C (emit_write.h). */
#include "codegen/emit_write.h"

#include <math.h>

static const char *const op_names[TC_X_COUNT] = {
#define X(NAME, lower, ...) [TC_X_##NAME] = #lower,
#include "kernel/scalar.def"
#undef X
};

/* ---- text ---- */
void emit_line(emitter *e, const char *fmt, ...) {
    for (int i = 0; i < e->indent; i++) tc_buf_puts(e->b, "    ");
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(e->b, fmt, ap);
    va_end(ap);
    tc_buf_putc(e->b, '\n');
}
void emit_open(emitter *e) { e->indent++; }
void emit_close(emitter *e) {
    e->indent--;
    emit_line(e, "}");
}

void emit_refuse(emitter *e, const char *what) {
    if (!e->st) e->st = tc_error(TC_UNSUPPORTED, "emitting C: %s", what);
}

/* C type of an element in memory, and of a value. */
const char *emit_ctype(tc_dtype d) {
    switch (d) {
    case TC_F32: return "float";
    case TC_F64: return "double";
    case TC_I8: return "int8_t";
    case TC_I16: return "int16_t";
    case TC_I32: return "int32_t";
    case TC_I64: return "int64_t";
    case TC_U16:
    case TC_F16:
    case TC_BF16: return "uint16_t";
    case TC_U32: return "uint32_t";
    case TC_U64: return "uint64_t";
    case TC_C32: return "tc_c32";
    case TC_C64: return "tc_c64";
    case TC_C128: return "tc_c128";
    default: return "uint8_t"; /* u8 bool f8 */
    }
}
bool emit_narrow(tc_dtype d) { return tc_dtype_compute(d) != d; }
const char *emit_type(const tc_linst *in) {
    if (in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD) return "tc_welford";
    return emit_ctype(tc_dtype_compute(in->dtype));
}
const char *emit_suffix(tc_dtype d) { return tc_dtypes[d].name; }

const char *emit_float(emitter *e, double v, bool single) {
    const char *f = single ? "f" : "";
    if (isnan(v)) return T(e, "__builtin_nan%s(\"\")", f);
    if (isinf(v)) return T(e, "%s__builtin_inf%s()", v < 0 ? "-" : "", f);
    return single ? T(e, "%af", (double)(float)v) : T(e, "%a", v);
}

static const char *int_text(emitter *e, tc_dtype d, int64_t v) {
    if (d == TC_BOOL) return v ? "1" : "0";
    if (d == TC_U64) return T(e, "UINT64_C(%llu)", (unsigned long long)v);
    if (v == INT64_MIN) return "INT64_MIN";
    if (d == TC_I64) return T(e, v < 0 ? "(-INT64_C(%lld))" : "INT64_C(%lld)", (long long)(v < 0 ? -v : v));
    return T(e, "(%s)%lld", emit_ctype(d), (long long)v);
}

static const char *const_text(emitter *e, tc_dtype d, tc_scalar s) {
    if (d == TC_F32 || d == TC_F64) return emit_float(e, tc_scalar_to_double(s), d == TC_F32);
    if (tc_is_complex(d)) {
        double re = s.kind == TC_KIND_COMPLEX ? s.re : tc_scalar_to_double(s), im = s.kind == TC_KIND_COMPLEX ? s.im : 0;
        return T(e, "(%s){%s, %s}", emit_ctype(d), emit_float(e, re, d == TC_C64), emit_float(e, im, d == TC_C64));
    }
    return int_text(e, d, d == TC_BOOL ? tc_scalar_to_double(s) != 0 : tc_scalar_to_int(s));
}

/* ---- addresses ---- */
/* offset + steps of the ranges in `set`; the inner range counts from k0, or with the element (k0 + i). */
cexpr emit_address(emitter *e, const caccess *x, uint64_t set, bool element) {
    cexpr sum = x->offset;
    for (int r = 0; r < e->ph->nr; r++) {
        if (!(set >> r & 1)) continue;
        bool inner = e->t && r == e->t->inner;
        cexpr at = {.s = inner ? element ? "(k0 + i)" : "k0" : T(e, "i%d", r)};
        sum = cx_add(e->p, sum, cx_mul(e->p, at, cx_step(e->p, e->ph, x, r)));
    }
    return sum;
}

uint64_t emit_ranges(const emitter *e) { return e->ph->nr == 64 ? ~UINT64_C(0) : (UINT64_C(1) << e->ph->nr) - 1; }

/* Index into a value kept in scratch: row-major over the ranges outside par, then the column. */
const char *emit_kept_index(emitter *e, tc_lv v, bool element) {
    const cphase *ph = e->ph;
    cexpr at = cx_int(0);
    uint64_t rest = ph->mask[v] & ~ph->par;
    for (int r = 0; r < ph->nr; r++) {
        if (!(rest >> r & 1)) continue;
        bool inner = r == e->t->inner;
        at = cx_add(e->p, cx_mul(e->p, at, ph->range[r].extent), (cexpr){.s = inner ? element ? "k0 + i" : "k0" : T(e, "i%d", r)});
    }
    if (ph->columns && ph->mask[v] >> ph->vec & 1) at = cx_add(e->p, cx_mul(e->p, at, (cexpr){.s = "m"}), (cexpr){.s = element ? "i" : "0"});
    return cx_text(e->p, at);
}

/* The value of an instruction where it is used. */
const char *emit_ref(emitter *e, tc_lv v) {
    switch (e->at[v]) {
    case AT_ITEM:
    case AT_ROW:
    case AT_INNER: return T(e, "v%d", v);
    case AT_ARRAY: return T(e, "t%d[i]", v);
    case AT_KEPT:
        if (e->ph->mat[v] == MAT_SCALAR) return T(e, "m%d", v);
        if (e->ph->mat[v] == MAT_COLUMNS) return T(e, "m%d[i]", v);
        return T(e, "m%d[%s]", v, emit_kept_index(e, v, true));
    default: TC_BUG("value %%%d of %s is used before it is there", v, e->name);
    }
}

/* ---- one instruction ---- */
static const char *widen(emitter *e, tc_dtype d, const char *s) {
    return emit_narrow(d) ? T(e, "tc_x_cast_%s_%s(%s)", emit_suffix(d), emit_suffix(tc_dtype_compute(d)), s) : s;
}

bool emit_plain_load(const tc_linst *in) {
    if (in->kind != TC_L_LOAD) return false;
    for (int d = 0; in->gather && d < in->rank; d++)
        if (in->gather[d] != TC_LV_NONE) return false;
    return true;
}

const char *emit_rare(const tc_linst *in) {
    if (in->kind != TC_L_SCALAR) return NULL;
    if (in->op == TC_X_SIN || in->op == TC_X_COS || in->op == TC_X_TAN) return tc_is_float(in->dtype) ? "small" : NULL;
    return in->dtype == TC_F32 && (in->op == TC_X_FMOD || in->op == TC_X_REMAINDER || in->op == TC_X_DIV_FLOOR) ? "quick" : NULL;
}

static const char *load_text(emitter *e, tc_lv v, bool inner) {
    const tc_linst *in = &e->l->inst.data[v];
    const caccess *x = &e->p->inst_access[v];
    tc_dtype d = e->l->buffers.data[in->buffer].dtype;
    const char *s;
    if (emit_plain_load(in)) {
        cexpr step = inner ? cx_mul(e->p, (cexpr){.s = "i"}, cx_step(e->p, e->ph, x, e->t->inner)) : cx_int(0);
        s = inner ? T(e, "x%d[%s]", v, cx_text(e->p, step)) : T(e, "b%d[%s]", in->buffer, cx_text(e->p, emit_address(e, x, emit_ranges(e), false)));
    } else {
        cexpr at = emit_address(e, x, emit_ranges(e), true);
        for (int k = 0; k < in->rank; k++) {
            if (in->gather[k] == TC_LV_NONE) continue;
            const char *g = emit_ref(e, in->gather[k]);
            if (in->checked) {
                cexpr base = emit_address(e, &e->p->dim_access[v][k], emit_ranges(e), true);
                cexpr whole = cx_add(e->p, base, (cexpr){.s = g});
                g = T(e, "tc_fault_at(c->fault, %d, %d, %s, %s)", v, k, cx_text(e->p, whole), cx_text(e->p, cx_size(e->p, in->buffer, k)));
                if (!base.is_const || base.v) g = T(e, "(%s - (%s))", g, cx_text(e->p, base));
            }
            at = cx_add(e->p, at, cx_mul(e->p, (cexpr){.s = g}, cx_stride(e->p, in->buffer, k)));
        }
        s = T(e, "b%d[%s]", in->buffer, cx_text(e->p, at));
    }
    s = widen(e, d, s);
    if (in->pred != TC_LV_NONE) s = T(e, "%s ? %s : %s", emit_ref(e, in->pred), s, const_text(e, in->dtype, tc_scalar_int(0)));
    return s;
}

static const char *host_text(emitter *e, const tc_linst *in) {
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
            return T(e, "tc_x_cast_%s_%s(c->numbers[%d].%s)", type == TC_SYM_FLOAT ? "f64" : "i64", emit_suffix(in->dtype), k,
                     type == TC_SYM_FLOAT ? "f" : "i");
    TC_BUG("a host number that the description lacks");
}

/* The operand x when the instruction is x * -1, x / -1 or -0 - x, which compilers turn into -x and then miscompile in the way that tc_x_minus explains;
 * else TC_LV_NONE. */
static tc_lv negated(const tc_linst *all, const tc_linst *in) {
    if (in->dtype != TC_F32 && in->dtype != TC_F64) return TC_LV_NONE;
    for (int k = 0; k < 2; k++) {
        const tc_linst *by = in->a[k] == TC_LV_NONE ? in : &all[in->a[k]];
        if (by->kind != TC_L_CONST) continue;
        const double c = tc_scalar_to_double(by->imm);
        if (c == -1 && (in->op == TC_X_MUL || (in->op == TC_X_DIV && k))) return in->a[1 - k];
        if (c == 0 && signbit(c) && in->op == TC_X_SUB && !k) return in->a[1];
    }
    return TC_LV_NONE;
}

int emit_operands(const emitter *e, tc_lv v, tc_lv out[TC_LOOP_OPERANDS]) {
    const tc_linst *in = &e->l->inst.data[v];
    const tc_lv minus = in->kind == TC_L_SCALAR ? negated(e->l->inst.data, in) : TC_LV_NONE;
    if (minus == TC_LV_NONE) return tc_loop_operands(in, out);
    out[0] = minus;
    return 1;
}

/* The value `s` of instruction v; with --sanitize=overflow an expression that first reports a fault when the signed integer operation wraps. */
static const char *sanitized(emitter *e, tc_lv v, int op, tc_dtype d, const char *a, const char *b, const char *s) {
    const char *name = op == TC_X_ADD ? "add" : op == TC_X_MUL ? "mul" : "sub", *only = "", *minus = T(e, "(%s)0", emit_ctype(d));
    if (!e->sanitize || tc_dtypes[d].kind != TC_KIND_INT || !tc_dtypes[d].is_signed) return s;
    switch (op) {
    case TC_X_ADD:
    case TC_X_SUB:
    case TC_X_MUL: break;
    case TC_X_NEG: b = a, a = minus; break;
    case TC_X_ABS: only = T(e, "%s < 0 && ", a), b = a, a = minus; break;
    case TC_X_DIV_TRUNC:
    case TC_X_DIV_FLOOR: only = T(e, "%s == -1 && ", b), b = a, a = minus; break;
    default: return s;
    }
    return T(e, "(tc_overflow(c->fault, %d, %s__builtin_%s_overflow(%s, %s, &(%s){0})), %s)", v, only, name, a, b, emit_ctype(d), s);
}

const char *emit_step(emitter *e, int r, tc_dtype d, const char *so_far, const char *x) {
    const bool sum = e->l->inst.data[r].op == TC_R_SUM;
    const char *ty = emit_ctype(d), *s = T(e, "(uint64_t)%s %s (uint64_t)%s", so_far, sum ? "+" : "*", x);
    return sanitized(e, r, sum ? TC_X_ADD : TC_X_MUL, d, T(e, "(%s)%s", ty, so_far), T(e, "(%s)%s", ty, x), s);
}

/* The right-hand side of an instruction. inner: inside the loop over a block. */
const char *emit_value(emitter *e, tc_lv v, bool inner) {
    const tc_linst *in = &e->l->inst.data[v];
    const tc_linst *all = e->l->inst.data;
    switch (in->kind) {
    case TC_L_CONST: return const_text(e, in->dtype, in->imm);
    case TC_L_HOST: return host_text(e, in);
    case TC_L_INDEX: return cx_text(e->p, emit_address(e, &e->p->inst_access[v], emit_ranges(e), inner));
    case TC_L_LOAD: return load_text(e, v, inner);
    case TC_L_CAST: {
        tc_dtype from = all[in->a[0]].dtype;
        return from == in->dtype ? emit_ref(e, in->a[0])
                                 : T(e, "tc_x_cast_%s_%s(%s)", emit_suffix(from), emit_suffix(in->dtype), emit_ref(e, in->a[0]));
    }
    case TC_L_ROUND:
        return T(e, "tc_x_cast_%s_%s(tc_x_cast_%s_%s(%s))", emit_suffix(in->narrow), emit_suffix(in->dtype), emit_suffix(in->dtype),
                 emit_suffix(in->narrow), emit_ref(e, in->a[0]));
    case TC_L_SCALAR: {
        const tc_lv minus = negated(all, in);
        if (minus != TC_LV_NONE) return T(e, "tc_x_neg_%s(%s)", emit_suffix(in->dtype), emit_ref(e, minus));
        const tc_dtype d = in->op == TC_X_WHERE ? in->dtype : all[in->a[0]].dtype;
        const char *rare = emit_rare(in);
        const char *s = T(e, "tc_%s_%s%s%s_%s(%s", rare && e->whole ? "whole" : "x", op_names[in->op], rare && e->quick ? "_" : "",
                          rare && e->quick ? rare : "", emit_suffix(d), emit_ref(e, in->a[0]));
        for (int k = 1; k < 3 && in->a[k] != TC_LV_NONE; k++) s = T(e, "%s, %s", s, emit_ref(e, in->a[k]));
        return sanitized(e, v, in->op, d, emit_ref(e, in->a[0]), in->a[1] != TC_LV_NONE ? emit_ref(e, in->a[1]) : NULL, T(e, "%s)", s));
    }
    case TC_L_PART: return T(e, "%s.%s", emit_ref(e, in->a[0]), in->part == 0 ? "mean" : in->part == 1 ? "m2" : "count");
    case TC_L_RAND:
        return T(e, "tc_x_philox_u32(%s, %s, %d)", host_text(e, &(tc_linst){.dtype = TC_I64, .host = in->host}), emit_ref(e, in->a[0]), in->part);
    default: TC_BUG("instruction kind %d in a nest", in->kind);
    }
}
