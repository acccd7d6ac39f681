/* "Did you mean": the most similar name among those of the object, the scope or the parameters where a name was not found. Computed only when an error
 * ends the evaluation, since caught lookups are ordinary control flow. */
#include "base/text.h"
#include "capture/ast.h"
#include "op/op.h"

typedef struct {
    const char *word, *best;
} search;

static void look_at(search *s, const char *name) {
    if ((name[0] == '_' && s->word[0] != '_') || !strcmp(name, s->word)) return; /* a scope also holds names that are only read in it */
    const char *two[] = {s->best, name};
    s->best = tc_suggest(s->word, two, 2);
}

/* Modules only if nothing else is similar: torch.optim.Sgd means SGD, not the file sgd that holds it. */
static void look_in(search *s, const dict *d) {
    V key, value;
    for (int modules = 0; d && modules < 2 && !(modules && s->best); modules++)
        for (size_t i = 0; tc_dict_next(d, &i, &key, &value);)
            if (tc_kind_of(key) == K_STR && (tc_kind_of(value) == K_MODULE) == modules) look_at(s, tc_as_str(key)->s);
}

static void look_in_list(C *c, search *s, V names) {
    const list *l = tc_to_list(c, names);
    for (size_t i = 0; i < l->n; i++)
        if (tc_kind_of(l->a[i]) == K_STR) look_at(s, tc_as_str(l->a[i])->s);
}

/* The names that a library module finds on first use: the keys of its _index, and sets of names. */
static void look_in_tables(C *c, search *s, const dict *d) {
    V key, value;
    for (size_t i = 0; tc_dict_next(d, &i, &key, &value);)
        if (tc_kind_of(value) == K_SET || !strcmp(tc_as_str(key)->s, "_index")) look_in_list(c, s, value);
}

static void look_in_operators(search *s) {
    for (size_t i = 0; i < tc_op_count(); i++) look_at(s, tc_op_schema(tc_op_at(i))->name);
}

static void look_in_attributes(C *c, search *s, V o) {
    if (tc_kind_of(o) == K_MODULE) {
        const module *m = (module *)o;
        if (m->embedded) look_in_tables(c, s, m->d);
        look_in(s, m->d);
        if (!strcmp(m->name->s, "torch") || !strcmp(m->name->s, "torch.nn.functional")) look_in_operators(s);
    } else {
        V names = tc_type_lookup(c, tc_type_of(c, o), c->n___dir__);
        if (names) look_in_list(c, s, tc_call1(c, names, o));
        if (tc_kind_of(o) == K_TENSOR) look_in_operators(s);
    }
    if (s->best && !tc_getattr_or(c, o, tc_intern(c, s->best, strlen(s->best)))) s->best = NULL; /* an operator that is not a method */
}

static void look_in_scopes(C *c, search *s, const exc *e) {
    for (const scope *sc = e->scope; sc; sc = sc->parent) {
        const bool hides = sc->kind == SC_MODULE || (sc->kind == SC_CLASS && sc != e->scope); /* methods do not see the names of their class */
        for (const var *v = hides ? NULL : sc->vars; v; v = v->next)
            if (v->kind != VAR_GLOBAL) look_at(s, v->name->s);
    }
    look_in(s, e->globals);
    look_in(s, c->builtins);
}

/* A function that was called with a keyword that it has not. */
static void look_in_parameters(search *s, const scope *sc) {
    for (int i = 0; i < sc->nparams; i++)
        if (sc->params[i].kind == P_POS || sc->params[i].kind == P_KWONLY) look_at(s, sc->params[i].name->s);
}

const char *tc_nearest_name(C *c, const exc *e) {
    if (!e->missing) return NULL;
    search s = {.word = e->missing->s};
    trap t;
    if (TC_TRAP(c, t)) {
        if (e->owner && !strcmp(e->h.type->name->s, "TypeError")) look_in_parameters(&s, ((func *)e->owner)->sc);
        else if (e->owner) look_in_attributes(c, &s, e->owner);
        else look_in_scopes(c, &s, e);
        tc_untrap(c, &t);
    } else return NULL; /* a user's __dir__ that fails */
    return s.best;
}
