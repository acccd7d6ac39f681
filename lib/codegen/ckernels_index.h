/* Sorting, selection, search and scatter as portable C (--to c): same bits as lib/kernel's sort.c, sort_keys.c and scatter.c. Pasted into emitted units
 * definition by definition, as ckernels.h, which includes it. */
#ifndef TC_CODEGEN_CKERNELS_INDEX_H
#define TC_CODEGEN_CKERNELS_INDEX_H

#include "kernel/order.h"

/* ---- elements of any real type ---- */
enum { TC_C_UNSIGNED, TC_C_SIGNED, TC_C_F32, TC_C_F64, TC_C_F16, TC_C_BF16 };
typedef struct {
    int32_t bytes, kind;
    uint64_t infinity; /* of floats: its bits; what is above without the sign is NaN */
} tc_c_type;
static inline uint64_t tc_c_word(tc_c_type t, const void *data, int64_t i) {
    const unsigned char *p = (const unsigned char *)data + i * t.bytes;
    uint64_t u = 0;
    for (int k = 0; k < t.bytes; k++) u |= (uint64_t)p[k] << 8 * k;
    return u;
}
static inline void tc_c_put(tc_c_type t, void *data, int64_t i, uint64_t u) {
    unsigned char *p = (unsigned char *)data + i * t.bytes;
    for (int k = 0; k < t.bytes; k++) p[k] = (unsigned char)(u >> 8 * k);
}
static inline int64_t tc_c_integer(tc_c_type t, const void *data, int64_t i) {
    const uint64_t u = tc_c_word(t, data, i), sign = (uint64_t)1 << (8 * t.bytes - 1);
    return (int64_t)(t.kind == TC_C_SIGNED ? (u ^ sign) - sign : u);
}
static inline double tc_c_number(tc_c_type t, const void *data, int64_t i) {
    const uint64_t u = tc_c_word(t, data, i);
    switch (t.kind) {
    case TC_C_F32: return (double)tc_from_bits_f32((uint32_t)u);
    case TC_C_F64: return tc_from_bits_f64(u);
    case TC_C_F16: return (double)tc_x_cast_f16_f32((uint16_t)u);
    default: return (double)tc_x_cast_bf16_f32((uint16_t)u);
    }
}
static inline void tc_c_put_number(tc_c_type t, void *data, int64_t i, double v) {
    switch (t.kind) {
    case TC_C_F32: tc_c_put(t, data, i, tc_bits_f32((float)v)); break;
    case TC_C_F64: tc_c_put(t, data, i, tc_bits_f64(v)); break;
    case TC_C_F16: tc_c_put(t, data, i, tc_x_cast_f32_f16((float)v)); break;
    default: tc_c_put(t, data, i, tc_x_cast_f32_bf16((float)v));
    }
}

/* ---- order: NaN above everything, -0 equal to +0, ties as they come ---- */
static inline uint64_t tc_c_key(tc_c_type t, const void *data, int64_t i) {
    const uint64_t u = tc_c_word(t, data, i), sign = (uint64_t)1 << (8 * t.bytes - 1), all = sign | (sign - 1);
    if (t.kind == TC_C_UNSIGNED) return u;
    if (t.kind == TC_C_SIGNED) return u ^ sign;
    if ((u & ~sign) > t.infinity) return all;
    if ((u & ~sign) == 0) return sign;
    return u & sign ? ~u & all : u | sign;
}
static inline void tc_c_sort(tc_order *a, tc_order *room, int64_t n) { /* stable */
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            const int64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
            int64_t i = lo, j = mid, k = lo;
            while (i < mid && j < hi) room[k++] = a[j].key < a[i].key ? a[j++] : a[i++];
            while (i < mid) room[k++] = a[i++];
            while (j < hi) room[k++] = a[j++];
        }
        for (int64_t i = 0; i < n; i++) a[i] = room[i];
    }
}

/* Rows of n elements `stride` apart. values and indices get the first k of each row in order; or PyTorch's choice of them, sorted or not; or
 * the one at k; the lower median; the median without NaN; the smallest of the most frequent. scratch: 2 n pairs. */
enum { TC_C_FIRST, TC_C_TOP, TC_C_UNSORTED, TC_C_KTH, TC_C_MEDIAN, TC_C_NANMEDIAN, TC_C_MODE };
typedef struct {
    tc_c_type type;
    int64_t rows, n, stride, k;
    int32_t descending, pick;
} tc_c_rows;
static inline void tc_c_order_rows(const tc_c_rows *c, const void *in, void *values, int64_t *indices, void *scratch) {
    tc_order *const a = (tc_order *)scratch, *const room = a + c->n;
    const uint64_t sign = (uint64_t)1 << (8 * c->type.bytes - 1), all = sign | (sign - 1), nan = c->type.kind > TC_C_SIGNED ? all : 0;
    for (int64_t r = 0; r < c->rows; r++) {
        const int64_t from = r / c->stride * c->stride * c->n + r % c->stride, to = r / c->stride * c->stride * c->k + r % c->stride;
        int64_t nans = 0, at = c->k - 1;
        for (int64_t i = 0; i < c->n; i++) {
            const uint64_t key = tc_c_key(c->type, in, from + i * c->stride);
            nans += c->type.kind > TC_C_SIGNED && key == all;
            a[i].key = c->descending ? key ^ all : key;
            a[i].index = i;
        }
        switch (c->pick) {
        case TC_C_TOP:
        case TC_C_UNSORTED: tc_order_top(a, c->n, c->k, c->pick == TC_C_TOP); break;
        case TC_C_KTH: tc_order_kth(a, c->n, c->k - 1); break;
        case TC_C_MODE: tc_order_intro_sort(a, c->n, nan); break;
        default: tc_c_sort(a, room, c->n);
        }
        if (c->pick <= TC_C_UNSORTED) {
            for (int64_t i = 0; i < c->k; i++) {
                tc_c_put(c->type, values, to + i * c->stride, tc_c_word(c->type, in, from + a[i].index * c->stride));
                indices[to + i * c->stride] = a[i].index;
            }
            continue;
        }
        if (c->pick == TC_C_MEDIAN) at = nans ? c->n - nans : (c->n - 1) / 2;
        if (c->pick == TC_C_NANMEDIAN) at = c->n > nans ? (c->n - nans - 1) / 2 : 0;
        if (c->pick == TC_C_MODE) at = tc_order_mode(a, c->n, nan);
        tc_c_put(c->type, values, r, tc_c_word(c->type, in, from + a[at].index * c->stride));
        indices[r] = a[at].index;
    }
}

/* searchsorted: for each of `total` values the first position in its row of the sequence whose element is not below it (right: is above it). Rows of n
 * elements; `per` values share a row. Returns 1 when the sorter holds an index outside the row. */
typedef struct {
    tc_c_type type, sorted, result;
    int64_t n, per, total;
    int32_t right;
} tc_c_search;
static inline int tc_c_searchsorted(const tc_c_search *c, const void *rows, const void *values, const void *sorter, void *out) {
    for (int64_t i = 0; i < c->total; i++) {
        const int64_t base = i / c->per * c->n;
        const uint64_t x = tc_c_key(c->type, values, i);
        const int nan = c->type.kind > TC_C_SIGNED && x == ~(uint64_t)0 >> (64 - 8 * c->type.bytes); /* NaN goes behind everything, as in PyTorch */
        int64_t lo = 0, hi = c->n;
        while (lo < hi) {
            const int64_t mid = lo + (hi - lo) / 2, at = sorter ? tc_c_integer(c->sorted, sorter, base + mid) : mid;
            if (at < 0 || at >= c->n) return 1;
            const uint64_t y = tc_c_key(c->type, rows, base + at);
            if (nan || (c->right ? y <= x : y < x)) lo = mid + 1;
            else hi = mid;
        }
        tc_c_put(c->result, out, i, (uint64_t)lo);
    }
    return 0;
}

static inline void tc_c_bytes(void *to, const void *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

/* ---- writing by index: out[dest(s) + out_at(f)] (op)= value[from(s) + value_at(f)] for sources s and the elements f that go with each ----
 * A source is a position in `size`; dest is the sum over index tensors i of the index read there times reach[i]. The sources of one destination are
 * reduced in ascending order in leaves of 256, merged by the tree (tc-numerics(7), "Scatter"). scratch: two tc_c_origin per source. */
enum { TC_C_SET, TC_C_SUM, TC_C_PROD, TC_C_MEAN, TC_C_AMAX, TC_C_AMIN };
typedef struct {
    tc_c_type type, index_type;
    int32_t mode, include_self, wraps, nindex, rank, free_rank; /* wraps: an index below 0 counts from the end */
    int64_t sources, free, size[16], dest[16], from[16], number[16];
    int64_t limit[16], reach[16], index[16][16];
    int64_t free_size[16], free_out[16], free_value[16];
    double alpha;
} tc_c_scatter;
typedef struct {
    int64_t dest, from, number;
} tc_c_origin;
static inline double tc_c_rounded(tc_c_type t, double v) { return t.kind == TC_C_F64 ? v : (double)(float)v; }
static inline double tc_c_combine(const tc_c_scatter *c, double a, double b) {
    const double nan = a != a ? a : b;
    switch (c->mode) {
    case TC_C_SUM:
    case TC_C_MEAN: return tc_c_rounded(c->type, a + b);
    case TC_C_PROD: return tc_c_rounded(c->type, a * b);
    case TC_C_AMAX: return nan != nan ? nan : a > b ? a : b;
    default: return nan != nan ? nan : a < b ? a : b;
    }
}
static inline int64_t tc_c_combine_int(const tc_c_scatter *c, int64_t a, int64_t b) {
    switch (c->mode) {
    case TC_C_SUM:
    case TC_C_MEAN: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TC_C_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TC_C_AMAX: return a > b ? a : b;
    default: return a < b ? a : b;
    }
}
static inline void tc_c_reduce_int(const tc_c_scatter *c, const tc_c_origin *s, int64_t n, void *out, int64_t to, const void *value, int64_t at) {
    int64_t v = 0, k = n + c->include_self;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = (int64_t)((uint64_t)tc_c_integer(c->type, value, s[i].from + at) * (uint64_t)(c->mode == TC_C_SUM ? (int64_t)c->alpha : 1));
        v = i ? tc_c_combine_int(c, v, x) : x;
    }
    if (c->include_self) v = tc_c_combine_int(c, tc_c_integer(c->type, out, to), v);
    if (c->mode == TC_C_MEAN) v = v / k - (v % k != 0 && v < 0);
    tc_c_put(c->type, out, to, c->type.infinity ? v != 0 : (uint64_t)v); /* infinity is 1 for bool */
}
static inline void tc_c_reduce_float(const tc_c_scatter *c, const tc_c_origin *s, int64_t n, void *out, int64_t to, const void *value, int64_t at) {
    int64_t leaf[64], depth = 0;
    double part[64], v;
    for (int64_t i = 0; i < n;) {
        const int64_t l = s[i].number / 256;
        while (depth >= 2 &&
               63 - __builtin_clzll((uint64_t)(leaf[depth - 1] ^ leaf[depth - 2])) < 63 - __builtin_clzll((uint64_t)(leaf[depth - 1] ^ l)))
            part[depth - 2] = tc_c_combine(c, part[depth - 2], part[depth - 1]), depth--;
        for (int first = 1; i < n && s[i].number / 256 == l; i++, first = 0) {
            double x = tc_c_number(c->type, value, s[i].from + at);
            if (c->mode == TC_C_SUM && c->alpha != 1) x = tc_c_rounded(c->type, x * c->alpha);
            part[depth] = first ? x : tc_c_combine(c, part[depth], x);
        }
        leaf[depth++] = l;
    }
    for (; depth > 1; depth--) part[depth - 2] = tc_c_combine(c, part[depth - 2], part[depth - 1]);
    v = part[0];
    if (c->include_self) v = tc_c_combine(c, tc_c_number(c->type, out, to), v);
    if (c->mode == TC_C_MEAN) v = tc_c_rounded(c->type, v / (double)(n + c->include_self));
    tc_c_put_number(c->type, out, to, v);
}
static inline void tc_c_sort_sources(tc_c_origin *a, tc_c_origin *room, int64_t n) { /* by destination, stable */
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            const int64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
            int64_t i = lo, j = mid, k = lo;
            while (i < mid && j < hi) room[k++] = a[j].dest < a[i].dest ? a[j++] : a[i++];
            while (i < mid) room[k++] = a[i++];
            while (j < hi) room[k++] = a[j++];
        }
        for (int64_t i = 0; i < n; i++) a[i] = room[i];
    }
}
/* Offset of element i of a row-major walk over `size`. */
static inline int64_t tc_c_offset(int rank, const int64_t *size, const int64_t *stride, int64_t i) {
    int64_t at = 0;
    for (int d = rank - 1; d >= 0; i /= size[d--]) at += i % size[d] * stride[d];
    return at;
}
/* Returns 1 when an index is out of bounds. */
static inline int tc_c_scatter_run(const tc_c_scatter *c, void *out, const void *value, const void *const *index, void *scratch) {
    tc_c_origin *const s = (tc_c_origin *)scratch;
    for (int64_t i = 0; i < c->sources; i++) {
        s[i].dest = tc_c_offset(c->rank, c->size, c->dest, i);
        s[i].from = tc_c_offset(c->rank, c->size, c->from, i);
        s[i].number = tc_c_offset(c->rank, c->size, c->number, i);
        for (int k = 0; k < c->nindex; k++) {
            const int64_t x = tc_c_integer(c->index_type, index[k], tc_c_offset(c->rank, c->size, c->index[k], i));
            if (x < (c->wraps ? -c->limit[k] : 0) || x >= c->limit[k]) return 1;
            s[i].dest += (x < 0 ? x + c->limit[k] : x) * c->reach[k];
        }
    }
    if (c->mode != TC_C_SET) tc_c_sort_sources(s, s + c->sources, c->sources);
    for (int64_t i = 0, j; i < c->sources; i = j) {
        for (j = i + 1; c->mode != TC_C_SET && j < c->sources && s[j].dest == s[i].dest;) j++;
        for (int64_t f = 0; f < c->free; f++) {
            const int64_t to = s[i].dest + tc_c_offset(c->free_rank, c->free_size, c->free_out, f);
            const int64_t at = tc_c_offset(c->free_rank, c->free_size, c->free_value, f);
            if (c->mode == TC_C_SET) tc_c_put(c->type, out, to, tc_c_word(c->type, value, s[i].from + at));
            else if (c->type.kind > TC_C_SIGNED) tc_c_reduce_float(c, s + i, j - i, out, to, value, at);
            else tc_c_reduce_int(c, s + i, j - i, out, to, value, at);
        }
    }
    return 0;
}

#endif
