/* The loop over the tiles of a tc_conv_pairs (kernel/conv_isa.h) for one dot product instruction, included by conv_bf16.isa.c with N_ (adds a suffix),
 * TARGET (a function attribute), ROWS (rows of a tile), RESULTS_ONLY (0: rows are all positions, those between two lines of results included) and
 *   begin(rows, depth), end()                 called around tiles of so many rows; no other code runs in between
 *   place(j, r, rows, at)                     at[0] to at[ROWS - 1]: where rows r, r + 1, ... of j read their first terms
 *   tile(rows, j, at, panel, sums, pending)   computes the sums of `rows` rows, and stores the pending tile meanwhile
 *   conv_store(tile, n)                       stores the next n rows of a tile */
/* How many of the first n positions are results. */
TARGET static int64_t N_(conv_results)(const tc_conv_pairs *j, int64_t n) {
    const int64_t part = n % j->line;
    return n / j->line * j->wide + (part < j->wide ? part : j->wide);
}
TARGET static void N_(conv_run)(const tc_conv_pairs *j) {
    enum { REGION = 4096 }; /* results for which the epilogue is called at once, at least */
    const int64_t count = RESULTS_ONLY ? N_(conv_results)(j, j->count) : j->count;
    int64_t height = 0, reported = 0, parity = 0, at[ROWS], tiles = (count + ROWS - 1) / ROWS;
    pending_positions pending = {.j = j, .line = RESULTS_ONLY ? j->wide : j->line};
    for (int64_t r = 0, rows; r < count; r += rows, tiles--) {
        if (RESULTS_ONLY) rows = (count - r + tiles - 1) / tiles; /* of equal heights, nearly */
        else rows = count - r < ROWS ? count - r : ROWS;
        if (rows != height) begin(rows, j->depth);
        height = rows;
        N_(place)(j, r, rows, at);
        for (int64_t c = 0; c < j->cols; c += PANEL, parity ^= 1) {
            float *sums = j->sums + parity * ROWS * PANEL;
            N_(tile)(rows, j, at, j->w + c / PANEL * j->panel, sums, &pending);
            set_pending_positions(&pending, r, rows, c, sums);
        }
        int64_t done = reported;
        if (j->epilogue) done = RESULTS_ONLY ? r + rows : N_(conv_results)(j, r + rows);
        if (done == reported || (r + rows < count && (done - reported) * j->cols < REGION)) continue;
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
