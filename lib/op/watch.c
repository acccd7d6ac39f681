/* Runs passes under watch, for --dump (watch.h). */
#include "op/watch.h"

#include "op/op.h"

#include <signal.h>
#include <string.h>

static void forget(tc_watch *w) {
    tc_program_release(w->before);
    free(w->repeat);
    w->before = NULL, w->repeat = NULL, w->running = NULL;
}

void tc_watch_deinit(tc_watch *w) {
    forget(w);
    tc_buf_free(&w->ran);
}

tc_pass tc_pass_begin(tc_program *p, const char *name, const char *repeat) {
    tc_watch *w = p->watch;
    if (!w) return (tc_pass){NULL};
    tc_pass pass = {w, name, w->running};
    if (!w->running) {
        tc_status s = tc_program_verify(p);
        w->sound = !s;
        tc_status_free(s);
        w->before = tc_program_clone(p);
        w->repeat = tc_xstrdup(repeat ? repeat : "");
    }
    w->running = name;
    return pass;
}

bool tc_pass_spoils(const tc_pass *pass) {
    const char *fault = pass->watch ? pass->watch->fault : NULL;
    const size_t n = strlen(pass->name ? pass->name : "");
    if (!fault || strncmp(fault, pass->name, n)) return false;
    if (!strcmp(fault + n, "?")) raise(SIGABRT); /* as malloc does when the heap is corrupted */
    if (!strcmp(fault + n, "!")) TC_BUG("the fault that was asked for in the pass %s", pass->name);
    return !fault[n];
}

/* Gives the last tensor that a node makes another type. */
static void spoil(tc_program *p) {
    for (tc_node *n = p->graph->last; n; n = n->prev)
        for (int i = 0; i < n->nouts; i++)
            if (n->outs[i]->kind == TC_V_TENSOR) {
                n->outs[i]->meta.dtype = n->outs[i]->meta.dtype == TC_F64 ? TC_I64 : TC_F64;
                return;
            }
    p->graph->nnodes++;
}

static tc_status leave(tc_pass *pass, tc_status s) {
    tc_watch *w = pass->watch;
    if (!s) tc_buf_printf(&w->ran, "%s\n", pass->name);
    if (pass->outer) w->running = pass->outer;
    else forget(w);
    return s;
}

tc_status tc_pass_wrong(tc_pass *pass, const tc_program *made, tc_status s) {
    s = tc_annotate(s, "internal error: the pass %s leaves a wrong program", pass->name);
    pass->watch->on_failure(pass->watch, made, tc_status_message(s));
    return leave(pass, s);
}

tc_status tc_pass_end(tc_pass *pass, tc_program *made, tc_status s) {
    if (!pass->watch) return s;
    if (s || !pass->watch->sound) return leave(pass, s);
    if (tc_pass_spoils(pass)) spoil(made);
    s = tc_program_verify(made);
    return s ? tc_pass_wrong(pass, made, s) : leave(pass, NULL);
}
