arena.o: lib/pass/arena.c lib/pass/arena.h lib/base/mem.h \
  lib/base/status.h

lib/pass/arena.h:

lib/base/mem.h:

lib/base/status.h:
