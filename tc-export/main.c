/* tc-export: reads a model source, an ONNX model or a program; writes a program, an ONNX model or a printed graph. */
#include "cmd/program.h"
#include "cmd/source.h"
#include "onnx/write.h"
#include "pass/dce.h"
#include "capture/profile.h"
#include "capture/torch.h"
#include "reproduce.h"
#include "draft.h"
#include "report.h"
#include "transform.h"
#include "verify.h"
#include "runtime/runtime.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum { TO_PT2, TO_DOT, TO_TEXT, TO_ONNX } format;
static const tc_cmd_form formats[] = {{"pt2", ".pt2"}, {"dot", ".dot"}, {"text", ".txt.text"}, {"onnx", ".onnx"}, {0}};

static void warn(void *self, const char *text) { tc_cmd_note(self, "%s", text); }

/* ---- writing ---- */
static tc_status choose(tc_cmd *c, format *out) {
    const char *path = tc_cmd_get(c, TC_OPT_out);
    int to;
    TC_TRY(tc_cmd_format(c, formats, path, -1, &to));
    *out = to >= 0 ? (format)to : TO_PT2;
    const char *shown = tc_cmd_has(c, TC_OPT_print) ? "--print" : tc_cmd_has(c, TC_OPT_summary) ? "--summary" : NULL;
    if (!shown) return NULL;
    if (to >= 0 && to != TO_TEXT) return tc_usage(c, "%s gives text: it does not go with %s", shown, tc_cmd_has(c, TC_OPT_to) ? "--to" : path);
    *out = TO_TEXT;
    return NULL;
}

/* Refuses options of another format. ONNX holds one program: the first of two modes; --partition and --split are refused. */
static tc_status check_format(tc_cmd *c, format to, const programs *all) {
    if (to != TO_ONNX && tc_cmd_has(c, TC_OPT_opset)) return tc_usage(c, "--opset needs --to onnx");
    if (to != TO_PT2 && tc_cmd_has(c, TC_OPT_meta)) return tc_usage(c, "--meta needs --to pt2");
    if (to != TO_PT2 && tc_cmd_has(c, TC_OPT_to_device)) return tc_usage(c, "--to-device needs --to pt2");
    if (to == TO_ONNX && all->len > 1 && (tc_cmd_has(c, TC_OPT_split) || tc_cmd_has(c, TC_OPT_partition)))
        return tc_usage(c, "an ONNX model holds one program, these are %zu: write a .pt2 and take one of it with --model", all->len);
    return NULL;
}

/* --to-device: sets every program's device name; cpu: none. */
static tc_status name_device(tc_cmd *c, const programs *all) {
    const char *named = tc_cmd_get(c, TC_OPT_to_device);
    if (!named) return NULL;
    size_t length;
    if (!tc_torch_device_parse(named, &length))
        return tc_usage(c, "--to-device %s: expected one of %s, or with a number: cuda:1", named, tc_torch_device_types);
    for (size_t i = 0; i < all->len; i++) all->data[i]->device = strcmp(named, "cpu") ? tc_arena_strdup(&all->data[i]->arena, named) : NULL;
    return NULL;
}

enum { PRINT_SHORT, PRINT_FULL, PRINT_JSON, PRINT_MODULES };
static tc_status print_form(tc_cmd *c, int *out) {
    static const char *const forms[] = {"short", "full", "json", "modules", NULL};
    *out = PRINT_SHORT;
    return tc_cmd_get(c, TC_OPT_print) ? tc_cmd_choice(c, TC_OPT_print, forms, 0, out) : NULL;
}

/* --print=json: one line per program. */
static tc_status print_json(tc_buf *b, const tc_program *p) {
    TC_TRY(tc_pt2_write_program(p, b));
    tc_buf_putc(b, '\n');
    return NULL;
}

static void log_topics(const tc_cmd *c, const tc_program *p) {
    tc_buf b = {0};
    const bool shapes = tc_cmd_logs(c, "shapes"), guards = tc_cmd_logs(c, "guards");
    if (shapes || guards) tc_program_print_guards(&b, p);
    tc_cmd_log_text(c, "guards", false, tc_buf_str(&b), b.len);
    if (guards && !c->log_files) b.len = 0; /* once on stderr */
    if (shapes) report_shapes(&b, p);
    tc_cmd_log_text(c, "shapes", false, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
}

/* --store-weights=extern: the weights go to FILE.onnx.data beside FILE.onnx. */
static tc_status write_onnx(tc_cmd *c, tc_out *o, const tc_program *p, int opset) {
    static const char *const stores[] = {"embed", "extern", NULL};
    const char *to = tc_cmd_get(c, TC_OPT_out), *slash = to ? strrchr(to, '/') : NULL;
    int store = 0;
    TC_TRY(tc_cmd_choice(c, TC_OPT_store_weights, stores, 0, &store));
    if (!store) return tc_onnx_write(o, p, opset, TC_VERSION, NULL);
    if (!to || !strcmp(to, "-")) return tc_usage(c, "--store-weights=extern needs -o FILE.onnx: the weights go to FILE.onnx.data beside it");
    tc_buf path = {0};
    tc_buf_printf(&path, "%s.data", to);
    tc_onnx_data_file data = {.location = path.data + (slash ? slash + 1 - to : 0)};
    tc_status st = tc_cmd_create(c, path.data, true, &data.o);
    if (!st) st = tc_onnx_write(o, p, opset, TC_VERSION, &data);
    if (!st) st = tc_out_sync(data.o);
    if (!st) st = tc_out_sync(o); /* write the weights only once the model is safely on disk */
    st = tc_cmd_finish(c, data.o, st);
    tc_buf_free(&path);
    return st;
}

static tc_status put_onnx(tc_cmd *c, const tc_program *p) {
    tc_out *o;
    int64_t opset;
    TC_TRY(tc_cmd_int(c, TC_OPT_opset, TC_ONNX_OPSET_MIN, TC_ONNX_OPSET_MAX, TC_ONNX_OPSET_DEFAULT, &opset));
    TC_TRY(tc_cmd_create(c, tc_cmd_get(c, TC_OPT_out), true, &o));
    return tc_cmd_finish(c, o, write_onnx(c, o, p, (int)opset));
}

static tc_status put_text(tc_cmd *c, const programs *all, format to, int form) {
    tc_buf b = {0};
    tc_status st = NULL;
    for (size_t i = 0; i < all->len && !st; i++) {
        tc_program *p = all->data[i];
        if (tc_cmd_has(c, TC_OPT_summary)) report_summary(&b, p);
        else if (to == TO_DOT) tc_program_print_dot(&b, p);
        else if (form == PRINT_MODULES) report_modules(&b, p);
        else if (form == PRINT_JSON) st = print_json(&b, p);
        else tc_program_print(&b, p, form == PRINT_FULL ? TC_PRINT_FULL : TC_PRINT_SHORT);
    }
    if (!st) st = tc_cmd_write_text(c, tc_cmd_get(c, TC_OPT_out), &b);
    tc_buf_free(&b);
    return st;
}

/* --verify: the path of the ONNX model to compare with; *out: NULL without the option. */
static tc_status verified_path(const tc_cmd *c, format to, const char **out) {
    const char *named = tc_cmd_get(c, TC_OPT_verify), *written = tc_cmd_get(c, TC_OPT_out);
    *out = NULL;
    if (!tc_cmd_has(c, TC_OPT_verify)) return NULL;
    if (to != TO_ONNX) return tc_usage(c, "--verify runs an ONNX model: --to onnx");
    if (!named && (!written || !strcmp(written, "-"))) return tc_usage(c, "--verify needs -o FILE.onnx, which is read back");
    *out = named ? named : written;
    return NULL;
}

/* Writes the programs. from: the archive that they were read from, or NULL. */
static tc_status put(tc_cmd *c, tc_archive *from, programs *all) {
    for (size_t i = 0; i < all->len; i++) log_topics(c, all->data[i]);
    format to = TO_PT2;
    int form;
    TC_TRY(transform_programs(c, all));
    TC_TRY(choose(c, &to));
    TC_TRY(check_format(c, to, all));
    TC_TRY(name_device(c, all));
    TC_TRY(print_form(c, &form));
    tc_program *const *p = all->data;
    int n = (int)all->len;
    const char *verified;
    TC_TRY(verified_path(c, to, &verified));
    if (to == TO_PT2) return tc_cmd_write_archive(c, from, (tc_archive_content){.programs = (const tc_program *const *)p, .nprograms = n});
    if (to != TO_ONNX) return put_text(c, all, to == TO_DOT, form);
    warn_of_sides(c, all, p[0], "an ONNX model holds one program");
    TC_TRY(put_onnx(c, p[0])); /* the inference program comes first */
    return verified ? verify_onnx(c, p[0], verified, from != NULL) : NULL;
}

/* ---- from a model source ---- */
/* Makes the train program share the eval program's tensors, so that they are written once. Both list them in about the same order: each search starts
 * where the last one ended. */
static void share_weights(tc_program *to, const tc_program *from) {
    int at = 0;
    for (int i = 0; i < to->ninputs; i++) {
        tc_input *in = &to->inputs[i];
        for (int k = 0; k < from->ninputs && in->data.storage; k++, at++) {
            if (at >= from->ninputs) at = 0;
            const tc_input *other = &from->inputs[at];
            if (!other->data.storage || in->kind != other->kind || strcmp(in->name, other->name)) continue;
            tc_tensor t = tc_tensor_share(&other->data);
            tc_tensor_deinit(&in->data);
            in->data = t;
            at++;
            break;
        }
    }
}

static tc_status list_classes(tc_cmd *c, tc_cmd_source *q) {
    tc_buf b = {0};
    TC_TRY(tc_capture_list(&q->r, &b));
    tc_status st = tc_usage(c, "%s: which class? Write %s:CLASS", q->r.path, q->r.path);
    const char *p = tc_buf_str(&b);
    while (*p) {
        size_t n = strcspn(p, "\n");
        st = tc_status_add(st, "  %.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
    tc_buf_free(&b);
    return st;
}

/* --keep-going: prints one line per failure, in compiler format (FILE:LINE:COL). */
static void list_failures(tc_cmd *c, tc_capture_result *r) {
    for (size_t i = 0; i < r->nfailures; i++) {
        if (c->json) tc_cmd_report(c, r->failures[i]);
        else {
            fprintf(stderr, "%s\n", tc_status_message(r->failures[i]));
            tc_status_free(r->failures[i]);
        }
    }
    free(r->failures);
}

/* --time: before the line of totals. */
static void print_profile(const tc_cmd *c, tc_profile *p) {
    tc_buf b = {0};
    if (p) tc_profile_print(p, &b);
    if (b.len) tc_cmd_say(c, "where the time went"), tc_cmd_show(stderr, b.data, b.len);
    tc_buf_free(&b);
    tc_profile_destroy(p);
}

/* Preserves the signatures of the modules of --preserve-signature and --swap, which needs the order of their inputs. */
static void preserve(const tc_cmd *c, tc_cmd_source *q) {
    const int asked = tc_cmd_count(c, TC_OPT_preserve_signature), swapped = tc_cmd_count(c, TC_OPT_swap);
    const char **names = TC_NEWN(&q->arena, const char *, (size_t)(asked + swapped) + 1);
    for (int i = 0; i < asked; i++) names[i] = tc_cmd_value(c, TC_OPT_preserve_signature, i);
    int n = asked;
    for (int i = 0; i < swapped; i++) {
        const char *spec = tc_cmd_value(c, TC_OPT_swap, i), *eq = strchr(spec, '=');
        if (eq) names[n++] = tc_arena_strndup(&q->arena, spec, (size_t)(eq - spec)); /* one without is refused where it is done */
    }
    q->r.preserve = names, q->r.npreserve = n;
}

/* --joint gives the gradients of the inputs: as if each had requires_grad, so that an autograd.Function of an input keeps its backward. */
static void differentiable_inputs(tc_cmd_source *q) {
    for (size_t i = 0; i < q->inputs.len; i++) {
        tc_capture_input *in = &q->inputs.data[i];
        const tc_dtype d = in->example.storage ? in->example.dtype : in->dtype;
        in->requires_grad = in->writable = in->kind == TC_INPUT_TENSOR && (tc_is_float(d) || tc_is_complex(d));
    }
}

/* --ranks, --rank */
static tc_status ranks(tc_cmd *c, tc_lang_options *o) {
    int64_t n, r = -1;
    if (!tc_cmd_has(c, TC_OPT_ranks)) return tc_cmd_has(c, TC_OPT_rank) ? tc_usage(c, "--rank needs --ranks N") : NULL;
    TC_TRY(tc_cmd_int(c, TC_OPT_ranks, 1, 1 << 20, 1, &n));
    if (tc_cmd_has(c, TC_OPT_rank)) TC_TRY(tc_cmd_int(c, TC_OPT_rank, 0, n - 1, 0, &r));
    o->ranks = (int)n, o->rank = (int)r;
    return NULL;
}

/* Does the output hold the values of weights, or a step before it need them? */
static bool reads_weights(tc_cmd *c) {
    const char *store = tc_cmd_get(c, TC_OPT_store_weights);
    format to = TO_PT2;
    tc_status st = choose(c, &to);
    bool reads = !st && (to == TO_ONNX || (to == TO_PT2 && !(store && !strcmp(store, "none"))));
    tc_status_free(st);
    for (size_t i = 0; i < NTRANSFORM_OPTIONS; i++) reads |= tc_cmd_has(c, transform_options[i].id);
    return reads;
}

static tc_status from_source(tc_cmd *c, const char *operand) {
    tc_cmd_source q = {0};
    tc_capture_result r = {0};
    tc_evaluator *v = NULL;
    draft d;
    tc_status st =
        tc_cmd_has(c, TC_OPT_model) ? tc_usage(c, "--model chooses a program of an archive; %s is a source: FILE.py:CLASS", operand) : NULL;
    if (!st) st = tc_cmd_source_open(c, operand, &q);
    if (!st) st = ranks(c, &q.r.limits);
    if (!st) st = tc_evaluator_create(&(tc_exec_options){.pool = tc_cmd_pool(c), .threads = 1}, &v);
    if (!st) {
        q.r.run = tc_evaluator_eval(v);
        q.r.warn = warn, q.r.warn_self = c;
        q.r.eval_suffices = q.r.undrawn = true;
        q.r.weights = tc_cmd_has(c, TC_OPT_weights);
        if (q.r.weights) q.r.stored = tc_cmd_stored, q.r.stored_self = c;
        q.r.sides = TC_CMD_SIDES;
        /* not for the gradient of a loss by the parameters: training has inputs that require none */
        if (tc_cmd_has(c, TC_OPT_joint) && (!tc_cmd_get(c, TC_OPT_joint) || tc_cmd_has(c, TC_OPT_grad_of))) differentiable_inputs(&q);
        preserve(c, &q);
        q.r.keep_going = tc_cmd_has(c, TC_OPT_keep_going);
        if (tc_cmd_has(c, TC_OPT_time)) q.r.profile = tc_profile_create(c->started);
        if (tc_cmd_has(c, TC_OPT_draft)) st = draft_start(c, &q, &d);
        if (!st) st = q.r.class_name ? tc_capture_source(&q.r, &r) : list_classes(c, &q);
    }
    if (v) tc_evaluator_forget(v); /* before weights are loaded */
    tc_cmd_phase(c, "capturing");
    if (r.printed && !c->quiet) tc_cmd_show(stderr, r.printed, strlen(r.printed));
    list_failures(c, &r);
    if (!st && tc_cmd_has(c, TC_OPT_draft)) st = draft_report(c, operand, &r);
    free(r.draft);
    programs all = {0};
    if (r.model) tc_vec_push(&all, r.model);
    if (r.train) tc_vec_push(&all, r.train);
    for (size_t i = 0; i < r.nothers; i++) tc_vec_push(&all, r.others[i]);
    free(r.others);
    tc_program *const *p = all.data;
    for (size_t i = 0; i < all.len && !st; i++) {
        tc_pass pass = tc_pass_begin(p[i], "dce", "dce");
        tc_dce(p[i], false);
        st = tc_pass_end(&pass, p[i], NULL);
        if (i) share_weights(p[i], p[0]); /* before names change */
    }
    bool loaded = tc_cmd_get(c, TC_OPT_weights) != NULL;
    if (loaded) tc_profile_phase(q.r.profile, "loading weights");
    for (size_t i = 0; i < all.len && !st; i++) {
        if (i == 0 && r.stored) st = tc_cmd_weights_changed(c, r.stored, r.nstored, p[0]);
        else if (i == 0 || !loaded) st = tc_cmd_weights(c, p[i]);
        if (i && loaded) share_weights(p[i], p[0]);
    }
    tc_profile_phase(q.r.profile, "drawing initial values");
    if (!st && reads_weights(c)) st = tc_undrawn_draw(r.undrawn, q.r.run, all.data, all.len);
    tc_undrawn_free(r.undrawn);
    tc_evaluator_destroy(v);
    tc_profile_phase(q.r.profile, "writing");
    if (!st) st = put(c, NULL, &all);
    print_profile(c, q.r.profile);
    release_programs(&all);
    tc_capture_stored_free(&r);
    free(r.printed);
    tc_cmd_source_close(&q);
    return st;
}

/* ---- from a program ---- */
/* An ONNX model that branches on sizes has a program for each side, unless --input gives the sizes or what is made of it is of one program. */
static int sides_of_onnx(tc_cmd *c) {
    format to;
    tc_status st = choose(c, &to);
    bool one = st || to == TO_ONNX || tc_cmd_has(c, TC_OPT_input);
    tc_status_free(st);
    for (size_t i = 0; i < NTRANSFORM_OPTIONS; i++) one |= transform_options[i].step != DECOMPOSE && tc_cmd_has(c, transform_options[i].id);
    return one ? 0 : TC_CMD_SIDES;
}

static tc_status from_archive(tc_cmd *c, const char *path) {
    static const tc_opt_id only[] = {TC_OPT_dim,        TC_OPT_arg,   TC_OPT_args,           TC_OPT_source,
                                     TC_OPT_keep_going, TC_OPT_draft, TC_OPT_profile_shapes, TC_OPT_preserve_signature,
                                     TC_OPT_seed,       TC_OPT_ranks, TC_OPT_rank,           TC_OPT_input};
    tc_archive *a;
    c->onnx_sides = sides_of_onnx(c);
    TC_TRY(tc_cmd_archive(c, path, &a));
    programs all = {0};
    tc_arena again = {0};
    tc_status st = NULL;
    bool onnx = !tc_archive_zip(a); /* ONNX: inputs may be given by value */
    for (size_t i = 0; i < sizeof only / sizeof *only - onnx; i++)
        if (!st && tc_cmd_has(c, only[i]))
            st = tc_usage(
                c,
                "%s is a program, not a source: --input, --dim, --arg, --args, --source, --seed, --ranks, --rank, --keep-going, --profile-shapes, "
                "--preserve-signature and --draft are for FILE.py:CLASS",
                path);
    const char *wanted = NULL;
    if (!st) st = tc_cmd_wanted(c, a, &wanted);
    for (size_t i = 0; !st && i < tc_archive_count(a); i++) {
        const char *name = tc_archive_name(a, i);
        if (wanted && strcmp(wanted, name)) continue;
        tc_program *p;
        st = tc_cmd_program_named(c, a, name, &p);
        if (!st) tc_vec_push(&all, p);
    }
    tc_program *none; /* reports the programs that the archive has */
    if (!st && !all.len) st = tc_cmd_program_named(c, a, wanted, &none);
    if (!st && !onnx) st = reproduce_crash(c, a, &again, &all);
    if (!st) st = put(c, a, &all);
    release_programs(&all);
    tc_arena_free(&again);
    tc_archive_close(a);
    return st;
}

static bool is_source(const char *operand) {
    const char *colon = strrchr(operand, ':');
    size_t n = colon && !strchr(colon, '/') ? (size_t)(colon - operand) : strlen(operand);
    return n > 3 && !strncmp(operand + n - 3, ".py", 3);
}

static tc_status run(tc_cmd *c) {
    const char *operand = c->noperands ? c->operands[0] : "-";
    TC_TRY(tc_cmd_ops(c));
    return is_source(operand) ? from_source(c, operand) : from_archive(c, operand);
}

static const tc_opt_id options[] = {TC_OPT_input,
                                    TC_OPT_dim,
                                    TC_OPT_arg,
                                    TC_OPT_args,
                                    TC_OPT_source,
                                    TC_OPT_weights,
                                    TC_OPT_rename,
                                    TC_OPT_select,
                                    TC_OPT_store_weights,
                                    TC_OPT_meta,
                                    TC_OPT_mode,
                                    TC_OPT_model,
                                    TC_OPT_seed,
                                    TC_OPT_ranks,
                                    TC_OPT_rank,
                                    TC_OPT_keep_going,
                                    TC_OPT_draft,
                                    TC_OPT_decompose,
                                    TC_OPT_joint,
                                    TC_OPT_partition,
                                    TC_OPT_grad_of,
                                    TC_OPT_saved_as,
                                    TC_OPT_jvp,
                                    TC_OPT_split,
                                    TC_OPT_swap,
                                    TC_OPT_preserve_signature,
                                    TC_OPT_print,
                                    TC_OPT_summary,
                                    TC_OPT_to,
                                    TC_OPT_out,
                                    TC_OPT_opset,
                                    TC_OPT_profile_shapes,
                                    TC_OPT_verify,
                                    TC_OPT_dump,
                                    TC_OPT_to_device,
                                    TC_OPT_ops,
                                    TC_OPT_trust,
                                    TC_OPT_NONE};
static const tc_tool tool = {
    .name = "tc-export",
    .operands = "[FILE.py:CLASS | PROGRAM]",
    .max_operands = 1,
    .summary = "Captures a model's source as a program: a graph of ATen operators.",
    .details = "FILE.py:CLASS is a module in the model language; without CLASS its classes are listed. A .pt2 archive or an ONNX model (stdin when "
               "absent or -) is read, checked and written again.\n"
               "Example: tc-export gpt.py:GPT --input idx=BxTxi64 -o gpt.pt2",
    .options = options,
    .run = run,
};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
