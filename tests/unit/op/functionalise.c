/* Functionalisation, the verifier and dce on small programs: the text of the result is compared. */
#include "op/functionalise.h"

#include "graph/graph.h"
#include "op/emit.h"
#include "pass/dce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static tc_program *p;
static tc_emit e;

static int setup(void **s) {
    (void)s;
    p = tc_program_create("test");
    e = (tc_emit){.graph = p->graph};
    return 0;
}
static int teardown(void **s) {
    (void)s;
    tc_program_release(p);
    return 0;
}

static tc_value *input(tc_input_kind kind, const char *name, tc_dtype d, int rank, const int64_t *size) {
    tc_sym s[4];
    tc_value *v = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, name));
    for (int i = 0; i < rank; i++) s[i] = tc_sym_int(p->sym, size[i]);
    v->meta = tc_meta_make(&p->arena, d, rank, s, NULL);
    tc_program_add_input(p, (tc_input){.kind = kind, .value = v, .name = name, .persistent = true, .alias_of = -1});
    return v;
}
#define IN(name, ...) input(TC_IN_USER, name, TC_F32, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})

static void output(tc_value *v) {
    if (e.status) fail_msg("%s", tc_status_message(e.status));
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = "out", .target = -1});
}

static void ok(tc_status st) {
    if (st) fail_msg("%s", tc_status_message(st));
}

static void becomes(const char *expect) {
    tc_buf b = {0};
    ok(tc_program_verify(p));
    ok(tc_functionalise(p));
    ok(tc_program_verify(p));
    tc_dce(p, false);
    ok(tc_program_verify(p));
    tc_program_print(&b, p, TC_PRINT_SHORT);
    const char *text = strchr(tc_buf_str(&b), '\n') + 1;
    if (strcmp(text, expect)) fail_msg("\n%s\nexpected\n%s", text, expect);
    tc_buf_free(&b);
}

static void write_to_an_intermediate(void **state) {
    (void)state;
    tc_value *x = IN("x", 3);
    tc_value *y = tc_emit_call(&e, "aten::exp", "v", x);
    tc_emit_call(&e, "aten::add_.Tensor", "vv", y, x);
    output(tc_emit_call(&e, "aten::sin", "v", y));
    becomes("  in   input x %x: f32[3]\n"
            "    %exp: f32[3] = aten.exp.default(%x)\n"
            "    %add: f32[3] = aten.add.Tensor(%exp, %x)\n"
            "    %sin: f32[3] = aten.sin.default(%add)\n"
            "  out  output out = %sin\n");
}

static void write_to_an_input_is_an_output(void **state) {
    (void)state;
    tc_value *x = IN("x", 3), *b = input(TC_IN_BUFFER, "count", TC_I64, 0, NULL);
    tc_emit_call(&e, "aten::add_.Tensor", "vz", b, tc_scalar_int(1));
    tc_value *r = tc_emit_call(&e, "aten::mul_.Tensor", "vv", x, b);
    output(r);
    becomes("  in   input x %x: f32[3]\n"
            "  in   buffer count %count: i64[]\n"
            "    %add: i64[] = aten.add.Tensor(%count, 1)\n"
            "    %mul: f32[3] = aten.mul.Tensor(%x, %add)\n"
            "  out  input x = %mul\n"
            "  out  buffer count = %add\n"
            "  out  output out = %mul\n");
}

static void views_see_writes_to_their_base(void **state) {
    (void)state;
    tc_value *x = IN("x", 2, 3);
    tc_value *y = tc_emit_call(&e, "aten::exp", "v", x), *t = tc_emit_call(&e, "aten::transpose.int", "vii", y, (int64_t)0, (int64_t)1);
    tc_emit_call(&e, "aten::neg_", "v", y);
    output(tc_emit_call(&e, "aten::sin", "v", t));
    becomes("  in   input x %x: f32[2, 3]\n"
            "    %exp: f32[2, 3] = aten.exp.default(%x)\n"
            "    %neg: f32[2, 3] = aten.neg.default(%exp)\n"
            "    %transpose_1: f32[3, 2] = aten.transpose.int(%neg, 0, 1)\n"
            "    %sin: f32[3, 2] = aten.sin.default(%transpose_1)\n"
            "  out  output out = %sin\n");
}

static void writes_to_a_view_reach_the_base_and_other_views(void **state) {
    (void)state;
    tc_value *x = IN("x", 2, 3);
    tc_value *v = tc_emit_call(&e, "aten::view", "vI", x, (int64_t[]){6}, 1),
             *row = tc_emit_call(&e, "aten::select.int", "vii", x, (int64_t)0, (int64_t)1);
    tc_emit_call(&e, "aten::mul_.Tensor", "vf", row, 2.0);
    output(v);
    output(row);
    becomes("  in   input x %x: f32[2, 3]\n"
            "    %select: f32[3] = aten.select.int(%x, 0, 1)\n"
            "    %mul: f32[3] = aten.mul.Tensor(%select, 2.0)\n"
            "    %select_scatter: f32[2, 3] = aten.select_scatter.default(%x, %mul, 0, 1)\n"
            "    %view_1: f32[6] = aten.view.default(%select_scatter, [6])\n"
            "  out  input x = %select_scatter\n"
            "  out  output out = %view_1\n"
            "  out  output out = %mul\n");
}

static void a_part_of_a_split_is_written(void **state) {
    (void)state;
    tc_value *x = IN("x", 4, 6);
    tc_value *s = tc_emit_call(&e, "aten::split.Tensor", "vii", x, (int64_t)4, (int64_t)1);
    assert_non_null(s);
    tc_emit_call(&e, "aten::exp_", "v", s->list[1]);
    output(s->list[0]);
    becomes("  in   input x %x: f32[4, 6]\n"
            "    %split: [f32[4, 4], f32[4, 2]] -> %getitem, %getitem_1 = aten.split.Tensor(%x, 4, 1)\n"
            "    %exp: f32[4, 2] = aten.exp.default(%getitem_1)\n"
            "    %slice_scatter: f32[4, 6] = aten.slice_scatter.default(%x, %exp, 1, 4, 6)\n"
            "    %slice: f32[4, 4] = aten.slice.Tensor(%slice_scatter, 1, 0, 4)\n"
            "  out  input x = %slice_scatter\n"
            "  out  output out = %slice\n");
}

static void copy_casts_and_broadcasts(void **state) {
    (void)state;
    tc_value *x = IN("x", 2, 3), *y = input(TC_IN_USER, "y", TC_F64, 1, (int64_t[]){3});
    tc_emit_call(&e, "aten::copy_", "vv", x, y);
    output(tc_emit_call(&e, "aten::sin", "v", x));
    becomes("  in   input x %x: f32[2, 3]\n"
            "  in   input y %y: f64[3]\n"
            "    %copy: f32[2, 3] = aten.copy.default(%x, %y)\n"
            "    %sin: f32[2, 3] = aten.sin.default(%copy)\n"
            "  out  input x = %copy\n"
            "  out  output out = %sin\n");
}

static void views_in_place_change_their_tensor(void **state) {
    (void)state;
    tc_value *x = IN("x", 3);
    tc_value *y = tc_emit_call(&e, "aten::exp", "v", x);
    tc_emit_call(&e, "aten::unsqueeze_", "vi", y, (int64_t)0);
    tc_emit_call(&e, "aten::neg_", "v", y);
    output(y);
    becomes("  in   input x %x: f32[3]\n"
            "    %exp: f32[3] = aten.exp.default(%x)\n"
            "    %unsqueeze: f32[1, 3] = aten.unsqueeze.default(%exp, 0)\n"
            "    %neg: f32[1, 3] = aten.neg.default(%unsqueeze)\n"
            "  out  output out = %neg\n");
}

static void augmented_assignments_are_the_operators_in_place(void **state) {
    (void)state;
    static const char *const ops[] = {"and", "or", "xor", "lshift", "rshift"};
    for (int i = 0; i < 5; i++) {
        char name[64], functional[64];
        snprintf(name, sizeof name, "aten::__i%s__.Tensor", ops[i]);
        snprintf(functional, sizeof functional, "aten::__%s__.Tensor", ops[i]);
        const tc_op *op = tc_op_find(name);
        assert_non_null(op);
        assert_ptr_equal(tc_op_functional(op), tc_op_find(functional));
    }
    tc_value *y = tc_emit_call(&e, "aten::logical_not", "v", IN("x", 3));
    tc_emit_call(&e, "aten::__ior__.Tensor", "vv", y, tc_emit_call(&e, "aten::logical_not", "v", IN("z", 3)));
    output(y);
    becomes("  in   input x %x: f32[3]\n"
            "  in   input z %z: f32[3]\n"
            "    %logical_not: bool[3] = aten.logical_not.default(%x)\n"
            "    %logical_not_1: bool[3] = aten.logical_not.default(%z)\n"
            "    %__or__: bool[3] = aten.__or__.Tensor(%logical_not, %logical_not_1)\n"
            "  out  output out = %__or__\n");
}

static void expanded_memory_cannot_be_written(void **state) {
    (void)state;
    tc_value *x = IN("x", 1, 3), *v = tc_emit_call(&e, "aten::expand", "vI", x, (int64_t[]){2, 3}, 2);
    output(tc_emit_call(&e, "aten::neg_", "v", v));
    tc_status st = tc_functionalise(p);
    assert_int_equal(tc_status_code(st), TC_CONTENT);
    assert_non_null(strstr(tc_status_message(st), "single memory location"));
    assert_non_null(strstr(tc_status_message(st), "neg_"));
    tc_status_free(st);
}

static void a_result_that_does_not_fit_is_refused(void **state) {
    (void)state;
    tc_value *x = IN("x", 1, 3), *y = IN("y", 2, 3);
    assert_null(tc_emit_call(&e, "aten::add_.Tensor", "vv", x, y));
    assert_non_null(strstr(tc_status_message(e.status), "aten.add_.Tensor"));
    tc_status_free(e.status);
    e.status = NULL;
    tc_value *i = input(TC_IN_USER, "i", TC_I64, 1, (int64_t[]){3});
    assert_null(tc_emit_call(&e, "aten::add_.Tensor", "vf", i, 0.5));
    assert_non_null(strstr(tc_status_message(e.status), "can't be cast"));
    tc_status_free(e.status);
    e.status = NULL;
}

static void steps_of_a_capture(void **state) {
    (void)state;
    tc_value *x = IN("x", 3), *now, *later;
    tc_functional *f = tc_functional_create(p->graph);
    tc_value *y = tc_emit_call(&e, "aten::exp", "v", x), *v = tc_emit_call(&e, "aten::view", "vI", y, (int64_t[]){3, 1}, 2);
    tc_emit_call(&e, "aten::neg_", "v", y);
    ok(tc_functional_step(f));
    ok(tc_functional_current(f, v, &now));
    assert_ptr_not_equal(now, v);
    assert_string_equal(tc_op_name(now->producer->op), "aten.view.default");
    tc_emit_call(&e, "aten::neg_", "v", v);
    ok(tc_functional_step(f));
    ok(tc_functional_current(f, y, &later));
    assert_string_equal(tc_op_name(later->producer->op), "aten.view.default"); /* neg of the view, back in the base's shape */
    output(y);
    ok(tc_functional_finish(f));
    tc_functional_destroy(f);
    p->functional = true;
    ok(tc_program_verify(p));
}

static void long_programs_take_linear_time(void **state) {
    (void)state;
    tc_value *x = IN("x", 4), *y = tc_emit_call(&e, "aten::exp", "v", x);
    for (int i = 0; i < 20000; i++)
        tc_emit_call(&e, "aten::add_.Tensor", "vv", tc_emit_call(&e, "aten::slice.Tensor", "viii", y, (int64_t)0, (int64_t)0, (int64_t)2),
                     tc_emit_call(&e, "aten::slice.Tensor", "viii", y, (int64_t)0, (int64_t)2, (int64_t)4));
    output(y);
    ok(tc_functionalise(p));
    ok(tc_program_verify(p));
    assert_true(p->graph->nnodes >= 60000);
}

static void parts_of_a_list_that_are_written_are_taken_alone(void **state) {
    (void)state;
    tc_value *x = IN("x", 2000, 2), *rows = tc_emit_call(&e, "aten::unbind.int", "vi", x, (int64_t)0);
    for (int i = 0; i < 2000; i++) tc_emit_call(&e, "aten::exp_", "v", rows->list[i]);
    output(x);
    ok(tc_functionalise(p));
    ok(tc_program_verify(p));
    assert_true(p->graph->nvalues < 20 * 2000);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(write_to_an_intermediate),
        T(write_to_an_input_is_an_output),
        T(views_see_writes_to_their_base),
        T(writes_to_a_view_reach_the_base_and_other_views),
        T(a_part_of_a_split_is_written),
        T(copy_casts_and_broadcasts),
        T(views_in_place_change_their_tensor),
        T(augmented_assignments_are_the_operators_in_place),
        T(expanded_memory_cannot_be_written),
        T(a_result_that_does_not_fit_is_refused),
        T(steps_of_a_capture),
        T(long_programs_take_linear_time),
        T(parts_of_a_list_that_are_written_are_taken_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
