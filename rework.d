rework.o: tc-export/rework.c tc-export/rework.h cmd/cmd.h lib/base/file.h \
  lib/base/mem.h lib/base/status.h lib/base/pool.h lib/base/steps.h \
  cmd/options.def lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/grad/grad.h lib/op/emit.h lib/op/op.h \
  lib/op/decompose.h lib/op/functionalise.h lib/pass/cut.h \
  lib/pass/dce.h lib/pass/partition.h lib/pass/split.h lib/pass/weigh.h

tc-export/rework.h:

cmd/cmd.h:

lib/base/file.h:

lib/base/mem.h:

lib/base/status.h:

lib/base/pool.h:

lib/base/steps.h:

cmd/options.def:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/grad/grad.h:

lib/op/emit.h:

lib/op/op.h:

lib/op/decompose.h:

lib/op/functionalise.h:

lib/pass/cut.h:

lib/pass/dce.h:

lib/pass/partition.h:

lib/pass/split.h:

lib/pass/weigh.h:
