/* Memory of results comes back: a run with as many results as a training step has gradients takes that of the run before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "runtime/recycle.h"

enum { RESULTS = 500 };

static int64_t elements(int i) { return 20000 + 1000 * (i % 100); }

static int take_all(recycler *r, tc_tensor *t, bool ascending, tc_map *seen) {
    int fresh = 0;
    for (int k = 0; k < RESULTS; k++) {
        const int i = ascending ? k : RESULTS - 1 - k;
        const int64_t n = elements(i);
        assert_null(recycler_tensor(r, TC_F32, 1, &n, &t[i]));
        assert_int_equal(t[i].size[0], n);
        assert_true(t[i].storage->bytes >= (size_t)n * 4 && t[i].storage->bytes <= (size_t)n * 5 + 5120);
        memset(tc_tensor_data(&t[i]), k, (size_t)n * 4);
        const void *data = t[i].storage->data;
        void **known = tc_map_put(seen, (const char *)&data, sizeof data);
        fresh += *known == NULL;
        *known = seen;
    }
    return fresh;
}

static void test_all_come_back(void **state) {
    (void)state;
    recycler *r = recycler_create();
    tc_tensor t[RESULTS];
    tc_map seen = {0};
    assert_int_equal(take_all(r, t, true, &seen), RESULTS);
    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < RESULTS; i++) tc_tensor_deinit(&t[(i * 7) % RESULTS]);
        assert_int_equal(take_all(r, t, run != 1, &seen), 0);
    }
    recycler_release(r); /* what is out outlives it */
    for (int i = 0; i < RESULTS; i++) tc_tensor_deinit(&t[i]);
    tc_map_free(&seen);
}

static void test_little_is_wasted(void **state) {
    (void)state;
    recycler *r = recycler_create();
    tc_tensor large, small;
    const int64_t n = 1 << 20, few = n / 2;
    assert_null(recycler_tensor(r, TC_F32, 1, &n, &large));
    tc_tensor_deinit(&large);
    assert_null(recycler_tensor(r, TC_F32, 1, &few, &small));
    assert_true(small.storage->bytes < (size_t)n * 4);
    tc_tensor_deinit(&small);
    recycler_release(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_come_back), cmocka_unit_test(test_little_is_wasted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
