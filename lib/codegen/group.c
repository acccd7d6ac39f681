/* Canonical text, key and numbers of a group (group.h). */
#include "codegen/group.h"

#include <math.h>
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

/* Writes a symbolic expression into the canonical text, and adds it to `numbers` when it is not constant. */
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

/* What the program says of a buffer's strides, as in tc_abi_group.dense. */
static uint8_t known_dense(const tc_loop *l, const tc_lbuffer *b) {
    if (!b->value || b->value->kind != TC_V_TENSOR || !b->value->meta.stride) return 1;
    const tc_meta *m = &b->value->meta;
    if (m->rank != b->rank) return 0;
    tc_sym expected = tc_sym_int(l->sym, 1);
    for (int d = m->rank - 1; d >= 0; d--) {
        if (!tc_sym_is_int(m->size[d], 1) && m->stride[d] != expected) return d < m->rank - 1 ? 2 : 0;
        expected = tc_sym_mul(l->sym, expected, m->size[d]);
    }
    return 1;
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

/* ---- matching a general loop with one whose symbols are bound to sizes ---- */
typedef struct {
    const tc_loop *general, *l;
    tc_sym *by; /* by symbol of `general`: its expression in l, or NULL */
    size_t nvars;
} sizing;

static void learn(sizing *z, tc_sym general, tc_sym have) {
    if (tc_sym_opcode(general) == TC_S_VAR && tc_sym_type(general) == TC_SYM_INT && !z->by[tc_sym_var_index(general)])
        z->by[tc_sym_var_index(general)] = have;
}
/* The expression with general's symbols replaced by those of l; NULL: a symbol is not determined by any size. */
static tc_sym sized(const sizing *z, tc_sym general) {
    for (size_t i = 0; i < z->nvars; i++)
        if (!z->by[i] && tc_sym_contains(general, tc_sym_var_at(z->general->sym, i))) return NULL;
    return tc_sym_import_with(z->l->sym, general, z->general->sym, z->by);
}
static bool same_size(const sizing *z, tc_sym general, tc_sym have) { return sized(z, general) == have; }

/* Do the replacements lie within the symbols' ranges? */
static bool in_range(const sizing *z) {
    for (size_t i = 0; i < z->nvars; i++) {
        int64_t lo, hi, low, high;
        if (!z->by[i]) continue;
        tc_sym_range(z->general->sym, tc_sym_var_at(z->general->sym, i), &lo, &hi);
        tc_sym_range(z->l->sym, z->by[i], &low, &high);
        if (low < lo || high > hi) return false;
    }
    return true;
}

static bool same_affine(const sizing *z, const tc_affine *general, const tc_affine *have) {
    bool same = general->n == have->n && same_size(z, general->base, have->base);
    for (int t = 0; same && t < general->n; t++)
        same = general->term[t].axis == have->term[t].axis && same_size(z, general->term[t].coef, have->term[t].coef);
    return same;
}

/* Is `have`'s number general's with sizes replaced? It may have become a constant. */
static bool same_number(const sizing *z, tc_sym general, const tc_linst *have) {
    const tc_sym s = general ? sized(z, general) : NULL;
    int64_t i;
    double f;
    if (have->kind == TC_L_HOST || !s) return s == have->host;
    if (have->imm.kind == TC_KIND_INT) return tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i) && i == have->imm.i;
    return have->imm.kind == TC_KIND_FLOAT && tc_sym_const_float(s, &f) && f == have->imm.f && signbit(f) == signbit(have->imm.f);
}

static bool same_inst(const sizing *z, const tc_linst *g, const tc_linst *x) {
    const bool constant = g->kind == TC_L_HOST && x->kind == TC_L_CONST;
    if ((g->kind != x->kind && !constant) || g->op != x->op || g->part != x->part || g->dtype != x->dtype || g->axes != x->axes ||
        g->over != x->over || memcmp(g->a, x->a, sizeof g->a))
        return false;
    switch (g->kind) {
    case TC_L_CONST:
        return g->imm.kind == x->imm.kind && !memcmp(&g->imm.i, &x->imm.i, 8) &&
               (g->imm.kind != TC_KIND_COMPLEX || !memcmp(&g->imm.im, &x->imm.im, 8));
    case TC_L_ROUND: return g->narrow == x->narrow;
    case TC_L_HOST:
    case TC_L_RAND: return same_number(z, g->host, x);
    case TC_L_INDEX: return same_affine(z, &g->index[0], &x->index[0]);
    case TC_L_LOAD: break;
    default: return true;
    }
    bool same = g->buffer == x->buffer && g->rank == x->rank && g->pred == x->pred && g->checked == x->checked && !g->gather == !x->gather;
    for (int d = 0; same && d < g->rank; d++) same = same_affine(z, &g->index[d], &x->index[d]) && (!g->gather || g->gather[d] == x->gather[d]);
    return same;
}

static bool same_loop(const sizing *z) {
    const tc_loop *g = z->general, *l = z->l;
    bool same = true;
    for (int a = 0; same && a < g->naxes; a++) same = same_size(z, g->axes[a].extent, l->axes[a].extent);
    for (size_t i = 0; same && i < g->buffers.len; i++)
        for (int d = 0; same && d < g->buffers.data[i].rank; d++) same = same_size(z, g->buffers.data[i].size[d], l->buffers.data[i].size[d]);
    for (size_t i = 0; same && i < g->inst.len; i++) same = same_inst(z, &g->inst.data[i], &l->inst.data[i]);
    for (size_t i = 0; same && i < g->stores.len; i++) {
        const tc_lstore *s = &g->stores.data[i], *t = &l->stores.data[i];
        same = s->buffer == t->buffer && s->rank == t->rank && s->value == t->value && s->pred == t->pred;
        for (int d = 0; same && d < s->rank; d++) same = same_affine(z, &s->index[d], &t->index[d]);
    }
    return same;
}

bool tc_group_serves(const tc_loop *general, const tc_group_desc *d, const tc_loop *l, tc_arena *a, tc_group_desc *out) {
    if (general->naxes != l->naxes || general->inst.len != l->inst.len || general->stores.len != l->stores.len ||
        general->buffers.len != l->buffers.len || general->region || l->region)
        return false;
    sizing z = {general, l, NULL, tc_sym_var_count(general->sym)};
    bool same = true;
    z.by = tc_xcalloc(z.nvars + 1, sizeof *z.by);
    for (int i = 0; i < l->naxes; i++) learn(&z, general->axes[i].extent, l->axes[i].extent);
    for (size_t i = 0; same && i < l->buffers.len; i++) {
        const tc_lbuffer *g = &general->buffers.data[i], *b = &l->buffers.data[i];
        same = g->dtype == b->dtype && g->rank == b->rank && g->written == b->written;
        for (int k = 0; same && k < g->rank; k++) learn(&z, g->size[k], b->size[k]);
    }
    same = same && in_range(&z) && same_loop(&z);
    *out = (tc_group_desc){.dense = d->dense, .nnumbers = d->nnumbers};
    tc_sym *numbers = same ? TC_NEWN(a, tc_sym, (size_t)d->nnumbers + 1) : NULL;
    for (int i = 0; same && i < d->nnumbers; i++) same = (numbers[i] = sized(&z, d->numbers[i])) != NULL;
    out->numbers = numbers;
    free(z.by);
    return same;
}
