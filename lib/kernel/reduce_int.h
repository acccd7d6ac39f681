/* Reductions of one integer type or bool (tc_reduce_ops), included by reduce_int.isa.c with T the type and S its suffix. Sums and products are int64 and
 * wrap, so every order gives the same result; the functions still come in leaves and lanes, so that callers treat all types alike. */
#define N__(name, s) name##_##s
#define N_2(name, s) N__(name, s)
#define N_(name) N_2(name, S)

static inline uint64_t N_(total)(const T *x, int64_t n) {
    uint64_t s = 0;
    for (int64_t i = 0; i < n; i++) s += (uint64_t)x[i];
    return s;
}
static inline uint64_t N_(product)(const T *x, int64_t n) {
    uint64_t s = 1;
    for (int64_t i = 0; i < n; i++) s *= (uint64_t)x[i];
    return s;
}
static void N_(sum_rows)(void *o, const void *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) ((uint64_t *)o)[r] = N_(total)((const T *)x + r * stride, n);
}
static void N_(prod_rows)(void *o, const void *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) ((uint64_t *)o)[r] = N_(product)((const T *)x + r * stride, n);
}
static void N_(sum_leaves)(void *o, const void *x, int64_t n) {
    for (int64_t i = 0; i < n; i += TC_LEAF) ((uint64_t *)o)[i / TC_LEAF] = N_(total)((const T *)x + i, n - i < TC_LEAF ? n - i : TC_LEAF);
}
static void N_(prod_leaves)(void *o, const void *x, int64_t n) {
    for (int64_t i = 0; i < n; i += TC_LEAF) ((uint64_t *)o)[i / TC_LEAF] = N_(product)((const T *)x + i, n - i < TC_LEAF ? n - i : TC_LEAF);
}
static void N_(sum_cols_add)(void *lanes, const void *in, int64_t pos, int64_t rows, int64_t cols, int64_t stride) {
    if (pos % TC_LEAF == 0)
        for (int64_t i = 0; i < 16 * cols; i++) ((uint64_t *)lanes)[i] = 0;
    for (int64_t r = 0; r < rows; r++) {
        uint64_t *lane = (uint64_t *)lanes + (pos + r) % 16 * cols;
        const T *x = (const T *)in + r * stride;
        for (int64_t c = 0; c < cols; c++) lane[c] += (uint64_t)x[c];
    }
}
static void N_(prod_cols_add)(void *lanes, const void *in, int64_t pos, int64_t rows, int64_t cols, int64_t stride) {
    if (pos % TC_LEAF == 0)
        for (int64_t i = 0; i < 16 * cols; i++) ((uint64_t *)lanes)[i] = 1;
    for (int64_t r = 0; r < rows; r++) {
        uint64_t *lane = (uint64_t *)lanes + (pos + r) % 16 * cols;
        const T *x = (const T *)in + r * stride;
        for (int64_t c = 0; c < cols; c++) lane[c] *= (uint64_t)x[c];
    }
}
static void N_(sum_cols_fold)(void *o, const void *lanes, int64_t cols) {
    for (int64_t c = 0; c < cols; c++) {
        uint64_t s = 0;
        for (int i = 0; i < 16; i++) s += ((const uint64_t *)lanes)[i * cols + c];
        ((uint64_t *)o)[c] = s;
    }
}
static void N_(prod_cols_fold)(void *o, const void *lanes, int64_t cols) {
    for (int64_t c = 0; c < cols; c++) {
        uint64_t s = 1;
        for (int i = 0; i < 16; i++) s *= ((const uint64_t *)lanes)[i * cols + c];
        ((uint64_t *)o)[c] = s;
    }
}
static void N_(sum_cols)(void *o, const void *in, int64_t n, int64_t cols, int64_t stride) {
    uint64_t *out = o;
    for (int64_t c = 0; c < cols; c++) out[c] = 0;
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < cols; c++) out[c] += (uint64_t)((const T *)in)[r * stride + c];
}
static void N_(prod_cols)(void *o, const void *in, int64_t n, int64_t cols, int64_t stride) {
    uint64_t *out = o;
    for (int64_t c = 0; c < cols; c++) out[c] = 1;
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < cols; c++) out[c] *= (uint64_t)((const T *)in)[r * stride + c];
}
static void N_(max_add)(void *acc, const void *in, int64_t n) {
    T *a = acc;
    const T *x = in;
    for (int64_t i = 0; i < n; i++) a[i] = x[i] > a[i] ? x[i] : a[i];
}
static void N_(max_of)(void *out, const void *const *in, int64_t m, int64_t n) {
    memcpy(out, in[0], (size_t)n * sizeof(T));
    for (int64_t j = 1; j < m; j++) N_(max_add)(out, in[j], n);
}
static void N_(min_add)(void *acc, const void *in, int64_t n) {
    T *a = acc;
    const T *x = in;
    for (int64_t i = 0; i < n; i++) a[i] = x[i] < a[i] ? x[i] : a[i];
}
static inline T N_(highest)(const T *x, int64_t n) {
    T m = x[0];
    for (int64_t i = 1; i < n; i++) m = x[i] > m ? x[i] : m;
    return m;
}
static inline T N_(lowest)(const T *x, int64_t n) {
    T m = x[0];
    for (int64_t i = 1; i < n; i++) m = x[i] < m ? x[i] : m;
    return m;
}
static void N_(max_rows)(void *o, const void *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) ((T *)o)[r] = N_(highest)((const T *)x + r * stride, n);
}
static void N_(min_rows)(void *o, const void *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) ((T *)o)[r] = N_(lowest)((const T *)x + r * stride, n);
}
static void N_(argmax_rows)(int64_t *out, const void *in, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)in + r * stride, m = N_(highest)(x, n);
        for (out[r] = 0; x[out[r]] != m;) out[r]++;
    }
}
static void N_(argmin_rows)(int64_t *out, const void *in, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)in + r * stride, m = N_(lowest)(x, n);
        for (out[r] = 0; x[out[r]] != m;) out[r]++;
    }
}
static void N_(argmax_cols_add)(void *best, int64_t *index, const void *in, int64_t at, int64_t cols) {
    T *b = best;
    const T *x = in;
    for (int64_t c = 0; c < cols; c++) {
        int take = at == 0 || x[c] > b[c];
        b[c] = take ? x[c] : b[c], index[c] = take ? at : index[c];
    }
}
static void N_(argmin_cols_add)(void *best, int64_t *index, const void *in, int64_t at, int64_t cols) {
    T *b = best;
    const T *x = in;
    for (int64_t c = 0; c < cols; c++) {
        int take = at == 0 || x[c] < b[c];
        b[c] = take ? x[c] : b[c], index[c] = take ? at : index[c];
    }
}

extern const tc_reduce_ops TC_ROW(N_(tc_reduce));
const tc_reduce_ops TC_ROW(N_(tc_reduce)) = {N_(sum_rows),
                                             N_(prod_rows),
                                             N_(sum_leaves),
                                             N_(prod_leaves),
                                             N_(sum_cols_add),
                                             N_(prod_cols_add),
                                             N_(sum_cols_fold),
                                             N_(prod_cols_fold),
                                             N_(sum_cols),
                                             N_(prod_cols),
                                             N_(max_rows),
                                             N_(min_rows),
                                             N_(max_add),
                                             N_(max_of),
                                             N_(min_add),
                                             N_(argmax_rows),
                                             N_(argmin_rows),
                                             N_(argmax_cols_add),
                                             N_(argmin_cols_add),
                                             NULL,
                                             NULL};

#undef N_
#undef N_2
#undef N__
#undef T
#undef S
