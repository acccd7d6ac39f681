/* Kernels that select the elements which are set, so that result sizes depend on the data: nonzero, masked_select. */
#include "kernel/sort.h"

#include <string.h>

#include "kernel/isa.h"
#include "kernel/isa_row.h"

static bool is_set(const tc_tensor *t, int64_t i) {
    tc_scalar s = tc_scalar_load(t->dtype, t->storage->data, t->offset + i);
    return s.kind == TC_KIND_FLOAT ? s.f != 0 : s.kind == TC_KIND_COMPLEX ? s.re != 0 || s.im != 0 : s.i != 0;
}

/* Elements [first, first + n) of a contiguous tensor as bools: in place, or converted to buffer. */
enum { CHUNK = 2048 };
static const uint8_t *as_bools(const tc_kcall *c, const tc_tensor *t, int64_t first, int64_t n, uint8_t *buffer) {
    const char *x = (const char *)tc_tensor_data(t) + (size_t)first * tc_dtype_size(t->dtype);
    if (t->dtype == TC_BOOL) return (const uint8_t *)x;
    c->isa->cast[t->dtype][TC_BOOL](buffer, x, n);
    return buffer;
}
static int64_t count_set(const tc_kcall *c, const tc_tensor *t) {
    uint8_t buffer[CHUNK];
    int64_t all = tc_tensor_numel(t), count = 0;
    for (int64_t i = 0; i < all; i += CHUNK) {
        int64_t n = all - i < CHUNK ? all - i : CHUNK;
        const uint8_t *set = as_bools(c, t, i, n, buffer);
        int32_t here = 0;
        TC_VECTOR_LOOP
        for (int64_t k = 0; k < n; k++) here += set[k] != 0; /* a file's bools may hold any byte */
        count += here;
    }
    return count;
}

static tc_status run_nonzero(tc_kcall *c) {
    const tc_tensor *t = tc_k_tensor(c, 0);
    int64_t all = tc_tensor_numel(t), count = count_set(c, t), last = t->rank - 1, width = t->rank ? t->size[last] : 1;
    uint8_t buffer[CHUNK];
    TC_TRY(c->alloc(c, 0, TC_I64, 2, (int64_t[]){count, t->rank}));
    int64_t *out = tc_tensor_data(&c->outs[0]), index[TC_MAX_RANK] = {0};
    if (!t->rank) return NULL;
    for (int64_t row = 0; row < all; row += width) { /* rows of the last dimension, in pieces */
        for (int64_t i = 0; i < width; i += CHUNK) {
            int64_t n = width - i < CHUNK ? width - i : CHUNK;
            const uint8_t *set = as_bools(c, t, row + i, n, buffer);
            for (int64_t k = 0; k < n; k++) {
                if (!set[k]) continue;
                for (int d = 0; d < last; d++) *out++ = index[d];
                *out++ = i + k;
            }
        }
        for (int d = (int)last; d-- > 0;) {
            if (++index[d] < t->size[d]) break;
            index[d] = 0;
        }
    }
    return NULL;
}
const tc_kernel tc_k_nonzero = {.name = "nonzero", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_nonzero};

/* Walks two tensors broadcast against each other: at[] are their element offsets at each position of the joint shape, in row-major order. */
typedef struct {
    int rank;
    int64_t n, size[TC_MAX_RANK], step[2][TC_MAX_RANK], index[TC_MAX_RANK], at[2];
} pairwise;

static pairwise pair_up(const tc_tensor *a, const tc_tensor *b) {
    pairwise p = {.rank = a->rank > b->rank ? a->rank : b->rank, .n = 1};
    const tc_tensor *both[2] = {a, b};
    for (int d = 0; d < p.rank; d++) {
        p.size[d] = 1;
        for (int k = 0; k < 2; k++) {
            int own = d - (p.rank - both[k]->rank);
            if (own < 0 || both[k]->size[own] == 1) continue;
            p.size[d] = both[k]->size[own];
            p.step[k][d] = both[k]->stride[own];
        }
        p.n *= p.size[d];
    }
    return p;
}

static void advance(pairwise *p) {
    for (int d = p->rank; d-- > 0;) {
        p->at[0] += p->step[0][d], p->at[1] += p->step[1][d];
        if (++p->index[d] < p->size[d]) return;
        p->at[0] -= p->step[0][d] * p->size[d], p->at[1] -= p->step[1][d] * p->size[d];
        p->index[d] = 0;
    }
}

/* masked_select with a mask of the same shape. */
typedef struct {
    uint64_t a, b;
} wide;
#define SELECT(T)                                        \
    {                                                    \
        const T *x = (const T *)tc_tensor_data(t) + i;   \
        T *to = (T *)tc_tensor_data(&c->outs[0]) + done; \
        int64_t m = 0;                                   \
        for (int64_t k = 0; k < n; k++)                  \
            if (set[k]) to[m++] = x[k];                  \
        done += m;                                       \
        break;                                           \
    }
static tc_status select_flat(tc_kcall *c, const tc_tensor *t, const tc_tensor *mask) {
    int64_t all = tc_tensor_numel(t), count = count_set(c, mask), done = 0;
    uint8_t buffer[CHUNK];
    TC_TRY(c->alloc(c, 0, t->dtype, 1, &count));
    for (int64_t i = 0; i < all; i += CHUNK) {
        int64_t n = all - i < CHUNK ? all - i : CHUNK;
        const uint8_t *set = as_bools(c, mask, i, n, buffer);
        switch (tc_dtype_size(t->dtype)) {
        case 1: SELECT(uint8_t)
        case 2: SELECT(uint16_t)
        case 4: SELECT(uint32_t)
        case 8: SELECT(uint64_t)
        default: SELECT(wide)
        }
    }
    return NULL;
}
#undef SELECT

static tc_status run_masked_select(tc_kcall *c) {
    const tc_tensor *t = tc_k_tensor(c, 0), *mask = tc_k_tensor(c, 1);
    int64_t count = 0;
    size_t size = tc_dtype_size(t->dtype);
    bool same = t->rank == mask->rank;
    for (int d = 0; d < t->rank && same; d++) same = t->size[d] == mask->size[d];
    if (same) return select_flat(c, t, mask);
    pairwise p = pair_up(t, mask);
    for (int64_t i = 0; i < p.n; i++, advance(&p)) count += is_set(mask, p.at[1]);
    TC_TRY(c->alloc(c, 0, t->dtype, 1, &count));
    char *out = tc_tensor_data(&c->outs[0]);
    const char *in = tc_tensor_data(t);
    p = pair_up(t, mask);
    for (int64_t i = 0; i < p.n; i++, advance(&p))
        if (is_set(mask, p.at[1])) memcpy(out, in + (size_t)p.at[0] * size, size), out += size;
    return NULL;
}
const tc_kernel tc_k_masked_select = {.name = "masked_select", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_masked_select};
