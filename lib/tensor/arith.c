/* Sums and multiples of arrays in memory (arith.h). */
#include "tensor/arith.h"

/* Complex numbers are pairs of real ones: n is doubled. */
static tc_dtype parts_of(tc_dtype d, int64_t *n) {
    if (tc_dtypes[d].kind == TC_KIND_COMPLEX) *n *= 2;
    return tc_dtype_real(d);
}

static double number(tc_dtype d, const void *data, int64_t i) { return tc_scalar_to_double(tc_scalar_load(d, data, i)); }

void tc_add_into(tc_dtype d, void *to, const void *other, int64_t n) {
    d = parts_of(d, &n);
    if (d == TC_F64) {
        double *a = to;
        const double *b = other;
        for (int64_t i = 0; i < n; i++) a[i] += b[i];
    } else if (d == TC_F32) {
        float *a = to;
        const float *b = other;
        for (int64_t i = 0; i < n; i++) a[i] += b[i];
    } else {
        for (int64_t i = 0; i < n; i++) tc_scalar_store(d, to, i, tc_scalar_float(number(d, to, i) + number(d, other, i)));
    }
}

void tc_scale_by(tc_dtype d, void *data, double by, int64_t n) {
    d = parts_of(d, &n);
    if (d == TC_F64)
        for (int64_t i = 0; i < n; i++) ((double *)data)[i] *= by;
    else if (d == TC_F32)
        for (int64_t i = 0; i < n; i++) ((float *)data)[i] *= (float)by;
    else
        for (int64_t i = 0; i < n; i++) tc_scalar_store(d, data, i, tc_scalar_float(number(d, data, i) * by));
}
