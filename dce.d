dce.o: lib/pass/dce.c lib/pass/dce.h lib/graph/graph.h lib/base/mem.h \
  lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/op/op.h

lib/pass/dce.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/op.h:
