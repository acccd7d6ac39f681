/* The product of bfloat16 by one instruction for pairs, included by gemm_bf16.isa.c with N_ (adds a suffix), TARGET (an attribute), TILE_ROWS (rows of
 * a tile) and
 *   unit_of(nr)                      the rows of tiles of a block of nr rows are a multiple of this; what is missing is copied as zeros
 *   begin(nr), end()                 around tiles of such a block
 *   multiply(rows, run, sums)        adds a run's products to the sums of a tile
 *   half(sums, i, h)                 where the tile has columns [16 h, 16 h + 16) of row i
 *
 *       for some rows, whose a stays in the second cache:
 *         for each NR columns:                    a panel
 *           for each piece of k, a few KiB:       b: in the first cache
 *             for each TILE_ROWS rows:            the sums wait in the second cache
 *
 * A sum is one chain over k (NUMERICS 9), wherever pieces end. */

/* Rows of a as tiles read them. */
typedef struct {
    const char *at;
    int64_t apart; /* bytes */
} N_(rows);

/* Rows whose a is in the second cache at once. */
TARGET static int64_t N_(rows_at_once)(int64_t k) { return (A_MOST / (apart_of(k) * TILE_ROWS) + 1) * TILE_ROWS; }
/* Grows with each of its arguments. */
TARGET static size_t N_(work_bytes)(int64_t nr, int64_t nc, int64_t k) {
    const int64_t tiles = (nr + TILE_ROWS - 1) / TILE_ROWS, rows = tiles * TILE_ROWS, apart = apart_of(k);
    (void)nc;
    return (size_t)(rows * NR * 4 + least(rows * apart, A_MOST + TILE_ROWS * apart) + steps_of(k) * STEP_BYTES) + tiles * sizeof(N_(rows)) + 192;
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

/* w columns of a tile are finished. */
TARGET static void N_(store)(const tc_gemm *j, int64_t r, int64_t rows, int64_t c, int64_t w, const float *sums) {
    const int64_t e = j->rounded ? 2 : 4;
    const char *add = j->beta != 0 && j->add ? (const char *)j->add + (r * j->add_rs + c * j->add_cs) * e : NULL;
    char *out = (char *)j->c + (r * j->c_rs + c * j->c_cs) * e, line[NR * 4];
    float more[NR] = {0};
    for (int64_t i = 0; i < rows; i++, out += j->c_rs * e) {
        if (add && (i == 0 || j->add_rs))
            for (int64_t q = 0; q < w; q++) more[q] = addend(j, add + (i * j->add_rs + q * j->add_cs) * e);
        const bool whole = w == NR && j->c_cs == 1;
        char *to = whole ? out : line;
        for (int h = 0; h < 2; h++) finish_half(j, half(sums, i, h), add ? more + 16 * h : NULL, to + 16 * h * e);
        for (int64_t q = 0; !whole && q < w; q++) __builtin_memcpy(out + q * j->c_cs * e, line + q * e, (size_t)e);
    }
}

/* Columns [c0, c0 + nc) of the tiles of rows from r0 on. */
TARGET static void N_(columns)(const tc_gemm *j, const N_(rows) * a, int64_t r0, int64_t nr, int64_t c0, int64_t nc, float *sums, char *panel,
                               const char *packed) {
    const int64_t steps = steps_of(j->k), pieces = steps ? (steps + PIECE - 1) / PIECE : 1, piece = steps ? (steps + pieces - 1) / pieces : 1;
    /* the tiles of rows ask for the next piece of the panel together; a single one is as fast as its panel arrives by itself */
    const int tiles = (int)((nr + TILE_ROWS - 1) / TILE_ROWS), lines = packed && tiles > 1 ? (STEP_BYTES / 64 + tiles - 1) / tiles : 0;
    begin(nr);
    for (int64_t c = 0; c < nc; c += NR) {
        const int64_t w = least(NR, nc - c);
        if (!packed) pack_panel(j, c0 + c, w, panel);
        const char *b = packed ? packed + c / NR * steps * STEP_BYTES : panel;
        for (int64_t s = 0; s == 0 || s < steps; s += piece)
            for (int64_t r = 0, t = 0; r < nr; r += TILE_ROWS, t++) {
                const int64_t rows = least(TILE_ROWS, nr - r);
                const char *at = b + s * STEP_BYTES, *next = at + piece * (STEP_BYTES + t * lines * 64);
                multiply(rows, (tile_run){least(piece, steps - s), a[t].at + s * 2 * STEP, a[t].apart, at, next, lines, s > 0}, sums + r * NR);
                if (s + piece >= steps) N_(store)(j, r0 + r, rows, c0 + c, w, sums + r * NR);
            }
    }
    end();
}
TARGET static void N_(block)(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    const int64_t most = N_(rows_at_once)(j->k), tiles = (least(nr, most) + TILE_ROWS - 1) / TILE_ROWS;
    char *at = aligned(work), *panel = at + tiles * TILE_ROWS * NR * 4, *copies = panel + steps_of(j->k) * STEP_BYTES;
    N_(rows) *a = (void *)aligned(copies + tiles * TILE_ROWS * apart_of(j->k));
    for (int64_t r = 0; r < nr; r += most) {
        const int64_t rows = least(most, nr - r), stripe = (STRIPE / (4 * rows) + NR) / NR * NR;
        for (int64_t i = 0; i < rows; i += TILE_ROWS)
            a[i / TILE_ROWS] = N_(take_rows)(j, r0 + r + i, least(TILE_ROWS, rows - i), unit_of(rows), copies + i * apart_of(j->k));
        for (int64_t c = 0; c < nc; c += stripe) {
            const int64_t cols = least(stripe, nc - c);
            N_(columns)(j, a, r0 + r, rows, c0 + c, cols, (float *)at, panel, packed ? (const char *)packed + pack_bytes(c, j->k) : NULL);
            tc_gemm_finished(j, r0 + r, rows, c0 + c, cols, worker);
        }
    }
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16));
const tc_gemm_ops TC_ROW(N_(tc_gemm_bf16)) = {TILE_ROWS, NR, N_(work_bytes), N_(block), pack_bytes, pack};
