/* Statements about the thread pool: every item once, workers distinct, any number of threads, sleepers are woken. */
#include "base/pool.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

typedef struct {
    _Atomic int *hits;
    _Atomic int inside[64];
    _Atomic bool clash;
} work;

static void touch(void *ctx, int64_t begin, int64_t end, int worker) {
    work *w = ctx;
    if (atomic_fetch_add(&w->inside[worker], 1)) atomic_store(&w->clash, true);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&w->hits[i], 1);
    atomic_fetch_sub(&w->inside[worker], 1);
}

static void each_item_once(void **state) {
    (void)state;
    enum { N = 10007 };
    static const int threads[] = {1, 2, 3, 7};
    for (size_t t = 0; t < 4; t++) {
        tc_pool *p;
        assert_null(tc_pool_create(threads[t], &p));
        for (int round = 0; round < 50; round++) {
            if (round == 25) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* workers fall asleep in between */
            work w = {.hits = tc_xcalloc(N, sizeof *w.hits)};
            tc_pool_enter(p);
            tc_parallel_for(p, N, round + 1, touch, &w);
            tc_parallel_for(p, round, 1, touch, &w);
            tc_pool_leave(p);
            for (int i = 0; i < N; i++) assert_int_equal(w.hits[i], i < round ? 2 : 1);
            assert_false(w.clash);
            free(w.hits);
        }
        tc_pool_destroy(p);
    }
}

typedef struct {
    _Atomic bool inside;
    _Atomic int items;
} slow;

/* The caller goes on when the worker is inside its item, which takes 500 ms; nobody computes. */
static void long_item(void *ctx, int64_t begin, int64_t end, int worker) {
    slow *w = ctx;
    if (worker) {
        atomic_store(&w->inside, true);
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    } else
        while (!atomic_load(&w->inside)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_fetch_add(&w->items, (int)(end - begin));
}

static void who_waits_long_leaves_the_processor(void **state) {
    (void)state;
    tc_pool *p;
    assert_null(tc_pool_create(2, &p));
    tc_pool_enter(p);
    for (int round = 0; round < 2; round++) {
        slow w = {0};
        clock_t before = clock(); /* of the process */
        tc_parallel_for(p, 2, 1, long_item, &w);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* the worker falls asleep, and comes again */
        assert_int_equal(w.items, 2);
        assert_in_range(clock() - before, 0, CLOCKS_PER_SEC / 20);
    }
    tc_pool_leave(p);
    tc_pool_destroy(p);
}

static void threads_asked_for(void **state) {
    (void)state;
    assert_int_equal(tc_default_threads(3), 3);
    setenv("TC_NUM_THREADS", "1", 1);
    assert_int_equal(tc_default_threads(0), 1);
    unsetenv("TC_NUM_THREADS");
    setenv("OMP_NUM_THREADS", "1,4", 1); /* of nested regions: the outermost */
    assert_int_equal(tc_default_threads(0), 1);
    unsetenv("OMP_NUM_THREADS");
    tc_pool *p;
    tc_status s = tc_pool_create(0, &p);
    assert_int_equal(tc_status_code(s), TC_USAGE);
    tc_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_item_once), cmocka_unit_test(who_waits_long_leaves_the_processor),
                                       cmocka_unit_test(threads_asked_for)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
