/* safetensors: eight bytes of length, a JSON header, raw tensors. */
#ifndef TC_FILE_SAFETENSORS_H
#define TC_FILE_SAFETENSORS_H

#include "file/source.h"
#include "file/tensors.h"

/* Reads one file from the source into out. Sizes, offsets and overlaps are checked; unaligned data are copied. TC_CONTENT: malformed. */
tc_status tc_safetensors_read(tc_source_bytes *s, tc_tensors *out);
/* Writes tensors of any strides; data are sorted by element size (largest first), then by name: byte-identical to the reference implementation.
 * TC_UNSUPPORTED naming a type that the format lacks (c128, c32). */
tc_status tc_safetensors_write(tc_out *o, const tc_tensors *t);

#endif
