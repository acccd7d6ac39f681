/* What tc_capture_source does around a capture: the module (source_module.c) and the arguments of its forward (source_inputs.c). m is a module or a
 * function. */
#ifndef TC_CAPTURE_SOURCE_H
#define TC_CAPTURE_SOURCE_H

#include "capture/capture.h"
#include "capture/torch.h"

/* What the user calls an option in messages: `word` of the request's `said`, else the option of tc-export. */
static inline const char *tc_source_said(const char *word, const char *option) { return word ? word : option; }

/* Runs the top level of the file, then seeds the generator, so that draws or seeds at the top level do not change the initialisation. */
module *tc_source_load(C *c, const tc_capture_request *r);
/* The class or factory that the request names, called with its arguments; a function that takes inputs is returned as it is. */
V tc_source_construct(C *c, module *m, const tc_capture_request *r);

V tc_source_forward(C *c, V m);        /* the function that is captured */
list *tc_source_parameters(C *c, V m); /* its parameters after self, as tc_func_signature gives them */
/* The inputs in the order of forward's parameters, each with its full name. */
tc_capture_input *tc_source_ordered(C *c, const tc_capture_request *r, list *params);
/* Makes the values of the inputs `in`; returns them by parameter, checked against the request's dims and the parameters without a default. */
dict *tc_source_given(C *c, tc_capture *k, V m, module *mod, const tc_capture_request *r, const tc_capture_input *in);
/* The arguments of the call, which become p's tree of inputs: positional up to the first omitted parameter, then by keyword. Takes entries from given. */
args tc_source_call(C *c, tc_program *p, dict *given, const list *params);
/* The names of forward's results: `return x` or `return x, h`; "*" stands for a starred one. */
int tc_source_returned_names(C *c, V m, const char ***out);
void tc_source_gives_none(C *c, V m); /* warns that forward returned None */

#endif
