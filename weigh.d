weigh.o: lib/pass/weigh.c lib/pass/weigh.h lib/graph/graph.h \
  lib/base/mem.h lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h

lib/pass/weigh.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:
