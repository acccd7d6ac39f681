/* Files and directories of tensors as one sorted list of names (view.h). */
#include "tc-ckpt/view.h"

#include <stdio.h>

static const char PREFIX[] = "model.";

static bool of_model(const char *name) { return !strncmp(name, PREFIX, sizeof PREFIX - 1); }

static void list(view *v) {
    v->shown.len = 0;
    for (size_t i = 0; i < tc_ckpt_count(v->ckpt); i++)
        if (!v->only_model || of_model(tc_ckpt_name(v->ckpt, i))) tc_vec_push(&v->shown, i);
}

void view_only_model(view *v) {
    bool any = false;
    for (size_t i = 0; i < tc_ckpt_count(v->ckpt); i++) any = any || of_model(tc_ckpt_name(v->ckpt, i));
    v->only_model = any && !strcmp(tc_ckpt_format(v->ckpt), "checkpoint");
    list(v);
}

tc_status view_open(tc_cmd *c, const char *path, tc_ckpt_options o, view *out) {
    *out = (view){0};
    if (!path) path = "-";
    if (!strcmp(path, "-")) TC_TRY(tc_cmd_claim_stdin(c, "the tensors"));
    tc_status st = tc_ckpt_open_as(path, o, &out->ckpt);
    if (st && !strcmp(path, "-") && strstr(tc_status_message(st), ": 0 bytes")) {
        tc_status_free(st);
        return tc_error(TC_CONTENT, "stdin: nothing arrived: did the command before fail?");
    }
    if (st) return st;
    out->path = tc_ckpt_path(out->ckpt);
    list(out);
    size_t n;
    const tc_metadata *notes = tc_ckpt_notes(out->ckpt, &n);
    for (size_t i = 0; i < n; i++) {
        if (i == 5 && n > 6) {
            tc_cmd_note(c, "%s: %zu more remarks (-v shows them)", out->path, n - i);
            if (!c->verbose) break;
        }
        tc_cmd_note(c, "%s: %s: %s", out->path, notes[i].key, notes[i].value);
    }
    return NULL;
}

void view_close(view *v) {
    tc_ckpt_close(v->ckpt);
    tc_vec_free(&v->shown);
    *v = (view){0};
}

size_t view_count(const view *v) { return v->shown.len; }

const char *view_name(const view *v, size_t i) {
    const char *name = tc_ckpt_name(v->ckpt, v->shown.data[i]);
    return v->only_model ? name + sizeof PREFIX - 1 : name;
}

tc_ckpt_head view_head(const view *v, size_t i) { return tc_ckpt_entry_head(v->ckpt, v->shown.data[i]); }
tc_status view_tensor(const view *v, size_t i, tc_tensor *out) { return tc_ckpt_tensor(v->ckpt, v->shown.data[i], out); }

int64_t view_find(const view *v, const char *name) {
    size_t lo = 0, hi = v->shown.len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(view_name(v, mid), name);
        if (order == 0) return (int64_t)mid;
        if (order < 0) lo = mid + 1;
        else hi = mid;
    }
    return -1;
}
