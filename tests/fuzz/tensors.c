/* safetensors and .npy on any bytes, as mapped files; what was read is printed and compared with itself. */
#include "fuzz.h"

#include "file/npy.h"
#include "file/safetensors.h"

static void use(const tc_tensor *t) {
    tc_buf b = {0};
    tc_diff d;
    if (tc_tensor_numel(t) > 1 << 16) return;
    tc_tensor_print(&b, t);
    tc_buf_free(&b);
    tc_status st = tc_tensor_compare(t, t, 0, 0, &d);
    if (st || d.count) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    tc_blob b = borrowed(data, n);
    tc_tensors t = {0};
    tc_source_bytes s;
    tc_tensor one;
    tc_status st = tc_tensors_load_blob(&b, &t);
    for (size_t i = 0; !st && i < t.items.len; i++) use(&t.items.data[i].tensor);
    tc_status_free(st);
    tc_tensors_deinit(&t);
    tc_source_from_blob(&s, &b); /* the readers themselves, whatever the first bytes say */
    st = tc_npy_read(&s, &one);
    if (!st) {
        use(&one);
        tc_tensor_deinit(&one);
    }
    tc_status_free(st);
    tc_source_close(&s);
    tc_source_from_blob(&s, &b);
    tc_status_free(tc_safetensors_read(&s, &t));
    tc_tensors_deinit(&t);
    tc_source_close(&s);
    return 0;
}
