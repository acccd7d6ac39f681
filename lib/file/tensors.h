/* Tensors by name: what weight files and records of streams hold, in the order in which they stand.
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
} tc_named;
typedef struct {
    const char *key, *value;
} tc_metadata;
typedef struct {
    TC_VEC(tc_named) items;
    TC_VEC(tc_metadata) metadata; /* free text of the file, in its order */
    tc_map by_name;               /* -> index + 1 */
    tc_arena arena;
    bool leave_wide; /* set before reading: tensors of more dimensions than tc has are left out, else they are an error */
} tc_tensors;        /* {0} is empty */

void tc_tensors_deinit(tc_tensors *t);
const tc_tensor *tc_tensors_find(const tc_tensors *t, const char *name); /* NULL when absent */
/* Takes over the tensor's reference; the name is copied. TC_CONTENT when the name is there already (the tensor is released). */
tc_status tc_tensors_add(tc_tensors *t, const char *name, tc_tensor tensor);
void tc_tensors_add_metadata(tc_tensors *t, const char *key, const char *value);

typedef enum {
    TC_FORMAT_UNKNOWN,
    TC_FORMAT_EMPTY,
    TC_FORMAT_ZIP,
    TC_FORMAT_SAFETENSORS,
    TC_FORMAT_NPY,
    TC_FORMAT_PICKLE,
    TC_FORMAT_GGUF,
    TC_FORMAT_JSON
} tc_format;
/* What content of n bytes that begins with `data` is: 16 bytes are enough. */
tc_format tc_format_of(const void *data, size_t n);
const char *tc_format_name(tc_format f); /* "a safetensors file" */

/* Every tensor of a file, known by its content: safetensors, .npy (one tensor named ""), a *.index.json beside its shards, a folder
 * of safetensors files with or without an index. Mapped, not read. */
tc_status tc_tensors_load(const char *path, tc_tensors *out);
tc_status tc_tensors_load_blob(tc_blob *b, tc_tensors *out); /* not folders and indices */

#endif
