outputs.o: tc-run/outputs.c tc-run/run.h cmd/cmd.h lib/base/file.h \
  lib/base/mem.h lib/base/status.h lib/base/pool.h lib/base/steps.h \
  cmd/options.def lib/file/pt2.h lib/file/tensors.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/file/zip.h lib/graph/graph.h lib/sym/sym.h \
  lib/file/stream.h lib/file/source.h lib/runtime/variants.h \
  lib/runtime/runtime.h lib/codegen/tc_abi.h lib/kernel/isa.h \
  lib/base/cpu.h build/gen/isa_rows.h lib/kernel/gemm_int.h \
  lib/kernel/kernel.h lib/kernel/move.h lib/kernel/scalar_op.h \
  lib/kernel/scalar.def lib/kernel/tree.h lib/loop/loop.h lib/op/op.h \
  lib/file/npy.h lib/file/safetensors.h

tc-run/run.h:

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

lib/file/stream.h:

lib/file/source.h:

lib/runtime/variants.h:

lib/runtime/runtime.h:

lib/codegen/tc_abi.h:

lib/kernel/isa.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/kernel/gemm_int.h:

lib/kernel/kernel.h:

lib/kernel/move.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/kernel/tree.h:

lib/loop/loop.h:

lib/op/op.h:

lib/file/npy.h:

lib/file/safetensors.h:
