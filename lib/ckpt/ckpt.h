/* Checkpoints of a training run: one folder a step, complete or absent.
 *
 *     run/step-100/shard-00001-model-00001-of-00001.safetensors    model.FQN, optim.state.FQN.exp_avg, ...
 *                  state.json                                       step, seed, scheduler, position in the data
 *                  checkpoint.json                                  files with bytes and BLAKE2b; written last
 *     run/latest -> step-100                                        swapped by rename
 *
 * The shards are what torch.distributed.checkpoint's HuggingFace storage writes (DCP_SHARDING_INFO), so it reads them too. */
#ifndef TC_CKPT_CKPT_H
#define TC_CKPT_CKPT_H

#include "base/file.h"
#include "file/content.h"
#include "file/tensors.h"
#include "tensor/tensor.h"

typedef struct {
    tc_tensors *tensors; /* whole tensors, by full name; its metadata become those of the shard */
    const char *state;   /* JSON text of state.json */
} tc_ckpt_content;

/* Writes DIR/step-N in a temporary folder, syncs every file and folder, renames it, reads it back and compares checksums, then swaps DIR/latest. A
 * step-N that is there and whole: TC_ENV; a damaged one is replaced. */
tc_status tc_ckpt_save(const char *dir, int64_t step, tc_ckpt_content content);

/* ---- reading: anything that holds tensors ---- */
typedef struct tc_ckpt tc_ckpt;
typedef struct {
    bool raw;       /* data may lie unaligned where their file has them: for copying, not for computing */
    bool check_all; /* compare every checksum that the files have */
    bool tree;      /* tc_ckpt_tree is asked for */
} tc_ckpt_options;
/* path: a file that tc_tensors_load reads ("-": stdin); a *.index.json beside its shards; a folder, which is a checkpoint of tc, a run
 * directory (its latest checkpoint), one of torch.distributed.checkpoint (.metadata and .distcp), or of safetensors files: HuggingFace's, with or
 * without an index, or DCP's shards. Everything is mapped, every part is checked to lie inside its tensor, once. TC_CONTENT naming the file. */
tc_status tc_ckpt_open(const char *path, tc_ckpt **out);
tc_status tc_ckpt_open_as(const char *path, tc_ckpt_options o, tc_ckpt **out);
void tc_ckpt_close(tc_ckpt *c);               /* NULL is allowed; tensors that were handed out stay valid */
const char *tc_ckpt_path(const tc_ckpt *c);   /* what was opened, "latest" followed */
const char *tc_ckpt_format(const tc_ckpt *c); /* "checkpoint", "safetensors", "torch.save", "DCP", ... */
size_t tc_ckpt_count(const tc_ckpt *c);
const char *tc_ckpt_name(const tc_ckpt *c, size_t i);                 /* in order of name */
tc_status tc_ckpt_tensor(const tc_ckpt *c, size_t i, tc_tensor *out); /* a view of the mapping, or put together from shards */
int64_t tc_ckpt_find(const tc_ckpt *c, const char *name);             /* index, or -1 */
const char *tc_ckpt_state(const tc_ckpt *c);                          /* JSON text of state.json; "{}" when there is none */
int64_t tc_ckpt_step(const tc_ckpt *c);                               /* from checkpoint.json; -1 when there is none */
typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    int64_t size[TC_MAX_RANK];
    const int64_t *stride; /* in its storage when there is one part, else NULL */
    const char *file;      /* of the first part */
    int64_t offset;        /* of the first part's first byte in that file; -1 when it is not there as it is */
    size_t parts, container;
} tc_ckpt_head;
tc_ckpt_head tc_ckpt_entry_head(const tc_ckpt *c, size_t i); /* reads nothing */
/* Tensor i in row-major order to a sink, a few megabytes at a time: its dimensions in the order perm (NULL: as they are), converted to
 * `to`. Pages of the files are given back as it goes. */
tc_status tc_ckpt_stream(const tc_ckpt *c, size_t i, const int *perm, tc_dtype to, tc_sink sink);
/* The elements of a box of tensor i, in row-major order, from low, of these sizes. */
tc_status tc_ckpt_stream_box(const tc_ckpt *c, size_t i, const int64_t *low, const int64_t *size, tc_sink sink);
/* Gives back the pages of tensor i that were read; its elements stay as they are. */
void tc_ckpt_forget(const tc_ckpt *c, size_t i);
/* What torch.save wrote, as it stands, the text of tensors being their names; NULL: it is nothing of the kind. */
tc_saved_node *tc_ckpt_tree(const tc_ckpt *c);
/* What else it holds: values (JSON text), free text of the files, remarks (tensors left out, an index that is not exact). */
const tc_metadata *tc_ckpt_values(const tc_ckpt *c, size_t *out_n);
const tc_metadata *tc_ckpt_metadata(const tc_ckpt *c, size_t *out_n);
const tc_metadata *tc_ckpt_notes(const tc_ckpt *c, size_t *out_n);

/* Weights by the model's names: of a checkpoint or of a run directory's latest one those of the model; of anything else all of it. */
tc_status tc_ckpt_weights(const char *path, tc_tensors *out);

/* ---- writing folders that other programs read ---- */
/* DIR is made anew, in one rename; it must not be there, or be empty. max_bytes: no file is longer where its tensors allow it.
 * tc_ckpt_write_hf: model.safetensors, or model-0000K-of-0000N.safetensors with an index. tc_ckpt_write_dcp: one shard of DCP's HuggingFace storage. */
tc_status tc_ckpt_write_hf(const char *dir, const tc_content *c, uint64_t max_bytes);
tc_status tc_ckpt_write_dcp(const char *dir, const tc_content *c);
/* A mesh of ranks: axis k cuts dimension k of every tensor. */
enum { TC_MESH_AXES = 4, TC_MESH_RANKS = 99999 };
typedef struct {
    int naxes;
    int64_t size[TC_MESH_AXES], ranks; /* ranks: their product */
} tc_mesh_shape;
/* The same storage, a file a rank: the parts of all tensors that ranks of the mesh would hold, read once. */
tc_status tc_ckpt_write_shards(const char *dir, const tc_ckpt *from, const tc_mesh_shape *mesh);

/* Every file against its checksum: TC_CONTENT naming the first damaged, missing or extra one. */
tc_status tc_ckpt_verify(const char *path);
/* The newest step-N in DIR that verifies; *out_path NULL when there is none. Damaged ones are named through `skipped`;
 * TC_ENV where one cannot be read, which says nothing of it. Caller frees. */
tc_status tc_ckpt_newest(const char *dir, char **out_path, int64_t *out_step, tc_buf *skipped);
/* DIR/latest names step-N, as after a save: a run that was killed between the two steps of one has an older name there. */
tc_status tc_ckpt_set_latest(const char *dir, int64_t step);
/* Are there any step-N folders in DIR? */
tc_status tc_ckpt_any(const char *dir, bool *out_any);
/* Removes the step-N folders of DIR that neither keep_last (0: all), keep_every (multiples; 0: none), best, nor `except` keeps. */
tc_status tc_ckpt_prune(const char *dir, int64_t keep_last, int64_t keep_every, int64_t best, int64_t except);

#endif
