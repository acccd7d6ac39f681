/* The module of a source (source.h): its file is run, then the class or factory is called. */
#include "capture/source.h"

#include "base/text.h"
#include "capture/ast.h"

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

module *tc_source_load(C *c, const tc_capture_request *r) {
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
        e->cure = tc_arena_printf(&c->arena, "%s gives the arguments of %s", tc_source_said(r->said.arg, "--arg"), r->class_name);
    tc_raise_again(c, c->exc);
}

V tc_source_construct(C *c, module *m, const tc_capture_request *r) {
    V cls = named(c, m, r);
    bool function = tc_kind_of(cls) != K_TYPE;
    if (function && !is_factory(c, cls, r)) {
        if (r->nargs && tc_kind_of(cls) != K_FUNC)
            tc_raise(c, "TypeError", "%s is made by the file: it takes no %s", r->class_name, tc_source_said(r->said.arg, "--arg"));
        return cls;
    }
    str **kn = tc_mem(c, sizeof(str *) * (size_t)(r->nargs + 1));
    V *kv = tc_mem(c, sizeof(V) * (size_t)(r->nargs + 1)), *pos = tc_mem(c, sizeof(V) * (size_t)(r->nargs + 1));
    args A = {.a = pos, .kn = kn, .kv = kv};
    for (int i = 0; i < r->nargs; i++) {
        V v = tc_lang_eval(c, m, NULL,
                           tc_arena_printf(&c->arena, "%s %s", tc_source_said(r->said.arg, "--arg"), r->args[i].name ? r->args[i].name : ""),
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
        tc_call3(c, tc_getattr(c, util, tc_intern(c, "wrap_classes", 12)), made, names, tc_strz(c, tc_source_said(r->said.checkpoint, "checkpoint")));
    }
    if (r->wide && tc_kind_of(made) == K_OBJECT) tc_call_method(c, made, tc_intern(c, "double", 6), 0, NULL);
    return made;
}
