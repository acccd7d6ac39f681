/* Makes the plan of a graph: sorts its nodes into groups and runs the passes over loops. */
#include "pass/plan.h"

#include "kernel/kernel.h"
#include "op/emit.h"
#include "op/lower.h"
#include "op/watch.h"
#include "pass/epilogue.h"
#include "pass/fuse.h"
#include "pass/fuse_cat.h"
#include "pass/narrow.h"
#include "pass/order.h"
#include "pass/tiles.h"

/* Operators that the runtime implements itself: item, assertions on numbers, control flow. */
static bool is_control(const tc_op *op) {
    const char *name = tc_op_name(op);
    return op->flags & TC_OP_HIGHER_ORDER || !strncmp(name, "aten._local_scalar_dense", 24) || !strncmp(name, "aten._assert_scalar", 19);
}

static bool is_kernel(const tc_plan *plan, const tc_op *op) { return op->kernel && !(plan->loops && op->lower); }
static bool is_loop(const tc_plan *plan, const tc_op *op) { return op->lower && !is_control(op) && !op->view_alias && !is_kernel(plan, op); }

static bool only_numbers(const tc_node *n) {
    for (int i = 0; i < n->nouts; i++)
        if (n->outs[i]->kind == TC_V_TENSOR || n->outs[i]->kind == TC_V_LIST) return false;
    return true;
}

/* Adds the loops that make operands of the node tile by tile. */
static void plan_tiles(tc_fuser *f, tc_tile_plan *tiles, tc_group *g) {
    for (int k = 0; tiles->next < tiles->list.len && tiles->list.data[tiles->next].kernel == g->node; tiles->next++, k++) {
        tc_tile *t = &tiles->list.data[tiles->next];
        g->tiles[k] = t->loop;
        tc_fuser_tile(f, tc_arg_value(g->node, t->arg), t->loop);
        t->loop = NULL;
    }
}

static tc_status plan_node(tc_plan *plan, tc_fuser *f, tc_tile_plan *tiles, const tc_node *n) {
    const tc_op *op = n->op;
    tc_group g = {.node = n};
    if (tiles->gone && n->nouts == 1 && n->outs[0]->kind == TC_V_TENSOR && tiles->gone[n->outs[0]->id]) return NULL;
    plan_tiles(f, tiles, &g);
    if (is_control(op)) g.kind = TC_GROUP_CONTROL;
    else if (op->view_alias) g.kind = TC_GROUP_VIEW;
    else if (is_kernel(plan, op)) g.kind = TC_GROUP_KERNEL;
    else if (is_loop(plan, op)) {
        tc_loop *l;
        TC_TRY(tc_lower_node(plan->program, n, &l));
        return tc_fuser_loop(f, n, l);
    } else if (only_numbers(n)) return NULL; /* a node that gives only symbolic numbers: nothing to execute */
    else return tc_error(TC_UNSUPPORTED, "%s: nothing executes %s", n->name ? n->name : "node", tc_op_name(op));
    return tc_fuser_other(f, g);
}

/* With a watch (--dump): verifies every loop after a pass. The fault that a test injects is a store of a missing instruction. */
static tc_status loops_wrong(const tc_pass *pass, const tc_plan *plan) {
    bool spoil = tc_pass_spoils(pass);
    for (size_t i = 0; i < plan->groups.len; i++) {
        const tc_group *g = &plan->groups.data[i];
        tc_loop *l = g->loop ? g->loop : g->epilogue;
        if (!l) continue;
        if (spoil) l->stores.data[0].value = TC_LV_NONE, spoil = false;
        TC_TRY(tc_loop_verify(l), "the loop of %s", tc_fused_name(l->nodes[l->nnodes - 1]));
    }
    return NULL;
}

static tc_status ended(tc_pass *pass, const tc_plan *plan, tc_status s) {
    if (!pass->watch) return s;
    tc_status wrong = s ? NULL : loops_wrong(pass, plan);
    return wrong ? tc_pass_wrong(pass, plan->program, wrong) : tc_pass_end(pass, plan->program, s);
}

static const struct {
    const char *name;
    void (*run)(tc_plan *plan);
} passes[] = {{"epilogue", tc_plan_epilogues}, {"narrow", tc_plan_narrow}, {"parts", tc_plan_fuse_cat}, {"order", tc_plan_order}}; /* in this order */

tc_status tc_plan_create(tc_program *p, tc_graph *g, bool fuse, bool loops, tc_stepping *steps, tc_plan **out_plan) {
    tc_plan *plan = tc_xcalloc(1, sizeof *plan);
    plan->program = p;
    plan->graph = g;
    plan->loops = loops;
    plan->steps = steps;
    tc_pass pass = tc_pass_begin(p, "fuse", NULL);
    tc_fuser *f = tc_fuser_create(plan, fuse);
    tc_status s = NULL;
    tc_tile_plan tiles = {0};
    if (fuse) tc_plan_tiles(plan, &tiles);
    for (const tc_node *n = g->first; n && fuse; n = n->next)
        if (!is_loop(plan, n->op)) tc_fuser_reads_whole(f, n);
    for (const tc_node *n = g->first; n && !s; n = n->next) s = plan_node(plan, f, &tiles, n);
    tc_tile_plan_deinit(&tiles);
    if (!s) s = tc_fuser_finish(f);
    s = ended(&pass, plan, s);
    for (size_t i = 0; i < sizeof passes / sizeof *passes && fuse && !s; i++) {
        pass = tc_pass_begin(p, passes[i].name, NULL);
        passes[i].run(plan);
        s = ended(&pass, plan, NULL);
    }
    tc_fuser_destroy(f);
    if (s) tc_plan_destroy(plan);
    else *out_plan = plan;
    return s;
}

void tc_plan_destroy(tc_plan *plan) {
    if (!plan) return;
    for (size_t i = 0; i < plan->groups.len; i++) {
        tc_loop_free(plan->groups.data[i].loop);
        tc_loop_free(plan->groups.data[i].epilogue);
    }
    tc_vec_free(&plan->groups);
    tc_buf_free(&plan->log);
    free(plan);
}
