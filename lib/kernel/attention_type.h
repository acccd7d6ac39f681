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

/* The right operand of a product (a tc_gemm with b, n and k set): `keys` keys from k0 on of key head hk, or their values. Read in place, or widened to
 * `widened`. n of keys in place counts all keys that follow: the product prefetches where its b is too large for the caches. */
static tc_gemm N_(leaf_of)(const tc_attention *a, const tc_attention_strides *x, int64_t b, int64_t hk, int64_t k0, int64_t keys, int64_t width,
                           bool values, T *widened) {
    const int64_t at = b * x->n + hk * x->h + k0 * x->l;
    int64_t l = x->l, e = x->e;
    const char *data = (const char *)x->data + at * (int64_t)tc_dtype_size(a->stored);
    if (a->stored != a->factor) {
        tc_widen(a->isa, NULL, a->stored, data, (const int64_t[]){1, 1, keys, width}, (const int64_t[]){0, 0, l, e}, (float *)(void *)widened);
        data = (const char *)widened, l = width, e = 1;
    }
    tc_gemm j = {.dtype = a->factor,
                 .n = values                          ? width
                      : data == (const char *)widened ? keys
                                                      : a->s - k0,
                 .k = values ? keys : width,
                 .b = data,
                 .b_rs = values ? l : e,
                 .b_cs = values ? e : l};
    return j;
}
static inline int64_t N_(keys_from)(const tc_attention *a, int64_t k0) { return a->s - k0 < TC_ATTENTION_LEAF ? a->s - k0 : TC_ATTENTION_LEAF; }
static const char *N_(packed_values)(const tc_attention *a, const char *packed, int64_t k0) {
    return packed + a->gemm->pack_bytes(a->s, a->d) + a->gemm->pack_bytes(a->dv, k0);
}
static size_t N_(head_bytes)(const tc_attention *a) { return a->gemm->pack_bytes(a->s, a->d) + a->gemm->pack_bytes(a->dv, a->s); }
static void N_(pack_head)(const tc_attention *a, int64_t b, int64_t hk, char *out, char *widened) {
    for (int64_t k0 = 0; k0 < a->s; k0 += TC_ATTENTION_LEAF) {
        const int64_t keys = N_(keys_from)(a, k0);
        tc_gemm j = N_(leaf_of)(a, &a->k, b, hk, k0, keys, a->d, false, (T *)(void *)widened);
        a->gemm->pack(&j, 0, keys, out + a->gemm->pack_bytes(k0, a->d));
        j = N_(leaf_of)(a, &a->v, b, hk, k0, keys, a->dv, true, (T *)(void *)widened);
        a->gemm->pack(&j, 0, j.n, (char *)N_(packed_values)(a, out, k0));
    }
}

/* Replaces scores by what the program makes of them. */
static void N_(change)(const tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t keys, T *s, int64_t ld) {
    if (a->changed_tiles) {
        a->changed_tiles->fn(a->changed_tiles->ctx, b * a->changed_row_n + h * a->changed_row_h + q0, rows, k0, keys, s, a->worker);
        return;
    }
    const tc_attention_strides *x = &a->changed;
    for (int64_t r = 0; r < rows; r++) {
        const T *from = (const T *)x->data + b * x->n + h * x->h + (q0 + r) * x->l + k0 * x->e;
        for (int64_t i = 0; i < keys; i++) s[r * ld + i] = from[i * x->e];
    }
}
/* Scores of queries [q0, q0 + rows) against keys [k0, k0 + keys): s = scale q k' + mask, rows ld apart. With out_left the scale may be left to the caller:
 * *out_left is then the positive factor that is still to be applied, else 1. Scores that a causal mask hides are not set. */
static void N_(scores)(const tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t keys, T *s, int64_t ld,
                       const char *packed, T *widened, void *work, T *out_left) {
    tc_gemm j = packed ? (tc_gemm){.dtype = a->factor, .n = keys, .k = a->d} : N_(leaf_of)(a, &a->k, b, h / a->group, k0, keys, a->d, false, widened);
    j.a = (const char *)a->q.data + (b * a->q.n + h * a->q.h + q0 * a->q.l) * (int64_t)tc_dtype_size(a->factor);
    j.m = rows, j.a_rs = a->q.l, j.a_cs = a->q.e;
    const bool changes = a->changed_tiles || a->changed.data,
               scales = a->factor != BITS && !changes; /* bfloat16 products are fastest without alpha */
    j.c = s, j.c_rs = ld, j.c_cs = 1, j.alpha = scales ? 1 : a->scale, j.beta = 1;
    int64_t end = a->causal && q0 + rows < k0 + keys ? q0 + rows - k0 : keys; /* the causal mask hides later keys from all rows */
    for (int64_t c = 0; c < end && !a->changed.data; c += TC_GEMM_NC)
        a->gemm->block(&j, 0, rows, c, end - c < TC_GEMM_NC ? end - c : TC_GEMM_NC, work, packed ? packed + a->gemm->pack_bytes(k0 + c, a->d) : NULL,
                       0);
    if (changes) N_(change)(a, b, h, q0, rows, k0, keys, s, ld);
    const bool leaves = scales && out_left && !a->masked && (T)a->scale > 0;
    if (out_left) *out_left = leaves ? (T)a->scale : 1;
    for (int64_t r = 0; (a->mask.data || (scales && !leaves)) && r < rows; r++) {
        T *row = s + r * ld;
        for (int64_t i = 0; scales && i < end; i++) row[i] *= (T)a->scale;
        if (!a->mask.data) continue;
        int64_t at = b * a->mask.n + h * a->mask.h + (q0 + r) * a->mask.l + k0 * a->mask.e;
        if (a->bool_mask) {
            const uint8_t *m = (const uint8_t *)a->mask.data + at;
            for (int64_t i = 0; i < end; i++) row[i] = m[i * a->mask.e] ? row[i] : (T)a->fill;
        } else {
            const T *m = (const T *)a->mask.data + at;
            for (int64_t i = 0; i < end; i++) row[i] += m[i * a->mask.e];
        }
    }
}
/* Applies the causal mask, if there is one: key `from` and later ones get the score -inf. */
static void N_(mask_future)(const tc_attention *a, T *row, int64_t from, int64_t keys) {
    for (int64_t i = from < 0 ? 0 : from; a->causal && i < keys; i++) row[i] = -INFINITY;
}

/* Does the mask allow any of these rows any of these keys? */
static bool N_(allowed)(const tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t keys) {
    if (!a->mask.data || (a->bool_mask && a->fill != -INFINITY)) return true;
    for (int64_t r = 0; r < (a->mask.l ? rows : 1); r++) {
        int64_t at = b * a->mask.n + h * a->mask.h + (q0 + r) * a->mask.l + k0 * a->mask.e;
        for (int64_t i = 0; i < keys; i++, at += a->mask.e)
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
/* The part of queries [q0, q0 + rows) from the leaf of keys at k0. */
static void N_(leaf_part)(const tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, N_(part) out, const char *packed,
                          T *score, T *widened, void *work) {
    const int64_t keys = N_(keys_from)(a, k0);
    const void *weights = score;
#ifdef ROUNDED
    if (a->factor != BITS) { /* rounded weights go behind the scores */
        uint16_t *to = (uint16_t *)(score + TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF);
        T scale;
        N_(scores)(a, b, h, q0, rows, k0, keys, score, TC_ATTENTION_LEAF, packed, widened, work, &scale);
        weights = to;
        for (int64_t r = 0; r < rows; r++)
            ROUNDED(score + r * TC_ATTENTION_LEAF, N_(visible_keys)(a, q0 + r - k0, keys), keys, scale, out.max + r, out.sum + r,
                    to + r * TC_ATTENTION_LEAF);
    } else
#endif
    {
        N_(scores)(a, b, h, q0, rows, k0, keys, score, TC_ATTENTION_LEAF, packed, widened, work, NULL);
        for (int64_t r = 0, n; r < rows; r += n) {
            n = rows - r < TC_ATTENTION_ROWS ? rows - r : TC_ATTENTION_ROWS;
            N_(weights)(a, q0 + r - k0, keys, n, score + r * TC_ATTENTION_LEAF, (N_(part)){out.max + r, out.sum + r, NULL});
        }
    }
    tc_gemm j =
        packed ? (tc_gemm){.dtype = a->factor, .n = a->dv, .k = keys} : N_(leaf_of)(a, &a->v, b, h / a->group, k0, keys, a->dv, true, widened);
    j.m = rows, j.a = weights, j.a_rs = TC_ATTENTION_LEAF, j.a_cs = 1, j.c = out.acc, j.c_rs = a->dv, j.c_cs = 1, j.alpha = 1, j.beta = 1;
    const char *values = packed ? N_(packed_values)(a, packed, k0) : NULL;
    for (int64_t c = 0, n; c < a->dv; c += n) {
        n = a->dv - c < TC_GEMM_NC ? a->dv - c : TC_GEMM_NC;
        a->gemm->block(&j, 0, rows, c, n, work, values ? values + a->gemm->pack_bytes(c, keys) : NULL, 0);
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
/* Writes the block of the mask to `tile` and points a's mask there. */
static void N_(make_mask)(tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, T *tile, int worker) {
    a->mask_tiles->fn(a->mask_tiles->ctx, b * a->mask_row_n + h * a->mask_row_h + q0, rows, k0, N_(keys_from)(a, k0), tile, worker);
    N_(tile_mask)(a, q0, k0, tile);
}
static uint32_t *N_(blocks_at)(const tc_attention *a, int64_t b, int64_t h, int64_t q0) {
    const int64_t tiles = (a->l + TC_ATTENTION_QUERIES - 1) / TC_ATTENTION_QUERIES, leaves = (a->s + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF;
    return a->blocks + (((a->mask_n > 1 ? b : 0) * a->mask_h + (a->mask_h > 1 ? h : 0)) * tiles + q0 / TC_ATTENTION_QUERIES) * leaves;
}
/* Eight bools as bits, the first one lowest, and back. */
static inline uint64_t N_(bits)(uint64_t bools) { return (bools * 0x0102040810204080u) >> 56; }
static inline uint64_t N_(bools)(uint64_t bits) {
    const uint64_t apart = ((bits & 0xff) * 0x0101010101010101u) & 0x8040201008040201u;
    return (apart + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}
static void N_(keep_block)(const uint8_t *tile, uint64_t *bits) {
    for (int w = 0; w < TC_MASK_WORDS; w++) {
        uint64_t bools[8], word = 0;
        __builtin_memcpy(bools, tile + w * 64, 64);
        for (int i = 0; i < 8; i++) word |= N_(bits)(bools[i]) << 8 * i;
        bits[w] = word;
    }
}
static void N_(kept_block)(const uint64_t *bits, uint8_t *tile) {
    for (int w = 0; w < TC_MASK_WORDS; w++)
        for (int i = 0; i < 8; i++) {
            const uint64_t bools = N_(bools)(bits[w] >> 8 * i);
            __builtin_memcpy(tile + w * 64 + 8 * i, &bools, 8);
        }
}
static void N_(survey_mask)(const tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, char *scratch, int worker) {
    uint32_t *block = N_(blocks_at)(a, b, h, q0);
    const uint8_t *tile = (const uint8_t *)scratch;
    tc_attention m = *a;
    for (int64_t k0 = 0; k0 < a->s; k0 += TC_ATTENTION_LEAF, block++) {
        const int64_t keys = N_(keys_from)(a, k0);
        if (keys < TC_ATTENTION_LEAF || rows < TC_ATTENTION_QUERIES) __builtin_memset(scratch, 0, TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF);
        N_(make_mask)(&m, b, h, q0, rows, k0, (T *)(void *)scratch, worker);
        int64_t allowed = 0;
        for (int64_t r = 0; r < rows; r++) {
            unsigned n = 0;
            for (int64_t i = 0; i < keys; i++) n += tile[r * TC_TILE_COLUMNS + i];
            allowed += n;
        }
        *block = !allowed && a->fill == -INFINITY ? TC_MASK_NONE : allowed == rows * keys ? TC_MASK_ALL : TC_MASK_SOME;
        if (*block != TC_MASK_SOME) continue;
        const uint32_t slot = __atomic_fetch_add(a->taken, 1, __ATOMIC_RELAXED);
        if ((int64_t)slot >= a->slots) continue;
        *block = TC_MASK_KEPT + slot;
        N_(keep_block)(tile, a->kept + (size_t)slot * TC_MASK_WORDS);
    }
}
/* Is a leaf absent? Else sets a's mask for it, where that comes in tiles. */
static bool N_(hidden)(tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, T *tile, int worker) {
    const uint32_t is = a->mask_tiles && a->bool_mask ? N_(blocks_at)(a, b, h, q0)[k0 / TC_ATTENTION_LEAF] : TC_MASK_SOME;
    if (is == TC_MASK_NONE) return true;
    if (is == TC_MASK_ALL) return a->mask.data = NULL, false;
    if (a->mask_tiles && is == TC_MASK_SOME) N_(make_mask)(a, b, h, q0, rows, k0, tile, worker);
    if (is >= TC_MASK_KEPT) {
        N_(kept_block)(a->kept + (size_t)(is - TC_MASK_KEPT) * TC_MASK_WORDS, (uint8_t *)tile);
        N_(tile_mask)(a, q0, k0, tile);
        return false;
    }
    return !N_(allowed)(a, b, h, q0, rows, k0, N_(keys_from)(a, k0));
}

static void N_(forward_tile)(const tc_attention *given, int64_t b, int64_t h, int64_t q0, int64_t rows, const char *packed, char *scratch,
                             int worker) {
    tc_attention own = *given, *const a = &own;
    own.worker = worker;
    int64_t leaves = (a->s + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF, dv = a->dv;
    if (a->causal && q0 + rows < a->s) leaves = (q0 + rows + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF;
    T *score = (T *)scratch, *mask_tile = score + N_(score_elements)(a), *widened = mask_tile + N_(mask_tile_elements)(a),
      *at = widened + N_(widened_elements)(a);
    N_(part) level[TC_ATTENTION_LEVELS + 1], spare[TC_ATTENTION_LEVELS + 2];
    int free_count = tc_attention_levels(a->s) + 2;
    for (int i = 0; i < free_count; i++, at += TC_ATTENTION_QUERIES * (dv + 2))
        spare[i] = (N_(part)){at, at + TC_ATTENTION_QUERIES, at + 2 * TC_ATTENTION_QUERIES};
    void *work = tc_align64(at);
    for (int64_t l = 0; l < leaves; l++) {
        const int64_t k0 = l * TC_ATTENTION_LEAF;
        N_(part) p = {NULL, NULL, NULL};
        if (N_(hidden)(a, b, h, q0, rows, k0, mask_tile, worker)) { /* the leaf is absent: only earlier ones are merged */
            int i = 0;
            for (; l >> i & 1; i++) {
                if (p.max && level[i].max) N_(merge)(level[i], p, rows, dv), spare[free_count++] = level[i];
                else if (level[i].max) p = level[i];
            }
            level[i] = p;
            continue;
        }
        p = spare[--free_count];
        N_(leaf_part)(a, b, h, q0, rows, k0, p, packed, score, widened, work);
        int i = 0;
        for (; l >> i & 1; i++)
            if (level[i].max) N_(merge)(level[i], p, rows, dv), spare[free_count++] = level[i];
        level[i] = p;
    }
    N_(part) total = {NULL, NULL, NULL};
    for (int i = 0; leaves >> i; i++) {
        if (!(leaves >> i & 1) || !level[i].max) continue;
        if (total.max) N_(merge)(level[i], total, rows, dv);
        else total = level[i];
    }
    const int64_t wide = (int64_t)tc_dtype_size(a->result);
    char *out = (char *)a->out + ((b * a->h + h) * a->l + q0) * dv * wide;
    T *lse = a->lse ? (T *)a->lse + (b * a->h + h) * a->l + q0 : NULL;
    T *const acc = (total.max ? total : spare[0]).acc;
    for (int64_t r = 0; r < rows; r++) {
        bool none = !total.max || total.max[r] == -INFINITY;
        char *to = out + r * dv * wide;
        T *from = acc + r * dv, *row = a->result == BITS ? (T *)(void *)to : from;
        const T part = none ? 0 : 1 / total.sum[r];
        if (none)
            for (int64_t i = 0; i < dv; i++) row[i] = (T)a->empty;
        else if (a->factor == BITS)
            for (int64_t i = 0; i < dv; i++) row[i] = from[i] / total.sum[r];
        else
            for (int64_t i = 0; i < dv; i++) row[i] = from[i] * part;
        if (lse) lse[r] = none ? -INFINITY : total.max[r] + LOG(total.sum[r]);
    }
    if (a->result != BITS) a->isa->cast[BITS][a->result](out, acc, rows * dv);
}
static size_t N_(forward_bytes)(const tc_attention *a) {
    size_t u = a->gemm->work_bytes(TC_ATTENTION_QUERIES, TC_ATTENTION_LEAF, a->d),
           w = a->gemm->work_bytes(TC_ATTENTION_QUERIES, a->dv < TC_GEMM_NC ? a->dv : TC_GEMM_NC, TC_ATTENTION_LEAF);
    return sizeof(T) * (size_t)(N_(score_elements)(a) + N_(mask_tile_elements)(a) + N_(widened_elements)(a) +
                                (tc_attention_levels(a->s) + 2) * TC_ATTENTION_QUERIES * (a->dv + 2)) +
           (u > w ? u : w) + 256;
}

/* ---- backward: P = exp(scores - logsumexp), dP = dO v', dS = scale P (dP - sum(dO O)) ----
 * dq = dS k sums over keys; dk = dS' q and dv = P' dO sum over queries, in leaves of 256, the queries of all heads that share a key head in sequence. */
static void N_(add)(T *into, const T *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = from[i] + into[i];
}
static void N_(product)(const tc_attention *a, tc_gemm j, void *work) {
    j.dtype = BITS, j.alpha = 1, j.beta = 1;
    for (int64_t r = 0; r < j.m; r += TC_GEMM_MC)
        for (int64_t c = 0; c < j.n; c += TC_GEMM_NC)
            a->gemm->block(&j, r, j.m - r < TC_GEMM_MC ? j.m - r : TC_GEMM_MC, c, j.n - c < TC_GEMM_NC ? j.n - c : TC_GEMM_NC, work, NULL, 0);
}
/* A leaf of queries: [q0, q0 + rows) of head h. */
typedef struct {
    int64_t b, h, q0, rows;
    const T *q, *g, *o, *lse; /* their rows of q, dO and O; their logsumexp */
} N_(queries);
static N_(queries) N_(queries_at)(const tc_attention *a, int64_t b, int64_t h, int64_t q0) {
    return (N_(queries)){b,
                         h,
                         q0,
                         a->l - q0 < TC_LEAF ? a->l - q0 : TC_LEAF,
                         (const T *)a->q.data + b * a->q.n + h * a->q.h + q0 * a->q.l,
                         (const T *)a->grad.data + b * a->grad.n + h * a->grad.h + q0 * a->grad.l,
                         (const T *)a->fwd.data + b * a->fwd.n + h * a->fwd.h + q0 * a->fwd.l,
                         (const T *)a->lse + (b * a->h + h) * a->l + q0};
}
/* sum(dO O) of row r. */
static T N_(delta)(const tc_attention *a, const N_(queries) * f, int64_t r) {
    T line[TC_LEAF];
    TREE t;
    t.count = 0;
    for (int64_t i = 0; i < a->dv; i += TC_LEAF) {
        int64_t n = a->dv - i < TC_LEAF ? a->dv - i : TC_LEAF;
        T sum;
        for (int64_t x = 0; x < n; x++) line[x] = f->g[r * a->grad.l + (i + x) * a->grad.e] * f->o[r * a->fwd.l + (i + x) * a->fwd.e];
        a->isa->reduce[BITS]->sum_leaves(&sum, line, n);
        TREE_PUSH(&t, sum);
    }
    return TREE_SUM(&t);
}
/* P and dS of a leaf, both [rows][s]. */
static void N_(queries_weights)(const tc_attention *a, const N_(queries) * f, const T *v, T *p, T *ds, void *work) {
    const int64_t s = a->s;
    for (int64_t r = 0; r < f->rows; r += TC_GEMM_MC)
        N_(scores)(a, f->b, f->h, f->q0 + r, f->rows - r < TC_GEMM_MC ? f->rows - r : TC_GEMM_MC, 0, s, p + r * s, s, NULL, NULL, work, NULL);
    for (int64_t r = 0; r < f->rows; r++) {
        T *row = p + r * s, m = f->lse[r] == -INFINITY ? 0 : f->lse[r];
        N_(mask_future)(a, row, f->q0 + r + 1, s);
        for (int64_t i = 0; i < s; i++) row[i] -= m;
        a->isa->scalar[BITS][TC_X_EXP](row, row, NULL, NULL, s);
    }
    N_(product)
    (a,
     (tc_gemm){.m = f->rows,
               .n = s,
               .k = a->dv,
               .a = f->g,
               .a_rs = a->grad.l,
               .a_cs = a->grad.e,
               .b = v,
               .b_rs = a->v.e,
               .b_cs = a->v.l,
               .c = ds,
               .c_rs = s,
               .c_cs = 1},
     work);
    for (int64_t r = 0; r < f->rows; r++) {
        const T delta = N_(delta)(a, f, r);
        for (int64_t i = 0; i < s; i++) ds[r * s + i] = p[r * s + i] == 0 ? 0 : p[r * s + i] * (ds[r * s + i] - delta) * (T)a->scale;
    }
}
/* dq of a leaf, stored to its place; the leaf's terms of dk [s][d] and dv [s][dv], to kv one after the other. */
static void N_(queries_gradients)(const tc_attention *a, const N_(queries) * f, const T *k, const T *p, const T *ds, T *kv, void *work) {
    const int64_t s = a->s, d = a->d;
    N_(product)
    (a,
     (tc_gemm){.m = f->rows,
               .n = d,
               .k = s,
               .a = ds,
               .a_rs = s,
               .a_cs = 1,
               .b = k,
               .b_rs = a->k.l,
               .b_cs = a->k.e,
               .c = (T *)a->dq + ((f->b * a->h + f->h) * a->l + f->q0) * d,
               .c_rs = d,
               .c_cs = 1},
     work);
    N_(product)
    (a,
     (tc_gemm){.m = s, .n = d, .k = f->rows, .a = ds, .a_rs = 1, .a_cs = s, .b = f->q, .b_rs = a->q.l, .b_cs = a->q.e, .c = kv, .c_rs = d, .c_cs = 1},
     work);
    N_(product)
    (a,
     (tc_gemm){.m = s,
               .n = a->dv,
               .k = f->rows,
               .a = p,
               .a_rs = 1,
               .a_cs = s,
               .b = f->g,
               .b_rs = a->grad.l,
               .b_cs = a->grad.e,
               .c = kv + s * d,
               .c_rs = a->dv,
               .c_cs = 1},
     work);
}
static void N_(backward_head)(const tc_attention *a, int64_t b, int64_t hk, char *scratch) {
    int64_t s = a->s, d = a->d, dv = a->dv, per_head = (a->l + TC_LEAF - 1) / TC_LEAF, leaves = per_head * a->group, area = s * (d + dv);
    T *p = (T *)scratch, *ds = p + TC_LEAF * s, *at = ds + TC_LEAF * s;
    T *level[TC_ATTENTION_LEVELS + 1], *spare[TC_ATTENTION_LEVELS + 2]; /* dk then dv */
    int free_count = tc_attention_leaf_levels(leaves) + 2;
    for (int i = 0; i < free_count; i++, at += area) spare[i] = at;
    void *work = tc_align64(at);
    const T *k = (const T *)a->k.data + b * a->k.n + hk * a->k.h, *v = (const T *)a->v.data + b * a->v.n + hk * a->v.h;
    for (int64_t l = 0; l < leaves; l++) {
        const N_(queries) f = N_(queries_at)(a, b, hk * a->group + l / per_head, l % per_head * TC_LEAF);
        T *kv = spare[--free_count];
        N_(queries_weights)(a, &f, v, p, ds, work);
        N_(queries_gradients)(a, &f, k, p, ds, kv, work);
        int i = 0;
        for (; l >> i & 1; i++) N_(add)(kv, level[i], area), spare[free_count++] = level[i];
        level[i] = kv;
    }
    T *total = NULL;
    for (int i = 0; leaves >> i; i++) {
        if (!(leaves >> i & 1)) continue;
        if (total) N_(add)(total, level[i], area);
        else total = level[i];
    }
    T *dk = (T *)a->dk + (b * a->h / a->group + hk) * s * d, *dvv = (T *)a->dvalue + (b * a->h / a->group + hk) * s * dv;
    for (int64_t i = 0; i < s * d; i++) dk[i] = total ? total[i] : 0;
    for (int64_t i = 0; i < s * dv; i++) dvv[i] = total ? total[s * d + i] : 0;
}
static size_t N_(backward_bytes)(const tc_attention *a) {
    int64_t leaves = (a->l + TC_LEAF - 1) / TC_LEAF * a->group, n = a->s > a->d ? a->s : a->d, widest = n > a->dv ? n : a->dv;
    int64_t k = a->d > a->dv ? a->d : a->dv;
    if (a->s > k) k = a->s;
    return sizeof(T) * (size_t)(2 * TC_LEAF * a->s + (tc_attention_leaf_levels(leaves) + 2) * a->s * (a->d + a->dv)) +
           a->gemm->work_bytes(TC_GEMM_MC, widest < TC_GEMM_NC ? widest : TC_GEMM_NC, k) + 256;
}

extern const tc_attention_ops TC_ROW(N_(tc_attention));
const tc_attention_ops TC_ROW(N_(tc_attention)) = {N_(head_bytes),    N_(pack_head),     N_(forward_tile),  N_(survey_mask),
                                                   N_(forward_bytes), N_(backward_head), N_(backward_bytes)};
