/* The table of instruction sets: one tc_isa_ops for each row of isa.tab, made of the tables that the *.isa.c files define for the row, and one for each
 * extension (a line of isa.tab with three fields), which replaces some products of its row. */
#include "kernel/isa.h"
#include "kernel/attention_impl.h"
#include "kernel/conv_isa.h"
#include "kernel/gemm.h"
#include "kernel/gemm_i8.h"

#undef bool /* a suffix here */

#define DECLARE(row, flags)                                                                                                                 \
    extern const tc_block_fn tc_block_f32_##row[], tc_block_f64_##row[], tc_block_i8_##row[], tc_block_i16_##row[], tc_block_i32_##row[],   \
        tc_block_i64_##row[], tc_block_u8_##row[], tc_block_u16_##row[], tc_block_u32_##row[], tc_block_u64_##row[], tc_block_bool_##row[], \
        tc_block_c64_##row[], tc_block_c128_##row[];                                                                                        \
    extern const tc_block_fn tc_block_one_##row[4][TC_X_COUNT];                                                                             \
    extern const tc_block_fn tc_block_fma_##row[];                                                                                          \
    extern const tc_block_pair tc_block_pairs_##row[];                                                                                      \
    extern const tc_block_select tc_block_select_##row[TC_SELECT_COUNT][TC_CHOICE_COUNT];                                                   \
    extern const tc_cast_fn tc_block_cast_##row[TC_DTYPE_COUNT][TC_DTYPE_COUNT], tc_block_round_##row[];                                    \
    extern const tc_attention_ops tc_attention_f32_##row, tc_attention_f64_##row;                                                           \
    extern const tc_winograd_ops tc_winograd_##row;                                                                                         \
    extern const tc_conv_ops tc_conv_f32_##row, tc_conv_f64_##row;                                                                          \
    extern const tc_gemm_ops tc_gemm_f32_##row, tc_gemm_f64_##row;                                                                          \
    extern const tc_gemm_int_fn tc_gemm_int_##row[4];                                                                                       \
    extern const tc_gemm_i8_ops tc_gemm_i8_pairs_##row;                                                                                     \
    extern const tc_move_ops tc_block_move_##row;                                                                                           \
    extern const tc_reduce_ops tc_reduce_f32_##row, tc_reduce_f64_##row, tc_reduce_i8_##row, tc_reduce_i16_##row, tc_reduce_i32_##row,      \
        tc_reduce_i64_##row, tc_reduce_u8_##row, tc_reduce_u16_##row, tc_reduce_u32_##row, tc_reduce_u64_##row, tc_reduce_bool_##row,       \
        tc_reduce_bf16_##row, tc_reduce_f16_##row;
#define DECLARE_NORMAL(row, flags)                                                                                \
    extern void tc_normal_f32_##row(float *x, int64_t blocks, float mean, float std);                             \
    extern void tc_uniform_f32_##row(float *out, const uint32_t *w, int64_t n, float lo, float width);            \
    extern void tc_attention_weights_##row(const float *, int64_t, int64_t, float, float *, float *, uint16_t *); \
    extern void tc_half_rows_##row(const tc_half_rows *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc);      \
    extern void tc_conv_row_half_##row(const struct tc_conv_row *row_job);                                        \
    extern void tc_philox_words_##row(uint32_t *out, uint64_t key, uint64_t first, uint64_t hi, int64_t blocks);
TC_ISA_ROWS(DECLARE)
TC_ISA_ROWS(DECLARE_NORMAL)

#define FIELDS(row)                                                                                                                             \
    .name = #row, .normal_f32 = tc_normal_f32_##row, .uniform_f32 = tc_uniform_f32_##row, .philox = tc_philox_words_##row,                      \
    .scalar = {[TC_F32] = tc_block_f32_##row,  [TC_F64] = tc_block_f64_##row, [TC_I8] = tc_block_i8_##row,     [TC_I16] = tc_block_i16_##row,   \
               [TC_I32] = tc_block_i32_##row,  [TC_I64] = tc_block_i64_##row, [TC_U8] = tc_block_u8_##row,     [TC_U16] = tc_block_u16_##row,   \
               [TC_U32] = tc_block_u32_##row,  [TC_U64] = tc_block_u64_##row, [TC_BOOL] = tc_block_bool_##row, [TC_C64] = tc_block_c64_##row,   \
               [TC_C128] = tc_block_c128_##row},                                                                                                \
    .scalar_one = tc_block_one_##row, .fma_one = tc_block_fma_##row, .scalar_pair = tc_block_pairs_##row, .select = tc_block_select_##row,      \
    .cast = tc_block_cast_##row, .round = tc_block_round_##row, .move = &tc_block_move_##row, .half_rows = tc_half_rows_##row,                  \
    .conv_row_half = tc_conv_row_half_##row, .gemm_f32 = &tc_gemm_f32_##row, .gemm_f64 = &tc_gemm_f64_##row, .gemm_int = tc_gemm_int_##row,     \
    .conv_f32 = &tc_conv_f32_##row, .conv_f64 = &tc_conv_f64_##row, .winograd = &tc_winograd_##row, .attention_f32 = &tc_attention_f32_##row,   \
    .attention_f64 = &tc_attention_f64_##row,                                                                                                   \
    .reduce = {                                                                                                                                 \
        [TC_F32] = &tc_reduce_f32_##row, [TC_F64] = &tc_reduce_f64_##row, [TC_I8] = &tc_reduce_i8_##row,     [TC_I16] = &tc_reduce_i16_##row,   \
        [TC_I32] = &tc_reduce_i32_##row, [TC_I64] = &tc_reduce_i64_##row, [TC_U8] = &tc_reduce_u8_##row,     [TC_U16] = &tc_reduce_u16_##row,   \
        [TC_U32] = &tc_reduce_u32_##row, [TC_U64] = &tc_reduce_u64_##row, [TC_BOOL] = &tc_reduce_bool_##row, [TC_BF16] = &tc_reduce_bf16_##row, \
        [TC_F16] = &tc_reduce_f16_##row}
#define ENTRY(row, flags) {FIELDS(row), .attention_weights = tc_attention_weights_##row, .gemm_i8 = &tc_gemm_i8_pairs_##row},
static const tc_isa_ops rows[] = {TC_ISA_ROWS(ENTRY)};

/* The extensions. Their int8 products give the same integers; their bfloat16 products agree with the row's to one rounding of the result. */
#if defined __x86_64__
extern const tc_gemm_i8_ops tc_gemm_i8_vnni_avx512, tc_gemm_i8_amx_avx512;
extern const tc_gemm_ops tc_gemm_bf16_dot_avx512, tc_gemm_bf16_amx_avx512;
extern void tc_attention_weights_pairs_avx512(const float *, int64_t, int64_t, float, float *, float *, uint16_t *);
extern const tc_conv_pairs_ops tc_conv_bf16_dot_avx512, tc_conv_bf16_amx_avx512;
static const tc_isa_ops tiles_of[TC_TILES_COUNT] = {
    [TC_TILES_avx512_vnni] = {FIELDS(avx512), .attention_weights = tc_attention_weights_avx512, .gemm_i8 = &tc_gemm_i8_vnni_avx512},
    [TC_TILES_avx512_bf16] = {FIELDS(avx512), .attention_weights = tc_attention_weights_pairs_avx512, .gemm_i8 = &tc_gemm_i8_vnni_avx512,
                              .gemm_bf16 = &tc_gemm_bf16_dot_avx512, .conv_bf16 = &tc_conv_bf16_dot_avx512},
    [TC_TILES_amx] = {FIELDS(avx512), .attention_weights = tc_attention_weights_pairs_avx512, .l2_bytes = 2 << 20, .gemm_i8 = &tc_gemm_i8_amx_avx512,
                      .gemm_bf16 = &tc_gemm_bf16_amx_avx512, .conv_bf16 = &tc_conv_bf16_amx_avx512},
};
#else
static const tc_isa_ops tiles_of[TC_TILES_COUNT];
#endif

const tc_isa_ops *tc_isa_ops_of(tc_isa_row row) { return &rows[row]; }
const tc_isa_ops *tc_isa_ops_of_tiles(tc_isa_row row, tc_isa_tiles tiles) { return tiles ? &tiles_of[tiles] : &rows[row]; }

tc_status tc_isa_ops_choose(const tc_isa_ops **out_isa) {
    tc_isa_row row;
    tc_isa_tiles tiles;
    TC_TRY(tc_isa_choose_tiles(NULL, &row, &tiles));
    *out_isa = tc_isa_ops_of_tiles(row, tiles);
    return NULL;
}
