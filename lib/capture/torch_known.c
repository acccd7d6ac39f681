/* Values of tensors that are known while a graph is captured: torch.tensor(7 / 2) and what is computed of few such numbers alone, as
 * int(torch.ceil(torch.tensor(7 / 2))), and torch.arange(2, 4). A branch, an index or a size may depend on them. */
#include "base/text.h"
#include "capture/torch_call.h"

#include <string.h>

enum { MOST = 16 }; /* elements of a tensor whose values are known */

const tensor *tc_torch_known(V v) {
    const tensor *t = (tensor *)v, *of = t->known_from ? (tensor *)t->known_of : NULL;
    if (!t->known || t->v != t->known_at) return NULL;
    return of && (!of->known || of->v != t->known_from) ? NULL : (tensor *)t->known;
}

static bool is_symbolic(const tc_arg *a) {
    int64_t n;
    bool sym = (a->kind == TC_A_INT && !tc_sym_const_int(a->sym, &n)) || (a->kind == TC_A_SCALAR && a->is_sym);
    for (int i = 0; a->kind == TC_A_INTS && i < a->n; i++) sym |= !tc_sym_const_int(a->syms[i], &n);
    return sym;
}

/* Runs the call on the known values, outside of the graph. */
static V run(C *c, const tc_op *op, tc_arg *a, int nargs, V const *known) {
    struct tc_torch *T = c->torch;
    tc_graph *g = T->graph;
    tc_program *scratch = T->scratch;
    V volatile r = NULL;
    trap t;
    T->graph = NULL, T->scratch = g->program; /* whose symbols the arguments have */
    if (TC_TRAP_PASSING(c, t)) {
        r = tc_torch_run_concrete(c, op, a, nargs, known, NULL);
        tc_untrap(c, &t);
    }
    T->graph = g, T->scratch = scratch;
    return r && (tc_is_tensor(r) || tc_is_seq(r)) ? r : NULL;
}

/* torch.arange(2, 4) of a few numbers. a: no symbols. */
static bool is_few_numbers(const tc_op *op, const tc_arg *a, int nargs) {
    double n[3] = {0, 0, 1};
    int given = 0;
    if (strcmp(tc_op_schema(op)->name, "arange")) return false;
    for (; given < 3 && given < nargs && a[given].kind == TC_A_SCALAR; given++) n[given] = tc_scalar_to_double(a[given].scalar);
    if (given == 1) n[1] = n[0], n[0] = 0;
    return given && (n[1] - n[0]) / n[2] <= MOST;
}

V tc_torch_known_result(C *c, const tc_op *op, const tc_arg *a, int nargs, V const *objects) {
    V known[TC_MAX_PARAMS] = {0};
    tc_arg concrete[TC_MAX_PARAMS];
    bool any = false;
    const tc_schema *s = tc_op_schema(op);
    if (s->variadic || op->flags & (TC_OP_RANDOM | TC_OP_IMPURE) || c->torch->autocast != TC_DTYPE_NONE) return NULL;
    for (int i = 0; i < nargs; i++) {
        const tensor *t = objects[i] && tc_is_tensor(objects[i]) ? tc_torch_known(objects[i]) : NULL;
        if (objects[i] ? !t || tc_tensor_numel(&t->t) > MOST : is_symbolic(&a[i])) return NULL;
        known[i] = (V)t, any |= t != NULL;
        concrete[i] = a[i];
    }
    V r = any || is_few_numbers(op, a, nargs) ? run(c, op, concrete, nargs, known) : NULL;
    if (r && !strcmp(s->name, "to") && tc_torch_dtype(r) == tc_torch_dtype(known[0])) return NULL; /* to() of the type that it has is its operand */
    return r;
}

static void set_known(tensor *t, V known) {
    if (known && tc_torch_dtype(known) != tc_torch_dtype((V)t)) known = NULL;
    t->known = known, t->known_at = t->v;
}

void tc_torch_note_known(const tc_op *op, V const *objects, V result, V known) {
    const tensor *of = objects[0] && tc_is_tensor(objects[0]) ? (tensor *)objects[0] : NULL;
    size_t n = 1, nk = known != NULL;
    const V *all = tc_is_seq(result) ? tc_items(result, &n) : &result, *k = known && tc_is_seq(known) ? tc_items(known, &nk) : &known;
    for (size_t i = 0; i < n && i < nk; i++)
        if (tc_is_tensor(all[i]) && tc_is_tensor(k[i]) && all[i] != (V)of) set_known((tensor *)all[i], k[i]);
    if (!of || !(of->known || of->known_of) || !tc_op_may_alias(op)) return;
    const tensor *base = of->known_of ? (tensor *)of->known_of : of;
    const bool copy = !strcmp(tc_op_schema(op)->name, "to");
    for (size_t i = 0; i < n; i++)
        if (tc_is_tensor(all[i]) && all[i] != (V)of) ((tensor *)all[i])->known_of = (V)base, ((tensor *)all[i])->known_from = copy ? NULL : base->v;
}

V tc_torch_known_sized(C *c, const tc_op *op, V known) {
    if (!known || !tc_word_in(" nonzero masked_select _unique2 unique_consecutive unique_dim ", tc_op_schema(op)->name)) return NULL;
    size_t n = 1;
    const V *k = tc_is_seq(known) ? tc_items(known, &n) : &known;
    V results[3];
    for (size_t i = 0; i < n && i < 3; i++) {
        results[i] = tc_torch_calln(c, "aten::lift_fresh_copy", 1, k[i]);
        set_known((tensor *)results[i], k[i]);
    }
    return n == 1 ? results[0] : tc_tuple(c, n, results);
}

void tc_torch_write_known(tensor *t, V known) {
    set_known(t, known);
    if (t->known_of) ((tensor *)t->known_of)->known = NULL;
}
