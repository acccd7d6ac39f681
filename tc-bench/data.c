/* --data RECIPE: times a batch of the recipe's training data, stage by stage in one thread and as delivered by the loader's workers. */
#include "tc-bench/bench.h"

#include "base/json_write.h"
#include "base/text.h"
#include "cmd/recipe.h"
#include "data/loader.h"

enum { ORDER, READ, DECODE, RESAMPLE, COPY, NSTAGES, ALONE = NSTAGES, DELIVERED, NROWS };
static const char *const names[] = {"order", "read", "decode", "resample", "copy", "one thread", "delivered"};

typedef struct {
    report *r;
    const bench_plan *plan;
    tc_recipe *recipe;
    tc_dataset *set;
    tc_sampler sampler;
    sample_times rows[NROWS];
    double mean[NROWS];
    int64_t samples; /* per batch */
    int limit;       /* the bottleneck stage */
} data_bench;

static tc_status open_recipe(data_bench *b, const char *path) {
    const tc_cmd *c = b->r->c;
    const char *run;
    tc_data_options o = {0};
    TC_TRY(tc_cmd_recipe(c, path, c->operands, c->noperands, &b->recipe, &o.commands, &run));
    o.dir = b->recipe->dir;
    TC_TRY(tc_data_open(tc_data_merge(&b->recipe->arena, b->recipe->data, "train"), &o, &b->set), "data");
    return tc_sampler_init(&b->sampler, b->set, b->recipe->batch, b->recipe->seed);
}

static void count_batch(data_bench *b, const tc_tensor *columns) {
    b->samples = b->set->kind == TC_DATA_BATCHES ? (columns[0].rank ? columns[0].size[0] : 1) : b->sampler.batch;
}

static void free_columns(const data_bench *b, tc_tensor *columns) {
    for (int i = 0; i < b->set->ncols; i++) tc_tensor_deinit(&columns[i]);
}

/* Makes one batch in this thread, timing each stage. */
static tc_status one_batch(data_bench *b, int64_t *index, bool keep) {
    tc_tensor columns[TC_DATA_MAX_COLUMNS];
    tc_data_times t = {0};
    double start = tc_now();
    tc_sampler_next(&b->sampler, index);
    double drawn = tc_now();
    TC_TRY(tc_data_gather(b->set, index, b->sampler.batch, b->recipe->floats, columns, &t));
    double took[] = {drawn - start, t.read, t.decode, t.resample, tc_now() - drawn - t.read - t.decode - t.resample, tc_now() - start};
    for (int i = 0; i <= ALONE && keep; i++) tc_vec_push(&b->rows[i].t, took[i]);
    count_batch(b, columns);
    free_columns(b, columns);
    return NULL;
}

static bool goes_on(const bench_plan *p, int64_t done, double begun) {
    return p->repeat > 0 ? done < p->repeat : (tc_now() - begun < p->min_time || done < 3) && done < 1000000;
}

static tc_status measure_stages(data_bench *b) {
    int64_t *index = tc_xcalloc((size_t)b->sampler.batch, sizeof *index);
    tc_status s = NULL;
    for (int k = 0; k < b->plan->warmup && !s; k++) s = one_batch(b, index, false);
    double begun = tc_now();
    for (int64_t k = 0; !s && goes_on(b->plan, k, begun); k++) s = one_batch(b, index, true);
    free(index);
    return s;
}

static int64_t draw(void *ctx, int64_t *index) {
    data_bench *b = ctx;
    tc_sampler_next(&b->sampler, index);
    return b->sampler.batch;
}

/* Times batches from the loader, as tc-train takes them but without training steps between. */
static tc_status measure_loader(data_bench *b) {
    const tc_dataset *d = b->set;
    tc_loader *l;
    tc_loader_options o = {.set = d, .room = b->sampler.batch, .floats = b->recipe->floats, .draw = draw, .ctx = b};
    TC_TRY(tc_loader_create(&o, &l));
    tc_status s = NULL;
    double begun = tc_now(), before = begun;
    int64_t ahead = (int64_t)d->workers * d->prefetch + b->plan->warmup; /* prefetched before the first request: not timed */
    for (int64_t k = -ahead; !s && (k < 0 || goes_on(b->plan, k, begun)); k++) {
        tc_tensor columns[TC_DATA_MAX_COLUMNS];
        int64_t number;
        s = tc_loader_next(l, columns, &number);
        if (s) break;
        double now = tc_now();
        if (k >= 0) tc_vec_push(&b->rows[DELIVERED].t, now - before);
        else begun = now;
        before = now;
        free_columns(b, columns);
    }
    tc_loader_destroy(l);
    return s;
}

/* Finds the bottleneck: every stage runs in parallel, except drawing the order of samples. */
static void find_limit(data_bench *b) {
    int threads = b->set->workers > 1 ? b->set->workers : 1, cores = tc_default_threads(0);
    if (threads > cores) threads = cores;
    double most = 0;
    for (int i = 0; i < NROWS; i++) {
        sample_times *t = &b->rows[i];
        for (size_t k = 0; k < t->t.len; k++) b->mean[i] += t->t.data[k] / (double)t->t.len;
        summarise(t);
        double of_batch = b->mean[i] / (i == ORDER ? 1 : threads);
        if (i < NSTAGES && of_batch > most) most = of_batch, b->limit = i;
    }
}

static void table_time(tc_buf *o, double seconds) { tc_buf_printf(o, " %11.4f", 1e3 * seconds); }

static void write_row(data_bench *b, int i) {
    report *r = b->r;
    tc_buf *o = &r->out;
    const sample_times *t = &b->rows[i];
    double mean = b->mean[i], share = i < NSTAGES && b->mean[ALONE] > 0 ? mean / b->mean[ALONE] : 1, rate = mean > 0 ? (double)b->samples / mean : 0;
    if (r->format == AS_CSV) {
        tc_buf_printf(o, "%s,%.9g,%.9g,%.9g,%.9g,%.9g,%s\n", names[i], mean, t->low, t->high, share, rate, i == b->limit ? "true" : "false");
    } else if (r->format == AS_TABLE) {
        tc_buf_printf(o, "%-12s", names[i]);
        table_time(o, mean), table_time(o, t->low), table_time(o, t->high);
        tc_buf_printf(o, " %6.1f%% %12.0f%s\n", 100 * share, rate, i == b->limit ? "  limits" : "");
    } else {
        tc_json j = {.b = o};
        const struct {
            const char *key;
            double v;
        } numbers[] = {{"mean", mean}, {"p10", t->low}, {"p90", t->high}, {"share", share}, {"samples_per_second", rate}};
        tc_json_object(&j);
        tc_json_key(&j, "stage");
        tc_json_string(&j, names[i]);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            tc_json_key(&j, numbers[k].key);
            tc_json_double(&j, numbers[k].v);
        }
        tc_json_key(&j, "limits");
        tc_json_bool(&j, i == b->limit);
        tc_json_end(&j);
        tc_buf_putc(o, '\n');
    }
}

static void write_rows(data_bench *b) {
    tc_buf *o = &b->r->out;
    if (b->r->format == AS_CSV) tc_buf_puts(o, "stage,mean,p10,p90,share,samples_per_second,limits\n");
    if (b->r->format == AS_TABLE) {
        tc_buf_printf(o, "batches of %lld samples, %d workers, times in ms\n", (long long)b->samples, b->set->workers);
        tc_buf_printf(o, "%-12s %11s %11s %11s %7s %12s\n", "stage", "mean", "p10", "p90", "share", "samples/s");
    }
    for (int i = 0; i < NROWS; i++) write_row(b, i);
}

tc_status bench_data(report *r, const char *path, const bench_plan *plan) {
    data_bench b = {.r = r, .plan = plan};
    tc_status s = open_recipe(&b, path);
    tc_cmd_phase(r->c, "opening the data");
    if (!s) s = measure_stages(&b);
    if (!s) s = measure_loader(&b);
    tc_cmd_phase(r->c, "running");
    if (!s) {
        find_limit(&b);
        write_rows(&b);
    }
    for (int i = 0; i < NROWS; i++) tc_vec_free(&b.rows[i].t);
    tc_sampler_deinit(&b.sampler);
    tc_data_close(b.set);
    tc_recipe_free(b.recipe);
    return s;
}
