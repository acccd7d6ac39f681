/* The integer product of one width, included with T (unsigned element type), W (type of the sums) and S (suffix). A block of b, DEEP x COLS, is copied
 * to a contiguous panel; each row of a then runs over it.
 * The factor 1u makes products of 16-bit values unsigned: they would be promoted to int, whose overflow is undefined. */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)

static void CAT_(block, S)(const tc_gemm_int *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc) {
    enum { COLS = TC_GEMM_INT_COLS, ROWS = TC_GEMM_INT_ROWS, DEEP = 64 };
    W panel[DEEP][COLS], sum[ROWS][COLS] = {{0}};
    const T *a = (const T *)j->a + r0 * j->a_rs, *b = (const T *)j->b + c0 * j->b_cs;
    for (int64_t k0 = 0; k0 < j->k; k0 += DEEP) {
        int64_t deep = j->k - k0 < DEEP ? j->k - k0 : DEEP;
        for (int64_t k = 0; k < deep; k++) {
            const T *from = b + (k0 + k) * j->b_rs;
            if (j->b_cs == 1)
                for (int64_t c = 0; c < nc; c++) panel[k][c] = from[c];
            else
                for (int64_t c = 0; c < nc; c++) panel[k][c] = from[c * j->b_cs];
            for (int64_t c = nc; c < COLS; c++) panel[k][c] = 0;
        }
        for (int64_t r = 0; r < nr; r++) {
            W *s = sum[r];
            const T *x = a + r * j->a_rs + k0 * j->a_cs;
            for (int64_t k = 0; k < deep; k++) {
                const W v = x[k * j->a_cs];
                for (int c = 0; c < COLS; c++) s[c] = (W)(s[c] + 1u * v * panel[k][c]);
            }
        }
    }
    const T *add = j->add ? (const T *)j->add + r0 * j->add_rs + c0 * j->add_cs : NULL;
    for (int64_t r = 0; r < nr; r++) {
        T *o = (T *)j->c + (r0 + r) * j->n + c0;
        for (int64_t c = 0; c < nc; c++) o[c] = (T)(1u * sum[r][c] * (W)j->alpha + (add ? 1u * (W)j->beta * add[r * j->add_rs + c * j->add_cs] : 0));
    }
}
#undef CAT__
#undef CAT_
#undef T
#undef W
#undef S
