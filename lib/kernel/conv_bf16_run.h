/* Tiles over positions and channels of tc_conv_pairs (kernel/conv_isa.h): included by conv_bf16.isa.c with N_ (adds a suffix), TARGET (an attribute),
 * ROWS (of a tile) and
 *   begin(rows, depth), end()                around tiles of so many rows; no call of others in between
 *   tile(rows, j, x, panel, sums, before)    sums = of `rows` positions from x on, and stores what is left of the tile before
 *   conv_store(tile, n)                      stores the next n rows of a tile */
/* How many of the first n positions are results. */
TARGET static int64_t N_(conv_results)(const tc_conv_pairs *j, int64_t n) {
    const int64_t part = n % j->line;
    return n / j->line * j->wide + (part < j->wide ? part : j->wide);
}
TARGET static void N_(conv_run)(const tc_conv_pairs *j) {
    enum { REGION = 4096 }; /* results that are reported together, at least */
    int64_t height = 0, told = 0, turn = 0;
    conv_end before = {.j = j};
    for (int64_t r = 0, rows; r < j->count; r += rows) {
        rows = j->count - r < ROWS ? j->count - r : ROWS;
        if (rows != height) begin(rows, j->depth);
        height = rows;
        for (int64_t c = 0; c < j->cols; c += PANEL, turn ^= 1) {
            float *sums = j->sums + turn * ROWS * PANEL;
            N_(tile)(rows, j, j->x + r * j->apart, j->w + c / PANEL * j->panel, sums, &before);
            end_positions(&before, r, rows, c, sums);
        }
        const int64_t done = j->then ? N_(conv_results)(j, r + rows) : told;
        if (done == told || (r + rows < j->count && (done - told) * j->cols < REGION)) continue;
        N_(conv_store)(&before, before.rows);
        end();
        height = 0;
        j->then->fn(j->then->ctx, j->row0 + told, done - told, j->col0, j->cols, j->worker);
        told = done;
    }
    N_(conv_store)(&before, before.rows);
    end();
}

extern const tc_conv_pairs_ops TC_ROW(N_(tc_conv_bf16));
const tc_conv_pairs_ops TC_ROW(N_(tc_conv_bf16)) = {ROWS, PANEL, N_(conv_run)};
