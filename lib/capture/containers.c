/* Methods of list, tuple, dict, set, int and float. */
#include "capture/object.h"

#include <math.h>
#include <stdio.h>

void tc_sort(C *c, list *l, V key, bool reverse);

/* ---- list ---- */
static list *self_list(C *c, args *A) {
    if (A->n < 1 || tc_kind_of(A->a[0]) != K_LIST) tc_raise(c, "TypeError", "descriptor requires a 'list' object");
    list *l = (list *)A->a[0];
    return l;
}
static list *changed(C *c, args *A) {
    list *l = self_list(c, A);
    tc_global_guard(c, l->module, (V)l);
    return l;
}
static V l_append(C *c, args *A) {
    V v[2];
    tc_take(c, A, "append", "self object", v);
    tc_list_push(c, changed(c, A), v[1]);
    return c->none;
}
static V l_extend(C *c, args *A) {
    V v[2];
    tc_take(c, A, "extend", "self iterable", v);
    tc_list_extend(c, changed(c, A), v[1]);
    return c->none;
}
static V l_insert(C *c, args *A) {
    V v[3];
    tc_take(c, A, "insert", "self index object", v);
    list *l = changed(c, A);
    int64_t i = tc_index(c, v[1], "index");
    if (i < 0) i += (int64_t)l->n;
    if (i < 0) i = 0;
    if (i > (int64_t)l->n) i = (int64_t)l->n;
    tc_list_push(c, l, c->none);
    memmove(l->a + i + 1, l->a + i, (l->n - 1 - (size_t)i) * sizeof(V));
    l->a[i] = v[2];
    return c->none;
}
static V l_pop(C *c, args *A) {
    V v[2];
    tc_take(c, A, "pop", "self index=", v);
    list *l = changed(c, A);
    int64_t i = v[1] ? tc_index(c, v[1], "index") : -1;
    if (!l->n) tc_raise(c, "IndexError", "pop from empty list");
    if (i < 0) i += (int64_t)l->n;
    if (i < 0 || i >= (int64_t)l->n) tc_raise(c, "IndexError", "pop index out of range");
    V x = l->a[i];
    memmove(l->a + i, l->a + i + 1, (l->n - 1 - (size_t)i) * sizeof(V));
    l->n--;
    return x;
}
static int64_t position(C *c, V *a, size_t n, V x) {
    for (size_t i = 0; i < n; i++)
        if (a[i] == x || tc_equal(c, a[i], x)) return (int64_t)i;
    return -1;
}
static V l_remove(C *c, args *A) {
    V v[2];
    tc_take(c, A, "remove", "self value", v);
    list *l = changed(c, A);
    int64_t i = position(c, l->a, l->n, v[1]);
    if (i < 0) tc_raise(c, "ValueError", "list.remove(x): x not in list");
    memmove(l->a + i, l->a + i + 1, (l->n - 1 - (size_t)i) * sizeof(V));
    l->n--;
    return c->none;
}
static V l_clear(C *c, args *A) {
    changed(c, A)->n = 0;
    return c->none;
}
static V l_index(C *c, args *A) {
    V v[4];
    tc_take(c, A, "index", "self value start= stop=", v);
    size_t n;
    V *a = tc_items(A->a[0], &n);
    int64_t from, to, step, count;
    slice part = {.start = v[2] ? v[2] : c->none, .stop = v[3] ? v[3] : c->none, .step = c->none};
    tc_slice_bounds(c, &part, (int64_t)n, &from, &to, &step, &count);
    int64_t i = count ? position(c, a + from, (size_t)count, v[1]) : -1;
    if (i < 0 && tc_kind_of(A->a[0]) == K_TUPLE)
        tc_raise(c, "ValueError", "tuple.index(x): x not in tuple" TC_DETAIL ", which is %s", tc_repr(c, v[1])->s);
    if (i < 0) tc_raise(c, "ValueError", "%s is not in %s", tc_repr(c, v[1])->s, tc_type_name(c, A->a[0]));
    return tc_int(c, i + (int64_t)from);
}
static V l_count(C *c, args *A) {
    V v[2];
    tc_take(c, A, "count", "self value", v);
    size_t n;
    V *a = tc_items(A->a[0], &n);
    int64_t k = 0;
    for (size_t i = 0; i < n; i++) k += tc_equal(c, a[i], v[1]);
    return tc_int(c, k);
}
static V l_copy(C *c, args *A) { return tc_list_of(c, self_list(c, A)->n, self_list(c, A)->a); }
static V l_reverse(C *c, args *A) {
    list *l = changed(c, A);
    for (size_t i = 0; i < l->n / 2; i++) {
        V x = l->a[i];
        l->a[i] = l->a[l->n - 1 - i], l->a[l->n - 1 - i] = x;
    }
    return c->none;
}
static V l_sort(C *c, args *A) {
    V v[3];
    tc_take(c, A, "sort", "self * key= reverse=", v);
    tc_sort(c, changed(c, A), v[1] == c->none ? NULL : v[1], v[2] && tc_truth(c, v[2]));
    return c->none;
}

/* ---- dict ---- */
static dict *self_dict(C *c, args *A) {
    if (A->n < 1 || tc_kind_of(A->a[0]) != K_DICT) tc_raise(c, "TypeError", "descriptor requires a 'dict' object");
    return (dict *)A->a[0];
}
static dict *dchanged(C *c, args *A) {
    dict *d = self_dict(c, A);
    tc_global_guard(c, d->module, (V)d);
    return d;
}
static V view(C *c, args *A, int what) {
    mapview *m = tc_new(c, K_MAPPROXY, sizeof *m);
    m->d = self_dict(c, A), m->what = what;
    return (V)m;
}
static V d_keys(C *c, args *A) { return view(c, A, 0); }
static V d_values(C *c, args *A) { return view(c, A, 1); }
static V d_items(C *c, args *A) { return view(c, A, 2); }
static V d_get(C *c, args *A) {
    V v[3];
    tc_take(c, A, "get", "self key default=", v);
    V x = tc_dict_get(c, self_dict(c, A), v[1]);
    return x ? x : v[2] ? v[2] : c->none;
}
_Noreturn static void key_error(C *c, V key) {
    type *t = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "KeyError", 8));
    tc_raise_value(c, tc_exc_new(c, t, tc_tuple(c, 1, &key)));
}
static V d_pop(C *c, args *A) {
    V v[3];
    tc_take(c, A, "pop", "self key default=", v);
    dict *d = dchanged(c, A);
    V x = tc_dict_get(c, d, v[1]);
    if (!x && !v[2]) key_error(c, v[1]);
    if (!x) return v[2];
    tc_dict_del(c, d, v[1]);
    return x;
}
static V d_popitem(C *c, args *A) {
    V v[2];
    tc_take(c, A, "popitem", "self last=", v);
    dict *d = dchanged(c, A);
    if (!d->live) tc_raise(c, "KeyError", "popitem(): dictionary is empty");
    V k = NULL, x = NULL;
    bool last = !v[1] || tc_truth(c, v[1]);
    for (size_t i = 0; tc_dict_next(d, &i, &k, &x) && last;) {}
    if (last) k = d->e[d->used - 1].key, x = d->e[d->used - 1].val;
    V r = tc_tuple_of(c, 2, k, x);
    tc_dict_del(c, d, k);
    return r;
}
static V d_setdefault(C *c, args *A) {
    V v[3];
    tc_take(c, A, "setdefault", "self key default=", v);
    dict *d = self_dict(c, A);
    V x = tc_dict_get(c, d, v[1]);
    if (x) return x;
    tc_dict_set(c, dchanged(c, A), v[1], v[2] ? v[2] : c->none);
    return v[2] ? v[2] : c->none;
}
static V d_update(C *c, args *A) {
    tc_dict_update(c, dchanged(c, A), A);
    return c->none;
}
static V d_clear(C *c, args *A) {
    tc_dict_clear(c, dchanged(c, A));
    return c->none;
}
static V d_copy(C *c, args *A) { return (V)tc_dict_copy(c, self_dict(c, A)); /* a dict, also for subclasses */ }
static V d_fromkeys(C *c, args *A) {
    V v[3];
    tc_take(c, A, "fromkeys", "cls iterable value=", v);
    dict *d = tc_dict(c);
    list *l = tc_to_list(c, v[1]);
    for (size_t i = 0; i < l->n; i++) tc_dict_set(c, d, l->a[i], v[2] ? v[2] : c->none);
    return (V)d;
}
static V d_move_to_end(C *c, args *A) {
    V v[3];
    tc_take(c, A, "move_to_end", "self key last=", v);
    dict *d = self_dict(c, A);
    V x = tc_dict_get(c, d, v[1]);
    if (!x) key_error(c, v[1]);
    tc_dict_del(c, d, v[1]);
    if (!v[2] || tc_truth(c, v[2])) {
        tc_dict_set(c, d, v[1], x);
        return c->none;
    }
    dict *old = tc_dict_copy(c, d);
    tc_dict_clear(c, d);
    tc_dict_set(c, d, v[1], x);
    V k;
    for (size_t i = 0; tc_dict_next(old, &i, &k, &x);) tc_dict_set(c, d, k, x);
    return c->none;
}
/* The plain operations that subclasses reach by super(), which do not call the subclass's dunder methods. */
static V d_getitem(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__getitem__", "self key", v);
    V x = tc_dict_get(c, self_dict(c, A), v[1]);
    if (x) return x;
    V f = A->a[0]->type->user ? tc_special(c, A->a[0], c->n___missing__) : NULL;
    if (f) return tc_call2(c, f, A->a[0], v[1]);
    key_error(c, v[1]);
}
static V d_setitem(C *c, args *A) {
    V v[3];
    tc_take(c, A, "__setitem__", "self key value", v);
    tc_dict_set(c, dchanged(c, A), v[1], v[2]);
    return c->none;
}
static V d_delitem(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__delitem__", "self key", v);
    if (!tc_dict_del(c, dchanged(c, A), v[1])) key_error(c, v[1]);
    return c->none;
}
static V d_contains(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__contains__", "self key", v);
    return tc_bool(c, tc_dict_get(c, self_dict(c, A), v[1]) != NULL);
}
static V d_len(C *c, args *A) { return tc_int(c, (int64_t)self_dict(c, A)->live); }
static V d_iter(C *c, args *A) {
    mapview *m = (mapview *)view(c, A, 0);
    return tc_iter(c, (V)m);
}

/* ---- set ---- */
static set *self_set(C *c, args *A) {
    if (A->n < 1 || (tc_kind_of(A->a[0]) != K_SET && tc_kind_of(A->a[0]) != K_FROZENSET))
        tc_raise(c, "TypeError", "descriptor requires a 'set' object");
    return (set *)A->a[0];
}
static V s_add(C *c, args *A) {
    V v[2];
    tc_take(c, A, "add", "self elem", v);
    set *s = self_set(c, A);
    tc_global_guard(c, s->d->module, (V)s);
    tc_dict_set(c, s->d, v[1], c->none);
    return c->none;
}
static V s_discard(C *c, args *A) {
    V v[2];
    tc_take(c, A, "discard", "self elem", v);
    set *s = self_set(c, A);
    tc_global_guard(c, s->d->module, (V)s);
    tc_dict_del(c, s->d, v[1]);
    return c->none;
}
static V s_remove(C *c, args *A) {
    V v[2];
    tc_take(c, A, "remove", "self elem", v);
    set *s = self_set(c, A);
    tc_global_guard(c, s->d->module, (V)s);
    if (!tc_dict_del(c, s->d, v[1])) key_error(c, v[1]);
    return c->none;
}
static V s_pop(C *c, args *A) {
    set *s = self_set(c, A);
    V k, v;
    size_t i = 0;
    if (!tc_dict_next(s->d, &i, &k, &v)) tc_raise(c, "KeyError", "pop from an empty set");
    tc_global_guard(c, s->d->module, (V)s);
    tc_dict_del(c, s->d, k);
    return k;
}
static V s_clear(C *c, args *A) {
    set *s = self_set(c, A);
    tc_global_guard(c, s->d->module, (V)s);
    tc_dict_clear(c, s->d);
    return c->none;
}
static V as_set(C *c, V v) { return tc_kind_of(v) == K_SET || tc_kind_of(v) == K_FROZENSET ? v : tc_call1(c, (V)c->types[K_SET], v); }
static V fold(C *c, args *A, int op) {
    V r = (V)self_set(c, A);
    if (A->n == 1) return tc_binary(c, '|', r, r);
    for (int i = 1; i < A->n; i++) r = tc_binary(c, op, r, as_set(c, A->a[i]));
    return r;
}
static V s_union(C *c, args *A) { return fold(c, A, '|'); }
static V s_intersection(C *c, args *A) { return fold(c, A, '&'); }
static V s_difference(C *c, args *A) { return fold(c, A, '-'); }
static V s_symmetric(C *c, args *A) { return fold(c, A, '^'); }
static V becomes(C *c, args *A, int op) {
    set *s = self_set(c, A);
    if (s->frozen) tc_raise(c, "AttributeError", "a frozenset cannot be changed");
    tc_global_guard(c, s->d->module, (V)s);
    const void *maker = s->d->module;
    s->d = ((set *)fold(c, A, op))->d;
    s->d->module = maker;
    return c->none;
}
static V s_update(C *c, args *A) { return becomes(c, A, '|'); }
static V s_intersection_update(C *c, args *A) { return becomes(c, A, '&'); }
static V s_difference_update(C *c, args *A) { return becomes(c, A, '-'); }
static V s_symmetric_update(C *c, args *A) { return becomes(c, A, '^'); }
static V s_issubset(C *c, args *A) { return tc_rich(c, 'L', A->a[0], as_set(c, A->a[1])); }
static V s_issuperset(C *c, args *A) { return tc_rich(c, 'G', A->a[0], as_set(c, A->a[1])); }
static V s_isdisjoint(C *c, args *A) { return tc_bool(c, !tc_truth(c, tc_binary(c, '&', A->a[0], as_set(c, A->a[1])))); }

/* ---- range ---- */
/* The position of x in the range, or -1. */
static int64_t range_place(const range *r, V x) {
    int64_t i;
    if (tc_kind_of(x) == K_FLOAT && tc_flt(x) == floor(tc_flt(x)) && fabs(tc_flt(x)) < 1e18) i = (int64_t)tc_flt(x);
    else if (tc_is_small(x)) i = tc_small(x);
    else return -1;
    if (r->step > 0 ? i < r->start || i >= r->stop : i > r->start || i <= r->stop) return -1;
    return (i - r->start) % r->step ? -1 : (i - r->start) / r->step;
}
static V r_count(C *c, args *A) {
    V v[2];
    tc_take(c, A, "count", "self value", v);
    return tc_int(c, range_place((range *)v[0], v[1]) >= 0);
}
static V r_index(C *c, args *A) {
    V v[2];
    tc_take(c, A, "index", "self value", v);
    int64_t i = range_place((range *)v[0], v[1]);
    if (i < 0) tc_raise(c, "ValueError", "%s is not in range", tc_repr(c, v[1])->s);
    return tc_int(c, i);
}
static V slice_indices(C *c, args *A) {
    V v[2];
    tc_take(c, A, "indices", "self len", v);
    int64_t n = tc_index(c, v[1], "len"), a, b, st, count;
    if (n < 0) tc_raise(c, "ValueError", "length should not be negative");
    tc_slice_bounds(c, (slice *)v[0], n, &a, &b, &st, &count);
    return tc_tuple_of(c, 3, tc_int(c, a), tc_int(c, b), tc_int(c, st));
}

/* ---- numbers ---- */
static V i_bit_length(C *c, args *A) {
    V v = A->a[0];
    if (tc_kind_of(v) == K_SYM) v = tc_sym_force_as(c, v, ""); /* the size is fixed to a number */
    return tc_int(c, tc_int_bits(tc_kind_of(v) == K_BOOL ? tc_int(c, v == c->true_) : v));
}
static V i_bit_count(C *c, args *A) {
    str *t = tc_int_text(c, A->a[0], 2);
    int64_t n = 0;
    for (uint32_t i = 0; i < t->len; i++) n += t->s[i] == '1';
    return tc_int(c, n);
}
static V f_is_integer(C *c, args *A) {
    return tc_bool(c, tc_kind_of(A->a[0]) != K_FLOAT || (isfinite(tc_flt(A->a[0])) && floor(tc_flt(A->a[0])) == tc_flt(A->a[0])));
}
static V s_is_integer(C *c, args *A) { return tc_sym_is_integer(c, A->a[0]); }
static V f_hex(C *c, args *A) {
    const double f = tc_to_double(c, A->a[0]);
    char t[32];
    snprintf(t, sizeof t, f == 0 ? "%.1a" : "%.13a", f);
    return tc_strz(c, t);
}
static V f_fromhex(C *c, args *A) { /* a class method */
    V v[2];
    tc_take(c, A, "fromhex", "cls string", v);
    const str *s = tc_as_str(v[1]);
    const char *p = s->s + strspn(s->s, " \t\n\r\f\v"), *digits = p + (*p == '+' || *p == '-');
    const bool hex = strpbrk(digits, "xX") != NULL || strpbrk(digits, "nN") != NULL;
    str *all = hex ? (str *)s : tc_as_str(tc_strf(c, "%.*s0x%s", (int)(digits - p), p, digits));
    char *end;
    const double f = strtod(all->s, &end);
    end += strspn(end, " \t\n\r\f\v");
    if (end != all->s + all->len || !*digits) tc_raise(c, "ValueError", "invalid hexadecimal floating-point string");
    return tc_float(c, f);
}
static V n_ratio(C *c, args *A) { return tc_call(c, tc_module_attr(c, tc_import(c, "_number", true), tc_intern(c, "_ratio", 6)), A); }
/* Methods of numpy scalars, on Python's numbers. */
static V n_astype(C *c, args *A) {
    V v[2];
    tc_take(c, A, "astype", "self dtype", v);
    return tc_call2(c, tc_module_attr(c, tc_import(c, "numpy", true), tc_intern(c, "_number_as", 10)), v[0], v[1]);
}
static V i_item(C *c, args *A) {
    (void)c;
    return A->a[0];
}
static V i_number(C *c, args *A) { return tc_kind_of(A->a[0]) == K_BOOL ? tc_int(c, A->a[0] == c->true_) : A->a[0]; }
static V s_number(C *c, args *A) { return tc_sym_force_as(c, A->a[0], ""); }
static V i_float(C *c, args *A) { return tc_float(c, tc_to_double(c, A->a[0])); }
static V f_int(C *c, args *A) { return tc_int_from_double(c, tc_flt(A->a[0])); }
static V number_attr(C *c, V o, str *name) {
    if (!strcmp(name->s, "real") || !strcmp(name->s, "numerator")) return o;
    if (!strcmp(name->s, "denominator") && tc_kind_of(o) != K_FLOAT) return tc_int(c, 1);
    if (!strcmp(name->s, "imag")) return tc_kind_of(o) == K_FLOAT ? tc_float(c, 0) : tc_int(c, 0);
    return NULL;
}

static void define_numbers(C *c) {
    static const native_def ints[] = {{"bit_length", i_bit_length},
                                      {"bit_count", i_bit_count},
                                      {"is_integer", f_is_integer},
                                      {"conjugate", i_item},
                                      {"item", i_item},
                                      {"astype", n_astype},
                                      {"__index__", i_number},
                                      {"__int__", i_number},
                                      {"__float__", i_float},
                                      {"as_integer_ratio", n_ratio},
                                      {NULL, NULL}};
    static const native_def syms[] = {
        {"bit_length", i_bit_length}, {"item", i_item}, {"astype", n_astype}, {"__index__", s_number}, {"__int__", i_number},
        {"is_integer", s_is_integer}, {NULL, NULL}};
    static const native_def floats[] = {{"__float__", i_item},         {"__int__", f_int}, {"is_integer", f_is_integer},
                                        {"conjugate", i_item},         {"item", i_item},   {"astype", n_astype},
                                        {"as_integer_ratio", n_ratio}, {"hex", f_hex},     {NULL, NULL}};
    tc_type_methods(c, K_INT, ints);
    tc_type_methods(c, K_SYM, syms);
    tc_type_methods(c, K_FLOAT, floats);
    wrapper *w = tc_new(c, K_CLASSM, sizeof *w);
    w->f = tc_native(c, "fromhex", f_fromhex, NULL);
    tc_dict_setc(c, c->types[K_FLOAT]->d, "fromhex", (V)w);
    c->types[K_INT]->instance_attr = c->types[K_FLOAT]->instance_attr = c->types[K_BOOL]->instance_attr = number_attr;
}

void tc_containers_init(C *c) {
    define_numbers(c);
    static const native_def lists[] = {{"append", l_append}, {"extend", l_extend},   {"insert", l_insert}, {"pop", l_pop},
                                       {"remove", l_remove}, {"clear", l_clear},     {"index", l_index},   {"count", l_count},
                                       {"copy", l_copy},     {"reverse", l_reverse}, {"sort", l_sort},     {NULL, NULL}};
    static const native_def tuples[] = {{"index", l_index}, {"count", l_count}, {NULL, NULL}};
    static const native_def dicts[] = {{"keys", d_keys},
                                       {"values", d_values},
                                       {"items", d_items},
                                       {"get", d_get},
                                       {"pop", d_pop},
                                       {"popitem", d_popitem},
                                       {"setdefault", d_setdefault},
                                       {"update", d_update},
                                       {"clear", d_clear},
                                       {"copy", d_copy},
                                       {"move_to_end", d_move_to_end},
                                       {"__getitem__", d_getitem},
                                       {"__setitem__", d_setitem},
                                       {"__delitem__", d_delitem},
                                       {"__contains__", d_contains},
                                       {"__len__", d_len},
                                       {"__iter__", d_iter},
                                       {NULL, NULL}};
    static const native_def sets[] = {{"add", s_add},
                                      {"discard", s_discard},
                                      {"remove", s_remove},
                                      {"pop", s_pop},
                                      {"clear", s_clear},
                                      {"union", s_union},
                                      {"intersection", s_intersection},
                                      {"difference", s_difference},
                                      {"symmetric_difference", s_symmetric},
                                      {"update", s_update},
                                      {"intersection_update", s_intersection_update},
                                      {"difference_update", s_difference_update},
                                      {"symmetric_difference_update", s_symmetric_update},
                                      {"issubset", s_issubset},
                                      {"issuperset", s_issuperset},
                                      {"isdisjoint", s_isdisjoint},
                                      {"copy", s_union},
                                      {NULL, NULL}};
    static const native_def ranges[] = {{"index", r_index}, {"count", r_count}, {NULL, NULL}};
    static const native_def slices[] = {{"indices", slice_indices}, {NULL, NULL}};
    tc_type_methods(c, K_RANGE, ranges);
    tc_type_methods(c, K_SLICE, slices);
    tc_type_methods(c, K_LIST, lists);
    tc_type_methods(c, K_TUPLE, tuples);
    tc_type_methods(c, K_SIZE, tuples);
    tc_type_methods(c, K_DICT, dicts);
    tc_type_methods(c, K_SET, sets);
    tc_type_methods(c, K_FROZENSET, sets);
    wrapper *w = tc_new(c, K_CLASSM, sizeof *w);
    w->f = tc_native(c, "fromkeys", d_fromkeys, NULL);
    tc_dict_setc(c, c->types[K_DICT]->d, "fromkeys", (V)w);
}
