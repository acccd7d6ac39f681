capture.o: lib/capture/capture.c lib/capture/capture.h \
  lib/capture/draft.h lib/capture/object.h lib/base/mem.h \
  lib/base/status.h lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/capture/lang.h lib/op/op.h lib/capture/keep.h \
  lib/capture/ast.h lib/capture/torch.h lib/base/rng.h \
  lib/op/functionalise.h

lib/capture/capture.h:

lib/capture/draft.h:

lib/capture/object.h:

lib/base/mem.h:

lib/base/status.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/capture/lang.h:

lib/op/op.h:

lib/capture/keep.h:

lib/capture/ast.h:

lib/capture/torch.h:

lib/base/rng.h:

lib/op/functionalise.h:
