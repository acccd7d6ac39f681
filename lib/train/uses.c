/* Analyses a recipe expression by its syntax tree: which names it reads and whether it calls the model:  F.cross_entropy(m(x), y) reads F, m, x and y
 * and calls m. */
#include "capture/ast.h"
#include "train/internal.h"

#include <string.h>

typedef bool (*test)(const ast *e, const char *name);

static bool is_name(const ast *e, const char *name) { return e && e->kind == N_NAME && (!name || !strcmp(e->name->s, name)); }

/* Does the test hold for any node of e? */
static bool any(const ast *e, test holds, const char *name) {
    if (!e) return false;
    if (holds(e, name) || any(e->a, holds, name) || any(e->b, holds, name) || any(e->c, holds, name)) return true;
    for (int i = 0; i < e->n; i++)
        if (any(e->list[i], holds, name)) return true;
    for (int i = 0; i < e->n2; i++)
        if (any(e->list2[i], holds, name)) return true;
    if (e->kind != N_LAMBDA) return false;
    for (int i = 0; i < e->sc->nparams; i++)
        if (any(e->sc->params[i].def, holds, name)) return true;
    return any(e->sc->expr, holds, name);
}

bool tc_train_reads(const ast *e, const char *name) { return any(e, is_name, name); }

static bool calls(const ast *e, const char *name) {
    if (e->kind != N_CALL) return false;
    const ast *callee = e->a;
    while (callee->kind == N_ATTR || callee->kind == N_INDEX) callee = callee->a;
    const bool own = is_name(callee, name);
    for (int i = 0; i < e->n + e->n2; i++) {
        const ast *x = i < e->n ? e->list[i] : e->list2[i - e->n];
        if (x->kind == N_KEYWORD || x->kind == N_STAR) x = x->a;
        if (is_name(x, name) || (own && tc_train_reads(x, NULL))) return true;
    }
    return own && callee == e->a;
}

bool tc_train_calls_model(const ast *e) { return any(e, calls, "m"); }
