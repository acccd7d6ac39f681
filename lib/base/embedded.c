/* Texts that the build packs into the library. See embedded.h. */
#include "base/embedded.h"
#include "base/status.h"

#include <zlib.h>

void tc_embedded_append(tc_buf *out, const tc_embedded *e) {
    tc_buf_reserve(out, e->len);
    z_stream z = {.next_in = (unsigned char *)e->packed,
                  .avail_in = (unsigned)e->packed_len,
                  .next_out = (unsigned char *)out->data + out->len,
                  .avail_out = (unsigned)e->len};
    int end = inflateInit2(&z, 15 + 16) == Z_OK ? inflate(&z, Z_FINISH) : Z_MEM_ERROR;
    size_t n = z.total_out;
    inflateEnd(&z);
    if (end == Z_MEM_ERROR) tc_no_memory(32768); /* zlib's window */
    if (end != Z_STREAM_END || n != e->len) TC_BUG("the text %s inside this program is damaged", e->name);
    out->len += n;
    out->data[out->len] = 0;
}
