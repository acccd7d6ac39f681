/* Gradients that were asked for without retain_graph (freed.c). */
#ifndef TC_CAPTURE_FREED_H
#define TC_CAPTURE_FREED_H

#include "capture/object.h"

/* The nodes from `first` on (NULL: none) are those of a gradient. Raises where one reads what an earlier gradient freed; retain: this one frees nothing. */
void tc_torch_went_back(C *c, const tc_node *first, bool retain);

#endif
