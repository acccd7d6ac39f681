/* Pooling: windows from arguments, planes over the pool. */
#include "kernel/pooling.h"

#include <math.h>

#include "kernel/isa.h"

enum { MAX, MAX_BACKWARD, AVG, AVG_BACKWARD };
typedef struct {
    int kind;
    bool adaptive, ceil, include_pad;
    int64_t override;      /* divisor, or 0 */
    int64_t planes, in[3], out[3], kernel[3], stride[3], pad[3], dil[3];
    const void *from;
    void *to;
    int64_t *index;
} pool;

/* What output o covers of one dimension: [begin, end) of the input, of a window of `size` positions from `origin` on; padded: how
 * many of them count as there when the padding is included. */
typedef struct { int64_t begin, end, origin, size, padded; } window;
static inline window window_of(const pool *p, int d, int64_t o) {
    window w;
    if (p->adaptive) {
        w.begin = w.origin = o * p->in[d] / p->out[d], w.end = ((o + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
        w.size = w.padded = w.end - w.begin;
        return w;
    }
    w.origin = o * p->stride[d] - p->pad[d], w.size = p->kernel[d];
    int64_t end = w.origin + (p->kernel[d] - 1) * p->dil[d] + 1, limit = p->in[d] + p->pad[d];
    w.padded = (end < limit ? end : limit) - w.origin;
    w.begin = w.origin < 0 ? w.origin + (-w.origin + p->dil[d] - 1) / p->dil[d] * p->dil[d] : w.origin;
    w.end = end < p->in[d] ? end : p->in[d];
    return w;
}
static inline int64_t divisor(const pool *p, window a, window b, window c) {
    if (p->override) return p->override;
    if (p->include_pad || p->adaptive) return a.padded * b.padded * c.padded;
    return (a.end - a.begin) * (b.end - b.begin) * (c.end - c.begin);
}
static inline float fold_f32(float *lane) {
    for (int h = 8; h; h /= 2)
        for (int i = 0; i < h; i++) lane[i] += lane[i + h];
    return lane[0];
}
static inline double fold_f64(double *lane) {
    for (int h = 8; h; h /= 2)
        for (int i = 0; i < h; i++) lane[i] += lane[i + h];
    return lane[0];
}

#define T float
#define S f32
#define TREE tc_tree_f32
#define TREE_PUSH tc_tree_f32_push
#define TREE_SUM tc_tree_f32_sum
#include "kernel/pooling_type.h"
#define T double
#define S f64
#define TREE tc_tree_f64
#define TREE_PUSH tc_tree_f64_push
#define TREE_SUM tc_tree_f64_sum
#include "kernel/pooling_type.h"

/* ---- arguments ---- */
static bool narrow(tc_dtype d) { return d != TC_F32 && d != TC_F64; }
static int64_t at(const tc_karg *a, int i, int64_t none) { return a->kind != TC_K_INTS || !a->n ? none : a->ints[a->n == 1 ? 0 : i]; }

/* x: the tensor of the input's sizes, y: of the output's; dims of the window */
static pool sizes_of(const tc_tensor *x, const tc_tensor *y, int dims, int kind) {
    pool p = {.kind = kind, .planes = 1};
    for (int i = 0; i < x->rank - dims; i++) p.planes *= x->size[i];
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - dims);
        p.in[d] = i < 0 ? 1 : x->size[x->rank - dims + i], p.out[d] = i < 0 ? 1 : y->size[y->rank - dims + i];
        p.kernel[d] = p.stride[d] = p.dil[d] = 1;
    }
    return p;
}
/* kernel_size, stride, padding from argument `first` on, dilation where there is one (dil >= 0) */
static void read_window(pool *p, const tc_kcall *c, int dims, int first, int dil) {
    for (int d = 3 - dims; d < 3; d++) {
        int i = d - (3 - dims);
        p->kernel[d] = at(&c->args[first], i, 1), p->stride[d] = at(&c->args[first + 1], i, p->kernel[d]), p->pad[d] = at(&c->args[first + 2], i, 0);
        if (dil >= 0) p->dil[d] = at(&c->args[dil], i, 1);
    }
}
/* from -> to, by way of float32 for 16-bit types */
static size_t scratch(const tc_kcall *c, int threads) {
    (void)threads;
    const tc_tensor *x = tc_k_tensor(c, 0);
    return narrow(x->dtype) ? 4 * (size_t)(tc_tensor_numel(x) + tc_tensor_numel(&c->outs[0])) + 128 : 0;
}
static tc_status run(tc_kcall *c, pool p) {
    const tc_tensor *x = tc_k_tensor(c, 0);
    int64_t n = tc_tensor_numel(x), m = tc_tensor_numel(&c->outs[0]);
    if (!tc_is_float(x->dtype)) return tc_error(TC_UNSUPPORTED, "pooling of %s is not supported", tc_dtypes[x->dtype].torch);
    p.from = tc_tensor_data(x), p.to = tc_tensor_data(&c->outs[0]);
    if (narrow(x->dtype)) {
        p.from = c->scratch, p.to = (float *)c->scratch + n;
        c->isa->cast[x->dtype][TC_F32](c->scratch, tc_tensor_data(x), n);
    }
    int64_t work = p.in[0] * p.in[1] * p.in[2] + p.out[0] * p.out[1] * p.out[2];
    tc_parallel_for(c->pool, p.planes, 1 + 16384 / (work + 1), x->dtype == TC_F64 ? planes_f64 : planes_f32, &p);
    if (narrow(x->dtype)) c->isa->cast[TC_F32][x->dtype](tc_tensor_data(&c->outs[0]), p.to, m);
    return NULL;
}

static int window_dims(const tc_kcall *c, int arg, const tc_tensor *x) {
    int n = c->args[arg].kind == TC_K_INTS ? c->args[arg].n : 1;
    return n > 1 ? n : x->rank > 4 ? 3 : x->rank > 2 ? 2 : 1; /* a list of one number stands for all */
}
/* Adaptive backwards have no window to count: two dimensions, or three when the third from the end was pooled too (if it kept its
 * size, two give the same). */
static int adaptive_dims(const tc_tensor *x, const tc_tensor *y) { return x->rank >= 4 && x->size[x->rank - 3] != y->size[y->rank - 3] ? 3 : 2; }
static tc_status max_pool(tc_kcall *c) {
    const tc_tensor *x = tc_k_tensor(c, 0);
    int dims = window_dims(c, 1, x);
    pool p = sizes_of(x, &c->outs[0], dims, MAX);
    read_window(&p, c, dims, 1, 4);
    if (c->nouts > 1 && c->outs[1].storage) p.index = tc_tensor_data(&c->outs[1]);
    return run(c, p);
}
static tc_status max_pool_backward(tc_kcall *c) {
    const tc_tensor *x = tc_k_tensor(c, 1), *index = tc_k_tensor(c, c->nargs - 1);
    int dims = c->nargs > 3 ? window_dims(c, 2, x) : adaptive_dims(x, tc_k_tensor(c, 0));
    pool p = sizes_of(x, tc_k_tensor(c, 0), dims, MAX_BACKWARD);
    p.index = tc_tensor_data(index);
    return run(c, p);
}
static tc_status avg_pool(tc_kcall *c) {
    const tc_tensor *x = tc_k_tensor(c, 0);
    int dims = window_dims(c, 1, x);
    pool p = sizes_of(x, &c->outs[0], dims, AVG);
    read_window(&p, c, dims, 1, -1);
    p.include_pad = tc_k_bool(c, 5), p.override = c->nargs > 6 && tc_k_given(c, 6) ? tc_k_int(c, 6) : 0;
    return run(c, p);
}
static tc_status avg_pool_backward(tc_kcall *c) {
    const tc_tensor *x = tc_k_tensor(c, 1);
    int dims = window_dims(c, 2, x);
    pool p = sizes_of(x, tc_k_tensor(c, 0), dims, AVG_BACKWARD);
    read_window(&p, c, dims, 2, -1);
    p.include_pad = tc_k_bool(c, 6), p.override = c->nargs > 7 && tc_k_given(c, 7) ? tc_k_int(c, 7) : 0;
    return run(c, p);
}
static tc_status adaptive_avg_pool(tc_kcall *c) {
    pool p = sizes_of(tc_k_tensor(c, 0), &c->outs[0], c->args[1].n, AVG);
    p.adaptive = true;
    return run(c, p);
}
static tc_status adaptive_avg_pool_backward(tc_kcall *c) {
    const tc_tensor *x = tc_k_tensor(c, 1);
    pool p = sizes_of(x, tc_k_tensor(c, 0), adaptive_dims(x, tc_k_tensor(c, 0)), AVG_BACKWARD);
    p.adaptive = true;
    return run(c, p);
}
static tc_status adaptive_max_pool(tc_kcall *c) {
    pool p = sizes_of(tc_k_tensor(c, 0), &c->outs[0], c->args[1].n, MAX);
    p.adaptive = true;
    if (c->nouts > 1 && c->outs[1].storage) p.index = tc_tensor_data(&c->outs[1]);
    return run(c, p);
}

const tc_kernel tc_k_max_pool_with_indices = {"max_pool_with_indices", TC_KF_CONTIGUOUS, max_pool, scratch};
const tc_kernel tc_k_max_pool_backward = {"max_pool_backward", TC_KF_CONTIGUOUS, max_pool_backward, scratch};
const tc_kernel tc_k_avg_pool = {"avg_pool", TC_KF_CONTIGUOUS, avg_pool, scratch};
const tc_kernel tc_k_avg_pool_backward = {"avg_pool_backward", TC_KF_CONTIGUOUS, avg_pool_backward, scratch};
const tc_kernel tc_k_adaptive_avg_pool = {"adaptive_avg_pool", TC_KF_CONTIGUOUS, adaptive_avg_pool, scratch};
const tc_kernel tc_k_adaptive_avg_pool_backward = {"adaptive_avg_pool_backward", TC_KF_CONTIGUOUS, adaptive_avg_pool_backward, scratch};
const tc_kernel tc_k_adaptive_max_pool = {"adaptive_max_pool", TC_KF_CONTIGUOUS, adaptive_max_pool, scratch};
