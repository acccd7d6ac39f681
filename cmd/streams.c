/* stdin and stdout of the programs: one reader of stdin, no binary data to a terminal, outputs by rename. */
#include "base/text.h"
#include "cmd/internal.h"
#include "file/tensors.h"

#include <unistd.h>

tc_status tc_cmd_claim_stdin(tc_cmd *c, const char *who) {
    if (c->stdin_claim) return tc_status_add(tc_usage(c, "both %s and %s read stdin", c->stdin_claim, who), "give one of them as a file");
    c->stdin_claim = who;
    return NULL;
}

tc_status tc_cmd_read(tc_cmd *c, const char *path, const char *who, tc_blob **out_blob) {
    *out_blob = NULL;
    bool from_stdin = strcmp(path, "-") == 0;
    if (from_stdin) TC_TRY(tc_cmd_claim_stdin(c, who));
    tc_cmd_phase(c, "other");
    TC_TRY(tc_blob_open_known(path, tc_format_known, out_blob), "reading %s", who);
    tc_cmd_phase(c, "reading");
    if ((*out_blob)->len) return NULL;
    tc_blob_release(*out_blob);
    *out_blob = NULL;
    if (from_stdin) return tc_error(TC_CONTENT, "stdin: nothing arrived for %s: did the command before fail?", who);
    return tc_error(TC_CONTENT, "%s: empty file, expected %s", path, who);
}

tc_status tc_cmd_create(tc_cmd *c, const char *path, bool binary, tc_out **out_file) {
    *out_file = NULL;
    bool to_stdout = !path || strcmp(path, "-") == 0;
    if (to_stdout && binary && isatty(STDOUT_FILENO))
        return tc_status_add(tc_usage(c, "stdout is a terminal and the output is binary"), "redirect it, or use -o FILE");
    tc_cmd_phase(c, "other");
    return tc_out_open(path, out_file);
}

tc_status tc_cmd_write_text(tc_cmd *c, const char *path, const tc_buf *text) {
    tc_out *o;
    tc_buf b = {0};
    TC_TRY(tc_cmd_create(c, path, false, &o));
    tc_put_shown(&b, text->data, text->len, "\n\t");
    tc_status st = tc_cmd_finish(c, o, tc_out_write(o, tc_buf_str(&b), b.len));
    tc_buf_free(&b);
    return st;
}

tc_status tc_cmd_finish(tc_cmd *c, tc_out *o, tc_status s) {
    tc_cmd_phase(c, "writing"); /* the phase exists then: no allocation can fail once the file is whole */
    s = tc_out_finish(o, s);
    tc_cmd_phase(c, "writing");
    return s;
}
