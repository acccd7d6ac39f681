measure.o: tc-bench/measure.c tc-bench/bench.h cmd/program.h cmd/cmd.h \
  lib/base/file.h lib/base/mem.h lib/base/status.h lib/base/pool.h \
  lib/base/steps.h cmd/options.def lib/file/pt2.h lib/file/tensors.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/file/zip.h \
  lib/graph/graph.h lib/sym/sym.h lib/runtime/compile.h lib/codegen/cc.h \
  lib/codegen/emit.h lib/codegen/group.h lib/codegen/tc_abi.h \
  lib/loop/loop.h lib/kernel/scalar_op.h lib/kernel/scalar.def \
  lib/codegen/module.h lib/runtime/runtime.h lib/kernel/isa.h \
  lib/base/cpu.h build/gen/isa_rows.h lib/kernel/gemm_int.h \
  lib/kernel/kernel.h lib/kernel/move.h lib/kernel/tree.h lib/op/op.h \
  lib/base/rng.h

tc-bench/bench.h:

cmd/program.h:

cmd/cmd.h:

lib/base/file.h:

lib/base/mem.h:

lib/base/status.h:

lib/base/pool.h:

lib/base/steps.h:

cmd/options.def:

lib/file/pt2.h:

lib/file/tensors.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/file/zip.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/runtime/compile.h:

lib/codegen/cc.h:

lib/codegen/emit.h:

lib/codegen/group.h:

lib/codegen/tc_abi.h:

lib/loop/loop.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/codegen/module.h:

lib/runtime/runtime.h:

lib/kernel/isa.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/kernel/gemm_int.h:

lib/kernel/kernel.h:

lib/kernel/move.h:

lib/kernel/tree.h:

lib/op/op.h:

lib/base/rng.h:
