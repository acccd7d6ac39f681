/* torch.save's ZIP form: a pickle of an OrderedDict of tensors, one record a storage, as PyTorch writes them. */
#include "file/content.h"
#include "file/zip.h"

#include <stdio.h>

static const char ROOT[] = "archive/";

/* Class of the storage; NULL: there is none, the tensor is rebuilt from bytes with its type beside it. */
static const char *storage_class(tc_dtype d) {
    switch (d) {
    case TC_F64: return "DoubleStorage";
    case TC_F32: return "FloatStorage";
    case TC_F16: return "HalfStorage";
    case TC_BF16: return "BFloat16Storage";
    case TC_I64: return "LongStorage";
    case TC_I32: return "IntStorage";
    case TC_I16: return "ShortStorage";
    case TC_I8: return "CharStorage";
    case TC_U8: return "ByteStorage";
    case TC_BOOL: return "BoolStorage";
    case TC_C64: return "ComplexFloatStorage";
    case TC_C128: return "ComplexDoubleStorage";
    default: return NULL;
    }
}

/* ---- the pickle, protocol 2 ---- */
static void put_bytes(tc_buf *b, uint64_t v, int n) {
    for (int i = 0; i < n; i++) tc_buf_putc(b, (char)(v >> 8 * i));
}

static void put_text(tc_buf *b, const char *s) {
    size_t n = strlen(s);
    tc_buf_putc(b, 'X');
    put_bytes(b, n, 4);
    tc_buf_append(b, s, n);
}

static void put_int(tc_buf *b, int64_t v) {
    if (v >= 0 && v < 256) tc_buf_putc(b, 'K'), put_bytes(b, (uint64_t)v, 1);
    else if (v >= 0 && v < 65536) tc_buf_putc(b, 'M'), put_bytes(b, (uint64_t)v, 2);
    else if (v >= INT32_MIN && v <= INT32_MAX) tc_buf_putc(b, 'J'), put_bytes(b, (uint64_t)v, 4);
    else tc_buf_append(b, "\x8a\x08", 2), put_bytes(b, (uint64_t)v, 8);
}

static void put_sizes(tc_buf *b, const int64_t *v, int n) {
    if (n > 3) tc_buf_putc(b, '(');
    if (!n) tc_buf_putc(b, ')');
    for (int i = 0; i < n; i++) put_int(b, v[i]);
    if (n > 3) tc_buf_putc(b, 't');
    else if (n) tc_buf_putc(b, (char)(0x84 + n));
}

static void put_tensor(tc_buf *b, const tc_head *h, const char *key) {
    const char *class = storage_class(h->dtype);
    int64_t stride[TC_MAX_RANK], numel = 1;
    tc_contiguous_strides(h->rank, h->size, stride);
    for (int d = 0; d < h->rank; d++) numel *= h->size[d];
    tc_buf_puts(b, class ? "ctorch._utils\n_rebuild_tensor_v2\n((" : "ctorch._utils\n_rebuild_tensor_v3\n((");
    put_text(b, "storage");
    if (class) tc_buf_printf(b, "ctorch\n%s\n", class);
    else tc_buf_puts(b, "ctorch.storage\nUntypedStorage\n");
    put_text(b, key);
    put_text(b, "cpu");
    put_int(b, class ? numel : numel * (int64_t)tc_dtype_size(h->dtype));
    tc_buf_puts(b, "tQ");
    put_int(b, 0);
    put_sizes(b, h->size, h->rank);
    put_sizes(b, stride, h->rank);
    tc_buf_puts(b, "\x89"
                   "ccollections\nOrderedDict\n)R");
    if (!class) tc_buf_printf(b, "ctorch\n%s\n", tc_dtypes[h->dtype].torch);
    tc_buf_puts(b, "tR");
}

static void put_head(tc_buf *b, const tc_content *c, size_t i) {
    char key[24];
    snprintf(key, sizeof key, "%zu", c->heads[i].same_as);
    put_tensor(b, &c->heads[i], key);
}

static void put_pickle(tc_buf *b, const tc_content *c) {
    tc_buf_puts(b, "ccollections\nOrderedDict\n)R");
    if (c->n) tc_buf_putc(b, '(');
    for (size_t i = 0; i < c->n; i++) {
        put_text(b, c->heads[i].name);
        put_head(b, c, i);
    }
    if (c->n) tc_buf_putc(b, 'u');
}

static void put_double(tc_buf *b, double f) {
    uint64_t bits;
    memcpy(&bits, &f, 8);
    tc_buf_putc(b, 'G');
    for (int i = 7; i >= 0; i--) tc_buf_putc(b, (char)(bits >> 8 * i));
}

/* Depth is the caller's: a handful. */
static void put_node(tc_buf *b, const tc_content *c, const tc_saved_node *n) {
    switch (n->kind) {
    case TC_SAVED_NONE: tc_buf_putc(b, 'N'); return;
    case TC_SAVED_BOOL: tc_buf_putc(b, n->i ? '\x88' : '\x89'); return;
    case TC_SAVED_INT: put_int(b, n->i); return;
    case TC_SAVED_FLOAT: put_double(b, n->f); return;
    case TC_SAVED_TEXT: put_text(b, n->text); return;
    case TC_SAVED_TENSOR: put_head(b, c, (size_t)n->i); return;
    case TC_SAVED_LIST: tc_buf_puts(b, "]("); break;
    case TC_SAVED_TUPLE: tc_buf_putc(b, '('); break;
    case TC_SAVED_DICT: tc_buf_puts(b, "}("); break;
    }
    for (size_t i = 0; i < n->items.len; i++) {
        const tc_saved_node *child = n->items.data[i];
        if (n->kind == TC_SAVED_DICT && child->key) put_text(b, child->key);
        else if (n->kind == TC_SAVED_DICT) put_int(b, child->number);
        put_node(b, c, child);
    }
    tc_buf_putc(b, n->kind == TC_SAVED_LIST ? 'e' : n->kind == TC_SAVED_TUPLE ? 't' : 'u');
}

static void mark_used(const tc_saved_node *n, const tc_content *c, bool *used) {
    if (n->kind == TC_SAVED_TENSOR) used[c->heads[n->i].same_as] = true;
    for (size_t i = 0; i < n->items.len; i++) mark_used(n->items.data[i], c, used);
}

static tc_status put_record(tc_zip_writer *w, tc_out *o, const tc_content *c, size_t i) {
    char name[64];
    uint32_t crc = 0;
    snprintf(name, sizeof name, "%sdata/%zu", ROOT, i);
    if (!c->unsummed) TC_TRY(c->stream(c->self, i, tc_sink_crc(&crc)));
    TC_TRY(tc_zip_begin(w, name, tc_head_bytes(&c->heads[i]), crc));
    return c->stream(c->self, i, tc_sink_out(o));
}

static tc_status put_small(tc_zip_writer *w, const char *name, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "%s%s", ROOT, name);
    return tc_zip_add(w, path, text, strlen(text));
}

static tc_status put_archive(tc_out *o, const tc_content *c, const tc_buf *pickle, const bool *used) {
    tc_zip_writer *w = tc_zip_writer_create(o, !c->unsummed);
    tc_status st = tc_zip_add(w, "archive/data.pkl", pickle->data, pickle->len);
    if (!st) st = put_small(w, ".format_version", "1");
    if (!st) st = put_small(w, ".storage_alignment", "64");
    if (!st) st = put_small(w, "byteorder", "little");
    for (size_t i = 0; i < c->n && !st; i++)
        if (c->heads[i].same_as == i && (!used || used[i])) st = put_record(w, o, c, i);
    if (!st) st = put_small(w, "version", "3\n");
    return tc_zip_writer_finish(w, st);
}

tc_status tc_saved_write_content(tc_out *o, const tc_content *c) {
    tc_buf pickle = {0};
    tc_buf_append(&pickle, "\x80\2", 2);
    put_pickle(&pickle, c);
    tc_buf_putc(&pickle, '.');
    tc_status st = put_archive(o, c, &pickle, NULL);
    tc_buf_free(&pickle);
    return st;
}

tc_status tc_saved_write_tree(tc_out *o, const tc_content *c, const tc_saved_node *root) {
    tc_buf pickle = {0};
    bool *used = tc_xcalloc(c->n + 1, sizeof *used);
    mark_used(root, c, used);
    tc_buf_append(&pickle, "\x80\2", 2);
    put_node(&pickle, c, root);
    tc_buf_putc(&pickle, '.');
    tc_status st = put_archive(o, c, &pickle, used);
    tc_buf_free(&pickle);
    free(used);
    return st;
}
