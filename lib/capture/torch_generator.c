/* torch.Generator, and the functions of torch that seed the default generator or get and set its state. */
#include "capture/capture.h"
#include "capture/torch.h"
#include "capture/undrawn.h"

#include <string.h>

static V generator_object(C *c, uint64_t seed) {
    genobj *g = tc_new(c, K_GENERATOR, sizeof *g);
    tc_generator_seed(&g->g, seed);
    return (V)g;
}
static V generator_new(C *c, args *A) {
    V v[2];
    tc_take(c, A, "Generator", "cls device=", v);
    return generator_object(c, 67280421310721u);
}
static uint64_t seed_of(C *c, V v) {
    if (tc_kind_of(v) == K_TENSOR) v = tc_tensor_number(c, v, "manual_seed");
    if (tc_kind_of(v) != K_INT) return (uint64_t)tc_index(c, v, "seed");
    V low = tc_int_op(c, '&', v, tc_int_op(c, '-', tc_int_op(c, 'l', tc_int(c, 1), tc_int(c, 64)), tc_int(c, 1)));
    int64_t i;
    if (tc_int_fits(low, &i)) return (uint64_t)i;
    V hi = tc_int_op(c, 'r', low, tc_int(c, 32)), lo = tc_int_op(c, '&', low, tc_int(c, 0xffffffffll));
    return (uint64_t)tc_index(c, hi, "seed") << 32 | (uint64_t)tc_index(c, lo, "seed");
}
static V generator_seed(C *c, args *A) {
    V v[2];
    tc_take(c, A, "manual_seed", "self seed", v);
    tc_generator_seed(&((genobj *)v[0])->g, seed_of(c, v[1]));
    return v[0];
}
static V generator_seed_key(C *c, args *A) { /* words of 32 bits */
    V v[2];
    tc_take(c, A, "_seed_key", "self key", v);
    const list *l = tc_to_list(c, v[1]);
    if (!l->n || l->n > INT32_MAX) tc_raise(c, "ValueError", "_seed_key: a key of %zu words", l->n);
    uint32_t *key = tc_mem(c, l->n * sizeof *key);
    for (size_t i = 0; i < l->n; i++) key[i] = (uint32_t)tc_index(c, l->a[i], "key");
    tc_generator_seed_key(&((genobj *)v[0])->g, key, (int)l->n);
    return v[0];
}
static V generator_u32(C *c, args *A) { return tc_int(c, (int64_t)tc_rng_u32(&((genobj *)A->a[0])->g)); }
static V generator_initial(C *c, args *A) { return tc_int_from_u64(c, ((genobj *)A->a[0])->g.seed); }
static V get_state(C *c, const struct tc_generator *g) {
    unsigned char bytes[TC_GENERATOR_STATE_BYTES];
    tc_generator_get_state(g, bytes);
    tc_tensor t;
    int64_t n = TC_GENERATOR_STATE_BYTES;
    tc_status s = tc_tensor_empty(TC_U8, 1, &n, &t);
    if (s) tc_raise_status(c, "RuntimeError", s);
    memcpy(tc_tensor_data(&t), bytes, sizeof bytes);
    return tc_torch_wrap(c, t, false);
}
static V set_state(C *c, struct tc_generator *g, V v) {
    tensor *t = (tensor *)v;
    if (!tc_is_tensor(v) || !t->t.storage || t->t.dtype != TC_U8 || !tc_tensor_is_contiguous(&t->t))
        tc_raise(c, "TypeError", "RNG state must be a torch.ByteTensor");
    tc_status s = tc_generator_set_state(g, tc_tensor_data(&t->t), tc_tensor_bytes(&t->t));
    if (s) tc_raise_status(c, "RuntimeError", s);
    return c->none;
}
static V generator_get_state(C *c, args *A) { return get_state(c, &((genobj *)A->a[0])->g); }
/* Draws in forward come from the single generator of a run. */
static void not_done(C *c, const char *what) {
    if (c->capturing) tc_side_effect(c, what);
    if (c->torch->region) c->torch->region->redraws = true;
}
static V generator_set_state(C *c, args *A) {
    not_done(c, "the state of a generator is set");
    return set_state(c, &((genobj *)A->a[0])->g, A->a[1]);
}
static V t_manual_seed(C *c, args *A) {
    V v[1];
    tc_take(c, A, "manual_seed", "seed", v);
    not_done(c, "the generator is seeded");
    tc_undrawn_settle(c);
    if (c->torch->gen) tc_generator_seed(c->torch->gen, seed_of(c, v[0]));
    return c->none;
}
static V t_initial_seed(C *c, args *A) {
    (void)A;
    return tc_int_from_u64(c, c->torch->gen ? c->torch->gen->seed : 0);
}
static V t_get_rng_state(C *c, args *A) {
    (void)A;
    tc_undrawn_settle(c);
    return get_state(c, c->torch->gen);
}
static V t_set_rng_state(C *c, args *A) {
    not_done(c, "the state of the generator is set");
    tc_undrawn_settle(c);
    return set_state(c, c->torch->gen, A->a[0]);
}

void tc_torch_generator_init(C *c, module *m) {
    static const native_def fns[] = {{"manual_seed", t_manual_seed},
                                     {"initial_seed", t_initial_seed},
                                     {"get_rng_state", t_get_rng_state},
                                     {"set_rng_state", t_set_rng_state},
                                     {NULL, NULL}};
    static const native_def gen[] = {
        {"__new__", generator_new}, {"manual_seed", generator_seed},    {"initial_seed", generator_initial}, {"_seed_key", generator_seed_key},
        {"_u32", generator_u32},    {"get_state", generator_get_state}, {"set_state", generator_set_state},  {NULL, NULL}};
    tc_define(c, m->d, fns);
    tc_type_methods(c, K_GENERATOR, gen);
}
