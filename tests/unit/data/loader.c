/* Statements about the loader: every batch once, in order or out of it, whatever the number of threads. */
#include "data/loader.h"

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BATCHES = 200 };
static tc_dataset set = {.kind = TC_DATA_TABLE, .ncols = 1, .count = BATCHES, .col = {{.name = "x"}}, .prefetch = 2};

static int64_t draw(void *ctx, int64_t *index) {
    int64_t *next = ctx;
    *index = (*next)++;
    return *index < BATCHES;
}

static int64_t take(tc_loader *l) {
    int64_t number;
    tc_tensor x;
    assert_null(tc_loader_next(l, &x, &number));
    if (number < 0) return number;
    assert_int_equal(*(int64_t *)tc_tensor_data(&x), number);
    tc_tensor_deinit(&x);
    return number;
}

static void batches_come_in_order_from_any_number_of_threads(void **state) {
    (void)state;
    for (set.workers = 0; set.workers <= 8; set.workers += 4) {
        int64_t next = 0;
        tc_loader *l;
        tc_loader_options o = {.set = &set, .room = 1, .floats = TC_F32, .draw = draw, .ctx = &next};
        assert_null(tc_loader_create(&o, &l));
        for (int64_t i = 0; i < BATCHES; i++) assert_int_equal(take(l), i);
        assert_int_equal(take(l), -1);
        assert_int_equal(take(l), -1);
        tc_loader_destroy(l);
    }
}

/* Stops in the middle, and goes on from its position with another loader. */
static void out_of_order_every_batch_comes_once(void **state) {
    (void)state;
    int seen[BATCHES] = {0};
    int64_t begin = 0, *taken = NULL, next = 0;
    int ntaken = 0;
    for (int part = 0; part < 4; part++) {
        tc_loader *l;
        next = begin;
        set.workers = set.prefetch = 3;
        set.any_order = true;
        tc_loader_options o = {
            .set = &set, .room = 1, .floats = TC_F32, .draw = draw, .ctx = &next, .begin = begin, .taken = taken, .ntaken = ntaken};
        assert_null(tc_loader_create(&o, &l));
        int64_t number = 0;
        for (int i = 0; i < 60 && number >= 0; i++)
            if ((number = take(l)) >= 0) seen[number]++;
        free(taken);
        tc_loader_position(l, &begin, &taken, &ntaken);
        tc_loader_destroy(l);
    }
    free(taken);
    set.any_order = false;
    for (int i = 0; i < BATCHES; i++) assert_int_equal(seen[i], 1);
}

/* What is waited for together fits, though the threads would not be so far ahead; at the end fewer batches are enough. */
static void batches_are_waited_for_together(void **state) {
    (void)state;
    int64_t next = BATCHES - 7;
    tc_loader *l;
    set.workers = set.prefetch = 1;
    assert_null(tc_loader_create(
        &(tc_loader_options){.set = &set, .room = 1, .floats = TC_F32, .draw = draw, .ctx = &next, .together = 5, .begin = BATCHES - 7}, &l));
    for (int64_t i = BATCHES - 7; i < BATCHES; i++) {
        assert_true(tc_loader_wait(l, 5, 60));
        assert_int_equal(take(l), i);
    }
    tc_loader_destroy(l);
}

static void ten_million_samples_are_drawn(void **state) {
    (void)state;
    enum { MANY = 10000000, BATCH = 1000 };
    tc_dataset many = {.kind = TC_DATA_TABLE, .count = MANY, .order = TC_ORDER_SHUFFLE};
    tc_sampler s;
    assert_null(tc_sampler_init(&s, &many, BATCH, 1));
    assert_int_equal(s.per_epoch, MANY / BATCH);
    unsigned char *seen = tc_xcalloc(MANY, 1);
    int64_t index[BATCH];
    for (int i = 0; i < MANY / BATCH; i++) {
        tc_sampler_next(&s, index);
        for (int k = 0; k < BATCH; k++) seen[index[k]]++;
    }
    for (int i = 0; i < MANY; i++)
        if (seen[i] != 1) fail_msg("sample %d came %d times", i, seen[i]);
    free(seen);
    tc_sampler_deinit(&s);
}

int main(void) {
    int64_t n = BATCHES;
    assert_null(tc_tensor_empty(TC_I64, 1, &n, &set.col[0].data));
    for (int64_t i = 0; i < n; i++) ((int64_t *)tc_tensor_data(&set.col[0].data))[i] = i;
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_come_in_order_from_any_number_of_threads),
                                       cmocka_unit_test(out_of_order_every_batch_comes_once), cmocka_unit_test(batches_are_waited_for_together),
                                       cmocka_unit_test(ten_million_samples_are_drawn)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    tc_tensor_deinit(&set.col[0].data);
    return rc;
}
