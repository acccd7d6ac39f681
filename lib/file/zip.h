/* ZIP archives as PyTorch writes them: stored (uncompressed) entries with data aligned to 64 bytes, so that weights are used directly from the mapping.
 *
 *     tc_zip *z;
 *     TC_TRY(tc_zip_open(blob, &z));
 *     const tc_zip_entry *e = tc_zip_find(z, "mlp/models/model.json");
 *     TC_TRY(tc_zip_check(z, e));              // stored, and the checksum is right; reads every byte
 *     use(e->data, e->len);                    // inside the blob */
#ifndef TC_FILE_ZIP_H
#define TC_FILE_ZIP_H

#include "base/file.h"

typedef struct {
    const char *name;
    const unsigned char *data; /* raw bytes; compressed when method is not 0 */
    size_t len, offset;        /* bytes of data; where they begin in the file */
    size_t size;               /* once unpacked */
    uint32_t crc;
    int method; /* 0 stored, 8 deflated */
} tc_zip_entry;

typedef struct {
    tc_blob *blob;
    tc_zip_entry *entries; /* in the order of the central directory */
    size_t n;
    tc_map by_name;
    tc_arena arena;
    bool unsummed; /* written without checksums: all are 0 */
} tc_zip;

/* Opens an archive, checking the central directory against every local header: names, sizes, overlaps, bounds. Keeps a reference to the blob.
 * TC_CONTENT: damaged. */
tc_status tc_zip_open(tc_blob *b, tc_zip **out_zip);
void tc_zip_close(tc_zip *z);                                       /* NULL is allowed */
const tc_zip_entry *tc_zip_find(const tc_zip *z, const char *name); /* NULL when absent */
tc_status tc_zip_check(const tc_zip *z, const tc_zip_entry *e);     /* verifies an entry is stored and its checksum (not for `unsummed` archives) */
/* tc_zip_check for up to 1 MiB in total (*io_checked counts), or for everything if `all`. */
tc_status tc_zip_check_some(const tc_zip *z, const tc_zip_entry *e, bool all, size_t *io_checked);
/* The unpacked bytes as a blob of their own (caller releases), its checksum compared. Deflated entries only; TC_CONTENT when they unpack to
 * something else than they say, or to more than 64 MiB and 200 times what they take. */
tc_status tc_zip_inflate(const tc_zip *z, const tc_zip_entry *e, tc_blob **out_blob);

/* ---- writing ---- */
typedef struct tc_zip_writer tc_zip_writer;
tc_zip_writer *tc_zip_writer_create(tc_out *o, bool sums); /* borrows o, which may have bytes already; sums false: every checksum is 0 */
/* name: any UTF-8, no NUL. The data begin at a multiple of 64 bytes of the archive. */
tc_status tc_zip_add(tc_zip_writer *w, const char *name, const void *data, size_t n);
/* The same for data that come in pieces, whose size and CRC-32 are known before: begin, then exactly n bytes to the tc_out. */
tc_status tc_zip_begin(tc_zip_writer *w, const char *name, uint64_t n, uint32_t crc);
tc_status tc_zip_writer_finish(tc_zip_writer *w, tc_status s); /* directory and end when s is NULL; frees w; returns s or its own failure */

#endif
