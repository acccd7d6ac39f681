/* The register tile of convolutions (kernel/conv_isa.h): MR positions x NR output channels over one leaf of k; included by conv_type.h.
 *
 *     for each segment of k (terms that the same rows lack):
 *       for each k:   two vectors of weights; for each row: broadcast a[row][k], two fma
 *
 * Rows that lack a segment, because it lies in the padding, have their sums saved before it and restored after it. Then the tile is merged with
 * the partial sums of the tree, and, after the last leaf, bias and the plain epilogue are applied before it is stored.
 *
 * Tiles of at most FEW_TERMS terms that all rows have (first layers) take their terms from a list of offsets instead: setting up segments, and what to
 * prefetch, costs them more than their sums. */
#ifndef FEW_TERMS
#define FEW_TERMS 0
#endif
enum { NR = 2 * VL, LDA = TC_LEAF + 16, LINE = 64 }; /* LDA: elements from row to row of copied terms; LINE: bytes of a cache line */

/* n terms: a[at ..], weights from k on. Bit r of absent: row r lacks them. */
typedef struct {
    int64_t at, k, n;
    uint32_t absent;
} segment;
/* n rows of NR elements to prefetch, `step` elements from one to the next; n = 0: no end. */
typedef struct {
    const T *at;
    int64_t step, n;
} prefetch_walk;
typedef struct {
    const T *a, *b; /* a[row * lda + at of a segment + i]; b[k * NR + column] */
    int64_t lda;
    const segment *segments;
    int nsegments, nlevels;
    uint32_t absent_rows, empty_rows; /* bit r: row r has no term in this leaf; in the last leaf also: in any leaf */
    const T *level[MAX_LEVELS];       /* partial sums to merge with, [row][NR] */
    T *out, *saved;                   /* out: [row][ldo]; saved: scratch, [row][NR] */
    int64_t ldo;
    prefetch_walk prefetch[4];     /* one row of it every 4 k, one walk after the other; the last one has no end */
    const T *bias, *scale, *shift; /* by column, or NULL; from scale on: the plain epilogue */
    const T *more;                 /* residual, [row][ldo], may be out; or NULL */
    bool bounded;                  /* clamp to [low, high] */
    T low, high;
    const int32_t *offset; /* few terms: of each, from a; b is [nterms][NR] */
    int nterms;
} tile;

#if MR == 14
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13)
#elif MR == 6
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#endif
#define DECLARE(i) VF x##i = {0}, y##i = {0};
/* sum + a * b. The asm keeps each sum in its own register: gcc would use some of them for other values and spill the sums, in the inner loop. */
INLINE VF add_term(VF a, VF b, VF sum) {
#if defined TC_ISA_avx2 || defined TC_ISA_avx512
    if (sizeof(T) == 4) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    else __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
#else
    return vfma(a, b, sum);
#endif
}
/* Four rows share a pointer and three common offsets: x86 has no 14 address registers. */
#define STEP(i)                                                                                     \
    if (i < rows) {                                                                                 \
        VF v = vset1(a[i / 4][(i % 4 == 1 ? one : i % 4 == 2 ? two : i % 4 == 3 ? three : 0) + k]); \
        x##i = add_term(v, p, x##i);                                                                \
        if (wide) y##i = add_term(v, q, y##i);                                                      \
    }
#define EACH(i, X, Y) \
    if (i < rows) {   \
        X;            \
        if (wide) Y;  \
    }
#define SAVE(i) \
    if (s->absent >> i & 1) EACH(i, vstore(saved + i * NR, x##i), vstore(saved + i * NR + VL, y##i))
#define RESTORE(i) \
    if (s->absent >> i & 1) EACH(i, x##i = vload(saved + i * NR), y##i = vload(saved + i * NR + VL))
#define ABSENT(i) \
    if (t->absent_rows >> i & 1) EACH(i, x##i = minus_zero, y##i = minus_zero)
#define EMPTY(i) \
    if (t->empty_rows >> i & 1) EACH(i, x##i = (VF){0}, y##i = (VF){0})
#define MERGE(i) EACH(i, x##i = vload(s + i * NR) + x##i, y##i = vload(s + i * NR + VL) + y##i)
#define ADD(i) EACH(i, x##i = x##i + p, y##i = y##i + q)
#define SCALE(i) EACH(i, x##i = vfma(x##i, p, vload(t->shift)), y##i = vfma(y##i, q, vload(t->shift + VL)))
#define MORE(i) EACH(i, x##i = x##i + vload(more + i * ldo), y##i = y##i + vload(more + i * ldo + VL))
#define CLAMP(i) EACH(i, x##i = vmin(vmax(x##i, p), q), y##i = vmin(vmax(y##i, p), q))
#define STORE(i) EACH(i, vstore(out + i * ldo, x##i), vstore(out + i * ldo + VL, y##i))

/* wide: NR columns; else the first VL of them, at the same addresses. few: of few terms. */
INLINE void run_tile(const tile *t, const int rows, const bool wide, const bool few) {
    const VF minus_zero = vset1((T)-0.0);
    const int64_t lda = t->lda, ldo = t->ldo;
    int64_t one = lda, two = 2 * lda, three = 3 * lda;
    T *const saved = t->saved, *const out = t->out; /* in locals, so that gcc does not reload them after each store */
    const T *const more = t->more;
    const prefetch_walk *next = t->prefetch;
    prefetch_walk prefetch = *next;
    EACH_ROW(DECLARE)
    for (int i = 0; few && i < rows; i++) __builtin_prefetch(out + (2 * rows + i) * ldo, 1); /* the results of the tile after next */
    for (int term = 0; few && term < t->nterms; term++) {
        const T *const from = t->a + t->offset[term], *const b = t->b + term * NR, *const a[4] = {from, from + 4 * lda};
        const VF p = vload(b), q = wide ? vload(b + VL) : p;
        const int k = 0;
        EACH_ROW(STEP)
    }
    for (const segment *s = t->segments, *end = s + t->nsegments; !few && s < end; s++) {
        const T *a[4], *b = t->b + s->k * NR;
        int64_t n = s->n;
        for (int i = 0; i < (rows + 3) / 4; i++) a[i] = t->a + s->at + 4 * i * lda;
        if (s->absent) { EACH_ROW(SAVE) }
        for (; n >= 4; n -= 4, b += 4 * NR) {
            __builtin_prefetch(prefetch.at), __builtin_prefetch(prefetch.at + VL);
            prefetch.at += prefetch.step;
            if (!--prefetch.n) prefetch = *++next;
            /* Hides the values from gcc, which would keep each offset plus k in a register of its own; there are too few. */
            for (int i = 0; i < (rows + 3) / 4; i++) __asm__("" : "+r"(a[i]));
            __asm__("" : "+r"(one), "+r"(two), "+r"(three), "+r"(b));
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                VF p = vload(b + k * NR), q = wide ? vload(b + k * NR + VL) : p;
                __builtin_prefetch(b + (k + 12) * NR); /* weights come from L2 */
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
        if (s->absent) { EACH_ROW(RESTORE) }
    }
    if (!few && t->absent_rows) { EACH_ROW(ABSENT) }
    for (int l = 0; !few && l < t->nlevels; l++) {
        const T *s = t->level[l];
        EACH_ROW(MERGE)
    }
    if (!few && t->empty_rows) { EACH_ROW(EMPTY) }
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
#define TILE_OF(i)                                                                              \
    static __attribute__((noinline)) void tile_##i(const tile *t) { run_tile(t, i + 1, 1, 0); } \
    static __attribute__((noinline)) void half_##i(const tile *t) { run_tile(t, i + 1, 0, 0); }
EACH_ROW(TILE_OF)
#define TILE_ENTRY(i) {half_##i, tile_##i},
static void (*const tile_of[][2])(const tile *) = {{NULL}, EACH_ROW(TILE_ENTRY)}; /* [rows][wide] */
#if FEW_TERMS
#define FEW_OF(i) \
    static __attribute__((noinline)) void few_##i(const tile *t) { run_tile(t, i + 1, 1, 1); }
EACH_ROW(FEW_OF)
#define FEW_ENTRY(i) few_##i,
#else
#define FEW_ENTRY(i) NULL,
#endif
static void (*const few_of[])(const tile *) = {NULL, EACH_ROW(FEW_ENTRY)}; /* [rows], wide */
