/* What vec_f32.h and vec_f64.h, which include it, have in common of transpositions: what follows from transpose(), and that without instructions for it.
 * OWN_LOAD_COLUMNS: the instruction set has another load_columns(). */
enum { LANES_OF_VF = sizeof(VF) / sizeof(T) };
#if !defined TC_ISA_avx512 && !defined TC_ISA_avx2
static inline void transpose(VF *v) {
    for (int i = 0; i < LANES_OF_VF; i++)
        for (int k = 0; k < i; k++) {
            const T x = v[i][k];
            v[i][k] = v[k][i], v[k][i] = x;
        }
}
#endif
static inline void transpose_square(T *out, int64_t ld, const T *const *in, int64_t at) {
    VF r[LANES_OF_VF];
    for (int i = 0; i < LANES_OF_VF; i++) __builtin_memcpy(&r[i], in[i] + at, sizeof(VF));
    transpose(r);
    for (int i = 0; i < LANES_OF_VF; i++) __builtin_memcpy(out + i * ld, &r[i], sizeof(VF));
}
#ifndef OWN_LOAD_COLUMNS
static inline void load_columns(VF *out, const T *p, int64_t ld) {
    for (int i = 0; i < LANES_OF_VF; i++) __builtin_memcpy(&out[i], p + i * ld, sizeof(VF));
    transpose(out);
}
#endif
