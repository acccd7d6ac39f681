/* The product of bfloat16 by one instruction for pairs, included by gemm_bf16.isa.c with N_ (adds a suffix), TARGET (an attribute), TILE_ROWS (rows of
 * a tile) and
 *   unit_of(nr)                         the rows of tiles of a block of nr rows are a multiple of this; what is missing is copied as zeros
 *   begin(nr), end()                    around tiles of such a block
 *   multiply(rows, run, sums, before)   adds a run's products to the sums of a tile, and stores what is left of the one before
 *   store(tile, n)                      stores the next n rows of a tile
 *   direct(j, r, c, rows, w)            where multiply may store the sums of a tile at once; NULL: not
 *
 *       for some columns, whose panels stay in the second cache, packed where they are not:
 *         for some tiles of rows:
 *           for each NR columns:                  a panel
 *             for each piece of k, a few KiB:     b: in the first cache
 *               for each of these tiles:          the sums wait there too
 *
 * Of one tile of rows and a b of neighbouring columns some steps of all columns are packed and used at a time: b is read as it lies, and the sums of
 * all columns wait.
 *
 * A sum is one chain over k (NUMERICS 9), wherever pieces end. */

/* Rows of a as tiles read them. */
typedef struct {
    const char *at;
    int64_t apart; /* bytes */
} N_(rows);

/* Rows whose a is in the second cache at once. */
TARGET static int64_t N_(rows_at_once)(int64_t k) { return (A_MOST / (apart_of(k) * TILE_ROWS) + 1) * TILE_ROWS; }
/* Tiles of rows that use a piece of a panel one after the other: all, so that panels come from memory once; but of many rows of a short k one,
 * which stays in the first cache from panel to panel, and whose results are written as few lines at a time. */
TARGET static int64_t N_(together)(int64_t rows, int64_t k) {
    const int64_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    return rows <= 128 || steps_of(k) > SHORT ? tiles : 1;
}
/* Columns whose panels are used by all rows before others are. */
TARGET static int64_t N_(stripe)(int64_t k) { return (B_MOST / (steps_of(k) * STEP_BYTES + 1) + 1) * NR; }
/* Grows with each of its arguments. */
TARGET static size_t N_(work_bytes)(int64_t nr, int64_t nc, int64_t k) {
    const int64_t tiles = (nr + TILE_ROWS - 1) / TILE_ROWS, rows = tiles * TILE_ROWS, apart = apart_of(k), panel = steps_of(k) * STEP_BYTES;
    return (size_t)(rows * (NR * 4 + 128) + tc_min(rows * apart, A_MOST + TILE_ROWS * apart) + tc_min(padded(nc) / NR * panel, B_MOST + panel)) +
           tc_min(padded(nc), FEW_COLUMNS) * (FEW_STEPS * STEP_BYTES / NR + TILE_ROWS * 4) + tiles * sizeof(N_(rows)) + 192;
}

/* Rows [r, r + n) of a: as they lie where tiles can read that, else copied to `copy`. */
TARGET static N_(rows) N_(take_rows)(const tc_gemm *j, int64_t r, int64_t n, int64_t unit, char *copy) {
    const uint16_t *a = (const uint16_t *)j->a + r * j->a_rs;
    if (j->a_cs == 1 && j->k % STEP == 0 && n % unit == 0) return (N_(rows)){(const char *)a, 2 * j->a_rs};
    const int64_t apart = apart_of(j->k), all = (n + unit - 1) / unit * unit;
    for (int64_t i = 0; i < all; i++, a += j->a_rs) {
        halfword *o = (halfword *)(copy + i * apart);
        const int64_t present = i < n ? j->k : 0;
        if (j->a_cs == 1) __builtin_memcpy(o, a, (size_t)present * 2);
        else
            for (int64_t k = 0; k < present; k++) o[k] = a[k * j->a_cs];
        __builtin_memset(o + present, 0, (size_t)(steps_of(j->k) * STEP - present) * 2);
    }
    return (N_(rows)){copy, apart};
}

/* Columns [c0, c0 + nc) of some tiles of rows from r0 on. */
TARGET static void N_(columns)(const tc_gemm *j, const N_(rows) * a, int64_t r0, int64_t nr, int64_t c0, int64_t nc, float *sums, char *kept,
                               const char *panels) {
    const int64_t tiles = (nr + TILE_ROWS - 1) / TILE_ROWS, panels_all = padded(nc) / NR;
    const int64_t steps = steps_of(j->k), most = tiles > 1 && tiles <= 4 ? PIECE : SHORT; /* one tile's sums would wait for nothing */
    const int64_t pieces = steps ? (steps + most - 1) / most : 1, piece = steps ? (steps + pieces - 1) / pieces : 1;
    /* tiles ask for the next piece of the panel together; a single one for the rows after it, or, where there are none and b is hardly
     * near, for some lines of what follows: what lies between them comes by itself */
    const bool alone = j->m <= TILE_ROWS && 4 * j->n * j->k > j->second_cache;
    const bool after = tiles == 1 && nr == TILE_ROWS && a->apart == steps * 2 * STEP && j->m > TILE_ROWS;
    const int64_t asks = after ? panels_all : tiles, lines = tiles > 1 || after ? (STEP_BYTES / 64 + asks - 1) / asks : alone ? STEP_BYTES / 128 : 0;
    tile_end before = {.j = j};
    for (int64_t c = 0; c < nc; c += NR, panels += steps * STEP_BYTES)
        for (int64_t s = 0; s == 0 || s < steps; s += piece)
            for (int64_t r = 0, t = 0; r < nr; r += TILE_ROWS, t++) {
                const int64_t rows = tc_min(TILE_ROWS, nr - r);
                const char *at = panels + s * STEP_BYTES, *next = at + piece * (STEP_BYTES + t * lines * 64);
                if (alone) next = at + AHEAD * STEP_BYTES;
                if (after) next = a->at + nr * a->apart + (c / NR * steps + s) * lines * 64;
                const bool last = s + piece >= steps;
                float *to = last ? direct(j, r0 + r, c0 + c, rows, tc_min(NR, nc - c)) : NULL;
                const tile_run run = {
                    tc_min(piece, steps - s), a[t].at + s * 2 * STEP, a[t].apart, at, next, (int)lines, alone ? 128 : 64, s > 0, to, 4 * j->c_rs};
                multiply(rows, run, sums + r * NR, &before);
                if (!last || to) continue;
                end_tile(&before, j, r0 + r, rows, c0 + c, tc_min(NR, nc - c), sums + r * NR);
                before.kept = kept ? kept + r * 128 : NULL, before.first = c == 0, before.last = c + 2 * NR > nc;
            }
    store(&before, before.rows);
    if (kept) STREAM_END();
}
/* A tile of rows, unpacked neighbouring columns: room for steps of FEW_COLUMNS, then for their sums. */
TARGET static void N_(few_rows)(const tc_gemm *j, N_(rows) a, int64_t r0, int64_t nr, int64_t c0, int64_t nc, char *room) {
    const int64_t steps = steps_of(j->k), panels = padded(nc) / NR;
    float *const sums = (float *)(void *)(room + panels * FEW_STEPS * STEP_BYTES);
    tile_end before = {.j = j};
    for (int64_t s = 0; s == 0 || s < steps; s += FEW_STEPS) {
        const int64_t n = tc_min(FEW_STEPS, steps - s);
        pack_steps(j, s, n, c0, nc, room);
        begin(nr);
        for (int64_t p = 0; p < panels; p++) {
            const tile_run run = {n, a.at + s * 2 * STEP, a.apart, room + p * n * STEP_BYTES, NULL, 0, 0, s > 0, NULL, 0};
            multiply(nr, run, sums + p * TILE_ROWS * NR, &before);
            if (s + n >= steps) end_tile(&before, j, r0, nr, c0 + p * NR, tc_min(NR, nc - p * NR), sums + p * TILE_ROWS * NR);
        }
        store(&before, before.rows);
        end();
    }
}
TARGET static void N_(block)(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    const int64_t at_once = N_(rows_at_once)(j->k), all = tc_min(nr, at_once), tiles = (all + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t stripe = N_(stripe)(j->k), some = N_(together)(all, j->k) * TILE_ROWS;
    const bool few = !packed && nr <= TILE_ROWS && j->b_cs == 1;
    const int64_t held =
        few ? tc_min(padded(nc), FEW_COLUMNS) * (FEW_STEPS * STEP_BYTES / NR + TILE_ROWS * 4) : (int64_t)pack_bytes(tc_min(nc, stripe), j->k);
    char *sums = tc_align64(work), *kept = sums + some * NR * 4, *room = kept + some * 128, *copies = room + (packed ? 0 : held);
    N_(rows) *a = tc_align64(copies + tiles * TILE_ROWS * apart_of(j->k));
    for (int64_t r = 0; r < nr; r += at_once) {
        const int64_t rows = tc_min(at_once, nr - r);
        for (int64_t i = 0; i < rows; i += TILE_ROWS)
            a[i / TILE_ROWS] = N_(take_rows)(j, r0 + r + i, tc_min(TILE_ROWS, rows - i), unit_of(rows), copies + i * apart_of(j->k));
        for (int64_t c = 0, cols; few && c < nc; c += cols) {
            cols = tc_min(FEW_COLUMNS, nc - c);
            N_(few_rows)(j, a[0], r0, nr, c0 + c, cols, room);
            tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0, nr, c0 + c, cols, worker);
        }
        for (int64_t c = 0; !few && c < nc; c += stripe) {
            const int64_t cols = tc_min(stripe, nc - c);
            const char *panels = packed ? (const char *)packed + pack_bytes(c, j->k) : room;
            if (!packed) pack(j, c0 + c, cols, room);
            for (int64_t i = 0; i < rows; i += some) {
                begin(rows);
                N_(columns)(j, a + i / TILE_ROWS, r0 + r + i, tc_min(some, rows - i), c0 + c, cols, (float *)sums, streams(j) ? kept : NULL, panels);
                end();
                tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0 + r + i, tc_min(some, rows - i), c0 + c, cols, worker);
            }
        }
    }
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16));
const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16)) = {TILE_ROWS, NR, N_(work_bytes), N_(block), pack_bytes, pack};
