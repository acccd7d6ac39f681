/* Creates a trainer: data, weights, and the model language's objects for the recipe's expressions (train.h). */
#include "capture/ast.h"
#include "capture/torch.h"
#include "ckpt/ckpt.h"
#include "file/weights.h"
#include "train/internal.h"
#include "train/replay.h"

#include <math.h>
#include <stdio.h>

/* Limits on captured nodes: of a model, and per weight of its update. */
enum { MODEL_NODES = 100000, NODES_A_WEIGHT = 256 };

void tc_train_note(tc_trainer *t, const char *fmt, ...) {
    if (!t->o.note) return;
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    t->o.note(t->o.ctx, tc_buf_str(&b));
    tc_buf_free(&b);
}

/* ---- data ---- */

/* A key beside train: and val: that all of them replace would do nothing; an argument may replace so what the recipe's file says. */
static tc_status check_shared(const tc_yaml *data, bool val) {
    const char *const parts[] = {"train", "val"};
    for (int i = 0; i < data->n; i++) {
        const tc_yaml *y = data->items[i], *own = NULL;
        bool replaced = !tc_yaml_is_null(y);
        for (int k = 0; k <= val && replaced; k++) {
            own = tc_yaml_get(tc_yaml_get(data, parts[k]), data->keys[i]);
            replaced = own && (strcmp(y->file, data->file) || !strcmp(own->file, data->file));
        }
        if (replaced) return tc_yaml_error(y, "does nothing: %s own", val ? "train and val have their" : "train has its");
    }
    return NULL;
}

/* Validation goes through in order: keys of its own that state another would do nothing. */
static tc_status check_val(const tc_yaml *val) {
    static const char *const keys[] = {"order", "weights", "num_samples", "replacement"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const tc_yaml *y = tc_yaml_get(val, keys[i]);
        if (tc_yaml_is_null(y) || (!i && y->kind == TC_YAML_SCALAR && !strcmp(y->text, "sequential"))) continue;
        return tc_yaml_error(y, "does nothing: validation goes through in order");
    }
    return NULL;
}

/* batches: true over several ranks: the samples are a micro-batch's first dimension; what is one number a micro-batch is for all ranks. */
static tc_status count_samples(const tc_trainer *t, int64_t *out) {
    const tc_column *first = NULL;
    for (int i = 0; i < t->train->ncols; i++) {
        const tc_column *c = &t->train->col[i];
        if (c->data.rank < 2) continue;
        if (!first) first = c;
        if (c->data.size[1] != first->data.size[1])
            return tc_yaml_error(t->r->data, "micro-batches have %lld of %s and %lld of %s, which ranks cannot share", (long long)first->data.size[1],
                                 first->name, (long long)c->data.size[1], c->name);
    }
    *out = first ? first->data.size[1] : 1;
    return NULL;
}

/* Leaves in stored micro-batches the samples of this rank. */
static tc_status take_samples(const tc_trainer *t) {
    for (int i = 0; i < t->train->ncols; i++) {
        tc_tensor all = t->train->col[i].data;
        if (all.rank < 2) continue;
        int64_t from = all.offset + t->first_sample * all.stride[1];
        all.size[1] = t->local_batch;
        TC_TRY(tc_tensor_view(all.storage, all.dtype, all.rank, all.size, all.stride, from, &t->train->col[i].data));
        tc_tensor_deinit(&all);
    }
    return NULL;
}

static tc_status open_data(tc_trainer *t) {
    tc_recipe *r = t->r;
    tc_data_options o = {.dir = r->dir, .commands = t->o.commands};
    TC_TRY(tc_data_open(tc_data_merge(&t->arena, r->data, "train"), &o, &t->train));
    tc_yaml *val = tc_data_merge(&t->arena, r->data, "val");
    TC_TRY(check_shared(r->data, val != NULL));
    o.train = t->train;
    if (val) TC_TRY(check_val(tc_yaml_get(r->data, "val")));
    if (val) TC_TRY(tc_data_open(val, &o, &t->val));
    if (t->val) t->val->any_order = false; /* means are added in order */
    const int size = tc_dist_size(t->o.dist);
    const bool stored = t->train->kind == TC_DATA_BATCHES;
    t->batch = r->batch;
    if (stored && size > 1) TC_TRY(count_samples(t, &t->batch));
    if (t->batch < size)
        return tc_yaml_error(tc_yaml_get(r->root, "batch") ? tc_yaml_get(r->root, "batch") : r->root, "%lld samples cannot be shared by %d ranks",
                             (long long)t->batch, size);
    /* Slices in the order of ranks; the first ones take one more where they are uneven. */
    int64_t rank = tc_dist_rank(t->o.dist), least = t->batch / size, more = t->batch % size;
    t->local_batch = least + (rank < more);
    t->first_sample = rank * least + (rank < more ? rank : more);
    if (stored && size > 1) TC_TRY(take_samples(t));
    TC_TRY(tc_sampler_init(&t->sampler, t->train, r->batch, r->seed));
    const int64_t micros = t->sampler.per_epoch;
    t->per_epoch = micros > r->accumulate ? micros / r->accumulate : 1;
    t->total = r->steps ? r->steps : INT64_MAX;
    /* A step may take micro-batches of two epochs: only the last ones, too few for a step, are left out. */
    const int64_t steps = r->epochs && r->epochs < INT64_MAX / micros ? r->epochs * micros / r->accumulate : t->total;
    if (steps < t->total) t->total = steps > 1 ? steps : 1;
    return NULL;
}

/* ---- weights ---- */

static bool is_weight(const tc_input *in) { return in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER; }

/* A writable copy in the recipe's precision. */
static tc_status own_copy(const tc_trainer *t, const tc_tensor *from, tc_tensor *out) {
    if (tc_is_float(from->dtype) && t->r->floats == TC_F64) return tc_tensor_cast(from, TC_F64, out);
    return tc_tensor_clone(from, out);
}

static tc_status add_weights(tc_trainer *t, const tc_program *p) {
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (!is_weight(in) || tc_map_find(&t->by_fqn, in->name)) continue;
        weight w = {.fqn = tc_arena_strdup(&t->arena, in->name),
                    .buffer = in->kind == TC_IN_BUFFER,
                    .persistent = in->kind == TC_IN_PARAMETER || in->persistent,
                    .alias_of = -1};
        if (in->alias_of >= 0 && is_weight(&p->inputs[in->alias_of]))
            w.alias_of = (int)(intptr_t)tc_map_find(&t->by_fqn, p->inputs[in->alias_of].name) - 1;
        w.requires_grad = !w.buffer && in->value && in->value->meta.requires_grad;
        if (w.alias_of >= 0) {
            w.data = tc_tensor_share(&t->weights.data[w.alias_of].data);
        } else {
            if (!in->data.storage)
                return tc_status_add(tc_error(TC_USAGE, "the program has no weights: %s is missing", in->name),
                                     "export it with --store-weights=embed, or give weights:");
            TC_TRY(own_copy(t, &in->data, &w.data), "%s", in->name);
        }
        tc_vec_push(&t->weights, w);
        tc_map_set(&t->by_fqn, w.fqn, (void *)t->weights.len);
    }
    return NULL;
}

static weight *find_weight(const tc_trainer *t, const char *fqn) {
    size_t i = (size_t)(uintptr_t)tc_map_find(&t->by_fqn, fqn);
    return i ? &t->weights.data[i - 1] : NULL;
}

const tc_tensor *tc_trainer_weight(const tc_trainer *t, const char *fqn) {
    weight *w = find_weight(t, fqn);
    return w ? &w->data : NULL;
}

tc_status tc_train_fits(const tc_tensor *found, const tc_tensor *want, bool typed, const char *name) {
    bool same = found->rank == want->rank && !memcmp(found->size, want->size, (size_t)want->rank * sizeof *want->size);
    if (same && (!typed || found->dtype == want->dtype)) return NULL;
    tc_buf b = {0}, model = {0};
    tc_tensor_print_type(&b, found);
    tc_tensor_print_type(&model, want);
    tc_status s = tc_error(TC_CONTENT, "%s is %s, the model has %s", name, b.data, model.data);
    tc_buf_free(&b);
    tc_buf_free(&model);
    return s;
}

/* weights: or resume_from: in the recipe. Every weight must be there, no other may be. */
static tc_status load_weights(tc_trainer *t) {
    const char *from_file = t->r->weights ? t->r->weights : t->r->resume_from;
    if (!from_file) return NULL;
    tc_buf path = {0};
    if (t->r->dir && from_file[0] != '/') tc_buf_printf(&path, "%s/", t->r->dir);
    tc_buf_puts(&path, from_file);
    tc_tensors f = {0};
    tc_map wanted = {0}, names = {0};
    for (size_t i = 0; i < t->weights.len; i++) tc_map_set(&wanted, t->weights.data[i].fqn, (void *)1);
    tc_status s = tc_ckpt_weights(path.data, &f);
    if (!s) s = tc_weights_names(&f, &wanted, &(tc_rename){0}, &names);
    for (size_t i = 0; i < t->weights.len && !s; i++) {
        weight *w = &t->weights.data[i];
        size_t at = (size_t)(uintptr_t)tc_map_find(&names, w->fqn);
        const tc_tensor *from = at ? &f.items.data[at - 1].tensor : NULL;
        if (!from && w->alias_of >= 0) continue;
        if (!from && !w->persistent) continue;
        tc_tensor cast;
        if (!from) s = tc_error(TC_CONTENT, "%s: %s is missing", path.data, w->fqn);
        else if ((s = tc_train_fits(from, &w->data, false, w->fqn))) s = tc_annotate(s, "%s", path.data);
        else s = tc_tensor_cast(from, w->data.dtype, &cast);
        if (s) break;
        memcpy(tc_tensor_data(&w->data), tc_tensor_data(&cast), tc_tensor_bytes(&cast));
        tc_tensor_deinit(&cast);
    }
    for (size_t i = 0; i < names.len && !s; i++)
        if (!find_weight(t, names.entries[i].key)) s = tc_error(TC_CONTENT, "%s: %s is not in the model", path.data, names.entries[i].key);
    tc_map_free(&wanted);
    tc_map_free(&names);
    tc_tensors_deinit(&f);
    tc_buf_free(&path);
    return s;
}

tc_status tc_trainer_fill(const tc_trainer *t, tc_program *p) {
    for (int i = 0; i < p->ninputs; i++) {
        if (!is_weight(&p->inputs[i])) continue;
        const weight *w = find_weight(t, p->inputs[i].name);
        tc_dtype want = p->inputs[i].value ? p->inputs[i].value->meta.dtype : w ? w->data.dtype : TC_F32;
        if (!w) continue;
        tc_tensor now;
        if (want != w->data.dtype) TC_TRY(tc_tensor_cast(&w->data, want, &now));
        else now = tc_tensor_share(&w->data);
        tc_tensor_deinit(&p->inputs[i].data);
        p->inputs[i].data = now;
    }
    return NULL;
}

/* ---- objects of the model language ---- */

static V wrap_weight(C *c, const weight *w) {
    tensor *o = (tensor *)tc_torch_wrap(c, tc_tensor_share(&w->data), w->requires_grad);
    o->h.type = w->buffer ? c->torch->buffer_type : c->torch->parameter_type;
    o->persistent = w->persistent;
    return (V)o;
}

/* The V of every input of a program, by index: weights are the shared objects, constants are their own. */
static V *input_objects(tc_trainer *t, const tc_program *p) {
    C *c = t->lang;
    V *all = TC_NEWN(&t->arena, V, (size_t)(p->ninputs ? p->ninputs : 1));
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (is_weight(in)) {
            all[i] = find_weight(t, in->name)->object;
        } else if (in->kind == TC_IN_CONSTANT) {
            tc_tensor own;
            tc_status s = own_copy(t, &in->data, &own);
            if (s) tc_raise_status(c, "RuntimeError", s);
            all[i] = tc_torch_wrap(c, own, false);
        }
    }
    return all;
}

static V class_of(C *c, const char *name) {
    V v = tc_module_attr(c, tc_import(c, "torch._train", true), tc_intern(c, name, strlen(name)));
    if (!v) TC_BUG("torch._train has no %s", name);
    return v;
}

/* The recipe's model: CLASS(arg...) of the model's file, so that m has the classes, methods and submodules that the file gives it; NULL where
 * the program came as an archive, or the model is no module. Its weights are replaced by the run's. */
static V source_module(tc_trainer *t) {
    C *c = t->lang;
    const tc_recipe *r = t->r;
    const char *name = r->model ? strrchr(r->model, ':') : NULL;
    V cls = name && t->file_names ? tc_dict_get(c, t->file_names->d, tc_strz(c, name + 1)) : NULL;
    if (!cls || tc_kind_of(cls) != K_TYPE) return NULL;
    tc_buf b = {0};
    tc_buf_printf(&b, "%s(", name + 1);
    for (int i = 0; r->arg && i < (r->arg->kind == TC_YAML_SCALAR ? 1 : r->arg->n); i++) {
        const tc_yaml *y = r->arg->kind == TC_YAML_SCALAR ? r->arg : r->arg->items[i];
        tc_buf_printf(&b, "%s%s%s%s", i ? ", " : "", r->arg->kind == TC_YAML_MAP ? r->arg->keys[i] : "", r->arg->kind == TC_YAML_MAP ? "=" : "",
                      y->text);
    }
    tc_buf_puts(&b, ")");
    const char *text = tc_arena_strdup(&t->arena, tc_buf_str(&b));
    tc_buf_free(&b);
    return tc_lang_eval(c, t->file_names, NULL, "model", text);
}

/* Map from storage that the initialiser created to the run's storage. */
typedef struct {
    tc_map to;                 /* tc_storage * -> tc_storage * */
    TC_VEC(tc_storage *) from; /* retained meanwhile, so that addresses stay unique */
} moves;
static void note_move(moves *m, const tc_tensor *own, const tc_tensor *run) {
    tc_storage *old = own->storage;
    bool whole = own->dtype == run->dtype && !own->offset && !run->offset && tc_tensor_numel(own) == tc_tensor_numel(run);
    if (!old || !whole || !tc_tensor_is_contiguous(own) || old->bytes > tc_tensor_bytes(own) + ((size_t)2 << 20)) return;
    *tc_map_put(&m->to, (const char *)&old, sizeof old) = run->storage;
    tc_vec_push(&m->from, tc_storage_retain(old));
}
/* Makes every tensor of the language that shares an initial weight's storage share the run's storage instead, so that the initial storage is freed. */
static void move_sharers(C *c, moves *m) {
    for (tensor *x = c->torch->owned; x && m->from.len; x = x->next_owned) {
        tc_storage *old = x->t.storage, *run = old ? tc_map_get(&m->to, (const char *)&old, sizeof old) : NULL;
        if (!run) continue;
        x->t.storage = tc_storage_retain(run);
        tc_storage_release(old);
    }
    for (size_t i = 0; i < m->from.len; i++) tc_storage_release(m->from.data[i]);
    tc_vec_free(&m->from);
    tc_map_free(&m->to);
}

/* The module's own tensor of that name, with the run's memory in place of its own. *missing is set where it has none. */
static V adopt_weight(tc_trainer *t, V of, const weight *w, moves *m, bool *missing) {
    C *c = t->lang;
    V own = tc_call2(c, class_of(c, "tensor_of"), of, tc_strz(c, w->fqn));
    if (!tc_is_tensor(own)) {
        *missing = true;
        return wrap_weight(c, w);
    }
    note_move(m, &((tensor *)own)->t, &w->data);
    tc_torch_forget(c, (tensor *)own);
    ((tensor *)own)->t = tc_tensor_share(&w->data);
    return own;
}

/* "r.yaml:7: loss": where an expression of the recipe stands, for messages; its own line and column follow. */
static const char *place_of(tc_trainer *t, const char *key) {
    const tc_yaml *y = tc_yaml_get(t->r->root, key);
    return y && y->file ? tc_yaml_place(&t->arena, y) : key;
}

static void checkpoint_classes(tc_trainer *t, V made, const char *place) {
    C *c = t->lang;
    const char **names;
    int n;
    tc_status s = tc_recipe_strings(t->r, tc_recipe_checkpointed(t->r), &names, &n);
    if (s) tc_raise_status(c, "RuntimeError", s);
    V all = tc_tuple(c, (size_t)n, NULL);
    for (int i = 0; i < n; i++) ((tuple *)all)->a[i] = tc_strz(c, names[i]);
    V wrap = tc_getattr(c, (V)tc_import(c, "torch.utils.checkpoint", true), tc_intern(c, "wrap_classes", 12));
    tc_call3(c, wrap, made, all, tc_strz(c, place));
}

static void make_model(tc_trainer *t) {
    C *c = t->lang;
    V made = source_module(t);
    bool missing = false;
    moves m = {0};
    list *tensors = tc_list(c, t->weights.len);
    for (size_t i = 0; i < t->weights.len; i++) {
        weight *w = &t->weights.data[i];
        w->object = w->alias_of >= 0 ? t->weights.data[w->alias_of].object : made ? adopt_weight(t, made, w, &m, &missing) : wrap_weight(c, w);
        tc_list_push(c, tensors, tc_tuple_of(c, 4, tc_bool(c, w->buffer), tc_bool(c, w->persistent), tc_strz(c, w->fqn), w->object));
    }
    move_sharers(c, &m);
    /* Under autocast, dtypes that forward reads from tensors differ from those at capture: call the source itself. */
    t->runs_source = made && !missing && t->r->autocast != TC_DTYPE_NONE;
    if (t->runs_source) {
        checkpoint_classes(t, made, place_of(t, "activation_checkpointing"));
        t->m = made;
        return;
    }
    V call = tc_replay_callable(c, t->train_p, input_objects(t, t->train_p), t->eval_p, t->eval_p ? input_objects(t, t->eval_p) : NULL,
                                class_of(c, "tensor_of"));
    if (made) t->m = tc_call2(c, class_of(c, "adopt"), made, call);
    else t->m = tc_call2(c, class_of(c, "Program"), call, (V)tensors);
}

static V expression(tc_trainer *t, const char *key, const char *text) { return tc_lang_eval(t->lang, t->names, NULL, place_of(t, key), text); }

/* An expression of the recipe as a function of the model, the batch's columns and, but for forward, out. */
static V function_of(tc_trainer *t, const char *place, const char *text, bool with_out) {
    tc_buf b = {0};
    tc_buf_puts(&b, "m");
    for (int i = 0; i < t->train->ncols; i++) tc_buf_printf(&b, ", %s", t->train->col[i].name);
    if (with_out) tc_buf_puts(&b, ", out");
    const char *params = tc_arena_strdup(&t->arena, tc_buf_str(&b));
    tc_buf_free(&b);
    return tc_lang_function(t->lang, t->names, place, params, text);
}

/* forward: when the recipe leaves it out: m of the first columns, or of the columns called as the program's inputs. */
static tc_status default_forward(tc_trainer *t) {
    tc_recipe *r = t->r;
    if (r->forward) return NULL;
    tc_buf b = {0};
    tc_buf_puts(&b, "m(");
    int user = 0;
    tc_status s = NULL;
    for (int i = 0; i < t->train_p->ninputs && !s; i++) {
        const tc_input *in = &t->train_p->inputs[i];
        if (in->kind != TC_IN_USER) continue;
        int col = tc_data_find(t->train, in->name);
        if (col < 0) col = user;
        if (col >= t->train->ncols)
            s = tc_status_add(tc_error(TC_USAGE, "%s: the program's input %s has no column in the data", r->file, in->name), "say it with forward:");
        else tc_buf_printf(&b, "%s%s", user ? ", " : "", t->train->col[col].name);
        user++;
    }
    tc_buf_puts(&b, ")");
    r->forward = tc_arena_strdup(&r->arena, b.data);
    tc_buf_free(&b);
    return s;
}

static const ast *tree_of(V function) { return ((func *)function)->sc->expr; }

/* The functions that Micro calls: forward, where something looks at its result or the loss does not call the model, loss and, for validation,
 * the metrics. */
static V micro_module(tc_trainer *t, bool metrics, int64_t parts) {
    C *c = t->lang;
    const tc_recipe *r = t->r;
    list *more = tc_list(c, 4);
    bool out = false;
    V loss = function_of(t, place_of(t, "loss"), r->loss, true), forward = c->none;
    for (int i = 0; metrics && i < t->nmetrics; i++) {
        const tc_yaml *y = r->metrics->items[i];
        V metric = function_of(t, y->file ? tc_yaml_place(&t->arena, y) : r->metrics->keys[i], y->text, true);
        out = out || tc_train_reads(tree_of(metric), "out");
        tc_list_push(c, more, metric);
    }
    if (out || tc_train_reads(tree_of(loss), "out") || !tc_train_calls_model(tree_of(loss))) {
        tc_status s = default_forward(t);
        if (s) tc_raise_status(c, "ValueError", s);
        forward = function_of(t, place_of(t, "forward"), r->forward, false);
    }
    V settings[6] = {t->m, forward, loss, (V)more, tc_int(c, parts), tc_bool(c, t->scale.on && !metrics)};
    return tc_call(c, class_of(c, "Micro"), &(args){.a = settings, .n = 6});
}

/* torch, nn, F and math; the model file's names; functions:. */
static void load_names(tc_trainer *t) {
    C *c = t->lang;
    static const char imports[] = "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n";
    t->names = tc_lang_load(c, "recipe", imports, sizeof imports - 1);
    if (t->r->functions) tc_module_run(c, t->names, tc_file_add(c, place_of(t, "functions"), t->r->functions, strlen(t->r->functions)));
    list *written = tc_list(c, t->names->d->live);
    V key, value;
    for (size_t i = 0; tc_dict_next(t->names->d, &i, &key, &value);) tc_list_push(c, written, key);
    t->written = (V)written;
    const char *source = t->train_p->source_text;
    t->file_names = NULL;
    if (!source) return;
    const char *path = t->train_p->source_file ? t->train_p->source_file : "model.py";
    module *file_names = t->file_names = tc_lang_load_script(c, path, source, strlen(source));
    for (size_t i = 0; tc_dict_next(file_names->d, &i, &key, &value);)
        if (!tc_dict_get(c, t->names->d, key)) tc_dict_set(c, t->names->d, key, value);
    /* The file itself, as `import model` would name it: model.elbo(out, x). */
    const char *stem = tc_path_last(path);
    size_t n = strlen(stem) > 3 && !strcmp(stem + strlen(stem) - 3, ".py") ? strlen(stem) - 3 : strlen(stem);
    V name = (V)tc_intern(c, stem, n);
    if (!tc_dict_get(c, t->names->d, name)) tc_dict_set(c, t->names->d, name, (V)file_names);
}

static void put_name(tc_trainer *t, const char *name, V v) { tc_dict_setc(t->lang, t->names->d, name, v); }

static void check_optimizer(tc_trainer *t) {
    const tc_recipe *r = t->r;
    const ast *e = tc_parse_expr(t->lang, tc_file_add(t->lang, place_of(t, "optimizer"), r->optimizer, strlen(r->optimizer)))->expr;
    if (!r->param_groups || tc_train_reads(e, "groups")) return;
    tc_status s = tc_yaml_error(tc_yaml_get(r->root, "param_groups"), "optimizer does not use groups: %s", r->optimizer);
    tc_raise_status(t->lang, "ValueError", s);
}

static void make_objects(C *c, void *ctx) {
    tc_trainer *t = ctx;
    const tc_recipe *r = t->r;
    load_names(t);
    make_model(t);
    put_name(t, "m", t->m);
    put_name(t, "total", tc_int(c, t->total));
    put_name(t, "per_epoch", tc_int(c, t->per_epoch));
    t->groups = expression(t, "param_groups", r->param_groups ? r->param_groups : "list(m.parameters())");
    put_name(t, "groups", t->groups);
    check_optimizer(t);
    t->opt = expression(t, "optimizer", r->optimizer);
    put_name(t, "opt", t->opt);
    if (!tc_truth(c, expression(t, "optimizer", "hasattr(opt, 'param_groups')")))
        tc_raise(c, "TypeError", "%s: found %s '%s', expected an optimiser of torch.optim or an object with param_groups", place_of(t, "optimizer"),
                 tc_type_name(c, t->opt), r->optimizer);
    t->step_place = place_of(t, r->scheduler_step ? "scheduler_step" : "scheduler");
    if (r->scheduler) {
        t->scheduler = expression(t, "scheduler", r->scheduler);
        put_name(t, "scheduler", t->scheduler);
    }
    V clip = r->clip_grad_norm > 0 ? tc_float(c, r->clip_grad_norm) : c->none;
    V most = r->clip_grad_value > 0 ? tc_float(c, r->clip_grad_value) : c->none;
    V average = r->ema_decay > 0 ? tc_float(c, r->ema_decay) : c->none;
    if (r->swa.start) average = tc_tuple_of(c, 2, tc_int(c, r->swa.start), tc_int(c, r->swa.every));
    V settings[7] = {t->m, t->opt, clip, most, average, (V)t->names->d, t->written};
    args A = {.a = settings, .n = 7};
    t->update = tc_call(c, class_of(c, "Update"), &A);
    tc_train_remember_given(c, t);
    tc_train_take_data(c, t);
    tc_train_set_closure(c, t);
    tc_status s = tc_train_scaler_init(t);
    if (s) tc_raise_status(c, "ValueError", s);
    tc_train_list_tensors(c, t, "averages", &t->averages);
    t->micro = micro_module(t, false, r->accumulate);
    t->eval = micro_module(t, true, 1);
    size_t n;
    V *names = tc_items(tc_getattr(c, t->update, tc_intern(c, "names", 5)), &n);
    t->nparams = (int)n;
    t->param_names = TC_NEWN(&t->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) t->param_names[i] = tc_arena_strdup(&t->arena, tc_as_str(names[i])->s);
}

enum { CALL_STEPS = 50000000 }; /* of the language in each call of what the recipe says */
static void warn(void *self, const char *text) { tc_train_note(self, "%s", text); }
tc_status tc_train_make_language(tc_trainer *t) {
    tc_lang_destroy(t->lang);
    t->lang = NULL;
    tc_lang_options o = {.max_steps = CALL_STEPS, .max_memory = (size_t)4 << 30, .watch = t->train_p->watch};
    o.max_graph_nodes = MODEL_NODES + NODES_A_WEIGHT * t->weights.len;
    const char **folders = NULL;
    int nfolders;
    TC_TRY(tc_recipe_strings(t->r, t->r->source, &folders, &nfolders));
    for (int i = 0; i < nfolders; i++) folders[i] = tc_recipe_path(t->r, folders[i]);
    o.source_dirs = folders, o.nsource_dirs = nfolders;
    TC_TRY(tc_lang_create(&o, &t->lang));
    t->lang->warn = warn, t->lang->warn_self = t;
    t->lang->torch->eval = tc_evaluator_eval(t->evaluator);
    t->lang->torch->gen = &t->eager_gen;
    TC_TRY(tc_lang_run(t->lang, make_objects, t));
    tc_evaluator_forget(t->evaluator); /* frees results of initialisers, which the run's weights replace */
    tc_train_limit_language(t);
    return NULL;
}

static tc_status check_columns(const tc_trainer *t) {
    for (int i = 0; i < t->train->ncols; i++) {
        const char *n = t->train->col[i].name;
        static const char *const taken[] = {"m", "out", "opt", "scheduler", "groups", "total", "torch", "F", "nn", "math"};
        bool good = (*n == '_' || (*n >= 'a' && *n <= 'z') || (*n >= 'A' && *n <= 'Z')) &&
                    strspn(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(n);
        for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) good = good && strcmp(n, taken[k]);
        if (!good) return tc_error(TC_USAGE, "%s: a column is called '%s', expected a name that expressions can use", t->r->file, n);
        if (t->val && tc_data_find(t->val, n) != i)
            return tc_error(TC_USAGE, "%s: the validation data have no column %s at place %d", t->r->file, n, i);
    }
    return NULL;
}

static tc_status setup(tc_trainer *t) {
    tc_recipe *r = t->r;
    TC_TRY(open_data(t), "data");
    TC_TRY(check_columns(t));
    if (r->metrics) {
        t->nmetrics = r->metrics->n;
        t->metric = r->metrics->keys;
    }
    TC_TRY(add_weights(t, t->train_p));
    if (t->eval_p) TC_TRY(add_weights(t, t->eval_p));
    TC_TRY(load_weights(t));
    TC_TRY(tc_trainer_fill(t, t->train_p)); /* their own tensors are not needed any more */
    if (t->eval_p) TC_TRY(tc_trainer_fill(t, t->eval_p));
    tc_exec_options eo = {.pool = t->o.pool, .threads = t->o.pool ? 0 : 1, .numerics = t->o.numerics};
    TC_TRY(tc_evaluator_create(&eo, &t->evaluator));
    tc_generator_seed(&t->eager_gen, r->seed);
    TC_TRY(tc_train_make_language(t));
    TC_TRY(tc_train_build_micro(t));
    if (t->val) TC_TRY(tc_train_build_eval(t));
    else if (r->metrics || r->validate_node)
        tc_train_note(t, "data has no val: nothing is validated%s", r->metrics ? ", and metrics are not computed" : "");
    t->grads = tc_xcalloc((size_t)t->nparams + 1, sizeof *t->grads);
    return NULL;
}

tc_status tc_trainer_create(tc_recipe *r, tc_program *train, tc_program *eval, const tc_train_options *options, tc_trainer **out) {
    *out = NULL;
    tc_trainer *t = tc_xcalloc(1, sizeof *t);
    t->r = r;
    t->o = *options;
    t->train_p = tc_program_retain(train);
    t->eval_p = eval ? tc_program_retain(eval) : NULL;
    t->best = INFINITY;
    t->best_step = t->resumed_from = -1;
    tc_status s = setup(t);
    if (s) {
        tc_trainer_destroy(t);
        return s;
    }
    *out = t;
    return NULL;
}

void tc_trainer_destroy(tc_trainer *t) {
    if (!t) return;
    tc_saver_free(t);
    tc_exec_destroy(t->micro_exec);
    tc_exec_destroy(t->eval_exec);
    tc_exec_destroy(t->update_exec);
    tc_exec_destroy(t->first_exec);
    tc_lang_destroy(t->lang);
    tc_evaluator_destroy(t->evaluator);
    for (size_t i = 0; i < t->weights.len; i++) tc_tensor_deinit(&t->weights.data[i].data);
    tc_train_free_tensors(&t->state);
    tc_train_free_tensors(&t->averages);
    tc_train_free_tensors(&t->others);
    for (int i = 0; t->grads && i < t->nparams; i++) tc_tensor_deinit(&t->grads[i]);
    free(t->grads);
    tc_vec_free(&t->weights);
    tc_vec_free(&t->numbers);
    tc_map_free(&t->by_fqn);
    if (t->loader) tc_loader_abandon(t->loader, t->train);
    else tc_data_close(t->train);
    tc_data_close(t->val);
    tc_sampler_deinit(&t->sampler);
    free(t->numbers_given);
    free(t->taken);
    tc_program_release(t->train_p);
    if (t->eval_p) tc_program_release(t->eval_p);
    free(t->lrs);
    tc_arena_free(&t->arena);
    free(t);
}
