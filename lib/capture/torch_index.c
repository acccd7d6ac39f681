/* x[key] and x[key] = value: Python's subscripts as select, slice, unsqueeze, index, copy_ and index_put_.
 *
 *     x[0, ..., 1:3, None]   select, slice, unsqueeze: views
 *     x[:, idx, mask]        those first, then one aten.index with a list of optional index tensors
 *
 * A Python int is a select, and so is an integer tensor of no dimensions, whose number is read. A boolean tensor takes as many dimensions
 * as it has. */
#include "capture/torch.h"
#include "capture/torch_data.h"

enum { MAX_INDEX = 64 };

typedef struct {
    V items[MAX_INDEX];
    int n, nmarks;              /* nmarks: items that become index tensors */
    V tensors[TC_MAX_RANK + 2]; /* by dimension of the sliced tensor; NULL: none */
    int ntensors;
} indexing;

static bool is_bool_object(C *c, V v) { return v == c->true_ || v == c->false_; }

/* A list of fewer than 32 items is a tuple of indices if one of them is a list, a tensor, a slice, ... or None. */
static bool list_is_tuple(V v) {
    size_t n;
    V *items = tc_items(v, &n);
    if (n >= 32) return false;
    for (size_t i = 0; i < n; i++) {
        kind k = tc_kind_of(items[i]);
        if (k == K_SLICE || k == K_NONE || k == K_ELLIPSIS || k == K_TENSOR || k == K_LIST || k == K_TUPLE || k == K_RANGE) return true;
    }
    return false;
}

/* A 0-d integer tensor: a number read at run time. */
static bool is_number_tensor(V v) {
    if (tc_kind_of(v) != K_TENSOR || tc_torch_rank(v)) return false;
    tc_dtype d = tc_torch_dtype(v);
    return tc_is_integral(d) && d != TC_BOOL && d != TC_U8;
}

/* A list of True and False. */
static bool is_truths(C *c, V v) {
    size_t n;
    V *items = tc_items(v, &n);
    for (size_t i = 0; i < n; i++)
        if (!is_bool_object(c, items[i])) return false;
    return n > 0;
}
static void add_item(C *c, indexing *x, V v) {
    if (x->n == MAX_INDEX) tc_raise(c, "IndexError", "too many indices for tensor");
    v = tc_torch_of_array(c, v);
    kind k = tc_kind_of(v);
    if ((k == K_LIST || k == K_TUPLE) && is_truths(c, v)) x->nmarks++; /* read later, when the other items are known */
    else if (k == K_LIST || k == K_TUPLE || k == K_SIZE || k == K_RANGE) v = tc_torch_from_data(c, v, TC_DTYPE_NONE);
    if (tc_kind_of(v) == K_TENSOR ? !is_number_tensor(v) : is_bool_object(c, v)) x->nmarks++;
    x->items[x->n++] = v;
}

static void read_key(C *c, V key, indexing *x) {
    kind k = tc_kind_of(key);
    if (k == K_TUPLE || k == K_SIZE || (k == K_LIST && list_is_tuple(key))) {
        size_t n;
        V *items = tc_items(key, &n);
        for (size_t i = 0; i < n; i++) add_item(c, x, items[i]);
    } else {
        add_item(c, x, key);
    }
}

/* The number of dimensions that an item consumes: 0 for None, ... and a bool. */
static int takes(C *c, V v) {
    kind k = tc_kind_of(v);
    if (k == K_NONE || k == K_ELLIPSIS || is_bool_object(c, v)) return 0;
    if (k != K_TENSOR) return 1;
    tc_dtype d = tc_torch_dtype(v);
    return d == TC_BOOL || d == TC_U8 ? tc_torch_rank(v) : 1;
}

static void put_tensor(C *c, indexing *x, int dim, V t) {
    if (dim >= TC_MAX_RANK + 2) tc_raise(c, "IndexError", "too many indices for tensor");
    for (; x->ntensors <= dim; x->ntensors++) x->tensors[x->ntensors] = NULL;
    x->tensors[dim] = t;
}

/* The positions of a known mask, a tensor for each dimension: besides other index tensors a mask with one True broadcasts. */
static void put_places(C *c, indexing *x, V t, int dim, V mask) {
    const int rank = tc_torch_rank(mask);
    for (int k = 0; k < rank; k++)
        if (dim + k < tc_torch_rank(t) && !tc_equal(c, tc_torch_size(c, mask, k), tc_torch_size(c, t, dim + k)))
            tc_raise(c, "IndexError", "The shape of the mask at index %d does not match the shape of the indexed tensor at index %d", k, dim + k);
    V places = tc_torch_calln(c, "aten::nonzero", 1, mask);
    for (int k = 0; k < rank; k++) put_tensor(c, x, dim + k, tc_torch_calln(c, "aten::select.int", 3, places, tc_int(c, 1), tc_int(c, k)));
}
static V truths_tensor(C *c, const indexing *x, V t, int dim, V truths) {
    size_t n;
    V *items = tc_items(truths, &n), places = tc_list_of(c, 0, NULL);
    if (x->nmarks < 2) return tc_torch_from_data(c, truths, TC_DTYPE_NONE);
    if (!tc_equal(c, tc_int(c, (int64_t)n), tc_torch_size(c, t, dim)))
        tc_raise(c, "IndexError", "The shape of the mask [%zu] at index 0 does not match the shape of the indexed tensor at index %d", n, dim);
    for (size_t i = 0; i < n; i++)
        if (items[i] == c->true_) tc_list_push(c, (list *)places, tc_int(c, (int64_t)i));
    return tc_torch_from_data(c, places, TC_I64);
}

/* Applies the basic part (views); index tensors are stored in x by the dimension that they index. */
static V apply_basic(C *c, V t, indexing *x) {
    const int rank = tc_torch_rank(t);
    int used = 0, dim = 0;
    for (int i = 0; i < x->n; i++) used += takes(c, x->items[i]);
    if (used > rank) tc_raise(c, "IndexError", "too many indices for tensor of dimension %d", rank);
    for (int i = 0; i < x->n; i++) {
        V v = x->items[i];
        V at = tc_int(c, dim);
        switch (is_number_tensor(v) ? K_INT : tc_kind_of(v)) {
        case K_NONE:
            t = tc_torch_calln(c, "aten::unsqueeze", 2, t, at);
            dim++;
            break;
        case K_ELLIPSIS:
            dim += rank - used; /* further ellipses count for nothing */
            break;
        case K_SLICE: {
            slice *s = (slice *)v;
            if (s->start == c->none && s->stop == c->none && s->step == c->none) {
                dim++;
                break;
            }
            if (s->step != c->none && tc_kind_of(s->step) == K_INT && tc_int_sign(s->step) <= 0)
                tc_raise(c, "ValueError", "slice step must be positive");
            t = tc_torch_calln(c, "aten::slice.Tensor", 5, t, at, s->start, s->stop, s->step == c->none ? tc_int(c, 1) : s->step);
            dim++;
            break;
        }
        case K_BOOL:
            t = tc_torch_calln(c, "aten::unsqueeze", 2, t, at);
            V first = tc_int(c, 0); /* True takes the only element of the new dimension, False none */
            put_tensor(c, x, dim++, tc_torch_from_data(c, tc_list_of(c, v == c->true_, &first), TC_I64));
            break;
        case K_TENSOR:
            if (!takes(c, v)) { /* a 0-d mask indexes a new dimension of size 1 */
                t = tc_torch_calln(c, "aten::unsqueeze", 2, t, at);
                v = tc_torch_calln(c, "aten::unsqueeze", 2, v, tc_int(c, 0));
            }
            if (tc_torch_dtype(v) == TC_BOOL && x->nmarks > 1 && !c->torch->graph) put_places(c, x, t, dim, v);
            else put_tensor(c, x, dim, v);
            dim += takes(c, v);
            break;
        case K_LIST:
        case K_TUPLE:
            put_tensor(c, x, dim, truths_tensor(c, x, t, dim, v));
            dim++;
            break;
        default:
            if (tc_kind_of(v) == K_FLOAT || tc_kind_of(v) == K_STR || tc_kind_of(v) == K_DICT)
                tc_raise(c, "IndexError", "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)",
                         tc_type_name(c, v));
            if (tc_torch_rank(t) == 0)
                tc_raise(c, "IndexError", "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number");
            t = tc_torch_calln(c, "aten::select.int", 3, t, at, v);
        }
    }
    return t;
}

static V index_list(C *c, indexing *x) {
    V l = tc_list_of(c, 0, NULL);
    for (int i = 0; i < x->ntensors; i++) {
        tc_list_push(c, (list *)l, x->tensors[i] ? x->tensors[i] : c->none);
        if (!x->tensors[i]) continue;
        tc_dtype d = tc_torch_dtype(x->tensors[i]);
        if (!tc_is_integral(d)) tc_raise(c, "IndexError", "tensors used as indices must be long, int, byte or bool tensors");
        if (d == TC_BOOL || d == TC_U8)
            i += tc_torch_rank(x->tensors[i]) > 1 ? tc_torch_rank(x->tensors[i]) - 1 : 0; /* the mask covers these dimensions */
    }
    return l;
}

V tc_tensor_getitem(C *c, V t, V key) {
    indexing x = {.n = 0};
    read_key(c, key, &x);
    V r = apply_basic(c, t, &x);
    if (x.ntensors) return tc_torch_calln(c, "aten::index.Tensor", 2, r, index_list(c, &x));
    return r == t ? tc_torch_calln(c, "aten::alias", 1, t) : r; /* x[...]: another object */
}

/* Drops leading dimensions of size 1 that exceed the target's rank. */
static V fit_value(C *c, V value, int rank) {
    while (tc_torch_rank(value) > rank) {
        V n = tc_torch_size(c, value, 0);
        if (!tc_equal(c, n, tc_int(c, 1))) break;
        value = tc_torch_calln(c, "aten::squeeze.dim", 2, value, tc_int(c, 0));
    }
    return value;
}

static bool known_one(C *c, V t, int dim) {
    V n = tc_torch_size(c, t, dim);
    return tc_kind_of(n) == K_INT && tc_equal(c, n, tc_int(c, 1));
}
/* Is the key a single mask? */
static bool is_one_mask(C *c, const indexing *x) {
    int given = 0, masks = 0;
    for (int i = 0; i < x->n; i++) {
        const V v = x->items[i];
        const bool placed = tc_kind_of(v) == K_TENSOR, truths = tc_kind_of(v) == K_LIST || tc_kind_of(v) == K_TUPLE;
        given += placed ? !is_number_tensor(v) : truths || is_bool_object(c, v);
        masks += placed ? takes(c, v) && (tc_torch_dtype(v) == TC_BOOL || tc_torch_dtype(v) == TC_U8) : truths;
    }
    return given == 1 && masks == 1;
}

/* A single number written at a mask is converted like any number; otherwise index_put_ requires the target's type. */
static V put_value(C *c, const indexing *x, V value, tc_dtype into) {
    const bool filled = is_one_mask(c, x), complex = tc_is_tensor(value) ? tc_is_complex(tc_torch_dtype(value)) : tc_kind_of(value) == K_COMPLEX;
    bool one = true;
    if (complex && !tc_is_complex(into) && !tc_is_tensor(value) && !(into == TC_BOOL && filled))
        tc_raise(c, "RuntimeError", "value cannot be converted to type %s without overflow", tc_dtypes[into].torch);
    if (!tc_is_tensor(value)) return tc_torch_full0(c, complex && into == TC_BOOL ? tc_bool(c, tc_truth(c, value)) : value, into);
    for (int k = 0; k < tc_torch_rank(value); k++) one &= known_one(c, value, k);
    if (one && filled && (into == TC_BOOL || complex <= tc_is_complex(into))) value = tc_torch_cast(c, value, into);
    while (tc_torch_rank(value) && known_one(c, value, 0)) value = tc_torch_calln(c, "aten::squeeze.dim", 2, value, tc_int(c, 0));
    return value;
}

void tc_tensor_setitem(C *c, V t, V key, V value) {
    indexing x = {.n = 0};
    read_key(c, key, &x);
    value = tc_torch_plain(c, value);
    if (!tc_is_tensor(value) && !tc_torch_is_number(value)) tc_raise(c, "TypeError", "can't assign a %s to a torch.Tensor", tc_type_name(c, value));
    if (key == c->false_) return;
    V view = key == c->true_ ? tc_torch_calln(c, "aten::unsqueeze", 2, t, tc_int(c, 0)) : apply_basic(c, t, &x);
    if (x.ntensors) {
        value = put_value(c, &x, value, tc_torch_dtype(t));
        tc_torch_calln(c, "aten::index_put_", 3, view, index_list(c, &x), value);
    } else if (tc_is_tensor(value)) {
        tc_torch_calln(c, "aten::copy_", 2, view, fit_value(c, value, tc_torch_rank(view)));
    } else {
        if (tc_kind_of(value) == K_COMPLEX && tc_torch_dtype(t) == TC_BOOL) value = tc_bool(c, tc_truth(c, value));
        tc_torch_calln(c, "aten::fill_.Scalar", 2, view, value);
    }
}
