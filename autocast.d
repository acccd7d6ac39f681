autocast.o: lib/op/autocast.c lib/base/text.h lib/base/mem.h \
  lib/base/status.h lib/op/emit.h lib/op/op.h lib/graph/graph.h \
  lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/op/functionalise.h

lib/base/text.h:

lib/base/mem.h:

lib/base/status.h:

lib/op/emit.h:

lib/op/op.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/functionalise.h:
