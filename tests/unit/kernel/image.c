/* Statements about images: what Pillow makes of the files of tests/oracle/images, channels, damage. */
#include "kernel/image.h"

#include "base/file.h"
#include "file/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static tc_blob *open_image(const char *name) {
    char path[512];
    tc_blob *b;
    const char *root = getenv("TC_ROOT");
    snprintf(path, sizeof path, "%s/tests/oracle/images/%s", root ? root : ".", name);
    tc_status s = tc_blob_open(path, &b);
    if (s) fail_msg("%s", tc_status_message(s));
    return b;
}

static void pixels_are_those_of_pillow(void **state) {
    (void)state;
    tc_tensors want = {0};
    tc_blob *list = open_image("expect.safetensors");
    assert_null(tc_tensors_load_blob(list, &want));
    assert_true(want.items.len > 20);
    for (size_t i = 0; i < want.items.len; i++) {
        const char *name = want.items.data[i].name;
        tc_blob *b = open_image(name);
        tc_tensor t;
        tc_diff d;
        assert_true(tc_image_is(b->data, b->len));
        tc_status s = tc_image_decode(name, b->data, b->len, TC_IMAGE_UNCHANGED, &t);
        if (!s) s = tc_tensor_compare(&t, &want.items.data[i].tensor, 0, 0, &d);
        if (s) fail_msg("%s: %s", name, tc_status_message(s));
        tc_tensor_deinit(&t);
        tc_blob_release(b);
    }
    tc_tensors_deinit(&want);
    tc_blob_release(list);
}

static void channels_are_those_asked_for(void **state) {
    (void)state;
    static const char *const files[] = {"rgb.png", "grey-alpha.png", "rgb.jpg", "grey.bmp"};
    for (size_t f = 0; f < 4; f++)
        for (int mode = TC_IMAGE_GRAY; mode <= TC_IMAGE_RGB_ALPHA; mode++) {
            tc_blob *b = open_image(files[f]);
            tc_tensor t, plain;
            assert_null(tc_image_decode("x", b->data, b->len, (tc_image_mode)mode, &t));
            assert_null(tc_image_decode("x", b->data, b->len, TC_IMAGE_UNCHANGED, &plain));
            const unsigned char *p = tc_tensor_data(&t), *q = tc_tensor_data(&plain);
            assert_int_equal(t.size[2], mode);
            if (mode % 2 == 0) assert_int_equal(p[mode - 1], plain.size[2] % 2 ? 255 : q[plain.size[2] - 1]);
            if (mode > 2)
                for (int k = 0; k < 3; k++) assert_int_equal(p[k], q[plain.size[2] > 2 ? k : 0]);
            tc_tensor_deinit(&t);
            tc_tensor_deinit(&plain);
            tc_blob_release(b);
        }
}

/* Cut anywhere an image is an error (but for the end of a file that its pixels do not need), and no bit that is turned does harm. */
static void damage_is_an_error(void **state) {
    (void)state;
    static const char *const files[] = {"rgb.png",     "palette.png", "rgb.jpg",      "progressive.jpg", "cmyk.jpg", "rgb.ppm",
                                        "palette.bmp", "lzw.tif",     "packbits.tif", "deflate.tif",     "bits.tif", "text.ppm"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        tc_blob *b = open_image(files[f]);
        tc_tensor t;
        for (size_t n = 0; n < b->len; n++) {
            unsigned char *cut = tc_xmalloc(n + 1); /* of this length: a sanitiser sees what is read behind it */
            memcpy(cut, b->data, n);
            tc_status s = tc_image_decode("cut", cut, n, TC_IMAGE_UNCHANGED, &t);
            if (n < b->len / 2 && !s) fail_msg("%s: cut at %zu is an image", files[f], n);
            if (s) assert_int_equal(tc_status_code(s), TC_CONTENT);
            if (!s) tc_tensor_deinit(&t);
            tc_status_free(s);
            free(cut);
        }
        unsigned char *turned = tc_xmalloc(b->len);
        memcpy(turned, b->data, b->len);
        for (size_t i = 0; i < b->len; i++)
            for (int bit = 0; bit < 8; bit += 3) {
                turned[i] ^= (unsigned char)(1 << bit);
                tc_status s = tc_image_decode("turned", turned, b->len, TC_IMAGE_RGB, &t);
                if (!s) tc_tensor_deinit(&t);
                tc_status_free(s);
                turned[i] ^= (unsigned char)(1 << bit);
            }
        free(turned);
        tc_blob_release(b);
    }
}

static void refusals_say_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t n;
        const char *message;
        tc_code code;
        tc_image_mode mode;
    } cases[] = {
        {"hello", 5, "f: 5 bytes that are no image, expected PNG, JPEG, PNM, BMP or TIFF", TC_CONTENT},
        {"GIF89a", 6, "f: GIF images are not read; PNG, JPEG, PNM, BMP and TIFF are", TC_UNSUPPORTED},
        {"P6 100000 100000 255 ", 21, "f: an image of 100000 by 100000 pixels, 3 bytes each; expected at most 192 MiB", TC_CONTENT},
        {"P5 9000 9000 255 ", 17, "f: an image of 9000 by 9000 pixels, 3 bytes each; expected at most 192 MiB", TC_CONTENT, TC_IMAGE_RGB},
        {"P5 9000 9000 255 ", 17, "f: PNM: 17 bytes, expected 81000000 behind the header", TC_CONTENT},
        {"P6 2000000 1 255 ", 17, "f: PNM: at byte 10: expected width, height and the largest sample", TC_CONTENT},
        {"P5 2 2 255\nabc", 14, "f: PNM: 14 bytes, expected 4 behind the header", TC_CONTENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_tensor t;
        tc_status s = tc_image_decode("f", cases[i].data, cases[i].n, cases[i].mode, &t);
        assert_non_null(s);
        assert_string_equal(tc_status_message(s), cases[i].message);
        assert_int_equal(tc_status_code(s), cases[i].code);
        tc_status_free(s);
    }
}

static void put(unsigned char *p, int64_t v, int n) {
    for (int i = 0; i < n; i++) p[i] = (unsigned char)(v >> 8 * i);
}
/* A grey TIFF of w by h by PackBits in `parts` parts, that all are the last `len` bytes of the file, which begin with what does nothing. */
static tc_status decode_tiff(const int64_t (*tags)[4], int ntags, int64_t parts, int64_t len) {
    int64_t at = 10 + 12 * ntags, n = at + 8 * parts + len;
    unsigned char *p = tc_xcalloc(1, (size_t)n);
    tc_tensor t;
    memcpy(p, "II*\0\10\0\0", 7);
    put(p + 8, ntags, 2);
    for (int k = 0; k < ntags; k++) {
        unsigned char *e = p + 10 + 12 * k;
        put(e, tags[k][0], 2), put(e + 2, tags[k][1], 2), put(e + 4, tags[k][2], 4), put(e + 8, tags[k][3], 4);
    }
    for (int64_t i = 0; i < parts; i++) put(p + at + 4 * i, n - len, 4), put(p + at + 4 * (parts + i), len, 4);
    memset(p + n - len, 0x80, (size_t)len - 2); /* and then one byte, 0 */
    tc_status s = tc_image_decode("f", p, (size_t)n, TC_IMAGE_UNCHANGED, &t);
    if (!s) tc_tensor_deinit(&t);
    free(p);
    return s;
}
static void a_pixel_has_samples(void **state) {
    (void)state;
    enum { AT = 10 + 12 * 9 };
    const int64_t none[][4] = {{256, 3, 1, 1}, {257, 3, 1, 1}, {258, 3, 1, 8},  {259, 4, 1, 32773}, {262, 3, 1, 1},
                               {277, 3, 1, 0}, {278, 3, 1, 1}, {273, 4, 1, AT}, {279, 4, 1, AT + 4}};
    tc_status s = decode_tiff(none, 9, 1, 2);
    assert_non_null(s);
    assert_non_null(strstr(tc_status_message(s), "0 samples of 8 bits"));
    tc_status_free(s);
}
/* A small file must not ask for more work than its pixels. */
static void parts_are_bounded(void **state) {
    (void)state;
    enum { H = 20000, AT = 10 + 12 * 8 };
    const int64_t strips[][4] = {{256, 3, 1, 1}, {257, 3, 1, H}, {258, 3, 1, 8},  {259, 4, 1, 32773},
                                 {262, 3, 1, 1}, {278, 3, 1, 1}, {273, 4, H, AT}, {279, 4, H, AT + 4 * H}};
    tc_status s = decode_tiff(strips, 8, H, H);
    assert_non_null(s);
    assert_non_null(strstr(tc_status_message(s), "lie over one another"));
    tc_status_free(s);
    assert_null(decode_tiff(strips, 8, H, 2)); /* equal parts may be shared */
    const int64_t tiles[][4] = {{256, 3, 1, 1}, {257, 3, 1, H},       {258, 3, 1, 8},  {259, 4, 1, 32773},
                                {262, 3, 1, 1}, {322, 4, 1, 1 << 20}, {323, 3, 1, 16}, {324, 4, H / 16, AT}};
    s = decode_tiff(tiles, 8, H / 16, 2);
    assert_non_null(s);
    assert_string_equal(tc_status_message(s), "f: TIFF: 1250 parts of 1048576 by 16 pixels");
    tc_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_those_of_pillow), cmocka_unit_test(channels_are_those_asked_for), cmocka_unit_test(damage_is_an_error),
        cmocka_unit_test(refusals_say_what_is_wrong), cmocka_unit_test(a_pixel_has_samples),          cmocka_unit_test(parts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
