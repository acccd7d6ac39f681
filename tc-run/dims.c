/* --dim SYM=N: the size of a symbol, which --input may name (`--input x=Bx28x28xf32=0.5 --dim B=4') and every record must have (run.h). */
#include "tc-run/run.h"

#include "cmd/program.h"
#include "file/literal.h"

#include <ctype.h>

tc_status dims_open(tc_cmd *c, const tc_program *p, dims *d) {
    *d = (dims){.program = p, .n = tc_sym_var_count(p->sym)};
    d->vars = tc_xcalloc(d->n + 1, sizeof *d->vars);
    return tc_cmd_bind(c, p, d->vars, d->n);
}

void dims_close(dims *d) { free(d->vars); }

static const tc_symvalue *bound(const dims *d, const char *name, size_t len) {
    for (size_t i = 0; i < d->n; i++) {
        const char *known = tc_sym_var_name(tc_sym_var_at(d->program->sym, i));
        if (d->vars[i].bound && strlen(known) == len && !memcmp(known, name, len)) return &d->vars[i];
    }
    return NULL;
}

tc_status dims_literal(tc_cmd *c, const dims *d, const char *text, tc_tensor *out) {
    tc_buf sized = {0};
    tc_status s = NULL;
    const char *p = text;
    for (const char *end = text + tc_literal_type(text, true); p < end && !s;) { /* SIZE x ... DTYPE */
        size_t n = isupper((unsigned char)*p) ? strcspn(p, "x") : 0;
        const tc_symvalue *v = n ? bound(d, p, n) : NULL;
        if (v) tc_buf_printf(&sized, "%lld", (long long)v->i), p += n;
        else if (n) s = tc_usage(c, "--input %s: --dim %.*s=N says how much %.*s is", text, (int)n, p, (int)n, p);
        else tc_buf_putc(&sized, *p++);
    }
    tc_buf_puts(&sized, p);
    if (!s) s = tc_literal_parse(tc_buf_str(&sized), out);
    tc_buf_free(&sized);
    return s;
}

bool dims_size(const dims *d, tc_sym size, int64_t *out_n) {
    if (!tc_sym_bound(size, d->vars, d->n)) return false;
    tc_status s = tc_sym_eval_int(size, d->vars, d->n, out_n);
    tc_status_free(s);
    return !s;
}

tc_status dims_check(const dims *d, const tc_input *in, const tc_tensor *t) {
    const tc_value *v = in->value;
    int64_t n;
    for (int k = 0; v->kind == TC_V_TENSOR && k < t->rank && k < v->meta.rank; k++)
        if (!tc_sym_const_int(v->meta.size[k], &n) && dims_size(d, v->meta.size[k], &n) && n != t->size[k])
            return tc_error(TC_CONTENT, "input %s: size %d is %lld, expected %lld by --dim", in->name, k, (long long)t->size[k], (long long)n);
    return NULL;
}
