/* Streams of records. */
#include "file/stream.h"

#include "file/npy.h"
#include "file/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct tc_stream {
    tc_source_bytes source;
    char *name;
    int64_t count;
    size_t last, kept; /* a mapped file: where the last record begins; where the pages begin that may be resident */
    int own_fd;
};

static tc_stream *create(const char *name) {
    tc_stream *s = tc_xcalloc(1, sizeof *s);
    s->name = tc_xstrdup(name);
    s->own_fd = -1;
    return s;
}

tc_status tc_stream_open_fd(int fd, const char *name, tc_stream **out_stream) {
    struct stat info;
    tc_stream *s = create(name);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        tc_blob *b;
        tc_status st = tc_blob_from_fd(fd, s->name, &b);
        if (st) {
            tc_stream_close(s);
            return st;
        }
        tc_source_from_blob(&s->source, b);
        tc_blob_release(b);
    } else {
        tc_source_from_fd(&s->source, fd, s->name);
    }
    *out_stream = s;
    return NULL;
}

tc_status tc_stream_open(const char *path, tc_stream **out_stream) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) { /* a named pipe is read record by record */
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            TC_TRY(tc_stream_open_fd(fd, path, out_stream));
            (*out_stream)->own_fd = fd;
            return NULL;
        }
    }
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    tc_stream *s = create(path);
    tc_source_from_blob(&s->source, b);
    tc_blob_release(b);
    *out_stream = s;
    return NULL;
}

void tc_stream_close(tc_stream *s) {
    if (!s) return;
    tc_source_close(&s->source);
    if (s->own_fd >= 0) close(s->own_fd);
    free(s->name);
    free(s);
}

const char *tc_stream_name(const tc_stream *s) { return s->name; }

const char tc_image_format[] = "image";

/* An image takes the rest of the stream. */
static tc_status read_image(tc_source_bytes *source, tc_tensors *out) {
    tc_storage *bytes;
    tc_tensor t;
    TC_TRY(tc_source_take_rest(source, 1, &bytes));
    int64_t n = (int64_t)bytes->bytes, one = 1;
    tc_status st = tc_tensor_view(bytes, TC_U8, 1, &n, &one, 0, &t);
    tc_storage_release(bytes);
    out->format = tc_image_format;
    return st ? st : tc_tensors_add(out, "", t);
}

/* Formats that are read from the end of the file or by offsets: the file is the only record. */
static tc_status read_whole(tc_source_bytes *source, tc_tensors *out) {
    tc_blob *b;
    TC_TRY(tc_source_take_all(source, &b));
    tc_status st = tc_tensors_load_blob(b, out);
    tc_blob_release(b);
    return st;
}

/* Releases the pages of records before the last one, from time to time, so that memory does not grow with the number of records. */
static void forget(tc_stream *s, size_t next) {
    enum { PORTION = 1 << 20 };
    if (s->source.blob && s->last - s->kept >= PORTION) {
        tc_blob_forget(s->source.blob, s->source.blob->data + s->kept, s->last - s->kept);
        s->kept = s->last;
    }
    s->last = next;
}

/* Keeps the storage of a record that is done with for the next one, and its memory. */
static void reuse(tc_stream *s, tc_tensors *done) {
    tc_storage_release(s->source.spare);
    s->source.spare = NULL;
    if (done->items.len == 1) s->source.spare = tc_storage_retain(done->items.data[0].tensor.storage);
    tc_tensors_reset(done);
}

tc_status tc_stream_next(tc_stream *s, tc_tensors *out, bool *out_end) {
    const unsigned char *p;
    size_t n;
    tc_tensor t;
    tc_status st;
    *out_end = false;
    TC_TRY(tc_source_peek(&s->source, 9, &p, &n)); /* 9 bytes: no record is shorter */
    if (n == 0) {
        *out_end = true;
        return s->count ? NULL : tc_error(TC_CONTENT, "%s: nothing arrived: did the command before fail?", s->name);
    }
    forget(s, s->source.pos);
    reuse(s, out);
    tc_format f = tc_format_of(p, n);
    if (s->count && (f == TC_FORMAT_ZIP || f == TC_FORMAT_PICKLE)) f = TC_FORMAT_UNKNOWN; /* these formats cannot follow another record */
    switch (f) {
    case TC_FORMAT_NPY:
        st = tc_npy_read(&s->source, &t);
        if (!st) st = tc_tensors_add(out, "", t);
        break;
    case TC_FORMAT_SAFETENSORS: st = tc_safetensors_read(&s->source, out); break;
    case TC_FORMAT_IMAGE: st = read_image(&s->source, out); break;
    case TC_FORMAT_ZIP:
    case TC_FORMAT_PICKLE: st = read_whole(&s->source, out); break;
    default:
        st = tc_source_error(&s->source, TC_CONTENT,
                             "%s, expected .npy, .npz, safetensors, what torch.save wrote or an image (NAME:text= and NAME:raw= take bytes)",
                             s->count ? "what follows the last record is none" : tc_format_name(f));
    }
    if (st) {
        tc_tensors_deinit(out);
        return s->count ? tc_annotate(st, "record %lld", (long long)s->count) : st;
    }
    s->count++;
    return NULL;
}

tc_status tc_stream_rest(tc_stream *s, size_t align, tc_storage **out) { return tc_source_take_rest(&s->source, align, out); }
