functionalise.o: lib/op/functionalise.c lib/op/functionalise.h \
  lib/op/op.h lib/graph/graph.h lib/base/mem.h lib/base/status.h \
  lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/op/decompose.h lib/op/emit.h

lib/op/functionalise.h:

lib/op/op.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/decompose.h:

lib/op/emit.h:
