/* Vectorised calls of scalar functions (score_mod and mask_mod of flex_attention): called once with tensors of [B, H, Q, K] (or sizes 1) instead of once
 * per element. That is valid only while every node works elementwise, as
 *
 *     bias[h, q - k]    h: [1, H, 1, 1]    q - k: [1, 1, Q, K]    the result: [1, H, Q, K]
 *
 * does and bias[h][q - k] does not. Functions that ask for sizes are refused. */
#include "capture/torch.h"
#include "op/op.h"

#include <string.h>

static bool is_lane(const tc_value *v) { return v && v->kind == TC_V_TENSOR && (v->meta.rank == 0 || v->meta.rank == 4); }

/* Checks that v broadcasts to r; which axes of r it has. */
static bool broadcasts(const tc_value *v, const tc_value *r, bool covered[4]) {
    if (!is_lane(v)) return false;
    for (int d = 0; d < v->meta.rank; d++) {
        const bool same = r->meta.rank == 4 && v->meta.size[d] == r->meta.size[d];
        if (!same && (r->meta.rank != 4 || !tc_sym_is_int(v->meta.size[d], 1))) return false;
        covered[d] |= same;
    }
    return true;
}

static bool is_lanewise(const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    const tc_value *r = n->nouts == 1 ? n->outs[0] : NULL;
    const bool gathers = !strcmp(s->name, "index");
    bool covered[4] = {false};
    if (!is_lane(r) || s->variadic || s->inplace) return false;
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (!strncmp(s->params[i].name, "dim", 3) || s->params[i].type == TC_T_GENERATOR) return false; /* softmax, flip; rand */
        if (a->kind == TC_A_VALUE && !(gathers && i == 0) && !broadcasts(a->value, r, covered)) return false;
        if (a->kind != TC_A_VALUES) continue;
        if (gathers && a->n != n->args[0].value->meta.rank) return false;
        for (int k = 0; k < a->n; k++)
            if (!broadcasts(a->values[k], r, covered)) return false;
    }
    for (int d = 0; d < r->meta.rank; d++)
        if (!covered[d]) return false;
    return true;
}

V tc_torch_sized(C *c, V t) {
    if (c->torch->lanes && tc_torch_rank(t) == 4) tc_raise(c, "RuntimeError", "the sizes of many numbers are not those of one");
    return t;
}

void tc_torch_check_lanes(C *c, const tc_node *n) {
    if (!is_lanewise(n)) tc_raise(c, "RuntimeError", "%s is not of each number alone", tc_op_name(n->op));
}
