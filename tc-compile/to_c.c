/* --to c: writes the program as STEM.c and STEM.h (and STEM.weights with --store-weights=extern); --to so, o, a, exe: the same C, compiled
 * (runtime/to_c.h). */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "codegen/cc.h"
#include "runtime/to_c.h"

/* Is the symbol part of an input's type? Others are data-dependent. */
static bool shown(const tc_program *p, tc_sym var) {
    for (int i = 0; i < p->ninputs; i++) {
        const tc_value *v = p->inputs[i].value;
        if (p->inputs[i].kind != TC_IN_USER || !v) continue;
        if (v->kind == TC_V_SYM && tc_sym_contains(v->sym, var)) return true;
        for (int d = 0; v->kind == TC_V_TENSOR && d < v->meta.rank; d++)
            if (tc_sym_contains(v->meta.size[d], var)) return true;
    }
    return false;
}

/* Binds sizes: --dim SYM=N, else the upper end of the symbol's range; *out_open: there is none, and the status says of which. */
static tc_status sizes(compile_job *j, const tc_program *p, tc_symvalue *vars, size_t n, bool *out_open) {
    TC_TRY(tc_cmd_bind(j->c, p, vars, n));
    tc_buf names = {0}, options = {0};
    for (size_t i = 0; i < n; i++) {
        int64_t lo, hi;
        tc_sym s = tc_sym_var_at(p->sym, i);
        if (vars[i].bound || tc_sym_type(s) != TC_SYM_INT || !shown(p, s)) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        if (hi == TC_SYM_NO_HI || hi > (INT64_C(1) << 40)) {
            tc_buf_printf(&names, "%s%s", names.len ? ", " : "", tc_sym_var_name(s));
            tc_buf_printf(&options, " --dim %s=N", tc_sym_var_name(s));
            continue;
        }
        vars[i] = (tc_symvalue){.i = hi, .bound = true};
        tc_cmd_verbose(j->c, "%s = %lld, the upper end of its range", tc_sym_var_name(s), (long long)hi);
    }
    *out_open = names.len;
    tc_status st = names.len ? tc_usage(j->c, "C needs the size of %s:%s", tc_buf_str(&names), tc_buf_str(&options)) : NULL;
    tc_buf_free(&names);
    tc_buf_free(&options);
    return st;
}

typedef struct {
    const char *path;
    const tc_buf *bytes;
    bool program;
} product;

/* Writes all files or, when the disk is full, none: no file is renamed into place before all are synced. */
static tc_status save(compile_job *j, const product *files, size_t n) {
    tc_out *o[3] = {NULL};
    tc_status s = NULL;
    TC_ASSERT(n <= 3);
    for (size_t i = 0; i < n && !s; i++) {
        s = tc_cmd_create(j->c, files[i].path, true, &o[i]);
        if (!s && files[i].program) tc_out_executable(o[i]);
        if (!s) s = tc_out_write(o[i], tc_buf_str(files[i].bytes), files[i].bytes->len);
        if (!s) s = tc_out_sync(o[i]);
    }
    for (size_t i = 0; i < n; i++) s = tc_cmd_finish(j->c, o[i], s);
    return s;
}

static const char *with_suffix(compile_job *j, const char *stem, const char *suffix) { return tc_arena_printf(&j->arena, "%s%s", stem, suffix); }

static tc_status bound(compile_job *j, int which, tc_symvalue **out_vars, size_t *out_n, bool *out_open) {
    const tc_program *p = tc_exec_program(j->execs[which]);
    *out_n = tc_sym_var_count(p->sym);
    *out_vars = TC_NEWN(&j->arena, tc_symvalue, *out_n + 1);
    return sizes(j, p, *out_vars, *out_n, out_open);
}

/* Chooses the program to write (of several for different sizes the one that admits these), binds its sizes, and derives its name from -o without
 * directory and suffix. */
static tc_status chosen(compile_job *j, const char *format, const char *suffix, char **out_stem, int *out_which, tc_symvalue **out_vars,
                        size_t *out_n) {
    const char *path = tc_cmd_get(j->c, TC_OPT_out);
    TC_TRY(one_program(j, format, out_which));
    *out_stem = tc_arena_strdup(&j->arena, path);
    size_t len = strlen(path), tail = strlen(suffix);
    if (tail && len > tail && !strcmp(path + len - tail, suffix)) (*out_stem)[len - tail] = 0;
    const char *name = j->programs[*out_which]->name;
    bool open = false;
    tc_status first = bound(j, *out_which, out_vars, out_n, &open);
    if (open) return first; /* any of them may be meant */
    bool fits = !first && tc_program_admits(j->programs[*out_which], *out_vars, *out_n);
    for (int i = 0; i < j->n && !fits; i++) {
        tc_symvalue *vars;
        size_t n;
        if (!j->programs[i]->instead_of || strcmp(j->programs[i]->instead_of, name)) continue;
        tc_status st = bound(j, i, &vars, &n, &open);
        fits = !st && tc_program_admits(j->programs[i], vars, n);
        if (fits) *out_which = i, *out_vars = vars, *out_n = n;
        tc_status_free(st);
    }
    if (!fits) return first;
    tc_status_free(first);
    return NULL;
}

typedef enum { EMBED, EXTERN, NONE } weights_store;
static tc_status read_store(compile_job *j, int *out_store) {
    static const char *const stores[] = {[EMBED] = "embed", [EXTERN] = "extern", [NONE] = "none", NULL};
    return tc_cmd_choice(j->c, TC_OPT_store_weights, stores, EMBED, out_store);
}

tc_status compile_to_c(compile_job *j) {
    const char *path = tc_cmd_get(j->c, TC_OPT_out);
    int which, store;
    char *stem;
    size_t n;
    tc_symvalue *vars;
    if (!path || !strcmp(path, "-")) return tc_usage(j->c, "--to c writes two files: -o STEM");
    TC_TRY(read_store(j, &store));
    TC_TRY(chosen(j, "--to c", ".c", &stem, &which, &vars, &n));
    tc_buf c = {0}, h = {0}, weights = {0};
    tc_to_c_options o = {.stem = tc_path_last(stem),
                         .prefix = tc_cmd_get(j->c, TC_OPT_prefix),
                         .made_by = "tc-compile " TC_VERSION,
                         .weights_inside = store == EMBED,
                         .sanitize = j->sanitize};
    tc_status s = tc_exec_to_c(j->execs[which], vars, n, &o, &c, &h, &weights);
    const product files[] = {
        {with_suffix(j, stem, ".c"), &c, false}, {with_suffix(j, stem, ".h"), &h, false}, {with_suffix(j, stem, ".weights"), &weights, false}};
    if (!s) s = save(j, files, store == EXTERN ? 3 : 2);
    tc_buf_free(&c);
    tc_buf_free(&h);
    tc_buf_free(&weights);
    return s;
}

tc_status compile_to_native(compile_job *j, tc_cc_kind kind) {
    static const char *const suffix[] = {[TC_CC_SHARED] = ".so", [TC_CC_OBJECT] = ".o", [TC_CC_ARCHIVE] = ".a", [TC_CC_PROGRAM] = ""};
    const char *path = tc_cmd_get(j->c, TC_OPT_out);
    bool program = kind == TC_CC_PROGRAM;
    int which, store;
    char *stem;
    size_t n;
    tc_symvalue *vars;
    if (!path || !strcmp(path, "-")) return tc_usage(j->c, "--to %s needs -o PATH", program ? "exe" : suffix[kind] + 1);
    TC_TRY(read_store(j, &store));
    if (program && store != EMBED) return tc_usage(j->c, "--to exe holds its weights: --store-weights=embed");
    TC_TRY(chosen(j, "native code", suffix[kind], &stem, &which, &vars, &n));
    tc_buf c = {0}, h = {0}, weights = {0}, code = {0};
    tc_to_c_options o = {.stem = tc_path_last(stem),
                         .prefix = tc_cmd_get(j->c, TC_OPT_prefix),
                         .made_by = "tc-compile " TC_VERSION,
                         .joined = true,
                         .filter = program,
                         .weights_beside = store == EMBED,
                         .targets = j->targets,
                         .ntargets = j->ntargets,
                         .sanitize = j->sanitize};
    tc_cc_options build = {.cc = tc_cmd_get(j->c, TC_OPT_cc),
                           .isa = j->targets[0],
                           .targets = j->targets,
                           .ntargets = j->ntargets,
                           .name = "model",
                           .weights = store == EMBED ? &weights : NULL,
                           .dump = tc_cmd_get(j->c, TC_OPT_dump)};
    tc_status s = tc_exec_to_c(j->execs[which], vars, n, &o, &c, &h, &weights);
    if (!s) s = compile_text(j, &c, kind, &build, &code);
    const product files[] = {{path, &code, program}, {with_suffix(j, stem, ".h"), &h, false}, {with_suffix(j, stem, ".weights"), &weights, false}};
    if (!s) s = save(j, files, program ? 1 : store == EXTERN ? 3 : 2);
    tc_buf_free(&c);
    tc_buf_free(&h);
    tc_buf_free(&weights);
    tc_buf_free(&code);
    return s;
}
