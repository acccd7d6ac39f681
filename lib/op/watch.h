/* Runs passes under watch (--dump DIR): the program is verified after each pass; if it is invalid, a reproducer is written.
 *
 *     tc_pass pass = tc_pass_begin(p, "cse", NULL);
 *     tc_cse(p);
 *     TC_TRY(tc_pass_end(&pass, p, NULL));
 *
 * Passes may be nested: on failure the program before the outermost pass is kept. Without a watch (program->watch NULL) a program is neither
 * copied nor verified. */
#ifndef TC_OP_WATCH_H
#define TC_OP_WATCH_H

#include "graph/graph.h"

typedef struct tc_watch {
    /* Keeps watch->before and `made`, the result of the pass watch->running (NULL: nothing readable), and reports where. */
    void (*on_failure)(struct tc_watch *watch, const tc_program *made, const char *message);
    const char *fault; /* for tests: NAME: that pass makes an invalid program; NAME!: TC_BUG in it; NAME?: it aborts; NULL: none */
    /* of the outermost pass in progress, NULL between passes */
    tc_program *before;
    char *repeat; /* one line for each step of tc-export that repeats the pass: an option, or a stage known to tc-export/reproduce.c */
    const char *running;
    bool sound; /* the program was valid before it */
    tc_buf ran; /* one line for each pass that has ended */
} tc_watch;
void tc_watch_deinit(tc_watch *w);

typedef struct {
    tc_watch *watch; /* NULL: nobody's */
    const char *name, *outer;
} tc_pass;

/* repeat: see tc_watch, copied; NULL inside a pass that gives its own. */
tc_pass tc_pass_begin(tc_program *p, const char *name, const char *repeat);
/* s: the status of the pass; if NULL, `made`, the program that it made or changed, is verified. Must be called for every outermost pass, failed or
 * not. */
tc_status tc_pass_end(tc_pass *pass, tc_program *made, tc_status s);
/* The same for a pass that was found wrong in another way, with the reason s. */
tc_status tc_pass_wrong(tc_pass *pass, const tc_program *made, tc_status s);
bool tc_pass_spoils(const tc_pass *pass); /* for tests: should the pass make an invalid program? */

#endif
