/* From instructions to steps: which class each value has, where it must be spread, in which stage and how often it is computed, and
 * which slot of the worker's scratch holds it.
 *
 * Levels: ONCE a worker (constants), ROW at each block of rows before a stage, BODY at each block of a stage. */
#include "runtime/block_plan.h"

#include "base/ints.h"

enum { ONCE, ROW, BODY };
enum { V_INST, V_SPREAD, V_STORE, V_TABLE, V_CAST };

typedef struct {
    uint8_t what, cls, level, dtype, shift;
    bool kept;
    bool split;   /* a gather that keeps apart what varies along the rows and along the columns */
    bool strided; /* a load in column mode that only reductions read: they step through memory themselves */
    bool thin;    /* a load with an element for each part of the rows (thin_load) */
    int stage;
    uint64_t need;         /* BODY: stages that use it */
    int inst, a[3], store; /* operands are nodes; store: index into tn->stores */
    int one;               /* operand that stays narrow (S_FN_ONE); -1: none */
    tc_block_fn pair;      /* with the operation before it in one pass: operands 1 and 2 stay narrow */
    int acc, red, table;
    int pred;
} node;

typedef struct {
    const plan *p;
    nest *n;
    node *v;
    int nv, cap;
    int *of;     /* node of an instruction */
    int *half;   /* its value 16 bits wide, as tables take and give it; -1: not there */
    int *uses;   /* of an instruction's value, by instructions and stores of the nest */
    bool single; /* one block along the inner side */
} ctx;

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

static void raise_to(const ctx *c, node *v, int operand) {
    if (operand < 0) return;
    const node *o = &c->v[operand];
    if (o->level > v->level) v->level = o->level;
    if (o->stage > v->stage) v->stage = o->stage;
}

/* The value as class `to`: itself, or a spread (one for each class). */
static int spread(ctx *c, int v, int to) {
    if (v < 0 || same_layout(c, c->v[v].cls, to)) return v;
    for (int i = v + 1; i < c->nv; i++)
        if (c->v[i].what == V_SPREAD && c->v[i].a[0] == v && c->v[i].cls == to) return i;
    const node *from = &c->v[v];
    node s = {.what = V_SPREAD,
              .cls = (uint8_t)to,
              .dtype = from->dtype,
              .shift = from->shift,
              .inst = from->inst,
              .a = {v, -1, -1},
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

/* What does not vary along the rows is there for all blocks of them, where they are several; else it is made where it is stored. */
static void settle_level(const ctx *c, node *v) {
    const bool blocks = c->n->R < c->n->O.total || c->p->loop->region;
    if (v->cls & CLS_I) v->level = v->cls == CLS_I && c->single && blocks && v->level == ONCE ? ONCE : BODY;
    else if ((v->cls & CLS_O || (!blocks && v->a[0] >= 0)) && v->level < ROW) v->level = ROW;
}

static tc_status add_load(ctx *c, node *v, const tc_linst *in) {
    access *a = &c->n->acc[v->acc];
    a->pred = v->pred = in->pred == TC_LV_NONE ? -1 : spread(c, c->of[in->pred], v->cls);
    raise_to(c, v, v->pred);
    if (!a->ngather) return NULL;
    v->split = v->pred < 0;
    for (int k = 0; k < a->ngather; k++) {
        for (int d = 0; d < c->n->O.n; d++) v->split &= a->gather[k].at.o[d] == 0;
        for (int d = 0; d < c->n->I.n; d++) v->split &= a->gather[k].at.i[d] == 0;
    }
    for (int k = 0; k < a->ngather; k++) {
        int g = c->of[a->gather[k].value];
        a->gather[k].value = v->split ? g : spread(c, g, v->cls);
        a->gather[k].cls = c->v[g].cls;
        if (c->v[g].cls == CLS_O || c->v[g].cls == CLS_I) a->along[c->v[g].cls >> 1] = true;
        raise_to(c, v, a->gather[k].value);
    }
    return NULL;
}

enum { ENOUGH = 64 }; /* elements a call */
static bool takes_one(const ctx *c, const tc_linst *in) {
    return in->kind == TC_L_SCALAR && (in->dtype == TC_F32 || in->dtype == TC_F64) && c->p->isa->scalar_one[0][in->op];
}

/* Does what load i reads stay the same along the last of several inner axes (a channel's weight over its pixels), for arithmetic with blocks
 * and nothing else? Then it is kept as an element for each part of the rows instead of a block. */
static bool thin_load(const ctx *c, int i, int cls) {
    const tc_loop *l = c->p->loop;
    const nest *n = c->n;
    const access *a = &n->acc[c->p->acc_of[i]];
    const int last = n->I.n - 1;
    if (!(cls & CLS_I) || n->col || n->regions || last < 1 || a->at.i[last] || part_length(n) < ENOUGH) return false;
    if (n->R > 1 && n->C < n->I.total) return false; /* pieces of several rows */
    if (a->ngather || a->pred >= 0 || l->inst.data[i].pred != TC_LV_NONE || a->dtype != l->inst.data[i].dtype) return false;
    int uses = 0;
    for (size_t k = (size_t)i + 1; k < l->inst.len; k++) {
        const tc_linst *in = &l->inst.data[k];
        const bool mine[2] = {in->a[0] == i, in->a[1] == i};
        if (!c->p->live[k] || mine[0] == mine[1] || !takes_one(c, in)) continue;
        const tc_lv other = in->a[mine[0]];
        const tc_linst *o = &l->inst.data[other];
        uses += (o->kind != TC_L_LOAD || n->acc[c->p->acc_of[other]].at.i[last]) && (o->axes | l->inst.data[i].axes) == o->axes;
    }
    return uses == c->uses[i];
}

/* The operand that an arithmetic operation may take as one element a row, or one at all, instead of a spread block; -1: none. */
static int narrow_operand(const ctx *c, const tc_linst *in, int cls) {
    if (!takes_one(c, in)) return -1;
    int slow = c->n->col ? CLS_I : CLS_O;
    int64_t fast_n = cls & (CLS_OI & ~slow) ? (c->n->col ? c->n->R : c->n->C) : 1;
    for (int k = 0; k < 2; k++)
        if (c->v[c->of[in->a[k]]].thin) return k;
    for (int k = 0; k < 2; k++) {
        int own = c->v[c->of[in->a[k]]].cls, other = c->v[c->of[in->a[1 - k]]].cls;
        if (same_layout(c, own, cls) || (!same_layout(c, other, cls) && k == 0)) continue;
        if (own == CLS_0 || (own == slow && cls == CLS_OI && fast_n >= ENOUGH)) return k;
    }
    return -1;
}

/* Where an operation takes what another one made of a block and a number for nothing else, and there is a primitive for the two: v takes
 * the operands of both, and nothing needs the first. Of sums and products either operand may be the number. */
static void join_pair(ctx *c, node *v, const tc_linst *in) {
    if (v->one < 0 || in->dtype != TC_F32 || (v->one == 0 && in->op != TC_X_ADD && in->op != TC_X_MUL)) return;
    const node *u = &c->v[v->a[1 - v->one]];
    if (u->what != V_INST || u->one < 0 || u->pair || u->cls != v->cls || u->level != BODY || c->uses[u->inst] > 1) return;
    const node *one[2] = {&c->v[u->a[u->one]], &c->v[v->a[v->one]]};
    if (one[0]->thin != one[1]->thin && c->n->R > 1 && !(one[0]->cls == CLS_0 || one[1]->cls == CLS_0)) return; /* rows or parts of rows */
    const tc_linst *before = &c->p->loop->inst.data[u->inst];
    if (before->kind != TC_L_SCALAR || (u->one == 0 && before->op != TC_X_ADD && before->op != TC_X_MUL)) return;
    for (const tc_block_pair *p = c->p->isa->scalar_pair; p->fn; p++)
        if (p->first == before->op && p->second == in->op) v->pair = p->fn;
    if (!v->pair) return;
    const int narrow = v->a[v->one];
    v->a[0] = u->a[1 - u->one], v->a[1] = u->a[u->one], v->a[2] = narrow;
    raise_to(c, v, v->a[0]);
    raise_to(c, v, v->a[1]);
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

/* The value of an instruction that a table is of, 16 bits wide: from memory as it lies, else by rounding. */
static int add_half(ctx *c, tc_lv from) {
    if (c->half[from] >= 0) return c->half[from];
    const tc_loop *l = c->p->loop;
    const tc_linst *in = &l->inst.data[from];
    const tc_lv operand = table_operand(l, from);
    node v = {
        .what = V_CAST, .inst = -1, .cls = c->v[c->of[operand]].cls, .shift = 1, .a = {-1, -1, -1}, .acc = -1, .red = -1, .pred = -1, .store = -1};
    v.dtype = (uint8_t)half_type(l, from);
    if (in->kind == TC_L_LOAD && !in->gather && in->pred == TC_LV_NONE) v.what = V_INST, v.inst = from, v.acc = c->p->acc_of[from];
    else v.a[0] = c->of[operand], raise_to(c, &v, v.a[0]);
    settle_level(c, &v);
    return c->half[from] = add(c, v);
}
/* A rounding that is read from a table: 16 bits wide, and as float32 for those that compute with it. */
static void add_table(ctx *c, int i) {
    const tc_linst *in = &c->p->loop->inst.data[i];
    const int from = add_half(c, c->p->root[i]);
    node v = {
        .what = V_TABLE, .inst = i, .dtype = (uint8_t)in->narrow, .shift = 1, .a = {from, -1, -1}, .acc = -1, .red = -1, .pred = -1, .store = -1};
    v.cls = c->v[from].cls, v.table = table_of(c->p->made, c->p->loop, c->p->root[i], i);
    raise_to(c, &v, from);
    settle_level(c, &v);
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
              .a = {-1, -1, -1},
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
        if (in->kind == TC_L_REDUCE && !in->over) { /* welford of one element each */
            return tc_error(TC_UNSUPPORTED, "welford over no axis");
        }
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
    v.one = narrow_operand(c, in, operand_cls);
    for (int k = 0; k < 3; k++)
        if (in->a[k] != TC_LV_NONE) {
            v.a[k] = k == v.one ? c->of[in->a[k]] : spread(c, c->of[in->a[k]], operand_cls);
            raise_to(c, &v, v.a[k]);
        }
    if (in->kind == TC_L_SCALAR) join_pair(c, &v, in);
    if (in->kind == TC_L_LOAD) TC_TRY(add_load(c, &v, in));
    if (in->kind == TC_L_REDUCE || in->kind == TC_L_SCAN) {
        reduction *r = &c->n->red[c->n->nred++];
        *r = (reduction){.op = in->op, .dtype = c->v[v.a[0]].dtype, .whole = c->single || in->kind == TC_L_SCAN};
        if (in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD) v.shift = 5; /* three doubles, in a slot of 32 bytes a row */
    }
    if (in->kind == TC_L_REDUCE) {
        v.stage++;
        v.level = ROW;
    } else settle_level(c, &v);
    c->of[i] = add(c, v);
    return NULL;
}

static void add_store(ctx *c, int k) {
    const tc_lstore *st = &c->p->loop->stores.data[c->p->tn->stores[k]];
    access *a = &c->n->acc[c->p->store_acc[k]];
    node v = {
        .what = V_STORE, .inst = -1, .store = k, .cls = a->cls, .a = {-1, -1, -1}, .acc = c->p->store_acc[k], .red = -1, .pred = -1, .level = ROW};
    const tc_linst *value = &c->p->loop->inst.data[st->value];
    const int half = c->half[st->value];
    const bool rounds = value->kind == TC_L_ROUND && value->narrow == a->dtype && c->uses[st->value] == 1; /* so does storing */
    if (half >= 0 && c->v[half].dtype == a->dtype) v.a[0] = spread(c, half, a->cls);
    else v.a[0] = spread(c, c->of[rounds && c->p->root[st->value] == TC_LV_NONE ? value->a[0] : st->value], a->cls);
    v.dtype = c->v[v.a[0]].dtype;
    v.shift = c->v[v.a[0]].shift;
    a->pred = v.pred = st->pred == TC_LV_NONE ? -1 : spread(c, c->of[st->pred], a->cls);
    raise_to(c, &v, v.a[0]);
    raise_to(c, &v, v.pred);
    v.level = a->cls & CLS_I ? BODY : ROW;
    add(c, v);
}

/* ---- which stages need a value of the body ---- */
static bool direct_load(const ctx *c, const node *v) {
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
        v->strided = n->acc[v->acc].at.o[0] == 1 && n->acc[v->acc].at.i[0] && !n->acc[v->acc].dense; /* 0 would mean a block */
        v->strided &= direct_load(c, v); /* what is converted, gathered or absent in part makes a block */
        for (int k = i + 1; k < c->nv && v->strided; k++) {
            const node *u = &c->v[k];
            bool uses = u->a[0] == i || u->a[1] == i || u->a[2] == i || u->pred == i;
            for (int g = 0; u->acc >= 0 && g < n->acc[u->acc].ngather; g++) uses |= n->acc[u->acc].gather[g].value == i;
            v->strided = !uses || is_reduce(c, u);
        }
    }
}

static bool worth_keeping(const ctx *c, const node *v) {
    if (v->what == V_TABLE) return true;
    if (v->what != V_INST) return false;
    int kind = c->p->loop->inst.data[v->inst].kind;
    return kind == TC_L_SCALAR || kind == TC_L_CAST || kind == TC_L_ROUND || kind == TC_L_SCAN;
}

static int first_stage(const node *v) { return v->need ? __builtin_ctzll(v->need) : 64; }

static void need(ctx *c, int at, int stage, size_t *budget) {
    if (at < 0) return;
    node *v = &c->v[at];
    if (v->level != BODY || v->need >> stage & 1) return;
    int first = first_stage(v);
    v->need |= UINT64_C(1) << stage;
    if (first < stage && c->single && !direct_load(c, v)) return; /* still in its slot */
    if (first < stage && worth_keeping(c, v)) {
        size_t bytes = ((size_t)c->n->R * (size_t)c->n->I.total) << v->shift;
        if (v->kept) return;
        if (bytes <= *budget) {
            *budget -= bytes;
            v->kept = true;
            return;
        }
    }
    for (int k = 0; k < 3; k++) need(c, v->a[k], stage, budget);
    need(c, v->pred, stage, budget);
    if (v->acc >= 0)
        for (int k = 0; k < c->n->acc[v->acc].ngather; k++) need(c, c->n->acc[v->acc].gather[k].value, stage, budget);
}

static void find_needs(ctx *c) {
    size_t budget = c->n->wide ? 0 : (size_t)c->p->costs->near_bytes; /* a chunk's row buffer would be its worker's only */
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
typedef struct {
    int pos, *first, *last;
} line; /* positions of steps in order; of each value, first made and last used */

static void use(line *l, int v, int region_end) {
    if (v >= 0 && region_end > l->last[v]) l->last[v] = region_end;
}

static void fill_constant(ctx *c, const tc_linst *in, step *s) {
    constant *k = &c->n->con[c->n->ncon];
    s->kind = in->kind == TC_L_CONST ? S_CONST : S_HOST;
    s->aux = c->n->ncon++;
    *k = (constant){.host = in->host, .dtype = in->dtype};
    c->n->hosts |= in->host != NULL;
    if (in->kind == TC_L_CONST) tc_scalar_store(in->dtype, k->bytes, 0, in->imm);
}

/* A function of blocks; of one number and blocks where v->one says so. */
static tc_status fill_function(const ctx *c, const node *v, const tc_linst *in, tc_dtype from, step *s) {
    const tc_isa_ops *isa = c->p->isa;
    tc_dtype d = in->op == TC_X_WHERE ? (tc_dtype)v->dtype : from;
    s->kind = S_FN;
    s->op = in->op;
    s->shift = v->shift;
    if (v->one >= 0) {
        s->kind = S_FN_ONE;
        s->one = v->pair ? 6 : (uint8_t)(1 << v->one);
        for (int k = 0; k < 3; k++)
            if (s->one >> k & 1) s->thin |= c->v[v->a[k]].thin;
        for (int k = 0; k < 3; k++)
            if (s->one >> k & 1 && (c->v[v->a[k]].cls == CLS_0 || (s->thin && !c->v[v->a[k]].thin))) s->fixed |= (uint8_t)(1 << k);
        s->fn = v->pair ? v->pair : isa->scalar_one[(d == TC_F64) + 2 * (v->one == 0)][in->op];
        return NULL;
    }
    s->fn = isa->scalar[d] ? isa->scalar[d][in->op] : NULL;
    return s->fn ? NULL : tc_error(TC_UNSUPPORTED, "%s of %s in a loop", tc_scalar_ops[in->op].name, tc_dtypes[d].name);
}

static tc_status fill_step(ctx *c, const node *v, int self, step *s) {
    const tc_linst *in = v->inst >= 0 ? &c->p->loop->inst.data[v->inst] : NULL;
    const tc_isa_ops *isa = c->p->isa;
    *s = (step){.cls = v->cls, .dtype = v->dtype, .out = self, .a = v->a[0], .b = v->a[1], .c = v->a[2], .aux = -1};
    if (v->what == V_SPREAD) {
        s->kind = S_SPREAD;
        s->op = v->shift;
        s->from_cls = c->v[v->a[0]].cls;
        return NULL;
    }
    if (v->what == V_STORE) {
        s->kind = S_STORE;
        s->aux = v->acc;
        s->out = -1;
        return NULL;
    }
    tc_dtype from = v->a[0] >= 0 ? (tc_dtype)c->v[v->a[0]].dtype : TC_DTYPE_NONE;
    if (v->what == V_TABLE) {
        s->kind = S_TABLE;
        s->aux = v->table;
        return NULL;
    }
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

static tc_status emit(ctx *c, line *l, int i, steps *to) {
    node *v = &c->v[i];
    step s;
    if (direct_load(c, v)) return NULL; /* read where it is used */
    TC_TRY(fill_step(c, v, i, &s));
    int pos = l->pos++;
    if (l->first[i] < 0) l->first[i] = pos;
    if (pos > l->last[i]) l->last[i] = pos;
    for (int k = 0; k < 3; k++) use(l, v->a[k], pos);
    use(l, v->pred, pos);
    if (v->acc >= 0)
        for (int k = 0; k < c->n->acc[v->acc].ngather; k++) use(l, c->n->acc[v->acc].gather[k].value, pos);
    tc_vec_push(to, s);
    return NULL;
}

/* Values that a body reads but did not compute live to the body's end: the body runs many times. */
static void close_body(ctx *c, line *l, int begin, const steps *body) {
    int end = l->pos++;
    for (size_t k = 0; k < body->len; k++) {
        const step *s = &body->data[k];
        const int used[] = {s->a, s->b, s->c};
        for (int j = 0; j < 3; j++)
            if (used[j] >= 0 && (l->first[used[j]] < begin || c->v[used[j]].kept)) use(l, used[j], end);
        if (s->out >= 0 && (l->first[s->out] < begin || c->v[s->out].kept)) use(l, s->out, end);
        /* what is kept of one block must not lie where the next one has what only it needs, not even before the value is made */
        if (s->out >= 0 && c->v[s->out].kept && l->first[s->out] > begin) l->first[s->out] = begin;
        if (s->kind != S_LOAD && s->kind != S_GATHER && s->kind != S_STORE) continue;
        const access *a = &c->n->acc[s->aux];
        if (a->pred >= 0 && l->first[a->pred] < begin) use(l, a->pred, end);
        for (int g = 0; g < a->ngather; g++)
            if (l->first[a->gather[g].value] < begin) use(l, a->gather[g].value, end);
    }
}

static tc_status emit_all(ctx *c, line *l) {
    nest *n = c->n;
    n->row = tc_xcalloc((size_t)n->nstages + 1, sizeof *n->row);
    n->body = tc_xcalloc((size_t)n->nstages + 1, sizeof *n->body);
    for (int i = 0; i < c->nv; i++)
        if (c->v[i].level == ONCE) TC_TRY(emit(c, l, i, &n->once));
    for (int s = 0; s <= n->nstages; s++) {
        for (int i = 0; i < c->nv; i++) {
            node *v = &c->v[i];
            if (v->level != ROW || v->stage != s) continue;
            if (v->what == V_INST && c->p->loop->inst.data[v->inst].kind == TC_L_REDUCE) { /* ends here */
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
            if (first_stage(v) < s && ((c->single && !direct_load(c, v)) || v->kept)) continue; /* there from an earlier stage */
            TC_TRY(emit(c, l, i, &n->body[s]));
        }
        close_body(c, l, begin, &n->body[s]);
    }
    return NULL;
}

/* ---- places ---- */
/* Stores of a list whose values are made by its own element-wise steps are written by these. last: no other list runs after it. */
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
        if (made >= list->len || (list->data[made].kind > S_CAST && list->data[made].kind != S_SCAN)) continue;
        if (c->p->in_place && (c->p->tn->nstores > 1 || !last || made + 2 < list->len)) continue;
        n->places[st.a] = (place){.kind = P_MEM, .cls = v->cls, .shift = a->shift, .acc = st.aux};
        memmove(&list->data[k], &list->data[k + 1], (list->len - k - 1) * sizeof(step));
        list->len--;
        k--;
    }
}
static void write_through(ctx *c) {
    nest *n = c->n;
    for (int s = 0; s < n->nstages; s++) write_list(c, &n->body[s], UINT64_C(1) << s, n->nstages == 1);
    for (int s = 0; s <= n->nstages && !n->wide; s++) { /* wide: one worker stores, all of them run these lists */
        size_t later = 0;
        for (int k = s; k < n->nstages; k++) later += n->body[k].len + n->row[k + 1].len;
        write_list(c, &n->row[s], 0, !later);
    }
}

typedef struct {
    size_t offset, bytes;
    int last, value;
} held;

static size_t value_bytes(const ctx *c, const node *v) {
    size_t n = (v->cls & CLS_O ? (size_t)c->n->R : 1) * (v->cls & CLS_I ? (size_t)(v->kept ? c->n->I.total : c->n->C) : 1);
    if (v->thin) n = (size_t)c->n->R * (size_t)(c->n->C / part_length(c->n) + 2);
    size_t bytes = tc_pad64(n << v->shift);
    return bytes >= 2048 ? bytes + 192 : bytes; /* not all at the same offset in a page */
}

/* First fit over lifetimes. An operand of the same size that ends where the result begins gives its slot. */
static size_t place_values(ctx *c, const line *l, const int *order, int norder, size_t base) {
    nest *n = c->n;
    held *h = tc_xcalloc((size_t)c->nv + 1, sizeof *h);
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
            bool operand = h[j].value == v->a[0] || h[j].value == v->a[1] || h[j].value == v->a[2];
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
        h[nh++] = (held){at, bytes, l->last[i], i};
        if (at + bytes > top) top = at + bytes;
        n->places[i] = (place){.kind = v->kept ? P_KEPT : P_SLOT, .cls = v->cls, .shift = v->shift, .offset = at, .acc = -1};
    }
    free(h);
    return top;
}

static tc_status lay_out(ctx *c, line *l) {
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
    if (gathers) at += (size_t)(n->R * n->C) * 24;
    at = tc_pad64(at);
    n->partial = at;
    if (n->wide) at += tc_pad64((size_t)(chunk_count(n) + 1) * (size_t)n->nred * part_bytes(n));
    n->scratch = (place_values(c, l, order, norder, at) + 4095) & ~(size_t)4095;
    n->moving = tc_xcalloc((size_t)c->nv + 1, sizeof *n->moving);
    for (int i = 0; i < c->nv; i++)
        if (n->places[i].kind == P_MEM || n->places[i].kind == P_KEPT) n->moving[n->nmoving++] = i;
    free(order);
    return NULL;
}

/* ---- fetching ahead ---- */
static int pieces(const nest *n, const step *s) {
    bool rows = s->kind == S_FN_ONE && s->one != s->fixed && (n->R > 1 || s->thin);
    if ((s->kind != S_FN && s->kind != S_FN_ONE && s->kind != S_CAST) || rows) return 1;
    int64_t count = (s->cls & CLS_O ? n->R : 1) * (s->cls & CLS_I ? n->C : 1);
    return (int)((count + n->piece - 1) / n->piece);
}

/* Streams: what every block reads or writes in memory from end to end, once there is more of it than stays in a cache near by. */
static void plan_ahead(const ctx *c) {
    nest *n = c->n;
    if (c->p->loop->region) return; /* what comes next is not there yet */
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
    for (int i = 0; i < n->nplaces && n->nahead < MAX_AHEAD; i++) {
        const place *at = &n->places[i];
        if (at->kind != P_MEM || at->cls != c->p->full || !n->acc[at->acc].dense) continue;
        stream *st = &n->ahead[n->nahead++];
        *st = (stream){.place = i, .written = c->v[i].what != V_INST || c->v[i].acc != at->acc, .bytes = (n->R * n->C) << at->shift};
        st->lead = count == 1 ? LEAD : st->bytes;
        st->pace = tc_xcalloc((size_t)n->nstages, sizeof *st->pace);
        for (int s = 0; s < n->nstages; s++) {
            int64_t lines = (st->bytes + LINE - 1) / LINE, share = c->single ? total : work[s];
            st->pace[s] = share ? (int)((lines + share - 1) / share) : 0;
        }
        footprint += (size_t)(n->O.total * n->I.total) << at->shift;
    }
    free(work);
    const bool pays = total > 1 && !(count == 1 && heavy); /* between pieces; most elementary functions alone are slower than memory */
    const tc_costs *costs = c->p->costs;
    if (pays && footprint >= (size_t)(count > 1 && !n->reduces ? costs->chain_bytes : costs->far_bytes)) return;
    for (int k = 0; k < n->nahead; k++) free(n->ahead[k].pace);
    n->nahead = 0;
}

tc_status block_plan(const plan *p, nest *n) {
    ctx c = {.p = p, .n = n, .single = n->C >= n->I.total && !n->regions};
    size_t ni = p->loop->inst.len;
    c.of = tc_xcalloc(ni + 1, sizeof *c.of);
    c.uses = tc_xcalloc(ni + 1, sizeof *c.uses);
    c.half = tc_xcalloc(ni + 1, sizeof *c.half);
    for (size_t i = 0; i < ni; i++) c.half[i] = -1;
    count_uses(&c);
    n->red = tc_xcalloc(ni + 1, sizeof *n->red);
    n->con = tc_xcalloc(ni + 1, sizeof *n->con);
    tc_status s = NULL;
    for (size_t i = 0; i < ni && !s; i++)
        if (p->live[i]) s = add_inst(&c, (int)i);
    for (int k = 0; k < p->tn->nstores && !s; k++) add_store(&c, k);
    line l = {0};
    if (!s) {
        n->nstages = 1;
        for (int i = 0; i < c.nv; i++) {
            bool body_sink = c.v[i].what == V_STORE && c.v[i].level == BODY;
            if (body_sink && c.v[i].stage + 1 > n->nstages) n->nstages = c.v[i].stage + 1;
            if (c.v[i].what != V_STORE && c.v[i].red >= 0 && c.v[i].stage > n->nstages) n->nstages = c.v[i].stage;
        }
        if (n->nstages > 60) s = tc_error(TC_UNSUPPORTED, "a loop with %d dependent reductions", n->nstages);
    }
    if (!s) {
        find_strided(&c);
        find_needs(&c);
        l.first = tc_xcalloc((size_t)c.nv + 1, sizeof *l.first);
        l.last = tc_xcalloc((size_t)c.nv + 1, sizeof *l.last);
        for (int i = 0; i < c.nv; i++) l.first[i] = l.last[i] = -1;
        s = emit_all(&c, &l);
    }
    if (!s) {
        for (int i = 0; i < c.nv; i++)
            if (c.v[i].level == ONCE) l.last[i] = INT32_MAX;
        s = lay_out(&c, &l);
        plan_ahead(&c);
    }
    if (!s) {
        int64_t rows = (n->O.total + n->R - 1) / n->R, cols = n->C ? (n->I.total + n->C - 1) / n->C : 0, work = 1;
        n->items = n->reduces ? rows : rows * cols;
        n->one = n->items == 1 && !n->wide && !p->loop->region && c.single;
        for (int k = 0; k < n->nstages; k++) work += (int64_t)n->body[k].len + 1;
        int64_t each = n->R * (n->reduces ? n->I.total : n->C) * work; /* element operations an item */
        const int64_t task = p->costs->task_ops;
        n->grain = each >= task ? 1 : (task + each) / (each + 1);
    }
    free(c.v);
    free(c.of);
    free(c.uses);
    free(c.half);
    free(l.first);
    free(l.last);
    return s;
}
