/* What tests of compiled programs share: the best instruction set of this machine, and a unit of C compiled and loaded. Included after cmocka. */
#ifndef TESTS_CODEGEN_MODULE_H
#define TESTS_CODEGEN_MODULE_H

#include "base/cpu.h"
#include "codegen/cc.h"
#include "runtime/compile.h"

static inline tc_isa_row best_row(void) {
    tc_isa_row best = TC_ROW_portable;
    for (int row = 0; row < TC_ROW_COUNT; row++)
        if (tc_isa_supported((tc_isa_row)row)) best = (tc_isa_row)row;
    return best;
}

/* The caller destroys the modules. TC_TEST_DUMP: a folder for the text. */
static inline tc_modules *load_unit(tc_unit *u, const char *cc, tc_isa_row row) {
    tc_buf text = {0}, code = {0};
    const char *note;
    tc_unit_finish(u, &text);
    const tc_cc_options o = {.cc = cc, .isa = tc_isa_name(row), .cflags = "", .dump = getenv("TC_TEST_DUMP")};
    tc_status s = tc_cc_build(text.data, text.len, TC_CC_SHARED, &o, &code);
    if (s) fail_msg("%s\n%s", tc_status_message(s), tc_status_detail(s));
    tc_modules *m = tc_modules_create();
    s = tc_modules_load(m, &(tc_native_code){code.data, code.len, tc_isa_name(row), ""}, true, &note);
    if (s || note) fail_msg("%s", s ? tc_status_message(s) : note);
    tc_buf_free(&text);
    tc_buf_free(&code);
    return m;
}

#endif
