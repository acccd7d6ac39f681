/* Emitted groups against a straightforward evaluation of the same loops: same bits, constant and symbolic sizes, every split into items,
 * each compiler and instruction set that this machine has. */
#include "codegen/cc.h"
#include "codegen/emit.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/pool.h"
#include "loops.h"
#include "scratch.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

enum { MAX_CASES = 64 };

static void one_by_one(void *pool, int64_t count, int64_t grain, tc_abi_range_fn fn, void *ctx) {
    (void)pool, (void)grain;
    for (int64_t i = count; i-- > 0;) fn(ctx, i, i + 1, (int)(i % 3));
}

static void check(const tc_abi_group *g, const tc_loop *l, const tc_group_desc *d, int which, const char *where, bool split) {
    const char *name = cases[which].name;
    const nbuffer *want = answer(which, l);
    nbuffer got[8];
    make_data(l, got, false);
    tc_abi_buffer ab[8];
    int64_t extents[64];
    tc_abi_number numbers[16];
    tc_abi_fault fault = {0};
    for (size_t i = 0; i < l->buffers.len; i++) ab[i] = (tc_abi_buffer){got[i].data, got[i].size, got[i].stride};
    for (int i = 0; i < l->naxes; i++) extents[i] = naive_sym(l->axes[i].extent);
    for (int i = 0; i < d->nnumbers; i++) numbers[i].i = naive_sym(d->numbers[i]);
    tc_abi_call c = {.bytes = sizeof c,
                     .workers = 3,
                     .buffers = ab,
                     .extents = extents,
                     .numbers = numbers,
                     .parallel_for = split ? one_by_one : NULL,
                     .fault = &fault};
    int64_t bytes = g->scratch ? g->scratch(&c) : 0;
    char *scratch = malloc((size_t)bytes + 64);
    memset(scratch, 0x5a, (size_t)bytes + 64);
    c.scratch = (void *)(((uintptr_t)scratch + 63) / 64 * 64);
    g->run(&c);
    assert_int_equal(fault.set, 0);
    for (size_t i = 0; i < l->buffers.len; i++) {
        int64_t count = 1;
        tc_dtype dt = l->buffers.data[i].dtype;
        for (int k = 0; k < l->buffers.data[i].rank; k++) count *= want[i].size[k];
        for (int64_t k = 0; k < count; k++) {
            size_t sz = tc_dtype_size(dt);
            double a = tc_scalar_to_double(tc_scalar_load(dt, want[i].data, k)), b = tc_scalar_to_double(tc_scalar_load(dt, got[i].data, k));
            if (memcmp((char *)want[i].data + (size_t)k * sz, (char *)got[i].data + (size_t)k * sz, sz) && !(isnan(a) && isnan(b)))
                fail_msg("%s (%s%s): buffer %zu element %lld: expected %.9g (%a), found %.9g (%a)", name, where, split ? ", split" : "", i,
                         (long long)k, a, a, b, b);
        }
    }
    free(scratch);
    free_data(l, got);
}

/* symbolic: with sizes that are symbols, and -O1, which takes half the time of -O3. */
static void run_all(const char *cc, const char *isa, bool symbolic) {
    tc_program *p = tc_program_create("test");
    tc_unit *u = tc_unit_create(&(tc_unit_options){.isa = isa, .made_by = "test"});
    tc_group_desc desc[NCASES];
    tc_loop *loops[NCASES];
    memset(naive_vars, 0, sizeof naive_vars);
    for (int i = 0; i < NCASES; i++) {
        maker m = {.p = tc_program_create("case"), .symbolic = symbolic, .name = cases[i].name};
        loops[i] = m.l = tc_loop_create(m.p);
        cases[i].make(&m, cases[i].n);
        tc_status st = tc_loop_verify(m.l);
        if (st) fail_msg("%s: %s", cases[i].name, tc_status_message(st));
        st = tc_group_describe(m.l, &p->arena, &desc[i]);
        if (!st) st = tc_unit_add(u, m.l, &desc[i]);
        if (st) fail_msg("%s: %s", cases[i].name, tc_status_message(st));
    }
    assert_int_equal(tc_unit_groups(u) < NCASES, symbolic); /* with symbols the cases of one loop are one group */
    tc_buf text = {0}, so = {0};
    tc_unit_finish(u, &text);
    const char *dump = getenv("TC_TEST_DUMP"), *flags = symbolic ? "-Wall -Wextra -Werror -O1" : "-Wall -Wextra -Werror";
    tc_status st = tc_cc_build(text.data, text.len, TC_CC_SHARED, &(tc_cc_options){.cc = cc, .cflags = flags, .isa = isa, .dump = dump}, &so);
    if (st) fail_msg("%s\n%s", tc_status_message(st), tc_status_detail(st));
    char path[256];
    int fd = scratch_file(path, sizeof path, "tc-emit");
    assert_int_equal(write(fd, so.data, so.len), (long)so.len);
    close(fd);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (!h) fail_msg("%s", dlerror());
    const tc_abi_module *mod = dlsym(h, TC_ABI_SYMBOL);
    assert_non_null(mod);
    for (int i = 0; i < NCASES; i++) {
        const tc_abi_group *g = NULL;
        for (uint32_t k = 0; k < mod->ngroups; k++)
            if (!memcmp(mod->groups[k].key, desc[i].key, TC_ABI_KEY_BYTES)) g = &mod->groups[k];
        assert_non_null(g);
        memset(naive_vars, 0, sizeof naive_vars);
        maker m = {.p = tc_program_create("again"), .symbolic = symbolic};
        m.l = tc_loop_create(m.p);
        cases[i].make(&m, cases[i].n); /* sets the symbols' values */
        tc_group_desc again;
        assert_null(tc_group_describe(m.l, &p->arena, &again));
        assert_memory_equal(again.key, desc[i].key, TC_ABI_KEY_BYTES);
        char where[64];
        snprintf(where, sizeof where, "%s %s%s", cc, isa, symbolic ? " symbolic" : "");
        check(g, m.l, &again, i, where, false);
        check(g, m.l, &again, i, where, true);
        tc_loop_free(m.l);
        tc_program_release(m.p);
    }
    tc_unit_destroy(u);
    tc_buf_free(&text);
    tc_buf_free(&so);
    tc_program_release(p);
    (void)loops;
}

static void test_bits(void **state) {
    (void)state;
    static const char *const compilers[] = {"gcc", "clang"};
    for (int c = 0; c < 2; c++) {
        char found[64];
        snprintf(found, sizeof found, "command -v %s >/dev/null", compilers[c]);
        if (system(found)) continue;
        for (int row = 0; row < TC_ROW_COUNT; row++) {
            if (!tc_isa_supported((tc_isa_row)row)) continue;
            bool last = row == TC_ROW_COUNT - 1 || !tc_isa_supported((tc_isa_row)(row + 1));
            if (c == 1 && !last) continue;
            run_all(compilers[c], tc_isa_name((tc_isa_row)row), c == 0 && !last);
        }
    }
}

static void test_comment(void **state) {
    (void)state;
    tc_buf b = {0};
    tc_buf_puts(&b, "x");
    tc_emit_comment(&b, "a*/ #\n\\\xc3 ?\?/");
    assert_null(strstr(b.data + 1, "*/"));
    assert_null(strstr(b.data, "\n"));
    assert_null(strstr(b.data, "?\?/"));
    tc_buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comment), cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
