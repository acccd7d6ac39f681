/* --keep-going: reports all errors of a capture in one run.
 *
 *     y = torch.nothing(x)   noted; y is unknown        a value on which every operation gives the unknown value again, in silence
 *     if y.sum() > 0:        unknown: both branches are evaluated
 *     z = x.tolist()         noted
 *
 * While C.keep is set, failing expressions and statements of the user's files are noted and evaluation continues. Errors that the model catches itself
 * (try, getattr default) do not count. Only the list of errors is used afterwards. */
#ifndef TC_CAPTURE_KEEP_GOING_H
#define TC_CAPTURE_KEEP_GOING_H

#include "capture/ast.h"

typedef struct tc_keep tc_keep;
void tc_keep_begin(C *c); /* C.keep from now on; released with the context */
void tc_keep_release(C *c);
/* The failures so far, sorted by location, without duplicates; the malloc'ed array and the statuses are the caller's. */
tc_status *tc_keep_take(C *c, size_t *out_n);
size_t tc_keep_count(const C *c);
void tc_keep_drop(C *c, size_t from, size_t to); /* forgets those */
bool tc_keep_refused(const C *c, size_t from);   /* is one of them raised by the model itself? Other example sizes may work then */

V tc_keep_eval(C *c, frame *f, const ast *n);   /* tc_eval_expr of the user's files */
V tc_keep_getattr(C *c, V o, str *name);        /* tc_getattr; the unknown value when it fails */
int tc_keep_truth(C *c, V v, const char *what); /* 0 or 1; -1: unknown, evaluate both branches */
bool tc_keep_unknown(const C *c, V v);

/* State of the evaluator to resume from. */
typedef struct {
    struct region *region;
    struct tc_graph *graph;
    bool no_grad, inference, capturing;
    int autocast;
    V handling;
    size_t unknowns;
} tc_keep_point;
tc_keep_point tc_keep_mark(C *c, frame *f);
/* A statement has raised c->exc: notes it and makes the names that it binds unknown; true when the function ends there. Re-raises errors that end the
 * run. */
bool tc_keep_failed(C *c, frame *f, const ast *n, tc_keep_point at);
void tc_keep_note(C *c, tc_keep_point at); /* the same of anything else */
/* A name that holds a tensor is given the unknown value: it keeps the tensor, so that what is done with it is looked at. */
bool tc_keep_retains(C *c, frame *f, const ast *target, V v);
/* Brackets the evaluation of both branches of `n`; false: an enclosing call evaluates them already. */
bool tc_keep_enter(C *c, const ast *n);
void tc_keep_leave(C *c);
/* A statement that the parser refused (c->exc) and skips: noted; the names in [p, end) are unknown. */
void tc_keep_syntax(C *c);
void tc_keep_lose(C *c, str *name);

#endif
