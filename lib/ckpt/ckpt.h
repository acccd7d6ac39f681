/* Checkpoints of a training run, one folder per step, complete or absent; and reading of any checkpoint or weight file (tc-ckpt, --weights).
 *
 *     run/step-100/shard-00001-model-00001-of-00001.safetensors    model.FQN, optim.state.FQN.exp_avg, ...
 *                  state.json                                       step, seed, scheduler, position in the data
 *                  checkpoint.json                                  manifest: sizes and BLAKE2b of the files; written last
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
    tc_tensors *tensors; /* whole tensors by full name; metadata go into the shard */
    const char *state;   /* JSON text of state.json */
} tc_ckpt_content;

/* Writes DIR/step-N: to a temporary folder, fsync of every file and folder, rename, reading back and comparing checksums, then swapping the link
 * DIR/latest. TC_ENV: an intact step-N exists (a damaged one is replaced). */
tc_status tc_ckpt_save(const char *dir, int64_t step, tc_ckpt_content content);

/* ---- reading: anything that holds tensors ---- */
typedef struct tc_ckpt tc_ckpt;
typedef struct {
    bool raw;       /* tensors may be unaligned views of their file: for copying, not for computing */
    bool check_all; /* verify every checksum in the files */
    bool tree;      /* tc_ckpt_tree will be called */
} tc_ckpt_options;
/* path: a file that tc_tensors_load reads ("-": stdin); a *.index.json beside its shards; a folder, which is a checkpoint of tc, a run
 * directory (its latest checkpoint), one of torch.distributed.checkpoint (.metadata and .distcp), or of safetensors files: HuggingFace's, with or
 * without an index, or DCP's shards. Everything is mapped, every part is checked to lie inside its tensor, once. TC_CONTENT naming the file. */
tc_status tc_ckpt_open(const char *path, tc_ckpt **out);
tc_status tc_ckpt_open_as(const char *path, tc_ckpt_options o, tc_ckpt **out);
void tc_ckpt_close(tc_ckpt *c);               /* NULL is allowed; tensors that were handed out stay valid */
const char *tc_ckpt_path(const tc_ckpt *c);   /* the opened path, with the link "latest" resolved */
const char *tc_ckpt_format(const tc_ckpt *c); /* "checkpoint", "safetensors", "torch.save", "DCP", ... */
size_t tc_ckpt_count(const tc_ckpt *c);
const char *tc_ckpt_name(const tc_ckpt *c, size_t i);                 /* in order of name */
tc_status tc_ckpt_tensor(const tc_ckpt *c, size_t i, tc_tensor *out); /* a view of the mapping, or put together from shards */
int64_t tc_ckpt_find(const tc_ckpt *c, const char *name);             /* index; -1: none */
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
tc_ckpt_head tc_ckpt_entry_head(const tc_ckpt *c, size_t i); /* without reading data */
/* Streams tensor i in row-major order to a sink, a few megabytes at a time: dimensions permuted by perm (NULL: unchanged), converted to dtype `to`.
 * Releases the file's pages as it goes. */
tc_status tc_ckpt_stream(const tc_ckpt *c, size_t i, const int *perm, tc_dtype to, tc_sink sink);
/* Streams the box of tensor i that starts at `low` and has these sizes, in row-major order. */
tc_status tc_ckpt_stream_box(const tc_ckpt *c, size_t i, const int64_t *low, const int64_t *size, tc_sink sink);
/* Releases the resident pages of tensor i's mapping. */
void tc_ckpt_forget(const tc_ckpt *c, size_t i);
/* The object that torch.save wrote, in which tensors are represented by their names; NULL: another format. */
tc_saved_node *tc_ckpt_tree(const tc_ckpt *c);
/* Other contents: values (JSON text), metadata of the files, remarks (tensors left out, an inexact index). */
const tc_metadata *tc_ckpt_values(const tc_ckpt *c, size_t *out_n);
const tc_metadata *tc_ckpt_metadata(const tc_ckpt *c, size_t *out_n);
const tc_metadata *tc_ckpt_notes(const tc_ckpt *c, size_t *out_n);
const tc_metadata *tc_ckpt_left_out(const tc_ckpt *c, size_t *out_n); /* as tc_tensors.left_out */

/* Loads weights by the model's names: from a checkpoint or a run directory's latest one only the model's; from anything else all tensors. */
tc_status tc_ckpt_weights(const char *path, tc_tensors *out);

/* ---- writing folders for other programs ---- */
/* DIR appears with one rename; it must not exist, or be empty. max_bytes: size limit of a file, unless a single tensor is larger.
 * tc_ckpt_write_hf: model.safetensors, or model-0000K-of-0000N.safetensors with an index. tc_ckpt_write_dcp: one shard of DCP's HuggingFace storage. */
tc_status tc_ckpt_write_hf(const char *dir, const tc_content *c, uint64_t max_bytes);
tc_status tc_ckpt_write_dcp(const char *dir, const tc_content *c);
/* A mesh of ranks: mesh axis k shards dimension k of every tensor. */
enum { TC_MESH_AXES = 4, TC_MESH_RANKS = 99999 };
typedef struct {
    int naxes;
    int64_t size[TC_MESH_AXES], ranks; /* ranks: their product */
} tc_mesh_shape;
/* The same storage with one file per rank of the mesh, holding that rank's shards; reads each tensor once. */
tc_status tc_ckpt_write_shards(const char *dir, const tc_ckpt *from, const tc_mesh_shape *mesh);

/* Compares every file with its checksum: TC_CONTENT names the first damaged, missing or extra file. */
tc_status tc_ckpt_verify(const char *path);
/* The newest step-N in DIR that verifies; *out_path (the caller frees it) NULL: none. Damaged ones are listed in `skipped`. TC_ENV: one could not be
 * read, so whether it is damaged is unknown. */
tc_status tc_ckpt_newest(const char *dir, char **out_path, int64_t *out_step, tc_buf *skipped);
/* Makes DIR/latest point to step-N, for a run that was killed between renaming the folder and updating the link. */
tc_status tc_ckpt_set_latest(const char *dir, int64_t step);
/* Are there any step-N folders in DIR? */
tc_status tc_ckpt_any(const char *dir, bool *out_any);
/* Removes the step-N folders of DIR that neither keep_last (0: all), keep_every (multiples; 0: none), best, nor `except` keeps. */
tc_status tc_ckpt_prune(const char *dir, int64_t keep_last, int64_t keep_every, int64_t best, int64_t except);

#endif
