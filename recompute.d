recompute.o: lib/grad/recompute.c lib/grad/grad.h lib/op/emit.h \
  lib/op/op.h lib/graph/graph.h lib/base/mem.h lib/base/status.h \
  lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/grad/internal.h

lib/grad/grad.h:

lib/op/emit.h:

lib/op/op.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/grad/internal.h:
