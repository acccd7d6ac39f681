block_plain.o: lib/runtime/block_plain.c lib/runtime/block_impl.h \
  lib/runtime/block.h lib/base/pool.h lib/base/status.h \
  lib/codegen/tc_abi.h lib/kernel/isa.h lib/base/cpu.h \
  build/gen/isa_rows.h lib/kernel/gemm_int.h lib/kernel/kernel.h \
  lib/tensor/tensor.h lib/base/mem.h lib/tensor/dtype.h \
  lib/kernel/move.h lib/kernel/scalar_op.h lib/kernel/scalar.def \
  lib/kernel/tree.h lib/loop/nest.h lib/loop/loop.h lib/graph/graph.h \
  lib/sym/sym.h

lib/runtime/block_impl.h:

lib/runtime/block.h:

lib/base/pool.h:

lib/base/status.h:

lib/codegen/tc_abi.h:

lib/kernel/isa.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/kernel/gemm_int.h:

lib/kernel/kernel.h:

lib/tensor/tensor.h:

lib/base/mem.h:

lib/tensor/dtype.h:

lib/kernel/move.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/kernel/tree.h:

lib/loop/nest.h:

lib/loop/loop.h:

lib/graph/graph.h:

lib/sym/sym.h:
