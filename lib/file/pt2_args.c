/* Values, types and arguments of PT2 graphs: each union of the schema becomes a tc_arg; each name is looked up in its scope. */
#include "file/pt2_read.h"

/* ---- names ---- */
tc_str tc_pt2_read_name(tc_pt2_reader *r) {
    tc_jread *j = &r->j;
    tc_str name = {"", 0};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "name") || tc_str_is(key, "as_name")) name = tc_jr_keep(j, &r->scratch, tc_jr_string(j));
        else tc_jr_skip(j);
    }
    if (!name.n) tc_jr_fail(j, TC_CONTENT, "a value without a name");
    return name;
}

const tc_arg *tc_pt2_lookup(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name) {
    const tc_pt2_name *n = tc_map_get(&s->names, name.s, name.n);
    const bool made = n && n->made;
    if (!made && s->vmap) {
        const tc_arg *a = tc_pt2_lookup(r, s->outer, name);
        return a ? tc_pt2_vmap_import(r, s, name, a) : NULL;
    }
    if (!made) tc_jr_fail(&r->j, TC_CONTENT, "%.*s is used before anything makes it", (int)(name.n < 200 ? name.n : 200), name.s);
    else if (n->doubt) tc_jr_fail(&r->j, TC_CONTENT, "%s", n->doubt);
    return made ? &n->arg : NULL;
}

tc_pt2_name *tc_pt2_named(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name) {
    tc_pt2_name *n = tc_map_get(&s->names, name.s, name.n);
    if (n) return n;
    n = TC_NEW(&r->scratch, tc_pt2_name);
    n->name = tc_arena_strndup(&r->program->arena, name.s, name.n);
    *tc_map_put(&s->names, n->name, name.n) = n;
    *tc_map_put(&s->graph->names, n->name, name.n) = (void *)(uintptr_t)1; /* reserved: generated names avoid it */
    return n;
}

const tc_pt2_name *tc_pt2_declared(tc_pt2_scope *s, tc_pt2_name *n) {
    if (!s->vmap) return n;
    while (s->vmap) s = s->outer;
    return tc_map_find(&s->names, n->name);
}

void tc_pt2_make(tc_pt2_reader *r, tc_pt2_name *n, tc_arg a) {
    if (n->made) tc_jr_fail(&r->j, TC_CONTENT, "%s is made twice", n->name);
    n->made = true;
    n->arg = a;
}

/* ---- symbolic numbers ---- */
static tc_symvalue read_hint(tc_jread *j) {
    tc_symvalue v = {.bound = false};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "as_int")) v = (tc_symvalue){.i = tc_jr_int(j), .bound = true};
        else tc_jr_skip(j);
    }
    return v;
}

/* The first hint of a symbol counts: inputs are read before nodes. */
static void keep_hint(tc_pt2_reader *r, tc_sym s, tc_symvalue hint) {
    if (!hint.bound || tc_sym_opcode(s) != TC_S_VAR || tc_sym_type(s) != TC_SYM_INT || tc_sym_holds_data(s)) return;
    const size_t i = (size_t)tc_sym_var_index(s);
    while (r->hints.len <= i) tc_vec_push(&r->hints, (tc_symvalue){.bound = false});
    if (!r->hints.data[i].bound) r->hints.data[i] = hint;
}

/* The number at the sizes that the export saw. False: it depends on data, or has none. */
static bool at_hints(const tc_pt2_reader *r, tc_sym s, int64_t *out) {
    if (!tc_sym_bound(s, r->hints.data, r->hints.len)) return false;
    tc_status st = tc_sym_eval_int(s, r->hints.data, r->hints.len, out);
    const bool known = !st;
    tc_status_free(st);
    return known;
}

bool tc_pt2_differ(const tc_pt2_reader *r, tc_sym a, tc_sym b) {
    int64_t x, y;
    return a != b && at_hints(r, a, &x) && at_hints(r, b, &y) && x != y;
}

/* Axes of size 1 have any stride; an empty tensor is in no memory. */
bool tc_pt2_has_gaps(const tc_pt2_reader *r, int rank, const tc_sym *size, const tc_sym *stride) {
    int64_t n[TC_MAX_RANK], step[TC_MAX_RANK], next = 1;
    bool gaps = false;
    for (int d = 0; d < rank; d++)
        if (!at_hints(r, size[d], &n[d]) || !at_hints(r, stride[d], &step[d]) || n[d] == 0) return false;
    for (int k = 0; k < rank; k++) { /* the axis of the least stride comes next */
        int least = -1;
        for (int d = 0; d < rank; d++)
            if (n[d] > 1 && (least < 0 || step[d] < step[least])) least = d;
        if (least < 0) break;
        gaps |= step[least] != next;
        next *= n[least], n[least] = 1;
    }
    return gaps;
}

const char *tc_pt2_unknown(const tc_pt2_reader *r, tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR) return (size_t)tc_sym_var_index(s) >= r->nknown && !tc_sym_holds_data(s) ? tc_sym_var_name(s) : NULL;
    for (int i = 0; i < tc_sym_arity(s); i++) {
        const char *name = tc_pt2_unknown(r, tc_sym_arg(s, i));
        if (name) return name;
    }
    return NULL;
}

static tc_sym parse_expression(tc_pt2_reader *r) { /* SymExpr */
    tc_jread *j = &r->j;
    tc_sym s = NULL;
    tc_symctx *c = r->program->sym;
    tc_jr_object(j);
    tc_symvalue hint = {.bound = false};
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "hint") && tc_jr_peek(j) == TC_JR_OBJECT) hint = read_hint(j);
        else if (!tc_str_is(key, "expr_str")) tc_jr_skip(j);
        if (!tc_str_is(key, "expr_str")) continue;
        tc_str text = tc_jr_string(j);
        tc_status st = tc_jr_ok(j) ? tc_sym_parse_srepr(c, text.s, text.n, &s) : NULL;
        if (st) {
            tc_jr_fail(j, tc_status_code(st), "%s", tc_status_message(st));
            tc_status_free(st);
        }
    }
    if (s && tc_jr_ok(j)) keep_hint(r, s, hint);
    if (!s) tc_jr_fail(j, TC_CONTENT, "a symbolic number without expr_str");
    else if (r->from.len) s = tc_sym_substitute(c, s, r->from.data, r->to.data, r->from.len);
    return s;
}

/* SymInt, SymFloat or SymBool; NULL after a failure. */
static tc_sym any_expression(tc_pt2_reader *r) {
    tc_jread *j = &r->j;
    tc_symctx *c = r->program->sym;
    tc_sym s = NULL;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "as_expr")) s = parse_expression(r);
        else if (tc_str_is(key, "as_int")) s = tc_sym_int(c, tc_jr_int(j));
        else if (tc_str_is(key, "as_float")) s = tc_sym_float(c, tc_jr_double(j));
        else if (tc_str_is(key, "as_bool")) s = tc_sym_bool(c, tc_jr_bool(j));
        else tc_jr_fail(j, TC_CONTENT, "a symbolic number of kind %.*s", (int)(key.n < 40 ? key.n : 40), key.s);
    }
    if (!s) tc_jr_fail(j, TC_CONTENT, "an empty symbolic number");
    return tc_jr_ok(j) ? s : NULL;
}

/* SymInt, SymFloat, SymBool */
static tc_sym expression(tc_pt2_reader *r, tc_symtype type) {
    tc_symctx *c = r->program->sym;
    tc_sym s = any_expression(r);
    if (s && tc_sym_type(s) != type) tc_jr_fail(&r->j, TC_CONTENT, "a symbolic number of the wrong type");
    return tc_jr_ok(&r->j) ? s : type == TC_SYM_INT ? tc_sym_int(c, 1) : type == TC_SYM_FLOAT ? tc_sym_float(c, 0) : tc_sym_bool(c, false);
}

/* SymIntArgument, SymFloatArgument, SymBoolArgument: a name or a literal. */
static tc_arg named_number(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    tc_arg a = {.kind = TC_A_NONE};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "as_name")) {
            tc_str name = tc_jr_string(j);
            const tc_arg *found = tc_jr_ok(j) ? tc_pt2_lookup(r, s, name) : NULL;
            if (found) a = *found;
        } else if (tc_str_is(key, "as_int")) {
            a = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(r->program->sym, tc_jr_int(j))};
        } else if (tc_str_is(key, "as_float")) {
            a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_jr_double(j))};
        } else if (tc_str_is(key, "as_bool")) {
            a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(tc_jr_bool(j))};
        } else {
            tc_jr_fail(j, TC_CONTENT, "a number of kind %.*s", (int)(key.n < 40 ? key.n : 40), key.s);
        }
    }
    if (a.kind == TC_A_NONE) tc_jr_fail(j, TC_CONTENT, "an empty number");
    return a;
}

/* ---- types ---- */
int tc_pt2_sizes(tc_pt2_reader *r, tc_sym *out) {
    int n = 0;
    for (tc_jr_array(&r->j); tc_jr_item(&r->j); n++) {
        tc_sym s = expression(r, TC_SYM_INT);
        if (n < TC_MAX_RANK) out[n] = s;
        else tc_jr_fail(&r->j, TC_UNSUPPORTED, "a tensor of more than %d dimensions", TC_MAX_RANK);
    }
    return n;
}

bool tc_pt2_negative(tc_sym s) {
    int64_t v;
    return tc_sym_const_int(s, &v) && v < 0;
}

bool tc_pt2_are_plain(const tc_meta *m, const tc_sym *stride, const tc_sym *plain) {
    for (int d = 0; d < m->rank; d++)
        if (stride[d] != plain[d] && !tc_sym_is_int(m->size[d], 1)) return false;
    return true;
}

void tc_pt2_set_strides(tc_program *p, tc_meta *m, const tc_sym *stride) {
    const tc_sym *plain = tc_contiguous_sym_strides(p->sym, &p->arena, m->rank, m->size);
    m->stride = tc_pt2_are_plain(m, stride, plain) ? NULL : tc_arena_dup(&p->arena, stride, sizeof *stride * (size_t)m->rank);
}

static tc_arg read_device(tc_pt2_reader *r, tc_pt2_scope *s);

void tc_pt2_type_field(tc_pt2_reader *r, tc_str key) {
    tc_jread *j = &r->j;
    if (tc_str_is(key, "layout")) {
        const int64_t layout = tc_jr_int(j);
        if (tc_jr_ok(j) && layout != 7) tc_jr_fail(j, TC_UNSUPPORTED, "a tensor of layout %lld of the PT2 schema (7 is strided)", (long long)layout);
    } else if (tc_str_is(key, "storage_offset")) {
        if (tc_pt2_negative(expression(r, TC_SYM_INT))) tc_jr_fail(j, TC_CONTENT, "the storage offset of a tensor is negative");
    } else if (tc_str_is(key, "device")) {
        read_device(r, NULL);
    } else {
        tc_jr_skip(j);
    }
}

/* TensorMeta */
static bool tensor_meta(tc_pt2_reader *r, tc_meta *out) {
    tc_jread *j = &r->j;
    tc_program *p = r->program;
    tc_sym size[TC_MAX_RANK], stride[TC_MAX_RANK];
    int rank = -1, strides = -1, code = -1;
    bool grad = false;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "dtype")) code = (int)tc_jr_int(j);
        else if (tc_str_is(key, "sizes")) rank = tc_pt2_sizes(r, size);
        else if (tc_str_is(key, "strides")) strides = tc_pt2_sizes(r, stride);
        else if (tc_str_is(key, "requires_grad")) grad = tc_jr_bool(j);
        else tc_pt2_type_field(r, key);
    }
    if (!tc_jr_ok(j)) return false;
    tc_dtype dtype = tc_dtype_from_pt2(code);
    if (dtype == TC_DTYPE_NONE) tc_jr_fail(j, TC_UNSUPPORTED, "element type %d of the PT2 schema", code);
    else if (rank < 0 || rank != strides) tc_jr_fail(j, TC_CONTENT, "a tensor of %d sizes and %d strides", rank, strides);
    for (int d = 0; tc_jr_ok(j) && d < rank; d++)
        if (tc_pt2_negative(size[d]) || tc_pt2_negative(stride[d]))
            tc_jr_fail(j, TC_CONTENT, "dimension %d of a tensor has a negative size or stride", d);
    if (!tc_jr_ok(j)) return false;
    *out = tc_meta_make(&p->arena, dtype, rank, size, NULL);
    tc_pt2_set_strides(p, out, stride);
    out->requires_grad = grad;
    return true;
}

tc_value *tc_pt2_input_value(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name, bool tensor) {
    tc_jread *j = &r->j;
    tc_jr_mark here = tc_jr_tell(j);
    if (!tc_jr_ok(j)) return NULL;
    tc_pt2_name *n = tc_pt2_named(r, s, name);
    const tc_jr_mark *mark = tensor ? n->tensor : n->sym;
    if (!mark) {
        tc_jr_fail(j, TC_CONTENT, "input %s has no %s", n->name, tensor ? "entry in tensor_values" : "expression");
        return NULL;
    }
    tc_value *v = tc_graph_value(s->graph, tensor ? TC_V_TENSOR : TC_V_SYM, n->name);
    v->name = n->name; /* the name is reserved in the graph */
    tc_jr_seek(j, *mark);
    if (tensor) tensor_meta(r, &v->meta);
    else v->sym = any_expression(r);
    if (!tc_jr_ok(j)) tc_status_within(j->status, "input %s", n->name);
    if (tc_jr_ok(j)) tc_jr_seek(j, here);
    else if (!tensor) v->sym = tc_sym_int(r->program->sym, 1);
    tc_pt2_make(r, n, (tc_arg){.kind = TC_A_VALUE, .value = v});
    return tc_graph_add_input(s->graph, v);
}

tc_value *tc_pt2_as_value(tc_pt2_scope *s, tc_arg a, const char *hint) {
    tc_symctx *c = s->graph->program->sym;
    if (a.kind == TC_A_VALUE) return a.value;
    if (a.kind != TC_A_INT && a.kind != TC_A_SCALAR) return NULL;
    tc_value *v = tc_graph_value(s->graph, TC_V_SYM, hint);
    if (a.kind == TC_A_INT || a.is_sym) v->sym = a.sym;
    else if (a.scalar.kind == TC_KIND_FLOAT) v->sym = tc_sym_float(c, a.scalar.f);
    else if (a.scalar.kind == TC_KIND_INT) v->sym = tc_sym_int(c, a.scalar.i);
    else v->sym = tc_sym_bool(c, a.scalar.i != 0);
    return v;
}

/* ---- arguments: one reader for each tag ---- */
typedef tc_arg (*arg_reader)(tc_pt2_reader *r, tc_pt2_scope *s);

/* Appends to a list in the scratch arena, whose capacity doubles. */
static void *append(tc_arena *a, void *data, int n, const void *item, size_t size) {
    if (!(n & (n - 1))) {
        void *bigger = tc_arena_array(a, n ? 2 * (size_t)n : 1, size);
        if (n) memcpy(bigger, data, (size_t)n * size);
        data = bigger;
    }
    memcpy((char *)data + (size_t)n * size, item, size);
    return data;
}
#define APPEND(r, data, n, item) ((data) = append(&(r)->program->arena, (data), (n)++, &(item), sizeof *(data)))

static tc_arg read_none(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    tc_jr_skip(&r->j);
    return (tc_arg){.kind = TC_A_NONE};
}

static tc_value *tensor_named(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name) {
    const tc_arg *a = tc_jr_ok(&r->j) ? tc_pt2_lookup(r, s, name) : NULL;
    if (!a) return NULL;
    if (a->kind == TC_A_VALUE) return a->value;
    return tc_pt2_as_value(s, *a, tc_arena_strndup(&r->scratch, name.s, name.n));
}

static tc_arg read_tensor(tc_pt2_reader *r, tc_pt2_scope *s) {
    return (tc_arg){.kind = TC_A_VALUE, .value = tensor_named(r, s, tc_pt2_read_name(r))};
}

static tc_arg read_tensors(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_arg a = {.kind = TC_A_VALUES};
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        tc_value *v = tensor_named(r, s, tc_pt2_read_name(r));
        APPEND(r, a.values, a.n, v);
    }
    return a;
}

static tc_value *optional_tensor(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_value *v = NULL;
    tc_jr_object(&r->j);
    for (tc_str key; tc_jr_member(&r->j, &key);) {
        if (tc_str_is(key, "as_tensor")) v = tensor_named(r, s, tc_pt2_read_name(r));
        else tc_jr_skip(&r->j);
    }
    return v;
}

static tc_arg read_optional_tensor(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_value *v = optional_tensor(r, s);
    return v ? (tc_arg){.kind = TC_A_VALUE, .value = v} : (tc_arg){.kind = TC_A_NONE};
}

static tc_arg read_optional_tensors(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_arg a = {.kind = TC_A_VALUES};
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        tc_value *v = optional_tensor(r, s);
        APPEND(r, a.values, a.n, v);
    }
    return a;
}

static tc_arg read_int(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    return (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(r->program->sym, tc_jr_int(&r->j))};
}

static tc_arg read_ints(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    tc_sym *list = NULL;
    int n = 0;
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        tc_sym v = tc_sym_int(r->program->sym, tc_jr_int(&r->j));
        APPEND(r, list, n, v);
    }
    return (tc_arg){.kind = TC_A_INTS, .n = n, .syms = list};
}

static tc_arg read_float(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_jr_double(&r->j))};
}

static tc_arg read_floats(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    double *list = NULL;
    int n = 0;
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        double v = tc_jr_double(&r->j);
        APPEND(r, list, n, v);
    }
    return (tc_arg){.kind = TC_A_FLOATS, .n = n, .floats = list};
}

static tc_arg read_bool(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(tc_jr_bool(&r->j))};
}

static tc_arg read_bools(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    bool *list = NULL;
    int n = 0;
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        bool v = tc_jr_bool(&r->j);
        APPEND(r, list, n, v);
    }
    return (tc_arg){.kind = TC_A_BOOLS, .n = n, .bools = list};
}

static tc_arg read_string(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    return (tc_arg){.kind = TC_A_STRING, .string = tc_jr_strdup(&r->j, &r->program->arena)};
}

static tc_arg read_sym_ints(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_sym *list = NULL;
    int n = 0;
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        tc_arg a = named_number(r, s);
        tc_sym v = a.kind == TC_A_INT ? a.sym : a.kind == TC_A_VALUE && a.value->kind == TC_V_SYM ? a.value->sym : NULL;
        if (!v) tc_jr_fail(&r->j, TC_CONTENT, "a list of sizes holds something else");
        else APPEND(r, list, n, v);
    }
    return (tc_arg){.kind = TC_A_INTS, .n = n, .syms = list};
}

static tc_arg read_dtype(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    int code = (int)tc_jr_int(&r->j);
    tc_dtype d = tc_dtype_from_pt2(code);
    if (d == TC_DTYPE_NONE) tc_jr_fail(&r->j, TC_UNSUPPORTED, "element type %d of the PT2 schema", code);
    return (tc_arg){.kind = TC_A_DTYPE, .dtype = d};
}

static tc_arg read_memory_format(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    return (tc_arg){.kind = TC_A_MEMFORMAT, .code = (int)tc_jr_int(&r->j)};
}

static tc_arg read_layout(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    return (tc_arg){.kind = TC_A_LAYOUT, .code = (int)tc_jr_int(&r->j)};
}

static tc_arg read_device(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    const char *type = "cpu";
    tc_jr_object(&r->j);
    for (tc_str key; tc_jr_member(&r->j, &key);) {
        if (tc_str_is(key, "type")) type = tc_jr_strdup(&r->j, &r->program->arena);
        else tc_jr_skip(&r->j);
    }
    return (tc_arg){.kind = TC_A_DEVICE, .string = type};
}

static tc_arg read_complex(tc_pt2_reader *r, tc_pt2_scope *s) {
    (void)s;
    tc_scalar v = {.kind = TC_KIND_COMPLEX, .re = 0, .im = 0};
    tc_jr_object(&r->j);
    for (tc_str key; tc_jr_member(&r->j, &key);) {
        if (tc_str_is(key, "real")) v.re = tc_jr_double(&r->j);
        else if (tc_str_is(key, "imag")) v.im = tc_jr_double(&r->j);
        else tc_jr_skip(&r->j);
    }
    return (tc_arg){.kind = TC_A_SCALAR, .scalar = v};
}

static const struct {
    const char *tag;
    arg_reader read;
} tags[] = {
    {"as_tensor", read_tensor},
    {"as_int", read_int},
    {"as_ints", read_ints},
    {"as_float", read_float},
    {"as_bool", read_bool},
    {"as_none", read_none},
    {"as_tensors", read_tensors},
    {"as_sym_int", named_number},
    {"as_sym_ints", read_sym_ints},
    {"as_sym_bool", named_number},
    {"as_sym_float", named_number},
    {"as_scalar_type", read_dtype},
    {"as_device", read_device},
    {"as_layout", read_layout},
    {"as_memory_format", read_memory_format},
    {"as_string", read_string},
    {"as_floats", read_floats},
    {"as_bools", read_bools},
    {"as_optional_tensors", read_optional_tensors},
    {"as_optional_tensor", read_optional_tensor},
    {"as_complex", read_complex},
    {"as_operator", read_string},
};

static void graph_argument(tc_pt2_reader *r, tc_pt2_arg *out) {
    tc_jr_object(&r->j);
    for (tc_str key; tc_jr_member(&r->j, &key);) {
        if (tc_str_is(key, "name")) {
            out->graph_name = tc_jr_strdup(&r->j, &r->scratch);
        } else if (tc_str_is(key, "graph")) {
            out->graph = tc_jr_tell(&r->j);
            out->is_graph = true;
            tc_jr_skip(&r->j);
        } else {
            tc_jr_skip(&r->j);
        }
    }
    if (!out->is_graph) tc_jr_fail(&r->j, TC_CONTENT, "a graph argument without a graph");
}

tc_pt2_arg tc_pt2_argument(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    tc_pt2_arg out = {.graph_name = "graph", .name = {"", 0}};
    int members = 0;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key); members++) {
        if (tc_str_is(key, "as_graph")) {
            graph_argument(r, &out);
            continue;
        }
        size_t i = 0, n = sizeof tags / sizeof *tags;
        while (i < n && !tc_str_is(key, tags[i].tag)) i++;
        if (i == n) tc_jr_fail(j, TC_UNSUPPORTED, "an argument of kind %.*s", (int)(key.n < 40 ? key.n : 40), key.s);
        else out.arg = tags[i].read(r, s);
    }
    if (members != 1) tc_jr_fail(j, TC_CONTENT, "an argument of %d kinds, expected one", members);
    return out;
}
