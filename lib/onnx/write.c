/* The program as objects of the model language for onnx_write.py, and what that gives as protocol buffers. */
#include "onnx/write.h"

#include "base/embedded.h"
#include "capture/lang.h"
#include "file/onnx.h"
#include "op/decompose.h"
#include "pass/dce.h"

#include <stdio.h>

typedef struct {
    tc_program *p;
    int opset;
    tc_map known;  /* operators that have a rule */
    tc_map graphs; /* name -> the first graph of that name; address of another one -> its number */
    size_t twice;
    const char *where;
    V result;     /* (nodes, initialisers, outputs) */
    tc_buf graph; /* GraphProto without the weights */
    tc_map used;  /* names that nodes read */
} job;

static void put(C *c, dict *d, const char *key, V v) { tc_dict_setc(c, d, key, v); }
static job *job_of(C *c) { return (job *)c->warn_self; }

/* ---- the program as objects ---- */
static V expression(C *c, tc_sym s) {
    static const char *const names[] = {[TC_S_ADD] = "add",     [TC_S_MUL] = "mul",     [TC_S_FLOORDIV] = "floordiv",
                                        [TC_S_MOD] = "mod",     [TC_S_MIN] = "min",     [TC_S_MAX] = "max",
                                        [TC_S_ABS] = "abs",     [TC_S_TRUNC] = "trunc", [TC_S_FLOOR] = "floor",
                                        [TC_S_CEIL] = "ceil",   [TC_S_ROUND] = "round", [TC_S_TOFLOAT] = "tofloat",
                                        [TC_S_FADD] = "fadd",   [TC_S_FSUB] = "fsub",   [TC_S_FMUL] = "fmul",
                                        [TC_S_FDIV] = "fdiv",   [TC_S_FNEG] = "fneg",   [TC_S_FMIN] = "fmin",
                                        [TC_S_FMAX] = "fmax",   [TC_S_SQRT] = "sqrt",   [TC_S_EQ] = "eq",
                                        [TC_S_NE] = "ne",       [TC_S_LT] = "lt",       [TC_S_LE] = "le",
                                        [TC_S_AND] = "and",     [TC_S_OR] = "or",       [TC_S_NOT] = "not",
                                        [TC_S_WHERE] = "where", [TC_S_POW] = "pow",     [TC_S_FPOW] = "fpow",
                                        [TC_S_FABS] = "fabs",   [TC_S_EXP] = "exp",     [TC_S_LOG] = "log",
                                        [TC_S_SIN] = "sin",     [TC_S_COS] = "cos",     [TC_S_TANH] = "tanh"};
    int64_t i;
    double f;
    bool b;
    tc_stack_check(c);
    if (!s) return c->none;
    if (tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i)) return tc_int(c, i);
    if (tc_sym_type(s) == TC_SYM_BOOL && tc_sym_const_bool(s, &b)) return tc_bool(c, b);
    if (tc_sym_const_float(s, &f)) return tc_float(c, f);
    tc_symop op = tc_sym_opcode(s);
    if (op == TC_S_VAR) return tc_tuple_of(c, 2, tc_strz(c, "var"), tc_strz(c, tc_sym_var_name(s)));
    int n = tc_sym_arity(s);
    V t = tc_tuple(c, (size_t)n + 1, NULL);
    ((tuple *)t)->a[0] = (size_t)op < sizeof names / sizeof *names && names[op] ? tc_strz(c, names[op]) : tc_strf(c, "number %d", (int)op);
    for (int k = 0; k < n; k++) ((tuple *)t)->a[k + 1] = expression(c, tc_sym_arg(s, k));
    return t;
}

static V sizes_object(C *c, const tc_meta *m) {
    V l = tc_list_of(c, 0, NULL);
    for (int i = 0; i < m->rank; i++) tc_list_push(c, (list *)l, expression(c, m->size[i]));
    return l;
}

/* "main.3"; graphs of one name (bodies in bodies) are told apart by their number. */
static V id_of(C *c, const tc_value *v) {
    const tc_graph *g = v->graph;
    if (!g) return tc_strf(c, ".%u", v->id);
    job *j = job_of(c);
    void **of_name = tc_map_put(&j->graphs, g->name, strlen(g->name));
    if (!*of_name) *of_name = (void *)(uintptr_t)g;
    if (*of_name == g) return tc_strf(c, "%s.%u", g->name, v->id);
    void **number = tc_map_put(&j->graphs, (const char *)&g, sizeof g);
    if (!*number) *number = (void *)(uintptr_t)++j->twice;
    return tc_strf(c, "%s@%zu.%u", g->name, (size_t)(uintptr_t)*number, v->id);
}

static V code_object(C *c, tc_dtype d) {
    int code = tc_onnx_type_of(d);
    if (!code) tc_raise_code(c, TC_UNSUPPORTED, "%s has no type in ONNX", tc_dtypes[d].name);
    return tc_int(c, code);
}

/* (id, type, sizes, symbol) */
static V value_object(C *c, const tc_value *v) {
    if (!v || v->kind == TC_V_NONE) return c->none;
    if (v->kind == TC_V_SYM) return tc_tuple_of(c, 4, id_of(c, v), c->none, c->none, expression(c, v->sym));
    return tc_tuple_of(c, 4, id_of(c, v), code_object(c, v->meta.dtype), sizes_object(c, &v->meta), c->none);
}

static V graph_object(C *c, const tc_graph *g, bool whole);

static V operand(C *c, const tc_value *v) {
    if (!v) return c->none;
    if (v->kind == TC_V_SYM) return expression(c, v->sym);
    return tc_tuple_of(c, 2, tc_strz(c, "value"), id_of(c, v));
}

static V number(C *c, tc_scalar s) {
    if (s.kind == TC_KIND_COMPLEX) return tc_complex(c, s.re, s.im);
    return s.kind == TC_KIND_FLOAT ? tc_float(c, s.f) : s.kind == TC_KIND_BOOL ? tc_bool(c, s.i != 0) : tc_int(c, s.i);
}

static V arg_object(C *c, const tc_arg *a) {
    V l;
    switch (a->kind) {
    case TC_A_VALUE: return operand(c, a->value);
    case TC_A_VALUES:
        l = tc_list_of(c, 0, NULL);
        for (int i = 0; i < a->n; i++) tc_list_push(c, (list *)l, operand(c, a->values[i]));
        return l;
    case TC_A_INT: return expression(c, a->sym);
    case TC_A_INTS:
        l = tc_list_of(c, 0, NULL);
        for (int i = 0; i < a->n; i++) tc_list_push(c, (list *)l, expression(c, a->syms[i]));
        return l;
    case TC_A_SCALAR: return a->is_sym ? expression(c, a->sym) : number(c, a->scalar);
    case TC_A_FLOATS:
        l = tc_list_of(c, 0, NULL);
        for (int i = 0; i < a->n; i++) tc_list_push(c, (list *)l, tc_float(c, a->floats[i]));
        return l;
    case TC_A_BOOLS:
        l = tc_list_of(c, 0, NULL);
        for (int i = 0; i < a->n; i++) tc_list_push(c, (list *)l, tc_bool(c, a->bools[i]));
        return l;
    case TC_A_STRING: return tc_strz(c, a->string);
    case TC_A_GRAPH: return tc_tuple_of(c, 2, tc_strz(c, "graph"), graph_object(c, a->graph, false));
    default: return c->none;
    }
}

/* whole: the program's own graph.
 * {"nodes": [(operator, arguments, results)], "inputs": [(id, type, sizes)], "outputs": [id], "output_types": [(type, sizes)]} */
static V graph_object(C *c, const tc_graph *g, bool whole) {
    tc_stack_check(c);
    dict *d = tc_dict(c);
    V nodes = tc_list_of(c, 0, NULL), inputs = tc_list_of(c, 0, NULL), outputs = tc_list_of(c, 0, NULL), types = tc_list_of(c, 0, NULL);
    for (const tc_node *n = g->first; n; n = n->next) {
        V given = tc_list_of(c, 0, NULL), outs = tc_list_of(c, 0, NULL);
        for (int i = 0; i < n->nargs; i++) tc_list_push(c, (list *)given, arg_object(c, &n->args[i]));
        for (int i = 0; i < n->nouts; i++) {
            const tc_value *v = n->outs[i];
            if (v && v->kind == TC_V_LIST)
                for (int k = 0; k < v->nlist; k++) tc_list_push(c, (list *)outs, value_object(c, v->list[k]));
            else tc_list_push(c, (list *)outs, value_object(c, v));
        }
        tc_list_push(c, (list *)nodes, tc_tuple_of(c, 3, tc_strz(c, tc_op_name(n->op)), given, outs));
    }
    for (int i = 0; i < g->ninputs; i++)
        if (g->inputs[i]->kind == TC_V_TENSOR)
            tc_list_push(c, (list *)inputs,
                         tc_tuple_of(c, 3, id_of(c, g->inputs[i]), code_object(c, g->inputs[i]->meta.dtype), sizes_object(c, &g->inputs[i]->meta)));
    for (int i = 0; i < g->noutputs; i++) {
        const tc_value *v = g->outputs[i];
        if (v && v->kind != TC_V_TENSOR) {
            if (!whole) tc_raise_code(c, TC_UNSUPPORTED, "a result of a subgraph that is a number");
            v = NULL; /* number_of(its output) */
        }
        tc_list_push(c, (list *)outputs, v ? id_of(c, v) : c->none);
        tc_list_push(c, (list *)types, v ? tc_tuple_of(c, 2, code_object(c, v->meta.dtype), sizes_object(c, &v->meta)) : c->none);
    }
    put(c, d, "nodes", nodes);
    put(c, d, "inputs", inputs);
    put(c, d, "outputs", outputs);
    put(c, d, "output_types", types);
    return (V)d;
}

/* What the program writes: an ONNX model keeps no state, the new values are outputs behind the results. */
static bool is_write(const tc_output *o) { return o->kind >= TC_OUT_BUFFER && o->kind <= TC_OUT_USER_INPUT && o->target >= 0; }

/* A result that is an integer, of the program's sizes or of data: a tensor of no dimensions. NULL: another kind of result, or a constant. */
static tc_sym number_of(const tc_output *o) {
    int64_t known;
    if (o->value && o->value->kind == TC_V_SYM) return o->value->sym;
    return o->kind == TC_OUT_LEAF && (o->leaf.kind == TC_A_INT || (o->leaf.kind == TC_A_SCALAR && o->leaf.is_sym)) &&
                   !tc_sym_const_int(o->leaf.sym, &known)
               ? o->leaf.sym
               : NULL;
}

static int number_type(tc_sym s) {
    return tc_sym_type(s) == TC_SYM_INT ? TC_ONNX_INT64 : tc_sym_type(s) == TC_SYM_FLOAT ? TC_ONNX_DOUBLE : TC_ONNX_BOOL;
}

static V program_object(C *c, const tc_program *p) {
    dict *d = (dict *)graph_object(c, p->graph, true);
    V user = tc_list_of(c, 0, NULL), state = tc_list_of(c, 0, NULL), names = tc_list_of(c, 0, NULL);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (!in->value) continue;
        if (in->value->kind == TC_V_SYM) { /* a tensor of no dimensions */
            if (tc_sym_type(in->value->sym) != TC_SYM_INT) tc_raise_code(c, TC_UNSUPPORTED, "input %s is a number that is not an integer", in->name);
            V empty = tc_list_of(c, 0, NULL);
            tc_list_push(c, (list *)user, tc_tuple_of(c, 4, expression(c, in->value->sym), tc_strz(c, in->name), tc_int(c, TC_ONNX_INT64), empty));
            continue;
        }
        if (in->kind != TC_IN_USER && !in->data.storage && in->alias_of < 0) tc_raise_code(c, TC_UNSUPPORTED, "%s has no values", in->name);
        V one =
            tc_tuple_of(c, 4, id_of(c, in->value), tc_strz(c, in->name), code_object(c, in->value->meta.dtype), sizes_object(c, &in->value->meta));
        tc_list_push(c, (list *)(in->kind == TC_IN_USER ? user : state), one);
    }
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        tc_sym number = number_of(o);
        if (number) {
            tc_list_push(c, (list *)names, tc_tuple_of(c, 4, tc_strz(c, o->name), c->false_, expression(c, number), tc_int(c, number_type(number))));
            continue;
        }
        if (o->kind == TC_OUT_LEAF || !o->value) continue;
        if (!tc_output_is_result(o) && !is_write(o)) tc_raise_code(c, TC_UNSUPPORTED, "output %s is not a result", o->name);
        V name = is_write(o) ? tc_strf(c, "%s.new", p->inputs[o->target].name) : tc_strz(c, o->name);
        tc_list_push(c, (list *)names, tc_tuple_of(c, 4, name, tc_bool(c, is_write(o)), c->none, c->none));
    }
    list *some = tc_list(c, 0);
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        int64_t lo, hi;
        tc_sym v = tc_sym_var_at(p->sym, (int)i);
        if (tc_sym_type(v) != TC_SYM_INT) continue;
        tc_sym_range(p->sym, v, &lo, &hi);
        if (lo > 0) tc_list_push(c, some, tc_strz(c, tc_sym_var_name(v)));
    }
    put(c, d, "positive", (V)some);
    put(c, d, "inputs", user);
    put(c, d, "state", state);
    put(c, d, "output_names", names);
    return (V)d;
}

/* ---- protocol buffers ---- */
static void varint(tc_buf *b, uint64_t v) {
    for (; v > 0x7f; v >>= 7) tc_buf_putc(b, (char)(v | 0x80));
    tc_buf_putc(b, (char)v);
}
static void put_int(tc_buf *b, int field, int64_t v) {
    varint(b, (uint64_t)field << 3);
    varint(b, (uint64_t)v);
}
static void put_bytes(tc_buf *b, int field, const void *p, size_t n) {
    varint(b, (uint64_t)field << 3 | 2);
    varint(b, n);
    tc_buf_append(b, p, n);
}
static void put_text(tc_buf *b, int field, const char *s) { put_bytes(b, field, s, strlen(s)); }
/* Appends the message `sub` and empties it. */
static void put_message(tc_buf *b, int field, tc_buf *sub) {
    put_bytes(b, field, tc_buf_str(sub), sub->len);
    tc_buf_free(sub);
}

static const char *text_of(V v) { return tc_as_str(v)->s; }

/* Complex tensors have their parts along a last dimension of 2 (onnx_write_complex.py). */
static tc_dtype part_of(tc_dtype d) { return d == TC_C64 ? TC_F32 : d == TC_C128 ? TC_F64 : d; }

/* ValueInfoProto. type NULL: none is given. */
static void put_value(tc_buf *b, int field, const char *name, int code, const tc_meta *m, int rank) {
    tc_buf info = {0}, kind_of = {0}, dense = {0}, shape = {0};
    put_int(&dense, 1, m ? tc_onnx_type_of(part_of(m->dtype)) : code);
    for (int i = 0; i < rank; i++) {
        tc_buf dim = {0}, text = {0};
        int64_t n;
        if (m && tc_sym_const_int(m->size[i], &n)) {
            put_int(&dim, 1, n);
        } else if (m) {
            tc_sym_print(&text, m->size[i]);
            put_text(&dim, 2, tc_buf_str(&text));
        }
        put_message(&shape, 1, &dim);
        tc_buf_free(&text);
    }
    if (m && part_of(m->dtype) != m->dtype) {
        tc_buf two = {0};
        put_int(&two, 1, 2);
        put_message(&shape, 1, &two);
    }
    put_message(&dense, 2, &shape);
    put_message(&kind_of, 1, &dense);
    put_text(&info, 1, name);
    put_message(&info, 2, &kind_of);
    put_message(b, field, &info);
}

static void put_node(C *c, job *j, tc_buf *b, V node);

/* GraphProto of a body: {"nodes", "inputs" and "outputs": [[name, type, rank]]} */
static void put_graph(C *c, job *j, tc_buf *b, dict *g) {
    size_t n;
    V *items = tc_items(tc_dict_gets(c, g, tc_intern(c, "nodes", 5)), &n);
    for (size_t i = 0; i < n; i++) put_node(c, j, b, items[i]);
    put_text(b, 2, "body");
    items = tc_items(tc_dict_gets(c, g, tc_intern(c, "inputs", 6)), &n);
    for (size_t i = 0; i < n; i++) {
        size_t k;
        V *in = tc_items(items[i], &k);
        put_value(b, 11, text_of(in[0]), (int)tc_small(in[1]), NULL, (int)tc_small(in[2]));
    }
    items = tc_items(tc_dict_gets(c, g, tc_intern(c, "outputs", 7)), &n);
    for (size_t i = 0; i < n; i++) {
        size_t k;
        V *o = tc_items(items[i], &k);
        put_value(b, 12, text_of(o[0]), (int)tc_small(o[1]), NULL, (int)tc_small(o[2]));
        tc_map_set(&j->used, text_of(o[0]), j);
    }
}

static void put_attribute(C *c, job *j, tc_buf *b, const char *name, V v) {
    tc_buf a = {0};
    put_text(&a, 1, name);
    if (tc_is_int(v)) {
        int64_t i = v == c->true_;
        if (tc_kind_of(v) == K_INT && !tc_int_fits(v, &i)) tc_raise(c, "ValueError", "attribute %s is too large", name);
        put_int(&a, 3, i);
        put_int(&a, 20, TC_ONNX_A_INT);
    } else if (tc_kind_of(v) == K_FLOAT) {
        float f = (float)tc_flt(v);
        varint(&a, 2 << 3 | 5);
        tc_buf_append(&a, &f, sizeof f);
        put_int(&a, 20, TC_ONNX_A_FLOAT);
    } else if (tc_kind_of(v) == K_STR) {
        put_text(&a, 4, text_of(v));
        put_int(&a, 20, TC_ONNX_A_STRING);
    } else if (tc_kind_of(v) == K_DICT) {
        tc_buf g = {0};
        put_graph(c, j, &g, (dict *)v);
        put_message(&a, 6, &g);
        put_int(&a, 20, TC_ONNX_A_GRAPH);
    } else {
        size_t n;
        int64_t k;
        V *items = tc_items(v, &n);
        const bool texts = n && tc_kind_of(items[0]) == K_STR;
        for (size_t i = 0; i < n; i++) {
            if (texts) {
                put_text(&a, 9, text_of(items[i]));
                continue;
            }
            if (!tc_is_int(items[i]) || !tc_int_fits(items[i], &k))
                tc_raise_code(c, TC_UNSUPPORTED, "attribute %s depends on a size that is not known", name);
            put_int(&a, 8, k);
        }
        put_int(&a, 20, texts ? TC_ONNX_A_STRINGS : TC_ONNX_A_INTS);
    }
    put_message(b, 5, &a);
}

/* (operator, domain, inputs, outputs, attributes) */
static void put_node(C *c, job *j, tc_buf *b, V node) {
    size_t n, five;
    V *f = tc_items(node, &five), *items = tc_items(f[2], &n), key, v;
    tc_buf m = {0};
    for (size_t i = 0; i < n; i++) {
        put_text(&m, 1, text_of(items[i]));
        tc_map_set(&j->used, text_of(items[i]), j);
    }
    items = tc_items(f[3], &n);
    for (size_t i = 0; i < n; i++) put_text(&m, 2, text_of(items[i]));
    if (n) put_text(&m, 3, text_of(items[0]));
    put_text(&m, 4, text_of(f[0]));
    for (size_t i = 0; tc_dict_next((dict *)f[4], &i, &key, &v);) put_attribute(c, j, &m, text_of(key), v);
    if (*text_of(f[1])) put_text(&m, 7, text_of(f[1]));
    put_message(b, 1, &m);
}

/* (name, type, sizes, numbers) */
static void put_constant(C *c, tc_buf *b, V init) {
    size_t n, four, count;
    V *f = tc_items(init, &four), *dims = tc_items(f[2], &n), *items = tc_items(f[3], &count);
    tc_buf t = {0}, raw = {0};
    int code = (int)tc_small(f[1]);
    tc_dtype d = tc_onnx_dtype(code);
    for (size_t i = 0; i < n; i++) put_int(&t, 1, tc_small(dims[i]));
    put_int(&t, 2, code);
    put_text(&t, 8, text_of(f[0]));
    for (size_t i = 0; i < count; i++) {
        char one[16] = {0};
        int64_t k = 0;
        tc_scalar s;
        if (tc_kind_of(items[i]) == K_FLOAT) s = tc_scalar_float(tc_flt(items[i]));
        else if (tc_kind_of(items[i]) == K_BOOL) s = tc_scalar_bool(items[i] == c->true_);
        else if (tc_kind_of(items[i]) == K_INT && tc_int_fits(items[i], &k)) s = tc_scalar_int(k);
        else tc_raise_code(c, TC_UNSUPPORTED, "a constant that is not known");
        tc_scalar_store(d, one, 0, s);
        tc_buf_append(&raw, one, tc_dtype_size(d));
    }
    put_message(&t, 9, &raw);
    put_message(b, 5, &t);
}

static void encode(C *c, job *j) {
    size_t n, three;
    V *parts = tc_items(j->result, &three), *items = tc_items(parts[0], &n);
    tc_buf *b = &j->graph;
    for (size_t i = 0; i < n; i++) put_node(c, j, b, items[i]);
    put_text(b, 2, j->p->name);
    items = tc_items(parts[1], &n);
    for (size_t i = 0; i < n; i++) {
        size_t four;
        if (tc_map_find(&j->used, text_of(tc_items(items[i], &four)[0]))) put_constant(c, b, items[i]);
    }
    for (int i = 0; i < j->p->ninputs; i++) {
        const tc_input *in = &j->p->inputs[i];
        if (in->kind == TC_IN_USER && in->value && in->value->kind == TC_V_SYM) put_value(b, 11, in->name, TC_ONNX_INT64, NULL, 0);
        else if (in->kind == TC_IN_USER && in->value)
            put_value(b, 11, in->name, tc_onnx_type_of(in->value->meta.dtype), &in->value->meta, in->value->meta.rank);
    }
    items = tc_items(parts[2], &n);
    size_t k = 0;
    for (int i = 0; i < 2 * j->p->noutputs && k < n; i++) { /* results first, then what is written */
        const tc_output *o = &j->p->outputs[i % j->p->noutputs];
        if (i < j->p->noutputs && number_of(o)) {
            put_value(b, 12, text_of(items[k++]), number_type(number_of(o)), NULL, 0);
            continue;
        }
        if (!o->value || (i < j->p->noutputs ? !tc_output_is_result(o) : !is_write(o))) continue;
        put_value(b, 12, text_of(items[k++]), tc_onnx_type_of(o->value->meta.dtype), &o->value->meta, o->value->meta.rank);
    }
}

/* ---- rules ---- */
static V f_unsupported(C *c, args *A) {
    V v[1];
    tc_take(c, A, "unsupported", "text", v);
    tc_raise_code(c, TC_UNSUPPORTED, "%s", text_of(v[0]));
}
static V f_at(C *c, args *A) {
    V v[1];
    tc_take(c, A, "at", "text", v);
    job_of(c)->where = text_of(v[0]);
    return c->none;
}

static bool without_rule(void *ctx, const tc_node *n) { return !tc_map_find(&((job *)ctx)->known, tc_op_name(n->op)); }

static tc_decompose_fn own_or_core(const tc_node *n) { return n->op->decompose ? NULL : tc_core_rule(n); }

static size_t count_without(job *j, const tc_graph *g) {
    size_t k = 0;
    for (const tc_node *n = g->first; n; n = n->next) {
        k += without_rule(j, n);
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) k += count_without(j, n->args[i].graph);
    }
    return k;
}

/* ONNX has one space of names for what the user gives and for weights: where both have one, the weight gets another. */
static void name_apart(tc_program *p) {
    tc_map taken = {0};
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_USER && p->inputs[i].value) tc_map_set(&taken, p->inputs[i].name, p);
    for (int i = 0; taken.len && i < p->ninputs; i++) {
        tc_input *in = &p->inputs[i];
        if (in->kind == TC_IN_USER || !in->value) continue;
        const char *wish = in->name;
        for (int k = 1; tc_map_find(&taken, in->name); k++) in->name = tc_arena_printf(&p->arena, "%s_%d", wish, k);
        tc_map_set(&taken, in->name, p);
    }
    tc_map_free(&taken);
}

static void run(C *c, void *ctx) {
    static const native_def fns[] = {{"unsupported", f_unsupported}, {"at", f_at}, {NULL, NULL}};
    job *j = ctx;
    size_t n;
    tc_define(c, tc_module(c, "_onnx")->d, fns);
    c->more_sources = tc_embedded_onnx_write;
    module *m = tc_import(c, "onnx_write", true);
    V *names = tc_items(tc_call1(c, tc_module_attr(c, m, tc_intern(c, "known", 5)), tc_int(c, j->opset)), &n);
    for (size_t i = 0; i < n; i++) tc_map_set(&j->known, text_of(names[i]), j);
    for (size_t before = SIZE_MAX, left; (left = count_without(j, j->p->graph)) != 0 && left != before; before = left) {
        tc_status st = tc_decompose_by(j->p, without_rule, own_or_core, NULL, j);
        if (st) tc_raise_status(c, "RuntimeError", st);
    }
    tc_dce(j->p, false);
    name_apart(j->p);
    j->result = tc_call2(c, tc_module_attr(c, m, tc_intern(c, "write", 5)), program_object(c, j->p), tc_int(c, j->opset));
    j->where = NULL;
    encode(c, j);
}

/* ---- the file ---- */
static void put_entry(tc_buf *b, const char *key, const char *value) {
    tc_buf e = {0};
    put_text(&e, 1, key);
    put_text(&e, 2, value);
    put_message(b, 13, &e);
    tc_buf_free(&e);
}

/* The header of a tensor whose `bytes` follow, behind position `at` of the file: blanks in its doc_string bring them to a multiple of
 * EMBED_ALIGN, so that a reader can use them where they lie. */
enum { EMBED_ALIGN = 64 };
static void embedded_header(tc_buf *b, const tc_buf *fields, size_t bytes, uint64_t at) {
    static const char blanks[EMBED_ALIGN + 1] = "                                                                ";
    const size_t least = b->len;
    for (size_t pad = 0; pad <= EMBED_ALIGN; pad++) {
        tc_buf head = {0};
        b->len = least;
        tc_buf_append(&head, fields->data, fields->len);
        if (pad && bytes >= EMBED_ALIGN) put_bytes(&head, 12, blanks, pad);
        varint(&head, 9 << 3 | 2);
        varint(&head, bytes);
        varint(b, 5 << 3 | 2);
        varint(b, head.len + bytes);
        tc_buf_append(b, head.data, head.len);
        tc_buf_free(&head);
        if (bytes < EMBED_ALIGN || (at + b->len - least) % EMBED_ALIGN == 0) return;
    }
}

/* TensorProto of a weight up to its bytes, which follow; or, with data, whole: they stand at `offset` of that file. at: of this one. */
static void weight_header(tc_buf *b, const tc_input *in, const tc_tensor *t, const tc_onnx_data_file *data, uint64_t offset, uint64_t at) {
    tc_buf head = {0};
    size_t bytes = tc_tensor_bytes(t);
    for (int i = 0; i < t->rank; i++) put_int(&head, 1, t->size[i]);
    if (part_of(t->dtype) != t->dtype) put_int(&head, 1, 2);
    put_int(&head, 2, tc_onnx_type_of(part_of(t->dtype)));
    put_text(&head, 8, in->name);
    if (data) {
        char from[24], length[24];
        snprintf(from, sizeof from, "%llu", (unsigned long long)offset);
        snprintf(length, sizeof length, "%zu", bytes);
        put_entry(&head, "location", data->location);
        put_entry(&head, "offset", from);
        put_entry(&head, "length", length);
        put_int(&head, 14, 1);
        put_bytes(b, 5, head.data, head.len);
    } else embedded_header(b, &head, bytes, at);
    tc_buf_free(&head);
}

enum { DATA_ALIGN = 4096 }; /* of external data, as ONNX advises for mapping */
static uint64_t aligned(uint64_t at) { return (at + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN; }

static const tc_tensor *weight_of(const job *j, int i) {
    const tc_input *in = &j->p->inputs[i];
    if (in->kind == TC_IN_USER || !in->value || !tc_map_find(&j->used, in->name)) return NULL;
    while (!in->data.storage && in->alias_of >= 0) in = &j->p->inputs[in->alias_of];
    return in->data.storage ? &in->data : NULL;
}

static tc_status write_bytes(tc_out *o, const tc_tensor *t) {
    tc_tensor flat;
    TC_TRY(tc_tensor_contiguous(t, &flat));
    tc_status st = tc_out_write(o, tc_tensor_data(&flat), tc_tensor_bytes(&flat));
    tc_tensor_deinit(&flat);
    return st;
}

/* The weights, each at a multiple of DATA_ALIGN. */
static tc_status write_data(const tc_onnx_data_file *data, const job *j) {
    static const char zeros[DATA_ALIGN];
    uint64_t at = 0;
    for (int i = 0; i < j->p->ninputs; i++) {
        const tc_tensor *t = weight_of(j, i);
        if (!t) continue;
        TC_TRY(tc_out_write(data->o, zeros, aligned(at) - at));
        TC_TRY(write_bytes(data->o, t));
        at = aligned(at) + tc_tensor_bytes(t);
    }
    return NULL;
}

/* The graph's fields behind those of j->graph, from position `start` of the file: one initialiser a weight. o NULL: only *out_bytes,
 * their length. */
static tc_status write_weights(tc_out *o, const job *j, const tc_onnx_data_file *data, uint64_t start, uint64_t *out_bytes) {
    tc_buf one = {0};
    tc_status st = NULL;
    uint64_t at = 0;
    *out_bytes = 0;
    for (int i = 0; i < j->p->ninputs && !st; i++) {
        const tc_tensor *t = weight_of(j, i);
        if (!t) continue;
        one.len = 0;
        at = aligned(at);
        weight_header(&one, &j->p->inputs[i], t, data, at, start + *out_bytes);
        at += tc_tensor_bytes(t);
        *out_bytes += one.len + (data ? 0 : tc_tensor_bytes(t));
        if (o) st = tc_out_write(o, one.data, one.len);
        if (o && !data && !st) st = write_bytes(o, t);
    }
    tc_buf_free(&one);
    return st;
}

static tc_status write_file(tc_out *o, job *j, const char *version, const tc_onnx_data_file *data) {
    tc_buf head = {0}, tail = {0}, opset = {0};
    uint64_t weights, start;
    static const int ir[] = {8, 9, 9, 10, 10, 11}; /* of opsets 18 to 23 */
    put_int(&head, 1, ir[j->opset - TC_ONNX_OPSET_MIN]);
    put_text(&head, 2, "tc");
    put_text(&head, 3, version);
    varint(&head, 7 << 3 | 2);
    const size_t before = head.len;
    tc_status st = write_weights(NULL, j, data, 0, &weights);
    varint(&head, j->graph.len + weights);
    start = head.len + j->graph.len;
    if (!st) st = write_weights(NULL, j, data, start, &weights); /* as long as where it stands makes it */
    head.len = before;
    varint(&head, j->graph.len + weights);
    if (!st && j->graph.len + weights > INT32_MAX)
        st = tc_status_add(tc_error(TC_UNSUPPORTED, "the model is larger than 2 GiB, which a protocol buffer cannot be"),
                           "--store-weights=extern with -o FILE.onnx writes the weights to FILE.onnx.data");
    put_text(&opset, 1, "");
    put_int(&opset, 2, j->opset);
    put_message(&tail, 8, &opset);
    if (!st && data) st = write_data(data, j);
    if (!st) st = tc_out_write(o, head.data, head.len);
    if (!st) st = tc_out_write(o, tc_buf_str(&j->graph), j->graph.len);
    if (!st) st = write_weights(o, j, data, start, &weights);
    if (!st) st = tc_out_write(o, tail.data, tail.len);
    tc_buf_free(&head);
    tc_buf_free(&tail);
    return st;
}

tc_status tc_onnx_write(tc_out *o, const tc_program *p, int opset, const char *version, const tc_onnx_data_file *data) {
    C *c;
    if (opset < TC_ONNX_OPSET_MIN || opset > TC_ONNX_OPSET_MAX)
        return tc_error(TC_USAGE, "opset %d: expected %d..%d", opset, TC_ONNX_OPSET_MIN, TC_ONNX_OPSET_MAX);
    tc_lang_options limits = {.max_steps = 200000000, .max_memory = (size_t)1 << 30};
    TC_TRY(tc_lang_create(&limits, &c));
    job j = {.p = tc_program_clone(p), .opset = opset};
    j.p->calls.len = 0;
    c->warn_self = &j;
    tc_status st = tc_lang_run(c, run, &j);
    if (st && j.where && *j.where) st = tc_annotate(st, "%s", j.where);
    tc_lang_destroy(c);
    if (!st) st = write_file(o, &j, version, data);
    tc_buf_free(&j.graph);
    tc_map_free(&j.known);
    tc_map_free(&j.graphs);
    tc_map_free(&j.used);
    tc_program_release(j.p);
    return st;
}
