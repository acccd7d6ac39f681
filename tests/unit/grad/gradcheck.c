/* Every gradient in the operator table against finite differences: samples of the rows are run in float64, the gradient of
 * sum(results * cotangents) is compared with central differences. Second derivatives the same way, of the gradient program. */
#include "base/rng.h"
#include "grad/grad.h"
#include "op/emit.h"
#include "op/functionalise.h"
#include "op/sample.h"
#include "pass/dce.h"
#include "runtime/runtime.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MAX = 64 };
typedef struct {
    tc_program *p;
    tc_tensor in[MAX];
    int nin;            /* inputs of the sample, then cotangents */
    int wrt[MAX], nwrt; /* inputs that are differentiated */
    int out[MAX], nout; /* outputs that carry a gradient */
    int cot[MAX];       /* input index of the cotangent of out[k] */
    double lo[MAX], hi[MAX];
} problem;

static bool is_f64(const tc_value *v) { return v && v->kind == TC_V_TENSOR && v->meta.dtype == TC_F64; }

static tc_status concrete(const tc_value *v, tc_tensor *out) {
    int64_t size[TC_MAX_RANK];
    for (int i = 0; i < v->meta.rank; i++)
        if (!tc_sym_const_int(v->meta.size[i], &size[i])) return tc_error(TC_UNSUPPORTED, "a size that is not fixed");
    return tc_tensor_empty(v->meta.dtype, v->meta.rank, size, out);
}

/* The sample's text with f32 as f64. */
static char *widened(const char *call, size_t len) {
    tc_buf b = {0};
    for (size_t i = 0; i < len; i++) {
        if (i + 4 <= len && !memcmp(call + i, "f32[", 4) && (i == 0 || !isalnum((unsigned char)call[i - 1]))) tc_buf_puts(&b, "f64"), i += 2;
        else tc_buf_putc(&b, call[i]);
    }
    return b.data;
}

/* Running statistics get no gradient, in PyTorch as here. */
static bool statistic(const tc_op *op, const tc_program *p, int input) {
    const tc_schema *s = tc_op_schema(op);
    const tc_node *n = p->graph->first;
    for (int i = 0; n && i < n->nargs && i < s->nparams; i++)
        if (n->args[i].kind == TC_A_VALUE && n->args[i].value == p->inputs[input].value && !strncmp(s->params[i].name, "running_", 8)) return true;
    return false;
}

/* Is only the first result to be differentiated? Those after it exist for the backward alone. */
static bool only_first(const tc_op *op) {
    const char *name = tc_op_schema(op)->name;
    return op->flags & TC_OP_ONE_GRAD || !strcmp(name, "native_group_norm") || !strcmp(name, "instance_norm_functional") ||
           !strcmp(name, "_linalg_slogdet");
}

/* Operators whose gradient is by convention that of an argument of a certain form: a matrix of which they read one triangle, logarithms of
 * probabilities. They are given one made of the sample's, whose elements are then free. */
static tc_status structure(const tc_op *op, tc_program *p) {
    static const struct {
        const char *name;
        int arg;
        enum { SYMMETRIC, TRIANGLE, LOG_PROBS } form;
    } rows[] = {{"_linalg_eigh", 0, SYMMETRIC},  {"linalg_eigh", 0, SYMMETRIC},     {"linalg_eigvalsh", 0, SYMMETRIC},
                {"cholesky_solve", 1, TRIANGLE}, {"cholesky_inverse", 0, TRIANGLE}, {"ctc_loss", 0, LOG_PROBS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(tc_op_schema(op)->name, rows[i].name)) continue;
        tc_node *n = p->graph->first;
        tc_value *x = n->args[rows[i].arg].value;
        tc_emit e = {.graph = p->graph, .before = n};
        tc_value *y = rows[i].form == TRIANGLE    ? tc_emit_call(&e, "aten::tril", "v", x)
                      : rows[i].form == LOG_PROBS ? tc_emit_call(&e, "aten::log_softmax.int", "vi", x, (int64_t)-1)
                                                  : tc_e_add(&e, x, tc_emit_call(&e, "aten::transpose.int", "vii", x, (int64_t)-2, (int64_t)-1));
        if (y) n->args[rows[i].arg].value = y;
        return e.status;
    }
    return NULL;
}

static tc_status make(const tc_op *op, const char *call, size_t len, problem *q) {
    tc_sample s = {0};
    char *text = widened(call, len);
    memset(q, 0, sizeof *q);
    tc_status st = tc_sample_parse(op, text, strlen(text), &s);
    free(text);
    q->p = s.program;
    if (st) return st;
    TC_TRY(structure(op, q->p));
    q->nin = q->p->ninputs;
    for (int i = 0; i < q->nin; i++) {
        TC_TRY(concrete(q->p->inputs[i].value, &q->in[i]));
        tc_sample_fill(&q->in[i], s.lo[i], s.hi[i], 77 + (uint64_t)i);
        if (is_f64(q->p->inputs[i].value) && !statistic(op, q->p, i)) q->wrt[q->nwrt++] = i;
    }
    return tc_functionalise(q->p);
}

/* Adds cotangents as inputs and gradients as outputs. what[]: outputs to differentiate. */
static tc_status differentiate(problem *q, int first_out, int last_out) {
    tc_value *ys[MAX], *cots[MAX], *xs[MAX], *grads[MAX] = {0};
    int n = 0;
    for (int o = first_out; o < last_out; o++) {
        tc_value *y = q->p->outputs[o].value;
        if (!is_f64(y) || n == MAX || q->nin == MAX) continue;
        tc_value *c = tc_graph_add_input(q->p->graph, tc_graph_value(q->p->graph, TC_V_TENSOR, "cotangent"));
        c->meta = tc_meta_make(&q->p->arena, TC_F64, y->meta.rank, y->meta.size, NULL);
        tc_program_add_input(q->p, (tc_input){.kind = TC_IN_USER, .value = c, .name = c->name, .alias_of = -1});
        TC_TRY(concrete(c, &q->in[q->nin]));
        tc_sample_fill(&q->in[q->nin], -1, 1, 1234 + (uint64_t)o);
        ys[n] = y;
        cots[n] = c;
        q->out[n] = o;
        q->cot[n++] = q->nin++;
    }
    q->nout = n;
    for (int i = 0; i < q->nwrt; i++) xs[i] = q->p->inputs[q->wrt[i]].value;
    TC_TRY(tc_grad_build(
        &(tc_grad_request){.graph = q->p->graph, .outputs = ys, .cotangents = cots, .noutputs = n, .wrt = xs, .nwrt = q->nwrt, .zeros = true},
        grads));
    for (int i = 0; i < q->nwrt; i++)
        tc_program_add_output(q->p, (tc_output){.kind = TC_OUT_GRAD_USER, .value = grads[i], .name = "grad", .target = q->wrt[i]});
    return tc_program_verify(q->p);
}

static tc_pool *pool;

static tc_status run(tc_exec *e, problem *q, tc_tensor *outs) {
    tc_generator g;
    tc_generator_seed(&g, 1);
    return tc_exec_run(e, q->in, q->nin, &g, outs, q->p->noutputs);
}

static double objective(const problem *q, const tc_tensor *outs) {
    long double sum = 0;
    for (int k = 0; k < q->nout; k++) {
        tc_tensor y, c;
        tc_status_free(tc_tensor_contiguous(&outs[q->out[k]], &y));
        tc_status_free(tc_tensor_contiguous(&q->in[q->cot[k]], &c));
        const double *a = tc_tensor_data(&y), *b = tc_tensor_data(&c);
        for (int64_t i = 0, n = tc_tensor_numel(&y); i < n; i++) sum += (long double)a[i] * b[i];
        tc_tensor_deinit(&y);
        tc_tensor_deinit(&c);
    }
    return (double)sum;
}

static void release(tc_tensor *t, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&t[i]);
}

/* The gradients (outputs from first_grad on) against differences of the objective; *out_worst: the largest error met. */
static tc_status compare(problem *q, int first_grad, double *out_worst) {
    tc_exec *e = NULL;
    tc_tensor *outs = tc_xcalloc((size_t)q->p->noutputs, sizeof *outs), *more = tc_xcalloc((size_t)q->p->noutputs, sizeof *more);
    tc_status st = tc_exec_create(q->p, &(tc_exec_options){.pool = pool}, &e);
    *out_worst = 0;
    if (!st) st = run(e, q, outs);
    for (int w = 0; w < q->nwrt && !st; w++) {
        tc_tensor *x = &q->in[q->wrt[w]], g;
        int64_t n = tc_tensor_numel(x), step = n > 8 ? n / 8 : 1;
        double *data = tc_tensor_data(x);
        if ((st = tc_tensor_contiguous(&outs[first_grad + w], &g))) break;
        for (int64_t i = 0; i < n && !st; i += step) {
            double keep = data[i], h = 1e-6 * (1 + fabs(keep)), up, down;
            data[i] = keep + h;
            if ((st = run(e, q, more))) break;
            up = objective(q, more);
            data[i] = keep - h;
            if ((st = run(e, q, more))) break;
            down = objective(q, more);
            data[i] = keep;
            double want = (up - down) / (2 * h), have = ((const double *)tc_tensor_data(&g))[i];
            double err = fabs(want - have) / (1 + fabs(want) + fabs(have));
            if (isnan(have) != isnan(want)) err = INFINITY;
            if (err > *out_worst) *out_worst = err;
        }
        tc_tensor_deinit(&g);
    }
    release(outs, q->p->noutputs);
    release(more, q->p->noutputs);
    free(outs);
    free(more);
    tc_exec_destroy(e);
    return st;
}

static void finish(problem *q) {
    release(q->in, q->nin);
    tc_program_release(q->p);
}

/* Operators whose result jumps or whose gradient is by convention not the derivative: finite differences say nothing. */
static bool exempt(const tc_op *op) {
    /* where an index stands twice one value is overwritten; PyTorch gives it a gradient all the same */
    if (!strcmp(tc_op_schema(op)->name, "index_put") || !strcmp(tc_op_name(op), "aten.scatter.src")) return true;
    if (!strcmp(tc_op_schema(op)->name, "as_strided_scatter")) return true; /* PyTorch's gradient of self is the complement (op/slice_scatter.c) */
    if (!strncmp(tc_op_schema(op)->name, "fake_quantize", 13)) return true; /* the gradient goes straight through the rounding */
    if (!strcmp(tc_op_schema(op)->name, "embedding_renorm")) return true;   /* the table is scaled outside of autograd */
    return (op->flags & (TC_OP_RANDOM | TC_OP_NONDIFF | TC_OP_UNDERIVED | TC_OP_IMPURE)) != 0;
}

typedef struct {
    tc_buf failed, missing;
    int nfailed, nmissing, checked, second;
} tally;

static void one(const tc_op *op, const char *call, size_t len, tally *t) {
    problem q;
    double worst = 0;
    tc_status st = make(op, call, len, &q);
    if (st || !q.nwrt || q.p->noutputs > MAX - 8) {
        tc_status_free(st);
        if (q.p) finish(&q);
        return;
    }
    int nouts = q.p->noutputs;
    bool any = false;
    for (int o = 0; o < nouts; o++) any |= is_f64(q.p->outputs[o].value);
    if (any) {
        st = differentiate(&q, 0, only_first(op) ? 1 : nouts);
        if (!st) st = compare(&q, nouts, &worst);
        if (st && tc_status_code(st) == TC_UNSUPPORTED) {
            t->nmissing++;
            tc_buf_printf(&t->missing, "    %.*s: %s\n", (int)len, call, tc_status_message(st));
        } else if (st || !(worst < 1e-5)) {
            t->nfailed++;
            tc_buf_printf(&t->failed, "    %.*s: %s (error %g)\n", (int)len, call, st ? tc_status_message(st) : "", worst);
        } else {
            t->checked++;
            tc_status_free(st);
            st = differentiate(&q, nouts, q.p->noutputs); /* second order: the gradients just added are what is differentiated */
            if (!st) st = compare(&q, nouts + q.nwrt, &worst);
            if (st && (tc_status_code(st) == TC_UNSUPPORTED || strstr(tc_status_message(st), "the derivative for"))) { /* PyTorch lacks some, too */
                t->nmissing++;
                tc_buf_printf(&t->missing, "    second %.*s: %s\n", (int)len, call, tc_status_message(st));
            } else if (st || !(worst < 1e-4)) {
                t->nfailed++;
                tc_buf_printf(&t->failed, "    second %.*s: %s (error %g)\n", (int)len, call, st ? tc_status_message(st) : "", worst);
            } else {
                t->second++;
            }
        }
        tc_status_free(st);
    }
    finish(&q);
}

static void gradients_are_derivatives(void **state) {
    (void)state;
    tally t = {{0}, {0}, 0, 0, 0, 0};
    const char *only = getenv("OP");
    assert_null(tc_pool_create(1, &pool));
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        size_t len;
        if (!op->samples || exempt(op) || (only && !strstr(tc_op_name(op), only))) continue;
        for (int k = 0;; k++) {
            const char *call = tc_sample_call(op->samples, k, &len);
            if (!call) break;
            one(op, call, len, &t);
        }
    }
    tc_pool_destroy(pool);
    printf("%d samples checked, %d to second order; not differentiable yet: %d\n%s", t.checked, t.second, t.nmissing,
           getenv("VERBOSE") ? tc_buf_str(&t.missing) : "");
    if (t.nfailed) fail_msg("%d gradients are wrong:\n%s", t.nfailed, tc_buf_str(&t.failed));
    tc_buf_free(&t.failed);
    tc_buf_free(&t.missing);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
