/* Programs as readable text, one node a line, and as a dot graph:
 *
 *     graph main(%p_weight: f32[8, 4] = parameter weight, %x: f32[B, 4] = input x)
 *         %linear: f32[B, 8] = aten.linear.default(%x, %p_weight)            # model.py:7
 *         %split: [f32[B, 4], f32[B, 4]] -> %getitem, %getitem_1 = aten.split.Tensor(%linear, 4, dim=1)
 *         return %getitem
 *
 * Arguments equal to the schema's default are omitted. In op rather than graph, because it reads schemas. */
#include "op/op.h"

#include <math.h>
#include <stdio.h>

static void type_of_meta(tc_buf *b, const tc_meta *m) {
    tc_buf_puts(b, tc_dtypes[m->dtype].name);
    tc_sym_print_list(b, m->size, m->rank);
}

void tc_value_print_type(tc_buf *b, const tc_value *v) {
    static const char *const numbers[] = {"int", "float", "bool"};
    switch (v->kind) {
    case TC_V_NONE: tc_buf_puts(b, "None"); break;
    case TC_V_TENSOR: type_of_meta(b, &v->meta); break;
    case TC_V_LIST:
        tc_buf_putc(b, '[');
        for (int i = 0; i < v->nlist; i++) {
            if (i) tc_buf_puts(b, ", ");
            tc_value_print_type(b, v->list[i]);
        }
        tc_buf_putc(b, ']');
        break;
    case TC_V_SYM:
        tc_buf_puts(b, v->sym ? numbers[tc_sym_type(v->sym)] : "number");
        if (v->sym) {
            tc_buf_putc(b, '(');
            tc_sym_print(b, v->sym);
            tc_buf_putc(b, ')');
        }
        break;
    }
}

static void strides_of(tc_buf *b, const tc_value *v) {
    if (v->kind != TC_V_TENSOR || !v->meta.stride) return;
    tc_buf_puts(b, " strides (");
    for (int i = 0; i < v->meta.rank; i++) {
        if (i) tc_buf_puts(b, ", ");
        tc_sym_print(b, v->meta.stride[i]);
    }
    tc_buf_putc(b, ')');
}

static void put_float(tc_buf *b, double v) {
    char t[40];
    if (isnan(v) || isinf(v)) {
        tc_buf_puts(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(t, sizeof t, "%.*g", digits, v);
        if (strtod(t, NULL) == v) break;
    }
    tc_buf_puts(b, t);
    if (!strpbrk(t, ".e")) tc_buf_puts(b, ".0");
}

static void scalar_of(tc_buf *b, tc_scalar s) {
    switch (s.kind) {
    case TC_KIND_BOOL: tc_buf_puts(b, s.i ? "True" : "False"); break;
    case TC_KIND_INT: tc_buf_printf(b, "%lld", (long long)s.i); break;
    case TC_KIND_FLOAT: put_float(b, s.f); break;
    case TC_KIND_COMPLEX:
        tc_buf_puts(b, "complex(");
        put_float(b, s.re);
        tc_buf_puts(b, ", ");
        put_float(b, s.im);
        tc_buf_putc(b, ')');
        break;
    }
}

static void quoted(tc_buf *b, const char *s) {
    tc_buf_putc(b, '"');
    for (; s && *s; s++) {
        if (*s == '"' || *s == '\\') tc_buf_printf(b, "\\%c", *s);
        else if ((unsigned char)*s < 32) tc_buf_printf(b, "\\x%02x", (unsigned char)*s);
        else tc_buf_putc(b, *s);
    }
    tc_buf_putc(b, '"');
}

void tc_arg_print(tc_buf *b, const tc_arg *a) {
    static const char *const layouts[] = {"unknown", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "mkldnn", "strided"};
    static const char *const formats[] = {"unknown", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};
    switch (a->kind) {
    case TC_A_NONE: tc_buf_puts(b, "None"); return;
    case TC_A_VALUE: tc_buf_printf(b, "%%%s", a->value ? a->value->name : "?"); return;
    case TC_A_INT: tc_sym_print(b, a->sym); return;
    case TC_A_SCALAR:
        if (a->is_sym) tc_sym_print(b, a->sym);
        else scalar_of(b, a->scalar);
        return;
    case TC_A_STRING:
    case TC_A_DEVICE: quoted(b, a->string); return;
    case TC_A_DTYPE: tc_buf_printf(b, "torch.%s", tc_dtypes[a->dtype].torch); return;
    case TC_A_LAYOUT: tc_buf_printf(b, "torch.%s", a->code >= 0 && a->code < 8 ? layouts[a->code] : "?"); return;
    case TC_A_MEMFORMAT: tc_buf_printf(b, "torch.%s", a->code >= 0 && a->code < 5 ? formats[a->code] : "?"); return;
    case TC_A_GRAPH: tc_buf_printf(b, "@%s", a->graph->name); return;
    default: break;
    }
    tc_buf_putc(b, '[');
    for (int i = 0; i < a->n; i++) {
        if (i) tc_buf_puts(b, ", ");
        if (a->kind == TC_A_VALUES) tc_buf_printf(b, a->values[i] ? "%%%s" : "None", a->values[i] ? a->values[i]->name : "");
        else if (a->kind == TC_A_INTS) tc_sym_print(b, a->syms[i]);
        else if (a->kind == TC_A_FLOATS) put_float(b, a->floats[i]);
        else tc_buf_puts(b, a->bools[i] ? "True" : "False");
    }
    tc_buf_putc(b, ']');
}

static bool is_default(const tc_param *p, const tc_arg *a) {
    if (!p->has_default) return p->optional && a->kind == TC_A_NONE;
    if (p->def.kind == TC_A_NONE) return a->kind == TC_A_NONE;
    int64_t v;
    if (p->def.kind == TC_A_SCALAR && a->kind == TC_A_INT) return tc_sym_const_int(a->sym, &v) && v == tc_scalar_to_int(p->def.scalar);
    if (p->def.kind == TC_A_SCALAR && a->kind == TC_A_SCALAR)
        return !a->is_sym && p->def.scalar.kind == a->scalar.kind && tc_scalar_to_double(p->def.scalar) == tc_scalar_to_double(a->scalar);
    if (p->def.kind == TC_A_FLOATS && a->kind == TC_A_INTS) {
        for (int i = 0; i < a->n; i++)
            if (!tc_sym_const_int(a->syms[i], &v) || (p->def.n != a->n && p->def.n != 1) || (double)v != p->def.floats[p->def.n == 1 ? 0 : i])
                return false;
        return a->n > 0 || p->def.n == 0;
    }
    if (p->def.kind == TC_A_SCALAR && a->kind == TC_A_INTS) {
        for (int i = 0; i < a->n; i++)
            if (!tc_sym_const_int(a->syms[i], &v) || v != tc_scalar_to_int(p->def.scalar)) return false;
        return a->n > 0;
    }
    if (p->def.kind == TC_A_STRING && a->kind == TC_A_STRING) return !strcmp(p->def.string, a->string);
    return p->def.kind == TC_A_MEMFORMAT && a->kind == TC_A_MEMFORMAT && p->def.code == a->code;
}

static void call_of(tc_buf *b, const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    bool first = true, skipped = false;
    tc_buf_printf(b, "%s(", tc_op_name(n->op));
    for (int i = 0; i < n->nargs; i++) {
        const tc_param *p = i < s->nparams ? &s->params[i] : NULL;
        if (p && is_default(p, &n->args[i])) {
            skipped = true;
            continue;
        }
        if (!first) tc_buf_puts(b, ", ");
        if (p && (skipped || p->kw_only)) tc_buf_printf(b, "%s=", p->name);
        tc_arg_print(b, &n->args[i]);
        first = false;
    }
    tc_buf_putc(b, ')');
}

static void results_of(tc_buf *b, const tc_node *n, tc_print_level level) {
    for (int i = 0; i < n->nouts; i++) {
        const tc_value *v = n->outs[i];
        tc_buf_printf(b, "%s%%%s: ", i ? ", " : "", v->name);
        tc_value_print_type(b, v);
        if (level == TC_PRINT_FULL) strides_of(b, v);
        for (int k = 0; v->kind == TC_V_LIST && k < v->nlist; k++) tc_buf_printf(b, "%s%%%s", k ? ", " : " -> ", v->list[k]->name);
    }
    if (n->nouts) tc_buf_puts(b, " = ");
}

static void graph_of(tc_buf *b, const tc_graph *g, int depth, tc_print_level level);

static void node_of(tc_buf *b, const tc_node *n, int depth, tc_print_level level) {
    size_t start = b->len;
    tc_buf_printf(b, "%*s", depth * 4, "");
    results_of(b, n, level);
    call_of(b, n);
    if (n->source.file || n->source.line) {
        int pad = (int)(b->len - start);
        tc_buf_printf(b, "%*s  # %s:%d", pad < 76 ? 76 - pad : 0, "", n->source.file ? n->source.file : "?", n->source.line);
        if (level == TC_PRINT_FULL && n->source.calls) tc_buf_printf(b, " %s", tc_source_module(&n->source));
    }
    tc_buf_putc(b, '\n');
    for (int i = 0; i < n->nargs && depth < 32; i++)
        if (n->args[i].kind == TC_A_GRAPH) graph_of(b, n->args[i].graph, depth + 1, level);
}

static void body_of(tc_buf *b, const tc_graph *g, int depth, tc_print_level level) {
    for (const tc_node *n = g->first; n; n = n->next) node_of(b, n, depth, level);
}

static void graph_of(tc_buf *b, const tc_graph *g, int depth, tc_print_level level) {
    tc_buf_printf(b, "%*s@%s(", depth * 4, "", g->name);
    for (int i = 0; i < g->ninputs; i++) {
        tc_buf_printf(b, "%s%%%s: ", i ? ", " : "", g->inputs[i]->name);
        tc_value_print_type(b, g->inputs[i]);
    }
    tc_buf_puts(b, ")\n");
    body_of(b, g, depth + 1, level);
    tc_buf_printf(b, "%*sreturn", (depth + 1) * 4, "");
    for (int i = 0; i < g->noutputs; i++) tc_buf_printf(b, "%s%%%s", i ? ", " : " ", g->outputs[i] ? g->outputs[i]->name : "None");
    tc_buf_putc(b, '\n');
}

static const char *const input_kinds[] = {"parameter", "buffer", "constant", "input", "leaf", "generator", "token"};
static const char *const output_kinds[] = {"output", "buffer",    "parameter", "input", "loss", "gradient of parameter", "gradient of input",
                                           "leaf",   "generator", "token"};

void tc_program_print(tc_buf *b, const tc_program *p, tc_print_level level) {
    tc_buf_printf(b, "program %s\n", p->name);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        tc_buf_printf(b, "  in   %s %s", input_kinds[in->kind], in->name ? in->name : "");
        if (in->value) {
            tc_buf_printf(b, " %%%s: ", in->value->name);
            tc_value_print_type(b, in->value);
            if (level == TC_PRINT_FULL) strides_of(b, in->value);
        } else {
            tc_buf_puts(b, " = ");
            tc_arg_print(b, &in->leaf);
        }
        if (in->kind == TC_IN_BUFFER && !in->persistent) tc_buf_puts(b, " not persistent");
        if (in->alias_of > 0 || (in->alias_of == 0 && i > 0 && in->kind != TC_IN_USER && p->inputs[0].kind == in->kind && in->data.storage &&
                                 in->data.storage == p->inputs[0].data.storage))
            tc_buf_printf(b, " same storage as %s", p->inputs[in->alias_of].name);
        tc_buf_putc(b, '\n');
    }
    if (level == TC_PRINT_FULL)
        for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
            tc_sym v = tc_sym_var_at(p->sym, i);
            int64_t lo, hi;
            if (tc_sym_type(v) != TC_SYM_INT) continue;
            tc_sym_range(p->sym, v, &lo, &hi);
            tc_buf_printf(b, "  size %s:", tc_sym_var_name(v));
            if (lo != TC_SYM_NO_LO) tc_buf_printf(b, " %lld", (long long)lo);
            tc_buf_puts(b, "..");
            if (hi != TC_SYM_NO_HI) tc_buf_printf(b, "%lld", (long long)hi);
            tc_buf_putc(b, '\n');
        }
    for (size_t i = 0; i < p->guards.len && level == TC_PRINT_FULL; i++) {
        const tc_guard *g = &p->guards.data[i];
        tc_buf_puts(b, "  guard ");
        tc_sym_print(b, g->cond);
        if (g->source.line) tc_buf_printf(b, "  # %s:%d", g->source.file ? g->source.file : "?", g->source.line);
        tc_buf_putc(b, '\n');
    }
    body_of(b, p->graph, 1, level);
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        tc_buf_printf(b, "  out  %s %s = ", output_kinds[o->kind],
                      o->target >= 0 && o->target < p->ninputs && o->kind != TC_OUT_USER && o->kind != TC_OUT_LEAF && o->kind != TC_OUT_LOSS &&
                              p->inputs[o->target].name
                          ? p->inputs[o->target].name
                      : o->name ? o->name
                                : "");
        if (o->value) tc_buf_printf(b, "%%%s\n", o->value->name);
        else tc_arg_print(b, &o->leaf), tc_buf_putc(b, '\n');
    }
}

/* ---- dot ---- */
typedef struct {
    tc_buf *b;
    const tc_node *n;
    const tc_graph *g;
    int cluster;
} edges;

static void edge(void *ctx, tc_value **place) {
    edges *e = ctx;
    const tc_value *v = *place;
    tc_buf_printf(e->b, "    ");
    if (v->producer) tc_buf_printf(e->b, "n%p", (void *)v->producer);
    else tc_buf_printf(e->b, "v%p", (const void *)v);
    tc_buf_printf(e->b, " -> n%p [label=\"", (const void *)e->n);
    tc_value_print_type(e->b, v);
    tc_buf_puts(e->b, "\"];\n");
}

static void dot_graph(tc_buf *b, const tc_graph *g, int depth) {
    for (int i = 0; i < g->ninputs; i++) tc_buf_printf(b, "    v%p [shape=ellipse label=\"%s\"];\n", (void *)g->inputs[i], g->inputs[i]->name);
    for (const tc_node *n = g->first; n; n = n->next) {
        tc_buf_printf(b, "    n%p [shape=box label=\"%s\"];\n", (const void *)n, tc_op_name(n->op));
        tc_node_each_input(n, edge, &(edges){b, n, g, 0});
        for (int i = 0; i < n->nargs && depth < 32; i++) {
            if (n->args[i].kind != TC_A_GRAPH) continue;
            tc_buf_printf(b, "    subgraph cluster_%p { label=\"%s\";\n", (void *)n->args[i].graph, n->args[i].graph->name);
            dot_graph(b, n->args[i].graph, depth + 1);
            tc_buf_puts(b, "    }\n");
        }
    }
}

void tc_program_print_dot(tc_buf *b, const tc_program *p) {
    /* Node ids are unique in this text only: they are renumbered so that the text is reproducible. */
    tc_buf t = {0};
    tc_map ids = {0};
    dot_graph(&t, p->graph, 0);
    for (int i = 0; i < p->noutputs; i++) {
        const tc_value *v = p->outputs[i].value;
        if (!v) continue;
        tc_buf_printf(&t, "    o%d [shape=ellipse label=\"%s\"];\n    %c%p -> o%d;\n", i, p->outputs[i].name ? p->outputs[i].name : "out",
                      v->producer ? 'n' : 'v', v->producer ? (void *)v->producer : (const void *)v, i);
    }
    tc_buf_printf(b, "digraph \"%s\" {\n", p->name);
    for (const char *s = tc_buf_str(&t); *s;) {
        if (s[0] == '0' && s[1] == 'x') {
            size_t n = 2 + strspn(s + 2, "0123456789abcdef");
            void **slot = tc_map_put(&ids, s, n);
            if (!*slot) *slot = (void *)(uintptr_t)ids.len;
            tc_buf_printf(b, "%zu", (size_t)(uintptr_t)*slot);
            s += n;
        } else {
            tc_buf_putc(b, *s++);
        }
    }
    tc_buf_puts(b, "}\n");
    tc_buf_free(&t);
    tc_map_free(&ids);
}

void tc_program_print_guards(tc_buf *b, const tc_program *p) {
    tc_buf_printf(b, "%s: %zu guard%s\n", p->name, p->guards.len, p->guards.len == 1 ? "" : "s");
    for (size_t i = 0; i < p->guards.len; i++) {
        const tc_guard *g = &p->guards.data[i];
        tc_buf_puts(b, "  ");
        tc_sym_print(b, g->cond);
        if (g->op) tc_buf_printf(b, "  (required by %s)", g->op);
        if (g->source.file) tc_buf_printf(b, "  # %s:%d", g->source.file, g->source.line);
        tc_buf_putc(b, '\n');
    }
}
