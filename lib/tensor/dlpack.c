/* DLPack 1.x in and out. */
#include "tensor/dlpack.h"

enum { CPU = 1, READ_ONLY = 1, MAJOR = 1, MINOR = 1 };

/* DLDataTypeCode of each type; bits are 8 * size. */
static const struct {
    tc_dtype dtype;
    uint8_t code;
} codes[] = {
    {TC_I8, 0},   {TC_I16, 0},  {TC_I32, 0},     {TC_I64, 0},     {TC_U8, 1},          {TC_U16, 1},         {TC_U32, 1},
    {TC_U64, 1},  {TC_F16, 2},  {TC_F32, 2},     {TC_F64, 2},     {TC_BF16, 4},        {TC_C32, 5},         {TC_C64, 5},
    {TC_C128, 5}, {TC_BOOL, 6}, {TC_F8E4M3, 10}, {TC_F8E5M2, 12}, {TC_F8E4M3FNUZ, 11}, {TC_F8E5M2FNUZ, 13}, {TC_F8E8M0, 14},
};

typedef struct {
    tc_dl_managed managed;
    tc_tensor tensor;
} exported;

static void release_exported(tc_dl_managed *m) {
    exported *e = m->manager_ctx;
    tc_tensor_deinit(&e->tensor);
    free(e);
}

tc_status tc_tensor_to_dlpack(const tc_tensor *t, tc_dl_managed **out) {
    size_t i = 0;
    while (i < sizeof codes / sizeof *codes && codes[i].dtype != t->dtype) i++;
    if (i == sizeof codes / sizeof *codes) return tc_error(TC_UNSUPPORTED, "DLPack has no type %s", tc_dtypes[t->dtype].torch);
    exported *e = tc_xcalloc(1, sizeof *e);
    e->tensor = tc_tensor_share(t);
    e->managed = (tc_dl_managed){
        .version = {MAJOR, MINOR},
        .manager_ctx = e,
        .deleter = release_exported,
        .flags = t->storage->read_only ? READ_ONLY : 0,
        .dl_tensor = {.data = t->storage->data,
                      .device = {CPU, 0},
                      .ndim = t->rank,
                      .dtype = {codes[i].code, (uint8_t)(8 * tc_dtype_size(t->dtype)), 1},
                      .shape = e->tensor.size,
                      .strides = e->tensor.stride,
                      .byte_offset = (uint64_t)t->offset * tc_dtype_size(t->dtype)},
    };
    *out = &e->managed;
    return NULL;
}

static void release_imported(void *ctx, void *data) {
    tc_dl_managed *m = ctx;
    (void)data;
    if (m->deleter) m->deleter(m);
}

static tc_status check(const tc_dl_managed *m, tc_dtype *out_dtype) {
    const tc_dl_tensor *t = &m->dl_tensor;
    if (t->device.device_type != CPU)
        return tc_error(TC_UNSUPPORTED, "a DLPack tensor on device type %d, expected the CPU (1)", t->device.device_type);
    if (t->ndim < 0 || t->ndim > TC_MAX_RANK)
        return tc_error(TC_UNSUPPORTED, "a DLPack tensor of %d dimensions: tc has at most %d", t->ndim, TC_MAX_RANK);
    size_t i = 0;
    while (i < sizeof codes / sizeof *codes && !(codes[i].code == t->dtype.code && 8 * tc_dtype_size(codes[i].dtype) == t->dtype.bits)) i++;
    if (i == sizeof codes / sizeof *codes || t->dtype.lanes != 1)
        return tc_error(TC_UNSUPPORTED, "a DLPack tensor of type code %u, %u bits, %u lanes", t->dtype.code, t->dtype.bits, t->dtype.lanes);
    *out_dtype = codes[i].dtype;
    for (int d = 0; t->strides && d < t->ndim; d++)
        if (t->strides[d] < 0 && t->shape[d] > 1) return tc_error(TC_UNSUPPORTED, "a DLPack tensor with a negative stride");
    return NULL;
}

tc_status tc_tensor_from_dlpack(tc_dl_managed *m, tc_tensor *out) {
    const tc_dl_tensor *t = &m->dl_tensor;
    tc_dtype d = TC_U8;
    int64_t stride[TC_MAX_RANK], last = 0;
    if (m->version.major != MAJOR) /* its deleter may stand elsewhere: it is left alone */
        return tc_error(TC_UNSUPPORTED, "DLPack version %u, expected %d", m->version.major, MAJOR);
    tc_status st = check(m, &d);
    bool empty = false;
    if (!st) {
        tc_contiguous_strides(t->ndim, t->shape, stride);
        for (int k = 0; k < t->ndim; k++) {
            if (t->strides) stride[k] = t->shape[k] > 1 ? t->strides[k] : 1;
            empty = empty || t->shape[k] == 0;
            last += t->shape[k] > 0 ? (t->shape[k] - 1) * stride[k] : 0;
        }
        char *data = (char *)t->data + t->byte_offset;
        if ((uintptr_t)data % tc_dtype_size(d)) st = tc_error(TC_UNSUPPORTED, "a DLPack tensor that is not aligned to its elements");
        if (!st) {
            tc_storage *s = tc_storage_wrap(data, empty ? 0 : (size_t)(last + 1) * tc_dtype_size(d), release_imported, m);
            s->read_only = m->flags & READ_ONLY;
            st = tc_tensor_view(s, d, t->ndim, t->shape, stride, 0, out);
            tc_storage_release(s);
            return st;
        }
    }
    if (m->deleter) m->deleter(m);
    return st;
}
