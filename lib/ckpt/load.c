/* Opening and verifying checkpoints. Pieces of a sharded tensor lie in several files; saved_offsets says where each belongs. */
#include "base/json.h"
#include "ckpt/ckpt.h"
#include "ckpt/internal.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

typedef struct {
    const tc_tensor *data;
    int64_t offset[TC_MAX_RANK];
    const char *file;
} piece;
typedef struct {
    const char *name;
    TC_VEC(piece) pieces;
} entry;

struct tc_ckpt {
    tc_arena arena;
    TC_VEC(tc_tensors *) files;
    TC_VEC(entry *) entries;
    tc_map by_name;
    tc_buf state;
    int64_t step;
};

void tc_ckpt_close(tc_ckpt *c) {
    if (!c) return;
    for (size_t i = 0; i < c->files.len; i++) {
        tc_tensors_deinit(c->files.data[i]);
        free(c->files.data[i]);
    }
    for (size_t i = 0; i < c->entries.len; i++) tc_vec_free(&c->entries.data[i]->pieces);
    tc_vec_free(&c->files);
    tc_vec_free(&c->entries);
    tc_map_free(&c->by_name);
    tc_buf_free(&c->state);
    tc_arena_free(&c->arena);
    free(c);
}

static tc_status read_offsets(tc_ckpt *c, const char *path, const char *json, tc_map *out) {
    tc_jread j;
    tc_jr_init(&j, path, json, strlen(json));
    tc_jr_object(&j);
    for (tc_str name; tc_jr_member(&j, &name);) {
        int64_t *offset = TC_NEWN(&c->arena, int64_t, TC_MAX_RANK);
        *tc_map_put(out, name.s, name.n) = offset;
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (!tc_str_is(key, "saved_offsets")) {
                tc_jr_skip(&j);
                continue;
            }
            int d = 0;
            for (tc_jr_array(&j); tc_jr_item(&j);) {
                int64_t v = tc_jr_int(&j);
                if (d == TC_MAX_RANK || v < 0) tc_jr_fail(&j, TC_CONTENT, "DCP_SHARDING_INFO: bad offsets");
                else offset[d++] = v;
            }
        }
    }
    return tc_jr_finish(&j);
}

static tc_status open_shard(tc_ckpt *c, const char *path) {
    tc_tensors *t = tc_xcalloc(1, sizeof *t);
    tc_vec_push(&c->files, t);
    TC_TRY(tc_tensors_load(path, t));
    tc_map offsets = {0};
    tc_status s = NULL;
    for (size_t i = 0; i < t->metadata.len && !s; i++)
        if (strcmp(t->metadata.data[i].key, "DCP_SHARDING_INFO") == 0) s = read_offsets(c, path, t->metadata.data[i].value, &offsets);
    const char *file = tc_arena_strdup(&c->arena, path);
    for (size_t i = 0; i < t->items.len && !s; i++) {
        const char *name = t->items.data[i].name;
        entry *e = tc_map_find(&c->by_name, name);
        if (!e) {
            e = TC_NEW(&c->arena, entry);
            e->name = tc_arena_strdup(&c->arena, name);
            tc_map_set(&c->by_name, name, e);
            tc_vec_push(&c->entries, e);
        }
        piece p = {.data = &t->items.data[i].tensor, .file = file};
        const int64_t *offset = tc_map_find(&offsets, name);
        if (offset) memcpy(p.offset, offset, sizeof p.offset);
        tc_vec_push(&e->pieces, p);
    }
    tc_map_free(&offsets);
    return s;
}

static int by_name(const void *a, const void *b) { return strcmp((*(entry *const *)a)->name, (*(entry *const *)b)->name); }

static bool is_shard(const char *name) {
    size_t n = strlen(name);
    return n > 12 && strcmp(name + n - 12, ".safetensors") == 0;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Names in a folder that `want` accepts, sorted, in the arena. */
static tc_status list_files(tc_arena *a, const char *dir, bool (*want)(const char *), char ***out, size_t *out_n) {
    DIR *d = opendir(dir);
    if (!d) return tc_error(TC_ENV, "%s: not a checkpoint: cannot open the folder", dir);
    TC_VEC(char *) v = {0};
    for (struct dirent *e; (e = readdir(d));)
        if (want(e->d_name)) tc_vec_push(&v, tc_arena_strdup(a, e->d_name));
    closedir(d);
    if (v.len) qsort(v.data, v.len, sizeof *v.data, compare_names);
    *out = tc_arena_dup(a, v.data, v.len * sizeof *v.data);
    *out_n = v.len;
    tc_vec_free(&v);
    return NULL;
}

typedef struct {
    const char *name, *hash;
    int64_t bytes;
} listed;
typedef struct {
    TC_VEC(listed) files;
    int64_t step;
} manifest;

/* checkpoint.json; *out_found false when there is none (another program's checkpoint). */
static tc_status read_manifest(tc_arena *a, const char *dir, manifest *m, bool *out_found) {
    m->step = -1;
    const char *path = tc_arena_printf(a, "%s/checkpoint.json", dir);
    FILE *f = fopen(path, "re");
    *out_found = f != NULL;
    if (!f) return NULL;
    fclose(f);
    tc_buf b = {0};
    TC_TRY(tc_file_read(path, 64 << 20, &b));
    tc_jread j;
    tc_jr_init(&j, path, tc_buf_str(&b), b.len);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "step")) {
            m->step = tc_jr_int(&j);
        } else if (tc_str_is(key, "files")) {
            tc_jr_object(&j);
            for (tc_str name; tc_jr_member(&j, &name);) {
                listed l = {.name = tc_arena_strndup(a, name.s, name.n), .bytes = -1, .hash = ""};
                tc_jr_object(&j);
                for (tc_str part; tc_jr_member(&j, &part);) {
                    if (tc_str_is(part, "bytes")) l.bytes = tc_jr_int(&j);
                    else if (tc_str_is(part, "blake2b")) l.hash = tc_jr_strdup(&j, a);
                    else tc_jr_skip(&j);
                }
                tc_vec_push(&m->files, l);
            }
        } else {
            tc_jr_skip(&j);
        }
    }
    tc_status s = tc_jr_finish(&j);
    tc_buf_free(&b);
    return s;
}

static tc_status verify(tc_arena *a, const char *path) {
    manifest m = {0};
    bool found;
    tc_status s = read_manifest(a, path, &m, &found);
    if (!s && !found) s = tc_error(TC_CONTENT, "%s/checkpoint.json: missing, the checkpoint is not complete", path);
    char **shards;
    size_t nshards = 0;
    if (!s) s = list_files(a, path, is_shard, &shards, &nshards);
    for (size_t k = 0; k < nshards && !s; k++) {
        bool known = false;
        for (size_t i = 0; i < m.files.len; i++) known |= strcmp(m.files.data[i].name, shards[k]) == 0;
        if (!known) s = tc_error(TC_CONTENT, "%s/%s: not in checkpoint.json", path, shards[k]);
    }
    for (size_t i = 0; i < m.files.len && !s; i++) {
        const listed *l = &m.files.data[i];
        const char *file = tc_arena_printf(a, "%s/%s", path, l->name);
        char hash[65];
        int64_t bytes;
        s = strchr(l->name, '/') ? tc_error(TC_CONTENT, "%s/checkpoint.json: file name '%s'", path, l->name) : tc_ckpt_hash(file, hash, &bytes);
        if (tc_status_code(s) == TC_ENV) {
            tc_status_free(s);
            s = tc_error(TC_CONTENT, "%s: missing or unreadable", file);
        }
        if (s) break;
        if (bytes != l->bytes) s = tc_error(TC_CONTENT, "%s: %lld bytes, expected %lld", file, (long long)bytes, (long long)l->bytes);
        else if (strcmp(hash, l->hash)) s = tc_error(TC_CONTENT, "%s: damaged: BLAKE2b %.16s..., expected %.16s...", file, hash, l->hash);
    }
    tc_vec_free(&m.files);
    return s;
}

tc_status tc_ckpt_verify(const char *path) {
    tc_arena a = {0};
    tc_status s = verify(&a, path);
    tc_arena_free(&a);
    return s;
}

static tc_status open_all(tc_ckpt *c, const char *path) {
    char **shards;
    size_t n;
    manifest m = {0};
    bool found;
    tc_status s = read_manifest(&c->arena, path, &m, &found);
    tc_vec_free(&m.files);
    c->step = m.step;
    TC_TRY(s);
    TC_TRY(list_files(&c->arena, path, is_shard, &shards, &n));
    if (!n) return tc_error(TC_CONTENT, "%s: no safetensors file in it", path);
    for (size_t i = 0; i < n; i++) TC_TRY(open_shard(c, tc_arena_printf(&c->arena, "%s/%s", path, shards[i])));
    qsort(c->entries.data, c->entries.len, sizeof *c->entries.data, by_name);
    for (size_t i = 0; i < c->entries.len; i++)
        *tc_map_put(&c->by_name, c->entries.data[i]->name, strlen(c->entries.data[i]->name)) = (void *)(i + 1);
    if (!found) return NULL;
    return tc_file_read(tc_arena_printf(&c->arena, "%s/state.json", path), 256 << 20, &c->state);
}

tc_status tc_ckpt_open(const char *path, tc_ckpt **out) {
    *out = NULL;
    tc_ckpt *c = tc_xcalloc(1, sizeof *c);
    tc_status s = open_all(c, path);
    if (s) {
        tc_ckpt_close(c);
        return s;
    }
    *out = c;
    return NULL;
}

size_t tc_ckpt_count(const tc_ckpt *c) { return c->entries.len; }
const char *tc_ckpt_name(const tc_ckpt *c, size_t i) { return c->entries.data[i]->name; }
int64_t tc_ckpt_find(const tc_ckpt *c, const char *name) { return (int64_t)(intptr_t)tc_map_find(&c->by_name, name) - 1; }
const char *tc_ckpt_state(const tc_ckpt *c) { return c->state.len ? c->state.data : "{}"; }
int64_t tc_ckpt_step(const tc_ckpt *c) { return c->step; }

/* Copies a piece to its place in the whole tensor, row by row of the last dimension. */
static void place(const piece *p, tc_tensor *whole) {
    const tc_tensor *t = p->data;
    size_t item = tc_dtype_size(t->dtype);
    int64_t numel = tc_tensor_numel(t), last = t->rank ? t->size[t->rank - 1] : 1, index[TC_MAX_RANK] = {0};
    const char *from = tc_tensor_data(t);
    char *to = tc_tensor_data(whole);
    for (int64_t row = 0; last && row < numel / last; row++) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++) at += (index[d] + p->offset[d]) * whole->stride[d];
        memcpy(to + (size_t)at * item, from + (size_t)(row * last) * item, (size_t)last * item);
        for (int d = t->rank - 2; d >= 0 && ++index[d] == t->size[d]; d--) index[d] = 0;
    }
}

tc_status tc_ckpt_tensor(const tc_ckpt *c, size_t i, tc_tensor *out) {
    const entry *e = c->entries.data[i];
    const piece *first = &e->pieces.data[0];
    if (e->pieces.len == 1) {
        bool whole = true;
        for (int d = 0; d < first->data->rank; d++) whole = whole && first->offset[d] == 0;
        if (!whole) return tc_error(TC_CONTENT, "%s: %s is a part of a tensor whose beginning is missing", first->file, e->name);
        *out = tc_tensor_share(first->data);
        return NULL;
    }
    int64_t size[TC_MAX_RANK] = {0}, sum = 0, numel;
    for (size_t k = 0; k < e->pieces.len; k++) {
        const piece *p = &e->pieces.data[k];
        if (p->data->rank != first->data->rank || p->data->dtype != first->data->dtype)
            return tc_error(TC_CONTENT, "%s: %s has another type or rank than in %s", p->file, e->name, first->file);
        for (int d = 0; d < p->data->rank; d++) {
            int64_t end;
            if (!tc_add_i64(p->offset[d], p->data->size[d], &end))
                return tc_error(TC_CONTENT, "%s: %s: offset %lld", p->file, e->name, (long long)p->offset[d]);
            if (end > size[d]) size[d] = end;
        }
        sum += tc_tensor_numel(p->data);
    }
    TC_TRY(tc_tensor_empty(first->data->dtype, first->data->rank, size, out), "%s", e->name);
    numel = tc_tensor_numel(out);
    if (sum != numel) {
        tc_tensor_deinit(out);
        return tc_error(TC_CONTENT, "%s: the parts of %s hold %lld elements, expected %lld", first->file, e->name, (long long)sum, (long long)numel);
    }
    for (size_t k = 0; k < e->pieces.len; k++) place(&e->pieces.data[k], out);
    return NULL;
}

static bool is_checkpoint(const char *path) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%s/checkpoint.json", path);
    bool is = access(b.data, F_OK) == 0;
    tc_buf_free(&b);
    return is;
}

static tc_status model_weights(const char *path, tc_tensors *out) {
    static const char prefix[] = "model.";
    tc_ckpt *c;
    TC_TRY(tc_ckpt_open(path, &c));
    tc_status st = NULL;
    for (size_t i = 0; i < tc_ckpt_count(c) && !st; i++) {
        const char *name = tc_ckpt_name(c, i);
        tc_tensor t;
        if (strncmp(name, prefix, sizeof prefix - 1)) continue;
        st = tc_ckpt_tensor(c, i, &t);
        if (!st) st = tc_tensors_add(out, name + sizeof prefix - 1, t);
    }
    tc_ckpt_close(c);
    return st;
}

tc_status tc_ckpt_weights(const char *path, tc_tensors *out) {
    tc_buf latest = {0};
    tc_buf_printf(&latest, "%s/latest", path);
    const char *from = is_checkpoint(path) ? path : is_checkpoint(latest.data) ? latest.data : NULL;
    tc_status st = from ? model_weights(from, out) : tc_tensors_load(path, out);
    tc_buf_free(&latest);
    return st;
}
