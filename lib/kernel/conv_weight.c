/* The weight gradient of a convolution as a matrix product for each tap: output gradients [output channel][k] by inputs [k][input channel], where k is
 * (image, output position); positions whose tap lies in the padding are absent (tc_gemm.segments). */
#include "base/ints.h"
#include "kernel/conv_plan.h"
#include "kernel/transpose.h"

typedef struct {
    const tc_conv *c;
    const char *x, *dout;
    char *dw;
    tc_conv_weight strides;
    int64_t k, *a_k, *b_k;
    tc_gemm_segment *segments; /* [tap][most] */
    int *nsegments;            /* [tap] */
    int64_t most;              /* segments of a tap, at most */
} plan;

static int64_t most_segments(const tc_conv *c) { return c->n * c->out[0] * c->out[1]; }

/* Few input channels become the rows of the product: as columns they would leave a panel mostly empty. The bits are the same. */
static bool swapped(const tc_conv *c) { return c->cin < 8 && c->cin < c->cout; }

size_t tc_conv_weight_grad_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    int64_t k = c->n * tc_conv_volume(c->out), taps = tc_conv_volume(c->kernel);
    const bool s = swapped(c);
    return tc_pad64((size_t)(c->n * c->groups * c->cin * tc_conv_volume(c->in)) * tc_conv_elem(c)) + 2 * tc_pad64((size_t)k * 8) +
           tc_pad64((size_t)taps * sizeof(int)) + tc_pad64((size_t)(taps * most_segments(c)) * sizeof(tc_gemm_segment)) +
           tc_gemm_scratch(isa, c->dtype, s ? c->cin : c->cout, s ? c->cout : c->cin, k, false, threads) + 256;
}

static void make_job(void *ctx, int64_t i, tc_gemm *j) {
    const plan *p = ctx;
    const tc_conv *c = p->c;
    int64_t taps = tc_conv_volume(c->kernel), g = i / taps, t = i % taps, size = (int64_t)tc_conv_elem(c), area = tc_conv_volume(c->out);
    int64_t t2 = t % c->kernel[2], t1 = t / c->kernel[2] % c->kernel[1], t0 = t / c->kernel[2] / c->kernel[1];
    int64_t shift = ((t0 * c->dil[0] - c->pad[0]) * c->in[1] + t1 * c->dil[1] - c->pad[1]) * c->in[2] + t2 * c->dil[2] - c->pad[2];
    const char *x = p->x + (shift * c->groups * c->cin + g * c->cin) * size, *dout = p->dout + g * c->cout * area * size;
    *j = (tc_gemm){.dtype = c->dtype,
                   .m = c->cout,
                   .n = c->cin,
                   .k = p->k,
                   .a = dout,
                   .a_rs = area,
                   .a_k = p->a_k,
                   .b = x,
                   .b_cs = 1,
                   .b_k = p->b_k,
                   .segments = p->segments + t * p->most,
                   .nsegments = p->nsegments[t],
                   .c = p->dw + (g * p->strides.group + t) * size,
                   .c_rs = p->strides.cout,
                   .c_cs = p->strides.cin,
                   .alpha = 1,
                   .beta = 1};
    if (swapped(c)) {
        j->m = c->cin, j->n = c->cout, j->a = x, j->a_rs = 1, j->a_k = p->b_k, j->b = dout, j->b_cs = area, j->b_k = p->a_k;
        j->c_rs = p->strides.cin, j->c_cs = p->strides.cout;
    }
}

/* Where position k of the product lies in the output gradients and, without a tap's shift, in the inputs. */
static void place_positions(const plan *p) {
    const tc_conv *c = p->c;
    const int64_t area = tc_conv_volume(c->out), channels = c->groups * c->cin, inside = tc_conv_volume(c->in);
    int64_t k = 0;
    for (int64_t n = 0; n < c->n; n++)
        for (int64_t o0 = 0; o0 < c->out[0]; o0++)
            for (int64_t o1 = 0; o1 < c->out[1]; o1++)
                for (int64_t o2 = 0; o2 < c->out[2]; o2++, k++) {
                    p->a_k[k] = n * c->groups * c->cout * area + (o0 * c->out[1] + o1) * c->out[2] + o2;
                    p->b_k[k] = (n * inside + (o0 * c->stride[0] * c->in[1] + o1 * c->stride[1]) * c->in[2] + o2 * c->stride[2]) * channels;
                }
}
/* The ranges of k where tap t is present. */
static void list_segments(const plan *p, int64_t t) {
    const tc_conv *c = p->c;
    const int64_t t2 = t % c->kernel[2], t1 = t / c->kernel[2] % c->kernel[1], t0 = t / c->kernel[2] / c->kernel[1];
    int64_t b = 0, e = c->out[2]; /* [b, e): positions of the last dimension where the tap is present */
    while (b < e && tc_conv_source(c, 2, b, t2) < 0) b++;
    while (e > b && tc_conv_source(c, 2, e - 1, t2) < 0) e--;
    tc_gemm_segment *s = p->segments + t * p->most;
    int count = 0;
    for (int64_t row = 0; row < p->most && e > b; row++) { /* a row is (n, o0, o1) */
        const int64_t o1 = row % c->out[1], o0 = row / c->out[1] % c->out[0], at = row * c->out[2] + b;
        if (tc_conv_source(c, 0, o0, t0) < 0 || tc_conv_source(c, 1, o1, t1) < 0) continue;
        if (count && s[count - 1].k + s[count - 1].n == at) s[count - 1].n += e - b;
        else s[count++] = (tc_gemm_segment){at, e - b};
    }
    p->nsegments[t] = count;
}

void tc_conv_weight_grad(const tc_conv *c, const tc_conv_grad_arrays *v) {
    const int64_t taps = tc_conv_volume(c->kernel), channels = c->groups * c->cin, inside = tc_conv_volume(c->in);
    char *scratch = v->scratch, *x = tc_conv_take(&scratch, (size_t)(c->n * channels * inside) * tc_conv_elem(c));
    plan p = {.c = c, .x = x, .dout = v->dout, .dw = v->dw, .strides = v->strides, .k = c->n * tc_conv_volume(c->out), .most = most_segments(c)};
    tc_transpose_batch(v->isa, v->pool, tc_conv_elem(c), c->n, channels, inside, v->in, x);
    p.a_k = tc_conv_take(&scratch, (size_t)p.k * 8), p.b_k = tc_conv_take(&scratch, (size_t)p.k * 8);
    p.nsegments = tc_conv_take(&scratch, (size_t)taps * sizeof(int));
    p.segments = tc_conv_take(&scratch, (size_t)(taps * p.most) * sizeof(tc_gemm_segment));
    place_positions(&p);
    for (int64_t t = 0; t < taps; t++) list_segments(&p, t);
    tc_gemm_run(v->isa, v->pool, scratch, c->groups * taps, make_job, &p);
}
