/* What the fuzz targets share: bytes as a file that is never freed by the reader, and archives around a JSON text. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/file.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A blob over borrowed bytes; one reference stays with the caller. */
static inline tc_blob borrowed(const void *data, size_t n) {
    return (tc_blob){.data = (unsigned char *)(uintptr_t)data, .len = n, .name = (char *)(uintptr_t) "fuzz", .refs = 1 << 20};
}

static inline void put(tc_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) tc_buf_putc(b, i < 8 ? (char)(v >> 8 * i) : 0);
}

/* A ZIP archive of stored entries, as small as it can be. */
typedef struct {
    const char *name;
    const void *data;
    size_t n;
} member;
static inline void make_zip(tc_buf *b, const member *m, int count) {
    size_t begin[16];
    for (int i = 0; i < count; i++) {
        uint32_t crc = (uint32_t)crc32_z(0, m[i].data, m[i].n);
        begin[i] = b->len;
        put(b, 0x04034b50, 4), put(b, 20, 2), put(b, 0, 8), put(b, crc, 4), put(b, m[i].n, 4), put(b, m[i].n, 4), put(b, strlen(m[i].name), 2),
            put(b, 0, 2);
        tc_buf_puts(b, m[i].name);
        tc_buf_append(b, m[i].data, m[i].n);
    }
    size_t directory = b->len;
    for (int i = 0; i < count; i++) {
        uint32_t crc = (uint32_t)crc32_z(0, m[i].data, m[i].n);
        put(b, 0x02014b50, 4), put(b, 20, 2), put(b, 20, 2), put(b, 0, 8), put(b, crc, 4), put(b, m[i].n, 4), put(b, m[i].n, 4),
            put(b, strlen(m[i].name), 2), put(b, 0, 12), put(b, begin[i], 4);
        tc_buf_puts(b, m[i].name);
    }
    size_t size = b->len - directory;
    put(b, 0x06054b50, 4), put(b, 0, 4), put(b, (uint64_t)count, 2), put(b, (uint64_t)count, 2), put(b, size, 4), put(b, directory, 4), put(b, 0, 2);
}

#endif
