order.o: lib/kernel/order.c lib/kernel/order.h lib/tensor/tensor.h \
  lib/base/mem.h lib/base/status.h lib/tensor/dtype.h \
  lib/kernel/isa_row.h

lib/kernel/order.h:

lib/tensor/tensor.h:

lib/base/mem.h:

lib/base/status.h:

lib/tensor/dtype.h:

lib/kernel/isa_row.h:
