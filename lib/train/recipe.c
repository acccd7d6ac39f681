/* The schema of recipes. See recipe.h. tests/lint compares the keys with those of tc-recipe(5). */
#include "train/recipe.h"

#include "data/data.h"

#include <stddef.h>

#define AT(field) offsetof(tc_recipe, field)
static const tc_yaml_field recipe_fields[] = {
    {"model", TC_Y_STRING, AT(model)},             /* FILE.py:Class; without it the program is read from stdin */
    {"arg", TC_Y_NODE, AT(arg)},                   /* {NAME: EXPR}, or a list of EXPR: constructor arguments */
    {"input", TC_Y_NODE, AT(input)},               /* declared inputs as for tc-export, x=Bx1x28x28xf32; one or a list */
    {"dim", TC_Y_NODE, AT(dim)},                   /* bounds of sizes as for tc-export, B=1..64; one or a list */
    {"source", TC_Y_NODE, AT(source)},             /* folder from which the model file may import */
    {"weights", TC_Y_STRING, AT(weights)},         /* start from these weights */
    {"resume_from", TC_Y_STRING, AT(resume_from)}, /* go on from this checkpoint of PyTorch: weights, the optimiser's state and step, the scheduler */
    {"seed", TC_Y_SEED, AT(seed)},                 /* of the order of samples and of dropout; with model: also of initialisation */
    {"data", TC_Y_NODE, AT(data)},                 /* the training data, or train: and val: with what they share beside them */
    {"steps", TC_Y_INT, AT(steps)},                /* optimiser steps; with epochs the smaller counts */
    {"epochs", TC_Y_INT, AT(epochs)},              /* passes over the training data */
    {"batch", TC_Y_INT, AT(batch)},                /* samples of a micro-batch, over all ranks */
    {"accumulate", TC_Y_INT, AT(accumulate)},      /* micro-batches a step; the loss is their mean */
    {"forward", TC_Y_STRING, AT(forward)},         /* expression for out; default: m of the batch's first columns */
    {"loss", TC_Y_STRING, AT(loss)},               /* expression of out and the batch's names */
    {"metrics", TC_Y_NODE, AT(metrics)},           /* {NAME: expression}: means over the validation data */
    {"param_groups", TC_Y_STRING, AT(param_groups)},       /* expression for groups; default: m.parameters() */
    {"optimizer", TC_Y_STRING, AT(optimizer)},             /* expression of m and groups */
    {"scheduler", TC_Y_STRING, AT(scheduler)},             /* expression of opt and total (the number of steps) */
    {"scheduler_step", TC_Y_STRING, AT(scheduler_step)},   /* what is run after every step; default: scheduler.step(); sees loss and step */
    {"clip_grad_norm", TC_Y_DOUBLE, AT(clip_grad_norm)},   /* greatest norm of all gradients together */
    {"clip_grad_value", TC_Y_DOUBLE, AT(clip_grad_value)}, /* greatest size of each element of a gradient; instead of clip_grad_norm */
    {"ema_decay", TC_Y_DOUBLE, AT(ema_decay)},             /* keep an exponential average of the weights, and validate with it */
    {"swa", TC_Y_NODE, AT(swa_node)}, /* {start: STEP, every: N}: keep the plain average of the weights from there on, and validate with it */
    {"precision", TC_Y_STRING, AT(precision)},   /* float32, float64, or autocast to bfloat16 (bf16) or float16 (f16) */
    {"grad_scaler", TC_Y_NODE, AT(scaler_node)}, /* true, false, or {init_scale: S, growth_factor: G, backoff_factor: B, growth_interval: STEPS} */
    {"backward_autocast", TC_Y_STRING, AT(backward_autocast)}, /* off, or same: the backward runs under the autocast of precision, too */
    {"saved_as", TC_Y_STRING, AT(saved_as)}, /* float8_e5m2 or float8_e4m3fn: the type of tensors saved for the backward, with a scale for each row */
    {"activation_checkpointing", TC_Y_NODE,
     AT(activation_checkpointing)}, /* classes of the model's file (one, a list, or {modules: LIST}) whose modules are computed again in the backward */
    {"functions", TC_Y_STRING, AT(functions)},      /* source in the model language that the expressions may call */
    {"validate", TC_Y_NODE, AT(validate_node)},     /* {every: STEPS, batch: SAMPLES} */
    {"checkpoint", TC_Y_NODE, AT(checkpoint_node)}, /* {every: STEPS, minutes: M, keep_last: N, keep_every: N, keep_best: true, async: true} */
    {"log_every", TC_Y_INT, AT(log_every)},         /* steps between lines of metrics.jsonl */
    {0},
};
#undef AT

static const tc_yaml_field validate_fields[] = {
    {"every", TC_Y_INT, offsetof(tc_recipe_validate, every)}, /* steps between validations; 0: only at the end */
    {"batch", TC_Y_INT, offsetof(tc_recipe_validate, batch)}, /* samples at a time */
    {0},
};
static const tc_yaml_field swa_fields[] = {
    {"start", TC_Y_INT, offsetof(tc_recipe_swa, start)}, /* the weights after this step are the first ones */
    {"every", TC_Y_INT, offsetof(tc_recipe_swa, every)}, /* steps from there to the next ones */
    {0},
};
static const tc_yaml_field scaler_fields[] = {
    {"init_scale", TC_Y_DOUBLE, offsetof(tc_recipe_scaler, init_scale)},         /* of the first step */
    {"growth_factor", TC_Y_DOUBLE, offsetof(tc_recipe_scaler, growth_factor)},   /* of the scale, after growth_interval good steps */
    {"backoff_factor", TC_Y_DOUBLE, offsetof(tc_recipe_scaler, backoff_factor)}, /* of the scale, after a step that was skipped */
    {"growth_interval", TC_Y_INT, offsetof(tc_recipe_scaler, growth_interval)},  /* good steps in a row */
    {0},
};
static const tc_yaml_field checkpoint_fields[] = {
    {"every", TC_Y_INT, offsetof(tc_recipe_checkpoint, every)},           /* steps between checkpoints */
    {"minutes", TC_Y_DOUBLE, offsetof(tc_recipe_checkpoint, minutes)},    /* minutes between checkpoints */
    {"keep_last", TC_Y_INT, offsetof(tc_recipe_checkpoint, keep_last)},   /* how many of the newest stay; 0: all */
    {"keep_every", TC_Y_INT, offsetof(tc_recipe_checkpoint, keep_every)}, /* those of these multiples stay */
    {"keep_best", TC_Y_BOOL, offsetof(tc_recipe_checkpoint, keep_best)},  /* the one with the best validation loss stays */
    {"async", TC_Y_BOOL, offsetof(tc_recipe_checkpoint, async)},          /* written while training goes on */
    {0},
};

static tc_status at_least(const tc_yaml *map, const char *key, int64_t v, int64_t least) {
    const tc_yaml *y = tc_yaml_get(map, key);
    if (v >= least || tc_yaml_is_null(y)) return NULL;
    return tc_yaml_error(y, "found %lld, expected %lld or more", (long long)v, (long long)least);
}

static tc_status check_precision(tc_recipe *r) {
    tc_dtype d = tc_dtype_parse(r->precision, strlen(r->precision));
    if (d != TC_F32 && d != TC_F64 && d != TC_BF16 && d != TC_F16)
        return tc_yaml_error(tc_yaml_get(r->root, "precision"), "found '%s', expected float32, float64, bfloat16 or float16", r->precision);
    r->floats = d == TC_F64 ? TC_F64 : TC_F32;
    r->autocast = d == TC_BF16 || d == TC_F16 ? d : TC_DTYPE_NONE;
    const bool same = !strcmp(r->backward_autocast, "same");
    if (!same && strcmp(r->backward_autocast, "off"))
        return tc_yaml_error(tc_yaml_get(r->root, "backward_autocast"), "found '%s', expected off or same", r->backward_autocast);
    r->backward = same ? r->autocast : TC_DTYPE_NONE;
    r->saved = r->saved_as ? tc_dtype_parse(r->saved_as, strlen(r->saved_as)) : TC_DTYPE_NONE;
    if (r->saved_as && r->saved != TC_F8E5M2 && r->saved != TC_F8E4M3)
        return tc_yaml_error(tc_yaml_get(r->root, "saved_as"), "found '%s', expected float8_e5m2 or float8_e4m3fn", r->saved_as);
    return NULL;
}

static tc_status check_scaler(tc_recipe *r) {
    const tc_yaml *y = r->scaler_node;
    tc_recipe_scaler *k = &r->scaler;
    *k = (tc_recipe_scaler){r->autocast == TC_F16, 65536, 2, 0.5, 2000};
    if (tc_yaml_is_null(y)) return NULL;
    const bool map = y->kind == TC_YAML_MAP;
    k->on = map || (y->kind == TC_YAML_SCALAR && !strcmp(y->text, "true"));
    if (!k->on && (y->kind != TC_YAML_SCALAR || strcmp(y->text, "false")))
        return tc_yaml_error(y, "expected true, false or {init_scale: S, growth_factor: G, backoff_factor: B, growth_interval: STEPS}");
    if (map) TC_TRY(tc_yaml_read(y, scaler_fields, k));
    if (!(k->init_scale > 0 && k->init_scale <= 0x1p127))
        return tc_yaml_error(tc_yaml_get(y, "init_scale"), "found %g, expected a scale", k->init_scale);
    if (!(k->growth_factor > 1)) return tc_yaml_error(tc_yaml_get(y, "growth_factor"), "found %g, expected more than 1", k->growth_factor);
    if (!(k->backoff_factor > 0 && k->backoff_factor < 1))
        return tc_yaml_error(tc_yaml_get(y, "backoff_factor"), "found %g, expected more than 0 and less than 1", k->backoff_factor);
    return at_least(y, "growth_interval", k->growth_interval, 1);
}

static tc_status check_gradients(const tc_recipe *r) {
    const tc_yaml *norm = tc_yaml_get(r->root, "clip_grad_norm"), *value = tc_yaml_get(r->root, "clip_grad_value");
    if (!(r->clip_grad_norm >= 0)) return tc_yaml_error(norm, "found %g, expected a norm, or 0 for none", r->clip_grad_norm);
    if (!(r->clip_grad_value >= 0)) return tc_yaml_error(value, "found %g, expected a size, or 0 for none", r->clip_grad_value);
    if (r->clip_grad_value > 0 && r->clip_grad_norm > 0)
        return tc_yaml_error(value, "gradients are clipped by clip_grad_norm or by clip_grad_value, not by both");
    return NULL;
}

static tc_status check_averages(const tc_recipe *r) {
    const tc_yaml *decay = tc_yaml_get(r->root, "ema_decay");
    if (!(r->ema_decay >= 0 && r->ema_decay < 1)) return tc_yaml_error(decay, "found %g, expected 0 or more and less than 1", r->ema_decay);
    if (tc_yaml_is_null(r->swa_node)) return NULL;
    if (r->ema_decay > 0) return tc_yaml_error(r->swa_node, "weights are averaged by ema_decay or by swa, not by both");
    if (tc_yaml_is_null(tc_yaml_get(r->swa_node, "start"))) return tc_yaml_error(r->swa_node, "expected {start: STEP, every: N}");
    TC_TRY(at_least(r->swa_node, "start", r->swa.start, 1));
    return at_least(r->swa_node, "every", r->swa.every, 1);
}

static tc_status check_metrics(const tc_recipe *r) {
    if (!r->metrics) return NULL;
    if (r->metrics->kind != TC_YAML_MAP) return tc_yaml_error(r->metrics, "expected {NAME: expression}");
    for (int i = 0; i < r->metrics->n; i++) {
        if (r->metrics->items[i]->kind != TC_YAML_SCALAR) return tc_yaml_error(r->metrics->items[i], "expected an expression");
        if (!strcmp(r->metrics->keys[i], "loss")) return tc_yaml_error(r->metrics->items[i], "val_loss is the loss of the recipe; call it otherwise");
    }
    return NULL;
}

static tc_status check(tc_recipe *r) {
    TC_TRY(at_least(r->root, "steps", r->steps, 1));
    TC_TRY(at_least(r->root, "epochs", r->epochs, 1));
    TC_TRY(at_least(r->root, "batch", r->batch, 1));
    TC_TRY(at_least(r->root, "accumulate", r->accumulate, 1));
    TC_TRY(at_least(r->root, "log_every", r->log_every, 1));
    TC_TRY(check_gradients(r));
    TC_TRY(check_averages(r));
    TC_TRY(check_precision(r));
    TC_TRY(check_scaler(r));
    TC_TRY(check_metrics(r));
    TC_TRY(at_least(r->validate_node, "every", r->validate.every, 0));
    TC_TRY(at_least(r->validate_node, "batch", r->validate.batch, 0));
    TC_TRY(at_least(r->checkpoint_node, "every", r->checkpoint.every, 0));
    TC_TRY(at_least(r->checkpoint_node, "keep_last", r->checkpoint.keep_last, 0));
    TC_TRY(at_least(r->checkpoint_node, "keep_every", r->checkpoint.keep_every, 0));
    if (!(r->checkpoint.minutes >= 0))
        return tc_yaml_error(tc_yaml_get(r->checkpoint_node, "minutes"), "found %g, expected 0 or more", r->checkpoint.minutes);
    const struct {
        const char *key;
        const void *value;
    } needed[] = {{"data", r->data}, {"loss", r->loss}, {"optimizer", r->optimizer}};
    for (int i = 0; i < 3; i++)
        if (!needed[i].value) return tc_error(TC_USAGE, "%s: the key '%s' is missing", r->file, needed[i].key);
    const tc_yaml *maps[] = {r->data, tc_yaml_get(r->data, "train"), tc_yaml_get(r->data, "val")};
    for (int i = 0; i < 3; i++)
        if (!tc_yaml_is_null(maps[i]) && maps[i]->kind != TC_YAML_MAP) return tc_yaml_error(maps[i], "expected a map of keys");
    TC_TRY(tc_data_check(r->data));
    if (r->checkpoint.keep_best && tc_yaml_is_null(tc_yaml_get(r->data, "val")))
        return tc_yaml_error(tc_yaml_get(r->checkpoint_node, "keep_best"), "nothing is validated, and none is best: data has no val");
    if (!r->steps && !r->epochs) return tc_error(TC_USAGE, "%s: neither steps nor epochs is given", r->file);
    const tc_yaml *again = r->activation_checkpointing;
    if (!tc_yaml_is_null(again) && !r->model)
        return tc_yaml_error(again, "activation_checkpointing names classes of model:, which is missing; call torch.utils.checkpoint in the model");
    if (again && again->kind == TC_YAML_MAP && !tc_yaml_get(again, "modules"))
        return tc_yaml_error(again, "expected names of classes, or {modules: names}");
    return NULL;
}

tc_status tc_recipe_parse(const char *file, const char *text, size_t len, const char *const *overrides, int noverrides, tc_recipe **out) {
    *out = NULL;
    tc_recipe *r = tc_xcalloc(1, sizeof *r);
    r->file = tc_arena_strdup(&r->arena, file);
    const char *slash = strrchr(file, '/');
    if (slash) r->dir = tc_arena_strndup(&r->arena, file, slash == file ? 1 : (size_t)(slash - file));
    r->accumulate = r->log_every = r->batch = r->swa.every = 1;
    r->precision = "float32";
    r->backward_autocast = "off";
    tc_status s = tc_yaml_parse(&r->arena, file, text, len, &r->root);
    for (int i = 0; i < noverrides && !s; i++) s = tc_yaml_override(&r->arena, r->root, recipe_fields, overrides[i]);
    if (!s) s = tc_yaml_read(r->root, recipe_fields, r);
    if (!s && r->validate_node) s = tc_yaml_read(r->validate_node, validate_fields, &r->validate);
    if (!s && r->swa_node) s = tc_yaml_read(r->swa_node, swa_fields, &r->swa);
    if (!s && r->checkpoint_node) s = tc_yaml_read(r->checkpoint_node, checkpoint_fields, &r->checkpoint);
    if (!s) s = check(r);
    if (s) {
        tc_recipe_free(r);
        return s;
    }
    *out = r;
    return NULL;
}

void tc_recipe_free(tc_recipe *r) {
    if (!r) return;
    tc_arena_free(&r->arena);
    free(r);
}

void tc_recipe_print(const tc_recipe *r, tc_buf *b) { tc_yaml_print(r->root, b); }

static void value_text(const tc_yaml *y, tc_buf *b) {
    if (y) tc_yaml_to_json(y, b);
    else tc_buf_puts(b, "(none)");
}

static void diff_key(const char *key, const tc_yaml *a, const tc_yaml *b, tc_buf *out) {
    tc_buf x = {0}, y = {0};
    value_text(a, &x);
    value_text(b, &y);
    if (strcmp(x.data, y.data)) tc_buf_printf(out, "%s%s: %.200s -> %.200s", out->len ? "\n" : "", key, x.data, y.data);
    tc_buf_free(&x);
    tc_buf_free(&y);
}

void tc_recipe_diff(const tc_recipe *a, const tc_recipe *b, tc_buf *out) {
    for (int i = 0; i < a->root->n; i++) diff_key(a->root->keys[i], a->root->items[i], tc_yaml_get(b->root, a->root->keys[i]), out);
    for (int i = 0; i < b->root->n; i++)
        if (!tc_yaml_get(a->root, b->root->keys[i])) diff_key(b->root->keys[i], NULL, b->root->items[i], out);
}

tc_status tc_recipe_strings(tc_recipe *r, const tc_yaml *y, const char ***out, int *out_n) {
    *out_n = 0;
    if (!y) return NULL;
    bool list = y->kind == TC_YAML_LIST;
    int n = list ? y->n : 1;
    *out = TC_NEWN(&r->arena, const char *, (size_t)n);
    for (int i = 0; i < n; i++) TC_TRY(tc_yaml_string(list ? y->items[i] : y, &(*out)[i]));
    *out_n = n;
    return NULL;
}

const char *tc_recipe_path(tc_recipe *r, const char *name) {
    return r->dir && name[0] != '/' ? tc_arena_printf(&r->arena, "%s/%s", r->dir, name) : name;
}

/* Block, [Block, Head], or {modules: ...}. */
const tc_yaml *tc_recipe_checkpointed(const tc_recipe *r) {
    const tc_yaml *y = r->activation_checkpointing;
    return y && y->kind == TC_YAML_MAP ? tc_yaml_get(y, "modules") : tc_yaml_is_null(y) ? NULL : y;
}
