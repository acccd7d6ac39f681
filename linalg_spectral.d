linalg_spectral.o: lib/op/linalg_spectral.c lib/op/linalg.h \
  lib/kernel/lapack.h lib/kernel/kernel.h lib/base/pool.h \
  lib/base/status.h lib/tensor/tensor.h lib/base/mem.h \
  lib/tensor/dtype.h lib/kernel/shim/tc_lapack.h lib/op/shape.h \
  lib/op/emit.h lib/op/op.h lib/graph/graph.h lib/sym/sym.h

lib/op/linalg.h:

lib/kernel/lapack.h:

lib/kernel/kernel.h:

lib/base/pool.h:

lib/base/status.h:

lib/tensor/tensor.h:

lib/base/mem.h:

lib/tensor/dtype.h:

lib/kernel/shim/tc_lapack.h:

lib/op/shape.h:

lib/op/emit.h:

lib/op/op.h:

lib/graph/graph.h:

lib/sym/sym.h:
