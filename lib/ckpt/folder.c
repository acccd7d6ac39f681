/* Writes folders of safetensors files for HuggingFace and torch.distributed.checkpoint: to a temporary folder beside the target, then one rename. */
#include "base/json_write.h"
#include "ckpt/internal.h"
#include "file/safetensors.h"

void tc_ckpt_sharding_info(tc_buf *b, const tc_content *c, const tc_corner *low) {
    tc_json w = {.b = b};
    tc_json_object(&w);
    for (size_t i = 0; i < c->n; i++) {
        tc_json_key(&w, c->heads[i].name);
        tc_json_object(&w);
        tc_json_key(&w, "saved_offsets");
        tc_json_array(&w);
        for (int d = 0; d < c->heads[i].rank; d++) tc_json_int(&w, low ? low[i][d] : 0);
        tc_json_end(&w);
        tc_json_end(&w);
    }
    tc_json_end(&w);
}

/* A subset of a content's tensors, as a content. */
typedef struct {
    const tc_content *all;
    size_t first;
} part;
static tc_status stream_part(void *self, size_t i, tc_sink to) {
    const part *p = self;
    return p->all->stream(p->all->self, p->first + i, to);
}

static tc_status write_file(const char *path, const tc_content *all, size_t first, size_t n, const tc_metadata *meta, size_t nmeta) {
    part p = {all, first};
    tc_content c = {all->heads + first, n, stream_part, &p, meta, nmeta};
    tc_out *o;
    TC_TRY(tc_out_open(path, &o));
    return tc_out_finish(o, tc_safetensors_write_content(o, &c));
}

/* ---- the temporary folder ---- */
typedef struct {
    tc_arena arena;
    tc_out_dir *out;
} folder;

static tc_status finish(folder *f, tc_status st) {
    st = tc_out_dir_finish(f->out, st);
    tc_arena_free(&f->arena);
    return st;
}

/* Path of a file in the temporary folder. */
static const char *in_folder(folder *f, const char *name) { return tc_arena_printf(&f->arena, "%s/%s", tc_out_dir_path(f->out), name); }

/* The name of part k of n files. */
static const char *part_name(folder *f, size_t k, size_t n) { return tc_arena_printf(&f->arena, "model-%05zu-of-%05zu.safetensors", k, n); }

/* ---- HuggingFace ---- */
static tc_status write_index(folder *f, const tc_content *c, const size_t *file_of, size_t files, uint64_t total) {
    tc_buf b = {0};
    tc_buf_printf(&b, "{\n  \"metadata\": {\n    \"total_size\": %llu\n  },\n  \"weight_map\": {\n", (unsigned long long)total);
    for (size_t i = 0; i < c->n; i++) {
        tc_json w = {.b = &b};
        tc_buf_puts(&b, "    ");
        tc_json_string(&w, c->heads[i].name);
        tc_buf_printf(&b, ": \"%s\"%s\n", part_name(f, file_of[i] + 1, files), i + 1 < c->n ? "," : "");
    }
    tc_buf_puts(&b, "  }\n}\n");
    tc_status st = tc_file_write(in_folder(f, "model.safetensors.index.json"), b.data, b.len);
    tc_buf_free(&b);
    return st;
}

static tc_status write_hf(folder *f, const tc_content *c, uint64_t max_bytes) {
    static const tc_metadata meta[] = {{"format", "pt"}};
    size_t *file_of = TC_NEWN(&f->arena, size_t, c->n + 1), files = 0;
    uint64_t total = 0, fill = 0;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t bytes = tc_head_bytes(&c->heads[i]);
        if (fill && fill + bytes > max_bytes) files++, fill = 0;
        file_of[i] = files;
        fill += bytes, total += bytes;
    }
    files++;
    if (files == 1) return write_file(in_folder(f, "model.safetensors"), c, 0, c->n, meta, 1);
    for (size_t i = 0, first = 0; i <= c->n; i++) {
        if (i < c->n && file_of[i] == file_of[first]) continue;
        TC_TRY(write_file(in_folder(f, part_name(f, file_of[first] + 1, files)), c, first, i - first, meta, 1));
        first = i;
    }
    return write_index(f, c, file_of, files, total);
}

tc_status tc_ckpt_write_hf(const char *dir, const tc_content *c, uint64_t max_bytes) {
    folder f = {0};
    tc_status st = tc_out_dir_open(dir, &f.out);
    if (!st) st = write_hf(&f, c, max_bytes);
    return finish(&f, st);
}

/* ---- torch.distributed.checkpoint ---- */
/* The file of a rank, counted from 1. */
static tc_status write_shard(folder *f, int64_t rank, const tc_content *c, const tc_corner *low) {
    tc_buf info = {0};
    tc_ckpt_sharding_info(&info, c, low);
    const tc_metadata meta[] = {{"DCP_SHARDING_INFO", info.data}, {"DCP_VERSION", "1.0"}, {"format", "pt"}};
    const char *name = tc_arena_printf(&f->arena, "shard-%05lld-model-00001-of-00001.safetensors", (long long)rank);
    tc_status st = write_file(in_folder(f, name), c, 0, c->n, meta, 3);
    tc_buf_free(&info);
    return st;
}

tc_status tc_ckpt_write_dcp(const char *dir, const tc_content *c) {
    folder f = {0};
    tc_status st = tc_out_dir_open(dir, &f.out);
    if (!st) st = write_shard(&f, 1, c, NULL);
    return finish(&f, st);
}

/* ---- shards of a mesh ---- */
typedef struct {
    const tc_ckpt *from;
    const tc_mesh_shape *mesh;
    TC_VEC(tc_head) heads; /* one rank's shards ... */
    TC_VEC(size_t) whole;  /* ... the tensors that they belong to ... */
    tc_corner *low;        /* ... and their offsets there */
} shards;

static tc_status stream_box(void *self, size_t i, tc_sink to) {
    const shards *s = self;
    return tc_ckpt_stream_box(s->from, s->whole.data[i], s->low[i], s->heads.data[i].size, to);
}

/* Adds the rank's shard of tensor i: mesh axis k chunks dimension k as torch.chunk does; along mesh axes beyond the tensor's rank, only the first rank
 * holds it. */
static void add_part(shards *s, int64_t rank, size_t i) {
    const tc_ckpt_head h = tc_ckpt_entry_head(s->from, i);
    tc_head own = {.name = h.name, .dtype = h.dtype, .rank = h.rank, .same_as = s->heads.len};
    int64_t *low = s->low[s->heads.len], below = s->mesh->ranks;
    memcpy(own.size, h.size, sizeof own.size);
    memset(low, 0, sizeof s->low[0]);
    for (int k = 0; k < s->mesh->naxes; k++) {
        below /= s->mesh->size[k];
        const int64_t at = rank / below % s->mesh->size[k];
        if (k >= h.rank && at) return;
        if (k >= h.rank) continue;
        const int64_t piece = h.size[k] / s->mesh->size[k] + (h.size[k] % s->mesh->size[k] != 0), left = h.size[k] - at * piece;
        low[k] = at * piece;
        own.size[k] = left < piece ? left : piece;
        if (at && own.size[k] <= 0) return;
    }
    tc_vec_push(&s->heads, own);
    tc_vec_push(&s->whole, i);
}

static tc_status write_rank(folder *f, shards *s, int64_t rank) {
    s->heads.len = s->whole.len = 0;
    for (size_t i = 0; i < tc_ckpt_count(s->from); i++) add_part(s, rank, i);
    const tc_content c = {.heads = s->heads.data, .n = s->heads.len, .stream = stream_box, .self = s};
    return c.n || !rank ? write_shard(f, rank + 1, &c, s->low) : NULL;
}

tc_status tc_ckpt_write_shards(const char *dir, const tc_ckpt *from, const tc_mesh_shape *mesh) {
    folder f = {0};
    shards s = {.from = from, .mesh = mesh, .low = tc_xcalloc(tc_ckpt_count(from) + 1, sizeof(tc_corner))};
    tc_status st = tc_out_dir_open(dir, &f.out);
    for (int64_t rank = 0; rank < mesh->ranks && !st; rank++) st = write_rank(&f, &s, rank);
    tc_vec_free(&s.heads);
    tc_vec_free(&s.whole);
    free(s.low);
    return finish(&f, st);
}
