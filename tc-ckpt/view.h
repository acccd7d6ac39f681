/* The tensors of an operand, sorted by name; of a tc checkpoint optionally only the model's. */
#ifndef TC_CKPT_VIEW_H
#define TC_CKPT_VIEW_H

#include "ckpt/ckpt.h"
#include "cmd/cmd.h"

typedef struct {
    tc_ckpt *ckpt;
    const char *path;
    bool only_model;      /* show only names that begin with "model.", without that prefix */
    TC_VEC(size_t) shown; /* indices of shown tensors, sorted by name */
} view;

/* Opens a file, directory or stdin (path NULL or "-"); prints remarks about it. */
tc_status view_open(tc_cmd *c, const char *path, tc_ckpt_options o, view *out);
void view_close(view *v);
/* For a tc checkpoint with model weights: shows only these, without their prefix. */
void view_only_model(view *v);
size_t view_count(const view *v);
const char *view_name(const view *v, size_t i);
tc_ckpt_head view_head(const view *v, size_t i);
tc_status view_tensor(const view *v, size_t i, tc_tensor *out); /* the caller's reference */
int64_t view_find(const view *v, const char *name);             /* -1 when absent */

/* ---- the subcommands ---- */
tc_status run_ls(tc_cmd *c);
tc_status run_show(tc_cmd *c);
tc_status run_diff(tc_cmd *c);
tc_status run_verify(tc_cmd *c);
tc_status run_consolidate(tc_cmd *c);
tc_status run_reshard(tc_cmd *c);
tc_status run_convert(tc_cmd *c);

#endif
