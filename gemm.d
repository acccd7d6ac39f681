gemm.o: lib/kernel/gemm.c lib/kernel/gemm.h lib/kernel/kernel.h \
  lib/base/pool.h lib/base/status.h lib/tensor/tensor.h lib/base/mem.h \
  lib/tensor/dtype.h lib/kernel/isa.h lib/base/cpu.h \
  build/gen/isa_rows.h lib/kernel/gemm_int.h lib/kernel/move.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/kernel/tree.h

lib/kernel/gemm.h:

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
