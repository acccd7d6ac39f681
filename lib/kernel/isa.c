/* The table of instruction sets: one tc_isa_ops a row of isa.tab, made of the tables that the *.isa.c files export for the row. */
#include "kernel/isa.h"

#include <stdlib.h>
#include <string.h>

#undef bool /* a suffix here */

/* name, bytes of a vector; isa.tab has the same rows, low to high */
#define ROWS(M) M(portable, 16) M(avx2, 32) M(avx512, 64)

#define DECLARE(row, bytes)                                                                                                            \
    extern const tc_block_fn tc_block_f32_##row[], tc_block_f64_##row[], tc_block_i8_##row[], tc_block_i16_##row[], tc_block_i32_##row[], tc_block_i64_##row[], \
        tc_block_u8_##row[], tc_block_u16_##row[], tc_block_u32_##row[], tc_block_u64_##row[], tc_block_bool_##row[];                   \
    extern const tc_cast_fn tc_block_cast_##row[TC_DTYPE_COUNT][TC_DTYPE_COUNT], tc_block_round_##row[];                               \
    extern const tc_move_ops tc_block_move_##row;                                                                                      \
    extern const tc_reduce_ops tc_reduce_f32_##row, tc_reduce_f64_##row, tc_reduce_i8_##row, tc_reduce_i16_##row, tc_reduce_i32_##row, tc_reduce_i64_##row, \
        tc_reduce_u8_##row, tc_reduce_u16_##row, tc_reduce_u32_##row, tc_reduce_u64_##row, tc_reduce_bool_##row;
ROWS(DECLARE)

#define ENTRY(row, bytes)                                                                                                              \
    {.name = #row, .width = bytes,                                                                                                     \
     .scalar = {[TC_F32] = tc_block_f32_##row, [TC_F64] = tc_block_f64_##row, [TC_I8] = tc_block_i8_##row, [TC_I16] = tc_block_i16_##row, [TC_I32] = tc_block_i32_##row, \
                [TC_I64] = tc_block_i64_##row, [TC_U8] = tc_block_u8_##row, [TC_U16] = tc_block_u16_##row, [TC_U32] = tc_block_u32_##row, [TC_U64] = tc_block_u64_##row, [TC_BOOL] = tc_block_bool_##row}, \
     .cast = tc_block_cast_##row, .round = tc_block_round_##row, .move = &tc_block_move_##row,                                         \
     .reduce = {[TC_F32] = &tc_reduce_f32_##row, [TC_F64] = &tc_reduce_f64_##row, [TC_I8] = &tc_reduce_i8_##row, [TC_I16] = &tc_reduce_i16_##row, [TC_I32] = &tc_reduce_i32_##row, \
                [TC_I64] = &tc_reduce_i64_##row, [TC_U8] = &tc_reduce_u8_##row, [TC_U16] = &tc_reduce_u16_##row, [TC_U32] = &tc_reduce_u32_##row, [TC_U64] = &tc_reduce_u64_##row, [TC_BOOL] = &tc_reduce_bool_##row}},
static const tc_isa_ops rows[] = {ROWS(ENTRY)};
enum { N = sizeof rows / sizeof *rows };

int tc_isa_count(void) { return N; }
const tc_isa_ops *tc_isa_at(int i) { return &rows[i]; }

/* gcc's run-time asks the CPU and, through xgetbv, whether the operating system saves the registers. */
_Bool tc_isa_supported(int i) {
    __builtin_cpu_init();
    if (!strcmp(rows[i].name, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (!strcmp(rows[i].name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    return 1;
}

const tc_isa_ops *tc_isa_find(const char *name) {
    for (int i = 0; i < N; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

const tc_isa_ops *tc_isa_best(void) {
    int best = 0;
    for (int i = 0; i < N; i++)
        if (tc_isa_supported(i)) best = i;
    return &rows[best];
}

tc_status tc_isa_choose(const tc_isa_ops **out_isa) {
    const char *name = getenv("TC_ISA");
    *out_isa = tc_isa_best();
    if (!name || !*name) return NULL;
    const tc_isa_ops *cap = tc_isa_find(name);
    if (!cap) return tc_error(TC_USAGE, "TC_ISA=%s: no such instruction set; expected portable, avx2 or avx512", name);
    if (!tc_isa_supported((int)(cap - rows))) return tc_error(TC_USAGE, "TC_ISA=%s: this machine does not support it; it has %s", name, (*out_isa)->name);
    *out_isa = cap;
    return NULL;
}
