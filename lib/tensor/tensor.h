/* Concrete tensors: a reference-counted storage and a strided view of it.
 *
 *     storage  [..............................]  bytes, 64-byte aligned when tc allocated it
 *     tensor          ^offset, size[], stride[]  in elements; strides may be 0 (expanded), never negative
 *
 * tc_tensor is a value that owns one reference to its storage: tc_tensor_deinit releases it, tc_tensor_share takes another.
 * Reference counts are atomic; data are not guarded. */
#ifndef TC_TENSOR_TENSOR_H
#define TC_TENSOR_TENSOR_H

#include "base/mem.h"
#include "tensor/dtype.h"

#define TC_MAX_RANK 16

typedef struct tc_storage tc_storage;
struct tc_storage {
    void *data;
    size_t bytes;
    int refs;                               /* atomic */
    void (*deleter)(void *ctx, void *data); /* called once after the last release; NULL: data is borrowed for ever */
    void *ctx;
    bool read_only; /* mapped weights */
    bool kept;      /* a mark of the model language's, false elsewhere */
    bool undrawn;   /* initial values that are not drawn yet (capture/undrawn.h); false elsewhere */
    bool embedded;  /* part of an object that its deleter frees or keeps */
};

/* Uninitialised bytes, 64-byte aligned. Fails with TC_ENV naming the size. */
tc_status tc_storage_alloc(size_t bytes, tc_storage **out_storage);
/* The same, all zero. Many bytes take no memory before they are written. */
tc_status tc_storage_zeros(size_t bytes, tc_storage **out_storage);
tc_storage *tc_storage_wrap(void *data, size_t bytes, void (*deleter)(void *, void *), void *ctx);
tc_storage *tc_storage_retain(tc_storage *s);
void tc_storage_release(tc_storage *s); /* NULL is allowed */
/* Exchanges the bytes of two storages, which keep their owners: a copy of all bytes of a storage that nobody else holds, without copying. False, and
 * nothing done: they differ in size, are the same, or one is read-only or part of another object. */
bool tc_storage_swap(tc_storage *a, tc_storage *b);

typedef struct {
    tc_storage *storage; /* NULL: no tensor */
    tc_dtype dtype;
    int rank;
    int64_t offset; /* elements from storage->data */
    int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK];
} tc_tensor;

/* Contiguous, uninitialised. Sizes >= 0; the product is checked. */
tc_status tc_tensor_empty(tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out);
tc_status tc_tensor_zeros(tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out);
/* A view of storage; checks that every element lies inside it (TC_CONTENT). Takes its own reference. */
tc_status tc_tensor_view(tc_storage *s, tc_dtype dtype, int rank, const int64_t *size, const int64_t *stride, int64_t offset, tc_tensor *out);
tc_status tc_tensor_scalar(tc_dtype dtype, tc_scalar v, tc_tensor *out);      /* 0-d */
tc_tensor tc_tensor_share(const tc_tensor *t);                                /* another reference to the same storage */
void tc_tensor_deinit(tc_tensor *t);                                          /* {0} afterwards; {0} is allowed */
void tc_tensor_pack(const tc_tensor *t, void *to);                            /* its elements in row-major order, tc_tensor_bytes(t) bytes */
void tc_repeat_element(void *data, size_t size, int64_t n);                   /* copies the first of n elements to the others */
tc_status tc_tensor_clone(const tc_tensor *t, tc_tensor *out);                /* contiguous copy */
tc_status tc_tensor_contiguous(const tc_tensor *t, tc_tensor *out);           /* shares when already contiguous */
tc_status tc_tensor_cast(const tc_tensor *t, tc_dtype dtype, tc_tensor *out); /* PyTorch's conversion */

int64_t tc_tensor_numel(const tc_tensor *t);
size_t tc_tensor_bytes(const tc_tensor *t);       /* numel * element size */
size_t tc_tensor_span(const tc_tensor *t);        /* bytes from the first element to the end of the last one in memory; strides are not negative */
bool tc_tensor_is_contiguous(const tc_tensor *t); /* strides of size-1 dimensions are ignored */
static inline void *tc_tensor_data(const tc_tensor *t) { return (char *)t->storage->data + t->offset * (int64_t)tc_dtypes[t->dtype].size; }
/* Sizes whose product overflows get INT64_MAX, which no view takes. */
void tc_contiguous_strides(int rank, const int64_t *size, int64_t *out_stride);
/* Sizes N C (D) (H) W over memory N (D) (H) W C; rank 3 to 5. */
bool tc_tensor_is_channels_last(const tc_tensor *t);
void tc_channels_last_strides(int rank, const int64_t *size, int64_t *out_stride);

/* Text as PyTorch prints it: "tensor([[1., 2.],\n        [3., 4.]])", with summarisation and dtype suffix. */
void tc_tensor_print(tc_buf *b, const tc_tensor *t);
/* The same by the options of torch.set_printoptions. */
typedef struct {
    int precision;    /* digits behind the point, 0 to 50 */
    double threshold; /* more elements are summarised by `edge` at each end */
    int64_t edge;
    int line;       /* columns */
    int scientific; /* 0: never; 1: always; -1: as the range asks */
} tc_print_options;
extern const tc_print_options tc_print_default;
void tc_tensor_print_as(tc_buf *b, const tc_tensor *t, const tc_print_options *o);
/* "2x3xf32": shape and type for messages and the command line; 0-d is "f32". */
void tc_tensor_print_type(tc_buf *b, const tc_tensor *t);

typedef struct {
    int64_t count;           /* elements that differ */
    int64_t first;           /* row-major index of the first */
    double max_abs, max_rel; /* largest errors, NaN against number counts as infinite */
} tc_diff;
/* Equal dtype and shape are required (TC_DIFFERENT naming both). rtol = atol = 0: bits, any NaN equals NaN; -0 differs from 0.
 * Else |a - b| <= atol + rtol * |b|. */
tc_status tc_tensor_compare(const tc_tensor *a, const tc_tensor *b, double rtol, double atol, tc_diff *out);

#endif
