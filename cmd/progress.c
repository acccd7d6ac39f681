/* The progress line: "train 120/1000 12% 34.5 steps/s ETA 0:25 loss 2.31", redrawn at most ten times a second. */
#include "base/text.h"
#include "cmd/internal.h"

#include <stdio.h>
#include <unistd.h>

tc_progress tc_progress_start(const tc_cmd *c, const char *label, const char *unit, int64_t total) {
    bool active = !c->quiet && !c->json && isatty(STDERR_FILENO);
    return (tc_progress){.c = c, .label = label, .unit = unit, .total = total, .start = tc_now(), .active = active};
}

static void time_text(tc_buf *b, double seconds) {
    long s = seconds < 0 || seconds > 1e8 ? 0 : (long)(seconds + 0.5);
    if (s >= 3600) tc_buf_printf(b, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else tc_buf_printf(b, "%ld:%02ld", s / 60, s % 60);
}

void tc_progress_update(tc_progress *p, int64_t done, const char *extra) {
    if (!p->active) return;
    double now = tc_now();
    if (now - p->shown < 0.1 && done != p->total) return;
    p->shown = now;
    double elapsed = now - p->start, rate = elapsed > 0 ? (double)done / elapsed : 0;
    tc_buf b = {0};
    tc_buf_printf(&b, "\r\033[K%s %lld", p->label, (long long)done);
    if (p->total) tc_buf_printf(&b, "/%lld %d%%", (long long)p->total, (int)(100.0 * (double)done / (double)p->total));
    if (rate > 0) tc_buf_printf(&b, " %.*f %s/s", rate < 10 ? 2 : rate < 100 ? 1 : 0, rate, p->unit);
    if (rate > 0 && p->total > done) {
        tc_buf_puts(&b, " ETA ");
        time_text(&b, (double)(p->total - done) / rate);
    }
    if (extra) tc_buf_printf(&b, " %s", extra);
    fwrite(b.data, 1, b.len, stderr);
    fflush(stderr);
    tc_buf_free(&b);
}

void tc_progress_end(tc_progress *p) {
    if (!p->active || p->shown == 0) return;
    fputs("\r\033[K", stderr);
    p->shown = 0;
}
