/* Conversion of contiguous arrays between element types, for casts, readers and writers. */
#ifndef TC_TENSOR_CONVERT_H
#define TC_TENSOR_CONVERT_H

#include "tensor/dtype.h"

/* n elements at src of type `from` become n elements at dst of type `to`, as PyTorch converts. Both aligned to their own type;
 * they may be the same array only when to == from. */
void tc_convert(tc_dtype to, void *dst, tc_dtype from, const void *src, size_t n);

#endif
