/* Matches attention written out in a model (attention_pattern.h). Starting at the second product, upwards, the nodes must be:
 *
 *     q k^T  ->  times or by a number, plus a mask, filled where a mask says  ->  softmax over keys  ->  times v
 *     q k^T  ->  any pointwise function (attention_region.h)  ->  filled where a mask says  ->  softmax over keys  ->  times v
 *
 * where baddbmm may be the first product with what follows it; logsumexp may read what the softmax reads. Heads of k and v that are repeated for groups of
 * heads of q are not repeated any more. q, k and v of 16 bits may be multiplied as float32, with weights rounded before the second product. The softmax may be an operator or written with max, exp and sum; scaling and masking
 * may come in any equivalent order; views that only merge or split the leading dimensions may be anywhere between. The match becomes tc::attention on
 * q, k and v before such views, so that they need not be copied. */
#include "op/attention_pattern.h"

#include "op/attention_region.h"
#include "op/shape.h"

#include <math.h>

enum { MANY = 4, WIDEST = 256, STEPS = 16 };

typedef struct {
    tc_arg by; /* a number, or a tensor of one element */
    bool divide;
} factor;
typedef struct {
    tc_value *mask; /* added, or bool */
    bool filled;    /* bool: scores are replaced by `fill` where the mask is `where` */
    bool where;
    double fill;
} masking;
typedef struct {
    const tc_node *scores, *result; /* the two products */
    const tc_meta *level;           /* the scores at the level of the masks, else at the softmax */
    factor factors[MANY];
    masking masks[MANY];
    int nfactors, nmasks;
    bool safe;               /* rows whose scores are all -inf give 0 */
    tc_value *raw, *changed; /* what the masks apply to is any function of the scores, without factors; or NULL */
    const tc_node *lse;      /* the logsumexp of what the softmax reads, or NULL */
    tc_dtype type;           /* of q, k and v: that of the result */
} pattern;

static bool is(const tc_node *n, const char *name) { return tc_attention_is(n, name); }
static const tc_node *maker(const tc_value *v) { return tc_attention_maker(v); }
/* The index of q among the arguments of a product; k or v is the next one. */
static int first_factor(const tc_node *n) { return is(n, "baddbmm"); }
static bool is_product(const tc_node *n) { return n && (is(n, "matmul") || is(n, "bmm")) && n->outs[0]->meta.rank >= 2; }

static bool same_from(const tc_meta *a, const tc_meta *b, int last) { /* the last sizes */
    if (a->rank < last || b->rank < last) return false;
    for (int i = 1; i <= last; i++)
        if (a->size[a->rank - i] != b->size[b->rank - i]) return false;
    return true;
}
static bool same_sizes(const tc_meta *a, const tc_meta *b) { return a->rank == b->rank && same_from(a, b, a->rank); }
static bool one_element(const tc_meta *m) {
    for (int i = 0; i < m->rank; i++)
        if (!tc_sym_is_int(m->size[i], 1)) return false;
    return true;
}

/* The same sizes in the same order. */
static const char *const copies[] = {"clone", "contiguous", "alias", "detach", "expand", "_to_copy", "to", "dropout", NULL};
static const char *const reshapes[] = {"view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten", NULL};
static bool one_of(const tc_node *n, const char *const *names) {
    while (*names && !is(n, *names)) names++;
    return *names != NULL;
}
tc_value *tc_attention_shown(const tc_node *n) {
    tc_value *x = n && n->nargs ? tc_arg_value(n, 0) : NULL;
    if (!x || x->kind != TC_V_TENSOR || x->meta.dtype != n->outs[0]->meta.dtype) return NULL;
    if (is(n, "dropout") && tc_arg_bool(n, 2) && tc_arg_float(n, 1) != 0) return NULL;
    if (one_of(n, copies)) return same_sizes(&x->meta, &n->outs[0]->meta) ? x : NULL;
    return one_of(n, reshapes) && same_from(&x->meta, &n->outs[0]->meta, 2) ? x : NULL;
}
static tc_value *shown(const tc_node *n) { return tc_attention_shown(n); }

/* A number known before the run: a literal, or a tensor of this type filled with one. */
static bool number(const tc_node *n, int i, tc_dtype dtype, double *out) {
    const tc_arg *a = &n->args[i];
    if (a->kind == TC_A_SCALAR && !a->is_sym) return *out = tc_scalar_to_double(a->scalar), true;
    const tc_node *made = maker(tc_arg_value(n, i));
    if (!made || !one_element(&made->outs[0]->meta) || made->outs[0]->meta.dtype != dtype) return false;
    if (is(made, "full")) return number(made, 1, dtype, out);
    if (is(made, "scalar_tensor")) return number(made, 0, dtype, out);
    tc_value *x = shown(made);
    const tc_node *before = maker(x);
    return before && is(before, "full") && number(before, 1, dtype, out);
}

static bool has_readers(const tc_value *v, int n) { return tc_attention_has_readers(v, n); }
static bool only_reader(const tc_value *v) { return has_readers(v, 1); }

static bool add_factor(pattern *p, const tc_node *n, int i, bool divide) {
    const tc_arg *a = &n->args[i];
    const tc_meta *m = tc_arg_meta(n, i), *out = &n->outs[0]->meta;
    bool fits = a->kind == TC_A_SCALAR || (m && one_element(m) && m->rank <= out->rank && m->dtype == out->dtype);
    if (!fits || p->nfactors == MANY) return false;
    p->factors[p->nfactors++] = (factor){*a, divide};
    return true;
}
/* A mask that is met must be scaled by the factors above it. */
static bool add_mask(pattern *p, const tc_node *n, masking m) {
    const tc_meta *out = &n->outs[0]->meta, *x = &m.mask->meta;
    if (p->nfactors || p->nmasks == MANY || x->rank > out->rank || x->dtype != (m.filled ? TC_BOOL : out->dtype)) return false;
    if (p->nmasks && !same_sizes(p->level, out)) return false;
    p->level = out;
    p->masks[p->nmasks++] = m;
    return true;
}

/* baddbmm is alpha q k^T + beta mask; with beta 0 there is no mask, whatever it holds. */
static bool add_baddbmm(pattern *p, const tc_node *n) {
    if (n->args[3].is_sym || n->args[4].is_sym) return false;
    const double beta = tc_scalar_to_double(n->args[3].scalar), alpha = tc_scalar_to_double(n->args[4].scalar);
    if (beta != 0 && (beta != 1 || !add_mask(p, n, (masking){.mask = tc_arg_value(n, 0)}))) return false;
    p->scores = n;
    return alpha == 1 || add_factor(p, n, 4, false);
}

/* Is n a node that fills scores where a mask says? */
static bool read_fill(const tc_node *n, tc_value **out_scores, masking *out) {
    const bool where = is(n, "where");
    if (!where && !is(n, "masked_fill")) return false;
    const int at = where ? 1 + !(tc_arg_meta(n, 1) && tc_arg_meta(n, 1)->rank) : 0; /* the scores' argument */
    const tc_meta *m = &n->outs[0]->meta;
    tc_value *s = tc_arg_value(n, at);
    double value;
    if (!s || s->kind != TC_V_TENSOR || s->meta.dtype != m->dtype || !same_sizes(&s->meta, m)) return false;
    if (!number(n, where ? 3 - at : 2, m->dtype, &value)) return false;
    *out = (masking){tc_arg_value(n, !where), true, !where || at == 2, value};
    *out_scores = s;
    return true;
}

/* v, which only that many nodes read: is it computed from the scores before the softmax of an attention? */
static bool read_scores(pattern *p, const tc_value *v, int readers, int steps) {
    const tc_node *n = maker(v);
    if (!n || !has_readers(v, readers) || steps == 0) return false;
    if (is_product(n)) return p->scores = n, true;
    if (is(n, "baddbmm")) return add_baddbmm(p, n);
    const tc_value *x = shown(n);
    if (x) return read_scores(p, x, 1, steps - 1);
    pattern before = *p;
    tc_value *filled;
    masking m;
    if (read_fill(n, &filled, &m)) return add_mask(p, n, m) && read_scores(p, filled, 1, steps - 1);
    const bool mul = is(n, "mul"), div = is(n, "div") && n->nargs == 2, add = is(n, "add");
    for (int i = 0; i < (mul || add ? 2 : div); i++, *p = before) {
        const tc_value *s = tc_arg_value(n, i);
        tc_value *other = tc_arg_value(n, 1 - i);
        if (!s || s->kind != TC_V_TENSOR || s->meta.dtype != n->outs[0]->meta.dtype || !same_sizes(&s->meta, &n->outs[0]->meta)) continue;
        bool read = false;
        if (mul || div) read = add_factor(p, n, 1 - i, div);
        else read = other && tc_scalar_to_double(n->args[2].scalar) == 1 && add_mask(p, n, (masking){.mask = other});
        if (read && read_scores(p, s, 1, steps - 1)) return true;
    }
    return false;
}

static bool is_softmax_of_keys(const tc_node *n) {
    if (!n || (!is(n, "softmax") && !is(n, "_softmax")) || n->nargs < 2) return false;
    const tc_meta *x = tc_arg_meta(n, 0);
    int64_t dim = tc_arg_int(n, 1);
    return x && (dim == -1 || dim == x->rank - 1) && n->outs[0]->meta.dtype == x->dtype;
}

/* Is argument i the last of that many dimensions, and only it? */
static bool last_dimension(const tc_node *n, int i, int rank) {
    int64_t d = 0;
    if (i >= n->nargs) return false;
    if (n->args[i].kind == TC_A_INTS ? tc_arg_ints(n, i, &d, 1) != 1 : n->args[i].kind != TC_A_INT || !tc_sym_const_int(n->args[i].sym, &d))
        return false;
    return d == -1 || d == rank - 1;
}
/* Does v hold, for each row of x, the result of one of the operators `names` on the row? */
static bool of_rows(const tc_value *v, const tc_value *x, const char *const *names) {
    const tc_node *n = maker(v);
    const int rank = x->meta.rank;
    bool kept = true;
    for (; n && (is(n, "detach") || (kept && is(n, "unsqueeze") && last_dimension(n, 1, rank))); n = maker(v))
        kept &= !is(n, "unsqueeze"), v = tc_arg_value(n, 0);
    return n && n->nargs > 2 && one_of(n, names) && v == n->outs[0] && v->meta.dtype == x->meta.dtype && tc_arg_value(n, 0) == x &&
           last_dimension(n, 1, rank) && tc_arg_bool(n, 2) == kept;
}
static const char *const greatest[] = {"max", "amax", NULL}, *const total[] = {"sum", NULL};

/* The node of the softmax of x that w = where(all(x == -inf), 0, softmax(x)) chooses, and which only it reads; NULL: w is something else. */
static const tc_node *guarded(const tc_value *w) {
    static const char *const all[] = {"all", NULL};
    const tc_node *n = maker(w), *soft, *rows, *eq;
    double zero, low;
    if (!n || !is(n, "where") || n->nargs != 3 || !number(n, 1, w->meta.dtype, &zero) || zero != 0) return NULL;
    const tc_value *y = tc_arg_value(n, 2), *cond = tc_arg_value(n, 0);
    if (!y || !only_reader(y) || !is_softmax_of_keys(soft = maker(y)) || !(rows = maker(cond)) || !only_reader(cond) || !one_of(rows, all))
        return NULL;
    const tc_value *same = tc_arg_value(rows, 0), *x = tc_arg_value(soft, 0);
    if (rows->nargs != 3 || !last_dimension(rows, 1, x->meta.rank) || !tc_arg_bool(rows, 2) || !(eq = maker(same)) || !only_reader(same)) return NULL;
    return is(eq, "eq") && tc_arg_value(eq, 0) == x && number(eq, 1, x->meta.dtype, &low) && low == -INFINITY ? soft : NULL;
}

/* The value x whose softmax over keys w is, and how many nodes of the softmax read x: the operator, with 0 for rows that are all -inf or without, or
 * e / sum(e) with e = exp(x - max(x)). NULL: w is no softmax. */
static tc_value *softened(const tc_value *w, int *out_readers, bool *out_safe) {
    const tc_node *n = maker(w), *exp, *sub, *soft = guarded(w);
    *out_readers = soft ? 2 : 1;
    *out_safe = soft != NULL;
    if (soft) return tc_arg_value(soft, 0);
    if (is_softmax_of_keys(n)) return tc_arg_value(n, 0);
    if (!n || !is(n, "div") || n->nargs != 2) return NULL;
    const tc_value *e = tc_arg_value(n, 0), *sum = tc_arg_value(n, 1);
    if (!(exp = maker(e)) || !is(exp, "exp") || !has_readers(e, 2) || !sum || !of_rows(sum, e, total)) return NULL;
    const tc_value *less = tc_arg_value(exp, 0);
    if (!(sub = maker(less)) || !is(sub, "sub") || !only_reader(less) || tc_scalar_to_double(sub->args[2].scalar) != 1) return NULL;
    tc_value *x = tc_arg_value(sub, 0), *most = tc_arg_value(sub, 1);
    *out_readers = 2;
    return x && most && x->kind == TC_V_TENSOR && of_rows(most, x, greatest) && same_sizes(&x->meta, &w->meta) ? x : NULL;
}

static bool narrow_enough(tc_sym width) {
    int64_t n;
    return tc_sym_const_int(width, &n) && n > 0 && n <= WIDEST;
}

/* Only bool masks with the same fill: they can be merged to one. */
static bool one_fill(const pattern *p) {
    for (int i = 0; i < p->nmasks; i++)
        if (!p->masks[i].filled || (i && p->masks[i].fill != p->masks[0].fill)) return false;
    return p->nmasks > 0;
}

/* Bool masks with one fill, or additive masks. A fill so low that no score added to it makes a difference counts as additive. */
static bool masks_fit(const pattern *p) {
    for (int i = 0; i < p->nmasks && !one_fill(p); i++)
        if (p->masks[i].filled && !(p->masks[i].fill <= -1e30)) return false;
    return true;
}

/* x, which only that many nodes read, as a function of scores that nothing else reads, filled by masks with one value or not. */
static bool read_changed(pattern *p, tc_value *x, int readers, int steps) {
    const pattern before = *p;
    tc_value *filled, *view = has_readers(x, readers) ? shown(maker(x)) : NULL;
    masking m;
    if (steps && view && same_sizes(&view->meta, &x->meta)) return read_changed(p, view, 1, steps - 1);
    if (steps && has_readers(x, readers) && read_fill(maker(x), &filled, &m) && (!p->nmasks || m.fill == p->masks[0].fill) &&
        add_mask(p, maker(x), m) && read_changed(p, filled, 1, steps - 1))
        return true;
    *p = before;
    p->changed = x;
    p->raw = tc_attention_region(x, readers, &p->scores);
    return p->raw != NULL;
}

static bool is_16_bits(tc_dtype d) { return d == TC_BF16 || d == TC_F16; }
/* What v is a copy of, of type `from`; NULL: it is something else. */
static tc_value *copy_of(const tc_value *v, tc_dtype from) {
    const tc_node *n = maker(v);
    tc_value *x = n && n->nargs && one_of(n, copies) && !is(n, "dropout") ? tc_arg_value(n, 0) : NULL;
    return x && x->kind == TC_V_TENSOR && x->meta.dtype == from && same_sizes(&x->meta, &v->meta) ? x : NULL;
}
/* Does v hold numbers of that type, seen or arranged in any way? */
static bool holds(const tc_value *v, tc_dtype type) {
    for (const tc_node *n; v && v->meta.dtype != type; v = tc_arg_value(n, 0)) {
        if (!(n = maker(v)) || !n->nargs || (!n->op->view_alias && !one_of(n, copies) && !one_of(n, reshapes)) || is(n, "dropout")) return false;
        const tc_value *x = tc_arg_value(n, 0);
        if (!x || x->kind != TC_V_TENSOR || (x->meta.dtype != type && x->meta.dtype != v->meta.dtype)) return false;
    }
    return v != NULL;
}
static bool has_tensor_factor(const pattern *p) {
    for (int i = 0; i < p->nfactors; i++)
        if (p->factors[i].by.kind == TC_A_VALUE) return true;
    return false;
}
/* The node after n that takes the logsumexp over keys of x. */
static const tc_node *logsumexp_of(const tc_node *n, const tc_value *x) {
    for (n = n->next; n; n = n->next)
        if (is(n, "logsumexp") && tc_arg_value(n, 0) == x && last_dimension(n, 1, x->meta.rank) && !tc_arg_bool(n, 2)) return n;
    return NULL;
}
static const tc_value *before_views(const tc_value *w) {
    for (const tc_value *x; (x = shown(maker(w))) && only_reader(w); w = x) {}
    return w;
}

static bool read_pattern(const tc_node *n, pattern *p) {
    *p = (pattern){.result = n};
    if (!is_product(n)) return false;
    p->type = n->outs[0]->meta.dtype;
    const bool rounded = is_16_bits(p->type);
    if (!rounded && p->type != TC_F32 && p->type != TC_F64) return false;
    const tc_value *w = before_views(tc_arg_value(n, 0));
    if (rounded && only_reader(w)) w = copy_of(w, TC_F32) ? before_views(copy_of(w, TC_F32)) : w;
    int readers;
    tc_value *soft = only_reader(w) ? softened(w, &readers, &p->safe) : NULL;
    if (!soft || (rounded && soft->meta.dtype != TC_F32)) return false;
    if (has_readers(soft, readers + 1) && (p->lse = logsumexp_of(n, soft))) readers++;
    p->level = &soft->meta;
    const tc_meta *v = tc_arg_meta(n, 1);
    const pattern before = *p;
    bool fits = v && v->rank >= 2 && read_scores(p, soft, readers, STEPS) && masks_fit(p) && !(rounded && has_tensor_factor(p));
    if (!fits) *p = before, fits = v && v->rank >= 2 && read_changed(p, soft, readers, STEPS);
    if (!fits || p->level->rank > 4) return false;
    const int at = first_factor(p->scores);
    const tc_meta *q = tc_arg_meta(p->scores, at);
    for (int i = 0; i < 2; i++)
        if (!tc_arg_value(p->scores, at + i) || !holds(tc_arg_value(p->scores, at + i), p->type)) return false;
    return q->rank >= 2 && tc_arg_meta(p->scores, at + 1)->rank >= 2 && narrow_enough(q->size[q->rank - 1]) && narrow_enough(v->size[v->rank - 1]);
}

/* ---- what is emitted ---- */

/* sizes: those of `lead` except its last two, then the last two of x */
static int sizes_like(const tc_meta *lead, const tc_meta *x, tc_sym *sizes) {
    for (int i = 0; i < lead->rank - 2; i++) sizes[i] = lead->size[i];
    for (int i = 0; i < 2; i++) sizes[lead->rank - 2 + i] = x->size[x->rank - 2 + i];
    return lead->rank;
}
static bool has_sizes(const tc_meta *m, const tc_sym *sizes, int rank) { return same_sizes(m, &(tc_meta){.rank = rank, .size = sizes}); }

/* An operand of a product, with batch and heads as at this level: as it was before the views and copies that the product needed. */
static tc_value *operand(tc_emit *e, tc_value *x, const tc_meta *product, const tc_meta *level) {
    tc_sym want[TC_MAX_RANK], full[TC_MAX_RANK];
    int rank = sizes_like(level, &x->meta, want), wide = sizes_like(product, &x->meta, full);
    for (tc_value *v = x; v; v = shown(maker(v)))
        if (has_sizes(&v->meta, want, rank)) return v;
    if (!has_sizes(&x->meta, full, wide)) x = tc_emit_call(e, "aten::expand", "vS", x, full, wide);
    return x && has_sizes(&x->meta, want, rank) ? x : tc_emit_call(e, "aten::reshape", "vS", x, want, rank);
}
static tc_value *four(tc_emit *e, tc_value *x) {
    while (x && x->meta.rank < 4) x = tc_emit_call(e, "aten::unsqueeze", "vi", x, (int64_t)0);
    return x;
}

static bool swaps_last(const tc_node *n) {
    const tc_meta *m = n && n->nargs ? tc_arg_meta(n, 0) : NULL;
    int64_t d[TC_MAX_RANK];
    if (!m || m->rank < 2) return false;
    if (is(n, "transpose")) {
        int64_t a = tc_arg_int(n, 1), b = tc_arg_int(n, 2), r = m->rank;
        a += a < 0 ? r : 0, b += b < 0 ? r : 0;
        return a + b == 2 * r - 3 && (a == r - 1 || b == r - 1);
    }
    if (!is(n, "permute") || tc_arg_ints(n, 1, d, TC_MAX_RANK) != m->rank) return false;
    for (int i = 0; i < m->rank; i++) {
        int64_t at = d[i] < 0 ? d[i] + m->rank : d[i];
        if (at != (i < m->rank - 2 ? i : 2 * m->rank - 3 - i)) return false;
    }
    return true;
}

/* q times those factors that are tensors; *out: the product of those that are numbers. */
static tc_value *scaled(tc_emit *e, const pattern *p, tc_value *q, tc_arg *out) {
    tc_symctx *s = tc_e_sym(e);
    tc_sym f = NULL;
    double d = 1;
    for (int i = 0; i < p->nfactors; i++) {
        const factor *x = &p->factors[i];
        if (x->by.kind == TC_A_VALUE) {
            q = x->divide ? tc_e_div(e, q, x->by.value) : tc_e_mul(e, q, x->by.value);
        } else if (x->by.is_sym) {
            tc_sym by = tc_sym_op(s, TC_S_TOFLOAT, x->by.sym, NULL, NULL);
            if (x->divide) by = tc_sym_op(s, TC_S_FDIV, tc_sym_float(s, 1), by, NULL);
            f = f ? tc_sym_mul(s, f, by) : by;
        } else d = x->divide ? d / tc_scalar_to_double(x->by.scalar) : d * tc_scalar_to_double(x->by.scalar);
    }
    *out = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(d)};
    if (f) *out = (tc_arg){.kind = TC_A_SCALAR, .is_sym = true, .sym = d == 1 ? f : tc_sym_mul(s, f, tc_sym_float(s, d))};
    return q;
}

static tc_value *number_of(tc_emit *e, double x, tc_dtype dtype) {
    return tc_emit_call(e, "aten::full", "Szd", (const tc_sym *)NULL, 0, tc_scalar_float(x), (int)dtype);
}

/* The keys that a bool mask allows. */
static tc_value *allowed(tc_emit *e, const masking *m) { return m->where ? tc_emit_call(e, "aten::logical_not", "v", m->mask) : m->mask; }

/* The single mask of the kernel; *fill: the value that replaces scores which a bool mask excludes. `masks` is ordered from the last mask to the
 * first one applied to the scores; among additive masks, a fill replaces what was added before it. */
static tc_value *joined_masks(tc_emit *e, const pattern *p, tc_dtype dtype, double *fill) {
    const bool bools = one_fill(p);
    tc_value *all = NULL;
    *fill = bools ? p->masks[0].fill : -INFINITY;
    for (int i = p->nmasks - 1; i >= 0; i--) {
        const masking *m = &p->masks[i];
        if (bools) all = all ? tc_emit_call(e, "aten::logical_and", "vv", all, allowed(e, m)) : allowed(e, m);
        else if (!m->filled) all = all ? tc_e_add(e, all, m->mask) : m->mask;
        else {
            tc_value *kept = all ? all : number_of(e, 0, dtype), *filled = number_of(e, m->fill, dtype);
            all = tc_emit_call(e, "aten::where.self", "vvv", m->mask, m->where ? filled : kept, m->where ? kept : filled);
        }
    }
    return all;
}

/* The heads of which x, [B, H, S, E], has each several times in sequence; NULL: it has none. */
static tc_value *before_repeat(const tc_value *x) {
    const tc_node *n = maker(x);
    const tc_value *many = n && one_of(n, reshapes) && x->meta.rank == 4 ? tc_arg_value(n, 0) : NULL; /* [B, heads, times, S, E] */
    if (!many || many->meta.rank != 5 || many->meta.size[0] != x->meta.size[0] || !same_from(&many->meta, &x->meta, 2)) return NULL;
    for (const tc_value *y; (y = copy_of(many, many->meta.dtype)); many = y) {}
    if (!is(maker(many), "expand")) return NULL;
    const tc_value *one = tc_arg_value(maker(many), 0);
    if (one->meta.rank != 5 || !tc_sym_is_int(one->meta.size[2], 1) || !same_from(&one->meta, &many->meta, 2) || !is(maker(one), "unsqueeze"))
        return NULL;
    tc_value *heads = tc_arg_value(maker(one), 0);
    const tc_sym want[4] = {many->meta.size[0], many->meta.size[1], many->meta.size[3], many->meta.size[4]};
    return has_sizes(&heads->meta, want, 4) && heads->meta.dtype == x->meta.dtype ? heads : NULL;
}
/* What x is a copy of, as the type that it holds. */
static tc_value *original(tc_value *x, tc_dtype type) {
    for (tc_value *y; (y = copy_of(x, x->meta.dtype)) || (y = copy_of(x, type)); x = y) {}
    return x;
}
/* Keys and values of the heads that groups of query heads share. */
static void join_groups(tc_value **k, tc_value **v, tc_dtype type) {
    tc_value *heads[2] = {before_repeat(*k), before_repeat(*v)};
    if (heads[0] && heads[1] && heads[0]->meta.size[1] == heads[1]->meta.size[1]) *k = original(heads[0], type), *v = original(heads[1], type);
}

static tc_status as_attention(tc_emit *e, const tc_node *n) {
    pattern p;
    if (!read_pattern(n, &p)) TC_BUG("attention was found and is not there");
    const tc_meta *first = &p.scores->outs[0]->meta, *second = &n->outs[0]->meta;
    const int at = first_factor(p.scores);
    tc_value *q = operand(e, tc_arg_value(p.scores, at), first, p.level), *k = operand(e, tc_arg_value(p.scores, at + 1), first, p.level),
             *v = operand(e, tc_arg_value(n, 1), second, p.level);
    if (!q || !k || !v) return tc_e_done(e);
    k = original(k, p.type);
    k = swaps_last(maker(k)) ? tc_arg_value(maker(k), 0) : tc_emit_call(e, "aten::transpose.int", "vii", k, (int64_t)-2, (int64_t)-1);
    if (!k) return tc_e_done(e);
    q = original(q, p.type), k = original(k, p.type), v = original(v, p.type);
    join_groups(&k, &v, p.type);
    q = tc_e_cast(e, q, p.type), k = tc_e_cast(e, k, p.type);
    tc_arg scale;
    double fill;
    q = scaled(e, &p, q, &scale);
    tc_value *mask = joined_masks(e, &p, first->dtype, &fill);
    tc_value *y = tc_emit_call(e, "tc::attention", "vvvfbvafbvv", four(e, q), four(e, k), four(e, v), 0.0, 0, mask, &scale, fill, (int)p.safe, p.raw,
                               p.changed);
    if (y && p.lse) {
        const tc_meta *m = &p.lse->outs[0]->meta;
        tc_value *l = tc_emit_out(y, 1);
        if (!same_sizes(&l->meta, m)) l = tc_emit_call(e, "aten::reshape", "vS", l, m->size, m->rank);
        if (l) tc_graph_replace(e->graph, p.lse->outs[0], l);
    }
    if (y && !same_sizes(&y->meta, second)) y = tc_emit_call(e, "aten::reshape", "vS", y, second->size, second->rank);
    tc_emit_result(e, 0, y);
    return tc_e_done(e);
}

/* ---- the pass ---- */
static void count_reader(void *ctx, tc_value **place) {
    (void)ctx;
    (*place)->aux = (void *)((uintptr_t)(*place)->aux + 1);
}
static void count_readers(tc_graph *g) {
    for (tc_node *n = g->first; n; n = n->next) {
        tc_node_each_input(n, count_reader, NULL);
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) count_readers(n->args[i].graph);
    }
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i]) count_reader(NULL, &g->outputs[i]);
}
static void forget_readers(tc_graph *g) {
    for (int i = 0; i < g->ninputs; i++) g->inputs[i]->aux = NULL;
    for (tc_node *n = g->first; n; n = n->next) {
        for (int i = 0; i < n->nouts; i++) {
            n->outs[i]->aux = NULL;
            for (int k = 0; n->outs[i]->kind == TC_V_LIST && k < n->outs[i]->nlist; k++) n->outs[i]->list[k]->aux = NULL;
        }
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) forget_readers(n->args[i].graph);
    }
}
static bool any_softmax(const tc_graph *g) {
    for (const tc_node *n = g->first; n; n = n->next) {
        if (is(n, "softmax") || is(n, "_softmax") || is(n, "exp")) return true;
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH && any_softmax(n->args[i].graph)) return true;
    }
    return false;
}
static bool is_attention(void *ctx, const tc_node *n) {
    pattern p;
    (void)ctx;
    return read_pattern(n, &p);
}
static tc_decompose_fn attention_rule(const tc_node *n) {
    (void)n;
    return as_attention;
}

static bool any_attention(tc_graph *g) {
    pattern p;
    for (tc_node *n = g->first; n; n = n->next) {
        if (read_pattern(n, &p)) return true;
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH && any_attention(n->args[i].graph)) return true;
    }
    return false;
}
bool tc_attention_is_written(tc_program *p) {
    if (!any_softmax(p->graph)) return false;
    count_readers(p->graph);
    bool any = any_attention(p->graph);
    forget_readers(p->graph);
    return any;
}

tc_status tc_attention_patterns(tc_program *p) {
    count_readers(p->graph);
    tc_status s = tc_decompose_by(p, is_attention, attention_rule, NULL, NULL);
    forget_readers(p->graph);
    return s ? s : tc_decompose(p);
}
