/* The hand-written specimen of each version of the compiled-code interface builds, loads and computes. */
#include "codegen/tc_abi.h"
#include "scratch.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Runs the items backwards and one by one: results may not depend on the split. */
static void backwards(void *pool, int64_t count, int64_t grain, tc_abi_range_fn fn, void *ctx) {
    (void)grain;
    for (int64_t i = count; i-- > 0;) fn(ctx, i, i + 1, 0);
    ++*(int *)pool;
}

static void test_specimen_1(void **state) {
    (void)state;
    char so[256], command[1024];
    int fd = scratch_file(so, sizeof so, "tc-abi1");
    assert_true(fd >= 0);
    close(fd);
    const char *cc = getenv("CC");
    snprintf(command, sizeof command, "%s -O2 -shared -fPIC -Wall -Wextra -Werror -Ilib/codegen tests/specimen/abi1.c -o %s", cc && *cc ? cc : "cc",
             so);
    assert_int_equal(system(command), 0);
    void *handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    unlink(so);
    const tc_abi_module *m = dlsym(handle, TC_ABI_SYMBOL);
    assert_non_null(m);
    assert_int_equal(m->version, TC_ABI_VERSION);
    assert_int_equal(m->ngroups, 1);
    const tc_abi_group *g = &m->groups[0];
    assert_string_equal(g->name, "g0_relu");
    assert_null(g->scratch);

    /* x is the transpose of a 2x3 array */
    float x[6] = {-1, 2, -3, 4, -5, 6}, y[6], z[6];
    const float expected[6] = {0.5f, 4.5f, 2.5f, 0.5f, 0.5f, 6.5f};
    int64_t size[2] = {3, 2}, xstride[2] = {1, 3}, ystride[2] = {2, 1}, extents[2] = {3, 2};
    tc_abi_number numbers[1] = {{.f = 0.5}};
    tc_abi_buffer buffers[2] = {{x, size, xstride}, {y, size, ystride}};
    tc_abi_call call = {.bytes = sizeof call, .workers = 1, .buffers = buffers, .extents = extents, .numbers = numbers};
    g->run(&call);
    assert_memory_equal(y, expected, sizeof y);
    int calls = 0;
    buffers[1].data = z;
    call.parallel_for = backwards;
    call.pool = &calls;
    g->run(&call);
    assert_int_equal(calls, 1);
    assert_memory_equal(z, expected, sizeof z);
    dlclose(handle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_specimen_1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
