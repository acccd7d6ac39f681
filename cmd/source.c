/* Parses the options that describe a capture: FILE.py:Class, constructor arguments, inputs, sizes (source.h). */
#include "cmd/program.h"
#include "cmd/internal.h"
#include "cmd/source.h"

#include "base/json.h"
#include "file/literal.h"
#include "file/tensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* The error for a malformed word; said: where it was given (tc_capture_words). */
static tc_status TC_PRINTF(4, 5) wrong(const tc_cmd *c, const char *said, const char *spec, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_status s = *said == '-' ? tc_usage(c, "%s %s: %s", said, spec, tc_buf_str(&b)) : tc_error(TC_USAGE, "%s: %s: %s", said, spec, tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

/* ---- --input ---- */
/* Letters beyond ASCII are those of any byte of UTF-8. */
static bool name_char(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || (unsigned char)ch >= 0x80;
}

/* Splits NAME=VALUE; a word that begins with sizes and a dtype is never a name. */
static const char *split_name(tc_cmd_source *q, const char *spec, char **out_name) {
    *out_name = NULL;
    const char *p = spec;
    while (name_char(*p)) p++;
    if (*p != '=' || p == spec ||
        (tc_literal_type(spec, true) == (size_t)(p - spec) && tc_literal_type(p + 1, true) == 0 && p[1] != '@' && p[1] != ':'))
        return spec;
    *out_name = tc_arena_strndup(&q->arena, spec, (size_t)(p - spec));
    return p + 1;
}

/* "BxTxi64": sizes, then the dtype. */
static tc_status declared(tc_cmd *c, tc_cmd_source *q, const char *spec, const char *value, tc_capture_input *in) {
    const char *p = value;
    for (;;) {
        const char *x = strchr(p, 'x');
        size_t n = x ? (size_t)(x - p) : strlen(p);
        if (!x) {
            in->dtype = tc_dtype_parse(p, n);
            if (in->dtype == TC_DTYPE_NONE)
                return wrong(c, q->r.said.input, spec, "'%s' is not a dtype; expected sizes and a dtype, as in idx=BxTxi64", p);
            return NULL;
        }
        if (in->rank == TC_MAX_RANK) return wrong(c, q->r.said.input, spec, "more than %d dimensions", TC_MAX_RANK);
        if (n == 0) return wrong(c, q->r.said.input, spec, "a size is missing before 'x'");
        in->size[in->rank++] = tc_arena_strndup(&q->arena, p, n);
        p = x + 1;
    }
}

/* An example tensor from FILE or FILE#KEY; without a key the file's only tensor, or the one with the input's name. */
static tc_status example(tc_cmd *c, tc_cmd_source *q, const char *spec, const char *place, tc_capture_input *in) {
    const char *hash = strrchr(place, '#');
    if (hash && access(place, F_OK) == 0) hash = NULL; /* the file name itself contains '#' */
    const char *path = hash ? tc_arena_strndup(&q->arena, place, (size_t)(hash - place)) : place, *key = hash ? hash + 1 : in->name;
    tc_blob *b;
    tc_tensors all = {0};
    TC_TRY(tc_cmd_read(c, path, spec, &b));
    tc_status st = tc_tensors_load_blob(b, &all);
    tc_blob_release(b);
    const tc_tensor *t = st || !key ? NULL : tc_tensors_find(&all, key);
    if (!st && !t && !hash && all.items.len == 1) t = &all.items.data[0].tensor;
    if (t) in->example = tc_tensor_share(t);
    else if (!st)
        st = tc_error(TC_CONTENT, "--input %s: %s has no tensor %s among its %zu: name one as @FILE#KEY", spec, path, key ? key : "", all.items.len);
    tc_tensors_deinit(&all);
    return st;
}

static tc_status add_input(tc_cmd *c, tc_cmd_source *q, const char *spec) {
    tc_capture_input in = {.dtype = TC_DTYPE_NONE};
    char *name;
    const char *value = split_name(q, spec, &name);
    in.name = name;
    tc_status st = NULL;
    if (*value == ':') in.kind = TC_INPUT_EXPR, in.expr = value + 1;
    else if (*value == '@') st = example(c, q, spec, value + 1, &in);
    else if (strchr(value, '=')) st = tc_literal_parse(value, &in.example);
    else st = declared(c, q, spec, value, &in);
    if (st) return st;
    tc_vec_push(&q->inputs, in);
    return NULL;
}

/* ---- --dim ---- */
/* Parses LO..HI, both inclusive; LO.. has no upper bound, ..HI starts at 0, N is N..N. */
static tc_status read_range(tc_cmd *c, const tc_cmd_source *q, const char *spec, const char *text, tc_capture_dim *d) {
    char *end;
    d->lo = strtoll(text, &end, 10);
    const bool some = end > text;
    if (some && !*end) {
        d->hi = d->lo;
        return NULL;
    }
    if (strncmp(end, "..", 2) || (!some && !end[2])) return wrong(c, q->r.said.dim, spec, "expected LO..HI");
    const char *hi = end + 2;
    d->hi = *hi ? strtoll(hi, &end, 10) : TC_SYM_NO_HI;
    if ((*hi && (end == hi || *end)) || d->lo < 0 || d->hi < d->lo || d->hi == 0)
        return wrong(c, q->r.said.dim, spec, "expected LO..HI with 0 <= LO <= HI");
    return NULL;
}

static tc_status add_dim(tc_cmd *c, tc_cmd_source *q, const char *spec) {
    const char *eq = strchr(spec, '='), *dot = eq ? memrchr(spec, '.', (size_t)(eq - spec)) : NULL;
    if (!eq || eq == spec || !eq[1]) return wrong(c, q->r.said.dim, spec, "expected PATH.AXIS=SYM[:LO..HI] or SYM=LO..HI");
    tc_capture_dim d = {0};
    if (!dot) {
        d.symbol = tc_arena_strndup(&q->arena, spec, (size_t)(eq - spec));
        TC_TRY(read_range(c, q, spec, eq + 1, &d));
    } else {
        char *end;
        d.path = tc_arena_strndup(&q->arena, spec, (size_t)(dot - spec));
        d.axis = (int)strtol(dot + 1, &end, 10);
        if (end != eq) return wrong(c, q->r.said.dim, spec, "'%.*s' is not an axis", (int)(eq - dot - 1), dot + 1);
        const char *colon = strchr(eq, ':');
        d.symbol = tc_arena_strndup(&q->arena, eq + 1, colon ? (size_t)(colon - eq - 1) : strlen(eq + 1));
        if (colon) TC_TRY(read_range(c, q, spec, colon + 1, &d));
    }
    tc_vec_push(&q->dims, d);
    return NULL;
}

/* ---- constructor arguments ---- */
static void add_arg(tc_cmd_source *q, const char *spec) {
    const char *p = spec;
    while (name_char(*p) && *p != '.') p++;
    tc_capture_arg a = {0};
    if (*p == '=' && p > spec && p[1] != '=') a.name = tc_arena_strndup(&q->arena, spec, (size_t)(p - spec)), a.text = p + 1;
    else a.text = spec;
    tc_vec_push(&q->args, a);
}

/* Converts JSON to an expression of the language: only true, false and null differ. */
static char *json_as_expression(tc_cmd_source *q, const char *p, size_t n) {
    tc_buf b = {0};
    for (size_t i = 0; i < n;) {
        if (p[i] == '"') {
            size_t e = i + 1;
            while (e < n && p[e] != '"') e += p[e] == '\\' ? 2 : 1;
            if (e >= n) e = n - 1;
            tc_buf_append(&b, p + i, e - i + 1);
            i = e + 1;
            continue;
        }
        static const struct { const char *json, *py; } words[] = {{"true", "True"}, {"false", "False"}, {"null", "None"}};
        bool done = false;
        for (size_t w = 0; w < 3 && !done; w++) {
            size_t k = strlen(words[w].json);
            if (n - i >= k && !memcmp(p + i, words[w].json, k)) tc_buf_puts(&b, words[w].py), i += k, done = true;
        }
        if (!done) {
            tc_buf_putc(&b, p[i] == '\n' ? ' ' : p[i]);
            i++;
        }
    }
    char *s = tc_arena_strndup(&q->arena, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    return s;
}

static tc_status add_args_file(tc_cmd *c, tc_cmd_source *q, const char *path) {
    tc_blob *b;
    TC_TRY(tc_cmd_read(c, path, "--args", &b));
    tc_jread j;
    tc_jr_init(&j, path, (const char *)b->data, b->len);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        tc_capture_arg a = {.name = tc_arena_strndup(&q->arena, key.s, key.n)};
        tc_str value = tc_jr_skip(&j);
        if (!tc_jr_ok(&j)) break;
        a.text = json_as_expression(q, value.s, value.n);
        tc_vec_push(&q->args, a);
    }
    tc_status st = tc_jr_finish(&j);
    tc_blob_release(b);
    return st;
}

/* What messages call the option: where its value was given, else the option, or the recipe's key where the program takes no such option. */
static const char *said(const tc_cmd *c, tc_opt_id id, const char *option, const char *key) {
    return c->given_at[id] ? c->given_at[id] : tc_tool_takes(c->tool, id) ? option : key;
}

tc_status tc_cmd_source_open(tc_cmd *c, const char *operand, tc_cmd_source *q) {
    const char *colon = strrchr(operand, ':');
    if (colon && strchr(colon, '/')) colon = NULL;
    char *path = colon ? tc_arena_strndup(&q->arena, operand, (size_t)(colon - operand)) : tc_arena_strdup(&q->arena, operand);
    TC_TRY(tc_cmd_read(c, path, "the source", &q->source));
    q->r.path = path;
    q->r.limits.watch = tc_cmd_watch(c, NULL);
    q->r.said =
        (tc_capture_words){said(c, TC_OPT_arg, "--arg", "arg:"), said(c, TC_OPT_input, "--input", "input:"), said(c, TC_OPT_dim, "--dim", "dim:")};
    q->r.text = (const char *)q->source->data, q->r.len = q->source->len;
    q->r.class_name = colon && colon[1] ? colon + 1 : NULL;
    q->r.limits.source_dirs = c->values[TC_OPT_source].data, q->r.limits.nsource_dirs = tc_cmd_count(c, TC_OPT_source);
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_args); i++) TC_TRY(add_args_file(c, q, tc_cmd_value(c, TC_OPT_args, i)));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_arg); i++) add_arg(q, tc_cmd_value(c, TC_OPT_arg, i));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_input); i++) TC_TRY(add_input(c, q, tc_cmd_value(c, TC_OPT_input, i)));
    TC_TRY(tc_cmd_source_shapes(c, q));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_dim); i++) TC_TRY(add_dim(c, q, tc_cmd_value(c, TC_OPT_dim, i)));
    TC_TRY(tc_cmd_seed(c, &q->r.seed));
    int mode;
    TC_TRY(tc_cmd_mode(c, &mode));
    q->r.eval = mode == 0, q->r.train = mode == 1;
    q->r.inputs = q->inputs.data, q->r.ninputs = (int)q->inputs.len;
    q->r.dims = q->dims.data, q->r.ndims = (int)q->dims.len;
    q->r.args = q->args.data, q->r.nargs = (int)q->args.len;
    return NULL;
}

void tc_cmd_source_close(tc_cmd_source *q) {
    for (size_t i = 0; i < q->inputs.len; i++) tc_tensor_deinit(&q->inputs.data[i].example);
    tc_vec_free(&q->inputs);
    tc_vec_free(&q->dims);
    tc_vec_free(&q->args);
    tc_blob_release(q->source);
    tc_arena_free(&q->arena);
}
