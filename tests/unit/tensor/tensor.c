/* Tensors: bounds of views, casts, comparison, and the text PyTorch 2.15 prints (each string below is its repr). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tensor/narrow.h"
#include "tensor/tensor.h"
#include "tc_ops.h"

#include <math.h>

static tc_tensor floats(int rank, const int64_t *size, const float *v) {
    tc_tensor t;
    assert_null(tc_tensor_empty(TC_F32, rank, size, &t));
    memcpy(tc_tensor_data(&t), v, tc_tensor_bytes(&t));
    return t;
}

static void prints(tc_tensor t, const char *expected) {
    tc_buf b = {0};
    tc_tensor_print(&b, &t);
    assert_string_equal(b.data, expected);
    tc_buf_free(&b);
    tc_tensor_deinit(&t);
}

static void test_print(void **state) {
    (void)state;
    prints(floats(2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4}), "tensor([[1., 2.],\n        [3., 4.]])");
    prints(floats(1, (int64_t[]){3}, (float[]){1.5f, -2, NAN}), "tensor([ 1.5000, -2.0000,     nan])");
    prints(floats(1, (int64_t[]){2}, (float[]){1e-5f, 1}), "tensor([1.0000e-05, 1.0000e+00])");
    tc_tensor t;
    assert_null(tc_tensor_empty(TC_F16, 2, (int64_t[]){0, 3}, &t));
    prints(t, "tensor([], size=(0, 3), dtype=torch.float16)");
    assert_null(tc_tensor_scalar(TC_C64, (tc_scalar){.kind = TC_KIND_COMPLEX, .re = 1, .im = -2}, &t));
    prints(t, "tensor(1.-2.j)");
    assert_null(tc_tensor_scalar(TC_BOOL, tc_scalar_bool(true), &t));
    prints(t, "tensor(True)");
    assert_null(tc_tensor_empty(TC_I64, 1, (int64_t[]){1001}, &t));
    for (int64_t i = 0; i < 1001; i++) tc_scalar_store(TC_I64, tc_tensor_data(&t), i, tc_scalar_int(i));
    prints(t, "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
}

static void test_views_stay_inside(void **state) {
    (void)state;
    tc_storage *s;
    tc_tensor t;
    assert_null(tc_storage_alloc(40, &s));
    assert_null(tc_tensor_view(s, TC_F32, 2, (int64_t[]){2, 5}, (int64_t[]){5, 1}, 0, &t));
    tc_tensor_deinit(&t);
    static const struct {
        int64_t size[2], stride[2], offset;
    } bad[] = {{{2, 5}, {5, 1}, 1},  {{2, 5}, {6, 1}, 0},         {{2, -5}, {5, 1}, 0},        {{2, 5}, {-5, 1}, 5},
               {{2, 5}, {5, 1}, -1}, {{INT64_MAX, 5}, {0, 0}, 0}, {{2, 5}, {INT64_MAX, 1}, 0}, {{3, 3}, {INT64_MAX / 2, INT64_MAX / 2}, 0},
               {{0, 5}, {5, 1}, 11}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tc_status st = tc_tensor_view(s, TC_F32, 2, bad[i].size, bad[i].stride, bad[i].offset, &t);
        assert_int_equal(tc_status_code(st), TC_CONTENT);
        tc_status_free(st);
    }
    assert_null(tc_tensor_view(s, TC_F32, 2, (int64_t[]){2, 3}, (int64_t[]){5, 2}, 0, &t)); /* the last element is the tenth of the ten */
    assert_int_equal(tc_tensor_span(&t), 40);
    tc_tensor_deinit(&t);
    int64_t ones[TC_MAX_RANK + 1];
    for (int d = 0; d <= TC_MAX_RANK; d++) ones[d] = 1;
    for (int rank = TC_MAX_RANK; rank <= TC_MAX_RANK + 1; rank++) {
        tc_status many = tc_tensor_empty(TC_U8, rank, ones, &t);
        assert_int_equal(tc_status_code(many), rank > TC_MAX_RANK ? TC_UNSUPPORTED : 0);
        if (many) tc_status_free(many);
        else tc_tensor_deinit(&t);
    }
    int64_t huge[] = {0, INT64_MAX / 2, 5}, stride[3]; /* no elements, and strides that no number holds */
    tc_contiguous_strides(3, huge, stride);
    tc_status st = tc_tensor_view(s, TC_F32, 3, huge, stride, 0, &t);
    assert_string_equal(tc_status_message(st), "the sizes of a tensor overflow");
    tc_status_free(st);
    assert_int_equal(s->refs, 1);
    tc_storage_release(s);
}

static void test_clone_packs_a_transpose(void **state) {
    (void)state;
    tc_tensor t = floats(2, (int64_t[]){2, 3}, (float[]){0, 1, 2, 3, 4, 5}), v, c;
    assert_null(tc_tensor_view(t.storage, TC_F32, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0, &v));
    assert_false(tc_tensor_is_contiguous(&v));
    assert_null(tc_tensor_clone(&v, &c));
    assert_memory_equal(tc_tensor_data(&c), ((float[]){0, 3, 1, 4, 2, 5}), 24);
    tc_tensor_deinit(&t);
    tc_tensor_deinit(&v);
    tc_tensor_deinit(&c);
}

static void test_casts_as_pytorch(void **state) {
    (void)state;
    static const struct {
        tc_dtype to;
        double from;
        int64_t bits;
    } cases[] = {{TC_U8, -1, 255},
                 {TC_I8, 300, 44},
                 {TC_I32, 3e9, INT32_MIN},
                 {TC_I64, 1e30, INT64_MIN},
                 {TC_BOOL, 0.25, 1},
                 {TC_F16, 65520, 0x7c00},
                 {TC_F16, 5.9604644775390625e-8, 1},
                 {TC_BF16, 1.00390625, 0x3f80},
                 {TC_F8E4M3, 1e9, 0x7e},
                 {TC_F8E5M2, 61440, 0x7c},
                 {TC_F8E4M3FNUZ, 248, 0x80},
                 {TC_F8E4M3FNUZ, 247.9, 0x7f},
                 {TC_F8E4M3FNUZ, -1e-9, 0},
                 {TC_F8E4M3FNUZ, -1, 0xc0},
                 {TC_F8E5M2FNUZ, 61440, 0x80},
                 {TC_F8E5M2FNUZ, 57344, 0x7f},
                 {TC_F8E5M2FNUZ, -0.0, 0},
                 {TC_F8E8M0, 6, 0x82},
                 {TC_F8E8M0, 5.9, 0x81},
                 {TC_F8E8M0, -1, 0x7f},
                 {TC_F8E8M0, 0, 0},
                 {TC_F8E8M0, INFINITY, 0xff}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_tensor a, b;
        int64_t bits = 0;
        assert_null(tc_tensor_scalar(TC_F64, tc_scalar_float(cases[i].from), &a));
        assert_null(tc_tensor_cast(&a, cases[i].to, &b));
        memcpy(&bits, tc_tensor_data(&b), tc_dtype_size(cases[i].to));
        if (cases[i].to == TC_I32) bits = (int32_t)bits;
        assert_int_equal(bits, cases[i].bits);
        tc_tensor_deinit(&a);
        tc_tensor_deinit(&b);
    }
}

static void test_compare(void **state) {
    (void)state;
    tc_diff d;
    tc_tensor a = floats(1, (int64_t[]){4}, (float[]){1, NAN, 0.0f, 4}), b = floats(1, (int64_t[]){4}, (float[]){1, -NAN, -0.0f, 4.5f});
    assert_null(tc_tensor_compare(&a, &b, 0, 0, &d));
    assert_int_equal(d.count, 2);
    assert_int_equal(d.first, 2);
    assert_true(d.max_abs == 0.5);
    assert_null(tc_tensor_compare(&a, &b, 0.2, 0, &d));
    assert_int_equal(d.count, 0);
    tc_tensor c = floats(2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4});
    tc_status st = tc_tensor_compare(&c, &b, 0, 0, &d);
    assert_string_equal(tc_status_message(st), "2x2xf32, expected 4xf32");
    tc_status_free(st);
    tc_tensor_deinit(&a);
    tc_tensor_deinit(&b);
    tc_tensor_deinit(&c);
}

static void test_promotion(void **state) {
    (void)state;
    static const struct {
        tc_dtype a, b, r;
    } cases[] = {{TC_U8, TC_I8, TC_I16},   {TC_BF16, TC_F16, TC_F32}, {TC_U16, TC_I32, TC_DTYPE_NONE}, {TC_BOOL, TC_I8, TC_I8},
                 {TC_I64, TC_F16, TC_F16}, {TC_F64, TC_C64, TC_C128}, {TC_BF16, TC_C32, TC_C64},       {TC_F8E4M3, TC_F32, TC_DTYPE_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tc_dtype_promote(cases[i].a, cases[i].b), cases[i].r);
        assert_int_equal(tc_dtype_promote(cases[i].b, cases[i].a), cases[i].r);
    }
}

/* The conversions of tc_ops.h are those of the library: all patterns widened, and narrowed again with the float32 around them. */
static void test_conversions_of_the_extensions_header(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint16_t h = (uint16_t)i;
        assert_int_equal(tc_f32_bits(tc_ops_f16_to_f32(h)), tc_f32_bits(tc_f16_to_f32(h)));
        assert_int_equal(tc_f32_bits(tc_ops_bf16_to_f32(h)), tc_f32_bits(tc_bf16_to_f32(h)));
        for (int32_t d = -0x1001; d <= 0x1001; d++) { /* to both sides of the halves between neighbours */
            if (d == -0xffe) d = -2;
            if (d == 3) d = 0xfff;
            const float f = tc_bits_f32(tc_f32_bits(tc_f16_to_f32(h)) + (uint32_t)d), b = tc_bits_f32((i << 16) + (uint32_t)(d * 8));
            assert_int_equal(tc_ops_f32_to_f16(f), tc_f32_to_f16(f));
            assert_int_equal(tc_ops_f32_to_f16(b), tc_f32_to_f16(b));
            assert_int_equal(tc_ops_f32_to_bf16(f), tc_f32_to_bf16(f));
            assert_int_equal(tc_ops_f32_to_bf16(b), tc_f32_to_bf16(b));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_print),
                                       cmocka_unit_test(test_views_stay_inside),
                                       cmocka_unit_test(test_clone_packs_a_transpose),
                                       cmocka_unit_test(test_casts_as_pytorch),
                                       cmocka_unit_test(test_compare),
                                       cmocka_unit_test(test_promotion),
                                       cmocka_unit_test(test_conversions_of_the_extensions_header)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
