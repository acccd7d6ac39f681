/* safetensors: eight bytes of length, a JSON header, raw tensors. */
#ifndef TC_FILE_SAFETENSORS_H
#define TC_FILE_SAFETENSORS_H

#include "file/source.h"
#include "file/tensors.h"

/* One file's worth from the source, added to out. Every size, offset and overlap is checked; data without alignment are copied. */
tc_status tc_safetensors_read(tc_source_bytes *s, tc_tensors *out);
/* Tensors of any strides. Data stand by type, large elements first, then by name: the bytes are those of
 * the reference implementation.
 * TC_UNSUPPORTED naming a type that the format lacks (c128, c32). */
tc_status tc_safetensors_write(tc_out *o, const tc_tensors *t);

#endif
