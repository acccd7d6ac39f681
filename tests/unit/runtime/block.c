/* The block executor against a straightforward evaluation of the same loops: same bits for every instruction set, number of threads,
 * constant and symbolic sizes, contiguous and strided memory. */
#include "../codegen/loops.h"
#include "base/cpu.h"
#include "runtime/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static bool same_bits(tc_dtype d, const void *a, int64_t i, const void *b, int64_t j) {
    size_t n = tc_dtype_size(d);
    if (!memcmp((const char *)a + (size_t)i * n, (const char *)b + (size_t)j * n, n)) return true;
    double x = tc_scalar_to_double(tc_scalar_load(d, a, i)), y = tc_scalar_to_double(tc_scalar_load(d, b, j));
    return isnan(x) && isnan(y);
}

/* The same data at twice the stride: every dimension padded by one. */
typedef struct {
    void *data;
    int64_t size[8], stride[8];
} placed;
static placed place_data(const tc_lbuffer *lb, const nbuffer *b, bool strided) {
    placed p = {0};
    int64_t n = 1, step = 1;
    for (int d = 0; d < lb->rank; d++) p.size[d] = b->size[d], n *= b->size[d];
    for (int d = lb->rank - 1; d >= 0; d--) {
        p.stride[d] = strided ? step * 2 : step;
        step = p.stride[d] * (p.size[d] > 0 ? p.size[d] + strided : 1);
    }
    if (lb->rank == 2 && strided) { /* columns first */
        p.stride[0] = 1;
        p.stride[1] = p.size[0] + 3;
        step = p.stride[1] * (p.size[1] + 1);
    }
    p.data = tc_xcalloc((size_t)step + 16, tc_dtype_size(lb->dtype));
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, at = 0;
        for (int d = lb->rank - 1; d >= 0; d--) at += rest % p.size[d] * p.stride[d], rest /= p.size[d];
        memcpy((char *)p.data + (size_t)at * tc_dtype_size(lb->dtype), (char *)b->data + (size_t)k * tc_dtype_size(lb->dtype),
               tc_dtype_size(lb->dtype));
    }
    return p;
}

static void check(tc_loop *l, int which, const tc_isa_ops *isa, tc_pool *pool, const tc_costs *costs, bool strided) {
    const char *name = cases[which].name;
    const nbuffer *want = answer(which, l);
    nbuffer start[8];
    placed got[8];
    tc_block_shape shapes[8];
    void *data[8];
    tc_value values[8] = {{0}};
    make_data(l, start, false);
    for (size_t i = 0; i < l->buffers.len; i++) {
        l->buffers.data[i].value = &values[i];
        got[i] = place_data(&l->buffers.data[i], &start[i], strided);
        shapes[i] = (tc_block_shape){got[i].size, got[i].stride};
        data[i] = got[i].data;
    }
    tc_schedule sched;
    tc_block *b;
    tc_abi_fault fault = {0};
    assert_null(tc_loop_schedule(l, &sched));
    const tc_block_env env = {.isa = isa, .vars = naive_vars, .nvars = 16, .shapes = shapes, .costs = costs, .threads = tc_pool_threads(pool)};
    tc_status s = tc_block_bind(&sched, &env, &b);
    if (s) fail_msg("%s: %s", name, tc_status_message(s));
    size_t threads = (size_t)tc_pool_threads(pool), bytes = (threads * tc_block_scratch(b) + tc_block_temps(b) + 127) & ~(size_t)63;
    char *scratch = aligned_alloc(64, bytes);
    memset(scratch, 0xff, bytes);
    s = tc_block_run(b, &(tc_block_args){data, naive_vars, 16, scratch, &fault}, scratch + threads * tc_block_scratch(b), pool);
    if (s) fail_msg("%s: %s", name, tc_status_message(s));
    assert_int_equal(fault.set, 0);
    for (size_t i = 0; i < l->buffers.len; i++) {
        int64_t count = 1;
        for (int d = 0; d < l->buffers.data[i].rank; d++) count *= want[i].size[d];
        for (int64_t k = 0; k < count; k++) {
            int64_t rest = k, at = 0;
            for (int d = l->buffers.data[i].rank - 1; d >= 0; d--) at += rest % got[i].size[d] * got[i].stride[d], rest /= got[i].size[d];
            tc_dtype dt = l->buffers.data[i].dtype;
            if (!same_bits(dt, want[i].data, k, got[i].data, at))
                fail_msg("%s (%s, %zu threads%s): buffer %zu element %lld: expected %.9g, found %.9g", name, isa->name, threads,
                         strided ? ", strided" : "", i, (long long)k, tc_scalar_to_double(tc_scalar_load(dt, want[i].data, k)),
                         tc_scalar_to_double(tc_scalar_load(dt, got[i].data, at)));
        }
    }
    tc_block_destroy(b);
    tc_schedule_deinit(&sched);
    free(scratch);
    for (size_t i = 0; i < l->buffers.len; i++) {
        free(got[i].data);
        l->buffers.data[i].value = NULL;
    }
    free_data(l, start);
}

static void run_cases(const tc_isa_ops *isa, int threads, bool symbolic, bool strided, const tc_costs *costs) {
    tc_pool *pool;
    assert_null(tc_pool_create(threads, &pool));
    for (int k = 0; k < NCASES; k++) {
        maker m = {.p = tc_program_create("t"), .symbolic = symbolic, .name = cases[k].name};
        m.l = tc_loop_create(m.p);
        cases[k].make(&m, cases[k].n);
        assert_null(tc_loop_verify(m.l));
        check(m.l, k, isa, pool, costs, strided);
        tc_loop_free(m.l);
        tc_program_release(m.p);
    }
    tc_pool_destroy(pool);
}

static void test_every_isa(void **state) {
    (void)state;
    tc_isa_row best;
    assert_null(tc_isa_choose(NULL, &best));
    for (tc_isa_row row = 0; row <= best; row++)
        for (int strided = 0; strided < 2; strided++) run_cases(tc_isa_ops_of(row), 1, false, strided, NULL);
}

static void test_threads_and_symbols(void **state) {
    (void)state;
    const tc_isa_ops *isa;
    assert_null(tc_isa_ops_choose(&isa));
    run_cases(isa, 2, true, false, NULL);
    run_cases(isa, 7, false, false, NULL);
}

/* Costs decide about speed alone: as if no memory were near and every block worth a task, loops of a few elements fetch ahead and have tables. */
static void test_costs_change_no_bit(void **state) {
    (void)state;
    static const tc_costs far = {.near_bytes = 0, .far_bytes = 0, .chain_bytes = 0, .task_ops = 1, .table_uses = 1};
    const tc_isa_ops *isa;
    assert_null(tc_isa_ops_choose(&isa));
    for (int strided = 0; strided < 2; strided++)
        for (int threads = 1; threads < 4; threads += 2) run_cases(isa, threads, false, strided, &far);
}

static void test_bad_index_is_reported(void **state) {
    (void)state;
    const tc_isa_ops *isa;
    assert_null(tc_isa_ops_choose(&isa));
    maker m = {.p = tc_program_create("t")};
    m.l = tc_loop_create(m.p);
    embedding(&m, (int64_t[]){6, 40});
    nbuffer b[8];
    make_data(m.l, b, true);
    tc_value values[8] = {{0}};
    tc_block_shape shapes[8];
    void *data[8];
    for (size_t i = 0; i < m.l->buffers.len; i++) {
        m.l->buffers.data[i].value = &values[i];
        shapes[i] = (tc_block_shape){b[i].size, b[i].stride};
        data[i] = b[i].data;
    }
    tc_schedule sched;
    tc_block *block;
    tc_abi_fault fault = {0};
    assert_null(tc_loop_schedule(m.l, &sched));
    assert_null(tc_block_bind(&sched, &(tc_block_env){.isa = isa, .vars = naive_vars, .nvars = 16, .shapes = shapes}, &block));
    void *scratch = aligned_alloc(64, (tc_block_scratch(block) + 63) & ~(size_t)63);
    assert_null(tc_block_run(block, &(tc_block_args){data, naive_vars, 16, scratch, &fault}, NULL, NULL));
    assert_int_equal(fault.set, 1);
    assert_int_equal(fault.index, 5);
    free(scratch);
    tc_block_destroy(block);
    tc_schedule_deinit(&sched);
    free_data(m.l, b);
    tc_loop_free(m.l);
    tc_program_release(m.p);
}

/* What is computed for all channels alike, compiled code computes for each: such loops are not compiled. */
static void test_shared_rows_before_code(void **state) {
    (void)state;
    for (int k = 0; k < NCASES; k++) {
        const bool same = !strcmp(cases[k].name, "shared");
        if (!same && strcmp(cases[k].name, "channel_scales")) continue;
        maker m = {.p = tc_program_create("t"), .name = cases[k].name};
        m.l = tc_loop_create(m.p);
        cases[k].make(&m, cases[k].n);
        tc_schedule sched;
        assert_null(tc_loop_schedule(m.l, &sched));
        bool faster;
        assert_null(tc_block_is_faster(&sched, &(tc_block_env){.vars = naive_vars, .nvars = 16}, &faster));
        assert_int_equal(faster, same && cases[k].n[0] > 1);
        tc_schedule_deinit(&sched);
        tc_loop_free(m.l);
        tc_program_release(m.p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_isa), cmocka_unit_test(test_threads_and_symbols),
                                       cmocka_unit_test(test_costs_change_no_bit), cmocka_unit_test(test_bad_index_is_reported),
                                       cmocka_unit_test(test_shared_rows_before_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
