/* Passes that take nodes away: equal calls are one, what nobody uses goes, weights that nobody reads go; and the minimum cut by which the values to save
 * for a backward are chosen, against all cuts of small graphs. */
#include "../runtime/graphs.h"

#include "pass/cse.h"
#include "pass/dce.h"
#include "pass/mincut.h"

typedef struct {
    tc_program *p;
    tc_emit e;
    tc_value *x, *y;
} fixture;

static fixture open_fixture(void) {
    fixture f = {.p = tc_program_create("t")};
    if (!f.p->graph) f.p->graph = tc_graph_create(f.p, NULL, "t");
    f.p->functional = true;
    tc_sym four = tc_sym_int(f.p->sym, 4);
    f.x = input(f.p, TC_IN_USER, "x", TC_F32, 2, four, four);
    f.y = input(f.p, TC_IN_USER, "y", TC_F32, 2, four, four);
    f.e = (tc_emit){.graph = f.p->graph};
    return f;
}
static size_t nodes(const fixture *f) {
    size_t n = 0;
    for (const tc_node *k = f->p->graph->first; k; k = k->next) n++;
    return n;
}
static tc_value *call(fixture *f, const char *op, tc_value *a) { return tc_emit_call(&f->e, op, "v", a); }
static tc_value *call2(fixture *f, const char *op, tc_value *a, tc_value *b) { return tc_emit_call(&f->e, op, "vv", a, b); }
static void close_fixture(fixture *f) {
    ok(f->e.status);
    tc_program_release(f->p);
}

/* ---- equal calls ---- */
static void equal_calls_of_equal_calls_are_one(void **state) {
    (void)state;
    fixture f = open_fixture();
    for (int i = 0; i < 2; i++) output(f.p, call(&f, "aten::relu", call2(&f, "aten::add.Tensor", f.x, f.y)));
    assert_int_equal(tc_cse(f.p), 2);
    assert_int_equal(nodes(&f), 2);
    assert_ptr_equal(f.p->graph->outputs[0], f.p->graph->outputs[1]);
    close_fixture(&f);
}
static void every_result_of_equal_calls_is_one(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *top[2], *parts[2];
    for (int i = 0; i < 2; i++) {
        top[i] = tc_emit_call(&f.e, "aten::topk", "vi", f.x, (int64_t)2);
        parts[i] = tc_emit_call(&f.e, "aten::split.Tensor", "vi", f.x, (int64_t)1);
    }
    for (int i = 0; i < 2; i++) {
        output(f.p, tc_emit_out(top[i], 1));
        output(f.p, parts[i]->list[3]);
    }
    assert_int_equal(tc_cse(f.p), 2);
    assert_ptr_equal(f.p->graph->outputs[0], f.p->graph->outputs[2]);
    assert_ptr_equal(f.p->graph->outputs[1], f.p->graph->outputs[3]);
    close_fixture(&f);
}
static void calls_that_differ_stay(void **state) {
    (void)state;
    fixture f = open_fixture();
    call(&f, "aten::sin", f.x);
    call(&f, "aten::cos", f.x);
    call2(&f, "aten::sub.Tensor", f.x, f.y);
    call2(&f, "aten::sub.Tensor", f.y, f.x);
    tc_emit_call(&f.e, "aten::mul.Tensor", "vf", f.x, 0.0);
    tc_emit_call(&f.e, "aten::mul.Tensor", "vf", f.x, -0.0);
    tc_emit_call(&f.e, "aten::mul.Tensor", "vi", f.x, (int64_t)0); /* a number of another kind */
    tc_emit_call(&f.e, "aten::sum.dim_IntList", "vI", f.x, (int64_t[]){0}, 1);
    tc_emit_call(&f.e, "aten::sum.dim_IntList", "vI", f.x, (int64_t[]){1}, 1);
    tc_emit_call(&f.e, "aten::sum.dim_IntList", "vI", f.x, (int64_t[]){0, 1}, 2);
    for (int i = 0; i < 2; i++) call(&f, "aten::rand_like", f.x);
    const size_t all = nodes(&f);
    assert_int_equal(tc_cse(f.p), 0);
    assert_int_equal(nodes(&f), all);
    close_fixture(&f);
}
static void calls_without_gradient_stay_apart(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *a = call(&f, "aten::relu", f.x), *b = call(&f, "aten::relu", f.x);
    b->producer->no_grad = true;
    output(f.p, a);
    output(f.p, b);
    assert_int_equal(tc_cse(f.p), 0);
    close_fixture(&f);
}
static void sizes_of_data_belong_to_their_call(void **state) {
    (void)state;
    fixture f = open_fixture();
    for (int i = 0; i < 2; i++) output(f.p, call(&f, "aten::nonzero", f.x));
    for (int i = 0; i < 2; i++) output(f.p, call(&f, "aten::nonzero_numpy", f.x)->list[1]); /* sizes of a list's parts */
    assert_int_equal(tc_cse(f.p), 0);
    close_fixture(&f);
}

/* ---- what nobody uses ---- */
static void unused_chains_go(void **state) {
    (void)state;
    fixture f = open_fixture();
    call(&f, "aten::exp", call(&f, "aten::sin", f.x));
    output(f.p, call(&f, "aten::relu", f.x));
    assert_int_equal(tc_dce(f.p, false), 2);
    assert_int_equal(nodes(&f), 1);
    close_fixture(&f);
}
static void draws_and_checks_stay(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *all = call(&f, "aten::all", f.x);
    tc_emit_call(&f.e, "aten::_assert_async.msg", "vt", all, "x has a zero");
    call(&f, "aten::rand_like", f.x); /* the next draw is another without it */
    output(f.p, call(&f, "aten::relu", f.x));
    assert_int_equal(tc_dce(f.p, false), 0);
    assert_int_equal(tc_dce(f.p, true), 1);
    assert_int_equal(nodes(&f), 3);
    tc_drop_checks(f.p); /* and what only they read */
    assert_int_equal(nodes(&f), 1);
    close_fixture(&f);
}
static void what_decides_a_size_in_use_stays(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *found = call(&f, "aten::nonzero", f.x), *other = call(&f, "aten::nonzero", f.y);
    assert_non_null(other);
    tc_sym twice = tc_sym_mul(f.p->sym, found->meta.size[0], tc_sym_int(f.p->sym, 2));
    output(f.p, tc_emit_call(&f.e, "aten::zeros", "S", &twice, 1)); /* uses the number of rows of found, not its values */
    assert_int_equal(tc_dce(f.p, false), 1);
    assert_ptr_equal(f.p->graph->first, found->producer);
    close_fixture(&f);
}
static void a_size_in_use_as_a_number_stays(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *found = call(&f, "aten::nonzero", f.x);
    output(f.p, tc_emit_call(&f.e, "aten::mul.Tensor", "vs", f.y, found->meta.size[0]));
    assert_int_equal(tc_dce(f.p, false), 0);
    close_fixture(&f);
}
static void a_size_that_an_input_decides_goes_as_a_number_too(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_sym rows = tc_sym_var(f.p->sym, "B", TC_SYM_INT, TC_SYM_NO_LO, TC_SYM_NO_HI);
    tc_value *z = input(f.p, TC_IN_USER, "z", TC_F32, 2, rows, rows);
    tc_emit_call(&f.e, "aten::sym_size.int", "vi", z, (int64_t)0);
    output(f.p, tc_emit_call(&f.e, "aten::zeros", "S", &rows, 1));
    assert_int_equal(tc_dce(f.p, false), 1);
    close_fixture(&f);
}
static void a_size_with_a_bound_is_checked_by_its_call(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_sym found = call(&f, "aten::nonzero", f.x)->meta.size[0];
    output(f.p, call(&f, "aten::relu", f.x));
    tc_sym_assume(f.p->sym, tc_sym_op(f.p->sym, TC_S_LE, found, tc_sym_int(f.p->sym, 9), NULL));
    assert_int_equal(tc_dce(f.p, false), 0);
    close_fixture(&f);
}
static void a_list_lives_by_any_of_its_parts(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_value *parts = tc_emit_call(&f.e, "aten::split.Tensor", "vi", f.x, (int64_t)1);
    output(f.p, parts->list[2]);
    assert_int_equal(tc_dce(f.p, false), 0);
    close_fixture(&f);
}

/* Weights: a is read, b is tied to c, of which c is read, d is written, e is nothing of these. */
static void weights_that_nobody_reads_go(void **state) {
    (void)state;
    fixture f = open_fixture();
    tc_sym four = tc_sym_int(f.p->sym, 4);
    tc_value *a = input(f.p, TC_IN_PARAMETER, "a", TC_F32, 2, four, four);
    input(f.p, TC_IN_PARAMETER, "e", TC_F32, 2, four, four);
    input(f.p, TC_IN_PARAMETER, "b", TC_F32, 2, four, four);
    tc_value *c = input(f.p, TC_IN_PARAMETER, "c", TC_F32, 2, four, four);
    input(f.p, TC_IN_BUFFER, "d", TC_F32, 2, four, four);
    f.p->inputs[5].alias_of = 4;
    output(f.p, call2(&f, "aten::add.Tensor", a, c));
    tc_program_add_output(f.p, (tc_output){.kind = TC_OUT_BUFFER, .value = call(&f, "aten::relu", f.x), .name = "d", .target = 6});
    tc_drop_weights(f.p);
    static const char *const left[] = {"x", "y", "a", "b", "c", "d"}; /* inputs of calls stay, used or not */
    assert_int_equal(f.p->ninputs, 6);
    assert_int_equal(f.p->graph->ninputs, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(f.p->inputs[i].name, left[i]);
        assert_ptr_equal(f.p->graph->inputs[i], f.p->inputs[i].value);
    }
    assert_int_equal(f.p->inputs[4].alias_of, 3);
    assert_int_equal(f.p->outputs[1].target, 5);
    close_fixture(&f);
}

/* ---- minimum cuts ---- */
enum { VERTICES = 6, EDGES = 12 };
typedef struct {
    int from, to;
    int64_t capacity;
} arc;

/* The capacity of the cut whose source side is the set `side`. */
static int64_t cut_of(const arc *a, int n, unsigned side) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (side >> a[i].from & 1 && !(side >> a[i].to & 1)) sum += a[i].capacity;
    return sum;
}

static void cuts_are_least_and_nearest_to_the_source(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        arc a[EDGES];
        const int n = 3 + round % (EDGES - 2);
        tc_mincut *g = tc_mincut_create(VERTICES);
        for (int i = 0; i < n; i++) {
            uint32_t r[3];
            for (int k = 0; k < 3; k++) r[k] = (seed = seed * 1664525u + 1013904223u) >> 16;
            a[i] = (arc){(int)(r[0] % VERTICES), (int)(r[1] % VERTICES), r[2] % 5};
            tc_mincut_edge(g, (size_t)a[i].from, (size_t)a[i].to, a[i].capacity);
        }
        int64_t least = INT64_MAX;
        unsigned nearest = 0; /* what all least cuts have on the source's side */
        for (unsigned side = 0; side < 1u << VERTICES; side++) {
            if (!(side & 1) || side >> (VERTICES - 1) & 1) continue; /* from 0 to the last */
            const int64_t c = cut_of(a, n, side);
            nearest = c < least ? side : c == least ? nearest & side : nearest;
            if (c < least) least = c;
        }
        bool side[VERTICES];
        unsigned found = 0;
        assert_int_equal(tc_mincut_solve(g, 0, VERTICES - 1, side), least);
        for (int v = 0; v < VERTICES; v++) found |= (unsigned)side[v] << v;
        assert_int_equal(found, nearest);
        tc_mincut_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_calls_of_equal_calls_are_one),
        cmocka_unit_test(every_result_of_equal_calls_is_one),
        cmocka_unit_test(calls_that_differ_stay),
        cmocka_unit_test(calls_without_gradient_stay_apart),
        cmocka_unit_test(sizes_of_data_belong_to_their_call),
        cmocka_unit_test(unused_chains_go),
        cmocka_unit_test(draws_and_checks_stay),
        cmocka_unit_test(what_decides_a_size_in_use_stays),
        cmocka_unit_test(a_size_in_use_as_a_number_stays),
        cmocka_unit_test(a_size_that_an_input_decides_goes_as_a_number_too),
        cmocka_unit_test(a_size_with_a_bound_is_checked_by_its_call),
        cmocka_unit_test(a_list_lives_by_any_of_its_parts),
        cmocka_unit_test(weights_that_nobody_reads_go),
        cmocka_unit_test(cuts_are_least_and_nearest_to_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
