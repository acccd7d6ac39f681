/* Scaled dot product attention and its backward as kernels (attention.h): reads the arguments, widens 16-bit tensors, and splits the work into tasks: tiles
 * of queries for the forward pass, key heads for the backward pass. */
#include "kernel/attention.h"

#include <math.h>

#include "base/ints.h"
#include "kernel/attention_impl.h"

/* ---- arguments ---- */
static tc_attention_strides strides_of(const tc_tensor *t) {
    int r = t->rank;
    tc_attention_strides s = {t->storage ? tc_tensor_data(t) : NULL, 0, 0, t->stride[r - 2], t->stride[r - 1]};
    if (r == 4) s.n = t->stride[0], s.h = t->stride[1];
    if (r == 3) s.n = t->stride[0];
    return s;
}
/* The mask's strides, 0 along broadcast dimensions. */
static tc_attention_strides mask_strides(const tc_tensor *t) {
    int r = t->rank;
    tc_attention_strides s = {t->storage ? tc_tensor_data(t) : NULL, 0, 0, 0, 0};
    if (r >= 1 && t->size[r - 1] != 1) s.e = t->stride[r - 1];
    if (r >= 2 && t->size[r - 2] != 1) s.l = t->stride[r - 2];
    if (r >= 3 && t->size[r - 3] != 1) s.h = t->stride[r - 3];
    if (r >= 4 && t->size[r - 4] != 1) s.n = t->stride[r - 4];
    return s;
}
/* Bytes of a float32 copy of a 16-bit tensor; widen makes it at *scratch, contiguous, and points s to it. */
static size_t widened(const tc_tensor *t) { return t && tc_is_narrow(t->dtype) ? tc_pad64((size_t)tc_tensor_numel(t) * 4) : 0; }
static void widen(const tc_kcall *c, const tc_tensor *t, tc_attention_strides *s, bool mask, char **scratch) {
    if (!t || !tc_is_narrow(t->dtype)) return;
    const int r = t->rank;
    int64_t size[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
    for (int i = 0; i < r && i < 4; i++) size[4 - r + i] = t->size[i], stride[4 - r + i] = t->stride[i];
    float *out = (float *)*scratch;
    tc_widen(c->isa, c->pool, t->dtype, tc_tensor_data(t), size, stride, out);
    *scratch += widened(t);
    tc_tensor flat = *t;
    tc_storage storage = {.data = out};
    int64_t step = 1;
    for (int i = r - 1; i >= 0; i--) flat.stride[i] = step, step *= t->size[i];
    flat.storage = &storage, flat.offset = 0;
    *s = mask ? mask_strides(&flat) : strides_of(&flat);
    s->data = out;
}

/* Arguments by index: first: query, key, value; mask; causal; scale. */
static tc_attention read_args(const tc_kcall *c, int first, int mask, int causal, int scale) {
    const tc_tensor *q = tc_k_tensor(c, first), *k = tc_k_tensor(c, first + 1), *v = tc_k_tensor(c, first + 2),
                    *m = tc_k_given(c, mask) ? tc_k_tensor(c, mask) : NULL;
    int r = q->rank;
    tc_attention a = {.isa = c->isa,
                      .dtype = q->dtype == TC_F64 ? TC_F64 : TC_F32,
                      .stored = q->dtype == TC_F64 ? TC_F64 : TC_F32,
                      .result = q->dtype,
                      .n = r >= 3 ? q->size[0] : 1,
                      .h = r == 4 ? q->size[1] : 1,
                      .l = q->size[r - 2],
                      .d = q->size[r - 1],
                      .s = k->size[r - 2],
                      .dv = v->size[r - 1],
                      .q = strides_of(q),
                      .k = strides_of(k),
                      .v = strides_of(v),
                      .fill = -INFINITY,
                      .causal = tc_k_bool(c, causal)};
    a.factor = a.dtype;
    a.gemm = a.dtype == TC_F64 ? c->isa->gemm_f64 : c->isa->gemm_f32, a.ops = a.dtype == TC_F64 ? c->isa->attention_f64 : c->isa->attention_f32;
    a.group = r == 4 && k->size[1] ? a.h / k->size[1] : 1;
    if (m) {
        a.masked = true;
        a.mask = mask_strides(m), a.bool_mask = m->dtype == TC_BOOL;
        if (r == 3) a.mask.n = a.mask.h, a.mask.h = 0;
    }
    a.scale = tc_k_given(c, scale) ? tc_k_float(c, scale) : 1 / sqrt((double)a.d);
    return a;
}
static tc_status check(const tc_kcall *c, int dropout) {
    if (tc_k_float(c, dropout) != 0) return tc_error(TC_UNSUPPORTED, "attention with dropout is not supported by this kernel");
    return NULL;
}

/* ---- forward ---- */
enum { PACKED_HEADER = 64, PACKED_LIMIT = 8 << 20 }; /* bytes before a worker's packed head, which say which head it is; bytes of a head, at most */
static int64_t tile_count(const tc_attention *a) { return (a->l + TC_ATTENTION_QUERIES - 1) / TC_ATTENTION_QUERIES; } /* of a head */
static tc_attention_tile tile_at(const tc_attention *a, int64_t b, int64_t h, int64_t tile) {
    const int64_t q0 = tile * TC_ATTENTION_QUERIES, left = a->l - q0;
    return (tc_attention_tile){b, h, q0, left < TC_ATTENTION_QUERIES ? left : TC_ATTENTION_QUERIES};
}
static void forward_tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const tc_attention *a = ctx;
    const int64_t tiles = tile_count(a);
    for (int64_t t = begin; t < end; t++) {
        const int64_t head = t / tiles;
        const tc_attention_tile q = tile_at(a, head / a->h, head % a->h, tiles - 1 - t % tiles); /* last tiles first: a causal mask makes them long */
        char *scratch = a->scratch + a->per_worker * (size_t)worker, *packed = a->packed_bytes ? scratch + PACKED_HEADER : NULL;
        int64_t *packed_head = (int64_t *)scratch; /* number of the key head whose keys and values are packed there */
        if (packed && *packed_head != head / a->group) {
            a->ops->pack_head(a, head / a->h, head % a->h / a->group, packed, packed + a->packed_bytes);
            *packed_head = head / a->group;
        }
        a->ops->forward_tile(a, &q, packed, packed ? packed + a->packed_bytes : scratch, worker);
    }
}
/* A bool mask in tiles is looked through once for all heads that share it: most of its blocks allow no key or all keys, others are kept as bits. Those
 * for which there is no room are computed again. */
enum { MOST_SLOTS = 4096, SLOT_BYTES = TC_MASK_WORDS * 8 };
static uint64_t bits_of(uint64_t bools) { return (bools * 0x0102040810204080u) >> 56; } /* eight, the first one lowest */
/* A block of the mask, which is 0 beyond its rows and keys, as bits; returns how many are set. */
static int64_t block_bits(const uint8_t *tile, uint64_t *bits) {
    int64_t allowed = 0;
    for (int w = 0; w < TC_MASK_WORDS; w++) {
        uint64_t bools[8], word = 0;
        memcpy(bools, tile + w * 64, 64);
        for (int i = 0; i < 8; i++) word |= bits_of(bools[i]) << 8 * i;
        bits[w] = word;
        allowed += __builtin_popcountll(word);
    }
    return allowed;
}
/* Fills in a->blocks and a->kept for a tile; its head is one of the mask's. */
static void survey_mask(const tc_attention *a, const tc_attention_tile *q, uint8_t *tile, int worker) {
    uint32_t *block = tc_attention_blocks_at(a, q);
    for (int64_t k0 = 0; k0 < a->s; k0 += TC_ATTENTION_LEAF, block++) {
        const int64_t keys = a->s - k0 < TC_ATTENTION_LEAF ? a->s - k0 : TC_ATTENTION_LEAF;
        uint64_t bits[TC_MASK_WORDS];
        if (keys < TC_ATTENTION_LEAF || q->rows < TC_ATTENTION_QUERIES) memset(tile, 0, TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF);
        a->mask_tiles->fn(a->mask_tiles->ctx, q->b * a->mask_row_n + q->h * a->mask_row_h + q->q0, q->rows, k0, keys, tile, worker);
        const int64_t allowed = block_bits(tile, bits);
        *block = !allowed && a->fill == -INFINITY ? TC_MASK_NONE : allowed == q->rows * keys ? TC_MASK_ALL : TC_MASK_SOME;
        if (*block != TC_MASK_SOME) continue;
        const uint32_t slot = __atomic_fetch_add(a->taken, 1, __ATOMIC_RELAXED);
        if ((int64_t)slot >= a->slots) continue;
        *block = TC_MASK_KEPT + slot;
        memcpy(a->kept + (size_t)slot * TC_MASK_WORDS, bits, sizeof bits);
    }
}
static void survey_tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const tc_attention *a = ctx;
    const int64_t tiles = tile_count(a);
    for (int64_t t = begin; t < end; t++) {
        const int64_t head = t / tiles;
        const tc_attention_tile q = tile_at(a, head / a->mask_h, head % a->mask_h, t % tiles);
        survey_mask(a, &q, (uint8_t *)a->scratch + a->per_worker * (size_t)worker + PACKED_HEADER, worker);
    }
}
static int64_t survey_count(const tc_attention *a) { return a->mask_n * a->mask_h * tile_count(a); }
static bool has_survey(const tc_attention *a) { return a->mask_tiles && a->bool_mask; }
static int64_t block_count(const tc_attention *a) { return survey_count(a) * ((a->s + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF); }
static int64_t slot_count(const tc_attention *a) { return block_count(a) < MOST_SLOTS ? block_count(a) : MOST_SLOTS; }
static size_t survey_bytes(const tc_attention *a) {
    return has_survey(a) ? 64 + tc_pad64((size_t)block_count(a) * sizeof *a->blocks) + (size_t)slot_count(a) * SLOT_BYTES : 0;
}
static void survey(tc_attention *a, tc_pool *pool, char *at) {
    if (!has_survey(a)) return;
    a->taken = (uint32_t *)at, a->blocks = (uint32_t *)(at + 64), a->slots = slot_count(a);
    a->kept = (uint64_t *)(at + 64 + tc_pad64((size_t)block_count(a) * sizeof *a->blocks));
    *a->taken = 0;
    tc_parallel_for(pool, survey_count(a), 1, survey_tasks, a);
}
/* A worker packs keys and values once for all of its tiles of a head, where there are several and they fit. */
static void plan_packed_heads(tc_attention *a) {
    size_t bytes = tc_pad64(a->ops->head_bytes(a));
    a->packed_bytes = (a->l > TC_ATTENTION_QUERIES || (a->group > 1 && a->l > 1)) && bytes <= PACKED_LIMIT ? bytes : 0;
    a->per_worker = tc_pad64(a->ops->forward_bytes(a)) + a->packed_bytes + PACKED_HEADER;
}
enum { DROPOUT = 3, CAUSAL, MASK, SCALE, FILL, SAFE, SCORES, CHANGED }; /* arguments after query, key, value; from fill on: of tc::attention only */
enum { FEW_QUERIES = 2 };                                               /* too few to repay packing keys and values for bfloat16 products */

static tc_attention forward_args(const tc_kcall *c) {
    tc_attention a = read_args(c, 0, MASK, CAUSAL, SCALE);
    if (tc_is_narrow(tc_k_tensor(c, 1)->dtype)) a.stored = tc_k_tensor(c, 1)->dtype;
    if (a.stored == TC_BF16 && c->isa->gemm_bf16 && a.l > FEW_QUERIES) a.factor = TC_BF16, a.gemm = c->isa->gemm_bf16;
    if (c->nargs > FILL) a.fill = tc_k_float(c, FILL), a.empty = a.s && !(c->nargs > SAFE && tc_k_bool(c, SAFE)) ? NAN : 0;
    if (c->nargs > CHANGED && tc_k_given(c, CHANGED)) a.changed = mask_strides(tc_k_tensor(c, CHANGED)), a.scale = 1;
    for (int i = 0; i < c->ntiles; i++) {
        if (c->tiles[i].arg == CHANGED) {
            a.changed_tiles = &c->tiles[i];
            a.changed_row_n = a.changed.n / TC_TILE_COLUMNS, a.changed_row_h = a.changed.h / TC_TILE_COLUMNS;
        }
        if (c->tiles[i].arg != MASK) continue;
        a.mask_tiles = &c->tiles[i];
        a.mask_n = a.mask.n ? a.n : 1, a.mask_h = a.mask.h ? a.h : 1;
        a.mask_row_n = a.mask.n / TC_TILE_COLUMNS, a.mask_row_h = a.mask.h / TC_TILE_COLUMNS;
    }
    return a;
}
static size_t flash_scratch(const tc_kcall *c, int threads) {
    tc_attention a = forward_args(c);
    plan_packed_heads(&a);
    size_t s = a.per_worker * (size_t)threads + 64 + survey_bytes(&a);
    if (a.factor == a.dtype) s += widened(tc_k_tensor(c, 0));
    if (tc_k_given(c, MASK)) s += widened(tc_k_tensor(c, MASK));
    return s;
}
static tc_status flash(tc_kcall *c) {
    TC_TRY(check(c, DROPOUT));
    tc_attention a = forward_args(c);
    char *scratch = c->scratch;
    if (a.factor == a.dtype) widen(c, tc_k_tensor(c, 0), &a.q, false, &scratch);
    if (tc_k_given(c, MASK)) widen(c, tc_k_tensor(c, MASK), &a.mask, true, &scratch);
    a.out = tc_tensor_data(&c->outs[0]);
    if (c->nouts > 1 && c->outs[1].storage) a.lse = tc_tensor_data(&c->outs[1]);
    a.scratch = tc_align64(scratch);
    plan_packed_heads(&a);
    survey(&a, c->pool, a.scratch + a.per_worker * (size_t)tc_pool_threads(c->pool));
    for (int w = 0; w < tc_pool_threads(c->pool); w++) *(int64_t *)(a.scratch + a.per_worker * (size_t)w) = -1;
    tc_parallel_for(c->pool, a.n * a.h * tile_count(&a), 1, forward_tasks, &a);
    return NULL;
}

/* ---- backward: grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale ---- */
static void backward_tasks(void *ctx, int64_t begin, int64_t end, int worker) {
    const tc_attention *a = ctx;
    int64_t heads = a->h / a->group;
    for (int64_t t = begin; t < end; t++) {
        char *scratch = a->scratch + a->per_worker * (size_t)worker;
        a->ops->backward_head(a, t / heads, t % heads, scratch);
    }
}
static size_t backward_per_worker(const tc_attention *a) { return tc_pad64(a->ops->backward_bytes(a)); }
static size_t backward_scratch(const tc_kcall *c, int threads) {
    tc_attention a = read_args(c, 1, 8, 7, 9);
    size_t s = backward_per_worker(&a) * (size_t)threads + 64;
    for (int i = 0; i < 5; i++) s += widened(tc_k_tensor(c, i));
    if (tc_k_given(c, 8)) s += widened(tc_k_tensor(c, 8));
    for (int i = 1; i < 4; i++) s += widened(tc_k_tensor(c, i));
    return s;
}
static tc_status backward(tc_kcall *c) {
    TC_TRY(check(c, 6));
    tc_attention a = read_args(c, 1, 8, 7, 9);
    char *scratch = c->scratch;
    a.grad = strides_of(tc_k_tensor(c, 0)), a.fwd = strides_of(tc_k_tensor(c, 4)), a.lse = tc_tensor_data(tc_k_tensor(c, 5));
    const int64_t *stride = tc_k_tensor(c, 5)->stride;
    a.lse_n = stride[0], a.lse_h = stride[1], a.lse_l = stride[2];
    tc_attention_strides *in[5] = {&a.grad, &a.q, &a.k, &a.v, &a.fwd};
    for (int i = 0; i < 5; i++) widen(c, tc_k_tensor(c, i), in[i], false, &scratch);
    if (tc_k_given(c, 8)) widen(c, tc_k_tensor(c, 8), &a.mask, true, &scratch);
    void *out[3];
    for (int i = 0; i < 3; i++) {
        out[i] = tc_tensor_data(&c->outs[i]);
        if (tc_is_narrow(c->outs[i].dtype)) out[i] = scratch, scratch += tc_pad64((size_t)tc_tensor_numel(&c->outs[i]) * 4);
    }
    a.dq = out[0], a.dk = out[1], a.dvalue = out[2];
    a.scratch = scratch, a.per_worker = backward_per_worker(&a);
    tc_parallel_for(c->pool, a.n * a.h / a.group, 1, backward_tasks, &a);
    for (int i = 0; i < 3; i++)
        if (tc_is_narrow(c->outs[i].dtype))
            tc_narrow_all(c->isa, c->pool, c->outs[i].dtype, out[i], tc_tensor_numel(&c->outs[i]), tc_tensor_data(&c->outs[i]));
    return NULL;
}

const tc_kernel tc_k_flash_attention = {.name = "flash_attention",
                                        .flags = TC_KF_SPARE_RESULTS,
                                        .run = flash,
                                        .scratch = flash_scratch,
                                        .tile_args = 1u << MASK | 1u << CHANGED,
                                        .tile_from = SCORES,
                                        .tile_to = CHANGED};
const tc_kernel tc_k_flash_attention_backward = {"flash_attention_backward", 0, backward, backward_scratch};
