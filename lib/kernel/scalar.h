/* Every scalar function of scalar.def, tc_x_NAME_TYPE, and every conversion, tc_x_cast_FROM_TO. Block primitives, emitted C and kernels share this one
 * definition. It is static inline C made of + - * / fma sqrt rint and bit operations only, so that the bits do not depend on instruction set or
 * compiler; compile with -ffp-contract=off.
 * Bools are uint8_t 0 and 1; bf16, f16 and f8 values are passed as their bits, uint16_t and uint8_t; complex numbers are structs of two floats. The parts
 * include nothing but stdint.h, because emitted C contains their text. */
#ifndef TC_KERNEL_SCALAR_H
#define TC_KERNEL_SCALAR_H

#include "kernel/scalar_arith.h"
#include "kernel/scalar_bessel.h"
#include "kernel/scalar_cast.h"
#include "kernel/scalar_complex.h"
#include "kernel/scalar_exp.h"
#include "kernel/scalar_gamma.h"
#include "kernel/scalar_log.h"
#include "kernel/scalar_special.h"
#include "kernel/scalar_trig.h"

#endif
