/* Every sample of the operator table: the types that the shape rule predicts are those of the results, and the operator's decomposition, where it
 * has one beside its own code, gives the same results. */
#include "base/rng.h"
#include "op/decompose.h"
#include "op/sample.h"
#include "pass/dce.h"
#include "runtime/runtime.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 64 };

typedef struct {
    tc_tensor t[MOST];
    int n;
} results;

static void release(results *r) {
    for (int i = 0; i < r->n; i++) tc_tensor_deinit(&r->t[i]);
    r->n = 0;
}

static tc_status run(const tc_program *p, const tc_sample *s, results *out) {
    tc_tensor in[TC_SAMPLE_TENSORS] = {0};
    int n = 0;
    tc_exec *e = NULL;
    tc_generator gen;
    tc_status st = NULL;
    tc_generator_seed(&gen, 0);
    for (int i = 0; i < p->ninputs && n < s->ntensors && !st; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        const tc_meta *m = &p->inputs[i].value->meta;
        int64_t size[TC_MAX_RANK];
        for (int d = 0; d < m->rank; d++)
            if (!tc_sym_const_int(m->size[d], &size[d])) fail_msg("a sample of a size that is no number");
        st = tc_tensor_empty(m->dtype, m->rank, size, &in[n]);
        if (!st) tc_sample_fill(&in[n], s->lo[n], s->hi[n], 7 + (uint64_t)n);
        n++;
    }
    out->n = p->noutputs;
    if (!st) st = tc_exec_create(p, &(tc_exec_options){.threads = 1}, &e);
    if (!st) st = tc_exec_run(e, in, n, &gen, out->t, out->n);
    tc_exec_destroy(e);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&in[i]);
    return st;
}

/* Predicted against executed; sizes that data decide stand for anything. NULL: they agree. */
static const char *differs_from_type(const tc_program *p, const results *r) {
    for (int i = 0; i < r->n; i++) {
        const tc_value *v = p->outputs[i].value;
        int64_t want;
        if (!v || v->kind != TC_V_TENSOR) continue;
        if (v->meta.dtype != r->t[i].dtype) return "dtype";
        if (v->meta.rank != r->t[i].rank) return "rank";
        for (int d = 0; d < v->meta.rank; d++)
            if (tc_sym_const_int(v->meta.size[d], &want) && want != r->t[i].size[d]) return "size";
    }
    return NULL;
}

static double at(const tc_tensor *t, int64_t i) {
    tc_scalar v = tc_scalar_load(t->dtype, t->storage->data, i);
    return v.kind == TC_KIND_COMPLEX ? hypot(v.re, v.im) : tc_scalar_to_double(v);
}

static double tolerance(tc_dtype d) {
    switch (d) {
    case TC_F64:
    case TC_C128: return 1e-10;
    case TC_F32:
    case TC_C64: return 2e-5;
    case TC_F16: return 4e-3;
    default: return tc_is_float(d) ? 4e-2 : 0;
    }
}

/* The largest difference, in tolerances of the results' largest number. */
static double distance(const results *a, const results *b) {
    double worst = 0;
    for (int i = 0; i < a->n; i++) {
        tc_tensor x, y;
        if (a->t[i].dtype != b->t[i].dtype || tc_tensor_numel(&a->t[i]) != tc_tensor_numel(&b->t[i])) return INFINITY;
        if (!a->t[i].storage) continue;
        assert_null(tc_tensor_contiguous(&a->t[i], &x));
        assert_null(tc_tensor_contiguous(&b->t[i], &y));
        double scale = 1, tol = tolerance(x.dtype);
        int64_t n = tc_tensor_numel(&x);
        for (int64_t k = 0; k < n; k++)
            if (isfinite(at(&x, x.offset + k))) scale = fmax(scale, fabs(at(&x, x.offset + k)));
        for (int64_t k = 0; k < n; k++) {
            double u = at(&x, x.offset + k), v = at(&y, y.offset + k), d = u == v || (isnan(u) && isnan(v)) ? 0 : fabs(u - v);
            if (isnan(d)) d = INFINITY;
            worst = fmax(worst, d == 0 ? 0 : tol > 0 ? d / (tol * scale) : INFINITY);
        }
        tc_tensor_deinit(&x);
        tc_tensor_deinit(&y);
    }
    return worst;
}

static bool of_row(void *ctx, const tc_node *n) { return n->op == ctx; }

static bool by_core(void *ctx, const tc_node *n) { return n->op == ctx && tc_core_rule(n); }

static tc_decompose_fn core_rule(const tc_node *n) { return tc_core_rule(n); }

typedef enum { AS_IS, OWN, CORE, FORMS } form;
static const char *const form_names[] = {"as it is", "decomposed", "by core operators"};

static tc_status bring_to(tc_program *p, const tc_op *op, form f) {
    if (f == OWN) return tc_decompose_some(p, of_row, (void *)(uintptr_t)op);
    if (f == CORE) return tc_decompose_by(p, by_core, core_rule, NULL, (void *)(uintptr_t)op);
    return NULL;
}

static bool has(const tc_program *p, const tc_op *op) {
    for (const tc_node *n = p->graph->first; n; n = n->next)
        if (n->op == op) return true;
    return false;
}

/* Returns how many forms were compared; adds what failed. */
static int one_sample(const tc_op *op, const char *call, size_t len, int *failed) {
    tc_sample s;
    results first = {0}, other = {0};
    int compared = 0;
    assert_null(tc_sample_parse(op, call, len, &s));
    for (form f = AS_IS; f < FORMS; f++) {
        tc_program *p = tc_program_clone(s.program);
        tc_status st = bring_to(p, op, f);
        bool same = f != AS_IS && has(p, op); /* it stayed */
        if (!st && !same) st = run(p, &s, f == AS_IS ? &first : &other);
        const char *type = st || same ? NULL : differs_from_type(p, f == AS_IS ? &first : &other);
        double d = st || same || f == AS_IS ? 0 : distance(&first, &other);
        if (st) print_error("%s, %.*s, %s: %s\n", tc_op_name(op), (int)len, call, form_names[f], tc_status_message(st));
        if (type) print_error("%s, %.*s, %s: another %s than predicted\n", tc_op_name(op), (int)len, call, form_names[f], type);
        if (!(d <= 1)) print_error("%s, %.*s, %s: differs by %g tolerances\n", tc_op_name(op), (int)len, call, form_names[f], d);
        *failed += st || type || !(d <= 1);
        compared += !st && !same;
        tc_status_free(st);
        tc_program_release(p);
        if (f != AS_IS) release(&other);
    }
    release(&first);
    tc_program_release(s.program);
    return compared;
}

static void forms_agree(void **state) {
    (void)state;
    int failed = 0, compared = 0, samples = 0;
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        size_t len;
        const char *call;
        if (op->flags & (TC_OP_RANDOM | TC_OP_HIGHER_ORDER)) continue;
        for (int k = 0; op->samples && (call = tc_sample_call(op->samples, k, &len)); k++, samples++) compared += one_sample(op, call, len, &failed);
    }
    print_message("%d samples, %d forms\n", samples, compared);
    assert_int_equal(failed, 0);
    assert_true(compared > samples); /* many have a second form */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
