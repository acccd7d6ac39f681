/* Numbers as text: repr of floats, format(), the % operator and str.format, as CPython writes them. */
#include "capture/object.h"

#include <math.h>
#include <stdio.h>

/* The shortest digits that read back the same; exponent form from 1e16 up and below 1e-4. */
void tc_float_repr(tc_buf *b, double f) {
    if (isnan(f)) {
        tc_buf_puts(b, "nan");
        return;
    }
    if (isinf(f)) {
        tc_buf_puts(b, f < 0 ? "-inf" : "inf");
        return;
    }
    char e[40];
    int prec = 0;
    for (; prec < 17; prec++) {
        snprintf(e, sizeof e, "%.*e", prec, f);
        if (strtod(e, NULL) == f) break;
    }
    const char *p = e;
    if (*p == '-') tc_buf_putc(b, *p++);
    char digits[24];
    int n = 0;
    for (; *p && *p != 'e'; p++)
        if (*p != '.') digits[n++] = *p;
    int x = (int)strtol(p + 1, NULL, 10);
    while (n > 1 && digits[n - 1] == '0') n--;
    if (x >= 16 || x < -4) {
        tc_buf_putc(b, digits[0]);
        if (n > 1) tc_buf_putc(b, '.'), tc_buf_append(b, digits + 1, (size_t)n - 1);
        tc_buf_printf(b, "e%c%02d", x < 0 ? '-' : '+', abs(x));
    } else if (x < 0) {
        tc_buf_puts(b, "0.");
        for (int i = -1; i > x; i--) tc_buf_putc(b, '0');
        tc_buf_append(b, digits, (size_t)n);
    } else {
        for (int i = 0; i <= x; i++) tc_buf_putc(b, i < n ? digits[i] : '0');
        tc_buf_putc(b, '.');
        if (n > x + 1) tc_buf_append(b, digits + x + 1, (size_t)(n - x - 1));
        else tc_buf_putc(b, '0');
    }
}

double tc_round_half_even(double f, int64_t digits) {
    if (!isfinite(f) || digits > 330) return f;
    if (digits < -330) return copysign(0.0, f);
    char text[800];
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, f); /* glibc rounds the exact decimal value half to even */
        return strtod(text, NULL);
    }
    double p = pow(10, (double)-digits), q = rint(f / p);
    return q * p;
}

double tc_parse_float(C *c, str *s) {
    const char *p = s->s, *e = s->s + s->len;
    while (p < e && strchr(" \t\n\r\f\v", *p)) p++;
    while (e > p && strchr(" \t\n\r\f\v", e[-1])) e--;
    tc_buf b = {0};
    bool ok = p < e;
    for (const char *q = p; q < e; q++) {
        if (*q == '_') {
            if (q == p || q + 1 == e || q[-1] < '0' || q[-1] > '9' || q[1] < '0' || q[1] > '9') ok = false;
        } else tc_buf_putc(&b, *q);
        if (*q == 'x' || *q == 'X' || *q == '(') ok = false;
    }
    char *end = NULL;
    double f = ok ? strtod(b.data, &end) : 0;
    ok = ok && end == b.data + b.len;
    tc_buf_free(&b);
    if (!ok) tc_raise(c, "ValueError", "could not convert string to float: %s", tc_repr(c, (V)s)->s);
    return f;
}

/* A number of the text of a complex one, at *p, which moves behind it; a sign alone counts as 1. false: none is there. */
static bool complex_part(const char **p, const char *e, double *out) {
    const char *digits = *p + (**p == '+' || **p == '-');
    char *end = (char *)*p;
    if (digits == e || !strchr("xX", digits[*digits == '0'])) *out = strtod(*p, &end);
    if (end == *p && digits < e && (*digits == 'j' || *digits == 'J')) *out = **p == '-' ? -1 : 1, end = (char *)digits;
    const bool found = end > *p || digits < e;
    *p = end;
    return found && end <= e;
}
/* complex("1+2j"): a real part, an imaginary part, or both, in brackets or not. */
V tc_parse_complex(C *c, const str *s) {
    const char *p = s->s, *e = s->s + s->len, *blank = " \t\n\r\f\v";
    double v[2] = {0, 0}, x = 0;
    while (p < e && strchr(blank, *p)) p++;
    while (e > p && strchr(blank, e[-1])) e--;
    if (e - p > 2 && *p == '(' && e[-1] == ')') {
        p++, e--;
        while (p < e && strchr(blank, *p)) p++;
        while (e > p && strchr(blank, e[-1])) e--;
    }
    bool ok = p < e, imaginary = false;
    for (int part = 0; ok && p < e; part++) {
        ok = part < 2 && !imaginary && (!part || *p == '+' || *p == '-') && complex_part(&p, e, &x);
        imaginary = ok && p < e && (*p == 'j' || *p == 'J');
        if (imaginary) p++;
        ok = ok && (!part || imaginary);
        v[imaginary] = x;
    }
    if (!ok) tc_raise(c, "ValueError", "complex() arg is a malformed string");
    return tc_complex(c, v[0], v[1]);
}

double tc_to_double(C *c, V v) {
    switch (tc_kind_of(v)) {
    case K_INT: return tc_int_to_double(c, v);
    case K_BOOL: return v == c->true_;
    case K_FLOAT: return tc_flt(v);
    case K_TENSOR: {
        V n = tc_tensor_number(c, v, "float()");
        return tc_to_double(c, n);
    }
    case K_SYM: {
        double f;
        if (tc_sym_const_float(((symobj *)v)->s, &f)) return f;
        return tc_to_double(c, tc_sym_force_as(c, v, ""));
    }
    default: {
        V f = tc_special(c, v, c->n___float__);
        if (f) return tc_to_double(c, tc_call1(c, f, v));
        f = tc_special(c, v, c->n___index__);
        if (f) return tc_to_double(c, tc_call1(c, f, v));
        tc_raise(c, "TypeError", "must be real number, not %s", tc_type_name(c, v));
    }
    }
}

/* ---- format specs: [[fill]align][sign][#][0][width][,|_][.precision][type] ---- */
typedef struct {
    char fill[8];
    char align, sign, type, group;
    bool alt, zero, by_zero, no_minus_zero; /* zero: zeros between sign and digits; by_zero: because of a leading 0, not of an alignment */
    int64_t width, prec;
} spec;

static void fill_zeros(spec *s) { /* between the sign and the digits */
    s->align = '=';
    s->fill[0] = '0', s->fill[1] = 0;
}

static int64_t parse_count(C *c, const char **p, const char *e, const char *what) {
    int64_t v = 0;
    while (*p < e && **p >= '0' && **p <= '9') {
        v = v * 10 + (*(*p)++ - '0');
        if (v > 100000000) tc_raise_limit(c, "format: a %s of %lld or more is over the limit", what, (long long)v);
    }
    return v;
}

static spec parse_spec(C *c, const char *p, size_t n) {
    spec s = {.fill = " ", .width = 0, .prec = -1};
    const char *e = p + n;
    bool filled = false;
    int len = p < e && ((unsigned char)*p & 0xc0) == 0xc0 ? ((unsigned char)*p >= 0xf0 ? 4 : (unsigned char)*p >= 0xe0 ? 3 : 2) : 1;
    if (e - p > len && strchr("<>=^", p[len])) {
        memcpy(s.fill, p, (size_t)len);
        s.fill[len] = 0;
        s.align = p[len];
        p += len + 1, filled = true;
    } else if (p < e && strchr("<>=^", *p)) s.align = *p++;
    if (p < e && strchr("+- ", *p)) s.sign = *p++;
    if (p < e && *p == 'z') s.no_minus_zero = true, p++;
    if (p < e && *p == '#') s.alt = true, p++;
    if (p < e && *p == '0' && !filled) { /* after a fill character, 0 is a digit of the width */
        p++;
        s.by_zero = !s.align;
        if (s.align) s.fill[0] = '0';
        else fill_zeros(&s);
    }
    s.zero = s.align == '=' && s.fill[0] == '0';
    s.width = parse_count(c, &p, e, "width");
    if (p < e && (*p == ',' || *p == '_')) s.group = *p++;
    if (p < e && *p == '.') {
        p++;
        if (p >= e || *p < '0' || *p > '9') tc_raise(c, "ValueError", "Format specifier missing precision");
        s.prec = parse_count(c, &p, e, "precision");
    }
    if (p < e) s.type = *p++;
    if (p < e) tc_raise(c, "ValueError", "Invalid format specifier");
    return s;
}

static void grouped(tc_buf *out, const char *digits, size_t n, char sep, int every) {
    for (size_t i = 0; i < n; i++) {
        tc_buf_putc(out, digits[i]);
        size_t left = n - 1 - i;
        if (sep && left && left % (size_t)every == 0) tc_buf_putc(out, sep);
    }
}

/* body: sign and prefix, then digits; pads to the width. */
static str *pad(C *c, const spec *s, const char *sign, const char *body, size_t n, size_t chars, char align) {
    size_t have = strlen(sign) + chars, fill = (int64_t)have < s->width ? (size_t)s->width - have : 0;
    if (fill * strlen(s->fill) > c->max_memory) tc_raise_limit(c, "format: a width of %lld is over the limit", (long long)s->width);
    tc_buf b = {0};
    if (s->align) align = s->align;
    size_t left = align == '>' ? fill : align == '^' ? fill / 2 : 0, mid = align == '=' ? fill : 0, right = fill - left - mid;
    tc_buf_reserve(&b, fill * strlen(s->fill) + n + 8);
    for (size_t i = 0; i < left; i++) tc_buf_puts(&b, s->fill);
    tc_buf_puts(&b, sign);
    for (size_t i = 0; i < mid; i++) tc_buf_puts(&b, s->fill);
    tc_buf_append(&b, body, n);
    for (size_t i = 0; i < right; i++) tc_buf_puts(&b, s->fill);
    return tc_as_str(tc_buf_to_str(c, &b));
}

static str *format_int(C *c, V v, const spec *s) {
    int base = s->type == 'x' || s->type == 'X' ? 16 : s->type == 'o' ? 8 : s->type == 'b' ? 2 : 10;
    if (s->prec >= 0) tc_raise(c, "ValueError", "Precision not allowed in integer format specifier");
    if (s->type == 'c') {
        V ch = tc_call1(c, tc_dict_gets(c, c->builtins, tc_intern(c, "chr", 3)), v);
        return pad(c, s, "", tc_as_str(ch)->s, tc_as_str(ch)->len, 1, '<');
    }
    str *t = tc_int_text(c, v, base);
    const char *d = t->s;
    size_t n = t->len;
    char sign[8] = "";
    if (*d == '-') sign[0] = '-', d++, n--;
    else if (s->sign == '+' || s->sign == ' ') sign[0] = s->sign;
    if (s->alt && base != 10) {
        size_t k = strlen(sign);
        sign[k] = '0', sign[k + 1] = s->type, sign[k + 2] = 0;
    }
    tc_buf b = {0};
    int every = base == 10 ? 3 : 4;
    if (s->zero && s->group) { /* zeros are grouped too */
        tc_buf z = {0};
        for (;;) {
            size_t groups = (z.len + n - 1) / (size_t)every;
            if ((int64_t)(strlen(sign) + z.len + n + groups) >= s->width) break;
            tc_buf_putc(&z, '0');
        }
        tc_buf_append(&z, d, n);
        grouped(&b, z.data, z.len, s->group, every);
        tc_buf_free(&z);
    } else grouped(&b, d, n, s->group, every);
    if (s->type == 'X')
        for (size_t i = 0; i < b.len; i++)
            if (b.data[i] >= 'a') b.data[i] = (char)(b.data[i] - 32);
    V body = tc_buf_to_str(c, &b);
    return pad(c, s, sign, tc_as_str(body)->s, tc_as_str(body)->len, tc_as_str(body)->len, '>');
}

static str *format_float(C *c, double f, const spec *s) {
    char code = s->type, sign[2] = "";
    if (signbit(f) && !isnan(f)) sign[0] = '-';
    else if (s->sign == '+' || s->sign == ' ') sign[0] = s->sign;
    double m = fabs(f);
    tc_buf b = {0};
    bool percent = code == '%';
    int64_t prec = s->prec;
    if (prec > 1000) tc_raise_limit(c, "format: a precision of %lld is over the limit of 1000", (long long)prec);
    if (percent) m *= 100, code = 'f';
    if (isnan(f)) tc_buf_puts(&b, code == 'F' || code == 'E' || code == 'G' ? "NAN" : "nan");
    else if (isinf(f)) tc_buf_puts(&b, code == 'F' || code == 'E' || code == 'G' ? "INF" : "inf");
    else if (!code && prec < 0) tc_float_repr(&b, m);
    else {
        if (prec < 0) prec = 6;
        char cfmt[8] = {'%', '.', '*', 0};
        if (!code) {
            /* like g, but a fraction part is kept and the precision counts digits */
            snprintf(cfmt, sizeof cfmt, "%%.*g");
            tc_buf_printf(&b, "%.*g", (int)(prec ? prec : 1), m);
            if (!strpbrk(b.data, ".e")) tc_buf_puts(&b, ".0");
        } else {
            char text[1600];
            int n;
            if (code == 'g' || code == 'G' || code == 'n') n = snprintf(text, sizeof text, s->alt ? "%#.*g" : "%.*g", (int)(prec ? prec : 1), m);
            else if (code == 'e' || code == 'E') n = snprintf(text, sizeof text, s->alt ? "%#.*e" : "%.*e", (int)prec, m);
            else if (code == 'f' || code == 'F') n = snprintf(text, sizeof text, s->alt ? "%#.*f" : "%.*f", (int)prec, m);
            else tc_raise(c, "ValueError", "Unknown format code '%c' for object of type 'float'", code);
            (void)n;
            if (code == 'G' || code == 'E')
                for (char *p = text; *p; p++)
                    if (*p == 'e') *p = 'E';
            tc_buf_puts(&b, text);
        }
    }
    if (s->no_minus_zero && sign[0] == '-' && !strpbrk(b.data, "123456789ni")) sign[0] = s->sign == '-' ? 0 : s->sign;
    if (s->group) {
        size_t whole = strspn(b.data, "0123456789");
        tc_buf g = {0}, z = {0};
        if (s->zero)
            while ((int64_t)(strlen(sign) + z.len + whole + (z.len + whole - 1) / 3 + (b.len - whole)) < s->width) tc_buf_putc(&z, '0');
        tc_buf_append(&z, b.data, whole);
        grouped(&g, z.data, z.len, s->group, 3);
        tc_buf_puts(&g, b.data + whole);
        tc_buf_free(&b), tc_buf_free(&z);
        b = g;
    }
    if (percent) tc_buf_putc(&b, '%');
    V body = tc_buf_to_str(c, &b);
    return pad(c, s, sign, tc_as_str(body)->s, tc_as_str(body)->len, tc_as_str(body)->len, '>');
}

static str *format_str(C *c, str *v, const spec *s) {
    if (s->type && s->type != 's') tc_raise(c, "ValueError", "Unknown format code '%c' for object of type 'str'", s->type);
    size_t n = v->len, chars = v->nchars;
    if (s->prec >= 0 && (size_t)s->prec < chars) {
        chars = (size_t)s->prec;
        size_t k = 0;
        for (n = 0; n < v->len; n++) {
            if (((unsigned char)v->s[n] & 0xc0) != 0x80 && k++ == chars) break;
        }
    }
    spec t = *s;
    if (t.align == '=') {
        if (!t.by_zero) tc_raise(c, "ValueError", "'=' alignment not allowed in string format specifier");
        t.align = '<';
    }
    return pad(c, &t, "", v->s, n, chars, '<');
}

str *tc_format_value(C *c, V v, const char *text, size_t n) {
    if (!tc_is_small(v) && v->type->user) {
        V f = tc_special(c, v, c->n___format__);
        if (f) return tc_as_str(tc_call2(c, f, v, tc_strn(c, text, n)));
    }
    kind k = tc_kind_of(v);
    if (n == 0) return tc_to_str(c, k == K_TENSOR && tc_tensor_formats_as_number(c, v) ? tc_tensor_number(c, v, "format()") : v);
    spec s = parse_spec(c, text, n);
    if (k == K_TENSOR) v = tc_tensor_number(c, v, "format()"), k = tc_kind_of(v);
    if (k == K_BOOL && s.type && s.type != 's') v = tc_int(c, v == c->true_), k = K_INT;
    if (k == K_BOOL && !s.type) { v = tc_int(c, v == c->true_), k = K_INT; }
    if (k == K_INT && (!s.type || strchr("dxXobcn", s.type))) return format_int(c, v, &s);
    if (k == K_INT || k == K_FLOAT) {
        if (s.type && !strchr("eEfFgGn%", s.type))
            tc_raise(c, "ValueError", "Unknown format code '%c' for object of type '%s'", s.type, tc_type_name(c, v));
        return format_float(c, tc_to_double(c, v), &s);
    }
    if (k == K_STR) return format_str(c, (str *)v, &s);
    if (k == K_COMPLEX && s.type && strchr("eEfFgG", s.type) && !s.zero && s.align != '=') { /* each part by itself, the sign between them */
        const cplx *z = (cplx *)v;
        spec part = s;
        part.width = 0;
        str *re = format_float(c, z->re, &part);
        part.sign = '+';
        V both = tc_strf(c, "%s%sj", re->s, format_float(c, z->im, &part)->s);
        return pad(c, &s, "", tc_as_str(both)->s, tc_as_str(both)->len, tc_as_str(both)->nchars, '>');
    }
    tc_raise(c, "TypeError", "unsupported format string passed to %s.__format__", tc_type_name(c, v));
}

/* The operands of "..." % args: the text, and the arguments in order. */
typedef struct {
    const char *p, *end;
    V all, one[1], *items; /* all: a tuple of items, a dict, or one argument */
    size_t n, used;
} percent;

static V next_argument(C *c, percent *f) {
    if (f->used >= f->n) tc_raise(c, "TypeError", "not enough arguments for format string");
    return f->items[f->used++];
}

/* (key) flags width .precision, after a %; the argument with that key, or NULL. */
static V conversion_spec(C *c, percent *f, spec *s, bool *left) {
    V arg = NULL;
    const char *e = f->end;
    if (f->p < e && *f->p == '(') {
        const char *r = memchr(f->p, ')', (size_t)(e - f->p));
        if (!r) tc_raise(c, "ValueError", "incomplete format key");
        if (tc_kind_of(f->all) != K_DICT) tc_raise(c, "TypeError", "format requires a mapping");
        arg = tc_getitem(c, f->all, tc_strn(c, f->p + 1, (size_t)(r - f->p - 1)));
        f->p = r + 1;
    }
    for (; f->p < e && strchr("-+ #0", *f->p); f->p++) {
        if (*f->p == '-') *left = true;
        else if (*f->p == '+') s->sign = '+';
        else if (*f->p == ' ' && !s->sign) s->sign = ' ';
        else if (*f->p == '#') s->alt = true;
        else if (*f->p == '0') s->zero = true;
    }
    if (f->p < e && *f->p == '*') {
        s->width = tc_index(c, next_argument(c, f), "width");
        f->p++;
        if (s->width < 0) *left = true, s->width = -s->width;
    } else s->width = parse_count(c, &f->p, e, "width");
    if (f->p < e && *f->p == '.') {
        f->p++;
        s->prec = parse_count(c, &f->p, e, "precision");
    }
    while (f->p < e && strchr("lhL", *f->p)) f->p++;
    s->align = *left ? '<' : '>';
    return arg;
}

static str *whole_number(C *c, char t, V arg, spec *s, bool left) {
    kind k = tc_kind_of(arg);
    if (k == K_TENSOR) arg = tc_tensor_number(c, arg, "the % operator"), k = tc_kind_of(arg);
    if (k == K_FLOAT && strchr("diu", t)) arg = tc_int_from_double(c, tc_flt(arg));
    else if (k == K_BOOL) arg = tc_int(c, arg == c->true_);
    else if (k == K_SYM) arg = tc_int(c, tc_index(c, arg, "the % operator"));
    else if (k != K_INT) tc_raise(c, "TypeError", "%%%c format: a real number is required, not %s", t, tc_type_name(c, arg));
    s->type = strchr("diu", t) ? 0 : t;
    int64_t prec = s->prec;
    s->prec = -1;
    if (prec > 0) { /* that many digits, then the width */
        spec d = *s;
        fill_zeros(&d);
        d.width = prec + (s->sign || tc_int_text(c, arg, 10)->s[0] == '-') + (s->alt && s->type ? 2 : 0);
        if (s->zero && !left && s->width > d.width) d.width = s->width;
        s->type = 0;
        return format_str(c, format_int(c, arg, &d), s);
    }
    if (s->zero && !left) fill_zeros(s);
    return format_int(c, arg, s);
}

static str *converted(C *c, char t, V arg, spec *s, bool left) {
    if (t == 's' || t == 'r' || t == 'a') {
        s->zero = false;
        if (t == 'a') arg = tc_call1(c, tc_dict_gets(c, c->builtins, tc_intern(c, "ascii", 5)), arg);
        return format_str(c, t == 'r' ? tc_repr(c, arg) : tc_to_str(c, arg), s);
    }
    if (strchr("diuxXo", t)) return whole_number(c, t, arg, s, left);
    if (strchr("eEfFgG", t)) {
        s->type = t;
        if (s->zero && !left) fill_zeros(s);
        return format_float(c, tc_to_double(c, arg), s);
    }
    if (t != 'c') tc_raise(c, "ValueError", "unsupported format character '%c' (0x%x)", t, (unsigned char)t);
    str *r = tc_kind_of(arg) == K_STR ? (str *)arg : format_int(c, arg, &(spec){.fill = " ", .prec = -1, .type = 'c'});
    return format_str(c, r, s);
}

/* "..." % args */
V tc_percent(C *c, str *fmt, V a) {
    tc_buf out = {0};
    percent f = {.p = fmt->s, .end = fmt->s + fmt->len, .all = a, .one = {a}, .n = 1};
    f.items = tc_kind_of(a) == K_TUPLE ? tc_items(a, &f.n) : f.one;
    list *parts = tc_list(c, 8); /* allocated in the arena, because later pieces may raise */
    while (f.p < f.end) {
        const char *q = memchr(f.p, '%', (size_t)(f.end - f.p));
        if (!q) q = f.end;
        if (q > f.p) tc_list_push(c, parts, tc_strn(c, f.p, (size_t)(q - f.p)));
        if (q >= f.end) break;
        f.p = q + 1;
        spec s = {.fill = " ", .prec = -1};
        bool left = false;
        V arg = conversion_spec(c, &f, &s, &left);
        if (f.p >= f.end) tc_raise(c, "ValueError", "incomplete format");
        const char t = *f.p++;
        if (t == '%') tc_list_push(c, parts, tc_strz(c, "%"));
        else tc_list_push(c, parts, (V)converted(c, t, arg ? arg : next_argument(c, &f), &s, left));
    }
    if (f.used < f.n && tc_kind_of(a) != K_DICT && (tc_kind_of(a) == K_TUPLE || memchr(fmt->s, '%', fmt->len) == NULL || f.used == 0))
        tc_raise(c, "TypeError", "not all arguments converted during string formatting" TC_DETAIL " (%%)");
    for (size_t i = 0; i < parts->n; i++) tc_buf_append(&out, tc_as_str(parts->a[i])->s, tc_as_str(parts->a[i])->len);
    return tc_buf_to_str(c, &out);
}

/* What the fields of a format string take: the arguments of format, or the mapping of format_map. */
typedef struct {
    const args *A;
    V map;    /* NULL: format */
    int next; /* of the fields without a name; -1: the fields so far had numbers */
} fields;

static V numbered_field(C *c, const char *p, const char *e, fields *f) {
    if (f->map) tc_raise(c, "ValueError", "Format string contains positional fields");
    if (p == e && f->next < 0) tc_raise(c, "ValueError", "cannot switch from manual field specification to automatic field numbering");
    if (p < e && f->next > 0) tc_raise(c, "ValueError", "cannot switch from automatic field numbering to manual field specification");
    if (e - p > 18) tc_raise(c, "ValueError", "Too many decimal digits in format string");
    const int64_t i = p == e ? f->next++ : strtoll(p, NULL, 10);
    if (p < e) f->next = -1;
    if (i >= f->A->n) tc_raise(c, "IndexError", "Replacement index %lld out of range for positional args tuple", (long long)i);
    return f->A->a[i];
}

static V first_of_field(C *c, const char *p, const char *e, fields *f) {
    size_t digits = 0;
    while (p + digits < e && p[digits] >= '0' && p[digits] <= '9') digits++;
    if (p + digits == e) return numbered_field(c, p, e, f);
    str *name = tc_intern(c, p, (size_t)(e - p));
    if (f->map) return tc_getitem(c, f->map, (V)name);
    for (int i = 0; i < f->A->nk; i++)
        if (f->A->kn[i] == name) return f->A->kv[i];
    tc_raise(c, "KeyError", "%s", name->s);
}

static V field_value(C *c, const char *p, const char *e, fields *f) {
    const char *q = p;
    while (q < e && *q != '.' && *q != '[') q++;
    V v = first_of_field(c, p, q, f);
    while (q < e) {
        const bool attribute = *q == '.';
        if (!attribute && *q != '[') tc_raise(c, "ValueError", "Only '.' or '[' may follow ']' in format field specifier");
        const char *r = ++q;
        while (r < e && (attribute ? *r != '.' && *r != '[' : *r != ']')) r++;
        if (r == q) tc_raise(c, "ValueError", "Empty attribute in format string");
        if (attribute) {
            str *name = tc_intern(c, q, (size_t)(r - q));
            if (name->len > 4 && !strncmp(name->s, "__", 2))
                tc_raise(c, "AttributeError", "str.format: access to '%s' is forbidden in the model language", name->s);
            v = tc_getattr(c, v, name);
        } else {
            V key = *q == '-' || *q == '+' ? NULL : tc_int_parse(c, q, (size_t)(r - q), 10, false);
            v = tc_getitem(c, v, key ? key : tc_strn(c, q, (size_t)(r - q)));
        }
        q = attribute ? r : r + 1;
    }
    return v;
}

/* "{name!c:spec}": p is behind the brace. */
typedef struct {
    const char *name_end, *spec, *end; /* spec NULL: none; end: the closing brace */
    char conversion;
} field_parts;

static field_parts split_field(C *c, const char *p, const char *e) {
    field_parts f = {0};
    const char *r = p;
    for (; r < e && !strchr("{}!:", *r); r++)
        if (*r == '[') r = memchr(r, ']', (size_t)(e - r)) ? (const char *)memchr(r, ']', (size_t)(e - r)) : e - 1;
    if (p == e) tc_raise(c, "ValueError", "Single '{' encountered in format string");
    if (r == e) tc_raise(c, "ValueError", "expected '}' before end of string");
    if (*r == '{') tc_raise(c, "ValueError", "unexpected '{' in field name");
    f.name_end = r;
    if (*r == '!') {
        if (e - r < 3 || r[1] == '}') tc_raise(c, "ValueError", "unmatched '{' in format spec");
        f.conversion = r[1];
        r += 2;
        if (*r != ':' && *r != '}') tc_raise(c, "ValueError", "expected ':' after conversion specifier");
    }
    if (*r == ':') f.spec = ++r;
    for (int nest = 1; r < e; r++) {
        if (*r == '{') nest++;
        else if (*r == '}' && --nest == 0) break;
    }
    if (r >= e) tc_raise(c, "ValueError", f.spec ? "unmatched '{' in format spec" : "expected '}' before end of string");
    f.end = r;
    return f;
}

static V str_format(C *c, const char *p, const char *e, fields *f, int depth);

static str *one_field(C *c, const field_parts *at, const char *p, fields *f, int depth) {
    V v = field_value(c, p, at->name_end, f);
    switch (at->conversion) {
    case 0: break;
    case 'r': v = (V)tc_repr(c, v); break;
    case 'a': v = tc_call1(c, tc_dict_gets(c, c->builtins, tc_intern(c, "ascii", 5)), v); break;
    case 's': v = (V)tc_to_str(c, v); break;
    default: tc_raise(c, "ValueError", "Unknown conversion specifier %c", at->conversion);
    }
    if (!at->spec) return tc_format_value(c, v, "", 0);
    const size_t n = (size_t)(at->end - at->spec);
    if (!memchr(at->spec, '{', n)) return tc_format_value(c, v, at->spec, n);
    if (depth) tc_raise(c, "ValueError", "Max string recursion exceeded");
    str *inner = tc_as_str(str_format(c, at->spec, at->end, f, depth + 1));
    return tc_format_value(c, v, inner->s, inner->len);
}

static V str_format(C *c, const char *p, const char *e, fields *f, int depth) {
    list *parts = tc_list(c, 8);
    while (p < e) {
        const char *q = p;
        while (q < e && *q != '{' && *q != '}') q++;
        if (q > p) tc_list_push(c, parts, tc_strn(c, p, (size_t)(q - p)));
        if (q >= e) break;
        if (q + 1 < e && q[1] == *q) {
            tc_list_push(c, parts, tc_strn(c, q, 1));
            p = q + 2;
            continue;
        }
        if (*q == '}') tc_raise(c, "ValueError", "Single '}' encountered in format string");
        const field_parts at = split_field(c, q + 1, e);
        tc_list_push(c, parts, (V)one_field(c, &at, q + 1, f, depth));
        p = at.end + 1;
    }
    tc_buf out = {0};
    for (size_t i = 0; i < parts->n; i++) tc_buf_append(&out, tc_as_str(parts->a[i])->s, tc_as_str(parts->a[i])->len);
    return tc_buf_to_str(c, &out);
}

V tc_str_format(C *c, str *fmt, const args *A, V map) {
    fields f = {.A = A, .map = map};
    return str_format(c, fmt->s, fmt->s + fmt->len, &f, 0);
}
