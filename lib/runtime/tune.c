/* Tuning (tune.h): runs the program with every value of every knob (block sizes of loops, weights packed or not, knobs of kernels), one knob after
 * the other. The values of a knob take turns, each for an equal share of the time, as the speed of a machine drifts; then the fastest run of each call
 * decides for that call, before the next knob is measured. When the time is over, the current knob is decided if every value had a turn; the
 * remaining knobs stay undecided. */
#include "runtime/tune.h"

#include "base/rng.h"
#include "base/text.h"

enum { MAX_TILES = TC_TUNING_CHOICES, ROUNDS = 3, MAX_RUNS = 500 /* in a turn; more did not find shorter times */ };
#define WORTH 0.97 /* a value replaces the default if its time is below this fraction of the default's */

/* A choice of a call of the program. */
typedef struct {
    const char *knob;
    char *key;
    int64_t tiles[MAX_TILES + 1]; /* ended by 0 */
    double ns[MAX_TILES + 1];     /* shortest time with the default, then with each tile; 0: not measured */
    bool gone; /* the choice no longer exists, because of an earlier decision or because the call's results are kept between runs */
} tuned;

typedef struct {
    TC_VEC(tuned) calls;
    const char *knob; /* being measured, or NULL */
    int64_t tile;     /* its value */
    bool counting;    /* false in the first runs, which pack weights */
} trials;

typedef struct {
    const tc_program *program;
    const tc_tensor *inputs;
    int n;
    const tc_exec_options *options;
    const tc_tune_options *o;
    tc_tensor *want;  /* results of the first run of all; NULL before it */
    tc_tensor *fresh; /* copies of the inputs, if runs write to them; else NULL */
} subject;

static tuned *entry(trials *t, const char *knob, const char *key, const int64_t *tiles) {
    for (size_t i = 0; i < t->calls.len; i++)
        if (!strcmp(t->calls.data[i].key, key)) return &t->calls.data[i];
    tuned k = {.knob = knob, .key = tc_xstrdup(key)};
    for (int i = 0; tiles[i] && i < MAX_TILES; i++) k.tiles[i] = tiles[i];
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

/* Copies the inputs for a run that writes to them. */
static tc_status renew_inputs(subject *s) {
    for (int i = 0; i < s->n; i++) {
        tc_tensor_deinit(&s->fresh[i]);
        TC_TRY(tc_tensor_clone(&s->inputs[i], &s->fresh[i]));
    }
    return NULL;
}

/* Clears *out_same if these are not the results of the first run of all: a value that changes them is no candidate. */
static tc_status compare(const subject *s, const tc_tensor *out, bool *out_same) {
    tc_diff d;
    for (int i = 0; s->want && !s->o->rounds && i < s->program->noutputs; i++) {
        if (!s->want[i].storage) continue;
        TC_TRY(tc_tensor_compare(&out[i], &s->want[i], 0, 0, &d));
        *out_same &= !d.count;
    }
    return NULL;
}

/* out_same: in the first run of a tc_exec, see compare(); NULL: in later ones. */
static tc_status run_once(subject *s, tc_exec *e, bool *out_same) {
    const int n = s->program->noutputs;
    tc_tensor *out = tc_xcalloc((size_t)n + 1, sizeof *out);
    tc_generator gen;
    tc_generator_seed(&gen, 0);
    tc_status st = s->fresh ? renew_inputs(s) : NULL;
    if (!st) st = tc_exec_run(e, s->fresh ? s->fresh : s->inputs, s->n, &gen, out, n);
    if (!st && out_same) st = compare(s, out, out_same);
    if (!st && !s->want) return s->want = out, NULL;
    for (int i = 0; i < n; i++) tc_tensor_deinit(&out[i]);
    free(out);
    return st;
}

/* A turn: runs for `seconds` with this tile for every call that has it among the knob's choices. 0: with the default. */
static tc_status try_tile(subject *s, tc_tuning *tuning, trials *t, const char *knob, int64_t tile, double seconds) {
    tc_exec *e;
    const double end = tc_now() + seconds;
    bool same = true;
    tc_tuning_try(tuning, knob, tile);
    t->knob = knob, t->tile = tile;
    t->counting = false;
    tc_status st = tc_exec_create(s->program, s->options, &e);
    if (st) return st;
    tc_exec_set_tuning(e, tuning);
    tc_exec_set_timed(e, take_time, t);
    for (int runs = 0; !st && same && (runs < 3 || (runs < MAX_RUNS && tc_now() < end)); runs++) {
        t->counting = runs > 1;
        st = run_once(s, e, runs ? NULL : &same);
    }
    tc_exec_destroy(e);
    tc_tuning_try(tuning, NULL, 0);
    return st;
}

enum { MAX_VALUES = 64 };
typedef struct {
    const char *name;
    int64_t tiles[MAX_VALUES];
    int n;
} knob;
typedef TC_VEC(knob) knobs;

/* The knobs of calls that are undecided, in the order of the calls, each with the union of its tiles. */
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
            if (at == b->n && b->n < MAX_VALUES) b->tiles[b->n++] = *tile;
        }
    }
}

/* Prints the decision for a call, and the shortest time of each value. */
static void print_trials(const tc_tune_options *o, const tuned *k, int best) {
    tc_buf b = {0};
    if (best) tc_buf_printf(&b, "%s: %lld;", k->key, (long long)k->tiles[best - 1]);
    else tc_buf_printf(&b, "%s: as it is chosen;", k->key);
    tc_buf_printf(&b, " as it is chosen %.1f us", k->ns[0] / 1e3);
    for (int c = 1; c <= MAX_TILES && k->tiles[c - 1]; c++)
        if (k->ns[c]) tc_buf_printf(&b, ", %lld %.1f us", (long long)k->tiles[c - 1], k->ns[c] / 1e3);
    o->say(o->ctx, tc_buf_str(&b));
    tc_buf_free(&b);
}

static void decide(const tc_tune_options *o, trials *t, const char *name, tc_tuning *tuning) {
    for (size_t i = 0; i < t->calls.len; i++) {
        tuned *k = &t->calls.data[i];
        int best = 0;
        if (strcmp(k->knob, name) || tc_tuning_has_tile(tuning, k->key)) continue;
        k->gone = !k->ns[0];
        if (k->gone) continue;
        for (int c = 1; c <= MAX_TILES && k->tiles[c - 1]; c++)
            if (k->ns[c] && k->ns[c] < k->ns[best] && k->ns[c] < WORTH * k->ns[0]) best = c;
        tc_tuning_set_tile(tuning, k->key, best ? k->tiles[best - 1] : 0);
        if (o->say) print_trials(o, k, best);
    }
}

/* ROUNDS turns for every value of a knob, alternately. No turn is begun that would end late if it took as long as the turn before. *out_all: every value
 * had a turn. */
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

/* Measures one knob after another until none is undecided, or the time is over (out->late). The list of knobs is made again after each decision, which
 * may give calls other choices. */
static tc_status try_knobs(subject *s, trials *t, tc_tuning *tuning, double end, tc_tuned *out) {
    tc_status st = NULL;
    knobs open = {0};
    const double share = 0.75; /* of the time left is planned for the knobs known now */
    for (open_knobs(t, tuning, &open); open.len && !st && !out->late; open.len = 0, open_knobs(t, tuning, &open)) {
        const knob b = open.data[0];
        bool all;
        int turns = 0;
        for (size_t k = 0; k < open.len; k++) turns += ROUNDS * (open.data[k].n + 1);
        st = take_turns(s, t, tuning, &b, share * (end - tc_now()) / turns, end, &all);
        out->late = !all;
        if (st || !all) continue;
        decide(s->o, t, b.name, tuning);
        out->measured += b.n;
    }
    tc_vec_free(&open);
    return st;
}

tc_status tc_tune(const tc_program *p, const tc_exec_options *e, tc_tuning *tuning, const tc_tensor *inputs, int n, const tc_tune_options *o,
                  tc_tuned *out) {
    trials t = {0};
    const double end = tc_now() + o->seconds;
    subject s = {.program = p, .inputs = inputs, .n = n, .options = e, .o = o};
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_USER_INPUT && !s.fresh) s.fresh = tc_xcalloc((size_t)n + 1, sizeof *s.fresh);
    tc_status st = try_tile(&s, tuning, &t, NULL, 0, 0);
    if (!st) st = try_knobs(&s, &t, tuning, end, out);
    for (int i = 0; s.fresh && i < n; i++) tc_tensor_deinit(&s.fresh[i]);
    for (int i = 0; s.want && i < p->noutputs; i++) tc_tensor_deinit(&s.want[i]);
    free(s.fresh);
    free(s.want);
    for (size_t i = 0; i < t.calls.len; i++) free(t.calls.data[i].key);
    tc_vec_free(&t.calls);
    return st;
}
