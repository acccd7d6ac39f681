/* tc-bench: times programs and single operators, comparing ways to execute them. */
#include "tc-bench/bench.h"

#include "base/cpu.h"
#include "base/json_write.h"
#include "cmd/inputs.h"
#include "op/functionalise.h"
#include "op/sample.h"

static const way known[] = {{"interpreted"},
                            {"compiled", .compiled = true},
                            {"unfused", .unfused = true},
                            {"fast", .numerics.fast = true},
                            {"bf16x3", .numerics = {false, TC_FP32_BF16X3, TC_FP32_BF16X3}},
                            {"tf32", .numerics = {false, TC_FP32_TF32, TC_FP32_TF32}},
                            {"bf16", .numerics = {false, TC_FP32_BF16, TC_FP32_BF16}},
                            {"operators", .operators = true}};
enum { NKNOWN = sizeof known / sizeof *known };

/* ---- one case ---- */
static void close_case(bench_case *b, int nways) {
    for (int w = 0; w < nways; w++) {
        tc_exec_destroy(b->exec[w]);
        for (int i = 0; b->outputs[w] && i < b->program[w]->noutputs; i++) tc_tensor_deinit(&b->outputs[w][i]);
        free(b->outputs[w]);
        tc_vec_free(&b->times[w].t);
        tc_modules_destroy(b->modules[w]);
        tc_operators_destroy(b->operators[w]);
        tc_program_release(b->program[w]);
    }
    for (int i = 0; i < b->ninputs; i++) tc_tensor_deinit(&b->inputs[i]);
    free(b->inputs);
}

/* The least bytes that a run of way w moves: inputs, state, outputs. */
static double count_bytes(const bench_case *b, int w) {
    const tc_program *p = b->program[w];
    double bytes = 0;
    for (int i = 0; i < b->ninputs; i++) bytes += (double)tc_tensor_bytes(&b->inputs[i]);
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].data.storage) bytes += (double)tc_tensor_bytes(&p->inputs[i].data);
    for (int i = 0; i < p->noutputs; i++)
        if (b->outputs[w][i].storage) bytes += (double)tc_tensor_bytes(&b->outputs[w][i]);
    return bytes;
}

static const tc_abi_group *no_group(void *self, const uint8_t key[TC_ABI_KEY_BYTES]) {
    (void)self, (void)key;
    return NULL;
}

static tc_status make_execs(tc_cmd *c, const tc_tuning *tuning, bench_case *b, const way *ways, int nways) {
    for (int w = 0; w < nways; w++) {
        tc_exec_options o = {.keep_packed = true,
                             .numerics = ways[w].numerics,
                             .steps = tc_cmd_steps(c),
                             .pool = tc_cmd_pool(c),
                             .threads = 1,
                             .no_fuse = ways[w].unfused};
        TC_TRY(tc_cmd_sdpa(c, &o.sdpa));
        tc_program *p = b->program[w];
        tc_exec_code code = {tc_modules_find, NULL};
        b->outputs[w] = tc_xcalloc((size_t)p->noutputs + 1, sizeof(tc_tensor));
        if (ways[w].compiled) {
            tc_isa_row row;
            tc_emit_count count;
            tc_exec *planned;
            TC_TRY(tc_isa_choose(NULL, &row));
            TC_TRY(tc_exec_create(p, &o, &planned), "%s", b->label[w]);
            code.self = b->modules[w] = tc_modules_create();
            tc_status s = tc_exec_compile(planned, &(tc_cc_options){.isa = tc_isa_name(row), .cc = tc_cmd_get(c, TC_OPT_cc)}, b->modules[w], &count);
            tc_exec_destroy(planned);
            TC_TRY(s, "%s", b->label[w]);
            tc_cmd_verbose(c, "%s: %zu loops, %zu stay interpreted%s", b->label[w], count.loops, count.left,
                           count.cached ? ", code from the cache" : "");
            o.code = &code;
        }
        if (ways[w].operators) {
            TC_TRY(tc_cmd_operators(c, &b->operators[w]));
            if (!b->operators[w]) return tc_error(TC_ENV, "no operators: tc-compile --op makes them, in TC_OPERATORS they are found");
            code = (tc_exec_code){no_group, b->operators[w], tc_operators_find};
            o.code = &code;
        }
        TC_TRY(tc_exec_create(p, &o, &b->exec[w]), "%s", b->label[w]);
        tc_exec_set_tuning(b->exec[w], tuning);
        if (!w) tc_cmd_log_sdpa(c, b->exec[w]);
    }
    return NULL;
}

static bool same_numerics(const way *a, const way *b) {
    return a->numerics.fast == b->numerics.fast && a->numerics.matmul == b->numerics.matmul && a->numerics.conv == b->numerics.conv;
}
/* The first way of the same numerics, else the first. */
static int compared_with(const way *ways, int w) {
    for (int i = 0; i < w; i++)
        if (same_numerics(&ways[i], &ways[w])) return i;
    return 0;
}
/* All ways of one program must give the same bits; those with other numerics are only reported with their difference. */
static tc_status compare_results(tc_cmd *c, bench_case *b, const way *ways, int nways) {
    for (int w = 1; w < nways && b->program[w] == b->program[0]; w++) {
        const int to = compared_with(ways, w);
        for (int i = 0; i < b->program[w]->noutputs; i++) {
            tc_diff d;
            if (!b->outputs[0][i].storage) continue;
            TC_TRY(tc_tensor_compare(&b->outputs[w][i], &b->outputs[to][i], 0, 0, &d), "%s", b->label[w]);
            if (!d.count) continue;
            if (same_numerics(&ways[w], &ways[to])) b->different = true;
            tc_cmd_note(c, "%s: %s and %s differ in output %d: %lld elements, the first at %lld, by %g at most", b->label[w], ways[to].name,
                        ways[w].name, i, (long long)d.count, (long long)d.first, d.max_abs);
        }
    }
    return NULL;
}

/* Sets the same program for all ways, one reference each. */
static void one_program(bench_case *b, int nways, tc_program *p, const char *label) {
    for (int w = 0; w < nways; w++) b->program[w] = w ? tc_program_retain(p) : p, b->label[w] = label;
}
static tc_status run_case(report *r, bench_case *b, tc_symvalue *vars, size_t nvars, const tc_sample *ranges, const bench_plan *plan,
                          bool *different) {
    tc_status s = tc_cmd_make_inputs(b->program[0], vars, nvars, ranges ? ranges->lo : NULL, ranges ? ranges->hi : NULL, &b->inputs, &b->ninputs);
    tc_cmd_phase(r->c, "making inputs");
    if (!s) s = make_execs(r->c, r->tuning, b, r->ways, r->nways);
    tc_cmd_phase(r->c, "planning and compiling");
    if (!s) s = measure(b, r->nways, plan);
    tc_cmd_phase(r->c, "running");
    if (!s) s = compare_results(r->c, b, r->ways, r->nways);
    for (int w = 0; !s && r->profile && w < r->nways; w++) s = profile_case(r->profile, b, r->ways, w);
    for (int w = 0; !s && w < r->nways; w++) b->bytes[w] = count_bytes(b, w);
    for (int w = 1; w < r->nways; w++) {
        b->faster[w] = takes_longer(&b->times[w], &b->times[0]);
        b->slower[w] = takes_longer(&b->times[0], &b->times[w]);
    }
    for (int w = 0; w < r->nways; w++) summarise(&b->times[w]);
    if (!s) report_case(r, b);
    *different |= b->different;
    close_case(b, r->nways);
    return s;
}

/* ---- operators ---- */
static tc_status bench_call(report *r, const tc_op *op, const char *call, size_t len, const bench_plan *plan, bool *different) {
    tc_sample sample;
    TC_TRY(tc_sample_parse(op, call, len, &sample));
    tc_status s = sample.program->functional ? NULL : tc_functionalise(sample.program);
    size_t nvars = tc_sym_var_count(sample.program->sym);
    tc_symvalue *vars = tc_xcalloc(nvars + 1, sizeof *vars);
    if (!s) s = tc_cmd_bind(r->c, sample.program, vars, nvars);
    char *label = tc_xcalloc(len + 1, 1);
    memcpy(label, call, len);
    bench_case b = {.guards = plan->guards};
    one_program(&b, r->nways, sample.program, label);
    if (!s) s = run_case(r, &b, vars, nvars, &sample, plan, different);
    else close_case(&b, r->nways);
    free(vars);
    free(label);
    return s;
}

/* Benchmarks a call with arguments, or, for a name, every sample of its registry rows. */
static tc_status bench_op(report *r, const char *what, const bench_plan *plan, bool *different) {
    if (strchr(what, '(')) return bench_call(r, NULL, what, strlen(what), plan, different);
    const tc_op *rows[32];
    int n = tc_op_overloads(what, rows, 32), calls = 0;
    if (!n && tc_op_find(what)) rows[n++] = tc_op_find(what);
    for (int i = 0; i < n; i++) {
        size_t len;
        const char *call;
        for (int k = 0; rows[i]->samples && (call = tc_sample_call(rows[i]->samples, k, &len)); k++, calls++)
            TC_TRY(bench_call(r, rows[i], call, len, plan, different));
    }
    if (calls) return NULL;
    if (n) return tc_error(TC_UNSUPPORTED, "--op %s: it has no samples; give a call: '%s(f32[1024], 2)'", what, what);
    return tc_error(tc_op_is_known_to_pytorch(what) ? TC_UNSUPPORTED : TC_CONTENT, "--op %s: no such operator", what);
}

static tc_status read_program(report *r, const char *path, tc_program **out) {
    tc_archive *a;
    const char *wanted;
    TC_TRY(tc_cmd_archive(r->c, path, &a));
    tc_status s = r->tuning ? NULL : tc_cmd_tuning(r->c, a, false, &r->tuning);
    if (!s) s = tc_cmd_wanted(r->c, a, &wanted);
    if (!s) s = tc_cmd_program_named(r->c, a, wanted, out);
    tc_archive_close(a);
    return s;
}
/* Benchmarks one program in all ways, or several programs on the inputs made for the first. */
static tc_status bench_program(report *r, const bench_plan *plan, bool *different) {
    const char *path = r->c->noperands ? r->c->operands[0] : "-";
    const int several = r->c->noperands > 1 ? r->c->noperands : 0;
    bench_case b = {.guards = plan->guards};
    tc_program *p;
    TC_TRY(read_program(r, path, &p));
    one_program(&b, several ? 1 : r->nways, p, strcmp(path, "-") ? path : "stdin");
    tc_status s = NULL;
    for (int w = 1; w < several && !s; w++) s = read_program(r, b.label[w] = r->c->operands[w], &b.program[w]);
    tc_cmd_phase(r->c, "reading the program");
    size_t nvars = tc_sym_var_count(p->sym);
    tc_symvalue *vars = tc_xcalloc(nvars + 1, sizeof *vars);
    if (!s) s = tc_cmd_bind(r->c, p, vars, nvars);
    if (!s) s = run_case(r, &b, vars, nvars, NULL, plan, different);
    else close_case(&b, r->nways);
    free(vars);
    return s;
}

/* ---- options ---- */
static tc_status choose_ways(tc_cmd *c, way *out, int *out_n) {
    const char *list = tc_cmd_get(c, TC_OPT_compare);
    if (!list) list = tc_cmd_get(c, TC_OPT_executor);
    if (!list) list = "interpreted";
    bool compiles = false;
    for (int n = 0;; list++) {
        size_t len = strcspn(list, ",");
        int k = 0;
        while (k < NKNOWN && (strlen(known[k].name) != len || memcmp(known[k].name, list, len))) k++;
        if (k == NKNOWN)
            return tc_usage(c, "%.*s is not an executor; expected interpreted, compiled, unfused, fast, bf16x3, tf32, bf16 or operators", (int)len,
                            list);
        if (n == MAX_WAYS) return tc_usage(c, "more than %d ways to compare", MAX_WAYS);
        out[n++] = known[k];
        *out_n = n;
        compiles = compiles || known[k].compiled;
        list += len;
        if (!*list) return compiles || !tc_cmd_has(c, TC_OPT_cc) ? NULL : tc_usage(c, "--cc needs compiled code: --compare interpreted,compiled");
    }
}

static tc_status run(tc_cmd *c) {
    static const tc_cmd_form formats[] = {{"table", ".txt"}, {"csv", ".csv"}, {"json", ".json"}, {0}};
    static const char *const phases[] = {"run", "guards", NULL};
    way ways[MAX_WAYS];
    tc_profile_parts p = {0};
    report r = {.c = c, .ways = ways, .profile = tc_cmd_has(c, TC_OPT_profile) ? &p : NULL};
    bench_plan plan;
    int64_t warmup;
    int phase;
    bool different = false;
    const char *path = tc_cmd_get(c, TC_OPT_out);
    const char *data = tc_cmd_get(c, TC_OPT_data);
    TC_TRY(tc_cmd_ops(c));
    if (tc_cmd_has(c, TC_OPT_opcheck)) return c->noperands ? tc_usage(c, "--opcheck and a program cannot be used together") : check_operators(c);
    TC_TRY(tc_cmd_format(c, formats, path, c->json ? AS_JSON : AS_TABLE, &r.format));
    TC_TRY(choose_ways(c, ways, &r.nways));
    TC_TRY(tc_cmd_int(c, TC_OPT_repeat, 1, 10000000, 0, &plan.repeat));
    TC_TRY(tc_cmd_int(c, TC_OPT_warmup, 0, 1000000, 3, &warmup));
    TC_TRY(tc_cmd_double(c, TC_OPT_min_time, 0, 3600, 0.5, &plan.min_time));
    TC_TRY(tc_cmd_choice(c, TC_OPT_phase, phases, 0, &phase));
    plan.warmup = (int)warmup;
    plan.guards = phase == 1;
    if (tc_cmd_has(c, TC_OPT_calibrate)) {
        if (c->noperands) return tc_usage(c, "--calibrate measures the machine and takes no program");
        return calibrate(c);
    }
    if (tc_cmd_has(c, TC_OPT_accuracy)) {
        if (c->noperands) return tc_usage(c, "--accuracy measures the library and takes no program");
        tc_status s = accuracy(&r);
        tc_buf_free(&r.out);
        return s;
    }
    if (plan.guards && tc_cmd_has(c, TC_OPT_profile)) return tc_usage(c, "--profile and --phase guards cannot be used together");
    TC_TRY(tc_profile_options(c, &p));
    if (r.profile) p.limits = tc_limits_measure(tc_cmd_pool(c));
    tc_status s = NULL;
    int nops = tc_cmd_count(c, TC_OPT_op);
    if (nops) TC_TRY(tc_cmd_tuning(c, NULL, false, &r.tuning));
    if (nops && c->noperands) return tc_usage(c, "--op and a program cannot be used together");
    if (!data && c->noperands > 1) {
        if (r.nways > 1) return tc_usage(c, "--compare and several programs cannot be used together");
        if (c->noperands > MAX_WAYS) return tc_usage(c, "more than %d programs to compare", MAX_WAYS);
        for (; r.nways < c->noperands; r.nways++) ways[r.nways] = ways[0];
    }
    for (int i = 0; i < nops && !s; i++) s = bench_op(&r, tc_cmd_value(c, TC_OPT_op, i), &plan, &different);
    if (data) s = bench_data(&r, data, &plan);
    else if (!nops) s = bench_program(&r, &plan, &different);
    if (!s && r.profile) s = tc_profile_write(c, &p);
    tc_profile_parts_free(&p);
    tc_tuning_destroy(r.tuning);
    if (!s) s = tc_cmd_write_text(c, path, &r.out);
    tc_buf_free(&r.out);
    if (!s && different) s = tc_error(TC_DIFFERENT, "the ways of executing give different results");
    return s;
}

static const tc_opt_id options[] = {
    TC_OPT_ops,    TC_OPT_opcheck, TC_OPT_op,      TC_OPT_compare,  TC_OPT_executor, TC_OPT_dim,       TC_OPT_model,    TC_OPT_mode,   TC_OPT_weights,
    TC_OPT_rename, TC_OPT_repeat,  TC_OPT_warmup,  TC_OPT_min_time, TC_OPT_phase,    TC_OPT_calibrate, TC_OPT_accuracy, TC_OPT_tuning, TC_OPT_data,
    TC_OPT_trust,  TC_OPT_sdpa,    TC_OPT_profile, TC_OPT_unit,     TC_OPT_cc,       TC_OPT_to,        TC_OPT_out,      TC_OPT_NONE};
static const tc_tool tool = {.name = "tc-bench",
                             .operands = "[PROGRAM... | KEY=VALUE...]",
                             .max_operands = -1,
                             .summary = "Times programs and operators: medians and percentiles, one executor against another.",
                             .details = "Example: tc-bench gpt.pt2 --dim B=8 --dim T=128 --compare interpreted,compiled",
                             .options = options,
                             .run = run};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
