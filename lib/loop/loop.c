/* Building loops: adds instructions, which merges equal ones and derives their axes; buffers, axes, affine indices; appends one loop to another. */
#include "loop/loop.h"

const tc_scalar_info tc_scalar_ops[TC_X_COUNT] = {
#define LETTER(t) #t[0]
#define X(NAME, lower, n, t, result) [TC_X_##NAME] = {#NAME, n, LETTER(t), TC_RESULT_##result},
#include "kernel/scalar.def"
#undef X
};

tc_dtype tc_scalar_result(tc_scalar_op op, tc_dtype operand) {
    switch (tc_scalar_ops[op].result) {
    case TC_RESULT_BOOL: return TC_BOOL;
    case TC_RESULT_REAL: return tc_dtype_real(operand);
    case TC_RESULT_CPLX: return tc_dtype_to_complex(operand);
    default: return operand;
    }
}

const char *const tc_reduce_names[TC_R_COUNT] = {
    [TC_R_SUM] = "sum",       [TC_R_PROD] = "prod", [TC_R_MAX] = "max", [TC_R_MIN] = "min",         [TC_R_ARGMAX] = "argmax",
    [TC_R_ARGMIN] = "argmin", [TC_R_ANY] = "any",   [TC_R_ALL] = "all", [TC_R_WELFORD] = "welford", [TC_R_LOGADDEXP] = "logaddexp"};

tc_loop *tc_loop_create(tc_program *p) {
    tc_loop *l = TC_NEW(&p->arena, tc_loop);
    l->arena = &p->arena;
    l->sym = p->sym;
    return l;
}

tc_loop *tc_loop_copy(const tc_loop *l) {
    tc_loop *to = tc_arena_dup(l->arena, l, sizeof *l);
    memset(&to->inst, 0, sizeof to->inst), memset(&to->stores, 0, sizeof to->stores), memset(&to->buffers, 0, sizeof to->buffers);
    for (size_t i = 0; i < l->inst.len; i++) tc_vec_push(&to->inst, l->inst.data[i]);
    for (size_t i = 0; i < l->stores.len; i++) tc_vec_push(&to->stores, l->stores.data[i]);
    for (size_t i = 0; i < l->buffers.len; i++) tc_vec_push(&to->buffers, l->buffers.data[i]);
    return to;
}

void tc_loop_free(tc_loop *l) {
    if (!l) return;
    tc_vec_free(&l->inst);
    tc_vec_free(&l->stores);
    tc_vec_free(&l->buffers);
}

uint64_t tc_affine_axes(const tc_affine *a) {
    uint64_t m = 0;
    for (int i = 0; i < a->n; i++) m |= UINT64_C(1) << a->term[i].axis;
    return m;
}

bool tc_affine_equal(const tc_affine *a, const tc_affine *b) {
    if (a->base != b->base || a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].axis != b->term[i].axis || a->term[i].coef != b->term[i].coef) return false;
    return true;
}

bool tc_loop_is_pointwise(const tc_loop *l) {
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].over || l->inst.data[i].kind == TC_L_RAND) return false;
    return l->stores.len == 1 && l->stores.data[0].pred == TC_LV_NONE;
}
bool tc_loop_same_index(const tc_lstore *st, const tc_linst *load) {
    if (st->rank != load->rank) return false;
    for (int d = 0; d < st->rank; d++)
        if (!tc_affine_equal(&st->index[d], &load->index[d])) return false;
    return true;
}

bool tc_affine_is_axis(const tc_affine *a, int *out_axis) {
    if (a->n != 1 || !tc_sym_is_int(a->base, 0) || !tc_sym_is_int(a->term[0].coef, 1)) return false;
    *out_axis = a->term[0].axis;
    return true;
}

bool tc_affine_is_zero(const tc_affine *a) { return a->n == 0 && tc_sym_is_int(a->base, 0); }

int tc_loop_axis(tc_loop *l, tc_sym extent) {
    if (l->naxes == 64) return -1;
    l->axes[l->naxes].extent = extent;
    return l->naxes++;
}

int tc_loop_buffer(tc_loop *l, tc_value *v) {
    for (size_t i = 0; i < l->buffers.len; i++)
        if (l->buffers.data[i].value == v) return (int)i;
    tc_lbuffer b = {.value = v, .dtype = v->meta.dtype, .rank = v->meta.rank, .size = v->meta.size};
    tc_vec_push(&l->buffers, b);
    return (int)l->buffers.len - 1;
}

int tc_loop_temp(tc_loop *l, tc_dtype dtype, int rank, const tc_sym *size) {
    tc_lbuffer b = {.dtype = dtype, .rank = rank, .size = size};
    tc_vec_push(&l->buffers, b);
    return (int)l->buffers.len - 1;
}

static uint64_t inst_axes(const tc_loop *l, const tc_linst *in) {
    uint64_t m = 0;
    for (int i = 0; i < 3; i++)
        if (in->a[i] != TC_LV_NONE) m |= l->inst.data[in->a[i]].axes;
    if (in->pred != TC_LV_NONE) m |= l->inst.data[in->pred].axes;
    for (int d = 0; d < in->rank; d++) {
        m |= tc_affine_axes(&in->index[d]);
        if (in->gather && in->gather[d] != TC_LV_NONE) m |= l->inst.data[in->gather[d]].axes;
    }
    if (in->kind == TC_L_REDUCE) m &= ~in->over;
    if (in->kind == TC_L_SCAN) m |= in->over;
    return m;
}

static bool scalar_equal(tc_scalar a, tc_scalar b) {
    if (a.kind != b.kind) return false;
    if (a.kind == TC_KIND_FLOAT) return !memcmp(&a.f, &b.f, sizeof a.f);
    if (a.kind == TC_KIND_COMPLEX) return !memcmp(&a.re, &b.re, sizeof a.re) && !memcmp(&a.im, &b.im, sizeof a.im);
    return a.i == b.i;
}

static bool inst_equal(const tc_linst *x, const tc_linst *y) {
    if (x->kind != y->kind || x->op != y->op || x->part != y->part || x->dtype != y->dtype || x->narrow != y->narrow || x->over != y->over)
        return false;
    if (x->a[0] != y->a[0] || x->a[1] != y->a[1] || x->a[2] != y->a[2] || x->host != y->host || x->buffer != y->buffer) return false;
    if (x->rank != y->rank || x->pred != y->pred || x->checked != y->checked || !x->gather != !y->gather) return false;
    if (x->kind == TC_L_CONST && !scalar_equal(x->imm, y->imm)) return false;
    for (int d = 0; d < x->rank; d++) {
        if (!tc_affine_equal(&x->index[d], &y->index[d])) return false;
        if (x->gather && x->gather[d] != y->gather[d]) return false;
    }
    return true;
}

tc_lv tc_loop_push(tc_loop *l, tc_linst in) {
    in.axes = inst_axes(l, &in);
    for (size_t i = l->inst.len; i-- > 0;)
        if (inst_equal(&l->inst.data[i], &in)) return (tc_lv)i;
    tc_vec_push(&l->inst, in);
    return (tc_lv)l->inst.len - 1;
}

int tc_loop_operands(const tc_linst *in, tc_lv out[TC_LOOP_OPERANDS]) {
    int n = 0;
    for (int k = 0; k < 3; k++)
        if (in->a[k] != TC_LV_NONE) out[n++] = in->a[k];
    if (in->pred != TC_LV_NONE) out[n++] = in->pred;
    for (int d = 0; in->gather && d < in->rank; d++)
        if (in->gather[d] != TC_LV_NONE) out[n++] = in->gather[d];
    return n;
}

void tc_loop_rename(tc_loop *l, tc_linst *in, const tc_lv *to) {
    for (int k = 0; k < 3; k++)
        if (in->a[k] != TC_LV_NONE) in->a[k] = to[in->a[k]];
    if (in->pred != TC_LV_NONE) in->pred = to[in->pred];
    if (!in->gather) return;
    tc_lv *g = TC_NEWN(l->arena, tc_lv, (size_t)in->rank);
    for (int d = 0; d < in->rank; d++) g[d] = in->gather[d] == TC_LV_NONE ? TC_LV_NONE : to[in->gather[d]];
    in->gather = g;
}

void tc_loop_store(tc_loop *l, tc_lstore st) {
    st.axes = l->inst.data[st.value].axes;
    if (st.pred != TC_LV_NONE) st.axes |= l->inst.data[st.pred].axes;
    for (int d = 0; d < st.rank; d++) st.axes |= tc_affine_axes(&st.index[d]);
    l->buffers.data[st.buffer].written = true;
    tc_vec_push(&l->stores, st);
}

/* ---- a loop as part of another ---- */
tc_affine tc_affine_axis(tc_symctx *sym, int axis) {
    return (tc_affine){.base = tc_sym_int(sym, 0), .n = 1, .term[0] = {.axis = axis, .coef = tc_sym_int(sym, 1)}};
}

/* Replaces each axis x of a by as[x]; false: too many terms. */
static bool compose(tc_symctx *sym, tc_affine *a, const tc_affine as[64]) {
    enum { MAX_TERMS = sizeof a->term / sizeof *a->term };
    tc_affine out = {.base = a->base};
    for (int i = 0; i < a->n; i++) {
        const tc_affine *by = &as[a->term[i].axis];
        int only;
        const bool axis = tc_affine_is_axis(by, &only);
        if (!axis) out.base = tc_sym_add(sym, out.base, tc_sym_mul(sym, a->term[i].coef, by->base));
        for (int k = 0; k < by->n; k++) {
            const tc_sym coef = axis ? a->term[i].coef : tc_sym_mul(sym, a->term[i].coef, by->term[k].coef);
            int at = 0;
            while (at < out.n && out.term[at].axis != by->term[k].axis) at++;
            if (at == MAX_TERMS) return false;
            if (at < out.n) out.term[at].coef = tc_sym_add(sym, out.term[at].coef, coef);
            else out.n++, out.term[at].axis = by->term[k].axis, out.term[at].coef = coef;
        }
    }
    *a = out;
    return true;
}

bool tc_affine_compose(const tc_loop *l, const tc_affine **index, int rank, const tc_affine as[64]) {
    if (!rank) return true;
    tc_affine *out = tc_arena_dup(l->arena, *index, sizeof *out * (size_t)rank);
    *index = out;
    for (int d = 0; d < rank; d++)
        if (!compose(l->sym, &out[d], as)) return false;
    return true;
}

bool tc_loop_axes_at(const tc_loop *l, const tc_affine *stored, const tc_affine *found, int rank, tc_affine as[64]) {
    bool set[64] = {false};
    for (int d = 0, a; d < rank; d++) {
        if (tc_affine_is_zero(&stored[d])) continue; /* one element */
        if (!tc_affine_is_axis(&stored[d], &a) || set[a]) return false;
        as[a] = found[d], set[a] = true;
    }
    for (int a = 0; a < l->naxes; a++)
        if (!set[a]) {
            if (l->stores.data[0].axes >> a & 1) return false;
            as[a] = (tc_affine){.base = tc_sym_int(l->sym, 0)};
        }
    return true;
}

static uint64_t map_axes(uint64_t axes, const tc_affine as[64]) {
    uint64_t out = 0;
    for (int a = 0; a < 64; a++)
        if (axes >> a & 1) out |= tc_affine_axes(&as[a]);
    return out;
}

bool tc_loop_append(tc_loop *l, const tc_loop *from, const tc_affine as[64], const tc_lv *given, bool stores, tc_lv *out_at) {
    for (size_t i = 0; i < from->inst.len; i++) {
        tc_linst in = from->inst.data[i];
        if (given[i] != TC_LV_NONE) {
            out_at[i] = given[i];
            continue;
        }
        if (in.kind == TC_L_LOAD) in.buffer = tc_loop_buffer(l, from->buffers.data[in.buffer].value);
        tc_loop_rename(l, &in, out_at);
        if (!tc_affine_compose(l, &in.index, in.rank, as)) return false;
        in.over = map_axes(in.over, as);
        out_at[i] = tc_loop_push(l, in);
    }
    for (size_t i = 0; stores && i < from->stores.len; i++) {
        tc_lstore st = from->stores.data[i];
        st.buffer = tc_loop_buffer(l, from->buffers.data[st.buffer].value);
        st.value = out_at[st.value];
        if (st.pred != TC_LV_NONE) st.pred = out_at[st.pred];
        if (!tc_affine_compose(l, &st.index, st.rank, as)) return false;
        tc_loop_store(l, st);
    }
    return true;
}

static void each_index(const tc_affine *index, int rank, void (*fn)(void *ctx, tc_sym number), void *ctx) {
    for (int d = 0; index && d < rank; d++) {
        if (index[d].base) fn(ctx, index[d].base);
        for (int k = 0; k < index[d].n; k++) fn(ctx, index[d].term[k].coef);
    }
}

void tc_loop_each_number(const tc_loop *l, void (*fn)(void *ctx, tc_sym number), void *ctx) {
    for (int a = 0; a < l->naxes; a++) fn(ctx, l->axes[a].extent);
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (in->host) fn(ctx, in->host);
        each_index(in->index, in->kind == TC_L_INDEX ? 1 : in->rank, fn, ctx);
    }
    for (size_t i = 0; i < l->stores.len; i++) each_index(l->stores.data[i].index, l->stores.data[i].rank, fn, ctx);
}
