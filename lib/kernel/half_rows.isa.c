/* The plain epilogue for bfloat16 as one pass over rows x columns (tc_half_rows in kernel/isa.h). */
#include "kernel/isa.h"
#include "kernel/vec_f32.h"

#include "kernel/half_plain.h"

enum { VL = ROW_BYTES / 4 };

/* The last n columns, from i on, fewer than a vector has lanes. */
static void rest(const half_plain *p, uint16_t *to, const uint16_t *from, int64_t i, int64_t n) {
    uint16_t x[VL] = {0}, more[VL] = {0}, out[VL];
    float scale[VL] = {0}, shift[VL] = {0};
    half_plain some = *p;
    __builtin_memcpy(x, from + i, (size_t)n * 2);
    if (p->more) __builtin_memcpy(more, p->more + i, (size_t)n * 2), some.more = more;
    if (p->scale) {
        __builtin_memcpy(scale, p->scale + i, (size_t)n * 4), __builtin_memcpy(shift, p->shift + i, (size_t)n * 4);
        some.scale = scale, some.shift = shift;
    }
    half_vector(out, vload_bf16(x), &some, 0);
    __builtin_memcpy(to + i, out, (size_t)n * 2);
}
void TC_ROW(tc_half_rows)(const tc_half_rows *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc);
void TC_ROW(tc_half_rows)(const tc_half_rows *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc) {
    for (int64_t r = r0; r < r0 + nr; r++) {
        const int64_t at = r * j->cols, end = c0 + nc;
        const half_plain p = {j->scale, j->shift, j->more ? (const uint16_t *)j->more + at : NULL, j->table, j->low, j->high};
        const uint16_t *x = (const uint16_t *)j->x + at;
        uint16_t *out = (uint16_t *)j->out + at;
        int64_t c = c0;
        for (; c + VL <= end; c += VL) half_vector(out, vload_bf16(x + c), &p, c);
        if (c < end) rest(&p, out, x, c, end - c);
    }
}
