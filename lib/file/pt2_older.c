/* What torch.export.save of PyTorch 2.8 and older wrote, which torch.export.load still takes: the same text of a program, and beside it files of
 * torch.save in place of raw storages. Its ZIP has no root folder:
 *
 *     serialized_exported_program.json     for models/model.json
 *     serialized_state_dict.pt             for data/weights (once .json, the content being the same)
 *     serialized_constants.pt              for data/constants
 *     serialized_example_inputs.pt         for data/sample_inputs/model.pt
 *     extra_files/PATH                     for extra/PATH */
#include "file/content.h"
#include "file/pt2_read.h"
#include "file/torch.h"

static const struct {
    const char *now, *older, *oldest;
} names[] = {
    {"models/model.json", TC_PT2_OLDER, NULL},
    {"data/weights", "serialized_state_dict.pt", "serialized_state_dict.json"},
    {"data/constants", "serialized_constants.pt", "serialized_constants.json"},
    {"data/sample_inputs/model.pt", "serialized_example_inputs.pt", NULL},
};

const char *tc_pt2_older_path(const tc_archive *a, const char *path) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(path, names[i].now)) return names[i].oldest && tc_zip_find(a->zip, names[i].oldest) ? names[i].oldest : names[i].older;
    return path;
}

tc_status tc_pt2_read_saved(const tc_archive *a, const char *path, tc_tensors *io, bool *out_found) {
    const unsigned char *data;
    size_t len;
    bool found;
    *out_found = false;
    TC_TRY(tc_archive_entry(a, path, &data, &len, &found));
    if (!found || tc_format_of(data, len) != TC_FORMAT_ZIP) return NULL;
    tc_blob *whole = a->zip->blob;
    tc_arena arena = {0};
    const char *name = tc_arena_printf(&arena, "%s:%s", whole->name, path);
    tc_blob *b = tc_blob_slice(whole, (size_t)(data - whole->data), len, name);
    tc_zip *z = NULL;
    tc_status st = tc_zip_open(b, &z);
    *out_found = !st && tc_saved_is_zip(z);
    if (*out_found) st = tc_saved_read_zip(z, io);
    tc_zip_close(z);
    tc_blob_release(b);
    tc_arena_free(&arena);
    return st;
}

/* One tensor of a state dict; n: what torch.save wrote for it. */
static void add_weight(tc_archive *a, const char *folder, const tc_tensor *t, const tc_saved_node *n, tc_arena *arena, tc_map *out) {
    tc_pt2_weight *w = TC_NEW(arena, tc_pt2_weight);
    char *name = tc_arena_strdup(arena, n->text), *key = tc_arena_printf(arena, "%s/%s", folder, name);
    void **slot = tc_map_put(&a->storages, key, strlen(key));
    if (!*slot) *slot = tc_storage_retain(t->storage);
    *w = (tc_pt2_weight){.storage = *slot,
                         .file = tc_arena_printf(arena, "%p", *slot),
                         .parameter = n->parameter,
                         .constant = strstr(folder, "constants") != NULL,
                         .requires_grad = n->requires_grad,
                         .dtype = t->dtype,
                         .rank = t->rank,
                         .offset = t->offset};
    memcpy(w->size, t->size, sizeof w->size);
    memcpy(w->stride, t->stride, sizeof w->stride);
    tc_map_set(out, name, w);
}

tc_status tc_pt2_older_weights(tc_archive *a, const char *folder, tc_arena *arena, tc_map *out) {
    tc_tensors t = {.keep_tree = true};
    bool found;
    tc_status st = tc_pt2_read_saved(a, folder, &t, &found);
    const tc_saved_node *dict = t.tree;
    if (!st && (!found || !dict || dict->kind != TC_SAVED_DICT))
        st = tc_error(TC_CONTENT, "%s: %s holds no dict of tensors", a->file, tc_pt2_older_path(a, folder));
    for (size_t i = 0; !st && i < dict->items.len; i++) {
        const tc_saved_node *n = dict->items.data[i];
        const tc_tensor *x = n->kind == TC_SAVED_TENSOR ? tc_tensors_find(&t, n->text) : NULL;
        if (x) add_weight(a, folder, x, n, arena, out); /* other objects are no weights: who reads one is told that it is missing */
    }
    tc_tensors_deinit(&t);
    return st;
}
