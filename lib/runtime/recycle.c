/* A list of free blocks, ordered by size. A request takes the smallest that is large enough, if it wastes at most a quarter. Blocks from 4 MiB on are
 * backed by huge pages. A block holds the storage that lends it, so that a program that runs again and again allocates nothing. */
#include "runtime/recycle.h"

#include "base/ints.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_HELD ((size_t)1 << 30) /* bytes of free blocks */
enum { MAX_FREE = 16384 };         /* free blocks */

typedef struct {
    recycler *of;
    size_t bytes;
    void *data;
    tc_storage lent;
} block;

struct recycler {
    pthread_mutex_t lock;
    int refs;
    TC_VEC(block *) free; /* by size, ascending */
    size_t held;
    bool closed;
};

recycler *recycler_create(void) {
    recycler *r = tc_xcalloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->refs = 1;
    return r;
}

static void drop(block *b) {
    free(b->data);
    free(b);
}

static void unref(recycler *r) {
    pthread_mutex_lock(&r->lock);
    bool last = --r->refs == 0;
    pthread_mutex_unlock(&r->lock);
    if (!last) return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void recycler_release(recycler *r) {
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    r->closed = true;
    for (size_t i = 0; i < r->free.len; i++) drop(r->free.data[i]);
    tc_vec_free(&r->free);
    pthread_mutex_unlock(&r->lock);
    unref(r);
}

/* The first free block with at least so many bytes. */
static size_t first_of_size(const recycler *r, size_t bytes) {
    size_t from = 0, to = r->free.len;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (r->free.data[middle]->bytes < bytes) from = middle + 1;
        else to = middle;
    }
    return from;
}

static void release_block(void *ctx, void *data) {
    block *b = ctx;
    recycler *r = b->of;
    (void)data;
    pthread_mutex_lock(&r->lock);
    bool keep = !r->closed && r->held + b->bytes <= MAX_HELD && r->free.len < MAX_FREE;
    if (keep) {
        const size_t at = first_of_size(r, b->bytes), behind = r->free.len - at;
        tc_vec_push(&r->free, b);
        memmove(r->free.data + at + 1, r->free.data + at, behind * sizeof b);
        r->free.data[at] = b;
        r->held += b->bytes;
    }
    pthread_mutex_unlock(&r->lock);
    if (!keep) drop(b);
    unref(r);
}

/* The size of a block for so many bytes: whole pages, if it would fill one. */
static size_t block_bytes(size_t bytes) { return bytes < 4096 ? tc_pad64(bytes ? bytes : 1) : memory_pages(bytes); }

static block *take_free(recycler *r, size_t bytes) {
    block *found = NULL;
    size_t want = block_bytes(bytes);
    pthread_mutex_lock(&r->lock);
    const size_t at = first_of_size(r, bytes);
    if (at < r->free.len && r->free.data[at]->bytes <= want + want / 4) {
        found = r->free.data[at];
        r->held -= found->bytes;
        memmove(r->free.data + at, r->free.data + at + 1, (--r->free.len - at) * sizeof found);
    }
    r->refs++; /* each block in use holds a reference */
    pthread_mutex_unlock(&r->lock);
    return found;
}

static block *allocate(recycler *r, size_t bytes) {
    const size_t n = block_bytes(bytes), unit = bytes < 4096 ? 64 : memory_page(bytes);
    block *b = tc_xcalloc(1, sizeof *b);
    *b = (block){.of = r, .bytes = n, .data = aligned_alloc(unit, n)};
    if (!b->data) {
        free(b);
        return NULL;
    }
    if (unit > 4096) madvise(b->data, n, MADV_HUGEPAGE);
    return b;
}

tc_status recycler_tensor(recycler *r, tc_dtype dtype, int rank, const int64_t *size, tc_tensor *out) {
    size_t bytes = tc_dtype_size(dtype);
    for (int d = 0; d < rank; d++)
        if (size[d] < 0 || !tc_mul_size(bytes, (size_t)size[d], &bytes)) return tc_error(TC_CONTENT, "a tensor of impossible size");
    block *b = take_free(r, bytes);
    if (!b) b = allocate(r, bytes);
    if (!b) {
        unref(r);
        return tc_error(TC_ENV, "no memory: %zu bytes", bytes);
    }
    b->lent = (tc_storage){.data = b->data, .bytes = b->bytes, .refs = 1, .deleter = release_block, .ctx = b, .embedded = true};
    *out = (tc_tensor){.storage = &b->lent, .dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++) out->size[d] = size[d];
    tc_contiguous_strides(rank, size, out->stride);
    return NULL;
}
