/* tc-export --time: time by line and phase (profile.h). */
#include "capture/profile.h"

#include "base/text.h"
#include "capture/ast.h"

#include <stdlib.h>

struct tc_profile_row {
    char *function, *file; /* of a phase: its name, NULL */
    int line;
    double seconds;
};

struct tc_profile {
    tc_map rows;
    TC_VEC(tc_profile_row *) list;
    tc_profile_row *now;
    double last, started;
};

typedef struct {
    const void *what;
    int64_t line;
} key;

static tc_profile_row *row_of(tc_profile *p, key k, const char *function, const char *path) {
    void **at = tc_map_put(&p->rows, (const char *)&k, sizeof k);
    if (*at) return *at;
    tc_profile_row *r = tc_xcalloc(1, sizeof *r);
    r->function = tc_xstrdup(function);
    r->file = path ? tc_xstrdup(path) : NULL;
    r->line = (int)k.line;
    tc_vec_push(&p->list, r);
    return *at = r;
}

void tc_profile_back(tc_profile *p, tc_profile_row *row) {
    double now = tc_now();
    if (p->now) p->now->seconds += now - p->last;
    p->last = now;
    p->now = row;
}

tc_profile *tc_profile_create(double started) {
    tc_profile *p = tc_xcalloc(1, sizeof *p);
    p->last = p->started = started;
    p->now = row_of(p, (key){"starting", 0}, "starting", NULL);
    return p;
}

void tc_profile_destroy(tc_profile *p) {
    if (!p) return;
    for (size_t i = 0; i < p->list.len; i++) {
        free(p->list.data[i]->function);
        free(p->list.data[i]->file);
        free(p->list.data[i]);
    }
    tc_vec_free(&p->list);
    tc_map_free(&p->rows);
    free(p);
}

void tc_profile_phase(tc_profile *p, const char *name) {
    if (p) tc_profile_back(p, row_of(p, (key){name, 0}, name, NULL));
}

void tc_profile_line(tc_profile *p, const struct scope *sc, int line) {
    tc_profile_back(p, row_of(p, (key){sc, line}, sc->qualname->s, sc->file->name));
}

tc_profile_row *tc_profile_here(const tc_profile *p) { return p->now; }

static int by_time(const void *a, const void *b) {
    const tc_profile_row *x = *(tc_profile_row *const *)a, *y = *(tc_profile_row *const *)b;
    return (y->seconds > x->seconds) - (y->seconds < x->seconds);
}

static void print_row(tc_buf *b, double seconds, double all, const char *name) {
    tc_buf_printf(b, "%6.1f %% %12.3f ms  %s", 100 * seconds / all, 1e3 * seconds, name);
}

void tc_profile_print(tc_profile *p, tc_buf *b) {
    tc_profile_back(p, p->now);
    double all = p->last - p->started, rest = 0;
    if (all <= 0) return;
    qsort(p->list.data, p->list.len, sizeof *p->list.data, by_time);
    for (size_t i = 0; i < p->list.len; i++) {
        const tc_profile_row *r = p->list.data[i];
        if (r->seconds < all / 1000) {
            rest += r->seconds;
            continue;
        }
        print_row(b, r->seconds, all, r->function);
        if (r->file) tc_buf_printf(b, ", %s:%d", r->file, r->line);
        tc_buf_putc(b, '\n');
    }
    if (rest > 0) {
        print_row(b, rest, all, "all others");
        tc_buf_putc(b, '\n');
    }
}
