/* Native parts of the standard library: math, typing, and functions that the embedded Python parts (std/) use. */
#include "capture/ast.h"
#include "base/text.h"
#include "capture/lang.h"
#include "capture/torch.h"

#include <math.h>

/* ---- math ---- */
static V one(C *c, args *A, const char *name, double (*f)(double), tc_symop sym) {
    V v[1];
    tc_take(c, A, name, "x", v);
    if (tc_kind_of(v[0]) == K_SYM && sym) return tc_sym_math(c, sym, v[0]);
    double x = tc_to_double(c, v[0]), r = f(x);
    if (isnan(r) && !isnan(x)) tc_raise(c, "ValueError", "math domain error");
    if (isinf(r) && isfinite(x)) {
        if (x == 0 || !strncmp(name, "log", 3) || !strcmp(name, "atanh") || !strcmp(name, "lgamma")) tc_raise(c, "ValueError", "math domain error");
        tc_raise(c, "OverflowError", "math range error" TC_DETAIL " (overflow)");
    }
    return tc_float(c, r);
}

/* clang-format off */
#define MATH_OF_ONE(X) /* X(function of one number, its operation on symbolic sizes or 0) */ \
    X(sqrt, TC_S_SQRT) X(exp, TC_S_EXP) X(sin, TC_S_SIN) X(cos, TC_S_COS) X(tan, TC_S_TAN) X(tanh, TC_S_TANH) X(fabs, TC_S_FABS) \
    X(log10, 0) X(asin, 0) X(acos, 0) X(atan, 0) X(sinh, 0) X(cosh, 0) X(asinh, 0) X(acosh, 0) X(atanh, 0) \
    X(log1p, 0) X(expm1, 0) X(exp2, 0) X(erf, 0) X(erfc, 0) X(lgamma, 0) X(cbrt, 0)
/* clang-format on */
#define X(name, sym) \
    static V m_##name(C *c, args *A) { return one(c, A, #name, name, sym); }
MATH_OF_ONE(X)
#undef X

static double gamma_fn(double x) { return tgamma(x); }
static V m_gamma(C *c, args *A) { return one(c, A, "gamma", gamma_fn, 0); }
static double degrees_fn(double x) { return x * (180.0 / M_PI); }
static double radians_fn(double x) { return x * (M_PI / 180.0); }
static V m_degrees(C *c, args *A) { return one(c, A, "degrees", degrees_fn, 0); }
static V m_radians(C *c, args *A) { return one(c, A, "radians", radians_fn, 0); }

static double log_of(C *c, V v, double (*f)(double)) {
    if (tc_kind_of(v) == K_INT && tc_int_sign(v) > 0 && tc_int_bits(v) > 1020) {
        int64_t s = tc_int_bits(v) - 64;
        return f(tc_int_to_double(c, tc_int_op(c, 'r', v, tc_int(c, s)))) + (double)s * f(2.0);
    }
    double x = tc_to_double(c, v);
    if (x <= 0) tc_raise(c, "ValueError", "math domain error");
    return f(x);
}
static V m_log(C *c, args *A) {
    V v[2];
    tc_take(c, A, "log", "x base=", v);
    if (tc_kind_of(v[0]) == K_SYM) {
        V r = tc_sym_math(c, TC_S_LOG, v[0]);
        return v[1] ? tc_binary(c, '/', r, tc_float(c, log_of(c, v[1], log))) : r;
    }
    double r = log_of(c, v[0], log);
    if (!v[1]) return tc_float(c, r);
    double b = log_of(c, v[1], log);
    if (b == 0) tc_raise(c, "ZeroDivisionError", "float division by zero");
    return tc_float(c, r / b);
}
static V m_log2(C *c, args *A) {
    V v[1];
    tc_take(c, A, "log2", "x", v);
    if (tc_kind_of(v[0]) == K_SYM) return tc_sym_math(c, TC_S_LOG2, v[0]);
    return tc_float(c, log_of(c, v[0], log2));
}

static V rounding(C *c, args *A, const char *name, double (*f)(double), tc_symop sym, str *dunder) {
    V v[1];
    tc_take(c, A, name, "x", v);
    switch (tc_kind_of(v[0])) {
    case K_INT: return v[0];
    case K_BOOL: return tc_int(c, v[0] == c->true_);
    case K_SYM: return tc_sym_math(c, sym, v[0]);
    case K_OBJECT:
        if (tc_special(c, v[0], dunder)) return tc_call1(c, tc_special(c, v[0], dunder), v[0]);
        break;
    default: break;
    }
    return tc_int_from_double(c, f(tc_to_double(c, v[0])));
}
static V m_floor(C *c, args *A) { return rounding(c, A, "floor", floor, TC_S_FLOOR, c->n___floor__); }
static V m_ceil(C *c, args *A) { return rounding(c, A, "ceil", ceil, TC_S_CEIL, c->n___ceil__); }
static V m_trunc(C *c, args *A) { return rounding(c, A, "trunc", trunc, TC_S_TRUNC, c->n___trunc__); }

static V m_pow(C *c, args *A) {
    V v[2];
    tc_take(c, A, "pow", "x y", v);
    if (tc_kind_of(v[0]) == K_SYM || tc_kind_of(v[1]) == K_SYM)
        return tc_binary(c, 'p', tc_kind_of(v[0]) == K_SYM ? tc_sym_unary(c, 'f', v[0]) : tc_float(c, tc_to_double(c, v[0])), v[1]);
    double x = tc_to_double(c, v[0]), y = tc_to_double(c, v[1]), r = pow(x, y);
    if (isnan(r) && !isnan(x) && !isnan(y)) tc_raise(c, "ValueError", "math domain error");
    if (isinf(r) && isfinite(x) && isfinite(y))
        tc_raise(c, x == 0 ? "ValueError" : "OverflowError", x == 0 ? "math domain error" : "math range error" TC_DETAIL " (overflow)");
    return tc_float(c, r);
}
static V two(C *c, args *A, const char *name, double (*f)(double, double)) {
    V v[2];
    tc_take(c, A, name, "x y", v);
    double x = tc_to_double(c, v[0]), y = tc_to_double(c, v[1]), r = f(x, y);
    if (isnan(r) && !isnan(x) && !isnan(y)) tc_raise(c, "ValueError", "math domain error");
    return tc_float(c, r);
}
static V m_atan2(C *c, args *A) { return two(c, A, "atan2", atan2); }
static V m_fmod(C *c, args *A) { return two(c, A, "fmod", fmod); }
static V m_copysign(C *c, args *A) { return two(c, A, "copysign", copysign); }
static V m_remainder(C *c, args *A) { return two(c, A, "remainder", remainder); }
static V m_nextafter(C *c, args *A) { return two(c, A, "nextafter", nextafter); }
static double ulp_fn(double x) {
    x = fabs(x);
    const double step = nextafter(x, INFINITY) - x;
    return isinf(x) ? x : isinf(step) ? x - nextafter(x, 0) : step;
}
static V m_ulp(C *c, args *A) { return one(c, A, "ulp", ulp_fn, 0); }
static V m_hypot(C *c, args *A) {
    double s = 0;
    for (int i = 0; i < A->n; i++) s = hypot(s, tc_to_double(c, A->a[i]));
    return tc_float(c, s);
}
static V m_isnan(C *c, args *A) {
    V v[1];
    tc_take(c, A, "isnan", "x", v);
    return tc_bool(c, isnan(tc_to_double(c, v[0])));
}
static V m_isinf(C *c, args *A) {
    V v[1];
    tc_take(c, A, "isinf", "x", v);
    return tc_bool(c, isinf(tc_to_double(c, v[0])));
}
static V m_isfinite(C *c, args *A) {
    V v[1];
    tc_take(c, A, "isfinite", "x", v);
    return tc_bool(c, isfinite(tc_to_double(c, v[0])));
}
static V m_isclose(C *c, args *A) {
    V v[4];
    tc_take(c, A, "isclose", "a b * rel_tol= abs_tol=", v);
    double a = tc_to_double(c, v[0]), b = tc_to_double(c, v[1]), rel = v[2] ? tc_to_double(c, v[2]) : 1e-9, ab = v[3] ? tc_to_double(c, v[3]) : 0;
    if (a == b) return c->true_;
    if (isinf(a) || isinf(b)) return c->false_;
    double d = fabs(a - b);
    return tc_bool(c, d <= fabs(rel * b) || d <= fabs(rel * a) || d <= ab);
}
static V want_int(C *c, V v, const char *fn) {
    if (tc_kind_of(v) == K_BOOL) return tc_int(c, v == c->true_);
    if (tc_kind_of(v) == K_INT) return v;
    return tc_int(c, tc_index(c, v, fn));
}
static V gcd2(C *c, V a, V b) {
    while (tc_int_sign(b)) {
        V r = tc_int_op(c, '%', a, b);
        a = b, b = r;
        tc_step(c);
    }
    return tc_int_sign(a) < 0 ? tc_int_neg(c, a) : a;
}
static V m_gcd(C *c, args *A) {
    V g = tc_int(c, 0);
    for (int i = 0; i < A->n; i++) g = gcd2(c, g, want_int(c, A->a[i], "gcd"));
    return g;
}
static V m_lcm(C *c, args *A) {
    V l = tc_int(c, 1);
    for (int i = 0; i < A->n; i++) {
        V x = want_int(c, A->a[i], "lcm");
        if (!tc_int_sign(x)) return x;
        l = tc_int_op(c, '*', l, tc_int_op(c, '/', x, gcd2(c, l, x)));
        if (tc_int_sign(l) < 0) l = tc_int_neg(c, l);
    }
    return l;
}
static V m_isqrt(C *c, args *A) {
    V v[1];
    tc_take(c, A, "isqrt", "n", v);
    V n = want_int(c, v[0], "isqrt");
    if (tc_int_sign(n) < 0) tc_raise(c, "ValueError", "isqrt() argument must be nonnegative");
    if (!tc_int_sign(n)) return n;
    V x = tc_int_op(c, 'l', tc_int(c, 1), tc_int(c, (tc_int_bits(n) + 1) / 2));
    for (;;) {
        V y = tc_int_op(c, 'r', tc_int_op(c, '+', x, tc_int_op(c, '/', n, x)), tc_int(c, 1));
        if (tc_int_cmp(y, x) >= 0) return x;
        x = y;
        tc_step(c);
    }
}
static V m_factorial(C *c, args *A) {
    V v[1];
    tc_take(c, A, "factorial", "n", v);
    int64_t n = tc_index(c, v[0], "factorial");
    if (n < 0) tc_raise(c, "ValueError", "factorial() not defined for negative values");
    V r = tc_int(c, 1);
    for (int64_t i = 2; i <= n; i++) r = tc_int_op(c, '*', r, tc_int(c, i)), tc_step(c);
    return r;
}
static V m_comb(C *c, args *A) {
    V v[2];
    tc_take(c, A, "comb", "n k", v);
    int64_t n = tc_index(c, v[0], "comb"), k = tc_index(c, v[1], "comb");
    if (n < 0 || k < 0) tc_raise(c, "ValueError", "comb() arguments must be non-negative");
    if (k > n) return tc_int(c, 0);
    if (k > n - k) k = n - k;
    V r = tc_int(c, 1);
    for (int64_t i = 0; i < k; i++) r = tc_int_op(c, '/', tc_int_op(c, '*', r, tc_int(c, n - i)), tc_int(c, i + 1)), tc_step(c);
    return r;
}
static V m_perm(C *c, args *A) {
    V v[2];
    tc_take(c, A, "perm", "n k=", v);
    int64_t n = tc_index(c, v[0], "perm"), k = v[1] && v[1] != c->none ? tc_index(c, v[1], "perm") : n;
    V r = tc_int(c, 1);
    for (int64_t i = 0; i < k; i++) r = tc_int_op(c, '*', r, tc_int(c, n - i)), tc_step(c);
    return r;
}
static V m_prod(C *c, args *A) {
    V v[2];
    tc_take(c, A, "prod", "iterable * start=", v);
    V r = v[1] ? v[1] : tc_int(c, 1), it = tc_iter(c, v[0]), e;
    while ((e = tc_next(c, it))) r = tc_binary(c, '*', r, e), tc_step(c);
    return r;
}
static V m_fsum(C *c, args *A) {
    /* Shewchuk's exact sum */
    list *l = tc_to_list(c, A->a[0]);
    double *p = tc_mem(c, sizeof(double) * (l->n + 1));
    size_t n = 0;
    for (size_t k = 0; k < l->n; k++) {
        double x = tc_to_double(c, l->a[k]);
        size_t i = 0;
        for (size_t j = 0; j < n; j++) {
            double y = p[j], t;
            if (fabs(x) < fabs(y)) t = x, x = y, y = t;
            double hi = x + y, lo = y - (hi - x);
            if (lo) p[i++] = lo;
            x = hi;
        }
        n = i;
        p[n++] = x;
    }
    double s = 0;
    for (size_t i = n; i-- > 0;) s += p[i];
    return tc_float(c, s);
}
static V m_modf(C *c, args *A) {
    V v[1];
    tc_take(c, A, "modf", "x", v);
    double w, f = modf(tc_to_double(c, v[0]), &w);
    return tc_tuple_of(c, 2, tc_float(c, f), tc_float(c, w));
}
static V m_frexp(C *c, args *A) {
    V v[1];
    tc_take(c, A, "frexp", "x", v);
    int e;
    double m = frexp(tc_to_double(c, v[0]), &e);
    return tc_tuple_of(c, 2, tc_float(c, m), tc_int(c, e));
}
static V m_ldexp(C *c, args *A) {
    V v[2];
    tc_take(c, A, "ldexp", "x i", v);
    int64_t e = tc_index(c, v[1], "ldexp");
    return tc_float(c, ldexp(tc_to_double(c, v[0]), e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e));
}
static V m_dist(C *c, args *A) {
    list *a = tc_to_list(c, A->a[0]), *b = tc_to_list(c, A->a[1]);
    double s = 0;
    for (size_t i = 0; i < a->n && i < b->n; i++) s = hypot(s, tc_to_double(c, a->a[i]) - tc_to_double(c, b->a[i]));
    return tc_float(c, s);
}

/* ---- typing ---- */
static V make_typing(C *c, str *name, V origin) {
    alias *a = tc_new(c, K_ALIAS, sizeof *a);
    a->name = name, a->origin = origin, a->params = tc_tuple(c, 0, NULL);
    return (V)a;
}
static V typing_missing(C *c, module *m, str *name) {
    static const char names[] =
        " AbstractSet Annotated Any AnyStr ArrayLike AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable BinaryIO ByteString "
        "Callable ChainMap ClassVar Collection Concatenate Container ContextManager Coroutine Deque Device Final ForwardRef Generator Generic "
        "Hashable IO ItemsView Iterable Iterator KeysView Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet "
        "NDArray NamedTuple Never NoReturn NotRequired Number Optional ParamSpecArgs ParamSpecKwargs Pattern Protocol Required Reversible Self "
        "Sequence Sized SupportsAbs SupportsBytes SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound Text TextIO Type TypeAlias "
        "TypeGuard TypeIs TypedDict Union Unpack ValuesView _device _dtype _int _size _size_1_t _size_2_t _size_3_t size_1_t size_2_t size_3_t ";
    if (!tc_word_in(names, name->s)) return NULL;
    V v = make_typing(c, name, c->none);
    tc_dict_set(c, m->d, (V)name, v);
    return v;
}
static V t_cast(C *c, args *A) {
    V v[2];
    tc_take(c, A, "cast", "typ val", v);
    return v[1];
}
static V t_identity(C *c, args *A) { return A->n ? A->a[0] : c->none; }
static V t_typevar(C *c, args *A) {
    (void)A;
    return make_typing(c, tc_intern(c, "TypeVar", 7), c->none);
}
/* isinstance(o, cls) for a protocol: does o have what the class annotates and defines? Classes that derive from it are ordinary classes. */
static V t_has_members(C *c, args *A) {
    V v[2], k, x;
    tc_take(c, A, "__instancecheck__", "cls o", v);
    const type *t = (const type *)v[0];
    str *check = tc_intern(c, "__instancecheck__", 17);
    if (!tc_dict_gets(c, t->d, check)) return tc_bool(c, tc_issubtype(tc_type_of(c, v[1]), (type *)v[0]));
    for (int i = 0; i < t->nmro && t->mro[i]->user; i++) {
        dict *own = t->mro[i]->d, *named = (dict *)tc_dict_gets(c, own, c->n___annotations__);
        for (size_t at = 0; named && tc_dict_next(named, &at, &k, &x);)
            if (!tc_getattr_or(c, v[1], tc_as_str(k))) return c->false_;
        for (size_t at = 0; tc_dict_next(own, &at, &k, &x);) {
            bool special = k == (V)check || tc_kind_of(x) == K_STR || k == (V)c->n___annotations__ || x == c->none;
            if (!special && !tc_getattr_or(c, v[1], tc_as_str(k))) return c->false_;
        }
    }
    return c->true_;
}
static V t_checkable(C *c, args *A) {
    V v[1];
    tc_take(c, A, "runtime_checkable", "cls", v);
    if (tc_kind_of(v[0]) == K_TYPE) tc_dict_setc(c, ((type *)v[0])->d, "__instancecheck__", tc_native(c, "__instancecheck__", t_has_members, NULL));
    return v[0];
}
static V t_newtype(C *c, args *A) {
    (void)A;
    return tc_native(c, "NewType", t_identity, NULL);
}
static bool is_optional(const alias *a) { return !strcmp(a->name->s, "Optional"); }
static V t_get_args(C *c, args *A) {
    V v[1];
    tc_take(c, A, "get_args", "tp", v);
    if (tc_kind_of(v[0]) != K_ALIAS) return tc_tuple(c, 0, NULL);
    const alias *a = (alias *)v[0];
    V of = tc_kind_of(a->params) == K_TUPLE ? a->params : tc_tuple(c, 1, &a->params);
    return is_optional(a) ? tc_tuple_of(c, 2, ((tuple *)of)->a[0], (V)c->types[K_NONE]) : of;
}
static V t_get_origin(C *c, args *A) {
    V v[1];
    tc_take(c, A, "get_origin", "tp", v);
    if (tc_kind_of(v[0]) != K_ALIAS) return c->none;
    const alias *a = (alias *)v[0];
    if (tc_kind_of(a->origin) == K_TYPE) return a->origin;
    return tc_module_attr(c, tc_module(c, "typing"), is_optional(a) ? tc_intern(c, "Union", 5) : a->name);
}
static V evaluated(C *c, module *m, dict *globals, V text) {
    while (tc_kind_of(text) == K_STR) text = tc_lang_eval(c, m, globals, "<annotation>", tc_as_str(text)->s);
    return text;
}
/* get_type_hints(class or function): annotations by name, evaluated where they stand; that of a result is not kept. */
static V t_type_hints(C *c, args *A) {
    V v[4], k, x;
    tc_take(c, A, "get_type_hints", "obj globalns= localns= include_extras=", v);
    dict *out = tc_dict(c);
    if (tc_kind_of(v[0]) == K_METHOD) v[0] = ((method *)v[0])->func;
    if (tc_kind_of(v[0]) == K_FUNC) {
        const func *f = (func *)v[0];
        for (int i = 0; i < f->sc->nparams; i++)
            if (f->sc->params[i].annotation)
                tc_dict_set(c, out, (V)f->sc->params[i].name, evaluated(c, f->module, f->globals, (V)f->sc->params[i].annotation));
        return (V)out;
    }
    const type *t = tc_kind_of(v[0]) == K_TYPE ? (type *)v[0] : tc_type_of(c, v[0]);
    const frame *user = tc_user_frame(c);
    for (int i = t->nmro - 1; i >= 0; i--) {
        const dict *texts = t->mro[i]->user ? (dict *)tc_dict_gets(c, t->mro[i]->d, c->n___annotations__) : NULL;
        V m = t->mro[i]->module_name ? tc_dict_gets(c, c->modules, t->mro[i]->module_name) : NULL;
        module *in = m ? (module *)m : user->module;
        for (size_t at = 0; texts && tc_dict_next(texts, &at, &k, &x);) tc_dict_set(c, out, k, evaluated(c, in, m ? in->d : user->globals, x));
    }
    return (V)out;
}
/* Why the i-th name cannot be a field name, or NULL. */
static const char *not_a_field(C *c, const list *names, size_t i) {
    const str *s = tc_as_str(names->a[i]);
    if (tc_is_keyword(s->s, s->len)) return "Type names and field names cannot be a keyword";
    if (!tc_truth(c, tc_call_method(c, names->a[i], tc_intern(c, "isidentifier", 12), 0, NULL)))
        return "Type names and field names must be valid identifiers";
    if (s->s[0] == '_') return "Field names cannot start with an underscore";
    for (size_t k = 0; k < i; k++)
        if (names->a[k] == names->a[i]) return "Encountered duplicate field name";
    return NULL;
}
static V t_namedtuple(C *c, args *A) {
    V v[4];
    tc_take(c, A, "namedtuple", "typename field_names * rename= defaults=", v);
    list *f = tc_kind_of(v[1]) == K_STR ? NULL : tc_to_list(c, v[1]);
    if (!f) {
        V comma = tc_call_method(c, v[1], tc_intern(c, "replace", 7), 2, (V[]){tc_strz(c, ","), tc_strz(c, " ")});
        f = (list *)tc_call_method(c, comma, tc_intern(c, "split", 5), 0, NULL);
    }
    dict *defs = tc_dict(c);
    for (size_t i = 0; i < f->n; i++) {
        if (tc_kind_of(f->a[i]) == K_TUPLE) f->a[i] = ((tuple *)f->a[i])->a[0];
        f->a[i] = (V)tc_intern_str(c, tc_as_str(f->a[i]));
        const char *wrong = not_a_field(c, f, i);
        if (wrong && v[2] && tc_truth(c, v[2])) f->a[i] = (V)tc_intern_str(c, tc_as_str(tc_strf(c, "_%zu", i)));
        else if (wrong) tc_raise(c, "ValueError", "%s: %s", wrong, tc_repr(c, f->a[i])->s);
    }
    if (v[3] && v[3] != c->none) {
        list *d = tc_to_list(c, v[3]);
        for (size_t i = 0; i < d->n; i++) tc_dict_set(c, defs, f->a[f->n - d->n + i], d->a[i]);
    }
    V t = tc_namedtuple(c, tc_intern_str(c, tc_as_str(v[0])), defs, tc_tuple(c, f->n, f->a), NULL);
    ((type *)t)->module_name = c->fr && c->fr->module ? c->fr->module->name : NULL;
    return t;
}

/* ---- what std/ asks for ---- */
static V s_kind(C *c, args *A) { return tc_strz(c, c->types[tc_kind_of(A->a[0])]->name->s); }
static V s_warn(C *c, args *A) {
    str *s = tc_to_str(c, A->n ? A->a[0] : c->none);
    tc_warn(c, s->s);
    return c->none;
}
/* hint(function, name): the annotation of a parameter, evaluated in the function's globals; None: it has none. */
static V s_hint(C *c, args *A) {
    V v[2];
    tc_take(c, A, "hint", "function name", v);
    if (tc_kind_of(v[0]) == K_METHOD) v[0] = ((method *)v[0])->func;
    if (tc_kind_of(v[0]) != K_FUNC) return c->none;
    const func *f = (func *)v[0];
    for (int i = 0; i < f->sc->nparams; i++) {
        const str *text = f->sc->params[i].annotation;
        if ((V)f->sc->params[i].name != v[1] || !text) continue;
        return evaluated(c, f->module, f->globals, (V)text);
    }
    return c->none;
}
static V s_params(C *c, args *A) { /* names of a function's parameters, and which have defaults */
    V f = A->a[0];
    if (tc_kind_of(f) == K_METHOD) f = ((method *)f)->func;
    return tc_kind_of(f) == K_FUNC ? tc_func_signature(c, (func *)f) : c->none;
}

static V s_refuse_import(C *c, args *A) { /* "os.path.join", of "os.path", which is "a module", imported at FILE, LINE, COL */
    V v[6];
    tc_take(c, A, "refuse_import", "name whole what file line col", v);
    for (int i = 0; i < 4; i++)
        if (tc_kind_of(v[i]) != K_STR) tc_raise(c, "TypeError", "refuse_import() takes a name and a file");
    const frame *f = tc_user_frame(c);
    const char *name = tc_as_str(v[0])->s, *whole = tc_as_str(v[1])->s, *what = tc_as_str(v[2])->s;
    tc_source at = {.file = tc_as_str(v[3])->s, .line = (int)tc_index(c, v[4], "line"), .col = (int)tc_index(c, v[5], "col")};
    const char *use = f ? tc_arena_printf(&c->arena, "%s:%d uses %s", f->sc->file->name, f->at->line, name)
                        : tc_arena_printf(&c->arena, "%s is what is asked for", name);
    if (!strcmp(what, "a builtin"))
        tc_raise_status_at(c, "NameError", tc_error(TC_CONTENT, "NameError: '%s' is not part of the model language", whole), &at);
    tc_raise_status_at(
        c, "UnsupportedError",
        tc_error(TC_UNSUPPORTED, "'%s' is %s outside the model language: importing it is all that a file may do, and %s", whole, what, use), &at);
}

static V s_version(C *c, args *A) { /* of a package that a folder of --source has installed; None: none has */
    V v[1];
    tc_take(c, A, "version", "name", v);
    const char *text = tc_import_version(c, tc_as_str(v[0])->s);
    return text ? tc_strz(c, text) : c->none;
}

static V s_trying(C *c, args *A) { /* the body of a try */
    tc_take(c, A, "trying", "", NULL);
    return tc_bool(c, c->trying > 0);
}

bool tc_is_loading(const C *c) {
    const frame *f = c->fr;
    while (f && (f->sc->kind != SC_MODULE || f->sc->file->embedded)) f = f->prev;
    return f != NULL;
}

static V s_loading(C *c, args *A) {
    tc_take(c, A, "loading", "", NULL);
    return tc_bool(c, tc_is_loading(c));
}

static V s_lacking(C *c, args *A) { /* the placeholder for a name that the library lacks, such as "pathlib.Path.mkdir" */
    V v[2];
    tc_take(c, A, "lacking", "name what", v);
    return tc_lacking(c, tc_as_str(v[0])->s, tc_as_str(v[1])->s);
}

static V s_import(C *c, args *A) {
    V v[1];
    tc_take(c, A, "__import__", "name", v);
    return (V)tc_import(c, tc_as_str(v[0])->s, true);
}

static V s_finds(C *c, args *A) {
    V v[1];
    tc_take(c, A, "finds", "name", v);
    return tc_bool(c, tc_import_finds(c, tc_as_str(v[0])->s));
}

static V s_loaded(C *c, args *A) { /* sys.modules: the importing module, or one that was imported; else None */
    V v[1], m = NULL;
    tc_take(c, A, "loaded", "name", v);
    const frame *f = tc_user_frame(c);
    if (tc_kind_of(v[0]) != K_STR) return c->none;
    if (f && f->module && f->module->name == tc_as_str(v[0])) m = (V)f->module;
    else if (tc_as_str(v[0])->s[0] != '_') m = tc_dict_gets(c, c->modules, tc_as_str(v[0]));
    return m ? m : c->none;
}

static V s_place(C *c, args *A) { /* sys.modules[name] = module */
    V v[2];
    tc_take(c, A, "place", "name module", v);
    if (tc_kind_of(v[0]) == K_STR) tc_module_replace(c, tc_intern_str(c, tc_as_str(v[0])), v[1]);
    return c->none;
}

static void define_math(C *c) {
    static const native_def math[] = {
#define F(n) {#n, m_##n}
        F(sqrt),      F(exp),     F(sin),   F(cos),   F(tan),   F(tanh),     F(log10),   F(asin),     F(acos),  F(atan),  F(sinh),      F(cosh),
        F(asinh),     F(acosh),   F(atanh), F(log1p), F(expm1), F(erf),      F(erfc),    F(lgamma),   F(fabs),  F(cbrt),  F(exp2),      F(gamma),
        F(degrees),   F(radians), F(log),   F(log2),  F(floor), F(ceil),     F(trunc),   F(pow),      F(atan2), F(fmod),  F(copysign),  F(remainder),
        F(nextafter), F(ulp),     F(hypot), F(isnan), F(isinf), F(isfinite), F(isclose), F(gcd),      F(lcm),   F(isqrt), F(factorial), F(comb),
        F(perm),      F(prod),    F(fsum),  F(modf),  F(frexp), F(ldexp),    F(dist),    {NULL, NULL}};
#undef F
    module *m = tc_module(c, "math");
    tc_define(c, m->d, math);
    tc_dict_setc(c, m->d, "pi", tc_float(c, M_PI));
    tc_dict_setc(c, m->d, "e", tc_float(c, M_E));
    tc_dict_setc(c, m->d, "tau", tc_float(c, 2 * M_PI));
    tc_dict_setc(c, m->d, "inf", tc_float(c, INFINITY));
    tc_dict_setc(c, m->d, "nan", tc_float(c, NAN));
    tc_dict_setc(c, m->d, "__all__", (V)tc_to_list(c, (V)m->d));
}

static void define_typing(C *c) {
    module *m = tc_module(c, "typing");
    m->missing = typing_missing;
    static const native_def typing[] = {{"cast", t_cast},
                                        {"overload", t_identity},
                                        {"final", t_identity},
                                        {"runtime_checkable", t_checkable},
                                        {"no_type_check", t_identity},
                                        {"TypeVar", t_typevar},
                                        {"ParamSpec", t_typevar},
                                        {"NewType", t_newtype},
                                        {"get_args", t_get_args},
                                        {"get_origin", t_get_origin},
                                        {"get_type_hints", t_type_hints},
                                        {"TypeVarTuple", t_typevar},
                                        {"override", t_identity},
                                        {NULL, NULL}};
    tc_define(c, m->d, typing);
    tc_dict_setc(c, m->d, "TYPE_CHECKING", c->false_);
    static const struct {
        const char *name;
        kind k;
    } gen[] = {{"List", K_LIST},           {"Dict", K_DICT},        {"Tuple", K_TUPLE},      {"Set", K_SET},
               {"FrozenSet", K_FROZENSET}, {"OrderedDict", K_DICT}, {"DefaultDict", K_DICT}, {"Counter", K_DICT}};
    for (size_t i = 0; i < sizeof gen / sizeof *gen; i++)
        tc_dict_setc(c, m->d, gen[i].name, make_typing(c, tc_intern(c, gen[i].name, strlen(gen[i].name)), (V)c->types[gen[i].k]));
    tc_dict_setc(c, m->d, "__all__", /* the names that import * binds: typing's own */
                 tc_call_method(c,
                                tc_strz(c, "Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping NamedTuple "
                                           "Optional Protocol Sequence Set Tuple Type TypeVar Union cast overload"),
                                tc_intern(c, "split", 5), 0, NULL));
}

void tc_std_init(C *c) {
    define_math(c);
    define_typing(c);
    static const native_def lang[] = {{"namedtuple", t_namedtuple},
                                      {"kind", s_kind},
                                      {"warn", s_warn},
                                      {"signature", s_params},
                                      {"__import__", s_import},
                                      {"finds", s_finds},
                                      {"refuse_import", s_refuse_import},
                                      {"loaded", s_loaded},
                                      {"place", s_place},
                                      {"loading", s_loading},
                                      {"trying", s_trying},
                                      {"version", s_version},
                                      {"lacking", s_lacking},
                                      {"hint", s_hint},
                                      {NULL, NULL}};
    tc_define(c, tc_module(c, "_lang")->d, lang);
}
