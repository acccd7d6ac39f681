/* Timing: warm-up, alternating rounds, order statistics. */
#include "tc-bench/bench.h"

#include "base/rng.h"
#include "base/text.h"

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void summarise(sample_times *s) {
    size_t n = s->t.len;
    double *t = s->t.data;
    if (!n) return;
    qsort(t, n, sizeof *t, ascending);
    s->best = t[0];
    s->median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
    s->low = t[(n - 1) / 10];
    s->high = t[(n - 1) - (n - 1) / 10];
}

/* The conditions of a run, many times over: one check is shorter than reading the clock. */
static tc_status measure_guards(bench_case *b, int w, double *out_seconds) {
    enum { CHECKS = 256 };
    double start = tc_now();
    for (int i = 0; i < CHECKS; i++) TC_TRY(tc_exec_check(b->exec[w], b->inputs, b->ninputs));
    *out_seconds = (tc_now() - start) / CHECKS;
    return NULL;
}

tc_status measure_once(bench_case *b, int w, double *out_seconds) {
    if (b->guards) return measure_guards(b, w, out_seconds);
    tc_generator g;
    tc_generator_seed(&g, 0);
    double start = tc_now();
    tc_status s = tc_exec_run(b->exec[w], b->inputs, b->ninputs, &g, b->outputs[w], b->program->noutputs);
    *out_seconds = tc_now() - start;
    return s;
}

tc_status measure(bench_case *b, int nways, const bench_plan *plan) {
    double seconds;
    for (int w = 0; w < nways; w++)
        for (int k = 0; k < plan->warmup; k++) TC_TRY(measure_once(b, w, &seconds), "%s", b->label);
    const double begun = tc_now();
    for (int64_t k = 0; plan->repeat > 0 ? k < plan->repeat : tc_now() - begun < plan->min_time * nways || k < 3; k++)
        for (int i = 0; i < nways; i++) {
            int w = k % 2 ? nways - 1 - i : i; /* there and back: neither profits from the place in the round */
            TC_TRY(measure_once(b, w, &seconds), "%s", b->label);
            sample_times *s = &b->times[w];
            tc_vec_push(&s->t, seconds);
            if (s->t.len >= 10000000) return NULL;
        }
    return NULL;
}
