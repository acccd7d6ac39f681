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
} slot; /* a buffer's place in its module's _buffers */

struct tc_capture {
    C *c;
    tc_program *p;
    region *root;
    TC_VEC(touched) touched; /* tensors whose v stands for an input: reset at the end */
    TC_VEC(slot) slots;
    TC_VEC(const char *) dims; /* "x.0" of each symbol, by index */
    TC_VEC(bool) declared;
    const tc_capture_dim *ranges;
    int nranges;
    const tc_side_size *sizes; /* example values given from outside, by index */
    size_t nsizes;
    const char *const *follow; /* axes that no --dim names and yet are symbols, for they follow one that has a name: "pad.0" */
    size_t nfollow;
    int64_t same_as; /* without `follow`: every such axis whose example is this; 0: none */
    int64_t forced;  /* what a declared size was refused for: the model forces it to be this; 0: it was not */
    int nconstants, attempt;
    bool no_grad, was_capturing, lenient;
    TC_VEC(tc_call_signature) calls; /* that run and are to be known by their signatures, the innermost last */
    bool sided, side_forced;         /* branches have other sides; one of this program fixes a declared size */
};

static inline tc_capture *tc_capture_active(C *c) { return c->torch->capture; } /* NULL: nothing is being captured */

#endif
