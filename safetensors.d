safetensors.o: lib/file/safetensors.c lib/file/safetensors.h \
  lib/file/source.h lib/base/file.h lib/base/mem.h lib/base/status.h \
  lib/tensor/tensor.h lib/tensor/dtype.h lib/file/tensors.h \
  lib/base/json.h lib/base/json_write.h lib/file/content.h

lib/file/safetensors.h:

lib/file/source.h:

lib/base/file.h:

lib/base/mem.h:

lib/base/status.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/file/tensors.h:

lib/base/json.h:

lib/base/json_write.h:

lib/file/content.h:
