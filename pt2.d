pt2.o: lib/file/pt2.c lib/file/pt2_read.h lib/base/json.h lib/base/mem.h \
  lib/base/status.h lib/file/pt2.h lib/file/tensors.h lib/base/file.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/file/zip.h \
  lib/graph/graph.h lib/sym/sym.h lib/op/op.h

lib/file/pt2_read.h:

lib/base/json.h:

lib/base/mem.h:

lib/base/status.h:

lib/file/pt2.h:

lib/file/tensors.h:

lib/base/file.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/file/zip.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/op/op.h:
