mincut.o: lib/pass/mincut.c lib/pass/mincut.h lib/base/mem.h \
  lib/base/status.h

lib/pass/mincut.h:

lib/base/mem.h:

lib/base/status.h:
