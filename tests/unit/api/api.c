/* tc.h as a C program sees it: arrays that own or borrow, DLPack there and back, a model run from a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tc.h"
#include "tensor/dlpack.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void count(void *ctx, void *data) {
    (void)data;
    ++*(int *)ctx;
}

static void test_blob_is_given_back_once(void **state) {
    (void)state;
    float data[6] = {0, 1, 2, 3, 4, 5};
    int calls = 0;
    tc_array *a;
    assert_null(tc_array_from_blob(data, "f32", 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, count, &calls, &a));
    assert_ptr_equal(tc_array_data(a), data);
    assert_int_equal(tc_array_size(a, 0), 3);
    assert_int_equal(tc_array_stride(a, 1), 3);
    assert_string_equal(tc_array_dtype(a), "f32");
    tc_array_release(tc_array_retain(a));
    assert_int_equal(calls, 0);
    tc_array_release(a);
    assert_int_equal(calls, 1);
    tc_failure *f = tc_array_from_blob(data, "f31", 1, (int64_t[]){6}, NULL, count, &calls, &a);
    assert_int_equal(tc_failure_code(f), 2);
    assert_int_equal(calls, 2); /* at once on failure */
    tc_failure_release(f);
}

static void test_dlpack_there_and_back(void **state) {
    (void)state;
    float data[6] = {0, 1, 2, 3, 4, 5};
    int calls = 0;
    tc_array *a, *b;
    struct DLManagedTensorVersioned *m;
    assert_null(tc_array_from_blob(data, "f32", 2, (int64_t[]){2, 3}, NULL, count, &calls, &a));
    assert_null(tc_array_to_dlpack(a, &m));
    tc_array_release(a);
    assert_int_equal(calls, 0); /* the managed tensor holds it */
    assert_int_equal(m->version.major, 1);
    assert_int_equal(m->dl_tensor.dtype.code, 2);
    assert_int_equal(m->dl_tensor.dtype.bits, 32);
    assert_int_equal(m->dl_tensor.strides[0], 3);
    assert_null(tc_array_from_dlpack(m, &b));
    assert_ptr_equal(tc_array_data(b), data);
    tc_array_release(b);
    assert_int_equal(calls, 1);
}

static void drop(struct DLManagedTensorVersioned *m) { ++*(int *)m->manager_ctx; }

static void test_foreign_dlpack_is_checked(void **state) {
    (void)state;
    double data[4] = {0};
    int64_t size[2] = {2, 2}, stride[2] = {-2, 1};
    int calls = 0;
    tc_array *a;
    struct DLManagedTensorVersioned m = {.version = {1, 0},
                                         .manager_ctx = &calls,
                                         .deleter = drop,
                                         .dl_tensor = {.data = data, .device = {1, 0}, .ndim = 2, .dtype = {2, 64, 1}, .shape = size}};
    struct DLManagedTensorVersioned gpu = m, lanes = m, back = m, skewed = m;
    assert_null(tc_array_from_dlpack(&m, &a)); /* strides NULL: contiguous */
    assert_int_equal(tc_array_stride(a, 0), 2);
    tc_array_release(a);
    assert_int_equal(calls, 1);
    gpu.dl_tensor.device.device_type = 2;
    lanes.dl_tensor.dtype.lanes = 4;
    back.dl_tensor.strides = stride;
    skewed.dl_tensor.byte_offset = 1;
    struct DLManagedTensorVersioned *bad[] = {&gpu, &lanes, &back, &skewed};
    for (int i = 0; i < 4; i++) {
        tc_failure *f = tc_array_from_dlpack(bad[i], &a);
        assert_int_equal(tc_failure_code(f), 5);
        tc_failure_release(f);
        assert_int_equal(calls, 2 + i); /* taken over, so given back */
    }
}

/* What was lent as read-only is lent on as read-only, and a run that would write to it is refused before it begins. */
static void test_read_only_memory_is_not_written(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT");
    static const char *const expect[] = {"input x is read-only, and the program writes to it", "the array for output out.0 is read-only"};
    float cache[48] = {0}, data[8] = {0};
    int64_t pos = 0, sizes[3] = {2, 6, 4}, size[2] = {2, 4}, one = 1;
    int calls = 0;
    char path[512];
    struct DLManagedTensorVersioned *again, lent = {.version = {1, 0},
                                                    .manager_ctx = &calls,
                                                    .deleter = drop,
                                                    .flags = 1,
                                                    .dl_tensor = {.data = data, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = size}};
    tc_model *m;
    tc_array *in[3], *y = NULL, *held;
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/input_mutation.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_null(tc_array_from_blob(cache, "f32", 3, sizes, NULL, NULL, NULL, &in[0]));
    assert_null(tc_array_from_blob(&pos, "i64", 1, &one, NULL, NULL, NULL, &in[2]));
    assert_null(tc_array_from_dlpack(&lent, &held));
    assert_null(tc_array_to_dlpack(held, &again));
    assert_int_equal(again->flags & 1, 1);
    again->deleter(again);
    for (int out = 0; out < 2; out++) {
        if (out) assert_null(tc_array_empty("f32", 2, size, &in[1]));
        else in[1] = tc_array_retain(held);
        y = out ? held : NULL;
        tc_failure *f = tc_model_run(m, in, 3, &y, 1);
        assert_int_equal(tc_failure_code(f), 2);
        assert_string_equal(tc_failure_message(f), expect[out]);
        tc_failure_release(f);
        tc_array_release(in[1]);
    }
    tc_array_release(held);
    tc_array_release(in[0]);
    tc_array_release(in[2]);
    assert_int_equal(calls, 1);
    tc_model_close(m);
}

static void test_a_model_runs(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT");
    char path[512];
    tc_model *m;
    tc_array *x, *y = NULL, *z = NULL;
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/mlp.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_int_equal(tc_model_input_count(m), 1);
    assert_string_equal(tc_model_input_name(m, 0), "x");
    assert_string_equal(tc_model_input_type(m, 0), "f32[s77, 16]");
    assert_null(tc_array_empty("f32", 2, (int64_t[]){3, 16}, &x));
    memset(tc_array_data(x), 0, 3 * 16 * 4);
    assert_null(tc_model_run(m, &x, 1, &y, 1));
    assert_int_equal(tc_array_size(y, 0), 3);
    assert_int_equal(tc_array_size(y, 1), 10);
    assert_null(tc_array_empty("f32", 2, (int64_t[]){3, 10}, &z));
    assert_null(tc_model_run(m, &x, 1, &z, 1)); /* written into */
    assert_memory_equal(tc_array_data(y), tc_array_data(z), 3 * 10 * 4);
    tc_array *wrong;
    assert_null(tc_array_empty("f32", 2, (int64_t[]){3, 15}, &wrong));
    tc_failure *f = tc_model_run(m, &wrong, 1, &z, 1);
    assert_int_equal(tc_failure_code(f), 3);
    tc_failure_release(f);
    tc_array_release(wrong);
    tc_model_close(m);
    assert_int_equal(tc_array_size(y, 1), 10); /* results outlive the model */
    tc_array_release(x);
    tc_array_release(y);
    tc_array_release(z);
    f = tc_model_open("/nonexistent.pt2", NULL, 1, &m);
    assert_int_equal(tc_failure_code(f), 1);
    tc_failure_release(f);
}

enum { ALL_TRIED = 3600 }; /* seconds in which every choice has had all its runs, on any machine */
static int computes_nothing(void *ctx, int threads, int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
                            int64_t b_row, int64_t b_col, float *c, int64_t c_row) {
    (void)threads, (void)k, (void)a, (void)a_row, (void)a_col, (void)b, (void)b_row, (void)b_col;
    __atomic_add_fetch((int *)ctx, 1, __ATOMIC_RELAXED);
    for (int64_t i = 0; i < m; i++) memset(c + i * c_row, 0, (size_t)n * 4);
    return 0;
}
/* A registered product is tried; with other bits it is taken only where that is allowed. */
static void test_tuning_tries_registered_products(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT");
    char path[512];
    tc_model *m;
    tc_array *x, *wrong, *y = NULL, *z = NULL;
    int calls = 0;
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/mlp.pt2", root ? root : ".");
    assert_null(tc_array_empty("f32", 2, (int64_t[]){256, 16}, &x));
    for (int i = 0; i < 256 * 16; i++) ((float *)tc_array_data(x))[i] = (float)(i % 7 - 3);
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_null(tc_model_run(m, &x, 1, &y, 1));
    tc_failure *f = tc_model_tune(m, &x, 1, 0.1, 0);
    assert_int_equal(tc_failure_code(f), 2); /* it ran */
    tc_failure_release(f);
    tc_model_close(m);
    f = tc_gemm_register(NULL, NULL);
    assert_int_equal(tc_failure_code(f), 2);
    tc_failure_release(f);
    assert_null(tc_gemm_register(computes_nothing, &calls));
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_null(tc_array_empty("f32", 2, (int64_t[]){256, 15}, &wrong));
    f = tc_model_tune(m, &wrong, 1, 2, 0);
    assert_int_equal(tc_failure_code(f), 3);
    tc_failure_release(f);
    tc_array_release(wrong);
    assert_null(tc_model_tune(m, &x, 1, ALL_TRIED, 0)); /* what failed has tuned nothing */
    assert_true(calls > 0);
    calls = 0;
    assert_null(tc_model_run(m, &x, 1, &z, 1));
    assert_memory_equal(tc_array_data(y), tc_array_data(z), 256 * 10 * 4);
    assert_int_equal(calls, 0);
    tc_model_close(m);
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_null(tc_model_tune(m, &x, 1, ALL_TRIED, 1));
    calls = 0;
    assert_null(tc_model_run(m, &x, 1, &z, 1));
    assert_true(calls > 0);
    tc_model_close(m);
    tc_array_release(x);
    tc_array_release(y);
    tc_array_release(z);
}

/* ---- threads ---- */
typedef struct {
    tc_model *m;
    tc_array *x;
    const float *want[2]; /* with the old weights and with the new */
    int wrong;
} runner;
static void *run_often(void *ctx) {
    runner *r = ctx;
    for (int i = 0; i < 200; i++) {
        tc_array *y = NULL;
        tc_failure *f = tc_model_run(r->m, &r->x, 1, &y, 1);
        if (f) {
            r->wrong++;
            tc_failure_release(f);
            continue;
        }
        const void *got = tc_array_data(y);
        r->wrong += memcmp(got, r->want[0], 3 * 10 * 4) && memcmp(got, r->want[1], 3 * 10 * 4);
        tc_array_release(y);
    }
    return NULL;
}

/* A buffer that runs change is a copy of the array that was given. */
static void test_given_buffers_are_copied(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT"), *name = "n";
    char path[512];
    tc_model *m;
    tc_array *in[2], *n, *out[3] = {NULL};
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/linalg_effects.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_null(tc_array_empty("f32", 0, NULL, &n));
    *(float *)tc_array_data(n) = 5;
    for (int i = 0; i < 2; i++) {
        assert_null(tc_array_empty("f32", 3, (int64_t[]){2, 3, 3}, &in[i]));
        for (int k = 0; k < 18; k++) ((float *)tc_array_data(in[i]))[k] = k % 9 % 4 ? 0 : 1;
    }
    assert_null(tc_model_set_weights(m, &name, &n, 1));
    assert_null(tc_model_run(m, in, 2, out, tc_model_output_count(m)));
    assert_true(*(float *)tc_array_data(n) == 5);
    for (int i = 0; i < 3; i++) tc_array_release(out[i]);
    for (int i = 0; i < 2; i++) tc_array_release(in[i]);
    tc_array_release(n);
    tc_model_close(m);
}

/* Eight threads share a model whose inputs are read-only while two weights change to and fro: every result is that of all the old ones or of all the new. */
static void test_threads_share_a_model(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT"), *names[] = {"layers.2.bias", "layers.0.bias", "nothing"};
    char path[512];
    tc_model *m;
    tc_array *x, *y[2] = {NULL, NULL}, *bias[2][2];
    runner r[8];
    pthread_t thread[8];
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/mlp.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 1, &m));
    float *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 48; i++) page[i] = 0.1f * (float)(i - 20);
    mprotect(page, 4096, PROT_READ);
    assert_null(tc_array_from_blob(page, "f32", 2, (int64_t[]){3, 16}, NULL, NULL, NULL, &x));
    for (int v = 0; v < 2; v++)
        for (int k = 0; k < 2; k++) {
            const int64_t n = k ? 64 : 10;
            assert_null(tc_array_empty("f32", 1, &n, &bias[v][k]));
            for (int64_t i = 0; i < n; i++) ((float *)tc_array_data(bias[v][k]))[i] = (float)v + 0.01f * (float)i;
        }
    for (int v = 1; v >= 0; v--) {
        assert_null(tc_model_set_weights(m, names, bias[v], 2));
        assert_null(tc_model_run(m, &x, 1, &y[v], 1));
    }
    assert_memory_not_equal(tc_array_data(y[0]), tc_array_data(y[1]), 3 * 10 * 4);
    for (int i = 0; i < 8; i++) {
        r[i] = (runner){.m = m, .x = x, .want = {tc_array_data(y[0]), tc_array_data(y[1])}};
        assert_int_equal(pthread_create(&thread[i], NULL, run_often, &r[i]), 0);
    }
    for (int i = 0; i < 100; i++) assert_null(tc_model_set_weights(m, names, bias[i % 2], 2));
    for (int i = 0; i < 8; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(r[i].wrong, 0);
    }
    /* all or none: the second does not fit */
    tc_array *pair[2] = {bias[0][0], bias[0][0]}, *z = NULL;
    tc_failure *f = tc_model_set_weights(m, names, pair, 2);
    assert_int_equal(tc_failure_code(f), 3);
    tc_failure_release(f);
    f = tc_model_set_weights(m, names + 2, pair, 1);
    assert_int_equal(tc_failure_code(f), 3);
    tc_failure_release(f);
    assert_null(tc_model_run(m, &x, 1, &z, 1));
    assert_memory_equal(tc_array_data(z), tc_array_data(y[1]), 3 * 10 * 4);
    tc_model_close(m);
    tc_array_release(z);
    tc_array_release(x);
    for (int v = 0; v < 2; v++) {
        tc_array_release(y[v]);
        for (int k = 0; k < 2; k++) tc_array_release(bias[v][k]);
    }
    munmap(page, 4096);
}

/* Sixteen threads fail at once, each in its own way: every message is that thread's own. */
typedef struct {
    tc_model *m;
    int number, wrong;
} failing;
static void *fail_often(void *ctx) {
    failing *f = ctx;
    char path[64], size[64];
    snprintf(path, sizeof path, "/nonexistent-%d.pt2", f->number);
    snprintf(size, sizeof size, "x.size(1)=%d, expected 16", 100 + f->number);
    tc_array *x;
    if (tc_array_empty("f32", 2, (int64_t[]){3, 100 + f->number}, &x)) return NULL;
    for (int i = 0; i < 100; i++) {
        tc_model *none;
        tc_array *y = NULL;
        tc_failure *open = tc_model_open(path, NULL, 1, &none), *run = tc_model_run(f->m, &x, 1, &y, 1);
        f->wrong += !open || tc_failure_code(open) != 1 || !strstr(tc_failure_message(open), path);
        f->wrong += !run || tc_failure_code(run) != 3 || !strstr(tc_failure_message(run), size);
        tc_failure_release(open);
        tc_failure_release(run);
    }
    tc_array_release(x);
    return NULL;
}
static void test_threads_fail(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT");
    char path[512];
    failing f[16];
    pthread_t thread[16];
    tc_model *m;
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/mlp.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 1, &m));
    for (int i = 0; i < 16; i++) {
        f[i] = (failing){.m = m, .number = i, .wrong = 0};
        assert_int_equal(pthread_create(&thread[i], NULL, fail_often, &f[i]), 0);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(f[i].wrong, 0);
    }
    tc_model_close(m);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
static _Atomic long allocations;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void *malloc(size_t n) {
    allocations++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    allocations++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    allocations++;
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n) {
    allocations++;
    return __libc_memalign(align, n);
}

/* After the first run at its sizes a model takes no memory, where the results have theirs. */
static void test_runs_allocate_nothing(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT");
    char path[512];
    tc_model *m;
    tc_array *x[2], *y[2] = {NULL, NULL};
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/mlp.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 2, &m));
    for (int k = 0; k < 2; k++) {
        assert_null(tc_array_empty("f32", 2, (int64_t[]){3 + 40 * k, 16}, &x[k]));
        memset(tc_array_data(x[k]), 0, (size_t)(3 + 40 * k) * 64);
        assert_null(tc_model_run(m, &x[k], 1, &y[k], 1));
    }
    long before = allocations;
    for (int i = 0; i < 10000; i++) assert_null(tc_model_run(m, &x[i % 2], 1, &y[i % 2], 1));
    assert_int_equal(allocations - before, 0);
    for (int k = 0; k < 2; k++) tc_array_release(x[k]), tc_array_release(y[k]);
    tc_model_close(m);
}
static size_t bytes_in_use(void) { return mallinfo2().uordblks; }
#else
static size_t bytes_in_use(void) { return 0; } /* it tells what is left behind at the end */
static void test_runs_allocate_nothing(void **state) {
    (void)state;
    skip(); /* the sanitizer has the allocator */
}
#endif

/* Numbers among a program's results are no outputs of the model, and nothing of them stays behind. */
static void test_numbers_are_no_outputs(void **state) {
    (void)state;
    const char *root = getenv("TC_ROOT");
    char path[512];
    tc_model *m;
    tc_array *x[2];
    size_t before = 0;
    snprintf(path, sizeof path, "%s/tests/oracle/pt2/derived_dim.pt2", root ? root : ".");
    assert_null(tc_model_open(path, NULL, 1, &m));
    assert_int_equal(tc_model_output_count(m), 1);
    for (int k = 0; k < 2; k++) {
        assert_null(tc_array_empty("f32", 2, (int64_t[]){k ? 4 : 2, 3}, &x[k]));
        memset(tc_array_data(x[k]), 0, (size_t)(k ? 4 : 2) * 12);
    }
    for (int i = 0; i < 2000; i++) {
        tc_array *y = NULL;
        assert_null(tc_model_run(m, x, 2, &y, 1));
        tc_array_release(y);
        if (i == 1000) before = bytes_in_use();
    }
    assert_in_range(bytes_in_use(), 0, before + 10000);
    tc_array_release(x[0]), tc_array_release(x[1]);
    tc_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs_allocate_nothing),
                                       cmocka_unit_test(test_blob_is_given_back_once),
                                       cmocka_unit_test(test_dlpack_there_and_back),
                                       cmocka_unit_test(test_foreign_dlpack_is_checked),
                                       cmocka_unit_test(test_read_only_memory_is_not_written),
                                       cmocka_unit_test(test_a_model_runs),
                                       cmocka_unit_test(test_given_buffers_are_copied),
                                       cmocka_unit_test(test_threads_share_a_model),
                                       cmocka_unit_test(test_threads_fail),
                                       cmocka_unit_test(test_numbers_are_no_outputs),
                                       cmocka_unit_test(test_tuning_tries_registered_products)};
#ifdef __SANITIZE_THREAD__
    cmocka_set_test_filter("test_threads_*"); /* tuning takes minutes there */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
