/* IDX files (the MNIST family): 0 0 TYPE RANK, sizes as big-endian u32, then the elements, big-endian.
 * Each file of `idx: {x: FILE, y: FILE}` is a column; integer files of rank 1 are labels and become int64. */
#include "data/data.h"

static const struct {
    unsigned char code;
    tc_dtype dtype;
} types[] = {{0x08, TC_U8}, {0x09, TC_I8}, {0x0b, TC_I16}, {0x0c, TC_I32}, {0x0d, TC_F32}, {0x0e, TC_F64}};

static void swap_elements(void *data, size_t size, int64_t n) {
    unsigned char *p = data;
    for (int64_t i = 0; i < n && size > 1; i++, p += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            unsigned char t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

static tc_status parse(const char *name, const tc_buf *b, tc_tensor *out) {
    const unsigned char *p = (const unsigned char *)b->data;
    if (b->len < 4) return tc_error(TC_CONTENT, "%s: not an IDX file: %zu bytes, expected a header", name, b->len);
    if (p[0] || p[1]) return tc_error(TC_CONTENT, "%s: not an IDX file: begins with %02x %02x, expected 00 00", name, p[0], p[1]);
    tc_dtype dtype = TC_DTYPE_NONE;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == p[2]) dtype = types[i].dtype;
    if (dtype == TC_DTYPE_NONE) return tc_error(TC_CONTENT, "%s: IDX type 0x%02x is not known", name, p[2]);
    int rank = p[3];
    if (rank < 1 || rank > 8 || b->len < 4 + 4 * (size_t)rank)
        return tc_error(TC_CONTENT, "%s: an IDX header of rank %d in %zu bytes", name, rank, b->len);
    int64_t size[TC_MAX_RANK], bytes = (int64_t)tc_dtype_size(dtype);
    bool fits = true;
    for (int i = 0; i < rank; i++) {
        const unsigned char *q = p + 4 + 4 * i;
        size[i] = (int64_t)q[0] << 24 | q[1] << 16 | q[2] << 8 | q[3];
        fits = fits && tc_mul_i64(bytes, size[i], &bytes);
    }
    size_t head = 4 + 4 * (size_t)rank;
    if (!fits || (uint64_t)bytes != b->len - head)
        return tc_error(TC_CONTENT, "%s: %zu bytes of data, expected %lld", name, b->len - head, (long long)(fits ? bytes : -1));
    TC_TRY(tc_tensor_empty(dtype, rank, size, out));
    if (bytes) memcpy(tc_tensor_data(out), p + head, (size_t)bytes);
    swap_elements(tc_tensor_data(out), tc_dtype_size(dtype), bytes / (int64_t)tc_dtype_size(dtype));
    return NULL;
}

/* Keeps the rows that belong to the set. */
static void select_rows(const tc_data_spec *s, tc_tensor *t) {
    if (!s->rows || !t->size[0]) return;
    size_t row = tc_tensor_bytes(t) / (size_t)t->size[0];
    char *p = tc_tensor_data(t);
    int64_t kept = 0;
    for (int64_t i = 0; i < t->size[0]; i++)
        if (tc_data_takes(s, i)) memmove(p + (size_t)kept++ * row, p + (size_t)i * row, row);
    t->size[0] = kept;
}

tc_status tc_data_read_idx(tc_dataset *d, const tc_data_spec *s) {
    if (s->idx->kind != TC_YAML_MAP || !s->idx->n || s->idx->n > TC_DATA_MAX_COLUMNS) return tc_yaml_error(s->idx, "expected {NAME: FILE, ...}");
    d->kind = TC_DATA_TABLE;
    int64_t whole = 0; /* samples of the file, of which rows and limit take a part */
    for (int i = 0; i < s->idx->n; i++) {
        const char *file;
        TC_TRY(tc_yaml_string(s->idx->items[i], &file));
        tc_buf b = {0};
        TC_TRY(tc_data_load(s, file, &b));
        tc_tensor t = {0};
        tc_status st = parse(file, &b, &t);
        tc_buf_free(&b);
        if (!st && t.rank == 1 && tc_is_integral(t.dtype)) {
            tc_tensor labels;
            st = tc_tensor_cast(&t, TC_I64, &labels);
            tc_tensor_deinit(&t);
            if (!st) t = labels;
        }
        if (st) return st;
        const int64_t found = t.size[0];
        select_rows(s, &t);
        if (s->limit && s->limit < t.size[0]) t.size[0] = s->limit;
        d->col[i].name = tc_arena_strdup(&d->arena, s->idx->keys[i]);
        d->col[i].data = t;
        d->ncols = i + 1;
        if (i && found != whole)
            return tc_error(TC_CONTENT, "%s: %lld samples, expected %lld as in the columns before", file, (long long)found, (long long)whole);
        whole = found;
        d->count = t.size[0];
    }
    return NULL;
}
