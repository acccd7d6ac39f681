/* Whole programs: results equal fused or not, for every instruction set and number of threads; sizes solved and checked; mutations in
 * place; results that are views, inputs, or the same twice; single operators. */
#include "graphs.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "op/decompose.h"
#include "runtime/frame.h"

#include <math.h>

static tc_program *program(void) {
    tc_program *p = tc_program_create("t");
    if (!p->graph) p->graph = tc_graph_create(p, NULL, "t");
    p->functional = true;
    return p;
}
static void same(const tc_tensor *a, const tc_tensor *b, const char *what) {
    tc_diff d;
    ok(tc_tensor_compare(a, b, 0, 0, &d));
    if (d.count) fail_msg("%s: %lld elements differ, the first at %lld by %g", what, (long long)d.count, (long long)d.first, d.max_abs);
}

/* softmax(tanh(x) * w + bias) with its row sums, a transposed view and a second result. */
static tc_program *chain(void) {
    tc_program *p = program();
    tc_sym B = tc_sym_var(p->sym, "B", TC_SYM_INT, 0, 64), T = tc_sym_var(p->sym, "T", TC_SYM_INT, 0, 5000);
    tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 2, B, T), *w = input(p, TC_IN_USER, "w", TC_F32, 1, T);
    tc_emit e = {.graph = p->graph};
    tc_value *h = tc_emit_call(&e, "aten::mul.Tensor", "vv", tc_emit_call(&e, "aten::tanh", "v", x), w);
    tc_value *s = tc_emit_call(&e, "aten::softmax.int", "vi", h, (int64_t)-1);
    tc_value *n = tc_emit_call(&e, "aten::sum.dim_IntList", "vI", s, (int64_t[]){1}, 1);
    tc_value *g = tc_emit_call(&e, "aten::sigmoid", "v", h);
    tc_value *c = tc_emit_call(&e, "aten::sum.dim_IntList", "vI", g, (int64_t[]){0}, 1);
    tc_value *t = tc_emit_call(&e, "aten::transpose.int", "vii", g, (int64_t)0, (int64_t)1);
    tc_value *u = tc_emit_call(&e, "aten::mul.Tensor", "vv", t, tc_emit_call(&e, "aten::exp", "v", t));
    ok(e.status);
    output(p, s);
    output(p, n);
    output(p, c);
    output(p, t);
    output(p, u);
    output(p, s);
    return p;
}
enum { CHAIN_OUTS = 6 };

static void run_chain(tc_exec *e, int64_t B, int64_t T, tc_tensor out[CHAIN_OUTS]) {
    tc_tensor in[2] = {filled(TC_F32, 2, (int64_t[]){B, T}, 1), filled(TC_F32, 1, (int64_t[]){T}, 2)};
    memset(out, 0, CHAIN_OUTS * sizeof *out);
    ok(tc_exec_run(e, in, 2, NULL, out, CHAIN_OUTS));
    tc_tensor_deinit(&in[0]);
    tc_tensor_deinit(&in[1]);
}
static void drop(tc_tensor *t, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&t[i]);
}

static const int64_t sizes[][2] = {{1, 1}, {2, 3}, {0, 4}, {3, 0}, {5, 255}, {7, 257}, {33, 1000}, {2, 4999}, {64, 64}};

static void test_fused_is_unfused(void **state) {
    (void)state;
    tc_program *p = chain();
    tc_exec *plain, *e;
    ok(tc_exec_create(p, &(tc_exec_options){.threads = 1, .no_fuse = true}, &plain));
    tc_loop_list loops = {0};
    tc_exec_loops(plain, &loops);
    assert_true(loops.len >= 5);
    tc_vec_free(&loops);
    tc_isa_row best;
    ok(tc_isa_choose(NULL, &best));
    for (tc_isa_row row = 0; row <= best; row++)
        for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
            ok(tc_exec_create(p, &(tc_exec_options){.threads = threads, .isa = tc_isa_ops_of(row)}, &e));
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                tc_tensor a[CHAIN_OUTS], b[CHAIN_OUTS];
                char what[96];
                run_chain(plain, sizes[k][0], sizes[k][1], a);
                run_chain(e, sizes[k][0], sizes[k][1], b);
                for (int i = 0; i < CHAIN_OUTS; i++) {
                    snprintf(what, sizeof what, "%s, %d threads, %lldx%lld, output %d", tc_isa_ops_of(row)->name, threads, (long long)sizes[k][0],
                             (long long)sizes[k][1], i);
                    same(&a[i], &b[i], what);
                }
                drop(a, CHAIN_OUTS);
                drop(b, CHAIN_OUTS);
            }
            tc_exec_destroy(e);
        }
    tc_exec_destroy(plain);
    tc_program_release(p);
}

static void test_sizes_are_checked(void **state) {
    (void)state;
    tc_program *p = chain();
    tc_exec *e;
    ok(tc_exec_create(p, &(tc_exec_options){.threads = 1}, &e));
    tc_tensor out[CHAIN_OUTS] = {{0}}, in[2] = {filled(TC_F32, 2, (int64_t[]){65, 3}, 1), filled(TC_F32, 1, (int64_t[]){3}, 2)};
    tc_status s = tc_exec_run(e, in, 2, NULL, out, CHAIN_OUTS);
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    assert_string_equal(tc_status_message(s), "x.size(0)=65, expected 0..64 (B)");
    tc_status_free(s);
    for (int given = 1; given <= 3; given += 2) {
        s = tc_exec_run(e, (tc_tensor[]){in[0], in[1], in[1]}, given, NULL, out, CHAIN_OUTS);
        assert_int_equal(tc_status_code(s), TC_USAGE);
        tc_status_free(s);
    }
    drop(in, 2);
    in[0] = filled(TC_F32, 2, (int64_t[]){4, 3}, 1), in[1] = filled(TC_F32, 1, (int64_t[]){2}, 2);
    s = tc_exec_run(e, in, 2, NULL, out, CHAIN_OUTS);
    assert_string_equal(tc_status_message(s), "w.size(0)=2, expected T=3");
    tc_status_free(s);
    drop(in, 2);
    in[0] = filled(TC_F64, 2, (int64_t[]){4, 3}, 1), in[1] = filled(TC_F32, 1, (int64_t[]){3}, 2);
    s = tc_exec_run(e, in, 2, NULL, out, CHAIN_OUTS);
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    tc_status_free(s);
    drop(in, 2);
    tc_exec_destroy(e);
    tc_program_release(p);
}

/* A step of SGD with momentum: both states are updated where they are. */
static void test_mutations_in_place(void **state) {
    (void)state;
    tc_program *p = program();
    tc_sym n = tc_sym_int(p->sym, 1000);
    tc_value *g = input(p, TC_IN_USER, "g", TC_F32, 1, n), *w = input(p, TC_IN_PARAMETER, "w", TC_F32, 1, n),
             *m = input(p, TC_IN_BUFFER, "m", TC_F32, 1, n);
    p->inputs[1].data = filled(TC_F32, 1, (int64_t[]){1000}, 3);
    p->inputs[2].data = filled(TC_F32, 1, (int64_t[]){1000}, 4);
    tc_emit e = {.graph = p->graph};
    tc_value *m1 = tc_emit_call(&e, "aten::add.Tensor", "vv", tc_e_muls(&e, m, 0.9), g);
    tc_value *w1 = tc_emit_call(&e, "aten::sub.Tensor", "vv", w, tc_e_muls(&e, m1, 0.1));
    ok(e.status);
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_PARAMETER, .value = w1, .target = 1});
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_BUFFER, .value = m1, .target = 2});
    tc_exec *x;
    ok(tc_exec_create(p, &(tc_exec_options){.threads = 2}, &x));
    tc_tensor grad = filled(TC_F32, 1, (int64_t[]){1000}, 5), out[2] = {{0}}, first = p->inputs[1].data;
    float wv = ((float *)tc_tensor_data(&first))[17], mv = ((float *)tc_tensor_data(&p->inputs[2].data))[17],
          gv = ((float *)tc_tensor_data(&grad))[17];
    const void *before = NULL;
    for (int step = 0; step < 3; step++) {
        ok(tc_exec_run(x, &grad, 1, NULL, out, 2));
        mv = mv * 0.9f + gv;
        wv = wv - mv * 0.1f;
        assert_true(((float *)tc_tensor_data(tc_exec_state(x, 1)))[17] == wv);
        assert_true(((float *)tc_tensor_data(tc_exec_state(x, 2)))[17] == mv);
        if (step) assert_ptr_equal(before, tc_tensor_data(tc_exec_state(x, 1)));
        before = tc_tensor_data(tc_exec_state(x, 1));
    }
    assert_ptr_not_equal(before, tc_tensor_data(&first)); /* the program's own data stay */
    tc_buf report = {0};
    tc_exec_report(x, &report);
    assert_null(strstr(tc_buf_str(&report), "is copied"));
    assert_int_equal(tc_exec_memory_use(x).arena, 0);
    tc_buf_free(&report);
    tc_tensor mine = filled(TC_F32, 1, (int64_t[]){1000}, 9); /* a state given from outside is updated there */
    ok(tc_exec_set_state(x, 1, &mine));
    wv = ((float *)tc_tensor_data(&mine))[17];
    ok(tc_exec_run(x, &grad, 1, NULL, out, 2));
    mv = mv * 0.9f + gv;
    assert_true(((float *)tc_tensor_data(&mine))[17] == wv - mv * 0.1f);
    tc_tensor_deinit(&mine);
    tc_tensor_deinit(&grad);
    tc_exec_destroy(x);
    tc_tensor_deinit(&p->inputs[1].data);
    tc_tensor_deinit(&p->inputs[2].data);
    tc_program_release(p);
}

/* Inputs and weights that begin between two elements of a view, as in a file whose tensors follow each other: (x as complex) + (w as complex), and x
 * doubled, which is an input that the program writes. */
static void test_views_of_larger_elements(void **state) {
    (void)state;
    tc_program *p = program();
    const tc_sym n = tc_sym_int(p->sym, 3), two = tc_sym_int(p->sym, 2);
    tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 2, n, two), *w = input(p, TC_IN_PARAMETER, "w", TC_F32, 2, n, two);
    tc_emit e = {.graph = p->graph};
    tc_value *a = tc_emit_call(&e, "aten::view_as_complex", "v", x), *b = tc_emit_call(&e, "aten::view_as_complex", "v", w);
    tc_value *sum = tc_emit_call(&e, "aten::view_as_real", "v", tc_emit_call(&e, "aten::add.Tensor", "vv", a, b)), *twice = tc_e_muls(&e, x, 2);
    ok(e.status);
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER_INPUT, .value = twice, .target = 0});
    output(p, sum);
    tc_exec *r;
    ok(tc_exec_create(p, NULL, &r));
    for (int64_t at = 0; at < 4; at++) {
        tc_tensor many = filled(TC_F32, 1, (int64_t[]){10}, 1), in, out[2] = {{0}};
        ok(tc_tensor_view(many.storage, TC_F32, 2, (int64_t[]){3, 2}, (int64_t[]){2, 1}, at, &in));
        ok(tc_exec_set_state(r, 1, &in));
        float want[6];
        for (int i = 0; i < 6; i++) want[i] = ((float *)tc_tensor_data(&in))[i];
        ok(tc_exec_run(r, &in, 1, NULL, out, 2));
        for (int i = 0; i < 6; i++) assert_true(((float *)tc_tensor_data(&out[1]))[i] == 2 * want[i]);
        for (int i = 0; i < 6; i++) assert_true(((float *)tc_tensor_data(&in))[i] == 2 * want[i]);
        drop(out, 2);
        tc_tensor_deinit(&in);
        tc_tensor_deinit(&many);
    }
    tc_exec_destroy(r);
    tc_program_release(p);
}

/* Results that are inputs or views of them are copies; the caller's memory is used when given; a swap of two buffers reads both first. */
static void test_results_and_swaps(void **state) {
    (void)state;
    tc_program *p = program();
    tc_sym n = tc_sym_int(p->sym, 4);
    tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 1, n), *a = input(p, TC_IN_BUFFER, "a", TC_F32, 1, n),
             *b = input(p, TC_IN_BUFFER, "b", TC_F32, 1, n);
    p->inputs[1].data = filled(TC_F32, 1, (int64_t[]){4}, 1);
    p->inputs[2].data = filled(TC_F32, 1, (int64_t[]){4}, 2);
    tc_emit e = {.graph = p->graph};
    tc_value *d = tc_e_muls(&e, x, 2);
    ok(e.status);
    output(p, x);
    output(p, d);
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_BUFFER, .value = b, .target = 1});
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_BUFFER, .value = a, .target = 2});
    tc_exec *x1;
    ok(tc_exec_create(p, NULL, &x1));
    tc_tensor in = filled(TC_F32, 1, (int64_t[]){4}, 3), out[4] = {{0}};
    ok(tc_exec_run(x1, &in, 1, NULL, out, 4));
    same(&out[0], &in, "an input returned");
    assert_ptr_not_equal(out[0].storage, in.storage);
    same(tc_exec_state(x1, 1), &p->inputs[2].data, "a");
    same(tc_exec_state(x1, 2), &p->inputs[1].data, "b");
    void *warm = tc_tensor_data(&out[1]);
    ((float *)tc_tensor_data(&in))[0] = 21;
    ok(tc_exec_run(x1, &in, 1, NULL, out, 4));
    assert_ptr_equal(warm, tc_tensor_data(&out[1]));
    assert_true(((float *)warm)[0] == 42);
    drop(out, 4);
    tc_tensor_deinit(&in);
    tc_exec_destroy(x1);
    tc_tensor_deinit(&p->inputs[1].data);
    tc_tensor_deinit(&p->inputs[2].data);
    tc_program_release(p);
}

/* Intermediates share memory when their lifetimes allow: a chain that is not fused needs two buffers, not ten. */
static void test_memory_is_shared(void **state) {
    (void)state;
    tc_program *p = program();
    tc_sym n = tc_sym_int(p->sym, 1 << 16);
    tc_value *v = input(p, TC_IN_USER, "x", TC_F32, 1, n);
    tc_emit e = {.graph = p->graph};
    for (int i = 0; i < 10; i++) v = tc_emit_call(&e, "aten::sin", "v", v);
    ok(e.status);
    output(p, v);
    tc_exec *x;
    ok(tc_exec_create(p, &(tc_exec_options){.no_fuse = true}, &x));
    tc_tensor in = filled(TC_F32, 1, (int64_t[]){1 << 16}, 3), out = {0};
    ok(tc_exec_run(x, &in, 1, NULL, &out, 1));
    assert_true(tc_exec_memory_use(x).arena <= 2 * (sizeof(float) << 16));
    tc_tensor_deinit(&in);
    tc_tensor_deinit(&out);
    tc_exec_destroy(x);
    tc_program_release(p);
}

/* Rows so long that they are cut: the bits of one thread. */
static void test_long_rows(void **state) {
    (void)state;
    tc_program *p = program();
    tc_sym T = tc_sym_var(p->sym, "T", TC_SYM_INT, 0, 1 << 24);
    tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 2, tc_sym_int(p->sym, 2), T);
    tc_emit e = {.graph = p->graph};
    tc_value *s = tc_emit_call(&e, "aten::softmax.int", "vi", tc_emit_call(&e, "aten::sin", "v", x), (int64_t)-1);
    output(p, s);
    output(p, tc_emit_call(&e, "aten::sum", "v", tc_emit_call(&e, "aten::exp", "v", x)));
    output(p, tc_emit_call(&e, "aten::argmax", "vi", x, (int64_t)1));
    output(p, tc_emit_call(&e, "aten::amax", "vI", x, (int64_t[]){1}, 1));
    output(p, tc_emit_call(&e, "aten::var.correction", "vI", x, (int64_t[]){1}, 1));
    ok(e.status);
    tc_tensor want[5] = {{0}}, got[5] = {{0}};
    const int64_t lengths[] = {262144, 600001, 1000};
    for (int k = 0; k < 3; k++)
        for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
            tc_exec *r;
            ok(tc_exec_create(p, &(tc_exec_options){.threads = threads}, &r));
            tc_tensor in = filled(TC_F32, 2, (int64_t[]){2, lengths[k]}, 7);
            ok(tc_exec_run(r, &in, 1, NULL, threads == 1 ? want : got, 5));
            for (int i = 0; i < 5 && threads > 1; i++) same(&want[i], &got[i], "long rows");
            if (threads > 1) drop(got, 5);
            if (threads == 7) drop(want, 5);
            tc_tensor_deinit(&in);
            tc_exec_destroy(r);
        }
    tc_program_release(p);
}

static void test_single_operators(void **state) {
    (void)state;
    tc_evaluator *v;
    ok(tc_evaluator_create(NULL, &v));
    tc_eval eval = tc_evaluator_eval(v);
    const tc_op *add = tc_op_find("aten::mul.Tensor"), *t = tc_op_find("aten::transpose.int");
    tc_tensor a = filled(TC_F32, 2, (int64_t[]){2, 3}, 1), b = filled(TC_I64, 1, (int64_t[]){3}, 2), out;
    tc_value va = {.kind = TC_V_TENSOR, .aux = &a}, vb = {.kind = TC_V_TENSOR, .aux = &b};
    for (int i = 0; i < 3; i++) {
        ok(eval.call(eval.self, add, (tc_arg[]){{.kind = TC_A_VALUE, .value = &va}, {.kind = TC_A_VALUE, .value = &vb}}, 2, NULL, &out, 1));
        assert_int_equal(out.dtype, TC_F32);
        assert_true(((float *)tc_tensor_data(&out))[4] == ((float *)tc_tensor_data(&a))[4] * (float)((int64_t *)tc_tensor_data(&b))[1]);
        tc_tensor_deinit(&out);
    }
    tc_symctx *c = tc_symctx_create();
    ok(eval.call(
        eval.self, t,
        (tc_arg[]){{.kind = TC_A_VALUE, .value = &va}, {.kind = TC_A_INT, .sym = tc_sym_int(c, 0)}, {.kind = TC_A_INT, .sym = tc_sym_int(c, 1)}}, 3,
        NULL, &out, 1));
    assert_ptr_equal(out.storage, a.storage);
    assert_int_equal(out.stride[0], 1);
    tc_tensor_deinit(&out);
    tc_symctx_destroy(c);
    tc_tensor_deinit(&a);
    tc_tensor_deinit(&b);
    tc_evaluator_destroy(v);
}

/* Rows written into a cache: where it lies, unless what is written or read later lies there too. */
static void test_cache_in_place(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) { /* a plain write; two; rows of the cache itself; the old cache is read afterwards */
        tc_program *p = program();
        tc_sym n = tc_sym_int(p->sym, 6), w = tc_sym_int(p->sym, 5), two = tc_sym_int(p->sym, 2);
        tc_value *cache = input(p, TC_IN_BUFFER, "cache", TC_F32, 2, n, w), *at = input(p, TC_IN_USER, "at", TC_I64, 1, two),
                 *rows = input(p, TC_IN_USER, "rows", TC_F32, 2, two, w);
        p->inputs[0].data = filled(TC_F32, 2, (int64_t[]){6, 5}, 3);
        tc_emit e = {.graph = p->graph};
        tc_value *source = form == 2 ? tc_emit_call(&e, "aten::slice.Tensor", "viii", cache, (int64_t)0, (int64_t)0, (int64_t)2) : rows;
        tc_value *v = tc_emit_call(&e, "aten::index_copy", "vivv", cache, (int64_t)0, at, source);
        if (form == 1) v = tc_emit_call(&e, "aten::index_add", "vivv", v, (int64_t)0, at, rows);
        tc_value *sum = tc_emit_call(&e, "aten::sum.dim_IntList", "vI", form == 3 ? cache : v, (int64_t[]){0}, 1);
        ok(e.status);
        tc_program_add_output(p, (tc_output){.kind = TC_OUT_BUFFER, .value = v, .target = 0});
        output(p, sum);
        tc_exec *x;
        ok(tc_exec_create(p, &(tc_exec_options){.threads = 2}, &x));
        float want[30], old[30], got;
        memcpy(want, tc_tensor_data(&p->inputs[0].data), sizeof want);
        for (int step = 0; step < 3; step++) {
            tc_tensor in[2] = {filled(TC_I64, 1, (int64_t[]){2}, 1), filled(TC_F32, 2, (int64_t[]){2, 5}, 7 + (uint32_t)step)}, out[2] = {{0}};
            int64_t *index = tc_tensor_data(&in[0]);
            index[0] = 1 + step, index[1] = 5 - step;
            memcpy(old, want, sizeof want);
            for (int r = 0; r < 2; r++)
                for (int k = 0; k < 5; k++) want[index[r] * 5 + k] = form == 2 ? old[r * 5 + k] : ((float *)tc_tensor_data(&in[1]))[r * 5 + k];
            for (int r = 0; r < 2 && form == 1; r++)
                for (int k = 0; k < 5; k++) want[index[r] * 5 + k] += ((float *)tc_tensor_data(&in[1]))[r * 5 + k];
            ok(tc_exec_run(x, in, 2, NULL, out, 2));
            assert_memory_equal(want, tc_tensor_data(tc_exec_state(x, 0)), sizeof want);
            got = 0;
            for (int r = 0; r < 6; r++) got += (form == 3 ? old : want)[r * 5];
            assert_true(fabsf(got - ((float *)tc_tensor_data(&out[1]))[0]) < 1e-5f);
            index[0] = 17; /* a bad index changes nothing */
            drop(&out[1], 1);
            tc_status s = tc_exec_run(x, in, 2, NULL, out, 2);
            assert_int_equal(tc_status_code(s), TC_CONTENT);
            tc_status_free(s);
            assert_memory_equal(want, tc_tensor_data(tc_exec_state(x, 0)), sizeof want);
            drop(in, 2), drop(&out[1], 1);
        }
        tc_buf report = {0};
        tc_exec_report(x, &report);
        assert_int_equal(strstr(tc_buf_str(&report), "is copied") != NULL, form >= 2);
        tc_buf_free(&report);
        tc_exec_destroy(x);
        tc_tensor_deinit(&p->inputs[0].data);
        tc_program_release(p);
    }
}

/* Weights are packed from the second run on: the results stay, and follow a change of the state. */
static void check_packed(tc_dtype d) {
    int64_t wide[2] = {70, 600}, bias[1] = {70}, rows[2] = {9, 600}, image[4] = {1, 40, 9, 9}, kernel[4] = {33, 40, 3, 3};
    tc_program *p = program();
    tc_sym n = tc_sym_int(p->sym, 600);
    tc_value *x = input(p, TC_IN_USER, "x", d, 2, tc_sym_int(p->sym, 9), n), *w = input(p, TC_IN_PARAMETER, "w", d, 2, tc_sym_int(p->sym, 70), n);
    tc_value *b = input(p, TC_IN_PARAMETER, "b", d, 1, tc_sym_int(p->sym, 70));
    tc_value *i = input(p, TC_IN_USER, "i", d, 4, tc_sym_int(p->sym, 1), tc_sym_int(p->sym, 40), tc_sym_int(p->sym, 9), tc_sym_int(p->sym, 9));
    tc_value *k = input(p, TC_IN_PARAMETER, "k", d, 4, tc_sym_int(p->sym, 33), tc_sym_int(p->sym, 40), tc_sym_int(p->sym, 3), tc_sym_int(p->sym, 3));
    tc_emit e = {.graph = p->graph};
    output(p, tc_emit_call(&e, "aten::linear", "vvv", x, w, b));
    output(p, tc_emit_call(&e, "aten::conv2d", "vv", i, k));
    ok(e.status);
    p->inputs[1].data = filled(d, 2, wide, 1), p->inputs[2].data = filled(d, 1, bias, 2), p->inputs[4].data = filled(d, 4, kernel, 3);
    tc_tensor in[2] = {filled(d, 2, rows, 4), filled(d, 4, image, 5)}, other = filled(d, 2, wide, 6), want[2][2], got[2];
    for (int after = 0; after < 2; after++) { /* as it is without packing */
        tc_exec *plain;
        ok(tc_exec_create(p, NULL, &plain));
        if (after) ok(tc_exec_set_state(plain, 1, &other));
        memset(want[after], 0, sizeof want[after]);
        ok(tc_exec_run(plain, in, 2, NULL, want[after], 2));
        tc_exec_destroy(plain);
    }
    for (int threads = 1; threads <= 3; threads += 2) {
        tc_exec *kept;
        ok(tc_exec_create(p, &(tc_exec_options){.threads = threads, .keep_packed = true}, &kept));
        for (int run = 0; run < 6; run++) {
            if (run == 3) ok(tc_exec_set_state(kept, 1, &other));
            memset(got, 0, sizeof got);
            ok(tc_exec_run(kept, in, 2, NULL, got, 2));
            for (int o = 0; o < 2; o++) same(&got[o], &want[run >= 3][o], run < 2 ? "first runs" : "packed");
            drop(got, 2);
        }
        assert_true(tc_exec_memory_use(kept).packed > 0);
        tc_exec_destroy(kept);
    }
    drop(want[0], 2), drop(want[1], 2), drop(in, 2), drop(&other, 1);
    tc_program_release(p);
}
static void test_packed_weights(void **state) {
    (void)state;
    check_packed(TC_F32), check_packed(TC_F64), check_packed(TC_BF16);
}

/* Where there is hardly memory a program runs with its weights as they lie; forms of 1 MiB do not ask for many. */
static void test_packed_weights_in_little_memory(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* maps memory of its own */
#else
    const size_t room[2] = {6 << 20, 256 << 10};
    for (int i = 0; i < 2; i++) {
        const int64_t N = i ? 2048 : 512, size[2] = {4, N}, square[2] = {N, N};
        tc_program *p = program();
        tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 2, tc_sym_int(p->sym, 4), tc_sym_int(p->sym, N));
        tc_value *w = input(p, TC_IN_PARAMETER, "w", TC_F32, 2, tc_sym_int(p->sym, N), tc_sym_int(p->sym, N));
        tc_emit e = {.graph = p->graph};
        output(p, tc_emit_call(&e, "aten::mm", "vv", x, w));
        ok(e.status);
        tc_tensor in = filled(TC_F32, 2, size, 1), want = {0}, got = {0};
        p->inputs[1].data = filled(TC_F32, 2, square, 2);
        tc_exec *exec;
        long pages = 0;
        struct rlimit before, tight;
        ok(tc_exec_create(p, &(tc_exec_options){.threads = 1, .keep_packed = true}, &exec));
        ok(tc_exec_run(exec, &in, 1, NULL, &want, 1));
        malloc_trim(0);
        FILE *f = fopen("/proc/self/statm", "r");
        assert_true(f && fscanf(f, "%ld", &pages) == 1);
        fclose(f);
        assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
        tight = (struct rlimit){(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + room[i], before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
        for (int run = 0; run < 3; run++) ok(tc_exec_run(exec, &in, 1, NULL, &got, 1));
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
        assert_int_equal(tc_exec_memory_use(exec).packed > 0, room[i] > (size_t)(N * N) * 4);
        same(&got, &want, "little memory");
        tc_exec_destroy(exec);
        drop(&in, 1), drop(&want, 1), drop(&got, 1);
        tc_program_release(p);
    }
#endif
}

/* A recurrent layer has both its weights packed, which follow a change of either; none if one comes with each run. */
static void test_packed_layer(void **state) {
    (void)state;
    enum { T = 5, B = 3, I = 20, H = 24, G = 4 * H };
    int64_t seq[3] = {T, B, I}, first[3] = {1, B, H}, wide[2] = {G, I}, square[2] = {G, H}, bias[1] = {G};
    for (int fixed = 0; fixed < 2; fixed++) {
        tc_program *p = program();
        tc_sym b = tc_sym_int(p->sym, B), i = tc_sym_int(p->sym, I), h = tc_sym_int(p->sym, H), g = tc_sym_int(p->sym, G),
               one = tc_sym_int(p->sym, 1);
        tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 3, tc_sym_int(p->sym, T), b, i), *w = input(p, TC_IN_PARAMETER, "w", TC_F32, 2, g, i);
        tc_value *u = input(p, fixed ? TC_IN_PARAMETER : TC_IN_USER, "u", TC_F32, 2, g, h), *v = input(p, TC_IN_PARAMETER, "v", TC_F32, 1, g);
        tc_value *s = input(p, TC_IN_PARAMETER, "s", TC_F32, 3, one, b, h);
        tc_emit e = {.graph = p->graph};
        output(p, tc_emit_call(&e, "aten::mkldnn_rnn_layer", "vvvvvvvbIiiibbbb", x, w, u, v, v, s, s, 0, NULL, 0, (int64_t)2, (int64_t)H, (int64_t)1,
                               1, 0, 0, 0));
        ok(e.status);
        tc_tensor in[2] = {filled(TC_F32, 3, seq, 1), filled(TC_F32, 2, square, 3)},
                  other[2] = {filled(TC_F32, 2, wide, 6), filled(TC_F32, 2, square, 7)};
        p->inputs[1].data = filled(TC_F32, 2, wide, 2), p->inputs[3].data = filled(TC_F32, 1, bias, 4),
        p->inputs[4].data = filled(TC_F32, 3, first, 5);
        if (fixed) p->inputs[2].data = filled(TC_F32, 2, square, 3);
        tc_exec *plain, *kept;
        ok(tc_exec_create(p, NULL, &plain));
        ok(tc_exec_create(p, &(tc_exec_options){.threads = 2, .keep_packed = true}, &kept));
        for (int run = 0; run < 9; run++) {
            const int set = fixed ? run / 3 : 0; /* input `set` becomes another, if it is a weight */
            if (set && run % 3 == 0) ok(tc_exec_set_state(plain, set, &other[set - 1])), ok(tc_exec_set_state(kept, set, &other[set - 1]));
            tc_tensor want = {0}, got = {0};
            ok(tc_exec_run(plain, in, 2 - fixed, NULL, &want, 1)), ok(tc_exec_run(kept, in, 2 - fixed, NULL, &got, 1));
            same(&got, &want, "a layer's weights");
            drop(&want, 1), drop(&got, 1);
        }
        assert_int_equal(tc_exec_memory_use(kept).packed > 0, fixed);
        tc_exec_destroy(plain), tc_exec_destroy(kept);
        drop(in, 2), drop(other, 2);
        tc_program_release(p);
    }
}

/* What loops compute of the state alone is kept while runs have the same sizes and the state stays. */
static tc_status count_group(void *ctx, const tc_exec_event *event) {
    (void)event;
    ++*(int *)ctx;
    return NULL;
}
static void test_kept_values(void **state) {
    (void)state;
    static const struct {
        int64_t rows;
        bool set; /* the state, before */
        int groups;
    } runs[] = {{3, false, 2}, {3, false, 1}, {5, false, 2}, {3, false, 2}, {3, false, 1}, {3, true, 2}, {3, false, 1}};
    tc_program *p = program();
    tc_sym B = tc_sym_var(p->sym, "B", TC_SYM_INT, 1, 64), n = tc_sym_int(p->sym, 40);
    tc_value *x = input(p, TC_IN_USER, "x", TC_F32, 2, B, n), *v = input(p, TC_IN_BUFFER, "v", TC_F32, 1, n);
    tc_emit e = {.graph = p->graph};
    output(p, tc_emit_call(&e, "aten::mul.Tensor", "vv", x, tc_emit_call(&e, "aten::exp", "v", v)));
    ok(e.status);
    tc_tensor now = filled(TC_F32, 1, (int64_t[]){40}, 1), other = filled(TC_F32, 1, (int64_t[]){40}, 2);
    p->inputs[1].data = now;
    tc_exec *plain, *kept;
    int groups = 0;
    ok(tc_exec_create(p, NULL, &plain));
    ok(tc_exec_create(p, &(tc_exec_options){.keep_packed = true}, &kept));
    tc_exec_set_profile(kept, count_group, &groups);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        tc_tensor in = filled(TC_F32, 2, (int64_t[]){runs[i].rows, 40}, (uint32_t)i), want = {0}, got = {0};
        if (runs[i].set) ok(tc_exec_set_state(plain, 1, &other)), ok(tc_exec_set_state(kept, 1, &other));
        groups = 0;
        ok(tc_exec_run(plain, &in, 1, NULL, &want, 1));
        ok(tc_exec_run(kept, &in, 1, NULL, &got, 1));
        same(&got, &want, "kept");
        assert_int_equal(groups, runs[i].groups);
        drop(&in, 1), drop(&want, 1), drop(&got, 1);
    }
    tc_exec_destroy(plain), tc_exec_destroy(kept);
    drop(&other, 1);
    tc_program_release(p);
}

/* A table for each function of 16-bit numbers, whatever loops have it and at whatever sizes: sigmoid of bfloat16 twice, of float16, and tanh. */
static void test_tables_are_shared(void **state) {
    (void)state;
    tc_program *p = program();
    tc_sym B = tc_sym_var(p->sym, "B", TC_SYM_INT, 1, 4096), n = tc_sym_int(p->sym, 1024);
    tc_value *x = input(p, TC_IN_USER, "x", TC_BF16, 2, B, n), *y = input(p, TC_IN_USER, "y", TC_BF16, 1, n);
    tc_value *z = input(p, TC_IN_USER, "z", TC_F16, 2, B, n);
    tc_emit e = {.graph = p->graph};
    output(p, tc_emit_call(&e, "aten::add.Tensor", "vv", tc_emit_call(&e, "aten::sigmoid", "v", x), y));
    output(p, tc_emit_call(&e, "aten::sum.dim_IntList", "vI", tc_emit_call(&e, "aten::sigmoid", "v", x), (int64_t[]){0}, 1));
    output(p, tc_emit_call(&e, "aten::sigmoid", "v", z));
    output(p, tc_emit_call(&e, "aten::tanh", "v", x));
    ok(e.status);
    tc_exec *exec;
    ok(tc_exec_create(p, &(tc_exec_options){.no_fuse = true}, &exec));
    for (int64_t rows = 256; rows < 1024; rows += 256) {
        tc_tensor in[3] = {filled(TC_BF16, 2, (int64_t[]){rows, 1024}, 1), filled(TC_BF16, 1, (int64_t[]){1024}, 2),
                           filled(TC_F16, 2, (int64_t[]){rows, 1024}, 3)},
                  out[4] = {{0}};
        ok(tc_exec_run(exec, in, 3, NULL, out, 4));
        assert_int_equal(tc_block_tables_count(exec->tables), 3);
        drop(in, 3), drop(out, 4);
    }
    tc_exec_destroy(exec);
    tc_program_release(p);
}

/* Emitted C has no tables: where a run has so many values that one pays, the loop is interpreted although there is code for it. */
static int stub_runs;
static void stub_run(const tc_abi_call *c) { (void)c, stub_runs++; }
static const tc_abi_group *stub_group(void *self, const uint8_t key[TC_ABI_KEY_BYTES]) {
    static const uint8_t dense[8];
    static const tc_abi_group group = {.name = "stub", .dense = dense, .run = stub_run};
    (void)self, (void)key;
    return &group;
}
static void test_tables_before_code(void **state) {
    (void)state;
    tc_program *p = program();
    tc_value *x = input(p, TC_IN_USER, "x", TC_BF16, 2, tc_sym_var(p->sym, "B", TC_SYM_INT, 1, 4096), tc_sym_int(p->sym, 1024));
    tc_emit e = {.graph = p->graph};
    output(p, tc_emit_call(&e, "aten::sigmoid", "v", x));
    ok(e.status);
    tc_exec *exec;
    const tc_exec_code code = {stub_group, NULL};
    ok(tc_exec_create(p, &(tc_exec_options){.code = &code}, &exec));
    for (int64_t rows = 1; rows <= 512; rows += 511) {
        tc_tensor in = filled(TC_BF16, 2, (int64_t[]){rows, 1024}, 1), out = {0};
        ok(tc_exec_run(exec, &in, 1, NULL, &out, 1));
        assert_int_equal(stub_runs, 1); /* of the first run */
        drop(&in, 1), drop(&out, 1);
    }
    tc_exec_destroy(exec);
    tc_program_release(p);
}

/* while i < 3: i, x = i + 1, x * 2, for x of N elements; its subgraphs state other sizes for x: `test_size`, `body_size`. With `drops` the body returns no
 * value in place of x. */
static tc_program *loop_over(int64_t test_size, int64_t body_size, bool drops) {
    tc_program *p = program();
    tc_sym N = tc_sym_var(p->sym, "N", TC_SYM_INT, 0, 64);
    tc_value *start = input(p, TC_IN_USER, "i", TC_I64, 0), *x = input(p, TC_IN_USER, "x", TC_F32, 1, N), *at[2][2];
    tc_graph *g[2];
    for (int k = 0; k < 2; k++) {
        g[k] = tc_graph_create(p, p->graph, k ? "body" : "test");
        const int64_t given = k ? body_size : test_size;
        tc_sym size = given < 0 ? N : tc_sym_int(p->sym, given);
        for (int i = 0; i < 2; i++) {
            at[k][i] = tc_graph_value(g[k], TC_V_TENSOR, i ? "x" : "i");
            at[k][i]->meta = tc_meta_make(&p->arena, i ? TC_F32 : TC_I64, i, &size, NULL);
            tc_graph_add_input(g[k], at[k][i]);
        }
    }
    tc_emit test = {.graph = g[0]}, body = {.graph = g[1]};
    tc_graph_add_output(g[0], tc_emit_call(&test, "aten::lt.Scalar", "vi", at[0][0], (int64_t)3));
    tc_graph_add_output(g[1], tc_emit_call(&body, "aten::add.Scalar", "vi", at[1][0], (int64_t)1));
    tc_graph_add_output(g[1], drops ? NULL : tc_emit_call(&body, "aten::mul.Scalar", "vi", at[1][1], (int64_t)2));
    ok(test.status), ok(body.status);
    tc_value **carried = TC_NEWN(&p->arena, tc_value *, 2); /* a node keeps its lists */
    carried[0] = start, carried[1] = x;
    tc_arg args[4] = {{.kind = TC_A_GRAPH, .graph = g[0]},
                      {.kind = TC_A_GRAPH, .graph = g[1]},
                      {.kind = TC_A_VALUES, .n = 2, .values = carried},
                      {.kind = TC_A_VALUES}};
    tc_node *n;
    ok(tc_graph_call(p->graph, tc_op_find("higher_order::while_loop"), args, 4, (tc_source){0}, NULL, &n));
    for (int i = 0; i < (drops ? 1 : 2); i++) output(p, n->outs[i]);
    return p;
}
static void test_operands_of_loops(void **state) {
    (void)state;
    static const struct {
        int64_t test, body;
        bool drops;
        const char *why; /* of the error; NULL: it runs */
    } cases[] = {{-1, -1, false, NULL},
                 {3, 3, false, NULL},
                 {-1, -1, true, NULL},
                 {4, -1, false, "test: input x has size 3 in dimension 0, expected 4"},
                 {-1, 4, false, "body: input x has size 3 in dimension 0, expected 4"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tc_program *p = loop_over(cases[k].test, cases[k].body, cases[k].drops);
        tc_exec *e;
        ok(tc_exec_create(p, &(tc_exec_options){.threads = 1}, &e));
        tc_tensor in[2] = {filled(TC_I64, 0, NULL, 1), filled(TC_F32, 1, (int64_t[]){3}, 2)}, out[2] = {{0}};
        tc_scalar_store(TC_I64, tc_tensor_data(&in[0]), 0, tc_scalar_int(0));
        tc_status s = tc_exec_run(e, in, 2, NULL, out, cases[k].drops ? 1 : 2);
        if (!cases[k].why) {
            ok(s);
            assert_int_equal(*(int64_t *)tc_tensor_data(&out[0]), 3);
            if (!cases[k].drops) assert_true(((float *)tc_tensor_data(&out[1]))[2] == 8 * ((float *)tc_tensor_data(&in[1]))[2]);
        } else {
            assert_int_equal(tc_status_code(s), TC_CONTENT);
            assert_non_null(strstr(tc_status_message(s), cases[k].why));
            tc_status_free(s);
        }
        drop(in, 2), drop(out, 2);
        tc_exec_destroy(e);
        tc_program_release(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed_weights_in_little_memory),
                                       /* before there are threads, whose heaps have room */ cmocka_unit_test(test_fused_is_unfused),
                                       cmocka_unit_test(test_sizes_are_checked),
                                       cmocka_unit_test(test_operands_of_loops),
                                       cmocka_unit_test(test_mutations_in_place),
                                       cmocka_unit_test(test_views_of_larger_elements),
                                       cmocka_unit_test(test_results_and_swaps),
                                       cmocka_unit_test(test_memory_is_shared),
                                       cmocka_unit_test(test_long_rows),
                                       cmocka_unit_test(test_single_operators),
                                       cmocka_unit_test(test_packed_weights),
                                       cmocka_unit_test(test_packed_layer),
                                       cmocka_unit_test(test_cache_in_place),
                                       cmocka_unit_test(test_kept_values),
                                       cmocka_unit_test(test_tables_are_shared),
                                       cmocka_unit_test(test_tables_before_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
