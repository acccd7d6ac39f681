/* Swapping a module (swap.h): for each call of it, inserts the other program's nodes before the readers of the call's outputs and removes the call's
 * nodes. */
#include "pass/swap.h"

#include "op/op.h"
#include "pass/module_calls.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    tc_program *p;
    const tc_program *with;
    const char *path;
    tc_call_flows flows;
    tc_map called;    /* module of `with` -> number of calls inserted so far */
    int *weight;      /* by input of `with`: index of the corresponding input of p; -1: none */
    tc_value **state; /* by input of `with`: the buffer's current value in the main graph */
} swap;

static bool below(const char *name, const char *path) {
    size_t k = strlen(path);
    return name && !strncmp(name, path, k) && name[k] == '.';
}

static bool is_write(const tc_output *o) { return o->kind == TC_OUT_BUFFER || o->kind == TC_OUT_PARAMETER; }

/* ---- checks on `with` ---- */
static tc_status check_program(const tc_program *with) {
    for (int i = 0; i < with->ninputs; i++) {
        const tc_input *in = &with->inputs[i];
        if (in->kind == TC_IN_TOKEN || (in->kind == TC_IN_USER && in->value->kind != TC_V_TENSOR))
            return tc_error(TC_UNSUPPORTED, "input %s is not a tensor: a module that is put into a program takes tensors", in->name);
    }
    for (int i = 0; i < with->noutputs; i++)
        if (with->outputs[i].kind != TC_OUT_USER && !is_write(&with->outputs[i]))
            return tc_error(TC_UNSUPPORTED, "result %s: a module that is put into a program gives tensors and writes to its own buffers",
                            with->outputs[i].name ? with->outputs[i].name : "?");
    return NULL;
}

/* ---- weights ---- */
/* PyTorch's name for a weight's graph input: p_blocks_2_lin_weight. */
static char *value_name(tc_arena *a, tc_input_kind kind, const char *name) {
    char *text = tc_arena_printf(a, "%c_%s", "pbc"[kind - TC_IN_PARAMETER], name);
    for (char *p = text; *p; p++)
        if (*p == '.') *p = '_';
    return text;
}

static void add_weights(swap *s) {
    tc_program *p = s->p;
    for (int i = 0; i < s->with->ninputs; i++) {
        tc_input in = s->with->inputs[i];
        s->weight[i] = -1;
        if (in.kind != TC_IN_PARAMETER && in.kind != TC_IN_BUFFER && in.kind != TC_IN_CONSTANT) continue;
        in.name = tc_arena_printf(&p->arena, "%s.%s", s->path, in.name);
        in.value = tc_graph_add_input(p->graph, tc_graph_value(p->graph, TC_V_TENSOR, value_name(&p->arena, in.kind, in.name)));
        tc_value_copy_type(in.value, s->with->inputs[i].value);
        in.alias_of = in.alias_of >= 0 ? s->weight[in.alias_of] : -1;
        in.data = in.data.storage ? tc_tensor_share(&s->with->inputs[i].data) : in.data;
        s->weight[i] = p->ninputs;
        s->state[i] = in.value;
        tc_program_add_input(p, in);
    }
}

static tc_value *body_input(tc_graph *g, const tc_value *like) {
    tc_value *v = tc_graph_value(g, TC_V_TENSOR, like->name);
    tc_value_copy_type(v, like);
    return tc_graph_add_input(g, v);
}

/* The value of main graph's v inside graph g: subgraphs receive it as an additional last input. */
static tc_status value_in(swap *s, tc_graph *g, tc_value *v, tc_value **out) {
    tc_node *owner = tc_call_flows_owner(&s->flows, g);
    tc_arg *last = owner ? &owner->args[owner->nargs - 1] : NULL;
    *out = v;
    if (!owner) return NULL;
    TC_TRY(value_in(s, owner->graph, v, &v));
    for (int i = 0; i < g->ninputs; i++)
        if (tc_body_operand(owner, g, i) == v) return *out = g->inputs[i], NULL;
    if (last->kind != TC_A_VALUES && !(last->kind == TC_A_INTS && !last->n))
        return tc_error(TC_UNSUPPORTED, "%s is called in a body of %s, which takes no further weights", s->path, tc_op_name(owner->op));
    tc_value **list = TC_NEWN(&s->p->arena, tc_value *, (size_t)last->n + 1);
    for (int i = 0; i < last->n; i++) list[i] = last->values[i];
    list[last->n] = v;
    *last = (tc_arg){.kind = TC_A_VALUES, .n = last->n + 1, .values = list};
    for (int i = 0; i < owner->nargs; i++) {
        if (owner->args[i].kind != TC_A_GRAPH) continue;
        tc_value *in = body_input(owner->args[i].graph, v);
        if (owner->args[i].graph == g) *out = in;
    }
    return NULL;
}

/* ---- types ---- */
static void print_types(tc_buf *b, tc_value *const *v, int n) {
    for (int i = 0; i < n; i++) {
        if (i) tc_buf_puts(b, ", ");
        tc_value_print_type(b, v[i]);
    }
    if (!n) tc_buf_puts(b, "nothing");
}

/* The error "blocks.2@1 takes f32[B, 8], the other module f32[4, 8]". */
static tc_status other(const tc_module_call *c, const char *what, tc_value *const *own, int nown, tc_value *const *theirs, int n) {
    tc_buf b = {0};
    const char *call = memrchr(c->calls, ';', c->n);
    call = call ? call + 1 : c->calls;
    tc_buf_printf(&b, "%.*s %s ", (int)(c->calls + c->n - call), call, what);
    print_types(&b, own, nown);
    tc_buf_puts(&b, ", the module in its place ");
    print_types(&b, theirs, n);
    tc_status st = tc_error(TC_CONTENT, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

static bool require(swap *s, const tc_module_call *c, tc_sym cond) {
    int known = tc_sym_known(s->p->sym, cond);
    if (known < 0) tc_program_guard(s->p, (tc_guard){.cond = cond, .source = c->nodes.data[0]->source});
    return known != 0;
}

static bool same_kind(const tc_value *a, const tc_value *b) {
    return a->kind == b->kind && (a->kind != TC_V_TENSOR || (a->meta.dtype == b->meta.dtype && a->meta.rank == b->meta.rank));
}

/* Do the sizes of `want`, of the other program with its symbols replaced, equal those of `have`? Unknown ones become guards. */
static bool sizes_fit(swap *s, const tc_module_call *c, const tc_sym *by, const tc_value *want, const tc_value *have) {
    for (int d = 0; d < have->meta.rank; d++) {
        tc_sym size = tc_sym_import_with(s->p->sym, want->meta.size[d], s->with->sym, by);
        if (!require(s, c, tc_sym_op(s->p->sym, TC_S_EQ, have->meta.size[d], size, NULL))) return false;
    }
    return true;
}

/* Binds the symbols of `with` that are input sizes to the sizes of the call (within their ranges); data-dependent symbols become new ones. */
static bool bind_symbols(swap *s, const tc_module_call *c, tc_value *const *want, tc_value *const *have, int n, tc_sym *by) {
    tc_symctx *y = s->p->sym;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < want[i]->meta.rank; d++) {
            tc_sym size = want[i]->meta.size[d], is = have[i]->meta.size[d];
            int64_t lo, hi;
            if (tc_sym_opcode(size) != TC_S_VAR || by[tc_sym_var_index(size)]) continue;
            tc_sym_range(s->with->sym, size, &lo, &hi);
            by[tc_sym_var_index(size)] = is;
            if (lo > 0 && !require(s, c, tc_sym_op(y, TC_S_LE, tc_sym_int(y, lo), is, NULL))) return false;
            if (hi != TC_SYM_NO_HI && !require(s, c, tc_sym_op(y, TC_S_LE, is, tc_sym_int(y, hi), NULL))) return false;
        }
    for (size_t i = 0; i < tc_sym_var_count(s->with->sym); i++) {
        tc_sym var = tc_sym_var_at(s->with->sym, i);
        int64_t lo, hi;
        if (by[i]) continue;
        tc_sym_range(s->with->sym, var, &lo, &hi);
        by[i] = tc_program_fresh(s->p, tc_sym_type(var), lo, hi);
    }
    return true;
}

static tc_status check_guards(swap *s, const tc_module_call *c, const tc_sym *by) {
    for (size_t i = 0; i < s->with->guards.len; i++) {
        tc_sym cond = tc_sym_import_with(s->p->sym, s->with->guards.data[i].cond, s->with->sym, by);
        if (require(s, c, cond)) continue;
        tc_buf b = {0};
        tc_sym_print(&b, s->with->guards.data[i].cond);
        tc_status st = tc_error(TC_CONTENT, "a call of %s breaks the guard %s of the module in its place", s->path, tc_buf_str(&b));
        tc_buf_free(&b);
        return st;
    }
    return NULL;
}

/* Do two values have the same type, so that types alone cannot tell which is which? */
static bool ambiguous(tc_value *const *v, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (same_kind(v[i], v[k])) return true;
    return false;
}

/* ---- replacing one call ---- */
/* Renames the module path of an inserted node. Call numbers of with's modules continue over all calls of the swapped module. own: calls entries of
 * `with` -> number in this call + 1. */
static void set_place(swap *s, const tc_module_call *c, tc_map *own, tc_node *n) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%.*s", (int)c->n, c->calls);
    for (const char *at = n->source.calls; at && *at; at += strcspn(at, ";"), at += *at == ';') {
        size_t name = strcspn(at, "@;");
        void **number = tc_map_put(own, at, strcspn(at, ";"));
        if (!*number) {
            void **times = tc_map_put(&s->called, at, name);
            *number = *times = (char *)*times + 1;
        }
        tc_buf_printf(&b, ";%s.%.*s", s->path, (int)name, at);
        if ((intptr_t)*number > 1) tc_buf_printf(&b, "@%lld", (long long)(intptr_t)*number - 1);
    }
    n->source.calls = tc_arena_strndup(&s->p->arena, b.data, b.len);
    n->annotations = NULL;
    tc_buf_free(&b);
}

/* The first node outside the call that reads one of its outputs (NULL: none, insert at the end); *out_early: an input is defined after it. */
typedef struct {
    const tc_value *const *of;
    size_t n;
    bool found;
} search;
static void look(void *ctx, tc_value **place) {
    search *w = ctx;
    for (size_t i = 0; i < w->n; i++) w->found |= w->of[i] == *place;
}
static tc_node *first_reader(const tc_module_call *c, const tc_values *in, const tc_values *out, bool *out_early) {
    tc_node *n = c->graph->first;
    size_t member = 0, left = 0;
    for (size_t i = 0; i < in->len; i++) left += in->data[i]->producer != NULL;
    for (; n; n = n->next) {
        search w = {(const tc_value *const *)out->data, out->len, false};
        if (member < c->nodes.len && c->nodes.data[member] == n) {
            member++;
            continue;
        }
        tc_node_each_input(n, look, &w);
        if (w.found) break;
        for (size_t i = 0; i < in->len; i++) left -= in->data[i]->producer == n;
    }
    *out_early = left != 0;
    return n;
}

/* Inserts the nodes; given: c's inputs. out_results: user outputs in the order of with's outputs. */
static tc_status put_nodes(swap *s, const tc_module_call *c, tc_value *const *given, const tc_sym *by, tc_node *before, tc_value **out_results) {
    const tc_program *with = s->with;
    tc_value **map = tc_xcalloc((size_t)with->graph->nvalues + 1, sizeof *map);
    tc_node *last = before ? before->prev : c->graph->last;
    bool no_grad = c->nodes.data[0]->no_grad;
    tc_map own = {0};
    tc_status st = NULL;
    int user = 0, n = 0;
    for (int i = 0; i < with->ninputs && !st; i++) {
        const tc_value *v = with->inputs[i].value;
        if (s->weight[i] >= 0) st = value_in(s, c->graph, s->state[i], &map[v->id]);
        else if (with->inputs[i].kind == TC_IN_USER) map[v->id] = given[user++];
    }
    if (!st) tc_graph_import_nodes(c->graph, with, map, by, before);
    for (tc_node *m = last ? last->next : c->graph->first; m != before && !st; m = m->next) {
        m->no_grad |= no_grad;
        set_place(s, c, &own, m);
        tc_op_propagate_grad(m);
    }
    for (int i = 0; i < with->noutputs && !st; i++) {
        const tc_output *o = &with->outputs[i];
        if (o->kind == TC_OUT_USER) out_results[n++] = map[o->value->id];
        else if (c->graph == s->p->graph) s->state[o->target] = map[o->value->id];
        else st = tc_error(TC_UNSUPPORTED, "%s writes to its buffer %s in the body of a branch or loop", s->path, with->inputs[o->target].name);
    }
    tc_map_free(&own);
    free(map);
    return st;
}

static void take_out(const tc_module_call *c) {
    for (size_t i = c->nodes.len; i-- > 0;) tc_node_remove(c->nodes.data[i]);
}

static int collect_types(const tc_program *with, bool inputs, tc_value **out) {
    int n = 0;
    for (int i = 0; inputs && i < with->ninputs; i++)
        if (with->inputs[i].kind == TC_IN_USER) out[n++] = with->inputs[i].value;
    for (int i = 0; !inputs && i < with->noutputs; i++)
        if (with->outputs[i].kind == TC_OUT_USER) out[n++] = with->outputs[i].value;
    return n;
}

/* Reorders the call's values to match the other program's; ordered: they are in order already. */
static tc_status fit(const swap *s, const tc_module_call *c, const char *what, tc_values *own, tc_value *const *theirs, int n, bool ordered) {
    bool same = own->len == (size_t)n;
    for (int i = 0; i < n && same; i++) {
        int k = i;
        while (k < n && !same_kind(own->data[k], theirs[i])) k = ordered ? n : k + 1;
        same = k < n;
        tc_value *at = own->data[i];
        if (same) own->data[i] = own->data[k], own->data[k] = at;
    }
    if (!same) return other(c, what, own->data, (int)own->len, theirs, n);
    if (ordered || !ambiguous(theirs, n)) return NULL;
    return tc_status_add(tc_error(TC_CONTENT, "%s %s tensors of the same type, of which nothing says the order", s->path, what),
                         "an archive says it of the modules in --preserve-signature of tc-export, preserve_module_call_signature of torch.export");
}

/* The recorded signature of a call (order of its inputs and outputs), from the archive or the capture; NULL: none. */
static const tc_call_signature *signature_of(const swap *s, const tc_module_call *c) {
    const char *call = memrchr(c->calls, ';', c->n);
    call = call ? call + 1 : c->calls;
    const size_t n = (size_t)(c->calls + c->n - call);
    for (size_t i = 0; i < s->p->calls.len && c->graph == s->p->graph; i++) {
        const tc_call_signature *sig = &s->p->calls.data[i];
        if (strlen(sig->module) == n && !memcmp(sig->module, call, n)) return sig;
    }
    return NULL;
}

static bool has(const tc_value *const *v, size_t n, const tc_value *x) {
    while (n && v[n - 1] != x) n--;
    return n != 0;
}

/* Takes over the order of the signature's tensors, when these include all that were found. */
static bool take_order(const tc_arg *a, int n, tc_values *io) {
    tc_values own = {0};
    bool all = true;
    for (int i = 0; i < n && all; i++) {
        all = a[i].kind != TC_A_VALUE || a[i].value;
        if (all && a[i].kind == TC_A_VALUE && a[i].value->kind == TC_V_TENSOR) tc_vec_push(&own, a[i].value);
    }
    for (size_t i = 0; i < io->len && all; i++) all = has((const tc_value *const *)own.data, own.len, io->data[i]);
    if (all) {
        const tc_values found = *io;
        *io = own, own = found;
    }
    tc_vec_free(&own);
    return all;
}

static bool makes(const tc_module_call *c, const tc_value *v) {
    for (size_t i = 0; i < c->nodes.len; i++)
        if (v->producer == c->nodes.data[i]) return true;
    return false;
}

static tc_status swap_call(swap *s, const tc_module_call *c, tc_value **types, tc_sym *by) {
    tc_values in = {0}, out = {0};
    tc_value **results = types + s->with->ninputs + s->with->noutputs;
    tc_call_flow(&s->flows, c, &in, &out);
    const tc_call_signature *sig = signature_of(s, c);
    const bool ordered_in = sig && take_order(sig->inputs, sig->ninputs, &in), ordered_out = sig && take_order(sig->outputs, sig->noutputs, &out);
    int nin = collect_types(s->with, true, types);
    tc_status st = fit(s, c, "takes", &in, types, nin, ordered_in);
    if (!st && !bind_symbols(s, c, types, in.data, nin, by)) st = other(c, "takes", in.data, (int)in.len, types, nin);
    for (int i = 0; i < nin && !st; i++)
        if (!sizes_fit(s, c, by, types[i], in.data[i])) st = other(c, "takes", in.data, (int)in.len, types, nin);
    if (!st) st = check_guards(s, c, by);
    int nout = collect_types(s->with, false, types);
    if (!st) st = fit(s, c, "gives", &out, types, nout, ordered_out);
    for (int i = 0; i < nout && !st; i++)
        if (!sizes_fit(s, c, by, types[i], out.data[i])) st = other(c, "gives", out.data, (int)out.len, types, nout);
    bool early = false;
    tc_node *before = st ? NULL : first_reader(c, &in, &out, &early);
    if (!st && early) st = tc_error(TC_CONTENT, "%s has inputs that are made of its own results: two calls that nothing tells apart", s->path);
    if (!st) st = put_nodes(s, c, in.data, by, before, results);
    for (int i = 0; i < nout && !st; i++) {
        if (makes(c, out.data[i])) tc_graph_replace(c->graph, out.data[i], results[i]);
        else if (results[i] != out.data[i])
            st = tc_error(TC_UNSUPPORTED, "%s gives back %s, which it does not make: nothing tells who reads it behind the call", s->path,
                          out.data[i]->name);
    }
    if (!st) take_out(c);
    tc_vec_free(&in);
    tc_vec_free(&out);
    return st;
}

static void find_calls(tc_graph *g, const char *path, tc_module_calls *out) {
    for (tc_node *n = g->first; n; n = n->next) {
        size_t len = n->source.calls ? tc_module_call_of(n->source.calls, path) : 0;
        if (len) tc_module_calls_add(out, n, len);
        for (int i = 0; !len && i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) find_calls(n->args[i].graph, path, out);
    }
}

/* ---- the signature ---- */
/* Removes the mutations of the replaced module's buffers. */
static void drop_writes(swap *s) {
    tc_program *p = s->p;
    int kept = 0;
    p->graph->noutputs = 0;
    for (int i = 0; i < p->noutputs; i++) {
        if (is_write(&p->outputs[i]) && below(p->inputs[p->outputs[i].target].name, s->path)) continue;
        p->outputs[kept++] = p->outputs[i];
        if (p->outputs[i].value) tc_graph_add_output(p->graph, p->outputs[i].value);
    }
    p->noutputs = kept;
}

static void add_writes(swap *s) {
    tc_program *p = s->p;
    for (int i = 0; i < s->with->noutputs; i++) {
        tc_output o = s->with->outputs[i];
        if (!is_write(&o) || s->state[o.target] == p->inputs[s->weight[o.target]].value) continue;
        o.value = s->state[o.target];
        o.target = s->weight[o.target];
        o.name = o.name ? tc_arena_printf(&p->arena, "%s.%s", s->path, o.name) : NULL;
        tc_program_add_output(p, o);
    }
    tc_output *all = tc_arena_dup(&p->arena, p->outputs, sizeof *all * (size_t)p->noutputs);
    int n = 0;
    p->graph->noutputs = 0;
    for (int writes = 1; writes >= 0; writes--) /* mutations come before the results */
        for (int i = 0; i < p->noutputs; i++) {
            if ((is_write(&all[i]) || all[i].kind == TC_OUT_USER_INPUT) != writes) continue;
            p->outputs[n++] = all[i];
            if (all[i].value) tc_graph_add_output(p->graph, all[i].value);
        }
}

/* Removes operand k, which no subgraph reads, from the last list of n and from the subgraphs' inputs. */
static void drop_operand(tc_node *n, int k) {
    tc_arg *last = &n->args[n->nargs - 1];
    for (int i = 0; i < n->nargs; i++) {
        if (n->args[i].kind != TC_A_GRAPH) continue;
        tc_graph *g = n->args[i].graph;
        int at = g->ninputs - last->n + k;
        memmove(&g->inputs[at], &g->inputs[at + 1], sizeof(tc_value *) * (size_t)(g->ninputs - at - 1));
        g->ninputs--;
    }
    last->values[k]->aux = (char *)last->values[k]->aux - 1;
    memmove(&last->values[k], &last->values[k + 1], sizeof(tc_value *) * (size_t)(last->n - k - 1));
    last->n--;
}

/* Removes weight operands that subgraphs no longer read. */
static void drop_operands(swap *s, tc_graph *g) {
    for (tc_node *n = g->first; n; n = n->next) {
        bool any = false;
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) drop_operands(s, n->args[i].graph), any = true;
        const tc_arg *last = &n->args[n->nargs - 1];
        for (int k = any && last->kind == TC_A_VALUES ? last->n : 0; k-- > 0;) {
            bool read = !tc_call_flows_weight(&s->flows, last->values[k]);
            for (int i = 0; i < n->nargs && !read; i++) {
                const tc_graph *body = n->args[i].kind == TC_A_GRAPH ? n->args[i].graph : NULL;
                read = body && body->inputs[body->ninputs - last->n + k]->aux;
            }
            if (!read) drop_operand(n, k);
        }
    }
}

/* Removes the replaced module's unused weights and sorts the new ones among the inputs of their kind. nold: number of inputs before. */
static tc_status order_inputs(swap *s, int nold) {
    tc_program *p = s->p;
    tc_input *kept = TC_NEWN(&p->arena, tc_input, (size_t)p->ninputs);
    int *to = TC_NEWN(&p->arena, int, (size_t)p->ninputs), n = 0;
    tc_call_flows_close(&s->flows);
    tc_call_flows_open(&s->flows, p); /* recomputes use counts */
    drop_operands(s, p->graph);
    for (int kind = TC_IN_PARAMETER; kind <= TC_IN_USER; kind++)
        for (int i = 0; i < p->ninputs; i++) {
            tc_input *in = &p->inputs[i];
            bool last = in->kind >= TC_IN_USER, gone = i < nold && !last && below(in->name, s->path) && in->value && !in->value->aux;
            for (int k = 0; gone && k < nold; k++) gone = p->inputs[k].alias_of != i || below(p->inputs[k].name, s->path);
            if (kind == TC_IN_PARAMETER) to[i] = -1;
            if (gone || (last ? TC_IN_USER : (int)in->kind) != kind) continue;
            to[i] = n;
            kept[n++] = *in;
        }
    for (int i = 0; i < p->ninputs; i++)
        if (to[i] < 0) tc_tensor_deinit(&p->inputs[i].data);
    p->graph->ninputs = 0;
    for (int i = 0; i < n; i++) {
        if (kept[i].alias_of >= 0) kept[i].alias_of = to[kept[i].alias_of];
        if (kept[i].value) tc_graph_add_input(p->graph, kept[i].value);
        for (int k = 0; k < i; k++)
            if (kept[i].kind < TC_IN_USER && kept[k].kind < TC_IN_USER && !strcmp(kept[i].name, kept[k].name))
                return tc_error(TC_UNSUPPORTED, "%s is used outside of %s too: a weight of the module in its place has the same name", kept[i].name,
                                s->path);
    }
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].target >= 0) p->outputs[i].target = to[p->outputs[i].target];
    memcpy(p->inputs, kept, sizeof *kept * (size_t)n);
    p->ninputs = n;
    return NULL;
}

static tc_status swap_calls(swap *s, const tc_module_calls *calls) {
    const tc_program *with = s->with;
    size_t nsyms = tc_sym_var_count(with->sym);
    tc_value **types = tc_xcalloc((size_t)(with->ninputs + 2 * with->noutputs) + 1, sizeof *types);
    tc_sym *by = tc_xcalloc(nsyms + 1, sizeof *by);
    tc_status st = NULL;
    for (size_t i = 0; i < calls->len && !st; i++) {
        memset(by, 0, (nsyms + 1) * sizeof *by);
        st = swap_call(s, &calls->data[i], types, by);
    }
    free(types);
    free(by);
    return st;
}

/* Removes recorded signatures of the replaced module and its submodules. */
static void drop_signatures(tc_program *p, const char *path) {
    size_t kept = 0;
    const size_t n = strlen(path);
    for (size_t i = 0; i < p->calls.len; i++) {
        const char *name = p->calls.data[i].module;
        if (strncmp(name, path, n) != 0 || (name[n] && !strchr(".@", name[n]))) p->calls.data[kept++] = p->calls.data[i];
    }
    p->calls.len = kept;
}

tc_status tc_swap_module(tc_program *p, const char *path, const tc_program *with) {
    swap s = {.p = p, .with = with, .path = path};
    tc_module_calls calls = {0};
    int nold = p->ninputs;
    find_calls(p->graph, path, &calls);
    if (!calls.len) return tc_error(TC_USAGE, "program %s calls no module %s: --print=modules shows those that it calls", p->name, path);
    s.weight = tc_xcalloc((size_t)with->ninputs + 1, sizeof *s.weight);
    s.state = tc_xcalloc((size_t)with->ninputs + 1, sizeof *s.state);
    tc_status st = check_program(with);
    if (!st) {
        drop_writes(&s);
        add_weights(&s);
        tc_call_flows_open(&s.flows, p);
        st = swap_calls(&s, &calls);
        if (!st) add_writes(&s);
        if (!st) st = order_inputs(&s, nold);
        tc_call_flows_close(&s.flows);
        drop_signatures(p, path);
    }
    tc_module_calls_free(&calls);
    tc_map_free(&s.called);
    free(s.weight);
    free(s.state);
    return st ? st : tc_program_verify(p);
}
