/* Convolution of bfloat16 by one instruction for pairs (kernel/conv_isa.h), included by gemm_bf16.isa.c after conv_bf16.h and gemm_bf16_tile.h, with
 * the latter's macros. The terms of a tile's positions are copied into rows, leaf by leaf, and are multiplied as rows of a product:
 *
 *     w packed   one panel as of a product: [pair of k][NR] words, k padded with zeros to UNIT pairs
 *     out        bfloat16: the sum and the bias are added in float32 and rounded once
 *
 * A tap in the padding counts as zeros; taps that no position of the block can have are left out. */

TARGET static size_t N_(conv_work_bytes)(int64_t rows, int64_t cols, int64_t k, int64_t taps) {
    (void)taps;
    return (size_t)(TILE_ROWS * LDA + TILE_ROWS * NR + rows * padded(cols) * depth_of(k)) * 4 + (size_t)rows * sizeof(conv_position) + 64;
}
TARGET static void N_(conv_pack)(void *out, const void *w, int64_t w_cout, int64_t w_cin, int64_t cin, int64_t taps, int64_t cols) {
    const uint16_t *from = w;
    halfword *o = out;
    const int64_t k = cin * taps;
    __builtin_memset(out, 0, (size_t)(N_(pairs_of)(k) * NR) * 4);
    for (int64_t c = 0; c < cols; c++, from += w_cout)
        for (int64_t t = 0, i = 0; t < taps; t++)
            for (int64_t ci = 0; ci < cin; ci++, i++) o[(i / 2 * NR + c) * 2 + i % 2] = from[ci * w_cin + t];
}

/* Taps from number *at on; it becomes that of the first which the next leaf has. */
TARGET static void N_(list_terms)(const tc_conv_block *b, int64_t k0, int64_t *at, conv_leaf *l) {
    const int64_t k1 = least(k0 + TC_LEAF, b->k);
    int64_t filled = 0, covered = 0;
    l->neach = l->nwhole = l->nruns = 0;
    while (*at < b->ntaps && (b->tap[*at].tap + 1) * b->cin <= k0) ++*at;
    for (const tc_conv_tap *t = b->tap + *at; t < b->tap + b->ntaps && t->tap * b->cin < k1; t++) {
        const int64_t first = t->tap * b->cin, from = first > k0 ? first : k0, n = least(first + b->cin, k1) - from;
        const conv_terms x = {t->offset + from - first, from - k0, n, t};
        conv_terms *before = l->nwhole ? &l->whole[l->nwhole - 1] : NULL;
        l->each[l->neach++] = x;
        if (before && before->offset + before->n == x.offset && before->k + before->n == x.k) before->n += n;
        else l->whole[l->nwhole++] = x;
        const int64_t low = x.k / (2 * UNIT) * UNIT, high = N_(pairs_of)(x.k + n);
        pairs_run *run = l->nruns ? &l->run[l->nruns - 1] : NULL;
        if (run && low <= run->from + run->n) run->n = high - run->from;
        else l->run[l->nruns++] = (pairs_run){low, high - low};
        filled += n;
    }
    for (int i = 0; i < l->nruns; i++) covered += 2 * l->run[i].n;
    l->gaps = filled < covered;
}
TARGET static void N_(conv_block)(const tc_conv_block *b) {
    enum { REGION = 4096 }; /* elements that are finished together, at least */
    conv_position *position = b->work;
    uint32_t *rows_at = (uint32_t *)(((uintptr_t)(position + b->rows) + 63) / 64 * 64);
    float *sums = (float *)(rows_at + TILE_ROWS * LDA);
    const int64_t leaves = b->k ? leaves_of(b->k) : 1, panel = N_(pairs_of)(b->k);
    int64_t height = 0, at = 0, told = 0;
    conv_leaf terms;
    list_positions(b, position);
    for (int64_t i = 0; i < leaves; i++) {
        const leaf l = leaf_number(i, leaves, b->rows, b->cols, sums + TILE_ROWS * NR);
        N_(list_terms)(b, i * TC_LEAF, &at, &terms);
        for (int64_t r = 0, rows; r < b->rows; r += rows) {
            rows = least(TILE_ROWS, b->rows - r);
            fill_rows(b, &terms, position + r, rows, rows_at);
            if (rows != height) begin(rows);
            height = rows;
            for (int64_t c = 0; c < b->cols; c += NR) {
                tile(rows, terms.run, terms.nruns, rows_at, (const uint32_t *)b->w + c * panel + i * PAIRS * NR, sums);
                merge(&l, r, rows, c, sums);
                if (l.last) finish_tile(b, position + r, rows, c, sums);
            }
            if (l.last && b->then && (r + rows == b->rows || (r + rows - told) * b->cols >= REGION)) {
                end();
                height = 0;
                b->then->fn(b->then->ctx, b->row0 + told, r + rows - told, b->col0, b->cols, b->worker);
                told = r + rows;
            }
        }
    }
    end();
}

extern const tc_conv_ops TC_ROW(N_(tc_conv_bf16));
const tc_conv_ops TC_ROW(N_(tc_conv_bf16)) = {
    .mr = TILE_ROWS, .nr = NR, .k_step = 2 * UNIT, .work_bytes = N_(conv_work_bytes), .block = N_(conv_block), .pack = N_(conv_pack)};
