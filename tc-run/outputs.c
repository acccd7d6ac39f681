/* The outputs of a run: parses --output, --expect, --to; writes files, stdout and terminal; compares (run.h). */
#include "tc-run/run.h"

#include "file/content.h"
#include "file/npy.h"
#include "file/safetensors.h"

#include <unistd.h>

/* What --output can name: the results, then the inputs and buffers that the program mutates (by name). */
typedef struct {
    int output;
    const char *name;
} source;

typedef enum { AS_NPY, AS_NPZ, AS_SAFETENSORS, AS_TEXT, AS_PRINT } form;
typedef struct {
    char *path;
    form form;
    tc_out *out;
    TC_VEC(size_t) sources;
} sink; /* path "-": stdout */
typedef struct {
    size_t source;
    const feed *from;
    const char *key;
} expectation;

struct outputs {
    tc_cmd *cmd;
    const tc_program *program;
    TC_VEC(source) sources;
    size_t nresults;
    TC_VEC(sink) sinks;
    TC_VEC(expectation) expected;
    double rtol, atol;
    tc_dtype cast;
    tc_status different;
    int ndifferent;
};

static void list_sources(outputs *o) {
    const tc_program *p = o->program;
    for (int i = 0; i < p->noutputs; i++) {
        source s = {i, p->outputs[i].name};
        if (tc_output_is_result(&p->outputs[i])) tc_vec_push(&o->sources, s);
    }
    o->nresults = o->sources.len;
    for (int i = 0; i < p->noutputs; i++) {
        if (p->outputs[i].kind != TC_OUT_USER_INPUT && p->outputs[i].kind != TC_OUT_BUFFER) continue;
        source s = {i, p->inputs[p->outputs[i].target].name};
        tc_vec_push(&o->sources, s);
    }
}

static tc_status find_source(const outputs *o, const char *name, size_t *out) {
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    if (end > name && !*end && number < o->nresults) { /* the index has priority over a dict key that is a number */
        *out = number;
        return NULL;
    }
    for (*out = 0; *out < o->sources.len; ++*out)
        if (!strcmp(o->sources.data[*out].name, name)) return NULL;
    tc_buf b = {0};
    for (size_t i = 0; i < o->sources.len; i++) tc_buf_printf(&b, "%s%s", i ? ", " : "", o->sources.data[i].name);
    tc_status st = tc_usage(o->cmd, "there is no output %s; the program has %s", name, tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

/* The dtype of a source, known before the run; TC_DTYPE_NONE: not a tensor or number. */
static tc_dtype type_of(const outputs *o, size_t i) {
    static const tc_dtype of_number[] = {[TC_SYM_INT] = TC_I64, [TC_SYM_FLOAT] = TC_F64, [TC_SYM_BOOL] = TC_BOOL};
    const tc_output *out = &o->program->outputs[o->sources.data[i].output];
    if (out->kind == TC_OUT_LEAF) {
        if (out->leaf.kind == TC_A_INT) return TC_I64;
        if (out->leaf.kind != TC_A_SCALAR) return TC_DTYPE_NONE;
        if (out->leaf.is_sym) return of_number[tc_sym_type(out->leaf.sym)];
        return out->leaf.scalar.kind == TC_KIND_BOOL    ? TC_BOOL
               : out->leaf.scalar.kind == TC_KIND_INT   ? TC_I64
               : out->leaf.scalar.kind == TC_KIND_FLOAT ? TC_F64
                                                        : TC_C128;
    }
    if (out->value->kind == TC_V_SYM) return of_number[tc_sym_type(out->value->sym)];
    tc_dtype d = out->value->meta.dtype;
    return o->cast != TC_DTYPE_NONE && tc_is_float(d) ? o->cast : d;
}

/* The string value of a source, or NULL. */
static const char *string_of(const outputs *o, size_t i) {
    const tc_output *out = &o->program->outputs[o->sources.data[i].output];
    return out->kind == TC_OUT_LEAF && out->leaf.kind == TC_A_STRING ? out->leaf.string : NULL;
}

static bool all_strings(const outputs *o, const size_t *sources, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!string_of(o, sources ? sources[i] : i)) return false;
    return n > 0;
}

static sink *find_sink(outputs *o, const char *path, form f) {
    for (size_t i = 0; i < o->sinks.len; i++)
        if (!strcmp(o->sinks.data[i].path, path)) return &o->sinks.data[i];
    sink s = {.path = tc_xstrdup(path), .form = f};
    tc_vec_push(&o->sinks, s);
    return &o->sinks.data[o->sinks.len - 1];
}

/* The format: --to, else by suffix, else text for strings and .npy for tensors. */
static tc_status form_of(const outputs *o, const char *path, bool strings, form *out) {
    static const tc_cmd_form forms[] = {{"npy", ".npy"}, {"npz", ".npz"}, {"safetensors", ".safetensors"}, {"text", ".txt"}, {0}};
    int f;
    TC_TRY(tc_cmd_format(o->cmd, forms, path, strings ? AS_TEXT : AS_NPY, &f));
    *out = (form)f;
    return NULL;
}

static tc_status check_sink(const outputs *o, const sink *s) {
    bool lines = s->form == AS_TEXT && all_strings(o, s->sources.data, s->sources.len);
    if ((s->form == AS_NPY || (s->form == AS_TEXT && !lines)) && s->sources.len > 1)
        return tc_usage(o->cmd, "%zu outputs for %s: give each its --output NAME=@FILE, or --to safetensors", s->sources.len,
                        strcmp(s->path, "-") ? s->path : "stdout");
    for (size_t i = 0; i < s->sources.len && !lines; i++) {
        size_t k = s->sources.data[i];
        tc_dtype d = type_of(o, k);
        const char *name = o->sources.data[k].name;
        if (d == TC_DTYPE_NONE && s->form != AS_PRINT) return tc_usage(o->cmd, "output %s is neither a tensor nor a number", name);
        if ((s->form == AS_NPY || s->form == AS_NPZ) && !tc_dtypes[d].npy)
            return tc_usage(o->cmd, "output %s is %s, which .npy lacks: give --to safetensors, or --cast f32", name, tc_dtypes[d].torch);
        if (s->form == AS_TEXT && !tc_is_integral(d))
            return tc_usage(o->cmd, "output %s is %s: text needs integers, one a byte", name, tc_dtypes[d].torch);
    }
    return NULL;
}

static tc_status parse_output(outputs *o, const char *spec, const char *name, bool text, const char *value) {
    size_t k = 0;
    form f = AS_TEXT;
    if (name) TC_TRY(find_source(o, name, &k));
    else if (o->nresults != 1) return tc_usage(o->cmd, "--output %s: the program has %zu outputs, say which (NAME=%s)", spec, o->nresults, value);
    const char *path = !strcmp(value, "-") || !strcmp(value, "@-") ? "-" : *value == '@' && value[1] ? value + 1 : NULL;
    if (!path) return tc_usage(o->cmd, "--output %s: expected @FILE or -", spec);
    if (!text) TC_TRY(form_of(o, path, string_of(o, k), &f));
    if (!text && !strcmp(path, "-") && f == AS_NPY && isatty(STDOUT_FILENO)) f = AS_PRINT;
    sink *s = find_sink(o, path, f);
    if (s->sources.len && s->form != f) return tc_usage(o->cmd, "%s is given two formats", path);
    tc_vec_push(&s->sources, k);
    return NULL;
}

/* Without --output: all results go to -o or stdout. */
static tc_status default_sink(outputs *o) {
    const char *path = tc_cmd_get(o->cmd, TC_OPT_out);
    bool strings = all_strings(o, NULL, o->nresults);
    form f;
    TC_TRY(form_of(o, path ? path : "-", strings, &f));
    if (!path && f == AS_NPY && isatty(STDOUT_FILENO)) f = AS_PRINT;
    sink *s = find_sink(o, path ? path : "-", f);
    for (size_t i = 0; i < o->nresults; i++) {
        const char *name = o->sources.data[i].name;
        if (f == AS_PRINT || strings || type_of(o, i) != TC_DTYPE_NONE || o->nresults == 1) tc_vec_push(&s->sources, i);
        else if (string_of(o, i))
            tc_cmd_note(o->cmd, "output %s is text, which goes into no file of tensors: --output %s=@FILE.txt writes it", name, name);
    }
    return NULL;
}

static tc_status parse_expect(outputs *o, feeds *f, const char *spec) {
    char *name, *hint;
    const char *value;
    expectation e = {0};
    feed *from = NULL;
    tc_status st = NULL;
    split_spec(spec, &name, &hint, &value);
    if (hint || *value != '@' || !value[1]) st = tc_usage(o->cmd, "--expect %s: expected [NAME=]@FILE[#KEY]", spec);
    if (!st && name) st = find_source(o, name, &e.source);
    if (!st) st = feed_open(o->cmd, f, value + 1, "--expect", &from, &e.key);
    e.from = from;
    if (!st && !name && o->nresults != 1 && e.key)
        st = tc_usage(o->cmd, "--expect %s: the program has %zu outputs, say which (NAME=%s)", spec, o->nresults, value);
    bool all = !st && !name && o->nresults != 1;
    if (!st && !all) tc_vec_push(&o->expected, e);
    for (e.source = 0; all && e.source < o->nresults; e.source++) {
        e.key = o->sources.data[e.source].name;
        tc_vec_push(&o->expected, e);
    }
    free(name);
    free(hint);
    return st;
}

tc_status outputs_open(tc_cmd *c, const tc_program *p, feeds *f, outputs **out) {
    outputs *o = *out = tc_xcalloc(1, sizeof *o);
    const char *cast = tc_cmd_get(c, TC_OPT_cast);
    if (tc_cmd_count(c, TC_OPT_cast) > 1) return tc_usage(c, "--cast is given %d times, expected once", tc_cmd_count(c, TC_OPT_cast));
    *o = (outputs){.cmd = c, .program = p, .cast = TC_DTYPE_NONE};
    if (cast && (o->cast = tc_dtype_parse(cast, strlen(cast))) == TC_DTYPE_NONE) return tc_usage(c, "--cast %s: there is no such type", cast);
    list_sources(o);
    TC_TRY(tc_cmd_double(c, TC_OPT_rtol, 0, 1e300, 0, &o->rtol));
    TC_TRY(tc_cmd_double(c, TC_OPT_atol, 0, 1e300, 0, &o->atol));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_output); i++) {
        char *name, *hint;
        const char *spec = tc_cmd_value(c, TC_OPT_output, i), *value;
        split_spec(spec, &name, &hint, &value);
        tc_status st =
            hint && strcmp(hint, "text") ? tc_usage(c, "--output %s: the only hint is text", spec) : parse_output(o, spec, name, hint != NULL, value);
        free(name);
        free(hint);
        if (st) return st;
    }
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_expect); i++) TC_TRY(parse_expect(o, f, tc_cmd_value(c, TC_OPT_expect, i)));
    if (!o->sinks.len && (!o->expected.len || tc_cmd_get(c, TC_OPT_out))) TC_TRY(default_sink(o));
    for (size_t i = 0; i < o->sinks.len; i++) TC_TRY(check_sink(o, &o->sinks.data[i]));
    return NULL;
}

/* ---- one record ---- */
static tc_status leaf_tensor(const tc_arg *a, tc_tensor *out) {
    int64_t i = 0;
    if (a->kind == TC_A_INT && tc_sym_const_int(a->sym, &i)) return tc_tensor_scalar(TC_I64, tc_scalar_int(i), out);
    tc_dtype d = a->scalar.kind == TC_KIND_BOOL    ? TC_BOOL
                 : a->scalar.kind == TC_KIND_INT   ? TC_I64
                 : a->scalar.kind == TC_KIND_FLOAT ? TC_F64
                                                   : TC_C128;
    return tc_tensor_scalar(d, a->scalar, out);
}

static tc_status fetch(const outputs *o, size_t k, const tc_exec *e, const tc_tensor *results, const tc_tensor *given, tc_tensor *out) {
    const tc_program *p = tc_exec_program(e); /* may be a variant with the same outputs as o->program */
    int i = o->sources.data[k].output, target = p->outputs[i].target, user = 0;
    tc_tensor t = {0};
    switch (p->outputs[i].kind) {
    case TC_OUT_LEAF:
        if (results[i].storage) t = tc_tensor_share(&results[i]);
        else TC_TRY(leaf_tensor(&p->outputs[i].leaf, &t));
        break;
    case TC_OUT_BUFFER: t = tc_tensor_share(tc_exec_state(e, target)); break;
    case TC_OUT_USER_INPUT:
        for (int n = 0; n < target; n++) user += p->inputs[n].kind == TC_IN_USER;
        t = tc_tensor_share(&given[user]);
        break;
    default: t = tc_tensor_share(&results[i]);
    }
    if (o->cast != TC_DTYPE_NONE && tc_is_float(t.dtype) && t.dtype != o->cast) {
        tc_status st = tc_tensor_cast(&t, o->cast, out);
        tc_tensor_deinit(&t);
        return st;
    }
    *out = t;
    return NULL;
}

static tc_status put_text(tc_out *out, const tc_tensor *t, const char *name) {
    tc_tensor c;
    TC_TRY(tc_tensor_contiguous(t, &c));
    int64_t n = tc_tensor_numel(&c);
    unsigned char *bytes = tc_xmalloc((size_t)n + 1);
    tc_status st = NULL;
    for (int64_t i = 0; i < n && !st; i++) {
        int64_t v = tc_scalar_load(c.dtype, tc_tensor_data(&c), i).i;
        if (v < 0 || v > 255) st = tc_error(TC_CONTENT, "output %s: element %lld is %lld, no byte", name, (long long)i, (long long)v);
        bytes[i] = (unsigned char)v;
    }
    if (!st) st = tc_out_write(out, bytes, (size_t)n);
    free(bytes);
    tc_tensor_deinit(&c);
    return st;
}

static tc_status put_printed(sink *s, const outputs *o, const tc_tensor *t, size_t k) {
    tc_buf b = {0};
    if (s->sources.len > 1) tc_buf_printf(&b, "%s = ", o->sources.data[k].name);
    tc_tensor_print(&b, t);
    tc_buf_putc(&b, '\n');
    tc_status st = tc_out_write(s->out, b.data, b.len);
    tc_buf_free(&b);
    return st;
}

/* Writes a string result as a line. */
static tc_status put_string(sink *s, const outputs *o, const char *text, size_t k) {
    tc_buf b = {0};
    if (s->form == AS_PRINT && s->sources.len > 1) tc_buf_printf(&b, "%s = ", o->sources.data[k].name);
    tc_buf_printf(&b, "%s\n", text);
    tc_status st = tc_out_write(s->out, b.data, b.len);
    tc_buf_free(&b);
    return st;
}

static tc_status put_set(const outputs *o, const sink *s, int64_t record, const tc_tensors *set) {
    if (s->form == AS_SAFETENSORS) return tc_safetensors_write(s->out, set);
    if (record) return tc_usage(o->cmd, "record %lld: an .npz holds one record; several need --to safetensors", (long long)record);
    tc_head *heads;
    tc_content c = tc_content_of(set, &heads);
    tc_status st = tc_npz_write_content(s->out, &c);
    free(heads);
    return st;
}

static tc_status put_sink(outputs *o, sink *s, int64_t record, const tc_exec *e, const tc_tensor *results, const tc_tensor *given) {
    tc_tensors set = {0};
    tc_status st = NULL;
    bool in_set = s->form == AS_SAFETENSORS || s->form == AS_NPZ;
    if (!s->out) TC_TRY(tc_cmd_create(o->cmd, strcmp(s->path, "-") ? s->path : NULL, s->form == AS_NPY || in_set, &s->out));
    for (size_t i = 0; i < s->sources.len && !st; i++) {
        size_t k = s->sources.data[i];
        tc_tensor t;
        const char *text = s->form == AS_TEXT || s->form == AS_PRINT ? string_of(o, k) : NULL;
        if (text) st = put_string(s, o, text, k);
        if (type_of(o, k) == TC_DTYPE_NONE) continue;
        st = fetch(o, k, e, results, given, &t);
        if (st) break;
        if (in_set) {
            st = tc_tensors_add(&set, o->sources.data[k].name, t);
            continue;
        }
        if (s->form == AS_NPY) st = tc_npy_write(s->out, &t);
        else if (s->form == AS_TEXT) st = put_text(s->out, &t, o->sources.data[k].name);
        else st = put_printed(s, o, &t, k);
        tc_tensor_deinit(&t);
    }
    if (!st && in_set) st = put_set(o, s, record, &set);
    tc_tensors_deinit(&set);
    return st ? st : tc_out_flush(s->out);
}

static void describe_place(tc_buf *b, const tc_tensor *t, int64_t index) {
    int64_t at[TC_MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) at[d] = index % t->size[d], index /= t->size[d];
    tc_buf_putc(b, '[');
    for (int d = 0; d < t->rank; d++) tc_buf_printf(b, "%s%lld", d ? ", " : "", (long long)at[d]);
    tc_buf_putc(b, ']');
}

static void describe_element(tc_buf *b, const tc_tensor *t, int64_t index) {
    tc_tensor c;
    tc_status st = tc_tensor_contiguous(t, &c);
    if (st) {
        tc_status_free(st);
        return;
    }
    tc_scalar v = tc_scalar_load(c.dtype, tc_tensor_data(&c), index);
    if (v.kind == TC_KIND_COMPLEX) tc_buf_printf(b, "%.9g%+.9gj", v.re, v.im);
    else if (v.kind == TC_KIND_FLOAT) tc_buf_printf(b, c.dtype == TC_F64 ? "%.17g" : "%.9g", v.f);
    else tc_buf_printf(b, "%lld", (long long)v.i);
    tc_tensor_deinit(&c);
}

static tc_status compare(outputs *o, const expectation *x, int64_t record, const tc_tensor *found) {
    const tc_tensor *want;
    const char *name = o->sources.data[x->source].name;
    tc_diff d;
    TC_TRY(feed_pick(x->from, x->key, name, &want));
    tc_status st = tc_tensor_compare(found, want, o->rtol, o->atol, &d);
    if (st && tc_status_code(st) != TC_DIFFERENT) return st;
    tc_buf b = {0};
    if (record) tc_buf_printf(&b, "record %lld, ", (long long)record);
    tc_buf_printf(&b, "%s: ", name);
    if (st) {
        tc_buf_puts(&b, tc_status_message(st));
    } else if (d.count) {
        tc_buf_printf(&b, "%lld of %lld elements differ, the first at ", (long long)d.count, (long long)tc_tensor_numel(found));
        describe_place(&b, found, d.first);
        tc_buf_puts(&b, ": ");
        describe_element(&b, found, d.first);
        tc_buf_puts(&b, ", expected ");
        describe_element(&b, want, d.first);
        tc_buf_printf(&b, "; largest error %.3g, relative %.3g", d.max_abs, d.max_rel);
    }
    bool different = st || d.count;
    tc_status_free(st);
    if (different && o->ndifferent++ == 0) o->different = tc_error(TC_DIFFERENT, "%s", b.data);
    else if (different && o->ndifferent <= 20) tc_status_add(o->different, "%s", b.data);
    tc_buf_free(&b);
    return NULL;
}

tc_status outputs_put(outputs *o, int64_t record, const tc_exec *e, const tc_tensor *results, const tc_tensor *given) {
    for (size_t i = 0; i < o->sinks.len; i++) TC_TRY(put_sink(o, &o->sinks.data[i], record, e, results, given));
    for (size_t i = 0; i < o->expected.len; i++) {
        tc_tensor t;
        if (type_of(o, o->expected.data[i].source) == TC_DTYPE_NONE) continue;
        TC_TRY(fetch(o, o->expected.data[i].source, e, results, given, &t));
        tc_status st = compare(o, &o->expected.data[i], record, &t);
        tc_tensor_deinit(&t);
        if (st) return st;
    }
    return NULL;
}

tc_status outputs_close(outputs *o, tc_status s) {
    if (!o) return s;
    for (size_t i = 0; i < o->sinks.len; i++) {
        sink *k = &o->sinks.data[i];
        if (k->out) s = tc_cmd_finish(o->cmd, k->out, s);
        free(k->path);
        tc_vec_free(&k->sources);
    }
    if (!s) s = o->different;
    else tc_status_free(o->different);
    tc_vec_free(&o->sinks);
    tc_vec_free(&o->sources);
    tc_vec_free(&o->expected);
    free(o);
    return s;
}
