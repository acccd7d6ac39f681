/* Products of so few results that tiles would be mostly padding: each result is a dot product of a row of a and a column of b, both contiguous. Leaf by
 * leaf, in the order of a tile: the chains of fma of several leaves run side by side, in the lanes of a vector or, where there are fewer, as CHAINS
 * scalars, and hide each other's latency. Included by gemm_block.h. */
enum { CHAINS = 8, MOST_DOTS = 4 };

static bool by_dots(const tc_gemm *j, int64_t nr, int64_t nc, const void *packed) {
    return nr * nc <= MOST_DOTS && !packed && !j->segments && !j->a_k && !j->b_k && (j->a_cs == 1 || j->k <= 1) && (j->b_rs == 1 || j->k <= 1);
}
/* out[i] = sum over n k of leaf i, for `chains` leaves that follow each other. */
static inline __attribute__((always_inline)) void dot_chains(const T *a, const T *b, int64_t n, T *out, const int chains) {
    T x[CHAINS] = {0};
    for (int64_t k = 0; k < n; k++)
#pragma GCC unroll 8
        for (int i = 0; i < chains; i++) x[i] = FMA(a[i * TC_LEAF + k], b[i * TC_LEAF + k], x[i]);
#pragma GCC unroll 8
    for (int i = 0; i < chains; i++) out[i] = x[i];
}
/* The same for a leaf in each lane: VL whole leaves, transposed in registers. */
static inline void dot_lanes(const T *a, const T *b, T *out) {
#if MR == 6
    enum { DEEP = COLUMN_K };
#else
    enum { DEEP = VL };
#endif
    VF x = {0};
    for (int k = 0; k < TC_LEAF; k += DEEP) {
        VF p[DEEP], q[DEEP];
        load_columns(p, a + k, TC_LEAF), load_columns(q, b + k, TC_LEAF);
#pragma GCC unroll 16
        for (int i = 0; i < DEEP; i++) x = vfma(p[i], q[i], x);
    }
    vstore(out, x);
}
/* The sums of leaves from l on; returns how many. */
static int dot_leaves(const tc_gemm *j, const T *a, const T *b, int64_t l, T *out) {
    const int64_t left = j->k - l * TC_LEAF;
    a += l * TC_LEAF, b += l * TC_LEAF;
    if (VL >= (int)CHAINS && left >= VL * TC_LEAF) return dot_lanes(a, b, out), VL;
    if (left >= CHAINS * TC_LEAF) return dot_chains(a, b, TC_LEAF, out, CHAINS), CHAINS;
    if (left >= 2 * TC_LEAF) return dot_chains(a, b, TC_LEAF, out, 2), 2;
    return dot_chains(a, b, tc_min(left, TC_LEAF), out, 1), 1;
}
static T dot(const tc_gemm *j, const T *a, const T *b) {
    T sums[VL > 8 ? VL : CHAINS], level[LEVELS], v = 0;
    progress p = {0};
    const int64_t leaves = leaves_of(j->k);
    for (int64_t first = 0, l = 0, have = 0; l < leaves; l++) {
        leaf x = {.n = 1};
        if (l == first + have) first = l, have = dot_leaves(j, a, b, l, sums);
        place_in_tree(&p, l, l == leaves - 1, &x);
        v = sums[l - first];
        for (int64_t m = x.merged; m; m &= m - 1) v = level[__builtin_ctzll((unsigned long long)m)] + v;
        if (x.into >= 0) level[x.into] = v;
    }
    return v;
}
/* Results [r0, r0 + nr) x [c0, c0 + nc) of the product. */
static void dots(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc) {
    for (int64_t r = r0; r < r0 + nr; r++)
        for (int64_t c = c0; c < c0 + nc; c++)
            ((T *)j->c)[r * j->c_rs + c * j->c_cs] = dot(j, (const T *)j->a + r * j->a_rs, (const T *)j->b + c * j->b_cs);
    finish(j, r0, nr, c0, nc);
}
