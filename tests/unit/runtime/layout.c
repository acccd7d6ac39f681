/* Values that lie channels last: a network's result is, bit for bit, what it is when every intermediate value is a result too and so
 * lies contiguous; for every type, instruction set, number of threads and batch size. */
#include "graphs.h"

#include "base/cpu.h"
#include "runtime/tuning.h"

typedef struct {
    tc_program *p;
    tc_emit e;
    tc_dtype dtype;
    tc_value *all[64];
    int n, weights;
} net;

static uint32_t seed = 1;
static tc_value *weight(net *n, double low, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t size[4] = {a, b, c, d};
    char *name = tc_arena_printf(&n->p->arena, "w%d", n->weights);
    tc_value *v = tc_graph_value(n->p->graph, TC_V_TENSOR, name);
    tc_sym s[4];
    for (int i = 0; i < rank; i++) s[i] = tc_sym_int(n->p->sym, size[i]);
    v->meta = tc_meta_make(&n->p->arena, n->dtype, rank, s, NULL);
    tc_graph_add_input(n->p->graph, v);
    n->weights++;
    tc_program_add_input(
        n->p,
        (tc_input){.kind = TC_IN_PARAMETER, .value = v, .name = name, .alias_of = -1, .data = random_tensor(n->dtype, rank, size, -low, 1, &seed)});
    return v;
}
static tc_value *add(net *n, tc_value *v) {
    ok(n->e.status);
    return n->all[n->n++] = v;
}
/* k x k, `o` channels, `pad` all around */
static tc_value *conv(net *n, tc_value *x, int64_t o, int64_t k, int64_t stride, int64_t pad, int64_t dil, int64_t groups, bool bias,
                      bool transposed) {
    int64_t c = 0, st[2] = {stride, stride}, p[2] = {pad, pad}, d[2] = {dil, dil}, zero[2] = {0, 0};
    assert_true(tc_sym_const_int(x->meta.size[1], &c));
    tc_value *w = transposed ? weight(n, 0.5, 4, c, o / groups, k, k) : weight(n, 0.5, 4, o, c / groups, k, k);
    tc_arg none = {0};
    if (bias)
        return add(n, tc_emit_call(&n->e, "aten::convolution", "vvvIIIbIi", x, w, weight(n, 0.5, 1, o, 0, 0, 0), st, 2, p, 2, d, 2, transposed, zero,
                                   2, groups));
    return add(n, tc_emit_call(&n->e, "aten::convolution", "vvaIIIbIi", x, w, &none, st, 2, p, 2, d, 2, transposed, zero, 2, groups));
}
static tc_value *norm(net *n, tc_value *x) {
    int64_t c = 0;
    assert_true(tc_sym_const_int(x->meta.size[1], &c));
    tc_value *r = tc_emit_call(&n->e, "aten::_native_batch_norm_legit_no_training", "vvvvvff", x, weight(n, 0.3, 1, c, 0, 0, 0),
                               weight(n, 0.5, 1, c, 0, 0, 0), weight(n, 0.5, 1, c, 0, 0, 0), weight(n, -0.5, 1, c, 0, 0, 0), 0.1, 1e-5);
    return add(n, tc_emit_out(r, 0));
}
static tc_value *unary(net *n, const char *name, tc_value *x) { return add(n, tc_emit_call(&n->e, name, "v", x)); }
static tc_value *binary(net *n, const char *name, tc_value *x, tc_value *y) { return add(n, tc_emit_call(&n->e, name, "vv", x, y)); }
static tc_value *max_pool(net *n, tc_value *x, int64_t k, int64_t stride, int64_t pad) {
    int64_t ks[2] = {k, k}, st[2] = {stride, stride}, p[2] = {pad, pad};
    return add(n, tc_emit_out(tc_emit_call(&n->e, "aten::max_pool2d_with_indices", "vIII", x, ks, 2, st, 2, p, 2), 0));
}

/* ---- networks ---- */
static tc_value *residual(net *n, tc_value *x) { /* as in ResNet, odd channels, one block with stride */
    x = unary(n, "aten::relu", norm(n, conv(n, x, 21, 5, 2, 2, 1, 1, false, false)));
    x = max_pool(n, x, 3, 2, 1);
    tc_value *y = unary(n, "aten::relu", norm(n, conv(n, x, 21, 3, 1, 1, 1, 1, false, false)));
    x = unary(n, "aten::relu", binary(n, "aten::add.Tensor", norm(n, conv(n, y, 21, 3, 1, 1, 1, 1, false, false)), x));
    y = norm(n, conv(n, unary(n, "aten::relu", norm(n, conv(n, x, 40, 3, 2, 1, 1, 1, false, false))), 40, 3, 1, 2, 2, 1, false, false));
    x = unary(n, "aten::relu", binary(n, "aten::add.Tensor", y, norm(n, conv(n, x, 40, 1, 2, 0, 1, 1, false, false))));
    return add(n, tc_emit_call(&n->e, "aten::mean.dim", "vIb", x, (int64_t[]){2, 3}, 2, false));
}
static tc_value *inverted(net *n, tc_value *x) { /* as in MobileNet and EfficientNet, with squeeze and excitation */
    x = unary(n, "aten::hardswish", norm(n, conv(n, x, 18, 3, 2, 1, 1, 1, false, false)));
    tc_value *y = unary(n, "aten::silu", norm(n, conv(n, x, 37, 1, 1, 0, 1, 1, false, false)));
    y = unary(n, "aten::hardtanh", norm(n, conv(n, y, 37, 3, 1, 1, 1, 37, false, false)));
    tc_value *s = add(n, tc_emit_call(&n->e, "aten::mean.dim", "vIb", y, (int64_t[]){2, 3}, 2, true));
    s = unary(n, "aten::sigmoid", conv(n, unary(n, "aten::relu", conv(n, s, 5, 1, 1, 0, 1, 1, true, false)), 37, 1, 1, 0, 1, 1, true, false));
    y = norm(n, conv(n, binary(n, "aten::mul.Tensor", y, s), 18, 1, 1, 0, 1, 1, false, false));
    x = binary(n, "aten::add.Tensor", x, y);
    x = conv(n, x, 18, 5, 2, 2, 1, 18, true, false); /* depthwise */
    x = conv(n, x, 30, 3, 1, 1, 1, 3, true, false);  /* groups that are no depthwise */
    return unary(n, "aten::relu", conv(n, x, 64, 1, 1, 0, 1, 1, true, false));
}
static tc_value *down_and_up(net *n, tc_value *x) { /* as in U-Net: cat, transposed convolution, upsampling */
    tc_value *a = unary(n, "aten::relu", conv(n, x, 16, 3, 1, 1, 1, 1, true, false));
    tc_value *b = unary(n, "aten::relu", conv(n, max_pool(n, a, 2, 2, 0), 33, 3, 1, 1, 1, 1, true, false));
    tc_value *u = conv(n, b, 16, 2, 2, 0, 1, 1, true, true), *both[2] = {a, u};
    x = add(n, tc_emit_call(&n->e, "aten::cat", "Vi", both, 2, (int64_t)1));
    x = unary(n, "aten::relu", conv(n, x, 19, 3, 1, 1, 1, 1, true, false));
    x = conv(n, add(n, tc_emit_call(&n->e, "aten::slice.Tensor", "viii", x, (int64_t)1, (int64_t)2, (int64_t)18)), 16, 3, 1, 0, 1, 1, true, false);
    x = max_pool(n, x, 2, 2, 0);
    return add(n, tc_emit_call(&n->e, "aten::flatten.using_ints", "vii", x, (int64_t)1, (int64_t)-1));
}
static tc_value *hourglass(net *n, tc_value *x) { /* wide, small, wide, and one image */
    x = add(n, tc_emit_call(&n->e, "aten::repeat", "vI", unary(n, "aten::sin", x), (int64_t[]){1, 20, 1, 1}, 4));
    x = conv(n, conv(n, x, 60, 4, 4, 0, 1, 60, true, false), 60, 4, 4, 0, 1, 60, true, true);
    return add(n, tc_emit_call(&n->e, "aten::amax", "vIb", x, (int64_t[]){0}, 1, false));
}

typedef tc_value *(*form)(net *n, tc_value *x);
enum { SLICED = 61, TIMES = 5 };
/* Of images of 22 x 26, `times` as many rows; all: every value is a result. */
static void build(net *n, form f, tc_dtype dtype, int times, bool all) {
    *n = (net){.p = tc_program_create("t"), .dtype = dtype};
    if (!n->p->graph) n->p->graph = tc_graph_create(n->p, NULL, "t");
    n->p->functional = true;
    n->e.graph = n->p->graph;
    seed = 1;
    tc_sym s[4] = {tc_sym_var(n->p->sym, "B", TC_SYM_INT, 0, 64), tc_sym_int(n->p->sym, 3), tc_sym_int(n->p->sym, 22 * times),
                   tc_sym_int(n->p->sym, 26)};
    tc_value *x = tc_graph_value(n->p->graph, TC_V_TENSOR, "x");
    x->meta = tc_meta_make(&n->p->arena, dtype, 4, s, NULL);
    tc_graph_add_input(n->p->graph, x);
    tc_program_add_input(n->p, (tc_input){.kind = TC_IN_USER, .value = x, .name = "x", .alias_of = -1});
    f(n, x);
    for (int i = all ? 0 : n->n - 1; i < n->n; i++)
        tc_program_add_output(n->p, (tc_output){.kind = TC_OUT_USER, .value = n->all[i], .name = n->all[i]->name, .target = -1});
}
static void done(net *n) { tc_program_release(n->p); }

static void same(const tc_tensor *a, const tc_tensor *b, const char *what, const char *isa, int threads) {
    assert_int_equal(tc_tensor_bytes(a), tc_tensor_bytes(b));
    const char *x = tc_tensor_data(a), *y = tc_tensor_data(b);
    for (size_t i = 0; i < tc_tensor_bytes(a); i++)
        if (x[i] != y[i]) fail_msg("%s, %s, %d threads: byte %zu differs", what, isa, threads, i);
}
static void check(form f, tc_dtype dtype, const char *what) {
    net plain, net1;
    build(&plain, f, dtype, 1, true);
    build(&net1, f, dtype, 1, false);
    for (int r = TC_ROW_COUNT - 1; r >= 0; r--)
        for (int threads = 1; threads <= 3; threads += 2) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            tc_exec *one, *other;
            tc_exec_options o = {.threads = threads, .isa = tc_isa_ops_of((tc_isa_row)r), .keep_packed = true};
            ok(tc_exec_create(plain.p, &o, &one));
            ok(tc_exec_create(net1.p, &o, &other));
            for (int64_t b = 0; b < 4; b += 1 + (b == 1)) {
                tc_tensor x = random_tensor(dtype, 4, (int64_t[]){b, 3, 22, 26}, -0.5, 1, &seed), want[64] = {{0}}, got = {0};
                ok(tc_exec_run(one, &x, 1, NULL, want, plain.n));
                ok(tc_exec_run(other, &x, 1, NULL, &got, 1));
                same(&want[plain.n - 1], &got, what, tc_isa_name((tc_isa_row)r), threads);
                tc_tensor_deinit(&got), tc_tensor_deinit(&x);
                for (int i = 0; i < plain.n; i++) tc_tensor_deinit(&want[i]);
            }
            tc_exec_destroy(one), tc_exec_destroy(other);
        }
    done(&plain), done(&net1);
}

static void test_layouts(void **state) {
    (void)state;
    static const struct {
        form f;
        const char *name;
    } forms[] = {{residual, "residual"}, {inverted, "inverted"}, {down_and_up, "down and up"}};
    static const tc_dtype types[] = {TC_F32, TC_F64, TC_BF16};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) check(forms[i].f, types[k], forms[i].name);
}

/* ---- slices ---- */
/* Every tensor that a profile is shown is whole: of images that are the same every 7, so are those of each value. */
static tc_status see_images(void *ctx, const tc_exec_event *event) {
    for (int i = 0; i < event->nvalues; i++) {
        const tc_tensor *t = event->tensors[i];
        const size_t each = tc_tensor_bytes(t) / SLICED;
        if (t->rank != 4) continue;
        const char *data = tc_tensor_data(t);
        assert_int_equal(t->size[0], SLICED);
        assert_memory_not_equal(data, data + each, each);
        for (int n = 7; n < SLICED; n++) assert_memory_equal(data + (size_t)n * each, data + (size_t)(n - 7) * each, each);
        ++*(int *)ctx;
    }
    return NULL;
}
static void check_slices(form f, tc_dtype dtype, int threads, const char *what) {
    net plain, sliced;
    build(&plain, f, dtype, TIMES, true);
    build(&sliced, f, dtype, TIMES, false);
    tc_tensor few = random_tensor(dtype, 4, (int64_t[]){7, 3, 22 * TIMES, 26}, -0.5, 1, &seed), x;
    ok(tc_tensor_empty(dtype, 4, (int64_t[]){SLICED, 3, 22 * TIMES, 26}, &x));
    for (size_t i = 0, n = tc_tensor_bytes(&few); i < tc_tensor_bytes(&x); i++)
        ((char *)tc_tensor_data(&x))[i] = ((char *)tc_tensor_data(&few))[i % n];
    tc_exec *one, *other;
    ok(tc_exec_create(plain.p, &(tc_exec_options){.threads = threads, .no_fuse = true}, &one));
    ok(tc_exec_create(sliced.p, &(tc_exec_options){.threads = threads, .keep_packed = true}, &other));
    tc_tensor want[64] = {{0}};
    ok(tc_exec_run(one, &x, 1, NULL, want, plain.n));
    size_t arena[2];
    tc_exec_memory forecast;
    ok(tc_exec_forecast(other, &x, 1, &forecast));
    for (int run = 0; run < 5; run++) { /* the second packs weights; the third is watched */
        tc_tensor got = {0};
        int seen = 0;
        tc_exec_set_profile(other, run == 2 ? see_images : NULL, &seen);
        ok(tc_exec_run(other, &x, 1, NULL, &got, 1));
        if (dtype != TC_BF16) same(&want[plain.n - 1], &got, what, "best", threads);
        if (!run) assert_int_equal((forecast.scratch + 4095) / 4096 * 4096, tc_exec_memory_use(other).scratch);
        if (run == 2) assert_true(seen > 4);
        if (run == 1 || run == 2) arena[run - 1] = tc_exec_memory_use(other).arena;
        tc_tensor_deinit(&got);
    }
    assert_true(f == down_and_up ? arena[0] <= arena[1] : arena[0] < arena[1]); /* what is concatenated is the most */
    tc_exec_destroy(one), tc_exec_destroy(other);
    for (int i = 0; i < plain.n; i++) tc_tensor_deinit(&want[i]);
    tc_tensor_deinit(&x), tc_tensor_deinit(&few);
    done(&plain), done(&sliced);
}
/* Many images go through chains of convolutions and pools a few at a time: the same bits in less memory. */
static void test_slices(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++)
        for (int d = 0; d < 2; d++)
            check_slices(residual, d ? TC_BF16 : TC_F32, threads, "residual"),
                check_slices(down_and_up, d ? TC_BF16 : TC_F32, threads, "down and up");
}
/* A chain whose ends are large and die before and after it would have both live at once: it is run whole. */
static void test_no_growth(void **state) {
    (void)state;
    net n;
    build(&n, hourglass, TC_F32, 1, false);
    tc_tensor x = random_tensor(TC_F32, 4, (int64_t[]){SLICED, 3, 22, 26}, -0.5, 1, &seed), got = {0};
    tc_exec *e;
    ok(tc_exec_create(n.p, &(tc_exec_options){.threads = 1}, &e));
    ok(tc_exec_run(e, &x, 1, NULL, &got, 1));
    assert_true(tc_exec_memory_use(e).arena < 30 * tc_tensor_bytes(&x));
    tc_exec_destroy(e);
    tc_tensor_deinit(&x), tc_tensor_deinit(&got);
    done(&n);
}
/* What was measured of a call's packed weights is found again where it goes by slices: without any, nothing is packed. */
static void say_unpacked(void *ctx, const char *knob, const char *key, const int64_t *choices, uint64_t ns) {
    (void)ns;
    if (!strcmp(knob, "packing")) tc_tuning_set_tile(ctx, key, choices[0]);
}
static void test_tuned_slices(void **state) {
    (void)state;
    net n;
    tc_tuning *tuning;
    ok(tc_tuning_create(1, &tuning));
    build(&n, residual, TC_F32, TIMES, false);
    tc_tensor x = random_tensor(TC_F32, 4, (int64_t[]){SLICED, 3, 22 * TIMES, 26}, -0.5, 1, &seed), want = {0};
    for (int tuned = 0; tuned < 2; tuned++) {
        tc_exec *e;
        ok(tc_exec_create(n.p, &(tc_exec_options){.threads = 1, .keep_packed = true}, &e));
        if (tuned) tc_exec_set_tuning(e, tuning);
        else tc_exec_set_timed(e, say_unpacked, tuning);
        for (int run = 0; run < 3; run++) {
            tc_tensor got = {0};
            ok(tc_exec_run(e, &x, 1, NULL, &got, 1));
            if (tuned) same(&want, &got, "tuned slices", "best", 1);
            else if (!run) want = got, got = (tc_tensor){0};
            tc_tensor_deinit(&got);
        }
        if (tuned) assert_int_equal(tc_exec_memory_use(e).packed, 0);
        else assert_true(tc_exec_memory_use(e).packed > 0);
        tc_exec_destroy(e);
    }
    tc_tensor_deinit(&x), tc_tensor_deinit(&want);
    tc_tuning_destroy(tuning);
    done(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts), cmocka_unit_test(test_slices), cmocka_unit_test(test_no_growth),
                                       cmocka_unit_test(test_tuned_slices)};
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
