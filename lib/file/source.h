/* A byte source over a mapped file or a pipe, for readers that support both: mapped bytes are used in place; a pipe is read no further than needed, so
 * that a record can be processed before the next one arrives. */
#ifndef TC_FILE_SOURCE_H
#define TC_FILE_SOURCE_H

#include "base/file.h"
#include "tensor/tensor.h"

typedef struct {
    const char *name; /* for messages */
    tc_blob *blob;    /* NULL: fd */
    int fd;
    size_t pos;   /* bytes consumed so far */
    tc_buf ahead; /* pipe: bytes read but not consumed, from `begin` */
    size_t begin;
    bool ended;
    tc_storage *spare; /* of a record that is done with: the next storage, if it fits and nobody else holds it; or NULL */
} tc_source_bytes;

/* memcpy from p, in blob b (NULL: not mapped), releasing the file's pages on the way, so that large data is in memory only once. */
void tc_blob_copy(const tc_blob *b, void *to, const void *p, size_t n);

/* Reverses the bytes of each of the elements of `size` bytes that the n bytes at p hold. */
void tc_swap_bytes(unsigned char *p, size_t n, size_t size);

void tc_source_from_blob(tc_source_bytes *s, tc_blob *b);             /* takes a reference */
void tc_source_from_fd(tc_source_bytes *s, int fd, const char *name); /* fd stays the caller's; name is borrowed */
void tc_source_close(tc_source_bytes *s);
/* The next n bytes without consuming them; fewer only at the end. Valid until the next call. */
tc_status tc_source_peek(tc_source_bytes *s, size_t n, const unsigned char **out, size_t *out_n);
/* Consumes exactly n bytes; TC_CONTENT "cut short": there are fewer. Valid until the next call. */
tc_status tc_source_take(tc_source_bytes *s, size_t n, const char *what, const unsigned char **out);
/* The same as a storage: a view of the mapped file where its address is a multiple of align, else a copy. */
tc_status tc_source_take_storage(tc_source_bytes *s, size_t n, size_t align, const char *what, tc_storage **out);
/* Consumes the rest. */
tc_status tc_source_take_rest(tc_source_bytes *s, size_t align, tc_storage **out);
/* Consumes everything as one block; nothing may have been consumed before. */
tc_status tc_source_take_all(tc_source_bytes *s, tc_blob **out);
/* An error at the offset of the next byte. */
tc_status tc_source_error(const tc_source_bytes *s, tc_code code, const char *fmt, ...) TC_PRINTF(3, 4);

#endif
