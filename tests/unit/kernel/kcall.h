/* Calling a kernel from a test: tensors on the heap, scratch as asked, any instruction set and thread count. */
#ifndef TESTS_KCALL_H
#define TESTS_KCALL_H

#include <stdlib.h>
#include <string.h>

#include "kernel/isa.h"
#include "kernel/kernel.h"

static uint64_t kstate = 0x9E3779B97F4A7C15u;
static inline uint64_t knext(void) {
    kstate ^= kstate << 13, kstate ^= kstate >> 7, kstate ^= kstate << 17;
    return kstate * 0x2545F4914F6CDD1Du;
}
static inline double kunit(void) { return (double)(int64_t)knext() * 0x1p-63; }

/* A contiguous tensor; rank and sizes follow. Random values for floats. Freed with kfree. */
static inline tc_tensor ktensor(tc_dtype d, int rank, const int64_t *size) {
    tc_tensor t = {.dtype = d, .rank = rank};
    int64_t n = 1;
    for (int i = rank - 1; i >= 0; i--) t.size[i] = size[i], t.stride[i] = n, n *= size[i];
    t.storage = calloc(1, sizeof *t.storage);
    t.storage->data = aligned_alloc(64, ((size_t)n * tc_dtype_size(d) + 127) / 64 * 64);
    t.storage->bytes = (size_t)n * tc_dtype_size(d);
    for (int64_t i = 0; i < n; i++) {
        if (d == TC_F32) ((float *)t.storage->data)[i] = (float)kunit();
        else if (d == TC_F64) ((double *)t.storage->data)[i] = kunit();
        else memset((char *)t.storage->data + (size_t)i * tc_dtype_size(d), 0, tc_dtype_size(d));
    }
    return t;
}
/* The elements of a tensor of three to five dimensions in another layout. */
static inline tc_tensor klayout(const tc_tensor *t, bool last) {
    tc_tensor r = ktensor(t->dtype, t->rank, t->size);
    size_t e = tc_dtype_size(t->dtype);
    int64_t at[TC_MAX_RANK] = {0}, n = 1;
    if (last) tc_channels_last_strides(t->rank, t->size, r.stride);
    for (int i = 0; i < t->rank; i++) n *= t->size[i];
    for (; n > 0; n--) {
        int64_t from = 0, to = 0;
        for (int d = 0; d < t->rank; d++) from += at[d] * t->stride[d], to += at[d] * r.stride[d];
        memcpy((char *)r.storage->data + (size_t)to * e, (char *)t->storage->data + (size_t)from * e, e);
        for (int d = t->rank - 1; d >= 0 && ++at[d] == t->size[d]; d--) at[d] = 0;
    }
    return r;
}
static inline void kfree(tc_tensor *t) {
    if (!t->storage) return;
    free(t->storage->data), free(t->storage);
    t->storage = NULL;
}
static inline tc_karg karg_t(const tc_tensor *t) { return t ? (tc_karg){.kind = TC_K_TENSOR, .tensor = t} : (tc_karg){.kind = TC_K_NONE}; }
static inline tc_karg karg_i(int64_t v) { return (tc_karg){.kind = TC_K_NUMBER, .num = tc_scalar_int(v)}; }
static inline tc_karg karg_f(double v) { return (tc_karg){.kind = TC_K_NUMBER, .num = tc_scalar_float(v)}; }
static inline tc_karg karg_is(const int64_t *v, int n) { return (tc_karg){.kind = TC_K_INTS, .n = n, .ints = v}; }

/* Scratch of n bytes, behind which lie bytes that no kernel may write: kguard says whether they are as they were. */
enum { KGUARD = 1 << 20 };
static inline void *kscratch(size_t n) {
    char *p = aligned_alloc(64, (n + KGUARD + 63) / 64 * 64);
    memset(p, 0xa5, n), memset(p + n, 0x5a, KGUARD);
    return p;
}
static inline tc_status kguard(const tc_kernel *k, const void *scratch, size_t n) {
    for (size_t i = 0; i < KGUARD; i++)
        if (((const uint8_t *)scratch)[n + i] != 0x5a)
            return tc_error(TC_CONTENT, "%s writes %zu bytes past its %zu bytes of scratch", k->name, i + 1, n);
    return NULL;
}

/* The call as the caller filled it, with a pool, the row's primitives and scratch. */
static inline tc_status krun_call(const tc_kernel *k, tc_kcall c, tc_isa_row row, int threads) {
    tc_pool *pool = NULL;
    tc_tensor *outs = c.outs;
    tc_status s = tc_pool_create(threads, &pool);
    if (s) return s;
    c.pool = pool, c.isa = tc_isa_ops_of(row);
    size_t n = k->scratch ? k->scratch(&c, threads) : 0;
    c.scratch = kscratch(n);
    s = k->run(&c);
    if (!s) s = kguard(k, c.scratch, n);
    int arg;
    size_t bytes = !s && k->pack_bytes ? k->pack_bytes(&c, &arg) : 0;
    if (bytes) { /* the same from an argument that was packed before */
        size_t size = tc_tensor_bytes(&outs[0]);
        void *packed = aligned_alloc(64, (bytes + 63) / 64 * 64), *want = malloc(size + 1);
        memcpy(want, tc_tensor_data(&outs[0]), size);
        memset(tc_tensor_data(&outs[0]), 0xa5, size), memset(packed, 0xa5, bytes);
        k->pack(&c, packed);
        c.packed = packed;
        memset(c.scratch, 0xa5, n);
        s = k->run(&c);
        if (!s && memcmp(want, tc_tensor_data(&outs[0]), size)) s = tc_error(TC_CONTENT, "%s differs with a packed argument", k->name);
        free(packed), free(want);
        if (!s) s = kguard(k, c.scratch, n);
    }
    free(c.scratch);
    tc_pool_destroy(pool);
    return s;
}
static inline tc_status krun(const tc_kernel *k, const tc_karg *args, int nargs, tc_tensor *outs, int nouts, tc_isa_row row, int threads,
                             struct tc_generator *gen) {
    return krun_call(k, (tc_kcall){.args = args, .nargs = nargs, .outs = outs, .nouts = nouts, .gen = gen}, row, threads);
}

#endif
