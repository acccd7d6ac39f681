/* Replays a program's nodes in the model language (replay.h).
 *
 * A symbol of the program is bound to the size of the actual argument: from the user inputs, or, for data-dependent sizes, from results of replayed
 * nodes. */
#include "train/replay.h"

#include "base/json.h"
#include "capture/torch.h"
#include "op/op.h"
#include "sym/bounds.h"

typedef struct {
    obj h;
    const tc_program *program[2]; /* eval, train */
    V *tensors[2];
    V find;
} callable;

typedef struct {
    C *c;
    const tc_program *p;
    V *value;          /* by value id */
    tc_sym *sym;       /* by symbol index: its expression in this context; NULL: not bound yet */
    tc_sym *from, *to; /* the same as pairs, for substitution; first `known` are valid */
    size_t known, nsyms;
} replay;

static tc_symctx *ctx(replay *r) { return tc_torch_program(r->c)->sym; }

static void know(replay *r, tc_sym var, tc_sym here) {
    int i = tc_sym_var_index(var);
    if (r->sym[i]) return;
    r->sym[i] = here;
    r->from[r->known] = tc_sym_import(ctx(r), var, r->p->sym);
    r->to[r->known++] = here;
}

/* A symbolic number of the program, expressed in this context. */
static tc_sym sym_here(replay *r, tc_sym s) {
    if (!s) return NULL;
    if (tc_sym_opcode(s) == TC_S_CONST) return tc_sym_import(ctx(r), s, r->p->sym);
    return tc_sym_substitute(ctx(r), tc_sym_import(ctx(r), s, r->p->sym), r->from, r->to, r->known);
}

static void learn_size(replay *r, tc_sym theirs, V here) {
    tc_sym s = tc_to_sym(r->c, here);
    if (tc_sym_opcode(theirs) == TC_S_VAR) know(r, theirs, s);
}

static void learn(replay *r, const tc_value *v, V x) {
    r->value[v->id] = x;
    if (v->kind == TC_V_TENSOR && tc_is_tensor(x)) {
        for (int d = 0; d < v->meta.rank && d < tc_torch_rank(x); d++) learn_size(r, v->meta.size[d], tc_torch_size(r->c, x, d));
    } else if (v->kind == TC_V_SYM) {
        tc_sym s = tc_to_sym(r->c, x);
        if (s && tc_sym_opcode(v->sym) == TC_S_VAR) know(r, v->sym, s);
    } else if (v->kind == TC_V_LIST) {
        size_t n;
        V *items = tc_items(x, &n);
        for (int i = 0; i < v->nlist && (size_t)i < n; i++) learn(r, v->list[i], items[i]);
    }
}

static V value_here(replay *r, const tc_value *v) {
    if (!v) return NULL;
    if (r->value[v->id]) return r->value[v->id];
    if (v->kind == TC_V_SYM) return r->value[v->id] = tc_symv(r->c, sym_here(r, v->sym));
    if (v->kind == TC_V_NONE) return r->c->none;
    TC_BUG("%s was not computed", v->name);
}

static const tc_sym *syms_here(replay *r, const tc_sym *s, int n) {
    tc_sym *out = TC_NEWN(&tc_torch_program(r->c)->arena, tc_sym, (size_t)(n ? n : 1));
    for (int i = 0; i < n; i++) out[i] = sym_here(r, s[i]);
    return out;
}

static void run_node(replay *r, const tc_node *n);

/* Replays a subgraph (branch, loop body, halves of an autograd.Function) inside the graph being captured. Its values have their own ids; symbol bindings
 * found there are kept. */
static tc_graph *graph_here(replay *r, const tc_graph *g) {
    C *c = r->c;
    tc_graph *outer = c->torch->graph;
    region here = {.graph = tc_graph_create(outer->program, outer, tc_graph_unique(outer, g->name))};
    V *around = r->value;
    size_t bytes = (g->nvalues ? g->nvalues : 1) * sizeof *r->value;
    r->value = tc_mem(c, bytes);
    memset(r->value, 0, bytes);
    here.graph->single_tensor_return = g->single_tensor_return;
    for (int i = 0; i < g->ninputs; i++) {
        const tc_value *from = g->inputs[i];
        tc_value *v = tc_graph_value(here.graph, from->kind, from->name);
        if (from->kind == TC_V_TENSOR) {
            v->meta = tc_meta_make(&outer->program->arena, from->meta.dtype, from->meta.rank, syms_here(r, from->meta.size, from->meta.rank), NULL);
            v->meta.requires_grad = from->meta.requires_grad;
        } else if (from->kind == TC_V_SYM) {
            v->sym = sym_here(r, from->sym);
        }
        tc_graph_add_input(here.graph, v);
        r->value[from->id] = tc_torch_wrap_value(c, v);
    }
    tc_torch_enter(c, &here, here.graph);
    for (const tc_node *n = g->first; n; n = n->next) run_node(r, n);
    for (int i = 0; i < g->noutputs; i++) {
        V x = value_here(r, g->outputs[i]);
        tc_graph_add_output(here.graph, x && x != c->none ? tc_torch_value(c, x) : NULL);
    }
    tc_torch_leave(c);
    r->value = around;
    return here.graph;
}

/* An argument here; *object is set for tensors. */
static tc_arg arg_here(replay *r, const tc_arg *a, V *object) {
    tc_arg out = *a;
    *object = NULL;
    switch (a->kind) {
    case TC_A_VALUE: {
        V x = value_here(r, a->value);
        if (!x || x == r->c->none) {
            out.kind = TC_A_NONE;
        } else if (tc_is_tensor(x)) {
            *object = x;
            out.value = NULL;
        } else { /* a number that a node computed */
            out.kind = a->value->kind == TC_V_SYM && tc_sym_type(a->value->sym) == TC_SYM_INT ? TC_A_INT : TC_A_SCALAR;
            out.sym = tc_to_sym(r->c, x);
            out.is_sym = out.kind == TC_A_SCALAR;
        }
        break;
    }
    case TC_A_VALUES: {
        V all = tc_tuple(r->c, (size_t)a->n, NULL);
        for (int i = 0; i < a->n; i++) {
            V x = value_here(r, a->values[i]);
            ((tuple *)all)->a[i] = x ? x : r->c->none;
        }
        *object = all;
        out.values = NULL;
        break;
    }
    case TC_A_INT: out.sym = sym_here(r, a->sym); break;
    case TC_A_INTS: out.syms = syms_here(r, a->syms, a->n); break;
    case TC_A_SCALAR:
        if (a->is_sym) out.sym = sym_here(r, a->sym);
        break;
    case TC_A_GRAPH: out.graph = graph_here(r, a->graph); break;
    default: break;
    }
    return out;
}

/* A write under no_grad, as of embedding's max_norm: gradients go on through what was written to (`straight` of graph.h). */
static void keep_history(V out, V written) {
    tc_value *v = tc_is_tensor(out) ? ((tensor *)out)->v : NULL, *old = written && tc_is_tensor(written) ? ((tensor *)written)->v : NULL;
    if (v && old && v->producer && old->meta.requires_grad) v->producer->straight = v->meta.requires_grad = true;
}

/* Copies the records of overwritten operands to the replayed node. */
static void keep_overwritten(C *c, V out, const tc_overwritten *w) {
    size_t n = 1;
    V *all = tc_is_seq(out) ? tc_items(out, &n) : &out;
    tc_node *made = NULL;
    for (size_t i = 0; i < n && !made; i++)
        if (tc_is_tensor(all[i]) && ((tensor *)all[i])->v) made = ((tensor *)all[i])->v->producer;
    for (; made && w; w = w->next) {
        tc_arena *a = &tc_torch_program(c)->arena;
        tc_overwritten *o = tc_arena_dup(a, w, sizeof *w);
        if (w->at.file) o->at.file = tc_arena_strdup(a, w->at.file);
        o->at.calls = NULL;
        o->next = made->overwritten;
        made->overwritten = o;
    }
}

static void run_node(replay *r, const tc_node *n) {
    C *c = r->c;
    tc_arg *a = tc_mem(c, (size_t)(n->nargs ? n->nargs : 1) * sizeof *a);
    V *objects = tc_mem(c, (size_t)(n->nargs ? n->nargs : 1) * sizeof *objects);
    for (int i = 0; i < n->nargs; i++) a[i] = arg_here(r, &n->args[i], &objects[i]);
    bool outside = c->torch->no_grad;
    c->torch->no_grad = outside || n->no_grad;
    V out = tc_torch_apply(c, n->op, a, n->nargs, objects, NULL);
    c->torch->no_grad = outside;
    if (n->straight && !outside) keep_history(out, objects[0]);
    keep_overwritten(c, out, n->overwritten);
    if (n->nouts == 1) {
        learn(r, n->outs[0], out);
        return;
    }
    size_t count;
    V *items = n->nouts ? tc_items(out, &count) : NULL;
    for (int i = 0; i < n->nouts; i++) learn(r, n->outs[i], items[i]);
}

static void check_argument(replay *r, const tc_input *in, V x, const char *which) {
    C *c = r->c;
    const tc_meta *m = &in->value->meta;
    if (in->value->kind != TC_V_TENSOR) return;
    if (!tc_is_tensor(x)) tc_raise(c, "TypeError", "%s expects a tensor for input %s, found %s", which, in->name, tc_type_name(c, x));
    if (tc_torch_rank(x) == m->rank) return;
    tc_buf want = {0};
    tc_value_print_type(&want, in->value);
    const char *sizes = tc_arena_strdup(&c->arena, tc_buf_str(&want));
    tc_buf_free(&want);
    tc_raise(c, "RuntimeError", "%s expects %s for input %s, found %d dimensions, %s", which, sizes, in->name, tc_torch_rank(x),
             tc_repr(c, tc_getattr(c, x, tc_intern(c, "shape", 5)))->s);
}

/* Sizes that the program fixes or requires to be equal become guards of the capture, or are checked now. */
static void guard_sizes(replay *r, const tc_input *in, V x) {
    C *c = r->c;
    const tc_meta *m = &in->value->meta;
    if (in->value->kind != TC_V_TENSOR) return;
    for (int d = 0; d < m->rank; d++) {
        tc_sym here = tc_to_sym(c, tc_torch_size(c, x, d)), want = sym_here(r, m->size[d]);
        int64_t lo = 0, hi = TC_SYM_NO_HI, v;
        if (tc_sym_opcode(m->size[d]) == TC_S_VAR) tc_sym_range((tc_symctx *)r->p->sym, m->size[d], &lo, &hi);
        if (tc_sym_const_int(here, &v) && (v < lo || v > hi))
            tc_raise(c, "RuntimeError", "input %s: size(%d) is %lld, expected %s", in->name, d, (long long)v, tc_sym_bounds_of(lo, hi).text);
        if (tc_sym_opcode(here) == TC_S_VAR) tc_sym_set_range(ctx(r), here, lo, hi);
        if (here == want) continue;
        tc_sym equal = tc_sym_op(ctx(r), TC_S_EQ, here, want, NULL);
        if (tc_sym_known(ctx(r), equal) == 0) {
            tc_buf b = {0};
            tc_sym_print(&b, here);
            tc_buf_puts(&b, ", expected ");
            tc_sym_print(&b, want);
            str *text = tc_as_str(tc_buf_to_str(c, &b));
            tc_raise(c, "RuntimeError", "input %s: size(%d) is %s", in->name, d, text->s);
        }
        tc_program_guard(tc_torch_program(c), (tc_guard){.cond = equal, .source = tc_here(c)});
    }
}

static V key_of(C *c, tc_jread *j) {
    int64_t i;
    double d;
    switch (tc_jr_peek(j)) {
    case TC_JR_NUMBER: return tc_jr_number(j, &i, &d) ? tc_int(c, i) : tc_float(c, d);
    case TC_JR_BOOL: return tc_jr_bool(j) ? c->true_ : c->false_;
    case TC_JR_NULL: tc_jr_null(j); return c->none;
    case TC_JR_STRING: {
        const tc_str s = tc_jr_string(j);
        return (V)tc_strn(c, s.s, s.n);
    }
    default: {
        const tc_str s = tc_jr_skip(j);
        return (V)tc_strn(c, s.s, s.n);
    }
    }
}

/* The keys of a dict, of which its context knows the types. */
static V *keys_of(C *c, const tc_tree *t) {
    V *keys = tc_mem(c, sizeof *keys * ((size_t)t->n + 1));
    tc_jread j;
    int n = 0;
    for (int i = 0; t->keys && i < t->n; i++) keys[i] = tc_strz(c, t->keys[i]);
    if (!t->context && (t->keys || !t->n)) return keys;
    const char *context = t->context ? t->context : "not said";
    tc_jr_init(&j, NULL, context, strlen(context));
    for (tc_jr_array(&j); tc_jr_item(&j); n++) {
        V key = key_of(c, &j);
        if (n < t->n) keys[n] = key;
    }
    tc_status st = tc_jr_finish(&j);
    const bool fit = !st && n == t->n;
    tc_status_free(st);
    if (!fit) tc_raise(c, "ValueError", "the tree of the outputs has a dict of %d values whose keys are %s", t->n, context);
    return keys;
}

/* An instance of a class with fields (a named tuple, a dataclass), as a named tuple. */
static V with_fields(C *c, const tc_tree *t, V *items) {
    V *fields = tc_mem(c, sizeof *fields * ((size_t)t->n + 1));
    for (int i = 0; i < t->n; i++) fields[i] = tc_strz(c, t->keys[i]);
    const char *name = t->context && !strcmp(t->type, "collections.namedtuple") ? t->context : t->type, *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    V class = tc_namedtuple(c, tc_intern(c, name, strlen(name)), tc_dict(c), tc_tuple(c, (size_t)t->n, fields), NULL);
    return tc_call(c, class, &(args){.a = items, .n = t->n});
}

/* Rebuilds the results as the program's output tree has them: tensor, tuple, list, dict, fields. */
static V build_tree(replay *r, const tc_tree *t, V *leaves, int n, int *at) {
    C *c = r->c;
    if (!t || t->kind == TC_TREE_LEAF) return *at < n ? leaves[(*at)++] : c->none;
    V *items = tc_mem(c, sizeof *items * ((size_t)t->n + 1));
    for (int i = 0; i < t->n; i++) items[i] = build_tree(r, t->children[i], leaves, n, at);
    const bool ordered = t->kind == TC_TREE_OTHER && !strcmp(t->type, "collections.OrderedDict");
    if (t->kind == TC_TREE_DICT || ordered) {
        dict *d = tc_dict(c);
        V *keys = keys_of(c, t);
        for (int i = 0; i < t->n; i++) tc_dict_set(c, d, keys[i], items[i]);
        if (t->type && !ordered && strcmp(t->type, "builtins.dict")) d->h.attrs = tc_dict_copy(c, d); /* a dict with fields */
        return (V)d;
    }
    if (t->kind == TC_TREE_OTHER && t->keys) return with_fields(c, t, items);
    if (t->kind != TC_TREE_LIST) return tc_tuple(c, (size_t)t->n, items);
    list *all = tc_list(c, (size_t)t->n);
    for (int i = 0; i < t->n; i++) tc_list_push(c, all, items[i]);
    return (V)all;
}

/* What the program wrote. Its own nodes know already what was written to under them. */
static void write_back(C *c, V to, V value) {
    const tc_graph *g = c->torch->graph;
    tc_node *last = g ? g->last : NULL;
    tc_torch_copy_into(c, to, value);
    for (tc_node *n = !g ? NULL : last ? last->next : g->first; n; n = n->next) n->uncounted = true;
}

/* Writes back a parameter; gradients were handled at the write itself. */
static void write_parameter(C *c, V to, V value) {
    bool outside = c->torch->no_grad;
    c->torch->no_grad = true;
    write_back(c, to, value);
    c->torch->no_grad = outside;
}

/* User inputs before input i. */
static int user_before(const tc_program *p, int i) {
    int n = 0;
    for (int k = 0; k < i; k++) n += p->inputs[k].kind == TC_IN_USER || p->inputs[k].kind == TC_IN_LEAF;
    return n;
}

static V run_program(C *c, const tc_program *p, V *tensors, args *A) {
    replay r = {.c = c, .p = p, .nsyms = tc_sym_var_count(p->sym)};
    size_t n = r.nsyms ? r.nsyms : 1;
    r.value = tc_mem(c, (p->graph->nvalues ? p->graph->nvalues : 1) * sizeof *r.value);
    r.sym = tc_mem(c, n * sizeof *r.sym);
    r.from = tc_mem(c, n * sizeof *r.from);
    r.to = tc_mem(c, n * sizeof *r.to);
    memset(r.value, 0, (p->graph->nvalues ? p->graph->nvalues : 1) * sizeof *r.value);
    memset(r.sym, 0, n * sizeof *r.sym);

    int user = 0;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER && in->kind != TC_IN_LEAF) {
            if (in->value) learn(&r, in->value, tensors[i]);
            continue;
        }
        int at = user++;
        if (in->kind == TC_IN_LEAF) continue;
        if (at + 1 >= A->n)
            tc_raise(c, "TypeError", "the program has more inputs than the %d arguments given: input %s is missing", A->n - 1, in->name);
        V x = A->a[at + 1];
        check_argument(&r, in, x, p->name);
        learn(&r, in->value, x);
    }
    if (user + 1 < A->n) tc_raise(c, "TypeError", "the program has %d inputs, found %d arguments", user, A->n - 1);
    user = 0;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_USER || p->inputs[i].kind == TC_IN_LEAF) {
            user++;
            if (p->inputs[i].kind == TC_IN_USER) guard_sizes(&r, &p->inputs[i], A->a[user]);
        }
    int calls = 0; /* number of torch.utils.checkpoint calls: each replay gets new ones */
    c->torch->replay_base = c->torch->ncheckpoints;
    for (const tc_node *node = p->graph->first; node; node = node->next) {
        c->torch->replayed = &node->source;
        if (node->source.checkpoint > calls) calls = node->source.checkpoint;
        run_node(&r, node);
    }
    c->torch->replayed = NULL;
    c->torch->ncheckpoints += calls;

    V *leaves = tc_mem(c, (size_t)(p->noutputs ? p->noutputs : 1) * sizeof *leaves);
    int nleaves = 0;
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        if (o->kind == TC_OUT_USER || o->kind == TC_OUT_LOSS) leaves[nleaves++] = value_here(&r, o->value);
        else if (o->kind == TC_OUT_LEAF) leaves[nleaves++] = c->none;
        else if (o->kind == TC_OUT_BUFFER) write_back(c, tensors[o->target], value_here(&r, o->value));
        else if (o->kind == TC_OUT_PARAMETER) write_parameter(c, tensors[o->target], value_here(&r, o->value));
        else if (o->kind == TC_OUT_USER_INPUT) write_back(c, A->a[1 + user_before(p, o->target)], value_here(&r, o->value));
    }
    int at = 0;
    if (p->out_tree) return build_tree(&r, p->out_tree, leaves, nleaves, &at);
    return nleaves == 1 ? leaves[0] : tc_tuple(c, (size_t)nleaves, leaves);
}

/* m(x, mask=mask): keywords put in their places by the names of the program's inputs. */
static void place_keywords(C *c, const tc_program *p, args *A) {
    V *a = tc_mem(c, sizeof(V) * (size_t)(A->n + p->ninputs + 1));
    memcpy(a, A->a, sizeof(V) * (size_t)A->n);
    int at = 0, n = A->n, used = 0;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER && in->kind != TC_IN_LEAF) continue;
        if (++at < A->n) continue;
        V given = in->kind == TC_IN_LEAF ? c->none : NULL;
        for (int k = 0; k < A->nk; k++)
            if (!strcmp(A->kn[k]->s, in->name)) given = A->kv[k], used++;
        if (!given) break;
        a[n++] = given;
    }
    if (used < A->nk) {
        for (int k = 0; k < A->nk; k++) {
            bool known = false;
            for (int i = 0; i < p->ninputs; i++) known |= !strcmp(A->kn[k]->s, p->inputs[i].name);
            if (!known) tc_raise(c, "TypeError", "the program has no input '%s'", A->kn[k]->s);
        }
        tc_raise(c, "TypeError", "an input of the program is missing, or given twice");
    }
    A->a = a;
    A->n = n;
    A->nk = 0;
}

/* The tensors that the module has now: torch.func.functional_call puts others in their places, and a copy of it has its own. */
static V *tensors_of(C *c, callable *f, int training, V m) {
    const tc_program *p = f->program[training];
    V *now = tc_mem(c, sizeof(V) * (size_t)(p->ninputs ? p->ninputs : 1));
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        bool named = in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER;
        V own = named ? tc_call2(c, f->find, m, tc_strz(c, in->name)) : NULL;
        now[i] = own && tc_is_tensor(own) ? own : f->tensors[training][i];
    }
    return now;
}

static V call_program(C *c, args *A) {
    callable *f = (callable *)A->a[0];
    args rest = *A;
    rest.a++;
    rest.n--;
    int training = tc_truth(c, tc_getattr(c, rest.a[0], tc_intern(c, "training", 8)));
    if (!f->program[training]) training = !training;
    if (rest.nk) place_keywords(c, f->program[training], &rest);
    return run_program(c, f->program[training], tensors_of(c, f, training, rest.a[0]), &rest);
}

V tc_replay_callable(C *c, const tc_program *train, V *train_tensors, const tc_program *eval, V *eval_tensors, V find) {
    callable *f = tc_new(c, K_OBJECT, sizeof *f);
    f->find = find;
    f->program[0] = eval;
    f->program[1] = train;
    f->tensors[0] = eval_tensors;
    f->tensors[1] = train_tensors;
    return tc_method(c, tc_native(c, "program", call_program, NULL), (V)f);
}
