fft.o: lib/kernel/fft.c lib/kernel/fft.h lib/kernel/kernel.h \
  lib/base/pool.h lib/base/status.h lib/tensor/tensor.h lib/base/mem.h \
  lib/tensor/dtype.h lib/kernel/isa.h lib/base/cpu.h \
  build/gen/isa_rows.h lib/kernel/gemm_int.h lib/kernel/move.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/kernel/tree.h \
  lib/kernel/scalar.h lib/kernel/scalar_arith.h \
  lib/kernel/scalar_bessel.h lib/kernel/scalar_special.h \
  lib/kernel/scalar_log.h lib/kernel/scalar_exp.h \
  lib/kernel/scalar_trig.h lib/kernel/scalar_cast.h \
  lib/kernel/scalar_complex.h lib/kernel/scalar_gamma.h

lib/kernel/fft.h:

lib/kernel/kernel.h:

lib/base/pool.h:

lib/base/status.h:

lib/tensor/tensor.h:

lib/base/mem.h:

lib/tensor/dtype.h:

lib/kernel/isa.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/kernel/gemm_int.h:

lib/kernel/move.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/kernel/tree.h:

lib/kernel/scalar.h:

lib/kernel/scalar_arith.h:

lib/kernel/scalar_bessel.h:

lib/kernel/scalar_special.h:

lib/kernel/scalar_log.h:

lib/kernel/scalar_exp.h:

lib/kernel/scalar_trig.h:

lib/kernel/scalar_cast.h:

lib/kernel/scalar_complex.h:

lib/kernel/scalar_gamma.h:
