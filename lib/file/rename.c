/* Renaming. See rename.h. */
#include "file/rename.h"

#include "base/file.h"
#include "base/json.h"

static tc_status parse_rule(const char *text, tc_rename_rule *out) {
    char *parts[2] = {NULL, NULL};
    char mark = text[0] == 's' && text[1] ? text[1] : 0;
    const char *p = mark ? text + 2 : text;
    for (int i = 0; mark && i < 2; i++) {
        tc_buf b = {0};
        while (*p && *p != mark) {
            if (*p == '\\' && p[1] == mark) p++;
            else if (*p == '\\' && p[1]) tc_buf_putc(&b, *p++);
            tc_buf_putc(&b, *p++);
        }
        tc_buf_puts(&b, "");
        parts[i] = tc_xstrdup(tc_buf_str(&b));
        tc_buf_free(&b);
        if (*p == mark) p++;
        else mark = 0;
    }
    bool all = mark && !strcmp(p, "g");
    int error = mark && (all || !*p) ? regcomp(&out->re, parts[0], REG_EXTENDED) : -1;
    free(parts[0]);
    if (error) {
        free(parts[1]);
        return tc_error(TC_USAGE, "--rename %s: expected s/REGEX/TO/ with an extended regular expression", text);
    }
    out->to = parts[1];
    out->all = all;
    return NULL;
}

static void apply_rule(const tc_rename_rule *r, tc_buf *name) {
    tc_buf out = {0};
    regmatch_t m[10];
    const char *p = tc_buf_str(name);
    bool again = true;
    for (int flags = 0; again && regexec(&r->re, p, 10, m, flags) == 0; flags = REG_NOTBOL) {
        tc_buf_append(&out, p, (size_t)m[0].rm_so);
        for (const char *t = r->to; *t; t++) {
            int g = t[0] == '\\' && t[1] >= '0' && t[1] <= '9' ? t[1] - '0' : -1;
            if (g >= 0 && m[g].rm_so >= 0) tc_buf_append(&out, p + m[g].rm_so, (size_t)(m[g].rm_eo - m[g].rm_so));
            else if (g < 0 && t[0] == '\\' && t[1]) tc_buf_putc(&out, t[1]);
            else if (g < 0) tc_buf_putc(&out, *t);
            if (t[0] == '\\' && t[1]) t++;
        }
        again = r->all && m[0].rm_eo > m[0].rm_so && p[m[0].rm_eo];
        p += m[0].rm_eo;
    }
    tc_buf_puts(&out, p);
    tc_buf_free(name);
    *name = out;
}

tc_status tc_rename_add(tc_rename *r, const char *rule) {
    tc_rename_rule made;
    TC_TRY(parse_rule(rule, &made));
    tc_vec_push(&r->rules, made);
    return NULL;
}

static tc_status add_line(tc_rename *r, const char *old, size_t old_n, const char *new, size_t new_n) {
    void **slot = tc_map_put(&r->table, old, old_n);
    if (*slot) return tc_error(TC_CONTENT, "%s: %.*s is named twice", r->file, (int)(old_n < 200 ? old_n : 200), old);
    *slot = tc_arena_strndup(&r->arena, new, new_n);
    return NULL;
}

static tc_status read_json(tc_rename *r, const tc_buf *text) {
    tc_jread j;
    tc_status st = NULL;
    tc_jr_init(&j, r->file, text->data, text->len);
    tc_jr_object(&j);
    for (tc_str key; !st && tc_jr_member(&j, &key);) {
        char *old = tc_arena_strndup(&r->arena, key.s, key.n);
        if (tc_jr_null(&j)) {
            st = add_line(r, old, strlen(old), "", 0);
            continue;
        }
        tc_str new = tc_jr_string(&j);
        if (tc_jr_ok(&j)) st = add_line(r, old, strlen(old), new.s, new.n);
    }
    if (st) tc_jr_fail_with(&j, st);
    return tc_jr_finish(&j);
}

static tc_status read_lines(tc_rename *r, const tc_buf *text) {
    const char *p = text->data, *end = p + text->len;
    for (int line = 1; p < end; line++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end, *tab = memchr(p, '\t', (size_t)(stop - p));
        if (stop > p && stop[-1] == '\r') stop--;
        if (stop > p && *p != '#') {
            if (!tab || tab == p || memchr(tab + 1, '\t', (size_t)(stop - tab - 1)) || memchr(p, 0, (size_t)(stop - p)))
                return tc_error_at(TC_CONTENT, (tc_place){.file = r->file, .line = line, .offset = -1}, "expected OLD, a tab, NEW");
            TC_TRY(add_line(r, p, (size_t)(tab - p), tab + 1, (size_t)(stop - tab - 1)));
        }
        if (!nl) break;
        p = nl + 1;
    }
    return NULL;
}

tc_status tc_rename_add_table(tc_rename *r, const char *path) {
    tc_buf text = {0};
    r->file = tc_arena_strdup(&r->arena, path);
    TC_TRY(tc_file_read(path, 64 << 20, &text));
    tc_status st = text.len && text.data[0] == '{' ? read_json(r, &text) : text.len ? read_lines(r, &text) : NULL;
    tc_buf_free(&text);
    return st;
}

bool tc_rename_apply(const tc_rename *r, const char *name, tc_buf *out) {
    const char *mapped = tc_map_find(&r->table, name);
    out->len = 0;
    tc_buf_puts(out, mapped ? mapped : name);
    if (mapped && !*mapped) return false;
    for (size_t i = 0; i < r->rules.len; i++) apply_rule(&r->rules.data[i], out);
    return out->len > 0;
}

void tc_rename_deinit(tc_rename *r) {
    for (size_t i = 0; i < r->rules.len; i++) {
        regfree(&r->rules.data[i].re);
        free(r->rules.data[i].to);
    }
    tc_vec_free(&r->rules);
    tc_map_free(&r->table);
    tc_arena_free(&r->arena);
}

/* ---- choosing ---- */
tc_status tc_select_add(tc_select *s, const char *text) {
    tc_select_rule r = {.without = *text == '!'};
    if (regcomp(&r.re, text + r.without, REG_EXTENDED | REG_NOSUB))
        return tc_error(TC_USAGE, "--select %s: not an extended regular expression", text);
    tc_vec_push(&s->rules, r);
    return NULL;
}

bool tc_select_takes(const tc_select *s, const char *name) {
    bool any = false, kept = false;
    for (size_t i = 0; i < s->rules.len; i++) {
        const tc_select_rule *r = &s->rules.data[i];
        bool m = regexec(&r->re, name, 0, NULL, 0) == 0;
        if (r->without && m) return false;
        if (!r->without) any = true, kept = kept || m;
    }
    return !any || kept;
}

void tc_select_deinit(tc_select *s) {
    for (size_t i = 0; i < s->rules.len; i++) regfree(&s->rules.data[i].re);
    tc_vec_free(&s->rules);
}
