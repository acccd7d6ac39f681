/* tc_capture_source: captures the forward of a source's module in eval and train mode, and for the other sides of branches on sizes. source.h has the
 * steps around a capture. */
#include "capture/source.h"

#include "capture/keep_going.h"
#include "capture/profile.h"
#include "capture/load_hooks.h"
#include "capture/undrawn.h"

#include <stdio.h>

typedef struct {
    const tc_capture_request *r;
    tc_capture_result *out;
    tc_buf *list;
    tc_status *failures;
    size_t nfailures;
    tc_side_programs model, train; /* each mode's program, and its programs for other sides */
} job;

/* One capture of forward. */
typedef struct {
    const char *name;       /* of the program */
    int attempt;            /* tc_capture_attempt */
    const tc_side_size *at; /* sizes that replace those of the examples, `n` of them; NULL: none */
    size_t n;
    const char *const *follow; /* tc_capture_follow */
    size_t nfollow;
    int64_t same_as;
    tc_capture *k; /* out, with r->sides: the capture in progress, and the symbols of its inputs */
    tc_side_size *seen;
    size_t nseen;
    bool strict; /* a size that a branch fixes is an error */
} one_capture;

static tc_program *capture_mode(C *c, V m, module *mod, const tc_capture_request *r, one_capture *o) {
    tc_profile_phase(c->profile, "naming inputs and weights");
    list *params = tc_source_parameters(c, m);
    tc_capture_input *in = tc_source_ordered(c, r, params);
    tc_capture *k = tc_capture_begin(c, o->name);
    tc_program *p = c->torch->graph->program;
    tc_capture_ranges(k, r->dims, r->ndims);
    tc_capture_attempt(k, o->attempt);
    if (o->at) tc_capture_sizes(k, o->at, o->n);
    tc_capture_follow(k, o->follow, o->nfollow, o->same_as);
    o->k = k;
    if (tc_kind_of(m) != K_FUNC) tc_capture_state(k, m);
    tc_capture_preserve(k, r->preserve, r->npreserve);
    dict *given = tc_source_given(c, k, m, mod, r, in);
    if (r->sides > 1 && !c->draft && !c->keep && !o->strict) o->nseen = tc_capture_sided(k, &o->seen);
    args A = tc_source_call(c, p, given, params);
    c->capturing = true;
    V result = tc_call(c, m, &A);
    c->capturing = false;
    if (tc_kind_of(result) == K_NONE) tc_source_gives_none(c, m);
    tc_profile_phase(c->profile, "finishing the graph");
    if (c->keep) {
        tc_capture_look(k, result);
        return NULL;
    }
    const char **names = NULL;
    int nnames = tc_source_returned_names(c, m, &names);
    tc_capture_outputs(k, result, names, nnames);
    return tc_capture_end(k);
}

/* Train mode fails by the model's own or PyTorch's rules: batch norm of one value per channel, targets that were not given, a branch on data. */
static bool left_out(C *c, V e, bool in_forward) {
    static const char *const types[] = {"ValueError",   "AssertionError", "DataDependentError", "TypeError",
                                        "RuntimeError", "LookupError",    "AttributeError"};
    bool its_own = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) its_own |= tc_exc_is(c, e, types[i]);
    if (!in_forward || !its_own || tc_exc_is(c, e, "NotImplementedError")) return false;
    tc_status s = tc_exc_status(c, e);
    tc_warn(c, tc_arena_printf(&c->arena, "there is no train program: %s", tc_status_message(s)));
    tc_status_free(s);
    return true;
}

/* Drops what forward printed from `mark` on if an earlier capture of it, of another mode or for other sizes, has printed the same: it is shown once. */
static void print_once(C *c, size_t mark) {
    if (!c->printed.data) return;
    char *before = c->printed.data + c->forward_printed, *now = c->printed.data + mark;
    const size_t nbefore = mark - c->forward_printed, nnow = c->printed.len - mark, common = nbefore < nnow ? nbefore : nnow;
    if (memcmp(before, now, common) != 0) {
        c->forward_printed = mark;
        return;
    }
    if (nnow > nbefore) memmove(before, now, nnow); /* the earlier capture ended before */
    c->printed.len -= common;
    c->printed.data[c->printed.len] = 0;
}

/* The unnamed axes that equal a declared size which the model fixes to `size`, the example of both. False: there are none. */
static bool find_followers(C *c, V m, module *mod, const tc_capture_request *r, one_capture *o, int64_t size) {
    one_capture all = {.name = o->name, .same_as = size, .strict = true};
    const char **axes = NULL;
    void (*warn)(void *, const char *) = c->warn;
    const size_t mark = c->printed.len;
    trap t;
    c->warn = NULL; /* the next capture warns again */
    if (TC_TRAP_PASSING(c, t)) {
        tc_program *p = capture_mode(c, m, mod, r, &all);
        o->nfollow = tc_capture_tied(all.k, &axes);
        o->follow = axes;
        tc_program_release(p);
        tc_untrap(c, &t);
    } else tc_capture_abandon(c);
    c->warn = warn;
    print_once(c, mark);
    return o->nfollow > 0;
}

/* NULL: the mode may be left out, because the model refuses it. */
static tc_program *guarded_mode(C *c, V m, module *mod, const tc_capture_request *r, one_capture *o, bool optional) {
    tc_program *volatile p = NULL;
    V volatile first = NULL;
    for (volatile int attempt = 0; !p; attempt++) {
        const size_t mark = c->printed.len;
        trap t;
        if (TC_TRAP_PASSING(c, t)) {
            o->attempt = attempt;
            p = capture_mode(c, m, mod, r, o);
            print_once(c, mark);
            tc_untrap(c, &t);
        } else {
            print_once(c, mark);
            /* the model itself refused these sizes (an assert, a raise): others may be accepted */
            V e = c->exc;
            bool chosen = tc_capture_chose_sizes(c), in_forward = c->capturing;
            int64_t forced = tc_capture_forced(c);
            tc_capture_abandon(c);
            if (forced && !o->nfollow && find_followers(c, m, mod, r, o, forced)) continue;
            if (!first) first = e;
            bool refused = tc_exc_is(c, e, "AssertionError") || tc_exc_is(c, e, "ValueError") || tc_exc_is(c, e, "RuntimeError") ||
                           tc_exc_is(c, e, "IndexError");
            if (refused && chosen && attempt + 1 < TC_CAPTURE_ATTEMPTS) continue;
            if (optional && left_out(c, first, in_forward)) return NULL;
            tc_raise_again(c, first);
        }
    }
    p->source_file = tc_arena_strdup(&p->arena, r->path);
    p->source_text = tc_arena_strndup(&p->arena, r->text, r->len);
    return p;
}

/* ---- the other sides of a mode's branches ---- */
typedef struct {
    C *c;
    V m;
    module *mod;
    const tc_capture_request *r;
    const char *name; /* the name of the mode's first program */
    const char *const *follow;
    size_t nfollow;
    size_t count; /* programs so far */
} side_job;

static tc_program *capture_side(void *ctx, const tc_side_size *sizes, size_t n) {
    side_job *j = ctx;
    C *c = j->c;
    tc_program *volatile p = NULL;
    void (*warn)(void *, const char *) = c->warn;
    const size_t mark = c->printed.len;
    one_capture o = {.name = tc_arena_printf(&c->arena, "%s-%zu", j->name, j->count + 1), .at = sizes, .n = n};
    o.follow = j->follow, o.nfollow = j->nfollow;
    trap t;
    c->warn = NULL;
    if (TC_TRAP_PASSING(c, t)) {
        p = capture_mode(c, j->m, j->mod, j->r, &o);
        tc_untrap(c, &t);
    } else tc_capture_abandon(c);
    c->warn = warn;
    print_once(c, mark);
    if (!p) return NULL;
    p->instead_of = tc_arena_strdup(&p->arena, j->name);
    p->source_file = tc_arena_strdup(&p->arena, j->r->path);
    j->count++;
    return p;
}

/* With limits of its own, which are not taken from the model's. */
static void look_for_sides(side_job *j, const one_capture *first, tc_side_programs *all) {
    C *c = j->c;
    const uint64_t steps = c->steps;
    const size_t memory = c->arena.used, limit = c->max_memory;
    c->steps = 0;
    if (!tc_add_size(limit, memory, &c->max_memory)) c->max_memory = SIZE_MAX;
    tc_sides(all, first->seen, first->nseen, (tc_side_limits){.most = (size_t)j->r->sides}, capture_side, j);
    c->steps = steps;
    if (!tc_add_size(limit, c->arena.used - memory, &c->max_memory)) c->max_memory = SIZE_MAX;
}

static void release_all(tc_side_programs *all) {
    for (size_t i = 0; i < all->len; i++) tc_program_release(all->data[i]);
    all->len = 0;
}

/* A loop up to a size has a side for each value of it. The maximum number of programs, each for a single value, does not make the size dynamic. */
static bool one_value_each(const tc_side_programs *all, size_t most, const tc_side_size *seen, size_t n) {
    for (size_t i = 0; i < n && all->len == most; i++) {
        bool each = seen[i].declared;
        for (size_t k = 0; k < all->len && each; k++) each = tc_capture_pins(all->data[k], i);
        if (each) return true;
    }
    return false;
}

/* The mode's program and, after it in `all`, its programs for other sides. */
static void mode_and_sides(C *c, V m, module *mod, const tc_capture_request *r, const char *name, bool optional, tc_side_programs *all) {
    one_capture o = {.name = name};
    tc_program *p = guarded_mode(c, m, mod, r, &o, optional);
    if (!p) return;
    tc_vec_push(all, p);
    if (!o.nseen) return;
    side_job j = {.c = c, .m = m, .mod = mod, .r = r, .name = name, .follow = o.follow, .nfollow = o.nfollow, .count = 1};
    look_for_sides(&j, &o, all);
    if (!tc_capture_side_forced(o.k) || (all->len > 1 && !one_value_each(all, (size_t)r->sides, o.seen, o.nseen))) return;
    release_all(all); /* no other side, or only more of the same kind: the branch fixes the size after all */
    o = (one_capture){.name = name, .follow = j.follow, .nfollow = j.nfollow, .strict = true};
    p = guarded_mode(c, m, mod, r, &o, optional);
    if (p) tc_vec_push(all, p);
}

static V set_mode(C *c, V m, bool train) {
    if (tc_kind_of(m) == K_FUNC) return m;
    V f = tc_getattr_or(c, m, tc_intern(c, "train", 5));
    if (f) tc_call1(c, f, tc_bool(c, train));
    return m;
}

/* The same for a program that shares its weights with another, or with a file loaded later: train() must not change their values. */
static V set_mode_only(C *c, V m, bool train, const tc_capture_request *r) {
    if (tc_kind_of(m) == K_FUNC || (r->eval != r->train && !r->weights)) return set_mode(c, m, train);
    V f = tc_module_attr(c, tc_import(c, "torch.nn.module", true), tc_intern(c, "_set_mode", 9));
    V changed = tc_call2(c, f, m, tc_bool(c, train));
    if (changed != c->none)
        tc_raise_code(c, TC_UNSUPPORTED,
                      "train(%s) of the model changes the values of %s: the programs for eval and train have one set of weights, which is also what "
                      "--weights loads; --mode eval without --weights keeps the changed values",
                      train ? "True" : "False", tc_as_str(changed)->s);
    return m;
}

/* The same for the list of failures. An error raised by the model itself may be due to the chosen sizes, so others are tried. */
static void look_at_mode(C *c, V m, module *mod, const tc_capture_request *r) {
    size_t from = tc_keep_count(c), first = from;
    for (int attempt = 0; attempt < TC_CAPTURE_ATTEMPTS; attempt++) {
        size_t now = tc_keep_count(c);
        tc_keep_point at = tc_keep_mark(c, NULL);
        trap t;
        if (TC_TRAP_PASSING(c, t)) {
            capture_mode(c, m, mod, r, &(one_capture){.name = "model", .attempt = attempt});
            tc_untrap(c, &t);
        } else tc_keep_note(c, at);
        bool chosen = tc_capture_chose_sizes(c), refused = tc_keep_refused(c, now);
        tc_capture_abandon(c);
        if (attempt == 0) first = tc_keep_count(c);
        else if (refused) tc_keep_drop(c, now, tc_keep_count(c));
        else tc_keep_drop(c, from, first);
        if (!refused || !chosen) break;
    }
}

static void look(C *c, const tc_capture_request *r) {
    tc_keep_point at = tc_keep_mark(c, NULL);
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        module *mod = tc_source_load(c, r);
        V m = tc_source_construct(c, mod, r);
        bool known = !tc_keep_unknown(c, m), both = r->eval == r->train;
        if (known && (both || r->eval)) look_at_mode(c, set_mode(c, m, false), mod, r);
        if (known && (both || r->train)) look_at_mode(c, set_mode(c, m, true), mod, r);
        tc_untrap(c, &t);
    } else tc_keep_note(c, at);
}

static bool same_graph(const tc_program *a, const tc_program *b) {
    if (a->graph->nnodes != b->graph->nnodes) return false;
    tc_buf x = {0}, y = {0};
    tc_program_print(&x, a, TC_PRINT_SHORT);
    tc_program_print(&y, b, TC_PRINT_SHORT);
    const char *p = strchr(tc_buf_str(&x), '\n'), *q = strchr(tc_buf_str(&y), '\n'); /* the first line has the program's name */
    bool same = p && q && !strcmp(p, q);
    tc_buf_free(&x);
    tc_buf_free(&y);
    return same;
}

/* Lazy modules, which take their size from their first input, are materialised by a capture that is discarded; parameters and random draws remain. */
static void materialise(C *c, V m, module *mod, const tc_capture_request *r) {
    if (tc_type_of(c, m)->kind != K_OBJECT || !m->attrs || !tc_dict_gets(c, m->attrs, c->n__modules)) return;
    const list *modules = tc_torch_named_modules(c, m, tc_intern(c, "", 0));
    for (size_t i = 0; i < modules->n; i++) {
        size_t n;
        const V sub = tc_items(modules->a[i], &n)[1];
        if (!tc_type_lookup(c, sub->type, tc_intern(c, "_materialize", 12))) continue;
        one_capture o = {.name = "model"};
        tc_program_release(guarded_mode(c, set_mode_only(c, m, false, r), mod, r, &o, false));
        return;
    }
}

static void run(C *c, void *ctx) {
    job *j = ctx;
    const tc_capture_request *r = j->r;
    module *mod = tc_source_load(c, r);
    tc_undrawn_begin(c);
    V m = tc_source_construct(c, mod, r);
    bool both = r->eval == r->train;
    tc_capture_run_load_hooks(c, m, r, j->out);
    c->forward_printed = c->printed.len;
    materialise(c, m, mod, r);
    if (both || r->eval) mode_and_sides(c, set_mode_only(c, m, false, r), mod, r, "model", false, &j->model);
    if (both || r->train) {
        mode_and_sides(c, set_mode_only(c, m, true, r), mod, r, "train", both && r->eval_suffices, &j->train);
        bool same = both && j->train.len == j->model.len;
        for (size_t i = 0; i < j->train.len && same; i++) same = same_graph(j->model.data[i], j->train.data[i]);
        if (same) release_all(&j->train);
    }
}

/* Gives the captured programs to the caller. */
static void hand_over(job *j, bool failed) {
    tc_capture_result *out = j->out;
    if (failed) release_all(&j->model), release_all(&j->train), tc_capture_stored_free(out);
    const size_t nmodel = j->model.len, ntrain = j->train.len;
    if (nmodel) out->model = j->model.data[0];
    if (ntrain) out->train = j->train.data[0];
    if (nmodel > 1 || ntrain > 1) out->others = tc_xcalloc(nmodel + ntrain, sizeof *out->others);
    for (size_t i = 1; i < nmodel && out->others; i++) out->others[out->nothers++] = j->model.data[i];
    for (size_t i = 1; i < ntrain && out->others; i++) out->others[out->nothers++] = j->train.data[i];
    tc_vec_free(&j->model);
    tc_vec_free(&j->train);
}

static tc_status with_context(const tc_capture_request *r, void (*fn)(C *, void *), job *j) {
    C *c;
    struct tc_generator gen = {0};
    tc_generator_seed(&gen, r->seed);
    tc_profile_phase(r->profile, "setting up the model language");
    TC_TRY(tc_lang_create_with(&r->limits, r->run, &gen, &c));
    c->warn = r->warn, c->warn_self = r->warn_self;
    c->profile = r->profile;
    tc_profile_phase(r->profile, "reading the source");
    tc_draft draft = {.observe = r->observe, .self = r->observe_self};
    if (r->observe && fn == run) c->draft = &draft;
    tc_status st = tc_lang_run(c, fn, j);
    if (draft.report.len && j->out) j->out->draft = tc_xstrdup(tc_buf_str(&draft.report)), j->out->decided = draft.places;
    tc_buf_free(&draft.report);
    if (j->out) j->out->undrawn = tc_undrawn_take(c);
    if (j->out && c->printed.len) j->out->printed = tc_xstrdup(tc_buf_str(&c->printed));
    tc_lang_destroy(c);
    return st;
}

static void keep_going(C *c, void *ctx) {
    job *j = ctx;
    c->warn = NULL; /* the failed run has warned already */
    tc_keep_begin(c);
    look(c, j->r);
    j->failures = tc_keep_take(c, &j->nfailures);
}

/* Lists every failure of the source; `first` is one of them. */
static tc_status list_failures(const tc_capture_request *r, tc_status first, tc_capture_result *out) {
    job j = {.r = r};
    tc_status st = with_context(r, keep_going, &j);
    tc_place a = tc_status_place(first);
    bool listed = false;
    for (size_t i = 0; i < j.nfailures && !listed; i++) {
        tc_place b = tc_status_place(j.failures[i]);
        listed = (a.file && b.file ? !strcmp(a.file, b.file) : a.file == b.file) && a.line == b.line && a.col == b.col;
    }
    tc_status_free(st);
    out->failures = tc_xcalloc(j.nfailures + 1, sizeof *out->failures);
    if (!listed) out->failures[out->nfailures++] = first;
    else tc_status_free(first);
    for (size_t i = 0; i < j.nfailures; i++) out->failures[out->nfailures++] = j.failures[i];
    free(j.failures);
    return tc_error(TC_CONTENT, "%s: %zu construct%s cannot be captured", r->path, out->nfailures, out->nfailures == 1 ? "" : "s");
}

static tc_status draw_all(job *j) {
    tc_profile_phase(j->r->profile, "drawing initial values");
    TC_TRY(tc_undrawn_draw(j->out->undrawn, j->r->run, j->model.data, j->model.len));
    return tc_undrawn_draw(j->out->undrawn, j->r->run, j->train.data, j->train.len);
}

tc_status tc_capture_source(const tc_capture_request *r, tc_capture_result *out) {
    *out = (tc_capture_result){0};
    job j = {.r = r, .out = out};
    tc_status st = with_context(r, run, &j);
    if (st && r->keep_going && tc_status_code(st) != TC_ENV) st = list_failures(r, st, out);
    if (!st && !r->undrawn) st = draw_all(&j);
    if (st || !r->undrawn) tc_undrawn_free(out->undrawn), out->undrawn = NULL;
    hand_over(&j, st != NULL);
    return st;
}

/* ---- listing ---- */
static void list_classes(C *c, void *ctx) {
    job *j = ctx;
    module *mod = tc_lang_load_script(c, j->r->path, tc_arena_strndup(&c->arena, j->r->text, j->r->len), j->r->len);
    V base = tc_module_attr(c, tc_import(c, "torch.nn", true), tc_intern(c, "Module", 6)), key, v;
    for (size_t i = 0; tc_dict_next(mod->d, &i, &key, &v);) {
        if (tc_kind_of(v) != K_TYPE || !((type *)v)->user || ((type *)v)->module_name != mod->name || !tc_issubclass(c, v, base)) continue;
        tc_buf_printf(j->list, "%s(", tc_as_str(key)->s);
        V init = tc_type_lookup(c, (type *)v, c->n___init__);
        if (init && tc_kind_of(init) == K_FUNC) {
            list *sig = (list *)tc_func_signature(c, (func *)init);
            for (size_t s = 1; s < sig->n; s++) {
                size_t n;
                V *p = tc_items(sig->a[s], &n);
                int64_t pk = tc_small(p[1]);
                tc_buf_printf(j->list, "%s%s%s", s > 1 ? ", " : "", pk == P_VAR ? "*" : pk == P_KW ? "**" : "", tc_as_str(p[0])->s);
                if (p[2] != c->ellipsis) tc_buf_printf(j->list, "=%s", tc_repr(c, p[2])->s);
            }
        }
        tc_buf_puts(j->list, ")\n");
    }
}

tc_status tc_capture_list(const tc_capture_request *r, tc_buf *out) {
    job j = {.r = r, .list = out};
    return with_context(r, list_classes, &j);
}
