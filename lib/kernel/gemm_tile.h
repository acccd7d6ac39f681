/* The matrix product of one type and instruction set, included by gemm_*.isa.c after vec_*.h.
 *
 *     block of the result, nr x nc
 *       for each leaf of k:            B: 256 x nc packed in panels of NR columns (L2)
 *         for each MR rows:            A: MR x 256 copied in rows (L1)
 *           for each NR columns:       tile: MR x 2 vectors in registers
 *
 * What a leaf gives is merged at once with the partial sums that the tree has ready (levels), and kept or stored. */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, S)

enum { NR = 2 * ROW_BYTES / (int)sizeof(T), VL = ROW_BYTES / (int)sizeof(T), LDA = TC_LEAF + 16, LEVELS = 40 };

static inline VF vload(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vstore(T *p, VF v) { __builtin_memcpy(p, &v, sizeof v); }

/* Memory that is brought near while tiles are computed: runs of RUN bytes, each FETCH / RUNS of a tile's k long. */
enum { RUN = 1024, RUNS = 8, FETCH_WIDTH = 1024 /* bytes of a row of b: two leaves of it stay in the second cache */ };
enum { SMALL = 32768 /* bytes of b that stay in the first cache */, FAR = 8 << 20 /* bytes that do not stay in the last */ };
typedef struct {
    const char *run[RUNS]; /* RUN bytes each, or a line that is near, again and again */
    int64_t step;          /* 64, or 0 */
} ahead;

typedef struct {
    const T *a, *b; /* a[row][LDA], b[k * ldb] of the leaf's present k; whole tiles: ldb is NR */
    int64_t k, ldb; /* how many k */
    bool turned;    /* the columns of b are ldb apart and its k are neighbours */
    bool far;       /* b is larger than FAR */
    ahead next;
    const T *level[LEVELS]; /* tiles to merge with, in this order */
    int nlevels;
    T *out;
    int64_t ld, level_ld;
} leaf_tile;

#if MR == 14
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13)
#elif MR == 6
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#endif
/* b comes from the second cache: its lines are asked for some k ahead */
#define NEAR __builtin_prefetch(b + (k + 12) * ldb), __builtin_prefetch(b + (k + 12) * ldb + VL)
#define DECLARE(i) VF x##i = {0}, y##i = {0};
#define STEP(i)                                           \
    if (i < rows) {                                       \
        VF v = vset1(a[i * LDA + k]);                     \
        x##i = vfma(v, p, x##i), y##i = vfma(v, q, y##i); \
    }
#define MERGE(i)                                                                 \
    if (i < rows) {                                                              \
        for (int l = 0; l < t->nlevels; l++) {                                   \
            const T *s = t->level[l] + i * t->level_ld;                          \
            x##i = vload(s) + x##i, y##i = vload(s + VL) + y##i;                 \
        }                                                                        \
        vstore(t->out + i * t->ld, x##i), vstore(t->out + i * t->ld + VL, y##i); \
    }

static inline __attribute__((always_inline)) void run_tile(const leaf_tile *t, const int rows, const int fetches, const int64_t ldb) {
    EACH_ROW(DECLARE)
    const T *a = t->a, *b = t->b;
    int64_t n = t->k, step = t->next.step, k = 0;
    for (int part = 0; fetches && part < RUNS / 2 && k + 4 <= n; part++) {
        const char *f = t->next.run[2 * part], *g = t->next.run[2 * part + 1];
        for (int64_t e = n - 3 < k + TC_LEAF / (RUNS / 2) ? n - 3 : k + TC_LEAF / (RUNS / 2); k < e; f += step, g += step) {
            __builtin_prefetch(f, 0, 2), __builtin_prefetch(g, 0, 2);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++, k++) {
                VF p = vload(b + k * ldb), q = vload(b + k * ldb + VL);
                NEAR;
                EACH_ROW(STEP)
            }
        }
    }
    if (!fetches) {
#pragma GCC unroll 4
        for (; k < n; k++) {
            VF p = vload(b + k * ldb), q = vload(b + k * ldb + VL);
            NEAR;
            EACH_ROW(STEP)
        }
    }
    for (; k < n; k++) {
        VF p = vload(b + k * ldb), q = vload(b + k * ldb + VL);
        EACH_ROW(STEP)
    }
    EACH_ROW(MERGE)
}
static __attribute__((noinline)) void tile_full(const leaf_tile *t) { run_tile(t, MR, 0, t->ldb); }
static __attribute__((noinline)) void tile_full_fetching(const leaf_tile *t) { run_tile(t, MR, 1, NR); }
static __attribute__((noinline)) void tile_8(const leaf_tile *t) { run_tile(t, 8 < MR ? 8 : MR, 0, t->ldb); }
static __attribute__((noinline)) void tile_4(const leaf_tile *t) { run_tile(t, 4, 0, t->ldb); }
static __attribute__((noinline)) void tile_2(const leaf_tile *t) { run_tile(t, 2, 0, t->ldb); }
static __attribute__((noinline)) void tile_1(const leaf_tile *t) { run_tile(t, 1, 0, t->ldb); }

/* Few rows meet each element of b once: it is read where it lies. THIN rows at most, of neighbouring k (turned) or columns (strip). */
enum { THIN = 2, DEEP = 8, SHORT = 512, AHEAD = 8 * VL };
/* Sums of a leaf of `rows` rows and all columns of a block, tile after tile, each rows x NR; nc is a multiple of NR. A few rows of b are
 * read side by side, so that memory is read in long pieces. */
static inline __attribute__((always_inline)) void run_strip(const T *a, const T *b, int64_t ldb, int64_t n, int64_t nc, T *out, const int rows) {
    for (int64_t k = 0; k < n; k += DEEP) {
        int64_t deep = n - k < DEEP ? n - k : DEEP;
        const T *from = b + k * ldb;
        for (int64_t c = 0; c < nc; c += VL) {
            VF x[THIN];
            T *o = out + c / NR * NR * rows + c % NR;
            for (int i = 0; i < rows; i++) x[i] = k ? vload(o + i * NR) : (VF){0};
            if (deep == DEEP) {
#pragma GCC unroll 8
                for (int d = 0; d < DEEP; d++) {
                    VF p = vload(from + d * ldb + c);
                    __builtin_prefetch(from + (d + DEEP) * ldb + c);
                    for (int i = 0; i < rows; i++) x[i] = vfma(vset1(a[i * LDA + k + d]), p, x[i]);
                }
            } else
                for (int d = 0; d < deep; d++)
                    for (int i = 0; i < rows; i++) x[i] = vfma(vset1(a[i * LDA + k + d]), vload(from + d * ldb + c), x[i]);
            for (int i = 0; i < rows; i++) vstore(o + i * NR, x[i]);
        }
    }
}
static __attribute__((noinline)) void strip(const T *a, const T *b, int64_t ldb, int64_t n, int64_t nc, T *out, int rows) {
    if (rows == 1) run_strip(a, b, ldb, n, nc, out, 1);
    else run_strip(a, b, ldb, n, nc, out, 2);
}
/* What a strip gave for one tile merges with its partial sums. */
static void merge_strip(const leaf_tile *t, const T *sums, int rows) {
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < NR; v += VL) {
            VF x = vload(sums + i * NR + v);
            for (int l = 0; l < t->nlevels; l++) x = vload(t->level[l] + i * t->level_ld + v) + x;
            vstore(t->out + i * t->ld + v, x);
        }
}

/* A tile whose columns are rows of memory, ldb apart: one vector of columns after the other, so that few streams of memory run at once.
 * Rows of SHORT bytes end before the processor fetches ahead: those of the next vector are asked for. What comes from memory is asked
 * for earlier than the processor does. */
static inline __attribute__((always_inline)) void run_turned(const leaf_tile *t, const int rows) {
    const int64_t soon = t->k * (int64_t)sizeof(T) <= SHORT ? VL * t->ldb : t->far ? AHEAD : 0;
    T sums[THIN * NR];
    for (int c = 0; c < NR; c += VL) {
        VF x[THIN] = {0};
        const T *a = t->a, *b = t->b + c * t->ldb;
        int64_t k = 0;
#pragma GCC unroll 4
        for (; k + QUAD <= t->k; k += QUAD) {
            VF col[QUAD];
            columns(col, b + k, t->ldb);
            for (int i = 0; soon && i < QUAD; i++) __builtin_prefetch(b + (k % VL + i) * t->ldb + k / VL * VL + soon, 0, 2);
            for (int i = 0; i < QUAD; i++)
                for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + k + i]), col[i], x[r]);
        }
        for (; k < t->k; k++) {
            VF col;
            for (int i = 0; i < VL; i++) col[i] = b[i * t->ldb + k];
            for (int r = 0; r < rows; r++) x[r] = vfma(vset1(a[r * LDA + k]), col, x[r]);
        }
        for (int r = 0; r < rows; r++) vstore(sums + r * NR + c, x[r]);
    }
    merge_strip(t, sums, rows);
}
static __attribute__((noinline)) void turned_1(const leaf_tile *t) { run_turned(t, 1); }
static __attribute__((noinline)) void turned_2(const leaf_tile *t) { run_turned(t, 2); }

/* Rows that the next tile takes of `left`, and its function. */
static inline int rows_of(int64_t left) { return left >= MR ? MR : left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1; }
static inline void run_rows(const leaf_tile *t, int rows) {
    if (t->turned) {
        if (rows == 2) turned_2(t);
        else turned_1(t);
        return;
    }
    if (rows == MR && t->next.step) tile_full_fetching(t);
    else if (rows == MR) tile_full(t);
    else if (rows == 8) tile_8(t);
    else if (rows == 4) tile_4(t);
    else if (rows == 2) tile_2(t);
    else tile_1(t);
}

/* The present k of leaf [k0, k0 + 256): pieces of segments. Returns how many k. */
typedef struct {
    int64_t k, n;
} piece;
static int64_t leaf_pieces(const tc_gemm *j, int64_t k0, int *seg_at, piece *out, int *count) {
    int64_t k1 = k0 + TC_LEAF < j->k ? k0 + TC_LEAF : j->k, total = 0;
    *count = 0;
    if (!j->seg) {
        out[(*count)++] = (piece){k0, k1 - k0};
        return k1 - k0;
    }
    for (int s = *seg_at; s < j->nseg && j->seg[s].k < k1; s++) {
        int64_t b = j->seg[s].k > k0 ? j->seg[s].k : k0, e = j->seg[s].k + j->seg[s].n < k1 ? j->seg[s].k + j->seg[s].n : k1;
        if (e > b) out[(*count)++] = (piece){b, e - b}, total += e - b;
        if (j->seg[s].k + j->seg[s].n <= k1) *seg_at = s + 1;
    }
    return total;
}

/* How many of the n offsets from k on are neighbours in memory. */
static inline int64_t neighbours(const int64_t *at, int64_t k, int64_t n) {
    int64_t i = 1;
    while (i < n && at[k + i] == at[k] + i) i++;
    return i;
}

/* Neighbouring columns, w of them: row by row over all panels, so that memory is read in its order. */
static void pack_rows(const tc_gemm *j, const piece *p, int count, const T *b, int64_t w, T *out, int64_t panel) {
    int64_t whole = w / NR * NR;
    for (int s = 0; s < count; s++)
        for (int64_t k = p[s].k, e = k + p[s].n; k < e; k++, out += NR) {
            const T *y = b + (j->b_k ? j->b_k[k] : k * j->b_rs);
            T *o = out;
            for (int64_t c = 0; c < whole; c += NR, o += panel) vstore(o, vload(y + c)), vstore(o + VL, vload(y + c + VL));
            for (int64_t c = whole; c < w; c++) o[c - whole] = y[c];
            for (int64_t c = w; whole < w && c < whole + NR; c++) o[c - whole] = 0;
        }
}

/* Columns [c0, c0 + w) of the pieces into panels [present k][NR]; panels are `panel` elements apart. */
static void pack_pieces(const tc_gemm *j, const piece *p, int count, int64_t c0, int64_t w, T *out, int64_t panel) {
    if (!j->b_col && j->b_cs == 1) {
        pack_rows(j, p, count, (const T *)j->b + c0, w, out, panel);
        return;
    }
    for (int64_t c = 0; c < w; c += NR, out += panel) {
        int64_t m = w - c < NR ? w - c : NR;
        const T *col[NR];
        for (int64_t i = 0; i < m; i++) col[i] = (const T *)j->b + (j->b_col ? j->b_col[c0 + c + i] : (c0 + c + i) * j->b_cs);
        bool run = m == NR;
        for (int64_t i = 1; run && i < NR; i++) run = col[i] == col[0] + i;
        T *o = out;
        for (int s = 0; s < count; s++)
            for (int64_t k = p[s].k, e = k + p[s].n; k < e;) {
                int64_t at = j->b_k ? j->b_k[k] : k * j->b_rs, n;
                if (run) { /* whole vectors of neighbouring columns */
                    for (; k < e; k++, o += NR) {
                        const T *y = col[0] + (j->b_k ? j->b_k[k] : k * j->b_rs);
                        vstore(o, vload(y)), vstore(o + VL, vload(y + VL));
                    }
                } else if (m == NR && e - k >= VL && (n = j->b_k ? neighbours(j->b_k, k, e - k) : j->b_rs == 1 ? e - k : 1) >= VL) {
                    for (; n >= VL; n -= VL, k += VL, at += VL, o += VL * NR) /* neighbouring k: squares, transposed */
                        square(o, NR, col, at), square(o + VL, NR, col + VL, at);
                } else {
                    for (int64_t i = 0; i < m; i++) o[i] = col[i][at];
                    for (int64_t i = m; i < NR; i++) o[i] = 0;
                    k++, o += NR;
                }
            }
    }
}
static void copy_rows(const tc_gemm *j, const piece *p, int count, int64_t r0, int rows, T *out) {
    for (int s = 0; s < count; s++) {
        int64_t n = p[s].n, k0 = p[s].k;
        for (int r = 0; r < rows; r++) {
            const T *a = (const T *)j->a + (r0 + r) * j->a_rs;
            T *o = out + r * LDA;
            if (j->a_k && j->a_k[k0 + n - 1] - j->a_k[k0] == n - 1 && neighbours(j->a_k, k0, n) == n)
                __builtin_memcpy(o, a + j->a_k[k0], (size_t)n * sizeof(T));
            else if (j->a_k)
                for (int64_t k = 0; k < n; k++) o[k] = a[j->a_k[k0 + k]];
            else if (j->a_cs == 1) {
                int64_t k = 0;
                for (; k + VL <= n; k += VL) vstore(o + k, vload(a + k0 + k));
                for (; k < n; k++) o[k] = a[k0 + k];
            } else
                for (int64_t k = 0; k < n; k++) o[k] = a[(k0 + k) * j->a_cs];
        }
        out += n;
    }
}

/* What the columns [c0, c0 + nc) need next of b, for tiles to fetch on their way: rows of `len` bytes, `stride` bytes apart. */
typedef struct {
    const char *at;
    int64_t stride, len, left, row; /* bytes; left: of this row; rows after it */
} fetch;
static fetch fetch_from(const void *at, int64_t stride, int64_t len, int64_t rows) { return (fetch){at, stride, len, rows > 0 ? len : 0, rows - 1}; }
/* The panels, or the unpacked b, of leaf l; behind the last leaf the first of the next block. */
static fetch fetch_leaf(const tc_gemm *j, const void *packed, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int64_t l) {
    int64_t k0 = l * TC_LEAF;
    const T *b = packed;
    if (j->seg || nc * (int64_t)sizeof(T) > FETCH_WIDTH) return (fetch){0};
    if (k0 >= j->k) {
        k0 = 0;
        if (r0 + nr >= j->m) {
            c0 += nc, b += nc * j->k;
            if (c0 + nc > j->n) nc = j->n - c0;
        } else if (!packed) return (fetch){0};
    }
    int64_t n = j->k - k0 < TC_LEAF ? j->k - k0 : TC_LEAF, e = sizeof(T);
    if (nc <= 0) return (fetch){0};
    if (packed) return fetch_from(b + k0 * NR, j->k * NR * e, n * NR * e, (nc + NR - 1) / NR);
    if (j->b_k || j->b_col) return (fetch){0};
    const T *from = (const T *)j->b + k0 * j->b_rs + c0 * j->b_cs;
    return j->b_cs == 1 ? fetch_from(from, j->b_rs * e, nc * e, n) : j->b_rs == 1 ? fetch_from(from, j->b_cs * e, n * e, nc) : (fetch){0};
}
/* The rows of the tile that begins at row r of a block: those kept, at the end row 0 in the next leaf, or n elements each of leaf l of a,
 * which are copied when they are due. */
static fetch next_rows(const tc_gemm *j, int64_t r0, int64_t nr, int64_t r, int64_t l, int64_t n) {
    int64_t leaves = (j->k + TC_LEAF - 1) / TC_LEAF, e = sizeof(T);
    if (!j->rows) {
        if (r >= nr || j->a_k || j->a_cs != 1 || j->seg) return (fetch){0};
        return fetch_from((const T *)j->a + (r0 + r) * j->a_rs + l * TC_LEAF, j->a_rs * e, n * e, nr - r < MR ? nr - r : MR);
    }
    if (r >= nr) r = 0, l++;
    if (l >= leaves) return (fetch){0};
    int64_t rows = rows_of(nr - r);
    return fetch_from((const T *)j->rows + (r * leaves + l * rows) * LDA, 0, rows * LDA * e, 1);
}
/* The next runs for one tile, of the rows of a first. */
static inline void take_runs(fetch *a, fetch *b, ahead *out) {
    for (int i = 0; i < RUNS; i++) {
        fetch *f = a->left > 0 ? a : b;
        if (f->left <= 0 && f->row > 0) f->at += f->stride - (f->len - f->left), f->left = f->len, f->row--;
        if (f->left <= 0) {
            out->run[i] = i ? out->run[i - 1] : NULL;
            continue;
        }
        out->run[i] = f->at, out->step = 64;
        f->at += RUN, f->left -= RUN;
    }
}

/* alpha, beta and the addend on n neighbours in memory */
static void finish_run(T *c, int64_t n, T alpha, const T *add, int64_t add_cs, T beta) {
    if (alpha != 1)
        for (int64_t i = 0; i < n; i++) c[i] *= alpha;
    if (!add) return;
    if (beta != 1)
        for (int64_t i = 0; i < n; i++) c[i] = FMA(beta, add[i * add_cs], c[i]);
    else if (add_cs == 1)
        for (int64_t i = 0; i < n; i++) c[i] += add[i];
    else if (add_cs == 0)
        for (int64_t i = 0; i < n; i++) c[i] += add[0];
    else
        for (int64_t i = 0; i < n; i++) c[i] += add[i * add_cs];
}
static void finish(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const T alpha = (T)j->alpha, beta = (T)j->beta;
    const T *add = beta != 0 ? j->add : NULL;
    if (alpha != 1 || add)
        for (int64_t i = c0, n; i < c0 + nc; i += n) {
            n = j->c_col ? neighbours(j->c_col, i, c0 + nc - i) : j->c_cs == 1 ? c0 + nc - i : 1;
            for (int64_t r = r0; r < r0 + nr; r++)
                finish_run((T *)j->c + r * j->c_rs + (j->c_col ? j->c_col[i] : i * j->c_cs), n, alpha,
                           add ? add + r * j->add_rs + i * j->add_cs : NULL, j->add_cs, beta);
        }
    if (!j->epilogue) return;
    if (j->swapped) j->epilogue->fn(j->epilogue->ctx, j->row0 + c0, nc, r0, nr, worker);
    else j->epilogue->fn(j->epilogue->ctx, j->row0 + r0, nr, c0, nc, worker);
}

static int level_count(int64_t k) {
    int n = 0;
    for (int64_t l = (k + TC_LEAF - 1) / TC_LEAF; l > 1; l = (l + 1) / 2) n++;
    return n;
}
static inline int64_t padded(int64_t n) { return (n + NR - 1) / NR * NR; }
static size_t work_bytes(int64_t nr, int64_t nc, int64_t k) {
    return ((size_t)MR * LDA + (size_t)MR * NR + (size_t)(padded(nc) * TC_LEAF) + (size_t)(nr * padded(nc)) * (size_t)(level_count(k) + 1) + 64) *
               sizeof(T) +
           TC_LEAF * sizeof(piece);
}
/* Rows of a as tiles read them: [rows of a tile][leaf][row][LDA]. */
static size_t rows_bytes(int64_t nr, int64_t k) { return (size_t)(nr * ((k + TC_LEAF - 1) / TC_LEAF) * LDA) * sizeof(T); }
static void pack_a(const tc_gemm *j, int64_t r0, int64_t nr, void *out) {
    T *o = out;
    for (int64_t r = 0, rows; r < nr; r += rows) {
        rows = rows_of(nr - r);
        for (int64_t k = 0; k < j->k; k += TC_LEAF, o += rows * LDA) {
            piece p = {k, j->k - k < TC_LEAF ? j->k - k : TC_LEAF};
            copy_rows(j, &p, 1, r0 + r, (int)rows, o);
        }
    }
}
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

static void store_tile(const tc_gemm *j, const T *tile, int64_t r0, int rows, int64_t c0, int64_t w) {
    for (int r = 0; r < rows; r++) {
        T *c = (T *)j->c + (r0 + r) * j->c_rs;
        if (j->c_col)
            for (int64_t i = 0; i < w; i++) c[j->c_col[c0 + i]] = tile[r * NR + i];
        else
            for (int64_t i = 0; i < w; i++) c[(c0 + i) * j->c_cs] = tile[r * NR + i];
    }
}
static void block(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker) {
    T *buffer = work, *spare = buffer + MR * LDA, *bbuf = spare + MR * NR, *store = bbuf + padded(nc) * TC_LEAF;
    int64_t wide = padded(nc), area = nr * wide, leaves = (j->k + TC_LEAF - 1) / TC_LEAF;
    const T *b = packed;
    T *level[LEVELS]; /* partial sums: tiles one after the other, each rows x NR */
    int used = 0, free_count = level_count(j->k) + 1, at = 0, count;
    T *free_list[LEVELS];
    int64_t have = 0; /* bit i: level[i] holds the merged leaves that bit i of the leaf index says */
    for (int i = 0; i < free_count; i++) free_list[i] = store + i * area;
    used = free_count;
    piece pieces[TC_LEAF];
    int written = 0;
    /* less than a tile of rows would read panels once, and a small b stays in the first cache: it is read where it lies */
    const bool turned = !packed && nr <= THIN && nc >= NR && j->b_rs == 1 && j->b_cs != 1 && !j->b_k && !j->b_col && !j->seg;
    const bool small_b = j->k * j->b_rs * (int64_t)sizeof(T) <= SMALL;
    const bool direct_b = !packed && (nr < MR || small_b) && nc % NR == 0 && j->b_cs == 1 && !j->b_k && !j->b_col && !j->seg;
    const bool by_strip = direct_b && nr <= THIN;
    const int64_t ldb = direct_b ? j->b_rs : NR;
    for (int64_t l = 0; l < leaves; l++) {
        int last = l == leaves - 1;
        int64_t n = leaf_pieces(j, l * TC_LEAF, &at, pieces, &count);
        /* which partial sums this leaf meets: those below the first 0 bit of l, or all that are left at the end */
        int merged[LEVELS], nm = 0, top = 0;
        if (last) {
            for (int i = 0; l >> i; i++)
                if ((l >> i & 1) && (have >> i & 1)) merged[nm++] = i;
        } else
            for (; l >> top & 1; top++)
                if (have >> top & 1) merged[nm++] = top;
        if (!n && !last) { /* an absent leaf: what is there moves up as it is */
            if (nm > 1) {
                for (int m = 1; m < nm; m++) {
                    T *into = level[merged[0]];
                    const T *from = level[merged[m]];
                    for (int64_t i = 0; i < area; i++) into[i] = from[i] + into[i];
                    free_list[used++] = level[merged[m]];
                }
            }
            if (nm) {
                for (int m = 0; m < nm; m++) have &= ~((int64_t)1 << merged[m]);
                level[top] = level[merged[0]], have |= (int64_t)1 << top;
            }
            continue;
        }
        T *out = last ? NULL : free_list[--used];
        if (direct_b) b = (const T *)j->b + l * TC_LEAF * j->b_rs + c0;
        else if (!packed) {
            int64_t whole = turned ? nc / NR * NR : 0; /* columns that are not copied */
            pack_pieces(j, pieces, count, c0 + whole, nc - whole, bbuf + whole * n, n * NR);
            b = bbuf;
        }
        fetch next = fetch_leaf(j, packed, r0, nr, c0, nc, l + 1);
        leaf_tile t; /* what is the same for all tiles of the leaf; the rest is set for each */
        t.k = n, t.ldb = ldb, t.nlevels = nm, t.level_ld = NR, t.far = turned && j->n * j->b_cs > FAR / (int64_t)sizeof(T);
        for (int64_t r = 0, base = 0; r < nr;) {
            int rows = rows_of(nr - r);
            const T *a = buffer;
            fetch rest = next_rows(j, r0, nr, r + rows, l, n);
            if (j->rows) a = (const T *)j->rows + (r * leaves + l * rows) * LDA;
            else copy_rows(j, pieces, count, r0 + r, rows, buffer);
            if (by_strip) strip(a, b, ldb, n, nc, bbuf, rows);
            for (int64_t c = 0; c < nc; c += NR) {
                int64_t where = base + c * rows, w = nc - c < NR ? nc - c : NR;
                t.turned = turned && w == NR;
                t.a = a,
                t.b = t.turned ? (const T *)j->b + l * TC_LEAF + (c0 + c) * j->b_cs
                               : b + c * (direct_b ? 1
                                          : packed ? j->k
                                                   : n),
                t.next.step = 0, t.ldb = t.turned ? j->b_cs : ldb;
                if (rows == MR && ldb == NR) take_runs(&rest, &next, &t.next);
                for (int m = 0; m < nm; m++) t.level[m] = level[merged[m]] + where;
                int direct = last && w == NR && (j->c_col ? neighbours(j->c_col, c0 + c, NR) == NR : j->c_cs == 1);
                t.out = !last ? out + where : direct ? (T *)j->c + (r0 + r) * j->c_rs + (j->c_col ? j->c_col[c0 + c] : c0 + c) : spare;
                t.ld = direct ? j->c_rs : NR;
                if (last && !n && nm) { /* absent at the end: the tree of what is there */
                    for (int i = 0; i < rows * NR; i++) spare[i] = t.level[0][i];
                    for (int m = 1; m < nm; m++)
                        for (int i = 0; i < rows * NR; i++) spare[i] = t.level[m][i] + spare[i];
                    store_tile(j, spare, r0 + r, rows, c0 + c, w);
                    continue;
                }
                if (by_strip) merge_strip(&t, bbuf + c * rows, rows);
                else run_rows(&t, rows);
                if (last && !direct) store_tile(j, spare, r0 + r, rows, c0 + c, w);
            }
            r += rows, base += rows * wide;
        }
        written |= last;
        if (!last) {
            for (int m = 0; m < nm; m++) have &= ~((int64_t)1 << merged[m]), free_list[used++] = level[merged[m]];
            level[top] = out, have |= (int64_t)1 << top;
        }
        if (packed) b += n * NR;
    }
    if (!written) /* k is 0 */
        for (int64_t r = r0; r < r0 + nr; r++)
            for (int64_t i = c0; i < c0 + nc; i++) ((T *)j->c)[r * j->c_rs + (j->c_col ? j->c_col[i] : i * j->c_cs)] = 0;
    finish(j, r0, nr, c0, nc, worker);
}

extern const tc_gemm_ops TC_ROW(N_(tc_gemm));
const tc_gemm_ops TC_ROW(N_(tc_gemm)) = {MR, NR, work_bytes, block, pack_bytes, pack, rows_bytes, pack_a};
