/* Comparing two tensors: bit by bit (any NaN equals any other), or within a tolerance. */
#include "tensor/tensor.h"

#include <math.h>

/* Errors of one element; equal: it passes. */
typedef struct {
    bool equal;
    double abs, rel;
} verdict;

static verdict errors(double diff, double size, bool equal) {
    return (verdict){.equal = equal, .abs = diff, .rel = diff == 0 ? 0 : size == 0 ? INFINITY : diff / size};
}

static verdict compare_integers(tc_dtype d, int64_t a, int64_t b, double rtol, double atol) {
    __int128 x = a, y = b;
    if (d == TC_U64) x = (uint64_t)a, y = (uint64_t)b;
    double diff = (double)(x > y ? x - y : y - x), size = (double)(y < 0 ? -y : y);
    return errors(diff, size, diff <= atol + rtol * size);
}

static verdict compare_floats(double a, double b, double rtol, double atol, bool bits) {
    if (isnan(a) && isnan(b)) return errors(0, 0, true);
    if (isnan(a) || isnan(b)) return errors(INFINITY, 1, false);
    if (a == b) return errors(0, 0, !bits || signbit(a) == signbit(b));
    double diff = fabs(a - b), size = fabs(b);
    if (isinf(a) || isinf(b)) return errors(INFINITY, 1, false);
    return errors(diff, size, !bits && diff <= atol + rtol * size);
}

static verdict compare_complex(tc_scalar a, tc_scalar b, double rtol, double atol, bool bits) {
    verdict re = compare_floats(a.re, b.re, rtol, atol, bits), im = compare_floats(a.im, b.im, rtol, atol, bits);
    if (bits || !isfinite(a.re + a.im) || !isfinite(b.re + b.im))
        return (verdict){.equal = re.equal && im.equal, .abs = fmax(re.abs, im.abs), .rel = fmax(re.rel, im.rel)};
    double diff = hypot(a.re - b.re, a.im - b.im), size = hypot(b.re, b.im);
    return errors(diff, size, diff <= atol + rtol * size);
}

static tc_status same_type(const tc_tensor *a, const tc_tensor *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank && (a->rank == 0 || memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size) == 0);
    if (same) return NULL;
    tc_buf ta = {0}, tb = {0};
    tc_tensor_print_type(&ta, a);
    tc_tensor_print_type(&tb, b);
    tc_status st = tc_error(TC_DIFFERENT, "%s, expected %s", ta.data, tb.data);
    tc_buf_free(&ta);
    tc_buf_free(&tb);
    return st;
}

tc_status tc_tensor_compare(const tc_tensor *a, const tc_tensor *b, double rtol, double atol, tc_diff *out) {
    tc_tensor x, y;
    *out = (tc_diff){.first = -1};
    TC_TRY(same_type(a, b));
    TC_TRY(tc_tensor_contiguous(a, &x));
    tc_status st = tc_tensor_contiguous(b, &y);
    if (st) {
        tc_tensor_deinit(&x);
        return st;
    }
    const void *px = tc_tensor_data(&x), *py = tc_tensor_data(&y);
    int64_t n = tc_tensor_numel(a);
    bool bits = rtol == 0 && atol == 0;
    if (!n || memcmp(px, py, tc_tensor_bytes(a)) == 0) n = 0;
    for (int64_t i = 0; i < n; i++) {
        tc_scalar u = tc_scalar_load(a->dtype, px, i), v = tc_scalar_load(b->dtype, py, i);
        verdict r = u.kind == TC_KIND_COMPLEX ? compare_complex(u, v, rtol, atol, bits)
                    : u.kind == TC_KIND_FLOAT ? compare_floats(u.f, v.f, rtol, atol, bits)
                                              : compare_integers(a->dtype, u.i, v.i, rtol, atol);
        if (r.abs > out->max_abs) out->max_abs = r.abs;
        if (r.rel > out->max_rel) out->max_rel = r.rel;
        if (r.equal) continue;
        if (out->count++ == 0) out->first = i;
    }
    tc_tensor_deinit(&x);
    tc_tensor_deinit(&y);
    return NULL;
}
