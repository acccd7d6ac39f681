/* --draft: decides data-dependent questions of a capture from the example inputs, and reports them.
 *
 *     if n > 3:      the program so far runs on the example inputs: n is 5. An assertion that n > 3 enters the graph, which goes on as if
 *                    the source had promised it, and the report says so, with the line that would promise it */
#ifndef TC_CAPTURE_DRAFT_H
#define TC_CAPTURE_DRAFT_H

#include "capture/object.h"

/* Callback that computes a number: runs p, whose single output is a leaf and whose user inputs are named as the request's. */
typedef tc_status (*tc_observe)(void *self, const tc_program *p, tc_symvalue *out);

typedef struct tc_draft {
    tc_observe observe;
    void *self;
    tc_buf report;
    size_t places;
    bool of_tensor; /* the question is the truth of a tensor */
    dict *seen;     /* locations already in the report, since modes are captured one after another */
} tc_draft;

/* The value of s, asked where evaluation stands: asserted in the graph and reported. false: not in draft, or inside a branch of torch.cond
 * and the like, where nothing has run. what: "a branch"; part as in
 * tc_sym_force_as. */
bool tc_draft_decide(C *c, tc_sym s, const char *what, const char *part, tc_symvalue *out);
void tc_draft_note(C *c, tc_source at, const char *text); /* adds a line to the report, for a location not in it yet */

#endif
