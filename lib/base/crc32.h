/* The CRC-32 of ZIP archives and PNG (polynomial 0xEDB88320, reflected), as zlib's crc32_z, by carry-less products where the CPU has them. */
#ifndef TC_BASE_CRC32_H
#define TC_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum after n more bytes; crc: that of the bytes before (0: none). */
uint32_t tc_crc32(uint32_t crc, const void *data, size_t n);

#endif
