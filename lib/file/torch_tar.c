/* The tar format of PyTorch before 0.1.10: storages, tensors that are views of them, and a pickle that refers to the tensors by number.
 * |     sys_info    storages: count, then (key, location, type), i64 elements, data ...; views
 *     pickle      tensors:  count, then (key, storage key, type), i32 rank, i32 -, i64 sizes, strides, offset ... */
#include "file/torch.h"

enum { BLOCK = 512 };

typedef struct {
    size_t begin, len;
} member;
typedef struct {
    tc_blob *blob;
    member at;       /* the member being read; begin is advanced */
    tc_map storages; /* key -> stored */
    tc_map tensors;  /* key -> tc_tensor */
    tc_arena arena;
} tar_form;
typedef struct {
    tc_saved_id id;
    size_t begin, bytes;
} stored;

static bool octal(const unsigned char *p, size_t n, size_t *out) {
    *out = 0;
    size_t i = 0;
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        if (*out > SIZE_MAX >> 4) return false;
        *out = *out << 3 | (size_t)(p[i] - '0');
    }
    return i == n || p[i] == 0 || p[i] == ' ';
}

/* Finds the regular file of that name; links and other types are skipped. */
static tc_status find(const tc_blob *b, const char *name, bool needed, bool *out_found, member *out) {
    size_t at = 0, n = strlen(name);
    *out_found = true;
    while (b->len - at >= BLOCK && b->data[at]) {
        const unsigned char *h = b->data + at;
        size_t size, skip;
        if (!octal(h + 124, 12, &size) || size > b->len - at - BLOCK)
            return tc_error_at(TC_CONTENT, (tc_place){.file = b->name, .offset = (int64_t)at}, "a tar entry of a bad size");
        const char *base = (const char *)h;
        if (base[0] == '.' && base[1] == '/') base += 2;
        if (!strncmp(base, name, n) && !base[n] && (h[156] == '0' || h[156] == 0)) {
            *out = (member){at + BLOCK, size};
            return NULL;
        }
        if (!tc_add_size(size, BLOCK - 1, &skip) || !tc_add_size(at + BLOCK, skip / BLOCK * BLOCK, &at) || at > b->len) break;
    }
    *out_found = false;
    return needed ? tc_error(TC_CONTENT, "%s: a tar without %s: not what torch.save wrote", b->name, name) : NULL;
}

static tc_status next_pickle(tc_saved *t, tc_pickle *p) {
    tar_form *f = t->self;
    size_t used;
    TC_TRY(tc_pickle_read(p, (tc_place){.file = t->file, .offset = (int64_t)f->at.begin}, f->blob->data + f->at.begin, f->at.len, &used), "%s",
           t->part);
    f->at.begin += used, f->at.len -= used;
    return NULL;
}

static tc_status take(tc_saved *t, size_t n, const unsigned char **out) {
    tar_form *f = t->self;
    if (n > f->at.len) return tc_saved_error(t, TC_CONTENT, "%zu bytes are announced, %zu follow", n, f->at.len);
    *out = f->blob->data + f->at.begin;
    f->at.begin += n, f->at.len -= n;
    return NULL;
}

static int64_t i64(const unsigned char *p) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)p[i] << 8 * i;
    return (int64_t)v;
}

static tc_status next_count(tc_saved *t, int64_t *out) {
    tc_pickle p;
    TC_TRY(next_pickle(t, &p));
    bool good = tc_pk_to_int(p.root, out) && *out >= 0;
    tc_pickle_free(&p);
    return good ? NULL : tc_saved_error(t, TC_CONTENT, "a bad count");
}

/* A key is an address or a text; addresses are written in decimal. */
static char *key_text(tc_saved *t, const tc_pk *v) {
    if (v && v->kind == TC_PK_INT) return tc_arena_printf(&t->out->arena, "%lld", (long long)v->i);
    if (v && v->kind == TC_PK_STRING && !memchr(v->s, 0, v->n)) return tc_arena_strndup(&t->out->arena, v->s, v->n);
    return NULL;
}

static tc_status one_storage(tc_saved *t) {
    tar_form *f = t->self;
    tc_pickle p;
    const unsigned char *data = NULL;
    TC_TRY(next_pickle(t, &p));
    stored s = {0};
    s.id.key = key_text(t, tc_pk_arg(p.root, 0));
    const tc_pk *type = tc_pk_arg(p.root, 2);
    bool good = s.id.key && type && type->kind == TC_PK_GLOBAL && tc_saved_storage_type(type->s, &s.id);
    tc_pickle_free(&p);
    if (!good) return tc_saved_error(t, TC_CONTENT, "a storage without key or type");
    TC_TRY(take(t, 8, &data));
    s.id.numel = i64(data);
    if (s.id.numel < 0 || !tc_mul_size((size_t)s.id.numel, s.id.dtype == TC_DTYPE_NONE ? 1 : tc_dtype_size(s.id.dtype), &s.bytes))
        return tc_saved_error(t, TC_CONTENT, "storage %s: a bad number of elements", s.id.key);
    s.begin = f->at.begin;
    TC_TRY(take(t, s.bytes, &data));
    void **slot = tc_map_put(&f->storages, s.id.key, strlen(s.id.key));
    if (*slot) return tc_saved_error(t, TC_CONTENT, "storage %s stands twice", s.id.key);
    *slot = tc_arena_dup(&f->arena, &s, sizeof s);
    return NULL;
}

/* A view is a storage inside another: (key, root, offset, elements). */
static tc_status one_view(tc_saved *t, const tc_pk *v) {
    tar_form *f = t->self;
    const char *key = key_text(t, tc_pk_arg(v, 0)), *root = key_text(t, tc_pk_arg(v, 1));
    const stored *of = root ? tc_map_find(&f->storages, root) : NULL;
    int64_t offset, n;
    if (!key || !of || !tc_pk_to_int(tc_pk_arg(v, 2), &offset) || !tc_pk_to_int(tc_pk_arg(v, 3), &n) || offset < 0 || n < 0 ||
        offset > of->id.numel || n > of->id.numel - offset)
        return tc_saved_error(t, TC_CONTENT, "a view of a storage that does not fit it");
    size_t unit = of->id.numel ? of->bytes / (size_t)of->id.numel : 1;
    stored s = {.id = of->id, .begin = of->begin + (size_t)offset * unit, .bytes = (size_t)n * unit};
    s.id.key = key, s.id.numel = n;
    *tc_map_put(&f->storages, key, strlen(key)) = tc_arena_dup(&f->arena, &s, sizeof s);
    return NULL;
}

static tc_status read_storages(tc_saved *t) {
    int64_t n;
    tc_pickle p;
    TC_TRY(next_count(t, &n));
    for (int64_t i = 0; i < n; i++) TC_TRY(one_storage(t));
    if (!((tar_form *)t->self)->at.len) return NULL;
    TC_TRY(next_pickle(t, &p));
    tc_status st = p.root->kind == TC_PK_LIST ? NULL : tc_saved_error(t, TC_CONTENT, "views that are no list");
    for (uint32_t i = 0; !st && i < p.root->len; i++) st = one_view(t, p.root->items[i]);
    tc_pickle_free(&p);
    return st;
}

static tc_status make_tensor(tc_saved *t, const stored *s, int rank, const unsigned char *p, tc_tensor *out) {
    tar_form *f = t->self;
    int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        size[d] = i64(p + 8 * d), stride[d] = i64(p + 8 * (rank + d));
        if (size[d] < 0 || stride[d] < 0) return tc_saved_error(t, TC_CONTENT, "a tensor with a negative size or stride");
    }
    int64_t offset = i64(p + 16 * rank);
    if (offset < 0) return tc_saved_error(t, TC_CONTENT, "a tensor with a negative offset");
    tc_dtype d = s->id.dtype == TC_DTYPE_NONE ? TC_U8 : s->id.dtype;
    tc_storage *data = tc_saved_wrap(f->blob, s->begin, s->bytes);
    if (!t->out->raw && (uintptr_t)data->data % tc_dtype_size(d)) {
        tc_storage *c;
        tc_status st = tc_storage_alloc(s->bytes, &c);
        if (!st && s->bytes) memcpy(c->data, data->data, s->bytes);
        tc_storage_release(data);
        TC_TRY(st);
        data = c;
    }
    tc_status st = tc_tensor_view(data, d, rank, size, stride, offset, out);
    tc_storage_release(data);
    return st ? tc_annotate(st, "%s: storage %s", t->file, s->id.key) : NULL;
}

static tc_status one_tensor(tc_saved *t) {
    tar_form *f = t->self;
    tc_pickle p;
    const unsigned char *data = NULL;
    TC_TRY(next_pickle(t, &p));
    const char *key = key_text(t, tc_pk_arg(p.root, 0)), *of = key_text(t, tc_pk_arg(p.root, 1));
    tc_pickle_free(&p);
    const stored *s = of ? tc_map_find(&f->storages, of) : NULL;
    if (!key || !s) return tc_saved_error(t, TC_CONTENT, "a tensor without key or storage");
    TC_TRY(take(t, 8, &data));
    int32_t rank;
    memcpy(&rank, data, 4);
    if (rank < 0 || rank > TC_MAX_RANK) return tc_saved_error(t, TC_CONTENT, "a tensor of %d dimensions, expected at most %d", rank, TC_MAX_RANK);
    TC_TRY(take(t, (size_t)rank * 16 + 8, &data));
    void **slot = tc_map_put(&f->tensors, key, strlen(key));
    if (*slot) return tc_saved_error(t, TC_CONTENT, "tensor %s stands twice", key);
    tc_tensor *made = TC_NEW(&f->arena, tc_tensor);
    TC_TRY(make_tensor(t, s, rank, data, made));
    *slot = made;
    return NULL;
}

static tc_status persistent(tc_saved *t, const tc_pk *id, tc_tensor *out) {
    tar_form *f = t->self;
    const char *key = key_text(t, id->kind == TC_PK_TUPLE ? tc_pk_arg(id, 0) : id);
    const tc_tensor *found = key ? tc_map_find(&f->tensors, key) : NULL;
    if (!found) return tc_saved_error(t, TC_CONTENT, "a reference to a tensor that is not there");
    *out = tc_tensor_share(found);
    return NULL;
}

static tc_status open_storage(tc_saved *t, const tc_saved_id *id, size_t bytes, tc_storage **out) {
    tar_form *f = t->self;
    const stored *s = tc_map_find(&f->storages, id->key);
    if (!s) return tc_saved_error(t, TC_CONTENT, "storage %s, which the pickle refers to, is missing", id->key);
    if (s->bytes < bytes) return tc_saved_error(t, TC_CONTENT, "storage %s has %zu bytes, %zu are needed", id->key, s->bytes, bytes);
    *out = tc_saved_wrap(f->blob, s->begin, s->bytes);
    return NULL;
}

static tc_status read_all(tc_saved *t) {
    tar_form *f = t->self;
    static const char *const parts[] = {"storages", "tensors", "pickle"};
    int64_t n;
    tc_pickle p;
    bool found;
    t->part = parts[0];
    TC_TRY(find(f->blob, parts[0], true, &found, &f->at));
    TC_TRY(read_storages(t));
    t->part = parts[1];
    TC_TRY(find(f->blob, parts[1], false, &found, &f->at)); /* other writers omit it; the pickle then refers to storages */
    n = 0;
    if (found) TC_TRY(next_count(t, &n));
    for (int64_t k = 0; k < n; k++) TC_TRY(one_tensor(t));
    t->part = parts[2];
    TC_TRY(find(f->blob, parts[2], true, &found, &f->at));
    TC_TRY(next_pickle(t, &p));
    tc_status st = tc_saved_flatten(t, p.root);
    tc_pickle_free(&p);
    return st;
}

tc_status tc_saved_read_tar(tc_blob *b, tc_tensors *out) {
    tar_form f = {.blob = b};
    tc_saved t = {.file = b->name, .out = out, .open = open_storage, .persistent = persistent, .plain_ids = true, .self = &f};
    out->format = "torch.save (tar)";
    tc_status st = read_all(&t);
    for (size_t i = 0; i < f.tensors.len; i++)
        if (f.tensors.entries[i].value) tc_tensor_deinit(f.tensors.entries[i].value);
    tc_map_free(&f.tensors);
    tc_map_free(&f.storages);
    tc_arena_free(&f.arena);
    tc_saved_deinit(&t);
    return st;
}
