/* Undoes the changes that forward makes to objects (attributes, containers, closure variables) when its capture ends, so that the next capture of the
 * model (train mode, other example sizes) starts from the constructed state and not with tensors of a finished graph. */
#include "capture/torch.h"

static void note(C *c, struct change x) { tc_avec_push(c, &c->torch->changes, x); }

dict *tc_undo_attributes(V o) { return tc_kind_of(o) == K_TYPE ? ((type *)o)->d : o->attrs; }

void tc_undo_attr(C *c, obj *o, str *name) {
    if (!c->capturing || !c->torch) return;
    dict *d = tc_undo_attributes(o);
    note(c, (struct change){.owner = (V)o, .name = name, .before = d ? tc_dict_gets(c, d, name) : NULL});
}

/* The dict of a dict or set. */
static dict *table(V o) { return tc_kind_of(o) == K_SET ? ((set *)o)->d : (dict *)o; }

void tc_undo_container(C *c, V o) {
    if (!c->capturing || !c->torch) return;
    void **noted = tc_map_put(&c->torch->noted, (const char *)&o, sizeof o);
    if (*noted) return;
    *noted = o;
    V copy = tc_kind_of(o) == K_LIST ? (V)tc_list_of(c, ((list *)o)->n, ((list *)o)->a) : (V)tc_dict_copy(c, table(o));
    note(c, (struct change){.owner = o, .before = copy});
}

void tc_undo_cell(C *c, cell *o, str *name) {
    if (!c->capturing || !c->torch || !o->module) return;
    note(c, (struct change){.owner = (V)o, .name = name, .before = o->v});
    tc_side_effect(c, tc_arena_printf(&c->arena, "the variable %s of a function from before forward is changed", name->s));
}

void tc_undo_all(C *c) {
    struct tc_torch *T = c->torch;
    for (size_t i = T->changes.len; i-- > 0;) {
        struct change *x = &T->changes.data[i];
        if (tc_kind_of(x->owner) == K_CELL) {
            ((cell *)x->owner)->v = x->before;
            continue;
        }
        dict *attributes = tc_undo_attributes(x->owner);
        if (x->name && !attributes) continue;
        if (x->name && tc_kind_of(x->owner) == K_TYPE) tc_type_changed(c);
        if (x->name && x->before) tc_dict_set(c, attributes, (V)x->name, x->before);
        else if (x->name) tc_dict_del(c, attributes, (V)x->name);
        else if (tc_kind_of(x->owner) == K_LIST) {
            list *l = (list *)x->owner, *before = (list *)x->before;
            l->a = before->a, l->n = before->n, l->cap = before->cap;
        } else {
            dict *d = table(x->owner);
            V key, value;
            tc_dict_clear(c, d);
            for (size_t j = 0; tc_dict_next((dict *)x->before, &j, &key, &value);) tc_dict_set(c, d, key, value);
        }
    }
    tc_undo_forget(c);
}

void tc_undo_forget(C *c) {
    struct tc_torch *T = c->torch;
    T->changes.len = 0;
    tc_map_free(&T->noted);
    T->noted = (tc_map){0};
}
