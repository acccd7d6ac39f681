/* What the files of tc-bench share: cases (something to run, in two or more ways), measurements, tables. */
#ifndef TC_BENCH_BENCH_H
#define TC_BENCH_BENCH_H

#include "cmd/program.h"
#include "runtime/compile.h"

enum { MAX_WAYS = 8 };

typedef struct {
    const char *name;
    bool compiled, unfused;
} way; /* of executing */

typedef struct {
    TC_VEC(double) t;               /* seconds */
    double median, low, high, best; /* low and high: the 10th and the 90th percentile */
} sample_times;

/* One program with inputs, run in several ways. */
typedef struct {
    const char *label;
    tc_program *program;
    tc_tensor *inputs;
    int ninputs;
    tc_tensor *outputs[MAX_WAYS];
    tc_exec *exec[MAX_WAYS];
    tc_modules *modules;
    sample_times times[MAX_WAYS];
    double bytes;   /* of inputs, weights and outputs: what a run must move at least */
    bool different; /* the ways' results differ */
} bench_case;

typedef struct {
    int warmup;
    int64_t repeat;
    double min_time;
} bench_plan;

/* Runs the ways alternately, so that what disturbs the machine disturbs all. */
tc_status measure(bench_case *b, int nways, const bench_plan *plan);
tc_status measure_once(bench_case *b, int w, double *out_seconds); /* one run, from a fresh generator */
void summarise(sample_times *s);

/* Runs way w of the case once and adds its groups to the Chrome trace (profile.c). */
typedef struct {
    tc_buf events; /* of "traceEvents", with commas */
    double at;     /* microseconds: where the next slice begins */
    int pid;
} profile;
tc_status profile_case(profile *p, bench_case *b, const way *ways, int w);
void profile_finish(profile *p, tc_buf *out);

typedef struct {
    tc_cmd *c;
    profile *profile; /* --profile, or NULL */
    int format;
    const way *ways;
    int nways;
    tc_buf out;
    int rows;
} report;
enum { AS_TABLE, AS_CSV, AS_JSON };
void report_case(report *r, const bench_case *b);

#endif
