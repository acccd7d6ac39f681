/* Checks second gradients through nodes whose saved tensors a gradient without retain_graph has freed (retain_graph.c). */
#ifndef TC_CAPTURE_RETAIN_GRAPH_H
#define TC_CAPTURE_RETAIN_GRAPH_H

#include "capture/object.h"

typedef struct {
    C *c;
    const tc_node **data;
    size_t len, cap;
} tc_backward_nodes;
void tc_torch_add_backward_node(void *passed, const tc_node *n); /* adds n */

/* Records that a gradient passed these nodes, last to first. Raises where one needs tensors that an earlier gradient freed; retain: this gradient frees
 * nothing. */
void tc_torch_check_backward(C *c, const tc_backward_nodes *nodes, bool retain);

#endif
