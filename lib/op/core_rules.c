/* The rule that composes an operator of core ATen operators (core.c), by its name: the families' tables. */
#include "op/core_rule.h"

#include <stdio.h>

static const tc_core_row *const families[] = {tc_core_pointwise, tc_core_tensors, tc_core_networks, tc_core_backward};

static bool any_complex(const tc_node *n) {
    for (int i = 0; i < n->nargs; i++)
        if (tc_arg_meta(n, i) && tc_is_complex(tc_arg_meta(n, i)->dtype)) return true;
    return false;
}

tc_decompose_fn tc_core_rule(const tc_node *n) {
    char name[128];
    const tc_schema *s = tc_op_schema(n->op);
    snprintf(name, sizeof name, "%s%s%s", s->name, *s->overload ? "." : "", s->overload);
    for (size_t k = 0; !strcmp(s->ns, "aten") && k < sizeof families / sizeof *families; k++)
        for (const tc_core_row *r = families[k]; r->name; r++)
            if (!strcmp(r->name, name)) return r->when == TC_CORE_REAL && any_complex(n) ? NULL : r->rule;
    /* PyTorch has no compositions of random operators except dropout's; tc's draw with operators of its own */
    return n->op->flags & TC_OP_RANDOM && !strstr(s->name, "dropout") ? NULL : n->op->decompose;
}
