/* Products of several matrices, in the order that takes the fewest multiplications.
 *
 *     cost(i, j) = min over k of cost(i, k) + cost(k + 1, j) + rows_i cols_k cols_j
 *     (T. Cormen et al., Introduction to Algorithms, section 15.2); symbolic sizes go from the left. Of equal costs the first cut is taken,
 *     of three matrices the last, as in PyTorch
 *
 * Each product rounds what the next one multiplies: where they are small enough to cost nothing, those between are kept in double precision. */
#include "op/linalg.h"

#include <string.h>

enum { MOST = 64, SMALL = 1 << 20 /* multiplications */ };
typedef struct {
    tc_emit *e;
    tc_value *const *m;
    tc_dtype in;            /* the type of products */
    int64_t side[MOST + 1]; /* matrix i is side[i] by side[i + 1] */
    int split[MOST][MOST];  /* where the product (i, j) is split: (i, split) (split + 1, j) */
} chain;

static double cheapest(chain *c, int n) {
    double cost[MOST][MOST];
    for (int i = 0; i < n; i++) cost[i][i] = 0;
    for (int len = 2; len <= n; len++)
        for (int i = 0; i + len <= n; i++) {
            int j = i + len - 1;
            cost[i][j] = -1;
            for (int k = i; k < j; k++) {
                double x = cost[i][k] + cost[k + 1][j] + (double)c->side[i] * (double)c->side[k + 1] * (double)c->side[j + 1];
                if (cost[i][j] < 0 || x < cost[i][j] || (n == 3 && x == cost[i][j])) cost[i][j] = x, c->split[i][j] = k;
            }
        }
    return cost[0][n - 1];
}
static tc_value *multiply(chain *c, int i, int j) {
    if (i == j) return tc_e_cast(c->e, c->m[i], c->in);
    int k = c->split[i][j];
    tc_value *a = multiply(c, i, k), *b = multiply(c, k + 1, j);
    return tc_la_mm(c->e, a, b);
}
static tc_status check(const tc_node *n, const tc_arg *list) {
    const char *name = tc_op_name(n->op);
    for (int k = 0; k < list->n; k++) {
        const tc_meta *m = &list->values[k]->meta, *first = &list->values[0]->meta;
        bool end = k == 0 || k == list->n - 1;
        if (end && (m->rank < 1 || m->rank > 2))
            return tc_error(TC_CONTENT, "%s: multi_dot(): the %s tensor must be 1D or 2D but got %dD", name, k ? "last" : "first", m->rank);
        if (!end && m->rank != 2) return tc_error(TC_CONTENT, "%s: multi_dot(): tensor %d must be 2D but got %dD", name, k, m->rank);
        if (m->dtype != first->dtype)
            return tc_error(TC_CONTENT, "%s: multi_dot(): all tensors must have be the same dtype but tensor 0 is %s and tensor %d %s", name,
                            tc_dtypes[first->dtype].torch, k, tc_dtypes[m->dtype].torch);
        if (k == 0) continue;
        tc_symctx *s = n->graph->program->sym;
        const tc_meta *before = &list->values[k - 1]->meta;
        if (tc_sym_differ(s, before->size[before->rank - 1], m->size[0]))
            return tc_error(TC_CONTENT, "%s: multi_dot(): tensors %d and %d cannot be multiplied", name, k - 1, k);
    }
    return NULL;
}
static tc_status decompose_chain(tc_emit *e, const tc_node *n) { /* linalg_multi_dot, chain_matmul */
    const tc_arg *list = &n->args[0];
    bool one_will_do = !strcmp(tc_op_schema(n->op)->name, "chain_matmul");
    if (list->n < (one_will_do ? 1 : 2)) return tc_e_refuse(n, "multi_dot(): expected at least 2 tensors but got %d", list->n);
    TC_TRY(check(n, list));
    if (list->n == 1) {
        tc_emit_result(e, 0, tc_e1(e, "aten::clone", list->values[0]));
        return tc_e_done(e);
    }
    chain c = {.e = e, .m = list->values};
    bool fixed = list->n <= MOST;
    for (int k = 0; fixed && k < list->n; k++) { /* a vector at an end is a row or a column */
        const tc_meta *m = &list->values[k]->meta;
        int64_t rows = 1, cols = 1;
        fixed = tc_sym_const_int(m->size[0], m->rank == 1 && k == 0 ? &cols : &rows) && (m->rank == 1 || tc_sym_const_int(m->size[1], &cols));
        c.side[k] = rows, c.side[k + 1] = cols;
    }
    if (fixed) {
        tc_dtype d = list->values[0]->meta.dtype;
        bool small = cheapest(&c, list->n) <= SMALL && list->n > 2;
        c.in = small && d == TC_F32 ? TC_F64 : small && d == TC_C64 ? TC_C128 : d;
        tc_emit_result(e, 0, tc_e_cast(e, multiply(&c, 0, list->n - 1), d));
        return tc_e_done(e);
    }
    tc_value *r = list->values[0];
    for (int k = 1; k < list->n && r; k++) r = tc_la_mm(e, r, list->values[k]);
    tc_emit_result(e, 0, r);
    return tc_e_done(e);
}

#define COMPOSED(SCHEMA, name, sample, text) \
    { .schema = "aten::" SCHEMA " -> Tensor", .shape = tc_shape_decomposed, .decompose = decompose_##name, .samples = sample, .doc = text }
const tc_op tc_ops_linalg_chain[] = {COMPOSED("chain_matmul(Tensor[] matrices)", chain, NULL, "linalg_multi_dot, of one matrix too"),
                                     COMPOSED("linalg_multi_dot(Tensor[] tensors)", chain,
                                              "linalg_multi_dot([f32[2,3], f32[3,4], f32[4,2]]); linalg_multi_dot([f32[5], f32[5,2], f32[2]])",
                                              "product of matrices in the cheapest order"),
                                     {0}};
