/* Nodes of PT2 graphs. Each becomes a call of its operator, so that tc's shape rules give the result types, which are then compared with those in
 * the file. Bodies of control flow and of regions become subgraphs. */
#include "file/pt2_read.h"
#include "op/emit.h"
#include "op/functionalise.h"

#include <stdio.h>

/* ---- scopes ---- */
/* Where in the text the type of a value is, and the type once it was read. Values with the same text share an entry; neighbours often do. */
typedef struct {
    tc_jr_mark mark; /* names in a scope point to this */
    bool read, with_strides;
    int code, rank;
    tc_str symbol[TC_MAX_RANK]; /* sizes that are one */
    tc_jr_mark sizes, strides;
    bool parsed;  /* size and stride were read */
    bool gaps;    /* tc_pt2_has_gaps */
    size_t pairs; /* number of data-dependent symbols that were known then */
    tc_sym size[TC_MAX_RANK], stride[TC_MAX_RANK];
    bool placed; /* size and stride are those of the last value with this type, and can be shared */
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
        tc_pt2_name *n = tc_pt2_named(r, s, name);
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
        n->tensor = &last[k].type->mark;
    }
    tc_map_free(&types);
}

static void remember_numbers(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jr_object(&r->j);
    for (tc_str name; tc_jr_member(&r->j, &name);) {
        tc_jr_mark mark = tc_jr_tell(&r->j);
        tc_pt2_named(r, s, name)->sym = tc_arena_dup(&r->scratch, &mark, sizeof mark);
        tc_jr_skip(&r->j);
    }
}

void tc_pt2_open_graph(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    s->names.borrows = true;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "tensor_values")) {
            remember_types(r, s);
        } else if (tc_str_is(key, "sym_int_values") || tc_str_is(key, "sym_float_values") || tc_str_is(key, "sym_bool_values")) {
            remember_numbers(r, s);
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

void tc_pt2_close_scope(tc_pt2_scope *s) { tc_map_free(&s->names); }

/* ---- a node as the file has it ---- */
typedef struct {
    enum { R_TENSOR, R_TENSORS, R_NUMBER, R_NONE } kind;
    size_t first; /* the index of its first name, of n */
    int n;
} result;
typedef struct {
    tc_pt2_target *target; /* NULL: none was read */
    tc_str name;
    const char *metadata;
    TC_VEC(tc_pt2_arg) args;
    TC_VEC(result) results;
    TC_VEC(tc_str) names;
    TC_VEC(tc_arg) call; /* the arguments in schema order */
    tc_source source;
} raw_node;

static tc_pt2_target *target_named(tc_pt2_reader *r, tc_str name) {
    void **known = tc_map_put(&r->targets, name.s, name.n);
    if (!*known) {
        tc_pt2_target *t = *known = TC_NEW(&r->scratch, tc_pt2_target);
        t->name = tc_arena_strndup(&r->scratch, name.s, name.n);
        t->op = tc_op_find(t->name);
    }
    return *known;
}

static void read_kind(tc_jread *j) { /* 0: not said, 1: positional, 2: by name */
    const int64_t kind = tc_jr_int(j);
    if (kind < 0 || kind > 2) tc_jr_fail(j, TC_CONTENT, "kind %lld of an argument", (long long)kind);
}

static void read_inputs(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    tc_jread *j = &r->j;
    if (s->vmap && n->target && !strcmp(n->target->name, "torch._functorch.predispatch._add_batch_dim")) s = s->outer; /* skip the scopes of vmap */
    for (tc_jr_array(j); tc_jr_item(j);) {
        tc_str name = {"", 0};
        tc_pt2_arg a = {.name = name};
        bool given = false;
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            if (tc_str_is(key, "name")) name = tc_jr_keep(j, &r->scratch, tc_jr_string(j));
            else if (tc_str_is(key, "arg")) a = tc_pt2_argument(r, s), given = true;
            else if (tc_str_is(key, "kind") && tc_jr_peek(j) != TC_JR_NULL) read_kind(j);
            else tc_jr_skip(j);
        }
        if (!given) tc_jr_fail(j, TC_CONTENT, "argument %.*s has no value", (int)(name.n < 200 ? name.n : 200), name.s);
        a.name = name;
        tc_vec_push(&n->args, a);
    }
}

static void read_result_name(tc_pt2_reader *r, raw_node *n, result *out) {
    tc_str name = tc_pt2_read_name(r);
    tc_vec_push(&n->names, name);
    out->n++;
}

/* The first name of result i, or NULL. */
static const tc_str *name_of(const raw_node *n, size_t i) {
    return i < n->results.len && n->results.data[i].n ? &n->names.data[n->results.data[i].first] : NULL;
}

static void read_results(tc_pt2_reader *r, raw_node *n) {
    tc_jread *j = &r->j;
    for (tc_jr_array(j); tc_jr_item(j);) {
        result out = {.kind = R_NONE, .first = n->names.len};
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            if (tc_str_is(key, "as_tensor")) {
                out.kind = R_TENSOR;
                read_result_name(r, n, &out);
            } else if (tc_str_is(key, "as_tensors")) {
                out.kind = R_TENSORS;
                for (tc_jr_array(j); tc_jr_item(j);) read_result_name(r, n, &out);
            } else if (tc_str_is(key, "as_sym_int") || tc_str_is(key, "as_sym_float") || tc_str_is(key, "as_sym_bool")) {
                out.kind = R_NUMBER;
                read_result_name(r, n, &out);
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
static void read_stack(tc_pt2_reader *r, tc_str text, tc_source *out) {
    static const char mark[] = "File \"";
    if (tc_str_eq(text, r->stack.text.s, r->stack.text.n)) {
        out->file = r->stack.file, out->line = r->stack.line;
        return;
    }
    const char *end = text.s + text.n, *last = NULL;
    for (const char *p = text.s; (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1)); p += sizeof mark - 1) last = p + sizeof mark - 1;
    const char *quote = last ? memchr(last, '"', (size_t)(end - last)) : NULL;
    if (!quote || end - quote < 9 || memcmp(quote, "\", line ", 8) != 0) return;
    int64_t line = 0;
    for (const char *p = quote + 8; p < end && *p >= '0' && *p <= '9' && line < 100000000; p++) line = line * 10 + (*p - '0');
    const size_t n = (size_t)(quote - last);
    out->file = r->stack.file && tc_str_is((tc_str){last, n}, r->stack.file) ? r->stack.file : tc_arena_strndup(&r->program->arena, last, n);
    out->line = (int)line;
    r->stack.text = tc_jr_keep(&r->j, &r->scratch, text);
    r->stack.file = out->file, r->stack.line = out->line;
}

/* KEY,FQN,CLASS of each module call that contains the node, outermost first; KEY ends in @N for the Nth call after the first. In strict mode
 * torch.export puts what it captures in a branch below a module named _export_root. */
static void read_modules(tc_pt2_reader *r, tc_str text, tc_source *out) {
    if (tc_str_eq(text, r->modules.text.s, r->modules.text.n)) {
        out->calls = r->modules.calls;
        return;
    }
    static const char root[] = "_export_root";
    tc_buf b = {0};
    for (const char *at = text.s, *end = text.s + text.n, *stop; at < end; at = stop + 1) {
        stop = memchr(at, ';', (size_t)(end - at));
        if (!stop) stop = end;
        const char *fqn = memchr(at, ',', (size_t)(stop - at)), *class = fqn ? memchr(fqn + 1, ',', (size_t)(stop - fqn - 1)) : NULL;
        if (!class) continue;
        const char *number = memrchr(at, '@', (size_t)(fqn - at)), *key = fqn++;
        size_t skip = (size_t)(class - fqn) >= sizeof root - 1 && !memcmp(fqn, root, sizeof root - 1) ? sizeof root - 1 : 0;
        fqn += skip + (skip && fqn + skip < class);
        if (fqn == class || memchr(fqn, '@', (size_t)(class - fqn))) continue;
        tc_buf_printf(&b, "%s%.*s%.*s", b.len ? ";" : "", (int)(class - fqn), fqn, number ? (int)(key - number) : 0, number ? number : "");
    }
    out->calls = b.len ? tc_arena_strndup(&r->program->arena, b.data, b.len) : NULL;
    tc_buf_free(&b);
    r->modules.text = tc_jr_keep(&r->j, &r->scratch, text);
    r->modules.calls = out->calls;
}

/* Metadata that tc adds to a node: {"recompute": 3} */
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
        if (tc_str_is(key, "stack_trace")) read_stack(r, tc_jr_string(&r->j), &n->source);
        else if (tc_str_is(key, "nn_module_stack")) read_modules(r, tc_jr_string(&r->j), &n->source);
        else if (tc_str_is(key, "custom") && tc_jr_peek(&r->j) == TC_JR_STRING) read_custom(tc_jr_string(&r->j), &n->source);
        else tc_jr_skip(&r->j);
    }
    if (tc_jr_ok(&r->j) && count) n->metadata = tc_arena_strndup(a, begin, (size_t)(r->j.p - begin));
}

static void read_node(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    tc_jread *j = &r->j;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "target")) n->target = target_named(r, tc_jr_string(j));
        else if (tc_str_is(key, "inputs")) read_inputs(r, s, n);
        else if (tc_str_is(key, "outputs")) read_results(r, n);
        else if (tc_str_is(key, "metadata") && tc_jr_peek(j) == TC_JR_OBJECT) read_metadata(r, n);
        else if (tc_str_is(key, "name") && tc_jr_peek(j) == TC_JR_STRING) n->name = tc_jr_keep(j, &r->scratch, tc_jr_string(j));
        else tc_jr_skip(j);
    }
    if (!n->target) tc_jr_fail(j, TC_CONTENT, "a node without a target");
}

/* ---- results ---- */
static bool results_fit(tc_pt2_reader *r, const raw_node *n, int nvalues) {
    if ((size_t)nvalues != n->results.len)
        tc_jr_fail(&r->j, TC_CONTENT, "%s gives %d results, the file names %zu", n->target->name, nvalues, n->results.len);
    return tc_jr_ok(&r->j);
}

/* Gives a data-dependent symbol of tc the range of the file's symbol. The first symbol of a name counts: a branch that makes the same number again, from
 * an operand, means that one. */
static void pair_symbols(tc_pt2_reader *r, tc_sym own, tc_str theirs) {
    tc_symctx *c = r->program->sym;
    if (tc_sym_opcode(own) != TC_S_VAR || !theirs.n || (theirs.s[0] != 'u' && theirs.s[0] != 'z')) return;
    const tc_pt2_range *range = tc_map_get(&r->ranges, theirs.s, theirs.n);
    if (range && tc_sym_type(own) == TC_SYM_INT) tc_sym_set_range(c, own, range->lo, range->hi);
    char *name = tc_arena_strndup(&r->scratch, theirs.s, theirs.n);
    tc_sym other = tc_sym_var(c, name, tc_sym_type(own), TC_SYM_NO_LO, TC_SYM_NO_HI);
    for (size_t i = 0; i < r->from.len; i++)
        if (r->from.data[i] == other) return;
    tc_vec_push(&r->from, other);
    tc_vec_push(&r->to, own);
}

/* Reads a size or number: the name of the symbol that it is, else empty. */
static tc_str glance(tc_pt2_reader *r) {
    static const char head[] = "Symbol('";
    tc_jread *j = &r->j;
    tc_str symbol = {"", 0};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (!tc_str_is(key, "as_expr")) {
            tc_jr_skip(j);
            continue;
        }
        tc_jr_object(j);
        for (tc_str k; tc_jr_member(j, &k);) {
            if (!tc_str_is(k, "expr_str")) {
                tc_jr_skip(j);
                continue;
            }
            tc_str e = tc_jr_string(j);
            const char *close =
                e.n > sizeof head && !memcmp(e.s, head, sizeof head - 1) ? memchr(e.s + sizeof head - 1, '\'', e.n - sizeof head + 1) : NULL;
            if (close) symbol = (tc_str){e.s + sizeof head - 1, (size_t)(close - e.s) - sizeof head + 1};
        }
    }
    return symbol;
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
            t->sizes = tc_jr_tell(j);
            for (tc_jr_array(j); tc_jr_item(j); t->rank++) {
                const tc_str symbol = glance(r);
                if (t->rank < TC_MAX_RANK) t->symbol[t->rank] = tc_jr_keep(j, &r->scratch, symbol);
            }
        } else {
            if (tc_str_is(key, "strides")) t->strides = tc_jr_tell(j), t->with_strides = true;
            tc_pt2_type_field(r, key);
        }
    }
    t->read = tc_jr_ok(j);
}

/* Reads the sizes and strides of t as expressions, again when more data-dependent symbols are known. `name` has this type. */
static void parse_type(tc_pt2_reader *r, type_text *t, const char *name) {
    tc_jread *j = &r->j;
    if (!tc_jr_ok(j) || t->rank < 0 || (t->parsed && t->pairs == r->from.len)) return;
    tc_jr_seek(j, t->sizes);
    tc_pt2_sizes(r, t->size);
    int strides = t->rank;
    if (t->with_strides && tc_jr_ok(j)) {
        tc_jr_seek(j, t->strides);
        strides = tc_pt2_sizes(r, t->stride);
    }
    if (tc_jr_ok(j) && strides != t->rank) tc_jr_fail(j, TC_CONTENT, "%s has %d sizes and %d strides", name, t->rank, strides);
    for (int d = 0; tc_jr_ok(j) && d < t->rank; d++) {
        const char *unknown = tc_pt2_unknown(r, t->size[d]);
        if (!unknown && t->with_strides) unknown = tc_pt2_unknown(r, t->stride[d]);
        if (unknown) tc_jr_fail(j, TC_CONTENT, "%s: no input has the size %s", name, unknown);
        else if (t->with_strides && tc_pt2_negative(t->stride[d])) tc_jr_fail(j, TC_CONTENT, "%s: stride %d is negative", name, d);
    }
    t->parsed = tc_jr_ok(j);
    t->gaps = t->parsed && t->with_strides && tc_pt2_has_gaps(r, t->rank, t->size, t->stride);
    t->pairs = r->from.len;
    t->placed = false;
}

/* PyTorch's kernels choose the order of a result's axes in memory. Gaps and overlaps come from views, whose strides are known: at sizes that the
 * guards allow. */
static bool has_these_gaps(const tc_pt2_reader *r, const type_text *t, const tc_value *v) {
    const tc_program *p = r->program;
    const tc_sym *own = v->meta.stride ? v->meta.stride : tc_contiguous_sym_strides(p->sym, &r->program->arena, t->rank, v->meta.size);
    for (int d = 0; d < t->rank; d++)
        if (!tc_sym_is_int(t->size[d], 1) && tc_pt2_differ(r, own[d], t->stride[d])) return !tc_program_admits(p, r->hints.data, r->hints.len);
    return true;
}

/* Takes the strides from the file: PyTorch's kernels choose the layout of some results, and whether later views are legal depends on it. */
static void take_strides(tc_pt2_reader *r, type_text *t, tc_value *v) {
    const size_t bytes = sizeof(tc_sym) * (size_t)t->rank;
    if (t->placed && !memcmp(v->meta.size, t->placed_size, bytes)) {
        v->meta.stride = t->placed_stride;
        return;
    }
    tc_pt2_set_strides(r->program, &v->meta, t->stride);
    t->placed = t->rank > 0; /* rank 0 has no sizes to share */
    if (!t->placed) return;
    memcpy(t->placed_size, v->meta.size, bytes);
    t->placed_stride = v->meta.stride;
}

/* dtype and rank must equal those of tc's shape rule; sizes too, at the sizes of the inputs with which the program was exported. */
static void check_type(tc_pt2_reader *r, const tc_pt2_scope *s, const raw_node *n, tc_value *v, tc_pt2_name *to, type_text *t) {
    tc_jread *j = &r->j;
    const char *name = to->name;
    tc_jr_mark here = tc_jr_tell(j);
    if (!t->read) read_type(r, t);
    for (int d = 0; tc_jr_ok(j) && d < t->rank && d < v->meta.rank; d++) pair_symbols(r, v->meta.size[d], t->symbol[d]);
    parse_type(r, t, name);
    bool same = tc_jr_ok(j);
    for (int d = 0; same && d < t->rank && d < v->meta.rank; d++) same = !tc_pt2_differ(r, v->meta.size[d], t->size[d]);
    if (tc_jr_ok(j)) {
        tc_dtype d = tc_dtype_from_pt2(t->code);
        bool cast = r->any_autocast && d != TC_DTYPE_NONE && tc_is_float(d) && tc_is_float(v->meta.dtype);
        const char *wrong = NULL;
        if (!same || t->rank != v->meta.rank || (d != v->meta.dtype && !cast)) {
            tc_buf own = {0}, theirs = {0};
            tc_value_print_type(&own, v);
            for (int k = 0; k < t->rank; k++) {
                tc_buf_puts(&theirs, k ? ", " : "");
                tc_sym_print(&theirs, t->size[k]);
            }
            wrong =
                tc_arena_printf(&r->scratch, "%s, the file says %s[%s]", own.data, d == TC_DTYPE_NONE ? "?" : tc_dtypes[d].name, tc_buf_str(&theirs));
            tc_buf_free(&own);
            tc_buf_free(&theirs);
        } else if (t->gaps && !has_these_gaps(r, t, v)) {
            if (!s->vmap) wrong = "other strides than the file's, which leave gaps or overlap"; /* else those of a part of a batch */
        } else if (t->with_strides) {
            take_strides(r, t, v);
        }
        const bool said = !v->out_index && tc_str_is(n->name, name); /* the message names the node already */
        char *message = wrong ? tc_arena_printf(&r->scratch, "%s%s%s gives %s", said ? "" : name, said ? "" : ": ", n->target->name, wrong) : NULL;
        if (wrong && v->out_index) to->doubt = message;
        else if (wrong) tc_jr_fail(j, TC_CONTENT, "%s", message);
    }
    if (tc_jr_ok(j)) tc_jr_seek(j, here);
}

/* Binds name to v and compares v's type with the declared one. */
static void adopt_value(tc_pt2_reader *r, tc_pt2_scope *s, const raw_node *n, tc_value *v, tc_str name) {
    tc_pt2_name *to = tc_pt2_named(r, s, name);
    const tc_pt2_name *declared = tc_pt2_declared(s, to);
    v->name = to->name;
    tc_pt2_make(r, to, (tc_arg){.kind = TC_A_VALUE, .value = v});
    if (!declared || !tc_jr_ok(&r->j)) return;
    if (v->kind == TC_V_TENSOR && declared->tensor) {
        check_type(r, s, n, v, to, (type_text *)(uintptr_t)declared->tensor); /* the mark is the first member of type_text */
    } else if (v->kind == TC_V_SYM && declared->sym) {
        tc_jr_mark here = tc_jr_tell(&r->j);
        tc_jr_seek(&r->j, *declared->sym);
        pair_symbols(r, v->sym, glance(r));
        if (tc_jr_ok(&r->j)) tc_jr_seek(&r->j, here);
    }
}

/* The values of result i, which the file may give as one tensor, a number or a list. */
static void adopt_result(tc_pt2_reader *r, tc_pt2_scope *s, const raw_node *n, size_t i, tc_value *v) {
    const result *to = &n->results.data[i];
    const tc_str *names = n->names.data + to->first;
    const bool list = v->kind == TC_V_LIST;
    if (to->kind == R_NONE) return;
    if (to->kind == R_TENSORS ? !list || v->nlist != to->n : list) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s gives %d tensors in a list, the file names %d", n->target->name, list ? v->nlist : 0, to->n);
    } else if (v->kind == TC_V_NONE) {
        tc_pt2_make(r, tc_pt2_named(r, s, names[0]), (tc_arg){.kind = TC_A_NONE});
    } else {
        for (int k = 0; k < to->n && tc_jr_ok(&r->j); k++) adopt_value(r, s, n, list ? v->list[k] : v, names[k]);
    }
}

/* ---- calls ---- */
static void fail_in(tc_pt2_reader *r, tc_status st) {
    if (!st) return;
    tc_jr_fail(&r->j, tc_status_code(st), "%s", tc_status_message(st));
    tc_status_free(st);
}

/* Pointwise operators, and those that PyTorch lets, take a number for a tensor; the rules of other operators need a tensor. */
static bool number_for_tensor(const tc_pt2_target *t, const tc_param *q, const tc_arg *a) {
    const bool number = a->kind == TC_A_SCALAR || a->kind == TC_A_INT || (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_SYM);
    return number && (q->type == TC_T_TENSOR || q->type == TC_T_OPT_TENSOR) && !tc_op_functional(t->op)->lower &&
           (q->alias || !tc_op_takes_numbers(t->op));
}

/* Puts named arguments in schema order. all: fills every parameter; else tc_graph_call adds the defaults of the rest. */
static void in_order(tc_pt2_reader *r, raw_node *n, const tc_schema *schema, bool all) {
    bool given[64] = {false};
    int last = all ? schema->nparams : 0;
    if (schema->nparams > 64) TC_BUG("%s has more than 64 parameters", n->target->name);
    tc_vec_reserve(&n->call, (size_t)schema->nparams);
    for (size_t i = 0; i < n->args.len && tc_jr_ok(&r->j); i++) {
        const tc_str name = n->args.data[i].name;
        int k = 0;
        while (k < schema->nparams && !tc_str_is(name, schema->params[k].name)) k++;
        if (k == schema->nparams || given[k]) {
            tc_jr_fail(&r->j, TC_CONTENT, "%s: %s argument %.*s", n->target->name, k == schema->nparams ? "there is no" : "two values for",
                       (int)(name.n < 200 ? name.n : 200), name.s);
            return;
        }
        n->call.data[k] = n->args.data[i].arg;
        if (number_for_tensor(n->target, &schema->params[k], &n->call.data[k]))
            tc_jr_fail(&r->j, TC_CONTENT, "%s: argument %s is a number, expected Tensor", n->target->name, schema->params[k].name);
        given[k] = true;
        if (k >= last) last = k + 1;
    }
    for (int k = 0; k < last && tc_jr_ok(&r->j); k++)
        if (!given[k]) fail_in(r, tc_op_default(r->program, n->target->op, k, &n->call.data[k]));
    n->call.len = (size_t)last;
}

/* gaps: a result may be None, such as a gradient that is not wanted. */
static tc_graph *build_subgraph(tc_pt2_reader *r, tc_pt2_scope *outer, const tc_pt2_arg *a, tc_dtype autocast, bool gaps);

/* wrap_with_autocast(device, dtype, enabled, cache, graph, ...): the autocast dtype of its region. */
static tc_dtype autocast_of(tc_pt2_reader *r, const tc_pt2_scope *s, const raw_node *n) {
    if (strcmp(n->target->name, "torch.ops.higher_order.wrap_with_autocast") != 0 || n->args.len < 3) return s->autocast;
    const tc_arg *type = &n->args.data[1].arg, *enabled = &n->args.data[2].arg;
    r->any_autocast = true;
    if (enabled->kind == TC_A_SCALAR && !enabled->scalar.i) return TC_DTYPE_NONE;
    return type->kind == TC_A_DTYPE ? type->dtype : TC_BF16;
}

/* Names the nodes that tc_graph_call left unnamed: by the file's name of the result, else as captured programs do. */
static void name_node(tc_pt2_reader *r, tc_graph *g, const raw_node *n, tc_node *node) {
    tc_value *const *outs = node->outs;
    if (node->nouts && outs[0]->name && tc_str_is(n->name, outs[0]->name)) node->name = outs[0]->name;
    else if (n->name.n) node->name = tc_arena_strndup(&r->program->arena, n->name.s, n->name.n);
    else if (!node->name) node->name = tc_graph_unique(g, tc_op_schema(node->op)->name);
    for (int i = 0; i < node->nouts; i++) {
        if (!outs[i]->name) outs[i]->name = tc_graph_unique(g, "getitem");
        for (int k = 0; outs[i]->kind == TC_V_LIST && k < outs[i]->nlist; k++)
            if (!outs[i]->list[k]->name) outs[i]->list[k]->name = tc_graph_unique(g, "getitem");
    }
}

static void call_arguments(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    const tc_schema *schema = tc_op_schema(n->target->op);
    n->call.len = 0;
    if (!schema->variadic) {
        in_order(r, n, schema, s->autocast != TC_DTYPE_NONE);
        return;
    }
    bool gradients = !strcmp(schema->name, "autograd_function");
    for (size_t i = 0; i < n->args.len && tc_jr_ok(&r->j); i++) {
        tc_pt2_arg *a = &n->args.data[i];
        if (a->is_graph) a->arg = (tc_arg){.kind = TC_A_GRAPH, .graph = build_subgraph(r, s, a, autocast_of(r, s, n), gradients && i == 0)};
        tc_vec_push(&n->call, a->arg);
    }
}

static void call(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    const tc_op *op = n->target->op;
    tc_value **outs = NULL;
    int nouts = 0;
    call_arguments(r, s, n);
    if (tc_jr_ok(&r->j) && op->pieces && n->results.len == 1 && n->results.data[0].kind == R_TENSORS)
        fail_in(r, tc_op_promise_pieces(r->program, op, n->call.data, (int)n->call.len, n->results.data[0].n, n->source));
    if (!tc_jr_ok(&r->j)) return;
    if (s->autocast != TC_DTYPE_NONE && !tc_op_schema(op)->variadic) {
        tc_emit e = {.graph = s->graph, .source = n->source};
        fail_in(r, tc_autocast_call(&e, op, n->call.data, (int)n->call.len, s->autocast, &outs, &nouts));
    } else {
        tc_node *node = NULL;
        s->graph->names_follow = true;
        fail_in(r, tc_graph_call(s->graph, op, n->call.data, (int)n->call.len, n->source, NULL, &node));
        s->graph->names_follow = false;
        if (node) outs = node->outs, nouts = node->nouts;
    }
    if (!tc_jr_ok(&r->j)) return;
    tc_node *last = nouts && outs[0]->producer ? outs[0]->producer : s->graph->last;
    for (int i = 0; i < nouts && results_fit(r, n, nouts); i++) adopt_result(r, s, n, (size_t)i, outs[i]);
    if (!nouts) results_fit(r, n, 0);
    if (!last || !tc_jr_ok(&r->j)) return;
    name_node(r, s->graph, n, last);
    last->annotations = n->metadata;
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

static tc_graph *build_subgraph(tc_pt2_reader *r, tc_pt2_scope *outer, const tc_pt2_arg *a, tc_dtype autocast, bool gaps) {
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
            tc_pt2_input_value(r, &s, tc_pt2_read_name(r), tensor);
        }
    }
    if (tc_jr_ok(j)) tc_pt2_nodes(r, &s);
    int n = 0;
    tc_arg *outputs = tc_jr_ok(j) ? read_outputs(r, &s, &n) : NULL;
    for (int i = 0; i < n; i++) {
        bool none = gaps && outputs[i].kind == TC_A_NONE;
        tc_value *v = none ? NULL : tc_pt2_as_value(&s, outputs[i], "out");
        if (v || none) tc_graph_add_output(g, v);
        else tc_jr_fail(j, TC_UNSUPPORTED, "subgraph %s returns something that is neither a tensor nor a number", a->graph_name);
    }
    g->single_tensor_return = s.single;
    tc_pt2_close_scope(&s);
    if (tc_jr_ok(j)) tc_jr_seek(j, here);
    return g;
}

/* ---- dispatch ---- */
static void unknown(tc_pt2_reader *r, const raw_node *n) {
    const char *target = n->target->name;
    const bool ops = !strncmp(target, "torch.ops.", 10), aten = ops && !strncmp(target + 10, "aten.", 5);
    char ns[64];
    snprintf(ns, sizeof ns, "%.*s", (int)strcspn(target + 10 * ops, "."), target + 10 * ops);
    if (ops && !tc_op_is_own_space(ns))
        tc_jr_fail(&r->j, TC_UNSUPPORTED, "operator %s is not supported: --ops FILE gives the extension that defines it", target + 10);
    else if (!aten || tc_op_is_known_to_pytorch(target)) tc_jr_fail(&r->j, TC_UNSUPPORTED, "operator %s is not supported", target + 10 * ops);
    else tc_jr_fail(&r->j, TC_CONTENT, "there is no operator %s", target + 10);
}

/* aten._assert_tensor_metadata: all types are known here, so it is checked now and no node is made. */
static bool static_assert_node(tc_pt2_reader *r, const raw_node *n) {
    if (strcmp(n->target->name, "torch.ops.aten._assert_tensor_metadata.default") != 0) return false;
    const tc_arg *t = n->args.len ? &n->args.data[0].arg : &(tc_arg){.kind = TC_A_NONE};
    for (size_t i = 1; i < n->args.len; i++) {
        const tc_arg *d = &n->args.data[i].arg;
        if (d->kind == TC_A_DTYPE && t->kind == TC_A_VALUE && t->value && t->value->meta.dtype != d->dtype)
            tc_jr_fail(&r->j, TC_CONTENT, "%s is asserted to be %s, it is %s", t->value->name, tc_dtypes[d->dtype].torch,
                       tc_dtypes[t->value->meta.dtype].torch);
    }
    return true;
}

/* with_effects(token, operator, ...): tokens keep calls with effects in order. Nodes are in that order already, so tokens are dropped. */
static void without_token(tc_pt2_reader *r, tc_pt2_scope *s, raw_node *n) {
    const tc_arg *name = n->args.len >= 2 ? &n->args.data[1].arg : NULL;
    if (!name || name->kind != TC_A_STRING || !n->results.len) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s: a token and an operator expected", n->target->name);
        return;
    }
    const result *token = &n->results.data[0];
    for (int i = 0; i < token->n; i++) tc_pt2_make(r, tc_pt2_named(r, s, n->names.data[token->first + (size_t)i]), (tc_arg){.kind = TC_A_NONE});
    n->target = target_named(r, tc_pt2_str(name->string));
    const tc_op *op = n->target->op;
    n->args.len -= 2;
    memmove(n->args.data, n->args.data + 2, n->args.len * sizeof *n->args.data);
    n->results.len--;
    memmove(n->results.data, n->results.data + 1, n->results.len * sizeof *n->results.data);
    if (!op) return;
    const tc_schema *schema = tc_op_schema(op);
    for (int i = 0; i < (int)n->args.len && i < schema->nparams; i++)
        if (!n->args.data[i].name.n) n->args.data[i].name = tc_pt2_str(schema->params[i].name);
    if (!schema->nrets && n->results.len == 1 && n->results.data[0].kind == R_NONE) n->results.len = 0;
}

/* Nodes that are not plain calls: steps of vmap, arithmetic on sizes, assertions of types. A call with a token becomes a plain call. */
static bool special_node(tc_pt2_reader *r, tc_pt2_scope **at, raw_node *n) {
    const tc_str *name = name_of(n, 0);
    const char *first = name ? tc_arena_strndup(&r->scratch, name->s, name->n) : NULL;
    if (tc_pt2_vmap_node(r, at, n->target->name, n->args.data, (int)n->args.len, first, n->source)) return true;
    const bool effects = !strcmp(n->target->name, "torch.ops.higher_order.with_effects");
    if (effects) without_token(r, *at, n);
    tc_arg number;
    bool no_result;
    if (!tc_jr_ok(&r->j)) return true;
    if (tc_pt2_symbolic(r, n->target->name, n->args.data, (int)n->args.len, &number, &no_result)) {
        fail_in(r, tc_sym_check(r->program->sym));
        if (results_fit(r, n, no_result ? 0 : 1) && !no_result && n->results.data[0].n) tc_pt2_make(r, tc_pt2_named(r, *at, *name_of(n, 0)), number);
        return true;
    }
    if (static_assert_node(r, n)) return true;
    n->target->plain = n->target->op && !effects;
    return false;
}

static void do_node(tc_pt2_reader *r, tc_pt2_scope **at, raw_node *n) {
    if (!n->target->plain && special_node(r, at, n)) return;
    if (n->target->op) call(r, *at, n);
    else unknown(r, n);
}

/* Adds the name of the innermost failing node to the error. The node's text is at `begin`; its name may not have been read yet. */
static void name_failure(tc_pt2_reader *r, const raw_node *n, const char *begin) {
    tc_jread k;
    tc_str name = n->name;
    if (r->failed_node) return;
    r->failed_node = true;
    tc_jr_init(&k, NULL, begin, (size_t)(r->j.end - begin));
    if (!name.n) tc_jr_object(&k);
    for (tc_str key; !name.n && tc_jr_member(&k, &key);) {
        if (tc_str_is(key, "name") && tc_jr_peek(&k) == TC_JR_STRING) name = tc_jr_keep(&k, &r->scratch, tc_jr_string(&k));
        else tc_jr_skip(&k);
    }
    tc_status_free(tc_jr_finish(&k));
    if (!name.n && n->target) name = tc_pt2_str(n->target->name);
    if (name.n) tc_status_within(r->j.status, "node %.*s", (int)(name.n < 200 ? name.n : 200), name.s);
}

/* Names of nodes differ from each other and from those of values that inputs and earlier nodes make. */
static void check_name(tc_pt2_reader *r, tc_pt2_scope *s, const raw_node *n) {
    tc_pt2_name *name = n->name.n ? tc_pt2_named(r, s, n->name) : NULL;
    if (!name) return;
    if (name->node || name->made) tc_jr_fail(&r->j, TC_CONTENT, "the name is taken");
    name->node = true;
}

void tc_pt2_nodes(tc_pt2_reader *r, tc_pt2_scope *s) {
    tc_jread *j = &r->j;
    tc_pt2_scope *at = s;
    tc_jr_seek(j, s->nodes);
    raw_node n = {0};
    for (tc_jr_array(j); tc_jr_item(j);) {
        n = (raw_node){
            .args = n.args, .results = n.results, .names = n.names, .call = n.call}; /* the memory of these lists is reused for every node */
        n.args.len = n.results.len = n.names.len = n.call.len = 0;
        const char *begin = j->p;
        read_node(r, at, &n);
        if (tc_jr_ok(j)) {
            j->at = begin; /* errors point to the start of the node */
            check_name(r, at, &n);
            do_node(r, &at, &n);
        }
        if (!tc_jr_ok(j)) name_failure(r, &n, begin);
    }
    tc_vec_free(&n.args);
    tc_vec_free(&n.results);
    tc_vec_free(&n.names);
    tc_vec_free(&n.call);
    if (at != s && tc_jr_ok(j)) tc_jr_fail(j, TC_CONTENT, "vmap is not closed");
    tc_pt2_vmap_abandon(at);
}
