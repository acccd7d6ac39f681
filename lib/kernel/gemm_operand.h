/* What tiles read: the k of a leaf that are present, packed panels of b, copied rows of a. Included by gemm_block.h. */

/* The ranges of k in leaf [k0, k0 + 256) that are present, to out. *first_segment is the first segment that may reach into the leaf, and is advanced for
 * the next one. Returns how many k there are. */
typedef struct {
    int64_t k, n;
} k_range;
static int64_t leaf_ranges(const tc_gemm *j, int64_t k0, int *first_segment, k_range *out, int *count) {
    int64_t k1 = k0 + TC_LEAF < j->k ? k0 + TC_LEAF : j->k, total = 0;
    *count = 0;
    if (!j->segments) {
        out[(*count)++] = (k_range){k0, k1 - k0};
        return k1 - k0;
    }
    for (int s = *first_segment; s < j->nsegments && j->segments[s].k < k1; s++) {
        int64_t b = j->segments[s].k > k0 ? j->segments[s].k : k0,
                e = j->segments[s].k + j->segments[s].n < k1 ? j->segments[s].k + j->segments[s].n : k1;
        if (e > b) out[(*count)++] = (k_range){b, e - b}, total += e - b;
        if (j->segments[s].k + j->segments[s].n <= k1) *first_segment = s + 1;
    }
    return total;
}

/* How many of the n offsets from at[k] on are consecutive elements of memory. */
static inline int64_t contiguous(const int64_t *at, int64_t k, int64_t n) {
    int64_t i = 1;
    while (i < n && at[k + i] == at[k] + i) i++;
    return i;
}

/* Packs w columns that are contiguous in memory. It goes row by row over all panels, so that b is read sequentially. */
static void pack_rows(const tc_gemm *j, const k_range *p, int count, const T *b, int64_t w, T *out, int64_t panel) {
    const int64_t whole = w / NR * NR, rest = w - whole;
    const int first = rest < VL ? (int)rest : VL, second = (int)rest - first; /* lanes of the last panel's two vectors; the others are 0 */
    for (int s = 0; s < count; s++)
        for (int64_t k = p[s].k, e = k + p[s].n; k < e; k++, out += NR) {
            const T *y = b + (j->b_k ? j->b_k[k] : k * j->b_rs);
            T *o = out;
            for (int64_t c = 0; c < whole; c += NR, o += panel) vstore(o, vload(y + c)), vstore(o + VL, vload(y + c + VL));
            if (rest) vstore(o, vload_some(y + whole, first)), vstore(o + VL, second ? vload_some(y + whole + VL, second) : (VF){0});
        }
}

/* Packs columns [c0, c0 + w) for the k of the ranges into panels [k][NR], which lie `panel` elements apart. */
static void pack_ranges(const tc_gemm *j, const k_range *p, int count, int64_t c0, int64_t w, T *out, int64_t panel) {
    if (j->b_cs == 1) {
        pack_rows(j, p, count, (const T *)j->b + c0, w, out, panel);
        return;
    }
    for (int64_t c = 0; c < w; c += NR, out += panel) {
        int64_t m = w - c < NR ? w - c : NR;
        const T *col[NR];
        for (int64_t i = 0; i < m; i++) col[i] = (const T *)j->b + (c0 + c + i) * j->b_cs;
        T *o = out;
        for (int s = 0; s < count; s++)
            for (int64_t k = p[s].k, e = k + p[s].n; k < e;) {
                int64_t at = j->b_k ? j->b_k[k] : k * j->b_rs, n;
                if (m == NR && e - k >= VL && (n = j->b_k ? contiguous(j->b_k, k, e - k) : j->b_rs == 1 ? e - k : 1) >= VL) {
                    for (; n >= VL; n -= VL, k += VL, at += VL, o += VL * NR) /* k contiguous: VL x VL squares, transposed in registers */
                        transpose_square(o, NR, col, at), transpose_square(o + VL, NR, col + VL, at);
                } else {
                    for (int64_t i = 0; i < m; i++) o[i] = col[i][at];
                    for (int64_t i = m; i < NR; i++) o[i] = 0;
                    k++, o += NR;
                }
            }
    }
}

/* n elements of a row, `step` apart, to o. */
static inline void copy_row(const T *a, int64_t step, int64_t n, T *o) {
    int64_t k = 0;
    if (step == 1)
        for (; k + VL <= n; k += VL) vstore(o + k, vload(a + k));
    for (; k < n; k++) o[k] = a[k * step];
}
/* Copies rows [r0, r0 + rows) of an a stored by columns (a_rs is 1), for k in [k0, k0 + n): VL x VL squares, transposed in registers. Returns how
 * many k it did: a multiple of VL, or 0 where the last square would reach past the last row. */
static int64_t transpose_rows(const tc_gemm *j, int64_t k0, int64_t n, int64_t r0, int rows, T *out) {
    const T *line[VL];
    T part[VL * VL];
    int64_t k = 0;
    if (r0 + (rows + VL - 1) / VL * VL > j->m) return 0;
    for (; k + VL <= n; k += VL) {
        for (int i = 0; i < VL; i++) line[i] = (const T *)j->a + (k0 + k + i) * j->a_cs;
        for (int r = 0; r < rows; r += VL) {
            transpose_square(part, VL, line, r0 + r);
            for (int i = 0; i < VL && r + i < rows; i++) vstore(out + (r + i) * LDA + k, vload(part + i * VL));
        }
    }
    return k;
}
/* Rows whose k are contiguous. A function of its own: testing the strides for every row takes half the time of short rows. */
static inline void copy_contiguous_rows(const T *a, int64_t step, int64_t n, int rows, T *out) {
    for (int r = 0; r < rows; r++, a += step, out += LDA) copy_row(a, 1, n, out);
}
/* Copies rows [r0, r0 + rows) of a for the k of the ranges: out[row * LDA + i] is the i-th k that is present. */
static void copy_rows(const tc_gemm *j, const k_range *p, int count, int64_t r0, int rows, T *out) {
    for (int s = 0; s < count; out += p[s].n, s++) {
        if (!j->a_k && j->a_cs == 1) {
            copy_contiguous_rows((const T *)j->a + r0 * j->a_rs + p[s].k, j->a_rs, p[s].n, rows, out);
            continue;
        }
        int64_t n = p[s].n, k0 = p[s].k, done = !j->a_k && j->a_rs == 1 ? transpose_rows(j, k0, n, r0, rows, out) : 0;
        const bool run = j->a_k && n && contiguous(j->a_k, k0, n) == n;
        for (int r = 0; r < rows; r++) {
            const T *a = (const T *)j->a + (r0 + r) * j->a_rs;
            T *o = out + r * LDA;
            if (run) copy_row(a + j->a_k[k0], 1, n, o);
            else if (j->a_k)
                for (int64_t k = 0; k < n; k++) o[k] = a[j->a_k[k0 + k]];
            else copy_row(a + (k0 + done) * j->a_cs, j->a_cs, n - done, o + done);
        }
    }
}
