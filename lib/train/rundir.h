/* Files of a run directory other than checkpoints. */
#ifndef TC_TRAIN_RUNDIR_H
#define TC_TRAIN_RUNDIR_H

#include "base/mem.h"
#include "kernel/kernel.h"

/* metrics.jsonl: appends a line (with its newline); drops the lines after `step`, and one that a crash cut short. */
tc_status tc_train_metrics_add(const char *dir, const char *line, size_t n);
tc_status tc_train_metrics_rewind(const char *dir, int64_t step);
/* Removes temporary files of a killed run (.step-3.tmp123 and the like). Only the holder of the run directory's lock may call this. */
tc_status tc_train_sweep(const char *dir);
/* environment: version, numerics, processor, threads, ranks, TC_* variables, and the folder where the recipe's relative names start. */
tc_status tc_train_write_environment(const char *dir, const char *origin, tc_numerics numerics, int threads, int ranks);
/* Reads a string from `environment` into the arena; NULL: no such key. */
tc_status tc_train_recorded(const char *dir, const char *key, tc_arena *a, const char **out);

#endif
