/* Gradients through the structure of programs: accumulation, detach and no_grad, tied weights, regions, cond, map, scan,
 * autograd.Function, second derivatives, long chains. Values are checked against formulas or finite differences. */
#include "grad/grad.h"

#include "base/rng.h"
#include "op/functionalise.h"
#include "pass/cse.h"
#include "pass/dce.h"
#include "runtime/runtime.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static tc_program *p;
static tc_emit e;
static tc_tensor in[16];
static int nin;

static int setup(void **s) {
    (void)s;
    p = tc_program_create("test");
    e = (tc_emit){.graph = p->graph};
    nin = 0;
    return 0;
}
static int teardown(void **s) {
    (void)s;
    for (int i = 0; i < nin; i++) tc_tensor_deinit(&in[i]);
    tc_program_release(p);
    return 0;
}
static void ok(tc_status st) {
    if (st) fail_msg("%s", tc_status_message(st));
}

static tc_value *input(tc_graph *g, const char *name, int rank, const int64_t *size) {
    tc_sym s[4];
    tc_value *v = tc_graph_add_input(g, tc_graph_value(g, TC_V_TENSOR, name));
    for (int i = 0; i < rank; i++) s[i] = tc_sym_int(p->sym, size[i]);
    v->meta = tc_meta_make(&p->arena, TC_F64, rank, s, NULL);
    if (g != p->graph) return v;
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = v, .name = name, .alias_of = -1});
    ok(tc_tensor_empty(TC_F64, rank, size, &in[nin]));
    double *d = tc_tensor_data(&in[nin]);
    for (int64_t i = 0, n = tc_tensor_numel(&in[nin]); i < n; i++) d[i] = sin((double)(i * 7 + nin * 3 + 1)) * 0.9;
    nin++;
    return v;
}
#define IN(name, ...) input(p->graph, name, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define SUB(g, name, ...) input(g, name, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})

static void out(tc_value *v) {
    if (e.status) fail_msg("%s", tc_status_message(e.status));
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = "out", .target = -1});
}

static double *run(tc_tensor *outs) {
    tc_exec *x;
    tc_generator g;
    tc_generator_seed(&g, 0);
    ok(tc_exec_create(p, &(tc_exec_options){.threads = 1}, &x));
    ok(tc_exec_run(x, in, nin, &g, outs, p->noutputs));
    tc_exec_destroy(x);
    return tc_tensor_data(&outs[0]);
}

/* The loss is output 0; appends the gradients of the first n inputs and compares each element with a central difference. */
static void check(tc_value *loss, int n) {
    tc_value *wrt[16], *grads[16];
    tc_tensor outs[32] = {0}, more[32] = {0};
    if (e.status) fail_msg("%s", tc_status_message(e.status));
    if (loss->meta.rank) loss = tc_emit_call(&e, "aten::sum", "v", loss);
    out(loss);
    ok(tc_functionalise(p));
    loss = p->outputs[0].value;
    for (int i = 0; i < n; i++) wrt[i] = p->inputs[i].value;
    ok(tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &loss, .noutputs = 1, .wrt = wrt, .nwrt = n, .zeros = true}, grads));
    for (int i = 0; i < n; i++) tc_program_add_output(p, (tc_output){.kind = TC_OUT_GRAD_USER, .value = grads[i], .name = "grad", .target = i});
    ok(tc_program_verify(p));
    tc_cse(p);
    tc_dce(p, false);
    ok(tc_program_verify(p));
    run(outs);
    for (int i = 0; i < n; i++) {
        double *d = tc_tensor_data(&in[i]), *g = tc_tensor_data(&outs[1 + i]);
        for (int64_t k = 0; k < tc_tensor_numel(&in[i]); k++) {
            double keep = d[k], h = 1e-6;
            d[k] = keep + h;
            double up = *run(more);
            for (int o = 0; o < p->noutputs; o++) tc_tensor_deinit(&more[o]);
            d[k] = keep - h;
            double down = *run(more);
            for (int o = 0; o < p->noutputs; o++) tc_tensor_deinit(&more[o]);
            d[k] = keep;
            double want = (up - down) / (2 * h);
            if (!(fabs(want - g[k]) < 1e-6 * (1 + fabs(want))))
                fail_msg("input %d element %d: gradient %.10g, differences give %.10g", i, (int)k, g[k], want);
        }
    }
    for (int o = 0; o < p->noutputs; o++) tc_tensor_deinit(&outs[o]);
}

static void contributions_add_up(void **state) {
    (void)state;
    tc_value *x = IN("x", 2, 3), *w = IN("w", 3);
    tc_value *y = tc_e_mul(&e, x, w), *z = tc_e_add(&e, tc_emit_call(&e, "aten::sin", "v", y), tc_e_mul(&e, y, x));
    check(z, 2);
}

static void views_and_writes_carry_gradients(void **state) {
    (void)state;
    tc_value *x = IN("x", 2, 3), *y = tc_emit_call(&e, "aten::exp", "v", x);
    tc_value *row = tc_emit_call(&e, "aten::select.int", "vii", y, (int64_t)0, (int64_t)1),
             *t = tc_emit_call(&e, "aten::transpose.int", "vii", y, (int64_t)0, (int64_t)1);
    tc_emit_call(&e, "aten::mul_.Tensor", "vv", row, row);
    check(tc_e_mul(&e, t, t), 1);
}

/* What a condition leaves 1 is broadcast as 1 is, also where its value was made before: to no elements, too. */
static void what_is_known_to_be_one_is_summed_to(void **state) {
    (void)state;
    tc_value *x = IN("x", 1), *z = IN("z", 0);
    tc_sym b = tc_sym_var(p->sym, "B", TC_SYM_INT, 0, 9);
    x->meta = tc_meta_make(&p->arena, TC_F64, 1, &b, NULL);
    tc_value *y = tc_emit_call(&e, "aten::exp", "v", x);
    tc_program_guard(p, (tc_guard){.cond = tc_sym_op(p->sym, TC_S_EQ, b, tc_sym_int(p->sym, 1), NULL)});
    check(tc_e_mul(&e, y, z), 1);
    assert_false(tc_sym_is_int(p->outputs[1].value->meta.size[0], 0));
}

/* A guard of the inputs alone on which types come to rest is no longer left out with these. */
static void a_guard_apart_that_is_needed_is_apart_no_more(void **state) {
    (void)state;
    tc_sym b = tc_sym_var(p->sym, "B", TC_SYM_INT, 0, 9), one = tc_sym_op(p->sym, TC_S_EQ, b, tc_sym_int(p->sym, 1), NULL);
    tc_program_guard(p, (tc_guard){.cond = one, .apart = true});
    assert_int_equal(tc_sym_known(p->sym, one), -1);
    tc_program_guard(p, (tc_guard){.cond = one});
    assert_int_equal(tc_sym_known(p->sym, one), 1);
    tc_program_guard(p, (tc_guard){.cond = one, .apart = true});
    assert_int_equal(p->guards.len, 1);
    assert_false(p->guards.data[0].apart);
}

static void detach_and_no_grad_stop_gradients(void **state) {
    (void)state;
    tc_value *x = IN("x", 3), *d = tc_emit_call(&e, "aten::detach", "v", x), *grad[1];
    p->no_grad = true;
    tc_value *c = tc_emit_call(&e, "aten::exp", "v", x);
    p->no_grad = false;
    tc_value *y = tc_emit_call(&e, "aten::sum", "v", tc_e_add(&e, tc_e_mul(&e, x, d), tc_e_mul(&e, x, c)));
    out(y);
    ok(tc_functionalise(p));
    ok(tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &y, .noutputs = 1, .wrt = &x, .nwrt = 1}, grad));
    out(grad[0]);
    tc_tensor outs[2] = {0};
    run(outs);
    const double *g = tc_tensor_data(&outs[1]), *v = tc_tensor_data(&in[0]);
    for (int i = 0; i < 3; i++) assert_true(fabs(g[i] - (v[i] + exp(v[i]))) < 1e-12);
    tc_tensor_deinit(&outs[0]);
    tc_tensor_deinit(&outs[1]);
}

static void unused_values_have_no_gradient(void **state) {
    (void)state;
    tc_value *x = IN("x", 3), *w = IN("w", 2), *wrt[2] = {x, w}, *g[2];
    tc_value *y = tc_emit_call(&e, "aten::sum", "v", x);
    ok(tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &y, .noutputs = 1, .wrt = wrt, .nwrt = 2}, g));
    assert_non_null(g[0]);
    assert_null(g[1]);
    tc_status st = tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &x, .noutputs = 1, .wrt = &x, .nwrt = 1}, g);
    assert_non_null(strstr(tc_status_message(st), "scalar outputs"));
    tc_status_free(st);
}

static void second_derivatives(void **state) {
    (void)state;
    tc_value *x = IN("x", 4), *g[1];
    tc_value *y = tc_emit_call(&e, "aten::sum", "v", tc_e_mul(&e, tc_emit_call(&e, "aten::sin", "v", x), x));
    ok(tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &y, .noutputs = 1, .wrt = &x, .nwrt = 1}, g));
    check(tc_e_mul(&e, g[0], g[0]), 1); /* a gradient penalty */
}

/* ---- control flow ---- */
static tc_arg graph_arg(tc_graph *g) { return (tc_arg){.kind = TC_A_GRAPH, .graph = g}; }
static tc_arg values(int n, tc_value **v) {
    return (tc_arg){.kind = TC_A_VALUES, .n = n, .values = n ? tc_arena_dup(&p->arena, v, sizeof *v * (size_t)n) : NULL};
}

static void cond_goes_back_through_the_branch_taken(void **state) {
    (void)state;
    for (int taken = 0; taken < 2; taken++) {
        if (taken) teardown(state), setup(state);
        tc_value *x = IN("x", 3), *w = IN("w", 3);
        tc_value *pred = tc_emit_call(&e, taken ? "aten::lt.Scalar" : "aten::gt.Scalar", "vf", tc_emit_call(&e, "aten::sum", "v", x), 100.0);
        tc_graph *g[2];
        for (int i = 0; i < 2; i++) {
            g[i] = tc_graph_create(p, p->graph, i ? "no" : "yes");
            tc_value *a = SUB(g[i], "a", 3), *b = SUB(g[i], "b", 3);
            tc_emit s = {.graph = g[i]};
            tc_graph_add_output(g[i], i ? tc_e_mul(&s, tc_emit_call(&s, "aten::sin", "v", a), b) : tc_emit_call(&s, "aten::exp", "v", a));
        }
        tc_arg args[4] = {{.kind = TC_A_VALUE, .value = pred}, graph_arg(g[0]), graph_arg(g[1]), values(2, (tc_value *[]){x, w})};
        tc_node *n;
        ok(tc_graph_call(p->graph, tc_op_find("higher_order::cond"), args, 4, (tc_source){0}, NULL, &n));
        check(tc_e_mul(&e, n->outs[0], x), 2);
    }
}

static void map_sums_what_its_steps_share(void **state) {
    (void)state;
    tc_value *x = IN("x", 4, 3), *w = IN("w", 3);
    tc_graph *g = tc_graph_create(p, p->graph, "body");
    tc_value *a = SUB(g, "a", 3), *b = SUB(g, "b", 3);
    tc_emit s = {.graph = g};
    tc_graph_add_output(g, tc_e_mul(&s, tc_emit_call(&s, "aten::tanh", "v", a), b));
    tc_arg args[3] = {graph_arg(g), values(1, &x), values(1, &w)};
    tc_node *n;
    ok(tc_graph_call(p->graph, tc_op_find("higher_order::map_impl"), args, 3, (tc_source){0}, NULL, &n));
    check(tc_e_mul(&e, n->outs[0], x), 2);
}

static void scan_goes_back_in_time(void **state) {
    (void)state;
    tc_value *h0 = IN("h0", 2), *x = IN("x", 5, 2), *w = IN("w", 2);
    tc_graph *g = tc_graph_create(p, p->graph, "combine");
    tc_value *h = SUB(g, "h", 2), *a = SUB(g, "a", 2), *b = SUB(g, "b", 2);
    tc_emit s = {.graph = g};
    tc_value *next = tc_emit_call(&s, "aten::tanh", "v", tc_e_add(&s, tc_e_mul(&s, h, b), a));
    tc_graph_add_output(g, next);
    tc_graph_add_output(g, tc_e_mul(&s, next, next));
    tc_arg args[4] = {graph_arg(g), values(1, &h0), values(1, &x), values(1, &w)};
    tc_node *n;
    ok(tc_graph_call(p->graph, tc_op_find("higher_order::scan"), args, 4, (tc_source){0}, NULL, &n));
    tc_value *y = tc_e_add(&e, tc_emit_call(&e, "aten::sum", "v", tc_e_mul(&e, n->outs[1], x)), tc_emit_call(&e, "aten::sum", "v", n->outs[0]));
    check(y, 3);
}

/* forward: exp(a), saving it; backward: 3 * grad * saved, so that the rule given is seen to be the one used */
static void a_function_has_the_backward_it_says(void **state) {
    (void)state;
    tc_value *x = IN("x", 3), *grad[1];
    tc_graph *fwd = tc_graph_create(p, p->graph, "forward"), *back = tc_graph_create(p, p->graph, "backward");
    tc_value *a = SUB(fwd, "a", 3);
    tc_emit f = {.graph = fwd}, b = {.graph = back};
    tc_value *y = tc_emit_call(&f, "aten::exp", "v", a);
    tc_graph_add_output(fwd, y);
    tc_graph_add_output(fwd, y);
    tc_value *g = SUB(back, "g", 3), *saved = SUB(back, "saved", 3);
    tc_graph_add_output(back, tc_e_muls(&b, tc_e_mul(&b, g, saved), 3));
    tc_arg args[4] = {graph_arg(back), graph_arg(fwd), values(1, &x), {.kind = TC_A_INT, .sym = tc_sym_int(p->sym, 1)}};
    tc_node *n;
    ok(tc_graph_call(p->graph, tc_op_find("tc::autograd_function"), args, 4, (tc_source){0}, NULL, &n));
    tc_value *loss = tc_emit_call(&e, "aten::sum", "v", n->outs[0]);
    out(loss);
    ok(tc_functionalise(p));
    ok(tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &loss, .noutputs = 1, .wrt = &x, .nwrt = 1}, grad));
    out(grad[0]);
    ok(tc_program_verify(p));
    tc_tensor outs[2] = {0};
    run(outs);
    const double *d = tc_tensor_data(&outs[1]), *v = tc_tensor_data(&in[0]);
    for (int i = 0; i < 3; i++) assert_true(fabs(d[i] - 3 * exp(v[i])) < 1e-12);
    tc_tensor_deinit(&outs[0]);
    tc_tensor_deinit(&outs[1]);
}

static void tied_weights_have_one_gradient(void **state) {
    (void)state;
    tc_value *w[2];
    tc_tensor data;
    ok(tc_tensor_empty(TC_F64, 1, (int64_t[]){3}, &data));
    for (int i = 0; i < 3; i++) ((double *)tc_tensor_data(&data))[i] = i + 1;
    for (int i = 0; i < 2; i++) {
        w[i] = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, i ? "head" : "embed"));
        tc_sym three = tc_sym_int(p->sym, 3);
        w[i]->meta = tc_meta_make(&p->arena, TC_F64, 1, &three, NULL);
        w[i]->meta.requires_grad = true;
        tc_program_add_input(p, (tc_input){.kind = TC_IN_PARAMETER,
                                           .value = w[i],
                                           .name = i ? "head" : "embed",
                                           .data = i ? tc_tensor_share(&data) : data,
                                           .alias_of = i ? 0 : -1});
    }
    out(tc_emit_call(&e, "aten::sum", "v", tc_e_mul(&e, w[0], w[1])));
    ok(tc_functionalise(p));
    ok(tc_grad_program(p, 0, TC_DTYPE_NONE, NULL, 0, NULL));
    ok(tc_program_verify(p));
    assert_int_equal(p->noutputs, 2);
    assert_int_equal(p->outputs[0].kind, TC_OUT_LOSS);
    assert_int_equal(p->outputs[1].target, 0);
    tc_tensor outs[2] = {0};
    run(outs);
    for (int i = 0; i < 3; i++) assert_true(((double *)tc_tensor_data(&outs[1]))[i] == 2 * (i + 1));
    tc_tensor_deinit(&outs[0]);
    tc_tensor_deinit(&outs[1]);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double chain(int n) {
    setup(NULL);
    tc_value *x = IN("x", 4), *y = x, *grad[1];
    double from = seconds();
    for (int i = 0; i < n; i++) y = tc_e_mul(&e, tc_emit_call(&e, "aten::sin", "v", y), x);
    y = tc_emit_call(&e, "aten::sum", "v", y);
    out(y);
    ok(tc_functionalise(p));
    ok(tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = &y, .noutputs = 1, .wrt = &x, .nwrt = 1}, grad));
    out(grad[0]);
    tc_cse(p);
    tc_dce(p, false);
    ok(tc_program_verify(p));
    assert_true(p->graph->nnodes > (size_t)(4 * n));
    from = seconds() - from;
    teardown(NULL);
    return from;
}

static void long_chains_take_linear_time(void **state) {
    (void)state;
    double small = chain(2000), large = chain(20000);
    assert_true(large < 40 * small + 0.5); /* quadratic would be 100 times */
    setup(NULL);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(contributions_add_up),
        T(views_and_writes_carry_gradients),
        T(a_guard_apart_that_is_needed_is_apart_no_more),
        T(what_is_known_to_be_one_is_summed_to),
        T(detach_and_no_grad_stop_gradients),
        T(unused_values_have_no_gradient),
        T(second_derivatives),
        T(cond_goes_back_through_the_branch_taken),
        T(map_sums_what_its_steps_share),
        T(scan_goes_back_in_time),
        T(a_function_has_the_backward_it_says),
        T(tied_weights_have_one_gradient),
        T(long_chains_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
