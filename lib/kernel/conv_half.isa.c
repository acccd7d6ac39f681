/* Rows of depthwise convolutions over channels-last bfloat16 images (row_last of tc_conv_row): summed in float32 as in conv_lanes.h, rounded once. */
#include "kernel/conv_isa.h"
#include "kernel/isa.h"
#include "kernel/vec_f32.h"

#include "kernel/half_plain.h"

enum { VL = ROW_BYTES / 4, MAX_POSITIONS = 8 };

/* np positions from p0 on, all channels. */
static inline __attribute__((always_inline)) void positions(const tc_conv_row *r, const tc_conv_run *u, int64_t p0, const int np) {
    const int64_t c = r->channels, s = u->istep * c, out_step = u->step * c, block = (r->taps + 1) * VL;
    const int64_t from = (u->i + p0 * u->istep) * c, to = (u->o + p0 * u->step) * c;
    const tc_conv_line *const last = r->line + r->nlines;
    const tc_epilogue_plain *const plain = r->plain;
    half_plain then = {.low = -__builtin_inff(), .high = __builtin_inff()};
    if (plain) then = (half_plain){plain->scale, plain->shift, NULL, plain->table, (float)plain->low, (float)plain->high};
    const float *first = r->w;
    for (int64_t c0 = 0; c0 < c; c0 += VL, first += block) {
        if (c0 + VL > c) c0 = c - VL;
        VF acc[MAX_POSITIONS];
        for (int p = 0; p < np; p++) acc[p] = (VF){0};
        for (const tc_conv_line *l = r->line; l < last; l++) {
            const uint16_t *x = (const uint16_t *)l->x + from + c0;
            const float *w = first + (l->tap + u->t) * VL;
            for (int64_t j = 0; j < u->nt; j++, x += u->ioff * c, w += u->tstep * VL) {
                VF v;
                __builtin_memcpy(&v, w, sizeof v);
                for (int p = 0; p < np; p++) acc[p] = vfma(v, vload_bf16(x + p * s), acc[p]);
            }
        }
        VF bias;
        __builtin_memcpy(&bias, first + block - VL, sizeof bias);
        for (int p = 0; p < np; p++) {
            if (plain && plain->more) then.more = (const uint16_t *)plain->more + to + p * out_step;
            half_vector((uint16_t *)r->out + to + p * out_step, rounded(r->bias ? acc[p] + bias : acc[p]), &then, c0);
        }
    }
}
void TC_ROW(tc_conv_row_half)(const tc_conv_row *r);
void TC_ROW(tc_conv_row_half)(const tc_conv_row *r) {
    for (const tc_conv_run *u = r->run, *end = u + r->nruns; u < end; u++)
        for (int64_t n = u->count, p = 0, left, np; (left = n - p) > 0;
             p += np) { /* groups may overlap: computing a position twice is cheaper than another group */
            np = left >= MAX_POSITIONS || (left > 2 && n >= MAX_POSITIONS) ? MAX_POSITIONS : left > 1 ? 2 : 1;
            if (p > n - np) p = n - np;
            if (np == MAX_POSITIONS) positions(r, u, p, MAX_POSITIONS);
            else if (np == 2) positions(r, u, p, 2);
            else positions(r, u, p, 1);
        }
}
