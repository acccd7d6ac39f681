/* What fuses and what does not, how loops are cut into nests, where lifetimes land in an arena. */
#include "op/decompose.h"
#include "op/emit.h"
#include "op/lower.h"
#include "loop/nest.h"
#include "pass/arena.h"
#include "pass/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

typedef struct {
    tc_program *p;
    tc_emit e;
    tc_value *x, *y;
} fixture;

static tc_value *input(tc_program *p, const char *name, tc_sym rows, tc_sym cols) {
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, name);
    v->meta = tc_meta_make(&p->arena, TC_F32, 2, (tc_sym[]){rows, cols}, NULL);
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = v, .name = name, .alias_of = -1});
    return v;
}

static fixture open_fixture(void) {
    fixture f = {.p = tc_program_create("t")};
    if (!f.p->graph) f.p->graph = tc_graph_create(f.p, NULL, "t");
    f.p->functional = true;
    tc_sym B = tc_sym_var(f.p->sym, "B", TC_SYM_INT, 0, TC_SYM_NO_HI), T = tc_sym_var(f.p->sym, "T", TC_SYM_INT, 0, TC_SYM_NO_HI);
    f.x = input(f.p, "x", B, T);
    f.y = input(f.p, "y", B, T);
    f.e = (tc_emit){.graph = f.p->graph};
    return f;
}
static tc_value *op1(fixture *f, const char *op, tc_value *a) { return tc_emit_call(&f->e, op, "v", a); }
static tc_value *op2(fixture *f, const char *op, tc_value *a, tc_value *b) { return tc_emit_call(&f->e, op, "vv", a, b); }
static tc_value *softmax(fixture *f, tc_value *a, int64_t dim) { return tc_emit_call(&f->e, "aten::softmax.int", "vi", a, dim); }
static tc_value *sum(fixture *f, tc_value *a, int64_t dim) { return tc_emit_call(&f->e, "aten::sum.dim_IntList", "vI", a, (int64_t[]){dim}, 1); }
static void result(fixture *f, tc_value *v) { tc_program_add_output(f->p, (tc_output){.kind = TC_OUT_USER, .value = v, .target = -1}); }

static tc_plan *plan_of(fixture *f, bool fuse) {
    tc_plan *plan;
    assert_null(f->e.status);
    assert_null(tc_decompose(f->p));
    tc_status s = tc_plan_create(f->p, f->p->graph, fuse, false, NULL, &plan);
    if (s) fail_msg("%s", tc_status_message(s));
    return plan;
}
static size_t loops(const tc_plan *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->groups.len; i++) n += p->groups.data[i].kind == TC_GROUP_LOOP;
    return n;
}
static void close_fixture(fixture *f, tc_plan *plan) {
    tc_plan_destroy(plan);
    tc_program_release(f->p);
}

static void test_a_chain_is_one_loop(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *h = op2(&f, "aten::add.Tensor", op1(&f, "aten::sigmoid", f.x), op1(&f, "aten::tanh", f.x));
    result(&f, softmax(&f, op2(&f, "aten::mul.Tensor", h, f.y), -1));
    tc_plan *plan = plan_of(&f, true);
    assert_int_equal(loops(plan), 1);
    const tc_loop *l = plan->groups.data[0].loop;
    assert_int_equal(l->stores.len, 1);  /* nothing between is stored */
    assert_int_equal(l->buffers.len, 3); /* x, y, the result */
    close_fixture(&f, plan);
}

static void test_values_read_elsewhere_are_stored(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *h = op1(&f, "aten::tanh", f.x);
    result(&f, h);
    result(&f, sum(&f, op1(&f, "aten::exp", h), 1));
    tc_plan *plan = plan_of(&f, true);
    assert_int_equal(loops(plan), 1);
    assert_int_equal(plan->groups.data[0].loop->stores.len, 2);
    close_fixture(&f, plan);
}

static void test_unfused_is_a_loop_a_node(void **state) {
    (void)state;
    fixture f = open_fixture();
    result(&f, op1(&f, "aten::exp", op1(&f, "aten::tanh", op1(&f, "aten::sin", f.x))));
    tc_plan *plan = plan_of(&f, false);
    assert_int_equal(loops(plan), 3);
    close_fixture(&f, plan);
}

/* Rows and columns cannot be reduced in one walk; the log says so. */
static void test_reductions_over_other_axes_stay_apart(void **state) {
    (void)state;
    fixture f = open_fixture();
    result(&f, softmax(&f, softmax(&f, f.x, 1), 0));
    tc_plan *plan = plan_of(&f, true);
    assert_int_equal(loops(plan), 2);
    assert_non_null(strstr(tc_buf_str(&plan->log), "not fused"));
    close_fixture(&f, plan);
}

/* exp reads a transposed view of what tanh makes: the view lies between. */
static void test_a_view_keeps_order(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *h = op1(&f, "aten::tanh", f.x);
    result(&f, op1(&f, "aten::exp", tc_emit_call(&f.e, "aten::transpose.int", "vii", h, (int64_t)0, (int64_t)1)));
    tc_plan *plan = plan_of(&f, true);
    assert_int_equal(plan->groups.len, 3);
    assert_int_equal(plan->groups.data[0].kind, TC_GROUP_LOOP);
    assert_int_equal(plan->groups.data[1].kind, TC_GROUP_VIEW);
    assert_int_equal(plan->groups.data[2].kind, TC_GROUP_LOOP);
    close_fixture(&f, plan);
}

/* sum(exp(x)) over rows used by a loop over columns of all: each reader finds what it reads already made. */
static void test_groups_come_in_an_order_that_runs(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *a = op1(&f, "aten::exp", f.x), *s = softmax(&f, a, 0), *b = op2(&f, "aten::add.Tensor", a, f.y),
             *c = softmax(&f, op2(&f, "aten::mul.Tensor", s, b), 1);
    result(&f, op2(&f, "aten::sub.Tensor", c, a));
    tc_plan *plan = plan_of(&f, true);
    for (size_t i = 0; i < plan->groups.len; i++) {
        const tc_loop *l = plan->groups.data[i].loop;
        for (size_t k = 0; k < l->buffers.len; k++) {
            if (l->buffers.data[k].written) continue;
            bool made = l->buffers.data[k].value->producer == NULL;
            for (size_t j = 0; j < i; j++)
                for (size_t m = 0; m < plan->groups.data[j].loop->buffers.len; m++)
                    made |= plan->groups.data[j].loop->buffers.data[m].written &&
                            plan->groups.data[j].loop->buffers.data[m].value == l->buffers.data[k].value;
            assert_true(made);
        }
    }
    close_fixture(&f, plan);
}

static void test_results_that_nobody_reads_are_dropped(void **state) {
    (void)state;
    fixture f = open_fixture();
    op1(&f, "aten::tanh", f.y);
    result(&f, op1(&f, "aten::exp", f.x));
    tc_plan *plan = plan_of(&f, true);
    assert_int_equal(loops(plan), 1);
    assert_int_equal(plan->groups.data[0].loop->buffers.len, 2);
    close_fixture(&f, plan);
}

/* ---- nests ---- */
static void test_nests_of_softmax(void **state) {
    (void)state;
    fixture f = open_fixture();
    result(&f, softmax(&f, f.x, 1));
    tc_plan *plan = plan_of(&f, true);
    tc_schedule s;
    assert_null(tc_loop_schedule(plan->groups.data[0].loop, &s));
    assert_int_equal(s.n, 1);
    assert_false(s.own_loop);
    assert_int_equal(__builtin_popcountll(s.nests[0].outer), 1);
    assert_int_equal(__builtin_popcountll(s.nests[0].inner), 1);
    assert_int_equal(s.nests[0].outer & s.nests[0].inner, 0);
    tc_schedule_deinit(&s);
    close_fixture(&f, plan);
}

/* ---- arena ---- */
static void test_lifetimes_do_not_overlap(void **state) {
    (void)state;
    enum { N = 400 };
    tc_lifetime t[N];
    uint32_t seed = 1;
    size_t most = 0;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        t[i] = (tc_lifetime){.bytes = (seed >> 16) % 5000 + 1, .first = i};
        t[i].last = i + (int)(i % 8 ? seed >> 29 : seed >> 25); /* some live shortly, some long */
    }
    size_t top = tc_arena_plan(t, N);
    for (int i = 0; i < N; i++) {
        size_t alive = 0;
        assert_int_equal(t[i].offset % 64, 0);
        assert_true(t[i].offset + t[i].bytes <= top);
        for (int k = 0; k < N; k++) {
            if (t[k].first <= i && i <= t[k].last) alive += (t[k].bytes + 63) / 64 * 64;
            if (k == i || t[k].last < t[i].first || t[i].last < t[k].first) continue;
            assert_true(t[k].offset + t[k].bytes <= t[i].offset || t[i].offset + t[i].bytes <= t[k].offset);
        }
        if (alive > most) most = alive;
    }
    assert_int_equal(tc_arena_live(t, N), most);
    assert_true(top >= most && top <= most + most / 16); /* close to what must be */
    assert_int_equal(tc_arena_plan(t, 0), 0);
    /* where the largest first would leave a gap, another order does not */
    tc_lifetime u[] = {{.bytes = 64, .first = 0, .last = 2},
                       {.bytes = 192, .first = 3, .last = 6},
                       {.bytes = 192, .first = 1, .last = 1},
                       {.bytes = 128, .first = 2, .last = 5}};
    assert_int_equal(tc_arena_live(u, 4), 320);
    assert_int_equal(tc_arena_plan(u, 4), 320);
}
/* Layers of a transformer: two residuals, queries, keys and values of three times their size, a hidden row of four times, and what goes
 * between; of the three orders none places them in the six that live at once. */
static void test_layers_share_what_one_layer_needs(void **state) {
    (void)state;
    enum { LAYERS = 6, UNIT = 4096 };
    static const tc_lifetime layer[] = {
        {.bytes = UNIT, .first = 0, .last = 5},      {.bytes = UNIT, .first = 5, .last = 8},     {.bytes = 4 * UNIT, .first = 6, .last = 7},
        {.bytes = UNIT, .first = 0, .last = 1},      {.bytes = 3 * UNIT, .first = 1, .last = 2}, {.bytes = UNIT, .first = 2, .last = 3},
        {.bytes = UNIT / 64, .first = 2, .last = 2}, {.bytes = UNIT, .first = 3, .last = 4},     {.bytes = UNIT, .first = 4, .last = 5},
        {.bytes = UNIT, .first = 5, .last = 6},      {.bytes = UNIT, .first = 7, .last = 8}};
    enum { EACH = sizeof layer / sizeof *layer };
    tc_lifetime t[LAYERS * EACH];
    for (int i = 0; i < LAYERS * EACH; i++) {
        t[i] = layer[i % EACH];
        t[i].first += i / EACH * 8, t[i].last += i / EACH * 8;
    }
    assert_int_equal(tc_arena_plan(t, LAYERS * EACH), 6 * UNIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_chain_is_one_loop),
                                       cmocka_unit_test(test_values_read_elsewhere_are_stored),
                                       cmocka_unit_test(test_unfused_is_a_loop_a_node),
                                       cmocka_unit_test(test_reductions_over_other_axes_stay_apart),
                                       cmocka_unit_test(test_a_view_keeps_order),
                                       cmocka_unit_test(test_layers_share_what_one_layer_needs),
                                       cmocka_unit_test(test_groups_come_in_an_order_that_runs),
                                       cmocka_unit_test(test_results_that_nobody_reads_are_dropped),
                                       cmocka_unit_test(test_nests_of_softmax),
                                       cmocka_unit_test(test_lifetimes_do_not_overlap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
