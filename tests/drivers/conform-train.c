/* Conformance of tc-train: the runs of oracle/train, step by step, from their own model.py, init.safetensors and batches.
 * Usage: conform-train FOLDER CORPUS [WORD]. Cases: NAME.f64, NAME.f32 (trace, final weights, optimiser state), NAME.bf16,
 * NAME.checkpointed.f64 and .f32 (the same under activation_checkpointing), optimisers/SETTING (ten steps of every optimiser on mlp, float64), schedulers/SETTING (the rates of forty steps).
 *
 * How close (README.md): float64 1e-9 relative and 1e-12 at step 0; float32 loss 1e-6, norm 1e-5. */
#include "base/json.h"
#include "base/json_write.h"
#include "base/text.h"
#include "base/yaml.h"
#include "ckpt/ckpt.h"
#include "conform.h"
#include "scratch.h"

#include <dirent.h>

#include <math.h>

typedef struct {
    const char *root, *corpus, *only;
    char *tmp;
    tc_arena a;
} session;

typedef struct {
    const char *id, *precision, *suffix, *trace, *final;
    double loss, norm, first, weights;
} flavour;
#define CHECKPOINTED "trace_checkpointed.tsv"
static const flavour flavours[] = {
    {"f64", "float64", "f64", "trace.tsv", "final_f64.safetensors", 1e-9, 1e-9, 1e-12, 1e-9},
    {"f32", "float32", "f32", "trace.tsv", "final.safetensors", 1e-6, 1e-5, 1e-6, 1e-5},
    {"bf16", "bfloat16", "bf16", "trace_bf16_autocast.tsv", "final_bf16_autocast.safetensors", 1e-2, 1e-2, 1e-2, 1e-2},
    {"checkpointed.f64", "float64", "f64", CHECKPOINTED, "final_f64.safetensors", 1e-9, 1e-9, 1e-12, 1e-9},
    {"checkpointed.f32", "float32", "f32", CHECKPOINTED, "final.safetensors", 1e-6, 1e-5, 1e-6, 1e-5},
};

static bool near(double x, double r, double tol) { return fabs(x - r) <= tol * fabs(r) || (isnan(x) && isnan(r)); }

/* ---- tables ---- */
typedef struct {
    row head;
    TC_VEC(row) rows;
    tc_buf text;
} table;

static bool read_table(const char *path, table *t) {
    *t = (table){0};
    tc_status s = tc_file_read(path, 64 << 20, &t->text);
    if (s) {
        tc_status_free(s);
        return false;
    }
    bool first = true;
    for (char *p = t->text.data; p && *p;) {
        char *nl = strchr(p, '\n');
        if (nl) *nl = 0;
        row r = split_row(p);
        if (first) t->head = r;
        else tc_vec_push(&t->rows, r);
        first = false;
        p = nl ? nl + 1 : NULL;
    }
    return true;
}

static double cell(const table *t, size_t i, const char *name) { return strtod(t->rows.data[i].cell[column(&t->head, name)], NULL); }

/* ---- what tc-train wrote ---- */
typedef struct {
    double loss, norm, lr[8];
    int nlr;
} line;
typedef struct {
    TC_VEC(line) lines;
} metrics;

static tc_status read_metrics(const char *path, metrics *m) {
    tc_buf b = {0};
    TC_TRY(tc_file_read(path, 64 << 20, &b));
    tc_status s = NULL;
    for (size_t i = 0; i < b.len && !s;) {
        size_t n = strcspn(b.data + i, "\n");
        tc_jread j;
        line l = {NAN, NAN, {0}, 0};
        tc_jr_init(&j, path, b.data + i, n);
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (tc_str_is(key, "loss")) l.loss = tc_jr_double(&j);
            else if (tc_str_is(key, "grad_norm")) l.norm = tc_jr_double(&j);
            else if (tc_str_is(key, "lr"))
                for (tc_jr_array(&j); tc_jr_item(&j);) {
                    double lr = tc_jr_double(&j);
                    if (l.nlr < 8) l.lr[l.nlr++] = lr;
                }
            else tc_jr_skip(&j);
        }
        s = tc_jr_finish(&j);
        tc_vec_push(&m->lines, l);
        i += n + 1;
    }
    tc_buf_free(&b);
    return s;
}

static bool compare_steps(const metrics *m, const table *t, const char *suffix, const flavour *f, tc_buf *why) {
    char loss[32], norm[32];
    snprintf(loss, sizeof loss, "loss%s", suffix);
    snprintf(norm, sizeof norm, "gradnorm%s", suffix);
    if (m->lines.len < t->rows.len) tc_buf_printf(why, "%zu steps, expected %zu", m->lines.len, t->rows.len);
    for (size_t i = 0; i < t->rows.len && !why->len; i++) {
        const line *l = &m->lines.data[i];
        double tol = i ? f->loss : f->first, tol_norm = i || !strcmp(suffix, "_f32") ? f->norm : f->first;
        if (!near(l->loss, cell(t, i, loss), tol)) tc_buf_printf(why, "step %zu: loss %.17g, expected %.17g", i, l->loss, cell(t, i, loss));
        else if (!near(l->norm, cell(t, i, norm), tol_norm))
            tc_buf_printf(why, "step %zu: gradient norm %.17g, expected %.17g", i, l->norm, cell(t, i, norm));
        for (int k = 0; k < t->head.n && !why->len; k++) {
            int g = strcmp(t->head.cell[k], "lr") == 0 ? 0 : !strncmp(t->head.cell[k], "lr", 2) ? t->head.cell[k][2] - '0' : -1;
            if (g >= 0 && (g >= l->nlr || !near(l->lr[g], strtod(t->rows.data[i].cell[k], NULL), 1e-12)))
                tc_buf_printf(why, "step %zu: lr %.17g, expected %s", i, g < l->nlr ? l->lr[g] : NAN, t->rows.data[i].cell[k]);
        }
    }
    return !why->len;
}

static double difference(const tc_tensor *x, const tc_tensor *r) {
    double worst = 0;
    for (int64_t q = 0, n = tc_tensor_numel(r); q < n; q++) {
        double b = tc_scalar_to_double(tc_scalar_load(r->dtype, tc_tensor_data(r), q)),
               a = tc_scalar_to_double(tc_scalar_load(x->dtype, tc_tensor_data(x), q));
        worst = isnan(a - b) ? INFINITY : fmax(worst, fabs(a - b));
    }
    return worst;
}

/* Tensors of the checkpoint under a prefix against a file: |a - b| <= tol * max|b| (a weight may pass through 0), or at most four times what
 * PyTorch's own runs of two precisions differ there (`other`: the run of the other precision, or NULL), in units of rounding of
 * the precision compared (`unit`): ten steps of Adam magnify the rounding of small gradients, and of those that are 0 but for it (the bias of keys). */
static void compare_tensors(const char *run, const char *prefix, const char *expected, const char *other, double unit, double tol, tc_buf *why) {
    tc_tensors e = {0}, wide = {0};
    tc_arena a = {0};
    if (other) tc_status_free(tc_tensors_load(other, &wide));
    tc_ckpt *k = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/latest", run);
    tc_status s = tc_tensors_load(expected, &e);
    if (!s) s = tc_ckpt_open(path, &k);
    for (size_t i = 0; i < e.items.len && !s && !why->len; i++) {
        const tc_tensor *r = &e.items.data[i].tensor;
        tc_buf name = {0};
        tc_buf_printf(&name, "%s%s", prefix, e.items.data[i].name);
        int64_t at = tc_ckpt_find(k, name.data);
        if (at < 0 && !strcmp(prefix, "ema.")) at = tc_ckpt_find(k, tc_arena_printf(&a, "model.%s", e.items.data[i].name)); /* a buffer */
        tc_tensor x = {0};
        size_t n = strlen(name.data);
        bool step = n > 5 && !strcmp(name.data + n - 5, ".step"); /* a number of state.json here */
        if (at >= 0) s = tc_ckpt_tensor(k, (size_t)at, &x);
        else if (!step) tc_buf_printf(why, "the checkpoint lacks %s", name.data);
        double top = 0, worst = 0;
        int64_t count = at >= 0 && !s ? tc_tensor_numel(r) : 0;
        if (count && tc_tensor_numel(&x) != count) tc_buf_printf(why, "%s has another shape", name.data), count = 0;
        for (int64_t q = 0; q < count; q++) top = fmax(top, fabs(tc_scalar_to_double(tc_scalar_load(r->dtype, tc_tensor_data(r), q))));
        if (count) worst = difference(&x, r);
        const tc_tensor *w = other ? tc_tensors_find(&wide, e.items.data[i].name) : NULL;
        double allowed = fmax(tol * top, w ? 4 * unit * difference(r, w) : 0);
        if (count && worst > allowed) tc_buf_printf(why, "%s differs by %.3g, expected at most %.3g", name.data, worst, allowed);
        tc_tensor_deinit(&x);
        tc_buf_free(&name);
    }
    if (s) tc_buf_puts(why, tc_status_message(s));
    tc_status_free(s);
    tc_ckpt_close(k);
    tc_arena_free(&a);
    tc_tensors_deinit(&e);
    tc_tensors_deinit(&wide);
}

static double squared_distance(const tc_tensor *x, const tc_tensor *r) {
    double sum = 0;
    for (int64_t q = 0, n = tc_tensor_numel(r); q < n; q++) {
        double d =
            tc_scalar_to_double(tc_scalar_load(x->dtype, tc_tensor_data(x), q)) - tc_scalar_to_double(tc_scalar_load(r->dtype, tc_tensor_data(r), q));
        sum += d * d;
    }
    return sum;
}

/* Runs in bfloat16: an optimiser that divides by the size of a gradient turns those that rounding makes positive or negative into steps of
 * either sign, so single weights mean little. All weights together may be as far from PyTorch's as its own float32 run is, twice. */
static void compare_distance(const char *run, const char *expected, const char *other, tc_buf *why) {
    tc_tensors e = {0}, wide = {0};
    tc_ckpt *k = NULL;
    char path[4200], name[512];
    snprintf(path, sizeof path, "%s/latest", run);
    tc_status s = tc_tensors_load(expected, &e);
    if (!s) s = tc_tensors_load(other, &wide);
    if (!s) s = tc_ckpt_open(path, &k);
    double found = 0, own = 0;
    for (size_t i = 0; i < e.items.len && !s && !why->len; i++) {
        const tc_tensor *r = &e.items.data[i].tensor, *w = tc_tensors_find(&wide, e.items.data[i].name);
        snprintf(name, sizeof name, "model.%s", e.items.data[i].name);
        int64_t at = tc_ckpt_find(k, name);
        tc_tensor x = {0};
        if (at >= 0) s = tc_ckpt_tensor(k, (size_t)at, &x);
        if (s) break;
        if (at < 0 || !w || tc_tensor_numel(&x) != tc_tensor_numel(r)) tc_buf_printf(why, "the checkpoint lacks %s", name);
        else found += squared_distance(&x, r), own += squared_distance(w, r);
        tc_tensor_deinit(&x);
    }
    if (!s && !why->len && !(sqrt(found) <= 2 * sqrt(own)))
        tc_buf_printf(why, "the weights are %.3g from PyTorch's, whose own float32 run is at %.3g", sqrt(found), sqrt(own));
    if (s) tc_buf_puts(why, tc_status_message(s));
    tc_status_free(s);
    tc_ckpt_close(k);
    tc_tensors_deinit(&e);
    tc_tensors_deinit(&wide);
}

/* ---- recipes ---- */

static void key_text(tc_json *w, const char *key, const char *value) {
    tc_json_key(w, key);
    tc_json_string(w, value);
}

/* "32x64xf32" for each name in the parentheses of forward, in order. */
static void write_inputs(session *q, tc_json *w, const char *dir, const char *forward) {
    tc_tensors b = {0};
    tc_status s = tc_tensors_load(tc_arena_printf(&q->a, "%s/batches.safetensors", dir), &b);
    tc_json_key(w, "input");
    tc_json_array(w);
    const char *p = strchr(forward, '(');
    while (!s && p && *p && *p != ')') {
        p += strspn(p, "( ,");
        size_t n = strcspn(p, ",)");
        const tc_tensor *t = tc_tensors_find(&b, tc_arena_strndup(&q->a, p, n));
        tc_buf text = {0};
        for (int i = 1; t && i < t->rank; i++) tc_buf_printf(&text, "%lldx", (long long)t->size[i]);
        tc_buf_puts(&text, t ? tc_dtypes[t->dtype].name : "?");
        tc_json_string(w, text.data);
        tc_buf_free(&text);
        p += n;
    }
    tc_json_end(w);
    tc_status_free(s);
    tc_tensors_deinit(&b);
}

/* The constructor's arguments of "Net(64, hidden=(8, 8))": ["64"] and {"hidden": "(8, 8)"} cannot be mixed in a recipe, which PyTorch's
 * keywords allow for: positions alone are a list, keywords alone a map. */
static void write_arguments(session *q, tc_json *w, const char *build) {
    const char *p = strchr(build, '(');
    bool any = false, map = false;
    while (p && *p && p[1] && p[1] != ')') {
        const char *start = p + 1 + strspn(p + 1, " "), *end = start, *equals = NULL;
        for (int depth = 0; *end && (depth || (*end != ',' && *end != ')')); end++) {
            depth += strchr("([{", *end) != NULL;
            depth -= strchr(")]}", *end) != NULL;
            if (!depth && *end == '=' && !equals) equals = end;
        }
        if (!any) {
            map = equals != NULL;
            tc_json_key(w, "arg");
            if (map) tc_json_object(w);
            else tc_json_array(w);
            any = true;
        }
        const char *text = equals ? equals + 1 : start;
        if (map && equals) tc_json_key(w, tc_arena_strndup(&q->a, start, (size_t)(equals - start)));
        tc_json_string(w, tc_arena_strndup(&q->a, text, (size_t)(end - text)));
        p = *end == ',' ? end : NULL;
    }
    if (any) tc_json_end(w);
}

/* "activation_checkpointing": {"modules": ["Block"], ...} of recipe.json. */
static void write_checkpointed(tc_json *w, const tc_yaml *r) {
    const tc_yaml *list = tc_yaml_get(tc_yaml_get(r, "activation_checkpointing"), "modules");
    tc_json_key(w, "activation_checkpointing");
    tc_json_array(w);
    for (int i = 0; i < list->n; i++) tc_json_string(w, list->items[i]->text);
    tc_json_end(w);
}

/* recipe.json as a recipe of tc-train. optimizer NULL: its own. */
static tc_status write_recipe(session *q, const char *dir, const flavour *f, const char *optimizer, const char *path) {
    tc_buf text = {0}, out = {0};
    TC_TRY(tc_file_read(tc_arena_printf(&q->a, "%s/recipe.json", dir), 1 << 20, &text));
    tc_yaml *r;
    tc_status s = tc_yaml_parse(&q->a, dir, text.data, text.len, &r);
    tc_buf_free(&text);
    TC_TRY(s);
    const char *build = "", *forward = "", *v;
    TC_TRY(tc_yaml_string(tc_yaml_get(r, "build"), &build));
    TC_TRY(tc_yaml_string(tc_yaml_get(r, "forward"), &forward));
    tc_json w = {.b = &out};
    tc_json_object(&w);
    key_text(&w, "model", tc_arena_printf(&q->a, "%s/model.py:%.*s", dir, (int)strcspn(build, "("), build));
    write_arguments(q, &w, build);
    write_inputs(q, &w, dir, forward);
    key_text(&w, "weights", tc_arena_printf(&q->a, "%s/init.safetensors", dir));
    key_text(&w, "precision", f->precision);
    if (!strcmp(f->trace, CHECKPOINTED)) write_checkpointed(&w, r);
    tc_json_key(&w, "data");
    tc_json_object(&w);
    key_text(&w, "safetensors", tc_arena_printf(&q->a, "%s/batches.safetensors", dir));
    tc_json_key(&w, "batches");
    tc_json_bool(&w, true);
    tc_json_end(&w);
    static const char *const same[] = {"forward", "loss", "optimizer", "scheduler", "functions", "param_groups"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const tc_yaml *y = tc_yaml_get(r, same[i]);
        if (optimizer && (i == 2 || i == 3 || i == 5)) continue;
        if (tc_yaml_is_null(y) || tc_yaml_string(y, &v) || !strncmp(v, "one group", 9)) continue;
        key_text(&w, same[i], v);
    }
    if (optimizer) key_text(&w, "optimizer", tc_arena_printf(&q->a, "torch.optim.%s", optimizer));
    const tc_yaml *step = tc_yaml_get(r, "scheduler_step");
    if (!optimizer && !tc_yaml_is_null(step) && strstr(step->text, "step(loss)")) key_text(&w, "scheduler_step", "scheduler.step(loss)");
    static const char *const numbers[] = {"seed", "steps", "accumulate", "clip_grad_norm", "ema_decay"};
    for (size_t i = 0; i < 5; i++) {
        const tc_yaml *y = tc_yaml_get(r, numbers[i]);
        if (tc_yaml_is_null(y) || (optimizer && i > 2)) continue;
        tc_json_key(&w, numbers[i]);
        tc_json_raw(&w, y->text, strlen(y->text));
    }
    tc_json_end(&w);
    s = tc_file_write(path, out.data, out.len);
    tc_buf_free(&out);
    return s;
}

/* ---- a case ---- */

/* Trains by a recipe that was written (s: whether it was) into an empty run directory, and reads its metrics. Takes s. */
static verdict run_recipe(session *q, tc_status s, const char *recipe, const char *run, metrics *m, tc_buf *why) {
    tc_buf err = {0};
    verdict v = CASE_FAIL;
    if (!s) s = tc_remove_tree(run);
    if (!s) {
        command c = {0};
        arg(&c, "tc-train");
        arg(&c, "-q");
        arg(&c, "%s", recipe);
        arg(&c, "-o");
        arg(&c, "%s", run);
        v = verdict_of(run_command(&c, NULL, 120, NULL, &err));
        command_free(&c);
        if (v != CASE_PASS) tc_buf_puts(why, tc_buf_str(&err));
        else s = read_metrics(tc_arena_printf(&q->a, "%s/metrics.jsonl", run), m);
    }
    if (s) tc_buf_puts(why, tc_status_message(s)), v = CASE_FAIL;
    tc_status_free(s);
    tc_buf_free(&err);
    return v;
}

static verdict train(session *q, const char *dir, const flavour *f, const char *optimizer, char *run, size_t n, metrics *m, tc_buf *why) {
    snprintf(run, n, "%s/run", q->tmp);
    char *recipe = tc_arena_printf(&q->a, "%s/recipe.yaml", q->tmp);
    return run_recipe(q, write_recipe(q, dir, f, optimizer, recipe), recipe, run, m, why);
}

/* Muon orthogonalises in bfloat16 in every run, where rounding decides: PyTorch's own float64 and float32 runs are 9e-6 apart in the loss and 4e-5
 * in the norm (the corpus's README). */
static bool recipe_says(const char *dir, const char *words) {
    tc_buf text = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/recipe.json", dir);
    tc_status s = tc_file_read(path, 16 << 20, &text);
    bool uses = !s && strstr(tc_buf_str(&text), words);
    tc_status_free(s);
    tc_buf_free(&text);
    return uses;
}

static void trace_case(session *q, const char *name, const flavour *f) {
    char *dir = tc_arena_printf(&q->a, "%s/%s", q->root, name), *id = tc_arena_printf(&q->a, "%s.%s", name, f->id);
    table t;
    if ((q->only && !strstr(id, q->only)) || !read_table(tc_arena_printf(&q->a, "%s/%s", dir, f->trace), &t)) return;
    char run[4096];
    metrics m = {0};
    tc_buf why = {0};
    verdict v = train(q, dir, f, NULL, run, sizeof run, &m, &why);
    if (v == CASE_PASS) {
        flavour own = *f;
        bool muon = recipe_says(dir, "optim.Muon(");
        if (muon) own.loss = fmax(own.loss, 4 * 9e-6), own.norm = fmax(own.norm, 4 * 4e-5); /* the same order */
        /* A float64 run that has float32 parts, whose last bits are each implementation's own: unet is 3.6e-11 off at step 0 (its sin and cos), and
         * Adam makes up to 2.3e-8 of that in the weights behind them; 2^-23 is the rounding of a float32. */
        if (recipe_says(dir, "in float32 also in the float64 run")) own.first = fmax(own.first, own.loss), own.weights = fmax(own.weights, 0x1p-23);
        double unit = muon || strcmp(f->suffix, "f64") ? 1 : 0x1p-29;
        if (compare_steps(&m, &t, tc_arena_printf(&q->a, "_%s", f->suffix), &own, &why)) {
            bool rough = !strcmp(f->suffix, "bf16");
            char *final = tc_arena_printf(&q->a, "%s/%s", dir, f->final);
            if (rough) compare_distance(run, final, tc_arena_printf(&q->a, "%s/final.safetensors", dir), &why);
            else
                compare_tensors(run, "model.", final, tc_arena_printf(&q->a, "%s/final%s.safetensors", dir, strcmp(f->suffix, "f32") ? "" : "_f64"),
                                unit, muon ? 1e-2 : own.weights, &why);
            char *average = tc_arena_printf(&q->a, "%s/ema%s.safetensors", dir, strcmp(f->suffix, "f64") ? "" : "_f64");
            if (!why.len && !rough && access(average, F_OK) == 0)
                compare_tensors(run, "ema.", average, tc_arena_printf(&q->a, "%s/ema%s.safetensors", dir, strcmp(f->suffix, "f32") ? "" : "_f64"),
                                unit, own.weights, &why);
            char *optim = tc_arena_printf(&q->a, "%s/optim_final.safetensors", dir);
            if (!why.len && !strcmp(f->suffix, "f32") && access(optim, F_OK) == 0) compare_tensors(run, "optim.state.", optim, NULL, 1, 1e-3, &why);
        }
        if (why.len) v = CASE_FAIL;
    }
    report(v, q->corpus, id, tc_buf_str(&why));
    tc_buf_free(&why);
}

/* optimisers.tsv: rows of one setting follow one another. */
static void optimiser_cases(session *q) {
    table t;
    if (!read_table(tc_arena_printf(&q->a, "%s/optimisers.tsv", q->root), &t)) return;
    char *dir = tc_arena_printf(&q->a, "%s/mlp", q->root);
    for (size_t i = 0, e; i < t.rows.len; i = e) {
        const char *setting = t.rows.data[i].cell[0];
        table part = {.head = t.head};
        for (e = i; e < t.rows.len && !strcmp(t.rows.data[e].cell[0], setting); e++) tc_vec_push(&part.rows, t.rows.data[e]);
        char *id = tc_arena_printf(&q->a, "optimisers/%s", setting);
        if (q->only && !strstr(id, q->only)) continue;
        char run[4096];
        metrics m = {0};
        tc_buf why = {0};
        flavour f = flavours[0];
        if (!strncmp(setting, "Muon", 4)) f.loss = f.norm = 1e-2;
        verdict v = train(q, dir, &f, setting, run, sizeof run, &m, &why);
        if (v == CASE_PASS && !compare_steps(&m, &part, "_f64", &f, &why)) v = CASE_FAIL;
        report(v, q->corpus, id, tc_buf_str(&why));
        tc_buf_free(&why);
        tc_vec_free(&part.rows);
    }
}

/* schedulers.tsv: the rate that each of forty steps uses, SGD with lr 0.2; ReduceLROnPlateau is fed cos(s / 3) + 1 / (s + 1). */
static verdict scheduler_run(session *q, const char *setting, metrics *m, tc_buf *why) {
    char *dir = tc_arena_printf(&q->a, "%s/mlp", q->root), *recipe = tc_arena_printf(&q->a, "%s/recipe.yaml", q->tmp);
    char *run = tc_arena_printf(&q->a, "%s/run", q->tmp);
    tc_buf out = {0};
    tc_json w = {.b = &out};
    tc_json_object(&w);
    key_text(&w, "model", tc_arena_printf(&q->a, "%s/model.py:Net", dir));
    write_inputs(q, &w, dir, "m(x)");
    tc_json_key(&w, "data");
    tc_json_object(&w);
    key_text(&w, "safetensors", tc_arena_printf(&q->a, "%s/batches.safetensors", dir));
    tc_json_key(&w, "batches");
    tc_json_bool(&w, true);
    tc_json_end(&w);
    key_text(&w, "forward", "m(x)");
    key_text(&w, "loss", "1e-6 * F.cross_entropy(out, y)");
    key_text(&w, "optimizer", "torch.optim.SGD(m.parameters(), lr=0.2, momentum=0.9)");
    key_text(&w, "functions", "S = torch.optim.lr_scheduler\n");
    key_text(&w, "scheduler", tc_arena_printf(&q->a, "S.%s", setting));
    if (!strncmp(setting, "Reduce", 6)) key_text(&w, "scheduler_step", "scheduler.step(math.cos((step - 1) / 3) + 1 / step)");
    tc_json_key(&w, "steps");
    tc_json_int(&w, 40);
    tc_json_end(&w);
    tc_status s = tc_file_write(recipe, out.data, out.len);
    tc_buf_free(&out);
    return run_recipe(q, s, recipe, run, m, why);
}

static void scheduler_cases(session *q) {
    table t;
    if (!read_table(tc_arena_printf(&q->a, "%s/schedulers.tsv", q->root), &t)) return;
    for (size_t i = 0, e; i < t.rows.len; i = e) {
        const char *setting = t.rows.data[i].cell[0];
        for (e = i; e < t.rows.len && !strcmp(t.rows.data[e].cell[0], setting); e++) continue;
        char *id = tc_arena_printf(&q->a, "schedulers/%s", setting);
        if (q->only && !strstr(id, q->only)) continue;
        metrics m = {0};
        tc_buf why = {0};
        verdict v = scheduler_run(q, setting, &m, &why);
        for (size_t k = i; k < e && v == CASE_PASS; k++) {
            double want = cell(&t, k, "lr"), found = k - i < m.lines.len && m.lines.data[k - i].nlr ? m.lines.data[k - i].lr[0] : NAN;
            if (near(found, want, 1e-12)) continue;
            tc_buf_printf(&why, "step %zu: lr %.17g, expected %.17g", k - i, found, want);
            v = CASE_FAIL;
        }
        report(v, q->corpus, id, tc_buf_str(&why));
        tc_buf_free(&why);
        tc_vec_free(&m.lines);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: conform-train FOLDER CORPUS [WORD]\n"), 2;
    char tmp[256];
    if (!scratch_folder(tmp, sizeof tmp, "conform-train")) return 1;
    session q = {.root = argv[1], .corpus = argv[2], .only = argc > 3 ? argv[3] : NULL, .tmp = tmp};
    struct dirent **entry;
    int n = scandir(q.root, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) { /* folders without traces have no flavour */
        for (size_t k = 0; k < sizeof flavours / sizeof *flavours && entry[i]->d_name[0] != '.'; k++) trace_case(&q, entry[i]->d_name, &flavours[k]);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    optimiser_cases(&q);
    scheduler_cases(&q);
    tc_status_free(tc_remove_tree(tmp));
    tc_arena_free(&q.a);
    return 0;
}
