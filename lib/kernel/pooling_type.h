/* Pooling of planes of one type, included by pooling.c with T, S, TREE, TREE_PUSH and TREE_SUM. A plane is in[0] x in[1] x in[2]. */
#define CAT__(a, b) a##_##b
#define CAT_(a, b) CAT__(a, b)
#define N_(name) CAT_(name, S)

static void N_(max_plane)(const pool *p, const T *x, T *out, int64_t *index) {
    for (int64_t o0 = 0; o0 < p->out[0]; o0++)
        for (int64_t o1 = 0; o1 < p->out[1]; o1++)
            for (int64_t o2 = 0; o2 < p->out[2]; o2++) {
                window a = window_of(p, 0, o0), b = window_of(p, 1, o1), c = window_of(p, 2, o2);
                int64_t best = (a.begin * p->in[1] + b.begin) * p->in[2] + c.begin;
                T m = -INFINITY;
                bool nan = false;
                for (int64_t i0 = a.begin; i0 < a.end && !nan; i0 += p->dil[0])
                    for (int64_t i1 = b.begin; i1 < b.end && !nan; i1 += p->dil[1])
                        for (int64_t i2 = c.begin; i2 < c.end; i2 += p->dil[2]) {
                            int64_t at = (i0 * p->in[1] + i1) * p->in[2] + i2;
                            T v = x[at];
                            if (v > m) m = v, best = at;
                            if (v != v) { m = v, best = at, nan = true; break; }
                        }
                *out++ = m;
                if (index) *index++ = best;
            }
}
static void N_(max_plane_backward)(const pool *p, const T *g, const int64_t *index, T *dx) {
    int64_t inside = p->in[0] * p->in[1] * p->in[2], n = p->out[0] * p->out[1] * p->out[2];
    for (int64_t i = 0; i < inside; i++) dx[i] = 0;
    for (int64_t i = 0; i < n; i++)
        if (index[i] >= 0 && index[i] < inside) dx[index[i]] += g[i];
}
/* Sums of the window by its positions: 16 lanes, leaves of 256. */
static void N_(avg_plane)(const pool *p, const T *x, T *out) {
    for (int64_t o0 = 0; o0 < p->out[0]; o0++)
        for (int64_t o1 = 0; o1 < p->out[1]; o1++)
            for (int64_t o2 = 0; o2 < p->out[2]; o2++) {
                window a = window_of(p, 0, o0), b = window_of(p, 1, o1), c = window_of(p, 2, o2);
                TREE tree;
                tree.count = 0;
                T lane[16];
                int64_t leaf = -1;
                for (int64_t i0 = a.begin; i0 < a.end; i0++)
                    for (int64_t i1 = b.begin; i1 < b.end; i1++) {
                        int64_t at = ((i0 - a.origin) * b.size + i1 - b.origin) * c.size - c.origin;
                        for (int64_t i2 = c.begin; i2 < c.end; i2++) {
                            int64_t k = at + i2;
                            while (k / TC_LEAF > leaf) { /* absent leaves count as sums of nothing */
                                if (leaf >= 0) TREE_PUSH(&tree, N_(fold)(lane));
                                leaf++;
                                for (int i = 0; i < 16; i++) lane[i] = (T)-0.0;
                            }
                            lane[k % 16] += x[(i0 * p->in[1] + i1) * p->in[2] + i2];
                        }
                    }
                if (leaf >= 0) TREE_PUSH(&tree, N_(fold)(lane));
                *out++ = TREE_SUM(&tree) / (T)divisor(p, a, b, c);
            }
}
static void N_(avg_plane_backward)(const pool *p, const T *g, T *dx) {
    for (int64_t i = 0; i < p->in[0] * p->in[1] * p->in[2]; i++) dx[i] = 0;
    for (int64_t o0 = 0; o0 < p->out[0]; o0++)
        for (int64_t o1 = 0; o1 < p->out[1]; o1++)
            for (int64_t o2 = 0; o2 < p->out[2]; o2++) {
                window a = window_of(p, 0, o0), b = window_of(p, 1, o1), c = window_of(p, 2, o2);
                T v = *g++ / (T)divisor(p, a, b, c);
                for (int64_t i0 = a.begin; i0 < a.end; i0++)
                    for (int64_t i1 = b.begin; i1 < b.end; i1++)
                        for (int64_t i2 = c.begin; i2 < c.end; i2++) dx[(i0 * p->in[1] + i1) * p->in[2] + i2] += v;
            }
}
static void N_(planes)(void *ctx, int64_t begin, int64_t end, int worker) {
    const pool *p = ctx;
    int64_t inside = p->in[0] * p->in[1] * p->in[2], n = p->out[0] * p->out[1] * p->out[2];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const T *from = (const T *)p->from + i * (p->kind == MAX_BACKWARD || p->kind == AVG_BACKWARD ? n : inside);
        T *to = (T *)p->to + i * (p->kind == MAX_BACKWARD || p->kind == AVG_BACKWARD ? inside : n);
        int64_t *index = p->index ? p->index + i * n : NULL;
        if (p->kind == MAX) N_(max_plane)(p, from, to, index);
        else if (p->kind == MAX_BACKWARD) N_(max_plane_backward)(p, from, index, to);
        else if (p->kind == AVG) N_(avg_plane)(p, from, to);
        else N_(avg_plane_backward)(p, from, to);
    }
}
#undef N_
#undef CAT_
#undef CAT__
#undef T
#undef S
#undef TREE
#undef TREE_PUSH
#undef TREE_SUM
