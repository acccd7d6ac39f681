to_c.o: lib/runtime/to_c.c lib/runtime/to_c.h lib/runtime/runtime.h \
  lib/base/pool.h lib/base/status.h lib/base/steps.h lib/base/mem.h \
  lib/codegen/tc_abi.h lib/kernel/isa.h lib/base/cpu.h \
  build/gen/isa_rows.h lib/kernel/gemm_int.h lib/kernel/kernel.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/kernel/move.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/kernel/tree.h \
  lib/loop/loop.h lib/graph/graph.h lib/sym/sym.h lib/op/op.h \
  lib/codegen/cc.h lib/codegen/paste.h lib/base/embedded.h \
  lib/runtime/to_c_write.h lib/codegen/emit.h lib/codegen/group.h \
  lib/runtime/frame.h lib/loop/nest.h lib/pass/plan.h \
  lib/runtime/block.h lib/runtime/recycle.h

lib/runtime/to_c.h:

lib/runtime/runtime.h:

lib/base/pool.h:

lib/base/status.h:

lib/base/steps.h:

lib/base/mem.h:

lib/codegen/tc_abi.h:

lib/kernel/isa.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/kernel/gemm_int.h:

lib/kernel/kernel.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/kernel/move.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/kernel/tree.h:

lib/loop/loop.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/op/op.h:

lib/codegen/cc.h:

lib/codegen/paste.h:

lib/base/embedded.h:

lib/runtime/to_c_write.h:

lib/codegen/emit.h:

lib/codegen/group.h:

lib/runtime/frame.h:

lib/loop/nest.h:

lib/pass/plan.h:

lib/runtime/block.h:

lib/runtime/recycle.h:
