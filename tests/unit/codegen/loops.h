/* Loops of every kind with data for them, for the tests of the emitter and of the block executor: each maker builds one from sizes. */
#ifndef TC_TESTS_LOOPS_H
#define TC_TESTS_LOOPS_H

#include "naive.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- building loops ---- */
typedef struct {
    tc_program *p;
    tc_loop *l;
    int nvars;
    bool symbolic;
    const char *name;
    int fault;
} maker;

static tc_sym num(maker *m, int64_t v) { return tc_sym_int(m->l->sym, v); }
/* A size: a constant, or in symbolic cases a symbol with that value. */
static tc_sym size_of(maker *m, int64_t v) {
    if (!m->symbolic || v <= 1) return num(m, v);
    char name[64];
    snprintf(name, sizeof name, "s%d_%lld", m->nvars, (long long)v);
    tc_sym s = tc_sym_var(m->l->sym, name, TC_SYM_INT, 0, TC_SYM_NO_HI);
    naive_vars[tc_sym_var_index(s)] = (tc_symvalue){.i = v, .bound = true};
    m->nvars++;
    return s;
}
static int axis(maker *m, tc_sym extent) { return tc_loop_axis(m->l, extent); }
static tc_sym ext(maker *m, int a) { return m->l->axes[a].extent; }
static int buffer(maker *m, tc_dtype d, int rank, ...) {
    tc_sym *s = TC_NEWN(m->l->arena, tc_sym, (size_t)rank + 1);
    va_list ap;
    va_start(ap, rank);
    for (int i = 0; i < rank; i++) s[i] = va_arg(ap, tc_sym);
    va_end(ap);
    return tc_loop_temp(m->l, d, rank, s);
}
static tc_affine on_axis(maker *m, int a) {
    tc_affine f = {.base = num(m, 0)};
    if (a >= 0) f.n = 1, f.term[0].axis = a, f.term[0].coef = num(m, 1);
    return f;
}
static tc_linst blank(tc_lkind kind, tc_dtype d) {
    return (tc_linst){.kind = kind, .dtype = d, .narrow = TC_DTYPE_NONE, .a = {-1, -1, -1}, .pred = -1};
}
/* Load of a buffer at axes a0, a1, a2 (-1: index 0). */
static tc_lv load(maker *m, int b, int a0, int a1, int a2) {
    tc_linst in = blank(TC_L_LOAD, tc_dtype_compute(m->l->buffers.data[b].dtype));
    int a[3] = {a0, a1, a2};
    in.buffer = b;
    in.rank = m->l->buffers.data[b].rank;
    tc_affine *x = TC_NEWN(m->l->arena, tc_affine, 4);
    for (int i = 0; i < in.rank; i++) x[i] = on_axis(m, a[i]);
    in.index = x;
    return tc_loop_push(m->l, in);
}
static tc_lv op(maker *m, tc_scalar_op o, tc_lv a, tc_lv b, tc_lv c) {
    tc_dtype d = m->l->inst.data[o == TC_X_WHERE ? b : a].dtype;
    tc_linst in = blank(TC_L_SCALAR, tc_scalar_result(o, d));
    in.op = (uint8_t)o;
    in.a[0] = a, in.a[1] = b, in.a[2] = c;
    return tc_loop_push(m->l, in);
}
static tc_lv cast(maker *m, tc_lv a, tc_dtype d) {
    tc_linst in = blank(TC_L_CAST, d);
    in.a[0] = a;
    return tc_loop_push(m->l, in);
}
static tc_lv reduce(maker *m, tc_reduce_op o, tc_lv a, uint64_t over) {
    tc_dtype d = m->l->inst.data[a].dtype;
    bool arg = o == TC_R_ARGMAX || o == TC_R_ARGMIN;
    tc_linst in = blank(TC_L_REDUCE, arg || (o == TC_R_SUM && !tc_is_float(d)) ? TC_I64 : o == TC_R_WELFORD ? TC_F64 : d);
    in.op = (uint8_t)o;
    in.a[0] = a;
    in.over = over;
    return tc_loop_push(m->l, in);
}
static tc_lv part(maker *m, tc_lv a, int k) {
    tc_linst in = blank(TC_L_PART, TC_F64);
    in.a[0] = a;
    in.part = (uint8_t)k;
    return tc_loop_push(m->l, in);
}
static tc_lv konst(maker *m, tc_dtype d, double v) {
    tc_linst in = blank(TC_L_CONST, d);
    in.imm = tc_is_float(d) ? tc_scalar_float(v) : tc_scalar_int((int64_t)v);
    return tc_loop_push(m->l, in);
}
static tc_lv index_of(maker *m, int a) {
    tc_linst in = blank(TC_L_INDEX, TC_I64);
    tc_affine *x = TC_NEW(m->l->arena, tc_affine);
    *x = on_axis(m, a);
    in.rank = 1;
    in.index = x;
    return tc_loop_push(m->l, in);
}
static void store(maker *m, int b, tc_lv v, int a0, int a1, int a2) {
    tc_lstore st = {.buffer = b, .rank = m->l->buffers.data[b].rank, .value = v, .pred = -1};
    int a[3] = {a0, a1, a2};
    tc_affine *x = TC_NEWN(m->l->arena, tc_affine, 4);
    for (int i = 0; i < st.rank; i++) x[i] = on_axis(m, a[i]);
    st.index = x;
    tc_loop_store(m->l, st);
}

/* ---- cases: sizes come from the table below ---- */
static void pointwise(maker *m, const int64_t *n) { /* sigmoid(tanh(exp(x)) + b) with b a row, more elementary functions than one loop takes */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), r = buffer(m, TC_F32, 1, ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b));
    tc_lv v = load(m, x, a, b, 0), e = op(m, TC_X_EXP, v, -1, -1);
    tc_lv s = op(m, TC_X_SIGMOID, op(m, TC_X_ADD, op(m, TC_X_TANH, e, -1, -1), load(m, r, b, 0, 0), -1), -1, -1);
    store(m, y, op(m, TC_X_MUL, s, op(m, TC_X_DIV, v, e, -1), -1), a, b, 0);
}
static void flat(maker *m, const int64_t *n) { /* three axes that are one; a mask and a second result */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1])), c = axis(m, size_of(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)), y = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c));
    int z = buffer(m, TC_BOOL, 3, ext(m, a), ext(m, b), ext(m, c));
    tc_lv v = load(m, x, a, b, c), pos = op(m, TC_X_GT, v, konst(m, TC_F32, 0), -1);
    tc_lv minus = op(m, TC_X_MUL, op(m, TC_X_EXP, v, -1, -1), konst(m, TC_F32, -1), -1); /* written as a negation, without the constant */
    store(m, y, op(m, TC_X_WHERE, pos, minus, konst(m, TC_F32, -0.1)), a, b, c);
    store(m, z, pos, a, b, c);
}
static void softmax(maker *m, const int64_t *n) {
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), t = buffer(m, TC_F32, 1, ext(m, a));
    tc_lv v = load(m, x, a, b, 0), top = reduce(m, TC_R_MAX, v, 1u << b), e = op(m, TC_X_EXP, op(m, TC_X_SUB, v, top, -1), -1, -1);
    tc_lv s = reduce(m, TC_R_SUM, e, 1u << b);
    store(m, y, op(m, TC_X_DIV, e, s, -1), a, b, 0);
    store(m, t, s, a, 0, 0);
}
static void short_softmax(maker *m, const int64_t *n) { /* of rows so short that they run side by side */
    int a = axis(m, size_of(m, n[0])), b = axis(m, num(m, n[1])), c = axis(m, num(m, 2));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)), y = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)),
        t = buffer(m, TC_F32, 1, ext(m, a));
    tc_lv v = load(m, x, a, b, c), top = reduce(m, TC_R_MAX, v, 1u << b | 1u << c), e = op(m, TC_X_EXP, op(m, TC_X_SUB, v, top, -1), -1, -1);
    tc_lv sum = reduce(m, TC_R_SUM, e, 1u << b | 1u << c);
    store(m, y, op(m, TC_X_DIV, e, sum, -1), a, b, c);
    store(m, t, op(m, TC_X_ADD, op(m, TC_X_TANH, sum, -1, -1), top, -1), a, 0, 0);
}
static void middle_softmax(maker *m, const int64_t *n) { /* over dimension 1 of 3: columns */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1])), c = axis(m, size_of(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)), y = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c));
    tc_lv v = load(m, x, a, b, c), top = reduce(m, TC_R_MAX, v, 1u << b), e = op(m, TC_X_EXP, op(m, TC_X_SUB, v, top, -1), -1, -1);
    store(m, y, op(m, TC_X_DIV, e, reduce(m, TC_R_SUM, e, 1u << b), -1), a, b, c);
}
static void layer_norm(maker *m, const int64_t *n) {
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), w = buffer(m, TC_F32, 1, ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b));
    tc_lv v = load(m, x, a, b, 0), t = reduce(m, TC_R_WELFORD, v, 1u << b);
    tc_lv mean = cast(m, part(m, t, 0), TC_F32), var = cast(m, part(m, t, 1), TC_F32);
    tc_lv scale = op(m, TC_X_RSQRT, op(m, TC_X_ADD, var, konst(m, TC_F32, 1e-5), -1), -1, -1);
    store(m, y, op(m, TC_X_MUL, op(m, TC_X_MUL, op(m, TC_X_SUB, v, mean, -1), scale, -1), load(m, w, b, 0, 0), -1), a, b, 0);
}
static void column_sum(maker *m, const int64_t *n) { /* axis 0 is the result's */
    int c = axis(m, size_of(m, n[1])), r = axis(m, size_of(m, n[0]));
    int x = buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), y = buffer(m, TC_F32, 1, ext(m, c)), z = buffer(m, TC_F64, 1, ext(m, c)),
        k = buffer(m, TC_I64, 1, ext(m, c));
    tc_lv v = load(m, x, r, c, 0);
    store(m, y, reduce(m, TC_R_SUM, op(m, TC_X_EXP, v, -1, -1), 1u << r), c, 0, 0);
    store(m, z, reduce(m, TC_R_PROD, cast(m, op(m, TC_X_TANH, v, -1, -1), TC_F64), 1u << r), c, 0, 0);
    store(m, k, reduce(m, TC_R_ARGMAX, v, 1u << r), c, 0, 0);
}
static void columns_of(maker *m, const int64_t *n, tc_dtype d) { /* nothing but sums: longer pieces of rows */
    int r = axis(m, size_of(m, n[0])), c = axis(m, size_of(m, n[1]));
    int x = buffer(m, d, 2, ext(m, r), ext(m, c)), y = buffer(m, TC_F32, 1, ext(m, c));
    store(m, y, reduce(m, TC_R_SUM, load(m, x, r, c, 0), 1u << r), c, 0, 0);
}
static void columns(maker *m, const int64_t *n) { columns_of(m, n, TC_F32); }
static void narrow_columns(maker *m, const int64_t *n) { columns_of(m, n, TC_BF16); }
static void pairs(maker *m, const int64_t *n) { /* two operations with a number of the row, or one for all: joined, or kept apart where they must */
    int r = axis(m, size_of(m, n[0])), c = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), of = buffer(m, TC_F32, 1, ext(m, r)), one = buffer(m, TC_F32, 1, num(m, 1));
    int y[5];
    for (int k = 0; k < 5; k++) y[k] = buffer(m, TC_F32, 2, ext(m, r), ext(m, c));
    tc_lv v = load(m, x, r, c, 0), row = load(m, of, r, 0, 0), all = load(m, one, -1, 0, 0), less = op(m, TC_X_SUB, v, all, -1);
    store(m, y[0], op(m, TC_X_MUL, op(m, TC_X_SUB, v, row, -1), row, -1), r, c, 0);
    store(m, y[1], op(m, TC_X_ADD, row, op(m, TC_X_MUL, all, v, -1), -1), r, c, 0);
    store(m, y[2], op(m, TC_X_MUL, op(m, TC_X_SUB, row, v, -1), all, -1), r, c, 0);
    store(m, y[3], op(m, TC_X_MUL, less, row, -1), r, c, 0);
    store(m, y[4], op(m, TC_X_DIV, op(m, TC_X_MIN, less, row, -1), all, -1), r, c, 0);
}
/* The same with blocks: sums and products of three operands, each a block, a number of the row or one for all. */
static void triples(maker *m, const int64_t *n) {
    static const tc_scalar_op first[] = {TC_X_MUL, TC_X_MUL, TC_X_ADD, TC_X_SUB, TC_X_MUL, TC_X_MAX},
                              second[] = {TC_X_ADD, TC_X_MUL, TC_X_ADD, TC_X_MUL, TC_X_DIV, TC_X_MIN};
    int r = axis(m, size_of(m, n[0])), c = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), w = buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), of = buffer(m, TC_F32, 1, ext(m, r)),
        one = buffer(m, TC_F32, 1, num(m, 1));
    tc_lv v = load(m, x, r, c, 0), b[] = {load(m, w, r, c, 0), load(m, of, r, 0, 0), load(m, one, -1, 0, 0)}, sum = v;
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 9; i++) {
            sum = op(m, TC_X_SUB, sum, op(m, second[k], op(m, first[k], v, b[i / 3], -1), b[i % 3], -1), -1);
            sum = op(m, TC_X_SUB, sum, op(m, TC_X_FMA, i % 2 ? v : b[i / 3], i % 2 ? b[i / 3] : v, b[i % 3]), -1);
            sum = op(m, TC_X_SUB, sum, op(m, TC_X_MUL, op(m, TC_X_SUB, b[i / 3], v, -1), b[i % 3], -1), -1);
        }
    store(m, buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), sum, r, c, 0);
}
static void channel_scales(maker *m, const int64_t *n) { /* [N, C, H]: a number of the channel for each run of H */
    int a = axis(m, size_of(m, n[0])), c = axis(m, size_of(m, n[1])), h = axis(m, size_of(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, c), ext(m, h)), w = buffer(m, TC_F32, 1, ext(m, c)), b = buffer(m, TC_F32, 1, ext(m, c)),
        each = buffer(m, TC_F32, 1, ext(m, a)), y[3];
    for (int k = 0; k < 3; k++) y[k] = buffer(m, TC_F32, 3, ext(m, a), ext(m, c), ext(m, h));
    tc_lv v = load(m, x, a, c, h), scale = load(m, w, c, 0, 0), shift = load(m, b, c, 0, 0), row = load(m, each, a, 0, 0);
    store(m, y[0], op(m, TC_X_FMA, v, scale, shift), a, c, h);
    store(m, y[1], op(m, TC_X_FMA, scale, v, row), a, c, h);
    store(m, y[2], op(m, TC_X_ADD, op(m, TC_X_MUL, v, row, -1), shift, -1), a, c, h);
}
static void shared(maker *m, const int64_t *n) { /* [N, C, H]: much is computed that is the same for all channels */
    int a = axis(m, size_of(m, n[0])), c = axis(m, size_of(m, n[1])), h = axis(m, size_of(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, c), ext(m, h)), g = buffer(m, TC_F32, 2, ext(m, a), ext(m, h)),
        y = buffer(m, TC_F32, 3, ext(m, a), ext(m, c), ext(m, h));
    tc_lv u = load(m, g, a, h, 0), v = load(m, x, a, c, h);
    for (int k = 0; k < 3; k++) u = op(m, TC_X_MUL, op(m, TC_X_ADD, u, konst(m, TC_F32, k + 0.5), -1), load(m, g, a, h, 0), -1);
    store(m, y, op(m, TC_X_ADD, op(m, TC_X_MUL, u, v, -1), cast(m, index_of(m, h), TC_F32), -1), a, c, h);
}
static void repeated(maker *m,
                     const int64_t *n) { /* short rows with operands of a row, of a channel, of an image and of its rows; an index; a narrow one */
    int a = axis(m, size_of(m, n[0])), b = axis(m, num(m, n[1])), c = axis(m, num(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)), row = buffer(m, TC_F32, 1, ext(m, c)), channel = buffer(m, TC_F32, 1, ext(m, b)),
        image = buffer(m, TC_BF16, 2, ext(m, a), ext(m, c)), y[3];
    for (int k = 0; k < 3; k++) y[k] = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c));
    tc_lv v = load(m, x, a, b, c), w = op(m, TC_X_EXP, load(m, row, c, 0, 0), -1, -1), s = op(m, TC_X_TANH, load(m, channel, b, 0, 0), -1, -1),
          u = cast(m, load(m, image, a, c, 0), TC_F32), at = cast(m, index_of(m, b), TC_F32);
    tc_lv first = op(m, TC_X_EXP, op(m, TC_X_MUL, v, w, -1), -1, -1), plane = op(m, TC_X_SUB, s, w, -1);
    if (n[3]) store(m, y[0], first, a, b, c);
    if (n[3] != 1) store(m, y[1], op(m, TC_X_FMA, first, s, plane), a, b, c);
    if (n[3] != 1) store(m, y[2], op(m, TC_X_ADD, op(m, TC_X_MUL, first, u, -1), at, -1), a, b, c);
}
static void repeated_numbers(maker *m, const int64_t *n) { /* one number in what is repeated and in what is not */
    int a = axis(m, num(m, n[0])), b = axis(m, num(m, n[1])), c = axis(m, num(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)), row = buffer(m, TC_F32, 1, ext(m, c)),
        y = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c));
    tc_lv two = konst(m, TC_F32, 2.5), w = op(m, TC_X_EXP, op(m, TC_X_MUL, load(m, row, c, 0, 0), two, -1), -1, -1);
    store(m, y, op(m, TC_X_FMA, load(m, x, a, b, c), w, two), a, b, c);
}
static void repeated_sum(maker *m, const int64_t *n) { /* sums of short rows with a repeated operand: of all, and by row over the images */
    int a = axis(m, num(m, n[0])), b = axis(m, num(m, n[1])), c = axis(m, num(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, b), ext(m, c)), row = buffer(m, TC_F32, 1, ext(m, c)), y = buffer(m, TC_F32, 0),
        z = buffer(m, TC_F32, 2, ext(m, b), ext(m, c));
    tc_lv v = op(m, TC_X_EXP, op(m, TC_X_MUL, load(m, x, a, b, c), load(m, row, c, 0, 0), -1), -1, -1);
    if (n[3]) store(m, y, reduce(m, TC_R_SUM, v, 1u << a | 1u << b | 1u << c), -1, 0, 0);
    else store(m, z, reduce(m, TC_R_SUM, v, 1u << a), b, c, 0);
}
static void choices(maker *m, const int64_t *n) { /* between a block, itself and numbers by each comparison with a number, from either side */
    static const tc_scalar_op compare[] = {TC_X_EQ, TC_X_NE, TC_X_LT, TC_X_LE, TC_X_GT, TC_X_GE, TC_X_ISNAN};
    int r = axis(m, size_of(m, n[0])), c = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), w = buffer(m, TC_F32, 2, ext(m, r), ext(m, c));
    tc_lv v = load(m, x, r, c, 0), u = load(m, w, r, c, 0), limit = konst(m, TC_F32, 0.25), other = konst(m, TC_F32, -3);
    const tc_lv p[] = {v, u, other, u, other}, q[] = {u, v, u, other, limit};
    tc_lv root = op(m, TC_X_RSQRT, op(m, TC_X_SUB, v, limit, -1), -1, -1),
          some = op(m, TC_X_WHERE, op(m, TC_X_GT, v, limit, -1), v, root); /* with NaN */
    tc_lv sum = u;
    for (int k = 0; k < 7; k++) {
        for (int i = 0; i < 5; i++)
            for (int turned = 0; turned < 2; turned++) {
                const bool single = compare[k] == TC_X_ISNAN;
                tc_lv mask = op(m, compare[k], turned && !single ? limit : single ? root : some, single ? -1 : turned ? some : limit, -1);
                sum = op(m, TC_X_SUB, sum, op(m, TC_X_WHERE, mask, p[i], q[i]), -1);
            }
        if (k % 2 == 0) store(m, buffer(m, TC_F32, 2, ext(m, r), ext(m, c)), sum, r, c, 0);
    }
}
static void channel_sums(maker *m, const int64_t *n) { /* [N, C, H] over N and H: leaves go across rows */
    int c = axis(m, size_of(m, n[1])), a = axis(m, size_of(m, n[0])), h = axis(m, size_of(m, n[2]));
    int x = buffer(m, TC_F32, 3, ext(m, a), ext(m, c), ext(m, h)), y = buffer(m, TC_F32, 1, ext(m, c)), w = buffer(m, TC_F64, 1, ext(m, c));
    uint64_t over = 1u << a | 1u << h;
    tc_lv v = load(m, x, a, c, h), t = reduce(m, TC_R_WELFORD, v, over);
    store(m, y, reduce(m, TC_R_SUM, v, over), c, 0, 0);
    store(m, w, part(m, t, 1), c, 0, 0);
}
static void whole(maker *m, const int64_t *n) { /* x / sum(x), and how many are positive */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), k = buffer(m, TC_I64, 0),
        any = buffer(m, TC_BOOL, 0);
    uint64_t over = 1u << a | 1u << b;
    tc_lv v = load(m, x, a, b, 0), pos = op(m, TC_X_GT, v, konst(m, TC_F32, 1), -1);
    store(m, y, op(m, TC_X_DIV, v, reduce(m, TC_R_SUM, v, over), -1), a, b, 0);
    store(m, k, reduce(m, TC_R_SUM, pos, over), -1, 0, 0);
    store(m, any, reduce(m, TC_R_ANY, pos, over), -1, 0, 0);
}
static void two_stages(maker *m, const int64_t *n) { /* a row's sum of exponentials, then the mean over rows: a value kept for each row */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), y = buffer(m, TC_F32, 0);
    tc_lv rows = reduce(m, TC_R_SUM, op(m, TC_X_EXP, load(m, x, a, b, 0), -1, -1), 1u << b);
    store(m, y, reduce(m, TC_R_SUM, op(m, TC_X_EXP, op(m, TC_X_NEG, rows, -1, -1), -1, -1), 1u << a), -1, 0, 0);
}
static void embedding(maker *m, const int64_t *n) { /* y[a, b] = w[i[a], b] */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int i = buffer(m, TC_I64, 1, ext(m, a)), w = buffer(m, TC_F32, 2, size_of(m, 5), ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b));
    tc_linst in = blank(TC_L_LOAD, TC_F32);
    tc_affine *x = TC_NEWN(m->l->arena, tc_affine, 2);
    tc_lv *g = TC_NEWN(m->l->arena, tc_lv, 2);
    x[0] = on_axis(m, -1), x[1] = on_axis(m, b);
    g[0] = load(m, i, a, 0, 0), g[1] = TC_LV_NONE;
    in.buffer = w, in.rank = 2, in.index = x, in.gather = g, in.checked = true;
    store(m, y, tc_loop_push(m->l, in), a, b, 0);
}
static void pad(maker *m, const int64_t *n) { /* x [A, B] into the middle of y [A + 2, B + 3], first filled */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int fa = axis(m, tc_sym_add(m->l->sym, ext(m, a), num(m, 2))), fb = axis(m, tc_sym_add(m->l->sym, ext(m, b), num(m, 3)));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, fa), ext(m, fb));
    store(m, y, konst(m, TC_F32, -1.5), fa, fb, 0);
    tc_lstore st = {.buffer = y, .rank = 2, .value = load(m, x, a, b, 0), .pred = -1};
    tc_affine *f = TC_NEWN(m->l->arena, tc_affine, 2);
    f[0] = on_axis(m, a), f[1] = on_axis(m, b);
    f[0].base = num(m, 1), f[1].base = num(m, 2);
    st.index = f;
    tc_loop_store(m->l, st);
}
static void shifted(maker *m, const int64_t *n) { /* y[a] = a >= 3 ? x[a - 3] : 0 */
    int a = axis(m, size_of(m, n[0]));
    int x = buffer(m, TC_F32, 1, ext(m, a)), y = buffer(m, TC_F32, 1, ext(m, a));
    tc_lv p = op(m, TC_X_GE, index_of(m, a), konst(m, TC_I64, 3), -1);
    tc_linst in = blank(TC_L_LOAD, TC_F32);
    tc_affine *f = TC_NEW(m->l->arena, tc_affine);
    *f = on_axis(m, a);
    f->base = num(m, -3);
    in.buffer = x, in.rank = 1, in.index = f, in.pred = p;
    store(m, y, tc_loop_push(m->l, in), a, 0, 0);
}
static void transpose(maker *m, const int64_t *n) { /* y[a, b] = x[b, a] + index, in bf16 */
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_BF16, 2, ext(m, b), ext(m, a)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b));
    store(m, y, op(m, TC_X_ADD, load(m, x, b, a, 0), cast(m, index_of(m, b), TC_F32), -1), a, b, 0);
}
static void cumsum(maker *m, const int64_t *n) {
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_F32, 2, ext(m, a), ext(m, b)), y = buffer(m, TC_F32, 2, ext(m, a), ext(m, b));
    tc_linst in = blank(TC_L_SCAN, TC_F32);
    in.op = TC_R_SUM;
    in.a[0] = load(m, x, a, b, 0);
    in.over = 1u << b;
    store(m, y, tc_loop_push(m->l, in), a, b, 0);
}
static void halves(maker *m, const int64_t *n) { /* f16 results, a host number, a scalar tensor */
    int a = axis(m, size_of(m, n[0]));
    int x = buffer(m, TC_F32, 1, ext(m, a)), s = buffer(m, TC_F32, 0), y = buffer(m, TC_F16, 1, ext(m, a));
    tc_linst host = blank(TC_L_HOST, TC_F32);
    host.host = ext(m, a);
    tc_linst round = blank(TC_L_ROUND, TC_F32);
    round.narrow = TC_F16;
    round.a[0] = op(m, TC_X_MUL, op(m, TC_X_DIV, load(m, x, a, 0, 0), tc_loop_push(m->l, host), -1), load(m, s, -1, 0, 0), -1);
    store(m, y, round.a[0], a, 0, 0);
}
static tc_lv rounded(maker *m, tc_dtype d, tc_lv v) {
    tc_linst round = blank(TC_L_ROUND, TC_F32);
    round.narrow = d, round.a[0] = v;
    return tc_loop_push(m->l, round);
}
/* Functions of 16-bit numbers: of a load, one within another; of a rounded sum that is stored, too; of two types; and a reduction of one. */
static void half_functions(maker *m, const int64_t *n) {
    int a = axis(m, size_of(m, n[0])), b = axis(m, size_of(m, n[1]));
    int x = buffer(m, TC_BF16, 2, ext(m, a), ext(m, b)), w = buffer(m, TC_BF16, 1, ext(m, b));
    int y[5];
    for (int k = 0; k < 4; k++) y[k] = buffer(m, k == 2 ? TC_F16 : TC_BF16, 2, ext(m, a), ext(m, b));
    y[4] = buffer(m, TC_F32, 1, ext(m, a));
    tc_lv v = load(m, x, a, b, 0), gate = rounded(m, TC_BF16, op(m, TC_X_SIGMOID, v, -1, -1)),
          silu = rounded(m, TC_BF16, op(m, TC_X_MUL, v, gate, -1));
    tc_lv sum = rounded(m, TC_BF16, op(m, TC_X_ADD, v, load(m, w, b, 0, 0), -1)), half = rounded(m, TC_F16, op(m, TC_X_EXP, sum, -1, -1));
    store(m, y[0], silu, a, b, 0);
    store(m, y[1], sum, a, b, 0);
    store(m, y[2], half, a, b, 0);
    store(m, y[3], rounded(m, TC_BF16, op(m, TC_X_ADD, gate, half, -1)), a, b, 0);
    store(m, y[4], reduce(m, TC_R_SUM, silu, 1u << b), a, 0, 0);
}

typedef struct {
    const char *name;
    void (*make)(maker *, const int64_t *);
    int64_t n[4];
} kase;
static const kase cases[] = {
    {"pointwise", pointwise, {7, 33}},
    {"pointwise", pointwise, {1, 3000}},
    {"pointwise", pointwise, {2500, 1}},
    {"pointwise", pointwise, {0, 5}},
    {"flat", flat, {3, 5, 700}},
    {"flat", flat, {1, 1, 1}},
    {"softmax", softmax, {5, 1000}},
    {"softmax", softmax, {3, 2500}},
    {"softmax", softmax, {300, 1}},
    {"short_softmax", short_softmax, {300, 3}},
    {"middle_softmax", middle_softmax, {3, 40, 50}},
    {"middle_softmax", middle_softmax, {2, 300, 200}},
    {"layer_norm", layer_norm, {9, 768}},
    {"layer_norm", layer_norm, {2, 3}},
    {"column_sum", column_sum, {600, 300}},
    {"column_sum", column_sum, {1300, 5}},
    {"column_sum", column_sum, {0, 4}},
    {"column_sum", column_sum, {17, 1}},
    {"columns", columns, {40, 1100}},
    {"columns", columns, {300, 1100}},
    {"columns", columns, {2100, 130}},
    {"narrow_columns", narrow_columns, {40, 300}},
    {"pairs", pairs, {5, 130}},
    {"pairs", pairs, {3, 2000}},
    {"pairs", pairs, {70, 9}},
    {"triples", triples, {5, 130}},
    {"triples", triples, {1, 2000}},
    {"triples", triples, {70, 9}},
    {"channel_scales", channel_scales, {2, 3, 100}},
    {"channel_scales", channel_scales, {3, 2, 1500}},
    {"channel_scales", channel_scales, {40, 5, 16}},
    {"shared", shared, {3, 5, 130}},
    {"shared", shared, {2, 40, 700}},
    {"shared", shared, {1, 3, 5000}},
    {"repeated", repeated, {700, 1, 3, 1}},
    {"repeated", repeated, {30, 5, 9, 1}},
    {"repeated", repeated, {30, 5, 9, 0}},
    {"repeated", repeated, {4, 300, 7, 2}},
    {"repeated", repeated, {0, 2, 5, 2}},
    {"repeated_numbers", repeated_numbers, {700, 1, 3}},
    {"repeated_numbers", repeated_numbers, {30, 5, 9}},
    {"repeated_sum", repeated_sum, {40, 11, 5, 1}},
    {"repeated_sum", repeated_sum, {300, 21, 7, 0}},
    {"choices", choices, {3, 130}},
    {"choices", choices, {1, 1100}},
    {"choices", choices, {70, 9}},
    {"channel_sums", channel_sums, {4, 3, 100}},
    {"channel_sums", channel_sums, {9, 2, 49}},
    {"channel_sums", channel_sums, {5, 2, 1536}}, /* runs of whole blocks */
    {"channel_sums", channel_sums, {20, 1, 6400}},
    {"whole", whole, {50, 77}},
    {"whole", whole, {1, 1}},
    {"two_stages", two_stages, {30, 70}},
    {"embedding", embedding, {6, 40}},
    {"pad", pad, {4, 5}},
    {"shifted", shifted, {10}},
    {"transpose", transpose, {20, 30}},
    {"cumsum", cumsum, {4, 600}},
    {"cumsum", cumsum, {34, 70}},
    {"cumsum", cumsum, {33, 1100}},
    {"cumsum", cumsum, {300, 1}},
    {"halves", halves, {37}},
    {"half_functions", half_functions, {7, 60}},
    {"half_functions", half_functions, {3, 2100}},
};
enum { NCASES = sizeof cases / sizeof *cases };

/* ---- data ---- */
static uint32_t seed = 1;
static double draw(void) {
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24);
}
static void make_data(const tc_loop *l, nbuffer *b, bool fault) {
    seed = 7;
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_lbuffer *lb = &l->buffers.data[i];
        int64_t n = 1;
        for (int d = 0; d < lb->rank; d++) b[i].size[d] = naive_sym(lb->size[d]), n *= b[i].size[d];
        tc_contiguous_strides(lb->rank, b[i].size, b[i].stride);
        b[i].data = tc_xcalloc((size_t)n + 1, 16);
        for (int64_t k = 0; k < n; k++)
            tc_scalar_store(lb->dtype, b[i].data, k,
                            tc_is_float(lb->dtype) ? tc_scalar_float(draw() * 4 - 2)
                                                   : tc_scalar_int(lb->dtype == TC_BOOL ? draw() > 0.5 : (int64_t)(draw() * 5)));
        if (n > 20 && lb->dtype == TC_F32 && !lb->written) tc_scalar_store(TC_F32, b[i].data, n / 2, tc_scalar_float(-0.0));
        if (fault && lb->dtype == TC_I64 && n > 2) tc_scalar_store(TC_I64, b[i].data, 2, tc_scalar_int(5));
    }
}
static void free_data(const tc_loop *l, nbuffer *b) {
    for (size_t i = 0; i < l->buffers.len; i++) free(b[i].data);
}
/* What the loop of case k leaves in its buffers, evaluated once: it is the same of constant and of symbolic sizes. */
static const nbuffer *answer(int k, const tc_loop *l) {
    static nbuffer known[NCASES][8];
    if (!known[k][0].data) {
        make_data(l, known[k], false);
        naive n = {.l = l, .buffers = known[k]};
        naive_run(&n);
    }
    return known[k];
}

#endif
