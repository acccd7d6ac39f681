/* Clones of programs: nothing of a clone lies in the memory of the program that it was made from. */
#include "graph/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *shared(const char *a, const char *b) { return a && a == b ? a : NULL; }

static tc_tree *tree(tc_program *p, const char *key) {
    tc_tree *leaf = TC_NEW(&p->arena, tc_tree), *t = TC_NEW(&p->arena, tc_tree);
    leaf->type = tc_arena_strdup(&p->arena, "leaf");
    t->type = tc_arena_strdup(&p->arena, "dict"), t->context = tc_arena_strdup(&p->arena, key);
    t->n = 1, t->keys = tc_arena_dup(&p->arena, &(const char *){tc_arena_strdup(&p->arena, key)}, sizeof(char *));
    t->children = tc_arena_dup(&p->arena, &leaf, sizeof leaf);
    return t;
}
static void assert_copied(const tc_tree *a, const tc_tree *b) {
    assert_ptr_not_equal(a, b);
    assert_int_equal(a->n, b->n);
    assert_string_equal(a->type, b->type);
    assert_null(shared(a->type, b->type));
    assert_null(shared(a->context, b->context));
    for (int i = 0; i < a->n && a->keys; i++) {
        assert_string_equal(a->keys[i], b->keys[i]);
        assert_ptr_not_equal(a->keys[i], b->keys[i]);
    }
    for (int i = 0; i < a->n; i++) assert_copied(a->children[i], b->children[i]);
}

static void calls_of_modules_are_copied(void **state) {
    (void)state;
    tc_program *p = tc_program_create("p");
    tc_value *x = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, "x"));
    x->meta = tc_meta_make(&p->arena, TC_F32, 0, NULL, NULL);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = x, .name = "x", .alias_of = -1});
    tc_arg arg = {.kind = TC_A_VALUE, .value = x};
    const char *name = tc_arena_strdup(&p->arena, "a");
    tc_call_signature s = {.module = tc_arena_strdup(&p->arena, "net.head"), .in_tree = tree(p, "in"), .out_tree = tree(p, "out")};
    s.inputs = tc_arena_dup(&p->arena, &arg, sizeof arg), s.ninputs = 1;
    s.outputs = tc_arena_dup(&p->arena, &arg, sizeof arg), s.noutputs = 1;
    s.names = tc_arena_dup(&p->arena, &name, sizeof name), s.nnames = 1;
    tc_vec_push(&p->calls, s);
    tc_program *q = tc_program_clone(p);
    assert_int_equal(q->calls.len, 1);
    const tc_call_signature *r = &q->calls.data[0];
    assert_string_equal(r->module, "net.head");
    assert_null(shared(r->module, s.module));
    assert_copied(s.in_tree, r->in_tree);
    assert_copied(s.out_tree, r->out_tree);
    assert_ptr_equal(r->inputs[0].value, q->graph->inputs[0]);
    assert_ptr_equal(r->outputs[0].value, q->graph->inputs[0]);
    assert_string_equal(r->names[0], "a");
    assert_null(shared(r->names[0], name));
    tc_program_release(p);
    tc_program_release(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_of_modules_are_copied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
