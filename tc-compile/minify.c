/* --minify CMD: reduces the program to the smallest one with which CMD still fails with the same exit code. CMD is run by the shell with a candidate's
 * name as $1. Three kinds of reduction are tried, each kept when CMD still fails:
 *
 *     end    make an earlier value the only result and remove dead code
 *     pass   remove a run of nodes, each replaced by an operand of the same type
 *     cut    remove a run of nodes, each replaced by a constant of its type (types without symbols)
 *
 * Runs of nodes are halved down to single nodes (delta debugging). User inputs are kept, so that CMD can still pass them. */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "pass/dce.h"

#include <unistd.h>

typedef struct {
    compile_job *j;
    const char *cmd, *path;
    tc_program *best;
    int code, runs; /* exit code of CMD; number of runs */
} minifier;

static tc_node *node_at(const tc_program *p, size_t index) {
    tc_node *n = p->graph->first;
    while (n && index--) n = n->next;
    return n;
}

/* ---- reductions on a clone ---- */
static void one_output(tc_program *p, tc_value *v) {
    p->noutputs = 0;
    p->graph->noutputs = 0;
    p->out_tree = NULL;
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = "out.0", .target = -1});
}

typedef struct {
    tc_value *like, *found;
} operand;
static void same_type(void *ctx, tc_value **place) {
    operand *o = ctx;
    const tc_meta *a = &o->like->meta, *b = &(*place)->meta;
    bool same = !o->found && (*place)->kind == TC_V_TENSOR && (*place)->graph == o->like->graph && a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = a->size[d] == b->size[d];
    if (same) o->found = *place;
}

/* A constant of v's type with varied small values: -0.5 to 0.5 in eighths, 0 and 1 for integers. NULL: sizes are symbolic. */
static tc_value *constant(tc_program *p, const tc_value *v, int number) {
    int64_t size[TC_MAX_RANK];
    char name[32];
    tc_tensor t;
    for (int d = 0; d < v->meta.rank; d++)
        if (!tc_sym_const_int(v->meta.size[d], &size[d])) return NULL;
    tc_status s = tc_is_complex(v->meta.dtype) ? tc_error(TC_UNSUPPORTED, "complex") : tc_tensor_empty(v->meta.dtype, v->meta.rank, size, &t);
    if (s) {
        tc_status_free(s);
        return NULL;
    }
    for (int64_t i = 0, n = tc_tensor_numel(&t); i < n; i++)
        tc_scalar_store(t.dtype, t.storage->data, i,
                        tc_is_float(t.dtype) ? tc_scalar_float((double)(i * 7 % 9 - 4) / 8) : tc_scalar_int(i * 5 % 3 % 2));
    snprintf(name, sizeof name, "_cut_%d", number);
    tc_value *in = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, name));
    in->meta = tc_meta_make(&p->arena, v->meta.dtype, v->meta.rank, v->meta.size, NULL);
    tc_program_add_input(p, (tc_input){.kind = TC_IN_CONSTANT, .value = in, .name = in->name, .data = t, .alias_of = -1});
    return in;
}

typedef struct {
    const tc_value *v;
    bool used;
} reading;
static void reads(void *ctx, tc_value **place) {
    reading *r = ctx;
    r->used |= *place == r->v;
}
static bool is_read(const tc_program *p, const tc_value *v) {
    reading r = {v, false};
    for (const tc_node *n = p->graph->first; n && !r.used; n = n->next) tc_node_each_input(n, reads, &r);
    for (int i = 0; i < p->graph->noutputs; i++) r.used |= p->graph->outputs[i] == v;
    return r.used;
}

/* Replaces the nodes [from, to) by operands (or constants). False: not possible for one of them. */
static bool remove_run(tc_program *p, size_t from, size_t to, bool constants) {
    tc_node *n = node_at(p, from);
    bool any = false;
    for (size_t i = from; i < to && n; i++, n = n->next)
        for (int k = 0; k < n->nouts; k++) {
            tc_value *v = n->outs[k];
            operand o = {v, NULL};
            if (!is_read(p, v)) continue;
            if (v->kind != TC_V_TENSOR) return false;
            if (constants) o.found = constant(p, v, (int)(p->graph->nvalues));
            else tc_node_each_input(n, same_type, &o);
            if (!o.found) return false;
            tc_graph_replace(p->graph, v, o.found);
            any = true;
        }
    return any;
}

/* ---- trying candidates ---- */
static tc_status write_candidate(minifier *m, tc_program *p) {
    tc_out *o;
    const tc_program *const one[] = {p};
    const tc_archive_content content = {.programs = one, .nprograms = 1};
    TC_TRY(tc_out_open(m->path, &o));
    return tc_out_finish(o, tc_archive_write(o, &content));
}

/* Takes ownership of clone p, which becomes the best candidate when it is valid, smaller, and CMD fails with it as before. */
static tc_status attempt(minifier *m, tc_program *p, bool *out_kept) {
    int code;
    *out_kept = false;
    tc_dce(p, true);
    tc_drop_weights(p);
    tc_status s = tc_program_verify(p);
    bool sound = !s && p->graph->nnodes < m->best->graph->nnodes;
    tc_status_free(s);
    s = sound ? write_candidate(m, p) : NULL;
    if (sound && !s) {
        m->runs++;
        s = run_check(m->j, m->cmd, m->path, &code);
        *out_kept = !s && code == m->code;
        tc_cmd_verbose(m->j->c, "%zu nodes: exit %d", p->graph->nnodes, s ? -1 : code);
    }
    if (!*out_kept) {
        tc_program_release(p);
        return s;
    }
    tc_program_release(m->best);
    m->best = p;
    return NULL;
}

static tc_status try_end(minifier *m, size_t index, bool *out_kept) {
    tc_program *p = tc_program_clone(m->best);
    const tc_node *n = node_at(p, index);
    *out_kept = false;
    for (int k = 0; n && k < n->nouts; k++)
        if (n->outs[k]->kind == TC_V_TENSOR) {
            one_output(p, n->outs[k]);
            return attempt(m, p, out_kept);
        }
    tc_program_release(p);
    return NULL;
}

/* Finds the first node with which as only result CMD fails: by binary search, which may miss it where nodes are independent; then some from the
 * front. */
static tc_status shorten(minifier *m) {
    bool kept = true;
    for (size_t lo = 0; lo < m->best->graph->nnodes;) {
        size_t mid = lo + (m->best->graph->nnodes - lo) / 2, before = m->best->graph->nnodes;
        TC_TRY(try_end(m, mid, &kept));
        if (!kept) lo = mid + 1;
        else if (m->best->graph->nnodes <= lo || m->best->graph->nnodes == before) break;
    }
    for (size_t i = 0; i < 64 && i + 1 < m->best->graph->nnodes; i++) {
        TC_TRY(try_end(m, i, &kept));
        if (kept) break;
    }
    return NULL;
}

static tc_status thin(minifier *m, bool constants) {
    for (size_t size = m->best->graph->nnodes / 2 + 1; size > 0; size /= 2)
        for (size_t end = m->best->graph->nnodes; end > 0;) {
            size_t from = end > size ? end - size : 0;
            bool kept = false;
            tc_program *p = tc_program_clone(m->best);
            if (remove_run(p, from, end, constants)) TC_TRY(attempt(m, p, &kept));
            else tc_program_release(p);
            end = kept && m->best->graph->nnodes < from ? m->best->graph->nnodes : from;
        }
    return NULL;
}

static tc_status shrink(minifier *m) {
    for (size_t before = 0; before != m->best->graph->nnodes;) {
        before = m->best->graph->nnodes;
        TC_TRY(shorten(m));
        TC_TRY(thin(m, false));
        TC_TRY(thin(m, true));
    }
    return NULL;
}

tc_status minify(compile_job *j) {
    char *dir;
    int which;
    TC_TRY(one_program(j, "--minify", &which));
    TC_TRY(work_folder(j, &dir));
    minifier m = {.j = j, .cmd = tc_cmd_get(j->c, TC_OPT_minify), .path = tc_arena_printf(&j->arena, "%s/program.pt2", dir)};
    m.best = tc_program_clone(j->programs[which]);
    size_t whole = m.best->graph->nnodes;
    tc_status s = write_candidate(&m, m.best);
    if (!s) s = run_check(j, m.cmd, m.path, &m.code);
    if (!s && !m.code) s = tc_usage(j->c, "--minify: the command succeeds with the whole program: expected one that fails");
    if (!s) s = shrink(&m);
    if (!s) {
        tc_cmd_note(j->c, "%zu nodes of %zu are left after %d runs; exit %d as before", m.best->graph->nnodes, whole, m.runs, m.code);
        const tc_program *const one[] = {m.best};
        s = tc_cmd_write_archive(j->c, NULL, (tc_archive_content){.programs = one, .nprograms = 1});
    }
    tc_program_release(m.best);
    tc_status gone = leave_work_folder(dir);
    if (s) tc_status_free(gone);
    return s ? s : gone;
}
