/* --profile: records runs and writes each FILE (profile.h). */
#include "cmd/profile.h"

#include "base/resident.h"
#include "base/text.h"
#include "cmd/internal.h"

static char *operators_of(const tc_exec_event *e) {
    tc_buf b = {0};
    for (int i = 0; i < e->nnodes; i++) tc_buf_printf(&b, "%s%s", i ? " + " : "", tc_op_name(e->nodes[i]->op));
    if (!e->nnodes) tc_buf_puts(&b, e->name);
    return b.data;
}

/* Lines of the model, or, where an archive tells none, modules. */
static char *source_of(const tc_exec_event *e) {
    tc_buf b = {0};
    const char *file = NULL;
    int line = -1;
    const tc_node *const *nodes = e->nnodes ? e->nodes : &e->copy_for;
    for (int i = 0; i < (e->copy_for ? 1 : e->nnodes); i++) {
        const tc_source *at = &nodes[i]->source;
        const char *place = at->file ? at->file : tc_source_module(at);
        if (!place || (file && !strcmp(place, file) && at->line == line)) continue;
        tc_buf_printf(&b, "%s%s", b.len ? ", " : "", place);
        if (at->file) tc_buf_printf(&b, ":%d", at->line);
        file = place;
        line = at->line;
    }
    return b.data ? b.data : tc_xstrdup("");
}

tc_group_times tc_group_times_of(const tc_exec_event *e) {
    return (tc_group_times){.name = e->name,
                            .operators = operators_of(e),
                            .source = source_of(e),
                            .start = (double)e->start,
                            .ns = (double)e->ns,
                            .whole = (double)e->whole,
                            .bytes = e->bytes,
                            .flops = e->flops,
                            .calls = 1,
                            .compiled = e->compiled};
}

void tc_group_list_free(tc_group_list *list) {
    for (size_t i = 0; i < list->len; i++) {
        free(list->data[i].operators);
        free(list->data[i].source);
    }
    tc_vec_free(list);
}

void tc_profile_parts_free(tc_profile_parts *p) {
    for (size_t i = 0; i < p->parts.len; i++) {
        tc_group_list_free(&p->parts.data[i].rows);
        free(p->parts.data[i].label);
    }
    tc_vec_free(&p->parts);
}

static bool has_suffix(const char *path, const char *suffix) {
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, suffix);
}

tc_status tc_profile_options(tc_cmd *c, tc_profile_parts *out) {
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    TC_TRY(tc_cmd_choice(c, TC_OPT_unit, units, 1, &out->unit));
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_profile); i++) { /* refuse to overwrite a program that was meant as operand */
        const char *path = tc_cmd_value(c, TC_OPT_profile, i);
        if (has_suffix(path, ".pt2") || has_suffix(path, ".onnx"))
            return tc_usage(c, "--profile %s: expected where the profile goes: FILE.json, FILE.svg, a table in FILE.txt, or - (stdout)", path);
    }
    return NULL;
}

static tc_status write_form(tc_cmd *c, const tc_profile_parts *p, const char *path) {
    tc_buf b = {0};
    (has_suffix(path, ".json") ? tc_profile_trace : has_suffix(path, ".svg") ? tc_profile_svg : tc_profile_table)(p, &b);
    tc_status s = tc_cmd_write_text(c, path, &b);
    tc_buf_free(&b);
    return s;
}

tc_status tc_profile_write(tc_cmd *c, const tc_profile_parts *p) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_profile); i++) TC_TRY(write_form(c, p, tc_cmd_value(c, TC_OPT_profile, i)));
    return NULL;
}

/* ---- recording ---- */

/* Key of an event's row: the group, identified by its node. A freed program may have had a node at the same address, so operator and line are part of
 * the key. */
typedef struct {
    const tc_node *first;
    const tc_op *op;
    int64_t nnodes, line, compiled;
} group_key;

struct tc_recorder {
    tc_cmd *c;
    const char *label, *rounds;
    tc_profile_parts all; /* one part */
    tc_map row_of;        /* group_key or mark text -> row index + 1 */
    int rank;
    int64_t skip, wait, round, recorded;
    bool on;
    double begin, mark, inside; /* ns: start of the first round; last mark; time of groups since that mark */
    TC_VEC(char *) paths;       /* the --profile files */
    TC_VEC(tc_out *) traces;    /* by path: open trace, written during the run; NULL: not a trace */
    size_t ntraces;             /* number that are not NULL */
    tc_buf line;                /* the next line, for all traces */
};

static double now_ns(void) { return tc_now() * 1e9; }

/* FILE, or FILE.1.json for rank 1 */
static char *path_of(const char *path, int rank) {
    tc_buf b = {0};
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
    tc_buf_append(&b, path, n);
    if (rank) tc_buf_printf(&b, ".%d", rank);
    tc_buf_puts(&b, path + n);
    return b.data;
}

static tc_status start_trace(tc_recorder *r, const char *path) {
    tc_out *o = NULL;
    if (has_suffix(path, ".json")) TC_TRY(tc_cmd_create(r->c, path, false, &o));
    tc_vec_push(&r->traces, o);
    if (!o) return NULL;
    r->ntraces++;
    r->line.len = 0;
    tc_buf_puts(&r->line, "{\"traceEvents\": [\n");
    tc_profile_trace_name(&r->line, r->rank + 1, r->label);
    return tc_out_write(o, r->line.data, r->line.len);
}

tc_status tc_recorder_open(tc_cmd *c, const char *label, const char *rounds, int rank, tc_recorder **out) {
    *out = NULL;
    tc_profile_parts all = {0};
    TC_TRY(tc_profile_options(c, &all));
    if (!tc_cmd_has(c, TC_OPT_profile)) return NULL;
    tc_vec_push(&all.parts, (tc_profile_part){.label = NULL});
    tc_recorder *r = tc_xcalloc(1, sizeof *r);
    *r = (tc_recorder){.c = c, .label = label, .rounds = rounds, .rank = rank, .all = all};
    tc_status s = tc_cmd_int(c, TC_OPT_skip_first, 0, INT64_MAX, 0, &r->skip);
    if (!s) s = tc_cmd_int(c, TC_OPT_wait, 0, INT64_MAX - 1, 0, &r->wait);
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_profile) && !s; i++) {
        const char *path = tc_cmd_value(c, TC_OPT_profile, i);
        if (!strcmp(path, "-")) s = tc_usage(c, "--profile -: stdout is for what %s gives; expected a FILE", c->tool->name);
        tc_vec_push(&r->paths, path_of(path, rank));
        if (!s) s = start_trace(r, r->paths.data[i]);
    }
    if (s) return tc_recorder_close(r, s);
    *out = r;
    return NULL;
}

static tc_group_list *rows_of(tc_recorder *r) { return &r->all.parts.data[0].rows; }

/* Finds or adds the row of a key; *out_new: added. */
static tc_group_times *find_row(tc_recorder *r, const void *key, size_t n, bool *out_new) {
    void **place = tc_map_put(&r->row_of, key, n);
    *out_new = !*place;
    if (!*place) {
        tc_group_times none = {0};
        tc_vec_push(rows_of(r), none);
        *place = (void *)rows_of(r)->len;
    }
    return &rows_of(r)->data[(size_t)*place - 1];
}

/* Returns the buffer for the next line of all traces. */
static tc_buf *begin_line(tc_recorder *r) {
    r->line.len = 0;
    tc_buf_puts(&r->line, ",\n");
    return &r->line;
}
static tc_status end_line(tc_recorder *r) {
    for (size_t i = 0; i < r->traces.len; i++)
        if (r->traces.data[i]) TC_TRY(tc_out_write(r->traces.data[i], r->line.data, r->line.len));
    return NULL;
}

static tc_status trace_slice(tc_recorder *r, const tc_group_times *t) {
    if (!r->ntraces) return NULL;
    tc_profile_trace_slice(begin_line(r), NULL, r->rank + 1, (t->start - r->begin) * 1e-3, t);
    return end_line(r);
}

tc_status tc_recorder_event(void *recorder, const tc_exec_event *e) {
    tc_recorder *r = recorder;
    const tc_node *n = e->nnodes ? e->nodes[0] : e->copy_for;
    group_key key = {n, n ? n->op : NULL, e->nnodes, n ? n->source.line : 0, e->compiled};
    bool made;
    tc_group_times *row = find_row(r, &key, sizeof key, &made);
    if (made) *row = tc_group_times_of(e);
    else row->ns += (double)e->ns, row->whole += (double)e->whole, row->bytes += e->bytes, row->flops += e->flops, row->calls++;
    r->inside += (double)e->ns;
    tc_group_times one = *row; /* the row owns the strings */
    one.start = (double)e->start, one.whole = (double)e->whole, one.ns = (double)e->ns, one.bytes = e->bytes, one.flops = e->flops, one.calls = 1;
    return trace_slice(r, &one);
}

void tc_recorder_mark(tc_recorder *r, const char *what) {
    if (!r || !r->on) return;
    double now = now_ns(), took = now - r->mark - r->inside;
    bool made;
    tc_group_times *row = find_row(r, what, strlen(what), &made);
    if (made) *row = (tc_group_times){.name = what, .operators = tc_xstrdup(""), .source = tc_xstrdup("")};
    row->ns += took > 0 ? took : 0;
    row->calls++;
    /* one slice, unless groups inside were traced themselves */
    if (r->inside == 0) {
        tc_group_times one = *row;
        one.start = r->mark, one.whole = now - r->mark, one.calls = 1;
        tc_status_free(trace_slice(r, &one)); /* a write error is reported again when the file is closed */
    }
    r->mark = now;
    r->inside = 0;
}

static void end_round(tc_recorder *r) {
    if (!r->on) return;
    tc_recorder_mark(r, "between groups");
    if (!r->ntraces) return;
    tc_profile_trace_counter(begin_line(r), r->rank + 1, (now_ns() - r->begin) * 1e-3, "resident memory", tc_resident_now());
    tc_status_free(end_line(r));
}

bool tc_recorder_round(tc_recorder *r) {
    if (!r) return false;
    end_round(r);
    r->on = r->round >= r->skip && (r->round - r->skip) % (r->wait + 1) == r->wait;
    r->round++;
    r->recorded += r->on;
    r->mark = now_ns();
    r->inside = 0;
    if (r->begin == 0) r->begin = r->mark;
    return r->on;
}

void tc_recorder_drop(tc_recorder *r) {
    if (!r) return;
    r->round--;
    r->recorded -= r->on;
    r->on = false;
}

static tc_status write_all(tc_recorder *r) {
    tc_buf label = {0};
    tc_buf_printf(&label, "%s, %lld of %lld %s", r->label, (long long)r->recorded, (long long)r->round, r->rounds);
    tc_profile_part *part = &r->all.parts.data[0];
    part->label = label.data;
    for (size_t i = 0; i < part->rows.len; i++) part->ns += part->rows.data[i].ns;
    if (r->ntraces < r->paths.len) {
        r->all.limits = tc_limits_measure(tc_cmd_pool(r->c));
        tc_cmd_phase(r->c, "measuring the machine");
    }
    for (size_t i = 0; i < r->paths.len; i++)
        if (!r->traces.data[i]) TC_TRY(write_form(r->c, &r->all, r->paths.data[i]));
    return NULL;
}

tc_status tc_recorder_close(tc_recorder *r, tc_status s) {
    if (!r) return s;
    end_round(r);
    if (!s) s = write_all(r);
    static const char end[] = "\n]}\n";
    for (size_t i = 0; i < r->traces.len; i++) {
        tc_out *o = r->traces.data[i];
        if (!s && o) s = tc_out_write(o, end, sizeof end - 1);
        if (o) s = tc_cmd_finish(r->c, o, s);
    }
    for (size_t i = 0; i < r->paths.len; i++) free(r->paths.data[i]);
    tc_vec_free(&r->paths);
    tc_vec_free(&r->traces);
    tc_buf_free(&r->line);
    tc_map_free(&r->row_of);
    tc_profile_parts_free(&r->all);
    free(r);
    return s;
}
