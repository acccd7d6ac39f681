import.o: lib/onnx/import.c lib/onnx/onnx.h lib/capture/capture.h \
  lib/capture/draft.h lib/capture/object.h lib/base/mem.h \
  lib/base/status.h lib/graph/graph.h lib/sym/sym.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/capture/lang.h lib/op/op.h lib/file/onnx.h \
  lib/base/file.h lib/base/rng.h lib/capture/torch.h lib/pass/dce.h

lib/onnx/onnx.h:

lib/capture/capture.h:

lib/capture/draft.h:

lib/capture/object.h:

lib/base/mem.h:

lib/base/status.h:

lib/graph/graph.h:

lib/sym/sym.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/capture/lang.h:

lib/op/op.h:

lib/file/onnx.h:

lib/base/file.h:

lib/base/rng.h:

lib/capture/torch.h:

lib/pass/dce.h:
