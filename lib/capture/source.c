/* tc_capture_source: loads a source, constructs its module, captures forward in eval and train mode. */
#include "capture/capture.h"

#include "base/text.h"
#include "capture/keep_going.h"
#include "capture/profile.h"
#include "capture/load_hooks.h"
#include "capture/torch.h"

#include <stdio.h>

typedef struct {
    const tc_capture_request *r;
    tc_capture_result *out;
    tc_buf *list;
    tc_status *failures;
    size_t nfailures;
    tc_side_programs model, train; /* each mode's program, and its programs for other sides */
} job;

static const char *said(const char *word, const char *option) { return word ? word : option; }

/* ---- building the module ---- */
/* Decides whether a function is a factory, called to make the module: it can be called without inputs, or --arg is given: resnet18(pretrained=False,
 * **kw). A function with a required parameter is itself captured. Attributes of classes (Transformer.from_name) and other callables, such as a
 * partial, are factories too. */
static bool is_factory(C *c, V f, const tc_capture_request *r) {
    if (tc_kind_of(f) != K_FUNC) return !tc_getattr_or(c, f, c->n_forward);
    const scope *s = ((func *)f)->sc;
    bool required = s->npos > s->ndefaults;
    for (int i = 0; i < s->nparams; i++) required |= s->params[i].kind == P_KWONLY && !s->params[i].def;
    return r->nargs > 0 || !required;
}

static void no_class(C *c, module *m, const tc_capture_request *r) {
    if (m->stopped) tc_raise_again(c, m->stopped);
    const char *names[64], *near;
    size_t n = 0;
    V key, value;
    for (size_t i = 0; n < 64 && tc_dict_next(m->d, &i, &key, &value);)
        if (tc_kind_of(value) == K_TYPE || tc_kind_of(value) == K_FUNC) names[n++] = tc_as_str(key)->s;
    near = tc_suggest(r->class_name, names, n);
    tc_raise(c, "NameError", "%s: name '%s' is not defined%s%s%s", r->path, r->class_name, near ? "; did you mean '" : "", near ? near : "",
             near ? "'?" : "");
}

/* Runs the top level of the file, then seeds the generator, so that draws or seeds at the top level do not change the initialisation. */
static module *load(C *c, const tc_capture_request *r) {
    module *m = tc_lang_load_script(c, r->path, tc_arena_strndup(&c->arena, r->text, r->len), r->len);
    if (c->torch->gen) tc_generator_seed(c->torch->gen, r->seed);
    return m;
}

/* Resolves CLASS: a name of the file, followed by attributes. */
static V named(C *c, module *m, const tc_capture_request *r) {
    const char *p = r->class_name;
    V v = tc_dict_gets(c, m->d, tc_intern(c, p, strcspn(p, ".")));
    if (!v) no_class(c, m, r);
    while (*(p += strcspn(p, "."))) p++, v = tc_getattr(c, v, tc_intern(c, p, strcspn(p, ".")));
    return v;
}

/* Calls the class or factory. Of arguments that its parameters do not fit, the message says where they come from. */
static V made_of(C *c, V cls, args *A, const tc_capture_request *r) {
    const V init = tc_kind_of(cls) == K_TYPE ? tc_type_lookup(c, (type *)cls, c->n___init__) : cls;
    V made = NULL;
    trap t;
    if (TC_TRAP(c, t)) {
        made = tc_call(c, cls, A);
        tc_untrap(c, &t);
        return made;
    }
    exc *e = (exc *)c->exc;
    const scope *s = init && tc_kind_of(init) == K_FUNC ? ((func *)init)->sc : NULL;
    if (s && e->file == s->file && e->line == s->line) /* not in its body */
        e->cure = tc_arena_printf(&c->arena, "%s gives the arguments of %s", said(r->said.arg, "--arg"), r->class_name);
    tc_raise_again(c, c->exc);
}

static V construct(C *c, module *m, const tc_capture_request *r) {
    V cls = named(c, m, r);
    bool function = tc_kind_of(cls) != K_TYPE;
    if (function && !is_factory(c, cls, r)) {
        if (r->nargs && tc_kind_of(cls) != K_FUNC)
            tc_raise(c, "TypeError", "%s is made by the file: it takes no %s", r->class_name, said(r->said.arg, "--arg"));
        return cls;
    }
    str **kn = tc_mem(c, sizeof(str *) * (size_t)(r->nargs + 1));
    V *kv = tc_mem(c, sizeof(V) * (size_t)(r->nargs + 1)), *pos = tc_mem(c, sizeof(V) * (size_t)(r->nargs + 1));
    args A = {.a = pos, .kn = kn, .kv = kv};
    for (int i = 0; i < r->nargs; i++) {
        V v = tc_lang_eval(c, m, NULL, tc_arena_printf(&c->arena, "%s %s", said(r->said.arg, "--arg"), r->args[i].name ? r->args[i].name : ""),
                           r->args[i].text);
        if (!r->args[i].name || !*r->args[i].name) pos[A.n++] = v;
        else kn[A.nk] = tc_intern(c, r->args[i].name, strlen(r->args[i].name)), kv[A.nk++] = v;
    }
    V made = made_of(c, cls, &A, r);
    if (function && tc_kind_of(made) != K_FUNC && !tc_getattr_or(c, made, c->n_forward))
        tc_raise(c, "TypeError", "%s() made a '%s', not a module, and takes no inputs", r->class_name, tc_type_name(c, made));
    if (r->ncheckpoint && !function) {
        V names = tc_tuple(c, (size_t)r->ncheckpoint, NULL), util = (V)tc_import(c, "torch.utils.checkpoint", true);
        for (int i = 0; i < r->ncheckpoint; i++) ((tuple *)names)->a[i] = tc_strz(c, r->checkpoint[i]);
        tc_call2(c, tc_getattr(c, util, tc_intern(c, "wrap_classes", 12)), made, names);
    }
    if (r->wide && tc_kind_of(made) == K_OBJECT) tc_call_method(c, made, tc_intern(c, "double", 6), 0, NULL);
    return made;
}

/* ---- arguments of forward ---- */
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

static V forward_function(C *c, V m) {
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

/* Names of forward's parameters after self. */
static list *parameters(C *c, V m) {
    V f = undecorated(c, forward_function(c, m));
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

/* The inputs in the order of forward's parameters, each with its full name. */
static tc_capture_input *ordered(C *c, const tc_capture_request *r, list *params) {
    tc_capture_input *in = tc_mem(c, sizeof *in * (size_t)(r->ninputs + 1)), *out = tc_mem(c, sizeof *in * (size_t)(r->ninputs + 1));
    size_t next = 0;
    for (int i = 0; i < r->ninputs; i++) {
        in[i] = r->inputs[i];
        if (!in[i].name || !*in[i].name) {
            if (next >= params->n) tc_raise(c, "TypeError", "forward() takes %zu inputs but more were given", params->n);
            in[i].name = tc_as_str(tc_items(params->a[next], &(size_t){0})[0])->s;
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
    V f = forward_function(c, m);
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

/* The names of forward's results: `return x` or `return x, h`. */
static int returned_names(C *c, V m, const char ***out) {
    V f = forward_function(c, m);
    if (tc_kind_of(f) != K_FUNC || !((func *)f)->sc->returned) return 0;
    const ast *n = ((func *)f)->sc->returned;
    int count = n->kind == N_TUPLE ? n->n : 1;
    const char **names = tc_mem(c, sizeof(char *) * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        const ast *e = n->kind == N_TUPLE ? n->list[i] : n;
        names[i] = e->kind == N_NAME ? e->name->s : NULL;
        for (int j = 0; j < i && names[i]; j++)
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
        const char *by = said(r->said.dim, "--dim");
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
    if (undecorated(c, forward_function(c, m)) != forward_function(c, m)) { /* the decorator may give it */
        tc_buf_free(&lacks);
        return;
    }
    const char *names = tc_arena_strdup(&c->arena, lacks.data), *first = tc_arena_strndup(&c->arena, names, strcspn(names, ","));
    tc_buf_free(&lacks);
    const func *f = (func *)forward_function(c, m); /* it has parameters */
    const char *by = said(r->said.input, "--input"), *word = *by == '-' ? by : "input:";
    const char *what = tc_kind_of(m) == K_FUNC ? f->qualname->s : tc_type_name(c, m);
    tc_status st = tc_error(TC_USAGE, "%s is called with %s, which no %s declares: %s %s=SIZES and dtype, as BxTxi64 or Bx3x32x32xf32", what, names,
                            *by == '-' ? by : "input", word, first);
    tc_raise_status_at(c, "TypeError", st, &(tc_source){.file = f->sc->file->name, .line = f->sc->line, .col = f->sc->col});
}

static void gives_none(C *c, V m) {
    const V f = forward_function(c, m);
    const scope *s = tc_kind_of(f) == K_FUNC ? ((func *)f)->sc : NULL;
    if (!s) return;
    char *text = tc_arena_printf(&c->arena, "%s:%d: %s returns None, so the program computes nothing: is a return missing?", s->file->name, s->line,
                                 s->qualname->s);
    tc_warn(c, text);
}

/* One capture of forward. */
typedef struct {
    const char *name;       /* of the program */
    int attempt;            /* tc_capture_attempt */
    const tc_side_size *at; /* sizes that replace those of the examples, `n` of them; NULL: none */
    size_t n;
    const char *const *follow; /* tc_capture_follow */
    size_t nfollow;
    int64_t same_as;
    tc_capture *k; /* out, with r->sides: the capture in progress, and the symbols of its inputs */
    tc_side_size *seen;
    size_t nseen;
    bool strict; /* a size that a branch fixes is an error */
} one_capture;

static tc_program *capture_mode(C *c, V m, module *mod, const tc_capture_request *r, one_capture *o) {
    tc_profile_phase(c->profile, "naming inputs and weights");
    list *params = parameters(c, m);
    tc_capture_input *in = ordered(c, r, params);
    tc_capture *k = tc_capture_begin(c, o->name);
    tc_program *p = c->torch->graph->program;
    tc_capture_ranges(k, r->dims, r->ndims);
    tc_capture_attempt(k, o->attempt);
    if (o->at) tc_capture_sizes(k, o->at, o->n);
    tc_capture_follow(k, o->follow, o->nfollow, o->same_as);
    o->k = k;
    if (tc_kind_of(m) != K_FUNC) tc_capture_state(k, m);
    tc_capture_preserve(k, r->preserve, r->npreserve);
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
    check_given(c, m, params, given, r);
    check_dims(c, p, r);
    if (r->sides > 1 && !c->draft && !c->keep && !o->strict) o->nseen = tc_capture_sided(k, &o->seen);
    /* positional up to the first omitted parameter, then by keyword */
    V *pos = tc_mem(c, sizeof(V) * (params->n + 1)), key, v;
    str **kn = tc_mem(c, sizeof(str *) * (given->live + 1));
    V *kv = tc_mem(c, sizeof(V) * (given->live + 1));
    args A = {.a = pos, .kn = kn, .kv = kv};
    dict *kw = tc_dict(c);
    bool gap = false;
    for (size_t i = 0; i < params->n; i++) {
        size_t n;
        V *sig = tc_items(params->a[i], &n);
        V x = tc_dict_get(c, given, sig[0]);
        int64_t pk = tc_small(sig[1]);
        if (!x) gap = true;
        else if (!gap && pk <= P_POS) {
            pos[A.n++] = x;
            tc_dict_del(c, given, sig[0]);
        }
    }
    for (size_t i = 0; tc_dict_next(given, &i, &key, &v);) {
        kn[A.nk] = tc_as_str(key), kv[A.nk++] = v;
        tc_dict_set(c, kw, key, v);
    }
    p->in_tree = input_tree(p, c, tc_tuple_of(c, 2, tc_tuple(c, (size_t)A.n, pos), (V)kw));
    c->capturing = true;
    V result = tc_call(c, m, &A);
    c->capturing = false;
    if (tc_kind_of(result) == K_NONE) gives_none(c, m);
    tc_profile_phase(c->profile, "finishing the graph");
    if (c->keep) {
        tc_capture_look(k, result);
        return NULL;
    }
    const char **names = NULL;
    int nnames = returned_names(c, m, &names);
    tc_capture_outputs(k, result, names, nnames);
    return tc_capture_end(k);
}

/* Train mode fails by the model's own or PyTorch's rules: batch norm of one value per channel, targets that were not given, a branch on data. */
static bool left_out(C *c, V e, bool in_forward) {
    static const char *const types[] = {"ValueError",   "AssertionError", "DataDependentError", "TypeError",
                                        "RuntimeError", "LookupError",    "AttributeError"};
    bool its_own = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) its_own |= tc_exc_is(c, e, types[i]);
    if (!in_forward || !its_own || tc_exc_is(c, e, "NotImplementedError")) return false;
    tc_status s = tc_exc_status(c, e);
    tc_warn(c, tc_arena_printf(&c->arena, "there is no train program: %s", tc_status_message(s)));
    tc_status_free(s);
    return true;
}

/* Drops what forward printed from `mark` on if an earlier capture of it, of another mode or for other sizes, has printed the same: it is shown once. */
static void print_once(C *c, size_t mark) {
    if (!c->printed.data) return;
    char *before = c->printed.data + c->forward_printed, *now = c->printed.data + mark;
    const size_t nbefore = mark - c->forward_printed, nnow = c->printed.len - mark, common = nbefore < nnow ? nbefore : nnow;
    if (memcmp(before, now, common) != 0) {
        c->forward_printed = mark;
        return;
    }
    if (nnow > nbefore) memmove(before, now, nnow); /* the earlier capture ended before */
    c->printed.len -= common;
    c->printed.data[c->printed.len] = 0;
}

/* The unnamed axes that equal a declared size which the model fixes to `size`, the example of both. False: there are none. */
static bool find_followers(C *c, V m, module *mod, const tc_capture_request *r, one_capture *o, int64_t size) {
    one_capture all = {.name = o->name, .same_as = size, .strict = true};
    const char **axes = NULL;
    void (*warn)(void *, const char *) = c->warn;
    const size_t mark = c->printed.len;
    trap t;
    c->warn = NULL; /* the next capture warns again */
    if (TC_TRAP_PASSING(c, t)) {
        tc_program *p = capture_mode(c, m, mod, r, &all);
        o->nfollow = tc_capture_tied(all.k, &axes);
        o->follow = axes;
        tc_program_release(p);
        tc_untrap(c, &t);
    } else tc_capture_abandon(c);
    c->warn = warn;
    print_once(c, mark);
    return o->nfollow > 0;
}

/* NULL: the mode may be left out, because the model refuses it. */
static tc_program *guarded_mode(C *c, V m, module *mod, const tc_capture_request *r, one_capture *o, bool optional) {
    tc_program *volatile p = NULL;
    V volatile first = NULL;
    for (volatile int attempt = 0; !p; attempt++) {
        const size_t mark = c->printed.len;
        trap t;
        if (TC_TRAP_PASSING(c, t)) {
            o->attempt = attempt;
            p = capture_mode(c, m, mod, r, o);
            print_once(c, mark);
            tc_untrap(c, &t);
        } else {
            print_once(c, mark);
            /* the model itself refused these sizes (an assert, a raise): others may be accepted */
            V e = c->exc;
            bool chosen = tc_capture_chose_sizes(c), in_forward = c->capturing;
            int64_t forced = tc_capture_forced(c);
            tc_capture_abandon(c);
            if (forced && !o->nfollow && find_followers(c, m, mod, r, o, forced)) continue;
            if (!first) first = e;
            bool refused = tc_exc_is(c, e, "AssertionError") || tc_exc_is(c, e, "ValueError") || tc_exc_is(c, e, "RuntimeError") ||
                           tc_exc_is(c, e, "IndexError");
            if (refused && chosen && attempt + 1 < TC_CAPTURE_ATTEMPTS) continue;
            if (optional && left_out(c, first, in_forward)) return NULL;
            tc_raise_again(c, first);
        }
    }
    p->source_file = tc_arena_strdup(&p->arena, r->path);
    p->source_text = tc_arena_strndup(&p->arena, r->text, r->len);
    return p;
}

/* ---- the other sides of a mode's branches ---- */
typedef struct {
    C *c;
    V m;
    module *mod;
    const tc_capture_request *r;
    const char *name; /* the name of the mode's first program */
    const char *const *follow;
    size_t nfollow;
    size_t count; /* programs so far */
} side_job;

static tc_program *capture_side(void *ctx, const tc_side_size *sizes, size_t n) {
    side_job *j = ctx;
    C *c = j->c;
    tc_program *volatile p = NULL;
    void (*warn)(void *, const char *) = c->warn;
    const size_t mark = c->printed.len;
    one_capture o = {.name = tc_arena_printf(&c->arena, "%s-%zu", j->name, j->count + 1), .at = sizes, .n = n};
    o.follow = j->follow, o.nfollow = j->nfollow;
    trap t;
    c->warn = NULL;
    if (TC_TRAP_PASSING(c, t)) {
        p = capture_mode(c, j->m, j->mod, j->r, &o);
        tc_untrap(c, &t);
    } else tc_capture_abandon(c);
    c->warn = warn;
    print_once(c, mark);
    if (!p) return NULL;
    p->instead_of = tc_arena_strdup(&p->arena, j->name);
    p->source_file = tc_arena_strdup(&p->arena, j->r->path);
    j->count++;
    return p;
}

/* With limits of its own, which are not taken from the model's. */
static void look_for_sides(side_job *j, const one_capture *first, tc_side_programs *all) {
    C *c = j->c;
    const uint64_t steps = c->steps;
    const size_t memory = c->arena.used, limit = c->max_memory;
    c->steps = 0;
    if (!tc_add_size(limit, memory, &c->max_memory)) c->max_memory = SIZE_MAX;
    tc_sides(all, first->seen, first->nseen, (size_t)j->r->sides, capture_side, j);
    c->steps = steps;
    if (!tc_add_size(limit, c->arena.used - memory, &c->max_memory)) c->max_memory = SIZE_MAX;
}

static void release_all(tc_side_programs *all) {
    for (size_t i = 0; i < all->len; i++) tc_program_release(all->data[i]);
    all->len = 0;
}

/* A loop up to a size has a side for each value of it. The maximum number of programs, each for a single value, does not make the size dynamic. */
static bool one_value_each(const tc_side_programs *all, size_t most, const tc_side_size *seen, size_t n) {
    for (size_t i = 0; i < n && all->len == most; i++) {
        bool each = seen[i].declared;
        for (size_t k = 0; k < all->len && each; k++) each = tc_capture_pins(all->data[k], i);
        if (each) return true;
    }
    return false;
}

/* The mode's program and, after it in `all`, its programs for other sides. */
static void mode_and_sides(C *c, V m, module *mod, const tc_capture_request *r, const char *name, bool optional, tc_side_programs *all) {
    one_capture o = {.name = name};
    tc_program *p = guarded_mode(c, m, mod, r, &o, optional);
    if (!p) return;
    tc_vec_push(all, p);
    if (!o.nseen) return;
    side_job j = {.c = c, .m = m, .mod = mod, .r = r, .name = name, .follow = o.follow, .nfollow = o.nfollow, .count = 1};
    look_for_sides(&j, &o, all);
    if (!tc_capture_side_forced(o.k) || (all->len > 1 && !one_value_each(all, (size_t)r->sides, o.seen, o.nseen))) return;
    release_all(all); /* no other side, or only more of the same kind: the branch fixes the size after all */
    o = (one_capture){.name = name, .follow = j.follow, .nfollow = j.nfollow, .strict = true};
    p = guarded_mode(c, m, mod, r, &o, optional);
    if (p) tc_vec_push(all, p);
}

static V set_mode(C *c, V m, bool train) {
    if (tc_kind_of(m) == K_FUNC) return m;
    V f = tc_getattr_or(c, m, tc_intern(c, "train", 5));
    if (f) tc_call1(c, f, tc_bool(c, train));
    return m;
}

/* The same for a program that shares its weights with another, or with a file loaded later: train() must not change their values. */
static V set_mode_only(C *c, V m, bool train, const tc_capture_request *r) {
    if (tc_kind_of(m) == K_FUNC || (r->eval != r->train && !r->weights)) return set_mode(c, m, train);
    V f = tc_module_attr(c, tc_import(c, "torch.nn.module", true), tc_intern(c, "_set_mode", 9));
    V changed = tc_call2(c, f, m, tc_bool(c, train));
    if (changed != c->none)
        tc_raise_code(c, TC_UNSUPPORTED,
                      "train(%s) of the model changes the values of %s: the programs for eval and train have one set of weights, which is also what "
                      "--weights loads; --mode eval without --weights keeps the changed values",
                      train ? "True" : "False", tc_as_str(changed)->s);
    return m;
}

/* The same for the list of failures. An error raised by the model itself may be due to the chosen sizes, so others are tried. */
static void look_at_mode(C *c, V m, module *mod, const tc_capture_request *r) {
    size_t from = tc_keep_count(c), first = from;
    for (int attempt = 0; attempt < TC_CAPTURE_ATTEMPTS; attempt++) {
        size_t now = tc_keep_count(c);
        tc_keep_point at = tc_keep_mark(c, NULL);
        trap t;
        if (TC_TRAP_PASSING(c, t)) {
            capture_mode(c, m, mod, r, &(one_capture){.name = "model", .attempt = attempt});
            tc_untrap(c, &t);
        } else tc_keep_note(c, at);
        bool chosen = tc_capture_chose_sizes(c), refused = tc_keep_refused(c, now);
        tc_capture_abandon(c);
        if (attempt == 0) first = tc_keep_count(c);
        else if (refused) tc_keep_drop(c, now, tc_keep_count(c));
        else tc_keep_drop(c, from, first);
        if (!refused || !chosen) break;
    }
}

static void look(C *c, const tc_capture_request *r) {
    tc_keep_point at = tc_keep_mark(c, NULL);
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        module *mod = load(c, r);
        V m = construct(c, mod, r);
        bool known = !tc_keep_unknown(c, m), both = r->eval == r->train;
        if (known && (both || r->eval)) look_at_mode(c, set_mode(c, m, false), mod, r);
        if (known && (both || r->train)) look_at_mode(c, set_mode(c, m, true), mod, r);
        tc_untrap(c, &t);
    } else tc_keep_note(c, at);
}

static bool same_graph(const tc_program *a, const tc_program *b) {
    if (a->graph->nnodes != b->graph->nnodes) return false;
    tc_buf x = {0}, y = {0};
    tc_program_print(&x, a, TC_PRINT_SHORT);
    tc_program_print(&y, b, TC_PRINT_SHORT);
    const char *p = strchr(tc_buf_str(&x), '\n'), *q = strchr(tc_buf_str(&y), '\n'); /* the first line has the program's name */
    bool same = p && q && !strcmp(p, q);
    tc_buf_free(&x);
    tc_buf_free(&y);
    return same;
}

/* Lazy modules, which take their size from their first input, are materialised by a capture that is discarded; parameters and random draws remain. */
static void materialise(C *c, V m, module *mod, const tc_capture_request *r) {
    if (tc_type_of(c, m)->kind != K_OBJECT || !m->attrs || !tc_dict_gets(c, m->attrs, c->n__modules)) return;
    const list *modules = tc_torch_named_modules(c, m, tc_intern(c, "", 0));
    for (size_t i = 0; i < modules->n; i++) {
        size_t n;
        const V sub = tc_items(modules->a[i], &n)[1];
        if (!tc_type_lookup(c, sub->type, tc_intern(c, "_materialize", 12))) continue;
        one_capture o = {.name = "model"};
        tc_program_release(guarded_mode(c, set_mode_only(c, m, false, r), mod, r, &o, false));
        return;
    }
}

static void run(C *c, void *ctx) {
    job *j = ctx;
    const tc_capture_request *r = j->r;
    module *mod = load(c, r);
    V m = construct(c, mod, r);
    bool both = r->eval == r->train;
    tc_capture_run_load_hooks(c, m, r, j->out);
    c->forward_printed = c->printed.len;
    materialise(c, m, mod, r);
    if (both || r->eval) mode_and_sides(c, set_mode_only(c, m, false, r), mod, r, "model", false, &j->model);
    if (both || r->train) {
        mode_and_sides(c, set_mode_only(c, m, true, r), mod, r, "train", both && r->eval_suffices, &j->train);
        bool same = both && j->train.len == j->model.len;
        for (size_t i = 0; i < j->train.len && same; i++) same = same_graph(j->model.data[i], j->train.data[i]);
        if (same) release_all(&j->train);
    }
}

/* Gives the captured programs to the caller. */
static void hand_over(job *j, bool failed) {
    tc_capture_result *out = j->out;
    if (failed) release_all(&j->model), release_all(&j->train), tc_capture_stored_free(out);
    const size_t nmodel = j->model.len, ntrain = j->train.len;
    if (nmodel) out->model = j->model.data[0];
    if (ntrain) out->train = j->train.data[0];
    if (nmodel > 1 || ntrain > 1) out->others = tc_xcalloc(nmodel + ntrain, sizeof *out->others);
    for (size_t i = 1; i < nmodel && out->others; i++) out->others[out->nothers++] = j->model.data[i];
    for (size_t i = 1; i < ntrain && out->others; i++) out->others[out->nothers++] = j->train.data[i];
    tc_vec_free(&j->model);
    tc_vec_free(&j->train);
}

static tc_status with_context(const tc_capture_request *r, void (*fn)(C *, void *), job *j) {
    C *c;
    struct tc_generator gen = {0};
    tc_generator_seed(&gen, r->seed);
    tc_profile_phase(r->profile, "setting up the model language");
    TC_TRY(tc_lang_create_with(&r->limits, r->run, &gen, &c));
    c->warn = r->warn, c->warn_self = r->warn_self;
    c->profile = r->profile;
    tc_profile_phase(r->profile, "reading the source");
    tc_draft draft = {.observe = r->observe, .self = r->observe_self};
    if (r->observe && fn == run) c->draft = &draft;
    tc_status st = tc_lang_run(c, fn, j);
    if (draft.report.len && j->out) j->out->draft = tc_xstrdup(tc_buf_str(&draft.report)), j->out->decided = draft.places;
    tc_buf_free(&draft.report);
    if (j->out && c->printed.len) j->out->printed = tc_xstrdup(tc_buf_str(&c->printed));
    tc_lang_destroy(c);
    return st;
}

static void keep_going(C *c, void *ctx) {
    job *j = ctx;
    c->warn = NULL; /* the failed run has warned already */
    tc_keep_begin(c);
    look(c, j->r);
    j->failures = tc_keep_take(c, &j->nfailures);
}

/* Lists every failure of the source; `first` is one of them. */
static tc_status list_failures(const tc_capture_request *r, tc_status first, tc_capture_result *out) {
    job j = {.r = r};
    tc_status st = with_context(r, keep_going, &j);
    tc_place a = tc_status_place(first);
    bool listed = false;
    for (size_t i = 0; i < j.nfailures && !listed; i++) {
        tc_place b = tc_status_place(j.failures[i]);
        listed = (a.file && b.file ? !strcmp(a.file, b.file) : a.file == b.file) && a.line == b.line && a.col == b.col;
    }
    tc_status_free(st);
    out->failures = tc_xcalloc(j.nfailures + 1, sizeof *out->failures);
    if (!listed) out->failures[out->nfailures++] = first;
    else tc_status_free(first);
    for (size_t i = 0; i < j.nfailures; i++) out->failures[out->nfailures++] = j.failures[i];
    free(j.failures);
    return tc_error(TC_CONTENT, "%s: %zu construct%s cannot be captured", r->path, out->nfailures, out->nfailures == 1 ? "" : "s");
}

tc_status tc_capture_source(const tc_capture_request *r, tc_capture_result *out) {
    *out = (tc_capture_result){0};
    job j = {.r = r, .out = out};
    tc_status st = with_context(r, run, &j);
    if (st && r->keep_going && tc_status_code(st) != TC_ENV) st = list_failures(r, st, out);
    hand_over(&j, st != NULL);
    return st;
}

/* ---- listing ---- */
static void list_classes(C *c, void *ctx) {
    job *j = ctx;
    module *mod = tc_lang_load_script(c, j->r->path, tc_arena_strndup(&c->arena, j->r->text, j->r->len), j->r->len);
    V base = tc_module_attr(c, tc_import(c, "torch.nn", true), tc_intern(c, "Module", 6)), key, v;
    for (size_t i = 0; tc_dict_next(mod->d, &i, &key, &v);) {
        if (tc_kind_of(v) != K_TYPE || !((type *)v)->user || ((type *)v)->module_name != mod->name || !tc_issubclass(c, v, base)) continue;
        tc_buf_printf(j->list, "%s(", tc_as_str(key)->s);
        V init = tc_type_lookup(c, (type *)v, c->n___init__);
        if (init && tc_kind_of(init) == K_FUNC) {
            list *sig = (list *)tc_func_signature(c, (func *)init);
            for (size_t s = 1; s < sig->n; s++) {
                size_t n;
                V *p = tc_items(sig->a[s], &n);
                int64_t pk = tc_small(p[1]);
                tc_buf_printf(j->list, "%s%s%s", s > 1 ? ", " : "", pk == P_VAR ? "*" : pk == P_KW ? "**" : "", tc_as_str(p[0])->s);
                if (p[2] != c->ellipsis) tc_buf_printf(j->list, "=%s", tc_repr(c, p[2])->s);
            }
        }
        tc_buf_puts(j->list, ")\n");
    }
}

tc_status tc_capture_list(const tc_capture_request *r, tc_buf *out) {
    job j = {.r = r, .list = out};
    return with_context(r, list_classes, &j);
}
