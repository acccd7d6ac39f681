partition.o: lib/pass/partition.c lib/pass/partition.h lib/graph/graph.h \
  lib/base/mem.h lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/grad/grad.h lib/op/emit.h lib/op/op.h \
  lib/pass/cut.h lib/pass/dce.h lib/pass/mincut.h lib/pass/weigh.h

lib/pass/partition.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/grad/grad.h:

lib/op/emit.h:

lib/op/op.h:

lib/pass/cut.h:

lib/pass/dce.h:

lib/pass/mincut.h:

lib/pass/weigh.h:
