/* Row reductions of one float type T (suffix S, integer KEY of its size) in the order of tc-numerics(7), "Sums": sum, product, mean with
 * squared deviations, max and min. prelude.h includes it twice. x[0..n) are consecutive reduced positions that start at a multiple of 256.
 * Lanes are native vectors (TC_VB bytes): 16 lanes are PER vectors of EACH elements. Four whole leaves are summed side by side, since their dependency chains are independent. */
#define N__(a, s) tc_##a##_##s
#define N_2(a, s) N__(a, s)
#define N_(a) N_2(a, S)
#define TREE__(s, f) tc_tree_##s##_##f
#define TREE_(s, f) TREE__(s, f)
#define TREE(f) TREE_(S, f)
#define V N_(vec)
#define EACH ((int)(TC_VB / sizeof(T)))
#define PER (16 * (int)sizeof(T) / TC_VB)

/* ---- sums and products ---- */
/* 16 lanes to one: lane[i] with lane[i + 8], then + 4, + 2, + 1 */
static inline T N_(fold)(T *lane, int product) {
    for (int l = 0; l < 8; l++) lane[l] = product ? lane[l] * lane[l + 8] : lane[l] + lane[l + 8];
    for (int l = 0; l < 4; l++) lane[l] = product ? lane[l] * lane[l + 4] : lane[l] + lane[l + 4];
    return product ? (lane[0] * lane[2]) * (lane[1] * lane[3]) : (lane[0] + lane[2]) + (lane[1] + lane[3]);
}
static inline T N_(leaf)(const T *x, int64_t n, int product) {
    V acc[PER];
    T lane[16];
    int64_t i = 0;
    for (int k = 0; k < PER; k++) acc[k] = (T)(product ? 1 : -0.0) - (V){0};
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < PER; k++) {
            const V v = *(const V *)(x + i + k * EACH);
            acc[k] = product ? acc[k] * v : acc[k] + v;
        }
    for (int k = 0; k < PER; k++) *(V *)(lane + k * EACH) = acc[k];
    for (int l = 0; i + l < n; l++) lane[l] = product ? lane[l] * x[i + l] : lane[l] + x[i + l];
    return N_(fold)(lane, product);
}
static inline void N_(leaves)(T *leaf, const T *x, int product) { /* four */
    V acc[4 * PER];
    T lane[64];
    for (int k = 0; k < 4 * PER; k++) acc[k] = *(const V *)(x + k / PER * 256 + k % PER * EACH);
    for (int i = 16; i < 256; i += 16)
        for (int k = 0; k < 4 * PER; k++) {
            const V v = *(const V *)(x + i + k / PER * 256 + k % PER * EACH);
            acc[k] = product ? acc[k] * v : acc[k] + v;
        }
    for (int k = 0; k < 4 * PER; k++) *(V *)(lane + k * EACH) = acc[k];
    for (int c = 0; c < 4; c++) leaf[c] = N_(fold)(lane + 16 * c, product);
}
static inline void N_(row_sum)(N_(tree) * t, const T *x, int64_t n) {
    for (; n >= 1024; n -= 1024, x += 1024) {
        T leaf[4];
        N_(leaves)(leaf, x, 0);
        for (int c = 0; c < 4; c++) TREE(push)(t, leaf[c]);
    }
    for (; n > 0; n -= 256, x += 256) TREE(push)(t, N_(leaf)(x, n < 256 ? n : 256, 0));
}
static inline void N_(row_prod)(N_(tree) * t, const T *x, int64_t n) {
    for (; n >= 1024; n -= 1024, x += 1024) {
        T leaf[4];
        N_(leaves)(leaf, x, 1);
        for (int c = 0; c < 4; c++) TREE(push_prod)(t, leaf[c]);
    }
    for (; n > 0; n -= 256, x += 256) TREE(push_prod)(t, N_(leaf)(x, n < 256 ? n : 256, 1));
}

/* ---- mean and squared deviations, in float64: 16 lanes are PER_WIDE vectors ---- */
static inline tc_welford N_(welford)(const T *x, int64_t n) {
    enum { W = TC_VB / 8, PER_WIDE = 16 / W };
    tc_vec_f64 acc[PER_WIDE];
    double lane[16], wide[256];
    int64_t i = 0;
    for (int k = 0; k < PER_WIDE; k++) acc[k] = -0.0 - (tc_vec_f64){0};
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < PER_WIDE; k++) {
            const tc_vec_f64 v = N_(widen)(x + i + k * W);
            *(tc_vec_f64 *)(wide + i + k * W) = v;
            acc[k] += v;
        }
    for (int k = 0; k < PER_WIDE; k++) *(tc_vec_f64 *)(lane + k * W) = acc[k];
    for (int l = 0; i + l < n; l++) lane[l] += (double)x[i + l];
    const double sum = tc_fold_f64(lane, 0), mean = n == 256 ? sum * 0x1p-8 : sum / (double)n;
    for (int k = 0; k < PER_WIDE; k++) acc[k] = (tc_vec_f64){0};
    for (i = 0; i + 16 <= n; i += 16)
        for (int k = 0; k < PER_WIDE; k++) {
            const tc_vec_f64 d = *(const tc_vec_f64 *)(wide + i + k * W) - mean;
            acc[k] = tc_vec_fma_f64(d, d, acc[k]);
        }
    for (int k = 0; k < PER_WIDE; k++) *(tc_vec_f64 *)(lane + k * W) = acc[k];
    for (int l = 0; i + l < n; l++) lane[l] = __builtin_fma((double)x[i + l] - mean, (double)x[i + l] - mean, lane[l]);
    return (tc_welford){mean, tc_fold_f64(lane, 0), (double)n};
}
static inline void N_(row_welford)(tc_tree_welford *t, const T *x, int64_t n) {
    for (; n > 0; n -= 256, x += 256) tc_tree_welford_push(t, N_(welford)(x, n < 256 ? n : 256));
}

/* ---- max and min: NaN wins and +0 is above -0, so the order of evaluation does not show. Compared as integers in the order of the values, NaNs beyond
 * infinity ---- */
static inline T N_(above)(T a, T b) {
    T same = N_(from_bits)(N_(bits)(a) & N_(bits)(b)), r = a > b ? a : b;
    r = a == b ? same : r;
    return a != a ? a : r;
}
static inline T N_(below)(T a, T b) {
    T same = N_(from_bits)(N_(bits)(a) | N_(bits)(b)), r = a < b ? a : b;
    r = a == b ? same : r;
    return a != a ? a : r;
}
static inline KEY N_(to_key)(T x) {
    const KEY b = (KEY)N_(bits)(x);
    return b ^ ((b >> (8 * sizeof(T) - 1)) & KEY_MAX);
}
static inline T N_(extreme)(const T *x, int64_t n, int max) {
    const KEY inf = N_(to_key)((T)__builtin_inf());
    KEY high = -KEY_MAX - 1, low = KEY_MAX;
    for (int64_t i = 0; i < n; i++) {
        const KEY k = N_(to_key)(x[i]);
        high = k > high ? k : high;
        low = k < low ? k : low;
    }
    const KEY b = max ? high : low;
    if ((high > inf) | (low < ~inf)) return (T)__builtin_nan("");
    return N_(from_bits)(b ^ ((b >> (8 * sizeof(T) - 1)) & KEY_MAX));
}
static inline T N_(row_above)(T best, const T *x, int64_t n) { return N_(above)(best, N_(extreme)(x, n, 1)); }
static inline T N_(row_below)(T best, const T *x, int64_t n) { return N_(below)(best, N_(extreme)(x, n, 0)); }

#undef PER
#undef EACH
#undef V
#undef TREE
#undef TREE_
#undef TREE__
#undef N_
#undef N_2
#undef N__
