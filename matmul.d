matmul.o: lib/op/matmul.c lib/kernel/matmul.h lib/kernel/kernel.h \
  lib/base/pool.h lib/base/status.h lib/tensor/tensor.h lib/base/mem.h \
  lib/tensor/dtype.h lib/op/by_parts.h lib/op/emit.h lib/op/op.h \
  lib/graph/graph.h lib/sym/sym.h lib/op/shape.h

lib/kernel/matmul.h:

lib/kernel/kernel.h:

lib/base/pool.h:

lib/base/status.h:

lib/tensor/tensor.h:

lib/base/mem.h:

lib/tensor/dtype.h:

lib/op/by_parts.h:

lib/op/emit.h:

lib/op/op.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/op/shape.h:
