cc.o: lib/codegen/cc.c lib/codegen/cc.h lib/base/mem.h lib/base/status.h \
  lib/base/cpu.h build/gen/isa_rows.h lib/base/file.h

lib/codegen/cc.h:

lib/base/mem.h:

lib/base/status.h:

lib/base/cpu.h:

build/gen/isa_rows.h:

lib/base/file.h:
