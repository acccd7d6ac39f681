/* Named tensors, and tc_tensors_load, which opens every file of weights, by content and never by name. */
#include "file/tensors.h"

#include "file/content.h"
#include "file/npy.h"
#include "file/npz.h"
#include "file/onnx.h"
#include "file/pt2.h"
#include "file/safetensors.h"
#include "file/torch.h"
#include "kernel/image.h"

void tc_tensors_deinit(tc_tensors *t) {
    for (size_t i = 0; i < t->items.len; i++) tc_tensor_deinit(&t->items.data[i].tensor);
    tc_vec_free(&t->items);
    tc_vec_free(&t->metadata);
    tc_vec_free(&t->values);
    tc_vec_free(&t->left_out);
    tc_vec_free(&t->arrays);
    tc_vec_free(&t->outside);
    tc_map_free(&t->by_name);
    tc_saved_node_free(t->tree);
    tc_arena_free(&t->arena);
    *t = (tc_tensors){0};
}

void tc_tensors_reset(tc_tensors *t) {
    tc_tensors old = *t;
    *t = (tc_tensors){.items = old.items, .by_name = old.by_name, .arena = old.arena};
    for (size_t i = 0; i < old.items.len; i++) tc_tensor_deinit(&old.items.data[i].tensor);
    t->items.len = 0;
    tc_map_clear(&t->by_name);
    tc_saved_node_free(old.tree);
    tc_arena_reset(&t->arena);
    old.items.data = NULL;
    old.items.len = 0;
    old.by_name = (tc_map){0};
    old.arena = (tc_arena){0};
    old.tree = NULL;
    tc_tensors_deinit(&old);
}

const tc_tensor *tc_tensors_find(const tc_tensors *t, const char *name) {
    uintptr_t i = (uintptr_t)tc_map_find(&t->by_name, name);
    return i ? &t->items.data[i - 1].tensor : NULL;
}

tc_status tc_tensors_add(tc_tensors *t, const char *name, tc_tensor tensor) {
    const char *own = tc_arena_strdup(&t->arena, name);
    t->by_name.borrows = true;
    void **slot = tc_map_put(&t->by_name, own, strlen(own));
    if (*slot) {
        tc_tensor_deinit(&tensor);
        return tc_error(TC_CONTENT, "two tensors are named %s", name);
    }
    tc_named item = {own, tensor};
    tc_vec_push(&t->items, item);
    *slot = (void *)(uintptr_t)t->items.len;
    return NULL;
}

void tc_tensors_add_metadata(tc_tensors *t, const char *key, const char *value) {
    tc_metadata m = {tc_arena_strdup(&t->arena, key), tc_arena_strdup(&t->arena, value)};
    tc_vec_push(&t->metadata, m);
}

void tc_tensors_add_value(tc_tensors *t, const char *name, const char *json) {
    tc_metadata m = {tc_arena_strdup(&t->arena, name), tc_arena_strdup(&t->arena, json)};
    tc_vec_push(&t->values, m);
}

bool tc_are_bools(const void *data, size_t n) {
    const unsigned char *p = data;
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++) all |= p[i];
    return all <= 1;
}

tc_status tc_storage_bools(tc_storage **io) {
    const size_t n = (*io)->bytes;
    tc_storage *s;
    if (tc_are_bools((*io)->data, n)) return NULL;
    TC_TRY(tc_storage_alloc(n, &s));
    const unsigned char *from = (*io)->data;
    unsigned char *to = s->data;
    for (size_t i = 0; i < n; i++) to[i] = from[i] != 0;
    tc_storage_release(*io);
    *io = s;
    return NULL;
}

void tc_tensors_leave_out(tc_tensors *t, const char *name, const char *what) {
    tc_metadata m = {tc_arena_strdup(&t->arena, name), tc_arena_strdup(&t->arena, what)};
    tc_vec_push(&t->left_out, m);
}

/* If nothing was loaded: TC_UNSUPPORTED naming the first tensor that was left out. Else NULL. */
static tc_status check_any(const tc_tensors *t, const char *file) {
    if (t->items.len || !t->left_out.len) return NULL;
    return tc_error(TC_UNSUPPORTED, "%s: %s is %s, which is not supported", file, t->left_out.data[0].key, t->left_out.data[0].value);
}

tc_format tc_format_of(const void *data, size_t n) {
    const unsigned char *p = data;
    if (n == 0) return TC_FORMAT_EMPTY;
    if (n >= 6 && !memcmp(p, "\x93NUMPY", 6)) return TC_FORMAT_NPY;
    if (n >= 4 && (!memcmp(p, "PK\3\4", 4) || !memcmp(p, "PK\5\6", 4))) return TC_FORMAT_ZIP;
    if (n >= 4 && !memcmp(p, "GGUF", 4)) return TC_FORMAT_GGUF;
    if (n >= 9 && !p[4] && !p[5] && !p[6] && !p[7] && p[8] == '{') return TC_FORMAT_SAFETENSORS;
    if (n >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5) return TC_FORMAT_PICKLE;
    if (p[0] == '{') return TC_FORMAT_JSON;
    if (n >= 512 && !memcmp(p + 257, "ustar", 5)) return TC_FORMAT_TAR;
    if (tc_image_is(p, n)) return TC_FORMAT_IMAGE;
    if (tc_onnx_is_model(p, n)) return TC_FORMAT_ONNX;
    return TC_FORMAT_UNKNOWN;
}

bool tc_format_known(const void *data, size_t n) { return tc_format_of(data, n) != TC_FORMAT_UNKNOWN; }

const char *tc_format_name(tc_format f) {
    static const char *const names[] = {
        [TC_FORMAT_UNKNOWN] = "a file of unknown format",
        [TC_FORMAT_EMPTY] = "an empty file",
        [TC_FORMAT_ZIP] = "a ZIP archive",
        [TC_FORMAT_SAFETENSORS] = "a safetensors file",
        [TC_FORMAT_NPY] = "a .npy array",
        [TC_FORMAT_PICKLE] = "a pickle",
        [TC_FORMAT_GGUF] = "a GGUF file",
        [TC_FORMAT_JSON] = "a JSON text",
        [TC_FORMAT_TAR] = "a tar archive",
        [TC_FORMAT_ONNX] = "an ONNX model",
        [TC_FORMAT_IMAGE] = "an image",
    };
    return names[f];
}

/* ---- ZIP archives: npz, torch.save, PT2 ---- */
/* The file that has the weights that archive a leaves out, checked by its recorded sum. */
static tc_status find_outside(const tc_archive *a, tc_tensors *out) {
    tc_external_weights o;
    tc_archive *from = NULL;
    TC_TRY(tc_archive_external(a, &out->arena, &o));
    if (o.archive) TC_TRY(tc_archive_open_external(a, &o, &from));
    tc_archive_close(from);
    out->outside_path = o.path;
    return NULL;
}

/* The weights of every program of an archive. Programs share weights, so each name is taken once. */
static tc_status load_archive(tc_blob *b, tc_tensors *out) {
    tc_archive *a;
    TC_TRY(tc_archive_open(b, &a));
    tc_status st = NULL;
    if (!tc_archive_count(a))
        st = tc_error(TC_CONTENT, "%s is a ZIP archive, expected one of torch.save, of torch.export.save or of NumPy (.npz)", b->name);
    for (size_t i = 0; i < tc_archive_count(a) && !st; i++) st = tc_archive_weights(a, tc_archive_name(a, i), out);
    if (!st && out->outside.len) st = find_outside(a, out);
    tc_archive_close(a);
    out->format = "archive";
    return st;
}

static tc_status load_zip(tc_blob *b, tc_tensors *out) {
    tc_zip *z;
    TC_TRY(tc_zip_open(b, &z));
    bool npz = tc_npz_is(z), torch = !npz && tc_saved_is_zip(z);
    bool empty = z->n == 0; /* numpy.savez without arrays */
    tc_status st = npz || empty ? tc_npz_read(z, out) : torch ? tc_saved_read_zip(z, out) : NULL;
    tc_zip_close(z);
    return npz || empty || torch ? st : load_archive(b, out);
}

static tc_status load_plain(tc_blob *b, tc_format f, tc_tensors *out) {
    tc_source_bytes s;
    tc_tensor t;
    tc_source_from_blob(&s, b);
    tc_status st;
    if (f == TC_FORMAT_SAFETENSORS) {
        st = tc_safetensors_read(&s, out);
    } else {
        st = tc_npy_read(&s, &t);
        if (!st) st = tc_tensors_add(out, "", t);
        out->format = "npy";
    }
    if (!st && s.pos < b->len) st = tc_source_error(&s, TC_CONTENT, "%zu more bytes after the tensors", b->len - s.pos);
    tc_source_close(&s);
    return st;
}

static tc_status load_content(tc_blob *b, tc_tensors *out) {
    tc_format f = tc_format_of(b->data, b->len);
    switch (f) {
    case TC_FORMAT_SAFETENSORS:
    case TC_FORMAT_NPY: return load_plain(b, f, out);
    case TC_FORMAT_ZIP: return load_zip(b, out);
    case TC_FORMAT_PICKLE: return tc_saved_read_legacy(b, out);
    case TC_FORMAT_TAR: return tc_saved_read_tar(b, out);
    case TC_FORMAT_EMPTY: return tc_error(TC_CONTENT, "%s: 0 bytes, expected tensors", b->name);
    default: break;
    }
    /* No known magic: the error is that of the format which the beginning resembles most. */
    if (b->len > 8 && b->len >= 10 && (b->data[8] == '{' || b->data[8] == '[') && (b->data[6] | b->data[7]) != 0 && b->data[0] != '{')
        f = TC_FORMAT_SAFETENSORS;
    if (b->len < 8 && memchr(b->data, 0, b->len)) f = TC_FORMAT_SAFETENSORS;
    if (f == TC_FORMAT_SAFETENSORS) return load_plain(b, f, out);
    return tc_error(f == TC_FORMAT_GGUF ? TC_UNSUPPORTED : TC_CONTENT,
                    "%s is %s, expected safetensors, .npy, .npz, what torch.save wrote, or a .pt2 archive", b->name, tc_format_name(f));
}

tc_status tc_tensors_load_blob(tc_blob *b, tc_tensors *out) {
    tc_tensors loaded = {
        .raw = out->raw, .check_all = out->check_all, .checked = out->checked, .leave_wide = out->leave_wide, .keep_tree = out->keep_tree};
    tc_status st = load_content(b, &loaded);
    if (!st) st = check_any(&loaded, b->name);
    if (st) tc_tensors_deinit(&loaded);
    else *out = loaded;
    return st;
}

tc_status tc_tensors_load(const char *path, tc_tensors *out) {
    tc_blob *b;
    TC_TRY(tc_blob_open_known(path, tc_format_known, &b));
    tc_status st = tc_tensors_load_blob(b, out);
    tc_blob_release(b);
    return st;
}
