/* The Fourier transform of tensors, one dimension after the other: lines along it are gathered into lanes, transformed (fft_type.h) and scattered
 * back.
 *
 * A real line of even length is transformed as half as many complex numbers, x[2 k] + i x[2 k + 1], from which its first half follows (split in
 * fft_type.h; join before the inverse). One of odd length, or whose half needs Bluestein's algorithm, is transformed as complex numbers.
 *
 * A long line of a b numbers is treated as a matrix of a rows and b columns (the four-step algorithm): its columns are transformed, each number is
 * multiplied by its twiddle factor, then the rows are transformed, and the result is read down the columns. So each part fits a cache.
 *
 * Lengths whose prime factors are at most 31 take passes of radix 4, 2, 3, 5 and those primes. Others use Bluestein's identity
 * jk = (j^2 + k^2 - (k - j)^2) / 2, a convolution with exp(i pi k^2 / n) by transforms of a power of two, in float64 for both types. Roots of unity
 * are products of two table entries in float64 (2 ulp). The inverse is the transform with real and imaginary parts exchanged on both sides. */
#include "kernel/fft.h"
#include "base/ints.h"
#include "kernel/isa.h"
#include "kernel/scalar.h"

#include <string.h>

enum { MAX_RADIX = 31, MAX_PASSES = 64, LANES = TC_FFT_LANES, TILE = 16, LONG = 4096 };

typedef struct {
    int64_t length;
    int radix[MAX_PASSES], count;
} passes;
typedef struct {
    int64_t n, size;  /* complex numbers of a line; length of the transform that is run: n, or Bluestein's power of two */
    int64_t roots;    /* the table holds the roots of unity of this order: size, or 2 size where half */
    passes part[2];   /* size is the product of their lengths; part[1] has length 1 except for long lines */
    bool chirp, half; /* chirp: by Bluestein's algorithm; half: the line is 2 n real numbers */
    bool wide;        /* in float64 */
    bool is_long;     /* by the four-step algorithm */
} plan;

/* Returns the number of factors; 0: n has a prime factor above MAX_RADIX. */
static int factorise(int64_t n, int *radix) {
    int count = 0;
    for (; n % 4 == 0; n /= 4) radix[count++] = 4;
    for (int r = 2; r <= MAX_RADIX; r++)
        for (; n % r == 0; n /= r) radix[count++] = r;
    return n == 1 ? count : 0;
}

static passes passes_of(int64_t n) {
    passes p = {.length = n};
    p.count = factorise(n, p.radix);
    return p;
}
static bool is_smooth(int64_t n) {
    passes p = passes_of(n);
    return n == 1 || p.count;
}
static plan plan_of(int64_t n, bool f64, bool real) {
    plan p = {.n = n, .wide = f64, .half = real && n % 2 == 0 && is_smooth(n / 2)};
    if (p.half) p.n = n / 2;
    p.size = p.n;
    if (!is_smooth(p.n)) {
        p.chirp = p.wide = true;
        for (p.size = 1; p.size < 2 * n - 1; p.size *= 2) {}
    }
    p.roots = p.half ? 2 * p.size : p.size;
    p.is_long = p.size >= LONG;
    int64_t a = p.size;
    if (p.is_long) { /* the largest divisor up to the square root; at least LANES, as prime factors are at most 31 */
        a = (int64_t)__builtin_sqrt((double)p.size);
        while (p.size % a) a--;
    }
    p.part[0] = passes_of(a);
    p.part[1] = passes_of(p.size / a);
    return p;
}

/* exp(-2 pi i k / n), 0 <= k < n */
static tc_c128 root_of_1(int64_t k, int64_t n) {
    int64_t e = 8 * k / n; /* the octant: only angles up to pi / 4 are computed, the others follow by symmetry */
    double f = 8 * (double)k / (double)n - (double)e;
    int64_t num = 8 * k - e * n;
    f = 0.78539816339744830962 * ((e & 1) ? (double)(n - num) : (double)num) / (double)n;
    double c = tc_x_cos_f64(f), s = tc_x_sin_f64(f), t;
    if ((e + 1) & 2) t = c, c = s, s = t;
    if (e >= 2 && e < 6) c = -c;
    return (tc_c128){c, e < 4 ? -s : s};
}

static void put_root(bool wide, void *re, void *im, int64_t at, tc_c128 w) {
    if (wide) ((double *)re)[at] = w.re, ((double *)im)[at] = w.im;
    else ((float *)re)[at] = (float)w.re, ((float *)im)[at] = (float)w.im;
}
/* All n-th roots of unity, real and imaginary parts. table: scratch for sqrt(n) + 1 numbers. */
static void roots(bool wide, int64_t n, void *re, void *im, tc_c128 *table) {
    int64_t fine = 1;
    while (fine * fine < n) fine++;
    for (int64_t k = 0; k < fine; k++) table[k] = root_of_1(k, n);
    for (int64_t base = 0; base < n; base += fine) {
        tc_c128 b = root_of_1(base, n);
        for (int64_t k = 0; k < fine && base + k < n; k++) put_root(wide, re, im, base + k, base ? tc_x_mul_c128(b, table[k]) : table[k]);
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

/* ---- scratch: roots of unity for whole lines and for the parts of long ones; tables of twiddle factors; Bluestein's chirp and the transform of its
 * conjugate; for each worker four buffers of lines and, for long lines, four of a part ---- */
typedef struct {
    size_t elem, line, small;                           /* bytes: of a real number; of a buffer of lines; of a buffer of a part's LANES lines */
    size_t w, wp[2], twist, chirp, worker, each, total; /* offsets of these in scratch; bytes of a worker's buffers; of all */
    int64_t lanes;                                      /* lines transformed together: LANES, or 1 long one */
    int shift;                                          /* of the tables of twiddle factors */
} layout;

static layout layout_of(const plan *p, int threads) {
    layout l = {.elem = p->wide ? 8 : 4, .lanes = p->is_long ? 1 : LANES};
    l.line = tc_pad64((size_t)((p->size + 1) * l.lanes) * l.elem); /* + 1: the first half of a real transform has size + 1 numbers */
    l.wp[0] = !p->is_long || p->half ? 2 * tc_pad64((size_t)p->roots * l.elem) : 0;
    l.wp[1] = l.twist = l.chirp = l.wp[0];
    if (p->is_long) {
        const int64_t a = p->part[0].length, b = p->part[1].length;
        while (((int64_t)1 << 2 * l.shift) < p->size) l.shift++;
        l.wp[1] += 2 * tc_pad64((size_t)a * l.elem);
        l.twist = l.wp[1] + 2 * tc_pad64((size_t)b * l.elem);
        l.chirp = l.twist + 4 * tc_pad64((size_t)8 << l.shift);
        l.line += tc_pad64((size_t)(a * LANES) * l.elem); /* columns go by LANES */
        l.small = tc_pad64((size_t)((a > b ? a : b) * LANES) * l.elem);
    }
    l.worker = l.chirp + (p->chirp ? 4 * tc_pad64((size_t)p->size * 8) : 0);
    l.each = 4 * (l.line + l.small);
    l.total = l.worker + l.each * (size_t)threads;
    return l;
}

/* The lines of a tensor along a dimension of `length` elements, which are `inner` elements apart; `count` numbers of each are moved. Number k is k *
 * step floats after the line's first; its imaginary part is `part` floats further (0: there is none). */
typedef struct {
    char *data;
    int64_t inner, length, count;
    int64_t unit; /* floats of an element: 2 where complex, else 1 */
    int64_t step, part;
} side;
typedef enum { C2C, R2C, C2R } direction;
typedef struct {
    const tc_kcall *c;
    plan p;
    layout l;
    side from, to;
    direction kind;
    int64_t lines; /* in all */
    bool single;   /* memory holds float32 */
    bool forward;
    double scale;
} job;

static int64_t line_at(const side *s, int64_t r) { return s->unit * (r / s->inner * s->inner * s->length + r % s->inner); }

static char *roots_at(const job *j, int part) { return (char *)j->c->scratch + j->l.w + (size_t)part * tc_pad64((size_t)j->p.roots * j->l.elem); }
static char *part_roots(const job *j, int k, int part) {
    return (char *)j->c->scratch + j->l.wp[k] + (size_t)part * tc_pad64((size_t)j->p.part[k].length * j->l.elem);
}
static double *twist_table(const job *j, int i) {
    return (double *)(void *)((char *)j->c->scratch + j->l.twist + (size_t)i * tc_pad64((size_t)8 << j->l.shift));
}

static void copy_row(char *to, const char *from, size_t elem) {
    if (elem == sizeof(float)) memcpy(to, from, LANES * sizeof(float));
    else memcpy(to, from, LANES * sizeof(double));
}

/* The start of the group of LANES that covers those from c0 on: the last group overlaps the one before it. */
static int64_t group_at(int64_t c0, int64_t width) { return c0 + LANES <= width ? c0 : width - LANES; }
/* Transforms LANES columns (part 0) or rows (part 1) of a long line's matrix, from number c on. x: its real and imaginary parts, for part 1 in the
 * layout that part 0 left: groups of LANES columns in sequence. s: four small buffers; r: the two that hold the result. */
static void columns(const job *j, int part, char *const *x, int64_t c, char *const *s, char **r) {
    const tc_fft_ops *ops = ops_of(j->c->isa);
    const passes *p = &j->p.part[part];
    const size_t elem = j->l.elem;
    const int64_t rows = j->p.part[0].length, cols = j->p.part[1].length;
    for (int i = 0; i < 2; i++)
        if (part == 0)
            for (int64_t k = 0; k < rows; k++) copy_row(s[i] + (size_t)(k * LANES) * elem, x[i] + (size_t)(k * cols + c) * elem, elem);
        else
            for (int64_t c0 = 0; c0 < cols; c0 += LANES)
                j->c->isa->move->transpose[elem == 8 ? 3 : 2](s[i] + (size_t)(group_at(c0, cols) * LANES) * elem, LANES,
                                                              x[i] + (size_t)(c0 * rows + c * LANES) * elem, LANES, LANES, LANES);
    int in_y = ops->transform[j->p.wide](s[0], s[1], s[2], s[3], p->length, p->radix, p->count, part_roots(j, part, 0), part_roots(j, part, 1), 1);
    r[0] = s[in_y ? 2 : 0], r[1] = s[in_y ? 3 : 1];
    const double *tables[4] = {twist_table(j, 0), twist_table(j, 1), twist_table(j, 2), twist_table(j, 3)};
    if (part == 0) ops->twist[j->p.wide](r[0], r[1], p->length, c, tables, j->l.shift);
}
/* Transforms a long line in b[0], b[1], in place; b[2], b[3]: buffers. */
static void run_long(const job *j, char *const *b, char *const *small) {
    const int64_t rows = j->p.part[0].length, cols = j->p.part[1].length;
    const size_t elem = j->l.elem;
    char *r[2];
    for (int64_t c0 = 0; c0 < cols; c0 += LANES) {
        columns(j, 0, b, group_at(c0, cols), small, r);
        for (int i = 0; i < 2; i++) memcpy(b[2 + i] + (size_t)(c0 * rows) * elem, r[i], (size_t)(rows * LANES) * elem);
    }
    for (int64_t r0 = 0; r0 < rows; r0 += LANES) {
        const int64_t at = group_at(r0, rows);
        columns(j, 1, b + 2, at, small, r);
        for (int i = 0; i < 2; i++)
            for (int64_t k = 0; k < cols; k++) copy_row(b[i] + (size_t)(k * rows + at) * elem, r[i] + (size_t)(k * LANES) * elem, elem);
    }
}
/* Transforms b[0], b[1]; b[2], b[3]: buffers; small: buffers for long lines. *re, *im: the two buffers with the result. */
static void run(const job *j, char *const *b, char *const *small, char **re, char **im) {
    if (j->p.is_long) {
        run_long(j, b, small);
        *re = b[0], *im = b[1];
        return;
    }
    const passes *p = &j->p.part[0];
    int in_y = ops_of(j->c->isa)->transform[j->p.wide](b[0], b[1], b[2], b[3], j->p.size, p->radix, p->count, roots_at(j, 0), roots_at(j, 1),
                                                       j->p.roots / j->p.size);
    *re = in_y ? b[2] : b[0];
    *im = in_y ? b[3] : b[1];
}

static double *chirp_part(const job *j, int k) {
    return (double *)(void *)((char *)j->c->scratch + j->l.chirp + (size_t)k * tc_pad64((size_t)j->p.size * 8));
}

static void worker_buffers(const job *j, int worker, char **b, char **small) {
    char *worker_scratch = (char *)j->c->scratch + j->l.worker + j->l.each * (size_t)worker;
    for (int k = 0; k < 4; k++) b[k] = worker_scratch + (size_t)k * j->l.line, small[k] = worker_scratch + 4 * j->l.line + (size_t)k * j->l.small;
}

/* Bluestein's chirp exp(-i pi k^2 / n) to parts 0 and 1; the transform of its conjugate, wrapped around and divided by its length, to parts 2 and
 * 3. */
static void make_chirp(const job *j) {
    int64_t n = j->p.n, size = j->p.size, square = 0, step = j->l.lanes;
    double *cr = chirp_part(j, 0), *ci = chirp_part(j, 1), *fr = chirp_part(j, 2), *fi = chirp_part(j, 3);
    char *b[4], *small[4], *re, *im;
    worker_buffers(j, 0, b, small);
    double *xr = (double *)(void *)b[0], *xi = (double *)(void *)b[1]; /* in the first lane; the others are 0 */
    memset(xr, 0, (size_t)(size * step) * 8);
    memset(xi, 0, (size_t)(size * step) * 8);
    for (int64_t k = 0; k < n; k++) { /* square = k^2 mod 2 n */
        tc_c128 w = root_of_1(square, 2 * n);
        cr[k] = w.re, ci[k] = w.im;
        xr[k * step] = w.re, xi[k * step] = -w.im;
        if (k) xr[(size - k) * step] = w.re, xi[(size - k) * step] = -w.im;
        square = (square + 2 * k + 1) % (2 * n);
    }
    run(j, b, small, &re, &im);
    for (int64_t k = 0; k < size; k++) {
        fr[k] = ((double *)(void *)re)[k * step] / (double)size;
        fi[k] = ((double *)(void *)im)[k * step] / (double)size;
    }
}

/* ---- moving lines between the tensor and lanes: re and im are [number][lane] ---- */
#define MOVE(NAME, T, W)                                                                                                       \
    static void load_##NAME(const side *s, const int64_t *at, int64_t lanes, void *re_, void *im_) {                           \
        W *re = re_, *im = im_;                                                                                                \
        for (int64_t k = 0; k < s->count; k++)                                                                                 \
            for (int64_t l = 0; l < lanes; l++) {                                                                              \
                const T *x = (const T *)(const void *)s->data + at[l] + k * s->step;                                           \
                re[k * lanes + l] = (W)*x;                                                                                     \
                im[k * lanes + l] = s->part ? (W)x[s->part] : 0;                                                               \
            }                                                                                                                  \
    }                                                                                                                          \
    static void store_##NAME(const side *s, const int64_t *at, int64_t lanes, int64_t row, const void *re_, const void *im_) { \
        const W *re = re_, *im = im_;                                                                                          \
        for (int64_t k = 0; k < s->count; k++)                                                                                 \
            for (int64_t l = 0; l < lanes; l++) {                                                                              \
                T *x = (T *)(void *)s->data + at[l] + k * s->step;                                                             \
                *x = (T)re[k * row + l];                                                                                       \
                if (s->part) x[s->part] = (T)im[k * row + l];                                                                  \
            }                                                                                                                  \
    }
MOVE(f32, float, float)
MOVE(f64, double, double)
MOVE(mixed, float, double)
#undef MOVE

/* Contiguous complex lines, by transposing squares of TILE numbers. */
static void move_transposed(const job *j, const side *s, int64_t r0, int64_t lanes, char *re, char *im, bool load) {
    const size_t elem = j->l.elem, row = LANES * elem;
    const int64_t pitch = s->unit * s->length;
    char tile[2 * TILE * LANES * sizeof(double)];
    memset(tile, 0, sizeof tile);
    for (int64_t k0 = 0; k0 < s->count; k0 += TILE) {
        const int64_t m = s->count - k0 < TILE ? s->count - k0 : TILE;
        char *x = s->data + (size_t)(line_at(s, r0) + 2 * k0) * elem;
        if (load) j->c->isa->move->transpose[elem == 8 ? 3 : 2](tile, LANES, x, pitch, lanes, 2 * m);
        for (int64_t k = 0; k < m; k++) {
            char *parts[2] = {re + (size_t)(k0 + k) * row, im + (size_t)(k0 + k) * row};
            for (int i = 0; i < 2; i++) {
                char *t = tile + (size_t)(2 * k + i) * row;
                copy_row(load ? parts[i] : t, load ? t : parts[i], elem);
            }
        }
        if (!load) j->c->isa->move->transpose[elem == 8 ? 3 : 2](x, pitch, tile, LANES, 2 * m, lanes);
    }
}
/* Loads or stores lines [r0, r0 + lanes). Lanes without a line are loaded with line r0. */
static void move(const job *j, const side *s, int64_t r0, int64_t lanes, char *re, char *im, bool load) {
    if (s->step == 2 && s->part == 1 && lanes > 1 && j->single != j->p.wide) {
        move_transposed(j, s, r0, lanes, re, im, load);
        return;
    }
    int64_t at[LANES];
    for (int64_t l = 0; l < LANES; l++) at[l] = line_at(s, l < lanes ? r0 + l : r0);
    if (load) (!j->single ? load_f64 : j->p.wide ? load_mixed : load_f32)(s, at, j->l.lanes, re, im);
    else (!j->single ? store_f64 : j->p.wide ? store_mixed : store_f32)(s, at, lanes, j->l.lanes, re, im);
}

/* Multiplies row k of every lane by number k of w. */
static void times(double *re, double *im, const double *wr, const double *wi, int64_t n, int64_t lanes) {
    for (int64_t k = 0; k < n; k++)
        for (int64_t l = 0; l < lanes; l++) {
            double a = re[k * lanes + l], b = im[k * lanes + l], p = a * wr[k], q = b * wi[k], s = a * wi[k], t = b * wr[k];
            re[k * lanes + l] = p - q;
            im[k * lanes + l] = s + t;
        }
}
static void bluestein(const job *j, char *const *b, char *const *small, char **re, char **im) {
    int64_t n = j->p.n, size = j->p.size, lanes = j->l.lanes;
    double *xr = (double *)(void *)b[0], *xi = (double *)(void *)b[1];
    times(xr, xi, chirp_part(j, 0), chirp_part(j, 1), n, lanes);
    memset(xr + n * lanes, 0, (size_t)((size - n) * lanes) * 8);
    memset(xi + n * lanes, 0, (size_t)((size - n) * lanes) * 8);
    run(j, b, small, re, im);
    times((double *)(void *)*re, (double *)(void *)*im, chirp_part(j, 2), chirp_part(j, 3), size, lanes);
    bool second = *re == b[2];
    char *back[4] = {*im, *re, second ? b[1] : b[3], second ? b[0] : b[2]}, *r, *i; /* parts exchanged: the inverse */
    run(j, back, small, &r, &i);
    *re = i, *im = r;
    times((double *)(void *)*re, (double *)(void *)*im, chirp_part(j, 0), chirp_part(j, 1), n, lanes);
}

/* Completes a Hermitian line: row n - k becomes the conjugate of row k. */
static void mirror(const job *j, char *re, char *im) {
    const int64_t lanes = j->l.lanes;
    const size_t row = (size_t)lanes * j->l.elem;
    for (int64_t k = 1, n = j->p.n; 2 * k < n; k++) {
        memcpy(re + (size_t)(n - k) * row, re + (size_t)k * row, row);
        if (j->p.wide)
            for (int64_t l = 0; l < lanes; l++) ((double *)(void *)im)[(n - k) * lanes + l] = -((double *)(void *)im)[k * lanes + l];
        else
            for (int64_t l = 0; l < lanes; l++) ((float *)(void *)im)[(n - k) * lanes + l] = -((float *)(void *)im)[k * lanes + l];
    }
}

/* Lines [r0, r0 + lanes): loaded, transformed, scaled, stored. */
static void lines(const job *j, char *const *b, char *const *small, int64_t r0, int64_t lanes) {
    const tc_fft_ops *ops = ops_of(j->c->isa);
    const bool one = j->p.is_long, back = !j->forward;
    char *re, *im;
    int first = 0; /* parts of the transform's operand: b[first], b[first + 1] */
    move(j, &j->from, r0, lanes, b[0], b[1], true);
    if (j->kind == C2R && !j->p.half) mirror(j, b[0], b[1]);
    if (j->kind == C2R && j->p.half) {
        first = 2;
        ops->join[j->p.wide]((void *[]){b[2], b[3]}, (const void *[]){b[0], b[1]}, j->p.n, one, roots_at(j, 0), roots_at(j, 1));
    }
    char *x[4] = {b[first + back], b[first + !back], b[2 - first + back], b[2 - first + !back]};
    if (j->p.chirp) bluestein(j, x, small, &re, &im);
    else run(j, x, small, &re, &im);
    if (back) {
        char *t = re;
        re = im, im = t;
    }
    if (j->kind == R2C && j->p.half) {
        int other = re == b[0] ? 2 : 0;
        ops->split[j->p.wide]((void *[]){b[other], b[other + 1]}, (const void *[]){re, im}, j->p.n, one, roots_at(j, 0), roots_at(j, 1));
        re = b[other], im = b[other + 1];
    }
    if (j->scale != 1) {
        const float narrow = (float)j->scale;
        tc_block_fn times_one = j->c->isa->scalar_one[j->p.wide][TC_X_MUL];
        const void *s = j->p.wide ? (const void *)&j->scale : &narrow;
        times_one(re, re, s, NULL, j->to.count * j->l.lanes);
        times_one(im, im, s, NULL, j->to.count * j->l.lanes);
    }
    move(j, &j->to, r0, lanes, re, im, false);
}
static void range(void *ctx, int64_t begin, int64_t end, int worker) {
    const job *j = ctx;
    char *b[4], *small[4];
    worker_buffers(j, worker, b, small);
    for (int64_t g = begin; g < end; g++) {
        int64_t r0 = g * j->l.lanes;
        lines(j, b, small, r0, j->lines - r0 < j->l.lanes ? j->lines - r0 : j->l.lanes);
    }
}

/* ---- calls ---- */
static void make_roots(const job *j) {
    tc_c128 *table = (tc_c128 *)(void *)((char *)j->c->scratch + j->l.worker);
    if (!j->p.is_long || j->p.half) roots(j->p.wide, j->p.roots, roots_at(j, 0), roots_at(j, 1), table);
    if (!j->p.is_long) return;
    for (int k = 0; k < 2; k++) roots(j->p.wide, j->p.part[k].length, part_roots(j, k, 0), part_roots(j, k, 1), table);
    for (int64_t k = 0; k < (int64_t)1 << j->l.shift; k++) {
        if (k << j->l.shift < j->p.size) put_root(true, twist_table(j, 0), twist_table(j, 1), k, root_of_1(k << j->l.shift, j->p.size));
        put_root(true, twist_table(j, 2), twist_table(j, 3), k, root_of_1(k, j->p.size));
    }
}
static side side_of(const tc_tensor *t, char *data, int dim, const plan *p, int64_t count) {
    side s = {.data = data, .inner = 1, .length = t->size[dim], .count = count, .unit = tc_is_complex(t->dtype) ? 2 : 1};
    for (int e = dim + 1; e < t->rank; e++) s.inner *= t->size[e];
    s.step = s.unit * s.inner, s.part = s.unit - 1;
    if (s.unit == 1 && p->half) s.step = 2 * s.inner, s.part = s.inner;
    return s;
}
/* Transforms along one dimension: from `from`, with in's type and sizes, to `to`, with out's. */
static void dimension(const tc_kcall *c, direction kind, const tc_tensor *in, const void *from, const tc_tensor *out, void *to, int dim,
                      bool forward) {
    const tc_tensor *whole = kind == C2R ? out : in;
    const int64_t n = whole->size[dim], part = n / 2 + 1;
    const bool f64 = tc_dtype_size(whole->dtype) == (kind == C2C ? 16 : 8);
    job j = {.c = c, .kind = kind, .single = !f64, .forward = forward, .lines = tc_tensor_numel(whole) / n};
    j.p = plan_of(n, f64, kind == C2R || (kind == R2C && out->size[dim] == part));
    const int64_t real = kind != C2C && j.p.half ? n / 2 : n;
    j.from = side_of(in, (char *)(uintptr_t)from, dim, &j.p, kind == C2R ? part : real);
    j.to = side_of(out, to, dim, &j.p, kind == C2R ? real : out->size[dim]);
    const int64_t code = tc_k_int(c, 2);
    j.scale = code == 0 ? 1 : code == 1 ? 1 / __builtin_sqrt((double)n) : 1 / (double)n;
    j.l = layout_of(&j.p, tc_pool_threads(c->pool));
    make_roots(&j);
    if (j.p.chirp) make_chirp(&j);
    tc_parallel_for(c->pool, (j.lines + j.l.lanes - 1) / j.l.lanes, 1 + 4096 / (j.p.size * j.l.lanes), range, &j);
}
static int dim_of(const tc_kcall *c, int k) {
    int64_t d = c->args[1].ints[k];
    return (int)(d < 0 ? d + tc_k_tensor(c, 0)->rank : d);
}

static tc_status run_c2c(tc_kcall *c) {
    const tc_tensor *in = tc_k_tensor(c, 0), *out = &c->outs[0];
    const size_t bytes = (size_t)tc_tensor_numel(in) * tc_dtype_size(in->dtype);
    if (bytes && !c->args[1].n) memcpy(tc_tensor_data(out), tc_tensor_data(in), bytes);
    for (int k = 0; k < c->args[1].n && bytes; k++)
        dimension(c, C2C, in, tc_tensor_data(k ? out : in), out, tc_tensor_data(out), dim_of(c, k), tc_k_bool(c, 3));
    return NULL;
}
static tc_status run_r2c(tc_kcall *c) { /* the real transform, along the last of the dimensions, comes first */
    const tc_tensor *in = tc_k_tensor(c, 0), *out = &c->outs[0];
    if (!tc_tensor_numel(in)) return NULL;
    for (int k = c->args[1].n - 1, last = k; k >= 0; k--)
        dimension(c, k == last ? R2C : C2C, k == last ? in : out, tc_tensor_data(k == last ? in : out), out, tc_tensor_data(out), dim_of(c, k), true);
    return NULL;
}

static size_t most_scratch(const tc_kcall *c, direction kind, int threads) {
    const tc_tensor *in = tc_k_tensor(c, 0);
    size_t most = 0;
    for (int k = 0; k < c->args[1].n; k++) {
        const bool last = k == c->args[1].n - 1;
        int64_t n = kind == C2R && last ? tc_k_int(c, 3) : in->size[dim_of(c, k)];
        if (n < 1) continue;
        for (int real = 0; real <= (last && kind != C2C); real++) {
            plan p = plan_of(n, tc_dtype_size(in->dtype) == (tc_is_complex(in->dtype) ? 16 : 8), real);
            size_t bytes = layout_of(&p, threads).total;
            if (bytes > most) most = bytes;
        }
    }
    return tc_pad64(most);
}
static size_t scratch_c2c(const tc_kcall *c, int threads) { return most_scratch(c, C2C, threads); }
static size_t scratch_r2c(const tc_kcall *c, int threads) { return most_scratch(c, R2C, threads); }
static size_t scratch_c2r(const tc_kcall *c, int threads) { /* and a copy of the operand, transformed along the other dimensions */
    const tc_tensor *in = tc_k_tensor(c, 0);
    return most_scratch(c, C2R, threads) + (c->args[1].n > 1 ? (size_t)tc_tensor_numel(in) * tc_dtype_size(in->dtype) : 0);
}

static tc_status run_c2r(tc_kcall *c) { /* the real transform, along the last of the dimensions, comes last */
    const tc_tensor *in = tc_k_tensor(c, 0), *out = &c->outs[0];
    const char *from = tc_tensor_data(in);
    char *copy = (char *)c->scratch + most_scratch(c, C2R, tc_pool_threads(c->pool));
    const int last = dim_of(c, c->args[1].n - 1);
    if (in->size[last] < out->size[last] / 2 + 1)
        return tc_error(TC_CONTENT, "aten._fft_c2r: %lld numbers along dimension %d are not the first half of %lld", (long long)in->size[last], last,
                        (long long)out->size[last]);
    if (!tc_tensor_numel(out)) return NULL;
    for (int k = 0; k < c->args[1].n - 1; k++, from = copy) dimension(c, C2C, in, from, in, copy, dim_of(c, k), false);
    dimension(c, C2R, in, from, out, tc_tensor_data(out), last, false);
    return NULL;
}

const tc_kernel tc_k_fft_c2c = {.name = "fft_c2c", .flags = TC_KF_CONTIGUOUS, .run = run_c2c, .scratch = scratch_c2c};
const tc_kernel tc_k_fft_r2c = {.name = "fft_r2c", .flags = TC_KF_CONTIGUOUS, .run = run_r2c, .scratch = scratch_r2c};
const tc_kernel tc_k_fft_c2r = {.name = "fft_c2r", .flags = TC_KF_CONTIGUOUS, .run = run_c2r, .scratch = scratch_c2r};
