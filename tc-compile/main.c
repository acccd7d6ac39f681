/* tc-compile: a program becomes a compiled program, or C. Fuses, emits, compiles, packages; the work is in lib/codegen. */
#include "tc-compile/compile.h"

static const char *const formats[] = {"pt2", "c", "so", "o", "a", "exe", NULL};
enum { TO_PT2, TO_C, TO_SO, TO_O, TO_A, TO_EXE };

/* --to, else the suffix of -o, else pt2; a conflict of the two is a usage error. */
static tc_status choose_format(tc_cmd *c, int *out) {
    const char *path = tc_cmd_get(c, TC_OPT_out), *dot = path ? strrchr(path, '.') : NULL;
    int by_suffix = -1;
    for (int i = 0; dot && formats[i]; i++)
        if (!strcmp(dot + 1, formats[i])) by_suffix = i;
    TC_TRY(tc_cmd_choice(c, TC_OPT_to, formats, by_suffix >= 0 ? by_suffix : TO_PT2, out));
    if (tc_cmd_has(c, TC_OPT_to) && by_suffix >= 0 && by_suffix != *out) return tc_usage(c, "--to %s and -o %s do not agree", formats[*out], path);
    return NULL;
}

static void close_all(compile_job *j) {
    for (int i = 0; i < j->n; i++) {
        tc_exec_destroy(j->execs[i]);
        tc_program_release(j->programs[i]);
    }
    tc_unit_destroy(j->unit);
    tc_archive_close(j->archive);
    tc_arena_free(&j->arena);
}

static tc_status open_programs(compile_job *j) {
    tc_cmd *c = j->c;
    const char *mode = tc_cmd_get(c, TC_OPT_mode), *one = tc_cmd_get(c, TC_OPT_model);
    if (!one && mode) one = strcmp(mode, "train") ? "model" : "train";
    j->input = c->noperands ? c->operands[0] : "-";
    TC_TRY(tc_cmd_archive(c, j->input, &j->archive));
    size_t count = tc_archive_count(j->archive);
    j->programs = TC_NEWN(&j->arena, tc_program *, count + 1);
    j->execs = TC_NEWN(&j->arena, tc_exec *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *name = tc_archive_name(j->archive, i);
        if (one && count > 1 && strcmp(one, name)) continue;
        TC_TRY(tc_cmd_program_named(c, j->archive, name, &j->programs[j->n]), "%s", j->input);
        j->n++;
    }
    if (j->n) return NULL;
    TC_TRY(tc_cmd_program_named(c, j->archive, one, &j->programs[0])); /* says which names there are */
    j->n = 1;
    return NULL;
}

static void interpreted(void *ctx, const char *group, const char *why) { tc_cmd_verbose(ctx, "%s stays interpreted: %s", group, why); }

/* Every loop of every program becomes a group of the unit; equal ones once. */
static tc_status emit(compile_job *j, bool loops) {
    tc_exec_options o = {.pool = tc_cmd_pool(j->c), .threads = tc_cmd_threads(j->c), .loops = loops};
    tc_emit_count count = {0};
    TC_TRY(tc_isa_choose(NULL, &j->row));
    j->isa = tc_isa_name(j->row);
    j->unit = tc_unit_create(&(tc_unit_options){.isa = j->isa, .made_by = "tc " TC_VERSION});
    for (int i = 0; i < j->n; i++) {
        TC_TRY(tc_exec_create(j->programs[i], &o, &j->execs[i]), "%s", j->programs[i]->name);
        TC_TRY(tc_exec_emit(j->execs[i], j->unit, interpreted, j->c, &count));
        if (!j->c->verbose) continue;
        tc_buf b = {0};
        tc_exec_report(j->execs[i], &b);
        fprintf(stderr, "%s", tc_buf_str(&b));
        tc_buf_free(&b);
        say_memory(j, j->execs[i]);
    }
    tc_cmd_verbose(j->c, "%zu loops, %zu different groups for %s, %zu interpreted", count.loops, tc_unit_groups(j->unit), j->isa, count.left);
    return NULL;
}

tc_status compile_object(compile_job *j, tc_cc_kind kind, tc_buf *out) {
    tc_buf text = {0};
    bool hit = false;
    tc_cc_options o = {.cc = tc_cmd_get(j->c, TC_OPT_cc), .isa = j->isa, .dump = tc_cmd_get(j->c, TC_OPT_dump)};
    bool build = o.dump || tc_cmd_has(j->c, TC_OPT_no_cache);
    tc_unit_finish(j->unit, &text);
    tc_status s = build ? tc_cc_build(text.data, text.len, kind, &o, out) : tc_cc_cached(text.data, text.len, kind, &o, out, &hit);
    if (!s) tc_cmd_verbose(j->c, "%zu bytes of C, %zu bytes of code%s", text.len, out->len, hit ? ", from the cache" : "");
    tc_buf_free(&text);
    return s;
}

static tc_status write_pt2(compile_job *j) {
    tc_buf code = {0};
    unsigned char hash[TC_TRUST_BYTES];
    tc_status s = tc_unit_groups(j->unit) ? compile_object(j, TC_CC_SHARED, &code) : NULL;
    if (!s && code.len) {
        tc_trust_hash(code.data, code.len, j->isa, tc_packed_scope, strlen(tc_packed_scope), hash);
        s = tc_trust_add(hash);
    }
    if (!s) {
        tc_extra extra = {tc_packed_path(&j->arena, j->isa), code.data, code.len};
        tc_archive_content content = {.programs = (const tc_program *const *)j->programs, .nprograms = j->n, .extra = &extra, .nextra = code.len > 0};
        s = tc_cmd_write_archive(j->c, content);
    }
    tc_buf_free(&code);
    return s;
}

static tc_status run(tc_cmd *c) {
    compile_job j = {.c = c};
    int format;
    TC_TRY(choose_format(c, &format));
    tc_status s = open_programs(&j);
    static const tc_cc_kind kinds[] = {[TO_SO] = TC_CC_SHARED, [TO_O] = TC_CC_OBJECT, [TO_A] = TC_CC_ARCHIVE, [TO_EXE] = TC_CC_PROGRAM};
    if (!s) s = emit(&j, format != TO_PT2);
    if (!s && format == TO_PT2) s = write_pt2(&j);
    else if (!s && format == TO_C) s = compile_to_c(&j);
    else if (!s) s = compile_to_native(&j, kinds[format]);
    close_all(&j);
    return s;
}

static const tc_opt_id options[] = {TC_OPT_out,           TC_OPT_to, TC_OPT_model, TC_OPT_mode,     TC_OPT_dim, TC_OPT_weights, TC_OPT_rename,
                                    TC_OPT_store_weights, TC_OPT_cc, TC_OPT_dump,  TC_OPT_no_cache, TC_OPT_NONE};
static const tc_tool tool = {.name = "tc-compile",
                             .operands = "[PROGRAM]",
                             .max_operands = 1,
                             .summary = "Compiles a program: fuses it, emits C, runs the C compiler, packages the code.",
                             .options = options,
                             .run = run};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
