/* tc_move_ops (move.h): fill, strided loads and stores, gathers, scatters and transposition of elements of 1, 2, 4, 8 and 16 bytes. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/move.h"

#include <string.h>

typedef struct {
    uint64_t a, b;
} u128;

#define SIZES(M) M(1, uint8_t) M(2, uint16_t) M(4, uint32_t) M(8, uint64_t) M(16, u128)
#define M(B, T)                                                                                                \
    static void fill##B(void *o, const void *value, int64_t n) {                                               \
        T *out = o, v = *(const T *)value;                                                                     \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = v;                                             \
    }                                                                                                          \
    static void load##B(void *o, const void *in, int64_t stride, int64_t n) {                                  \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        if (stride == 1) {                                                                                     \
            TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = x[i];                                      \
        } else if (stride == -1) {                                                                             \
            TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = x[-i];                                     \
        } else                                                                                                 \
            for (int64_t i = 0; i < n; i++) out[i] = x[i * stride];                                            \
    }                                                                                                          \
    static void store##B(void *o, int64_t stride, const void *in, int64_t n) {                                 \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        if (stride == 1) {                                                                                     \
            TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i] = x[i];                                      \
        } else                                                                                                 \
            for (int64_t i = 0; i < n; i++) out[i * stride] = x[i];                                            \
    }                                                                                                          \
    static void gather##B(void *o, const void *in, const int64_t *index, int64_t n) {                          \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        for (int64_t i = 0; i < n; i++) out[i] = x[index[i]];                                                  \
    }                                                                                                          \
    static void copy##B(void *o, int64_t out_stride, const void *in, int64_t in_stride, int64_t n) {           \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        TC_VECTOR_LOOP for (int64_t i = 0; i < n; i++) out[i * out_stride] = x[i * in_stride];                 \
    }                                                                                                          \
    static void gather_two##B(void *o, const void *in, const int64_t *a, const int64_t *b, int64_t n) {        \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        for (int64_t i = 0; i < n; i++) out[i] = x[a[i] + b[i]];                                               \
    }                                                                                                          \
    static void gather_if##B(void *o, const void *in, const int64_t *index, const uint8_t *pred, int64_t n) {  \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        T zero = {0};                                                                                          \
        for (int64_t i = 0; i < n; i++) out[i] = pred[i] ? x[index[i]] : zero;                                 \
    }                                                                                                          \
    static void scatter_if##B(void *o, const int64_t *index, const uint8_t *pred, const void *in, int64_t n) { \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        for (int64_t i = 0; i < n; i++)                                                                        \
            if (!pred || pred[i]) out[index[i]] = x[i];                                                        \
    }                                                                                                          \
    static void store_if##B(void *o, int64_t stride, const uint8_t *pred, const void *in, int64_t n) {         \
        T *out = o;                                                                                            \
        const T *x = in;                                                                                       \
        for (int64_t i = 0; i < n; i++)                                                                        \
            if (pred[i]) out[i * stride] = x[i];                                                               \
    }
SIZES(M)
#undef M
#define M(B, T)                                                                                                    \
    static void transpose##B(void *o, int64_t out_ld, const void *in, int64_t in_ld, int64_t rows, int64_t cols) { \
        T *out = o;                                                                                                \
        const T *x = in;                                                                                           \
        for (int64_t r0 = 0; r0 < rows; r0 += 16)                                                                  \
            for (int64_t c0 = 0; c0 < cols; c0 += 16) {                                                            \
                int64_t r1 = r0 + 16 < rows ? r0 + 16 : rows, c1 = c0 + 16 < cols ? c0 + 16 : cols;                \
                for (int64_t c = c0; c < c1; c++)                                                                  \
                    for (int64_t r = r0; r < r1; r++) out[c * out_ld + r] = x[r * in_ld + c];                      \
            }                                                                                                      \
    }
M(1, uint8_t)
M(16, u128)
#undef M
/* Transposes 8 x 8 halfwords: three rounds of interleaving row i with row i + 4. */
static inline void transpose_halfwords(uint16_t *out, int64_t out_ld, const uint16_t *x, int64_t in_ld) {
    typedef uint16_t v __attribute__((vector_size(16)));
    v a[8], b[8];
    for (int i = 0; i < 8; i++) __builtin_memcpy(&a[i], x + i * in_ld, 16);
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; i++) a[i] = b[i];
    }
    for (int i = 0; i < 8; i++) __builtin_memcpy(out + i * out_ld, &a[i], 16);
}
/* By 8 x 8 squares, so ordered that each cache line of the result is completed at once. Where sizes are no multiple of 8 the last squares overlap those
 * before them. */
static void transpose2(void *o, int64_t out_ld, const void *in, int64_t in_ld, int64_t rows, int64_t cols) {
    enum { VL = 8, LINE_ELEMENTS = 32 };
    uint16_t *out = o;
    const uint16_t *x = in;
    if (rows < VL || cols < VL) {
        for (int64_t c = 0; c < cols; c++)
            for (int64_t r = 0; r < rows; r++) out[c * out_ld + r] = x[r * in_ld + c];
        return;
    }
    for (int64_t r0 = 0; r0 < rows; r0 += LINE_ELEMENTS)
        for (int64_t c0 = 0; c0 < cols; c0 += VL)
            for (int64_t i = r0; i < r0 + LINE_ELEMENTS && i < rows; i += VL) {
                const int64_t r = i + VL <= rows ? i : rows - VL, c = c0 + VL <= cols ? c0 : cols - VL;
                transpose_halfwords(out + c * out_ld + r, out_ld, x + r * in_ld + c, in_ld);
            }
}
typedef void transpose_fn(void *out, int64_t out_ld, const void *in, int64_t in_ld, int64_t rows, int64_t cols);
extern transpose_fn TC_ROW(tc_transpose_f32), TC_ROW(tc_transpose_f64); /* transpose_*.isa.c */

/* Short rows of one to a few vectors are copied inline, because a call of memcpy would take longer than the copy; long ones by memcpy, with one
 * exception. glibc 2.36 uses "rep movsb" for them. On Zen 4 it does not read the destination's lines first, but takes 13 times as long (4 MB in rows
 * of 4084 bytes: 1204 and 93 us) where the destination, modulo the page size, is 1 to 15 bytes above the source: such rows are copied inline too. */
static void rows(void *o, int64_t out_next, const void *in, int64_t in_next, int64_t bytes, int64_t m) {
    typedef uint8_t vector __attribute__((vector_size(ROW_BYTES), aligned(1), may_alias));
    enum { VECTOR = ROW_BYTES, LONG = 16 * VECTOR, PAGE = 4096, NEAR = 16 };
    char *to = o;
    const char *from = in;
    for (int64_t r = 0; r < m; r++, to += out_next, from += in_next) {
        const uintptr_t above = ((uintptr_t)to - (uintptr_t)from) % PAGE;
        if (bytes < VECTOR || (bytes > LONG && (!above || above >= NEAR))) {
            memcpy(to, from, (size_t)bytes);
            continue;
        }
        for (int64_t i = 0; i + VECTOR < bytes; i += VECTOR) *(vector *)(to + i) = *(const vector *)(from + i);
        *(vector *)(to + bytes - VECTOR) = *(const vector *)(from + bytes - VECTOR); /* the last vector overlaps the one before it */
    }
}

/* Rows of up to a few lines lie anywhere: those of the next AHEAD rows are fetched meanwhile. */
static void gather_rows(void *o, const void *in, const int64_t *at, int64_t bytes, int64_t m) {
    typedef uint8_t vector __attribute__((vector_size(ROW_BYTES), aligned(1), may_alias));
    enum { VECTOR = ROW_BYTES, LINE = 64, AHEAD = 8, LONG = 16 * VECTOR };
    char *to = o;
    const char *base = in;
    if (bytes < VECTOR || bytes > LONG) {
        for (int64_t r = 0; r < m; r++, to += bytes) rows(to, bytes, base + at[r], bytes, bytes, 1);
        return;
    }
    for (int64_t r = 0; r < m; r++, to += bytes) {
        const char *from = base + at[r];
        if (r + AHEAD < m)
            for (int64_t i = 0; i < bytes; i += LINE) __builtin_prefetch(base + at[r + AHEAD] + i);
        for (int64_t i = 0; i + VECTOR < bytes; i += VECTOR) *(vector *)(to + i) = *(const vector *)(from + i);
        *(vector *)(to + bytes - VECTOR) = *(const vector *)(from + bytes - VECTOR);
    }
}

static void iota(int64_t *out, int64_t first, int64_t step, int64_t n) {
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out[i] = first + i * step;
}

static int in_range(const int64_t *x, int64_t base, int64_t size, int64_t n) {
    uint64_t out = 0;
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out |= (uint64_t)base + (uint64_t)x[i] >= (uint64_t)size;
    return !out;
}
static void add_scaled(int64_t *out, const int64_t *x, int64_t base, int64_t scale, int64_t n) {
    if (scale == 1) {
        TC_VECTOR_LOOP
        for (int64_t i = 0; i < n; i++) out[i] += base + x[i];
        return;
    }
    TC_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out[i] += (base + x[i]) * scale;
}

static void lookup(uint16_t *out, const uint16_t *x, const uint16_t *table, int64_t n) {
    int64_t i = 0;
#if defined TC_ISA_avx512
    for (; i + 16 <= n; i += 16) {
        const __m512i at = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(x + i)));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm512_cvtepi32_epi16(_mm512_i32gather_epi32(at, table, 2)));
    }
#endif
    for (; i < n; i++) out[i] = table[x[i]];
}

extern const tc_move_ops TC_ROW(tc_block_move);
#define EACH(f) \
    { f##1, f##2, f##4, f##8, f##16 }
const tc_move_ops TC_ROW(tc_block_move) = {EACH(fill),
                                           EACH(load),
                                           EACH(store),
                                           EACH(copy),
                                           EACH(gather),
                                           EACH(gather_two),
                                           EACH(gather_if),
                                           EACH(scatter_if),
                                           EACH(store_if),
                                           {transpose1, transpose2, TC_ROW(tc_transpose_f32), TC_ROW(tc_transpose_f64), transpose16},
                                           rows,
                                           gather_rows,
                                           iota,
                                           in_range,
                                           add_scaled,
                                           lookup};
