/* --profile: one run of each case and executor as a Chrome trace (chrome://tracing, Perfetto): a slice a group. A case and executor is a
 * process of the trace. */
#include "tc-bench/bench.h"

#include "base/json_write.h"

static void nodes_text(tc_buf *b, const tc_exec_event *e) {
    for (int i = 0; i < e->nnodes; i++) tc_buf_printf(b, "%s%s", i ? " + " : "", tc_op_name(e->nodes[i]->op));
}

static void sources_text(tc_buf *b, const tc_exec_event *e) {
    const char *file = NULL;
    int line = -1;
    for (int i = 0; i < e->nnodes; i++) {
        const tc_source *at = &e->nodes[i]->source;
        if (!at->file || (file && !strcmp(at->file, file) && at->line == line)) continue;
        tc_buf_printf(b, "%s%s:%d", b->len ? ", " : "", at->file, at->line);
        file = at->file;
        line = at->line;
    }
}

static void slice(void *ctx, const tc_exec_event *e) {
    profile *p = ctx;
    tc_buf text = {0};
    tc_json j = {.b = &p->events};
    double us = (double)e->ns * 1e-3, bytes = 0;
    for (int i = 0; i < e->nvalues; i++) bytes += (double)tc_tensor_bytes(e->tensors[i]);
    if (p->events.len) tc_buf_puts(&p->events, ",\n");
    tc_json_object(&j);
    tc_json_key(&j, "name");
    tc_json_string(&j, e->name);
    tc_json_key(&j, "ph");
    tc_json_string(&j, "X");
    tc_json_key(&j, "ts");
    tc_json_double(&j, p->at);
    tc_json_key(&j, "dur");
    tc_json_double(&j, us);
    tc_json_key(&j, "pid");
    tc_json_int(&j, p->pid);
    tc_json_key(&j, "tid");
    tc_json_int(&j, 0);
    tc_json_key(&j, "args");
    tc_json_object(&j);
    tc_json_key(&j, "operators");
    nodes_text(&text, e);
    tc_json_string(&j, tc_buf_str(&text));
    text.len = 0;
    sources_text(&text, e);
    tc_json_key(&j, "source");
    tc_json_string(&j, tc_buf_str(&text));
    tc_json_key(&j, "compiled");
    tc_json_bool(&j, e->compiled);
    tc_json_key(&j, "bytes written");
    tc_json_double(&j, bytes);
    tc_json_end(&j);
    tc_json_end(&j);
    p->at += us;
    tc_buf_free(&text);
}

tc_status profile_case(profile *p, bench_case *b, const way *ways, int w) {
    double seconds;
    tc_buf name = {0};
    tc_json j = {.b = &p->events};
    if (p->events.len) tc_buf_puts(&p->events, ",\n");
    tc_json_object(&j);
    tc_json_key(&j, "name");
    tc_json_string(&j, "process_name");
    tc_json_key(&j, "ph");
    tc_json_string(&j, "M");
    tc_json_key(&j, "pid");
    tc_json_int(&j, ++p->pid);
    tc_json_key(&j, "args");
    tc_json_object(&j);
    tc_json_key(&j, "name");
    tc_buf_printf(&name, "%s, %s", b->label, ways[w].name);
    tc_json_string(&j, tc_buf_str(&name));
    tc_json_end(&j);
    tc_json_end(&j);
    tc_buf_free(&name);
    p->at = 0;
    tc_exec_set_profile(b->exec[w], slice, p);
    tc_status s = measure_once(b, w, &seconds);
    tc_exec_set_profile(b->exec[w], NULL, NULL);
    return s;
}

void profile_finish(profile *p, tc_buf *out) { tc_buf_printf(out, "{\"traceEvents\": [\n%s\n]}\n", tc_buf_str(&p->events)); }
