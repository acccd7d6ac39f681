fold.o: lib/pass/fold.c lib/pass/fold.h lib/op/op.h lib/graph/graph.h \
  lib/base/mem.h lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h

lib/pass/fold.h:

lib/op/op.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:
