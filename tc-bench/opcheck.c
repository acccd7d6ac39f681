/* --opcheck: looks for what an operator of an extension does and its schema, shape rule or gradient does not say. The kernel is run on small tensors that
 * lie between guarded bytes:
 *
 *     [guard | x | guard]  [guard | w | guard]  --kernel-->  [guard | result, filled with a pattern | guard] */
#include "tc-bench/bench.h"

#include "grad/grad.h"
#include "op/extension.h"
#include "op/functionalise.h"
#include "op/sample.h"
#include "runtime/extension.h"
#include "runtime/runtime.h"

#include <math.h>

enum { GUARD = 4096, MOST = TC_EXTENSION_RESULTS + TC_EXTENSION_PARAMS };

typedef struct {
    tc_cmd *c;
    const char *call;
    const tc_extension_op *o;
    tc_program *p; /* functional */
    const tc_node *n;
    tc_tensor *t; /* by value id: the inputs */
    tc_sample s;
} check;

static tc_status wrong(const check *k, const char *what, const char *which, const char *then) {
    return tc_error(TC_DIFFERENT, "%s: %s%s%s", k->call, what, which, then);
}

/* ---- guarded tensors ---- */
static tc_status guarded(const tc_value *v, int pattern, tc_tensor *out) {
    int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK];
    size_t bytes = tc_dtype_size(v->meta.dtype);
    tc_storage *s;
    for (int d = 0; d < v->meta.rank; d++) {
        if (!tc_sym_const_int(v->meta.size[d], &size[d])) return tc_error(TC_UNSUPPORTED, "a result whose size is not fixed");
        bytes *= (size_t)size[d];
    }
    TC_TRY(tc_storage_alloc(bytes + 2 * GUARD, &s));
    memset(s->data, pattern, bytes + 2 * GUARD);
    tc_contiguous_strides(v->meta.rank, size, stride);
    tc_status st = tc_tensor_view(s, v->meta.dtype, v->meta.rank, size, stride, GUARD / (int64_t)tc_dtype_size(v->meta.dtype), out);
    tc_storage_release(s);
    return st;
}
/* Did anything write outside the tensor? */
static bool overrun(const tc_tensor *t, int pattern) {
    const unsigned char *b = t->storage->data;
    const size_t n = t->storage->bytes;
    bool over = false;
    for (size_t i = 0; i < GUARD; i++) over |= b[i] != pattern || b[n - 1 - i] != pattern;
    return over;
}

/* One run of the kernel with results that are filled with the pattern. */
static tc_status run_once(check *k, int pattern, tc_pool *pool, tc_tensor *outs) {
    for (int i = 0; i < k->n->nouts; i++) TC_TRY(guarded(k->n->outs[i], pattern, &outs[i]));
    TC_TRY(tc_extension_call(k->n, k->t, outs, pool));
    for (int i = 0; i < k->n->nouts; i++)
        if (overrun(&outs[i], pattern))
            return wrong(k, "its kernel writes outside of result ", (char[]){(char)('0' + i), 0},
                         ": its shape rule gives fewer elements than the kernel makes");
    return NULL;
}
static void release(tc_tensor *t, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&t[i]);
}
static bool same(const tc_tensor *a, const tc_tensor *b, int n) {
    for (int i = 0; i < n; i++)
        if (memcmp(tc_tensor_data(&a[i]), tc_tensor_data(&b[i]), tc_tensor_bytes(&a[i]))) return false;
    return true;
}

/* ---- what is written ---- */
static tc_status check_inputs_kept(const check *k, void *const *before) {
    const tc_schema *s = k->o->schema;
    for (int i = 0; i < k->p->ninputs; i++) {
        const tc_value *v = k->p->inputs[i].value;
        const tc_tensor *t = &k->t[v->id];
        const char *name = v->name;
        for (int j = 0; j < s->nparams; j++)
            if (k->o->from[j] >= 0 && k->n->args[k->o->from[j]].kind == TC_A_VALUE && k->n->args[k->o->from[j]].value == v) name = s->params[j].name;
        if (memcmp(before[i], t->storage->data, t->storage->bytes))
            return wrong(k, "its kernel writes to argument ", name, ", which its schema does not mark: Tensor(a!)");
    }
    return NULL;
}

/* Two runs must write the same to every element, whatever was there before, with and without threads. */
static tc_status check_runs(check *k) {
    tc_tensor a[MOST] = {{0}}, b[MOST] = {{0}};
    void **before = tc_xcalloc((size_t)k->p->ninputs + 1, sizeof *before);
    for (int i = 0; i < k->p->ninputs; i++) {
        const tc_storage *s = k->t[k->p->inputs[i].value->id].storage;
        memcpy(before[i] = tc_xmalloc(s->bytes + 1), s->data, s->bytes);
    }
    tc_status st = run_once(k, 0xA5, NULL, a);
    if (!st) st = check_inputs_kept(k, before);
    if (!st) st = run_once(k, 0x5A, NULL, b);
    if (!st && !same(a, b, k->n->nouts))
        st = wrong(k, "elements of its results are not written, or differ between runs", "",
                   ": its shape rule gives more elements than the kernel makes, or the kernel reads what it did not write");
    release(b, MOST);
    if (!st) st = run_once(k, 0xA5, tc_cmd_pool(k->c), b);
    if (!st && !same(a, b, k->n->nouts)) st = wrong(k, "its results depend on the number of threads", "", "");
    release(a, MOST);
    release(b, MOST);
    for (int i = 0; i < k->p->ninputs; i++) free(before[i]);
    free(before);
    return st;
}

/* A kernel that reads strides gives the same for arguments that do not lie row by row. */
static tc_status check_strides(check *k) {
    tc_tensor a[MOST] = {{0}}, b[MOST] = {{0}};
    if (!k->o->strided) return NULL;
    tc_status st = run_once(k, 0xA5, NULL, a);
    for (int i = 0; i < k->p->ninputs && !st; i++) {
        tc_tensor *t = &k->t[k->p->inputs[i].value->id], wide, view;
        int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK];
        const size_t bytes = tc_dtype_size(t->dtype);
        if (!t->rank || t->rank == TC_MAX_RANK) continue;
        memcpy(size, t->size, sizeof size);
        size[t->rank] = 3; /* every element three apart */
        if ((st = tc_tensor_empty(t->dtype, t->rank + 1, size, &wide))) break;
        memset(tc_tensor_data(&wide), 0xEE, tc_tensor_bytes(&wide));
        for (int64_t e = 0, n = tc_tensor_numel(t); e < n; e++)
            memcpy((char *)tc_tensor_data(&wide) + (size_t)e * 3 * bytes, (char *)tc_tensor_data(t) + (size_t)e * bytes, bytes);
        for (int d = 0; d < t->rank; d++) stride[d] = 3 * t->stride[d];
        st = tc_tensor_view(wide.storage, t->dtype, t->rank, size, stride, 0, &view);
        tc_tensor_deinit(&wide);
        if (!st) tc_tensor_deinit(t), *t = view;
    }
    if (!st) st = run_once(k, 0xA5, NULL, b);
    if (!st && !same(a, b, k->n->nouts)) st = wrong(k, "it is marked TC_OPS_STRIDED and does not read strides", "", "");
    release(a, MOST);
    release(b, MOST);
    return st;
}

/* ---- gradient ---- */
static double at(const tc_tensor *t, int64_t i) { return tc_scalar_to_double(tc_scalar_load(t->dtype, tc_tensor_data(t), i)); }
static bool differentiable(const tc_value *v) { return v && v->kind == TC_V_TENSOR && tc_is_float(v->meta.dtype); }

/* The sum over the results of cotangent times result. in: inputs, then the cotangents of the results of floating point. */
static double objective(const tc_program *p, const tc_tensor *cotangent, const tc_tensor *out) {
    double sum = 0;
    for (int i = 0, c = 0; i < p->noutputs && p->outputs[i].kind == TC_OUT_USER; i++)
        if (differentiable(p->outputs[i].value)) {
            for (int64_t e = 0, n = tc_tensor_numel(&out[i]); e < n; e++) sum += at(&cotangent[c], e) * at(&out[i], e);
            c++;
        }
    return sum;
}

/* Gradient `g` of input `in` against central differences at some of its elements. */
static tc_status compare(const check *k, const tc_program *p, tc_exec *e, tc_tensor *in, int of, const tc_tensor *g, tc_tensor *out) {
    const double h = tc_dtype_size(in[of].dtype) < 4 ? 0.25 : tc_dtype_size(in[of].dtype) == 4 ? 0x1p-7 : 0x1p-17, rough = h * 4;
    const int64_t n = tc_tensor_numel(&in[of]), step = n > 16 ? n / 16 : 1;
    for (int64_t i = 0; i < n; i += step) {
        const double x = at(&in[of], i), have = at(g, i);
        double f[2];
        for (int side = 0; side < 2; side++) {
            tc_scalar_store(in[of].dtype, tc_tensor_data(&in[of]), i, tc_scalar_float(side ? x + h : x - h));
            TC_TRY(tc_exec_run(e, in, p->ninputs, NULL, out, p->noutputs));
            f[side] = objective(p, in + k->p->ninputs, out);
            release(out, p->noutputs);
        }
        tc_scalar_store(in[of].dtype, tc_tensor_data(&in[of]), i, tc_scalar_float(x));
        const double want = (f[1] - f[0]) / (2 * h);
        if (!(fabs(want - have) <= rough * (1 + fabs(want) + fabs(have))))
            return tc_error(TC_DIFFERENT, "%s: its gradient %s gives %g for element %lld of %s, differences of its results give %g", k->call,
                            k->o->gradient, have, (long long)i, p->inputs[of].name, want);
    }
    return NULL;
}

static tc_status check_gradient(check *k) {
    tc_sample s;
    tc_exec *e = NULL;
    tc_tensor in[MOST + TC_SAMPLE_TENSORS] = {{0}}, out[2 * MOST + TC_SAMPLE_TENSORS] = {{0}}, more[2 * MOST + TC_SAMPLE_TENSORS] = {{0}};
    if (!k->o->gradient) return NULL;
    TC_TRY(tc_sample_parse(k->o->op, k->call, strlen(k->call), &s));
    tc_program *p = s.program;
    tc_status st = tc_functionalise(p);
    if (!st) st = tc_grad_program_vjp(p, NULL, 0, NULL);
    if (!st && (st = tc_program_verify(p))) { /* the gradient has other sizes or another type than its argument */
        tc_status said = tc_error(TC_DIFFERENT, "%s: its gradient %s: %s", k->call, k->o->gradient, tc_status_message(st));
        tc_status_free(st);
        st = said;
    }
    for (int i = 0; i < p->ninputs && !st; i++) {
        int64_t size[TC_MAX_RANK];
        const tc_meta *m = &p->inputs[i].value->meta;
        for (int d = 0; d < m->rank; d++)
            if (!tc_sym_const_int(m->size[d], &size[d])) size[d] = 1;
        st = tc_tensor_empty(m->dtype, m->rank, size, &in[i]);
        if (!st) tc_sample_fill(&in[i], i < k->p->ninputs ? s.lo[i] : 0.5, i < k->p->ninputs ? s.hi[i] : 1.5, 77 + (uint64_t)i);
    }
    if (!st) st = tc_exec_create(p, &(tc_exec_options){.pool = tc_cmd_pool(k->c)}, &e);
    if (!st) st = tc_exec_run(e, in, p->ninputs, NULL, out, p->noutputs);
    for (int i = 0; i < p->noutputs && !st; i++)
        if (p->outputs[i].kind == TC_OUT_GRAD_USER && p->outputs[i].target >= 0) st = compare(k, p, e, in, p->outputs[i].target, &out[i], more);
    release(in, MOST + TC_SAMPLE_TENSORS);
    release(out, 2 * MOST + TC_SAMPLE_TENSORS);
    tc_exec_destroy(e);
    tc_program_release(p);
    return st;
}

/* ---- one operator ---- */
static tc_status check_symbols(const check *k) {
    tc_buf general = {0};
    tc_sample s;
    tc_sample_general(k->o->op, k->call, strlen(k->call), &general);
    tc_status st = tc_sample_parse(k->o->op, tc_buf_str(&general), general.len, &s);
    if (!st) tc_program_release(s.program);
    st = tc_annotate(st, "%s, sizes as symbols", tc_buf_str(&general));
    tc_buf_free(&general);
    return st;
}

static tc_status check_all(check *k) {
    TC_TRY(check_symbols(k));
    for (int i = 0; i < k->p->ninputs; i++) {
        const tc_value *v = k->p->inputs[i].value;
        TC_TRY(guarded(v, 0xC3, &k->t[v->id]));
        tc_sample_fill(&k->t[v->id], k->s.lo[i], k->s.hi[i], 77 + (uint64_t)i);
    }
    TC_TRY(check_runs(k));
    TC_TRY(check_strides(k));
    return check_gradient(k);
}

static tc_status check_call(tc_cmd *c, const tc_extension_op *o, const char *call, tc_buf *out) {
    check k = {.c = c, .call = call, .o = o};
    TC_TRY(tc_sample_parse(o->op, call, strlen(call), &k.s), "%s", call);
    k.p = k.s.program;
    tc_status st = tc_functionalise(k.p);
    for (const tc_node *n = k.p->graph->first; n; n = n->next)
        if (tc_extension_op_of(n->op) == o) k.n = n;
    k.t = tc_xcalloc(k.p->graph->nvalues + 1, sizeof *k.t);
    if (!st) st = k.n ? check_all(&k) : tc_error(TC_CONTENT, "%s: no call of it is left", call);
    if (!st)
        tc_buf_printf(out, "%s: schema, aliasing, mutation, shape rule, threads%s, gradient%s: as declared\n", call, o->strided ? ", strides" : "",
                      o->gradient ? "" : " (none)");
    release(k.t, (int)k.p->graph->nvalues);
    free(k.t);
    tc_program_release(k.p);
    return st;
}

tc_status check_operators(tc_cmd *c) {
    tc_buf out = {0};
    tc_status st = NULL;
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_opcheck) && !st; i++) {
        const char *what = tc_cmd_value(c, TC_OPT_opcheck, i);
        char name[160];
        const size_t n = strcspn(what, "(");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), what);
        const tc_op *op = tc_op_find(name);
        const tc_extension_op *o = op ? tc_extension_op_of(op) : NULL;
        tc_buf call = {0};
        if (!o) st = tc_error(TC_CONTENT, "--opcheck %s: no extension of --ops defines it", what);
        else if (what[n]) tc_buf_puts(&call, what);
        else tc_extension_sample(o, &call);
        if (!st) st = check_call(c, o, tc_buf_str(&call), &out);
        tc_buf_free(&call);
    }
    tc_cmd_show(stdout, tc_buf_str(&out), out.len);
    tc_buf_free(&out);
    return st;
}
