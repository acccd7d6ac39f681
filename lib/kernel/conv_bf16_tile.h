/* Convolution of bfloat16 by one instruction for pairs (kernel/conv_isa.h), included by gemm_bf16.isa.c after gemm_bf16_tile.h, with the same
 * macros. The terms of a tile's positions are copied into rows, leaf by leaf, and are multiplied as rows of a product:
 *
 *     w packed   one panel as of a product: [pair of k][NR] words, k padded with zeros to UNIT pairs
 *     out        bfloat16: the sum and the bias are added in float32 and rounded once
 *
 * A tap in the padding counts as zeros; taps that no position of the block can have are left out. */

/* A row of the block. */
typedef struct {
    int64_t base, to;
    const tc_conv_places *at;
} N_(position);
/* Neighbours in memory and in k: k from `k` of the leaf on. They are of taps [tap, taps_end). */
typedef struct {
    int64_t offset, k, n;
    const tc_conv_tap *tap;
} N_(terms);
/* What all positions have in common in a leaf: their terms, tap by tap and with neighbours together, and the pairs of them. */
typedef struct {
    N_(terms) each[TC_LEAF], whole[TC_LEAF];
    pairs_run run[TC_LEAF / (2 * UNIT) + 1];
    int neach, nwhole, nruns;
    bool gaps; /* pairs of runs hold k without terms */
} N_(leaf_terms);

TARGET static size_t N_(conv_work_bytes)(int64_t rows, int64_t cols, int64_t k) {
    return (size_t)(TILE_ROWS * LDA + TILE_ROWS * NR + rows * padded(cols) * depth_of(k)) * 4 + (size_t)rows * sizeof(N_(position)) + 64;
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

TARGET static void N_(list_positions)(const tc_conv_block *b, N_(position) * out) {
    for (const tc_conv_places *p = b->place; p < b->place + b->nplaces; p++)
        for (int64_t i = 0; i < p->count; i++) *out++ = (N_(position)){p->base + i * p->step, p->to + i * p->pace, p};
}
/* Taps from number *at on; it becomes that of the first which the next leaf has. */
TARGET static void N_(list_terms)(const tc_conv_block *b, int64_t k0, int64_t *at, N_(leaf_terms) * l) {
    const int64_t k1 = least(k0 + TC_LEAF, b->k);
    int64_t filled = 0, covered = 0;
    l->neach = l->nwhole = l->nruns = 0;
    while (*at < b->ntaps && (b->tap[*at].tap + 1) * b->cin <= k0) ++*at;
    for (const tc_conv_tap *t = b->tap + *at; t < b->tap + b->ntaps && t->tap * b->cin < k1; t++) {
        const int64_t first = t->tap * b->cin, from = first > k0 ? first : k0, n = least(first + b->cin, k1) - from;
        const N_(terms) x = {t->offset + from - first, from - k0, n, t};
        N_(terms) *before = l->nwhole ? &l->whole[l->nwhole - 1] : NULL;
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
/* Elements to a row of words. */
TARGET static inline void N_(copy_terms)(halfword *to, const uint16_t *from, int64_t n) {
    for (; n >= 32; n -= 32, to += 32, from += 32) __builtin_memcpy(to, from, 64);
    if (n >= 16) __builtin_memcpy(to, from, 32), n -= 16, to += 16, from += 16;
    if (n >= 8) __builtin_memcpy(to, from, 16), n -= 8, to += 8, from += 8;
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}
TARGET static void N_(fill_rows)(const tc_conv_block *b, const N_(leaf_terms) * l, const N_(position) * p, int64_t rows, uint32_t *out) {
    for (int64_t r = 0; r < rows; r++, p++, out += LDA) {
        const tc_conv_places *at = p->at;
        const N_(terms) *x = at->inside ? l->whole : l->each, *last = x + (at->inside ? l->nwhole : l->neach);
        if (l->gaps) __builtin_memset(out, 0, PAIRS * 4);
        for (; x < last; x++) {
            bool here = true;
            for (int d = 0; d < 3 && !at->inside; d++) here &= x->tap->t[d] >= at->first[d] && x->tap->t[d] < at->last[d];
            if (here) N_(copy_terms)((halfword *)out + x->k, (const uint16_t *)b->x + p->base + x->offset, x->n);
            else __builtin_memset((halfword *)out + x->k, 0, (size_t)x->n * 2);
        }
    }
}
TARGET static void N_(finish_tile)(const tc_conv_block *b, const N_(position) * p, int64_t rows, int64_t c, const float *sums) {
    const int64_t w = least(NR, b->cols - c);
    float bias[NR] = {0};
    uint16_t line[NR];
    for (int64_t q = 0; b->bias && q < w; q++) bias[q] = tc_x_cast_bf16_f32(((const uint16_t *)b->bias)[c + q]);
    for (int64_t r = 0; r < rows; r++, sums += NR) {
        uint16_t *out = (uint16_t *)b->out + p[r].to + c * b->ld;
        if (b->bias)
            for (int q = 0; q < NR; q++) line[q] = tc_x_cast_f32_bf16(sums[q] + bias[q]);
        else
            for (int q = 0; q < NR; q++) line[q] = tc_x_cast_f32_bf16(sums[q]);
        if (b->ld == 1 && w == NR) __builtin_memcpy(out, line, sizeof line);
        else
            for (int64_t q = 0; q < w; q++) out[q * b->ld] = line[q];
    }
}
TARGET static void N_(conv_block)(const tc_conv_block *b) {
    enum { REGION = 4096 }; /* elements that are finished together, at least */
    N_(position) *position = b->work;
    uint32_t *rows_at = (uint32_t *)(((uintptr_t)(position + b->rows) + 63) / 64 * 64);
    float *sums = (float *)(rows_at + TILE_ROWS * LDA);
    const int64_t leaves = b->k ? leaves_of(b->k) : 1, panel = N_(pairs_of)(b->k);
    int64_t height = 0, at = 0, told = 0;
    N_(leaf_terms) terms;
    N_(list_positions)(b, position);
    for (int64_t i = 0; i < leaves; i++) {
        const leaf l = leaf_number(i, leaves, b->rows, b->cols, sums + TILE_ROWS * NR);
        N_(list_terms)(b, i * TC_LEAF, &at, &terms);
        for (int64_t r = 0, rows; r < b->rows; r += rows) {
            rows = least(TILE_ROWS, b->rows - r);
            N_(fill_rows)(b, &terms, position + r, rows, rows_at);
            if (rows != height) begin(rows);
            height = rows;
            for (int64_t c = 0; c < b->cols; c += NR) {
                tile(rows, terms.run, terms.nruns, rows_at, (const uint32_t *)b->w + c * panel + i * PAIRS * NR, sums);
                merge(&l, r, rows, c, sums);
                if (l.last) N_(finish_tile)(b, position + r, rows, c, sums);
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
