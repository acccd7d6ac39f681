/* Random fills (random.h). float64 uniforms are transformed with the C library's log, log1p, sin, cos, tan and exp, because PyTorch uses them too:
 * its bits could not be matched otherwise. In Philox mode our own functions serve. */
#include "kernel/random.h"

#include "base/rng.h"
#include "kernel/isa.h"
#include "kernel/scalar.h"

#include <math.h>

static tc_status no_generator(const char *name) { return tc_error(TC_USAGE, "%s draws random numbers, but no generator was given", name); }

/* One element from a double of the sequential stream. */
typedef double (*draw_fn)(tc_generator *g, double a, double b);

static void store(const tc_tensor *t, int64_t i, double v) { tc_scalar_store(t->dtype, t->storage->data, t->offset + i, tc_scalar_float(v)); }

/* ---- Philox: uniforms by element index ---- */
typedef struct {
    tc_tensor *out;
    uint64_t key;
    double a, b;
    double (*from_uniforms)(double u1, double u2, double a, double b);
} philox_fill;

static double word_pair(const tc_philox4 *p, int i) { /* 53 bits of two words */
    uint64_t w = (uint64_t)p->v[2 * i] << 32 | p->v[2 * i + 1];
    return (double)(w & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

static void philox_range(void *ctx, int64_t begin, int64_t end, int worker) {
    philox_fill *f = ctx;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        tc_philox4 p = tc_philox(f->key, (uint64_t)i, 1);
        store(f->out, i, f->from_uniforms(word_pair(&p, 0), word_pair(&p, 1), f->a, f->b));
    }
}

static bool philox(tc_kcall *c, double a, double b, double (*from_uniforms)(double, double, double, double)) {
    philox_fill f = {.out = &c->outs[0], .a = a, .b = b, .from_uniforms = from_uniforms};
    if (!tc_generator_philox(c->gen, &f.key)) return false;
    tc_parallel_for(c->pool, tc_tensor_numel(f.out), 4096, philox_range, &f);
    return true;
}

/* ---- Philox: 32 bits for each element, in blocks ---- */
typedef struct {
    tc_tensor *out;
    uint64_t key;
    const tc_isa_ops *isa;
    void (*put)(tc_tensor *out, int64_t at, const uint32_t *w, int64_t n, double a, double b);
    double a, b;
} word_fill;

static void word_range(void *ctx, int64_t begin, int64_t end, int worker) { /* blocks of 256 elements */
    const word_fill *f = ctx;
    int64_t n = tc_tensor_numel(f->out);
    uint32_t w[256];
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t at = b * 256, count = n - at < 256 ? n - at : 256;
        f->isa->philox(w, f->key, (uint64_t)at / 4, 0, (count + 3) / 4);
        f->put(f->out, at, w, count, f->a, f->b);
    }
}

static bool philox_words(tc_kcall *c, double a, double b, void (*put)(tc_tensor *, int64_t, const uint32_t *, int64_t, double, double)) {
    word_fill f = {.out = &c->outs[0], .isa = c->isa, .put = put, .a = a, .b = b};
    if (!tc_generator_philox(c->gen, &f.key)) return false;
    tc_parallel_for(c->pool, (tc_tensor_numel(f.out) + 255) / 256, 64, word_range, &f);
    return true;
}

static void put_bernoulli(tc_tensor *t, int64_t at, const uint32_t *w, int64_t n, double p, double unused) {
    uint64_t below = (uint64_t)ceil(p * 0x1p32);
    (void)unused;
    if (t->dtype == TC_F32) {
        float *x = (float *)tc_tensor_data(t) + at;
        for (int64_t i = 0; i < n; i++) x[i] = w[i] < below ? 1.0f : 0.0f;
    } else if (t->dtype == TC_BOOL) {
        uint8_t *x = (uint8_t *)tc_tensor_data(t) + at;
        for (int64_t i = 0; i < n; i++) x[i] = w[i] < below;
    } else {
        for (int64_t i = 0; i < n; i++) store(t, at + i, w[i] < below);
    }
}

static void put_uniform(tc_tensor *t, int64_t at, const uint32_t *w, int64_t n, double from, double to) {
    float lo = (float)from, width = (float)to - (float)from;
    for (int64_t i = 0; i < n; i++) {
        float v = tc_x_fma_f32((float)(w[i] >> 8) * 0x1p-24f, width, lo);
        if (t->dtype == TC_F32) ((float *)tc_tensor_data(t))[at + i] = v;
        else store(t, at + i, v);
    }
}

/* ---- uniform ---- */
static double p_uniform(double u, double v, double from, double to) {
    (void)v;
    double x = u * (to - from) + from;
    return x < to ? x : from;
}

/* A complex tensor seen as twice as many real elements. */
static tc_tensor parts_of(const tc_tensor *t) {
    tc_tensor r = *t;
    int64_t n = tc_tensor_numel(t) * 2;
    r.dtype = tc_dtype_real(t->dtype);
    r.offset = t->offset * 2;
    r.rank = 1, r.size[0] = n, r.stride[0] = 1;
    return r;
}

enum { DRAWN = 512 }; /* numbers drawn at once, whole blocks of 16, so that they are transformed while they are in the cache */

/* n numbers of the generator in [lo, lo + width). */
static void draw_f32(const tc_kcall *c, float *x, int64_t n, float lo, float width) {
    uint32_t w[DRAWN];
    for (int64_t at = 0; at < n; at += DRAWN) {
        const int64_t count = n - at < DRAWN ? n - at : DRAWN;
        tc_rng_fill_u32(c->gen, w, count);
        c->isa->uniform_f32(x + at, w, count, lo, width);
    }
}

static tc_status run_uniform(tc_kcall *c) {
    if (tc_is_complex(c->outs[0].dtype)) {
        tc_kcall parts = *c;
        tc_tensor t = parts_of(&c->outs[0]);
        parts.outs = &t;
        return run_uniform(&parts);
    }
    tc_tensor *t = &c->outs[0];
    double from = tc_k_float(c, 1), to = tc_k_float(c, 2);
    int64_t n = tc_tensor_numel(t);
    if (!c->gen) return no_generator("uniform");
    if (!(from <= to)) return tc_error(TC_CONTENT, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from, to);
    if (t->dtype == TC_F64 ? philox(c, from, to, p_uniform) : philox_words(c, from, to, put_uniform)) return NULL;
    if (t->dtype == TC_F64) {
        double *x = tc_tensor_data(t);
        for (int64_t i = 0; i < n; i++) { x[i] = tc_x_fma_f64(tc_rng_uniform_f64(c->gen), to - from, from); }
        return NULL;
    }
    float lo = (float)from, width = (float)to - lo;
    if (t->dtype == TC_F32) {
        draw_f32(c, tc_tensor_data(t), n, lo, width);
        return NULL;
    }
    uint64_t cell[2];
    tc_scalar_store(t->dtype, cell, 0, tc_scalar_float(to));
    const double end = tc_scalar_to_double(tc_scalar_load(t->dtype, cell, 0));
    for (int64_t i = 0; i < n; i++) {
        store(t, i, tc_x_fma_f32(tc_rng_uniform_f32(c->gen), width, lo));
        /* rounding to a narrow type may give `to`, which is excluded */
        if (tc_scalar_to_double(tc_scalar_load(t->dtype, t->storage->data, t->offset + i)) >= end) store(t, i, from);
    }
    return NULL;
}
const tc_kernel tc_k_uniform = {.name = "uniform", .run = run_uniform};

/* ---- normal ---- */
static double box_muller(double u1, double u2) { return sqrt(-2 * tc_x_log1p_f64(-u2)) * tc_x_cos_f64(2 * M_PI * u1); }
static double p_normal(double u1, double u2, double mean, double std) { return box_muller(u1, u2) * std + mean; }

static void normal_block_f64(double *x, double mean, double std) {
    for (int j = 0; j < 8; j++) {
        double radius = sqrt(-2 * log(1 - x[j])), theta = 2 * M_PI * x[j + 8];
        x[j] = fma(radius * cos(theta), std, mean);
        x[j + 8] = fma(radius * sin(theta), std, mean);
    }
}

/* As PyTorch fills 16 elements or more: uniforms in place, transformed in blocks of 16; where n is no multiple of 16 the last 16 are drawn again. */
static void fill_f32(const tc_kcall *c, float *x, int64_t n, float mean, float std) {
    for (int64_t at = 0; at < n; at += DRAWN) {
        const int64_t count = n - at < DRAWN ? n - at : DRAWN;
        draw_f32(c, x + at, count, 0, 1);
        c->isa->normal_f32(x + at, count / 16, mean, std);
    }
    if (n % 16 == 0) return;
    x += n - 16;
    draw_f32(c, x, 16, 0, 1);
    c->isa->normal_f32(x, 1, mean, std);
}

static void fill_f64(const tc_kcall *c, double *x, int64_t n, double mean, double std) {
    for (int64_t i = 0; i < n; i++) x[i] = tc_rng_uniform_f64(c->gen);
    for (int64_t i = 0; i + 16 <= n; i += 16) normal_block_f64(x + i, mean, std);
    if (n % 16 == 0) return;
    x += n - 16;
    for (int i = 0; i < 16; i++) x[i] = tc_rng_uniform_f64(c->gen);
    normal_block_f64(x, mean, std);
}

/* serial: one element after another, whatever the size. */
static tc_status normal(tc_kcall *c, bool serial) {
    if (tc_is_complex(c->outs[0].dtype)) { /* the variance is shared by the parts */
        tc_kcall parts = *c;
        tc_tensor t = parts_of(&c->outs[0]);
        tc_karg args[3] = {c->args[0], c->args[1], {.kind = TC_K_NUMBER, .num = tc_scalar_float(tc_k_float(c, 2) / sqrt(2.0))}};
        parts.outs = &t, parts.args = args;
        return normal(&parts, serial);
    }
    tc_tensor *t = &c->outs[0];
    double mean = tc_k_float(c, 1), std = tc_k_float(c, 2);
    int64_t n = tc_tensor_numel(t);
    if (!c->gen) return no_generator("normal");
    if (!(std >= 0)) return tc_error(TC_CONTENT, "normal expects std >= 0.0, but found std %g", std);
    if (philox(c, mean, std, p_normal)) return NULL;
    if (n < 16 || serial) {
        for (int64_t i = 0; i < n; i++) store(t, i, fma(tc_rng_normal(c->gen), std, mean)); /* one rounding, as PyTorch */
        return NULL;
    }
    if (t->dtype == TC_F32) {
        fill_f32(c, tc_tensor_data(t), n, (float)mean, (float)std);
    } else if (t->dtype == TC_F64) {
        fill_f64(c, tc_tensor_data(t), n, mean, std);
    } else { /* narrow types: the float32 stream, rounded */
        float *x = c->scratch;
        int64_t whole = n / 16 * 16; /* here PyTorch draws nothing for the remainder before the last 16 are drawn again */
        fill_f32(c, x, whole, (float)mean, (float)std);
        if (n > whole) fill_f32(c, x + n - 16, 16, (float)mean, (float)std);
        for (int64_t i = 0; i < n; i++) store(t, i, x[i]);
    }
    return NULL;
}
int64_t tc_k_words_drawn(const tc_kernel *k, tc_dtype d, int64_t n) {
    const int64_t words = d == TC_F64 ? 2 : 1, rest = n % 16;
    if (!tc_is_float(d) || n > INT64_MAX / 4) return -1;
    if (k == &tc_k_uniform) return words * n;
    if (k != &tc_k_normal || n < 16) return -1; /* a few normals are drawn in pairs, of which one may be left over */
    return words * (n + (rest ? tc_dtype_size(d) < 4 ? 16 - rest : 16 : 0));
}
static tc_status run_normal(tc_kcall *c) { return normal(c, false); }
static tc_status run_normal_serial(tc_kcall *c) { return normal(c, true); }
static size_t scratch_normal(const tc_kcall *c, int threads) {
    (void)threads;
    const tc_tensor *t = &c->outs[0];
    tc_dtype d = tc_is_complex(t->dtype) ? tc_dtype_real(t->dtype) : t->dtype;
    return d == TC_F32 || d == TC_F64 ? 0 : (size_t)tc_tensor_numel(t) * (d == t->dtype ? 1 : 2) * sizeof(float);
}
const tc_kernel tc_k_normal = {.name = "normal", .run = run_normal, .scratch = scratch_normal};
const tc_kernel tc_k_normal_serial = {.name = "normal", .run = run_normal_serial};

/* ---- bernoulli ---- */
static tc_status check_p(double p) { return p >= 0 && p <= 1 ? NULL : tc_error(TC_CONTENT, "bernoulli_ expects p to be in [0, 1], but got p=%g", p); }

static tc_status run_bernoulli_p(tc_kcall *c) {
    tc_tensor *t = &c->outs[0];
    double p = tc_k_float(c, 1);
    if (!c->gen) return no_generator("bernoulli");
    TC_TRY(check_p(p));
    if (philox_words(c, p, 0, put_bernoulli)) return NULL;
    const uint64_t below = (uint64_t)ceil(p * 0x1p53); /* a uniform of float64 is a number of 53 bits times 2^-53 */
    uint32_t w[512];
    uint8_t one[256];
    for (int64_t at = 0, n = tc_tensor_numel(t), count; at < n; at += count) {
        count = n - at < 256 ? n - at : 256;
        tc_rng_fill_u32(c->gen, w, 2 * count);
        for (int64_t i = 0; i < count; i++) one[i] = (((uint64_t)w[2 * i] << 32 | w[2 * i + 1]) & ((UINT64_C(1) << 53) - 1)) < below;
        c->isa->cast[TC_BOOL][t->dtype]((char *)tc_tensor_data(t) + (size_t)at * tc_dtype_size(t->dtype), one, count);
    }
    return NULL;
}
const tc_kernel tc_k_bernoulli_p = {.name = "bernoulli", .run = run_bernoulli_p};

static tc_status run_bernoulli_t(tc_kcall *c) {
    tc_tensor *t = &c->outs[0];
    const tc_tensor *p = tc_k_tensor(c, 1) ? tc_k_tensor(c, 1) : tc_k_tensor(c, 0);
    uint64_t key = 0;
    if (!c->gen) return no_generator("bernoulli");
    bool by_index = tc_generator_philox(c->gen, &key);
    for (int64_t i = 0, n = tc_tensor_numel(t); i < n; i++) {
        double q = tc_scalar_to_double(tc_scalar_load(p->dtype, p->storage->data, p->offset + i));
        TC_TRY(check_p(q));
        tc_philox4 w = by_index ? tc_philox(key, (uint64_t)i, 1) : (tc_philox4){{0}};
        double u = by_index ? word_pair(&w, 0) : p->dtype == TC_F64 ? tc_rng_uniform_f64(c->gen) : tc_rng_uniform_f32(c->gen);
        store(t, i, u < q);
    }
    return NULL;
}
const tc_kernel tc_k_bernoulli_t = {.name = "bernoulli", .flags = TC_KF_CONTIGUOUS, .run = run_bernoulli_t};

/* ---- other distributions, from one float64 uniform or normal each ---- */
static double d_exponential(tc_generator *g, double lambd, double b) {
    (void)b;
    return -1 / lambd * log1p(-tc_rng_uniform_f64(g));
}
static double d_cauchy(tc_generator *g, double median, double sigma) { return fma(sigma, tan(M_PI * (tc_rng_uniform_f64(g) - 0.5)), median); }
static double d_log_normal(tc_generator *g, double mean, double std) { return exp(fma(tc_rng_normal(g), std, mean)); }
static double d_geometric(tc_generator *g, double p, double b) {
    (void)b;
    return ceil(log(tc_rng_uniform_f64(g)) / log1p(-p));
}
static double p_exponential(double u, double v, double lambd, double b) {
    (void)v, (void)b;
    return -tc_x_log1p_f64(-u) / lambd;
}
static double p_cauchy(double u, double v, double median, double sigma) {
    (void)v;
    return median + sigma * tc_x_tan_f64(M_PI * (u - 0.5));
}
static double p_log_normal(double u, double v, double mean, double std) { return tc_x_exp_f64(box_muller(u, v) * std + mean); }
static double p_geometric(double u, double v, double p, double b) {
    (void)v, (void)b;
    return ceil(tc_x_log_f64(u) / tc_x_log1p_f64(-p));
}

static tc_status law(tc_kcall *c, const char *name, draw_fn draw, double (*by_index)(double, double, double, double)) {
    tc_tensor *t = &c->outs[0];
    double a = tc_k_float(c, 1), b = c->nargs > 2 && c->args[2].kind == TC_K_NUMBER ? tc_k_float(c, 2) : 0;
    if (!c->gen) return no_generator(name);
    if (philox(c, a, b, by_index)) return NULL;
    const int64_t n = tc_tensor_numel(t);
    float *x = t->dtype == TC_F32 ? tc_tensor_data(t) : NULL;
    for (int64_t i = 0; i < n; i++) {
        const double v = draw(c->gen, a, b);
        if (x) x[i] = (float)v;
        else store(t, i, v);
    }
    return NULL;
}
static tc_status run_exponential(tc_kcall *c) {
    if (!(tc_k_float(c, 1) > 0)) return tc_error(TC_CONTENT, "exponential_ expects lambda > 0.0, but found lambda=%g", tc_k_float(c, 1));
    return law(c, "exponential", d_exponential, p_exponential);
}
static tc_status run_cauchy(tc_kcall *c) {
    if (!(tc_k_float(c, 2) > 0)) return tc_error(TC_CONTENT, "cauchy_ expects sigma > 0.0, but found sigma=%g", tc_k_float(c, 2));
    return law(c, "cauchy", d_cauchy, p_cauchy);
}
static tc_status run_log_normal(tc_kcall *c) {
    if (!(tc_k_float(c, 2) > 0)) return tc_error(TC_CONTENT, "log_normal_ expects std > 0.0, but found std=%g", tc_k_float(c, 2));
    return law(c, "log_normal", d_log_normal, p_log_normal);
}
static tc_status run_geometric(tc_kcall *c) {
    double p = tc_k_float(c, 1);
    if (!(p > 0 && p < 1)) return tc_error(TC_CONTENT, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    return law(c, "geometric", d_geometric, p_geometric);
}
const tc_kernel tc_k_exponential = {.name = "exponential", .run = run_exponential};
const tc_kernel tc_k_cauchy = {.name = "cauchy", .run = run_cauchy};
const tc_kernel tc_k_log_normal = {.name = "log_normal", .run = run_log_normal};
const tc_kernel tc_k_geometric = {.name = "geometric", .run = run_geometric};

/* ---- integers ---- */
/* The numbers that random() spans: [0, 2^digits] for floating types, [0, max] for integers. */
static uint64_t full_range(tc_dtype d) {
    switch (d) {
    case TC_F64: return (UINT64_C(1) << 53) + 1;
    case TC_F32: return (UINT64_C(1) << 24) + 1;
    case TC_F16: return (UINT64_C(1) << 11) + 1;
    case TC_BF16: return (UINT64_C(1) << 8) + 1;
    case TC_BOOL: return 2;
    default: return UINT64_C(1) << (8 * tc_dtypes[d].size - (tc_dtypes[d].is_signed ? 1 : 0)) % 64;
    }
}

/* The bounds of a range of numbers of type d as PyTorch draws them: where rounding to d takes from + 1 below from, or to - 1 up to `to`, the bound moves
 * inwards by the distance of its neighbours. */
static int64_t rounded(tc_dtype d, int64_t v) {
    double held;
    tc_scalar_store(d, &held, 0, tc_scalar_int(v));
    return tc_scalar_to_int(tc_scalar_load(d, &held, 0));
}
static int64_t spacing(tc_dtype d, int64_t v) {
    const int digits = d == TC_F64 ? 53 : d == TC_F32 ? 24 : d == TC_F16 ? 11 : 8, above = 63 - __builtin_clzll((uint64_t)llabs(v) | 1) - digits + 1;
    return above > 0 ? INT64_C(1) << above : 1;
}
static void narrow_range(tc_dtype d, int64_t *from, int64_t *to) {
    if (!tc_is_float(d) || *from == INT64_MAX || *to == INT64_MIN) return;
    const int64_t low = rounded(d, *from + 1), high = rounded(d, *to - 1);
    if (low < *from) *from = low + spacing(d, *from + 1);
    if (high >= *to) *to = high - spacing(d, *to - 1);
}
/* Numbers of from on, below from + range, each from one word of the stream. */
static void draw_below(const tc_kcall *c, uint32_t range, int64_t from) {
    const tc_tensor *t = &c->outs[0];
    uint32_t w[256];
    for (int64_t at = 0, n = tc_tensor_numel(t), count; at < n; at += count) {
        count = n - at < 256 ? n - at : 256;
        tc_rng_fill_u32(c->gen, w, count);
        if (t->dtype == TC_I64)
            for (int64_t i = 0; i < count; i++) ((int64_t *)tc_tensor_data(t))[at + i] = from + (int64_t)(w[i] % range);
        else
            for (int64_t i = 0; i < count; i++)
                tc_scalar_store(t->dtype, t->storage->data, t->offset + at + i, tc_scalar_int(from + (int64_t)(w[i] % range)));
    }
}
static tc_status run_random(tc_kcall *c) {
    tc_tensor *t = &c->outs[0];
    int64_t n = tc_tensor_numel(t), from = 0;
    uint64_t range, key = 0;
    bool wide = t->dtype == TC_F64 || t->dtype == TC_I64, spanned = false;
    if (!c->gen) return no_generator("random");
    bool by_index = tc_generator_philox(c->gen, &key);
    if (c->nargs >= 4) { /* from, to */
        from = tc_k_int(c, 1);
        if (tc_k_given(c, 2)) {
            int64_t to = tc_k_int(c, 2);
            if (from >= to)
                return tc_error(TC_CONTENT, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", (long long)from,
                                (long long)to);
            narrow_range(t->dtype, &from, &to);
            if (from >= to) return tc_error(TC_CONTENT, "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype");
            range = (uint64_t)to - (uint64_t)from;
        } else {
            range = full_range(t->dtype) - (uint64_t)from; /* 0: all 64 bits */
        }
    } else if (c->nargs >= 3) {
        int64_t to = tc_k_int(c, 1);
        if (to <= 0) return tc_error(TC_CONTENT, "random_ expects 'from' to be less than 'to', but got from=0 >= to=%lld", (long long)to);
        narrow_range(t->dtype, &from, &to);
        range = (uint64_t)to - (uint64_t)from;
    } else {
        range = full_range(t->dtype);
        spanned = true;
    }
    if (!by_index && !spanned && range < (UINT64_C(1) << 28)) {
        draw_below(c, (uint32_t)range, from);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t v;
        if (by_index) {
            tc_philox4 w = tc_philox(key, (uint64_t)i, 1);
            v = (uint64_t)w.v[0] << 32 | w.v[1];
            if (range) v %= range;
        } else if (spanned) {
            v = wide ? tc_rng_u64(c->gen) : tc_rng_u32(c->gen);
            if (range) v %= range;
        } else {
            v = tc_rng_below(c->gen, range);
        }
        tc_scalar_store(t->dtype, t->storage->data, t->offset + i, tc_scalar_int((int64_t)(v + (uint64_t)from)));
    }
    return NULL;
}
const tc_kernel tc_k_random = {.name = "random", .run = run_random};

static tc_status run_randperm(tc_kcall *c) {
    tc_tensor *t = &c->outs[0];
    int64_t n = tc_tensor_numel(t), *x = t->dtype == TC_I64 ? tc_tensor_data(t) : c->scratch;
    if (!c->gen) return no_generator("randperm");
    tc_rng_permutation(c->gen, n, x);
    if (t->dtype != TC_I64)
        for (int64_t i = 0; i < n; i++) tc_scalar_store(t->dtype, t->storage->data, t->offset + i, tc_scalar_int(x[i]));
    return NULL;
}
static size_t scratch_randperm(const tc_kcall *c, int threads) {
    (void)threads;
    return c->outs[0].dtype == TC_I64 ? 0 : (size_t)tc_tensor_numel(&c->outs[0]) * sizeof(int64_t);
}
const tc_kernel tc_k_randperm = {.name = "randperm", .run = run_randperm, .scratch = scratch_randperm};

/* The slopes of rrelu: a float64 uniform from [lower, upper) for each element that is not positive, in order; 1 for the others, without a draw. */
static tc_status run_rrelu_noise(tc_kcall *c) {
    const tc_tensor *x = tc_k_tensor(c, 0);
    tc_tensor *t = &c->outs[0];
    double lower = tc_k_float(c, 1), upper = tc_k_float(c, 2);
    if (t->dtype == TC_F32) lower = (float)lower, upper = (float)upper; /* PyTorch holds the bounds in the type that it computes with */
    uint64_t key = 0;
    if (!c->gen) return no_generator("rrelu");
    bool by_index = tc_generator_philox(c->gen, &key);
    for (int64_t i = 0, n = tc_tensor_numel(t); i < n; i++) {
        bool drawn = tc_scalar_to_double(tc_scalar_load(x->dtype, x->storage->data, x->offset + i)) <= 0;
        tc_philox4 w = by_index ? tc_philox(key, (uint64_t)i, 1) : (tc_philox4){{0}};
        double u = !drawn ? 0 : by_index ? word_pair(&w, 0) : tc_rng_uniform_f64(c->gen);
        store(t, i, drawn ? u * (upper - lower) + lower : 1);
    }
    return NULL;
}
const tc_kernel tc_k_rrelu_noise = {.name = "rrelu_noise", .flags = TC_KF_CONTIGUOUS, .run = run_rrelu_noise};

/* With replacement: for each sample the first element whose normalised cumulative probability is not below a uniform. */
static tc_status run_multinomial(tc_kcall *c) {
    const tc_tensor *p = tc_k_tensor(c, 0);
    tc_tensor *t = &c->outs[0];
    int64_t k = p->size[p->rank - 1], samples = t->size[t->rank - 1], rows = p->rank == 2 ? p->size[0] : 1;
    double *cum = c->scratch;
    uint64_t key = 0;
    if (!c->gen) return no_generator("multinomial");
    bool by_index = tc_generator_philox(c->gen, &key);
    const bool single = p->dtype == TC_F32; /* PyTorch sums and divides in the type of the probabilities, 16-bit ones in float64 */
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        c->isa->cast[p->dtype][TC_F64](cum, (const char *)tc_tensor_data(p) + (size_t)(r * k) * tc_dtype_size(p->dtype), k);
        for (int64_t i = 0; i < k; i++) {
            if (!(cum[i] >= 0) || isinf(cum[i])) return tc_error(TC_CONTENT, "probability tensor contains either `inf`, `nan` or element < 0");
            sum = single ? (float)(sum + cum[i]) : sum + cum[i];
            cum[i] = sum;
        }
        if (!(sum > 0)) return tc_error(TC_CONTENT, "invalid multinomial distribution (sum of probabilities <= 0)");
        for (int64_t i = 0; single && i < k; i++) cum[i] = (float)cum[i] / (float)sum;
        for (int64_t i = 0; !single && i < k; i++) cum[i] /= sum;
        for (int64_t s = 0; s < samples; s++) {
            tc_philox4 w = by_index ? tc_philox(key, (uint64_t)(r * samples + s), 1) : (tc_philox4){{0}};
            double u = by_index ? word_pair(&w, 0) : tc_rng_uniform_f64(c->gen);
            int64_t lo = 0, hi = k;
            while (hi > lo) {
                int64_t mid = lo + (hi - lo) / 2;
                if (cum[mid] < u) lo = mid + 1;
                else hi = mid;
            }
            ((int64_t *)tc_tensor_data(t))[r * samples + s] = lo < k ? lo : k - 1;
        }
    }
    return NULL;
}
static size_t scratch_multinomial(const tc_kcall *c, int threads) {
    (void)threads;
    const tc_tensor *p = tc_k_tensor(c, 0);
    return (size_t)p->size[p->rank - 1] * sizeof(double);
}
const tc_kernel tc_k_multinomial = {.name = "multinomial", .flags = TC_KF_CONTIGUOUS, .run = run_multinomial, .scratch = scratch_multinomial};
