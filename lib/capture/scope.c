/* Name resolution (scope.h), by Python's rule: a name bound in a function is local in all of it, unless declared global or nonlocal; otherwise it refers
 * to the nearest enclosing function that binds it (classes are skipped), else it is global. A local that an inner function reads lives in a cell shared
 * by both. */
#include "capture/scope.h"

scope *tc_scope_new(C *c, scope_kind k, scope *parent, file *f, str *name, int line, int col) {
    scope *s = tc_mem(c, sizeof *s);
    s->kind = k, s->parent = parent, s->file = f, s->name = name, s->line = line, s->col = col;
    s->vararg = s->kwarg = -1;
    if (parent) tc_vec_push(&parent->kids, s);
    return s;
}

var *tc_scope_var(C *c, scope *s, str *name) {
    void **at = tc_map_put(&s->table, (const char *)&name, sizeof name);
    if (*at) return *at;
    var *v = tc_mem(c, sizeof *v);
    v->name = name, v->slot = -1, v->from = -1;
    v->next = s->vars;
    s->vars = v;
    return *at = v;
}

var *tc_scope_bind(C *c, scope *s, str *name) {
    var *v = tc_scope_var(c, s, name);
    v->bound = true;
    return v;
}

void tc_scope_use(C *c, scope *s, ast *name) {
    tc_vec_push(&s->uses, name);
    if (!strcmp(name->name->s, "super")) { /* reads the class whose body holds the function */
        ast *cls = tc_mem(c, sizeof *cls);
        cls->kind = N_NAME, cls->line = name->line, cls->col = name->col, cls->name = c->n___class__;
        tc_vec_push(&s->uses, cls);
    }
}

static bool functional(const scope *s) { return s->kind == SC_FUNC || s->kind == SC_LAMBDA || s->kind == SC_COMP; }

static var *add_free(C *c, scope *s, var *v) {
    var **grown = tc_mem(c, sizeof(var *) * (size_t)(s->nfree + 1));
    if (s->nfree) memcpy(grown, s->free, sizeof(var *) * (size_t)s->nfree);
    grown[s->nfree++] = v;
    s->free = grown;
    return v;
}

/* The variable that `name` means in function scope s, NULL for a global; passes it through the scopes between as a free one. */
static var *resolve_in(C *c, scope *s, str *name) {
    tc_stack_check(c);
    if (s->kind == SC_MODULE) return NULL;
    if (s->kind == SC_CLASS) {
        if (name == c->n___class__) {
            if (!s->class_cell) {
                s->class_cell = tc_mem(c, sizeof(var));
                *s->class_cell = (var){.name = name, .kind = VAR_LOCAL, .slot = s->nslots++, .cell = true, .bound = true};
            }
            return s->class_cell;
        }
        var **at = (var **)tc_map_put(&s->table, (const char *)&name, sizeof name);
        /* a free variable that only passes through a class body is kept under its own entry */
        if (*at && (*at)->outer) return (*at)->outer->kind == VAR_GLOBAL ? NULL : (*at)->outer;
        var *up = s->parent ? resolve_in(c, s->parent, name) : NULL;
        if (!*at) *at = tc_mem(c, sizeof(var)), (*at)->name = name, (*at)->kind = VAR_CLASS, (*at)->next = s->vars, s->vars = *at;
        var *o = tc_mem(c, sizeof *o);
        *o = (var){.name = name, .kind = VAR_GLOBAL, .slot = -1, .from = -1};
        (*at)->outer = o;
        if (!up) return NULL;
        up->cell = true;
        *o = (var){.name = name, .kind = VAR_FREE, .slot = s->nslots++, .from = up->slot, .cell = true};
        return add_free(c, s, o);
    }
    var *v = tc_map_get(&s->table, (const char *)&name, sizeof name);
    if (v && v->is_global) return NULL;
    if (v && v->bound && !v->is_nonlocal) {
        if (v->slot < 0) v->kind = VAR_LOCAL, v->slot = s->nslots++;
        return v;
    }
    if (v && v->kind == VAR_FREE && v->slot >= 0) return v;
    var *up = s->parent ? resolve_in(c, s->parent, name) : NULL;
    if (!up) return NULL;
    if (!v) v = tc_scope_var(c, s, name);
    up->cell = true;
    v->kind = VAR_FREE, v->cell = true, v->slot = s->nslots++, v->from = up->slot;
    return add_free(c, s, v);
}

static var *global_var(C *c, str *name) {
    var *v = tc_mem(c, sizeof *v);
    v->name = name, v->kind = VAR_GLOBAL, v->slot = -1;
    return v;
}

static void resolve_scope(C *c, scope *s) {
    tc_stack_check(c);
    /* parameters and locals first, so that parameters have the first slots */
    if (functional(s)) {
        for (int i = 0; i < s->nparams; i++) s->params[i].var = resolve_in(c, s, s->params[i].name);
        for (var *v = s->vars; v; v = v->next)
            if (v->bound && !v->is_global && !v->is_nonlocal) resolve_in(c, s, v->name);
    }
    for (size_t i = 0; i < s->uses.len; i++) {
        ast *n = s->uses.data[i];
        if (s->kind == SC_MODULE) {
            n->var = global_var(c, n->name);
        } else if (s->kind == SC_CLASS) {
            var *own = tc_scope_var(c, s, n->name);
            if (own->is_global) {
                n->var = global_var(c, n->name);
                continue;
            }
            resolve_in(c, s, n->name);
            if (n->name == c->n___class__) own->outer = s->class_cell;
            own->kind = VAR_CLASS;
            n->var = own;
        } else {
            var *v = resolve_in(c, s, n->name);
            if (!v) {
                var *own = tc_map_get(&s->table, (const char *)&n->name, sizeof n->name);
                if (own && own->is_nonlocal) tc_syntax(c, s->file, n->line, n->col, "no binding for nonlocal '%s' found", n->name->s);
                v = global_var(c, n->name);
            }
            n->var = v;
            if (!v->used) v->used = n;
        }
    }
    for (size_t i = 0; i < s->kids.len; i++) resolve_scope(c, s->kids.data[i]);
}

void tc_scopes_resolve(C *c, scope *root) { resolve_scope(c, root); }

void tc_scopes_free(scope *s) {
    for (size_t i = 0; i < s->kids.len; i++) tc_scopes_free(s->kids.data[i]);
    tc_map_free(&s->table);
    tc_vec_free(&s->uses);
    tc_vec_free(&s->kids);
}
