/* Weights stored outside the archive (external_weights.h): in FILE.safetensors beside FILE.pt2 (extern), or in the archive that the program was read from
 * (input), which is recorded by name and checksum (file/pt2_external.c). */
#include "cmd/external_weights.h"

#include "ckpt/ckpt.h"
#include "file/safetensors.h"
#include "file/weights.h"

#include <sys/stat.h>
#include <unistd.h>

bool tc_external_candidate(const tc_input *in) {
    return in->alias_of < 0 && (in->kind == TC_IN_PARAMETER || (in->kind == TC_IN_BUFFER && in->persistent));
}

static void path_beside(const char *path, tc_buf *out) {
    size_t n = strlen(path);
    if (n > 4 && !strcmp(path + n - 4, ".pt2")) n -= 4;
    tc_buf_printf(out, "%.*s.safetensors", (int)n, path);
}

/* The weights that archive a stores for the program of p's name (another program may have weights of the same names). */
static tc_status weights_of(tc_archive *a, const tc_program *p, tc_tensors *out) {
    tc_tensors all = {0};
    tc_status st = NULL;
    bool has = false;
    for (size_t i = 0; i < tc_archive_count(a); i++) has |= !strcmp(tc_archive_name(a, i), p->name);
    for (size_t i = 0; i < tc_archive_count(a) && !st; i++)
        if (!has || !strcmp(tc_archive_name(a, i), p->name)) st = tc_archive_weights(a, tc_archive_name(a, i), &all);
    for (int i = 0; i < p->ninputs && !st; i++) {
        const tc_tensor *t = tc_tensors_find(&all, p->inputs[i].name);
        if (tc_external_candidate(&p->inputs[i]) && t && !tc_tensors_find(out, p->inputs[i].name))
            st = tc_tensors_add(out, p->inputs[i].name, tc_tensor_share(t));
    }
    tc_tensors_deinit(&all);
    return st;
}

static tc_status read_from(const tc_archive *a, const tc_external_weights *o, const tc_program *p, tc_tensors *out) {
    tc_archive *from;
    if (!o->archive) return tc_ckpt_weights(o->path, out);
    TC_TRY(tc_archive_open_external(a, o, &from));
    tc_status st = weights_of(from, p, out);
    tc_archive_close(from);
    return st;
}

tc_status tc_external_read(tc_cmd *c, const tc_archive *a, tc_program *p) {
    bool lacks = false;
    for (int i = 0; i < p->ninputs; i++) lacks |= tc_external_candidate(&p->inputs[i]) && !p->inputs[i].data.storage;
    if (!lacks || !tc_archive_path(a) || tc_cmd_get(c, TC_OPT_weights)) return NULL;
    tc_arena arena = {0};
    tc_tensors w = {0};
    tc_external_weights o;
    tc_status st = tc_archive_external(a, &arena, &o);
    if (!st && o.path) st = read_from(a, &o, p, &w);
    if (!st && o.path) st = tc_weights_apply(p, &w, (tc_weights_rules){0}, o.path);
    tc_tensors_deinit(&w);
    tc_arena_free(&arena);
    return st;
}

/* Adds a weight to the file, which has one tensor per name for all programs. */
static tc_status add_weight(tc_tensors *all, const tc_input *in) {
    const tc_tensor *other = tc_tensors_find(all, in->name);
    tc_diff d;
    if (!other) return tc_tensors_add(all, in->name, tc_tensor_share(&in->data));
    if (tc_tensor_data(other) == tc_tensor_data(&in->data)) return NULL;
    tc_status st = tc_tensor_compare(other, &in->data, 0, 0, &d);
    if (!st && !d.count) return NULL;
    tc_status_free(st);
    return tc_error(TC_USAGE, "--store-weights=extern: %s is not the same weight in all programs: choose one with --model", in->name);
}

static tc_status write_beside(tc_cmd *c, const tc_archive_content *content, const char *to, tc_out **out_file) {
    tc_buf path = {0};
    tc_tensors all = {0};
    path_beside(to, &path);
    tc_status st = NULL;
    for (int k = 0; k < content->nprograms; k++)
        for (int i = 0; i < content->programs[k]->ninputs && !st; i++) {
            const tc_input *in = &content->programs[k]->inputs[i];
            if (tc_external_candidate(in) && in->data.storage) st = add_weight(&all, in);
        }
    if (!st) st = tc_cmd_create(c, path.data, true, out_file);
    if (!st) st = tc_safetensors_write(*out_file, &all);
    if (!st) st = tc_out_sync(*out_file);
    tc_tensors_deinit(&all);
    tc_buf_free(&path);
    return st;
}

static bool folder_of(const char *path, struct stat *out) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%.*s.", (int)(tc_path_last(path) - path), path);
    const bool ok = stat(b.data, out) == 0;
    tc_buf_free(&b);
    return ok;
}

/* Are the paths two files in one directory? The second need not exist. */
static bool side_by_side(const char *from, const char *to) {
    struct stat a, b;
    if (!folder_of(from, &a) || !folder_of(to, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino) return false;
    if (stat(from, &a) || !S_ISREG(a.st_mode)) return false;
    return stat(to, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino;
}

/* Checks that archive `from` stores p's weights under its names, with the bytes that p has now. */
static tc_status check_input(tc_cmd *c, tc_archive *from, const tc_program *p) {
    tc_tensors w = {0};
    tc_status st = weights_of(from, p, &w);
    for (int i = 0; i < p->ninputs && !st; i++) {
        const tc_input *in = &p->inputs[i];
        if (!tc_external_candidate(in) || !in->data.storage || !tc_tensor_numel(&in->data)) continue;
        const tc_tensor *t = tc_tensors_find(&w, in->name);
        if (!t || tc_tensor_data(t) != tc_tensor_data(&in->data))
            st = tc_usage(c, "--store-weights=input: %s is not in %s as the program has it", in->name, tc_archive_path(from));
    }
    tc_tensors_deinit(&w);
    return st;
}

/* --store-weights=input */
static tc_status name_input(tc_cmd *c, tc_archive *from, const tc_archive_content *content, const char *to, tc_arena *arena, tc_extra *out_name) {
    if (!from || !tc_archive_zip(from) || !c->noperands || !strcmp(c->operands[0], "-"))
        return tc_usage(c, "--store-weights=input needs a PROGRAM that is a .pt2 file");
    const char *path = tc_archive_path(from);
    if (tc_cmd_has(c, TC_OPT_weights) || tc_cmd_has(c, TC_OPT_rename))
        return tc_usage(c, "--store-weights=input leaves the weights in %s: no --weights or --rename", path);
    if (!side_by_side(path, to)) return tc_usage(c, "--store-weights=input needs -o beside %s, as another file of its folder", path);
    for (int k = 0; k < content->nprograms; k++) TC_TRY(check_input(c, from, content->programs[k]));
    *out_name = tc_archive_name_external(from, arena);
    return NULL;
}

tc_status tc_external_write(tc_cmd *c, tc_archive *from, tc_archive_content *content, tc_arena *arena, tc_extra *out_name, tc_out **out_file) {
    static const char *const stores[] = {"embed", "none", "extern", "input", NULL};
    const char *to = tc_cmd_get(c, TC_OPT_out);
    int store;
    TC_TRY(tc_cmd_choice(c, TC_OPT_store_weights, stores, 0, &store));
    content->without_weights = store != 0;
    if (store > 1 && (!to || !strcmp(to, "-")))
        return tc_usage(c, "--store-weights=%s needs -o FILE.pt2, beside which the weights stand", stores[store]);
    return store == 2 ? write_beside(c, content, to, out_file) : store == 3 ? name_input(c, from, content, to, arena, out_name) : NULL;
}
