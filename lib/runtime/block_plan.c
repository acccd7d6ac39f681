/* Translates the instructions of a nest to steps: decides the class of each value, where it must be broadcast, and in which stages and how often it is
 * computed. block_place.c then gives each value its memory. */
#include "runtime/block_plan.h"

/* Does a block of class `from` have the elements of one of class `to`? So it does if the sides that it lacks have one element. */
static bool same_layout(const ctx *c, int from, int to) {
    int missing = to & ~from;
    if (missing & CLS_O && c->n->R > 1) return false;
    return !(missing & CLS_I && (c->n->C > 1 || c->n->I.total != 1));
}

static int add(ctx *c, node v) {
    if (c->nv == c->cap) c->v = tc_xrealloc(c->v, (size_t)(c->cap = c->cap ? c->cap * 2 : 64) * sizeof *c->v);
    c->v[c->nv] = v;
    return c->nv++;
}

void raise_to(const ctx *c, node *v, int operand) {
    if (operand < 0) return;
    const node *o = &c->v[operand];
    if (o->level > v->level) v->level = o->level;
    if (o->stage > v->stage) v->stage = o->stage;
}

/* The value in class `to`: itself, or broadcast, once for each class. */
static int broadcast(ctx *c, int v, int to) {
    if (v < 0 || same_layout(c, c->v[v].cls, to)) return v;
    for (int i = v + 1; i < c->nv; i++)
        if (c->v[i].what == V_BROADCAST && c->v[i].a[0] == v && c->v[i].cls == to) return i;
    const node *from = &c->v[v];
    node s = {.what = V_BROADCAST,
              .cls = (uint8_t)to,
              .dtype = from->dtype,
              .shift = from->shift,
              .inst = from->inst,
              .a = {v, -1, -1, -1},
              .acc = -1,
              .red = -1,
              .pred = -1,
              .store = -1};
    raise_to(c, &s, v);
    bool body = s.level == BODY;
    if (to == CLS_OI && from->cls == CLS_O) body |= c->n->R > 1 && !c->n->col && !c->single;
    if (to == CLS_OI && from->cls == CLS_I) {
        body |= !c->single;
        if (c->n->col && s.level < ROW) s.level = ROW;
    }
    if (body) s.level = BODY;
    return add(c, s);
}

/* Raises the level to what the class needs. A value that varies along the columns only, and whose block has all of them, is computed once if there are
 * several blocks of rows. */
static void set_level(const ctx *c, node *v) {
    const bool blocks = c->n->R < c->n->O.total || c->p->loop->region;
    if (v->cls & CLS_I) v->level = v->cls == CLS_I && c->single && blocks && v->level == ONCE ? ONCE : BODY;
    else if ((v->cls & CLS_O || (!blocks && v->a[0] >= 0)) && v->level < ROW) v->level = ROW;
}

static tc_status add_load(ctx *c, node *v, const tc_linst *in) {
    access *a = &c->n->acc[v->acc];
    a->pred = v->pred = in->pred == TC_LV_NONE ? -1 : broadcast(c, c->of[in->pred], v->cls);
    raise_to(c, v, v->pred);
    if (!a->ngather) return NULL;
    v->split = v->pred < 0;
    for (int k = 0; k < a->ngather; k++) {
        for (int d = 0; d < c->n->O.n; d++) v->split &= a->gather[k].at.o[d] == 0;
        for (int d = 0; d < c->n->I.n; d++) v->split &= a->gather[k].at.i[d] == 0;
    }
    for (int k = 0; k < a->ngather; k++) {
        int g = c->of[a->gather[k].value];
        a->gather[k].value = v->split ? g : broadcast(c, g, v->cls);
        a->gather[k].cls = c->v[g].cls;
        if (c->v[g].cls == CLS_O || c->v[g].cls == CLS_I) a->along[c->v[g].cls >> 1] = true;
        raise_to(c, v, a->gather[k].value);
    }
    return NULL;
}

enum { ENOUGH = 64 }; /* elements of a call of a primitive */
/* Is there a primitive for the operation with one operand of a single element? */
static bool takes_one(const ctx *c, const tc_linst *in) {
    if (in->kind != TC_L_SCALAR) return false;
    if (in->op == TC_X_FMA) return in->dtype == TC_F32;
    return (in->dtype == TC_F32 || in->dtype == TC_F64) && c->p->isa->scalar_one[0][in->op];
}

/* Is v a block beside load i, which is the same element along the last inner axis? */
static bool is_block(const ctx *c, tc_lv v, int i, int last) {
    const tc_linst *in = &c->p->loop->inst.data[v];
    return (in->kind != TC_L_LOAD || c->n->acc[c->p->acc_of[v]].at.i[last]) && (in->axes | c->p->loop->inst.data[i].axes) == in->axes;
}
/* Does load i read the same element along the last of several inner axes (as a channel's weight for its pixels), and is it used only by arithmetic with
 * blocks? Then its value is one element for each run along that axis, instead of a block. */
static bool thin_load(const ctx *c, int i, int cls) {
    const tc_loop *l = c->p->loop;
    const nest *n = c->n;
    const access *a = &n->acc[c->p->acc_of[i]];
    const int last = n->I.n - 1;
    if (!(cls & CLS_I) || n->col || n->regions || last < 1 || a->at.i[last] || run_length(n) < ENOUGH) return false;
    if (n->R > 1 && n->C < n->I.total) return false; /* a block would have parts of several rows */
    if (a->ngather || a->pred >= 0 || l->inst.data[i].pred != TC_LV_NONE || a->dtype != l->inst.data[i].dtype) return false;
    int uses = 0;
    for (size_t k = (size_t)i + 1; k < l->inst.len; k++) {
        const tc_linst *in = &l->inst.data[k];
        const bool is_operand[3] = {in->a[0] == i, in->a[1] == i, in->a[2] == i};
        if (!c->p->live[k] || is_operand[0] + is_operand[1] + is_operand[2] != 1 || !takes_one(c, in)) continue;
        uses += is_block(c, in->a[is_operand[0]], i, last) || (is_operand[2] && is_block(c, in->a[1], i, last));
    }
    return uses == c->uses[i];
}

/* The operands (bit k: operand k) that an arithmetic operation can take with one element for each row, for each run or in all, instead of a broadcast
 * block; another operand is a block. */
static unsigned narrow_operands(const ctx *c, const tc_linst *in, int cls) {
    if (!takes_one(c, in)) return 0;
    const int slow = c->n->col ? CLS_I : CLS_O, n = in->op == TC_X_FMA ? 3 : 2;
    const int64_t fast_n = cls & (CLS_OI & ~slow) ? (c->n->col ? c->n->R : c->n->C) : 1;
    unsigned single = 0, thin = 0, all = 0; /* one element: in all or for each row; for each run; in all */
    for (int k = 0; k < n; k++) {
        const node *v = &c->v[c->of[in->a[k]]];
        if (v->thin) thin |= 1u << k;
        else if (same_layout(c, v->cls, cls)) continue;
        else if (v->cls == CLS_0) all |= 1u << k;
        else if (v->cls == slow && cls == CLS_OI && fast_n >= ENOUGH) single |= 1u << k;
    }
    single |= all;
    if (thin) single = n == 3 && (c->n->R == 1 || !(single & ~all)) ? single | thin : thin; /* a call has operands for each row or for each run */
    if ((single & 3) == 3) single &= ~(thin & 1 ? 2u : 1u);                                 /* one of the operands of the sum or product is a block */
    return single;
}

static void count_uses(ctx *c) {
    const tc_loop *l = c->p->loop;
    for (size_t i = 0; i < l->inst.len; i++) {
        const tc_linst *in = &l->inst.data[i];
        if (!c->p->live[i]) continue;
        if (c->p->root[i] != TC_LV_NONE) {
            c->uses[table_operand(l, c->p->root[i])]++;
            continue;
        }
        tc_lv operand[TC_LOOP_OPERANDS];
        const int n = tc_loop_operands(in, operand);
        for (int k = 0; k < n; k++) c->uses[operand[k]]++;
    }
    for (int k = 0; k < c->p->tn->nstores; k++) {
        const tc_lstore *st = &l->stores.data[c->p->tn->stores[k]];
        c->uses[st->value]++;
        if (st->pred != TC_LV_NONE) c->uses[st->pred]++;
    }
}

/* The argument of a table as 16-bit numbers: as it is in memory, or rounded. */
static int add_half(ctx *c, tc_lv from) {
    if (c->half[from] >= 0) return c->half[from];
    const tc_loop *l = c->p->loop;
    const tc_linst *in = &l->inst.data[from];
    const tc_lv operand = table_operand(l, from);
    node v = {.what = V_CAST,
              .inst = -1,
              .cls = c->v[c->of[operand]].cls,
              .shift = 1,
              .a = {-1, -1, -1, -1},
              .acc = -1,
              .red = -1,
              .pred = -1,
              .store = -1};
    v.dtype = (uint8_t)half_type(l, from);
    if (in->kind == TC_L_LOAD && !in->gather && in->pred == TC_LV_NONE) v.what = V_INST, v.inst = from, v.acc = c->p->acc_of[from];
    else v.a[0] = c->of[operand], raise_to(c, &v, v.a[0]);
    set_level(c, &v);
    return c->half[from] = add(c, v);
}
/* A rounding that is looked up in a table: its value as 16-bit numbers, and converted to float32 for instructions that use it. */
static void add_table(ctx *c, int i) {
    const tc_linst *in = &c->p->loop->inst.data[i];
    const int from = add_half(c, c->p->root[i]);
    node v = {
        .what = V_TABLE, .inst = i, .dtype = (uint8_t)in->narrow, .shift = 1, .a = {from, -1, -1, -1}, .acc = -1, .red = -1, .pred = -1, .store = -1};
    v.cls = c->v[from].cls, v.table = table_of(c->p->made, c->p->loop, c->p->root[i], i);
    raise_to(c, &v, from);
    set_level(c, &v);
    v.a[0] = c->half[i] = add(c, v);
    v.what = V_CAST, v.dtype = (uint8_t)in->dtype, v.shift = 2;
    c->of[i] = add(c, v);
}

static tc_status add_inst(ctx *c, int i) {
    if (c->p->root[i] != TC_LV_NONE) {
        add_table(c, i);
        return NULL;
    }
    const tc_linst *in = &c->p->loop->inst.data[i];
    node v = {.what = V_INST,
              .inst = i,
              .dtype = (uint8_t)in->dtype,
              .shift = (uint8_t)__builtin_ctz((unsigned)tc_dtype_size(in->dtype)),
              .a = {-1, -1, -1, -1},
              .acc = c->p->acc_of[i],
              .red = -1,
              .pred = -1,
              .store = -1};
    v.cls = (uint8_t)((in->axes & c->p->outer_on ? CLS_O : 0) | (in->axes & c->p->inner_on ? CLS_I : 0));
    int operand_cls = v.cls;
    v.thin = in->kind == TC_L_LOAD && thin_load(c, i, v.cls);
    switch (in->kind) {
    case TC_L_REDUCE:
    case TC_L_SCAN:
        if (in->kind == TC_L_REDUCE && !in->over) return tc_error(TC_UNSUPPORTED, "welford over no axis");
        operand_cls = c->p->full;
        v.cls = (uint8_t)(in->kind == TC_L_SCAN ? c->p->full : c->p->full & CLS_O);
        v.red = c->n->nred;
        break;
    case TC_L_PART:
        v.cls = c->v[c->of[in->a[0]]].cls;
        operand_cls = v.cls;
        break;
    default: break;
    }
    v.narrow = (uint8_t)narrow_operands(c, in, operand_cls);
    for (int k = 0; k < 3; k++)
        if (in->a[k] != TC_LV_NONE) {
            v.a[k] = v.narrow >> k & 1 ? c->of[in->a[k]] : broadcast(c, c->of[in->a[k]], operand_cls);
            raise_to(c, &v, v.a[k]);
        }
    if (in->op == TC_X_FMA && v.narrow & 1) { /* the factors change places */
        const int factor = v.a[0];
        v.a[0] = v.a[1], v.a[1] = factor;
        v.narrow ^= 3;
    }
    fuse_steps(c, &v);
    if (in->kind == TC_L_LOAD) TC_TRY(add_load(c, &v, in));
    if (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) {
        reduction *r = &c->n->red[c->n->nred++];
        *r = (reduction){.op = in->op, .dtype = c->v[v.a[0]].dtype, .whole = c->single || in->kind == TC_L_SCAN};
        if (in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD) v.shift = 5; /* three doubles, in 32 bytes for each row */
    }
    if (in->kind == TC_L_REDUCE) {
        v.stage++;
        v.level = ROW;
    } else set_level(c, &v);
    c->of[i] = add(c, v);
    return NULL;
}

static void add_store(ctx *c, int k) {
    const tc_lstore *st = &c->p->loop->stores.data[c->p->tn->stores[k]];
    access *a = &c->n->acc[c->p->store_acc[k]];
    node v = {.what = V_STORE,
              .inst = -1,
              .store = k,
              .cls = a->cls,
              .a = {-1, -1, -1, -1},
              .acc = c->p->store_acc[k],
              .red = -1,
              .pred = -1,
              .level = ROW};
    const tc_linst *value = &c->p->loop->inst.data[st->value];
    const int half = c->half[st->value];
    const bool rounds = value->kind == TC_L_ROUND && value->narrow == a->dtype && c->uses[st->value] == 1; /* storing rounds too */
    if (half >= 0 && c->v[half].dtype == a->dtype) v.a[0] = broadcast(c, half, a->cls);
    else v.a[0] = broadcast(c, c->of[rounds && c->p->root[st->value] == TC_LV_NONE ? value->a[0] : st->value], a->cls);
    v.dtype = c->v[v.a[0]].dtype;
    v.shift = c->v[v.a[0]].shift;
    a->pred = v.pred = st->pred == TC_LV_NONE ? -1 : broadcast(c, c->of[st->pred], a->cls);
    raise_to(c, &v, v.a[0]);
    raise_to(c, &v, v.pred);
    v.level = a->cls & CLS_I ? BODY : ROW;
    add(c, v);
}

/* ---- which stages need a value of the body ---- */
bool direct_load(const ctx *c, const node *v) {
    if (v->what != V_INST || c->p->loop->inst.data[v->inst].kind != TC_L_LOAD) return false;
    const access *a = &c->n->acc[v->acc];
    return (a->dense || v->strided) && !a->ngather && v->pred < 0 && a->dtype == v->dtype;
}

static bool is_reduce(const ctx *c, const node *v) { return v->what == V_INST && c->p->loop->inst.data[v->inst].kind == TC_L_REDUCE; }

static void find_strided(ctx *c) {
    const nest *n = c->n;
    if (!n->col || n->I.n != 1 || n->O.n != 1) return;
    for (int i = 0; i < c->nv; i++) {
        node *v = &c->v[i];
        if (v->what != V_INST || c->p->loop->inst.data[v->inst].kind != TC_L_LOAD || v->cls != CLS_OI || c->p->full != CLS_OI) continue;
        v->strided = n->acc[v->acc].at.o[0] == 1 && n->acc[v->acc].at.i[0] && !n->acc[v->acc].dense; /* stride 0 would mean a block */
        v->strided &= direct_load(c, v); /* loads that convert, gather or have a predicate make a block */
        for (int k = i + 1; k < c->nv && v->strided; k++) {
            const node *u = &c->v[k];
            bool uses = u->a[0] == i || u->a[1] == i || u->a[2] == i || u->a[3] == i || u->pred == i;
            for (int g = 0; u->acc >= 0 && g < n->acc[u->acc].ngather; g++) uses |= n->acc[u->acc].gather[g].value == i;
            v->strided = !uses || is_reduce(c, u);
        }
    }
}

/* Is the value worth a row buffer? Loads and broadcasts are repeated instead. */
static bool worth_keeping(const ctx *c, const node *v) {
    if (v->what == V_TABLE) return true;
    if (v->what != V_INST) return false;
    int kind = c->p->loop->inst.data[v->inst].kind;
    return kind == TC_L_SCALAR || kind == TC_L_CAST || kind == TC_L_ROUND || kind == TC_L_SCAN;
}

static int first_stage(const node *v) { return v->need ? __builtin_ctzll(v->need) : 64; }

/* Stage `stage` needs value `at`. If an earlier stage computed it, it is kept in a row buffer, as long as the budget (bytes) lasts, or recomputed, which
 * needs its operands. */
static void need(ctx *c, int at, int stage, size_t *budget) {
    if (at < 0) return;
    node *v = &c->v[at];
    if (v->level != BODY || v->need >> stage & 1) return;
    int first = first_stage(v);
    v->need |= UINT64_C(1) << stage;
    if (first < stage && c->single && !direct_load(c, v)) return; /* a single block is still in its slot */
    if (first < stage && worth_keeping(c, v)) {
        size_t bytes = ((size_t)c->n->R * (size_t)c->n->I.total) << v->shift;
        if (v->kept) return;
        if (bytes <= *budget) {
            *budget -= bytes;
            v->kept = true;
            return;
        }
    }
    for (int k = 0; k < 4; k++) need(c, v->a[k], stage, budget);
    need(c, v->pred, stage, budget);
    if (v->acc >= 0)
        for (int k = 0; k < c->n->acc[v->acc].ngather; k++) need(c, c->n->acc[v->acc].gather[k].value, stage, budget);
}

static void find_needs(ctx *c) {
    size_t budget = c->n->chunked ? 0 : (size_t)c->p->costs->near_bytes; /* a row buffer belongs to one worker, which has not all chunks */
    for (int s = 0; s < c->n->nstages; s++)
        for (int i = 0; i < c->nv; i++) {
            node *v = &c->v[i];
            bool sink = v->what == V_STORE && v->level == BODY && v->stage == s;
            bool reduce = v->what == V_INST && c->p->loop->inst.data[v->inst].kind == TC_L_REDUCE && v->stage == s + 1;
            if (sink) need(c, i, s, &budget);
            if (reduce) need(c, v->a[0], s, &budget);
        }
}

/* ---- steps ---- */
static void use(live_ranges *l, int v, int pos) {
    if (v >= 0 && pos > l->last[v]) l->last[v] = pos;
}

static void fill_constant(ctx *c, const tc_linst *in, step *s) {
    constant *k = &c->n->con[c->n->ncon];
    s->kind = in->kind == TC_L_CONST ? S_CONST : S_HOST;
    s->aux = c->n->ncon++;
    *k = (constant){.host = in->host, .dtype = in->dtype};
    c->n->hosts |= in->host != NULL;
    if (in->kind == TC_L_CONST) tc_scalar_store(in->dtype, k->bytes, 0, in->imm);
}

/* A primitive on blocks; one with narrow operands if v->narrow says so. */
static tc_status fill_function(const ctx *c, const node *v, const tc_linst *in, tc_dtype from, step *s) {
    const tc_isa_ops *isa = c->p->isa;
    tc_dtype d = in->op == TC_X_WHERE ? (tc_dtype)v->dtype : from;
    s->kind = S_FN;
    s->op = in->op;
    s->shift = v->shift;
    if (v->select) {
        s->kind = S_SELECT;
        s->select = v->select;
        s->negate = v->negate;
        s->narrow = s->fixed = v->narrow;
        return NULL;
    }
    if (v->narrow) {
        s->kind = S_FN_NARROW;
        s->narrow = v->narrow;
        for (int k = 0; k < 3; k++)
            if (s->narrow >> k & 1) s->thin |= c->v[v->a[k]].thin;
        for (int k = 0; k < 3; k++)
            if (s->narrow >> k & 1 && (c->v[v->a[k]].cls == CLS_0 || (s->thin && !c->v[v->a[k]].thin))) s->fixed |= (uint8_t)(1 << k);
        if (v->fused) s->fn = v->fused;
        else s->fn = in->op == TC_X_FMA ? isa->fma_one[v->narrow >> 1] : isa->scalar_one[(d == TC_F64) + 2 * (v->narrow == 1)][in->op];
        return NULL;
    }
    s->fn = v->fused ? v->fused : isa->scalar[d] ? isa->scalar[d][in->op] : NULL;
    return s->fn ? NULL : tc_error(TC_UNSUPPORTED, "%s of %s in a loop", tc_scalar_ops[in->op].name, tc_dtypes[d].name);
}

/* The step of an instruction, or of a conversion that no instruction asks for. */
static tc_status fill_instruction(ctx *c, const node *v, step *s) {
    const tc_linst *in = v->inst >= 0 ? &c->p->loop->inst.data[v->inst] : NULL;
    const tc_isa_ops *isa = c->p->isa;
    tc_dtype from = v->a[0] >= 0 ? (tc_dtype)c->v[v->a[0]].dtype : TC_DTYPE_NONE;
    switch (v->what == V_CAST ? TC_L_CAST : in->kind) {
    case TC_L_CONST:
    case TC_L_HOST: fill_constant(c, in, s); return NULL;
    case TC_L_INDEX:
        s->kind = S_INDEX;
        s->aux = v->acc;
        return NULL;
    case TC_L_LOAD:
        s->aux = v->acc;
        s->kind = c->n->acc[v->acc].ngather || v->pred >= 0 ? S_GATHER : S_LOAD;
        s->part = v->split;
        s->thin = v->thin;
        return NULL;
    case TC_L_CAST:
        s->kind = S_CAST;
        if (!(s->cast = isa->cast[from][v->dtype]))
            return tc_error(TC_UNSUPPORTED, "a conversion from %s to %s in a loop", tc_dtypes[from].name, tc_dtypes[v->dtype].name);
        return NULL;
    case TC_L_ROUND:
        s->kind = S_CAST;
        s->cast = isa->round[in->narrow];
        return NULL;
    case TC_L_SCALAR: return fill_function(c, v, in, from, s);
    case TC_L_REDUCE:
        if (c->v[v->a[0]].strided) c->n->red[v->red].stride = c->n->acc[c->v[v->a[0]].acc].at.i[0];
        s->kind = S_REDUCE;
        s->aux = v->red;
        s->cls = (uint8_t)c->p->full;
        return NULL;
    case TC_L_SCAN:
        s->kind = S_SCAN;
        s->aux = v->red;
        return NULL;
    case TC_L_PART:
        s->kind = S_PART;
        s->part = in->part;
        return NULL;
    default: return tc_error(TC_UNSUPPORTED, "random bits in a loop");
    }
}

static tc_status fill_step(ctx *c, const node *v, int self, step *s) {
    *s = (step){.cls = v->cls, .dtype = v->dtype, .out = self, .a = v->a[0], .b = v->a[1], .c = v->a[2], .d = v->a[3], .aux = -1};
    switch (v->what) {
    case V_BROADCAST:
        s->kind = S_BROADCAST;
        s->op = v->shift;
        s->from_cls = c->v[v->a[0]].cls;
        return NULL;
    case V_STORE:
        s->kind = S_STORE;
        s->aux = v->acc;
        s->out = -1;
        return NULL;
    case V_TABLE:
        s->kind = S_TABLE;
        s->aux = v->table;
        return NULL;
    default: return fill_instruction(c, v, s);
    }
}

static tc_status emit(ctx *c, live_ranges *l, int i, steps *to) {
    node *v = &c->v[i];
    step s;
    if (direct_load(c, v)) return NULL; /* its users read it from memory */
    TC_TRY(fill_step(c, v, i, &s));
    int pos = l->pos++;
    if (l->first[i] < 0) l->first[i] = pos;
    if (pos > l->last[i]) l->last[i] = pos;
    for (int k = 0; k < 4; k++) use(l, v->a[k], pos);
    use(l, v->pred, pos);
    if (v->acc >= 0)
        for (int k = 0; k < c->n->acc[v->acc].ngather; k++) use(l, c->n->acc[v->acc].gather[k].value, pos);
    tc_vec_push(to, s);
    return NULL;
}

/* Values that a body reads, but does not compute, live to the end of the body, as it is executed many times. */
static void close_body(ctx *c, live_ranges *l, int begin, const steps *body) {
    int end = l->pos++;
    for (size_t k = 0; k < body->len; k++) {
        const step *s = &body->data[k];
        const int used[] = {s->a, s->b, s->c, s->d};
        for (int j = 0; j < 4; j++)
            if (used[j] >= 0 && (l->first[used[j]] < begin || c->v[used[j]].kept)) use(l, used[j], end);
        if (s->out >= 0 && (l->first[s->out] < begin || c->v[s->out].kept)) use(l, s->out, end);
        /* a row buffer must not share memory with a slot of the body, not even before it is written, as the next block uses that slot */
        if (s->out >= 0 && c->v[s->out].kept && l->first[s->out] > begin) l->first[s->out] = begin;
        if (s->kind != S_LOAD && s->kind != S_GATHER && s->kind != S_STORE) continue;
        const access *a = &c->n->acc[s->aux];
        if (a->pred >= 0 && l->first[a->pred] < begin) use(l, a->pred, end);
        for (int g = 0; g < a->ngather; g++)
            if (l->first[a->gather[g].value] < begin) use(l, a->gather[g].value, end);
    }
}

static tc_status emit_all(ctx *c, live_ranges *l) {
    nest *n = c->n;
    n->row = tc_xcalloc((size_t)n->nstages + 1, sizeof *n->row);
    n->body = tc_xcalloc((size_t)n->nstages + 1, sizeof *n->body);
    for (int i = 0; i < c->nv; i++)
        if (c->v[i].level == ONCE) TC_TRY(emit(c, l, i, &n->once));
    for (int s = 0; s <= n->nstages; s++) {
        for (int i = 0; i < c->nv; i++) {
            node *v = &c->v[i];
            if (v->level != ROW || v->stage != s) continue;
            if (v->what == V_INST && c->p->loop->inst.data[v->inst].kind == TC_L_REDUCE) {
                step fin;
                TC_TRY(fill_step(c, v, i, &fin));
                fin.kind = S_FINISH;
                fin.a = -1;
                l->pos++;
                use(l, i, l->pos);
                tc_vec_push(&n->row[s], fin);
            } else TC_TRY(emit(c, l, i, &n->row[s]));
        }
        if (s == n->nstages) break;
        int begin = l->pos;
        for (int i = 0; i < c->nv; i++) {
            node *v = &c->v[i];
            bool reduce = v->what == V_INST && c->p->loop->inst.data[v->inst].kind == TC_L_REDUCE;
            if (reduce && v->stage == s + 1) TC_TRY(emit(c, l, i, &n->body[s]));
            if (v->level != BODY || reduce || !(v->need >> s & 1)) continue;
            if (first_stage(v) < s && ((c->single && !direct_load(c, v)) || v->kept)) continue; /* computed by an earlier stage */
            TC_TRY(emit(c, l, i, &n->body[s]));
        }
        close_body(c, l, begin, &n->body[s]);
    }
    return NULL;
}

static tc_status count_stages(const ctx *c) {
    nest *n = c->n;
    n->nstages = 1;
    for (int i = 0; i < c->nv; i++) {
        const node *v = &c->v[i];
        const bool body_sink = v->what == V_STORE && v->level == BODY;
        if (body_sink && v->stage + 1 > n->nstages) n->nstages = v->stage + 1;
        if (v->what != V_STORE && v->red >= 0 && v->stage > n->nstages) n->nstages = v->stage;
    }
    return n->nstages > 60 ? tc_error(TC_UNSUPPORTED, "a loop with %d dependent reductions", n->nstages) : NULL;
}

/* Divides the nest into tasks for threads. */
static void plan_tasks(const ctx *c) {
    nest *n = c->n;
    const int64_t rows = (n->O.total + n->R - 1) / n->R, cols = n->C ? (n->I.total + n->C - 1) / n->C : 0, task = c->p->costs->task_ops;
    int64_t work = 1;
    n->items = n->reduces ? rows : rows * cols;
    n->single_block = n->items == 1 && !n->chunked && !c->p->loop->region && c->single;
    for (int k = 0; k < n->nstages; k++) work += (int64_t)n->body[k].len + 1;
    const int64_t each = n->R * (n->reduces ? n->I.total : n->C) * work; /* element operations of a task */
    n->grain = each >= task ? 1 : (task + each) / (each + 1);
}

static tc_status plan_steps(ctx *c, live_ranges *l) {
    const size_t ni = c->p->loop->inst.len;
    count_uses(c);
    for (size_t i = 0; i < ni; i++)
        if (c->p->live[i]) TC_TRY(add_inst(c, (int)i));
    for (int k = 0; k < c->p->tn->nstores; k++) add_store(c, k);
    TC_TRY(count_stages(c));
    find_strided(c);
    find_needs(c);
    l->first = tc_xcalloc((size_t)c->nv + 1, sizeof *l->first);
    l->last = tc_xcalloc((size_t)c->nv + 1, sizeof *l->last);
    for (int i = 0; i < c->nv; i++) l->first[i] = l->last[i] = -1;
    TC_TRY(emit_all(c, l));
    for (int i = 0; i < c->nv; i++)
        if (c->v[i].level == ONCE) l->last[i] = INT32_MAX;
    return NULL;
}

tc_status block_plan(const plan *p, nest *n) {
    const size_t ni = p->loop->inst.len;
    ctx c = {.p = p, .n = n, .single = n->C >= n->I.total && !n->regions};
    live_ranges l = {0};
    c.of = tc_xcalloc(ni + 1, sizeof *c.of);
    c.uses = tc_xcalloc(ni + 1, sizeof *c.uses);
    c.half = tc_xcalloc(ni + 1, sizeof *c.half);
    for (size_t i = 0; i < ni; i++) c.half[i] = -1;
    n->red = tc_xcalloc(ni + 1, sizeof *n->red);
    n->con = tc_xcalloc(ni + 1, sizeof *n->con);
    tc_status s = plan_steps(&c, &l);
    if (!s) {
        place_all(&c, &l);
        plan_prefetch(&c);
        plan_tasks(&c);
    }
    free(c.v);
    free(c.of);
    free(c.uses);
    free(c.half);
    free(l.first);
    free(l.last);
    return s;
}
