json_write.o: lib/base/json_write.c lib/base/json_write.h lib/base/mem.h \
  lib/base/status.h

lib/base/json_write.h:

lib/base/mem.h:

lib/base/status.h:
