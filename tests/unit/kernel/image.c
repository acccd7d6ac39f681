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
    } cases[] = {
        {"hello", 5, "f: 5 bytes that are no image, expected PNG, JPEG, PNM, BMP or TIFF", TC_CONTENT},
        {"GIF89a", 6, "f: GIF images are not read; PNG, JPEG, PNM, BMP and TIFF are", TC_UNSUPPORTED},
        {"P6 100000 100000 255 ", 21, "f: an image of 100000 by 100000 pixels, 3 bytes each; expected at most 192 MiB", TC_CONTENT},
        {"P6 2000000 1 255 ", 17, "f: PNM: at byte 10: expected width, height and the largest sample", TC_CONTENT},
        {"P5 2 2 255\nabc", 14, "f: PNM: 14 bytes, expected 4 behind the header", TC_CONTENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_tensor t;
        tc_status s = tc_image_decode("f", cases[i].data, cases[i].n, TC_IMAGE_UNCHANGED, &t);
        assert_non_null(s);
        assert_string_equal(tc_status_message(s), cases[i].message);
        assert_int_equal(tc_status_code(s), cases[i].code);
        tc_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_those_of_pillow),
        cmocka_unit_test(channels_are_those_asked_for),
        cmocka_unit_test(damage_is_an_error),
        cmocka_unit_test(refusals_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
