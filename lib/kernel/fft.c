/* The Fourier transform of complex tensors: dimension by dimension, lines of it gathered side by side, transformed (fft_type.h) and put back.
 *
 * Lengths whose prime factors are at most 31 go by passes of radix 4, 2, 3, 5 and those primes. Others by Bluestein's identity
 * jk = (j^2 + k^2 - (k - j)^2) / 2, a convolution with exp(i pi k^2 / n) by transforms of a power of 2, in float64 for both types.
 * Roots of 1 are products of two table entries in float64 (2 ulp). The inverse is the transform with real and imaginary parts
 * exchanged on both sides. */
#include "kernel/fft.h"
#include "kernel/isa.h"
#include "kernel/scalar.h"

#include <string.h>

enum { MAX_RADIX = 31, MAX_PASSES = 64, LANES = 16, TILE = 16 };

typedef struct {
    int64_t n, size; /* of a line; of the transform that is run: n, or Bluestein's power of 2 */
    int radix[MAX_PASSES], count;
    bool chirp;
    bool wide; /* float64 */
} plan;

static int factorise(int64_t n, int *radix) { /* 0: a prime above MAX_RADIX */
    int count = 0;
    for (; n % 4 == 0; n /= 4) radix[count++] = 4;
    for (int r = 2; r <= MAX_RADIX; r++)
        for (; n % r == 0; n /= r) radix[count++] = r;
    return n == 1 ? count : 0;
}

static plan plan_of(int64_t n, bool f64) {
    plan p = {.n = n, .size = n, .wide = f64};
    p.count = factorise(n, p.radix);
    if (p.count || n == 1) return p;
    p.chirp = p.wide = true;
    for (p.size = 1; p.size < 2 * n - 1; p.size *= 2) {}
    p.count = factorise(p.size, p.radix);
    return p;
}

/* exp(-2 pi i k / n), 0 <= k < n */
static tc_c128 root_of_1(int64_t k, int64_t n) {
    int64_t e = 8 * k / n; /* the octant: angles up to pi / 4, exactly mirrored */
    double f = 8 * (double)k / (double)n - (double)e;
    int64_t num = 8 * k - e * n;
    f = 0.78539816339744830962 * ((e & 1) ? (double)(n - num) : (double)num) / (double)n;
    double c = tc_x_cos_f64(f), s = tc_x_sin_f64(f), t;
    if ((e + 1) & 2) t = c, c = s, s = t;
    if (e >= 2 && e < 6) c = -c;
    return (tc_c128){c, e < 4 ? -s : s};
}

/* Roots first..first+count-1 of n (modulo n when squares are asked for), as parts. */
static void put_root(const plan *p, void *re, void *im, int64_t at, tc_c128 w) {
    if (p->wide) ((double *)re)[at] = w.re, ((double *)im)[at] = w.im;
    else ((float *)re)[at] = (float)w.re, ((float *)im)[at] = (float)w.im;
}
static void roots(const plan *p, void *re, void *im, tc_c128 *table) {
    int64_t n = p->size, fine = 1;
    while (fine * fine < n) fine++;
    for (int64_t k = 0; k < fine; k++) table[k] = root_of_1(k, n);
    for (int64_t base = 0; base < n; base += fine) {
        tc_c128 b = root_of_1(base, n);
        for (int64_t k = 0; k < fine && base + k < n; k++) put_root(p, re, im, base + k, base ? tc_x_mul_c128(b, table[k]) : table[k]);
    }
}

#define DECLARE(row, flags) extern const tc_fft_ops tc_fft_##row;
TC_ISA_ROWS(DECLARE)
#undef DECLARE
static const tc_fft_ops *ops_of(const tc_isa_ops *isa) {
#define ENTRY(row, flags) \
    if (!strcmp(isa->name, #row)) return &tc_fft_##row;
    TC_ISA_ROWS(ENTRY)
#undef ENTRY
    TC_BUG("no row %s", isa->name);
}

/* ---- memory: roots; Bluestein's chirp and the transform of its conjugate; for each worker two buffers of lines ---- */
typedef struct {
    size_t elem, line; /* bytes of a number; of the parts of `lanes` lines */
    size_t w, chirp, worker, each, total;
    int64_t lanes;
} layout;
static size_t up(size_t n) { return (n + 63) & ~(size_t)63; }

static layout layout_of(const plan *p, int threads) {
    layout l = {.elem = p->wide ? 8 : 4, .lanes = p->size >= 4096 ? 1 : LANES}; /* the first pass fills a vector by lanes only */
    l.line = up((size_t)(p->size * l.lanes) * l.elem);
    l.w = 0;
    l.chirp = 2 * up((size_t)p->size * l.elem);
    l.worker = l.chirp + (p->chirp ? 4 * up((size_t)p->size * 8) : 0);
    l.each = 4 * l.line;
    size_t table = up((size_t)(p->size + 64) * sizeof(tc_c128)); /* while the roots are made */
    l.total = l.worker + l.each * (size_t)threads;
    if (l.total < l.worker + table) l.total = l.worker + table;
    return l;
}

typedef struct {
    const tc_kcall *c;
    plan p;
    layout l;
    int64_t inner, lines; /* elements between neighbours of a line; lines in all */
    const char *from;     /* what is transformed: the operand, then the result of the dimension before */
    char *data;           /* of the result */
    size_t size;          /* bytes of a complex number */
    bool forward;
    double scale;
} job;

static void run(const job *j, char *b[4], int64_t lanes, char **re, char **im) { /* parts in b[0], b[1] */
    const tc_fft_ops *ops = ops_of(j->c->isa);
    char *scratch = j->c->scratch;
    char *w = scratch + j->l.w;
    int in_y =
        (j->p.wide ? ops->f64 : ops->f32)(b[0], b[1], b[2], b[3], j->p.size, lanes, j->p.radix, j->p.count, w, w + up((size_t)j->p.size * j->l.elem));
    *re = in_y ? b[2] : b[0];
    *im = in_y ? b[3] : b[1];
}

static double *chirp_part(const job *j, int k) {
    return (double *)(void *)((char *)j->c->scratch + j->l.chirp + (size_t)k * up((size_t)j->p.size * 8));
}

/* exp(-i pi k^2 / n) into parts 0, 1; the transform of its conjugate, wrapped around, divided by its length, into parts 2, 3 */
static void make_chirp(const job *j) {
    int64_t n = j->p.n, size = j->p.size, square = 0;
    double *cr = chirp_part(j, 0), *ci = chirp_part(j, 1), *fr = chirp_part(j, 2), *fi = chirp_part(j, 3);
    char *scratch = j->c->scratch, *b[4], *re, *im;
    for (int k = 0; k < 4; k++) b[k] = scratch + j->l.worker + (size_t)k * j->l.line;
    double *xr = (double *)(void *)b[0], *xi = (double *)(void *)b[1];
    memset(xr, 0, (size_t)size * 8);
    memset(xi, 0, (size_t)size * 8);
    for (int64_t k = 0; k < n; k++) { /* square: k^2 mod 2 n */
        tc_c128 w = root_of_1(square, 2 * n);
        cr[k] = w.re, ci[k] = w.im;
        xr[k] = w.re, xi[k] = -w.im;
        if (k) xr[size - k] = w.re, xi[size - k] = -w.im;
        square = (square + 2 * k + 1) % (2 * n);
    }
    run(j, b, 1, &re, &im);
    for (int64_t k = 0; k < size; k++) fr[k] = ((double *)(void *)re)[k] / (double)size, fi[k] = ((double *)(void *)im)[k] / (double)size;
}

/* Lines r0 .. r0 + lanes into parts side by side and back. A line begins at line_at. */
static int64_t line_at(const job *j, int64_t r) { return r / j->inner * j->inner * j->p.n + r % j->inner; }

/* In tiles of TILE numbers of each line, which stay in the first cache whatever the distance of lines is. */
#define MOVE(NAME, T, W)                                                                                  \
    static void load_##NAME(const job *j, int64_t r0, int64_t lanes, void *re_, void *im_) {              \
        W *re = re_, *im = im_;                                                                           \
        for (int64_t k0 = 0; k0 < j->p.n; k0 += TILE)                                                     \
            for (int64_t l = 0; l < lanes; l++) {                                                         \
                const T *x = (const T *)(const void *)j->from + 2 * line_at(j, r0 + l);                   \
                const int64_t end = k0 + TILE < j->p.n ? k0 + TILE : j->p.n;                              \
                for (int64_t k = k0; k < end; k++) {                                                      \
                    re[k * lanes + l] = (W)x[2 * k * j->inner + !j->forward];                             \
                    im[k * lanes + l] = (W)x[2 * k * j->inner + j->forward];                              \
                }                                                                                         \
            }                                                                                             \
    }                                                                                                     \
    static void store_##NAME(const job *j, int64_t r0, int64_t lanes, const void *re_, const void *im_) { \
        const W *re = re_, *im = im_;                                                                     \
        const W s = (W)j->scale;                                                                          \
        for (int64_t k0 = 0; k0 < j->p.n; k0 += TILE)                                                     \
            for (int64_t l = 0; l < lanes; l++) {                                                         \
                T *x = (T *)(void *)j->data + 2 * line_at(j, r0 + l);                                     \
                const int64_t end = k0 + TILE < j->p.n ? k0 + TILE : j->p.n;                              \
                for (int64_t k = k0; k < end; k++) {                                                      \
                    x[2 * k * j->inner + !j->forward] = (T)(re[k * lanes + l] * s);                       \
                    x[2 * k * j->inner + j->forward] = (T)(im[k * lanes + l] * s);                        \
                }                                                                                         \
            }                                                                                             \
    }
MOVE(f32, float, float)
MOVE(f64, double, double)
MOVE(mixed, float, double)
#undef MOVE

/* x times a chirp, for every lane */
static void times(double *re, double *im, const double *wr, const double *wi, int64_t n, int64_t lanes) {
    for (int64_t k = 0; k < n; k++)
        for (int64_t l = 0; l < lanes; l++) {
            double a = re[k * lanes + l], b = im[k * lanes + l], p = a * wr[k], q = b * wi[k], s = a * wi[k], t = b * wr[k];
            re[k * lanes + l] = p - q;
            im[k * lanes + l] = s + t;
        }
}
static void bluestein(const job *j, char *b[4], int64_t lanes, char **re, char **im) {
    int64_t n = j->p.n, size = j->p.size;
    double *xr = (double *)(void *)b[0], *xi = (double *)(void *)b[1];
    times(xr, xi, chirp_part(j, 0), chirp_part(j, 1), n, lanes);
    memset(xr + n * lanes, 0, (size_t)((size - n) * lanes) * 8);
    memset(xi + n * lanes, 0, (size_t)((size - n) * lanes) * 8);
    run(j, b, lanes, re, im);
    times((double *)(void *)*re, (double *)(void *)*im, chirp_part(j, 2), chirp_part(j, 3), size, lanes);
    bool second = *re == b[2];
    char *back[4] = {*im, *re, second ? b[1] : b[3], second ? b[0] : b[2]}, *r, *i; /* parts exchanged: the inverse */
    run(j, back, lanes, &r, &i);
    *re = i, *im = r;
    times((double *)(void *)*re, (double *)(void *)*im, chirp_part(j, 0), chirp_part(j, 1), n, lanes);
}

static void range(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    char *b[4], *re, *im, *mine = (char *)j->c->scratch + j->l.worker + j->l.each * (size_t)worker;
    for (int k = 0; k < 4; k++) b[k] = mine + (size_t)k * j->l.line;
    for (int64_t g = begin; g < end; g++) {
        int64_t r0 = g * j->l.lanes, lanes = j->lines - r0 < j->l.lanes ? j->lines - r0 : j->l.lanes;
        bool single = j->size == 8;
        (!single ? load_f64 : j->p.wide ? load_mixed : load_f32)(j, r0, lanes, b[0], b[1]);
        if (j->p.chirp) bluestein(j, b, lanes, &re, &im);
        else run(j, b, lanes, &re, &im);
        (!single ? store_f64 : j->p.wide ? store_mixed : store_f32)(j, r0, lanes, re, im);
    }
}

static tc_status run_c2c(tc_kcall *c) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    tc_tensor *out = &c->outs[0];
    const int64_t *dims = c->args[1].ints, code = tc_k_int(c, 2);
    int64_t numel = tc_tensor_numel(in);
    size_t size = tc_dtype_size(in->dtype);
    char *data = tc_tensor_data(out);
    if (!numel) return NULL;
    if (!c->args[1].n) memcpy(data, tc_tensor_data(in), (size_t)numel * size);
    const char *from = tc_tensor_data(in);
    for (int k = 0; k < c->args[1].n; k++) {
        int d = (int)(dims[k] < 0 ? dims[k] + in->rank : dims[k]);
        int64_t n = in->size[d];
        job j = {.c = c,
                 .p = plan_of(n, size == 16),
                 .inner = 1,
                 .lines = numel / n,
                 .from = k ? data : from,
                 .data = data,
                 .size = size,
                 .forward = tc_k_bool(c, 3)};
        for (int e = d + 1; e < in->rank; e++) j.inner *= in->size[e];
        j.scale = code == 0 ? 1 : code == 1 ? 1 / __builtin_sqrt((double)n) : 1 / (double)n;
        j.l = layout_of(&j.p, tc_pool_threads(c->pool));
        char *w = (char *)c->scratch + j.l.w;
        roots(&j.p, w, w + up((size_t)j.p.size * j.l.elem), (tc_c128 *)(void *)((char *)c->scratch + j.l.worker));
        if (j.p.chirp) make_chirp(&j);
        tc_parallel_for(c->pool, (j.lines + j.l.lanes - 1) / j.l.lanes, 1 + 4096 / (j.p.size * j.l.lanes), range, &j);
    }
    return NULL;
}

static size_t scratch(const tc_kcall *c, int threads) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    size_t most = 0;
    for (int k = 0; k < c->args[1].n; k++) {
        int64_t dim = c->args[1].ints[k];
        int64_t n = in->size[dim < 0 ? dim + in->rank : dim];
        if (n < 1) continue;
        plan p = plan_of(n, tc_dtype_size(in->dtype) == 16);
        size_t bytes = layout_of(&p, threads).total;
        if (bytes > most) most = bytes;
    }
    return most;
}

const tc_kernel tc_k_fft_c2c = {.name = "fft_c2c", .flags = TC_KF_CONTIGUOUS, .run = run_c2c, .scratch = scratch};
