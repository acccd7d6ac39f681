/* Block primitives of operations with a branch that is hardly ever taken, included by block_f32.isa.c and block_f64.isa.c after block_type.h,
 * whose B(sin) is then the part without the branch and whole_sin(x) the function. A block is done without the branch; where an argument
 * would take it, the result is made again, from a copy of the arguments, since the result may stand in an operand's place. */
enum { RARE_PIECE = 256 };

static inline __attribute__((always_inline)) void repair(T *out, const T *x, int64_t n, tc_block_fn quick, T (*whole)(T), int (*rare)(T)) {
    int any = 0;
    for (int64_t i = 0; i < n; i++) any |= rare(x[i]);
    if (!any) {
        quick(out, x, NULL, NULL, n);
        return;
    }
    for (int64_t i = 0; i < n; i += RARE_PIECE) {
        T copy[RARE_PIECE];
        int m = n - i < RARE_PIECE ? (int)(n - i) : RARE_PIECE;
        for (int j = 0; j < m; j++) copy[j] = x[i + j];
        quick(out + i, copy, NULL, NULL, m);
        for (int j = 0; j < m; j++)
            if (rare(copy[j])) out[i + j] = whole(copy[j]);
    }
}
/* The same of two operands. */
static inline __attribute__((always_inline)) void repair_two(T *out, const T *x, const T *y, int64_t n, tc_block_fn quick, T (*whole)(T, T),
                                                             int (*rare)(T, T)) {
    int any = 0;
    for (int64_t i = 0; i < n; i++) any |= rare(x[i], y[i]);
    if (!any) {
        quick(out, x, y, NULL, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) out[i] = whole(x[i], y[i]);
}
static void sin_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    repair(o, a, n, B(sin), whole_sin, FN(is_large));
}
static void cos_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    repair(o, a, n, B(cos), whole_cos, FN(is_large));
}
static void tan_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    repair(o, a, n, B(tan), whole_tan, FN(is_large));
}
