/* The geometry that convolutions share: which input positions an output position reads, and groups of output positions that read
 * the same taps. Internal to conv*.c. */
#ifndef TC_KERNEL_CONV_PLAN_H
#define TC_KERNEL_CONV_PLAN_H

#include "base/ints.h"
#include "kernel/gemm.h"
#include "kernel/isa.h"

/* out[n, co, o] = sum over tap, ci of w[co, ci, tap] * in[n, ci, i(o, tap)], dimension by dimension
 *     i = o * stride + t * dilation - pad                     (a convolution)
 *     i = (o + pad - t * dilation) / stride, where it divides  (adjoint: its transpose)
 * and only where 0 <= i < in. Channels are per group. */
typedef struct {
    tc_dtype dtype; /* of what is read and written: TC_F32, TC_F64; TC_BF16 for tc_conv_bf16 */
    bool floats;    /* of TC_BF16: bias and results are float32 */
    int64_t n, groups, cin, cout;
    int64_t in[3], out[3], kernel[3], stride[3], pad[3], dil[3];
    bool adjoint;
    bool fast;                    /* --numerics=fast */
    bool in_last, out_last;       /* forward: `in`, `out` lie channels last */
    int64_t form;                 /* one of tc_conv_form whose conditions hold; 0: as is decided from sizes */
    int64_t task_rows, task_cols; /* of TC_CONV_TILES: positions and channels that a thread takes at once, about; 0: the same */
    const tc_epilogue *then;      /* where tc_conv_reports: on finished positions x channels; or NULL */
} tc_conv;

/* Lanes: narrow groups. Product: 1x1 of planes. Tiles: any. */
enum tc_conv_form { TC_CONV_TILES = 1, TC_CONV_PRODUCT = 2, TC_CONV_LANES = 3 };

static inline int64_t tc_conv_volume(const int64_t *d) { return d[0] * d[1] * d[2]; }
/* i(o, t) of dimension d, or -1. */
static inline int64_t tc_conv_source(const tc_conv *c, int d, int64_t o, int64_t t) {
    int64_t i = c->adjoint ? o + c->pad[d] - t * c->dil[d] : o * c->stride[d] + t * c->dil[d] - c->pad[d];
    if (c->adjoint) {
        if (i < 0 || i % c->stride[d]) return -1;
        i /= c->stride[d];
    }
    return i >= 0 && i < c->in[d] ? i : -1;
}

/* The plain epilogue, if there is one, of the elements from byte `at` of the result on, columns from number c on. */
static inline const tc_epilogue_plain *tc_conv_plain(const tc_conv *c, int64_t col, size_t at, tc_epilogue_plain *out) {
    const tc_epilogue_plain *p = c->then ? c->then->plain : NULL;
    const size_t skip = (size_t)col * tc_dtype_size(tc_dtype_compute(c->dtype));
    if (!p) return NULL;
    *out = *p;
    if (p->scale) out->scale = (const char *)p->scale + skip, out->shift = (const char *)p->shift + skip;
    if (p->more) out->more = (const char *)p->more + at;
    return out;
}

/* Takes n bytes of scratch, 64-byte aligned. */
static inline void *tc_conv_take(char **at, size_t n) {
    void *p = *at;
    *at += tc_pad64(n);
    return p;
}

/* Scratch of tc_conv_correlate, and the product itself. w is [groups * cout][cin][taps] with the strides given (elements; a group's
 * first row is w + g * w_group). bias: groups * cout values or NULL. */
typedef struct {
    tc_dtype dtype; /* c's, or for tc_conv_pack one that becomes c's float32 */
    const void *data;
    int64_t group, cout, cin;
} tc_conv_weight;
size_t tc_conv_correlate_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed);
void tc_conv_correlate(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, tc_conv_weight w, const void *packed,
                       const void *bias, void *out);
/* Weights as tiles read them, ahead of time or for one call. */
size_t tc_conv_packed_bytes(const tc_conv *c, const tc_isa_ops *isa);
void tc_conv_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out);
bool tc_conv_packs(const tc_conv *c);   /* packing costs 5 % of the product or more */
bool tc_conv_reports(const tc_conv *c); /* regions are reported as they are done */
bool tc_conv_pointwise_fits(const tc_conv *c);
bool tc_conv_pointwise(const tc_conv *c); /* 1x1 of planes: a matrix product of them as they are */
bool tc_conv_depthwise(const tc_conv *c); /* by lanes, where images may lie channels last on both sides */
/* The same of bfloat16, where the row has conv_bf16 (conv_bf16.c). */
size_t tc_conv_bf16_packed_bytes(const tc_conv *c, const tc_isa_ops *isa);
void tc_conv_bf16_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out);
size_t tc_conv_bf16_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed);
void tc_conv_bf16(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, tc_conv_weight w, const void *packed,
                  const void *bias, void *out);
/* dw[co, ci, tap] = sum over n, o of dout[n, co, o] * in[n, ci, i(o, tap)]; c is not adjoint. dw strides as of weights. */
size_t tc_conv_weight_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_weight_grad(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, const void *dout, void *dw,
                         tc_conv_weight strides);
/* The same in tiles of input channels x output channels, a tap at a time (conv_grad.c); where output channels are few the other is faster. */
bool tc_conv_grad_by_tiles(const tc_conv *c);
size_t tc_conv_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_grad(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, const void *dout, void *dw,
                  tc_conv_weight strides);
/* The same of bfloat16 by its products, in float32 to a dw of float32 (conv_grad_bf16.c). */
bool tc_conv_grad_by_pairs(const tc_conv *c, const tc_isa_ops *isa);
size_t tc_conv_grad_bf16_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_grad_bf16(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, const void *dout, float *dw,
                       tc_conv_weight strides);
/* The same products with a lane for each output channel (conv_lanes.c), for groups that are too narrow for tiles. */
bool tc_conv_by_lanes(const tc_conv *c);
size_t tc_conv_lanes_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_lanes(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, tc_conv_weight w, const void *bias,
                   void *out);
size_t tc_conv_lanes_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_lanes_grad(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, const void *dout, void *dw,
                        tc_conv_weight strides);
/* The same products of 3x3 with fewer multiplications, rounded otherwise (conv_winograd.c): c->fast, and it costs less. */
bool tc_conv_by_winograd(const tc_conv *c);
size_t tc_conv_winograd_packed_bytes(const tc_conv *c, const tc_isa_ops *isa);
void tc_conv_winograd_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out);
size_t tc_conv_winograd_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed);
void tc_conv_winograd(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, char *scratch, const void *in, tc_conv_weight w, const void *packed,
                      const void *bias, void *out);

#endif
