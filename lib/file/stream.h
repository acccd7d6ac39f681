/* Streams of records: .npy arrays or safetensors files one after another, in a file or a pipe; or one .npz, one file of torch.save, one image. */
#ifndef TC_FILE_STREAM_H
#define TC_FILE_STREAM_H

#include "file/source.h"
#include "file/tensors.h"

typedef struct tc_stream tc_stream;

tc_status tc_stream_open(const char *path, tc_stream **out_stream);            /* a file; mapped when it is a regular one */
tc_status tc_stream_open_fd(int fd, const char *name, tc_stream **out_stream); /* stdin */
void tc_stream_close(tc_stream *s);                                            /* NULL is allowed */
/* The next record into *out ({0}, or a record that is done with, whose memory is used again): a record of .npy is one tensor named "". *out_end: there is none. From a pipe, reads no more than the
 * record. An image: its bytes, one tensor named "" with `format` tc_image_format. TC_CONTENT names the record. Of a mapped file the pages of records
 * before the last two are released: what was written to them is lost, what is read is read again. */
tc_status tc_stream_next(tc_stream *s, tc_tensors *out, bool *out_end);
/* Reads the rest as bytes: for formats without structure (text, raw). */
tc_status tc_stream_rest(tc_stream *s, size_t align, tc_storage **out);
extern const char tc_image_format[];
const char *tc_stream_name(const tc_stream *s);

#endif
