/* Opens a data set from the recipe's keys and gathers batches (data.h). */
#include "data/data.h"

#include "base/file.h"

#include <stdio.h>
#include <zlib.h>

/* ---- the recipe's keys ---- */

static const tc_yaml_field fields[] = {
    {"train", TC_Y_NODE, offsetof(tc_data_spec, part)},                /* keys of the training data alone */
    {"val", TC_Y_NODE, offsetof(tc_data_spec, part)},                  /* ... and of validation */
    {"idx", TC_Y_NODE, offsetof(tc_data_spec, idx)},                   /* {x: FILE, y: FILE}: IDX files, gzip or not */
    {"text", TC_Y_STRING, offsetof(tc_data_spec, text)},               /* text file; windows of `block` tokens */
    {"names", TC_Y_STRING, offsetof(tc_data_spec, names)},             /* words, one per line */
    {"csv", TC_Y_STRING, offsetof(tc_data_spec, csv)},                 /* comma-separated table with a header line */
    {"safetensors", TC_Y_STRING, offsetof(tc_data_spec, safetensors)}, /* tensors by key */
    {"images", TC_Y_STRING, offsetof(tc_data_spec, images)},           /* folder with one subfolder of images per class, or a list of FILE LABEL */
    {"size", TC_Y_NODE, offsetof(tc_data_spec, size)}, /* images: [HEIGHT, WIDTH] to which others are resampled; default: the size of the first */
    {"channels", TC_Y_INT, offsetof(tc_data_spec, channels)}, /* images: 1 grey, 3 colour (the default), 2 or 4 with opacity */
    {"as", TC_Y_STRING, offsetof(tc_data_spec, as)},          /* text: bytes, or chars (those present, sorted) */
    {"block", TC_Y_INT, offsetof(tc_data_spec, block)},       /* text: tokens of a window */
    {"context", TC_Y_INT, offsetof(tc_data_spec, context)},   /* names: characters of a window */
    {"pad", TC_Y_INT, offsetof(tc_data_spec, pad)},           /* names: whole words; y has this value after the end */
    {"range", TC_Y_NODE, offsetof(tc_data_spec, range)},      /* text: [from, to] as parts of the whole */
    {"rows", TC_Y_NODE, offsetof(tc_data_spec, rows)},        /* {every: N, only: K} or {every: N, except: K} */
    {"order", TC_Y_STRING, offsetof(tc_data_spec, order)},    /* shuffle, random, sequential or weighted */
    {"weights", TC_Y_NODE, offsetof(tc_data_spec, weights)},  /* order: weighted: FILE, a list, {COLUMN: [W, ...]} by class or {COLUMN: balanced} */
    {"num_samples", TC_Y_INT, offsetof(tc_data_spec, num_samples)},      /* order: weighted: samples of an epoch; default: as many as there are */
    {"replacement", TC_Y_BOOL, offsetof(tc_data_spec, replacement)},     /* order: weighted: false draws no sample twice in an epoch */
    {"workers", TC_Y_INT, offsetof(tc_data_spec, workers)},              /* threads that prepare batches ahead of the step, and of validation */
    {"prefetch", TC_Y_INT, offsetof(tc_data_spec, prefetch)},            /* how many batches each of them prepares ahead */
    {"in_order", TC_Y_BOOL, offsetof(tc_data_spec, in_order)},           /* false: batches are taken as they become ready, in any order */
    {"limit", TC_Y_INT, offsetof(tc_data_spec, limit)},                  /* at most that many samples */
    {"normalize", TC_Y_NODE, offsetof(tc_data_spec, normalize)},         /* {x: {divide: 255, mean: M, std: S}} */
    {"shape", TC_Y_NODE, offsetof(tc_data_spec, shape)},                 /* {x: [1, 28, 28]}: of one sample */
    {"columns", TC_Y_NODE, offsetof(tc_data_spec, columns)},             /* csv: the columns of x; {NAME: [CATEGORY, ...]} is one-hot */
    {"target", TC_Y_STRING, offsetof(tc_data_spec, target)},             /* csv: the column of y */
    {"target_scale", TC_Y_DOUBLE, offsetof(tc_data_spec, target_scale)}, /* csv: y is divided by it */
    {"standardize", TC_Y_BOOL, offsetof(tc_data_spec, standardize)},     /* csv: by mean and deviation of the training rows */
    {"batches", TC_Y_BOOL, offsetof(tc_data_spec, batches)},             /* safetensors: the leading dimension counts micro-batches */
    {0},
};

static const tc_yaml_field *const part_fields = fields + 2; /* without train and val */

tc_status tc_data_check(const tc_yaml *data) {
    tc_data_spec unused = {0};
    return tc_yaml_read(data, fields, &unused);
}

tc_yaml *tc_data_merge(tc_arena *a, const tc_yaml *data, const char *part) {
    const tc_yaml *over = tc_yaml_get(data, part);
    if (tc_yaml_is_null(over)) over = NULL;
    if (!over && strcmp(part, "train")) return NULL;
    int extra = over && over->kind == TC_YAML_MAP ? over->n : 0;
    tc_yaml *m = TC_NEW(a, tc_yaml);
    *m = over ? *over : *data;
    m->kind = TC_YAML_MAP;
    m->n = 0;
    m->items = TC_NEWN(a, tc_yaml *, (size_t)(data->n + extra));
    m->keys = TC_NEWN(a, const char *, (size_t)(data->n + extra));
    m->key_lines = TC_NEWN(a, int, (size_t)(data->n + extra));
    for (int pass = 0; pass < 2; pass++) {
        const tc_yaml *from = pass ? over : data;
        for (int i = 0; from && from->kind == TC_YAML_MAP && i < from->n; i++) {
            bool set = !pass && (!strcmp(from->keys[i], "train") || !strcmp(from->keys[i], "val"));
            if (set || (!pass && over && tc_yaml_get(over, from->keys[i]))) continue;
            m->items[m->n] = from->items[i];
            m->keys[m->n] = from->keys[i];
            m->key_lines[m->n++] = from->key_lines[i];
        }
    }
    return m;
}

static tc_status check_rows(const tc_data_spec *s) {
    if (!s->rows) return NULL;
    static const char *const keys[] = {"every", "only", "except"};
    int64_t v;
    for (int i = 0; i < s->rows->n; i++) {
        bool known = false;
        for (int k = 0; k < 3; k++) known |= s->rows->kind == TC_YAML_MAP && !strcmp(s->rows->keys[i], keys[k]);
        if (!known) return tc_yaml_error(s->rows, "expected {every: N, only: K} or {every: N, except: K}");
        TC_TRY(tc_yaml_int(s->rows->items[i], &v));
        if (!strcmp(s->rows->keys[i], "every") && v < 1) return tc_yaml_error(s->rows->items[i], "found %lld, expected 1 or more", (long long)v);
    }
    const tc_yaml *every = tc_yaml_get(s->rows, "every"), *only = tc_yaml_get(s->rows, "only"), *except = tc_yaml_get(s->rows, "except");
    if (!every || !only == !except) return tc_yaml_error(s->rows, "expected {every: N, only: K} or {every: N, except: K}");
    int64_t n, k;
    TC_TRY(tc_yaml_int(every, &n));
    TC_TRY(tc_yaml_int(only ? only : except, &k));
    if (k < 0 || k >= n) return tc_yaml_error(only ? only : except, "found %lld, expected 0 to %lld", (long long)k, (long long)n - 1);
    return NULL;
}

bool tc_data_takes(const tc_data_spec *s, int64_t i) {
    if (!s->rows) return true;
    int64_t every = 1, k = 0;
    const tc_yaml *only = tc_yaml_get(s->rows, "only"), *except = tc_yaml_get(s->rows, "except");
    tc_status_free(tc_yaml_int(tc_yaml_get(s->rows, "every"), &every)); /* checked by check_rows */
    tc_status_free(tc_yaml_int(only ? only : except, &k));
    return (i % every == k) == (only != NULL);
}

static tc_status read_normalize(tc_dataset *d, const tc_data_spec *s) {
    static const tc_yaml_field parts[] = {{"divide", TC_Y_DOUBLE, offsetof(tc_column, divide)},
                                          {"mean", TC_Y_DOUBLE, offsetof(tc_column, mean)},
                                          {"std", TC_Y_DOUBLE, offsetof(tc_column, std)},
                                          {0}};
    for (int i = 0; s->normalize && i < s->normalize->n; i++) {
        if (s->normalize->kind != TC_YAML_MAP) return tc_yaml_error(s->normalize, "expected {COLUMN: {divide: 255, mean: M, std: S}}");
        int c = tc_data_find(d, s->normalize->keys[i]);
        if (c < 0) return tc_yaml_error(s->normalize->items[i], "no column '%s' in the data", s->normalize->keys[i]);
        tc_column *col = &d->col[c];
        col->scaled = true;
        col->divide = col->std = 1;
        col->mean = 0;
        TC_TRY(tc_yaml_read(s->normalize->items[i], parts, col));
        if (col->divide == 0 || col->std == 0) return tc_yaml_error(s->normalize->items[i], "division by zero");
    }
    return NULL;
}

static tc_status read_shape(tc_dataset *d, const tc_data_spec *s) {
    for (int i = 0; s->shape && i < s->shape->n; i++) {
        const tc_yaml *v = s->shape->items[i];
        int c = s->shape->kind == TC_YAML_MAP ? tc_data_find(d, s->shape->keys[i]) : -1;
        if (c < 0) return tc_yaml_error(v, "expected {COLUMN: [sizes of one sample]}");
        tc_tensor *t = &d->col[c].data;
        int64_t size[TC_MAX_RANK] = {t->size[0]}, stride[TC_MAX_RANK], have = 1, want = 1;
        if (v->kind != TC_YAML_LIST || v->n >= TC_MAX_RANK) return tc_yaml_error(v, "expected a list of sizes");
        for (int k = 0; k < v->n; k++) {
            TC_TRY(tc_yaml_int(v->items[k], &size[k + 1]));
            if (size[k + 1] < 0 || !tc_mul_i64(want, size[k + 1], &want)) return tc_yaml_error(v->items[k], "expected a size");
        }
        for (int k = 1; k < t->rank; k++) have *= t->size[k];
        if (have != want) return tc_yaml_error(v, "a sample has %lld elements, the shape %lld", (long long)have, (long long)want);
        tc_contiguous_strides(v->n + 1, size, stride);
        tc_tensor view;
        TC_TRY(tc_tensor_view(t->storage, t->dtype, v->n + 1, size, stride, t->offset, &view));
        tc_tensor_deinit(t);
        *t = view;
    }
    return NULL;
}

static tc_status read_workers(tc_dataset *d, const tc_data_spec *s) {
    const struct {
        const char *key;
        int64_t value, least;
    } numbers[] = {{"workers", s->workers, 0}, {"prefetch", s->prefetch, 1}};
    for (int i = 0; i < 2; i++)
        if (numbers[i].value < numbers[i].least || numbers[i].value > TC_DATA_MAX_WORKERS)
            return tc_yaml_error(tc_yaml_get(s->node, numbers[i].key), "found %lld, expected %lld to %d", (long long)numbers[i].value,
                                 (long long)numbers[i].least, TC_DATA_MAX_WORKERS);
    for (int i = 0; i < 2 && !s->workers; i++) {
        const tc_yaml *y = tc_yaml_get(s->node, i ? "in_order" : "prefetch");
        if (!tc_yaml_is_null(y)) return tc_yaml_error(y, "is of the threads of workers:, and there are none");
    }
    d->workers = (int)s->workers;
    d->prefetch = (int)s->prefetch;
    d->any_order = !s->in_order;
    return NULL;
}

/* Refuses keys that the kind of data source does not use. */
static tc_status check_keys(const tc_yaml *node, const char *source) {
    static const struct {
        const char *key, *source;
    } of[] = {{"as", "text"},         {"block", "text"},          {"range", "text"},  {"context", "names"},
              {"pad", "names"},       {"columns", "csv"},         {"target", "csv"},  {"target_scale", "csv"},
              {"standardize", "csv"}, {"batches", "safetensors"}, {"size", "images"}, {"channels", "images"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const tc_yaml *y = tc_yaml_get(node, of[i].key);
        if (y && !tc_yaml_is_null(y) && strcmp(of[i].source, source)) return tc_yaml_error(y, "a key of %s, not of %s", of[i].source, source);
    }
    const char *const maps[] = {"normalize", "shape"};
    for (size_t i = 0; i < 2; i++) {
        const tc_yaml *y = tc_yaml_get(node, maps[i]);
        if (y && !tc_yaml_is_null(y) && y->kind != TC_YAML_MAP) return tc_yaml_error(y, "expected a map of columns");
    }
    return NULL;
}

tc_status tc_data_open(const tc_yaml *node, const tc_data_options *options, tc_dataset **out) {
    *out = NULL;
    tc_data_spec s = {.dir = options->dir,
                      .train = options->train,
                      .commands = options->commands,
                      .target_scale = 1,
                      .channels = 3,
                      .prefetch = 2,
                      .in_order = true,
                      .replacement = true,
                      .node = node};
    TC_TRY(tc_yaml_read(node, part_fields, &s));
    s.has_pad = !tc_yaml_is_null(tc_yaml_get(node, "pad"));
    TC_TRY(check_rows(&s));
    const struct {
        const char *key;
        const void *given;
        tc_status (*read)(tc_dataset *, const tc_data_spec *);
    } readers[] = {{"idx", s.idx, tc_data_read_idx},
                   {"text", s.text, tc_data_read_text},
                   {"names", s.names, tc_data_read_names},
                   {"csv", s.csv, tc_data_read_csv},
                   {"safetensors", s.safetensors, tc_data_read_safetensors},
                   {"images", s.images, tc_data_read_images}};
    int which = -1;
    for (int i = 0; i < 6; i++) {
        if (!readers[i].given) continue;
        if (which >= 0) return tc_yaml_error(node, "two sources of data, expected one of idx, text, names, csv, safetensors, images");
        which = i;
    }
    if (which < 0) return tc_yaml_error(node, "no source of data, expected one of idx, text, names, csv, safetensors, images");
    TC_TRY(check_keys(node, readers[which].key));
    const tc_yaml *limit = tc_yaml_get(node, "limit");
    if (s.limit < 1 && !tc_yaml_is_null(limit)) return tc_yaml_error(limit, "found %lld, expected 1 or more", (long long)s.limit);
    tc_dataset *d = tc_xcalloc(1, sizeof *d);
    d->limit = s.limit;
    tc_status st = readers[which].read(d, &s);
    const tc_yaml *source = tc_yaml_get(node, readers[which].key);
    if (st && tc_status_code(st) != TC_USAGE) st = tc_annotate(st, "%s", tc_yaml_place(&d->arena, source)); /* an error of the file, not of the key */
    if (!st) st = read_normalize(d, &s);
    if (!st) st = read_shape(d, &s);
    if (!st) st = tc_data_read_order(d, &s);
    if (!st && s.limit && d->kind == TC_DATA_WINDOWS && !s.train)
        st = tc_yaml_error(limit, "counts windows of validation; a training text is cut by range");
    if (d->kind != TC_DATA_WINDOWS && s.limit && s.limit < d->count) d->count = s.limit;
    if (!st && d->count < 1) st = tc_yaml_error(node, "the data have no sample");
    if (!st) st = tc_data_read_weights(d, &s);
    if (!st) st = read_workers(d, &s);
    if (st) {
        tc_data_close(d);
        return st;
    }
    *out = d;
    return NULL;
}

void tc_data_close(tc_dataset *d) {
    if (!d) return;
    for (int i = 0; i < TC_DATA_MAX_COLUMNS; i++) tc_tensor_deinit(&d->col[i].data);
    tc_image_set_close(d->images);
    tc_tensor_deinit(&d->weights);
    tc_arena_free(&d->arena);
    free(d);
}

int tc_data_find(const tc_dataset *d, const char *column) {
    for (int i = 0; i < d->ncols; i++)
        if (strcmp(d->col[i].name, column) == 0) return i;
    return -1;
}

/* ---- files ---- */

/* At the end of a member: begins the next one, of which a file may hold several; zeros behind the last are padding. left: bytes behind avail_in. */
static tc_status next_member(z_stream *z, size_t left, const char *name, int *rc) {
    const unsigned char *p = z->next_in, *end = p + z->avail_in + left;
    while (p < end && !*p) p++;
    if (p == end) return NULL;
    if (p != z->next_in || *p != 0x1f) return tc_error(TC_CONTENT, "%s: %zu bytes behind the gzip data", name, (size_t)(end - z->next_in));
    *rc = inflateReset(z);
    return NULL;
}

static tc_status gunzip(const tc_blob *b, tc_buf *out) {
    z_stream z = {.next_in = b->data, .avail_in = 0};
    if (inflateInit2(&z, 15 + 16) != Z_OK) return tc_error(TC_ENV, "%s: cannot start zlib", b->name);
    size_t left = b->len;
    int rc = Z_OK;
    tc_status s = NULL;
    while (rc == Z_OK && !s) {
        if (z.avail_in == 0) {
            z.avail_in = left > 1u << 30 ? 1u << 30 : (uInt)left;
            left -= z.avail_in;
        }
        tc_buf_reserve(out, 1 << 20);
        size_t room = out->cap - out->len - 1;
        z.next_out = (unsigned char *)out->data + out->len;
        z.avail_out = room > 1u << 30 ? 1u << 30 : (uInt)room;
        size_t before = z.avail_out;
        rc = inflate(&z, Z_NO_FLUSH);
        out->len += before - z.avail_out;
        if (rc == Z_BUF_ERROR || (rc == Z_OK && z.avail_in == 0 && left == 0 && z.avail_out))
            s = tc_error(TC_CONTENT, "%s: the gzip data end early", b->name);
        else if (rc != Z_OK && rc != Z_STREAM_END)
            s = tc_error(TC_CONTENT, "%s: damaged gzip data at byte %zu: %s", b->name, b->len - left - z.avail_in, z.msg ? z.msg : "error");
        if (rc == Z_STREAM_END) s = next_member(&z, left, b->name, &rc);
        if (!s && out->len > (size_t)16 << 30) s = tc_error(TC_CONTENT, "%s: more than 16 GiB unpacked", b->name);
    }
    inflateEnd(&z);
    return s;
}

tc_status tc_data_blob(const tc_data_spec *s, const char *name, tc_blob **out) {
    const char *command = tc_data_command(name);
    if (command && !s->commands)
        return tc_status_add(tc_error(TC_USAGE, "%s: commands run only from a recipe that the command line names", name), "--trust runs them");
    if (command) return tc_data_run(command, s->dir, out);
    tc_buf path = {0};
    if (s->dir && name[0] != '/') tc_buf_printf(&path, "%s/", s->dir);
    tc_buf_puts(&path, name);
    tc_status st = tc_blob_open(path.data, out);
    tc_buf_free(&path);
    return st;
}

tc_status tc_data_load(const tc_data_spec *s, const char *name, tc_buf *out) {
    tc_blob *b;
    tc_status st = NULL;
    TC_TRY(tc_data_blob(s, name, &b));
    if (b->len >= 2 && b->data[0] == 0x1f && b->data[1] == 0x8b) st = gunzip(b, out);
    else tc_buf_append(out, b->data, b->len);
    tc_blob_release(b);
    if (st) tc_buf_free(out);
    return st;
}

/* ---- batches ---- */

/* Decodes the images index[0..n) into bytes [n, C, H, W]. */
static tc_status read_images(const tc_dataset *d, const int64_t *index, int64_t n, tc_tensor *out, tc_data_times *times) {
    int64_t size[4];
    memcpy(size, d->col[0].data.size, sizeof size);
    size[0] = n;
    TC_TRY(tc_tensor_empty(TC_U8, 4, size, out));
    tc_status s = NULL;
    for (int64_t k = 0; k < n && !s; k++) s = tc_image_set_get(d->images, index[k], (unsigned char *)tc_tensor_data(out) + k * out->stride[0], times);
    return s;
}

enum { FETCHED = 4096 }; /* bytes of the next row that are fetched ahead */

/* to[i] = table[from[i]], four at a time: half the time of one by one. */
static void look_up(const float *table, const unsigned char *from, float *to, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const float a = table[from[i]], b = table[from[i + 1]], c = table[from[i + 2]], d = table[from[i + 3]];
        to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
    }
    for (; i < n; i++) to[i] = table[from[i]];
}

/* Gathers rows of one table column, scaled and converted as needed. */
static tc_status gather_rows(const tc_column *c, const int64_t *index, int64_t n, tc_dtype floats, tc_tensor *out) {
    const tc_tensor *t = &c->data;
    int64_t size[TC_MAX_RANK], row = 1;
    memcpy(size, t->size, sizeof size);
    size[0] = n;
    for (int i = 1; i < t->rank; i++) row *= t->size[i];
    tc_dtype dtype = c->scaled || tc_is_float(t->dtype) ? (c->scaled ? TC_F32 : t->dtype) : t->dtype;
    TC_TRY(tc_tensor_empty(dtype, t->rank, size, out));
    const char *from = tc_tensor_data(t);
    char *to = tc_tensor_data(out);
    size_t bytes = (size_t)row * tc_dtype_size(t->dtype);
    float divide = (float)c->divide, mean = (float)c->mean, std = (float)c->std, of_byte[256];
    bool bytes_in = c->scaled && t->dtype == TC_U8;
    for (int i = 0; i < 256 && bytes_in; i++) of_byte[i] = ((float)i / divide - mean) / std;
    for (int64_t k = 0; k < n; k++) {
        const char *next = from + (size_t)index[k + 1 < n ? k + 1 : k] * bytes; /* rows lie anywhere: fetched while the one before is converted */
        for (size_t i = 0; i < bytes && i < FETCHED; i += 64) __builtin_prefetch(next + i);
        if (!c->scaled) {
            memcpy(to + (size_t)k * bytes, from + (size_t)index[k] * bytes, bytes);
            continue;
        }
        float *o = (float *)to + k * row;
        if (bytes_in) look_up(of_byte, (const unsigned char *)from + index[k] * row, o, row);
        for (int64_t i = 0; i < row && !bytes_in; i++)
            o[i] = ((float)tc_scalar_to_double(tc_scalar_load(t->dtype, from, index[k] * row + i)) / divide - mean) / std;
    }
    if (!tc_is_float(dtype) || dtype == floats) return NULL;
    tc_tensor cast;
    tc_status s = tc_tensor_cast(out, floats, &cast);
    tc_tensor_deinit(out);
    if (!s) *out = cast;
    return s;
}

/* Gathers images: decodes them into a table of this batch, then as gather_rows. */
static tc_status gather_images(const tc_dataset *d, const int64_t *index, int64_t n, tc_dtype floats, tc_tensor *out, tc_data_times *times) {
    tc_column c = d->col[0];
    int64_t *row = tc_xmalloc((size_t)(n + 1) * sizeof *row);
    for (int64_t k = 0; k < n; k++) row[k] = k;
    c.data = (tc_tensor){0};
    tc_status s = read_images(d, index, n, &c.data, times);
    if (!s) s = gather_rows(&c, row, n, floats, out);
    tc_tensor_deinit(&c.data);
    free(row);
    return s;
}

static tc_status gather_windows(const tc_dataset *d, const int64_t *index, int64_t n, tc_tensor *out) {
    const int64_t *tokens = tc_tensor_data(&d->col[0].data);
    for (int part = 0; part < 2; part++) {
        TC_TRY(tc_tensor_empty(TC_I64, 2, (int64_t[]){n, d->block}, &out[part]));
        int64_t *o = tc_tensor_data(&out[part]);
        for (int64_t k = 0; k < n; k++) memcpy(o + k * d->block, tokens + index[k] + part, (size_t)d->block * sizeof *o);
    }
    return NULL;
}

static tc_status gather_sequences(const tc_dataset *d, const int64_t *index, int64_t n, tc_tensor *out) {
    const int64_t *tokens = tc_tensor_data(&d->col[0].data);
    int64_t longest = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t len = d->offset[index[k] + 1] - d->offset[index[k]] - 1;
        if (len > longest) longest = len;
    }
    for (int part = 0; part < 2; part++) {
        TC_TRY(tc_tensor_empty(TC_I64, 2, (int64_t[]){n, longest}, &out[part]));
        int64_t *o = tc_tensor_data(&out[part]), fill = part ? d->pad : 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t from = d->offset[index[k]], len = d->offset[index[k] + 1] - from - 1;
            for (int64_t i = 0; i < longest; i++) o[k * longest + i] = i < len ? tokens[from + i + part] : fill;
        }
    }
    return NULL;
}

/* BATCHES: the stored micro-batch `index` of a column, without the leading dimension. */
static tc_status gather_batch(const tc_column *c, int64_t index, tc_dtype floats, tc_tensor *out) {
    const tc_tensor *t = &c->data;
    int64_t step = t->rank ? t->stride[0] : 0;
    tc_tensor view;
    TC_TRY(tc_tensor_view(t->storage, t->dtype, t->rank - 1, t->size + 1, t->stride + 1, t->offset + index * step, &view));
    tc_status s = tc_is_float(t->dtype) && t->dtype != floats ? tc_tensor_cast(&view, floats, out) : tc_tensor_clone(&view, out);
    tc_tensor_deinit(&view);
    return s;
}

tc_status tc_data_gather(const tc_dataset *d, const int64_t *index, int64_t n, tc_dtype floats, tc_tensor *out, tc_data_times *times) {
    for (int i = 0; i < d->ncols; i++) out[i] = (tc_tensor){0};
    tc_status s = NULL;
    if (d->kind == TC_DATA_WINDOWS) s = gather_windows(d, index, n, out);
    else if (d->kind == TC_DATA_SEQUENCES) s = gather_sequences(d, index, n, out);
    for (int i = 0; i < d->ncols && !s; i++) {
        if (d->images && i == 0) s = gather_images(d, index, n, floats, out, times);
        else if (d->kind == TC_DATA_TABLE) s = gather_rows(&d->col[i], index, n, floats, &out[i]);
        else if (d->kind == TC_DATA_BATCHES) s = gather_batch(&d->col[i], index[0], floats, &out[i]);
    }
    for (int i = 0; i < d->ncols && s; i++) tc_tensor_deinit(&out[i]);
    return s;
}
