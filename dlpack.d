dlpack.o: lib/tensor/dlpack.c lib/tensor/dlpack.h lib/tensor/tensor.h \
  lib/base/mem.h lib/base/status.h lib/tensor/dtype.h

lib/tensor/dlpack.h:

lib/tensor/tensor.h:

lib/base/mem.h:

lib/base/status.h:

lib/tensor/dtype.h:
