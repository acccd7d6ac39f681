/* Results as a table for people, CSV, or JSON lines. */
#include "tc-bench/bench.h"

#include "base/json_write.h"

/* 12.3 us, 4.56 ms: three digits. */
static void print_time(tc_buf *b, double s, int width) {
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s "}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    int u = 0;
    while (u < 3 && s < units[u].unit) u++;
    double v = s / units[u].unit;
    tc_buf_printf(b, "%*.*f %s", width - 3, v < 10 ? 2 : v < 100 ? 1 : 0, v, units[u].name);
}

static void csv_field(tc_buf *b, const char *s) {
    tc_buf_putc(b, '"');
    for (; *s; s++) tc_buf_printf(b, *s == '"' ? "\"\"" : "%c", *s);
    tc_buf_putc(b, '"');
}

static void table_row(report *r, const bench_case *b, int w) {
    const sample_times *s = &b->times[w];
    if (!r->rows)
        tc_buf_printf(&r->out, "%-36s %-12s %9s %9s %9s %9s %7s %8s %9s\n", "case", "executor", "median", "p10", "p90", "best", "runs", "GB/s",
                      "speedup");
    tc_buf_printf(&r->out, "%-36s %-12s ", w && !strcmp(b->label[w], b->label[w - 1]) ? "" : b->label[w], r->ways[w].name);
    print_time(&r->out, s->median, 9);
    tc_buf_putc(&r->out, ' ');
    print_time(&r->out, s->low, 9);
    tc_buf_putc(&r->out, ' ');
    print_time(&r->out, s->high, 9);
    tc_buf_putc(&r->out, ' ');
    print_time(&r->out, s->best, 9);
    tc_buf_printf(&r->out, " %7zu %8.2f", s->t.len, b->bytes[w] / s->median * 1e-9);
    if (r->nways > 1) tc_buf_printf(&r->out, " %8.2fx", b->times[0].median / s->median);
    if (w && !b->faster[w] && !b->slower[w]) tc_buf_puts(&r->out, " no difference");
    tc_buf_puts(&r->out, "\n");
}

static void json_row(report *r, const bench_case *b, int w) {
    const sample_times *s = &b->times[w];
    tc_json j = {.b = &r->out};
    const struct {
        const char *key;
        double v;
    } numbers[] = {{"median", s->median}, {"p10", s->low}, {"p90", s->high}, {"best", s->best}, {"bytes", b->bytes[w]}};
    tc_json_object(&j);
    tc_json_key(&j, "case");
    tc_json_string(&j, b->label[w]);
    tc_json_key(&j, "executor");
    tc_json_string(&j, r->ways[w].name);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        tc_json_key(&j, numbers[i].key);
        tc_json_double(&j, numbers[i].v);
    }
    tc_json_key(&j, "runs");
    tc_json_int(&j, (int64_t)s->t.len);
    tc_json_key(&j, "same_bits");
    tc_json_bool(&j, !b->different);
    tc_json_key(&j, "than_first");
    tc_json_string(&j, b->faster[w] ? "faster" : b->slower[w] ? "slower" : "no difference");
    tc_json_end(&j);
    tc_buf_putc(&r->out, '\n');
}

void report_case(report *r, const bench_case *b) {
    for (int w = 0; w < r->nways; w++, r->rows++) {
        const sample_times *s = &b->times[w];
        if (r->format == AS_JSON) json_row(r, b, w);
        else if (r->format == AS_TABLE) table_row(r, b, w);
        else {
            if (!r->rows) tc_buf_puts(&r->out, "case,executor,median,p10,p90,best,runs,bytes\n");
            csv_field(&r->out, b->label[w]);
            tc_buf_printf(&r->out, ",%s,%.9g,%.9g,%.9g,%.9g,%zu,%.0f\n", r->ways[w].name, s->median, s->low, s->high, s->best, s->t.len, b->bytes[w]);
        }
    }
}
