/* The inner loops of attention (tc_attention_ops) for one type, included by attention_*.isa.c with T, its suffix S, its dtype BITS, EXP, LOG, FMA and the
 * names of the tree's functions; ROUNDED is defined where weights may be bfloat16 (attention_rounded.h).
 *
 *     forward, a tile of up to 64 queries:
 *       for each leaf of 128 keys:   scores = scale q k' + mask;  max, weights = exp(scores - max), sum;  acc = weights v
 *                                    merged with earlier leaves by the tree, rescaling to the larger maximum
 *       out = acc / sum */
#include "base/ints.h"

#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, S)

/* What a tile of queries has from one leaf of keys, or from several merged: by row the maximum, the sum of exponentials, [dv] weighted values. */
typedef struct {
    T *max, *sum, *acc;
} N_(part);

/* Merges a, the earlier keys, into b. */
static void N_(merge)(N_(part) a, N_(part) b, int64_t rows, int64_t dv) {
    T wa[TC_ATTENTION_QUERIES] = {0}, wb[TC_ATTENTION_QUERIES] = {0}; /* factors; negative: the row attends to no key there, the part is absent */
    __builtin_memcpy(wa, a.max, (size_t)rows * sizeof(T)), __builtin_memcpy(wb, b.max, (size_t)rows * sizeof(T));
    TC_VECTOR_LOOP
#pragma GCC unroll 1
    for (int r = 0; r < TC_ATTENTION_QUERIES; r++) {
        T x = wa[r], y = wb[r], m = x > y ? x : y;
        m = x != x ? x : m;
        wa[r] = x == -INFINITY ? -1 : EXP(x - m), wb[r] = y == -INFINITY ? -1 : EXP(y - m);
    }
    for (int64_t r = 0; r < rows; r++) b.max[r] = a.max[r] > b.max[r] || a.max[r] != a.max[r] ? a.max[r] : b.max[r];
    for (int64_t r = 0; r < rows; r++) {
        if (wa[r] < 0) continue;
        if (wb[r] < 0) {
            b.sum[r] = a.sum[r];
            for (int64_t i = 0; i < dv; i++) b.acc[r * dv + i] = a.acc[r * dv + i];
            continue;
        }
        b.sum[r] = FMA(a.sum[r], wa[r], b.sum[r] * wb[r]);
        for (int64_t i = 0; i < dv; i++) b.acc[r * dv + i] = FMA(a.acc[r * dv + i], wa[r], b.acc[r * dv + i] * wb[r]);
    }
}

/* How many keys the leaf at k0 has. */
static inline int64_t N_(keys_from)(const tc_attention *a, int64_t k0) { return a->s - k0 < TC_ATTENTION_LEAF ? a->s - k0 : TC_ATTENTION_LEAF; }
/* The right operand of a product (a tc_gemm with b, n and k set): the leaf of keys at k0 of key head hk, or of their values. Read in place, or widened to
 * `widened`. n of keys in place counts all keys that follow: the product prefetches where its b is too large for the caches. */
static tc_gemm N_(leaf_of)(const tc_attention *a, const tc_attention_strides *x, int64_t b, int64_t hk, int64_t k0, T *widened) {
    const bool values = x == &a->v;
    const int64_t keys = N_(keys_from)(a, k0), width = values ? a->dv : a->d, at = b * x->n + hk * x->h + k0 * x->l;
    int64_t l = x->l, e = x->e, following = a->s - k0;
    const char *data = (const char *)x->data + at * (int64_t)tc_dtype_size(a->stored);
    if (a->stored != a->factor) {
        tc_widen(a->isa, NULL, a->stored, data, (const int64_t[]){1, 1, keys, width}, (const int64_t[]){0, 0, l, e}, (float *)(void *)widened);
        data = (const char *)widened, l = width, e = 1, following = keys;
    }
    if (values) return (tc_gemm){.dtype = a->factor, .n = width, .k = keys, .b = data, .b_rs = l, .b_cs = e};
    return (tc_gemm){.dtype = a->factor, .n = following, .k = width, .b = data, .b_rs = e, .b_cs = l};
}
static const char *N_(packed_values)(const tc_attention *a, const char *packed, int64_t k0) {
    return packed + a->gemm->pack_bytes(a->s, a->d) + a->gemm->pack_bytes(a->dv, k0);
}
static size_t N_(head_bytes)(const tc_attention *a) { return a->gemm->pack_bytes(a->s, a->d) + a->gemm->pack_bytes(a->dv, a->s); }
static void N_(pack_head)(const tc_attention *a, int64_t b, int64_t hk, char *out, char *widened) {
    for (int64_t k0 = 0; k0 < a->s; k0 += TC_ATTENTION_LEAF) {
        const int64_t keys = N_(keys_from)(a, k0);
        tc_gemm j = N_(leaf_of)(a, &a->k, b, hk, k0, (T *)(void *)widened);
        a->gemm->pack(&j, 0, keys, out + a->gemm->pack_bytes(k0, a->d));
        j = N_(leaf_of)(a, &a->v, b, hk, k0, (T *)(void *)widened);
        a->gemm->pack(&j, 0, j.n, (char *)N_(packed_values)(a, out, k0));
    }
}

/* Scores of a tile of queries against keys [k0, k0 + keys), rows ld apart. */
typedef struct {
    tc_attention_tile q;
    int64_t k0, keys, ld;
    T *s;
} N_(block);
/* What a worker computes a tile with: the head's packed keys and values, or NULL; room for scores, for a block of the mask, for a widened leaf, and for
 * products. */
typedef struct {
    const char *packed;
    T *score, *mask, *widened;
    void *work;
} N_(buffers);
/* Where a mask, or what replaces the scores, has the first element of row r of a block; in elements. */
static inline int64_t N_(row_at)(const tc_attention_strides *x, const N_(block) * to, int64_t r) {
    return to->q.b * x->n + to->q.h * x->h + (to->q.q0 + r) * x->l + to->k0 * x->e;
}

/* Replaces scores by what the program makes of them. */
static void N_(change)(const tc_attention *a, const N_(block) * to) {
    const tc_attention_tile *q = &to->q;
    if (a->changed_tiles) {
        const int64_t row = q->b * a->changed_row_n + q->h * a->changed_row_h + q->q0;
        a->changed_tiles->fn(a->changed_tiles->ctx, row, q->rows, to->k0, to->keys, to->s, a->worker);
        return;
    }
    const tc_attention_strides *x = &a->changed;
    for (int64_t r = 0; r < q->rows; r++) {
        const T *from = (const T *)x->data + N_(row_at)(x, to, r);
        for (int64_t i = 0; i < to->keys; i++) to->s[r * to->ld + i] = from[i * x->e];
    }
}
/* Applies the mask to the first `end` scores of row r. */
static inline __attribute__((always_inline)) void N_(apply_strided)(const tc_attention *a, int64_t at, int64_t e, T *row, int64_t end) {
    const T fill = (T)a->fill;
    if (a->bool_mask) {
        const uint8_t *m = (const uint8_t *)a->mask.data + at;
        TC_VECTOR_LOOP
        for (int64_t i = 0; i < end; i++) row[i] = m[i * e] ? row[i] : fill;
    } else {
        const T *m = (const T *)a->mask.data + at;
        TC_VECTOR_LOOP
        for (int64_t i = 0; i < end; i++) row[i] += m[i * e];
    }
}
static void N_(apply_mask)(const tc_attention *a, const N_(block) * to, int64_t r, int64_t end) {
    const int64_t at = N_(row_at)(&a->mask, to, r);
    if (a->mask.e == 1) N_(apply_strided)(a, at, 1, to->s + r * to->ld, end);
    else N_(apply_strided)(a, at, a->mask.e, to->s + r * to->ld, end);
}
/* Computes a block of scores, scale q k' + mask. With out_left the scale may be left to the caller: *out_left is then the positive factor that is still to
 * be applied, else 1. Scores that a causal mask hides are not set. */
static void N_(scores)(const tc_attention *a, const N_(block) * to, const N_(buffers) * w, T *out_left) {
    const tc_attention_tile *q = &to->q;
    const int64_t rows = q->rows, k0 = to->k0, last = q->q0 + rows - k0;
    tc_gemm j = w->packed ? (tc_gemm){.dtype = a->factor, .n = to->keys, .k = a->d} : N_(leaf_of)(a, &a->k, q->b, q->h / a->group, k0, w->widened);
    j.a = (const char *)a->q.data + (q->b * a->q.n + q->h * a->q.h + q->q0 * a->q.l) * (int64_t)tc_dtype_size(a->factor);
    j.m = rows, j.a_rs = a->q.l, j.a_cs = a->q.e;
    const bool changes = a->changed_tiles || a->changed.data,
               scales = a->factor != BITS && !changes; /* bfloat16 products are fastest without alpha */
    j.c = to->s, j.c_rs = to->ld, j.c_cs = 1, j.alpha = scales ? 1 : a->scale, j.beta = 1;
    const int64_t end = a->causal && last < to->keys ? last : to->keys; /* the causal mask hides later keys from all rows */
    for (int64_t c = 0; c < end && !a->changed.data; c += TC_GEMM_NC) {
        const char *packed = w->packed ? w->packed + a->gemm->pack_bytes(k0 + c, a->d) : NULL;
        a->gemm->block(&j, 0, rows, c, end - c < TC_GEMM_NC ? end - c : TC_GEMM_NC, w->work, packed, 0);
    }
    if (changes) N_(change)(a, to);
    const bool leaves = scales && out_left && !a->masked && (T)a->scale > 0;
    if (out_left) *out_left = leaves ? (T)a->scale : 1;
    for (int64_t r = 0; (a->mask.data || (scales && !leaves)) && r < rows; r++) {
        T *row = to->s + r * to->ld;
        for (int64_t i = 0; scales && i < end; i++) row[i] *= (T)a->scale;
        if (a->mask.data) N_(apply_mask)(a, to, r, end);
    }
}
/* Applies the causal mask, if there is one: key `from` and later ones get the score -inf. */
static void N_(mask_future)(const tc_attention *a, T *row, int64_t from, int64_t keys) {
    for (int64_t i = from < 0 ? 0 : from; a->causal && i < keys; i++) row[i] = -INFINITY;
}

/* Does the mask allow any row of a tile any key of the leaf at k0? */
static bool N_(allowed)(const tc_attention *a, const tc_attention_tile *q, int64_t k0) {
    if (!a->mask.data || (a->bool_mask && a->fill != -INFINITY)) return true;
    const N_(block) to = {.q = *q, .k0 = k0, .keys = N_(keys_from)(a, k0)};
    for (int64_t r = 0; r < (a->mask.l ? q->rows : 1); r++) {
        int64_t at = N_(row_at)(&a->mask, &to, r);
        for (int64_t i = 0; i < to.keys; i++, at += a->mask.e)
            if (a->bool_mask ? ((const uint8_t *)a->mask.data)[at] != 0 : ((const T *)a->mask.data)[at] != -INFINITY) return true;
    }
    return false;
}

/* How many of `keys` keys a query may see under the causal mask. first: position of the query minus that of the first key. */
static inline int64_t N_(visible_keys)(const tc_attention *a, int64_t first, int64_t keys) {
    if (!a->causal || first + 1 >= keys) return keys;
    return first < 0 ? 0 : first + 1;
}
/* Turns the scores of some rows into weights exp(score - max), and writes max and sum. first: position of the first row's query minus that of the first
 * key. */
static void N_(weights)(const tc_attention *a, int64_t first, int64_t keys, int64_t rows, T *score, N_(part) out) {
    const tc_reduce_ops *reduce = a->isa->reduce[BITS];
    for (int64_t r = 0; r < rows; r++) N_(mask_future)(a, score + r * TC_ATTENTION_LEAF, first + r + 1, keys);
    reduce->max_rows(out.max, score, rows, keys, TC_ATTENTION_LEAF);
    for (int64_t r = 0; r < rows; r++) {
        T *row = score + r * TC_ATTENTION_LEAF, m = out.max[r] == -INFINITY ? 0 : out.max[r];
        const int64_t visible_keys = N_(visible_keys)(a, first + r, keys); /* not exp(-inf): its intermediate subnormals are slow */
        const int64_t lines = (visible_keys + 15) / 16 * 16;               /* whole vectors: the compiler's scalar remainder loop is slow */
        for (int64_t i = visible_keys; i < lines; i++) row[i] = m;
        TC_VECTOR_LOOP
        for (int64_t i = 0; i < lines; i++) row[i] = EXP(row[i] - m);
        for (int64_t i = visible_keys; i < keys; i++) row[i] = 0;
    }
    reduce->sum_rows(out.sum, score, rows, keys, TC_ATTENTION_LEAF);
}
/* The part of a tile from the leaf of keys at k0. */
static void N_(leaf_part)(const tc_attention *a, const tc_attention_tile *q, int64_t k0, const N_(buffers) * w, N_(part) out) {
    const int64_t keys = N_(keys_from)(a, k0), rows = q->rows;
    const N_(block) to = {*q, k0, keys, TC_ATTENTION_LEAF, w->score};
    const void *weights = w->score;
#ifdef ROUNDED
    if (a->factor != BITS) { /* rounded weights go behind the scores */
        uint16_t *rounded = (uint16_t *)(w->score + TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF);
        T scale;
        N_(scores)(a, &to, w, &scale);
        weights = rounded;
        for (int64_t r = 0; r < rows; r++)
            ROUNDED(w->score + r * TC_ATTENTION_LEAF, N_(visible_keys)(a, q->q0 + r - k0, keys), keys, scale, out.max + r, out.sum + r,
                    rounded + r * TC_ATTENTION_LEAF);
    } else
#endif
    {
        N_(scores)(a, &to, w, NULL);
        for (int64_t r = 0, n; r < rows; r += n) {
            n = rows - r < TC_ATTENTION_ROWS ? rows - r : TC_ATTENTION_ROWS;
            N_(weights)(a, q->q0 + r - k0, keys, n, w->score + r * TC_ATTENTION_LEAF, (N_(part)){out.max + r, out.sum + r, NULL});
        }
    }
    tc_gemm j = w->packed ? (tc_gemm){.dtype = a->factor, .n = a->dv, .k = keys} : N_(leaf_of)(a, &a->v, q->b, q->h / a->group, k0, w->widened);
    j.m = rows, j.a = weights, j.a_rs = TC_ATTENTION_LEAF, j.a_cs = 1, j.c = out.acc, j.c_rs = a->dv, j.c_cs = 1, j.alpha = 1, j.beta = 1;
    const char *values = w->packed ? N_(packed_values)(a, w->packed, k0) : NULL;
    for (int64_t c = 0, n; c < a->dv; c += n) {
        n = a->dv - c < TC_GEMM_NC ? a->dv - c : TC_GEMM_NC;
        a->gemm->block(&j, 0, rows, c, n, w->work, values ? values + a->gemm->pack_bytes(c, keys) : NULL, 0);
    }
}

/* Elements of the buffer for a widened leaf of keys or values. */
static int64_t N_(widened_elements)(const tc_attention *a) { return a->stored == a->factor ? 0 : TC_ATTENTION_LEAF * (a->d > a->dv ? a->d : a->dv); }
/* Elements of the buffer for a tile's scores, and the rounded weights behind them. */
static int64_t N_(score_elements)(const tc_attention *a) { return TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF * (a->factor == BITS ? 1 : 2); }
/* ---- masks in tiles ---- */
static int64_t N_(mask_tile_elements)(const tc_attention *a) { return a->mask_tiles ? TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF : 0; }
static void N_(tile_mask)(tc_attention *a, int64_t q0, int64_t k0, const T *tile) {
    const size_t before = (size_t)(q0 * TC_TILE_COLUMNS + k0) * (a->bool_mask ? 1 : sizeof(T));
    a->mask = (tc_attention_strides){(const void *)((uintptr_t)tile - before), 0, 0, TC_TILE_COLUMNS, 1};
}
/* Writes the block of the mask to `to` and points a's mask there. */
static void N_(make_mask)(tc_attention *a, const tc_attention_tile *q, int64_t k0, T *to) {
    const int64_t row = q->b * a->mask_row_n + q->h * a->mask_row_h + q->q0;
    a->mask_tiles->fn(a->mask_tiles->ctx, row, q->rows, k0, N_(keys_from)(a, k0), to, a->worker);
    N_(tile_mask)(a, q->q0, k0, to);
}
/* Eight bits, the lowest one first, as bools. */
static inline uint64_t N_(bools)(uint64_t bits) {
    const uint64_t apart = ((bits & 0xff) * 0x0101010101010101u) & 0x8040201008040201u;
    return (apart + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}
static void N_(kept_block)(const uint64_t *bits, uint8_t *tile) {
    for (int w = 0; w < TC_MASK_WORDS; w++)
        for (int i = 0; i < 8; i++) {
            const uint64_t bools = N_(bools)(bits[w] >> 8 * i);
            __builtin_memcpy(tile + w * 64 + 8 * i, &bools, 8);
        }
}
/* Does the mask hide the leaf at k0 from all queries of a tile? If not, sets a's mask for it, where that comes in tiles. */
static bool N_(hidden)(tc_attention *a, const tc_attention_tile *q, int64_t k0, T *mask) {
    const uint32_t is = a->mask_tiles && a->bool_mask ? tc_attention_blocks_at(a, q)[k0 / TC_ATTENTION_LEAF] : TC_MASK_SOME;
    if (is == TC_MASK_NONE) return true;
    if (is == TC_MASK_ALL) return a->mask.data = NULL, false;
    if (a->mask_tiles && is == TC_MASK_SOME) N_(make_mask)(a, q, k0, mask);
    if (is >= TC_MASK_KEPT) {
        N_(kept_block)(a->kept + (size_t)(is - TC_MASK_KEPT) * TC_MASK_WORDS, (uint8_t *)mask);
        N_(tile_mask)(a, q->q0, k0, mask);
        return false;
    }
    return !N_(allowed)(a, q, k0);
}

/* ---- the tree of parts ---- */
/* level[i] is the part of 2^i leaves that were merged; spare parts are free. A part whose max is NULL is absent: all of its leaves are hidden. */
typedef struct {
    N_(part) level[TC_ATTENTION_LEVELS + 1], spare[TC_ATTENTION_LEVELS + 2];
    int free_count;
    int64_t rows, dv;
} N_(parts);
/* Takes the spare parts from memory at `at`; returns where they end. */
static T *N_(parts_init)(N_(parts) * t, const tc_attention *a, int64_t rows, T *at) {
    t->free_count = tc_attention_levels(a->s) + 2, t->rows = rows, t->dv = a->dv;
    for (int i = 0; i < t->free_count; i++, at += TC_ATTENTION_QUERIES * (a->dv + 2))
        t->spare[i] = (N_(part)){at, at + TC_ATTENTION_QUERIES, at + 2 * TC_ATTENTION_QUERIES};
    return at;
}
/* Adds leaf l, which may be absent. */
static void N_(parts_push)(N_(parts) * t, int64_t l, N_(part) p) {
    int i = 0;
    for (; l >> i & 1; i++) {
        if (!t->level[i].max) continue;
        if (p.max) N_(merge)(t->level[i], p, t->rows, t->dv), t->spare[t->free_count++] = t->level[i];
        else p = t->level[i];
    }
    t->level[i] = p;
}
static N_(part) N_(parts_total)(const N_(parts) * t, int64_t leaves) {
    N_(part) total = {NULL, NULL, NULL};
    for (int i = 0; leaves >> i; i++) {
        if (!(leaves >> i & 1) || !t->level[i].max) continue;
        if (total.max) N_(merge)(t->level[i], total, t->rows, t->dv);
        else total = t->level[i];
    }
    return total;
}

/* Writes the results of a tile: acc / sum, or `empty` for rows that attend to no key. total.max is NULL if no row attends to one. */
static void N_(store_tile)(const tc_attention *a, const tc_attention_tile *q, N_(part) total) {
    const int64_t wide = (int64_t)tc_dtype_size(a->result), dv = a->dv, at = (q->b * a->h + q->h) * a->l + q->q0;
    char *out = (char *)a->out + at * dv * wide;
    for (int64_t r = 0; r < q->rows; r++) {
        const bool none = !total.max || total.max[r] == -INFINITY;
        char *to = out + r * dv * wide;
        T *from = total.acc + r * dv, *row = a->result == BITS ? (T *)(void *)to : from;
        const T part = none ? 0 : 1 / total.sum[r];
        if (none)
            for (int64_t i = 0; i < dv; i++) row[i] = (T)a->empty;
        else if (a->factor == BITS)
            for (int64_t i = 0; i < dv; i++) row[i] = from[i] / total.sum[r];
        else
            for (int64_t i = 0; i < dv; i++) row[i] = from[i] * part;
        if (a->lse) ((T *)a->lse)[at + r] = none ? -INFINITY : total.max[r] + LOG(total.sum[r]);
    }
    if (a->result != BITS) a->isa->cast[BITS][a->result](out, total.acc, q->rows * dv);
}
static void N_(forward_tile)(const tc_attention *given, const tc_attention_tile *q, const char *packed, char *scratch, int worker) {
    tc_attention own = *given, *const a = &own;
    own.worker = worker;
    int64_t leaves = (a->s + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF;
    if (a->causal && q->q0 + q->rows < a->s) leaves = (q->q0 + q->rows + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF;
    N_(buffers) w = {.packed = packed, .score = (T *)scratch};
    w.mask = w.score + N_(score_elements)(a), w.widened = w.mask + N_(mask_tile_elements)(a);
    N_(parts) parts;
    w.work = tc_align64(N_(parts_init)(&parts, a, q->rows, w.widened + N_(widened_elements)(a)));
    for (int64_t l = 0; l < leaves; l++) {
        N_(part) p = {NULL, NULL, NULL};
        if (!N_(hidden)(a, q, l * TC_ATTENTION_LEAF, w.mask)) {
            p = parts.spare[--parts.free_count];
            N_(leaf_part)(a, q, l * TC_ATTENTION_LEAF, &w, p);
        }
        N_(parts_push)(&parts, l, p);
    }
    N_(part) total = N_(parts_total)(&parts, leaves);
    if (!total.max) total.acc = parts.spare[0].acc;
    N_(store_tile)(a, q, total);
}
static size_t N_(forward_bytes)(const tc_attention *a) {
    size_t u = a->gemm->work_bytes(TC_ATTENTION_QUERIES, TC_ATTENTION_LEAF, a->d),
           w = a->gemm->work_bytes(TC_ATTENTION_QUERIES, a->dv < TC_GEMM_NC ? a->dv : TC_GEMM_NC, TC_ATTENTION_LEAF);
    return sizeof(T) * (size_t)(N_(score_elements)(a) + N_(mask_tile_elements)(a) + N_(widened_elements)(a) +
                                (tc_attention_levels(a->s) + 2) * TC_ATTENTION_QUERIES * (a->dv + 2)) +
           (u > w ? u : w) + 256;
}

#include "kernel/attention_backward.h"

extern const tc_attention_ops TC_ROW(N_(tc_attention));
const tc_attention_ops TC_ROW(N_(tc_attention)) = {N_(head_bytes),    N_(pack_head),     N_(forward_tile),
                                                   N_(forward_bytes), N_(backward_head), N_(backward_bytes)};
