/* Opens the archive's programs for other sizes and its compiled variants, and logs them: --log guards, --log recompiles, -v. */
#include "tc-run/run.h"

#include "cmd/program.h"
#include "codegen/packed.h"

static void chosen(void *ctx, const char *sizes) {
    const tc_cmd *c = ((const versions *)ctx)->c;
    if (sizes) tc_cmd_log(c, "guards", c->verbose, "the variant for %s is used", sizes);
    else tc_cmd_log(c, "guards", c->verbose, "no variant fits: the code for all sizes is used");
}

static void recompile(void *ctx, const tc_recompile *r) {
    const tc_cmd *c = ((const versions *)ctx)->c;
    const char *stance = tc_cmd_get(c, TC_OPT_stance);
    tc_buf at = {0};
    if (r->at.file) tc_buf_printf(&at, " (%s:%d)", r->at.file, r->at.line);
    tc_cmd_log(c, "recompiles", c->verbose || (stance && !strcmp(stance, "eager_on_recompile")), "no compiled variant fits: it is for %s; %s%s%s",
               r->guard, r->met, tc_buf_str(&at),
               stance && !strcmp(stance, "fail_on_recompile") ? "" : "; the graph is interpreted, with the same bits");
    tc_buf_free(&at);
}

static void turned(void *ctx, const tc_program *to) {
    const tc_cmd *c = ((const versions *)ctx)->c;
    tc_cmd_log(c, "guards", c->verbose, "these sizes are those of program %s", to->name);
}

/* Logs input types and ranges, the program's guards, and the sizes of its variants. */
static void log_guards(const versions *from, const tc_program *p, const tc_variants *v) {
    tc_buf b = {0};
    tc_program_print_guards(&b, p);
    for (int i = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER || !p->inputs[i].value) continue;
        tc_buf_printf(&b, "  %s: ", p->inputs[i].name);
        tc_value_print_type(&b, p->inputs[i].value);
        tc_buf_putc(&b, '\n');
    }
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        int64_t lo, hi;
        tc_sym s = tc_sym_var_at(p->sym, i);
        if (tc_sym_type(s) != TC_SYM_INT) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        if (lo != TC_SYM_NO_LO) tc_buf_printf(&b, "  %s >= %lld\n", tc_sym_var_name(s), (long long)lo);
        if (hi != TC_SYM_NO_HI) tc_buf_printf(&b, "  %s <= %lld\n", tc_sym_var_name(s), (long long)hi);
    }
    for (int i = 0; i < tc_variants_count(v); i++) tc_buf_printf(&b, "  variant %d: %s\n", i + 1, tc_variants_guard(v, i));
    tc_cmd_log_text(from->c, "guards", false, b.data, b.len);
    tc_buf_free(&b);
}

/* Loads NAME-2, NAME-3, ... where they are marked as replacements of NAME. */
static tc_status other(void *ctx, int i, tc_program **out) {
    const versions *from = ctx;
    tc_buf name = {0};
    bool there = false;
    tc_status s = NULL;
    tc_buf_printf(&name, "%s-%d", from->p->name, i + 2);
    for (size_t k = 0; k < tc_archive_count(from->a) && !there; k++) there = !strcmp(tc_archive_name(from->a, k), tc_buf_str(&name));
    *out = NULL;
    if (there) s = tc_cmd_program_named(from->c, from->a, tc_buf_str(&name), out);
    if (*out && !((*out)->instead_of && !strcmp((*out)->instead_of, from->p->name))) {
        tc_program_release(*out);
        *out = NULL;
    }
    tc_buf_free(&name);
    return s;
}

tc_status variants_open(versions *from, const tc_exec_options *o, tc_variants **out) {
    const tc_variants_events events = {
        .chosen = chosen, .recompile = recompile, .turned = turned, .other = tc_archive_count(from->a) > 1 ? other : NULL, .ctx = from};
    const unsigned char *list;
    size_t len;
    bool found;
    TC_TRY(tc_archive_entry(from->a, tc_packed_variants, &list, &len, &found));
    TC_TRY(tc_variants_create(from->p, (const char *)list, found ? len : 0, o, &events, out));
    if (tc_cmd_logs(from->c, "guards")) log_guards(from, from->p, *out);
    return NULL;
}
