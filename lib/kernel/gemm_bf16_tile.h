/* The bfloat16 product by one dot product instruction, included by gemm_bf16.isa.c with N_ (adds a suffix), TARGET (a function attribute), TILE_ROWS
 * (rows of a tile) and
 *   row_multiple(nr)                     in a block of nr rows, tiles have a multiple of this many rows; missing ones are copied as zeros
 *   begin(nr), end()                     called around the tiles of such a block
 *   multiply(rows, run, sums, pending)   adds a run's products to the sums of a tile, and stores the pending tile meanwhile
 *   store(tile, n)                       stores the next n rows of a tile
 *   direct(j, r, c, rows, w)             where multiply may store finished sums directly; NULL: nowhere
 *
 *       for each stripe of columns, whose panels stay in L2 (packed here unless the caller did):
 *         for each group of row tiles:
 *           for each NR columns:                  a panel
 *             for each piece of k, a few KiB:     b stays in L1
 *               for each row tile of the group:   its sums stay in L1
 *
 * Where there is one tile of rows and the columns of b are contiguous, a few steps of all columns are packed and used at a time (few_rows): b is read
 * sequentially, and the sums of all columns are kept.
 *
 * A sum is one chain over k, wherever pieces end. */

/* Rows of a as tiles read them: in place or copied. */
typedef struct {
    const char *at;
    int64_t row_bytes; /* from row to row */
} N_(rows);

/* How many rows of a stay in L2 together. */
TARGET static int64_t N_(rows_at_once)(int64_t k) { return (A_MOST / (row_bytes_of(k) * TILE_ROWS) + 1) * TILE_ROWS; }
/* How many row tiles form a group, which uses each piece of a panel in turn. All, so that panels are read once; but where there are many rows and k is
 * short, one tile: its rows of a then stay in L1 for all panels, and results are written to few rows at a time. */
TARGET static int64_t N_(together)(int64_t rows, int64_t k) {
    const int64_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    return rows <= 128 || steps_of(k) > SHORT_STEPS ? tiles : 1;
}
/* Columns of a stripe: their panels are used by all rows before the next stripe's are. */
TARGET static int64_t N_(stripe)(int64_t k) { return (B_MOST / (steps_of(k) * STEP_BYTES + 1) + 1) * NR; }
/* Grows with each of its arguments. */
TARGET static size_t N_(work_bytes)(int64_t nr, int64_t nc, int64_t k) {
    const int64_t tiles = (nr + TILE_ROWS - 1) / TILE_ROWS, rows = tiles * TILE_ROWS, row_bytes = row_bytes_of(k), panel = steps_of(k) * STEP_BYTES;
    return (size_t)(rows * (NR * 4 + 128) + tc_min(rows * row_bytes, A_MOST + TILE_ROWS * row_bytes) +
                    tc_min(padded(nc) / NR * panel, B_MOST + panel)) +
           tc_min(padded(nc), FEW_COLUMNS) * (FEW_STEPS * STEP_BYTES / NR + TILE_ROWS * 4) + tiles * sizeof(N_(rows)) + 192;
}

/* Rows [r, r + n) of a: in place where tiles can read them so, else copied to `copy`. unit: row_multiple of the block. */
TARGET static N_(rows) N_(rows_of_a)(const tc_gemm *j, int64_t r, int64_t n, int64_t unit, char *copy) {
    const uint16_t *a = (const uint16_t *)j->a + r * j->a_rs;
    if (j->a_cs == 1 && j->k % STEP == 0 && n % unit == 0) return (N_(rows)){(const char *)a, 2 * j->a_rs};
    const int64_t row_bytes = row_bytes_of(j->k), all = (n + unit - 1) / unit * unit;
    for (int64_t i = 0; i < all; i++, a += j->a_rs) {
        halfword *o = (halfword *)(copy + i * row_bytes);
        const int64_t present = i < n ? j->k : 0;
        if (j->a_cs == 1) __builtin_memcpy(o, a, (size_t)present * 2);
        else
            for (int64_t k = 0; k < present; k++) o[k] = a[k * j->a_cs];
        __builtin_memset(o + present, 0, (size_t)(steps_of(j->k) * STEP - present) * 2);
    }
    return (N_(rows)){copy, row_bytes};
}

/* Rows [r0, r0 + nr), columns [c0, c0 + nc): a group of row tiles over a stripe. sums: a tile for each of the group. */
TARGET static void N_(columns)(const tc_gemm *j, const N_(rows) * a, int64_t r0, int64_t nr, int64_t c0, int64_t nc, float *sums, char *line_buffer,
                               const char *panels) {
    const int64_t tiles = (nr + TILE_ROWS - 1) / TILE_ROWS, panels_all = padded(nc) / NR;
    const int64_t steps = steps_of(j->k), most = tiles > 1 && tiles <= 4 ? PIECE_STEPS : SHORT_STEPS; /* a single tile shares b with no other */
    const int64_t pieces = steps ? (steps + most - 1) / most : 1, piece = steps ? (steps + pieces - 1) / pieces : 1;
    /* What tiles prefetch: those of a group share the lines of the panel's next piece. A single tile prefetches the rows of a after it; where there are
     * none and b does not fit L2, every other line of its own panel, as the hardware brings lines in pairs. */
    const bool alone = j->m <= TILE_ROWS && 4 * j->n * j->k > j->l2_bytes;
    const bool after = tiles == 1 && nr == TILE_ROWS && a->row_bytes == steps * 2 * STEP && j->m > TILE_ROWS;
    const int64_t sharers = after ? panels_all : tiles, lines = tiles > 1 || after ? (STEP_BYTES / 64 + sharers - 1) / sharers
                                                                : alone            ? STEP_BYTES / 128
                                                                                   : 0;
    pending_tile pending = {.j = j};
    for (int64_t c = 0; c < nc; c += NR, panels += steps * STEP_BYTES)
        for (int64_t s = 0; s == 0 || s < steps; s += piece)
            for (int64_t r = 0, t = 0; r < nr; r += TILE_ROWS, t++) {
                const int64_t rows = tc_min(TILE_ROWS, nr - r);
                const char *at = panels + s * STEP_BYTES, *next = at + piece * (STEP_BYTES + t * lines * 64);
                if (alone) next = at + PREFETCH_STEPS * STEP_BYTES;
                if (after) next = a->at + nr * a->row_bytes + (c / NR * steps + s) * lines * 64;
                const bool last = s + piece >= steps;
                float *to = last ? direct(j, r0 + r, c0 + c, rows, tc_min(NR, nc - c)) : NULL;
                const tile_run run = {
                    tc_min(piece, steps - s), a[t].at + s * 2 * STEP, a[t].row_bytes, at, next, (int)lines, alone ? 128 : 64, s > 0, to, 4 * j->c_rs};
                multiply(rows, run, sums + r * NR, &pending);
                if (!last || to) continue;
                set_pending(&pending, j, r0 + r, rows, c0 + c, tc_min(NR, nc - c), sums + r * NR);
                pending.line_buffer = line_buffer ? line_buffer + r * 128 : NULL, pending.first = c == 0, pending.last = c + 2 * NR > nc;
            }
    store(&pending, pending.rows);
    if (line_buffer) STREAM_END();
}
/* One tile of rows by columns that are contiguous in b. panel_buffer: packed steps of FEW_COLUMNS columns, then their sums. */
TARGET static void N_(few_rows)(const tc_gemm *j, N_(rows) a, int64_t r0, int64_t nr, int64_t c0, int64_t nc, char *panel_buffer) {
    const int64_t steps = steps_of(j->k), panels = padded(nc) / NR;
    float *const sums = (float *)(void *)(panel_buffer + panels * FEW_STEPS * STEP_BYTES);
    pending_tile pending = {.j = j};
    for (int64_t s = 0; s == 0 || s < steps; s += FEW_STEPS) {
        const int64_t n = tc_min(FEW_STEPS, steps - s);
        pack_steps(j, s, n, c0, nc, panel_buffer);
        begin(nr);
        for (int64_t p = 0; p < panels; p++) {
            const tile_run run = {n, a.at + s * 2 * STEP, a.row_bytes, panel_buffer + p * n * STEP_BYTES, NULL, 0, 0, s > 0, NULL, 0};
            multiply(nr, run, sums + p * TILE_ROWS * NR, &pending);
            if (s + n >= steps) set_pending(&pending, j, r0, nr, c0 + p * NR, tc_min(NR, nc - p * NR), sums + p * TILE_ROWS * NR);
        }
        store(&pending, pending.rows);
        end();
    }
}
TARGET static void N_(block)(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    const int64_t at_once = N_(rows_at_once)(j->k), all = tc_min(nr, at_once), tiles = (all + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t stripe = N_(stripe)(j->k), some = N_(together)(all, j->k) * TILE_ROWS;
    const bool few = !packed && nr <= TILE_ROWS && j->b_cs == 1;
    const int64_t held =
        few ? tc_min(padded(nc), FEW_COLUMNS) * (FEW_STEPS * STEP_BYTES / NR + TILE_ROWS * 4) : (int64_t)pack_bytes(tc_min(nc, stripe), j->k);
    char *sums = tc_align64(work), *line_buffer = sums + some * NR * 4, *panel_buffer = line_buffer + some * 128,
         *copies = panel_buffer + (packed ? 0 : held);
    N_(rows) *a = tc_align64(copies + tiles * TILE_ROWS * row_bytes_of(j->k));
    for (int64_t r = 0; r < nr; r += at_once) {
        const int64_t rows = tc_min(at_once, nr - r);
        for (int64_t i = 0; i < rows; i += TILE_ROWS)
            a[i / TILE_ROWS] = N_(rows_of_a)(j, r0 + r + i, tc_min(TILE_ROWS, rows - i), row_multiple(rows), copies + i * row_bytes_of(j->k));
        for (int64_t c = 0, cols; few && c < nc; c += cols) {
            cols = tc_min(FEW_COLUMNS, nc - c);
            N_(few_rows)(j, a[0], r0, nr, c0 + c, cols, panel_buffer);
            tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0, nr, c0 + c, cols, worker);
        }
        for (int64_t c = 0; !few && c < nc; c += stripe) {
            const int64_t cols = tc_min(stripe, nc - c);
            const char *panels = packed ? (const char *)packed + pack_bytes(c, j->k) : panel_buffer;
            if (!packed) pack(j, c0 + c, cols, panel_buffer);
            for (int64_t i = 0; i < rows; i += some) {
                begin(rows);
                N_(columns)
                (j, a + i / TILE_ROWS, r0 + r + i, tc_min(some, rows - i), c0 + c, cols, (float *)sums, streams(j) ? line_buffer : NULL, panels);
                end();
                tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0 + r + i, tc_min(some, rows - i), c0 + c, cols, worker);
            }
        }
    }
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16));
const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16)) = {TILE_ROWS, NR, TC_GEMM_MC / TILE_ROWS *TILE_ROWS, N_(work_bytes), N_(block), pack_bytes, pack};
