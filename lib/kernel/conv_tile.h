/* Convolution in tiles of positions x channels held in registers (kernel/conv_isa.h); included by conv_*.isa.c after conv_lanes.h.
 *
 *     for each leaf of k:           w: 256 x cols in panels of NR (L2)
 *       for each MR positions:      a: their terms, in segments that the same rows lack: where they lie when the positions are as far
 *                                   from each other in memory, else copied in rows (L1)
 *         for each NR channels:     tile in registers; merged at once with the sums that the tree has ready
 *
 * Where all leaves of w stay in the second cache together, a tile of positions takes them one after another, and its sums stay in the
 * first cache. A leaf that a row lacks counts as -0, which adding does not change; so one tree serves all rows.
 *
 * Where each leaf lies in one tap (256 channels and more), tiles are cut anew for it, of the rows that have the tap: at the borders of
 * small images, tiles of positions that have the same taps would be of few rows. */
enum { NR = 2 * VL, LDA = TC_LEAF + 16, LEAST_RUN = MR / 2 + 1, REGION = 4096, LINE = 64, WAY = 4096, TILE_ROWS = MR > VL ? 2 * VL : (MR + VL - 1) / VL *VL };

typedef struct {
    int64_t at, k, n;
    uint32_t absent; /* rows that lack these terms */
} segment;
/* n rows of memory, a step apart; 0: without end. */
typedef struct {
    const T *at;
    int64_t step, n;
} walk;
typedef struct {
    const T *a, *b; /* a[row * lda]; b[k][NR] */
    int64_t lda;
    const segment *seg;
    int nseg, nlevels;
    uint32_t none, never; /* rows without a term in this leaf; in any leaf, when this is the last */
    const T *level[MOST_LEVELS];
    T *out, *keep; /* [row][ldo], [row][NR]; keep is room */
    int64_t ldo;
    walk ahead[4];                 /* rows of NR that are brought near meanwhile, one each 4 k, one walk after another; the last has no end */
    const T *bias, *scale, *shift; /* of the columns, or NULL; the plain epilogue from scale on */
    const T *more;                 /* [row][ldo], may be out; or NULL */
    bool bounded;
    T low, high;
} tile;

#if MR == 14
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13)
#elif MR == 6
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#endif
#define DECLARE(i) VF x##i = {0}, y##i = {0};
/* sum + a * b. gcc lends registers of sums to other values, and a sum that was spilled waits for memory: here it keeps its own. */
INLINE VF add_term(VF a, VF b, VF sum) {
#if defined TC_ISA_avx2 || defined TC_ISA_avx512
    if (sizeof(T) == 4) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    else __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
#else
    return vfma(a, b, sum);
#endif
}
/* Rows by fours from one pointer each: x86 has no 14 registers for them. */
#define STEP(i)                                                                                     \
    if (i < rows) {                                                                                 \
        VF v = vset1(a[i / 4][(i % 4 == 1 ? one : i % 4 == 2 ? two : i % 4 == 3 ? three : 0) + k]); \
        x##i = add_term(v, p, x##i);                                                                \
        if (wide) y##i = add_term(v, q, y##i);                                                      \
    }
#define EACH(i, X, Y)    \
    if (i < rows) {      \
        X;               \
        if (wide) Y;     \
    }
#define KEEP(i) \
    if (s->absent >> i & 1) EACH(i, vstore(keep + i * NR, x##i), vstore(keep + i * NR + VL, y##i))
#define TAKE_BACK(i) \
    if (s->absent >> i & 1) EACH(i, x##i = vload(keep + i * NR), y##i = vload(keep + i * NR + VL))
#define NONE(i) \
    if (t->none >> i & 1) EACH(i, x##i = minus_zero, y##i = minus_zero)
#define NEVER(i) \
    if (t->never >> i & 1) EACH(i, x##i = (VF){0}, y##i = (VF){0})
#define MERGE(i) EACH(i, x##i = vload(s + i * NR) + x##i, y##i = vload(s + i * NR + VL) + y##i)
#define ADD(i) EACH(i, x##i = x##i + p, y##i = y##i + q)
#define SCALE(i) EACH(i, x##i = vfma(x##i, p, vload(t->shift)), y##i = vfma(y##i, q, vload(t->shift + VL)))
#define MORE(i) EACH(i, x##i = x##i + vload(more + i * ldo), y##i = y##i + vload(more + i * ldo + VL))
#define CLAMP(i) EACH(i, x##i = vmin(vmax(x##i, p), q), y##i = vmin(vmax(y##i, p), q))
#define STORE(i) EACH(i, vstore(out + i * ldo, x##i), vstore(out + i * ldo + VL, y##i))

/* wide: NR columns; else VL of them, in the places that the first of NR have. */
INLINE void run_tile(const tile *t, const int rows, const bool wide) {
    const VF minus_zero = vset1((T)-0.0);
    const int64_t lda = t->lda, ldo = t->ldo;
    int64_t one = lda, two = 2 * lda, three = 3 * lda;
    T *const keep = t->keep, *const out = t->out; /* stores would make gcc read t again */
    const T *const more = t->more;
    const walk *next = t->ahead;
    walk ahead = *next;
    EACH_ROW(DECLARE)
    for (const segment *s = t->seg, *end = s + t->nseg; s < end; s++) {
        const T *a[4], *b = t->b + s->k * NR;
        int64_t n = s->n;
        for (int i = 0; i < (rows + 3) / 4; i++) a[i] = t->a + s->at + 4 * i * lda;
        if (s->absent) { EACH_ROW(KEEP) }
        for (; n >= 4; n -= 4, b += 4 * NR) {
            __builtin_prefetch(ahead.at), __builtin_prefetch(ahead.at + VL);
            ahead.at += ahead.step;
            if (!--ahead.n) ahead = *++next;
            /* Hidden: gcc would keep the sum of each distance and k in a register of its own, of which there are too few. */
            for (int i = 0; i < (rows + 3) / 4; i++) __asm__("" : "+r"(a[i]));
            __asm__("" : "+r"(one), "+r"(two), "+r"(three), "+r"(b));
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                VF p = vload(b + k * NR), q = wide ? vload(b + k * NR + VL) : p;
                __builtin_prefetch(b + (k + 12) * NR); /* from the second cache */
                if (wide && NR * sizeof(T) > LINE) __builtin_prefetch(b + (k + 12) * NR + VL);
                EACH_ROW(STEP)
            }
            for (int i = 0; i < (rows + 3) / 4; i++) a[i] += 4;
        }
#pragma GCC unroll 1
        for (int k = 0; k < n; k++, b += NR) {
            VF p = vload(b), q = wide ? vload(b + VL) : p;
            EACH_ROW(STEP)
        }
        if (s->absent) { EACH_ROW(TAKE_BACK) }
    }
    if (t->none) { EACH_ROW(NONE) }
    for (int l = 0; l < t->nlevels; l++) {
        const T *s = t->level[l];
        EACH_ROW(MERGE)
    }
    if (t->never) { EACH_ROW(NEVER) }
    if (t->bias) {
        const VF p = vload(t->bias), q = wide ? vload(t->bias + VL) : p;
        EACH_ROW(ADD)
    }
    if (t->scale) {
        const VF p = vload(t->scale), q = wide ? vload(t->scale + VL) : p;
        EACH_ROW(SCALE)
    }
    if (more) { EACH_ROW(MORE) }
    if (t->bounded) {
        const VF p = vset1(t->low), q = vset1(t->high);
        EACH_ROW(CLAMP)
    }
    EACH_ROW(STORE)
}
#define TILE_OF(n)                                                                      \
    static __attribute__((noinline)) void tile_##n(const tile *t) { run_tile(t, n, 1); } \
    static __attribute__((noinline)) void half_##n(const tile *t) { run_tile(t, n, 0); }
TILE_OF(1)
TILE_OF(2)
TILE_OF(3)
TILE_OF(4)
#if MR > 4
TILE_OF(5)
TILE_OF(6)
#endif
#if MR > 6
TILE_OF(7)
TILE_OF(8)
TILE_OF(9)
TILE_OF(10)
TILE_OF(11)
TILE_OF(12)
TILE_OF(13)
TILE_OF(14)
#endif
static void (*const tile_of[][2])(const tile *) = { /* by rows; wide */
    {NULL},           {half_1, tile_1},   {half_2, tile_2},   {half_3, tile_3},   {half_4, tile_4},
#if MR > 4
    {half_5, tile_5}, {half_6, tile_6},
#endif
#if MR > 6
    {half_7, tile_7}, {half_8, tile_8},   {half_9, tile_9},   {half_10, tile_10}, {half_11, tile_11},
    {half_12, tile_12}, {half_13, tile_13}, {half_14, tile_14},
#endif
};

/* ---- tiles of positions ---- */
/* What a tile's positions are for every leaf: from number `skip` of entry `at` on. */
typedef struct {
    const tc_conv_places *at;
    int64_t skip, first; /* first: row of the block */
    int rows;
    bool inside;
    int64_t step; /* they are read where they lie, so far from each other; 0: they are copied */
    int64_t pace; /* their results lie so far from each other; 0: at several distances */
    uint32_t never; /* rows without any term */
} tile_place;

/* Positions of a tile in one entry: rows [row, row + n), from number `skip` of it on. */
typedef struct {
    const tc_conv_places *p;
    int64_t skip;
    int row, n;
} piece;
static inline piece piece_from(const tile_place *t, const tc_conv_places *p, int64_t skip, int row) {
    return (piece){p, skip, row, (int)(p->count - skip < t->rows - row ? p->count - skip : t->rows - row)};
}
static inline piece first_piece(const tile_place *t) { return piece_from(t, t->at, t->skip, 0); }
static inline bool next_piece(const tile_place *t, piece *c) {
    if (c->row + c->n >= t->rows) return false;
    *c = piece_from(t, c->p + 1, 0, c->row + c->n);
    return true;
}
static inline uint32_t rows_of(const piece *c) { return ((1u << c->n) - 1) << c->row; }
/* By row: where it reads from, or where it is stored. */
static void list_bases(const tile_place *t, int64_t *base) {
    piece c = first_piece(t);
    do
        for (int i = 0; i < c.n; i++) base[c.row + i] = c.p->base + (c.skip + i) * c.p->step;
    while (next_piece(t, &c));
}
static void list_results(const tile_place *t, int64_t *to) {
    piece c = first_piece(t);
    do
        for (int i = 0; i < c.n; i++) to[c.row + i] = c.p->to + (c.skip + i) * c.p->pace;
    while (next_piece(t, &c));
}

/* Absent taps included. */
static bool readable(const tc_conv_block *b, const tc_conv_places *p, int64_t skip) {
    return p->inside || (p->base + skip * p->step >= b->least && p->base + (p->count - 1) * p->step <= b->most);
}
static inline bool alike(const tc_conv_places *a, const tc_conv_places *b) { return a->mixed ? b->mixed : !b->mixed && tc_conv_same_taps(a, b); }
/* How many positions, from number `skip` of p on, may lie in one tile. */
static int64_t rows_alike(const tc_conv_block *b, const tc_conv_places *p, int64_t skip) {
    int64_t n = -skip;
    for (const tc_conv_places *q = p; q < b->place + b->nplaces && alike(p, q); q++) n += q->count;
    return n;
}
/* How many of these are all *step apart and may be read where they lie. A tile's rows a way of the first cache apart would push each other
 * out; half a way apart they do so at times, and are copied where many columns share the copy. */
static int64_t even_run(const tc_conv_block *b, const tc_conv_places *p, int64_t skip, int64_t *step) {
    const tc_conv_places *const from = p, *end = b->place + b->nplaces;
    const int64_t at = p->base + skip * p->step, s = p->count - skip > 1 ? p->step : p + 1 < end ? p[1].base - at : 0;
    int64_t n = 0;
    *step = s;
    if (s <= 0 || s * (int64_t)sizeof(T) % (b->cols > 4 * NR ? WAY / 2 : WAY) == 0) return 0;
    for (; p < end && p->base + skip * p->step == at + n * s && (p->count - skip == 1 || p->step == s) && readable(b, p, skip) && alike(from, p); p++, skip = 0)
        n += p->count - skip;
    return n;
}
static void describe(const tc_conv_block *b, tile_place *t) {
    piece c = first_piece(t);
    int64_t end = c.p->to + c.skip * c.p->pace; /* where the next row of an even tile is stored */
    const bool one = c.n == t->rows;
    t->inside = true;
    t->pace = b->ld > 1 ? 0 : t->rows == 1 ? NR : c.n > 1 ? c.p->pace : c.p[1].to - end;
    do {
        t->inside &= c.p->inside;
        for (int d = 0; d < 3; d++)
            if (c.p->first[d] >= c.p->last[d]) t->never |= rows_of(&c);
        if (one) break;
        if (c.p->to + c.skip * c.p->pace != end || (c.n > 1 && c.p->pace != t->pace)) t->pace = 0;
        end += c.n * t->pace;
    } while (next_piece(t, &c));
    if (!b->k) t->never = (1u << t->rows) - 1;
}
/* Cuts the block's positions into tiles of about the same height; at most one for each position. */
static int64_t cut_tiles(const tc_conv_block *b, tile_place *out) {
    const tc_conv_places *p = b->place;
    int64_t n = 0, skip = 0, left = 0, step = 0;
    for (int64_t first = 0; first < b->rows; n++) {
        if (!left) {
            const int64_t run = even_run(b, p, skip, &step), all = run >= LEAST_RUN ? run : rows_alike(b, p, skip);
            left = all;
            if (left != run) step = 0;
        }
        const uint32_t tiles = ((uint32_t)left + MR - 1) / MR; /* 64 bits take three times as long to divide */
        const int64_t rows = ((uint32_t)left + tiles - 1) / tiles;
        out[n] = (tile_place){.at = p, .skip = skip, .first = first, .rows = (int)rows, .step = step};
        describe(b, &out[n]);
        left = step ? left - rows : 0;
        first += rows;
        for (skip += rows; first < b->rows && skip >= p->count; p++) skip -= p->count;
    }
    return n;
}

/* ---- the rows of a ---- */
static inline uint32_t present(const tile_place *t, const tc_conv_tap *tap) {
    uint32_t rows = 0;
    piece c = first_piece(t);
    do {
        bool here = true;
        for (int d = 0; d < 3; d++) here &= tap->t[d] >= c.p->first[d] && tap->t[d] < c.p->last[d];
        if (here) rows |= rows_of(&c);
    } while (next_piece(t, &c));
    return rows;
}
static inline void copy(T *to, const T *from, int64_t n) {
    if (n >= VL) {
        for (int64_t i = 0; i + VL <= n; i += VL) vstore(to + i, vload(from + i));
        if (n % VL) vstore(to + n - VL, vload(from + n - VL));
    } else
        for (int64_t i = 0; i < n; i++) to[i] = from[i];
}
/* The terms of leaf [k0, k1) of a tile's positions; taps from number `at` on. a: room for a copy in rows where they are not read in place.
 * Returns how many segments; none: rows without any. */
static int list_terms(const tc_conv_block *b, const tile_place *p, int64_t k0, int64_t k1, int64_t at, T *a, segment *seg, uint32_t *none) {
    const uint32_t all = (1u << p->rows) - 1;
    int n = 0;
    int64_t filled = 0, base[MR];
    uint32_t lacking = all;
    if (!p->step) list_bases(p, base);
    for (; at < b->ntaps && b->tap[at].tap * b->cin < k1; at++) {
        const tc_conv_tap *t = &b->tap[at];
        int64_t first = t->tap * b->cin, from = first > k0 ? first : k0, to = first + b->cin < k1 ? first + b->cin : k1, count = to - from;
        const int64_t offset = t->offset + (from - first);
        uint32_t absent = 0;
        if (!p->inside) {
            absent = all & ~present(p, t);
            if (absent == all) continue;
        } else /* neighbours in memory and in k are taken at once */
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
        segment *before = n ? &seg[n - 1] : NULL;
        if (before && before->absent == absent && before->k + before->n == from && before->at + before->n == place) before->n += count;
        else seg[n++] = (segment){place, from, count, absent};
        filled += count;
    }
    *none = lacking;
    return n;
}

/* ---- results: positions x channels into planes, or as they are ---- */
/* What the plain epilogue adds to a tile's columns from number c0 on, a row NR apart. */
static void gather_more(const tc_conv_block *b, const tile_place *p, T *x, int64_t c0) {
    const int64_t cols = b->cols - c0 < NR ? b->cols - c0 : NR;
    int64_t to[MR];
    list_results(p, to);
    for (int r = 0; r < p->rows; r++)
        for (int64_t h = 0; h < cols; h += VL)
            vstore(x + r * NR + h, vload_some((const T *)b->plain->more + to[r] + c0 + h, (int)(cols - h < VL ? cols - h : VL)));
}
static void store_tile(const tc_conv_block *b, const tile_place *p, T *from, int64_t c0) {
    const int64_t cols = b->cols - c0 < NR ? b->cols - c0 : NR;
    const int rows = p->rows;
    T *out = (T *)b->out + c0 * b->ld, turned[VL * VL];
    int64_t to[MR];
    list_results(p, to);
    if (b->ld == 1) {
        for (int r = 0; r < rows; r++)
            for (int64_t h = 0; h < cols; h += VL)
                vstore_some(out + to[r] + h, vload(from + r * NR + h), (int)(cols - h < VL ? cols - h : VL));
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
            for (int r = 0; r < VL; r++) row[r] = from + (r0 + r) * NR + h; /* rows past the end are room */
            T *o = out + h * b->ld + to[0] + r0;
            if (m == VL && cols - h >= VL) {
                transpose_square(o, b->ld, row, 0);
                continue;
            }
            transpose_square(turned, VL, row, 0);
            for (int c = 0; c < VL && h + c < cols; c++) vstore_some(o + c * b->ld, vload(turned + c * VL), m);
        }
}

/* ---- a block ---- */
static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static inline int64_t leaves_of(int64_t k) { return k ? (k + TC_LEAF - 1) / TC_LEAF : 1; }
/* Rows whose sums are kept at once. */
static inline int64_t rows_kept(int64_t rows, int64_t cols, int64_t k) { return tc_conv_by_tile(k, cols, sizeof(T)) && rows > MR ? MR : rows; }
/* The terms of a leaf: its first tap, and its segments for tiles that lack no tap and are read in place. */
typedef struct {
    const segment *seg;
    int64_t tap;
    int nseg;
} leaf;
/* A row of the block: its place's taps, and where it reads from. */
typedef struct {
    const tc_conv_places *p;
    int64_t base;
} place_row;
/* What a block works on, in this order. */
typedef struct {
    T *a, *spare, *keep; /* rows that are copied; a tile on its way to the result; rows of a tile that lack a segment */
    T *store;            /* sums that wait for others */
    leaf *leaves;
    segment *inside;
    tile_place *places;
    place_row *rows; /* tiles of a tap: the block's rows */
    int32_t *part;   /* their numbers, those that have the tap first */
} room;
static void *take(uintptr_t *at, size_t n) {
    void *p = (void *)*at;
    *at += n;
    return p;
}
/* Places them from `at` on; returns their bytes. */
static size_t make_room(void *at, int64_t rows, int64_t cols, int64_t k, int64_t taps, room *r) {
    const size_t sums = (size_t)(rows_kept(rows, cols, k) * padded(cols)) * (size_t)tc_conv_sums(k), leaves = (size_t)leaves_of(k);
    uintptr_t end = (uintptr_t)at;
    r->a = take(&end, MR * LDA * sizeof(T)), r->spare = take(&end, TILE_ROWS * NR * sizeof(T)), r->keep = take(&end, MR * NR * sizeof(T));
    r->store = take(&end, sums * sizeof(T)), r->leaves = take(&end, leaves * sizeof *r->leaves);
    r->inside = take(&end, (leaves + (size_t)taps) * sizeof *r->inside), r->places = take(&end, (size_t)rows * sizeof *r->places);
    r->rows = take(&end, (size_t)rows * sizeof *r->rows), r->part = take(&end, (size_t)rows * sizeof *r->part);
    return end - (uintptr_t)at;
}
static size_t work_bytes(int64_t rows, int64_t cols, int64_t k, int64_t taps) {
    room r;
    return make_room(NULL, rows, cols, k, taps, &r);
}
static void list_leaves(const tc_conv_block *b, room *r) {
    const tile_place any = {.inside = true, .rows = 1, .step = 1};
    segment *seg = r->inside;
    int64_t tap = 0;
    uint32_t none;
    for (int64_t l = 0; l < leaves_of(b->k); l++) {
        const int64_t k0 = l * TC_LEAF, k1 = b->k - k0 < TC_LEAF ? b->k : k0 + TC_LEAF;
        while (tap < b->ntaps && (b->tap[tap].tap + 1) * b->cin <= k0) tap++;
        r->leaves[l] = (leaf){seg, tap, list_terms(b, &any, k0, k1, tap, NULL, seg, &none)};
        seg += r->leaves[l].nseg;
    }
}

/* Results and residuals are brought near while their tile is computed: memory fetches no lines that lie a row apart by itself. Here
 * those from row `skip` on, which a tile of few terms does not come to. */
static inline void fetch_rows(walk w, int64_t skip) {
    for (int64_t r = skip > 0 ? skip : 0; r < w.n; r++) __builtin_prefetch(w.at + r * w.step), __builtin_prefetch(w.at + r * w.step + VL);
}
/* What the next tile is the first to read: what lies behind the last terms of this one's last row. A share of it, for the first panel. */
static walk next_terms(const tc_conv_block *b, const tile_place *p, const tile *t) {
    if (!p->step || !t->nseg) return (walk){0};
    const segment *const end = &t->seg[t->nseg - 1];
    return (walk){t->a + end->at + (p->rows - 1) * t->lda + end->n, NR, (uint32_t)(p->rows * t->lda) / (uint32_t)padded(b->cols) + 1};
}
/* out: where the tile's results lie, if they are stored in place and not near yet; next: `skip` elements further on, may be nothing. */
static void bring_near(const tc_conv_block *b, const tile_place *p, tile *t, const T *out, const walk *next, int64_t skip) {
    const T *const more = b->plain ? b->plain->more : NULL;
    walk *w = t->ahead;
    int64_t steps = 0; /* rows that the tile fetches */
    for (int i = 0; i < t->nseg && steps < 2 * p->rows; i++) steps += t->seg[i].n / 4;
    if (out && !more && steps < p->rows) out += 2 * p->rows * p->pace; /* a tile of few terms would wait for its own: the tile after the next has them */
    if (out) *w++ = (walk){out, p->pace, p->rows}, fetch_rows(w[-1], steps);
    if (out && more) *w++ = (walk){more + (out - (const T *)b->out), p->pace, p->rows}, fetch_rows(w[-1], steps - p->rows);
    if (next->n) *w++ = (walk){next->at + skip, next->step, next->n};
    *w = (walk){t->b, 0, 0};
}
/* Where the results of columns from c on lie; NULL: not a distance apart, or columns are missing. */
static inline T *results_at(const tc_conv_block *b, const tile_place *p, int64_t c) {
    const bool whole = b->cols - c >= NR || b->cols - c == VL;
    return p->pace && whole ? (T *)b->out + p->at->to + p->skip * p->at->pace + c : NULL;
}
/* What is done to finished sums by column: bias, scale and shift. The last panel's are copied, as columns may be missing. */
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
/* The sums that leaf l merges with, and what its own become. */
typedef struct {
    const T *with[MOST_LEVELS];
    T *out;          /* NULL: the result */
    int64_t l, base; /* number of the row that sums begin with */
    int64_t rows;    /* sums lie by panel and so many rows; 0: by tile and panel */
    bool alone;      /* the tile takes all leaves one after another */
} leaf_step;
static inline int64_t sums_at(const tc_conv_block *b, const leaf_step *s, const tile_place *p, int64_t c) {
    return s->rows ? c * s->rows + p->first * NR : (p->first - s->base) * padded(b->cols) + c * p->rows;
}
/* Tiles of the last leaf: all columns into the result, or by way of `spare`. */
static void last_tiles(const tc_conv_block *b, const tile_place *p, tile *t, const leaf_step *s, T *spare, const by_column *ends) {
    const T *const more = b->plain ? b->plain->more : NULL;
    const walk next = s->l ? (walk){0} : next_terms(b, p, t);
    t->never = p->never, t->bounded = b->plain;
    if (b->plain) t->low = (T)b->plain->low, t->high = (T)b->plain->high;
    for (int64_t c = 0; c < b->cols; c += NR) {
        const int64_t left = b->cols - c;
        const bool both = left > VL, whole = left >= NR || left == VL;
        T *const here = results_at(b, p, c);
        t->b = (const T *)b->w + c * b->k;
        for (int m = 0; m < t->nlevels; m++) t->level[m] = s->with[m] + sums_at(b, s, p, c);
        t->out = here ? here : spare, t->ldo = here ? p->pace : NR;
        t->bias = columns_from(ends, 0, c, whole), t->scale = columns_from(ends, 1, c, whole), t->shift = columns_from(ends, 2, c, whole);
        t->more = !more ? NULL : here ? more + (here - (T *)b->out) : spare;
        bring_near(b, p, t, s->alone && s->l ? NULL : here, &next, c * next.n);
        if (more && !here) gather_more(b, p, spare, c);
        tile_of[p->rows][both](t);
        if (!here) store_tile(b, p, spare, c);
    }
}
/* Tiles of another leaf, into sums. Many bring the next leaf's weights near, of which *brought rows are already; one alone
 * brings its results near with the first leaf, and what lies behind its last terms. */
static void inner_tiles(const tc_conv_block *b, const tile_place *p, tile *t, const leaf_step *s, int64_t *brought) {
    const int64_t from = *brought;
    for (int i = 0; i < t->nseg; i++) *brought += t->seg[i].n / 4;
    const walk next = s->l ? (walk){0} : next_terms(b, p, t);
    t->ldo = NR, t->never = 0, t->bounded = false, t->bias = t->scale = t->more = NULL;
    for (int64_t c = 0; c < b->cols; c += NR) {
        const int64_t where = sums_at(b, s, p, c);
        t->b = (const T *)b->w + c * b->k, t->out = s->out + where;
        if (s->alone) bring_near(b, p, t, s->l ? NULL : results_at(b, p, c), &next, c * next.n);
        else t->ahead[0] = from < TC_LEAF ? (walk){t->b + ((s->l + 1) * TC_LEAF + from) * NR, NR, 0} : (walk){t->b, 0, 0};
        for (int m = 0; m < t->nlevels; m++) t->level[m] = s->with[m] + where;
        tile_of[p->rows][b->cols - c > VL](t);
    }
}

/* ---- tiles of a tap: cut anew for each leaf ---- */
/* Copying all rows costs 1 to 2 %, what rows at the borders lose by themselves is more where they are a fifth. Of float32 alone: float64 is
 * rare, and copies of this for it are 8 KB. */
static bool by_tap(const tc_conv_block *b) {
    if (sizeof(T) != sizeof(float)) return false;
    int64_t border = 0;
    for (int64_t i = 0; i < b->nplaces; i++) border += b->place[i].inside ? 0 : b->place[i].count;
    return b->cin % TC_LEAF == 0 && b->k > TC_LEAF && border * 5 >= b->rows && !tc_conv_by_tile(b->k, b->cols, sizeof(T));
}
static void list_rows(const tc_conv_block *b, place_row *row) {
    for (const tc_conv_places *p = b->place; p < b->place + b->nplaces; p++)
        for (int64_t i = 0; i < p->count; i++) *row++ = (place_row){p, p->base + i * p->step};
}
/* The block's rows that have the tap (NULL: none has), in order, and behind them those that lack it. Returns how many have it. */
static int64_t part_rows(const tc_conv_block *b, const tc_conv_tap *tap, const place_row *row, int32_t *part) {
    int64_t n = 0, end = b->rows;
    for (int32_t i = 0; i < b->rows; i++) {
        bool here = tap;
        for (int d = 0; here && d < 3; d++) here = tap->t[d] >= row[i].p->first[d] && tap->t[d] < row[i].p->last[d];
        part[here ? n++ : --end] = i;
    }
    return n;
}
/* Merges sums of rows part[0 .. n) of the block, of a panel whose sums begin at `at`, with those that the tree has. from: a row NR apart,
 * or NULL for rows without a term. */
static void merge_rows(const leaf_step *s, int nlevels, int64_t at, const int32_t *part, int64_t n, const T *from) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t h = 0; h < NR; h += VL) {
            const int64_t where = at + part[i] * NR + h;
            VF x = from ? vload(from + i * NR + h) : vset1((T)-0.0);
            for (int m = 0; m < nlevels; m++) x = vload(s->with[m] + where) + x;
            vstore(s->out + where, x);
        }
}
/* The sums of leaf s->l, which lies in one tap (NULL: absent), merged with those of s->with. */
static __attribute__((noinline)) void tiles_of_tap(const tc_conv_block *b, const room *r, tile *t, const leaf_step *s, const tc_conv_tap *tap) {
    const int64_t n = part_rows(b, tap, r->rows, r->part), k0 = s->l * TC_LEAF;
    const segment all = {0, k0, TC_LEAF, 0};
    const int nlevels = t->nlevels;
    int64_t brought = 0;
    t->a = r->a, t->lda = LDA, t->seg = &all, t->nseg = 1, t->none = t->never = 0, t->ldo = NR;
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
            t->b = (const T *)b->w + c * b->k, t->out = together ? s->out + at + part[0] * NR : r->spare;
            t->ahead[0] = brought < TC_LEAF && k0 + TC_LEAF < b->k ? (walk){t->b + (k0 + TC_LEAF + brought) * NR, NR, 0} : (walk){t->b, 0, 0};
            for (int m = 0; m < t->nlevels; m++) t->level[m] = s->with[m] + at + part[0] * NR;
            tile_of[rows][b->cols - c > VL](t);
            if (!together) merge_rows(s, nlevels, at, part, rows, r->spare);
        }
        brought += TC_LEAF / 4;
    }
    for (int64_t c = 0; c < b->cols; c += NR) merge_rows(s, nlevels, c * s->rows, r->part + n, b->rows - n, NULL);
}
/* What follows is done to finished rows, up to `done`, when they are enough. */
static void report(const tc_conv_block *b, int64_t done, int64_t *told) {
    if (b->then && (done == b->rows || (done - *told) * b->cols >= REGION))
        b->then->fn(b->then->ctx, b->row0 + *told, done - *told, b->col0, b->cols, b->worker), *told = done;
}
/* The last leaf of tiles of a tap, the sums of which meet those of s->with as they are stored. */
static __attribute__((noinline)) void end_tiles_of_tap(const tc_conv_block *b, const room *r, tile *t, leaf_step *s, const tc_conv_tap *tap,
                                                       const by_column *ends, int64_t *told) {
    const int nlevels = t->nlevels;
    t->nlevels = 0;
    tiles_of_tap(b, r, t, s, tap);
    memmove(s->with + 1, s->with, (size_t)nlevels * sizeof *s->with);
    s->with[0] = s->out, t->nlevels = nlevels + 1, t->nseg = 0;
    int64_t done = 0;
    for (const tile_place *p = r->places; done < b->rows; p++) {
        t->none = (1u << p->rows) - 1;
        last_tiles(b, p, t, s, r->spare, ends);
        done = p->first + p->rows;
        report(b, done, told);
    }
}

/* Tiles [from, to), leaf by leaf. told: rows that were reported. */
static void tiles_by_leaves(const tc_conv_block *b, const room *r, const by_column *ends, int64_t from, int64_t to, int64_t *told) {
    T *level[MOST_LEVELS], *free_list[MOST_LEVELS];
    const int64_t leaves = leaves_of(b->k), area = rows_kept(b->rows, b->cols, b->k) * padded(b->cols);
    int unused = tc_conv_sums(b->k);
    int64_t have = 0;
    segment seg[TC_LEAF];
    leaf_step s; /* its levels and the tile's are too many to be cleared for each */
    tile t;
    const bool anew = by_tap(b);
    t.keep = r->keep, s.base = r->places[from].first, s.alone = to - from == 1 && !anew, s.rows = anew ? b->rows : 0;
    if (anew) list_rows(b, r->rows);
    for (int i = 0; i < unused; i++) free_list[i] = r->store + i * area;
    for (int64_t l = 0; l < leaves; l++) {
        const leaf *const terms = &r->leaves[l];
        const bool last = l == leaves - 1;
        const int64_t k0 = l * TC_LEAF, k1 = last ? b->k : k0 + TC_LEAF;
        int merged[MOST_LEVELS], nm = 0, top = 0; /* merged: the sums that this leaf meets */
        if (!last)
            while (l >> top & 1) top++;
        for (int i = 0; last ? l >> i : i < top; i++)
            if (l >> i & have >> i & 1) merged[nm++] = i;
        if (!last && nm < 2 && (terms->tap == b->ntaps || b->tap[terms->tap].tap * b->cin >= k1)) { /* no terms: what it meets goes up as it is */
            if (!nm) continue;
            level[top] = level[merged[0]], have ^= (int64_t)1 << merged[0] | (int64_t)1 << top;
            continue;
        }
        s.l = l, s.out = last && !anew ? NULL : free_list[--unused];
        t.nlevels = nm;
        for (int m = 0; m < nm; m++) s.with[m] = level[merged[m]];
        if (anew) {
            const tc_conv_tap *const tap = terms->tap < b->ntaps && b->tap[terms->tap].tap * b->cin < k1 ? &b->tap[terms->tap] : NULL;
            if (last) end_tiles_of_tap(b, r, &t, &s, tap, ends, told);
            else tiles_of_tap(b, r, &t, &s, tap);
        }
        for (int64_t i = from, brought = 0; i < to && !anew; i++) {
            const tile_place *p = &r->places[i];
            const bool common = p->inside && p->step;
            t.a = p->step ? (const T *)b->x + p->at->base + p->skip * p->at->step : r->a, t.lda = p->step ? p->step : LDA;
            t.seg = common ? terms->seg : seg, t.none = common && !terms->nseg ? (1u << p->rows) - 1 : 0;
            t.nseg = common ? terms->nseg : list_terms(b, p, k0, k1, terms->tap, r->a, seg, &t.none);
            if (last) last_tiles(b, p, &t, &s, r->spare, ends);
            else inner_tiles(b, p, &t, &s, &brought);
            if (last) report(b, p->first + p->rows, told);
        }
        if (last) continue;
        for (int m = 0; m < nm; m++) have &= ~((int64_t)1 << merged[m]), free_list[unused++] = level[merged[m]];
        level[top] = s.out, have |= (int64_t)1 << top;
    }
}
static void conv_block(const tc_conv_block *b) {
    room r;
    by_column ends;
    int64_t told = 0;
    make_room(b->work, b->rows, b->cols, b->k, b->ntaps, &r);
    list_columns(b, &ends);
    list_leaves(b, &r);
    const int64_t tiles = cut_tiles(b, r.places), each = tc_conv_by_tile(b->k, b->cols, sizeof(T)) ? 1 : tiles;
    for (int64_t i = 0; i < tiles; i += each) tiles_by_leaves(b, &r, &ends, i, i + each, &told);
}

static void pack_panel(void *out, const void *w, int64_t w_cout, int64_t w_cin, int64_t cin, int64_t taps, int64_t cols) {
    T *o = out;
    const T *from = w;
    if (w_cin == taps && cols == NR) { /* a channel's weights are one row of memory */
        int64_t n = cin * taps, i = 0, ci = 0, t = 0;
        T turned[VL * VL];
        for (; i < n; i += VL)
            for (int h = 0; h < NR; h += VL) {
                const T *row[VL];
                int64_t back = i + VL <= n || n < VL ? 0 : i + VL - n; /* the last square overlaps the one before */
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

/* ---- weight gradient ---- */
#define GRAD_STEP(i)                                      \
    if (i < rows) {                                       \
        VF v = vset1(base[i / 4][i % 4 * plane]);         \
        x##i = vfma(v, p, x##i), y##i = vfma(v, q, y##i); \
    }
#define GRAD_MERGE(i)                                                                \
    if (i < rows) {                                                                  \
        if (!t->nseg) x##i = y##i = minus_zero;                                      \
        for (int l = 0; l < t->nlevels; l++) {                                       \
            const T *s = (const T *)t->level[l] + i * NR;                            \
            x##i = vload(s) + x##i, y##i = vload(s + VL) + y##i;                     \
        }                                                                            \
        vstore((T *)t->out + i * NR, x##i), vstore((T *)t->out + i * NR + VL, y##i); \
    }
INLINE void run_grad(const tc_conv_grad_tile *t, const int rows) {
    const VF minus_zero = vset1((T)-0.0);
    const int64_t plane = t->plane, step = t->step;
    EACH_ROW(DECLARE)
    for (int s = 0; s < t->nseg; s++) {
        const T *base[4], *b = (const T *)t->dout + t->seg[s].k * NR;
        for (int i = 0; i < (rows + 3) / 4; i++) base[i] = (const T *)t->x + t->seg[s].at + 4 * i * plane;
        for (int64_t k = t->seg[s].n; k > 0; k--, b += NR) {
            VF p = vload(b), q = vload(b + VL);
            EACH_ROW(GRAD_STEP)
            for (int i = 0; i < (rows + 3) / 4; i++) base[i] += step;
        }
    }
    EACH_ROW(GRAD_MERGE)
}
#define GRAD_OF(n) \
    static __attribute__((noinline)) void grad_##n(const tc_conv_grad_tile *t) { run_grad(t, n); }
GRAD_OF(1)
GRAD_OF(2)
GRAD_OF(3)
GRAD_OF(4)
#if MR > 4
GRAD_OF(5)
GRAD_OF(6)
#endif
#if MR > 6
GRAD_OF(7)
GRAD_OF(8)
GRAD_OF(9)
GRAD_OF(10)
GRAD_OF(11) GRAD_OF(12) GRAD_OF(13) GRAD_OF(14)
#endif
    static void grad_tile(const tc_conv_grad_tile *t) {
    static void (*const of[])(const tc_conv_grad_tile *) = {
        NULL,
        grad_1,
        grad_2,
        grad_3,
        grad_4,
#if MR > 4
        grad_5,
        grad_6,
#endif
#if MR > 6
        grad_7,
        grad_8,
        grad_9,
        grad_10,
        grad_11,
        grad_12,
        grad_13,
        grad_14,
#endif
    };
    of[t->rows](t);
}
static void grad_turn(void *out, const void *const *in, int64_t from, int64_t n) {
    const T *const *p = (const T *const *)in;
    for (int h = 0; h < NR; h += VL) {
        T *o = (T *)out + h;
        int64_t i = 0;
        for (; i + VL <= n; i += VL) transpose_square(o + i * NR, NR, p + h, from + i);
        for (; i < n; i++)
            for (int l = 0; l < VL; l++) o[i * NR + l] = p[h + l][from + i];
    }
}

extern const tc_conv_ops TC_ROW(N_(tc_conv));
const tc_conv_ops TC_ROW(N_(tc_conv)) = {MR, NR, work_bytes, conv_block, pack_panel, grad_tile, grad_turn,
                                         VL, to_lanes, from_lanes, row, row_last, grad_row, push, sum};
