/* Tensors as Python objects: operator symbols (+, @, ...), attributes, methods that are not ATen operators, bool(), len(), repr(). */
#include "base/text.h"
#include "capture/suggest.h"
#include "capture/draft.h"
#include "capture/torch_call.h"
#include "capture/torch_data.h"
#include "capture/undrawn.h"
#include "op/shape.h"

#include <stdio.h>

/* ---- symbols ---- */
static const char *op_name(int op) {
    switch (op) {
    case '+': return "aten::add";
    case '-': return "aten::sub";
    case '*': return "aten::mul";
    case '/': return "aten::div";
    case 'f': return "aten::floor_divide";
    case '%': return "aten::remainder";
    case '@': return "aten::matmul";
    case 'p': return "aten::pow";
    case 'l': return "aten::bitwise_left_shift";
    case 'r': return "aten::bitwise_right_shift";
    case '&': return "aten::bitwise_and";
    case '|': return "aten::bitwise_or";
    default: return "aten::bitwise_xor";
    }
}

static bool operand(V v) {
    switch (tc_kind_of(v)) {
    case K_TENSOR:
    case K_INT:
    case K_FLOAT:
    case K_BOOL:
    case K_COMPLEX:
    case K_SYM: return true;
    default: return false;
    }
}

V tc_tensor_binary(C *c, int op, V a, V b, bool inplace) {
    a = tc_torch_plain(c, a), b = tc_torch_plain(c, b);
    if (!operand(a) || !operand(b) || (op == '@' && !(tc_is_tensor(a) && tc_is_tensor(b)))) return NULL;
    if (inplace && op != '@' && tc_is_tensor(a)) { /* x @= y is x = x @ y: there is no __imatmul__ */
        char name[64];
        snprintf(name, sizeof name, "%s_", op_name(op));
        return tc_torch_calln(c, name, 2, a, b);
    }
    if (tc_is_tensor(a)) return tc_torch_calln(c, op_name(op), 2, a, b);
    switch (op) { /* the left operand is a number */
    case '+':
    case '*':
    case '&':
    case '|':
    case '^': return tc_torch_calln(c, op_name(op), 2, b, a);
    case '-': return tc_torch_calln(c, "aten::rsub", 2, b, a);
    case '/': {
        V r = tc_torch_calln(c, "aten::reciprocal", 1, b);
        return tc_torch_calln(c, "aten::mul", 2, r, a);
    }
    case 'p': return tc_torch_calln(c, "aten::pow", 2, a, b);
    case '%': return tc_torch_calln(c, "aten::remainder", 2, a, b);
    default: {
        kind k = tc_kind_of(a);
        tc_dtype d = k == K_BOOL                                                                     ? TC_BOOL
                     : k == K_COMPLEX                                                                ? tc_dtype_to_complex(c->torch->default_dtype)
                     : k == K_FLOAT || (k == K_SYM && tc_sym_type(((symobj *)a)->s) == TC_SYM_FLOAT) ? c->torch->default_dtype
                                                                                                     : TC_I64;
        if (tc_dtype_kind(tc_torch_dtype(b)) >= tc_dtype_kind(d)) d = tc_torch_dtype(b); /* a number takes the tensor's type */
        return tc_torch_calln(c, op_name(op), 2, tc_torch_full0(c, a, d), b);
    }
    }
}

V tc_tensor_unary(C *c, int op, V a) {
    if (op == '+') return tc_torch_calln(c, "aten::positive", 1, a);
    return tc_torch_calln(c, op == '-' ? "aten::neg" : "aten::bitwise_not", 1, a);
}

V tc_tensor_compare_op(C *c, int op, V a, V b) {
    a = tc_torch_plain(c, a), b = tc_torch_plain(c, b);
    if (!operand(a) || !operand(b)) {
        if (op == '=' || op == '!') return tc_bool(c, op == '!');
        tc_raise(c, "TypeError", "'<' not supported between instances of '%s' and '%s'", tc_type_name(c, a), tc_type_name(c, b));
    }
    if (!tc_is_tensor(a)) {
        V t = a;
        a = b, b = t;
        op = op == '<' ? '>' : op == '>' ? '<' : op == 'L' ? 'G' : op == 'G' ? 'L' : op;
    }
    const char *name = op == '<'   ? "aten::lt"
                       : op == 'L' ? "aten::le"
                       : op == '>' ? "aten::gt"
                       : op == 'G' ? "aten::ge"
                       : op == '=' ? "aten::eq"
                                   : "aten::ne";
    return tc_torch_calln(c, name, 2, a, b);
}

/* ---- numbers ---- */
static bool same_argument(const tc_arg *a, const tc_arg *b, int depth);

/* The index of v among its node's results; elements of lists count. */
static int place_of(const tc_value *v) {
    int at = 0;
    for (int i = 0; i < v->producer->nouts; i++) {
        const tc_value *o = v->producer->outs[i];
        if (o == v) return at;
        for (int k = 0; o->kind == TC_V_LIST && k < o->nlist; k++)
            if (o->list[k] == v) return at + 1 + k;
        at += 1 + (o->kind == TC_V_LIST ? o->nlist : 0);
    }
    return -1;
}

/* Equal by construction: the same value, or results of equal calls. */
static bool same_value(const tc_value *a, const tc_value *b, int depth) {
    const tc_node *x = a ? a->producer : NULL, *y = b ? b->producer : NULL;
    if (a == b) return true;
    if (!x || !y || !depth || x->op != y->op || x->nargs != y->nargs || x->op->flags & (TC_OP_IMPURE | TC_OP_RANDOM | TC_OP_HIGHER_ORDER))
        return false;
    if (place_of(a) != place_of(b) || place_of(a) < 0) return false;
    for (int i = 0; i < x->nargs; i++)
        if (!same_argument(&x->args[i], &y->args[i], depth - 1)) return false;
    return true;
}

static bool same_argument(const tc_arg *a, const tc_arg *b, int depth) {
    if (a->kind != b->kind || a->n != b->n || a->is_sym != b->is_sym) return false;
    switch (a->kind) {
    case TC_A_NONE: return true;
    case TC_A_VALUE: return same_value(a->value, b->value, depth);
    case TC_A_INT: return a->sym == b->sym;
    case TC_A_INTS: return !a->n || !memcmp(a->syms, b->syms, sizeof *a->syms * (size_t)a->n);
    case TC_A_BOOLS: return !a->n || !memcmp(a->bools, b->bools, sizeof *a->bools * (size_t)a->n);
    case TC_A_DTYPE: return a->dtype == b->dtype;
    case TC_A_SCALAR:
        return a->is_sym ? a->sym == b->sym
                         : a->scalar.kind == b->scalar.kind && !memcmp(&a->scalar.re, &b->scalar.re, sizeof a->scalar.re) &&
                               a->scalar.kind != TC_KIND_COMPLEX;
    default: return false;
    }
}

/* The number read earlier from this tensor, or from one computed in the same way; NULL: none. */
static V item_of(C *c, V o) {
    struct tc_torch *T = c->torch;
    if (!T->graph || !T->reads.len) return NULL;
    const tc_value *v = tc_torch_value(c, o);
    for (size_t i = 0; i < T->reads.len; i++) {
        const struct read *r = &T->reads.data[i];
        if (r->graph == T->graph && r->writes == T->writes && same_value(r->of, v, 16)) return r->number;
    }
    return NULL;
}

static V item(C *c, V o) {
    const tensor *known = tc_torch_known(o), *t = known ? known : (tensor *)o;
    if (t->t.storage && (known || !c->torch->graph)) {
        if (tc_tensor_numel(&t->t) != 1)
            tc_raise(c, "RuntimeError", "a Tensor with %lld elements cannot be converted to Scalar", (long long)tc_tensor_numel(&t->t));
        tc_undrawn_touch(c, &t->t);
        return tc_torch_element(c, t->t.dtype, tc_scalar_load(t->t.dtype, t->t.storage->data, t->t.offset));
    }
    V again = item_of(c, o);
    if (again) return again;
    V number = tc_torch_calln(c, "aten::item", 1, o);
    if (tc_kind_of(number) == K_SYM && c->torch->graph) {
        struct read r = {c->torch->graph, tc_torch_value(c, o), c->torch->writes, number};
        tc_avec_push(c, &c->torch->reads, r);
    }
    return number;
}

V tc_tensor_number(C *c, V t, const char *what) {
    tensor *x = (tensor *)t;
    if (!c->torch->graph && x->t.storage) {
        if (tc_tensor_numel(&x->t) != 1) tc_raise(c, "ValueError", "%s: only one element tensors can be converted to Python scalars", what);
        return item(c, t);
    }
    if (!c->torch->graph) tc_raise(c, "RuntimeError", "a tensor of a capture was used outside of it");
    return item(c, t);
}

V tc_tensor_index(C *c, V t, const char *what) {
    const tensor *x = (tensor *)t;
    const bool one = c->torch->graph || !x->t.storage || tc_tensor_numel(&x->t) == 1;
    V v = one ? tc_tensor_number(c, t, what) : NULL;
    if (!v || tc_kind_of(v) == K_FLOAT || tc_kind_of(v) == K_COMPLEX)
        tc_raise(c, "TypeError", "only integer tensors of a single element can be converted to an index" TC_DETAIL " (%s)", what);
    return v;
}

bool tc_tensor_formats_as_number(C *c, V t) {
    return !c->torch->graph && ((tensor *)t)->t.storage && !tc_torch_rank(t) && !strcmp(tc_type_name(c, t), "Tensor");
}

bool tc_tensor_truth(C *c, V v, const char *what) {
    const tensor *known = tc_torch_known(v), *t = known ? known : (tensor *)v;
    if (t->t.storage && (known || !c->torch->graph)) {
        int64_t n = tc_tensor_numel(&t->t);
        if (n == 0) tc_raise(c, "RuntimeError", "Boolean value of Tensor with no values is ambiguous");
        if (n != 1) tc_raise(c, "RuntimeError", "Boolean value of Tensor with more than one value is ambiguous");
        return tc_truth(c, item(c, v));
    }
    V read = item_of(c, v);
    const int same = read || tc_torch_rank(v) ? -1 : tc_torch_uniform(tc_torch_value(c, v));
    if (same >= 0) return same;
    if (c->draft && !read) read = item(c, v);
    if (c->draft) c->draft->of_tensor = true;
    bool truth = read && tc_truth(c, read);
    if (c->draft) c->draft->of_tensor = false;
    if (read) return truth;
    tc_raise_data(c, tc_suggest_branch(c, NULL, -1),
                  "%s depends on the values of a tensor (data-dependent control flow): use torch.cond, torch.where or torch.while_loop", what);
}

bool tc_tensor_contains(C *c, V t, V x) {
    const kind k = tc_kind_of(x);
    if (k != K_TENSOR && k != K_BOOL && k != K_INT && k != K_FLOAT && k != K_COMPLEX && k != K_SYM)
        tc_raise(c, "RuntimeError", "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '%s'>.", tc_type_name(c, x));
    return tc_tensor_truth(c, tc_torch_calln(c, "aten::any", 1, tc_rich(c, '=', t, x)), "'in'");
}

/* The first size as a number: a symbolic one is fixed here. */
static int64_t pinned_length(C *c, V t, const char *what) {
    V n = tc_torch_size(c, t, 0);
    return tc_index(c, tc_kind_of(n) == K_SYM ? tc_sym_force_as(c, n, ".shape[0]") : n, what);
}

int64_t tc_tensor_len(C *c, V t) {
    if (tc_torch_rank(t) == 0) tc_raise(c, "TypeError", "len() of a 0-d tensor");
    return pinned_length(c, t, "len() of a tensor");
}

V tc_tensor_iter(C *c, V t) {
    if (tc_torch_rank(t) == 0) tc_raise(c, "TypeError", "iteration over a 0-d tensor");
    pinned_length(c, t, "the number of elements to unpack");
    return tc_iter(c, tc_torch_calln(c, "aten::unbind", 1, t));
}

str *tc_tensor_repr(C *c, V v) {
    tensor *t = (tensor *)v;
    tc_buf b = {0};
    bool param = c->torch->parameter_type && tc_issubtype(v->type, c->torch->parameter_type);
    if (param) tc_buf_puts(&b, "Parameter containing:\n");
    if (t->t.storage) {
        tc_undrawn_touch(c, &t->t);
        tc_tensor_print_as(&b, &t->t, &c->torch->print);
        if (t->requires_grad && b.len && b.data[b.len - 1] == ')') {
            b.data[--b.len] = 0;
            tc_buf_puts(&b, ", requires_grad=True)");
        }
    } else {
        tc_buf_puts(&b, "tensor(");
        tc_value_print_type(&b, t->v);
        tc_buf_putc(&b, ')');
    }
    return tc_as_str(tc_buf_to_str(c, &b));
}

/* ---- attributes ---- */
static V size_tuple(C *c, V t) {
    int n = tc_torch_rank(t);
    V s = tc_tuple(c, (size_t)n, NULL);
    s->type = c->types[K_SIZE];
    for (int i = 0; i < n; i++) ((tuple *)s)->a[i] = tc_torch_size(c, t, i);
    return s;
}

static V stride_tuple(C *c, V v) {
    tensor *t = (tensor *)v;
    int n = tc_torch_rank(v);
    V s = tc_tuple(c, (size_t)n, NULL), run = tc_int(c, 1);
    for (int i = n; i-- > 0;) {
        if (t->t.storage) ((tuple *)s)->a[i] = tc_int(c, t->t.stride[i]);
        else if (t->v->meta.stride) ((tuple *)s)->a[i] = tc_symv(c, t->v->meta.stride[i]);
        else {
            ((tuple *)s)->a[i] = run;
            if (!tc_sym_is_int(t->v->meta.size[i], 0)) run = tc_binary(c, '*', run, tc_torch_size(c, v, i));
        }
    }
    return s;
}

V tc_torch_device(C *c, const char *name, V index);
static V cpu(C *c) { return tc_torch_device(c, "cpu", c->none); }

static V numel(C *c, V t) {
    V n = tc_int(c, 1);
    for (int i = 0; i < tc_torch_rank(t); i++) n = tc_binary(c, '*', n, tc_torch_size(c, t, i));
    return n;
}

static V detached(C *c, V v) {
    tensor *t = (tensor *)v;
    if (t->t.storage && !c->torch->graph) {
        V r = tc_torch_wrap(c, tc_tensor_share(&t->t), false);
        ((tensor *)r)->inference = t->inference, ((tensor *)r)->meta = t->meta;
        return r;
    }
    V r = tc_torch_calln(c, "aten::detach", 1, v);
    ((tensor *)r)->requires_grad = false;
    return r;
}

static V swapped(C *c, V t) {
    int n = tc_torch_rank(t);
    if (n == 1) tc_raise(c, "RuntimeError", "tensor.mT is only supported on matrices or batches of matrices. Got %d-D tensor.", n);
    return tc_torch_calln(c, "aten::transpose", 3, t, tc_int(c, n ? -2 : -1), tc_int(c, -1));
}

static V conjugate(C *c, V t) { return tc_is_complex(tc_torch_dtype(t)) ? tc_torch_calln(c, "aten::conj", 1, t) : t; }

/* T: all dimensions in reverse. */
static V reversed(C *c, V t) {
    const int r = tc_torch_rank(t);
    if (r <= 2) return tc_torch_calln(c, "aten::t", 1, t);
    list *p = tc_list(c, (size_t)r);
    for (int i = r; i-- > 0;) tc_list_push(c, p, tc_int(c, i));
    return tc_torch_calln(c, "aten::permute", 2, t, (V)p);
}

/* H */
static V adjoint(C *c, V t) {
    const int r = tc_torch_rank(t);
    if (r != 2 && r != 0) tc_raise(c, "RuntimeError", "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.", r);
    return r == 0 ? conjugate(c, t) : swapped(c, conjugate(c, t));
}

/* The attribute is_NAME; NULL: there is none. */
static V trait(C *c, const tensor *t, const char *name) {
    static const char *const never[] = {"cuda", "quantized", "mps", "nested", "xpu", "mkldnn", "sparse_csr"};
    if (!strcmp(name, "leaf")) {
        const tc_value *own = t->v ? tc_torch_unwritten(t->v) : NULL;
        return tc_bool(c, !t->requires_grad || (own && own->producer ? own->producer->leaf : !t->computed));
    }
    if (!strcmp(name, "cpu")) return tc_bool(c, !t->meta);
    if (!strcmp(name, "meta")) return tc_bool(c, t->meta);
    if (!strcmp(name, "sparse")) return tc_bool(c, t->sparse);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (!strcmp(name, never[i])) return c->false_;
    return NULL;
}

static V layout_named(C *c, const char *name) { return tc_module_attr(c, tc_module(c, "torch"), tc_intern(c, name, strlen(name))); }

static V plain_attr(C *c, V v, const char *n) {
    tensor *t = (tensor *)v;
    tc_dtype d = tc_torch_dtype(v);
    switch (n[0]) {
    case 's':
        if (!strcmp(n, "shape")) return size_tuple(c, tc_torch_sized(c, v));
        break;
    case 'n':
        if (!strcmp(n, "ndim")) return tc_int(c, tc_torch_rank(tc_torch_sized(c, v)));
        if (!strcmp(n, "nbytes")) return tc_binary(c, '*', numel(c, v), tc_int(c, (int64_t)tc_dtype_size(d)));
        if (!strcmp(n, "names")) return tc_tuple(c, (size_t)tc_torch_rank(v), NULL);
        if (!strcmp(n, "name")) return c->none;
        break;
    case 'd':
        if (!strcmp(n, "dtype")) return tc_torch_dtype_object(c, d);
        if (!strcmp(n, "device")) return t->meta ? tc_torch_device(c, "meta", c->none) : cpu(c);
        if (!strcmp(n, "data")) return detached(c, v);
        break;
    case 'T':
        if (!strcmp(n, "T")) return reversed(c, v);
        break;
    case 'm':
        if (!strcmp(n, "mT")) return swapped(c, v);
        if (!strcmp(n, "mH")) return swapped(c, conjugate(c, v));
        break;
    case 'H':
        if (!strcmp(n, "H")) return adjoint(c, v);
        break;
    case 'r':
        if (!strcmp(n, "requires_grad")) return tc_bool(c, t->requires_grad || (t->v && t->v->meta.requires_grad));
        if (!strcmp(n, "real")) return tc_is_complex(d) ? tc_torch_calln(c, "aten::real", 1, v) : v;
        if (!strcmp(n, "retains_grad")) return c->false_;
        break;
    case 'i':
        if (!strcmp(n, "imag")) return tc_torch_calln(c, "aten::imag", 1, v);
        if (!strcmp(n, "itemsize")) return tc_int(c, (int64_t)tc_dtype_size(d));
        if (!strncmp(n, "is_", 3)) return trait(c, t, n + 3);
        break;
    case 'g':
        if (!strcmp(n, "grad")) return t->grad ? t->grad : c->none;
        if (!strcmp(n, "grad_fn")) return t->v && t->requires_grad && t->v->producer ? c->true_ : c->none;
        break;
    case 'l':
        if (!strcmp(n, "layout")) return layout_named(c, t->sparse ? "sparse_coo" : "strided");
        break;
    case 'p':
        if (!strcmp(n, "persistent")) return tc_bool(c, t->persistent);
        break;
    case '_':
        if (!strcmp(n, "_version")) return tc_int(c, 0);
        if (!strcmp(n, "_base")) return t->base ? t->base : c->none;
        break;
    default: break;
    }
    return NULL;
}

/* ---- methods that are not operators; argument 0 is the tensor ---- */
static V m_size(C *c, args *A) {
    V v[2];
    tc_take(c, A, "size", "self dim=", v);
    tc_torch_sized(c, v[0]);
    if (!v[1] || v[1] == c->none) return size_tuple(c, v[0]);
    int64_t d = tc_index(c, v[1], "dim"), n = tc_torch_rank(v[0]);
    if (d < -n || d >= n)
        tc_raise(c, "IndexError", "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-n, (long long)(n - 1),
                 (long long)d);
    return tc_torch_size(c, v[0], (int)(d < 0 ? d + n : d));
}
static V m_stride(C *c, args *A) {
    V v[2];
    tc_take(c, A, "stride", "self dim=", v);
    V s = stride_tuple(c, v[0]);
    return v[1] && v[1] != c->none ? tc_getitem(c, s, v[1]) : s;
}
/* The tensor of a method without further arguments. */
static V alone(C *c, args *A, const char *name) {
    V self;
    tc_take(c, A, name, "self", &self);
    return self;
}
static V m_dim(C *c, args *A) { return tc_int(c, tc_torch_rank(tc_torch_sized(c, alone(c, A, "dim")))); }
static V m_numel(C *c, args *A) { return numel(c, tc_torch_sized(c, alone(c, A, "numel"))); }
static V m_item(C *c, args *A) { return item(c, alone(c, A, "item")); }
/* tolist() of a symbolic tensor: its numbers are read one by one if their count is known. */
static V numbers_of(C *c, V t) {
    enum { MOST = 1000 };
    int64_t all = 1, n;
    for (int d = 0; d < tc_torch_rank(t); d++) {
        V size = tc_torch_size(c, t, d);
        if (tc_kind_of(size) != K_INT || !tc_int_fits(size, &n) || (n && all > MOST / n))
            tc_raise_data(
                c, NULL,
                "tolist() needs the values of a tensor (data-dependent), of sizes that are known and %d elements at most: keep them in tensors",
                MOST);
        all *= n;
    }
    if (tc_torch_rank(t) == 0) return item(c, t);
    list *rows = tc_to_list(c, tc_tensor_iter(c, t));
    for (size_t i = 0; i < rows->n; i++) rows->a[i] = numbers_of(c, rows->a[i]);
    return (V)rows;
}
static V m_tolist(C *c, args *A) {
    if (c->torch->graph && !((tensor *)A->a[0])->t.storage && !tc_torch_known(A->a[0])) return numbers_of(c, A->a[0]);
    return tc_torch_to_list(c, A->a[0]);
}
static V compared(C *c, args *A, const char *name, int op) {
    V v[2];
    tc_take(c, A, name, "self other", v);
    return tc_tensor_compare_op(c, op, v[0], v[1]);
}
static V m_eq(C *c, args *A) { return compared(c, A, "__eq__", '='); }
static V m_ne(C *c, args *A) { return compared(c, A, "__ne__", '!'); }
static V m_element_size(C *c, args *A) { return tc_int(c, (int64_t)tc_dtype_size(tc_torch_dtype(A->a[0]))); }
static V m_is_contiguous(C *c, args *A) {
    V v[2];
    tc_take(c, A, "is_contiguous", "self memory_format=", v);
    int format = v[1] && tc_kind_of(v[1]) == K_LAYOUT ? ((layoutobj *)v[1])->code : 1;
    const tensor *t = (tensor *)v[0];
    tc_program *p = t->t.storage ? tc_torch_program(c) : t->v->graph->program;
    if (format == 4) format = 1; /* torch.preserve_format keeps the format */
    if (t->t.storage && format == 1) return tc_bool(c, tc_tensor_is_contiguous(&t->t));
    if (!t->t.storage) return tc_bool(c, tc_sh_kept_in(p, &t->v->meta, format));
    tc_sym size[TC_MAX_RANK], stride[TC_MAX_RANK];
    for (int d = 0; d < t->t.rank; d++) size[d] = tc_sym_int(p->sym, t->t.size[d]), stride[d] = tc_sym_int(p->sym, t->t.stride[d]);
    const tc_meta m = {.dtype = t->t.dtype, .rank = t->t.rank, .size = size, .stride = stride};
    return tc_bool(c, tc_sh_kept_in(p, &m, format));
}
static V m_is_floating(C *c, args *A) { return tc_bool(c, tc_is_float(tc_torch_dtype(A->a[0]))); }
static V m_is_complex(C *c, args *A) { return tc_bool(c, tc_is_complex(tc_torch_dtype(A->a[0]))); }
static V m_is_inference(C *c, args *A) { return tc_bool(c, ((tensor *)A->a[0])->inference != NULL); }
static V m_is_signed(C *c, args *A) { return tc_bool(c, tc_dtypes[tc_torch_dtype(A->a[0])].is_signed); }
void tc_torch_require_grad(tensor *t, bool on) {
    t->requires_grad = on;
    if (t->v) t->v->meta.requires_grad = on;
    if (t->v && t->v->producer) t->v->producer->leaf = on;
}
static V m_requires_grad(C *c, args *A) {
    V v[2];
    tc_take(c, A, "requires_grad_", "self requires_grad=", v);
    bool on = !v[1] || tc_truth(c, v[1]);
    if (on && !tc_is_float(tc_torch_dtype(v[0])) && !tc_is_complex(tc_torch_dtype(v[0])))
        tc_raise(c, "RuntimeError", "only Tensors of floating point dtype can require gradients");
    if (on) tc_inference_no_grad(c, (tensor *)v[0]);
    tc_torch_require_grad((tensor *)v[0], on);
    region *r = c->torch->region;
    if (on && r && r->saves) tc_avec_push(c, &r->leaves, (tensor *)v[0]);
    return v[0];
}
static V m_detach(C *c, args *A) { return detached(c, A->a[0]); }
static V m_detach_(C *c, args *A) {
    tensor *t = (tensor *)A->a[0];
    if (t->v) t->v = ((tensor *)detached(c, A->a[0]))->v;
    t->requires_grad = false;
    return A->a[0];
}
static V m_get_device(C *c, args *A) {
    (void)A;
    return tc_int(c, -1);
}
/* The storage offset of a symbolic view: the sum over the selects and slices that made it. */
static tc_sym offset_of(C *c, const tc_value *v) {
    static const char same[] =
        " alias detach view _unsafe_view view_as reshape unsqueeze squeeze permute transpose t expand expand_as movedim flatten ";
    tc_symctx *s = tc_torch_program(c)->sym;
    tc_sym sum = tc_sym_int(s, 0);
    for (const tc_node *n = v->producer; n && tc_op_schema(n->op)->is_view; n = n->args[0].value->producer) {
        const tc_meta *m = &n->args[0].value->meta;
        const char *name = tc_op_schema(n->op)->name;
        if (tc_word_in(same, name)) continue;
        if (strcmp(name, "slice") && strcmp(name, "select"))
            tc_raise_code(c, TC_UNSUPPORTED, "storage_offset() of what %s gives is not supported", tc_op_name(n->op));
        const int d = tc_wrap(tc_arg_int(n, 1), m->rank);
        tc_sym at = tc_arg_is_none(n, 2) ? NULL : tc_arg_sym(n, 2), step = tc_sym_int(s, 1);
        at = tc_slice_bound(s, at, m->size[d], false);
        for (int k = d + 1; k < m->rank; k++)
            if (!tc_sym_is_int(m->size[k], 0)) step = tc_sym_mul(s, step, m->size[k]);
        sum = tc_sym_add(s, sum, tc_sym_mul(s, at, m->stride ? m->stride[d] : step));
    }
    return sum;
}
static V m_storage_offset(C *c, args *A) {
    const tensor *t = (tensor *)A->a[0];
    return t->t.storage ? tc_int(c, t->t.offset) : tc_symv(c, offset_of(c, t->v));
}
static V m_self(C *c, args *A) {
    (void)c;
    return A->a[0];
}
static V m_data_ptr(C *c, args *A) {
    tensor *t = (tensor *)A->a[0];
    return tc_int(c, (int64_t)(((uintptr_t)(t->t.storage ? (const void *)t->t.storage : (const void *)t->v)) >> 1));
}
static V m_backward(C *c, args *A) { return tc_call(c, tc_getattr(c, (V)tc_import(c, "torch.autograd", true), tc_intern(c, "_backward_of", 12)), A); }
static V m_register_hook(C *c, args *A) {
    V v[2];
    tc_take(c, A, "register_hook", "self hook", v);
    return tc_call2(c, tc_getattr(c, (V)tc_import(c, "torch.autograd", true), tc_intern(c, "register_hook", 13)), v[0], v[1]);
}
static V m_numpy(C *c, args *A) {
    const tensor *known = tc_torch_known(A->a[0]), *t = known ? known : (tensor *)A->a[0];
    if (!t->t.storage || (c->torch->graph && !known))
        tc_raise(c, "DataDependentError",
                 "numpy() needs the values of a tensor (data-dependent), which are not known while forward is captured: compute with "
                 "operators of torch instead");
    V make = tc_getattr(c, (V)tc_import(c, "numpy", true), tc_intern(c, "ndarray", 7));
    return tc_call1(c, make, known ? (V)known : detached(c, A->a[0]));
}
/* Sparse tensors are held, by models that never compute with them (a table of positions); torch_call.c refuses the rest. */
static V change_layout(C *c, args *A, const char *name, bool sparse) {
    tensor *t = (tensor *)alone(c, A, name);
    if (c->torch->graph || (!sparse && !t->sparse)) tc_raise_code(c, TC_UNSUPPORTED, "operator aten::%s is not supported", name);
    V r = tc_torch_calln(c, "aten::clone", 1, t);
    ((tensor *)r)->sparse = sparse;
    return r;
}
static V m_to_sparse(C *c, args *A) { return change_layout(c, A, "to_sparse", true); }
static V m_to_dense(C *c, args *A) { return change_layout(c, A, "to_dense", false); }
static V m_deepcopy(C *c, args *A) {
    V r = tc_torch_calln(c, "aten::clone", 1, A->a[0]);
    return r;
}
static V m_new(C *c, args *A) {
    args B = *A;
    B.a++, B.n--;
    V size = tc_tuple(c, (size_t)B.n, B.a);
    return tc_torch_calln(c, "aten::new_empty", 2, A->a[0], size);
}
static V m_set_data(C *c, V self, V v) {
    if (!tc_is_tensor(v)) tc_raise(c, "TypeError", "Variable data has to be a tensor, but got %s", tc_type_name(c, v));
    tensor *t = (tensor *)self, *s = (tensor *)v;
    if (t->t.storage && s->t.storage) {
        tc_tensor n = tc_tensor_share(&s->t);
        tc_tensor_deinit(&t->t);
        t->t = n;
        if (c->torch->graph) t->v = s->v;
        return c->none;
    }
    str *shape = tc_intern(c, "shape", 5);
    if (c->torch->graph && !tc_equal(c, tc_getattr(c, self, shape), tc_getattr(c, v, shape)))
        tc_raise(c, "RuntimeError", "the .data of a tensor from before forward is given another shape");
    const bool was = c->torch->no_grad;
    trap caught;
    c->torch->no_grad = true; /* the write is outside of autograd and allowed for leaves */
    if (TC_TRAP_PASSING(c, caught)) {
        tc_torch_copy_into(c, self, c->torch->graph ? detached(c, v) : v);
        tc_untrap(c, &caught);
    } else {
        c->torch->no_grad = was;
        tc_raise_again(c, c->exc);
    }
    c->torch->no_grad = was;
    return c->none;
}
/* x.set_(source): x has the elements and the memory of source from now on; without one it is empty. Views of x keep what they see. */
static V m_set_(C *c, args *A) {
    V v[2];
    tc_take(c, A, "set_", "self source=", v);
    tensor *t = (tensor *)v[0];
    const tc_dtype d = tc_torch_dtype(v[0]);
    V source = v[1] ? v[1] : tc_torch_calln(c, "aten::new_empty", 2, v[0], tc_tuple(c, 1, (V[]){tc_int(c, 0)}));
    if (tc_is_tensor(source) && tc_torch_dtype(source) != d)
        tc_raise(c, "RuntimeError", "Could not set tensor of type %s to a tensor of type %s", tc_dtypes[tc_torch_dtype(source)].torch,
                 tc_dtypes[d].torch);
    if (tc_is_tensor(source) && c->torch->graph && t->v && t->v->producer) t->v = ((tensor *)detached(c, source))->v;
    else m_set_data(c, v[0], source);
    return v[0];
}
static V m_contiguous_to(C *c, args *A) { return tc_torch_cast(c, A->a[0], tc_torch_dtype(A->a[1])); }
static V m_dim_order(C *c, args *A) { return tc_call(c, tc_getattr(c, (V)tc_import(c, "torch.namespace", true), tc_intern(c, "_dim_order", 10)), A); }

static const native_def methods[] = {{"size", m_size},
                                     {"stride", m_stride},
                                     {"dim", m_dim},
                                     {"ndimension", m_dim},
                                     {"numel", m_numel},
                                     {"nelement", m_numel},
                                     {"item", m_item},
                                     {"tolist", m_tolist},
                                     {"element_size", m_element_size},
                                     {"is_contiguous", m_is_contiguous},
                                     {"is_floating_point", m_is_floating},
                                     {"is_complex", m_is_complex},
                                     {"is_signed", m_is_signed},
                                     {"requires_grad_", m_requires_grad},
                                     {"is_inference", m_is_inference},
                                     {"detach", m_detach},
                                     {"detach_", m_detach_},
                                     {"get_device", m_get_device},
                                     {"storage_offset", m_storage_offset},
                                     {"data_ptr", m_data_ptr},
                                     {"backward", m_backward},
                                     {"numpy", m_numpy},
                                     {"register_hook", m_register_hook},
                                     {"retain_grad", m_self},
                                     {"to_sparse", m_to_sparse},
                                     {"to_dense", m_to_dense},
                                     {"__deepcopy__", m_deepcopy},
                                     {"__eq__", m_eq}, /* not object's */
                                     {"__ne__", m_ne},
                                     {"new", m_new},
                                     {"is_shared", m_get_device},
                                     {"type_as", m_contiguous_to},
                                     {"dim_order", m_dim_order},
                                     {"set_", m_set_},
                                     {"resolve_conj", m_self},
                                     {"resolve_neg", m_self},
                                     {NULL, NULL}};

static V python_method(C *c, V self, str *name) { /* self NULL: unbound */
    module *f = tc_import(c, "torch.functional", false);
    if (!f || f->loading) return NULL;
    V named = tc_dict_gets(c, f->d, tc_intern(c, "_methods", 8));
    if (!named || !tc_contains(c, named, (V)name)) return NULL;
    V fn = tc_dict_gets(c, f->d, tc_as_str(tc_strf(c, "_method_%s", name->s)));
    if (!fn) fn = tc_dict_gets(c, f->d, name);
    return fn && self ? tc_method(c, fn, self) : fn;
}

/* x.__add__, torch.Tensor.__add__ and the like: the functions of module operator; also len, abs and other built-ins. */
static V special_method(C *c, V self, str *name) {
    static const char plain[] = " add sub mul truediv floordiv mod pow matmul lshift rshift xor neg pos invert lt le gt ge getitem setitem contains "
                                "index iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ";
    static const char reversed[] = " radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor ", builtin[] = " len abs bool int float iter ";
    char word[24];
    const size_t n = name->len;
    if (n < 6 || n - 4 >= sizeof word || strncmp(name->s, "__", 2) || strcmp(name->s + n - 2, "__")) return NULL;
    memcpy(word, name->s + 2, n - 4);
    word[n - 4] = 0;
    module *ops = tc_import(c, "operator", true);
    const bool back = tc_word_in(reversed, word), logical = !strcmp(word + back, "and") || !strcmp(word + back, "or");
    if (!back && !logical && !tc_word_in(plain, word) && !tc_word_in(builtin, word)) return NULL;
    str *const what = tc_intern_str(c, tc_as_str(tc_strf(c, "%s%s", word + back, logical ? "_" : "")));
    V f = tc_word_in(builtin, word) ? tc_dict_gets(c, c->builtins, what) : tc_dict_gets(c, ops->d, what);
    if (back) f = tc_call1(c, tc_dict_gets(c, ops->d, tc_intern(c, "_reversed", 9)), f);
    return self ? tc_method(c, f, self) : f;
}

/* A method that is an operator or written in the model language. */
static V method_named(C *c, V self, str *name) {
    char full[128];
    V v = python_method(c, self, name);
    if (v || name->len > 100) return v;
    if (!strncmp(name->s, "__", 2)) return special_method(c, self, name);
    snprintf(full, sizeof full, "aten::%s", name->s);
    return tc_torch_opfn(c, full, self, TC_IN_TENSOR);
}

static V tensor_unbound(C *c, str *name) { return method_named(c, NULL, name); }

V tc_tensor_attr(C *c, V self, str *name) {
    V v = plain_attr(c, self, name->s);
    if (v) return v;
    v = tc_type_lookup(c, self->type, name);
    if (v && !(tc_kind_of(v) == K_NATIVE && tc_dict_gets(c, c->types[K_OBJECT]->d, name) == v)) return tc_bind(c, v, self, self->type);
    return method_named(c, self, name);
}

static bool set_attr(C *c, V self, str *name, V v) {
    tensor *t = (tensor *)self;
    if (name == c->n_grad) return t->grad = v == c->none ? NULL : v, true;
    if (name == c->n_data) return m_set_data(c, self, v), true;
    if (name == c->n_requires_grad) {
        V a[2] = {self, v};
        m_requires_grad(c, &(args){.a = a, .n = 2});
        return true;
    }
    return false;
}

void tc_torch_tensor_init(C *c) {
    type *t = c->types[K_TENSOR];
    t->instance_attr = tc_tensor_attr;
    t->unbound_attr = tensor_unbound;
    t->instance_setattr = set_attr;
    for (const native_def *m = methods; m->name; m++)
        if (m->fn) tc_dict_setc(c, t->d, m->name, tc_native(c, m->name, m->fn, NULL));
}
