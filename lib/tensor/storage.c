/* Reference-counted bytes: allocated here, mapped by a reader, or lent by a caller with a deleter. */
#include "base/ints.h"
#include "tensor/tensor.h"

#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

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
    size_t want = bytes ? bytes : 1, unit = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : 64;
    if (want > PTRDIFF_MAX - HUGE_PAGE || posix_memalign(&p, unit, tc_pad64(want)))
        return tc_error(TC_ENV, "cannot allocate %zu bytes for a tensor", bytes);
    if (unit == HUGE_PAGE) madvise(p, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* advice: what refuses it works too */
    *out_storage = tc_storage_wrap(p, bytes, free_data, NULL);
    return NULL;
}

static void unmap_data(void *ctx, void *data) { munmap(data, (size_t)(uintptr_t)ctx); }

tc_status tc_storage_zeros(size_t bytes, tc_storage **out_storage) {
    if (bytes < 2 * HUGE_PAGE || bytes > PTRDIFF_MAX - 2 * HUGE_PAGE) {
        TC_TRY(tc_storage_alloc(bytes, out_storage));
        memset((*out_storage)->data, 0, bytes);
        return NULL;
    }
    /* fresh pages, from a multiple of HUGE_PAGE on */
    const size_t want = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    char *p = mmap(NULL, want + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return tc_error(TC_ENV, "cannot allocate %zu bytes for a tensor", bytes);
    const size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(p, before);
    munmap(p + before + want, HUGE_PAGE - before);
    madvise(p + before, want, MADV_HUGEPAGE);
    *out_storage = tc_storage_wrap(p + before, bytes, unmap_data, (void *)(uintptr_t)want);
    return NULL;
}

tc_storage *tc_storage_retain(tc_storage *s) {
    __atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

void tc_storage_release(tc_storage *s) {
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    const bool embedded = s->embedded;
    if (s->deleter) s->deleter(s->ctx, s->data);
    if (!embedded) free(s);
}

bool tc_storage_swap(tc_storage *a, tc_storage *b) {
    if (a == b || a->bytes != b->bytes || a->read_only || b->read_only || a->embedded || b->embedded) return false;
    const tc_storage was = *a;
    a->data = b->data, a->deleter = b->deleter, a->ctx = b->ctx;
    b->data = was.data, b->deleter = was.deleter, b->ctx = was.ctx;
    return true;
}
