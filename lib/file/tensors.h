/* Named tensors: the contents of weight files and stream records, in file order.
 *
 *     tc_tensors w = {0};
 *     TC_TRY(tc_tensors_load("model.safetensors", &w));      // or a HuggingFace folder, an index, an .npy
 *     const tc_tensor *t = tc_tensors_find(&w, "fc.weight"); // a view of the mapped file
 *     tc_tensors_deinit(&w); */
#ifndef TC_FILE_TENSORS_H
#define TC_FILE_TENSORS_H

#include "base/file.h"
#include "tensor/tensor.h"

typedef struct {
    const char *name;
    tc_tensor tensor;
    size_t container; /* length of the prefix of name up to the innermost dict: "optimizer.state.0." of "optimizer.state.0.exp_avg"; 0 at the top */
    bool opaque;      /* the container is an object, not a dict */
} tc_named;
typedef struct {
    const char *key, *value;
} tc_metadata;
typedef struct {
    TC_VEC(tc_named) items;
    TC_VEC(tc_metadata) metadata; /* metadata strings of the file, in order */
    TC_VEC(tc_metadata) values;   /* non-tensor values of a checkpoint, as JSON text where possible: "epoch", "3" */
    TC_VEC(tc_metadata) left_out; /* skipped tensors and why: "q", "a quantised tensor" */
    TC_VEC(const char *) arrays;  /* names of NumPy arrays, which are no tensors */
    TC_VEC(const char *) outside; /* weights of a .pt2 archive that are stored in another file ... */
    const char *outside_path;     /* ... and its path; NULL: unknown */
    struct tc_saved_node *tree;   /* file/content.h; the text of a tensor is its name */
    const char *format;           /* "torch.save", "safetensors", ...; static text */
    tc_map by_name;               /* -> index + 1 */
    tc_arena arena;
    /* Set before reading: */
    bool leave_wide; /* skip tensors of too high a rank instead of failing */
    bool raw;        /* allow unaligned views of the file */
    bool keep_tree;  /* also keep the object that torch.save wrote, in `tree` */
    bool check_all;  /* verify all checksums, not only those of the first MiB */
    size_t checked;  /* bytes compared so far */
} tc_tensors;        /* {0} is empty */

void tc_tensors_deinit(tc_tensors *t);
void tc_tensors_reset(tc_tensors *t);                                    /* releases the contents and keeps memory for others like them */
const tc_tensor *tc_tensors_find(const tc_tensors *t, const char *name); /* NULL when absent */
/* Adds a tensor, taking its reference; the name is copied. TC_CONTENT: the name exists already (the tensor is released). */
tc_status tc_tensors_add(tc_tensors *t, const char *name, tc_tensor tensor);
void tc_tensors_add_metadata(tc_tensors *t, const char *key, const char *value);
void tc_tensors_add_value(tc_tensors *t, const char *name, const char *json);
void tc_tensors_leave_out(tc_tensors *t, const char *name, const char *what);

/* Bools of a file: any byte but 0 is true, as in PyTorch. A storage with bytes above 1 is replaced by a copy that has 1 for them. */
bool tc_are_bools(const void *data, size_t n); /* all of n bytes 0 or 1 */
tc_status tc_storage_bools(tc_storage **io);

typedef enum {
    TC_FORMAT_UNKNOWN,
    TC_FORMAT_EMPTY,
    TC_FORMAT_ZIP,
    TC_FORMAT_SAFETENSORS,
    TC_FORMAT_NPY,
    TC_FORMAT_PICKLE,
    TC_FORMAT_GGUF,
    TC_FORMAT_JSON,
    TC_FORMAT_TAR,
    TC_FORMAT_ONNX,
    TC_FORMAT_IMAGE
} tc_format;
/* The format of content that begins with `data`: 16 bytes suffice, 512 for a tar. */
tc_format tc_format_of(const void *data, size_t n);
bool tc_format_known(const void *data, size_t n); /* for tc_blob_open_known */
const char *tc_format_name(tc_format f);          /* "a safetensors file" */

/* Every tensor of a file, known by its content: safetensors, .npy (one tensor named ""), .npz, what torch.save wrote (ZIP, legacy, tar;
 * nested containers give dotted names, a bare tensor "tensor"), the weights of a .pt2 archive. Files are mapped; only checksums of the first MiB are
 * verified. Folders and indices: ckpt/ckpt.h. On failure *out is as it was. */
tc_status tc_tensors_load(const char *path, tc_tensors *out);
tc_status tc_tensors_load_blob(tc_blob *b, tc_tensors *out);

#endif
