/* Binds a loop to sizes and strides: for each nest, merges axes where memory allows it, chooses the shape of blocks, and lets block_plan.c translate the
 * instructions to steps. */
#include "base/ints.h"
#include "runtime/block_plan.h"

typedef struct {
    const tc_schedule *s;
    const tc_block_env *env;
    int64_t ext[64];
    tc_block *made;
    tc_lv *root;                                                    /* of find_tables */
    int64_t (*temp_size)[TC_MAX_RANK], (*temp_stride)[TC_MAX_RANK]; /* by buffer, of temporaries */
} binder;

static tc_status eval(const binder *b, tc_sym e, int64_t *out) {
    if (tc_sym_const_int(e, out)) return NULL;
    return tc_sym_eval_int(e, b->env->vars, b->env->nvars, out);
}

static tc_block_shape shape_of(const binder *b, int buffer) {
    if (b->s->loop->buffers.data[buffer].value) return b->env->shapes[buffer];
    return (tc_block_shape){b->temp_size[buffer], b->temp_stride[buffer]};
}

/* Adds stride times an affine expression, evaluated, to *out. */
static tc_status raw_affine(const binder *b, const tc_affine *a, int64_t stride, raw *out) {
    int64_t v;
    TC_TRY(eval(b, a->base, &v));
    out->base += v * stride;
    for (int i = 0; i < a->n; i++) {
        TC_TRY(eval(b, a->term[i].coef, &v));
        out->s[a->term[i].axis] += v * stride;
    }
    return NULL;
}

static tc_status raw_address(const binder *b, int buffer, int rank, const tc_affine *index, const tc_lv *gather, raw *out) {
    tc_block_shape sh = shape_of(b, buffer);
    for (int d = 0; d < rank; d++)
        if (!gather || gather[d] == TC_LV_NONE) TC_TRY(raw_affine(b, &index[d], sh.stride[d], out));
    return NULL;
}

/* ---- the sides of a nest ---- */
/* Can two axes be merged? ext: extent of the inner one. In every access, a step of the outer axis must be `ext` steps of the inner one. */
static bool can_merge(const plan *p, int outer, int inner, int64_t ext) {
    for (int i = 0; i < p->nraw; i++)
        if (p->raws[i].s[outer] != p->raws[i].s[inner] * ext) return false;
    return true;
}

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

/* Makes a side of these axes. by: the axes are ordered by their strides in this access, smallest last; NULL: by number, which is the order of reductions.
 * group[a]: the merged axis that contains axis a. */
static tc_status make_side(plan *p, const int64_t *ext, uint64_t axes, const raw *by, side *out, int group[64]) {
    int list[64], n = 0;
    out->n = 0;
    out->total = 1;
    for (int a = 0; a < 64; a++)
        if (axes >> a & 1 && ext[a] != 1) {
            int k = n++;
            for (; by && k && magnitude(by->s[list[k - 1]]) < magnitude(by->s[a]); k--) list[k] = list[k - 1];
            list[k] = a;
        }
    for (int i = 0; i < n; i++) {
        int a = list[i];
        out->total *= ext[a];
        if (i && can_merge(p, list[i - 1], a, ext[a])) out->ext[out->n - 1] *= ext[a];
        else {
            if (out->n == MAX_AXES) return tc_error(TC_UNSUPPORTED, "a loop with more than %d axes that do not merge", MAX_AXES);
            out->ext[out->n++] = ext[a];
        }
        group[a] = out->n - 1;
        p->last_axis[out->n - 1] = a;
    }
    return NULL;
}

/* For a nest without reductions: moves the last merged axes to the inner side, as many as give at least ENOUGH columns. */
static void split_inner(plan *p, nest *n, const int64_t *ext, uint64_t *inner, const int group[64]) {
    enum { ENOUGH = 64 };
    if (!n->O.n) return;
    int first = n->O.n - 1;
    n->I.total = n->O.ext[first];
    while (first && n->I.total < ENOUGH) n->I.total *= n->O.ext[--first];
    for (int k = first; k < n->O.n; k++) {
        p->inner_axis[n->I.n] = p->outer_axis[k];
        n->I.ext[n->I.n++] = n->O.ext[k];
    }
    *inner = 0;
    for (int a = 0; a < 64; a++)
        if (p->outer >> a & 1 && ext[a] != 1 && group[a] >= first) *inner |= UINT64_C(1) << a;
    n->O.n = first;
    n->O.total = 1;
    for (int k = 0; k < n->O.n; k++) n->O.total *= n->O.ext[k];
    p->outer &= ~*inner;
}

/* Rows may be computed in any order. The outer axis along which most accesses that are not contiguous along the inner side are contiguous becomes the
 * last outer axis: blocks are then tiles that use whole cache lines in both directions. */
static void order_outer(plan *p, nest *n) {
    int votes[MAX_AXES] = {0}, best = n->O.n - 1;
    if (n->O.n < 2) return;
    for (int i = 0; i < p->nraw; i++) {
        if (p->raws[i].s[p->inner_axis[n->I.n - 1]] == 1) continue;
        for (int k = 0; k < n->O.n; k++) votes[k] += p->raws[i].s[p->outer_axis[k]] == 1;
    }
    for (int k = 0; k < n->O.n; k++)
        if (votes[k] > votes[best] && n->O.ext[k] >= 4) best = k;
    int axis = p->outer_axis[best];
    int64_t ext = n->O.ext[best];
    for (int k = best; k + 1 < n->O.n; k++) p->outer_axis[k] = p->outer_axis[k + 1], n->O.ext[k] = n->O.ext[k + 1];
    p->outer_axis[n->O.n - 1] = axis, n->O.ext[n->O.n - 1] = ext;
}

enum { SHARED = 4 }; /* instructions whose values are worth computing once for several rows */
static bool computes(const tc_linst *in) { return in->kind == TC_L_SCALAR || in->kind == TC_L_CAST || in->kind == TC_L_ROUND; }
/* The outer axes along which the instruction would be computed again, though it does not vary along them: it varies along the inner side and others. */
static uint64_t repeated_along(const tc_linst *in, uint64_t outer, uint64_t inner) {
    return computes(in) && in->axes & inner && in->axes & outer ? outer & ~in->axes : 0;
}
/* For a nest without reductions: if much is computed that does not vary along some of the outer axes (as the places of a grid, which are the same in all
 * channels), returns these. With them alone as outer axes, a block computes it once for all its rows. live: NULL: all; out_times: so many instructions. */
static uint64_t axes_to_share(const tc_loop *l, const uint8_t *live, uint64_t outer, uint64_t inner, int *out_times) {
    uint64_t keep = 0, last = 0;
    *out_times = SHARED - 1;
    for (size_t i = 0; i < l->inst.len; i++) {
        const uint64_t same = live && !live[i] ? 0 : repeated_along(&l->inst.data[i], outer, inner);
        int times = 0;
        if (!same || same == last) continue;
        last = same;
        for (size_t k = 0; k < l->inst.len; k++) times += (!live || live[k]) && !(same & ~repeated_along(&l->inst.data[k], outer, inner));
        if (times > *out_times) *out_times = times, keep = same;
    }
    return keep;
}
static uint64_t long_axes(uint64_t axes, const int64_t *ext) {
    uint64_t r = 0;
    for (int a = 0; a < 64; a++) r |= (uint64_t)(axes >> a & 1 && ext[a] != 1) << a;
    return r;
}
/* Is most of what a loop computes the same for several rows? Compiled code, whose rows are the last axis, computes it for each. */
static bool mostly_shared(const tc_schedule *s, const int64_t *ext) {
    const tc_loop *l = s->loop;
    const uint64_t axes = s->n == 1 && !s->nests[0].inner && !l->region ? long_axes(s->nests[0].outer, ext) : 0;
    if (!axes) return false;
    const uint64_t inner = UINT64_C(1) << (63 - __builtin_clzll(axes));
    int shared, all = 0;
    if (!axes_to_share(l, NULL, axes & ~inner, inner, &shared)) return false;
    for (size_t i = 0; i < l->inst.len; i++) all += computes(&l->inst.data[i]) && !(axes & ~l->inst.data[i].axes);
    return 2 * shared > all;
}

static affine to_affine(const plan *p, const nest *n, const raw *r) {
    affine out = {.base = r->base};
    for (int k = 0; k < n->O.n; k++) out.o[k] = r->s[p->outer_axis[k]];
    for (int k = 0; k < n->I.n; k++) out.i[k] = r->s[p->inner_axis[k]];
    return out;
}

/* ---- block shape ---- */
static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Counts the loads and stores that vary along both sides and are contiguous along the inner side, or along the outer one. */
static void orientation(const plan *p, const nest *n, int *along_inner, int *along_outer) {
    *along_inner = *along_outer = 0;
    for (int i = 0; i < n->nacc; i++) {
        const access *a = &n->acc[i];
        if (a->buffer < 0 || !n->O.n || !n->I.n) continue;
        bool in = a->at.i[n->I.n - 1] == 1, out = a->at.o[n->O.n - 1] == 1;
        if (a->cls == CLS_OI && in) ++*along_inner;
        else if (a->cls == CLS_OI && out) ++*along_outer;
    }
    (void)p;
}

enum { LONG_ROW = 1024 * TC_LEAF, MANY_COLUMNS = 1024, MAX_CHUNKS = 64, MAX_PARTS = 8192 };
/* Elements of a chunk of rows, of which R are reduced together: a power of two leaves, so that there are about eight chunks for each thread, and none is
 * too small a task. */
static int64_t chunk_of(const plan *p, int64_t R, int64_t EI) {
    const int64_t want = clamp(MAX_PARTS / R, 2, clamp(8 * p->threads, 2, MAX_CHUNKS));
    int64_t chunk = TC_LEAF;
    while ((chunk < EI && R * chunk * p->work < p->costs->task_ops) || (EI + chunk - 1) / chunk > want) chunk *= 2;
    return chunk;
}
/* Are there so few columns to sum that threads should split their length instead? Each then reads memory that it wrote in the loop before. */
static bool is_tall(const plan *p, int64_t EO, int64_t EI) {
    return p->threads > 1 && EO <= MANY_COLUMNS && EI >= 2 * TC_LEAF && chunk_of(p, EO, EI) < EI;
}
/* Few long rows or columns are cut into chunks, so that all threads work on each. */
static void cut_chunks(const plan *p, nest *n) {
    const int64_t EO = n->O.total, EI = n->I.total;
    const bool rows = !n->col && n->R == 1 && EO <= 16 && (EI >= LONG_ROW || EO < p->threads);
    if (!n->reduces || p->scans || p->loop->region || n->C >= EI || !(rows || (n->col && is_tall(p, EO, EI)))) return;
    n->chunk = chunk_of(p, n->R, EI);
    n->chunked = n->chunk < EI;
}

/* Blocks of one row, whose inner axes do not merge, become such that a run along the last of these consists of whole blocks, if they are not short then:
 * their loads and stores are contiguous. Blocks of a reduction are whole leaves. T: as in choose_block. */
static void end_with_runs(const plan *p, nest *n, int64_t T) {
    if (n->col || n->R > 1 || n->I.n < 2 || !n->I.total || p->scans || p->column_values || p->loop->region) return;
    const int64_t run = run_length(n), unit = n->reduces ? TC_LEAF : 1, most = p->blocks ? 2 * T : 4 * T, parts = (run + most - 1) / most;
    for (int64_t k = parts; k < 2 * parts + 16 && run / k >= T / 2; k++)
        if (run % (k * unit) == 0) {
            n->C = run / k;
            return;
        }
}

static void choose_block(const plan *p, nest *n) {
    int64_t EO = n->O.total, EI = n->I.total, T = p->block ? p->block : p->widest > 4 ? 768 : p->widest > 1 ? 1024 : 4096;
    int in, out;
    orientation(p, n, &in, &out);
    n->col = false;
    if (p->loop->region) n->C = n->regions ? clamp(EI, 1, 128) : EI, n->R = T / (n->C ? n->C : 1); /* regions have many rows and few columns */
    else if (!n->reduces) {
        if (out && EI >= 16 && n->O.ext[n->O.n - 1] >= 16)
            n->R = 32, n->C = clamp(EI, 1, 64); /* a tile that uses whole cache lines in both directions */
        else if (EI <= T / 2) n->R = clamp(T / (EI ? EI : 1), 1, EO), n->C = EI;
        else if (p->column_values >= SHARED && EO > 1 && EI > 4 * T) n->R = clamp(EO, 1, 16), n->C = clamp((8192 / n->R + 63) & ~(int64_t)63, 64, EI);
        else if (p->column_values && EI <= 4 * T) n->R = 1, n->C = EI; /* what varies along the columns only is computed once */
        else {
            int64_t blocks = (EI + T + T / 2 - 1) / (T + T / 2);
            n->C = clamp(((EI + blocks - 1) / blocks + 63) & ~(int64_t)63, 1, EI);
            n->R = 1;
        }
    } else if (!p->row_only && EI <= 48 && EO >= 64) { /* short rows: column mode, so that vectors are long */
        n->col = true;
        n->C = EI;
        n->R = clamp(4 * T / (EI ? EI : 1), 1, 256);
    } else if (out > in && !p->row_only) {
        n->col = true;
        const bool tall = is_tall(p, EO, EI);
        int64_t share = tall ? EO : (EO / p->threads + 63) & ~(int64_t)63; /* nests that only sum loads read longer runs at a time */
        n->R = clamp(EO, 1, p->blocks ? 256 : clamp(share, 256, MANY_COLUMNS));
        int64_t c = 16;
        while (c < TC_LEAF && c * n->R < 4 * T) c *= 2;
        n->C = EI <= 2 * c && !tall ? EI : c;
    } else if (EI <= (p->blocks ? 8 : 2) * T) {    /* a whole row, which stays in L2 from stage to stage */
        int64_t most = p->blocks ? 2 * T : 16 * T; /* nests that only reduce loads take many rows in a call */
        n->C = EI;
        n->R = clamp(most / (EI ? EI : 1), out > in ? 16 : 1, EO);
    } else {
        int64_t cheap = p->work <= 2 ? 8192 : T; /* work <= 2: a reduction of a load */
        n->C = out > in && EO > 1 ? TC_LEAF : cheap - cheap % TC_LEAF;
        n->R = out > in ? 16 : 1;
    }
    if (p->scans && n->R < SCAN_ROWS && EO >= 8 * SCAN_ROWS) n->R = SCAN_ROWS; /* fewer rows are a task each */
    n->R = clamp(n->R, 1, EO ? EO : 1);
    n->C = clamp(n->C, 1, EI ? EI : 1);
    end_with_runs(p, n, T);
    cut_chunks(p, n);
}

/* ---- one nest ---- */
/* Finds the instructions that the nest needs (p->live), and evaluates the addresses of its accesses (p->raws). */
static tc_status collect_addresses(const binder *b, plan *p, const tc_nest *tn) {
    const tc_loop *l = b->s->loop;
    for (size_t i = l->inst.len; i-- > 0;) {
        const tc_linst *in = &l->inst.data[i];
        if (!p->live[i]) {
            bool stored = false;
            for (int k = 0; k < tn->nstores && !stored; k++) {
                const tc_lstore *st = &l->stores.data[tn->stores[k]];
                stored = st->value == (tc_lv)i || st->pred == (tc_lv)i;
            }
            if (!stored) continue;
            p->live[i] = 1;
        }
        if (p->root[i] != TC_LV_NONE) {
            p->live[table_operand(l, p->root[i])] = 1;
            continue;
        }
        tc_lv operand[TC_LOOP_OPERANDS];
        const int n = tc_loop_operands(in, operand);
        for (int k = 0; k < n; k++) p->live[operand[k]] = 1;
    }
    /* in the order: a load or index, then its gathered dimensions; the next instruction; ...; the stores */
    p->raws = tc_xcalloc(l->inst.len * 2 + (size_t)tn->nstores + 64, sizeof *p->raws);
    size_t cap = l->inst.len * 2 + (size_t)tn->nstores + 64;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        p->raw_of[i] = -1;
        if (!p->live[i] || (in->kind != TC_L_LOAD && in->kind != TC_L_INDEX)) continue;
        if ((size_t)p->nraw + TC_MAX_RANK + (size_t)tn->nstores + 2 > cap) p->raws = tc_xrealloc(p->raws, (cap *= 2) * sizeof *p->raws);
        p->raw_of[i] = p->nraw;
        raw *r = &p->raws[p->nraw++];
        *r = (raw){0};
        if (in->kind == TC_L_INDEX) TC_TRY(raw_affine(b, in->index, 1, r));
        else TC_TRY(raw_address(b, in->buffer, in->rank, in->index, in->gather, r));
        for (int d = 0; in->kind == TC_L_LOAD && in->gather && d < in->rank; d++)
            if (in->gather[d] != TC_LV_NONE) {
                p->raws[p->nraw] = (raw){0};
                TC_TRY(raw_affine(b, &in->index[d], 1, &p->raws[p->nraw++]));
            }
    }
    p->store_raw = p->nraw;
    for (int k = 0; k < tn->nstores; k++) {
        const tc_lstore *st = &l->stores.data[tn->stores[k]];
        if ((size_t)p->nraw + 2 > cap) p->raws = tc_xrealloc(p->raws, (cap *= 2) * sizeof *p->raws);
        p->raws[p->nraw] = (raw){0};
        TC_TRY(raw_address(b, st->buffer, st->rank, st->index, NULL, &p->raws[p->nraw++]));
    }
    return NULL;
}

static uint8_t log2_size(tc_dtype d) { return (uint8_t)__builtin_ctz((unsigned)tc_dtype_size(d)); }

static int class_of(const plan *p, uint64_t axes) { return (axes & p->outer_on ? CLS_O : 0) | (axes & p->inner_on ? CLS_I : 0); }

/* Makes the accesses of loads, indices and stores, with strides along the merged axes. */
static void make_accesses(const binder *b, plan *p, nest *n, const tc_nest *tn) {
    const tc_loop *l = b->s->loop;
    n->acc = tc_xcalloc(l->inst.len + (size_t)tn->nstores, sizeof *n->acc);
    for (size_t i = 0; i < l->inst.len; i++) {
        if (p->raw_of[i] < 0) continue;
        const tc_linst *in = &l->inst.data[i];
        access *a = &n->acc[n->nacc];
        p->acc_of[i] = n->nacc++;
        *a = (access){.at = to_affine(p, n, &p->raws[p->raw_of[i]]),
                      .buffer = -1,
                      .inst = (int)i,
                      .pred = -1,
                      .cls = (uint8_t)class_of(p, in->axes),
                      .dtype = TC_I64,
                      .shift = 3};
        if (in->kind == TC_L_INDEX) continue;
        a->buffer = in->buffer;
        a->dtype = l->buffers.data[in->buffer].dtype;
        a->shift = log2_size(a->dtype);
        a->checked = in->checked;
        if (!in->gather) continue;
        tc_block_shape sh = shape_of(b, in->buffer);
        a->gather = tc_xcalloc((size_t)in->rank, sizeof *a->gather);
        for (int d = 0, k = 1; d < in->rank; d++)
            if (in->gather[d] != TC_LV_NONE) {
                a->gather[a->ngather].stride = sh.stride[d];
                a->gather[a->ngather].size = sh.size[d];
                a->gather[a->ngather].dim = d;
                a->gather[a->ngather].value = in->gather[d];
                a->gather[a->ngather++].at = to_affine(p, n, &p->raws[p->raw_of[i] + k++]);
            }
    }
    for (int k = 0; k < tn->nstores; k++) {
        const tc_lstore *st = &l->stores.data[tn->stores[k]];
        tc_dtype d = l->buffers.data[st->buffer].dtype;
        n->acc[n->nacc] = (access){.at = to_affine(p, n, &p->raws[p->store_raw + k]),
                                   .buffer = st->buffer,
                                   .dtype = d,
                                   .shift = log2_size(d),
                                   .cls = (uint8_t)class_of(p, st->axes),
                                   .inst = -1,
                                   .pred = st->pred};
        p->store_acc[k] = n->nacc++;
    }
}

bool side_chain(const side *s, const int64_t *stride, int64_t last) {
    if (!s->n) return true;
    if (stride[s->n - 1] != last) return false;
    for (int k = s->n - 1; k > 0; k--)
        if (stride[k - 1] != stride[k] * s->ext[k]) return false;
    return true;
}
static bool unit(const side *s, const int64_t *stride) { return side_chain(s, stride, 1); }

/* Is every block of the nest, which has one row, a part of a run along the last inner axis? */
static bool within_run(const nest *n) {
    return n->R == 1 && !n->regions && n->I.n && run_length(n) % n->C == 0 && (!n->chunked || n->chunk % n->C == 0 || n->C % n->chunk == 0);
}
/* Is every block of the access contiguous in memory? */
static bool dense(const nest *n, const access *a) {
    bool o = a->cls & CLS_O && n->R > 1, i = a->cls & CLS_I && n->C > 1;
    if (o && i && n->regions) return false; /* a region may have only some of the columns */
    if (o && i) {
        if (n->col) return unit(&n->O, a->at.o) && n->R == n->O.total && side_chain(&n->I, a->at.i, n->R);
        return unit(&n->I, a->at.i) && n->C == n->I.total && side_chain(&n->O, a->at.o, n->C);
    }
    if (o) return unit(&n->O, a->at.o);
    if (i) return unit(&n->I, a->at.i) || (within_run(n) && a->at.i[n->I.n - 1] == 1);
    return true;
}

/* Divides the axes of the nest into its outer and inner side. */
static tc_status make_sides(const binder *b, plan *p, nest *n) {
    const tc_nest *tn = p->tn;
    const tc_loop *l = p->loop;
    int group_o[64], group_i[64];
    uint64_t inner = tn->inner | (l->columns & tn->outer);
    const bool given = inner || l->region, one_store = tn->nstores == 1;
    const raw *by = given || !one_store ? NULL : &p->raws[p->store_raw];
    TC_TRY(make_side(p, b->ext, p->outer, by, &n->O, group_o));
    memcpy(p->outer_axis, p->last_axis, sizeof p->outer_axis);
    if (given) {
        TC_TRY(make_side(p, b->ext, inner, NULL, &n->I, group_i));
        memcpy(p->inner_axis, p->last_axis, sizeof p->inner_axis);
    } else {
        n->I = (side){.total = 1};
        split_inner(p, n, b->ext, &inner, group_o);
        int times;
        const uint64_t keep = axes_to_share(l, p->live, long_axes(p->outer, b->ext), inner, &times);
        if (keep) {
            inner |= p->outer & ~keep, p->outer = keep;
            TC_TRY(make_side(p, b->ext, keep, by, &n->O, group_o));
            memcpy(p->outer_axis, p->last_axis, sizeof p->outer_axis);
            TC_TRY(make_side(p, b->ext, inner, by, &n->I, group_i));
            memcpy(p->inner_axis, p->last_axis, sizeof p->inner_axis);
        }
        if (one_store) order_outer(p, n);
    }
    for (int a = 0; a < l->naxes; a++) {
        if (b->ext[a] == 1) continue;
        if (p->outer >> a & 1) p->outer_on |= UINT64_C(1) << a;
        if (inner >> a & 1) p->inner_on |= UINT64_C(1) << a;
    }
    p->full = class_of(p, ~UINT64_C(0));
    return NULL;
}

/* What choose_block needs to know of the instructions. */
static void survey(plan *p) {
    for (size_t i = 0; i < p->loop->inst.len; i++) {
        const tc_linst *in = &p->loop->inst.data[i];
        if (!p->live[i]) continue;
        if (in->kind == TC_L_SCAN) p->scans = true;
        if (in->kind == TC_L_SCAN || (in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD)) p->row_only = true;
        p->work++;
        p->column_values += in->kind == TC_L_SCALAR && class_of(p, in->axes) == CLS_I;
        for (int d = 0; in->kind == TC_L_LOAD && in->gather && d < in->rank; d++) /* a list of offsets (index_list) */
            if (in->gather[d] != TC_LV_NONE && class_of(p, p->loop->inst.data[in->gather[d]].axes) == CLS_I) p->column_values += SHARED - 1;
        p->blocks += in->kind != TC_L_LOAD && in->axes & p->inner_on;
        int size = (int)tc_dtype_size(in->dtype);
        if (size > p->widest && (in->axes & p->inner_on || !p->inner_on)) p->widest = size; /* values of a row are few */
    }
}

/* whole: the second nest of a region loop, for regions that have all columns. */
static tc_status bind_nest(const binder *b, const tc_nest *tn, bool whole, nest *n) {
    const tc_loop *l = b->s->loop;
    size_t ni = l->inst.len;
    plan p = {.loop = l,
              .isa = b->env->isa,
              .costs = b->env->costs ? b->env->costs : &tc_costs_shipped,
              .block = b->env->block,
              .threads = b->env->threads ? b->env->threads : 1,
              .tn = tn,
              .in_place = b->env->in_place,
              .made = b->made,
              .root = b->root,
              .outer = tn->outer & ~l->columns};
    p.live = tc_xcalloc(ni + 1, 1);
    p.raw_of = tc_xcalloc(ni + 1, sizeof *p.raw_of);
    p.acc_of = tc_xcalloc(ni + 1, sizeof *p.acc_of);
    p.store_acc = tc_xcalloc((size_t)tn->nstores + 1, sizeof *p.store_acc);
    tc_status s = collect_addresses(b, &p, tn);
    n->regions = l->region && !whole;
    n->reduces = tn->inner != 0;
    if (!s) s = make_sides(b, &p, n);
    if (!s) {
        make_accesses(b, &p, n, tn);
        survey(&p);
        choose_block(&p, n);
        for (int k = 0; k < n->nacc; k++) n->acc[k].dense = n->acc[k].buffer >= 0 && dense(n, &n->acc[k]);
        s = block_plan(&p, n);
    }
    free(p.live);
    free(p.raw_of);
    free(p.acc_of);
    free(p.store_acc);
    free(p.raws);
    return s;
}

static tc_status bind_temps(binder *b, tc_block *out) {
    const tc_loop *l = b->s->loop;
    out->nbuffers = (int)l->buffers.len;
    out->temp_offset = tc_xcalloc(l->buffers.len + 1, sizeof *out->temp_offset);
    b->temp_size = tc_xcalloc(l->buffers.len + 1, sizeof *b->temp_size);
    b->temp_stride = tc_xcalloc(l->buffers.len + 1, sizeof *b->temp_stride);
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_lbuffer *buf = &l->buffers.data[i];
        out->temp_offset[i] = SIZE_MAX;
        if (buf->value) continue;
        size_t bytes = tc_dtype_size(buf->dtype);
        for (int d = 0; d < buf->rank; d++) {
            TC_TRY(eval(b, buf->size[d], &b->temp_size[i][d]));
            if (!tc_mul_size(bytes, (size_t)b->temp_size[i][d], &bytes)) return tc_error(TC_CONTENT, "a temporary is too large");
        }
        tc_contiguous_strides(buf->rank, b->temp_size[i], b->temp_stride[i]);
        out->temp_offset[i] = out->temps;
        out->temps += tc_pad64(bytes);
    }
    return NULL;
}

/* Binds the rest of an epilogue, for kernels that compute its plain part themselves. */
static tc_status bind_rest(const binder *b, tc_block *out) {
    const tc_loop *l = b->s->loop;
    block_rest *rest = out->rest = tc_xcalloc(1, sizeof *rest);
    rest->loop = *l, rest->schedule = *b->s;
    rest->schedule.loop = &rest->loop;
    rest->loop.inst.data = tc_xcalloc(l->inst.len, sizeof *l->inst.data);
    memcpy(rest->loop.inst.data, l->inst.data, l->inst.len * sizeof *l->inst.data);
    rest->loop.inst.data[out->plain.last] = l->inst.data[out->plain.load];
    return tc_block_bind(&rest->schedule, b->env, &rest->block);
}

/* Evaluates the extents of the loop's axes, and finds the functions that are worth a table (find_tables). The caller frees b->root. */
static tc_status bind_tables(binder *b) {
    const tc_loop *l = b->s->loop;
    const tc_costs *costs = b->env->costs ? b->env->costs : &tc_costs_shipped;
    for (int a = 0; a < l->naxes; a++) TC_TRY(eval(b, l->axes[a].extent, &b->ext[a]));
    b->root = tc_xcalloc(l->inst.len + 1, sizeof *b->root);
    find_tables(l, b->ext, costs->table_uses, b->root);
    return NULL;
}

tc_status tc_block_is_faster(const tc_schedule *schedule, const tc_block_env *env, bool *out_faster) {
    binder b = {.s = schedule, .env = env};
    const tc_loop *l = schedule->loop;
    tc_status s = bind_tables(&b);
    *out_faster = !s && mostly_shared(schedule, b.ext);
    for (size_t i = 0; i < l->inst.len && !s; i++) *out_faster |= b.root[i] != TC_LV_NONE;
    free(b.root);
    return s;
}

tc_status tc_block_bind(const tc_schedule *schedule, const tc_block_env *env, tc_block **out_block) {
    binder b = {.s = schedule, .env = env};
    const tc_loop *l = schedule->loop;
    tc_block *out = tc_xcalloc(1, sizeof *out);
    out->isa = env->isa;
    out->schedule = schedule;
    out->tables = env->tables ? env->tables : (out->own_tables = tc_block_tables_create());
    b.made = out;
    tc_status s = bind_tables(&b);
    if (!s) s = bind_temps(&b, out);
    out->nests = tc_xcalloc((size_t)schedule->n + 2, sizeof *out->nests);
    for (int k = 0; k < schedule->n && !s; k++) {
        bool empty = false;
        for (int a = 0; a < l->naxes; a++) empty |= schedule->nests[k].outer >> a & 1 && b.ext[a] == 0;
        if (empty) continue; /* stores nothing */
        nest *n = &out->nests[out->nnests++];
        s = bind_nest(&b, &schedule->nests[k], false, n);
        if (!s && n->scratch > out->scratch) out->scratch = n->scratch;
    }
    out->plain.result = -1;
    if (!s && l->region && !l->tile && out->nnests == 1) find_plain(out, l, out->nests, b.root);
    if (!s && l->region && out->nnests == 1 && out->nests[0].I.total <= WHOLE_COLUMNS && out->nests[0].I.total > 1) {
        nest *n = &out->nests[out->nnests++];
        s = bind_nest(&b, &schedule->nests[0], true, n);
        if (!s && n->scratch > out->scratch) out->scratch = n->scratch;
    }
    if (!s && out->plain.first) s = bind_rest(&b, out);
    free(b.root);
    free(b.temp_size);
    free(b.temp_stride);
    if (s) tc_block_destroy(out);
    else *out_block = out;
    return s;
}

void tc_block_destroy(tc_block *b) {
    if (!b) return;
    for (int k = 0; k < b->nnests; k++) {
        nest *n = &b->nests[k];
        for (int i = 0; i < n->nacc; i++) free(n->acc[i].gather);
        for (int i = 0; i <= n->nstages && n->row; i++) tc_vec_free(&n->row[i]);
        for (int i = 0; i < n->nstages && n->body; i++) tc_vec_free(&n->body[i]);
        tc_vec_free(&n->once);
        for (int i = 0; i < n->nstreams; i++) free(n->streams[i].pace);
        free(n->kept);
        free(n->acc);
        free(n->row);
        free(n->body);
        free(n->places);
        free(n->moving);
        free(n->red);
        free(n->con);
    }
    if (b->rest) {
        tc_block_destroy(b->rest->block);
        free(b->rest->loop.inst.data);
        free(b->rest);
    }
    tc_block_tables_destroy(b->own_tables);
    free(b->nests);
    free(b->temp_offset);
    free(b);
}

size_t tc_block_scratch(const tc_block *b) { return b->scratch; }
size_t tc_block_temps(const tc_block *b) { return b->temps; }
