/* Discrete Fourier transforms of one float type, included by fft.isa.c with T the type and S its suffix.
 *
 *     X[k] = sum_j x[j] exp(-2 pi i j k / n)
 *
 * Stockham's self-sorting form (decimation in frequency), mixed radix: the pass of radix r takes lines of length l, s of them side by
 * side, to lines of length l / r, r s side by side. Several transforms at once are side by side from the start. Real and imaginary
 * parts lie apart, so that every loop runs along memory; each term is rounded by itself, so that all instruction sets agree. */
#define F__(name, s) name##_##s
#define F_(name, s) F__(name, s)
#define F(name) F_(name, S)

/* The rows (p + m i) s .. + s of x, i = 0..r-1, give the rows (r p + j) s of y, times w[p j step]. */
typedef struct {
    const T *xr, *xi;
    T *yr, *yi;
    int64_t s, m, step;
    const T *wr, *wi;
} F(pass);

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
        TC_VECTOR_LOOP
        for (int64_t q = 0; q < v->s; q++) {
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
        TC_VECTOR_LOOP
        for (int64_t q = 0; q < v->s; q++) {
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
        TC_VECTOR_LOOP
        for (int64_t q = 0; q < v->s; q++) {
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
        TC_VECTOR_LOOP
        for (int64_t q = 0; q < v->s; q++) {
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
/* Any radix, as the sum; `root` is the distance of the r-th roots of 1 in w. */
static void F(radix_any)(const F(pass) * v, int64_t r, int64_t root) {
    for (int64_t p = 0; p < v->m; p++)
        for (int64_t j = 0; j < r; j++) {
            T *restrict br = v->yr + (r * p + j) * v->s, *restrict bi = v->yi + (r * p + j) * v->s;
            const T cr = v->wr[p * j * v->step], ci = v->wi[p * j * v->step];
            for (int64_t i = 0; i < r; i++) {
                const T *restrict ar = v->xr + (p + v->m * i) * v->s, *restrict ai = v->xi + (p + v->m * i) * v->s;
                const T er = v->wr[i * j % r * root], ei = v->wi[i * j % r * root];
                if (i == 0) {
                    TC_VECTOR_LOOP
                    for (int64_t q = 0; q < v->s; q++) br[q] = ar[q], bi[q] = ai[q];
                    continue;
                }
                TC_VECTOR_LOOP
                for (int64_t q = 0; q < v->s; q++) {
                    const T a_ = ar[q] * er, b_ = ai[q] * ei, c_ = ar[q] * ei, d_ = ai[q] * er;
                    br[q] += a_ - b_;
                    bi[q] += c_ + d_;
                }
            }
            TC_VECTOR_LOOP
            for (int64_t q = 0; q < v->s; q++) {
                const T a_ = br[q] * cr, b_ = bi[q] * ci, c_ = br[q] * ci, d_ = bi[q] * cr;
                br[q] = a_ - b_;
                bi[q] = c_ + d_;
            }
        }
}
/* x holds `lanes` transforms of length n side by side; y as much again. w: the n-th roots exp(-2 pi i k / n). True: the result is in y. */
static int F(transform)(void *x_re, void *x_im, void *y_re, void *y_im, int64_t n, int64_t lanes, const int *radix, int count, const void *w_re,
                        const void *w_im) {
    T *a[2] = {x_re, x_im}, *b[2] = {y_re, y_im};
    F(pass) v = {.s = lanes, .wr = w_re, .wi = w_im};
    int64_t length = n;
    for (int k = 0; k < count; k++) {
        int64_t r = radix[k];
        v.xr = a[0], v.xi = a[1], v.yr = b[0], v.yi = b[1];
        v.m = length / r, v.step = n / length;
        if (r == 2) F(radix2)(&v);
        else if (r == 3) F(radix3)(&v);
        else if (r == 4) F(radix4)(&v);
        else if (r == 5) F(radix5)(&v);
        else F(radix_any)(&v, r, n / r);
        length = v.m, v.s *= r;
        T *t0 = a[0], *t1 = a[1];
        a[0] = b[0], a[1] = b[1], b[0] = t0, b[1] = t1;
    }
    return count & 1;
}
#undef LOAD
#undef STORE
#undef PUT
#undef F
#undef F_
#undef F__
