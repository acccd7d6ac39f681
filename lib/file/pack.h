/* Writes a tensor's elements in row-major order, for any strides. */
#ifndef TC_FILE_PACK_H
#define TC_FILE_PACK_H

#include "base/file.h"
#include "tensor/tensor.h"

static inline tc_status tc_pack_write(tc_out *o, const tc_tensor *t) {
    tc_tensor c;
    TC_TRY(tc_tensor_contiguous(t, &c));
    size_t n = tc_tensor_bytes(&c);
    tc_status st = n ? tc_out_write(o, tc_tensor_data(&c), n) : NULL;
    tc_tensor_deinit(&c);
    return st;
}

#endif
