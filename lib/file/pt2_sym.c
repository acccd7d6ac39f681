/* Nodes of PT2 graphs that compute with sizes and other symbolic numbers: they become expressions, not nodes.
 * |     _operator.mul(sym_size_int, 2)  ->  2*B        torch.ops.aten.sym_size.int(x, 0)  ->  B */
#include "file/pt2_read.h"

static tc_sym to_float(tc_symctx *c, tc_sym a) { return tc_sym_type(a) == TC_SYM_FLOAT ? a : tc_sym_op(c, TC_S_TOFLOAT, a, NULL, NULL); }

static tc_sym number(tc_pt2_reader *r, const tc_pt2_arg *arg) {
    tc_symctx *c = r->program->sym;
    tc_arg a = arg->arg;
    if (a.kind == TC_A_VALUE && a.value && a.value->kind == TC_V_SYM) return a.value->sym;
    if (a.kind == TC_A_INT || (a.kind == TC_A_SCALAR && a.is_sym)) return a.sym;
    if (a.kind == TC_A_SCALAR && a.scalar.kind == TC_KIND_FLOAT) return tc_sym_float(c, a.scalar.f);
    if (a.kind == TC_A_SCALAR && a.scalar.kind == TC_KIND_BOOL) return tc_sym_bool(c, a.scalar.i != 0);
    if (a.kind == TC_A_SCALAR && a.scalar.kind == TC_KIND_INT) return tc_sym_int(c, a.scalar.i);
    tc_jr_fail(&r->j, TC_CONTENT, "arithmetic on something that is not a number");
    return tc_sym_int(c, 0);
}

/* Functions that are no tc_symop, or are one with its operands exchanged. */
enum { NONE = -1, SUB = -2, NEG = -3, SAME = -4, GT = -5, GE = -6 };

/* Python's functions: the operation on ints, the one on floats, and the kinds of their operands. */
typedef enum { ARITH, COMPARE, LOGIC, TO_FLOAT, TO_INT, UNARY_FLOAT } form;
static const struct {
    const char *name;
    form form;
    int arity, on_int, on_float;
} functions[] = {
    {"_operator.add", ARITH, 2, TC_S_ADD, TC_S_FADD},
    {"_operator.sub", ARITH, 2, SUB, TC_S_FSUB},
    {"_operator.mul", ARITH, 2, TC_S_MUL, TC_S_FMUL},
    {"_operator.floordiv", ARITH, 2, TC_S_FLOORDIV, TC_S_FFLOORDIV},
    {"_operator.mod", ARITH, 2, TC_S_MOD, TC_S_FMOD},
    {"_operator.pow", ARITH, 2, TC_S_POW, TC_S_FPOW},
    {"_operator.truediv", ARITH, 2, TC_S_FDIV, TC_S_FDIV},
    {"_operator.neg", ARITH, 1, NEG, TC_S_FNEG},
    {"_operator.pos", ARITH, 1, SAME, SAME},
    {"_operator.lshift", ARITH, 2, TC_S_LSHIFT, NONE},
    {"_operator.rshift", ARITH, 2, TC_S_RSHIFT, NONE},
    {"torch.sym_max", ARITH, 2, TC_S_MAX, TC_S_FMAX},
    {"torch.sym_min", ARITH, 2, TC_S_MIN, TC_S_FMIN},
    {"_operator.abs", ARITH, 1, TC_S_ABS, TC_S_FABS},
    {"_operator.eq", COMPARE, 2, TC_S_EQ, TC_S_EQ},
    {"_operator.ne", COMPARE, 2, TC_S_NE, TC_S_NE},
    {"_operator.lt", COMPARE, 2, TC_S_LT, TC_S_LT},
    {"_operator.le", COMPARE, 2, TC_S_LE, TC_S_LE},
    {"_operator.gt", COMPARE, 2, GT, GT},
    {"_operator.ge", COMPARE, 2, GE, GE},
    {"_operator.and_", LOGIC, 2, TC_S_AND, NONE},
    {"_operator.and_", ARITH, 2, TC_S_AND_BITS, NONE}, /* for ints; for bools the row after it */
    {"_operator.or_", LOGIC, 2, TC_S_OR, NONE},
    {"_operator.or_", ARITH, 2, TC_S_OR_BITS, NONE},
    {"_operator.xor", ARITH, 2, TC_S_XOR_BITS, NONE},
    {"torch.sym_not", LOGIC, 1, TC_S_NOT, NONE},
    {"_operator.not_", LOGIC, 1, TC_S_NOT, NONE},
    {"torch.sym_float", TO_FLOAT, 1, 0, 0},
    {"torch.sym_int", TO_INT, 1, SAME, TC_S_TRUNC},
    {"math.trunc", TO_INT, 1, SAME, TC_S_TRUNC},
    {"math.floor", TO_INT, 1, SAME, TC_S_FLOOR},
    {"math.ceil", TO_INT, 1, SAME, TC_S_CEIL},
    {"builtins.round", TO_INT, 1, SAME, TC_S_ROUND},
    {"torch.sym_sqrt", UNARY_FLOAT, 1, TC_S_SQRT, TC_S_SQRT},
    {"torch._sym_sqrt", UNARY_FLOAT, 1, TC_S_SQRT, TC_S_SQRT},
    {"math.sqrt", UNARY_FLOAT, 1, TC_S_SQRT, TC_S_SQRT},
    {"torch._sym_exp", UNARY_FLOAT, 1, TC_S_EXP, TC_S_EXP},
    {"torch._sym_log", UNARY_FLOAT, 1, TC_S_LOG, TC_S_LOG},
    {"torch._sym_log2", UNARY_FLOAT, 1, TC_S_LOG2, TC_S_LOG2},
    {"torch._sym_sin", UNARY_FLOAT, 1, TC_S_SIN, TC_S_SIN},
    {"torch._sym_cos", UNARY_FLOAT, 1, TC_S_COS, TC_S_COS},
    {"torch._sym_tan", UNARY_FLOAT, 1, TC_S_TAN, TC_S_TAN},
    {"torch._sym_tanh", UNARY_FLOAT, 1, TC_S_TANH, TC_S_TANH},
};

static tc_arg as_arg(tc_sym s) {
    if (tc_sym_type(s) == TC_SYM_INT) return (tc_arg){.kind = TC_A_INT, .sym = s};
    return (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = s};
}

static tc_sym apply(tc_symctx *c, int op, tc_sym a, tc_sym b) {
    switch (op) {
    case SUB: return tc_sym_sub(c, a, b);
    case NEG: return tc_sym_neg(c, a);
    case SAME: return a;
    case GT: return tc_sym_op(c, TC_S_LT, b, a, NULL);
    case GE: return tc_sym_op(c, TC_S_LE, b, a, NULL);
    default: return tc_sym_op(c, (tc_symop)op, a, b, NULL);
    }
}

/* torch.sym_ite(condition, a, b): a if the condition holds, else b; both numbers have the same type. */
static void choice(tc_pt2_reader *r, const tc_pt2_arg *args, int nargs, tc_arg *out) {
    tc_symctx *c = r->program->sym;
    if (nargs != 3) {
        tc_jr_fail(&r->j, TC_CONTENT, "torch.sym_ite of %d arguments", nargs);
        return;
    }
    tc_sym cond = number(r, &args[0]), a = number(r, &args[1]), b = number(r, &args[2]);
    if (!tc_jr_ok(&r->j)) return;
    bool any_float = tc_sym_type(a) == TC_SYM_FLOAT || tc_sym_type(b) == TC_SYM_FLOAT;
    if (any_float && tc_sym_type(a) != TC_SYM_BOOL && tc_sym_type(b) != TC_SYM_BOOL) a = to_float(c, a), b = to_float(c, b);
    if (tc_sym_type(cond) != TC_SYM_BOOL || tc_sym_type(a) != tc_sym_type(b)) tc_jr_fail(&r->j, TC_CONTENT, "torch.sym_ite of such operands");
    else *out = as_arg(tc_sym_op(c, TC_S_WHERE, cond, a, b));
}

static bool python_function(tc_pt2_reader *r, const char *target, const tc_pt2_arg *args, int nargs, tc_arg *out) {
    tc_symctx *c = r->program->sym;
    size_t i = 0, n = sizeof functions / sizeof *functions;
    if (!strcmp(target, "torch.sym_ite")) {
        choice(r, args, nargs, out);
        return true;
    }
    while (i < n && strcmp(functions[i].name, target) != 0) i++;
    if (i == n) return false;
    if (nargs != functions[i].arity) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s of %d arguments", target, nargs);
        return true;
    }
    tc_sym a = number(r, &args[0]), b = nargs > 1 ? number(r, &args[1]) : NULL;
    if (!tc_jr_ok(&r->j)) return true;
    bool any_float = tc_sym_type(a) == TC_SYM_FLOAT || (b && tc_sym_type(b) == TC_SYM_FLOAT);
    bool any_bool = tc_sym_type(a) == TC_SYM_BOOL || (b && tc_sym_type(b) == TC_SYM_BOOL);
    bool all_bool = tc_sym_type(a) == TC_SYM_BOOL && (!b || tc_sym_type(b) == TC_SYM_BOOL);
    if (!any_bool && functions[i].form == LOGIC && i + 1 < n && !strcmp(functions[i + 1].name, target)) i++;
    int op = any_float ? functions[i].on_float : functions[i].on_int;
    if (any_bool != (functions[i].form == LOGIC) || any_bool != all_bool || op == NONE) {
        tc_jr_fail(&r->j, TC_CONTENT, "%s of such operands", target);
        return true;
    }
    if (functions[i].form == TO_FLOAT) *out = as_arg(to_float(c, a));
    else if (functions[i].form == UNARY_FLOAT) *out = as_arg(apply(c, op, to_float(c, a), NULL));
    else if (any_float && functions[i].form != TO_INT) *out = as_arg(apply(c, op, to_float(c, a), b ? to_float(c, b) : NULL));
    else *out = as_arg(apply(c, op, a, b));
    return true;
}

static const tc_meta *tensor_of(tc_pt2_reader *r, const tc_pt2_arg *args, int nargs) {
    if (nargs >= 1 && args[0].arg.kind == TC_A_VALUE && args[0].arg.value && args[0].arg.value->kind == TC_V_TENSOR) return &args[0].arg.value->meta;
    tc_jr_fail(&r->j, TC_CONTENT, "expected a tensor");
    return NULL;
}

static tc_sym dimension(tc_pt2_reader *r, const tc_meta *m, const tc_pt2_arg *args, int nargs, bool stride) {
    tc_program *p = r->program;
    int64_t d = -1;
    if (nargs != 2 || !m || args[1].arg.kind != TC_A_INT || !tc_sym_const_int(args[1].arg.sym, &d) || d < -m->rank || d >= m->rank) {
        tc_jr_fail(&r->j, TC_CONTENT, "the size of a dimension that is not there");
        return tc_sym_int(p->sym, 0);
    }
    if (d < 0) d += m->rank;
    if (!stride) return m->size[d];
    return m->stride ? m->stride[d] : tc_contiguous_sym_strides(p->sym, &p->arena, m->rank, m->size)[d];
}

/* Bounds of a data-dependent number: min and max, by name or position. */
static void constrain(tc_pt2_reader *r, const tc_pt2_arg *args, int nargs, int64_t lo) {
    tc_symctx *c = r->program->sym;
    int64_t hi = TC_SYM_NO_HI, v;
    for (int i = 1; i < nargs; i++) {
        if (args[i].arg.kind != TC_A_INT || !tc_sym_const_int(args[i].arg.sym, &v)) continue;
        if (tc_str_is(args[i].name, "max")) hi = v;
        else if (v > lo) lo = v;
    }
    tc_sym s = number(r, &args[0]);
    if (!tc_jr_ok(&r->j) || tc_sym_type(s) != TC_SYM_INT) return;
    if (lo > hi) tc_jr_fail(&r->j, TC_CONTENT, "a number between %lld and %lld", (long long)lo, (long long)hi);
    else if (tc_sym_opcode(s) == TC_S_VAR) tc_sym_set_range(c, s, lo, hi);
    else if (lo > TC_SYM_NO_LO) tc_sym_assume(c, tc_sym_op(c, TC_S_LE, tc_sym_int(c, lo), s, NULL));
}

bool tc_pt2_symbolic(tc_pt2_reader *r, const char *target, const tc_pt2_arg *args, int nargs, tc_arg *out, bool *out_no_result) {
    const char *aten = !strncmp(target, "torch.ops.aten.", 15) ? target + 15 : "";
    *out_no_result = false;
    if (!*aten) return python_function(r, target, args, nargs, out);
    if (!strcmp(aten, "sym_size.int") || !strcmp(aten, "sym_stride.int")) {
        *out = as_arg(dimension(r, tensor_of(r, args, nargs), args, nargs, aten[4] == 's' && aten[5] == 't'));
    } else if (!strcmp(aten, "sym_numel.default")) {
        const tc_meta *m = tensor_of(r, args, nargs);
        if (m) *out = as_arg(tc_meta_numel(r->program->sym, m));
    } else if (!strcmp(aten, "sym_storage_offset.default")) {
        if (tensor_of(r, args, nargs)) *out = as_arg(tc_sym_int(r->program->sym, 0)); /* each value has a storage of its own */
    } else if (nargs && (!strcmp(aten, "sym_constrain_range_for_size.default") || !strcmp(aten, "sym_constrain_range.default"))) {
        constrain(r, args, nargs, strstr(aten, "size") ? 0 : TC_SYM_NO_LO);
        *out_no_result = true;
    } else {
        return false;
    }
    return true;
}
