/* An ONNX model as the program operand. */
#include "cmd/program.h"
#include "file/literal.h"
#include "onnx/onnx.h"
#include "runtime/runtime.h"

static void warn(void *self, const char *text) { tc_cmd_verbose(self, "%s", text); }

/* "NAME=VALUE" or "NAME:HINT=VALUE" for this input: where VALUE begins, else NULL. */
static const char *value_for(const char *spec, const char *name, bool only) {
    size_t n = strlen(name);
    if (!strncmp(spec, name, n) && spec[n] == '=') return spec + n + 1;
    return only && (*spec == '@' || tc_literal_type(spec, true)) ? spec : NULL;
}

/* @FILE or @FILE#KEY, or a literal, as a tensor; anything else stays unknown. */
static tc_status read_value(const char *value, const char *name, tc_tensor *out) {
    if (*value != '@') return tc_literal_type(value, true) ? tc_literal_parse(value, out) : NULL;
    if (!strcmp(value, "@-")) return NULL;
    const char *key = strchr(value, '#');
    char *path = key ? strndup(value + 1, (size_t)(key - value - 1)) : strdup(value + 1);
    tc_tensors all = {0};
    tc_status st = tc_tensors_load(path, &all);
    const tc_tensor *t = st ? NULL : tc_tensors_find(&all, key ? key + 1 : "");
    if (!st && !t && !key) t = tc_tensors_find(&all, name);
    if (t) *out = tc_tensor_share(t);
    tc_tensors_deinit(&all);
    free(path);
    tc_status_free(st); /* whoever reads the input says what is wrong with it */
    return NULL;
}

typedef struct {
    TC_VEC(tc_onnx_fixed) list;
    tc_tensor values[256];
} fixed_inputs;

static tc_status read_fixed(tc_cmd *c, const tc_onnx_model *m, fixed_inputs *f) {
    int n = tc_cmd_count(c, TC_OPT_input);
    for (size_t i = 0; i < m->graph.inputs.len && f->list.len < 256; i++) {
        const char *name = m->graph.inputs.data[i].name;
        tc_tensor *t = &f->values[f->list.len];
        for (int k = 0; k < n && !t->storage; k++) {
            const char *value = value_for(tc_cmd_value(c, TC_OPT_input, k), name, m->graph.inputs.len == 1);
            if (value) TC_TRY(read_value(value, name, t));
        }
        if (!t->storage) continue;
        tc_onnx_fixed one = {.name = name, .items = t, .n = 1};
        tc_vec_push(&f->list, one);
    }
    return NULL;
}

tc_status tc_cmd_onnx(tc_cmd *c, tc_blob *b, tc_archive **out_archive) {
    tc_onnx_model *m;
    tc_evaluator *v = NULL;
    tc_program *p = NULL;
    char *wants = NULL;
    TC_TRY(tc_onnx_read(b, &m));
    fixed_inputs *f = tc_xcalloc(1, sizeof *f);
    tc_status st = read_fixed(c, m, f);
    if (!st) st = tc_evaluator_create(&(tc_exec_options){.pool = tc_cmd_pool(c), .threads = tc_cmd_threads(c)}, &v);
    if (!st)
        st = tc_onnx_import(
            m, &(tc_onnx_options){.run = tc_evaluator_eval(v), .fixed = f->list.data, .nfixed = (int)f->list.len, .warn = warn, .warn_self = c}, &p,
            &wants);
    if (st && wants) tc_status_add(st, "give its value: --input %s=VALUE", wants);
    if (p) *out_archive = tc_archive_of_program(p, b->name);
    tc_program_release(p);
    tc_evaluator_destroy(v);
    for (size_t i = 0; i < f->list.len; i++) tc_tensor_deinit(&f->values[i]);
    tc_vec_free(&f->list);
    free(f);
    free(wants);
    tc_onnx_free(m);
    return st;
}
