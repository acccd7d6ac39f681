/* What the files of tc-export share. */
#ifndef TC_EXPORT_EXPORT_H
#define TC_EXPORT_EXPORT_H

#include "capture/capture.h"
#include "cmd/cmd.h"

/* The command line as a request: lists and what they own. */
typedef struct {
    tc_capture_request r;
    TC_VEC(tc_capture_input) inputs;
    TC_VEC(tc_capture_dim) dims;
    TC_VEC(tc_capture_arg) args;
    tc_arena arena;
    tc_blob *source;
} request;

/* FILE.py:Class, --input, --dim, --arg, --args, --source. */
tc_status request_open(tc_cmd *c, const char *operand, request *q);
void request_close(request *q);

#endif
