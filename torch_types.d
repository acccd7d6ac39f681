torch_types.o: lib/capture/torch_types.c lib/base/text.h lib/base/mem.h \
  lib/base/status.h lib/capture/torch_bind.h lib/capture/torch.h \
  lib/base/rng.h lib/capture/object.h lib/graph/graph.h lib/sym/sym.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/op/op.h

lib/base/text.h:

lib/base/mem.h:

lib/base/status.h:

lib/capture/torch_bind.h:

lib/capture/torch.h:

lib/base/rng.h:

lib/capture/object.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/op.h:
