/* Block primitives of operations with a rare branch (such as sin of a large argument), which would keep their loops from being vectorised. Included by
 * block_f32.isa.c and block_f64.isa.c after block_type.h; B(sin) is the fast path without the branch, whole_sin(x) the complete function. A block is
 * computed by the fast path; elements that need the branch are then computed again, from a copy of the arguments, as the result may overwrite them. */
enum { RARE_CHUNK = 256 };

static inline __attribute__((always_inline)) void repair(T *out, const T *x, int64_t n, tc_block_fn fast, T (*full)(T), int (*is_rare)(T)) {
    int any = 0;
    for (int64_t i = 0; i < n; i++) any |= is_rare(x[i]);
    if (!any) {
        fast(out, x, NULL, NULL, n);
        return;
    }
    for (int64_t i = 0; i < n; i += RARE_CHUNK) {
        T copy[RARE_CHUNK];
        int m = n - i < RARE_CHUNK ? (int)(n - i) : RARE_CHUNK;
        for (int j = 0; j < m; j++) copy[j] = x[i + j];
        fast(out + i, copy, NULL, NULL, m);
        for (int j = 0; j < m; j++)
            if (is_rare(copy[j])) out[i + j] = full(copy[j]);
    }
}
/* The same for two operands. */
static inline __attribute__((always_inline)) void repair_two(T *out, const T *x, const T *y, int64_t n, tc_block_fn fast, T (*full)(T, T),
                                                             int (*is_rare)(T, T)) {
    int any = 0;
    for (int64_t i = 0; i < n; i++) any |= is_rare(x[i], y[i]);
    if (!any) {
        fast(out, x, y, NULL, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) out[i] = full(x[i], y[i]);
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
