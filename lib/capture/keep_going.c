/* --keep-going: continues after errors and collects them (keep_going.h). */
#include "capture/keep_going.h"

#include "capture/torch.h"

#include <stdlib.h>

typedef struct {
    tc_status status;
    const file *file;
    int line, col;
    const char *id;
    bool refused;
} kept;

enum { MAX_KEPT = 1000, MAX_EXPLORED = 64 };
struct tc_keep {
    V unknown;
    dict *lost;      /* names that skipped statements would have bound */
    size_t unknowns; /* number of expressions that were unknown; calls with a known result take theirs back */
    const ast *explored[MAX_EXPLORED];
    int nexplored;
    bool guessed; /* values differ from those of a real run, so shapes and values are no longer checked */
    TC_VEC(kept) list;
};

void tc_keep_begin(C *c) {
    tc_keep *k = tc_xcalloc(1, sizeof *k);
    c->keep = NULL;
    module *m = tc_import(c, "_unknown", true);
    k->unknown = tc_call0(c, tc_module_attr(c, m, tc_intern(c, "Unknown", 7)));
    k->lost = tc_dict(c);
    c->keep = k;
}

static void drop(tc_keep *k, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) tc_status_free(k->list.data[i].status);
    memmove(k->list.data + from, k->list.data + to, (k->list.len - to) * sizeof *k->list.data);
    k->list.len -= to - from;
}

void tc_keep_release(C *c) {
    if (!c->keep) return;
    if (c->keep->list.len) drop(c->keep, 0, c->keep->list.len);
    tc_vec_free(&c->keep->list);
    free(c->keep);
    c->keep = NULL;
}

size_t tc_keep_count(const C *c) { return c->keep->list.len; }
void tc_keep_drop(C *c, size_t from, size_t to) {
    if (to > from) drop(c->keep, from, to);
}

bool tc_keep_refused(const C *c, size_t from) {
    bool any = false;
    for (size_t i = from; i < c->keep->list.len; i++) any |= c->keep->list.data[i].refused;
    return any;
}

bool tc_keep_unknown(const C *c, V v) { return c->keep && v == c->keep->unknown; }

/* ---- the list ---- */
static int by_place(const void *a, const void *b) {
    const kept *x = a, *y = b;
    int files = !x->file || !y->file ? !x->file - !y->file : strcmp(x->file->name, y->file->name);
    return files ? files : x->line != y->line ? (x->line > y->line) - (x->line < y->line) : (x->col > y->col) - (x->col < y->col);
}

tc_status *tc_keep_take(C *c, size_t *out_n) {
    tc_keep *k = c->keep;
    size_t n = k->list.len;
    tc_status *all = tc_xcalloc(n + 1, sizeof *all);
    if (n) qsort(k->list.data, n, sizeof *k->list.data, by_place);
    for (size_t i = 0; i < n; i++) all[i] = k->list.data[i].status;
    k->list.len = 0;
    *out_n = n;
    return all;
}

/* Consequential errors: they are about the unknown value, or about a name that a skipped statement would have bound. */
static bool follows(C *c, const exc *e, const char *message) {
    const char *last = NULL;
    if (strstr(message, "Unknown")) return true;
    if (strcmp(e->h.type->name->s, "NameError") && strcmp(e->h.type->name->s, "UnboundLocalError") && strcmp(e->h.type->name->s, "AttributeError"))
        return false;
    for (const char *p = strchr(message, '\''); p;) { /* the last word in quotes */
        const char *q = strchr(p + 1, '\'');
        if (!q) break;
        last = p + 1;
        if (tc_dict_get(c, c->keep->lost, (V)tc_intern(c, last, (size_t)(q - last)))) return true;
        p = strchr(q + 1, '\'');
    }
    return false;
}

static void note(C *c, V v, bool silent) {
    tc_keep *k = c->keep;
    exc *e = (exc *)v;
    if (silent || (e->raised && k->nexplored) || k->list.len >= MAX_KEPT) return;
    tc_status s = tc_exc_status(c, v);
    const char *message = tc_status_message(s), *name = v->type->name->s, *id = message + strlen(message);
    while (id > message && *id != '[') id--;
    kept x = {.status = s, .file = e->file, .line = e->line, .col = e->col};
    x.id = tc_arena_strdup(&c->arena, id);
    x.refused = e->raised || !strcmp(name, "ValueError") || !strcmp(name, "RuntimeError") || !strcmp(name, "IndexError");
    bool known = follows(c, e, message) || (k->guessed && strncmp(id, "[TC010", 6) && strncmp(id, "[TC012", 6) && strncmp(id, "[TC0161", 7)) ||
                 (k->guessed && !strncmp(id, "[TC0123", 7));
    for (size_t i = 0; i < k->list.len && !known; i++) {
        const kept *y = &k->list.data[i];
        known = y->file == x.file && y->line == x.line && y->col == x.col && !strcmp(y->id, x.id);
    }
    if (known) tc_status_free(s);
    else tc_vec_push(&k->list, x);
}

/* ---- going on ---- */
tc_keep_point tc_keep_mark(C *c, frame *f) {
    struct tc_torch *T = c->torch;
    return (tc_keep_point){.region = T->region,
                           .graph = T->graph,
                           .no_grad = T->no_grad,
                           .inference = T->inference,
                           .capturing = c->capturing,
                           .autocast = (int)T->autocast,
                           .handling = f ? f->handling : NULL,
                           .unknowns = c->keep->unknowns};
}

/* Will the model or the library catch c->exc further out? Limits are never caught. */
static bool caught(C *c) {
    V e = c->exc;
    type *any = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "Exception", 9));
    if (((exc *)e)->limit) return true;
    if (!tc_issubtype(e->type, any)) return false;
    for (const trap *t = c->traps; t; t = t->prev)
        if (!t->passes) return true;
    return false;
}

static void restore(C *c, frame *f, tc_keep_point at) {
    struct tc_torch *T = c->torch;
    tc_torch_unwind(c, at.region);
    T->graph = at.graph, T->no_grad = at.no_grad, T->inference = at.inference, T->autocast = (tc_dtype)at.autocast;
    c->capturing = at.capturing;
    if (f) f->handling = at.handling;
}

V tc_keep_eval(C *c, frame *f, const ast *n) {
    tc_keep *k = c->keep;
    tc_keep_point at = tc_keep_mark(c, f);
    V volatile v = NULL;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        v = tc_eval_node(c, f, n);
        tc_untrap(c, &t);
    } else {
        V e = c->exc;
        if (caught(c)) tc_raise_again(c, e);
        restore(c, f, at);
        note(c, e, k->unknowns != at.unknowns);
        v = k->unknown;
        if (n->kind == N_COND) { /* the type of either branch */
            V yes = tc_eval_expr(c, f, n->b), no = tc_eval_expr(c, f, n->c);
            v = yes == k->unknown ? no : yes;
        }
    }
    if (v == k->unknown) k->unknowns = at.unknowns + 1;
    else if (n->kind == N_CALL) k->unknowns = at.unknowns;
    return v;
}

V tc_keep_getattr(C *c, V o, str *name) {
    tc_keep_point at = tc_keep_mark(c, NULL);
    V volatile v = NULL;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        v = tc_getattr(c, o, name);
        tc_untrap(c, &t);
    } else {
        tc_keep_note(c, at);
        v = c->keep->unknown;
    }
    return v;
}

void tc_keep_note(C *c, tc_keep_point at) {
    V e = c->exc;
    if (caught(c)) tc_raise_again(c, e);
    V handling = c->fr ? c->fr->handling : NULL;
    restore(c, NULL, at);
    if (c->fr) c->fr->handling = handling;
    note(c, e, false);
}

int tc_keep_truth(C *c, V v, const char *what) {
    tc_keep_point at = tc_keep_mark(c, NULL);
    volatile int yes = -1;
    trap t;
    if (tc_keep_unknown(c, v)) return -1;
    if (TC_TRAP_PASSING(c, t)) {
        yes = tc_kind_of(v) == K_TENSOR && what ? tc_tensor_truth(c, v, what) : tc_truth(c, v);
        tc_untrap(c, &t);
    } else tc_keep_note(c, at);
    return yes;
}

bool tc_keep_enter(C *c, const ast *n) {
    tc_keep *k = c->keep;
    for (int i = 0; i < k->nexplored; i++)
        if (k->explored[i] == n) return false;
    if (k->nexplored == MAX_EXPLORED) return false;
    k->explored[k->nexplored++] = n;
    k->guessed = true;
    return true;
}
void tc_keep_leave(C *c) { c->keep->nexplored--; }

bool tc_keep_retains(C *c, frame *f, const ast *t, V v) {
    if (!tc_keep_unknown(c, v) || t->kind != N_NAME || (t->var->kind != VAR_LOCAL && t->var->kind != VAR_FREE)) return false;
    V old = f->slots[t->var->slot];
    if (t->var->cell && old) old = ((cell *)old)->v;
    if (!old || tc_kind_of(old) != K_TENSOR) return false;
    return c->keep->guessed = true;
}

static void lose(C *c, frame *f, const ast *t) {
    V u = c->keep->unknown;
    switch (t->kind) {
    case N_NAME:
        if (!tc_keep_retains(c, f, t, u)) tc_store(c, f, t, u);
        break;
    case N_STAR: lose(c, f, t->a); break;
    case N_TUPLE:
    case N_LIST:
        for (int i = 0; i < t->n; i++) lose(c, f, t->list[i]);
        break;
    case N_ATTR: {
        V o = tc_eval_expr(c, f, t->a);
        if (tc_kind_of(o) == K_OBJECT && o != u) tc_object_setattr(c, o, t->name, u);
        break;
    }
    default: break;
    }
}

bool tc_keep_failed(C *c, frame *f, const ast *n, tc_keep_point at) {
    V e = c->exc;
    if (caught(c)) tc_raise_again(c, e);
    restore(c, f, at);
    bool own = n->kind == N_FOR || n->kind == N_WHILE || n->kind == N_IF || n->kind == N_WITH || n->kind == N_TRY || n->kind == N_DEF;
    note(c, e, !own && c->keep->unknowns != at.unknowns);
    switch (n->kind) {
    case N_ASSIGN:
    case N_IMPORT:
    case N_FROM:
        for (int i = 0; i < n->n; i++) lose(c, f, n->kind == N_ASSIGN ? n->list[i] : n->list[i]->a);
        break;
    case N_AUG:
    case N_ANN:
    case N_FOR:
    case N_DEF:
    case N_CLASS: lose(c, f, n->a); break;
    case N_RAISE: f->ret = c->keep->unknown; return true;
    default: break;
    }
    return false;
}

void tc_keep_syntax(C *c) {
    V e = c->exc;
    if (((exc *)e)->limit) tc_raise_again(c, e);
    note(c, e, false);
}

void tc_keep_lose(C *c, str *name) { tc_dict_set(c, c->keep->lost, (V)name, c->none); }
