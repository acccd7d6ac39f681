/* --calibrate: measures the cost model's constants (runtime/cost_model.h) on this machine in about 0.3 s and writes them as a tuning file. */
#include "tc-bench/bench.h"

#include "base/text.h"

enum { LEAST = 64 << 10, MOST = 64 << 20 }; /* footprints, in bytes */

/* Float additions per second over an array of `footprint` bytes: the best of several runs of 2 ms. */
static double add_rate(float *x, size_t footprint) {
    const size_t n = footprint / sizeof *x;
    double best = 0;
    for (int k = 0; k < 5; k++) {
        const double start = tc_now();
        size_t passes = 0;
        while (tc_now() - start < 2e-3) {
            for (size_t i = 0; i < n; i++) x[i] += 1;
            passes++;
        }
        const double rate = (double)(n * passes) / (tc_now() - start);
        if (rate > best) best = rate;
    }
    return best;
}

static void nothing(void *ctx, int64_t begin, int64_t end, int worker) { (void)ctx, (void)begin, (void)end, (void)worker; }

/* Seconds to dispatch tasks to all threads and wait for them. */
static double hand_over(tc_pool *pool) {
    double best = 1;
    const int threads = tc_pool_threads(pool);
    tc_pool_enter(pool);
    for (int k = 0; k < 200; k++) {
        const double start = tc_now();
        tc_parallel_for(pool, threads, 1, nothing, NULL);
        const double took = tc_now() - start;
        if (took < best) best = took;
    }
    tc_pool_leave(pool);
    return best;
}

static int64_t within(const char *name, double v) {
    for (int i = 0; i < TC_COST_ROWS; i++) {
        const tc_cost_row *r = &tc_cost_rows[i];
        if (!strcmp(r->name, name)) return v < (double)r->lo ? r->lo : v > (double)r->hi ? r->hi : (int64_t)v;
    }
    TC_BUG("no cost is called %s", name);
}

static void measure_costs(tc_tuning *t, tc_pool *pool) {
    float *x = tc_xcalloc(MOST / sizeof *x, sizeof *x);
    const double first = add_rate(x, LEAST);
    double near = LEAST, far = MOST;
    for (size_t n = 2 * LEAST; n <= MOST; n *= 2) {
        const double rate = add_rate(x, n);
        if (rate >= 0.7 * first) near = (double)n;
        if (rate < 0.5 * first && (double)n < far) far = (double)n;
    }
    free(x);
    /* a row may take three eighths of the private cache (tc_costs_cache); a task must be worth sixteen dispatches */
    tc_tuning_set_cost(t, "near_bytes", within("near_bytes", near * 3 / 8));
    tc_tuning_set_cost(t, "far_bytes", within("far_bytes", far));
    if (tc_pool_threads(pool) > 1) tc_tuning_set_cost(t, "task_ops", within("task_ops", 16 * hand_over(pool) * first));
}

tc_status calibrate(tc_cmd *c) {
    tc_tuning *t;
    tc_buf text = {0};
    TC_TRY(tc_cmd_tuning(c, NULL, true, &t)); /* keep the lines of --tuning */
    measure_costs(t, tc_cmd_pool(c));
    tc_tuning_write(t, false, &text);
    tc_tuning_destroy(t);
    tc_out *o;
    tc_status s = tc_cmd_create(c, tc_cmd_get(c, TC_OPT_out), false, &o);
    if (!s) s = tc_cmd_finish(c, o, tc_out_write(o, tc_buf_str(&text), text.len));
    tc_buf_free(&text);
    return s;
}
