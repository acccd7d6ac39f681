/* Iteration: iter() and next() of every iterable. */
#include "capture/object.h"

iter *tc_iter_new(C *c, V (*next)(C *, iter *), V src) {
    iter *it = tc_new(c, K_ITER, sizeof *it);
    it->next = next, it->src = src;
    return it;
}

static V next_seq(C *c, iter *it) {
    (void)c;
    size_t n;
    V *a = tc_items(it->src, &n);
    return (size_t)it->i < n ? a[it->i++] : NULL;
}
static V next_range(C *c, iter *it) {
    if (it->i >= it->n) return NULL;
    return tc_int(c, ((range *)it->src)->start + it->i++ * it->step);
}
static V next_str(C *c, iter *it) {
    str *s = (str *)it->src;
    if (it->i >= s->len) return NULL;
    int64_t e = it->i + 1;
    while (e < s->len && ((unsigned char)s->s[e] & 0xc0) == 0x80) e++;
    V v = (V)tc_intern(c, s->s + it->i, (size_t)(e - it->i));
    it->i = e;
    return v;
}
static V next_dict(C *c, iter *it) {
    dict *d = (dict *)it->f;
    if (it->n != (int64_t)d->live) tc_raise(c, "RuntimeError", "dictionary changed size during iteration");
    size_t i = (size_t)it->i;
    V k, v;
    if (!tc_dict_next(d, &i, &k, &v)) return NULL;
    it->i = (int64_t)i;
    return it->step == 0 ? k : it->step == 1 ? v : tc_tuple_of(c, 2, k, v);
}
static V next_user(C *c, iter *it) {
    trap t;
    V volatile v = NULL;
    if (TC_TRAP(c, t)) {
        v = tc_call1(c, it->f, it->src);
        tc_untrap(c, &t);
    } else if (!tc_exc_is(c, c->exc, "StopIteration")) tc_raise_again(c, c->exc);
    return v;
}
/* iter(f, sentinel): calls f until it returns the sentinel. */
static V next_until(C *c, iter *it) {
    V v = it->n ? NULL : tc_call0(c, it->src);
    if (v && tc_equal(c, v, it->f)) v = NULL;
    it->n = !v;
    return v;
}
V tc_iter_until(C *c, V f, V sentinel) {
    iter *it = tc_iter_new(c, next_until, f);
    it->f = sentinel;
    return (V)it;
}
static V next_getitem(C *c, iter *it) {
    trap t;
    V volatile v = NULL;
    if (TC_TRAP(c, t)) {
        v = tc_call2(c, it->f, it->src, tc_int(c, it->i));
        tc_untrap(c, &t);
    } else if (!tc_exc_is(c, c->exc, "IndexError")) tc_raise_again(c, c->exc);
    it->i++;
    return v;
}

/* The result of iter(): a user's iterator itself, without a wrapper. */
V tc_iter_object(V it) { return tc_kind_of(it) == K_ITER && ((iter *)it)->next == next_user ? ((iter *)it)->src : it; }

static iter *over_dict(C *c, V src, dict *d, int what) {
    iter *it = tc_iter_new(c, next_dict, src);
    it->f = (V)d, it->n = (int64_t)d->live, it->step = what;
    return it;
}

V tc_iter(C *c, V o) {
    kind k = tc_kind_of(o);
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_special(c, o, c->n___iter__);
        if (f && f != c->none) {
            V it = tc_call1(c, f, o);
            if (tc_kind_of(it) == K_ITER || tc_kind_of(it) == K_GENEXPR) return it;
            V n = tc_special(c, it, c->n___next__);
            if (!n) tc_raise(c, "TypeError", "iter() returned non-iterator of type '%s'", tc_type_name(c, it));
            iter *u = tc_iter_new(c, next_user, it);
            u->f = n;
            return (V)u;
        }
        if (k == K_OBJECT && (f = tc_special(c, o, c->n___next__))) {
            iter *u = tc_iter_new(c, next_user, o);
            u->f = f;
            return (V)u;
        }
        if (k == K_OBJECT && (f = tc_special(c, o, c->n___getitem__))) {
            iter *u = tc_iter_new(c, next_getitem, o);
            u->f = f;
            return (V)u;
        }
    }
    switch (k) {
    case K_TUPLE:
    case K_LIST:
    case K_SIZE: return (V)tc_iter_new(c, next_seq, o);
    case K_STR: return (V)tc_iter_new(c, next_str, o);
    case K_DICT: return (V)over_dict(c, o, (dict *)o, 0);
    case K_SET:
    case K_FROZENSET: return (V)over_dict(c, o, ((set *)o)->d, 0);
    case K_MAPPROXY: return (V)over_dict(c, o, ((mapview *)o)->d, ((mapview *)o)->what);
    case K_RANGE: {
        iter *it = tc_iter_new(c, next_range, o);
        it->n = tc_len(c, o), it->step = ((range *)o)->step;
        return (V)it;
    }
    case K_ITER:
    case K_GENEXPR: return o;
    case K_TENSOR: return tc_tensor_iter(c, o);
    default: tc_raise(c, "TypeError", "'%s' object is not iterable", tc_type_name(c, o));
    }
}

V tc_next(C *c, V it) { return ((iter *)it)->next(c, (iter *)it); }

list *tc_to_list(C *c, V o) {
    if (tc_is_seq(o) && !o->type->user) {
        size_t n;
        V *a = tc_items(o, &n);
        return (list *)tc_list_of(c, n, a);
    }
    list *l = tc_list(c, 0);
    tc_list_extend(c, l, o);
    return l;
}
/* What o gives is added one by one, so that an iterator that looks at l sees what it has given, as in `y.extend(m(y[-1]) for m in blocks)`. */
void tc_list_extend(C *c, list *l, V o) {
    if (tc_is_seq(o) && !o->type->user) {
        const list *m = tc_to_list(c, o); /* a copy: o may be l */
        for (size_t i = 0; i < m->n; i++) tc_list_push(c, l, m->a[i]);
        return;
    }
    V it = tc_iter(c, o), v;
    while ((v = tc_next(c, it))) {
        tc_step(c);
        tc_list_push(c, l, v);
    }
}
