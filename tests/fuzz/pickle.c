/* The pickle machine on any bytes; what it made is printed. */
#include "fuzz.h"

#include "file/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    tc_pickle p;
    size_t used;
    tc_status st = tc_pickle_read(&p, (tc_place){.file = "fuzz"}, data, n, &used);
    if (!st) {
        tc_buf b = {0};
        if (used > n) __builtin_trap();
        tc_pk_print(&b, p.root, 4096);
        tc_buf_free(&b);
        tc_pickle_free(&p);
    }
    tc_status_free(st);
    return 0;
}
