/* What follows a block of a product: alpha, beta and the addend, then the caller's epilogue, its plain part row by row while a row is near.
 * Included after T, the type of the result, its vectors, and FMA. */
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
/* The first n of VL elements, or all of them */
static inline VF some_of(const T *p, int n) { return n < VL ? vload_some(p, n) : vload(p); }
/* n neighbours from column c0 on: scale and shift by column, what is added, bounds */
static void finish_plain(T *c, int64_t n, const tc_epilogue_plain *p, int64_t c0, const T *more) {
    const VF low = vset1((T)p->low), high = vset1((T)p->high);
    const T *const scale = p->scale ? (const T *)p->scale + c0 : NULL, *const shift = p->scale ? (const T *)p->shift + c0 : NULL;
    for (int64_t i = 0; i < n; i += VL) {
        const int some = (int)(n - i < VL ? n - i : VL);
        VF x = some_of(c + i, some);
        if (scale) x = vfma(x, some_of(scale + i, some), some_of(shift + i, some));
        if (more) x = x + some_of(more + i, some);
        x = vmin(vmax(x, low), high);
        if (some < VL) vstore_some(c + i, x, some);
        else vstore(c + i, x);
    }
}
/* The plain part of the epilogue where this file does it. */
static inline const tc_epilogue_plain *plain_of(const tc_gemm *j) { return j->epilogue && !j->swapped && j->c_cs == 1 ? j->epilogue->plain : NULL; }
static inline const T *more_at(const tc_gemm *j, const tc_epilogue_plain *p, int64_t r, int64_t c) {
    return p && p->more ? (const T *)p->more + (j->row0 + r) * j->n + c : NULL;
}
/* Of a region: all but what is told to others. */
static void finish(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc) {
    const T alpha = (T)j->alpha, beta = (T)j->beta;
    const T *add = beta != 0 ? j->add : NULL;
    const int64_t run = j->c_cs == 1 ? nc : 1;
    const tc_epilogue_plain *const plain = plain_of(j);
    if (alpha == 1 && !add && !plain) return;
    for (int64_t i = c0; i < c0 + nc; i += run)
        for (int64_t r = r0; r < r0 + nr; r++) {
            T *const c = (T *)j->c + r * j->c_rs + i * j->c_cs;
            finish_run(c, run, alpha, add ? add + r * j->add_rs + i * j->add_cs : NULL, j->add_cs, beta);
            if (plain) finish_plain(c, run, plain, i, more_at(j, plain, r, i));
        }
}
/* What a tile may do in its registers instead, of the columns from c on; false: nothing, or not so. */
static bool finish_in_tile(const tc_gemm *j, int64_t r, int64_t c, tail *out) {
    const tc_epilogue_plain *const plain = plain_of(j);
    const bool add = j->add && j->beta != 0;
    if (j->alpha != 1 || (!add && !plain) || (plain && plain->scale)) return false;
    if (add && (j->beta != 1 || j->add_cs != 1 || j->add_rs)) return false;
    *out = (tail){.add = add ? (const T *)j->add + c : NULL, .more = more_at(j, plain, r, c), .more_ld = j->n, .bounded = plain};
    if (plain) out->low = (T)plain->low, out->high = (T)plain->high;
    return true;
}
