/* Passes under watch (--dump DIR): the program is verified after each, and one that leaves it wrong leaves evidence.
 *
 *     tc_pass pass = tc_pass_begin(p, "cse", NULL);
 *     tc_cse(p);
 *     TC_TRY(tc_pass_end(&pass, p, NULL));
 *
 * A pass may consist of others: what is kept of a failure is the program as it was before the outermost. A program that nobody watches
 * (program->watch NULL) is neither copied nor verified. */
#ifndef TC_OP_WATCH_H
#define TC_OP_WATCH_H

#include "graph/graph.h"

typedef struct tc_watch {
    /* Keeps watch->before and `made`, what the pass watch->running left (NULL: nothing that can be read), and says where they are. */
    void (*evidence)(struct tc_watch *watch, const tc_program *made, const char *message);
    const char *fault; /* for tests: the pass of this name leaves a wrong program, that of this name and a '!' stops tc; NULL: none does */
    /* of the outermost pass in progress, NULL between passes */
    tc_program *before;
    char *again; /* options of tc-export, or a stage that it knows (tc-export/reproduce.c), that make the same of it; a line each */
    const char *running;
    bool sound; /* the program was valid before it */
    tc_buf ran; /* a line for each pass that has ended */
} tc_watch;
void tc_watch_deinit(tc_watch *w);

typedef struct {
    tc_watch *watch; /* NULL: nobody's */
    const char *name, *outer;
} tc_pass;

/* again: see tc_watch; NULL within a pass whose own does. Copied. */
tc_pass tc_pass_begin(tc_program *p, const char *name, const char *again);
/* s, what the pass returned; where that is NULL, what is wrong with `made`, the program that it made or changed. Of every outermost pass it
 * must be called, failed or not. */
tc_status tc_pass_end(tc_pass *pass, tc_program *made, tc_status s);
/* The same of a pass that was found wrong otherwise, with the reason s. */
tc_status tc_pass_wrong(tc_pass *pass, const tc_program *made, tc_status s);
bool tc_pass_spoils(const tc_pass *pass); /* for tests: what the pass made shall be wrong */

#endif
