recipe.o: lib/train/recipe.c lib/train/recipe.h lib/base/yaml.h \
  lib/base/mem.h lib/base/status.h lib/tensor/dtype.h

lib/train/recipe.h:

lib/base/yaml.h:

lib/base/mem.h:

lib/base/status.h:

lib/tensor/dtype.h:
