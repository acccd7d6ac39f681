/* The ZIP form of torch.save, as PyTorch writes it: a pickle of an OrderedDict of tensors, or of containers around them, and one record for each
 * storage. */
#include "file/content.h"
#include "file/zip.h"

#include <stdio.h>

static const char ROOT[] = "archive/";

/* Class of the storage; NULL: there is none, and the tensor is rebuilt from bytes and a dtype. */
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

static void put_textn(tc_buf *b, const char *s, size_t n) {
    tc_buf_putc(b, 'X');
    put_bytes(b, n, 4);
    tc_buf_append(b, s, n);
}

static void put_text(tc_buf *b, const char *s) { put_textn(b, s, strlen(s)); }

static void put_global(tc_buf *b, const char *module_and_name) { tc_buf_printf(b, "c%s\n", module_and_name); }

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

static const char ordered[] = "ccollections\nOrderedDict\n)R";

static const char *rebuilder(tc_dtype d) { return storage_class(d) ? "torch._utils\n_rebuild_tensor_v2" : "torch._utils\n_rebuild_tensor_v3"; }

/* The arguments of the rebuild function of tensor i. */
static void put_tensor_arguments(tc_buf *b, const tc_content *c, size_t i, bool requires_grad) {
    const tc_head *h = &c->heads[i], *stored = &c->heads[h->same_as];
    const char *class = storage_class(h->dtype);
    char key[24];
    int64_t stride[TC_MAX_RANK], numel = 1;
    snprintf(key, sizeof key, "%zu", h->same_as);
    tc_contiguous_strides(h->rank, h->size, stride);
    for (int d = 0; d < stored->rank; d++) numel *= stored->size[d];
    tc_buf_puts(b, "((");
    put_text(b, "storage");
    if (class) tc_buf_printf(b, "ctorch\n%s\n", class);
    else tc_buf_puts(b, "ctorch.storage\nUntypedStorage\n");
    put_text(b, key);
    put_text(b, "cpu");
    put_int(b, class ? numel : numel * (int64_t)tc_dtype_size(h->dtype));
    tc_buf_puts(b, "tQ");
    put_int(b, h->at);
    put_sizes(b, h->size, h->rank);
    put_sizes(b, h->stride ? h->stride : stride, h->rank);
    tc_buf_putc(b, requires_grad ? '\x88' : '\x89');
    tc_buf_puts(b, ordered);
    if (!class) tc_buf_printf(b, "ctorch\n%s\n", tc_dtypes[h->dtype].torch);
    tc_buf_putc(b, 't');
}

static void put_head(tc_buf *b, const tc_content *c, size_t i, bool requires_grad) {
    put_global(b, rebuilder(c->heads[i].dtype));
    put_tensor_arguments(b, c, i, requires_grad);
    tc_buf_putc(b, 'R');
}

static void put_pickle(tc_buf *b, const tc_content *c) {
    tc_buf_puts(b, ordered);
    if (c->n) tc_buf_putc(b, '(');
    for (size_t i = 0; i < c->n; i++) {
        put_text(b, c->heads[i].name);
        put_head(b, c, i, false);
    }
    if (c->n) tc_buf_putc(b, 'u');
}

static void put_double(tc_buf *b, double f) {
    uint64_t bits;
    memcpy(&bits, &f, 8);
    tc_buf_putc(b, 'G');
    for (int i = 7; i >= 0; i--) tc_buf_putc(b, (char)(bits >> 8 * i));
}

typedef struct {
    tc_buf *b;
    const tc_content *c;
    uint32_t nmemo;
} tree_writer;

static void put_node(tree_writer *w, tc_saved_node *n);

/* Bytes in protocol 2: their Latin-1 text, which is encoded when it is read. */
static void put_raw(tc_buf *b, const char *s, size_t n) {
    size_t wide = n;
    for (size_t i = 0; i < n; i++) wide += s[i] < 0;
    put_global(b, "_codecs\nencode");
    tc_buf_putc(b, 'X');
    put_bytes(b, wide, 4);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c > 0x7f) tc_buf_putc(b, (char)(0xc0 | c >> 6));
        tc_buf_putc(b, c > 0x7f ? (char)(0x80 | (c & 0x3f)) : (char)c);
    }
    put_text(b, "latin1");
    tc_buf_puts(b, "\x86R");
}

static void put_long(tc_buf *b, const tc_saved_node *n) {
    if (n->i) {
        tc_buf_printf(b, "L%.*sL\n", (int)n->n, n->text);
        return;
    }
    tc_buf_putc(b, n->n < 256 ? '\x8a' : '\x8b');
    put_bytes(b, n->n, n->n < 256 ? 1 : 4);
    tc_buf_append(b, n->text, n->n);
}

/* Stores the value in the memo for later references. */
static void remember(tree_writer *w, tc_saved_node *n) {
    if (!n->named) return;
    n->memo = w->nmemo++;
    tc_buf_putc(w->b, 'r');
    put_bytes(w->b, n->memo, 4);
}

static void put_all(tree_writer *w, tc_saved_node *n) {
    for (size_t i = 0; i < n->items.len; i++) put_node(w, n->items.data[i]);
}

static void put_entries(tree_writer *w, tc_saved_node *n) {
    if (!n->items.len) return;
    tc_buf_putc(w->b, '(');
    for (size_t i = 0; i < n->items.len; i++) {
        tc_saved_node *child = n->items.data[i];
        if (child->key) put_textn(w->b, child->key, child->nkey ? child->nkey : strlen(child->key));
        else if (child->other_key) put_node(w, child->other_key);
        else put_int(w->b, child->number);
        put_node(w, child);
    }
    tc_buf_putc(w->b, 'u');
}

static void put_dict(tree_writer *w, tc_saved_node *n) {
    const bool factory = n->made_by && n->state && strstr(n->made_by, "defaultdict");
    if (!n->made_by) tc_buf_putc(w->b, '}');
    else put_global(w->b, n->made_by);
    if (factory) put_node(w, n->state);
    if (n->made_by) tc_buf_puts(w->b, factory ? "\x85R" : ")R");
    remember(w, n);
    put_entries(w, n);
    if (!n->state || factory) return;
    put_node(w, n->state);
    tc_buf_putc(w->b, 'b');
}

static void put_object(tree_writer *w, tc_saved_node *n) {
    put_node(w, n->items.data[0]);
    put_node(w, n->items.data[1]);
    tc_buf_putc(w->b, n->i ? '\x81' : 'R');
    remember(w, n);
    if (n->items.data[2]->items.len) {
        tc_buf_putc(w->b, '(');
        put_all(w, n->items.data[2]);
        tc_buf_putc(w->b, 'e');
    }
    put_entries(w, n->items.data[3]);
    if (n->items.len < 5) return;
    put_node(w, n->items.data[4]);
    tc_buf_putc(w->b, 'b');
}

/* A tensor with attributes is rebuilt by its type, a parameter from its tensor. */
static void put_tensor(tree_writer *w, tc_saved_node *n) {
    const size_t head = (size_t)n->i;
    tc_saved_node *state = n->items.len ? n->items.data[0] : NULL;
    if (n->parameter) {
        put_global(w->b, state ? "torch._utils\n_rebuild_parameter_with_state" : "torch._utils\n_rebuild_parameter");
        tc_buf_putc(w->b, '(');
        put_head(w->b, w->c, head, false);
        tc_buf_putc(w->b, n->requires_grad ? '\x88' : '\x89');
        tc_buf_puts(w->b, ordered);
    } else if (state) {
        put_global(w->b, "torch._tensor\n_rebuild_from_type_v2");
        tc_buf_putc(w->b, '(');
        put_global(w->b, rebuilder(w->c->heads[head].dtype));
        put_global(w->b, "torch\nTensor");
        put_tensor_arguments(w->b, w->c, head, n->requires_grad);
    } else {
        put_head(w->b, w->c, head, n->requires_grad);
        return;
    }
    if (state) put_node(w, state);
    tc_buf_puts(w->b, "tR");
}

/* The caller limits the depth to a few hundred. */
static void put_node(tree_writer *w, tc_saved_node *n) {
    tc_buf *b = w->b;
    const size_t bytes = n->n || !n->text ? n->n : strlen(n->text);
    switch (n->kind) {
    case TC_SAVED_NONE: tc_buf_putc(b, 'N'); break;
    case TC_SAVED_BOOL: tc_buf_putc(b, n->i ? '\x88' : '\x89'); break;
    case TC_SAVED_INT: put_int(b, n->i); break;
    case TC_SAVED_FLOAT: put_double(b, n->f); break;
    case TC_SAVED_TEXT: put_textn(b, n->text, bytes); break;
    case TC_SAVED_BYTES: put_raw(b, n->text, bytes); break;
    case TC_SAVED_LONG: put_long(b, n); break;
    case TC_SAVED_GLOBAL: put_global(b, n->text); break;
    case TC_SAVED_TENSOR: put_tensor(w, n); break;
    case TC_SAVED_LIST:
        tc_buf_putc(b, ']');
        remember(w, n);
        tc_buf_putc(b, '(');
        put_all(w, n);
        tc_buf_putc(b, 'e');
        break;
    case TC_SAVED_TUPLE:
        tc_buf_putc(b, '(');
        put_all(w, n);
        tc_buf_putc(b, 't');
        break;
    case TC_SAVED_SET:
        put_global(b, n->made_by ? n->made_by : "__builtin__\nset");
        tc_buf_puts(b, "](");
        put_all(w, n);
        tc_buf_puts(b, "e\x85R");
        break;
    case TC_SAVED_DICT: put_dict(w, n); break;
    case TC_SAVED_OBJECT: put_object(w, n); break;
    case TC_SAVED_WITHIN:
        tc_buf_putc(b, 'j');
        put_bytes(b, n->of->memo, 4);
        break;
    }
}

void tc_saved_node_free(tc_saved_node *n) {
    if (!n) return;
    tc_saved_node_free(n->other_key);
    tc_saved_node_free(n->state);
    for (size_t i = 0; i < n->items.len; i++) tc_saved_node_free(n->items.data[i]);
    tc_vec_free(&n->items);
}

static void mark_used(const tc_saved_node *n, const tc_content *c, bool *used) {
    if (n->kind == TC_SAVED_TENSOR) used[c->heads[n->i].same_as] = true;
    for (size_t i = 0; i < n->items.len; i++) mark_used(n->items.data[i], c, used);
    if (n->state) mark_used(n->state, c, used);
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

tc_status tc_saved_write_tree(tc_out *o, const tc_content *c, tc_saved_node *root) {
    tc_buf pickle = {0};
    tree_writer w = {&pickle, c, 0};
    bool *used = tc_xcalloc(c->n + 1, sizeof *used);
    mark_used(root, c, used);
    tc_buf_append(&pickle, "\x80\2", 2);
    put_node(&w, root);
    tc_buf_putc(&pickle, '.');
    tc_status st = put_archive(o, c, &pickle, used);
    tc_buf_free(&pickle);
    free(used);
    return st;
}
