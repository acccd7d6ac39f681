/* Transposition of matrices whose elements have the size of T, by squares of VL x VL elements in registers. Bits are moved unchanged, so any type of
 * that size will do. Included by transpose_*.isa.c after vec_*.h. */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)

enum { VL = ROW_BYTES / (int)sizeof(T) };
static inline VF load_vector(const T *p) {
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* Fewer rows than a vector has lanes: the square's missing rows repeat row 0 and are not stored. */
static void few_rows(T *out, int64_t out_ld, const T *x, int64_t in_ld, int rows, int64_t cols) {
    const T *row[VL];
    T turned[VL * VL];
    for (int i = 0; i < VL; i++) row[i] = x + (i < rows ? i : 0) * in_ld;
    for (int64_t c0 = 0; c0 < cols; c0 += VL) {
        const int64_t c = c0 + VL <= cols ? c0 : cols - VL;
        transpose_square(turned, VL, row, c);
        for (int i = 0; i < VL; i++) vstore_some(out + (c + i) * out_ld, load_vector(turned + i * VL), rows);
    }
}
/* Fewer columns than a vector has lanes: rows are padded in a copy. */
static void few_columns(T *out, int64_t out_ld, const T *x, int64_t in_ld, int64_t rows, int cols) {
    const T *row[VL];
    T copy[VL * VL], turned[VL * VL];
    for (int i = 0; i < VL; i++) row[i] = copy + i * VL;
    for (int64_t r0 = 0; r0 < rows; r0 += VL) {
        const int64_t r = r0 + VL <= rows ? r0 : rows - VL;
        for (int i = 0; i < VL; i++) vstore_some(copy + i * VL, vload_some(x + (r + i) * in_ld, cols), VL);
        transpose_square(turned, VL, row, 0);
        for (int i = 0; i < cols; i++) vstore_some(out + i * out_ld + r, load_vector(turned + i * VL), VL);
    }
}

extern void TC_ROW(CAT_(tc_transpose, S))(void *out, int64_t out_ld, const void *in, int64_t in_ld, int64_t rows, int64_t cols);
/* out[c * out_ld + r] = in[r * in_ld + c]. Where sizes are no multiple of VL, the last squares overlap those before them. */
void TC_ROW(CAT_(tc_transpose, S))(void *out, int64_t out_ld, const void *in, int64_t in_ld, int64_t rows, int64_t cols) {
    T *o = out;
    const T *x = in, *row[VL];
    if (rows < VL && cols >= VL && rows > 1) few_rows(o, out_ld, x, in_ld, (int)rows, cols);
    else if (cols < VL && rows >= VL && cols > 1) few_columns(o, out_ld, x, in_ld, rows, (int)cols);
    else if (rows < VL || cols < VL) {
        for (int64_t c = 0; c < cols; c++)
            for (int64_t r = 0; r < rows; r++) o[c * out_ld + r] = x[r * in_ld + c];
    } else
        for (int64_t r0 = 0; r0 < rows; r0 += VL) {
            const int64_t r = r0 + VL <= rows ? r0 : rows - VL;
            for (int i = 0; i < VL; i++) row[i] = x + (r + i) * in_ld;
            for (int64_t c0 = 0; c0 < cols; c0 += VL) {
                const int64_t c = c0 + VL <= cols ? c0 : cols - VL;
                transpose_square(o + c * out_ld + r, out_ld, row, c);
            }
        }
}
