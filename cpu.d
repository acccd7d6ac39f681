cpu.o: lib/base/cpu.c lib/base/cpu.h lib/base/status.h \
  build/gen/isa_rows.h lib/base/mem.h

lib/base/cpu.h:

lib/base/status.h:

build/gen/isa_rows.h:

lib/base/mem.h:
