to_c_kernel.o: lib/runtime/to_c_kernel.c lib/runtime/to_c_write.h \
  lib/codegen/emit.h lib/codegen/group.h lib/codegen/tc_abi.h \
  lib/loop/loop.h lib/graph/graph.h lib/base/mem.h lib/base/status.h \
  lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/runtime/frame.h \
  lib/kernel/kernel.h lib/base/pool.h lib/loop/nest.h lib/pass/plan.h \
  lib/base/steps.h lib/op/op.h lib/runtime/block.h lib/kernel/isa.h \
  lib/base/cpu.h build/gen/isa_rows.h lib/kernel/gemm_int.h \
  lib/kernel/move.h lib/kernel/tree.h lib/runtime/recycle.h \
  lib/runtime/runtime.h lib/runtime/to_c.h

lib/runtime/to_c_write.h:

lib/codegen/emit.h:

lib/codegen/group.h:

lib/codegen/tc_abi.h:

lib/loop/loop.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/runtime/frame.h:

lib/kernel/kernel.h:

lib/base/pool.h:

lib/loop/nest.h:

lib/pass/plan.h:

lib/base/steps.h:

lib/op/op.h:

lib/runtime/block.h:

lib/kernel/isa.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/kernel/gemm_int.h:

lib/kernel/move.h:

lib/kernel/tree.h:

lib/runtime/recycle.h:

lib/runtime/runtime.h:

lib/runtime/to_c.h:
