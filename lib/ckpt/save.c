/* Writes, lists and prunes checkpoints: everything in a temporary folder, synced, then one rename (ckpt.h). */
#include "base/json_write.h"
#include "base/text.h"
#include "ckpt/ckpt.h"
#include "ckpt/internal.h"
#include "file/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; /* bytes */

tc_status tc_ckpt_hash(const char *path, char out[65], int64_t *out_bytes) {
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    unsigned char h[32];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof h);
    for (size_t at = 0, n; at < b->len; at += n) {
        n = b->len - at < PIECE ? b->len - at : PIECE;
        crypto_generichash_update(&state, b->data + at, n);
        tc_blob_forget(b, b->data + at, n); /* release pages of the file just written */
    }
    crypto_generichash_final(&state, h, sizeof h);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", h[i]);
    *out_bytes = (int64_t)b->len;
    tc_blob_release(b);
    return NULL;
}

/* Adds DCP's sharding metadata: the offset of each tensor of this file in the whole tensor. */
static void add_metadata(tc_tensors *t) {
    tc_buf b = {0};
    tc_head *heads;
    tc_content c = tc_content_of(t, &heads);
    tc_ckpt_sharding_info(&b, &c, NULL);
    free(heads);
    tc_tensors_add_metadata(t, "DCP_SHARDING_INFO", b.data);
    tc_tensors_add_metadata(t, "DCP_VERSION", "1.0");
    tc_tensors_add_metadata(t, "format", "pt");
    tc_buf_free(&b);
}

static tc_status write_files(tc_arena *a, const char *dir, tc_ckpt_content c, int64_t step) {
    static const char shard[] = "shard-00001-model-00001-of-00001.safetensors";
    add_metadata(c.tensors);
    tc_out *o;
    TC_TRY(tc_out_open(tc_arena_printf(a, "%s/%s", dir, shard), &o));
    TC_TRY(tc_out_finish(o, tc_safetensors_write(o, c.tensors)));
    TC_TRY(tc_file_write(tc_arena_printf(a, "%s/state.json", dir), c.state, strlen(c.state)));
    tc_buf b = {0};
    tc_json w = {.b = &b};
    tc_json_object(&w);
    tc_json_key(&w, "tc_checkpoint");
    tc_json_int(&w, 1);
    tc_json_key(&w, "step");
    tc_json_int(&w, step);
    tc_json_key(&w, "files");
    tc_json_object(&w);
    const char *const names[] = {shard, "state.json"};
    tc_status s = NULL;
    for (int i = 0; i < 2 && !s; i++) {
        char hash[65];
        int64_t bytes = 0;
        s = tc_ckpt_hash(tc_arena_printf(a, "%s/%s", dir, names[i]), hash, &bytes);
        if (s) break;
        tc_json_key(&w, names[i]);
        tc_json_object(&w);
        tc_json_key(&w, "bytes");
        tc_json_int(&w, bytes);
        tc_json_key(&w, "blake2b");
        tc_json_string(&w, hash);
        tc_json_end(&w);
    }
    if (!s) {
        tc_json_end(&w);
        tc_json_end(&w);
        tc_buf_putc(&b, '\n');
        s = tc_file_write(tc_arena_printf(a, "%s/checkpoint.json", dir), b.data, b.len);
    }
    tc_buf_free(&b);
    return s;
}

/* Atomically makes the link dir/latest point to `name`. */
static tc_status set_latest(tc_arena *a, const char *dir, const char *name) {
    const char *temporary = tc_arena_printf(a, "%s/.latest.tmp%ld", dir, (long)getpid()), *latest = tc_arena_printf(a, "%s/latest", dir);
    char now[64];
    const ssize_t n = readlink(latest, now, sizeof now);
    if (n == (ssize_t)strlen(name) && !memcmp(now, name, (size_t)n)) return NULL;
    unlink(temporary);
    if (symlink(name, temporary) || rename(temporary, latest)) {
        int e = errno;
        unlink(temporary);
        return tc_error(TC_ENV, "%s: cannot set the link: %s", latest, strerror(e));
    }
    return tc_fsync_dir(dir);
}

/* Removes a damaged checkpoint when a resumed run reaches its step again. */
static tc_status remove_damaged(const char *path) {
    tc_status st = tc_ckpt_verify(path);
    if (!st) return tc_error(TC_ENV, "%s: exists already", path);
    bool damaged = tc_status_code(st) == TC_CONTENT;
    if (!damaged) return st;
    tc_status_free(st);
    return tc_remove_tree(path);
}

static tc_status save(tc_arena *a, const char *dir, int64_t step, tc_ckpt_content content) {
    const char *name = tc_arena_printf(a, "step-%lld", (long long)step), *path = tc_arena_printf(a, "%s/%s", dir, name);
    mode_t type;
    TC_TRY(tc_path_type(path, &type));
    if (type) TC_TRY(remove_damaged(path));
    tc_out_dir *out;
    TC_TRY(tc_out_dir_open(path, &out));
    TC_TRY(tc_out_dir_finish(out, write_files(a, tc_out_dir_path(out), content, step)));
    TC_TRY(tc_ckpt_verify(path), "reading the checkpoint back");
    return set_latest(a, dir, name);
}

tc_status tc_ckpt_set_latest(const char *dir, int64_t step) {
    tc_arena a = {0};
    tc_status s = set_latest(&a, dir, tc_arena_printf(&a, "step-%lld", (long long)step));
    tc_arena_free(&a);
    return s;
}

tc_status tc_ckpt_save(const char *dir, int64_t step, tc_ckpt_content content) {
    tc_arena a = {0};
    tc_status s = save(&a, dir, step, content);
    tc_arena_free(&a);
    return s;
}

/* ---- listing and pruning ---- */

static int descending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool step_of(const char *name, int64_t *out) { return strncmp(name, "step-", 5) == 0 && tc_parse_i64(name + 5, out) && *out >= 0; }
static bool is_step(const char *name) {
    int64_t n;
    return step_of(name, &n);
}

typedef TC_VEC(int64_t) steps;

/* The N of the step-N folders of dir, newest first. */
static tc_status list_steps(const char *dir, steps *v) {
    tc_arena a = {0};
    char **names;
    size_t n;
    tc_status s = tc_folder_names(&a, dir, is_step, &names, &n);
    for (size_t i = 0; i < n && !s; i++) {
        int64_t step = 0;
        step_of(names[i], &step);
        tc_vec_push(v, step);
    }
    tc_arena_free(&a);
    if (v->len) qsort(v->data, v->len, sizeof *v->data, descending);
    return s;
}

tc_status tc_ckpt_any(const char *dir, bool *out_any) {
    steps v = {0};
    tc_status s = list_steps(dir, &v);
    *out_any = v.len > 0;
    tc_vec_free(&v);
    return s;
}

tc_status tc_ckpt_newest(const char *dir, char **out_path, int64_t *out_step, tc_buf *skipped) {
    *out_path = NULL;
    steps v = {0};
    tc_status s = list_steps(dir, &v);
    for (size_t i = 0; i < v.len && !s && !*out_path; i++) {
        tc_buf path = {0};
        tc_buf_printf(&path, "%s/step-%lld", dir, (long long)v.data[i]);
        s = tc_ckpt_verify(path.data);
        if (!s) {
            *out_path = path.data;
            *out_step = v.data[i];
            break;
        }
        tc_buf_free(&path);
        if (tc_status_code(s) == TC_ENV) break; /* unknown whether it is damaged */
        tc_buf_printf(skipped, "%s%s", skipped->len ? "\n" : "", tc_status_message(s));
        tc_status_free(s);
        s = NULL;
    }
    tc_vec_free(&v);
    return s;
}

tc_status tc_ckpt_prune(const char *dir, int64_t keep_last, int64_t keep_every, int64_t best, int64_t except) {
    if (keep_last <= 0) return NULL;
    steps v = {0};
    tc_status s = list_steps(dir, &v);
    for (size_t i = (size_t)keep_last; i < v.len && !s; i++) {
        int64_t n = v.data[i];
        if (n == best || n == except || (keep_every > 0 && n % keep_every == 0)) continue;
        tc_buf from = {0}, to = {0};
        tc_buf_printf(&from, "%s/step-%lld", dir, (long long)n);
        tc_buf_printf(&to, "%s/.step-%lld.tmp%ld", dir, (long long)n, (long)getpid());
        /* Renamed first, so that readers never see half of it; to a name that tc_train_sweep removes, should the program be killed now. */
        if (rename(from.data, to.data)) s = tc_error(TC_ENV, "%s: cannot remove: %s", from.data, strerror(errno));
        else s = tc_remove_tree(to.data);
        tc_buf_free(&from);
        tc_buf_free(&to);
    }
    tc_vec_free(&v);
    return s;
}
