/* The wire reader and the ONNX reader: lengths are checked, nesting is bounded, tensors have all their forms, external data stay inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "file/onnx.h"
#include "file/protobuf.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_failure(const void *data, size_t n, const char *text) {
    tc_pb m = tc_pb_open("bytes", data, n);
    while (tc_pb_next(&m)) {}
    assert_non_null(m.status);
    assert_int_equal(tc_status_code(m.status), TC_CONTENT);
    assert_non_null(strstr(tc_status_message(m.status), text));
    tc_status_free(m.status);
}

static void test_wire_types(void **state) {
    (void)state;
    static const unsigned char data[] = {0x08, 0x96, 0x01, 0x15, 0, 0, 0x80, 0x3f, 0x1a, 2, 'h', 'i', 0x22, 3, 1, 2, 0x96};
    tc_pb m = tc_pb_open("bytes", data, sizeof data);
    const char *s;
    size_t n;
    assert_true(tc_pb_next(&m));
    assert_int_equal(tc_pb_int(&m), 150);
    assert_true(tc_pb_next(&m));
    assert_true(tc_pb_float(&m) == 1.0f);
    assert_true(tc_pb_next(&m));
    assert_true(tc_pb_bytes(&m, &s, &n) && n == 2 && !memcmp(s, "hi", 2));
    assert_true(tc_pb_next(&m)); /* packed varints, the last one cut short */
    assert_int_equal(tc_pb_count(&m, 0), 0);
    assert_non_null(m.status);
    tc_status_free(m.status);
}

static void test_bad_wire(void **state) {
    (void)state;
    expect_failure("\x0a\x05"
                   "ab",
                   4, "beyond the end");
    expect_failure("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, "beyond the end");
    expect_failure("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, "longer than 64 bits");
    expect_failure("\x08\xff", 2, "cut short");
    expect_failure("\x0b\x0c", 2, "group");
    expect_failure("\x00\x01", 2, "field number");
}

/* A record that is no message gives one failure, which its reader hands on. */
static void test_no_message(void **state) {
    (void)state;
    tc_pb m = tc_pb_open("bytes", "\x78\x01", 2);
    assert_true(tc_pb_next(&m));
    tc_pb s = tc_pb_message(&m);
    assert_false(tc_pb_next(&s));
    tc_pb_fail(&s, TC_CONTENT, "another");
    tc_pb_close(&m, &s);
    assert_non_null(strstr(tc_status_message(m.status), "wire type 0"));
    tc_status_free(m.status);
}

/* ---- models made by hand ---- */
static void put_len(tc_buf *b, int field, const tc_buf *sub) {
    tc_buf_putc(b, (char)(field << 3 | 2));
    for (size_t n = sub->len;; n >>= 7) {
        tc_buf_putc(b, (char)((n & 0x7f) | (n > 0x7f ? 0x80 : 0)));
        if (n <= 0x7f) break;
    }
    tc_buf_append(b, sub->data, sub->len);
}

static void put_text(tc_buf *b, int field, const char *text) {
    tc_buf sub = {0};
    tc_buf_puts(&sub, text);
    put_len(b, field, &sub);
    tc_buf_free(&sub);
}

static void put_int(tc_buf *b, int field, int v) {
    tc_buf_putc(b, (char)(field << 3));
    tc_buf_putc(b, (char)v);
}

/* A model whose graph holds this record. */
static tc_status read_graph(int field, const tc_buf *record, const char *name, tc_onnx_model **out) {
    tc_buf graph = {0}, model = {0};
    put_len(&graph, field, record);
    put_int(&model, 1, 8);
    put_len(&model, 7, &graph);
    tc_blob *b = tc_xcalloc(1, sizeof *b); /* lives on: the model holds it */
    *b = (tc_blob){.data = (unsigned char *)model.data, .len = model.len, .name = (char *)(uintptr_t)name, .refs = 100, .mapped = true};
    tc_status st = tc_onnx_read(b, out);
    if (!st && *out) assert_int_equal((*out)->ir_version, 8);
    tc_buf_free(&graph);
    return st;
}

static tc_status read_tensor(const tc_buf *tensor, tc_onnx_model **out) { return read_graph(5, tensor, "made", out); }

static void test_small_elements(void **state) {
    (void)state;
    tc_buf t = {0};
    tc_onnx_model *m;
    put_int(&t, 1, 3);
    put_int(&t, 2, TC_ONNX_INT4);
    put_text(&t, 8, "w");
    put_text(&t, 9, "\x9f\x02"); /* -1, -7, 2 */
    assert_null(read_tensor(&t, &m));
    const signed char *p = tc_tensor_data(&m->graph.inits.data[0].data);
    assert_int_equal(p[0], -1);
    assert_int_equal(p[1], -7);
    assert_int_equal(p[2], 2);
    tc_onnx_free(m);
    tc_buf_free(&t);
}

static void refused(tc_buf *t, const char *text) {
    tc_onnx_model *m;
    tc_status st = read_tensor(t, &m);
    assert_non_null(st);
    assert_non_null(strstr(tc_status_message(st), text));
    tc_status_free(st);
    tc_buf_free(t);
}

static void test_bad_tensors(void **state) {
    (void)state;
    tc_buf t = {0};
    put_int(&t, 1, 3);
    put_int(&t, 2, TC_ONNX_FLOAT);
    put_text(&t, 9, "12345678");
    refused(&t, "8 bytes of data, expected 12");
    put_int(&t, 2, 99);
    refused(&t, "element type 99");
    for (int i = 0; i < 10; i++) tc_buf_append(&t, "\x08\xff\x7f", 3); /* sizes of 16383 */
    put_int(&t, 2, TC_ONNX_FLOAT);
    refused(&t, "more than 2^63");
}

static void external(const char *location, const char *text) {
    tc_buf t = {0}, e = {0};
    tc_onnx_model *m = NULL;
    put_int(&t, 1, 1);
    put_int(&t, 2, TC_ONNX_FLOAT);
    put_text(&e, 1, "location");
    put_text(&e, 2, location);
    put_len(&t, 13, &e);
    put_int(&t, 14, 1);
    tc_status st = read_graph(5, &t, "folder/model.onnx", &m);
    if (text) {
        assert_non_null(st);
        assert_int_equal(tc_status_code(st), TC_CONTENT);
        if (!strstr(tc_status_message(st), text)) fail_msg("%s: %s", location, tc_status_message(st));
    } else {
        assert_null(st);
        assert_true(*(float *)tc_tensor_data(&m->graph.inits.data[0].data) == 1.0f);
    }
    tc_status_free(st);
    if (!st) tc_onnx_free(m);
    tc_buf_free(&t);
    tc_buf_free(&e);
}

static void test_external_data_stay_inside(void **state) {
    (void)state;
    char dir[256];
    float one = 1;
    assert_true(scratch_folder(dir, sizeof dir, "tc-onnx"));
    assert_int_equal(chdir(dir), 0);
    mkdir("folder", 0700);
    mkdir("folder/sub", 0700);
    assert_null(tc_file_write("outside.bin", &one, sizeof one));
    assert_null(tc_file_write("folder/sub/w.bin", &one, sizeof one));
    assert_null(tc_file_write("folder/hard.bin", &one, sizeof one));
    assert_null(tc_file_write("folder/short.bin", "ab", 2));
    assert_int_equal(link("folder/hard.bin", "hard.bin"), 0);
    assert_int_equal(symlink("../outside.bin", "folder/link.bin"), 0);
    assert_int_equal(symlink("sub", "folder/linked"), 0);
    external("sub/w.bin", NULL);
    external("../outside.bin", "leaves the model's folder");
    external("sub/../../outside.bin", "leaves the model's folder");
    external("/etc/passwd", "inside the model's folder");
    external("link.bin", "is a link");
    external("linked/w.bin", "is a link");
    external("hard.bin", "has 2 names");
    external("sub", "not a regular file");
    external("none.bin", "No such file");
    external("short.bin", "2 bytes of data, expected 4");
    assert_int_equal(chdir("/"), 0);
    assert_null(tc_remove_tree(dir));
}

static void test_nesting_is_bounded(void **state) {
    (void)state;
    tc_buf inner = {0};
    tc_onnx_model *m;
    for (int i = 0; i < 200; i++) { /* node with an attribute that is a graph with a node ... */
        tc_buf graph = {0}, attr = {0}, node = {0};
        put_len(&graph, 1, &inner);
        put_len(&attr, 6, &graph);
        put_len(&node, 5, &attr);
        tc_buf_free(&attr);
        tc_buf_free(&graph);
        tc_buf_free(&inner);
        inner = node;
    }
    tc_status st = read_graph(1, &inner, "made", &m);
    assert_non_null(st);
    assert_non_null(strstr(tc_status_message(st), "nest more than"));
    tc_status_free(st);
    tc_buf_free(&inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_types),         cmocka_unit_test(test_bad_wire),    cmocka_unit_test(test_no_message),
        cmocka_unit_test(test_small_elements),     cmocka_unit_test(test_bad_tensors), cmocka_unit_test(test_external_data_stay_inside),
        cmocka_unit_test(test_nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
