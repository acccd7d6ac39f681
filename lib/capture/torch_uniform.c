/* Tensors whose elements are all 0 or all 1, whatever their sizes: torch.ones_like(tags), and its views, casts and comparisons. A default mask
 * that a module makes is one, and a branch on `mask[0].all()` is decided by reading the nodes backwards when it is asked for. */
#include "base/text.h"
#include "capture/torch_call.h"

#include <string.h>

enum { UNKNOWN = -1, DEEPEST = 64 };

/* The tensor that v is a view of, or a later state of. */
static const tc_value *base(const tc_value *v) {
    const tc_node *n = v->producer;
    while (n && (tc_op_may_alias(n->op) || tc_op_mutates(n->op)) && n->args[0].kind == TC_A_VALUE) v = n->args[0].value, n = v->producer;
    return v;
}

/* Does a node other than `but` write to v or to a view of it? */
static bool is_written(const tc_value *v, const tc_node *but) {
    for (const tc_node *n = v->graph->first; n; n = n->next) {
        for (int i = 0; i < n->nargs && n != but && tc_op_mutates(n->op); i++)
            if (n->args[i].kind == TC_A_VALUES || (n->args[i].kind == TC_A_VALUE && base(n->args[i].value) == base(v))) return true;
    }
    return false;
}

static int filled_with(const tc_arg *a) {
    if (a->kind != TC_A_SCALAR || a->is_sym) return UNKNOWN;
    return tc_scalar_is(a->scalar, 0) ? 0 : tc_scalar_is(a->scalar, 1) ? 1 : UNKNOWN;
}

static bool has_elements(const tc_value *v) {
    for (int i = 0; i < v->meta.rank; i++) {
        int64_t lo, hi;
        tc_sym_range(v->graph->program->sym, v->meta.size[i], &lo, &hi);
        if (lo < 1) return false;
    }
    return true;
}

static int uniform(const tc_value *v, int depth) {
    const tc_node *n = v->producer;
    if (!n || depth > DEEPEST || strncmp(tc_op_name(n->op), "aten", 4)) return UNKNOWN;
    const char *name = tc_op_schema(n->op)->name;
    const tc_value *of = n->args[0].kind == TC_A_VALUE && n->args[0].value->kind == TC_V_TENSOR ? n->args[0].value : NULL;
    const bool writes = tc_op_mutates(n->op);
    if (!writes && tc_op_may_alias(n->op) && of && (of->meta.dtype == v->meta.dtype || !strcmp(name, "to"))) return uniform(of, depth + 1);
    if (is_written(v, n)) return UNKNOWN;
    if (!strcmp(name, "fill_")) return filled_with(&n->args[1]);
    if (!strcmp(name, "zero_")) return 0;
    if (writes) return UNKNOWN;
    if (tc_word_in(" ones ones_like new_ones ", name)) return 1;
    if (tc_word_in(" zeros zeros_like new_zeros ", name)) return 0;
    if (tc_word_in(" full full_like ", name)) return filled_with(&n->args[1]);
    if (!strcmp(name, "new_full")) return filled_with(&n->args[2]);
    const int x = of ? uniform(of, depth + 1) : UNKNOWN;
    if (x == UNKNOWN) return UNKNOWN;
    if (tc_word_in(" clone contiguous _to_copy ", name)) return x;
    if (!strcmp(name, "logical_not") || (!strcmp(name, "bitwise_not") && v->meta.dtype == TC_BOOL)) return !x;
    if (tc_word_in(" eq ne ", name) && n->nargs > 1 && filled_with(&n->args[1]) != UNKNOWN)
        return (x == filled_with(&n->args[1])) == (name[0] == 'e');
    /* of no elements, all() is true and any() false */
    if (tc_word_in(" all any ", name)) return x == (name[1] == 'l') || has_elements(of) ? x : UNKNOWN;
    return UNKNOWN;
}

int tc_torch_uniform(const tc_value *v) { return v && v->kind == TC_V_TENSOR ? uniform(v, 0) : UNKNOWN; }
