anomaly.o: lib/train/anomaly.c lib/train/internal.h lib/base/rng.h \
  lib/base/status.h lib/capture/lang.h lib/capture/object.h \
  lib/base/mem.h lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/runtime/runtime.h lib/base/pool.h \
  lib/base/steps.h lib/codegen/tc_abi.h lib/kernel/isa.h lib/base/cpu.h \
  build/gen/isa_rows.h lib/kernel/gemm_int.h lib/kernel/kernel.h \
  lib/kernel/move.h lib/kernel/scalar_op.h lib/kernel/scalar.def \
  lib/kernel/tree.h lib/loop/loop.h lib/op/op.h lib/train/train.h \
  lib/data/data.h lib/base/yaml.h lib/dist/dist.h lib/train/recipe.h

lib/train/internal.h:

lib/base/rng.h:

lib/base/status.h:

lib/capture/lang.h:

lib/capture/object.h:

lib/base/mem.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/runtime/runtime.h:

lib/base/pool.h:

lib/base/steps.h:

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

lib/train/train.h:

lib/data/data.h:

lib/base/yaml.h:

lib/dist/dist.h:

lib/train/recipe.h:
