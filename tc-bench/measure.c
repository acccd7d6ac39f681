/* Measurement: warm-up, alternating rounds, percentiles, sign test. */
#include "tc-bench/bench.h"

#include "base/rng.h"
#include "base/text.h"

#include <math.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *t, size_t n) { return n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2; }

void summarise(sample_times *s) {
    size_t n = s->t.len;
    double *t = s->t.data;
    if (!n) return;
    qsort(t, n, sizeof *t, ascending);
    s->best = t[0];
    s->median = median_of(t, n);
    s->low = t[(n - 1) / 10];
    s->high = t[(n - 1) - (n - 1) / 10];
}

bool takes_longer(const sample_times *a, const sample_times *b) {
    const size_t n = a->t.len < b->t.len ? a->t.len : b->t.len;
    double *ratio = tc_xcalloc(n + 1, sizeof *ratio), longer = 0, rounds = 0;
    for (size_t i = 0; i < n; i++) {
        ratio[i] = b->t.data[i] / a->t.data[i];
        longer += ratio[i] > 1, rounds += ratio[i] != 1;
    }
    qsort(ratio, n, sizeof *ratio, ascending);
    const bool more = n && median_of(ratio, n) > 1.02;
    free(ratio);
    return more && 2 * longer - rounds > 1.96 * sqrt(rounds); /* two-sided sign test */
}

/* Times the guards, repeated: one check is shorter than reading the clock. */
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
    tc_status s = tc_exec_run(b->exec[w], b->inputs, b->ninputs, &g, b->outputs[w], b->program[w]->noutputs);
    *out_seconds = tc_now() - start;
    return s;
}

tc_status measure(bench_case *b, int nways, const bench_plan *plan) {
    double seconds;
    for (int w = 0; w < nways; w++)
        for (int k = 0; k < plan->warmup; k++) TC_TRY(measure_once(b, w, &seconds), "%s", b->label[w]);
    const double begun = tc_now();
    for (int64_t k = 0; plan->repeat > 0 ? k < plan->repeat : tc_now() - begun < plan->min_time * nways || k < 3; k++)
        for (int i = 0; i < nways; i++) {
            int w = k % 2 ? nways - 1 - i : i; /* alternate the direction, so that no way profits from its position in the round */
            TC_TRY(measure_once(b, w, &seconds), "%s", b->label[w]);
            sample_times *s = &b->times[w];
            tc_vec_push(&s->t, seconds);
            if (s->t.len >= 10000000) return NULL;
        }
    return NULL;
}
