/* Files and folders of tensors behind one list of names. */
#include "tc-ckpt/view.h"

#include "file/pt2.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PREFIX[] = "model.";

static const char *raw_name(const view *v, size_t k) { return v->ckpt ? tc_ckpt_name(v->ckpt, k) : v->tensors.items.data[k].name; }
static size_t raw_count(const view *v) { return v->ckpt ? tc_ckpt_count(v->ckpt) : v->tensors.items.len; }
static bool of_model(const char *name) { return !strncmp(name, PREFIX, sizeof PREFIX - 1); }

typedef struct {
    const char *name;
    size_t index;
} named;
static int by_name(const void *a, const void *b) { return strcmp(((const named *)a)->name, ((const named *)b)->name); }

static void list(view *v) {
    size_t n = raw_count(v), m = 0;
    named *all = tc_xcalloc(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        if (!v->only_model || of_model(raw_name(v, i))) all[m++] = (named){raw_name(v, i), i};
    qsort(all, m, sizeof *all, by_name);
    v->shown.len = 0;
    for (size_t i = 0; i < m; i++) tc_vec_push(&v->shown, all[i].index);
    free(all);
}

bool view_has_model(const view *v) {
    for (size_t i = 0; i < raw_count(v); i++)
        if (of_model(raw_name(v, i))) return true;
    return false;
}

void view_only_model(view *v) {
    v->only_model = v->kind && !strcmp(v->kind, "checkpoint") && view_has_model(v);
    list(v);
}

/* The weights of every program of an archive; programs share them, so each name is taken once. */
static tc_status from_archive(tc_blob *b, view *v) {
    tc_archive *a;
    TC_TRY(tc_archive_open(b, &a));
    tc_status st = NULL;
    for (size_t i = 0; i < tc_archive_count(a) && !st; i++) st = tc_archive_weights(a, tc_archive_name(a, i), &v->tensors);
    tc_archive_close(a);
    v->kind = "archive";
    return st;
}

static tc_status from_file(const char *path, view *v) {
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    tc_status st;
    if (tc_format_of(b->data, b->len) == TC_FORMAT_ZIP) {
        st = from_archive(b, v);
    } else {
        v->kind = "safetensors";
        st = b->len && b->data[0] == '{' ? tc_tensors_load(path, &v->tensors) : tc_tensors_load_blob(b, &v->tensors);
    }
    tc_blob_release(b);
    return st;
}

static tc_status from_folder(const char *path, view *v) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%s/latest", path);
    if (access(b.data, F_OK) == 0) {
        free(v->path);
        v->path = tc_xstrdup(b.data);
    }
    tc_buf_free(&b);
    v->kind = "checkpoint";
    return tc_ckpt_open(v->path, &v->ckpt);
}

tc_status view_open(tc_cmd *c, const char *path, view *out) {
    struct stat info;
    (void)c;
    *out = (view){.path = tc_xstrdup(path)};
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    tc_status st = folder ? from_folder(path, out) : from_file(path, out);
    if (st) view_close(out);
    else list(out);
    return st;
}

void view_close(view *v) {
    tc_ckpt_close(v->ckpt);
    tc_tensors_deinit(&v->tensors);
    tc_vec_free(&v->shown);
    free(v->path);
    *v = (view){0};
}

size_t view_count(const view *v) { return v->shown.len; }

const char *view_name(const view *v, size_t i) {
    const char *name = raw_name(v, v->shown.data[i]);
    return v->only_model ? name + sizeof PREFIX - 1 : name;
}

tc_status view_tensor(const view *v, size_t i, tc_tensor *out) {
    size_t k = v->shown.data[i];
    if (v->ckpt) return tc_ckpt_tensor(v->ckpt, k, out);
    *out = tc_tensor_share(&v->tensors.items.data[k].tensor);
    return NULL;
}

int64_t view_find(const view *v, const char *name) {
    size_t lo = 0, hi = v->shown.len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(view_name(v, mid), name);
        if (order == 0) return (int64_t)mid;
        if (order < 0) lo = mid + 1;
        else hi = mid;
    }
    return -1;
}
