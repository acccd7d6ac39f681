/* --variants SYM=N,...: groups of the same program with a size known, beside those for every size. tc-run takes the one that fits. */
#include "tc-compile/compile.h"

#include "base/text.h"
#include "codegen/packed.h"

static tc_sym symbol(const tc_program *p, const char *name, size_t len) {
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        tc_sym v = tc_sym_var_at(p->sym, i);
        const char *s = tc_sym_var_name(v);
        if (tc_sym_type(v) == TC_SYM_INT && strlen(s) == len && !memcmp(s, name, len)) return v;
    }
    return NULL;
}

static tc_status emit_at(compile_job *j, const tc_exec_options *o, const tc_program *p, tc_sym var, int64_t value) {
    tc_exec *e = NULL;
    tc_emit_count count = {0};
    tc_program *at = tc_program_clone_at(p, var, value);
    tc_status s = tc_program_verify(at);
    if (!s) s = tc_exec_create(at, o, &e);
    for (int t = 0; t < j->ntargets && !s; t++) s = tc_exec_emit(e, j->units[t], NULL, NULL, &count);
    tc_exec_destroy(e);
    tc_program_release(at);
    return tc_annotate(s, "%s at %s=%lld", p->name, tc_sym_var_name(var), (long long)value);
}

tc_status emit_variants(compile_job *j, const tc_exec_options *o) {
    const char *spec = tc_cmd_get(j->c, TC_OPT_variants), *eq = strchr(spec, '=');
    const tc_program *p = j->programs[0];
    int64_t lo, hi, value, seen[TC_PACKED_VARIANTS];
    int n_seen = 0;
    if (!eq || eq == spec) return tc_usage(j->c, "--variants %s: expected SYM=N,N,...", spec);
    if (j->n > 1) return tc_usage(j->c, "--variants of %d programs: --model NAME picks one", j->n);
    tc_sym var = symbol(p, spec, (size_t)(eq - spec));
    if (!var) return tc_usage(j->c, "--variants %s: the program has no such symbol; tc-run --signature shows them", spec);
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_BUFFER || p->outputs[i].kind == TC_OUT_PARAMETER)
            return tc_error(TC_UNSUPPORTED, "--variants of a program that changes its %s: its variants would not share it",
                            p->inputs[p->outputs[i].target].name);
    tc_sym_range(p->sym, var, &lo, &hi);
    for (const char *s = eq; *s; s += strcspn(s, ",")) {
        size_t n = strcspn(++s, ",");
        if (!tc_parse_i64(tc_arena_strndup(&j->arena, s, n), &value)) return tc_usage(j->c, "--variants %s: expected SYM=N,N,...", spec);
        if (value < lo || value > hi)
            return tc_usage(j->c, "--variants %s: %lld, expected %lld..%lld", spec, (long long)value, (long long)lo, (long long)hi);
        if (n_seen == TC_PACKED_VARIANTS) return tc_usage(j->c, "--variants %s: more than %d values", spec, TC_PACKED_VARIANTS);
        for (int i = 0; i < n_seen; i++)
            if (seen[i] == value) return tc_usage(j->c, "--variants %s: %lld stands there twice", spec, (long long)value);
        seen[n_seen++] = value;
        TC_TRY(emit_at(j, o, p, var, value));
        tc_buf_printf(&j->variants, "%s=%lld\n", tc_sym_var_name(var), (long long)value);
    }
    return NULL;
}
