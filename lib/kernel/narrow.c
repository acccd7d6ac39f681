/* Conversions between narrow floats and float32 on the pool. */
#include "kernel/narrow.h"

#include "kernel/isa.h"

enum { PIECE = 512, TASK = 8192 }; /* elements that are gathered at once; of a task, at least */

typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype;
    const char *in;
    float *out;
    int64_t size[4], stride[4]; /* of as few dimensions as may be, the others are 1 */
    int64_t pieces, piece;      /* of a row */
} widening;
static void widen_pieces(void *ctx, int64_t begin, int64_t end, int worker) {
    const widening *w = ctx;
    const size_t e = tc_dtype_size(w->dtype);
    const int64_t *size = w->size, *stride = w->stride;
    uint8_t line[PIECE * 4];
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        const int64_t row = t / w->pieces, c0 = t % w->pieces * w->piece, n = size[3] - c0 < w->piece ? size[3] - c0 : w->piece;
        const char *from =
            w->in +
            (size_t)(row / size[2] / size[1] * stride[0] + row / size[2] % size[1] * stride[1] + row % size[2] * stride[2] + c0 * stride[3]) * e;
        float *to = w->out + row * size[3] + c0;
        for (int64_t c = 0, m; c < n; c += m) {
            m = stride[3] == 1 || n - c < PIECE ? n - c : PIECE;
            if (stride[3] != 1) w->isa->move->load[e - 1](line, from + (size_t)(c * stride[3]) * e, stride[3], m);
            w->isa->cast[w->dtype][TC_F32](to + c, stride[3] == 1 ? from : (const void *)line, m);
        }
    }
}
void tc_widen(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const void *in, const int64_t size[4], const int64_t stride[4], float *out) {
    widening w = {isa, d, in, out, .size = {1, 1, 1, size[3]}, .stride = {0, 0, 0, stride[3]}};
    int at = 3;
    for (int i = 2; i >= 0; i--) {
        if (size[i] == 1) continue;
        if (w.size[at] != 1 && stride[i] == w.size[at] * w.stride[at]) w.size[at] *= size[i];
        else {
            if (w.size[at] != 1) at--;
            w.size[at] = size[i], w.stride[at] = stride[i];
        }
    }
    const int64_t rows = w.size[0] * w.size[1] * w.size[2], cols = w.size[3];
    if (rows * cols == 0) return;
    w.piece = TASK, w.pieces = (cols + TASK - 1) / TASK;
    tc_parallel_for(pool, rows * w.pieces, 1 + TASK / cols, widen_pieces, &w);
}
void tc_widen_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const void *in, int64_t n, float *out) {
    tc_widen(isa, pool, d, in, (const int64_t[]){1, 1, 1, n}, (const int64_t[]){0, 0, 0, 1}, out);
}

void tc_narrow_region(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const tc_narrowing *x = ctx;
    const bool whole = nc == x->n;
    for (int64_t r = r0; r < r0 + nr; r += whole ? nr : 1)
        x->isa->cast[TC_F32][x->dtype]((char *)x->out + (size_t)(r * x->n + c0) * tc_dtype_size(x->dtype), x->wide + r * x->n + c0,
                                       whole ? nr * nc : nc);
    if (x->then) x->then->fn(x->then->ctx, r0, nr, c0, nc, worker);
}
static void narrow_range(void *ctx, int64_t begin, int64_t end, int worker) { tc_narrow_region(ctx, begin, end - begin, 0, 1, worker); }
void tc_narrow_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const float *in, int64_t n, void *out) {
    tc_parallel_for(pool, n, TASK, narrow_range, &(tc_narrowing){isa, d, in, out, 1, NULL});
}
