/* Backward operators whose arguments do not belong together, as a program that nobody differentiated may call them: each either runs or is
 * refused in one line that names the operator. From calls that are right, one argument at a time is changed: a size, the rank, what an index
 * says, a list's length and numbers. */
#include "base/file.h"
#include "op/sample.h"
#include "runtime/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MOST_ARGS = 24, MOST_ELEMENTS = 1 << 16 };

/* Right calls. Of these every tensor has the sizes that the others say: one with a dimension more is refused by the shape rule. */
static const char strict[] =
    "reflection_pad1d_backward(f32[2,3,8], f32[2,3,5], [1,2]);"
    "reflection_pad2d_backward(f32[2,6,8], f32[2,4,5], [1,2,2,0]);"
    "reflection_pad3d_backward(f32[1,2,4,3,4], f32[1,2,3,3,3], [1,0,0,0,1,0]);"
    "replication_pad1d_backward(f32[3,8], f32[3,5], [1,2]);"
    "replication_pad2d_backward(f32[2,6,8], f32[2,4,5], [1,2,2,0]);"
    "replication_pad3d_backward(f32[1,2,4,3,4], f32[1,2,3,3,3], [1,0,0,0,1,0]);"
    "max_pool2d_with_indices_backward(f32[2,3,2,2], f32[2,3,4,5], [2,2], [2,2], [0,0], [1,1], False, i64[2,3,2,2]:0..19);"
    "max_pool3d_with_indices_backward(f32[2,2,2,2], f32[2,4,4,5], [2,2,2], [2,2,2], [0,0,0], [1,1,1], False, i64[2,2,2,2]:0..79);"
    "avg_pool2d_backward(f32[2,3,3,3], f32[2,3,4,5], [2,2], [2,2], [1,1], False, True, None);"
    "avg_pool3d_backward(f32[2,2,2,2], f32[2,4,4,5], [2,2,2], [], [0,0,0], False, False, 3);"
    "_adaptive_avg_pool2d_backward(f32[2,3,2,3], f32[2,3,5,7]);"
    "_adaptive_avg_pool3d_backward(f32[2,2,3,2], f32[2,5,7,3]);"
    "adaptive_max_pool2d_backward(f32[2,3,2,2], f32[2,3,5,4], i64[2,3,2,2]:0..19);"
    "adaptive_max_pool3d_backward(f32[3,2,2,2], f32[3,5,4,3], i64[3,2,2,2]:0..59);"
    "select_backward(f32[3], [3,4], 1, 2);"
    "slice_backward(f32[2,4], [5,4], 0, 1, 4, 2);"
    "diagonal_backward(f32[3], [3,4], 0, 0, 1);"
    "unfold_backward(f32[3,2,3], [7,2], 0, 3, 2);"
    "convolution_backward(f32[2,4,3,3], f32[2,3,5,5], f32[4,3,3,3], [4], [1,1], [0,0], [1,1], False, [0,0], 1, [True,True,True]);"
    "convolution_backward(f32[2,6,9], f32[2,4,5], f32[4,3,3], [6], [2], [1], [1], True, [0], 2, [True,True,True]);"
    "_ctc_loss_backward(f32[2], f32[5,2,4], i64[2,2]:1..3, [5,4], [2,1], f32[2], f32[2,5,5], 0, False);"
    "_ctc_loss_backward(f64[2], f64[5,2,4], i64[3]:1..3, i64[2]:3..5, i64[2]:1..2, f64[2], f64[2,5,5], 0, True);"
    "embedding_dense_backward(f32[2,4,3], i64[2,4]:0..7, 7, -1, True);"
    "nll_loss_backward(f32[5], f32[5,4], i64[5]:0..4, f32[4], 0, -100, f32[]);"
    "nll_loss2d_backward(f32[], f32[2,4,3,3], i64[2,3,3]:0..4, f32[4], 1, -100, f32[]);"
    "native_layer_norm_backward(f32[2,3,4], f32[2,3,4], [4], f32[2,3,1], f32[2,3,1], f32[4], f32[4], [True,True,True]);"
    "native_batch_norm_backward(f32[2,3,4], f32[2,3,4], f32[3], f32[3], f32[3], f32[3], f32[3], True, 1e-5, [True,True,True]);"
    "native_group_norm_backward(f32[2,4,3], f32[2,4,3], f32[2,2], f32[2,2], f32[4], 2, 4, 3, 2, [True,True,True]);"
    "_scaled_dot_product_flash_attention_for_cpu_backward(f32[2,3,4,5], f32[2,3,4,5], f32[2,3,6,5], f32[2,3,6,5], f32[2,3,4,5], f32[2,3,4], 0.0, "
    "False);"
    "cumprod_backward(f32[3,5], f32[3,5], 1, f32[3,5]);"
    "_softmax_backward_data(f32[3,5], f32[3,5], 1, torch.float32);"
    "_log_softmax_backward_data(f32[3,5], f32[3,5], 0, torch.float32);"
    "_segment_reduce_backward(f32[3,2], f32[3,2], f32[6,2], 'prod', lengths=i64[3]:2..3);"
    "glu_backward(f32[3,3], f32[3,6], -1);"
    "mkldnn_rnn_layer_backward(f32[3,2,4], f32[20,4], f32[20,5], f32[20], f32[20], f32[1,2,5], f32[1,2,5], f32[3,2,5], f32[1,2,5], f32[1,2,5], "
    "f32[3,2,5], f32[1,2,5], f32[1,2,5], False, 2, 5, 1, True, True, False, [0], False, f32[3,2,25])";
/* Right calls of those that broadcast, or write into zeros by another operator. */
static const char others[] =
    "elu_backward(f32[5], 1, 1, 1, False, f32[5]); log_sigmoid_backward(f32[5], f32[5], f32[5]); sigmoid_backward(f32[3,5], f32[3,5]);"
    "_prelu_kernel_backward(f32[2,3], f32[2,3], f32[1,3]); native_dropout_backward(f32[4,5], bool[4,5], 1.5);"
    "embedding_backward(f32[4,3], i64[4]:0..7, 7, -1, False, False); index_select_backward(f32[3,2], [5,2], 0, i64[3]:0..5);"
    "linear_backward(f32[3,4], f32[3,5], f32[5,4], [True,True,True]); mse_loss_backward(f32[], f32[3,4], f32[3,4], 1);"
    "binary_cross_entropy_backward(f32[3], f32[3]:0.1..0.9, f32[3]:0..1, None, 0); gelu_backward(f32[5], f32[5]);"
    "threshold_backward(f32[5], f32[5], 0); softplus_backward(f32[5], f32[5], 1, 20);"
    "mkldnn_rnn_layer_backward(f32[3,2,4], f32[15,4], f32[15,5], f32[15], f32[15], f32[2,5], f32[2,5], f32[3,2,5], f32[2,5], f32[2,5], "
    "f32[3,2,5], None, None, True, 3, 5, 1, False, True, False, [0], False, f32[3,2,20])";

typedef enum { AS_IT_IS, SIZE, RANK, VALUES, LENGTH, NUMBER } what;
/* One change, of argument `arg`: element `at` of its sizes or numbers by or to `to`. */
typedef struct {
    what what;
    int arg, at;
    int64_t to;
} change;
typedef struct {
    const tc_sample *of;
    const tc_node *call;
    int ran, refused, failed, passed; /* passed: a strict change that the shape rule let pass */
} counts;

static tc_value *tensor(tc_program *p, const tc_meta *m, const change *c, bool mine) {
    tc_sym size[TC_MAX_RANK + 1];
    int rank = m->rank;
    int64_t v;
    for (int d = 0; d < rank; d++) {
        assert_true(tc_sym_const_int(m->size[d], &v));
        if (mine && c->what == SIZE && d == c->at) v = v + c->to > 0 ? v + c->to : 0;
        size[d] = tc_sym_int(p->sym, v);
    }
    if (mine && c->what == RANK) {
        if (c->to > 0) size[rank++] = tc_sym_int(p->sym, c->to);
        else if (rank) rank--;
    }
    tc_value *x = tc_graph_value(p->graph, TC_V_TENSOR, "x");
    x->meta = tc_meta_make(&p->arena, m->dtype, rank, tc_arena_dup(&p->arena, size, sizeof *size * (size_t)(rank + 1)), NULL);
    tc_graph_add_input(p->graph, x);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_USER, .value = x, .name = x->name, .alias_of = -1});
    return x;
}
static tc_sym number(tc_program *p, tc_sym s, int at, const change *c, bool mine) {
    int64_t v;
    assert_true(tc_sym_const_int(s, &v));
    return tc_sym_int(p->sym, mine && c->what == NUMBER && at == c->at ? c->to : v);
}
static tc_arg argument(tc_program *p, const tc_arg *a, const change *c, bool mine) {
    tc_arg out = *a;
    if (a->kind == TC_A_VALUE && a->value) out.value = tensor(p, &a->value->meta, c, mine);
    if (a->kind == TC_A_INT) out.sym = number(p, a->sym, 0, c, mine);
    if (a->kind == TC_A_INTS) {
        tc_sym *syms = TC_NEWN(&p->arena, tc_sym, (size_t)a->n + 2);
        for (int i = 0; i < a->n; i++) syms[i] = number(p, a->syms[i], i, c, mine);
        syms[a->n] = tc_sym_int(p->sym, 1);
        out.syms = syms;
        if (mine && c->what == LENGTH) out.n += (int)c->to;
    }
    return out;
}

static int64_t elements(const tc_meta *m) {
    int64_t n = 1, v;
    for (int d = 0; d < m->rank; d++) {
        if (!tc_sym_const_int(m->size[d], &v) || v > MOST_ELEMENTS) return INT64_MAX;
        n *= v;
        if (n > MOST_ELEMENTS) return INT64_MAX;
    }
    return n;
}

/* tensors: those of the call, in its order; the one of the changed argument may have any values */
static tc_status run(const tc_program *p, const counts *k, const change *c, bool no_fuse) {
    tc_tensor in[TC_SAMPLE_TENSORS] = {0}, out[8] = {0};
    tc_exec *e = NULL;
    tc_status s = NULL;
    int changed = 0, n = 0;
    for (int i = 0; i < c->arg; i++) changed += k->call->args[i].kind == TC_A_VALUE && k->call->args[i].value;
    for (; n < p->ninputs && !s; n++) {
        const tc_meta *m = &p->inputs[n].value->meta;
        int64_t size[TC_MAX_RANK];
        for (int d = 0; d < m->rank; d++) tc_sym_const_int(m->size[d], &size[d]);
        s = tc_tensor_empty(m->dtype, m->rank, size, &in[n]);
        const bool any = c->what == VALUES && n == changed;
        if (!s) tc_sample_fill(&in[n], any ? (double)-c->to : k->of->lo[n], any ? (double)c->to : k->of->hi[n], 7 + (uint64_t)n);
    }
    if (!s) s = tc_exec_create(p, &(tc_exec_options){.threads = 1, .no_fuse = no_fuse}, &e);
    if (!s) s = tc_exec_run(e, in, n, NULL, out, p->noutputs);
    tc_exec_destroy(e);
    for (int i = 0; i < 8; i++) tc_tensor_deinit(&out[i]);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&in[i]);
    return s;
}

static void refusal(counts *k, const change *c, tc_status s, bool right) {
    const char *text = tc_status_message(s);
    if (right || !*text || strchr(text, '\n')) {
        print_error("%s, argument %d, change %d at %d by %lld: %s\n", tc_op_name(k->call->op), c->arg, c->what, c->at, (long long)c->to, text);
        k->failed++;
    }
    if (getenv("TC_TEST_VERBOSE")) print_message("%s\n", text);
    k->refused++;
    tc_status_free(s);
}

static void try_change(counts *k, change c, bool must) {
    tc_program *p = tc_program_create("backward");
    tc_arg args[MOST_ARGS];
    tc_node *n = NULL;
    bool small = true;
    assert_true(k->call->nargs <= MOST_ARGS);
    for (int i = 0; i < k->call->nargs; i++) args[i] = argument(p, &k->call->args[i], &c, i == c.arg);
    tc_status s = tc_graph_call(p->graph, k->call->op, args, k->call->nargs, (tc_source){0}, NULL, &n);
    if (s) {
        refusal(k, &c, s, c.what == AS_IT_IS);
    } else {
        if (must) print_error("%s, argument %d: a dimension more is not refused\n", tc_op_name(k->call->op), c.arg);
        k->passed += must;
        for (int i = 0; i < n->nouts; i++) {
            if (n->outs[i]->kind != TC_V_TENSOR) continue;
            small &= elements(&n->outs[i]->meta) < INT64_MAX;
            tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = n->outs[i], .name = n->outs[i]->name, .target = -1});
        }
        for (int no_fuse = 0; small && no_fuse < 2; no_fuse++) {
            s = run(p, k, &c, no_fuse);
            if (s) refusal(k, &c, s, c.what == AS_IT_IS);
            else k->ran++;
        }
    }
    tc_program_release(p);
}

static void changes_of(counts *k, int arg, bool is_strict) {
    static const int64_t numbers[] = {-9, -1, 0, 1, 3, 8, 1 << 20, INT64_MAX / 2, INT64_MIN / 2};
    const tc_arg *a = &k->call->args[arg];
    if (a->kind == TC_A_VALUE && a->value) {
        for (int d = 0; d < a->value->meta.rank; d++)
            for (int64_t by = -1; by < 40; by = by < 0 ? 1 : by * 37 + 2) try_change(k, (change){SIZE, arg, d, by}, false);
        try_change(k, (change){RANK, arg, 0, 0}, false);
        try_change(k, (change){RANK, arg, 0, 1}, false);
        try_change(k, (change){RANK, arg, 0, 3}, is_strict);
        if (!tc_is_float(a->value->meta.dtype))
            try_change(k, (change){VALUES, arg, 0, 1 << 20}, false), try_change(k, (change){VALUES, arg, 0, 9}, false);
    }
    if (a->kind == TC_A_INTS && a->n) try_change(k, (change){LENGTH, arg, 0, -1}, false), try_change(k, (change){LENGTH, arg, 0, 1}, false);
    for (int i = 0; i < (a->kind == TC_A_INT ? 1 : a->kind == TC_A_INTS ? a->n : 0); i++)
        for (size_t v = 0; v < sizeof numbers / sizeof *numbers; v++) try_change(k, (change){NUMBER, arg, i, numbers[v]}, false);
}

static void all_changes(const char *calls, bool is_strict) {
    size_t len;
    const char *call;
    counts k = {0};
    for (int i = 0; (call = tc_sample_call(calls, i, &len)); i++) {
        tc_sample s;
        tc_status st = tc_sample_parse(NULL, call, len, &s);
        if (st) fail_msg("%.*s: %s", (int)len, call, tc_status_message(st));
        k.of = &s, k.call = s.program->graph->first;
        while (!strstr(tc_op_name(k.call->op), "backward")) k.call = k.call->next;
        try_change(&k, (change){.what = AS_IT_IS}, false);
        for (int a = 0; a < k.call->nargs; a++) changes_of(&k, a, is_strict);
        tc_program_release(s.program);
    }
    print_message("%d runs, %d refusals\n", k.ran, k.refused);
    assert_int_equal(k.failed, 0);
    assert_int_equal(k.passed, 0);
    assert_true(k.ran > 0 && k.refused > 0);
}

static void belong_together(void **state) {
    (void)state;
    all_changes(strict, true);
}
static void run_or_refuse(void **state) {
    (void)state;
    all_changes(others, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(belong_together), cmocka_unit_test(run_or_refuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
