/* Internal to captures: the state of one, shared by capture.c and capture_outputs.c. */
#ifndef TC_CAPTURE_CAPTURE_STATE_H
#define TC_CAPTURE_CAPTURE_STATE_H

#include "capture/capture.h"
#include "capture/torch.h"

typedef struct {
    tensor *t;
    tc_value *before;
} touched;
typedef struct {
    V owner;
    str *key;
    V value;
    int input;
} slot; /* a buffer's entry in its module's _buffers */

struct tc_capture {
    C *c;
    tc_program *p;
    region *root;
    TC_VEC(touched) touched; /* tensors bound to an input value: reset at the end */
    TC_VEC(slot) slots;
    TC_VEC(const char *) dims; /* by symbol: its axis, "x.0" */
    TC_VEC(bool) declared;
    const tc_capture_dim *ranges;
    int nranges;
    const tc_side_size *sizes; /* example values set by tc_capture_sizes, by index */
    size_t nsizes;
    const char *const *follow; /* undeclared axes that are symbols because they equal a declared size: "pad.0" */
    size_t nfollow;
    int64_t same_as; /* without `follow`: all undeclared axes with this example size; 0: none */
    int64_t forced;  /* the value that the model forces a declared size to have; 0: none */
    int nconstants, attempt;
    bool no_grad, was_capturing, lenient;
    TC_VEC(tc_call_signature) calls; /* active calls whose signatures are recorded, innermost last */
    bool sided, side_forced;         /* sided: branches on sizes may have other sides; side_forced: a branch fixes a declared size */
};

static inline tc_capture *tc_capture_active(C *c) { return c->torch->capture; } /* NULL: nothing is being captured */

#endif
