/* Images of all kinds on any bytes. */
#include "fuzz.h"

#include "kernel/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    tc_tensor t;
    int mode = n ? data[n - 1] % 5 : 0;
    tc_status st = tc_image_decode("fuzz", data, n, (tc_image_mode)mode, &t);
    if (!st && mode && t.size[2] != mode) __builtin_trap();
    if (!st) tc_tensor_deinit(&t);
    tc_status_free(st);
    return 0;
}
