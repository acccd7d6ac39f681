/* Block primitives of operations with a branch that is hardly ever taken, included by block_f32.isa.c and block_f64.isa.c after block_type.h,
 * whose B(sin) is then the part without the branch and whole_sin(x) the function. A block is done without the branch; where an argument
 * would take it, the result is made again, from a copy of the arguments, since the result may stand in an operand's place. */
enum { RARE_PIECE = 256 };

static int any_large(const T *x, int64_t n) {
    int any = 0;
    for (int64_t i = 0; i < n; i++) any |= FN(is_large)(x[i]);
    return any;
}
static void repair(T *out, const T *x, int64_t n, tc_block_fn quick, T (*whole)(T)) {
    if (!any_large(x, n)) {
        quick(out, x, NULL, NULL, n);
        return;
    }
    for (int64_t i = 0; i < n; i += RARE_PIECE) {
        T copy[RARE_PIECE];
        int m = n - i < RARE_PIECE ? (int)(n - i) : RARE_PIECE;
        for (int j = 0; j < m; j++) copy[j] = x[i + j];
        quick(out + i, copy, NULL, NULL, m);
        for (int j = 0; j < m; j++)
            if (FN(is_large)(copy[j])) out[i + j] = whole(copy[j]);
    }
}
static void sin_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    repair(o, a, n, B(sin), whole_sin);
}
static void cos_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    repair(o, a, n, B(cos), whole_cos);
}
static void tan_any(void *o, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    repair(o, a, n, B(tan), whole_tan);
}
