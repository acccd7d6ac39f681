/* Nodes of PT2 graphs: each becomes a call of its operator, so that tc's own rules type the results; what the file says about them
 * is compared. Bodies of control flow and of regions become subgraphs. */
#include "file/pt2_read.h"
#include "op/emit.h"
#include "op/functionalise.h"

#include <stdio.h>

/* ---- scopes ---- */
/* Where the type of a value stands, and what it says once it was read. Values whose types have the same text share an entry; neighbours tend to. */
typedef struct {
    tc_jr_mark mark; /* the maps of a scope point here */
    bool read, with_strides;
    int code, rank;
    struct {
        bool constant;
        int64_t size;
        tc_str symbol;
    } dim[TC_MAX_RANK];
    tc_jr_mark strides;
    size_t pairs; /* of symbols from data that were known when `stride` was read */
    int nstrides;
    tc_sym stride[TC_MAX_RANK];
    bool placed; /* sizes and strides of the value that took them last: many have the same */
    tc_sym placed_size[TC_MAX_RANK];
    const tc_sym *placed_stride;
} type_text;
enum { ALIKE = 8 };

static void remember_types(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    struct {
        tc_str text;
        type_text *type;
    } last[ALIKE] = {0};
    int next = 0;
    tc_map types = {0}; /* by text */
    tc_jr_object(j);
    for (tc_str name; tc_jr_member(j, &name);) {
        void **slot = tc_map_put(&s->tensors, name.s, name.n);
        *tc_map_put(&s->graph->names, name.s, name.n) = (void *)(uintptr_t)1; /* later names avoid it */
        int k = 0;
        while (k < ALIKE && !tc_jr_skip_same(j, last[k].text)) k++;
        if (k == ALIKE) {
            k = next++ % ALIKE;
            tc_jr_mark mark = tc_jr_tell(j);
            last[k].text = tc_jr_skip(j);
            void **type = tc_map_put(&types, last[k].text.s, last[k].text.n);
            if (!*type) {
                type_text *t = *type = TC_NEW(&r->scratch, type_text);
                t->mark = mark;
            }
            last[k].type = *type;
        }
        *slot = last[k].type;
    }
    tc_map_free(&types);
}

static void remember(tc_pt2_reader *r, tc_pt2_scope *s, tc_map *map) {
    tc_jr_object(&r->j);
    for (tc_str name; tc_jr_member(&r->j, &name);) {
        void **slot = tc_map_put(map, name.s, name.n);
        tc_jr_mark mark = tc_jr_tell(&r->j);
        *slot = tc_arena_dup(&r->scratch, &mark, sizeof mark);
        *tc_map_put(&s->graph->names, name.s, name.n) = (void *)(uintptr_t)1; /* later names avoid it */
        tc_jr_skip(&r->j);
    }
}

void tc_pt2_open_graph(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "tensor_values")) {
            remember_types(r, s);
        } else if (tc_str_is(key, "sym_int_values") || tc_str_is(key, "sym_float_values") || tc_str_is(key, "sym_bool_values")) {
            remember(r, s, &s->syms);
        } else if (tc_str_is(key, "is_single_tensor_return")) {
            s->single = tc_jr_bool(j);
        } else {
            tc_jr_mark mark = tc_jr_tell(j);
            if (tc_str_is(key, "inputs")) s->inputs = mark;
            if (tc_str_is(key, "outputs")) s->outputs = mark;
            if (tc_str_is(key, "nodes")) s->nodes = mark;
            if (tc_str_is(key, "nodes")) tc_jr_skip_unread(j);
            else tc_jr_skip(j);
        }
    }
    if (!s->inputs.p || !s->outputs.p || !s->nodes.p) tc_jr_fail(j, TC_CONTENT, "a graph without inputs, outputs or nodes");
}

void tc_pt2_close_scope(tc_pt2_scope *s) {
    tc_map_free(&s->names);
    tc_map_free(&s->tensors);
    tc_map_free(&s->syms);
    tc_map_free(&s->doubtful);
}

/* ---- one node as it stands in the file ---- */
typedef struct {
    enum { R_TENSOR, R_TENSORS, R_NUMBER, R_NONE } kind;
    const char **names;
    int n;
} result;
typedef struct {
    const char *target, *name, *metadata;
    TC_VEC(tc_pt2_arg) args;
    TC_VEC(result) results;
    tc_source source;
} raw_node;

static void read_inputs(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    tc_jread *j = &r->j;
    if (s->vmap && n->target && !strcmp(n->target, "torch._functorch.predispatch._add_batch_dim")) s = s->outer; /* takes what stands around vmap */
    for (tc_jr_array(j); tc_jr_item(j);) {
        const char *name = "";
        tc_pt2_arg a = {.name = ""};
        bool keyword = false, given = false;
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            if (tc_str_is(key, "name")) name = tc_jr_strdup(j, &r->scratch);
            else if (tc_str_is(key, "arg")) a = tc_pt2_argument(r, s), given = true;
            else if (tc_str_is(key, "kind") && !tc_jr_null(j)) keyword = tc_jr_int(j) == 2;
            else if (!tc_str_is(key, "kind")) tc_jr_skip(j);
        }
        if (!given) tc_jr_fail(j, TC_CONTENT, "argument %s has no value", name);
        a.name = name;
        a.keyword = keyword;
        tc_vec_push(&n->args, a);
    }
}

static void add_name(tc_pt2_reader *r, result *out, tc_str name) {
    if (!(out->n & (out->n - 1))) {
        const char **bigger = TC_NEWN(&r->scratch, const char *, out->n ? 2 * (size_t)out->n : 1);
        if (out->n) memcpy(bigger, out->names, (size_t)out->n * sizeof *bigger);
        out->names = bigger;
    }
    out->names[out->n++] = name.s;
}

static void read_results(tc_pt2_reader *r, raw_node *n) {
    tc_jread *j = &r->j;
    for (tc_jr_array(j); tc_jr_item(j);) {
        result out = {.kind = R_NONE};
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            if (tc_str_is(key, "as_tensor")) {
                out.kind = R_TENSOR;
                add_name(r, &out, tc_pt2_name(r));
            } else if (tc_str_is(key, "as_tensors")) {
                out.kind = R_TENSORS;
                for (tc_jr_array(j); tc_jr_item(j);) add_name(r, &out, tc_pt2_name(r));
            } else if (tc_str_is(key, "as_sym_int") || tc_str_is(key, "as_sym_float") || tc_str_is(key, "as_sym_bool")) {
                out.kind = R_NUMBER;
                add_name(r, &out, tc_pt2_name(r));
            } else if (tc_str_is(key, "as_none")) {
                tc_jr_skip(j);
            } else {
                tc_jr_fail(j, TC_UNSUPPORTED, "a result of kind %.*s", (int)(key.n < 40 ? key.n : 40), key.s);
            }
        }
        tc_vec_push(&n->results, out);
    }
}

/* The innermost frame of a stack trace: File "model.py", line 3, in forward */
static void read_stack(tc_arena *a, tc_str text, tc_source *out) {
    static const char mark[] = "File \"";
    const char *end = text.s + text.n, *last = NULL;
    for (const char *p = text.s; (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1)); p += sizeof mark - 1) last = p + sizeof mark - 1;
    const char *quote = last ? memchr(last, '"', (size_t)(end - last)) : NULL;
    if (!quote || end - quote < 9 || memcmp(quote, "\", line ", 8) != 0) return;
    int64_t line = 0;
    for (const char *p = quote + 8; p < end && *p >= '0' && *p <= '9' && line < 100000000; p++) line = line * 10 + (*p - '0');
    out->file = tc_arena_strndup(a, last, (size_t)(quote - last));
    out->line = (int)line;
}

/* The FQN of the innermost module: key,fqn,class;key,fqn,class */
static void read_modules(tc_arena *a, tc_str text, tc_source *out) {
    const char *end = text.s + text.n, *last = memrchr(text.s, ';', text.n);
    last = last ? last + 1 : text.s;
    const char *fqn = memchr(last, ',', (size_t)(end - last)), *stop = fqn ? memchr(fqn + 1, ',', (size_t)(end - fqn - 1)) : NULL;
    if (stop && stop > fqn + 1) out->module = tc_arena_strndup(a, fqn + 1, (size_t)(stop - fqn - 1));
}

/* What tc adds to a node's metadata: {"recompute": 3} */
static void read_custom(tc_str text, tc_source *out) {
    static const char mark[] = "\"recompute\": ";
    const char *end = text.s + text.n, *p = memmem(text.s, text.n, mark, sizeof mark - 1);
    for (p = p ? p + sizeof mark - 1 : end; p < end && *p >= '0' && *p <= '9' && out->checkpoint < 1000000; p++)
        out->checkpoint = out->checkpoint * 10 + (*p - '0');
}

static void read_metadata(tc_pt2_reader *r, raw_node *n) {
    tc_arena *a = &r->program->arena;
    const char *begin = r->j.p;
    int count = 0;
    tc_jr_object(&r->j);
    for (tc_str key; tc_jr_member(&r->j, &key); count++) {
        if (tc_str_is(key, "stack_trace")) read_stack(a, tc_jr_string(&r->j), &n->source);
        else if (tc_str_is(key, "nn_module_stack")) read_modules(a, tc_jr_string(&r->j), &n->source);
        else if (tc_str_is(key, "custom") && tc_jr_peek(&r->j) == TC_JR_STRING) read_custom(tc_jr_string(&r->j), &n->source);
        else tc_jr_skip(&r->j);
    }
    if (tc_jr_ok(&r->j) && count) n->metadata = tc_arena_strndup(a, begin, (size_t)(r->j.p - begin));
}

static void read_node(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    tc_jread *j = &r->j;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "target")) n->target = tc_jr_strdup(j, &r->scratch);
        else if (tc_str_is(key, "inputs")) read_inputs(r, s, n);
        else if (tc_str_is(key, "outputs")) read_results(r, n);
        else if (tc_str_is(key, "metadata") && tc_jr_peek(j) == TC_JR_OBJECT) read_metadata(r, n);
        else if (tc_str_is(key, "name") && tc_jr_peek(j) == TC_JR_STRING) n->name = tc_jr_strdup(j, &r->program->arena);
        else tc_jr_skip(j);
    }
    if (!n->target) tc_jr_fail(j, TC_CONTENT, "a node without a target");
}

/* ---- results ---- */
static void bind_results(tc_pt2_reader *r, tc_pt2_scope *s, const raw_node *n, const tc_arg *values, int nvalues) {
    if ((size_t)nvalues != n->results.len) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s gives %d results, the file names %zu", n->target, nvalues, n->results.len);
        return;
    }
    for (int i = 0; i < nvalues; i++) {
        const result *to = &n->results.data[i];
        if (to->kind == R_NONE) continue;
        if (to->kind != R_TENSORS) {
            tc_pt2_bind(r, s, to->names[0], values[i]);
            continue;
        }
        tc_value *v = values[i].kind == TC_A_VALUE ? values[i].value : NULL;
        if (!v || v->kind != TC_V_LIST || v->nlist != to->n) {
            tc_jr_fail(&r->j, TC_CONTENT, "%s gives %d tensors in a list, the file names %d", n->target, v && v->kind == TC_V_LIST ? v->nlist : 0,
                       to->n);
            return;
        }
        for (int k = 0; k < to->n; k++) tc_pt2_bind(r, s, to->names[k], (tc_arg){.kind = TC_A_VALUE, .value = v->list[k]});
    }
}

/* A symbol that tc made for a number from data takes the range that the file has for its own. */
static void pair_symbols(tc_pt2_reader *r, tc_sym own, tc_str theirs) {
    tc_symctx *c = r->program->sym;
    if (tc_sym_opcode(own) != TC_S_VAR || !theirs.n || (theirs.s[0] != 'u' && theirs.s[0] != 'z')) return;
    const tc_pt2_range *range = tc_map_get(&r->ranges, theirs.s, theirs.n);
    if (range && tc_sym_type(own) == TC_SYM_INT) tc_sym_set_range(c, own, range->lo, range->hi);
    if (tc_str_is(theirs, tc_sym_var_name(own))) return;
    char *name = tc_arena_strndup(&r->scratch, theirs.s, theirs.n);
    tc_sym other = tc_sym_var(c, name, tc_sym_type(own), TC_SYM_NO_LO, TC_SYM_NO_HI);
    for (size_t i = 0; i < r->from.len; i++)
        if (r->from.data[i] == other) return;
    tc_vec_push(&r->from, other);
    tc_vec_push(&r->to, own);
}

/* A size or number at the reader: a constant, or the name of the symbol that it is, else empty. */
static bool glance(tc_pt2_reader *r, int64_t *out_int, tc_str *out_symbol) {
    static const char head[] = "Symbol('";
    tc_jread *j = &r->j;
    bool constant = false;
    *out_symbol = (tc_str){"", 0};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "as_int")) {
            *out_int = tc_jr_int(j);
            constant = true;
        } else if (tc_str_is(key, "as_expr")) {
            tc_jr_object(j);
            for (tc_str k; tc_jr_member(j, &k);) {
                if (!tc_str_is(k, "expr_str")) {
                    tc_jr_skip(j);
                    continue;
                }
                tc_str e = tc_jr_string(j);
                const char *close =
                    e.n > sizeof head && !memcmp(e.s, head, sizeof head - 1) ? memchr(e.s + sizeof head - 1, '\'', e.n - sizeof head + 1) : NULL;
                if (close) *out_symbol = (tc_str){e.s + sizeof head - 1, (size_t)(close - e.s) - sizeof head + 1};
            }
        } else {
            tc_jr_skip(j);
        }
    }
    return constant;
}

/* The sizes that the file has for a value, for a message. */
static void print_sizes(tc_pt2_reader *r, const tc_jr_mark *mark, tc_buf *b) {
    tc_jread *j = &r->j;
    tc_jr_seek(j, *mark);
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (!tc_str_is(key, "sizes")) {
            tc_jr_skip(j);
            continue;
        }
        int n = 0;
        for (tc_jr_array(j); tc_jr_item(j); n++) {
            int64_t size = 0;
            tc_str symbol;
            if (glance(r, &size, &symbol)) tc_buf_printf(b, "%s%lld", n ? ", " : "", (long long)size);
            else tc_buf_printf(b, "%s%.*s", n ? ", " : "", symbol.n ? (int)symbol.n : 1, symbol.n ? symbol.s : "?");
        }
    }
}

static void read_type(tc_pt2_reader *r, type_text *t) {
    tc_jread *j = &r->j;
    tc_jr_seek(j, t->mark);
    t->rank = -1;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "dtype")) {
            t->code = (int)tc_jr_int(j);
        } else if (tc_str_is(key, "sizes")) {
            t->rank = 0;
            for (tc_jr_array(j); tc_jr_item(j); t->rank++) {
                int64_t size = 0;
                tc_str symbol;
                bool constant = glance(r, &size, &symbol);
                if (t->rank >= TC_MAX_RANK) continue;
                if (symbol.n) symbol.s = tc_arena_strndup(&r->scratch, symbol.s, symbol.n);
                t->dim[t->rank].constant = constant, t->dim[t->rank].size = size, t->dim[t->rank].symbol = symbol;
            }
        } else {
            if (tc_str_is(key, "strides")) t->strides = tc_jr_tell(j), t->with_strides = true;
            tc_jr_skip(j);
        }
    }
    t->read = tc_jr_ok(j);
}

/* Strides are taken over: PyTorch's kernels choose the layout of some results, and later views are legal or not by it. */
static void take_strides(tc_pt2_reader *r, type_text *t, tc_value *v, const char *name) {
    tc_jread *j = &r->j;
    if (!t->nstrides || t->pairs != r->from.len) {
        tc_jr_seek(j, t->strides);
        t->nstrides = tc_pt2_sizes(r, t->stride);
        t->pairs = r->from.len;
        t->placed = false;
    }
    if (tc_jr_ok(j) && t->nstrides != t->rank) tc_jr_fail(j, TC_CONTENT, "%s has %d sizes and %d strides", name, t->rank, t->nstrides);
    if (!tc_jr_ok(j)) return;
    const size_t bytes = sizeof(tc_sym) * (size_t)t->rank;
    if (t->placed && !memcmp(v->meta.size, t->placed_size, bytes)) {
        v->meta.stride = t->placed_stride;
        return;
    }
    tc_pt2_set_strides(r->program, &v->meta, t->stride);
    t->placed = t->rank > 0; /* there is no size to copy else, nor an array of them */
    if (!t->placed) return;
    memcpy(t->placed_size, v->meta.size, bytes);
    t->placed_stride = v->meta.stride;
}

/* dtype, rank and constant sizes must be those of tc's rule. */
static void check_type(tc_pt2_reader *r, tc_pt2_scope *s, const raw_node *n, tc_value *v, const char *name, type_text *t) {
    tc_jread *j = &r->j;
    tc_jr_mark here = tc_jr_tell(j);
    if (!t->read) read_type(r, t);
    bool same = tc_jr_ok(j);
    for (int d = 0; same && d < t->rank && d < v->meta.rank; d++) {
        int64_t own;
        if (t->dim[d].constant && tc_sym_const_int(v->meta.size[d], &own)) same = own == t->dim[d].size;
    }
    for (int d = 0; tc_jr_ok(j) && d < t->rank && d < v->meta.rank; d++) pair_symbols(r, v->meta.size[d], t->dim[d].symbol);
    if (tc_jr_ok(j)) {
        tc_dtype d = tc_dtype_from_pt2(t->code);
        bool cast = r->any_autocast && d != TC_DTYPE_NONE && tc_is_float(d) && tc_is_float(v->meta.dtype);
        if (!same || t->rank != v->meta.rank || (d != v->meta.dtype && !cast)) {
            tc_buf own = {0}, theirs = {0};
            tc_value_print_type(&own, v);
            print_sizes(r, &t->mark, &theirs);
            char *message = tc_arena_printf(&r->scratch, "%s: %s gives %s, the file says %s[%s]", name, n->target, own.data,
                                            d == TC_DTYPE_NONE ? "?" : tc_dtypes[d].name, tc_buf_str(&theirs));
            if (v->out_index) tc_map_set(&s->doubtful, name, message);
            else tc_jr_fail(j, TC_CONTENT, "%s", message);
            tc_buf_free(&own);
            tc_buf_free(&theirs);
        } else if (t->with_strides) {
            take_strides(r, t, v, name);
        }
    }
    if (tc_jr_ok(j)) tc_jr_seek(j, here);
}

static void adopt_value(tc_pt2_reader *r, tc_pt2_scope *s, const raw_node *n, tc_value *v, const char *name) {
    void *mark = tc_map_find(v->kind == TC_V_SYM ? &s->syms : &s->tensors, name);
    v->name = tc_arena_strdup(&r->program->arena, name);
    if (!mark || !tc_jr_ok(&r->j)) return;
    if (v->kind == TC_V_TENSOR) {
        check_type(r, s, n, v, name, mark);
    } else if (v->kind == TC_V_SYM) {
        tc_jr_mark here = tc_jr_tell(&r->j);
        int64_t constant;
        tc_str symbol;
        tc_jr_seek(&r->j, *(const tc_jr_mark *)mark);
        if (!glance(r, &constant, &symbol)) pair_symbols(r, v->sym, symbol);
        if (tc_jr_ok(&r->j)) tc_jr_seek(&r->j, here);
    }
}

/* ---- calls ---- */
static void fail_in(tc_pt2_reader *r, const raw_node *n, tc_status st) {
    if (!st) return;
    tc_jr_fail(&r->j, tc_status_code(st), "node %s: %s", n->name ? n->name : n->target, tc_status_message(st));
    tc_status_free(st);
}

/* Arguments by name into schema order; gaps take their defaults. */
static tc_arg *in_order(tc_pt2_reader *r, const raw_node *n, const tc_op *op) {
    const tc_schema *schema = tc_op_schema(op);
    tc_arg *full = TC_NEWN(&r->scratch, tc_arg, (size_t)schema->nparams + 1);
    bool *given = TC_NEWN(&r->scratch, bool, (size_t)schema->nparams + 1);
    for (size_t i = 0; i < n->args.len && tc_jr_ok(&r->j); i++) {
        const tc_pt2_arg *a = &n->args.data[i];
        int k = 0;
        while (k < schema->nparams && strcmp(schema->params[k].name, a->name) != 0) k++;
        if (k == schema->nparams || given[k])
            tc_jr_fail(&r->j, TC_CONTENT, "%s: %s argument %s", n->target, k == schema->nparams ? "there is no" : "two values for", a->name);
        else full[k] = a->arg, given[k] = true;
    }
    for (int k = 0; k < schema->nparams && tc_jr_ok(&r->j); k++)
        if (!given[k]) fail_in(r, n, tc_op_default(r->program, op, k, &full[k]));
    return full;
}

static tc_graph *build_subgraph(tc_pt2_reader *r, tc_pt2_scope *outer, const tc_pt2_arg *a, tc_dtype autocast);

/* wrap_with_autocast(device, dtype, enabled, cache, graph, ...): the type that its region computes in. */
static tc_dtype autocast_of(tc_pt2_reader *r, const tc_pt2_scope *s, const raw_node *n) {
    if (strcmp(n->target, "torch.ops.higher_order.wrap_with_autocast") != 0 || n->args.len < 3) return s->autocast;
    const tc_arg *type = &n->args.data[1].arg, *enabled = &n->args.data[2].arg;
    r->any_autocast = true;
    if (enabled->kind == TC_A_SCALAR && !enabled->scalar.i) return TC_DTYPE_NONE;
    return type->kind == TC_A_DTYPE ? type->dtype : TC_BF16;
}

static void call(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n, const tc_op *op) {
    tc_arg *args;
    int nargs = tc_op_schema(op)->nparams;
    if (tc_op_schema(op)->variadic) {
        nargs = (int)n->args.len;
        args = TC_NEWN(&r->scratch, tc_arg, (size_t)nargs + 1);
        for (int i = 0; i < nargs && tc_jr_ok(&r->j); i++) {
            args[i] = n->args.data[i].arg;
            if (n->args.data[i].is_graph)
                args[i] = (tc_arg){.kind = TC_A_GRAPH, .graph = build_subgraph(r, s, &n->args.data[i], autocast_of(r, s, n))};
        }
    } else {
        args = in_order(r, n, op);
    }
    if (!tc_jr_ok(&r->j)) return;
    tc_value **outs = NULL;
    int nouts = 0;
    if (s->autocast != TC_DTYPE_NONE && !tc_op_schema(op)->variadic) {
        tc_emit e = {.graph = s->graph, .source = n->source};
        fail_in(r, n, tc_autocast_call(&e, op, args, nargs, s->autocast, &outs, &nouts));
    } else {
        tc_node *node = NULL;
        fail_in(r, n, tc_graph_call(s->graph, op, args, nargs, n->source, NULL, &node));
        if (node) outs = node->outs, nouts = node->nouts;
    }
    if (!tc_jr_ok(&r->j)) return;
    tc_node *last = nouts && outs[0]->producer ? outs[0]->producer : s->graph->last;
    if (n->name && last) last->name = n->name;
    if (last) last->annotations = n->metadata;
    tc_arg *values = TC_NEWN(&r->scratch, tc_arg, (size_t)nouts + 1);
    for (int i = 0; i < nouts; i++) {
        tc_value *v = outs[i];
        values[i] = v->kind == TC_V_NONE ? (tc_arg){.kind = TC_A_NONE} : (tc_arg){.kind = TC_A_VALUE, .value = v};
        const result *to = (size_t)i < n->results.len ? &n->results.data[i] : NULL;
        if (!to || !to->n) continue;
        if (v->kind != TC_V_LIST) adopt_value(r, s, n, v, to->names[0]);
        for (int k = 0; v->kind == TC_V_LIST && k < v->nlist && k < to->n; k++) adopt_value(r, s, n, v->list[k], to->names[k]);
    }
    bind_results(r, s, n, values, nouts);
}

/* ---- bodies of control flow and regions ---- */
static tc_arg *read_outputs(tc_pt2_reader *r, tc_pt2_scope *s, int *out_n) {
    TC_VEC(tc_arg) list = {0};
    tc_jr_seek(&r->j, s->outputs);
    for (tc_jr_array(&r->j); tc_jr_item(&r->j);) {
        tc_pt2_arg a = tc_pt2_argument(r, s);
        tc_vec_push(&list, a.arg);
    }
    tc_arg *copy = list.len ? tc_arena_dup(&r->scratch, list.data, list.len * sizeof *list.data) : NULL;
    *out_n = (int)list.len;
    tc_vec_free(&list);
    return copy;
}

static tc_graph *build_subgraph(tc_pt2_reader *r, tc_pt2_scope *outer, const tc_pt2_arg *a, tc_dtype autocast) {
    tc_jread *j = &r->j;
    tc_jr_mark here = tc_jr_tell(j);
    tc_graph *g = tc_graph_create(r->program, outer->graph, a->graph_name);
    tc_pt2_scope s = {.graph = g, .autocast = autocast};
    tc_jr_seek(j, a->graph);
    tc_pt2_open_graph(r, &s);
    if (tc_jr_ok(j)) tc_jr_seek(j, s.inputs);
    for (tc_jr_array(j); tc_jr_item(j);) {
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            bool tensor = tc_str_is(key, "as_tensor");
            if (!tensor && !tc_str_is(key, "as_sym_int"))
                tc_jr_fail(j, TC_UNSUPPORTED, "an input of kind %.*s of a subgraph", (int)(key.n < 40 ? key.n : 40), key.s);
            tc_str name = tc_pt2_name(r);
            tc_pt2_input_value(r, &s, name.s, tensor);
        }
    }
    if (tc_jr_ok(j)) tc_pt2_nodes(r, &s);
    int n = 0;
    tc_arg *outputs = tc_jr_ok(j) ? read_outputs(r, &s, &n) : NULL;
    for (int i = 0; i < n; i++) {
        tc_value *v = tc_pt2_as_value(&s, outputs[i], "out");
        if (v) tc_graph_add_output(g, v);
        else tc_jr_fail(j, TC_UNSUPPORTED, "subgraph %s returns something that is neither a tensor nor a number", a->graph_name);
    }
    g->single_tensor_return = s.single;
    tc_pt2_close_scope(&s);
    if (tc_jr_ok(j)) tc_jr_seek(j, here);
    return g;
}

/* ---- dispatch ---- */
static void unknown(tc_pt2_reader *r, const raw_node *n) {
    bool aten = !strncmp(n->target, "torch.ops.aten.", 15);
    if (!aten || tc_op_is_known_to_pytorch(n->target))
        tc_jr_fail(&r->j, TC_UNSUPPORTED, "operator %s is not supported", !strncmp(n->target, "torch.ops.", 10) ? n->target + 10 : n->target);
    else tc_jr_fail(&r->j, TC_CONTENT, "there is no operator %s", n->target + 10);
}

/* aten._assert_tensor_metadata: types are known here, so it is decided here. */
static bool static_assert_node(tc_pt2_reader *r, const raw_node *n) {
    if (strcmp(n->target, "torch.ops.aten._assert_tensor_metadata.default") != 0 || !n->args.len) return false;
    const tc_arg *t = &n->args.data[0].arg;
    for (size_t i = 1; i < n->args.len; i++) {
        const tc_arg *d = &n->args.data[i].arg;
        if (d->kind == TC_A_DTYPE && t->kind == TC_A_VALUE && t->value && t->value->meta.dtype != d->dtype)
            tc_jr_fail(&r->j, TC_CONTENT, "%s is asserted to be %s, it is %s", t->value->name, tc_dtypes[d->dtype].torch,
                       tc_dtypes[t->value->meta.dtype].torch);
    }
    return true;
}

/* with_effects(token, operator, ...): the tokens hold calls that have effects in their order, which is that of the nodes here. */
static void without_token(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    const tc_arg *name = n->args.len >= 2 ? &n->args.data[1].arg : NULL;
    const tc_op *op = name && name->kind == TC_A_STRING ? tc_op_find(name->string) : NULL;
    if (!name || name->kind != TC_A_STRING || !n->results.len) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s: a token and an operator expected", n->target);
        return;
    }
    for (int i = 0; i < n->results.data[0].n; i++) tc_pt2_bind(r, s, n->results.data[0].names[i], (tc_arg){.kind = TC_A_NONE});
    n->target = name->string;
    n->args.len -= 2;
    memmove(n->args.data, n->args.data + 2, n->args.len * sizeof *n->args.data);
    n->results.len--;
    memmove(n->results.data, n->results.data + 1, n->results.len * sizeof *n->results.data);
    if (!op) return;
    const tc_schema *schema = tc_op_schema(op);
    for (int i = 0; i < (int)n->args.len && i < schema->nparams; i++)
        if (!*n->args.data[i].name) n->args.data[i].name = schema->params[i].name;
    if (!schema->nrets && n->results.len == 1 && n->results.data[0].kind == R_NONE) n->results.len = 0;
}

static void do_node(tc_pt2_reader *r, tc_pt2_scope **at, raw_node *n) {
    tc_arg number;
    bool no_result;
    const char *name = n->results.len && n->results.data[0].n ? n->results.data[0].names[0] : NULL;
    if (tc_pt2_vmap_node(r, at, n->target, n->args.data, (int)n->args.len, name, n->source)) return;
    tc_pt2_scope *s = *at;
    if (!strcmp(n->target, "torch.ops.higher_order.with_effects")) without_token(r, s, n);
    if (!tc_jr_ok(&r->j)) return;
    if (tc_pt2_symbolic(r, n->target, n->args.data, (int)n->args.len, &number, &no_result)) {
        if (tc_jr_ok(&r->j)) bind_results(r, s, n, &number, no_result ? 0 : 1);
        return;
    }
    if (static_assert_node(r, n)) return;
    void **known = tc_map_put(&r->ops, n->target, strlen(n->target));
    const tc_op *op = *known ? *known : (*known = (void *)(uintptr_t)tc_op_find(n->target));
    if (op) call(r, s, n, op);
    else unknown(r, n);
}

void tc_pt2_nodes(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    tc_pt2_scope *at = s;
    tc_jr_seek(j, s->nodes);
    raw_node n = {0};
    for (tc_jr_array(j); tc_jr_item(j);) {
        n = (raw_node){.args = n.args, .results = n.results}; /* the room of these lists serves all nodes */
        n.args.len = n.results.len = 0;
        const char *begin = j->p;
        read_node(r, at, &n);
        if (tc_jr_ok(j)) {
            j->at = begin; /* errors point to the node */
            do_node(r, &at, &n);
        }
    }
    tc_vec_free(&n.args);
    tc_vec_free(&n.results);
    if (at != s && tc_jr_ok(j)) tc_jr_fail(j, TC_CONTENT, "vmap is not closed");
    tc_pt2_vmap_abandon(at);
}
