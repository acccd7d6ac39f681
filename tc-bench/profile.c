/* --profile: profiles each case group by group; keeps the fastest of a few runs. */
#include "tc-bench/bench.h"

#include "base/text.h"

enum { RUNS = 5 };

typedef struct {
    tc_group_list rows;
    double aside; /* seconds of the run that went into taking rows */
} notes;

static tc_status take(void *ctx, const tc_exec_event *e) {
    notes *n = ctx;
    const double begun = tc_now();
    tc_vec_push(&n->rows, tc_group_times_of(e));
    n->aside += tc_now() - begun;
    return NULL;
}

tc_status profile_case(tc_profile_parts *p, bench_case *b, const way *ways, int w) {
    tc_profile_part part = {0};
    tc_buf label = {0};
    tc_status s = NULL;
    for (int k = 0; k < RUNS && !s; k++) {
        notes n = {0};
        double seconds = 0;
        tc_exec_set_profile(b->exec[w], take, &n);
        s = measure_once(b, w, &seconds);
        tc_exec_set_profile(b->exec[w], NULL, NULL);
        const double ns = (seconds - n.aside) * 1e9;
        if (!s && (k == 0 || ns < part.ns)) {
            tc_group_list_free(&part.rows);
            part.rows = n.rows;
            part.ns = ns;
        } else tc_group_list_free(&n.rows);
    }
    tc_buf_printf(&label, "%s, %s", b->label[w], ways[w].name);
    part.label = label.data;
    tc_vec_push(&p->parts, part);
    return s;
}
