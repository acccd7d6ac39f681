/* Measuring how the calls of a program run best, into lines of a tuning (tuning.h): tc-compile --tune, tc_model_tune. */
#ifndef TC_RUNTIME_TUNE_H
#define TC_RUNTIME_TUNE_H

#include "runtime/tuning.h"

typedef struct {
    double seconds;
    bool rounds;                              /* what gives other results is a candidate, too: registered products add in orders of their own */
    void (*say)(void *ctx, const char *line); /* of each call what was decided and the least time of each candidate; NULL: nobody listens */
    void *ctx;
} tc_tune_options;
typedef struct {
    int measured; /* values that were tried; added to what is there */
    bool late;    /* the seconds were too few for every choice */
} tc_tuned;
/* Runs p with these inputs, which are only read. What the tuning has lines for is not measured again. */
tc_status tc_tune(const tc_program *p, const tc_exec_options *e, tc_tuning *tuning, const tc_tensor *inputs, int n, const tc_tune_options *o,
                  tc_tuned *out);

#endif
