/* Writes a tc-train checkpoint as a PyTorch training checkpoint (training.h). Parameters are numbered through the optimizer's groups, as in
 * torch.optim's state_dict, where each parameter has its own step. */
#include "tc-ckpt/training.h"

#include "base/json.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    tc_arena arena;
    const tc_content *from;
    TC_VEC(tc_head) heads; /* those of the content, then those made from numbers: learning rates, a step per parameter */
    TC_VEC(double) numbers;
    double step, skipped;  /* skipped: of the steps, those without an update */
    TC_VEC(char *) params; /* names, in the order of the groups */
} training;

static tc_saved_node *node(training *t, int kind, const char *key) {
    tc_saved_node *n = TC_NEW(&t->arena, tc_saved_node);
    n->kind = kind;
    n->key = key;
    return n;
}
static tc_saved_node *add(tc_saved_node *to, tc_saved_node *n) {
    tc_vec_push(&to->items, n);
    return n;
}
/* Makes n a one-element tensor of the given rank, named `key`. */
static void make_number(training *t, tc_saved_node *n, tc_dtype d, int rank, double value) {
    tc_head h = {.name = n->key, .dtype = d, .rank = rank, .same_as = t->heads.len};
    for (int i = 0; i < rank; i++) h.size[i] = 1;
    n->kind = TC_SAVED_TENSOR, n->i = (int64_t)t->heads.len;
    tc_vec_push(&t->heads, h);
    tc_vec_push(&t->numbers, value);
}

/* {"float32": [0.1]}, a tensor of one dimension and element. */
static bool read_number(training *t, tc_saved_node *n) {
    const char *key = n->items.len == 1 ? n->items.data[0]->key : NULL;
    const tc_dtype d = key ? tc_dtype_parse(key, strlen(key)) : TC_DTYPE_NONE;
    if (d == TC_DTYPE_NONE) return false;
    const tc_saved_node *x = n->items.data[0];
    int rank = 0;
    for (; x->kind != TC_SAVED_DICT && x->items.len == 1 && rank < TC_MAX_RANK; x = x->items.data[0]) rank++;
    if (x->kind != TC_SAVED_INT && x->kind != TC_SAVED_FLOAT) return false;
    make_number(t, n, d, rank, x->kind == TC_SAVED_INT ? (double)x->i : x->f);
    return true;
}

/* A JSON value. Lists in the state are tuples in PyTorch (betas), except "params", which become indices. */
static tc_saved_node *read_value(training *t, tc_jread *j, const char *key, bool params) {
    tc_saved_node *n = node(t, TC_SAVED_NONE, key);
    switch (tc_jr_peek(j)) {
    case TC_JR_BOOL: n->kind = TC_SAVED_BOOL, n->i = tc_jr_bool(j); break;
    case TC_JR_NUMBER: n->kind = tc_jr_number(j, &n->i, &n->f) ? TC_SAVED_INT : TC_SAVED_FLOAT; break;
    case TC_JR_STRING:
        n->kind = TC_SAVED_TEXT, n->text = tc_jr_strdup(j, &t->arena);
        if (!params) break;
        tc_vec_push(&t->params, tc_arena_strdup(&t->arena, n->text));
        n->kind = TC_SAVED_INT, n->i = (int64_t)t->params.len - 1;
        break;
    case TC_JR_ARRAY:
        n->kind = params ? TC_SAVED_LIST : TC_SAVED_TUPLE;
        for (tc_jr_array(j); tc_jr_item(j);) add(n, read_value(t, j, NULL, params));
        break;
    case TC_JR_OBJECT:
        n->kind = TC_SAVED_DICT;
        tc_jr_object(j);
        for (tc_str k; tc_jr_member(j, &k);) {
            char *name = tc_arena_strndup(&t->arena, k.s, k.n);
            tc_saved_node *value = add(n, read_value(t, j, name, !strcmp(name, "params")));
            if (tc_parse_i64(name, &value->number)) value->key = NULL; /* the milestones of MultiStepLR */
        }
        if (read_number(t, n)) tc_saved_node_free(n);
        break;
    default: tc_jr_null(j);
    }
    return n;
}

static tc_saved_node *item(const tc_saved_node *of, const char *key) {
    for (size_t i = 0; i < of->items.len; i++)
        if (of->items.data[i]->key && !strcmp(of->items.data[i]->key, key)) return of->items.data[i];
    return NULL;
}

static void add_tensors(training *t, tc_saved_node *to, const char *prefix) {
    size_t n = strlen(prefix);
    for (size_t i = 0; i < t->from->n; i++) {
        const char *name = t->from->heads[i].name;
        if (!strncmp(name, prefix, n)) add(to, node(t, TC_SAVED_TENSOR, name + n))->i = (int64_t)i;
    }
}

/* Adds tensor i of a parameter's state: "exp_avg", or a list item, "old_dirs.3". */
static void add_state_tensor(training *t, tc_saved_node *to, const char *name, size_t i) {
    const char *dot = strchr(name, '.');
    tc_saved_node *x = node(t, TC_SAVED_TENSOR, dot ? NULL : name);
    x->i = (int64_t)i;
    if (!dot) {
        add(to, x);
        return;
    }
    size_t digits = strspn(dot + 1, "0123456789"), place = (size_t)strtoull(dot + 1, NULL, 10);
    if (!digits || dot[1 + digits] || place >= t->from->n) return;
    const char *key = tc_arena_strndup(&t->arena, name, (size_t)(dot - name));
    tc_saved_node *list = item(to, key);
    if (!list) list = add(to, node(t, TC_SAVED_LIST, key));
    while (list->items.len <= place) add(list, node(t, TC_SAVED_NONE, NULL));
    list->items.data[place] = x;
}

static bool has(const training *t, const char *prefix) {
    for (size_t i = 0; i < t->from->n; i++)
        if (!strncmp(t->from->heads[i].name, prefix, strlen(prefix))) return true;
    return false;
}

/* Numbers that JSON lacks are strings there: "Infinity", "NaN". */
static tc_saved_node *as_number(tc_saved_node *n) {
    char *end = NULL;
    const double f = n->kind == TC_SAVED_TEXT ? strtod(n->text, &end) : 0;
    if (end && end > n->text && !*end && !isfinite(f)) n->kind = TC_SAVED_FLOAT, n->f = f;
    return n;
}

/* numbers: non-tensor state by parameter; its items are moved out. */
static void add_state(training *t, tc_saved_node *optimizer, tc_saved_node *numbers) {
    tc_saved_node *state = add(optimizer, node(t, TC_SAVED_DICT, "state"));
    for (size_t k = 0; k < t->params.len; k++) {
        const char *prefix = tc_arena_printf(&t->arena, "optim.state.%s.", t->params.data[k]);
        const size_t n = strlen(prefix);
        tc_saved_node *one = node(t, TC_SAVED_DICT, NULL), *own = numbers ? item(numbers, t->params.data[k]) : NULL;
        one->number = (int64_t)k;
        for (size_t i = 0; i < t->from->n; i++)
            if (!strncmp(t->from->heads[i].name, prefix, n)) add_state_tensor(t, one, t->from->heads[i].name + n, i);
        /* Optimizers with more state than a momentum buffer count steps; those with numbers of their own (LBFGS) have the count among these. */
        bool counts = !own && one->items.len && !(one->items.len == 1 && item(one, "momentum_buffer"));
        for (size_t i = 0; own && i < own->items.len; i++) add(one, as_number(own->items.data[i]));
        if (own) own->items.len = 0;
        if (counts) { /* a tensor each: PyTorch increments them in place */
            make_number(t, add(one, node(t, TC_SAVED_TENSOR, "step")), TC_F32, 0, t->step - t->skipped);
        }
        if (one->items.len) add(state, one);
    }
}

static tc_status stream(void *self, size_t i, tc_sink to) {
    training *t = self;
    if (i < t->from->n) return t->from->stream(t->from->self, i, to);
    char element[16];
    tc_scalar_store(t->heads.data[i].dtype, element, 0, tc_scalar_float(t->numbers.data[i - t->from->n]));
    return to.write(to.self, element, tc_dtype_size(t->heads.data[i].dtype));
}

static tc_status write_tree(training *t, tc_out *o, const char *state, bool *out_is) {
    tc_saved_node *root = node(t, TC_SAVED_DICT, NULL), *groups = NULL, *scheduler = NULL, *scaler = NULL, *numbers = NULL;
    tc_jread j;
    tc_jr_init(&j, "state.json", state, strlen(state));
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "param_groups")) groups = read_value(t, &j, "param_groups", false);
        else if (tc_str_is(key, "scheduler")) scheduler = read_value(t, &j, "scheduler", false);
        else if (tc_str_is(key, "scaler")) scaler = read_value(t, &j, "scaler", false);
        else if (tc_str_is(key, "skipped")) t->skipped = (double)tc_jr_int(&j);
        else if (tc_str_is(key, "optimizer_state")) numbers = read_value(t, &j, NULL, false);
        else tc_jr_skip(&j);
    }
    tc_status st = tc_jr_finish(&j);
    *out_is = !st && groups && groups->items.len;
    if (*out_is) {
        groups->kind = TC_SAVED_LIST;
        add_tensors(t, add(root, node(t, TC_SAVED_DICT, "model")), "model.");
        if (has(t, "ema.")) add_tensors(t, add(root, node(t, TC_SAVED_DICT, "ema")), "ema.");
        if (has(t, "swa.")) add_tensors(t, add(root, node(t, TC_SAVED_DICT, "swa")), "swa.");
        tc_saved_node *optimizer = add(root, node(t, TC_SAVED_DICT, "optimizer"));
        add_state(t, optimizer, numbers);
        add(optimizer, groups);
        if (scheduler) add(root, scheduler);
        for (size_t i = 0; scaler && i < scaler->items.len; i++) as_number(scaler->items.data[i]);
        if (scaler) add(root, scaler);
        add(root, node(t, TC_SAVED_INT, "step"))->i = (int64_t)t->step;
        tc_content c = {.heads = t->heads.data, .n = t->heads.len, .stream = stream, .self = t};
        st = tc_saved_write_tree(o, &c, root);
    }
    if (numbers) tc_saved_node_free(numbers);
    tc_saved_node_free(root);
    return st;
}

tc_status training_write(tc_out *o, const tc_content *content, const char *state, int64_t step, bool *out_is) {
    training t = {.from = content, .step = (double)step};
    for (size_t i = 0; i < content->n; i++) tc_vec_push(&t.heads, content->heads[i]);
    tc_status st = write_tree(&t, o, state, out_is);
    tc_vec_free(&t.heads);
    tc_vec_free(&t.numbers);
    tc_vec_free(&t.params);
    tc_arena_free(&t.arena);
    return st;
}
