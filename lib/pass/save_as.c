/* Stores activations saved for the backward in 8 bits (partition.h, tc-export --saved-as). */
#include "grad/grad.h"
#include "op/emit.h"
#include "pass/partition.h"
#include "pass/value_bytes.h"

typedef struct {
    tc_emit e;
    size_t nvalues;
    tc_node **last;                     /* by value id: the last forward node that reads it, else its producer; NULL: not a value of the forward */
    tc_value **narrow, **scale, **wide; /* by value id: 8-bit values, scales, restored values; NULL: saved unchanged */
    tc_node *reader;                    /* the node whose arguments are visited */
    tc_saved_as *out;
} saving;

static void read_last(void *ctx, tc_value **place) {
    saving *s = ctx;
    if (*place && s->last[(*place)->id]) s->last[(*place)->id] = s->reader;
}

static void look_at_forward(saving *s, const tc_node *end) {
    for (tc_node *n = s->e.graph->first; n; n = n == end ? NULL : n->next) {
        s->reader = n;
        tc_node_each_input(n, read_last, s);
        for (int i = 0; i < n->nouts; i++) {
            s->last[n->outs[i]->id] = n;
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && k < n->outs[i]->nlist; k++) s->last[n->outs[i]->list[k]->id] = n;
        }
    }
}

/* Is v a float tensor that takes fewer bytes in 8 bits with a scale per row? Views of weights take no memory. */
static bool gains(const saving *s, const tc_value *v) {
    const tc_program *p = s->e.graph->program;
    if (v->kind != TC_V_TENSOR || !tc_is_float(v->meta.dtype) || tc_dtype_size(v->meta.dtype) < 2 || !v->meta.rank || tc_is_of_weight(p, v))
        return false;
    size_t nvars;
    tc_symvalue *vars = tc_typical_sizes(p, &nvars);
    const int64_t bytes = tc_value_bytes(v, vars, nvars), n = bytes / (int64_t)tc_dtype_size(v->meta.dtype);
    int64_t row = 0;
    tc_status_free(tc_sym_eval_int(v->meta.size[v->meta.rank - 1], vars, nvars, &row));
    free(vars);
    return row > 0 && n + n / row * 4 < bytes;
}

/* Quantises v after its last forward reader, with PyTorch's scaling (torch/_functorch/partitioners.py): max of the type / max |row| in float64, at most
 * that maximum / 1e-12, results clamped to the range of the type. */
static void to_narrow(saving *s, tc_value *v) {
    static const int64_t row[] = {-1};
    const double most = s->out->to == TC_F8E5M2 ? 57344 : 448;
    tc_emit *e = &s->e;
    e->before = s->last[v->id]->next, e->source = v->producer->source, e->origin = v->producer;
    tc_value *m = tc_emit_call(e, "aten::amax", "vIb", tc_emit_call(e, "aten::abs", "v", v), row, 1, 1);
    m = tc_emit_call(e, "aten::clamp_min", "vz", tc_e_cast(e, m, TC_F64), tc_scalar_float(1e-12));
    m = tc_e_cast(e, tc_e_muls(e, tc_emit_call(e, "aten::reciprocal", "v", m), most), TC_F32);
    tc_value *q = tc_e_mul(e, tc_e_cast(e, v, TC_F32), m);
    q = tc_emit_call(e, "aten::clamp", "vzz", q, tc_scalar_float(-most), tc_scalar_float(most));
    s->narrow[v->id] = tc_e_cast(e, q, s->out->to), s->scale[v->id] = m;
}

static void choose(void *ctx, tc_value **place) {
    saving *s = ctx;
    tc_value *v = *place;
    tc_symctx *c = s->e.graph->program->sym;
    if (!v || v->id >= s->nvalues || !s->last[v->id] || s->narrow[v->id] || s->e.status || !gains(s, v)) return;
    to_narrow(s, v);
    if (s->e.status) return;
    s->out->n++;
    s->out->before = tc_sym_add(c, s->out->before, tc_value_bytes_sym(c, v));
    s->out->after = tc_sym_add(c, s->out->after, tc_sym_add(c, tc_value_bytes_sym(c, s->narrow[v->id]), tc_value_bytes_sym(c, s->scale[v->id])));
}

static void read_wide(void *ctx, tc_value **place) {
    saving *s = ctx;
    tc_value *v = *place;
    if (!v || v->id >= s->nvalues || !s->narrow[v->id] || s->e.status) return;
    if (!s->wide[v->id]) {
        tc_emit *e = &s->e;
        e->before = s->reader, e->source = v->producer->source, e->origin = v->producer;
        s->wide[v->id] = tc_e_cast(e, tc_e_div(e, tc_e_cast(e, s->narrow[v->id], v->meta.dtype), s->scale[v->id]), v->meta.dtype);
    }
    if (!s->e.status) *place = s->wide[v->id];
}

tc_status tc_save_as(tc_program *p, tc_node **end, tc_saved_as *out) {
    *out = (tc_saved_as){out->to, 0, tc_sym_int(p->sym, 0), tc_sym_int(p->sym, 0)};
    *end = tc_drop_dead(p, *end);
    if (!*end) return NULL;
    const size_t n = p->graph->nvalues + 1;
    saving s = {.e = {.graph = p->graph}, .nvalues = p->graph->nvalues, .out = out};
    s.last = TC_NEWN(&p->arena, tc_node *, n);
    s.narrow = TC_NEWN(&p->arena, tc_value *, n), s.scale = TC_NEWN(&p->arena, tc_value *, n), s.wide = TC_NEWN(&p->arena, tc_value *, n);
    look_at_forward(&s, *end);
    tc_node *const first = (*end)->next; /* first node of the backward */
    for (tc_node *m = first; m; m = m->next) tc_node_each_input(m, choose, &s);
    *end = first ? first->prev : p->graph->last;
    for (s.reader = first; s.reader; s.reader = s.reader->next) tc_node_each_input(s.reader, read_wide, &s);
    return s.e.status;
}

void tc_print_saved_as(tc_buf *b, const tc_saved_as *s) {
    tc_buf_printf(b, "%d values for the backward as %s: ", s->n, tc_dtypes[s->to].torch);
    tc_sym_print(b, s->after);
    tc_buf_puts(b, " bytes instead of ");
    tc_sym_print(b, s->before);
}
