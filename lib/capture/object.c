/* Creates objects; truth, hash, equality and order of every kind of object. Text: repr.c. */
#include "capture/object.h"

#include <math.h>
#include <stdio.h>

/* ---- memory ---- */
void tc_memory_check(C *c, size_t more) {
    if (more > c->max_memory || c->arena.used > c->max_memory - more)
        tc_raise_limit(c, "the model needs more memory than the limit of %zu MB allows", c->max_memory >> 20);
}

void *tc_mem(C *c, size_t n) {
    if (__builtin_expect(n > c->max_memory || c->arena.used > c->max_memory - n, 0)) tc_memory_check(c, n);
    return tc_arena_alloc(&c->arena, n);
}

void *tc_avec_grow_(C *c, void *data, size_t len, size_t *cap, size_t elem) {
    size_t n = *cap ? *cap * 2 : 4;
    void *p = tc_mem(c, n * elem);
    if (len) memcpy(p, data, len * elem);
    *cap = n;
    return p;
}

void *tc_new(C *c, kind k, size_t size) {
    obj *o = tc_mem(c, size);
    o->type = c->types[k];
    return o;
}

/* ---- constructors ---- */
V tc_int(C *c, int64_t i) {
    if (i >= -((int64_t)1 << 62) && i < (int64_t)1 << 62) return (V)(uintptr_t)((uint64_t)i << 1 | 1);
    big *b = tc_new(c, K_INT, sizeof *b);
    uint64_t m = i < 0 ? -(uint64_t)i : (uint64_t)i;
    b->neg = i < 0;
    b->d = tc_mem(c, 8);
    b->d[0] = (uint32_t)m, b->d[1] = (uint32_t)(m >> 32);
    b->n = 2;
    return (V)b;
}

V tc_float(C *c, double f) {
    flt *o = tc_new(c, K_FLOAT, sizeof *o);
    o->f = f;
    return (V)o;
}

V tc_complex(C *c, double re, double im) {
    cplx *o = tc_new(c, K_COMPLEX, sizeof *o);
    o->re = re, o->im = im;
    return (V)o;
}

static uint32_t hash_bytes(const char *s, size_t n) { return (uint32_t)tc_hash(s, n, 0) | 1; }

static str *str_init(C *c, str *o, const char *s, size_t n) {
    o->h.type = c->types[K_STR];
    o->s = s, o->len = (uint32_t)n, o->hash = 0;
    size_t more = 0, i = 0; /* continuation bytes of UTF-8: 10xxxxxx */
    for (uint64_t w; n - i >= sizeof w; i += sizeof w) {
        memcpy(&w, s + i, sizeof w);
        w = (w >> 7) & ~(w >> 6) & UINT64_C(0x0101010101010101);
        if (w) more += (size_t)__builtin_popcountll(w);
    }
    for (; i < n; i++) more += ((unsigned char)s[i] & 0xc0) == 0x80;
    o->nchars = (uint32_t)(n - more);
    return o;
}

V tc_strn(C *c, const char *s, size_t n) {
    if (n > UINT32_MAX / 2) tc_raise_limit(c, "a string of %zu bytes is over the limit", n);
    str *o = tc_mem(c, sizeof *o + n + 1);
    char *text = (char *)(o + 1);
    if (n) memcpy(text, s, n);
    return (V)str_init(c, o, text, n);
}

V tc_strz(C *c, const char *s) { return tc_strn(c, s, strlen(s)); }

V tc_strf(C *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_buf b = {0};
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return tc_buf_to_str(c, &b);
}

V tc_buf_to_str(C *c, tc_buf *b) {
    size_t need = sizeof(str) + b->len + 1; /* of tc_strn, which would raise and leave b */
    if (b->len > UINT32_MAX / 2 || need > c->max_memory || c->arena.used > c->max_memory - need) {
        tc_buf_free(b);
        tc_memory_check(c, c->max_memory + 1);
    }
    V v = tc_strn(c, b->data, b->len);
    tc_buf_free(b);
    return v;
}

str *tc_intern(C *c, const char *s, size_t n) {
    str *o = tc_map_get(&c->interned, s, n);
    if (o) return o;
    o = tc_as_str(tc_strn(c, s, n));
    o->interned = true;
    o->hash = hash_bytes(s, n);
    *tc_map_put(&c->interned, o->s, n) = o; /* the map's key is the string's own text */
    return o;
}

str *tc_intern_str(C *c, str *s) { return s->interned ? s : tc_intern(c, s->s, s->len); }

V tc_tuple(C *c, size_t n, V const *a) {
    if (n > c->max_memory / sizeof(V)) tc_memory_check(c, c->max_memory + 1);
    tuple *t = tc_new(c, K_TUPLE, sizeof *t + n * sizeof(V));
    t->a = (V *)(t + 1), t->n = n;
    if (a) {
        if (n) memcpy(t->a, a, n * sizeof(V));
    } else {
        for (size_t i = 0; i < n; i++) t->a[i] = c->none;
    }
    return (V)t;
}

V tc_tuple_of(C *c, int n, ...) {
    V a[16];
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n && i < 16; i++) a[i] = va_arg(ap, V);
    va_end(ap);
    return tc_tuple(c, (size_t)n, a);
}

list *tc_list(C *c, size_t cap) {
    if (cap > c->max_memory / sizeof(V)) tc_raise_limit(c, "a list of %zu elements is over the memory limit of %zu MB", cap, c->max_memory >> 20);
    list *l = tc_new(c, K_LIST, sizeof *l);
    if (cap) l->a = tc_mem(c, cap * sizeof(V)), l->cap = cap;
    l->module = tc_maker_here(c);
    return l;
}

void tc_list_push(C *c, list *l, V v) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 4;
        V *a = tc_mem(c, cap * sizeof(V));
        if (l->n) memcpy(a, l->a, l->n * sizeof(V));
        l->a = a, l->cap = cap;
    }
    l->a[l->n++] = v;
}

V tc_list_of(C *c, size_t n, V const *a) {
    list *l = tc_list(c, n);
    if (n) memcpy(l->a, a, n * sizeof(V));
    l->n = n;
    return (V)l;
}

V tc_cell(C *c, V v) {
    cell *o = tc_new(c, K_CELL, sizeof *o);
    o->v = v;
    o->module = tc_maker_here(c);
    return (V)o;
}

V tc_native(C *c, const char *name, native_fn fn, void *data) {
    native *o = tc_new(c, K_NATIVE, sizeof *o);
    o->name = tc_intern(c, name, strlen(name));
    o->fn = fn, o->data = data;
    return (V)o;
}

V tc_method(C *c, V f, V self) {
    method *m = tc_new(c, K_METHOD, sizeof *m);
    m->func = f, m->self = self;
    return (V)m;
}

V tc_slice(C *c, V start, V stop, V step) {
    slice *s = tc_new(c, K_SLICE, sizeof *s);
    s->start = start, s->stop = stop, s->step = step;
    return (V)s;
}

/* ---- asking ---- */
const char *tc_type_name(C *c, V v) { return tc_type_of(c, v)->name->s; }

bool tc_is_seq(V v) {
    kind k = tc_kind_of(v);
    return k == K_TUPLE || k == K_LIST || k == K_SIZE;
}

V *tc_items(V v, size_t *n) {
    if (tc_kind_of(v) == K_LIST) return *n = ((list *)v)->n, ((list *)v)->a;
    return *n = ((tuple *)v)->n, ((tuple *)v)->a;
}

bool tc_truth(C *c, V v) {
    if (v == c->true_) return true;
    if (v == c->false_ || v == c->none) return false;
    if (tc_is_small(v)) return tc_small(v) != 0;
    if (v->type->user) {
        V f = tc_special(c, v, c->n___bool__), r;
        if (f) {
            r = tc_call1(c, f, v);
            if (tc_kind_of(r) != K_BOOL) tc_raise(c, "TypeError", "__bool__ should return bool, returned %s", tc_type_name(c, r));
            return r == c->true_;
        }
        if ((f = tc_special(c, v, c->n___len__))) return tc_truth(c, tc_call1(c, f, v));
    }
    switch (v->type->kind) {
    case K_FLOAT: return tc_flt(v) != 0;
    case K_COMPLEX: return ((cplx *)v)->re != 0 || ((cplx *)v)->im != 0;
    case K_STR: return ((str *)v)->len != 0;
    case K_TUPLE:
    case K_SIZE: return ((tuple *)v)->n != 0;
    case K_LIST: return ((list *)v)->n != 0;
    case K_DICT: return ((dict *)v)->live != 0;
    case K_SET:
    case K_FROZENSET: return ((set *)v)->d->live != 0;
    case K_MAPPROXY: return ((mapview *)v)->d->live != 0;
    case K_RANGE: return tc_len(c, v) != 0;
    case K_SYM: return tc_sym_truth(c, v);
    case K_TENSOR: return tc_tensor_truth(c, v, "a branch");
    default: return true;
    }
}

bool tc_same(V a, V b) {
    if (a == b) return true;
    if (tc_is_small(a) || tc_is_small(b)) return false;
    /* bound methods and native functions are made anew at each lookup */
    if (a->type->kind == K_DTYPE && b->type->kind == K_DTYPE) return ((dtypeobj *)a)->d == ((dtypeobj *)b)->d;
    return false;
}

uint64_t tc_hash_value(C *c, V v) {
    if (tc_is_small(v)) return tc_int_hash(v);
    if (v->type->user && v->type->kind != K_STR) {
        V f = tc_special(c, v, c->n___hash__);
        if (f == c->none) tc_raise(c, "TypeError", "unhashable type: '%s'", v->type->name->s);
        if (f) {
            V r = tc_call1(c, f, v);
            return tc_int_hash(r);
        }
        if (v->type->kind == K_OBJECT && tc_special(c, v, c->n___eq__)) tc_raise(c, "TypeError", "unhashable type: '%s'", v->type->name->s);
    }
    switch (v->type->kind) {
    case K_STR: {
        str *s = (str *)v;
        if (!s->hash) s->hash = hash_bytes(s->s, s->len);
        return s->hash;
    }
    case K_BOOL: return tc_int_hash(tc_int(c, v == c->true_));
    case K_INT: return tc_int_hash(v);
    case K_FLOAT: {
        double f = tc_flt(v);
        if (f == rint(f) && fabs(f) < 4e18) return tc_int_hash(tc_int(c, (int64_t)f));
        if (f == rint(f) && isfinite(f)) return tc_int_hash(tc_int_from_double(c, f));
        return tc_hash(&f, sizeof f, 7);
    }
    case K_COMPLEX: return tc_hash(&((cplx *)v)->re, 16, 9);
    case K_TUPLE:
    case K_SIZE: {
        tuple *t = (tuple *)v;
        uint64_t h = 0x345678 + t->n;
        for (size_t i = 0; i < t->n; i++) h = (h ^ tc_hash_value(c, t->a[i])) * 1000003u + 97531;
        return h;
    }
    case K_FROZENSET: {
        uint64_t h = 1927868237;
        V k, x;
        for (size_t i = 0; tc_dict_next(((set *)v)->d, &i, &k, &x);) h ^= tc_hash_value(c, k) * 3644798167u;
        return h;
    }
    case K_LIST:
    case K_DICT:
    case K_SET:
    case K_SLICE: tc_raise(c, "TypeError", "unhashable type: '%s'", v->type->name->s);
    case K_METHOD: return tc_hash_value(c, ((method *)v)->func) ^ (uint64_t)(uintptr_t)((method *)v)->self;
    case K_DTYPE: return 77 + (uint64_t)((dtypeobj *)v)->d;
    case K_DEVICE: return tc_hash_value(c, (V)((device *)v)->kindname);
    case K_SYM: {
        int64_t i;
        if (tc_sym_const_int(((symobj *)v)->s, &i)) return tc_int_hash(tc_int(c, i));
        return tc_hash(&((symobj *)v)->s, sizeof(tc_sym), 3);
    }
    default: return tc_hash(&v, sizeof v, 5);
    }
}

/* ---- equality and order ---- */
static bool is_number(V v) {
    kind k = tc_kind_of(v);
    return k == K_INT || k == K_BOOL || k == K_FLOAT;
}

static V int_of_bool(C *c, V v) { return tc_kind_of(v) == K_BOOL ? tc_int(c, v == c->true_) : v; }

static bool seq_equal(C *c, V *a, size_t n, V *b, size_t m) {
    if (n != m) return false;
    tc_stack_check(c);
    for (size_t i = 0; i < n; i++)
        if (!tc_equal(c, a[i], b[i])) return false;
    return true;
}

static bool dict_equal(C *c, dict *a, dict *b) {
    if (a->live != b->live) return false;
    V k, v;
    for (size_t i = 0; tc_dict_next(a, &i, &k, &v);) {
        V w = tc_dict_get(c, b, k);
        if (!w || !tc_equal(c, v, w)) return false;
    }
    return true;
}

/* == of objects without user-defined operators: 1, 0, or -1: not comparable (identity decides). */
static int native_equal(C *c, V a, V b) {
    kind x = tc_kind_of(a), y = tc_kind_of(b);
    if (is_number(a) && is_number(b)) {
        if (x != K_FLOAT && y != K_FLOAT) return tc_int_cmp(int_of_bool(c, a), int_of_bool(c, b)) == 0;
        if (x == K_FLOAT && y == K_FLOAT) return tc_flt(a) == tc_flt(b);
        return x == K_FLOAT ? tc_int_cmp_double(c, int_of_bool(c, b), tc_flt(a)) == 0 : tc_int_cmp_double(c, int_of_bool(c, a), tc_flt(b)) == 0;
    }
    if (x == K_COMPLEX || y == K_COMPLEX) {
        if ((x != K_COMPLEX && !is_number(a)) || (y != K_COMPLEX && !is_number(b))) return 0;
        double ar = x == K_COMPLEX ? ((cplx *)a)->re : tc_to_double(c, a), ai = x == K_COMPLEX ? ((cplx *)a)->im : 0;
        double br = y == K_COMPLEX ? ((cplx *)b)->re : tc_to_double(c, b), bi = y == K_COMPLEX ? ((cplx *)b)->im : 0;
        return ar == br && ai == bi;
    }
    if (x == K_STR && y == K_STR) {
        str *s = (str *)a, *t = (str *)b;
        return s->len == t->len && !memcmp(s->s, t->s, s->len);
    }
    if ((x == K_TUPLE || x == K_SIZE) && (y == K_TUPLE || y == K_SIZE))
        return seq_equal(c, ((tuple *)a)->a, ((tuple *)a)->n, ((tuple *)b)->a, ((tuple *)b)->n);
    if (x != y) {
        if ((x == K_SET && y == K_FROZENSET) || (x == K_FROZENSET && y == K_SET)) goto sets;
        if (x == K_DEVICE && y == K_STR) return !strcmp(((device *)a)->kindname->s, tc_as_str(b)->s);
        return -1;
    }
    switch (x) {
    case K_LIST: return seq_equal(c, ((list *)a)->a, ((list *)a)->n, ((list *)b)->a, ((list *)b)->n);
    case K_DICT: return dict_equal(c, (dict *)a, (dict *)b);
    case K_SET:
    case K_FROZENSET:
    sets : {
        dict *d = ((set *)a)->d, *e = ((set *)b)->d;
        if (d->live != e->live) return 0;
        V k, v;
        for (size_t i = 0; tc_dict_next(d, &i, &k, &v);)
            if (!tc_dict_get(c, e, k)) return 0;
        return 1;
    }
    case K_RANGE: {
        range *r = (range *)a, *s = (range *)b;
        int64_t n = tc_len(c, a);
        return n == tc_len(c, b) && (n == 0 || (r->start == s->start && (n == 1 || r->step == s->step)));
    }
    case K_SLICE:
        return tc_equal(c, ((slice *)a)->start, ((slice *)b)->start) && tc_equal(c, ((slice *)a)->stop, ((slice *)b)->stop) &&
               tc_equal(c, ((slice *)a)->step, ((slice *)b)->step);
    case K_METHOD: return ((method *)a)->func == ((method *)b)->func && ((method *)a)->self == ((method *)b)->self;
    case K_DTYPE: return ((dtypeobj *)a)->d == ((dtypeobj *)b)->d;
    case K_DEVICE: return !strcmp(((device *)a)->kindname->s, ((device *)b)->kindname->s);
    case K_ALIAS: return tc_equal(c, ((alias *)a)->origin, ((alias *)b)->origin) && tc_equal(c, ((alias *)a)->params, ((alias *)b)->params);
    case K_MAPPROXY: return tc_equal(c, tc_list_of(c, tc_to_list(c, a)->n, tc_to_list(c, a)->a), (V)tc_to_list(c, b));
    default: return -1;
    }
}

static str *op_name(C *c, int op) {
    switch (op) {
    case '<': return c->n___lt__;
    case 'L': return c->n___le__;
    case '>': return c->n___gt__;
    case 'G': return c->n___ge__;
    case '=': return c->n___eq__;
    default: return c->n___ne__;
    }
}
static int swapped(int op) { return op == '<' ? '>' : op == '>' ? '<' : op == 'L' ? 'G' : op == 'G' ? 'L' : op; }

static int order_seq(C *c, int op, V *a, size_t n, V *b, size_t m, V *out) {
    tc_stack_check(c);
    for (size_t i = 0; i < n && i < m; i++)
        if (!tc_equal(c, a[i], b[i])) {
            *out = tc_rich(c, op, a[i], b[i]);
            return 2;
        }
    return n < m ? -1 : n > m;
}

static bool by_sign(int op, int s) { return op == '<' ? s < 0 : op == 'L' ? s <= 0 : op == '>' ? s > 0 : s >= 0; }

static V native_rich(C *c, int op, V a, V b) {
    kind x = tc_kind_of(a), y = tc_kind_of(b);
    if (x == K_MAPPROXY && ((mapview *)a)->what != 1) a = tc_keys_as_set(c, a), x = K_SET;
    if (y == K_MAPPROXY && ((mapview *)b)->what != 1) b = tc_keys_as_set(c, b), y = K_SET;
    if (op == '=' || op == '!') {
        int e = native_equal(c, a, b);
        if (e < 0) e = a == b;
        return tc_bool(c, (op == '=') == (e == 1));
    }
    if (is_number(a) && is_number(b)) {
        if (x == K_FLOAT || y == K_FLOAT) {
            if ((x == K_FLOAT && isnan(tc_flt(a))) || (y == K_FLOAT && isnan(tc_flt(b)))) return c->false_;
            int s = x == K_FLOAT && y == K_FLOAT ? (tc_flt(a) > tc_flt(b)) - (tc_flt(a) < tc_flt(b))
                    : x == K_FLOAT               ? -tc_int_cmp_double(c, int_of_bool(c, b), tc_flt(a))
                                                 : tc_int_cmp_double(c, int_of_bool(c, a), tc_flt(b));
            return tc_bool(c, by_sign(op, s));
        }
        return tc_bool(c, by_sign(op, tc_int_cmp(int_of_bool(c, a), int_of_bool(c, b))));
    }
    if (x == K_STR && y == K_STR) {
        str *s = (str *)a, *t = (str *)b;
        size_t n = s->len < t->len ? s->len : t->len;
        int r = memcmp(s->s, t->s, n);
        if (r == 0) r = s->len < t->len ? -1 : s->len > t->len;
        return tc_bool(c, by_sign(op, r));
    }
    if (((x == K_TUPLE || x == K_SIZE) && (y == K_TUPLE || y == K_SIZE)) || (x == K_LIST && y == K_LIST)) {
        size_t n, m;
        V out = NULL, *p = tc_items(a, &n), *q = tc_items(b, &m);
        int s = order_seq(c, op, p, n, q, m, &out);
        return s == 2 ? out : tc_bool(c, by_sign(op, s));
    }
    if ((x == K_SET || x == K_FROZENSET) && (y == K_SET || y == K_FROZENSET)) {
        set *s = (set *)a, *t = (set *)b;
        if (op == '>' || op == 'G') {
            set *u = s;
            s = t, t = u;
        }
        bool strict = op == '<' || op == '>';
        V k, v;
        for (size_t i = 0; tc_dict_next(s->d, &i, &k, &v);)
            if (!tc_dict_get(c, t->d, k)) return c->false_;
        return tc_bool(c, !strict || s->d->live < t->d->live);
    }
    tc_raise(c, "TypeError", "'%s' not supported between instances of '%s' and '%s'",
             op == 'L'   ? "<="
             : op == 'G' ? ">="
             : op == '<' ? "<"
                         : ">",
             tc_type_name(c, a), tc_type_name(c, b));
}

V tc_rich(C *c, int op, V a, V b) {
    kind x = tc_kind_of(a), y = tc_kind_of(b);
    if (x == K_TENSOR || y == K_TENSOR) {
        if ((op == '=' || op == '!') && (a == c->none || b == c->none || x == K_STR || y == K_STR)) return tc_bool(c, op == '!');
        return tc_tensor_compare_op(c, op, a, b);
    }
    if (x == K_SYM || y == K_SYM) {
        V r = tc_sym_compare(c, op, a, b);
        if (r) return r;
    }
    bool ua = !tc_is_small(a) && a->type->user, ub = !tc_is_small(b) && b->type->user;
    if (ua || ub) {
        V f = ua ? tc_special(c, a, op_name(c, op)) : NULL, g = ub ? tc_special(c, b, op_name(c, swapped(op))) : NULL, r;
        bool right_first = g && ua && ub && a->type != b->type && tc_issubtype(b->type, a->type);
        if (right_first && (r = tc_call2(c, g, b, a)) != c->notimpl) return r;
        if (f && (r = tc_call2(c, f, a, b)) != c->notimpl) return r;
        if (g && !right_first && (r = tc_call2(c, g, b, a)) != c->notimpl) return r;
        if (op == '!') {
            f = ua ? tc_special(c, a, c->n___eq__) : NULL;
            if (f && (r = tc_call2(c, f, a, b)) != c->notimpl) return tc_bool(c, !tc_truth(c, r));
            g = ub ? tc_special(c, b, c->n___eq__) : NULL;
            if (g && (r = tc_call2(c, g, b, a)) != c->notimpl) return tc_bool(c, !tc_truth(c, r));
        }
    }
    return native_rich(c, op, a, b);
}

bool tc_equal(C *c, V a, V b) {
    if (a == b && (tc_is_small(a) || (a->type->kind != K_FLOAT && a->type->kind != K_TENSOR))) return true;
    if (a == b) return true; /* containers compare by identity first */
    return tc_truth(c, tc_rich(c, '=', a, b));
}

int64_t tc_index(C *c, V v, const char *what) {
    int64_t i;
    if (tc_kind_of(v) == K_TENSOR) v = tc_tensor_index(c, v, what);
    if (tc_kind_of(v) == K_BOOL) return v == c->true_;
    if (tc_kind_of(v) == K_SYM) {
        if (tc_sym_const_int(((symobj *)v)->s, &i)) return i;
        v = tc_sym_force_as(c, v, "");
    }
    if (tc_kind_of(v) == K_OBJECT && tc_special(c, v, c->n___index__)) v = tc_call1(c, tc_special(c, v, c->n___index__), v);
    if (tc_kind_of(v) != K_INT)
        tc_raise(c, "TypeError", "'%s' object cannot be interpreted as an integer" TC_DETAIL ": %s must be one", tc_type_name(c, v), what);
    if (!tc_int_fits(v, &i)) tc_raise(c, "OverflowError", "%s: the integer is too large for 64 bits (overflow)", what);
    return i;
}
