/* Python's built-in functions (len, range, sorted, ...) and the constructors of the built-in types. */
#include "capture/ast.h"

#include <math.h>

/* ---- constructors: the class is argument 0 ---- */
static V int_new(C *c, args *A) {
    V v[3];
    tc_take(c, A, "int", "cls x= base=", v);
    if (!v[1]) return tc_int(c, 0);
    V x = v[1];
    switch (tc_kind_of(x)) {
    case K_INT: return x;
    case K_BOOL: return tc_int(c, x == c->true_);
    case K_FLOAT: return tc_int_from_double(c, tc_flt(x));
    case K_STR: {
        int64_t base = v[2] ? tc_index(c, v[2], "base") : 10;
        if (base != 0 && (base < 2 || base > 36)) tc_raise(c, "ValueError", "int() base must be >= 2 and <= 36, or 0");
        V r = tc_int_parse(c, tc_as_str(x)->s, tc_as_str(x)->len, (int)base, false);
        if (!r) tc_raise(c, "ValueError", "invalid literal for int() with base %lld: %s", (long long)base, tc_repr(c, x)->s);
        return r;
    }
    case K_SYM: return tc_sym_unary(c, 'i', x);
    case K_TENSOR: {
        V n = tc_tensor_number(c, x, "int()");
        if (tc_kind_of(n) == K_SYM) return tc_sym_unary(c, 'i', n);
        if (tc_kind_of(n) == K_COMPLEX) tc_raise(c, "RuntimeError", "value cannot be converted to type int64_t without overflow");
        return tc_kind_of(n) == K_FLOAT ? tc_int_from_double(c, tc_flt(n)) : tc_kind_of(n) == K_BOOL ? tc_int(c, n == c->true_) : n;
    }
    default: {
        V f = tc_special(c, x, c->n___int__);
        if (!f) f = tc_special(c, x, c->n___index__);
        if (!f) f = tc_special(c, x, c->n___trunc__);
        if (f) return tc_call1(c, f, x);
        tc_raise(c, "TypeError", "int() argument must be a string, a bytes-like object or a real number, not '%s'", tc_type_name(c, x));
    }
    }
}

static V float_new(C *c, args *A) {
    V v[2];
    tc_take(c, A, "float", "cls x=", v);
    if (!v[1]) return tc_float(c, 0);
    if (tc_kind_of(v[1]) == K_FLOAT) return v[1];
    if (tc_kind_of(v[1]) == K_STR) return tc_float(c, tc_parse_float(c, tc_as_str(v[1])));
    if (tc_kind_of(v[1]) == K_SYM) return tc_sym_unary(c, 'f', v[1]);
    if (tc_kind_of(v[1]) == K_TENSOR) {
        V n = tc_tensor_number(c, v[1], "float()");
        return tc_kind_of(n) == K_SYM ? tc_sym_unary(c, 'f', n) : tc_float(c, tc_to_double(c, n));
    }
    const kind k = tc_kind_of(v[1]);
    if (k == K_NONE || k == K_LIST || k == K_TUPLE || k == K_DICT || k == K_COMPLEX)
        tc_raise(c, "TypeError", "float() argument must be a string or a real number, not '%s'", tc_type_name(c, v[1]));
    return tc_float(c, tc_to_double(c, v[1]));
}

static V complex_new(C *c, args *A) {
    V v[3];
    tc_take(c, A, "complex", "cls real= imag=", v);
    if (v[1] && tc_kind_of(v[1]) == K_STR) {
        if (v[2]) tc_raise(c, "TypeError", "complex() can't take second arg if first is a string");
        return tc_parse_complex(c, tc_as_str(v[1]));
    }
    double re = 0, im = 0;
    for (int i = 1; i < 3; i++)
        if (v[i] && tc_kind_of(v[i]) == K_TENSOR) v[i] = tc_tensor_number(c, v[i], "complex()");
    if (v[1] && tc_kind_of(v[1]) == K_COMPLEX) re = ((cplx *)v[1])->re, im = ((cplx *)v[1])->im;
    else if (v[1]) re = tc_to_double(c, v[1]);
    const bool whole = v[1] && tc_kind_of(v[1]) == K_COMPLEX, turned = v[2] && tc_kind_of(v[2]) == K_COMPLEX;
    if (turned) re -= ((cplx *)v[2])->im;
    if (v[2]) { /* without an imaginary part -0 is kept */
        const double more = turned ? ((cplx *)v[2])->re : tc_to_double(c, v[2]);
        im = whole ? im + more : more;
    }
    return tc_complex(c, re, im);
}

static V bool_new(C *c, args *A) {
    V v[2];
    tc_take(c, A, "bool", "cls x=", v);
    if (v[1] && tc_kind_of(v[1]) == K_SYM) return tc_sym_unary(c, 'b', v[1]);
    return tc_bool(c, v[1] && tc_truth(c, v[1]));
}

static V str_new(C *c, args *A) {
    V v[2];
    tc_take(c, A, "str", "cls object=", v);
    if (!v[1]) return tc_strz(c, "");
    str *s = tc_to_str(c, v[1]);
    type *t = (type *)v[0];
    if (!t->user) return (V)s;
    str *r = tc_mem(c, sizeof *r);
    *r = *s;
    r->h.type = t, r->h.attrs = NULL, r->interned = false;
    return (V)r;
}

static V list_new(C *c, args *A) {
    list *l = A->n > 1 && !((type *)A->a[0])->user ? tc_to_list(c, A->a[1]) : tc_list(c, 0);
    if (A->n > 2 && !((type *)A->a[0])->user) tc_raise(c, "TypeError", "list expected at most 1 argument, got %d", A->n - 1);
    l->h.type = (type *)A->a[0];
    return (V)l;
}
static V list_init(C *c, args *A) {
    list *l = (list *)A->a[0];
    if (A->n > 1) {
        list *m = tc_to_list(c, A->a[1]);
        l->a = m->a, l->n = m->n, l->cap = m->cap;
    }
    return c->none;
}

static V tuple_new(C *c, args *A) {
    if (A->n > 2) tc_raise(c, "TypeError", "tuple expected at most 1 argument, got %d", A->n - 1);
    V t = NULL;
    if (A->n > 1) {
        if (tc_kind_of(A->a[1]) == K_TUPLE && !((type *)A->a[0])->user && !A->a[1]->type->user && !A->a[1]->attrs) return A->a[1];
        list *l = tc_to_list(c, A->a[1]);
        t = tc_tuple(c, l->n, l->a);
    } else t = tc_tuple(c, 0, NULL);
    t->type = (type *)A->a[0];
    return t;
}

dict *tc_mapping(C *c, V o) {
    if (tc_kind_of(o) == K_DICT) return (dict *)o;
    V keys = tc_kind_of(o) == K_OBJECT ? tc_getattr_or(c, o, tc_intern(c, "keys", 4)) : NULL;
    if (!keys) return NULL;
    dict *d = tc_dict(c);
    list *l = tc_to_list(c, tc_call0(c, keys));
    for (size_t i = 0; i < l->n; i++) tc_dict_set(c, d, l->a[i], tc_getitem(c, o, l->a[i]));
    return d;
}

static void dict_fill(C *c, dict *d, args *A, int from) {
    if (A->n > from + 1) tc_raise(c, "TypeError", "dict expected at most 1 argument, got %d", A->n - from);
    if (A->n > from) {
        V s = A->a[from], k, v;
        const dict *from_dict = tc_mapping(c, s);
        if (from_dict) {
            for (size_t i = 0; tc_dict_next(from_dict, &i, &k, &v);) tc_dict_set(c, d, k, v);
        } else {
            V it = tc_iter(c, s), e;
            for (int at = 0; (e = tc_next(c, it)); at++) {
                tc_step(c);
                if (tc_kind_of(e) == K_INT || e == c->none)
                    tc_raise(c, "TypeError", "cannot convert dictionary update sequence element #%d to a sequence", at);
                list *p = tc_to_list(c, e);
                if (p->n != 2) tc_raise(c, "ValueError", "dictionary update sequence element #%d has length %zu; 2 is required", at, p->n);
                tc_dict_set(c, d, p->a[0], p->a[1]);
            }
        }
    }
    for (int i = 0; i < A->nk; i++) tc_dict_set(c, d, (V)A->kn[i], A->kv[i]);
}
static V dict_new(C *c, args *A) {
    dict *d = tc_dict(c);
    d->h.type = (type *)A->a[0];
    if (!((type *)A->a[0])->user) dict_fill(c, d, A, 1);
    return (V)d;
}
static V dict_init(C *c, args *A) {
    dict_fill(c, (dict *)A->a[0], A, 1);
    return c->none;
}
void tc_dict_update(C *c, dict *d, args *A) { dict_fill(c, d, A, 1); }

static V set_make(C *c, args *A, bool frozen) {
    set *s = tc_set(c, frozen);
    s->h.type = (type *)A->a[0];
    if (A->n > 1) {
        V it = tc_iter(c, A->a[1]), e;
        while ((e = tc_next(c, it))) {
            tc_step(c);
            tc_dict_set(c, s->d, e, c->none);
        }
    }
    return (V)s;
}
static V set_new(C *c, args *A) { return set_make(c, A, false); }
static V frozenset_new(C *c, args *A) { return set_make(c, A, true); }

static V range_new(C *c, args *A) {
    if (A->n < 2 || A->n > 4 || A->nk) tc_raise(c, "TypeError", "range expected 1 to 3 arguments, got %d", A->n - 1);
    range *r = tc_new(c, K_RANGE, sizeof *r);
    r->step = 1;
    int64_t v[3] = {0};
    for (int i = 1; i < A->n; i++) v[i - 1] = tc_index(c, A->a[i], "range() argument");
    if (A->n == 2) r->stop = v[0];
    else r->start = v[0], r->stop = v[1];
    if (A->n == 4) r->step = v[2];
    if (r->step == 0) tc_raise(c, "ValueError", "range() arg 3 must not be zero");
    return (V)r;
}

static V slice_new(C *c, args *A) {
    if (A->n < 2 || A->n > 4) tc_raise(c, "TypeError", "slice expected 1 to 3 arguments, got %d", A->n - 1);
    if (A->n == 2) return tc_slice(c, c->none, A->a[1], c->none);
    return tc_slice(c, A->a[1], A->a[2], A->n == 4 ? A->a[3] : c->none);
}
static V slice_attr(C *c, V o, str *name) {
    (void)c;
    slice *s = (slice *)o;
    return !strcmp(name->s, "start") ? s->start : !strcmp(name->s, "stop") ? s->stop : !strcmp(name->s, "step") ? s->step : NULL;
}
static V range_attr(C *c, V o, str *name) {
    range *r = (range *)o;
    return !strcmp(name->s, "start")  ? tc_int(c, r->start)
           : !strcmp(name->s, "stop") ? tc_int(c, r->stop)
           : !strcmp(name->s, "step") ? tc_int(c, r->step)
                                      : NULL;
}
static V complex_attr(C *c, V o, str *name) {
    cplx *z = (cplx *)o;
    return !strcmp(name->s, "real") ? tc_float(c, z->re) : !strcmp(name->s, "imag") ? tc_float(c, z->im) : NULL;
}

static V z_conjugate(C *c, args *A) {
    cplx *z = (cplx *)A->a[0];
    return tc_complex(c, z->re, -z->im);
}

/* ---- functions ---- */
static V f_len(C *c, args *A) {
    V v[1];
    tc_take(c, A, "len", "obj", v);
    if (tc_kind_of(v[0]) == K_TENSOR) {
        V s = tc_tensor_attr(c, v[0], tc_intern(c, "shape", 5));
        if (((tuple *)s)->n == 0) tc_raise(c, "TypeError", "len() of a 0-d tensor");
        return ((tuple *)s)->a[0];
    }
    return tc_int(c, tc_len(c, v[0]));
}

static const char *print_text(C *c, const char *name, V v, const char *standard) {
    if (v == c->none) return standard;
    if (tc_kind_of(v) != K_STR) tc_raise(c, "TypeError", "%s must be None or a string, not %s", name, tc_type_name(c, v));
    return tc_as_str(v)->s;
}
static V f_print(C *c, args *A) {
    const char *sep = " ", *end = "\n";
    for (int i = 0; i < A->nk; i++) {
        if (!strcmp(A->kn[i]->s, "sep")) sep = print_text(c, "sep", A->kv[i], sep);
        else if (!strcmp(A->kn[i]->s, "end")) end = print_text(c, "end", A->kv[i], end);
        else if (strcmp(A->kn[i]->s, "file") && strcmp(A->kn[i]->s, "flush"))
            tc_raise(c, "TypeError", "'%s' is an invalid keyword argument for print()", A->kn[i]->s);
    }
    if (c->capturing) tc_side_effect(c, "print writes");
    for (int i = 0; i < A->n; i++) {
        str *s = tc_to_str(c, A->a[i]);
        if (c->printed.len + s->len > (1u << 20)) tc_raise_limit(c, "print: more than the limit of 1 MB of text");
        if (i) tc_buf_puts(&c->printed, sep);
        tc_buf_append(&c->printed, s->s, s->len);
    }
    tc_buf_puts(&c->printed, end);
    return c->none;
}

static V f_isinstance(C *c, args *A) {
    V v[2];
    tc_take(c, A, "isinstance", "obj cls", v);
    return tc_bool(c, tc_isinstance(c, v[0], v[1]));
}
static V f_issubclass(C *c, args *A) {
    V v[2];
    tc_take(c, A, "issubclass", "cls base", v);
    return tc_bool(c, tc_issubclass(c, v[0], v[1]));
}
static str *attr_name(C *c, V v) {
    if (tc_kind_of(v) != K_STR) tc_raise(c, "TypeError", "attribute name must be string, not '%s'", tc_type_name(c, v));
    return tc_intern_str(c, tc_as_str(v));
}
static V guarded_attr(C *c, V o, str *name, V volatile missing) {
    trap t;
    V volatile v = NULL;
    if (TC_TRAP_DROPPING(c, t, "AttributeError")) {
        v = tc_getattr_or(c, o, name);
        tc_untrap(c, &t);
    } else if (!tc_exc_is(c, c->exc, "AttributeError")) tc_raise_again(c, c->exc);
    return v ? v : missing;
}
static V f_getattr(C *c, args *A) {
    V v[3];
    tc_take(c, A, "getattr", "obj name default=", v);
    str *n = attr_name(c, v[1]);
    return v[2] ? guarded_attr(c, v[0], n, v[2]) : tc_getattr(c, v[0], n);
}
static V f_hasattr(C *c, args *A) {
    V v[2];
    tc_take(c, A, "hasattr", "obj name", v);
    return tc_bool(c, guarded_attr(c, v[0], attr_name(c, v[1]), NULL) != NULL);
}
static V f_setattr(C *c, args *A) {
    V v[3];
    tc_take(c, A, "setattr", "obj name value", v);
    tc_setattr(c, v[0], attr_name(c, v[1]), v[2]);
    return c->none;
}
static V f_delattr(C *c, args *A) {
    V v[2];
    tc_take(c, A, "delattr", "obj name", v);
    tc_delattr(c, v[0], attr_name(c, v[1]));
    return c->none;
}
static V f_callable(C *c, args *A) {
    V v[1];
    tc_take(c, A, "callable", "obj", v);
    switch (tc_kind_of(v[0])) {
    case K_FUNC:
    case K_NATIVE:
    case K_METHOD:
    case K_TYPE:
    case K_OPFN: return c->true_;
    default: return tc_bool(c, tc_special(c, v[0], c->n___call__) != NULL);
    }
}
static V f_id(C *c, args *A) {
    V v[1];
    tc_take(c, A, "id", "obj", v);
    return tc_int(c, (int64_t)((uintptr_t)v[0] >> 1));
}
static V f_hash(C *c, args *A) {
    V v[1];
    tc_take(c, A, "hash", "obj", v);
    V own = !tc_is_small(v[0]) && v[0]->type->user ? tc_special(c, v[0], c->n___hash__) : NULL;
    V n = own && own != c->none ? tc_call1(c, own, v[0]) : v[0];
    if (tc_kind_of(n) == K_FLOAT && tc_flt(n) == rint(tc_flt(n)) && fabs(tc_flt(n)) < 4e18) n = tc_int(c, (int64_t)tc_flt(n));
    if (tc_kind_of(n) == K_BOOL) n = tc_int(c, n == c->true_);
    if (tc_kind_of(n) == K_INT && (tc_is_small(n) || own)) return n; /* as CPython's, which takes larger ones modulo 2**61 - 1 */
    return tc_int(c, (int64_t)(tc_hash_value(c, v[0]) >> 3));
}
static V f_repr(C *c, args *A) {
    V v[1];
    tc_take(c, A, "repr", "obj", v);
    return (V)tc_repr(c, v[0]);
}
static V f_ascii(C *c, args *A) {
    V v[1];
    tc_take(c, A, "ascii", "obj", v);
    return tc_call1(c, tc_module_attr(c, tc_import(c, "string", true), tc_intern(c, "_ascii", 6)), (V)tc_repr(c, v[0]));
}
static V f_format(C *c, args *A) {
    V v[2];
    tc_take(c, A, "format", "value spec=", v);
    return (V)tc_format_value(c, v[0], v[1] ? tc_as_str(v[1])->s : "", v[1] ? tc_as_str(v[1])->len : 0);
}
static V f_iter(C *c, args *A) {
    V v[2];
    tc_take(c, A, "iter", "obj sentinel=", v);
    if (v[1]) return tc_iter_until(c, v[0], v[1]);
    V it = tc_iter(c, v[0]);
    return tc_iter_object(it);
}
static V f_next(C *c, args *A) {
    V v[2];
    tc_take(c, A, "next", "it default=", v);
    kind k = tc_kind_of(v[0]);
    V r = NULL;
    if (k == K_ITER || k == K_GENEXPR) r = tc_next(c, v[0]);
    else {
        V f = tc_special(c, v[0], c->n___next__);
        if (!f) tc_raise(c, "TypeError", "'%s' object is not an iterator", tc_type_name(c, v[0]));
        if (!v[1]) return tc_call1(c, f, v[0]);
        r = tc_next(c, tc_iter(c, v[0]));
    }
    if (r) return r;
    if (v[1]) return v[1];
    tc_stop_iteration(c, v[0]);
}
static V f_abs(C *c, args *A) {
    V v[1];
    tc_take(c, A, "abs", "x", v);
    switch (tc_kind_of(v[0])) {
    case K_INT: return tc_int_sign(v[0]) < 0 ? tc_int_neg(c, v[0]) : v[0];
    case K_BOOL: return tc_int(c, v[0] == c->true_);
    case K_FLOAT: return tc_float(c, fabs(tc_flt(v[0])));
    case K_COMPLEX: return tc_float(c, hypot(((cplx *)v[0])->re, ((cplx *)v[0])->im));
    case K_TENSOR: return tc_call0(c, tc_getattr(c, v[0], tc_intern(c, "abs", 3)));
    case K_SYM: return tc_sym_unary(c, 'a', v[0]);
    default: {
        V f = tc_special(c, v[0], c->n___abs__);
        if (f) return tc_call1(c, f, v[0]);
        tc_raise(c, "TypeError", "bad operand type for abs(): '%s'", tc_type_name(c, v[0]));
    }
    }
}
static V f_round(C *c, args *A) {
    V v[2];
    tc_take(c, A, "round", "x ndigits=", v);
    V x = v[0];
    if (tc_kind_of(x) == K_BOOL) x = tc_int(c, x == c->true_);
    if (tc_kind_of(x) == K_SYM && (!v[1] || v[1] == c->none)) return tc_sym_unary(c, 'o', x);
    if (tc_kind_of(x) == K_TENSOR) {
        V f = tc_getattr(c, x, tc_intern(c, "round", 5));
        if (!v[1]) return tc_call0(c, f);
        str *kn[1] = {tc_intern(c, "decimals", 8)};
        args B = {.kn = kn, .kv = &v[1], .nk = 1};
        return tc_call(c, f, &B);
    }
    if (tc_kind_of(x) == K_INT) {
        if (!v[1] || v[1] == c->none) return x;
        int64_t d = tc_index(c, v[1], "ndigits");
        if (d >= 0) return x;
        if (d < -4300) return tc_int(c, 0);
        V p = tc_int_pow(c, tc_int(c, 10), tc_int(c, -d), NULL), q = tc_int_op(c, '/', x, p), r = tc_int_op(c, '%', x, p);
        int s = tc_int_cmp(tc_int_op(c, '*', r, tc_int(c, 2)), p);
        if (s > 0 || (s == 0 && tc_int_sign(tc_int_op(c, '&', q, tc_int(c, 1))))) q = tc_int_op(c, '+', q, tc_int(c, 1));
        return tc_int_op(c, '*', q, p);
    }
    if (tc_kind_of(x) == K_FLOAT) {
        if (!v[1] || v[1] == c->none) return tc_int_from_double(c, rint(tc_flt(x)));
        return tc_float(c, tc_round_half_even(tc_flt(x), tc_index(c, v[1], "ndigits")));
    }
    V f = tc_special(c, x, c->n___round__);
    if (f) return v[1] ? tc_call2(c, f, x, v[1]) : tc_call1(c, f, x);
    tc_raise(c, "TypeError", "type %s doesn't define __round__ method", tc_type_name(c, x));
}
static V f_pow(C *c, args *A) {
    V v[3];
    tc_take(c, A, "pow", "base exp mod=", v);
    if (v[2] && v[2] != c->none) {
        V f = tc_special(c, v[0], tc_intern(c, "__pow__", 7));
        if (f && tc_kind_of(f) == K_FUNC) return tc_call3(c, f, v[0], v[1], v[2]);
        if (tc_kind_of(v[0]) != K_INT || tc_kind_of(v[1]) != K_INT || tc_kind_of(v[2]) != K_INT)
            tc_raise(c, "TypeError", "pow() 3rd argument not allowed unless all arguments are integers");
        if (tc_int_sign(v[2]) == 0) tc_raise(c, "ValueError", "pow() 3rd argument cannot be 0");
        return tc_int_pow(c, v[0], v[1], v[2]);
    }
    return tc_binary(c, 'p', v[0], v[1]);
}
static V f_divmod(C *c, args *A) {
    V v[2];
    tc_take(c, A, "divmod", "a b", v);
    V f = tc_special(c, v[0], c->n___divmod__);
    if (f) return tc_call2(c, f, v[0], v[1]);
    for (int i = 0; i < 2; i++)
        if (tc_kind_of(v[i]) == K_TENSOR)
            tc_raise(c, "TypeError", "unsupported operand type(s) for divmod(): '%s' and '%s'", tc_type_name(c, v[0]), tc_type_name(c, v[1]));
    V quotient = tc_binary(c, 'f', v[0], v[1]);
    return tc_tuple_of(c, 2, quotient, tc_binary(c, '%', v[0], v[1]));
}

static V extreme(C *c, args *A, const char *name, int op) {
    V key = NULL, def = NULL;
    for (int i = 0; i < A->nk; i++) {
        if (A->kn[i] == c->n_key) key = A->kv[i] == c->none ? NULL : A->kv[i];
        else if (!strcmp(A->kn[i]->s, "default")) def = A->kv[i];
        else tc_raise(c, "TypeError", "%s() got an unexpected keyword argument '%s'", name, A->kn[i]->s);
    }
    if (A->n == 0) tc_raise(c, "TypeError", "%s expected at least 1 argument, got 0", name);
    list *l = A->n == 1 ? tc_to_list(c, A->a[0]) : (list *)tc_list_of(c, (size_t)A->n, A->a);
    if (!l->n) {
        if (def) return def;
        tc_raise(c, "ValueError", "%s() arg is an empty sequence", name);
    }
    V best = l->a[0], bk = key ? tc_call1(c, key, best) : best;
    for (size_t i = 1; i < l->n; i++) {
        V k = key ? tc_call1(c, key, l->a[i]) : l->a[i];
        if (!key && (tc_kind_of(k) == K_SYM || tc_kind_of(bk) == K_SYM)) {
            V r = tc_sym_binary(c, op == '<' ? 'm' : 'M', bk, k);
            if (r) {
                best = bk = r;
                continue;
            }
        }
        if (tc_truth(c, tc_rich(c, op, k, bk))) best = l->a[i], bk = k;
    }
    return best;
}
static V f_min(C *c, args *A) { return extreme(c, A, "min", '<'); }
static V f_max(C *c, args *A) { return extreme(c, A, "max", '>'); }

static V f_sum(C *c, args *A) {
    V v[2];
    tc_take(c, A, "sum", "iterable start=", v);
    V it = tc_iter(c, v[0]), e, acc = v[1] ? v[1] : tc_int(c, 0);
    if (tc_kind_of(acc) == K_STR) tc_raise(c, "TypeError", "sum() can't sum strings [use ''.join(seq) instead]");
    while ((e = tc_next(c, it))) {
        tc_step(c);
        acc = tc_binary(c, '+', acc, e);
    }
    return acc;
}
static V f_any(C *c, args *A) {
    V v[1];
    tc_take(c, A, "any", "iterable", v);
    V it = tc_iter(c, v[0]), e;
    while ((e = tc_next(c, it))) {
        tc_step(c);
        if (tc_truth(c, e)) return c->true_;
    }
    return c->false_;
}
static V f_all(C *c, args *A) {
    V v[1];
    tc_take(c, A, "all", "iterable", v);
    V it = tc_iter(c, v[0]), e;
    while ((e = tc_next(c, it))) {
        tc_step(c);
        if (!tc_truth(c, e)) return c->false_;
    }
    return c->true_;
}

/* ---- sorting: stable merge, comparisons by < as Python's ---- */
static void merge(C *c, V *k, V *v, V *tk, V *tv, size_t n, bool reverse) {
    for (size_t w = 1; w < n; w *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * w) {
            size_t mid = lo + w < n ? lo + w : n, hi = lo + 2 * w < n ? lo + 2 * w : n, i = lo, j = mid, o = lo;
            while (i < mid || j < hi) {
                tc_step(c);
                bool right = i >= mid || (j < hi && (reverse ? tc_truth(c, tc_rich(c, '<', k[i], k[j])) : tc_truth(c, tc_rich(c, '<', k[j], k[i]))));
                size_t s = right ? j++ : i++;
                tk[o] = k[s], tv[o++] = v[s];
            }
        }
        memcpy(k, tk, n * sizeof(V));
        memcpy(v, tv, n * sizeof(V));
    }
}
void tc_sort(C *c, list *l, V key, bool reverse);
void tc_sort(C *c, list *l, V key, bool reverse) {
    size_t n = l->n;
    V *k = tc_mem(c, sizeof(V) * (n + 1) * 4), *v = k + n, *tk = v + n, *tv = tk + n;
    for (size_t i = 0; i < n; i++) v[i] = l->a[i], k[i] = key ? tc_call1(c, key, v[i]) : v[i];
    if (n > 1) merge(c, k, v, tk, tv, n, reverse);
    if (n) memcpy(l->a, v, n * sizeof(V));
}
static V f_sorted(C *c, args *A) {
    V v[3];
    tc_take(c, A, "sorted", "iterable * key= reverse=", v);
    list *l = tc_to_list(c, v[0]);
    tc_sort(c, l, v[1] == c->none ? NULL : v[1], v[2] && tc_truth(c, v[2]));
    return (V)l;
}

/* ---- lazy iterators ---- */
static V next_enumerate(C *c, iter *it) {
    V v = tc_next(c, it->src);
    return v ? tc_tuple_of(c, 2, tc_int(c, it->i++), v) : NULL;
}
static V f_enumerate(C *c, args *A) {
    V v[2];
    tc_take(c, A, "enumerate", "iterable start=", v);
    iter *it = tc_iter_new(c, next_enumerate, tc_iter(c, v[0]));
    it->i = v[1] ? tc_index(c, v[1], "start") : 0;
    return (V)it;
}
static V next_zip(C *c, iter *it) {
    V t = tc_tuple(c, (size_t)it->nsub, NULL);
    if (!it->nsub) return NULL;
    for (int i = 0; i < it->nsub; i++) {
        V v = tc_next(c, (V)it->sub[i]);
        if (!v) {
            if (it->step && i > 0) tc_raise(c, "ValueError", "zip() argument %d is shorter than argument 1", i + 1);
            if (it->step)
                for (int j = 1; j < it->nsub; j++)
                    if (tc_next(c, (V)it->sub[j])) tc_raise(c, "ValueError", "zip() argument %d is longer than argument 1", j + 1);
            return NULL;
        }
        ((tuple *)t)->a[i] = v;
    }
    return t;
}
static void sub_iters(C *c, iter *it, V *a, int n) {
    it->nsub = n;
    it->sub = tc_mem(c, sizeof(iter *) * (size_t)(n + 1));
    for (int i = 0; i < n; i++) it->sub[i] = (iter *)tc_iter(c, a[i]);
}
static V f_zip(C *c, args *A) {
    iter *it = tc_iter_new(c, next_zip, NULL);
    for (int i = 0; i < A->nk; i++) it->step = !strcmp(A->kn[i]->s, "strict") && tc_truth(c, A->kv[i]);
    sub_iters(c, it, A->a, A->n);
    return (V)it;
}
static V next_map(C *c, iter *it) {
    V small[8], *a = it->nsub <= 8 ? small : tc_mem(c, sizeof(V) * (size_t)it->nsub);
    for (int i = 0; i < it->nsub; i++)
        if (!(a[i] = tc_next(c, (V)it->sub[i]))) return NULL;
    args A = {.a = a, .n = it->nsub};
    return tc_call(c, it->f, &A);
}
static V f_map(C *c, args *A) {
    if (A->n < 2) tc_raise(c, "TypeError", "map() must have at least two arguments.");
    iter *it = tc_iter_new(c, next_map, NULL);
    it->f = A->a[0];
    sub_iters(c, it, A->a + 1, A->n - 1);
    return (V)it;
}
static V next_filter(C *c, iter *it) {
    V v;
    while ((v = tc_next(c, it->src))) {
        tc_step(c);
        if (tc_truth(c, it->f ? tc_call1(c, it->f, v) : v)) return v;
    }
    return NULL;
}
static V f_filter(C *c, args *A) {
    V v[2];
    tc_take(c, A, "filter", "function iterable", v);
    iter *it = tc_iter_new(c, next_filter, tc_iter(c, v[1]));
    it->f = v[0] == c->none ? NULL : v[0];
    return (V)it;
}
static V next_reversed(C *c, iter *it) { return it->i > 0 ? tc_getitem(c, it->src, tc_int(c, --it->i)) : NULL; }
static V f_reversed(C *c, args *A) {
    V v[1];
    tc_take(c, A, "reversed", "seq", v);
    V f = !tc_is_small(v[0]) && v[0]->type->user ? tc_special(c, v[0], c->n___reversed__) : NULL;
    if (f) return tc_iter(c, tc_call1(c, f, v[0]));
    V src = v[0];
    if (tc_kind_of(src) == K_INT || tc_kind_of(src) == K_FLOAT || src == c->none)
        tc_raise(c, "TypeError", "'%s' object is not reversible", tc_type_name(c, src));
    kind k = tc_kind_of(src);
    if (k == K_DICT || k == K_MAPPROXY) src = (V)tc_to_list(c, src);
    else if (k == K_SET || k == K_ITER || k == K_GENEXPR) tc_raise(c, "TypeError", "'%s' object is not reversible", tc_type_name(c, src));
    iter *it = tc_iter_new(c, next_reversed, src);
    it->i = tc_len(c, src);
    return (V)it;
}

static V f_chr(C *c, args *A) {
    V v[1];
    tc_take(c, A, "chr", "i", v);
    int64_t u = tc_index(c, v[0], "chr() arg");
    if (u < 0 || u > 0x10ffff) tc_raise(c, "ValueError", "chr() arg not in range(0x110000)");
    char s[4];
    size_t n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
    if (n == 1) s[0] = (char)u;
    else {
        for (size_t i = n - 1; i > 0; i--) s[i] = (char)(0x80 | (u & 63)), u >>= 6;
        s[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | u);
    }
    return (V)tc_intern(c, s, n);
}
static V f_ord(C *c, args *A) {
    V v[1];
    tc_take(c, A, "ord", "ch", v);
    if (tc_kind_of(v[0]) != K_STR) tc_raise(c, "TypeError", "ord() expected string of length 1, but %s found", tc_type_name(c, v[0]));
    if (tc_as_str(v[0])->nchars != 1) tc_raise(c, "TypeError", "ord() expected a character, but string of length %u found", tc_as_str(v[0])->nchars);
    const unsigned char *s = (const unsigned char *)tc_as_str(v[0])->s;
    size_t n = tc_as_str(v[0])->len;
    int64_t u = n == 1 ? s[0] : n == 2 ? s[0] & 31 : n == 3 ? s[0] & 15 : s[0] & 7;
    for (size_t i = 1; i < n; i++) u = u << 6 | (s[i] & 63);
    return tc_int(c, u);
}
static V based(C *c, args *A, int base, const char *prefix) {
    V v[1];
    tc_take(c, A, "bin", "x", v);
    int64_t i = 0;
    V x = tc_kind_of(v[0]) == K_INT ? v[0] : tc_int(c, (i = tc_index(c, v[0], "argument")));
    str *t = tc_int_text(c, x, base);
    return t->s[0] == '-' ? tc_strf(c, "-%s%s", prefix, t->s + 1) : tc_strf(c, "%s%s", prefix, t->s);
}
static V f_bin(C *c, args *A) { return based(c, A, 2, "0b"); }
static V f_oct(C *c, args *A) { return based(c, A, 8, "0o"); }
static V f_hex(C *c, args *A) { return based(c, A, 16, "0x"); }
static V f_dir(C *c, args *A) {
    V v[1];
    tc_take(c, A, "dir", "obj", v);
    list *l = tc_kind_of(v[0]) == K_MODULE ? tc_to_list(c, tc_getattr(c, v[0], c->n___dict__))
                                           : tc_to_list(c, tc_call1(c, tc_type_lookup(c, tc_type_of(c, v[0]), c->n___dir__), v[0]));
    tc_sort(c, l, NULL, false);
    return (V)l;
}
static V f_globals(C *c, args *A) {
    tc_take(c, A, "globals", "", NULL);
    if (!c->fr || (c->capturing && !c->fr->sc->file->embedded))
        tc_raise(c, "NameError", "'globals' is not part of the model language while forward is captured");
    return (V)c->fr->globals;
}
/* locals(): names and values of the running function, parameters first, then other locals in the order in which the source binds them. */
static V f_locals(C *c, args *A) {
    tc_take(c, A, "locals", "", NULL);
    frame *f = c->fr;
    if (!f || f->locals) return f ? (V)f->locals : (V)tc_dict(c);
    if (!f->fn) return (V)f->globals;
    dict *d = tc_dict(c);
    size_t n = 0;
    for (var *x = f->sc->vars; x; x = x->next) n++;
    var **all = tc_mem(c, sizeof(var *) * (n + 1));
    size_t i = n;
    for (var *x = f->sc->vars; x; x = x->next) all[--i] = x;
    for (i = 0; i < n + (size_t)f->sc->nparams; i++) {
        var *x = i < (size_t)f->sc->nparams ? f->sc->params[i].var : all[i - (size_t)f->sc->nparams];
        if (x->slot < 0 || (x->kind != VAR_LOCAL && x->kind != VAR_FREE)) continue;
        V v = f->slots[x->slot];
        if (v && x->cell) v = ((cell *)v)->v;
        if (v) tc_dict_set(c, d, (V)x->name, v);
    }
    return (V)d;
}

static V f_vars(C *c, args *A) {
    V v[1];
    if (!A->n && !A->nk) return f_locals(c, A);
    tc_take(c, A, "vars", "obj", v);
    if (!tc_is_small(v[0]) && tc_type_of(c, v[0])->closed) tc_raise(c, "TypeError", "vars() argument must have __dict__ attribute");
    return tc_getattr(c, v[0], c->n___dict__);
}

static V d_next(C *c, args *A) { return f_next(c, A); }

static void define_functions(C *c) {
    static const native_def fns[] = {{"len", f_len},
                                     {"print", f_print},
                                     {"isinstance", f_isinstance},
                                     {"issubclass", f_issubclass},
                                     {"getattr", f_getattr},
                                     {"hasattr", f_hasattr},
                                     {"setattr", f_setattr},
                                     {"delattr", f_delattr},
                                     {"callable", f_callable},
                                     {"id", f_id},
                                     {"hash", f_hash},
                                     {"repr", f_repr},
                                     {"ascii", f_ascii},
                                     {"format", f_format},
                                     {"iter", f_iter},
                                     {"next", f_next},
                                     {"abs", f_abs},
                                     {"round", f_round},
                                     {"pow", f_pow},
                                     {"divmod", f_divmod},
                                     {"min", f_min},
                                     {"max", f_max},
                                     {"sum", f_sum},
                                     {"any", f_any},
                                     {"all", f_all},
                                     {"sorted", f_sorted},
                                     {"enumerate", f_enumerate},
                                     {"zip", f_zip},
                                     {"map", f_map},
                                     {"filter", f_filter},
                                     {"reversed", f_reversed},
                                     {"chr", f_chr},
                                     {"ord", f_ord},
                                     {"bin", f_bin},
                                     {"oct", f_oct},
                                     {"hex", f_hex},
                                     {"dir", f_dir},
                                     {"vars", f_vars},
                                     {"globals", f_globals},
                                     {"locals", f_locals},
                                     {NULL, NULL}};
    tc_define(c, c->builtins, fns);
}

void tc_builtins_init(C *c) {
    define_functions(c);
    static const struct {
        kind k;
        native_fn fn;
    } ctors[] = {{K_INT, int_new}, {K_FLOAT, float_new},         {K_COMPLEX, complex_new}, {K_BOOL, bool_new},
                 {K_STR, str_new}, {K_LIST, list_new},           {K_TUPLE, tuple_new},     {K_DICT, dict_new},
                 {K_SET, set_new}, {K_FROZENSET, frozenset_new}, {K_RANGE, range_new},     {K_SLICE, slice_new}};
    for (size_t i = 0; i < sizeof ctors / sizeof *ctors; i++)
        tc_dict_set(c, c->types[ctors[i].k]->d, (V)c->n___new__, tc_native(c, c->types[ctors[i].k]->name->s, ctors[i].fn, NULL));
    tc_dict_set(c, c->types[K_DICT]->d, (V)c->n___init__, tc_native(c, "__init__", dict_init, NULL));
    tc_dict_set(c, c->types[K_LIST]->d, (V)c->n___init__, tc_native(c, "__init__", list_init, NULL));
    static const kind named[] = {K_OBJECT, K_INT,       K_FLOAT, K_COMPLEX, K_BOOL, K_STR,      K_LIST,   K_TUPLE,  K_DICT,
                                 K_SET,    K_FROZENSET, K_RANGE, K_SLICE,   K_TYPE, K_PROPERTY, K_STATIC, K_CLASSM, K_SUPER};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) tc_dict_set(c, c->builtins, (V)c->types[named[i]]->name, (V)c->types[named[i]]);
    static const kind iterators[] = {K_ITER, K_GENEXPR};
    for (size_t i = 0; i < 2; i++) {
        tc_dict_set(c, c->types[iterators[i]]->d, (V)c->n___iter__, tc_native(c, "__iter__", f_iter, NULL));
        tc_dict_set(c, c->types[iterators[i]]->d, (V)c->n___next__, tc_native(c, "__next__", d_next, NULL));
    }
    c->types[K_SLICE]->instance_attr = slice_attr;
    c->types[K_RANGE]->instance_attr = range_attr;
    static const native_def complexes[] = {{"conjugate", z_conjugate}, {NULL, NULL}};
    tc_type_methods(c, K_COMPLEX, complexes);
    c->types[K_COMPLEX]->instance_attr = complex_attr;
    tc_dict_setc(c, c->builtins, "NotImplemented", c->notimpl);
    tc_dict_setc(c, c->builtins, "Ellipsis", c->ellipsis);
    tc_dict_setc(c, c->builtins, "__debug__", c->true_);
}
