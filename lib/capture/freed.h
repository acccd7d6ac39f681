/* Gradients that were asked for without retain_graph (freed.c). */
#ifndef TC_CAPTURE_FREED_H
#define TC_CAPTURE_FREED_H

#include "capture/object.h"

typedef struct {
    C *c;
    const tc_node **data;
    size_t len, cap;
} tc_passed;
void tc_torch_passed(void *passed, const tc_node *n); /* adds n */

/* A gradient went through these nodes, from the last to the first. Raises where one needs what an earlier gradient freed; retain: this one frees
 * nothing. */
void tc_torch_went_back(C *c, const tc_passed *nodes, bool retain);

#endif
