scalar.o: lib/tensor/scalar.c lib/tensor/convert.h lib/tensor/dtype.h \
  lib/base/status.h lib/tensor/narrow.h

lib/tensor/convert.h:

lib/tensor/dtype.h:

lib/base/status.h:

lib/tensor/narrow.h:
