/* Estimated sizes of values, for passes that decide before symbols are bound (partition, split). */
#ifndef TC_PASS_VALUE_BYTES_H
#define TC_PASS_VALUE_BYTES_H

#include "graph/graph.h"

/* Typical values of the symbols, by index: 64, clamped to the symbol's range. The caller frees the array. */
tc_symvalue *tc_typical_sizes(const tc_program *p, size_t *out_n);
/* Bytes of a tensor, list of tensors or number at those sizes; at least 1. Unknown sizes count as 64. */
int64_t tc_value_bytes(const tc_value *v, const tc_symvalue *vars, size_t nvars);
/* The same as an expression of the symbols. */
tc_sym tc_value_bytes_sym(tc_symctx *c, const tc_value *v);

#endif
