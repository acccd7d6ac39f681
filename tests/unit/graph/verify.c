/* The verifier: a sound program passes, each of forty single-field corruptions is refused and the message names the place. */
#include "graph/graph.h"
#include "op/emit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* y, z = f(x, w): relu(x * w) split in two; cond on a bool input; count += 1 */
static tc_program *sound(void) {
    tc_program *p = tc_program_create("sound");
    tc_graph *g = p->graph;
    tc_emit e = {.graph = g};
    tc_sym B = tc_sym_var(p->sym, "B", TC_SYM_INT, 1, 64), four = tc_sym_int(p->sym, 4);
    tc_value *w = tc_graph_add_input(g, tc_graph_value(g, TC_V_TENSOR, "w")), *n = tc_graph_add_input(g, tc_graph_value(g, TC_V_TENSOR, "n"));
    tc_value *x = tc_graph_add_input(g, tc_graph_value(g, TC_V_TENSOR, "x")), *flag = tc_graph_add_input(g, tc_graph_value(g, TC_V_TENSOR, "flag"));
    w->meta = tc_meta_make(&p->arena, TC_F32, 1, &four, NULL);
    w->meta.requires_grad = true;
    n->meta = tc_meta_make(&p->arena, TC_I64, 0, NULL, NULL);
    x->meta = tc_meta_make(&p->arena, TC_F32, 2, (tc_sym[]){B, four}, NULL);
    flag->meta = tc_meta_make(&p->arena, TC_BOOL, 0, NULL, NULL);
    tc_tensor data;
    assert_null(tc_tensor_empty(TC_F32, 1, (int64_t[]){4}, &data));
    memset(tc_tensor_data(&data), 0, 16);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_PARAMETER, .value = w, .name = "w", .data = data, .alias_of = -1});
    tc_program_add_input(p, (tc_input){.kind = TC_IN_BUFFER, .value = n, .name = "n", .persistent = true, .alias_of = -1});
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = x, .name = "x", .alias_of = -1});
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = flag, .name = "flag", .alias_of = -1});
    tc_value *count = tc_emit_call(&e, "aten::add.Tensor", "vz", n, tc_scalar_int(1));
    tc_value *mul = tc_emit_call(&e, "aten::mul.Tensor", "vv", x, w), *relu = tc_emit_call(&e, "aten::relu", "v", mul);
    tc_value *split = tc_emit_call(&e, "aten::split.Tensor", "vii", relu, (int64_t)2, (int64_t)1);
    if (e.status) fail_msg("%s", tc_status_message(e.status));
    tc_graph *branch[2];
    for (int i = 0; i < 2; i++) {
        branch[i] = tc_graph_create(p, g, i ? "no" : "yes");
        tc_value *in = tc_graph_add_input(branch[i], tc_graph_value(branch[i], TC_V_TENSOR, "a"));
        in->meta = mul->meta;
        tc_emit be = {.graph = branch[i]};
        tc_graph_add_output(branch[i], tc_emit_call(&be, i ? "aten::sin" : "aten::exp", "v", in));
    }
    tc_arg args[4] = {{.kind = TC_A_VALUE, .value = flag},
                      {.kind = TC_A_GRAPH, .graph = branch[0]},
                      {.kind = TC_A_GRAPH, .graph = branch[1]},
                      {.kind = TC_A_VALUES, .n = 1, .values = tc_arena_dup(&p->arena, &mul, sizeof mul)}};
    tc_node *cond;
    assert_null(tc_graph_call(g, tc_op_find("higher_order::cond"), args, 4, (tc_source){0}, NULL, &cond));
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_BUFFER, .value = count, .name = "n", .target = 1});
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = split->list[1], .name = "y", .target = -1});
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = cond->outs[0], .name = "z", .target = -1});
    p->functional = true;
    return p;
}

/* nodes in order: add, mul, relu, split, cond */
static tc_node *node(tc_program *p, int i) {
    tc_node *n = p->graph->first;
    while (i-- > 0) n = n->next;
    return n;
}
#define N(i) node(p, i)

#define CORRUPTIONS(X)                                                                                       \
    X("mul", N(1)->op = NULL)                                                                                \
    X("mul", N(1)->nargs = 1)                                                                                \
    X("mul", N(1)->nouts = 0)                                                                                \
    X("mul", N(1)->args[0].kind = TC_A_NONE)                                                                 \
    X("mul", N(1)->args[0].kind = TC_A_STRING)                                                               \
    X("mul", N(1)->args[0].kind = (tc_arg_kind)77)                                                           \
    X("mul", N(1)->args[0].value = NULL)                                                                     \
    X("mul", N(1)->args[0].value = N(2)->outs[0]) /* used before it is defined */                            \
    X("relu", N(2)->args[0].value = N(2)->outs[0])                                                           \
    X("relu", N(2)->args[0].value = N(4)->args[1].graph->inputs[0]) /* of another graph */                   \
    X("mul", N(1)->outs[0]->meta.dtype = TC_F64)                                                             \
    X("mul", N(1)->outs[0]->meta.dtype = (tc_dtype)99)                                                       \
    X("mul", N(1)->outs[0]->meta.rank = 1)                                                                   \
    X("mul", N(1)->outs[0]->meta.rank = 40)                                                                  \
    X("mul", N(1)->outs[0]->meta.size = NULL)                                                                \
    X("mul", ((tc_sym *)(uintptr_t)N(1)->outs[0]->meta.size)[1] = tc_sym_int(p->sym, 5))                     \
    X("mul", ((tc_sym *)(uintptr_t)N(1)->outs[0]->meta.size)[0] = tc_sym_int(p->sym, -1))                    \
    X("mul", ((tc_sym *)(uintptr_t)N(1)->outs[0]->meta.size)[0] = tc_sym_var(p->sym, "Q", TC_SYM_INT, 0, 9)) \
    X("mul", N(1)->outs[0]->kind = TC_V_NONE)                                                                \
    X("mul", N(1)->outs[0]->kind = (tc_value_kind)9)                                                         \
    X("mul", N(1)->outs[0]->producer = N(2))                                                                 \
    X("mul", N(1)->outs[0]->out_index = 3)                                                                   \
    X("mul", N(1)->outs[0]->graph = NULL)                                                                    \
    X("mul", N(1)->outs[0]->id = 4000)                                                                       \
    X("mul", N(1)->outs[0]->id = N(0)->outs[0]->id)                                                          \
    X("mul", N(1)->outs[0]->name = "add")                                                                    \
    X("mul", N(1)->outs[0]->name = NULL)                                                                     \
    X("mul", N(1)->graph = NULL)                                                                             \
    X("mul", N(1)->prev = NULL)                                                                              \
    X("split", N(3)->outs[0]->nlist = 1)                                                                     \
    X("split", N(3)->outs[0]->list[1]->meta.dtype = TC_I64)                                                  \
    X("split", N(3)->args[1].sym = tc_sym_var(p->sym, "Q", TC_SYM_INT, 1, 9))                                \
    X("split", N(3)->args[2].sym = tc_sym_int(p->sym, 7)) /* no such dimension */                            \
    X("cond", N(4)->args[1].graph->noutputs = 0)                                                             \
    X("cond", N(4)->args[1].graph->first->outs[0]->meta.dtype = TC_BF16)                                     \
    X("cond", N(4)->args[3].n = 0)                                                                           \
    X("cond", N(4)->args[2].graph = NULL)                                                                    \
    X("add", N(0)->op = tc_op_find("aten::add_.Tensor")) /* writes in a functional program */                \
    X("w", p->inputs[0].data.dtype = TC_F64)                                                                 \
    X("w", p->inputs[0].data.size[0] = 3)                                                                    \
    X("w", p->inputs[0].value = N(1)->outs[0])                                                               \
    X("n", p->outputs[0].target = 17)                                                                        \
    X("n", p->outputs[0].target = 0) /* a parameter */                                                       \
    X("y", p->outputs[1].value = NULL, p->outputs[1].kind = TC_OUT_LOSS)                                     \
    X("y", p->outputs[1].value = N(2)->outs[0]) /* not the graph's */                                        \
    X("flag", p->graph->ninputs = 3)                                                                         \
    X("main", p->graph->nnodes = 9)

static void corrupt(tc_program *p, int which) {
    int i = 0;
#define X(where, ...) \
    if (i++ == which) { __VA_ARGS__; }
    CORRUPTIONS(X)
#undef X
}

static const struct {
    const char *where, *what;
} list[] = {
#define X(where, ...) {where, #__VA_ARGS__},
    CORRUPTIONS(X)
#undef X
};

static void a_sound_program_passes(void **state) {
    (void)state;
    tc_program *p = sound(), *q = tc_program_clone(p);
    tc_status st = tc_program_verify(p);
    if (st) fail_msg("%s", tc_status_message(st));
    st = tc_program_verify(q);
    if (st) fail_msg("clone: %s", tc_status_message(st));
    tc_buf a = {0}, b = {0};
    tc_program_print(&a, p, TC_PRINT_FULL);
    tc_program_print(&b, q, TC_PRINT_FULL);
    assert_string_equal(tc_buf_str(&a), tc_buf_str(&b));
    tc_buf_free(&a);
    tc_buf_free(&b);
    tc_program_release(p);
    tc_program_release(q);
}

static void corruptions_are_refused(void **state) {
    (void)state;
    assert_true(sizeof list / sizeof *list >= 40);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        tc_program *p = sound();
        tc_storage *s = p->inputs[0].data.storage;
        corrupt(p, (int)i);
        tc_status st = tc_program_verify(p);
        if (!st) fail_msg("accepted: %s", list[i].what);
        if (!strstr(tc_status_message(st), list[i].where))
            fail_msg("%s: \"%s\" does not name %s", list[i].what, tc_status_message(st), list[i].where);
        tc_status_free(st);
        p->inputs[0].data.storage = s;
        tc_program_release(p);
    }
}

static void dot_is_the_same_every_time(void **state) {
    (void)state;
    tc_program *p = sound(), *q = sound();
    tc_buf a = {0}, b = {0};
    tc_program_print_dot(&a, p);
    tc_program_print_dot(&b, q);
    assert_string_equal(tc_buf_str(&a), tc_buf_str(&b));
    assert_non_null(strstr(tc_buf_str(&a), "aten.mul.Tensor"));
    tc_buf_free(&a);
    tc_buf_free(&b);
    tc_program_release(p);
    tc_program_release(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sound_program_passes), cmocka_unit_test(corruptions_are_refused),
                                       cmocka_unit_test(dot_is_the_same_every_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
