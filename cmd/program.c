/* Opening the program operand (program.h). */
#include "cmd/program.h"

#include "op/functionalise.h"

tc_status tc_cmd_archive(tc_cmd *c, tc_archive **out_archive, const char **out_name) {
    const char *path = c->noperands ? c->operands[0] : "-";
    tc_blob *b;
    *out_name = strcmp(path, "-") ? path : "stdin";
    TC_TRY(tc_cmd_read(c, path, "the program", &b));
    tc_status s = tc_archive_open(b, out_archive);
    tc_blob_release(b);
    return s;
}

const char *tc_cmd_program_name(const tc_cmd *c) {
    const char *name = tc_cmd_get(c, TC_OPT_model), *mode = tc_cmd_get(c, TC_OPT_mode);
    if (name) return name;
    return mode && !strcmp(mode, "train") ? "train" : NULL;
}

tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program) {
    (void)c;
    tc_program *p;
    TC_TRY(tc_archive_program(a, name, &p));
    tc_status s = p->functional ? NULL : tc_functionalise(p);
    if (s) tc_program_release(p);
    else *out_program = p;
    return s;
}

tc_status tc_cmd_bind(const tc_cmd *c, const tc_program *p, tc_symvalue *vars, size_t n) {
    for (size_t i = 0; i < n; i++) vars[i] = (tc_symvalue){.bound = false};
    for (int k = 0; k < tc_cmd_count(c, TC_OPT_dim); k++) {
        const char *spec = tc_cmd_value(c, TC_OPT_dim, k), *eq = strchr(spec, '=');
        char *end = NULL;
        long long v = eq ? strtoll(eq + 1, &end, 10) : 0;
        if (!eq || eq == spec || end == eq + 1 || *end) return tc_usage(c, "--dim %s: expected SYM=N", spec);
        size_t len = (size_t)(eq - spec), at = n;
        tc_buf known = {0};
        for (size_t i = 0; i < n; i++) {
            const char *name = tc_sym_var_name(tc_sym_var_at(p->sym, i));
            tc_buf_printf(&known, "%s%s", i ? ", " : "", name);
            if (strlen(name) == len && !memcmp(name, spec, len)) at = i;
        }
        tc_status s = at < n ? NULL : tc_usage(c, "--dim %s: the program has no such symbol; it has %s", spec, n ? tc_buf_str(&known) : "none");
        tc_buf_free(&known);
        if (s) return s;
        int64_t lo, hi;
        tc_sym_range(p->sym, tc_sym_var_at(p->sym, at), &lo, &hi);
        if (v < lo || v > hi) return tc_usage(c, "--dim %s: expected %lld..%lld", spec, (long long)lo, (long long)hi);
        vars[at] = (tc_symvalue){.i = v, .bound = true};
    }
    return NULL;
}
