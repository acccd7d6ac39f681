/* Texts that the build packs into the library (build/gen/embed_*.c, build/gen/paste.c): sources in the model language, the C that emitted
 * programs are pasted from. Packed they are a quarter as long; nothing is unpacked before it is used. */
#ifndef TC_BASE_EMBEDDED_H
#define TC_BASE_EMBEDDED_H

#include "base/mem.h"

typedef struct tc_embedded {
    const char *name;
    const unsigned char *packed; /* gzip */
    size_t packed_len, len;      /* bytes packed and unpacked */
} tc_embedded;

extern const tc_embedded tc_embedded_sources[], tc_embedded_onnx_write[]; /* ended by an entry without a name */

/* Appends the text. */
void tc_embedded_append(tc_buf *out, const tc_embedded *e);

#endif
