/* hash_tensor: the exclusive or along dimensions of the elements' bits, floats widened to float64, integers sign-extended to 64 bits. */
#include "kernel/hash.h"

#include <string.h>

static uint64_t bits_of(tc_dtype d, tc_scalar s) {
    if (!tc_is_float(d)) return (uint64_t)s.i;
    double v = tc_scalar_to_double(s);
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static tc_status run_hash(tc_kcall *c) {
    const tc_tensor *t = tc_k_tensor(c, 0);
    int64_t n = tc_tensor_numel(t), index[TC_MAX_RANK] = {0}, step[TC_MAX_RANK] = {0}, at = 0, width = 1;
    uint64_t *out = tc_tensor_data(&c->outs[0]), over = c->args[1].n ? 0 : ~UINT64_C(0);
    for (int k = 0; k < c->args[1].n; k++) over |= UINT64_C(1) << (c->args[1].ints[k] < 0 ? c->args[1].ints[k] + t->rank : c->args[1].ints[k]);
    for (int d = t->rank; d-- > 0;) {
        if (over >> d & 1) continue;
        step[d] = width;
        width *= t->size[d];
    }
    memset(out, 0, (size_t)tc_tensor_numel(&c->outs[0]) * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        out[at] ^= bits_of(t->dtype, tc_scalar_load(t->dtype, t->storage->data, t->offset + i));
        for (int d = t->rank; d-- > 0;) {
            at += step[d];
            if (++index[d] < t->size[d]) break;
            at -= step[d] * t->size[d];
            index[d] = 0;
        }
    }
    return NULL;
}
const tc_kernel tc_k_hash = {.name = "hash", .flags = TC_KF_CONTIGUOUS, .run = run_hash};
