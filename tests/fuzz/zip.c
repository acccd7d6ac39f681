/* The ZIP reader, and the archive around programs, on any bytes. */
#include "fuzz.h"

#include "file/pt2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    tc_blob b = borrowed(data, n);
    tc_zip *z;
    tc_archive *a;
    tc_status st = tc_zip_open(&b, &z);
    if (!st) {
        for (size_t i = 0; i < z->n; i++) tc_status_free(tc_zip_check(z, &z->entries[i]));
        tc_zip_close(z);
    }
    tc_status_free(st);
    st = tc_archive_open(&b, &a);
    if (!st) {
        for (size_t i = 0; i < tc_archive_count(a); i++) {
            tc_program *p;
            tc_status s = tc_archive_program(a, tc_archive_name(a, i), &p);
            if (!s) tc_program_release(p);
            tc_status_free(s);
        }
        tc_archive_close(a);
    }
    tc_status_free(st);
    return 0;
}
