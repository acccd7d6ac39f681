/* Files of torch.save: any bytes as data.pkl of an archive with two storages, as a legacy file, as a tar, as a whole archive (of NumPy too). What was
 * read is used: every element is looked at. */
#include "fuzz.h"

#include "file/torch.h"

static unsigned char sum;

static void use(const tc_tensors *t) {
    for (size_t i = 0; i < t->items.len; i++) {
        tc_tensor c;
        if (tc_tensor_numel(&t->items.data[i].tensor) > 1 << 16) continue;
        tc_status st = tc_tensor_clone(&t->items.data[i].tensor, &c);
        if (st) __builtin_trap();
        for (size_t k = 0; k < tc_tensor_bytes(&c); k++) sum ^= ((unsigned char *)tc_tensor_data(&c))[k];
        tc_tensor_deinit(&c);
    }
}

static void whole(const void *data, size_t n, bool raw) {
    tc_blob b = borrowed(data, n);
    tc_tensors t = {.raw = raw, .check_all = raw};
    tc_status st = tc_tensors_load_blob(&b, &t);
    if (!st && !raw) use(&t);
    tc_status_free(st);
    tc_tensors_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char zeros[256];
    tc_buf zip = {0};
    const member members[] = {
        {"a/data.pkl", data, n}, {"a/byteorder", "big", 3}, {"a/data/0", zeros, 256}, {"a/data/1", zeros, 64}, {"a/version", "3\n", 2}};
    make_zip(&zip, members, 5);
    whole(zip.data, zip.len, false);
    tc_buf_free(&zip);
    make_zip(&zip, (member[]){members[0], members[2], members[3]}, 3);
    whole(zip.data, zip.len, false);
    tc_buf_free(&zip);
    tc_blob b = borrowed(data, n);
    tc_tensors t = {0};
    tc_status st = tc_saved_read_legacy(&b, &t);
    if (!st) use(&t);
    tc_status_free(st);
    tc_tensors_deinit(&t);
    tc_tensors u = {0};
    st = tc_saved_read_tar(&b, &u);
    if (!st) use(&u);
    tc_status_free(st);
    tc_tensors_deinit(&u);
    whole(data, n, false);
    whole(data, n, true);
    return 0;
}
