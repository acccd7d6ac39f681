report.o: tc-export/report.c tc-export/report.h lib/graph/graph.h \
  lib/base/mem.h lib/base/status.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/op/op.h

tc-export/report.h:

lib/graph/graph.h:

lib/base/mem.h:

lib/base/status.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/op/op.h:
