/* Named tensors, and the one door through which files of weights are opened: by content, never by name. */
#include "file/tensors.h"

#include "base/json.h"
#include "file/npy.h"
#include "file/safetensors.h"

#include <dirent.h>
#include <sys/stat.h>

void tc_tensors_deinit(tc_tensors *t) {
    for (size_t i = 0; i < t->items.len; i++) tc_tensor_deinit(&t->items.data[i].tensor);
    tc_vec_free(&t->items);
    tc_vec_free(&t->metadata);
    tc_map_free(&t->by_name);
    tc_arena_free(&t->arena);
    *t = (tc_tensors){0};
}

const tc_tensor *tc_tensors_find(const tc_tensors *t, const char *name) {
    uintptr_t i = (uintptr_t)tc_map_find(&t->by_name, name);
    return i ? &t->items.data[i - 1].tensor : NULL;
}

tc_status tc_tensors_add(tc_tensors *t, const char *name, tc_tensor tensor) {
    void **slot = tc_map_put(&t->by_name, name, strlen(name));
    if (*slot) {
        tc_tensor_deinit(&tensor);
        return tc_error(TC_CONTENT, "two tensors are named %s", name);
    }
    tc_named item = {tc_arena_strdup(&t->arena, name), tensor};
    tc_vec_push(&t->items, item);
    *slot = (void *)(uintptr_t)t->items.len;
    return NULL;
}

void tc_tensors_add_metadata(tc_tensors *t, const char *key, const char *value) {
    tc_metadata m = {tc_arena_strdup(&t->arena, key), tc_arena_strdup(&t->arena, value)};
    tc_vec_push(&t->metadata, m);
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
    return TC_FORMAT_UNKNOWN;
}

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
    };
    return names[f];
}

tc_status tc_tensors_load_blob(tc_blob *b, tc_tensors *out) {
    tc_source_bytes s;
    tc_tensor t;
    tc_format f = tc_format_of(b->data, b->len);
    if (f != TC_FORMAT_SAFETENSORS && f != TC_FORMAT_NPY)
        return tc_error(f == TC_FORMAT_ZIP || f == TC_FORMAT_PICKLE || f == TC_FORMAT_GGUF ? TC_UNSUPPORTED : TC_CONTENT,
                        "%s is %s, expected safetensors or .npy", b->name, tc_format_name(f));
    tc_source_from_blob(&s, b);
    tc_status st;
    if (f == TC_FORMAT_SAFETENSORS) {
        st = tc_safetensors_read(&s, out);
    } else {
        st = tc_npy_read(&s, &t);
        if (!st) st = tc_tensors_add(out, "", t);
    }
    if (!st && s.pos < b->len) st = tc_source_error(&s, TC_CONTENT, "%zu more bytes after the tensors", b->len - s.pos);
    tc_source_close(&s);
    return st;
}

static tc_status load_file(const char *path, tc_tensors *out) {
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    tc_status st = tc_tensors_load_blob(b, out);
    tc_blob_release(b);
    return st;
}

/* {"weight_map": {"fc.weight": "model-00001-of-00002.safetensors"}}: every shard is opened once, and must hold what the map says. */
static tc_status load_index(const char *path, tc_tensors *out) {
    tc_buf text = {0}, shard = {0};
    tc_map shards = {0}, wanted = {0};
    tc_jread j;
    const char *slash = strrchr(path, '/');
    tc_status st = tc_file_read(path, 256 << 20, &text);
    if (st) return st;
    tc_jr_init(&j, path, text.data, text.len);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (!tc_str_is(key, "weight_map")) {
            tc_jr_skip(&j);
            continue;
        }
        tc_jr_object(&j);
        for (tc_str name; tc_jr_member(&j, &name);) {
            *tc_map_put(&wanted, name.s, name.n) = (void *)(uintptr_t)1;
            tc_str file = tc_jr_string(&j);
            if (!file.n || memchr(file.s, '/', file.n))
                tc_jr_fail(&j, TC_CONTENT, "a shard outside the folder: %.*s", (int)(file.n < 100 ? file.n : 100), file.s);
            else *tc_map_put(&shards, file.s, file.n) = (void *)(uintptr_t)1;
        }
    }
    st = tc_jr_finish(&j);
    for (size_t i = 0; !st && i < shards.len; i++) {
        shard.len = 0;
        tc_buf_printf(&shard, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, shards.entries[i].key);
        st = load_file(shard.data, out);
    }
    for (size_t i = 0; !st && i < wanted.len; i++)
        if (!tc_tensors_find(out, wanted.entries[i].key)) st = tc_error(TC_CONTENT, "%s names %s, which no shard holds", path, wanted.entries[i].key);
    tc_map_free(&shards);
    tc_map_free(&wanted);
    tc_buf_free(&shard);
    tc_buf_free(&text);
    return st;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    return n > m && !strcmp(s + n - m, tail);
}

static tc_status load_folder(const char *path, tc_tensors *out) {
    DIR *d = opendir(path);
    if (!d) return tc_error(TC_ENV, "%s: cannot open the folder", path);
    TC_VEC(char *) files = {0};
    char *index = NULL;
    for (struct dirent *e; (e = readdir(d));) {
        tc_buf b = {0};
        bool is_index = ends_with(e->d_name, ".safetensors.index.json");
        if (!is_index && !ends_with(e->d_name, ".safetensors")) continue;
        tc_buf_printf(&b, "%s/%s", path, e->d_name);
        if (is_index && !index) index = b.data;
        else tc_vec_push(&files, b.data);
    }
    closedir(d);
    qsort(files.data, files.len, sizeof *files.data, by_text);
    tc_status st = NULL;
    if (index) st = load_index(index, out);
    else if (!files.len) st = tc_error(TC_CONTENT, "%s holds no .safetensors file", path);
    for (size_t i = 0; i < files.len; i++) {
        if (!st && !index) st = load_file(files.data[i], out);
        free(files.data[i]);
    }
    free(index);
    tc_vec_free(&files);
    return st;
}

tc_status tc_tensors_load(const char *path, tc_tensors *out) {
    struct stat info;
    bool known = stat(path, &info) == 0;
    tc_tensors loaded = {.leave_wide = out->leave_wide};
    tc_status st = known && S_ISDIR(info.st_mode)            ? load_folder(path, &loaded)
                   : known && ends_with(path, ".index.json") ? load_index(path, &loaded)
                                                             : load_file(path, &loaded);
    if (st) tc_tensors_deinit(&loaded);
    else *out = loaded;
    return st;
}
