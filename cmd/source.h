/* A model's source as an operand, with the options that say how to capture it: tc-export's words, and a recipe's. */
#ifndef TC_CMD_SOURCE_H
#define TC_CMD_SOURCE_H

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
} tc_cmd_source;

/* FILE.py:Class, --input, --dim, --arg, --args, --source. */
tc_status tc_cmd_source_open(tc_cmd *c, const char *operand, tc_cmd_source *q);
/* shapes.c: --profile-shapes; inputs that --input does not name. TC_CONTENT with the line. */
tc_status tc_cmd_source_shapes(tc_cmd *c, tc_cmd_source *q);
void tc_cmd_source_close(tc_cmd_source *q);
/* --weights for a model that changes what it loads: tc_capture_request.stored, of a tc_cmd with --weights, and what the capture made of it. */
tc_status tc_cmd_stored(void *self, const tc_map *own, void (*take)(void *to, const char *name, const tc_tensor *t), void *to);
tc_status tc_cmd_weights_changed(tc_cmd *c, const tc_capture_stored *s, size_t n, tc_program *p);

#endif
