/* tc-ckpt convert, consolidate and reshard: streams tensors from any format to any format in a few megabytes of memory. */
#include "tc-ckpt/shared.h"
#include "tc-ckpt/training.h"
#include "tc-ckpt/view.h"

#include "file/content.h"
#include "file/rename.h"

#include <regex.h>
#include <stdio.h>
#include <sys/stat.h>

typedef enum { TO_SAFETENSORS, TO_PT, TO_NPZ, TO_NPY, TO_HF, TO_DCP } format;
static const tc_cmd_form formats[] = {
    {"safetensors", ".safetensors"}, {"pt", ".pt.pth.ckpt.bin"}, {"npz", ".npz"}, {"npy", ".npy"}, {"hf", NULL}, {"dcp", NULL}, {0}};

typedef struct {
    tc_cmd *c;
    view v;
    tc_arena arena;
    TC_VEC(tc_head) heads;
    TC_VEC(change) changes;
    tc_progress progress;
    int64_t done;
    tc_sink to;
    bool training;       /* a whole checkpoint of tc-train, names unchanged */
    tc_saved_node *tree; /* the object that torch.save wrote, names unchanged; NULL: another format */
} job;

/* ---- patterns ---- */
typedef struct {
    const char *text; /* as given */
    regex_t re;
    bool compiled;
    tc_dtype cast;
    int perm[TC_MAX_RANK], nperm;
} pattern;
typedef TC_VEC(pattern) patterns;

static void patterns_free(patterns *p) {
    for (size_t i = 0; i < p->len; i++)
        if (p->data[i].compiled) regfree(&p->data[i].re);
    tc_vec_free(p);
}

static tc_status compile(tc_cmd *c, const char *option, const char *text, size_t n, pattern *p) {
    char *copy = tc_xmalloc(n + 1);
    memcpy(copy, text, n);
    copy[n] = 0;
    int error = regcomp(&p->re, copy, REG_EXTENDED | REG_NOSUB);
    tc_status st = error ? tc_usage(c, "--%s %s: not an extended regular expression", option, copy) : NULL;
    p->compiled = !error;
    free(copy);
    return st;
}

static bool matches(const pattern *p, const char *name) { return !p->compiled || regexec(&p->re, name, 0, NULL, 0) == 0; }

static tc_status read_select(tc_cmd *c, tc_select *out) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_select); i++) TC_TRY(tc_select_add(out, tc_cmd_value(c, TC_OPT_select, i)));
    return NULL;
}

static tc_status read_cast(tc_cmd *c, patterns *out) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_cast); i++) {
        const char *s = tc_cmd_value(c, TC_OPT_cast, i), *eq = strrchr(s, '='), *type = eq ? eq + 1 : s;
        pattern p = {.text = s, .cast = tc_dtype_parse(type, strlen(type))};
        if (p.cast == TC_DTYPE_NONE) return tc_usage(c, "--cast %s: '%s' is not a dtype", s, type);
        if (eq) TC_TRY(compile(c, "cast", s, (size_t)(eq - s), &p));
        tc_vec_push(out, p);
    }
    return NULL;
}

/* RE, or RE:1,0,2. */
static tc_status read_transpose(tc_cmd *c, patterns *out) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_transpose); i++) {
        const char *s = tc_cmd_value(c, TC_OPT_transpose, i), *colon = strrchr(s, ':');
        size_t n = strlen(s);
        pattern p = {.text = s};
        if (colon && colon[1] && strspn(colon + 1, "0123456789,") == strlen(colon + 1)) {
            unsigned seen = 0;
            for (const char *q = colon + 1; *q && p.nperm < TC_MAX_RANK; q += *q == ',') {
                char *end;
                long d = strtol(q, &end, 10);
                if (end == q || d < 0 || d >= TC_MAX_RANK || seen >> d & 1) return tc_usage(c, "--transpose %s: expected RE or RE:1,0,...", s);
                seen |= 1u << d;
                p.perm[p.nperm++] = (int)d;
                q = end;
            }
            if (seen != (1u << p.nperm) - 1) return tc_usage(c, "--transpose %s: %s is not a permutation", s, colon + 1);
            n = (size_t)(colon - s);
        }
        TC_TRY(compile(c, "transpose", s, n, &p));
        tc_vec_push(out, p);
    }
    return NULL;
}

/* ---- planning: name, dtype and shape of each tensor ---- */
/* The dtype to cast to: --cast TYPE applies to floating-point tensors, TYPE with a pattern to the names that match; the last match wins. */
static tc_dtype cast_to(const patterns *p, const char *name, tc_dtype from) {
    tc_dtype to = from;
    for (size_t i = 0; i < p->len; i++)
        if (p->data[i].compiled ? matches(&p->data[i], name) : tc_is_float(from)) to = p->data[i].cast;
    return to;
}

static tc_status permute(const patterns *p, const char *name, const tc_ckpt_head *h, change *out) {
    for (int d = 0; d < TC_MAX_RANK; d++) out->perm[d] = d;
    for (size_t i = 0; i < p->len; i++) {
        const pattern *t = &p->data[i];
        if (!matches(t, name)) continue;
        if (t->nperm && t->nperm != h->rank)
            return tc_error(TC_CONTENT, "--transpose: %s has %d dimensions, the permutation has %d", name, h->rank, t->nperm);
        if (!t->nperm && h->rank < 2) continue;
        if (t->nperm) memcpy(out->perm, t->perm, sizeof out->perm);
        else out->perm[h->rank - 1] = h->rank - 2, out->perm[h->rank - 2] = h->rank - 1;
    }
    return NULL;
}

typedef struct {
    tc_select select;
    patterns cast, transpose;
    tc_rename rename;
} rules;

static tc_status read_rules(tc_cmd *c, rules *r) {
    TC_TRY(read_select(c, &r->select));
    TC_TRY(read_cast(c, &r->cast));
    TC_TRY(read_transpose(c, &r->transpose));
    if (tc_cmd_get(c, TC_OPT_map)) TC_TRY(tc_rename_add_table(&r->rename, tc_cmd_get(c, TC_OPT_map)));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_rename); i++) TC_TRY(tc_rename_add(&r->rename, tc_cmd_value(c, TC_OPT_rename, i)));
    return NULL;
}

static void rules_free(rules *r) {
    tc_select_deinit(&r->select);
    patterns_free(&r->cast);
    patterns_free(&r->transpose);
    tc_rename_deinit(&r->rename);
}

static int by_name(const void *a, const void *b) { return strcmp(((const tc_head *)a)->name, ((const tc_head *)b)->name); }

static tc_status plan_one(job *j, const rules *r, size_t i) {
    const char *name = view_name(&j->v, i);
    tc_ckpt_head h = view_head(&j->v, i);
    change ch = {.from = j->v.shown.data[i]};
    tc_buf renamed = {0};
    if (!tc_select_takes(&r->select, name)) return NULL;
    if (tc_rename_apply(&r->rename, name, &renamed)) {
        tc_status st = permute(&r->transpose, name, &h, &ch);
        tc_head out = {
            .name = tc_arena_strdup(&j->arena, *renamed.data ? renamed.data : "tensor"), .dtype = cast_to(&r->cast, name, h.dtype), .rank = h.rank};
        for (int d = 0; d < h.rank; d++) out.size[d] = h.size[ch.perm[d]];
        out.same_as = j->changes.len; /* index of its change, until the heads are sorted */
        tc_vec_push(&j->heads, out);
        tc_vec_push(&j->changes, ch);
        if (st) {
            tc_buf_free(&renamed);
            return st;
        }
    }
    tc_buf_free(&renamed);
    return NULL;
}

/* A pattern that matches no name is an error. */
static tc_status check_used(const job *j, const char *option, const patterns *p) {
    for (size_t i = 0; i < p->len; i++) {
        size_t n = view_count(&j->v), k = 0;
        while (k < n && !matches(&p->data[i], view_name(&j->v, k))) k++;
        if (k == n && n) return tc_error(TC_CONTENT, "--%s %s: no tensor of %s has such a name", option, p->data[i].text, j->v.path);
    }
    return NULL;
}

/* What tc does not represent must not get lost unless --select or --map removes it. */
static tc_status check_left_out(job *j, const rules *r) {
    size_t n;
    const tc_metadata *lost = tc_ckpt_left_out(j->v.ckpt, &n);
    for (size_t i = 0; i < n; i++) {
        tc_buf renamed = {0};
        const bool taken = tc_select_takes(&r->select, lost[i].key) && tc_rename_apply(&r->rename, lost[i].key, &renamed);
        tc_buf_free(&renamed);
        if (taken)
            return tc_error(TC_UNSUPPORTED, "%s: %s is %s, which is not supported; --select '!^%s$' converts the others", j->v.path, lost[i].key,
                            lost[i].value, lost[i].key);
    }
    return NULL;
}

/* The single array of a .npy file has no name: it is written as "tensor". */
static tc_status plan(job *j, const rules *r) {
    for (size_t i = 0; i < view_count(&j->v); i++) TC_TRY(plan_one(j, r, i));
    for (size_t i = 0; i < r->rename.table.len; i++)
        if (view_find(&j->v, r->rename.table.entries[i].key) < 0)
            return tc_error(TC_CONTENT, "%s: %s has no tensor %s", r->rename.file, j->v.path, r->rename.table.entries[i].key);
    TC_TRY(check_used(j, "cast", &r->cast));
    TC_TRY(check_used(j, "transpose", &r->transpose));
    if (j->heads.len) qsort(j->heads.data, j->heads.len, sizeof *j->heads.data, by_name);
    change *ordered = tc_xcalloc(j->heads.len + 1, sizeof *ordered);
    for (size_t i = 0; i < j->heads.len; i++) ordered[i] = j->changes.data[j->heads.data[i].same_as], j->heads.data[i].same_as = i;
    free(j->changes.data);
    j->changes.data = ordered;
    for (size_t i = 1; i < j->heads.len; i++)
        if (!strcmp(j->heads.data[i].name, j->heads.data[i - 1].name))
            return tc_error(TC_USAGE, "two tensors would be named %s", j->heads.data[i].name);
    find_shared(j->v.ckpt, j->heads.data, j->changes.data, j->heads.len);
    if (!j->heads.len && view_count(&j->v)) return tc_error(TC_CONTENT, "%s: no tensor is left: --select or --map removes all", j->v.path);
    return NULL;
}

/* ---- writing ---- */
static tc_status count(void *self, const void *p, size_t n) {
    job *j = self;
    j->done += (int64_t)n;
    tc_progress_update(&j->progress, j->done, NULL);
    return j->to.write(j->to.self, p, n);
}

static tc_status stream(void *self, size_t i, tc_sink to) {
    job *j = self;
    const change *ch = &j->changes.data[i];
    j->to = to;
    return tc_ckpt_stream(j->v.ckpt, ch->from, ch->perm, j->heads.data[i].dtype, (tc_sink){count, j});
}

/* Links the tree's tensors to heads (sorted by name). False: one is missing. */
static bool place_tensors(const job *j, tc_saved_node *n) {
    if (n->kind == TC_SAVED_TENSOR) {
        const tc_head key = {.name = n->text}, *found = bsearch(&key, j->heads.data, j->heads.len, sizeof key, by_name);
        if (!found) return false;
        n->i = found - j->heads.data;
    }
    for (size_t i = 0; i < n->items.len; i++)
        if (!place_tensors(j, n->items.data[i])) return false;
    return !n->state || place_tensors(j, n->state);
}

static tc_status choose(tc_cmd *c, format *out) {
    const char *path = tc_cmd_get(c, TC_OPT_out);
    struct stat info;
    int to;
    TC_TRY(tc_cmd_format(c, formats, path, -1, &to));
    const bool is_folder = path && *path && (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
    if (to < 0) to = is_folder ? TO_HF : TO_SAFETENSORS;
    const bool wants_folder = to == TO_HF || to == TO_DCP;
    if (is_folder && !wants_folder) return tc_usage(c, "--to %s writes a file, -o %s is a folder", formats[to].name, path);
    if (wants_folder && (!path || !strcmp(path, "-"))) return tc_usage(c, "--to %s writes a folder: give -o DIR", formats[to].name);
    if (to != TO_HF && tc_cmd_has(c, TC_OPT_shard_size)) return tc_usage(c, "--shard-size needs --to hf");
    if (to != TO_PT && tc_cmd_has(c, TC_OPT_no_crc)) return tc_usage(c, "--no-crc needs --to pt");
    *out = (format)to;
    return NULL;
}

static tc_status shard_size(tc_cmd *c, uint64_t *out) {
    const char *s = tc_cmd_get(c, TC_OPT_shard_size);
    *out = UINT64_C(5000000000);
    if (!s) return NULL;
    char *end;
    double v = strtod(s, &end), unit = *end == 'K' || *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : *end == 'T' ? 1e12 : 1;
    if (unit > 1) end++;
    if (*end == 'B') end++;
    if (end == s || *end || !(v * unit >= 1) || v * unit > 1e18) return tc_usage(c, "--shard-size %s: expected bytes, as 500M or 5G", s);
    *out = (uint64_t)(v * unit);
    return NULL;
}

static tc_status write_out(job *j, format to) {
    static const tc_metadata pt[] = {{"format", "pt"}};
    const char *path = tc_cmd_get(j->c, TC_OPT_out);
    tc_content content = {j->heads.data, j->heads.len, stream, j, pt, 1, tc_cmd_has(j->c, TC_OPT_no_crc)};
    uint64_t max;
    TC_TRY(shard_size(j->c, &max));
    if (to == TO_HF) return tc_ckpt_write_hf(path, &content, max);
    if (to == TO_DCP) return tc_ckpt_write_dcp(path, &content);
    tc_status (*const writers[])(tc_out *, const tc_content *) = {[TO_SAFETENSORS] = tc_safetensors_write_content,
                                                                  [TO_PT] = tc_saved_write_content,
                                                                  [TO_NPZ] = tc_npz_write_content,
                                                                  [TO_NPY] = tc_npy_write_content};
    tc_out *o;
    TC_TRY(tc_cmd_create(j->c, path, true, &o));
    bool done = false;
    tc_status st = NULL;
    if (to == TO_PT && j->training) st = training_write(o, &content, tc_ckpt_state(j->v.ckpt), tc_ckpt_step(j->v.ckpt), &done);
    if (to == TO_PT && j->tree && place_tensors(j, j->tree)) st = tc_saved_write_tree(o, &content, j->tree), done = true;
    return tc_cmd_finish(j->c, o, st || done ? st : writers[to](o, &content));
}

static tc_status convert(tc_cmd *c, bool model_only) {
    job j = {.c = c};
    rules r = {0};
    format to = TO_SAFETENSORS;
    TC_TRY(choose(c, &to));
    tc_status st = read_rules(c, &r);
    if (!st) st = view_open(c, c->noperands ? c->operands[0] : NULL, (tc_ckpt_options){.raw = true, .check_all = true, .tree = to == TO_PT}, &j.v);
    if (!st) {
        if (model_only) view_only_model(&j.v);
        const bool whole = !j.v.only_model && !r.rename.rules.len && !r.rename.table.len && !r.select.rules.len;
        j.training = whole && !strcmp(tc_ckpt_format(j.v.ckpt), "checkpoint");
        j.tree = whole && !strncmp(tc_ckpt_format(j.v.ckpt), "torch.save", 10) ? tc_ckpt_tree(j.v.ckpt) : NULL;
        st = check_left_out(&j, &r);
        if (!st) st = plan(&j, &r);
        if (!st && to == TO_PT) keep_order(j.v.ckpt, j.heads.data, j.changes.data, j.heads.len);
        int64_t total = 0;
        for (size_t i = 0; i < j.heads.len; i++) total += (int64_t)tc_head_bytes(&j.heads.data[i]);
        if (!st) {
            bool twice = to == TO_NPZ || (to == TO_PT && !tc_cmd_has(c, TC_OPT_no_crc)); /* the checksum precedes the data, so data is read twice */
            j.progress = tc_progress_start(c, "converting", "B", twice ? 2 * total : total);
            st = write_out(&j, to);
            tc_progress_end(&j.progress);
        }
        if (!st) tc_cmd_verbose(c, "%zu tensors, %lld bytes of %s", j.heads.len, (long long)total, j.v.path);
        view_close(&j.v);
    }
    rules_free(&r);
    tc_vec_free(&j.heads);
    tc_vec_free(&j.changes);
    tc_arena_free(&j.arena);
    return st;
}

/* ---- reshard ---- */
/* "8" or "2x4". */
static tc_status read_mesh(tc_cmd *c, tc_mesh_shape *out) {
    const char *s = tc_cmd_get(c, TC_OPT_mesh), *p = s;
    *out = (tc_mesh_shape){.ranks = 1};
    if (!s) return tc_usage(c, "reshard needs --mesh, the ranks to write for: --mesh 8, --mesh 2x4");
    while (out->naxes < TC_MESH_AXES && *p >= '1' && *p <= '9') {
        char *end;
        const long n = strtol(p, &end, 10);
        if (n > TC_MESH_RANKS / out->ranks) break;
        out->ranks *= out->size[out->naxes++] = n;
        p = end + (*end == 'x' && end[1]);
        if (!*end) return NULL;
        if (p == end) break;
    }
    return tc_usage(c, "--mesh %s: expected ranks, as 8 or 2x4: at most %d axes and %d ranks", s, TC_MESH_AXES, TC_MESH_RANKS);
}

tc_status run_reshard(tc_cmd *c) {
    const char *path = tc_cmd_get(c, TC_OPT_out);
    tc_mesh_shape mesh;
    view v;
    TC_TRY(read_mesh(c, &mesh));
    if (!path || !strcmp(path, "-")) return tc_usage(c, "reshard writes a folder: give -o DIR");
    TC_TRY(view_open(c, c->noperands ? c->operands[0] : NULL, (tc_ckpt_options){.raw = true, .check_all = true}, &v));
    tc_status st = tc_ckpt_write_shards(path, v.ckpt, &mesh);
    if (!st) tc_cmd_verbose(c, "%zu tensors of %s for %lld ranks", tc_ckpt_count(v.ckpt), v.path, (long long)mesh.ranks);
    view_close(&v);
    return st;
}

tc_status run_convert(tc_cmd *c) { return convert(c, false); }
tc_status run_consolidate(tc_cmd *c) { return convert(c, !tc_cmd_has(c, TC_OPT_all)); }
