/* Collectives among threads as ranks: every type, reduction and number of ranks, arrays of less and of more than one block, against the tree over ranks. */
#include "kernel/ranks.h"

#include "kernel/collective.h"
#include "kernel/isa.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 5 };

/* What one rank shows the others between two barriers. */
typedef struct {
    int size;
    pthread_barrier_t barrier;
    const char *shown[MOST_RANKS];
} world;
typedef struct {
    world *w;
    tc_comm comm;
    tc_tensor in, out;
    const tc_kernel *kernel;
    tc_karg args[4];
    int nargs;
} member;

static int all_to_all(void *self, const void *blocks, void *got, size_t n) {
    member *m = self;
    m->w->shown[m->comm.rank] = blocks;
    pthread_barrier_wait(&m->w->barrier);
    for (int r = 0; r < m->w->size; r++) memcpy((char *)got + (size_t)r * n, m->w->shown[r] + (size_t)m->comm.rank * n, n);
    pthread_barrier_wait(&m->w->barrier);
    return 0;
}
static int all_gather(void *self, const void *mine, void *all, size_t n) {
    member *m = self;
    m->w->shown[m->comm.rank] = mine;
    pthread_barrier_wait(&m->w->barrier);
    for (int r = 0; r < m->w->size; r++) memcpy((char *)all + (size_t)r * n, m->w->shown[r], n);
    pthread_barrier_wait(&m->w->barrier);
    return 0;
}
static int broadcast(void *self, void *data, size_t n, int root) {
    member *m = self;
    m->w->shown[m->comm.rank] = data;
    pthread_barrier_wait(&m->w->barrier);
    if (m->comm.rank != root) memcpy(data, m->w->shown[root], n);
    pthread_barrier_wait(&m->w->barrier);
    return 0;
}

static void *run_member(void *arg) {
    member *m = arg;
    tc_kcall k = {.args = m->args, .nargs = m->nargs, .outs = &m->out, .nouts = 1, .comm = &m->comm, .kernel = m->kernel};
    k.scratch = m->kernel->scratch ? tc_xmalloc(m->kernel->scratch(&k, 1)) : NULL;
    tc_status s = m->kernel->run(&k);
    free(k.scratch);
    return s;
}

static double value(int rank, int64_t i) { return (double)((i * 7 + rank * 13) % 11 - 5) * 0.37 + (rank == 2); }

static void start(world *w, member *m, int size, const tc_kernel *kernel, tc_dtype d, int64_t n, int64_t out_n) {
    *w = (world){.size = size};
    pthread_barrier_init(&w->barrier, NULL, (unsigned)size);
    for (int r = 0; r < size; r++) {
        m[r] = (member){.w = w, .kernel = kernel};
        m[r].comm = (tc_comm){r, size, all_gather, all_to_all, broadcast, NULL, &m[r]};
        assert_null(tc_tensor_empty(d, 1, &n, &m[r].in));
        assert_null(tc_tensor_empty(d, 1, &out_n, &m[r].out));
        for (int64_t i = 0; i < n; i++) tc_scalar_store(d, tc_tensor_data(&m[r].in), i, tc_scalar_float(value(r, i)));
        m[r].args[0] = (tc_karg){.kind = TC_K_TENSOR, .tensor = &m[r].in};
    }
}
static void finish(world *w, member *m) {
    pthread_t thread[MOST_RANKS];
    for (int r = 0; r < w->size; r++) assert_int_equal(pthread_create(&thread[r], NULL, run_member, &m[r]), 0);
    for (int r = 0; r < w->size; r++) {
        void *failed;
        pthread_join(thread[r], &failed);
        assert_null(failed);
    }
    pthread_barrier_destroy(&w->barrier);
}
static void drop(const world *w, member *m) {
    for (int r = 0; r < w->size; r++) tc_tensor_deinit(&m[r].in), tc_tensor_deinit(&m[r].out);
}

/* The tree over ranks of element i, by tc's scalar operations on one element. */
static tc_scalar merged(const world *w, const member *m, int64_t i, tc_scalar_op op) {
    const tc_dtype d = m[0].in.dtype;
    const tc_isa_ops *isa;
    assert_null(tc_isa_ops_choose(&isa));
    char part[MOST_RANKS][16];
    const size_t bytes = tc_dtype_size(d);
    for (int r = 0; r < w->size; r++) memcpy(part[r], (const char *)tc_tensor_data(&m[r].in) + (size_t)i * bytes, bytes);
    for (int apart = 1; apart < w->size; apart *= 2)
        for (int r = 0; r + apart < w->size; r += 2 * apart) isa->scalar[d][op](part[r], part[r], part[r + apart], NULL, 1);
    return tc_scalar_load(d, part[0], 0);
}

static void test_reductions(void **state) {
    (void)state;
    static const tc_dtype types[] = {TC_F32, TC_F64, TC_I8, TC_U8, TC_I32, TC_I64};
    static const struct {
        const char *name;
        tc_scalar_op op;
    } ops[] = {{"sum", TC_X_ADD}, {"product", TC_X_MUL}, {"min", TC_X_MIN}, {"max", TC_X_MAX}};
    static const int64_t lengths[] = {0, 1, 7, 200001};
    world w;
    member m[MOST_RANKS];
    for (int size = 1; size <= MOST_RANKS; size++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
                for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                    const int64_t n = lengths[l];
                    if (n > 1000 && (o || types[t] != TC_F32)) continue;
                    assert_true(tc_collective_has(types[t], ops[o].name));
                    start(&w, m, size, &tc_k_all_reduce, types[t], n, n);
                    for (int r = 0; r < size; r++) m[r].args[1] = (tc_karg){.kind = TC_K_STRING, .string = ops[o].name}, m[r].nargs = 2;
                    finish(&w, m);
                    for (int64_t i = 0; i<n; i += n> 1000 ? 997 : 1) {
                        const tc_scalar want = merged(&w, m, i, ops[o].op);
                        for (int r = 0; r < size; r++)
                            if (tc_scalar_to_double(tc_scalar_load(types[t], tc_tensor_data(&m[r].out), i)) != tc_scalar_to_double(want))
                                fail_msg("%s of %s, %d ranks, element %d of %d on rank %d", ops[o].name, tc_dtypes[types[t]].name, size, (int)i,
                                         (int)n, r);
                    }
                    drop(&w, m);
                }
}

/* reduce_scatter gives the blocks of all_reduce; all_gather puts them together again. */
static void test_scatter_and_gather(void **state) {
    (void)state;
    world w;
    member m[MOST_RANKS];
    for (int size = 1; size <= MOST_RANKS; size++) {
        const int64_t n = 70001, all = n * size;
        start(&w, m, size, &tc_k_reduce_scatter, TC_F32, all, n);
        for (int r = 0; r < size; r++) {
            m[r].args[1] = (tc_karg){.kind = TC_K_STRING, .string = "sum"};
            m[r].args[2] = (tc_karg){.kind = TC_K_NUMBER, .num = tc_scalar_int(size)}, m[r].nargs = 3;
        }
        finish(&w, m);
        for (int r = 0; r < size; r++)
            for (int64_t i = 0; i < n; i += 501)
                assert_true(tc_scalar_to_double(tc_scalar_load(TC_F32, tc_tensor_data(&m[r].out), i)) ==
                            tc_scalar_to_double(merged(&w, m, r * n + i, TC_X_ADD)));
        drop(&w, m);

        start(&w, m, size, &tc_k_all_gather, TC_F64, n, all);
        for (int r = 0; r < size; r++) m[r].args[1] = (tc_karg){.kind = TC_K_NUMBER, .num = tc_scalar_int(size)}, m[r].nargs = 2;
        finish(&w, m);
        for (int r = 0; r < size; r++)
            for (int64_t i = 0; i < all; i += 501) assert_true(((const double *)tc_tensor_data(&m[r].out))[i] == value((int)(i / n), i % n));
        drop(&w, m);
    }
}

static void test_mean_and_narrow(void **state) {
    (void)state;
    world w;
    member m[MOST_RANKS];
    start(&w, m, 2, &tc_k_all_reduce, TC_BF16, 9, 9);
    for (int r = 0; r < 2; r++) m[r].args[1] = (tc_karg){.kind = TC_K_STRING, .string = "avg"}, m[r].nargs = 2;
    finish(&w, m);
    for (int64_t i = 0; i < 9; i++) {
        float x[2];
        for (int r = 0; r < 2; r++) x[r] = tc_x_cast_bf16_f32(((const uint16_t *)tc_tensor_data(&m[r].in))[i]);
        const float sum = tc_x_cast_bf16_f32(tc_x_cast_f32_bf16(x[0] + x[1]));
        for (int r = 0; r < 2; r++) assert_int_equal(((const uint16_t *)tc_tensor_data(&m[r].out))[i], tc_x_cast_f32_bf16(sum / 2));
    }
    drop(&w, m);
    assert_false(tc_collective_has(TC_I32, "avg"));
    assert_false(tc_collective_has(TC_F32, "band"));
    assert_true(tc_collective_has(TC_C64, "sum"));
    assert_false(tc_collective_has(TC_C64, "max"));
    assert_false(tc_collective_has(TC_I16, "sum"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reductions), cmocka_unit_test(test_scatter_and_gather),
                                       cmocka_unit_test(test_mean_and_narrow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
