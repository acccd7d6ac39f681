/* Counting steps (steps.h). */
#include "base/steps.h"

#include <stdarg.h>
#include <stdio.h>

void tc_steps_took(tc_stepping *s, const char *fmt, ...) {
    char line[400];
    va_list ap;
    if (!s) return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (char *c = line; *c; c++)
        if (*c == '\n') *c = ' ';
    s->taken++;
    tc_buf_printf(&s->log, "%s\n", line);
}
