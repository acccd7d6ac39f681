/* torch.inference_mode: tensors made in it may be written to only in it, and never require a gradient; views of them are such tensors too.
 * What shows the elements of an argument (a view, or the argument itself, as contiguous may give) is as that argument is. */
#include "capture/torch_bind.h"
#include "op/functionalise.h"

static _Noreturn void refuse(C *c, const tensor *t, const char *what, const char *cure) {
    const tc_source *made = t->inference;
    if (made->file) tc_raise(c, "RuntimeError", "%s is not allowed (it was made in inference mode at %s:%d)%s", what, made->file, made->line, cure);
    tc_raise(c, "RuntimeError", "%s is not allowed%s", what, cure);
}

static void check(C *c, V v) {
    if (tc_is_tensor(v) && ((tensor *)v)->inference)
        refuse(c, (tensor *)v, "Inplace update to inference tensor outside InferenceMode",
               ". You can make a clone to get a normal tensor before doing inplace update.");
}

static void each(C *c, V v, void (*one)(C *c, V v)) {
    size_t n = 1;
    V *all = v && tc_is_seq(v) ? tc_items(v, &n) : &v;
    for (size_t i = 0; v && i < n; i++) one(c, all[i]);
}

void tc_inference_check(C *c, const tc_schema *s, const tc_binding *b) {
    if (c->torch->inference || !c->torch->any_inference) return;
    for (int i = 0; i < s->nparams && i < b->n; i++)
        if (s->params[i].mutated) each(c, b->object[i], check);
    each(c, b->out, check);
}

static void mark(C *c, V v) {
    if (!tc_is_tensor(v) || ((tensor *)v)->inference) return;
    tc_source at = tc_here(c), *made = tc_arena_alloc(&c->arena, sizeof *made);
    *made = at;
    if (at.file) made->file = tc_arena_strdup(&c->arena, at.file);
    ((tensor *)v)->inference = made;
    c->torch->any_inference = true;
}

static bool among(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name)) names++;
    return *names != NULL;
}

/* Whether an equation over one operand leaves nothing to sum: every label of it stands in the result. */
static bool sums_nothing(const char *equation) {
    const char *arrow = strstr(equation, "->");
    for (const char *p = equation; *p && p != arrow; p++) {
        const char *again = strchr(arrow ? arrow + 2 : p + 1, *p);
        if (*p != ' ' && *p != '.' && !again == (arrow != NULL)) return false;
    }
    return !arrow || !memchr(equation, '.', (size_t)(arrow - equation)) || strchr(arrow, '.');
}

/* The argument that result number k shows, or the k-th tensor of, though the schema calls it no view: operators made of views. -1: none. */
static int made_of_views(const tc_op *op, const tc_binding *b) {
    const char *name = tc_op_schema(op)->name;
    const bool einsum = !strcmp(name, "einsum");
    if (einsum || !strcmp(name, "cartesian_prod")) {
        size_t n = 0;
        if (b->object[einsum] && tc_is_seq(b->object[einsum])) tc_items(b->object[einsum], &n);
        return n == 1 && (!einsum || sums_nothing(b->arg[0].string)) ? einsum : -1;
    }
    return tc_op_made_of_views(op) ? 0 : -1;
}

/* Whether r shows the elements of t, argument number i: by their storage, or by the schema where no copy may have been made. A change of type
 * makes a copy, or a view that PyTorch calls new. */
static bool shows(const tc_schema *s, int i, const tensor *t, const tensor *r) {
    static const char *const may_copy[] = {"contiguous", "reshape", "reshape_as", "flatten", "ravel", NULL};
    static const char *const retype[] = {"view_as_real", "view_as_complex", NULL};
    if (t == r) return true;
    if (tc_torch_dtype((V)t) != tc_torch_dtype((V)r) && !among(s->name, retype)) return false;
    bool known = t->t.storage && r->t.storage;
    return (known && t->t.storage == r->t.storage) || (s->is_view && i == 0 && !(known && among(s->name, may_copy)));
}

/* The argument whose elements r, result number at, shows; NULL: it has its own. */
static const tensor *looked_at(const tc_op *op, const tc_binding *b, const tensor *r, size_t at) {
    const tc_schema *s = tc_op_schema(op);
    const int made = made_of_views(op, b);
    for (int i = 0; i < b->n; i++) {
        size_t n = 1;
        const V *all = b->object[i] && tc_is_seq(b->object[i]) ? tc_items(b->object[i], &n) : &b->object[i];
        for (size_t k = 0; b->object[i] && k < n; k++)
            if (tc_is_tensor(all[k]) && (shows(s, i, (tensor *)all[k], r) || (i == made && k == at))) return (tensor *)all[k];
    }
    return NULL;
}

void tc_inference_mark(C *c, const tc_op *op, const tc_binding *b, V result) {
    const tc_schema *s = tc_op_schema(op);
    if ((!c->torch->any_inference && !c->torch->inference) || s->inplace || b->out || !result) return;
    size_t n = 1;
    V *all = tc_is_seq(result) ? tc_items(result, &n) : &result;
    for (size_t i = 0; i < n; i++) {
        if (!tc_is_tensor(all[i])) continue;
        const tensor *of = looked_at(op, b, (tensor *)all[i], i);
        if (of) ((tensor *)all[i])->inference = of->inference;
        else if (c->torch->inference) mark(c, all[i]);
    }
}

V tc_inference_made(C *c, V v) {
    if (c->torch->inference) each(c, v, mark);
    return v;
}

void tc_inference_no_grad(C *c, const tensor *t) {
    if (t->inference && !c->torch->inference) refuse(c, t, "Setting requires_grad=True on inference tensor outside InferenceMode", "");
}
