/* Binds Python arguments to a schema (torch_bind.h): does the overload accept the call, and with which arguments?
 *
 *     x.view(2, -1)          int[] size takes all positional numbers
 *     torch.sum(input=x, axis=0, keepdims=True)   the names that PyTorch takes besides the schema's
 *     torch.add(x, 2)        a number for a Tensor, where PyTorch takes one */
#include "capture/torch_bind.h"

#include <string.h>

static bool refuse(tc_binding *b, const tc_param *p, C *c, V v, const char *expected) {
    b->why.len = 0;
    tc_buf_printf(&b->why, "argument '%s' must be %s, not %s", p->name, expected, tc_type_name(c, v));
    kind k = tc_kind_of(v);
    size_t n = 0;
    V *a = k == K_LIST || k == K_TUPLE ? tc_items(v, &n) : NULL;
    for (size_t i = 0; i < n && i < 6; i++)
        tc_buf_printf(&b->why, "%s%s%s", i ? ", " : " of (", tc_type_name(c, a[i]), i + 1 == n ? ")" : i == 5 ? ", ...)" : "");
    return false;
}

bool tc_torch_is_number(V v) {
    kind k = tc_kind_of(v);
    return k == K_INT || k == K_BOOL || k == K_FLOAT || k == K_COMPLEX || k == K_SYM;
}

V tc_torch_plain(C *c, V v) {
    if (tc_kind_of(v) != K_OBJECT || !v->type->user) return v;
    if (tc_isinstance(c, v, (V)c->types[K_INT])) return tc_call1(c, tc_special(c, v, c->n___index__), v);
    return tc_isinstance(c, v, (V)c->types[K_FLOAT]) ? tc_call1(c, tc_special(c, v, c->n___float__), v) : v;
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

/* Does the tensor v have exactly one element? */
static bool is_single(C *c, V v) {
    for (int d = 0; d < tc_torch_rank(v); d++) {
        V n = tc_torch_size(c, v, d);
        if (tc_kind_of(n) != K_INT || tc_index(c, n, "a size") != 1) return false;
    }
    return true;
}

/* An int, symbolic or not, or the value of an integer tensor of one element. An int beyond 64 bits is accepted; too_big is the error that it raises. */
static bool int_sym(C *c, V v, tc_sym *out, bool any_rank, const char *raises, const char **too_big) {
    kind k = tc_kind_of(v);
    if (k == K_TENSOR) {
        if (!tc_is_integral(tc_torch_dtype(v)) || tc_torch_dtype(v) == TC_BOOL || !(any_rank ? is_single(c, v) : tc_torch_rank(v) == 0)) return false;
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
    int64_t i = 0;
    if (!tc_int_fits(v, &i)) *too_big = raises;
    *out = tc_sym_int(tc_torch_program(c)->sym, i);
    return true;
}

static bool ints_arg(C *c, V const *items, size_t n, tc_arg *a, const char **too_big) {
    tc_sym *s = TC_NEWN(&tc_torch_program(c)->arena, tc_sym, n ? n : 1);
    for (size_t i = 0; i < n; i++) /* PyTorch checks only the first item: a later True is 1 */
        if (i && tc_kind_of(items[i]) == K_BOOL) s[i] = tc_sym_int(tc_torch_program(c)->sym, items[i] == c->true_);
        else if (!int_sym(c, items[i], &s[i], true, "TypeError", too_big)) return false;
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

/* Converts one given value to a and, for tensors, b->object[at]. False: the type does not take the value; v is then the value to name in the message
 * (the item of a sequence). */
typedef struct {
    C *c;
    const tc_op *op;
    const tc_param *p;
    tc_binding *b;
    tc_arg *a;
    int at;
    V v;
} given;

/* A number argument. Ints from 2^63 up to 2^64 are accepted: rounded for floats, wrapped for ints; without a tensor argument, the later dtype= must
 * be floating. */
static bool as_number(given *g) {
    const V self = g->b->object[0];
    if (number_arg(g->c, g->v, g->a)) return true;
    if (tc_kind_of(g->v) != K_INT) return false;
    if (tc_int_sign(g->v) < 0 || tc_int_bits(g->v) != 64) {
        g->b->too_big = "OverflowError";
        *g->a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(0)};
        return true;
    }
    const uint32_t *half = ((const big *)g->v)->d;
    if (!self || !tc_is_tensor(self)) {
        *g->a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_int_to_double(g->c, g->v))};
        return g->b->wide = true;
    }
    const bool whole = tc_is_integral(tc_torch_dtype(self)) && strcmp(tc_op_name(g->op), "aten.div.Tensor");
    *g->a = (tc_arg){.kind = TC_A_SCALAR,
                     .scalar = whole ? tc_scalar_int((int64_t)((uint64_t)half[1] << 32 | half[0])) : tc_scalar_float(tc_int_to_double(g->c, g->v))};
    return tc_torch_dtype(self) != TC_BOOL;
}
static bool as_tensor(given *g) {
    if (tc_is_tensor(g->v)) {
        *g->a = (tc_arg){.kind = TC_A_VALUE};
        g->b->object[g->at] = g->v;
        return true;
    }
    return g->at > 0 && !g->p->mutated && tc_torch_is_number(g->v) && tc_op_takes_numbers(g->op) && as_number(g);
}

static bool tensor_list(given *g, bool optional) {
    size_t n;
    if (!tc_is_seq(g->v)) return false;
    V all = g->v, *items = tc_items(all, &n);
    for (size_t i = 0; i < n; i++)
        if (!tc_is_tensor(items[i]) && !(optional && items[i] == g->c->none)) {
            g->v = items[i];
            return false;
        }
    *g->a = (tc_arg){.kind = TC_A_VALUES, .n = (int)n};
    g->b->object[g->at] = all;
    return true;
}
static bool as_tensors(given *g) { return tensor_list(g, false); }
static bool as_optional_tensors(given *g) { return tensor_list(g, true); }

static bool as_int(given *g) {
    tc_sym s;
    if (g->b->strict && tc_kind_of(g->v) == K_BOOL) g->v = tc_int(g->c, g->v == g->c->true_);
    /* max(x, tensor) is not max(x, dim): a tensor becomes a number only if no other overload takes it */
    if ((tc_kind_of(g->v) == K_TENSOR && !g->b->reads) || !int_sym(g->c, g->v, &s, g->p->sym_int, "ValueError", &g->b->too_big)) return false;
    *g->a = (tc_arg){.kind = TC_A_INT, .sym = s};
    return true;
}

static bool as_ints(given *g) {
    if (!tc_is_seq(g->v)) {
        V same[8];
        const int many = g->p->fixed_len;
        for (int i = 0; i < many && i < 8; i++) same[i] = g->v;
        if (many <= 0 || many > 8 || !ints_arg(g->c, same, (size_t)many, g->a, &g->b->too_big)) return false;
        if (g->b->too_big) g->b->too_big = "ValueError";
        return true;
    }
    size_t n;
    V *items = tc_items(g->v, &n);
    return ints_arg(g->c, items, n, g->a, &g->b->too_big);
}

static bool as_float(given *g) {
    if (tc_kind_of(g->v) == K_COMPLEX || !tc_torch_is_number(g->v)) {
        if (!(g->b->reads && tc_is_tensor(g->v) && tc_torch_rank(g->v) == 0)) return false;
        g->v = tc_tensor_number(g->c, g->v, "a float argument");
    }
    if (!number_arg(g->c, g->v, g->a)) *g->a = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(tc_int_to_double(g->c, g->v))};
    if (g->a->kind == TC_A_SCALAR && !g->a->is_sym) g->a->scalar = tc_scalar_float(tc_scalar_to_double(g->a->scalar));
    return true;
}

static bool as_floats(given *g) {
    size_t n;
    if (!tc_is_seq(g->v)) return false;
    V *items = tc_items(g->v, &n);
    double *f = TC_NEWN(&tc_torch_program(g->c)->arena, double, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        if (!tc_torch_is_number(items[i]) || tc_kind_of(items[i]) == K_SYM || tc_kind_of(items[i]) == K_COMPLEX) return false;
        f[i] = tc_to_double(g->c, items[i]);
    }
    *g->a = (tc_arg){.kind = TC_A_FLOATS, .n = (int)n, .floats = f};
    return true;
}

static bool as_bool(given *g) {
    if (g->b->strict && (tc_torch_is_number(g->v) || g->v == g->c->none)) g->v = tc_bool(g->c, tc_truth(g->c, g->v));
    if (tc_kind_of(g->v) == K_SYM && tc_sym_type(tc_to_sym(g->c, g->v)) == TC_SYM_BOOL) g->v = tc_bool(g->c, tc_sym_truth(g->c, g->v));
    return tc_kind_of(g->v) == K_BOOL && number_arg(g->c, g->v, g->a);
}

static bool as_bools(given *g) {
    size_t n;
    if (!tc_is_seq(g->v)) return false;
    V *items = tc_items(g->v, &n);
    bool *f = TC_NEWN(&tc_torch_program(g->c)->arena, bool, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        if (tc_kind_of(items[i]) != K_BOOL) return false;
        f[i] = items[i] == g->c->true_;
    }
    *g->a = (tc_arg){.kind = TC_A_BOOLS, .n = (int)n, .bools = f};
    return true;
}

static bool as_scalar(given *g) {
    if (tc_is_tensor(g->v)) {
        if (!g->b->reads || tc_torch_rank(g->v) != 0 || ((tensor *)g->v)->requires_grad) return false;
        g->v = tc_tensor_number(g->c, g->v, "a number argument");
    }
    return tc_torch_is_number(g->v) && as_number(g);
}

static bool as_string(given *g) {
    if (tc_kind_of(g->v) != K_STR) return false;
    str *s = tc_as_str(g->v);
    *g->a = (tc_arg){.kind = TC_A_STRING, .string = tc_arena_strndup(&tc_torch_program(g->c)->arena, s->s, s->len)};
    return true;
}

static bool as_dtype(given *g) {
    tc_dtype d = dtype_of(g->c, g->v);
    *g->a = (tc_arg){.kind = TC_A_DTYPE, .dtype = d};
    return d != TC_DTYPE_NONE;
}

static bool layout_code(given *g, bool memory_format) {
    layoutobj *l = (layoutobj *)g->v;
    if (tc_kind_of(g->v) != K_LAYOUT || l->memory_format != memory_format) return false;
    *g->a = (tc_arg){.kind = memory_format ? TC_A_MEMFORMAT : TC_A_LAYOUT, .code = l->code};
    return true;
}
static bool as_layout(given *g) { return layout_code(g, false); }
static bool as_memory_format(given *g) { return layout_code(g, true); }

static bool as_device(given *g) { /* all devices are mapped to the one device */
    *g->a = (tc_arg){.kind = TC_A_STRING, .string = "cpu"};
    if (tc_kind_of(g->v) == K_STR) g->v = tc_torch_device_named(g->c, tc_as_str(g->v), NULL);
    g->b->on_device = true;
    g->b->on_meta = tc_kind_of(g->v) == K_DEVICE && !strcmp(((device *)g->v)->kindname->s, "meta");
    return tc_kind_of(g->v) == K_DEVICE || tc_is_int(g->v);
}

static bool as_generator(given *g) {
    if (tc_kind_of(g->v) != K_GENERATOR) return false;
    g->b->gen = &((genobj *)g->v)->g;
    *g->a = (tc_arg){.kind = TC_A_NONE};
    return true;
}

/* The conversion for each type of the schemas; none: None is accepted even though the schema has no `?`. */
static const struct {
    bool (*take)(given *g);
    const char *expected;
    bool none;
} forms[] = {
    [TC_T_TENSOR] = {as_tensor, "Tensor"},
    [TC_T_OPT_TENSOR] = {as_tensor, "Tensor", true},
    [TC_T_TENSORS] = {as_tensors, "tuple of Tensors"},
    [TC_T_OPT_TENSORS] = {as_optional_tensors, "tuple of Tensors"},
    [TC_T_INT] = {as_int, "int"},
    [TC_T_INTS] = {as_ints, "tuple of ints"},
    [TC_T_FLOAT] = {as_float, "float"},
    [TC_T_FLOATS] = {as_floats, "tuple of floats"},
    [TC_T_BOOL] = {as_bool, "bool"},
    [TC_T_BOOLS] = {as_bools, "tuple of bools"},
    [TC_T_SCALAR] = {as_scalar, "Number"},
    [TC_T_SCALARS] = {as_floats, "tuple of Numbers"},
    [TC_T_STRING] = {as_string, "str"},
    [TC_T_DTYPE] = {as_dtype, "torch.dtype", true},
    [TC_T_LAYOUT] = {as_layout, "torch.layout", true},
    [TC_T_MEMFORMAT] = {as_memory_format, "torch.memory_format", true},
    [TC_T_DEVICE] = {as_device, "torch.device", true},
    [TC_T_GENERATOR] = {as_generator, "torch.Generator", true},
};

static bool match(C *c, const tc_op *op, const tc_param *p, V v, int at, tc_binding *b) {
    bool known = (size_t)p->type < sizeof forms / sizeof *forms && forms[p->type].take;
    if (v == c->none && (p->optional || (known && forms[p->type].none))) {
        b->arg[at] = (tc_arg){.kind = TC_A_NONE};
        return true;
    }
    if (v == c->none && p->type == TC_T_INTS && p->has_default && p->def.kind == TC_A_FLOATS && !p->def.n && !b->strict) { /* int[1] dim=[] */
        b->arg[at] = (tc_arg){.kind = TC_A_INTS};
        return true;
    }
    given g = {c, op, p, b, &b->arg[at], at, tc_torch_plain(c, v)};
    if (known && forms[p->type].take(&g)) return true;
    return refuse(b, p, c, g.v, known ? forms[p->type].expected : "something tc has no form for");
}

/* The keyword names that PyTorch accepts: the schema's except self, and NumPy's. */
static bool same_name(const tc_schema *s, int i, const char *kw, bool strict) {
    static const char *const also[][2] = {{"dim", "axis"}, {"keepdim", "keepdims"}, {"input", "x"}, {"input", "a"}, {"input", "x1"}, {"other", "x2"}};
    const char *name = s->params[i].name;
    if (!strict && !strcmp(name, "self")) name = "input";
    if (!strcmp(name, kw)) return true;
    for (size_t k = 0; k < sizeof also / sizeof *also && !strict; k++)
        if (!strcmp(name, also[k][0]) && !strcmp(kw, also[k][1])) return true;
    return false;
}

static int positional(const tc_schema *s) {
    int n = 0;
    while (n < s->nparams && !s->params[n].kw_only) n++;
    return n;
}

/* Can v be the out= of s: a tensor, or a tuple or list of tensors for several results? */
static bool takes_out(C *c, const tc_schema *s, V v, tc_binding *b) {
    const bool many = s->nrets > 1 || (s->nrets && s->rets[0].type == TC_T_TENSORS);
    size_t n = 0;
    V *items = tc_is_seq(v) ? tc_items(v, &n) : NULL;
    bool fits = many ? tc_is_seq(v) : tc_is_tensor(v);
    for (size_t i = 0; i < n && fits; i++) fits = tc_is_tensor(items[i]);
    if (!fits) refuse(b, &(tc_param){.name = "out"}, c, v, many ? "tuple of Tensors" : "Tensor");
    return fits;
}

/* The schema position of an argument that PyTorch takes in another position, or that the schema lacks. */
static bool extra_keyword(C *c, const tc_op *op, const char *kw, V v, bool is_method, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    if (!strcmp(kw, "out") && !is_method && tc_op_takes_out(op)) {
        b->out = v == c->none ? NULL : v;
        return !b->out || takes_out(c, s, v, b);
    }
    bool makes = false; /* a factory function */
    for (int i = 0; i < s->nparams; i++) makes |= !strcmp(s->params[i].name, "pin_memory");
    if (makes && !strcmp(kw, "requires_grad")) {
        b->requires_grad = v == c->true_;
        if (tc_kind_of(v) == K_BOOL || v == c->none) return true;
        tc_buf_printf(&b->why, "argument 'requires_grad' must be bool, not %s", tc_type_name(c, v));
    }
    return false;
}

/* Fills in defaults; false: an argument without a default is missing ("int? to" must be given). */
static bool take_defaults(C *c, const tc_op *op, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    for (int i = 0; i < s->nparams; i++) {
        if (b->given[i]) continue;
        tc_status st = s->params[i].has_default ? tc_op_default(tc_torch_program(c), op, i, &b->arg[i]) : NULL;
        if (s->params[i].has_default && !st) continue;
        tc_status_free(st);
        tc_buf_printf(&b->why, "missing required argument '%s'", s->params[i].name);
        return false;
    }
    return true;
}

static bool take_keyword(C *c, const tc_op *op, const char *kw, V v, bool is_method, bool strict_names, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    int at = 0;
    while (at < s->nparams && !same_name(s, at, kw, strict_names)) at++;
    if (at == s->nparams) {
        if (!strict_names && extra_keyword(c, op, kw, v, is_method, b)) return true;
        if (!b->why.len) tc_buf_printf(&b->why, "got an unexpected keyword argument '%s'", kw);
        return false;
    }
    if (b->given[at]) {
        tc_buf_printf(&b->why, "got multiple values for argument '%s'", kw);
        return false;
    }
    return b->given[at] = match(c, op, &s->params[at], v, at, b);
}

bool tc_torch_bind(C *c, const tc_op *op, args *A, bool is_method, bool strict_names, tc_binding *b) {
    const tc_schema *s = tc_op_schema(op);
    memset(b, 0, offsetof(tc_binding, reads));
    b->why.len = 0;
    b->strict = strict_names && !tc_is_embedded(c);
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
    /* x.view(2, 3), torch.zeros(2, 3): an int[] parameter takes all positional numbers; but not dim=None in x.std(1, False) */
    bool spread = npos == first + 1 && s->params[first].type == TC_T_INTS && !s->params[first].optional && A->n > first && !tc_is_seq(A->a[first]) &&
                  !strict_names;
    if (spread) {
        if (!ints_arg(c, A->a + first, (size_t)(A->n - first), &b->arg[first], &b->too_big))
            return refuse(b, &s->params[first], c, A->a[first], "tuple of ints");
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
    for (int k = 0; k < A->nk; k++)
        if (!take_keyword(c, op, A->kn[k]->s, A->kv[k], is_method, strict_names, b)) return false;
    if (!take_defaults(c, op, b)) return false;
    bool fraction = !b->wide;
    for (int i = 0; i < s->nparams; i++) fraction |= b->arg[i].kind == TC_A_DTYPE && !tc_is_integral(b->arg[i].dtype);
    if (!fraction) tc_buf_puts(&b->why, "has a number that its type does not hold");
    return fraction;
}
