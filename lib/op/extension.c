/* Rows of extensions' operators (extension.h): schemas checked, functional forms of those that write to their arguments, gradients. */
#include "op/extension.h"

#include "op/schema.h"
#include "op/shape.h"

#include <stdio.h>

const tc_extension_op *tc_extension_op_of(const tc_op *op) {
    const tc_op *f = tc_op_functional(op);
    return f->shape == tc_extension_shape ? (const tc_extension_op *)f->kernel : NULL;
}

static tc_status bad(const tc_extension_op *o, const char *what, const char *which) {
    return tc_error(TC_CONTENT, "operator %s::%s: %s%s", o->schema->ns, o->schema->name, what, which);
}

/* ---- schemas ---- */
static bool is_tensor(tc_type t) { return t == TC_T_TENSOR || t == TC_T_OPT_TENSOR || t == TC_T_TENSORS; }

static tc_status check_param(const tc_extension_op *o, const tc_param *p) {
    static const tc_type takes[] = {TC_T_TENSOR, TC_T_OPT_TENSOR, TC_T_TENSORS, TC_T_INT,    TC_T_INTS,   TC_T_FLOAT,
                                    TC_T_FLOATS, TC_T_BOOL,       TC_T_BOOLS,   TC_T_SCALAR, TC_T_STRING, TC_T_DTYPE};
    bool known = false;
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) known |= p->type == takes[i];
    if (!*p->name) return bad(o, "a parameter without a name", "");
    if (!known) return bad(o, "a type that extensions do not take, that of parameter ", p->name);
    if (p->mutated && (p->type != TC_T_TENSOR || p->optional)) return bad(o, "only a Tensor can be written to: parameter ", p->name);
    if (p->alias && !p->mutated) return bad(o, "results that share memory with an argument are not supported: parameter ", p->name);
    return NULL;
}

/* An operator writes to its first parameter and returns it (NAME_), writes to out parameters and returns them, or writes to any and returns others. */
static tc_status check_schema(const tc_extension_op *o) {
    const tc_schema *s = o->schema;
    int written = 0, out = 0, aliased = 0;
    if (!*s->ns || !*s->name || strlen(s->ns) + strlen(s->name) + strlen(s->overload) > 100) return bad(o, "its name is empty or too long", "");
    if (s->variadic || s->nparams > TC_EXTENSION_PARAMS || s->nrets > TC_EXTENSION_RESULTS)
        return bad(o, "more parameters or results than extensions may have", "");
    for (int i = 0; i < s->nparams; i++) {
        TC_TRY(check_param(o, &s->params[i]));
        for (int k = 0; k < i; k++)
            if (!strcmp(s->params[k].name, s->params[i].name)) return bad(o, "two parameters are named ", s->params[i].name);
        written += s->params[i].mutated, out += s->params[i].mutated && s->params[i].kw_only;
    }
    for (int i = 0; i < s->nrets; i++) {
        if (s->rets[i].type != TC_T_TENSOR || s->rets[i].optional) return bad(o, "a result that is not a Tensor", "");
        aliased += s->rets[i].alias != 0;
    }
    const bool returned = s->inplace || s->has_out;
    if (s->has_out && out < written) return bad(o, "it writes to parameters with and without a name of their own (after *)", "");
    if (returned ? s->nrets != written && s->nrets : aliased) return bad(o, "its results do not go with the parameters that it writes to", "");
    if (returned && aliased < s->nrets) return bad(o, "what it writes to and returns is marked alike: Tensor(a!) x -> Tensor(a!)", "");
    if (!s->nrets && !written) return bad(o, "it has no result and writes to nothing", "");
    return NULL;
}

/* The schema of the functional row: "f_functional", or "f" for "f_" and out forms, without marks; what is written to follows the results. */
static const tc_schema *functional_schema(tc_arena *a, tc_extension_op *o) {
    const tc_schema *s = o->schema;
    tc_schema *f = tc_arena_dup(a, s, sizeof *s);
    tc_param rets[TC_EXTENSION_RESULTS + TC_EXTENSION_PARAMS];
    const bool returned = s->inplace || s->has_out;
    f->name = tc_arena_printf(a, "%s_functional", s->name);
    f->inplace = f->has_out = f->is_view = false;
    f->nparams = f->nrets = 0;
    f->params = TC_NEWN(a, tc_param, (size_t)s->nparams + 1);
    for (int i = 0; i < s->nrets && !returned; i++) o->result[i] = (int8_t)f->nrets, rets[f->nrets++] = s->rets[i];
    o->nplain = f->nrets;
    for (int i = 0; i < s->nparams; i++) {
        tc_param p = s->params[i];
        const bool out = p.mutated && p.kw_only;
        o->from[i] = out ? -1 : (int8_t)f->nparams;
        o->to[i] = p.mutated ? (int8_t)f->nrets : -1;
        if (p.mutated) rets[f->nrets++] = (tc_param){.type = TC_T_TENSOR, .name = ""};
        p.mutated = false, p.alias = 0;
        if (!out) f->params[f->nparams++] = p;
    }
    for (int i = 0; i < s->nrets && returned; i++) o->result[i] = (int8_t)i;
    f->rets = tc_arena_dup(a, rets, sizeof *rets * (size_t)(f->nrets + 1));
    return f;
}

/* ---- gradients ---- */
/* The result that "result" or "result1" names, or -1. */
static int result_named(const tc_schema *s, const char *name) {
    char text[24];
    for (int i = 0; i < s->nrets; i++) {
        snprintf(text, sizeof text, "result%d", i);
        if (!strcmp(name, text) || (s->nrets == 1 && !strcmp(name, "result"))) return i;
    }
    return -1;
}
/* The parameter of which result i of the gradient's operator is the gradient, or -1. */
static int gradient_of(const tc_schema *f, const tc_schema *g, int i) {
    if (*g->rets[i].name) return tc_schema_param(f, g->rets[i].name);
    for (int k = 0; k < f->nparams; k++)
        if (is_tensor(f->params[k].type) && f->params[k].type != TC_T_TENSORS && !i--) return k;
    return -1;
}

/* Do the parameters and results of the gradient's operator fit those of the functional row? */
static tc_status check_gradient(const tc_extension_op *o, const tc_schema *g) {
    const tc_schema *f = o->functional;
    if (o->schema != f) return bad(o, "an operator that writes to its arguments has no gradient, yet there is ", o->gradient);
    if (g->inplace || g->has_out || g->nparams < f->nrets)
        return bad(o, "its gradient does not begin with the gradients of the results: ", o->gradient);
    for (int i = 0; i < g->nparams; i++) {
        const tc_param *p = &g->params[i];
        const int from = tc_schema_param(f, p->name);
        const bool tensor = p->type == TC_T_TENSOR || p->type == TC_T_OPT_TENSOR;
        if (p->mutated || (i < f->nrets && !tensor)) return bad(o, "no gradient of a result goes into the first parameters of ", o->gradient);
        if (i < f->nrets || (from < 0 && tensor && result_named(f, p->name) >= 0)) continue;
        if (from < 0) return bad(o, "it has no parameter or result that its gradient reads: ", p->name);
        if (f->params[from].type != p->type && !(p->type == TC_T_OPT_TENSOR && f->params[from].type == TC_T_TENSOR))
            return bad(o, "its gradient gives another type to parameter ", p->name);
    }
    for (int i = 0; i < g->nrets; i++)
        if (gradient_of(f, g, i) < 0) return bad(o, "there is no parameter for every result of its gradient ", o->gradient);
    return NULL;
}

static tc_status gradient(tc_emit *e, const tc_node *n, tc_value *const *grad_outs) {
    const tc_extension_op *o = tc_extension_op_of(n->op);
    const tc_op *op = tc_op_find(o->gradient);
    const tc_schema *f = o->functional, *g = tc_op_schema(op);
    tc_arg args[TC_EXTENSION_PARAMS];
    bool given[TC_EXTENSION_PARAMS] = {false};
    for (int i = 0; i < g->nparams; i++) {
        const int from = tc_schema_param(f, g->params[i].name);
        tc_value *v = NULL;
        if (i < n->nouts) v = grad_outs[i] || g->params[i].type == TC_T_OPT_TENSOR ? grad_outs[i] : tc_e_zeros_like(e, n->outs[i]);
        else if (from < 0) v = n->outs[result_named(f, g->params[i].name)];
        args[i] = i >= n->nouts && from >= 0 ? n->args[from] : v ? (tc_arg){.kind = TC_A_VALUE, .value = v} : (tc_arg){.kind = TC_A_NONE};
    }
    for (int i = 0; i < g->nrets; i++) given[gradient_of(f, g, i)] = true;
    for (int i = 0; i < n->nargs; i++)
        if (!given[i] && tc_emit_wants_grad(e, n, i))
            return tc_error(TC_UNSUPPORTED, "gradient of %s is not supported for %s: %s does not return it", tc_op_name(n->op), f->params[i].name,
                            o->gradient);
    const tc_node *m = tc_e_args(e, o->gradient, args, g->nparams);
    for (int i = 0; m && i < g->nrets; i++) {
        const int to = gradient_of(f, g, i);
        if (tc_emit_wants_grad(e, n, to)) tc_emit_grad(e, to, m->outs[i]);
    }
    return tc_e_done(e);
}

/* ---- registering ---- */
static tc_status read_op(tc_arena *a, const tc_ops_operator *from, const tc_extension *x, tc_extension_op *o) {
    tc_schema *s = TC_NEW(a, tc_schema);
    if (!from->schema || !from->kernel) return tc_error(TC_CONTENT, "an operator without a schema or a kernel");
    const char *text = tc_arena_strdup(a, from->schema);
    TC_TRY(tc_schema_parse(a, text, strlen(text), s));
    o->of = x, o->text = text, o->schema = s, o->run = from->kernel;
    o->shape = from->shape ? tc_arena_strdup(a, from->shape) : NULL;
    o->gradient = from->gradient && *from->gradient ? tc_arena_strdup(a, from->gradient) : NULL;
    o->strided = from->flags & TC_OPS_STRIDED;
    if (from->flags & ~(uint32_t)TC_OPS_STRIDED) return bad(o, "a flag that this tc does not know", "");
    TC_TRY(check_schema(o));
    bool writes = false;
    for (int i = 0; i < s->nparams; i++) writes |= s->params[i].mutated, o->from[i] = (int8_t)i, o->to[i] = -1;
    for (int i = 0; i < s->nrets; i++) o->result[i] = (int8_t)i;
    o->nplain = s->nrets;
    o->functional = writes ? functional_schema(a, o) : s;
    return tc_extension_check_shape(o);
}

static const tc_extension_op *among(const tc_extension_op *all, uint32_t n, const char *name) {
    char key[160];
    for (uint32_t i = 0; i < n; i++) {
        const tc_schema *s = all[i].schema;
        snprintf(key, sizeof key, "%s::%s%s%s", s->ns, s->name, *s->overload ? "." : "", s->overload);
        if (!strcmp(key, name)) return &all[i];
    }
    return NULL;
}

static tc_status add_op(tc_arena *a, tc_extension_op *o, tc_status (*run)(tc_kcall *c)) {
    const bool writes = o->functional != o->schema;
    const tc_schema *s = o->schema;
    const tc_op *f = NULL;
    o->kernel = (tc_kernel){.name = tc_arena_printf(a, "%s::%s", s->ns, s->name), .run = run};
    if (!o->strided) o->kernel.flags = TC_KF_CONTIGUOUS;
    if (writes && !o->nplain && o->from[0] == 0 && !o->to[0]) o->kernel.flags |= TC_KF_INPLACE0;
    const tc_op row = {
        .schema = o->kernel.name, .shape = tc_extension_shape, .kernel = &o->kernel, .grad = o->gradient ? gradient : NULL, .doc = o->of->path};
    TC_TRY(tc_op_register(&row, o->functional, NULL, &f));
    o->op = f;
    return writes ? tc_op_register(&(tc_op){.schema = row.schema, .doc = row.doc}, s, f, &o->op) : NULL;
}

static tc_status read_all(tc_arena *a, const tc_extension *x, const tc_ops_extension *table, tc_extension_op *all) {
    for (uint32_t i = 0; i < table->nops; i++) {
        tc_ops_operator from = {0};
        const size_t has = table->operator_bytes;
        memcpy(&from, (const char *)table->ops + has * i, has < sizeof from ? has : sizeof from);
        TC_TRY(read_op(a, &from, x, &all[i]), "operator %u", i + 1);
    }
    for (uint32_t i = 0; i < table->nops; i++) {
        const tc_extension_op *g = all[i].gradient ? among(all, table->nops, all[i].gradient) : NULL;
        if (all[i].gradient && !g) return bad(&all[i], "the extension has no operator of the name of its gradient ", all[i].gradient);
        if (g) TC_TRY(check_gradient(&all[i], g->schema));
    }
    return NULL;
}

tc_status tc_extension_register(const tc_extension *x, const tc_ops_extension *table, tc_status (*run)(tc_kcall *c), bool *out_some) {
    tc_arena a = {0}; /* kept: rows live as long as the process */
    tc_extension_op *all = TC_NEWN(&a, tc_extension_op, (size_t)table->nops + 1);
    tc_status st = read_all(&a, x, table, all);
    uint32_t n = 0;
    while (n < table->nops && !st) {
        st = add_op(&a, &all[n], run);
        if (!st) n++;
    }
    *out_some = n > 0;
    if (!n) tc_arena_free(&a);
    return st;
}
