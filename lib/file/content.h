/* Tensors on their way into a file: what they are is known before, their bytes come in pieces, so that a file larger than memory can be
 * written from others that are only mapped. */
#ifndef TC_FILE_CONTENT_H
#define TC_FILE_CONTENT_H

#include "file/tensors.h"

typedef struct {
    tc_status (*write)(void *self, const void *p, size_t n);
    void *self;
} tc_sink;
tc_sink tc_sink_out(tc_out *o);
tc_sink tc_sink_crc(uint32_t *io_crc); /* CRC-32 of what comes; begin with 0 */

typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    int64_t size[TC_MAX_RANK];
    size_t same_as; /* index of an earlier tensor over the same elements, or its own */
} tc_head;
typedef struct {
    const tc_head *heads;
    size_t n;
    /* The elements of head i in row-major order; called once or twice for each, in any order. */
    tc_status (*stream)(void *self, size_t i, tc_sink to);
    void *self;
    const tc_metadata *metadata;
    size_t nmetadata;
} tc_content;

size_t tc_head_bytes(const tc_head *h);
/* Tensors in memory as content; heads belongs to the caller (free). t is borrowed. */
tc_content tc_content_of(const tc_tensors *t, tc_head **out_heads);

tc_status tc_safetensors_write_content(tc_out *o, const tc_content *c);
tc_status tc_npz_write_content(tc_out *o, const tc_content *c);
tc_status tc_saved_write_content(tc_out *o, const tc_content *c); /* an OrderedDict as torch.save writes it: torch.load(weights_only=True) reads it */
tc_status tc_npy_write_content(tc_out *o, const tc_content *c);   /* one tensor */

#endif
