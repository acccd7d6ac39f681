/* tc-ckpt: lists, shows, consolidates, compares and verifies checkpoints and other files of tensors. */
#include "tc-ckpt/view.h"

#include "base/json_write.h"
#include "file/pt2.h"
#include "file/safetensors.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- ls ---- */
static void print_row(const tc_cmd *c, const char *name, const tc_tensor *t) {
    tc_buf b = {0};
    tc_tensor_print_type(&b, t);
    if (c->json) {
        tc_buf line = {0};
        tc_json j = {.b = &line};
        tc_json_object(&j);
        tc_json_key(&j, "name");
        tc_json_string(&j, name);
        tc_json_key(&j, "dtype");
        tc_json_string(&j, tc_dtypes[t->dtype].name);
        tc_json_key(&j, "shape");
        tc_json_array(&j);
        for (int d = 0; d < t->rank; d++) tc_json_int(&j, t->size[d]);
        tc_json_end(&j);
        tc_json_key(&j, "bytes");
        tc_json_int(&j, (int64_t)tc_tensor_bytes(t));
        tc_json_end(&j);
        puts(line.data);
        tc_buf_free(&line);
    } else {
        printf("%-24s %12zu  %s\n", b.data, tc_tensor_bytes(t), name);
    }
    tc_buf_free(&b);
}

static tc_status list_one(tc_cmd *c, const char *path) {
    view v;
    size_t bytes = 0;
    TC_TRY(view_open(c, path, &v));
    tc_status st = NULL;
    for (size_t i = 0; i < view_count(&v) && !st; i++) {
        tc_tensor t;
        st = view_tensor(&v, i, &t);
        if (st) break;
        print_row(c, view_name(&v, i), &t);
        bytes += tc_tensor_bytes(&t);
        tc_tensor_deinit(&t);
    }
    if (!st && !c->json) printf("%zu tensors, %zu bytes\n", view_count(&v), bytes);
    view_close(&v);
    return st;
}

static tc_status run_ls(tc_cmd *c) {
    for (int i = 0; i < c->noperands; i++) {
        if (c->noperands > 1 && !c->json) printf("%s:\n", c->operands[i]);
        TC_TRY(list_one(c, c->operands[i]));
    }
    return NULL;
}

/* ---- show ---- */
static tc_status show_tensor(const view *v, const char *name) {
    int64_t i = view_find(v, name);
    tc_tensor t;
    tc_buf b = {0};
    if (i < 0) return tc_error(TC_CONTENT, "%s has no tensor %s (tc-ckpt ls %s lists them)", v->path, name, v->path);
    TC_TRY(view_tensor(v, (size_t)i, &t));
    tc_tensor_print(&b, &t);
    printf("%s = %s\n", name, b.data);
    tc_buf_free(&b);
    tc_tensor_deinit(&t);
    return NULL;
}

static tc_status show_summary(const view *v) {
    size_t bytes = 0, per[TC_DTYPE_COUNT] = {0};
    for (size_t i = 0; i < view_count(v); i++) {
        tc_tensor t;
        TC_TRY(view_tensor(v, i, &t));
        bytes += tc_tensor_bytes(&t);
        per[t.dtype] += (size_t)tc_tensor_numel(&t);
        tc_tensor_deinit(&t);
    }
    printf("%s: %s, %zu tensors, %zu bytes\n", v->path, v->kind, view_count(v), bytes);
    for (int d = 0; d < TC_DTYPE_COUNT; d++)
        if (per[d]) printf("  %s: %zu elements\n", tc_dtypes[d].name, per[d]);
    for (size_t i = 0; i < v->tensors.metadata.len; i++) printf("  %s: %s\n", v->tensors.metadata.data[i].key, v->tensors.metadata.data[i].value);
    if (v->ckpt && tc_ckpt_step(v->ckpt) >= 0) printf("  step %lld\n  state %s\n", (long long)tc_ckpt_step(v->ckpt), tc_ckpt_state(v->ckpt));
    return NULL;
}

static tc_status run_show(tc_cmd *c) {
    view v;
    TC_TRY(view_open(c, c->operands[0], &v));
    tc_status st = c->noperands == 1 ? show_summary(&v) : NULL;
    for (int i = 1; i < c->noperands && !st; i++) st = show_tensor(&v, c->operands[i]);
    view_close(&v);
    return st;
}

/* ---- consolidate ---- */
static tc_status run_consolidate(tc_cmd *c) {
    static const char *const forms[] = {"safetensors", NULL};
    int form;
    view v;
    tc_tensors all = {0};
    tc_out *o = NULL;
    TC_TRY(tc_cmd_choice(c, TC_OPT_to, forms, 0, &form));
    TC_TRY(view_open(c, c->operands[0], &v));
    if (!tc_cmd_has(c, TC_OPT_all)) view_only_model(&v);
    tc_status st = NULL;
    tc_tensors_add_metadata(&all, "format", "pt");
    for (size_t i = 0; i < view_count(&v) && !st; i++) {
        tc_tensor t;
        st = view_tensor(&v, i, &t);
        if (!st) st = tc_tensors_add(&all, view_name(&v, i), t);
    }
    if (!st) st = tc_cmd_create(c, tc_cmd_get(c, TC_OPT_out), true, &o);
    if (!st) st = tc_cmd_finish(c, o, tc_safetensors_write(o, &all));
    if (!st) tc_cmd_verbose(c, "%zu tensors of %s", view_count(&v), v.path);
    tc_tensors_deinit(&all);
    view_close(&v);
    return st;
}

/* ---- diff ---- */
typedef struct {
    double rtol, atol;
    int differences;
} comparison;

static void difference(comparison *d, const char *name, const char *what) {
    d->differences++;
    printf("%s: %s\n", name, what);
}

static tc_status diff_tensor(comparison *d, const char *name, const view *a, size_t i, const view *b, size_t k) {
    tc_tensor x, y;
    tc_diff r;
    TC_TRY(view_tensor(a, i, &x));
    tc_status st = view_tensor(b, k, &y);
    if (!st) {
        st = tc_tensor_compare(&x, &y, d->rtol, d->atol, &r);
        if (st && tc_status_code(st) == TC_DIFFERENT) {
            tc_buf t = {0}, u = {0}, line = {0};
            tc_tensor_print_type(&t, &x);
            tc_tensor_print_type(&u, &y);
            tc_buf_printf(&line, "%s against %s", t.data, u.data);
            difference(d, name, line.data);
            tc_buf_free(&t);
            tc_buf_free(&u);
            tc_buf_free(&line);
            tc_status_free(st);
            st = NULL;
        } else if (!st && r.count) {
            tc_buf line = {0};
            tc_buf_printf(&line, "%lld of %lld elements differ, largest error %.3g, relative %.3g", (long long)r.count,
                          (long long)tc_tensor_numel(&x), r.max_abs, r.max_rel);
            difference(d, name, line.data);
            tc_buf_free(&line);
        }
        tc_tensor_deinit(&y);
    }
    tc_tensor_deinit(&x);
    return st;
}

static tc_status diff_views(const view *a, const view *b, comparison *d) {
    size_t i = 0, k = 0;
    while (i < view_count(a) || k < view_count(b)) { /* both in order of name */
        int order = i == view_count(a) ? 1 : k == view_count(b) ? -1 : strcmp(view_name(a, i), view_name(b, k));
        if (order < 0) {
            difference(d, view_name(a, i++), "only in the first");
        } else if (order > 0) {
            difference(d, view_name(b, k++), "only in the second");
        } else {
            TC_TRY(diff_tensor(d, view_name(a, i), a, i, b, k));
            i++, k++;
        }
    }
    return NULL;
}

static tc_status run_diff(tc_cmd *c) {
    view a, b;
    comparison d = {0};
    TC_TRY(tc_cmd_double(c, TC_OPT_rtol, 0, 1e300, 0, &d.rtol));
    TC_TRY(tc_cmd_double(c, TC_OPT_atol, 0, 1e300, 0, &d.atol));
    TC_TRY(view_open(c, c->operands[0], &a));
    tc_status st = view_open(c, c->operands[1], &b);
    if (st) {
        view_close(&a);
        return st;
    }
    if (!tc_cmd_has(c, TC_OPT_all) && strcmp(a.kind, b.kind)) { /* a checkpoint against weights: the model's part of it */
        view_only_model(&a);
        view_only_model(&b);
    }
    st = diff_views(&a, &b, &d);
    size_t n = view_count(&a);
    view_close(&a);
    view_close(&b);
    if (!st && d.differences) st = tc_error(TC_DIFFERENT, "%s and %s differ in %d tensors", c->operands[0], c->operands[1], d.differences);
    if (!st) tc_cmd_verbose(c, "%zu tensors are equal", n);
    return st;
}

/* ---- verify ---- */
static tc_status verify_archive(tc_blob *b, size_t *out_count) {
    tc_archive *a;
    TC_TRY(tc_archive_open(b, &a));
    const tc_zip *z = tc_archive_zip(a);
    tc_status st = NULL;
    for (size_t i = 0; i < z->n && !st; i++) st = tc_zip_check(z, &z->entries[i]);
    for (size_t i = 0; i < tc_archive_count(a) && !st; i++) {
        tc_program *p;
        st = tc_archive_program(a, tc_archive_name(a, i), &p);
        if (!st) {
            tc_program_release(p);
        } else if (tc_status_code(st) == TC_UNSUPPORTED) { /* whole, though tc cannot run it */
            tc_status_free(st);
            st = NULL;
        }
    }
    *out_count = z->n;
    tc_archive_close(a);
    return st;
}

static tc_status verify_file(tc_cmd *c, const char *path) {
    tc_blob *b;
    size_t n = 0;
    view v;
    TC_TRY(tc_blob_open(path, &b));
    tc_status st = NULL;
    if (tc_format_of(b->data, b->len) == TC_FORMAT_ZIP) {
        st = verify_archive(b, &n);
        if (!st) printf("%s: ok, %zu entries\n", path, n);
    } else {
        st = view_open(c, path, &v);
        if (!st) {
            printf("%s: ok, %zu tensors (the format has no checksums)\n", path, view_count(&v));
            view_close(&v);
        }
    }
    tc_blob_release(b);
    return st;
}

static tc_status verify_checkpoint(const char *path) {
    TC_TRY(tc_ckpt_verify(path));
    printf("%s: ok\n", path);
    return NULL;
}

/* A run directory: every checkpoint in it. */
static tc_status verify_run(tc_cmd *c, const char *dir, int *out_count) {
    DIR *d = opendir(dir);
    tc_status first = NULL;
    if (!d) return tc_error(TC_ENV, "%s: cannot open the folder", dir);
    for (struct dirent *e; (e = readdir(d));) {
        tc_buf path = {0};
        if (strncmp(e->d_name, "step-", 5)) continue;
        tc_buf_printf(&path, "%s/%s", dir, e->d_name);
        tc_status st = verify_checkpoint(path.data);
        ++*out_count;
        if (st && first) tc_cmd_report(c, st);
        else if (st) first = st;
        tc_buf_free(&path);
    }
    closedir(d);
    return first;
}

static tc_status run_verify(tc_cmd *c) {
    for (int i = 0; i < c->noperands; i++) {
        struct stat info;
        int n = 0;
        bool folder = stat(c->operands[i], &info) == 0 && S_ISDIR(info.st_mode);
        if (!folder) {
            TC_TRY(verify_file(c, c->operands[i]));
            continue;
        }
        TC_TRY(verify_run(c, c->operands[i], &n));
        if (!n) TC_TRY(verify_checkpoint(c->operands[i]));
    }
    return NULL;
}

/* ---- the program ---- */
static const struct {
    const char *name;
    tc_status (*run)(tc_cmd *c);
} commands[] = {{"ls", run_ls}, {"show", run_show}, {"consolidate", run_consolidate}, {"diff", run_diff}, {"verify", run_verify}};

static tc_status run(tc_cmd *c) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, c->command->name)) return commands[i].run(c);
    return NULL;
}

static const tc_subcommand subcommands[] = {{"ls", "PATH...", "list names, types and sizes", 1, -1},
                                            {"show", "PATH [NAME...]", "summarise, or print tensors", 1, -1},
                                            {"consolidate", "PATH", "write one safetensors file: the model's weights, or --all", 1, 1},
                                            {"diff", "A B", "compare two; exit 4 when they differ", 2, 2},
                                            {"verify", "PATH...", "check every checksum and header; exit 3 at damage", 1, -1},
                                            {0}};
static const tc_opt_id options[] = {TC_OPT_out, TC_OPT_to, TC_OPT_all, TC_OPT_rtol, TC_OPT_atol, TC_OPT_NONE};
static const tc_tool tool = {
    .name = "tc-ckpt",
    .summary = "list, show, consolidate, compare and verify checkpoints",
    .details = "PATH is a checkpoint's folder, a run directory (its latest checkpoint), a safetensors file, a HuggingFace folder or index, or a .pt2 "
               "archive.",
    .options = options,
    .commands = subcommands,
    .run = run,
};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
