/* --tune=SECONDS: the program runs with every value of every choice (block sizes of loops, weights packed or not, what kernels can do in several
 * ways), one choice after another and its values alternately, each for an equal share of the time; the fastest run of each call decides before
 * the next choice. When the time is over, a choice is decided by what was measured if every value had its turn, and what follows stays open. What
 * was measured before, on this machine at these sizes, is not measured again: lines of the archive, of --tuning FILE or, without one, of the
 * user's store. */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "cmd/code.h"
#include "cmd/inputs.h"

#include <unistd.h>

enum { MOST_TILES = TC_TUNING_CHOICES, ROUNDS = 3 };
#define WORTH 0.97 /* a tile replaces the own choice when it takes at most so much of its time */

typedef struct {
    const char *knob;
    char *key;
    int64_t tiles[MOST_TILES + 1]; /* ended by 0 */
    double ns[MOST_TILES + 1];     /* of the own choice, then of each tile; 0: not measured */
    bool gone;                     /* what was decided before left no such choice, or what it computes is kept from run to run */
} tuned;                           /* a call of the program that has a choice */

typedef struct {
    TC_VEC(tuned) calls;
    const char *knob; /* of the runs that go on; NULL: none is tried */
    int64_t tile;
    bool counting; /* the first runs make packed weights */
} trials;

typedef struct {
    tc_program *program;
    tc_tensor *inputs;
    int n;
    tc_exec_options options;
} subject;

static tuned *entry(trials *t, const char *knob, const char *key, const int64_t *tiles) {
    for (size_t i = 0; i < t->calls.len; i++)
        if (!strcmp(t->calls.data[i].key, key)) return &t->calls.data[i];
    tuned k = {.knob = knob, .key = tc_xstrdup(key)};
    for (int i = 0; tiles[i] && i < MOST_TILES; i++) k.tiles[i] = tiles[i];
    tc_vec_push(&t->calls, k);
    return &t->calls.data[t->calls.len - 1];
}

static void take_time(void *ctx, const char *knob, const char *key, const int64_t *tiles, uint64_t nanoseconds) {
    trials *t = ctx;
    tuned *k = entry(t, knob, key, tiles);
    int at = 0;
    if (!t->knob || strcmp(t->knob, knob) || !t->counting) return;
    for (int i = 0; t->tile && k->tiles[i]; i++)
        if (k->tiles[i] == t->tile) at = i + 1;
    const double ns = (double)nanoseconds + 1;
    if ((at || !t->tile) && (!k->ns[at] || ns < k->ns[at])) k->ns[at] = ns;
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

/* Runs with one tile wherever a call has it among its choices of the knob, 0: as it is chosen without. */
static tc_status try_tile(subject *s, tc_tuning *tuning, trials *t, const char *knob, int64_t tile, double seconds) {
    tc_exec *e;
    const double end = tc_now() + seconds;
    tc_tuning_try(tuning, knob, tile);
    t->knob = knob, t->tile = tile;
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
    tc_tuning_try(tuning, NULL, 0);
    return st;
}

enum { MOST_VALUES = 64 };
typedef struct {
    const char *name;
    int64_t tiles[MOST_VALUES];
    int n;
} knob;
typedef TC_VEC(knob) knobs;

/* What there is to choose, in the order of the calls, with the different tiles of calls that are not known yet. */
static void open_knobs(const trials *t, tc_tuning *tuning, knobs *out) {
    for (size_t i = 0; i < t->calls.len; i++) {
        const tuned *call = &t->calls.data[i];
        size_t k = 0;
        if (call->gone || tc_tuning_has_tile(tuning, call->key)) continue;
        while (k < out->len && strcmp(out->data[k].name, call->knob)) k++;
        if (k == out->len) tc_vec_push(out, ((knob){.name = call->knob}));
        for (const int64_t *tile = call->tiles; *tile; tile++) {
            knob *b = &out->data[k];
            int at = 0;
            while (at < b->n && b->tiles[at] != *tile) at++;
            if (at == b->n && b->n < MOST_VALUES) b->tiles[b->n++] = *tile;
        }
    }
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

static void decide(compile_job *j, trials *t, const char *name, tc_tuning *tuning) {
    for (size_t i = 0; i < t->calls.len; i++) {
        tuned *k = &t->calls.data[i];
        int best = 0;
        if (strcmp(k->knob, name) || tc_tuning_has_tile(tuning, k->key)) continue;
        k->gone = !k->ns[0];
        if (k->gone) continue;
        for (int c = 1; c <= MOST_TILES && k->tiles[c - 1]; c++)
            if (k->ns[c] && k->ns[c] < k->ns[best] && k->ns[c] < WORTH * k->ns[0]) best = c;
        tc_tuning_set_tile(tuning, k->key, best ? k->tiles[best - 1] : 0);
        if (compile_says(j, "tuning")) say_trials(j, k, best);
    }
}

/* Every value of a knob in turn, again and again, since a machine's speed drifts. A turn that would end late, as the last one took, is not begun.
 * *out_all: every value had a turn. */
static tc_status take_turns(subject *s, trials *t, tc_tuning *tuning, const knob *b, double each, double end, bool *out_all) {
    tc_status st = NULL;
    int i = 0;
    for (double begin = tc_now(), last = 0; i < ROUNDS * (b->n + 1) && begin + last < end && !st; i++) {
        st = try_tile(s, tuning, t, b->name, i % (b->n + 1) ? b->tiles[i % (b->n + 1) - 1] : 0, each);
        last = tc_now() - begin, begin += last;
    }
    *out_all = i > b->n;
    return st;
}

/* One knob after another until nothing is open, since what is decided of one may give a call others, or the time is over: *out_late. */
static tc_status try_knobs(compile_job *j, subject *s, trials *t, tc_tuning *tuning, double end, int *out_measured, bool *out_late) {
    tc_status st = NULL;
    knobs open = {0};
    const double share = 0.75; /* of the time left is for what is open now */
    for (open_knobs(t, tuning, &open); open.len && !st && !*out_late; open.len = 0, open_knobs(t, tuning, &open)) {
        const knob b = open.data[0];
        bool all;
        int turns = 0;
        for (size_t k = 0; k < open.len; k++) turns += ROUNDS * (open.data[k].n + 1);
        st = take_turns(s, t, tuning, &b, share * (end - tc_now()) / turns, end, &all);
        *out_late = !all;
        if (st || !all) continue;
        decide(j, t, b.name, tuning);
        *out_measured += b.n;
    }
    tc_vec_free(&open);
    return st;
}

static tc_status tune_program(compile_job *j, tc_program *p, tc_tuning *tuning, double seconds, int *out_measured, bool *out_late) {
    trials t = {0};
    const double end = tc_now() + seconds;
    const size_t nvars = tc_sym_var_count(p->sym);
    tc_symvalue *vars = TC_NEWN(&j->arena, tc_symvalue, nvars + 1);
    subject s = {.program = p, .options = {.pool = tc_cmd_pool(j->c), .threads = tc_cmd_threads(j->c), .keep_packed = true}};
    tc_status st = tc_cmd_bind(j->c, p, vars, nvars);
    if (!st) st = tc_cmd_make_inputs(p, vars, nvars, NULL, NULL, &s.inputs, &s.n);
    if (p->instead_of && (st || !tc_program_admits(p, vars, nvars))) tc_status_free(st), st = NULL; /* for other sizes than these */
    else {
        if (!st) st = try_tile(&s, tuning, &t, NULL, 0, 0);
        if (!st) st = try_knobs(j, &s, &t, tuning, end, out_measured, out_late);
    }
    for (int i = 0; i < s.n; i++) tc_tensor_deinit(&s.inputs[i]);
    free(s.inputs);
    for (size_t i = 0; i < t.calls.len; i++) free(t.calls.data[i].key);
    tc_vec_free(&t.calls);
    return tc_annotate(st, "--tune: %s", p->name);
}

/* ---- the store: what this user's --tune measured, of all programs ---- */
static tc_status store_path(tc_buf *out) {
    TC_TRY(tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", out));
    tc_buf_printf(out, "/tuning");
    return NULL;
}
/* A store that cannot be read, or is none, is as good as empty. */
static void read_store(compile_job *j, tc_tuning *tuning) {
    tc_buf path = {0}, text = {0};
    tc_status s = store_path(&path);
    if (!s && !access(tc_buf_str(&path), F_OK)) {
        s = tc_file_read(tc_buf_str(&path), (size_t)64 << 20, &text);
        if (!s) s = tc_tuning_read(tuning, tc_buf_str(&text), text.len, tc_buf_str(&path), true);
    }
    if (s) tc_cmd_verbose(j->c, "%s", tc_status_message(s));
    tc_status_free(s);
    tc_buf_free(&path);
    tc_buf_free(&text);
}
static void write_store(compile_job *j, tc_tuning *tuning) {
    tc_buf path = {0}, text = {0};
    read_store(j, tuning); /* what others found meanwhile */
    tc_tuning_write(tuning, true, &text);
    tc_status s = store_path(&path);
    if (!s) s = tc_file_write(tc_buf_str(&path), tc_buf_str(&text), text.len);
    if (s) tc_cmd_verbose(j->c, "%s", tc_status_message(s));
    tc_status_free(s);
    tc_buf_free(&path);
    tc_buf_free(&text);
}

tc_status tune(compile_job *j) {
    double seconds;
    const bool measures = tc_cmd_has(j->c, TC_OPT_tune);
    const char *path = tc_cmd_get(j->c, TC_OPT_tuning);
    const bool store = measures && !path && !tc_cmd_has(j->c, TC_OPT_no_cache);
    tc_tuning *tuning;
    int measured = 0;
    bool late = false;
    TC_TRY(tc_cmd_seconds(j->c, TC_OPT_tune, &seconds));
    TC_TRY(tc_cmd_tuning(j->c, j->archive, measures, &tuning));
    tc_status s = NULL;
    if (store) read_store(j, tuning);
    for (int i = 0; measures && i < j->n && !s; i++) s = tune_program(j, j->programs[i], tuning, seconds / j->n, &measured, &late);
    if (!s && measures) tc_cmd_verbose(j->c, "--tune: %d tiles measured on %s", measured, tc_tuning_machine(tuning));
    if (!s && late) tc_cmd_note(j->c, "--tune: %g seconds are too few for every choice: those left stay as they are chosen without", seconds);
    if (!s && tuning) tc_tuning_write(tuning, false, &j->tuning);
    if (!s && store && measured) write_store(j, tuning);
    tc_tuning_destroy(tuning);
    tc_out *o;
    if (s || !measures || !path) return s;
    TC_TRY(tc_cmd_create(j->c, path, false, &o));
    return tc_cmd_finish(j->c, o, tc_out_write(o, tc_buf_str(&j->tuning), j->tuning.len));
}
