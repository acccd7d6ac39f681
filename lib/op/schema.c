/* Parses ATen schema strings:
 *
 *     aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
 *     ns    name  overload      alias  name                      default       results
 */
#include "op/schema.h"

#include "base/text.h"

#include <ctype.h>
#include <math.h>

typedef struct {
    tc_arena *a;
    const char *p, *end, *begin;
} cursor;

static void skip(cursor *c) {
    while (c->p < c->end && *c->p == ' ') c->p++;
}

static bool eat(cursor *c, const char *s) {
    skip(c);
    return tc_eat(&c->p, c->end, s);
}

static bool is_word(char ch) { return isalnum((unsigned char)ch) || ch == '_'; }

static char *word(cursor *c) {
    skip(c);
    const char *s = c->p;
    while (c->p < c->end && is_word(*c->p)) c->p++;
    return tc_arena_strndup(c->a, s, (size_t)(c->p - s));
}

static tc_status bad(const cursor *c, const char *what) {
    return tc_error(TC_CONTENT, "schema \"%.*s\": %s at byte %zu", (int)(c->end - c->begin), c->begin, what, (size_t)(c->p - c->begin));
}

static const struct {
    const char *name;
    tc_type one, list, opt_list;
} types[] = {
    {"Tensor", TC_T_TENSOR, TC_T_TENSORS, TC_T_OPT_TENSORS},
    {"SymInt", TC_T_INT, TC_T_INTS, TC_T_INTS},
    {"int", TC_T_INT, TC_T_INTS, TC_T_INTS},
    {"float", TC_T_FLOAT, TC_T_FLOATS, TC_T_FLOATS},
    {"bool", TC_T_BOOL, TC_T_BOOLS, TC_T_BOOLS},
    {"SymBool", TC_T_BOOL, TC_T_BOOLS, TC_T_BOOLS},
    {"Scalar", TC_T_SCALAR, TC_T_SCALARS, TC_T_SCALARS},
    {"complex", TC_T_SCALAR, TC_T_SCALARS, TC_T_SCALARS},
    {"str", TC_T_STRING, TC_T_STRING, TC_T_STRING},
    {"ScalarType", TC_T_DTYPE, TC_T_DTYPE, TC_T_DTYPE},
    {"Layout", TC_T_LAYOUT, TC_T_LAYOUT, TC_T_LAYOUT},
    {"MemoryFormat", TC_T_MEMFORMAT, TC_T_MEMFORMAT, TC_T_MEMFORMAT},
    {"Device", TC_T_DEVICE, TC_T_DEVICE, TC_T_DEVICE},
    {"Generator", TC_T_GENERATOR, TC_T_GENERATOR, TC_T_GENERATOR},
    {"Dimname", TC_T_DIMNAME, TC_T_DIMNAME, TC_T_DIMNAME},
};

static tc_status alias_of(cursor *c, tc_param *p) {
    if (!eat(c, "(")) return NULL;
    for (; c->p < c->end && *c->p != ')'; c->p++) {
        if (*c->p == '!') p->mutated = true;
        else if (islower((unsigned char)*c->p) && !p->alias) p->alias = *c->p;
    }
    return eat(c, ")") ? NULL : bad(c, "')' of an alias expected");
}

static tc_status type_of(cursor *c, tc_param *p) {
    const char *w = word(c);
    size_t t = 0;
    while (t < sizeof types / sizeof *types && strcmp(types[t].name, w)) t++;
    if (t == sizeof types / sizeof *types) return bad(c, "unknown type");
    p->type = types[t].one;
    p->sym_int = !strcmp(w, "SymInt");
    TC_TRY(alias_of(c, p));
    bool opt = false, list = false;
    for (;;) {
        if (c->p < c->end && *c->p == '?') {
            opt = true;
            c->p++;
        } else if (c->p < c->end && *c->p == '[') {
            if (list) return bad(c, "list of lists");
            list = true;
            p->type = opt ? types[t].opt_list : types[t].list;
            opt = false;
            for (c->p++; c->p < c->end && isdigit((unsigned char)*c->p); c->p++) p->fixed_len = p->fixed_len * 10 + (*c->p - '0');
            if (!eat(c, "]")) return bad(c, "']' expected");
            if (c->p < c->end && *c->p == '(') TC_TRY(alias_of(c, p));
        } else {
            break;
        }
    }
    p->optional = opt;
    if (opt && p->type == TC_T_TENSOR) p->type = TC_T_OPT_TENSOR;
    return NULL;
}

static bool number(cursor *c, tc_scalar *out) {
    skip(c);
    const char *s = c->p;
    bool is_float = false;
    if (c->p < c->end && *c->p == '-') c->p++;
    for (; c->p < c->end && (isdigit((unsigned char)*c->p) || strchr(".e-+", *c->p)); c->p++) is_float |= !isdigit((unsigned char)*c->p);
    if (c->p == s) return false;
    char text[64];
    size_t n = (size_t)(c->p - s);
    if (n >= sizeof text) return false;
    memcpy(text, s, n);
    text[n] = 0;
    *out = is_float ? tc_scalar_float(strtod(text, NULL)) : tc_scalar_int(strtoll(text, NULL, 10));
    return true;
}

/* Translates c10's codes in a list's default to tc's. */
static const tc_dtype c10_dtype[] = {TC_U8, TC_I8, TC_I16, TC_I32, TC_I64, TC_F16, TC_F32, TC_F64, TC_C32, TC_C64, TC_C128, TC_BOOL};
static const int c10_memory_format[] = {1, 4, 2, 3};

static tc_status default_of(cursor *c, tc_param *p) {
    tc_arg *d = &p->def;
    tc_scalar s;
    p->has_default = true;
    skip(c);
    if (eat(c, "None")) {
        d->kind = TC_A_NONE;
    } else if (eat(c, "True")) {
        *d = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(true)};
    } else if (eat(c, "False")) {
        *d = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(false)};
    } else if (eat(c, "[")) {
        double v[16];
        int n = 0;
        while (!eat(c, "]")) {
            if (n == 16 || !number(c, &s)) return bad(c, "number expected");
            v[n++] = tc_scalar_to_double(s);
            eat(c, ",");
        }
        *d = (tc_arg){.kind = TC_A_FLOATS, .n = n, .floats = tc_arena_dup(c->a, v, sizeof *v * (size_t)n)};
    } else if (c->p < c->end && (*c->p == '"' || *c->p == '\'')) {
        char quote = *c->p++;
        const char *b = c->p;
        while (c->p < c->end && *c->p != quote) c->p += *c->p == '\\' ? 2 : 1;
        if (c->p >= c->end) return bad(c, "string without end");
        *d = (tc_arg){.kind = TC_A_STRING, .string = tc_arena_strndup(c->a, b, (size_t)(c->p++ - b))};
    } else if (number(c, &s)) {
        if (p->type == TC_T_DTYPE) {
            if (s.i < 0 || s.i >= (int64_t)(sizeof c10_dtype / sizeof *c10_dtype)) return bad(c, "unknown dtype");
            *d = (tc_arg){.kind = TC_A_DTYPE, .dtype = c10_dtype[s.i]};
        } else if (p->type == TC_T_MEMFORMAT) {
            if (s.i < 0 || s.i > 3) return bad(c, "unknown memory format");
            *d = (tc_arg){.kind = TC_A_MEMFORMAT, .code = c10_memory_format[s.i]};
        } else {
            *d = (tc_arg){.kind = TC_A_SCALAR, .scalar = p->type == TC_T_FLOAT ? tc_scalar_float(tc_scalar_to_double(s)) : s};
        }
    } else if (p->type == TC_T_DTYPE || p->type == TC_T_MEMFORMAT) { /* table rows may use names */
        const char *w = word(c);
        if (p->type == TC_T_DTYPE) *d = (tc_arg){.kind = TC_A_DTYPE, .dtype = tc_dtype_parse(w, strlen(w))};
        else *d = (tc_arg){.kind = TC_A_MEMFORMAT, .code = strncmp(w, "contiguous", 10) ? 4 : 1};
    } else if (p->type == TC_T_STRING || p->type == TC_T_INT) {
        const char *w = word(c); /* Mean */
        if (strcmp(w, "Mean")) return bad(c, "unknown default");
        *d = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(1)};
    } else {
        return bad(c, "unknown default");
    }
    return NULL;
}

static tc_status params_of(cursor *c, tc_schema *s) {
    TC_VEC(tc_param) v = {0};
    bool kw = false;
    while (!eat(c, ")")) {
        tc_param p = {0};
        tc_status st = NULL;
        if (eat(c, "*,")) {
            kw = true;
            continue;
        }
        p.kw_only = kw;
        st = type_of(c, &p);
        if (!st) {
            p.name = word(c);
            if (c->p < c->end && *c->p == '=') {
                c->p++;
                st = default_of(c, &p);
            }
        }
        if (!st && !eat(c, ",") && !(c->p < c->end && *c->p == ')')) st = bad(c, "',' or ')' expected");
        if (st) {
            tc_vec_free(&v);
            return st;
        }
        tc_vec_push(&v, p);
    }
    s->nparams = (int)v.len;
    s->params = v.len ? tc_arena_dup(c->a, v.data, v.len * sizeof *v.data) : NULL;
    tc_vec_free(&v);
    return NULL;
}

/* Behind a schema of PyTorch's list: letters, then types (op.h). */
static const char *after_marks(const cursor *c) {
    const char *p = c->p;
    while (p < c->end && strchr(TC_MARKS, *p)) p++;
    while (p < c->end && *p == ' ') p++;
    return p < c->end && *p == '!' ? c->end : p;
}
static bool at_marks(const cursor *c) { return after_marks(c) == c->end; }

static tc_status rets_of(cursor *c, tc_schema *s) {
    tc_param v[16] = {{0}};
    int n = 0;
    bool tuple = eat(c, "(");
    while (!(tuple && eat(c, ")"))) {
        if (n == 16) return bad(c, "more than 16 results");
        TC_TRY(type_of(c, &v[n]));
        skip(c);
        v[n].name = c->p < c->end && is_word(*c->p) && (tuple || !at_marks(c)) ? word(c) : "";
        n++;
        if (!tuple) break;
        if (!eat(c, ",") && !(c->p < c->end && *c->p == ')')) return bad(c, "',' or ')' expected");
    }
    s->nrets = n;
    s->rets = n ? tc_arena_dup(c->a, v, sizeof *v * (size_t)n) : NULL;
    return NULL;
}

tc_status tc_schema_parse(tc_arena *a, const char *text, size_t n, tc_schema *out) {
    cursor c = {a, text, text + n, text};
    *out = (tc_schema){.ns = "aten", .name = "", .overload = ""};
    const char *w = word(&c);
    if (eat(&c, "::")) {
        out->ns = w;
        w = word(&c);
    }
    out->name = w;
    if (eat(&c, ".")) out->overload = word(&c);
    if (!strcmp(out->overload, "default")) out->overload = "";
    if (!*out->name || !eat(&c, "(")) return bad(&c, "NAME( expected");
    if (eat(&c, "...)")) {
        out->variadic = true;
        return NULL;
    }
    TC_TRY(params_of(&c, out));
    if (!eat(&c, "->")) return bad(&c, "'->' expected");
    TC_TRY(rets_of(&c, out));
    skip(&c);
    if (!at_marks(&c)) return bad(&c, "end expected");
    size_t len = strlen(out->name);
    for (int i = 0; i < out->nparams; i++) {
        const tc_param *p = &out->params[i];
        if (p->mutated && i == 0 && len > 1 && out->name[len - 1] == '_') out->inplace = true;
        if (p->mutated && p->kw_only) out->has_out = true;
        for (int r = 0; r < out->nrets; r++)
            if (p->alias && !p->mutated && out->rets[r].alias == p->alias) out->is_view = true;
    }
    return NULL;
}
