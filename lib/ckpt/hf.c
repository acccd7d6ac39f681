/* Reads folders of weight files: HuggingFace's, with or without an index, and shards of torch.distributed.checkpoint's HuggingFace storage, whose
 * headers hold the offset of each piece (DCP_SHARDING_INFO). */
#include "base/json.h"
#include "ckpt/internal.h"

#include <stdio.h>

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    return n > m && !strcmp(s + n - m, tail);
}
static bool is_index(const char *name) { return ends_with(name, ".index.json"); }
static bool is_safetensors(const char *name) { return ends_with(name, ".safetensors"); }
static bool is_torch_bin(const char *name) { return !strncmp(name, "pytorch_model", 13) && ends_with(name, ".bin"); }

/* A file name from an index must not leave the folder. */
static bool is_plain_name(const char *s, size_t n) {
    return n && n < 256 && !memchr(s, '/', n) && !memchr(s, '\\', n) && !memchr(s, 0, n) && !(n == 1 && *s == '.') &&
           !(n == 2 && s[0] == '.' && s[1] == '.');
}

static tc_status load(tc_ckpt *c, const char *path, tc_tensors *out) {
    *out = (tc_tensors){.raw = c->raw, .check_all = c->check_all, .checked = c->checked};
    tc_status st = tc_tensors_load(path, out);
    c->checked = out->checked;
    return st;
}

/* ---- shards ---- */
typedef struct {
    int64_t offset[TC_MAX_RANK];
    int rank;
} place;

static tc_status read_places(tc_ckpt *c, const char *path, const char *json, tc_map *out) {
    tc_jread j;
    tc_jr_init(&j, tc_arena_printf(&c->arena, "%s: DCP_SHARDING_INFO", path), json, strlen(json));
    tc_jr_object(&j);
    for (tc_str name; tc_jr_member(&j, &name);) {
        void **slot = tc_map_put(out, name.s, name.n);
        if (*slot) tc_jr_fail(&j, TC_CONTENT, "a tensor is named twice");
        place *p = TC_NEW(&c->arena, place);
        *slot = p;
        p->rank = -1;
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (!tc_str_is(key, "saved_offsets")) {
                tc_jr_skip(&j);
                continue;
            }
            p->rank = 0;
            for (tc_jr_array(&j); tc_jr_item(&j);) {
                int64_t v = tc_jr_int(&j);
                if (v < 0) tc_jr_fail(&j, TC_CONTENT, "a negative saved_offset, %lld", (long long)v);
                else if (p->rank == TC_MAX_RANK) tc_jr_fail(&j, TC_UNSUPPORTED, "more than %d dimensions", TC_MAX_RANK);
                else p->offset[p->rank++] = v;
            }
        }
    }
    return tc_jr_finish(&j);
}

static tc_status add_shard(tc_ckpt *c, tc_tensors *t, const char *path, const tc_map *places, bool sharded) {
    for (size_t i = 0; i < t->items.len; i++) {
        tc_named *n = &t->items.data[i];
        const place *p = tc_map_find(places, n->name);
        if (sharded && (!p || p->rank < 0)) return tc_error(TC_CONTENT, "%s: %s is not in its DCP_SHARDING_INFO", path, n->name);
        if (p && p->rank != n->tensor.rank)
            return tc_error(TC_CONTENT, "%s: %s: saved_offsets has %d numbers, the part has %d dimensions", path, n->name, p->rank, n->tensor.rank);
        tc_tensor taken = n->tensor;
        n->tensor = (tc_tensor){0};
        TC_TRY(tc_ckpt_add_piece(c, tc_ckpt_entry(c, n->name), taken, p ? p->offset : NULL, path));
    }
    return NULL;
}

static tc_status open_shard(tc_ckpt *c, const char *path) {
    tc_tensors t;
    tc_map places = {0};
    bool sharded = false, there;
    TC_TRY(tc_file_found(path, &there));
    tc_status st = load(c, path, &t);
    for (size_t i = 0; i < t.metadata.len && !st; i++)
        if (!strcmp(t.metadata.data[i].key, "DCP_SHARDING_INFO")) {
            sharded = true;
            st = read_places(c, path, t.metadata.data[i].value, &places);
        }
    if (!st) st = add_shard(c, &t, path, &places, sharded);
    tc_map_free(&places);
    tc_tensors_deinit(&t);
    return st;
}

/* model-00001-of-00003.safetensors: checks that all N exist. DCP numbers files by rank, and a rank may have none. */
static tc_status check_complete(tc_ckpt *c, const char *dir, char *const *files, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *of = strstr(files[i], "-of-");
        if (!of || of - files[i] < 6 || !strncmp(files[i], "shard-", 6)) continue;
        long total = strtol(of + 4, NULL, 10);
        int head = (int)(of - files[i]) - 5;
        for (long k = 1; k <= total && k < 100000; k++) {
            const char *name = tc_arena_printf(&c->arena, "%.*s%05ld%s", head, files[i], k, of);
            mode_t type;
            TC_TRY(tc_path_type(tc_arena_printf(&c->arena, "%s/%s", dir, name), &type));
            if (!type) return tc_error(TC_CONTENT, "%s/%s is missing: there is %s", dir, name, files[i]);
        }
    }
    return NULL;
}

/* ---- index ---- */
static tc_status read_index(tc_ckpt *c, const char *path, const tc_buf *text, tc_map *files, int64_t *out_total) {
    tc_jread j;
    bool found = false;
    tc_map names = {0};
    tc_jr_init(&j, path, text->data, text->len);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "metadata") && tc_jr_peek(&j) == TC_JR_OBJECT) {
            tc_jr_object(&j);
            for (tc_str k; tc_jr_member(&j, &k);) {
                int64_t v;
                double d;
                bool total = tc_str_is(k, "total_size") && tc_jr_peek(&j) == TC_JR_NUMBER;
                if (!total) tc_jr_skip(&j);
                else *out_total = tc_jr_number(&j, &v, &d) ? v : (int64_t)(d > 0 && d < 9e18 ? d : -1);
            }
            continue;
        }
        if (!tc_str_is(key, "weight_map")) {
            tc_jr_skip(&j);
            continue;
        }
        if (found) tc_jr_fail(&j, TC_CONTENT, "two weight_maps");
        found = true;
        tc_jr_object(&j);
        for (tc_str name; tc_jr_member(&j, &name);) {
            void **slot = tc_map_put(&names, name.s, name.n);
            char *tensor = tc_arena_strndup(&c->arena, name.s, name.n);
            if (*slot) tc_jr_fail(&j, TC_CONTENT, "%.200s is named twice", tensor);
            *slot = tensor;
            tc_str file = tc_jr_string(&j);
            if (!tc_jr_ok(&j)) break;
            if (!is_plain_name(file.s, file.n)) {
                tc_jr_fail(&j, TC_CONTENT, "%.200s lies in '%.*s', which is no name of a file in this folder", tensor,
                           (int)(file.n < 200 ? file.n : 200), file.s);
                break;
            }
            tc_map **of = (tc_map **)tc_map_put(files, file.s, file.n);
            if (!*of) *of = tc_xcalloc(1, sizeof **of);
            tc_map_set(*of, tensor, tensor);
        }
    }
    if (tc_jr_ok(&j) && !found) tc_jr_fail(&j, TC_CONTENT, "no weight_map");
    tc_map_free(&names);
    return tc_jr_finish(&j);
}

/* Takes from each file the tensors that the index assigns to it; others are skipped with a note. */
static tc_status take_indexed(tc_ckpt *c, const char *index, const char *path, const tc_map *wanted, int64_t *io_bytes) {
    tc_tensors t;
    tc_status st = NULL;
    bool there;
    TC_TRY(tc_file_found(path, &there));
    if (!there) return tc_error(TC_CONTENT, "%s, which %s names, is missing", path, index);
    TC_TRY(load(c, path, &t));
    for (size_t i = 0; i < wanted->len && !st; i++)
        if (!tc_tensors_find(&t, wanted->entries[i].key))
            st = tc_error(TC_CONTENT, "%s says that %s is in %s; it is not", index, wanted->entries[i].key, path);
    for (size_t i = 0; i < t.items.len && !st; i++) {
        tc_named *n = &t.items.data[i];
        if (!tc_map_find(wanted, n->name)) {
            tc_ckpt_note(c, n->name, tc_arena_printf(&c->arena, "the index does not name it in %s: left out", path));
            continue;
        }
        *io_bytes += (int64_t)tc_tensor_bytes(&n->tensor);
        tc_tensor taken = n->tensor;
        n->tensor = (tc_tensor){0};
        st = tc_ckpt_add_piece(c, tc_ckpt_entry(c, n->name), taken, NULL, path);
    }
    tc_tensors_deinit(&t);
    return st;
}

tc_status tc_ckpt_open_index(tc_ckpt *c, const char *path) {
    tc_buf text = {0};
    tc_map files = {0};
    int64_t total = -1, bytes = 0;
    const char *slash = strrchr(path, '/');
    c->format = "HuggingFace";
    tc_status st = tc_file_read(path, 256 << 20, &text);
    if (!st) st = read_index(c, path, &text, &files, &total);
    for (size_t i = 0; i < files.len && !st; i++) {
        const char *file = tc_arena_printf(&c->arena, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, files.entries[i].key);
        st = take_indexed(c, path, tc_arena_strdup(&c->arena, file), files.entries[i].value, &bytes);
    }
    if (!st && total >= 0 && total != bytes)
        tc_ckpt_note(c, path, tc_arena_printf(&c->arena, "total_size says %lld, the tensors have %lld bytes", (long long)total, (long long)bytes));
    for (size_t i = 0; i < files.len; i++) {
        tc_map_free(files.entries[i].value);
        free(files.entries[i].value);
    }
    tc_map_free(&files);
    tc_buf_free(&text);
    return st;
}

/* Prefers an index of safetensors files to one of .bin files. */
static const char *choose_index(char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], "model.safetensors.index.json")) return names[i];
    for (size_t i = 0; i < n; i++)
        if (strstr(names[i], ".safetensors.")) return names[i];
    return n ? names[0] : NULL;
}

tc_status tc_ckpt_open_hf(tc_ckpt *c, const char *dir) {
    char **files, **indices;
    size_t n, nindices;
    bool there;
    TC_TRY(tc_folder_names(&c->arena, dir, is_index, &indices, &nindices));
    const char *index = choose_index(indices, nindices);
    if (index) index = tc_arena_printf(&c->arena, "%s/%s", dir, index);
    if (index) TC_TRY(tc_file_found(index, &there));
    if (index) return tc_ckpt_open_index(c, index);
    TC_TRY(tc_folder_names(&c->arena, dir, is_safetensors, &files, &n));
    if (!n) TC_TRY(tc_folder_names(&c->arena, dir, is_torch_bin, &files, &n));
    if (!n) return tc_error(TC_CONTENT, "%s: neither .metadata, nor an index, nor a safetensors file is in it: not a finished checkpoint", dir);
    TC_TRY(check_complete(c, dir, files, n));
    c->format = "safetensors files";
    for (size_t i = 0; i < n; i++) TC_TRY(open_shard(c, tc_arena_printf(&c->arena, "%s/%s", dir, files[i])));
    return NULL;
}
