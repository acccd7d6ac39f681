/* Converts the arguments of a node to those of its kernel (tc_karg), with symbolic numbers evaluated. */
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

/* Notes a number that may differ between runs of equal sizes: any but an integer, as integers are part of a bound's key. */
static void add_late(kernel_call *k, tc_karg *a, tc_sym s) {
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

/* Is the list made of symbolic numbers alone? Kernels get it as a list of ints. */
static bool all_numbers(const tc_arg *a) {
    for (int i = 0; i < a->n; i++)
        if (!a->values[i] || a->values[i]->kind != TC_V_SYM) return false;
    return a->n > 0;
}

/* The kernel_call that is filled, with the used lengths of k->ints and k->lists, which hold the elements of all list arguments. */
typedef struct {
    kernel_call *k;
    tc_tensor *t; /* by value id */
    const tc_symvalue *vars;
    size_t nvars, nints, nlists;
    bool run_time;
} filler;

/* A list of n ints, which the caller sets. */
static int64_t *add_ints(filler *f, tc_karg *to, int n) {
    int64_t *ints = f->k->ints + f->nints;
    *to = (tc_karg){.kind = TC_K_INTS, .n = n, .ints = ints};
    f->nints += (size_t)n;
    return ints;
}

static void add_tensors(filler *f, tc_karg *to, tc_value *const *values, int n) {
    *to = (tc_karg){.kind = TC_K_TENSORS, .n = n, .tensors = f->k->lists + f->nlists};
    for (int i = 0; i < n; i++) f->k->lists[f->nlists++] = values[i] && values[i]->kind == TC_V_TENSOR ? &f->t[values[i]->id] : NULL;
}

static tc_status add_number(filler *f, tc_karg *to, tc_sym s) {
    to->kind = TC_K_NUMBER;
    return number(s, f->vars, f->nvars, &to->num);
}

/* A number that may differ between runs. */
static tc_status add_varying(filler *f, tc_karg *to, tc_sym s) {
    TC_TRY(add_number(f, to, s));
    if (!f->run_time) add_late(f->k, to, s);
    return NULL;
}

static tc_status add_value(filler *f, tc_karg *to, tc_value *v) {
    if (v->kind == TC_V_SYM) return add_varying(f, to, v->sym);
    if (v->kind == TC_V_LIST) add_tensors(f, to, v->list, v->nlist);
    if (v->kind == TC_V_TENSOR) *to = (tc_karg){.kind = TC_K_TENSOR, .tensor = &f->t[v->id]};
    return NULL;
}

static tc_status add_sizes(filler *f, tc_karg *to, const tc_arg *a) {
    int64_t *ints = add_ints(f, to, a->n);
    for (int i = 0; i < a->n; i++) TC_TRY(tc_sym_eval_int(a->kind == TC_A_INTS ? a->syms[i] : a->values[i]->sym, f->vars, f->nvars, &ints[i]));
    return NULL;
}

static tc_status add_arg(filler *f, tc_karg *to, const tc_arg *a) {
    switch (a->kind) {
    case TC_A_VALUE: return add_value(f, to, a->value);
    case TC_A_VALUES:
        if (all_numbers(a)) return add_sizes(f, to, a);
        add_tensors(f, to, a->values, a->n);
        break;
    case TC_A_INT: return add_number(f, to, a->sym);
    case TC_A_INTS: return add_sizes(f, to, a);
    case TC_A_SCALAR:
        if (a->is_sym) return add_varying(f, to, a->sym);
        *to = (tc_karg){.kind = TC_K_NUMBER, .num = a->scalar};
        break;
    case TC_A_FLOATS: *to = (tc_karg){.kind = TC_K_FLOATS, .n = a->n, .floats = a->floats}; break;
    case TC_A_BOOLS: {
        int64_t *ints = add_ints(f, to, a->n);
        for (int i = 0; i < a->n; i++) ints[i] = a->bools[i];
        break;
    }
    case TC_A_STRING:
    case TC_A_DEVICE: *to = (tc_karg){.kind = TC_K_STRING, .string = a->string}; break;
    case TC_A_DTYPE: *to = (tc_karg){.kind = TC_K_DTYPE, .dtype = a->dtype}; break;
    case TC_A_LAYOUT:
    case TC_A_MEMFORMAT: *to = (tc_karg){.kind = TC_K_NUMBER, .num = tc_scalar_int(a->code)}; break;
    default: break;
    }
    return NULL;
}

tc_status kernel_args(const tc_node *n, tc_tensor *t, const tc_symvalue *vars, size_t nvars, bool run_time, kernel_call *k) {
    filler f = {.k = k, .t = t, .vars = vars, .nvars = nvars, .run_time = run_time};
    size_t nints, nlists = count_lists(n, &nints);
    k->args = tc_xcalloc((size_t)n->nargs + 1, sizeof *k->args);
    k->lists = tc_xcalloc(nlists + 1, sizeof *k->lists);
    k->ints = tc_xcalloc(nints + 1, sizeof *k->ints);
    for (int i = 0; i < n->nargs; i++) TC_TRY(add_arg(&f, &k->args[i], &n->args[i]));
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
