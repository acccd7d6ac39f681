/* torch.tensor, tolist: between tensors and nested lists of numbers. */
#include "capture/torch_data.h"
#include "capture/undrawn.h"

#include <string.h>

typedef struct {
    C *c;
    int64_t size[TC_MAX_RANK];
    int rank;
    bool any_float, any_complex, any_int, any_tensor, any_sym;
    tc_dtype tensor_type;
} survey;

/* The tensor of an array of std/numpy.py; any other value unchanged. */
V tc_torch_of_array(C *c, V v) { return tc_kind_of(v) == K_OBJECT && tc_special(c, v, c->n___array_priority__) ? tc_getattr(c, v, c->n__tensor) : v; }
static bool is_array(V v) { return tc_kind_of(v) == K_OBJECT && v->attrs; }

static V elements(C *c, V v) {
    if (is_array(v)) v = tc_torch_to_list(c, tc_torch_of_array(c, v));
    return tc_kind_of(v) == K_RANGE ? (V)tc_to_list(c, v) : v;
}
static bool is_list(C *c, V v) { return tc_is_seq(v) || tc_kind_of(v) == K_RANGE || (is_array(v) && tc_special(c, v, c->n___array_priority__)); }

/* The sizes from the first elements, the kind of numbers from all. */
static void look(survey *s, V v, int depth, bool first) {
    C *c = s->c;
    tc_step(c);
    if (is_list(c, v)) {
        size_t n;
        V *items = tc_items(elements(c, v), &n);
        if (depth == TC_MAX_RANK) tc_raise(c, "ValueError", "too many dimensions");
        if (first) {
            s->size[depth] = (int64_t)n;
            s->rank = depth + 1;
        } else if (depth >= s->rank || s->size[depth] != (int64_t)n) {
            tc_raise(c, "ValueError", "expected sequence of length %lld at dim %d (got %zu)", depth < s->rank ? (long long)s->size[depth] : 0, depth,
                     n);
        }
        for (size_t i = 0; i < n; i++) look(s, items[i], depth + 1, first && i == 0);
        return;
    }
    if (tc_is_tensor(v)) {
        if (tc_torch_rank(v) != 0) tc_raise(c, "ValueError", "only one element tensors can be converted to Python scalars");
        s->any_tensor = true;
        s->tensor_type = s->tensor_type == TC_DTYPE_NONE ? tc_torch_dtype(v) : tc_dtype_promote(s->tensor_type, tc_torch_dtype(v));
        return;
    }
    if (!first && depth != s->rank)
        tc_raise(c, "ValueError", "expected sequence of length %lld at dim %d (got a number)", (long long)s->size[depth], depth);
    switch (tc_kind_of(v = tc_torch_plain(c, v))) {
    case K_BOOL: break;
    case K_INT: s->any_int = true; break;
    case K_FLOAT: s->any_float = true; break;
    case K_COMPLEX: s->any_complex = true; break;
    case K_SYM:
        s->any_sym = true;
        if (tc_sym_type(tc_to_sym(c, v)) == TC_SYM_FLOAT) s->any_float = true;
        else s->any_int = true;
        break;
    case K_STR: tc_raise(c, "TypeError", "new(): invalid data type 'str'");
    default: tc_raise(c, "RuntimeError", "Could not infer dtype of %s", tc_type_name(c, v));
    }
}

/* An int beyond 64 bits as element of type d. */
static tc_scalar wide_int(C *c, V v, tc_dtype d) {
    if (d == TC_BOOL) return tc_scalar_bool(true);
    if (!tc_is_integral(d)) return tc_scalar_float(tc_int_to_double(c, v));
    if (d != TC_U64) tc_raise(c, "ValueError", "Overflow when unpacking long long");
    if (tc_int_sign(v) < 0 || tc_int_bits(v) > 64) tc_raise(c, "OverflowError", "int too big to convert");
    const uint32_t *half = ((const big *)v)->d;
    return (tc_scalar){.kind = TC_KIND_INT, .i = (int64_t)((uint64_t)half[1] << 32 | half[0])};
}

static tc_scalar scalar_of(C *c, V v, tc_dtype d) {
    int64_t i;
    switch (tc_kind_of(v)) {
    case K_BOOL: return tc_scalar_bool(v == c->true_);
    case K_INT:
        if (!tc_int_fits(v, &i)) return wide_int(c, v, d);
        if (d == TC_U64 && i < 0) tc_raise(c, "OverflowError", "can't convert negative int to unsigned");
        return tc_scalar_int(i);
    case K_FLOAT: return tc_scalar_float(tc_flt(v));
    case K_COMPLEX: return (tc_scalar){.kind = TC_KIND_COMPLEX, .re = ((cplx *)v)->re, .im = ((cplx *)v)->im};
    default: {
        const tensor *t = (tensor *)v;
        if (!t->t.storage) tc_raise(c, "RuntimeError", "a tensor of the graph has no value while it is captured");
        tc_undrawn_touch(c, &t->t);
        return tc_scalar_load(t->t.dtype, t->t.storage->data, t->t.offset);
    }
    }
}

static void fill(C *c, V v, tc_tensor *t, int64_t *at) {
    if (is_list(c, v)) {
        size_t n;
        V *items = tc_items(elements(c, v), &n);
        for (size_t i = 0; i < n; i++) fill(c, items[i], t, at);
        return;
    }
    const tc_scalar s = scalar_of(c, v = tc_torch_plain(c, v), t->dtype);
    int64_t i;
    const bool wide = tc_kind_of(v) == K_INT && !tc_int_fits(v, &i);
    if (tc_is_integral(t->dtype) && !wide && !tc_scalar_fits(s, t->dtype))
        tc_raise(c, "RuntimeError", "value cannot be converted to type %s without overflow", tc_dtypes[t->dtype].torch);
    tc_scalar_store(t->dtype, t->storage->data, (*at)++, s);
}

/* Numbers and 0-d tensors of the graph: each a 0-d tensor, stacked. */
static V stack_scalars(C *c, V v, tc_dtype dtype) {
    if (!is_list(c, v)) return tc_is_tensor(v) ? tc_torch_cast(c, v, dtype) : tc_torch_full0(c, v, dtype);
    size_t n;
    V *items = tc_items(elements(c, v), &n);
    V parts = tc_list_of(c, 0, NULL);
    for (size_t i = 0; i < n; i++) tc_list_push(c, (list *)parts, stack_scalars(c, items[i], dtype));
    return tc_torch_calln(c, "aten::stack", 1, parts);
}

static bool holds_symbolic_tensor(C *c, V v) {
    if (tc_is_tensor(v)) return tc_is_symbolic((tensor *)v);
    if (!is_list(c, v)) return false;
    size_t n;
    V *items = tc_items(elements(c, v), &n);
    for (size_t i = 0; i < n; i++)
        if (holds_symbolic_tensor(c, items[i])) return true;
    return false;
}

V tc_torch_from_data(C *c, V data, tc_dtype dtype) {
    data = tc_torch_of_array(c, data);
    if (tc_is_tensor(data)) {
        V t = tc_torch_calln(c, "aten::clone", 1, data);
        t = dtype == TC_DTYPE_NONE ? t : tc_torch_cast(c, t, dtype);
        ((tensor *)t)->requires_grad = false;
        return t;
    }
    survey s = {.c = c, .tensor_type = TC_DTYPE_NONE};
    look(&s, data, 0, true);
    int64_t numel = 1;
    for (int i = 0; i < s.rank; i++) numel *= s.size[i];
    if (dtype == TC_DTYPE_NONE) {
        tc_dtype fl = c->torch->default_dtype;
        dtype = s.any_complex ? tc_dtype_to_complex(fl) : s.any_float ? fl : s.any_int ? TC_I64 : numel == 0 ? fl : TC_BOOL;
        if (s.any_tensor) dtype = !s.any_float && !s.any_int && !s.any_complex ? s.tensor_type : tc_dtype_promote(s.tensor_type, dtype);
    }
    if (s.any_sym || holds_symbolic_tensor(c, data)) return stack_scalars(c, data, dtype);
    tc_tensor t;
    tc_memory_check(c, (size_t)numel * tc_dtype_size(dtype));
    tc_status st = tc_tensor_empty(dtype, s.rank, s.size, &t);
    if (st) tc_raise_status(c, "RuntimeError", st);
    V r = tc_torch_wrap(c, t, false);
    int64_t at = 0;
    fill(c, data, &((tensor *)r)->t, &at);
    if (!c->torch->graph) return r;
    V lifted = tc_torch_calln(c, "aten::lift_fresh_copy", 1, r);
    ((tensor *)lifted)->known = r, ((tensor *)lifted)->known_at = ((tensor *)lifted)->v;
    return lifted;
}

V tc_torch_full0(C *c, V number, tc_dtype dtype) {
    if (c->torch->graph) {
        dtypeobj *d = tc_new(c, K_DTYPE, sizeof *d);
        d->d = dtype;
        V a[2] = {tc_list_of(c, 0, NULL), number}, kv[1] = {(V)d};
        str *kn[1] = {tc_intern(c, "dtype", 5)};
        return tc_torch_call(c, "aten::full", &(args){.a = a, .n = 2, .kn = kn, .kv = kv, .nk = 1}, false);
    }
    tc_tensor t;
    tc_status st = tc_tensor_scalar(dtype, scalar_of(c, number, dtype), &t);
    if (st) tc_raise_status(c, "RuntimeError", st);
    return tc_torch_wrap(c, t, false);
}

V tc_torch_cast(C *c, V t, tc_dtype dtype) {
    if (tc_torch_dtype(t) == dtype) return t;
    dtypeobj *d = tc_new(c, K_DTYPE, sizeof *d);
    d->d = dtype;
    V kv[1] = {(V)d};
    str *kn[1] = {tc_intern(c, "dtype", 5)};
    return tc_torch_call(c, "aten::_to_copy", &(args){.a = &t, .n = 1, .kn = kn, .kv = kv, .nk = 1}, false);
}

V tc_torch_element(C *c, tc_dtype d, tc_scalar s) {
    switch (s.kind) {
    case TC_KIND_BOOL: return tc_bool(c, s.i != 0);
    case TC_KIND_INT: return d == TC_U64 ? tc_int_from_u64(c, (uint64_t)s.i) : tc_int(c, s.i);
    case TC_KIND_FLOAT: return tc_float(c, s.f);
    default: return tc_complex(c, s.re, s.im);
    }
}

static V listed(C *c, const tc_tensor *t, int dim, int64_t offset) {
    if (dim == t->rank) return tc_torch_element(c, t->dtype, tc_scalar_load(t->dtype, t->storage->data, offset));
    tc_step(c);
    V l = tc_list_of(c, 0, NULL);
    for (int64_t i = 0; i < t->size[dim]; i++) tc_list_push(c, (list *)l, listed(c, t, dim + 1, offset + i * t->stride[dim]));
    return l;
}

V tc_torch_to_list(C *c, V o) {
    const tensor *t = tc_torch_known(o) ? tc_torch_known(o) : (tensor *)o;
    if (!t->t.storage) tc_raise(c, "RuntimeError", "tolist() of a tensor of the graph: its values are not known while it is captured");
    tc_undrawn_touch(c, &t->t);
    return listed(c, &t->t, 0, t->t.offset);
}
