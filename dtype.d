dtype.o: lib/tensor/dtype.c lib/tensor/dtype.h lib/base/status.h

lib/tensor/dtype.h:

lib/base/status.h:
