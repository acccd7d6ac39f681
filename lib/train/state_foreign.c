/* Resumes from the optimiser state of a PyTorch checkpoint (`resume_from` of a recipe): moments, step, numbers of the groups, scheduler. */
#include "base/json_write.h"
#include "base/text.h"
#include "capture/torch.h"
#include "ckpt/ckpt.h"
#include "train/internal.h"

typedef struct {
    tc_trainer *t;
    const tc_ckpt *k;
    const char *path, *prefix; /* prefix: "optimizer." */
    const tc_metadata *values;
    size_t nvalues;
    bool restored;
} foreign;

static const tc_yaml *foreign_value(foreign *x, const char *name) {
    tc_yaml *y = NULL;
    for (size_t i = 0; i < x->nvalues; i++)
        if (!strcmp(x->values[i].key, name)) tc_status_free(tc_yaml_parse(&x->t->arena, x->path, x->values[i].value, strlen(x->values[i].value), &y));
    return y;
}

/* Finds the optimizer's prefix: the text before "param_groups.0.params". */
static bool find_optimiser(foreign *x) {
    static const char mark[] = "param_groups.0.params";
    for (size_t i = 0; i < x->nvalues; i++) {
        size_t n = strlen(x->values[i].key), m = sizeof mark - 1;
        if (n < m || strcmp(x->values[i].key + n - m, mark) || (n > m && x->values[i].key[n - m - 1] != '.')) continue;
        x->prefix = tc_arena_strndup(&x->t->arena, x->values[i].key, n - m);
        return true;
    }
    return false;
}

/* Adds the state of the parameter that the file calls `id` to entries; its step to *io_step. */
static void foreign_state(C *c, foreign *x, const char *id, const char *name, list *entries, int64_t *io_step) {
    tc_arena *a = &x->t->arena;
    const char *head = tc_arena_printf(a, "%sstate.%s.", x->prefix, id);
    size_t n = strlen(head);
    const tc_yaml *step = foreign_value(x, tc_arena_printf(a, "%sstep", head)); /* a number, before PyTorch 1.12 */
    int64_t number;
    if (step && step->text && tc_parse_i64(step->text, &number) && number > *io_step) *io_step = number;
    for (size_t i = 0; i < x->nvalues; i++) { /* numbers that are no step count: LBFGS has some */
        const char *key = x->values[i].key + n;
        if (strncmp(x->values[i].key, head, n) || !strcmp(key, "step") || strchr(key, '.')) continue;
        tc_list_push(c, entries,
                     tc_tuple_of(c, 3, tc_strz(c, name), tc_strz(c, key), tc_train_read_value(c, foreign_value(x, x->values[i].key), NULL)));
    }
    for (size_t i = 0; i < tc_ckpt_count(x->k); i++) {
        const char *full = tc_ckpt_name(x->k, i), *key = full + n;
        const char *dot = strchr(key, '.');
        if (strncmp(full, head, n) || (dot && strspn(dot + 1, "0123456789") != strlen(dot + 1))) continue;
        tc_tensor mapped, own;
        tc_status s = tc_ckpt_tensor(x->k, i, &mapped);
        if (!s) s = tc_tensor_clone(&mapped, &own);
        if (s) tc_raise_status(c, "ValueError", s);
        tc_tensor_deinit(&mapped);
        if (!strcmp(key, "step") && tc_tensor_numel(&own) == 1) {
            int64_t made = tc_scalar_to_int(tc_scalar_load(own.dtype, own.storage->data, own.offset));
            if (made > *io_step) *io_step = made;
            tc_tensor_deinit(&own);
            continue;
        }
        tc_list_push(c, entries, tc_tuple_of(c, 3, tc_strz(c, name), tc_strz(c, key), tc_torch_wrap(c, own, false)));
    }
}

/* The value called `name` in place of `old`; NULL: the file has none. A rate may be a tensor of one element. */
static V foreign_leaf(C *c, foreign *x, const char *name, V old) {
    const tc_yaml *y = foreign_value(x, name);
    if (y) return tc_train_read_value(c, y, old);
    for (size_t i = 0; i < tc_ckpt_count(x->k); i++) {
        if (strcmp(tc_ckpt_name(x->k, i), name)) continue;
        tc_tensor t;
        tc_status s = tc_ckpt_tensor(x->k, i, &t);
        if (s) tc_raise_status(c, "ValueError", s);
        const bool number = tc_tensor_numel(&t) == 1;
        const double value = number ? tc_scalar_to_double(tc_scalar_load(t.dtype, t.storage->data, t.offset)) : 0;
        tc_tensor_deinit(&t);
        if (number) return tc_train_like_number(c, value, old);
    }
    return NULL;
}

/* The numbers that the file has under `name`, with their values; old: it has none. */
static V foreign_numbered(C *c, foreign *x, const char *name, V old, bool *any) {
    const size_t n = strlen(name);
    dict *d = NULL;
    for (size_t i = 0; i < x->nvalues; i++) {
        const char *key = x->values[i].key;
        int64_t number;
        if (strncmp(key, name, n) || key[n] != '.' || !tc_parse_i64(key + n + 1, &number)) continue;
        if (!d) d = tc_dict(c), *any = true;
        tc_dict_set(c, d, tc_int(c, number), tc_train_read_value(c, foreign_value(x, key), NULL));
    }
    return d ? (V)d : old;
}

/* `old` with what the file has under `name` in the place of its values, those of dicts and lists inside it too. */
static V foreign_part(C *c, foreign *x, const char *name, V old, bool *any) {
    V found = foreign_leaf(c, x, name, old), key, value;
    if (found) *any = true;
    if (found || (tc_kind_of(old) != K_DICT && tc_kind_of(old) != K_LIST)) return found ? found : old;
    if (tc_kind_of(old) == K_LIST) {
        size_t n;
        V *items = tc_items(old, &n);
        list *l = tc_list(c, n);
        for (size_t i = 0; i < n; i++) tc_list_push(c, l, foreign_part(c, x, tc_arena_printf(&x->t->arena, "%s.%zu", name, i), items[i], any));
        return (V)l;
    }
    if (tc_train_keys_are_numbers((dict *)old)) return foreign_numbered(c, x, name, old, any);
    dict *d = tc_dict(c);
    for (size_t i = 0; tc_dict_next((dict *)old, &i, &key, &value);)
        tc_dict_set(c, d, key, foreign_part(c, x, tc_arena_printf(&x->t->arena, "%s.%s", name, tc_to_str(c, key)->s), value, any));
    return (V)d;
}

/* The numbers of the groups that the file has: learning rate, betas, ... */
static void foreign_numbers(C *c, foreign *x) {
    size_t n, parts;
    V *now = tc_items(tc_call_method(c, x->t->update, tc_intern(c, "numbers", 7), 0, NULL), &n);
    for (size_t i = 0; i < n; i++) {
        V *item = tc_items(now[i], &parts); /* group, key, index, value */
        const int64_t at = tc_index(c, item[2], "index");
        const char *name =
            tc_arena_printf(&x->t->arena, "%sparam_groups.%lld.%s", x->prefix, (long long)tc_index(c, item[0], "group"), tc_as_str(item[1])->s);
        V value = foreign_leaf(c, x, name, item[3]);
        if (at >= 0 && !value) value = foreign_leaf(c, x, tc_arena_printf(&x->t->arena, "%s.%lld", name, (long long)at), item[3]);
        else if (at >= 0) {
            size_t len = 0;
            V *items = tc_kind_of(value) == K_LIST || tc_kind_of(value) == K_TUPLE ? tc_items(value, &len) : NULL;
            value = (size_t)at < len ? items[at] : NULL;
        }
        if (!value || (tc_kind_of(value) != K_INT && tc_kind_of(value) != K_FLOAT)) continue;
        V put[2] = {tc_tuple(c, 3, item), tc_float(c, tc_to_double(c, value))};
        tc_call_method(c, x->t->update, tc_intern(c, "put_back", 8), 2, put);
    }
}

/* A number as JSON text, those of texts too that JSON has none for. */
static bool is_json_number(const char *value) {
    static const char *const others[] = {"\"Infinity\"", "\"-Infinity\"", "\"NaN\""};
    double number;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(value, others[i])) return true;
    return tc_parse_double(value, &number);
}

/* The state of a GradScaler: goes on in a run that scales; kept by others, for converting back to PyTorch. */
static void foreign_scaler(C *c, foreign *x) {
    static const char *const heads[] = {"scaler.", "grad_scaler.", "scaler_state_dict."};
    tc_buf b = {0};
    tc_json w = {.b = &b};
    tc_json_object(&w);
    for (size_t h = 0; h < sizeof heads / sizeof *heads && b.len < 2; h++) /* the first name that it has */
        for (size_t i = 0; i < x->nvalues; i++) {
            const char *key = x->values[i].key, *value = x->values[i].value;
            const size_t n = strlen(heads[h]);
            if (strncmp(key, heads[h], n) || !is_json_number(value)) continue;
            tc_json_key(&w, key + n);
            tc_json_raw(&w, value, strlen(value));
        }
    tc_json_end(&w);
    tc_yaml *y;
    tc_status s = NULL;
    if (b.len > 2) x->t->scaler = tc_arena_strndup(&x->t->arena, b.data, b.len);
    if (b.len > 2 && x->t->scale.on) s = tc_yaml_parse(&x->t->arena, x->path, b.data, b.len, &y);
    if (!s && b.len > 2 && x->t->scale.on) s = tc_train_scaler_read(x->t, y);
    tc_buf_free(&b);
    if (s) tc_raise_status(c, "ValueError", s);
}

static void foreign_scheduler(C *c, foreign *x) {
    static const char *const heads[] = {"scheduler", "lr_scheduler", "lr_schedulers.0", "scheduler_state_dict", "lr_scheduler_state_dict"};
    V old = tc_train_schedule(c, x->t);
    bool any = false;
    for (size_t h = 0; h < sizeof heads / sizeof *heads && !any; h++) {
        V state = foreign_part(c, x, heads[h], old, &any);
        if (any) tc_train_reschedule(c, x->t, state);
    }
}

/* The parameter of group g that the file calls `id`: text is a name, as set_state_dict takes it, a number only an identity, in whose place
 * load_state_dict takes the position. */
static const char *which_parameter(C *c, const foreign *x, size_t g, const tc_yaml *id, const V *names, size_t n, int position) {
    if (id->kind != TC_YAML_SCALAR) tc_raise(c, "ValueError", "%s: group %zu of its optimiser: a parameter is neither number nor name", x->path, g);
    if (!id->quoted) return tc_as_str(names[position])->s;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(tc_as_str(names[i])->s, id->text)) return tc_as_str(names[i])->s;
    tc_raise(c, "ValueError", "%s: group %zu of its optimiser has '%s', the recipe's does not", x->path, g, id->text);
}

static void foreign_restore(C *c, void *ctx) {
    foreign *x = ctx;
    tc_trainer *t = x->t;
    list *entries = tc_list(c, 8);
    size_t ngroups, nparams;
    int64_t step = 0;
    V *groups = tc_items(tc_call_method(c, t->update, tc_intern(c, "groups", 6), 0, NULL), &ngroups);
    for (size_t g = 0; g < ngroups; g++) {
        V *names = tc_items(tc_dict_get(c, (dict *)groups[g], tc_strz(c, "params")), &nparams);
        const tc_yaml *ids = foreign_value(x, tc_arena_printf(&t->arena, "%sparam_groups.%zu.params", x->prefix, g));
        if (!ids || ids->kind != TC_YAML_LIST || (size_t)ids->n != nparams)
            tc_raise(c, "ValueError", "%s: group %zu of its optimiser has %d parameters, the recipe's %zu", x->path, g,
                     ids && ids->kind == TC_YAML_LIST ? ids->n : 0, nparams);
        for (int i = 0; i < ids->n; i++) {
            const char *name = which_parameter(c, x, g, ids->items[i], names, nparams, i);
            foreign_state(c, x, ids->items[i]->text, name, entries, &step);
        }
    }
    if (foreign_value(x, tc_arena_printf(&t->arena, "%sparam_groups.%zu.params", x->prefix, ngroups)))
        tc_raise(c, "ValueError", "%s: its optimiser has more than the recipe's %zu groups", x->path, ngroups);
    static const char *const counts[] = {"step", "global_step"}; /* for optimisers that do not count: SGD */
    for (size_t i = 0; i < 2 && !step; i++) {
        const tc_yaml *y = foreign_value(x, counts[i]);
        if (!y || y->kind != TC_YAML_SCALAR || !tc_parse_i64(y->text, &step) || step < 0) step = 0;
    }
    foreign_numbers(c, x);
    if (t->scheduler) foreign_scheduler(c, x);
    foreign_scaler(c, x);
    t->step = step;
    V given[3] = {(V)entries, tc_int(c, step), c->false_};
    x->restored = entries->n > 0;
    if (x->restored) tc_call_method(c, t->update, tc_intern(c, "restore", 7), 3, given);
    else tc_call_method(c, t->update, tc_intern(c, "begin_at", 8), 1, &given[1]);
}

static tc_status resume_from(tc_trainer *t, const char *path) {
    tc_ckpt *k;
    TC_TRY(tc_ckpt_open(path, &k), "resume_from");
    foreign x = {.t = t, .k = k, .path = path};
    x.values = tc_ckpt_values(k, &x.nvalues);
    tc_status s =
        find_optimiser(&x) ? tc_lang_run(t->lang, foreign_restore, &x) : tc_error(TC_CONTENT, "%s: holds no optimiser's state (param_groups)", path);
    if (!s && t->step >= t->total)
        s = tc_error(TC_USAGE, "%s: its optimiser made %lld steps, the recipe's are %lld", path, (long long)t->step, (long long)t->total);
    if (!s && x.restored) s = tc_train_collect_state(t);
    tc_ckpt_close(k);
    return s;
}

tc_status tc_trainer_resume_from(tc_trainer *t) {
    if (!t->r->resume_from) return NULL;
    tc_buf path = {0};
    if (t->r->dir && t->r->resume_from[0] != '/') tc_buf_printf(&path, "%s/", t->r->dir);
    tc_buf_puts(&path, t->r->resume_from);
    tc_status s = resume_from(t, path.data);
    tc_buf_free(&path);
    return s;
}
