/* The int8 product by one instruction, included with NR and MR (columns and rows of a tile), FLIP and UNIT (flip and unit of tc_gemm_i8_ops), TARGET
 * (a function attribute, or nothing), NAME (a suffix) and, for the vector VI of int32, vset1(x) and vdot(acc, a, b), which adds four products of
 * bytes to each word. Where TILES is defined, it names the function for tc_gemm_i8_ops.tiles; otherwise that is made from vdot here. */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, NAME)

TARGET static void N_(pack)(const tc_gemm_i8 *j, int64_t panel, int32_t *out) {
    int64_t c0 = panel * NR, w = j->n - c0 < NR ? j->n - c0 : NR, whole = j->k / 4;
    const int8_t *b = j->b + c0 * j->b_cs;
    int32_t *o = out + NR;
#if FLIP
    VI sum[2] = {0}; /* of the bytes of each column */
#endif
    for (int64_t q = 0; q < (j->k + 4 * UNIT - 1) / (4 * UNIT) * UNIT; q++, o += NR) {
        const int8_t *at = b + 4 * q * j->b_rs;
        if (w == NR && q < whole && j->b_cs == 1) {
            interleave(o, at, j->b_rs, NR);
        } else if (w == NR && q < whole && j->b_rs == 1) {
            for (int c = 0; c < NR; c++) __builtin_memcpy(o + c, at + c * j->b_cs, 4);
        } else {
            int8_t bytes[4 * NR] = {0};
            for (int64_t c = 0; c < w; c++)
                for (int64_t i = 0; i < 4 && 4 * q + i < j->k; i++) bytes[4 * c + i] = at[c * j->b_cs + i * j->b_rs];
            __builtin_memcpy(o, bytes, sizeof bytes);
        }
#if FLIP
        for (int i = 0; i < 2; i++) {
            VI bytes;
            __builtin_memcpy(&bytes, o + i * (NR / 2), sizeof bytes);
            sum[i] = vdot(sum[i], vset1(0x01010101), bytes);
        }
#endif
    }
#if FLIP
    __builtin_memcpy(out, sum, sizeof sum);
#endif
    for (int c = 0; c < NR; c++) out[c] = FLIP ? (int32_t)(-(uint32_t)FLIP * (uint32_t)out[c]) : 0;
}

TARGET static void N_(copy)(const tc_gemm_i8 *j, int64_t r0, int64_t nr, int64_t q0, int64_t quads, int32_t *out) {
    int64_t n = j->k - 4 * q0 < 4 * quads ? j->k - 4 * q0 : 4 * quads;
    for (int64_t r = 0; r < nr; r++) {
        const int8_t *a = j->a + (r0 + r) * j->a_rs + 4 * q0 * j->a_cs;
        uint8_t *o = (uint8_t *)(out + r * LDA);
        if (j->a_cs == 1)
            for (int64_t k = 0; k < n; k++) o[k] = (uint8_t)a[k] ^ FLIP;
        else
            for (int64_t k = 0; k < n; k++) o[k] = (uint8_t)a[k * j->a_cs] ^ FLIP;
        for (int64_t k = n; k < 4 * quads; k++) o[k] = 0;
    }
}

#ifndef TILES
#define TILES N_(tiles)
TARGET static inline __attribute__((always_inline)) void N_(tile)(const int rows, int64_t quads, const int32_t *a, const int32_t *b,
                                                                  const int32_t *init, int64_t ldi, int32_t *c, int64_t ldc) {
    enum { VL = NR / 2 };
    VI x[MR], y[MR];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        __builtin_memcpy(&x[i], init + i * ldi, sizeof(VI));
        __builtin_memcpy(&y[i], init + i * ldi + VL, sizeof(VI));
    }
    for (int64_t q = 0; q < quads; q++) {
        VI p, s;
        __builtin_memcpy(&p, b + q * NR, sizeof p);
        __builtin_memcpy(&s, b + q * NR + VL, sizeof s);
        __builtin_prefetch(b + (q + 12) * NR), __builtin_prefetch(b + (q + 12) * NR + VL);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            VI v = vset1(a[i * LDA + q]);
            x[i] = vdot(x[i], v, p), y[i] = vdot(y[i], v, s);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        __builtin_memcpy(c + i * ldc, &x[i], sizeof(VI));
        __builtin_memcpy(c + i * ldc + VL, &y[i], sizeof(VI));
    }
}
TARGET static void N_(tiles)(int64_t rows, int64_t quads, const int32_t *a, const int32_t *b, const int32_t *init, int64_t ldi, int32_t *c,
                             int64_t ldc) {
    for (; rows >= MR; rows -= MR, a += MR * LDA, init += MR * ldi, c += MR * ldc) N_(tile)(MR, quads, a, b, init, ldi, c, ldc);
    for (; rows >= 4; rows -= 4, a += 4 * LDA, init += 4 * ldi, c += 4 * ldc) N_(tile)(4, quads, a, b, init, ldi, c, ldc);
    for (; rows >= 1; rows -= 1, a += LDA, init += ldi, c += ldc) N_(tile)(1, quads, a, b, init, ldi, c, ldc);
}
#endif
extern const tc_gemm_i8_ops TC_ROW(N_(tc_gemm_i8));
const tc_gemm_i8_ops TC_ROW(N_(tc_gemm_i8)) = {NR, UNIT, FLIP, N_(pack), N_(copy), TILES};
#undef CAT__
#undef CAT_
#undef N_
#undef NAME
#undef FLIP
#undef UNIT
#undef TILES
#undef TARGET
