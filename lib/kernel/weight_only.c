/* Products with quantised weights of 8 and 4 bits (matmul.h). Weights are widened to float32 inside the product, in L1 or in registers:
 *
 *     int8pack    c[i, j] = scale[j] * sum over k of a[i, k] b[j, k]
 *     int4pack    c[i, j] = sum over k of a[i, k] fma(q[j, k] - 8, scale, zero), one scale and one zero for each `group` of k of a column
 *
 * Sums are float32, in the order of gemm.h; 16-bit results are rounded once, at the end. */
#include "base/ints.h"
#include "kernel/matmul.h"

#include <string.h>

#include "kernel/gemm.h"
#include "kernel/isa.h"
#include "kernel/narrow.h"

enum { COLUMNS = 64 }; /* columns of a block in PyTorch's four-bit layout */

/* The job but for its data pointers. Arguments: a [m, k], b [n, k], ..., scales last. */
static tc_gemm job_of(const tc_kcall *c, bool int4) {
    const tc_tensor *a = tc_k_tensor(c, 0), *b = tc_k_tensor(c, 1);
    tc_gemm j = {.dtype = TC_F32, .m = a->size[0], .n = b->size[0], .k = a->size[1], .a_cs = 1, .c_cs = 1, .b_rs = 1, .alpha = 1, .beta = 1};
    j.a_rs = j.b_cs = j.k, j.c_rs = j.n;
    j.packed_type = int4 ? TC_U8 : TC_I8;
    if (int4) j.group = tc_k_int(c, 2), j.scale_type = tc_k_tensor(c, 3)->dtype;
    return j;
}
static size_t panel_bytes(const tc_kcall *c, const tc_gemm *j) {
    const int nr = c->isa->gemm_f32->nr;
    return tc_pad64((size_t)((j->n + nr - 1) / nr * tc_gemm_panel_bytes(j, nr, j->k)));
}

/* ---- panels ---- */
typedef struct {
    const tc_gemm *j;
    const uint8_t
        *q; /* PyTorch's layout: blocks of 64 columns, [block][k][32 bytes], byte i holds columns i and 32 + i; the `tail` columns that are */
    const char *scales; /*     left: [k][tail / 2 bytes], byte i holds columns 2 i and 2 i + 1. scales: [k / group][n][2], scale and zero */
    char *out;          /* panels as tc_gemm.group describes them */
    int64_t nr;
} packing;
/* A column of q: its first byte, bytes from k to k, and the shift to its four bits. */
typedef struct {
    const uint8_t *at;
    int64_t step;
    int shift;
} column;
static column column_of(const packing *p, int64_t c) {
    static const uint8_t none[1] = {0x88};
    const int64_t whole = p->j->n / COLUMNS * COLUMNS, tail = p->j->n - whole, i = c % COLUMNS;
    if (c >= p->j->n) return (column){none, 0, 0};
    const uint8_t *block = p->q + c / COLUMNS * COLUMNS / 2 * p->j->k;
    if (c < whole) return (column){block + i % (COLUMNS / 2), COLUMNS / 2, i < COLUMNS / 2 ? 0 : 4};
    return (column){block + i / 2, tail / 2, i % 2 ? 4 : 0};
}
/* Packs group g of the panel at column c0, whose columns are at[]. */
static void pack_group(const packing *p, int64_t c0, int64_t g, const column *at, char *out) {
    const int64_t e = (int64_t)tc_dtype_size(p->j->scale_type), half = p->nr / 2;
    for (int64_t c = 0; c < p->nr; c++) {
        const bool there = c0 + c < p->j->n;
        const char *s = there ? p->scales + (g * p->j->n + c0 + c) * 2 * e : (const char[8]){0};
        memcpy(out + c * e, s, (size_t)e);
        memcpy(out + (p->nr + c) * e, s + e, (size_t)e);
    }
    uint8_t *q = (uint8_t *)out + 2 * p->nr * e;
    for (int64_t k = g * p->j->group; k < (g + 1) * p->j->group; k++)
        for (int64_t i = 0; i < half; i++) {
            const column *x = &at[i], *y = &at[half + i];
            *q++ = (uint8_t)((x->at[k * x->step] >> x->shift & 15) | (y->at[k * y->step] >> y->shift & 15) << 4);
        }
}
static void pack_panels(void *ctx, int64_t begin, int64_t end, int worker) {
    const packing *p = ctx;
    const int64_t size = tc_gemm_panel_bytes(p->j, (int)p->nr, p->j->k), group = tc_gemm_panel_bytes(p->j, (int)p->nr, p->j->group);
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        column at[COLUMNS];
        for (int64_t c = 0; c < p->nr; c++) at[c] = column_of(p, i * p->nr + c);
        for (int64_t g = 0; g < p->j->k / p->j->group; g++) pack_group(p, i * p->nr, g, at, p->out + i * size + g * group);
    }
}
static void pack(const tc_kcall *c, const tc_gemm *job, void *out) {
    tc_gemm j = *job;
    j.b = tc_tensor_data(tc_k_tensor(c, 1));
    if (!j.group) {
        tc_gemm_pack_as(c->isa, c->pool, &j, out);
        return;
    }
    packing p = {&j, j.b, tc_tensor_data(tc_k_tensor(c, 3)), out, c->isa->gemm_f32->nr};
    tc_parallel_for(c->pool, (j.n + p.nr - 1) / p.nr, 1 + 32768 / (p.nr * (j.k + 1)), pack_panels, &p);
}

/* ---- runs ---- */
/* Epilogue of int8pack: multiplies the columns of a region by their scales, then calls the next epilogue. */
typedef struct {
    float *wide;
    const float *scale;
    int64_t n;
    const tc_epilogue *epilogue;
} scaling;
static void scale_region(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const scaling *s = ctx;
    for (int64_t r = r0; r < r0 + nr; r++) {
        float *x = s->wide + r * s->n;
        for (int64_t c = c0; c < c0 + nc; c++) x[c] *= s->scale[c];
    }
    if (s->epilogue) s->epilogue->fn(s->epilogue->ctx, r0, nr, c0, nc, worker);
}

/* Scratch: panels, float32 copies of a and of the result where those are narrow, scales, the product's own. */
static size_t scratch_bytes(const tc_kcall *c, int threads, bool int4) {
    const tc_gemm j = job_of(c, int4);
    const bool narrow = tc_k_tensor(c, 0)->dtype != TC_F32;
    return (c->packed ? 0 : panel_bytes(c, &j)) + (narrow ? tc_pad64((size_t)(j.m * j.k) * 4) + tc_pad64((size_t)(j.m * j.n) * 4) : 0) +
           tc_pad64((size_t)j.n * 4) + tc_gemm_scratch(c->isa, TC_F32, j.m, j.n, j.k, true, threads);
}
static void *take(char **at, size_t n) {
    void *p = *at;
    *at += tc_pad64(n);
    return p;
}
static tc_status run(tc_kcall *c, bool int4) {
    tc_gemm j = job_of(c, int4);
    const tc_tensor *a = tc_k_tensor(c, 0);
    const tc_dtype d = a->dtype;
    char *at = c->scratch;
    tc_narrowing round = {c->isa, d, NULL, tc_tensor_data(&c->outs[0]), j.n, c->epilogue};
    tc_epilogue rounds = {tc_narrow_region, &round}, scales = {scale_region, NULL};
    scaling scaled = {.n = j.n};
    if (j.m * j.n == 0) return NULL;
    j.a = tc_tensor_data(a), j.c = tc_tensor_data(&c->outs[0]), j.epilogue = c->epilogue;
    if (d != TC_F32) {
        float *wide = take(&at, (size_t)(j.m * j.k) * 4);
        tc_widen_all(c->isa, c->pool, d, j.a, j.m * j.k, wide);
        j.a = wide;
        round.wide = j.c = take(&at, (size_t)(j.m * j.n) * 4), j.epilogue = &rounds;
    }
    if (!int4) {
        float *scale = take(&at, (size_t)j.n * 4);
        c->isa->cast[d][TC_F32](scale, tc_tensor_data(tc_k_tensor(c, 2)), j.n);
        scaled.wide = j.c, scaled.scale = scale, scaled.epilogue = j.epilogue;
        scales.ctx = &scaled, j.epilogue = &scales;
    }
    j.packed = c->packed;
    if (!j.packed) {
        void *panels = take(&at, panel_bytes(c, &j));
        pack(c, &j, panels);
        j.packed = panels;
    }
    tc_gemm_run_one(c->isa, c->pool, at, &j);
    return NULL;
}

#define KERNEL(id, int4)                                                                                   \
    static size_t scratch_##id(const tc_kcall *c, int threads) { return scratch_bytes(c, threads, int4); } \
    static tc_status run_##id(tc_kcall *c) { return run(c, int4); }                                        \
    static size_t pack_bytes_##id(const tc_kcall *c, int *out_arg) {                                       \
        const tc_gemm j = job_of(c, int4);                                                                 \
        return *out_arg = 1, panel_bytes(c, &j);                                                           \
    }                                                                                                      \
    static void pack_##id(const tc_kcall *c, void *out) {                                                  \
        const tc_gemm j = job_of(c, int4);                                                                 \
        pack(c, &j, out);                                                                                  \
    }                                                                                                      \
    const tc_kernel tc_k_##id = {#id, TC_KF_CONTIGUOUS | TC_KF_EPILOGUE, run_##id, scratch_##id, pack_bytes_##id, pack_##id, .row_dims = -1};
KERNEL(int8pack_mm, false)
KERNEL(int4pack_mm, true)
