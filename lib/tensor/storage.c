/* Reference-counted bytes: allocated here, mapped by a reader, or lent by a caller with a deleter. */
#include "tensor/tensor.h"


static void free_data(void *ctx, void *data) {
    (void)ctx;
    free(data);
}

tc_storage *tc_storage_wrap(void *data, size_t bytes, void (*deleter)(void *, void *), void *ctx) {
    tc_storage *s = tc_xcalloc(1, sizeof *s);
    *s = (tc_storage){.data = data, .bytes = bytes, .refs = 1, .deleter = deleter, .ctx = ctx};
    return s;
}

tc_status tc_storage_alloc(size_t bytes, tc_storage **out_storage) {
    void *p = NULL;
    size_t want = bytes ? bytes : 1;
    if (want > PTRDIFF_MAX - 64 || posix_memalign(&p, 64, (want + 63) / 64 * 64))
        return tc_error(TC_ENV, "cannot allocate %zu bytes for a tensor", bytes);
    *out_storage = tc_storage_wrap(p, bytes, free_data, NULL);
    return NULL;
}

tc_storage *tc_storage_retain(tc_storage *s) {
    __atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

void tc_storage_release(tc_storage *s) {
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (s->deleter) s->deleter(s->ctx, s->data);
    free(s);
}
