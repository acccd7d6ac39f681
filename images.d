images.o: lib/data/images.c lib/data/data.h lib/base/mem.h \
  lib/base/status.h lib/base/rng.h lib/base/yaml.h lib/tensor/tensor.h \
  lib/tensor/dtype.h lib/base/file.h lib/base/text.h lib/kernel/image.h \
  lib/kernel/image/tc_image.h lib/kernel/kernel.h lib/base/pool.h

lib/data/data.h:

lib/base/mem.h:

lib/base/status.h:

lib/base/rng.h:

lib/base/yaml.h:

lib/tensor/tensor.h:

lib/tensor/dtype.h:

lib/base/file.h:

lib/base/text.h:

lib/kernel/image.h:

lib/kernel/image/tc_image.h:

lib/kernel/kernel.h:

lib/base/pool.h:
