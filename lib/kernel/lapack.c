/* Opens LAPACK, plans scratch, moves matrices between tensors and column-major arrays, and runs a function over a batch (lapack.h). */
#include "kernel/lapack.h"

#include "kernel/shim.h"

#include <limits.h>
#include <stdio.h>

/* ---- the library ---- */
#define SHIM(name) \
    { .file = name, .symbol = "tc_lapack", .purpose = "linear algebra needs", .version = TC_LAPACK_VERSION, .lock = PTHREAD_MUTEX_INITIALIZER }
tc_status tc_lapack_open(bool fast, const tc_lapack_table **out) {
    static tc_shim reference = SHIM("tc-lapack.so"), openblas = SHIM("tc-openblas.so");
    const void *table = NULL;
    if (fast) tc_status_free(tc_shim_table(&openblas, &table));
    if (!table) TC_TRY(tc_shim_table(&reference, &table));
    *out = table;
    return NULL;
}

/* ---- plans ---- */
tc_status tc_la_plan(tc_la *j, const tc_kcall *call, const tc_tensor *like, const tc_tensor *batch_of, int tail) {
    const tc_lapack_table *t;
    TC_TRY(tc_lapack_open(call->numerics.fast, &t));
    *j = (tc_la){.call = (tc_kcall *)call, .batch = 1, .batch_of = batch_of, .batch_tail = tail};
    j->c = tc_is_complex(like->dtype) ? 2 : 1;
    j->ops = j->c == 2 ? &t->complex : &t->real;
    for (int d = 0; d + tail < batch_of->rank; d++) j->batch *= batch_of->size[d];
    return NULL;
}
tc_status tc_la_check(const tc_la *j, double rows, double cols, const char *what) {
    double most = rows > cols ? rows : cols;
    if (most * (rows < cols ? rows : cols) * 4 + most * 64 * j->c <= INT_MAX) return NULL;
    return tc_error(TC_UNSUPPORTED, "%s of %.0f by %.0f: LAPACK's workspaces would exceed %d", what, rows, cols, INT_MAX);
}
size_t tc_la_take(tc_la *j, int64_t doubles) {
    size_t at = j->doubles;
    j->doubles += ((size_t)doubles + 8) / 8 * 8;
    return at;
}
size_t tc_la_matrix(tc_la *j, int64_t rows, int64_t cols) { return tc_la_take(j, rows * cols * j->c); }
size_t tc_la_scratch(tc_status plan, const tc_la *j, int threads) {
    if (!plan) return j->batch ? j->doubles * sizeof(double) * (size_t)threads + (size_t)j->batch * sizeof(int) : 0;
    tc_status_free(plan);
    return 0;
}
static void some(void *ctx, int64_t begin, int64_t end, int worker) {
    tc_la *j = ctx;
    double *w = (double *)j->call->scratch + j->doubles * (size_t)worker;
    for (int64_t b = begin; b < end; b++) j->info[b] = j->one(j, b, w);
}
tc_status tc_la_run(tc_la *j, tc_kcall *call) {
    int threads = tc_pool_threads(call->pool);
    j->call = call;
    j->info = (int *)((double *)call->scratch + j->doubles * (size_t)threads);
    if (j->batch) tc_parallel_for(call->pool, j->batch, 1, some, j);
    return NULL;
}
int64_t tc_la_failed(const tc_la *j, char place[48]) {
    for (int64_t b = 0; b < j->batch; b++) {
        if (!j->info[b]) continue;
        if (j->batch_of->rank > j->batch_tail) snprintf(place, 48, "(Batch element %lld): ", (long long)b);
        else place[0] = 0;
        return b;
    }
    return -1;
}

/* ---- moving matrices ---- */
int64_t tc_la_offset(const tc_la *j, const tc_tensor *t, int tail, int64_t b) {
    int64_t at = t->offset;
    int n = j->batch_of->rank - j->batch_tail, own = t->rank - tail;
    for (int d = n - 1; d >= 0; d--) {
        int64_t size = j->batch_of->size[d], i = b % size;
        int k = d - (n - own);
        b /= size;
        if (k >= 0 && t->size[k] != 1) at += i * t->stride[k];
    }
    return at;
}
/* Moves `count` elements, `stride` elements apart in t from element `at` on, from or to doubles that are `step` apart. */
static void load_run(double *to, int64_t step, const tc_tensor *t, int64_t at, int64_t stride, int64_t count, bool conj) {
    const void *data = t->storage->data;
    double s = conj ? -1 : 1;
    switch (t->dtype) {
    case TC_F32:
        for (int64_t i = 0; i < count; i++) to[i * step] = (double)((const float *)data)[at + i * stride];
        break;
    case TC_F64:
        for (int64_t i = 0; i < count; i++) to[i * step] = ((const double *)data)[at + i * stride];
        break;
    case TC_C64:
        for (int64_t i = 0; i < count; i++) {
            const float *p = (const float *)data + 2 * (at + i * stride);
            to[i * step] = (double)p[0], to[i * step + 1] = s * (double)p[1];
        }
        break;
    case TC_F16:
    case TC_BF16:
        for (int64_t i = 0; i < count; i++) to[i * step] = tc_scalar_load(t->dtype, data, at + i * stride).f;
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            const double *p = (const double *)data + 2 * (at + i * stride);
            to[i * step] = p[0], to[i * step + 1] = s * p[1];
        }
    }
}
static void store_run(const double *from, int64_t step, const tc_tensor *t, int64_t at, int64_t stride, int64_t count, bool conj) {
    void *data = t->storage->data;
    double s = conj ? -1 : 1;
    switch (t->dtype) {
    case TC_F32:
        for (int64_t i = 0; i < count; i++) ((float *)data)[at + i * stride] = (float)from[i * step];
        break;
    case TC_F64:
        for (int64_t i = 0; i < count; i++) ((double *)data)[at + i * stride] = from[i * step];
        break;
    case TC_C64:
        for (int64_t i = 0; i < count; i++) {
            float *p = (float *)data + 2 * (at + i * stride);
            p[0] = (float)from[i * step], p[1] = (float)(s * from[i * step + 1]);
        }
        break;
    case TC_F16:
    case TC_BF16:
        for (int64_t i = 0; i < count; i++) tc_scalar_store(t->dtype, data, at + i * stride, tc_scalar_float(from[i * step]));
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            double *p = (double *)data + 2 * (at + i * stride);
            p[0] = from[i * step], p[1] = s * from[i * step + 1];
        }
    }
}
void tc_la_load(const tc_la *j, double *to, const tc_tensor *t, int64_t b, int rows, int cols) {
    int64_t at = tc_la_offset(j, t, 2, b), c = j->c;
    for (int i = 0; i < rows; i++) load_run(to + i * c, rows * c, t, at + i * t->stride[t->rank - 2], t->stride[t->rank - 1], cols, false);
}
void tc_la_store(const tc_la *j, const double *from, int ld, const tc_tensor *t, int64_t b, int rows, int cols) {
    int64_t at = tc_la_offset(j, t, 2, b), c = j->c;
    for (int i = 0; i < rows; i++) store_run(from + i * c, ld * c, t, at + i * t->stride[t->rank - 2], t->stride[t->rank - 1], cols, false);
}
void tc_la_load_t(const tc_la *j, double *to, const tc_tensor *t, int64_t b, int rows, int cols, bool conj) {
    int64_t at = tc_la_offset(j, t, 2, b), c = j->c;
    for (int i = 0; i < rows; i++) load_run(to + i * c * cols, c, t, at + i * t->stride[t->rank - 2], t->stride[t->rank - 1], cols, conj);
}
void tc_la_store_t(const tc_la *j, const double *from, int ld, const tc_tensor *t, int64_t b, int rows, int cols, bool conj) {
    int64_t at = tc_la_offset(j, t, 2, b), c = j->c;
    for (int i = 0; i < rows; i++) store_run(from + i * c * ld, c, t, at + i * t->stride[t->rank - 2], t->stride[t->rank - 1], cols, conj);
}
void tc_la_store_vector(const tc_la *j, const double *from, int c, const tc_tensor *t, int64_t b, int n) {
    store_run(from, c, t, tc_la_offset(j, t, 1, b), t->stride[t->rank - 1], n, false);
}
void tc_la_load_ints(const tc_la *j, int *to, const tc_tensor *t, int64_t b, int n) {
    int64_t at = tc_la_offset(j, t, 1, b);
    for (int i = 0; i < n; i++) to[i] = ((const int32_t *)t->storage->data)[at + i * t->stride[t->rank - 1]];
}
void tc_la_store_ints(const tc_la *j, const int *from, const tc_tensor *t, int64_t b, int n) {
    int64_t at = tc_la_offset(j, t, 1, b);
    for (int i = 0; i < n; i++) ((int32_t *)t->storage->data)[at + i * t->stride[t->rank - 1]] = from[i];
}
