/* The matrix products of ATen as kernels, with arguments in schema order. Floats are summed in the fixed order of gemm.h; 16-bit floats are widened,
 * summed in float32 and rounded once, at the end (bfloat16 without widening where the CPU has instructions for it, isa.tab); integers and bool wrap.
 * Arguments may have any strides; results are contiguous. */
#ifndef TC_KERNEL_MATMUL_H
#define TC_KERNEL_MATMUL_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_mm;      /* aten::mm(Tensor self, Tensor mat2) */
extern const tc_kernel tc_k_bmm;     /* aten::bmm(Tensor self, Tensor mat2) */
extern const tc_kernel tc_k_addmm;   /* aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) */
extern const tc_kernel tc_k_baddbmm; /* aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) */
extern const tc_kernel tc_k_int_mm;  /* aten::_int_mm(Tensor self, Tensor mat2): int8 by int8 in int32 */
extern const tc_kernel
    tc_k_grouped_mm; /* aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs, ...), without bias and out_dtype; offs i32 or i64 */
extern const tc_kernel tc_k_int8pack_mm; /* aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) */
extern const tc_kernel tc_k_int4pack_mm; /* aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) */

#endif
