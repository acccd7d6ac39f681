/* The program operand. */
#include "cmd/program.h"

#include "ckpt/ckpt.h"
#include "file/weights.h"
#include "op/functionalise.h"

tc_status tc_cmd_archive(tc_cmd *c, const char *path, tc_archive **out_archive) {
    tc_blob *b;
    TC_TRY(tc_cmd_read(c, path, "the program", &b));
    tc_format f = tc_format_of(b->data, b->len);
    tc_status st = f == TC_FORMAT_ZIP    ? tc_archive_open(b, out_archive)
                   : f == TC_FORMAT_ONNX ? tc_cmd_onnx(c, b, out_archive)
                                         : tc_error(TC_CONTENT, "%s is %s, expected a program (.pt2) or an ONNX model", b->name, tc_format_name(f));
    tc_blob_release(b);
    return st;
}

tc_status tc_cmd_weights(tc_cmd *c, tc_program *p) {
    const char *path = tc_cmd_get(c, TC_OPT_weights);
    const char *rules[64];
    int n = tc_cmd_count(c, TC_OPT_rename);
    tc_tensors w = {0};
    if (!path) return n ? tc_usage(c, "--rename without --weights") : NULL;
    if (n > 64) return tc_usage(c, "more than 64 --rename");
    for (int i = 0; i < n; i++) rules[i] = tc_cmd_value(c, TC_OPT_rename, i);
    TC_TRY(tc_ckpt_weights(path, &w));
    tc_status st = tc_weights_apply(p, &w, rules, n, path);
    tc_tensors_deinit(&w);
    return st;
}

tc_status tc_cmd_program_named(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program) {
    tc_program *p;
    TC_TRY(tc_archive_program(a, name, &p));
    tc_status st = tc_functionalise(p);
    if (!st) st = tc_program_verify(p);
    if (!st) st = tc_cmd_weights(c, p);
    if (st) tc_program_release(p);
    else *out_program = p;
    return st;
}

tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, tc_program **out_program) {
    return tc_cmd_program_named(c, a, tc_cmd_get(c, TC_OPT_model), out_program);
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
