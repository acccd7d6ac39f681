/* The arguments of forward (source.h): the declared inputs in the order of its parameters, nested as their names say. */
#include "capture/source.h"

#include "capture/ast.h"

/* Stores v at a path ("past.0", "batch.cat.0") in the dict of arguments: numbers make lists, names make dicts. */
static void put(C *c, dict *top, const char *path, V v) {
    const char *p = path, *dot;
    V at = (V)top;
    while ((dot = strchr(p, '.'))) {
        bool index = dot[1] >= '0' && dot[1] <= '9', own_index = *p >= '0' && *p <= '9';
        V key = own_index ? tc_int(c, strtoll(p, NULL, 10)) : (V)tc_intern(c, p, (size_t)(dot - p));
        V next = NULL;
        if (tc_kind_of(at) == K_DICT) next = tc_dict_get(c, (dict *)at, key);
        else if (own_index && (size_t)tc_small(key) < ((list *)at)->n) next = ((list *)at)->a[tc_small(key)];
        if (!next) {
            next = index ? (V)tc_list(c, 2) : (V)tc_dict(c);
            if (tc_kind_of(at) == K_DICT) tc_dict_set(c, (dict *)at, key, next);
            else tc_list_push(c, (list *)at, next);
        }
        at = next;
        p = dot + 1;
    }
    if (tc_kind_of(at) == K_LIST) {
        int64_t i = strtoll(p, NULL, 10);
        if (i != (int64_t)((list *)at)->n) tc_raise(c, "ValueError", "input %s: elements of a list are given in order, from 0 on", path);
        tc_list_push(c, (list *)at, v);
    } else tc_dict_set(c, (dict *)at, (V)tc_intern(c, p, strlen(p)), v);
}

V tc_source_forward(C *c, V m) {
    if (tc_kind_of(m) == K_FUNC) return m;
    V f = tc_getattr_or(c, m, c->n_forward);
    if (!f)
        tc_raise(c, "NotImplementedError", "%s is missing the required forward(): a model is an nn.Module, or a class like one", tc_type_name(c, m));
    return tc_kind_of(f) == K_METHOD ? ((method *)f)->func : f;
}

static bool takes_any(C *c, V f) {
    const list *sig = (list *)tc_func_signature(c, (func *)f);
    bool any = false;
    size_t n;
    for (size_t i = 0; i < sig->n; i++) any |= tc_small(tc_items(sig->a[i], &n)[1]) == P_VAR;
    return any;
}

/* What a decorator such as torch.no_grad() wrapped with *args, which are then its parameters. */
static V undecorated(C *c, V f) {
    V of;
    for (int depth = 0; depth < 100 && tc_kind_of(f) == K_FUNC && takes_any(c, f) && (of = tc_getattr_or(c, f, c->n___wrapped__)); depth++) f = of;
    return f;
}

list *tc_source_parameters(C *c, V m) {
    V f = undecorated(c, tc_source_forward(c, m));
    list *l = tc_list(c, 4);
    if (tc_kind_of(f) != K_FUNC) return l;
    list *sig = (list *)tc_func_signature(c, (func *)f);
    for (size_t i = tc_kind_of(m) == K_FUNC ? 0 : 1; i < sig->n; i++) tc_list_push(c, l, sig->a[i]);
    return l;
}

static const char *root_of(C *c, const char *path) {
    const char *dot = strchr(path, '.');
    return dot ? tc_arena_strndup(&c->arena, path, (size_t)(dot - path)) : path;
}

tc_capture_input *tc_source_ordered(C *c, const tc_capture_request *r, list *params) {
    tc_capture_input *in = tc_mem(c, sizeof *in * (size_t)(r->ninputs + 1)), *out = tc_mem(c, sizeof *in * (size_t)(r->ninputs + 1));
    size_t next = 0, rest = 0;
    for (int i = 0; i < r->ninputs; i++) {
        in[i] = r->inputs[i];
        if (!in[i].name || !*in[i].name) {
            if (next >= params->n) tc_raise(c, "TypeError", "forward() takes %zu inputs but more were given", params->n);
            const V *sig = tc_items(params->a[next], &(size_t){0});
            in[i].name = tc_as_str(sig[0])->s;
            if (tc_small(sig[1]) == P_VAR) { /* *xs takes all that follow */
                in[i].name = tc_arena_printf(&c->arena, "%s.%zu", in[i].name, rest++);
                continue;
            }
        }
        next++;
    }
    int n = 0;
    for (size_t p = 0; p < params->n; p++) {
        const char *name = tc_as_str(tc_items(params->a[p], &(size_t){0})[0])->s;
        for (int i = 0; i < r->ninputs; i++)
            if (in[i].name && !strcmp(root_of(c, in[i].name), name)) out[n++] = in[i], in[i].name = NULL;
    }
    for (int i = 0; i < r->ninputs; i++)
        if (in[i].name) out[n++] = in[i];
    return out;
}

static tc_tree *input_tree(tc_program *p, C *c, V v) {
    tc_tree *t = TC_NEW(&p->arena, tc_tree);
    kind k = tc_kind_of(v);
    if (k == K_DICT) {
        t = tc_capture_dict_tree(c, &p->arena, (dict *)v);
        V key, x;
        int i = 0;
        for (size_t j = 0; tc_dict_next((dict *)v, &j, &key, &x); i++) t->children[i] = input_tree(p, c, x);
    } else if (tc_is_seq(v)) {
        size_t n;
        V *a = tc_items(v, &n);
        t->kind = k == K_LIST ? TC_TREE_LIST : TC_TREE_TUPLE, t->n = (int)n;
        t->children = TC_NEWN(&p->arena, tc_tree *, n + 1);
        for (size_t i = 0; i < n; i++) t->children[i] = input_tree(p, c, a[i]);
    }
    return t;
}

/* The place where forward first reads its parameter of this name. */
static tc_source first_read(C *c, tc_program *p, V m, const char *name) {
    V f = tc_source_forward(c, m);
    const scope *s = tc_kind_of(f) == K_FUNC ? ((func *)f)->sc : NULL;
    for (int i = 0; s && i < s->nparams; i++) {
        const ast *at = s->params[i].var->used;
        if (at && !strcmp(s->params[i].name->s, name))
            return (tc_source){.file = tc_arena_strdup(&p->arena, s->file->name), .line = at->line, .col = at->col};
    }
    return (tc_source){0};
}

static void literal_input(C *c, tc_program *p, V m, const char *name, V v) {
    tc_arg a = {.kind = TC_A_NONE};
    int64_t i;
    if (tc_kind_of(v) == K_INT && tc_int_fits(v, &i)) a = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(p->sym, i)};
    else if (tc_kind_of(v) == K_BOOL) a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(v == c->true_)};
    else if (tc_kind_of(v) == K_FLOAT) a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_flt(v))};
    else if (tc_kind_of(v) == K_STR) a = (tc_arg){.kind = TC_A_STRING, .string = tc_arena_strdup(&p->arena, tc_as_str(v)->s)};
    else if (v != c->none) return;
    tc_source read = first_read(c, p, m, root_of(c, name));
    tc_program_add_input(p, (tc_input){.kind = TC_IN_LEAF, .name = tc_arena_strdup(&p->arena, name), .leaf = a, .read = read, .alias_of = -1});
}

int tc_source_returned_names(C *c, V m, const char ***out) {
    V f = tc_source_forward(c, m);
    if (tc_kind_of(f) != K_FUNC || !((func *)f)->sc->returned) return 0;
    const ast *n = ((func *)f)->sc->returned;
    int count = n->kind == N_TUPLE ? n->n : 1;
    const char **names = tc_mem(c, sizeof(char *) * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        const ast *e = n->kind == N_TUPLE ? n->list[i] : n;
        names[i] = e->kind == N_NAME ? e->name->s : e->kind == N_STAR ? "*" : NULL;
        for (int j = 0; j < i && names[i] && e->kind == N_NAME; j++)
            if (names[j] && !strcmp(names[j], names[i])) names[i] = NULL;
    }
    *out = names;
    return count;
}

/* Checks that every range of r is about a symbol of the inputs, and every named axis belongs to an input. */
static void check_dims(C *c, const tc_program *p, const tc_capture_request *r) {
    for (int i = 0; i < r->ndims; i++) {
        const tc_capture_dim *d = &r->dims[i];
        bool found = false;
        for (size_t s = 0; s < tc_sym_var_count(p->sym) && !d->path; s++) found |= !strcmp(tc_sym_var_name(tc_sym_var_at(p->sym, s)), d->symbol);
        for (int k = 0; k < p->ninputs && d->path; k++) {
            const tc_input *in = &p->inputs[k];
            const int rank = in->kind == TC_IN_USER && in->value && in->value->kind == TC_V_TENSOR ? in->value->meta.rank : 0;
            found |= rank && !strcmp(in->name, d->path) && d->axis < rank && d->axis >= -rank;
        }
        if (found) continue;
        const char *by = tc_source_said(r->said.dim, "--dim");
        if (d->path) tc_raise(c, "ValueError", "%s %s.%d=%s: no input has this axis", by, d->path, d->axis, d->symbol);
        tc_raise(c, "ValueError", "%s %s: no input has a size %s", by, d->symbol, d->symbol);
    }
}

/* Checks, before forward is called, that every parameter without a default is given. */
static void check_given(C *c, V m, const list *params, dict *given, const tc_capture_request *r) {
    tc_buf lacks = {0};
    size_t n;
    for (size_t i = 0; i < params->n; i++) {
        const V *sig = tc_items(params->a[i], &n);
        int64_t how = tc_small(sig[1]);
        if (how == P_VAR || how == P_KW || sig[2] != c->ellipsis || tc_dict_get(c, given, sig[0])) continue;
        tc_buf_printf(&lacks, "%s%s", lacks.len ? ", " : "", tc_as_str(sig[0])->s);
    }
    if (!lacks.len) return;
    if (undecorated(c, tc_source_forward(c, m)) != tc_source_forward(c, m)) { /* the decorator may give it */
        tc_buf_free(&lacks);
        return;
    }
    const char *names = tc_arena_strdup(&c->arena, lacks.data), *first = tc_arena_strndup(&c->arena, names, strcspn(names, ","));
    tc_buf_free(&lacks);
    const func *f = (func *)tc_source_forward(c, m); /* it has parameters */
    const char *by = tc_source_said(r->said.input, "--input"), *word = *by == '-' ? by : "input:";
    const char *what = tc_kind_of(m) == K_FUNC ? f->qualname->s : tc_type_name(c, m);
    tc_status st = tc_error(TC_USAGE, "%s is called with %s, which no %s declares: %s %s=SIZES and dtype, as BxTxi64 or Bx3x32x32xf32", what, names,
                            *by == '-' ? by : "input", word, first);
    tc_raise_status_at(c, "TypeError", st, &(tc_source){.file = f->sc->file->name, .line = f->sc->line, .col = f->sc->col});
}

void tc_source_gives_none(C *c, V m) {
    const V f = tc_source_forward(c, m);
    const scope *s = tc_kind_of(f) == K_FUNC ? ((func *)f)->sc : NULL;
    if (!s) return;
    char *text = tc_arena_printf(&c->arena, "%s:%d: %s returns None, so the program computes nothing: is a return missing?", s->file->name, s->line,
                                 s->qualname->s);
    tc_warn(c, text);
}

dict *tc_source_given(C *c, tc_capture *k, V m, module *mod, const tc_capture_request *r, const tc_capture_input *in) {
    tc_program *p = c->torch->graph->program;
    dict *given = tc_dict(c);
    for (int i = 0; i < r->ninputs; i++) {
        V v;
        if (in[i].kind == TC_INPUT_EXPR) {
            v = tc_lang_eval(c, mod, NULL, tc_arena_printf(&c->arena, "--input %s", in[i].name), in[i].expr);
            literal_input(c, p, m, in[i].name, v);
        } else if (in[i].kind == TC_INPUT_NUMBER) v = tc_capture_number(k, in[i].name, in[i].dtype);
        else v = tc_capture_tensor(k, &in[i]);
        put(c, given, in[i].name, v);
    }
    check_given(c, m, tc_source_parameters(c, m), given, r);
    check_dims(c, p, r);
    return given;
}

args tc_source_call(C *c, tc_program *p, dict *given, const list *params) {
    list *pos = tc_list(c, params->n);
    dict *kw = tc_dict(c);
    bool gap = false;
    V key, v;
    for (size_t i = 0; i < params->n; i++) {
        size_t n;
        V *sig = tc_items(params->a[i], &n);
        const int64_t pk = tc_small(sig[1]);
        const V x = tc_dict_get(c, given, sig[0]);
        if (!x) {
            gap |= pk != P_VAR;
            continue;
        }
        const bool many = (pk == P_VAR && tc_kind_of(x) == K_LIST) || (pk == P_KW && tc_kind_of(x) == K_DICT);
        if (pk == P_KW ? !many : gap || pk > P_VAR) continue; /* by its name */
        tc_dict_del(c, given, sig[0]);
        if (pk == P_KW)
            for (size_t j = 0; tc_dict_next((dict *)x, &j, &key, &v);) tc_dict_set(c, given, key, v);
        else if (many)
            for (size_t j = 0; j < ((list *)x)->n; j++) tc_list_push(c, pos, ((list *)x)->a[j]);
        else tc_list_push(c, pos, x);
    }
    str **kn = tc_mem(c, sizeof(str *) * (given->live + 1));
    V *kv = tc_mem(c, sizeof(V) * (given->live + 1));
    args A = {.a = pos->a, .n = (int)pos->n, .kn = kn, .kv = kv};
    for (size_t i = 0; tc_dict_next(given, &i, &key, &v);) {
        kn[A.nk] = tc_as_str(key), kv[A.nk++] = v;
        tc_dict_set(c, kw, key, v);
    }
    p->in_tree = input_tree(p, c, tc_tuple_of(c, 2, tc_tuple(c, pos->n, pos->a), (V)kw));
    return A;
}
