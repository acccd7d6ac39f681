/* Epilogues: a pointwise loop that runs on the regions of a kernel's result has the bits of the two apart, for every type, instruction
 * set, number of threads and size; the kernel's result takes no memory where nothing else reads it; what it cannot be is said. */
#include "graphs.h"

#include "base/cpu.h"
#include "op/decompose.h"

/* x [B, T, K], w [N, K], bias [N], r [B, T, N], s [T, 1] */
typedef struct {
    tc_program *p;
    tc_emit e;
    tc_value *x, *w, *b, *r, *s;
} fixture;
enum { INPUTS = 5, MAX_OUTS = 4 };

static tc_value *linear(fixture *f) { return tc_emit_call(&f->e, "aten::linear", "vvv", f->x, f->w, f->b); }
static tc_value *op1(fixture *f, const char *op, tc_value *a) { return tc_emit_call(&f->e, op, "v", a); }
static tc_value *op2(fixture *f, const char *op, tc_value *a, tc_value *b) { return tc_emit_call(&f->e, op, "vv", a, b); }

/* What follows a product: activations, residuals, numbers by row, other types, results that are read twice, heads. */
static void gelu(fixture *f) { output(f->p, op1(f, "aten::gelu", linear(f))); }
static void residual(fixture *f) {
    output(f->p, op2(f, "aten::add.Tensor", f->r, op1(f, "aten::tanh", op2(f, "aten::mul.Tensor", linear(f), f->s))));
}
static void compare(fixture *f) { output(f->p, op2(f, "aten::gt.Tensor", linear(f), f->r)); }
static void both(fixture *f) {
    tc_value *h = linear(f);
    output(f->p, h);
    output(f->p, op1(f, "aten::relu", h));
}
static void two_results(fixture *f) {
    tc_value *h = op1(f, "aten::sigmoid", linear(f));
    output(f->p, h);
    output(f->p, op2(f, "aten::mul.Tensor", h, f->r));
}
static void gated(fixture *f) { /* two products, one loop */
    tc_value *g = op1(f, "aten::silu", linear(f));
    tc_value *u = tc_emit_call(&f->e, "aten::linear", "vvv", op1(f, "aten::neg", f->x), f->w, f->b);
    output(f->p, op2(f, "aten::mul.Tensor", g, u));
}
static void two_of_them(fixture *f) { /* two products, a loop behind each, which a third joins */
    tc_value *g = op1(f, "aten::silu", linear(f));
    tc_value *u = tc_emit_call(&f->e, "aten::linear", "vvv", op1(f, "aten::neg", f->x), f->w, f->b);
    output(f->p, op2(f, "aten::add.Tensor", g, op1(f, "aten::tanh", u)));
}
static void batched(fixture *f) { /* bmm [B, T, K] x [B, K, T], its result transposed by who reads it */
    tc_value *t = tc_emit_call(&f->e, "aten::transpose.int", "vii", f->x, (int64_t)1, (int64_t)2);
    tc_value *h = op2(f, "aten::bmm", f->x, t);
    output(f->p, op1(f, "aten::exp", op1(f, "aten::tanh", h)));
    output(f->p, tc_emit_call(&f->e, "aten::transpose.int", "vii", op2(f, "aten::bmm", f->x, t), (int64_t)1, (int64_t)2));
}
static void chained(fixture *f) { /* result of one product, activated, into another; in place over what dies */
    tc_value *h = op1(f, "aten::relu", linear(f));
    output(f->p, op2(f, "aten::add.Tensor", tc_emit_call(&f->e, "aten::matmul", "vv", h, f->w), f->x));
}
static void clamped(fixture *f) { /* a sum and bounds: the product does them itself */
    output(f->p, op1(f, "aten::relu6", op2(f, "aten::add.Tensor", linear(f), f->r)));
}
static void normed(fixture *f) { /* scale and shift by column: the product's, too, what follows is not */
    tc_value *x = tc_emit_call(&f->e, "aten::flatten.using_ints", "vii", f->x, (int64_t)0, (int64_t)1), *v = op1(f, "aten::exp", f->b);
    tc_value *h = tc_emit_call(&f->e, "aten::linear", "vvv", x, f->w, f->b);
    output(f->p, op1(f, "aten::silu", tc_emit_call(&f->e, "aten::batch_norm", "vvvvvbffb", h, f->b, f->b, f->b, v, 0, 0.1, 1e-5, 0)));
}
static void moved_up(fixture *f) { /* another product stands between the first and its loop */
    tc_value *h = linear(f), *k = tc_emit_call(&f->e, "aten::linear", "vvv", f->x, f->w, f->b);
    output(f->p, op2(f, "aten::bmm", k, tc_emit_call(&f->e, "aten::transpose.int", "vii", k, (int64_t)1, (int64_t)2)));
    output(f->p, op2(f, "aten::sub.Tensor", f->r, h));
}

static void bounded(fixture *f) { /* to numbers that no 16-bit type has */
    tc_value *h = op2(f, "aten::add.Tensor", linear(f), f->r);
    output(f->p, tc_emit_call(&f->e, "aten::hardtanh", "vff", h, -0.1, 0.7));
}

static void doubled(fixture *f) { /* a sum of the result and itself, bounded */
    tc_value *h = linear(f);
    output(f->p, op1(f, "aten::relu", op2(f, "aten::add.Tensor", h, h)));
}

static tc_program *build(void (*body)(fixture *), tc_dtype d) {
    fixture f = {.p = tc_program_create("t")};
    if (!f.p->graph) f.p->graph = tc_graph_create(f.p, NULL, "t");
    f.p->functional = true;
    tc_symctx *c = f.p->sym;
    tc_sym B = tc_sym_var(c, "B", TC_SYM_INT, 0, 64), T = tc_sym_var(c, "T", TC_SYM_INT, 0, 5000), K = tc_sym_var(c, "K", TC_SYM_INT, 0, 5000),
           N = tc_sym_var(c, "N", TC_SYM_INT, 0, 5000);
    f.e = (tc_emit){.graph = f.p->graph};
    f.x = input(f.p, TC_IN_USER, "x", d, 3, B, T, K);
    f.w = input(f.p, TC_IN_USER, "w", d, 2, N, K);
    f.b = input(f.p, TC_IN_USER, "b", d, 1, N);
    f.r = input(f.p, TC_IN_USER, "r", d, 3, B, T, N);
    f.s = input(f.p, TC_IN_USER, "s", d, 2, T, tc_sym_int(c, 1));
    body(&f);
    ok(f.e.status);
    return f.p;
}

static const int64_t sizes[][4] = {{1, 1, 3, 1},   {2, 3, 5, 1},    {0, 4, 2, 3},      {2, 3, 0, 17},
                                   {3, 7, 300, 0}, {1, 1, 70, 333}, {2, 130, 20, 130}, {3, 50, 260, 140}};

static void run_at(tc_exec *e, tc_dtype d, const int64_t n[4], tc_tensor *out, int nout) {
    tc_tensor in[INPUTS] = {filled(d, 3, (int64_t[]){n[0], n[1], n[2]}, 1), filled(d, 2, (int64_t[]){n[3], n[2]}, 2),
                            filled(d, 1, (int64_t[]){n[3]}, 3), filled(d, 3, (int64_t[]){n[0], n[1], n[3]}, 4),
                            filled(d, 2, (int64_t[]){n[1], 1}, 5)};
    memset(out, 0, sizeof *out * (size_t)nout);
    ok(tc_exec_run(e, in, INPUTS, NULL, out, nout));
    for (int i = 0; i < INPUTS; i++) tc_tensor_deinit(&in[i]);
}

static void check(const char *name, void (*body)(fixture *), tc_dtype d, size_t epilogues) {
    tc_program *p = build(body, d);
    tc_exec *plain, *e;
    tc_buf report = {0};
    tc_isa_row best;
    size_t found = 0;
    ok(tc_isa_choose(NULL, &best));
    ok(tc_exec_create(p, &(tc_exec_options){.threads = 1, .no_fuse = true}, &plain));
    for (tc_isa_row row = 0; row <= best; row++)
        for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
            /* products of 16-bit floats have the same bits within one instruction set only */
            tc_exec *base = plain;
            const tc_isa_ops *isa = tc_isa_ops_of(row);
            if (d == TC_BF16) ok(tc_exec_create(p, &(tc_exec_options){.threads = 1, .no_fuse = true, .isa = isa}, &base));
            ok(tc_exec_create(p, &(tc_exec_options){.threads = threads, .isa = isa}, &e));
            for (size_t k = d == TC_F32 ? 0 : 4; k < sizeof sizes / sizeof *sizes; k++) {
                tc_tensor a[MAX_OUTS], b[MAX_OUTS];
                run_at(base, d, sizes[k], a, p->noutputs);
                run_at(e, d, sizes[k], b, p->noutputs);
                for (int i = 0; i < p->noutputs; i++) {
                    tc_diff diff;
                    ok(tc_tensor_compare(&a[i], &b[i], 0, 0, &diff));
                    if (diff.count)
                        fail_msg("%s, %s, %s, %d threads, sizes %zu, output %d: %lld elements differ, the first at %lld", name, tc_dtypes[d].name,
                                 isa->name, threads, k, i, (long long)diff.count, (long long)diff.first);
                    tc_tensor_deinit(&a[i]);
                    tc_tensor_deinit(&b[i]);
                }
            }
            if (base != plain) tc_exec_destroy(base);
            if (row == best && threads == 7) tc_exec_report(e, &report);
            tc_exec_destroy(e);
        }
    for (const char *at = tc_buf_str(&report); (at = strstr(at, "with the epilogue")); at++) found++;
    if (found != epilogues) fail_msg("%s has %zu epilogues, expected %zu:\n%s", name, found, epilogues, tc_buf_str(&report));
    tc_buf_free(&report);
    tc_exec_destroy(plain);
    tc_program_release(p);
}

static void test_bits(void **state) {
    static const struct {
        const char *name;
        void (*body)(fixture *);
        size_t epilogues;
    } all[] = {
        {"gelu", gelu, 1},       {"residual", residual, 1},       {"compare", compare, 1}, {"both", both, 1},       {"two results", two_results, 1},
        {"gated", gated, 1},     {"two of them", two_of_them, 2}, {"batched", batched, 1}, {"chained", chained, 2}, {"moved up", moved_up, 1},
        {"clamped", clamped, 1}, {"normed", normed, 1},           {"bounded", bounded, 1}, {"doubled", doubled, 1}};
    static const tc_dtype types[] = {TC_F32, TC_F64, TC_BF16};
    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) check(all[k].name, all[k].body, types[t], all[k].epilogues);
}

/* The product lies where the result of its epilogue does, which the caller has. */
static void test_no_memory(void **state) {
    (void)state;
    tc_program *p = build(residual, TC_F32);
    tc_exec *e;
    tc_tensor out[MAX_OUTS];
    ok(tc_exec_create(p, &(tc_exec_options){.threads = 2}, &e));
    run_at(e, TC_F32, (int64_t[]){4, 50, 30, 40}, out, 1);
    assert_int_equal(tc_exec_memory_use(e).arena, 0);
    tc_tensor_deinit(&out[0]);
    tc_exec_destroy(e);
    tc_program_release(p);
}

/* w - (x' x), or w + (x' x), which kernels can compute themselves, is the new w where nothing reads the old one; where the product itself reads w, w is not written while it does. */
static void check_update(const char *op, bool reads) {
    fixture f = {.p = tc_program_create("t")};
    if (!f.p->graph) f.p->graph = tc_graph_create(f.p, NULL, "t");
    f.p->functional = true;
    tc_sym n = tc_sym_int(f.p->sym, 300);
    f.e = (tc_emit){.graph = f.p->graph};
    f.x = input(f.p, TC_IN_USER, "x", TC_F32, 2, n, n);
    f.w = input(f.p, TC_IN_PARAMETER, "w", TC_F32, 2, n, n);
    f.p->inputs[1].data = filled(TC_F32, 2, (int64_t[]){300, 300}, 8);
    tc_value *new = op2(&f, op, f.w, op2(&f, "aten::mm", f.x, reads ? f.w : f.x));
    ok(f.e.status);
    tc_program_add_output(f.p, (tc_output){.kind = TC_OUT_PARAMETER, .value = new, .target = 1});
    tc_exec *e[2];
    tc_tensor x = filled(TC_F32, 2, (int64_t[]){300, 300}, 9), out = {0};
    tc_diff d;
    for (int k = 0; k < 2; k++) {
        ok(tc_exec_create(f.p, &(tc_exec_options){.threads = 1 + k, .no_fuse = !k}, &e[k]));
        ok(tc_exec_run(e[k], &x, 1, NULL, &out, 1));
    }
    ok(tc_tensor_compare(tc_exec_state(e[0], 1), tc_exec_state(e[1], 1), 0, 0, &d));
    assert_int_equal(d.count, 0);
    tc_buf report = {0};
    tc_exec_report(e[1], &report);
    assert_true(!strstr(tc_buf_str(&report), "is copied") == !reads);
    tc_buf_free(&report);
    for (int k = 0; k < 2; k++) tc_exec_destroy(e[k]);
    tc_tensor_deinit(&x);
    tc_tensor_deinit(&f.p->inputs[1].data);
    tc_program_release(f.p);
}
static void test_updates(void **state) {
    (void)state;
    check_update("aten::sub.Tensor", false);
    check_update("aten::sub.Tensor", true);
    check_update("aten::add.Tensor", false);
    check_update("aten::add.Tensor", true);
}

static void reduced(fixture *f) { output(f->p, tc_emit_call(&f->e, "aten::softmax.int", "vi", linear(f), (int64_t)-1)); }
static void reordered(fixture *f) {
    output(f->p, op1(f, "aten::exp", tc_emit_call(&f->e, "aten::transpose.int", "vii", linear(f), (int64_t)1, (int64_t)2)));
}
static void test_reasons(void **state) {
    static const struct {
        void (*body)(fixture *);
        const char *why;
    } all[] = {{reduced, "it has a reduction or a scan"}, {reordered, "it reads the result in another order"}};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        tc_program *p = build(all[k].body, TC_F32);
        tc_exec *e;
        tc_buf report = {0};
        ok(tc_exec_create(p, &(tc_exec_options){.threads = 1}, &e));
        tc_exec_report(e, &report);
        assert_null(strstr(tc_buf_str(&report), "with the epilogue"));
        assert_non_null(strstr(tc_buf_str(&report), all[k].why));
        tc_buf_free(&report);
        tc_exec_destroy(e);
        tc_program_release(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_no_memory), cmocka_unit_test(test_updates),
                                       cmocka_unit_test(test_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
