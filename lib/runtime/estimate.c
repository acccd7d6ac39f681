/* Memory of runs (runtime.h): what is allocated, and what a run at given sizes would need. */
#include "base/file.h"
#include "runtime/slices.h"

static void add_memory(const frame *f, tc_exec_memory *m) {
    if (f->b) {
        m->arena += f->b->arena_bytes;
        m->live += f->b->live_bytes;
        m->kept += f->b->kept_bytes;
        m->naive += f->b->naive_bytes;
    }
    for (size_t i = 0; i < f->children.len; i++) add_memory(f->children.data[i], m);
}

tc_exec_memory tc_exec_memory_use(const tc_exec *e) {
    tc_exec_memory m = {.packed = e->packed_bytes, .dynamic = e->dynamic_bytes, .scratch = e->scratch_bytes};
    for (int i = 0; i < e->program->ninputs; i++)
        if (e->state[i].storage) m.state += tc_tensor_bytes(&e->state[i]);
    add_memory(e->main, &m);
    return m;
}

typedef struct {
    const tc_exec *e;
    const tc_value *v;
    const tc_node *n;
    size_t all, bytes;
} reading;

enum { MAPPED_AROUND = 64 << 10 }; /* bytes of a mapped file that Linux reads around a page fault (fault-around) */

static void add_reading(void *ctx, tc_value **place) {
    reading *r = ctx;
    if (*place != r->v) return;
    const tc_value *out = r->n->outs[0];
    int64_t size[TC_MAX_RANK];
    tc_status s = meta_sizes(r->e, out, size);
    size_t rows = tc_dtype_size(out->meta.dtype);
    for (int d = 0; !s && d < out->meta.rank; d++) rows *= (size_t)size[d];
    bool some = !s && !strcmp(tc_op_name(r->n->op), "aten.embedding.default");
    tc_status_free(s);
    r->bytes += some ? rows + MAPPED_AROUND : r->all;
}

/* How many bytes of state in a mapped file a run reads into memory: the rows that embeddings look up, or all. */
static size_t unread_bytes(const tc_exec *e, int i) {
    const tc_storage *s = e->state[i].storage;
    const tc_value *v = e->program->inputs[i].value;
    if (!s || s->deleter != tc_blob_deleter || !((const tc_blob *)s->ctx)->mapped || !v) return 0;
    size_t all = tc_tensor_bytes(&e->state[i]);
    if (e->mutated[i]) return 2 * all; /* runs copy it, and write to the copy */
    reading r = {.e = e, .v = v, .all = all};
    for (r.n = e->program->graph->first; r.n && r.bytes < all; r.n = r.n->next) tc_node_each_input(r.n, add_reading, &r);
    return r.bytes < all ? r.bytes : all;
}

/* Adds the needs of a frame and its subgraphs, as far as sizes are known. */
static tc_status estimate_frame(frame *f, tc_exec_memory *m) {
    bound *b;
    TC_TRY(frame_bind(f, &b));
    m->arena += b->arena_bytes;
    m->live += b->live_bytes;
    m->kept += b->kept_bytes;
    m->naive += b->naive_bytes;
    m->pages += memory_pages(b->arena_bytes);
    for (int i = 0; f == f->e->main && i < f->e->program->ninputs; i++) {
        const tc_input *in = &f->e->program->inputs[i];
        if (in->kind == TC_IN_USER && in->value && in->value->kind == TC_V_TENSOR) m->inputs += tc_tensor_bytes(&b->t[in->value->id]);
        m->unread += unread_bytes(f->e, i);
    }
    for (int o = 0; f == f->e->main && o < f->g->noutputs; o++) {
        const tc_value *v = f->g->outputs[o];
        if (f->target[o] >= 0 || v->kind != TC_V_TENSOR || b->root_of[v->id] < 0) continue;
        m->results += tc_tensor_bytes(&b->t[v->id]);
        m->pages += memory_pages(tc_tensor_bytes(&b->t[v->id]));
    }
    for (size_t i = 0; i < b->slices.len; i++) slices_begin(b, &b->slices.data[i]), slices_select(b, &b->slices.data[i], 0);
    for (size_t i = 0; i < b->calls.len; i++) {
        const call *c = &b->calls.data[i];
        size_t n = call_scratch(f->e, b, c);
        if (n > m->scratch) m->scratch = n;
        if (c->kind == CALL_KERNEL) m->packed += c->kernel->pack_bytes;
    }
    bound_destroy(b);
    tc_status s = NULL;
    for (size_t i = 0; i < f->children.len && !s; i++) s = estimate_frame(f->children.data[i], m);
    return s;
}

tc_status tc_exec_estimate(tc_exec *e, const tc_symvalue *vars, size_t nvars, tc_exec_memory *out) {
    tc_exec_memory m = tc_exec_memory_use(e);
    m.arena = m.live = m.kept = m.naive = m.dynamic = m.scratch = m.packed = 0;
    for (size_t i = 0; i < e->nvars && i < nvars; i++) e->vars[i] = vars[i];
    TC_TRY(check_guards(e));
    e->plan_only = true;
    tc_status s = estimate_frame(e->main, &m);
    e->plan_only = false;
    m.pages += memory_pages(m.scratch / 8 * 7); /* kernels touch about 7/8 of the scratch that they ask for (measured on matrix products) */
    if (!s) *out = m;
    return s;
}

tc_status tc_exec_forecast(tc_exec *e, const tc_tensor *inputs, int ninputs, tc_exec_memory *out) {
    TC_TRY(solve_sizes(e, inputs, ninputs));
    return tc_exec_estimate(e, e->vars, e->nvars, out);
}
