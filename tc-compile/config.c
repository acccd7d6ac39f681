/* Settings of the compiler and their sources. Precedence: `force` lines of the config file, option, environment, config file (--config or $TC_CONFIG),
 * built-in default.
 *
 *     # cluster.conf
 *     cc = gcc-12             # a comment starts with a blank and '#'
 *     targets = avx2,avx512
 *     force cc-seconds = 60
 *
 * --print-config prints such a file. A setting with an option is applied as if the option had been given; one without an option is put into the
 * environment variable that the library reads. */
#include "base/text.h"
#include "op/watch.h"
#include "pass/relu.h"
#include "tc-compile/compile.h"

enum { TEXT, NUMBER, YES }; /* kinds of values; YES: yes or no, for options without a value */
typedef struct {
    const char *key, *variable;
    tc_opt_id option; /* or TC_OPT_NONE */
    int kind;
    const char *otherwise;
} setting;

static const setting settings[] = {
    {"cc", "CC", TC_OPT_cc, TEXT, "cc"},
    {"cflags", "CFLAGS", TC_OPT_NONE, TEXT, ""},
    {"cc-seconds", "TC_CC_SECONDS", TC_OPT_NONE, NUMBER, "600"},
    {"cc-memory", "TC_CC_MEMORY", TC_OPT_NONE, NUMBER, "8192"},
    {"cache-size", "TC_CACHE_SIZE", TC_OPT_NONE, NUMBER, "1024"},
    {"targets", "TC_TARGETS", TC_OPT_targets, TEXT, NULL}, /* this machine's best */
    {"threads", "TC_NUM_THREADS", TC_OPT_threads, NUMBER, NULL},
    {"tuning", "TC_TUNING", TC_OPT_tuning, TEXT, ""},
    {"store-weights", "TC_STORE_WEIGHTS", TC_OPT_store_weights, TEXT, "embed"},
    {"freeze", "TC_FREEZE", TC_OPT_freeze, YES, "no"},
    {"require", "TC_REQUIRE", TC_OPT_require, TEXT, ""},
    {"relu-nan", "TC_RELU_NAN", TC_OPT_relu_nan, TEXT, "keep"},
    {"sanitize", "TC_SANITIZE", TC_OPT_sanitize, TEXT, ""},
    {"no-cache", "TC_NO_CACHE", TC_OPT_no_cache, YES, "no"},
};
enum { COUNT = sizeof settings / sizeof *settings };
typedef struct {
    const char *value, *place; /* place: FILE:LINE; NULL: not in the file */
    bool forced;
} line_of_file;

static tc_status check(const compile_job *j, const setting *s, const char *value, const char *place) {
    const int64_t most = s->option == TC_OPT_threads ? TC_MAX_THREADS : (1 << 30) - 1;
    int64_t n;
    if (s->kind == NUMBER && !(tc_parse_i64(value, &n) && n > 0 && n <= most))
        return tc_usage(j->c, "%s: %s '%s': expected a whole number from 1 to %lld", place, s->key, value, (long long)most);
    if (s->kind == YES && strcmp(value, "yes") && strcmp(value, "no")) return tc_usage(j->c, "%s: %s '%s': expected yes or no", place, s->key, value);
    return NULL;
}

/* ---- the config file ---- */
static char *trimmed(tc_arena *a, const char *s, size_t n) {
    while (n && strchr(" \t\r", *s)) s++, n--;
    while (n && strchr(" \t\r", s[n - 1])) n--;
    return tc_arena_strndup(a, s, n);
}

/* KEY = VALUE, or force KEY = VALUE; n bytes without a comment. */
static tc_status read_line(compile_job *j, const char *s, size_t n, const char *place, line_of_file *file) {
    const char *eq = memchr(s, '=', n), *names[COUNT];
    const char *key = trimmed(&j->arena, s, eq ? (size_t)(eq - s) : n);
    const bool forced = !strncmp(key, "force ", 6);
    if (!*key && !eq) return NULL;
    if (forced) key = trimmed(&j->arena, key + 6, strlen(key + 6));
    if (!eq) return tc_usage(j->c, "%s: '%s': expected KEY = VALUE", place, key);
    int at = -1;
    for (int i = 0; i < COUNT; i++) {
        names[i] = settings[i].key;
        if (!strcmp(key, settings[i].key)) at = i;
    }
    const char *near = tc_suggest(key, names, COUNT);
    if (at < 0 && near) return tc_usage(j->c, "%s: no setting is called '%s'; did you mean %s?", place, key, near);
    if (at < 0) return tc_usage(j->c, "%s: no setting is called '%s' (--print-config lists them)", place, key);
    if (file[at].place) return tc_usage(j->c, "%s: %s is set at %s already", place, key, file[at].place);
    file[at] = (line_of_file){trimmed(&j->arena, eq + 1, n - (size_t)(eq + 1 - s)), place, forced};
    return *file[at].value ? check(j, &settings[at], file[at].value, place) : NULL;
}

static tc_status read_file(compile_job *j, const char *path, line_of_file *file) {
    tc_buf text = {0};
    TC_TRY(tc_file_read(path, 1 << 16, &text), "--config");
    tc_status st = memchr(tc_buf_str(&text), 0, text.len) ? tc_error(TC_CONTENT, "%s: holds NUL bytes, expected text", path) : NULL;
    int line = 0;
    for (const char *s = tc_buf_str(&text); !st && *s; s += *s == '\n') {
        const size_t n = strcspn(s, "\n");
        size_t used = 0;
        while (used < n && !(s[used] == '#' && (!used || s[used - 1] == ' ' || s[used - 1] == '\t'))) used++;
        st = read_line(j, s, used, tc_arena_printf(&j->arena, "%s:%d", path, ++line), file);
        s += n;
    }
    tc_buf_free(&text);
    return st;
}

/* ---- precedence ---- */
/* Determines the value of a setting and its source. */
static tc_status decide(compile_job *j, const setting *s, const line_of_file *file, config_value *out) {
    const char *env = getenv(s->variable);
    const bool given = s->option != TC_OPT_NONE && tc_cmd_has(j->c, s->option), in_env = env && *env, in_file = file->place && *file->value;
    const char *flag = given ? s->kind == YES ? "yes" : tc_cmd_get(j->c, s->option) : NULL;
    *out = (config_value){s->key, s->otherwise, "default"};
    if (in_env && !given) TC_TRY(check(j, s, env, s->variable));
    if (in_file && (file->forced || !(given || in_env)))
        *out = (config_value){s->key, file->value, tc_arena_printf(&j->arena, file->forced ? "%s, forced" : "%s", file->place), true};
    else if (given) *out = (config_value){s->key, flag, tc_arena_printf(&j->arena, "--%s", s->key)};
    else if (in_env) *out = (config_value){s->key, env, s->variable, true};
    else return NULL;
    if (given && strcmp(out->value, flag))
        tc_cmd_note(j->c, "--%s%s%s gives way to %s, which %s forces", s->key, s->kind == YES ? "" : " ", s->kind == YES ? "" : flag, out->value,
                    file->place);
    return NULL;
}

/* Applies the value, as an option or environment variable. */
static tc_status apply(compile_job *j, const setting *s, const config_value *v, bool from_file) {
    if (s->option == TC_OPT_NONE) {
        if (from_file && setenv(s->variable, v->value, 1)) return tc_error(TC_ENV, "no memory for %s", s->variable);
        return NULL;
    }
    const bool off = s->kind == YES && !strcmp(v->value, "no");
    if (off) tc_cmd_unset(j->c, s->option);
    /* TC_NUM_THREADS in the environment is an upper bound that the default already takes into account. */
    else if (from_file || s->option != TC_OPT_threads) tc_cmd_set(j->c, s->option, s->kind == YES ? NULL : v->value);
    return NULL;
}

tc_status configure(compile_job *j) {
    const char *path = tc_cmd_get(j->c, TC_OPT_config);
    line_of_file file[COUNT] = {{0}};
    if (!path) path = getenv("TC_CONFIG");
    if (path && *path) TC_TRY(read_file(j, path, file));
    j->config = TC_NEWN(&j->arena, config_value, COUNT + 1);
    for (int i = 0; i < COUNT; i++) {
        config_value *v = &j->config[i];
        TC_TRY(decide(j, &settings[i], &file[i], v));
        if (v->outside) TC_TRY(apply(j, &settings[i], v, v->from != settings[i].variable));
    }
    return NULL;
}

/* ---- --sanitize and --relu-nan ---- */
tc_status read_switches(compile_job *j) {
    static const char *const nans[] = {"keep", "zero", NULL};
    const char *what = tc_cmd_get(j->c, TC_OPT_sanitize);
    int nan;
    TC_TRY(tc_cmd_choice(j->c, TC_OPT_relu_nan, nans, 0, &nan));
    j->relu_zero = nan == 1;
    j->sanitize = what && *what;
    return j->sanitize && strcmp(what, "overflow") ? tc_usage(j->c, "--sanitize %s: expected overflow", what) : NULL;
}

tc_status relu_numbers(compile_job *j) {
    for (int i = 0; i < j->n && j->relu_zero; i++) {
        tc_pass pass = tc_pass_begin(j->programs[i], "relu-nan", "relu-nan");
        TC_TRY(tc_pass_end(&pass, j->programs[i], tc_relu_nan_zero(j->programs[i])), "--relu-nan");
    }
    return NULL;
}

tc_status print_config(compile_job *j) {
    const char *cap = getenv("TC_ISA");
    tc_isa_row best;
    TC_TRY(tc_isa_choose(NULL, &best));
    for (const config_value *v = j->config; v->key; v++) {
        char number[16];
        const char *value = v->value, *from = v->from;
        if (!value && !strcmp(v->key, "targets")) value = tc_isa_name(best), from = cap && *cap ? "TC_ISA" : from;
        if (!strcmp(v->key, "threads")) snprintf(number, sizeof number, "%d", tc_cmd_threads(j->c)), value = number;
        printf("%s = %s%s# %s\n", v->key, value, *value ? " " : "", from);
    }
    return NULL;
}
