/* The backward of attention (tc_attention_ops) for one type, included by attention_type.h. Weights P are computed again from the scores:
 *
 *     P = exp(scale q k' - logsumexp)      dP = dO v'      dS = scale P (dP - sum(dO O))
 *     dq = dS k     dk = dS' q     dv = P' dO
 *
 * dq sums over keys. dk and dv sum over queries, in leaves of 256 that are merged by the tree; the queries of all heads that share a key head follow
 * each other. */
static void N_(add)(T *into, const T *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = from[i] + into[i];
}
/* A matrix: element (i, j) is at[i * rs + j * cs]. */
typedef struct {
    const T *at;
    int64_t rs, cs;
} N_(matrix);
/* out, [m][n], = x y, with k terms in each sum. */
static void N_(product)(const tc_attention *a, const int64_t mnk[3], N_(matrix) x, N_(matrix) y, T *out, void *work) {
    const tc_gemm j = {.dtype = BITS,
                       .m = mnk[0],
                       .n = mnk[1],
                       .k = mnk[2],
                       .a = x.at,
                       .a_rs = x.rs,
                       .a_cs = x.cs,
                       .b = y.at,
                       .b_rs = y.rs,
                       .b_cs = y.cs,
                       .c = out,
                       .c_rs = mnk[1],
                       .c_cs = 1,
                       .alpha = 1,
                       .beta = 1};
    for (int64_t r = 0; r < j.m; r += TC_GEMM_MC)
        for (int64_t c = 0; c < j.n; c += TC_GEMM_NC)
            a->gemm->block(&j, r, j.m - r < TC_GEMM_MC ? j.m - r : TC_GEMM_MC, c, j.n - c < TC_GEMM_NC ? j.n - c : TC_GEMM_NC, work, NULL, 0);
}
/* A leaf of queries: up to 256 rows of q, dO and O, and their logsumexp. */
typedef struct {
    tc_attention_tile at;
    const T *q, *g, *o, *lse;
} N_(queries);
static N_(queries) N_(queries_at)(const tc_attention *a, int64_t b, int64_t h, int64_t q0) {
    return (N_(queries)){{b, h, q0, a->l - q0 < TC_LEAF ? a->l - q0 : TC_LEAF},
                         (const T *)a->q.data + b * a->q.n + h * a->q.h + q0 * a->q.l,
                         (const T *)a->grad.data + b * a->grad.n + h * a->grad.h + q0 * a->grad.l,
                         (const T *)a->fwd.data + b * a->fwd.n + h * a->fwd.h + q0 * a->fwd.l,
                         (const T *)a->lse + b * a->lse_n + h * a->lse_h + q0 * a->lse_l};
}
/* sum(dO O) of row r. */
static T N_(delta)(const tc_attention *a, const N_(queries) * f, int64_t r) {
    T line[TC_LEAF];
    TREE t;
    t.count = 0;
    for (int64_t i = 0; i < a->dv; i += TC_LEAF) {
        int64_t n = a->dv - i < TC_LEAF ? a->dv - i : TC_LEAF;
        T sum;
        for (int64_t x = 0; x < n; x++) line[x] = f->g[r * a->grad.l + (i + x) * a->grad.e] * f->o[r * a->fwd.l + (i + x) * a->fwd.e];
        a->isa->reduce[BITS]->sum_leaves(&sum, line, n);
        TREE_PUSH(&t, sum);
    }
    return TREE_SUM(&t);
}
/* P and dS of a leaf, both [rows][s]. */
static void N_(queries_weights)(const tc_attention *a, const N_(queries) * f, const T *v, T *p, T *ds, void *work) {
    const int64_t s = a->s, rows = f->at.rows;
    const N_(buffers) w = {.work = work};
    for (int64_t r = 0; r < rows; r += TC_GEMM_MC) {
        N_(block) to = {f->at, 0, s, s, p + r * s};
        to.q.q0 += r, to.q.rows = rows - r < TC_GEMM_MC ? rows - r : TC_GEMM_MC;
        N_(scores)(a, &to, &w, NULL);
    }
    for (int64_t r = 0; r < rows; r++) {
        T *row = p + r * s, m = f->lse[r * a->lse_l] == -INFINITY ? 0 : f->lse[r * a->lse_l];
        N_(mask_future)(a, row, f->at.q0 + r + 1, s);
        for (int64_t i = 0; i < s; i++) row[i] -= m;
        a->isa->scalar[BITS][TC_X_EXP](row, row, NULL, NULL, s);
    }
    const N_(matrix) grad = {f->g, a->grad.l, a->grad.e}, values = {v, a->v.e, a->v.l};
    N_(product)(a, (int64_t[]){rows, s, a->dv}, grad, values, ds, work);
    for (int64_t r = 0; r < rows; r++) {
        const T delta = N_(delta)(a, f, r);
        for (int64_t i = 0; i < s; i++) ds[r * s + i] = p[r * s + i] == 0 ? 0 : p[r * s + i] * (ds[r * s + i] - delta) * (T)a->scale;
    }
}
/* From P and dS of a leaf of queries: dq, stored in its place, and the leaf's terms of dk [s][d] and dv [s][dv], stored in kv one after the other. */
static void N_(queries_gradients)(const tc_attention *a, const N_(queries) * f, const T *k, const T *p, const T *ds, T *kv, void *work) {
    const int64_t s = a->s, d = a->d, rows = f->at.rows;
    const N_(matrix) keys = {k, a->k.l, a->k.e}, q = {f->q, a->q.l, a->q.e}, grad = {f->g, a->grad.l, a->grad.e};
    const N_(matrix) by_query = {ds, s, 1}, by_key = {ds, 1, s}, weights = {p, 1, s}; /* dS, its transpose and that of P */
    T *dq = (T *)a->dq + ((f->at.b * a->h + f->at.h) * a->l + f->at.q0) * d;
    N_(product)(a, (int64_t[]){rows, d, s}, by_query, keys, dq, work);
    N_(product)(a, (int64_t[]){s, d, rows}, by_key, q, kv, work);
    N_(product)(a, (int64_t[]){s, a->dv, rows}, weights, grad, kv + s * d, work);
}
/* The gradients of key head hk of batch b, and of the queries of all heads that share it. */
static void N_(backward_head)(const tc_attention *a, int64_t b, int64_t hk, char *scratch) {
    int64_t s = a->s, d = a->d, dv = a->dv, per_head = (a->l + TC_LEAF - 1) / TC_LEAF, leaves = per_head * a->group, area = s * (d + dv);
    T *p = (T *)scratch, *ds = p + TC_LEAF * s, *at = ds + TC_LEAF * s;
    T *level[TC_ATTENTION_LEVELS + 1], *spare[TC_ATTENTION_LEVELS + 2]; /* dk then dv */
    int free_count = tc_attention_leaf_levels(leaves) + 2;
    for (int i = 0; i < free_count; i++, at += area) spare[i] = at;
    void *work = tc_align64(at);
    const T *k = (const T *)a->k.data + b * a->k.n + hk * a->k.h, *v = (const T *)a->v.data + b * a->v.n + hk * a->v.h;
    for (int64_t l = 0; l < leaves; l++) {
        const N_(queries) f = N_(queries_at)(a, b, hk * a->group + l / per_head, l % per_head * TC_LEAF);
        T *kv = spare[--free_count];
        N_(queries_weights)(a, &f, v, p, ds, work);
        N_(queries_gradients)(a, &f, k, p, ds, kv, work);
        int i = 0;
        for (; l >> i & 1; i++) N_(add)(kv, level[i], area), spare[free_count++] = level[i];
        level[i] = kv;
    }
    T *total = NULL;
    for (int i = 0; leaves >> i; i++) {
        if (!(leaves >> i & 1)) continue;
        if (total) N_(add)(total, level[i], area);
        else total = level[i];
    }
    const int64_t head = b * a->h / a->group + hk;
    T *dk = (T *)a->dk + head * s * d, *dvalue = (T *)a->dvalue + head * s * dv;
    for (int64_t i = 0; i < s * d; i++) dk[i] = total ? total[i] : 0;
    for (int64_t i = 0; i < s * dv; i++) dvalue[i] = total ? total[s * d + i] : 0;
}
static size_t N_(backward_bytes)(const tc_attention *a) {
    int64_t leaves = (a->l + TC_LEAF - 1) / TC_LEAF * a->group, n = a->s > a->d ? a->s : a->d, widest = n > a->dv ? n : a->dv;
    int64_t k = a->d > a->dv ? a->d : a->dv;
    if (a->s > k) k = a->s;
    return sizeof(T) * (size_t)(2 * TC_LEAF * a->s + (tc_attention_leaf_levels(leaves) + 2) * a->s * (a->d + a->dv)) +
           a->gemm->work_bytes(TC_GEMM_MC, widest < TC_GEMM_NC ? widest : TC_GEMM_NC, k) + 256;
}
