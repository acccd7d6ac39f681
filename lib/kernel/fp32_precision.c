/* Rounding the operands of float32 products (fp32_precision.h), a chunk of a row at a time. */
#include "kernel/fp32_precision.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 512, GRAIN = 8192 }; /* elements rounded at once; elements of a task, at least */

const char *const tc_fp32_names[] = {[TC_FP32_IEEE] = "ieee", [TC_FP32_BF16X3] = "bf16x3", [TC_FP32_TF32] = "tf32", [TC_FP32_BF16] = "bf16", NULL};

void tc_numerics_text(tc_numerics n, char out[64]) {
    int at = snprintf(out, 64, "%s", n.fast ? "fast" : "strict");
    if (n.matmul) at += snprintf(out + at, (size_t)(64 - at), ", matmul %s", tc_fp32_names[n.matmul]);
    if (n.conv) snprintf(out + at, (size_t)(64 - at), ", conv %s", tc_fp32_names[n.conv]);
}

/* Rounds to nearest even at 10 bits of mantissa; infinities and NaNs stay. */
static void round_tf32(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, x + i, 4);
        const uint32_t r = (u + 0xfff + (u >> 13 & 1)) & ~UINT32_C(0x1fff);
        u = (u & 0x7f800000) == 0x7f800000 ? u : r;
        memcpy(x + i, &u, 4);
    }
}

typedef struct {
    const tc_isa_ops *isa;
    const tc_rounded_operand *f;
    tc_fp32 mode;
    tc_dtype type;
    char *out;
} rounding;

/* Writes the parts of n elements of x, the first part at element `at`, each next one `stride` elements on. x is overwritten. */
static void store_parts(const rounding *j, float *x, int64_t n, int64_t at, int64_t stride) {
    const size_t e = tc_dtype_size(j->type);
    float hi[CHUNK];
    if (j->mode == TC_FP32_TF32) round_tf32(x, n);
    if (j->mode != TC_FP32_BF16X3) {
        if (j->mode == TC_FP32_BF16) j->isa->round[TC_BF16](x, x, n);
        j->isa->cast[TC_F32][j->type](j->out + (size_t)at * e, x, n);
        return;
    }
    j->isa->round[TC_BF16](hi, x, n);
    for (int64_t i = 0; i < n; i++) x[i] = hi[i] - hi[i] == 0 ? x[i] - hi[i] : 0; /* 0 where hi is infinite */
    j->isa->round[TC_BF16](x, x, n);
    for (int p = 0; p < 3; p++) j->isa->cast[TC_F32][j->type](j->out + (size_t)(at + p * stride) * e, p == !j->f->left ? x : hi, n);
}
static void round_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    const rounding *j = ctx;
    const tc_rounded_operand *f = j->f;
    const int64_t parts = tc_rounded_parts(j->mode);
    float x[CHUNK];
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const int64_t b = row / f->rows, i = row % f->rows;
        const int64_t to = f->along ? row * parts * f->cols : (b * parts * f->rows + i) * f->cols, stride = f->along ? f->cols : f->rows * f->cols;
        for (int64_t c = 0; c < f->cols; c += CHUNK) {
            const int64_t n = f->cols - c < CHUNK ? f->cols - c : CHUNK;
            const float *from = f->in + b * f->bs + i * f->rs + c * f->cs;
            if (f->cs == 1) memcpy(x, from, (size_t)n * 4);
            else j->isa->move->load[2](x, from, f->cs, n);
            store_parts(j, x, n, to + c, stride);
        }
    }
}
void tc_round_operand(const tc_isa_ops *isa, tc_pool *pool, tc_fp32 mode, tc_dtype type, const tc_rounded_operand *f, void *out) {
    if (f->cols > 0) tc_parallel_for(pool, f->batch * f->rows, 1 + GRAIN / f->cols, round_rows, &(rounding){isa, f, mode, type, out});
}
