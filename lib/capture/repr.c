/* repr() and str() of objects, one function per kind. */
#include "capture/object.h"

#include <math.h>

static void repr_into(C *c, tc_buf *b, V v);

static void quote(tc_buf *b, const str *s) {
    bool single = memchr(s->s, '\'', s->len) != NULL, dbl = memchr(s->s, '"', s->len) != NULL;
    char q = single && !dbl ? '"' : '\'';
    tc_buf_putc(b, q);
    for (uint32_t i = 0; i < s->len; i++) {
        unsigned char ch = (unsigned char)s->s[i];
        if (ch == q || ch == '\\') tc_buf_putc(b, '\\'), tc_buf_putc(b, (char)ch);
        else if (ch == '\n') tc_buf_puts(b, "\\n");
        else if (ch == '\r') tc_buf_puts(b, "\\r");
        else if (ch == '\t') tc_buf_puts(b, "\\t");
        else if (ch < 32 || ch == 127) tc_buf_printf(b, "\\x%02x", ch);
        else tc_buf_putc(b, (char)ch);
    }
    tc_buf_putc(b, q);
}

static void items_into(C *c, tc_buf *b, V *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i) tc_buf_puts(b, ", ");
        repr_into(c, b, a[i]);
    }
}

static void none_repr(C *c, tc_buf *b, V v) { (void)c, (void)v, tc_buf_puts(b, "None"); }
static void ellipsis_repr(C *c, tc_buf *b, V v) { (void)c, (void)v, tc_buf_puts(b, "Ellipsis"); }
static void not_implemented_repr(C *c, tc_buf *b, V v) { (void)c, (void)v, tc_buf_puts(b, "NotImplemented"); }
static void bool_repr(C *c, tc_buf *b, V v) { tc_buf_puts(b, v == c->true_ ? "True" : "False"); }
static void int_repr(C *c, tc_buf *b, V v) { tc_buf_puts(b, tc_int_text(c, v, 10)->s); }
static void float_repr(C *c, tc_buf *b, V v) { (void)c, tc_float_repr(b, tc_flt(v)); }
static void str_repr(C *c, tc_buf *b, V v) { (void)c, quote(b, (str *)v); }

/* A part of a complex number: 2 instead of 2.0. */
static void part_repr(tc_buf *b, double x) {
    tc_float_repr(b, x);
    if (b->len > 2 && !strcmp(b->data + b->len - 2, ".0")) b->data[b->len -= 2] = 0;
}
static void complex_repr(C *c, tc_buf *b, V v) {
    (void)c;
    cplx *z = (cplx *)v;
    if (z->re == 0 && !signbit(z->re)) {
        part_repr(b, z->im);
        tc_buf_putc(b, 'j');
        return;
    }
    tc_buf_putc(b, '(');
    part_repr(b, z->re);
    if (!signbit(z->im) || isnan(z->im)) tc_buf_putc(b, '+');
    part_repr(b, z->im);
    tc_buf_puts(b, "j)");
}
static void size_repr(C *c, tc_buf *b, V v) {
    tc_buf_puts(b, "torch.Size([");
    items_into(c, b, ((tuple *)v)->a, ((tuple *)v)->n);
    tc_buf_puts(b, "])");
}
/* The results of an operator of PyTorch (torch_call.c): their names in the order of the elements, then that of the operator. */
static void results_repr(C *c, tc_buf *b, const tuple *t, const str *name) {
    V k, x;
    bool first = true;
    tc_buf_printf(b, "torch.return_types.%s(", name->s);
    for (size_t i = 0; tc_dict_next(t->h.attrs, &i, &k, &x) && k != (V)c->n___name__; first = false) {
        tc_buf_printf(b, "%s\n%s=", first ? "" : ",", tc_as_str(k)->s);
        repr_into(c, b, x);
    }
    tc_buf_putc(b, ')');
}
static void tuple_repr(C *c, tc_buf *b, V v) {
    const V name = ((tuple *)v)->h.attrs ? tc_dict_get(c, ((tuple *)v)->h.attrs, (V)c->n___name__) : NULL;
    if (name && tc_kind_of(name) == K_STR && v->type == c->types[K_TUPLE]) {
        results_repr(c, b, (tuple *)v, tc_as_str(name));
        return;
    }
    tc_buf_putc(b, '(');
    items_into(c, b, ((tuple *)v)->a, ((tuple *)v)->n);
    tc_buf_puts(b, ((tuple *)v)->n == 1 ? ",)" : ")");
}
static void list_repr(C *c, tc_buf *b, V v) {
    tc_buf_putc(b, '[');
    items_into(c, b, ((list *)v)->a, ((list *)v)->n);
    tc_buf_putc(b, ']');
}
/* {k: x} with values, {k} without. */
static void braces(C *c, tc_buf *b, dict *d, bool values) {
    V k, x;
    bool first = true;
    tc_buf_putc(b, '{');
    for (size_t i = 0; tc_dict_next(d, &i, &k, &x); first = false) {
        if (!first) tc_buf_puts(b, ", ");
        repr_into(c, b, k);
        if (!values) continue;
        tc_buf_puts(b, ": ");
        repr_into(c, b, x);
    }
    tc_buf_putc(b, '}');
}
static void dict_repr(C *c, tc_buf *b, V v) { braces(c, b, (dict *)v, true); }
static void set_repr(C *c, tc_buf *b, V v) {
    set *s = (set *)v;
    bool named = s->frozen || s->d->live == 0;
    if (named) tc_buf_printf(b, "%s(", v->type->name->s);
    if (s->d->live) braces(c, b, s->d, false);
    if (named) tc_buf_putc(b, ')');
}
static void view_repr(C *c, tc_buf *b, V v) {
    mapview *m = (mapview *)v;
    tc_buf_puts(b, m->what == 0 ? "dict_keys(" : m->what == 1 ? "dict_values(" : "dict_items(");
    repr_into(c, b, (V)tc_to_list(c, v));
    tc_buf_putc(b, ')');
}
static void range_repr(C *c, tc_buf *b, V v) {
    (void)c;
    range *r = (range *)v;
    tc_buf_printf(b, r->step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)", (long long)r->start, (long long)r->stop, (long long)r->step);
}
static void slice_repr(C *c, tc_buf *b, V v) {
    slice *s = (slice *)v;
    tc_buf_puts(b, "slice(");
    items_into(c, b, (V[]){s->start, s->stop, s->step}, 3);
    tc_buf_putc(b, ')');
}
static void named(tc_buf *b, const char *what, const str *name) { tc_buf_printf(b, "<%s %s>", what, name->s); }
static void func_repr(C *c, tc_buf *b, V v) { (void)c, named(b, "function", ((func *)v)->qualname); }
static void native_repr(C *c, tc_buf *b, V v) { (void)c, named(b, "built-in function", ((native *)v)->name); }
static void module_repr(C *c, tc_buf *b, V v) { (void)c, named(b, "module", ((module *)v)->name); }
static void method_repr(C *c, tc_buf *b, V v) {
    V f = ((method *)v)->func;
    if (tc_kind_of(f) != K_FUNC) {
        const char *name = tc_kind_of(f) == K_NATIVE ? ((native *)f)->name->s : "?";
        tc_buf_printf(b, "<built-in method %s of %s object>", name, tc_type_name(c, ((method *)v)->self));
        return;
    }
    tc_buf_printf(b, "<bound method %s of ", ((func *)f)->qualname->s);
    repr_into(c, b, ((method *)v)->self);
    tc_buf_putc(b, '>');
}
/* module.Name, or Name of the builtins. */
static void full_name(tc_buf *b, const type *t) {
    tc_buf_printf(b, "%s%s%s", t->module_name ? t->module_name->s : "", t->module_name ? "." : "", t->name->s);
}
static void type_repr(C *c, tc_buf *b, V v) {
    (void)c;
    tc_buf_puts(b, "<class '");
    full_name(b, (type *)v);
    tc_buf_puts(b, "'>");
}
static void object_repr(C *c, tc_buf *b, V v) {
    (void)c;
    tc_buf_putc(b, '<');
    full_name(b, v->type);
    tc_buf_puts(b, " object>");
}
static void exc_repr(C *c, tc_buf *b, V v) {
    size_t n;
    V *a = tc_items(((exc *)v)->args, &n);
    tc_buf_printf(b, "%s(", v->type->name->s);
    items_into(c, b, a, n);
    tc_buf_putc(b, ')');
}
/* list[int], typing.Optional[int], typing.Callable[[int], str] */
static void hint_into(C *c, tc_buf *b, V v) {
    if (v == c->none) tc_buf_puts(b, "None");
    else if (v == c->ellipsis) tc_buf_puts(b, "...");
    else if (tc_kind_of(v) == K_TYPE) full_name(b, (type *)v);
    else if (tc_kind_of(v) == K_LIST) {
        tc_buf_putc(b, '[');
        for (size_t i = 0; i < ((list *)v)->n; i++) tc_buf_puts(b, i ? ", " : ""), hint_into(c, b, ((list *)v)->a[i]);
        tc_buf_putc(b, ']');
    } else repr_into(c, b, v);
}
static void alias_repr(C *c, tc_buf *b, V v) {
    const alias *a = (alias *)v;
    const bool own = tc_kind_of(a->origin) == K_TYPE && ((type *)a->origin)->name == a->name; /* of the class itself, not of typing */
    if (own) full_name(b, (type *)a->origin);
    else tc_buf_printf(b, "%s%s", strcmp(a->name->s, "TypeVar") ? "typing." : "", a->name->s);
    size_t n = 1;
    const V *p = tc_kind_of(a->params) == K_TUPLE ? tc_items(a->params, &n) : &a->params;
    const bool optional = n == 2 && (p[1] == c->none || p[1] == (V)c->types[K_NONE]) && !own;
    if (optional && !strcmp(a->name->s, "Union")) b->len -= strlen("Union"), tc_buf_puts(b, "Optional");
    for (size_t i = 0; i < n - optional; i++) tc_buf_puts(b, i ? ", " : "["), hint_into(c, b, p[i]);
    if (n) tc_buf_putc(b, ']');
}
static void dtype_repr(C *c, tc_buf *b, V v) { (void)c, tc_buf_printf(b, "torch.%s", tc_dtypes[((dtypeobj *)v)->d].torch); }
static void device_repr(C *c, tc_buf *b, V v) {
    device *d = (device *)v;
    tc_buf_printf(b, "device(type='%s'", d->kindname->s);
    if (d->index != c->none) tc_buf_printf(b, ", index=%s", tc_repr(c, d->index)->s);
    tc_buf_putc(b, ')');
}
static void sym_repr(C *c, tc_buf *b, V v) { (void)c, tc_sym_print(b, ((symobj *)v)->s); }
static void tensor_repr(C *c, tc_buf *b, V v) { tc_buf_puts(b, tc_tensor_repr(c, v)->s); }
static void layout_repr(C *c, tc_buf *b, V v) { tc_buf_puts(b, tc_as_str(tc_dict_gets(c, v->attrs, c->n_name))->s); }

static void (*const reprs[])(C *c, tc_buf *b, V v) = {
    [K_NONE] = none_repr,
    [K_BOOL] = bool_repr,
    [K_INT] = int_repr,
    [K_FLOAT] = float_repr,
    [K_COMPLEX] = complex_repr,
    [K_STR] = str_repr,
    [K_SIZE] = size_repr,
    [K_TUPLE] = tuple_repr,
    [K_LIST] = list_repr,
    [K_DICT] = dict_repr,
    [K_SET] = set_repr,
    [K_FROZENSET] = set_repr,
    [K_MAPPROXY] = view_repr,
    [K_RANGE] = range_repr,
    [K_SLICE] = slice_repr,
    [K_ELLIPSIS] = ellipsis_repr,
    [K_NOTIMPL] = not_implemented_repr,
    [K_FUNC] = func_repr,
    [K_NATIVE] = native_repr,
    [K_METHOD] = method_repr,
    [K_TYPE] = type_repr,
    [K_MODULE] = module_repr,
    [K_EXC] = exc_repr,
    [K_ALIAS] = alias_repr,
    [K_DTYPE] = dtype_repr,
    [K_DEVICE] = device_repr,
    [K_SYM] = sym_repr,
    [K_TENSOR] = tensor_repr,
    [K_LAYOUT] = layout_repr,
};

static void repr_native(C *c, tc_buf *b, V v) {
    size_t k = (size_t)v->type->kind;
    (k < sizeof reprs / sizeof *reprs && reprs[k] ? reprs[k] : object_repr)(c, b, v);
}

static void repr_into(C *c, tc_buf *b, V v) {
    if (tc_is_small(v)) {
        tc_buf_printf(b, "%lld", (long long)tc_small(v));
        return;
    }
    tc_stack_check(c);
    if (v->type->user) {
        V f = tc_special(c, v, c->n___repr__);
        if (f) {
            V r = tc_call1(c, f, v);
            if (tc_kind_of(r) != K_STR) tc_raise(c, "TypeError", "__repr__ returned non-string (type %s)", tc_type_name(c, r));
            tc_buf_append(b, tc_as_str(r)->s, tc_as_str(r)->len);
            return;
        }
    }
    bool inside = c->repr_depth == (int)(sizeof c->repr_of / sizeof *c->repr_of);
    for (int i = 0; i < c->repr_depth && !inside; i++) inside = c->repr_of[i] == v;
    if (inside) {
        tc_buf_puts(b, tc_kind_of(v) == K_LIST ? "[...]" : tc_kind_of(v) == K_DICT ? "{...}" : "...");
        return;
    }
    c->repr_of[c->repr_depth++] = v;
    tc_steps(c, 1);
    if (b->len > c->max_memory / 4) tc_memory_check(c, c->max_memory + 1);
    repr_native(c, b, v);
    c->repr_depth--;
}

static str *as_text(C *c, V v, void (*into)(C *c, tc_buf *b, V v)) {
    tc_buf b = {0};
    trap t;
    int depth = c->repr_depth;
    if (TC_TRAP_PASSING(c, t)) {
        into(c, &b, v);
        tc_untrap(c, &t);
    } else {
        tc_buf_free(&b);
        c->repr_depth = depth;
        tc_raise_again(c, c->exc);
    }
    c->repr_depth = depth;
    return tc_as_str(tc_buf_to_str(c, &b));
}

str *tc_repr(C *c, V v) { return as_text(c, v, repr_into); }
str *tc_repr_built_in(C *c, V v) { return tc_is_small(v) ? tc_repr(c, v) : as_text(c, v, repr_native); }

str *tc_str_built_in(C *c, V v) {
    size_t n;
    if (tc_kind_of(v) == K_STR) return (str *)v;
    if (tc_kind_of(v) != K_EXC) return tc_repr(c, v);
    V *a = tc_items(((exc *)v)->args, &n);
    if (n == 0) return tc_intern(c, "", 0);
    if (n == 1) return tc_exc_is(c, v, "KeyError") ? tc_repr(c, a[0]) : tc_to_str(c, a[0]);
    return tc_repr(c, ((exc *)v)->args);
}

str *tc_to_str(C *c, V v) {
    if (tc_is_small(v)) return tc_repr(c, v);
    if (v->type->user) {
        V f = tc_special(c, v, c->n___str__);
        if (f) {
            V r = tc_call1(c, f, v);
            if (tc_kind_of(r) != K_STR) tc_raise(c, "TypeError", "__str__ returned non-string (type %s)", tc_type_name(c, r));
            return tc_as_str(r);
        }
        if (v->type->kind != K_EXC && tc_special(c, v, c->n___repr__)) return tc_repr(c, v);
    }
    switch (v->type->kind) {
    case K_STR:
    case K_EXC: return tc_str_built_in(c, v);
    case K_DEVICE: {
        device *d = (device *)v;
        if (d->index == c->none) return d->kindname;
        return tc_as_str(tc_strf(c, "%s:%s", d->kindname->s, tc_repr(c, d->index)->s));
    }
    default: return tc_repr(c, v);
    }
}
