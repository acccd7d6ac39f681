/* Chooses among programs and compiled variants (variants.h). */
#include "runtime/variants.h"

#include "base/text.h"
#include "codegen/packed.h"
#include "runtime/frame.h"

typedef struct {
    tc_sym var;
    int64_t value;
} fixed;
typedef struct {
    fixed *size; /* [n] */
    int n;
    char *guard; /* "B == 8" */
    tc_program *program;
    tc_exec *exec; /* NULL: not planned yet */
    bool foreign;  /* of another program of the archive: here only the general code is compiled */
} variant;
typedef struct {
    tc_program *program;
    tc_exec *exec;
} side;
struct tc_variants {
    const tc_program *program;
    tc_exec_options options;
    tc_variants_events events;
    tc_exec *main;
    bool reported; /* recompile has been called */
    tc_exec_profile profile;
    void *profile_ctx;
    TC_VEC(variant) all;
    TC_VEC(side) others;
    bool read;                    /* `others` is complete */
    tc_exec *running;             /* of the last run: main, or one of `others` */
    TC_VEC(const char *) written; /* names of state that the programs which have run write to */
};

/* ---- the list ---- */
static tc_sym symbol(const tc_program *p, const char *name, size_t len) {
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        tc_sym s = tc_sym_var_at(p->sym, i);
        if (tc_sym_type(s) == TC_SYM_INT && strlen(tc_sym_var_name(s)) == len && !memcmp(tc_sym_var_name(s), name, len)) return s;
    }
    return NULL;
}

static bool read_size(const tc_program *p, const char *word, size_t len, fixed *out) {
    const char *eq = memchr(word, '=', len);
    char number[32] = {0};
    int64_t lo, hi;
    if (!eq || (size_t)(word + len - eq) > sizeof number) return false;
    memcpy(number, eq + 1, (size_t)(word + len - eq - 1));
    out->var = symbol(p, word, (size_t)(eq - word));
    if (!out->var || !tc_parse_i64(number, &out->value)) return false;
    tc_sym_range(p->sym, out->var, &lo, &hi);
    return out->value >= lo && out->value <= hi;
}

static void read_line(tc_variants *v, const char *line, size_t len) {
    variant one = {0};
    tc_buf guard = {0};
    bool fits = v->all.len < TC_PACKED_VARIANTS;
    for (size_t at = 0, n; fits && at < len; at += n + 1) {
        for (n = 0; at + n < len && line[at + n] != ' ';) n++;
        one.size = tc_xrealloc(one.size, (size_t)(one.n + 1) * sizeof *one.size);
        fits = read_size(v->program, line + at, n, &one.size[one.n]);
        if (fits) tc_buf_printf(&guard, "%s%s == %lld", one.n ? " and " : "", tc_sym_var_name(one.size[one.n].var), (long long)one.size[one.n].value);
        one.n++;
    }
    if (fits && one.n) {
        one.guard = tc_xstrdup(tc_buf_str(&guard));
        tc_vec_push(&v->all, one);
        for (size_t i = v->all.len - 1; i > 0 && v->all.data[i - 1].n < one.n; i--) { /* those that fix most sizes come first */
            v->all.data[i] = v->all.data[i - 1];
            v->all.data[i - 1] = one;
        }
    } else free(one.size);
    tc_buf_free(&guard);
}

static int count_user(const tc_program *p) {
    int n = 0;
    for (int i = 0; i < p->ninputs; i++) n += p->inputs[i].kind == TC_IN_USER;
    return n;
}

static bool changes_state(const tc_program *p) {
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_BUFFER || p->outputs[i].kind == TC_OUT_PARAMETER) return true;
    return false;
}

tc_status tc_variants_create(const tc_program *p, const char *list, size_t len, const tc_exec_options *o, const tc_variants_events *events,
                             tc_variants **out) {
    tc_variants *v = tc_xcalloc(1, sizeof *v);
    *v = (tc_variants){.program = p, .options = *o};
    if (events) v->events = *events;
    for (size_t at = 0, end; o->code && !changes_state(p) && at < len; at = end + 1) {
        for (end = at; end < len && list[end] != '\n';) end++;
        read_line(v, list + at, end - at);
    }
    tc_status s = tc_exec_create(p, o, &v->main);
    v->running = v->main;
    if (s) tc_variants_destroy(v);
    else *out = v;
    return s;
}

void tc_variants_destroy(tc_variants *v) {
    if (!v) return;
    for (size_t i = 0; i < v->all.len; i++) {
        tc_exec_destroy(v->all.data[i].exec);
        tc_program_release(v->all.data[i].program);
        free(v->all.data[i].guard);
        free(v->all.data[i].size);
    }
    for (size_t i = 0; i < v->others.len; i++) {
        tc_exec_destroy(v->others.data[i].exec);
        tc_program_release(v->others.data[i].program);
    }
    tc_vec_free(&v->all);
    tc_vec_free(&v->others);
    tc_vec_free(&v->written);
    tc_exec_destroy(v->main);
    free(v);
}

int tc_variants_count(const tc_variants *v) { return (int)v->all.len; }
tc_exec *tc_variants_main(const tc_variants *v) { return v->main; }
const char *tc_variants_guard(const tc_variants *v, int i) { return v->all.data[i].guard; }

void tc_variants_set_profile(tc_variants *v, tc_exec_profile fn, void *ctx) {
    v->profile = fn, v->profile_ctx = ctx;
    tc_exec_set_profile(v->main, fn, ctx);
    for (size_t i = 0; i < v->others.len; i++) tc_exec_set_profile(v->others.data[i].exec, fn, ctx);
    for (size_t i = 0; i < v->all.len; i++)
        if (v->all.data[i].exec) tc_exec_set_profile(v->all.data[i].exec, fn, ctx);
}

/* ---- a run ---- */
/* The size of a run that no variant is for. */
typedef struct {
    tc_sym var;
    const tc_input *in; /* whose size(dim) is var itself; NULL: none */
    int dim;
    int64_t size; /* -1: not known */
} met;

/* The first size of an input that is the symbol itself. */
static met find(const tc_program *p, tc_sym var, const tc_tensor *inputs) {
    for (int i = 0, k = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        const tc_value *x = p->inputs[i].value;
        const tc_tensor *t = &inputs[k++];
        for (int d = 0; x && x->kind == TC_V_TENSOR && t->rank == x->meta.rank && d < t->rank; d++)
            if (x->meta.size[d] == var) return (met){var, &p->inputs[i], d, t->size[d]};
    }
    return (met){.var = var, .size = -1};
}

/* Compares the values of symbols (solve_sizes), so it also works if the inputs' sizes are only 2*B or B + 1. */
static bool matches(const tc_variants *v, const variant *one, const tc_tensor *inputs, met *out_other) {
    const tc_symvalue *vars = v->main->vars;
    for (int i = 0; i < one->n; i++) {
        const tc_symvalue *x = &vars[tc_sym_var_index(one->size[i].var)];
        if (x->bound && x->i == one->size[i].value) continue;
        *out_other = find(v->program, one->size[i].var, inputs);
        if (!out_other->in && x->bound) out_other->size = x->i;
        return false;
    }
    return true;
}

static tc_status plan(tc_variants *v, variant *one) {
    tc_program *p = NULL;
    for (int i = 0; i < one->n; i++) {
        const tc_program *from = p ? p : v->program;
        tc_program *at = tc_program_clone_at(from, tc_sym_var_at(from->sym, tc_sym_var_index(one->size[i].var)), one->size[i].value);
        if (p) tc_program_release(p);
        p = at;
    }
    one->program = p;
    TC_TRY(tc_exec_create(p, &v->options, &one->exec), "the variant for %s", one->guard);
    tc_exec_set_profile(one->exec, v->profile, v->profile_ctx);
    tc_exec_set_tuning(one->exec, v->main->tuning);
    one->foreign = tc_exec_uncompiled(one->exec) && !tc_exec_uncompiled(v->main);
    if (v->events.chosen && !one->foreign) v->events.chosen(v->events.ctx, one->guard);
    return NULL;
}

typedef struct {
    tc_sym var;
    bool found;
} use;
static void uses(void *ctx, tc_value **place) {
    use *u = ctx;
    for (int d = 0; (*place)->kind == TC_V_TENSOR && d < (*place)->meta.rank; d++) u->found |= (*place)->meta.size[d] == u->var;
}
/* The line of the first node that reads a value of this size. */
static tc_source first_use(const tc_program *p, tc_sym var) {
    use u = {var, false};
    for (const tc_node *n = p->graph->first; n; n = n->next) {
        tc_node_each_input(n, uses, &u);
        if (u.found && n->source.file) return n->source;
    }
    return (tc_source){0};
}

/* No variant fits: the code for all sizes runs, or the interpreter if there is none. */
static tc_status no_variant(tc_variants *v, const tc_tensor *inputs, met m, bool must) {
    tc_buf guard = {0}, found = {0};
    tc_status s = NULL;
    const bool compiled = !tc_exec_uncompiled(v->main);
    if (!v->all.len || (v->reported && (compiled || !must))) return NULL;
    TC_TRY(tc_exec_check(v->main, inputs, count_user(v->program))); /* the program may not accept the sizes at all */
    if (compiled) {
        v->reported = true;
        if (v->events.chosen) v->events.chosen(v->events.ctx, NULL);
        return NULL;
    }
    for (size_t i = 0; i < v->all.len; i++) tc_buf_printf(&guard, "%s%s", i ? ", or " : "", v->all.data[i].guard);
    if (m.in) tc_buf_printf(&found, "%s.size(%d) = %lld", m.in->name, m.dim, (long long)m.size);
    else if (m.size >= 0) tc_buf_printf(&found, "%s = %lld", tc_sym_var_name(m.var), (long long)m.size);
    else tc_buf_puts(&found, "no input shows it");
    tc_recompile r = {tc_buf_str(&guard), tc_buf_str(&found), first_use(v->program, m.var ? m.var : v->all.data[0].size[0].var)};
    if (v->events.recompile && !v->reported) v->events.recompile(v->events.ctx, &r);
    v->reported = true;
    if (must && r.at.file) s = tc_error(TC_ENV, "no compiled variant fits: it is for %s; %s (%s:%d)", r.guard, r.met, r.at.file, r.at.line);
    else if (must) s = tc_error(TC_ENV, "no compiled variant fits: it is for %s; %s", r.guard, r.met);
    tc_buf_free(&guard);
    tc_buf_free(&found);
    return s;
}

/* ---- programs for other sizes ---- */
static tc_status read_others(tc_variants *v) {
    while (!v->read) {
        side s = {0};
        if (v->events.other) TC_TRY(v->events.other(v->events.ctx, (int)v->others.len, &s.program));
        v->read = !s.program;
        if (v->read) break;
        tc_status st = tc_program_same_form(v->program, s.program) ? tc_exec_create(s.program, &v->options, &s.exec)
                                                                   : tc_error(TC_CONTENT, "it has other inputs or outputs than %s", v->program->name);
        if (st) {
            st = tc_annotate(st, "program %s", s.program->name);
            tc_program_release(s.program);
            return st;
        }
        tc_exec_set_profile(s.exec, v->profile, v->profile_ctx);
        tc_exec_set_tuning(s.exec, v->main->tuning);
        tc_vec_push(&v->others, s);
    }
    return NULL;
}

/* The main program if its guards hold, else the first other one whose guards hold. If there is none, the error is that of the main program. */
static tc_status fitting(tc_variants *v, const tc_tensor *inputs, side *out) {
    const int n = count_user(v->program);
    *out = (side){(tc_program *)(uintptr_t)v->program, v->main};
    tc_status refused = tc_exec_check(v->main, inputs, n);
    if (!refused) return NULL;
    tc_status st = read_others(v);
    for (size_t i = 0; !st && i < v->others.len; i++) {
        tc_status no = tc_exec_check(v->others.data[i].exec, inputs, n);
        tc_status_free(no);
        if (no) continue;
        *out = v->others.data[i];
        tc_status_free(refused);
        return NULL;
    }
    if (!st) return refused;
    tc_status_free(refused);
    return st;
}

static int state_of(const tc_program *p, const char *name) {
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind != TC_IN_USER && p->inputs[i].data.storage && p->inputs[i].name && !strcmp(p->inputs[i].name, name)) return i;
    return -1;
}

static void note_written(tc_variants *v, const tc_program *p) {
    for (int i = 0; i < p->noutputs; i++) {
        if (p->outputs[i].kind != TC_OUT_BUFFER && p->outputs[i].kind != TC_OUT_PARAMETER) continue;
        const char *name = p->inputs[p->outputs[i].target].name;
        bool known = false;
        for (size_t k = 0; k < v->written.len && !known; k++) known = !strcmp(v->written.data[k], name);
        if (!known) tc_vec_push(&v->written, name);
    }
}

/* Passes the state that programs have written so far to the next program. */
static tc_status switch_to(tc_variants *v, const tc_program *from, side to) {
    note_written(v, from);
    for (size_t k = 0; k < v->written.len; k++) {
        int i = state_of(from, v->written.data[k]), j = state_of(to.program, v->written.data[k]);
        const tc_tensor *t = i < 0 ? NULL : tc_exec_state(v->running, i);
        if (t && j >= 0) TC_TRY(tc_exec_set_state(to.exec, j, t), "program %s", to.program->name);
    }
    if (v->events.turned) v->events.turned(v->events.ctx, to.program);
    return NULL;
}

static tc_status choose_program(tc_variants *v, const tc_tensor *inputs, tc_exec **out) {
    side to;
    TC_TRY(fitting(v, inputs, &to));
    const tc_program *from = v->program;
    for (size_t i = 0; i < v->others.len; i++)
        if (v->others.data[i].exec == v->running) from = v->others.data[i].program;
    if (to.exec != v->running) TC_TRY(switch_to(v, from, to));
    *out = v->running = to.exec;
    return NULL;
}

tc_status tc_variants_choose(tc_variants *v, const tc_tensor *inputs, bool must, tc_exec **out) {
    met other = {.size = -1};
    *out = v->main;
    if (v->events.other) TC_TRY(choose_program(v, inputs, out));
    if (*out != v->main) return NULL;
    if (v->all.len) {
        tc_status wrong = solve_sizes(v->main, inputs, v->main->nuser);
        if (wrong && must) return wrong;
        if (wrong) return tc_status_free(wrong), NULL; /* the run will report it */
    }
    for (size_t i = 0; i < v->all.len; i++) {
        variant *one = &v->all.data[i];
        if (!matches(v, one, inputs, &other)) continue;
        if (!one->exec) TC_TRY(plan(v, one));
        if (one->foreign) continue;
        *out = one->exec;
        return NULL;
    }
    return no_variant(v, inputs, other, must);
}
