/* The product of bfloat16 by one instruction for pairs, included by gemm_bf16.isa.c with N_ (adds a suffix), TARGET (an attribute), TILE_ROWS (rows of
 * a tile), UNIT (pairs that a step takes) and
 *   begin(rows), end()                  around tiles of so many rows
 *   tile(rows, runs, nruns, a, b, sums) sums[i * NR + j] = sum over p of the pairs a[i * LDA + p] and b[p * NR + j]; runs are of multiples of UNIT
 *
 *     b packed   [panel][leaf][pair][NR] words: two neighbouring k of a column, the lower one first, padded with zeros to UNIT pairs a leaf
 *     a copied   [row][LDA] words of a leaf, padded likewise
 *
 * A leaf of 256 k is summed by the instruction; what leaves give merges by the tree. The partial sums that wait are a stack: as many as
 * the leaf's index has bits set, of ever fewer leaves; a leaf takes those off it that end where it begins (NUMERICS 5). */
TARGET static inline int64_t N_(pairs_of)(int64_t k) { return (k + 2 * UNIT - 1) / (2 * UNIT) * UNIT; }
TARGET static size_t N_(pack_bytes)(int64_t nc, int64_t k) { return (size_t)(padded(nc) * N_(pairs_of)(k)) * 4; }
TARGET static size_t N_(work_bytes)(int64_t nr, int64_t nc, int64_t k) {
    return (size_t)(TILE_ROWS * LDA + TILE_ROWS * NR + padded(nc) * PAIRS + nr * padded(nc) * depth_of(k)) * 4 + 64;
}

/* Pairs of one panel: n k from k0 on, w columns from c0 on. */
TARGET static void N_(pack_panel)(const tc_gemm *j, int64_t k0, int64_t n, int64_t c0, int64_t w, uint32_t *out) {
    const uint16_t *b = (const uint16_t *)j->b + k0 * j->b_rs + c0 * j->b_cs;
    int64_t pairs = N_(pairs_of)(n), whole = w == NR ? n / 2 : 0, p = 0;
    if (j->b_cs == 1)
        for (; p < whole; p++, out += NR) {
            const uint16_t *x = b + 2 * p * j->b_rs, *y = x + j->b_rs;
            for (int c = 0; c < NR; c++) out[c] = x[c] | (uint32_t)y[c] << 16;
        }
    else if (j->b_rs == 1)
        for (; p + VL <= whole; p += VL, out += VL * NR)
            for (int c = 0; c < NR; c += VL) turn(out + c, b + c * j->b_cs + 2 * p, j->b_cs);
    for (; p < pairs; p++, out += NR)
        for (int64_t c = 0; c < NR; c++) {
            const uint16_t *x = b + 2 * p * j->b_rs + c * j->b_cs;
            uint32_t low = c < w && 2 * p < n ? x[0] : 0, high = c < w && 2 * p + 1 < n ? x[j->b_rs] : 0;
            out[c] = low | high << 16;
        }
}
TARGET static void N_(pack)(const tc_gemm *j, int64_t c0, int64_t nc, void *out) {
    uint32_t *o = out;
    for (int64_t c = 0; c < nc; c += NR, o += N_(pairs_of)(j->k) * NR)
        for (int64_t k = 0; k < j->k; k += TC_LEAF) N_(pack_panel)(j, k, least(TC_LEAF, j->k - k), c0 + c, least(NR, nc - c), o + k / 2 * NR);
}
TARGET static void N_(copy_rows)(const tc_gemm *j, int64_t k0, int64_t n, int64_t r0, int64_t rows, uint32_t *out) {
    for (int64_t r = 0; r < rows; r++, out += LDA) {
        const uint16_t *a = (const uint16_t *)j->a + (r0 + r) * j->a_rs + k0 * j->a_cs;
        halfword *o = (halfword *)out;
        if (j->a_cs == 1) __builtin_memcpy(o, a, (size_t)n * 2);
        else
            for (int64_t k = 0; k < n; k++) o[k] = a[k * j->a_cs];
        for (int64_t k = n; k < 2 * N_(pairs_of)(n); k++) o[k] = 0;
    }
}
TARGET static void N_(store)(const tc_gemm *j, int64_t r, int64_t rows, int64_t c, int64_t w, const float *sums) {
    float *out = (float *)j->c + r * j->c_rs + c * j->c_cs;
    for (int64_t i = 0; i < rows; i++, sums += NR, out += j->c_rs)
        if (w == NR && j->c_cs == 1) __builtin_memcpy(out, sums, NR * sizeof *out);
        else
            for (int64_t q = 0; q < w; q++) out[q * j->c_cs] = sums[q];
}
TARGET static void N_(block)(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    uint32_t *rows_at = work, *panels = rows_at + TILE_ROWS * LDA;
    float *sums = (float *)(panels + padded(nc) * PAIRS);
    int64_t leaves = leaves_of(j->k), height = 0;
    for (int64_t i = 0; i < leaves; i++) {
        int64_t k0 = i * TC_LEAF, n = least(TC_LEAF, j->k - k0);
        const uint32_t *b = packed ? (const uint32_t *)packed + k0 / 2 * NR : panels;
        int64_t pairs = N_(pairs_of)(n), panel = packed ? N_(pairs_of)(j->k) : pairs;
        const leaf l = leaf_number(i, leaves, nr, nc, sums + TILE_ROWS * NR);
        for (int64_t c = 0; !packed && c < nc; c += NR) N_(pack_panel)(j, k0, n, c0 + c, least(NR, nc - c), panels + c * pairs);
        for (int64_t r = 0, rows; r < nr; r += rows) {
            rows = least(TILE_ROWS, nr - r);
            N_(copy_rows)(j, k0, n, r0 + r, rows, rows_at);
            if (rows != height) begin(rows);
            height = rows;
            for (int64_t c = 0; c < nc; c += NR) {
                tile(rows, &(pairs_run){0, pairs}, 1, rows_at, b + c * panel, sums);
                merge(&l, r, rows, c, sums);
                if (l.last) N_(store)(j, r0 + r, rows, c0 + c, least(NR, nc - c), sums);
            }
        }
    }
    end();
    for (int64_t r = r0; !leaves && r < r0 + nr; r++) /* k is 0 */
        for (int64_t c = c0; c < c0 + nc; c++) ((float *)j->c)[r * j->c_rs + c * j->c_cs] = 0;
    finish(j, r0, nr, c0, nc, worker);
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16));
const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16)) = {TILE_ROWS, NR, N_(work_bytes), N_(block), N_(pack_bytes), N_(pack)};
