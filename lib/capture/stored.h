/* Weights on their way through the hooks of the model that loads them. */
#ifndef TC_CAPTURE_STORED_H
#define TC_CAPTURE_STORED_H

#include "capture/capture.h"

/* Gives the tensors of r->stored to the model m, if it changes what it loads; out->stored is then what it made of them. */
void tc_capture_stored_change(C *c, V m, const tc_capture_request *r, tc_capture_result *out);

#endif
