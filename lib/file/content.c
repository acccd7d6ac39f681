/* Content from memory, sinks, and the two formats of NumPy. */
#include "file/content.h"

#include "base/crc32.h"
#include "file/npy.h"
#include "file/pack.h"
#include "file/zip.h"

static tc_status to_out(void *self, const void *p, size_t n) { return tc_out_write(self, p, n); }
tc_sink tc_sink_out(tc_out *o) { return (tc_sink){to_out, o}; }

static tc_status to_crc(void *self, const void *p, size_t n) {
    uint32_t *crc = self;
    *crc = tc_crc32(*crc, p, n);
    return NULL;
}
tc_sink tc_sink_crc(uint32_t *io_crc) { return (tc_sink){to_crc, io_crc}; }

size_t tc_head_bytes(const tc_head *h) {
    size_t n = tc_dtype_size(h->dtype);
    for (int d = 0; d < h->rank; d++) n *= (size_t)h->size[d];
    return n;
}

static tc_status from_memory(void *self, size_t i, tc_sink to) {
    const tc_tensors *t = self;
    tc_tensor c;
    TC_TRY(tc_tensor_contiguous(&t->items.data[i].tensor, &c));
    size_t n = tc_tensor_bytes(&c);
    tc_status st = n ? to.write(to.self, tc_tensor_data(&c), n) : NULL;
    tc_tensor_deinit(&c);
    return st;
}

tc_content tc_content_of(const tc_tensors *t, tc_head **out_heads) {
    tc_head *h = tc_xcalloc(t->items.len + 1, sizeof *h);
    for (size_t i = 0; i < t->items.len; i++) {
        const tc_tensor *x = &t->items.data[i].tensor;
        h[i] = (tc_head){.name = t->items.data[i].name, .dtype = x->dtype, .rank = x->rank, .same_as = i};
        memcpy(h[i].size, x->size, sizeof h[i].size);
    }
    *out_heads = h;
    return (tc_content){h, t->items.len, from_memory, (void *)(uintptr_t)t, t->metadata.data, t->metadata.len};
}

static tc_status put_array(const tc_content *c, size_t i, tc_sink to) {
    const tc_head *h = &c->heads[i];
    tc_buf head = {0};
    TC_TRY(tc_npy_header(&head, h->dtype, h->rank, h->size), "%s", h->name);
    tc_status st = to.write(to.self, head.data, head.len);
    if (!st) st = c->stream(c->self, i, to);
    tc_buf_free(&head);
    return st;
}

tc_status tc_npy_write_content(tc_out *o, const tc_content *c) {
    if (c->n != 1) return tc_error(TC_USAGE, ".npy holds one array, there are %zu: give --to npz or safetensors", c->n);
    return put_array(c, 0, tc_sink_out(o));
}

/* The name of a ZIP member is a path when the archive is unpacked. True if it stays inside the folder. */
static bool stays_below(const char *name) {
    if (*name == '/') return false;
    for (const char *p = name;; p++) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') return false;
        p += n;
        if (!*p) return true;
    }
}

tc_status tc_npz_write_content(tc_out *o, const tc_content *c) {
    tc_status st = NULL;
    for (size_t i = 0; i < c->n; i++) { /* before anything is written */
        tc_buf head = {0};
        if (!stays_below(c->heads[i].name))
            return tc_error(TC_CONTENT, "%s: a path that leads out of its folder cannot be a name in an .npz", c->heads[i].name);
        TC_TRY(tc_npy_header(&head, c->heads[i].dtype, c->heads[i].rank, c->heads[i].size), "%s", c->heads[i].name);
        tc_buf_free(&head);
    }
    tc_zip_writer *w = tc_zip_writer_create(o, true);
    for (size_t i = 0; i < c->n && !st; i++) {
        uint32_t crc = 0;
        tc_buf head = {0}, name = {0};
        st = tc_npy_header(&head, c->heads[i].dtype, c->heads[i].rank, c->heads[i].size);
        if (!st) st = put_array(c, i, tc_sink_crc(&crc));
        tc_buf_printf(&name, "%s.npy", c->heads[i].name);
        if (!st) st = tc_zip_begin(w, name.data, head.len + tc_head_bytes(&c->heads[i]), crc);
        if (!st) st = put_array(c, i, tc_sink_out(o));
        tc_buf_free(&head);
        tc_buf_free(&name);
    }
    return tc_zip_writer_finish(w, st);
}
