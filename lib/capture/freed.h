/* Checks second gradients through nodes whose saved tensors a gradient without retain_graph has freed (freed.c). */
#ifndef TC_CAPTURE_FREED_H
#define TC_CAPTURE_FREED_H

#include "capture/object.h"

typedef struct {
    C *c;
    const tc_node **data;
    size_t len, cap;
} tc_passed;
void tc_torch_passed(void *passed, const tc_node *n); /* adds n */

/* Records that a gradient passed these nodes, last to first. Raises where one needs tensors that an earlier gradient freed; retain: this gradient frees
 * nothing. */
void tc_torch_went_back(C *c, const tc_passed *nodes, bool retain);

#endif
