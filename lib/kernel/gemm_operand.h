/* How tiles get what they read: the present k of a leaf, panels of b, rows of a. Included by gemm_block.h. */

/* The present k of leaf [k0, k0 + 256): pieces of segments. Returns how many k. */
typedef struct {
    int64_t k, n;
} piece;
static int64_t leaf_pieces(const tc_gemm *j, int64_t k0, int *seg_at, piece *out, int *count) {
    int64_t k1 = k0 + TC_LEAF < j->k ? k0 + TC_LEAF : j->k, total = 0;
    *count = 0;
    if (!j->seg) {
        out[(*count)++] = (piece){k0, k1 - k0};
        return k1 - k0;
    }
    for (int s = *seg_at; s < j->nseg && j->seg[s].k < k1; s++) {
        int64_t b = j->seg[s].k > k0 ? j->seg[s].k : k0, e = j->seg[s].k + j->seg[s].n < k1 ? j->seg[s].k + j->seg[s].n : k1;
        if (e > b) out[(*count)++] = (piece){b, e - b}, total += e - b;
        if (j->seg[s].k + j->seg[s].n <= k1) *seg_at = s + 1;
    }
    return total;
}

/* How many of the n offsets from k on are neighbours in memory. */
static inline int64_t neighbours(const int64_t *at, int64_t k, int64_t n) {
    int64_t i = 1;
    while (i < n && at[k + i] == at[k] + i) i++;
    return i;
}

/* Neighbouring columns, w of them: row by row over all panels, so that memory is read in its order. */
static void pack_rows(const tc_gemm *j, const piece *p, int count, const T *b, int64_t w, T *out, int64_t panel) {
    const int64_t whole = w / NR * NR, rest = w - whole;
    const int first = rest < VL ? (int)rest : VL, second = (int)rest - first; /* of the last panel's vectors; what is beyond them is 0 */
    for (int s = 0; s < count; s++)
        for (int64_t k = p[s].k, e = k + p[s].n; k < e; k++, out += NR) {
            const T *y = b + (j->b_k ? j->b_k[k] : k * j->b_rs);
            T *o = out;
            for (int64_t c = 0; c < whole; c += NR, o += panel) vstore(o, vload(y + c)), vstore(o + VL, vload(y + c + VL));
            if (rest) vstore(o, vload_some(y + whole, first)), vstore(o + VL, second ? vload_some(y + whole + VL, second) : (VF){0});
        }
}

/* Columns [c0, c0 + w) of the pieces into panels [present k][NR]; panels are `panel` elements apart. */
static void pack_pieces(const tc_gemm *j, const piece *p, int count, int64_t c0, int64_t w, T *out, int64_t panel) {
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
                if (m == NR && e - k >= VL && (n = j->b_k ? neighbours(j->b_k, k, e - k) : j->b_rs == 1 ? e - k : 1) >= VL) {
                    for (; n >= VL; n -= VL, k += VL, at += VL, o += VL * NR) /* neighbouring k: squares, transposed */
                        square(o, NR, col, at), square(o + VL, NR, col + VL, at);
                } else {
                    for (int64_t i = 0; i < m; i++) o[i] = col[i][at];
                    for (int64_t i = m; i < NR; i++) o[i] = 0;
                    k++, o += NR;
                }
            }
    }
}

/* k of a row into o */
static inline void copy_row(const T *a, int64_t step, int64_t n, T *o) {
    int64_t k = 0;
    if (step == 1)
        for (; k + VL <= n; k += VL) vstore(o + k, vload(a + k));
    for (; k < n; k++) o[k] = a[k * step];
}
/* n neighbouring k of rows that are neighbours in memory, from k0 on: squares, transposed. Returns how many k that were. */
static int64_t turn_rows(const tc_gemm *j, int64_t k0, int64_t n, int64_t r0, int rows, T *out) {
    const T *line[VL];
    T part[VL * VL];
    int64_t k = 0;
    if (r0 + (rows + VL - 1) / VL * VL > j->m) return 0;
    for (; k + VL <= n; k += VL) {
        for (int i = 0; i < VL; i++) line[i] = (const T *)j->a + (k0 + k + i) * j->a_cs;
        for (int r = 0; r < rows; r += VL) {
            square(part, VL, line, r0 + r);
            for (int i = 0; i < VL && r + i < rows; i++) vstore(out + (r + i) * LDA + k, vload(part + i * VL));
        }
    }
    return k;
}
/* Of rows whose k are neighbours: what is the same for all of them is found once, which half the time of short ones would be. */
static inline void copy_lines(const T *a, int64_t step, int64_t n, int rows, T *out) {
    for (int r = 0; r < rows; r++, a += step, out += LDA) copy_row(a, 1, n, out);
}
/* Rows of a, [row][LDA] */
static void copy_rows(const tc_gemm *j, const piece *p, int count, int64_t r0, int rows, T *out) {
    for (int s = 0; s < count; out += p[s].n, s++) {
        if (!j->a_k && j->a_cs == 1) {
            copy_lines((const T *)j->a + r0 * j->a_rs + p[s].k, j->a_rs, p[s].n, rows, out);
            continue;
        }
        int64_t n = p[s].n, k0 = p[s].k, done = !j->a_k && j->a_rs == 1 ? turn_rows(j, k0, n, r0, rows, out) : 0;
        const bool run = j->a_k && n && neighbours(j->a_k, k0, n) == n;
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
