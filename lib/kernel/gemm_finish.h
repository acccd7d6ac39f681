/* What follows a block of a product: alpha, beta and the addend, then the caller's epilogue. Included after T, the type of the result, and
 * FMA of it. */
/* alpha, beta and the addend on n neighbours in memory */
static void finish_run(T *c, int64_t n, T alpha, const T *add, int64_t add_cs, T beta) {
    if (alpha != 1)
        for (int64_t i = 0; i < n; i++) c[i] *= alpha;
    if (!add) return;
    if (beta != 1)
        for (int64_t i = 0; i < n; i++) c[i] = FMA(beta, add[i * add_cs], c[i]);
    else if (add_cs == 1)
        for (int64_t i = 0; i < n; i++) c[i] += add[i];
    else if (add_cs == 0)
        for (int64_t i = 0; i < n; i++) c[i] += add[0];
    else
        for (int64_t i = 0; i < n; i++) c[i] += add[i * add_cs];
}
static void finish(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const T alpha = (T)j->alpha, beta = (T)j->beta;
    const T *add = beta != 0 ? j->add : NULL;
    const int64_t run = j->c_cs == 1 ? nc : 1;
    if (alpha != 1 || add)
        for (int64_t i = c0; i < c0 + nc; i += run)
            for (int64_t r = r0; r < r0 + nr; r++)
                finish_run((T *)j->c + r * j->c_rs + i * j->c_cs, run, alpha, add ? add + r * j->add_rs + i * j->add_cs : NULL, j->add_cs, beta);
    tc_gemm_finished(j, r0, nr, c0, nc, worker);
}
