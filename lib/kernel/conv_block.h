/* A block of a convolution: output positions x output channels for all k; included by conv_type.h after conv_place.h.
 *
 *     for each leaf of k:           weights: 256 x cols, in panels of NR (L2)
 *       for each MR positions:      their terms: read in place where the positions lie at a constant distance, else copied in rows (L1)
 *         for each NR channels:     a register tile (conv_tile.h), merged at once with the partial sums that are complete
 *
 * Where all leaves of the weights fit L2 together, each tile of positions takes all leaves in turn instead, and its partial sums stay in L1. A leaf
 * that a row lacks counts as -0, which changes no sum; so all rows share one tree.
 *
 * Where each leaf lies within one tap (256 channels or more), tiles may be formed for each leaf from just the rows that have its tap. For small
 * images this is better than tiles of positions with equal taps, which would have few rows at the borders. */

enum { MIN_REGION = 4096 }; /* results for which the epilogue is called at once, at least */

static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static inline int64_t leaves_of(int64_t k) { return k ? (k + TC_LEAF - 1) / TC_LEAF : 1; }
/* How many rows have partial sums at the same time. */
static inline int64_t rows_kept(int64_t rows, int64_t cols, int64_t k) { return tc_conv_by_tile(k, cols, sizeof(T)) && rows > MR ? MR : rows; }
/* A leaf of k: its first tap, and its segments for tiles that have all taps and are read in place. */
typedef struct {
    const segment *segments;
    int64_t tap;
    int nsegments;
} leaf;
/* A row of the block: the entry with its taps, and the offset it reads from. */
typedef struct {
    const tc_conv_places *p;
    int64_t base;
} place_row;
/* The arrays in tc_conv_block.work, in this order. */
typedef struct {
    T *a, *tile_out, *saved; /* copied terms, [MR][LDA]; a tile that cannot be stored directly; tile.saved */
    T *store;                /* partial sums that wait to be merged */
    leaf *leaves;
    segment *inside;
    tile_place *places;
    place_row *rows; /* for tiles of a tap: the block's rows */
    int32_t *part;   /* their numbers, those that have the tap first */
} scratch;
static void *take(uintptr_t *at, size_t n) {
    void *p = (void *)*at;
    *at += n;
    return p;
}
/* Lays them out from `at` on; returns their bytes. */
static size_t lay_out_scratch(void *at, int64_t rows, int64_t cols, int64_t k, int64_t taps, scratch *r) {
    const size_t sums = (size_t)(rows_kept(rows, cols, k) * padded(cols)) * (size_t)tc_conv_sums(k), leaves = (size_t)leaves_of(k);
    uintptr_t end = (uintptr_t)at;
    r->a = take(&end, MR * LDA * sizeof(T)), r->tile_out = take(&end, TILE_ROWS * NR * sizeof(T)), r->saved = take(&end, MR * NR * sizeof(T));
    r->store = take(&end, sums * sizeof(T)), r->leaves = take(&end, leaves * sizeof *r->leaves);
    r->inside = take(&end, (leaves + (size_t)taps) * sizeof *r->inside), r->places = take(&end, (size_t)rows * sizeof *r->places);
    r->rows = take(&end, (size_t)rows * sizeof *r->rows), r->part = take(&end, (size_t)rows * sizeof *r->part);
    return end - (uintptr_t)at;
}
static size_t work_bytes(int64_t rows, int64_t cols, int64_t k, int64_t taps) {
    scratch r;
    return lay_out_scratch(NULL, rows, cols, k, taps, &r);
}
static void list_leaves(const tc_conv_block *b, scratch *r) {
    const tile_place any = {.inside = true, .rows = 1, .step = 1};
    segment *segments = r->inside;
    int64_t tap = 0;
    uint32_t absent_rows;
    for (int64_t l = 0; l < leaves_of(b->k); l++) {
        const int64_t k0 = l * TC_LEAF, k1 = b->k - k0 < TC_LEAF ? b->k : k0 + TC_LEAF;
        while (tap < b->ntaps && (b->tap[tap].tap + 1) * b->cin <= k0) tap++;
        r->leaves[l] = (leaf){segments, tap, list_terms(b, &any, k0, k1, tap, NULL, segments, &absent_rows)};
        segments += r->leaves[l].nsegments;
    }
}

/* Results and residuals are prefetched while their tile is computed, because the hardware prefetcher does not follow addresses that lie a row apart.
 * This prefetches the rows from number `skip` on, which a tile of few terms would not get to. */
static inline void prefetch_rows(prefetch_walk w, int64_t skip) {
    for (int64_t r = skip > 0 ? skip : 0; r < w.n; r++) __builtin_prefetch(w.at + r * w.step), __builtin_prefetch(w.at + r * w.step + VL);
}
/* The input that the next tile is the first to read: what follows the last terms of this tile's last row. Each panel's tile prefetches a share of it;
 * this is the first one's. */
static prefetch_walk next_terms(const tc_conv_block *b, const tile_place *p, const tile *t) {
    if (!p->step || !t->nsegments) return (prefetch_walk){0};
    const segment *const end = &t->segments[t->nsegments - 1];
    return (prefetch_walk){t->a + end->at + (p->rows - 1) * t->lda + end->n, NR, (uint32_t)(p->rows * t->lda) / (uint32_t)padded(b->cols) + 1};
}
/* Sets what the tile prefetches. out: where its results go, if they are stored directly and were not prefetched yet, or NULL; next: next_terms, from
 * `skip` elements on. */
static void plan_prefetch(const tc_conv_block *b, const tile_place *p, tile *t, const T *out, const prefetch_walk *next, int64_t skip) {
    const T *const more = b->plain ? b->plain->more : NULL;
    prefetch_walk *w = t->prefetch;
    int64_t steps = 0; /* how many rows the tile gets to */
    for (int i = 0; i < t->nsegments && steps < 2 * p->rows; i++) steps += t->segments[i].n / 4;
    if (out && !more && steps < p->rows)
        out += 2 * p->rows * p->out_step; /* of few terms: too late for its own results, so those of the tile after next */
    if (out) *w++ = (prefetch_walk){out, p->out_step, p->rows}, prefetch_rows(w[-1], steps);
    if (out && more) *w++ = (prefetch_walk){more + (out - (const T *)b->out), p->out_step, p->rows}, prefetch_rows(w[-1], steps - p->rows);
    if (next->n) *w++ = (prefetch_walk){next->at + skip, next->step, next->n};
    *w = (prefetch_walk){t->b, 0, 0};
}
/* Where a tile's results for columns from c on are stored directly; NULL: they cannot be (no constant distance, or missing columns). */
static inline T *results_at(const tc_conv_block *b, const tile_place *p, int64_t c) {
    const bool whole = b->cols - c >= NR || b->cols - c == VL;
    return p->out_step && whole ? (T *)b->out + p->at->to + p->skip * p->at->out_step + c : NULL;
}
/* bias, scale and shift by column. Those of the last panel are copied to `last` and padded, as it may lack columns. */
typedef struct {
    const T *of[3];
    T last[3][NR];
} by_column;
static void list_columns(const tc_conv_block *b, by_column *c) {
    const int64_t from = padded(b->cols) - NR, n = b->cols - from;
    c->of[0] = b->bias, c->of[1] = b->plain ? b->plain->scale : NULL, c->of[2] = b->plain ? b->plain->shift : NULL;
    for (int i = 0; i < 3; i++)
        for (int64_t j = 0; c->of[i] && j < NR; j++) c->last[i][j] = j < n ? c->of[i][from + j] : 0;
}
static inline const T *columns_from(const by_column *c, int i, int64_t col, bool whole) {
    return !c->of[i] ? NULL : whole ? c->of[i] + col : c->last[i];
}
/* Leaf number l: the partial sums it is merged with, and where the result goes. */
typedef struct {
    const T *with[MAX_LEVELS];
    T *out;          /* NULL: tc_conv_block.out */
    int64_t l, base; /* base: number of the row that partial sums begin with */
    int64_t rows;    /* partial sums are [panel][rows][NR]; 0: [tile][panel][row][NR] */
    bool alone;      /* one tile takes all leaves in turn */
} leaf_step;
static inline int64_t sums_at(const tc_conv_block *b, const leaf_step *s, const tile_place *p, int64_t c) {
    return s->rows ? c * s->rows + p->first * NR : (p->first - s->base) * padded(b->cols) + c * p->rows;
}
/* Sets a tile's weights, where it stores (here; NULL: tile_out) and what it does to finished sums, for columns from c on. */
static inline void set_results(const tc_conv_block *b, const tile_place *p, tile *t, int64_t c, const by_column *ends, T *here, T *tile_out) {
    const T *const more = b->plain ? b->plain->more : NULL;
    const int64_t left = b->cols - c;
    const bool whole = left >= NR || left == VL;
    t->b = (const T *)b->w + c * b->k;
    t->out = here ? here : tile_out, t->ldo = here ? p->out_step : NR;
    t->bias = columns_from(ends, 0, c, whole), t->scale = columns_from(ends, 1, c, whole), t->shift = columns_from(ends, 2, c, whole);
    t->more = !more ? NULL : here ? more + (here - (T *)b->out) : tile_out;
    t->bounded = b->plain;
    if (b->plain) t->low = (T)b->plain->low, t->high = (T)b->plain->high;
}
/* One tile of positions in the last leaf, all columns: results are stored directly or by way of tile_out. */
static void last_tiles(const tc_conv_block *b, const tile_place *p, tile *t, const leaf_step *s, T *tile_out, const by_column *ends) {
    const prefetch_walk next = s->l ? (prefetch_walk){0} : next_terms(b, p, t);
    t->empty_rows = p->empty_rows;
    for (int64_t c = 0; c < b->cols; c += NR) {
        T *const here = results_at(b, p, c);
        for (int m = 0; m < t->nlevels; m++) t->level[m] = s->with[m] + sums_at(b, s, p, c);
        set_results(b, p, t, c, ends, here, tile_out);
        plan_prefetch(b, p, t, s->alone && s->l ? NULL : here, &next, c * next.n);
        if (t->more && !here) gather_residual(b, p, tile_out, c);
        tile_of[p->rows][b->cols - c > VL](t);
        if (!here) store_tile(b, p, tile_out, c);
    }
}
/* Lists where the terms of tiles that lack none are, from their first one on. Returns how many; 0: tiles are not of few terms. */
static int list_few(const tc_conv_block *b, const leaf *terms, int32_t *offset) {
    int n = 0;
    if (!FEW_TERMS || b->k > FEW_TERMS || b->cols % NR) return 0;
    for (const segment *s = terms->segments; s < terms->segments + terms->nsegments; s++)
        for (int64_t i = 0; i < s->n; i++, n++) {
            offset[n] = (int32_t)(s->at + i);
            if (s->k + i != n || offset[n] != s->at + i) return 0;
        }
    return n == b->k ? n : 0;
}
static void few_tiles(const tc_conv_block *b, const tile_place *p, tile *t, const by_column *ends) {
    for (int64_t c = 0; c < b->cols; c += NR) set_results(b, p, t, c, ends, results_at(b, p, c), NULL), few_of[p->rows](t);
}
/* One tile of positions in another leaf, all columns, into partial sums. Where many tiles share a leaf they prefetch the next leaf's weights, *prefetched
 * counting the rows done; a tile that takes all leaves prefetches its results and the next tile's terms with its first leaf. */
static void inner_tiles(const tc_conv_block *b, const tile_place *p, tile *t, const leaf_step *s, int64_t *prefetched) {
    const int64_t from = *prefetched;
    for (int i = 0; i < t->nsegments; i++) *prefetched += t->segments[i].n / 4;
    const prefetch_walk next = s->l ? (prefetch_walk){0} : next_terms(b, p, t);
    t->ldo = NR, t->empty_rows = 0, t->bounded = false, t->bias = t->scale = t->more = NULL;
    for (int64_t c = 0; c < b->cols; c += NR) {
        const int64_t where = sums_at(b, s, p, c);
        t->b = (const T *)b->w + c * b->k, t->out = s->out + where;
        if (s->alone) plan_prefetch(b, p, t, s->l ? NULL : results_at(b, p, c), &next, c * next.n);
        else t->prefetch[0] = from < TC_LEAF ? (prefetch_walk){t->b + ((s->l + 1) * TC_LEAF + from) * NR, NR, 0} : (prefetch_walk){t->b, 0, 0};
        for (int m = 0; m < t->nlevels; m++) t->level[m] = s->with[m] + where;
        tile_of[p->rows][b->cols - c > VL](t);
    }
}

/* ---- tiles of a tap: formed for each leaf from the rows that have its tap ---- */
/* All rows are copied then, which costs 1 to 2 %; tiles of few rows at the borders cost more where a fifth of the rows are border rows (measured). For
 * float32 only: float64 is rare, and this code would take 8 KB more for it. */
static bool wants_tap_tiles(const tc_conv_block *b) {
    if (sizeof(T) != sizeof(float)) return false;
    int64_t border = 0;
    for (int64_t i = 0; i < b->nplaces; i++) border += b->place[i].inside ? 0 : b->place[i].count;
    return b->cin % TC_LEAF == 0 && b->k > TC_LEAF && border * 5 >= b->rows && !tc_conv_by_tile(b->k, b->cols, sizeof(T));
}
static void list_rows(const tc_conv_block *b, place_row *row) {
    for (const tc_conv_places *p = b->place; p < b->place + b->nplaces; p++)
        for (int64_t i = 0; i < p->count; i++) *row++ = (place_row){p, p->base + i * p->step};
}
/* Lists in part the numbers of the block's rows, first those that have the tap (NULL: none has), in order. Returns how many have it. */
static int64_t part_rows(const tc_conv_block *b, const tc_conv_tap *tap, const place_row *row, int32_t *part) {
    int64_t n = 0, end = b->rows;
    for (int32_t i = 0; i < b->rows; i++) {
        bool here = tap;
        for (int d = 0; here && d < 3; d++) here = tap->t[d] >= row[i].p->first[d] && tap->t[d] < row[i].p->last[d];
        part[here ? n++ : --end] = i;
    }
    return n;
}
/* Merges the sums of rows part[0 .. n) of the block with the tree's. at: offset of the panel's partial sums. from: [n][NR], or NULL: the rows have no
 * term. */
static void merge_rows(const leaf_step *s, int nlevels, int64_t at, const int32_t *part, int64_t n, const T *from) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t h = 0; h < NR; h += VL) {
            const int64_t where = at + part[i] * NR + h;
            VF x = from ? vload(from + i * NR + h) : vset1((T)-0.0);
            for (int m = 0; m < nlevels; m++) x = vload(s->with[m] + where) + x;
            vstore(s->out + where, x);
        }
}
/* Leaf s->l, which lies in one tap (NULL: no row has it): sums are merged with s->with and stored to s->out. */
static __attribute__((noinline)) void tiles_of_tap(const tc_conv_block *b, const scratch *r, tile *t, const leaf_step *s, const tc_conv_tap *tap) {
    const int64_t n = part_rows(b, tap, r->rows, r->part), k0 = s->l * TC_LEAF;
    const segment all = {0, k0, TC_LEAF, 0};
    const int nlevels = t->nlevels;
    int64_t prefetched = 0;
    t->a = r->a, t->lda = LDA, t->segments = &all, t->nsegments = 1, t->absent_rows = t->empty_rows = 0, t->ldo = NR;
    t->bounded = false, t->bias = t->scale = t->more = NULL;
    for (int64_t i = 0, rows; i < n; i += rows) {
        const int64_t tiles = (n - i + MR - 1) / MR;
        const int32_t *const part = r->part + i;
        rows = (n - i + tiles - 1) / tiles;
        const bool together = part[rows - 1] - part[0] == rows - 1;
        for (int64_t j = 0; j < rows; j++)
            copy(r->a + j * LDA, (const T *)b->x + r->rows[part[j]].base + tap->offset + k0 - tap->tap * b->cin, TC_LEAF);
        t->nlevels = together ? nlevels : 0;
        for (int64_t c = 0; c < b->cols; c += NR) {
            const int64_t at = c * s->rows;
            t->b = (const T *)b->w + c * b->k, t->out = together ? s->out + at + part[0] * NR : r->tile_out;
            t->prefetch[0] = prefetched < TC_LEAF && k0 + TC_LEAF < b->k ? (prefetch_walk){t->b + (k0 + TC_LEAF + prefetched) * NR, NR, 0}
                                                                         : (prefetch_walk){t->b, 0, 0};
            for (int m = 0; m < t->nlevels; m++) t->level[m] = s->with[m] + at + part[0] * NR;
            tile_of[rows][b->cols - c > VL](t);
            if (!together) merge_rows(s, nlevels, at, part, rows, r->tile_out);
        }
        prefetched += TC_LEAF / 4;
    }
    for (int64_t c = 0; c < b->cols; c += NR) merge_rows(s, nlevels, c * s->rows, r->part + n, b->rows - n, NULL);
}
/* Calls the epilogue for the finished rows [*reported, done), when they are enough. */
static void report(const tc_conv_block *b, int64_t done, int64_t *reported) {
    if (b->epilogue && (done == b->rows || (done - *reported) * b->cols >= MIN_REGION))
        b->epilogue->fn(b->epilogue->ctx, b->row0 + *reported, done - *reported, b->col0, b->cols, b->worker), *reported = done;
}
/* The last leaf of tiles of a tap: its sums are one more partial sum, and the tiles of positions then merge all of them and store results. */
static __attribute__((noinline)) void end_tiles_of_tap(const tc_conv_block *b, const scratch *r, tile *t, leaf_step *s, const tc_conv_tap *tap,
                                                       const by_column *ends, int64_t *reported) {
    const int nlevels = t->nlevels;
    t->nlevels = 0;
    tiles_of_tap(b, r, t, s, tap);
    memmove(s->with + 1, s->with, (size_t)nlevels * sizeof *s->with);
    s->with[0] = s->out, t->nlevels = nlevels + 1, t->nsegments = 0;
    int64_t done = 0;
    for (const tile_place *p = r->places; done < b->rows; p++) {
        t->absent_rows = (1u << p->rows) - 1;
        last_tiles(b, p, t, s, r->tile_out, ends);
        done = p->first + p->rows;
        report(b, done, reported);
    }
}

/* Tiles [from, to), leaf by leaf. *reported: rows whose epilogue was called. */
static void tiles_by_leaves(const tc_conv_block *b, const scratch *r, const by_column *ends, int64_t from, int64_t to, int64_t *reported) {
    T *level[MAX_LEVELS], *free_list[MAX_LEVELS];
    const int64_t leaves = leaves_of(b->k), area = rows_kept(b->rows, b->cols, b->k) * padded(b->cols);
    int unused = tc_conv_sums(b->k);
    int64_t have = 0;
    segment segments[TC_LEAF];
    leaf_step s; /* not initialised: clearing its levels and the tile's would cost too much */
    tile t;
    const bool tap_tiles = wants_tap_tiles(b);
    t.saved = r->saved, s.base = r->places[from].first, s.alone = to - from == 1 && !tap_tiles, s.rows = tap_tiles ? b->rows : 0;
    if (tap_tiles) list_rows(b, r->rows);
    int32_t offset[FEW_TERMS + 1];
    t.offset = offset, t.nterms = leaves == 1 ? list_few(b, r->leaves, offset) : 0;
    for (int i = 0; i < unused; i++) free_list[i] = r->store + i * area;
    for (int64_t l = 0; l < leaves; l++) {
        const leaf *const terms = &r->leaves[l];
        const bool last = l == leaves - 1;
        const int64_t k0 = l * TC_LEAF, k1 = last ? b->k : k0 + TC_LEAF;
        int merged[MAX_LEVELS], nm = 0, top = 0; /* merged: the levels that this leaf is merged with */
        if (!last)
            while (l >> top & 1) top++;
        for (int i = 0; last ? l >> i : i < top; i++)
            if (l >> i & have >> i & 1) merged[nm++] = i;
        if (!last && nm < 2 && (terms->tap == b->ntaps || b->tap[terms->tap].tap * b->cin >= k1)) { /* a leaf without terms */
            if (!nm) continue;
            level[top] = level[merged[0]], have ^= (int64_t)1 << merged[0] | (int64_t)1 << top;
            continue;
        }
        s.l = l, s.out = last && !tap_tiles ? NULL : free_list[--unused];
        t.nlevels = nm;
        for (int m = 0; m < nm; m++) s.with[m] = level[merged[m]];
        if (tap_tiles) {
            const tc_conv_tap *const tap = terms->tap < b->ntaps && b->tap[terms->tap].tap * b->cin < k1 ? &b->tap[terms->tap] : NULL;
            if (last) end_tiles_of_tap(b, r, &t, &s, tap, ends, reported);
            else tiles_of_tap(b, r, &t, &s, tap);
        }
        for (int64_t i = from, prefetched = 0; i < to && !tap_tiles; i++) {
            const tile_place *p = &r->places[i];
            const bool common = p->inside && p->step;
            t.a = p->step ? (const T *)b->x + p->at->base + p->skip * p->at->step : r->a, t.lda = p->step ? p->step : LDA;
            t.segments = common ? terms->segments : segments, t.absent_rows = common && !terms->nsegments ? (1u << p->rows) - 1 : 0;
            t.nsegments = common ? terms->nsegments : list_terms(b, p, k0, k1, terms->tap, r->a, segments, &t.absent_rows);
            if (t.nterms && common && p->out_step) few_tiles(b, p, &t, ends);
            else if (last) last_tiles(b, p, &t, &s, r->tile_out, ends);
            else inner_tiles(b, p, &t, &s, &prefetched);
            if (last) report(b, p->first + p->rows, reported);
        }
        if (last) continue;
        for (int m = 0; m < nm; m++) have &= ~((int64_t)1 << merged[m]), free_list[unused++] = level[merged[m]];
        level[top] = s.out, have |= (int64_t)1 << top;
    }
}
static void conv_block(const tc_conv_block *b) {
    scratch r;
    by_column ends;
    int64_t reported = 0;
    lay_out_scratch(b->work, b->rows, b->cols, b->k, b->ntaps, &r);
    list_columns(b, &ends);
    list_leaves(b, &r);
    const int64_t tiles = cut_tiles(b, r.places), each = tc_conv_by_tile(b->k, b->cols, sizeof(T)) ? 1 : tiles;
    for (int64_t i = 0; i < tiles; i += each) tiles_by_leaves(b, &r, &ends, i, i + each, &reported);
}

static void pack_panel(void *out, const void *w, int64_t w_cout, int64_t w_cin, int64_t cin, int64_t taps, int64_t cols) {
    T *o = out;
    const T *from = w;
    if (w_cin == taps && cols == NR) { /* an output channel's weights are contiguous */
        int64_t n = cin * taps, i = 0, ci = 0, t = 0;
        T turned[VL * VL];
        for (; i < n; i += VL)
            for (int h = 0; h < NR; h += VL) {
                const T *row[VL];
                int64_t back = i + VL <= n || n < VL ? 0 : i + VL - n; /* the last square overlaps the one before it */
                for (int r = 0; r < VL; r++) row[r] = from + (h + r) * w_cout + i - back;
                int64_t m = n < VL ? n : VL;
                if (n < VL)
                    for (int64_t k = 0; k < n; k++)
                        for (int r = 0; r < VL; r++) turned[k * VL + r] = row[r][k];
                else transpose_square(turned, VL, row, 0);
                ci = (i - back) / taps, t = (i - back) % taps;
                for (int64_t k = 0; k < m; k++) {
                    vstore(o + (t * cin + ci) * NR + h, vload(turned + k * VL));
                    if (++t == taps) t = 0, ci++;
                }
            }
        return;
    }
    for (int64_t t = 0; t < taps; t++)
        for (int64_t ci = 0; ci < cin; ci++, o += NR) {
            const T *x = from + ci * w_cin + t;
            for (int64_t i = 0; i < cols; i++) o[i] = x[i * w_cout];
            for (int64_t i = cols; i < NR; i++) o[i] = 0;
        }
}
