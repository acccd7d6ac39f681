/* Reading safetensors.
 *
 *     u64 N   {"__metadata__": {...}, "fc.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}   bytes */
#include "file/safetensors.h"

#include "base/json.h"

#include <stdio.h>

enum { MAX_HEADER = 100 << 20 };

typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    int64_t size[TC_MAX_RANK];
    int64_t begin, end;
    int64_t wide_count; /* product of the sizes beyond TC_MAX_RANK dimensions */
} entry;
typedef struct {
    TC_VEC(entry) entries;
    tc_arena arena;
} header;

/* Types of the format that tc lacks, and unknown ones. */
static void refuse_type(tc_jread *j, const char *name, const char *type) {
    static const char *const lacking[] = {"F4", "F6_E2M3", "F6_E3M2"};
    bool known = false;
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) known = known || !strcmp(type, lacking[i]);
    if (known) tc_jr_fail(j, TC_UNSUPPORTED, "%s has element type %s, which is not supported", name, type);
    else tc_jr_fail(j, TC_CONTENT, "%s has element type %s: there is no such type", name, type);
}

static void read_entry(tc_jread *j, entry *e) {
    char dtype[24] = "";
    int offsets = 0, rank = -1;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if ((tc_str_is(key, "dtype") && *dtype) || (tc_str_is(key, "shape") && rank >= 0)) {
            tc_jr_fail(j, TC_CONTENT, "%s: its %.*s stands twice", e->name, (int)key.n, key.s);
        } else if (tc_str_is(key, "dtype")) {
            tc_str s = tc_jr_string(j);
            e->dtype = tc_dtype_from_safetensors(s.s, s.n);
            snprintf(dtype, sizeof dtype, "%.*s", (int)(s.n < 20 ? s.n : 20), s.s);
            if (e->dtype == TC_DTYPE_NONE) refuse_type(j, e->name, dtype);
        } else if (tc_str_is(key, "shape")) {
            rank = 0;
            for (tc_jr_array(j); tc_jr_item(j); rank++) {
                int64_t n = tc_jr_int(j);
                if (n < 0) tc_jr_fail(j, TC_CONTENT, "%s has a size of %lld", e->name, (long long)n);
                if (rank < TC_MAX_RANK) e->size[rank] = n;
                else if (n > 1) e->wide_count = tc_mul_i64(e->wide_count, n, &e->wide_count) ? e->wide_count : INT64_MAX;
                else if (n == 0) e->wide_count = 0;
            }
        } else if (tc_str_is(key, "data_offsets")) {
            for (tc_jr_array(j); tc_jr_item(j); offsets++) *(offsets ? &e->end : &e->begin) = tc_jr_int(j);
        } else {
            tc_jr_skip(j); /* as the format's own library does */
        }
    }
    if (!tc_jr_ok(j)) return;
    if (!*dtype || rank < 0 || offsets != 2) {
        tc_jr_fail(j, TC_CONTENT, "%s lacks dtype, shape or data_offsets", e->name);
        return;
    }
    e->rank = rank;
    int64_t bytes = (int64_t)tc_dtype_size(e->dtype);
    bool fits = true, empty = false;
    if (rank > TC_MAX_RANK) { /* sizes beyond TC_MAX_RANK were only counted */
        empty = e->wide_count == 0;
        fits = tc_mul_i64(bytes, empty ? 1 : e->wide_count, &bytes);
    }
    for (int d = 0; d < rank && d < TC_MAX_RANK; d++) {
        empty = empty || e->size[d] == 0;
        fits = fits && tc_mul_i64(bytes, e->size[d] ? e->size[d] : 1, &bytes);
    }
    if (!fits) tc_jr_fail(j, TC_CONTENT, "the sizes of %s overflow", e->name);
    else if (e->begin < 0 || e->end < e->begin || e->end - e->begin != (empty ? 0 : bytes))
        tc_jr_fail(j, TC_CONTENT, "%s: data_offsets [%lld, %lld] for %lld bytes", e->name, (long long)e->begin, (long long)e->end,
                   (long long)(empty ? 0 : bytes));
}

static void read_header(tc_jread *j, header *h, tc_tensors *out) {
    bool metadata = false;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "__metadata__")) {
            if (metadata) tc_jr_fail(j, TC_CONTENT, "__metadata__ stands twice");
            metadata = true;
            if (tc_jr_null(j)) continue;
            tc_jr_object(j);
            for (tc_str k; tc_jr_member(j, &k);) {
                char *name = tc_arena_strndup(&h->arena, k.s, k.n);
                tc_jr_peek(j);
                char *value = tc_jr_strdup(j, &h->arena);
                if (tc_jr_ok(j)) tc_tensors_add_metadata(out, name, value);
            }
            continue;
        }
        entry e = {.name = tc_arena_strndup(&h->arena, key.s, key.n), .wide_count = 1};
        read_entry(j, &e);
        tc_vec_push(&h->entries, e);
    }
}

static int by_offset(const void *a, const void *b) {
    const entry *x = *(const entry *const *)a, *y = *(const entry *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The format requires that tensors cover the data from offset 0, each byte once. */
static tc_status check_cover(const tc_source_bytes *s, header *h, int64_t *out_bytes) {
    const entry **order = TC_NEWN(&h->arena, const entry *, h->entries.len + 1);
    int64_t at = 0;
    for (size_t i = 0; i < h->entries.len; i++) order[i] = &h->entries.data[i];
    qsort(order, h->entries.len, sizeof *order, by_offset);
    for (size_t i = 0; i < h->entries.len; i++) {
        if (order[i]->begin != at)
            return tc_source_error(s, TC_CONTENT, "%s begins at byte %lld of the data, expected %lld: tensors overlap or leave a hole",
                                   order[i]->name, (long long)order[i]->begin, (long long)at);
        at = order[i]->end;
    }
    *out_bytes = at;
    return NULL;
}

/* PyTorch's operators allow 64 dimensions, tc's TC_MAX_RANK. */
static tc_status too_wide(const entry *e) {
    if (e->rank > 64) return tc_error(TC_CONTENT, "%s has %d dimensions: only tensors with up to 64 dims are supported", e->name, e->rank);
    return tc_error(TC_UNSUPPORTED, "%s has %d dimensions, more than %d", e->name, e->rank, TC_MAX_RANK);
}

/* raw: a mapped file, or NULL. With raw the tensor is a view even if the file does not align it. */
static tc_status make_tensor(tc_storage *data, const entry *e, tc_blob *raw, tc_tensor *out) {
    int64_t stride[TC_MAX_RANK];
    size_t size = tc_dtype_size(e->dtype);
    tc_contiguous_strides(e->rank, e->size, stride);
    if (raw && e->end > e->begin) {
        tc_storage *part = tc_storage_wrap((char *)data->data + e->begin, (size_t)(e->end - e->begin), tc_blob_deleter, tc_blob_retain(raw));
        part->read_only = true;
        tc_status st = tc_tensor_view(part, e->dtype, e->rank, e->size, stride, 0, out);
        tc_storage_release(part);
        return st;
    }
    const char *from = (char *)data->data + e->begin;
    bool ready = (uintptr_t)from % size == 0 && (size_t)e->begin % size == 0;
    if (ready && (e->dtype != TC_BOOL || tc_are_bools(from, (size_t)(e->end - e->begin))))
        return tc_tensor_view(data, e->dtype, e->rank, e->size, stride, e->begin / (int64_t)size, out);
    TC_TRY(tc_tensor_empty(e->dtype, e->rank, e->size, out));
    tc_blob_copy(data->deleter == tc_blob_deleter ? data->ctx : NULL, tc_tensor_data(out), from, (size_t)(e->end - e->begin));
    return e->dtype == TC_BOOL ? tc_storage_bools(&out->storage) : NULL;
}

static tc_status read_file(tc_source_bytes *s, header *h, tc_tensors *out) {
    const unsigned char *p;
    uint64_t n;
    int64_t bytes = 0;
    tc_jread j;
    tc_storage *data;
    TC_TRY(tc_source_take(s, 8, "the length of a safetensors header", &p));
    memcpy(&n, p, 8);
    if (n > MAX_HEADER) return tc_source_error(s, TC_CONTENT, "a safetensors header of %llu bytes", (unsigned long long)n);
    TC_TRY(tc_source_take(s, n, "the safetensors header", &p));
    tc_jr_init(&j, s->name, (const char *)p, n);
    read_header(&j, h, out);
    TC_TRY(tc_jr_finish(&j), "in the safetensors header");
    TC_TRY(check_cover(s, h, &bytes));
    TC_TRY(tc_source_take_storage(s, (size_t)bytes, 1, "the data of the tensors", &data));
    tc_status st = NULL;
    for (size_t i = 0; !st && i < h->entries.len; i++) {
        tc_tensor t;
        bool wide = h->entries.data[i].rank > TC_MAX_RANK;
        if (wide && out->leave_wide) continue;
        st = wide ? too_wide(&h->entries.data[i]) : make_tensor(data, &h->entries.data[i], out->raw ? s->blob : NULL, &t);
        if (!st) st = tc_tensors_add(out, h->entries.data[i].name, t);
    }
    tc_storage_release(data);
    return st ? tc_annotate(st, "%s", s->name) : NULL;
}

tc_status tc_safetensors_read(tc_source_bytes *s, tc_tensors *out) {
    header h = {0};
    out->format = "safetensors";
    tc_status st = read_file(s, &h, out);
    tc_vec_free(&h.entries);
    tc_arena_free(&h.arena);
    return st;
}
