/* Tensors on their way into a file: what they are is known before, their bytes come in pieces, so that a file larger than memory can be
 * written from others that are only mapped. */
#ifndef TC_FILE_CONTENT_H
#define TC_FILE_CONTENT_H

#include "file/tensors.h"

typedef struct {
    tc_status (*write)(void *self, const void *p, size_t n);
    void *self;
} tc_sink;
tc_sink tc_sink_out(tc_out *o);
tc_sink tc_sink_crc(uint32_t *io_crc); /* CRC-32 of what comes; begin with 0 */

typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    int64_t size[TC_MAX_RANK];
    size_t same_as; /* index of an earlier tensor over the same elements, or its own */
} tc_head;
typedef struct {
    const tc_head *heads;
    size_t n;
    /* The elements of head i in row-major order; called once or twice for each, in any order. */
    tc_status (*stream)(void *self, size_t i, tc_sink to);
    void *self;
    const tc_metadata *metadata;
    size_t nmetadata;
    bool unsummed; /* torch.save: no checksums, for which the elements would be read once more */
} tc_content;

size_t tc_head_bytes(const tc_head *h);
/* Tensors in memory as content; heads belongs to the caller (free). t is borrowed. */
tc_content tc_content_of(const tc_tensors *t, tc_head **out_heads);

tc_status tc_safetensors_write_content(tc_out *o, const tc_content *c);
tc_status tc_npz_write_content(tc_out *o, const tc_content *c);
tc_status tc_saved_write_content(tc_out *o, const tc_content *c); /* an OrderedDict as torch.save writes it: torch.load(weights_only=True) reads it */
/* Containers around the tensors of a content: a training checkpoint. */
typedef struct tc_saved_node tc_saved_node;
struct tc_saved_node {
    enum {
        TC_SAVED_NONE,
        TC_SAVED_BOOL,
        TC_SAVED_INT,
        TC_SAVED_FLOAT,
        TC_SAVED_TEXT,
        TC_SAVED_BYTES,
        TC_SAVED_LONG,   /* two's complement bytes, little-endian; i: decimal text */
        TC_SAVED_GLOBAL, /* text: "module\nname" */
        TC_SAVED_TENSOR, /* items: its attributes, a dict, or none */
        TC_SAVED_LIST,
        TC_SAVED_TUPLE,
        TC_SAVED_SET,
        TC_SAVED_DICT,
        TC_SAVED_OBJECT, /* items: callable, arguments, what is appended, what is set, attributes or none; i: made by __new__ */
        TC_SAVED_WITHIN  /* of: a container that this stands in */
    } kind;
    const char *key; /* in a dict; NULL: other_key, else number */
    size_t nkey;     /* its bytes; 0: up to its NUL */
    int64_t number;
    tc_saved_node *other_key;
    int64_t i; /* bool, int; index of the tensor's head */
    double f;
    const char *text;
    size_t n;                      /* bytes of text; 0: up to its NUL */
    const char *made_by;           /* class of a dict or set: "collections\nOrderedDict"; NULL: Python's own */
    tc_saved_node *state;          /* of a dict: attributes; of a defaultdict: what makes missing values */
    bool parameter, requires_grad; /* of a tensor */
    bool named;                    /* something WITHIN refers to it */
    tc_saved_node *of;
    uint32_t memo; /* of the writer */
    TC_VEC(tc_saved_node *) items;
};
/* What the nodes themselves do not hold in an arena: the lists of items. NULL is allowed. */
void tc_saved_node_free(tc_saved_node *n);
/* The same with a root of the caller's; tensors that it does not name are left out. */
tc_status tc_saved_write_tree(tc_out *o, const tc_content *c, tc_saved_node *root);
tc_status tc_npy_write_content(tc_out *o, const tc_content *c); /* one tensor */

#endif
