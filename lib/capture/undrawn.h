/* Initial values that are drawn only when something reads them: a model whose weights come from a file, or are not stored, needs none.
 *
 *     w.normal_(0, 0.02)   a call is put off; its result is memory that nothing has touched (tc_storage.undrawn)
 *     w.mul_(2), w.clone() so are loops over such tensors
 *     w.sum(), print(w)    anything else that reads one makes all calls, in their order, so that each draws what it would have drawn
 *
 * Calls that were put off and whose results nobody holds, or which a later one overwrites, only draw. */
#ifndef TC_CAPTURE_UNDRAWN_H
#define TC_CAPTURE_UNDRAWN_H

#include "capture/capture.h"
#include "capture/torch.h"

void tc_undrawn_begin(C *c); /* calls are put off from now on */
/* Puts off a call on concrete tensors with one result, `made` by the shape rule; nargs arguments, of which tensors have their tc_tensor as aux.
 * False, and nothing done: it reads values that are there, or is none that can wait. */
bool tc_undrawn_call(C *c, const tc_op *op, const tc_arg *a, int nargs, const tc_meta *made, tc_tensor *out);
/* Writes `result`, which nobody else holds, over the whole memory of dst. False, and nothing done: neither waits for its values. */
bool tc_undrawn_move(C *c, const tc_tensor *dst, const tc_tensor *result);
void tc_undrawn_settle(C *c); /* makes the calls; raises their errors */
/* Before the values of t are read or written. */
static inline void tc_undrawn_touch(C *c, const tc_tensor *t) {
    if (t->storage && t->storage->undrawn) tc_undrawn_settle(c);
}
tc_undrawn *tc_undrawn_take(C *c); /* what is put off becomes the caller's, with the generator; NULL: nothing is */

#endif
