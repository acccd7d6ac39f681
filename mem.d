mem.o: lib/base/mem.c lib/base/mem.h lib/base/status.h

lib/base/mem.h:

lib/base/status.h:
