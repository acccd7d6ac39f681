/* Reads ZIP archives. Every length and offset in the file is checked against the file's size, and local headers against the directory.
 * |     [local header, name, extra, data] ...   [central directory]   [ZIP64 end, locator]   [end record] */
#include "file/zip.h"

#include "base/crc32.h"

#include <zlib.h>

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, END64 = 0x06064b50, LOCATOR64 = 0x07064b50 };
enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56 };

static uint32_t u16(const unsigned char *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const unsigned char *p) { return u16(p) | u16(p + 2) << 16; }
static uint64_t u64(const unsigned char *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }

static tc_place at(const tc_blob *b, size_t offset) { return (tc_place){.file = b->name, .offset = (int64_t)offset}; }

typedef struct {
    uint64_t count, size, offset, end;
} directory; /* end: where the end record (or its ZIP64 form) begins */

static tc_status find_directory(const tc_blob *b, directory *out) {
    const unsigned char *p = b->data;
    if (b->len < END_BYTES) return tc_error_at(TC_CONTENT, at(b, b->len), "the file ends inside a ZIP archive");
    size_t low = b->len > END_BYTES + 65535 ? b->len - END_BYTES - 65535 : 0, e = b->len - END_BYTES;
    while (!(u32(p + e) == END && e + END_BYTES + u16(p + e + 20) == b->len)) {
        if (e-- == low) return tc_error_at(TC_CONTENT, at(b, b->len), "no end record of a ZIP archive: the file is cut short, or more was appended");
    }
    if (u16(p + e + 4) || u16(p + e + 6)) return tc_error_at(TC_UNSUPPORTED, at(b, e), "a ZIP archive of several volumes");
    *out = (directory){.count = u16(p + e + 10), .size = u32(p + e + 12), .offset = u32(p + e + 16), .end = e};
    if (e >= LOCATOR_BYTES && u32(p + e - LOCATOR_BYTES) == LOCATOR64) {
        uint64_t z = u64(p + e - LOCATOR_BYTES + 8);
        if (z > e - LOCATOR_BYTES || e - LOCATOR_BYTES - z < END64_BYTES || u32(p + z) != END64)
            return tc_error_at(TC_CONTENT, at(b, e - LOCATOR_BYTES), "the ZIP64 end record is not where its locator says");
        *out = (directory){.count = u64(p + z + 32), .size = u64(p + z + 40), .offset = u64(p + z + 48), .end = z};
    }
    if (out->offset > out->end || out->size != out->end - out->offset)
        return tc_error_at(TC_CONTENT, at(b, e), "the central directory (%llu bytes at %llu) does not end where the end record begins, %llu",
                           (unsigned long long)out->size, (unsigned long long)out->offset, (unsigned long long)out->end);
    if (out->count > out->size / CENTRAL_BYTES)
        return tc_error_at(TC_CONTENT, at(b, e), "%llu entries in a directory of %llu bytes", (unsigned long long)out->count,
                           (unsigned long long)out->size);
    return NULL;
}

/* Values of the ZIP64 extra field replace those fields that are 0xFFFFFFFF, in this order. */
static bool widen(const unsigned char *extra, size_t n, uint64_t *const *values, int count) {
    bool needed = false;
    for (int i = 0; i < count; i++) needed = needed || *values[i] == UINT32_MAX;
    if (!needed) return true;
    while (n >= 4) {
        size_t len = u16(extra + 2);
        if (len > n - 4) return false;
        if (u16(extra) == 1) {
            const unsigned char *v = extra + 4;
            for (int i = 0; i < count; i++) {
                if (*values[i] != UINT32_MAX) continue;
                if (len < 8) return false;
                *values[i] = u64(v);
                v += 8, len -= 8;
            }
            return true;
        }
        extra += 4 + len, n -= 4 + len;
    }
    return true; /* exactly 4 GiB - 1 */
}

/* Reads one directory record at *io_at and compares it with the entry's local header. */
static tc_status read_entry(tc_zip *z, size_t *io_at, const directory *dir, tc_zip_entry *e, size_t *out_begin) {
    const tc_blob *b = z->blob;
    const unsigned char *p = b->data + *io_at;
    size_t left = dir->end - *io_at;
    if (left < CENTRAL_BYTES || u32(p) != CENTRAL) return tc_error_at(TC_CONTENT, at(b, *io_at), "expected an entry of the central directory");
    size_t name_len = u16(p + 28), extra_len = u16(p + 30), comment_len = u16(p + 32), whole = CENTRAL_BYTES + name_len + extra_len + comment_len;
    if (whole > left) return tc_error_at(TC_CONTENT, at(b, *io_at), "an entry reaches beyond the central directory");
    const unsigned char *name = p + CENTRAL_BYTES;
    if (!name_len || memchr(name, 0, name_len)) return tc_error_at(TC_CONTENT, at(b, *io_at), "an entry without a name, or with NUL in it");
    e->name = tc_arena_strndup(&z->arena, (const char *)name, name_len);
    uint32_t flags = u16(p + 8);
    uint64_t packed = u32(p + 20), size = u32(p + 24), begin = u32(p + 42);
    if (!widen(name + name_len, extra_len, (uint64_t *const[]){&size, &packed, &begin}, 3))
        return tc_error_at(TC_CONTENT, at(b, *io_at), "%s: a bad ZIP64 field", e->name);
    if (flags & 1) return tc_error_at(TC_UNSUPPORTED, at(b, *io_at), "%s is encrypted", e->name);
    if (begin > dir->offset || dir->offset - begin < LOCAL_BYTES || u32(b->data + begin) != LOCAL)
        return tc_error_at(TC_CONTENT, at(b, *io_at), "%s: no local header at byte %llu", e->name, (unsigned long long)begin);
    const unsigned char *l = b->data + begin;
    size_t local_name = u16(l + 26), local_extra = u16(l + 28), data = begin + LOCAL_BYTES + local_name + local_extra;
    if (data > dir->offset || packed > dir->offset - data)
        return tc_error_at(TC_CONTENT, at(b, begin), "%s: %llu bytes reach beyond the data of the archive", e->name, (unsigned long long)packed);
    if (local_name != name_len || memcmp(l + LOCAL_BYTES, name, name_len) != 0)
        return tc_error_at(TC_CONTENT, at(b, begin), "the local header names another entry than the directory, %s", e->name);
    uint64_t local_packed = u32(l + 18), local_size = u32(l + 22);
    if (!widen(l + LOCAL_BYTES + local_name, local_extra, (uint64_t *const[]){&local_size, &local_packed}, 2))
        return tc_error_at(TC_CONTENT, at(b, begin), "%s: a bad ZIP64 field", e->name);
    bool deferred = u16(l + 6) & 8; /* bit 3: sizes follow the data, so those in the local header may be 0 */
    if (u16(l + 8) != u16(p + 10) || (!(deferred && local_packed == 0 && local_size == 0) && (local_packed != packed || local_size != size)) ||
        (!(deferred && u32(l + 14) == 0) && u32(l + 14) != u32(p + 16)))
        return tc_error_at(TC_CONTENT, at(b, begin), "%s: the local header and the directory differ in size, method or checksum", e->name);
    e->method = (int)u16(p + 10);
    e->crc = u32(p + 16);
    e->len = packed;
    e->size = size;
    e->offset = data;
    e->data = b->data + data;
    if (e->method == 0 && packed != size)
        return tc_error_at(TC_CONTENT, at(b, begin), "%s: stored, but %llu bytes become %llu", e->name, (unsigned long long)packed,
                           (unsigned long long)size);
    *io_at += whole;
    *out_begin = begin;
    return NULL;
}

typedef struct {
    size_t begin, end;
    const char *name;
} extent;
static int by_begin(const void *a, const void *b) {
    const extent *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static tc_status read_entries(tc_zip *z) {
    directory dir = {0};
    TC_TRY(find_directory(z->blob, &dir));
    z->entries = TC_NEWN(&z->arena, tc_zip_entry, dir.count ? dir.count : 1);
    extent *extents = TC_NEWN(&z->arena, extent, dir.count ? dir.count : 1);
    size_t place = dir.offset;
    z->unsummed = true;
    for (; z->n < dir.count; z->n++) {
        tc_zip_entry *e = &z->entries[z->n];
        size_t begin = 0, line = place;
        TC_TRY(read_entry(z, &place, &dir, e, &begin));
        extents[z->n] = (extent){begin, e->offset + e->len, e->name};
        void **slot = tc_map_put(&z->by_name, e->name, strlen(e->name));
        if (*slot) return tc_error_at(TC_CONTENT, at(z->blob, line), "two entries are named %s", e->name);
        *slot = e;
        z->unsummed &= !e->crc;
    }
    if (place != dir.end) return tc_error_at(TC_CONTENT, at(z->blob, place), "the central directory has more than its %zu entries", z->n);
    qsort(extents, z->n, sizeof *extents, by_begin);
    for (size_t i = 1; i < z->n; i++)
        if (extents[i].begin < extents[i - 1].end)
            return tc_error_at(TC_CONTENT, at(z->blob, extents[i].begin), "%s and %s overlap", extents[i - 1].name, extents[i].name);
    return NULL;
}

tc_status tc_zip_open(tc_blob *b, tc_zip **out_zip) {
    tc_zip *z = tc_xcalloc(1, sizeof *z);
    z->blob = tc_blob_retain(b);
    tc_status st = read_entries(z);
    if (st) {
        tc_zip_close(z);
        return st;
    }
    *out_zip = z;
    return NULL;
}

void tc_zip_close(tc_zip *z) {
    if (!z) return;
    tc_map_free(&z->by_name);
    tc_arena_free(&z->arena);
    tc_blob_release(z->blob);
    free(z);
}

const tc_zip_entry *tc_zip_find(const tc_zip *z, const char *name) { return tc_map_find(&z->by_name, name); }

tc_status tc_zip_check(const tc_zip *z, const tc_zip_entry *e) {
    if (e->method != 0)
        return tc_error_at(TC_UNSUPPORTED, at(z->blob, e->offset), "%s is compressed (method %d), expected a stored entry", e->name, e->method);
    if (z->unsummed) return NULL;
    enum { PIECE = 16 << 20 };
    uint32_t crc = 0;
    for (size_t done = 0, n; done < e->len; done += n) { /* in parts whose pages are released, so that large entries use little memory */
        n = e->len - done < PIECE ? e->len - done : PIECE;
        crc = tc_crc32(crc, e->data + done, n);
        if (e->len > 4 * PIECE) tc_blob_forget(z->blob, e->data + done, n);
    }
    if (crc != e->crc) return tc_error_at(TC_CONTENT, at(z->blob, e->offset), "%s is damaged: its checksum is wrong", e->name);
    return NULL;
}

tc_status tc_zip_check_some(const tc_zip *z, const tc_zip_entry *e, bool all, size_t *io_checked) {
    if (!all && (*io_checked >= 1 << 20 || e->len > (1 << 20) - *io_checked)) return NULL;
    *io_checked += e->len;
    TC_TRY(tc_zip_check(z, e));
    if (all) tc_blob_forget(z->blob, e->data, e->len);
    return NULL;
}

static tc_status inflate_into(const tc_zip *z, const tc_zip_entry *e, unsigned char *to) {
    z_stream s = {0};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return tc_error(TC_ENV, "zlib cannot start");
    size_t in = 0, out = 0;
    int rc = Z_OK;
    while (rc == Z_OK && (in < e->len || s.avail_in)) { /* zlib's counters have 32 bits */
        uInt give = (uInt)(e->len - in < 1u << 30 ? e->len - in : 1u << 30), room = (uInt)(e->size - out < 1u << 30 ? e->size - out : 1u << 30);
        s.next_in = (unsigned char *)(uintptr_t)(e->data + in), s.avail_in = give;
        s.next_out = to + out, s.avail_out = room;
        rc = inflate(&s, Z_NO_FLUSH);
        in += give - s.avail_in, out += room - s.avail_out;
        if (give - s.avail_in == 0 && room - s.avail_out == 0) break;
    }
    inflateEnd(&s);
    if (rc != Z_STREAM_END || in != e->len || out != e->size)
        return tc_error_at(TC_CONTENT, at(z->blob, e->offset), "%s does not unpack to its %zu bytes", e->name, e->size);
    if (!z->unsummed && tc_crc32(0, to, e->size) != e->crc)
        return tc_error_at(TC_CONTENT, at(z->blob, e->offset), "%s is damaged: its checksum is wrong", e->name);
    return NULL;
}

tc_status tc_zip_inflate(const tc_zip *z, const tc_zip_entry *e, tc_blob **out_blob) {
    if (e->method != 8)
        return tc_error_at(TC_UNSUPPORTED, at(z->blob, e->offset), "%s is compressed by method %d, expected deflate", e->name, e->method);
    if (e->size > 64 << 20 && e->size / 200 > e->len)
        return tc_error_at(TC_CONTENT, at(z->blob, e->offset), "%s: %zu bytes that unpack to %zu: too much to be data", e->name, e->len, e->size);
    unsigned char *to = malloc(e->size + 1);
    if (!to) return tc_error(TC_ENV, "out of memory: %zu bytes", e->size);
    tc_status st = inflate_into(z, e, to);
    if (st) {
        free(to);
        return st;
    }
    tc_buf name = {0};
    tc_buf_printf(&name, "%s: %s", z->blob->name, e->name);
    *out_blob = tc_blob_adopt(to, e->size, name.data);
    tc_buf_free(&name);
    return NULL;
}
