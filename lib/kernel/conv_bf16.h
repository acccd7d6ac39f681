/* Rows of words from the positions of a convolution of bfloat16, and results from sums: what its two instructions share. Included by
 * gemm_bf16.isa.c. */

/* A row of the block. */
typedef struct {
    int64_t base, to;
    const tc_conv_places *at;
} conv_position;
/* Neighbours in memory and in k: n of them from `k` of the leaf on, `offset` elements from a position's base; tap: of the first. */
typedef struct {
    int64_t offset, k, n;
    const tc_conv_tap *tap;
} conv_terms;
/* What all positions have in common in a leaf: their terms, tap by tap and with neighbours together, and the pairs of them. */
typedef struct {
    conv_terms each[TC_LEAF], whole[TC_LEAF];
    pairs_run run[PAIRS + 1];
    int neach, nwhole, nruns;
    bool gaps; /* pairs of runs hold k without terms */
} conv_leaf;

static void list_positions(const tc_conv_block *b, conv_position *out) {
    for (const tc_conv_places *p = b->place; p < b->place + b->nplaces; p++)
        for (int64_t i = 0; i < p->count; i++) *out++ = (conv_position){p->base + i * p->step, p->to + i * p->pace, p};
}
/* Elements to a row of words. */
static inline void copy_terms(halfword *to, const uint16_t *from, int64_t n) {
    for (; n >= 32; n -= 32, to += 32, from += 32) __builtin_memcpy(to, from, 64);
    if (n >= 16) __builtin_memcpy(to, from, 32), n -= 16, to += 16, from += 16;
    if (n >= 8) __builtin_memcpy(to, from, 16), n -= 8, to += 8, from += 8;
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}
static void fill_rows(const tc_conv_block *b, const conv_leaf *l, const conv_position *p, int64_t rows, uint32_t *out) {
    for (int64_t r = 0; r < rows; r++, p++, out += LDA) {
        const tc_conv_places *at = p->at;
        const conv_terms *x = at->inside ? l->whole : l->each, *last = x + (at->inside ? l->nwhole : l->neach);
        if (l->gaps) __builtin_memset(out, 0, PAIRS * 4);
        for (; x < last; x++) {
            bool here = true;
            for (int d = 0; d < 3 && !at->inside; d++) here &= x->tap->t[d] >= at->first[d] && x->tap->t[d] < at->last[d];
            if (here) copy_terms((halfword *)out + x->k, (const uint16_t *)b->x + p->base + x->offset, x->n);
            else __builtin_memset((halfword *)out + x->k, 0, (size_t)x->n * 2);
        }
    }
}
static void finish_tile(const tc_conv_block *b, const conv_position *p, int64_t rows, int64_t c, const float *sums) {
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
