/* --profile: runs of each case, group by group: time, bytes, FLOPs, and how near they are to what the machine can do. The fastest of a few
 * runs is kept, and written as a Chrome trace, a table or a picture. */
#include "tc-bench/bench.h"

#include "base/json_write.h"

enum { RUNS = 5 };

static char *operators_of(const tc_exec_event *e) {
    tc_buf b = {0};
    for (int i = 0; i < e->nnodes; i++) tc_buf_printf(&b, "%s%s", i ? " + " : "", tc_op_name(e->nodes[i]->op));
    char *s = tc_xstrdup(tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

static char *source_of(const tc_exec_event *e) {
    tc_buf b = {0};
    const char *file = NULL;
    int line = -1;
    for (int i = 0; i < e->nnodes; i++) {
        const tc_source *at = &e->nodes[i]->source;
        if (!at->file || (file && !strcmp(at->file, file) && at->line == line)) continue;
        tc_buf_printf(&b, "%s%s:%d", b.len ? ", " : "", at->file, at->line);
        file = at->file;
        line = at->line;
    }
    char *s = tc_xstrdup(tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

static tc_status take(void *ctx, const tc_exec_event *e) {
    profile_rows *rows = ctx;
    profile_row r = {e->name, operators_of(e), source_of(e), (double)e->ns, e->bytes, e->flops, e->compiled};
    tc_vec_push(rows, r);
    return NULL;
}

static void rows_free(profile_rows *rows) {
    for (size_t i = 0; i < rows->len; i++) {
        free(rows->data[i].operators);
        free(rows->data[i].source);
    }
    tc_vec_free(rows);
    *rows = (profile_rows){0};
}

tc_status profile_case(profile *p, bench_case *b, const way *ways, int w) {
    profile_part part = {0};
    tc_buf label = {0};
    tc_status s = NULL;
    for (int k = 0; k < RUNS && !s; k++) {
        profile_rows rows = {0};
        double seconds;
        tc_exec_set_profile(b->exec[w], take, &rows);
        s = measure_once(b, w, &seconds);
        tc_exec_set_profile(b->exec[w], NULL, NULL);
        if (!s && (k == 0 || seconds * 1e9 < part.ns)) {
            rows_free(&part.rows);
            part.rows = rows;
            part.ns = seconds * 1e9;
        } else rows_free(&rows);
    }
    tc_buf_printf(&label, "%s, %s", b->label, ways[w].name);
    part.label = tc_xstrdup(tc_buf_str(&label));
    tc_buf_free(&label);
    tc_vec_push(&p->parts, part);
    return s;
}

void profile_free(profile *p) {
    for (size_t i = 0; i < p->parts.len; i++) {
        rows_free(&p->parts.data[i].rows);
        free(p->parts.data[i].label);
    }
    tc_vec_free(&p->parts);
}

double profile_floor(const profile *p, const profile_row *r) {
    double memory = r->bytes / p->limits.bytes, arithmetic = r->flops / p->limits.flops;
    return (memory > arithmetic ? memory : arithmetic) * 1e9;
}

static double percent(const profile *p, const profile_row *r) { return r->ns > 0 ? 100 * profile_floor(p, r) / r->ns : 0; }

/* ---- Chrome trace ---- */
static void key_string(tc_json *j, const char *key, const char *s) {
    tc_json_key(j, key);
    tc_json_string(j, s);
}
static void key_double(tc_json *j, const char *key, double v) {
    tc_json_key(j, key);
    tc_json_double(j, v);
}

static void trace_name(tc_buf *out, int pid, const char *label) {
    tc_json j = {.b = out};
    tc_json_object(&j);
    key_string(&j, "name", "process_name");
    key_string(&j, "ph", "M");
    tc_json_key(&j, "pid");
    tc_json_int(&j, pid);
    tc_json_key(&j, "args");
    tc_json_object(&j);
    key_string(&j, "name", label);
    tc_json_end(&j);
    tc_json_end(&j);
}

static void trace_slice(const profile *p, tc_buf *out, int pid, double at, const profile_row *r) {
    tc_json j = {.b = out};
    tc_json_object(&j);
    key_string(&j, "name", r->name);
    key_string(&j, "ph", "X");
    key_double(&j, "ts", at);
    key_double(&j, "dur", r->ns * 1e-3);
    tc_json_key(&j, "pid");
    tc_json_int(&j, pid);
    tc_json_key(&j, "tid");
    tc_json_int(&j, 0);
    tc_json_key(&j, "args");
    tc_json_object(&j);
    key_string(&j, "operators", r->operators);
    key_string(&j, "source", r->source);
    tc_json_key(&j, "compiled");
    tc_json_bool(&j, r->compiled);
    key_double(&j, "bytes", r->bytes);
    key_double(&j, "flops", r->flops);
    key_double(&j, "percent of limit", percent(p, r));
    tc_json_end(&j);
    tc_json_end(&j);
}

void profile_trace(const profile *p, tc_buf *out) {
    tc_buf_puts(out, "{\"traceEvents\": [\n");
    for (size_t i = 0; i < p->parts.len; i++) {
        double at = 0;
        if (i) tc_buf_puts(out, ",\n");
        trace_name(out, (int)i + 1, p->parts.data[i].label);
        for (size_t k = 0; k < p->parts.data[i].rows.len; k++) {
            const profile_row *r = &p->parts.data[i].rows.data[k];
            tc_buf_puts(out, ",\n");
            trace_slice(p, out, (int)i + 1, at, r);
            at += r->ns * 1e-3;
        }
    }
    tc_buf_puts(out, "\n]}\n");
}

/* ---- table: slowest groups first ---- */
static int slower(const void *a, const void *b) {
    double x = (*(const profile_row *const *)a)->ns, y = (*(const profile_row *const *)b)->ns;
    return (x < y) - (x > y);
}

void profile_table(const profile *p, tc_buf *out) {
    tc_buf_printf(out, "machine: %.1f GFLOP/s, %.1f GB/s\n", p->limits.flops * 1e-9, p->limits.bytes * 1e-9);
    for (size_t i = 0; i < p->parts.len; i++) {
        const profile_part *part = &p->parts.data[i];
        const profile_row **order = tc_xcalloc(part->rows.len + 1, sizeof *order);
        double ns = 0, bytes = 0, flops = 0, least = 0;
        for (size_t k = 0; k < part->rows.len; k++) order[k] = &part->rows.data[k];
        qsort(order, part->rows.len, sizeof *order, slower);
        tc_buf_printf(out, "\n%s: %.1f us\n%10s %6s %10s %10s %7s  %-22s operators\n", part->label, part->ns * 1e-3, "us", "%", "KB", "KFLOP",
                      "% limit", "source");
        for (size_t k = 0; k < part->rows.len; k++) {
            const profile_row *r = order[k];
            tc_buf_printf(out, "%10.1f %6.1f %10.1f %10.1f %7.1f  %-22s %s\n", r->ns * 1e-3, 100 * r->ns / part->ns, r->bytes * 1e-3, r->flops * 1e-3,
                          percent(p, r), *r->source ? r->source : "-", r->operators);
            ns += r->ns, bytes += r->bytes, flops += r->flops, least += profile_floor(p, r);
        }
        tc_buf_printf(out, "%10.1f %6.1f %10.1f %10.1f %7.1f  all %zu groups\n", ns * 1e-3, 100 * ns / part->ns, bytes * 1e-3, flops * 1e-3,
                      ns > 0 ? 100 * least / ns : 0, part->rows.len);
        free(order);
    }
}

/* ---- picture ---- */
static void xml(tc_buf *b, const char *s) {
    for (; *s; s++)
        if (strchr("<>&\"'", *s) || (unsigned char)*s < ' ') tc_buf_printf(b, "&#%d;", (unsigned char)*s < ' ' ? ' ' : *s);
        else tc_buf_putc(b, *s);
}

/* red far from the machine's limit, green near it */
static void box(tc_buf *b, double x, double y, double w, int near, const char *text, const char *tip) {
    int hue = near < 0 ? 0 : near > 100 ? 120 : near * 120 / 100;
    tc_buf_puts(b, "<g><title>");
    xml(b, tip);
    tc_buf_printf(
        b, "</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"17\" fill=\"hsl(%d,60%%,75%%)\" stroke=\"white\" stroke-width=\"0.5\"/>", x,
        y, w, hue);
    size_t room = w > 12 ? (size_t)((w - 4) / 6.5) : 0;
    if (room >= 3) {
        char *cut = tc_xstrdup(text);
        if (strlen(cut) > room) {
            while (room && (cut[room] & 0xc0) == 0x80) room--; /* not within a character */
            cut[room] = 0;
        }
        tc_buf_printf(b, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
        xml(b, cut);
        tc_buf_puts(b, "</text>");
        free(cut);
    }
    tc_buf_puts(b, "</g>\n");
}

static void part_svg(const profile *p, const profile_part *part, double top, tc_buf *b) {
    double ns = 0, x = 10;
    tc_buf tip = {0};
    for (size_t k = 0; k < part->rows.len; k++) ns += part->rows.data[k].ns;
    tc_buf_printf(b, "<text x=\"10\" y=\"%.1f\" font-weight=\"bold\">", top + 14);
    xml(b, part->label);
    tc_buf_printf(b, ": %.1f us</text>\n", part->ns * 1e-3);
    for (size_t k = 0, end; k < part->rows.len && ns > 0; k = end) { /* neighbours of one line share a box above theirs */
        const profile_row *first = &part->rows.data[k];
        double together = 0, least = 0, start = x;
        for (end = k; end < part->rows.len && !strcmp(part->rows.data[end].source, first->source); end++) {
            const profile_row *r = &part->rows.data[end];
            double w = r->ns / ns * 1180;
            tip.len = 0;
            tc_buf_printf(&tip, "%s: %.1f us, %.1f KB, %.1f KFLOP, %.0f %% of the limit, %s; %s", r->name, r->ns * 1e-3, r->bytes * 1e-3,
                          r->flops * 1e-3, percent(p, r), r->compiled ? "compiled" : "not compiled", r->operators);
            box(b, x, top + 38, w, (int)percent(p, r), r->name, tc_buf_str(&tip));
            x += w, together += r->ns, least += profile_floor(p, r);
        }
        tip.len = 0;
        tc_buf_printf(&tip, "%s: %.1f us", *first->source ? first->source : "no source line", together * 1e-3);
        box(b, start, top + 20, x - start, together > 0 ? (int)(100 * least / together) : 0, first->source, tc_buf_str(&tip));
    }
    tc_buf_free(&tip);
}

void profile_svg(const profile *p, tc_buf *out) {
    double height = 40 + 66.0 * (double)p->parts.len;
    tc_buf_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"%.0f\" font-family=\"monospace\" font-size=\"11\">\n<rect "
        "width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"10\" y=\"16\">machine: %.1f GFLOP/s, %.1f GB/s; red is far from its limit, "
        "green near; above source lines, below groups</text>\n",
        height, p->limits.flops * 1e-9, p->limits.bytes * 1e-9);
    for (size_t i = 0; i < p->parts.len; i++) part_svg(p, &p->parts.data[i], 24 + 66.0 * (double)i, out);
    tc_buf_puts(out, "</svg>\n");
}
