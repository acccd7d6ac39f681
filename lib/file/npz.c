/* .npz, read: each entry through the reader of .npy. */
#include "file/npz.h"

#include "file/npy.h"

static size_t stem(const char *name) {
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".npy") ? n - 4 : 0;
}

bool tc_npz_is(const tc_zip *z) {
    for (size_t i = 0; i < z->n; i++)
        if (!stem(z->entries[i].name)) return false;
    return z->n > 0;
}

static tc_status read_one(tc_blob *b, size_t begin, size_t end, tc_tensor *out) {
    tc_source_bytes s;
    tc_source_from_blob(&s, b);
    s.pos = begin;
    tc_status st = tc_npy_read(&s, out);
    if (!st && s.pos != end) {
        st = tc_source_error(&s, TC_CONTENT, "an array of %zu bytes in an entry of %zu", s.pos - begin, end - begin);
        tc_tensor_deinit(out);
    }
    tc_source_close(&s);
    return st;
}

static tc_status read_entry(const tc_zip *z, const tc_zip_entry *e, tc_tensors *all, tc_tensor *out) {
    if (e->method == 0) {
        TC_TRY(tc_zip_check_some(z, e, all->check_all, &all->checked));
        return read_one(z->blob, e->offset, e->offset + e->len, out);
    }
    tc_blob *b;
    TC_TRY(tc_zip_inflate(z, e, &b));
    tc_status st = read_one(b, 0, b->len, out);
    tc_blob_release(b);
    return st;
}

/* The reason why the .npy reader refused an entry, without the place: "a structured .npy array". */
static const char *kind_of(tc_arena *a, tc_status st) {
    const char *text = tc_status_message(st);
    for (const char *p; (p = strstr(text, ": "));) text = p + 2;
    return tc_arena_strdup(a, text);
}

tc_status tc_npz_read(const tc_zip *z, tc_tensors *out) {
    out->format = "npz";
    for (size_t i = 0; i < z->n; i++) {
        tc_tensor t;
        const char *name = tc_arena_strndup(&out->arena, z->entries[i].name, stem(z->entries[i].name));
        tc_status st = read_entry(z, &z->entries[i], out, &t);
        if (tc_status_code(st) == TC_UNSUPPORTED) {
            tc_tensors_leave_out(out, name, kind_of(&out->arena, st));
            tc_status_free(st);
            continue;
        }
        TC_TRY(st, "%s", z->entries[i].name);
        TC_TRY(tc_tensors_add(out, name, t), "%s", z->blob->name);
    }
    return NULL;
}
