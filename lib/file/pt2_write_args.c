/* Types, symbolic numbers and arguments in the unions of the PT2 schema. */
#include "base/text.h"
#include "file/pt2_write.h"

#include <math.h>
#include <stdio.h>

void tc_pt2_writer_init(tc_pt2_writer *w, const tc_program *p, const tc_graph *g, tc_arena *arena, const tc_symvalue *hints, bool *used,
                        size_t nhints) {
    *w = (tc_pt2_writer){.program = p, .graph = g, .arena = arena, .hints = hints, .used = used, .nhints = nhints};
    w->value_names = TC_NEWN(arena, const char *, g->nvalues + 1);
}

void tc_pt2_writer_deinit(tc_pt2_writer *w) {
    tc_buf_free(&w->nodes);
    tc_buf_free(&w->tensors);
    tc_buf_free(&w->ints);
    tc_buf_free(&w->bools);
    tc_buf_free(&w->floats);
    tc_map_free(&w->numbers);
    tc_map_free(&w->sizes);
    tc_map_free(&w->taken);
}

void tc_pt2_fail(tc_pt2_writer *w, tc_status s) {
    if (w->status) tc_status_free(s);
    else w->status = s;
}

/* ---- names: must be Python identifiers, because PyTorch generates code with them ---- */
const char *tc_pt2_identifier(tc_map *taken, tc_arena *a, const char *wish, size_t n) {
    static const char reserved[] = " False None True and as assert async await break class continue def del elif else except finally for from global "
                                   "if import in is lambda nonlocal not or pass raise return try while with yield " /* Python's words */
                                   "self torch device inf nan pytree fx_pytree "; /* names that the generated code uses itself */
    tc_buf b = {0};
    if (n && *wish >= '0' && *wish <= '9') tc_buf_putc(&b, '_');
    for (const char *p = wish; p < wish + n; p++) {
        const bool fits = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_';
        tc_buf_putc(&b, fits ? *p : '_');
    }
    const size_t stem = b.len;
    void **next = tc_map_put(taken, tc_buf_str(&b), stem); /* the first number not tried yet for this stem */
    uintptr_t number = (uintptr_t)*next;
    if (!number && (!stem || tc_word_in(reserved, b.data))) number = 1;
    for (; number; number++) {
        b.len = stem;
        tc_buf_printf(&b, "_%ju", (uintmax_t)number);
        if (!tc_map_get(taken, b.data, b.len)) break;
    }
    const char *name = tc_arena_strndup(a, tc_buf_str(&b), b.len);
    *next = (void *)(number + 1);
    if (number) tc_map_set(taken, name, (void *)(uintptr_t)1);
    tc_buf_free(&b);
    return name;
}

const char *tc_pt2_fresh_name(tc_pt2_writer *w, const char *wish) { return tc_pt2_identifier(&w->taken, w->arena, wish, strlen(wish)); }

const char *tc_pt2_value_name(tc_pt2_writer *w, const tc_value *v) {
    const char **slot = &w->value_names[v->id];
    if (!*slot) *slot = tc_pt2_fresh_name(w, v->name ? v->name : "v");
    return *slot;
}

/* ---- symbolic numbers ---- */
static void write_hint(tc_json *j, const tc_pt2_writer *w, tc_sym s) {
    tc_symvalue v;
    tc_status st = tc_sym_eval(s, w->hints, w->nhints, &v);
    if (st || tc_sym_type(s) == TC_SYM_BOOL || (tc_sym_type(s) == TC_SYM_FLOAT && !isfinite(v.f))) {
        tc_json_null(j);
    } else {
        tc_json_object(j);
        if (tc_sym_type(s) == TC_SYM_INT) tc_json_key(j, "as_int"), tc_json_int(j, v.i);
        else tc_json_key(j, "as_float"), tc_json_double(j, v.f);
        tc_json_end(j);
    }
    tc_status_free(st);
}

static void mark_used(const tc_pt2_writer *w, tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR) w->used[tc_sym_var_index(s)] = true;
    for (int i = 0; tc_sym_opcode(s) != TC_S_VAR && tc_sym_opcode(s) != TC_S_CONST && i < tc_sym_arity(s); i++) mark_used(w, tc_sym_arg(s, i));
}

static void write_expression(tc_json *j, const tc_pt2_writer *w, tc_sym s) { /* SymInt, SymFloat, SymBool */
    int64_t i;
    double f;
    bool b;
    tc_json_object(j);
    if (tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i)) {
        tc_json_key(j, "as_int");
        tc_json_int(j, i);
    } else if (tc_sym_type(s) == TC_SYM_FLOAT && tc_sym_const_float(s, &f)) {
        tc_json_key(j, "as_float");
        tc_json_double(j, f);
    } else if (tc_sym_type(s) == TC_SYM_BOOL && tc_sym_const_bool(s, &b)) {
        tc_json_key(j, "as_bool");
        tc_json_bool(j, b);
    } else {
        tc_buf text = {0};
        mark_used(w, s);
        tc_sym_srepr(&text, s);
        tc_json_key(j, "as_expr");
        tc_json_object(j);
        tc_json_key(j, "expr_str");
        tc_json_string(j, text.data);
        tc_json_key(j, "hint");
        write_hint(j, w, s);
        tc_json_end(j);
        tc_buf_free(&text);
    }
    tc_json_end(j);
}

/* The program's device: "cuda:1". Tensors without a device (meta) have none in the archive either. */
static void write_device(tc_json *j, const tc_program *p, const char *named) {
    const char *device = named && !strcmp(named, "meta") ? named : p->device ? p->device : "cpu", *colon = strchr(device, ':');
    tc_json_object(j);
    tc_json_key(j, "type");
    tc_json_stringn(j, device, colon ? (size_t)(colon - device) : strlen(device));
    tc_json_key(j, "index");
    if (colon) tc_json_int(j, strtoll(colon + 1, NULL, 10));
    else tc_json_null(j);
    tc_json_end(j);
}

static void write_int_object(tc_json *j, int64_t v) {
    tc_json_object(j);
    tc_json_key(j, "as_int");
    tc_json_int(j, v);
    tc_json_end(j);
}

static void write_meta(tc_json *j, const tc_pt2_writer *w, const tc_meta *m) {
    const tc_program *p = w->program;
    const tc_sym *plain = tc_contiguous_sym_strides(p->sym, w->arena, m->rank, m->size);
    const tc_sym *stride = m->stride && !tc_pt2_are_plain(m, m->stride, plain) ? m->stride : plain;
    tc_json_object(j);
    tc_json_key(j, "dtype");
    tc_json_int(j, tc_dtypes[m->dtype].pt2);
    tc_json_key(j, "sizes");
    tc_json_array(j);
    for (int d = 0; d < m->rank; d++) write_expression(j, w, m->size[d]);
    tc_json_end(j);
    tc_json_key(j, "requires_grad");
    tc_json_bool(j, m->requires_grad);
    tc_json_key(j, "device");
    write_device(j, p, NULL);
    tc_json_key(j, "strides");
    tc_json_array(j);
    for (int d = 0; d < m->rank; d++) write_expression(j, w, stride[d]);
    tc_json_end(j);
    tc_json_key(j, "storage_offset");
    write_int_object(j, 0);
    tc_json_key(j, "layout");
    tc_json_int(j, 7);
    tc_json_end(j);
}

void tc_pt2_write_concrete_meta(tc_json *j, const tc_program *p, const tc_tensor *t, int64_t offset, bool requires_grad) {
    tc_json_object(j);
    tc_json_key(j, "dtype");
    tc_json_int(j, tc_dtypes[t->dtype].pt2);
    tc_json_key(j, "sizes");
    tc_json_array(j);
    for (int d = 0; d < t->rank; d++) write_int_object(j, t->size[d]);
    tc_json_end(j);
    tc_json_key(j, "requires_grad");
    tc_json_bool(j, requires_grad);
    tc_json_key(j, "device");
    write_device(j, p, NULL);
    tc_json_key(j, "strides");
    tc_json_array(j);
    for (int d = 0; d < t->rank; d++) write_int_object(j, t->stride[d]);
    tc_json_end(j);
    tc_json_key(j, "storage_offset");
    write_int_object(j, offset);
    tc_json_key(j, "layout");
    tc_json_int(j, 7);
    tc_json_end(j);
}

/* ---- tables of values ---- */
static void table_entry(tc_buf *table, const char *name, tc_json *j) {
    if (table->len) tc_buf_puts(table, ", ");
    tc_json key = {.b = table};
    tc_json_string(&key, name);
    tc_buf_puts(table, ": ");
    *j = (tc_json){.b = table};
}

static void declare_number(tc_pt2_writer *w, const char *name, tc_sym s) {
    tc_json j;
    tc_symtype t = tc_sym_type(s);
    table_entry(t == TC_SYM_INT ? &w->ints : t == TC_SYM_BOOL ? &w->bools : &w->floats, name, &j);
    write_expression(&j, w, s);
    void **slot = tc_map_put(&w->numbers, (const char *)&s, sizeof s);
    if (!*slot) *slot = (void *)(uintptr_t)name;
}

void tc_pt2_declare(tc_pt2_writer *w, const tc_value *v) {
    tc_json j;
    if (v->kind == TC_V_LIST) {
        for (int i = 0; i < v->nlist; i++) tc_pt2_declare(w, v->list[i]);
    } else if (v->kind == TC_V_SYM) {
        declare_number(w, tc_pt2_value_name(w, v), v->sym);
    } else if (v->kind == TC_V_TENSOR) {
        const char *name = tc_pt2_value_name(w, v);
        table_entry(&w->tensors, name, &j);
        write_meta(&j, w, &v->meta);
        for (int d = 0; d < v->meta.rank; d++) {
            void **slot = tc_map_put(&w->sizes, (const char *)&v->meta.size[d], sizeof(tc_sym));
            tc_size_place place = {name, d};
            if (!*slot) *slot = tc_arena_dup(w->arena, &place, sizeof place);
        }
    }
}

void tc_pt2_write_ref(tc_pt2_writer *w, tc_json *j, const tc_value *v) {
    static const char *const tags[] = {[TC_SYM_INT] = "as_sym_int", [TC_SYM_FLOAT] = "as_sym_float", [TC_SYM_BOOL] = "as_sym_bool"};
    tc_json_object(j);
    if (v->kind == TC_V_NONE) {
        tc_json_key(j, "as_none");
        tc_json_bool(j, true);
    } else if (v->kind == TC_V_LIST) {
        tc_json_key(j, "as_tensors");
        tc_json_array(j);
        for (int i = 0; i < v->nlist; i++) {
            tc_json_object(j);
            tc_json_key(j, "name");
            tc_json_string(j, tc_pt2_value_name(w, v->list[i]));
            tc_json_end(j);
        }
        tc_json_end(j);
    } else {
        bool number = v->kind == TC_V_SYM;
        tc_json_key(j, number ? tags[tc_sym_type(v->sym)] : "as_tensor");
        tc_json_object(j);
        tc_json_key(j, number ? "as_name" : "name");
        tc_json_string(j, tc_pt2_value_name(w, v));
        tc_json_end(j);
    }
    tc_json_end(j);
}

/* ---- nodes that compute numbers ---- */
static void number_argument(tc_pt2_writer *w, tc_json *j, tc_sym s) {
    tc_arg a = {.kind = TC_A_SCALAR, .is_sym = true, .sym = s};
    tc_pt2_write_arg(w, j, &a, false);
}

static const char *number_node(tc_pt2_writer *w, const char *target, const char *hint, tc_sym result, const tc_buf *inputs) {
    static const char *const tags[] = {[TC_SYM_INT] = "as_sym_int", [TC_SYM_FLOAT] = "as_sym_float", [TC_SYM_BOOL] = "as_sym_bool"};
    const char *name = tc_pt2_fresh_name(w, hint);
    tc_buf *b = &w->nodes;
    if (b->len) tc_buf_puts(b, ", ");
    tc_json j = {.b = b};
    tc_json_object(&j);
    tc_json_key(&j, "target");
    tc_json_string(&j, target);
    tc_json_key(&j, "inputs");
    tc_json_raw(&j, inputs->data, inputs->len);
    tc_json_key(&j, "outputs");
    tc_json_array(&j);
    tc_json_object(&j);
    tc_json_key(&j, tags[tc_sym_type(result)]);
    tc_json_object(&j);
    tc_json_key(&j, "as_name");
    tc_json_string(&j, name);
    for (int i = 0; i < 3; i++) tc_json_end(&j);
    tc_json_key(&j, "metadata");
    tc_json_object(&j);
    tc_json_key(&j, "nn_module_stack");
    tc_json_string(&j, "L__self__,,torch.nn.Module");
    tc_json_end(&j);
    tc_json_key(&j, "is_hop_single_tensor_return");
    tc_json_null(&j);
    tc_json_key(&j, "name");
    tc_json_string(&j, name);
    tc_json_end(&j);
    declare_number(w, name, result);
    return name;
}

static void open_input(tc_json *j, const char *name) {
    tc_json_object(j);
    tc_json_key(j, "name");
    tc_json_string(j, name);
    tc_json_key(j, "arg");
}
static void close_input(tc_json *j) {
    tc_json_key(j, "kind");
    tc_json_int(j, 1);
    tc_json_end(j);
}

static const char *size_node(tc_pt2_writer *w, const tc_size_place *place, tc_sym s) {
    tc_buf inputs = {0};
    tc_json j = {.b = &inputs};
    tc_json_array(&j);
    open_input(&j, "self");
    tc_json_object(&j);
    tc_json_key(&j, "as_tensor");
    tc_json_object(&j);
    tc_json_key(&j, "name");
    tc_json_string(&j, place->tensor);
    tc_json_end(&j);
    tc_json_end(&j);
    close_input(&j);
    open_input(&j, "dim");
    write_int_object(&j, place->dim);
    close_input(&j);
    tc_json_end(&j);
    const char *name = number_node(w, "torch.ops.aten.sym_size.int", "sym_size_int", s, &inputs);
    tc_buf_free(&inputs);
    return name;
}

static const char *function_node(tc_pt2_writer *w, const char *target, const char *hint, tc_sym result, const tc_sym *args, int n) {
    tc_buf inputs = {0};
    tc_json j = {.b = &inputs};
    static const char *const names[] = {"a", "b", "c"};
    tc_json_array(&j);
    for (int i = 0; i < n; i++) {
        open_input(&j, names[i]);
        number_argument(w, &j, args[i]);
        close_input(&j);
    }
    tc_json_end(&j);
    const char *name = w->status ? "" : number_node(w, target, hint, result, &inputs);
    tc_buf_free(&inputs);
    return name;
}

/* The sum or product of operands from..to of s. */
static tc_sym operands(tc_pt2_writer *w, tc_sym s, int from, int to) {
    tc_symctx *c = w->program->sym;
    tc_sym *part = TC_NEWN(w->arena, tc_sym, (size_t)(to - from)), r = tc_sym_arg(s, from);
    for (int i = from; i < to; i++) part[i - from] = tc_sym_arg(s, i);
    if (tc_sym_opcode(s) == TC_S_ADD) return tc_sym_sum(c, part, to - from);
    for (int i = 1; i < to - from; i++) r = tc_sym_mul(c, r, part[i]);
    return r;
}

/* Sums and products have any number of operands, nodes have two. Written as a balanced tree, because each node repeats the whole expression that it
 * adds. */
static const char *tree(tc_pt2_writer *w, const char *target, const char *hint, tc_sym s) {
    const int n = tc_sym_arity(s), half = n - n / 2;
    return function_node(w, target, hint, s, (tc_sym[]){operands(w, s, 0, half), operands(w, s, half, n)}, 2);
}

static const struct {
    tc_symop op;
    const char *target, *hint;
} functions[] = {
    {TC_S_ADD, "_operator.add", "add"},
    {TC_S_MUL, "_operator.mul", "mul"},
    {TC_S_FLOORDIV, "_operator.floordiv", "floordiv"},
    {TC_S_MOD, "_operator.mod", "mod"},
    {TC_S_POW, "_operator.pow", "pow"},
    {TC_S_MIN, "torch.sym_min", "sym_min"},
    {TC_S_MAX, "torch.sym_max", "sym_max"},
    {TC_S_TRUNC, "math.trunc", "trunc"},
    {TC_S_LSHIFT, "_operator.lshift", "lshift"},
    {TC_S_RSHIFT, "_operator.rshift", "rshift"},
    {TC_S_AND_BITS, "_operator.and_", "and_"},
    {TC_S_OR_BITS, "_operator.or_", "or_"},
    {TC_S_TOFLOAT, "torch.sym_float", "sym_float"},
    {TC_S_FADD, "_operator.add", "add"},
    {TC_S_FSUB, "_operator.sub", "sub"},
    {TC_S_FMUL, "_operator.mul", "mul"},
    {TC_S_FDIV, "_operator.truediv", "truediv"},
    {TC_S_FPOW, "_operator.pow", "pow"},
    {TC_S_FNEG, "_operator.neg", "neg"},
    {TC_S_FMOD, "_operator.mod", "mod"},
    {TC_S_FFLOORDIV, "_operator.floordiv", "floordiv"},
    {TC_S_FMIN, "torch.sym_min", "sym_min"},
    {TC_S_FMAX, "torch.sym_max", "sym_max"},
    {TC_S_SQRT, "torch.sym_sqrt", "sym_sqrt"},
    {TC_S_EQ, "_operator.eq", "eq"},
    {TC_S_NE, "_operator.ne", "ne"},
    {TC_S_LT, "_operator.lt", "lt"},
    {TC_S_LE, "_operator.le", "le"},
    {TC_S_AND, "_operator.and_", "and_"},
    {TC_S_OR, "_operator.or_", "or_"},
    {TC_S_NOT, "torch.sym_not", "sym_not"},
    {TC_S_WHERE, "torch.sym_ite", "sym_ite"},
};

/* Is size = a * part + b with integers a and b? */
static bool is_affine(tc_sym size, tc_sym part, int64_t *a, int64_t *b) {
    *a = 1, *b = 0;
    if (tc_sym_opcode(size) == TC_S_ADD && tc_sym_arity(size) == 2) {
        const int at = tc_sym_const_int(tc_sym_arg(size, 0), b) ? 0 : tc_sym_const_int(tc_sym_arg(size, 1), b) ? 1 : -1;
        if (at >= 0) size = tc_sym_arg(size, 1 - at);
    }
    if (size != part && tc_sym_opcode(size) == TC_S_MUL && tc_sym_arity(size) == 2) {
        const int at = tc_sym_const_int(tc_sym_arg(size, 0), a) ? 0 : tc_sym_const_int(tc_sym_arg(size, 1), a) ? 1 : -1;
        if (at >= 0) size = tc_sym_arg(size, 1 - at);
    }
    return size == part;
}

/* A number that is no dimension, computed from a dimension a * s + b as (size - b) // a. NULL: there is no such dimension. */
static const char *solve(tc_pt2_writer *w, tc_sym s) {
    tc_symctx *c = w->program->sym;
    for (size_t i = 0; i < w->sizes.len; i++) {
        tc_sym size;
        int64_t a, b;
        memcpy(&size, w->sizes.entries[i].key, sizeof size);
        if (!is_affine(size, s, &a, &b)) continue;
        tc_sym rest = tc_sym_int(c, b), scaled = tc_sym_sub(c, size, rest);
        const char *name = tc_pt2_number(w, size);
        if (b) name = function_node(w, "_operator.sub", "sub", scaled, (tc_sym[]){size, rest}, 2);
        if (a != 1) name = function_node(w, "_operator.floordiv", "floordiv", s, (tc_sym[]){scaled, tc_sym_int(c, a)}, 2);
        return name;
    }
    return NULL;
}

/* Can each symbol of s be computed from a dimension that depends on it alone? */
static bool follows(const tc_pt2_writer *w, tc_sym s) {
    if (tc_sym_opcode(s) != TC_S_VAR || tc_map_get(&w->numbers, (const char *)&s, sizeof s)) {
        for (int i = 0; i < tc_sym_arity(s); i++)
            if (!follows(w, tc_sym_arg(s, i))) return false;
        return true;
    }
    if (tc_map_get(&w->sizes, (const char *)&s, sizeof s)) return true;
    for (size_t i = 0; i < w->sizes.len; i++) {
        tc_sym size;
        int64_t a, b;
        memcpy(&size, w->sizes.entries[i].key, sizeof size);
        if (is_affine(size, s, &a, &b)) return true;
    }
    return false;
}

/* The first size in s; NULL: none. */
static tc_sym size_in(tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR) return s;
    for (int i = 0; i < tc_sym_arity(s); i++) {
        tc_sym found = size_in(tc_sym_arg(s, i));
        if (found) return found;
    }
    return NULL;
}

static void no_node_for(tc_pt2_writer *w, tc_sym s) {
    tc_buf text = {0};
    tc_sym size = size_in(s);
    if (w->at && w->at->source.file) tc_buf_printf(&text, "%s:%d: ", w->at->source.file, w->at->source.line);
    tc_buf_puts(&text, "a PT2 archive has no node for the number ");
    tc_sym_print(&text, s);
    if (w->at) tc_buf_printf(&text, ", which %s takes", tc_op_name(w->at->op));
    if (size) tc_buf_printf(&text, "; declare a number for the size %s", tc_sym_var_name(size));
    tc_pt2_fail(w, tc_error(TC_UNSUPPORTED, "%s", tc_buf_str(&text)));
    tc_buf_free(&text);
}

const char *tc_pt2_number(tc_pt2_writer *w, tc_sym s) {
    const char *known = tc_map_get(&w->numbers, (const char *)&s, sizeof s);
    const tc_size_place *place = known ? NULL : tc_map_get(&w->sizes, (const char *)&s, sizeof s);
    if (known || w->status) return known ? known : "";
    if (place) return size_node(w, place, s);
    tc_symop op = tc_sym_opcode(s);
    const char *solved = op == TC_S_VAR || !follows(w, s) ? solve(w, s) : NULL;
    if (solved) return solved;
    if (op == TC_S_VAR) {
        tc_pt2_fail(w, tc_error(TC_UNSUPPORTED, "%s: the size %s is used where no input of the graph has it", w->graph->name, tc_sym_var_name(s)));
        return "";
    }
    if (op == TC_S_FLOOR) { /* PyTorch's archives have no floor: int(x // 1.0) */
        tc_sym whole = tc_sym_op(w->program->sym, TC_S_FFLOORDIV, tc_sym_arg(s, 0), tc_sym_float(w->program->sym, 1), NULL);
        return function_node(w, "math.trunc", "trunc", s, &whole, 1);
    }
    if (op == TC_S_XOR_BITS) { /* nor exclusive or: (a | b) & ~(a & b) */
        tc_symctx *c = w->program->sym;
        tc_sym a = tc_sym_arg(s, 0), b = tc_sym_arg(s, 1), any = tc_sym_op(c, TC_S_OR_BITS, a, b, NULL),
               both = tc_sym_op(c, TC_S_AND_BITS, a, b, NULL);
        return function_node(w, "_operator.sub", "sub", s, (tc_sym[]){any, both}, 2);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].op != op) continue;
        if (op == TC_S_ADD || op == TC_S_MUL) return tree(w, functions[i].target, functions[i].hint, s);
        tc_sym args[3] = {0};
        for (int k = 0; k < tc_sym_arity(s) && k < 3; k++) args[k] = tc_sym_arg(s, k);
        return function_node(w, functions[i].target, functions[i].hint, s, args, tc_sym_arity(s));
    }
    no_node_for(w, s);
    return "";
}

/* ---- arguments ---- */
static void write_double(tc_json *j, double v) {
    if (isnan(v)) tc_json_string(j, "NaN");
    else if (isinf(v)) tc_json_string(j, v > 0 ? "Infinity" : "-Infinity");
    else tc_json_double(j, v);
}

static void write_number(tc_pt2_writer *w, tc_json *j, tc_sym s) {
    int64_t i;
    double f;
    bool b;
    tc_symtype t = tc_sym_type(s);
    if (t == TC_SYM_INT && tc_sym_const_int(s, &i)) {
        tc_json_key(j, "as_int");
        tc_json_int(j, i);
    } else if (t == TC_SYM_FLOAT && tc_sym_const_float(s, &f)) {
        tc_json_key(j, "as_float");
        write_double(j, f);
    } else if (t == TC_SYM_BOOL && tc_sym_const_bool(s, &b)) {
        tc_json_key(j, "as_bool");
        tc_json_bool(j, b);
    } else {
        tc_json_key(j, t == TC_SYM_INT ? "as_sym_int" : t == TC_SYM_FLOAT ? "as_sym_float" : "as_sym_bool");
        tc_json_object(j);
        tc_json_key(j, "as_name");
        tc_json_string(j, tc_pt2_number(w, s));
        tc_json_end(j);
    }
}

static void write_scalar(tc_json *j, tc_scalar s) {
    static const char *const tags[] = {
        [TC_KIND_BOOL] = "as_bool", [TC_KIND_INT] = "as_int", [TC_KIND_FLOAT] = "as_float", [TC_KIND_COMPLEX] = "as_complex"};
    tc_json_key(j, tags[s.kind]);
    switch (s.kind) {
    case TC_KIND_BOOL: tc_json_bool(j, s.i != 0); break;
    case TC_KIND_INT: tc_json_int(j, s.i); break;
    case TC_KIND_FLOAT: write_double(j, s.f); break;
    case TC_KIND_COMPLEX:
        tc_json_object(j);
        tc_json_key(j, "real");
        write_double(j, s.re);
        tc_json_key(j, "imag");
        write_double(j, s.im);
        tc_json_end(j);
    }
}

static void write_ints(tc_pt2_writer *w, tc_json *j, const tc_arg *a) {
    int64_t v;
    bool constant = true;
    for (int i = 0; i < a->n; i++) constant = constant && tc_sym_const_int(a->syms[i], &v);
    tc_json_key(j, constant ? "as_ints" : "as_sym_ints");
    tc_json_array(j);
    for (int i = 0; i < a->n; i++) {
        if (constant && tc_sym_const_int(a->syms[i], &v)) {
            tc_json_int(j, v);
        } else if (tc_sym_const_int(a->syms[i], &v)) {
            write_int_object(j, v);
        } else {
            tc_json_object(j);
            tc_json_key(j, "as_name");
            tc_json_string(j, tc_pt2_number(w, a->syms[i]));
            tc_json_end(j);
        }
    }
    tc_json_end(j);
}

static void write_values(tc_pt2_writer *w, tc_json *j, const tc_arg *a, bool optional) {
    for (int i = 0; i < a->n; i++) optional = optional || !a->values[i];
    tc_json_key(j, optional ? "as_optional_tensors" : "as_tensors");
    tc_json_array(j);
    for (int i = 0; i < a->n; i++) {
        if (a->values[i] && a->values[i]->kind != TC_V_TENSOR)
            tc_pt2_fail(w, tc_error(TC_UNSUPPORTED, "a list of tensors that holds %s, a number", a->values[i]->name));
        if (!optional) {
            tc_json_object(j);
            tc_json_key(j, "name");
            tc_json_string(j, tc_pt2_value_name(w, a->values[i]));
            tc_json_end(j);
        } else if (a->values[i]) {
            tc_pt2_write_ref(w, j, a->values[i]);
        } else {
            tc_json_object(j);
            tc_json_key(j, "as_none");
            tc_json_bool(j, true);
            tc_json_end(j);
        }
    }
    tc_json_end(j);
}

static void write_subgraph(tc_pt2_writer *w, tc_json *j, const tc_graph *g) {
    tc_buf text = {0};
    tc_json inner = {.b = &text};
    tc_pt2_writer sub;
    tc_pt2_writer_init(&sub, w->program, g, w->arena, w->hints, w->used, w->nhints);
    tc_pt2_write_graph(&sub, &inner);
    if (sub.status) tc_pt2_fail(w, sub.status);
    tc_pt2_writer_deinit(&sub);
    tc_json_key(j, "as_graph");
    tc_json_object(j);
    tc_json_key(j, "name");
    tc_json_string(j, tc_pt2_fresh_name(w, g->name));
    tc_json_key(j, "graph");
    tc_json_raw(j, tc_buf_str(&text), text.len);
    tc_json_end(j);
    tc_buf_free(&text);
}

static void write_code(tc_json *j, const char *tag, int64_t code) {
    tc_json_key(j, tag);
    tc_json_int(j, code);
}

static void write_floats(tc_json *j, const tc_arg *a) {
    tc_json_key(j, "as_floats");
    tc_json_array(j);
    for (int i = 0; i < a->n; i++) write_double(j, a->floats[i]);
    tc_json_end(j);
}

static void write_bools(tc_json *j, const tc_arg *a) {
    tc_json_key(j, "as_bools");
    tc_json_array(j);
    for (int i = 0; i < a->n; i++) tc_json_bool(j, a->bools[i]);
    tc_json_end(j);
}

void tc_pt2_write_arg(tc_pt2_writer *w, tc_json *j, const tc_arg *a, bool optional_tensors) {
    if (a->kind == TC_A_VALUE && a->value->kind == TC_V_SYM) {
        tc_json_object(j);
        write_number(w, j, a->value->sym);
        tc_json_end(j);
        return;
    }
    if (a->kind == TC_A_VALUE) {
        tc_pt2_write_ref(w, j, a->value);
        return;
    }
    tc_json_object(j);
    switch (a->kind) {
    case TC_A_NONE:
        tc_json_key(j, "as_none");
        tc_json_bool(j, true);
        break;
    case TC_A_VALUES: write_values(w, j, a, optional_tensors); break;
    case TC_A_INT: write_number(w, j, a->sym); break;
    case TC_A_INTS: write_ints(w, j, a); break;
    case TC_A_SCALAR:
        if (a->is_sym) write_number(w, j, a->sym);
        else write_scalar(j, a->scalar);
        break;
    case TC_A_FLOATS: write_floats(j, a); break;
    case TC_A_BOOLS: write_bools(j, a); break;
    case TC_A_STRING:
        tc_json_key(j, "as_string");
        tc_json_string(j, a->string);
        break;
    case TC_A_DTYPE: write_code(j, "as_scalar_type", tc_dtypes[a->dtype].pt2); break;
    case TC_A_LAYOUT: write_code(j, "as_layout", a->code); break;
    case TC_A_MEMFORMAT: write_code(j, "as_memory_format", a->code); break;
    case TC_A_DEVICE:
        tc_json_key(j, "as_device");
        write_device(j, w->program, a->string);
        break;
    case TC_A_GRAPH: write_subgraph(w, j, a->graph); break;
    default: TC_BUG("argument of kind %d", a->kind);
    }
    tc_json_end(j);
}
