/* What the files of tc-bench share: cases (something to run, in two or more ways), measurements, tables. */
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
} way; /* of executing */

typedef struct {
    TC_VEC(double) t;               /* seconds */
    double median, low, high, best; /* low and high: the 10th and the 90th percentile */
} sample_times;

/* One program with inputs, run in several ways, or several programs with the same inputs. */
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
    bool faster[MAX_WAYS], slower[MAX_WAYS]; /* than the first, by more than chance */
    double bytes[MAX_WAYS];                  /* of inputs, weights and outputs: what a run must move at least */
    bool different;                          /* the ways' results differ */
    bool guards;                             /* --phase guards: what is timed is the check of the inputs */
} bench_case;

typedef struct {
    int warmup;
    int64_t repeat;
    double min_time;
    bool guards;
} bench_plan;

/* Runs the ways alternately, so that what disturbs the machine disturbs all. */
tc_status measure(bench_case *b, int nways, const bench_plan *plan);
tc_status measure_once(bench_case *b, int w, double *out_seconds); /* one run, from a fresh generator */
void summarise(sample_times *s);                                   /* sorts them */
/* Does b take longer than a in more rounds than chance (5 %) would have it, and by more than 2 % in the median? Where memory happens to lie alone
 * makes that much. Times are in the order of the rounds, which disturbances share. */
bool takes_longer(const sample_times *a, const sample_times *b);

tc_status calibrate(tc_cmd *c); /* --calibrate: the constants of runtime/costs.h into --out */

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
tc_status accuracy(report *r);                                             /* --accuracy: errors of functions and products, into --out */
tc_status bench_data(report *r, const char *path, const bench_plan *plan); /* --data: stages of the recipe's training data, into r->out */

#endif
