reduce.o: lib/op/reduce.c lib/op/by_parts.h lib/op/emit.h lib/op/op.h \
  lib/graph/graph.h lib/base/mem.h lib/base/status.h lib/sym/sym.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/op/lower.h lib/loop/loop.h \
  lib/kernel/scalar_op.h lib/kernel/scalar.def lib/op/shape.h

lib/op/by_parts.h:

lib/op/emit.h:

lib/op/op.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/lower.h:

lib/loop/loop.h:

lib/kernel/scalar_op.h:

lib/kernel/scalar.def:

lib/op/shape.h:
