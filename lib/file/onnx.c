/* ModelProto, GraphProto, NodeProto, FunctionProto and the rest of onnx.proto, field by field. Unknown fields are passed over. */
#include "file/onnx_read.h"

#include <stdio.h>

enum { MAX_STRING = 64 << 20 };

const char *tc_onnx_string(tc_onnx_reader *r, tc_pb *m) {
    const char *p;
    size_t n;
    if (!tc_pb_bytes(m, &p, &n)) return "";
    if (n > MAX_STRING || memchr(p, 0, n)) {
        tc_pb_fail(m, TC_CONTENT, n > MAX_STRING ? "a string of more than 64 MiB" : "a string holds a NUL byte");
        return "";
    }
    return n ? tc_arena_strndup(r->arena, p, n) : "";
}

/* ---- types ---- */
static void read_shape(tc_onnx_reader *r, tc_pb *m, tc_onnx_type *t) {
    tc_pb s = tc_pb_message(m);
    t->has_shape = true;
    t->rank = 0;
    while (tc_pb_next(&s)) {
        if (s.field != 1) continue;
        tc_pb d = tc_pb_message(&s);
        int64_t n = -1;
        const char *sym = NULL;
        while (tc_pb_next(&d))
            if (d.field == 1) n = tc_pb_int(&d);
            else if (d.field == 2) sym = tc_onnx_string(r, &d);
        if (!d.status && t->rank == TC_MAX_RANK) tc_pb_fail(&d, TC_UNSUPPORTED, "a type has more than %d dimensions", TC_MAX_RANK);
        if (!d.status) {
            t->size[t->rank] = n < 0 ? -1 : n; /* some writers write -1 for a dynamic size */
            t->sym[t->rank++] = sym && *sym ? sym : NULL;
        }
        tc_pb_close(&s, &d);
    }
    tc_pb_close(m, &s);
}

static void read_type(tc_onnx_reader *r, tc_pb *m, tc_onnx_type *t) {
    tc_pb s = tc_pb_message(m);
    *t = (tc_onnx_type){0};
    while (tc_pb_next(&s)) {
        static const tc_onnx_type_kind kinds[] = {
            [1] = TC_ONNX_T_TENSOR, [4] = TC_ONNX_T_SEQUENCE, [5] = TC_ONNX_T_MAP, [8] = TC_ONNX_T_SPARSE, [9] = TC_ONNX_T_OPTIONAL};
        if (s.field >= sizeof kinds / sizeof *kinds || !kinds[s.field]) continue;
        t->kind = kinds[s.field];
        tc_pb e = tc_pb_message(&s);
        while (tc_pb_next(&e)) {
            if (t->kind == TC_ONNX_T_TENSOR || t->kind == TC_ONNX_T_SPARSE) {
                if (e.field == 1) t->elem = (int)tc_pb_int(&e);
                else if (e.field == 2) read_shape(r, &e, t);
            } else if (e.field == 1 && t->kind != TC_ONNX_T_MAP) {
                t->of = TC_NEW(r->arena, tc_onnx_type);
                read_type(r, &e, t->of);
            }
        }
        tc_pb_close(&s, &e);
    }
    tc_pb_close(m, &s);
}

static tc_onnx_value read_value(tc_onnx_reader *r, tc_pb *m) {
    tc_onnx_value v = {.name = ""};
    tc_pb s = tc_pb_message(m);
    while (tc_pb_next(&s))
        if (s.field == 1) v.name = tc_onnx_string(r, &s);
        else if (s.field == 2) read_type(r, &s, &v.type);
    tc_pb_close(m, &s);
    return v;
}

/* ---- attributes ---- */
static void read_graph(tc_onnx_reader *r, tc_pb *m, tc_onnx_graph *g);

static tc_onnx_graph *new_graph(tc_onnx_reader *r) {
    tc_onnx_graph *g = TC_NEW(r->arena, tc_onnx_graph);
    g->next = r->model->graphs;
    r->model->graphs = g;
    return g;
}

/* The kind of an attribute in old files, which do not store it. */
static int implied_kind(const tc_onnx_attr *a, uint32_t seen) {
    static const int by_field[][2] = {{2, TC_ONNX_A_FLOAT},    {3, TC_ONNX_A_INT},    {4, TC_ONNX_A_STRING}, {5, TC_ONNX_A_TENSOR},
                                      {6, TC_ONNX_A_GRAPH},    {7, TC_ONNX_A_FLOATS}, {8, TC_ONNX_A_INTS},   {9, TC_ONNX_A_STRINGS},
                                      {10, TC_ONNX_A_TENSORS}, {11, TC_ONNX_A_GRAPHS}};
    if (a->kind) return a->kind;
    for (size_t i = 0; i < sizeof by_field / sizeof *by_field; i++)
        if (seen & (1u << by_field[i][0])) return by_field[i][1];
    return 0;
}

static void attr_field(tc_onnx_reader *r, tc_pb *s, tc_onnx_attr *a) {
    switch (s->field) {
    case 1: a->name = tc_onnx_string(r, s); break;
    case 2: a->f = tc_pb_float(s); break;
    case 3: a->i = tc_pb_int(s); break;
    case 4: a->s = tc_onnx_string(r, s); break;
    case 5:
    case 22:
        if (a->t) tc_tensor_deinit(&a->t->data);
        a->t = TC_NEW(r->arena, tc_onnx_tensor);
        if (s->field == 22) tc_onnx_sparse_read(r, s, a->t);
        else tc_onnx_tensor_read(r, s, a->t);
        break;
    case 6:
        a->g = new_graph(r);
        read_graph(r, s, a->g);
        break;
    case 7:
        for (size_t n = tc_pb_count(s, 4), i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)tc_pb_element(s, 4);
            float f;
            memcpy(&f, &bits, sizeof f);
            tc_vec_push(&a->floats, f);
        }
        break;
    case 8:
        for (size_t n = tc_pb_count(s, 0), i = 0; i < n; i++) tc_vec_push(&a->ints, (int64_t)tc_pb_element(s, 0));
        break;
    case 9: {
        const char *text = tc_onnx_string(r, s);
        tc_vec_push(&a->strings, text);
        break;
    }
    case 10: {
        tc_onnx_tensor t;
        tc_onnx_tensor_read(r, s, &t);
        tc_vec_push(&a->tensors, t);
        break;
    }
    case 11: {
        tc_onnx_graph *g = new_graph(r);
        read_graph(r, s, g);
        tc_vec_push(&a->graphs, g);
        break;
    }
    case 14:
        a->type = TC_NEW(r->arena, tc_onnx_type);
        read_type(r, s, a->type);
        break;
    case 20: a->kind = (int)tc_pb_int(s); break;
    case 21: a->ref = tc_onnx_string(r, s); break;
    case 23: tc_pb_fail(s, TC_UNSUPPORTED, "an attribute of several sparse tensors"); break;
    default: break;
    }
}

static tc_onnx_attr read_attr(tc_onnx_reader *r, tc_pb *m) {
    tc_onnx_attr a = {.name = "", .s = ""};
    uint32_t seen = 0;
    tc_pb s = tc_pb_message(m);
    while (tc_pb_next(&s)) {
        if (s.field < 32) seen |= 1u << s.field;
        attr_field(r, &s, &a);
    }
    if (a.ref && !*a.ref) a.ref = NULL;
    a.kind = implied_kind(&a, seen);
    tc_pb_close(m, &s);
    return a;
}

static void free_attr(tc_onnx_attr *a) {
    if (a->t) tc_tensor_deinit(&a->t->data);
    for (size_t i = 0; i < a->tensors.len; i++) tc_tensor_deinit(&a->tensors.data[i].data);
    tc_vec_free(&a->floats);
    tc_vec_free(&a->ints);
    tc_vec_free(&a->strings);
    tc_vec_free(&a->tensors);
    tc_vec_free(&a->graphs);
}

/* ---- nodes and graphs ---- */
static tc_onnx_node read_node(tc_onnx_reader *r, tc_pb *m) {
    tc_onnx_node n = {.name = "", .op = "", .domain = "", .overload = "", .offset = m->bytes ? m->bytes - m->whole : 0};
    tc_pb s = tc_pb_message(m);
    while (tc_pb_next(&s)) switch (s.field) {
        case 1:
        case 2: {
            const char *name = tc_onnx_string(r, &s);
            if (s.field == 1) tc_vec_push(&n.inputs, name);
            else tc_vec_push(&n.outputs, name);
            break;
        }
        case 3: n.name = tc_onnx_string(r, &s); break;
        case 4: n.op = tc_onnx_string(r, &s); break;
        case 5: {
            tc_onnx_attr a = read_attr(r, &s);
            tc_vec_push(&n.attrs, a);
            break;
        }
        case 7: n.domain = tc_onnx_string(r, &s); break;
        case 8: n.overload = tc_onnx_string(r, &s); break;
        default: break;
        }
    if (!strcmp(n.domain, "ai.onnx")) n.domain = "";
    tc_pb_close(m, &s);
    return n;
}

static void read_graph(tc_onnx_reader *r, tc_pb *m, tc_onnx_graph *g) {
    tc_pb s = tc_pb_message(m);
    g->name = "";
    while (tc_pb_next(&s)) switch (s.field) {
        case 1: {
            tc_onnx_node n = read_node(r, &s);
            tc_vec_push(&g->nodes, n);
            break;
        }
        case 2: g->name = tc_onnx_string(r, &s); break;
        case 5:
        case 15: {
            tc_onnx_tensor t;
            if (s.field == 5) tc_onnx_tensor_read(r, &s, &t);
            else tc_onnx_sparse_read(r, &s, &t);
            tc_vec_push(&g->inits, t);
            break;
        }
        case 11:
        case 12: {
            tc_onnx_value v = read_value(r, &s);
            if (s.field == 11) tc_vec_push(&g->inputs, v);
            else tc_vec_push(&g->outputs, v);
            break;
        }
        default: break;
        }
    tc_pb_close(m, &s);
}

static void free_graph(tc_onnx_graph *g) {
    for (size_t i = 0; i < g->nodes.len; i++) {
        tc_onnx_node *n = &g->nodes.data[i];
        for (size_t k = 0; k < n->attrs.len; k++) free_attr(&n->attrs.data[k]);
        tc_vec_free(&n->attrs);
        tc_vec_free(&n->inputs);
        tc_vec_free(&n->outputs);
    }
    for (size_t i = 0; i < g->inits.len; i++) tc_tensor_deinit(&g->inits.data[i].data);
    tc_vec_free(&g->nodes);
    tc_vec_free(&g->inits);
    tc_vec_free(&g->inputs);
    tc_vec_free(&g->outputs);
}

static tc_onnx_opset read_opset(tc_onnx_reader *r, tc_pb *m) {
    tc_onnx_opset o = {.domain = ""};
    tc_pb s = tc_pb_message(m);
    while (tc_pb_next(&s))
        if (s.field == 1) o.domain = tc_onnx_string(r, &s);
        else if (s.field == 2) o.version = tc_pb_int(&s);
    if (!strcmp(o.domain, "ai.onnx")) o.domain = "";
    tc_pb_close(m, &s);
    return o;
}

static tc_onnx_function read_function(tc_onnx_reader *r, tc_pb *m) {
    tc_onnx_function f = {.name = "", .domain = "", .overload = ""};
    tc_pb s = tc_pb_message(m);
    while (tc_pb_next(&s)) switch (s.field) {
        case 1: f.name = tc_onnx_string(r, &s); break;
        case 4:
        case 5:
        case 6: {
            const char *name = tc_onnx_string(r, &s);
            if (s.field == 4) tc_vec_push(&f.inputs, name);
            else if (s.field == 5) tc_vec_push(&f.outputs, name);
            else tc_vec_push(&f.attrs, name);
            break;
        }
        case 7: {
            tc_onnx_node n = read_node(r, &s);
            tc_vec_push(&f.body.nodes, n);
            break;
        }
        case 9: {
            tc_onnx_opset o = read_opset(r, &s);
            tc_vec_push(&f.opsets, o);
            break;
        }
        case 10: f.domain = tc_onnx_string(r, &s); break;
        case 11: {
            tc_onnx_attr a = read_attr(r, &s);
            tc_vec_push(&f.defaults, a);
            break;
        }
        case 13: f.overload = tc_onnx_string(r, &s); break;
        default: break;
        }
    if (!strcmp(f.domain, "ai.onnx")) f.domain = "";
    f.body.name = f.name;
    tc_pb_close(m, &s);
    return f;
}

static void free_function(tc_onnx_function *f) {
    for (size_t i = 0; i < f->defaults.len; i++) free_attr(&f->defaults.data[i]);
    tc_vec_free(&f->inputs);
    tc_vec_free(&f->outputs);
    tc_vec_free(&f->attrs);
    tc_vec_free(&f->defaults);
    tc_vec_free(&f->opsets);
    free_graph(&f->body);
}

/* ---- the model ---- */
static tc_status read_model(tc_onnx_reader *r, tc_onnx_model *m) {
    tc_pb s = tc_pb_open(m->file, r->blob->data, r->blob->len);
    bool graph = false;
    while (tc_pb_next(&s)) switch (s.field) {
        case 1: m->ir_version = tc_pb_int(&s); break;
        case 2: m->producer = tc_onnx_string(r, &s); break;
        case 7:
            if (graph) {
                tc_pb_fail(&s, TC_CONTENT, "a model with two graphs");
                break;
            }
            graph = true;
            read_graph(r, &s, &m->graph);
            break;
        case 8: {
            tc_onnx_opset o = read_opset(r, &s);
            tc_vec_push(&m->opsets, o);
            break;
        }
        case 25: {
            tc_onnx_function f = read_function(r, &s);
            tc_vec_push(&m->functions, f);
            break;
        }
        default: break;
        }
    if (!s.status && !graph) s.status = tc_error(TC_CONTENT, "%s: an ONNX model without a graph", m->file);
    return s.status;
}

tc_status tc_onnx_read(tc_blob *b, tc_onnx_model **out_model) {
    tc_onnx_model *m = tc_xcalloc(1, sizeof *m);
    m->blob = tc_blob_retain(b);
    m->file = tc_arena_strdup(&m->arena, b->name);
    m->producer = "";
    if (b->mapped && strcmp(b->name, "stdin")) {
        const char *slash = strrchr(b->name, '/');
        m->folder = slash ? tc_arena_strndup(&m->arena, b->name, slash == b->name ? 1 : (size_t)(slash - b->name)) : tc_arena_strdup(&m->arena, ".");
    }
    tc_onnx_reader r = {.arena = &m->arena, .blob = b, .model = m};
    tc_status st = read_model(&r, m);
    if (st) {
        tc_onnx_free(m);
        return st;
    }
    *out_model = m;
    return NULL;
}

void tc_onnx_free(tc_onnx_model *m) {
    if (!m) return;
    free_graph(&m->graph);
    for (tc_onnx_graph *g = m->graphs; g; g = g->next) free_graph(g);
    for (size_t i = 0; i < m->functions.len; i++) free_function(&m->functions.data[i]);
    tc_vec_free(&m->functions);
    tc_vec_free(&m->opsets);
    for (size_t i = 0; i < m->external.len; i++) tc_blob_release(m->external.entries[i].value);
    tc_map_free(&m->external);
    tc_blob_release(m->blob);
    tc_arena_free(&m->arena);
    free(m);
}

/* A model begins with its IR version, a small number, followed by another field of ModelProto. */
bool tc_onnx_is_model(const unsigned char *p, size_t n) {
    static const unsigned char next[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72}; /* fields 2 to 8 and 14 with their wire types */
    if (n >= 3 && p[0] == 0x08 && p[1] > 0 && p[1] < 0x80 && memchr(next, p[2], sizeof next)) return true;
    return n >= 2 && p[0] == 0x08 && p[1] > 0 && p[1] < 0x20 && n < 3;
}

/* ---- reference data ---- */
static void read_sequence(tc_onnx_reader *r, tc_pb *s, tc_onnx_data *out) {
    while (tc_pb_next(s)) {
        if (s->field == 3) {
            tc_onnx_tensor t;
            tc_onnx_tensor_read(r, s, &t);
            tc_vec_push(&out->items, t);
        } else if (s->field > 3) {
            tc_pb_fail(s, TC_UNSUPPORTED, "a sequence of something else than tensors");
        }
    }
}

static void read_optional(tc_onnx_reader *r, tc_pb *s, tc_onnx_data *out) {
    out->absent = true;
    while (tc_pb_next(s)) {
        if (s->field == 3) {
            tc_onnx_tensor t;
            tc_onnx_tensor_read(r, s, &t);
            tc_vec_push(&out->items, t);
            out->absent = false;
        } else if (s->field == 5) {
            tc_pb q = tc_pb_message(s);
            read_sequence(r, &q, out);
            tc_pb_close(s, &q);
            out->absent = false;
        }
    }
}

tc_status tc_onnx_read_data(tc_blob *b, tc_onnx_data_kind kind, tc_onnx_data *out) {
    *out = (tc_onnx_data){0};
    tc_onnx_reader r = {.arena = &out->arena, .blob = b};
    tc_pb s = tc_pb_open(b->name, b->data, b->len);
    if (kind == TC_ONNX_IS_TENSOR) {
        tc_onnx_tensor t;
        tc_onnx_tensor_fields(&r, &s, &t);
        if (!s.status) tc_vec_push(&out->items, t);
    } else if (kind == TC_ONNX_IS_SEQUENCE) {
        read_sequence(&r, &s, out);
    } else {
        read_optional(&r, &s, out);
    }
    if (s.status) tc_onnx_data_free(out);
    return s.status;
}

void tc_onnx_data_free(tc_onnx_data *d) {
    for (size_t i = 0; i < d->items.len; i++) tc_tensor_deinit(&d->items.data[i].data);
    tc_vec_free(&d->items);
    tc_arena_free(&d->arena);
}
