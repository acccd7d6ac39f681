/* tc-run: runs a program on tensors from the command line, files and pipes, record by record. */
#include "tc-run/run.h"

#include "base/json_write.h"
#include "base/resident.h"
#include "base/rng.h"
#include "cmd/code.h"
#include "cmd/profile.h"
#include "cmd/program.h"
#include "dist/dist.h"
#include "op/collective.h"
#include "runtime/extension.h"

#include <stdio.h>

/* --meta: prints the archive's metadata. */
static tc_status show_meta(tc_cmd *c, const tc_archive *a, tc_buf *b) {
    const char *path;
    for (size_t i = 0; (path = tc_archive_user_extra(a, i)); i++) {
        const char *name = path + strlen("extra/");
        const unsigned char *data;
        size_t len;
        bool found;
        TC_TRY(tc_archive_entry(a, path, &data, &len, &found));
        if (c->json) {
            tc_json j = {.b = b};
            tc_json_object(&j);
            tc_json_key(&j, "meta");
            tc_json_string(&j, name);
            tc_json_key(&j, "value");
            tc_json_stringn(&j, (const char *)data, len);
            tc_json_end(&j);
            tc_buf_putc(b, '\n');
            continue;
        }
        tc_buf_puts(b, i ? "  " : "meta:\n  ");
        tc_buf_printf(b, "%s = ", name);
        for (size_t k = 0; k < len && k < 1000; k++) tc_buf_printf(b, data[k] < 32 || data[k] == 127 ? "\\x%02X" : "%c", data[k]);
        tc_buf_puts(b, len > 1000 ? " ...\n" : "\n");
    }
    return NULL;
}

static tc_status show_signature(tc_cmd *c, const tc_archive *a, const tc_program *p, const char *path) {
    tc_buf b = {0};
    tc_status s = show_meta(c, a, &b);
    if (c->json) {
        signature_print_json(&b, p);
    } else {
        signature_print(&b, p, path, tc_cmd_get(c, TC_OPT_model));
        tc_buf_putc(&b, '\n');
    }
    tc_cmd_show(stdout, b.data, b.len);
    tc_buf_free(&b);
    return s;
}

/* State of the loop over records. */
typedef struct {
    tc_cmd *c;
    const tc_program *p;
    tc_variants *v;
    tc_dist *dist;
    bool must; /* compiled code only */
    shapes *seen;
    const inputs *in;
    outputs *out;
    trace watch;
    tc_recorder *recorder;
    tc_generator gen;
    tc_tensor *given, *results; /* of one record; empty between records */
} line;

static const char waiting[] = "waiting for other ranks";

/* Books the time since the last call, for --stats and --profile. */
static void done(line *l, const char *what) {
    tc_cmd_phase(l->c, what);
    tc_recorder_mark(l->recorder, what);
}

/* Bytes of code that the first run pages in, as measured on typical programs. */
enum { FIRST_RUN = 448 << 10 };

/* -v, --log memory: prints the memory that a run with these input sizes needs, before the first run. */
static tc_status say_needs(const tc_cmd *c, tc_exec *e, const tc_tensor *given, int n) {
    tc_exec_memory m;
    if (!c->verbose && !tc_cmd_logs(c, "memory")) return NULL;
    TC_TRY(tc_exec_forecast(e, given, n, &m));
    size_t now = tc_resident_now(); /* includes the plan */
    tc_cmd_log(
        c, "memory", c->verbose,
        "a run needs %zu bytes of memory: %zu are taken (the program, its plan and inputs), weights in files %zu, intermediates %zu (%zu of them "
        "kept for later runs), results %zu, scratch of kernels %zu; further ones %zu more for packed weights",
        now + m.unread + m.pages + FIRST_RUN, now, m.unread, m.arena, m.kept, m.results, m.scratch, m.packed);
    return NULL;
}

static tc_status run_record(line *l, int64_t record) {
    const tc_program *p = l->p;
    const inputs *in = l->in;
    tc_exec *e = NULL;
    int n = inputs_count(in);
    tc_tensor *given = l->given, *results = l->results;
    tc_status st = inputs_get(in, given);
    if (!st) st = shapes_add(l->seen, p, given); /* recorded even if the run then refuses the sizes */
    done(l, "reading inputs");
    if (!st) st = tc_variants_choose(l->v, given, l->must, &e);
    if (!st && !record) st = say_needs(l->c, e, given, n);
    done(l, "planning");
    if (!st) st = tc_exec_run(e, given, n, &l->gen, results, p->noutputs);
    if (st && record) st = tc_annotate(st, "record %lld", (long long)record);
    if (l->dist) tc_cmd_phase_part(l->c, waiting, tc_dist_waited(l->dist));
    tc_cmd_phase(l->c, "running");
    tc_recorder_mark(l->recorder, "between groups");
    if (!st) st = outputs_put(l->out, record, e, results, given);
    done(l, "writing results");
    for (int i = 0; i < n; i++) tc_tensor_deinit(&given[i]);
    for (int i = 0; i < p->noutputs; i++) tc_tensor_deinit(&results[i]);
    return st;
}

/* Sets the observer of groups (profile or trace) for the next record. */
static void watch_record(line *l) {
    bool look = l->watch.print || l->watch.check, record = tc_recorder_round(l->recorder);
    if (look) tc_variants_set_profile(l->v, trace_event, &l->watch);
    else tc_variants_set_profile(l->v, record ? tc_recorder_event : NULL, l->recorder);
}

/* What is run. */
typedef struct {
    tc_cmd *c;
    tc_archive *a;
    tc_program *p;
    tc_cmd_code code;
    tc_dist *dist; /* of a program with collectives, under a launcher; or NULL */
    tc_comm comm;
} job;

static tc_status run_records(const job *j, feeds *f, const inputs *in, outputs *out) {
    tc_cmd *const c = j->c;
    const tc_cmd_code *const code = &j->code;
    line l = {.c = c, .p = j->p, .dist = j->dist, .must = code->must, .in = in, .out = out};
    uint64_t seed;
    int check;
    static const char *const checks[] = {"nan", NULL};
    TC_TRY(tc_cmd_seed(c, &seed));
    TC_TRY(tc_cmd_choice(c, TC_OPT_check, checks, -1, &check));
    tc_generator_seed(&l.gen, seed);
    tc_exec_options options = {.pool = tc_cmd_pool(c),
                               .threads = 1,
                               .comm = j->dist ? &j->comm : NULL,
                               .keep_packed = true,
                               .loops = code->loops,
                               .skip_values = code->skip_values,
                               .steps = tc_cmd_steps(c),
                               .code = code->code.find ? &code->code : NULL};
    l.watch = (trace){c, tc_cmd_has(c, TC_OPT_trace) || tc_cmd_has(c, TC_OPT_debug_values), check == 0};
    if (tc_cmd_has(c, TC_OPT_trace)) {
        options.no_fuse = true;
        options.code = NULL;
    }
    TC_TRY(tc_cmd_numerics(c, &options.numerics));
    TC_TRY(tc_cmd_sdpa(c, &options.sdpa));
    versions from = {c, j->a, j->p};
    tc_tuning *tuning;
    TC_TRY(tc_cmd_tuning(c, j->a, false, &tuning));
    tc_status opened = variants_open(&from, &options, &l.v);
    if (opened) return tc_tuning_destroy(tuning), opened;
    tc_exec_set_tuning(tc_variants_main(l.v), tuning);
    tc_cmd_log_sdpa(c, tc_variants_main(l.v));
    tc_status st = tc_variants_count(l.v) ? NULL : tc_cmd_code_check(c, code);
    if (!st) st = shapes_open(c, &l.seen);
    if (!st) st = tc_recorder_open(c, c->noperands ? c->operands[0] : "stdin", "records", 0, &l.recorder);
    bool end = false;
    l.given = tc_xcalloc((size_t)inputs_count(in) + 1, sizeof *l.given);
    l.results = tc_xcalloc((size_t)l.p->noutputs + 1, sizeof *l.results);
    done(&l, "planning");
    for (int64_t record = 0; !st; record++) {
        watch_record(&l);
        st = feeds_next(f, record, &end);
        if (end) tc_recorder_drop(l.recorder);
        if (st || end) break;
        st = run_record(&l, record);
        if (!f->list.len) break; /* only literals: a single record */
    }
    if (!st && c->verbose) {
        tc_buf report = {0};
        tc_exec_report(tc_variants_main(l.v), &report);
        tc_cmd_verbose(c, "%s", tc_buf_str(&report));
        tc_buf_free(&report);
        tc_cmd_code_report(c, code);
    }
    free(l.given);
    free(l.results);
    st = tc_recorder_close(l.recorder, st);
    shapes_close(l.seen);
    tc_variants_destroy(l.v);
    tc_tuning_destroy(tuning);
    return st;
}

static tc_status run_program(const job *j, const char *path) {
    feeds f = {0};
    inputs *in = NULL;
    outputs *out = NULL;
    tc_status st = inputs_open(j->c, j->p, path, &f, &in);
    if (!st) st = outputs_open(j->c, j->p, &f, &out);
    if (!st) st = run_records(j, &f, in, out);
    st = outputs_close(out, st);
    inputs_close(in);
    feeds_close(&f);
    return st;
}

/* Ranks of a program with collectives. */
static tc_status join_ranks(job *j) {
    const char *group;
    TC_TRY(tc_collective_group(j->p, &group));
    if (!group) return NULL;
    TC_TRY(tc_dist_start(&j->dist));
    if (!j->dist) return NULL;
    j->comm = tc_dist_comm(j->dist);
    tc_cmd_phase(j->c, "starting MPI");
    return NULL;
}
/* A rank that fails ends the others, which wait for it; one whose results differ from --expect has run to its end. */
static tc_status leave_ranks(job *j, tc_status st) {
    if (st && tc_status_code(st) != TC_DIFFERENT && tc_dist_size(j->dist) > 1) {
        tc_dist_tell(j->dist, st);
        tc_dist_abort(j->dist, (int)tc_cmd_report(j->c, st));
    }
    const bool ranks = j->dist != NULL;
    tc_status stopped = tc_dist_stop(j->dist);
    if (ranks) tc_cmd_phase(j->c, waiting);
    if (!st) return stopped;
    tc_status_free(stopped);
    return st;
}

static tc_status list_ops(void) {
    tc_buf b = {0};
    tc_extension_list(&b);
    tc_cmd_show(stdout, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    return NULL;
}

static tc_status run(tc_cmd *c) {
    const char *path = c->noperands ? c->operands[0] : "-";
    job j = {.c = c};
    TC_TRY(tc_cmd_ops(c));
    if (tc_cmd_has(c, TC_OPT_ops_list)) return list_ops();
    TC_TRY(tc_cmd_archive(c, path, &j.a));
    tc_status st = tc_cmd_program(c, j.a, &j.p);
    tc_cmd_phase(c, "reading the program");
    if (!st) {
        const bool show = tc_cmd_has(c, TC_OPT_signature);
        if (!show) st = tc_cmd_code_open(c, j.a, &j.code);
        if (!st && !show) st = join_ranks(&j);
        if (!st) st = show ? show_signature(c, j.a, j.p, path) : run_program(&j, path);
        st = leave_ranks(&j, st);
        tc_cmd_code_close(&j.code);
        tc_program_release(j.p);
    }
    tc_archive_close(j.a);
    return st;
}

static const tc_opt_id options[] = {
    TC_OPT_input,        TC_OPT_dim,       TC_OPT_output,   TC_OPT_expect,     TC_OPT_rtol,           TC_OPT_atol,
    TC_OPT_to,           TC_OPT_out,       TC_OPT_cast,     TC_OPT_model,      TC_OPT_weights,        TC_OPT_rename,
    TC_OPT_seed,         TC_OPT_signature, TC_OPT_sdpa,     TC_OPT_numerics,   TC_OPT_fp32_precision, TC_OPT_stance,
    TC_OPT_executor,     TC_OPT_tuning,    TC_OPT_trust,    TC_OPT_trace,      TC_OPT_profile_shapes, TC_OPT_debug_values,
    TC_OPT_check,        TC_OPT_profile,   TC_OPT_unit,     TC_OPT_skip_first, TC_OPT_wait,           TC_OPT_dump,
    TC_OPT_check_guards, TC_OPT_ops,       TC_OPT_ops_list, TC_OPT_NONE};
static const tc_tool tool = {
    .name = "tc-run",
    .operands = "[PROGRAM]",
    .max_operands = 1,
    .summary = "Runs a program on tensors.",
    .details = "PROGRAM is a .pt2 archive; absent or -, it is stdin. Several records in a file or pipe run one after another.\n"
               "Example: tc-run gpt.pt2 --input idx=1x8xi64=1 -o logits.npy",
    .options = options,
    .run = run,
};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
