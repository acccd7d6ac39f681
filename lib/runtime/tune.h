/* Measures which choices make the calls of a program fastest, and adds them to a tuning (tuning.h). For tc-compile --tune and tc_model_tune. */
#ifndef TC_RUNTIME_TUNE_H
#define TC_RUNTIME_TUNE_H

#include "runtime/tuning.h"

typedef struct {
    double seconds;                           /* time limit */
    bool rounds;                              /* values may change results: products of registered libraries add in their own order */
    void (*say)(void *ctx, const char *line); /* gets a line for each call: the decision, and the shortest time of each value; or NULL */
    void *ctx;
} tc_tune_options;
typedef struct {
    int measured; /* is increased by how many values were measured */
    bool late;    /* the time was too short for some choices */
} tc_tuned;
/* Runs p with these inputs, which are only read. Choices that have a line in the tuning are not measured. */
tc_status tc_tune(const tc_program *p, const tc_exec_options *e, tc_tuning *tuning, const tc_tensor *inputs, int n, const tc_tune_options *o,
                  tc_tuned *out);

#endif
