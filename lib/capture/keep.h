/* --keep-going: everything in a source that cannot be captured, in one run.
 *
 *     y = torch.nothing(x)   noted; y is unknown        a value on which every operation gives the unknown value again, in silence
 *     if y.sum() > 0:        unknown: both branches are looked at
 *     z = x.tolist()         noted
 *
 * While C.keep is set, expressions and statements of the user's own files that fail are noted and evaluation goes on. An error that a
 * `try` or a default of the model catches is no failure. Nothing of such a run is used but the list. */
#ifndef TC_CAPTURE_KEEP_H
#define TC_CAPTURE_KEEP_H

#include "capture/ast.h"

typedef struct tc_keep tc_keep;
void tc_keep_begin(C *c); /* C.keep from now on; released with the context */
void tc_keep_release(C *c);
/* The failures so far, sorted by place, each place and identifier once; the statuses are the caller's, the array is malloc'ed. */
tc_status *tc_keep_take(C *c, size_t *out_n);
size_t tc_keep_count(const C *c);
void tc_keep_drop(C *c, size_t from, size_t to); /* forgets those */
bool tc_keep_refused(const C *c, size_t from);   /* one of them is a refusal of the model's own: other example sizes may do */

V tc_keep_eval(C *c, frame *f, const ast *n);   /* tc_eval_expr of the user's files */
V tc_keep_getattr(C *c, V o, str *name);        /* tc_getattr; the unknown value when it fails */
int tc_keep_truth(C *c, V v, const char *what); /* 0 or 1; -1: not known, look at both */
bool tc_keep_unknown(const C *c, V v);

/* What the evaluator was in the midst of, to go on from. */
typedef struct {
    struct region *region;
    struct tc_graph *graph;
    bool no_grad, inference, capturing;
    int autocast;
    V handling;
    size_t unknowns;
} tc_keep_point;
tc_keep_point tc_keep_mark(C *c, frame *f);
/* A statement has raised c->exc: noted, and what it binds is unknown; true when the function ends there. Raises again what is not to be kept. */
bool tc_keep_failed(C *c, frame *f, const ast *n, tc_keep_point at);
void tc_keep_note(C *c, tc_keep_point at); /* the same of anything else */
/* A name that holds a tensor is given the unknown value: it keeps the tensor, so that what is done with it is looked at. */
bool tc_keep_retains(C *c, frame *f, const ast *target, V v);
/* Both branches of `n` are looked at between the two; false: they are already, further up. */
bool tc_keep_enter(C *c, const ast *n);
void tc_keep_leave(C *c);
/* A statement that the parser refused (c->exc) and skips: noted; the names in [p, end) are unknown. */
void tc_keep_syntax(C *c);
void tc_keep_lose(C *c, str *name);

#endif
