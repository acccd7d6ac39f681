/* The module torch._C, which files in the model language (lib/capture/torch) use: the state that contexts switch (no_grad, autocast), questions about what
 * a capture knows, memory of eager work, and changes that a capture made to older objects. */
#include "capture/capture.h"
#include "capture/torch_bind.h"
#include "capture/torch_data.h"

static V none_fn(C *c, args *A) {
    (void)A;
    return c->none;
}
static V false_fn(C *c, args *A) {
    (void)A;
    return tc_bool(c, false);
}
/* ---- state that contexts of _namespace.py switch; each returns the old value ---- */
static V c_grad(C *c, args *A) {
    bool old = !c->torch->no_grad;
    if (A->n) c->torch->no_grad = !tc_truth(c, A->a[0]);
    return tc_bool(c, old);
}
static V c_inference(C *c, args *A) {
    bool old = c->torch->inference;
    if (A->n) c->torch->inference = tc_truth(c, A->a[0]);
    return tc_bool(c, old);
}
static V c_autocast(C *c, args *A) {
    tc_dtype old = c->torch->autocast;
    if (A->n) c->torch->autocast = tc_torch_want_dtype(c, A->a[0]);
    return old == TC_DTYPE_NONE ? c->none : tc_torch_dtype_object(c, old);
}
static V c_print_options(C *c, args *A) {
    V v[5];
    tc_take(c, A, "set_printoptions", "precision threshold edgeitems linewidth sci_mode", v);
    const int64_t precision = tc_index(c, v[0], "precision"), edge = tc_index(c, v[2], "edgeitems"), line = tc_index(c, v[3], "linewidth");
    if (precision < 0 || precision > 50) tc_raise(c, "ValueError", "precision must be 0 to 50, not %lld", (long long)precision);
    if (edge < 0) tc_raise(c, "ValueError", "edgeitems must not be negative");
    c->torch->print = (tc_print_options){.precision = (int)precision,
                                         .threshold = tc_to_double(c, v[1]),
                                         .edge = edge < INT32_MAX ? edge : INT32_MAX,
                                         .line = (int)(line < 0           ? 0
                                                       : line < INT32_MAX ? line
                                                                          : INT32_MAX),
                                         .scientific = v[4] == c->none ? -1 : tc_truth(c, v[4])};
    return c->none;
}
/* checkpoint_begin() -> the call around this one; checkpoint_end(that) */
static V c_checkpoint_begin(C *c, args *A) {
    (void)A;
    int around = c->torch->checkpoint;
    c->torch->checkpoint = ++c->torch->ncheckpoints;
    return tc_int(c, around);
}
static V c_checkpoint_end(C *c, args *A) {
    c->torch->checkpoint = A->n ? (int)tc_small(A->a[0]) : 0;
    return c->none;
}
static V c_capturing(C *c, args *A) {
    (void)A;
    return tc_bool(c, c->torch->graph != NULL);
}
/* torch.distributed: how many ranks run the program, 0: it is not initialised. */
static V c_ranks(C *c, args *A) {
    (void)A;
    return tc_int(c, c->ranks);
}
static V c_rank(C *c, args *A) {
    (void)A;
    if (c->rank < 0) tc_raise(c, "RuntimeError", "get_rank(): a program for all ranks does not know its rank (--rank R makes one for a rank)");
    return tc_int(c, c->rank);
}
static V c_call_begins(C *c, args *A) {
    tc_capture_call_begins(c, A->a[0], A->a[1]);
    return c->none;
}
static V c_call_ends(C *c, args *A) {
    tc_capture_call_ends(c, A->a[0]);
    return c->none;
}
static V c_is_symbolic(C *c, args *A) { return A->n && tc_kind_of(A->a[0]) == K_SYM ? c->true_ : c->false_; }

/* Is it a data-dependent condition? */
static V c_from_data(C *c, args *A) { return tc_bool(c, A->n && tc_kind_of(A->a[0]) == K_SYM && tc_sym_from_data(c, A->a[0])); }

/* Are the elements of the tensor known during capture? */
static V c_is_known(C *c, args *A) {
    return tc_bool(c, A->n == 1 && tc_is_tensor(A->a[0]) && (!tc_is_symbolic((tensor *)A->a[0]) || tc_torch_known(A->a[0])));
}

/* lanes(True), lanes(False): calls between them must work elementwise, else they are refused (torch_lanes.c). */
static V c_lanes(C *c, args *A) {
    c->torch->lanes = tc_truth(c, A->a[0]);
    return c->none;
}

static V c_holds(C *c, args *A) {
    if (A->n != 1) tc_raise(c, "TypeError", "holds takes a condition");
    return tc_bool(c, tc_kind_of(A->a[0]) == K_SYM ? tc_sym_require(c, A->a[0]) : tc_truth(c, A->a[0]));
}

/* ---- memory of long eager work (torch.optim.LBFGS): scratch_begin(); ...; scratch_end(what is kept) ---- */
/* Marks the storage of every tensor in v, including those in lists, tuples and dicts. */
static void keep(C *c, V v, bool kept, int depth) {
    if (tc_is_tensor(v)) {
        if (((tensor *)v)->t.storage) ((tensor *)v)->t.storage->kept = kept;
        return;
    }
    kind k = tc_kind_of(v);
    if (depth > 20) return;
    if (k == K_LIST || k == K_TUPLE) {
        size_t n;
        V *items = tc_items(v, &n);
        for (size_t i = 0; i < n; i++) keep(c, items[i], kept, depth + 1);
    } else if (k == K_DICT) {
        V key, value;
        for (size_t i = 0; tc_dict_next((dict *)v, &i, &key, &value);) keep(c, value, kept, depth + 1);
    }
}

static V c_scratch_begin(C *c, args *A) {
    (void)A;
    if (c->torch->nscratch == TC_TORCH_SCRATCH) tc_raise(c, "RuntimeError", "scratch_begin: nested too deep");
    c->torch->scratch_from[c->torch->nscratch++] = c->torch->owned;
    return c->none;
}

/* Frees the memory of tensors made since the last scratch_begin, except for the given tensors and those that share memory with them. */
static V c_scratch_end(C *c, args *A) {
    struct tc_torch *T = c->torch;
    if (!T->nscratch) tc_raise(c, "RuntimeError", "scratch_end without scratch_begin");
    tensor *until = T->scratch_from[--T->nscratch];
    for (int i = 0; i < A->n; i++) keep(c, A->a[i], true, 0);
    for (tensor **at = &T->owned; *at != until;) {
        tensor *t = *at;
        if (t->t.storage && t->t.storage->kept) {
            at = &t->next_owned;
            continue;
        }
        tc_torch_forget(c, t);
        *at = t->next_owned;
    }
    for (int i = 0; i < A->n; i++) keep(c, A->a[i], false, 0);
    return c->none;
}

/* The changes that the capture has made to older objects (undo.c): [(object, attribute or None, its value before, now)] for an attribute, or a whole
 * list, dict or set; [(its cell, name, ...)] for a variable of an enclosing function. */
static V c_changed(C *c, args *A) {
    list *out = tc_list(c, c->torch->changes.len);
    (void)A;
    for (size_t i = 0; i < c->torch->changes.len; i++) {
        const struct change *x = &c->torch->changes.data[i];
        dict *attributes = tc_undo_attributes(x->owner);
        if (x->name && attributes && !attributes->module) continue; /* made during the capture */
        const bool variable = tc_kind_of(x->owner) == K_CELL;
        V now = variable ? ((cell *)x->owner)->v : x->name ? attributes ? tc_dict_gets(c, attributes, x->name) : NULL : x->owner;
        V row[4] = {x->owner, x->name ? (V)x->name : c->none, x->before ? x->before : c->none, now ? now : c->none};
        tc_list_push(c, out, tc_tuple(c, 4, row));
    }
    return (V)out;
}

static V c_eagerly(C *c, args *A) {
    args rest = {.a = A->a + 1, .n = A->n - 1};
    return tc_capture_eagerly(c, A->a[0], &rest);
}

void tc_torch_private_init(C *c, module *priv) {
    static const native_def internal[] = {{"grad_enabled", c_grad},
                                          {"inference_mode", c_inference},
                                          {"autocast_dtype", c_autocast},
                                          {"print_options", c_print_options},
                                          {"_log_api_usage_once", none_fn},
                                          {"_get_tracing_state", none_fn},
                                          {"_is_tracing", false_fn},
                                          {"_disabled_torch_function_impl", none_fn},
                                          {"capturing", c_capturing},
                                          {"ranks", c_ranks},
                                          {"rank", c_rank},
                                          {"call_begins", c_call_begins},
                                          {"call_ends", c_call_ends},
                                          {"checkpoint_begin", c_checkpoint_begin},
                                          {"checkpoint_end", c_checkpoint_end},
                                          {"is_symbolic", c_is_symbolic},
                                          {"from_data", c_from_data},
                                          {"holds", c_holds},
                                          {"is_known", c_is_known},
                                          {"lanes", c_lanes},
                                          {"scratch_begin", c_scratch_begin},
                                          {"scratch_end", c_scratch_end},
                                          {"changed", c_changed},
                                          {"eagerly", c_eagerly},
                                          {NULL, NULL}};
    tc_define(c, priv->d, internal);
}
