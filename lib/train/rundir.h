/* Files of a run directory other than checkpoints. */
#ifndef TC_TRAIN_RUNDIR_H
#define TC_TRAIN_RUNDIR_H

#include "graph/graph.h"
#include "kernel/kernel.h"

/* metrics.jsonl: appends a line (with its newline); drops the lines after `step`, and one that a crash cut short. */
tc_status tc_train_metrics_add(const char *dir, const char *line, size_t n);
tc_status tc_train_metrics_rewind(const char *dir, int64_t step);
/* Removes temporary files of a killed run (.step-3.tmp123 and the like). Only the holder of the run directory's lock may call this. */
tc_status tc_train_sweep(const char *dir);
/* BLAKE2b, in hexadecimal, of the programs' operators and of whose results each reads: neither sizes, constants and the order of weights nor comments
 * and names of the source count. Stable within a version of tc. Programs may be NULL. */
void tc_train_operators(const tc_program *const *programs, int n, char out[65]);
/* environment: version, numerics, processor, threads, ranks, TC_* variables, the folder where the recipe's relative names start, and what
 * tc_train_operators says of the programs, or NULL. */
tc_status tc_train_write_environment(const char *dir, const char *origin, const char *operators, tc_numerics numerics, int threads, int ranks);
/* Reads a string from `environment` into the arena; NULL: no such key. */
tc_status tc_train_recorded(const char *dir, const char *key, tc_arena *a, const char **out);

#endif
