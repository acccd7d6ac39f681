/* The transforms of Winograd's convolution (conv_winograd.c) for float32, a lane for each channel. m is 2 or 4. */
#include "kernel/vec_f32.h"

#include "kernel/conv_isa.h"

enum { VL = ROW_BYTES / (int)sizeof(T), MAX_SIDE = 6 };
static inline VF load(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void store(T *p, VF v) { __builtin_memcpy(p, &v, sizeof v); }

/* B^T d for one line of m + 2 elements; t has stride ts. Matrices: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2015). */
static inline __attribute__((always_inline)) void transform_input(const int m, const VF *d, VF *t, int ts) {
    if (m == 2) {
        t[0] = d[0] - d[2], t[ts] = d[1] + d[2], t[2 * ts] = d[2] - d[1], t[3 * ts] = d[1] - d[3];
        return;
    }
    const VF four = vset1(4), five = vset1(-5), two = vset1(2), d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3], d4 = d[4], d5 = d[5];
    const VF even = vfma(-four, d2, d4), odd = vfma(-four, d1, d3), far = d4 - d2, wide = d3 - d1;
    t[0] = vfma(four, d0, vfma(five, d2, d4));
    t[ts] = even + odd, t[2 * ts] = even - odd;
    t[3 * ts] = vfma(two, wide, far), t[4 * ts] = vfma(-two, wide, far);
    t[5 * ts] = vfma(four, d1, vfma(five, d3, d5));
}
/* A^T s for one line: m results, with stride ys. */
static inline __attribute__((always_inline)) void transform_output(const int m, const VF *s, VF *y, int ys) {
    const VF sum = s[1] + s[2], difference = s[1] - s[2];
    if (m == 2) {
        y[0] = s[0] + sum, y[ys] = difference - s[3];
        return;
    }
    const VF far = s[3] + s[4], wide = s[3] - s[4];
    y[0] = s[0] + sum + far, y[ys] = vfma(vset1(2), wide, difference);
    y[2 * ys] = vfma(vset1(4), far, sum), y[3 * ys] = vfma(vset1(8), wide, difference) + s[5];
}

static inline __attribute__((always_inline)) void run_input(const int m, const tc_winograd_tile *t) {
    const int n = m + 2;
    for (int64_t c = 0; c < t->channels; c += VL) {
        VF d[MAX_SIDE], u[MAX_SIDE * MAX_SIDE];
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) d[k] = load(t->in[k * n + i] + c);
            transform_input(m, d, u + i, n);
        }
        for (int i = 0; i < n; i++) {
            transform_input(m, u + i * n, d, 1);
            for (int k = 0; k < n; k++) store(t->terms + (i * n + k) * t->plane + c, d[k]);
        }
    }
}
/* Bias and plain epilogue on the results x of channels from c on; at: their position's offset in the result. */
static inline VF finished(const tc_winograd_tile *t, VF x, int64_t c, int64_t at) {
    const tc_epilogue_plain *p = t->plain;
    if (t->bias) x += load(t->bias + c);
    if (!p) return x;
    if (p->scale) x = vfma(x, load((const T *)p->scale + c), load((const T *)p->shift + c));
    if (p->more) x += load((const T *)p->more + at + c);
    return vmin(vmax(x, vset1((T)p->low)), vset1((T)p->high));
}
static inline __attribute__((always_inline)) void run_output(const int m, const tc_winograd_tile *t) {
    const int n = m + 2;
    for (int64_t c = 0; c < t->channels; c += VL) {
        VF s[MAX_SIDE], u[MAX_SIDE * MAX_SIDE];
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) s[k] = load(t->terms + (k * n + i) * t->plane + c);
            transform_output(m, s, u + i, n);
        }
        for (int i = 0; i < m; i++) {
            transform_output(m, u + i * n, s, 1);
            for (int k = 0; k < m; k++)
                if (t->to[i * m + k] >= 0) store(t->out + t->to[i * m + k] + c, finished(t, s[k], c, t->to[i * m + k]));
        }
    }
}
/* G g for one line of three taps; t has stride ts. */
static inline __attribute__((always_inline)) void transform_taps(const int m, const VF *g, VF *t, int ts) {
    const VF a = g[0], b = g[1], c = g[2], half = vset1((T)0.5);
    t[(m + 1) * ts] = c;
    if (m == 2) {
        t[0] = a, t[ts] = (a + c + b) * half, t[2 * ts] = (a + c - b) * half;
        return;
    }
    const VF sixth = vset1((T)(-1.0 / 6)), part = vset1((T)(1.0 / 24)), far = vfma(vset1(4), c, a), two = b + b;
    t[0] = a * vset1((T)0.25);
    t[ts] = (a + c + b) * sixth, t[2 * ts] = (a + c - b) * sixth;
    t[3 * ts] = (far + two) * part, t[4 * ts] = (far - two) * part;
}
static inline __attribute__((always_inline)) void run_weights(const int m, const tc_winograd_weights *w) {
    const int n = m + 2;
    VF g[3], t[3 * MAX_SIDE], u[MAX_SIDE];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            T lane[VL] = {0};
            const int tap = 3 * k + i;
            for (int l = 0; l < w->n; l++) lane[l] = w->taps[l * w->pitch + (w->backwards ? 8 - tap : tap)];
            g[k] = load(lane);
        }
        transform_taps(m, g, t + i, 3);
    }
    for (int i = 0; i < n; i++) {
        transform_taps(m, t + i * 3, u, 1);
        for (int k = 0; k < n; k++) store(w->out + (i * n + k) * w->plane, u[k]);
    }
}
static void weights(int m, const tc_winograd_weights *w) {
    if (m == 2) run_weights(2, w);
    else run_weights(4, w);
}
static void input(int m, const tc_winograd_tile *t) {
    if (m == 2) run_input(2, t);
    else run_input(4, t);
}
static void output(int m, const tc_winograd_tile *t) {
    if (m == 2) run_output(2, t);
    else run_output(4, t);
}

extern const tc_winograd_ops TC_ROW(tc_winograd);
const tc_winograd_ops TC_ROW(tc_winograd) = {VL, weights, input, output};
