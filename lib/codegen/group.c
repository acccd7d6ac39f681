/* Canonical text, key and numbers of a group (group.h). */
#include "codegen/group.h"

#include <sodium.h>

typedef struct {
    tc_buf text;
    TC_VEC(tc_sym) vars; /* symbols in order of appearance: printed as v0, v1, ... */
    TC_VEC(tc_sym) numbers;
    int depth;
    bool too_deep;
} writer;

enum { MAX_DEPTH = 200 };

static int place_of(tc_sym s, tc_sym **data, size_t len) {
    for (size_t i = 0; i < len; i++)
        if ((*data)[i] == s) return (int)i;
    return -1;
}

static void write_sym(writer *w, tc_sym s) {
    int64_t i;
    double f;
    bool b;
    if (w->depth >= MAX_DEPTH) {
        w->too_deep = true;
        return;
    }
    if (tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i)) {
        tc_buf_printf(&w->text, "%lld", (long long)i);
        return;
    }
    if (tc_sym_type(s) == TC_SYM_FLOAT && tc_sym_const_float(s, &f)) {
        uint64_t bits;
        memcpy(&bits, &f, sizeof bits);
        tc_buf_printf(&w->text, "f%llx", (unsigned long long)bits);
        return;
    }
    if (tc_sym_type(s) == TC_SYM_BOOL && tc_sym_const_bool(s, &b)) {
        tc_buf_puts(&w->text, b ? "true" : "false");
        return;
    }
    if (tc_sym_opcode(s) == TC_S_VAR) {
        int at = place_of(s, &w->vars.data, w->vars.len);
        if (at < 0) {
            at = (int)w->vars.len;
            tc_vec_push(&w->vars, s);
        }
        tc_buf_printf(&w->text, "v%d", at);
        return;
    }
    tc_buf_printf(&w->text, "(%d", (int)tc_sym_opcode(s));
    w->depth++;
    for (int k = 0; k < tc_sym_arity(s); k++) {
        tc_buf_putc(&w->text, ' ');
        write_sym(w, tc_sym_arg(s, k));
    }
    w->depth--;
    tc_buf_putc(&w->text, ')');
}

static bool is_const(tc_sym s) {
    int64_t i;
    double f;
    bool b;
    switch (tc_sym_type(s)) {
    case TC_SYM_INT: return tc_sym_const_int(s, &i);
    case TC_SYM_FLOAT: return tc_sym_const_float(s, &f);
    default: return tc_sym_const_bool(s, &b);
    }
}

/* An expression that the loop evaluates: its text, and an entry of numbers when it is not constant. */
static void write_number(writer *w, tc_sym s) {
    write_sym(w, s);
    if (!is_const(s) && place_of(s, &w->numbers.data, w->numbers.len) < 0) tc_vec_push(&w->numbers, s);
}

static void write_affine(writer *w, const tc_affine *a) {
    tc_buf_putc(&w->text, '[');
    write_number(w, a->base);
    for (int t = 0; t < a->n; t++) {
        tc_buf_printf(&w->text, " a%d*", a->term[t].axis);
        write_number(w, a->term[t].coef);
    }
    tc_buf_putc(&w->text, ']');
}

static bool known_dense(const tc_loop *l, const tc_lbuffer *b) {
    if (!b->value || b->value->kind != TC_V_TENSOR || !b->value->meta.stride) return true;
    const tc_meta *m = &b->value->meta;
    if (m->rank != b->rank) return false;
    tc_sym expected = tc_sym_int(l->sym, 1);
    for (int d = m->rank - 1; d >= 0; d--) {
        if (!tc_sym_is_int(m->size[d], 1) && m->stride[d] != expected) return false;
        expected = tc_sym_mul(l->sym, expected, m->size[d]);
    }
    return true;
}

static void write_inst(writer *w, const tc_linst *x) {
    tc_buf_printf(&w->text, "%d.%d.%d %d %d %llx %llx %d %d %d", x->kind, x->op, x->part, x->dtype, x->kind == TC_L_ROUND ? (int)x->narrow : 0,
                  (unsigned long long)x->axes, (unsigned long long)x->over, x->a[0], x->a[1], x->a[2]);
    switch (x->kind) {
    case TC_L_CONST: {
        uint64_t bits[2] = {0, 0};
        memcpy(&bits[0], &x->imm.i, 8);
        if (x->imm.kind == TC_KIND_COMPLEX) memcpy(&bits[1], &x->imm.im, 8);
        tc_buf_printf(&w->text, " %d:%llx:%llx", x->imm.kind, (unsigned long long)bits[0], (unsigned long long)bits[1]);
        break;
    }
    case TC_L_HOST:
    case TC_L_RAND:
        tc_buf_putc(&w->text, ' ');
        if (x->host) write_number(w, x->host);
        break;
    case TC_L_INDEX: write_affine(w, &x->index[0]); break;
    case TC_L_LOAD:
        tc_buf_printf(&w->text, " b%d", x->buffer);
        for (int d = 0; d < x->rank; d++) {
            write_affine(w, &x->index[d]);
            if (x->gather && x->gather[d] != TC_LV_NONE) tc_buf_printf(&w->text, "+%%%d", x->gather[d]);
        }
        tc_buf_printf(&w->text, " p%d c%d", x->pred, x->checked);
        break;
    default: break;
    }
    tc_buf_putc(&w->text, '\n');
}

tc_status tc_group_describe(const tc_loop *l, tc_arena *a, tc_group_desc *out) {
    writer w = {0};
    *out = (tc_group_desc){0};
    uint8_t *dense = TC_NEWN(a, uint8_t, l->buffers.len + 1);
    if (l->region) tc_buf_printf(&w.text, "region 1 %llx\n", (unsigned long long)l->columns);
    else tc_buf_puts(&w.text, "group 1\n");
    for (int i = 0; i < l->naxes; i++) {
        write_sym(&w, l->axes[i].extent);
        tc_buf_putc(&w.text, i + 1 < l->naxes ? ' ' : '\n');
    }
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_lbuffer *b = &l->buffers.data[i];
        dense[i] = known_dense(l, b);
        tc_buf_printf(&w.text, "b %d %d %d:", b->dtype, b->written, dense[i]);
        for (int d = 0; d < b->rank; d++) {
            tc_buf_putc(&w.text, ' ');
            write_sym(&w, b->size[d]);
        }
        tc_buf_putc(&w.text, '\n');
    }
    for (size_t i = 0; i < l->inst.len; i++) write_inst(&w, &l->inst.data[i]);
    for (size_t i = 0; i < l->stores.len; i++) {
        const tc_lstore *s = &l->stores.data[i];
        tc_buf_printf(&w.text, "store b%d", s->buffer);
        for (int d = 0; d < s->rank; d++) write_affine(&w, &s->index[d]);
        tc_buf_printf(&w.text, " = %d p%d\n", s->value, s->pred);
    }
    tc_status st = NULL;
    if (w.too_deep) {
        st = tc_error(TC_UNSUPPORTED, "a size expression is nested more than %d deep", MAX_DEPTH);
    } else {
        out->text = tc_arena_strndup(a, tc_buf_str(&w.text), w.text.len);
        out->text_len = w.text.len;
        out->numbers = w.numbers.len ? tc_arena_dup(a, w.numbers.data, w.numbers.len * sizeof(tc_sym)) : NULL;
        out->nnumbers = (int)w.numbers.len;
        out->dense = dense;
        crypto_generichash(out->key, sizeof out->key, (const unsigned char *)out->text, out->text_len, NULL, 0);
    }
    tc_buf_free(&w.text);
    tc_vec_free(&w.vars);
    tc_vec_free(&w.numbers);
    return st;
}
