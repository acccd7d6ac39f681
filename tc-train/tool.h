/* The parts of tc-train. */
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
    const char *out, *from_run; /* run directory; the one that was given as RECIPE */
    bool commands;              /* the recipe may name commands: it was written for this run, or --trust */
    tc_numerics numerics;
    tc_program *train, *eval; /* eval NULL: train serves both */
    tc_trainer *trainer;
    char *checkpoint; /* to go on from, or NULL */
    tc_progress progress;
    tc_recorder *recorder; /* --profile, or NULL */
} job;

/* program.c: from the recipe's model:, a run directory's model.pt2 or stdin (read by rank 0 and broadcast). Sets train and eval. */
tc_status job_read_program(job *j);
/* Both programs with the weights as they are now; path NULL: stdout. */
tc_status job_write_program(job *j, const char *path);

/* plot.c: --plot DIR...: losses of run directories on the terminal. */
tc_status plot_runs(tc_cmd *c);

#endif
