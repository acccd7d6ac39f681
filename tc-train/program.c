/* Reads the program to train from the recipe's model:, a run directory or stdin, and writes the trained archive. */
#include "cmd/program.h"
#include "cmd/source.h"
#include "tc-train/tool.h"

#include "pass/dce.h"
#include "runtime/runtime.h"

/* Rank 0 reads stdin and broadcasts the bytes. */
static tc_status read_stdin(job *j, tc_blob **out) {
    if (tc_dist_rank(j->dist) == 0) TC_TRY(tc_cmd_read(j->c, "-", "the program", out));
    int64_t n = *out ? (int64_t)(*out)->len : 0;
    TC_TRY(tc_dist_broadcast(j->dist, &n, sizeof n, 0));
    if (!*out) {
        tc_blob *b = tc_xcalloc(1, sizeof *b);
        b->name = tc_xstrdup("stdin of rank 0");
        b->refs = 1;
        b->len = (size_t)n;
        b->data = tc_xmalloc(b->len);
        *out = b;
    }
    return tc_dist_broadcast(j->dist, (*out)->data, (*out)->len, 0);
}

static bool has(const tc_archive *a, const char *name) {
    for (size_t i = 0; i < tc_archive_count(a); i++)
        if (strcmp(tc_archive_name(a, i), name) == 0) return true;
    return false;
}

static tc_status take_archive(job *j, tc_archive *a) {
    if (!has(a, "train")) {
        TC_TRY(tc_cmd_program(j->c, a, &j->train));
        if (tc_archive_count(a) == 1) tc_cmd_note(j->c, "the archive holds one program: it is trained as it is");
        return NULL;
    }
    TC_TRY(tc_cmd_program_named(j->c, a, "train", &j->train));
    for (size_t i = 0; i < tc_archive_count(a); i++)
        if (strcmp(tc_archive_name(a, i), "train")) return tc_cmd_program_named(j->c, a, tc_archive_name(a, i), &j->eval);
    return NULL;
}

/* Applies recipe entries as command-line options: a value, a list, or a map of NAME: VALUE. */
static tc_status give(job *j, const tc_yaml *y, tc_opt_id id) {
    if (y) j->c->given_at[id] = y->argument ? y->file : tc_arena_printf(&j->arena, "%s:%d:%d: %s", y->file, y->line, y->col, y->path);
    for (int i = 0; y && i < (y->kind == TC_YAML_SCALAR ? 1 : y->n); i++) {
        const char *v;
        TC_TRY(tc_yaml_string(y->kind == TC_YAML_SCALAR ? y : y->items[i], &v));
        tc_vec_push(&j->c->values[id], y->kind == TC_YAML_MAP ? tc_arena_printf(&j->arena, "%s=%s", y->keys[i], v) : v);
    }
    return NULL;
}

static void warn(void *self, const char *text) { tc_cmd_note(self, "%s", text); }

/* Loads weights: for a model with load_state_dict hooks, so that the trainer need not load them. */
static tc_status load_changed(job *j, const tc_capture_result *r) {
    tc_program *const both[] = {r->model, r->train};
    for (int i = 0; i < 2; i++)
        if (both[i]) TC_TRY(tc_cmd_weights_changed(j->c, r->stored, r->nstored, both[i]));
    j->recipe->weights = NULL;
    return NULL;
}

/* model: FILE.py:Class, captured as tc-export does. */
static tc_status capture_source(job *j) {
    const tc_recipe *r = j->recipe;
    TC_TRY(give(j, r->arg, TC_OPT_arg));
    TC_TRY(give(j, r->input, TC_OPT_input));
    TC_TRY(give(j, r->dim, TC_OPT_dim));
    TC_TRY(give(j, r->source, TC_OPT_source));
    for (size_t i = 0; i < j->c->values[TC_OPT_source].len; i++)
        j->c->values[TC_OPT_source].data[i] = tc_recipe_path(j->recipe, j->c->values[TC_OPT_source].data[i]);
    tc_vec_push(&j->c->values[TC_OPT_seed], tc_arena_printf(&j->arena, "%llu", (unsigned long long)r->seed));
    const char *path = tc_recipe_path(j->recipe, r->model);
    tc_cmd_source q = {0};
    tc_capture_result result = {0};
    tc_evaluator *v = NULL;
    tc_status s = strchr(r->model, ':') ? tc_cmd_source_open(j->c, path, &q) : NULL;
    if (!s && !q.r.class_name) s = tc_yaml_error(tc_yaml_get(r->root, "model"), "found '%s', expected FILE.py:CLASS", r->model);
    if (!s) s = tc_evaluator_create(&(tc_exec_options){.pool = tc_cmd_pool(j->c), .threads = 1}, &v);
    if (!s) {
        q.r.wide = r->floats == TC_F64; /* dtypes that the source reads from tensors are then those of the run */
        for (size_t i = 0; i < q.inputs.len && q.r.wide; i++)
            if (tc_is_float(q.inputs.data[i].dtype)) q.inputs.data[i].dtype = TC_F64;
        const tc_yaml *again = tc_recipe_checkpointed(r);
        if (again && again->file) q.r.said.checkpoint = tc_yaml_place(&j->arena, again);
        s = tc_recipe_strings(j->recipe, again, (const char ***)&q.r.checkpoint, &q.r.ncheckpoint);
    }
    if (!s) {
        q.r.run = tc_evaluator_eval(v);
        q.r.warn = warn, q.r.warn_self = j->c;
        if (r->weights) {
            tc_vec_push(&j->c->values[TC_OPT_weights], tc_recipe_path(j->recipe, r->weights));
            q.r.stored = tc_cmd_stored, q.r.stored_self = j->c;
        }
        s = tc_capture_source(&q.r, &result);
    }
    if (!s && result.stored) s = load_changed(j, &result);
    tc_capture_stored_free(&result);
    free(result.printed);
    tc_evaluator_destroy(v);
    tc_cmd_source_close(&q);
    if (s) return s;
    j->train = result.train ? result.train : result.model;
    j->eval = result.train ? result.model : NULL;
    tc_dce(j->train, false);
    if (j->eval) tc_dce(j->eval, false);
    return NULL;
}

tc_status job_read_program(job *j) {
    if (j->recipe->model) return capture_source(j);
    tc_archive *a;
    if (j->from_run) {
        TC_TRY(tc_cmd_archive(j->c, tc_arena_printf(&j->arena, "%s/model.pt2", j->from_run), &a));
    } else {
        tc_blob *b = NULL;
        TC_TRY(read_stdin(j, &b));
        tc_status s = tc_cmd_archive_of(j->c, b, &a);
        tc_blob_release(b);
        TC_TRY(s);
    }
    tc_status s = take_archive(j, a);
    tc_archive_close(a);
    return s;
}

tc_status job_write_program(job *j, const char *path) {
    const tc_program *programs[2] = {j->train, NULL};
    int n = 1;
    if (j->eval) {
        programs[0] = j->eval;
        programs[n++] = j->train;
    }
    tc_archive_content content = {.programs = programs, .nprograms = n};
    tc_out *o;
    TC_TRY(tc_cmd_create(j->c, path, true, &o));
    return tc_cmd_finish(j->c, o, tc_archive_write(o, &content));
}
