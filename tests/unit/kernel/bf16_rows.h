/* What tests of bfloat16 by instructions for it share: the sources with the instructions in C, the rows that have them, a call. Included after cmocka. */
#ifndef TESTS_BF16_ROWS_H
#define TESTS_BF16_ROWS_H

#include "unit/kernel/amx_in_c.h"

#define TC_ISA in_c
#include "kernel/gemm_bf16.isa.c"
#undef NAME
#undef TARGET
#undef begin
#undef end
#undef tile
#include "kernel/conv_bf16.isa.c"

#include "unit/kernel/kcall.h"

static inline void fill(tc_tensor *t) {
    uint16_t *p = t->storage->data;
    for (size_t i = 0; i < t->storage->bytes / 2; i++) p[i] = tc_x_cast_f32_bf16((float)kunit());
}

/* Of the next calls: NULL, none; how many results follow `out`. */
static const tc_epilogue *epilogue;
static int more_results;
static inline void call(const tc_kernel *k, const tc_isa_ops *isa, const tc_karg *args, int nargs, tc_tensor *out, int threads, bool packed) {
    tc_pool *pool;
    assert_null(tc_pool_create(threads, &pool));
    tc_kcall c = {.args = args, .nargs = nargs, .outs = out, .nouts = 1 + more_results, .pool = pool, .isa = isa, .epilogue = epilogue};
    void *ahead = NULL;
    int arg;
    size_t bytes = packed && k->pack_bytes ? k->pack_bytes(&c, &arg) : 0;
    if (bytes) {
        ahead = kscratch(bytes);
        k->pack(&c, ahead);
        assert_null(kguard(k, ahead, bytes));
        c.packed = ahead;
    }
    size_t n = k->scratch(&c, threads);
    c.scratch = kscratch(n);
    memset(out->storage->data, 0x7f, out->storage->bytes);
    assert_null(k->run(&c));
    assert_null(kguard(k, c.scratch, n));
    free(c.scratch), free(ahead);
    tc_pool_destroy(pool);
}

static inline void no_region(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    (void)ctx, (void)r0, (void)nr, (void)c0, (void)nc, (void)worker;
    fail_msg("a region of a plain epilogue was reported");
}
static inline float halved(float x) { return tc_x_cast_bf16_f32(tc_x_cast_f32_bf16(x)); }
/* A plain epilogue of some parts is what it says of the results without one, `want` as they lie, rows of `columns`; some sums are subnormal. */
static inline void check_plain(const char *what, const tc_kernel *k, const tc_isa_ops *isa, const tc_karg *args, int nargs, int parts,
                               const tc_tensor *want, int64_t columns) {
    static uint16_t table[(1 << 16) + 1];
    tc_tensor scale = ktensor(TC_F32, 1, &columns), shift = ktensor(TC_F32, 1, &columns), more = *want, got = *want;
    float *sc = scale.storage->data, *sh = shift.storage->data;
    const int64_t all = (int64_t)want->storage->bytes / 2;
    more.storage = ktensor(TC_BF16, 1, &all).storage, got.storage = ktensor(TC_BF16, 1, &all).storage;
    fill(&more);
    for (int i = 0; i < 1 << 16; i++) table[i] = (uint16_t)(i * 5 + 3);
    if (columns > 3) sc[3] *= 0x1p-127f, sh[3] *= 0x1p-128f, sc[2] = sh[2] = -0.0f;
    tc_epilogue_plain plain = {.low = parts & 4 ? -0.25 : -INFINITY, .high = parts & 4 ? 0.3 : INFINITY, .table = parts & 8 ? table : NULL};
    const uint16_t *m = more.storage->data, *y = want->storage->data, *z = got.storage->data;
    if (parts & 1) plain.scale = sc, plain.shift = sh;
    if (parts & 2) plain.more = m;
    const tc_epilogue then = {no_region, NULL, &plain, NULL};
    epilogue = &then;
    call(k, isa, args, nargs, &got, 1 + parts % 3, parts & 1);
    epilogue = NULL;
    for (int64_t i = 0; i < all; i++) {
        float v = tc_x_cast_bf16_f32(y[i]);
        if (parts & 1) v = halved(fmaf(v, sc[i % columns], sh[i % columns]));
        if (parts & 2) v = halved(v + tc_x_cast_bf16_f32(m[i]));
        uint16_t h = tc_x_cast_f32_bf16(tc_x_min_f32(tc_x_max_f32(v, (float)plain.low), (float)plain.high));
        if (parts & 8) h = table[h];
        if (h != z[i]) fail_msg("%s, parts %d of a plain epilogue: element %d is %04x, expected %04x", what, parts, (int)i, z[i], h);
    }
    kfree(&scale), kfree(&shift), kfree(&more), kfree(&got);
}

/* Rows to check: by the instructions in C, and where the CPU has them by the instructions. */
enum { BF16_IN_C = 2 };
static tc_isa_ops bf16_rows[2 * BF16_IN_C];
static int bf16_c_of[2 * BF16_IN_C]; /* the row of the same instruction in C */
static int bf16_count;
static void find_rows(void) {
    tc_isa_row best;
    assert_null(tc_isa_choose(NULL, &best));
    const tc_gemm_ops *product[] = {&tc_gemm_bf16_dot_in_c, &tc_gemm_bf16_amx_in_c};
    const tc_conv_pairs_ops *conv[] = {&tc_conv_bf16_dot_in_c, &tc_conv_bf16_amx_in_c};
    for (int i = 0; i < 2; i++)
        bf16_rows[bf16_count] = *tc_isa_ops_of(best), bf16_rows[bf16_count].gemm_bf16 = product[i], bf16_rows[bf16_count++].conv_bf16 = conv[i];
    for (int t = 1; t < TC_TILES_COUNT; t++)
        if (tc_isa_tiles_supported((tc_isa_tiles)t) && tc_isa_ops_of_tiles(best, (tc_isa_tiles)t)->gemm_bf16)
            bf16_c_of[bf16_count] = t == TC_TILES_amx, bf16_rows[bf16_count++] = *tc_isa_ops_of_tiles(best, (tc_isa_tiles)t);
}

#endif
