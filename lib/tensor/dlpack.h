/* DLPack 1.x, the exchange of tensors with other libraries in one process, without copying. */
#ifndef TC_TENSOR_DLPACK_H
#define TC_TENSOR_DLPACK_H

#include "tensor/tensor.h"

/* The ABI of dlpack.h 1.x. */
typedef struct {
    uint32_t major, minor;
} tc_dl_version;
typedef struct {
    int32_t device_type, device_id;
} tc_dl_device; /* 1: CPU */
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} tc_dl_dtype;
typedef struct {
    void *data;
    tc_dl_device device;
    int32_t ndim;
    tc_dl_dtype dtype;
    int64_t *shape, *strides; /* elements; strides NULL: contiguous */
    uint64_t byte_offset;
} tc_dl_tensor;
typedef struct DLManagedTensorVersioned {
    tc_dl_version version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags; /* bit 0: read-only */
    tc_dl_tensor dl_tensor;
} tc_dl_managed;

/* A new managed tensor that holds a reference to t's storage until its deleter is called. */
tc_status tc_tensor_to_dlpack(const tc_tensor *t, tc_dl_managed **out);
/* Takes over m: its deleter is called when the last view of it is gone, or before returning on failure. TC_UNSUPPORTED for another
 * major version, another device, negative strides, vector lanes or a type that tc lacks. */
tc_status tc_tensor_from_dlpack(tc_dl_managed *m, tc_tensor *out);

#endif
