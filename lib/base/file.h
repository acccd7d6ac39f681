/* Files: inputs as one block of bytes (mapped, or spooled from a pipe), outputs that appear whole or not at all.
 *
 *     tc_blob *b;
 *     TC_TRY(tc_blob_open(path, &b), "reading model");    // "-" is stdin
 *     ... b->data, b->len ...
 *     tc_blob_release(b);
 *
 *     tc_out *o;
 *     TC_TRY(tc_out_open("run/x.pt2", &o));                // temporary file beside it; "-" is stdout; pipes and devices direct
 *     tc_status s = tc_out_write(o, p, n);
 *     s = tc_out_finish(o, s);                            // commits when s is NULL, else removes; returns the first failure */
#ifndef TC_BASE_FILE_H
#define TC_BASE_FILE_H

#include "base/mem.h"

#include <stdio.h>
#include <sys/stat.h>

typedef struct tc_blob {
    unsigned char *data; /* writable without changing the file (MAP_PRIVATE); NULL when len is 0 */
    size_t len;
    char *name;            /* for messages: the path, or "stdin" */
    bool mapped;           /* a later truncation of the file by others is SIGBUS (handled in cmd/) */
    int refs;              /* atomic */
    struct tc_blob *whole; /* of a slice: what it is a part of; else NULL */
} tc_blob;

/* Maps a regular file; reads anything else to its end: into memory, above 64 MiB into an unlinked file in $TMPDIR that is
 * then mapped. A directory is TC_ENV. */
tc_status tc_blob_open(const char *path, tc_blob **out_blob);
/* The same for content of known formats: a pipe that gives more than 64 MiB which begin otherwise is TC_CONTENT, since it may never end. */
typedef bool tc_blob_known(const void *data, size_t n);
tc_status tc_blob_open_known(const char *path, tc_blob_known *known, tc_blob **out_blob);
/* The same for an open descriptor, which stays open. A regular file is mapped from its beginning when its offset is 0. */
tc_status tc_blob_from_fd(int fd, const char *name, tc_blob **out_blob);
/* Takes ownership of memory from malloc. */
tc_blob *tc_blob_adopt(void *data, size_t n, const char *name);
/* n bytes from offset, which must be inside, as a blob with a name of its own. */
tc_blob *tc_blob_slice(tc_blob *b, size_t offset, size_t n, const char *name);
/* Releases the resident pages of n bytes at p, which are read again on demand. Does nothing if b is not mapped. */
void tc_blob_forget(const tc_blob *b, const void *p, size_t n);
tc_blob *tc_blob_retain(tc_blob *b);
void tc_blob_release(tc_blob *b);             /* NULL is allowed */
void tc_blob_deleter(void *blob, void *data); /* tc_blob_release in the form that tc_storage_wrap takes (ctx is the blob) */

typedef struct tc_out tc_out;
/* path "-" or NULL: stdout. Symbolic links are followed, so that the file they point to is replaced. Temporary files that killed writers of the same
 * file left are removed. */
tc_status tc_out_open(const char *path, tc_out **out_file);
tc_out *tc_out_memory(tc_buf *to);                          /* bytes are appended to a buffer, which is the caller's */
tc_status tc_out_write(tc_out *o, const void *p, size_t n); /* buffered */
tc_status tc_out_flush(tc_out *o);                          /* passes all bytes to the system, for pipes */
tc_status tc_out_sync(tc_out *o);                           /* writes a file to the disk, so that tc_out_finish only has to rename it */
uint64_t tc_out_offset(const tc_out *o);                    /* bytes written so far */
void tc_out_executable(tc_out *o);                          /* makes it executable for everyone who may read it */
/* s NULL: flush, fsync, rename, fsync of the folder. s an error: removes the temporary. Frees o in both cases (NULL is allowed). Returns s, or the
 * error of this call. */
tc_status tc_out_finish(tc_out *o, tc_status s);
/* The whole text or bytes to a path in one call. */
tc_status tc_file_write(const char *path, const void *p, size_t n);

/* Hooks by which a program removes temporaries when a signal ends it: weak functions that do nothing, replaced in cmd/signals.c. path stays valid
 * from made to gone. Between hold_signals(true) and hold_signals(false), while a file is created, renamed or removed, the thread takes no signal. */
void tc_temporary_made(const char *path);
void tc_temporary_gone(const char *path);
void tc_temporary_hold_signals(bool hold);

/* A folder that appears whole or not at all. The target must not exist or be an empty folder, which is kept on failure; links are followed. Files
 * are written into tc_out_dir_path, a temporary folder beside it; temporaries of killed writers of the same target are removed. tc_out_dir_finish
 * works like tc_out_finish. */
typedef struct tc_out_dir tc_out_dir;
tc_status tc_out_dir_open(const char *path, tc_out_dir **out_dir);
const char *tc_out_dir_path(const tc_out_dir *d);
tc_status tc_out_dir_finish(tc_out_dir *d, tc_status s);

const char *tc_path_last(const char *path); /* after the last slash */
/* The type of a path, links followed: st_mode & S_IFMT, 0 if nothing exists. TC_ENV if that cannot be determined. */
tc_status tc_path_type(const char *path, mode_t *out_type);
/* Is there a file at a path that was not given but found in a folder? TC_CONTENT: a pipe or a device, which would be waited for. */
tc_status tc_file_found(const char *path, bool *out_there);
/* The path after resolving links; its last component need not exist. The caller frees it. */
char *tc_path_follow(const char *path);
/* The names in a folder that `want` accepts, sorted by bytes, in the arena. TC_ENV if the folder cannot be read completely. */
tc_status tc_folder_names(tc_arena *a, const char *dir, bool (*want)(const char *name), char ***out, size_t *out_n);
/* A small text or JSON file, at most `limit` bytes, NUL-terminated; caller frees with tc_buf_free. */
tc_status tc_file_read(const char *path, size_t limit, tc_buf *out);
tc_status tc_fsync_dir(const char *dir);   /* makes renames inside it durable */
tc_status tc_make_dirs(const char *dir);   /* mkdir -p */
tc_status tc_remove_tree(const char *dir); /* rm -r, not following links; absent is success */
/* Writes all n bytes, through EINTR and short writes. TC_ENV with errno's text and `name`. */
tc_status tc_write_all(int fd, const void *p, size_t n, const char *name);

#endif
