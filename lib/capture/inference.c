/* torch.inference_mode: tensors created in it may be mutated only in it and never require a gradient. Results that alias an argument (views, or the
 * argument itself) are inference tensors if the argument is one. */
#include "capture/torch_bind.h"
#include "grad/grad.h"
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

/* The tensor that v is a view of, followed through the nodes that made it. NULL: v has memory of its own. */
static tc_value *alias_source(C *c, tc_looked *last, tc_value *v) {
    const tc_node *n = v->producer;
    int at = 0;
    if (!n) return NULL;
    if (last->at != n) {
        last->at = n;
        tc_status st = tc_result_aliases(n, &last->aliases, &last->count);
        if (st) tc_raise_status(c, "RuntimeError", st);
    }
    for (int i = 0; i < n->nouts && at < last->count; i++)
        for (int k = 0; k < (n->outs[i]->kind == TC_V_LIST ? n->outs[i]->nlist : 1); k++, at++)
            if ((n->outs[i]->kind == TC_V_LIST ? n->outs[i]->list[k] : n->outs[i]) == v) return last->aliases[at].of;
    return NULL;
}

/* Does r alias t? Concrete tensors: by storage; others: by the nodes that made them. */
static bool shows(C *c, tc_looked *last, const tensor *t, const tensor *r) {
    if (t == r) return true;
    if (t->t.storage && r->t.storage) return t->t.storage == r->t.storage;
    const tc_value *of = t->v ? t->v : c->torch->lift(c, (tensor *)t);
    for (tc_value *v = r->v; v; v = alias_source(c, last, v))
        if (v == of) return true;
    return false;
}

const tensor *tc_inference_looked_at(C *c, tc_looked *last, const tc_schema *s, const tc_binding *b, const tensor *r) {
    if (c->torch->inference && !strcmp(s->name, "view") && !strcmp(s->overload, "dtype")) return NULL;
    for (int i = 0; i < b->n; i++) {
        size_t n = 1;
        const V *all = b->object[i] && tc_is_seq(b->object[i]) ? tc_items(b->object[i], &n) : &b->object[i];
        for (size_t k = 0; b->object[i] && k < n; k++)
            if (tc_is_tensor(all[k]) && shows(c, last, (tensor *)all[k], r)) return (tensor *)all[k];
    }
    return NULL;
}

/* The values of arguments that are inference tensors; *out_made: one of them. */
static tc_value **made_there(C *c, const tc_binding *b, size_t *out_n, const tensor **out_made) {
    TC_VEC(tc_value *) found = {0};
    for (int i = 0; i < b->n; i++) {
        size_t n = 1;
        const V *all = b->object[i] && tc_is_seq(b->object[i]) ? tc_items(b->object[i], &n) : &b->object[i];
        for (size_t k = 0; b->object[i] && k < n; k++) {
            tensor *t = (tensor *)all[k];
            if (!tc_is_tensor(all[k]) || !t->inference) continue;
            tc_avec_push(c, &found, t->v ? t->v : c->torch->lift(c, t));
            *out_made = t;
        }
    }
    *out_n = found.len;
    return found.data;
}

/* A result that requires a gradient must not need an inference tensor for it. */
static void check_kept(C *c, const tc_binding *b, V result) {
    size_t n = 1, nvalues;
    V *all = tc_is_seq(result) ? tc_items(result, &n) : &result;
    const tensor *r = NULL, *made = NULL;
    bool kept = false;
    for (size_t i = 0; i < n && !r; i++)
        if (tc_is_tensor(all[i]) && ((tensor *)all[i])->v && ((tensor *)all[i])->v->meta.requires_grad) r = (tensor *)all[i];
    if (!r || !r->v->producer) return;
    tc_value **values = made_there(c, b, &nvalues, &made);
    if (!nvalues) return;
    tc_status st = tc_grad_reads(r->v->producer, values, nvalues, &kept);
    if (st) tc_raise_status(c, "RuntimeError", st);
    if (kept)
        tc_raise(
            c, "RuntimeError",
            "Inference tensors cannot be saved for backward (it was made in inference mode at %s:%d). You can make a clone to get a normal tensor "
            "and use it in autograd, or use torch.no_grad() instead of torch.inference_mode().",
            made->inference->file ? made->inference->file : "?", made->inference->line);
}

void tc_inference_mark(C *c, const tc_op *op, const tc_binding *b, V result) {
    const tc_schema *s = tc_op_schema(op);
    if (c->torch->any_inference && !c->torch->inference && !c->torch->no_grad && c->torch->graph && result) check_kept(c, b, result);
    if ((!c->torch->any_inference && !c->torch->inference) || s->inplace || b->out || !result) return;
    size_t n = 1;
    V *all = tc_is_seq(result) ? tc_items(result, &n) : &result;
    tc_looked last = {0};
    for (size_t i = 0; i < n; i++) {
        if (!tc_is_tensor(all[i])) continue;
        const tensor *of = tc_inference_looked_at(c, &last, s, b, (tensor *)all[i]);
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
