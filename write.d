write.o: lib/onnx/write.c lib/onnx/write.h lib/base/file.h lib/base/mem.h \
  lib/base/status.h lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/capture/lang.h lib/capture/object.h \
  lib/file/onnx.h lib/op/decompose.h lib/op/emit.h lib/op/op.h \
  lib/pass/dce.h

lib/onnx/write.h:

lib/base/file.h:

lib/base/mem.h:

lib/base/status.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/capture/lang.h:

lib/capture/object.h:

lib/file/onnx.h:

lib/op/decompose.h:

lib/op/emit.h:

lib/op/op.h:

lib/pass/dce.h:
