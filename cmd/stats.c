/* --stats: prints how long each phase of the program took; phases are disjoint and cover the whole run. */
#include "base/json_write.h"
#include "base/text.h"
#include "cmd/internal.h"

#include <stdio.h>

void tc_cmd_phase_part(tc_cmd *c, const char *what, double seconds) {
    size_t i = 0;
    while (i < c->phases.len && strcmp(c->phases.data[i].what, what)) i++;
    if (!c->phases.len) c->phase_ended = c->started;
    if (i == c->phases.len) tc_vec_push(&c->phases, ((tc_phase){.what = what}));
    c->phases.data[i].seconds += seconds;
    c->phase_ended += seconds;
}

void tc_cmd_phase(tc_cmd *c, const char *what) { tc_cmd_phase_part(c, what, tc_now() - (c->phases.len ? c->phase_ended : c->started)); }

void tc_cmd_print_stats(tc_cmd *c) {
    tc_buf b = {0};
    tc_cmd_phase(c, "other");
    tc_json j = {.b = &b};
    if (c->json) {
        tc_json_object(&j);
        tc_json_key(&j, "stats");
        tc_json_object(&j);
    }
    for (size_t i = 0; i < c->phases.len; i++) {
        if (c->json) {
            tc_json_key(&j, c->phases.data[i].what);
            tc_json_double(&j, c->phases.data[i].seconds);
        } else tc_buf_printf(&b, "%s: %9.3f s  %s\n", c->tool->name, c->phases.data[i].seconds, c->phases.data[i].what);
    }
    if (c->json) {
        tc_json_end(&j);
        tc_json_end(&j);
        tc_buf_putc(&b, '\n');
    }
    fputs(tc_buf_str(&b), stderr);
    tc_buf_free(&b);
}
