/* Complex operators as compositions of real ones, on real and imaginary parts; used as `complex` in rows (op.h). */
#ifndef TC_OP_COMPLEX_PARTS_H
#define TC_OP_COMPLEX_PARTS_H

#include "op/emit.h"

tc_status tc_by_parts_product(tc_emit *e, const tc_node *n); /* mm, bmm: matrices [m, k] and [k, n], or batches of them */
tc_status tc_by_parts_added(tc_emit *e, const tc_node *n);   /* addmm, baddbmm */
tc_status tc_by_parts_convolution(tc_emit *e, const tc_node *n);
tc_status tc_by_parts_convolution_backward(tc_emit *e, const tc_node *n);
tc_value *tc_by_parts_pair(tc_emit *e, tc_value *re, tc_value *im); /* re + i im */

#endif
