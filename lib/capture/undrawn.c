/* Draws that are put off: a queue of calls, each with its arguments and the memory of its result, made in order when one of the values is read. */
#include "capture/undrawn.h"

#include "capture/torch_call.h"
#include "kernel/random.h"

#include <string.h>

typedef struct {
    const tc_op *op; /* NULL: the memory of in[0] becomes that of out */
    tc_arg *args;
    tc_tensor *in; /* of args, in their order */
    int nargs, nin;
    tc_tensor out; /* contiguous; all of its storage */
    bool needed;   /* its values are read */
} put_off;

struct tc_undrawn {
    tc_program *held; /* holds arguments */
    TC_VEC(put_off) calls;
    tc_generator gen; /* once taken from the context */
};

void tc_undrawn_begin(C *c) {
    if (!c->torch->undrawn) c->torch->undrawn = tc_xcalloc(1, sizeof *c->torch->undrawn);
}

static void forget(tc_undrawn *u) {
    for (size_t i = 0; i < u->calls.len; i++) {
        put_off *k = &u->calls.data[i];
        for (int j = 0; j < k->nin; j++) tc_tensor_deinit(&k->in[j]);
        tc_tensor_deinit(&k->out);
    }
    tc_vec_free(&u->calls);
    tc_program_release(u->held);
    u->held = NULL;
}

void tc_undrawn_free(tc_undrawn *u) {
    if (!u) return;
    forget(u);
    free(u);
}

/* ---- putting off ---- */
static bool waits(const tc_tensor *t) { return t && t->storage && t->storage->undrawn; }

/* A draw that fills memory whatever was in it, or a loop over tensors that wait. */
static bool can_wait(C *c, const tc_op *op, const tc_arg *a, int nargs) {
    const tc_schema *s = tc_op_schema(op);
    const bool draws = op->flags & TC_OP_RANDOM;
    const int other = TC_OP_IMPURE | TC_OP_HIGHER_ORDER | TC_OP_DATA_SHAPE | TC_OP_INDEX_RUNTIME | TC_OP_COLLECTIVE;
    if (c->torch->graph || c->torch->on_meta || op->flags & other || s->nrets != 1 || s->rets[0].type != TC_T_TENSOR || s->is_view) return false;
    if (draws ? !(op->flags & TC_OP_LIKE) || !op->kernel : !op->lower || op->kernel) return false;
    int tensors = 0;
    for (int i = 0; i < nargs; i++) {
        if (a[i].kind == TC_A_VALUE && a[i].value) {
            tensors++;
            if (!a[i].value->aux || (!draws && !waits(a[i].value->aux))) return false;
        }
        if (a[i].kind == TC_A_VALUES || a[i].kind == TC_A_GRAPH || a[i].kind == TC_A_FLOATS || a[i].kind == TC_A_BOOLS) return false;
    }
    return tensors > 0 && (!draws || tensors == 1);
}

/* A draw into nothing checks the numbers that it is given. */
static void check_numbers(C *c, const tc_op *op, const tc_arg *a, int nargs) {
    tc_arg b[TC_MAX_PARAMS];
    tc_tensor none, out = {0};
    tc_value v = {.kind = TC_V_TENSOR, .aux = &none};
    memcpy(b, a, sizeof *a * (size_t)nargs);
    for (int i = 0; i < nargs; i++)
        if (a[i].kind == TC_A_VALUE && a[i].value) {
            none = *(const tc_tensor *)a[i].value->aux; /* borrowed */
            none.rank = 1, none.size[0] = 0, none.stride[0] = 1, none.offset = 0;
            b[i].value = &v;
        }
    tc_status st = c->torch->eval.call(c->torch->eval.self, op, b, nargs, c->torch->gen, &out, 1);
    tc_tensor_deinit(&out);
    if (st) tc_raise_status(c, "RuntimeError", st);
}

static tc_sym held_sym(tc_program *p, tc_sym s) {
    int64_t i;
    double f;
    if (tc_sym_type(s) == TC_SYM_INT && tc_sym_const_int(s, &i)) return tc_sym_int(p->sym, i);
    return tc_sym_type(s) == TC_SYM_FLOAT && tc_sym_const_float(s, &f) ? tc_sym_float(p->sym, f) : NULL;
}

/* The arguments in memory of u; false: one of them is no number. of: stands for the operand of a draw, which is not read. */
static bool hold(tc_undrawn *u, put_off *k, const tc_arg *a, const tc_tensor *of) {
    tc_arena *arena = &u->held->arena;
    k->args = tc_arena_dup(arena, a, sizeof *a * (size_t)k->nargs);
    k->in = TC_NEWN(arena, tc_tensor, (size_t)k->nargs);
    for (int i = 0; i < k->nargs; i++) {
        tc_arg *b = &k->args[i];
        if (b->kind == TC_A_INT || (b->kind == TC_A_SCALAR && b->is_sym)) {
            if (!(b->sym = held_sym(u->held, b->sym))) return false;
        } else if (b->kind == TC_A_INTS) {
            tc_sym *syms = TC_NEWN(arena, tc_sym, (size_t)b->n + 1);
            for (int j = 0; j < b->n; j++)
                if (!(syms[j] = held_sym(u->held, b->syms[j]))) return false;
            b->syms = syms;
        } else if ((b->kind == TC_A_STRING || b->kind == TC_A_DEVICE) && b->string) {
            b->string = tc_arena_strdup(arena, b->string);
        }
    }
    for (int i = 0; i < k->nargs; i++) {
        tc_arg *b = &k->args[i];
        if (b->kind != TC_A_VALUE || !b->value) continue;
        k->in[k->nin] = tc_tensor_share(of ? of : b->value->aux);
        b->value = TC_NEW(arena, tc_value);
        b->value->kind = TC_V_TENSOR;
        b->value->aux = &k->in[k->nin++];
    }
    return true;
}

bool tc_undrawn_call(C *c, const tc_op *op, const tc_arg *a, int nargs, const tc_meta *made, tc_tensor *out) {
    tc_undrawn *u = c->torch->undrawn;
    int64_t size[TC_MAX_RANK];
    if (!u || !can_wait(c, op, a, nargs) || made->stride) return false;
    for (int d = 0; d < made->rank; d++)
        if (!tc_sym_const_int(made->size[d], &size[d])) return false;
    const bool draws = op->flags & TC_OP_RANDOM;
    if (draws)
        for (int i = 0; i < nargs; i++) { /* the operand has the layout and type of the result */
            const tc_tensor *t = a[i].kind == TC_A_VALUE && a[i].value ? a[i].value->aux : NULL;
            if (t && (t->dtype != made->dtype || t->rank != made->rank || memcmp(t->size, size, sizeof *size * (size_t)t->rank) ||
                      !tc_tensor_is_contiguous(t)))
                return false;
        }
    if (draws) check_numbers(c, op, a, nargs);
    put_off k = {.op = op, .nargs = nargs};
    tc_status st = tc_tensor_empty(made->dtype, made->rank, size, &k.out);
    if (st) tc_raise_status(c, "RuntimeError", st);
    if (!u->held) u->held = tc_program_create("undrawn");
    if (!hold(u, &k, a, draws ? &k.out : NULL)) {
        tc_tensor_deinit(&k.out);
        return false;
    }
    k.out.storage->undrawn = true;
    *out = tc_tensor_share(&k.out);
    tc_vec_push(&u->calls, k);
    return true;
}

/* The last call becomes one that writes to dst; values that are there wait to be written. */
bool tc_undrawn_move(C *c, const tc_tensor *dst, const tc_tensor *result) {
    tc_undrawn *u = c->torch->undrawn;
    if (!u || !(waits(dst) || waits(result))) return false;
    put_off *last = u->calls.len ? &u->calls.data[u->calls.len - 1] : NULL;
    if (waits(result)) {
        if (!last || last->out.storage != result->storage || dst->storage->read_only || dst->storage->embedded) return false;
        const bool own = last->nin == 1 && last->in[0].storage == last->out.storage; /* of a draw */
        tc_tensor_deinit(&last->out);
        last->out = tc_tensor_share(dst);
        if (own) tc_tensor_deinit(&last->in[0]), last->in[0] = tc_tensor_share(dst);
    } else {
        put_off k = {.nin = 1, .in = TC_NEW(&u->held->arena, tc_tensor), .out = tc_tensor_share(dst)};
        k.in[0] = tc_tensor_share(result);
        tc_vec_push(&u->calls, k);
    }
    dst->storage->undrawn = true;
    return true;
}

/* ---- making the calls ---- */
typedef struct {
    int held; /* references that the calls have */
    bool read;
} use;

static use *use_of(tc_map *uses, const tc_storage *s) {
    void **v = tc_map_put(uses, (const char *)&s, sizeof s);
    if (!*v) *v = tc_xcalloc(1, sizeof(use));
    return *v;
}

/* Marks the calls whose results are held elsewhere, or read by one that is marked, before another call writes over them. */
static void mark_needed(tc_undrawn *u) {
    tc_map uses = {0};
    for (size_t i = 0; i < u->calls.len; i++) {
        const put_off *k = &u->calls.data[i];
        use_of(&uses, k->out.storage)->held++;
        for (int j = 0; j < k->nin; j++) use_of(&uses, k->in[j].storage)->held++;
    }
    for (size_t i = 0; i < u->calls.len; i++) {
        const tc_storage *s = u->calls.data[i].out.storage;
        use *a = use_of(&uses, s);
        a->read = s->refs > a->held;
    }
    for (size_t i = u->calls.len; i-- > 0;) {
        put_off *k = &u->calls.data[i];
        use *out = use_of(&uses, k->out.storage);
        k->needed = out->read;
        out->read = false;
        for (int j = 0; j < k->nin && k->needed && !(k->op && k->op->flags & TC_OP_RANDOM); j++) use_of(&uses, k->in[j].storage)->read = true;
    }
    for (size_t i = 0; i < uses.len; i++) free(uses.entries[i].value);
    tc_map_free(&uses);
}

static tc_status make(put_off *k, tc_eval run, tc_generator *gen) {
    tc_tensor made = {0};
    if (!k->needed && !(k->op && k->op->flags & TC_OP_RANDOM)) return NULL;
    const int64_t words = k->needed ? -1 : tc_k_words_drawn(k->op->kernel, k->out.dtype, tc_tensor_numel(&k->out));
    if (words >= 0) {
        tc_rng_skip_u32(gen, words);
        return NULL;
    }
    if (k->op) TC_TRY(run.call(run.self, k->op, k->args, k->nargs, gen, &made, 1));
    const tc_tensor *from = k->op ? &made : &k->in[0];
    if (k->needed && !(from->storage->refs == 1 && tc_tensor_is_contiguous(from) && tc_storage_swap(k->out.storage, from->storage)))
        tc_tensor_pack(from, tc_tensor_data(&k->out));
    tc_tensor_deinit(&made);
    return NULL;
}

static tc_status make_all(tc_undrawn *u, tc_eval run, tc_generator *gen) {
    tc_status st = NULL;
    mark_needed(u);
    for (size_t i = 0; i < u->calls.len && !st; i++) {
        put_off *k = &u->calls.data[i];
        st = make(k, run, gen);
        for (int j = 0; j < k->nin; j++) tc_tensor_deinit(&k->in[j]);
        k->nin = 0;
    }
    for (size_t i = 0; i < u->calls.len; i++) u->calls.data[i].out.storage->undrawn = false;
    forget(u);
    return st;
}

void tc_undrawn_settle(C *c) {
    tc_undrawn *u = c->torch->undrawn;
    if (!u || !u->calls.len) return;
    tc_status st = make_all(u, c->torch->eval, c->torch->gen);
    if (st) tc_raise_status(c, "RuntimeError", st);
}

tc_undrawn *tc_undrawn_take(C *c) {
    tc_undrawn *u = c->torch->undrawn;
    c->torch->undrawn = NULL;
    if (u && c->torch->gen) u->gen = *c->torch->gen;
    if (u && u->calls.len) return u;
    tc_undrawn_free(u);
    return NULL;
}

tc_status tc_undrawn_draw(tc_undrawn *u, tc_eval run, tc_program *const *p, size_t n) {
    bool wanted = false;
    for (size_t i = 0; i < n && u; i++)
        for (int k = 0; k < p[i]->ninputs; k++) wanted |= waits(&p[i]->inputs[k].data);
    return wanted ? make_all(u, run, &u->gen) : NULL;
}
