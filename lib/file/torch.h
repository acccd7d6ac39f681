/* Reads files of torch.save as data: the ZIP form, the legacy one (pickles, then storages), the tar of early PyTorch; and the tensors of TorchScript and
 * torch.package archives. No code in them is run (pickle.h).
 *
 * Containers give names: {"model": {"fc.weight": t}} is "model.fc.weight", lists count, a bare tensor is "tensor"; attributes of objects
 * of unknown classes are walked like dicts, and a pickled nn.Module gives the names of its state_dict. Values that are no tensors
 * become tc_tensors.values. Quantised, sparse and nested tensors, and subclasses that hold several, are skipped and listed in tc_tensors.left_out. */
#ifndef TC_FILE_TORCH_H
#define TC_FILE_TORCH_H

#include "file/pickle.h"
#include "file/tensors.h"
#include "file/zip.h"

/* Is it a ZIP of torch.save or of TorchScript? */
bool tc_saved_is_zip(const tc_zip *z);
tc_status tc_saved_read_zip(const tc_zip *z, tc_tensors *out);
tc_status tc_saved_read_legacy(tc_blob *b, tc_tensors *out); /* begins with a pickle */
tc_status tc_saved_read_tar(tc_blob *b, tc_tensors *out);

/* ---- internal to the readers: storages of a file, and values that refer to them ---- */
typedef struct tc_saved tc_saved;
typedef struct {
    const char *key;  /* name of the storage in the file */
    tc_dtype dtype;   /* of its elements; TC_DTYPE_NONE: bytes (UntypedStorage) */
    const char *type; /* name of an element type that tc lacks (quantised), else NULL */
    int64_t numel;    /* in elements; bytes when untyped */
} tc_saved_id;
struct tc_saved {
    const char *file;   /* for messages */
    const char *part;   /* which pickle: "archive/data.pkl" */
    const char *prefix; /* prefix of every name, or NULL */
    tc_tensors *out;
    bool swap;       /* the file has the other byte order */
    bool plain_ids;  /* storage ids may lack the persistent-id opcode */
    tc_map storages; /* key, type -> tc_storage */
    tc_map names;    /* tc_tensors.keep_tree: address of a value that is a tensor -> its name, or "" for one that is left out */
    /* Opens a storage of at least `bytes` bytes, in the file's byte order. The caller takes its own reference. */
    tc_status (*open)(tc_saved *t, const tc_saved_id *id, size_t bytes, tc_storage **out);
    /* Resolves a persistent id that denotes a tensor (tar); NULL: not supported. */
    tc_status (*persistent)(tc_saved *t, const tc_pk *id, tc_tensor *out);
    void *self;
    size_t visits;
};
void tc_saved_deinit(tc_saved *t);
/* ("storage", type, key, location, numel, view) or ("storage", type, key, ...): TC_CONTENT when it is none. */
tc_status tc_saved_id_of(tc_saved *t, const tc_pk *persistent, tc_saved_id *out);
/* A storage that is a view of a blob's bytes. */
tc_storage *tc_saved_wrap(tc_blob *b, size_t offset, size_t n);
/* Converts the values to a tree, after their tensors have names. In the arena of t->out; lists are freed by tc_saved_node_free. */
tc_status tc_saved_tree(tc_saved *t, const tc_pk *root, struct tc_saved_node **out);
/* Adds every tensor and value below root to t->out. */
tc_status tc_saved_flatten(tc_saved *t, const tc_pk *root);
tc_status tc_saved_error(const tc_saved *t, tc_code code, const char *fmt, ...) TC_PRINTF(3, 4);
/* Element type of a storage class ("torch.FloatStorage"); false when unknown. */
bool tc_saved_storage_type(const char *global, tc_saved_id *out);

#endif
