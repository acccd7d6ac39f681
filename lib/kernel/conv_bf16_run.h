/* Tiles over positions and channels of tc_conv_pairs (kernel/conv_isa.h), and their results: included by conv_bf16.isa.c with N_ (adds a suffix),
 * TARGET (an attribute), ROWS (of a tile) and
 *   begin(rows, depth), end()        around tiles of so many rows; no call of others in between
 *   tile(rows, j, x, panel, sums)    sums[i * PANEL + c] = the sum of position i from x on and channel c */
TARGET static void N_(conv_store)(const tc_conv_pairs *j, int64_t position, int64_t rows, int64_t c, const float *sums) {
    const int64_t w = j->cols - c < PANEL ? j->cols - c : PANEL;
    int64_t line = position / j->line, at = position - line * j->line;
    float bias[PANEL] = {0};
    uint16_t *out = j->out + line * j->next + c * j->ld, rounded[PANEL];
    for (int64_t q = 0; j->bias && q < w; q++) bias[q] = tc_x_cast_bf16_f32(j->bias[c + q]);
    for (int64_t i = 0; i < rows; i++, at++, sums += PANEL) {
        if (at == j->line) at = 0, out += j->next;
        if (at >= j->wide) continue;
        const bool whole = j->ld == 1 && w == PANEL;
        uint16_t *to = out + at * j->pace;
        VS sum[2] = {0};
#pragma GCC unroll 16
        for (int q = 0; q < PANEL; q += VL) {
            VF x, y;
            __builtin_memcpy(&x, sums + q, sizeof x);
            __builtin_memcpy(&y, bias + q, sizeof y);
            if (j->bias) x += y;
            __builtin_memcpy((char *)&sum[q / 16] + q % 16 * 4, &x, sizeof x);
        }
        store_rounded(whole ? to : rounded, sum[0], sum[1]);
        for (int64_t q = 0; !whole && q < w; q++) to[q * j->ld] = rounded[q];
    }
}
/* How many of the first n positions are results. */
TARGET static int64_t N_(conv_results)(const tc_conv_pairs *j, int64_t n) {
    const int64_t part = n % j->line;
    return n / j->line * j->wide + (part < j->wide ? part : j->wide);
}
TARGET static void N_(conv_run)(const tc_conv_pairs *j) {
    enum { REGION = 4096 }; /* results that are reported together, at least */
    int64_t height = 0, told = 0;
    for (int64_t r = 0, rows; r < j->count; r += rows) {
        rows = j->count - r < ROWS ? j->count - r : ROWS;
        if (rows != height) begin(rows, j->depth);
        height = rows;
        for (int64_t c = 0; c < j->cols; c += PANEL) {
            N_(tile)(rows, j, j->x + r * j->apart, j->w + c / PANEL * j->panel, j->sums);
            N_(conv_store)(j, r, rows, c, j->sums);
        }
        const int64_t done = j->then ? N_(conv_results)(j, r + rows) : told;
        if (done == told || (r + rows < j->count && (done - told) * j->cols < REGION)) continue;
        end();
        height = 0;
        j->then->fn(j->then->ctx, j->row0 + told, done - told, j->col0, j->cols, j->worker);
        told = done;
    }
    end();
}

extern const tc_conv_pairs_ops TC_ROW(N_(tc_conv_bf16));
const tc_conv_pairs_ops TC_ROW(N_(tc_conv_bf16)) = {ROWS, PANEL, N_(conv_run)};
