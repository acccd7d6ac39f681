/* Runs load_state_dict hooks of a model that merge or rename tensors, and modules with their own _load_from_state_dict (load_hooks.h). */
#include "capture/load_hooks.h"

#include "capture/torch.h"
#include "capture/undrawn.h"

typedef struct {
    C *c;
    list *pairs;
} taken;

static void take(void *to, const char *name, const tc_tensor *t) {
    taken *k = to;
    tc_list_push(k->c, k->pairs, tc_tuple_of(k->c, 2, tc_strz(k->c, name), tc_value_of_tensor(k->c, t, false)));
}

static V function(C *c, const char *name) { return tc_module_attr(c, tc_import(c, "torch.nn.module", true), tc_intern(c, name, strlen(name))); }

/* Key and value of a pair of a state dict. */
static V pair(C *c, V of, V *out_value) {
    size_t n;
    V *a = tc_items(of, &n);
    if (n != 2 || tc_kind_of(a[0]) != K_STR) tc_raise(c, "TypeError", "a key of a state_dict is a '%s', expected a str", tc_type_name(c, a[0]));
    *out_value = a[1];
    return a[0];
}

void tc_capture_run_load_hooks(C *c, V m, const tc_capture_request *r, tc_capture_result *out) {
    if (!r->stored || tc_kind_of(m) != K_OBJECT || !m->attrs || !tc_dict_gets(c, m->attrs, c->n__modules)) return;
    if (!tc_truth(c, tc_call1(c, function(c, "_changes_stored"), m))) return;
    taken k = {c, tc_list(c, 64)};
    V state = tc_call_method(c, m, tc_intern(c, "state_dict", 10), 0, NULL), key, value;
    tc_map own = {0};
    for (size_t i = 0; tc_dict_next((dict *)state, &i, &key, &value);) tc_map_set(&own, tc_as_str(key)->s, (void *)1);
    tc_status st = r->stored(r->stored_self, &own, take, &k);
    tc_map_free(&own);
    if (st) tc_raise_status_at(c, "OSError", st, NULL);
    list *changed = (list *)tc_call2(c, function(c, "_change_stored"), m, (V)k.pairs);
    tc_undrawn_settle(c);
    out->stored = tc_xcalloc(changed->n + 1, sizeof *out->stored);
    for (size_t i = 0; i < changed->n; i++) {
        key = pair(c, changed->a[i], &value);
        const tc_tensor *t = tc_tensor_of_value(value);
        if (!t) tc_raise(c, "TypeError", "%s of the state_dict is a '%s', expected a Tensor", tc_as_str(key)->s, tc_type_name(c, value));
        tc_capture_stored *s = &out->stored[out->nstored++];
        s->name = tc_xstrdup(tc_as_str(key)->s);
        s->tensor = tc_tensor_share(t);
    }
}

void tc_capture_stored_free(tc_capture_result *r) {
    for (size_t i = 0; i < r->nstored; i++) {
        free(r->stored[i].name);
        tc_tensor_deinit(&r->stored[i].tensor);
    }
    free(r->stored);
    r->stored = NULL, r->nstored = 0;
}
