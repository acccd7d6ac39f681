/* Anything that holds tensors, seen as a list of names: a checkpoint's folder, a run directory (its latest checkpoint), a safetensors
 * file, a HuggingFace folder or index, the weights of a .pt2 archive. */
#ifndef TC_CKPT_VIEW_H
#define TC_CKPT_VIEW_H

#include "ckpt/ckpt.h"
#include "cmd/cmd.h"
#include "file/tensors.h"

typedef struct {
    char *path;       /* what was opened, "latest" followed */
    const char *kind; /* "checkpoint", "safetensors", "archive" */
    tc_ckpt *ckpt;    /* or */
    tc_tensors tensors;
    bool only_model;      /* names begin with "model.": only these are shown, without it */
    TC_VEC(size_t) shown; /* indices, in order of name */
} view;

tc_status view_open(tc_cmd *c, const char *path, view *out);
void view_close(view *v);
/* Shows only the model's weights, without their prefix, where the checkpoint has one. */
void view_only_model(view *v);
bool view_has_model(const view *v);
size_t view_count(const view *v);
const char *view_name(const view *v, size_t i);
tc_status view_tensor(const view *v, size_t i, tc_tensor *out); /* the caller's reference */
int64_t view_find(const view *v, const char *name);             /* -1 when absent */

#endif
