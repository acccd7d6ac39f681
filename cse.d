cse.o: lib/pass/cse.c lib/pass/cse.h lib/graph/graph.h lib/base/mem.h \
  lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/op/op.h

lib/pass/cse.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/op.h:
