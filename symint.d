symint.o: lib/capture/symint.c lib/capture/cure.h lib/capture/object.h \
  lib/base/mem.h lib/base/status.h lib/graph/graph.h lib/sym/sym.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/capture/draft.h \
  lib/capture/torch.h lib/base/rng.h lib/op/op.h

lib/capture/cure.h:

lib/capture/object.h:

lib/base/mem.h:

lib/base/status.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/capture/draft.h:

lib/capture/torch.h:

lib/base/rng.h:

lib/op/op.h:
