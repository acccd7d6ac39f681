/* The bits test of compiled code: every sample of the operator table, compiled, gives what it gives interpreted on one thread with the
 * portable primitives: on 1, 2 and 64 threads, for each instruction set of this machine, with gcc and clang; and so does interpreting it there,
 * fused and not, and with what has a loop and a kernel as a loop. Samples are also chained into fused groups: the result of one goes through
 * sigmoid, a product and softmax. */
#include "base/file.h"
#include "base/rng.h"
#include "op/functionalise.h"
#include "op/sample.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "module.h"

typedef struct {
    char *label;
    tc_sample sample;
    tc_tensor inputs[TC_SAMPLE_TENSORS], *want;
    bool random;
} kase;
static TC_VEC(kase) cases;

/* Appends what a model would do with a float result, so that groups of several operators are made. */
static tc_status chain(tc_program *p) {
    tc_value *v = p->graph->noutputs ? p->graph->outputs[0] : NULL;
    if (!v || v->kind != TC_V_TENSOR || v->meta.rank == 0 || (v->meta.dtype != TC_F32 && v->meta.dtype != TC_F64)) return NULL;
    const struct {
        const char *op;
        int nargs;
    } steps[] = {{"aten::sigmoid", 1}, {"aten::mul.Tensor", 2}, {"aten::_softmax", 3}};
    tc_value *x = v;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        tc_node *n;
        const tc_op *op = tc_op_find(steps[i].op);
        tc_arg args[3] = {{.kind = TC_A_VALUE, .value = x}, {.kind = TC_A_VALUE, .value = v}, {.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)}};
        if (!op) return tc_error(TC_UNSUPPORTED, "%s", steps[i].op);
        if (i == 2) args[1] = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(p->sym, -1)};
        TC_TRY(tc_graph_call(p->graph, op, args, steps[i].nargs, (tc_source){0}, NULL, &n));
        x = n->outs[0];
    }
    tc_graph_add_output(p->graph, x);
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = x, .name = "chained", .target = -1});
    return NULL;
}

static tc_status run(const kase *k, const tc_exec_options *o, tc_tensor *out) {
    tc_exec *e;
    tc_generator g;
    tc_generator_seed(&g, 3);
    TC_TRY(tc_exec_create(k->sample.program, o, &e));
    tc_status s = tc_exec_run(e, k->inputs, k->sample.ntensors, &g, out, k->sample.program->noutputs);
    tc_exec_destroy(e);
    return s;
}

static void drop(const kase *k, tc_tensor *t) {
    for (int i = 0; i < k->sample.program->noutputs; i++) tc_tensor_deinit(&t[i]);
    free(t);
}

/* A sample becomes a case when the interpreter runs it; what it cannot run, other tests report. */
static void add_case(const tc_op *op, const char *call, size_t len, bool chained) {
    kase k = {0};
    tc_status s = tc_sample_parse(op, call, len, &k.sample);
    if (!s && chained) s = chain(k.sample.program);
    if (!s) s = tc_functionalise(k.sample.program);
    for (int i = 0; !s && i < k.sample.ntensors; i++) {
        const tc_meta *m = &k.sample.program->inputs[i].value->meta;
        int64_t size[TC_MAX_RANK];
        for (int d = 0; d < m->rank; d++)
            if (!tc_sym_const_int(m->size[d], &size[d])) size[d] = 1;
        s = tc_tensor_empty(m->dtype, m->rank, size, &k.inputs[i]);
        if (!s) tc_sample_fill(&k.inputs[i], k.sample.lo[i], k.sample.hi[i], (uint64_t)i + 11);
    }
    tc_exec_options o = {.threads = 1, .isa = tc_isa_ops_of(TC_ROW_portable)};
    if (!s) k.want = tc_xcalloc((size_t)k.sample.program->noutputs + 1, sizeof *k.want);
    if (!s) s = run(&k, &o, k.want);
    if (!s) {
        char label[300];
        snprintf(label, sizeof label, "%.*s%s", len < 200 ? (int)len : 200, call, chained ? " chained" : "");
        k.label = tc_xstrdup(label);
        tc_vec_push(&cases, k);
    }
    tc_status_free(s);
}

static int setup(void **state) {
    (void)state;
    if (!scratch_home("tc-bits")) return -1;
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        const char *call;
        size_t len;
        for (int k = 0; op->samples && (call = tc_sample_call(op->samples, k, &len)); k++) {
            add_case(op, call, len, false);
            if (op->lower && k == 0 && i % 8 == 0) add_case(op, call, len, true);
        }
    }
    static const char *const large[] = {"_softmax(f32[70,1300], 1, False)",
                                        "_softmax(f32[3,70,40], 1, False)",
                                        "sum(f32[700,300], [0])",
                                        "sum(f32[5,9000], [1])",
                                        "var(f32[40,600], [1])",
                                        "sum(f32[700,2300], [0])",
                                        "sum(f64[600,1100], [0])",
                                        "prod(f32[30,1500], 1)",
                                        "amax(f32[20,3000], [1])",
                                        "mean(f64[9,3000], [1])",
                                        "var(f64[9,2900], [1])",
                                        "_log_softmax(f32[5,2500], 1, False)",
                                        "gelu(f32[20000])",
                                        "sin(f32[3000]:-4e12..4e12)", /* some arguments are large */
                                        "cos(f64[3000]:-4e9..4e9)",
                                        "tan(f32[3000]:-2e12..2e12)",
                                        "erfc(f32[3000]:-3..11)",
                                        "pow(f32[3000]:0..90, f32[3000]:-3..30)",
                                        "expm1(f32[3000]:-30..90)",
                                        "cumsum(f32[3,5000], 1)",
                                        "cumsum(f32[700,300], 0)",
                                        "cumsum(f64[9,70,150], 1)",
                                        "cumsum(i32[300,70], 0)",
                                        "cumsum(bool[300,70], 0)",
                                        "cumprod(c64[90,40], 0)",
                                        "cummax(f32[300,170], 0)",
                                        "logcumsumexp(f32[37,900], 1)",
                                        "logcumsumexp(f64[900,37], 0)",
                                        "logcumsumexp(c64[20,30], 1)",
                                        "logcumsumexp(f32[2000], 0)",
                                        "argmax(f32[40,3000], 1)"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const char *paren = strchr(large[i], '(');
        (void)paren;
        add_case(NULL, large[i], strlen(large[i]), i < 3);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (size_t i = 0; i < cases.len; i++) {
        kase *k = &cases.data[i];
        drop(k, k->want);
        for (int t = 0; t < k->sample.ntensors; t++) tc_tensor_deinit(&k->inputs[t]);
        tc_program_release(k->sample.program);
        free(k->label);
    }
    tc_vec_free(&cases);
    tc_status_free(tc_remove_tree(getenv("XDG_CACHE_HOME")));
    return 0;
}

static const int threads[] = {1, 2, 64};
static const char *const all = "TC_TEST_ALL"; /* everything with everything: minutes */

/* One case on 1 and 2 threads, every fourth on 64 too, which take long to start, against what it should give; how many of them do not. */
static int compare(const kase *k, tc_exec_options o, const char *by) {
    int failed = 0;
    const size_t most = (k - cases.data) % 4 == 0 || getenv(all) ? 3 : 2;
    for (size_t t = 0; t < most; t++) {
        tc_tensor *got = tc_xcalloc((size_t)k->sample.program->noutputs + 1, sizeof *got);
        o.threads = threads[t];
        tc_status s = run(k, &o, got);
        tc_diff d = {0};
        for (int r = 0; !s && r < k->sample.program->noutputs && !d.count; r++)
            if (k->want[r].storage) s = tc_tensor_compare(&got[r], &k->want[r], 0, 0, &d);
        if (s || d.count) {
            failed++;
            print_error("%s: %s %s, %d threads: %s, %lld elements, the first at %lld, by %g\n", k->label, by, o.isa->name, threads[t],
                        s ? tc_status_message(s) : "differs", (long long)d.count, (long long)d.first, d.max_abs);
        }
        tc_status_free(s);
        drop(k, got);
    }
    return failed;
}

/* Compiles every `step`-th case into one module and runs it. */
static void check(const char *cc, tc_isa_row row, size_t first, size_t step) {
    const tc_isa_ops *isa = tc_isa_ops_of(row);
    tc_unit *u = tc_unit_create(&(tc_unit_options){.isa = tc_isa_name(row)});
    tc_emit_count count = {0};
    for (size_t i = first; i < cases.len; i += step) {
        tc_exec *e;
        tc_exec_options o = {.threads = 1, .isa = isa};
        assert_null(tc_exec_create(cases.data[i].sample.program, &o, &e));
        assert_null(tc_exec_emit(e, u, NULL, NULL, &count));
        tc_exec_destroy(e);
    }
    tc_modules *m = load_unit(u, cc, row);
    tc_exec_code find = {tc_modules_find, m};
    int failed = 0;
    for (size_t i = first; i < cases.len; i += step) failed += compare(&cases.data[i], (tc_exec_options){.isa = isa, .code = &find}, cc);
    print_message("%s %s: %zu cases, %zu loops, %zu groups, %zu interpreted\n", cc, tc_isa_name(row), (cases.len - first + step - 1) / step,
                  count.loops, tc_unit_groups(u), count.left);
    assert_int_equal(failed, 0);
    tc_modules_destroy(m);
    tc_unit_destroy(u);
}

static void test_interpreted(void **state) {
    (void)state;
    const size_t step = getenv(all) ? 1 : 5;
    int failed = 0;
    for (int row = 0; row <= (int)best_row(); row++)
        for (size_t i = (size_t)row % step; i < cases.len && tc_isa_supported((tc_isa_row)row); i += step) {
            const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)row);
            failed += compare(&cases.data[i], (tc_exec_options){.isa = isa}, "interpreted");
            failed += compare(&cases.data[i], (tc_exec_options){.isa = isa, .no_fuse = true}, "not fused");
            failed += compare(&cases.data[i], (tc_exec_options){.isa = isa, .loops = true}, "as loops");
        }
    assert_int_equal(failed, 0);
}

static void test_compiled(void **state) {
    (void)state;
    const bool clang = !system("command -v clang >/dev/null");
    const int best = (int)best_row();
    assert_true(cases.len > 100);
    for (int row = 0; row <= best; row++) {
        if (!tc_isa_supported((tc_isa_row)row)) continue;
        check("gcc", (tc_isa_row)row, row == best ? 0 : 1, getenv(all) ? 1 : row == best ? 3 : 19);
        if (clang && (row == best || getenv(all))) check("clang", (tc_isa_row)row, getenv(all) ? 0 : 2, getenv(all) ? 1 : 19);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interpreted), cmocka_unit_test(test_compiled)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
