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
#include "file/tensors.h"
#include "tensor/tensor.h"

typedef struct {
    tc_tensors *tensors; /* whole tensors, by full name; its metadata become those of the shard */
    const char *state;   /* JSON text of state.json */
} tc_ckpt_content;

/* Writes DIR/step-N in a temporary folder, syncs every file and folder, renames it, reads it back and compares checksums, then swaps DIR/latest. A
 * step-N that is there and whole: TC_ENV; a damaged one is replaced. */
tc_status tc_ckpt_save(const char *dir, int64_t step, tc_ckpt_content content);

typedef struct tc_ckpt tc_ckpt;
/* path: a checkpoint's folder, or the link latest. Maps the shards; sharded tensors are put together when asked for. TC_CONTENT naming the file. */
tc_status tc_ckpt_open(const char *path, tc_ckpt **out);
void tc_ckpt_close(tc_ckpt *c); /* NULL is allowed; tensors that were handed out stay valid */
size_t tc_ckpt_count(const tc_ckpt *c);
const char *tc_ckpt_name(const tc_ckpt *c, size_t i);                 /* in order of name */
tc_status tc_ckpt_tensor(const tc_ckpt *c, size_t i, tc_tensor *out); /* a view of the mapping, or put together from shards */
int64_t tc_ckpt_find(const tc_ckpt *c, const char *name);             /* index, or -1 */
const char *tc_ckpt_state(const tc_ckpt *c);                          /* JSON text of state.json; "{}" when there is none */
int64_t tc_ckpt_step(const tc_ckpt *c);                               /* from checkpoint.json; -1 when there is none */

/* Weights by the model's names: of a checkpoint or of a run directory's latest one those of the model; of anything else, tc_tensors_load. */
tc_status tc_ckpt_weights(const char *path, tc_tensors *out);

/* Every file against its checksum: TC_CONTENT naming the first damaged, missing or extra one. */
tc_status tc_ckpt_verify(const char *path);
/* The newest step-N in DIR that verifies; *out_path NULL when there is none. Damaged ones are named through `skipped`. Caller frees. */
tc_status tc_ckpt_newest(const char *dir, char **out_path, int64_t *out_step, tc_buf *skipped);
/* Are there any step-N folders in DIR? */
bool tc_ckpt_any(const char *dir);
/* Removes the step-N folders of DIR that neither keep_last (0: all), keep_every (multiples; 0: none), best, nor `except` keeps. */
tc_status tc_ckpt_prune(const char *dir, int64_t keep_last, int64_t keep_every, int64_t best, int64_t except);

#endif
