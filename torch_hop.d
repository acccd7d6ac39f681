torch_hop.o: lib/capture/torch_hop.c lib/capture/torch_data.h \
  lib/capture/torch.h lib/base/rng.h lib/base/status.h \
  lib/capture/object.h lib/base/mem.h lib/graph/graph.h lib/sym/sym.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/op/op.h lib/grad/grad.h \
  lib/op/emit.h lib/op/functionalise.h

lib/capture/torch_data.h:

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

lib/grad/grad.h:

lib/op/emit.h:

lib/op/functionalise.h:
