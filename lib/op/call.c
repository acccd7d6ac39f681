/* Calls operators (tc_graph_call): converts arguments to the schema's form, fills in defaults, runs the shape rule, appends the node with typed results.
 * Capture, gradients, decompositions and readers all create nodes here. */
#include "op/op.h"
#include "op/lower.h"
#include "op/shape.h"

#include "base/text.h"

#include <string.h>

static const char *const type_names[] = {
    [TC_T_TENSOR] = "Tensor", [TC_T_OPT_TENSOR] = "Tensor?",  [TC_T_TENSORS] = "Tensor[]", [TC_T_OPT_TENSORS] = "Tensor?[]",
    [TC_T_INT] = "int",       [TC_T_INTS] = "int[]",          [TC_T_FLOAT] = "float",      [TC_T_FLOATS] = "float[]",
    [TC_T_BOOL] = "bool",     [TC_T_BOOLS] = "bool[]",        [TC_T_SCALAR] = "number",    [TC_T_SCALARS] = "number[]",
    [TC_T_STRING] = "str",    [TC_T_DTYPE] = "dtype",         [TC_T_LAYOUT] = "layout",    [TC_T_MEMFORMAT] = "memory_format",
    [TC_T_DEVICE] = "device", [TC_T_GENERATOR] = "Generator", [TC_T_DIMNAME] = "Dimname",  [TC_T_GRAPH] = "graph",
};

static const char *found(const tc_arg *a) {
    static const char *const kinds[] = {
        [TC_A_NONE] = "None",         [TC_A_VALUE] = "Tensor",  [TC_A_VALUES] = "list of tensors", [TC_A_INT] = "int",
        [TC_A_INTS] = "list of ints", [TC_A_SCALAR] = "number", [TC_A_FLOATS] = "list of floats",  [TC_A_BOOLS] = "list of bools",
        [TC_A_STRING] = "str",        [TC_A_DTYPE] = "dtype",   [TC_A_LAYOUT] = "layout",          [TC_A_MEMFORMAT] = "memory_format",
        [TC_A_DEVICE] = "device",     [TC_A_GRAPH] = "graph",
    };
    static const char *const scalars[] = {"bool", "int", "float", "complex"};
    if (a->kind == TC_A_SCALAR && !a->is_sym) return scalars[a->scalar.kind];
    if (a->kind == TC_A_VALUE && a->value) return a->value->kind == TC_V_SYM ? "number" : a->value->kind == TC_V_LIST ? "list of tensors" : "Tensor";
    return kinds[a->kind];
}

static tc_arg of_sym(tc_sym s) {
    int64_t i;
    double f;
    bool b;
    if (tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i)) return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(i)};
    if (tc_sym_type(s) == TC_SYM_BOOL && tc_sym_const_bool(s, &b)) return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(b)};
    if (tc_sym_type(s) == TC_SYM_FLOAT && tc_sym_const_float(s, &f)) return (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(f)};
    return (tc_arg){.kind = TC_A_SCALAR, .sym = s, .is_sym = true};
}

/* A number in any form as TC_A_SCALAR. */
static bool to_number(tc_arg *a) {
    if (a->kind == TC_A_INT) *a = of_sym(a->sym);
    else if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_SYM) *a = of_sym(a->value->sym);
    return a->kind == TC_A_SCALAR;
}

static bool to_int(tc_program *p, tc_arg *a) {
    if (a->kind == TC_A_INT) return true;
    if (!to_number(a)) return false;
    if (a->is_sym) {
        if (tc_sym_type(a->sym) != TC_SYM_INT) return false;
        *a = (tc_arg){.kind = TC_A_INT, .sym = a->sym};
        return true;
    }
    if (a->scalar.kind > TC_KIND_INT) return false;
    *a = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(p->sym, a->scalar.i)};
    return true;
}

/* A list may be empty if its default is. An empty stride means the kernel's size. */
static bool to_ints(tc_program *p, tc_arg *a, const tc_param *q) {
    const int fixed_len = q->fixed_len;
    const bool may_be_empty =
        fixed_len < 2 || q->optional || (q->has_default && q->def.kind == TC_A_FLOATS && !q->def.n) || !strcmp(q->name, "stride");
    tc_sym *s;
    if (a->kind == TC_A_FLOATS) { /* a default, or a list of whole numbers */
        s = TC_NEWN(&p->arena, tc_sym, (size_t)(a->n ? a->n : 1));
        for (int i = 0; i < a->n; i++) {
            if (a->floats[i] != (double)(int64_t)a->floats[i]) return false;
            s[i] = tc_sym_int(p->sym, (int64_t)a->floats[i]);
        }
        *a = (tc_arg){.kind = TC_A_INTS, .n = a->n, .syms = s};
    } else if (a->kind == TC_A_VALUES) {
        s = TC_NEWN(&p->arena, tc_sym, (size_t)(a->n ? a->n : 1));
        for (int i = 0; i < a->n; i++) {
            if (!a->values[i] || a->values[i]->kind != TC_V_SYM || tc_sym_type(a->values[i]->sym) != TC_SYM_INT) return false;
            s[i] = a->values[i]->sym;
        }
        *a = (tc_arg){.kind = TC_A_INTS, .n = a->n, .syms = s};
    } else if (a->kind == TC_A_BOOLS && a->n == 0) {
        *a = (tc_arg){.kind = TC_A_INTS};
    } else if (a->kind != TC_A_INTS && fixed_len > 0) {
        if (!to_int(p, a)) return false;
        s = TC_NEW(&p->arena, tc_sym);
        *s = a->sym;
        *a = (tc_arg){.kind = TC_A_INTS, .n = 1, .syms = s};
    }
    if (a->kind != TC_A_INTS || (fixed_len > 1 && a->n > 1 && a->n != fixed_len) || (!a->n && !may_be_empty)) return false;
    if (a->n == 1 && fixed_len > 1) {
        s = TC_NEWN(&p->arena, tc_sym, (size_t)fixed_len);
        for (int i = 0; i < fixed_len; i++) s[i] = a->syms[0];
        a->syms = s;
        a->n = fixed_len;
    }
    return true;
}

static bool to_values(tc_arg *a, bool opt) {
    if (a->kind == TC_A_VALUE && a->value && a->value->kind == TC_V_LIST)
        *a = (tc_arg){.kind = TC_A_VALUES, .n = a->value->nlist, .values = a->value->list};
    if ((a->kind == TC_A_INTS || a->kind == TC_A_FLOATS || a->kind == TC_A_BOOLS) && a->n == 0) *a = (tc_arg){.kind = TC_A_VALUES};
    if (a->kind != TC_A_VALUES) return false;
    for (int i = 0; i < a->n; i++)
        if (a->values[i] ? a->values[i]->kind != TC_V_TENSOR : !opt) return false;
    return true;
}

static bool to_floats(tc_program *p, tc_arg *a, int fixed_len) {
    if (a->kind == TC_A_INTS) {
        double *f = TC_NEWN(&p->arena, double, (size_t)(a->n ? a->n : 1));
        int64_t v;
        for (int i = 0; i < a->n; i++) {
            if (!tc_sym_const_int(a->syms[i], &v)) return false;
            f[i] = (double)v;
        }
        *a = (tc_arg){.kind = TC_A_FLOATS, .n = a->n, .floats = f};
    } else if ((a->kind == TC_A_VALUES || a->kind == TC_A_BOOLS) && a->n == 0) {
        *a = (tc_arg){.kind = TC_A_FLOATS};
    } else if (fixed_len > 0 && a->kind != TC_A_FLOATS && to_number(a) && !a->is_sym) {
        double *f = TC_NEW(&p->arena, double);
        *f = tc_scalar_to_double(a->scalar);
        *a = (tc_arg){.kind = TC_A_FLOATS, .n = 1, .floats = f};
    }
    return a->kind == TC_A_FLOATS;
}

static bool coerce(tc_program *p, const tc_param *q, tc_arg *a) {
    if (a->kind == TC_A_NONE && (q->optional || q->type == TC_T_OPT_TENSOR || q->type == TC_T_GENERATOR)) return true;
    switch (q->type) {
    case TC_T_TENSOR:
    case TC_T_OPT_TENSOR:
        if (a->kind == TC_A_VALUE && a->value && (a->value->kind == TC_V_TENSOR || (a->value->kind == TC_V_NONE && q->optional))) return true;
        return to_number(a);
    case TC_T_TENSORS: return to_values(a, false);
    case TC_T_OPT_TENSORS: return to_values(a, true);
    case TC_T_INT: return to_int(p, a);
    case TC_T_INTS: return to_ints(p, a, q);
    case TC_T_FLOAT:
        if (!to_number(a)) return false;
        if (a->is_sym) return true;
        if (a->scalar.kind == TC_KIND_COMPLEX) return false;
        if (a->scalar.kind != TC_KIND_FLOAT) a->scalar = tc_scalar_float((double)a->scalar.i);
        return true;
    case TC_T_FLOATS: return to_floats(p, a, q->fixed_len);
    case TC_T_BOOL:
        if (!to_number(a)) return false;
        if (!a->is_sym && a->scalar.kind == TC_KIND_INT) a->scalar = tc_scalar_bool(a->scalar.i != 0);
        return a->is_sym ? tc_sym_type(a->sym) == TC_SYM_BOOL : a->scalar.kind == TC_KIND_BOOL;
    case TC_T_BOOLS:
        if ((a->kind == TC_A_INTS || a->kind == TC_A_FLOATS || a->kind == TC_A_VALUES) && a->n == 0) *a = (tc_arg){.kind = TC_A_BOOLS};
        return a->kind == TC_A_BOOLS && (!q->fixed_len || a->n == q->fixed_len);
    case TC_T_SCALAR: return to_number(a);
    case TC_T_SCALARS: return to_floats(p, a, 0);
    case TC_T_STRING: return a->kind == TC_A_STRING;
    case TC_T_DTYPE: return a->kind == TC_A_DTYPE;
    case TC_T_LAYOUT: return a->kind == TC_A_LAYOUT;
    case TC_T_MEMFORMAT: return a->kind == TC_A_MEMFORMAT;
    case TC_T_DEVICE:
        if (a->kind == TC_A_STRING) a->kind = TC_A_DEVICE;
        return a->kind == TC_A_DEVICE;
    case TC_T_GENERATOR: return a->kind == TC_A_NONE || a->kind == TC_A_VALUE;
    case TC_T_DIMNAME: return false;
    case TC_T_GRAPH: return a->kind == TC_A_GRAPH;
    }
    return false;
}

tc_status tc_op_coerce(tc_program *program, const tc_op *op, const tc_param *q, tc_arg *arg) {
    tc_arg a = *arg;
    if (coerce(program, q, &a)) {
        *arg = a;
        return NULL;
    }
    if (q->type == TC_T_INTS && a.kind == TC_A_INTS)
        return tc_error(TC_CONTENT, "%s: argument %s is a list of %d ints, expected %d", tc_op_name(op), q->name, a.n, q->fixed_len);
    return tc_error(TC_CONTENT, "%s: argument %s is %s, expected %s%s", tc_op_name(op), q->name, found(arg), type_names[q->type],
                    q->optional ? " or None" : "");
}

tc_status tc_op_default(tc_program *program, const tc_op *op, int param, tc_arg *out) {
    const tc_param *q = &tc_op_schema(op)->params[param];
    *out = q->def;
    if (!q->has_default && !q->optional && q->type != TC_T_OPT_TENSOR)
        return tc_error(TC_CONTENT, "%s: argument %s is missing", tc_op_name(op), q->name);
    return q->has_default ? tc_op_coerce(program, op, q, out) : NULL;
}

void tc_op_functional_args(tc_program *p, const tc_op *op, const tc_arg *args, tc_arg *out) {
    const tc_op *f = tc_op_functional(op);
    const tc_schema *s = tc_op_schema(op), *fs = tc_op_schema(f);
    int n = 0;
    for (int i = 0; i < s->nparams; i++) {
        if (f != op && s->params[i].mutated && s->params[i].kw_only) continue;
        while (f != op && n + 1 < fs->nparams && strcmp(fs->params[n].name, s->params[i].name) && fs->params[n].kw_only &&
               fs->params[n].has_default) {
            tc_status_free(tc_op_default(p, f, n, &out[n]));
            n++;
        }
        out[n++] = args[i];
    }
    for (; n < fs->nparams; n++) tc_status_free(tc_op_default(p, f, n, &out[n]));
}

int tc_op_nouts(const tc_op *op, const tc_arg *args, int nargs) {
    const tc_schema *s = tc_op_schema(op);
    if (!s->variadic) return s->nrets;
    for (int i = nargs; i-- > 0;)
        if (args[i].kind == TC_A_GRAPH) return args[i].graph->noutputs;
    return 0;
}

tc_status tc_op_check_cast(const tc_op *op, tc_dtype result, tc_dtype to) {
    const bool exact = result != to && tc_op_marked(tc_op_functional(op), TC_MARK_OUT_EXACT);
    if (!exact && tc_dtype_kind(result) <= tc_dtype_kind(to)) return NULL;
    return tc_error(TC_CONTENT, "%s: result type %s can't be cast to the desired output type %s", tc_op_name(op), tc_dtypes[result].torch,
                    tc_dtypes[to].torch);
}

/* Results of in-place and out forms are the tensors written to: their types stay, the computed shape must fit. */
static tc_status onto_targets(tc_program *p, const tc_op *op, const tc_arg *args, tc_value *outs, int nouts) {
    const tc_schema *s = tc_op_schema(op);
    int r = s->inplace || s->has_out ? 0 : s->nrets; /* what other forms write follows their results */
    if (tc_op_resizes(op)) return NULL;
    for (int i = 0; i < s->nparams; i++) {
        if (!s->params[i].mutated || args[i].kind != TC_A_VALUE) continue;
        if (r >= nouts) break;
        const tc_meta *to = &args[i].value->meta;
        bool same = outs[r].meta.rank == to->rank;
        for (int d = 0; same && d < to->rank; d++) same = !tc_sym_differ(p->sym, outs[r].meta.size[d], to->size[d]);
        /* views in place (squeeze_, t_, ...) change the shape of their tensor, as resize_ does; everything else writes into it */
        if (s->inplace && tc_op_schema(tc_op_functional(op))->is_view) {
            r++;
            continue;
        }
        if (!same && s->inplace) {
            tc_buf b = {0};
            tc_value_print_type(&b, &outs[r]);
            tc_buf_puts(&b, " cannot be written to ");
            tc_value_print_type(&b, args[i].value);
            tc_status st = tc_error(TC_CONTENT, "%s: a result of type %s", tc_op_name(op), tc_buf_str(&b));
            tc_buf_free(&b);
            return st;
        }
        if (s->inplace) TC_TRY(tc_op_check_cast(op, outs[r].meta.dtype, to->dtype));
        if (same) outs[r].meta = *to;
        else outs[r].meta.dtype = to->dtype;
        r++;
    }
    return NULL;
}

static bool requires_grad(const tc_arg *args, int nargs) {
    for (int i = 0; i < nargs; i++) {
        if (args[i].kind == TC_A_VALUE && args[i].value && args[i].value->meta.requires_grad) return true;
        for (int k = 0; args[i].kind == TC_A_VALUES && k < args[i].n; k++)
            if (args[i].values[k] && args[i].values[k]->meta.requires_grad) return true;
    }
    return false;
}

static void set_requires_grad(tc_value *v, bool yes) {
    v->meta.requires_grad = yes && v->kind == TC_V_TENSOR && (tc_is_float(v->meta.dtype) || tc_is_complex(v->meta.dtype));
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) set_requires_grad(v->list[i], yes);
}

static bool is_complex_number(const tc_arg *a) {
    return a->kind == TC_A_SCALAR && !a->is_sym && a->scalar.kind == TC_KIND_COMPLEX && a->scalar.im != 0;
}
/* The type of the first complex operand, complex64 of a number. */
static tc_dtype complex_operand(const tc_shape_ctx *c) {
    for (int i = 0; i < c->nargs; i++) {
        if (tc_sh_meta(c, i) && tc_is_complex(tc_sh_meta(c, i)->dtype)) return tc_sh_meta(c, i)->dtype;
        if (is_complex_number(&c->args[i])) return TC_C64;
    }
    return TC_DTYPE_NONE;
}
static bool any_empty(const tc_shape_ctx *c) {
    for (int i = 0; i < c->nargs; i++)
        for (int k = 0; tc_sh_meta(c, i) && k < tc_sh_meta(c, i)->rank; k++)
            if (tc_sym_is_int(tc_sh_meta(c, i)->size[k], 0)) return true;
    return false;
}
static bool any_complex(const tc_shape_ctx *c) {
    bool any = false;
    for (int i = 0; i < c->nargs; i++) any |= tc_sh_meta(c, i) && tc_is_complex(tc_sh_meta(c, i)->dtype);
    return any;
}
/* What no shape rule says of numbers: one that becomes elements is one that their type holds, and no setting of a real result is complex. */
static tc_status check_numbers(const tc_shape_ctx *c) {
    const tc_schema *s = tc_op_schema(c->op);
    if (!c->nouts || c->outs[0].kind != TC_V_TENSOR) return NULL;
    const tc_dtype d = c->outs[0].meta.dtype;
    for (int i = 0; i < c->nargs && i < s->nparams; i++) {
        const tc_param *p = &s->params[i];
        const tc_arg *a = &c->args[i];
        if (p->type != TC_T_SCALAR || a->kind != TC_A_SCALAR || a->is_sym) continue;
        if (a->scalar.kind != TC_KIND_COMPLEX && tc_scalar_fits(a->scalar, d)) continue; /* nearly all: no name is compared */
        const bool product = tc_schema_param(s, "beta") >= 0 && tc_schema_param(s, "alpha") >= 0 && !any_empty(c); /* addmm and its relatives */
        if (a->scalar.kind == TC_KIND_COMPLEX && tc_word_in(" ord p maxnorm ", p->name)) return tc_sh_fail(c, "%s must be real-valued", p->name);
        if (product && is_complex_number(a) && !any_complex(c)) return tc_sh_fail(c, "argument '%s' is complex and the tensors are not", p->name);
        const bool element = (product && tc_word_in(" alpha beta ", p->name)) || (tc_is_float(d) && tc_word_in(" min_val max_val ", p->name)) ||
                             (!strcmp(p->name, "fill_value") && (tc_is_integral(d) || strncmp(s->name, "new_", 4))) || !strcmp(p->name, "s") ||
                             !strcmp(p->name, "value") ||
                             (tc_is_integral(d) && (!strcmp(p->name, "alpha") || (!strcmp(p->name, "exponent") && !strcmp(s->name, "pow"))));
        tc_dims sizes = tc_dims_of(&c->outs[0].meta); /* one number of 16 or 8 bits is converted as it is stored */
        if (element && tc_is_float(d) && tc_dtype_size(d) < 4 && !is_complex_number(a) && (strcmp(p->name, "value") || !strcmp(s->name, "fill")) &&
            tc_sym_is_int(tc_dims_numel(c, &sizes), 1))
            continue;
        if (element ? !tc_scalar_fits(a->scalar, d) : is_complex_number(a) && !tc_is_complex(d) && d != TC_BOOL)
            return tc_sh_fail(c, "argument '%s'%s cannot be converted to type %s without overflow", p->name,
                              is_complex_number(a) ? " is complex and" : ": value", tc_dtypes[d].torch);
    }
    return NULL;
}
/* What no shape rule says of complex numbers: an operator whose loop has no meaning for them. */
static tc_status check_complex(const tc_shape_ctx *c) {
    const tc_dtype operand = complex_operand(c);
    if (operand == TC_DTYPE_NONE || !c->op->lower || c->op->decompose || c->op->complex) return NULL;
    tc_value *outs[16];
    if (c->nouts > 16) TC_BUG("%s has more than 16 results", tc_op_name(c->op));
    for (int i = 0; i < c->nouts; i++) outs[i] = &c->outs[i];
    const tc_node n = {
        .graph = c->program->graph, .op = c->op, .args = (tc_arg *)c->args, .nargs = c->nargs, .outs = outs, .nouts = c->nouts, .source = c->source};
    tc_loop *l = NULL;
    tc_status st = tc_lower_node(c->program, &n, &l);
    tc_loop_free(l);
    if (!st || tc_status_code(st) != TC_UNSUPPORTED) return st;
    tc_status_free(st);
    static const char ordered[] = " fmin fmax maximum minimum max min argmax argmin aminmax isneginf isposinf ";
    return tc_sh_fail_as(c, tc_word_in(ordered, tc_op_schema(c->op)->name) ? "TypeError" : "NotImplementedError", "not implemented for %s",
                         tc_dtypes[operand].torch);
}

/* ATen's enumeration at::Reduction. */
static tc_status check_reduction(tc_shape_ctx *c) {
    const tc_schema *s = tc_op_schema(c->op);
    for (int i = 0; i < c->nargs && i < s->nparams; i++) {
        if (strcmp(s->params[i].name, "reduction") != 0 || s->params[i].type != TC_T_INT) continue;
        const int64_t r = tc_sh_const(c, i);
        if (r < 0 || r > 2) return tc_sh_fail(c, "reduction must be 0 (none), 1 (mean) or 2 (sum), got %lld", (long long)r);
    }
    return NULL;
}

/* An operator took a symbolic number where its types rest on a known one: who can pin it does (tc_program.wanted). */
static tc_status needs_number(const tc_shape_ctx *c, tc_status st) {
    tc_buf b = {0};
    tc_status_free(st);
    tc_sym_print(&b, *c->needed);
    st = tc_error(TC_UNSUPPORTED, "%s with the symbolic number %s is not supported", tc_op_name(c->op), tc_buf_str(&b));
    tc_buf_free(&b);
    c->program->wanted = *c->needed;
    return st;
}

tc_status tc_op_infer(tc_program *p, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_value *outs, int nouts) {
    const tc_op *f = tc_op_functional(op);
    const tc_schema *fs = tc_op_schema(f);
    if (!f->shape) return tc_error(TC_UNSUPPORTED, "operator %s is not supported: it has no shape rule", tc_op_name(op));
    tc_arg local[64];
    const tc_arg *fargs = args;
    int nfargs = nargs, nf = nouts;
    if (f != op) {
        if (fs->nparams > 64) TC_BUG("%s has more than 64 parameters", tc_op_name(f));
        tc_op_functional_args(p, op, args, local);
        fargs = local;
        nfargs = fs->nparams;
        nf = fs->nrets;
    }
    tc_value more[16];
    tc_value *to = f != op && nf > nouts ? more : outs; /* forms that return nothing: foreach_, list out */
    if (nf > 16 && to == more) TC_BUG("%s has more than 16 results", tc_op_name(f));
    if (to == more) memset(more, 0, sizeof more);
    tc_sym needed = NULL;
    tc_shape_ctx c = {.program = p, .op = f, .args = fargs, .nargs = nfargs, .source = src, .outs = to, .nouts = nf, .needed = &needed};
    tc_status st = check_reduction(&c);
    if (!st) st = tc_op_checked(p, f->shape(&c));
    if (needed) st = needs_number(&c, st);
    if (!st && !c.clashes) st = check_numbers(&c);
    if (!st && !c.clashes) st = check_complex(&c);
    if (!st && c.clashes) {
        const char *one = tc_dtypes[c.clash[0]].torch, *other = tc_dtypes[c.clash[1]].torch;
        if (tc_sh_bcomplex(&c)) st = tc_sh_fail_as(&c, "NotImplementedError", "not implemented for bcomplex32, the type of %s and %s", one, other);
        else st = tc_sh_fail(&c, "there is no type that %s and %s promote to", one, other);
    }
    if (st) return strstr(tc_status_message(st), tc_op_name(f)) ? st : tc_annotate(st, "%s", tc_op_name(op));
    if (f != op) TC_TRY(onto_targets(p, op, args, to, nf));
    if (to == more) memcpy(outs, more, sizeof *outs * (size_t)nouts);
    bool grad = !p->no_grad && requires_grad(args, nargs);
    for (int i = 0; i < nouts; i++) set_requires_grad(&outs[i], grad && TC_OP_CARRIES(f, i));
    return NULL;
}

void tc_op_propagate_grad(tc_node *n) {
    const bool own = n->straight || n->leaf, grad = own || (!n->no_grad && requires_grad(n->args, n->nargs));
    for (int i = 0; i < n->nouts; i++) set_requires_grad(n->outs[i], grad && (own || TC_OP_CARRIES(n->op, i)));
}

/* Gives the values that the shape rule described, which stand in the program's arena, to the graph. */
static void adopt(tc_graph *g, tc_node *n, tc_value *types) {
    tc_arena *a = &g->program->arena;
    const char *base = tc_op_schema(n->op)->name;
    const bool named = !g->names_follow;
    n->name = named ? tc_graph_unique(g, base) : NULL;
    for (int i = 0; i < n->nouts; i++) {
        tc_value *v = &types[i];
        v->id = g->nvalues++;
        v->graph = g;
        v->name = n->nouts == 1 ? n->name : named ? tc_graph_unique(g, "getitem") : NULL;
        if (v->kind == TC_V_LIST) {
            tc_value **like = v->list;
            v->list = TC_NEWN(a, tc_value *, (size_t)(v->nlist ? v->nlist : 1));
            for (int k = 0; k < v->nlist; k++) {
                tc_value *e = v->list[k] = TC_NEW(a, tc_value);
                *e = *like[k];
                e->id = g->nvalues++;
                e->graph = g;
                e->name = named ? tc_graph_unique(g, "getitem") : NULL;
            }
        }
        tc_node_set_output(n, i, v);
    }
}

/* The arguments of a call as nodes store them: *out_n of them, in the program's arena. */
static tc_status complete(tc_program *p, const tc_op *op, const tc_arg *args, int nargs, tc_arg **out, int *out_n) {
    const tc_schema *s = tc_op_schema(op);
    const int n = *out_n = s->variadic ? nargs : s->nparams;
    if (nargs > n) return tc_error(TC_CONTENT, "%s takes %d arguments, %d given", tc_op_name(op), n, nargs);
    tc_arg *full = *out = TC_NEWN(&p->arena, tc_arg, (size_t)(n ? n : 1));
    for (int i = 0; i < n; i++) {
        if (i < nargs) full[i] = args[i];
        else TC_TRY(tc_op_default(p, op, i, &full[i]));
        if (i < nargs && !s->variadic) TC_TRY(tc_op_coerce(p, op, &s->params[i], &full[i]));
    }
    return NULL;
}

tc_status tc_op_promise_pieces(tc_program *p, const tc_op *op, const tc_arg *args, int nargs, int64_t count, tc_source src) {
    tc_arg *full;
    int n;
    if (!op->pieces) return NULL;
    TC_TRY(complete(p, op, args, nargs, &full, &n));
    tc_sym pieces = op->pieces(p->sym, full), same = pieces ? tc_sym_op(p->sym, TC_S_EQ, pieces, tc_sym_int(p->sym, count), NULL) : NULL;
    if (same && tc_sym_known(p->sym, same) < 0) tc_program_guard(p, (tc_guard){.cond = same, .source = src});
    return NULL;
}

tc_status tc_graph_call(tc_graph *g, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_node *before, tc_node **out_node) {
    tc_program *p = g->program;
    tc_arg *full;
    int n;
    TC_TRY(complete(p, op, args, nargs, &full, &n));
    int nouts = tc_op_nouts(op, full, n);
    tc_value *types = TC_NEWN(&p->arena, tc_value, (size_t)(nouts ? nouts : 1));
    TC_TRY(tc_op_infer(p, op, full, n, src, types, nouts));
    TC_TRY(tc_sym_check(p->sym));
    tc_node *node = tc_graph_node(g, op, 0, nouts, before);
    node->args = full;
    node->nargs = n;
    node->source = src;
    node->no_grad = p->no_grad;
    adopt(g, node, types);
    if (out_node) *out_node = node;
    return NULL;
}
