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
    int n;
    V tensors[TC_MAX_RANK + 2]; /* by dimension of the sliced tensor; NULL where there is none */
    int ntensors;
} indexing;

static bool is_bool_object(C *c, V v) { return v == c->true_ || v == c->false_; }

/* A list counts as a tuple of indices only where it holds what no tensor could hold. */
static bool list_is_tuple(V v) {
    size_t n;
    V *items = tc_items(v, &n);
    if (n >= 32) return false;
    for (size_t i = 0; i < n; i++) {
        kind k = tc_kind_of(items[i]);
        if (k == K_SLICE || k == K_NONE || k == K_ELLIPSIS || k == K_TENSOR || k == K_LIST || k == K_TUPLE) return k != K_LIST && k != K_TUPLE;
    }
    return false;
}

static void add_item(C *c, indexing *x, V v) {
    if (x->n == MAX_INDEX) tc_raise(c, "IndexError", "too many indices for tensor");
    kind k = tc_kind_of(v);
    if (k == K_LIST || k == K_TUPLE || k == K_SIZE || k == K_RANGE) v = tc_torch_from_data(c, v, TC_DTYPE_NONE);
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

/* An integer tensor of no dimensions: its number, read when the program runs. */
static bool is_number_tensor(V v) {
    if (tc_kind_of(v) != K_TENSOR || tc_torch_rank(v)) return false;
    tc_dtype d = tc_torch_dtype(v);
    return tc_is_integral(d) && d != TC_BOOL && d != TC_U8;
}

/* Dimensions that an item takes: none for None, ... and a bool. */
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

/* The views of the basic part; tensors are noted in x by the dimension that they index. */
static V apply_basic(C *c, V t, indexing *x) {
    int used = 0, dim = 0;
    for (int i = 0; i < x->n; i++) used += takes(c, x->items[i]);
    if (used > tc_torch_rank(t)) tc_raise(c, "IndexError", "too many indices for tensor of dimension %d", tc_torch_rank(t));
    for (int i = 0; i < x->n; i++) {
        V v = x->items[i];
        V at = tc_int(c, dim);
        switch (is_number_tensor(v) ? K_INT : tc_kind_of(v)) {
        case K_NONE:
            t = tc_torch_calln(c, "aten::unsqueeze", 2, t, at);
            dim++;
            break;
        case K_ELLIPSIS: {
            int later = 0, rest = 0; /* tensors noted keep their dimensions in t; what is still to come is counted from the end */
            for (int k = i + 1; k < x->n; k++) rest += takes(c, x->items[k]);
            for (int k = i + 1; k < x->n; k++)
                if (tc_kind_of(x->items[k]) == K_ELLIPSIS) tc_raise(c, "IndexError", "an index can only have a single ellipsis ('...')");
            later = tc_torch_rank(t) - rest;
            if (later > dim) dim = later;
            break;
        }
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
            V first = tc_int(c, 0); /* of the new dimension True takes the one place, False none */
            put_tensor(c, x, dim++, tc_torch_from_data(c, tc_list_of(c, v == c->true_, &first), TC_I64));
            break;
        case K_TENSOR:
            if (!takes(c, v)) { /* a 0-d mask: over a new dimension of 1 */
                t = tc_torch_calln(c, "aten::unsqueeze", 2, t, at);
                v = tc_torch_calln(c, "aten::unsqueeze", 2, v, tc_int(c, 0));
            }
            put_tensor(c, x, dim, v);
            dim += takes(c, v);
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
        if (d == TC_BOOL || d == TC_U8) i += tc_torch_rank(x->tensors[i]) > 1 ? tc_torch_rank(x->tensors[i]) - 1 : 0; /* the mask covers these */
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

/* Sizes of 1 that the value has in front beyond the target's rank are dropped. */
static V fit_value(C *c, V value, int rank) {
    while (tc_torch_rank(value) > rank) {
        V n = tc_torch_size(c, value, 0);
        if (!tc_equal(c, n, tc_int(c, 1))) break;
        value = tc_torch_calln(c, "aten::squeeze.dim", 2, value, tc_int(c, 0));
    }
    return value;
}

void tc_tensor_setitem(C *c, V t, V key, V value) {
    indexing x = {.n = 0};
    read_key(c, key, &x);
    if (!tc_is_tensor(value) && !tc_torch_is_number(value)) tc_raise(c, "TypeError", "can't assign a %s to a torch.Tensor", tc_type_name(c, value));
    V view = apply_basic(c, t, &x);
    if (!x.ntensors) {
        if (tc_is_tensor(value)) tc_torch_calln(c, "aten::copy_", 2, view, fit_value(c, value, tc_torch_rank(view)));
        else tc_torch_calln(c, "aten::fill_.Scalar", 2, view, value);
        return;
    }
    if (!tc_is_tensor(value)) {
        value = tc_torch_full0(c, value, tc_torch_dtype(t));
    } else if (tc_torch_dtype(value) != tc_torch_dtype(t)) {
        value = tc_torch_cast(c, value, tc_torch_dtype(t));
    }
    tc_torch_calln(c, "aten::index_put_", 3, view, index_list(c, &x), fit_value(c, value, TC_MAX_RANK));
}
