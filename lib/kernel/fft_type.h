/* Discrete Fourier transforms of one float type, included by fft.isa.c with T the type and S its suffix.
 *
 *     X[k] = sum_j x[j] exp(-2 pi i j k / n)
 *
 * Stockham's self-sorting algorithm (decimation in frequency), mixed radix: a pass of radix r takes s interleaved lines of length l to r s
 * interleaved lines of length l / r. LANES lines are interleaved from the start, one in each lane. Real and imaginary parts are in separate arrays,
 * so that every loop is contiguous; each term is rounded by itself, so that all instruction sets give the same bits. */
#define F__(name, s) name##_##s
#define F_(name, s) F__(name, s)
#define F(name) F_(name, S)

/* A pass: for each p < m, rows p + m i of x, i = 0 .. r - 1, give rows r p + j of y, times w[p j step]; a row is s numbers. */
typedef struct {
    const T *xr, *xi;
    T *yr, *yi;
    int64_t s, m, step; /* s: a multiple of LANES */
    const T *wr, *wi;
} F(pass);

/* In groups of LANES, so that compilers generate no remainder loops. */
#define EACH(q)                                                       \
    for (int64_t q##0 = 0; q##0 < v->s; q##0 += LANES) TC_VECTOR_LOOP \
    for (int64_t q = q##0; q < q##0 + LANES; q++)
#define LOAD(i) const T *restrict ar##i = v->xr + (p + v->m * (i)) * v->s, *restrict ai##i = v->xi + (p + v->m * (i)) * v->s
#define STORE(r, j)                                                                                   \
    T *restrict br##j = v->yr + ((r)*p + (j)) * v->s, *restrict bi##j = v->yi + ((r)*p + (j)) * v->s; \
    const T cr##j = v->wr[p * (j)*v->step], ci##j = v->wi[p * (j)*v->step]
#define PUT(j, R, I)                                                                    \
    {                                                                                   \
        const T re_ = R, im_ = I;                                                       \
        const T x_ = re_ * cr##j, y_ = im_ * ci##j, z_ = re_ * ci##j, t_ = im_ * cr##j; \
        br##j[q] = x_ - y_;                                                             \
        bi##j[q] = z_ + t_;                                                             \
    }
static void F(radix2)(const F(pass) * v) {
    for (int64_t p = 0; p < v->m; p++) {
        LOAD(0);
        LOAD(1);
        STORE(2, 0);
        STORE(2, 1);
        (void)cr0, (void)ci0;
        EACH(q) {
            br0[q] = ar0[q] + ar1[q];
            bi0[q] = ai0[q] + ai1[q];
            PUT(1, ar0[q] - ar1[q], ai0[q] - ai1[q]);
        }
    }
}
static void F(radix3)(const F(pass) * v) {
    const T h = (T)0.86602540378443864676;
    for (int64_t p = 0; p < v->m; p++) {
        LOAD(0);
        LOAD(1);
        LOAD(2);
        STORE(3, 0);
        STORE(3, 1);
        STORE(3, 2);
        (void)cr0, (void)ci0;
        EACH(q) {
            T tr = ar1[q] + ar2[q], ti = ai1[q] + ai2[q], ur = ar0[q] - (T)0.5 * tr, ui = ai0[q] - (T)0.5 * ti;
            T dr = h * (ar1[q] - ar2[q]), di = h * (ai1[q] - ai2[q]);
            br0[q] = ar0[q] + tr;
            bi0[q] = ai0[q] + ti;
            PUT(1, ur + di, ui - dr);
            PUT(2, ur - di, ui + dr);
        }
    }
}
static void F(radix4)(const F(pass) * v) {
    for (int64_t p = 0; p < v->m; p++) {
        LOAD(0);
        LOAD(1);
        LOAD(2);
        LOAD(3);
        STORE(4, 0);
        STORE(4, 1);
        STORE(4, 2);
        STORE(4, 3);
        (void)cr0, (void)ci0;
        EACH(q) {
            T er = ar0[q] + ar2[q], ei = ai0[q] + ai2[q], fr = ar0[q] - ar2[q], fi = ai0[q] - ai2[q];
            T gr = ar1[q] + ar3[q], gi = ai1[q] + ai3[q], hr = ar1[q] - ar3[q], hi = ai1[q] - ai3[q];
            br0[q] = er + gr;
            bi0[q] = ei + gi;
            PUT(1, fr + hi, fi - hr);
            PUT(2, er - gr, ei - gi);
            PUT(3, fr - hi, fi + hr);
        }
    }
}
static void F(radix5)(const F(pass) * v) {
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410, s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
    for (int64_t p = 0; p < v->m; p++) {
        LOAD(0);
        LOAD(1);
        LOAD(2);
        LOAD(3);
        LOAD(4);
        STORE(5, 0);
        STORE(5, 1);
        STORE(5, 2);
        STORE(5, 3);
        STORE(5, 4);
        (void)cr0, (void)ci0;
        EACH(q) {
            T er = ar1[q] + ar4[q], ei = ai1[q] + ai4[q], fr = ar2[q] + ar3[q], fi = ai2[q] + ai3[q];
            T gr = ar1[q] - ar4[q], gi = ai1[q] - ai4[q], hr = ar2[q] - ar3[q], hi = ai2[q] - ai3[q];
            T ur = ar0[q] + c1 * er + c2 * fr, ui = ai0[q] + c1 * ei + c2 * fi, vr = ar0[q] + c2 * er + c1 * fr, vi = ai0[q] + c2 * ei + c1 * fi;
            T kr = s1 * gr + s2 * hr, ki = s1 * gi + s2 * hi, lr = s2 * gr - s1 * hr, li = s2 * gi - s1 * hi;
            br0[q] = ar0[q] + er + fr;
            bi0[q] = ai0[q] + ei + fi;
            PUT(1, ur + ki, ui - kr);
            PUT(2, vr + li, vi - lr);
            PUT(3, vr - li, vi + lr);
            PUT(4, ur - ki, ui + kr);
        }
    }
}
/* Any radix, by the defining sum; `root`: elements between the r-th roots of unity in w. */
static void F(radix_any)(const F(pass) * v, int64_t r, int64_t root) {
    for (int64_t p = 0; p < v->m; p++)
        for (int64_t j = 0; j < r; j++) {
            T *restrict br = v->yr + (r * p + j) * v->s, *restrict bi = v->yi + (r * p + j) * v->s;
            const T cr = v->wr[p * j * v->step], ci = v->wi[p * j * v->step];
            for (int64_t i = 0; i < r; i++) {
                const T *restrict ar = v->xr + (p + v->m * i) * v->s, *restrict ai = v->xi + (p + v->m * i) * v->s;
                const T er = v->wr[i * j % r * root], ei = v->wi[i * j % r * root];
                if (i == 0) {
                    EACH(q) br[q] = ar[q], bi[q] = ai[q];
                    continue;
                }
                EACH(q) {
                    const T a_ = ar[q] * er, b_ = ai[q] * ei, c_ = ar[q] * ei, d_ = ai[q] * er;
                    br[q] += a_ - b_;
                    bi[q] += c_ + d_;
                }
            }
            EACH(q) {
                const T a_ = br[q] * cr, b_ = bi[q] * ci, c_ = br[q] * ci, d_ = bi[q] * cr;
                br[q] = a_ - b_;
                bi[q] = c_ + d_;
            }
        }
}
/* tc_fft_fn */
static int F(transform)(void *x_re, void *x_im, void *y_re, void *y_im, int64_t n, const int *radix, int count, const void *w_re, const void *w_im,
                        int64_t stretch) {
    T *a[2] = {x_re, x_im}, *b[2] = {y_re, y_im};
    F(pass) v = {.s = LANES, .wr = w_re, .wi = w_im};
    int64_t length = n;
    for (int k = 0; k < count; k++) {
        int64_t r = radix[k];
        v.xr = a[0], v.xi = a[1], v.yr = b[0], v.yi = b[1];
        v.m = length / r, v.step = n / length * stretch;
        if (r == 2) F(radix2)(&v);
        else if (r == 3) F(radix3)(&v);
        else if (r == 4) F(radix4)(&v);
        else if (r == 5) F(radix5)(&v);
        else F(radix_any)(&v, r, n / r * stretch);
        length = v.m, v.s *= r;
        T *t0 = a[0], *t1 = a[1];
        a[0] = b[0], a[1] = b[1], b[0] = t0, b[1] = t1;
    }
    return count & 1;
}

/* split: with E and O the transforms of the even and the odd numbers of a real line, x = E + i O and y[k] = E[k] + w^k O[k]; E[h - k] and O[h - k]
 * are the conjugates of E[k] and O[k]. at[0], at[1]: offsets of rows k and h - k (of row 0 for k = 0); end: of row h - k. */
static inline void F(split_row)(T *const *y, const T *const *x, const int64_t *at, int64_t end, T wr, T wi, int64_t lanes) {
    const T *ar = x[0] + at[0], *ai = x[1] + at[0], *br = x[0] + at[1], *bi = x[1] + at[1];
    T *pr = y[0] + at[0], *pi = y[1] + at[0], *qr = y[0] + end, *qi = y[1] + end;
    TC_VECTOR_LOOP
    for (int64_t q = 0; q < lanes; q++) {
        const T er = (T)0.5 * (ar[q] + br[q]), ei = (T)0.5 * (ai[q] - bi[q]), or = (T)0.5 * (ai[q] + bi[q]), oi = (T)0.5 * (br[q] - ar[q]);
        const T a_ = wr * or, b_ = wi * oi, c_ = wr * oi, d_ = wi * or, tr = a_ - b_, ti = c_ + d_;
        pr[q] = er + tr;
        pi[q] = ei + ti;
        qr[q] = er - tr;
        qi[q] = ti - ei;
    }
}
static inline void F(join_row)(T *const *y, const T *const *x, const int64_t *at, int64_t end, T wr, T wi, int64_t lanes) {
    const T *ar = x[0] + at[0], *ai = x[1] + at[0], *br = x[0] + end, *bi = x[1] + end;
    T *pr = y[0] + at[0], *pi = y[1] + at[0], *qr = y[0] + at[1], *qi = y[1] + at[1];
    const bool inner = at[0] != 0; /* in rows 0 and h the imaginary parts are 0 */
    TC_VECTOR_LOOP
    for (int64_t q = 0; q < lanes; q++) {
        const T si = inner ? ai[q] : 0, ti = inner ? bi[q] : 0;
        const T er = ar[q] + br[q], ei = si - ti, dr = ar[q] - br[q], di = si + ti;
        const T a_ = wr * dr, b_ = wi * di, c_ = wr * di, d_ = wi * dr, or = a_ + b_, oi = c_ - d_;
        qr[q] = er + oi;
        qi[q] = or -ei;
        pr[q] = er - oi;
        pi[q] = or +ei;
    }
}
#define REAL_LINE(name)                                                                                                    \
    static void F(name)(void *const *y_, const void *const *x_, int64_t h, bool one, const void *w_re, const void *w_im) { \
        T *const y[2] = {y_[0], y_[1]};                                                                                    \
        const T *const x[2] = {x_[0], x_[1]};                                                                              \
        for (int64_t k = 0, lanes = one ? 1 : LANES; 2 * k <= h; k++) {                                                    \
            const int64_t at[2] = {k * lanes, (k ? h - k : 0) * lanes}, end = (h - k) * lanes;                             \
            if (one) F(name##_row)(y, x, at, end, ((const T *)w_re)[k], ((const T *)w_im)[k], 1);                          \
            else F(name##_row)(y, x, at, end, ((const T *)w_re)[k], ((const T *)w_im)[k], LANES);                          \
        }                                                                                                                  \
    }
REAL_LINE(split)
REAL_LINE(join)
/* tc_fft_twist_fn */
static void F(twist)(void *re_, void *im_, int64_t rows, int64_t c, const double *const *tables, int shift) {
    const int64_t mask = ((int64_t)1 << shift) - 1;
    for (int64_t k = 0; k < rows; k++) {
        T *re = (T *)re_ + k * LANES, *im = (T *)im_ + k * LANES;
        TC_VECTOR_LOOP
        for (int64_t q = 0; q < LANES; q++) {
            const int64_t i = k * (c + q), hi = i >> shift, lo = i & mask;
            const double a = tables[0][hi], b = tables[1][hi], r = tables[2][lo], s = tables[3][lo], ar = a * r, bs = b * s, as = a * s, br = b * r;
            const T wr = (T)(ar - bs), wi = (T)(as + br), x_ = re[q] * wr, y_ = im[q] * wi, z_ = re[q] * wi, t_ = im[q] * wr;
            re[q] = x_ - y_;
            im[q] = z_ + t_;
        }
    }
}
#undef REAL_LINE
#undef EACH
#undef LOAD
#undef STORE
#undef PUT
#undef F
#undef F_
#undef F__
