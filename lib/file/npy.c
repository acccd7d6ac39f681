/* .npy, read and written.
 *
 *     "\x93NUMPY" major minor  u16 (1) or u32 (2, 3) length   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ...  data */
#include "file/npy.h"

#include "base/ints.h"
#include "base/text.h"
#include "file/pack.h"
#include "file/tensors.h"

#include <stdio.h>

enum { MAX_HEADER = 1 << 20 };

/* ---- the header: a Python dict of three entries ---- */
typedef struct {
    const char *p, *end;
} cursor;
typedef struct {
    char descr[16];
    bool fortran, has_descr, has_order, has_shape;
    int rank;
    int64_t size[TC_MAX_RANK];
} npy_header;

static void blanks(cursor *c) {
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t')) c->p++;
}
static bool eat(cursor *c, char ch) {
    blanks(c);
    if (c->p >= c->end || *c->p != ch) return false;
    c->p++;
    return true;
}
static bool eat_word(cursor *c, const char *w) {
    blanks(c);
    return tc_eat(&c->p, c->end, w);
}
static bool quoted(cursor *c, char *out, size_t room) {
    blanks(c);
    if (c->p >= c->end || (*c->p != '\'' && *c->p != '"')) return false;
    const char *begin = c->p + 1, *close = memchr(begin, *c->p, (size_t)(c->end - begin));
    if (!close || (size_t)(close - begin) >= room) return false;
    memcpy(out, begin, (size_t)(close - begin));
    out[close - begin] = 0;
    c->p = close + 1;
    return true;
}
static bool integer(cursor *c, int64_t *out) {
    blanks(c);
    const char *begin = c->p;
    *out = 0;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        if (!tc_mul_i64(*out, 10, out) || !tc_add_i64(*out, *c->p - '0', out)) return false;
    if (c->p < c->end && *c->p == 'L') c->p++; /* Python 2 */
    return c->p > begin;
}

static tc_status shape(const tc_source_bytes *s, cursor *c, npy_header *h) {
    if (!eat(c, '(')) return tc_source_error(s, TC_CONTENT, "a .npy header whose shape is no tuple");
    while (!eat(c, ')')) {
        int64_t n;
        if (!integer(c, &n)) return tc_source_error(s, TC_CONTENT, "a .npy header with a bad shape");
        if (h->rank == TC_MAX_RANK) return tc_source_error(s, TC_UNSUPPORTED, "an array of more than %d dimensions", TC_MAX_RANK);
        h->size[h->rank++] = n;
        if (!eat(c, ',') && !(c->p < c->end && *c->p == ')')) return tc_source_error(s, TC_CONTENT, "a .npy header with a bad shape");
    }
    return NULL;
}

static tc_status parse_header(const tc_source_bytes *s, const char *text, size_t n, npy_header *h) {
    cursor c = {text, text + n};
    if (!eat(&c, '{')) return tc_source_error(s, TC_CONTENT, "a .npy header that is no dict");
    while (!eat(&c, '}')) {
        char key[24];
        if (!quoted(&c, key, sizeof key) || !eat(&c, ':')) return tc_source_error(s, TC_CONTENT, "a .npy header that cannot be read");
        if (!strcmp(key, "descr")) {
            if (eat(&c, '[')) return tc_source_error(s, TC_UNSUPPORTED, "a structured .npy array");
            if (!quoted(&c, h->descr, sizeof h->descr)) return tc_source_error(s, TC_CONTENT, "a .npy header with a bad descr");
            h->has_descr = true;
        } else if (!strcmp(key, "fortran_order")) {
            h->fortran = eat_word(&c, "True");
            if (!h->fortran && !eat_word(&c, "False")) return tc_source_error(s, TC_CONTENT, "a .npy header with a bad fortran_order");
            h->has_order = true;
        } else if (!strcmp(key, "shape") && !h->has_shape) {
            TC_TRY(shape(s, &c, h));
            h->has_shape = true;
        } else {
            return tc_source_error(s, TC_CONTENT, "a .npy header with key %s", key);
        }
        if (!eat(&c, ',') && !(blanks(&c), c.p < c.end && *c.p == '}')) return tc_source_error(s, TC_CONTENT, "a .npy header that cannot be read");
    }
    blanks(&c);
    if (c.p < c.end || !h->has_descr || !h->has_order || !h->has_shape) return tc_source_error(s, TC_CONTENT, "a .npy header that cannot be read");
    return NULL;
}

/* "<f4" and the like; *out_swap: the bytes are in the other order. */
static tc_dtype dtype_of(const char *descr, bool *out_swap) {
    char order = descr[0];
    const char *rest = strchr("<>|=", order) && order ? descr + 1 : descr;
    *out_swap = order == '>';
    for (int d = 0; d < TC_DTYPE_COUNT; d++)
        if (tc_dtypes[d].npy && !strcmp(tc_dtypes[d].npy + 1, rest)) return (tc_dtype)d;
    return TC_DTYPE_NONE;
}

static tc_status byte_count(const tc_source_bytes *s, const npy_header *h, tc_dtype d, size_t *out) {
    int64_t n = (int64_t)tc_dtype_size(d);
    bool empty = false;
    for (int i = 0; i < h->rank; i++) {
        empty = empty || h->size[i] == 0;
        if (!tc_mul_i64(n, h->size[i] ? h->size[i] : 1, &n)) return tc_source_error(s, TC_CONTENT, "the sizes of a .npy array overflow");
    }
    *out = empty ? 0 : (size_t)n;
    return NULL;
}

tc_status tc_npy_read(tc_source_bytes *s, tc_tensor *out) {
    const unsigned char *p;
    npy_header h = {0};
    TC_TRY(tc_source_take(s, 8, "a .npy header", &p));
    if (memcmp(p, "\x93NUMPY", 6) != 0) return tc_source_error(s, TC_CONTENT, "not .npy: it does not begin with \\x93NUMPY");
    int major = p[6];
    if (major < 1 || major > 3) return tc_source_error(s, TC_UNSUPPORTED, ".npy version %d, expected 1 to 3", major);
    TC_TRY(tc_source_take(s, major == 1 ? 2 : 4, "a .npy header", &p));
    size_t len = major == 1 ? (size_t)p[0] | (size_t)p[1] << 8 : (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (len > MAX_HEADER) return tc_source_error(s, TC_CONTENT, "a .npy header of %zu bytes", len);
    TC_TRY(tc_source_take(s, len, "a .npy header", &p));
    TC_TRY(parse_header(s, (const char *)p, len, &h));
    bool swap;
    tc_dtype d = dtype_of(h.descr, &swap);
    if (d == TC_DTYPE_NONE) return tc_source_error(s, TC_UNSUPPORTED, "a .npy array of type %s", h.descr);
    size_t bytes = 0, size = tc_dtype_size(d), part = tc_is_complex(d) ? size / 2 : size;
    TC_TRY(byte_count(s, &h, d, &bytes));
    tc_storage *data;
    TC_TRY(tc_source_take_storage(s, bytes, size, "a .npy array", &data));
    tc_status st = d == TC_BOOL ? tc_storage_bools(&data) : NULL;
    int64_t stride[TC_MAX_RANK], step = 1;
    tc_contiguous_strides(h.rank, h.size, stride);
    for (int i = 0; h.fortran && i < h.rank; i++) {
        stride[i] = step;
        step *= h.size[i] > 1 ? h.size[i] : 1;
    }
    if (!st) st = tc_tensor_view(data, d, h.rank, h.size, stride, 0, out);
    tc_storage_release(data);
    if (!st && swap) {
        tc_tensor turned;
        st = tc_tensor_clone(out, &turned);
        tc_tensor_deinit(out);
        if (!st) {
            tc_swap_bytes(tc_tensor_data(&turned), bytes, part);
            *out = turned;
        }
    }
    return st;
}

/* ---- writing ---- */
enum { ROOM = 128 + 24 * TC_MAX_RANK }; /* for a header */

/* The header into b, of ROOM bytes; its length. */
static tc_status header_text(char *b, tc_dtype dtype, int rank, const int64_t *size, size_t *out_n) {
    const char *descr = tc_dtypes[dtype].npy;
    char *const end = b + ROOM, *p = b + 10;
    if (!descr) return tc_error(TC_USAGE, ".npy has no type %s: give --to safetensors, or --cast f32", tc_dtypes[dtype].torch);
    memcpy(b, "\x93NUMPY\1", 8);
    p += snprintf(p, (size_t)(end - p), "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    int digits = 0;
    for (int i = 0; i < rank; i++) {
        const int n = snprintf(p, (size_t)(end - p), "%lld%s", (long long)size[i], i + 1 < rank ? ", " : rank == 1 ? "," : "");
        if (!i) digits = n - (rank == 1 ? 1 : 2);
        p += n;
    }
    p += snprintf(p, (size_t)(end - p), "), }");
    const size_t spare = rank && digits < 21 ? (size_t)(21 - digits) : 0; /* NumPy leaves room for the first size to grow to 21 digits */
    const size_t used = (size_t)(p - b), total = tc_pad64(used + spare + 1);
    memset(p, ' ', total - used - 1);
    b[total - 1] = '\n';
    b[8] = (char)(total - 10);
    b[9] = (char)((total - 10) >> 8);
    *out_n = total;
    return NULL;
}

tc_status tc_npy_header(tc_buf *out, tc_dtype dtype, int rank, const int64_t *size) {
    char head[ROOM];
    size_t n;
    TC_TRY(header_text(head, dtype, rank, size, &n));
    tc_buf_append(out, head, n);
    return NULL;
}

tc_status tc_npy_write(tc_out *o, const tc_tensor *t) {
    char head[ROOM];
    size_t n;
    TC_TRY(header_text(head, t->dtype, t->rank, t->size, &n));
    TC_TRY(tc_out_write(o, head, n));
    return tc_pack_write(o, t);
}
