/* Packed panels whose elements are narrower than float32 (tc_gemm.packed_type). A panel is widened to float32 just before it is used; a product of
 * one row widens in registers instead, with the same fma chains. Included by gemm_block.h after gemm_tile.h, where T is float. */

/* VL elements of TC_BF16, TC_F16 or TC_I8, widened; of any other type, VL floats. */
static inline __attribute__((always_inline)) VF vload_as(tc_dtype type, const void *p) {
    return type == TC_BF16 ? vload_bf16(p) : type == TC_F16 ? vload_f16(p) : type == TC_I8 ? vload_i8(p) : vload(p);
}
/* Does sum_row take panels of this type? */
static bool has_row(tc_dtype type) { return type == TC_BF16 || type == TC_F16 || type == TC_I8 || type == TC_U8; }

static inline __attribute__((always_inline)) void sum_as(tc_dtype type, const T *a, const char *b, int64_t n, T *sums) {
    const int64_t e = type == TC_I8 ? 1 : 2;
    VF x = {0}, y = {0};
#pragma GCC unroll 4
    for (int64_t k = 0; k < n; k++, b += NR * e) {
        const VF v = vset1(a[k]);
        x = vfma(v, vload_as(type, b), x), y = vfma(v, vload_as(type, b + VL * e), y);
    }
    vstore(sums, x), vstore(sums + VL, y);
}
/* Panels of four-bit groups (tc_gemm.group): with a, the sums of one row, NR of them, to out; without, the n x NR weights. */
static inline __attribute__((always_inline)) void each_group(const tc_gemm *j, const T *a, const char *b, int64_t n, T *out) {
    const int64_t e = (int64_t)tc_dtype_size(j->scale_type);
    VF x = {0}, y = {0};
    for (int64_t k = 0; k < n; a += a ? j->group : 0) {
        const VF sx = vload_as(j->scale_type, b), sy = vload_as(j->scale_type, b + VL * e);
        const VF zx = vload_as(j->scale_type, b + 2 * VL * e), zy = vload_as(j->scale_type, b + 3 * VL * e);
        b += 2 * NR * e;
#pragma GCC unroll 4
        for (int64_t i = 0; i < j->group; i++, k++, b += VL) {
            VF p, q;
            vload_q4(&p, &q, b);
            p = vfma(p, sx, zx), q = vfma(q, sy, zy);
            if (a) x = vfma(vset1(a[i]), p, x), y = vfma(vset1(a[i]), q, y);
            else vstore(out + k * NR, p), vstore(out + k * NR + VL, q);
        }
    }
    if (a) vstore(out, x), vstore(out + VL, y);
}
static __attribute__((noinline)) void group_sums(const tc_gemm *j, const T *a, const char *b, int64_t n, T *out) { each_group(j, a, b, n, out); }

/* One row of a leaf: sums[c] = sum over n consecutive k of a[k] and column c of the panel, NR columns. b: the panel from the first of these k on. */
static void sum_row(const tc_gemm *j, const T *a, const char *b, int64_t n, T *sums) {
    switch (j->packed_type) {
    case TC_BF16: sum_as(TC_BF16, a, b, n, sums); break;
    case TC_F16: sum_as(TC_F16, a, b, n, sums); break;
    case TC_I8: sum_as(TC_I8, a, b, n, sums); break;
    default: group_sums(j, a, b, n, sums);
    }
}
/* Widens n consecutive k of a panel to float32: out is [k][NR]. */
static void widen_panel(const tc_gemm *j, const char *b, int64_t n, T *out) {
    if (j->group) each_group(j, NULL, b, n, out);
    else TC_ROW(tc_block_cast)[j->packed_type][TC_F32](out, b, n * NR);
}
