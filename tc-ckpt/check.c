/* tc-ckpt diff and verify. */
#include "tc-ckpt/view.h"

#include "base/json_write.h"
#include "base/text.h"
#include "cmd/external_weights.h"
#include "file/pt2.h"

#include <stdio.h>
#include <sys/stat.h>

/* ---- diff ---- */
typedef struct {
    const tc_cmd *c;
    double rtol, atol;
    int differences;
} comparison;

static void difference(comparison *d, const char *name, const char *what) {
    d->differences++;
    tc_buf b = {0};
    if (d->c->json) {
        tc_json j = {.b = &b};
        tc_json_object(&j);
        tc_json_key(&j, "name"), tc_json_string(&j, name);
        tc_json_key(&j, "difference"), tc_json_string(&j, what);
        tc_json_end(&j);
    } else {
        tc_put_shown(&b, name, strlen(name), "");
        tc_buf_printf(&b, ": %s", what);
    }
    puts(b.data);
    tc_buf_free(&b);
}

/* ---- comparing one tensor, a slab at a time: both files may be larger than memory ---- */
enum { SLAB = 8 << 20 }; /* bytes */

static tc_status fill(void *self, const void *p, size_t n) {
    char **to = self;
    memcpy(*to, p, n);
    *to += n;
    return NULL;
}

static tc_status load_box(const view *v, size_t i, const int64_t *low, const int64_t *size, tc_tensor *out) {
    const tc_ckpt_head h = view_head(v, i);
    TC_TRY(tc_tensor_empty(h.dtype, h.rank, size, out), "%s", h.name);
    char *to = tc_tensor_data(out);
    tc_status st = tc_ckpt_stream_box(v->ckpt, v->shown.data[i], low, size, (tc_sink){fill, &to});
    if (st) tc_tensor_deinit(out);
    return st;
}

/* Tensor i of a beside tensor k of b. */
typedef struct {
    const view *a, *b;
    size_t i, k;
} pair;
static tc_status compare_box(comparison *d, const pair *p, const int64_t *low, const int64_t *size, tc_diff *io) {
    tc_tensor x, y;
    tc_diff r;
    TC_TRY(load_box(p->a, p->i, low, size, &x));
    tc_status st = load_box(p->b, p->k, low, size, &y);
    if (!st) {
        st = tc_tensor_compare(&x, &y, d->rtol, d->atol, &r);
        tc_tensor_deinit(&y);
    }
    tc_tensor_deinit(&x);
    if (st) return st;
    io->count += r.count;
    if (r.max_abs > io->max_abs) io->max_abs = r.max_abs;
    if (r.max_rel > io->max_rel) io->max_rel = r.max_rel;
    return NULL;
}

/* Compares box by box: dimensions before the cut one index at a time, the cut dimension in steps, the rest whole. */
static tc_status compare_boxes(comparison *d, const pair *p, const tc_ckpt_head *h, tc_diff *io) {
    int64_t low[TC_MAX_RANK] = {0}, size[TC_MAX_RANK], inner = (int64_t)tc_dtype_size(h->dtype);
    int cut = h->rank - 1;
    for (int e = 0; e < h->rank; e++)
        if (!h->size[e]) return NULL;
    if (!h->rank) return compare_box(d, p, low, low, io);
    while (cut > 0 && inner * h->size[cut] <= SLAB) inner *= h->size[cut--];
    const int64_t step = inner < SLAB ? SLAB / inner : 1;
    for (int e = 0; e < h->rank; e++) size[e] = e < cut ? 1 : h->size[e];
    for (;;) {
        for (low[cut] = 0; low[cut] < h->size[cut]; low[cut] += step) {
            size[cut] = h->size[cut] - low[cut] < step ? h->size[cut] - low[cut] : step;
            TC_TRY(compare_box(d, p, low, size, io));
        }
        int e = cut - 1;
        while (e >= 0 && ++low[e] == h->size[e]) low[e--] = 0;
        if (e < 0) return NULL;
    }
}

static void print_type(tc_buf *b, const tc_ckpt_head *h) {
    for (int d = 0; d < h->rank; d++) tc_buf_printf(b, "%lldx", (long long)h->size[d]);
    tc_buf_puts(b, tc_dtypes[h->dtype].name);
}

static tc_status diff_tensor(comparison *d, const char *name, const pair *p) {
    const tc_ckpt_head x = view_head(p->a, p->i), y = view_head(p->b, p->k);
    tc_buf line = {0};
    tc_diff r = {0};
    tc_status st = NULL;
    if (x.dtype != y.dtype || x.rank != y.rank || memcmp(x.size, y.size, (size_t)x.rank * sizeof *x.size)) {
        print_type(&line, &x);
        tc_buf_puts(&line, " against ");
        print_type(&line, &y);
    } else {
        int64_t numel = 1;
        for (int e = 0; e < x.rank; e++) numel *= x.size[e];
        st = compare_boxes(d, p, &x, &r);
        if (r.count)
            tc_buf_printf(&line, "%lld of %lld elements differ, largest error %.3g, relative %.3g", (long long)r.count, (long long)numel, r.max_abs,
                          r.max_rel);
    }
    if (!st && line.len) difference(d, name, line.data);
    tc_buf_free(&line);
    tc_ckpt_forget(p->a->ckpt, p->a->shown.data[p->i]);
    tc_ckpt_forget(p->b->ckpt, p->b->shown.data[p->k]);
    return st;
}

static tc_status diff_views(const view *a, const view *b, comparison *d) {
    size_t i = 0, k = 0;
    while (i < view_count(a) || k < view_count(b)) { /* merge: both are sorted by name */
        int order = i == view_count(a) ? 1 : k == view_count(b) ? -1 : strcmp(view_name(a, i), view_name(b, k));
        if (order < 0) {
            difference(d, view_name(a, i++), "only in the first");
        } else if (order > 0) {
            difference(d, view_name(b, k++), "only in the second");
        } else {
            TC_TRY(diff_tensor(d, view_name(a, i), &(pair){a, b, i, k}));
            i++, k++;
        }
    }
    return NULL;
}

tc_status run_diff(tc_cmd *c) {
    view a, b;
    comparison d = {.c = c};
    tc_ckpt_options o = {.raw = true, .check_all = true};
    TC_TRY(tc_cmd_double(c, TC_OPT_rtol, 0, 1e300, 0, &d.rtol));
    TC_TRY(tc_cmd_double(c, TC_OPT_atol, 0, 1e300, 0, &d.atol));
    TC_TRY(view_open(c, c->operands[0], o, &a));
    tc_status st = view_open(c, c->operands[1], o, &b);
    if (st) {
        view_close(&a);
        return st;
    }
    /* a checkpoint against plain weights: compare the model's part */
    if (!tc_cmd_has(c, TC_OPT_all) && strcmp(tc_ckpt_format(a.ckpt), tc_ckpt_format(b.ckpt))) {
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
static void whole(const tc_cmd *c, const char *path, size_t n, const char *unit, const char *remark) {
    if (c->json) {
        tc_buf b = {0};
        tc_json j = {.b = &b};
        tc_json_object(&j);
        tc_json_key(&j, "path"), tc_json_string(&j, path);
        tc_json_key(&j, "ok"), tc_json_bool(&j, true);
        if (unit) tc_json_key(&j, unit), tc_json_int(&j, (int64_t)n);
        tc_json_end(&j);
        puts(b.data);
        tc_buf_free(&b);
    } else if (unit) {
        printf("%s: ok, %zu %s%s\n", path, n, unit, remark);
    } else {
        printf("%s: ok\n", path);
    }
}

static tc_status check_entries(const tc_archive *a) {
    const tc_zip *z = tc_archive_zip(a);
    for (size_t i = 0; i < z->n; i++) TC_TRY(tc_zip_check(z, &z->entries[i]));
    return NULL;
}

/* Weights of an archive's programs that are stored outside of it. */
typedef struct {
    tc_arena arena;
    const char *path;   /* path of the file that holds them; NULL: unknown */
    bool checked;       /* that file was verified */
    tc_map found, lost; /* by name, since programs share weights */
} outside;

static bool lacks(const tc_input *in) { return tc_external_candidate(in) && !in->data.storage; }

/* Verifies the file that holds the weights outside archive a. */
static tc_status check_outside(const tc_archive *a, outside *w) {
    tc_external_weights o;
    tc_archive *from = NULL;
    w->checked = true;
    TC_TRY(tc_archive_external(a, &w->arena, &o));
    if (o.archive) TC_TRY(tc_archive_open_external(a, &o, &from));
    w->path = o.path;
    tc_status st = from ? check_entries(from) : NULL;
    tc_archive_close(from);
    return st;
}

static tc_status verify_outside(tc_cmd *c, const tc_archive *a, tc_program *p, outside *w) {
    bool *lacked = tc_xcalloc((size_t)p->ninputs + 1, sizeof *lacked), any = false;
    for (int i = 0; i < p->ninputs; i++) any |= lacked[i] = lacks(&p->inputs[i]);
    tc_status st = any && !w->checked ? check_outside(a, w) : NULL;
    if (!st && any) st = tc_external_read(c, a, p);
    for (int i = 0; i < p->ninputs && !st; i++)
        if (lacked[i]) tc_map_set(lacks(&p->inputs[i]) ? &w->lost : &w->found, p->inputs[i].name, w);
    free(lacked);
    return st;
}

static tc_status verify_archive(tc_cmd *c, tc_archive *a, tc_buf *remark) {
    outside w = {0};
    tc_status st = check_entries(a);
    for (size_t i = 0; i < tc_archive_count(a) && !st; i++) {
        tc_program *p;
        st = tc_archive_program(a, tc_archive_name(a, i), &p);
        if (!st) {
            st = verify_outside(c, a, p, &w);
            tc_program_release(p);
        } else if (tc_status_code(st) == TC_UNSUPPORTED) { /* intact, though tc cannot run it */
            tc_status_free(st);
            st = NULL;
        }
    }
    if (w.path) tc_buf_printf(remark, ", %zu weights in %s", w.found.len, w.path);
    if (w.lost.len) tc_buf_printf(remark, ", %zu weights outside", w.lost.len);
    tc_map_free(&w.found);
    tc_map_free(&w.lost);
    tc_arena_free(&w.arena);
    return st;
}

/* Verifies a .pt2 archive with its programs. *out_is: false for any other file. */
static tc_status verify_program(tc_cmd *c, const char *path, bool *out_is) {
    tc_blob *b;
    tc_archive *a = NULL;
    tc_buf remark = {0};
    *out_is = false;
    TC_TRY(tc_blob_open_known(path, tc_format_known, &b));
    tc_status st = NULL;
    if (tc_format_of(b->data, b->len) == TC_FORMAT_ZIP) {
        st = tc_archive_open(b, &a);
        *out_is = !st && tc_archive_count(a) > 0;
        if (*out_is) st = verify_archive(c, a, &remark);
        if (*out_is && tc_archive_zip(a)->unsummed) tc_buf_puts(&remark, " (it has no checksums)");
        if (*out_is && !st) whole(c, path, tc_archive_zip(a)->n, "entries", tc_buf_str(&remark));
        tc_buf_free(&remark);
        if (!*out_is) { /* the tensor reader reports what is wrong */
            tc_status_free(st);
            st = NULL;
        }
        tc_archive_close(a);
    }
    tc_blob_release(b);
    return st;
}

static tc_status verify_any(tc_cmd *c, const char *path) {
    view v;
    bool program = false;
    mode_t type = 0;
    if (path && strcmp(path, "-")) TC_TRY(tc_path_type(path, &type));
    if (type == S_IFREG) TC_TRY(verify_program(c, path, &program));
    if (program) return NULL;
    TC_TRY(view_open(c, path, (tc_ckpt_options){.raw = true, .check_all = true}, &v));
    const char *f = tc_ckpt_format(v.ckpt);
    if (!strcmp(f, "checkpoint")) {
        char *real = tc_xstrdup(v.path);
        view_close(&v);
        tc_status st = tc_ckpt_verify(real);
        if (!st) whole(c, path, 0, NULL, NULL);
        free(real);
        return st;
    }
    bool sums = !strcmp(f, "DCP") || !strcmp(f, "torch.save") || !strcmp(f, "TorchScript") || !strcmp(f, "torch.package") || !strcmp(f, "npz");
    whole(c, v.path, view_count(&v), "tensors", sums ? "" : " (it has no checksums)");
    view_close(&v);
    return NULL;
}

static bool is_step(const char *name) { return !strncmp(name, "step-", 5); }

/* Verifies every checkpoint of a run directory. */
static tc_status verify_run(tc_cmd *c, const char *dir, size_t *out_count) {
    tc_arena a = {0};
    char **names;
    tc_status first = tc_folder_names(&a, dir, is_step, &names, out_count);
    const size_t n = first ? 0 : *out_count;
    for (size_t i = 0; i < n; i++) {
        const char *path = tc_arena_printf(&a, "%s/%s", dir, names[i]);
        tc_status st = tc_ckpt_verify(path);
        if (!st) whole(c, path, 0, NULL, NULL);
        if (st && first) tc_cmd_report(c, st);
        else if (st) first = st;
    }
    tc_arena_free(&a);
    return first;
}

static tc_status is_checkpoint(const char *dir, bool *out) {
    mode_t type;
    tc_buf b = {0};
    tc_buf_printf(&b, "%s/checkpoint.json", dir);
    tc_status st = tc_path_type(b.data, &type);
    *out = type != 0;
    tc_buf_free(&b);
    return st;
}

tc_status run_verify(tc_cmd *c) {
    if (!c->noperands) return verify_any(c, NULL);
    for (int i = 0; i < c->noperands; i++) {
        const char *path = c->operands[i];
        mode_t type = 0;
        size_t n = 0;
        bool checkpoint = false;
        if (strcmp(path, "-")) TC_TRY(tc_path_type(path, &type));
        if (type == S_IFDIR) TC_TRY(verify_run(c, path, &n));
        if (type == S_IFDIR && !n) TC_TRY(is_checkpoint(path, &checkpoint));
        if (checkpoint) {
            TC_TRY(tc_ckpt_verify(path));
            whole(c, path, 0, NULL, NULL);
        } else if (!n) TC_TRY(verify_any(c, path));
    }
    return NULL;
}
