/* Parsing by the option table: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, grouped letters, "--". No abbreviations. */
#include "base/text.h"
#include "cmd/internal.h"

#include <limits.h>
#include <math.h>

const tc_option tc_options[TC_OPT_COUNT] = {
#define X(id, name, letter, kind, arg, def, sentence) [TC_OPT_##id] = {name, letter, TC_OPTION_##kind, arg, def, sentence},
#include "cmd/options.def"
#undef X
};

static const tc_opt_id common[] = {TC_OPT_help, TC_OPT_version, TC_OPT_verbose, TC_OPT_quiet,   TC_OPT_log, TC_OPT_log_dir,
                                   TC_OPT_time, TC_OPT_stats,   TC_OPT_json,    TC_OPT_threads, TC_OPT_NONE};

bool tc_option_listed(const tc_opt_id *all, tc_opt_id id) {
    while (all && *all != TC_OPT_NONE && *all != id) all++;
    return all && *all == id;
}
bool tc_option_is_common(tc_opt_id id) { return tc_option_listed(common, id); }

bool tc_tool_takes(const tc_tool *t, tc_opt_id id) {
    bool takes = tc_option_is_common(id) || tc_option_listed(t->options, id);
    for (const tc_subcommand *s = t->commands; s && s->name; s++) takes |= tc_option_listed(s->options, id);
    return takes;
}

tc_status tc_usage(const tc_cmd *c, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_status s = tc_error(TC_USAGE, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
    return tc_status_add(s, "try '%s --help'", c->tool->name);
}

static tc_status unknown_option(const tc_cmd *c, const char *word, size_t n) {
    const char *names[TC_OPT_COUNT];
    size_t count = 0;
    bool elsewhere = false;
    tc_buf w = {0};
    tc_buf_append(&w, word, n);
    for (int i = 0; i < TC_OPT_COUNT; i++) {
        if (tc_tool_takes(c->tool, (tc_opt_id)i)) names[count++] = tc_options[i].name;
        else if (strcmp(w.data, tc_options[i].name) == 0) elsewhere = true;
    }
    const char *near = tc_suggest(w.data, names, count);
    tc_status s;
    if (elsewhere) s = tc_usage(c, "--%s is an option of other tc programs, not of %s", w.data, c->tool->name);
    else if (near) s = tc_usage(c, "unknown option --%s; did you mean --%s?", w.data, near);
    else s = tc_usage(c, "unknown option --%s", w.data);
    tc_buf_free(&w);
    return s;
}

static int find_long(const tc_tool *t, const char *word, size_t n) {
    for (int i = 0; i < TC_OPT_COUNT; i++)
        if (tc_tool_takes(t, (tc_opt_id)i) && strlen(tc_options[i].name) == n && memcmp(tc_options[i].name, word, n) == 0) return i;
    return -1;
}

static int find_letter(const tc_tool *t, char letter) {
    for (int i = 0; i < TC_OPT_COUNT; i++)
        if (tc_options[i].letter == letter && tc_tool_takes(t, (tc_opt_id)i)) return i;
    return -1;
}

static tc_status parse_long(tc_cmd *c, int argc, char **argv, int *i) {
    const char *word = argv[*i] + 2, *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    int id = find_long(c->tool, word, n);
    if (id < 0) return unknown_option(c, word, n);
    const tc_option *o = &tc_options[id];
    const char *value = eq ? eq + 1 : NULL;
    if (o->kind == TC_OPTION_FLAG && value) return tc_usage(c, "--%s takes no value, found '%s'", o->name, value);
    if (!value && (o->kind == TC_OPTION_VALUE || o->kind == TC_OPTION_MANY)) {
        if (*i + 1 >= argc) return tc_usage(c, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
        value = argv[++*i];
    }
    tc_vec_push(&c->values[id], value);
    return NULL;
}

static tc_status parse_letters(tc_cmd *c, int argc, char **argv, int *i) {
    for (const char *p = argv[*i] + 1; *p; p++) {
        int id = find_letter(c->tool, *p);
        if (id < 0) return tc_usage(c, "unknown option -%c in '%s'", *p, argv[*i]);
        const tc_option *o = &tc_options[id];
        if (o->kind == TC_OPTION_FLAG || o->kind == TC_OPTION_OPT) {
            tc_vec_push(&c->values[id], NULL);
            continue;
        }
        const char *value = p[1] ? p + 1 : NULL;
        if (!value) {
            if (*i + 1 >= argc) return tc_usage(c, "-%c needs a value: -%c %s", *p, *p, o->arg);
            value = argv[++*i];
        }
        tc_vec_push(&c->values[id], value);
        break;
    }
    return NULL;
}

static tc_status choose_command(tc_cmd *c) {
    const tc_subcommand *all = c->tool->commands;
    const char *names[64];
    size_t n = 0;
    tc_buf list = {0};
    for (; all[n].name && n < 64; n++) {
        names[n] = all[n].name;
        tc_buf_printf(&list, "%s%s", n ? ", " : "", all[n].name);
    }
    tc_status s = NULL;
    if (!c->noperands) {
        s = tc_usage(c, "no command given, expected one of %s", tc_buf_str(&list));
    } else {
        for (size_t i = 0; i < n; i++)
            if (strcmp(names[i], c->operands[0]) == 0) c->command = &all[i];
        const char *near = tc_suggest(c->operands[0], names, n);
        if (!c->command && near) s = tc_usage(c, "unknown command '%s'; did you mean '%s'?", c->operands[0], near);
        else if (!c->command) s = tc_usage(c, "unknown command '%s', expected one of %s", c->operands[0], tc_buf_str(&list));
        c->operands++;
        c->noperands--;
    }
    tc_buf_free(&list);
    return s;
}

static tc_status parse_words(tc_cmd *c, int argc, char **argv) {
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        const char *w = argv[i];
        if (ended || w[0] != '-' || !w[1]) c->operands[c->noperands++] = w;
        else if (strcmp(w, "--") == 0) ended = true;
        else TC_TRY(w[1] == '-' ? parse_long(c, argc, argv, &i) : parse_letters(c, argc, argv, &i));
    }
    return NULL;
}

/* Refuses an empty operand and an empty name of a file: what a shell makes of "$OUT" when OUT is unset. */
static tc_status refuse_empty(const tc_cmd *c) {
    for (int i = 0; i < c->noperands; i++)
        if (!*c->operands[i]) return tc_usage(c, "operand %d is empty: is a variable of the shell unset?", i + 1);
    for (int id = 0; id < TC_OPT_COUNT; id++) {
        const tc_option *o = &tc_options[id];
        const bool names = o->kind != TC_OPTION_FLAG && o->arg && (!strcmp(o->arg, "PATH") || !strcmp(o->arg, "FILE") || !strcmp(o->arg, "DIR"));
        for (size_t i = 0; names && i < c->values[id].len; i++)
            if (c->values[id].data[i] && !*c->values[id].data[i])
                return tc_usage(c, "--%s: an empty name, expected %s: is a variable of the shell unset?", o->name, o->arg);
    }
    return NULL;
}

tc_status tc_cmd_parse(tc_cmd *c, int argc, char **argv) {
    c->operands = c->words = tc_xcalloc((size_t)argc + 1, sizeof *c->words);
    tc_status wrong = parse_words(c, argc, argv);
    if (!wrong) wrong = refuse_empty(c);
    c->verbose = tc_cmd_has(c, TC_OPT_verbose);
    c->quiet = tc_cmd_has(c, TC_OPT_quiet);
    c->json = tc_cmd_has(c, TC_OPT_json);
    for (int i = 1; wrong && i < argc; i++) c->json |= !strcmp(argv[i], "--json"); /* also after the erroneous word */
    if (wrong) return wrong;
    if (tc_cmd_has(c, TC_OPT_help) || tc_cmd_has(c, TC_OPT_version)) return NULL;
    int min = c->tool->min_operands, max = c->tool->max_operands;
    const char *form = c->tool->operands;
    if (c->tool->commands) {
        TC_TRY(choose_command(c));
        min = c->command->min_operands;
        max = c->command->max_operands;
        form = c->command->operands;
    }
    if (c->noperands < min) return tc_usage(c, "an operand is missing, expected %s", form);
    if (max >= 0 && c->noperands > max) return tc_usage(c, "unexpected operand '%s', expected %s", c->operands[max], *form ? form : "none");
    int64_t n;
    TC_TRY(tc_cmd_int(c, TC_OPT_threads, 1, TC_MAX_THREADS, 0, &n));
    TC_TRY(tc_cmd_check_topics(c));
    TC_TRY(tc_cmd_check_environment(c));
    return tc_cmd_check_rules(c);
}

bool tc_cmd_has(const tc_cmd *c, tc_opt_id id) { return c->values[id].len > 0; }
int tc_cmd_count(const tc_cmd *c, tc_opt_id id) { return (int)c->values[id].len; }
const char *tc_cmd_value(const tc_cmd *c, tc_opt_id id, int i) { return c->values[id].data[i]; }
tc_status tc_cmd_give(tc_cmd *c, char *word) {
    int i = 0;
    return parse_long(c, 1, &word, &i);
}

void tc_cmd_set(tc_cmd *c, tc_opt_id id, const char *value) { tc_vec_push(&c->values[id], value); }
void tc_cmd_unset(tc_cmd *c, tc_opt_id id) { c->values[id].len = 0; }
const char *tc_cmd_get(const tc_cmd *c, tc_opt_id id) {
    size_t n = c->values[id].len;
    return n ? c->values[id].data[n - 1] : NULL;
}

tc_status tc_cmd_int(const tc_cmd *c, tc_opt_id id, int64_t lo, int64_t hi, int64_t def, int64_t *out) {
    *out = def;
    const char *v = tc_cmd_get(c, id);
    if (!v) return NULL;
    if (tc_parse_i64(v, out) && *out >= lo && *out <= hi) return NULL;
    const bool huge = strlen(v) > 18 && !v[strspn(v, "0123456789")];
    if (hi == INT64_MAX && !huge) return tc_usage(c, "--%s %s: expected a whole number of at least %lld", tc_options[id].name, v, (long long)lo);
    return tc_usage(c, "--%s %s: expected a whole number from %lld to %lld", tc_options[id].name, v, (long long)lo, (long long)hi);
}

tc_status tc_cmd_seed(const tc_cmd *c, uint64_t *out) {
    *out = 0;
    const char *v = tc_cmd_get(c, TC_OPT_seed);
    if (!v || tc_parse_seed(v, out)) return NULL;
    return tc_usage(c, "--seed %s: expected a whole number from -9223372036854775808 to 18446744073709551615", v);
}

tc_status tc_cmd_double(const tc_cmd *c, tc_opt_id id, double lo, double hi, double def, double *out) {
    *out = def;
    const char *v = tc_cmd_get(c, id);
    if (!v) return NULL;
    if (tc_parse_double(v, out) && *out >= lo && *out <= hi) return NULL;
    return tc_usage(c, "--%s %s: expected a number from %g to %g", tc_options[id].name, v, lo, hi);
}

tc_status tc_cmd_choice(const tc_cmd *c, tc_opt_id id, const char *const *names, int def, int *out) {
    *out = def;
    const char *v = tc_cmd_get(c, id);
    if (!v) return NULL;
    tc_buf list = {0};
    size_t n = 0;
    for (; names[n]; n++) {
        if (strcmp(names[n], v) == 0) {
            *out = (int)n;
            tc_buf_free(&list);
            return NULL;
        }
        tc_buf_printf(&list, "%s%s", n ? ", " : "", names[n]);
    }
    const char *near = tc_suggest(v, names, n);
    tc_status s = near ? tc_usage(c, "--%s %s: expected one of %s; did you mean %s?", tc_options[id].name, v, tc_buf_str(&list), near)
                       : tc_usage(c, "--%s %s: expected one of %s", tc_options[id].name, v, tc_buf_str(&list));
    tc_buf_free(&list);
    return s;
}

/* Does path end in one of the suffixes, after at least one character? */
static bool has_suffix(const char *path, const char *suffixes) {
    for (size_t n; suffixes && *suffixes; suffixes += n) {
        n = 1 + strcspn(suffixes + 1, ".");
        const size_t len = strlen(path);
        if (len > n && !memcmp(path + len - n, suffixes, n)) return true;
    }
    return false;
}

/* The suffix of a path if tc writes files of that name, here or by another program; else NULL. */
static const char *known_suffix(const char *path) {
    const char *dot = strrchr(tc_path_last(path), '.');
    return dot && has_suffix(path, ".pt2.onnx.npy.npz.safetensors.pt.pth.so.o.a.c") ? dot : NULL;
}

tc_status tc_cmd_format(const tc_cmd *c, const tc_cmd_form *all, const char *path, int def, int *out) {
    const char *names[16];
    int n = 0, by_suffix = -1;
    for (; all[n].name; n++) {
        names[n] = all[n].name;
        if (path && has_suffix(path, all[n].suffixes)) by_suffix = n;
    }
    names[n] = NULL;
    TC_TRY(tc_cmd_choice(c, TC_OPT_to, names, by_suffix >= 0 ? by_suffix : def, out));
    const char *other = by_suffix < 0 && path && !tc_cmd_has(c, TC_OPT_to) ? known_suffix(path) : NULL;
    tc_buf list = {0};
    for (int i = 0; other && i < n; i++) tc_buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
    tc_status s = other ? tc_usage(c, "%s: this program writes no %s; its formats are %s (--to)", path, other, tc_buf_str(&list)) : NULL;
    tc_buf_free(&list);
    if (s || by_suffix < 0 || *out == by_suffix) return s;
    return tc_usage(c, "--to %s does not fit the name %s, which is of %s", names[*out], path, names[by_suffix]);
}

tc_status tc_cmd_seconds(const tc_cmd *c, tc_opt_id id, double *out) {
    *out = -1;
    const char *v = tc_cmd_get(c, id);
    if (!v) return NULL;
    char *end;
    double total = 0;
    const char *p = v;
    for (int part = 0; part < 3; part++) {
        if (*p < '0' || *p > '9') break;
        double x = strtod(p, &end);
        total = total * 60 + x;
        if (*end == 's' || *end == 'm' || *end == 'h') {
            total *= *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
            end++;
        }
        if (!*end && isfinite(total)) {
            *out = total;
            return NULL;
        }
        if (*end != ':') break;
        p = end + 1;
    }
    return tc_usage(c, "--%s %s: expected a time such as 90, 30m, 2h or 1:30:00", tc_options[id].name, v);
}
