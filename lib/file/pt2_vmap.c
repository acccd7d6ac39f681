/* torch.vmap in PT2 graphs. The training dialect keeps its steps as nodes; the nodes between them compute on one element of the batch:
 *
 *     _vmap_increment_nesting(size, randomness)
 *     x1 = _add_batch_dim(x, dim, level)                     a tensor without dimension dim
 *     y1 = ... x1 ...
 *     y = _remove_batch_dim(y1, level, size, out_dim)        the tensors of all elements, stacked
 *     _vmap_decrement_nesting()
 *
 * Such a region becomes map_impl: its nodes are the body, x is the mapped operand, and all other values that it reads are further operands. */
#include "file/pt2_read.h"
#include "op/emit.h"

typedef struct {
    const char *name; /* in the outer scope */
    tc_value *value;  /* output of the body */
    int64_t dim;
    tc_source source;
} result;
struct tc_pt2_vmap {
    TC_VEC(tc_value *) xs, xs_inputs;     /* in the outer graph; their elements in the body */
    TC_VEC(tc_value *) more, more_inputs; /* inputs that are the same for all elements */
    TC_VEC(result) results;
};

static void free_scope(tc_pt2_scope *s) {
    tc_pt2_vmap *v = s->vmap;
    tc_vec_free(&v->xs);
    tc_vec_free(&v->xs_inputs);
    tc_vec_free(&v->more);
    tc_vec_free(&v->more_inputs);
    tc_vec_free(&v->results);
    tc_map_free(&s->names);
    free(v);
    free(s);
}

void tc_pt2_vmap_abandon(tc_pt2_scope *s) {
    while (s->vmap) {
        tc_pt2_scope *outer = s->outer;
        free_scope(s);
        s = outer;
    }
}

static tc_pt2_scope *open_scope(tc_pt2_reader *r, tc_pt2_scope *outer) {
    tc_pt2_scope *s = tc_xcalloc(1, sizeof *s);
    s->outer = outer;
    s->names.borrows = true;
    s->vmap = tc_xcalloc(1, sizeof *s->vmap);
    s->graph = tc_graph_create(r->program, outer->graph, "vmap_body");
    s->autocast = outer->autocast;
    return s;
}

const tc_arg *tc_pt2_vmap_import(tc_pt2_reader *r, tc_pt2_scope *s, tc_str name, const tc_arg *a) {
    tc_arg own = *a;
    if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_TENSOR) {
        own.value = tc_graph_value(s->graph, TC_V_TENSOR, a->value->name);
        own.value->meta = a->value->meta;
        tc_vec_push(&s->vmap->more, a->value);
        tc_vec_push(&s->vmap->more_inputs, own.value);
    } else if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_SYM) {
        bool whole = tc_sym_type(a->value->sym) == TC_SYM_INT;
        own = (tc_arg){.kind = whole ? TC_A_INT : TC_A_SCALAR, .sym = a->value->sym, .is_sym = !whole};
    }
    tc_pt2_name *n = tc_pt2_named(r, s, name);
    tc_pt2_make(r, n, own);
    return &n->arg;
}

static bool int_of(tc_pt2_reader *r, const tc_pt2_arg *args, int nargs, int i, int64_t *out) {
    if (i < nargs && args[i].arg.kind == TC_A_INT && tc_sym_const_int(args[i].arg.sym, out)) return true;
    tc_jr_fail(&r->j, TC_CONTENT, "vmap: argument %d is no integer", i);
    return false;
}

static tc_value *tensor_of(tc_pt2_reader *r, const tc_pt2_arg *args, int nargs) {
    if (nargs && args[0].arg.kind == TC_A_VALUE && args[0].arg.value && args[0].arg.value->kind == TC_V_TENSOR) return args[0].arg.value;
    tc_jr_fail(&r->j, TC_CONTENT, "vmap: expected a tensor");
    return NULL;
}

static void move_dim(tc_pt2_reader *r, tc_graph *g, tc_source source, tc_value **v, int64_t from, int64_t to) {
    if (from == to) return;
    tc_emit e = {.graph = g, .source = source};
    *v = tc_emit_call(&e, "aten::movedim.int", "vii", *v, from, to);
    if (e.status) tc_jr_fail_with(&r->j, e.status);
}

/* _add_batch_dim(x, dim, level): x of the outer scope */
static void add_batch(tc_pt2_reader *r, tc_pt2_scope *s, const tc_pt2_arg *args, int nargs, const char *name, tc_source source) {
    int64_t dim;
    tc_value *x = tensor_of(r, args, nargs);
    if (!x || !int_of(r, args, nargs, 1, &dim)) return;
    if (dim < 0) dim += x->meta.rank;
    if (dim < 0 || dim >= x->meta.rank) {
        tc_jr_fail(&r->j, TC_CONTENT, "vmap: dimension %lld of a tensor of %d dimensions", (long long)dim, x->meta.rank);
        return;
    }
    move_dim(r, s->outer->graph, source, &x, dim, 0);
    if (!tc_jr_ok(&r->j)) return;
    tc_value *one = tc_graph_value(s->graph, TC_V_TENSOR, name);
    one->meta = tc_meta_make(&r->program->arena, x->meta.dtype, x->meta.rank - 1, x->meta.size + 1, x->meta.stride ? x->meta.stride + 1 : NULL);
    tc_vec_push(&s->vmap->xs, x);
    tc_vec_push(&s->vmap->xs_inputs, one);
    tc_pt2_make(r, tc_pt2_named(r, s, tc_pt2_str(name)), (tc_arg){.kind = TC_A_VALUE, .value = one});
}

/* _remove_batch_dim(y, level, size, out_dim) */
static void remove_batch(tc_pt2_reader *r, tc_pt2_scope *s, const tc_pt2_arg *args, int nargs, const char *name, tc_source source) {
    result out = {.name = name, .source = source};
    out.value = tensor_of(r, args, nargs);
    if (!out.value || !int_of(r, args, nargs, 3, &out.dim)) return;
    if (out.dim < 0) out.dim += out.value->meta.rank + 1;
    tc_vec_push(&s->vmap->results, out);
}

static tc_arg list_of(tc_arena *a, tc_value *const *data, size_t n) {
    return (tc_arg){.kind = TC_A_VALUES, .n = (int)n, .values = n ? tc_arena_dup(a, data, n * sizeof *data) : NULL};
}

/* The region as one node of the outer scope. */
static void close_region(tc_pt2_reader *r, tc_pt2_scope *s, tc_source source) {
    tc_pt2_scope *outer = s->outer;
    tc_pt2_vmap *v = s->vmap;
    tc_arena *a = &r->program->arena;
    tc_node *node = NULL;
    for (size_t i = 0; i < v->xs_inputs.len; i++) tc_graph_add_input(s->graph, v->xs_inputs.data[i]);
    for (size_t i = 0; i < v->more_inputs.len; i++) tc_graph_add_input(s->graph, v->more_inputs.data[i]);
    for (size_t i = 0; i < v->results.len; i++) tc_graph_add_output(s->graph, v->results.data[i].value);
    if (!v->xs.len && v->results.len) {
        tc_jr_fail(&r->j, TC_CONTENT, "vmap without a batch");
    } else if (v->results.len) {
        tc_arg args[3] = {{.kind = TC_A_GRAPH, .graph = s->graph}, list_of(a, v->xs.data, v->xs.len), list_of(a, v->more.data, v->more.len)};
        tc_jr_fail_with(&r->j, tc_graph_call(outer->graph, tc_op_find("higher_order::map_impl"), args, 3, source, NULL, &node));
    }
    for (size_t i = 0; node && i < v->results.len && tc_jr_ok(&r->j); i++) {
        tc_value *y = node->outs[i];
        move_dim(r, outer->graph, v->results.data[i].source, &y, 0, v->results.data[i].dim);
        tc_arg made = {.kind = TC_A_VALUE, .value = y};
        if (tc_jr_ok(&r->j)) tc_pt2_make(r, tc_pt2_named(r, outer, tc_pt2_str(v->results.data[i].name)), made);
    }
}

bool tc_pt2_vmap_node(tc_pt2_reader *r, tc_pt2_scope **at, const char *target, const tc_pt2_arg *args, int nargs, const char *name,
                      tc_source source) {
    static const char prefix[] = "torch._functorch.predispatch.";
    if (strncmp(target, prefix, sizeof prefix - 1) != 0) return false;
    const char *step = target + sizeof prefix - 1;
    if (!strcmp(step, "lazy_load_decompositions")) return true;
    if (!strcmp(step, "_vmap_increment_nesting")) {
        if (nargs > 1 && args[1].arg.kind == TC_A_STRING && !strcmp(args[1].arg.string, "same"))
            tc_jr_fail(&r->j, TC_UNSUPPORTED, "vmap with randomness 'same'");
        else *at = open_scope(r, *at);
        return true;
    }
    bool add = !strcmp(step, "_add_batch_dim"), take = !strcmp(step, "_remove_batch_dim"), end = !strcmp(step, "_vmap_decrement_nesting");
    if (!add && !take && !end) return false;
    if (!(*at)->vmap) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s outside of vmap", step);
    } else if (end) {
        tc_pt2_scope *s = *at;
        *at = s->outer;
        close_region(r, s, source);
        free_scope(s);
    } else if (!name) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s without a result", step);
    } else if (add) {
        add_batch(r, *at, args, nargs, name, source);
    } else {
        remove_batch(r, *at, args, nargs, name, source);
    }
    return true;
}
