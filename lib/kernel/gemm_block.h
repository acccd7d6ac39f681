/* A block of a matrix product, for one type and instruction set; included by gemm_*.isa.c after vec_*.h.
 *
 *     for each k block of `depth` leaves:         copies of a: all rows of the block (in L2)
 *       for each chunk of columns:                panels of b for this k block
 *         for each NR columns:                    one panel, depth * 256 x NR
 *           for each MR rows:                     the leaves' sums are merged here (in L1)
 *             for each leaf:                      a register tile, MR x 2 vectors (gemm_tile.h)
 *
 * Where all of b's panels for a k block fit L2 instead (few columns), the loops are exchanged: all columns for MR rows, then the next rows.
 * Rows of a are copied while the first columns are computed; each tile prefetches the rows that the next one copies. The epilogue of a chunk of columns
 * runs while its results are in the caches. A block of at most four results is computed without tiles (gemm_dot.h).
 *
 * Level i of the tree holds the merged sum of 2^i leaves. Levels within a k block need one tile each (low_levels), those above need one for every tile
 * of the block (high_levels). */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, S)

#include "kernel/gemm_tile.h"

#include "kernel/gemm_finish.h"

#include "kernel/gemm_operand.h"

enum { MAX_DEPTH = 8 }; /* leaves of a k block, at most */
/* Bytes that stay in L2 together: copies of a (A_L2_BYTES_2M where L2 has 2 MiB), panels of b, results that wait for their epilogue. Processors with
 * AVX-512 have 1 MiB of L2, others may have less; their blocks have fewer rows too. */
enum { A_L2_BYTES = MR == 14 ? 512 << 10 : 256 << 10, A_L2_BYTES_2M = 832 << 10, B_L2_BYTES = 256 << 10, C_L2_BYTES = 128 << 10 };
enum { BLOCK_ROWS = (MR == 14 ? TC_GEMM_MC : TC_GEMM_MC / 2) / MR * MR };

static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static inline int64_t leaves_of(int64_t k) { return k > TC_LEAF ? (k + TC_LEAF - 1) / TC_LEAF : 1; }
static int level_count(int64_t k) {
    int n = 0;
    for (int64_t l = leaves_of(k); l > 1; l = (l + 1) / 2) n++;
    return n;
}
/* Do two leaves of b's nc columns, or all its k, stay in L2? */
static bool b_fits_l2(int64_t nc, int64_t k) { return padded(nc) * (k < 2 * TC_LEAF ? k : 2 * TC_LEAF) * (int64_t)sizeof(T) <= B_L2_BYTES; }
/* Leaves of a k block: a power of two, so that the block is a whole subtree. */
static int depth_of(int64_t nr, int64_t nc, int64_t k, int64_t a_most) {
    const int64_t leaf = TC_LEAF * (int64_t)sizeof(T), most = MAX_DEPTH < leaves_of(k) ? MAX_DEPTH : leaves_of(k);
    const bool few = b_fits_l2(nc, k);
    int depth = 1;
    while (depth < most && 2 * depth * leaf * (few ? padded(nc) : nr) <= (few ? B_L2_BYTES : a_most)) depth *= 2;
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

/* Where b of a k block and a chunk of columns is read: element (k, column) is at[k * k_step + column * c_step]. k counts those present in the k block,
 * columns those of the chunk. */
typedef struct {
    const T *at;
    int64_t k_step, c_step, ldb; /* ldb: as leaf_tile.ldb */
} source;
typedef struct {
    const tc_gemm *j;
    int64_t r0, nr, c0, nc;                                /* the block */
    int64_t leaves;                                        /* of k */
    int64_t a_rows, b_cols;                                /* rows of a that are copied before all columns pass them: MR or all; columns of a chunk */
    int depth, low;                                        /* leaves of a k block; levels of the tree within it: depth is 1 << low */
    T *a_copy;                                             /* [tile][leaf][row][LDA] */
    T *tile;                                               /* [MR][NR]: a tile that cannot be stored to c directly */
    T *low_levels;                                         /* [level][MR][NR] */
    T *panels;                                             /* b of the chunk, packed here */
    T *high_levels;                                        /* [level - low][column][row][NR] for the tiles of the block */
    bool by_k;                                             /* the k of a row of a are contiguous */
    const T *packed;                                       /* panels from the caller, or NULL */
    const char *typed_panels;                              /* panels from the caller, of packed_type, or NULL */
    bool single_row;                                       /* typed panels are widened in registers, not to `panels` */
    bool finishes;                                         /* sums are not the results yet: finish() has to see them, or finish_in_tile */
    enum { PANELS, IN_PLACE, STRIP, TRANSPOSED } b_source; /* gemm_tile.h. Columns beyond the last whole tile are packed in every case */
} work;

/* Enough for fewer rows and columns too, whose k blocks are deeper. */
static size_t work_bytes(int64_t nr, int64_t nc, int64_t k) {
    const int64_t e = sizeof(T);
    int64_t deep = 1; /* leaves of a k block, at most */
    while (deep < MAX_DEPTH && deep < leaves_of(k)) deep *= 2;
    const int64_t rows = tc_max(tc_max(nr, MR * deep), tc_min(nr * deep, A_L2_BYTES_2M / e / TC_LEAF)) * LDA;
    const int64_t panels = tc_min(padded(nc) * TC_LEAF * deep, B_L2_BYTES / e), area = nr * padded(nc) * level_count(k);
    return (size_t)(rows + (1 + 3) * MR * NR + panels + area + 64) * sizeof(T);
}
static work start(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, T *at, const void *packed) {
    work w = {.j = j, .r0 = r0, .nr = nr, .c0 = c0, .nc = nc, .leaves = leaves_of(j->k), .packed = packed, .b_cols = nc, .a_rows = MR};
    if (tc_gemm_widens(j)) w.packed = NULL, w.typed_panels = packed, w.single_row = nr == 1 && has_row(j->packed_type);
    const bool plain = !packed && !j->b_k && !j->segments;
    /* Few rows use each panel so few times that packing it costs more than it saves: b is read in place. The limit on rows is lower where b comes from
     * memory, lowest where its columns do not fill whole tiles. */
    const int64_t bytes = j->k * j->b_rs * (int64_t)sizeof(T);
    const bool small = bytes <= FITS_L1, even = nc % NR == 0;
    const int64_t most = bytes <= FITS_L2 ? 3 * MR : even ? 2 * MR : MR;
    if (plain && (nr <= most || small) && nc >= NR && j->b_cs == 1) w.b_source = even && nr <= (small ? THIN_ROWS : STRIP_ROWS) ? STRIP : IN_PLACE;
    else if (plain && nr <= THIN_ROWS && nc >= NR && j->b_rs == 1 && j->b_cs != 1) w.b_source = TRANSPOSED;
    const bool by_rows = w.b_source == PANELS && !packed && j->b_cs == 1; /* packing reads a chunk's columns row by row: the chunk is to be wide */
    w.depth = j->segments || by_rows ? 1 : depth_of(nr, nc, j->k, j->l2_bytes >= 2 << 20 ? A_L2_BYTES_2M : A_L2_BYTES);
    while (1 << w.low < w.depth) w.low++;
    const int64_t leaf_b = B_L2_BYTES / (w.depth * (int64_t)sizeof(T)); /* elements of a leaf's b */
    if (w.b_source == STRIP) w.b_cols = leaf_b / STRIP_ROWS / NR * NR;
    if (STRIP_ROWS > THIN_ROWS && w.b_source == STRIP) w.a_rows = tc_max(nr, MR);
    if (w.b_source == PANELS && !w.packed && !w.single_row)
        w.b_cols = leaf_b / tc_max(1, tc_min(j->k, TC_LEAF)) / NR * NR; /* all columns where b_fits_l2 */
    if (w.b_source == PANELS && !b_fits_l2(nc, j->k)) w.a_rows = nr;
    if (w.packed && w.a_rows == nr) w.b_cols = tc_max(C_L2_BYTES / nr / (int64_t)sizeof(T) / NR * NR, NR);
    w.by_k = !j->segments && !j->a_k && j->a_cs == 1, w.finishes = to_finish(j);
    w.tile = at, w.low_levels = w.tile + MR * NR, w.a_copy = w.low_levels + 3 * MR * NR;
    w.panels = w.a_copy + tc_max(w.a_rows, MR) * w.depth * LDA;
    w.high_levels = w.panels + tc_min(padded(nc) * w.depth * TC_LEAF, B_L2_BYTES / (int64_t)sizeof(T));
    return w;
}

/* ---- a k block: some leaves ---- */
typedef struct {
    int64_t k0, n, at; /* its first k; how many are present; how many of the k block are present before it */
    int64_t merged;    /* bit i: its sum is merged with level i, the lowest first */
    int into;          /* the level that takes the result; -1: c does */
} leaf;
typedef struct {
    int leaves, count; /* count: of ranges */
    int64_t first, n;  /* number of its first leaf; how many k are present */
    leaf leaf[MAX_DEPTH];
    k_range ranges[TC_LEAF]; /* the k that are present */
    int64_t c0, nc;          /* the chunk's columns, counted from the block's first */
    source b, tail;          /* tail: the columns beyond the last whole tile */
} k_block;
/* State of the tree and of the segments between k blocks. */
typedef struct {
    int64_t have;     /* bit i: level i holds a sum (as in a binary counter of leaves) */
    int64_t past;     /* present k so far */
    int next_segment; /* first segment that is not used up */
} progress;

/* Decides which levels the sum of leaf l is merged with (those below the lowest 0 bit of l; after the last leaf, all that hold a sum), and where the
 * result goes. */
static void place_in_tree(progress *p, int64_t l, bool last, leaf *out) {
    int top = 0;
    while (!last && l >> top & 1) top++;
    out->into = last ? -1 : top;
    out->merged = p->have & (last ? l : ((int64_t)1 << top) - 1);
    p->have &= ~out->merged;
    if (out->n || out->merged) p->have |= last ? 0 : (int64_t)1 << top;
}
#include "kernel/gemm_dot.h"
static void begin_k_block(const work *w, int64_t first, progress *p, k_block *kb) {
    const tc_gemm *j = w->j;
    kb->first = first, kb->n = 0;
    kb->leaves = (int)(w->leaves - first < w->depth ? w->leaves - first : w->depth);
    for (int i = 0; i < kb->leaves; i++) {
        leaf *x = &kb->leaf[i];
        x->k0 = (first + i) * TC_LEAF, x->at = kb->n;
        x->n = leaf_ranges(j, x->k0, &p->next_segment, kb->ranges, &kb->count); /* with segments a k block is one leaf */
        kb->n += x->n;
        place_in_tree(p, first + i, first + i == w->leaves - 1, x);
    }
    if (!j->segments) kb->ranges[0] = (k_range){first * TC_LEAF, kb->n};
}
static inline const char *typed_panel_at(const work *w, int64_t column, int64_t past) {
    return w->typed_panels + column / NR * tc_gemm_panel_bytes(w->j, NR, w->j->k) + tc_gemm_panel_bytes(w->j, NR, past);
}
/* Sets where b of columns [c0, c0 + nc) of the block is read, and packs or widens what has to be. */
static void prepare_b(const work *w, int64_t past, int64_t c0, int64_t nc, k_block *kb) {
    const tc_gemm *j = w->j;
    const T *b = (const T *)j->b + past * j->b_rs + (w->c0 + c0) * j->b_cs; /* where all k are present */
    const int64_t whole = w->b_source == PANELS ? 0 : nc / NR * NR;
    kb->c0 = c0, kb->nc = nc;
    kb->tail = (source){w->panels - whole * kb->n, NR, kb->n, NR};
    switch (w->b_source) {
    case TRANSPOSED: kb->b = (source){b, 1, j->b_cs, j->b_cs}; break;
    case STRIP:
    case IN_PLACE: kb->b = (source){b, j->b_rs, 1, j->b_rs}; break;
    default: kb->b = w->packed ? (source){w->packed + c0 * j->k + past * NR, NR, j->k, NR} : kb->tail;
    }
    for (int64_t c = 0; w->typed_panels && !w->single_row && c < nc; c += NR)
        widen_panel(j, typed_panel_at(w, c0 + c, past), kb->n, w->panels + c * kb->n);
    if (!w->packed && !w->typed_panels && nc > whole) pack_ranges(j, kb->ranges, kb->count, w->c0 + c0 + whole, nc - whole, w->panels, kb->n * NR);
}

/* ---- tiles ---- */
static void store_tile(const tc_gemm *j, const T *tile, int64_t r0, int rows, int64_t c0, int64_t w) {
    for (int r = 0; r < rows; r++) {
        T *c = (T *)j->c + (r0 + r) * j->c_rs;
        for (int64_t i = 0; i < w; i++) c[(c0 + i) * j->c_cs] = tile[r * NR + i];
    }
}
/* A leaf with no k present: the sums of its levels are merged without it; 0 where no k was present at all. */
static void absent_tile(leaf_tile *t, bool last, int rows) {
    T sums[MR * NR] = {0};
    if (!t->nlevels && !last) return;
    if (t->nlevels) __builtin_memcpy(sums, t->level[0], (size_t)(rows * NR) * sizeof(T));
    merge_sums(t, sums, t->nlevels > 0, rows);
}
static inline T *level_at(const work *w, int level, int64_t where) {
    return level < w->low ? w->low_levels + level * MR * NR : w->high_levels + (level - w->low) * w->nr * padded(w->nc) + where;
}
/* Leaf i of one tile: rows [r, r + rows) of the block, columns from c of the chunk on. The caller has set t's a and prefetch. transposed: the sums of
 * transposed_sums, where they were computed. */
static inline void one_tile(const work *w, const k_block *kb, int i, int64_t r, int rows, int64_t c, const T *transposed, leaf_tile *t) {
    const tc_gemm *j = w->j;
    const leaf *x = &kb->leaf[i];
    const int64_t column = kb->c0 + c, width = kb->nc - c < NR ? kb->nc - c : NR, where = column * w->nr + r * NR;
    const bool last = x->into < 0, direct = last && width == NR && j->c_cs == 1;
    const source *b = w->b_source != PANELS && width < NR ? &kb->tail : &kb->b;
    t->b = b->at + c * b->c_step + x->at * b->k_step, t->ldb = b->ldb, t->k = x->n;
    t->nlevels = 0;
    for (int64_t m = x->merged; m; m &= m - 1) t->level[t->nlevels++] = level_at(w, __builtin_ctzll((unsigned long long)m), where);
    t->out = direct ? (T *)j->c + (w->r0 + r) * j->c_rs + w->c0 + column : last ? w->tile : level_at(w, x->into, where);
    t->ld = direct ? j->c_rs : NR;
    tile_epilogue epilogue;
    t->epilogue = w->finishes && direct && rows == MR && x->n && w->b_source <= IN_PLACE && finish_in_tile(j, w->r0 + r, w->c0 + column, &epilogue)
                      ? &epilogue
                      : NULL;
    if (!x->n) absent_tile(t, last, rows);
    else if (w->single_row) {
        T sums[NR] = {0};
        sum_row(j, t->a, typed_panel_at(w, column, kb->first * TC_LEAF + x->at), x->n, sums);
        merge_sums(t, sums, 0, 1);
    } else if (w->b_source == STRIP)
        merge_sums(t, w->panels + (STRIP_ROWS > THIN_ROWS ? r * kb->leaves * kb->nc : 0) + (i * kb->nc + c) * rows, 0, rows);
#if MR == 6
    else if (w->b_source == TRANSPOSED && b == &kb->b) merge_sums(t, transposed + i * rows * NR, 0, rows);
#else
    else if (w->b_source == TRANSPOSED && b == &kb->b) run_transposed(t, rows), (void)transposed;
#endif
    else run_rows(t, rows);
    if (last && !direct) store_tile(j, w->tile, w->r0 + r, rows, w->c0 + column, width);
    if (last && w->finishes && !t->epilogue) finish(j, w->r0 + r, rows, w->c0 + column, width);
}
/* Copies rows [r, r + rows) of a for the k block: [leaf][row][LDA]. */
static void copy_a(const work *w, const k_block *kb, int64_t r, int rows, T *to) {
    const tc_gemm *j = w->j;
    for (int i = 0; i < kb->leaves; i++, to += rows * LDA)
        copy_rows(j, j->segments ? kb->ranges : &(k_range){kb->leaf[i].k0, kb->leaf[i].n}, j->segments ? kb->count : 1, w->r0 + r, rows, to);
}
#if MR == 6
/* Chain i of a TRANSPOSED tile. The order: the whole leaves of the tile's first vector of columns, those of its second, then the short last leaf of
 * both; higher numbers belong to the next tile. */
static inline chain chain_of(const work *w, const k_block *kb, int64_t c, int i, int rows, T *out) {
    const int whole = (int)(kb->n / TC_LEAF), at = i % (2 * kb->leaves), rest = at - 2 * whole;
    const int l = rest < 0 ? at % whole : whole, v = (rest < 0 ? at / whole : rest) * VL;
    const T *b = kb->b.at + (c + i / (2 * kb->leaves) * NR + v) * kb->b.ldb + l * TC_LEAF;
    return (chain){w->a_copy + l * rows * LDA, b, kb->leaf[l].n, out + l * rows * NR + v};
}
/* The sums of a TRANSPOSED tile, [leaf][row][NR]. A b that comes from memory is prefetched two chains ahead. */
static void transposed_sums(const work *w, const k_block *kb, int64_t c, int rows, bool beyond_l3, T *out) {
    for (int i = 0; i < 2 * kb->leaves; i += 2) {
        const chain s[2] = {chain_of(w, kb, c, i, rows, out), chain_of(w, kb, c, i + 1, rows, out)};
        run_chains(s, kb->b.ldb, beyond_l3 ? chain_of(w, kb, c, i + 2, rows, out).b - s[0].b : 0, rows);
    }
}
#endif
/* What a tile prefetches while the rows from r of the block on, for k in [k0, k0 + n), are to be copied next. */
static inline prefetch_walk prefetch_rows(const work *w, int64_t r, int64_t k0, int64_t n) {
    const int64_t e = sizeof(T), step = 16 * e, run = (n + 15) / 16; /* float64: every second line */
    return (prefetch_walk){(const char *)((const T *)w->j->a + (w->r0 + r) * w->j->a_rs + k0), step, run, w->j->a_rs * e - run * step};
}
static inline leaf_in_place in_place(const k_block *kb, int i) {
    return (leaf_in_place){kb->b.at + kb->leaf[i].at * kb->b.k_step, kb->b.ldb, kb->leaf[i].n, kb->nc};
}
/* What a tile of one leaf of n terms prefetches: the lines of the results beside its own, which are stored next, a row in every `run` of its terms. The
 * caller sets where they begin. */
static inline prefetch_walk prefetch_results(const work *w, int64_t n) {
    const int64_t e = sizeof(T), width = NR * e, run = tc_max(n / MR, 2), step = width / run;
    return (prefetch_walk){NULL, step, run, w->j->c_rs * e - run * step};
}
/* Computes all columns of the chunk for rows [r0, r1) of the block. */
static __attribute__((noinline)) void chunk_tiles(const work *w, const k_block *kb, int64_t r0, int64_t r1, leaf_tile *t) {
    const bool first = !kb->c0; /* the first columns: rows of a have to be copied */
    const prefetch_walk results = prefetch_results(w, kb->leaf[0].n);
    T sums[STRIP_ROWS > THIN_ROWS ? MAX_DEPTH * THIN_ROWS * NR : 1]; /* of transposed_sums */
#if MR == 6
    if (w->b_source == STRIP) {
        for (int64_t r = 0; first && r < w->nr; r += tile_rows(w->nr - r)) copy_a(w, kb, r, tile_rows(w->nr - r), w->a_copy + r * kb->leaves * LDA);
        for (int i = 0; i < kb->leaves; i++) {
            const leaf_in_place b = in_place(kb, i);
            strip(w->a_copy, w->nr, &b, i, kb->leaves, w->panels);
        }
    }
#else
    if (w->b_source == STRIP) {
        const int rows = (int)(r1 - r0);
        if (first) copy_a(w, kb, r0, rows, w->a_copy);
        for (int i = 0; i < kb->leaves; i++) {
            const leaf_in_place b = in_place(kb, i);
            strip(w->a_copy + i * rows * LDA, &b, w->panels + i * kb->nc * rows, rows);
        }
    }
#endif
    for (int64_t c = 0; c < kb->nc; c += NR) {
        const char *next = (const char *)(kb->b.at + (c + NR) * kb->b.c_step), *end = next + (w->packed ? kb->n * NR * (int64_t)sizeof(T) : 0);
        if (w->typed_panels && kb->c0 + kb->nc + c < w->nc) { /* the next chunk's panel, as it will be widened */
            next = typed_panel_at(w, kb->c0 + kb->nc + c, kb->first * TC_LEAF), end = next + tc_gemm_panel_bytes(w->j, NR, kb->n);
        }
        if (r0) end = next; /* the panels are in L2 since the first rows: nothing to prefetch */
        for (int64_t r = r0; r < r1;) {
            const int rows = tile_rows(w->nr - r);
            const bool copies = first && !c && w->b_source != STRIP;
            T *a = w->a_copy + (r - r0) * kb->leaves * LDA;
            if (copies) copy_a(w, kb, r, rows, a);
#if MR == 6
            if (w->b_source == TRANSPOSED && kb->nc - c >= NR) transposed_sums(w, kb, c, rows, t->beyond_l3, sums);
#endif
            for (int i = 0; i < kb->leaves; i++) {
                const leaf *x = &kb->leaf[i];
                t->a = a + i * rows * LDA;
                if (copies && w->by_k && w->r0 + r + rows < w->j->m) t->prefetch = prefetch_rows(w, r + rows, x->k0, x->n);
                else if (next >= end && w->leaves == 1 && w->j->c_cs == 1 && kb->c0 + c + 2 * NR <= w->nc)
                    t->prefetch = results, t->prefetch.at = (const char *)((const T *)w->j->c + (w->r0 + r) * w->j->c_rs + w->c0 + kb->c0 + c + NR);
                else t->prefetch = (prefetch_walk){next < end ? next : (const char *)t->a, next < end ? 16 : 0, TC_LEAF, 0};
                next += 16 * x->n;
                one_tile(w, kb, i, r, rows, c, sums, t);
            }
            r += rows;
        }
    }
}

static void block(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *scratch, const void *packed, int worker) {
    if (by_dots(j, nr, nc, packed)) {
        dots(j, r0, nr, c0, nc);
        tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0, nr, c0, nc, worker);
        return;
    }
    work w = start(j, r0, nr, c0, nc, scratch, packed);
    progress p = {0};
    k_block kb;
    leaf_tile t;
    t.beyond_l3 = w.b_source == TRANSPOSED && j->n * j->b_cs > BEYOND_L3 / (int64_t)sizeof(T);
    for (int64_t l = 0; l < w.leaves; l += w.depth) {
        begin_k_block(&w, l, &p, &kb);
        for (int64_t r = 0, next; r < nr; r = next) {
            next = w.a_rows == MR ? r + tile_rows(nr - r) : nr;
            for (int64_t c = 0; c < nc; c += w.b_cols) {
                if (!r || w.b_cols < nc) prepare_b(&w, p.past, c, tc_min(w.b_cols, nc - c), &kb);
                chunk_tiles(&w, &kb, r, next, &t);
                if (l + w.depth >= w.leaves)
                    tc_gemm_finished(j, plain_of(j) ? j->epilogue->rest : j->epilogue, r0 + r, next - r, c0 + c, kb.nc, worker);
            }
        }
        p.past += kb.n;
    }
}

/* ---- b packed once for several blocks ---- */
static size_t pack_bytes(int64_t nc, int64_t k) { return (size_t)(padded(nc) * k) * sizeof(T); }
static void pack(const tc_gemm *j, int64_t c0, int64_t nc, void *out) {
    k_range ranges[TC_LEAF];
    int at = 0, count;
    T *o = out;
    for (int64_t k0 = 0; k0 < j->k; k0 += TC_LEAF) {
        int64_t n = leaf_ranges(j, k0, &at, ranges, &count);
        pack_ranges(j, ranges, count, c0, nc, o, j->k * NR);
        o += n * NR;
    }
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm));
const tc_gemm_ops TC_ROW(N_(tc_gemm)) = {MR, NR, BLOCK_ROWS, work_bytes, block, pack_bytes, pack};
