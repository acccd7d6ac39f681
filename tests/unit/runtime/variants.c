/* Variants for some sizes: which is taken, and that the callback is called once for sizes that no code is for. */
#include "runtime/variants.h"
#include "graphs.h"

static tc_program *doubled(void) {
    tc_program *p = tc_program_create("t");
    if (!p->graph) p->graph = tc_graph_create(p, NULL, "t");
    p->functional = true;
    tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 2, tc_sym_var(p->sym, "B", TC_SYM_INT, 1, 64), tc_sym_var(p->sym, "T", TC_SYM_INT, 1, 64));
    tc_emit e = {.graph = p->graph};
    output(p, tc_emit_call(&e, "aten::exp", "v", tc_emit_call(&e, "aten::add.Tensor", "vv", x, x)));
    ok(e.status);
    return p;
}

/* Stands for an archive whose code is for some sizes only. */
static const tc_abi_group *no_code(void *self, const uint8_t key[TC_ABI_KEY_BYTES]) {
    (void)self, (void)key;
    return NULL;
}

typedef struct {
    int recompiles, chosen;
    char last[64];
} counts;
static void on_recompile(void *ctx, const tc_recompile *r) {
    counts *c = ctx;
    c->recompiles++;
    assert_string_equal(r->guard, "B == 4 and T == 3, or B == 4, or B == 8");
    assert_string_equal(r->met, "x.size(0) = 5");
}
static void on_chosen(void *ctx, const char *sizes) {
    counts *c = ctx;
    c->chosen++;
    snprintf(c->last, sizeof c->last, "%s", sizes);
}

static tc_status choose(tc_variants *v, int64_t B, int64_t T, bool must, tc_exec **e) {
    uint32_t seed = 1;
    tc_tensor x = random_tensor(TC_F32, 2, (int64_t[]){B, T}, 0, 1, &seed);
    tc_status s = tc_variants_choose(v, &x, must, e);
    tc_tensor_deinit(&x);
    return s;
}

static void test_variants(void **state) {
    (void)state;
    tc_program *p = doubled();
    counts c = {0};
    tc_exec_code code = {no_code, NULL};
    const char list[] = "B=4\nB=8\nB=4 T=3\nB=99\nnonsense\nQ=1\nB=";
    tc_variants *v;
    tc_exec *e, *again;
    ok(tc_variants_create(p, list, sizeof list - 1, &(tc_exec_options){.threads = 1, .code = &code},
                          &(tc_variants_events){.chosen = on_chosen, .recompile = on_recompile, .ctx = &c}, &v));
    assert_int_equal(tc_variants_count(v), 3); /* the others do not fit the program */
    ok(choose(v, 4, 3, false, &e));
    assert_string_equal(c.last, "B == 4 and T == 3"); /* the most specific */
    ok(choose(v, 4, 5, false, &e));
    assert_string_equal(c.last, "B == 4");
    ok(choose(v, 4, 7, false, &again));
    assert_ptr_equal(again, e);
    assert_int_equal(c.chosen, 2);
    assert_int_equal(c.recompiles, 0);
    for (int64_t B = 5; B < 8; B++) {
        ok(choose(v, B, 3, false, &e));
        assert_ptr_equal(e, tc_variants_main(v));
    }
    assert_int_equal(c.recompiles, 1);
    tc_status s = choose(v, 9, 3, true, &e);
    assert_int_equal(tc_status_code(s), TC_ENV);
    tc_status_free(s);
    s = choose(v, 65, 3, true, &e);
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    tc_status_free(s);
    assert_int_equal(c.recompiles, 1);
    tc_variants_destroy(v);
    tc_program_release(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
