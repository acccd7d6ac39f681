/* tc_exec (runtime.h): prepares a program for running (passes, plans of all graphs), keeps its state, gathers inputs and results of a run, reports. */
#include "runtime/frame.h"

#include "base/file.h"
#include "op/attention_pattern.h"
#include "op/first_few.h"
#include "op/picked.h"
#include "op/spread.h"
#include "op/norm_eval.h"
#include "op/watch.h"
#include "pass/cse.h"
#include "pass/dce.h"

#include <inttypes.h>

void frame_destroy(frame *f) {
    if (!f) return;
    for (size_t i = 0; i < f->cache.len; i++) bound_destroy(f->cache.data[i]);
    for (size_t i = 0; i < f->children.len; i++) frame_destroy(f->children.data[i]);
    for (size_t i = 0; f->plan && f->schedules && i < f->plan->groups.len; i++) tc_schedule_deinit(&f->schedules[i]);
    tc_vec_free(&f->cache);
    tc_vec_free(&f->children);
    free(f->schedules);
    free(f->code);
    free(f->descs);
    free(f->target);
    free(f->tied);
    free(f->unit);
    if (f->memory) free(f->memory->data);
    tc_storage_release(f->memory);
    tc_arena_free(&f->arena);
    tc_plan_destroy(f->plan);
    free(f);
}

/* The loop of a group: the whole group, the epilogue of its kernel, or NULL. */
static tc_loop *loop_of(const tc_group *g) { return g->kind == TC_GROUP_LOOP ? g->loop : g->epilogue; }

static tc_status find_code(frame *f) {
    const tc_exec_code *code = f->e->o.code;
    if (!code) return NULL;
    f->code = tc_xcalloc(f->plan->groups.len + 1, sizeof *f->code);
    f->descs = tc_xcalloc(f->plan->groups.len + 1, sizeof *f->descs);
    for (size_t i = 0; i < f->plan->groups.len; i++) {
        const tc_group *g = &f->plan->groups.data[i];
        if (g->kind != TC_GROUP_LOOP || g->loop->tile) continue;
        TC_TRY(tc_group_describe(g->loop, &f->arena, &f->descs[i]));
        const tc_abi_group *found = code->find(code->self, f->descs[i].key);
        tc_group_desc general;
        if (!found && code->find_general && (found = code->find_general(code->self, g->loop, &f->arena, &general))) f->descs[i] = general;
        const tc_source *at = &g->node->source;
        if (found && TC_STEP(f->e->o.steps, "the compiled code of %s, which ends in %s (%s:%d)", found->name,
                             g->node->name ? g->node->name : tc_op_name(g->node->op), at->file ? at->file : "?", at->line))
            f->code[i] = found;
    }
    return NULL;
}

static tc_status add_children(frame *f) {
    for (size_t i = 0; i < f->plan->groups.len; i++) {
        const tc_group *g = &f->plan->groups.data[i];
        if (g->kind == TC_GROUP_KERNEL && g->node->op->flags & TC_OP_RANDOM) f->e->random = true;
        for (int k = 0; g->kind == TC_GROUP_CONTROL && k < g->node->nargs; k++) {
            if (g->node->args[k].kind != TC_A_GRAPH) continue;
            frame *c;
            TC_TRY(frame_create(f->e, g->node->args[k].graph, &c));
            tc_vec_push(&f->children, c);
        }
    }
    return NULL;
}

static void find_units(frame *f) {
    int *base = tc_xcalloc(f->g->nvalues + 1, sizeof *base);
    f->unit = tc_xcalloc(f->g->nvalues + 1, sizeof *f->unit);
    for (uint32_t i = 0; i < f->g->nvalues; i++) base[i] = (int)i;
    for (size_t i = 0; i < f->plan->groups.len; i++) {
        const tc_group *g = &f->plan->groups.data[i];
        if (g->kind != TC_GROUP_VIEW) continue;
        const tc_value *in = g->node->args[0].value, *out = g->node->outs[0];
        const int r = base[out->id] = base[in->id];
        const size_t size = tc_dtype_size(out->meta.dtype);
        if (size > tc_dtype_size(in->meta.dtype) && size > f->unit[r]) f->unit[r] = (uint8_t)size;
    }
    free(base);
}

/* May t be input `at` of the graph as it is? A tensor counts its offset in elements, so views of larger ones need it to begin at one of those. */
bool frame_takes(const frame *f, int at, const tc_tensor *t) {
    const int64_t unit = f->unit[f->g->inputs[at]->id];
    return tc_tensor_is_contiguous(t) &&
           (!unit || (t->offset * (int64_t)tc_dtype_size(t->dtype) % unit == 0 && (uintptr_t)tc_tensor_data(t) % (size_t)unit == 0));
}

static tc_status frame_init(frame *f) {
    TC_TRY(tc_plan_create(f->e->program, f->g, !f->e->o.no_fuse, f->e->o.loops, f->e->o.steps, &f->plan));
    f->schedules = tc_xcalloc(f->plan->groups.len + 1, sizeof *f->schedules);
    for (size_t i = 0; i < f->plan->groups.len; i++)
        if (loop_of(&f->plan->groups.data[i])) TC_TRY(tc_loop_schedule(loop_of(&f->plan->groups.data[i]), &f->schedules[i]));
    f->target = tc_xcalloc((size_t)f->g->noutputs + 1, sizeof *f->target);
    for (int o = 0; o < f->g->noutputs; o++) f->target[o] = -1;
    find_units(f);
    TC_TRY(find_code(f));
    return add_children(f);
}

tc_status frame_create(tc_exec *e, tc_graph *g, frame **out) {
    frame *f = tc_xcalloc(1, sizeof *f);
    f->e = e;
    f->g = g;
    tc_status s = frame_init(f);
    if (s) frame_destroy(f);
    else *out = f;
    return s;
}

/* ---- the signature ---- */
/* By value id: which input of the graph it is, or -1; the caller frees it. */
static int *input_places(const tc_graph *g) {
    int *place = tc_xcalloc((size_t)g->nvalues + 1, sizeof *place);
    for (uint32_t i = 0; i < g->nvalues; i++) place[i] = -1;
    for (int i = g->ninputs; i-- > 0;) place[g->inputs[i]->id] = i;
    return place;
}

static int real_input(const tc_program *p, int i) {
    while (p->inputs[i].alias_of >= 0 && p->inputs[i].alias_of != i) i = p->inputs[i].alias_of;
    return i;
}

static bool is_mutation(tc_output_kind k) { return k == TC_OUT_BUFFER || k == TC_OUT_PARAMETER || k == TC_OUT_USER_INPUT; }

/* Checks that the values of the program's outputs are the graph's outputs, in order, and notes mutations. */
static tc_status read_signature(tc_exec *e, const int *place) {
    tc_program *p = e->program;
    int k = 0;
    for (int o = 0; o < p->noutputs; o++) {
        const tc_output *out = &p->outputs[o];
        if (!out->value) continue;
        if (k == p->graph->noutputs || p->graph->outputs[k] != out->value)
            return tc_error(TC_CONTENT, "output %d of the program is not that of its graph", o);
        if (is_mutation(out->kind) && out->target >= 0) {
            e->mutated[real_input(p, out->target)] = true;
            e->main->target[k] = p->inputs[out->target].value ? place[p->inputs[out->target].value->id] : -1;
        }
        k++;
    }
    return NULL;
}

/* Inputs that share memory with another input (alias_of), as tied weights do. */
static void read_ties(tc_exec *e, const int *place) {
    tc_program *p = e->program;
    e->main->tied = tc_xcalloc((size_t)p->graph->ninputs + 1, sizeof *e->main->tied);
    for (int k = 0; k < p->graph->ninputs; k++) e->main->tied[k] = -1;
    for (int i = 0; i < p->ninputs; i++) {
        int r = real_input(p, i), k = p->inputs[i].value ? place[p->inputs[i].value->id] : -1;
        if (r == i || k < 0 || !p->inputs[r].value) continue;
        const tc_meta *a = &p->inputs[i].value->meta, *b = &p->inputs[r].value->meta;
        bool same = a->dtype == b->dtype && a->rank == b->rank;
        for (int d = 0; same && d < a->rank; d++) same = a->size[d] == b->size[d];
        if (same) e->main->tied[k] = place[p->inputs[r].value->id];
    }
}

/* tc_tensor_contiguous of a weight. A weight in a mapped file that is not contiguous is copied in pieces along its outermost dimension, and the pages
 * of each piece are released, so that memory never holds the weight twice. */
static tc_status contiguous_state(const tc_isa_ops *isa, const tc_tensor *t, tc_tensor *out) {
    enum { PIECE = 16 << 20 /* bytes */ };
    const tc_blob *b = t->storage->deleter == tc_blob_deleter ? t->storage->ctx : NULL;
    const int64_t bytes = tc_tensor_numel(t) * (int64_t)tc_dtype_size(t->dtype);
    int d = 0;
    if (!b || bytes <= PIECE || tc_tensor_is_contiguous(t)) return tc_tensor_contiguous(t, out);
    for (int i = 1; i < t->rank; i++)
        if (t->stride[i] > t->stride[d]) d = i;
    TC_TRY(tc_tensor_empty(t->dtype, t->rank, t->size, out));
    const int64_t most = bytes / PIECE < t->size[d] ? t->size[d] / (bytes / PIECE) : 1;
    for (int64_t at = 0, n; at < t->size[d]; at += n) {
        tc_tensor from = *t, to = *out; /* borrowed */
        n = t->size[d] - at < most ? t->size[d] - at : most;
        from.size[d] = to.size[d] = n;
        from.offset += at * from.stride[d], to.offset += at * to.stride[d];
        copy_tensor(isa, NULL, &to, &from);
        tc_blob_forget(b, tc_tensor_data(&from), tc_tensor_span(&from));
    }
    return NULL;
}

static tc_status init_state(tc_exec *e) {
    const tc_program *p = e->program;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_PARAMETER && in->kind != TC_IN_BUFFER && in->kind != TC_IN_CONSTANT) continue;
        if (!in->data.storage || real_input(p, i) != i) continue;
        TC_TRY(contiguous_state(e->isa, &in->data, &e->state[i]), "%s", in->name);
    }
    return NULL;
}

static bool is_batch_norm_eval(void *ctx, const tc_node *n) {
    (void)ctx;
    return tc_batch_norm_eval_rule(n) != NULL;
}

/* Has the operator a kernel that a composition of other operators can replace? */
static bool has_composition(void *ctx, const tc_node *n) {
    (void)ctx;
    return n->op->kernel && n->op->decompose;
}

/* ---- the passes before planning, in order ---- */
static bool has_attention(const tc_exec *e) { return e->o.sdpa != TC_SDPA_MATH && tc_attention_is_written(e->program); }
static bool has_norm(const tc_exec *e) {
    for (const tc_node *n = e->program->graph->first; n; n = n->next)
        if (is_batch_norm_eval(NULL, n)) return true;
    return false;
}

static bool has_first(const tc_exec *e) { return tc_first_few_any(e->program); }
static bool has_spread(const tc_exec *e) { return tc_spread_any(e->program); }
static bool has_picked(const tc_exec *e) { return tc_picked_any(e->program); }

static tc_status run_sdpa(tc_exec *e) { return tc_attention_choose(e->program, e->o.sdpa); }
static tc_status run_decompose(tc_exec *e) {
    if (e->o.loops) TC_TRY(tc_decompose_some(e->program, has_composition, NULL));
    return tc_decompose(e->program);
}
static tc_status run_attention(tc_exec *e) { return tc_attention_patterns(e->program); }
static tc_status run_norm(tc_exec *e) {
    TC_TRY(tc_decompose_by(e->program, is_batch_norm_eval, tc_batch_norm_eval_rule, NULL, NULL));
    return tc_decompose(e->program);
}
static tc_status run_first(tc_exec *e) { return tc_first_few(e->program); }
static tc_status run_spread(tc_exec *e) { return tc_spread(e->program); }
static tc_status run_picked(tc_exec *e) { return tc_picked(e->program); }
static tc_status run_cse(tc_exec *e) { return tc_cse(e->program), NULL; } /* gradients recompute parts of the forward pass */
static tc_status run_dce(tc_exec *e) { return tc_dce(e->program, false), NULL; }

static const struct {
    const char *name, *step; /* step: what an optional pass does, for --bisect; NULL: a required pass */
    tc_status (*run)(tc_exec *e);
    bool (*wanted)(const tc_exec *e); /* NULL: always */
} passes[] = {
    {"sdpa", NULL, run_sdpa, NULL},
    {"decompose", NULL, run_decompose, NULL},
    {"attention", "products around a softmax are attention", run_attention, has_attention},
    {"norm", "batch norm by running statistics is scale and shift", run_norm, has_norm},
    {"first", "the first of a sorted row are selected", run_first, has_first},
    {"spread", "indices that are the same for a slice are one for each slice", run_spread, has_spread},
    {"picked", "rows that are picked and added are not stored", run_picked, has_picked},
    {"cse", "nodes that compute the same become one", run_cse, NULL},
    {"dce", "nodes that nothing reads are removed", run_dce, NULL},
};

static tc_status open(tc_exec *e) {
    tc_attention_collect(e->program, &e->attentions);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if ((passes[i].wanted && !passes[i].wanted(e)) || (passes[i].step && !TC_STEP(e->o.steps, "the pass %s: %s", passes[i].name, passes[i].step)))
            continue;
        tc_pass pass = tc_pass_begin(e->program, passes[i].name, NULL);
        TC_TRY(tc_pass_end(&pass, e->program, passes[i].run(e)));
    }
    e->layouts = TC_STEP(e->o.steps, "the pass layout: images lie channels last between kernels");
    if (e->o.keep_packed) e->o.keep_packed = TC_STEP(e->o.steps, "weights are kept in the form that kernels read");
    e->isa = e->o.isa;
    e->costs = e->o.costs ? *e->o.costs : tc_costs_of(&tc_cpu_here);
    e->tables = tc_block_tables_create();
    if (!e->isa) TC_TRY(tc_isa_ops_choose(&e->isa));
    e->pool = e->o.pool;
    if (!e->pool) {
        TC_TRY(tc_pool_create(tc_default_threads(e->o.threads), &e->own_pool));
        e->pool = e->own_pool;
    }
    e->memory = recycler_create();
    e->dummy = tc_storage_wrap(NULL, 0, NULL, NULL);
    int n = e->program->ninputs;
    e->state = tc_xcalloc((size_t)n + 1, sizeof *e->state);
    e->owned = tc_xcalloc((size_t)n + 1, sizeof *e->owned);
    e->mutated = tc_xcalloc((size_t)n + 1, sizeof *e->mutated);
    TC_TRY(frame_create(e, e->program->graph, &e->main));
    for (int i = 0; i < n; i++) e->nuser += e->program->inputs[i].kind == TC_IN_USER;
    e->nvars = tc_sym_var_count(e->program->sym);
    e->vars = tc_xcalloc(e->nvars + 1, sizeof *e->vars);
    const size_t nin = (size_t)e->program->graph->ninputs;
    e->run_tensors = tc_xcalloc(2 * nin + (size_t)e->program->noutputs + 1, sizeof *e->run_tensors);
    e->given = tc_xcalloc(nin + 1, sizeof *e->given);
    e->guards_number = guards_have_floats(e);
    int *place = input_places(e->program->graph);
    tc_status s = read_signature(e, place);
    if (!s) read_ties(e, place);
    free(place);
    return s ? s : init_state(e);
}

tc_status tc_exec_create(const tc_program *p, const tc_exec_options *options, tc_exec **out_exec) {
    tc_exec *e = tc_xcalloc(1, sizeof *e);
    if (options) e->o = *options;
    e->program = tc_program_clone(p);
    e->program->calls.len = 0; /* nothing is computed for the sake of signatures */
    char again[48];
    snprintf(again, sizeof again, "plan %d %d", e->o.loops, (int)e->o.sdpa);
    tc_pass planning = tc_pass_begin(e->program, "plan", again);
    tc_status s = tc_pass_end(&planning, e->program, open(e));
    if (s) tc_exec_destroy(e);
    else *out_exec = e;
    return s;
}

void tc_exec_report_attention(const tc_exec *e, tc_buf *out) { tc_attention_report(e->program, &e->attentions, e->o.sdpa, out); }

void tc_exec_destroy(tc_exec *e) {
    if (!e) return;
    frame_destroy(e->main);
    tc_block_tables_destroy(e->tables);
    packed_free(e);
    tc_vec_free(&e->attentions);
    for (int i = 0; e->state && i < e->program->ninputs; i++) tc_tensor_deinit(&e->state[i]);
    tc_pool_destroy(e->own_pool);
    recycler_release(e->memory);
    tc_storage_release(e->dummy);
    free(e->state);
    free(e->owned);
    free(e->mutated);
    free(e->vars);
    free(e->run_tensors);
    free(e->given);
    free(e->last.shapes);
    free(e->last.vars);
    free(e->scratch);
    tc_program_release(e->program);
    free(e);
}

/* ---- runs ---- */
/* State that the program writes is copied before the first run, because the program's data may be mapped, or shared with others; so is state that does
 * not begin where input `at` of the graph must. */
static tc_status own_state(tc_exec *e, int i, int at) {
    if (!e->state[i].storage || ((!e->mutated[i] || e->owned[i]) && frame_takes(e->main, at, &e->state[i]))) return NULL;
    tc_tensor c;
    TC_TRY(tc_tensor_clone(&e->state[i], &c));
    tc_tensor_deinit(&e->state[i]);
    e->state[i] = c;
    e->owned[i] = true;
    return NULL;
}

/* The inputs of a run, by graph input. */
typedef struct {
    tc_tensor *in;           /* contiguous; borrowed */
    tc_tensor *copies;       /* of user inputs that the graph does not take as they are */
    const tc_tensor **given; /* user inputs */
} gathered;

static tc_status gather_inputs(tc_exec *e, const tc_tensor *inputs, gathered *g) {
    const tc_program *p = e->program;
    for (int i = 0, k = 0, at = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        const tc_tensor *user = in->kind == TC_IN_USER ? &inputs[k++] : NULL;
        if (!in->value) continue;
        while (at < p->graph->ninputs && p->graph->inputs[at] != in->value) at++;
        if (at == p->graph->ninputs) return tc_error(TC_CONTENT, "%s is not an input of the graph", in->name);
        if (in->value->kind != TC_V_TENSOR) continue;
        if (user) {
            g->given[at] = user;
            g->in[at] = *user;
            if (!frame_takes(e->main, at, user)) {
                TC_TRY(tc_tensor_clone(user, &g->copies[at]));
                g->in[at] = g->copies[at];
            }
            continue;
        }
        int r = real_input(p, i);
        TC_TRY(own_state(e, r, at));
        if (!e->state[r].storage) return tc_error(TC_CONTENT, "%s has no value: its weights lie outside of the program and were not given", in->name);
        g->in[at] = e->state[r];
    }
    return NULL;
}

/* Copies mutated user inputs back into the tensors that were copied. */
static void write_back(tc_exec *e, gathered *g) {
    const frame *f = e->main;
    for (int o = 0; o < f->g->noutputs; o++) {
        int at = f->target[o];
        if (at >= 0 && g->copies[at].storage) copy_tensor(e->isa, e->pool, g->given[at], &g->copies[at]);
    }
}

static tc_status number_output(tc_exec *e, tc_sym number, const char *name, tc_tensor *out) {
    tc_symvalue x;
    TC_TRY(tc_sym_eval(number, e->vars, e->nvars, &x), "%s", name ? name : "a result");
    tc_symtype t = tc_sym_type(number);
    tc_scalar s = t == TC_SYM_FLOAT ? tc_scalar_float(x.f) : t == TC_SYM_BOOL ? tc_scalar_bool(x.i) : tc_scalar_int(x.i);
    return tc_tensor_scalar(t == TC_SYM_FLOAT ? TC_F64 : t == TC_SYM_BOOL ? TC_BOOL : TC_I64, s, out);
}

/* Runs the main graph. Its outputs are those outputs of the program that have a value, in order; symbolic numbers become 0-d tensors. */
static tc_status run_main(tc_exec *e, const tc_tensor *in, tc_tensor *outputs) {
    const tc_program *p = e->program;
    tc_tensor *out = e->run_tensors + 2 * (size_t)p->graph->ninputs;
    for (int o = 0, k = 0; o < p->noutputs; o++)
        if (p->outputs[o].value) out[k++] = is_mutation(p->outputs[o].kind) ? (tc_tensor){0} : outputs[o];
    tc_status s = frame_run(e->main, in, out);
    for (int o = 0, k = 0; o < p->noutputs; o++) {
        const tc_output *po = &p->outputs[o];
        bool number = po->kind == TC_OUT_LEAF && (po->leaf.kind == TC_A_INT || (po->leaf.kind == TC_A_SCALAR && po->leaf.is_sym));
        if (number && !s && !outputs[o].storage && tc_sym_opcode(po->leaf.sym) != TC_S_CONST)
            s = number_output(e, po->leaf.sym, po->name, &outputs[o]);
        if (!po->value) continue;
        tc_tensor *t = &out[k++];
        if (is_mutation(po->kind)) continue;
        if (!s && po->value->kind == TC_V_SYM && !t->storage) s = number_output(e, po->value->sym, po->value->name, t);
        if (s && !outputs[o].storage) tc_tensor_deinit(t); /* allocated in this run, which failed */
        else outputs[o] = *t;
    }
    return s;
}

/* Kernels need round to nearest even, and subnormals that are not flushed to zero, whatever the caller has set. */
#if defined(__x86_64__)
static unsigned float_mode_begin(void) {
    unsigned old = __builtin_ia32_stmxcsr();
    if ((old & 0xe040) != 0) __builtin_ia32_ldmxcsr(old & ~0xe040u); /* FTZ, rounding, DAZ */
    return old;
}
static void float_mode_end(unsigned old) {
    if ((old & 0xe040) != 0) __builtin_ia32_ldmxcsr(old);
}
#else
static unsigned float_mode_begin(void) { return 0; }
static void float_mode_end(unsigned old) { (void)old; }
#endif

tc_status tc_exec_run(tc_exec *e, const tc_tensor *inputs, int ninputs, struct tc_generator *gen, tc_tensor *outputs, int noutputs) {
    if (noutputs != e->program->noutputs) return tc_error(TC_USAGE, "%d outputs were given, the program has %d", noutputs, e->program->noutputs);
    TC_TRY(solve_sizes(e, inputs, ninputs));
    if (e->random && !gen) return tc_error(TC_USAGE, "the program draws random numbers and no generator was given");
    e->gen = gen;
    e->dynamic_bytes = 0;
    size_t n = (size_t)e->program->graph->ninputs;
    memset(e->run_tensors, 0, (2 * n + (size_t)noutputs) * sizeof *e->run_tensors);
    memset(e->given, 0, n * sizeof *e->given);
    gathered g = {e->run_tensors, e->run_tensors + n, e->given};
    e->runs++;
    tc_status s = gather_inputs(e, inputs, &g);
    if (!s) {
        unsigned mode = float_mode_begin();
        tc_pool_enter(e->pool);
        s = run_main(e, g.in, outputs);
        tc_pool_leave(e->pool);
        float_mode_end(mode);
    }
    if (!s) write_back(e, &g);
    for (size_t i = 0; i < n; i++) tc_tensor_deinit(&g.copies[i]);
    return s;
}

/* ---- state ---- */
const tc_tensor *tc_exec_state(const tc_exec *e, int index) {
    const tc_program *p = e->program;
    if (index < 0 || index >= p->ninputs) return NULL;
    const tc_tensor *t = &e->state[real_input(p, index)];
    return t->storage ? t : NULL;
}

tc_status tc_exec_state_fits(const tc_exec *e, int index, const tc_tensor *t) {
    const tc_program *p = e->program;
    if (index < 0 || index >= p->ninputs || !p->inputs[index].value) return tc_error(TC_USAGE, "input %d has no state", index);
    const tc_input *in = &p->inputs[index];
    const tc_meta *m = &in->value->meta;
    bool same = t->storage && t->dtype == m->dtype && t->rank == m->rank;
    for (int d = 0; same && d < m->rank; d++) {
        int64_t n;
        same = !tc_sym_const_int(m->size[d], &n) || n == t->size[d];
    }
    if (same) return NULL;
    tc_buf b = {0};
    tc_tensor_print_type(&b, t);
    tc_buf_puts(&b, ", expected ");
    tc_value_print_type(&b, in->value);
    tc_status s = tc_error(TC_CONTENT, "%s is %s", in->name, tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

tc_status tc_exec_set_state(tc_exec *e, int index, const tc_tensor *t) {
    TC_TRY(tc_exec_state_fits(e, index, t));
    int r = real_input(e->program, index);
    e->version++;
    tc_tensor own;
    TC_TRY(contiguous_state(e->isa, t, &own));
    tc_tensor_deinit(&e->state[r]);
    e->state[r] = own;
    e->owned[r] = !own.storage->read_only;
    return NULL;
}

const tc_program *tc_exec_program(const tc_exec *e) { return e->program; }

/* ---- reports ---- */
static void report_group(tc_buf *b, const tc_group *g, size_t i) {
    static const char *const kinds[] = {"loop", "kernel", "view", "control"};
    const tc_loop *l = loop_of(g);
    tc_buf_printf(b, "%4zu %-8s", i, g->kind == TC_GROUP_LOOP && l->tile ? "tile" : kinds[g->kind]);
    int n = l ? l->nnodes : 1;
    for (int k = 0; k < n; k++) {
        const tc_node *node = l ? l->nodes[k] : g->node;
        const char *sign = !k ? "" : k == 1 && g->epilogue ? " with the epilogue " : " + ";
        tc_buf_printf(b, "%s%s", sign, node->name ? node->name : tc_op_name(node->op));
    }
    tc_buf_putc(b, '\n');
}

/* Groups whose sizes depend on data are bound during each run; what lies between them is one list of calls with fixed addresses. */
static void report_parts(tc_buf *b, const bound *x) {
    size_t parts = 0, dynamic = 0;
    for (size_t i = 0; i < x->calls.len; i++) {
        const bool here = x->calls.data[i].kind == CALL_DYNAMIC;
        parts += !here && (!i || x->calls.data[i - 1].kind == CALL_DYNAMIC);
        dynamic += here;
    }
    if (dynamic)
        tc_buf_printf(b, "groups that depend on data and are bound in each run: %zu; parts between them that are replayed: %zu\n", dynamic, parts);
}

static void report_frame(tc_buf *b, const frame *f) {
    if (f->g->name) tc_buf_printf(b, "graph %s: %zu groups of %zu nodes\n", f->g->name, f->plan->groups.len, f->g->nnodes);
    else tc_buf_printf(b, "%zu groups of %zu nodes\n", f->plan->groups.len, f->g->nnodes);
    for (size_t i = 0; i < f->plan->groups.len; i++) report_group(b, &f->plan->groups.data[i], i);
    tc_buf_append(b, f->plan->log.data, f->plan->log.len);
    for (int o = 0; f->b && o < f->g->noutputs; o++)
        if (f->target[o] >= 0 && !f->b->in_place[o]) tc_buf_printf(b, "%s is copied, not updated in place\n", f->g->inputs[f->target[o]]->name);
    if (f->b) report_parts(b, f->b);
    for (size_t i = 0; i < f->children.len; i++) report_frame(b, f->children.data[i]);
}

void tc_exec_report(const tc_exec *e, tc_buf *out) {
    report_frame(out, e->main);
    if (!e->main->b) return;
    tc_exec_memory m = tc_exec_memory_use(e);
    tc_buf_printf(
        out, "memory: state %zu, intermediates %zu (%zu at once, %zu without sharing), data-dependent %zu, scratch %zu, packed weights %zu bytes\n",
        m.state, m.arena, m.live, m.naive, m.dynamic, m.scratch, m.packed);
}

/* Loops that kernels run on tiles are interpreted: a call of the block executor does many elements. */
static bool is_compiled_loop(const tc_group *g) { return g->kind == TC_GROUP_LOOP && !g->loop->tile; }
static void add_loops(const frame *f, tc_loop_list *out) {
    for (size_t k = 0; k < f->plan->groups.len; k++)
        if (is_compiled_loop(&f->plan->groups.data[k])) tc_vec_push(out, f->plan->groups.data[k].loop);
    for (size_t k = 0; k < f->children.len; k++) add_loops(f->children.data[k], out);
}
void tc_exec_loops(const tc_exec *e, tc_loop_list *out) { add_loops(e->main, out); }

static size_t uncompiled(const frame *f) {
    size_t n = 0;
    for (size_t k = 0; f->code && k < f->plan->groups.len; k++) n += is_compiled_loop(&f->plan->groups.data[k]) && !f->code[k];
    for (size_t k = 0; k < f->children.len; k++) n += uncompiled(f->children.data[k]);
    return n;
}
size_t tc_exec_uncompiled(const tc_exec *e) { return uncompiled(e->main); }

void tc_exec_set_profile(tc_exec *e, tc_exec_profile fn, void *ctx) {
    e->profile = fn;
    e->profile_ctx = ctx;
}
