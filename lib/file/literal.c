/* Tensors written on a command line. */
#include "file/literal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

size_t tc_literal_type(const char *text, bool symbols) {
    const char *p = text;
    for (;;) { /* SIZE x SIZE x ... DTYPE */
        size_t n = 0, word = 0;
        while (isdigit((unsigned char)p[n])) n++;
        if (!n && symbols && isupper((unsigned char)*p))
            while (isupper((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || p[n] == '_') n++;
        if (n && p[n] == 'x') {
            p += n + 1;
            continue;
        }
        while (isalnum((unsigned char)p[word]) || p[word] == '_') word++;
        if (!word || tc_dtype_parse(p, word) == TC_DTYPE_NONE) return 0;
        return (size_t)(p - text) + word;
    }
}

typedef struct {
    const char *text, *p;
} cursor;

static bool part(cursor *c, double *out) {
    char *end;
    errno = 0;
    if (isspace((unsigned char)*c->p)) return false;
    *out = strtod(c->p, &end);
    if (end == c->p) return false;
    c->p = end;
    return true;
}

static tc_status bad(const cursor *c) { return tc_error(TC_USAGE, "%s: expected a number at \"%.20s\"", c->text, c->p); }

static tc_status value(cursor *c, tc_dtype d, tc_scalar *out) {
    char *end;
    if (!strncmp(c->p, "true", 4) || !strncmp(c->p, "True", 4)) {
        *out = tc_scalar_bool(true);
        c->p += 4;
        return NULL;
    }
    if (!strncmp(c->p, "false", 5) || !strncmp(c->p, "False", 5)) {
        *out = tc_scalar_bool(false);
        c->p += 5;
        return NULL;
    }
    if (tc_is_integral(d)) {
        errno = 0;
        bool huge = d == TC_U64 && isdigit((unsigned char)*c->p);
        int64_t i = huge ? (int64_t)strtoull(c->p, &end, 10) : strtoll(c->p, &end, 10);
        if (end == c->p || isspace((unsigned char)*c->p)) return bad(c);
        if (*end == '.' || *end == 'e') return tc_error(TC_USAGE, "%s: \"%.20s\" is not a whole number", c->text, c->p);
        if (errno == ERANGE) return tc_error(TC_USAGE, "%s: \"%.20s\" does not fit", c->text, c->p);
        *out = tc_scalar_int(i);
        c->p = end;
        return NULL;
    }
    double re, im = 0;
    if (!part(c, &re)) return bad(c);
    if (!tc_is_complex(d)) {
        *out = tc_scalar_float(re);
        return NULL;
    }
    if (*c->p == 'j') {
        im = re, re = 0;
        c->p++;
    } else if (*c->p == '+' || *c->p == '-') {
        if (!part(c, &im) || *c->p != 'j') return bad(c);
        c->p++;
    }
    *out = (tc_scalar){.kind = TC_KIND_COMPLEX, .re = re, .im = im};
    return NULL;
}

static tc_status fits(const cursor *c, tc_dtype d, tc_scalar v) {
    if (v.kind > TC_KIND_INT || !tc_is_integral(d) || d == TC_BOOL || d == TC_U64) return NULL;
    int bits = 8 * (int)tc_dtype_size(d);
    int64_t lo = bits == 64 ? INT64_MIN : tc_dtypes[d].is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    int64_t hi = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - tc_dtypes[d].is_signed)) - 1;
    return v.i < lo || v.i > hi ? tc_error(TC_USAGE, "%s: %lld does not fit %s", c->text, (long long)v.i, tc_dtypes[d].torch) : NULL;
}

static tc_status fill(cursor *c, tc_tensor *t) {
    int64_t n = tc_tensor_numel(t), i = 0;
    tc_scalar v = {0};
    while (*c->p) {
        if (i) {
            if (*c->p != ',') return bad(c);
            c->p++;
        }
        TC_TRY(value(c, t->dtype, &v));
        TC_TRY(fits(c, t->dtype, v));
        if (i < n) tc_scalar_store(t->dtype, tc_tensor_data(t), i, v);
        i++;
    }
    if (i == 1) tc_repeat_element(tc_tensor_data(t), tc_dtype_size(t->dtype), n);
    else if (i != n) return tc_error(TC_USAGE, "%s: %lld values for %lld elements (one value fills)", c->text, (long long)i, (long long)n);
    return NULL;
}

tc_status tc_literal_parse(const char *text, tc_tensor *out) {
    size_t type = tc_literal_type(text, false);
    int64_t size[TC_MAX_RANK];
    int rank = 0;
    const char *p = text;
    if (!type || text[type] != '=') return tc_error(TC_USAGE, "%s: expected sizes, a type and values, for instance 2x3xf32=0", text);
    for (char *end; isdigit((unsigned char)*p); p = end + 1) {
        errno = 0;
        int64_t n = strtoll(p, &end, 10);
        if (*end != 'x') break;
        if (rank == TC_MAX_RANK || errno) return tc_error(TC_USAGE, "%s: the sizes are too many or too large", text);
        size[rank++] = n;
    }
    cursor c = {text, text + type + 1};
    TC_TRY(tc_tensor_empty(tc_dtype_parse(p, (size_t)(text + type - p)), rank, size, out));
    tc_status st = fill(&c, out);
    if (st) tc_tensor_deinit(out);
    return st;
}
