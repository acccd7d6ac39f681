/* The geometry of a convolution, and the algorithms that compute it; internal to conv*.c.
 *
 *     tiles      register tiles of positions x channels over a channels-last input        conv_correlate.c, conv_bf16.c
 *     product    1x1 of planes: a matrix product                                          conv_correlate.c
 *     lanes      depthwise and narrow groups: a vector lane for each output channel       conv_lanes.c
 *     Winograd   3x3 with --numerics=fast                                                 conv_winograd.c
 *     gradients of the weight                                                             conv_grad.c, conv_grad_bf16.c, conv_weight.c, conv_lanes.c */
#ifndef TC_KERNEL_CONV_PLAN_H
#define TC_KERNEL_CONV_PLAN_H

#include "base/ints.h"
#include "kernel/gemm.h"
#include "kernel/isa.h"

/* out[n, co, o] = sum over tap, ci of w[co, ci, tap] * in[n, ci, i(o, tap)], dimension by dimension
 *     i = o * stride + t * dilation - pad                     (a convolution)
 *     i = (o + pad - t * dilation) / stride, where it divides  (adjoint: its transpose)
 * and only where 0 <= i < in. cin and cout are per group. Missing dimensions come first and have size 1. */
typedef struct {
    tc_dtype dtype;   /* of images and weights: TC_F32, TC_F64; TC_BF16 for tc_conv_bf16 */
    bool f32_results; /* with TC_BF16: bias and results are float32 */
    int64_t n, groups, cin, cout;
    int64_t in[3], out[3], kernel[3], stride[3], pad[3], dil[3];
    bool adjoint;
    bool fast;                    /* --numerics=fast */
    bool in_last, out_last;       /* forward: the images in, out are channels last, else planes */
    int64_t form;                 /* tuning: a tc_conv_form that is possible here; 0: chosen from the sizes */
    int64_t task_rows, task_cols; /* tuning of TC_CONV_TILES: about so many positions and channels are a task; 0: chosen from the sizes */
    const tc_epilogue *epilogue;  /* or NULL; set only where tc_conv_reports, for positions x channels */
} tc_conv;

/* Lanes need narrow groups, product 1x1 kernels over planes; tiles take any convolution. */
enum tc_conv_form { TC_CONV_TILES = 1, TC_CONV_PRODUCT = 2, TC_CONV_LANES = 3 };

/* The vector functions for images of f64, else those of f32. */
static inline const struct tc_conv_ops *tc_conv_ops_of(const tc_conv *c, const tc_isa_ops *isa) {
    return c->dtype == TC_F64 ? isa->conv_f64 : isa->conv_f32;
}

static inline size_t tc_conv_elem(const tc_conv *c) { return tc_dtype_size(c->dtype); } /* bytes of an element of an image */
static inline int64_t tc_conv_volume(const int64_t *d) { return d[0] * d[1] * d[2]; }
/* i(o, t) in dimension d, or -1 where tap t is absent. */
static inline int64_t tc_conv_source(const tc_conv *c, int d, int64_t o, int64_t t) {
    int64_t i = c->adjoint ? o + c->pad[d] - t * c->dil[d] : o * c->stride[d] + t * c->dil[d] - c->pad[d];
    if (c->adjoint) {
        if (i < 0 || i % c->stride[d]) return -1;
        i /= c->stride[d];
    }
    return i >= 0 && i < c->in[d] ? i : -1;
}

/* The plain part of the epilogue, with its arrays advanced to channel `col` and to byte `at` of the result; NULL: there is none. */
static inline const tc_epilogue_plain *tc_conv_plain(const tc_conv *c, int64_t col, size_t at, tc_epilogue_plain *out) {
    const tc_epilogue_plain *p = c->epilogue ? c->epilogue->plain : NULL;
    const size_t skip = (size_t)col * tc_dtype_size(tc_dtype_compute(c->dtype));
    if (!p) return NULL;
    *out = *p;
    if (p->scale) out->scale = (const char *)p->scale + skip, out->shift = (const char *)p->shift + skip;
    if (p->more) out->more = (const char *)p->more + at;
    return out;
}

/* Takes n bytes of scratch at *at, and advances it to the next cache line. */
static inline void *tc_conv_take(char **at, size_t n) {
    void *p = *at;
    *at += tc_pad64(n);
    return p;
}

/* Weights: element (group g, output channel co, input channel ci, tap) is data[g * group + co * cout + ci * cin + tap]. */
typedef struct {
    tc_dtype dtype; /* the convolution's; for tc_conv_pack also a narrow type, which is widened to float32 */
    const void *data;
    int64_t group, cout, cin; /* strides in elements */
} tc_conv_weight;
/* The arrays of one convolution, and what it runs with. */
typedef struct {
    const tc_isa_ops *isa;
    tc_pool *pool;
    char *scratch; /* as many bytes as the algorithm's X_scratch says */
    const void *in;
    tc_conv_weight w;
    const void *packed; /* what the algorithm's pack wrote, or NULL: w is packed into scratch */
    const void *bias;   /* groups * cout values, or NULL */
    void *out;
} tc_conv_arrays;
/* The same of one weight gradient. */
typedef struct {
    const tc_isa_ops *isa;
    tc_pool *pool;
    char *scratch;
    const void *in, *dout; /* planes */
    void *dw;
    tc_conv_weight strides; /* of dw; without data */
} tc_conv_grad_arrays;

/* Tiles, or the matrix product for 1x1. Every algorithm comes as X_scratch, which gives the bytes of scratch for so many threads, and X. */
size_t tc_conv_correlate_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed);
void tc_conv_correlate(const tc_conv *c, const tc_conv_arrays *v);
/* Packs weights for the tiles, ahead of time or for one call. */
size_t tc_conv_packed_bytes(const tc_conv *c, const tc_isa_ops *isa);
void tc_conv_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out);
bool tc_conv_packs(const tc_conv *c);          /* is packing 5 % of the time or more, so that it is worth doing ahead? */
bool tc_conv_reports(const tc_conv *c);        /* does the algorithm call the epilogue itself, region by region? */
bool tc_conv_pointwise_fits(const tc_conv *c); /* can it be a matrix product of planes? */
bool tc_conv_pointwise(const tc_conv *c);      /* ... and is it computed so? */
bool tc_conv_depthwise(const tc_conv *c);      /* depthwise by lanes: both images may be channels last */
/* Tiles for bfloat16, where the instruction set has conv_bf16 (conv_bf16.c). */
size_t tc_conv_bf16_packed_bytes(const tc_conv *c, const tc_isa_ops *isa);
void tc_conv_bf16_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out);
size_t tc_conv_bf16_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed);
void tc_conv_bf16(const tc_conv *c, const tc_conv_arrays *v);
/* Weight gradient: dw[co, ci, tap] = sum over n, o of dout[n, co, o] * in[n, ci, i(o, tap)]; c is not adjoint. This one is a matrix product for
 * each tap (conv_weight.c). */
size_t tc_conv_weight_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_weight_grad(const tc_conv *c, const tc_conv_grad_arrays *v);
/* The same in register tiles of input channels x output channels, a tap at a time (conv_grad.c); slower where output channels are few. */
bool tc_conv_grad_by_tiles(const tc_conv *c);
size_t tc_conv_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_grad(const tc_conv *c, const tc_conv_grad_arrays *v);
/* The same from bfloat16 images by gemm_bf16; sums and dw are float32 (conv_grad_bf16.c). */
bool tc_conv_grad_by_pairs(const tc_conv *c, const tc_isa_ops *isa);
size_t tc_conv_grad_bf16_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_grad_bf16(const tc_conv *c, const tc_conv_grad_arrays *v);
/* Forward, input gradient and weight gradient with a lane for each output channel, for groups too narrow for tiles (conv_lanes.c). */
bool tc_conv_by_lanes(const tc_conv *c);
size_t tc_conv_lanes_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_lanes(const tc_conv *c, const tc_conv_arrays *v);
size_t tc_conv_lanes_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads);
void tc_conv_lanes_grad(const tc_conv *c, const tc_conv_grad_arrays *v);
/* Winograd's algorithm for 3x3, with fewer multiplications and other roundings (conv_winograd.c): where c->fast and an estimate of its cost is lower. */
bool tc_conv_by_winograd(const tc_conv *c);
size_t tc_conv_winograd_packed_bytes(const tc_conv *c, const tc_isa_ops *isa);
void tc_conv_winograd_pack(const tc_conv *c, const tc_isa_ops *isa, tc_pool *pool, tc_conv_weight w, void *out);
size_t tc_conv_winograd_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads, bool packed);
void tc_conv_winograd(const tc_conv *c, const tc_conv_arrays *v);

#endif
