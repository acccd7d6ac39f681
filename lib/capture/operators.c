/* Binary and unary operators, subscripts, len and `in` of every kind of object. */
#include "capture/object.h"

#include <math.h>

const char *tc_binary_symbol(int op) {
    switch (op) {
    case 'f': return "//";
    case 'p': return "**";
    case 'l': return "<<";
    case 'r': return ">>";
    case '+': return "+";
    case '-': return "-";
    case '*': return "*";
    case '/': return "/";
    case '%': return "%";
    case '@': return "@";
    case '&': return "&";
    case '|': return "|";
    default: return "^";
    }
}

static const char *dunder(int op) {
    switch (op) {
    case '+': return "add";
    case '-': return "sub";
    case '*': return "mul";
    case '/': return "truediv";
    case 'f': return "floordiv";
    case '%': return "mod";
    case '@': return "matmul";
    case 'p': return "pow";
    case 'l': return "lshift";
    case 'r': return "rshift";
    case '&': return "and";
    case '|': return "or";
    default: return "xor";
    }
}

static V try_method(C *c, V o, V other, const char *prefix, int op) {
    if (tc_is_small(o) || !o->type->user) return NULL;
    V n = tc_strf(c, "__%s%s__", prefix, dunder(op));
    V f = tc_special(c, o, tc_intern_str(c, tc_as_str(n)));
    if (!f || tc_kind_of(f) == K_NATIVE) return NULL;
    V r = tc_call2(c, f, o, other);
    return r == c->notimpl ? NULL : r;
}

static V float_op(C *c, int op, double a, double b) {
    switch (op) {
    case '+': return tc_float(c, a + b);
    case '-': return tc_float(c, a - b);
    case '*': return tc_float(c, a * b);
    case '/':
        if (b == 0) tc_raise(c, "ZeroDivisionError", "float division by zero");
        return tc_float(c, a / b);
    case 'f':
    case '%': {
        if (b == 0) tc_raise(c, "ZeroDivisionError", op == 'f' ? "float floor division by zero" : "float modulo");
        double m = fmod(a, b), d = (a - m) / b;
        if (m) {
            if ((b < 0) != (m < 0)) m += b, d -= 1;
        } else m = copysign(0, b);
        if (op == '%') return tc_float(c, m);
        double fl = d ? floor(d) : copysign(0, a / b);
        if (d && d - fl > 0.5) fl += 1;
        return tc_float(c, fl);
    }
    case 'p': {
        if (a == 0 && b < 0) tc_raise(c, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
        if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) {
            double r = pow(-a, b), th = b * M_PI;
            return tc_complex(c, r * cos(th), r * sin(th));
        }
        double r = pow(a, b);
        if (isinf(r) && isfinite(a) && isfinite(b)) tc_raise(c, "OverflowError", "(34, 'Numerical result out of range')" TC_DETAIL ": overflow");
        return tc_float(c, r);
    }
    default: return NULL;
    }
}

/* z to the power n by squaring, as CPython does for integer exponents. */
static V complex_whole_power(C *c, double re, double im, int n) {
    double r = 1, i = 0;
    for (int m = n < 0 ? -n : n; m; m >>= 1) {
        double x = re, t = r;
        if (m & 1) r = r * re - i * im, i = t * im + i * re;
        re = re * re - im * im, im = x * im + im * x;
    }
    double d = r * r + i * i;
    if (n < 0 && d == 0) tc_raise(c, "ZeroDivisionError", "0.0 to a negative or complex power");
    return n < 0 ? tc_complex(c, r / d, -i / d) : tc_complex(c, r, i);
}

static V complex_op(C *c, int op, V a, V b) {
    double ar, ai = 0, br, bi = 0;
    if (tc_kind_of(a) == K_COMPLEX) ar = ((cplx *)a)->re, ai = ((cplx *)a)->im;
    else ar = tc_to_double(c, a);
    if (tc_kind_of(b) == K_COMPLEX) br = ((cplx *)b)->re, bi = ((cplx *)b)->im;
    else br = tc_to_double(c, b);
    switch (op) {
    case '+': return tc_complex(c, ar + br, ai + bi);
    case '-': return tc_complex(c, ar - br, ai - bi);
    case '*': return tc_complex(c, ar * br - ai * bi, ar * bi + ai * br);
    case '/': {
        double d = br * br + bi * bi;
        if (d == 0) tc_raise(c, "ZeroDivisionError", "complex division by zero");
        return tc_complex(c, (ar * br + ai * bi) / d, (ai * br - ar * bi) / d);
    }
    case 'p': {
        if (br == 0 && bi == 0) return tc_complex(c, 1, 0);
        if (bi == 0 && br == floor(br) && fabs(br) <= 100) return complex_whole_power(c, ar, ai, (int)br);
        double m = hypot(ar, ai), th = atan2(ai, ar);
        if (m == 0) return tc_complex(c, 0, 0);
        double r = pow(m, br) * exp(-bi * th), w = th * br + bi * log(m);
        return tc_complex(c, r * cos(w), r * sin(w));
    }
    default: return NULL;
    }
}

/* n copies of the bytes at from, one behind the other at to: each copy doubles what stands there. */
static void copies(void *to, const void *from, size_t bytes, size_t n) {
    if (!bytes || !n) return;
    memcpy(to, from, bytes);
    for (size_t done = bytes, all = bytes * n; done < all;) {
        size_t more = done < all - done ? done : all - done;
        memcpy((char *)to + done, to, more);
        done += more;
    }
}

static V repeat(C *c, V seq, V count) {
    int64_t k = tc_index(c, count, "a repetition count");
    if (k < 0) k = 0;
    if (tc_kind_of(seq) == K_STR) {
        str *s = (str *)seq;
        size_t total;
        if (!tc_mul_size(s->len, (size_t)k, &total) || total > c->max_memory)
            tc_raise_limit(c, "a string of %u * %lld bytes is over the memory limit of %zu MB", s->len, (long long)k, c->max_memory >> 20);
        tc_memory_check(c, total);
        char *p = tc_mem(c, total + 1);
        copies(p, s->s, s->len, (size_t)k);
        return tc_strn(c, p, total);
    }
    size_t n, total;
    V *a = tc_items(seq, &n);
    if (!tc_mul_size(n, (size_t)k, &total) || total > c->max_memory / sizeof(V))
        tc_raise_limit(c, "a %s of %zu * %lld elements is over the memory limit of %zu MB", tc_type_name(c, seq), n, (long long)k,
                       c->max_memory >> 20);
    tc_memory_check(c, total * sizeof(V));
    V *b = tc_mem(c, total * sizeof(V) + 1);
    copies(b, a, n * sizeof(V), (size_t)k);
    return tc_kind_of(seq) == K_LIST ? tc_list_of(c, total, b) : tc_tuple(c, total, b);
}

static V concat(C *c, V a, V b) {
    if (tc_kind_of(a) == K_STR) {
        str *s = (str *)a, *t = (str *)b;
        size_t total = (size_t)s->len + t->len;
        tc_memory_check(c, total);
        str *r = tc_mem(c, sizeof *r + total + 1);
        char *p = (char *)(r + 1);
        memcpy(p, s->s, s->len), memcpy(p + s->len, t->s, t->len);
        r->h.type = c->types[K_STR], r->s = p, r->len = (uint32_t)total, r->nchars = s->nchars + t->nchars;
        return (V)r;
    }
    size_t n, m;
    V *x = tc_items(a, &n), *y = tc_items(b, &m);
    tc_memory_check(c, (n + m) * sizeof(V));
    V r;
    if (tc_kind_of(a) == K_LIST) {
        list *l = tc_list(c, n + m);
        l->n = n + m;
        r = (V)l;
    } else {
        r = tc_tuple(c, n + m, NULL);
        if (tc_kind_of(a) == K_SIZE) r->type = c->types[K_SIZE];
    }
    size_t k;
    V *z = tc_items(r, &k);
    if (n) memcpy(z, x, n * sizeof(V));
    if (m) memcpy(z + n, y, m * sizeof(V));
    return r;
}

static V set_op(C *c, int op, V a, V b) {
    dict *x = ((set *)a)->d, *y = ((set *)b)->d;
    set *r = tc_set(c, ((set *)a)->frozen);
    V k, v;
    for (size_t i = 0; tc_dict_next(x, &i, &k, &v);) {
        bool in = tc_dict_get(c, y, k) != NULL;
        if (op == '|' || (op == '&' && in) || ((op == '-' || op == '^') && !in)) tc_dict_set(c, r->d, k, c->none);
    }
    if (op == '|' || op == '^')
        for (size_t i = 0; tc_dict_next(y, &i, &k, &v);)
            if (op == '|' || !tc_dict_get(c, x, k)) tc_dict_set(c, r->d, k, c->none);
    return (V)r;
}

static bool is_set(V v) { return tc_kind_of(v) == K_SET || tc_kind_of(v) == K_FROZENSET; }

V tc_keys_as_set(C *c, V v) {
    if (tc_kind_of(v) != K_MAPPROXY) return v;
    set *s = tc_set(c, false);
    V k, x;
    mapview *m = (mapview *)v;
    for (size_t i = 0; tc_dict_next(m->d, &i, &k, &x);) tc_dict_set(c, s->d, m->what == 2 ? tc_tuple_of(c, 2, k, x) : k, c->none);
    return (V)s;
}

static V native_binary(C *c, int op, V a, V b) {
    kind x = tc_kind_of(a), y = tc_kind_of(b);
    bool ia = x == K_INT || x == K_BOOL, ib = y == K_INT || y == K_BOOL;
    if (ia && ib) {
        if (x == K_BOOL && y == K_BOOL && (op == '&' || op == '|' || op == '^')) {
            bool p = a == c->true_, q = b == c->true_;
            return tc_bool(c, op == '&' ? p && q : op == '|' ? p || q : p != q);
        }
        if (x == K_BOOL) a = tc_int(c, a == c->true_);
        if (y == K_BOOL) b = tc_int(c, b == c->true_);
        switch (op) {
        case '/': return tc_float(c, tc_int_truediv(c, a, b));
        case 'f': return tc_int_op(c, '/', a, b);
        case 'p':
            if (tc_int_sign(b) < 0) return float_op(c, 'p', tc_int_to_double(c, a), tc_int_to_double(c, b));
            return tc_int_pow(c, a, b, NULL);
        case '@': return NULL;
        default: return tc_int_op(c, op, a, b);
        }
    }
    if ((ia || x == K_FLOAT) && (ib || y == K_FLOAT)) return float_op(c, op, tc_to_double(c, a), tc_to_double(c, b));
    if ((x == K_COMPLEX && (ib || y == K_FLOAT || y == K_COMPLEX)) || (y == K_COMPLEX && (ia || x == K_FLOAT))) return complex_op(c, op, a, b);
    if (op == '%' && x == K_STR) return tc_percent(c, (str *)a, b);
    if (op == '+') {
        if (x == K_STR && y == K_STR) return concat(c, a, b);
        if (x == K_LIST && y == K_LIST) return concat(c, a, b);
        if ((x == K_TUPLE || x == K_SIZE) && (y == K_TUPLE || y == K_SIZE)) return concat(c, a, b);
        if (x == K_STR) tc_raise(c, "TypeError", "can only concatenate str (not \"%s\") to str", tc_type_name(c, b));
        if (x == K_LIST) tc_raise(c, "TypeError", "can only concatenate list (not \"%s\") to list", tc_type_name(c, b));
        if (x == K_TUPLE) tc_raise(c, "TypeError", "can only concatenate tuple (not \"%s\") to tuple", tc_type_name(c, b));
    }
    if (op == '*') {
        const bool ra = x == K_STR || tc_is_seq(a), rb = y == K_STR || tc_is_seq(b);
        if (ra && (ib || y == K_SYM || (y == K_OBJECT && tc_special(c, b, c->n___index__)))) return repeat(c, a, b);
        if (rb && (ia || x == K_SYM || (x == K_OBJECT && tc_special(c, a, c->n___index__)))) return repeat(c, b, a);
        if (x == K_STR || y == K_STR || (tc_is_seq(a) && tc_is_seq(b)) || (x == K_FLOAT && tc_is_seq(b)) || (y == K_FLOAT && tc_is_seq(a)))
            tc_raise(c, "TypeError", "can't multiply sequence by non-int of type '%s'", tc_type_name(c, x == K_STR || tc_is_seq(a) ? b : a));
    }
    if (op == '|' || op == '&' || op == '-' || op == '^') {
        if (x == K_MAPPROXY || y == K_MAPPROXY) a = tc_keys_as_set(c, a), b = tc_keys_as_set(c, b);
        if (is_set(a) && is_set(b)) return set_op(c, op, a, b);
        if (op == '|' && x == K_DICT && y == K_DICT) {
            dict *d = tc_dict_copy(c, (dict *)a);
            V k, v;
            for (size_t i = 0; tc_dict_next((dict *)b, &i, &k, &v);) tc_dict_set(c, d, k, v);
            return (V)d;
        }
        bool ta = x == K_TYPE || x == K_ALIAS || x == K_NONE, tb = y == K_TYPE || y == K_ALIAS || y == K_NONE || y == K_STR;
        if (op == '|' && ta && tb && !(x == K_NONE && y == K_NONE)) {
            alias *u = tc_new(c, K_ALIAS, sizeof *u);
            u->name = tc_intern(c, "Union", 5), u->origin = c->none;
            u->params = tc_tuple_of(c, 2, a, b);
            return (V)u;
        }
    }
    return NULL;
}

V tc_binary(C *c, int op, V a, V b) {
    if (tc_is_small(a) && tc_is_small(b)) {
        int64_t x = tc_small(a), y = tc_small(b);
        if (op == '+') return tc_int(c, x + y);
        if (op == '-') return tc_int(c, x - y);
    }
    kind x = tc_kind_of(a), y = tc_kind_of(b);
    V r = NULL;
    bool ua = !tc_is_small(a) && a->type->user, ub = !tc_is_small(b) && b->type->user;
    if (ua || ub) {
        bool right_first = ua && ub && a->type != b->type && tc_issubtype(b->type, a->type);
        if (right_first && (r = try_method(c, b, a, "r", op))) return r;
        if ((r = try_method(c, a, b, "", op))) return r;
        if (!right_first && (r = try_method(c, b, a, "r", op))) return r;
    }
    if (x == K_TENSOR || y == K_TENSOR) {
        r = tc_tensor_binary(c, op, a, b, false);
        if (r) return r;
    } else if (x == K_SYM || y == K_SYM) {
        r = tc_sym_binary(c, op, a, b);
        if (r) return r;
    }
    r = native_binary(c, op, a, b);
    if (r) return r;
    tc_raise(c, "TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", op == 'p' ? "** or pow()" : tc_binary_symbol(op),
             tc_type_name(c, a), tc_type_name(c, b));
}

V tc_inplace(C *c, int op, V a, V b) {
    kind x = tc_kind_of(a);
    if (!tc_is_small(a) && a->type->user) {
        V r = try_method(c, a, b, "i", op);
        if (r) return r;
    }
    if (x == K_TENSOR) {
        V r = tc_tensor_binary(c, op, a, b, true);
        if (r) return r;
    }
    if (x == K_LIST && op == '+') {
        list *l = (list *)a;
        tc_global_guard(c, l->module, a);
        tc_list_extend(c, l, b);
        return a;
    }
    if (x == K_LIST && op == '*') {
        list *m = (list *)repeat(c, a, b), *l = (list *)a;
        l->a = m->a, l->n = m->n, l->cap = m->cap;
        return a;
    }
    if (x == K_DICT && op == '|') {
        tc_dict_update(c, (dict *)a, &(args){.a = (V[]){a, b}, .n = 2});
        return a;
    }
    if (x == K_SET && is_set(b) && (op == '|' || op == '&' || op == '-' || op == '^')) {
        ((set *)a)->d = ((set *)set_op(c, op, a, b))->d;
        return a;
    }
    return tc_binary(c, op, a, b);
}

V tc_unary(C *c, int op, V a) {
    kind k = tc_kind_of(a);
    if (!tc_is_small(a) && a->type->user) {
        V f = tc_special(c, a, op == '-' ? c->n___neg__ : op == '+' ? c->n___pos__ : c->n___invert__);
        if (f && tc_kind_of(f) != K_NATIVE) return tc_call1(c, f, a);
    }
    if (k == K_BOOL) a = tc_int(c, a == c->true_), k = K_INT;
    if (k == K_INT) return op == '-' ? tc_int_neg(c, a) : op == '+' ? a : tc_int_invert(c, a);
    if (k == K_FLOAT && op != '~') return op == '-' ? tc_float(c, -tc_flt(a)) : a;
    if (k == K_COMPLEX && op != '~') return op == '-' ? tc_complex(c, -((cplx *)a)->re, -((cplx *)a)->im) : a;
    if (k == K_TENSOR) return tc_tensor_unary(c, op, a);
    if (k == K_SYM) return tc_sym_unary(c, op, a);
    tc_raise(c, "TypeError", "bad operand type for unary %c: '%s'", op, tc_type_name(c, a));
}

/* ---- subscripts ---- */
void tc_slice_bounds(C *c, slice *s, int64_t len, int64_t *start, int64_t *stop, int64_t *step, int64_t *count) {
    *step = s->step == c->none ? 1 : tc_index(c, s->step, "slice step");
    if (*step == 0) tc_raise(c, "ValueError", "slice step cannot be zero");
    if (*step < -INT64_MAX) *step = -INT64_MAX;
    int64_t lo = *step < 0 ? -1 : 0, hi = *step < 0 ? len - 1 : len;
    int64_t v[2];
    for (int i = 0; i < 2; i++) {
        V x = i ? s->stop : s->start;
        if (x == c->none) v[i] = (i == 0) == (*step < 0) ? hi : lo;
        else {
            v[i] = tc_index(c, x, "slice index");
            if (v[i] < 0) v[i] += len;
            if (v[i] < lo) v[i] = lo;
            if (v[i] > hi) v[i] = hi;
        }
    }
    *start = v[0], *stop = v[1];
    *count = *step < 0 ? (v[0] > v[1] ? (v[0] - v[1] - 1) / -*step + 1 : 0) : (v[1] > v[0] ? (v[1] - v[0] - 1) / *step + 1 : 0);
}

static int64_t place(C *c, V key, int64_t n, const char *what) {
    kind k = tc_kind_of(key);
    if (k == K_STR || k == K_FLOAT || k == K_NONE || k == K_TUPLE)
        tc_raise(c, "TypeError", *what == 's' ? "%s indices must be integers, not '%s'" : "%s indices must be integers or slices, not %s", what,
                 tc_type_name(c, key));
    int64_t i = tc_index(c, key, what);
    int64_t j = i < 0 ? i + n : i;
    if (j < 0 || j >= n) tc_raise(c, "IndexError", "%s index out of range" TC_DETAIL ": index %lld, length %lld", what, (long long)i, (long long)n);
    return j;
}

static size_t char_at(const str *s, int64_t i) { /* byte offset of character i */
    if (s->len == s->nchars) return (size_t)i;
    size_t p = 0;
    while (p < s->len && i > 0) {
        p++;
        while (p < s->len && ((unsigned char)s->s[p] & 0xc0) == 0x80) p++;
        i--;
    }
    return p;
}

static V str_item(C *c, str *s, V key) {
    if (tc_kind_of(key) != K_SLICE) {
        int64_t i = place(c, key, s->nchars, "string");
        size_t p = char_at(s, i), e = p + 1;
        while (e < s->len && ((unsigned char)s->s[e] & 0xc0) == 0x80) e++;
        return (V)tc_intern(c, s->s + p, e - p);
    }
    int64_t a, b, st, n;
    tc_slice_bounds(c, (slice *)key, s->nchars, &a, &b, &st, &n);
    if (st == 1 || n == 0) {
        size_t p = char_at(s, a), e = char_at(s, n ? b : a);
        return tc_strn(c, s->s + p, e - p);
    }
    char *out = tc_mem(c, s->len + 1);
    size_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        tc_step(c);
        size_t p = char_at(s, a + i * st), e = p + 1;
        while (e < s->len && ((unsigned char)s->s[e] & 0xc0) == 0x80) e++;
        memcpy(out + m, s->s + p, e - p);
        m += e - p;
    }
    return tc_strn(c, out, m);
}

static V seq_item(C *c, V o, V key) {
    size_t n;
    V *a = tc_items(o, &n);
    kind k = tc_kind_of(o);
    if (tc_kind_of(key) != K_SLICE) return a[place(c, key, (int64_t)n, k == K_LIST ? "list" : "tuple")];
    int64_t s, e, st, m;
    tc_slice_bounds(c, (slice *)key, (int64_t)n, &s, &e, &st, &m);
    V *b = tc_mem(c, sizeof(V) * (size_t)(m + 1));
    for (int64_t i = 0; i < m; i++) b[i] = a[s + i * st];
    if (k == K_LIST) return tc_list_of(c, (size_t)m, b);
    V t = tc_tuple(c, (size_t)m, b);
    if (k == K_SIZE) t->type = c->types[K_SIZE];
    return t;
}

static V make_alias(C *c, V o, V key) {
    alias *a = tc_new(c, K_ALIAS, sizeof *a);
    a->origin = tc_kind_of(o) == K_ALIAS ? ((alias *)o)->origin : o;
    a->name = tc_kind_of(o) == K_ALIAS ? ((alias *)o)->name : ((type *)o)->name;
    if (tc_kind_of(key) != K_TUPLE) key = tc_tuple(c, 1, &key);
    if (!strcmp(a->name->s, "Optional")) {
        V two[2] = {((tuple *)key)->n ? ((tuple *)key)->a[0] : c->none, c->none};
        key = tc_tuple(c, 2, two);
    }
    a->params = key;
    return (V)a;
}

V tc_getitem(C *c, V o, V key) {
    kind k = tc_kind_of(o);
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_special(c, o, c->n___getitem__);
        if (f) return tc_call2(c, f, o, key);
    }
    switch (k) {
    case K_LIST:
    case K_TUPLE:
    case K_SIZE: return seq_item(c, o, key);
    case K_STR: return str_item(c, (str *)o, key);
    case K_DICT: {
        V v = tc_dict_get(c, (dict *)o, key);
        if (v) return v;
        V f = o->type->user ? tc_special(c, o, c->n___missing__) : NULL;
        if (f) return tc_call2(c, f, o, key);
        type *t = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "KeyError", 8));
        tc_raise_value(c, tc_exc_new(c, t, tc_tuple(c, 1, &key)));
    }
    case K_RANGE: {
        range *r = (range *)o;
        int64_t n = tc_len(c, o);
        if (tc_kind_of(key) != K_SLICE) return tc_int(c, r->start + place(c, key, n, "range object") * r->step);
        int64_t s, e, st, m;
        tc_slice_bounds(c, (slice *)key, n, &s, &e, &st, &m);
        range *q = tc_new(c, K_RANGE, sizeof *q);
        q->start = r->start + s * r->step, q->step = r->step * st, q->stop = r->start + e * r->step;
        return (V)q;
    }
    case K_TENSOR: return tc_tensor_getitem(c, o, key);
    case K_ALIAS: return make_alias(c, o, key);
    case K_TYPE: {
        V f = tc_type_lookup(c, (type *)o, c->n___class_getitem__);
        if (f) return tc_call2(c, tc_kind_of(f) == K_CLASSM || tc_kind_of(f) == K_STATIC ? ((wrapper *)f)->f : f, o, key);
        return make_alias(c, o, key);
    }
    default: tc_raise(c, "TypeError", "'%s' object is not subscriptable", tc_type_name(c, o));
    }
}

static void list_set_slice(C *c, list *l, slice *s, V v) {
    int64_t a, b, st, n;
    tc_slice_bounds(c, s, (int64_t)l->n, &a, &b, &st, &n);
    list *src = v ? tc_to_list(c, v) : tc_list(c, 0);
    if (st != 1) {
        if (v && (int64_t)src->n != n)
            tc_raise(c, "ValueError", "attempt to assign sequence of size %zu to extended slice of size %lld", src->n, (long long)n);
        if (v) {
            for (int64_t i = 0; i < n; i++) l->a[a + i * st] = src->a[i];
            return;
        }
        list *keep = tc_list(c, l->n);
        for (int64_t i = 0; i < (int64_t)l->n; i++) {
            int64_t d = st > 0 ? i - a : a - i, ab = st > 0 ? st : -st;
            if (!(d >= 0 && d % ab == 0 && d / ab < n)) tc_list_push(c, keep, l->a[i]);
        }
        l->a = keep->a, l->n = keep->n, l->cap = keep->cap;
        return;
    }
    if (b < a) b = a;
    list *r = tc_list(c, l->n - (size_t)(b - a) + src->n);
    for (int64_t i = 0; i < a; i++) tc_list_push(c, r, l->a[i]);
    for (size_t i = 0; i < src->n; i++) tc_list_push(c, r, src->a[i]);
    for (size_t i = (size_t)b; i < l->n; i++) tc_list_push(c, r, l->a[i]);
    l->a = r->a, l->n = r->n, l->cap = r->cap;
}

void tc_setitem(C *c, V o, V key, V v) {
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_special(c, o, c->n___setitem__);
        if (f) {
            tc_call3(c, f, o, key, v);
            return;
        }
    }
    switch (tc_kind_of(o)) {
    case K_LIST:
        tc_global_guard(c, ((list *)o)->module, o);
        if (tc_kind_of(key) == K_SLICE) list_set_slice(c, (list *)o, (slice *)key, v);
        else ((list *)o)->a[place(c, key, (int64_t)((list *)o)->n, "list assignment")] = v;
        return;
    case K_DICT:
        tc_global_guard(c, ((dict *)o)->module, o);
        tc_dict_set(c, (dict *)o, key, v);
        return;
    case K_TENSOR: tc_tensor_setitem(c, o, key, v); return;
    default: tc_raise(c, "TypeError", "'%s' object does not support item assignment", tc_type_name(c, o));
    }
}

void tc_delitem(C *c, V o, V key) {
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_special(c, o, c->n___delitem__);
        if (f) {
            tc_call2(c, f, o, key);
            return;
        }
    }
    switch (tc_kind_of(o)) {
    case K_LIST: {
        list *l = (list *)o;
        tc_global_guard(c, l->module, o);
        if (tc_kind_of(key) == K_SLICE) {
            list_set_slice(c, l, (slice *)key, NULL);
            return;
        }
        int64_t i = place(c, key, (int64_t)l->n, "list assignment");
        memmove(l->a + i, l->a + i + 1, (l->n - (size_t)i - 1) * sizeof(V));
        l->n--;
        return;
    }
    case K_DICT:
        tc_global_guard(c, ((dict *)o)->module, o);
        if (!tc_dict_del(c, (dict *)o, key)) {
            type *t = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "KeyError", 8));
            tc_raise_value(c, tc_exc_new(c, t, tc_tuple(c, 1, &key)));
        }
        return;
    default: tc_raise(c, "TypeError", "'%s' object doesn't support item deletion", tc_type_name(c, o));
    }
}

bool tc_contains(C *c, V o, V x) {
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_special(c, o, c->n___contains__);
        if (f) return tc_truth(c, tc_call2(c, f, o, x));
    }
    switch (tc_kind_of(o)) {
    case K_DICT: return tc_dict_get(c, (dict *)o, x) != NULL;
    case K_SET:
    case K_FROZENSET: return tc_dict_get(c, ((set *)o)->d, x) != NULL;
    case K_MAPPROXY:
        if (((mapview *)o)->what == 0) return tc_dict_get(c, ((mapview *)o)->d, x) != NULL;
        break;
    case K_STR:
        if (tc_kind_of(x) != K_STR) tc_raise(c, "TypeError", "'in <string>' requires string as left operand, not %s", tc_type_name(c, x));
        return memmem(tc_as_str(o)->s, tc_as_str(o)->len, tc_as_str(x)->s, tc_as_str(x)->len) != NULL;
    case K_RANGE:
        if (tc_is_int(x)) {
            int64_t i = tc_index(c, x, "in"), n = tc_len(c, o);
            range *r = (range *)o;
            return n && (i - r->start) % r->step == 0 && (i - r->start) / r->step >= 0 && (i - r->start) / r->step < n;
        }
        break;
    case K_TENSOR: return tc_tensor_contains(c, o, x);
    default: break;
    }
    const kind k = tc_kind_of(o);
    if (k == K_INT || k == K_FLOAT || k == K_BOOL || k == K_NONE || k == K_FUNC ||
        (k == K_OBJECT && !tc_special(c, o, c->n___iter__) && !tc_special(c, o, c->n___getitem__) && !tc_special(c, o, c->n___next__)))
        tc_raise(c, "TypeError", "argument of type '%s' is not iterable", tc_type_name(c, o));
    V it = tc_iter(c, o), v;
    while ((v = tc_next(c, it))) {
        tc_step(c);
        if (v == x) return true;
        if (tc_kind_of(v) == K_TENSOR || tc_kind_of(x) == K_TENSOR) {
            V r = tc_rich(c, '=', v, x);
            if (tc_kind_of(r) == K_TENSOR ? tc_tensor_truth(c, r, "'in'") : tc_truth(c, r)) return true;
        } else if (tc_equal(c, v, x)) return true;
    }
    return false;
}

int64_t tc_len(C *c, V o) {
    if (!tc_is_small(o) && o->type->user) {
        V f = tc_special(c, o, c->n___len__);
        if (f) return tc_index(c, tc_call1(c, f, o), "__len__()");
    }
    switch (tc_kind_of(o)) {
    case K_STR: return tc_as_str(o)->nchars;
    case K_LIST: return (int64_t)((list *)o)->n;
    case K_TUPLE:
    case K_SIZE: return (int64_t)((tuple *)o)->n;
    case K_DICT: return (int64_t)((dict *)o)->live;
    case K_SET:
    case K_FROZENSET: return (int64_t)((set *)o)->d->live;
    case K_MAPPROXY: return (int64_t)((mapview *)o)->d->live;
    case K_RANGE: {
        range *r = (range *)o;
        if (r->step > 0) return r->stop > r->start ? (int64_t)(((uint64_t)r->stop - (uint64_t)r->start - 1) / (uint64_t)r->step + 1) : 0;
        return r->start > r->stop ? (int64_t)(((uint64_t)r->start - (uint64_t)r->stop - 1) / (0 - (uint64_t)r->step) + 1) : 0;
    }
    case K_TENSOR: return tc_tensor_len(c, o);
    default: tc_raise(c, "TypeError", "object of type '%s' has no len()", tc_type_name(c, o));
    }
}
