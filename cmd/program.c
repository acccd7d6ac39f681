/* Reads the program operand, weights and --meta; writes programs (program.h). */
#include "cmd/external_weights.h"
#include "cmd/source.h"

#include "ckpt/ckpt.h"
#include "file/rename.h"
#include "file/torch.h"
#include "file/weights.h"
#include "op/functionalise.h"
#include "pass/dce.h"
#include "sym/bounds.h"

/* Refuses files of torch.save and torch.jit.save: they hold weights or TorchScript code, not an exported program. */
static tc_status refuse_saved(const tc_blob *b) {
    return tc_status_add(tc_error(TC_CONTENT, "%s is what torch.save or torch.jit.save writes: weights, not a program (.pt2)", b->name),
                         "make a program of the model's source: tc-export FILE.py:CLASS --weights %s", b->name);
}

static tc_status open_zip(tc_blob *b, tc_archive **out_archive) {
    tc_zip *z;
    TC_TRY(tc_zip_open(b, &z));
    bool saved = tc_saved_is_zip(z);
    tc_zip_close(z);
    return saved ? refuse_saved(b) : tc_archive_open(b, out_archive);
}

/* A text that names a graph, as models/NAME.json of an archive does: not another of the many JSON texts that lie beside models. */
static bool is_graph_json(const tc_blob *b) { return memmem(b->data, b->len, "\"graph_module\"", sizeof "\"graph_module\"" - 1); }

/* What --print=json shows, models/NAME.json of an archive, without weights: as an archive that holds only it. */
static tc_status open_json(const tc_blob *b, tc_archive **out_archive) {
    tc_buf zip = {0};
    tc_out *o = tc_out_memory(&zip);
    tc_zip_writer *w = tc_zip_writer_create(o, true);
    tc_status st = tc_zip_writer_finish(w, tc_zip_add(w, "archive/models/model.json", b->data, b->len));
    st = tc_out_finish(o, st);
    if (st) {
        tc_buf_free(&zip);
        return st;
    }
    tc_blob *archive = tc_blob_adopt(zip.data, zip.len, b->name);
    st = tc_archive_open(archive, out_archive);
    tc_blob_release(archive);
    return st;
}

tc_status tc_cmd_archive_of(tc_cmd *c, tc_blob *b, tc_archive **out_archive) {
    tc_format f = tc_format_of(b->data, b->len);
    if (f == TC_FORMAT_JSON && is_graph_json(b)) return open_json(b, out_archive);
    return f == TC_FORMAT_ZIP      ? open_zip(b, out_archive)
           : f == TC_FORMAT_PICKLE ? refuse_saved(b)
           : f == TC_FORMAT_ONNX   ? tc_cmd_onnx(c, b, true, out_archive)
                                   : tc_error(TC_CONTENT, "%s is %s, expected a program (.pt2) or an ONNX model", b->name, tc_format_name(f));
}

tc_status tc_cmd_archive(tc_cmd *c, const char *path, tc_archive **out_archive) {
    tc_blob *b;
    TC_TRY(tc_cmd_read(c, path, "the program", &b));
    tc_status st = tc_cmd_archive_of(c, b, out_archive);
    tc_blob_release(b);
    return st;
}

static tc_status words_of(tc_cmd *c, tc_opt_id id, const char *name, const char **out, int *out_n) {
    *out_n = tc_cmd_count(c, id);
    if (*out_n > 64) return tc_usage(c, "more than 64 --%s", name);
    for (int i = 0; i < *out_n; i++) out[i] = tc_cmd_value(c, id, i);
    return NULL;
}

/* --rename and --select. */
typedef struct {
    const char *rename[64], *select[64];
    tc_weights_rules r;
} rules;

static tc_status read_rules(tc_cmd *c, rules *out) {
    out->r = (tc_weights_rules){.rename = out->rename, .select = out->select};
    TC_TRY(words_of(c, TC_OPT_rename, "rename", out->rename, &out->r.nrename));
    return words_of(c, TC_OPT_select, "select", out->select, &out->r.nselect);
}

tc_status tc_cmd_weights(tc_cmd *c, tc_program *p) {
    const char *path = tc_cmd_get(c, TC_OPT_weights);
    rules k;
    tc_tensors w = {0};
    TC_TRY(read_rules(c, &k));
    if (!path) {
        tc_rename own = {0};
        tc_status st = NULL;
        for (int i = 0; i < k.r.nrename && !st; i++) st = tc_rename_add(&own, k.rename[i]);
        if (!st && k.r.nrename) st = tc_weights_rename(p, &own);
        tc_rename_deinit(&own);
        return st;
    }
    TC_TRY(tc_ckpt_weights(path, &w));
    tc_status st = tc_weights_apply(p, &w, k.r, path);
    tc_tensors_deinit(&w);
    return st;
}

tc_status tc_cmd_stored(void *self, const tc_map *own, void (*take)(void *, const char *, const tc_tensor *), void *to) {
    tc_cmd *c = self;
    rules k;
    tc_tensors w = {0};
    TC_TRY(read_rules(c, &k));
    TC_TRY(tc_ckpt_weights(tc_cmd_get(c, TC_OPT_weights), &w));
    tc_status st = tc_weights_each(&w, own, k.r, take, to);
    tc_tensors_deinit(&w);
    return st;
}

tc_status tc_cmd_weights_changed(tc_cmd *c, const tc_capture_stored *s, size_t n, tc_program *p) {
    static const char *const all[] = {""};
    tc_tensors w = {0};
    tc_status st = NULL;
    for (size_t i = 0; i < n && !st; i++) st = tc_tensors_add(&w, s[i].name, tc_tensor_share(&s[i].tensor));
    if (!st) st = tc_weights_apply(p, &w, (tc_weights_rules){.select = all, .nselect = tc_cmd_has(c, TC_OPT_select)}, tc_cmd_get(c, TC_OPT_weights));
    tc_tensors_deinit(&w);
    return st;
}

/* ---- --meta ---- */
typedef TC_VEC(tc_extra) extras;

static bool has_extra(const extras *all, const char *name) {
    for (size_t i = 0; i < all->len; i++)
        if (!strcmp(all->data[i].path, name)) return true;
    return false;
}

/* Collects --meta KEY=VALUE as files KEY in extra/, as torch.export.save's extra_files; new ones override those of the archive that was read. */
static tc_status collect_meta(tc_cmd *c, const tc_archive *from, tc_arena *a, extras *all) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_meta); i++) {
        const char *spec = tc_cmd_value(c, TC_OPT_meta, i), *eq = strchr(spec, '=');
        const size_t n = eq ? (size_t)(eq - spec) : 0;
        if (!n || n > 100 || strspn(spec, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != n || spec[0] == '.')
            return tc_usage(c, "--meta %s: expected KEY=VALUE, the key of letters, digits, '_', '-' and '.'", spec);
        const tc_extra e = {tc_arena_printf(a, "extra/%.*s", (int)n, spec), eq + 1, strlen(eq + 1)};
        if (has_extra(all, e.path)) return tc_usage(c, "--meta %.*s is given twice", (int)n, spec);
        tc_vec_push(all, e);
    }
    const char *name;
    for (size_t i = 0; from && (name = tc_archive_user_extra(from, i)); i++) {
        const unsigned char *data;
        size_t len;
        bool found;
        if (has_extra(all, name)) continue;
        TC_TRY(tc_archive_entry(from, name, &data, &len, &found));
        const tc_extra e = {name, data, len};
        if (found) tc_vec_push(all, e);
    }
    return NULL;
}

tc_status tc_cmd_write_archive(tc_cmd *c, tc_archive *from, tc_archive_content content) {
    tc_arena a = {0};
    extras all = {0};
    tc_extra source = {0};
    tc_out *o = NULL, *weights = NULL;
    for (int i = 0; i < content.nextra; i++) tc_vec_push(&all, content.extra[i]);
    tc_status s = collect_meta(c, from, &a, &all);
    if (!s) s = tc_external_write(c, from, &content, &a, &source, &weights);
    if (source.path) tc_vec_push(&all, source);
    content.extra = all.data, content.nextra = (int)all.len;
    content.from = from;
    if (!s) s = tc_cmd_create(c, tc_cmd_get(c, TC_OPT_out), true, &o);
    if (!s) s = tc_archive_write(o, &content);
    if (!s && weights) s = tc_out_sync(o); /* write the weights only once the archive is safely on disk */
    s = tc_cmd_finish(c, weights, s);
    s = tc_cmd_finish(c, o, s);
    tc_vec_free(&all);
    tc_arena_free(&a);
    return s;
}

tc_status tc_cmd_program_stored(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program) {
    tc_program *p;
    TC_TRY(tc_archive_program(a, name, &p));
    p->watch = tc_cmd_watch(c, a);
    tc_pass pass = tc_pass_begin(p, "functionalise", NULL);
    tc_status st = tc_pass_end(&pass, p, tc_functionalise(p));
    if (!st) st = tc_program_verify(p);
    if (!st) st = tc_external_read(c, a, p);
    if (st) tc_program_release(p);
    else *out_program = p;
    return st;
}

tc_status tc_cmd_program_named(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program) {
    TC_TRY(tc_cmd_program_stored(c, a, name, out_program));
    static const char *const choices[] = {"yes", "no", NULL};
    int check;
    tc_status st = tc_cmd_choice(c, TC_OPT_check_guards, choices, 0, &check);
    if (!st && check == 1) tc_drop_checks(*out_program);
    if (!st) st = tc_cmd_weights(c, *out_program);
    if (st) tc_program_release(*out_program);
    return st;
}

tc_status tc_cmd_mode(const tc_cmd *c, int *out_mode) {
    static const char *const modes[] = {"eval", "train", NULL};
    return tc_cmd_choice(c, TC_OPT_mode, modes, -1, out_mode);
}

tc_status tc_cmd_wanted(const tc_cmd *c, const tc_archive *a, const char **out_name) {
    int mode;
    *out_name = tc_cmd_get(c, TC_OPT_model);
    TC_TRY(tc_cmd_mode(c, &mode));
    if (!*out_name && mode >= 0 && tc_archive_count(a) > 1) *out_name = mode ? "train" : "model";
    return NULL;
}

tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, tc_program **out_program) {
    return tc_cmd_program_named(c, a, tc_cmd_get(c, TC_OPT_model), out_program);
}

tc_status tc_cmd_bind(const tc_cmd *c, const tc_program *p, tc_symvalue *vars, size_t n) {
    for (size_t i = 0; i < n; i++) vars[i] = (tc_symvalue){.bound = false};
    for (int k = 0; k < tc_cmd_count(c, TC_OPT_dim); k++) {
        const char *spec = tc_cmd_value(c, TC_OPT_dim, k), *eq = strchr(spec, '=');
        char *end = NULL;
        long long v = eq ? strtoll(eq + 1, &end, 10) : 0;
        if (!eq || eq == spec || end == eq + 1 || *end) return tc_usage(c, "--dim %s: expected SYM=N", spec);
        size_t len = (size_t)(eq - spec), at = n;
        tc_buf known = {0};
        for (size_t i = 0; i < n; i++) {
            const char *name = tc_sym_var_name(tc_sym_var_at(p->sym, i));
            tc_buf_printf(&known, "%s%s", i ? ", " : "", name);
            if (strlen(name) == len && !memcmp(name, spec, len)) at = i;
        }
        tc_status s = at < n ? NULL : tc_usage(c, "--dim %s: the program has no such symbol; it has %s", spec, n ? tc_buf_str(&known) : "none");
        tc_buf_free(&known);
        if (s) return s;
        int64_t lo, hi;
        tc_sym_range(p->sym, tc_sym_var_at(p->sym, at), &lo, &hi);
        if (v < lo || v > hi) return tc_usage(c, "--dim %s: expected %s", spec, tc_sym_bounds_of(lo, hi).text);
        vars[at] = (tc_symvalue){.i = v, .bound = true};
    }
    return NULL;
}
