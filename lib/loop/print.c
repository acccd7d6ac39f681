/* Prints loops as text, for -v and tests:
 *
 *     axes a0:N a1:M
 *     %0 = load f32 x[a0, a1]
 *     %1 = reduce max f32 %0 over {a1}
 *     store y[a0, a1] = %5 */
#include "loop/loop.h"

static void print_affine(tc_buf *b, const tc_affine *a) {
    bool first = true;
    for (int i = 0; i < a->n; i++, first = false) {
        if (!first) tc_buf_puts(b, " + ");
        if (!tc_sym_is_int(a->term[i].coef, 1)) {
            tc_sym_print(b, a->term[i].coef);
            tc_buf_putc(b, '*');
        }
        tc_buf_printf(b, "a%d", a->term[i].axis);
    }
    if (!first && tc_sym_is_int(a->base, 0)) return;
    if (!first) tc_buf_puts(b, " + ");
    tc_sym_print(b, a->base);
}

static void print_place(tc_buf *b, const tc_loop *l, int buffer, int rank, const tc_affine *index, const tc_lv *gather) {
    const tc_lbuffer *buf = &l->buffers.data[buffer];
    if (buf->value && buf->value->name) tc_buf_printf(b, "%s[", buf->value->name);
    else tc_buf_printf(b, "t%d[", buffer);
    for (int d = 0; d < rank; d++) {
        if (d) tc_buf_puts(b, ", ");
        bool gathered = gather && gather[d] != TC_LV_NONE;
        if (gathered) tc_buf_printf(b, "%%%d", gather[d]);
        if (gathered && tc_affine_is_zero(&index[d])) continue;
        if (gathered) tc_buf_puts(b, " + ");
        print_affine(b, &index[d]);
    }
    tc_buf_putc(b, ']');
}

static void print_set(tc_buf *b, uint64_t axes) {
    tc_buf_putc(b, '{');
    for (int a = 0, first = 1; a < 64; a++)
        if (axes >> a & 1) {
            tc_buf_printf(b, first ? "a%d" : ", a%d", a);
            first = 0;
        }
    tc_buf_putc(b, '}');
}

static void print_scalar(tc_buf *b, tc_scalar s) {
    if (s.kind == TC_KIND_FLOAT) tc_buf_printf(b, "%.17g", s.f);
    else if (s.kind == TC_KIND_COMPLEX) tc_buf_printf(b, "%.17g%+.17gj", s.re, s.im);
    else tc_buf_printf(b, "%lld", (long long)s.i);
}

static void print_inst(tc_buf *b, const tc_loop *l, size_t i) {
    const tc_linst *in = &l->inst.data[i];
    const char *type = tc_dtypes[in->dtype].name;
    tc_buf_printf(b, "%%%zu = ", i);
    switch (in->kind) {
    case TC_L_CONST:
        tc_buf_printf(b, "const %s ", type);
        print_scalar(b, in->imm);
        break;
    case TC_L_HOST:
        tc_buf_printf(b, "host %s ", type);
        tc_sym_print(b, in->host);
        break;
    case TC_L_INDEX:
        tc_buf_puts(b, "index ");
        print_affine(b, in->index);
        break;
    case TC_L_LOAD:
        tc_buf_printf(b, "load %s ", type);
        print_place(b, l, in->buffer, in->rank, in->index, in->gather);
        break;
    case TC_L_CAST: tc_buf_printf(b, "cast %s %%%d", type, in->a[0]); break;
    case TC_L_ROUND: tc_buf_printf(b, "round %s %%%d", tc_dtypes[in->narrow].name, in->a[0]); break;
    case TC_L_SCALAR:
        for (const char *s = tc_scalar_ops[in->op].name; *s; s++) tc_buf_putc(b, *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s);
        tc_buf_printf(b, " %s", type);
        for (int k = 0; k < tc_scalar_ops[in->op].arity; k++) tc_buf_printf(b, "%s%%%d", k ? ", " : " ", in->a[k]);
        break;
    case TC_L_REDUCE:
    case TC_L_SCAN:
        tc_buf_printf(b, "%s %s %s %%%d over ", in->kind == TC_L_SCAN ? "scan" : "reduce", tc_reduce_names[in->op], type, in->a[0]);
        print_set(b, in->over);
        break;
    case TC_L_PART: tc_buf_printf(b, "part %s %%%d.%d", type, in->a[0], in->part); break;
    case TC_L_RAND:
        tc_buf_puts(b, "rand ");
        tc_sym_print(b, in->host);
        tc_buf_printf(b, " %%%d.%d", in->a[0], in->part);
        break;
    }
    if (in->pred != TC_LV_NONE) tc_buf_printf(b, " if %%%d", in->pred);
    tc_buf_putc(b, '\n');
}

void tc_loop_print(tc_buf *b, const tc_loop *l) {
    tc_buf_puts(b, "axes");
    for (int a = 0; a < l->naxes; a++) {
        tc_buf_printf(b, " a%d:", a);
        tc_sym_print(b, l->axes[a].extent);
    }
    tc_buf_putc(b, '\n');
    for (size_t i = 0; i < l->inst.len; i++) print_inst(b, l, i);
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *st = &l->stores.data[i];
        tc_buf_puts(b, "store ");
        print_place(b, l, st->buffer, st->rank, st->index, NULL);
        tc_buf_printf(b, " = %%%d", st->value);
        if (st->pred != TC_LV_NONE) tc_buf_printf(b, " if %%%d", st->pred);
        tc_buf_putc(b, '\n');
    }
}
