/* Sequential bytes: one interface to a mapped file and to a pipe. */
#include "file/source.h"

#include <errno.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, COPY = 16 << 20 };

void tc_blob_copy(const tc_blob *b, void *to, const void *p, size_t n) {
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < COPY ? n - at : COPY;
        memcpy((char *)to + at, (const char *)p + at, k);
        if (b && n > CHUNK) tc_blob_forget(b, (const char *)p + at, k);
    }
}

void tc_swap_bytes(unsigned char *p, size_t n, size_t size) {
    for (; n >= size; p += size, n -= size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char t = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = t;
        }
}

void tc_source_from_blob(tc_source_bytes *s, tc_blob *b) { *s = (tc_source_bytes){.name = b->name, .blob = tc_blob_retain(b), .fd = -1}; }
void tc_source_from_fd(tc_source_bytes *s, int fd, const char *name) { *s = (tc_source_bytes){.name = name, .fd = fd}; }

void tc_source_close(tc_source_bytes *s) {
    tc_blob_release(s->blob);
    tc_buf_free(&s->ahead);
    tc_storage_release(s->spare);
    *s = (tc_source_bytes){.fd = -1};
}

tc_status tc_source_error(const tc_source_bytes *s, tc_code code, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_status st = tc_error_at(code, (tc_place){.file = s->name, .offset = (int64_t)s->pos}, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

static tc_status read_some(tc_source_bytes *s, void *dst, size_t n, size_t *out_n) {
    ssize_t got;
    do got = read(s->fd, dst, n);
    while (got < 0 && errno == EINTR);
    if (got < 0) return tc_error(TC_ENV, "%s: cannot read: %s", s->name, strerror(errno));
    *out_n = (size_t)got;
    s->ended = got == 0;
    return NULL;
}

static size_t buffered(const tc_source_bytes *s) { return s->ahead.len - s->begin; }

/* Reads until n bytes of a pipe are buffered, or it ends. Never reads more: the next record may arrive much later. */
static tc_status fill(tc_source_bytes *s, size_t n) {
    if (s->begin) {
        memmove(s->ahead.data, s->ahead.data + s->begin, buffered(s));
        s->ahead.len -= s->begin;
        s->begin = 0;
    }
    while (s->ahead.len < n && !s->ended) {
        size_t want = n - s->ahead.len < CHUNK ? n - s->ahead.len : CHUNK, got;
        tc_buf_reserve(&s->ahead, want);
        TC_TRY(read_some(s, s->ahead.data + s->ahead.len, want, &got));
        s->ahead.len += got;
    }
    return NULL;
}

tc_status tc_source_peek(tc_source_bytes *s, size_t n, const unsigned char **out, size_t *out_n) {
    if (s->blob) {
        size_t left = s->blob->len - s->pos;
        *out = s->blob->data + s->pos;
        *out_n = n < left ? n : left;
        return NULL;
    }
    TC_TRY(fill(s, n));
    *out = (const unsigned char *)s->ahead.data + s->begin;
    *out_n = n < buffered(s) ? n : buffered(s);
    return NULL;
}

static tc_status cut_short(const tc_source_bytes *s, size_t n, size_t found, const char *what) {
    return tc_source_error(s, TC_CONTENT, "cut short: %s has %zu bytes, %zu are there", what, n, found);
}

tc_status tc_source_take(tc_source_bytes *s, size_t n, const char *what, const unsigned char **out) {
    size_t found;
    TC_TRY(tc_source_peek(s, n, out, &found));
    if (found < n) return cut_short(s, n, found, what);
    s->pos += n;
    if (!s->blob) s->begin += n;
    return NULL;
}

static tc_status grow(tc_storage **io, size_t used, size_t want) {
    tc_storage *bigger;
    TC_TRY(tc_storage_alloc(want, &bigger));
    if (used) memcpy(bigger->data, (*io)->data, used);
    tc_storage_release(*io);
    *io = bigger;
    return NULL;
}

/* The spare storage, if nobody else holds it and it is a view of blob `of`, or (NULL) has n bytes of its own; else NULL. */
static tc_storage *take_spare(tc_source_bytes *s, const tc_blob *of, size_t n) {
    tc_storage *t = s->spare;
    const bool view = t && t->deleter == tc_blob_deleter;
    if (!t || __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) != 1 || (of ? !view || t->ctx != of : view || t->bytes != n)) return NULL;
    s->spare = NULL;
    return t;
}

/* Reads n bytes (rest: all) of a pipe into a storage that grows as they arrive, so that a wrong size in a header allocates nothing. */
static tc_status gather(tc_source_bytes *s, size_t n, bool rest, const char *what, tc_storage **out) {
    tc_storage *st = take_spare(s, NULL, n);
    size_t cap = n < 64 * CHUNK ? n : 64 * CHUNK, used = buffered(s) < n ? buffered(s) : n;
    tc_status status = st ? NULL : tc_storage_alloc(cap > used ? cap : used, &st);
    if (status) return status;
    cap = st->bytes;
    if (used) memcpy(st->data, s->ahead.data + s->begin, used);
    s->begin += used;
    while (!status && used < n && !s->ended) {
        size_t got = 0;
        if (used == cap) {
            cap = n / 2 > cap ? 2 * cap : n;
            status = grow(&st, used, cap);
        }
        if (!status) status = read_some(s, (char *)st->data + used, cap - used < n - used ? cap - used : n - used, &got);
        used += got;
    }
    if (!status && used < n && !rest) status = cut_short(s, n, used, what);
    if (status) {
        tc_storage_release(st);
        return status;
    }
    s->pos += used;
    st->bytes = used;
    *out = st;
    return NULL;
}

tc_status tc_source_take_storage(tc_source_bytes *s, size_t n, size_t align, const char *what, tc_storage **out) {
    if (!s->blob) return gather(s, n, false, what, out);
    size_t left = s->blob->len - s->pos;
    if (n > left) return cut_short(s, n, left, what);
    unsigned char *p = s->blob->data + s->pos;
    if ((uintptr_t)p % align && n) {
        *out = take_spare(s, NULL, n);
        if (!*out) TC_TRY(tc_storage_alloc(n, out));
        tc_blob_copy(s->blob, (*out)->data, p, n);
    } else if ((*out = take_spare(s, s->blob, n))) {
        (*out)->data = p;
        (*out)->bytes = n;
    } else {
        *out = tc_storage_wrap(p, n, tc_blob_deleter, tc_blob_retain(s->blob));
        (*out)->read_only = true;
    }
    s->pos += n;
    return NULL;
}

tc_status tc_source_take_rest(tc_source_bytes *s, size_t align, tc_storage **out) {
    if (s->blob) return tc_source_take_storage(s, s->blob->len - s->pos, align, "the file", out);
    return gather(s, PTRDIFF_MAX, true, "the input", out);
}

tc_status tc_source_take_all(tc_source_bytes *s, tc_blob **out) {
    if (s->blob) {
        *out = tc_blob_retain(s->blob);
    } else {
        TC_TRY(fill(s, SIZE_MAX));
        *out = tc_blob_adopt(s->ahead.data, s->ahead.len, s->name);
        s->ahead = (tc_buf){0};
    }
    s->pos = (*out)->len;
    return NULL;
}
