/* The shape rule of an extension's operator, a text (tc_ops.h):
 *
 *     x[..., K], w[N, K] -> [..., N], [N] i64
 *     arguments             results, each with a type or like the first tensor
 *
 * read from left to right at each call: a name stands for the size where it is first met, and is compared from there on. */
#include "op/extension.h"

#include "op/shape.h"

#include <ctype.h>
#include <stdio.h>

enum { NAMES = 32, NAME = 32, DEPTH = 50 };

/* c NULL: only the text is checked, against the operator's parameters. */
typedef struct {
    tc_shape_ctx *c;
    const tc_extension_op *o;
    const tc_schema *s; /* of the functional row, whose arguments c has */
    const char *p;
    int depth, n;
    char name[NAMES][NAME];
    tc_sym size[NAMES];
    tc_dims rest; /* what ... stands for */
    bool has_rest;
} reader;

static tc_status bad(const reader *r, const char *what) {
    const tc_schema *s = r->o->schema;
    return tc_error(TC_CONTENT, "operator %s::%s: shape rule \"%s\": %s at byte %zu", s->ns, s->name, r->o->shape, what,
                    (size_t)(r->p - r->o->shape));
}

static bool eat(reader *r, const char *text) {
    while (*r->p == ' ') r->p++;
    const size_t n = strlen(text);
    if (strncmp(r->p, text, n)) return false;
    r->p += n;
    return true;
}

static bool word(reader *r, char *out) {
    size_t n = 0;
    while (*r->p == ' ') r->p++;
    while (isalnum((unsigned char)r->p[n]) || r->p[n] == '_') n++;
    if (!n || n >= NAME || isdigit((unsigned char)*r->p)) return false;
    memcpy(out, r->p, n);
    out[n] = 0;
    r->p += n;
    return true;
}

static bool is_tensor(const reader *r, int i) { return i >= 0 && (r->s->params[i].type == TC_T_TENSOR || r->s->params[i].type == TC_T_OPT_TENSOR); }
static int known(const reader *r, const char *name) {
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->name[i], name)) return i;
    return -1;
}
static tc_sym number(const reader *r, int64_t v) { return r->c ? tc_sym_int(r->c->program->sym, v) : NULL; }

/* ---- sizes of results: expressions ---- */
static tc_status sum(reader *r, tc_sym *out);

static tc_status factor(reader *r, tc_sym *out) {
    char name[NAME];
    if (eat(r, "(")) {
        if (++r->depth > DEPTH) return bad(r, "brackets too deep");
        TC_TRY(sum(r, out));
        r->depth--;
        return eat(r, ")") ? NULL : bad(r, "')' expected");
    }
    if (isdigit((unsigned char)*r->p)) {
        char *end;
        const long long v = strtoll(r->p, &end, 10);
        if (v > INT32_MAX) return bad(r, "a number that is too large");
        r->p = end;
        *out = number(r, v);
        return NULL;
    }
    if (!word(r, name)) return bad(r, "a size expected");
    const int k = known(r, name), i = tc_schema_param(r->s, name);
    if (k >= 0) {
        *out = r->size[k];
        return r->c && !*out ? tc_sh_fail(r->c, "its shape rule %s needs the size %s of a tensor that is None", r->o->shape, name) : NULL;
    }
    if (i < 0 || r->s->params[i].type != TC_T_INT) return bad(r, "a name that no argument's sizes have, and no int parameter, ends");
    *out = r->c ? tc_sh_int(r->c, i) : NULL;
    return NULL;
}

static tc_status product(reader *r, tc_sym *out) {
    TC_TRY(factor(r, out));
    for (;;) {
        const tc_symop op = eat(r, "//") ? TC_S_FLOORDIV : eat(r, "*") ? TC_S_MUL : eat(r, "%") ? TC_S_MOD : TC_S_CONST;
        tc_sym b;
        if (op == TC_S_CONST) return NULL;
        TC_TRY(factor(r, &b));
        if (r->c && op != TC_S_MUL && !tc_sh_not_zero(r->c, b)) return tc_sh_fail(r->c, "its shape rule %s divides by 0", r->o->shape);
        if (r->c) *out = tc_sym_op(r->c->program->sym, op, *out, b, NULL);
    }
}

static tc_status sum(reader *r, tc_sym *out) {
    while (*r->p == ' ') r->p++;
    TC_TRY(product(r, out));
    for (;;) {
        while (*r->p == ' ') r->p++;
        const bool minus = *r->p == '-' && r->p[1] != '>';
        tc_sym b;
        if (!minus && *r->p != '+') return NULL;
        for (r->p++; *r->p == ' ';) r->p++;
        TC_TRY(product(r, &b));
        if (r->c) *out = minus ? tc_sym_sub(r->c->program->sym, *out, b) : tc_sym_add(r->c->program->sym, *out, b);
    }
}

static tc_status add_size(reader *r, tc_dims *d, tc_sym size) {
    if (d->rank == TC_MAX_RANK) return r->c ? tc_sh_fail(r->c, "a result of more than %d dimensions", TC_MAX_RANK) : bad(r, "too many dimensions");
    if (r->c && !tc_sh_guard(r->c, tc_sym_op(r->c->program->sym, TC_S_LE, number(r, 0), size, NULL)))
        return tc_sh_fail(r->c, "its shape rule %s gives a negative size", r->o->shape);
    d->size[d->rank++] = size;
    return NULL;
}

static tc_status result_sizes(reader *r, tc_dims *d) {
    char name[NAME];
    *d = (tc_dims){0};
    while (!eat(r, "]")) {
        tc_sym size = NULL, list[TC_MAX_RANK];
        if (eat(r, "...")) {
            if (!r->has_rest) return bad(r, "no argument has the ... that ends");
            for (int i = 0; i < r->rest.rank; i++) TC_TRY(add_size(r, d, r->rest.size[i]));
        } else if (eat(r, "*")) {
            const int i = word(r, name) ? tc_schema_param(r->s, name) : -1;
            if (i < 0 || r->s->params[i].type != TC_T_INTS) return bad(r, "no int[] parameter");
            const int n = r->c ? tc_sh_ints(r->c, i, list, TC_MAX_RANK) : 0;
            if (n < 0) return tc_sh_fail(r->c, "%s is None or too long", name);
            for (int k = 0; k < n; k++) TC_TRY(add_size(r, d, list[k]));
        } else {
            TC_TRY(sum(r, &size));
            TC_TRY(add_size(r, d, size));
        }
        if (!eat(r, ",") && *r->p != ']') return bad(r, "',' or ']' expected");
    }
    return NULL;
}

/* ---- sizes of arguments: names, numbers, ... ---- */
static tc_status does_not_fit(const reader *r, int arg, const char *pattern) {
    return tc_sh_fail(r->c, "the sizes of %s are not %.*s, as its shape rule %s says", r->s->params[arg].name, (int)(strcspn(pattern, "]") + 1),
                      pattern, r->o->shape);
}

/* One entry of a pattern, for the dimension of size `has` (NULL: there is no tensor). */
static tc_status match_size(reader *r, int arg, const char *pattern, tc_sym has) {
    char name[NAME];
    tc_sym want;
    if (!word(r, name)) {
        if (!isdigit((unsigned char)*r->p)) return bad(r, "a name or a number expected");
        TC_TRY(factor(r, &want));
    } else {
        const int k = known(r, name);
        if (k < 0) {
            if (r->n == NAMES) return bad(r, "too many names");
            snprintf(r->name[r->n], NAME, "%s", name);
            r->size[r->n++] = has;
            return NULL;
        }
        if (!r->size[k]) r->size[k] = has; /* that of an absent tensor */
        want = r->size[k];
    }
    return !has || tc_sh_same(r->c, has, want) ? NULL : does_not_fit(r, arg, pattern);
}

static tc_status match_rest(reader *r, int arg, const char *pattern, const tc_meta *m, int first, int n) {
    const bool again = r->has_rest;
    r->has_rest = again || m || !r->c;
    if (!m) return NULL;
    if (again && r->rest.rank != n) return does_not_fit(r, arg, pattern);
    for (int i = 0; i < n; i++) {
        if (!again) r->rest.size[i] = m->size[first + i];
        else if (!tc_sh_same(r->c, m->size[first + i], r->rest.size[i])) return does_not_fit(r, arg, pattern);
    }
    r->rest.rank = n;
    return NULL;
}

static tc_status match(reader *r, int arg) {
    const char *const pattern = r->p - 1, *const end = strchr(r->p, ']');
    const tc_meta *m = r->c ? tc_sh_meta(r->c, arg) : NULL;
    int n = 0, dots = 0, at = 0;
    if (!end) return bad(r, "no ']'");
    while (*r->p == ' ') r->p++;
    n = r->p < end;
    for (const char *p = r->p; p < end; p++) n += *p == ',', dots += !strncmp(p, "...", 3);
    if (dots > 1) return bad(r, "two ...");
    const int rest = m ? m->rank - (n - dots) : 0;
    if (m && (dots ? rest < 0 : rest != 0)) return does_not_fit(r, arg, pattern);
    while (!eat(r, "]")) {
        if (eat(r, "...")) {
            TC_TRY(match_rest(r, arg, pattern, m, at, rest));
            at += rest;
        } else {
            TC_TRY(match_size(r, arg, pattern, m ? m->size[at] : NULL));
            at++;
        }
        if (!eat(r, ",") && *r->p != ']') return bad(r, "',' or ']' expected");
    }
    return NULL;
}

static tc_status match_all(reader *r) {
    char name[NAME];
    if (!strstr(r->p, "->")) return NULL;
    while (!eat(r, "->")) {
        const int i = word(r, name) ? tc_schema_param(r->s, name) : -1;
        if (!is_tensor(r, i)) return bad(r, "no tensor parameter");
        if (!eat(r, "[")) return bad(r, "'[' expected");
        TC_TRY(match(r, i));
        if (!eat(r, ",") && (*r->p != ' ' && *r->p != '-')) return bad(r, "',' or '->' expected");
    }
    return NULL;
}

/* ---- results ---- */
static int first_tensor(const reader *r) {
    for (int i = 0; i < r->s->nparams; i++)
        if (is_tensor(r, i) && (!r->c || tc_sh_meta(r->c, i))) return i;
    return -1;
}

/* The type behind a result's sizes. */
static tc_status result_type(reader *r, tc_dtype *out) {
    char name[NAME];
    const int first = first_tensor(r);
    if (word(r, name)) {
        const int i = tc_schema_param(r->s, name);
        *out = i < 0 ? tc_dtype_parse(name, strlen(name)) : TC_DTYPE_NONE;
        if (is_tensor(r, i) && r->c && tc_sh_meta(r->c, i)) *out = tc_sh_meta(r->c, i)->dtype;
        else if (i >= 0 && r->s->params[i].type == TC_T_DTYPE && r->c)
            *out = tc_sh_dtype(r->c, i, first < 0 ? TC_DTYPE_NONE : tc_sh_meta(r->c, first)->dtype);
        else if (i >= 0 ? !is_tensor(r, i) && r->s->params[i].type != TC_T_DTYPE : *out == TC_DTYPE_NONE) return bad(r, "a type expected before");
    } else {
        *out = r->c && first >= 0 ? tc_sh_meta(r->c, first)->dtype : TC_DTYPE_NONE;
        if (first < 0 && !r->c) return bad(r, "no type, and no tensor to take it from,");
    }
    if (r->c && *out == TC_DTYPE_NONE) return tc_sh_fail(r->c, "its shape rule %s gives a result no type", r->o->shape);
    return NULL;
}

static tc_status result(reader *r, int i) {
    char name[NAME];
    tc_dims d;
    tc_dtype type;
    if (eat(r, "[")) {
        TC_TRY(result_sizes(r, &d));
        TC_TRY(result_type(r, &type));
        return r->c ? tc_sh_out(r->c, i, type, &d) : NULL;
    }
    const int k = word(r, name) ? tc_schema_param(r->s, name) : -1;
    if (!is_tensor(r, k)) return bad(r, "'[' or a tensor parameter expected");
    const tc_meta *m = r->c ? tc_sh_meta(r->c, k) : NULL;
    if (r->c && !m) return tc_sh_fail(r->c, "%s is None, and a result is like it", name);
    if (m) d = tc_dims_of(m);
    return m ? tc_sh_out(r->c, i, m->dtype, &d) : NULL;
}

/* The n results of a rule, or without one like the first tensor. */
static tc_status results(reader *r, int n) {
    const int first = first_tensor(r);
    for (int i = 0; i < n && !r->o->shape; i++) {
        if (first < 0) return tc_sh_fail(r->c, "its results are like its first tensor, and there is none");
        const tc_dims d = r->c ? tc_dims_of(tc_sh_meta(r->c, first)) : (tc_dims){0};
        if (r->c) TC_TRY(tc_sh_out(r->c, i, tc_sh_meta(r->c, first)->dtype, &d));
    }
    if (!r->o->shape) return NULL;
    TC_TRY(match_all(r));
    for (int i = 0; i < n; i++) {
        if (i && !eat(r, ",")) return bad(r, "one result more expected");
        TC_TRY(result(r, i));
    }
    while (*r->p == ' ') r->p++;
    return *r->p ? bad(r, "the end expected") : NULL;
}

/* The results that the rule describes: those of the schema, out parameters, but not what is written to in its place. */
static int described(const tc_extension_op *o) { return o->schema->has_out ? o->functional->nrets : o->nplain; }

tc_status tc_extension_check_shape(const tc_extension_op *o) {
    reader r = {.o = o, .s = o->functional, .p = o->shape};
    const int n = described(o);
    if (!n) return o->shape ? tc_error(TC_CONTENT, "operator %s::%s: a shape rule without results", o->schema->ns, o->schema->name) : NULL;
    if (!o->shape && first_tensor(&r) < 0)
        return tc_error(TC_CONTENT, "operator %s::%s: no shape rule, and no tensor that the results are like", o->schema->ns, o->schema->name);
    return results(&r, n);
}

tc_status tc_extension_shape(tc_shape_ctx *c) {
    const tc_extension_op *o = tc_extension_op_of(c->op);
    reader r = {.c = c, .o = o, .s = o->functional, .p = o->shape};
    TC_TRY(results(&r, described(o)));
    for (int i = 0; i < o->schema->nparams; i++) { /* what is written to keeps its type and sizes */
        const int from = o->from[i];
        if (o->to[i] < 0 || from < 0) continue;
        TC_TRY(tc_sh_need_tensor(c, from));
        const tc_dims d = tc_dims_of(tc_sh_meta(c, from));
        TC_TRY(tc_sh_out(c, o->to[i], tc_sh_meta(c, from)->dtype, &d));
    }
    return NULL;
}

/* ---- a call that fits ---- */
/* The sizes that the rule asks of parameter `name`: a different one for each name, 2x3 for ... . No pattern: 3x5, the same for all. */
static void sample_sizes(const char *rule, const char *name, tc_buf *out) {
    const char *end = rule ? strstr(rule, "->") : NULL, *at = NULL;
    const size_t n = strlen(name);
    for (const char *p = rule; end && p < end && !at; p++)
        if (!strncmp(p, name, n) && p[n] == '[' && (p == rule || p[-1] == ' ' || p[-1] == ',')) at = p + n + 1;
    if (!at) {
        tc_buf_puts(out, "3,5");
        return;
    }
    for (const char *p = at; *p && *p != ']'; p++) {
        size_t len = 0;
        while (isalnum((unsigned char)p[len]) || p[len] == '_') len++;
        if (!strncmp(p, "...", 3)) tc_buf_puts(out, "2,3"), p += 2;
        else if (len && isdigit((unsigned char)*p)) tc_buf_append(out, p, len), p += len - 1;
        else if (len) tc_buf_printf(out, "%d", 4 + (int)(tc_hash(p, len, 1) % 5)), p += len - 1;
        else if (*p == ',') tc_buf_putc(out, ',');
    }
}

void tc_extension_sample(const tc_extension_op *o, tc_buf *out) {
    const tc_schema *s = o->schema;
    tc_buf_printf(out, "%s::%s%s%s(", s->ns, s->name, *s->overload ? "." : "", s->overload);
    for (int i = 0; i < s->nparams; i++) {
        const tc_param *p = &s->params[i];
        if (p->has_default && p->type != TC_T_OPT_TENSOR) continue;
        if (i) tc_buf_puts(out, ", ");
        tc_buf_printf(out, "%s=", p->name);
        const bool list = p->type == TC_T_TENSORS;
        if (list || p->type == TC_T_TENSOR || p->type == TC_T_OPT_TENSOR) {
            tc_buf_puts(out, list ? "[f32[" : "f32[");
            sample_sizes(o->shape, p->name, out);
            tc_buf_puts(out, list ? "]]" : "]");
        } else {
            tc_buf_puts(out, p->type == TC_T_STRING   ? "'x'"
                             : p->type == TC_T_DTYPE  ? "torch.float32"
                             : p->type == TC_T_BOOL   ? "False"
                             : p->type == TC_T_INT    ? "1"
                             : p->type == TC_T_INTS   ? "[1]"
                             : p->type == TC_T_BOOLS  ? "[False]"
                             : p->type == TC_T_FLOATS ? "[0.5]"
                                                      : "0.5");
        }
    }
    tc_buf_putc(out, ')');
}
