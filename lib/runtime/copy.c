/* Copies tensors of different strides: row by row along the last dimension; where the source is contiguous along another one, by transposing planes of
 * the two; between contiguous and channels last as a batch of matrix transposes. */
#include "kernel/transpose.h"
#include "runtime/frame.h"

enum { PIECE = 64 << 10 /* bytes: the smallest task for another thread */, STRIP = 16, TILE = 64 /* elements */ };

typedef struct {
    const tc_isa_ops *isa;
    const tc_tensor *to, *from;
    char *dst, *src;
    int64_t size; /* of an element */
    int along;    /* copy_planes: the dimension along which the source is contiguous */
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

/* The dimension other than the last one along which `from` is contiguous, if `to` is contiguous along the last one; else -1. */
static int transposed_dim(const tc_tensor *to, const tc_tensor *from) {
    const int last = to->rank - 1;
    if (last < 1 || to->size[last] < 4 || to->stride[last] != 1 || from->stride[last] == 1) return -1;
    for (int d = 0; d < last; d++)
        if (from->stride[d] == 1 && to->size[d] >= 4) return d;
    return -1;
}
/* Task k is a strip of the plane of the last dimension and c->along, for one index of the other dimensions: as many rows of the source as fill cache
 * lines of the result, by tiles of which the result's lines share no cache set with too many others. */
static void copy_planes(void *ctx, int64_t begin, int64_t end, int worker) {
    const copying *c = ctx;
    const tc_tensor *to = c->to, *from = c->from;
    const int last = to->rank - 1, d = c->along;
    const int64_t strips = (to->size[last] + STRIP - 1) / STRIP;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const int64_t first = k % strips * STRIP, n = to->size[last] - first < STRIP ? to->size[last] - first : STRIP;
        int64_t od = first, os = first * from->stride[last], rest = k / strips;
        for (int e = last; e-- > 0;)
            if (e != d) od += rest % to->size[e] * to->stride[e], os += rest % to->size[e] * from->stride[e], rest /= to->size[e];
        for (int64_t i = 0; i < to->size[d]; i += TILE)
            c->isa->move->transpose[__builtin_ctzll((uint64_t)c->size)](c->dst + (od + i * to->stride[d]) * c->size, to->stride[d],
                                                                        c->src + (os + i) * c->size, from->stride[last], n,
                                                                        to->size[d] - i < TILE ? to->size[d] - i : TILE);
    }
}

void copy_tensor(const tc_isa_ops *isa, tc_pool *pool, const tc_tensor *to, const tc_tensor *from) {
    const int64_t n = tc_tensor_numel(to), size = (int64_t)tc_dtype_size(to->dtype), bytes = n * size;
    if (!n) return;
    copying c = {isa, to, from, tc_tensor_data(to), tc_tensor_data(from), size, transposed_dim(to, from)};
    const bool planes = tc_tensor_is_contiguous(to), from_planes = tc_tensor_is_contiguous(from);
    if (planes && from_planes) {
        const bool apart = c.dst + bytes <= c.src || c.src + bytes <= c.dst;
        tc_parallel_for(apart ? pool : NULL, bytes, PIECE, copy_bytes, &c);
    } else if ((planes && tc_tensor_is_channels_last(from)) || (from_planes && tc_tensor_is_channels_last(to))) {
        const int64_t images = to->size[0], channels = to->size[1], area = n / images / channels;
        tc_transpose_batch(isa, pool, (size_t)size, images, planes ? area : channels, planes ? channels : area, c.src, c.dst);
    } else if (c.along >= 0) {
        const int64_t row = to->size[to->rank - 1], strips = (row + STRIP - 1) / STRIP, planes_count = n / row / to->size[c.along];
        tc_parallel_for(pool, planes_count * strips, 1 + PIECE / (to->size[c.along] * STRIP * size), copy_planes, &c);
    } else {
        const int64_t row = to->rank ? to->size[to->rank - 1] : 1;
        tc_parallel_for(pool, n / row, 1 + PIECE / (row * size), copy_rows, &c);
    }
}
