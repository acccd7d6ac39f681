/* Scale, shift, residual and bounds of bfloat16 in one pass over rows x columns (tc_half_rows in kernel/isa.h): sums are rounded to the type, as the
 * operators round their results. */
#include "kernel/isa.h"
#include "kernel/vec_f32.h"

#include "kernel/half_plain.h"

enum { VL = ROW_BYTES / 4 };
static inline __attribute__((always_inline)) void vector(const tc_half_rows *j, uint16_t *out, const uint16_t *x, const uint16_t *more,
                                                         const float *scale, const float *shift) {
    half_vector(out, vload_bf16(x), more, scale, shift, j->low, j->high);
}
/* The last columns, fewer than a vector. */
static void rest(const tc_half_rows *j, int64_t at, int64_t c, int64_t n) {
    uint16_t x[VL] = {0}, more[VL] = {0}, out[VL];
    float scale[VL] = {0}, shift[VL] = {0};
    __builtin_memcpy(x, (const uint16_t *)j->x + at, (size_t)n * 2);
    if (j->more) __builtin_memcpy(more, (const uint16_t *)j->more + at, (size_t)n * 2);
    if (j->scale) __builtin_memcpy(scale, j->scale + c, (size_t)n * 4), __builtin_memcpy(shift, j->shift + c, (size_t)n * 4);
    vector(j, out, x, j->more ? more : NULL, j->scale ? scale : NULL, shift);
    __builtin_memcpy((uint16_t *)j->out + at, out, (size_t)n * 2);
}
static inline __attribute__((always_inline)) void rows_of(const tc_half_rows *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, bool scales,
                                                          bool adds) {
    for (int64_t r = r0; r < r0 + nr; r++) {
        int64_t at = r * j->cols + c0, c = c0;
        for (; c + VL <= c0 + nc; c += VL, at += VL)
            vector(j, (uint16_t *)j->out + at, (const uint16_t *)j->x + at, adds ? (const uint16_t *)j->more + at : NULL,
                   scales ? j->scale + c : NULL, j->shift + c);
        if (c < c0 + nc) rest(j, at, c, c0 + nc - c);
    }
}
void TC_ROW(tc_half_rows)(const tc_half_rows *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc);
void TC_ROW(tc_half_rows)(const tc_half_rows *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc) {
    if (j->scale && j->more) rows_of(j, r0, nr, c0, nc, true, true);
    else if (j->scale) rows_of(j, r0, nr, c0, nc, true, false);
    else rows_of(j, r0, nr, c0, nc, false, j->more != NULL);
}
