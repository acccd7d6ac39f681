/* Copies tensors of different strides: row by row along the last dimension; between contiguous and channels last as a batch of matrix transposes. */
#include "kernel/transpose.h"
#include "runtime/frame.h"

enum { PIECE = 64 << 10 /* bytes: the smallest task for another thread */ };

typedef struct {
    const tc_isa_ops *isa;
    const tc_tensor *to, *from;
    char *dst, *src;
    int64_t size; /* of an element */
} copying;

static void copy_bytes(void *ctx, int64_t begin, int64_t end, int worker) {
    const copying *c = ctx;
    (void)worker;
    memmove(c->dst + begin, c->src + begin, (size_t)(end - begin));
}

/* Rows along the last dimension. */
static void copy_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    const copying *c = ctx;
    const tc_tensor *to = c->to, *from = c->from;
    const int last = to->rank - 1, shift = __builtin_ctzll((uint64_t)c->size);
    const int64_t row = to->rank ? to->size[last] : 1, to_step = to->rank ? to->stride[last] : 1, from_step = to->rank ? from->stride[last] : 1;
    int64_t at[TC_MAX_RANK] = {0}, rest = begin;
    (void)worker;
    for (int d = last; d-- > 0; rest /= to->size[d]) at[d] = rest % to->size[d];
    for (int64_t k = begin; k < end; k++) {
        int64_t od = 0, os = 0;
        for (int d = 0; d < last; d++) od += at[d] * to->stride[d], os += at[d] * from->stride[d];
        if (to_step == 1 || row == 1) c->isa->move->load[shift](c->dst + od * c->size, c->src + os * c->size, from_step, row);
        else
            for (int64_t i = 0; i < row; i++) memcpy(c->dst + (od + i * to_step) * c->size, c->src + (os + i * from_step) * c->size, (size_t)c->size);
        for (int d = last - 1; d >= 0 && ++at[d] == to->size[d]; d--) at[d] = 0;
    }
}

void copy_tensor(const tc_isa_ops *isa, tc_pool *pool, const tc_tensor *to, const tc_tensor *from) {
    const int64_t n = tc_tensor_numel(to), size = (int64_t)tc_dtype_size(to->dtype), bytes = n * size;
    if (!n) return;
    copying c = {isa, to, from, tc_tensor_data(to), tc_tensor_data(from), size};
    const bool planes = tc_tensor_is_contiguous(to), from_planes = tc_tensor_is_contiguous(from);
    if (planes && from_planes) {
        const bool apart = c.dst + bytes <= c.src || c.src + bytes <= c.dst;
        tc_parallel_for(apart ? pool : NULL, bytes, PIECE, copy_bytes, &c);
    } else if ((planes && tc_tensor_is_channels_last(from)) || (from_planes && tc_tensor_is_channels_last(to))) {
        const int64_t images = to->size[0], channels = to->size[1], area = n / images / channels;
        tc_transpose_batch(isa, pool, (size_t)size, images, planes ? area : channels, planes ? channels : area, c.src, c.dst);
    } else {
        const int64_t row = to->rank ? to->size[to->rank - 1] : 1;
        tc_parallel_for(pool, n / row, 1 + PIECE / (row * size), copy_rows, &c);
    }
}
