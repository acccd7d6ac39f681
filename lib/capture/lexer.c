/* The lexer: names, numbers, strings with their prefixes, operators, and INDENT and DEDENT tokens.
 * Positions count from 1; columns count characters, as editors do. */
#include "capture/ast.h"

static bool name_start(unsigned char c) { return (unsigned)((c | 32) - 0x61) < 26u || c == '_' || c >= 0x80; }
static bool digit(unsigned char c) { return (unsigned)(c - 0x30) < 10u; }
static bool name_char(unsigned char c) { return name_start(c) || digit(c); }

static int column(lexer *l, const char *p) {
    /* counted from the last queried position, because lines may be long */
    if (l->col_line != l->line_start || p < l->col_at) l->col_line = l->col_at = l->line_start, l->col = 1;
    for (; l->col_at < p; l->col_at++) l->col += ((unsigned char)*l->col_at & 0xc0) != 0x80;
    return l->col;
}

_Noreturn static void fail(lexer *l, const char *p, const char *msg) { tc_syntax(l->c, l->f, l->line, column(l, p), "%s", msg); }

/* Length of the UTF-8 sequence at p; 0: invalid. */
static int utf8(const unsigned char *p, const unsigned char *end) {
    int n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    if (n == 0 || end - p < n) return 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0))) ||
        (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))))
        return 0;
    return n;
}

void tc_lex_init(lexer *l, C *c, file *f) {
    *l = (lexer){.c = c, .f = f, .p = f->text, .end = f->text + f->len, .line_start = f->text, .line = 1 - f->before, .bol = true};
    if (f->len >= 3 && !memcmp(f->text, "\xef\xbb\xbf", 3)) l->p += 3, l->line_start += 3;
    int line = l->line;
    const char *start = l->p;
    for (const char *p = l->p; p < l->end;) {
        if (*p == 0) l->line = line, l->line_start = start, fail(l, p, "source contains a NUL byte");
        int n = (unsigned char)*p < 0x80 ? 1 : utf8((const unsigned char *)p, (const unsigned char *)l->end);
        if (n == 0) l->line = line, l->line_start = start, fail(l, p, "source is not valid UTF-8");
        if (*p == '\n') line++, start = p + 1;
        p += n;
    }
}

void tc_lex_part(lexer *l, C *c, file *f, const char *from, const char *to, int line, int indent) {
    *l = (lexer){.c = c, .f = f, .p = from, .end = to, .line_start = from, .line = line, .indent = {indent}, .alt = {indent}};
    while (l->line_start > f->text && l->line_start[-1] != '\n') l->line_start--;
}

static token make(lexer *l, token_kind k, const char *p) { return (token){.kind = k, .line = l->line, .col = column(l, p), .p = p}; }

/* p, or behind the comment that begins there; at the \n of a line that ends in \r\n. */
static const char *skip_comment(const char *p, const char *end) {
    if (p < end && *p == '#')
        while (p < end && *p != '\n') p++;
    return p + 1 < end && *p == '\r' && p[1] == '\n' ? p + 1 : p;
}

/* Behind the string whose quote is at p; end where it does not end. */
static const char *pass_string(const char *p, const char *end) {
    const size_t n = end - p > 2 && p[1] == *p && p[2] == *p ? 3 : 1;
    for (const char *q = p + n; q < end; q++)
        if (*q == '\\') q++;
        else if (*q == *p && (n == 1 || (end - q > 2 && q[1] == *p && q[2] == *p))) return q + n;
    return end;
}

const char *tc_lex_pass_block(lexer *l) {
    const char *p = l->p, *begin;
    while (p < l->end && *p == ' ') p++;
    p = skip_comment(p, l->end);
    if (p >= l->end || *p != '\n') return NULL;
    int line = l->line;
    for (;;) { /* p is at the end of a line */
        begin = p < l->end ? p + 1 : p, line++;
        for (p = begin; p < l->end && *p == ' ';) p++;
        const int indent = (int)(p - begin);
        if (p < l->end && (*p == '\n' || *p == '#')) p = skip_comment(p, l->end);
        else if (p >= l->end || indent <= l->indent[l->nindent]) break;
        while (p < l->end && *p != '\n') {
            const char *from = p;
            if (*p == '"' || *p == '\'')
                for (p = pass_string(p, l->end); from < p; from++) line += *from == '\n';
            else p = *p == '#' ? skip_comment(p, l->end) : p + 1;
        }
    }
    l->p = l->line_start = begin, l->line = line, l->bol = true;
    return begin;
}

/* Blank lines and comments, then the indentation of the next line; sets pending. */
static void indentation(lexer *l) {
    for (;;) {
        int col = 0, alt = 0;
        const char *p = l->p;
        for (; p < l->end && (*p == ' ' || *p == '\t' || *p == '\f'); p++) {
            if (*p == ' ') col++, alt++;
            else if (*p == '\t') col = (col / 8 + 1) * 8, alt++;
            else col = alt = 0;
        }
        p = skip_comment(p, l->end);
        if (p < l->end && *p == '\n') {
            l->p = l->line_start = p + 1, l->line++;
            continue;
        }
        l->p = p;
        if (p >= l->end) { /* bol is kept: the end of a line is reported once */
            l->pending = l->nindent;
            l->nindent = 0;
            return;
        }
        l->bol = false;
        int top = l->indent[l->nindent], topalt = l->alt[l->nindent];
        if (col == top) {
            if (alt != topalt) fail(l, p, "inconsistent use of tabs and spaces in indentation");
        } else if (col > top) {
            if (alt <= topalt) fail(l, p, "inconsistent use of tabs and spaces in indentation");
            if (l->nindent == TC_MAX_INDENT) fail(l, p, "too deeply nested: more than 100 levels of indentation");
            l->nindent++;
            l->indent[l->nindent] = col, l->alt[l->nindent] = alt;
            l->pending = -1;
        } else {
            while (l->indent[l->nindent] > col) l->nindent--, l->pending++;
            if (l->indent[l->nindent] != col) fail(l, p, "unindent does not match any outer indentation level");
            if (l->alt[l->nindent] != alt) fail(l, p, "inconsistent use of tabs and spaces in indentation");
        }
        return;
    }
}

static tc_keyword keyword(const char *p, size_t n) {
    static const struct {
        const char *text;
        size_t n;
    } words[] = {{"", 0},
#define X(k) {#k, sizeof #k - 1},
                 TC_KEYWORDS(X)
#undef X
    };
    for (size_t i = 1; i < sizeof words / sizeof *words; i++)
        if (words[i].n == n && words[i].text[0] == *p && !memcmp(words[i].text, p, n)) return (tc_keyword)i;
    return KW_none_;
}

bool tc_is_keyword(const char *p, size_t n) { return keyword(p, n) != KW_none_; }

/* Skips a string inside a replacement field of an f-string; p is at its quote. NULL: it does not end on the line. */
static const char *skip_inner(const char *p, const char *end) {
    char q = *p;
    for (p++; p < end && *p != '\n'; p++) {
        if (*p == '\\') p++;
        else if (*p == q) return p + 1;
    }
    return NULL;
}

static token string(lexer *l, const char *start, bool raw, bool fstr) {
    token t = make(l, T_STRING, start);
    t.raw = raw, t.fstr = fstr;
    const char *p = l->p;
    char q = *p;
    bool triple = l->end - p >= 3 && p[1] == q && p[2] == q;
    p += triple ? 3 : 1;
    t.p = p;
    int depth = 0, line = l->line;
    const char *ls = l->line_start;
    for (; p < l->end; p++) {
        if (*p == '\\') {
            if (++p < l->end && *p == '\n') line++, ls = p + 1;
            else if (p + 1 < l->end && *p == '\r' && p[1] == '\n') p++, line++, ls = p + 1;
        } else if (*p == '\n') {
            if (!triple) break;
            line++, ls = p + 1;
        } else if (fstr && *p == '{') {
            if (depth == 0 && p + 1 < l->end && p[1] == '{') p++;
            else depth++;
        } else if (fstr && *p == '}') {
            if (depth) depth--;
        } else if (fstr && depth && (*p == '"' || *p == '\'') && (!triple || *p != q || l->end - p < 3 || p[1] != q || p[2] != q)) {
            const char *next = skip_inner(p, l->end);
            if (!next) fail(l, start, "f-string: expecting '}'");
            p = next - 1;
        } else if (*p == q && (!triple || (l->end - p >= 3 && p[1] == q && p[2] == q))) {
            if (depth) fail(l, start, "f-string: expecting '}'");
            t.n = (size_t)(p - t.p);
            l->p = p + (triple ? 3 : 1);
            l->line = line, l->line_start = ls;
            return t;
        }
    }
    if (p > l->end && !triple) fail(l, start, "unterminated string literal after a backslash");
    if (fstr && depth) fail(l, start, "f-string: expecting '}', unterminated");
    tc_syntax(l->c, l->f, l->line, column(l, start), "unterminated %sstring literal (detected at line %d)", triple ? "triple-quoted " : "",
              line - (triple && l->end[-1] == '\n'));
}

static token number(lexer *l, const char *start) {
    token t = make(l, T_NUMBER, start);
    const char *p = start;
    if (*p == '0' && p + 1 < l->end && strchr("xXoObB", p[1]) && p[1]) {
        for (p += 2; p < l->end && (name_char((unsigned char)*p)); p++) {}
    } else {
        while (p < l->end && (digit((unsigned char)*p) || *p == '_')) p++;
        if (p < l->end && *p == '.')
            for (p++; p < l->end && (digit((unsigned char)*p) || *p == '_'); p++) {}
        if (p < l->end && (*p | 32) == 'e') {
            const char *q = p + 1;
            if (q < l->end && (*q == '+' || *q == '-')) q++;
            if (q < l->end && digit((unsigned char)*q)) {
                while (q < l->end && (digit((unsigned char)*q) || *q == '_')) q++;
                p = q;
            }
        }
        if (p < l->end && (*p | 32) == 'j') p++;
        if (p < l->end && name_start((unsigned char)*p)) {
            /* 1if x else y is legal; 1abc is not */
            const char *q = p;
            while (q < l->end && name_char((unsigned char)*q)) q++;
            if (!keyword(p, (size_t)(q - p))) fail(l, start, "invalid decimal literal");
        }
    }
    t.n = (size_t)(p - start);
    l->p = p;
    return t;
}

/* Length of the longest operator at p; 1 if none is known. */
static size_t operator_len(const char *p, size_t left) {
    static const char *const longer[] = {"**=", "//=", ">>=", "<<=", "...", "**", "//", "<<", ">>", "<=", ">=", "==",
                                         "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "@=", "&=", "|=", "^=", ":="};
    if (left < 2 || (p[1] != '=' && p[1] != p[0] && p[1] != '>')) return 1;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t n = i < 5 ? 3 : 2;
        if (left >= n && !memcmp(p, longer[i], n)) return n;
    }
    return 1;
}
static token operator_token(lexer *l, const char *p) {
    token t = make(l, T_OP, p);
    t.n = operator_len(p, (size_t)(l->end - p));
    for (size_t i = 0; i < t.n; i++) t.op |= (uint32_t)(unsigned char)p[i] << (8 * i);
    if (t.n == 1) {
        if (l->nested && l->depth == 0 && (*p == '!' || *p == '}')) {
            l->p = p + 1;
            return t;
        }
        if (!strchr("+-*/%@&|^~<>()[]{},:.;=", *p)) fail(l, p, *p == '!' ? "invalid syntax: '!'" : "invalid character");
        if (strchr("([{", *p)) {
            if (l->depth == 200) fail(l, p, "too many nested parentheses: more than 200 deep");
            l->open[l->depth].ch = *p, l->open[l->depth].line = t.line, l->open[l->depth].col = t.col;
            l->depth++;
        } else if (strchr(")]}", *p)) {
            char want = *p == ')' ? '(' : *p == ']' ? '[' : '{';
            if (l->depth == 0) tc_syntax(l->c, l->f, t.line, t.col, "unmatched '%c'", *p);
            l->depth--;
            if (l->open[l->depth].ch != want)
                tc_syntax(l->c, l->f, t.line, t.col, "closing parenthesis '%c' does not match opening parenthesis '%c'", *p, l->open[l->depth].ch);
        }
    }
    l->p = p + t.n;
    return t;
}

static const char *skip_blank(const lexer *l) {
    const char *p = l->p;
    while (p < l->end && (*p == ' ' || *p == '\t' || *p == '\f')) p++;
    return skip_comment(p, l->end);
}

static token end_of_text(lexer *l) {
    if (l->depth && !l->nested)
        tc_syntax(l->c, l->f, l->open[l->depth - 1].line, l->open[l->depth - 1].col, "'%c' was never closed", l->open[l->depth - 1].ch);
    if (l->bol || l->nested) return make(l, T_EOF, l->p);
    l->bol = true;
    return make(l, T_NEWLINE, l->p);
}

/* Passes over the backslash at l->p and the end of its line. */
static void continuation(lexer *l) {
    const char *p = l->p, *q = p + 1;
    if (q < l->end && *q == '\r') q++;
    if (q < l->end && *q != '\n') fail(l, p, "unexpected character after a line continuation (backslash)");
    if (q + 1 >= l->end) fail(l, p, "unexpected end of file after a line continuation (backslash)");
    l->p = l->line_start = q + 1;
    l->line++;
}

/* Reads the string whose prefix is the n letters at p, before the quote. False: they are none. */
static bool prefixed_string(lexer *l, const char *p, size_t n, token *out) {
    bool raw = false, fs = false, bytes = false, templ = false;
    for (size_t i = 0; i < n; i++) switch (p[i] | 32) {
        case 'r': raw = true; break;
        case 'f': fs = true; break;
        case 'b': bytes = true; break;
        case 't': templ = true; break;
        case 'u': break;
        default: return false;
        }
    if (templ && !fs && !bytes) fail(l, p, "a template string is outside the model language");
    if (templ) return false;
    l->p = p + n;
    *out = string(l, p, raw, fs);
    out->bytes = bytes;
    return true;
}

static token name_or_prefixed_string(lexer *l, const char *p) {
    const char *q = p;
    while (q < l->end && name_char((unsigned char)*q)) q++;
    const size_t n = (size_t)(q - p);
    token t;
    if (q < l->end && (*q == '"' || *q == '\'') && n <= 2 && prefixed_string(l, p, n, &t)) return t;
    tc_keyword k = keyword(p, n);
    t = make(l, k ? T_KEYWORD : T_NAME, p);
    t.n = n;
    t.op = (uint32_t)k;
    if (!k) t.name = tc_intern(l->c, p, n);
    l->p = q;
    return t;
}

token tc_lex(lexer *l) {
    for (;;) {
        if (l->bol && l->depth == 0 && !l->nested) indentation(l);
        if (l->pending > 0) return l->pending--, make(l, T_DEDENT, l->p);
        if (l->pending < 0) return l->pending = 0, make(l, T_INDENT, l->p);
        const char *p = l->p = skip_blank(l);
        if (p >= l->end) return end_of_text(l);
        if (*p == '\n') {
            token t = make(l, T_NEWLINE, p);
            l->p = l->line_start = p + 1;
            l->line++;
            if (l->depth || l->nested || l->joined) continue;
            l->bol = true;
            return t;
        }
        if (*p == '\\') {
            continuation(l);
            continue;
        }
        if (name_start((unsigned char)*p)) return name_or_prefixed_string(l, p);
        if (digit((unsigned char)*p) || (*p == '.' && p + 1 < l->end && digit((unsigned char)p[1]))) return number(l, p);
        if (*p == '"' || *p == '\'') return string(l, p, false, false);
        return operator_token(l, p);
    }
}
