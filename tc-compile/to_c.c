/* --to c: the program as STEM.c and STEM.h (and STEM.weights with --store-weights=extern). */
#include "tc-compile/compile.h"

#include "runtime/to_c.h"

/* Sizes: --dim SYM=N; what is not given takes the upper end of its range. */
static tc_status sizes(compile_job *j, const tc_program *p, tc_symvalue *vars, size_t n) {
    TC_TRY(tc_cmd_bind(j->c, p, vars, n));
    for (size_t i = 0; i < n; i++) {
        int64_t lo, hi;
        tc_sym s = tc_sym_var_at(p->sym, i);
        if (vars[i].bound || tc_sym_type(s) != TC_SYM_INT) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        if (hi == TC_SYM_NO_HI || hi > (INT64_C(1) << 40))
            return tc_usage(j->c, "--to c needs the size of %s: --dim %s=N", tc_sym_var_name(s), tc_sym_var_name(s));
        vars[i] = (tc_symvalue){.i = hi, .bound = true};
        tc_cmd_verbose(j->c, "%s = %lld, the upper end of its range", tc_sym_var_name(s), (long long)hi);
    }
    return NULL;
}

static tc_status save(compile_job *j, const char *stem, const char *suffix, const tc_buf *b) {
    tc_out *o;
    TC_TRY(tc_cmd_create(j->c, tc_arena_printf(&j->arena, "%s%s", stem, suffix), false, &o));
    return tc_cmd_finish(j->c, o, tc_out_write(o, tc_buf_str(b), b->len));
}

tc_status compile_to_c(compile_job *j) {
    const char *path = tc_cmd_get(j->c, TC_OPT_out), *const stores[] = {"embed", "extern", NULL};
    int which = 0, store;
    if (!path || !strcmp(path, "-")) return tc_usage(j->c, "--to c writes two files: -o STEM");
    TC_TRY(tc_cmd_choice(j->c, TC_OPT_store_weights, stores, 0, &store));
    char *stem = tc_arena_strdup(&j->arena, path);
    size_t len = strlen(stem);
    if (len > 2 && !strcmp(stem + len - 2, ".c")) stem[len - 2] = 0;
    const char *slash = strrchr(stem, '/');
    for (int i = 0; i < j->n; i++)
        if (!strcmp(j->programs[i]->name, "model")) which = i;
    const tc_program *p = tc_exec_program(j->execs[which]);
    size_t n = tc_sym_var_count(p->sym);
    tc_symvalue *vars = TC_NEWN(&j->arena, tc_symvalue, n + 1);
    TC_TRY(sizes(j, p, vars, n));
    tc_buf c = {0}, h = {0}, weights = {0};
    tc_to_c_options o = {.stem = slash ? slash + 1 : stem, .made_by = "tc-compile " TC_VERSION, .weights_inside = store == 0};
    tc_status s = tc_exec_to_c(j->execs[which], vars, n, &o, &c, &h, &weights);
    if (!s) s = save(j, stem, ".c", &c);
    if (!s) s = save(j, stem, ".h", &h);
    if (!s && store == 1) s = save(j, stem, ".weights", &weights);
    tc_buf_free(&c);
    tc_buf_free(&h);
    tc_buf_free(&weights);
    return s;
}
