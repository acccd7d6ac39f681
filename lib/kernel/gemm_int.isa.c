/* Integer matrix products for elements of 1 byte (summed in 2: CPUs have no vector product of bytes), 2, 4 and 8 bytes. */
#include "kernel/gemm_int.h"
#include "kernel/isa.h"
#include "kernel/isa_row.h"

#define T uint8_t
#define W uint16_t
#define S bytes1
#include "kernel/gemm_int_type.h"
#define T uint16_t
#define W uint16_t
#define S bytes2
#include "kernel/gemm_int_type.h"
#define T uint32_t
#define W uint32_t
#define S bytes4
#include "kernel/gemm_int_type.h"
#define T uint64_t
#define W uint64_t
#define S bytes8
#include "kernel/gemm_int_type.h"

extern const tc_gemm_int_fn TC_ROW(tc_gemm_int)[4];
const tc_gemm_int_fn TC_ROW(tc_gemm_int)[4] = {block_bytes1, block_bytes2, block_bytes4, block_bytes8};
