torch_value.o: lib/file/torch_value.c lib/base/json_write.h \
  lib/base/mem.h lib/base/status.h lib/file/torch.h lib/file/pickle.h \
  lib/file/tensors.h lib/base/file.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/file/zip.h

lib/base/json_write.h:

lib/base/mem.h:

lib/base/status.h:

lib/file/torch.h:

lib/file/pickle.h:

lib/file/tensors.h:

lib/base/file.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/file/zip.h:
