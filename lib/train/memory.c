/* Memory of a training run, for -v: estimated from the plans before the first step, measured at the end. */
#include "base/resident.h"
#include "train/internal.h"

/* Bytes that first runs add beyond the plans, as measured: kernel code, structures of bound programs. */
enum { FIRST_RUNS = 1 << 20 };

/* Memory of the run by purpose. */
typedef struct {
    size_t weights, grads, state, copies, data, micro, update, eval, graphs, language;
} parts;

static size_t tensors_bytes(const opt_states *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->len; i++) n += tc_tensor_bytes(&s->data[i].data);
    return n;
}

static size_t data_bytes(const tc_dataset *d) {
    size_t n = 0;
    for (int i = 0; d && i < d->ncols; i++)
        if (d->col[i].data.storage && (i == 0 || d->col[i].data.storage != d->col[0].data.storage)) n += tc_tensor_bytes(&d->col[i].data);
    return n;
}

static size_t graph_bytes(const tc_exec *e) { return e ? tc_exec_program(e)->arena.used : 0; }

/* Memory that is always allocated. A step's gradients are results of `micro` and live until the update has read them. */
static parts fixed_parts(const tc_trainer *t) {
    parts p = {.state = tensors_bytes(&t->state) + tensors_bytes(&t->averages),
               .data = data_bytes(t->train) + data_bytes(t->val),
               .language = t->lang->arena.used,
               .graphs = t->train_p->arena.used + (t->eval_p ? t->eval_p->arena.used : 0) + graph_bytes(t->micro_exec) + graph_bytes(t->first_exec) +
                         graph_bytes(t->update_exec) + graph_bytes(t->eval_exec)};
    for (size_t i = 0; i < t->weights.len; i++)
        if (t->weights.data[i].alias_of < 0) p.weights += tc_tensor_bytes(&t->weights.data[i].data);
    if (t->o.saves && t->r->checkpoint.async) p.copies = p.weights + p.state;
    for (int i = 0; i < t->nparams; i++)
        if (t->grad_of[i] >= 0) p.grads += tc_tensor_bytes(tc_trainer_weight(t, t->param_names[i]));
    return p;
}

static void print_parts(tc_buf *b, const parts *p) {
    tc_buf_printf(b,
                  "weights %zu, gradients %zu, optimiser and averages %zu, data %zu, intermediates of micro %zu, update %zu, eval %zu, graphs %zu, "
                  "language %zu",
                  p->weights, p->grads, p->state, p->data, p->micro, p->update, p->eval, p->graphs, p->language);
    if (p->copies) tc_buf_printf(b, ", copies for checkpoints %zu", p->copies);
}

/* ---- before the first step ---- */

/* The greatest length of a padded data set's batches. */
static int64_t longest(const tc_dataset *d) {
    int64_t n = 1;
    for (int64_t i = 0; d->kind == TC_DATA_SEQUENCES && i < d->count; i++)
        if (d->offset[i + 1] - d->offset[i] - 1 > n) n = d->offset[i + 1] - d->offset[i] - 1;
    return n;
}

/* Estimates a run on full batches (graphs.c: B samples of length T). d NULL: the program has no such symbols. */
static tc_status estimate(tc_exec *e, const tc_dataset *d, int64_t batch, tc_exec_memory *out) {
    *out = (tc_exec_memory){0};
    if (!e) return NULL;
    const tc_program *p = tc_exec_program(e);
    size_t n = tc_sym_var_count(p->sym);
    tc_symvalue *vars = tc_xcalloc(n + 1, sizeof *vars);
    for (size_t i = 0; i < n && d; i++) {
        const char *name = tc_sym_var_name(tc_sym_var_at(p->sym, i));
        if (!strcmp(name, "B")) vars[i] = (tc_symvalue){.i = batch, .bound = true};
        if (!strcmp(name, "T")) vars[i] = (tc_symvalue){.i = longest(d), .bound = true};
    }
    tc_status s = tc_exec_estimate(e, vars, n, out);
    free(vars);
    return s;
}

tc_status tc_train_say_needed(tc_trainer *t) {
    const tc_recipe *r = t->r;
    tc_exec_memory micro, update, eval;
    TC_TRY(tc_train_plan_update(t));
    int64_t most = t->val && t->val->limit && t->val->limit < t->val->count ? t->val->limit : t->val ? t->val->count : 0;
    int64_t batch = r->validate.batch ? r->validate.batch : r->batch;
    tc_status s = estimate(t->micro_exec, t->train, t->local_batch, &micro);
    if (!s) s = estimate(t->first_exec ? t->first_exec : t->update_exec, NULL, 0, &update);
    if (!s) s = estimate(t->eval_exec, t->val, batch < most ? batch : most, &eval);
    tc_buf b = {0};
    if (!s) {
        parts p = fixed_parts(t);
        size_t now = tc_resident_now();                   /* with the plans */
        size_t made = t->first_exec ? update.results : 0; /* the state, in the first step */
        p.state += made;
        if (p.copies) p.copies += made;
        size_t ahead = (size_t)t->train->workers * (size_t)t->train->prefetch * micro.inputs;
        p.data += ahead;
        p.micro = micro.arena + micro.scratch + micro.inputs + (r->accumulate > 1 ? p.grads : 0);
        p.update = update.arena + update.scratch;
        p.eval = eval.arena + eval.scratch + eval.inputs + eval.results;
        size_t need = now + p.copies + ahead + micro.pages + micro.inputs + (r->accumulate > 1 ? p.grads : 0) + update.pages + eval.pages +
                      eval.inputs + FIRST_RUNS;
        tc_buf_printf(&b, "the run needs %zu bytes: ", need);
        print_parts(&b, &p);
        tc_buf_printf(&b, ", the rest for the program itself, plans and what was needed to capture%s",
                      t->eager || t->by_operators ? "; the optimiser's own memory is not known yet" : "");
    } else {
        tc_buf_printf(&b, "not known before the run: %s", tc_status_message(s));
        tc_status_free(s);
    }
    t->o.log(t->o.ctx, "memory", tc_buf_str(&b));
    tc_buf_free(&b);
    return NULL;
}

/* ---- at the end ---- */

/* Bytes of a program besides weights and state, after a run. */
static size_t work_bytes(const tc_exec *e) {
    if (!e) return 0;
    tc_exec_memory m = tc_exec_memory_use(e);
    return m.arena + m.dynamic + m.scratch + m.packed;
}

void tc_train_say_taken(const tc_trainer *t) {
    if (!t->o.log) return;
    parts p = fixed_parts(t);
    p.data += tc_loader_bytes(t->loader);
    p.micro = work_bytes(t->micro_exec), p.update = work_bytes(t->update_exec), p.eval = work_bytes(t->eval_exec);
    tc_buf b = {0};
    tc_buf_printf(&b, "after step %lld: ", (long long)t->step);
    print_parts(&b, &p);
    tc_buf_printf(&b, "; with the program itself, plans and capturing it took %zu bytes", tc_resident_most());
    t->o.log(t->o.ctx, "memory", tc_buf_str(&b));
    tc_buf_free(&b);
}
