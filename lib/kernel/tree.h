/* The reduction tree that fixes the order of every long sum: leaf 0 is merged with leaf 1, 2 with 3, then 0-1 with 2-3, and so on; at the end the
 * subtrees that are left are merged from the smallest up.
 *
 *     tc_tree_f32 t = {0};
 *     for each leaf in order: tc_tree_f32_push(&t, leaf);
 *     float sum = tc_tree_f32_sum(&t);
 *
 * It works as a binary counter: where bit i of count is set, level[i] holds the sum of 2^i leaves. Emitted C contains this text, so it includes
 * nothing but stdint.h. */
#ifndef TC_KERNEL_TREE_H
#define TC_KERNEL_TREE_H

#include <stdint.h>

enum { TC_LEAF = 256, TC_ATTENTION_LEAF = 128 }; /* elements of a leaf; keys of a leaf of attention */

typedef struct {
    int64_t count;
    float level[56];
} tc_tree_f32;
static inline void tc_tree_f32_push(tc_tree_f32 *t, float leaf) {
    int i = 0;
    for (; t->count >> i & 1; i++) leaf = t->level[i] + leaf;
    t->level[i] = leaf, t->count++;
}
/* The sum of all leaves; 0 where there were none. */
static inline float tc_tree_f32_sum(const tc_tree_f32 *t) {
    int i = t->count ? __builtin_ctzll((uint64_t)t->count) : 0;
    float s = t->count ? t->level[i] : 0;
    for (i++; t->count >> i; i++)
        if (t->count >> i & 1) s = t->level[i] + s;
    return s;
}

typedef struct {
    int64_t count;
    double level[56];
} tc_tree_f64;
static inline void tc_tree_f64_push(tc_tree_f64 *t, double leaf) {
    int i = 0;
    for (; t->count >> i & 1; i++) leaf = t->level[i] + leaf;
    t->level[i] = leaf, t->count++;
}
static inline double tc_tree_f64_sum(const tc_tree_f64 *t) {
    int i = t->count ? __builtin_ctzll((uint64_t)t->count) : 0;
    double s = t->count ? t->level[i] : 0;
    for (i++; t->count >> i; i++)
        if (t->count >> i & 1) s = t->level[i] + s;
    return s;
}

/* The same tree for products; 1 where there were no leaves. */
static inline void tc_tree_f32_push_prod(tc_tree_f32 *t, float leaf) {
    int i = 0;
    for (; t->count >> i & 1; i++) leaf = t->level[i] * leaf;
    t->level[i] = leaf, t->count++;
}
static inline float tc_tree_f32_prod(const tc_tree_f32 *t) {
    int i = t->count ? __builtin_ctzll((uint64_t)t->count) : 0;
    float s = t->count ? t->level[i] : 1;
    for (i++; t->count >> i; i++)
        if (t->count >> i & 1) s = t->level[i] * s;
    return s;
}
static inline void tc_tree_f64_push_prod(tc_tree_f64 *t, double leaf) {
    int i = 0;
    for (; t->count >> i & 1; i++) leaf = t->level[i] * leaf;
    t->level[i] = leaf, t->count++;
}
static inline double tc_tree_f64_prod(const tc_tree_f64 *t) {
    int i = t->count ? __builtin_ctzll((uint64_t)t->count) : 0;
    double s = t->count ? t->level[i] : 1;
    for (i++; t->count >> i; i++)
        if (t->count >> i & 1) s = t->level[i] * s;
    return s;
}

/* Mean and sum of squared deviations m2 of `count` elements, in float64 also for float32, as PyTorch's var. A leaf takes two passes: the mean, then m2 as
 * fma(d, d, m2) with d = x - mean, both in 16 lanes that are folded. Two of them are merged by Chan's formula (Chan, Golub, LeVeque 1979). */
typedef struct {
    double mean, m2, count;
} tc_welford;
static inline tc_welford tc_welford_merge(tc_welford a, tc_welford b) {
    double n = a.count + b.count, d = b.mean - a.mean, f = b.count / n;
    return (tc_welford){__builtin_fma(d, f, a.mean), __builtin_fma(d * d, a.count * f, a.m2 + b.m2), n};
}
typedef struct {
    int64_t count;
    tc_welford level[56];
} tc_tree_welford;
static inline void tc_tree_welford_push(tc_tree_welford *t, tc_welford leaf) {
    int i = 0;
    for (; t->count >> i & 1; i++) leaf = tc_welford_merge(t->level[i], leaf);
    t->level[i] = leaf, t->count++;
}
/* {0, 0, 0} where there were no leaves. */
static inline tc_welford tc_tree_welford_sum(const tc_tree_welford *t) {
    int i = t->count ? __builtin_ctzll((uint64_t)t->count) : 0;
    tc_welford s = t->count ? t->level[i] : (tc_welford){0, 0, 0};
    for (i++; t->count >> i; i++)
        if (t->count >> i & 1) s = tc_welford_merge(t->level[i], s);
    return s;
}

#endif
