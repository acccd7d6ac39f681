/* What tc-run says of compiled variants: --log guards, --log recompiles, -v. */
#include "tc-run/run.h"

#include "codegen/packed.h"

static void chosen(void *ctx, const char *sizes) {
    const tc_cmd *c = ctx;
    if (tc_cmd_logs(c, "guards") || c->verbose) fprintf(stderr, "%s: the variant for %s is used\n", c->tool->name, sizes);
}

static void recompile(void *ctx, const tc_recompile *r) {
    const tc_cmd *c = ctx;
    const char *stance = tc_cmd_get(c, TC_OPT_stance);
    tc_buf at = {0};
    if (r->at.file) tc_buf_printf(&at, " (%s:%d)", r->at.file, r->at.line);
    if (tc_cmd_logs(c, "recompiles") || c->verbose || (stance && !strcmp(stance, "eager_on_recompile")))
        fprintf(stderr, "%s: no compiled variant fits: it is for %s; %s%s%s\n", c->tool->name, r->guard, r->met, tc_buf_str(&at),
                stance && !strcmp(stance, "fail_on_recompile") ? "" : "; the graph is interpreted, with the same bits");
    tc_buf_free(&at);
}

/* Types and ranges of the inputs, the program's own guards, and what its variants are for. */
static void log_guards(const tc_program *p, const tc_variants *v) {
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
    fputs(tc_buf_str(&b), stderr);
    tc_buf_free(&b);
}

tc_status variants_open(tc_cmd *c, const tc_archive *a, const tc_program *p, const tc_exec_options *o, tc_variants **out) {
    const unsigned char *list;
    size_t len;
    bool found;
    TC_TRY(tc_archive_extra(a, tc_packed_variants, &list, &len, &found));
    TC_TRY(tc_variants_create(p, (const char *)list, found ? len : 0, o, &(tc_variants_events){chosen, recompile, c}, out));
    if (tc_cmd_logs(c, "guards")) log_guards(p, *out);
    return NULL;
}
