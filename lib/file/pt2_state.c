/* extra/tc/NAME.json: properties of a program that PyTorch's schema cannot hold. The entry is optional, and names are used only if their counts
 * agree with the program. Guards on input sizes are read before the nodes, whose types may depend on them (squeeze removes a dimension that a guard
 * fixed to 1); guards on data-dependent numbers are read after the nodes. */
#include "file/pt2_read.h"

static void read_names(tc_jread *j, tc_arena *a, const char **out, int want) {
    int n = 0;
    for (tc_jr_array(j); tc_jr_item(j); n++) {
        const char *name = tc_jr_strdup(j, a);
        if (n < want && *name) out[n] = name;
    }
    if (n != want) tc_jr_fail(j, TC_CONTENT, "%d names for %d values", n, want);
}

/* Does the program have what the file calls s? A symbol from data is the file's only once a node has named it: tc's own may have the same name. */
static bool symbol_known(const tc_pt2_reader *r, tc_sym s) {
    const tc_sym ours = tc_sym_find(r->program->sym, tc_sym_var_name(s));
    bool known = ours && !tc_sym_holds_data(s);
    for (size_t i = 0; i < r->from.len && !known; i++) known = r->from.data[i] == ours;
    return known;
}

/* Does the program have all symbols of a condition yet? True if it cannot be parsed: read_guard reports the error. */
static bool symbols_known(const tc_pt2_reader *r, tc_str cond) {
    tc_symctx *own = tc_symctx_create();
    tc_sym s = NULL;
    bool known = true;
    tc_status_free(tc_sym_parse_srepr(own, cond.s, cond.n, &s));
    for (size_t i = 0; i < tc_sym_var_count(own) && known; i++) known = symbol_known(r, tc_sym_var_at(own, i));
    tc_symctx_destroy(own);
    return known;
}

/* early: guards on numbers that p does not have yet are left for the second pass, after p has named them. So are guards marked "apart", on which no
 * type depends: reading them early would change the order of terms, which is that of first use. A number that no node has named then is one that a
 * guard made a constant: the types of the file say that. */
static void read_guard(tc_jread *j, tc_pt2_reader *r, bool early) {
    tc_program *p = r->program;
    tc_sym cond = NULL;
    const char *op = NULL;
    bool apart = false;
    tc_source source = {0};
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "cond")) {
            tc_str s = tc_jr_string(j);
            if (tc_jr_ok(j) && symbols_known(r, s) && !(early && apart)) tc_jr_fail_with(j, tc_sym_parse_srepr(p->sym, s.s, s.n, &cond));
        } else if (tc_str_is(key, "op")) {
            op = tc_jr_strdup(j, &p->arena);
        } else if (tc_str_is(key, "file")) {
            const char *file = tc_jr_strdup(j, &p->arena);
            source.file = *file ? file : NULL;
        } else if (tc_str_is(key, "apart")) {
            apart = tc_jr_bool(j);
        } else if (tc_str_is(key, "line")) {
            source.line = (int)tc_jr_int(j);
        } else {
            tc_jr_skip(j);
        }
    }
    if (!tc_jr_ok(j) || !cond) return;
    if (r->from.len) cond = tc_sym_substitute(p->sym, cond, r->from.data, r->to.data, r->from.len);
    if (tc_sym_type(cond) != TC_SYM_BOOL) tc_jr_fail(j, TC_CONTENT, "a guard that is not a condition");
    else tc_program_guard(p, (tc_guard){.cond = cond, .source = source, .op = op && *op ? op : NULL, .apart = apart});
}

static tc_status read_guards(tc_pt2_reader *r, const char *where, const unsigned char *data, size_t n) {
    tc_jread j;
    tc_jr_init(&j, where, (const char *)data, n);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (!tc_str_is(key, "guards")) tc_jr_skip(&j);
        else
            for (tc_jr_array(&j); tc_jr_item(&j);) read_guard(&j, r, true);
    }
    return tc_jr_finish(&j);
}

static tc_status read_state(tc_pt2_reader *r, const char *where, const unsigned char *data, size_t n) {
    tc_program *p = r->program;
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
            for (tc_jr_array(&j); tc_jr_item(&j);) read_guard(&j, r, false);
        else if (tc_str_is(key, "instead_of")) p->instead_of = tc_jr_strdup(&j, &p->arena);
        else if (tc_str_is(key, "device")) p->device = tc_jr_strdup(&j, &p->arena);
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

static const char *state_path(const tc_pt2_reader *r) { return tc_arena_printf(&r->program->arena, "extra/tc/%s.json", r->program->name); }

bool tc_pt2_has_state(const tc_pt2_reader *r) {
    const unsigned char *data;
    size_t n;
    bool found = false;
    tc_status_free(tc_archive_entry(r->archive, state_path(r), &data, &n, &found));
    return found;
}

typedef tc_status reader_of(tc_pt2_reader *r, const char *where, const unsigned char *data, size_t n);
/* Runs `read` on extra/tc/NAME.json, if it is there. */
static tc_status with_state(tc_pt2_reader *r, reader_of *read) {
    tc_archive *a = r->archive;
    tc_program *p = r->program;
    const unsigned char *data;
    size_t n;
    bool found;
    const char *path = state_path(r);
    TC_TRY(tc_archive_entry(a, path, &data, &n, &found));
    return found ? read(r, tc_arena_printf(&p->arena, "%s:%s", a->zip->blob->name, path), data, n) : NULL;
}

tc_status tc_pt2_read_guards(tc_pt2_reader *r) { return with_state(r, read_guards); }

tc_status tc_pt2_read_state(tc_pt2_reader *r) {
    tc_archive *a = r->archive;
    tc_program *p = r->program;
    const unsigned char *data;
    size_t n;
    bool found;
    TC_TRY(with_state(r, read_state));
    TC_TRY(tc_archive_entry(a, tc_arena_printf(&p->arena, "extra/tc/%s.py", p->name), &data, &n, &found));
    if (found) p->source_text = tc_arena_strndup(&p->arena, (const char *)data, n);
    return NULL;
}
