/* Special methods of built-in types that a model calls by name: dict.__setitem__, super().__add__(other), [1].__len__(). */
#include "capture/ast.h"

/* o.__iter__() and the like, called by name. For an object of a user's class this runs the built-in type's method and not the class's own, which may
 * call it: the object has the built-in type while f runs. */
static V as_built_in(C *c, V o, V x, V (*f)(C *c, V o, V x)) {
    V volatile r = NULL;
    type *volatile const own = tc_type_of(c, o);
    trap t;
    if (!own->user) return f(c, o, x);
    o->type = c->types[own->kind];
    if (TC_TRAP_PASSING(c, t)) {
        r = f(c, o, x);
        tc_untrap(c, &t);
    }
    o->type = own;
    if (!r) tc_raise_again(c, c->exc);
    return r;
}
static V iter_of(C *c, V o, V x) { return (void)x, tc_iter(c, o); }
static V len_of(C *c, V o, V x) { return (void)x, tc_int(c, tc_len(c, o)); }
static V is_in(C *c, V o, V x) { return tc_bool(c, tc_contains(c, o, x)); }
static V d_iter(C *c, args *A) {
    V v[1];
    tc_take(c, A, "__iter__", "self", v);
    return as_built_in(c, v[0], NULL, iter_of);
}
static V d_len(C *c, args *A) {
    V v[1];
    tc_take(c, A, "__len__", "self", v);
    return as_built_in(c, v[0], NULL, len_of);
}
static V d_getitem(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__getitem__", "self key", v);
    return as_built_in(c, v[0], v[1], tc_getitem);
}
static V d_contains(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__contains__", "self x", v);
    return as_built_in(c, v[0], v[1], is_in);
}
static V d_setitem(C *c, args *A) {
    V v[3];
    tc_take(c, A, "__setitem__", "self key value", v);
    if (tc_kind_of(v[0]) != K_LIST) tc_raise(c, "TypeError", "descriptor '__setitem__' requires a 'list' object");
    type *volatile const own = tc_type_of(c, v[0]);
    trap t;
    bool volatile done = false;
    v[0]->type = c->types[own->kind];
    if (TC_TRAP_PASSING(c, t)) {
        tc_setitem(c, v[0], v[1], v[2]);
        done = true;
        tc_untrap(c, &t);
    }
    v[0]->type = own;
    if (!done) tc_raise_again(c, c->exc);
    return c->none;
}
static V del_of(C *c, V o, V x) { return tc_delitem(c, o, x), c->none; }
static V d_delitem(C *c, args *A) {
    V v[2];
    tc_take(c, A, "__delitem__", "self key", v);
    return as_built_in(c, v[0], v[1], del_of);
}

/* Operators: what Python's method answers with NotImplemented is a TypeError here. */
#define BINARY(name, op)                                                  \
    static V name##_of(C *c, V o, V x) { return tc_binary(c, op, o, x); } \
    static V d_##name(C *c, args *A) { return binary(c, A, name##_of); }
#define RICH(name, op)                                                  \
    static V name##_of(C *c, V o, V x) { return tc_rich(c, op, o, x); } \
    static V d_##name(C *c, args *A) { return binary(c, A, name##_of); }
static V binary(C *c, args *A, V (*f)(C *c, V o, V x)) {
    V v[2];
    tc_take(c, A, "an operator", "self other", v);
    return as_built_in(c, v[0], v[1], f);
}
BINARY(add, '+')
BINARY(sub, '-')
BINARY(mul, '*')
BINARY(truediv, '/')
BINARY(floordiv, 'f')
BINARY(mod, '%')
BINARY(pow, 'p')
BINARY(or, '|')
BINARY(and, '&')
BINARY(xor, '^')
RICH(eq, '=')
RICH(ne, '!')
RICH(lt, '<')
RICH(le, 'L')
RICH(gt, '>')
RICH(ge, 'G')

void tc_protocol_init(C *c) {
    static const native_def reads[] = {
        {"__iter__", d_iter}, {"__len__", d_len}, {"__getitem__", d_getitem}, {"__contains__", d_contains}, {NULL, NULL}};
    static const kind containers[] = {K_LIST, K_TUPLE, K_STR, K_SET, K_FROZENSET, K_RANGE, K_MAPPROXY, K_SIZE};
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) tc_type_methods(c, containers[i], reads);
    static const native_def writes[] = {{"__setitem__", d_setitem}, {"__delitem__", d_delitem}, {NULL, NULL}};
    tc_type_methods(c, K_LIST, writes);
    static const native_def equal[] = {{"__eq__", d_eq}, {"__ne__", d_ne}, {NULL, NULL}};
    static const native_def ordered[] = {{"__lt__", d_lt}, {"__le__", d_le}, {"__gt__", d_gt}, {"__ge__", d_ge}, {NULL, NULL}};
    static const native_def joined[] = {{"__add__", d_add}, {"__mul__", d_mul}, {NULL, NULL}};
    static const native_def set_like[] = {{"__or__", d_or}, {"__and__", d_and}, {"__sub__", d_sub}, {"__xor__", d_xor}, {NULL, NULL}};
    static const native_def numbers[] = {{"__add__", d_add},           {"__sub__", d_sub}, {"__mul__", d_mul}, {"__truediv__", d_truediv},
                                         {"__floordiv__", d_floordiv}, {"__mod__", d_mod}, {"__pow__", d_pow}, {NULL, NULL}};
    static const struct {
        kind k;
        const native_def *methods[4];
    } of[] = {{K_LIST, {equal, ordered, joined}},
              {K_TUPLE, {equal, ordered, joined}},
              {K_STR, {equal, ordered, joined}},
              {K_SET, {equal, ordered, set_like}},
              {K_FROZENSET, {equal, ordered, set_like}},
              {K_DICT, {equal}},
              {K_INT, {equal, ordered, numbers, set_like + 1}},
              {K_FLOAT, {equal, ordered, numbers}},
              {K_SYM, {equal, ordered, numbers}}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (size_t j = 0; j < 4 && of[i].methods[j]; j++) tc_type_methods(c, of[i].k, of[i].methods[j]);
    tc_dict_setc(c, c->types[K_DICT]->d, "__or__", tc_native(c, "__or__", d_or, NULL));
}
