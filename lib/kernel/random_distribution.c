/* Poisson, binomial, gamma and Dirichlet draws by rejection sampling (random_distribution.h). */
#include "kernel/random_distribution.h"

#include "base/rng.h"

#include <float.h>
#include <math.h>

typedef struct {
    tc_generator *g;
    bool by_index;
    uint64_t key, element, drawn; /* Philox: the element, and how many uniforms it has taken */
} stream;

static double uniform(stream *s) {
    if (!s->by_index) return tc_rng_uniform_f64(s->g);
    tc_philox4 p = tc_philox(s->key, s->element, 2 + s->drawn++);
    uint64_t w = (uint64_t)p.v[0] << 32 | p.v[1];
    return (double)(w & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

static double normal(stream *s) {
    if (!s->by_index) return tc_rng_normal(s->g);
    double u = uniform(s), v = uniform(s);
    return sqrt(-2 * log1p(-v)) * cos(2 * M_PI * u);
}

/* Hoermann, "The transformed rejection method for generating Poisson random variables" (PTRS, 1993), from a rate of 10 on; below it the
 * product of uniforms (Knuth). */
static double poisson(stream *s, double rate, double unused) {
    (void)unused;
    if (rate == 0) return 0;
    if (rate < 10) {
        double limit = exp(-rate), product = 1, k = 0;
        while ((product *= uniform(s)) > limit) k++;
        return k;
    }
    double root = sqrt(rate), log_rate = log(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), box = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = uniform(s) - 0.5, v = uniform(s), us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= box) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1)) return k;
    }
}

/* log k! minus Stirling's formula. */
static double stirling_tail(double k) {
    static const double small[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                                   0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return small[(int)k];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* Hoermann, "The generation of binomial random variates" (BTRS, 1993); count * p >= 10, p <= 1/2. */
static double binomial_rejection(stream *s, double count, double p) {
    double dev = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * dev, a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, box = 0.92 - 4.2 / b;
    double r = p / (1 - p), alpha = (2.83 + 5.1 / b) * dev, m = floor((count + 1) * p);
    for (;;) {
        double u = uniform(s) - 0.5, v = uniform(s), us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > count) continue;
        if (us >= 0.07 && v <= box) return k;
        double bound = (m + 0.5) * log((m + 1) / (r * (count - m + 1))) + (count + 1) * log((count - m + 1) / (count - k + 1)) +
                       (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(count - m) - stirling_tail(k) -
                       stirling_tail(count - k);
        if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
    }
}

/* Counts geometric draws until their sum exceeds the count; p <= 1/2. */
static double binomial_inversion(stream *s, double count, double p) {
    double log_p = log1p(-p), sum = 0, k = 0;
    while ((sum += ceil(log(uniform(s)) / log_p)) <= count) k++;
    return k;
}

static double binomial(stream *s, double count, double p) {
    if (count <= 0 || p <= 0) return 0;
    if (p >= 1) return count;
    if (!(p == p)) return p;
    double q = p <= 0.5 ? p : 1 - p, k = count * q >= 10 ? binomial_rejection(s, count, q) : binomial_inversion(s, count, q);
    return p <= 0.5 ? k : count - k;
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). The float constants are PyTorch's. single: alpha is a float32, and
 * what is computed from alpha alone is rounded to float32, as in PyTorch's instance for float. */
static double gamma_draw(stream *s, double alpha, double single) {
    double scale = 1;
    if (alpha == 0) return 0;
    if (!(alpha == alpha)) return alpha;
    if (alpha < 1) {
        scale *= pow(1 - uniform(s), single != 0 ? (double)(1.0f / (float)alpha) : 1.0 / alpha);
        alpha = single != 0 ? (double)((float)alpha + 1.0f) : alpha + 1;
    }
    double d = single != 0 ? (double)((float)alpha - 1.0f / 3.0f) : alpha - (double)(1.0f / 3.0f), c = 1.0 / sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = normal(s);
            y = 1 + c * x;
        } while (y <= 0);
        double v = y * y * y, u = 1 - uniform(s), xx = x * x;
        if (u < 1 - (double)0.0331f * xx * xx) return scale * d * v;
        if (log(u) < 0.5 * xx + d * (1 - v + log(v))) return scale * d * v;
    }
}

typedef double (*sampler)(stream *s, double a, double b);

static double least_positive(tc_dtype d) { return d == TC_F64 ? DBL_MIN : d == TC_F16 ? 0x1p-14 : FLT_MIN; }

static double number_at(const tc_tensor *t, int64_t i) { return tc_scalar_to_double(tc_scalar_load(t->dtype, t->storage->data, t->offset + i)); }
static void put(const tc_tensor *t, int64_t i, double v) { tc_scalar_store(t->dtype, t->storage->data, t->offset + i, tc_scalar_float(v)); }

static tc_status start(tc_kcall *c, const char *name, stream *s) {
    *s = (stream){.g = c->gen};
    if (!c->gen) return tc_error(TC_USAGE, "%s draws random numbers, but no generator was given", name);
    s->by_index = tc_generator_philox(c->gen, &s->key);
    return NULL;
}

static double next(stream *s, int64_t i, sampler f, double a, double b) {
    s->element = (uint64_t)i;
    s->drawn = 0;
    return f(s, a, b);
}

static tc_status fill(tc_kcall *c, const char *name, sampler f, double otherwise,
                      double least) { /* otherwise: the second parameter, where it is no tensor */
    const tc_tensor *a = tc_k_tensor(c, 0), *b = c->nargs > 1 ? tc_k_tensor(c, 1) : NULL;
    stream s;
    TC_TRY(start(c, name, &s));
    for (int64_t i = 0, n = tc_tensor_numel(&c->outs[0]); i < n; i++) {
        double x = next(&s, i, f, number_at(a, i), b ? number_at(b, i) : otherwise);
        put(&c->outs[0], i, x < least ? least : x);
    }
    return NULL;
}

static tc_status run_poisson(tc_kcall *c) {
    const tc_tensor *rate = tc_k_tensor(c, 0);
    for (int64_t i = 0, n = tc_tensor_numel(rate); i < n; i++)
        if (!(number_at(rate, i) >= 0)) return tc_error(TC_CONTENT, "poisson: invalid Poisson rate, expected rate to be non-negative");
    return fill(c, "poisson", poisson, 0, 0);
}
static tc_status run_binomial(tc_kcall *c) { return fill(c, "binomial", binomial, 0, 0); }
static tc_status run_standard_gamma(tc_kcall *c) {
    return fill(c, "_standard_gamma", gamma_draw, c->outs[0].dtype != TC_F64, least_positive(c->outs[0].dtype));
}

/* Gamma draws divided by the sum of their row, clamped to the open interval (0, 1). */
static tc_status run_sample_dirichlet(tc_kcall *c) {
    const tc_tensor *a = tc_k_tensor(c, 0), *t = &c->outs[0];
    int64_t n = tc_tensor_numel(t), row = t->rank ? t->size[t->rank - 1] : 1;
    stream s;
    TC_TRY(start(c, "_sample_dirichlet", &s));
    double least = least_positive(t->dtype), most = t->dtype == TC_F64 ? 1 - 0x1p-53 : t->dtype == TC_F16 ? 1 - 0x1p-11 : 1 - 0x1p-24;
    double *draws = tc_xcalloc((size_t)(row > 0 ? row : 1), sizeof *draws);
    for (int64_t r = 0; r < n; r += row) {
        double sum = 0;
        for (int64_t i = 0; i < row; i++) sum += draws[i] = next(&s, r + i, gamma_draw, number_at(a, r + i), 0);
        for (int64_t i = 0; i < row; i++) {
            double x = draws[i] / sum;
            put(t, r + i, x < least ? least : x > most ? most : x);
        }
    }
    free(draws);
    return NULL;
}

const tc_kernel tc_k_poisson = {.name = "poisson", .flags = TC_KF_CONTIGUOUS, .run = run_poisson};
const tc_kernel tc_k_binomial = {.name = "binomial", .flags = TC_KF_CONTIGUOUS, .run = run_binomial};
const tc_kernel tc_k_standard_gamma = {.name = "_standard_gamma", .flags = TC_KF_CONTIGUOUS, .run = run_standard_gamma};
const tc_kernel tc_k_sample_dirichlet = {.name = "_sample_dirichlet", .flags = TC_KF_CONTIGUOUS, .run = run_sample_dirichlet};
