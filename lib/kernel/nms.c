/* Greedy non-maximum suppression: boxes in the order of descending score (stable); a box is kept if its overlap with no box kept before exceeds the
 * threshold. */
#include "kernel/nms.h"

#include "kernel/sort_keys.h"

#include <string.h>

static double at(const tc_tensor *t, int64_t i) { return tc_scalar_to_double(tc_scalar_load(t->dtype, t->storage->data, t->offset + i)); }
static double greater(double a, double b) { return a > b ? a : b; }
static double lesser(double a, double b) { return a < b ? a : b; }

/* Intersection over union of two boxes (x1, y1, x2, y2), each step rounded to float32 unless the boxes are float64. */
static double overlap(const double *a, const double *b, bool wide) {
    double w = greater(0, lesser(a[2], b[2]) - greater(a[0], b[0])), h = greater(0, lesser(a[3], b[3]) - greater(a[1], b[1]));
    if (wide) {
        double in = w * h;
        return in / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - in);
    }
    float in = (float)w * (float)h, one = (float)(a[2] - a[0]) * (float)(a[3] - a[1]), two = (float)(b[2] - b[0]) * (float)(b[3] - b[1]);
    float both = one + two;
    return in / (both - in);
}

static tc_status run_nms(tc_kcall *c) {
    const tc_tensor *boxes = tc_k_tensor(c, 0), *scores = tc_k_tensor(c, 1);
    int64_t n = tc_tensor_numel(scores), kept = 0;
    double threshold = tc_k_float(c, 2);
    bool wide = boxes->dtype == TC_F64;
    tc_order *order = c->scratch;
    double *box = (double *)(void *)(order + 2 * n);
    int64_t *keep = (int64_t *)(void *)(box + 4 * n);
    int bits = tc_order_keys(scores, 0, 1, n, true, order);
    tc_order_sort(order, order + n, n, bits);
    for (int64_t i = 0; i < 4 * n; i++) box[i] = at(boxes, i);
    for (int64_t i = 0; i < n; i++) {
        bool free_of_all = true;
        for (int64_t k = 0; k < kept && free_of_all; k++) free_of_all = !(overlap(box + 4 * keep[k], box + 4 * order[i].index, wide) > threshold);
        if (free_of_all) keep[kept++] = (int64_t)order[i].index;
    }
    TC_TRY(c->alloc(c, 0, TC_I64, 1, &kept));
    if (kept) memcpy(tc_tensor_data(&c->outs[0]), keep, (size_t)kept * sizeof *keep);
    return NULL;
}
static size_t scratch_nms(const tc_kcall *c, int threads) {
    (void)threads;
    return (size_t)tc_tensor_numel(tc_k_tensor(c, 1)) * (2 * sizeof(tc_order) + 4 * sizeof(double) + sizeof(int64_t));
}
const tc_kernel tc_k_nms = {.name = "nms", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_nms, .scratch = scratch_nms};
