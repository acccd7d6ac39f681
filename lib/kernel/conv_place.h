/* Which positions a register tile holds, which terms they read, and where their results go; included by conv_type.h after conv_tile.h. */

/* A tile of at most this many rows is stored by squares of VL x VL: it has room for whole squares. */
enum { TILE_ROWS = MR > VL ? 2 * VL : (MR + VL - 1) / VL *VL };
/* Fewer rows than MIN_EVEN_ROWS at a constant distance are joined with others, and copied. L1_WAY: bytes of a way of L1. */
enum { MIN_EVEN_ROWS = MR / 2 + 1, L1_WAY = 4096 };

/* The positions of a tile: `rows` of them, from number `skip` of *at on, going on in the entries after it. */
typedef struct {
    const tc_conv_places *at;
    int64_t skip, first; /* first: number of its first row in the block */
    int rows;
    bool inside;         /* all rows have all taps */
    int64_t step;        /* elements between the positions, which are read in place; 0: at no constant distance, terms are copied */
    int64_t out_step;    /* elements between the results; 0: at no constant distance */
    uint32_t empty_rows; /* bit r: row r has no term at all */
} tile_place;

/* The part of a tile that lies in one entry: rows [row, row + n), positions from number `skip` of *p on. */
typedef struct {
    const tc_conv_places *p;
    int64_t skip;
    int row, n;
} place_span;
static inline place_span span_from(const tile_place *t, const tc_conv_places *p, int64_t skip, int row) {
    return (place_span){p, skip, row, (int)(p->count - skip < t->rows - row ? p->count - skip : t->rows - row)};
}
static inline place_span first_span(const tile_place *t) { return span_from(t, t->at, t->skip, 0); }
static inline bool next_span(const tile_place *t, place_span *c) {
    if (c->row + c->n >= t->rows) return false;
    *c = span_from(t, c->p + 1, 0, c->row + c->n);
    return true;
}
static inline uint32_t rows_of(const place_span *c) { return ((1u << c->n) - 1) << c->row; }
/* For each row: the offset it reads from; the offset of its result. */
static void row_sources(const tile_place *t, int64_t *base) {
    place_span c = first_span(t);
    do
        for (int i = 0; i < c.n; i++) base[c.row + i] = c.p->base + (c.skip + i) * c.p->step;
    while (next_span(t, &c));
}
static void row_results(const tile_place *t, int64_t *to) {
    place_span c = first_span(t);
    do
        for (int i = 0; i < c.n; i++) to[c.row + i] = c.p->to + (c.skip + i) * c.p->out_step;
    while (next_span(t, &c));
}

/* May all taps be read at these positions, absent ones included? */
static bool readable(const tc_conv_block *b, const tc_conv_places *p, int64_t skip) {
    return p->inside || (p->base + skip * p->step >= b->least && p->base + (p->count - 1) * p->step <= b->most);
}
/* May they share a tile? */
static inline bool same_kind(const tc_conv_places *a, const tc_conv_places *b) { return a->mixed ? b->mixed : !b->mixed && tc_conv_same_taps(a, b); }
/* How many positions, from number `skip` of p on, may share a tile. */
static int64_t rows_of_kind(const tc_conv_block *b, const tc_conv_places *p, int64_t skip) {
    int64_t n = -skip;
    for (const tc_conv_places *q = p; q < b->place + b->nplaces && same_kind(p, q); q++) n += q->count;
    return n;
}
/* How many of these lie at a constant distance, *step, and can be read in place. Not where the distance is a multiple of the way size of L1, as the rows
 * would evict each other; with half of that they sometimes do, so they are copied where many columns share the copy. */
static int64_t even_rows(const tc_conv_block *b, const tc_conv_places *p, int64_t skip, int64_t *step) {
    const tc_conv_places *const from = p, *end = b->place + b->nplaces;
    const int64_t at = p->base + skip * p->step, s = p->count - skip > 1 ? p->step : p + 1 < end ? p[1].base - at : 0;
    int64_t n = 0;
    *step = s;
    if (s <= 0 || s * (int64_t)sizeof(T) % (b->cols > 4 * NR ? L1_WAY / 2 : L1_WAY) == 0) return 0;
    for (; p < end && p->base + skip * p->step == at + n * s && (p->count - skip == 1 || p->step == s) && readable(b, p, skip) && same_kind(from, p);
         p++, skip = 0)
        n += p->count - skip;
    return n;
}
static void finish_place(const tc_conv_block *b, tile_place *t) {
    place_span c = first_span(t);
    int64_t end = c.p->to + c.skip * c.p->out_step; /* where the next row of an even tile is stored */
    const bool one = c.n == t->rows;
    t->inside = true;
    t->out_step = b->ld > 1 ? 0 : t->rows == 1 ? NR : c.n > 1 ? c.p->out_step : c.p[1].to - end;
    do {
        t->inside &= c.p->inside;
        for (int d = 0; d < 3; d++)
            if (c.p->first[d] >= c.p->last[d]) t->empty_rows |= rows_of(&c);
        if (one) break;
        if (c.p->to + c.skip * c.p->out_step != end || (c.n > 1 && c.p->out_step != t->out_step)) t->out_step = 0;
        end += c.n * t->out_step;
    } while (next_span(t, &c));
    if (!b->k) t->empty_rows = (1u << t->rows) - 1;
}
/* Cuts the block's positions into tiles of nearly equal height. Returns how many; out has an entry for each position of the block. */
static int64_t cut_tiles(const tc_conv_block *b, tile_place *out) {
    const tc_conv_places *p = b->place;
    int64_t n = 0, skip = 0, left = 0, step = 0;
    for (int64_t first = 0; first < b->rows; n++) {
        if (!left) {
            const int64_t run = even_rows(b, p, skip, &step), all = run >= MIN_EVEN_ROWS ? run : rows_of_kind(b, p, skip);
            left = all;
            if (left != run) step = 0;
        }
        const uint32_t tiles = ((uint32_t)left + MR - 1) / MR; /* 64 bits take three times as long to divide */
        const int64_t rows = ((uint32_t)left + tiles - 1) / tiles;
        out[n] = (tile_place){.at = p, .skip = skip, .first = first, .rows = (int)rows, .step = step};
        finish_place(b, &out[n]);
        left = step ? left - rows : 0;
        first += rows;
        for (skip += rows; first < b->rows && skip >= p->count; p++) skip -= p->count;
    }
    return n;
}

/* ---- terms ---- */
/* The rows that have the tap, as bits. */
static inline uint32_t present(const tile_place *t, const tc_conv_tap *tap) {
    uint32_t rows = 0;
    place_span c = first_span(t);
    do {
        bool here = true;
        for (int d = 0; d < 3; d++) here &= tap->t[d] >= c.p->first[d] && tap->t[d] < c.p->last[d];
        if (here) rows |= rows_of(&c);
    } while (next_span(t, &c));
    return rows;
}
static inline void copy(T *to, const T *from, int64_t n) {
    if (n >= VL) {
        for (int64_t i = 0; i + VL <= n; i += VL) vstore(to + i, vload(from + i));
        if (n % VL) vstore(to + n - VL, vload(from + n - VL));
    } else
        for (int64_t i = 0; i < n; i++) to[i] = from[i];
}
/* Lists the terms of leaf [k0, k1) for a tile as segments; `at` is the first tap with terms in the leaf. Where positions are not read in place, terms
 * are copied to a, [row][LDA]. Returns how many segments; *none: the rows that have no term. */
static int list_terms(const tc_conv_block *b, const tile_place *p, int64_t k0, int64_t k1, int64_t at, T *a, segment *segments,
                      uint32_t *absent_rows) {
    const uint32_t all = (1u << p->rows) - 1;
    int n = 0;
    int64_t filled = 0, base[MR];
    uint32_t lacking = all;
    if (!p->step) row_sources(p, base);
    for (; at < b->ntaps && b->tap[at].tap * b->cin < k1; at++) {
        const tc_conv_tap *t = &b->tap[at];
        int64_t first = t->tap * b->cin, from = first > k0 ? first : k0, to = first + b->cin < k1 ? first + b->cin : k1, count = to - from;
        const int64_t offset = t->offset + (from - first);
        uint32_t absent = 0;
        if (!p->inside) {
            absent = all & ~present(p, t);
            if (absent == all) continue;
        } else /* taps that are contiguous both in memory and in k are joined */
            while (at + 1 < b->ntaps && t[1].offset - t->offset == b->cin && t[1].tap == t->tap + 1 && to == first + b->cin && to < k1) {
                first = t[1].tap * b->cin, to = first + b->cin < k1 ? first + b->cin : k1, t++, at++;
                count = to - from;
            }
        lacking &= absent;
        for (int r = 0; !p->step && r < p->rows; r++) {
            T *o = a + r * LDA + filled;
            if (!(absent >> r & 1)) copy(o, (const T *)b->x + base[r] + offset, count);
            else
                for (int64_t i = 0; i < count; i++) o[i] = 0;
        }
        const int64_t place = p->step ? offset : filled;
        segment *before = n ? &segments[n - 1] : NULL;
        if (before && before->absent == absent && before->k + before->n == from && before->at + before->n == place) before->n += count;
        else segments[n++] = (segment){place, from, count, absent};
        filled += count;
    }
    *absent_rows = lacking;
    return n;
}

/* ---- results: stored as [position][channel], or transposed into planes ---- */
/* The residual of the plain epilogue for a tile's columns from c0 on: x is [row][NR]. */
static void gather_residual(const tc_conv_block *b, const tile_place *p, T *x, int64_t c0) {
    const int64_t cols = b->cols - c0 < NR ? b->cols - c0 : NR;
    int64_t to[MR];
    row_results(p, to);
    for (int r = 0; r < p->rows; r++)
        for (int64_t h = 0; h < cols; h += VL)
            vstore(x + r * NR + h, vload_some((const T *)b->plain->more + to[r] + c0 + h, (int)(cols - h < VL ? cols - h : VL)));
}
static void store_tile(const tc_conv_block *b, const tile_place *p, T *from, int64_t c0) {
    const int64_t cols = b->cols - c0 < NR ? b->cols - c0 : NR;
    const int rows = p->rows;
    T *out = (T *)b->out + c0 * b->ld, turned[VL * VL];
    int64_t to[MR];
    row_results(p, to);
    if (b->ld == 1) {
        for (int r = 0; r < rows; r++)
            for (int64_t h = 0; h < cols; h += VL) vstore_some(out + to[r] + h, vload(from + r * NR + h), (int)(cols - h < VL ? cols - h : VL));
        return;
    }
    bool together = to[rows - 1] - to[0] == rows - 1;
    for (int r = 1; together && r < rows; r++) together = to[r] == to[0] + r;
    if (!together) {
        for (int64_t c = 0; c < cols; c++)
            for (int r = 0; r < rows; r++) out[c * b->ld + to[r]] = from[r * NR + c];
        return;
    }
    for (int r0 = 0; r0 < rows; r0 += VL)
        for (int64_t h = 0; h < cols; h += VL) {
            const T *row[VL];
            int m = rows - r0 < VL ? rows - r0 : VL;
            for (int r = 0; r < VL; r++) row[r] = from + (r0 + r) * NR + h; /* up to TILE_ROWS are readable */
            T *o = out + h * b->ld + to[0] + r0;
            if (m == VL && cols - h >= VL) {
                transpose_square(o, b->ld, row, 0);
                continue;
            }
            transpose_square(turned, VL, row, 0);
            for (int c = 0; c < VL && h + c < cols; c++) vstore_some(o + c * b->ld, vload(turned + c * VL), m);
        }
}
