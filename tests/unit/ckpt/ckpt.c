/* Statements about checkpoints: whole or absent, checksummed, put together from shards, pruned without losing what must stay. */
#include "ckpt/ckpt.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "file/safetensors.h"
#include "scratch.h"

static char dir[256];

static tc_tensor numbers(int64_t n, float from) {
    tc_tensor t;
    assert_null(tc_tensor_empty(TC_F32, 1, &n, &t));
    for (int64_t i = 0; i < n; i++) ((float *)tc_tensor_data(&t))[i] = from + (float)i;
    return t;
}

static void save(int64_t step) {
    tc_tensors t = {0};
    assert_null(tc_tensors_add(&t, "model.w", numbers(5, (float)step)));
    assert_null(tc_tensors_add(&t, "optim.state.w.exp_avg", numbers(5, 0)));
    char text[32];
    snprintf(text, sizeof text, "{\"step\": %d}", (int)step);
    tc_ckpt_content c = {.tensors = &t, .state = text};
    tc_status s = tc_ckpt_save(dir, step, c);
    if (s) fail_msg("%s", tc_status_message(s));
    tc_tensors_deinit(&t);
}

static char *path_of(const char *name) {
    static char p[512];
    snprintf(p, sizeof p, "%s/%s", dir, name);
    return p;
}

static void saved_is_read_back(void **state) {
    (void)state;
    save(3);
    tc_ckpt *c;
    assert_null(tc_ckpt_open(path_of("latest"), &c));
    assert_int_equal(tc_ckpt_step(c), 3);
    assert_int_equal(tc_ckpt_count(c), 2);
    assert_string_equal(tc_ckpt_state(c), "{\"step\": 3}");
    tc_tensor t;
    assert_null(tc_ckpt_tensor(c, (size_t)tc_ckpt_find(c, "model.w"), &t));
    assert_true(((float *)tc_tensor_data(&t))[4] == 7);
    assert_int_equal(tc_ckpt_find(c, "model.v"), -1);
    tc_ckpt_close(c);
    assert_true(((float *)tc_tensor_data(&t))[0] == 3);
    tc_tensor_deinit(&t);
}

/* While a run writes on, its latest checkpoint may be read: what is read is of one. */
static atomic_bool done;
static void *write_on(void *none) {
    for (int64_t i = 0; !atomic_load(&done); i++) assert_null(tc_ckpt_set_latest(dir, 3 + i % 2));
    return none;
}
static void latest_is_one_checkpoint(void **state) {
    (void)state;
    pthread_t writer;
    save(4);
    assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
    tc_status s = NULL;
    for (int i = 0; i < 300 && !s; i++) {
        tc_ckpt *c;
        s = tc_ckpt_verify(path_of("latest/"));
        if (s || (s = tc_ckpt_open(dir, &c))) break;
        tc_tensor t;
        s = tc_ckpt_tensor(c, (size_t)tc_ckpt_find(c, "model.w"), &t);
        if (!s && ((float *)tc_tensor_data(&t))[0] != (float)tc_ckpt_step(c)) s = tc_error(TC_CONTENT, "the tensor of another step");
        if (!s) tc_tensor_deinit(&t);
        tc_ckpt_close(c);
    }
    atomic_store(&done, true);
    pthread_join(writer, NULL);
    if (s) fail_msg("%s", tc_status_message(s));
    assert_null(tc_ckpt_set_latest(dir, 3));
    assert_null(tc_remove_tree(path_of("step-4")));
}

static void weights_lose_their_prefix(void **state) {
    (void)state;
    const char *const paths[] = {path_of("latest"), dir}; /* a checkpoint, the run */
    for (int i = 0; i < 2; i++) {
        tc_tensors w = {0};
        assert_null(tc_ckpt_weights(paths[i], &w));
        assert_int_equal(w.items.len, 1);
        assert_string_equal(w.items.data[0].name, "w");
        tc_tensors_deinit(&w);
    }
}

static void newest_valid_wins_over_a_damaged_one(void **state) {
    (void)state;
    save(4);
    char *p = path_of("step-4/shard-00001-model-00001-of-00001.safetensors");
    tc_buf b = {0};
    assert_null(tc_file_read(p, 1 << 20, &b));
    b.data[b.len - 1] ^= 1;
    assert_null(tc_file_write(p, b.data, b.len));
    tc_buf_free(&b);
    tc_status s = tc_ckpt_verify(path_of("step-4"));
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    assert_non_null(strstr(tc_status_message(s), "damaged"));
    tc_status_free(s);
    char *path;
    int64_t step;
    tc_buf skipped = {0};
    assert_null(tc_ckpt_newest(dir, &path, &step, &skipped));
    assert_int_equal(step, 3);
    assert_non_null(strstr(tc_buf_str(&skipped), "step-4"));
    tc_buf_free(&skipped);
    free(path);
    save(4); /* a damaged one is replaced ... */
    assert_null(tc_ckpt_verify(path_of("step-4")));
    assert_null(tc_remove_tree(path_of("step-4")));
}

static void prune_keeps_what_it_is_told(void **state) {
    (void)state;
    for (int64_t i = 4; i <= 10; i++) save(i);
    assert_null(tc_ckpt_prune(dir, 2, 4, 5, 6));
    static const bool stays[] = {[3] = false, [4] = true, [5] = true, [6] = true, [7] = false, [8] = true, [9] = true, [10] = true};
    for (int i = 3; i <= 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "step-%d", i);
        assert_int_equal(access(path_of(name), F_OK) == 0, stays[i]);
    }
}

static void shards_are_put_together(void **state) {
    (void)state;
    assert_null(tc_make_dirs(path_of("sharded")));
    for (int r = 0; r < 2; r++) {
        tc_tensors t = {0};
        tc_tensor x;
        assert_null(tc_tensor_empty(TC_F32, 2, (int64_t[]){2, 1 + r}, &x));
        for (int i = 0; i < 2 * (1 + r); i++) ((float *)tc_tensor_data(&x))[i] = (float)(10 * r + i);
        assert_null(tc_tensors_add(&t, "w", x));
        tc_tensors_add_metadata(&t, "DCP_SHARDING_INFO", r ? "{\"w\": {\"saved_offsets\": [0, 1]}}" : "{\"w\": {\"saved_offsets\": [0, 0]}}");
        char name[80];
        snprintf(name, sizeof name, "sharded/shard-0000%d-model-00001-of-00001.safetensors", r + 1);
        tc_out *o;
        assert_null(tc_out_open(path_of(name), &o));
        assert_null(tc_out_finish(o, tc_safetensors_write(o, &t)));
        tc_tensors_deinit(&t);
    }
    tc_ckpt *c;
    assert_null(tc_ckpt_open(path_of("sharded"), &c));
    tc_tensor w;
    assert_null(tc_ckpt_tensor(c, 0, &w));
    static const float expected[] = {0, 10, 11, 1, 12, 13};
    assert_memory_equal(tc_tensor_data(&w), expected, sizeof expected);
    tc_tensor_deinit(&w);
    tc_ckpt_close(c);
}

static int make_dir(void **state) {
    (void)state;
    return scratch_folder(dir, sizeof dir, "tc-ckpt") ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    return tc_remove_tree(dir) ? -1 : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_is_read_back),          cmocka_unit_test(latest_is_one_checkpoint),
        cmocka_unit_test(weights_lose_their_prefix),   cmocka_unit_test(newest_valid_wins_over_a_damaged_one),
        cmocka_unit_test(prune_keeps_what_it_is_told), cmocka_unit_test(shards_are_put_together),
    };
    return cmocka_run_group_tests_name("ckpt", tests, make_dir, remove_dir);
}
