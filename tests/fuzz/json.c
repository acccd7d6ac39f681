/* The JSON reader on any text: whole values, and every typed reading at every value. */
#include "fuzz.h"

#include "base/json.h"

static void walk(tc_jread *j) {
    int64_t i;
    double d;
    tc_str key;
    switch (tc_jr_peek(j)) {
    case TC_JR_OBJECT:
        tc_jr_object(j);
        while (tc_jr_member(j, &key)) walk(j);
        break;
    case TC_JR_ARRAY:
        tc_jr_array(j);
        while (tc_jr_item(j)) walk(j);
        break;
    case TC_JR_STRING: tc_jr_string(j); break;
    case TC_JR_NUMBER: tc_jr_number(j, &i, &d); break;
    case TC_JR_BOOL: tc_jr_bool(j); break;
    default: tc_jr_skip(j);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    tc_jread j;
    tc_jr_init(&j, "fuzz", (const char *)data, n);
    walk(&j);
    tc_status a = tc_jr_finish(&j);
    tc_jr_init(&j, "fuzz", (const char *)data, n);
    tc_jr_skip(&j);
    tc_status b = tc_jr_finish(&j);
    if (!a != !b) __builtin_trap(); /* two ways of reading must agree on what is JSON */
    tc_jr_init(&j, "fuzz", (const char *)data, n);
    tc_jr_skip_unread(&j);
    tc_status u = tc_jr_finish(&j);
    if (!a && u) __builtin_trap(); /* what is JSON is passed over to its end */
    tc_status_free(a);
    tc_status_free(b);
    tc_status_free(u);
    return 0;
}
