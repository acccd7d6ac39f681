/* TensorProto in all its forms: raw bytes, typed lists, strings, data in another file of the model's folder, and sparse ones. */
#include "file/onnx_read.h"

#include "file/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    tc_dtype dtype;
    int bits;  /* of an element in raw data */
    int field; /* of TensorProto that holds its typed list */
} types[TC_ONNX_TYPES] = {
    [TC_ONNX_FLOAT] = {TC_F32, 32, 4},
    [TC_ONNX_UINT8] = {TC_U8, 8, 5},
    [TC_ONNX_INT8] = {TC_I8, 8, 5},
    [TC_ONNX_UINT16] = {TC_U16, 16, 5},
    [TC_ONNX_INT16] = {TC_I16, 16, 5},
    [TC_ONNX_INT32] = {TC_I32, 32, 5},
    [TC_ONNX_INT64] = {TC_I64, 64, 7},
    [TC_ONNX_STRING] = {TC_DTYPE_NONE, 0, 6},
    [TC_ONNX_BOOL] = {TC_BOOL, 8, 5},
    [TC_ONNX_FLOAT16] = {TC_F16, 16, 5},
    [TC_ONNX_DOUBLE] = {TC_F64, 64, 10},
    [TC_ONNX_UINT32] = {TC_U32, 32, 11},
    [TC_ONNX_UINT64] = {TC_U64, 64, 11},
    [TC_ONNX_COMPLEX64] = {TC_C64, 64, 4},
    [TC_ONNX_COMPLEX128] = {TC_C128, 128, 10},
    [TC_ONNX_BFLOAT16] = {TC_BF16, 16, 5},
    [TC_ONNX_FLOAT8E4M3FN] = {TC_F8E4M3, 8, 5},
    [TC_ONNX_FLOAT8E4M3FNUZ] = {TC_U8, 8, 5},
    [TC_ONNX_FLOAT8E5M2] = {TC_F8E5M2, 8, 5},
    [TC_ONNX_FLOAT8E5M2FNUZ] = {TC_U8, 8, 5},
    [TC_ONNX_UINT4] = {TC_U8, 4, 5},
    [TC_ONNX_INT4] = {TC_I8, 4, 5},
    [TC_ONNX_FLOAT4E2M1] = {TC_U8, 4, 5},
    [TC_ONNX_FLOAT8E8M0] = {TC_U8, 8, 5},
    [TC_ONNX_UINT2] = {TC_U8, 2, 5},
    [TC_ONNX_INT2] = {TC_I8, 2, 5},
};

tc_dtype tc_onnx_dtype(int type) { return type > 0 && type < TC_ONNX_TYPES ? types[type].dtype : TC_DTYPE_NONE; }

int tc_onnx_type_of(tc_dtype d) {
    if (d == TC_F8E4M3FNUZ) return TC_ONNX_FLOAT8E4M3FNUZ; /* which are read as their codes, above: onnx_quant.py computes with those */
    if (d == TC_F8E5M2FNUZ) return TC_ONNX_FLOAT8E5M2FNUZ;
    for (int t = 1; t < TC_ONNX_TYPES; t++)
        if (types[t].dtype == d) return t;
    return 0;
}

/* The fields of a TensorProto, collected before its form is known. */
typedef struct {
    int64_t type, location, offset, length;
    bool has_segment, has_length;
    const char *file;
    const unsigned char *raw;
    size_t nraw;
    TC_VEC(uint64_t) list; /* elements of the typed list, as stored on the wire */
    int field;             /* of that list */
    TC_VEC(const char *) strings;
} proto;

/* Number of elements; -1 if the product overflows. */
static int64_t numel(const tc_onnx_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        if (t->size[d] == 0) return 0;
    for (int d = 0; d < t->rank; d++)
        if (!tc_mul_i64(n, t->size[d], &n)) return -1;
    return n;
}

static void read_dims(tc_pb *s, tc_onnx_tensor *t) {
    size_t n = tc_pb_count(s, 0);
    for (size_t i = 0; i < n && !s->status; i++) {
        int64_t d = (int64_t)tc_pb_element(s, 0);
        if (s->status) return;
        if (d < 0) tc_pb_fail(s, TC_CONTENT, "a tensor has a size of %lld", (long long)d);
        else if (t->rank == TC_MAX_RANK) tc_pb_fail(s, TC_UNSUPPORTED, "a tensor has more than %d dimensions", TC_MAX_RANK);
        else t->size[t->rank++] = d;
    }
}

static void read_list(tc_pb *s, proto *p, int width) {
    size_t n = tc_pb_count(s, width);
    if (!n || s->status) return;
    if (p->field && p->field != (int)s->field) {
        tc_pb_fail(s, TC_CONTENT, "a tensor has data in two fields, %d and %u", p->field, s->field);
        return;
    }
    p->field = (int)s->field;
    tc_vec_reserve(&p->list, p->list.len + n);
    for (size_t i = 0; i < n; i++) tc_vec_push(&p->list, tc_pb_element(s, width));
}

static void read_external(tc_onnx_reader *r, tc_pb *m, proto *p) {
    tc_pb s = tc_pb_message(m);
    const char *key = "", *value = "";
    while (tc_pb_next(&s))
        if (s.field == 1) key = tc_onnx_string(r, &s);
        else if (s.field == 2) value = tc_onnx_string(r, &s);
    if (!s.status && !strcmp(key, "location")) p->file = value;
    if (!s.status && (!strcmp(key, "offset") || !strcmp(key, "length"))) {
        char *end;
        errno = 0;
        long long v = strtoll(value, &end, 10);
        if (end == value || *end || errno || v < 0)
            tc_pb_fail(&s, TC_CONTENT, "external data: %s is '%.40s', expected a number of bytes", key, value);
        else if (*key == 'o') p->offset = v;
        else p->length = v, p->has_length = true;
    }
    tc_pb_close(m, &s);
}

/* ---- external data ---- */
/* Opens a path below the model's folder, one component at a time; no component may be a symbolic link. */
static tc_status open_inside(const char *folder, const char *location, int *out_fd) {
    if (!*location || *location == '/') return tc_error(TC_CONTENT, "external data '%.200s': expected a path inside the model's folder", location);
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0) return tc_error(TC_ENV, "%s: %s", folder, strerror(errno));
    char part[256];
    for (const char *p = location;;) {
        size_t n = strcspn(p, "/");
        bool last = p[n] == 0;
        if (n == 0 || n >= sizeof part || (n == 2 && !memcmp(p, "..", 2))) {
            close(at);
            return tc_error(TC_CONTENT, "external data '%.200s' leaves the model's folder", location);
        }
        memcpy(part, p, n);
        part[n] = 0;
        int next = openat(at, part, (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
        int e = errno;
        close(at);
        if (next < 0) {
            if (e == ELOOP || (e == ENOTDIR && !last)) return tc_error(TC_CONTENT, "external data '%.200s' is a link or no folder", location);
            return tc_error(e == ENOENT ? TC_CONTENT : TC_ENV, "external data '%.200s': %s", location, strerror(e));
        }
        at = next;
        if (last) break;
        p += n + 1;
    }
    *out_fd = at;
    return NULL;
}

static tc_status external_blob(tc_onnx_model *m, const char *location, tc_blob **out) {
    *out = tc_map_find(&m->external, location);
    if (*out) return NULL;
    if (!m->folder)
        return tc_status_add(tc_error(TC_CONTENT, "external data '%.200s': the model came from a pipe and has no folder", location),
                             "tc-export MODEL.onnx finds what stands beside the file, and writes a program that holds it");
    int fd = -1;
    struct stat st;
    TC_TRY(open_inside(m->folder, location, &fd));
    tc_status s = NULL;
    if (fstat(fd, &st)) s = tc_error(TC_ENV, "external data '%.200s': %s", location, strerror(errno));
    else if (!S_ISREG(st.st_mode)) s = tc_error(TC_CONTENT, "external data '%.200s' is not a regular file", location);
    else if (st.st_nlink != 1)
        s = tc_error(TC_CONTENT, "external data '%.200s' has %ld names: it may stand outside the model's folder", location, (long)st.st_nlink);
    if (!s) s = tc_blob_from_fd(fd, location, out);
    close(fd);
    if (s) return s;
    tc_map_set(&m->external, location, *out);
    return NULL;
}

/* ---- data ---- */
/* A tensor over bytes of a blob: a view if the address is aligned for the type, else a copy. */
static tc_status place_bytes(tc_blob *b, const unsigned char *p, size_t n, tc_onnx_tensor *t) {
    size_t size = tc_dtype_size(types[t->type].dtype);
    int64_t stride[TC_MAX_RANK];
    tc_storage *st;
    tc_contiguous_strides(t->rank, t->size, stride);
    if (n >= 64 && b && (uintptr_t)p % size == 0) {
        st = tc_storage_wrap((void *)(uintptr_t)p, n, tc_blob_deleter, tc_blob_retain(b));
    } else {
        TC_TRY(tc_storage_alloc(n, &st));
        tc_blob_copy(b, st->data, p, n);
    }
    tc_status s = tc_tensor_view(st, types[t->type].dtype, t->rank, t->size, stride, 0, &t->data);
    tc_storage_release(st);
    return s;
}

static int sign_extend(int v, int bits) { return v & (1 << (bits - 1)) ? v - (1 << bits) : v; }

/* Unpacks elements of 2 or 4 bits to one byte each; the first element is in the low bits. */
static tc_status unpack(const unsigned char *p, tc_onnx_tensor *t, int64_t n) {
    int bits = types[t->type].bits, per = 8 / bits;
    bool is_signed = t->type == TC_ONNX_INT4 || t->type == TC_ONNX_INT2;
    TC_TRY(tc_tensor_empty(types[t->type].dtype, t->rank, t->size, &t->data));
    unsigned char *out = tc_tensor_data(&t->data);
    for (int64_t i = 0; i < n; i++) {
        int v = (p[i / per] >> (bits * (int)(i % per))) & ((1 << bits) - 1);
        out[i] = (unsigned char)(is_signed ? sign_extend(v, bits) : v);
    }
    return NULL;
}

static tc_status from_bytes(tc_blob *b, const unsigned char *p, size_t have, tc_onnx_tensor *t, int64_t n) {
    int bits = types[t->type].bits;
    size_t want = bits < 8 ? (size_t)(n / (8 / bits) + (n % (8 / bits) != 0)) : 0;
    bool fits = bits < 8 || tc_mul_size((size_t)n, (size_t)bits / 8, &want);
    if (!fits || want != have) return tc_error(TC_CONTENT, "%zu bytes of data, expected %zu for its sizes and type", have, fits ? want : 0);
    if (bits < 8) return unpack(p, t, n);
    TC_TRY(place_bytes(b, p, have, t));
    if (t->type == TC_ONNX_BOOL)
        for (size_t i = 0; i < have; i++)
            if (p[i] > 1) return tc_error(TC_CONTENT, "byte %zu of a bool tensor is %u, expected 0 or 1", i, p[i]);
    return NULL;
}

/* int32_data, int64_data, uint64_data, float_data, double_data. */
static tc_status from_list(const proto *p, tc_onnx_tensor *t, int64_t n) {
    int bits = types[t->type].bits, words = t->type == TC_ONNX_COMPLEX64 || t->type == TC_ONNX_COMPLEX128 ? 2 : 1;
    if (types[t->type].field != p->field)
        return tc_error(TC_CONTENT, "its data are in field %d, expected %d for its type", p->field, types[t->type].field);
    if (bits < 8) { /* each number holds one byte of packed elements */
        int64_t want = n / (8 / bits) + (n % (8 / bits) != 0);
        if ((int64_t)p->list.len != want) return tc_error(TC_CONTENT, "%zu numbers, expected %lld", p->list.len, (long long)want);
        unsigned char *b = tc_xmalloc(p->list.len + 1);
        for (size_t i = 0; i < p->list.len; i++) b[i] = (unsigned char)p->list.data[i];
        tc_status s = unpack(b, t, n);
        free(b);
        return s;
    }
    if ((uint64_t)n > p->list.len || (size_t)n * (size_t)words != p->list.len)
        return tc_error(TC_CONTENT, "%zu numbers, expected %lld", p->list.len, (long long)n * words);
    TC_TRY(tc_tensor_empty(types[t->type].dtype, t->rank, t->size, &t->data));
    char *out = tc_tensor_data(&t->data);
    size_t size = (size_t)bits / 8 / (size_t)words;
    for (size_t i = 0; i < p->list.len; i++) memcpy(out + i * size, &p->list.data[i], size); /* little-endian, low bytes */
    if (t->type == TC_ONNX_BOOL)
        for (size_t i = 0; i < p->list.len; i++) out[i] = p->list.data[i] != 0;
    return NULL;
}

static tc_status from_file(tc_onnx_reader *r, const proto *p, tc_onnx_tensor *t, int64_t n) {
    tc_blob *b;
    if (!r->model) return tc_error(TC_CONTENT, "external data where none may be");
    if (!p->file) return tc_error(TC_CONTENT, "external data without a location");
    TC_TRY(external_blob(r->model, p->file, &b));
    if ((uint64_t)p->offset > b->len) return tc_error(TC_CONTENT, "%s: begins at byte %lld of %zu", b->name, (long long)p->offset, b->len);
    size_t left = b->len - (size_t)p->offset, len = left;
    int bits = types[t->type].bits;
    if (p->has_length) {
        if ((uint64_t)p->length > left)
            return tc_error(TC_CONTENT, "%s: %lld bytes at byte %lld of %zu", b->name, (long long)p->length, (long long)p->offset, b->len);
        len = (size_t)p->length;
    } else {
        size_t want;
        if (tc_mul_size((size_t)n, (size_t)bits, &want) && want / 8 + (want % 8 != 0) <= left) len = want / 8 + (want % 8 != 0);
    }
    return tc_annotate(from_bytes(b, b->data + p->offset, len, t, n), "%s", b->name);
}

static tc_status finish(tc_onnx_reader *r, proto *p, tc_onnx_tensor *t) {
    if (p->type <= 0 || p->type >= TC_ONNX_TYPES)
        return tc_error(p->type ? TC_UNSUPPORTED : TC_CONTENT, "element type %lld is none of ONNX's", (long long)p->type);
    t->type = (int)p->type;
    int64_t n = numel(t);
    if (n < 0) return tc_error(TC_CONTENT, "its sizes multiply to more than 2^63");
    if (p->has_segment) return tc_error(TC_UNSUPPORTED, "a tensor in segments");
    if (p->location > 1 || p->location < 0) return tc_error(TC_CONTENT, "data location %lld", (long long)p->location);
    if (t->type == TC_ONNX_STRING) {
        if ((uint64_t)n != p->strings.len || p->raw) return tc_error(TC_CONTENT, "%zu strings, expected %lld", p->strings.len, (long long)n);
        t->nstrings = p->strings.len;
        t->strings = tc_arena_dup(r->arena, p->strings.len ? (const void *)p->strings.data : "", p->strings.len * sizeof *t->strings);
        return NULL;
    }
    if (p->strings.len) return tc_error(TC_CONTENT, "strings in a tensor of another type");
    if (p->location == 1) return from_file(r, p, t, n);
    if (p->raw && p->list.len) return tc_error(TC_CONTENT, "raw data and numbers in one tensor");
    if (p->list.len) return from_list(p, t, n);
    return from_bytes(r->blob, p->raw ? p->raw : (const unsigned char *)"", p->nraw, t, n);
}

void tc_onnx_tensor_fields(tc_onnx_reader *r, tc_pb *s, tc_onnx_tensor *out) {
    proto p = {0};
    *out = (tc_onnx_tensor){.name = ""};
    while (tc_pb_next(s)) switch (s->field) {
        case 1: read_dims(s, out); break;
        case 2: p.type = tc_pb_int(s); break;
        case 3: p.has_segment = true; break;
        case 4: read_list(s, &p, 4); break;
        case 5:
        case 7:
        case 11: read_list(s, &p, 0); break;
        case 10: read_list(s, &p, 8); break;
        case 6: {
            const char *text = tc_onnx_string(r, s);
            tc_vec_push(&p.strings, text);
            break;
        }
        case 8: out->name = tc_onnx_string(r, s); break;
        case 9: {
            const char *raw;
            if (tc_pb_bytes(s, &raw, &p.nraw)) p.raw = (const unsigned char *)raw;
            break;
        }
        case 13: read_external(r, s, &p); break;
        case 14: p.location = tc_pb_int(s); break;
        default: break;
        }
    if (!s->status) {
        tc_status st = finish(r, &p, out);
        if (st) {
            tc_pb_fail(s, tc_status_code(st), "tensor %.80s: %s", out->name, tc_status_message(st));
            tc_status_free(st);
        }
    }
    if (s->status) tc_tensor_deinit(&out->data);
    tc_vec_free(&p.list);
    tc_vec_free(&p.strings);
}

void tc_onnx_tensor_read(tc_onnx_reader *r, tc_pb *m, tc_onnx_tensor *out) {
    tc_pb s = tc_pb_message(m);
    tc_onnx_tensor_fields(r, &s, out);
    tc_pb_close(m, &s);
}

/* ---- sparse ---- */
enum { MAX_DENSE = 1 << 28 }; /* the largest dense form of a sparse tensor, in bytes */

static tc_status densify(const tc_onnx_tensor *values, const tc_onnx_tensor *indices, tc_onnx_tensor *out) {
    int64_t n = numel(out), nnz = values->rank == 1 ? values->size[0] : -1;
    size_t size, bytes;
    if (!values->data.storage || !indices->data.storage || indices->type != TC_ONNX_INT64 || nnz < 0)
        return tc_error(TC_CONTENT, "expected values of rank 1 and int64 indices");
    bool linear = indices->rank == 1;
    if (indices->size[0] != nnz || (!linear && (indices->rank != 2 || indices->size[1] != out->rank)))
        return tc_error(TC_CONTENT, "its indices do not fit %lld values of rank %d", (long long)nnz, out->rank);
    size = tc_dtype_size(values->data.dtype);
    if (n < 0 || !tc_mul_size((size_t)n, size, &bytes) || bytes > MAX_DENSE)
        return tc_error(TC_CONTENT, "a sparse tensor of more than %d bytes", MAX_DENSE);
    TC_TRY(tc_tensor_empty(values->data.dtype, out->rank, out->size, &out->data));
    memset(tc_tensor_data(&out->data), 0, bytes);
    const int64_t *at = tc_tensor_data(&indices->data);
    for (int64_t i = 0; i < nnz; i++) {
        int64_t k = 0;
        if (linear) k = at[i];
        else
            for (int d = 0; d < out->rank; d++) {
                int64_t x = at[i * out->rank + d];
                if (x < 0 || x >= out->size[d])
                    return tc_error(TC_CONTENT, "index %lld is outside of size %lld", (long long)x, (long long)out->size[d]);
                k = k * out->size[d] + x;
            }
        if (k < 0 || k >= n) return tc_error(TC_CONTENT, "index %lld is outside of %lld elements", (long long)k, (long long)n);
        memcpy((char *)tc_tensor_data(&out->data) + (size_t)k * size, (const char *)tc_tensor_data(&values->data) + (size_t)i * size, size);
    }
    return NULL;
}

void tc_onnx_sparse_read(tc_onnx_reader *r, tc_pb *m, tc_onnx_tensor *out) {
    tc_pb s = tc_pb_message(m);
    tc_onnx_tensor values = {.name = ""}, indices = {.name = ""};
    *out = (tc_onnx_tensor){.name = ""};
    bool has_values = false, has_indices = false;
    while (tc_pb_next(&s)) switch (s.field) {
        case 1:
            if (has_values) tc_pb_fail(&s, TC_CONTENT, "a sparse tensor has its values twice");
            else tc_onnx_tensor_read(r, &s, &values), has_values = true;
            break;
        case 2:
            if (has_indices) tc_pb_fail(&s, TC_CONTENT, "a sparse tensor has its indices twice");
            else tc_onnx_tensor_read(r, &s, &indices), has_indices = true;
            break;
        case 3: read_dims(&s, out); break;
        default: break;
        }
    out->name = values.name, out->type = values.type;
    if (!s.status) {
        tc_status st = densify(&values, &indices, out);
        if (st) {
            tc_pb_fail(&s, tc_status_code(st), "sparse tensor %.80s: %s", out->name, tc_status_message(st));
            tc_status_free(st);
        }
    }
    if (s.status) tc_tensor_deinit(&out->data);
    tc_tensor_deinit(&values.data);
    tc_tensor_deinit(&indices.data);
    tc_pb_close(m, &s);
}
