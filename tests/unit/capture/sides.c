/* The search for sizes that take the other side of a branch: what is found breaks that guard, keeps those before it, and lies in the range. */
#include "capture/sides.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void ok(tc_status s) {
    if (s) fail_msg("%s", tc_status_message(s));
}

typedef struct {
    const char *guards[4];
    size_t at;            /* the branch to be broken */
    tc_side_size size[2]; /* H and W */
    int64_t want[2];      /* -1: any */
    bool found;
} find;

static const find table[] = {
    {{"H != 1"}, 0, {{48, 0, TC_SYM_NO_HI, true}, {8, 0, TC_SYM_NO_HI, true}}, {1, 8}, true},
    {{"H//16 != 14"}, 0, {{48, 0, TC_SYM_NO_HI, true}, {8, 0, TC_SYM_NO_HI, true}}, {224, 8}, true},
    {{"H*W != 196"}, 0, {{48, 0, TC_SYM_NO_HI, true}, {8, 0, TC_SYM_NO_HI, true}}, {-1, -1}, true},
    {{"H % 4 == 0", "H <= 40"}, 1, {{16, 0, TC_SYM_NO_HI, true}, {8, 0, TC_SYM_NO_HI, true}}, {48, 8}, true},
    {{"H <= 40", "H % 16 == 0", "W >= 3"}, 0, {{16, 0, 4096, true}, {8, 0, TC_SYM_NO_HI, true}}, {48, 8}, true}, /* later guards hold, too */
    {{"H <= 40"}, 0, {{16, 0, 40, true}, {8, 0, TC_SYM_NO_HI, true}}, {-1, -1}, false},
    {{"H <= 40"}, 0, {{16, 0, TC_SYM_NO_HI, false}, {8, 0, TC_SYM_NO_HI, true}}, {-1, -1}, false}, /* not declared */
};

static void searches(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const find *f = &table[i];
        tc_program *p = tc_program_create("t");
        tc_side_size out[2];
        tc_symvalue vars[2];
        tc_sym_var(p->sym, "H", TC_SYM_INT, 0, TC_SYM_NO_HI);
        tc_sym_var(p->sym, "W", TC_SYM_INT, 0, TC_SYM_NO_HI);
        tc_sym cond[4];
        size_t n = 0;
        for (; n < 4 && f->guards[n]; n++) {
            ok(tc_sym_parse(p->sym, f->guards[n], strlen(f->guards[n]), &cond[n]));
            tc_program_guard(p, (tc_guard){.cond = cond[n], .branch = true});
        }
        assert_int_equal(p->guards.len, n);
        assert_int_equal(tc_side_find(p, f->at, f->size, 2, out), f->found);
        for (int k = 0; k < 2 && f->found; k++) {
            if (f->want[k] >= 0) assert_int_equal(out[k].value, f->want[k]);
            assert_true(out[k].value >= f->size[k].lo && out[k].value <= f->size[k].hi);
            vars[k] = (tc_symvalue){.i = out[k].value, .bound = true};
        }
        for (size_t g = 0; g <= f->at && f->found; g++) {
            tc_symvalue v;
            ok(tc_sym_eval(cond[g], vars, 2, &v));
            assert_int_equal(v.i, g < f->at);
        }
        tc_program_release(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(searches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
