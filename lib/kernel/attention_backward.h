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
/* Room that products take: for panels of the right operand, and for themselves. */
typedef struct {
    const char *keys, *values; /* the head's k and v as right operands of scores and of dP, in panels, or NULL */
    char *panels;
    void *work;
} N_(room);
static tc_gemm N_(right)(N_(matrix) y, int64_t n, int64_t k) {
    return (tc_gemm){.dtype = BITS, .n = n, .k = k, .b = y.at, .b_rs = y.rs, .b_cs = y.cs, .c_cs = 1, .alpha = 1, .beta = 1};
}
/* out, [m] rows ld apart, = x y, n columns and k terms in each sum. packed: y in panels, or NULL: where several blocks of rows use them they are made. */
static void N_(product)(const tc_attention *a, const int64_t mnk[3], N_(matrix) x, N_(matrix) y, T *out, int64_t ld, const char *packed,
                        const N_(room) * room) {
    tc_gemm j = N_(right)(y, mnk[1], mnk[2]);
    j.m = mnk[0], j.a = x.at, j.a_rs = x.rs, j.a_cs = x.cs, j.c = out, j.c_rs = ld;
    for (int64_t c = 0, nc; c < j.n; c += nc) {
        nc = j.n - c < TC_GEMM_NC ? j.n - c : TC_GEMM_NC;
        const char *b = packed ? packed + a->gemm->pack_bytes(c, j.k) : NULL;
        if (!b && j.m > TC_ATTENTION_QUERIES) a->gemm->pack(&j, c, nc, room->panels), b = room->panels;
        for (int64_t r = 0; r < j.m; r += TC_ATTENTION_QUERIES)
            a->gemm->block(&j, r, j.m - r < TC_ATTENTION_QUERIES ? j.m - r : TC_ATTENTION_QUERIES, c, nc, room->work, b, 0);
    }
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
/* How many keys are visible to the first `rows` queries of a leaf, or to some of them. */
static int64_t N_(keys_of)(const tc_attention *a, const N_(queries) * f, int64_t rows) { return N_(visible_keys)(a, f->at.q0 + rows - 1, a->s); }
/* P and dS of queries [r, r + rows) of a leaf, both [s] a row; keys from `end` on are visible to none of the leaf. */
static void N_(rows_weights)(const tc_attention *a, const N_(queries) * f, int64_t r, int64_t rows, N_(matrix) values, T *p, T *ds,
                             const N_(room) * room) {
    const int64_t s = a->s, end = N_(keys_of)(a, f, f->at.rows);
    const T scale = (T)a->scale;
    N_(block) to = {f->at, 0, s, s, p + r * s};
    to.q.q0 += r, to.q.rows = rows;
    N_(scores)(a, &to, &(N_(buffers)){.packed = room->keys, .work = room->work}, NULL);
    const N_(matrix) grad = {f->g + r * a->grad.l, a->grad.l, a->grad.e};
    N_(product)(a, (int64_t[]){rows, N_(keys_of)(a, f, r + rows), a->dv}, grad, values, ds + r * s, s, room->values, room);
    for (int64_t last = r + rows; r < last; r++) {
        T *w = p + r * s, *g = ds + r * s;
        const T m = f->lse[r * a->lse_l] == -INFINITY ? 0 : f->lse[r * a->lse_l], delta = N_(delta)(a, f, r);
        const int64_t n = N_(keys_of)(a, f, r + 1);
        for (int64_t i = 0; i < n; i++) w[i] -= m;
        a->isa->scalar[BITS][TC_X_EXP](w, w, NULL, NULL, n);
        TC_VECTOR_LOOP
        for (int64_t i = 0; i < n; i++) {
            const T x = w[i] * (g[i] - delta) * scale;
            g[i] = w[i] == 0 ? 0 : x;
        }
        for (int64_t i = n; i < end; i++) w[i] = g[i] = 0;
    }
}
/* From P and dS of a leaf of queries: dq, stored in its place, and the leaf's terms of dk [s][d] and dv [s][dv], stored in kv one after the other. */
static void N_(queries_gradients)(const tc_attention *a, const N_(queries) * f, const T *k, const T *p, const T *ds, T *kv, const N_(room) * room) {
    const int64_t s = a->s, d = a->d, dv = a->dv, rows = f->at.rows, n = N_(keys_of)(a, f, rows);
    const N_(matrix) keys = {k, a->k.l, a->k.e}, q = {f->q, a->q.l, a->q.e}, grad = {f->g, a->grad.l, a->grad.e};
    const N_(matrix) by_query = {ds, s, 1}, by_key = {ds, 1, s}, weights = {p, 1, s}; /* dS, its transpose and that of P */
    T *dq = (T *)a->dq + ((f->at.b * a->h + f->at.h) * a->l + f->at.q0) * d, *values = kv + s * d;
    N_(product)(a, (int64_t[]){rows, d, n}, by_query, keys, dq, d, NULL, room);
    N_(product)(a, (int64_t[]){n, d, rows}, by_key, q, kv, d, NULL, room);
    N_(product)(a, (int64_t[]){n, dv, rows}, weights, grad, values, dv, NULL, room);
    for (int64_t i = n * d; i < s * d; i++) kv[i] = 0;
    for (int64_t i = n * dv; i < s * dv; i++) values[i] = 0;
}
/* Bytes of panels that products make, and of their room. */
static size_t N_(panel_bytes)(const tc_attention *a) {
    const int64_t widest = a->d > a->dv ? a->d : a->dv;
    return tc_pad64(a->gemm->pack_bytes(widest < TC_GEMM_NC ? widest : TC_GEMM_NC, a->s > TC_LEAF ? a->s : TC_LEAF));
}
static size_t N_(work_bytes)(const tc_attention *a) {
    int64_t widest = a->d > a->dv ? a->d : a->dv, k = widest > TC_LEAF ? widest : TC_LEAF;
    if (a->s > widest) widest = a->s;
    if (a->s > k) k = a->s;
    return tc_pad64(a->gemm->work_bytes(TC_ATTENTION_QUERIES, widest < TC_GEMM_NC ? widest : TC_GEMM_NC, k));
}
/* The gradients of key head hk of batch b, and of the queries of all heads that share it. */
static void N_(backward_head)(const tc_attention *a, int64_t b, int64_t hk, char *scratch) {
    int64_t s = a->s, d = a->d, dv = a->dv, per_head = (a->l + TC_LEAF - 1) / TC_LEAF, leaves = per_head * a->group, area = s * (d + dv);
    T *p = (T *)scratch, *ds = p + TC_LEAF * s, *at = ds + TC_LEAF * s;
    T *level[TC_ATTENTION_LEVELS + 1], *spare[TC_ATTENTION_LEVELS + 2]; /* dk then dv */
    int free_count = tc_attention_leaf_levels(leaves) + 2;
    for (int i = 0; i < free_count; i++, at += area) spare[i] = at;
    const T *k = (const T *)a->k.data + b * a->k.n + hk * a->k.h;
    const N_(matrix) keys = {k, a->k.e, a->k.l}, values = {(const T *)a->v.data + b * a->v.n + hk * a->v.h, a->v.e, a->v.l};
    N_(room) room = {.panels = tc_align64(at)};
    room.work = room.panels + N_(panel_bytes)(a);
    if (a->l * a->group > TC_ATTENTION_QUERIES) {
        char *packed = (char *)room.work + N_(work_bytes)(a);
        room.keys = packed, room.values = packed + a->gemm->pack_bytes(s, d);
        const tc_gemm to_pack[2] = {N_(right)(keys, s, d), N_(right)(values, s, dv)};
        a->gemm->pack(&to_pack[0], 0, s, packed);
        a->gemm->pack(&to_pack[1], 0, s, packed + a->gemm->pack_bytes(s, d));
    }
    for (int64_t l = 0; l < leaves; l++) {
        const N_(queries) f = N_(queries_at)(a, b, hk * a->group + l / per_head, l % per_head * TC_LEAF);
        T *kv = spare[--free_count];
        for (int64_t r = 0; r < f.at.rows; r += TC_ATTENTION_QUERIES)
            N_(rows_weights)(a, &f, r, f.at.rows - r < TC_ATTENTION_QUERIES ? f.at.rows - r : TC_ATTENTION_QUERIES, values, p, ds, &room);
        N_(queries_gradients)(a, &f, k, p, ds, kv, &room);
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
    int64_t leaves = (a->l + TC_LEAF - 1) / TC_LEAF * a->group;
    return sizeof(T) * (size_t)(2 * TC_LEAF * a->s + (tc_attention_leaf_levels(leaves) + 2) * a->s * (a->d + a->dv)) + N_(panel_bytes)(a) +
           N_(work_bytes)(a) + a->gemm->pack_bytes(a->s, a->d) + a->gemm->pack_bytes(a->s, a->dv) + 256;
}
