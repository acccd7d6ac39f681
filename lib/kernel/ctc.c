/* CTC by the recursions of Graves et al. 2006, in logarithms, over the target with blanks between and around its labels, z = _ a _ b _:
 *
 *     alpha[t][s] = p[t][z[s]] (alpha[t-1][s] + alpha[t-1][s-1] + alpha[t-1][s-2]); the last term only if z[s] is no blank and differs from z[s-2]
 *     beta        the same from the end
 *     d nll / d log p[t][c] = p[t][c] - (sum of alpha beta over s with z[s] = c) / (p P)
 *
 * Arithmetic is in doubles; stored values are rounded to the tensor's type. */
#include "kernel/ctc.h"

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
/* log(e^a + e^b + e^c) */
static double log_sum(double a, double b, double c) {
    double m = a > b ? a : b;
    m = c > m ? c : m;
    if (m == -infinity()) return m;
    return tc_x_log_f64(tc_x_exp_f64(a - m) + tc_x_exp_f64(b - m) + tc_x_exp_f64(c - m)) + m;
}

typedef struct {
    const tc_tensor *p, *targets, *alpha, *nll, *grad_out;
    const tc_karg *in_len, *out_len;
    tc_tensor *out; /* nll, or the gradient */
    tc_tensor *new_alpha;
    int64_t steps, batch, classes, width; /* width: 2 S + 1 of alpha */
    int64_t blank;
    bool zero_infinity;
    double *scratch; /* 2 width doubles for each worker */
} job;

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

/* ---- forward ---- */
static void forward(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        int64_t in = length(j->in_len, n), last = 2 * length(j->out_len, n), from = labels_at(j, n), base = n * j->steps * j->width;
        for (int64_t i = 0; i < j->steps * j->width; i++) set(j->new_alpha, base + i, -infinity());
        if (in == 0) {
            set(j->out, n, last == 0 ? 0 : infinity());
            continue;
        }
        for (int64_t s = 0; s <= last && s < 2; s++) set(j->new_alpha, base + s, get(j->p, prob_at(j, 0, n, symbol(j, from, s))));
        for (int64_t t = 1; t < in; t++) {
            int64_t row = base + t * j->width, before = row - j->width;
            for (int64_t s = 0; s <= last; s++) {
                int64_t c = symbol(j, from, s);
                double a = get(j->new_alpha, before + s), b = s > 0 ? get(j->new_alpha, before + s - 1) : -infinity();
                double d = s > 1 && symbol(j, from, s - 2) != c ? get(j->new_alpha, before + s - 2) : -infinity();
                set(j->new_alpha, row + s, log_sum(a, b, d) + get(j->p, prob_at(j, t, n, c)));
            }
        }
        int64_t row = base + (in - 1) * j->width;
        double a = get(j->new_alpha, row + last), b = last > 0 ? get(j->new_alpha, row + last - 1) : -infinity();
        set(j->out, n, -(last > 0 ? log_sum(a, b, -infinity()) : a));
    }
}
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
             .blank = tc_k_int(c, 4)};
    TC_TRY(check(&j));
    tc_parallel_for(c->pool, j.batch, 1, forward, &j);
    return NULL;
}
const tc_kernel tc_k_ctc = {.name = "ctc", .flags = TC_KF_CONTIGUOUS, .run = run_ctc};

/* ---- backward ---- */
/* The gradient of one sample with respect to log_probs: first the log of the sum of alpha beta for each class, then the derivative. now, next: rows
 * of beta. */
static void differentiate(const job *j, int64_t n, double *now, double *next) {
    int64_t in = length(j->in_len, n), last = 2 * length(j->out_len, n), from = labels_at(j, n);
    for (int64_t t = in - 1; t >= 0; t--) {
        int64_t alpha = (n * j->steps + t) * j->width;
        for (int64_t c = 0; c < j->classes; c++) set(j->out, prob_at(j, t, n, c), -infinity());
        for (int64_t s = last; s >= 0; s--) {
            int64_t c = symbol(j, from, s), at = prob_at(j, t, n, c);
            double v;
            if (t == in - 1) {
                v = s >= last - 1 ? 0 : -infinity();
            } else {
                double b = s < last ? next[s + 1] : -infinity(), d = s < last - 1 && symbol(j, from, s + 2) != c ? next[s + 2] : -infinity();
                v = log_sum(next[s], b, d);
            }
            now[s] = v + get(j->p, at);
            set(j->out, at, log_sum(get(j->out, at), get(j->alpha, alpha + s) + now[s], -infinity()));
        }
        double *swap = now;
        now = next, next = swap;
        for (int64_t c = 0; c < j->classes; c++) {
            int64_t at = prob_at(j, t, n, c);
            double lp = get(j->p, at);
            set(j->out, at, (tc_x_exp_f64(lp) - tc_x_exp_f64(get(j->out, at) + get(j->nll, n) - lp)) * get(j->grad_out, n));
        }
    }
}
static void backward(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    double *scratch = j->scratch + (int64_t)worker * 2 * j->width;
    for (int64_t n = begin; n < end; n++) {
        bool none = j->zero_infinity && get(j->nll, n) == infinity();
        for (int64_t t = none ? 0 : length(j->in_len, n); t < j->steps; t++)
            for (int64_t c = 0; c < j->classes; c++) set(j->out, prob_at(j, t, n, c), 0);
        if (!none) differentiate(j, n, scratch, scratch + j->width);
    }
}
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
             .scratch = c->scratch};
    TC_TRY(check(&j));
    tc_parallel_for(c->pool, j.batch, 1, backward, &j);
    return NULL;
}
static size_t scratch_backward(const tc_kcall *c, int threads) { return (size_t)threads * 2 * (size_t)tc_k_tensor(c, 6)->size[2] * sizeof(double); }
const tc_kernel tc_k_ctc_backward = {.name = "ctc_backward", .flags = TC_KF_CONTIGUOUS, .run = run_backward, .scratch = scratch_backward};
