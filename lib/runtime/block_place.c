/* Gives every value of a nest its memory: a tensor (direct loads and stores), a row buffer, or a slot of the worker's scratch that is shared between
 * values whose live ranges do not overlap. Plans the prefetching of tensors that are read or written sequentially. */
#include "runtime/block_plan.h"

#include "base/ints.h"

/* ---- direct stores ---- */
/* Can the step write its block to memory? in_place: the memory may be that of an operand, of which some loads read elements after they have written. */
static bool can_write(const step *s, bool in_place) {
    return s->kind <= S_CAST || s->kind == S_SCAN || (!in_place && (s->kind == S_LOAD || s->kind == S_GATHER || s->kind == S_INDEX));
}
/* If a value that is stored densely is computed by an element-wise step of the same list, that step writes to memory directly, and the store is dropped.
 * last: no other list is executed after this one. */
static void write_list(ctx *c, steps *list, uint64_t need, bool last) {
    nest *n = c->n;
    for (size_t k = 0; k < list->len; k++) {
        step st = list->data[k];
        if (st.kind != S_STORE) continue;
        const access *a = &n->acc[st.aux];
        node *v = &c->v[st.a];
        if (!a->dense || a->pred >= 0 || a->dtype != v->dtype || v->cls != a->cls || v->kept || v->need != need || n->places[st.a].kind == P_MEM)
            continue;
        size_t made = 0;
        while (made < list->len && list->data[made].out != st.a) made++;
        if (made >= list->len || !can_write(&list->data[made], c->p->in_place)) continue;
        if (c->p->in_place && (c->p->tn->nstores > 1 || !last || made + 2 < list->len)) continue;
        n->places[st.a] = (place){.kind = P_MEM, .cls = v->cls, .shift = a->shift, .acc = st.aux};
        memmove(&list->data[k], &list->data[k + 1], (list->len - k - 1) * sizeof(step));
        list->len--;
        k--;
    }
}
static void write_through(ctx *c) {
    nest *n = c->n;
    for (int s = 0; s < n->nstages; s++) write_list(c, &n->body[s], UINT64_C(1) << s, s == n->nstages - 1);
    for (int s = 0; s <= n->nstages && !n->chunked; s++) { /* chunked: all workers execute these lists, but only one may store */
        size_t later = 0;
        for (int k = s; k < n->nstages; k++) later += n->body[k].len + n->row[k + 1].len;
        write_list(c, &n->row[s], 0, !later);
    }
}

typedef struct {
    size_t offset, bytes;
    int last, value;
} placed;

static size_t value_bytes(const ctx *c, const node *v) {
    size_t n = (v->cls & CLS_O ? (size_t)c->n->R : 1) * (v->cls & CLS_I ? (size_t)(v->kept ? c->n->I.total : c->n->C) : 1);
    if (v->thin) n = (size_t)c->n->R * (size_t)(c->n->C / run_length(c->n) + 2);
    size_t bytes = tc_pad64(n << v->shift);
    return bytes >= 2048 ? bytes + 192 : bytes; /* so that large values do not all have the same offset in a page */
}

/* Gives values slots by first fit over their live ranges, in the given order. An operand of the same size that is last used where the result is made
 * leaves its slot to the result. Returns the end of the scratch. */
static size_t place_values(ctx *c, const live_ranges *l, const int *order, int norder, size_t base) {
    nest *n = c->n;
    placed *h = tc_xcalloc((size_t)c->nv + 1, sizeof *h);
    int nh = 0;
    size_t top = base;
    for (int k = 0; k < norder; k++) {
        int i = order[k];
        node *v = &c->v[i];
        size_t bytes = value_bytes(c, v), at = base;
        int pos = l->first[i];
        bool over = false;
        int keep = 0;
        for (int j = 0; j < nh; j++) {
            node *u = &c->v[h[j].value];
            bool elementwise = v->what == V_INST && c->p->loop->inst.data[v->inst].kind == TC_L_SCALAR;
            bool operand = h[j].value == v->a[0] || h[j].value == v->a[1] || h[j].value == v->a[2] || h[j].value == v->a[3];
            if (!over && elementwise && operand && h[j].last == pos && u->shift == v->shift && h[j].bytes == bytes && u->cls == v->cls && !u->thin &&
                v->level == BODY && u->level == BODY && !u->kept && !v->kept) {
                over = true;
                at = h[j].offset;
                continue;
            }
            if (h[j].last >= pos) h[keep++] = h[j];
        }
        nh = keep;
        if (!over)
            for (bool moved = true; moved;) {
                moved = false;
                for (int j = 0; j < nh; j++)
                    if (at < h[j].offset + h[j].bytes && h[j].offset < at + bytes) {
                        at = h[j].offset + h[j].bytes;
                        moved = true;
                    }
            }
        h[nh++] = (placed){at, bytes, l->last[i], i};
        if (at + bytes > top) top = at + bytes;
        n->places[i] = (place){.kind = v->kept ? P_KEPT : P_SLOT, .cls = v->cls, .shift = v->shift, .offset = at, .acc = -1};
    }
    free(h);
    return top;
}

void place_all(ctx *c, const live_ranges *l) {
    nest *n = c->n;
    n->nplaces = c->nv;
    n->places = tc_xcalloc((size_t)c->nv + 1, sizeof *n->places);
    for (int i = 0; i < c->nv; i++)
        if (direct_load(c, &c->v[i]))
            n->places[i] = (place){.kind = P_MEM, .cls = c->v[i].cls, .shift = n->acc[c->v[i].acc].shift, .acc = c->v[i].acc};
    write_through(c);
    int *order = tc_xcalloc((size_t)c->nv + 1, sizeof *order), norder = 0;
    for (int i = 0; i < c->nv; i++) {
        if (c->v[i].what == V_STORE || n->places[i].kind == P_MEM || l->first[i] < 0) continue;
        int k = norder++;
        for (; k && l->first[order[k - 1]] > l->first[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    size_t at = tc_pad64((size_t)c->nv * sizeof(void *)) + tc_pad64((size_t)n->nacc * 8);
    for (int k = 0; k < n->nred; k++) {
        n->red[k].state = at;
        at += reduction_state(n, &n->red[k]);
        at = tc_pad64(at + (size_t)n->R * 16); /* also a scan's carry */
    }
    n->tmp = at;
    at += (size_t)(n->R * n->C) * 16 + 64;
    n->index = at;
    bool gathers = false;
    for (int k = 0; k < n->nacc; k++) gathers |= n->acc[k].ngather || n->acc[k].pred >= 0;
    if (gathers) at += (size_t)(n->R * n->C) * 16;
    at = tc_pad64(at);
    const int64_t fast = n->col ? n->R : n->C;
    for (int i = 0; i < c->nv; i++)
        if (c->v[i].split) {
            n->acc[c->v[i].acc].list = at;
            at += tc_pad64(sizeof(index_list) + (size_t)(fast + index_list_runs(fast)) * 8);
        }
    n->partial = at;
    if (n->chunked) at += tc_pad64((size_t)(chunk_count(n) + 1) * (size_t)n->nred * part_bytes(n));
    n->scratch = (place_values(c, l, order, norder, at) + 4095) & ~(size_t)4095;
    n->moving = tc_xcalloc((size_t)c->nv + 1, sizeof *n->moving);
    for (int i = 0; i < c->nv; i++)
        if (n->places[i].kind == P_MEM || n->places[i].kind == P_KEPT) n->moving[n->nmoving++] = i;
    free(order);
}

/* ---- prefetching ---- */
static int pieces(const nest *n, const step *s) {
    bool rows = s->kind == S_FN_NARROW && s->narrow != s->fixed && (n->R > 1 || s->thin);
    if ((s->kind != S_FN && s->kind != S_FN_NARROW && s->kind != S_SELECT && s->kind != S_CAST) || rows) return 1;
    int64_t count = (s->cls & CLS_O ? n->R : 1) * (s->cls & CLS_I ? n->C : 1);
    return (int)((count + n->piece - 1) / n->piece);
}

/* Finds the streams: memory that every block reads or writes contiguously. Nothing is prefetched unless they are so large together that they are not in
 * a near cache (tc_costs). */
void plan_prefetch(const ctx *c) {
    nest *n = c->n;
    if (c->p->loop->region) return; /* the kernel has not yet computed the next region */
    int total = 0, count = 0, *work = tc_xcalloc((size_t)n->nstages + 1, sizeof *work);
    size_t footprint = 0;
    bool heavy = false;
    for (int s = 0; s < n->nstages; s++) {
        count += (int)n->body[s].len;
        for (size_t k = 0; k < n->body[s].len; k++) heavy |= n->body[s].data[k].kind == S_FN && n->body[s].data[k].op > TC_X_EXP2;
    }
    n->piece = n->reduces ? PIECE : PIECE * count;
    for (int s = 0; s < n->nstages; s++) {
        for (size_t k = 0; k < n->body[s].len; k++) {
            step *at = &n->body[s].data[k];
            at->pieces = pieces(n, at);
            work[s] += at->pieces;
        }
        total += work[s];
    }
    for (int i = 0; i < n->nplaces && n->nstreams < MAX_STREAMS; i++) {
        const place *at = &n->places[i];
        if (at->kind != P_MEM || at->cls != c->p->full || !n->acc[at->acc].dense) continue;
        stream *st = &n->streams[n->nstreams++];
        *st = (stream){.place = i, .written = c->v[i].what != V_INST || c->v[i].acc != at->acc, .bytes = (n->R * n->C) << at->shift};
        st->lead = count == 1 ? PREFETCH_DISTANCE : st->bytes;
        st->pace = tc_xcalloc((size_t)n->nstages, sizeof *st->pace);
        for (int s = 0; s < n->nstages; s++) {
            int64_t lines = (st->bytes + LINE - 1) / LINE, share = c->single ? total : work[s];
            st->pace[s] = share ? (int)((lines + share - 1) / share) : 0;
        }
        footprint += (size_t)(n->O.total * n->I.total) << at->shift;
    }
    free(work);
    const bool pays =
        total > 1 && !(count == 1 && heavy); /* total > 1: there is a piece to prefetch after; most elementary functions are slower than memory */
    const tc_costs *costs = c->p->costs;
    if (pays && footprint >= (size_t)(count > 1 && !n->reduces ? costs->chain_bytes : costs->far_bytes)) return;
    for (int k = 0; k < n->nstreams; k++) free(n->streams[k].pace);
    n->nstreams = 0;
}
