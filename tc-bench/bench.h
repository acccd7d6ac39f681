/* Internal to tc-bench: cases (programs run in one or more ways), measurements, reports. */
#ifndef TC_BENCH_BENCH_H
#define TC_BENCH_BENCH_H

#include "cmd/code.h"
#include "cmd/profile.h"
#include "cmd/program.h"
#include "runtime/compile.h"

enum { MAX_WAYS = 8 };

typedef struct {
    const char *name;
    bool compiled, unfused, operators;
    tc_numerics numerics;
} way; /* a way to execute: executor, threads, numerics */

typedef struct {
    TC_VEC(double) t;               /* seconds */
    double median, low, high, best; /* low and high: 10th and 90th percentile */
} sample_times;

/* A case: one program run in several ways, or several programs on the same inputs. */
typedef struct {
    const char *label[MAX_WAYS];   /* by way */
    tc_program *program[MAX_WAYS]; /* the same */
    tc_tensor *inputs;
    int ninputs;
    tc_tensor *outputs[MAX_WAYS];
    tc_exec *exec[MAX_WAYS];
    tc_modules *modules[MAX_WAYS];
    tc_operators *operators[MAX_WAYS];
    sample_times times[MAX_WAYS];
    bool faster[MAX_WAYS], slower[MAX_WAYS]; /* than the first way, significantly */
    double bytes[MAX_WAYS];                  /* of inputs, weights and outputs: the least memory traffic of a run */
    bool different;                          /* the ways' results differ */
    bool guards;                             /* --phase guards: times the check of the inputs */
} bench_case;

typedef struct {
    int warmup;
    int64_t repeat;
    double min_time;
    bool guards;
} bench_plan;

/* Runs the ways alternately, so that disturbances of the machine affect all. */
tc_status measure(bench_case *b, int nways, const bench_plan *plan);
tc_status measure_once(bench_case *b, int w, double *out_seconds); /* one run with a freshly seeded generator */
void summarise(sample_times *s);                                   /* sorts them */
/* Is b significantly slower than a: in more rounds than chance (sign test, 5 %) explains, and by more than 2 % in the median (less can come from memory
 * placement alone)? Times are in the order of the rounds, paired by round. */
bool takes_longer(const sample_times *a, const sample_times *b);

tc_status check_operators(tc_cmd *c); /* --opcheck */
tc_status calibrate(tc_cmd *c);       /* --calibrate: writes the constants of runtime/cost_model.h to --out */

tc_status profile_case(tc_profile_parts *p, bench_case *b, const way *ways, int w);

typedef struct {
    tc_cmd *c;
    tc_tuning *tuning;         /* of --tuning or the archive, or NULL */
    tc_profile_parts *profile; /* --profile, or NULL */
    int format;
    const way *ways;
    int nways;
    tc_buf out;
    int rows;
} report;
enum { AS_TABLE, AS_CSV, AS_JSON };
void report_case(report *r, const bench_case *b);
tc_status accuracy(report *r);                                             /* --accuracy: writes errors of functions and products to --out */
tc_status bench_data(report *r, const char *path, const bench_plan *plan); /* --data: times the stages of the recipe's data loading, into r->out */

#endif
