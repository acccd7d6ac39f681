/* Reads torch.distributed.checkpoint's own format: .metadata is a pickle that maps chunks of tensors to byte ranges of .distcp files; each range is a
 * torch.save archive.
 *
 *     Metadata.state_dict_metadata   name -> TensorStorageMetadata(properties, size, chunks) | BytesStorageMetadata()
 *     Metadata.storage_data          MetadataIndex(fqn, offset, index) -> _StorageInfo(relative_path, offset, length)
 *     Metadata.planner_data          name -> the keys that lead to it: ("model", "a.weight") for "model.a.weight"; may be absent */
#include "ckpt/internal.h"
#include "file/torch.h"

#include <stdio.h>
#include <unistd.h>

#define DCP "torch.distributed.checkpoint."

typedef struct {
    tc_ckpt *c;
    const char *dir, *file; /* file: .metadata, for messages */
    tc_map places;          /* name, NUL, offset as text -> _StorageInfo */
    tc_map paths;           /* name -> the keys that lead to it, a tuple */
    tc_map blobs;           /* relative path -> tc_blob */
} dcp;

static tc_status bad(const dcp *d, const char *name, const char *fmt, ...) TC_PRINTF(3, 4);
static tc_status bad(const dcp *d, const char *name, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_status st = tc_error(TC_CONTENT, "%s: %s%s%s", d->file, name ? name : "", name ? ": " : "", b.data);
    tc_buf_free(&b);
    return st;
}

/* ---- storage_data ---- */
static void place_key(tc_buf *b, const char *name, size_t n, const int64_t *offset, int rank) {
    b->len = 0;
    tc_buf_append(b, name, n);
    tc_buf_putc(b, 0);
    if (rank < 0) tc_buf_puts(b, "bytes");
    for (int i = 0; i < rank; i++) tc_buf_printf(b, "%lld,", (long long)offset[i]);
}

static tc_status read_places(dcp *d, const tc_pk *data) {
    tc_buf key = {0};
    tc_status st = NULL;
    if (!data || data->kind != TC_PK_DICT) return bad(d, NULL, "storage_data is not a dict");
    for (uint32_t i = 0; i + 1 < data->len && !st; i += 2) {
        const tc_pk *index = data->items[i], *fqn = tc_pk_get(index, "fqn"), *offset = tc_pk_get(index, "offset");
        int64_t at[TC_MAX_RANK];
        int rank = -1;
        if (!tc_pk_call(index, DCP "metadata.MetadataIndex") || !fqn || fqn->kind != TC_PK_STRING) {
            st = bad(d, NULL, "storage_data has a key that is not a MetadataIndex");
            break;
        }
        if (offset && offset->kind != TC_PK_NONE && !tc_pk_to_sizes(offset, at, TC_MAX_RANK, &rank)) {
            st = bad(d, NULL, "storage_data has a bad offset");
            break;
        }
        place_key(&key, fqn->s, fqn->n, at, rank);
        void **slot = tc_map_put(&d->places, key.data, key.len);
        if (*slot) st = bad(d, NULL, "storage_data names a part of %.*s twice", (int)(fqn->n < 200 ? fqn->n : 200), fqn->s);
        *slot = data->items[i + 1];
    }
    tc_buf_free(&key);
    return st;
}

static void read_paths(dcp *d, const tc_pk *data) {
    for (uint32_t i = 0; data && data->kind == TC_PK_DICT && i + 1 < data->len; i += 2)
        if (data->items[i]->kind == TC_PK_STRING && data->items[i + 1]->kind == TC_PK_TUPLE)
            tc_map_set(&d->paths, tc_arena_strndup(&d->c->arena, data->items[i]->s, data->items[i]->n), data->items[i + 1]);
}

/* As tc_named.container: length of the part of a tensor's name before its own key. */
static size_t container_of(const dcp *d, const char *name) {
    const tc_pk *path = tc_map_find(&d->paths, name), *last = path && path->len > 1 ? path->items[path->len - 1] : NULL;
    size_t n = strlen(name);
    if (!last || last->kind != TC_PK_STRING) return last && strrchr(name, '.') ? (size_t)(strrchr(name, '.') + 1 - name) : 0;
    return last->n < n && name[n - last->n - 1] == '.' && !memcmp(name + n - last->n, last->s, last->n) ? n - last->n : 0;
}

static bool stays_inside(const char *s, size_t n) {
    if (!n || n > 1024 || s[0] == '/' || memchr(s, 0, n) || memchr(s, '\\', n)) return false;
    for (size_t i = 0; i < n;) { /* no component "..", "." or empty */
        const char *slash = memchr(s + i, '/', n - i);
        size_t len = slash ? (size_t)(slash - s) - i : n - i;
        if (!len || (len == 1 && s[i] == '.') || (len == 2 && s[i] == '.' && s[i + 1] == '.')) return false;
        i += len + 1;
    }
    return true;
}

static tc_status open_file(dcp *d, const char *name, const tc_pk *path, tc_blob **out, const char **out_path) {
    if (!path || path->kind != TC_PK_STRING || !stays_inside(path->s, path->n)) return bad(d, name, "its file lies outside the checkpoint");
    void **slot = tc_map_put(&d->blobs, path->s, path->n);
    char *full = tc_arena_printf(&d->c->arena, "%s/%.*s", d->dir, (int)path->n, path->s);
    if (!*slot) {
        tc_blob *b = NULL;
        bool there;
        TC_TRY(tc_file_found(full, &there));
        if (!there) return bad(d, name, "%s, which holds a part of it, is missing", full);
        TC_TRY(tc_blob_open(full, &b));
        *slot = b;
    }
    *out = *slot;
    *out_path = ((tc_blob *)*slot)->name;
    return NULL;
}

/* Reads the archive of one item. */
static tc_status read_item(dcp *d, const char *name, const int64_t *offset, int rank, tc_tensors *out, const char **out_file) {
    tc_buf key = {0};
    tc_blob *whole = NULL;
    place_key(&key, name, strlen(name), offset, rank);
    const tc_pk *info = tc_map_get(&d->places, key.data, key.len);
    tc_buf_free(&key);
    int64_t begin, length;
    if (!info) return bad(d, name, "a part of it has no entry in storage_data");
    if (!tc_pk_call(info, DCP "filesystem._StorageInfo") || !tc_pk_to_int(tc_pk_get(info, "offset"), &begin) ||
        !tc_pk_to_int(tc_pk_get(info, "length"), &length))
        return bad(d, name, "its place is not a _StorageInfo");
    const tc_pk *transforms = tc_pk_get(info, "transform_descriptors");
    if (transforms && transforms->kind != TC_PK_NONE && transforms->len)
        return tc_error(TC_UNSUPPORTED, "%s: %s: transformed storage is not supported", d->file, name);
    TC_TRY(open_file(d, name, tc_pk_get(info, "relative_path"), &whole, out_file));
    if (begin < 0 || length <= 0 || (uint64_t)begin > whole->len || (uint64_t)length > whole->len - (uint64_t)begin)
        return bad(d, name, "bytes %lld to %lld of %s, which has %zu", (long long)begin,
                   (long long)(begin < INT64_MAX - length ? begin + length : INT64_MAX), *out_file, whole->len);
    tc_blob *part = tc_blob_slice(whole, (size_t)begin, (size_t)length, tc_arena_printf(&d->c->arena, "%s[%lld]", *out_file, (long long)begin));
    *out = (tc_tensors){.raw = d->c->raw, .check_all = d->c->check_all, .checked = d->c->checked};
    tc_zip *z = NULL;
    tc_status st = tc_zip_open(part, &z);
    if (!st && !tc_saved_is_zip(z)) st = tc_error(TC_CONTENT, "%s: not what torch.save writes", part->name);
    if (!st) st = tc_saved_read_zip(z, out);
    tc_zip_close(z);
    tc_blob_release(part);
    d->c->checked = out->checked;
    if (st) tc_tensors_deinit(out);
    return st ? tc_annotate(st, "%s", name) : NULL;
}

/* ---- state_dict_metadata ---- */
static tc_status read_chunk(dcp *d, tc_entry *e, const tc_pk *chunk, int dtype) {
    int64_t offset[TC_MAX_RANK], size[TC_MAX_RANK];
    int rank = 0, nsizes = 0;
    tc_tensors t = {0};
    const char *file;
    if (!tc_pk_call(chunk, DCP "metadata.ChunkStorageMetadata") || !tc_pk_to_sizes(tc_pk_get(chunk, "offsets"), offset, TC_MAX_RANK, &rank) ||
        !tc_pk_to_sizes(tc_pk_get(chunk, "sizes"), size, TC_MAX_RANK, &nsizes) || rank != e->rank || nsizes != e->rank)
        return bad(d, e->name, "a chunk that does not fit the tensor's %d dimensions", e->rank);
    TC_TRY(read_item(d, e->name, offset, rank, &t, &file));
    tc_status st = NULL;
    if (t.items.len != 1 || strcmp(t.items.data[0].name, "tensor")) {
        if (t.left_out.len) tc_ckpt_note(d->c, e->name, tc_arena_strdup(&d->c->arena, t.left_out.data[0].value));
        st = bad(d, e->name, "%s holds no tensor at its place", file);
    } else {
        const tc_tensor *got = &t.items.data[0].tensor;
        bool same = got->rank == rank;
        for (int i = 0; same && i < rank; i++) same = got->size[i] == size[i];
        if (dtype >= 0 && (int)got->dtype != dtype)
            st = bad(d, e->name, "it is %s, the item in %s is %s", tc_dtypes[dtype].torch, file, tc_dtypes[got->dtype].torch);
        else if (!same) st = bad(d, e->name, "the item at its place in %s has another shape", file);
        else st = tc_ckpt_add_piece(d->c, e, tc_tensor_share(got), offset, file);
    }
    tc_tensors_deinit(&t);
    return st;
}

static tc_status read_tensor(dcp *d, const char *name, const tc_pk *meta) {
    const tc_pk *properties = tc_pk_get(meta, "properties"), *chunks = tc_pk_get(meta, "chunks"),
                *type = properties ? tc_pk_arg(properties->state, 0) : NULL;
    /* first versions of the format */
    if (properties && properties->state && properties->state->kind == TC_PK_DICT) type = tc_pk_get(properties, "dtype");
    tc_entry *e = tc_ckpt_entry(d->c, name);
    if (!chunks || chunks->kind != TC_PK_LIST || !tc_pk_to_sizes(tc_pk_get(meta, "size"), e->size, TC_MAX_RANK, &e->rank))
        return bad(d, name, "no size or chunks");
    for (int i = 0; i < e->rank; i++)
        if (e->size[i] < 0) return bad(d, name, "a size of %lld", (long long)e->size[i]);
    tc_dtype dtype = type && type->kind == TC_PK_GLOBAL ? tc_dtype_parse(type->s, strlen(type->s)) : TC_DTYPE_NONE;
    if (dtype == TC_DTYPE_NONE)
        return tc_error(TC_UNSUPPORTED, "%s: %s: element type %.60s", d->file, name, type && type->kind == TC_PK_GLOBAL ? type->s : "unknown");
    e->sized = true;
    e->dtype = dtype;
    e->container = container_of(d, name);
    for (uint32_t i = 0; i < chunks->len; i++) TC_TRY(read_chunk(d, e, chunks->items[i], (int)dtype));
    if (!chunks->len) { /* every rank's chunk was empty */
        tc_tensor none;
        TC_TRY(tc_tensor_empty(dtype, e->rank, e->size, &none), "%s", name);
        if (tc_tensor_numel(&none)) {
            tc_tensor_deinit(&none);
            return bad(d, name, "no chunk holds it");
        }
        TC_TRY(tc_ckpt_add_piece(d->c, e, none, NULL, d->file));
    }
    return NULL;
}

/* Reads a non-tensor value; a container may hold tensors nevertheless. */
static tc_status read_bytes(dcp *d, const char *name) {
    tc_tensors t;
    const char *file;
    TC_TRY(read_item(d, name, NULL, -1, &t, &file));
    tc_arena *a = &d->c->arena;
    tc_status st = NULL;
    for (size_t i = 0; i < t.values.len; i++) {
        const tc_metadata *v = &t.values.data[i];
        tc_metadata m = {tc_arena_printf(a, "%s%s%s", name, *v->key ? "." : "", v->key), tc_arena_strdup(a, v->value)};
        tc_vec_push(&d->c->values, m);
    }
    for (size_t i = 0; i < t.items.len && !st; i++) {
        tc_entry *e = tc_ckpt_entry(d->c, tc_arena_printf(a, "%s.%s", name, t.items.data[i].name));
        e->container = strlen(name) + 1 + t.items.data[i].container;
        st = tc_ckpt_add_piece(d->c, e, tc_tensor_share(&t.items.data[i].tensor), NULL, file);
    }
    tc_tensors_deinit(&t);
    return st;
}

static tc_status read_metadata(dcp *d, const tc_pk *root) {
    const tc_pk *names = tc_pk_get(root, "state_dict_metadata");
    if (!tc_pk_call(root, DCP "metadata.Metadata")) {
        tc_buf b = {0};
        tc_pk_print(&b, root, 60);
        tc_status st = bad(d, NULL, "holds %.80s, expected a Metadata", b.data);
        tc_buf_free(&b);
        return st;
    }
    if (!names || names->kind != TC_PK_DICT) return bad(d, NULL, "state_dict_metadata is not a dict");
    TC_TRY(read_places(d, tc_pk_get(root, "storage_data")));
    read_paths(d, tc_pk_get(root, "planner_data"));
    for (uint32_t i = 0; i + 1 < names->len; i += 2) {
        const tc_pk *key = names->items[i], *meta = names->items[i + 1];
        if (key->kind != TC_PK_STRING || memchr(key->s, 0, key->n)) return bad(d, NULL, "a name that is not text");
        const char *name = tc_arena_strndup(&d->c->arena, key->s, key->n);
        if (tc_map_find(&d->c->by_name, name)) return bad(d, name, "is named twice");
        if (tc_pk_call(meta, DCP "metadata.TensorStorageMetadata")) TC_TRY(read_tensor(d, name, meta));
        else if (tc_pk_call(meta, DCP "metadata.BytesStorageMetadata")) TC_TRY(read_bytes(d, name));
        else return bad(d, name, "is neither a tensor nor bytes");
    }
    return NULL;
}

tc_status tc_ckpt_open_dcp(tc_ckpt *c, const char *dir) {
    dcp d = {.c = c, .dir = dir, .file = tc_arena_printf(&c->arena, "%s/.metadata", dir)};
    tc_blob *b;
    tc_pickle p;
    size_t used;
    c->format = "DCP";
    TC_TRY(tc_blob_open(d.file, &b));
    tc_status st = b->len ? tc_pickle_read(&p, (tc_place){.file = d.file}, b->data, b->len, &used) : bad(&d, NULL, "is empty");
    if (!st) {
        if (used != b->len) st = bad(&d, NULL, "%zu more bytes after the pickle", b->len - used);
        if (!st) st = read_metadata(&d, p.root);
        tc_pickle_free(&p);
    }
    tc_blob_release(b);
    for (size_t i = 0; i < d.blobs.len; i++) tc_blob_release(d.blobs.entries[i].value);
    tc_map_free(&d.blobs);
    tc_map_free(&d.places);
    tc_map_free(&d.paths);
    return st;
}
