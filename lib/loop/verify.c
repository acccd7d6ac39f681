/* Checks what every loop must satisfy, after lowering and after each fusion. */
#include "loop/loop.h"

static bool type_fits(char types, tc_dtype d) {
    bool is_float = d == TC_F32 || d == TC_F64, is_int = tc_is_integral(d), is_complex = d == TC_C64 || d == TC_C128;
    switch (types) {
    case 'F': return is_float;
    case 'I': return is_int;
    case 'A': return is_float || is_int;
    case 'B': return d == TC_BOOL;
    case 'C': return is_complex;
    case 'E': return is_float || is_complex;
    case 'Z': return is_float || is_int || is_complex;
    default: return is_int && d != TC_BOOL; /* N */
    }
}

typedef struct {
    const tc_loop *l;
    size_t at; /* the instruction, for messages */
} check;

static tc_status bad(const check *c, const char *what) { return tc_error(TC_CONTENT, "loop instruction %%%zu: %s", c->at, what); }

static tc_status check_index(const check *c, const tc_affine *index, int rank) {
    for (int d = 0; d < rank; d++) {
        if (!index[d].base) return bad(c, "an index without base");
        for (int i = 0; i < index[d].n; i++)
            if (index[d].term[i].axis < 0 || index[d].term[i].axis >= c->l->naxes || !index[d].term[i].coef)
                return bad(c, "an index names an axis that is not there");
    }
    return NULL;
}

static tc_status check_scalar(const check *c, const tc_linst *in) {
    const tc_linst *all = c->l->inst.data;
    const tc_scalar_info *info = &tc_scalar_ops[in->op];
    bool choice = in->op == TC_X_WHERE;
    tc_dtype d = all[in->a[choice]].dtype;
    if (choice && all[in->a[0]].dtype != TC_BOOL) return bad(c, "WHERE needs a bool");
    if (!type_fits(info->types, d))
        return tc_error(tc_is_complex(d) ? TC_UNSUPPORTED : TC_CONTENT, "loop instruction %%%zu: %s is not defined for %s", c->at, info->name,
                        tc_dtypes[d].name);
    for (int i = choice; i < info->arity; i++)
        if (all[in->a[i]].dtype != d) return bad(c, "operands of different types");
    if (in->dtype != tc_scalar_result((tc_scalar_op)in->op, d)) return bad(c, "wrong result type");
    return NULL;
}
static tc_status check_load(const check *c, const tc_linst *in) {
    const tc_linst *all = c->l->inst.data;
    if (in->buffer < 0 || (size_t)in->buffer >= c->l->buffers.len) return bad(c, "no such buffer");
    if (in->rank != c->l->buffers.data[in->buffer].rank) return bad(c, "index of the wrong rank");
    if (in->dtype != tc_dtype_compute(c->l->buffers.data[in->buffer].dtype)) return bad(c, "wrong type of a load");
    for (int d = 0; in->gather && d < in->rank; d++)
        if (in->gather[d] != TC_LV_NONE && ((size_t)in->gather[d] >= c->at || all[in->gather[d]].dtype != TC_I64))
            return bad(c, "a gathered index is not an earlier i64");
    return NULL;
}
static tc_status check_reduce(const check *c, const tc_linst *in) {
    const tc_dtype d = c->l->inst.data[in->a[0]].dtype;
    if (tc_is_complex(d)) return tc_error(TC_UNSUPPORTED, "reductions of %s are not supported", tc_dtypes[d].name);
    if (!in->over && in->op != TC_R_WELFORD) return bad(c, "a reduction over no axis");
    if (in->op == TC_R_LOGADDEXP) return bad(c, "logaddexp is a scan");
    if ((in->op == TC_R_ANY || in->op == TC_R_ALL) && d != TC_BOOL) return bad(c, "any and all need a bool");
    if (in->op == TC_R_WELFORD && !tc_is_float(d)) return bad(c, "welford needs a float");
    return NULL;
}

static tc_status check_inst(const check *c, const tc_linst *in) {
    const tc_linst *all = c->l->inst.data;
    int want = 0;
    switch (in->kind) {
    case TC_L_SCALAR: want = tc_scalar_ops[in->op].arity; break;
    case TC_L_CAST:
    case TC_L_ROUND:
    case TC_L_REDUCE:
    case TC_L_SCAN:
    case TC_L_PART:
    case TC_L_RAND: want = 1; break;
    default: break;
    }
    for (int i = 0; i < 3; i++) {
        if (i >= want && in->a[i] != TC_LV_NONE) return bad(c, "an operand too many");
        if (i < want && (in->a[i] < 0 || (size_t)in->a[i] >= c->at)) return bad(c, "an operand that is not defined before");
    }
    if (in->pred != TC_LV_NONE && ((size_t)in->pred >= c->at || all[in->pred].dtype != TC_BOOL))
        return bad(c, "the predicate is not an earlier bool");
    TC_TRY(check_index(c, in->index, in->rank));
    switch (in->kind) {
    case TC_L_SCALAR: TC_TRY(check_scalar(c, in)); break;
    case TC_L_LOAD: TC_TRY(check_load(c, in)); break;
    case TC_L_REDUCE: TC_TRY(check_reduce(c, in)); break;
    case TC_L_SCAN:
        if (tc_is_complex(all[in->a[0]].dtype) && in->op != TC_R_PROD && in->op != TC_R_LOGADDEXP)
            return tc_error(TC_UNSUPPORTED, "scans of %s are not supported", tc_dtypes[all[in->a[0]].dtype].name);
        if (in->op == TC_R_LOGADDEXP && !tc_is_float(all[in->a[0]].dtype) && !tc_is_complex(all[in->a[0]].dtype))
            return bad(c, "logaddexp needs a float");
        if (__builtin_popcountll(in->over) != 1) return bad(c, "a scan needs one axis");
        break;
    case TC_L_PART:
        if ((all[in->a[0]].kind != TC_L_REDUCE || all[in->a[0]].op != TC_R_WELFORD || in->part > 2)) return bad(c, "no such part");
        break;
    case TC_L_RAND:
        if (all[in->a[0]].dtype != TC_I64 || in->dtype != TC_U32 || in->part > 3 || !in->host)
            return bad(c, "random bits are u32 of an i64 counter and a host key");
        break;
    default: break;
    }
    if (in->over && c->l->naxes < 64 && in->over >> c->l->naxes) return bad(c, "an axis that is not there");
    return NULL;
}

tc_status tc_loop_verify(const tc_loop *l) {
    check c = {.l = l};
    for (c.at = 0; c.at < l->inst.len; c.at++) TC_TRY(check_inst(&c, &l->inst.data[c.at]));
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *st = &l->stores.data[i];
        if (st->value < 0 || (size_t)st->value >= l->inst.len) return tc_error(TC_CONTENT, "loop store %zu: no value", i);
        if (st->pred != TC_LV_NONE && ((size_t)st->pred >= l->inst.len || l->inst.data[st->pred].dtype != TC_BOOL))
            return tc_error(TC_CONTENT, "loop store %zu: the predicate is not a bool", i);
        if (st->buffer < 0 || (size_t)st->buffer >= l->buffers.len || l->buffers.data[st->buffer].rank != st->rank)
            return tc_error(TC_CONTENT, "loop store %zu: wrong buffer", i);
        if (l->inst.data[st->value].dtype != tc_dtype_compute(l->buffers.data[st->buffer].dtype))
            return tc_error(TC_CONTENT, "loop store %zu: wrong type", i);
        TC_TRY(check_index(&c, st->index, st->rank), "loop store %zu", i);
    }
    if (!l->stores.len) return tc_error(TC_CONTENT, "a loop that stores nothing");
    return NULL;
}
