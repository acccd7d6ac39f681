/* The weight gradient of a bfloat16 convolution as matrix products (gemm_bf16). Images are copied one after the other with zero padding around each, by
 * residues modulo the strides; output gradients are copied to the same distances. So each tap is one product over the positions of all images, whose left
 * operand merely begins at another offset:
 *
 *     x      [residue][channel]  0 0 0 0 0 0  0 1 2 3 4 0  0 5 6 7 8 0  ...      dw[ci, co, tap] = sum over q of x[ci, q + shift(tap)] dout[co, q]
 *     dout             [channel] a b c d - -  e f g h - -  ...                   -: zero
 *
 * Zeros of dout are multiplied by elements beyond the end of a line, so all elements must be finite. As many images as fit L2 form one product; their
 * results are added in float32, in order. */
#include <string.h>

#include "base/ints.h"
#include "kernel/conv_plan.h"

enum { TOGETHER_BYTES = 1 << 20, STEP = 32 }; /* bytes of copies for one product; k of a product's step */

static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -tc_ceil_div(-a, b); }

typedef struct {
    tc_conv c;
    int64_t first[3], reach[3], pitch[3]; /* smallest shift of a tap; largest minus smallest shift; positions of an image with its padding */
    int64_t area, residues, images;       /* positions of a padded image; residues modulo the strides; images of a product */
    int64_t k, row;                       /* positions of a product; elements from row to row of x */
    const uint16_t *in, *grad;
    uint16_t *x, *dout, *packed;
    size_t panel;         /* bytes of a group's packed dout */
    float *sums;          /* [group][tap][ci][co] */
    int64_t image, count; /* of the current product: its first image, how many */
    const tc_isa_ops *isa;
    float *dw;
    tc_conv_weight strides;
} plan;

static plan make_plan(const tc_conv *c, const tc_isa_ops *isa) {
    plan p = {.c = *c, .isa = isa, .area = 1, .residues = tc_conv_volume(c->stride)};
    for (int d = 0; d < 3; d++) {
        p.first[d] = floor_div(-c->pad[d], c->stride[d]);
        p.reach[d] = floor_div((c->kernel[d] - 1) * c->dil[d] - c->pad[d], c->stride[d]) - p.first[d];
        p.pitch[d] = c->out[d] + p.reach[d], p.area *= p.pitch[d];
    }
    const int64_t bytes = p.area * c->groups * (p.residues * c->cin + c->cout) * 2;
    p.images = tc_min(c->n, 1 + TOGETHER_BYTES / (bytes + 1));
    p.k = tc_ceil_div(p.images * p.area, STEP) * STEP;
    p.row = p.k + (p.reach[0] * p.pitch[1] + p.reach[1]) * p.pitch[2] + p.reach[2];
    p.panel = tc_gemm_packed_bytes(isa, TC_BF16, c->cout, p.k);
    return p;
}
static size_t x_bytes(const plan *p) { return tc_pad64((size_t)(p->residues * p->c.groups * p->c.cin * p->row) * 2); }
static size_t dout_bytes(const plan *p) { return tc_pad64((size_t)(p->c.groups * p->c.cout * p->k) * 2); }
static size_t sums_bytes(const plan *p) { return tc_pad64((size_t)(p->c.groups * tc_conv_volume(p->c.kernel) * p->c.cin * p->c.cout) * 4); }

/* Fewer channels leave tiles mostly empty, fewer positions do not repay the copies (measured). */
bool tc_conv_grad_by_pairs(const tc_conv *c, const tc_isa_ops *isa) {
    return isa->gemm_bf16 && c->cin * c->cout >= 128 && c->n * tc_conv_volume(c->out) >= 512 && tc_conv_volume(c->stride) <= 16;
}
size_t tc_conv_grad_bf16_scratch(const tc_conv *c, const tc_isa_ops *isa, int threads) {
    const plan p = make_plan(c, isa);
    return x_bytes(&p) + dout_bytes(&p) + sums_bytes(&p) + tc_pad64(p.panel) * (size_t)c->groups +
           tc_gemm_scratch(isa, TC_BF16, c->cin, c->cout, p.k, true, threads) + 64;
}

/* Copies a channel of the images of this product, the positions of one residue, to out, which holds zeros. */
static void copy_residue(const plan *p, int64_t residue, int64_t channel, uint16_t *out) {
    const tc_conv *c = &p->c;
    const int64_t *s = c->stride, r[3] = {residue / s[2] / s[1], residue / s[2] % s[1], residue % s[2]};
    const int64_t from = p->first[2] * s[2] + r[2]; /* of position 0 of a line */
    const int64_t b = tc_min(from < 0 ? tc_ceil_div(-from, s[2]) : 0, p->pitch[2]), some = c->in[2] > from ? tc_ceil_div(c->in[2] - from, s[2]) : 0,
                  e = tc_min(some < b ? b : some, p->pitch[2]);
    for (int64_t l = 0; l < p->count * p->pitch[0] * p->pitch[1]; l++, out += p->pitch[2]) {
        const int64_t i1 = l % p->pitch[1], i0 = l / p->pitch[1] % p->pitch[0], image = p->image + l / p->pitch[1] / p->pitch[0];
        const int64_t y0 = (i0 + p->first[0]) * s[0] + r[0], y1 = (i1 + p->first[1]) * s[1] + r[1];
        if (y0 < 0 || y0 >= c->in[0] || y1 < 0 || y1 >= c->in[1]) continue;
        const uint16_t *line = p->in + (((image * c->groups * c->cin + channel) * c->in[0] + y0) * c->in[1] + y1) * c->in[2] + from;
        if (s[2] == 1) memcpy(out + b, line + b, (size_t)(e - b) * 2);
        else
            for (int64_t q = b; q < e; q++) out[q] = line[q * s[2]];
    }
}
/* Copies the images of this product to x. A task is one residue and channel. */
static void copy_images(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const int64_t channels = p->c.groups * p->c.cin;
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        memset(p->x + t * p->row, 0, (size_t)p->row * 2);
        copy_residue(p, t / channels, t % channels, p->x + t * p->row);
    }
}
/* Copies their output gradients. A task is one channel. */
static void copy_gradients(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv *c = &p->c;
    const int64_t channels = c->groups * c->cout, lines = c->out[0] * c->out[1];
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        uint16_t *out = p->dout + t * p->k;
        memset(out, 0, (size_t)p->k * 2);
        for (int64_t i = 0; i < p->count; i++)
            for (int64_t l = 0; l < lines; l++)
                memcpy(out + i * p->area + (l / c->out[1] * p->pitch[1] + l % c->out[1]) * p->pitch[2],
                       p->grad + (((p->image + i) * channels + t) * lines + l) * c->out[2], (size_t)c->out[2] * 2);
    }
}
static tc_gemm right_operand(const plan *p, int64_t group) {
    return (tc_gemm){.dtype = TC_BF16, .n = p->c.cout, .k = p->k, .b = p->dout + group * p->c.cout * p->k, .b_rs = 1, .b_cs = p->k};
}
static void make_job(void *ctx, int64_t i, tc_gemm *j) {
    const plan *p = ctx;
    const tc_conv *c = &p->c;
    const int64_t taps = tc_conv_volume(c->kernel), group = i / taps, tap = i % taps,
                  t[3] = {tap / c->kernel[2] / c->kernel[1], tap / c->kernel[2] % c->kernel[1], tap % c->kernel[2]};
    int64_t shift = 0, residue = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t at = t[d] * c->dil[d] - c->pad[d], f = floor_div(at, c->stride[d]);
        shift = shift * p->pitch[d] + f - p->first[d], residue = residue * c->stride[d] + at - f * c->stride[d];
    }
    *j = right_operand(p, group);
    j->m = c->cin, j->a = p->x + (residue * c->groups + group) * c->cin * p->row + shift, j->a_rs = p->row, j->a_cs = 1;
    j->packed = (const char *)p->packed + tc_pad64(p->panel) * (size_t)group, j->packed_type = TC_BF16;
    j->c = p->sums + i * c->cin * c->cout, j->c_rs = c->cout, j->c_cs = 1, j->alpha = j->beta = 1;
    if (p->image) j->add = j->c, j->add_rs = c->cout, j->add_cs = 1;
}
/* Stores the sums to dw. A task is one input channel. */
static void store_sums(void *ctx, int64_t begin, int64_t end, int worker) {
    const plan *p = ctx;
    const tc_conv_weight *w = &p->strides;
    const int64_t taps = tc_conv_volume(p->c.kernel), cin = p->c.cin, cout = p->c.cout;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        for (int64_t tap = 0; tap < taps; tap++) {
            const float *from = p->sums + ((i / cin * taps + tap) * cin + i % cin) * cout;
            float *to = p->dw + i / cin * w->group + i % cin * w->cin + tap;
            for (int64_t co = 0; co < cout; co++) to[co * w->cout] = from[co];
        }
}
void tc_conv_grad_bf16(const tc_conv *c, const tc_conv_grad_arrays *v) {
    plan p = make_plan(c, v->isa);
    const int64_t taps = tc_conv_volume(c->kernel);
    char *scratch = tc_align64(v->scratch);
    p.in = v->in, p.grad = v->dout, p.dw = v->dw, p.strides = v->strides;
    p.x = tc_conv_take(&scratch, x_bytes(&p)), p.dout = tc_conv_take(&scratch, dout_bytes(&p)), p.sums = tc_conv_take(&scratch, sums_bytes(&p));
    p.packed = tc_conv_take(&scratch, tc_pad64(p.panel) * (size_t)c->groups);
    for (p.image = 0; p.image < c->n; p.image += p.images) {
        p.count = tc_min(p.images, c->n - p.image);
        tc_parallel_for(v->pool, p.residues * c->groups * c->cin, 1 + 8192 / (p.row + 1), copy_images, &p);
        tc_parallel_for(v->pool, c->groups * c->cout, 1 + 8192 / (p.k + 1), copy_gradients, &p);
        for (int64_t g = 0; g < c->groups; g++) {
            const tc_gemm j = right_operand(&p, g);
            tc_gemm_pack(v->isa, v->pool, &j, (char *)p.packed + tc_pad64(p.panel) * (size_t)g);
        }
        tc_gemm_run(v->isa, v->pool, scratch, c->groups * taps, make_job, &p);
    }
    tc_parallel_for(v->pool, c->groups * c->cin, 1 + 8192 / (taps * c->cout + 1), store_sums, &p);
}
