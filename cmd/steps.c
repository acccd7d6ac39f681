/* TC_STEPS=N: take only the first N optional steps (fusions etc.) when planning programs. TC_STEPS_LOG=FILE: write one line per step taken. With these
 * tc-compile --bisect controls the command that it tests. */
#include "base/file.h"
#include "base/text.h"
#include "cmd/internal.h"

tc_stepping *tc_cmd_steps(tc_cmd *c) {
    const char *n = getenv("TC_STEPS"), *log = getenv("TC_STEPS_LOG");
    int64_t limit = -1;
    if (!n && !log) return NULL;
    if (n && (!tc_parse_i64(n, &limit) || limit < 0)) tc_cmd_note(c, "TC_STEPS=%s: expected a number of steps; all are taken", n), limit = -1;
    tc_buf_free(&c->steps.log);
    c->steps = (tc_stepping){.limit = limit};
    return &c->steps;
}

void tc_cmd_steps_end(tc_cmd *c) {
    const char *log = getenv("TC_STEPS_LOG");
    if (log && *log && c->steps.log.len) {
        tc_status s = tc_file_write(log, c->steps.log.data, c->steps.log.len);
        if (s) tc_cmd_note(c, "%s", tc_status_message(s));
        tc_status_free(s);
    }
    tc_buf_free(&c->steps.log);
}
