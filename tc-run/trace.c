/* --trace, --debug-values and --check: types and statistics of the results of nodes or whole groups. */
#include "tc-run/run.h"

#include "base/json_write.h"

#include <math.h>
#include <stdio.h>

/* Statistics of the non-NaN elements; none for complex tensors. */
typedef struct {
    double least, greatest, mean;
    int64_t nans, infs, n;
} statistics;

static statistics look(const tc_tensor *x) {
    statistics s = {.least = INFINITY, .greatest = -INFINITY};
    tc_tensor own;
    tc_status st = tc_tensor_contiguous(x, &own);
    if (st) {
        tc_status_free(st);
        return s;
    }
    double sum = 0;
    int64_t counted = 0;
    s.n = tc_tensor_numel(&own);
    for (int64_t i = 0; i < s.n && !tc_is_complex(own.dtype); i++) {
        double v = tc_scalar_to_double(tc_scalar_load(own.dtype, tc_tensor_data(&own), i));
        if (isnan(v)) {
            s.nans++;
            continue;
        }
        s.infs += isinf(v) != 0;
        if (v < s.least) s.least = v;
        if (v > s.greatest) s.greatest = v;
        sum += v;
        counted++;
    }
    s.mean = counted ? sum / (double)counted : NAN;
    if (!counted) s.least = s.greatest = NAN;
    tc_tensor_deinit(&own);
    return s;
}

/* "model.py:14: blocks.3": line and module, as far as they are known. */
static void put_place(tc_buf *b, const tc_source *at) {
    const char *module = tc_source_module(at);
    if (at->file) tc_buf_printf(b, "%s:%d", at->file, at->line);
    if (module) tc_buf_printf(b, "%s%s", at->file ? ": " : "", module);
}

static void text_line(tc_buf *b, const char *name, const tc_node *n, const tc_tensor *x, const statistics *s) {
    tc_buf_printf(b, "%s = %s  ", name, tc_op_name(n->op));
    tc_tensor_print_type(b, x);
    if (!isnan(s->mean)) tc_buf_printf(b, "  least %.6g greatest %.6g mean %.6g", s->least, s->greatest, s->mean);
    if (s->nans) tc_buf_printf(b, "  %lld NaN", (long long)s->nans);
    if (s->infs) tc_buf_printf(b, "  %lld infinite", (long long)s->infs);
    if (n->source.file || n->source.calls) tc_buf_puts(b, "  ");
    put_place(b, &n->source);
    tc_buf_putc(b, '\n');
}

static void json_line(tc_buf *b, const char *name, const tc_node *n, const tc_tensor *x, const statistics *s) {
    tc_json j = {.b = b};
    tc_json_object(&j);
    tc_json_key(&j, "value");
    tc_json_string(&j, name);
    tc_json_key(&j, "op");
    tc_json_string(&j, tc_op_name(n->op));
    tc_json_key(&j, "dtype");
    tc_json_string(&j, tc_dtypes[x->dtype].name);
    tc_json_key(&j, "size");
    tc_json_array(&j);
    for (int d = 0; d < x->rank; d++) tc_json_int(&j, x->size[d]);
    tc_json_end(&j);
    const double numbers[] = {s->least, s->greatest, s->mean};
    static const char *const keys[] = {"least", "greatest", "mean"};
    for (int i = 0; i < 3; i++) {
        tc_json_key(&j, keys[i]);
        tc_json_double(&j, numbers[i]);
    }
    tc_json_key(&j, "nan");
    tc_json_int(&j, s->nans);
    tc_json_key(&j, "infinite");
    tc_json_int(&j, s->infs);
    tc_buf line = {0};
    const tc_source *at = &n->source;
    if (at->file) tc_buf_printf(&line, "%s:%d", at->file, at->line);
    tc_json_key(&j, "source");
    tc_json_string(&j, tc_buf_str(&line));
    tc_buf_free(&line);
    tc_json_key(&j, "module");
    tc_json_string(&j, at->calls ? tc_source_module(at) : "");
    tc_json_end(&j);
    tc_buf_putc(b, '\n');
}

/* The error for a NaN in n's result. In a fused group any of its nodes may have produced the NaN; --trace tells them apart. */
static tc_status not_a_number(const tc_exec_event *event, const char *name, const tc_node *n, const statistics *s) {
    tc_buf place = {0}, others = {0};
    put_place(&place, &n->source);
    tc_status st = tc_error(TC_DIVERGED, "%s%s%s makes the first NaN: %lld of %lld elements of %s", tc_buf_str(&place), place.len ? ": " : "",
                            tc_op_name(n->op), (long long)s->nans, (long long)s->n, name);
    for (int i = 0; i < event->nnodes && i < 12; i++) {
        const tc_node *o = event->nodes[i];
        if (o == n) continue;
        tc_buf_printf(&others, "%s%s", others.len ? ", " : "", tc_op_name(o->op));
        if (!o->source.file && !o->source.calls) continue;
        tc_buf_puts(&others, " (");
        put_place(&others, &o->source);
        tc_buf_puts(&others, ")");
    }
    if (others.len) tc_status_add(st, "in one group with %s: --trace --check nan tells which of them", others.data);
    tc_buf_free(&place);
    tc_buf_free(&others);
    return st;
}

tc_status trace_event(void *ctx, const tc_exec_event *event) {
    const trace *t = ctx;
    tc_buf b = {0};
    tc_status st = NULL;
    for (int i = 0; i < event->nvalues && !st; i++) {
        const tc_node *n = event->values[i]->producer ? event->values[i]->producer : event->nodes[event->nnodes - 1];
        statistics s = look(event->tensors[i]);
        const char *name = event->values[i]->name ? event->values[i]->name : "?";
        if (t->print) (t->c->json ? json_line : text_line)(&b, name, n, event->tensors[i], &s);
        if (t->check && s.nans) st = not_a_number(event, name, n, &s);
    }
    tc_cmd_show(stderr, b.data, b.len);
    tc_buf_free(&b);
    return st;
}
