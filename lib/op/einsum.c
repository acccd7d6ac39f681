/* einsum: sums of products by subscripts.
 *
 *     'bij,bjk->bik'    labels are 0..51 for the letters, then the dimensions of the ellipsis, aligned at the last
 *
 * Every operand is permuted to all labels in one order, those of the result first, with size 1 where it lacks one. Operands are multiplied two at a time, from the
 * left or as `path` says; labels that neither the rest of the operands nor the result has are summed by the bmm that multiplies. */
#include "op/emit.h"
#include "op/shape.h"

#include <ctype.h>

enum { LABELS = 52 + TC_MAX_RANK, OPERANDS = 64 };

/* An operand as written: one label for each dimension. Dimension j of the ellipsis is -1 - j until the longest ellipsis is known. */
typedef struct {
    int label[TC_MAX_RANK], rank, ellipsis; /* dimensions of its ellipsis; -1: it has none */
} subscript;
typedef struct {
    const tc_node *node;
    subscript in[OPERANDS];
    int n, longest; /* operands; dimensions of the longest ellipsis */
    int occurs[LABELS], out[LABELS], nout, used[TC_MAX_RANK], nused;
    bool kept[LABELS]; /* in the result */
} equation;
/* A tensor with one dimension for each of equation.used; has: the tensor has this label and it is not summed yet. */
typedef struct {
    tc_value *v;
    bool has[LABELS];
} operand;

static tc_status refuse(const tc_node *n, const char *text) { return tc_e_refuse(n, "einsum(): %s", text); }
static int label_of(char c) { return c >= 'a' ? c - 'a' + 26 : c - 'A'; }
static bool is_letter(char c) { return isalpha((unsigned char)c); }
static bool ends_operand(const char *p) { return !*p || *p == ',' || (p[0] == '-' && p[1] == '>'); }

/* ---- reading the equation ---- */
static tc_status refuse_subscript(const tc_node *n, const char *at) {
    return tc_e_refuse(n, "einsum(): invalid subscript given at index %d in the equation string, subscripts must be in [a-zA-Z]",
                       (int)(at - tc_arg_string(n, 0)));
}
/* Reads the subscripts of operand k from *p on: letters; `ellipsis`: the number of letters before it. */
static tc_status read_operand(const tc_node *n, const char **p, int k, subscript *out) {
    *out = (subscript){.ellipsis = -1};
    for (; !ends_operand(*p); (*p)++) {
        char c = **p;
        if (c == ' ') continue;
        if (c == '.') {
            if (out->ellipsis >= 0) return tc_e_refuse(n, "einsum(): found '.' for operand %d for which an ellipsis was already found", k);
            if ((*p)[1] != '.' || (*p)[2] != '.') return tc_e_refuse(n, "einsum(): found '.' for operand %d that is not part of any ellipsis", k);
            *p += 2;
            out->ellipsis = out->rank;
            continue;
        }
        if (!is_letter(c)) return refuse_subscript(n, *p);
        if (out->rank == TC_MAX_RANK) return refuse(n, "too many subscripts for an operand");
        out->label[out->rank++] = label_of(c);
    }
    return NULL;
}
/* Gives the ellipsis of operand k the dimensions that have no letter; `ellipsis` becomes their number. */
static tc_status fit_operand(const tc_node *n, int k, subscript *s) {
    int rank = n->args[1].values[k]->meta.rank, at = s->ellipsis, more = rank - s->rank;
    if (at < 0 ? more != 0 : more < 0)
        return tc_e_refuse(n, "einsum(): the number of subscripts in the equation (%d) %s the number of dimensions (%d) for operand %d", s->rank,
                           at < 0 ? "does not match" : "is more than", rank, k);
    if (at < 0) return NULL;
    memmove(s->label + at + more, s->label + at, (size_t)(s->rank - at) * sizeof *s->label);
    for (int j = 0; j < more; j++) s->label[at + j] = -1 - j;
    s->rank = rank, s->ellipsis = more;
    return NULL;
}
static void keep(equation *q, int label) { q->kept[q->out[q->nout++] = label] = true; }
static void keep_ellipsis(equation *q) {
    for (int j = 0; j < q->longest; j++) keep(q, 52 + j);
}
/* The subscripts of the result, after the arrow. */
static tc_status read_result(const tc_node *n, const char *p, equation *q) {
    bool dots = false;
    for (; *p; p++) {
        if (*p == ' ') continue;
        if (*p == '.') {
            if (dots) return refuse(n, "found '.' for output but an ellipsis (...) was already found");
            if (p[1] != '.' || p[2] != '.') return refuse(n, "found '.' for output that is not part of any ellipsis (...)");
            dots = true;
            p += 2;
            keep_ellipsis(q);
            continue;
        }
        if (!is_letter(*p)) return refuse_subscript(n, p);
        int id = label_of(*p);
        if (!q->occurs[id]) return tc_e_refuse(n, "einsum(): output subscript %c does not appear in the equation for any input operand", *p);
        if (q->kept[id]) return tc_e_refuse(n, "einsum(): output subscript %c appears more than once in the output", *p);
        keep(q, id);
    }
    return NULL;
}
static tc_status read_equation(const tc_node *n, equation *q) {
    const char *text = tc_arg_string(n, 0), *arrow = strstr(text, "->"), *p = text;
    const tc_arg *list = &n->args[1];
    *q = (equation){.node = n};
    if (list->n == 0) return refuse(n, "must provide at least one operand");
    if (list->n > OPERANDS) return refuse(n, "more than 64 operands");
    for (q->n = 0; q->n < list->n; q->n++) {
        TC_TRY(read_operand(n, &p, q->n, &q->in[q->n]));
        bool last = q->n + 1 == list->n;
        if (*p == ',' && last) return refuse(n, "fewer operands were provided than specified in the equation");
        if (*p != ',' && !last) return refuse(n, "more operands were provided than specified in the equation");
        p += *p == ',';
    }
    for (int k = 0; k < q->n; k++) {
        TC_TRY(fit_operand(n, k, &q->in[k]));
        if (q->in[k].ellipsis > q->longest) q->longest = q->in[k].ellipsis;
    }
    for (subscript *s = q->in; s < q->in + q->n; s++)
        for (int k = 0; k < s->rank; k++) {
            if (s->label[k] < 0) s->label[k] = 51 - s->label[k] + q->longest - s->ellipsis;
            q->occurs[s->label[k]]++;
        }
    if (arrow) {
        TC_TRY(read_result(n, arrow + 2, q));
    } else { /* the ellipsis, then labels that occur once, in alphabetical order */
        keep_ellipsis(q);
        for (int id = 0; id < 52; id++)
            if (q->occurs[id] == 1) keep(q, id);
    }
    if (q->nout > TC_MAX_RANK) return refuse(n, "too many distinct subscripts");
    memcpy(q->used, q->out, sizeof *q->out * (size_t)q->nout); /* the labels of the result, then the summed ones */
    q->nused = q->nout;
    for (int id = 0; id < LABELS; id++)
        if (q->occurs[id] && !q->kept[id]) {
            if (q->nused == TC_MAX_RANK) return refuse(n, "too many distinct subscripts");
            q->used[q->nused++] = id;
        }
    return NULL;
}

/* ---- sizes ---- */
/* "subscript i" + before, a size + between, a size */
static tc_status refuse_sizes(const tc_node *n, int label, const char *before, tc_sym a, const char *between, tc_sym b) {
    tc_buf t = {0};
    if (label < 52) tc_buf_printf(&t, "subscript %c", label < 26 ? 'A' + label : 'a' + label - 26);
    else tc_buf_printf(&t, "dimension %d of the ellipsis", label - 52);
    tc_buf_puts(&t, before);
    tc_sym_print(&t, a);
    tc_buf_puts(&t, between);
    tc_sym_print(&t, b);
    tc_status s = refuse(n, tc_buf_str(&t));
    tc_buf_free(&t);
    return s;
}
/* A label that occurs twice in one operand requires equal sizes (a guard if they are symbolic). Sizes that differ between operands must include a 1;
 * symbolic ones are checked by the operators that multiply. */
static tc_status check_sizes(tc_emit *e, const tc_node *n, const equation *q) {
    tc_shape_ctx c = {.program = e->graph->program, .op = n->op, .source = n->source};
    tc_sym seen[LABELS] = {0};
    for (int k = 0; k < q->n; k++) {
        tc_sym own[LABELS] = {0};
        for (int i = 0; i < q->in[k].rank; i++) {
            int id = q->in[k].label[i];
            int64_t before, now;
            tc_sym size = n->args[1].values[k]->meta.size[i];
            if (own[id] && !tc_sh_same(&c, size, own[id])) {
                const char *text = tc_arena_printf(&c.program->arena, " is repeated for operand %d but the sizes don't match, ", k);
                return refuse_sizes(n, id, text, size, " != ", own[id]);
            }
            own[id] = size;
            if (!seen[id] || (tc_sym_const_int(seen[id], &before) && before == 1)) seen[id] = size;
            if (tc_sym_const_int(seen[id], &before) && tc_sym_const_int(size, &now) && now != 1 && before != now) {
                const char *text = tc_arena_printf(&c.program->arena, " for operand %d which does not broadcast with previously seen size ", k);
                return refuse_sizes(n, id, " has size ", size, text, seen[id]);
            }
        }
    }
    return NULL;
}

/* ---- writing it with other operators ---- */
/* v with a dimension for each used label, in order; a label that occurs twice in one operand takes the diagonal. */
static operand spread(tc_emit *e, const equation *q, const subscript *s, tc_value *v) {
    operand o = {0};
    int at[LABELS], n = 0;
    int64_t order[TC_MAX_RANK];
    for (int k = 0; k < s->rank; k++) {
        int id = s->label[k];
        if (o.has[id]) {
            v = tc_emit_call(e, "aten::diagonal", "viii", v, (int64_t)0, (int64_t)at[id], (int64_t)n);
            v = tc_emit_call(e, "aten::movedim.int", "vii", v, (int64_t)-1, (int64_t)at[id]);
        } else {
            o.has[id] = true;
            at[id] = n++;
        }
    }
    for (int j = 0; j < q->nused; j++) {
        int id = q->used[j];
        if (!o.has[id]) v = tc_emit_call(e, "aten::unsqueeze", "vi", v, (int64_t)-1), at[id] = n++;
        order[j] = at[id];
    }
    o.v = tc_emit_call(e, "aten::permute", "vI", v, order, q->nused);
    return o;
}
/* Sums the labels of `gone` that o has and `other` (NULL: none) lacks. */
static void sum_alone(tc_emit *e, const equation *q, operand *o, const operand *other, const bool *gone) {
    int64_t dims[TC_MAX_RANK];
    int n = 0;
    for (int i = 0; i < q->nused; i++) {
        int id = q->used[i];
        if (gone[id] && o->has[id] && !(other && other->has[id])) dims[n++] = i, o->has[id] = false;
    }
    if (n) o->v = tc_e_sum_dims(e, o->v, dims, n, true);
}

/* The dimensions of one role in a matrix product, and the product of their sizes. */
typedef struct {
    int64_t dim[TC_MAX_RANK];
    int n;
    tc_sym size;
} role;
static void take(tc_emit *e, role *r, int i, tc_sym size) { r->dim[r->n++] = i, r->size = tc_sym_mul(tc_e_sym(e), r->size, size); }
/* v as [a, b, c]; dimensions in `lacks` have size 1. */
static tc_value *folded(tc_emit *e, tc_value *v, const role *a, const role *b, const role *c, const role *lacks) {
    const role *parts[] = {a, b, c, lacks};
    int64_t order[TC_MAX_RANK];
    int n = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < parts[k]->n; i++) order[n++] = parts[k]->dim[i];
    return tc_emit_call(e, "aten::reshape", "vS", tc_emit_call(e, "aten::permute", "vI", v, order, n), (tc_sym[]){a->size, b->size, c->size}, 3);
}
/* The product of x and y, summed over the labels of `gone`. */
static operand product(tc_emit *e, const equation *q, operand x, operand y, const bool *gone) {
    operand r = {0};
    int n = q->nused;
    bool sums = false;
    sum_alone(e, q, &x, &y, gone);
    sum_alone(e, q, &y, &x, gone);
    for (int i = 0; i < n; i++) {
        int id = q->used[i];
        r.has[id] = (x.has[id] || y.has[id]) && !gone[id];
        sums |= gone[id] && x.has[id];
    }
    if (!x.v || !y.v) return r;
    if (!sums) { /* as in PyTorch: without summed labels a pointwise product */
        r.v = tc_e_mul(e, x.v, y.v);
        return r;
    }
    tc_sym one = tc_sym_int(tc_e_sym(e), 1), xs[TC_MAX_RANK], ys[TC_MAX_RANK], size[TC_MAX_RANK];
    role batch = {.size = one}, rows = batch, cols = batch, inner = batch;
    tc_shape_ctx c = {.program = e->graph->program, .op = q->node->op, .source = q->node->source};
    for (int i = 0; i < n; i++) {
        int id = q->used[i];
        xs[i] = x.v->meta.size[i], ys[i] = y.v->meta.size[i];
        if (x.has[id] && y.has[id]) xs[i] = ys[i] = tc_sh_repeats(&c, xs[i], ys[i]) ? ys[i] : xs[i]; /* size 1 broadcasts */
        if (gone[id] && x.has[id]) take(e, &inner, i, xs[i]);
        else if (x.has[id] == y.has[id]) take(e, &batch, i, xs[i]);
        else if (x.has[id]) take(e, &rows, i, xs[i]);
        else take(e, &cols, i, ys[i]);
    }
    if (rows.n && cols.n && cols.dim[cols.n - 1] < rows.dim[0])
        return product(e, q, y, x, gone); /* as in PyTorch: operands in the order of the result's dimensions */
    tc_value *a = folded(e, tc_emit_call(e, "aten::expand", "vS", x.v, xs, n), &batch, &rows, &inner, &cols);
    tc_value *b = folded(e, tc_emit_call(e, "aten::expand", "vS", y.v, ys, n), &batch, &inner, &cols, &rows);
    int64_t back[TC_MAX_RANK];
    int at = 0;
    for (int i = 0; i < batch.n; i++) size[at] = xs[batch.dim[i]], back[batch.dim[i]] = at++;
    for (int i = 0; i < rows.n; i++) size[at] = xs[rows.dim[i]], back[rows.dim[i]] = at++;
    for (int i = 0; i < cols.n; i++) size[at] = ys[cols.dim[i]], back[cols.dim[i]] = at++;
    for (int i = 0; i < inner.n; i++) size[at] = one, back[inner.dim[i]] = at++;
    r.v = tc_emit_call(e, "aten::permute", "vI", tc_emit_call(e, "aten::view", "vS", tc_e2(e, "aten::bmm", a, b), size, n), back, n);
    return r;
}
/* The next pair of `path` among `left` operands, i < j; without a path the first two. */
static tc_status next_pair(const tc_node *n, const int64_t *path, int step, int left, int *i, int *j) {
    *i = 0, *j = 1;
    if (!path) return NULL;
    int64_t a = path[2 * step], b = path[2 * step + 1], lo = a < b ? a : b, hi = a < b ? b : a;
    if (lo == hi || lo < 0 || hi >= left)
        return tc_e_refuse(n, "einsum(): invalid contraction path (%lld, %lld is not a valid pair)", (long long)lo, (long long)hi);
    *i = (int)lo, *j = (int)hi;
    return NULL;
}
/* The labels that neither the result nor an operand other than i and j has. */
static void find_gone(const equation *q, const operand *o, int left, int i, int j, bool *gone) {
    for (int id = 0; id < LABELS; id++) gone[id] = q->occurs[id] && !q->kept[id];
    for (int k = 0; k < left; k++)
        for (int id = 0; k != i && k != j && id < LABELS; id++) gone[id] &= !o[k].has[id];
}

/* ---- the usual products of matrices: one label of rows, one of columns, one that is summed, and others that all three have ---- */
static int place_of(const int *labels, int n, int id) {
    for (int i = 0; i < n; i++)
        if (labels[i] == id) return i;
    return -1;
}
/* v with dimensions `from` permuted to `to`. */
static tc_value *in_order(tc_emit *e, tc_value *v, const int *from, const int *to, int n) {
    int64_t order[TC_MAX_RANK];
    bool same = true;
    for (int i = 0; i < n; i++) {
        order[i] = place_of(from, n, to[i]);
        same = same && order[i] == i;
    }
    return same ? v : tc_emit_call(e, "aten::permute", "vI", v, order, n);
}
/* As matmul of two permuted operands; NULL: the equation is not such a product. */
static tc_value *matrix_product(tc_emit *e, const tc_node *n, const equation *q) {
    const subscript *a = &q->in[0], *b = &q->in[1];
    int to[3][TC_MAX_RANK], batch = 0, summed = -1, row = -1, column = -1, r = q->nout;
    if (q->n != 2 || a->rank != r || b->rank != r || q->nused != r + 1 || r < 2) return NULL;
    tc_value *x = n->args[1].values[0], *y = n->args[1].values[1];
    for (int j = 0; j < r + 1; j++) {
        const int id = q->used[j], i = place_of(a->label, r, id), k = place_of(b->label, r, id);
        if (q->occurs[id] != (i >= 0) + (k >= 0) || (i >= 0 && k >= 0 && x->meta.size[i] != y->meta.size[k])) return NULL;
        if (i >= 0 && k >= 0 && !q->kept[id] && summed < 0) summed = id;
        else if (i >= 0 && k < 0 && q->kept[id] && row < 0) row = id;
        else if (i < 0 && k >= 0 && q->kept[id] && column < 0) column = id;
        else if (i < 0 || k < 0 || !q->kept[id]) return NULL;
    }
    if (summed < 0 || row < 0 || column < 0) return NULL;
    if (place_of(q->out, r, column) < place_of(q->out, r, row)) { /* the factors are exchanged, as in product */
        const subscript *s = a;
        tc_value *v = x;
        const int id = row;
        a = b, b = s, x = y, y = v, row = column, column = id;
    }
    for (int j = 0; j < r; j++)
        if (q->out[j] != row && q->out[j] != column) to[0][batch] = to[1][batch] = to[2][batch] = q->out[j], batch++;
    to[0][r - 2] = to[2][r - 2] = row, to[0][r - 1] = to[1][r - 2] = summed, to[1][r - 1] = to[2][r - 1] = column;
    tc_value *m = tc_e2(e, "aten::matmul", in_order(e, x, a->label, to[0], r), in_order(e, y, b->label, to[1], r));
    return in_order(e, m, to[2], q->out, r);
}

static tc_status decompose_einsum(tc_emit *e, const tc_node *n) {
    equation q;
    operand o[OPERANDS];
    bool gone[LABELS];
    int64_t path[2 * OPERANDS];
    TC_TRY(read_equation(n, &q));
    TC_TRY(check_sizes(e, n, &q));
    int given = tc_arg_is_none(n, 2) ? -1 : tc_arg_ints(n, 2, path, 2 * OPERANDS), pairs = q.n == 1 ? 1 : 2 * (q.n - 1);
    if (given >= 0 && given != pairs)
        return tc_e_refuse(n, "einsum(): expected contraction path given in path parameter to have size %d but got %d", pairs, given);
    tc_value *plain = matrix_product(e, n, &q);
    if (plain || e->status) {
        tc_emit_result(e, 0, plain);
        return tc_e_done(e);
    }
    for (int k = 0; k < q.n; k++) o[k] = spread(e, &q, &q.in[k], n->args[1].values[k]);
    for (int step = 0, left = q.n; left > 1; step++, left--) {
        int i, j;
        TC_TRY(next_pair(n, given >= 0 ? path : NULL, step, left, &i, &j));
        find_gone(&q, o, left, i, j, gone);
        operand r = product(e, &q, o[i], o[j], gone);
        memmove(o + j, o + j + 1, (size_t)(left - j - 1) * sizeof *o);
        if (given < 0) {
            o[i] = r;
        } else { /* as in opt_einsum: the product is appended */
            memmove(o + i, o + i + 1, (size_t)(left - i - 2) * sizeof *o);
            o[left - 2] = r;
        }
        if (e->status) return tc_e_done(e);
    }
    find_gone(&q, o, 1, 0, 0, gone);
    sum_alone(e, &q, &o[0], NULL, gone);
    tc_value *r = o[0].v;
    int64_t ones[TC_MAX_RANK]; /* the summed dimensions */
    for (int i = q.nout; i < q.nused; i++) ones[i - q.nout] = i;
    if (q.nused > q.nout) r = tc_emit_call(e, "aten::squeeze.dims", "vI", r, ones, q.nused - q.nout);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}

const tc_op tc_ops_einsum[] = {
    {.schema = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
     .flags = TC_OP_OF_VIEWS,
     .shape = tc_shape_decomposed,
     .decompose = decompose_einsum,
     .samples = "einsum('bij,bjk->bik', [f32[2,3,4], f32[2,4,5]]); einsum('bhid,bjhd->bhij', [f32[2,3,4,5], f32[2,6,3,5]]); "
                "einsum('ijk,klj->jli', [f32[2,3,4], f32[4,5,3]]); einsum('ii->i', [f32[3,3]]); einsum('ij,k,jl->lk', [f32[2,3], f32[4], f32[3,5]]); "
                "einsum('ij,jk,kl->il', [f32[2,3], f32[3,4], f32[4,5]], path=[1, 2, 0, 1])",
     .doc = "sums of products by subscripts"},
    {0}};
