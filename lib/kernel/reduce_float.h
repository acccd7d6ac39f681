/* Reductions of one float type in the fixed order (tc_reduce_ops), included by reduce_f32.isa.c and reduce_f64.isa.c with T the type and S its suffix.
 *
 *     a leaf of 256:  lane[i mod 16] += x[i], ascending; then lane[i] += lane[i + 8], lane[i + 4], lane[i + 2], lane[i + 1]
 *     leaves are merged by the tree (kernel/tree.h)
 *
 * The 16 lanes of a leaf are LV native vectors. AVX-512 sums four leaves together, because their chains of additions are independent and hide each
 * other's latency; the others fewer, as memory is read fastest in its order. Lanes without an element hold -0.0 (sums) or 1
 * (products), which change nothing. */
#define V N_(v)
#define N__(name, s) name##_##s
#define N_2(name, s) N__(name, s)
#define N_(name) N_2(name, S)
#define TREE__(s, f) tc_tree_##s##_##f
#define TREE_(s, f) TREE__(s, f)
#define TREE(f) TREE_(S, f)

typedef T V __attribute__((vector_size(ROW_BYTES), aligned(sizeof(T)), may_alias));
enum { N_(W) = ROW_BYTES / sizeof(T), N_(LV) = 16 / N_(W), N_(LEAVES) = ROW_BYTES == 64 ? 4 : N_(LV) == 4 ? 2 : 1 };
typedef __typeof__(__builtin_choose_expr(sizeof(T) == 4, (int32_t)0, (int64_t)0)) N_(key);
#define W N_(W)
#define LV N_(LV)

/* Folds 16 lanes to one. */
static inline __attribute__((always_inline)) T N_(fold)(V *acc, int product) {
    for (int h = LV / 2; h; h /= 2)
        for (int k = 0; k < h; k++) acc[k] = product ? acc[k] * acc[k + h] : acc[k] + acc[k + h];
    return N_2(row_fold, S)(acc[0], product);
}
/* Reduces `count` leaves (1, or LEAVES whole ones) of n elements each to out[count]. ahead: what lies so many elements further on is prefetched, as the
 * hardware prefetcher stops at the end of a page; it may lie outside the row, which is harmless. 0: nothing is. */
static inline __attribute__((always_inline)) void N_(leaves)(T *out, const T *x, int n, int count, int ahead, int product) {
    V acc[N_(LEAVES) * LV], start = -(V){0};
    if (product) start = (V){0} + (T)1;
    for (int k = 0; k < count * LV; k++) acc[k] = start;
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int c = 0; c < count && ahead; c++) __builtin_prefetch(x + ahead + c * TC_LEAF + i);
#pragma GCC unroll 16
        for (int k = 0; k < count * LV; k++) {
            V v = *(const V *)(x + (k / LV) * TC_LEAF + i + (k % LV) * W);
            acc[k] = product ? acc[k] * v : acc[k] + v;
        }
    }
    for (int c = 0; c < count; c++) {
        V *leaf = acc + c * LV;
        if (i < n) { /* the last elements, fewer than 16, are added lane by lane */
            T lane[16];
            for (int k = 0; k < LV; k++) *(V *)(lane + k * W) = leaf[k];
            for (int j = i; j < n; j++) lane[j - i] = product ? lane[j - i] * x[c * TC_LEAF + j] : lane[j - i] + x[c * TC_LEAF + j];
            for (int k = 0; k < LV; k++) leaf[k] = *(V *)(lane + k * W);
        }
        out[c] = N_(fold)(leaf, product);
    }
}
static inline __attribute__((always_inline)) void N_(all_leaves)(T *out, const T *x, int64_t n, int product) {
    enum { A = N_(LEAVES), AHEAD = (A > 1 ? A : 8) * TC_LEAF };
    const bool far = n >= 8 * TC_LEAF;
    for (; far && n >= A * TC_LEAF; n -= A * TC_LEAF, x += A * TC_LEAF, out += A) N_(leaves)(out, x, TC_LEAF, A, AHEAD, product);
    for (; n >= A * TC_LEAF; n -= A * TC_LEAF, x += A * TC_LEAF, out += A) N_(leaves)(out, x, TC_LEAF, A, 0, product);
    for (; n > 0; n -= TC_LEAF, x += TC_LEAF, out++) N_(leaves)(out, x, n < TC_LEAF ? (int)n : TC_LEAF, 1, 0, product);
}
static __attribute__((noinline)) void N_(sum_leaves)(void *out, const void *in, int64_t n) { N_(all_leaves)(out, in, n, 0); }
static __attribute__((noinline)) void N_(prod_leaves)(void *out, const void *in, int64_t n) { N_(all_leaves)(out, in, n, 1); }

/* The tree over leaf[0..m), in place: neighbours are merged until one is left. */
static inline T N_(merge)(T *leaf, int64_t m, int product) {
    for (; m > 1; m = (m + 1) / 2) {
        for (int64_t j = 0; j < m / 2; j++) leaf[j] = product ? leaf[2 * j] * leaf[2 * j + 1] : leaf[2 * j] + leaf[2 * j + 1];
        if (m % 2) leaf[m / 2] = leaf[m - 1];
    }
    return leaf[0];
}
/* A row of more than 16 leaves: each 16 leaves are a subtree, whose results are pushed to a tree. */
static T N_(long_row)(const T *x, int64_t n, int product) {
    N_(tc_tree) tree;
    tree.count = 0;
    for (int64_t i = 0; i < n; i += 16 * TC_LEAF) {
        T leaf[16];
        int64_t m = n - i < 16 * TC_LEAF ? n - i : 16 * TC_LEAF;
        (product ? N_(prod_leaves) : N_(sum_leaves))(leaf, x + i, m);
        T group = N_(merge)(leaf, (m + TC_LEAF - 1) / TC_LEAF, product);
        if (product) TREE(push_prod)(&tree, group);
        else TREE(push)(&tree, group);
    }
    return product ? TREE(prod)(&tree) : TREE(sum)(&tree);
}
static inline __attribute__((always_inline)) void N_(all_rows)(T *out, const T *in, int64_t rows, int64_t n, int64_t stride, int product) {
    T leaf[16];
    for (int64_t r = 0; r < rows; r++) {
        const T *x = in + r * stride;
        if (n > 16 * TC_LEAF) out[r] = N_(long_row)(x, n, product);
        else if (n > 0) {
            (product ? N_(prod_leaves) : N_(sum_leaves))(leaf, x, n);
            out[r] = N_(merge)(leaf, (n + TC_LEAF - 1) / TC_LEAF, product);
        } else out[r] = (T)product;
    }
}
static void N_(sum_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t stride) { N_(all_rows)(out, x, rows, n, stride, 0); }
static void N_(prod_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t stride) { N_(all_rows)(out, x, rows, n, stride, 1); }

/* ---- columns ---- */
static void N_(sum_cols_add)(void *lanes, const void *in, int64_t pos, int64_t rows, int64_t cols, int64_t stride) {
    if (pos % TC_LEAF == 0)
        for (int64_t i = 0; i < 16 * cols; i++) ((T *)lanes)[i] = (T)-0.0;
    for (int64_t r = 0; r < rows; r++) {
        T *lane = (T *)lanes + (pos + r) % 16 * cols;
        const T *x = (const T *)in + r * stride;
        TC_VECTOR_LOOP
        for (int64_t c = 0; c < cols; c++) lane[c] += x[c];
    }
}
static void N_(prod_cols_add)(void *lanes, const void *in, int64_t pos, int64_t rows, int64_t cols, int64_t stride) {
    if (pos % TC_LEAF == 0)
        for (int64_t i = 0; i < 16 * cols; i++) ((T *)lanes)[i] = 1;
    for (int64_t r = 0; r < rows; r++) {
        T *lane = (T *)lanes + (pos + r) % 16 * cols;
        const T *x = (const T *)in + r * stride;
        TC_VECTOR_LOOP
        for (int64_t c = 0; c < cols; c++) lane[c] *= x[c];
    }
}
static void N_(sum_cols_fold)(void *o, const void *lanes, int64_t cols) {
    T *out = o;
    const T *l = lanes;
#define AT(i) l[(i)*cols + c]
#define FOUR_LANES(i) ((AT(i) + AT(i + 8)) + (AT(i + 4) + AT(i + 12)))
    for (int64_t c = 0; c < cols; c++) out[c] = (FOUR_LANES(0) + FOUR_LANES(2)) + (FOUR_LANES(1) + FOUR_LANES(3));
#undef FOUR_LANES
}
static void N_(prod_cols_fold)(void *o, const void *lanes, int64_t cols) {
    T *out = o;
    const T *l = lanes;
#define FOUR_LANES(i) ((AT(i) * AT(i + 8)) * (AT(i + 4) * AT(i + 12)))
    for (int64_t c = 0; c < cols; c++) out[c] = (FOUR_LANES(0) * FOUR_LANES(2)) * (FOUR_LANES(1) * FOUR_LANES(3));
#undef FOUR_LANES
#undef AT
}
/* Column sums of at most 16 rows: each row is a lane, so this is just the fold; missing rows are -0.0. */
static void N_(few_rows)(T *out, const T *x, int64_t n, int64_t cols, int64_t stride) {
    enum { TILE = 256 };
    T absent[TILE];
    for (int64_t c = 0; c < TILE; c++) absent[c] = (T)-0.0;
    for (int64_t c0 = 0; c0 < cols; c0 += TILE) {
        int64_t w = cols - c0 < TILE ? cols - c0 : TILE;
        const T *l[16];
        T *o = out + c0;
        for (int i = 0; i < 16; i++) l[i] = i < n ? x + i * stride + c0 : absent;
#define FOUR_LANES(i) ((l[i][c] + l[i + 8][c]) + (l[i + 4][c] + l[i + 12][c]))
        if (n <= 4) {
            TC_VECTOR_LOOP
            for (int64_t c = 0; c < w; c++) o[c] = (l[0][c] + l[2][c]) + (l[1][c] + l[3][c]);
        } else if (n <= 8) {
            TC_VECTOR_LOOP
            for (int64_t c = 0; c < w; c++) o[c] = ((l[0][c] + l[4][c]) + (l[2][c] + l[6][c])) + ((l[1][c] + l[5][c]) + (l[3][c] + l[7][c]));
        } else {
            TC_VECTOR_LOOP
            for (int64_t c = 0; c < w; c++) o[c] = (FOUR_LANES(0) + FOUR_LANES(2)) + (FOUR_LANES(1) + FOUR_LANES(3));
        }
#undef FOUR_LANES
    }
}
/* Tiles of 64 columns. Each column has its tree; they are pushed together, and level i is level[i * TILE + column]. */
static void N_(cols)(T *out, const T *x, int64_t n, int64_t cols, int64_t stride, int product) {
    enum { TILE = 64, LEVELS = 40 };
    T lanes[16 * TILE], level[LEVELS * TILE], leaf[TILE];
    for (int64_t c0 = 0; c0 < cols; c0 += TILE) {
        int64_t w = cols - c0 < TILE ? cols - c0 : TILE, count = 0;
        for (int64_t i = 0; i < n; i += TC_LEAF, count++) {
            int64_t m = n - i < TC_LEAF ? n - i : TC_LEAF;
            if (product) N_(prod_cols_add)(lanes, x + i * stride + c0, 0, m, w, stride), N_(prod_cols_fold)(leaf, lanes, w);
            else N_(sum_cols_add)(lanes, x + i * stride + c0, 0, m, w, stride), N_(sum_cols_fold)(leaf, lanes, w);
            int k = 0;
            for (; count >> k & 1; k++)
                for (int64_t c = 0; c < w; c++) leaf[c] = product ? level[k * TILE + c] * leaf[c] : level[k * TILE + c] + leaf[c];
            for (int64_t c = 0; c < w; c++) level[k * TILE + c] = leaf[c];
        }
        for (int64_t c = 0; c < w; c++) out[c0 + c] = (T)product;
        int first = 1;
        for (int k = 0; count >> k; k++) {
            if (!(count >> k & 1)) continue;
            for (int64_t c = 0; c < w; c++)
                out[c0 + c] = first ? level[k * TILE + c] : product ? level[k * TILE + c] * out[c0 + c] : level[k * TILE + c] + out[c0 + c];
            first = 0;
        }
    }
}
static void N_(sum_cols)(void *out, const void *x, int64_t n, int64_t cols, int64_t stride) {
    if (n > 0 && n <= 16) N_(few_rows)(out, x, n, cols, stride);
    else N_(cols)(out, x, n, cols, stride, 0);
}
static void N_(prod_cols)(void *out, const void *x, int64_t n, int64_t cols, int64_t stride) { N_(cols)(out, x, n, cols, stride, 1); }

/* ---- maximum and minimum: NaN wins, +0 is greater than -0, so that every order gives the same result ---- */
static inline T N_(above)(T a, T b) {
    T same = N_2(tc_from_bits, S)(N_2(tc_bits, S)(a) & N_2(tc_bits, S)(b)), r = a > b ? a : b;
    r = a == b ? same : r;
    return a != a ? a : r;
}
static inline T N_(below)(T a, T b) {
    T same = N_2(tc_from_bits, S)(N_2(tc_bits, S)(a) | N_2(tc_bits, S)(b)), r = a < b ? a : b;
    r = a == b ? same : r;
    return a != a ? a : r;
}
static void N_(max_add)(void *acc, const void *in, int64_t n) {
    T *a = acc;
    const T *x = in;
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) a[i] = N_(above)(a[i], x[i]);
}
static void N_(max_of)(void *out, const void *const *in, int64_t m, int64_t n) {
    memcpy(out, in[0], (size_t)n * sizeof(T));
    for (int64_t j = 1; j < m; j++) N_(max_add)(out, in[j], n);
}
static void N_(min_add)(void *acc, const void *in, int64_t n) {
    T *a = acc;
    const T *x = in;
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) a[i] = N_(below)(a[i], x[i]);
}
typedef N_(key) N_(mask) __attribute__((vector_size(ROW_BYTES)));
static inline __attribute__((always_inline)) V N_(further)(V x, V best, bool max) {
    const N_(mask) take = max ? x > best : x < best;
    return (V)(((N_(mask))x & take) | ((N_(mask))best & ~take));
}
/* The extreme of a row, four vectors at a time; a NaN in any pair of vectors is remembered. Among equal values only zeros differ, by their sign. */
static inline __attribute__((always_inline)) T N_(extreme)(const T *x, int64_t n, bool max) {
    T last = x[0];
    N_(key) any = 0;
    int64_t i = 0;
    if (n >= 4 * W) {
        V best[4], next[4];
        N_(mask) nan = {0};
        for (int k = 0; k < 4; k++) best[k] = *(const V *)(x + k * W);
        for (; i + 4 * W <= n; i += 4 * W) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) next[k] = *(const V *)(x + i + k * W), best[k] = N_(further)(next[k], best[k], max);
            nan |= (next[0] != next[0]) | (next[1] != next[1]) | (next[2] != next[2]) | (next[3] != next[3]);
        }
        for (int k = 1; k < 4; k++) best[0] = N_(further)(best[k], best[0], max);
        for (int e = 0; e < W; e++) last = (max ? best[0][e] > last : best[0][e] < last) ? best[0][e] : last;
        for (int e = 0; e < W; e++) any |= nan[e];
    }
    for (; i < n; i++) {
        last = (max ? x[i] > last : x[i] < last) ? x[i] : last;
        any |= x[i] != x[i];
    }
    for (i = 0; any && i < n; i++)
        if (x[i] != x[i]) return x[i];
    for (i = 0; last == 0 && i < n; i++) /* +0 is greater than -0 */
        if (x[i] == 0 && (__builtin_signbit(x[i]) == 0) == max) return x[i];
    return last;
}
static void N_(max_rows)(void *o, const void *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) ((T *)o)[r] = N_(extreme)((const T *)x + r * stride, n, true);
}
static void N_(min_rows)(void *o, const void *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) ((T *)o)[r] = N_(extreme)((const T *)x + r * stride, n, false);
}
/* The index of the first element that equals v, or, where v is NaN, of the first NaN. */
static inline int64_t N_(find)(const T *x, int64_t n, T v) {
    for (int64_t i = 0; i < n; i += 64) {
        int64_t m = n - i < 64 ? n - i : 64, any = 0;
        for (int64_t j = 0; j < m; j++) any |= (x[i + j] == v) | ((v != v) & (x[i + j] != x[i + j]));
        for (int64_t j = 0; any && j < m; j++)
            if (x[i + j] == v || (v != v && x[i + j] != x[i + j])) return i + j;
    }
    return 0;
}
static void N_(argmax_rows)(int64_t *out, const void *in, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)in + r * stride;
        out[r] = N_(find)(x, n, N_(extreme)(x, n, true));
    }
}
static void N_(argmin_rows)(int64_t *out, const void *in, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)in + r * stride;
        out[r] = N_(find)(x, n, N_(extreme)(x, n, false));
    }
}
static void N_(argmax_cols_add)(void *best, int64_t *index, const void *in, int64_t at, int64_t cols) {
    T *b = best;
    const T *x = in;
    for (int64_t c = 0; c < cols; c++) {
        int take = at == 0 || x[c] > b[c] || (x[c] != x[c] && b[c] == b[c]);
        b[c] = take ? x[c] : b[c], index[c] = take ? at : index[c];
    }
}
static void N_(argmin_cols_add)(void *best, int64_t *index, const void *in, int64_t at, int64_t cols) {
    T *b = best;
    const T *x = in;
    for (int64_t c = 0; c < cols; c++) {
        int take = at == 0 || x[c] < b[c] || (x[c] != x[c] && b[c] == b[c]);
        b[c] = take ? x[c] : b[c], index[c] = take ? at : index[c];
    }
}

/* ---- mean and sum of squared deviations, in float64 ---- */
static inline __attribute__((always_inline)) double N_(fold_wide)(row_f64 *acc) {
#pragma GCC unroll 3
    for (int h = ROW_F64S / 2; h; h /= 2)
#pragma GCC unroll 4
        for (int k = 0; k < h; k++) acc[k] += acc[k + h];
    return row_fold_f64(acc[0], 0);
}
/* The last n < 16 elements of a leaf: added to the lanes, or, with `squares`, their squared deviations from the mean. */
static inline void N_(wide_rest)(row_f64 *acc, const T *x, int n, int squares, double mean) {
    double lane[16];
    memcpy(lane, acc, sizeof lane);
    for (int j = 0; j < n; j++) {
        double d = (double)x[j] - mean;
        lane[j] = squares ? __builtin_fma(d, d, lane[j]) : lane[j] + (double)x[j];
    }
    memcpy(acc, lane, sizeof lane);
}
/* The sum of equal float64 numbers is rounded, and their mean with it: PyTorch's is the number itself, their variance 0. */
static inline void N_(welford_equal)(tc_welford *out, const T *x, int n) {
    int same = 1;
    for (int i = 1; i < n; i++) same &= x[i] == x[0];
    if (same) out->mean = (double)x[0], out->m2 = 0;
}
/* `count` leaves (1, or several whole ones) of n elements each. */
static inline __attribute__((always_inline)) void N_(welford_some)(tc_welford *out, const T *x, int n, int count) {
    enum { E = ROW_BYTES / 8, L = ROW_F64S };
    row_f64 acc[4 * L], mean[4];
    for (int k = 0; k < count * L; k++) acc[k] = -(row_f64){0};
    int i = 0;
    for (; i + 16 <= n; i += 16)
#pragma GCC unroll 32
        for (int k = 0; k < count * L; k++) acc[k] += N_2(row_widen, S)(x + (k / L) * TC_LEAF + i + (k % L) * E);
    for (int c = 0; c < count; c++) {
        if (i < n) N_(wide_rest)(acc + c * L, x + c * TC_LEAF + i, n - i, 0, 0);
        double sum = N_(fold_wide)(acc + c * L);
        out[c].mean = n == TC_LEAF ? sum * (1.0 / TC_LEAF) : sum / n; /* equal: 1 / 256 is a power of two */
        mean[c] = (row_f64){0} + out[c].mean;
    }
    for (int k = 0; k < count * L; k++) acc[k] = (row_f64){0};
    for (i = 0; i + 16 <= n; i += 16)
#pragma GCC unroll 32
        for (int k = 0; k < count * L; k++) {
            row_f64 d = N_2(row_widen, S)(x + (k / L) * TC_LEAF + i + (k % L) * E) - mean[k / L];
            acc[k] = row_fma_f64(d, d, acc[k]);
        }
    for (int c = 0; c < count; c++) {
        if (i < n) N_(wide_rest)(acc + c * L, x + c * TC_LEAF + i, n - i, 1, out[c].mean);
        out[c].m2 = N_(fold_wide)(acc + c * L), out[c].count = n;
        if (sizeof(T) == 8 && out[c].m2 < out[c].mean * out[c].mean * 1e-24) N_(welford_equal)(out + c, x + c * TC_LEAF, n);
    }
}
static void N_(welford_leaves)(tc_welford *out, const void *in, int64_t n) {
    enum { A = ROW_F64S < 4 ? 4 : 2 };
    const T *x = in;
    for (; n >= A * TC_LEAF; n -= A * TC_LEAF, x += A * TC_LEAF, out += A) N_(welford_some)(out, x, TC_LEAF, A);
    for (; n > 0; n -= TC_LEAF, x += TC_LEAF, out++) N_(welford_some)(out, x, n < TC_LEAF ? (int)n : TC_LEAF, 1);
}
static void N_(welford_rows)(tc_welford *out, const void *in, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) {
        tc_tree_welford tree;
        tree.count = 0;
        for (int64_t i = 0; i < n; i += 16 * TC_LEAF) {
            tc_welford leaf[16];
            int64_t m = n - i < 16 * TC_LEAF ? n - i : 16 * TC_LEAF;
            N_(welford_leaves)(leaf, (const T *)in + r * stride + i, m);
            for (int64_t j = 0; j * TC_LEAF < m; j++) tc_tree_welford_push(&tree, leaf[j]);
        }
        out[r] = tc_tree_welford_sum(&tree);
    }
}

static __attribute__((noinline, flatten)) void N_(logaddexp_step)(double *restrict s, const double *restrict x, int m) {
    TC_VECTOR_LOOP
    for (int r = 0; r < m; r++) s[r] = tc_x_logaddexp_f64(s[r], x[r]);
}
/* Each step of a row depends on the one before it, so vectors run across rows, a lane each. */
static void N_(logaddexp_scan)(void *out, const void *in, int64_t n, int m, double *carry) {
    double x[TC_LOG_ROWS] = {0};
    for (int64_t i = 0; i < n; i++) {
        for (int r = 0; r < m; r++) x[r] = (double)((const T *)in)[r * n + i];
        N_(logaddexp_step)(carry, x, m);
        for (int r = 0; r < m; r++) ((T *)out)[r * n + i] = (T)carry[r];
    }
}

extern const tc_reduce_ops TC_ROW(N_(tc_reduce));
const tc_reduce_ops TC_ROW(N_(tc_reduce)) = {N_(sum_rows),       N_(prod_rows),     N_(sum_leaves),      N_(prod_leaves),     N_(sum_cols_add),
                                             N_(prod_cols_add),  N_(sum_cols_fold), N_(prod_cols_fold),  N_(sum_cols),        N_(prod_cols),
                                             N_(max_rows),       N_(min_rows),      N_(max_add),         N_(max_of),          N_(min_add),
                                             N_(argmax_rows),    N_(argmin_rows),   N_(argmax_cols_add), N_(argmin_cols_add), N_(welford_rows),
                                             N_(welford_leaves), N_(logaddexp_scan)};

#undef W
#undef LV
#undef V
#undef N_
#undef N_2
#undef N__
#undef TREE
#undef TREE_
#undef TREE__
