/* Estimated sizes of values (value_bytes.h). */
#include "pass/value_bytes.h"

enum { UNKNOWN_SIZE = 64 };

tc_symvalue *tc_typical_sizes(const tc_program *p, size_t *n) {
    *n = tc_sym_var_count(p->sym);
    tc_symvalue *vars = tc_xcalloc(*n + 1, sizeof *vars);
    for (size_t i = 0; i < *n; i++) {
        int64_t lo, hi;
        if (tc_sym_type(tc_sym_var_at(p->sym, i)) != TC_SYM_INT) continue;
        tc_sym_range(p->sym, tc_sym_var_at(p->sym, i), &lo, &hi);
        vars[i] = (tc_symvalue){.i = hi < UNKNOWN_SIZE ? hi : lo > UNKNOWN_SIZE ? lo : UNKNOWN_SIZE, .bound = true};
    }
    return vars;
}

int64_t tc_value_bytes(const tc_value *v, const tc_symvalue *vars, size_t nvars) {
    static const int64_t most = (int64_t)1 << 50;
    int64_t n = v->kind == TC_V_TENSOR ? (int64_t)tc_dtype_size(v->meta.dtype) : 8, d;
    if (v->kind == TC_V_LIST) n = 0;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist && n < most; i++) n += tc_value_bytes(v->list[i], vars, nvars);
    for (int i = 0; v->kind == TC_V_TENSOR && i < v->meta.rank; i++) {
        tc_status st = tc_sym_eval_int(v->meta.size[i], vars, nvars, &d);
        if (st) d = UNKNOWN_SIZE;
        tc_status_free(st);
        if (!tc_mul_i64(n, d, &n) || n > most) n = most;
    }
    return n > 0 ? n : 1;
}

tc_sym tc_value_bytes_sym(tc_symctx *c, const tc_value *v) {
    if (v->kind != TC_V_TENSOR) return tc_sym_int(c, v->kind == TC_V_SYM ? 8 : 0);
    return tc_sym_mul(c, tc_sym_int(c, (int64_t)tc_dtype_size(v->meta.dtype)), tc_meta_numel(c, &v->meta));
}
