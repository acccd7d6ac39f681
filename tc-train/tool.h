/* Internal to tc-train. */
#ifndef TC_TRAIN_TOOL_H
#define TC_TRAIN_TOOL_H

#include "cmd/profile.h"
#include "file/pt2.h"
#include "train/train.h"

typedef struct {
    tc_cmd *c;
    tc_arena arena;
    tc_dist *dist;
    tc_recipe *recipe;
    const char *out, *from_run; /* run directory; run directory given as RECIPE */
    bool commands;              /* the recipe may run commands as data sources (tc_cmd_recipe) */
    tc_numerics numerics;
    tc_program *train, *eval; /* eval NULL: `train` serves both modes */
    tc_trainer *trainer;
    const char *operators; /* of the model as it was read (tc_train_operators) */
    char *checkpoint;      /* checkpoint to resume from, or NULL */
    tc_progress progress;
    tc_recorder *recorder; /* --profile, or NULL */
} job;

/* program.c: from the recipe's model:, a run directory's model.pt2 or stdin (read by rank 0 and broadcast). Sets train and eval. */
tc_status job_read_program(job *j);
/* Writes both programs with the current weights; path NULL: stdout. */
tc_status job_write_program(job *j, const char *path);

/* plot.c: --plot DIR...: losses of run directories on the terminal. */
tc_status plot_runs(tc_cmd *c);

#endif
