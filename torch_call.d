torch_call.o: lib/capture/torch_call.c lib/base/text.h lib/base/mem.h \
  lib/base/status.h lib/capture/torch_bind.h lib/capture/torch.h \
  lib/base/rng.h lib/capture/object.h lib/graph/graph.h lib/sym/sym.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/op/op.h \
  lib/capture/torch_data.h lib/op/emit.h lib/op/functionalise.h

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

lib/capture/torch_data.h:

lib/op/emit.h:

lib/op/functionalise.h:
