/* Conversions between narrow floats and float32 on the pool. */
#include "kernel/narrow.h"

#include "kernel/isa.h"

enum { CHUNK = 512, GRAIN = 8192 }; /* elements gathered at once; elements of a task, at least */

typedef struct {
    const tc_isa_ops *isa;
    tc_dtype dtype;
    const char *in;
    float *out;
    int64_t size[4], stride[4]; /* dimensions merged where strides allow; unused leading ones have size 1 */
    int64_t chunks, chunk;      /* of a row */
} widening;
static void widen_chunks(void *ctx, int64_t begin, int64_t end, int worker) {
    const widening *w = ctx;
    const size_t e = tc_dtype_size(w->dtype);
    const int64_t *size = w->size, *stride = w->stride;
    uint8_t line[CHUNK * 4];
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        const int64_t row = t / w->chunks, c0 = t % w->chunks * w->chunk, n = size[3] - c0 < w->chunk ? size[3] - c0 : w->chunk;
        const char *from =
            w->in +
            (size_t)(row / size[2] / size[1] * stride[0] + row / size[2] % size[1] * stride[1] + row % size[2] * stride[2] + c0 * stride[3]) * e;
        float *to = w->out + row * size[3] + c0;
        for (int64_t c = 0, m; c < n; c += m) {
            m = stride[3] == 1 || n - c < CHUNK ? n - c : CHUNK;
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
    w.chunk = GRAIN, w.chunks = (cols + GRAIN - 1) / GRAIN;
    tc_parallel_for(pool, rows * w.chunks, 1 + GRAIN / cols, widen_chunks, &w);
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
    if (x->epilogue) x->epilogue->fn(x->epilogue->ctx, r0, nr, c0, nc, worker);
}
static void narrow_range(void *ctx, int64_t begin, int64_t end, int worker) { tc_narrow_region(ctx, begin, end - begin, 0, 1, worker); }
void tc_narrow_all(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, const float *in, int64_t n, void *out) {
    tc_parallel_for(pool, n, GRAIN, narrow_range, &(tc_narrowing){isa, d, in, out, 1, NULL});
}
