/* Python arguments to schema arguments: which overload accepts a call, and what its arguments are.
 *
 *     x.view(2, -1)          int[] size takes all positional numbers
 *     torch.sum(input=x, axis=0, keepdims=True)   the names that PyTorch takes besides the schema's
 *     torch.add(x, 2)        a number for a Tensor, where PyTorch takes one */
#include "capture/torch_bind.h"

#include <string.h>

static bool refuse(tc_binding *b, const tc_param *p, C *c, V v, const char *expected) {
    b->why.len = 0;
    tc_buf_printf(&b->why, "argument '%s' must be %s, not %s", p->name, expected, tc_type_name(c, v));
    return false;
}

static bool is_number(V v) {
    kind k = tc_kind_of(v);
    return k == K_INT || k == K_BOOL || k == K_FLOAT || k == K_COMPLEX || k == K_SYM;
}

/* A number as TC_A_SCALAR (or, for an int expression, TC_A_INT). False: an int beyond 64 bits. */
static bool number_arg(C *c, V v, tc_arg *a) {
    int64_t i;
    switch (tc_kind_of(v)) {
    case K_BOOL: *a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(v == c->true_)}; return true;
    case K_INT:
        if (!tc_int_fits(v, &i)) return false;
        *a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(i)};
        return true;
    case K_FLOAT: *a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_flt(v))}; return true;
    case K_COMPLEX:
        *a = (tc_arg){.kind = TC_A_SCALAR, .scalar = {.kind = TC_KIND_COMPLEX, .re = ((cplx *)v)->re, .im = ((cplx *)v)->im}};
        return true;
    case K_SYM: {
        tc_sym s = tc_to_sym(c, v);
        *a = tc_sym_type(s) == TC_SYM_INT ? (tc_arg){.kind = TC_A_INT, .sym = s} : (tc_arg){.kind = TC_A_SCALAR, .sym = s, .is_sym = true};
        return true;
    }
    default: return false;
    }
}

/* An int, symbolic or not, or a 0-d integer tensor read out. */
static bool int_sym(C *c, V v, tc_sym *out) {
    kind k = tc_kind_of(v);
    if (k == K_TENSOR) {
        if (tc_torch_rank(v) != 0 || !tc_is_integral(tc_torch_dtype(v)) || tc_torch_dtype(v) == TC_BOOL) return false;
        v = tc_tensor_number(c, v, "an int argument");
        k = tc_kind_of(v);
    }
    if (k != K_INT && k != K_SYM) {
        V index = k == K_OBJECT ? tc_special(c, v, c->n___index__) : NULL;
        if (!index) return false;
        v = tc_call1(c, index, v);
        if (tc_kind_of(v) != K_INT) return false;
    }
    if (tc_kind_of(v) == K_SYM) {
        *out = tc_to_sym(c, v);
        return tc_sym_type(*out) == TC_SYM_INT;
    }
    int64_t i;
    if (!tc_int_fits(v, &i)) return false;
    *out = tc_sym_int(tc_torch_program(c)->sym, i);
    return true;
}

static bool ints_arg(C *c, V const *items, size_t n, tc_arg *a) {
    tc_sym *s = TC_NEWN(&tc_torch_program(c)->arena, tc_sym, n ? n : 1);
    for (size_t i = 0; i < n; i++)
        if (!int_sym(c, items[i], &s[i])) return false;
    *a = (tc_arg){.kind = TC_A_INTS, .n = (int)n, .syms = s};
    return true;
}

static tc_dtype dtype_of(C *c, V v) {
    if (tc_kind_of(v) == K_DTYPE) return ((dtypeobj *)v)->d;
    if (v == (V)c->types[K_FLOAT]) return TC_F64;
    if (v == (V)c->types[K_INT]) return TC_I64;
    if (v == (V)c->types[K_BOOL]) return TC_BOOL;
    if (v == (V)c->types[K_COMPLEX]) return TC_C128;
    return TC_DTYPE_NONE;
}

static bool numbers_for_tensors(const tc_op *op) { return tc_op_takes_numbers(op); }

static bool tensors_arg(C *c, const tc_param *p, V v, bool optional, int at, tc_binding *b) {
    size_t n;
    if (!tc_is_seq(v)) return refuse(b, p, c, v, "tuple of Tensors");
    V *items = tc_items(v, &n);
    for (size_t i = 0; i < n; i++)
        if (!tc_is_tensor(items[i]) && !(optional && items[i] == c->none)) return refuse(b, p, c, items[i], "tuple of Tensors");
    b->arg[at] = (tc_arg){.kind = TC_A_VALUES, .n = (int)n};
    b->object[at] = v;
    return true;
}

static bool match(C *c, const tc_op *op, const tc_param *p, V v, int at, tc_binding *b) {
    tc_arg *a = &b->arg[at];
    size_t n;
    if (v == c->none && (p->optional || p->type == TC_T_OPT_TENSOR || p->type == TC_T_GENERATOR || p->type == TC_T_LAYOUT || p->type == TC_T_DEVICE ||
                         p->type == TC_T_DTYPE || p->type == TC_T_MEMFORMAT)) {
        *a = (tc_arg){.kind = TC_A_NONE};
        return true;
    }
    switch (p->type) {
    case TC_T_TENSOR:
    case TC_T_OPT_TENSOR:
        if (tc_is_tensor(v)) {
            *a = (tc_arg){.kind = TC_A_VALUE};
            b->object[at] = v;
            return true;
        }
        if (at > 0 && is_number(v) && numbers_for_tensors(op)) return number_arg(c, v, a) || refuse(b, p, c, v, "Tensor");
        return refuse(b, p, c, v, "Tensor");
    case TC_T_TENSORS: return tensors_arg(c, p, v, false, at, b);
    case TC_T_OPT_TENSORS: return tensors_arg(c, p, v, true, at, b);
    case TC_T_INT: {
        tc_sym s;
        /* max(x, tensor) is no max(x, dim): a tensor is read out when nothing takes it as it is */
        if ((tc_kind_of(v) == K_TENSOR && !b->reads) || !int_sym(c, v, &s)) return refuse(b, p, c, v, "int");
        *a = (tc_arg){.kind = TC_A_INT, .sym = s};
        return true;
    }
    case TC_T_INTS:
        if (tc_is_seq(v)) {
            V *items = tc_items(v, &n);
            return ints_arg(c, items, n, a) || refuse(b, p, c, v, "tuple of ints");
        }
        if (p->fixed_len > 0 && ints_arg(c, &v, 1, a)) return true;
        return refuse(b, p, c, v, "tuple of ints");
    case TC_T_FLOAT:
        if (tc_kind_of(v) == K_COMPLEX || !is_number(v)) {
            if (!(b->reads && tc_is_tensor(v) && tc_torch_rank(v) == 0)) return refuse(b, p, c, v, "float");
            v = tc_tensor_number(c, v, "a float argument");
        }
        if (!number_arg(c, v, a)) return refuse(b, p, c, v, "float");
        if (a->kind == TC_A_SCALAR && !a->is_sym) a->scalar = tc_scalar_float(tc_scalar_to_double(a->scalar));
        return true;
    case TC_T_FLOATS: {
        if (!tc_is_seq(v)) return refuse(b, p, c, v, "tuple of floats");
        V *items = tc_items(v, &n);
        double *f = TC_NEWN(&tc_torch_program(c)->arena, double, n ? n : 1);
        for (size_t i = 0; i < n; i++) {
            if (!is_number(items[i]) || tc_kind_of(items[i]) == K_SYM || tc_kind_of(items[i]) == K_COMPLEX)
                return refuse(b, p, c, v, "tuple of floats");
            f[i] = tc_to_double(c, items[i]);
        }
        *a = (tc_arg){.kind = TC_A_FLOATS, .n = (int)n, .floats = f};
        return true;
    }
    case TC_T_BOOL:
        if (tc_kind_of(v) == K_SYM && tc_sym_type(tc_to_sym(c, v)) == TC_SYM_BOOL) v = tc_bool(c, tc_sym_truth(c, v));
        if (tc_kind_of(v) != K_BOOL) return refuse(b, p, c, v, "bool");
        return number_arg(c, v, a);
    case TC_T_BOOLS: {
        if (!tc_is_seq(v)) return refuse(b, p, c, v, "tuple of bools");
        V *items = tc_items(v, &n);
        bool *f = TC_NEWN(&tc_torch_program(c)->arena, bool, n ? n : 1);
        for (size_t i = 0; i < n; i++) {
            if (tc_kind_of(items[i]) != K_BOOL) return refuse(b, p, c, v, "tuple of bools");
            f[i] = items[i] == c->true_;
        }
        *a = (tc_arg){.kind = TC_A_BOOLS, .n = (int)n, .bools = f};
        return true;
    }
    case TC_T_SCALAR:
        if (tc_is_tensor(v)) {
            if (!b->reads || tc_torch_rank(v) != 0 || ((tensor *)v)->requires_grad) return refuse(b, p, c, v, "Number");
            v = tc_tensor_number(c, v, "a number argument");
        }
        if (!is_number(v) || !number_arg(c, v, a)) return refuse(b, p, c, v, "Number");
        return true;
    case TC_T_SCALARS: {
        if (!tc_is_seq(v)) return refuse(b, p, c, v, "tuple of Numbers");
        V *items = tc_items(v, &n);
        double *f = TC_NEWN(&tc_torch_program(c)->arena, double, n ? n : 1);
        for (size_t i = 0; i < n; i++) {
            if (!is_number(items[i]) || tc_kind_of(items[i]) == K_SYM || tc_kind_of(items[i]) == K_COMPLEX)
                return refuse(b, p, c, v, "tuple of Numbers");
            f[i] = tc_to_double(c, items[i]);
        }
        *a = (tc_arg){.kind = TC_A_FLOATS, .n = (int)n, .floats = f};
        return true;
    }
    case TC_T_STRING:
        if (tc_kind_of(v) != K_STR) return refuse(b, p, c, v, "str");
        *a = (tc_arg){.kind = TC_A_STRING, .string = tc_arena_strndup(&tc_torch_program(c)->arena, tc_as_str(v)->s, tc_as_str(v)->len)};
        return true;
    case TC_T_DTYPE: {
        tc_dtype d = dtype_of(c, v);
        if (d == TC_DTYPE_NONE) return refuse(b, p, c, v, "torch.dtype");
        *a = (tc_arg){.kind = TC_A_DTYPE, .dtype = d};
        return true;
    }
    case TC_T_LAYOUT:
    case TC_T_MEMFORMAT:
        if (tc_kind_of(v) != K_LAYOUT || ((layoutobj *)v)->memory_format != (p->type == TC_T_MEMFORMAT))
            return refuse(b, p, c, v, p->type == TC_T_LAYOUT ? "torch.layout" : "torch.memory_format");
        *a = (tc_arg){.kind = p->type == TC_T_LAYOUT ? TC_A_LAYOUT : TC_A_MEMFORMAT, .code = ((layoutobj *)v)->code};
        return true;
    case TC_T_DEVICE: /* device words are mapped to the one device */
        if (tc_kind_of(v) != K_DEVICE && tc_kind_of(v) != K_STR && !tc_is_int(v)) return refuse(b, p, c, v, "torch.device");
        *a = (tc_arg){.kind = TC_A_STRING, .string = "cpu"};
        return true;
    case TC_T_GENERATOR:
        if (tc_kind_of(v) != K_GENERATOR) return refuse(b, p, c, v, "torch.Generator");
        b->gen = &((genobj *)v)->g;
        *a = (tc_arg){.kind = TC_A_NONE};
        return true;
    case TC_T_DIMNAME:
    case TC_T_GRAPH: break;
    }
    return refuse(b, p, c, v, "something tc has no form for");
}

/* Keyword names that PyTorch takes besides the schema's. */
static bool same_name(const tc_schema *s, int i, const char *kw, bool strict) {
    static const char *const also[][2] = {{"dim", "axis"}, {"dim", "axes"}, {"keepdim", "keepdims"}, {"self", "input"},
                                          {"self", "x"},   {"self", "a"},   {"other", "x2"},         {"dims", "axes"}};
    const char *name = s->params[i].name;
    if (!strcmp(name, kw)) return true;
    if (strict) return false;
    for (size_t k = 0; k < sizeof also / sizeof *also; k++)
        if (!strcmp(name, also[k][0]) && !strcmp(kw, also[k][1])) return true;
    return false;
}

static int positional(const tc_schema *s) {
    int n = 0;
    while (n < s->nparams && !s->params[n].kw_only) n++;
    return n;
}

/* The place in the schema of an argument that PyTorch writes after others than the schema does, or that is not in it. */
static bool extra_keyword(C *c, const tc_schema *s, const char *kw, V v, tc_binding *b) {
    if (!strcmp(kw, "out")) {
        b->out = v == c->none ? NULL : v;
        return true;
    }
    bool makes = false; /* a tensor out of nothing */
    for (int i = 0; i < s->nparams; i++) makes |= !strcmp(s->params[i].name, "pin_memory");
    if (makes && !strcmp(kw, "requires_grad")) {
        b->requires_grad = tc_truth(c, v);
        return true;
    }
    return false;
}

bool tc_torch_bind(C *c, const tc_op *op, args *A, bool is_method, bool strict_names, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    memset(b, 0, offsetof(tc_binding, reads));
    b->why.len = 0;
    b->requires_grad = -1;
    b->n = s->nparams;
    V swapped_args[16];
    args method_args;
    if (is_method && A->n >= 2 && A->n <= 16 && s->nparams > 1 && strcmp(s->params[0].name, "self") && !strcmp(s->params[1].name, "self")) {
        /* where(condition, self, other): x.where(c, y) */
        method_args = *A;
        memcpy(swapped_args, A->a, sizeof(V) * (size_t)A->n);
        swapped_args[0] = A->a[1], swapped_args[1] = A->a[0];
        method_args.a = swapped_args;
        A = &method_args;
    }
    if (s->nparams > TC_MAX_PARAMS) TC_BUG("%s has %d parameters", tc_op_name(op), s->nparams);
    int npos = positional(s), first = is_method ? 1 : 0, taken = A->n;
    /* x.view(2, 3), torch.zeros(2, 3): one int[] parameter takes all positional numbers */
    bool spread = npos == first + 1 && s->params[first].type == TC_T_INTS && A->n > first && !tc_is_seq(A->a[first]) && !strict_names;
    if (spread) {
        if (!ints_arg(c, A->a + first, (size_t)(A->n - first), &b->arg[first])) return refuse(b, &s->params[first], c, A->a[first], "tuple of ints");
        b->given[first] = true;
        taken = first;
    } else if (A->n > npos) {
        tc_buf_printf(&b->why, "takes %d positional argument%s but %d were given", npos, npos == 1 ? "" : "s", A->n);
        return false;
    }
    for (int i = 0; i < taken; i++) {
        if (!match(c, op, &s->params[i], A->a[i], i, b)) return false;
        b->given[i] = true;
    }
    for (int k = 0; k < A->nk; k++) {
        const char *kw = A->kn[k]->s;
        int at = 0;
        while (at < s->nparams && !same_name(s, at, kw, strict_names)) at++;
        if (at == s->nparams) {
            if (extra_keyword(c, s, kw, A->kv[k], b)) continue;
            tc_buf_printf(&b->why, "got an unexpected keyword argument '%s'", kw);
            return false;
        }
        if (b->given[at]) {
            tc_buf_printf(&b->why, "got multiple values for argument '%s'", kw);
            return false;
        }
        if (!match(c, op, &s->params[at], A->kv[k], at, b)) return false;
        b->given[at] = true;
    }
    for (int i = 0; i < s->nparams; i++) {
        if (b->given[i]) continue;
        if (!s->params[i].has_default) { /* "int? to" without a default must be given */
            tc_buf_printf(&b->why, "missing required argument '%s'", s->params[i].name);
            return false;
        }
        tc_status st = tc_op_default(tc_torch_program(c), op, i, &b->arg[i]);
        if (st) {
            tc_status_free(st);
            tc_buf_printf(&b->why, "missing required argument '%s'", s->params[i].name);
            return false;
        }
    }
    return true;
}
