/* ZIP archives: what is written is read back, aligned and checked; PT2 archives are written with equal bytes twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "file/pt2.h"
#include "op/functionalise.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[256];

static tc_zip *reopen(void) {
    tc_blob *b;
    tc_zip *z;
    assert_null(tc_blob_open(path, &b));
    assert_null(tc_zip_open(b, &z));
    tc_blob_release(b);
    return z;
}

static void test_entries_come_back_aligned(void **state) {
    (void)state;
    tc_out *o;
    char name[32], data[300];
    assert_null(tc_out_open(path, &o));
    tc_zip_writer *w = tc_zip_writer_create(o, true);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "root/entry-%d", i * i);
        memset(data, i, sizeof data);
        assert_null(tc_zip_add(w, name, data, (size_t)i));
    }
    assert_null(tc_out_finish(o, tc_zip_writer_finish(w, NULL)));
    tc_zip *z = reopen();
    assert_int_equal(z->n, 300);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "root/entry-%d", i * i);
        const tc_zip_entry *e = tc_zip_find(z, name);
        assert_non_null(e);
        assert_int_equal(e->len, i);
        assert_int_equal(e->offset % 64, 0);
        assert_null(tc_zip_check(z, e));
        for (int k = 0; k < i; k++) assert_int_equal(e->data[k], (unsigned char)i);
    }
    assert_null(tc_zip_find(z, "root/entry-2"));
    tc_zip_close(z);
}

static tc_program *mlp(void) {
    const char *root = getenv("TC_ROOT");
    char file[512];
    tc_blob *b;
    tc_archive *a;
    tc_program *p;
    snprintf(file, sizeof file, "%s/tests/oracle/pt2/mlp.pt2", root ? root : ".");
    assert_null(tc_blob_open(file, &b));
    assert_null(tc_archive_open(b, &a));
    tc_blob_release(b);
    assert_null(tc_archive_program(a, NULL, &p));
    tc_archive_close(a);
    assert_null(tc_functionalise(p));
    return p;
}

static void write_programs(const tc_program *const *p, int n, tc_buf *out) {
    tc_out *o;
    assert_null(tc_out_open(path, &o));
    assert_null(tc_out_finish(o, tc_archive_write(o, &(tc_archive_content){.programs = p, .nprograms = n})));
    out->len = 0;
    assert_null(tc_file_read(path, 1 << 24, out));
}

static void test_equal_programs_give_equal_bytes(void **state) {
    (void)state;
    const tc_program *p = mlp();
    tc_buf a = {0}, b = {0};
    write_programs(&p, 1, &a);
    write_programs(&p, 1, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    tc_buf_free(&a);
    tc_buf_free(&b);
    tc_program_release((tc_program *)(uintptr_t)p);
}

static void test_programs_share_their_weights(void **state) {
    (void)state;
    tc_program *eval = mlp(), *train = tc_program_clone(eval);
    const tc_program *both[2] = {eval, train};
    tc_buf text = {0};
    train->name = "train";
    write_programs(both, 2, &text);
    tc_zip *z = reopen();
    assert_non_null(tc_zip_find(z, "archive/data/weights/weight_5"));
    assert_null(tc_zip_find(z, "archive/data/weights/weight_6")); /* six tensors, written once */
    assert_non_null(tc_zip_find(z, "archive/models/train.json"));
    tc_zip_close(z);
    tc_buf_free(&text);
    tc_program_release(eval);
    tc_program_release(train);
}

/* ---- archives that claim what is not there ---- */
static void number(tc_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) tc_buf_putc(b, (char)(v >> 8 * i));
}
/* What the local header and the directory say alike of a stored entry with a name of one letter. */
static void header(tc_buf *b, uint32_t packed, uint32_t size) {
    number(b, 20, 2), number(b, 0, 8), number(b, 0, 4); /* version; flags, method, time; checksum */
    number(b, packed, 4), number(b, size, 4);
    number(b, 1, 2), number(b, 0, 2);
}
static void local(tc_buf *b, char name, uint32_t packed, uint32_t size) { tc_buf_puts(b, "PK\3\4"), header(b, packed, size), tc_buf_putc(b, name); }
static void listed(tc_buf *b, char name, uint32_t packed, uint32_t size, uint32_t at) {
    tc_buf_puts(b, "PK\1\2"), number(b, 20, 2), header(b, packed, size);
    number(b, 0, 6), number(b, 0, 4), number(b, at, 4), tc_buf_putc(b, name);
}
/* Two stored entries: a of `packed` bytes at 0, which hold the local header of b and `size` bytes; or b after it. */
static void test_claims_are_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t packed, size;
        bool inside; /* b stands in the data of a */
        const char *why;
    } cases[] = {{4, 4, false, NULL},
                 {64, 64, true, "a and b overlap"},
                 {4096, 4096, false, "a: 4096 bytes reach beyond the data"},
                 {4, 5, false, "a: stored, but 4 bytes become 5"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tc_buf b = {0};
        local(&b, 'a', cases[k].packed, cases[k].size);
        if (!cases[k].inside) number(&b, 0, 4);
        const uint32_t at = (uint32_t)b.len;
        local(&b, 'b', 4, 4);
        number(&b, 0, 4);
        while (b.len < 128) tc_buf_putc(&b, 0);
        const uint32_t directory = (uint32_t)b.len;
        listed(&b, 'a', cases[k].packed, cases[k].size, 0);
        listed(&b, 'b', 4, 4, at);
        const uint32_t length = (uint32_t)b.len - directory;
        tc_buf_puts(&b, "PK\5\6"), number(&b, 0, 4), number(&b, 2, 2), number(&b, 2, 2), number(&b, length, 4), number(&b, directory, 4);
        number(&b, 0, 2);
        tc_out *o;
        assert_null(tc_out_open(path, &o));
        assert_null(tc_out_write(o, b.data, b.len));
        assert_null(tc_out_finish(o, NULL));
        tc_blob *blob;
        tc_zip *z;
        assert_null(tc_blob_open(path, &blob));
        tc_status st = tc_zip_open(blob, &z);
        tc_blob_release(blob);
        tc_buf_free(&b);
        if (!st) tc_zip_close(z);
        if (!cases[k].why) {
            assert_null(st);
            continue;
        }
        assert_int_equal(tc_status_code(st), TC_CONTENT);
        if (!strstr(tc_status_message(st), cases[k].why)) fail_msg("%s", tc_status_message(st));
        tc_status_free(st);
    }
}

int main(void) {
    int fd = scratch_file(path, sizeof path, "unit-zip");
    if (fd < 0) return 1;
    close(fd);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_entries_come_back_aligned), cmocka_unit_test(test_equal_programs_give_equal_bytes),
                                       cmocka_unit_test(test_programs_share_their_weights), cmocka_unit_test(test_claims_are_refused)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
