/* Checkpoint contents and resuming: weights, optimizer state, numbers of the groups, scheduler, position in the data. The order of samples follows from
 * seed and step, random numbers from seed, step and micro-batch, so neither is stored. */
#include "base/json_write.h"
#include "base/text.h"
#include "capture/torch.h"
#include "ckpt/ckpt.h"
#include "train/internal.h"

static const char OTHERS[] = "optim.others.";

/* ---- saving ---- */

typedef struct {
    tc_trainer *t;
    tc_buf *b;
} writer;

static bool runs_by_operators(C *c, const tc_trainer *t) { return tc_truth(c, tc_getattr(c, t->update, tc_intern(c, "by_operators", 12))); }

static void write_state(C *c, void *ctx) {
    writer *x = ctx;
    tc_trainer *t = x->t;
    tc_json w = {.b = x->b};
    tc_json_object(&w);
    const struct {
        const char *key;
        int64_t value;
    } ints[] = {
        {"step", t->step},           {"total", t->total},    {"seed", (int64_t)t->r->seed}, {"batch", t->r->batch}, {"accumulate", t->r->accumulate},
        {"best_step", t->best_step}, {"skipped", t->skipped}};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        tc_json_key(&w, ints[i].key);
        tc_json_int(&w, ints[i].value);
    }
    tc_json_key(&w, "best");
    tc_json_double(&w, t->best);
    tc_json_key(&w, "groups");
    tc_train_write_value(c, tc_call_method(c, t->update, tc_intern(c, "numbers", 7), 0, NULL), &w);
    tc_json_key(&w, "given");
    tc_json_raw(&w, t->given, strlen(t->given));
    tc_json_key(&w, "param_groups"); /* as PyTorch's own: tc-ckpt convert writes them for it */
    tc_train_write_value(c, tc_call_method(c, t->update, tc_intern(c, "groups", 6), 0, NULL), &w);
    tc_json_key(&w, "optimizer_state"); /* what it holds beside tensors, by parameter */
    tc_train_write_value(c, tc_call_method(c, t->update, tc_intern(c, "state_numbers", 13), 0, NULL), &w);
    if (runs_by_operators(c, t)) {
        tc_json_key(&w, "by_operators"); /* optimizer_state has every 'step' */
        tc_json_bool(&w, true);
    }
    tc_train_list_tensors(c, t, "other_tensors", &t->others); /* scheduler_step may have changed some since the step */
    V others = tc_call_method(c, t->update, tc_intern(c, "other_numbers", 13), 0, NULL);
    if (((dict *)others)->live) {
        tc_json_key(&w, "optimizer_others");
        tc_train_write_value(c, others, &w);
    }
    if (t->scheduler) {
        tc_json_key(&w, "scheduler");
        tc_train_write_value(c, tc_train_schedule(c, t), &w);
    }
    V step = tc_int(c, tc_train_updates(t)), taken = tc_call_method(c, t->update, tc_intern(c, "taken", 5), 1, &step);
    if (taken != c->none) {
        tc_json_key(&w, "averaged");
        tc_train_write_value(c, taken, &w);
    }
    if (t->scaler || t->scale.on) tc_json_key(&w, "scaler");
    if (t->scale.on) tc_train_scaler_write(t, &w);
    else if (t->scaler) tc_json_raw(&w, t->scaler, strlen(t->scaler));
    tc_train_write_position(t, &w);
    tc_json_end(&w);
    tc_buf_putc(x->b, '\n');
}

static const char *average_prefix(const tc_trainer *t) { return t->r->swa.start ? "swa." : "ema."; }

static tc_status add(tc_tensors *all, const char *prefix, const char *name, const char *key, const tc_tensor *x) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%s%s%s%s", prefix, name, key ? "." : "", key ? key : "");
    tc_status s = tc_tensors_add(all, b.data, tc_tensor_share(x));
    tc_buf_free(&b);
    return s;
}

tc_status tc_train_gather(tc_trainer *t, tc_tensors *all, tc_buf *state) {
    tc_status s = NULL;
    for (size_t i = 0; i < t->weights.len && !s; i++) {
        const weight *w = &t->weights.data[i];
        if (w->alias_of < 0 && w->persistent) s = add(all, "model.", w->fqn, NULL, &w->data);
    }
    for (size_t i = 0; i < t->state.len && !s; i++)
        s = add(all, "optim.state.", t->state.data[i].param, t->state.data[i].key, &t->state.data[i].data);
    for (size_t i = 0; i < t->averages.len && !s; i++) s = add(all, average_prefix(t), t->averages.data[i].param, NULL, &t->averages.data[i].data);
    writer x = {t, state};
    if (!s) s = tc_lang_run(t->lang, write_state, &x);
    for (size_t i = 0; i < t->others.len && !s; i++) s = add(all, OTHERS, t->others.data[i].param, NULL, &t->others.data[i].data);
    return s;
}

tc_status tc_train_save(tc_trainer *t, const char *dir) {
    tc_tensors all = {0};
    tc_buf b = {0};
    tc_status s = tc_train_gather(t, &all, &b);
    tc_ckpt_content content = {.tensors = &all, .state = tc_buf_str(&b)};
    if (!s) s = tc_ckpt_save(dir, t->step, content);
    tc_buf_free(&b);
    tc_tensors_deinit(&all);
    return s;
}

/* ---- resuming ---- */

typedef struct {
    tc_trainer *t;
    const tc_ckpt *k;
    const tc_yaml *state;
    const char *path;
} reader;

static V leaf_value(C *c, const tc_yaml *y) {
    static const char *const numbers[] = {"inf", "-inf", "nan"};
    for (size_t i = 0; y->quoted && i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(y->text, numbers[i])) return tc_float(c, strtod(y->text, NULL));
    return tc_train_read_value(c, y, NULL);
}

/* Whether both are of one group, key and index. */
static bool same_setting(C *c, const tc_yaml *theirs, V own) {
    size_t n;
    V *part = tc_items(own, &n);
    int64_t group, index;
    return theirs->kind == TC_YAML_LIST && theirs->n == 4 && theirs->items[0]->text && theirs->items[1]->text && theirs->items[2]->text &&
           tc_parse_i64(theirs->items[0]->text, &group) && tc_parse_i64(theirs->items[2]->text, &index) && group == tc_index(c, part[0], "group") &&
           index == tc_index(c, part[2], "index") && !strcmp(theirs->items[1]->text, tc_as_str(part[1])->s);
}

/* (type's name, dimensions) of the tensor that group `item[0]` has as item[1]; NULL: it is a number there. */
static V tensor_of_group(C *c, const tc_yaml *state, V *item) {
    const tc_yaml *all = tc_yaml_get(state, "param_groups");
    const int64_t g = tc_index(c, item[0], "group");
    if (!all || all->kind != TC_YAML_LIST || g < 0 || g >= all->n || tc_kind_of(item[1]) != K_STR) return NULL;
    const tc_yaml *y = tc_yaml_get(all->items[g], tc_as_str(item[1])->s);
    if (!y || y->kind != TC_YAML_MAP || y->n != 1 || tc_dtype_parse(y->keys[0], strlen(y->keys[0])) == TC_DTYPE_NONE) return NULL;
    int64_t rank = 0;
    for (const tc_yaml *v = y->items[0]; v->kind == TC_YAML_LIST && v->n == 1 && rank < TC_MAX_RANK; v = v->items[0]) rank++;
    return tc_tuple_of(c, 2, tc_strz(c, y->keys[0]), tc_int(c, rank));
}

/* Numbers of the groups. A step may have added some; steps that ran operator by operator may have taken some away as well. */
static void restore_groups(C *c, tc_trainer *t, const tc_yaml *y, const tc_yaml *state) {
    const bool by_operators = tc_yaml_get(state, "by_operators") != NULL;
    size_t n, parts, k = 0;
    V *now = tc_items(tc_call_method(c, t->update, tc_intern(c, "numbers", 7), 0, NULL), &n);
    if (y->kind != TC_YAML_LIST || ((size_t)y->n < n && !by_operators))
        tc_raise(c, "ValueError", "the checkpoint's optimiser has %d settings, the recipe's %zu", y->n, n);
    for (size_t i = 0; i < (size_t)y->n; i++) {
        size_t at = k;
        while (at < n && !same_setting(c, y->items[i], now[at])) at++;
        const bool here = at < n && (at == k || by_operators);
        for (; here && k < at; k++) tc_call_method(c, t->update, tc_intern(c, "take_away", 9), 1, &now[k]);
        V x = tc_train_read_value(c, y->items[i], here ? now[k++] : NULL);
        V *item = tc_kind_of(x) == K_LIST || tc_kind_of(x) == K_TUPLE ? tc_items(x, &parts) : NULL;
        if (!item || parts != 4) tc_raise(c, "ValueError", "the checkpoint's optimiser groups are damaged");
        V made = here ? NULL : tensor_of_group(c, state, item);
        V put[3] = {tc_tuple(c, 3, item), here ? item[3] : leaf_value(c, y->items[i]->items[3]), made ? made : c->none};
        tc_call_method(c, t->update, tc_intern(c, "put_back", 8), 3, put);
    }
    for (; by_operators && k < n; k++) tc_call_method(c, t->update, tc_intern(c, "take_away", 9), 1, &now[k]);
}

V tc_train_schedule(C *c, tc_trainer *t) { return tc_call_method(c, t->update, tc_intern(c, "schedule", 8), 1, &t->scheduler); }

void tc_train_reschedule(C *c, tc_trainer *t, V state) {
    V given[2] = {t->scheduler, state};
    tc_call_method(c, t->update, tc_intern(c, "reschedule", 10), 2, given);
}

static void restore_scheduler(C *c, tc_trainer *t, const tc_yaml *y) {
    tc_train_reschedule(c, t, tc_train_read_value(c, y, tc_train_schedule(c, t)));
}

/* ---- a recipe whose optimiser or scheduler has changed ---- */

void tc_train_remember_given(C *c, tc_trainer *t) {
    V scheduler = t->scheduler ? t->scheduler : c->none;
    tc_buf b = {0};
    tc_json w = {.b = &b};
    tc_train_write_value(c, tc_call_method(c, t->update, tc_intern(c, "given", 5), 1, &scheduler), &w);
    t->given = tc_arena_strndup(&t->arena, b.data, b.len);
    tc_buf_free(&b);
}

/* [(group, key, index, value)] */
static V numbers_of(C *c, const tc_yaml *y) {
    list *out = tc_list(c, 8);
    for (int i = 0; y && y->kind == TC_YAML_LIST && i < y->n; i++) {
        const tc_yaml *e = y->items[i];
        if (e->kind != TC_YAML_LIST || e->n != 4 || e->items[3]->kind != TC_YAML_SCALAR)
            tc_raise(c, "ValueError", "the checkpoint's optimiser groups are damaged");
        V part[4] = {0};
        for (int k = 0; k < 3; k++) part[k] = tc_train_read_value(c, e->items[k], NULL);
        part[3] = leaf_value(c, e->items[3]);
        tc_list_push(c, out, tc_tuple(c, 4, part));
    }
    return (V)out;
}

/* What the checkpoint's run was given; NULL: the same as now. */
static V given_before(C *c, const reader *x) {
    const tc_yaml *was = tc_yaml_get(x->state, "given");
    tc_yaml *is;
    tc_status s = was && was->kind == TC_YAML_MAP ? tc_yaml_parse(&x->t->arena, "given", x->t->given, strlen(x->t->given), &is) : NULL;
    if (s) tc_raise_status(c, "ValueError", s);
    if (!was || was->kind != TC_YAML_MAP) return NULL;
    tc_buf a = {0}, b = {0};
    tc_yaml_to_json(was, &a);
    tc_yaml_to_json(is, &b);
    const bool same = !strcmp(tc_buf_str(&a), tc_buf_str(&b));
    tc_buf_free(&a);
    tc_buf_free(&b);
    if (same) return NULL;
    const tc_yaml *name = tc_yaml_get(was, "optimizer"), *schedule = tc_yaml_get(was, "schedule");
    dict *d = tc_dict(c);
    tc_dict_setc(c, d, "optimizer", name ? tc_train_read_value(c, name, NULL) : c->none);
    tc_dict_setc(c, d, "groups", numbers_of(c, tc_yaml_get(was, "groups")));
    tc_dict_setc(c, d, "schedule", schedule ? tc_train_read_value(c, schedule, x->t->scheduler ? tc_train_schedule(c, x->t) : NULL) : c->none);
    return (V)d;
}

/* The optimiser's state begins anew: its updates are counted from here on. */
static void begin_anew(C *c, reader *x, V before) {
    const char *was = tc_to_str(c, tc_dict_gets(c, (dict *)before, tc_intern(c, "optimizer", 9)))->s;
    x->t->skipped = x->t->step;
    tc_train_note(x->t, "%s: holds the state of %s, the recipe's optimiser is %s, whose state begins with the next step", x->path, was,
                  tc_type_name(c, x->t->opt));
}

/* Numbers of the groups and the scheduler: the checkpoint's, but for what the recipe says otherwise now. */
static void restore_settings(C *c, reader *x) {
    tc_trainer *t = x->t;
    const tc_yaml *groups = tc_yaml_get(x->state, "groups"), *y = tc_yaml_get(x->state, "scheduler");
    const bool by_steps = t->scheduler && !t->r->scheduler_step;
    V before = given_before(c, x);
    V scheduler = t->scheduler ? t->scheduler : c->none;
    V q[3] = {before, scheduler, by_steps ? tc_int(c, t->step) : c->none};
    V changes = before ? tc_call_method(c, t->update, tc_intern(c, "changed", 7), 3, q) : NULL;
    if (groups && !before) restore_groups(c, t, groups, x->state);
    if (y && t->scheduler && !(before && by_steps)) restore_scheduler(c, t, y);
    V p[4] = {before ? numbers_of(c, groups) : NULL, before, changes, scheduler};
    if (before) tc_call_method(c, t->update, tc_intern(c, "change", 6), 4, p);
    if (before && tc_truth(c, tc_call_method(c, t->update, tc_intern(c, "is_another", 10), 1, &before))) begin_anew(c, x, before);
}

/* The parameter whose name begins `name`, before a dot: "h.0.bias" of "h.0.bias.old_dirs.3"; NULL: none. */
static const char *parameter_of(const tc_trainer *t, const char *name) {
    const char *found = NULL;
    for (int p = 0; p < t->nparams; p++) {
        size_t n = strlen(t->param_names[p]);
        if (strncmp(name, t->param_names[p], n) == 0 && name[n] == '.' && (!found || n > strlen(found))) found = t->param_names[p];
    }
    return found;
}

/* What the optimiser's state has beside tensors, to entries. */
static void restore_numbers(C *c, const tc_yaml *state, list *entries) {
    const tc_yaml *numbers = tc_yaml_get(state, "optimizer_state");
    for (int i = 0; numbers && numbers->kind == TC_YAML_MAP && i < numbers->n; i++) {
        const tc_yaml *of = numbers->items[i];
        for (int k = 0; of->kind == TC_YAML_MAP && k < of->n; k++) {
            tc_list_push(c, entries, tc_tuple_of(c, 3, tc_strz(c, numbers->keys[i]), tc_strz(c, of->keys[k]), leaf_value(c, of->items[k])));
        }
    }
}

static V own_copy(C *c, const tc_ckpt *k, size_t i) {
    tc_tensor mapped, own;
    tc_status s = tc_ckpt_tensor(k, i, &mapped);
    if (s) tc_raise_status(c, "ValueError", s);
    s = tc_tensor_clone(&mapped, &own);
    tc_tensor_deinit(&mapped);
    if (s) tc_raise_status(c, "ValueError", s);
    return tc_torch_wrap(c, own, false);
}

static void restore_optimiser(C *c, reader *x) {
    tc_trainer *t = x->t;
    static const char prefix[] = "optim.state.";
    list *entries = tc_list(c, 8);
    restore_numbers(c, x->state, entries);
    for (size_t i = 0; i < tc_ckpt_count(x->k); i++) {
        const char *name = tc_ckpt_name(x->k, i);
        if (strncmp(name, prefix, sizeof prefix - 1)) continue;
        const char *param = parameter_of(t, name + sizeof prefix - 1);
        if (!param) tc_raise(c, "ValueError", "%s: %s belongs to a parameter that the model lacks", x->path, name);
        const char *key = name + sizeof prefix - 1 + strlen(param);
        tc_list_push(c, entries, tc_tuple_of(c, 3, tc_strz(c, param), tc_strz(c, key + 1), own_copy(c, x->k, i)));
    }
    V given[3] = {(V)entries, tc_int(c, tc_train_updates(t)), tc_bool(c, tc_yaml_get(x->state, "by_operators") != NULL)};
    tc_call_method(c, t->update, tc_intern(c, "restore", 7), 3, given);
}

/* What steps that are not captured changed beside the state of parameters. */
static void other_numbers(C *c, const tc_yaml *state, list *entries) {
    const tc_yaml *y = tc_yaml_get(state, "optimizer_others");
    for (int i = 0; y && y->kind == TC_YAML_MAP && i < y->n; i++)
        tc_list_push(c, entries, tc_tuple_of(c, 2, tc_strz(c, y->keys[i]), leaf_value(c, y->items[i])));
}

static void put_others(C *c, tc_trainer *t, list *entries) {
    V given = (V)entries;
    if (entries->n) tc_call_method(c, t->update, tc_intern(c, "restore_others", 14), 1, &given);
}

static void restore_others(C *c, reader *x) {
    list *entries = tc_list(c, 8);
    other_numbers(c, x->state, entries);
    for (size_t i = 0; i < tc_ckpt_count(x->k); i++) {
        const char *name = tc_ckpt_name(x->k, i);
        if (strncmp(name, OTHERS, sizeof OTHERS - 1)) continue;
        tc_list_push(c, entries, tc_tuple_of(c, 2, tc_strz(c, name + sizeof OTHERS - 1), own_copy(c, x->k, i)));
    }
    put_others(c, x->t, entries);
}

static void go_on_averaging(C *c, reader *x) {
    const tc_yaml *y = tc_yaml_get(x->state, "averaged");
    V taken = y ? tc_train_read_value(c, y, NULL) : c->none;
    tc_call_method(c, x->t->update, tc_intern(c, "go_on_averaging", 15), 1, &taken);
}

/* Averages start anew when the checkpoint has none of this kind (ema_decay, swa). */
static void restore_averages(C *c, reader *x) {
    opt_states *all = &x->t->averages;
    size_t found = 0;
    for (size_t i = 0; i < all->len; i++) {
        tc_tensor *to = &all->data[i].data, from;
        const char *name = tc_arena_printf(&x->t->arena, "%s%s", average_prefix(x->t), all->data[i].param);
        int64_t at = tc_ckpt_find(x->k, name);
        if (at < 0) continue;
        tc_status s = tc_ckpt_tensor(x->k, (size_t)at, &from);
        if (s) tc_raise_status(c, "ValueError", s);
        s = tc_train_fits(&from, to, true, name);
        if (!s) memcpy(tc_tensor_data(to), tc_tensor_data(&from), tc_tensor_bytes(to));
        tc_tensor_deinit(&from);
        if (s) tc_raise_status(c, "ValueError", tc_annotate(s, "%s", x->path));
        found++;
    }
    if (found == all->len && found) go_on_averaging(c, x);
    else if (all->len) tc_train_note(x->t, "%s: holds no averages of all weights: they begin with the next step", x->path);
}

static void restore(C *c, void *ctx) {
    reader *x = ctx;
    tc_trainer *t = x->t;
    const tc_yaml *y;
    if ((y = tc_yaml_get(x->state, "best")) && !tc_yaml_is_null(y)) tc_status_free(tc_yaml_double(y, &t->best));
    if ((y = tc_yaml_get(x->state, "best_step"))) tc_status_free(tc_yaml_int(y, &t->best_step));
    if ((y = tc_yaml_get(x->state, "skipped"))) tc_status_free(tc_yaml_int(y, &t->skipped));
    const bool averaged = !t->skipped || tc_train_updates(t) > 0;
    restore_settings(c, x);
    if ((y = tc_yaml_get(x->state, "scaler"))) {
        tc_status s = t->scale.on ? tc_train_scaler_read(t, y) : NULL;
        if (s) tc_raise_status(c, "ValueError", s);
        tc_buf b = {0};
        tc_yaml_to_json(y, &b);
        t->scaler = tc_arena_strndup(&t->arena, b.data, b.len);
        tc_buf_free(&b);
    }
    if (tc_train_updates(t) > 0) restore_optimiser(c, x);
    if (tc_train_updates(t) > 0) restore_others(c, x);
    if (averaged) restore_averages(c, x);
}

static tc_status load_weights(tc_trainer *t, const tc_ckpt *k, const char *path) {
    for (size_t i = 0; i < t->weights.len; i++) {
        weight *w = &t->weights.data[i];
        if (w->alias_of >= 0 || !w->persistent) continue;
        tc_buf name = {0};
        tc_buf_printf(&name, "model.%s", w->fqn);
        int64_t at = tc_ckpt_find(k, name.data);
        tc_buf_free(&name);
        if (at < 0) return tc_error(TC_CONTENT, "%s: the checkpoint is from another model: it lacks model.%s", path, w->fqn);
        tc_tensor x;
        TC_TRY(tc_ckpt_tensor(k, (size_t)at, &x));
        tc_status s = tc_train_fits(&x, &w->data, true, w->fqn);
        if (!s) memcpy(tc_tensor_data(&w->data), tc_tensor_data(&x), tc_tensor_bytes(&x));
        tc_tensor_deinit(&x);
        if (s) return tc_annotate(s, "%s: the checkpoint is from another model", path);
    }
    for (size_t i = 0; i < tc_ckpt_count(k); i++) {
        const char *name = tc_ckpt_name(k, i);
        if (strncmp(name, "model.", 6) == 0 && !tc_trainer_weight(t, name + 6))
            return tc_error(TC_CONTENT, "%s: the checkpoint is from another model: %s is not in this one", path, name);
    }
    return NULL;
}

tc_status tc_trainer_resume(tc_trainer *t, const char *path) {
    tc_ckpt *k;
    TC_TRY(tc_ckpt_open(path, &k), "resuming");
    tc_status s = load_weights(t, k, path);
    if (!s && tc_ckpt_step(k) < 0) s = tc_error(TC_CONTENT, "%s: not a checkpoint of tc-train: no step in checkpoint.json", path);
    if (!s) {
        t->step = t->resumed_from = tc_ckpt_step(k);
        tc_yaml *state; /* JSON is YAML */
        s = tc_yaml_parse(&t->arena, path, tc_ckpt_state(k), strlen(tc_ckpt_state(k)), &state);
        reader x = {.t = t, .k = k, .state = state, .path = path};
        if (!s) s = tc_train_read_position(t, state);
        if (!s) s = tc_lang_run(t->lang, restore, &x);
    }
    if (!s && tc_train_updates(t) > 0) s = tc_train_collect_state(t);
    tc_ckpt_close(k);
    return s;
}

/* ---- renewing the language context during a run ---- */
static void take_over(C *c, void *ctx) {
    reader *x = ctx;
    tc_trainer *t = x->t;
    const tc_yaml *y;
    list *entries = tc_list(c, 8), *averages = tc_list(c, 8), *others = tc_list(c, 8);
    if ((y = tc_yaml_get(x->state, "groups"))) restore_groups(c, t, y, x->state);
    if ((y = tc_yaml_get(x->state, "scheduler")) && t->scheduler) restore_scheduler(c, t, y);
    restore_numbers(c, x->state, entries);
    for (size_t i = 0; i < t->state.len; i++) {
        const opt_state *s = &t->state.data[i];
        tc_list_push(c, entries, tc_tuple_of(c, 3, tc_strz(c, s->param), tc_strz(c, s->key), tc_torch_wrap(c, tc_tensor_share(&s->data), false)));
    }
    V given[3] = {(V)entries, tc_int(c, tc_train_updates(t)), tc_bool(c, tc_yaml_get(x->state, "by_operators") != NULL)};
    tc_call_method(c, t->update, tc_intern(c, "restore", 7), 3, given);
    if (t->never_captured) tc_call_method(c, t->update, tc_intern(c, "go_by_operators", 15), 1, &given[1]);
    other_numbers(c, x->state, others);
    for (size_t i = 0; i < t->others.len; i++)
        tc_list_push(c, others,
                     tc_tuple_of(c, 2, tc_strz(c, t->others.data[i].param), tc_torch_wrap(c, tc_tensor_share(&t->others.data[i].data), false)));
    put_others(c, t, others);
    for (size_t i = 0; i < t->averages.len; i++) tc_list_push(c, averages, tc_torch_wrap(c, tc_tensor_share(&t->averages.data[i].data), false));
    V taken = (V)averages;
    tc_call_method(c, t->update, tc_intern(c, "take_averages", 13), 1, &taken);
    go_on_averaging(c, x);
}

/* A context grows by 16 MiB, or by an eighth of the weights, which a new one initialises again. */
void tc_train_limit_language(tc_trainer *t) {
    size_t bytes = 0;
    for (size_t i = 0; i < t->weights.len; i++) bytes += tc_tensor_bytes(&t->weights.data[i].data);
    t->language_limit = t->lang->arena.used + (bytes / 8 > (size_t)16 << 20 ? bytes / 8 : (size_t)16 << 20);
}

tc_status tc_train_renew_language(tc_trainer *t) {
    tc_buf b = {0};
    tc_arena a = {0};
    writer w = {t, &b};
    reader x = {.t = t, .path = "state"};
    opt_states averages = t->averages; /* the programs hold them */
    tc_status s = tc_lang_run(t->lang, write_state, &w);
    t->averages = (opt_states){0};
    if (!s) s = tc_train_make_language(t);
    tc_train_free_tensors(&t->averages);
    t->averages = averages;
    tc_yaml *state;
    if (!s) s = tc_yaml_parse(&a, "state", tc_buf_str(&b), b.len, &state);
    x.state = s ? NULL : state;
    if (!s) s = tc_lang_run(t->lang, take_over, &x);
    if (!s && tc_train_updates(t) > 0) s = tc_train_collect_state(t);
    if (!s) tc_train_limit_language(t);
    tc_buf_free(&b);
    tc_arena_free(&a);
    return s;
}
