inputs.o: cmd/inputs.c cmd/inputs.h lib/graph/graph.h lib/base/mem.h \
  lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/op/sample.h lib/op/op.h

cmd/inputs.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/sample.h:

lib/op/op.h:
