/* CTC by the recursions of Graves et al. 2006, in logarithms, over the target with blanks between and around its labels, z = _ a _ b _:
 *
 *     alpha[t][s] = p[t][z[s]] (alpha[t-1][s] + alpha[t-1][s-1] + alpha[t-1][s-2]); the last term only if z[s] is no blank and differs from z[s-2]
 *     beta        the same from the end
 *     d nll / d log p[t][c] = p[t][c] - (sum of alpha beta over s with z[s] = c) / (p P)
 *
 * Arithmetic is in doubles; stored values are rounded to the tensor's type. */
#include "kernel/ctc.h"

#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/scalar_exp.h"
#include "kernel/scalar_log.h"

#include <string.h>

static double get(const tc_tensor *t, int64_t i) {
    return t->dtype == TC_F32 ? (double)((const float *)tc_tensor_data(t))[i] : ((const double *)tc_tensor_data(t))[i];
}
static void set(const tc_tensor *t, int64_t i, double v) {
    if (t->dtype == TC_F32) ((float *)tc_tensor_data(t))[i] = (float)v;
    else ((double *)tc_tensor_data(t))[i] = v;
}
static double infinity(void) { return __builtin_inf(); }
/* log(e^a + e^b); m - m is 0, or NaN */
static double log_sum(double a, double b) {
    const double m = a > b ? a : b;
    if (m == -infinity()) return m;
    return tc_x_log_f64(tc_x_exp_f64((a > b ? b : a) - m) + (m - m + 1)) + m;
}
/* out[s] = log(e^a + e^b + e^c) of terms a = t[s], b = t[n + s], c = t[2 n + s]. t has 4 n elements and is changed. */
static void log_sums(const tc_isa_ops *isa, double *t, int64_t n, double *out) {
    double *b = t + n, *c = b + n, *most = c + n;
    for (int64_t s = 0; s < n; s++) {
        double m = t[s] > b[s] ? t[s] : b[s];
        most[s] = m = c[s] > m ? c[s] : m;
        if (m == -infinity()) m = t[s] = b[s] = c[s] = 0;
        t[s] -= m, b[s] -= m, c[s] -= m;
    }
    isa->scalar[TC_F64][TC_X_EXP](t, t, NULL, NULL, 3 * n);
    for (int64_t s = 0; s < n; s++) t[s] = t[s] + b[s] + c[s];
    isa->scalar[TC_F64][TC_X_LOG](t, t, NULL, NULL, n);
    for (int64_t s = 0; s < n; s++) out[s] = t[s] + most[s];
}

typedef struct {
    const tc_tensor *p, *targets, *alpha, *nll, *grad_out;
    const tc_karg *in_len, *out_len;
    tc_tensor *out; /* nll, or the gradient */
    tc_tensor *new_alpha;
    int64_t steps, batch, classes, width; /* width: 2 S + 1 of alpha */
    int64_t blank;
    bool zero_infinity;
    const tc_isa_ops *isa;
    char *scratch;
    size_t share; /* of scratch, a worker */
} job;
/* What a worker needs: the symbols z; a row of the recursion; the terms of log_sums, or two rows of classes. */
typedef struct {
    int64_t *z;
    double *row, *terms;
} space;
static size_t space_bytes(int64_t width, int64_t classes) {
    return (size_t)(2 * width + (2 * width > classes ? 4 * width : 2 * classes)) * sizeof(double);
}
static space space_of(const job *j, int worker) {
    space w = {.z = (int64_t *)(void *)(j->scratch + (size_t)worker * j->share)};
    w.row = (double *)(void *)(w.z + j->width);
    w.terms = w.row + j->width;
    return w;
}

static int64_t length(const tc_karg *a, int64_t n) {
    if (a->kind == TC_K_INTS) return a->ints[n];
    return tc_scalar_load(a->tensor->dtype, a->tensor->storage->data, a->tensor->offset + n).i;
}
static int64_t count(const tc_karg *a) { return a->kind == TC_K_INTS ? a->n : tc_tensor_numel(a->tensor); }

/* The index of the first label of sample n. */
static int64_t labels_at(const job *j, int64_t n) {
    int64_t at = 0;
    if (j->targets->rank == 2) return n * j->targets->size[1];
    for (int64_t k = 0; k < n; k++) at += length(j->out_len, k);
    return at;
}
static int64_t symbol(const job *j, int64_t from, int64_t s) { /* z[s] */
    if (s % 2 == 0) return j->blank;
    return tc_scalar_load(j->targets->dtype, j->targets->storage->data, j->targets->offset + from + s / 2).i;
}
static int64_t prob_at(const job *j, int64_t t, int64_t n, int64_t c) { return (t * j->batch + n) * j->classes + c; }

static tc_status check(const job *j) {
    int64_t total = 0;
    if (count(j->in_len) != j->batch) return tc_error(TC_CONTENT, "ctc_loss: input_lengths must be of size batch_size");
    if (count(j->out_len) != j->batch) return tc_error(TC_CONTENT, "ctc_loss: target_lengths must be of size batch_size");
    for (int64_t n = 0; n < j->batch; n++) {
        int64_t in = length(j->in_len, n), out = length(j->out_len, n);
        if (in < 0 || in > j->steps)
            return tc_error(TC_CONTENT, "ctc_loss: Expected input_lengths to have value at most %lld, but got value %lld", (long long)j->steps,
                            (long long)in);
        if (out < 0 || (j->targets->rank == 2 && out > j->targets->size[1]) || 2 * out + 1 > j->width)
            return tc_error(TC_CONTENT, "ctc_loss: target_lengths has the value %lld, which the targets do not have", (long long)out);
        total += out;
    }
    const int64_t given = j->targets->rank == 1 ? j->targets->size[0] : total;
    if (j->grad_out ? total > given : total != given) /* the loss wants no more than it uses, as in PyTorch */
        return tc_error(TC_CONTENT, "ctc_loss: targets has %lld elements, target_lengths asks for %lld", (long long)j->targets->size[0],
                        (long long)total);
    for (int64_t n = 0; n < j->batch; n++) {
        int64_t from = labels_at(j, n);
        for (int64_t k = 0; k < length(j->out_len, n); k++) {
            int64_t c = symbol(j, from, 2 * k + 1);
            if (c < 0 || c >= j->classes)
                return tc_error(TC_CONTENT, "ctc_loss: the label %lld is not one of %lld", (long long)c, (long long)j->classes);
        }
    }
    return NULL;
}

/* z[0 .. last] of a sample */
static void read_symbols(const job *j, int64_t from, int64_t last, int64_t *z) {
    for (int64_t s = 0; s <= last; s++) z[s] = symbol(j, from, s);
}

/* ---- forward ---- */
/* The rows of alpha after the first, `row` holds that; in the end it holds the last one. */
static void recur(const job *j, int64_t n, int64_t in, int64_t last, const space *w) {
    const int64_t m = last + 1, *z = w->z;
    double *row = w->row, *t = w->terms;
    for (int64_t step = 1; step < in; step++) {
        const int64_t to = (n * j->steps + step) * j->width, p = prob_at(j, step, n, 0);
        for (int64_t s = 0; s < m; s++) {
            t[s] = row[s];
            t[m + s] = s > 0 ? row[s - 1] : -infinity();
            t[2 * m + s] = s > 1 && z[s - 2] != z[s] ? row[s - 2] : -infinity();
        }
        log_sums(j->isa, t, m, row);
        for (int64_t s = 0; s < m; s++) {
            set(j->new_alpha, to + s, row[s] + get(j->p, p + z[s]));
            row[s] = get(j->new_alpha, to + s);
        }
    }
}
static void forward(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    const space w = space_of(j, worker);
    for (int64_t n = begin; n < end; n++) {
        const int64_t in = length(j->in_len, n), last = 2 * length(j->out_len, n), base = n * j->steps * j->width;
        for (int64_t i = 0; i < j->steps * j->width; i++) set(j->new_alpha, base + i, -infinity());
        if (in == 0) {
            set(j->out, n, last == 0 ? 0 : infinity());
            continue;
        }
        read_symbols(j, labels_at(j, n), last, w.z);
        for (int64_t s = 0; s <= last; s++) {
            w.row[s] = s < 2 ? get(j->p, prob_at(j, 0, n, w.z[s])) : -infinity();
            set(j->new_alpha, base + s, w.row[s]);
        }
        recur(j, n, in, last, &w);
        set(j->out, n, -(last > 0 ? log_sum(w.row[last], w.row[last - 1]) : w.row[last]));
    }
}
static size_t forward_share(const tc_kcall *c) { return tc_pad64(space_bytes(c->outs[1].size[2], 0)); }
static tc_status run_ctc(tc_kcall *c) {
    const tc_tensor *p = tc_k_tensor(c, 0);
    job j = {.p = p,
             .targets = tc_k_tensor(c, 1),
             .in_len = &c->args[2],
             .out_len = &c->args[3],
             .out = &c->outs[0],
             .new_alpha = &c->outs[1],
             .steps = p->size[0],
             .batch = p->size[1],
             .classes = p->size[2],
             .width = c->outs[1].size[2],
             .blank = tc_k_int(c, 4),
             .isa = c->isa,
             .scratch = c->scratch,
             .share = forward_share(c)};
    TC_TRY(check(&j));
    tc_parallel_for(c->pool, j.batch, 1, forward, &j);
    return NULL;
}
static size_t scratch_ctc(const tc_kcall *c, int threads) { return (size_t)threads * forward_share(c); }
const tc_kernel tc_k_ctc = {.name = "ctc", .flags = TC_KF_CONTIGUOUS, .run = run_ctc, .scratch = scratch_ctc};

/* ---- backward ---- */
/* row: beta of a step, from that of the step after it (first: there is none) */
static void recur_back(const job *j, int64_t p, int64_t last, bool first, const space *w, double *row) {
    const int64_t m = last + 1, *z = w->z;
    double *t = w->terms;
    for (int64_t s = 0; s < m && !first; s++) {
        t[s] = row[s];
        t[m + s] = s < last ? row[s + 1] : -infinity();
        t[2 * m + s] = s < last - 1 && z[s + 2] != z[s] ? row[s + 2] : -infinity();
    }
    if (!first) log_sums(j->isa, t, m, row);
    for (int64_t s = 0; s < m; s++) row[s] = (!first ? row[s] : s >= last - 1 ? 0 : -infinity()) + get(j->p, p + z[s]);
}
/* The gradient of one sample with respect to log_probs: first the log of the sum of alpha beta for each class, then the derivative. */
static void differentiate(const job *j, int64_t n, const space *w) {
    const int64_t in = length(j->in_len, n), last = 2 * length(j->out_len, n), classes = j->classes;
    const double nll = get(j->nll, n), g = get(j->grad_out, n);
    double *x = w->terms, *y = x + classes;
    read_symbols(j, labels_at(j, n), last, w->z);
    for (int64_t t = in - 1; t >= 0; t--) {
        const int64_t alpha = (n * j->steps + t) * j->width, p = prob_at(j, t, n, 0);
        recur_back(j, p, last, t == in - 1, w, w->row);
        for (int64_t c = 0; c < classes; c++) set(j->out, p + c, -infinity());
        for (int64_t s = last; s >= 0; s--) set(j->out, p + w->z[s], log_sum(get(j->out, p + w->z[s]), get(j->alpha, alpha + s) + w->row[s]));
        for (int64_t c = 0; c < classes; c++) x[c] = get(j->p, p + c), y[c] = get(j->out, p + c) + nll - x[c];
        j->isa->scalar[TC_F64][TC_X_EXP](x, x, NULL, NULL, 2 * classes);
        for (int64_t c = 0; c < classes; c++) set(j->out, p + c, (x[c] - y[c]) * g);
    }
}
static void backward(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    const space w = space_of(j, worker);
    for (int64_t n = begin; n < end; n++) {
        bool none = j->zero_infinity && get(j->nll, n) == infinity();
        for (int64_t t = none ? 0 : length(j->in_len, n); t < j->steps; t++)
            for (int64_t c = 0; c < j->classes; c++) set(j->out, prob_at(j, t, n, c), 0);
        if (!none) differentiate(j, n, &w);
    }
}
static size_t backward_share(const tc_kcall *c) { return tc_pad64(space_bytes(tc_k_tensor(c, 6)->size[2], tc_k_tensor(c, 1)->size[2])); }
static tc_status run_backward(tc_kcall *c) {
    const tc_tensor *p = tc_k_tensor(c, 1);
    job j = {.p = p,
             .targets = tc_k_tensor(c, 2),
             .in_len = &c->args[3],
             .out_len = &c->args[4],
             .nll = tc_k_tensor(c, 5),
             .alpha = tc_k_tensor(c, 6),
             .grad_out = tc_k_tensor(c, 0),
             .out = &c->outs[0],
             .steps = p->size[0],
             .batch = p->size[1],
             .classes = p->size[2],
             .width = tc_k_tensor(c, 6)->size[2],
             .blank = tc_k_int(c, 7),
             .zero_infinity = tc_k_bool(c, 8),
             .isa = c->isa,
             .scratch = c->scratch,
             .share = backward_share(c)};
    TC_TRY(check(&j));
    tc_parallel_for(c->pool, j.batch, 1, backward, &j);
    return NULL;
}
static size_t scratch_backward(const tc_kcall *c, int threads) { return (size_t)threads * backward_share(c); }
const tc_kernel tc_k_ctc_backward = {.name = "ctc_backward", .flags = TC_KF_CONTIGUOUS, .run = run_backward, .scratch = scratch_backward};
