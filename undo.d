undo.o: lib/capture/undo.c lib/capture/torch.h lib/base/rng.h \
  lib/base/status.h lib/capture/object.h lib/base/mem.h \
  lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h lib/tensor/dtype.h \
  lib/op/op.h

lib/capture/torch.h:

lib/base/rng.h:

lib/base/status.h:

lib/capture/object.h:

lib/base/mem.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/op.h:
