/* Cutting (cut.h): finds the piece that defines each value and the last one that reads it, then makes each piece as a clone of the program without the
 * other pieces' nodes. */
#include "pass/cut.h"

#include "op/op.h"
#include "pass/symbols.h"

typedef struct {
    const tc_program *p;
    const tc_cut *cut;
    size_t nvalues, nsyms;
    int *made, *last;      /* by value id: the piece that defines it (-1: weights), and the last that reads it (-1: none) */
    int *result;           /* by output: the piece that returns it */
    const tc_value **seen; /* by value id */
    bool *wanted;          /* by symbol: the next piece needs it as a number */
} cutter;

/* ---- definitions and uses by piece ---- */
typedef struct {
    cutter *c;
    int piece;
} reading;

static void read_value(cutter *c, const tc_value *v, int piece) {
    if (!v) return;
    if (c->last[v->id] < piece) c->last[v->id] = piece;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) read_value(c, v->list[i], piece);
}

static void read_place(void *ctx, tc_value **place) {
    reading *r = ctx;
    read_value(r->c, *place, r->piece);
}

static void make_value(cutter *c, const tc_value *v, int piece) {
    c->made[v->id] = piece;
    c->seen[v->id] = v;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) make_value(c, v->list[i], piece);
}

static bool is_write(const tc_output *o) { return o->kind >= TC_OUT_BUFFER && o->kind <= TC_OUT_USER_INPUT; }

static int piece_of_output(const cutter *c, const tc_output *o) {
    int made = o->value && c->made[o->value->id] > 0 ? c->made[o->value->id] : 0;
    if (is_write(o) || o->kind == TC_OUT_GENERATOR) return made;
    if (o->kind == TC_OUT_GRAD_PARAMETER || o->kind == TC_OUT_GRAD_USER) return c->cut->npieces - 1;
    return made > c->cut->results_at ? c->cut->npieces - 1 : c->cut->results_at;
}

static void follow_values(cutter *c) {
    const tc_program *p = c->p;
    size_t n = 0;
    for (size_t i = 0; i < c->nvalues; i++) c->made[i] = c->last[i] = -1;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_value *v = p->inputs[i].value;
        if (!v) continue;
        c->seen[v->id] = v;
        if (p->inputs[i].kind == TC_IN_USER) c->made[v->id] = c->cut->enters ? c->cut->enters[i] : 0;
    }
    for (const tc_node *m = p->graph->first; m; m = m->next, n++) {
        for (int i = 0; i < m->nouts; i++) make_value(c, m->outs[i], c->cut->piece[n]);
        tc_node_each_input(m, read_place, &(reading){c, c->cut->piece[n]});
    }
    for (int i = 0; i < p->noutputs; i++) {
        c->result[i] = piece_of_output(c, &p->outputs[i]);
        read_value(c, p->outputs[i].value, c->result[i]);
    }
    for (int i = 0; i < p->noutputs; i++) { /* a mutated input's old value crosses like a result */
        const tc_output *o = &p->outputs[i];
        if (!is_write(o)) continue;
        const tc_value *v = p->inputs[o->target].value;
        if (c->made[v->id] < 0 && c->last[v->id] > c->result[i]) c->made[v->id] = c->result[i];
        if (p->inputs[o->target].kind == TC_IN_USER) read_value(c, v, c->result[i]);
    }
}

/* Does v cross from piece k - 1 into piece k? Numbers of host arithmetic do not; their symbols do. */
static bool crosses(const cutter *c, const tc_value *v, int k) {
    return v && v->kind != TC_V_LIST && v->kind != TC_V_NONE && c->made[v->id] >= 0 && c->made[v->id] < k && c->last[v->id] >= k;
}

/* ---- symbols ---- */
/* By symbol: piece k uses it, and neither its inputs nor its nodes define it. */
static bool *missing_symbols(const cutter *c, int k) {
    const tc_program *p = c->p;
    bool *used = tc_xcalloc(c->nsyms + 1, sizeof *used), *known = tc_xcalloc(c->nsyms + 1, sizeof *known);
    size_t n = 0;
    for (size_t i = 0; i < c->nsyms; i++) used[i] = c->wanted[i];
    for (const tc_node *m = p->graph->first; m; m = m->next, n++) {
        if (c->cut->piece[n] != k) continue;
        tc_mark_node(used, m);
        if (tc_node_brings_symbols(m))
            for (int i = 0; i < m->nouts; i++) tc_mark_defined(known, m->outs[i], true);
    }
    for (int i = 0; i < p->noutputs; i++)
        if (c->result[i] == k) tc_mark_arg(used, &p->outputs[i].leaf);
    for (size_t i = 0; i < c->nvalues; i++) {
        const tc_value *v = c->seen[i];
        if (!v || !(crosses(c, v, k) || (!v->producer && c->made[i] == k))) continue;
        tc_mark_type(used, v);
        tc_mark_defined(known, v, false);
    }
    for (size_t i = 0; i < c->nsyms; i++) used[i] = used[i] && !known[i];
    free(known);
    return used;
}

/* ---- one piece: a copy of the program, edited ---- */
typedef struct {
    cutter *c;
    int k;
    tc_program *q;
    tc_value **at; /* the clone's values by id, which a clone keeps */
    bool *needed;  /* by value id: this piece reads or returns it */
} piece;

static void list_value(piece *w, tc_value *v) {
    w->at[v->id] = v;
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) list_value(w, v->list[i]);
}

static void need_place(void *ctx, tc_value **place) { ((bool *)ctx)[(*place)->id] = true; }

static void remove_others(piece *w) {
    tc_node *m = w->q->graph->first;
    for (size_t n = 0; m; n++) {
        tc_node *next = m->next;
        for (int i = 0; i < m->nouts; i++) list_value(w, m->outs[i]);
        if (w->c->cut->piece[n] == w->k) tc_node_each_input(m, need_place, w->needed);
        else tc_node_remove(m);
        m = next;
    }
}

static const char *crossing_name(piece *w, const tc_value *v) {
    const tc_program *p = w->c->p;
    const char *name = v->name;
    for (int i = 0; i < p->ninputs; i++) /* user inputs keep their names: "past.0" */
        if (p->inputs[i].value == v && p->inputs[i].name) name = p->inputs[i].name;
    return tc_arena_printf(&w->q->arena, "%s%s", w->c->cut->prefix ? w->c->cut->prefix : "", name);
}

static void set_outputs(piece *w, const bool *wanted) {
    const tc_program *p = w->c->p;
    tc_program *q = w->q;
    int kept = 0;
    q->graph->noutputs = 0;
    for (int i = 0; i < p->noutputs; i++) {
        if (w->c->result[i] != w->k) continue;
        q->outputs[kept] = q->outputs[i];
        if (q->outputs[kept].value) {
            tc_graph_add_output(q->graph, q->outputs[kept].value);
            w->needed[q->outputs[kept].value->id] = true;
        }
        if (q->outputs[kept].target >= 0) w->needed[p->inputs[q->outputs[kept].target].value->id] = true;
        kept++;
    }
    q->noutputs = kept;
    for (size_t i = 0; i < w->c->nvalues; i++) {
        const tc_value *v = w->c->seen[i];
        if (!crosses(w->c, v, w->k + 1)) continue;
        w->needed[i] = true;
        tc_program_add_output(q, (tc_output){.kind = TC_OUT_USER, .value = w->at[i], .name = crossing_name(w, v), .target = -1});
    }
    for (size_t i = 0; i < w->c->nsyms; i++) {
        if (!wanted[i]) continue;
        tc_sym s = tc_sym_import(q->sym, tc_sym_var_at(p->sym, i), p->sym);
        tc_arg leaf = {.kind = TC_A_INT, .sym = s};
        if (tc_sym_type(s) != TC_SYM_INT) leaf = (tc_arg){.kind = TC_A_SCALAR, .sym = s, .is_sym = true};
        tc_program_add_output(
            q, (tc_output){.kind = TC_OUT_LEAF, .leaf = leaf, .name = tc_arena_printf(&q->arena, "sizes.%s", tc_sym_var_name(s)), .target = -1});
    }
}

/* Sets the inputs: those that stay in their order, then crossing values, then sizes; output targets are renumbered. */
static void set_inputs(piece *w, const bool *missing) {
    const tc_program *p = w->c->p;
    tc_program *q = w->q;
    int *to = TC_NEWN(&q->arena, int, (size_t)p->ninputs + 1), kept = 0;
    q->graph->ninputs = 0;
    for (int i = 0; i < p->ninputs; i++) {
        tc_input *in = &q->inputs[i];
        const tc_value *v = p->inputs[i].value;
        bool user = in->kind == TC_IN_USER, here = !v ? w->k == 0 : user ? w->c->made[v->id] == w->k : w->needed[v->id] && !crosses(w->c, v, w->k);
        to[i] = here ? kept : -1;
        if (!here) {
            tc_tensor_deinit(&in->data);
            continue;
        }
        q->inputs[kept] = *in;
        q->inputs[kept++].alias_of = in->alias_of >= 0 ? to[in->alias_of] : -1;
        if (in->value) tc_graph_add_input(q->graph, in->value);
    }
    q->ninputs = kept;
    for (size_t i = 0; i < w->c->nvalues; i++) {
        const tc_value *v = w->c->seen[i];
        if (!crosses(w->c, v, w->k)) continue;
        w->at[i]->producer = NULL;
        for (int k = 0; k < p->ninputs; k++)
            if (p->inputs[k].value == v) to[k] = q->ninputs;
        tc_program_add_input(
            q, (tc_input){.kind = TC_IN_USER, .value = tc_graph_add_input(q->graph, w->at[i]), .name = crossing_name(w, v), .alias_of = -1});
    }
    for (size_t i = 0; i < w->c->nsyms; i++) {
        if (!missing[i]) continue;
        tc_sym s = tc_sym_import(q->sym, tc_sym_var_at(p->sym, i), p->sym);
        tc_value *number = tc_graph_add_input(q->graph, tc_graph_value(q->graph, TC_V_SYM, tc_sym_var_name(s)));
        number->sym = s;
        const char *name = tc_arena_printf(&q->arena, "sizes.%s", tc_sym_var_name(s));
        tc_program_add_input(q, (tc_input){.kind = TC_IN_USER, .value = number, .name = name, .alias_of = -1});
    }
    for (int i = 0; i < q->noutputs; i++) {
        tc_output *o = &q->outputs[i];
        if (o->target >= 0) o->target = to[o->target];
        if (o->target < 0 && o->kind == TC_OUT_GRAD_USER) o->kind = TC_OUT_USER; /* gradient of an input that this piece does not have */
    }
}

static tc_status make_piece(cutter *c, int k, const bool *missing, tc_program **out) {
    piece w = {.c = c, .k = k, .q = tc_program_clone(c->p)};
    w.at = tc_xcalloc(c->nvalues, sizeof(tc_value *));
    w.needed = tc_xcalloc(c->nvalues, sizeof *w.needed);
    w.q->name = tc_arena_strdup(&w.q->arena, c->cut->names[k]);
    w.q->in_tree = w.q->out_tree = NULL;
    for (int i = 0; i < w.q->ninputs; i++)
        if (w.q->inputs[i].value) w.at[w.q->inputs[i].value->id] = w.q->inputs[i].value;
    remove_others(&w);
    set_outputs(&w, c->wanted);
    set_inputs(&w, missing);
    free(w.at);
    free(w.needed);
    tc_status st = tc_program_verify(w.q);
    if (st) {
        tc_program_release(w.q);
        return tc_annotate(st, "%s", c->cut->names[k]);
    }
    *out = w.q;
    return NULL;
}

tc_status tc_cut_program(const tc_program *p, const tc_cut *cut, tc_program **out) {
    size_t n = p->graph->nvalues ? p->graph->nvalues : 1;
    cutter c = {.p = p, .cut = cut, .nvalues = n, .nsyms = tc_sym_var_count(p->sym)};
    if (!p->functional) TC_BUG("cutting a program that is not functional");
    c.made = tc_xcalloc(n, sizeof *c.made);
    c.last = tc_xcalloc(n, sizeof *c.last);
    c.seen = tc_xcalloc(n, sizeof(tc_value *));
    c.result = tc_xcalloc((size_t)p->noutputs + 1, sizeof *c.result);
    c.wanted = tc_xcalloc(c.nsyms + 1, sizeof *c.wanted);
    follow_values(&c);
    tc_status st = NULL;
    for (int k = cut->npieces; k-- > 0 && !st;) { /* backwards: earlier pieces must return what later ones need */
        bool *missing = missing_symbols(&c, k);
        st = make_piece(&c, k, missing, &out[k]);
        free(c.wanted);
        c.wanted = missing;
        for (int i = k + 1; st && i < cut->npieces; i++) tc_program_release(out[i]);
    }
    free(c.made);
    free(c.last);
    free(c.seen);
    free(c.result);
    free(c.wanted);
    return st;
}
