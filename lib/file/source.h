/* Bytes in order from a mapped file or a pipe, for readers that serve both: what is mapped is used in place, what comes from a
 * pipe is read as it is needed and no further, so that a record can be worked on before the next one arrives. */
#ifndef TC_FILE_SOURCE_H
#define TC_FILE_SOURCE_H

#include "base/file.h"
#include "tensor/tensor.h"

typedef struct {
    const char *name; /* for messages */
    tc_blob *blob;    /* NULL: fd */
    int fd;
    size_t pos;   /* bytes taken so far */
    tc_buf ahead; /* of a pipe: read, not yet taken, from `begin` */
    size_t begin;
    bool ended;
} tc_source_bytes;

/* memcpy of what b (NULL: nothing mapped) holds at p; the file's pages are given back on the way, so that memory holds large data once. */
void tc_blob_copy(const tc_blob *b, void *to, const void *p, size_t n);

void tc_source_from_blob(tc_source_bytes *s, tc_blob *b);             /* takes a reference */
void tc_source_from_fd(tc_source_bytes *s, int fd, const char *name); /* fd stays the caller's; name is borrowed */
void tc_source_close(tc_source_bytes *s);
/* Up to n bytes that come next, without taking them; fewer only at the end. Valid until the next call. */
tc_status tc_source_peek(tc_source_bytes *s, size_t n, const unsigned char **out, size_t *out_n);
/* Exactly n bytes, taken; TC_CONTENT "cut short" when there are fewer. Valid until the next call. */
tc_status tc_source_take(tc_source_bytes *s, size_t n, const char *what, const unsigned char **out);
/* The same as a storage: a view of the mapped file where its address is a multiple of align, else a copy. */
tc_status tc_source_take_storage(tc_source_bytes *s, size_t n, size_t align, const char *what, tc_storage **out);
/* Everything that is left. */
tc_status tc_source_take_rest(tc_source_bytes *s, size_t align, tc_storage **out);
/* All of it from its beginning, of which nothing has been taken yet, as one block. */
tc_status tc_source_take_all(tc_source_bytes *s, tc_blob **out);
/* A failure at the place of the next byte. */
tc_status tc_source_error(const tc_source_bytes *s, tc_code code, const char *fmt, ...) TC_PRINTF(3, 4);

#endif
