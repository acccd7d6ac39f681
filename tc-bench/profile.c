/* --profile: profiles each case group by group; keeps the fastest of a few runs. */
#include "tc-bench/bench.h"

enum { RUNS = 5 };

static tc_status take(void *ctx, const tc_exec_event *e) {
    tc_group_list *rows = ctx;
    tc_vec_push(rows, tc_group_times_of(e));
    return NULL;
}

tc_status profile_case(tc_profile_parts *p, bench_case *b, const way *ways, int w) {
    tc_profile_part part = {0};
    tc_buf label = {0};
    tc_status s = NULL;
    for (int k = 0; k < RUNS && !s; k++) {
        tc_group_list rows = {0};
        double seconds;
        tc_exec_set_profile(b->exec[w], take, &rows);
        s = measure_once(b, w, &seconds);
        tc_exec_set_profile(b->exec[w], NULL, NULL);
        if (!s && (k == 0 || seconds * 1e9 < part.ns)) {
            tc_group_list_free(&part.rows);
            part.rows = rows;
            part.ns = seconds * 1e9;
        } else tc_group_list_free(&rows);
    }
    tc_buf_printf(&label, "%s, %s", b->label[w], ways[w].name);
    part.label = label.data;
    tc_vec_push(&p->parts, part);
    return s;
}
