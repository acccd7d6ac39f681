/* What attention.c and its parts compiled per instruction set share. */
#ifndef TC_KERNEL_ATTENTION_IMPL_H
#define TC_KERNEL_ATTENTION_IMPL_H

#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/narrow.h"

enum { TC_ATTENTION_QUERIES = 64, TC_ATTENTION_ROWS = 8, TC_ATTENTION_LEVELS = 48 }; /* rows of a tile; that become weights together */

typedef struct {
    const void *data;
    int64_t n, h, l, e;
} tc_attention_strides; /* strides of batch, head, position, element */
typedef struct tc_attention_ops tc_attention_ops;
typedef struct {
    const tc_isa_ops *isa;
    const tc_attention_ops *ops;
    const tc_gemm_ops *gemm;          /* of `factor` */
    tc_dtype dtype;                   /* of the arithmetic */
    tc_dtype result;                  /* of forward's out */
    tc_dtype stored;                  /* of k and v in memory: factor, or a narrow type whose leaves become float32 when they are due */
    tc_dtype factor;                  /* of q, k, v and weights where they are multiplied: dtype, or bfloat16 where the row has gemm_bf16 */
    int64_t n, h, group, l, s, d, dv; /* group: query heads a key head */
    tc_attention_strides q, k, v, mask, grad, fwd;
    bool bool_mask, causal;
    double scale;
    double fill, empty; /* of scores where a bool mask allows no key; of rows of results that no key takes part in */
    void *out, *lse, *dq, *dk, *dvalue;
    char *scratch;
    size_t per_worker, kept; /* kept: bytes of a head's packed keys and values at the front of a worker's scratch, or 0 */
} tc_attention;

static inline int tc_attention_leaf_levels(int64_t leaves) {
    int n = 0;
    while (leaves >> n) n++;
    return n;
}
static inline int tc_attention_levels(int64_t keys) { return tc_attention_leaf_levels((keys + TC_ATTENTION_LEAF - 1) / TC_ATTENTION_LEAF); }

struct tc_attention_ops {
    /* keys and values of key head hk as products read them; out has head_bytes, room a leaf's float32 */
    size_t (*head_bytes)(const tc_attention *a);
    void (*pack_head)(const tc_attention *a, int64_t b, int64_t hk, char *out, char *room);
    /* rows queries from q0 on of a head of a batch element, all keys; scratch of forward_bytes is private to the caller.
     * packed: the key head by pack_head, or NULL */
    void (*forward_tile)(const tc_attention *a, int64_t b, int64_t h, int64_t q0, int64_t rows, const char *packed, char *scratch);
    size_t (*forward_bytes)(const tc_attention *a);
    /* all queries of all heads that use key head hk */
    void (*backward_head)(const tc_attention *a, int64_t b, int64_t hk, char *scratch);
    size_t (*backward_bytes)(const tc_attention *a);
};

#endif
