/* Compiled code of the program operand (code.h). */
#include "cmd/code.h"

static const tc_abi_group *find(void *self, const uint8_t key[TC_ABI_KEY_BYTES]) {
    tc_cmd_code *code = self;
    const tc_abi_group *g = tc_modules_find(code->modules, key);
    code->missing += !g;
    return g;
}

tc_status tc_cmd_code_open(tc_cmd *c, const tc_archive *a, tc_cmd_code *out) {
    static const char *const stances[] = {"default", "force_eager", "eager_on_recompile", "fail_on_recompile", NULL}, *const executors[] = {
                                                                                                                          "interpreted", "compiled",
                                                                                                                          NULL};
    int stance, executor;
    tc_packed packed;
    *out = (tc_cmd_code){0};
    TC_TRY(tc_cmd_choice(c, TC_OPT_stance, stances, 0, &stance));
    TC_TRY(tc_cmd_choice(c, TC_OPT_executor, executors, -1, &executor));
    if ((stance == 1 && executor == 1) || (stance == 3 && executor == 0))
        return tc_usage(c, "--stance=%s and --executor=%s do not agree", stances[stance], executors[executor]);
    out->must = stance == 3 || executor == 1;
    if (stance == 1 || executor == 0) return NULL;
    out->modules = tc_modules_create();
    tc_status s = tc_packed_load(a, getenv("TC_ISA"), tc_cmd_has(c, TC_OPT_trust), out->modules, &packed);
    if (s) {
        tc_cmd_code_close(out);
        return s;
    }
    out->note = packed.note;
    if (packed.isa) tc_cmd_verbose(c, "compiled code for %s, %zu groups", packed.isa, tc_modules_groups(out->modules));
    if (packed.note && !out->must) {
        const char *path = c->noperands && strcmp(c->operands[0], "-") ? c->operands[0] : "IN";
        tc_cmd_note(c, "compiled code is not used: %s; running the graph instead; tc-compile %s -o MINE.pt2 makes your own", packed.note, path);
    }
    if (packed.isa || out->must) out->code = (tc_exec_code){find, out};
    return NULL;
}

tc_status tc_cmd_code_check(tc_cmd *c, const tc_cmd_code *code) {
    (void)c;
    if (!code->must || !code->missing) return NULL;
    tc_status s = code->note ? tc_error(TC_UNSUPPORTED, "compiled code is not used: %s", code->note)
                             : tc_error(TC_UNSUPPORTED, "%zu groups of the program have no compiled code", code->missing);
    return tc_status_add(s, "tc-compile makes it; --stance=default interprets what is missing, with the same bits");
}

void tc_cmd_code_close(tc_cmd_code *code) {
    tc_modules_destroy(code->modules);
    code->modules = NULL;
}
