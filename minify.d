minify.o: tc-compile/minify.c tc-compile/compile.h lib/base/cpu.h \
  lib/base/status.h build/gen/isa_rows.h cmd/program.h cmd/cmd.h \
  lib/base/file.h lib/base/mem.h lib/base/pool.h lib/base/steps.h \
  cmd/options.def lib/file/pt2.h lib/file/tensors.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/file/zip.h lib/graph/graph.h lib/sym/sym.h \
  lib/codegen/cache.h lib/codegen/cc.h lib/codegen/packed.h \
  lib/codegen/module.h lib/codegen/tc_abi.h lib/codegen/trust.h \
  lib/runtime/compile.h lib/codegen/emit.h lib/codegen/group.h \
  lib/loop/loop.h lib/kernel/scalar_op.h lib/kernel/scalar.def \
  lib/runtime/runtime.h lib/kernel/isa.h lib/kernel/gemm_int.h \
  lib/kernel/kernel.h lib/kernel/move.h lib/kernel/tree.h lib/op/op.h \
  build/gen/version.h lib/pass/dce.h

tc-compile/compile.h:

lib/base/cpu.h:

lib/base/status.h:

build/gen/isa_rows.h:

cmd/program.h:

cmd/cmd.h:

lib/base/file.h:

lib/base/mem.h:

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

lib/codegen/cache.h:

lib/codegen/cc.h:

lib/codegen/packed.h:

lib/codegen/module.h:

lib/codegen/tc_abi.h:

lib/codegen/trust.h:

lib/runtime/compile.h:

lib/codegen/emit.h:

lib/codegen/group.h:

lib/loop/loop.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/runtime/runtime.h:

lib/kernel/isa.h:

lib/kernel/gemm_int.h:

lib/kernel/kernel.h:

lib/kernel/move.h:

lib/kernel/tree.h:

lib/op/op.h:

build/gen/version.h:

lib/pass/dce.h:
