/* Arguments of nodes as kernels take them. */
#include "runtime/frame.h"

tc_status meta_sizes(const tc_exec *e, const tc_value *v, int64_t *size) {
    for (int d = 0; d < v->meta.rank; d++)
        if (!tc_sym_const_int(v->meta.size[d], &size[d])) TC_TRY(tc_sym_eval_int(v->meta.size[d], e->vars, e->nvars, &size[d]));
    return NULL;
}

static tc_status number(tc_sym s, const tc_symvalue *vars, size_t nvars, tc_scalar *out) {
    tc_symvalue v;
    TC_TRY(tc_sym_eval(s, vars, nvars, &v));
    *out = tc_sym_type(s) == TC_SYM_FLOAT ? tc_scalar_float(v.f) : tc_sym_type(s) == TC_SYM_BOOL ? tc_scalar_bool(v.i) : tc_scalar_int(v.i);
    return NULL;
}

/* Numbers of a float type may differ from run to run under equal sizes. */
static void remember(kernel_call *k, tc_karg *a, tc_sym s) {
    if (tc_sym_type(s) == TC_SYM_INT) return;
    k->late = tc_xrealloc(k->late, (size_t)(k->nlate + 1) * sizeof *k->late);
    k->late[k->nlate++] = (late_number){a, s};
}

static size_t count_lists(const tc_node *n, size_t *ints) {
    size_t lists = 0;
    *ints = 0;
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (a->kind == TC_A_VALUES) lists += (size_t)a->n;
        if (a->kind == TC_A_VALUE && a->value->kind == TC_V_LIST) lists += (size_t)a->value->nlist;
        if (a->kind == TC_A_INTS || a->kind == TC_A_BOOLS || a->kind == TC_A_VALUES) *ints += (size_t)a->n;
    }
    return lists;
}

/* A list of symbolic numbers is a list of ints. */
static bool all_numbers(const tc_arg *a) {
    for (int i = 0; i < a->n; i++)
        if (!a->values[i] || a->values[i]->kind != TC_V_SYM) return false;
    return a->n > 0;
}

tc_status kernel_args(const tc_node *n, tc_tensor *t, const tc_symvalue *vars, size_t nvars, bool run_time, kernel_call *k) {
    size_t nints, nlists = count_lists(n, &nints), li = 0, ii = 0;
    k->args = tc_xcalloc((size_t)n->nargs + 1, sizeof *k->args);
    k->lists = tc_xcalloc(nlists + 1, sizeof *k->lists);
    k->ints = tc_xcalloc(nints + 1, sizeof *k->ints);
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        tc_karg *to = &k->args[i];
        switch (a->kind) {
        case TC_A_VALUE:
            if (a->value->kind == TC_V_TENSOR) {
                to->kind = TC_K_TENSOR;
                to->tensor = &t[a->value->id];
            } else if (a->value->kind == TC_V_SYM) {
                to->kind = TC_K_NUMBER;
                TC_TRY(number(a->value->sym, vars, nvars, &to->num));
                if (!run_time) remember(k, to, a->value->sym);
            } else if (a->value->kind == TC_V_LIST) {
                *to = (tc_karg){.kind = TC_K_TENSORS, .n = a->value->nlist, .tensors = k->lists + li};
                for (int j = 0; j < to->n; j++) k->lists[li++] = &t[a->value->list[j]->id];
            }
            break;
        case TC_A_VALUES:
            if (all_numbers(a)) {
                *to = (tc_karg){.kind = TC_K_INTS, .n = a->n, .ints = k->ints + ii};
                for (int j = 0; j < a->n; j++) TC_TRY(tc_sym_eval_int(a->values[j]->sym, vars, nvars, &k->ints[ii++]));
                break;
            }
            *to = (tc_karg){.kind = TC_K_TENSORS, .n = a->n, .tensors = k->lists + li};
            for (int j = 0; j < a->n; j++) k->lists[li++] = a->values[j] && a->values[j]->kind == TC_V_TENSOR ? &t[a->values[j]->id] : NULL;
            break;
        case TC_A_INT:
            to->kind = TC_K_NUMBER;
            TC_TRY(number(a->sym, vars, nvars, &to->num));
            break;
        case TC_A_INTS:
            *to = (tc_karg){.kind = TC_K_INTS, .n = a->n, .ints = k->ints + ii};
            for (int j = 0; j < a->n; j++) TC_TRY(tc_sym_eval_int(a->syms[j], vars, nvars, &k->ints[ii++]));
            break;
        case TC_A_SCALAR:
            to->kind = TC_K_NUMBER;
            to->num = a->scalar;
            if (!a->is_sym) break;
            TC_TRY(number(a->sym, vars, nvars, &to->num));
            if (!run_time) remember(k, to, a->sym);
            break;
        case TC_A_FLOATS: *to = (tc_karg){.kind = TC_K_FLOATS, .n = a->n, .floats = a->floats}; break;
        case TC_A_BOOLS:
            *to = (tc_karg){.kind = TC_K_INTS, .n = a->n, .ints = k->ints + ii};
            for (int j = 0; j < a->n; j++) k->ints[ii++] = a->bools[j];
            break;
        case TC_A_STRING:
        case TC_A_DEVICE:
            to->kind = TC_K_STRING;
            to->string = a->string;
            break;
        case TC_A_DTYPE:
            to->kind = TC_K_DTYPE;
            to->dtype = a->dtype;
            break;
        case TC_A_LAYOUT:
        case TC_A_MEMFORMAT:
            to->kind = TC_K_NUMBER;
            to->num = tc_scalar_int(a->code);
            break;
        default: break;
        }
    }
    k->k.args = k->args;
    k->k.nargs = n->nargs;
    return NULL;
}

void kernel_call_free(kernel_call *k) {
    if (!k) return;
    free(k->args);
    free(k->lists);
    free(k->ints);
    free(k->outs);
    free(k->out_id);
    free(k->late);
    free(k);
}
