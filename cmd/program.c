/* The program operand. */
#include "cmd/program.h"

#include "file/weights.h"
#include "op/functionalise.h"

tc_status tc_cmd_archive(tc_cmd *c, const char *path, tc_archive **out_archive) {
    tc_blob *b;
    TC_TRY(tc_cmd_read(c, path, "the program", &b));
    tc_format f = tc_format_of(b->data, b->len);
    tc_status st = f == TC_FORMAT_ZIP ? tc_archive_open(b, out_archive) : tc_error(TC_CONTENT, "%s is %s, expected a program (.pt2)", b->name, tc_format_name(f));
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
    TC_TRY(tc_tensors_load(path, &w));
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

tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, tc_program **out_program) { return tc_cmd_program_named(c, a, tc_cmd_get(c, TC_OPT_model), out_program); }
