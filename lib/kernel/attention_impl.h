/* What attention.c shares with its inner loops, which are compiled once for each instruction set (attention_type.h). */
#ifndef TC_KERNEL_ATTENTION_IMPL_H
#define TC_KERNEL_ATTENTION_IMPL_H

#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/narrow.h"

/* Queries of a tile; rows of scores that are turned into weights at a time; levels of the tree, at most. */
enum { TC_ATTENTION_QUERIES = 64, TC_ATTENTION_ROWS = 8, TC_ATTENTION_LEVELS = 48 };

typedef struct {
    const void *data;
    int64_t n, h, l, e;
} tc_attention_strides; /* strides of batch, head, position and element, in elements */
/* A tile: queries [q0, q0 + rows) of batch element b and query head h. */
typedef struct {
    int64_t b, h, q0, rows;
} tc_attention_tile;
typedef struct tc_attention_ops tc_attention_ops;
typedef struct {
    const tc_isa_ops *isa;
    const tc_attention_ops *ops;
    const tc_gemm_ops *gemm;          /* products of `factor` */
    tc_dtype dtype;                   /* of the arithmetic: f32 or f64 */
    tc_dtype result;                  /* of the forward pass's out */
    tc_dtype stored;                  /* of k and v in memory: factor, or a narrow type that is widened leaf by leaf */
    tc_dtype factor;                  /* of q, k, v and weights in the products: dtype, or bfloat16 */
    int64_t n, h, group, l, s, d, dv; /* batch, query heads, query heads for each key head, queries, keys, head size of q and k, of v */
    tc_attention_strides q, k, v, mask, grad, fwd;
    bool bool_mask, causal;
    double scale;
    double fill, empty; /* the score where a bool mask is false; the result of rows that may attend to no key */
    void *out, *lse, *dq, *dk, *dvalue;
    int64_t lse_n, lse_h, lse_l; /* strides of lse where the backward reads it; the forward writes it dense */
    char *scratch;
    size_t per_worker, packed_bytes; /* bytes of scratch; of which a key head's packed keys and values, or 0: they are not packed */
    bool masked;                     /* there is a mask, also where it need not be applied */
    /* What replaces the scores q k', before the mask, with scale 1: stored, or computed from them in tiles, whose rows are numbered as the mask's. */
    tc_attention_strides changed;
    const tc_tiles *changed_tiles;
    int64_t changed_row_n, changed_row_h;
    int worker; /* which runs forward_tile */
    /* A mask that comes in tiles: batch elements and heads of it, 1 where it is broadcast, and its rows from one to the next, 0 there. For a bool mask also
     * what each of its blocks of queries and keys allows, [batch][head][tile of queries][leaf of keys]: TC_MASK_*, or TC_MASK_KEPT plus the number of its
     * bits in `kept`, of which there are `slots`, `*taken` of them in use. */
    const tc_tiles *mask_tiles;
    int64_t mask_n, mask_h, mask_row_n, mask_row_h, slots;
    uint32_t *blocks, *taken;
    uint64_t *kept;
} tc_attention;
enum { TC_MASK_NONE, TC_MASK_ALL, TC_MASK_SOME, TC_MASK_KEPT };
enum { TC_MASK_WORDS = TC_ATTENTION_QUERIES * TC_ATTENTION_LEAF / 64 }; /* bits of a block, in words */

static inline int tc_attention_leaf_levels(int64_t leaves) {
    int n = 0;
    while (leaves >> n) n++;
    return n;
}
static inline int tc_attention_levels(int64_t keys) { return tc_attention_leaf_levels((keys + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF); }

/* What the mask allows a tile, by leaf of keys. */
static inline uint32_t *tc_attention_blocks_at(const tc_attention *a, const tc_attention_tile *q) {
    const int64_t tiles = (a->l + TC_ATTENTION_QUERIES - 1) / TC_ATTENTION_QUERIES, leaves = (a->s + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF;
    return a->blocks + (((a->mask_n > 1 ? q->b : 0) * a->mask_h + (a->mask_h > 1 ? q->h : 0)) * tiles + q->q0 / TC_ATTENTION_QUERIES) * leaves;
}

struct tc_attention_ops {
    /* Packs keys and values of batch element b, key head hk: out has head_bytes bytes; widened: a leaf as float32 */
    size_t (*head_bytes)(const tc_attention *a);
    void (*pack_head)(const tc_attention *a, int64_t b, int64_t hk, char *out, char *widened);
    /* A tile against all keys. scratch: forward_bytes of the caller's own. packed: from pack_head, or NULL. */
    void (*forward_tile)(const tc_attention *a, const tc_attention_tile *q, const char *packed, char *scratch, int worker);
    size_t (*forward_bytes)(const tc_attention *a);
    /* gradients for all queries of all heads that use key head hk; scratch: backward_bytes of the caller's own */
    void (*backward_head)(const tc_attention *a, int64_t b, int64_t hk, char *scratch);
    size_t (*backward_bytes)(const tc_attention *a);
};

#endif
