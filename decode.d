decode.o: lib/kernel/image/decode.c lib/kernel/image/tc_image.h

lib/kernel/image/tc_image.h:
