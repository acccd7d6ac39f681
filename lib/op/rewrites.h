/* --log rewrites: which operators were decomposed or rewritten, and as what. */
#ifndef TC_OP_REWRITES_H
#define TC_OP_REWRITES_H

#include "op/op.h"

/* One line per kind of rewrite, in graph order: the original operator, the operators that replace it (after CSE), how often, and its nodes with source
 * lines. */
void tc_rewrites_report(const tc_program *planned, tc_buf *out);

#endif
