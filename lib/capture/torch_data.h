/* Conversion between Python data and tensors: torch.tensor, tolist. */
#ifndef TC_CAPTURE_TORCH_DATA_H
#define TC_CAPTURE_TORCH_DATA_H

#include "capture/torch.h"

/* torch.tensor(data): a new tensor from nested lists and tuples of numbers, or from tensors. TC_DTYPE_NONE: inferred (int64, default float dtype, bool
 * or complex). Symbolic numbers give a graph of scalars. */
V tc_torch_of_array(C *c, V v); /* the tensor of a numpy array; else v */
V tc_torch_from_data(C *c, V data, tc_dtype dtype);
V tc_torch_full0(C *c, V number, tc_dtype dtype);  /* a 0-d tensor */
V tc_torch_cast(C *c, V t, tc_dtype dtype);        /* t itself when it has the type */
V tc_torch_element(C *c, tc_dtype d, tc_scalar s); /* what item() gives of an element of that type */
V tc_torch_to_list(C *c, V t);                     /* tolist(): concrete tensors only */

#endif
