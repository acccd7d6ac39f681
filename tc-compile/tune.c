/* --tune=SECONDS: the program runs with every block size of loops, and with weights packed and not, alternately, each for an equal share of the
 * time; the fastest run of each call decides. What was measured before, on this machine at these sizes, is not measured again. --tuning FILE keeps the lines. */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "cmd/code.h"
#include "cmd/inputs.h"

enum { MOST_TILES = 15, ROUNDS = 3 };
#define WORTH 0.97 /* a tile replaces the own choice when it takes at most so much of its time */

typedef struct {
    char *key;
    const int64_t *tiles;
    double ns[MOST_TILES + 1]; /* of the own choice, then of each tile; 0: not measured */
} tuned;                       /* a call of the program that has a choice */

typedef struct {
    TC_VEC(tuned) calls;
    int64_t tile;  /* of the runs that go on */
    bool counting; /* the first runs make packed weights */
} trials;

typedef struct {
    tc_program *program;
    tc_tensor *inputs;
    int n;
    tc_exec_options options;
} subject;

static tuned *entry(trials *t, const char *key, const int64_t *tiles) {
    for (size_t i = 0; i < t->calls.len; i++)
        if (!strcmp(t->calls.data[i].key, key)) return &t->calls.data[i];
    tc_vec_push(&t->calls, ((tuned){.key = tc_xstrdup(key), .tiles = tiles}));
    return &t->calls.data[t->calls.len - 1];
}

static void take_time(void *ctx, const char *key, const int64_t *tiles, uint64_t nanoseconds) {
    trials *t = ctx;
    tuned *k = entry(t, key, tiles);
    int at = 0;
    for (int i = 0; t->tile && k->tiles[i] && i < MOST_TILES; i++)
        if (k->tiles[i] == t->tile) at = i + 1;
    const double ns = (double)nanoseconds + 1;
    if (t->counting && (at || !t->tile) && (!k->ns[at] || ns < k->ns[at])) k->ns[at] = ns;
}

static tc_status run_once(subject *s, tc_exec *e) {
    const int n = s->program->noutputs;
    tc_tensor *out = tc_xcalloc((size_t)n + 1, sizeof *out);
    tc_generator gen;
    tc_generator_seed(&gen, 0);
    tc_status st = tc_exec_run(e, s->inputs, s->n, &gen, out, n);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&out[i]);
    free(out);
    return st;
}

/* Runs with one tile wherever a call has it among its choices, 0: as it is chosen without. */
static tc_status try_tile(subject *s, tc_tuning *tuning, trials *t, int64_t tile, double seconds) {
    tc_exec *e;
    const double end = tc_now() + seconds;
    tc_tuning_try(tuning, tile);
    t->tile = tile;
    t->counting = false;
    tc_status st = tc_exec_create(s->program, &s->options, &e);
    if (st) return st;
    tc_exec_set_tuning(e, tuning);
    tc_exec_set_timed(e, take_time, t);
    for (int runs = 0; !st && (runs < 3 || tc_now() < end); runs++) {
        t->counting = runs > 1;
        st = run_once(s, e);
    }
    tc_exec_destroy(e);
    return st;
}

/* The different tiles of calls that are not known yet. */
static int open_tiles(const trials *t, const tc_tuning *tuning, int64_t *out) {
    int n = 0;
    for (size_t i = 0; i < t->calls.len; i++) {
        if (tc_tuning_has_tile(tuning, t->calls.data[i].key)) continue;
        for (const int64_t *tile = t->calls.data[i].tiles; *tile; tile++) {
            int k = 0;
            while (k < n && out[k] != *tile) k++;
            if (k == n && n < MOST_TILES) out[n++] = *tile;
        }
    }
    return n;
}

/* What was decided for a call, and the least time of each candidate. */
static void say_trials(compile_job *j, const tuned *k, int best) {
    tc_buf b = {0};
    if (best) tc_buf_printf(&b, "%s: %lld;", k->key, (long long)k->tiles[best - 1]);
    else tc_buf_printf(&b, "%s: as it is chosen;", k->key);
    tc_buf_printf(&b, " as it is chosen %.1f us", k->ns[0] / 1e3);
    for (int c = 1; c <= MOST_TILES && k->tiles[c - 1]; c++)
        if (k->ns[c]) tc_buf_printf(&b, ", %lld %.1f us", (long long)k->tiles[c - 1], k->ns[c] / 1e3);
    tc_cmd_note(j->c, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
}

static void decide(compile_job *j, const trials *t, tc_tuning *tuning) {
    for (size_t i = 0; i < t->calls.len; i++) {
        const tuned *k = &t->calls.data[i];
        int best = 0;
        if (tc_tuning_has_tile(tuning, k->key) || !k->ns[0]) continue;
        for (int c = 1; c <= MOST_TILES && k->tiles[c - 1]; c++)
            if (k->ns[c] && k->ns[c] < k->ns[best] && k->ns[c] < WORTH * k->ns[0]) best = c;
        tc_tuning_set_tile(tuning, k->key, best ? k->tiles[best - 1] : 0);
        if (compile_says(j, "tuning")) say_trials(j, k, best);
    }
}

static tc_status tune_program(compile_job *j, tc_program *p, tc_tuning *tuning, double seconds, int *out_measured) {
    trials t = {0};
    int64_t tiles[MOST_TILES];
    const size_t nvars = tc_sym_var_count(p->sym);
    tc_symvalue *vars = TC_NEWN(&j->arena, tc_symvalue, nvars + 1);
    subject s = {.program = p, .options = {.pool = tc_cmd_pool(j->c), .threads = tc_cmd_threads(j->c), .keep_packed = true}};
    tc_status st = tc_cmd_bind(j->c, p, vars, nvars);
    if (!st) st = tc_cmd_make_inputs(p, vars, nvars, NULL, NULL, &s.inputs, &s.n);
    const bool other = p->instead_of && (st || !tc_program_admits(p, vars, nvars)); /* for other sizes than these */
    if (other) tc_status_free(st), st = NULL;
    else if (!st) st = try_tile(&s, tuning, &t, 0, 0);
    const int n = st || other ? 0 : open_tiles(&t, tuning, tiles);
    *out_measured += n;
    for (int i = 0; i < ROUNDS * (n + 1) && n && !st; i++) /* one after the other, again and again: a machine's speed drifts */
        st = try_tile(&s, tuning, &t, i % (n + 1) ? tiles[i % (n + 1) - 1] : 0, seconds / (ROUNDS * (n + 1)));
    if (!st) decide(j, &t, tuning);
    for (int i = 0; i < s.n; i++) tc_tensor_deinit(&s.inputs[i]);
    free(s.inputs);
    for (size_t i = 0; i < t.calls.len; i++) free(t.calls.data[i].key);
    tc_vec_free(&t.calls);
    return tc_annotate(st, "--tune: %s", p->name);
}

tc_status tune(compile_job *j) {
    double seconds;
    const bool measures = tc_cmd_has(j->c, TC_OPT_tune);
    const char *path = tc_cmd_get(j->c, TC_OPT_tuning);
    tc_tuning *tuning;
    int measured = 0;
    TC_TRY(tc_cmd_seconds(j->c, TC_OPT_tune, &seconds));
    TC_TRY(tc_cmd_tuning(j->c, j->archive, measures, &tuning));
    tc_status s = NULL;
    for (int i = 0; measures && i < j->n && !s; i++) s = tune_program(j, j->programs[i], tuning, seconds / j->n, &measured);
    if (!s && measures) tc_cmd_verbose(j->c, "--tune: %d tiles measured on %s", measured, tc_tuning_machine(tuning));
    if (!s && tuning) tc_tuning_write(tuning, &j->tuning);
    tc_tuning_destroy(tuning);
    tc_out *o;
    if (s || !measures || !path) return s;
    TC_TRY(tc_cmd_create(j->c, path, false, &o));
    return tc_cmd_finish(j->c, o, tc_out_write(o, tc_buf_str(&j->tuning), j->tuning.len));
}
