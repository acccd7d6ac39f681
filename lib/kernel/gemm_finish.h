/* What happens to finished sums of a product: alpha, beta and the addend, then the plain part of the caller's epilogue (tc_epilogue_plain), row by
 * row while the row is in L1. Included by gemm_block.h after vec_*.h. */
/* c = alpha * c + beta * add for n contiguous elements of c. */
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
/* The first n <= VL elements; the other lanes are 0. */
static inline VF load_upto(const T *p, int n) { return n < VL ? vload_some(p, n) : vload(p); }
/* The plain epilogue on n contiguous elements of one row, from column c0 on. */
static void finish_plain(T *c, int64_t n, const tc_epilogue_plain *p, int64_t c0, const T *more) {
    const VF low = vset1((T)p->low), high = vset1((T)p->high);
    const T *const scale = p->scale ? (const T *)p->scale + c0 : NULL, *const shift = p->scale ? (const T *)p->shift + c0 : NULL;
    for (int64_t i = 0; i < n; i += VL) {
        const int some = (int)(n - i < VL ? n - i : VL);
        VF x = load_upto(c + i, some);
        if (scale) x = vfma(x, load_upto(scale + i, some), load_upto(shift + i, some));
        if (more) x = x + load_upto(more + i, some);
        x = vmin(vmax(x, low), high);
        if (some < VL) vstore_some(c + i, x, some);
        else vstore(c + i, x);
    }
}
/* The plain part of the epilogue where the product applies it itself; NULL: there is none, or the caller's function does it. */
static inline const tc_epilogue_plain *plain_of(const tc_gemm *j) { return j->epilogue && !j->swapped && j->c_cs == 1 ? j->epilogue->plain : NULL; }
static inline const T *more_at(const tc_gemm *j, const tc_epilogue_plain *p, int64_t r, int64_t c) {
    return p && p->more ? (const T *)p->more + (j->row0 + r) * j->n + c : NULL;
}
/* Is there anything to do? */
static inline bool to_finish(const tc_gemm *j) { return (T)j->alpha != 1 || ((T)j->beta != 0 && j->add) || plain_of(j); }
/* All of this for a region of c. The caller's epilogue function is called elsewhere (tc_gemm_finished). */
static void finish(const tc_gemm *j, int64_t r0, int64_t nr, int64_t c0, int64_t nc) {
    const T alpha = (T)j->alpha, beta = (T)j->beta;
    const T *add = beta != 0 ? j->add : NULL;
    const int64_t run = j->c_cs == 1 ? nc : 1;
    const tc_epilogue_plain *const plain = plain_of(j);
    for (int64_t i = c0; i < c0 + nc; i += run)
        for (int64_t r = r0; r < r0 + nr; r++) {
            T *const c = (T *)j->c + r * j->c_rs + i * j->c_cs;
            finish_run(c, run, alpha, add ? add + r * j->add_rs + i * j->add_cs : NULL, j->add_cs, beta);
            if (plain) finish_plain(c, run, plain, i, more_at(j, plain, r, i));
        }
}
/* The same for a tile in registers, which saves a pass over the row. False: a tile cannot do it (scale and shift, an addend with rows of its own):
 * finish() does it then. */
static bool finish_in_tile(const tc_gemm *j, int64_t r, int64_t c, tile_epilogue *out) {
    const tc_epilogue_plain *const plain = plain_of(j);
    const bool add = j->add && j->beta != 0;
    if (plain && plain->scale) return false;
    if (add && (j->beta != 1 || j->add_cs != 1 || j->add_rs)) return false;
    *out = (tile_epilogue){
        .alpha = (T)j->alpha, .add = add ? (const T *)j->add + c : NULL, .more = more_at(j, plain, r, c), .more_ld = j->n, .bounded = plain};
    if (plain) out->low = (T)plain->low, out->high = (T)plain->high;
    return true;
}
