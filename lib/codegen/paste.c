/* Pastes into emitted C the definitions of the embedded prelude that it uses, and theirs in turn (emit.h).
 *
 * build/gen/paste.c holds codegen/prelude.h and all it includes, preprocessed at build time: plain definitions, no macros. */
#include "codegen/emit.h"
#include "codegen/paste.h"

#include <ctype.h>

typedef struct {
    const char *text;
    size_t len;
    bool used;
} item;
typedef struct {
    tc_buf text; /* which the items point into */
    TC_VEC(item) items;
    tc_map names; /* name -> index of the item + 1 */
} pasted;

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool starts(const char *s, size_t n, const char *word) {
    size_t k = strlen(word);
    return n > k && !memcmp(s, word, k) && !word_char(s[k]);
}

static void name_item(pasted *p, const char *s, size_t n, size_t index) {
    if (!n) return;
    void **at = tc_map_put(&p->names, s, n);
    if (!*at) *at = (void *)(index + 1);
}

/* Registers the names that a definition introduces: a function, type or table, or every constant of an enum. */
static void name_of(pasted *p, const item *it, size_t index) {
    const char *s = it->text, *end = s + it->len;
    if (starts(s, it->len, "enum")) {
        const char *at = memchr(s, '{', it->len);
        for (bool fresh = true; at && at < end; at++) {
            if (*at == '{' || *at == ',') fresh = true;
            else if (fresh && (isalpha((unsigned char)*at) || *at == '_')) {
                const char *w = at;
                while (at < end && word_char(*at)) at++;
                name_item(p, w, (size_t)(at - w), index);
                at--, fresh = false;
            }
        }
        return;
    }
    bool type = starts(s, it->len, "typedef");
    const char *word = NULL;
    size_t len = 0;
    const char *brace = type ? memchr(s, '{', it->len) : NULL, *pointer = type ? memmem(s, it->len, "(*", 2) : NULL;
    if (pointer && (!brace || pointer < brace)) { /* typedef void (*NAME)(...) */
        word = pointer + 2;
        while (word + len < end && word_char(word[len])) len++;
        return name_item(p, word, len, index);
    }
    for (int depth = 0; s < end; s++) {
        if (*s == '{' || (type && *s == '(')) depth++;
        if (*s == '}' || (type && *s == ')')) depth--;
        if (depth) continue;
        if (!type && (*s == '(' || *s == '[' || *s == '=')) break;
        if ((isalpha((unsigned char)*s) || *s == '_') && (s == it->text || !word_char(s[-1]))) {
            word = s;
            while (s + 1 < end && word_char(s[1])) s++;
            len = (size_t)(s - word) + 1;
        }
    }
    name_item(p, word, len, index);
}

static void cut(pasted *p) {
    tc_embedded_append(&p->text, &tc_prelude_text);
    const char *s = tc_buf_str(&p->text);
    while (*s) {
        while (isspace((unsigned char)*s) || *s == ';') s++;
        if (!*s) break;
        const char *start = s;
        int depth = 0;
        bool function = false, table = false;
        for (; *(s += strcspn(s, "(){}=;")); s++) {
            if (*s == '(' && depth == 0 && !table) function = true;
            if (*s == '=' && depth == 0) table = true;
            if (*s == '{' || *s == '(') depth++;
            if (*s == '}' || *s == ')') depth--;
            if (depth == 0 && ((*s == '}' && function && !table) || *s == ';')) break;
        }
        if (*s) s++;
        item it = {start, (size_t)(s - start), false};
        tc_vec_push(&p->items, it);
        name_of(p, &p->items.data[p->items.len - 1], p->items.len - 1);
    }
}

static void use(pasted *p, const char *s, size_t n) {
    TC_VEC(item) todo = {0};
    item first = {s, n, false};
    tc_vec_push(&todo, first);
    while (todo.len) {
        item it = todo.data[--todo.len];
        for (const char *c = it.text, *end = c + it.len; c < end;) {
            if (!word_char(*c)) {
                c++;
                continue;
            }
            const char *w = c;
            while (c < end && word_char(*c)) c++;
            size_t k = (size_t)tc_map_get(&p->names, w, (size_t)(c - w));
            if (!k || p->items.data[k - 1].used) continue;
            p->items.data[k - 1].used = true;
            tc_vec_push(&todo, p->items.data[k - 1]);
        }
    }
    tc_vec_free(&todo);
}

/* Writes a definition; one that a macro produced is a single long line, which is broken into a line per statement. */
static void layout(tc_buf *out, const item *it) {
    bool one_line = !memchr(it->text, '\n', it->len),
         flat = it->len < 120 || starts(it->text, it->len, "typedef") || starts(it->text, it->len, "enum");
    int depth = 0, parens = 0;
    for (size_t i = 0; i < it->len; i++) {
        char c = it->text[i];
        if (!one_line || flat) {
            tc_buf_putc(out, c);
            continue;
        }
        parens += (c == '(') - (c == ')');
        bool block = parens == 0 && (c == '{' || c == '}' || c == ';');
        bool initialiser = c == '{' && i && it->text[i - 1] == ')' && i > 1 && depth > 0 && it->text[i + 1] != ' ';
        if (initialiser) { /* (type){...} */
            const char *close = memchr(it->text + i, '}', it->len - i);
            size_t n = close ? (size_t)(close - it->text) - i + 1 : 1;
            tc_buf_append(out, it->text + i, n);
            i += n - 1;
            continue;
        }
        if (c == '}' && parens == 0) depth--;
        if (c == '}' && parens == 0) {
            while (out->len && out->data[out->len - 1] == ' ') out->data[--out->len] = 0;
        }
        tc_buf_putc(out, c);
        if (c == '{' && parens == 0) depth++;
        if (!block || i + 1 == it->len) continue;
        while (i + 1 < it->len && it->text[i + 1] == ' ') i++;
        tc_buf_putc(out, '\n');
        int in = depth - (i + 1 < it->len && it->text[i + 1] == '}');
        for (int k = 0; k < in; k++) tc_buf_puts(out, "    ");
    }
    tc_buf_putc(out, '\n');
}

void tc_paste_used(tc_buf *out, const char *code) {
    pasted p = {0};
    cut(&p);
    use(&p, code, strlen(code));
    for (size_t i = 0; i < p.items.len; i++)
        if (p.items.data[i].used) layout(out, &p.items.data[i]);
    tc_buf_free(&p.text);
    tc_vec_free(&p.items);
    tc_map_free(&p.names);
}
