/* Inside lib/op: how an operator is written with core ATen operators (core.c, core_rules.c). */
#ifndef TC_OP_CORE_H
#define TC_OP_CORE_H

#include "op/decompose.h"

tc_decompose_fn tc_core_rule(const tc_node *n); /* NULL: it stays */

#endif
