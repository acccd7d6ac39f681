/* Loads compiled code and tuning for the program operand, and reads --numerics and the like (code.h). */
#include "cmd/code.h"

#include "base/file.h"
#include "codegen/cache.h"
#include "kernel/fp32_precision.h"

#include <unistd.h>

static const tc_abi_group *find(void *self, const uint8_t key[TC_ABI_KEY_BYTES]) {
    tc_cmd_code *code = self;
    const tc_abi_group *g = tc_modules_find(code->modules, key);
    *(g ? &code->found : &code->missing) += 1;
    return g;
}

static const tc_abi_group *find_general(void *self, const tc_loop *l, tc_arena *a, tc_group_desc *out) {
    tc_cmd_code *code = self;
    const tc_abi_group *g = code->operators ? tc_operators_find(code->operators, l, a, out) : NULL;
    if (g) code->general++, code->missing--;
    return g;
}

/* ---- operators compiled one at a time ---- */
static bool is_archive_name(const char *name) {
    const size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".pt2") && *name != '.';
}

static tc_status add_operators(tc_cmd *c, const char *path, tc_operators *to) {
    tc_archive *a;
    const char *note;
    TC_TRY(tc_archive_open_file(path, &a));
    tc_status s = tc_operators_load(to, a, getenv("TC_ISA"), tc_cmd_has(c, TC_OPT_trust), &note);
    tc_archive_close(a);
    if (!s && note) tc_cmd_note(c, "%s: its operators are not used: %s", path, note);
    return s;
}

tc_status tc_cmd_operators(tc_cmd *c, tc_operators **out) {
    const char *dir = getenv("TC_OPERATORS");
    tc_buf path = {0};
    tc_arena a = {0};
    char **names;
    size_t n = 0;
    tc_status s = NULL;
    *out = NULL;
    if (dir) tc_buf_puts(&path, dir);
    else tc_user_path("XDG_DATA_HOME", ".local/share", "tc-operators", &path);
    if (path.len) s = tc_folder_names(&a, path.data, is_archive_name, &names, &n);
    if (dir) s = tc_annotate(s, "TC_OPERATORS");
    else if (s) tc_status_free(s), s = NULL; /* no such directory, or no readable home */
    if (n && !s) *out = tc_operators_create();
    for (size_t i = 0; i < n && !s; i++) s = add_operators(c, tc_arena_printf(&a, "%s/%s", path.data, names[i]), *out);
    tc_arena_free(&a);
    tc_buf_free(&path);
    if (!s) return NULL;
    tc_operators_destroy(*out);
    *out = NULL;
    return s;
}

tc_status tc_cmd_code_open(tc_cmd *c, const tc_archive *a, tc_cmd_code *out) {
    enum { FORCE_EAGER = 1, FAIL_ON_RECOMPILE = 3, SKIP_GUARD_EVAL, LOOPS };
    static const char *const stances[] = {"default", "force_eager", "eager_on_recompile", "fail_on_recompile", "skip_guard_eval_unsafe",
                                          "loops",   NULL};
    static const char *const executors[] = {"interpreted", "compiled", NULL};
    int stance, executor;
    tc_packed packed;
    *out = (tc_cmd_code){0};
    TC_TRY(tc_cmd_choice(c, TC_OPT_stance, stances, 0, &stance));
    TC_TRY(tc_cmd_choice(c, TC_OPT_executor, executors, -1, &executor));
    const bool eager = stance == FORCE_EAGER || stance == LOOPS;
    if ((eager && executor == 1) || (stance == FAIL_ON_RECOMPILE && executor == 0))
        return tc_usage(c, "--stance=%s and --executor=%s do not agree", stances[stance], executors[executor]);
    out->must = stance == FAIL_ON_RECOMPILE || executor == 1;
    out->skip_values = stance == SKIP_GUARD_EVAL, out->loops = stance == LOOPS;
    if (eager || executor == 0) return NULL;
    out->modules = tc_modules_create();
    tc_status s = tc_packed_load(a, getenv("TC_ISA"), tc_cmd_has(c, TC_OPT_trust), out->modules, &packed);
    if (s) {
        tc_cmd_code_close(out);
        return s;
    }
    out->note = packed.note;
    out->isa = packed.isa;
    if (packed.note && !out->must) {
        const char *path = c->noperands && strcmp(c->operands[0], "-") ? c->operands[0] : "IN";
        tc_cmd_note(c, "compiled code is not used: %s; running the graph instead; tc-compile %s -o MINE.pt2 makes your own", packed.note, path);
    }
    TC_TRY(tc_cmd_operators(c, &out->operators));
    if (packed.isa || out->must || out->operators) out->code = (tc_exec_code){find, out, find_general};
    return NULL;
}

tc_status tc_cmd_code_check(tc_cmd *c, const tc_cmd_code *code) {
    (void)c;
    if (!code->must || !code->missing) return NULL;
    tc_status s = code->note ? tc_error(TC_UNSUPPORTED, "compiled code is not used: %s", code->note)
                             : tc_error(TC_UNSUPPORTED, "%zu groups of the program have no compiled code", code->missing);
    return tc_status_add(s, "tc-compile makes it; --stance=default interprets what is missing, with the same bits");
}

void tc_cmd_code_report(tc_cmd *c, const tc_cmd_code *code) {
    const size_t all = code->found + code->general + code->missing;
    if (code->operators) tc_cmd_verbose(c, "operators compiled one at a time serve %zu of %zu groups", code->general, all);
    if (code->isa && all) tc_cmd_verbose(c, "compiled code for %s serves %zu of %zu groups", code->isa, code->found, all);
}

/* Parses one MODE of --fp32-precision; "none" leaves *out unchanged. */
static bool read_precision(const char *name, size_t len, int *out) {
    if (len == 4 && !memcmp(name, "none", 4)) return true;
    for (int i = 0; tc_fp32_names[i]; i++)
        if (strlen(tc_fp32_names[i]) == len && !memcmp(tc_fp32_names[i], name, len)) return *out = i, true;
    return false;
}
tc_status tc_cmd_numerics(tc_cmd *c, tc_numerics *out) {
    static const char *const modes[] = {"strict", "fast", NULL}, *const kinds[] = {"", "matmul=", "conv="};
    int mode, how[] = {TC_FP32_IEEE, -1, -1}; /* by kind of operator; -1: as the first */
    TC_TRY(tc_cmd_choice(c, TC_OPT_numerics, modes, 0, &mode));
    for (const char *s = tc_cmd_get(c, TC_OPT_fp32_precision), *item; s; s = *s ? s + 1 : NULL) {
        int kind = 2;
        item = s;
        while (strncmp(s, kinds[kind], strlen(kinds[kind])) != 0) kind--;
        s += strlen(kinds[kind]);
        const size_t n = strcspn(s, ",");
        if (!read_precision(s, n, &how[kind]))
            return tc_usage(c, "--fp32-precision %.*s: expected ieee, bf16x3, tf32, bf16 or none, or matmul= or conv= and one of these",
                            (int)(s + n - item), item);
        s += n;
    }
    *out = (tc_numerics){mode == 1, (tc_fp32)how[how[1] >= 0 ? 1 : 0], (tc_fp32)how[how[2] >= 0 ? 2 : 0]};
    return NULL;
}

tc_status tc_cmd_sdpa(tc_cmd *c, tc_sdpa *out) {
    const char *list = tc_cmd_get(c, TC_OPT_sdpa);
    static const struct {
        const char *list;
        tc_sdpa how;
    } lists[] = {
        {"auto", TC_SDPA_AUTO}, {"math", TC_SDPA_MATH}, {"flash", TC_SDPA_FLASH}, {"flash,math", TC_SDPA_AUTO}, {"math,flash", TC_SDPA_MATH}};
    *out = TC_SDPA_AUTO;
    for (size_t i = 0; list && i < sizeof lists / sizeof *lists; i++)
        if (!strcmp(list, lists[i].list)) return *out = lists[i].how, NULL;
    return list ? tc_usage(c, "--sdpa %s: expected auto, math, flash, or flash and math in an order: flash,math", list) : NULL;
}

void tc_cmd_log_sdpa(const tc_cmd *c, const tc_exec *e) {
    if (!tc_cmd_logs(c, "sdpa")) return;
    tc_buf b = {0};
    tc_exec_report_attention(e, &b);
    if (!b.len) tc_buf_puts(&b, "no attention\n");
    tc_cmd_log_text(c, "sdpa", false, b.data, b.len);
    tc_buf_free(&b);
}

void tc_cmd_code_close(tc_cmd_code *code) {
    tc_operators_destroy(code->operators);
    tc_modules_destroy(code->modules);
    code->operators = NULL;
    code->modules = NULL;
}

tc_status tc_cmd_tuning(tc_cmd *c, const tc_archive *a, bool made, tc_tuning **out) {
    const char *path = tc_cmd_get(c, TC_OPT_tuning);
    const unsigned char *data = NULL;
    size_t len = 0;
    bool found = false;
    *out = NULL;
    if (a) TC_TRY(tc_archive_entry(a, tc_packed_tuning, &data, &len, &found));
    if (!found && !path && !made) return NULL;
    tc_tuning *t;
    tc_buf text = {0};
    TC_TRY(tc_tuning_create(tc_pool_threads(tc_cmd_pool(c)), &t));
    tc_status s = found ? tc_tuning_read(t, (const char *)data, len, tc_packed_tuning, false) : NULL;
    if (!s && path && !(made && access(path, F_OK))) {
        s = tc_file_read(path, (size_t)64 << 20, &text);
        if (!s) s = tc_tuning_read(t, tc_buf_str(&text), text.len, path, false);
    }
    tc_buf_free(&text);
    if (s) tc_tuning_destroy(t);
    else *out = t;
    if (!s && !tc_tuning_lines(t, false) && tc_tuning_lines(t, true))
        (path ? tc_cmd_note : tc_cmd_verbose)(c, "the tuning is of other machines and has no effect; this one is: %s", tc_tuning_machine(t));
    return s;
}
