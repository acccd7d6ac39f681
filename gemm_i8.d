gemm_i8.o: lib/kernel/gemm_i8.c lib/kernel/gemm_i8.h lib/kernel/kernel.h \
  lib/base/pool.h lib/base/status.h lib/tensor/tensor.h lib/base/mem.h \
  lib/tensor/dtype.h lib/kernel/isa.h lib/base/cpu.h \
  build/gen/isa_rows.h lib/kernel/gemm_int.h lib/kernel/move.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/kernel/tree.h

lib/kernel/gemm_i8.h:

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
