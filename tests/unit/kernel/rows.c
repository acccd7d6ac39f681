/* Every primitive of every instruction set that this machine has gives the bits of the portable row, for odd lengths, special
 * values, unaligned arrays and with the result in the place of an operand; ordered reductions are those of tc-numerics(7), "Sums". */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/isa.h"
#include "kernel/scalar.h"

enum { N = 523, BYTES = N * 16 };
static uint64_t state = 0x9E3779B97F4A7C15u;
static uint64_t next(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x2545F4914F6CDD1Du;
}

static const char *const op_names[] = {
#define X(NAME, name, ...) #name,
#include "kernel/scalar.def"
#undef X
};
static const char *const results[] = {
#define X(NAME, name, arity, types, result) #result,
#include "kernel/scalar.def"
#undef X
};

/* Values of every magnitude, with the special ones among them. */
static void fill(tc_dtype d, void *p, int64_t n) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 2, -3, 1e-40, 1e38, 1e300, 88, -88, 1e10};
    if (tc_is_complex(d)) {
        fill(tc_dtype_real(d), p, 2 * n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next();
        double s = special[r >> 60], v = (double)(int64_t)next() * 0x1p-60;
        if (d == TC_F32) ((float *)p)[i] = r % 4 == 0 ? (float)s : r % 4 == 1 ? (float)(v * 100) : (float)v;
        else if (d == TC_F64) ((double *)p)[i] = r % 4 == 0 ? s : r % 4 == 1 ? v * 100 : v;
        else if (d == TC_BOOL) ((uint8_t *)p)[i] = r & 1;
        else {
            uint64_t x = r % 3 ? next() : r % 7 - 3;
            memcpy((char *)p + (size_t)i * tc_dtype_size(d), &x, tc_dtype_size(d));
        }
    }
}
/* Equal bits, any NaN equal to any NaN. */
static int same(tc_dtype d, const void *a, const void *b, int64_t n, int64_t *at) {
    if (tc_is_complex(d)) {
        bool ok = same(tc_dtype_real(d), a, b, 2 * n, at);
        *at /= 2;
        return ok;
    }
    for (int64_t i = 0; i < n; i++) {
        *at = i;
        if (d == TC_F32) {
            float x = ((const float *)a)[i], y = ((const float *)b)[i];
            if (memcmp(&x, &y, 4) && !(x != x && y != y)) return 0;
        } else if (d == TC_F64) {
            double x = ((const double *)a)[i], y = ((const double *)b)[i];
            if (memcmp(&x, &y, 8) && !(x != x && y != y)) return 0;
        } else if (memcmp((const char *)a + (size_t)i * tc_dtype_size(d), (const char *)b + (size_t)i * tc_dtype_size(d), tc_dtype_size(d))) return 0;
    }
    return 1;
}
static const int64_t lengths[] = {0, 1, 7, 16, 31, 64, 255, N - 3};

static void scalar_operations(void **s) {
    (void)s;
    static _Alignas(64) char a[BYTES + 16], b[BYTES + 16], c[BYTES + 16], want[BYTES + 16], got[BYTES + 16];
    const tc_isa_ops *base = tc_isa_ops_of(TC_ROW_portable);
    for (int r = 1; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)r);
        for (int d = 0; d < TC_DTYPE_COUNT; d++)
            for (int op = 0; base->scalar[d] && op < TC_X_COUNT; op++) {
                assert_int_equal(!base->scalar[d][op], !isa->scalar[d][op]);
                if (!base->scalar[d][op]) continue;
                const char *w = results[op];
                tc_dtype rd = !strcmp(w, "BOOL")   ? TC_BOOL
                              : !strcmp(w, "REAL") ? tc_dtype_real((tc_dtype)d)
                              : !strcmp(w, "CPLX") ? tc_dtype_to_complex((tc_dtype)d)
                                                   : (tc_dtype)d;
                size_t e = tc_dtype_size((tc_dtype)d), shift = e == 16 ? 0 : e;
                for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                    int64_t n = lengths[l], at = 0;
                    fill(op == TC_X_WHERE ? TC_BOOL : (tc_dtype)d, a + shift, n), fill((tc_dtype)d, b + shift, n), fill((tc_dtype)d, c + shift, n);
                    if (op == TC_X_POW && tc_is_integral((tc_dtype)d))
                        for (int64_t i = 0; i < n; i++) (b + shift)[(size_t)i * e] &= 7;
                    base->scalar[d][op](want, a + shift, b + shift, c + shift, n);
                    isa->scalar[d][op](got, a + shift, b + shift, c + shift, n);
                    if (!same(rd, want, got, n, &at))
                        fail_msg("%s %s %s: element %lld of %lld differs", isa->name, op_names[op], tc_dtypes[d].name, (long long)at, (long long)n);
                    if (rd != (tc_dtype)d || op == TC_X_WHERE) continue;
                    isa->scalar[d][op](a + shift, a + shift, b + shift, c + shift, n);
                    if (!same(rd, want, a + shift, n, &at))
                        fail_msg("%s %s %s in place: element %lld of %lld differs", isa->name, op_names[op], tc_dtypes[d].name, (long long)at,
                                 (long long)n);
                }
            }
    }
}

/* Blocks of remainders and their quotients take one step where that is enough, and give what the whole function does: of pairs that are alone,
 * and of blocks where every quotient is small. */
static void quotients(void **s) {
    (void)s;
    static const struct {
        tc_scalar_op op;
        float (*whole)(float, float);
    } all[] = {{TC_X_FMOD, tc_x_fmod_f32}, {TC_X_REMAINDER, tc_x_remainder_f32}, {TC_X_DIV_FLOOR, tc_x_div_floor_f32}};
    static float a[N], b[N], want[N], got[N];
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        const tc_block_fn *blocks = tc_isa_ops_of((tc_isa_row)r)->scalar[TC_F32];
        for (size_t k = 0; k < 3; k++)
            for (int alone = 0; alone < 2; alone++) {
                int64_t at = 0;
                fill(TC_F32, a, N), fill(TC_F32, b, N);
                for (int i = 0; i < N && !alone; i++) { /* quotients below 2^40, whole ones among them */
                    a[i] = isfinite(a[i]) ? a[i] : 3,
                    b[i] = isfinite(b[i]) && fabsf(b[i]) * 0x1p40f > fabsf(a[i]) ? b[i] : -0.75f * (float)(i % 7 + 1);
                    if (fabsf(a[i]) > 1e9f) a[i] = 3 * b[i];
                }
                for (int i = 0; i < N; i++) want[i] = all[k].whole(a[i], b[i]);
                for (int i = 0; i < N; i += alone ? 1 : N) blocks[all[k].op](got + i, a + i, b + i, NULL, alone ? 1 : N);
                if (!same(TC_F32, want, got, N, &at))
                    fail_msg("%s %s of %a and %a: %a, expected %a", tc_isa_name((tc_isa_row)r), op_names[all[k].op], (double)a[at], (double)b[at],
                             (double)got[at], (double)want[at]);
            }
    }
}

/* Two operations in one pass are the two one after the other, in place as well. */
static void pairs(void **s) {
    (void)s;
    static float a[N], y[N], z[N], want[N], got[N];
    const tc_block_fn *base = tc_isa_ops_of(TC_ROW_portable)->scalar[TC_F32];
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        for (const tc_block_pair *p = tc_isa_ops_of((tc_isa_row)r)->scalar_pair; p->fn; p++)
            for (int round = 0; round < 64; round++) {
                int64_t n = lengths[round % (int)(sizeof lengths / sizeof *lengths)], at = 0;
                fill(TC_F32, a, N), fill(TC_F32, y, N), fill(TC_F32, z, N);
                for (int i = 1; i < N; i++) y[i] = p->one & 2 ? y[0] : y[i], z[i] = p->one & 4 ? z[0] : z[i];
                base[p->first](want, p->one & 1 ? y : a, p->one & 1 ? a : y, NULL, n);
                base[p->second](want, want, z, NULL, n);
                p->fn(got, a, y, z, n);
                p->fn(a, a, y, z, n);
                if (!same(TC_F32, want, got, n, &at) || !same(TC_F32, want, a, n, &at))
                    fail_msg("%s %s of %s: element %lld of %lld differs", tc_isa_ops_of((tc_isa_row)r)->name, op_names[p->second], op_names[p->first],
                             (long long)at, (long long)n);
            }
    }
}

/* A product and sum rounded once, with single elements, is the one of blocks. */
static void fma_one(void **s) {
    (void)s;
    static float a[N], y[N], z[N], want[N], got[N];
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        for (int one = 1; one < 4; one++)
            for (int round = 0; round < 16; round++) {
                int64_t n = lengths[round % (int)(sizeof lengths / sizeof *lengths)], at = 0;
                fill(TC_F32, a, N), fill(TC_F32, y, N), fill(TC_F32, z, N);
                for (int i = 1; i < N; i++) y[i] = one & 1 ? y[0] : y[i], z[i] = one & 2 ? z[0] : z[i];
                tc_isa_ops_of(TC_ROW_portable)->scalar[TC_F32][TC_X_FMA](want, a, y, z, n);
                tc_isa_ops_of((tc_isa_row)r)->fma_one[one](got, a, y, z, n);
                if (!same(TC_F32, want, got, n, &at))
                    fail_msg("%s %d: element %lld of %lld differs", tc_isa_name((tc_isa_row)r), one, (long long)at, (long long)n);
            }
    }
}

/* A choice by a comparison is the comparison and the choice, of NaN and signed zeros too, in place as well. */
static void selects(void **s) {
    (void)s;
    static const tc_scalar_op compare[TC_SELECT_COUNT][2] = {{TC_X_EQ, TC_X_EQ}, {TC_X_LT, TC_X_GT}, {TC_X_LE, TC_X_GE}, {TC_X_ISNAN, TC_X_ISNAN}};
    static float x[N], y[N], p[N], q[N], want[N], got[N];
    static uint8_t mask[N];
    const tc_block_fn *base = tc_isa_ops_of(TC_ROW_portable)->scalar[TC_F32];
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        for (int op = 0; op < TC_SELECT_COUNT; op++)
            for (int form = 0; form < TC_CHOICE_COUNT; form++)
                for (int round = 0; round < 64; round++) {
                    const tc_block_select fn = tc_isa_ops_of((tc_isa_row)r)->select[op][form];
                    const bool negate = round & 1 && (op == TC_SELECT_LT || op == TC_SELECT_LE);
                    int64_t n = lengths[round % (int)(sizeof lengths / sizeof *lengths)], at = 0;
                    if (!fn) continue;
                    fill(TC_F32, x, N), fill(TC_F32, y, N), fill(TC_F32, p, N), fill(TC_F32, q, N);
                    if (round & 2) y[0] = x[N / 2];
                    for (int i = 1; i < N; i++) y[i] = y[0], p[i] = form == TC_CHOICE_OB ? p[0] : p[i], q[i] = form == TC_CHOICE_BO ? q[0] : q[i];
                    base[compare[op][negate]](mask, x, y, NULL, n);
                    if (op == TC_SELECT_NUMBER)
                        for (int64_t i = 0; i < n; i++) mask[i] = !mask[i];
                    base[TC_X_WHERE](want, mask, p, q, n);
                    fn(got, x, y, p, q, negate, n);
                    fn(x, x, y, p, q, negate, n);
                    if (!same(TC_F32, want, got, n, &at) || !same(TC_F32, want, x, n, &at))
                        fail_msg("%s select %d, form %d, negate %d: element %lld of %lld differs", tc_isa_name((tc_isa_row)r), op, form, negate,
                                 (long long)at, (long long)n);
                }
    }
}

static void conversions(void **s) {
    (void)s;
    static _Alignas(64) char a[BYTES], want[BYTES], got[BYTES];
    const tc_isa_ops *base = tc_isa_ops_of(TC_ROW_portable);
    for (int r = 1; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        for (int f = 0; f < TC_DTYPE_COUNT; f++)
            for (int t = 0; t < TC_DTYPE_COUNT; t++) {
                assert_non_null(base->cast[f][t]);
                for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                    int64_t at = 0;
                    fill((tc_dtype)f, a, lengths[l]);
                    base->cast[f][t](want, a, lengths[l]), tc_isa_ops_of((tc_isa_row)r)->cast[f][t](got, a, lengths[l]);
                    if (!same((tc_dtype)t, want, got, lengths[l], &at))
                        fail_msg("%s %s to %s: element %lld", tc_isa_ops_of((tc_isa_row)r)->name, tc_dtypes[f].name, tc_dtypes[t].name,
                                 (long long)at);
                }
            }
    }
}

/* A block's casts between float32 and the 8-bit floats are those of single numbers: every code, and what lies about each. */
static void small_floats(void **s) {
    (void)s;
    static const tc_dtype types[] = {TC_F8E4M3, TC_F8E5M2, TC_F8E4M3FNUZ, TC_F8E5M2FNUZ, TC_F8E8M0};
    const tc_isa_ops *base = tc_isa_ops_of(TC_ROW_portable);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        uint8_t codes[256], back[256], want;
        float wide[256], moved[256];
        for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
        base->cast[types[k]][TC_F32](wide, codes, 256);
        for (int i = 0; i < 256; i++) {
            double v = tc_scalar_load(types[k], codes, i).f;
            assert_true(isnan(v) ? isnan(wide[i]) : (double)wide[i] == v);
        }
        static const float by[] = {1, 1.03125f, 1.0625f, 1.125f, 1.25f, 1.5f};
        for (size_t f = 0; f < sizeof by / sizeof *by; f++) {
            for (int i = 0; i < 256; i++) moved[i] = wide[i] * by[f];
            base->cast[TC_F32][types[k]](back, moved, 256);
            for (int i = 0; i < 256; i++) {
                tc_scalar_store(types[k], &want, 0, tc_scalar_float(moved[i]));
                assert_int_equal(back[i], want);
            }
        }
    }
}

/* Every float16, NaNs of all bits among them, to float32 and back, and what lies about each: the same bits with every instruction set. */
static void half_floats(void **s) {
    (void)s;
    enum { CODES = 1 << 16 };
    static uint16_t codes[CODES], want[CODES], got[CODES];
    static float wide[CODES], found[CODES];
    static const float by[] = {1, 1.0003f, 1.00048828125f, 1.0007f};
    const tc_isa_ops *base = tc_isa_ops_of(TC_ROW_portable);
    for (int i = 0; i < CODES; i++) codes[i] = (uint16_t)(i * 40503 + 1); /* each once, NaNs between numbers */
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)r);
        base->cast[TC_F16][TC_F32](wide, codes, CODES), isa->cast[TC_F16][TC_F32](found, codes, CODES);
        assert_memory_equal(wide, found, sizeof wide);
        for (size_t f = 0; f < sizeof by / sizeof *by; f++) {
            for (int i = 0; i < CODES; i++) found[i] = f ? wide[i] * by[f] : wide[i];
            base->cast[TC_F32][TC_F16](want, found, CODES), isa->cast[TC_F32][TC_F16](got, found, CODES);
            assert_memory_equal(want, got, sizeof want);
            isa->round[TC_F16](found, found, CODES), base->cast[TC_F16][TC_F32](wide, want, CODES);
            assert_memory_equal(wide, found, sizeof wide);
            base->cast[TC_F16][TC_F32](wide, codes, CODES);
        }
    }
}

/* The contract, written out slowly. */
static float slow_leaf(const float *x, int64_t n, int64_t stride) {
    float lane[16];
    for (int i = 0; i < 16; i++) lane[i] = -0.0f;
    for (int64_t i = 0; i < n; i++) lane[i % 16] += x[i * stride];
    for (int h = 8; h; h /= 2)
        for (int i = 0; i < h; i++) lane[i] += lane[i + h];
    return lane[0];
}
static float slow_tree(const float *x, int64_t n, int64_t stride, int64_t leaves) { /* leaves: a power of two */
    if (leaves == 1) return slow_leaf(x, n, stride);
    int64_t half = leaves / 2 * 256;
    if (n <= half) return slow_tree(x, n, stride, leaves / 2);
    return slow_tree(x, half, stride, leaves / 2) + slow_tree(x + half * stride, n - half, stride, leaves / 2);
}
static float slow_sum(const float *x, int64_t n, int64_t stride) { return n ? slow_tree(x, n, stride, 1 << 20) : 0; }

static void sums(void **s) {
    (void)s;
    enum { ROWS = 3, COLS = 70, MOST = 5000 };
    static float x[MOST * COLS], out[COLS], tall[COLS];
    static const int64_t sizes[] = {0, 1, 15, 16, 17, 255, 256, 257, 1024, 1025, 2048, 4999, MOST};
    for (int i = 0; i < MOST * COLS; i++) x[i] = (float)((double)(int64_t)next() * 0x1p-60);
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        const tc_reduce_ops *f = tc_isa_ops_of((tc_isa_row)r)->reduce[TC_F32];
        for (size_t l = 0; l < sizeof sizes / sizeof *sizes; l++) {
            int64_t n = sizes[l];
            f->sum_rows(out, x, ROWS, n, MOST + 1);
            for (int i = 0; i < ROWS; i++) {
                float want = slow_sum(x + i * (MOST + 1), n, 1);
                assert_memory_equal(&want, &out[i], 4);
            }
            f->sum_cols(tall, x, n, COLS, COLS);
            for (int c = 0; c < COLS; c++) {
                float want = slow_sum(x + c, n, COLS);
                assert_memory_equal(&want, &tall[c], 4);
            }
            if (!n) continue;
            float leaf[20];
            tc_tree_f32 t = {0};
            f->sum_leaves(leaf, x, n);
            for (int j = 0; j * 256 < n; j++) tc_tree_f32_push(&t, leaf[j]);
            float want = slow_sum(x, n, 1), got = tc_tree_f32_sum(&t);
            assert_memory_equal(&want, &got, 4);
        }
    }
}

static void other_reductions(void **s) {
    (void)s;
    static double x[3000], y[3000];
    static float xf[3000];
    for (int i = 0; i < 3000; i++) x[i] = (double)(int64_t)next() * 0x1p-60, xf[i] = (float)x[i];
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        const tc_isa_ops *isa = tc_isa_ops_of((tc_isa_row)r), *base = tc_isa_ops_of(TC_ROW_portable);
        for (int64_t n = 1; n < 3000; n = n * 3 + 1) {
            double a[2], b[2];
            float c, d;
            int64_t i, j;
            isa->reduce[TC_F64]->sum_rows(a, x, 1, n, n), base->reduce[TC_F64]->sum_rows(b, x, 1, n, n);
            isa->reduce[TC_F64]->prod_rows(a + 1, x, 1, n, n), base->reduce[TC_F64]->prod_rows(b + 1, x, 1, n, n);
            assert_memory_equal(a, b, sizeof a);
            tc_welford u, v;
            isa->reduce[TC_F32]->welford_rows(&u, xf, 1, n, n), base->reduce[TC_F32]->welford_rows(&v, xf, 1, n, n);
            assert_memory_equal(&u, &v, sizeof u);
            double mean = 0;
            for (int k = 0; k < n; k++) mean += xf[k];
            assert_true(fabs(u.mean - mean / (double)n) < 1e-12 && u.count == (double)n);
            isa->reduce[TC_F32]->max_rows(&c, xf, 1, n, n), isa->reduce[TC_F32]->argmax_rows(&i, xf, 1, n, n);
            assert_true(xf[i] == c);
            for (int k = 0; k < n; k++) assert_true(xf[k] <= c && (k >= i || xf[k] < c));
            isa->reduce[TC_F64]->argmin_rows(&j, x, 1, n, n), isa->reduce[TC_F64]->min_rows(a, x, 1, n, n);
            for (int k = 0; k < n; k++) assert_true(x[k] >= a[0] && (k >= j || x[k] > a[0]));
            memcpy(y, x, sizeof y), y[n / 2] = NAN;
            isa->reduce[TC_F64]->argmin_rows(&j, y, 1, n, n), isa->reduce[TC_F64]->min_rows(a, y, 1, n, n);
            assert_true(j == n / 2 && isnan(a[0]));
            float zeros[40];
            for (int k = 0; k < 40; k++) zeros[k] = k % 2 ? 0.0f : -0.0f;
            isa->reduce[TC_F32]->max_rows(&c, zeros, 1, n < 40 ? n : 40, 40), isa->reduce[TC_F32]->min_rows(&d, zeros, 1, n < 40 ? n : 40, 40);
            assert_true(signbit(d) && (n == 1 || !signbit(c)));
        }
    }
}

/* Wide, narrow and empty matrices of 2, 4 and 8 bytes an element: what is no element of the result stays. */
static void transposes(const tc_move_ops *m) {
    static const int64_t shapes[][2] = {{63, 37}, {16, 16}, {3, 40}, {40, 3}, {17, 64}, {1, 20}, {20, 1}, {5, 7}, {0, 3}, {3, 0}};
    static uint32_t in[64 * 72], out[64 * 72];
    static uint64_t in8[64 * 72], out8[64 * 72];
    static uint16_t in2[64 * 72], out2[64 * 72];
    enum { IN = 65, OUT = 70 };
    for (uint32_t i = 0; i < 64 * 72; i++) in[i] = i, in8[i] = i * UINT64_C(0x100000001), in2[i] = (uint16_t)i;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int64_t rows = shapes[k][0], cols = shapes[k][1];
        memset(out, 255, sizeof out), memset(out8, 255, sizeof out8), memset(out2, 255, sizeof out2);
        m->transpose[1](out2, OUT, in2, IN, rows, cols);
        m->transpose[2](out, OUT, in, IN, rows, cols);
        m->transpose[3](out8, OUT, in8, IN, rows, cols);
        for (int64_t c = 0; c < 64; c++)
            for (int64_t r = 0; r < OUT; r++) {
                const bool inside = c < cols && r < rows;
                assert_int_equal(out2[c * OUT + r], inside ? in2[r * IN + c] : UINT16_MAX);
                assert_int_equal(out[c * OUT + r], inside ? in[r * IN + c] : UINT32_MAX);
                assert_true(out8[c * OUT + r] == (inside ? in8[r * IN + c] : UINT64_MAX));
            }
    }
}
static void moves(void **s) {
    (void)s;
    static uint32_t in[4096], out[4096];
    for (uint32_t i = 0; i < 4096; i++) in[i] = i;
    for (int r = 0; r < TC_ROW_COUNT; r++) {
        if (!tc_isa_supported((tc_isa_row)r)) continue;
        const tc_move_ops *m = tc_isa_ops_of((tc_isa_row)r)->move;
        transposes(m);
        int64_t index[100];
        m->iota(index, 300, -3, 100);
        m->gather[2](out, in, index, 100);
        m->load[2](out + 200, in + 300, -3, 100);
        assert_memory_equal(out, out + 200, 400);
        assert_int_equal(out[99], 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scalar_operations),
                                       cmocka_unit_test(conversions),
                                       cmocka_unit_test(small_floats),
                                       cmocka_unit_test(half_floats),
                                       cmocka_unit_test(sums),
                                       cmocka_unit_test(other_reductions),
                                       cmocka_unit_test(moves),
                                       cmocka_unit_test(pairs),
                                       cmocka_unit_test(fma_one),
                                       cmocka_unit_test(selects),
                                       cmocka_unit_test(quotients)};
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
