/* A model source as operand, with the options that say how to capture it: from tc-export's command line or a recipe. */
#ifndef TC_CMD_SOURCE_H
#define TC_CMD_SOURCE_H

#include "capture/capture.h"
#include "cmd/cmd.h"

/* The command line as a capture request; owns the lists. */
typedef struct {
    tc_capture_request r;
    TC_VEC(tc_capture_input) inputs;
    TC_VEC(tc_capture_dim) dims;
    TC_VEC(tc_capture_arg) args;
    tc_arena arena;
    tc_blob *source;
} tc_cmd_source;

/* Fills q from FILE.py:Class, --input, --dim, --arg, --args, --source. */
tc_status tc_cmd_source_open(tc_cmd *c, const char *operand, tc_cmd_source *q);
/* shapes.c: adds the inputs that --profile-shapes declares and --input does not. TC_CONTENT with the line. */
tc_status tc_cmd_source_shapes(tc_cmd *c, tc_cmd_source *q);
void tc_cmd_source_close(tc_cmd_source *q);
/* Callback tc_capture_request.stored for models with load_state_dict hooks: hands the tensors of --weights to the capture, which may change them. */
tc_status tc_cmd_stored(void *self, const tc_map *own, void (*take)(void *to, const char *name, const tc_tensor *t), void *to);
tc_status tc_cmd_weights_changed(tc_cmd *c, const tc_capture_stored *s, size_t n, tc_program *p);

#endif
