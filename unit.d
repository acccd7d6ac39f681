unit.o: lib/codegen/unit.c lib/codegen/emit.h lib/codegen/group.h \
  lib/codegen/tc_abi.h lib/loop/loop.h lib/graph/graph.h lib/base/mem.h \
  lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/codegen/paste.h \
  lib/base/embedded.h

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

lib/codegen/paste.h:

lib/base/embedded.h:
