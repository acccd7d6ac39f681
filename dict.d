dict.o: lib/capture/dict.c lib/capture/object.h lib/base/mem.h \
  lib/base/status.h lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h

lib/capture/object.h:

lib/base/mem.h:

lib/base/status.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:
