/* Methods of str. */
#include "capture/object.h"

static str *self_str(C *c, args *A, const char *fn) {
    if (A->n < 1 || tc_kind_of(A->a[0]) != K_STR) tc_raise(c, "TypeError", "descriptor '%s' requires a 'str' object", fn);
    return (str *)A->a[0];
}
static str *want_str(C *c, V v, const char *fn) {
    if (tc_kind_of(v) != K_STR) tc_raise(c, "TypeError", "%s() argument must be str, not %s", fn, tc_type_name(c, v));
    return (str *)v;
}
static bool space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }
static bool lower(char ch) { return ch >= 'a' && ch <= 'z'; }
static bool upper(char ch) { return ch >= 'A' && ch <= 'Z'; }
static bool letter(char ch) { return lower(ch) || upper(ch) || (unsigned char)ch >= 0x80; }
static bool digit(char ch) { return ch >= '0' && ch <= '9'; }

/* A function of std/string.py. */
static V library(C *c, const char *name) { return tc_module_attr(c, tc_import(c, "string", true), tc_intern(c, name, strlen(name))); }

static V mapped(C *c, args *A, const char *fn, void (*f)(char *, size_t)) {
    str *s = self_str(c, A, fn);
    if (s->len != s->nchars) return tc_call2(c, library(c, "_cased"), (V)s, tc_strz(c, fn));
    char *p = tc_mem(c, s->len + 1u);
    memcpy(p, s->s, s->len);
    f(p, s->len);
    return tc_strn(c, p, s->len);
}
static void to_upper(char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lower(p[i])) p[i] = (char)(p[i] - 32);
}
static void to_lower(char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (upper(p[i])) p[i] = (char)(p[i] + 32);
}
static void swap_case(char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (letter(p[i]) && (unsigned char)p[i] < 0x80) p[i] ^= 32;
}
static void to_title(char *p, size_t n) {
    to_lower(p, n);
    for (size_t i = 0; i < n; i++)
        if (lower(p[i]) && (i == 0 || !letter(p[i - 1]))) p[i] = (char)(p[i] - 32);
}
static void to_capital(char *p, size_t n) {
    to_lower(p, n);
    if (n) to_upper(p, 1);
}
static V m_upper(C *c, args *A) { return mapped(c, A, "upper", to_upper); }
static V m_lower(C *c, args *A) { return mapped(c, A, "lower", to_lower); }
static V m_swapcase(C *c, args *A) { return mapped(c, A, "swapcase", swap_case); }
static V m_title(C *c, args *A) { return mapped(c, A, "title", to_title); }
static V m_capitalize(C *c, args *A) { return mapped(c, A, "capitalize", to_capital); }

static V strip(C *c, args *A, const char *fn, bool l, bool r) {
    V v[2];
    tc_take(c, A, fn, "self chars=", v);
    str *s = self_str(c, A, fn), *chars = v[1] && v[1] != c->none ? want_str(c, v[1], fn) : NULL;
    const char *p = s->s, *e = p + s->len;
#define IN(ch) (chars ? memchr(chars->s, (ch), chars->len) != NULL : space(ch))
    while (l && p < e && IN(*p)) p++;
    while (r && e > p && IN(e[-1])) e--;
#undef IN
    return tc_strn(c, p, (size_t)(e - p));
}
static V m_strip(C *c, args *A) { return strip(c, A, "strip", true, true); }
static V m_lstrip(C *c, args *A) { return strip(c, A, "lstrip", true, false); }
static V m_rstrip(C *c, args *A) { return strip(c, A, "rstrip", false, true); }

static V affix(C *c, args *A, const char *fn, bool end) {
    V v[3];
    tc_take(c, A, fn, "self prefix start=", v);
    str *s = self_str(c, A, fn);
    int64_t from = v[2] ? tc_index(c, v[2], "start") : 0;
    size_t n = 1;
    V *opts = &v[1];
    if (tc_kind_of(v[1]) == K_TUPLE) opts = tc_items(v[1], &n);
    for (size_t i = 0; i < n; i++) {
        str *p = want_str(c, opts[i], fn);
        if (p->len + (size_t)from > s->len) continue;
        if (!memcmp(end ? s->s + s->len - p->len : s->s + from, p->s, p->len)) return c->true_;
    }
    return c->false_;
}
static V m_startswith(C *c, args *A) { return affix(c, A, "startswith", false); }
static V m_endswith(C *c, args *A) { return affix(c, A, "endswith", true); }

static V m_removeprefix(C *c, args *A) {
    V v[2];
    tc_take(c, A, "removeprefix", "self prefix", v);
    str *s = self_str(c, A, "removeprefix"), *p = want_str(c, v[1], "removeprefix");
    return p->len <= s->len && !memcmp(s->s, p->s, p->len) ? tc_strn(c, s->s + p->len, s->len - p->len) : v[0];
}
static V m_removesuffix(C *c, args *A) {
    V v[2];
    tc_take(c, A, "removesuffix", "self suffix", v);
    str *s = self_str(c, A, "removesuffix"), *p = want_str(c, v[1], "removesuffix");
    return p->len && p->len <= s->len && !memcmp(s->s + s->len - p->len, p->s, p->len) ? tc_strn(c, s->s, s->len - p->len) : v[0];
}

static int64_t chars_before(const str *s, const char *at) {
    int64_t n = 0;
    for (const char *p = s->s; p < at; p++) n += ((unsigned char)*p & 0xc0) != 0x80;
    return n;
}
static const char *last_of(const str *s, const str *t) {
    const char *found = NULL;
    for (size_t i = 0; t->len <= s->len && i <= (size_t)s->len - t->len; i++)
        if (!memcmp(s->s + i, t->s, t->len)) found = s->s + i;
    return found;
}
static V finding(C *c, args *A, const char *fn, bool last, bool raise) {
    V v[4];
    tc_take(c, A, fn, "self sub start= end=", v);
    str *s = self_str(c, A, fn), *t = want_str(c, v[1], fn);
    str part = *s;
    int64_t from = 0;
    if ((v[2] && v[2] != c->none) || (v[3] && v[3] != c->none)) {
        if (s->len != s->nchars) tc_raise(c, "ValueError", "%s() with bounds on a text beyond ASCII is outside the model language", fn);
        int64_t a, b, st, n;
        slice sl = {.start = v[2] ? v[2] : c->none, .stop = v[3] ? v[3] : c->none, .step = c->none};
        tc_slice_bounds(c, &sl, s->len, &a, &b, &st, &n);
        part.s += a, part.len = (uint32_t)n, from = a;
    }
    const char *p = last ? last_of(&part, t) : memmem(part.s, part.len, t->s, t->len);
    if (p) return tc_int(c, chars_before(&part, p) + from);
    if (raise) tc_raise(c, "ValueError", "substring not found");
    return tc_int(c, -1);
}
static V m_find(C *c, args *A) { return finding(c, A, "find", false, false); }
static V m_rfind(C *c, args *A) { return finding(c, A, "rfind", true, false); }
static V m_index(C *c, args *A) { return finding(c, A, "index", false, true); }
static V m_rindex(C *c, args *A) { return finding(c, A, "rindex", true, true); }
static V m_count(C *c, args *A) {
    V v[2];
    tc_take(c, A, "count", "self sub", v);
    str *s = self_str(c, A, "count"), *t = want_str(c, v[1], "count");
    if (!t->len) return tc_int(c, (int64_t)s->nchars + 1);
    int64_t n = 0;
    const char *p = s->s, *e = p + s->len;
    while ((p = memmem(p, (size_t)(e - p), t->s, t->len))) n++, p += t->len;
    return tc_int(c, n);
}

static V m_replace(C *c, args *A) {
    V v[4];
    tc_take(c, A, "replace", "self old new count=", v);
    str *s = self_str(c, A, "replace"), *o = want_str(c, v[1], "replace"), *n = want_str(c, v[2], "replace");
    int64_t count = v[3] ? tc_index(c, v[3], "count") : -1;
    tc_buf b = {0};
    const char *p = s->s, *e = p + s->len;
    size_t hits = 0;
    while (count != 0) {
        const char *q = o->len ? memmem(p, (size_t)(e - p), o->s, o->len) : p;
        if (!q || (!o->len && q > e)) break;
        tc_buf_append(&b, p, (size_t)(q - p));
        tc_buf_append(&b, n->s, n->len);
        if (o->len) p = q + o->len;
        else {
            if (p >= e) {
                p = e + 1;
                break;
            }
            tc_buf_putc(&b, *p++);
        }
        count--;
        if ((++hits & 1023) == 0 && b.len > c->max_memory / 2) {
            tc_buf_free(&b);
            tc_memory_check(c, c->max_memory + 1);
        }
    }
    if (p < e) tc_buf_append(&b, p, (size_t)(e - p));
    return tc_buf_to_str(c, &b);
}

static V m_split(C *c, args *A) {
    V v[3];
    tc_take(c, A, "split", "self sep= maxsplit=", v);
    str *s = self_str(c, A, "split");
    int64_t max = v[2] ? tc_index(c, v[2], "maxsplit") : -1;
    list *l = tc_list(c, 4);
    const char *p = s->s, *e = p + s->len;
    if (!v[1] || v[1] == c->none) {
        for (;;) {
            while (p < e && space(*p)) p++;
            if (p >= e) return (V)l;
            const char *q = p;
            if (max >= 0 && (int64_t)l->n == max) {
                while (e > p && space(e[-1])) e--;
                q = e;
            } else
                while (q < e && !space(*q)) q++;
            tc_list_push(c, l, tc_strn(c, p, (size_t)(q - p)));
            p = q;
        }
    }
    str *t = want_str(c, v[1], "split");
    if (!t->len) tc_raise(c, "ValueError", "empty separator");
    const char *q;
    while ((max < 0 || (int64_t)l->n < max) && (q = memmem(p, (size_t)(e - p), t->s, t->len))) {
        tc_list_push(c, l, tc_strn(c, p, (size_t)(q - p)));
        p = q + t->len;
    }
    tc_list_push(c, l, tc_strn(c, p, (size_t)(e - p)));
    return (V)l;
}
static V m_rsplit(C *c, args *A) {
    V v[3];
    tc_take(c, A, "rsplit", "self sep= maxsplit=", v);
    int64_t max = v[2] ? tc_index(c, v[2], "maxsplit") : -1;
    if (max < 0) return m_split(c, A);
    str *s = self_str(c, A, "rsplit");
    list *l = tc_list(c, 4);
    str rest = *s;
    bool blank = !v[1] || v[1] == c->none;
    str *t = blank ? NULL : want_str(c, v[1], "rsplit");
    while ((int64_t)l->n < max) {
        if (blank) {
            while (rest.len && space(rest.s[rest.len - 1])) rest.len--;
            if (!rest.len) break;
            uint32_t i = rest.len;
            while (i && !space(rest.s[i - 1])) i--;
            if (!i) break;
            tc_list_push(c, l, tc_strn(c, rest.s + i, rest.len - i));
            rest.len = i;
        } else {
            const char *q = last_of(&rest, t);
            if (!q) break;
            tc_list_push(c, l, tc_strn(c, q + t->len, (size_t)(rest.s + rest.len - q) - t->len));
            rest.len = (uint32_t)(q - rest.s);
        }
    }
    while (blank && rest.len && space(rest.s[rest.len - 1])) rest.len--;
    if (!blank || rest.len) tc_list_push(c, l, tc_strn(c, rest.s, rest.len));
    for (size_t i = 0; i < l->n / 2; i++) {
        V x = l->a[i];
        l->a[i] = l->a[l->n - 1 - i], l->a[l->n - 1 - i] = x;
    }
    return (V)l;
}
static V m_splitlines(C *c, args *A) {
    V v[2];
    tc_take(c, A, "splitlines", "self keepends=", v);
    str *s = self_str(c, A, "splitlines");
    const bool keep = v[1] && tc_truth(c, v[1]);
    list *l = tc_list(c, 4);
    const char *p = s->s, *e = p + s->len;
    while (p < e) {
        const char *q = p;
        while (q < e && *q != '\n' && *q != '\r') q++;
        const char *next = q + (q < e ? (q + 1 < e && *q == '\r' && q[1] == '\n' ? 2 : 1) : 0);
        tc_list_push(c, l, tc_strn(c, p, (size_t)((keep ? next : q) - p)));
        p = next;
    }
    return (V)l;
}
static V m_partition(C *c, args *A) {
    V v[2];
    tc_take(c, A, "partition", "self sep", v);
    str *s = self_str(c, A, "partition"), *t = want_str(c, v[1], "partition");
    const char *q = memmem(s->s, s->len, t->s, t->len);
    if (!q) return tc_tuple_of(c, 3, v[0], tc_strz(c, ""), tc_strz(c, ""));
    return tc_tuple_of(c, 3, tc_strn(c, s->s, (size_t)(q - s->s)), v[1], tc_strn(c, q + t->len, (size_t)(s->s + s->len - q) - t->len));
}
static V m_rpartition(C *c, args *A) {
    V v[2];
    tc_take(c, A, "rpartition", "self sep", v);
    str *s = self_str(c, A, "rpartition"), *t = want_str(c, v[1], "rpartition");
    const char *q = last_of(s, t);
    if (!q) return tc_tuple_of(c, 3, tc_strz(c, ""), tc_strz(c, ""), v[0]);
    return tc_tuple_of(c, 3, tc_strn(c, s->s, (size_t)(q - s->s)), v[1], tc_strn(c, q + t->len, (size_t)(s->s + s->len - q) - t->len));
}
static V m_join(C *c, args *A) {
    V v[2];
    tc_take(c, A, "join", "self iterable", v);
    str *s = self_str(c, A, "join");
    list *l = tc_to_list(c, v[1]);
    size_t total = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (tc_kind_of(l->a[i]) != K_STR) tc_raise(c, "TypeError", "sequence item %zu: expected str instance, %s found", i, tc_type_name(c, l->a[i]));
        total += tc_as_str(l->a[i])->len + (i ? s->len : 0);
    }
    tc_memory_check(c, total);
    tc_buf b = {0};
    tc_buf_reserve(&b, total + 1);
    for (size_t i = 0; i < l->n; i++) {
        if (i) tc_buf_append(&b, s->s, s->len);
        tc_buf_append(&b, tc_as_str(l->a[i])->s, tc_as_str(l->a[i])->len);
    }
    return tc_buf_to_str(c, &b);
}
static V m_format(C *c, args *A) {
    str *s = self_str(c, A, "format");
    args B = *A;
    B.a++, B.n--;
    return tc_str_format(c, s, &B, NULL);
}
static V m_format_map(C *c, args *A) {
    V v[2];
    tc_take(c, A, "format_map", "self mapping", v);
    return tc_str_format(c, self_str(c, A, "format_map"), A, v[1]);
}

static V every(C *c, args *A, bool (*f)(char), bool (*cased)(char)) {
    str *s = self_str(c, A, "isX");
    bool any = false;
    for (uint32_t i = 0; i < s->len; i++) {
        if (cased && !letter(s->s[i])) continue;
        if (!f(s->s[i])) return c->false_;
        any = true;
    }
    return tc_bool(c, any);
}
static bool alnum(char ch) { return letter(ch) || digit(ch); }
static V m_isdigit(C *c, args *A) { return every(c, A, digit, NULL); }
static V m_isalpha(C *c, args *A) { return every(c, A, letter, NULL); }
static V m_isalnum(C *c, args *A) { return every(c, A, alnum, NULL); }
static V m_isspace(C *c, args *A) { return every(c, A, space, NULL); }
static V m_isupper(C *c, args *A) { return every(c, A, upper, letter); }
static V m_islower(C *c, args *A) { return every(c, A, lower, letter); }
static V m_isprintable(C *c, args *A) {
    str *s = self_str(c, A, "isprintable");
    for (uint32_t i = 0; i < s->len; i++)
        if ((unsigned char)s->s[i] < 32 || s->s[i] == 127) return c->false_;
    return c->true_;
}
static V m_istitle(C *c, args *A) {
    str *s = self_str(c, A, "istitle");
    bool any = false;
    for (uint32_t i = 0; i < s->len; i++) { /* an upper-case letter exactly where a word begins */
        if (letter(s->s[i]) && upper(s->s[i]) != (i == 0 || !letter(s->s[i - 1]))) return c->false_;
        any |= letter(s->s[i]);
    }
    return tc_bool(c, any);
}
static V m_isidentifier(C *c, args *A) {
    str *s = self_str(c, A, "isidentifier");
    if (!s->len || digit(s->s[0])) return c->false_;
    for (uint32_t i = 0; i < s->len; i++)
        if (!alnum(s->s[i]) && s->s[i] != '_') return c->false_;
    return c->true_;
}

static V justified(C *c, args *A, const char *fn, char align) {
    V v[3];
    tc_take(c, A, fn, "self width fill=", v);
    V spec = tc_strf(c, "%s%c%lld", v[2] ? tc_as_str(v[2])->s : " ", align, (long long)tc_index(c, v[1], "width"));
    if (tc_index(c, v[1], "width") <= (int64_t)self_str(c, A, fn)->nchars) return v[0];
    return (V)tc_format_value(c, v[0], tc_as_str(spec)->s, tc_as_str(spec)->len);
}
static V m_ljust(C *c, args *A) { return justified(c, A, "ljust", '<'); }
static V m_rjust(C *c, args *A) { return justified(c, A, "rjust", '>'); }
static V m_center(C *c, args *A) { return justified(c, A, "center", '^'); }
static V m_zfill(C *c, args *A) {
    V v[2];
    tc_take(c, A, "zfill", "self width", v);
    str *s = self_str(c, A, "zfill");
    int64_t w = tc_index(c, v[1], "width");
    if (w <= (int64_t)s->nchars) return v[0];
    if (w > 100000000) tc_raise_limit(c, "zfill: a width of %lld is over the limit", (long long)w);
    bool sign = s->len && (s->s[0] == '-' || s->s[0] == '+');
    tc_buf b = {0};
    if (sign) tc_buf_putc(&b, s->s[0]);
    for (int64_t i = s->nchars; i < w; i++) tc_buf_putc(&b, '0');
    tc_buf_append(&b, s->s + sign, s->len - (sign ? 1u : 0u));
    return tc_buf_to_str(c, &b);
}

static V m_expandtabs(C *c, args *A) {
    V v[2];
    tc_take(c, A, "expandtabs", "self tabsize=", v);
    str *s = self_str(c, A, "expandtabs");
    int64_t size = v[1] ? tc_index(c, v[1], "tabsize") : 8, column = 0;
    if (size > 1000) tc_raise_limit(c, "expandtabs: a width of %lld is over the limit", (long long)size);
    tc_buf b = {0};
    for (uint32_t i = 0; i < s->len; i++) {
        if (s->s[i] == '\t') {
            for (int64_t n = size > 0 ? size - column % size : 0; n > 0; n--, column++) tc_buf_putc(&b, ' ');
            continue;
        }
        tc_buf_putc(&b, s->s[i]);
        column = s->s[i] == '\n' || s->s[i] == '\r' ? 0 : column + ((s->s[i] & 0xc0) != 0x80);
    }
    return tc_buf_to_str(c, &b);
}

static V m_translate(C *c, args *A) {
    V v[2];
    tc_take(c, A, "translate", "self table", v);
    return tc_call2(c, library(c, "_translate"), (V)self_str(c, A, "translate"), v[1]);
}
static V m_maketrans(C *c, args *A) { return tc_call(c, library(c, "_maketrans"), A); }

void tc_str_init(C *c) {
    static const native_def m[] = {{"upper", m_upper},
                                   {"lower", m_lower},
                                   {"casefold", m_lower},
                                   {"swapcase", m_swapcase},
                                   {"title", m_title},
                                   {"expandtabs", m_expandtabs},
                                   {"capitalize", m_capitalize},
                                   {"strip", m_strip},
                                   {"lstrip", m_lstrip},
                                   {"rstrip", m_rstrip},
                                   {"startswith", m_startswith},
                                   {"endswith", m_endswith},
                                   {"removeprefix", m_removeprefix},
                                   {"removesuffix", m_removesuffix},
                                   {"find", m_find},
                                   {"rfind", m_rfind},
                                   {"index", m_index},
                                   {"rindex", m_rindex},
                                   {"count", m_count},
                                   {"replace", m_replace},
                                   {"split", m_split},
                                   {"rsplit", m_rsplit},
                                   {"splitlines", m_splitlines},
                                   {"partition", m_partition},
                                   {"rpartition", m_rpartition},
                                   {"join", m_join},
                                   {"format", m_format},
                                   {"format_map", m_format_map},
                                   {"isdigit", m_isdigit},
                                   {"isnumeric", m_isdigit},
                                   {"isdecimal", m_isdigit},
                                   {"isalpha", m_isalpha},
                                   {"isalnum", m_isalnum},
                                   {"isspace", m_isspace},
                                   {"isupper", m_isupper},
                                   {"islower", m_islower},
                                   {"istitle", m_istitle},
                                   {"isprintable", m_isprintable},
                                   {"isidentifier", m_isidentifier},
                                   {"ljust", m_ljust},
                                   {"rjust", m_rjust},
                                   {"center", m_center},
                                   {"zfill", m_zfill},
                                   {"translate", m_translate},
                                   {NULL, NULL}};
    tc_type_methods(c, K_STR, m);
    wrapper *w = tc_new(c, K_STATIC, sizeof *w);
    w->f = tc_native(c, "maketrans", m_maketrans, NULL);
    tc_dict_setc(c, c->types[K_STR]->d, "maketrans", (V)w);
}
