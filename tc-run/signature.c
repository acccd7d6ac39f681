/* Prints a program's inputs and outputs: for --signature, and when an input is missing. */
#include "tc-run/run.h"

#include "base/shell.h"
#include "base/json_write.h"
#include "base/text.h"
#include "cmd/inputs.h"
#include "pass/symbols.h"

static void print_leaf(tc_buf *b, const tc_arg *a) {
    int64_t i;
    switch (a->kind) {
    case TC_A_NONE: tc_buf_puts(b, "None"); break;
    case TC_A_STRING:
        tc_buf_putc(b, '\'');
        tc_put_shown(b, a->string, strlen(a->string), "");
        tc_buf_putc(b, '\'');
        break;
    case TC_A_INT:
        if (tc_sym_const_int(a->sym, &i)) tc_buf_printf(b, "%lld", (long long)i);
        else tc_sym_print(b, a->sym);
        break;
    case TC_A_SCALAR:
        if (a->is_sym) tc_sym_print(b, a->sym);
        else if (a->scalar.kind == TC_KIND_BOOL) tc_buf_puts(b, a->scalar.i ? "True" : "False");
        else if (a->scalar.kind == TC_KIND_INT) tc_buf_printf(b, "%lld", (long long)a->scalar.i);
        else tc_double_text(b, tc_scalar_to_double(a->scalar));
        break;
    default: tc_buf_puts(b, "constant");
    }
}

static size_t widest_name(const tc_program *p) {
    size_t w = 0;
    for (int i = 0; i < p->ninputs; i++)
        if ((p->inputs[i].kind == TC_IN_USER || p->inputs[i].kind == TC_IN_LEAF) && strlen(p->inputs[i].name) > w) w = strlen(p->inputs[i].name);
    for (int i = 0; i < p->noutputs; i++)
        if (tc_output_is_result(&p->outputs[i]) && strlen(p->outputs[i].name) > w) w = strlen(p->outputs[i].name);
    return w;
}

/* The symbols in input sizes, by index; the caller frees the array. */
static bool *symbols_of_sizes(const tc_program *p) {
    bool *set = tc_xcalloc(tc_sym_var_count(p->sym) + 1, sizeof *set);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind == TC_IN_USER && in->value->kind == TC_V_TENSOR) tc_mark_defined(set, in->value, true);
    }
    return set;
}

/* Prints each symbol once, with its range. */
static void print_ranges(tc_buf *b, const tc_program *p, const bool *is_size) {
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        tc_sym s = tc_sym_var_at(p->sym, i);
        int64_t lo, hi;
        if (!is_size[i]) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        tc_buf_printf(b, "  %s: %lld to ", tc_sym_var_name(s), (long long)lo);
        if (hi == TC_SYM_NO_HI) tc_buf_puts(b, "any\n");
        else tc_buf_printf(b, "%lld\n", (long long)hi);
    }
}

/* Prints NAME=VALUE, a literal that fits the input. */
static void print_example(tc_buf *b, const tc_program *p, const tc_input *in, const tc_symvalue *sizes, size_t n) {
    tc_buf_printf(b, "%s=", in->name);
    if (in->value->kind == TC_V_SYM) {
        const tc_symtype t = tc_sym_type(in->value->sym);
        tc_symvalue v = {0};
        tc_status_free(tc_sym_eval(in->value->sym, sizes, n, &v));
        if (t == TC_SYM_INT) tc_buf_printf(b, "i64=%lld", (long long)v.i);
        else if (t == TC_SYM_FLOAT) tc_buf_printf(b, "f64=%g", v.f);
        else tc_buf_puts(b, v.i ? "bool=true" : "bool=false");
        return;
    }
    const tc_meta *m = &in->value->meta;
    for (int d = 0; d < m->rank; d++) {
        int64_t size, hi;
        tc_status s = tc_sym_eval_int(m->size[d], sizes, n, &size);
        if (s) tc_sym_range(p->sym, m->size[d], &size, &hi);
        tc_status_free(s);
        tc_buf_printf(b, "%lldx", (long long)size);
    }
    tc_buf_printf(b, "%s=0", tc_dtypes[m->dtype].name);
}

/* Prints a command line to paste: names are an archive's, which may hold anything. model: what --model names, or NULL. */
static void print_command(tc_buf *b, const tc_program *p, const char *path, const char *model) {
    tc_buf word = {0};
    const size_t n = tc_sym_var_count(p->sym);
    tc_symvalue *sizes = tc_xcalloc(n + 1, sizeof *sizes);
    tc_cmd_example(p, sizes, n);
    tc_buf_puts(b, "  tc-run ");
    tc_shell_word(b, path);
    if (model) tc_buf_puts(b, " --model "), tc_shell_word(b, model);
    for (int i = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        word.len = 0;
        print_example(&word, p, &p->inputs[i], sizes, n);
        tc_buf_puts(b, " --input ");
        tc_shell_word(b, tc_buf_str(&word));
    }
    tc_buf_free(&word);
    free(sizes);
}

void signature_print(tc_buf *b, const tc_program *p, const char *path, const char *model) {
    int width = (int)widest_name(p), results = 0;
    tc_buf_puts(b, "inputs:\n");
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER && in->kind != TC_IN_LEAF) continue;
        tc_buf_printf(b, "  %-*s  ", width, in->name);
        if (in->kind == TC_IN_USER) {
            tc_value_print_type(b, in->value);
        } else {
            print_leaf(b, &in->leaf);
            tc_buf_puts(b, " (fixed at export)");
        }
        tc_buf_putc(b, '\n');
    }
    bool *is_size = symbols_of_sizes(p);
    print_ranges(b, p, is_size);
    tc_buf_puts(b, "outputs:\n");
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        if (!tc_output_is_result(o)) continue;
        results++;
        tc_buf_printf(b, "  %-*s  ", width, o->name);
        if (o->kind == TC_OUT_LEAF) print_leaf(b, &o->leaf);
        else tc_value_print_type(b, o->value);
        tc_buf_putc(b, '\n');
    }
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        if (o->kind == TC_OUT_USER_INPUT || o->kind == TC_OUT_BUFFER) tc_buf_printf(b, "  %-*s  written to\n", width, p->inputs[o->target].name);
    }
    free(is_size);
    print_command(b, p, path, model);
    if (results > 1) tc_buf_puts(b, " --to safetensors");
}

static void json_type(tc_json *j, const tc_value *v) {
    tc_buf b = {0};
    if (v->kind == TC_V_TENSOR) {
        tc_json_key(j, "dtype");
        tc_json_string(j, tc_dtypes[v->meta.dtype].name);
        tc_json_key(j, "shape");
        tc_json_array(j);
        for (int d = 0; d < v->meta.rank; d++) {
            int64_t n;
            b.len = 0;
            tc_sym_print(&b, v->meta.size[d]);
            if (tc_sym_const_int(v->meta.size[d], &n)) tc_json_int(j, n);
            else tc_json_string(j, b.data);
        }
        tc_json_end(j);
    } else {
        tc_value_print_type(&b, v);
        tc_json_key(j, "type");
        tc_json_string(j, b.data);
    }
    tc_buf_free(&b);
}

static void json_entry(tc_buf *b, const char *what, const char *name, const tc_value *v, const tc_arg *leaf) {
    tc_buf text = {0};
    tc_json j = {.b = b};
    tc_json_object(&j);
    tc_json_key(&j, what);
    tc_json_string(&j, name);
    if (v) {
        json_type(&j, v);
    } else {
        print_leaf(&text, leaf);
        tc_json_key(&j, "value");
        tc_json_string(&j, tc_buf_str(&text));
    }
    tc_json_end(&j);
    tc_buf_putc(b, '\n');
    tc_buf_free(&text);
}

/* A line for each symbol in input sizes; without "max" it has no upper end. */
static void json_ranges(tc_buf *b, const tc_program *p) {
    bool *is_size = symbols_of_sizes(p);
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        const tc_sym s = tc_sym_var_at(p->sym, i);
        tc_json j = {.b = b};
        int64_t lo, hi;
        if (!is_size[i]) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        tc_json_object(&j);
        tc_json_key(&j, "size");
        tc_json_string(&j, tc_sym_var_name(s));
        tc_json_key(&j, "min");
        tc_json_int(&j, lo);
        if (hi != TC_SYM_NO_HI) {
            tc_json_key(&j, "max");
            tc_json_int(&j, hi);
        }
        tc_json_end(&j);
        tc_buf_putc(b, '\n');
    }
    free(is_size);
}

void signature_print_json(tc_buf *b, const tc_program *p) {
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_USER || p->inputs[i].kind == TC_IN_LEAF)
            json_entry(b, "input", p->inputs[i].name, p->inputs[i].value, &p->inputs[i].leaf);
    json_ranges(b, p);
    for (int i = 0; i < p->noutputs; i++)
        if (tc_output_is_result(&p->outputs[i])) json_entry(b, "output", p->outputs[i].name, p->outputs[i].value, &p->outputs[i].leaf);
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        if (o->kind == TC_OUT_USER_INPUT || o->kind == TC_OUT_BUFFER) json_entry(b, "writes", p->inputs[o->target].name, o->value, &o->leaf);
    }
}
