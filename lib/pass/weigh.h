/* How large values are, for passes that choose between programs before any size is known. */
#ifndef TC_PASS_WEIGH_H
#define TC_PASS_WEIGH_H

#include "graph/graph.h"

/* A value for each symbol, by index (the caller's to free): 64, or the end of its range that is nearest to that. */
tc_symvalue *tc_typical_sizes(const tc_program *p, size_t *out_n);
/* Bytes of a tensor, of a list's tensors, or of a number at those sizes; at least 1. Sizes that cannot be told count as 64. */
int64_t tc_value_bytes(const tc_value *v, const tc_symvalue *vars, size_t nvars);
/* The bytes as an expression of the symbols. */
tc_sym tc_value_bytes_sym(tc_symctx *c, const tc_value *v);

#endif
