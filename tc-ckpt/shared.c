/* Finds tensors that share memory (shared.h), by where their elements lie in the files:
 *
 *     a  [=========]    stored
 *     b  [=========]    the same as a, if it is written alike: also when both are cast or transposed
 *     c     [= = ]      within a: stored as its view, if both are written as they are */
#include "tc-ckpt/shared.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void find_equal(const tc_ckpt *c, tc_head *heads, const change *changes, size_t n) {
    tc_map seen = {0};
    tc_buf key = {0};
    for (size_t i = 0; i < n; i++) {
        const change *ch = &changes[i];
        const tc_ckpt_head h = tc_ckpt_entry_head(c, ch->from);
        if (h.offset < 0 || h.parts != 1) continue;
        key.len = 0;
        tc_buf_printf(&key, "%s %lld %d %d", h.file, (long long)h.offset, (int)h.dtype, (int)heads[i].dtype);
        for (int d = 0; d < h.rank; d++)
            tc_buf_printf(&key, " %lld,%lld,%d", (long long)h.size[d], h.stride ? (long long)h.stride[d] : -1, ch->perm[d]);
        void **first = tc_map_put(&seen, key.data, key.len);
        if (*first) heads[i].same_as = (size_t)(uintptr_t)*first - 1;
        else *first = (void *)(uintptr_t)(i + 1);
    }
    tc_buf_free(&key);
    tc_map_free(&seen);
}

/* Bytes of a file that a tensor's elements lie in, gaps included. */
typedef struct {
    const char *file;
    int64_t begin, end;
    tc_dtype dtype;
    bool contiguous;
    const int64_t *stride;
    size_t head;
} extent;

/* False: the tensor has no elements, does not lie in one piece of a file, or is written otherwise than it lies there. */
static bool extent_of(const tc_ckpt *c, const tc_head *heads, const change *changes, size_t i, extent *out) {
    const tc_ckpt_head h = tc_ckpt_entry_head(c, changes[i].from);
    int64_t last = 0, step = 1;
    if (h.offset < 0 || h.parts != 1 || !h.stride || h.dtype != heads[i].dtype || heads[i].same_as != i) return false;
    *out = (extent){h.file, h.offset, 0, h.dtype, true, h.stride, i};
    for (int d = h.rank - 1; d >= 0; d--) {
        if (!h.size[d] || changes[i].perm[d] != d) return false;
        out->contiguous = out->contiguous && (h.size[d] == 1 || h.stride[d] == step);
        last += (h.size[d] - 1) * h.stride[d];
        step *= h.size[d];
    }
    out->end = h.offset + (last + 1) * (int64_t)tc_dtype_size(h.dtype);
    return true;
}

/* By place; of those that begin together the longest and contiguous first, then by name. */
static int by_place(const void *a, const void *b) {
    const extent *x = a, *y = b;
    const int file = strcmp(x->file, y->file);
    if (file) return file;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    if (x->contiguous != y->contiguous) return x->contiguous ? -1 : 1;
    return x->head < y->head ? -1 : x->head > y->head;
}

static bool is_within(const extent *e, const extent *of) {
    return of && !strcmp(e->file, of->file) && e->dtype == of->dtype && e->begin >= of->begin && e->end <= of->end &&
           (e->begin - of->begin) % (int64_t)tc_dtype_size(e->dtype) == 0;
}

void find_shared(const tc_ckpt *c, tc_head *heads, const change *changes, size_t n) {
    extent *all = tc_xcalloc(n + 1, sizeof *all);
    const extent *stored = NULL;
    size_t m = 0;
    find_equal(c, heads, changes, n);
    for (size_t i = 0; i < n; i++) m += extent_of(c, heads, changes, i, &all[m]);
    if (m) qsort(all, m, sizeof *all, by_place);
    for (size_t k = 0; k < m; k++) {
        const extent *e = &all[k];
        if (is_within(e, stored)) {
            heads[e->head].same_as = stored->head;
            heads[e->head].at = (e->begin - stored->begin) / (int64_t)tc_dtype_size(e->dtype);
            heads[e->head].stride = e->stride;
        } else if (e->contiguous) stored = e;
    }
    for (size_t i = 0; i < n; i++) { /* what equals a view is the same view */
        const tc_head *other = &heads[heads[i].same_as];
        if (other->stride && !heads[i].stride) heads[i].same_as = other->same_as, heads[i].at = other->at, heads[i].stride = other->stride;
    }
    free(all);
}

/* Dimensions by falling stride. False: the elements lie in row-major order, or with gaps or overlaps. */
static bool order_of(const tc_ckpt_head *h, int *out_perm) {
    int64_t step = 1, usual[TC_MAX_RANK];
    tc_contiguous_strides(h->rank, h->size, usual);
    if (h->parts != 1 || !h->stride || !memcmp(h->stride, usual, (size_t)h->rank * sizeof *usual)) return false;
    for (int d = 0; d < h->rank; d++) {
        int k = d;
        for (; k > 0 && h->stride[out_perm[k - 1]] < h->stride[d]; k--) out_perm[k] = out_perm[k - 1];
        out_perm[k] = d;
    }
    for (int k = h->rank - 1; k >= 0; k--) {
        const int d = out_perm[k];
        if (!h->size[d] || (h->size[d] != 1 && h->stride[d] != step)) return false;
        step *= h->size[d];
    }
    return true;
}

void keep_order(const tc_ckpt *c, tc_head *heads, change *changes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const tc_ckpt_head h = tc_ckpt_entry_head(c, changes[i].from);
        int perm[TC_MAX_RANK];
        bool moved = heads[i].same_as != i;
        for (int d = 0; d < h.rank; d++) moved = moved || changes[i].perm[d] != d;
        if (moved || !order_of(&h, perm)) continue;
        memcpy(changes[i].perm, perm, (size_t)h.rank * sizeof *perm);
        heads[i].stride = h.stride;
    }
    for (size_t i = 0; i < n; i++)
        if (!heads[i].stride) heads[i].stride = heads[heads[i].same_as].stride;
}
