/* The register tile of the weight gradient (tc_conv_grad_tile): MR input channels x NR output channels of one tap over one leaf of positions, and the
 * transposition of the output gradient to [position][nr]; included by conv_type.h. */
#define GRAD_STEP(i)                                      \
    if (i < rows) {                                       \
        VF v = vset1(base[i / 4][i % 4 * plane]);         \
        x##i = vfma(v, p, x##i), y##i = vfma(v, q, y##i); \
    }
#define GRAD_MERGE(i)                                                                \
    if (i < rows) {                                                                  \
        if (!t->nsegments) x##i = y##i = minus_zero;                                 \
        for (int l = 0; l < t->nlevels; l++) {                                       \
            const T *s = (const T *)t->level[l] + i * NR;                            \
            x##i = vload(s) + x##i, y##i = vload(s + VL) + y##i;                     \
        }                                                                            \
        vstore((T *)t->out + i * NR, x##i), vstore((T *)t->out + i * NR + VL, y##i); \
    }
INLINE void run_grad(const tc_conv_grad_tile *t, const int rows) {
    const VF minus_zero = vset1((T)-0.0);
    const int64_t plane = t->plane, step = t->step;
    EACH_ROW(DECLARE)
    for (int s = 0; s < t->nsegments; s++) {
        const T *base[4], *b = (const T *)t->dout + t->segments[s].k * NR;
        for (int i = 0; i < (rows + 3) / 4; i++) base[i] = (const T *)t->x + t->segments[s].at + 4 * i * plane;
        for (int64_t k = t->segments[s].n; k > 0; k--, b += NR) {
            VF p = vload(b), q = vload(b + VL);
            EACH_ROW(GRAD_STEP)
            for (int i = 0; i < (rows + 3) / 4; i++) base[i] += step;
        }
    }
    EACH_ROW(GRAD_MERGE)
}
#define GRAD_OF(i) \
    static __attribute__((noinline)) void grad_##i(const tc_conv_grad_tile *t) { run_grad(t, i + 1); }
EACH_ROW(GRAD_OF)
#define GRAD_ENTRY(i) grad_##i,
static void grad_tile(const tc_conv_grad_tile *t) {
    static void (*const of[])(const tc_conv_grad_tile *) = {NULL, EACH_ROW(GRAD_ENTRY)};
    of[t->rows](t);
}
static void grad_transpose(void *out, const void *const *in, int64_t from, int64_t n) {
    const T *const *p = (const T *const *)in;
    for (int h = 0; h < NR; h += VL) {
        T *o = (T *)out + h;
        int64_t i = 0;
        for (; i + VL <= n; i += VL) transpose_square(o + i * NR, NR, p + h, from + i);
        for (; i < n; i++)
            for (int l = 0; l < VL; l++) o[i * NR + l] = p[h + l][from + i];
    }
}
