/* extra/tc/NAME.json: what tc knows of a program and PyTorch's schema has no place for. It may be absent, and is believed only where
 * it fits: names where the counts agree, guards whose symbols the program has. */
#include "file/pt2_read.h"

static void read_names(tc_jread *j, tc_arena *a, const char **out, int want) {
    int n = 0;
    for (tc_jr_array(j); tc_jr_item(j); n++) {
        const char *name = tc_jr_strdup(j, a);
        if (n < want && *name) out[n] = name;
    }
    if (n != want) tc_jr_fail(j, TC_CONTENT, "%d names for %d values", n, want);
}

static void read_guard(tc_jread *j, tc_program *p) {
    tc_sym cond = NULL;
    const char *text = NULL;
    tc_source source = {0};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "cond")) {
            tc_str s = tc_jr_string(j);
            if (tc_jr_ok(j)) tc_jr_fail_with(j, tc_sym_parse_srepr(p->sym, s.s, s.n, &cond));
        } else if (tc_str_is(key, "text")) {
            text = tc_jr_strdup(j, &p->arena);
        } else if (tc_str_is(key, "file")) {
            const char *file = tc_jr_strdup(j, &p->arena);
            source.file = *file ? file : NULL;
        } else if (tc_str_is(key, "line")) {
            source.line = (int)tc_jr_int(j);
        } else {
            tc_jr_skip(j);
        }
    }
    if (!tc_jr_ok(j) || !cond) return;
    if (tc_sym_type(cond) != TC_SYM_BOOL) tc_jr_fail(j, TC_CONTENT, "a guard that is not a condition");
    else tc_program_guard(p, cond, source, text && *text ? text : NULL);
}

static tc_status read_state(tc_program *p, const char *where, const unsigned char *data, size_t n) {
    tc_jread j;
    int64_t version = 0;
    size_t nin = (size_t)p->ninputs, nout = (size_t)p->noutputs;
    const char **in = TC_NEWN(&p->arena, const char *, nin + 1), **out = TC_NEWN(&p->arena, const char *, nout + 1);
    tc_jr_init(&j, where, (const char *)data, n);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "version")) version = tc_jr_int(&j);
        else if (tc_str_is(key, "inputs")) read_names(&j, &p->arena, in, p->ninputs);
        else if (tc_str_is(key, "outputs")) read_names(&j, &p->arena, out, p->noutputs);
        else if (tc_str_is(key, "guards"))
            for (tc_jr_array(&j); tc_jr_item(&j);) read_guard(&j, p);
        else if (tc_str_is(key, "source")) p->source_file = tc_jr_strdup(&j, &p->arena);
        else tc_jr_skip(&j);
    }
    if (tc_jr_ok(&j) && version != 1) tc_jr_fail(&j, TC_UNSUPPORTED, "state of version %lld: a newer tc wrote it", (long long)version);
    TC_TRY(tc_jr_finish(&j));
    for (size_t i = 0; i < nin; i++)
        if (in[i] && (p->inputs[i].kind == TC_IN_USER || p->inputs[i].kind == TC_IN_LEAF)) p->inputs[i].name = in[i];
    for (size_t i = 0; i < nout; i++)
        if (out[i]) p->outputs[i].name = out[i];
    return NULL;
}

tc_status tc_pt2_read_state(tc_archive *a, tc_program *p) {
    const unsigned char *data;
    size_t n;
    bool found;
    tc_buf path = {0};
    tc_buf_printf(&path, "tc/%s.json", p->name);
    tc_status st = tc_archive_extra(a, path.data, &data, &n, &found);
    if (!st && found) {
        char *where = tc_arena_printf(&p->arena, "%s:extra/%s", a->zip->blob->name, path.data);
        st = read_state(p, where, data, n);
    }
    path.len = 0;
    tc_buf_printf(&path, "tc/%s.py", p->name);
    if (!st) st = tc_archive_extra(a, path.data, &data, &n, &found);
    if (!st && found) p->source_text = tc_arena_strndup(&p->arena, (const char *)data, n);
    tc_buf_free(&path);
    return st;
}
