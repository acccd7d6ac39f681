/* Dtypes for which PyTorch's CPU backend has no kernel although tc has: refused in model sources, as in PyTorch. Which ones stands on the operators'
 * lines in op/aten_schemas.txt (op/op.h, tc_op_lacks_kernel); here is where PyTorch takes the kernel of another operator or computes in another dtype. */
#include "base/text.h"
#include "capture/torch_bind.h"
#include "op/shape.h"
#include "op/functionalise.h"

#include <stdio.h>

/* Is the computation in another type: an integer operand with a floating one? */
static bool computes_in_other(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    for (int i = 1; i < s->nparams && tc_is_integral(d); i++) {
        if (objects[i] && tc_is_tensor(objects[i]) && !tc_is_integral(tc_torch_dtype(objects[i]))) return true;
        if (!objects[i] && s->params[i].type == TC_T_TENSOR && arg[i].kind == TC_A_SCALAR && !arg[i].is_sym && arg[i].scalar.kind >= TC_KIND_FLOAT)
            return true;
    }
    return false;
}
/* The type in which an operator computes if its first operand is of type d: the given dtype; int64 for sums and products of integers; the promoted
 * type for two or three operands. */
static tc_dtype computes_in(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    static const char operands[] = " self other exponent tensor1 tensor2 min max x n ";
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].type == TC_T_DTYPE && arg[i].kind == TC_A_DTYPE) return arg[i].dtype;
    if (d == TC_DTYPE_NONE || (tc_is_integral(d) && tc_word_in(" sum nansum prod cumsum cumprod ", s->name))) return TC_I64;
    tc_promotion p = {.dim = TC_DTYPE_NONE, .zero = TC_DTYPE_NONE, .wrapped = TC_DTYPE_NONE};
    for (int i = 0; i < s->nparams && tc_word_in(operands, s->params[0].name); i++) {
        if (!tc_word_in(operands, s->params[i].name)) continue;
        if (objects[i] && tc_is_tensor(objects[i])) {
            tc_value v = {.kind = TC_V_TENSOR, .meta = {.dtype = tc_torch_dtype(objects[i]), .rank = tc_torch_rank(objects[i])}};
            tc_promotion_add(&p, &(tc_arg){.kind = TC_A_VALUE, .value = &v});
        } else tc_promotion_add(&p, &arg[i]);
    }
    tc_dtype t = tc_promotion_type(&p);
    return p.clashes || (p.dim == TC_DTYPE_NONE && p.zero == TC_DTYPE_NONE) ? d : t;
}
static int64_t whole(const tc_arg *a, int64_t otherwise) {
    int64_t i;
    return a->kind == TC_A_INT && tc_sym_const_int(a->sym, &i) ? i : otherwise;
}
static double number(const tc_arg *a) { return a->kind == TC_A_SCALAR && !a->is_sym ? tc_scalar_to_double(a->scalar) : 0; }
static bool is_zero(const tc_arg *a) { return a->kind == TC_A_SCALAR && !a->is_sym && tc_scalar_is(a->scalar, 0); }
/* Does an argument make PyTorch use another code path than the operator's kernel? */
static bool setting_goes_elsewhere(const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    for (int i = 0; i < s->nparams; i++) {
        const char *p = s->params[i].name;
        if (!strcmp(p, "steps") && whole(&arg[i], 2) < 2) return true; /* no range */
        const bool off = arg[i].kind == TC_A_SCALAR && !arg[i].is_sym && !arg[i].scalar.i, none = arg[i].kind == TC_A_NONE && !objects[i];
        if (!strcmp(p, "train") && off) return true; /* dropout */
        if (!strcmp(p, "training") && off && !strncmp(s->name, "rrelu", 5)) return true;
        if (!strcmp(s->name, "clamp") && i && none && objects[3 - i]) return true; /* maximum or minimum of two tensors */
        if (!strcmp(s->name, "diff") && !strcmp(p, "n") && !whole(&arg[i], 1)) return true;
        if (!strcmp(s->name, "rot90") && !strcmp(p, "k") && whole(&arg[i], 1) % 4 == 0) return true;
        if (strcmp(p, "output_size") || arg[i].kind != TC_A_INTS || (d != TC_C64 && d != TC_C128)) continue;
        int ones = 0; /* output size 1: the mean of all positions */
        while (ones < arg[i].n && tc_sym_is_int(arg[i].syms[ones], 1)) ones++;
        if (ones == arg[i].n && !strncmp(s->name, "adaptive_avg", 12)) return true;
    }
    return false;
}
/* The same, decided by sizes. */
static bool size_goes_elsewhere(C *c, const tc_schema *s, const tc_arg *arg, const V *objects) {
    static const char along[] = " max min mode kthvalue topk cummax cummin cumsum cumprod aminmax ";
    const bool pair = s->nparams > 1 && objects[0] && objects[1] && tc_is_tensor(objects[0]) && tc_is_tensor(objects[1]);
    if (!objects[0] || !tc_is_tensor(objects[0])) return false;
    const int rank = tc_torch_rank(objects[0]);
    const bool dim = s->nparams > 1 && ((s->params[1].type == TC_T_INT && arg[1].kind != TC_A_NONE) || s->params[2].type == TC_T_INT);
    if (!rank && dim && tc_word_in(along, s->name)) return true;
    if (!strcmp(s->name, "inner")) return pair && (!rank || !tc_torch_rank(objects[1]));
    if (!strcmp(s->name, "pdist")) return rank == 2 && tc_equal(c, tc_torch_size(c, objects[0], 0), tc_int(c, 1));
    if (!strcmp(s->name, "cdist")) return number(&arg[2]) == 2 && whole(&arg[3], 0) != 2; /* a matrix product, unless there are few rows */
    if (strcmp(s->name, "equal") || !pair) return false;
    bool same = rank == tc_torch_rank(objects[1]);
    for (int k = 0; k < rank && same; k++) same = tc_equal(c, tc_torch_size(c, objects[0], k), tc_torch_size(c, objects[1], k));
    return !same;
}
static bool goes_elsewhere(C *c, const tc_schema *s, const tc_arg *arg, const V *objects, tc_dtype d) {
    const int numbers[2] = {s->nparams > 1 && s->params[0].type == TC_T_SCALAR, s->nparams > 1 && s->params[1].type == TC_T_SCALAR};
    if (tc_word_in(" pow pow_ ", s->name) && numbers[1] && (d == TC_BOOL || number(&arg[1]) == 1 || is_zero(&arg[1])))
        return true; /* filled or copied */
    if (tc_word_in(" pow pow_ ", s->name) && numbers[0] && arg[0].scalar.kind != TC_KIND_BOOL && number(&arg[0]) == 1) return true;
    if (!strcmp(s->name, "isin") && (numbers[1] || (numbers[0] && arg[0].scalar.kind == TC_KIND_FLOAT))) return true; /* compared */
    return setting_goes_elsewhere(s, arg, objects, d) || size_goes_elsewhere(c, s, arg, objects);
}
/* The operator whose kernel does the work: that of padding by reflection, or rounding division, is another. */
static const char *kernel_name(const tc_schema *s, const tc_arg *arg) {
    const bool mirrors = !strcmp(s->name, "pad") && arg[2].kind == TC_A_STRING && tc_word_in(" reflect replicate ", arg[2].string);
    const bool rounds = tc_word_in(" div divide ", s->name) && s->nparams > 2 && arg[2].kind == TC_A_STRING;
    const bool pair = s->nparams > 1 && s->params[1].type == TC_T_TENSOR && tc_word_in(" max min ", s->name);
    if (tc_word_in(" clamp_min clamp_max ", s->name) && s->params[1].type == TC_T_SCALAR) return "clamp";
    if (pair) return strcmp(s->name, "max") ? "minimum" : "maximum";
    bool dilates = false;
    for (int i = 0; i < s->nparams && !strncmp(s->name, "conv", 4); i++)
        for (int k = 0; k < arg[i].n && arg[i].kind == TC_A_INTS && !strcmp(s->params[i].name, "dilation"); k++)
            dilates |= !tc_sym_is_int(arg[i].syms[k], 1);
    if (dilates && strncmp(s->name, "conv_transpose", 14)) return "slow_conv_dilated2d";
    return mirrors ? "reflection_pad1d" : rounds ? "div.Tensor_mode" : s->name;
}
static bool has_elements(C *c, V v) {
    const tensor *t = (const tensor *)v;
    if (t->t.storage) return tc_tensor_numel(&t->t) > 0;
    const tc_meta *m = &tc_torch_value(c, v)->meta;
    for (int k = 0; k < m->rank; k++)
        if (tc_sym_is_int(m->size[k], 0)) return false;
    return true;
}
static bool all_have_elements(C *c, const tc_schema *s, const V *objects) {
    for (int i = 0; i < s->nparams; i++) {
        size_t n = objects[i] ? 1 : 0;
        const V *all = n && tc_is_seq(objects[i]) ? tc_items(objects[i], &n) : &objects[i];
        for (size_t k = 0; k < n; k++)
            if (tc_is_tensor(all[k]) && !has_elements(c, all[k])) return false;
    }
    return true;
}
/* The first tensor operand; for lists their first element; after a number or an equation. */
static V first_operand(const tc_schema *s, const V *objects) {
    const tc_type t = s->params[0].type;
    const int at = s->nparams > 1 && (t == TC_T_SCALAR || t == TC_T_INT || t == TC_T_STRING);
    V v = objects[at];
    size_t n = 0;
    if (v && tc_is_seq(v)) {
        const V *all = tc_items(v, &n);
        v = n && tc_word_in(" linalg_multi_dot einsum ", s->name) ? all[0] : NULL;
    }
    return v && tc_is_tensor(v) ? v : NULL;
}

void tc_torch_check_type(C *c, const tc_op *op, const tc_arg *arg, const V *objects) {
    const tc_op *functional = tc_op_functional(op);
    const tc_schema *s = tc_op_schema(op), *f = tc_op_schema(functional);
    const bool fresh = tc_word_in(" arange eye linspace logspace range ", f->name); /* made from numbers, in the given type */
    if (!s->nparams) return;
    const V first = first_operand(s, objects);
    if (!fresh && !first) return;
    tc_dtype d = computes_in(s, arg, objects, first ? tc_torch_dtype(first) : TC_DTYPE_NONE);
    if (c->torch->autocast != TC_DTYPE_NONE) d = tc_autocast_type(op, d, c->torch->autocast);
    if (d == TC_F32 || d == TC_F64 || c->all_types) return;
    char kernel[96];
    snprintf(kernel, sizeof kernel, "aten::%s", kernel_name(f, arg));
    if (tc_op_lacks_kernel(kernel, d) && (!first || !tc_op_marked(functional, TC_MARK_COUNTS) || all_have_elements(c, s, objects)) &&
        !computes_in_other(s, arg, objects, d) && !goes_elsewhere(c, s, arg, objects, d))
        tc_raise(c, "NotImplementedError", "aten.%s: \"%s\" not implemented for '%s'", s->name, f->name, tc_dtypes[d].torch);
}
