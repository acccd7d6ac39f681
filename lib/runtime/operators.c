/* Finds code of compiled operators for a loop by what the loop computes (operators.h). */
#include "runtime/operators.h"

#include "op/functionalise.h"

typedef struct {
    const tc_loop *loop;
    tc_group_desc desc;
    const tc_abi_group *code;
} entry;
struct tc_operators {
    tc_modules *modules;
    tc_exec_list execs; /* own the loops */
    TC_VEC(entry) all;
    tc_arena arena;
};

tc_operators *tc_operators_create(void) {
    tc_operators *o = tc_xcalloc(1, sizeof *o);
    o->modules = tc_modules_create();
    return o;
}

void tc_operators_destroy(tc_operators *o) {
    if (!o) return;
    for (size_t i = 0; i < o->execs.len; i++) tc_exec_destroy(o->execs.data[i]);
    tc_vec_free(&o->execs);
    tc_vec_free(&o->all);
    tc_modules_destroy(o->modules);
    tc_arena_free(&o->arena);
    free(o);
}

static tc_status add_form(const tc_program *p, const tc_exec_options *o, tc_exec_list *out) {
    tc_exec *e;
    TC_TRY(tc_exec_create(p, o, &e), "%s", p->name);
    tc_vec_push(out, e);
    return NULL;
}

tc_status tc_operator_forms(const tc_program *p, const tc_exec_options *o, tc_exec_list *out) {
    TC_TRY(add_form(p, o, out));
    for (int i = 0; p->noutputs > 1 && i < p->noutputs; i++) {
        tc_program *alone = tc_program_clone(p);
        const tc_output one = alone->outputs[i];
        alone->noutputs = alone->graph->noutputs = 0;
        alone->out_tree = NULL;
        tc_program_add_output(alone, one);
        tc_status s = add_form(alone, o, out);
        tc_program_release(alone);
        TC_TRY(s);
    }
    return NULL;
}

/* Adds the loops of a plan for which there is code. */
static tc_status add_loops(tc_operators *o, const tc_exec *e) {
    tc_loop_list loops = {0};
    tc_status s = NULL;
    tc_exec_loops(e, &loops);
    for (size_t i = 0; i < loops.len && !s; i++) {
        entry x = {.loop = loops.data[i]};
        s = tc_group_describe(x.loop, &o->arena, &x.desc);
        x.code = s ? NULL : tc_modules_find(o->modules, x.desc.key);
        if (x.code) tc_vec_push(&o->all, x);
    }
    tc_vec_free(&loops);
    return s;
}

static tc_status add_program(tc_operators *o, const tc_program *p) {
    const size_t from = o->execs.len;
    TC_TRY(tc_operator_forms(p, &(tc_exec_options){.threads = 1}, &o->execs));
    for (size_t i = from; i < o->execs.len; i++) TC_TRY(add_loops(o, o->execs.data[i]));
    return NULL;
}

tc_status tc_operators_load(tc_operators *o, tc_archive *a, const char *cap, bool trusted, const char **out_note) {
    tc_packed packed;
    TC_TRY(tc_packed_load(a, cap, trusted, o->modules, &packed));
    *out_note = packed.note;
    for (size_t i = 0; packed.isa && i < tc_archive_count(a); i++) {
        tc_program *p;
        TC_TRY(tc_archive_program(a, tc_archive_name(a, i), &p));
        tc_status s = tc_functionalise(p);
        if (!s) s = add_program(o, p);
        tc_program_release(p);
        TC_TRY(s, "%s", tc_archive_name(a, i));
    }
    return NULL;
}

const tc_abi_group *tc_operators_find(void *operators, const tc_loop *l, tc_arena *a, tc_group_desc *out) {
    const tc_operators *o = operators;
    for (size_t i = 0; i < o->all.len; i++)
        if (tc_group_serves(o->all.data[i].loop, &o->all.data[i].desc, l, a, out)) return o->all.data[i].code;
    return NULL;
}
