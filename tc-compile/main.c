/* tc-compile: compiles a program to a program with native code, to C, a library or a filter. The work is done by lib/pass, lib/codegen and
 * runtime/compile.h. */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "cmd/code.h"
#include "op/functionalise.h"
#include "op/rewrites.h"
#include "op/sample.h"
#include "runtime/operators.h"

static const tc_cmd_form formats[] = {{"pt2", ".pt2"}, {"c", ".c"}, {"so", ".so"}, {"o", ".o"}, {"a", ".a"}, {"exe", ".exe"}, {0}};
enum { TO_PT2, TO_C, TO_SO, TO_O, TO_A, TO_EXE };

static void close_all(compile_job *j) {
    for (int i = 0; i < j->n; i++) {
        tc_exec_destroy(j->execs[i]);
        tc_program_release(j->programs[i]);
    }
    for (int i = 0; i < j->ntargets; i++) tc_unit_destroy(j->units[i]);
    tc_archive_close(j->archive);
    tc_buf_free(&j->variants);
    tc_buf_free(&j->tuning);
    tc_arena_free(&j->arena);
}

/* The call to compile for --op; for a name alone its first sample, with symbols for sizes. */
static tc_status call_of(compile_job *j, const char *name, const tc_op **out_op, const char **out_call) {
    const tc_op *row[32];
    int n = tc_op_overloads(name, row, 32);
    size_t len;
    *out_op = NULL;
    *out_call = name;
    if (strchr(name, '(')) return NULL;
    if (!n && (row[0] = tc_op_find(name))) n = 1;
    for (int i = 0; i < n && !*out_op; i++)
        if (row[i]->samples) *out_op = row[i];
    if (!*out_op) {
        if (n) return tc_error(TC_UNSUPPORTED, "--op %s: it has no samples; give a call: '%s(f32[B,C])'", name, name);
        return tc_error(tc_op_is_known_to_pytorch(name) ? TC_UNSUPPORTED : TC_CONTENT, "--op %s: no such operator", name);
    }
    tc_buf b = {0};
    const char *call = tc_sample_call((*out_op)->samples, 0, &len);
    tc_sample_general(*out_op, call, len, &b);
    *out_call = tc_arena_strdup(&j->arena, tc_buf_str(&b));
    tc_buf_free(&b);
    tc_cmd_verbose(j->c, "--op %s: %s", name, *out_call);
    return NULL;
}

/* --op: each call is a program of its own, named as the operator. */
static tc_status open_calls(compile_job *j, int ncalls) {
    j->input = "--op";
    j->programs = TC_NEWN(&j->arena, tc_program *, (size_t)ncalls);
    j->execs = TC_NEWN(&j->arena, tc_exec *, (size_t)ncalls);
    for (int i = 0; i < ncalls; i++) {
        const char *call;
        const tc_op *op;
        tc_sample s;
        TC_TRY(call_of(j, tc_cmd_value(j->c, TC_OPT_op, i), &op, &call));
        TC_TRY(tc_sample_parse(op, call, strlen(call), &s), "--op");
        j->programs[j->n++] = s.program;
        s.program->name = tc_arena_strndup(&s.program->arena, call, strcspn(call, "( "));
        for (int k = 0; k < i; k++)
            if (!strcmp(j->programs[k]->name, s.program->name)) return tc_usage(j->c, "--op %s: expected one call of an operator", s.program->name);
        TC_TRY(tc_functionalise(s.program), "--op %s", call);
        TC_TRY(tc_program_verify(s.program), "--op %s", call);
    }
    return NULL;
}

static tc_status open_programs(compile_job *j) {
    tc_cmd *c = j->c;
    if (tc_cmd_has(c, TC_OPT_op)) return open_calls(j, tc_cmd_count(c, TC_OPT_op));
    const char *one;
    j->input = c->noperands ? c->operands[0] : "-";
    c->onnx_sides = TC_CMD_SIDES;
    TC_TRY(tc_cmd_archive(c, j->input, &j->archive));
    TC_TRY(tc_cmd_wanted(c, j->archive, &one));
    size_t count = tc_archive_count(j->archive);
    j->programs = TC_NEWN(&j->arena, tc_program *, count + 1);
    j->execs = TC_NEWN(&j->arena, tc_exec *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *name = tc_archive_name(j->archive, i);
        if (one && strcmp(one, name)) continue;
        TC_TRY(tc_cmd_program_named(c, j->archive, name, &j->programs[j->n]), "%s", j->input);
        j->n++;
    }
    if (j->n) return NULL;
    TC_TRY(tc_cmd_program_named(c, j->archive, one, &j->programs[0])); /* reports the names that exist */
    j->n = 1;
    return NULL;
}

tc_status one_program(compile_job *j, const char *option, int *out_which) {
    const char *name = NULL;
    *out_which = 0;
    if (j->n == 1) return NULL;
    if (!j->archive) return tc_usage(j->c, "%s of %d programs: expected one --op", option, j->n);
    TC_TRY(tc_archive_choose(j->archive, &name), "%s", option);
    while (strcmp(j->programs[*out_which]->name, name)) ++*out_which;
    return NULL;
}

static void interpreted(void *ctx, const char *group, const char *why) { tc_cmd_verbose(ctx, "%s stays interpreted: %s", group, why); }

/* --targets A,B,..., each once; else the best that this machine runs. */
static tc_status choose_targets(compile_job *j) {
    const char *list = tc_cmd_get(j->c, TC_OPT_targets);
    tc_isa_row row;
    if (!list) {
        TC_TRY(tc_isa_choose(NULL, &row));
        j->targets[j->ntargets++] = tc_isa_name(row);
        return NULL;
    }
    for (const char *s = list;; s++) {
        size_t n = strcspn(s, ",");
        char *name = tc_arena_strndup(&j->arena, s, n);
        bool again = false;
        if (!tc_cc_isa_flags(name))
            return tc_usage(j->c, "--targets %s: no instruction set is called '%s'; there are %s", list, name, tc_cc_isa_names());
        for (int i = 0; i < j->ntargets; i++) again |= !strcmp(j->targets[i], name);
        if (again) return tc_usage(j->c, "--targets %s: %s is given twice", list, name);
        if (j->ntargets == MAX_TARGETS) return tc_usage(j->c, "more than %d --targets", MAX_TARGETS);
        int at = j->ntargets++; /* best first: dispatch tries them in this order */
        for (; at > 0 && tc_cc_isa_rank(j->targets[at - 1]) < tc_cc_isa_rank(name); at--) j->targets[at] = j->targets[at - 1];
        j->targets[at] = name;
        s += n;
        if (!*s) return NULL;
    }
}

bool compile_says(const compile_job *j, const char *topic) { return j->c->verbose || tc_cmd_logs(j->c, topic); }

static void report_exec(compile_job *j, tc_exec *e) {
    tc_buf b = {0};
    if (tc_cmd_logs(j->c, "rewrites")) tc_rewrites_report(tc_exec_program(e), &b);
    tc_cmd_log_text(j->c, "rewrites", false, tc_buf_str(&b), b.len);
    b.len = 0;
    if (compile_says(j, "fusion")) tc_exec_report(e, &b);
    tc_cmd_log_text(j->c, "fusion", j->c->verbose, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    if (compile_says(j, "memory")) say_memory(j, e);
    tc_cmd_log_sdpa(j->c, e);
}

/* --op: also emits the forms of the operator in which some results are unused. */
static tc_status emit_forms(compile_job *j, int which, const tc_exec_options *o) {
    tc_exec_list forms = {0};
    tc_status s = tc_operator_forms(j->programs[which], o, &forms);
    for (size_t i = 1; i < forms.len && !s; i++)
        for (int t = 0; t < j->ntargets && !s; t++) s = tc_exec_emit(forms.data[i], j->units[t], NULL, NULL, &(tc_emit_count){0});
    for (size_t i = 0; i < forms.len; i++) tc_exec_destroy(forms.data[i]);
    tc_vec_free(&forms);
    return s;
}

/* Emits every loop of every program as a group of the units, equal ones once. With --dim the code of one program is for those sizes only. */
static tc_status emit(compile_job *j, bool loops) {
    const bool sized = !loops && tc_cmd_has(j->c, TC_OPT_dim), variants = sized || tc_cmd_has(j->c, TC_OPT_variants);
    int one = -1;
    tc_exec_options o = {.pool = tc_cmd_pool(j->c), .threads = 1, .loops = loops};
    tc_emit_count count = {0}, known = {0}; /* general, and specialised by --dim and --variants */
    if (variants) TC_TRY(one_program(j, sized ? "--dim" : "--variants", &one));
    TC_TRY(choose_targets(j));
    for (int t = 0; t < j->ntargets; t++) {
        const tc_unit_options u = {.isa = j->targets[t], .made_by = "tc " TC_VERSION, .sanitize = j->sanitize};
        j->units[t] = tc_unit_create(&u);
    }
    for (int i = 0; i < j->n; i++) {
        TC_TRY(tc_exec_create(j->programs[i], &o, &j->execs[i]), "%s", j->programs[i]->name);
        const bool general = !sized || i != one;
        for (int t = 0; t < j->ntargets && general; t++) {
            tc_emit_count also = {0};
            TC_TRY(tc_exec_emit(j->execs[i], j->units[t], t ? NULL : interpreted, j->c, t ? &also : &count));
        }
        if (general && !loops && tc_cmd_has(j->c, TC_OPT_op)) TC_TRY(emit_forms(j, i, &o));
        report_exec(j, j->execs[i]);
        TC_TRY(dump_stages(j, i));
    }
    if (variants) TC_TRY(emit_variants(j, one, &o, sized ? interpreted : NULL, &known));
    if (sized) count.loops += known.loops, count.left += known.left;
    for (int t = 0; t < j->ntargets; t++)
        tc_cmd_verbose(j->c, "%zu loops, %zu different groups for %s, %zu interpreted", count.loops, tc_unit_groups(j->units[t]), j->targets[t],
                       count.left);
    const size_t left = count.left ? count.left : known.left;
    if (j->must_code && left) return tc_error(TC_ENV, "--require=code: %zu loops have no C form (-v names them)", left);
    return NULL;
}

/* Prints a status as a warning with its consequence. */
static void warn(const compile_job *j, tc_status s, const char *what) {
    const char *detail = tc_status_detail(s);
    tc_cmd_note(j->c, "warning: %s: %s%s%s", what, tc_status_message(s), *detail ? "\n" : "", detail);
    tc_status_free(s);
}

/* Is the object cache used? Without a directory for it compilation only takes longer. */
static bool uses_cache(const compile_job *j) {
    if (tc_cmd_has(j->c, TC_OPT_dump) || tc_cmd_has(j->c, TC_OPT_no_cache)) return false;
    tc_buf folder = {0};
    tc_status s = tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", &folder);
    const bool there = !s;
    tc_buf_free(&folder);
    if (s) warn(j, s, "compiling without the cache");
    return there;
}

tc_status compile_text(compile_job *j, const tc_buf *text, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out) {
    bool hit = false;
    tc_cmd_phase(j->c, "planning and emitting C");
    tc_status s = uses_cache(j) ? tc_cc_cached(text->data, text->len, kind, o, out, &hit) : tc_cc_build(text->data, text->len, kind, o, out);
    tc_cmd_phase(j->c, hit ? "taking code from the cache" : "the C compiler");
    if (!s) tc_cmd_verbose(j->c, "%zu bytes of C, %zu bytes of code%s", text->len, out->len, hit ? ", from the cache" : "");
    return s;
}

static tc_status compile_groups(compile_job *j, int t, tc_buf *out) {
    tc_buf text = {0};
    const char *dump = tc_cmd_get(j->c, TC_OPT_dump);
    if (dump && j->ntargets > 1) dump = tc_arena_printf(&j->arena, "%s/%s", dump, j->targets[t]);
    tc_cc_options o = {.cc = tc_cmd_get(j->c, TC_OPT_cc), .isa = j->targets[t], .dump = dump};
    tc_unit_finish(j->units[t], &text);
    tc_status s = compile_text(j, &text, TC_CC_SHARED, &o, out);
    tc_buf_free(&text);
    return s;
}

/* Compiles the unit of one instruction set. When the compiler fails, *out stays empty with a warning and the program is written without that code. */
static tc_status make_code(compile_job *j, int t, tc_buf *out) {
    if (!tc_unit_groups(j->units[t])) return NULL;
    tc_status s = compile_groups(j, t, out);
    if (tc_status_code(s) == TC_ENV && !j->must_code) {
        warn(j, s, tc_arena_printf(&j->arena, "no code for %s, the program is written without it", j->targets[t]));
        tc_buf_free(out);
        return NULL;
    }
    if (s) return s;
    s = tc_trust_add(&(tc_native_code){out->data, out->len, j->targets[t], tc_packed_scope});
    if (s) warn(j, s, "the code is not recorded as made by this user, and runs with --trust only");
    return NULL;
}

tc_status write_pt2_to(compile_job *j, const char *path) {
    tc_buf code[MAX_TARGETS] = {{0}};
    tc_extra extra[MAX_TARGETS + 2];
    int n = 0;
    tc_status s = NULL;
    for (int t = 0; t < j->ntargets && !s; t++) {
        s = make_code(j, t, &code[t]);
        if (!s && code[t].len) extra[n++] = (tc_extra){tc_packed_path(&j->arena, j->targets[t]), code[t].data, code[t].len};
    }
    if (j->variants.len) extra[n++] = (tc_extra){tc_packed_variants, j->variants.data, j->variants.len};
    if (j->tuning.len) extra[n++] = (tc_extra){tc_packed_tuning, j->tuning.data, j->tuning.len};
    if (!s) {
        tc_archive_content content = {.programs = (const tc_program *const *)j->programs, .nprograms = j->n, .extra = extra, .nextra = n};
        tc_out *o;
        if (!path) s = tc_cmd_write_archive(j->c, j->archive, content);
        else if (!(s = tc_out_open(path, &o))) s = tc_out_finish(o, tc_archive_write(o, &content));
    }
    for (int t = 0; t < j->ntargets; t++) tc_buf_free(&code[t]);
    return s;
}

/* Options that have no effect on a format are refused. */
static tc_status check_options(tc_cmd *c, int format) {
    const bool finds = tc_cmd_has(c, TC_OPT_bisect), shrinks = tc_cmd_has(c, TC_OPT_minify);
    if (tc_cmd_has(c, TC_OPT_op) && c->noperands) return tc_usage(c, "--op and PROGRAM cannot be used together");
    if ((finds || shrinks) && format != TO_PT2) return tc_usage(c, "--bisect and --minify work on a program: --to pt2");
    if (format == TO_PT2 && tc_cmd_has(c, TC_OPT_prefix)) return tc_usage(c, "--prefix names what C declares: --to c, so, a or o");
    if (format != TO_PT2 && tc_cmd_has(c, TC_OPT_variants)) return tc_usage(c, "--variants belong to --to pt2; C is for one size: --dim SYM=N");
    if (format != TO_PT2 && tc_cmd_has(c, TC_OPT_meta)) return tc_usage(c, "--meta needs --to pt2");
    if (format != TO_PT2 && (tc_cmd_has(c, TC_OPT_tune) || tc_cmd_has(c, TC_OPT_tuning))) return tc_usage(c, "--tune and --tuning need --to pt2");
    return NULL;
}

static tc_status compile(compile_job *j) {
    static const tc_cc_kind kinds[] = {[TO_SO] = TC_CC_SHARED, [TO_O] = TC_CC_OBJECT, [TO_A] = TC_CC_ARCHIVE, [TO_EXE] = TC_CC_PROGRAM};
    tc_cmd *c = j->c;
    int format;
    TC_TRY(tc_cmd_format(c, formats, tc_cmd_get(c, TC_OPT_out), TO_PT2, &format));
    TC_TRY(check_options(c, format)); /* only options of the command line: settings from files may have no effect */
    TC_TRY(configure(j));
    if (tc_cmd_has(c, TC_OPT_print_config)) return print_config(j);
    TC_TRY(read_require(j));
    TC_TRY(read_switches(j));
    TC_TRY(open_programs(j));
    tc_cmd_phase(c, "reading the program");
    TC_TRY(freeze_programs(j));
    TC_TRY(quantize_programs(j));
    TC_TRY(relu_numbers(j));
    if (tc_cmd_has(c, TC_OPT_minify)) return minify(j);
    TC_TRY(emit(j, format != TO_PT2));
    if (tc_cmd_has(c, TC_OPT_bisect)) return bisect(j);
    if (format == TO_C) return compile_to_c(j);
    if (format != TO_PT2) return compile_to_native(j, kinds[format]);
    TC_TRY(tune(j));
    return write_pt2_to(j, NULL);
}

static const tc_opt_id options[] = {
    TC_OPT_out,    TC_OPT_to,     TC_OPT_model,        TC_OPT_mode,     TC_OPT_dim,      TC_OPT_weights, TC_OPT_rename,   TC_OPT_store_weights,
    TC_OPT_meta,   TC_OPT_freeze, TC_OPT_quantize,     TC_OPT_relu_nan, TC_OPT_sanitize, TC_OPT_require, TC_OPT_variants, TC_OPT_tune,
    TC_OPT_tuning, TC_OPT_prefix, TC_OPT_targets,      TC_OPT_cc,       TC_OPT_dump,     TC_OPT_bisect,  TC_OPT_minify,   TC_OPT_no_cache,
    TC_OPT_op,     TC_OPT_config, TC_OPT_print_config, TC_OPT_ops,      TC_OPT_trust,    TC_OPT_NONE};

static tc_status run(tc_cmd *c) {
    compile_job j = {.c = c};
    if (is_extension_source(c)) return build_extension(c, options);
    TC_TRY(tc_cmd_ops(c));
    tc_status s = compile(&j);
    close_all(&j);
    return s;
}

static const tc_tool tool = {.name = "tc-compile",
                             .operands = "[PROGRAM]",
                             .max_operands = 1,
                             .summary = "Compiles a program: fuses it, emits C, runs the C compiler, packages the code.",
                             .details = "Example: tc-compile gpt.pt2 -o fast.pt2",
                             .options = options,
                             .run = run};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
