/* A small program on cmd/, for tests/cli/cmd.bats: copies its operand, or stdin, to -o; with --input @- it wants stdin twice;
 * with --trace it maps the file, has it truncated, and reads on. */
#include "cmd/cmd.h"

#include <stdio.h>
#include <unistd.h>

static tc_status run(tc_cmd *c) {
    tc_blob *b, *again;
    double seconds;
    int mode;
    static const char *const modes[] = {"eval", "train", NULL};
    TC_TRY(tc_cmd_seconds(c, TC_OPT_max_time, &seconds));
    TC_TRY(tc_cmd_choice(c, TC_OPT_mode, modes, 0, &mode));
    if (seconds >= 0) printf("%g seconds\n", seconds);
    TC_TRY(tc_cmd_read(c, c->noperands ? c->operands[0] : "-", "the program", &b));
    tc_out *o = NULL;
    tc_status s = tc_cmd_has(c, TC_OPT_input) ? tc_cmd_read(c, "-", "--input x", &again) : NULL;
    if (!s && tc_cmd_has(c, TC_OPT_trace) && truncate(c->operands[0], 0) == 0) s = tc_error(TC_ENV, "read %d", b->data[b->len / 2]);
    if (!s) s = tc_cmd_create(c, tc_cmd_get(c, TC_OPT_out), true, &o);
    if (o) s = tc_cmd_finish(c, o, tc_out_write(o, b->data, b->len));
    tc_blob_release(b);
    return s;
}

static const tc_opt_id options[] = {TC_OPT_out, TC_OPT_input, TC_OPT_max_time, TC_OPT_mode, TC_OPT_trace, TC_OPT_NONE};
static const tc_tool tool = {
    .name = "cmd-probe", .operands = "[FILE]", .max_operands = 1, .summary = "Copies a file.", .options = options, .run = run};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
