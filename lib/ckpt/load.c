/* Opens and verifies checkpoints of all formats (ckpt.h). */
#include "base/json.h"
#include "ckpt/ckpt.h"
#include "ckpt/internal.h"

#include <stdio.h>

void tc_ckpt_close(tc_ckpt *c) {
    if (!c) return;
    for (size_t i = 0; i < c->entries.len; i++) {
        tc_entry *e = c->entries.data[i];
        for (size_t k = 0; k < e->pieces.len; k++) tc_tensor_deinit(&e->pieces.data[k].data);
        tc_vec_free(&e->pieces);
    }
    tc_vec_free(&c->entries);
    tc_vec_free(&c->values);
    tc_vec_free(&c->metadata);
    tc_vec_free(&c->notes);
    tc_vec_free(&c->left_out);
    tc_tensors_deinit(&c->tree);
    tc_map_free(&c->by_name);
    tc_buf_free(&c->state);
    tc_arena_free(&c->arena);
    free(c->path);
    free(c);
}

static int by_name(const void *a, const void *b) { return strcmp((*(tc_entry *const *)a)->name, (*(tc_entry *const *)b)->name); }

static bool is_shard(const char *name) {
    size_t n = strlen(name);
    return n > 12 && strcmp(name + n - 12, ".safetensors") == 0;
}

typedef struct {
    const char *name, *hash;
    int64_t bytes;
} listed;
typedef struct {
    TC_VEC(listed) files;
    int64_t step;
} manifest;

/* {"bytes": N, "blake2b": HASH} of a file. */
static void read_listed(tc_jread *j, tc_arena *a, listed *l) {
    tc_jr_object(j);
    for (tc_str part; tc_jr_member(j, &part);) {
        if (tc_str_is(part, "bytes")) l->bytes = tc_jr_int(j);
        else if (tc_str_is(part, "blake2b")) l->hash = tc_jr_strdup(j, a);
        else tc_jr_fail(j, TC_CONTENT, "expected \"bytes\" or \"blake2b\"");
    }
}

static tc_status exists(tc_arena *a, const char *dir, const char *name, bool *out) {
    return tc_file_found(tc_arena_printf(a, "%s/%s", dir, name), out);
}

/* checkpoint.json; *out_found false when there is none (another program's checkpoint). It has no checksum itself, so exactly the known keys must be
 * present. */
static tc_status read_manifest(tc_arena *a, const char *dir, manifest *m, bool *out_found) {
    m->step = -1;
    const char *path = tc_arena_printf(a, "%s/checkpoint.json", dir);
    TC_TRY(exists(a, dir, "checkpoint.json", out_found));
    if (!*out_found) return NULL;
    tc_buf b = {0};
    TC_TRY(tc_file_read(path, 64 << 20, &b));
    int64_t version = -1;
    tc_jread j;
    tc_jr_init(&j, path, tc_buf_str(&b), b.len);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "tc_checkpoint")) {
            version = tc_jr_int(&j);
            if (version != 1) tc_jr_fail(&j, TC_UNSUPPORTED, "a checkpoint of form %lld, expected 1", (long long)version);
        } else if (tc_str_is(key, "step")) {
            m->step = tc_jr_int(&j);
        } else if (tc_str_is(key, "files")) {
            tc_jr_object(&j);
            for (tc_str name; tc_jr_member(&j, &name);) {
                listed l = {.name = tc_arena_strndup(a, name.s, name.n), .bytes = -1, .hash = ""};
                read_listed(&j, a, &l);
                tc_vec_push(&m->files, l);
            }
        } else {
            tc_jr_fail(&j, TC_CONTENT, "expected \"tc_checkpoint\", \"step\" or \"files\"");
        }
    }
    tc_status s = tc_jr_finish(&j);
    tc_buf_free(&b);
    if (!s && (version < 0 || m->step < 0)) s = tc_error(TC_CONTENT, "%s: no %s", path, version < 0 ? "tc_checkpoint" : "step");
    return s;
}

/* Checks that state.json, which has a checksum, names the same step. */
static tc_status verify_step(tc_arena *a, const char *dir, const manifest *m) {
    const char *path = tc_arena_printf(a, "%s/state.json", dir);
    int64_t step = -1;
    tc_buf b = {0};
    TC_TRY(tc_file_read(path, 64 << 20, &b));
    tc_jread j;
    tc_jr_init(&j, path, tc_buf_str(&b), b.len);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "step")) step = tc_jr_int(&j);
        else tc_jr_skip(&j);
    }
    tc_status s = tc_jr_finish(&j);
    tc_buf_free(&b);
    if (!s && step != m->step)
        s = tc_error(TC_CONTENT, "%s/checkpoint.json: step %lld, but state.json is of step %lld", dir, (long long)m->step, (long long)step);
    return s;
}

/* Checks that the manifest lists the required files. */
static tc_status check_listed(const char *path, const manifest *m) {
    bool shard = false, state = false;
    for (size_t i = 0; i < m->files.len; i++) {
        shard = shard || is_shard(m->files.data[i].name);
        state = state || !strcmp(m->files.data[i].name, "state.json");
    }
    if (shard && state) return NULL;
    return tc_error(TC_CONTENT, "%s/checkpoint.json: \"files\" names no %s", path, shard ? "state.json" : "file of tensors");
}

static tc_status verify(tc_arena *a, const char *path) {
    manifest m = {0};
    bool found;
    tc_status s = read_manifest(a, path, &m, &found);
    if (!s && !found) s = tc_error(TC_CONTENT, "%s/checkpoint.json: missing, the checkpoint is not complete", path);
    if (!s) s = check_listed(path, &m);
    char **shards;
    size_t nshards = 0;
    if (!s) s = tc_folder_names(a, path, is_shard, &shards, &nshards);
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
        mode_t type = 0;
        s = strchr(l->name, '/') ? tc_error(TC_CONTENT, "%s/checkpoint.json: file name '%s'", path, l->name) : tc_path_type(file, &type);
        if (!s) s = type == S_IFREG ? tc_ckpt_hash(file, hash, &bytes) : tc_error(TC_CONTENT, "%s: %s", file, type ? "not a file" : "missing");
        if (s) break;
        if (bytes != l->bytes) s = tc_error(TC_CONTENT, "%s: %lld bytes, expected %lld", file, (long long)bytes, (long long)l->bytes);
        else if (strcmp(hash, l->hash)) s = tc_error(TC_CONTENT, "%s: damaged: BLAKE2b %.16s..., expected %.16s...", file, hash, l->hash);
        if (!s && !strcmp(l->name, "state.json")) s = verify_step(a, path, &m);
    }
    tc_vec_free(&m.files);
    return s;
}

/* Resolves links such as "latest" once, since they may change while files are read. */
static char *follow_folder(const char *path) {
    char *bare = tc_xstrdup(path);
    for (size_t n = strlen(bare); n > 1 && bare[n - 1] == '/'; n--) bare[n - 1] = 0; /* a trailing slash would resolve the link */
    char *folder = tc_path_follow(bare);
    free(bare);
    return folder;
}

tc_status tc_ckpt_verify(const char *path) {
    tc_arena a = {0};
    mode_t type = S_IFDIR;
    char *folder = follow_folder(path);
    tc_status s = verify(&a, folder);
    if (s) tc_status_free(tc_path_type(folder, &type));
    if (!type) {
        tc_status_free(s);
        s = tc_error(TC_ENV, "%s: was removed while it was read", folder);
    }
    free(folder);
    tc_arena_free(&a);
    return s;
}

/* ---- opening ---- */
/* Adds all tensors of a file, each as a whole, and its values. */
static tc_status take_file(tc_ckpt *c, tc_tensors *t, const char *file) {
    tc_arena *a = &c->arena;
    const char *path = tc_arena_strdup(a, file);
    c->format = t->format;
    for (size_t i = 0; i < t->items.len; i++) {
        tc_named *n = &t->items.data[i];
        tc_entry *e = tc_ckpt_entry(c, *n->name ? n->name : "tensor"); /* the single array of a .npy file */
        e->container = n->container, e->opaque = n->opaque;
        TC_TRY(tc_ckpt_add_piece(c, e, tc_tensor_share(&n->tensor), NULL, path));
    }
    for (size_t i = 0; i < t->values.len; i++) {
        tc_metadata m = {tc_arena_strdup(a, t->values.data[i].key), tc_arena_strdup(a, t->values.data[i].value)};
        tc_vec_push(&c->values, m);
    }
    for (size_t i = 0; i < t->metadata.len; i++) {
        tc_metadata m = {tc_arena_strdup(a, t->metadata.data[i].key), tc_arena_strdup(a, t->metadata.data[i].value)};
        tc_vec_push(&c->metadata, m);
    }
    for (size_t i = 0; i < t->left_out.len; i++) {
        tc_metadata m = {tc_arena_strdup(a, t->left_out.data[i].key), tc_arena_strdup(a, t->left_out.data[i].value)};
        tc_vec_push(&c->left_out, m);
        tc_ckpt_note(c, m.key, tc_arena_printf(a, "%s, which is not supported: left out", m.value));
    }
    for (size_t i = 0; i < t->arrays.len; i++)
        tc_ckpt_note(c, tc_arena_strdup(a, t->arrays.data[i]), "a NumPy array, which is no tensor: not listed");
    return NULL;
}

/* Opens the file that holds the weights of an archive (--store-weights=extern, input). */
static tc_status follow(tc_ckpt *c, const tc_tensors *from) {
    tc_arena *a = &c->arena;
    tc_tensors t = {.raw = c->raw, .check_all = c->check_all};
    tc_map lost = {0}; /* several programs may share an external weight */
    const char *file = from->outside_path ? tc_arena_strdup(a, from->outside_path) : NULL;
    tc_status st = file ? tc_tensors_load(file, &t) : NULL;
    for (size_t i = 0; i < from->outside.len && !st; i++) {
        const char *name = from->outside.data[i];
        const tc_tensor *w = tc_tensors_find(&t, name);
        if (tc_map_find(&c->by_name, name)) continue; /* stored in the archive by another program */
        if (w) st = tc_ckpt_add_piece(c, tc_ckpt_entry(c, name), tc_tensor_share(w), NULL, file);
        else tc_map_set(&lost, name, &lost);
    }
    if (!st && file) tc_ckpt_note(c, "weights", tc_arena_printf(a, "stand in %s", file));
    if (!st && lost.len) tc_ckpt_note(c, "weights", tc_arena_printf(a, "%zu are outside of the archive%s", lost.len, file ? " and not there" : ""));
    tc_map_free(&lost);
    tc_tensors_deinit(&t);
    return st;
}

static tc_status open_file(tc_ckpt *c, const char *path) {
    tc_tensors t = {.raw = c->raw, .check_all = c->check_all, .keep_tree = c->keep_tree};
    size_t n = strlen(path);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (!strcmp(base, ".metadata")) return tc_ckpt_open_dcp(c, slash ? tc_arena_strndup(&c->arena, path, (size_t)(slash - path)) : ".");
    if (n > 11 && !strcmp(path + n - 11, ".index.json")) return tc_ckpt_open_index(c, path);
    TC_TRY(tc_tensors_load(path, &t));
    path = strcmp(path, "-") ? path : "stdin";
    tc_status st = take_file(c, &t, path);
    if (!st && t.outside.len) st = follow(c, &t);
    if (t.tree) {
        c->tree = (tc_tensors){.tree = t.tree, .arena = t.arena};
        t.tree = NULL, t.arena = (tc_arena){0};
    }
    tc_tensors_deinit(&t);
    return st;
}

tc_saved_node *tc_ckpt_tree(const tc_ckpt *c) { return c->tree.tree; }

static tc_status open_folder(tc_ckpt *c, const char *path) {
    manifest m = {0};
    bool found, latest = false, dcp = false;
    TC_TRY(exists(&c->arena, path, "checkpoint.json", &found));
    if (!found) TC_TRY(exists(&c->arena, path, "latest", &latest));
    if (latest) path = tc_arena_printf(&c->arena, "%s/latest", path);
    char *folder = follow_folder(path);
    free(c->path);
    path = c->path = folder;
    tc_status s = read_manifest(&c->arena, path, &m, &found);
    tc_vec_free(&m.files);
    c->step = m.step;
    TC_TRY(s);
    if (!found) TC_TRY(exists(&c->arena, path, ".metadata", &dcp));
    if (dcp) return tc_ckpt_open_dcp(c, path);
    TC_TRY(tc_ckpt_open_hf(c, path));
    if (!found) return NULL;
    c->format = "checkpoint";
    TC_TRY(exists(&c->arena, path, "state.json", &found));
    return tc_file_read(tc_arena_printf(&c->arena, "%s/state.json", path), 256 << 20, &c->state);
}

static tc_status open_all(tc_ckpt *c) {
    mode_t type = 0;
    if (strcmp(c->path, "-")) TC_TRY(tc_path_type(c->path, &type));
    TC_TRY(type == S_IFDIR ? open_folder(c, c->path) : open_file(c, c->path));
    for (size_t i = 0; i < c->entries.len; i++) TC_TRY(tc_ckpt_check_entry(c, c->entries.data[i]));
    if (c->entries.len) qsort(c->entries.data, c->entries.len, sizeof *c->entries.data, by_name);
    for (size_t i = 0; i < c->entries.len; i++)
        *tc_map_put(&c->by_name, c->entries.data[i]->name, strlen(c->entries.data[i]->name)) = (void *)(i + 1);
    return NULL;
}

tc_status tc_ckpt_open_as(const char *path, tc_ckpt_options o, tc_ckpt **out) {
    *out = NULL;
    tc_ckpt *c = tc_xcalloc(1, sizeof *c);
    c->path = tc_xstrdup(path);
    c->format = "";
    c->step = -1;
    c->raw = o.raw, c->check_all = o.check_all, c->keep_tree = o.tree;
    tc_status s = open_all(c);
    if (s) {
        tc_ckpt_close(c);
        return s;
    }
    *out = c;
    return NULL;
}

tc_status tc_ckpt_open(const char *path, tc_ckpt **out) { return tc_ckpt_open_as(path, (tc_ckpt_options){0}, out); }

const char *tc_ckpt_path(const tc_ckpt *c) { return c->path; }
const char *tc_ckpt_format(const tc_ckpt *c) { return c->format ? c->format : ""; }
size_t tc_ckpt_count(const tc_ckpt *c) { return c->entries.len; }
const char *tc_ckpt_name(const tc_ckpt *c, size_t i) { return c->entries.data[i]->name; }
int64_t tc_ckpt_find(const tc_ckpt *c, const char *name) { return (int64_t)(intptr_t)tc_map_find(&c->by_name, name) - 1; }
const char *tc_ckpt_state(const tc_ckpt *c) { return c->state.len ? c->state.data : "{}"; }
int64_t tc_ckpt_step(const tc_ckpt *c) { return c->step; }

#define LIST(name, field)                                                \
    const tc_metadata *tc_ckpt_##name(const tc_ckpt *c, size_t *out_n) { \
        *out_n = c->field.len;                                           \
        return c->field.data;                                            \
    }
LIST(values, values)
LIST(metadata, metadata)
LIST(notes, notes)
LIST(left_out, left_out)

tc_ckpt_head tc_ckpt_entry_head(const tc_ckpt *c, size_t i) {
    const tc_entry *e = c->entries.data[i];
    const tc_piece *p = &e->pieces.data[0];
    const tc_tensor *t = &p->data;
    tc_ckpt_head h = {
        .name = e->name, .dtype = e->dtype, .rank = e->rank, .file = p->file, .offset = -1, .parts = e->pieces.len, .container = e->container};
    memcpy(h.size, e->size, sizeof h.size);
    if (e->pieces.len == 1) h.stride = t->stride;
    const tc_blob *b = t->storage->deleter == tc_blob_deleter ? t->storage->ctx : NULL;
    while (b && b->whole) b = b->whole;
    if (b && b->data && t->storage->bytes && (b->mapped || !strcmp(b->name, "stdin")))
        h.offset = (int64_t)((unsigned char *)tc_tensor_data(t) - b->data);
    return h;
}

static tc_status model_weights(const tc_ckpt *c, tc_tensors *out) {
    static const char prefix[] = "model.";
    tc_status st = NULL;
    for (size_t i = 0; i < tc_ckpt_count(c) && !st; i++) {
        const char *name = tc_ckpt_name(c, i);
        tc_tensor t;
        if (strncmp(name, prefix, sizeof prefix - 1)) continue;
        st = tc_ckpt_tensor(c, i, &t);
        if (!st) st = tc_tensors_add(out, name + sizeof prefix - 1, t);
    }
    return st;
}

static tc_status all_weights(const tc_ckpt *c, tc_tensors *out) {
    for (size_t i = 0; i < tc_ckpt_count(c); i++) {
        tc_tensor t;
        TC_TRY(tc_ckpt_tensor(c, i, &t));
        TC_TRY(tc_tensors_add(out, tc_ckpt_name(c, i), t));
        tc_named *n = &out->items.data[out->items.len - 1];
        n->container = c->entries.data[i]->container, n->opaque = c->entries.data[i]->opaque;
    }
    return NULL;
}

tc_status tc_ckpt_weights(const char *path, tc_tensors *out) {
    tc_ckpt *c;
    TC_TRY(tc_ckpt_open(path, &c));
    tc_tensors loaded = {.format = c->format};
    tc_status st = tc_ckpt_format(c) && !strcmp(c->format, "checkpoint") ? model_weights(c, &loaded) : all_weights(c, &loaded);
    tc_ckpt_close(c);
    if (st) tc_tensors_deinit(&loaded);
    else *out = loaded;
    return st;
}
