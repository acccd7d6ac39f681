/* Tensors to be written: names, dtypes and sizes are known in advance, elements are streamed, so that a file larger than memory can be written from
 * mapped files. */
#ifndef TC_FILE_CONTENT_H
#define TC_FILE_CONTENT_H

#include "file/tensors.h"

typedef struct {
    tc_status (*write)(void *self, const void *p, size_t n);
    void *self;
} tc_sink;
tc_sink tc_sink_out(tc_out *o);
tc_sink tc_sink_crc(uint32_t *io_crc); /* computes the CRC-32 of the stream; *io_crc starts as 0 */

typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    int64_t size[TC_MAX_RANK];
    size_t same_as;        /* index of a tensor over the same memory, which formats that can share store once; own index: none */
    int64_t at;            /* its first element is this one of same_as */
    const int64_t *stride; /* over the elements of same_as; NULL: contiguous; its own: they are streamed in the order of the strides, densely */
} tc_head;
typedef struct {
    const tc_head *heads;
    size_t n;
    /* Streams the elements of head i in row-major order, but for strides of its own; called once or twice per head, in any order. */
    tc_status (*stream)(void *self, size_t i, tc_sink to);
    void *self;
    const tc_metadata *metadata;
    size_t nmetadata;
    bool unsummed; /* torch.save: without checksums, which need a second pass over the elements */
} tc_content;

size_t tc_head_bytes(const tc_head *h);
/* Makes content of tensors in memory; *out_heads is the caller's (free). t is borrowed. */
tc_content tc_content_of(const tc_tensors *t, tc_head **out_heads);

tc_status tc_safetensors_write_content(tc_out *o, const tc_content *c);
tc_status tc_npz_write_content(tc_out *o, const tc_content *c);
tc_status tc_saved_write_content(tc_out *o, const tc_content *c); /* as torch.save of an OrderedDict; readable with torch.load(weights_only=True) */
/* Python containers around the tensors of a content, for training checkpoints. */
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
        TC_SAVED_OBJECT, /* items: callable, arguments, appended items, set items, attributes or none; i: created by __new__ */
        TC_SAVED_WITHIN  /* of: an enclosing container (a cycle) */
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
    uint32_t memo; /* used by the writer */
    TC_VEC(tc_saved_node *) items;
};
/* Frees the lists of items, which are not in an arena. NULL is allowed. */
void tc_saved_node_free(tc_saved_node *n);
/* Writes the tree below root; tensors that it does not contain are left out. */
tc_status tc_saved_write_tree(tc_out *o, const tc_content *c, tc_saved_node *root);
tc_status tc_npy_write_content(tc_out *o, const tc_content *c); /* one tensor */

#endif
