/* Applies a model's load_state_dict hooks to the weights that are loaded into it. */
#ifndef TC_CAPTURE_LOAD_HOOKS_H
#define TC_CAPTURE_LOAD_HOOKS_H

#include "capture/capture.h"

/* If model m changes what it loads: passes the tensors of r->stored through its hooks; out->stored: the result. */
void tc_capture_run_load_hooks(C *c, V m, const tc_capture_request *r, tc_capture_result *out);

#endif
