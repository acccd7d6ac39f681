/* No lane reads or writes past an array: samples of the operator table with a size made free, at 0 to two vectors and one, and about one and
 * two vectors of bytes, on inputs and results that end at a page without access and then on ones that begin behind one. Interpreted, and
 * compiled for this machine's best instruction set: the same bits everywhere, and no fault. Most samples take their turn with TC_TEST_ALL
 * only. */
#include "base/file.h"
#include "base/rng.h"
#include "op/functionalise.h"
#include "op/sample.h"
#include "scratch.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "module.h"

enum { LANES = 16, BYTES = 64, PAGE = 4096, MOST = 16 }; /* float32 and bytes of the widest vector; results of a program at most */

typedef struct {
    char *label;
    tc_sample sample;
} kase;
static TC_VEC(kase) cases;

/* ---- samples with a free size ---- */
/* Where the sizes of the next tensor stand in a call: f32[3,4] gives 3 to 4; NULL: no further tensor. A bracket of numbers alone is a list. */
static const char *next_sizes(const char *p, const char *end, const char **stop) {
    for (; p < end; p++) {
        if (*p != '[' || !isdigit((unsigned char)p[-1])) continue;
        const char *word = p;
        while (isalnum((unsigned char)word[-1])) word--;
        if (!isalpha((unsigned char)*word)) continue;
        *stop = memchr(p, ']', (size_t)(end - p));
        return *stop ? p + 1 : NULL;
    }
    return NULL;
}

/* The call with N for every size of a tensor that is the last size of its first tensor (of its last one). */
static bool widen(const char *call, size_t len, bool last, tc_buf *out) {
    const char *end = call + len, *stop, *size = NULL;
    long n = -1;
    for (const char *p = call; (p = next_sizes(p, end, &stop)); p = stop) {
        for (size = stop; size > p && isdigit((unsigned char)size[-1]);) size--;
        if (size < stop) n = strtol(size, NULL, 10);
        if (!last) break;
    }
    if (n < 2) return false;
    const char *from = call;
    for (const char *p = call; (p = next_sizes(p, end, &stop)); p = stop)
        for (const char *q = p; q < stop;) {
            char *after;
            bool same = isdigit((unsigned char)*q) && strtol(q, &after, 10) == n;
            if (same) {
                tc_buf_append(out, from, (size_t)(q - from));
                tc_buf_putc(out, 'N');
                from = after;
            }
            while (q < stop && *q != ',') q++;
            if (q < stop) q++;
        }
    tc_buf_append(out, from, (size_t)(end - from));
    return true;
}

static void add_cases(const tc_op *op, const char *call, size_t len) {
    for (int last = 0; last < 2; last++) {
        tc_buf text = {0};
        kase k = {0};
        tc_status s = NULL;
        bool wide = widen(call, len, last, &text);
        if (wide) s = tc_sample_parse(op, tc_buf_str(&text), text.len, &k.sample);
        if (wide && !s) s = tc_functionalise(k.sample.program);
        if (wide && !s && k.sample.program->noutputs <= MOST) {
            k.label = tc_xstrdup(tc_buf_str(&text));
            tc_vec_push(&cases, k);
        } else if (k.sample.program) tc_program_release(k.sample.program);
        tc_status_free(s);
        tc_buf_free(&text);
    }
}

/* ---- tensors between pages without access ---- */
static void unmap(void *ctx, void *data) {
    (void)data;
    size_t *region = ctx;
    munmap((void *)region[0], region[1]);
    free(region);
}

static void guarded(tc_dtype dtype, int rank, const int64_t *size, bool at_end, tc_tensor *out) {
    assert_null(tc_tensor_empty(dtype, rank, size, out));
    size_t bytes = tc_dtype_size(dtype), whole;
    for (int d = 0; d < rank; d++) bytes *= (size_t)size[d];
    whole = (bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
    char *map = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    if (whole > 2 * PAGE) assert_int_equal(mprotect(map + PAGE, whole - 2 * PAGE, PROT_READ | PROT_WRITE), 0);
    size_t *region = tc_xcalloc(2, sizeof *region);
    region[0] = (size_t)map, region[1] = whole;
    tc_storage_release(out->storage);
    out->storage = tc_storage_wrap(at_end ? map + whole - PAGE - bytes : map + PAGE, bytes, unmap, region);
}

static void drop(tc_tensor *t, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&t[i]);
}

/* One run at a size; want: results in ordinary memory, made by the first run, for which all is as it comes. False: refused. */
static bool run_at(const kase *k, tc_exec *e, int64_t n, int place, tc_tensor *want) {
    const tc_program *p = k->sample.program;
    tc_tensor in[TC_SAMPLE_TENSORS] = {{0}}, out[MOST] = {{0}};
    int nin = k->sample.ntensors;
    for (int i = 0; i < nin; i++) {
        const tc_meta *m = &p->inputs[i].value->meta;
        int64_t size[TC_MAX_RANK];
        for (int d = 0; d < m->rank; d++)
            if (!tc_sym_const_int(m->size[d], &size[d])) size[d] = n;
        guarded(m->dtype, m->rank, size, place == 1, &in[i]);
        tc_sample_fill(&in[i], k->sample.lo[i], k->sample.hi[i], (uint64_t)i + 11);
    }
    for (int i = 0; place && i < p->noutputs; i++)
        if (want[i].storage && p->outputs[i].kind == TC_OUT_USER && p->outputs[i].value->kind == TC_V_TENSOR)
            guarded(want[i].dtype, want[i].rank, want[i].size, place == 1, &out[i]);
    tc_generator g;
    tc_generator_seed(&g, 3);
    tc_status s = tc_exec_run(e, in, nin, &g, place ? out : want, p->noutputs);
    const bool done = !s;
    for (int i = 0; done && place && i < p->noutputs; i++) {
        tc_diff d = {0};
        if (!want[i].storage) continue;
        s = tc_tensor_compare(&out[i], &want[i], 0, 0, &d);
        if (s || d.count) fail_msg("%s, N = %lld, place %d: result %d: %s", k->label, (long long)n, place, i, s ? tc_status_message(s) : "differs");
    }
    if (!done && place) fail_msg("%s, N = %lld: %s", k->label, (long long)n, tc_status_message(s));
    tc_status_free(s);
    drop(in, nin);
    drop(out, MOST);
    return done;
}

/* The runs that were done: results as the interpreter gives them, then with guards. */
static int at_all_sizes(const kase *k, tc_exec *plain, tc_exec *e) {
    int runs = 0;
    for (int64_t n = 0; n <= 2 * BYTES + 1; n++) {
        if (n > 2 * LANES + 1 && (n + 1) % BYTES > 2) continue;
        tc_tensor want[MOST] = {{0}};
        if (run_at(k, plain, n, 0, want)) {
            run_at(k, e, n, 1, want);
            run_at(k, e, n, 2, want);
            runs++;
        }
        drop(want, MOST);
    }
    return runs;
}

static tc_exec *planned(const kase *k, const tc_exec_code *code) {
    tc_exec *e;
    tc_exec_options o = {.threads = 1, .isa = tc_isa_ops_of(best_row()), .code = code};
    tc_status s = tc_exec_create(k->sample.program, &o, &e);
    if (!s) return e;
    tc_status_free(s); /* other tests say what cannot be run */
    return NULL;
}

static size_t every(size_t n) { return getenv("TC_TEST_ALL") ? 1 : n; }

static void test_interpreted(void **state) {
    (void)state;
    int runs = 0, used = 0;
    for (size_t i = 0; i < cases.len; i += every(7)) {
        tc_exec *e = planned(&cases.data[i], NULL);
        if (!e) continue;
        int n = at_all_sizes(&cases.data[i], e, e);
        runs += n, used += n > 1;
        tc_exec_destroy(e);
    }
    print_message("%zu cases, %d of them at several sizes, %d runs\n", cases.len, used, runs);
    assert_true(used > 50);
}

static void test_compiled(void **state) {
    (void)state;
    tc_unit *u = tc_unit_create(&(tc_unit_options){.isa = tc_isa_name(best_row())});
    tc_emit_count count = {0};
    const size_t step = every(31);
    for (size_t i = 0; i < cases.len; i += step) {
        tc_exec *e = planned(&cases.data[i], NULL);
        if (!e) continue;
        assert_null(tc_exec_emit(e, u, NULL, NULL, &count));
        tc_exec_destroy(e);
    }
    tc_modules *m = load_unit(u, "gcc", best_row());
    tc_exec_code find = {tc_modules_find, m};
    int used = 0;
    for (size_t i = 0; i < cases.len; i += step) {
        tc_exec *plain = planned(&cases.data[i], NULL), *e = planned(&cases.data[i], &find);
        if (plain && e) used += at_all_sizes(&cases.data[i], plain, e) > 1;
        tc_exec_destroy(plain);
        tc_exec_destroy(e);
    }
    print_message("%d cases at several sizes, %zu loops, %zu interpreted\n", used, count.loops, count.left);
    assert_true(used > 15);
    tc_modules_destroy(m);
    tc_unit_destroy(u);
}

static int setup(void **state) {
    (void)state;
    if (!scratch_home("tc-guard")) return -1;
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        const char *call;
        size_t len;
        for (int k = 0; op->samples && (op->lower || op->kernel) && (call = tc_sample_call(op->samples, k, &len)); k++) add_cases(op, call, len);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (size_t i = 0; i < cases.len; i++) {
        tc_program_release(cases.data[i].sample.program);
        free(cases.data[i].label);
    }
    tc_vec_free(&cases);
    tc_status_free(tc_remove_tree(getenv("XDG_CACHE_HOME")));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interpreted), cmocka_unit_test(test_compiled)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
