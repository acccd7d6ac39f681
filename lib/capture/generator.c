/* Generators: a function with `yield` runs on a stack of its own, suspended at each `yield`.
 *
 *     next(g), g.send(v) --resume()--> [ stack of g: body of the function ... yield ] --stand()--> value
 *
 * State of the context that belongs to one stack is switched with it: exception handlers, frame slots, stack limit. An exception that leaves the body is
 * caught at the base of its stack and raised again by resume(), so no longjmp crosses stacks. Stacks are mapped once, reused, and unmapped with the
 * context; an unfinished generator is never closed. */
#include "capture/ast.h"
#include "capture/fiber.h"
#include "capture/profile.h"

#include <sys/mman.h>

enum { MAX_STACKS = 4096, SLOTS = 1 << 15, STEPS = 20 /* steps that a change of stacks counts as, about its time */ };
static const size_t BYTES = (size_t)8 << 20,
                    SPARE = (size_t)2 << 20; /* reserved for a stack, and its free part below which it is full; mapped, but untouched until used */

/* From the lowest address: this structure, the slots of frames, and the stack, which grows down towards them. */
struct tc_side_stack {
    struct tc_side_stack *next; /* list of all mapped stacks */
    bool used;
};

/* The state of the context that belongs to the running stack. */
typedef struct {
    trap *traps;
    frame *fr;
    V *vstack;
    size_t vtop, vcap;
    const char *stack_limit;
    int depth, trying;
} place;

typedef struct generator {
    iter it;
    C *c;
    frame fr;
    struct tc_side_stack *stack; /* NULL: not started, or finished */
    tc_fiber self, caller;
    place here; /* where it stands */
    trap *foot; /* the outermost handler of its stack */
    V passed;   /* the argument of send() or throw() */
    V value;    /* the yielded value; at the end the returned one */
    V failed;   /* the exception that ended it */
    bool throws, begun, runs, ended;
    bool before; /* made before forward */
} generator;

static place leave(const C *c) { return (place){c->traps, c->fr, c->vstack, c->vtop, c->vcap, c->stack_limit, c->depth, c->trying}; }
static void enter(C *c, place p) {
    c->traps = p.traps, c->fr = p.fr, c->vstack = p.vstack, c->vtop = p.vtop, c->vcap = p.vcap;
    c->stack_limit = p.stack_limit, c->depth = p.depth, c->trying = p.trying;
}

static void body(void *arg) {
    generator *g = arg;
    C *c = g->c;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        g->foot = &t;
        g->value = tc_run_code(c, &g->fr);
        tc_untrap(c, &t);
    } else g->failed = c->exc, g->value = NULL;
    g->ended = true;
}

static struct tc_side_stack *take_stack(C *c) {
    int n = 0;
    for (struct tc_side_stack *s = c->side_stacks; s; s = s->next, n++)
        if (!s->used) return s;
    void *m = n < MAX_STACKS ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0) : MAP_FAILED;
    if (m == MAP_FAILED) tc_raise_limit(c, "the limit of %d generators that are begun and not ended is met", n);
    struct tc_side_stack *s = m;
    s->next = c->side_stacks;
    c->side_stacks = s;
    return s;
}

void tc_side_stacks_free(C *c) {
    while (c->side_stacks) {
        struct tc_side_stack *s = c->side_stacks;
        c->side_stacks = s->next;
        munmap(s, BYTES);
    }
}

static void begin(C *c, generator *g) {
    g->stack = take_stack(c);
    g->stack->used = true;
    V *slots = (V *)(g->stack + 1);
    char *lowest = (char *)(slots + SLOTS), *end = (char *)g->stack + BYTES;
    g->here = (place){.vstack = slots, .vcap = SLOTS, .stack_limit = lowest + SPARE};
    tc_fiber_begin(&g->self, lowest, (size_t)(end - lowest), body, g);
}

/* The outermost call and handler of the body are linked to those of the caller, which differs each time. */
static void stand_on_caller(C *c, generator *g, const place *caller) {
    const int deeper = c->depth + 1 - g->fr.depth;
    g->fr.prev = caller->fr, g->fr.depth += deeper, g->fr.calls = NULL;
    g->here.fr = &g->fr, g->here.depth = g->fr.depth;
    if (!g->begun) {
        g->here.traps = caller->traps, g->here.trying = caller->trying;
        return;
    }
    for (trap *t = g->here.traps;; t = t->prev) {
        t->depth += deeper;
        if (t == g->foot) break;
    }
    g->foot->prev = caller->traps;
}

/* Runs the body to its next yield. `passed` becomes the value of the current yield, or is raised there if it throws. NULL at the end: g->value is
 * the returned value. */
static V resume(C *c, generator *g, V passed, bool throws) {
    if (g->runs) tc_raise(c, "ValueError", "generator already executing");
    if (!g->begun && throws) g->ended = true;
    if (g->ended && throws) tc_raise_value(c, passed);
    if (g->ended) {
        g->value = NULL; /* what it returned is told once */
        return NULL;
    }
    if (!g->begun && passed != c->none) tc_raise(c, "TypeError", "can't send non-None value to a just-started generator");
    if (g->before && c->capturing)
        tc_raise(c, "RuntimeError", "the generator %s() from before forward goes on while forward is captured: the program could not do that again",
                 g->fr.sc->qualname->s);
    tc_steps(c, STEPS);
    if (c->depth >= c->max_depth) tc_raise_depth(c);
    if (!g->begun) begin(c, g);
    const place caller = leave(c);
    stand_on_caller(c, g, &caller);
    g->begun = g->runs = true;
    g->passed = passed, g->throws = throws;
    tc_profile_row *row = c->profile ? tc_profile_here(c->profile) : NULL;
    enter(c, g->here);
    tc_fiber_cross(&g->caller, &g->self);
    enter(c, caller);
    if (row) tc_profile_back(c->profile, row);
    g->runs = false;
    if (!g->ended) return g->value;
    tc_fiber_end(&g->self);
    g->stack->used = false, g->stack = NULL;
    if (!g->failed) return NULL;
    if (tc_exc_is(c, g->failed, "StopIteration")) tc_raise(c, "RuntimeError", "generator raised StopIteration");
    tc_raise_again(c, g->failed);
}

static V next_value(C *c, iter *it) { return resume(c, (generator *)it, c->none, false); }

static generator *as_generator(V v) { return tc_kind_of(v) == K_GENEXPR && ((iter *)v)->next == next_value ? (generator *)v : NULL; }

V tc_generator_new(C *c, frame fr) {
    generator *g = tc_new(c, K_GENEXPR, sizeof *g);
    g->it.next = next_value;
    g->c = c;
    g->fr = fr;
    g->fr.generator = g;
    g->fr.at = fr.sc->yields;
    g->fr.slots = tc_mem(c, sizeof(V) * (size_t)(fr.sc->nslots + 1));
    if (fr.sc->nslots) memcpy(g->fr.slots, fr.slots, sizeof(V) * (size_t)fr.sc->nslots);
    g->before = !c->capturing;
    return (V)g;
}

/* The value that `return` gave in an exhausted iterator. */
V tc_generator_result(C *c, V it) {
    generator *g = as_generator(it);
    return g && g->ended && g->value ? g->value : c->none;
}

/* Yields a value; returns what is sent, or raises what is thrown. */
static V stand(C *c, generator *g, V v) {
    g->value = v;
    g->here = leave(c);
    tc_fiber_cross(&g->self, &g->caller);
    if (g->throws) tc_raise_value(c, g->passed);
    return g->passed;
}

/* yield from: passes what is sent or thrown to the outer generator on to the inner one. */
static V delegate(C *c, generator *g, V from) {
    V it = tc_iter(c, from), v = tc_next(c, it);
    generator *inner = as_generator(it);
    while (v) {
        g->value = v;
        g->here = leave(c);
        tc_fiber_cross(&g->self, &g->caller);
        if (inner) v = resume(c, inner, g->passed, g->throws);
        else if (g->throws) tc_raise_value(c, g->passed);
        else v = g->passed == c->none ? tc_next(c, it) : tc_call_method(c, tc_iter_object(it), tc_intern(c, "send", 4), 1, &g->passed);
    }
    return tc_generator_result(c, it);
}

V tc_yield(C *c, frame *f, const ast *n) {
    V v = n->a ? tc_eval_expr(c, f, n->a) : c->none;
    f->at = n;
    return n->op ? delegate(c, f->generator, v) : stand(c, f->generator, v);
}

void tc_stop_iteration(C *c, V it) {
    V result = tc_generator_result(c, it);
    type *stop = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "StopIteration", 13));
    tc_raise_value(c, tc_exc_new(c, stop, tc_tuple(c, result != c->none, &result)));
}

/* ---- methods ---- */
static generator *self_of(C *c, V v, const char *name) {
    generator *g = as_generator(v);
    if (!g) tc_raise(c, "AttributeError", "%s() of a generator expression is outside the model language", name);
    return g;
}

static V or_stop(C *c, generator *g, V v) {
    if (!v) tc_stop_iteration(c, (V)g);
    return v;
}

static V g_send(C *c, args *A) {
    V v[2];
    tc_take(c, A, "send", "self value", v);
    generator *g = self_of(c, v[0], "send");
    return or_stop(c, g, resume(c, g, v[1], false));
}

/* throw(exception), throw(class), throw(class, value or exception, traceback) */
static V g_throw(C *c, args *A) {
    V v[4];
    tc_take(c, A, "throw", "self type value= traceback=", v);
    generator *g = self_of(c, v[0], "throw");
    V e = v[1];
    if (v[2] && tc_kind_of(v[2]) == K_EXC) e = v[2];
    else if (tc_kind_of(e) == K_TYPE && ((type *)e)->kind == K_EXC) e = v[2] && v[2] != c->none ? tc_call1(c, e, v[2]) : tc_call0(c, e);
    if (tc_kind_of(e) != K_EXC)
        tc_raise(c, "TypeError", "exceptions must be classes or instances deriving from BaseException, not %s", tc_type_name(c, e));
    return or_stop(c, g, resume(c, g, e, true));
}

static V g_close(C *c, args *A) {
    V v[1];
    tc_take(c, A, "close", "self", v);
    generator *g = self_of(c, v[0], "close");
    trap t;
    V volatile more = NULL;
    V exit = tc_call0(c, tc_dict_gets(c, c->exceptions, tc_intern(c, "GeneratorExit", 13)));
    if (TC_TRAP(c, t)) {
        more = resume(c, g, exit, true);
        tc_untrap(c, &t);
    } else if (!tc_exc_is(c, c->exc, "GeneratorExit")) tc_raise_again(c, c->exc);
    if (more) tc_raise(c, "RuntimeError", "generator ignored GeneratorExit");
    return c->none;
}

void tc_generators_init(C *c) {
    static const native_def methods[] = {{"send", g_send}, {"throw", g_throw}, {"close", g_close}, {NULL, NULL}};
    tc_type_methods(c, K_GENEXPR, methods);
}
