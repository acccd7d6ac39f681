/* Parser of literals: strings with escapes, f-strings, numbers. */
#include "capture/parse.h"

/* ---- strings ---- */
static void put_utf8(tc_buf *b, uint32_t u) {
    if (u < 0x80) tc_buf_putc(b, (char)u);
    else if (u < 0x800) tc_buf_putc(b, (char)(0xc0 | u >> 6)), tc_buf_putc(b, (char)(0x80 | (u & 63)));
    else if (u < 0x10000)
        tc_buf_putc(b, (char)(0xe0 | u >> 12)), tc_buf_putc(b, (char)(0x80 | (u >> 6 & 63))), tc_buf_putc(b, (char)(0x80 | (u & 63)));
    else
        tc_buf_putc(b, (char)(0xf0 | u >> 18)), tc_buf_putc(b, (char)(0x80 | (u >> 12 & 63))), tc_buf_putc(b, (char)(0x80 | (u >> 6 & 63))),
            tc_buf_putc(b, (char)(0x80 | (u & 63)));
}

static int hexval(char ch) { return ch >= '0' && ch <= '9' ? ch - '0' : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10 : -1; }

/* The value of literal text s..e: escapes unless raw, doubled braces in the text of an f-string. */
static V decode(parser *p, const token *t, const char *s, const char *e, bool fstr) {
    tc_buf b = {0};
    while (s < e) {
        if (*s == '\r' && s + 1 < e && s[1] == '\n') {
            s++;
        } else if (fstr && (*s == '{' || *s == '}')) {
            tc_buf_putc(&b, *s);
            s += s + 1 < e && s[1] == *s ? 2 : 1;
        } else if (*s != '\\' || t->raw) {
            tc_buf_putc(&b, *s++);
        } else {
            s++;
            char ch = s < e ? *s++ : '\\';
            static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
            const char *at = ch ? strchr(from, ch) : NULL;
            int digits = ch == 'x' ? 2 : ch == 'u' ? 4 : ch == 'U' ? 8 : 0;
            if (ch == '\n') continue;
            if (ch == '\r' && s < e && *s == '\n') {
                s++;
            } else if (at) {
                tc_buf_putc(&b, to[at - from]);
            } else if (ch >= '0' && ch <= '7') {
                uint32_t u = (uint32_t)(ch - '0');
                for (int i = 0; i < 2 && s < e && *s >= '0' && *s <= '7'; i++) u = u * 8 + (uint32_t)(*s++ - '0');
                put_utf8(&b, u);
            } else if (digits) {
                uint32_t u = 0;
                for (int i = 0; i < digits; i++) {
                    int h = s < e ? hexval(*s) : -1;
                    if (h < 0) tc_buf_free(&b), tc_p_fail(p, t, "truncated \\%c escape", ch);
                    u = u * 16 + (uint32_t)h;
                    s++;
                }
                if (u > 0x10ffff || (u >= 0xd800 && u < 0xe000)) tc_buf_free(&b), tc_p_fail(p, t, "\\%c escape outside Unicode", ch);
                put_utf8(&b, u);
            } else if (ch == 'N') {
                tc_buf_free(&b);
                tc_p_fail(p, t, "\\N{...} escapes are outside the model language");
            } else {
                tc_buf_putc(&b, '\\');
                s--;
            }
        }
    }
    return tc_buf_to_str(p->c, &b);
}

static void fstring_parts(parser *p, const token *t, const char *s, const char *e, astvec *parts, bool spec);

/* A replacement field that begins after '{' at s; returns where its '}' ends. */
static const char *field(parser *p, const token *t, const char *s, const char *e, astvec *parts) {
    tc_p_enter(p);
    parser q = *p;
    q.lx.p = s, q.lx.end = e, q.lx.nested = true, q.lx.depth = 0, q.lx.bol = false, q.lx.pending = 0, q.has_ahead = false;
    q.lx.line = t->line;
    q.lx.line_start = t->p;
    while (q.lx.line_start > p->f->text && q.lx.line_start[-1] != '\n') q.lx.line_start--;
    for (const char *x = t->p; x < s; x++)
        if (*x == '\n') q.lx.line++, q.lx.line_start = x + 1;
    tc_p_next(&q);
    if (tc_p_op(&q, "}") || q.t.kind == T_EOF) tc_p_fail(p, &q.t, "f-string: empty expression or missing '}'");
    ast *n = tc_p_node(p, N_FIELD, &q.t);
    n->a = tc_p_exprs(&q);
    if (tc_p_op(&q, "=")) {
        const char *x = q.t.p + 1;
        while (x < e && *x == ' ') x++;
        ast *txt = tc_p_constant(p, t, tc_strn(p->c, s, (size_t)(x - s)));
        tc_avec_push(p->c, parts, txt);
        tc_p_next(&q);
        n->op = 'r';
        if (tc_p_op(&q, ":")) n->op = 0;
    }
    if (tc_p_op(&q, "!")) {
        tc_p_next(&q);
        if (q.t.kind != T_NAME || q.t.n != 1 || !strchr("rsa", *q.t.p)) tc_p_fail(p, &q.t, "f-string: invalid conversion, expected 's', 'r' or 'a'");
        n->op = (uint8_t)*q.t.p;
        tc_p_next(&q);
    }
    const char *end;
    if (tc_p_op(&q, ":") || tc_p_op(&q, ":=")) {
        const char *b = q.t.p + 1, *x = b;
        int depth = 0;
        for (; x < e && (depth || *x != '}'); x++) depth += *x == '{' ? 1 : *x == '}' ? -1 : 0;
        if (x >= e) tc_p_fail(p, t, "f-string: expecting '}'");
        astvec sub = {0};
        fstring_parts(p, t, b, x, &sub, true);
        n->b = tc_p_node(p, N_FSTRING, t);
        tc_p_take(p, &sub, &n->b->list, &n->b->n);
        end = x + 1;
    } else {
        if (!tc_p_op(&q, "}")) tc_p_fail(p, &q.t, "f-string: expecting '}' or invalid syntax in its expression");
        end = q.t.p + 1;
    }
    tc_avec_push(p->c, parts, n);
    p->depth--;
    return end;
}

static void fstring_parts(parser *p, const token *t, const char *s, const char *e, astvec *parts, bool spec) {
    while (s < e) {
        const char *x = s;
        while (x < e && !((*x == '{' || *x == '}') && (spec || x + 1 >= e || x[1] != *x))) {
            if (!t->raw && *x == '\\' && x + 1 < e) x += 2;
            else x += *x == '{' || *x == '}' ? 2 : 1;
        }
        if (x > e) x = e;
        if (x > s) {
            ast *txt = tc_p_constant(p, t, decode(p, t, s, x, !spec));
            tc_avec_push(p->c, parts, txt);
        }
        if (x >= e) return;
        if (*x == '}') tc_p_fail(p, t, "f-string: single '}' is not allowed");
        s = field(p, t, x + 1, e, parts);
    }
}

ast *tc_p_strings(parser *p) {
    token first = p->t;
    astvec parts = {0};
    while (p->t.kind == T_STRING) {
        token t = p->t;
        if (t.bytes) { /* bytes are refused where they are used */
            tc_p_next(p);
            return tc_p_name_node(p, tc_intern(p->c, "b''", 3), &t);
        }
        if (t.fstr) fstring_parts(p, &t, t.p, t.p + t.n, &parts, false);
        else {
            ast *k = tc_p_constant(p, &t, decode(p, &t, t.p, t.p + t.n, false));
            tc_avec_push(p->c, &parts, k);
        }
        if (t.fstr && parts.len == 0) {
            ast *k = tc_p_constant(p, &t, tc_strz(p->c, ""));
            tc_avec_push(p->c, &parts, k);
        }
        tc_p_next(p);
    }
    bool plain = true;
    for (size_t i = 0; i < parts.len; i++) plain = plain && parts.data[i]->kind == N_CONST;
    if (plain) {
        tc_buf b = {0};
        for (size_t i = 0; i < parts.len; i++) tc_buf_append(&b, tc_as_str(parts.data[i]->value)->s, tc_as_str(parts.data[i]->value)->len);
        V v = tc_buf_to_str(p->c, &b);
        if (tc_as_str(v)->len < 64) v = (V)tc_intern_str(p->c, tc_as_str(v));
        return tc_p_constant(p, &first, v);
    }
    ast *n = tc_p_node(p, N_FSTRING, &first);
    tc_p_take(p, &parts, &n->list, &n->n);
    return n;
}

ast *tc_p_number(parser *p) {
    token t = p->t;
    tc_p_next(p);
    char buf[64];
    bool isfloat = false, hex = t.n > 1 && t.p[0] == '0' && strchr("xXoObB", t.p[1]);
    for (size_t i = 0; i < t.n && !hex; i++) isfloat = isfloat || strchr(".eEjJ", t.p[i]);
    if (isfloat) {
        char *text = t.n < sizeof buf ? buf : tc_mem(p->c, t.n + 1);
        size_t m = 0;
        for (size_t i = 0; i < t.n; i++) {
            if (t.p[i] == '_') {
                if (i + 1 >= t.n || t.p[i + 1] < '0' || t.p[i + 1] > '9') tc_p_fail(p, &t, "invalid decimal literal");
            } else text[m++] = t.p[i];
        }
        bool imag = (text[m - 1] | 32) == 'j';
        text[m - (imag ? 1 : 0)] = 0;
        double f = strtod(text, NULL);
        return tc_p_constant(p, &t, imag ? tc_complex(p->c, 0, f) : tc_float(p->c, f));
    }
    if (!hex && t.n > 4300) tc_p_fail(p, &t, "an integer of %zu digits is over the limit of 4300 digits", t.n);
    V v = tc_int_parse(p->c, t.p, t.n, 0, true);
    if (!v) tc_p_fail(p, &t, "invalid number literal");
    return tc_p_constant(p, &t, v);
}
