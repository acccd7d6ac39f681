/* Parses samples of the operator table into programs (sample.h). */
#include "op/sample.h"

#include <ctype.h>
#include <math.h>

typedef struct {
    const char *text, *s, *end;
    tc_sample *out;
    tc_program *p;
    int depth;
} parser;

typedef struct {
    char name[48];
    tc_arg arg;
} given; /* name "": by position */

static tc_status bad(const parser *p, const char *what) {
    return tc_error(TC_CONTENT, "sample %.*s: %s at character %d", (int)(p->end - p->text), p->text, what, (int)(p->s - p->text) + 1);
}
static void space(parser *p) {
    while (p->s < p->end && isspace((unsigned char)*p->s)) p->s++;
}
static bool take(parser *p, char c) {
    space(p);
    if (p->s >= p->end || *p->s != c) return false;
    p->s++;
    return true;
}
static bool word(parser *p, const char **out, size_t *n) {
    space(p);
    const char *w = p->s;
    while (p->s < p->end && (isalnum((unsigned char)*p->s) || *p->s == '_' || (*p->s == '.' && p->s > w && !isdigit((unsigned char)w[0])) ||
                             (p->end - p->s > 1 && !memcmp(p->s, "::", 2) && p->s > w)))
        p->s += 1 + (*p->s == ':');
    *out = w;
    *n = (size_t)(p->s - w);
    return *n > 0;
}
static bool is(const char *w, size_t n, const char *s) { return n == strlen(s) && !memcmp(w, s, n); }

static bool number(parser *p, tc_scalar *out) {
    char text[64], *end;
    size_t n = 0;
    space(p);
    const char *s = p->s;
    if (s < p->end && (*s == '-' || *s == '+')) text[n++] = *s++;
    bool dotted = false;
    for (; s < p->end && n < sizeof text - 1; s++) {
        if (*s == '.' && s + 1 < p->end && s[1] == '.') break; /* LO..HI */
        bool exponent = (*s == '-' || *s == '+') && (s[-1] == 'e' || s[-1] == 'E');
        if (!isdigit((unsigned char)*s) && *s != '.' && *s != 'e' && *s != 'E' && !exponent) break;
        dotted |= !isdigit((unsigned char)*s);
        text[n++] = *s;
    }
    text[n] = 0;
    if (!n || (n == 1 && !isdigit((unsigned char)text[0]))) return false;
    double f = strtod(text, &end);
    if (*end) return false;
    *out = dotted ? tc_scalar_float(f) : tc_scalar_int(strtoll(text, NULL, 10));
    p->s = s;
    return true;
}

/* B, T2, N_HEADS: a symbolic size. */
static bool symbol(parser *p, const char *w, size_t n, tc_sym *out) {
    if (!n || !isupper((unsigned char)*w)) return false;
    for (size_t i = 1; i < n; i++)
        if (!isupper((unsigned char)w[i]) && !isdigit((unsigned char)w[i]) && w[i] != '_') return false;
    *out = tc_sym_var(p->p->sym, tc_arena_strndup(&p->p->arena, w, n), TC_SYM_INT, 0, TC_SYM_NO_HI);
    return true;
}

static bool size(parser *p, tc_sym *out) {
    tc_scalar i;
    const char *w;
    size_t n;
    if (!number(p, &i)) return word(p, &w, &n) && symbol(p, w, n, out);
    if (i.kind != TC_KIND_INT || i.i < 0) return false;
    *out = tc_sym_int(p->p->sym, i.i);
    return true;
}

static tc_status tensor(parser *p, tc_dtype d, tc_arg *out) {
    tc_sym sizes[TC_MAX_RANK];
    int rank = 0;
    if (p->out->ntensors == TC_SAMPLE_TENSORS) return bad(p, "too many tensors");
    if (!take(p, '[')) return bad(p, "expected [ and sizes");
    while (!take(p, ']')) {
        if (rank && !take(p, ',')) return bad(p, "expected , or ]");
        if (rank == TC_MAX_RANK || !size(p, &sizes[rank])) return bad(p, "expected a size");
        rank++;
    }
    int k = p->out->ntensors++;
    p->out->lo[k] = tc_is_float(d) || tc_is_complex(d) ? -2 : 0;
    p->out->hi[k] = tc_is_float(d) || tc_is_complex(d) ? 2 : d == TC_BOOL ? 2 : 5;
    if (take(p, ':')) {
        tc_scalar lo, hi;
        if (!number(p, &lo) || !take(p, '.') || !take(p, '.') || !number(p, &hi)) return bad(p, "expected LO..HI");
        p->out->lo[k] = tc_scalar_to_double(lo);
        p->out->hi[k] = tc_scalar_to_double(hi);
    }
    tc_value *v = tc_graph_value(p->p->graph, TC_V_TENSOR, "x");
    v->meta = tc_meta_make(&p->p->arena, d, rank, tc_arena_dup(&p->p->arena, sizes, sizeof *sizes * (size_t)(rank + 1)), NULL);
    tc_graph_add_input(p->p->graph, v);
    tc_program_add_input(p->p, (tc_input){.kind = TC_IN_USER, .value = v, .name = v->name, .alias_of = -1});
    *out = (tc_arg){.kind = TC_A_VALUE, .value = v};
    return NULL;
}

static tc_status value(parser *p, tc_arg *out);

/* [1, 2], [0.5], [True], [f32[2], f32[3]] */
static tc_status list(parser *p, tc_arg *out) {
    tc_arg item[64];
    int n = 0;
    bool floats = false, bools = false, values = false, symbols = false;
    while (!take(p, ']')) {
        if (n && !take(p, ',')) return bad(p, "expected , or ]");
        if (n == 64) return bad(p, "a list that is too long");
        TC_TRY(value(p, &item[n]));
        if (item[n].kind == TC_A_VALUE || item[n].kind == TC_A_NONE) values = true;
        else if (item[n].kind == TC_A_INT) symbols = true;
        else if (item[n].kind != TC_A_SCALAR) return bad(p, "an unexpected list element");
        else floats |= item[n].scalar.kind == TC_KIND_FLOAT, bools |= item[n].scalar.kind == TC_KIND_BOOL;
        n++;
    }
    if (symbols && (floats || bools || values)) return bad(p, "a size among other things");
    tc_arena *a = &p->p->arena;
    *out = (tc_arg){.n = n};
    if (values) {
        tc_value **v = TC_NEWN(a, tc_value *, (size_t)n);
        for (int i = 0; i < n; i++) v[i] = item[i].kind == TC_A_VALUE ? item[i].value : NULL;
        out->kind = TC_A_VALUES;
        out->values = v;
    } else if (bools) {
        bool *b = TC_NEWN(a, bool, (size_t)n);
        for (int i = 0; i < n; i++) b[i] = item[i].scalar.i != 0;
        out->kind = TC_A_BOOLS;
        out->bools = b;
    } else if (floats) {
        double *f = TC_NEWN(a, double, (size_t)n);
        for (int i = 0; i < n; i++) f[i] = tc_scalar_to_double(item[i].scalar);
        out->kind = TC_A_FLOATS;
        out->floats = f;
    } else {
        tc_sym *s = TC_NEWN(a, tc_sym, (size_t)n + 1);
        for (int i = 0; i < n; i++) s[i] = item[i].kind == TC_A_INT ? item[i].sym : tc_sym_int(p->p->sym, item[i].scalar.i);
        out->kind = TC_A_INTS;
        out->syms = s;
    }
    return NULL;
}

static tc_status value(parser *p, tc_arg *out) {
    const char *w;
    size_t n;
    if (p->depth > 3) return bad(p, "lists nested too deeply");
    if (take(p, '[')) {
        p->depth++;
        tc_status s = list(p, out);
        p->depth--;
        return s;
    }
    if (take(p, '\'')) {
        const char *end = memchr(p->s, '\'', (size_t)(p->end - p->s));
        if (!end) return bad(p, "expected '");
        *out = (tc_arg){.kind = TC_A_STRING, .string = tc_arena_strndup(&p->p->arena, p->s, (size_t)(end - p->s))};
        p->s = end + 1;
        return NULL;
    }
    *out = (tc_arg){.kind = TC_A_SCALAR};
    if (number(p, &out->scalar)) return NULL;
    bool minus = take(p, '-');
    if (!word(p, &w, &n)) return bad(p, "expected a value");
    if (is(w, n, "inf") || is(w, n, "nan")) {
        out->scalar = tc_scalar_float(is(w, n, "nan") ? NAN : minus ? -INFINITY : INFINITY);
        return NULL;
    }
    if (minus) return bad(p, "expected a number");
    if (is(w, n, "True") || is(w, n, "False")) out->scalar = tc_scalar_bool(w[0] == 'T');
    else if (is(w, n, "None")) out->kind = TC_A_NONE;
    else if (n > 6 && !memcmp(w, "torch.", 6) && tc_dtype_parse(w, n) != TC_DTYPE_NONE)
        *out = (tc_arg){.kind = TC_A_DTYPE, .dtype = tc_dtype_parse(w, n)};
    else if (tc_dtype_parse(w, n) != TC_DTYPE_NONE) return tensor(p, tc_dtype_parse(w, n), out);
    else if (symbol(p, w, n, &out->sym)) out->kind = TC_A_INT;
    else return bad(p, "an unknown word before");
    return NULL;
}

static tc_status arguments(parser *p, given *args, int *out_n) {
    int n = 0;
    if (!take(p, '(')) return bad(p, "expected (");
    while (!take(p, ')')) {
        if (n && !take(p, ',')) return bad(p, "expected , or )");
        if (n == 48) return bad(p, "too many arguments");
        given *g = &args[n++];
        *g = (given){0};
        const char *start = p->s, *w;
        size_t len;
        if (word(p, &w, &len) && take(p, '=')) memcpy(g->name, w, len < sizeof g->name ? len : sizeof g->name - 1);
        else p->s = start;
        TC_TRY(value(p, &g->arg));
    }
    space(p);
    *out_n = n;
    return p->s == p->end ? NULL : bad(p, "more than a call");
}

static void name_input(tc_program *p, const tc_value *v, const char *name) {
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].value == v) p->inputs[i].name = name;
}

/* The arguments in schema order, at most 64. */
static tc_status in_order(tc_program *p, const tc_op *op, const given *args, int n, tc_arg *full) {
    const tc_schema *s = tc_op_schema(op);
    bool set[64] = {false};
    if (s->nparams > 64) return tc_error(TC_UNSUPPORTED, "%s: too many parameters", tc_op_name(op));
    for (int i = 0; i < n; i++) {
        int at = i;
        if (args[i].name[0])
            for (at = 0; at < s->nparams && strcmp(s->params[at].name, args[i].name); at++) {}
        if (at >= s->nparams) return tc_error(TC_CONTENT, "%s has no argument %s", tc_op_name(op), args[i].name[0] ? args[i].name : "there");
        if (!args[i].name[0] && s->params[at].kw_only) return tc_error(TC_CONTENT, "%s: %s must be named", tc_op_name(op), s->params[at].name);
        full[at] = args[i].arg;
        set[at] = true;
        if (full[at].kind == TC_A_VALUE) name_input(p, full[at].value, s->params[at].name);
    }
    for (int i = 0; i < s->nparams; i++)
        if (!set[i]) TC_TRY(tc_op_default(p, op, i, &full[i]));
    return NULL;
}
/* Calls the first overload that accepts the arguments. If none does: the error of the first whose parameters match. */
static tc_status call(tc_program *p, const tc_op *const *ops, int count, const given *args, int n, tc_node **out) {
    tc_status why = NULL;
    bool theirs = false;
    for (int i = 0; i < count; i++) {
        tc_arg full[64];
        tc_status s = in_order(p, ops[i], args, n, full);
        const bool fit = !s;
        if (fit) s = tc_graph_call(p->graph, ops[i], full, tc_op_schema(ops[i])->nparams, (tc_source){0}, NULL, out);
        if (!s || !why || (fit && !theirs)) {
            tc_status_free(why);
            why = s, theirs = fit;
        } else tc_status_free(s);
        if (!s) break;
    }
    return why;
}

static void outputs(tc_program *p, tc_value *v) {
    for (int i = 0; v->kind == TC_V_LIST && i < v->nlist; i++) outputs(p, v->list[i]);
    if (v->kind != TC_V_TENSOR && v->kind != TC_V_SYM) return;
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = v->name, .target = -1});
}

tc_status tc_sample_parse(const tc_op *op, const char *text, size_t len, tc_sample *out) {
    *out = (tc_sample){.program = tc_program_create("sample")};
    parser p = {.text = text, .s = text, .end = text + len, .out = out, .p = out->program};
    const char *w;
    size_t n;
    given args[48];
    int nargs = 0;
    tc_node *node = NULL;
    tc_status s = word(&p, &w, &n) ? NULL : bad(&p, "expected an operator's name");
    if (!s) s = arguments(&p, args, &nargs);
    if (!s && op) {
        s = call(p.p, &op, 1, args, nargs, &node);
    } else if (!s) {
        const tc_op *found[32];
        char *name = tc_arena_strndup(&p.p->arena, w, n);
        const tc_op *exact = strchr(name, '.') ? tc_op_find(name) : NULL;
        int count = exact ? 1 : tc_op_overloads(name, found, 32);
        if (exact) found[0] = exact;
        s = count ? call(p.p, found, count, args, nargs, &node) : tc_error(TC_UNSUPPORTED, "operator %s is not supported", name);
    }
    for (int i = 0; !s && i < node->nouts; i++) outputs(p.p, node->outs[i]);
    if (s) {
        tc_program_release(out->program);
        out->program = NULL;
    }
    return s;
}

const char *tc_sample_call(const char *text, int i, size_t *out_len) {
    for (; text && *text; i--) {
        while (isspace((unsigned char)*text) || *text == ';') text++;
        const char *s = text;
        bool quoted = false;
        for (; *s && (quoted || *s != ';'); s++) quoted ^= *s == '\'';
        const char *end = s;
        while (end > text && isspace((unsigned char)end[-1])) end--;
        if (end == text) return NULL;
        *out_len = (size_t)(end - text);
        if (i == 0) return text;
        text = s;
    }
    return NULL;
}

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void tc_sample_fill(tc_tensor *t, double lo, double hi, uint64_t seed) {
    int64_t n = tc_tensor_numel(t);
    for (int64_t i = 0; i < n; i++) {
        double u = (double)(mix(seed * 0x100000001b3u + (uint64_t)i) >> 11) * 0x1p-53, v = lo + (hi - lo) * u;
        bool exact = tc_is_float(t->dtype) || tc_is_complex(t->dtype);
        tc_scalar_store(t->dtype, tc_tensor_data(t), i, exact ? tc_scalar_float(v) : tc_scalar_int((int64_t)floor(v)));
    }
}

/* ---- sizes as symbols ---- */
/* Is parameter i of the schema a size? */
static bool takes_size(const char *schema, int i) {
    const char *s = strchr(schema, '(');
    for (; s && i > 0; i--) s = strchr(s + 1, ',');
    return s && !strncmp(s + 1 + strspn(s + 1, " "), "SymInt", 6);
}

void tc_sample_general(const tc_op *op, const char *call, size_t len, tc_buf *out) {
    int64_t known[26];
    int nknown = 0, arg = 0, depth = 0;
    bool tensor = false;
    for (size_t i = 0; i < len; i++) {
        const char c = call[i], before = i ? call[i - 1] : ' ';
        if (c == '[') tensor = isalnum((unsigned char)before);
        depth += (c == '[' || c == '(') - (c == ']' || c == ')');
        arg += c == ',' && depth == 1;
        if (c == ']') tensor = false;
        const bool size = depth > 0 && (tensor || takes_size(op->schema, arg)) && isdigit((unsigned char)c) && strchr("[(, ", before);
        char *end;
        const int64_t n = size ? strtoll(call + i, &end, 10) : 0;
        int k = 0;
        while (k < nknown && known[k] != n) k++;
        if (n < 2 || k == 26 || (k == nknown && !tensor)) {
            tc_buf_putc(out, c);
            continue;
        }
        known[k] = n;
        nknown += k == nknown;
        tc_buf_putc(out, (char)('A' + k));
        i = (size_t)(end - call) - 1;
    }
}
