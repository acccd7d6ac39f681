/* An ONNX model as the program operand: imports it, with the --input values that the import needs. */
#include "cmd/program.h"
#include "base/file.h"
#include "base/json.h"
#include "file/literal.h"
#include "onnx/onnx.h"
#include "runtime/runtime.h"

#include <stdio.h>

static void warn(void *self, const char *text) { tc_cmd_verbose(self, "%s", text); }

/* The VALUE in "NAME=VALUE" for this input, in "VALUE" for the only input, or in "@FILE", whose keys name inputs; else NULL. */
static const char *value_for(const char *spec, const char *name, bool only) {
    size_t n = strlen(name);
    if (!strncmp(spec, name, n) && spec[n] == '=') return spec + n + 1;
    if (*spec == '@' && !strchr(spec, '#')) return spec;
    return only && ((*spec && strchr("@[\"", *spec)) || tc_literal_type(spec, true)) ? spec : NULL;
}

/* Reads @FILE, @FILE#KEY or a literal as a tensor; anything else stays unknown. by_key: in @FILE only the tensor of that name is meant. */
static tc_status read_value(const char *value, const char *name, bool by_key, tc_tensor *out) {
    if (*value != '@') return tc_literal_type(value, true) ? tc_literal_parse(value, out) : NULL;
    if (!strcmp(value, "@-")) return NULL;
    const char *key = strchr(value, '#');
    char *path = key ? strndup(value + 1, (size_t)(key - value - 1)) : strdup(value + 1);
    tc_tensors all = {0};
    tc_status st = tc_tensors_load(path, &all);
    const tc_tensor *t = st || by_key ? NULL : tc_tensors_find(&all, key ? key + 1 : "");
    if (!st && !t && !key) t = tc_tensors_find(&all, name);
    if (t) *out = tc_tensor_share(t);
    tc_tensors_deinit(&all);
    free(path);
    tc_status_free(st); /* the error is reported when the input is read for the run */
    return NULL;
}

/* ---- strings ---- */
typedef struct {
    tc_arena *arena;
    TC_VEC(const char *) items; /* in row-major order */
    int rank;                   /* -1: no string or empty list seen yet */
    int64_t size[TC_MAX_RANK];  /* list length at each depth; -1: none seen yet */
} strings;

/* Reads a string at `depth`, or a list of elements one level deeper, all of the same depth and length. */
static void read_strings(tc_jread *j, int depth, strings *s) {
    bool nested = tc_jr_peek(j) == TC_JR_ARRAY;
    int64_t n = 0;
    if (!nested && s->rank < 0) s->rank = depth;
    if (nested ? depth == TC_MAX_RANK || (s->rank >= 0 && depth >= s->rank) : depth != s->rank) {
        tc_jr_skip(j);
        tc_jr_fail(j, TC_CONTENT, s->rank < 0 ? "more than %d lists in one another" : "strings stand %d lists deep before this",
                   s->rank < 0 ? TC_MAX_RANK : s->rank);
        return;
    }
    if (!nested) {
        tc_vec_push(&s->items, tc_jr_strdup(j, s->arena));
        return;
    }
    for (tc_jr_array(j); tc_jr_item(j); n++) read_strings(j, depth + 1, s);
    if (!n && s->rank < 0) s->rank = depth + 1;
    if (s->size[depth] < 0) s->size[depth] = n;
    if (s->size[depth] != n) tc_jr_fail(j, TC_CONTENT, "a list of %lld, others have %lld", (long long)n, (long long)s->size[depth]);
}

/* Reads JSON (a string or nested lists of strings) from @FILE, @- or the value itself. Elements live in the arena; the caller frees the list. */
static tc_status read_text(tc_cmd *c, const char *value, const char *name, tc_arena *a, tc_onnx_tensor *out) {
    tc_jread j;
    tc_blob *b = NULL;
    char who[128];
    strings s = {.arena = a, .rank = -1};
    snprintf(who, sizeof who, "--input %.100s", name);
    if (!strcmp(value, "@-")) TC_TRY(tc_cmd_claim_stdin(c, who));
    if (*value == '@') TC_TRY(tc_blob_open(value + 1, &b));
    for (int d = 0; d < TC_MAX_RANK; d++) s.size[d] = -1;
    tc_jr_init(&j, b ? b->name : who, b ? (const char *)b->data : value, b ? b->len : strlen(value));
    read_strings(&j, 0, &s);
    tc_status st = tc_jr_finish(&j);
    tc_blob_release(b);
    *out = (tc_onnx_tensor){.name = name, .type = TC_ONNX_STRING, .strings = s.items.data, .nstrings = s.items.len, .rank = s.rank};
    for (int d = 0; d < s.rank; d++) out->size[d] = s.size[d];
    return st;
}

/* ---- values of inputs ---- */
enum { MOST = 256 };
typedef struct {
    TC_VEC(tc_onnx_fixed) list;
    tc_tensor values[MOST];
    tc_onnx_tensor texts[MOST];
    tc_arena arena; /* of string elements */
} fixed_inputs;

static void free_fixed(fixed_inputs *f) {
    for (size_t i = 0; i < MOST; i++) {
        tc_tensor_deinit(&f->values[i]);
        free(f->texts[i].strings);
    }
    tc_arena_free(&f->arena);
    tc_vec_free(&f->list);
    free(f);
}

/* Removes the k-th --input, which the import has consumed: the program has no such input. */
static void spend(tc_cmd *c, int k) {
    const char **all = c->values[TC_OPT_input].data;
    size_t after = --c->values[TC_OPT_input].len - (size_t)k;
    memmove(all + k, all + k + 1, after * sizeof *all);
}

static tc_status read_fixed(tc_cmd *c, const tc_onnx_model *m, fixed_inputs *f) {
    bool only = m->graph.inputs.len == 1;
    for (size_t i = 0; i < m->graph.inputs.len && f->list.len < MOST; i++) {
        const tc_onnx_type *its = &m->graph.inputs.data[i].type;
        const char *name = m->graph.inputs.data[i].name;
        bool is_text = its->kind == TC_ONNX_T_TENSOR && its->elem == TC_ONNX_STRING;
        tc_tensor *t = &f->values[f->list.len];
        tc_onnx_tensor *text = &f->texts[f->list.len];
        for (int k = 0; k < tc_cmd_count(c, TC_OPT_input) && !t->storage && !text->type; k++) {
            const char *spec = tc_cmd_value(c, TC_OPT_input, k), *value = value_for(spec, name, only);
            bool by_key = value == spec && !only;
            if (!value || (is_text && by_key)) continue;
            TC_TRY(is_text ? read_text(c, value, name, &f->arena, text) : read_value(value, name, by_key, t));
            if (is_text) spend(c, k);
        }
        tc_onnx_fixed one = {.name = name, .items = t, .n = t->storage != NULL, .text = text->type ? text : NULL};
        if (t->storage || text->type) tc_vec_push(&f->list, one);
    }
    return NULL;
}

tc_status tc_cmd_onnx(tc_cmd *c, tc_blob *b, bool values, tc_archive **out_archive) {
    tc_onnx_model *m;
    tc_evaluator *v = NULL;
    tc_side_programs all = {0};
    char *wants = NULL;
    TC_TRY(tc_onnx_read(b, &m));
    fixed_inputs *f = tc_xcalloc(1, sizeof *f);
    tc_status st = values ? read_fixed(c, m, f) : NULL;
    if (!st) st = tc_evaluator_create(&(tc_exec_options){.pool = tc_cmd_pool(c), .threads = 1}, &v);
    tc_onnx_options o = {.fixed = f->list.data, .nfixed = (int)f->list.len, .warn = warn, .warn_self = c, .sides = c->onnx_sides};
    if (!st) o.run = tc_evaluator_eval(v), st = tc_onnx_import(m, &o, &all, &wants);
    if (st && wants) tc_status_add(st, "give its value: --input %s=VALUE", wants);
    if (all.len) *out_archive = tc_archive_of_programs(all.data, all.len, b->name);
    for (size_t i = 0; i < all.len; i++) tc_program_release(all.data[i]);
    tc_vec_free(&all);
    tc_evaluator_destroy(v);
    free_fixed(f);
    free(wants);
    tc_onnx_free(m);
    return st;
}
