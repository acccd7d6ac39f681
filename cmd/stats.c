/* --stats: the time of a program by what it did, printed at the end. Every moment belongs to one phase. */
#include "base/json_write.h"
#include "base/text.h"
#include "cmd/internal.h"

#include <stdio.h>

void tc_cmd_phase(tc_cmd *c, const char *what) {
    double now = tc_now(), took = now - (c->nphases ? c->phase_ended : c->started);
    int i = 0;
    while (i < c->nphases && strcmp(c->phases[i].what, what)) i++;
    if (i == TC_PHASES) return; /* of "other" then */
    if (i == c->nphases) c->phases[c->nphases++].what = what;
    c->phases[i].seconds += took;
    c->phase_ended = now;
}

void tc_cmd_print_stats(tc_cmd *c) {
    tc_buf b = {0};
    tc_cmd_phase(c, "other");
    tc_json j = {.b = &b};
    if (c->json) {
        tc_json_object(&j);
        tc_json_key(&j, "stats");
        tc_json_object(&j);
    }
    for (int i = 0; i < c->nphases; i++) {
        if (c->json) {
            tc_json_key(&j, c->phases[i].what);
            tc_json_double(&j, c->phases[i].seconds);
        } else tc_buf_printf(&b, "%s: %9.3f s  %s\n", c->tool->name, c->phases[i].seconds, c->phases[i].what);
    }
    if (c->json) {
        tc_json_end(&j);
        tc_json_end(&j);
        tc_buf_putc(&b, '\n');
    }
    fputs(tc_buf_str(&b), stderr);
    tc_buf_free(&b);
}
