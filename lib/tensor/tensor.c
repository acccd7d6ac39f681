/* Strided views of storage: making, sharing, copying, casting. */
#include "tensor/tensor.h"

#include "tensor/convert.h"

void tc_contiguous_strides(int rank, const int64_t *size, int64_t *out_stride) {
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        out_stride[d] = step;
        if (size[d] > 1 && !tc_mul_i64(step, size[d], &step)) step = INT64_MAX;
    }
}

static tc_status count_elements(tc_dtype dtype, int rank, const int64_t *size, int64_t *out_count, size_t *out_bytes) {
    if (rank < 0 || rank > TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "a tensor of %d dimensions: tc has at most %d", rank, TC_MAX_RANK);
    int64_t n = 1, bytes, padded = 1;
    for (int d = 0; d < rank; d++) {
        if (size[d] < 0) return tc_error(TC_CONTENT, "dimension %d of a tensor has size %lld", d, (long long)size[d]);
        /* strides must not overflow either, even where another dimension is 0 */
        if (!tc_mul_i64(padded, size[d] > 1 ? size[d] : 1, &padded)) return tc_error(TC_CONTENT, "the sizes of a tensor overflow");
    }
    for (int d = 0; d < rank; d++) n *= size[d];
    if (!tc_mul_i64(padded, (int64_t)tc_dtypes[dtype].size, &bytes)) return tc_error(TC_CONTENT, "the sizes of a tensor overflow");
    *out_count = n;
    *out_bytes = (size_t)n * tc_dtypes[dtype].size;
    return NULL;
}

static void set_shape(tc_tensor *t, tc_dtype dtype, int rank, const int64_t *size) {
    *t = (tc_tensor){.dtype = dtype, .rank = rank};
    if (rank) memcpy(t->size, size, (size_t)rank * sizeof *size);
    tc_contiguous_strides(rank, size, t->stride);
}

static tc_status in_own_memory(tc_status (*alloc)(size_t, tc_storage **), tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out) {
    int64_t n;
    size_t bytes;
    tc_storage *s;
    TC_TRY(count_elements(dtype, rank, size, &n, &bytes));
    TC_TRY(alloc(bytes, &s));
    set_shape(out, dtype, rank, size);
    out->storage = s;
    return NULL;
}
tc_status tc_tensor_empty(tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out) {
    return in_own_memory(tc_storage_alloc, dtype, rank, size, out);
}
tc_status tc_tensor_zeros(tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out) {
    return in_own_memory(tc_storage_zeros, dtype, rank, size, out);
}

tc_status tc_tensor_view(tc_storage *s, tc_dtype dtype, int rank, const int64_t *size, const int64_t *stride, int64_t offset, tc_tensor *out) {
    int64_t n, last = offset, step;
    size_t bytes;
    TC_TRY(count_elements(dtype, rank, size, &n, &bytes));
    if (offset < 0) return tc_error(TC_CONTENT, "a tensor begins at element %lld of its storage", (long long)offset);
    for (int d = 0; d < rank; d++) {
        if (stride[d] < 0) return tc_error(TC_CONTENT, "dimension %d of a tensor has stride %lld", d, (long long)stride[d]);
        if (size[d] > 1 && (!tc_mul_i64(size[d] - 1, stride[d], &step) || !tc_add_i64(last, step, &last)))
            return tc_error(TC_CONTENT, "the strides of a tensor overflow");
    }
    int64_t room = (int64_t)(s->bytes / tc_dtypes[dtype].size);
    if (n ? last >= room : offset > room)
        return tc_error(TC_CONTENT, "a tensor reaches element %lld of a storage of %lld elements", (long long)last, (long long)room);
    set_shape(out, dtype, rank, size);
    if (rank) memcpy(out->stride, stride, (size_t)rank * sizeof *stride);
    out->offset = offset;
    out->storage = tc_storage_retain(s);
    return NULL;
}

tc_status tc_tensor_scalar(tc_dtype dtype, tc_scalar v, tc_tensor *out) {
    TC_TRY(tc_tensor_empty(dtype, 0, NULL, out));
    tc_scalar_store(dtype, tc_tensor_data(out), 0, v);
    return NULL;
}

tc_tensor tc_tensor_share(const tc_tensor *t) {
    if (t->storage) tc_storage_retain(t->storage);
    return *t;
}

void tc_tensor_deinit(tc_tensor *t) {
    tc_storage_release(t->storage);
    *t = (tc_tensor){0};
}

int64_t tc_tensor_numel(const tc_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->size[d];
    return n;
}

size_t tc_tensor_bytes(const tc_tensor *t) { return (size_t)tc_tensor_numel(t) * tc_dtypes[t->dtype].size; }
size_t tc_tensor_span(const tc_tensor *t) {
    if (!tc_tensor_numel(t)) return 0;
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) last += (t->size[d] - 1) * t->stride[d];
    return (size_t)(last + 1) * tc_dtypes[t->dtype].size;
}

bool tc_tensor_is_contiguous(const tc_tensor *t) {
    int64_t step = 1;
    if (tc_tensor_numel(t) == 0) return true;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->size[d] == 1) continue;
        if (t->stride[d] != step) return false;
        step *= t->size[d];
    }
    return true;
}

void tc_channels_last_strides(int rank, const int64_t *size, int64_t *out_stride) {
    int64_t step = size[1] > 1 ? size[1] : 1;
    out_stride[1] = 1;
    for (int d = rank - 1; d >= 0; d--) {
        if (d == 1) continue;
        out_stride[d] = step;
        if (size[d] > 1 && !tc_mul_i64(step, size[d], &step)) step = INT64_MAX;
    }
}

bool tc_tensor_is_channels_last(const tc_tensor *t) {
    int64_t want[TC_MAX_RANK];
    if (t->rank < 3 || t->rank > 5) return false;
    if (tc_tensor_numel(t) == 0) return true;
    tc_channels_last_strides(t->rank, t->size, want);
    for (int d = 0; d < t->rank; d++)
        if (t->size[d] != 1 && t->stride[d] != want[d]) return false;
    return true;
}

/* ---- copying: rows of the last dimension, the others counted like an odometer ---- */
void tc_repeat_element(void *data, size_t size, int64_t n) {
    char *p = data;
    for (int64_t have = 1, more; have < n; have += more) {
        more = have < n - have ? have : n - have;
        memcpy(p + (size_t)have * size, p, (size_t)more * size);
    }
}

static void gather_row(char *dst, const char *src, int64_t n, int64_t stride, size_t size) {
    if (stride == 0) {
        memcpy(dst, src, size);
        tc_repeat_element(dst, size, n);
        return;
    }
    if (stride == 1) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    size_t step = (size_t)stride * size;
#define GATHER(bytes)                                                                                   \
    case bytes:                                                                                         \
        for (int64_t i = 0; i < n; i++) memcpy(dst + (size_t)i * bytes, src + (size_t)i * step, bytes); \
        return;
    switch (size) { GATHER(1) GATHER(2) GATHER(4) GATHER(8) GATHER(16) default : TC_BUG("element of %zu bytes", size); }
}

void tc_tensor_pack(const tc_tensor *t, void *to) {
    char *dst = to;
    size_t size = tc_dtypes[t->dtype].size, bytes = tc_tensor_bytes(t);
    const char *base = tc_tensor_data(t);
    if (!bytes) return;
    if (tc_tensor_is_contiguous(t)) {
        memcpy(dst, base, bytes);
        return;
    }
    int last = t->rank - 1;
    int64_t at[TC_MAX_RANK] = {0}, offset = 0, n = t->size[last];
    for (char *end = dst + bytes; dst < end; dst += (size_t)n * size) {
        gather_row(dst, base + offset * (int64_t)size, n, t->stride[last], size);
        for (int d = last - 1; d >= 0; d--) {
            offset += t->stride[d];
            if (++at[d] < t->size[d]) break;
            offset -= at[d] * t->stride[d];
            at[d] = 0;
        }
    }
}

tc_status tc_tensor_clone(const tc_tensor *t, tc_tensor *out) {
    tc_tensor c;
    TC_TRY(tc_tensor_empty(t->dtype, t->rank, t->size, &c));
    tc_tensor_pack(t, tc_tensor_data(&c));
    *out = c;
    return NULL;
}

tc_status tc_tensor_contiguous(const tc_tensor *t, tc_tensor *out) {
    if (!tc_tensor_is_contiguous(t)) return tc_tensor_clone(t, out);
    *out = tc_tensor_share(t);
    tc_contiguous_strides(t->rank, t->size, out->stride);
    return NULL;
}

tc_status tc_tensor_cast(const tc_tensor *t, tc_dtype dtype, tc_tensor *out) {
    tc_tensor packed, c;
    if (dtype == t->dtype) return tc_tensor_clone(t, out);
    TC_TRY(tc_tensor_contiguous(t, &packed));
    tc_status st = tc_tensor_empty(dtype, t->rank, t->size, &c);
    if (!st) {
        tc_convert(dtype, tc_tensor_data(&c), t->dtype, tc_tensor_data(&packed), (size_t)tc_tensor_numel(t));
        *out = c;
    }
    tc_tensor_deinit(&packed);
    return st;
}

void tc_tensor_print_type(tc_buf *b, const tc_tensor *t) {
    for (int d = 0; d < t->rank; d++) tc_buf_printf(b, "%lldx", (long long)t->size[d]);
    tc_buf_puts(b, tc_dtypes[t->dtype].name);
}
