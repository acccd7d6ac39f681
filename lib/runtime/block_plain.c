/* Recognises epilogues that kernels can compute themselves (tc_epilogue_plain), or whose first part they can:
 *
 *     store min(max(fma(result, scale[c], shift[c]) + residual, low), high)      every part but the result may be absent
 *     store f(min(max(fma(result, scale[c], shift[c]) + residual, low), high))   the scale is present; f does not read the result otherwise
 *
 * For bf16, the first form, with each sum rounded, possibly followed by a function from a table (block_table.c), is one pass over a region
 * (tc_half_rows); scale and shift are float32. */
#include <math.h>

#include "runtime/block_impl.h"

typedef struct {
    const tc_loop *l;
    const nest *n;
    tc_dtype dtype;   /* of the result and the store */
    tc_dtype compute; /* of scale, shift and instructions */
} finder;

static const tc_linst *inst(const finder *f, tc_lv v) { return &f->l->inst.data[v]; }
static bool is_scalar(const finder *f, tc_lv v, tc_scalar_op op) {
    return inst(f, v)->kind == TC_L_SCALAR && inst(f, v)->op == op && inst(f, v)->dtype == f->compute;
}
static const access *access_of(const finder *f, int inst, int buffer) {
    for (int k = 0; k < f->n->nacc; k++)
        if (f->n->acc[k].inst == inst && f->n->acc[k].buffer == buffer) return &f->n->acc[k];
    return NULL;
}
/* Is the access a contiguous matrix of all rows x all columns? */
static bool is_whole(const finder *f, const access *a) {
    return a && a->cls == CLS_OI && a->dtype == f->dtype && !a->at.base && side_chain(&f->n->I, a->at.i, 1) &&
           side_chain(&f->n->O, a->at.o, f->n->I.total);
}
/* Is it a contiguous vector with an element for each column? */
static bool is_column(const finder *f, const access *a) {
    return a && a->cls == CLS_I && a->dtype == f->compute && !a->at.base && side_chain(&f->n->I, a->at.i, 1);
}
/* The buffer that v loads in this way, or -1. */
static int loaded(const finder *f, tc_lv v, bool whole) {
    const tc_linst *in = inst(f, v);
    if (in->kind != TC_L_LOAD || in->gather || in->pred != TC_LV_NONE) return -1;
    const access *a = access_of(f, v, in->buffer);
    return (whole ? is_whole(f, a) : is_column(f, a)) ? in->buffer : -1;
}
/* If v is op(x, number): x, and the number in *out; else v. */
static tc_lv bounded(const finder *f, tc_lv v, tc_scalar_op op, double *out) {
    if (!is_scalar(f, v, op) || inst(f, inst(f, v)->a[1])->kind != TC_L_CONST) return v;
    const double bound = tc_scalar_to_double(inst(f, inst(f, v)->a[1])->imm);
    if (isnan(bound)) return v;
    *out = bound;
    return inst(f, v)->a[0];
}
static bool is_rounding(const finder *f, tc_lv v) {
    return f->compute != f->dtype && inst(f, v)->kind == TC_L_ROUND && inst(f, v)->narrow == f->dtype;
}
/* The operand of a rounding to the result's type; v if it is none. */
static tc_lv unrounded(const finder *f, tc_lv v) { return is_rounding(f, v) ? inst(f, v)->a[0] : v; }
/* If v is x + residual, with x an fma or a load: x, and the residual in out->more; else v. */
static tc_lv added(const finder *f, tc_lv v, block_plain *out) {
    if (!is_scalar(f, v, TC_X_ADD)) return v;
    const tc_lv *a = inst(f, v)->a;
    const int from = is_scalar(f, unrounded(f, a[1]), TC_X_FMA) ? 1 : 0;
    out->more = loaded(f, a[1 - from], true);
    return out->more < 0 ? v : a[from];
}

/* Does v have the first form? Sets the buffers, the bounds and out->load. */
static bool plain_from(const finder *f, tc_lv v, block_plain *out) {
    *out = (block_plain){
        .result = -1, .store = out->store, .scale = -1, .shift = -1, .more = -1, .table = -1, .low = -INFINITY, .high = INFINITY, .last = v};
    const bool halves = f->compute != f->dtype;
    v = bounded(f, v, TC_X_MIN, &out->high);
    v = bounded(f, v, TC_X_MAX, &out->low);
    if (halves && !is_rounding(f, v) && inst(f, v)->kind != TC_L_LOAD) return false;
    v = added(f, unrounded(f, v), out);
    if (halves && out->more >= 0 && !is_rounding(f, v) && inst(f, v)->kind != TC_L_LOAD) return false;
    if (out->more >= 0) v = unrounded(f, v);
    if (is_scalar(f, v, TC_X_FMA)) {
        out->scale = loaded(f, inst(f, v)->a[1], false), out->shift = loaded(f, inst(f, v)->a[2], false);
        if (out->scale < 0 || out->shift < 0) return false;
        v = inst(f, v)->a[0];
    }
    out->load = v;
    out->result = loaded(f, v, true);
    return out->result >= 0;
}
/* Does the store depend on the result only through p->last? */
static bool only_through_last(const finder *f, const block_plain *p) {
    const tc_loop *l = f->l;
    uint8_t *live = tc_xcalloc(l->inst.len, 1);
    bool only = true;
    live[l->stores.data[0].value] = 1;
    for (tc_lv v = (tc_lv)l->inst.len; v-- > 0;) {
        const tc_linst *in = inst(f, v);
        if (!live[v] || v == p->last) continue;
        only &= in->kind != TC_L_LOAD || (in->buffer != p->result && !in->gather && in->pred == TC_LV_NONE);
        for (int k = 0; k < 3; k++)
            if (in->a[k] != TC_LV_NONE) live[in->a[k]] = 1;
    }
    only &= live[p->last];
    free(live);
    return only;
}

void find_plain(tc_block *b, const tc_loop *l, const nest *n, const tc_lv *root) {
    block_plain *out = &b->plain;
    *out = (block_plain){.result = -1};
    if (l->stores.len != 1 || l->stores.data[0].pred != TC_LV_NONE) return;
    const tc_lv value = l->stores.data[0].value;
    out->store = l->stores.data[0].buffer;
    const tc_dtype d = l->buffers.data[out->store].dtype;
    const bool half = d == TC_BF16;
    const finder f = {l, n, d, half ? TC_F32 : d};
    if ((!half && d != TC_F32 && d != TC_F64) || !is_whole(&f, access_of(&f, -1, out->store))) return;
    const tc_lv from = half && root[value] != TC_LV_NONE ? root[value] : value;
    if (plain_from(&f, from, out)) {
        out->half = half, out->cols = n->I.total, out->table = from != value ? table_of(b, l, from, value) : -1;
        return;
    }
    if (half) {
        out->result = -1;
        return;
    }
    for (tc_lv v = value; v-- > 0;)
        if (plain_from(&f, v, out) && out->scale >= 0 && only_through_last(&f, out)) {
            out->first = true;
            return;
        }
    out->result = -1;
}

/* The loop must store where the kernel does. In a sum of two loads without a scale either may be the kernel's result; the other may be an input that
 * the loop mutates, and stores over. */
bool plain_regions(const tc_block *b, void *const *data, const void *kernel_result, tc_epilogue_plain *out) {
    const block_plain *p = &b->plain;
    if (p->result < 0) return false;
    int result = p->result, more = p->more;
    if (more >= 0 && p->scale < 0 && data[more] == kernel_result) result = p->more, more = p->result;
    if (data[result] != kernel_result || data[p->store] != kernel_result) return false;
    if (more >= 0 && data[more] == kernel_result) return false; /* y + y: a kernel reads a residual before it stores the result */
    for (int k = 0; k < b->nbuffers; k++)                       /* nothing else may read memory that is overwritten */
        if (k != result && k != p->store && data[k] == data[p->store]) return false;
    *out = (tc_epilogue_plain){.low = p->low, .high = p->high, .table = p->table < 0 ? NULL : b->tables->list.data[p->table].entries};
    if (p->scale >= 0) out->scale = data[p->scale], out->shift = data[p->shift];
    if (more >= 0) out->more = data[more];
    return true;
}
tc_half_rows half_regions(const tc_block *b, void *const *data) {
    const block_plain *p = &b->plain;
    tc_half_rows out = {.out = data[p->store], .x = data[p->result], .cols = p->cols, .low = (float)p->low, .high = (float)p->high};
    if (p->scale >= 0) out.scale = data[p->scale], out.shift = data[p->shift];
    if (p->more >= 0) out.more = data[p->more];
    if (p->table >= 0) out.table = b->tables->list.data[p->table].entries;
    return out;
}
