/* The loop over the tiles of a tc_conv_pairs (kernel/conv_isa.h) for one dot product instruction, included by conv_bf16.isa.c with N_ (adds a suffix),
 * TARGET (a function attribute), ROWS (rows of a tile) and
 *   begin(rows, depth), end()                 called around tiles of so many rows; no other code runs in between
 *   tile(rows, j, x, panel, sums, pending)    computes the sums of `rows` positions from x on, and stores the pending tile meanwhile
 *   conv_store(tile, n)                       stores the next n rows of a tile */
/* How many of the first n positions are results. */
TARGET static int64_t N_(conv_results)(const tc_conv_pairs *j, int64_t n) {
    const int64_t part = n % j->line;
    return n / j->line * j->wide + (part < j->wide ? part : j->wide);
}
TARGET static void N_(conv_run)(const tc_conv_pairs *j) {
    enum { REGION = 4096 }; /* results for which the epilogue is called at once, at least */
    int64_t height = 0, reported = 0, parity = 0;
    pending_positions pending = {.j = j};
    for (int64_t r = 0, rows; r < j->count; r += rows) {
        rows = j->count - r < ROWS ? j->count - r : ROWS;
        if (rows != height) begin(rows, j->depth);
        height = rows;
        for (int64_t c = 0; c < j->cols; c += PANEL, parity ^= 1) {
            float *sums = j->sums + parity * ROWS * PANEL;
            N_(tile)(rows, j, j->x + r * j->x_step, j->w + c / PANEL * j->panel, sums, &pending);
            set_pending_positions(&pending, r, rows, c, sums);
        }
        const int64_t done = j->epilogue ? N_(conv_results)(j, r + rows) : reported;
        if (done == reported || (r + rows < j->count && (done - reported) * j->cols < REGION)) continue;
        N_(conv_store)(&pending, pending.rows);
        end();
        height = 0;
        j->epilogue->fn(j->epilogue->ctx, j->row0 + reported, done - reported, j->col0, j->cols, j->worker);
        reported = done;
    }
    N_(conv_store)(&pending, pending.rows);
    end();
}

extern const tc_conv_pairs_ops TC_ROW(N_(tc_conv_bf16));
const tc_conv_pairs_ops TC_ROW(N_(tc_conv_bf16)) = {ROWS, PANEL, N_(conv_run)};
