/* Writes ZIP archives in one pass: sizes and checksums are in the local headers, data begin at multiples of 64 bytes after a padding
 * field "FB" as in PyTorch's archives, records become ZIP64 where 32 bits are not enough. No dates: equal content gives equal bytes. */
#include "file/zip.h"

#include "base/crc32.h"

enum { ALIGN = 64, UTF8 = 0x0800 };

typedef struct {
    char *name;
    uint64_t size, begin;
    uint32_t crc;
} written;

struct tc_zip_writer {
    tc_out *out;
    uint64_t origin;
    bool sums;
    TC_VEC(written) entries;
    tc_buf line;
};

static void put16(tc_buf *b, uint32_t v) { tc_buf_append(b, &(unsigned char[]){(unsigned char)v, (unsigned char)(v >> 8)}, 2); }
static void put32(tc_buf *b, uint64_t v) { put16(b, (uint32_t)(v & 0xffff)), put16(b, (uint32_t)(v >> 16 & 0xffff)); }
static void put64(tc_buf *b, uint64_t v) { put32(b, v & UINT32_MAX), put32(b, v >> 32); }
static uint64_t clip(uint64_t v) { return v < UINT32_MAX ? v : UINT32_MAX; }

tc_zip_writer *tc_zip_writer_create(tc_out *o, bool sums) {
    tc_zip_writer *w = tc_xcalloc(1, sizeof *w);
    w->out = o;
    w->sums = sums;
    w->origin = tc_out_offset(o);
    return w;
}

tc_status tc_zip_add(tc_zip_writer *w, const char *name, const void *data, size_t n) {
    TC_TRY(tc_zip_begin(w, name, n, w->sums ? tc_crc32(0, data, n) : 0));
    return tc_out_write(w->out, data, n);
}

tc_status tc_zip_begin(tc_zip_writer *w, const char *name, uint64_t n, uint32_t crc) {
    size_t name_len = strlen(name);
    if (!name_len || name_len > 4096) return tc_error(TC_USAGE, "an archive entry with a name of %zu bytes", name_len);
    written e = {.name = tc_xstrdup(name), .size = n, .begin = tc_out_offset(w->out) - w->origin, .crc = crc};
    tc_vec_push(&w->entries, e);
    bool big = n >= UINT32_MAX;
    size_t head = 30 + name_len + (big ? 20 : 0) + 4, pad = (ALIGN - (e.begin + head) % ALIGN) % ALIGN;
    tc_buf *b = &w->line;
    b->len = 0;
    put32(b, 0x04034b50);
    put16(b, big ? 45 : 20);
    put16(b, UTF8);
    put16(b, 0);
    put32(b, 0);
    put32(b, e.crc);
    put32(b, clip(n));
    put32(b, clip(n));
    put16(b, (uint32_t)name_len);
    put16(b, (uint32_t)((big ? 20 : 0) + 4 + pad));
    tc_buf_append(b, name, name_len);
    if (big) put16(b, 1), put16(b, 16), put64(b, n), put64(b, n);
    tc_buf_append(b, "FB", 2);
    put16(b, (uint32_t)pad);
    for (size_t i = 0; i < pad; i++) tc_buf_putc(b, 'Z');
    return tc_out_write(w->out, b->data, b->len);
}

static void put_directory(tc_zip_writer *w, tc_buf *b) {
    for (size_t i = 0; i < w->entries.len; i++) {
        const written *e = &w->entries.data[i];
        size_t name_len = strlen(e->name), wide = (e->size >= UINT32_MAX ? 16 : 0) + (e->begin >= UINT32_MAX ? 8 : 0);
        put32(b, 0x02014b50);
        put16(b, wide ? 45 : 20);
        put16(b, wide ? 45 : 20);
        put16(b, UTF8);
        put16(b, 0);
        put32(b, 0);
        put32(b, e->crc);
        put32(b, clip(e->size));
        put32(b, clip(e->size));
        put16(b, (uint32_t)name_len);
        put16(b, (uint32_t)(wide ? wide + 4 : 0));
        put16(b, 0);
        put16(b, 0);
        put16(b, 0);
        put32(b, 0);
        put32(b, clip(e->begin));
        tc_buf_append(b, e->name, name_len);
        if (wide) put16(b, 1), put16(b, (uint32_t)wide);
        if (e->size >= UINT32_MAX) put64(b, e->size), put64(b, e->size);
        if (e->begin >= UINT32_MAX) put64(b, e->begin);
    }
}

static tc_status finish(tc_zip_writer *w) {
    tc_buf *b = &w->line;
    uint64_t begin = tc_out_offset(w->out) - w->origin, n = w->entries.len;
    b->len = 0;
    put_directory(w, b);
    uint64_t size = b->len;
    if (n >= UINT16_MAX || begin >= UINT32_MAX || size >= UINT32_MAX) {
        put32(b, 0x06064b50);
        put64(b, 44);
        put16(b, 45);
        put16(b, 45);
        put32(b, 0);
        put32(b, 0);
        put64(b, n);
        put64(b, n);
        put64(b, size);
        put64(b, begin);
        put32(b, 0x07064b50);
        put32(b, 0);
        put64(b, begin + size);
        put32(b, 1);
    }
    put32(b, 0x06054b50);
    put32(b, 0);
    put16(b, (uint32_t)(n < UINT16_MAX ? n : UINT16_MAX));
    put16(b, (uint32_t)(n < UINT16_MAX ? n : UINT16_MAX));
    put32(b, clip(size));
    put32(b, clip(begin));
    put16(b, 0);
    return tc_out_write(w->out, b->data, b->len);
}

tc_status tc_zip_writer_finish(tc_zip_writer *w, tc_status s) {
    if (!s) s = finish(w);
    for (size_t i = 0; i < w->entries.len; i++) free(w->entries.data[i].name);
    tc_vec_free(&w->entries);
    tc_buf_free(&w->line);
    free(w);
    return s;
}
