/* A block of a matrix product, of one type and instruction set; included by gemm_*.isa.c after vec_*.h.
 *
 *     block of the result, nr x nc
 *       for each unit of k, `depth` leaves:   a: all rows of the unit (second cache)
 *         for each NR columns:                b: depth * 256 x NR, a panel
 *           for each MR rows:                 sums of the unit's leaves merge here, in the first cache
 *             for each leaf:                  tile: MR x 2 vectors in registers
 *
 * A narrow block has its b in the second cache and takes all columns for a few rows. Rows of a are copied for the first columns; the tile
 * before asks for them. What a stripe of columns gives is finished while it is near. Level i of the tree holds what 2^i leaves gave: levels below
 * the unit's one tile, those above a tile for each place of the block. */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, S)

#include "kernel/gemm_tile.h"

#include "kernel/gemm_finish.h"

#include "kernel/gemm_operand.h"

enum { DEPTH = 8 /* leaves of a unit, at most */ };
enum {
    A_RULE = 512 << 10,
    A_MOST = 832 << 10,
    B_MOST = 256 << 10
};                           /* bytes of a unit's operands that stay in the second cache together; A_MOST: of 2 MiB */
enum { STRIPE = 128 << 10 }; /* bytes of a result that stay there until they are finished */

static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static inline int64_t leaves_of(int64_t k) { return k > TC_LEAF ? (k + TC_LEAF - 1) / TC_LEAF : 1; }
static int level_count(int64_t k) {
    int n = 0;
    for (int64_t l = leaves_of(k); l > 1; l = (l + 1) / 2) n++;
    return n;
}
/* b of so few columns that two leaves of it, or all, stay in the second cache. */
static bool narrow(int64_t nc, int64_t k) { return padded(nc) * (k < 2 * TC_LEAF ? k : 2 * TC_LEAF) * (int64_t)sizeof(T) <= B_MOST; }
/* Leaves of a unit: a power of two, that units are whole branches of the tree. */
static int depth_of(int64_t nr, int64_t nc, int64_t k, int64_t a_most) {
    const int64_t leaf = TC_LEAF * (int64_t)sizeof(T), most = DEPTH < leaves_of(k) ? DEPTH : leaves_of(k);
    const bool few = narrow(nc, k);
    int depth = 1;
    while (depth < most && 2 * depth * leaf * (few ? padded(nc) : nr) <= (few ? B_MOST : a_most)) depth *= 2;
    return depth;
}

extern const tc_cast_fn TC_ROW(tc_block_cast)[TC_DTYPE_COUNT][TC_DTYPE_COUNT]; /* block_cast.isa.c */
#ifdef NARROW_PANELS
#include "kernel/gemm_narrow.h"
#else
static bool has_row(tc_dtype type) { return (void)type, false; }
static void sum_row(const tc_gemm *j, const T *a, const char *b, int64_t n, T *sums) { (void)j, (void)a, (void)b, (void)n, (void)sums; }
static void widen_panel(const tc_gemm *j, const char *b, int64_t n, T *out) { (void)j, (void)b, (void)n, (void)out; }
#endif

/* What a block works with. A source of b gives element (k, column) of a unit, k counted from its first present one, columns from the chunk's
 * first. */
typedef struct {
    const T *at;
    int64_t k_step, c_step, ldb; /* ldb: leaf_tile's */
} source;
typedef struct {
    const tc_gemm *j;
    int64_t r0, nr, c0, nc, leaves;
    int64_t span, chunk;                     /* rows of a that all columns are computed for; columns of b that are found at once */
    int depth, low;                          /* leaves of a unit; the levels below: depth is 1 << low */
    T *rows, *spare, *local, *panels, *area; /* a: [tile][leaf][row][LDA]; a tile; [level][MR][NR]; b; [level - low][column][row][NR] */
    bool by_k;                               /* a row's k are neighbours */
    const T *packed;
    const char *narrow;                           /* panels of packed_type, or NULL */
    bool row;                                     /* they are read as they are, for one row */
    enum { PANELS, IN_PLACE, STRIP, TURNED } way; /* how b is read; the last columns of IN_PLACE and TURNED are panels, too */
} work;

/* Also enough for fewer rows and columns, whose units are deeper. */
static size_t work_bytes(int64_t nr, int64_t nc, int64_t k) {
    const int64_t e = sizeof(T);
    int64_t deep = 1; /* a unit's leaves, at most */
    while (deep < DEPTH && deep < leaves_of(k)) deep *= 2;
    const int64_t rows = tc_max(tc_max(nr, MR * deep), tc_min(nr * deep, A_MOST / e / TC_LEAF)) * LDA;
    const int64_t panels = tc_min(padded(nc) * TC_LEAF * deep, B_MOST / e), area = nr * padded(nc) * level_count(k);
    return (size_t)(rows + (1 + 3) * MR * NR + panels + area + 64) * sizeof(T);
}
static work start(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, T *at, const void *packed) {
    work w = {.j = j, .r0 = r0, .nr = nr, .c0 = c0, .nc = nc, .leaves = leaves_of(j->k), .packed = packed, .chunk = nc, .span = MR};
    if (tc_gemm_widens(j)) w.packed = NULL, w.narrow = packed, w.row = nr == 1 && has_row(j->packed_type);
    const bool plain = !packed && !j->b_k && !j->seg;
    /* few rows would read panels so few times that packing costs more: b is read where it lies, of rows that are not lines the fewest times */
    const int64_t bytes = j->k * j->b_rs * (int64_t)sizeof(T);
    const bool small = bytes <= SMALL, even = nc % NR == 0;
    const int64_t most = bytes <= NEAR ? 3 * MR : even ? 2 * MR : MR;
    if (plain && (nr <= most || small) && nc >= NR && j->b_cs == 1) w.way = even && nr <= (small ? THIN : FEW_ROWS) ? STRIP : IN_PLACE;
    else if (plain && nr <= THIN && nc >= NR && j->b_rs == 1 && j->b_cs != 1) w.way = TURNED;
    const bool by_rows = w.way == PANELS && !packed && j->b_cs == 1; /* memory is read in pieces of a chunk's columns: not in short ones */
    w.depth = j->seg || by_rows ? 1 : depth_of(nr, nc, j->k, j->second_cache >= 2 << 20 ? A_MOST : A_RULE);
    while (1 << w.low < w.depth) w.low++;
    const int64_t unit = B_MOST / (w.depth * (int64_t)sizeof(T)); /* elements of a leaf's b */
    if (w.way == STRIP) w.chunk = unit / FEW_ROWS / NR * NR;
    if (FEW_ROWS > THIN && w.way == STRIP) w.span = tc_max(nr, MR);
    if (w.way == PANELS && !w.packed && !w.row) w.chunk = unit / tc_max(1, tc_min(j->k, TC_LEAF)) / NR * NR; /* a narrow block has one chunk */
    if (w.way == PANELS && !narrow(nc, j->k)) w.span = nr;
    if (w.packed && w.span == nr) w.chunk = tc_max(STRIPE / nr / (int64_t)sizeof(T) / NR * NR, NR);
    w.by_k = !j->seg && !j->a_k && j->a_cs == 1;
    w.spare = at, w.local = w.spare + MR * NR, w.rows = w.local + 3 * MR * NR;
    w.panels = w.rows + tc_max(w.span, MR) * w.depth * LDA;
    w.area = w.panels + tc_min(padded(nc) * w.depth * TC_LEAF, B_MOST / (int64_t)sizeof(T));
    return w;
}

/* ---- a unit: some leaves ---- */
typedef struct {
    int64_t k0, n, at; /* its first k; how many are present; how many of the unit are before it */
    int64_t merged;    /* bit i: level i, which it meets, the lowest first */
    int into;          /* the level that this gives, -1: the result */
} leaf;
typedef struct {
    int leaves, count;
    int64_t first, n; /* its first leaf; present k */
    leaf leaf[DEPTH];
    piece pieces[TC_LEAF]; /* of b's rows */
    int64_t c0, nc;        /* the chunk's columns, counted in the block */
    source b, tail;        /* tail: columns beyond the whole tiles */
} unit;
/* Where the tree and the segments are between units. */
typedef struct {
    int64_t have; /* bit i: level i holds the merged leaves that bit i of the leaf index says */
    int64_t past; /* present k so far */
    int seg;
} progress;

/* Which levels leaf l meets: those below the first 0 bit of l, or all that are left at the end. */
static void place_in_tree(progress *p, int64_t l, bool last, leaf *out) {
    int top = 0;
    while (!last && l >> top & 1) top++;
    out->into = last ? -1 : top;
    out->merged = p->have & (last ? l : ((int64_t)1 << top) - 1);
    p->have &= ~out->merged;
    if (out->n || out->merged) p->have |= last ? 0 : (int64_t)1 << top;
}
static void begin_unit(const work *w, int64_t first, progress *p, unit *u) {
    const tc_gemm *j = w->j;
    u->first = first, u->n = 0;
    u->leaves = (int)(w->leaves - first < w->depth ? w->leaves - first : w->depth);
    for (int i = 0; i < u->leaves; i++) {
        leaf *x = &u->leaf[i];
        x->k0 = (first + i) * TC_LEAF, x->at = u->n;
        x->n = leaf_pieces(j, x->k0, &p->seg, u->pieces, &u->count); /* segments: the unit is one leaf */
        u->n += x->n;
        place_in_tree(p, first + i, first + i == w->leaves - 1, x);
    }
    if (!j->seg) u->pieces[0] = (piece){first * TC_LEAF, u->n};
}
static inline const char *narrow_at(const work *w, int64_t column, int64_t past) {
    return w->narrow + column / NR * tc_gemm_panel_bytes(w->j, NR, w->j->k) + tc_gemm_panel_bytes(w->j, NR, past);
}
/* The chunk [c0, c0 + nc) of the block's columns: where its b is read, panels packed. */
static void find_b(const work *w, int64_t past, int64_t c0, int64_t nc, unit *u) {
    const tc_gemm *j = w->j;
    const T *b = (const T *)j->b + past * j->b_rs + (w->c0 + c0) * j->b_cs; /* where all k are present */
    const int64_t whole = w->way == PANELS ? 0 : nc / NR * NR;
    u->c0 = c0, u->nc = nc;
    u->tail = (source){w->panels - whole * u->n, NR, u->n, NR};
    switch (w->way) {
    case TURNED: u->b = (source){b, 1, j->b_cs, j->b_cs}; break;
    case STRIP:
    case IN_PLACE: u->b = (source){b, j->b_rs, 1, j->b_rs}; break;
    default: u->b = w->packed ? (source){w->packed + c0 * j->k + past * NR, NR, j->k, NR} : u->tail;
    }
    for (int64_t c = 0; w->narrow && !w->row && c < nc; c += NR) widen_panel(j, narrow_at(w, c0 + c, past), u->n, w->panels + c * u->n);
    if (!w->packed && !w->narrow && nc > whole) pack_pieces(j, u->pieces, u->count, w->c0 + c0 + whole, nc - whole, w->panels, u->n * NR);
}

/* ---- tiles ---- */
static void store_tile(const tc_gemm *j, const T *tile, int64_t r0, int rows, int64_t c0, int64_t w) {
    for (int r = 0; r < rows; r++) {
        T *c = (T *)j->c + (r0 + r) * j->c_rs;
        for (int64_t i = 0; i < w; i++) c[(c0 + i) * j->c_cs] = tile[r * NR + i];
    }
}
/* A leaf without present k: what is in the tree moves up as it is; 0 where nothing was present at all. */
static void absent_tile(leaf_tile *t, bool last, int rows) {
    T sums[MR * NR] = {0};
    if (!t->nlevels && !last) return;
    if (t->nlevels) __builtin_memcpy(sums, t->level[0], (size_t)(rows * NR) * sizeof(T));
    merge_sums(t, sums, t->nlevels > 0, rows);
}
static inline T *level_at(const work *w, int level, int64_t where) {
    return level < w->low ? w->local + level * MR * NR : w->area + (level - w->low) * w->nr * padded(w->nc) + where;
}
/* One leaf of a tile: rows [r, r + rows) of the block, columns from c of the chunk on; of t, its rows of a and what it brings near are set. */
static inline void one_tile(const work *w, const unit *u, int i, int64_t r, int rows, int64_t c, const T *turned, leaf_tile *t) {
    const tc_gemm *j = w->j;
    const leaf *x = &u->leaf[i];
    const int64_t column = u->c0 + c, width = u->nc - c < NR ? u->nc - c : NR, where = column * w->nr + r * NR;
    const bool last = x->into < 0, direct = last && width == NR && j->c_cs == 1;
    const source *b = w->way != PANELS && width < NR ? &u->tail : &u->b;
    t->b = b->at + c * b->c_step + x->at * b->k_step, t->ldb = b->ldb, t->k = x->n;
    t->nlevels = 0;
    for (int64_t m = x->merged; m; m &= m - 1) t->level[t->nlevels++] = level_at(w, __builtin_ctzll((unsigned long long)m), where);
    t->out = direct ? (T *)j->c + (w->r0 + r) * j->c_rs + w->c0 + column : last ? w->spare : level_at(w, x->into, where);
    t->ld = direct ? j->c_rs : NR;
    tail then;
    t->then = direct && rows == MR && x->n && w->way <= IN_PLACE && finish_in_tile(j, w->r0 + r, w->c0 + column, &then) ? &then : NULL;
    if (!x->n) absent_tile(t, last, rows);
    else if (w->row) {
        T sums[NR] = {0};
        sum_row(j, t->a, narrow_at(w, column, u->first * TC_LEAF + x->at), x->n, sums);
        merge_sums(t, sums, 0, 1);
    } else if (w->way == STRIP) merge_sums(t, w->panels + (FEW_ROWS > THIN ? r * u->leaves * u->nc : 0) + (i * u->nc + c) * rows, 0, rows);
#if MR == 6
    else if (w->way == TURNED && b == &u->b) merge_sums(t, turned + i * rows * NR, 0, rows);
#else
    else if (w->way == TURNED && b == &u->b) run_turned(t, rows), (void)turned;
#endif
    else run_rows(t, rows);
    if (last && !direct) store_tile(j, w->spare, w->r0 + r, rows, w->c0 + column, width);
    if (last && !t->then) finish(j, w->r0 + r, rows, w->c0 + column, width);
}
/* Rows [r, r + rows) of a for the unit, [leaf][row][LDA]. */
static void bring_rows(const work *w, const unit *u, int64_t r, int rows, T *to) {
    const tc_gemm *j = w->j;
    for (int i = 0; i < u->leaves; i++, to += rows * LDA)
        copy_rows(j, j->seg ? u->pieces : &(piece){u->leaf[i].k0, u->leaf[i].n}, j->seg ? u->count : 1, w->r0 + r, rows, to);
}
#if MR == 6
/* Chain i of a tile of TURNED: whole leaves of the first vector of columns, of the second, then the short leaf of both; then of the next tile. */
static inline chain chain_of(const work *w, const unit *u, int64_t c, int i, int rows, T *out) {
    const int whole = (int)(u->n / TC_LEAF), at = i % (2 * u->leaves), rest = at - 2 * whole;
    const int l = rest < 0 ? at % whole : whole, v = (rest < 0 ? at / whole : rest) * VL;
    const T *b = u->b.at + (c + i / (2 * u->leaves) * NR + v) * u->b.ldb + l * TC_LEAF;
    return (chain){w->rows + l * rows * LDA, b, u->leaf[l].n, out + l * rows * NR + v};
}
/* The sums of a tile of TURNED, [leaf][row][NR]. What comes from memory is asked for two chains ahead. */
static void turned_sums(const work *w, const unit *u, int64_t c, int rows, bool far, T *out) {
    for (int i = 0; i < 2 * u->leaves; i += 2) {
        const chain s[2] = {chain_of(w, u, c, i, rows, out), chain_of(w, u, c, i + 1, rows, out)};
        run_chains(s, u->b.ldb, far ? chain_of(w, u, c, i + 2, rows, out).b - s[0].b : 0, rows);
    }
}
#endif
/* The rows from r of the block on, n k of them. */
static inline fetch soon_rows(const work *w, int64_t r, int64_t k0, int64_t n) {
    const int64_t e = sizeof(T), step = 16 * e, run = (n + 15) / 16; /* float64: every second line */
    return (fetch){(const char *)((const T *)w->j->a + (w->r0 + r) * w->j->a_rs + k0), step, run, w->j->a_rs * e - run * step};
}
/* All columns of the chunk, for the rows [r0, r1). */
static __attribute__((noinline)) void chunk_tiles(const work *w, const unit *u, int64_t r0, int64_t r1, leaf_tile *t) {
    const bool first = !u->c0;                       /* rows of a are due */
    T sums[FEW_ROWS > THIN ? DEPTH * THIN * NR : 1]; /* of a tile of TURNED */
#if MR == 6
    if (w->way == STRIP) {
        for (int64_t r = 0; first && r < w->nr; r += rows_of(w->nr - r)) bring_rows(w, u, r, rows_of(w->nr - r), w->rows + r * u->leaves * LDA);
        for (int i = 0; i < u->leaves; i++)
            strip(w->rows, u->b.at + u->leaf[i].at * u->b.k_step, u->b.ldb, u->leaf[i].n, u->nc, w->panels, u->leaves, i, w->nr);
    }
#else
    if (w->way == STRIP) {
        const int rows = (int)(r1 - r0);
        if (first) bring_rows(w, u, r0, rows, w->rows);
        for (int i = 0; i < u->leaves; i++)
            strip(w->rows + i * rows * LDA, u->b.at + u->leaf[i].at * u->b.k_step, u->b.ldb, u->leaf[i].n, u->nc, w->panels + i * u->nc * rows, rows);
    }
#endif
    for (int64_t c = 0; c < u->nc; c += NR) {
        const char *next = (const char *)(u->b.at + (c + NR) * u->b.c_step), *end = next + (w->packed ? u->n * NR * (int64_t)sizeof(T) : 0);
        if (w->narrow && u->c0 + u->nc + c < w->nc) { /* of the next chunk */
            next = narrow_at(w, u->c0 + u->nc + c, u->first * TC_LEAF), end = next + tc_gemm_panel_bytes(w->j, NR, u->n);
        }
        if (r0) end = next; /* a narrow block's panels are near since its first rows */
        for (int64_t r = r0; r < r1;) {
            const int rows = rows_of(w->nr - r);
            const bool due = first && !c && w->way != STRIP;
            T *a = w->rows + (r - r0) * u->leaves * LDA;
            if (due) bring_rows(w, u, r, rows, a);
#if MR == 6
            if (w->way == TURNED && u->nc - c >= NR) turned_sums(w, u, c, rows, t->far, sums);
#endif
            for (int i = 0; i < u->leaves; i++) {
                const leaf *x = &u->leaf[i];
                t->a = a + i * rows * LDA;
                if (due && w->by_k && w->r0 + r + rows < w->j->m) t->soon = soon_rows(w, r + rows, x->k0, x->n);
                else t->soon = (fetch){next < end ? next : (const char *)t->a, next < end ? 16 : 0, TC_LEAF, 0};
                next += 16 * x->n;
                one_tile(w, u, i, r, rows, c, sums, t);
            }
            r += rows;
        }
    }
}

static void block(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *room, const void *packed, int worker) {
    work w = start(j, r0, nr, c0, nc, room, packed);
    progress p = {0};
    unit u;
    leaf_tile t;
    t.far = w.way == TURNED && j->n * j->b_cs > FAR / (int64_t)sizeof(T);
    for (int64_t l = 0; l < w.leaves; l += w.depth) {
        begin_unit(&w, l, &p, &u);
        for (int64_t r = 0, next; r < nr; r = next) {
            next = w.span == MR ? r + rows_of(nr - r) : nr;
            for (int64_t c = 0; c < nc; c += w.chunk) {
                if (!r || w.chunk < nc) find_b(&w, p.past, c, tc_min(w.chunk, nc - c), &u);
                chunk_tiles(&w, &u, r, next, &t);
                if (l + w.depth >= w.leaves)
                    tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0 + r, next - r, c0 + c, u.nc, worker);
            }
        }
        p.past += u.n;
    }
}

/* ---- b for several blocks ---- */
static size_t pack_bytes(int64_t nc, int64_t k) { return (size_t)(padded(nc) * k) * sizeof(T); }
static void pack(const tc_gemm *j, int64_t c0, int64_t nc, void *out) {
    piece pieces[TC_LEAF];
    int at = 0, count;
    T *o = out;
    for (int64_t k0 = 0; k0 < j->k; k0 += TC_LEAF) {
        int64_t n = leaf_pieces(j, k0, &at, pieces, &count);
        pack_pieces(j, pieces, count, c0, nc, o, j->k * NR);
        o += n * NR;
    }
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm));
const tc_gemm_ops TC_ROW(N_(tc_gemm)) = {MR, NR, work_bytes, block, pack_bytes, pack};
