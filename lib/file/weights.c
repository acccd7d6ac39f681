/* Weights from files into programs: names first, then types and sizes, and only then is the program changed. */
#include "file/weights.h"

#include <regex.h>

/* ---- renaming ---- */
typedef struct {
    regex_t re;
    char *to;
    bool all;
} rule;

static tc_status parse_rule(const char *text, rule *out) {
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

static void apply_rule(const rule *r, tc_buf *name) {
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

static tc_status rename_all(const tc_tensors *w, const char *const *rename, int n, tc_map *out) {
    rule *rules = tc_xcalloc((size_t)n + 1, sizeof *rules);
    tc_status st = NULL;
    int parsed = 0;
    for (; parsed < n && !st; parsed++) st = parse_rule(rename[parsed], &rules[parsed]);
    if (st) parsed--;
    for (size_t i = 0; i < w->items.len && !st; i++) {
        tc_buf name = {0};
        tc_buf_puts(&name, w->items.data[i].name);
        for (int r = 0; r < n; r++) apply_rule(&rules[r], &name);
        void **slot = tc_map_put(out, tc_buf_str(&name), name.len);
        if (*slot) st = tc_error(TC_USAGE, "--rename makes two tensors %s", tc_buf_str(&name));
        *slot = (void *)(uintptr_t)(i + 1);
        tc_buf_free(&name);
    }
    for (int r = 0; r < parsed; r++) {
        regfree(&rules[r].re);
        free(rules[r].to);
    }
    free(rules);
    return st;
}

/* ---- matching ---- */
static bool takes_weight(const tc_input *in) { return in->kind == TC_IN_PARAMETER || (in->kind == TC_IN_BUFFER && in->persistent); }

static void add_name(tc_buf *list, int *count, const char *name) {
    if (*count < 8) tc_buf_printf(list, "%s%s", *count ? ", " : "", name);
    else if (*count == 8) tc_buf_puts(list, ", ...");
    ++*count;
}

static tc_status check_shape(const tc_input *in, const tc_tensor *t, const char *from) {
    const tc_meta *m = &in->value->meta;
    bool same = m->rank == t->rank;
    for (int d = 0; same && d < t->rank; d++) same = tc_sym_is_int(m->size[d], t->size[d]);
    if (same) return NULL;
    tc_buf found = {0}, want = {0};
    tc_tensor_print_type(&found, t);
    tc_value_print_type(&want, in->value);
    tc_status st = tc_error(TC_CONTENT, "%s: %s is %s, the program has %s", from, in->name, found.data, want.data);
    tc_buf_free(&found);
    tc_buf_free(&want);
    return st;
}

/* Which tensor of the file each input takes: index + 1, 0 none. */
static tc_status match(const tc_program *p, const tc_tensors *w, const tc_map *names, const char *from, size_t *take) {
    tc_buf missing = {0}, unexpected = {0};
    int nmissing = 0, nunexpected = 0;
    bool *used = tc_xcalloc(w->items.len + 1, sizeof *used);
    tc_status st = NULL;
    for (int i = 0; i < p->ninputs; i++) {
        if (!takes_weight(&p->inputs[i])) continue;
        take[i] = (size_t)(uintptr_t)tc_map_find(names, p->inputs[i].name);
        if (take[i]) used[take[i] - 1] = true;
    }
    for (int i = 0; i < p->ninputs; i++) { /* tied: either of the two names serves both */
        int other = p->inputs[i].alias_of;
        if (!takes_weight(&p->inputs[i]) || other < 0) continue;
        if (!take[i]) take[i] = take[other];
        if (!take[other]) take[other] = take[i];
    }
    for (int i = 0; i < p->ninputs && !st; i++) {
        if (!takes_weight(&p->inputs[i])) continue;
        if (!take[i]) add_name(&missing, &nmissing, p->inputs[i].name);
        else st = check_shape(&p->inputs[i], &w->items.data[take[i] - 1].tensor, from);
    }
    for (size_t k = 0; k < names->len; k++)
        if (!used[(size_t)(uintptr_t)names->entries[k].value - 1]) add_name(&unexpected, &nunexpected, names->entries[k].key);
    if (!st && (nmissing || nunexpected)) {
        st = tc_error(TC_CONTENT, "%s does not fit the program: %d missing, %d unexpected", from, nmissing, nunexpected);
        if (nmissing) tc_status_add(st, "missing: %s", missing.data);
        if (nunexpected) tc_status_add(st, "unexpected: %s", unexpected.data);
        tc_status_add(st, "--rename 's/REGEX/TO/' changes the names of the file");
    }
    tc_buf_free(&missing);
    tc_buf_free(&unexpected);
    free(used);
    return st;
}

tc_status tc_weights_apply(tc_program *p, const tc_tensors *weights, const char *const *rename, int nrename, const char *from) {
    tc_map names = {0};
    size_t *take = tc_xcalloc((size_t)p->ninputs + 1, sizeof *take);
    tc_status st = rename_all(weights, rename, nrename, &names);
    if (!st) st = match(p, weights, &names, from, take);
    for (int i = 0; i < p->ninputs && !st; i++) {
        if (!take[i]) continue;
        tc_input *in = &p->inputs[i];
        const tc_tensor *t = &weights->items.data[take[i] - 1].tensor;
        tc_tensor data = {0};
        int other = in->alias_of;
        if (other >= 0 && other < i && take[other] == take[i] && p->inputs[other].data.dtype == in->value->meta.dtype)
            data = tc_tensor_share(&p->inputs[other].data);
        else if (t->dtype == in->value->meta.dtype) data = tc_tensor_share(t);
        else st = tc_tensor_cast(t, in->value->meta.dtype, &data);
        if (st) break;
        tc_tensor_deinit(&in->data);
        in->data = data;
    }
    tc_map_free(&names);
    free(take);
    return st;
}
