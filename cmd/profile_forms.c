/* Output formats of a profile: Chrome trace, table, SVG picture (profile.h). */
#include "cmd/profile.h"

#include "base/json_write.h"

#include <math.h>
#include <stdio.h>

/* The roofline bound in ns: the larger of bytes / bandwidth and operations / peak rate. */
static double floor_of(const tc_limits *l, const tc_group_times *r) {
    double memory = r->bytes / l->bytes, arithmetic = r->flops / l->flops;
    return (memory > arithmetic ? memory : arithmetic) * 1e9;
}

static double percent(const tc_limits *l, const tc_group_times *r) { return r->ns > 0 ? 100 * floor_of(l, r) / r->ns : 0; }

/* ---- Chrome trace ---- */
static void key_string(tc_json *j, const char *key, const char *s) {
    tc_json_key(j, key);
    tc_json_string(j, s);
}
static void key_double(tc_json *j, const char *key, double v) {
    tc_json_key(j, key);
    tc_json_double(j, v);
}
/* Writes microseconds with three decimals; shortest round-trip formatting would take longer than what is measured. */
static void key_us(tc_json *j, const char *key, double us) {
    char text[48];
    const int n = snprintf(text, sizeof text, "%.3f", us);
    tc_json_key(j, key);
    tc_json_raw(j, text, (size_t)n);
}
static void key_count(tc_json *j, const char *key, double n) {
    tc_json_key(j, key);
    tc_json_int(j, (int64_t)n);
}

void tc_profile_trace_name(tc_buf *out, int pid, const char *label) {
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

void tc_profile_trace_slice(tc_buf *out, const tc_limits *limits, int pid, double at, const tc_group_times *r) {
    tc_json j = {.b = out};
    tc_json_object(&j);
    key_string(&j, "name", r->name);
    key_string(&j, "ph", "X");
    key_us(&j, "ts", at);
    key_us(&j, "dur", r->whole * 1e-3);
    tc_json_key(&j, "pid");
    tc_json_int(&j, pid);
    tc_json_key(&j, "tid");
    tc_json_int(&j, 0);
    if (*r->operators) {
        tc_json_key(&j, "args");
        tc_json_object(&j);
        key_string(&j, "operators", r->operators);
        key_string(&j, "source", r->source);
        tc_json_key(&j, "compiled");
        tc_json_bool(&j, r->compiled);
        key_count(&j, "bytes", r->bytes);
        key_count(&j, "flops", r->flops);
        if (limits) key_double(&j, "percent of limit", percent(limits, r));
        tc_json_end(&j);
    }
    tc_json_end(&j);
}

void tc_profile_trace_counter(tc_buf *out, int pid, double at, const char *name, uint64_t bytes) {
    tc_json j = {.b = out};
    tc_json_object(&j);
    key_string(&j, "name", name);
    key_string(&j, "ph", "C");
    key_us(&j, "ts", at);
    tc_json_key(&j, "pid");
    tc_json_int(&j, pid);
    tc_json_key(&j, "args");
    tc_json_object(&j);
    tc_json_key(&j, "bytes");
    tc_json_uint(&j, bytes);
    tc_json_end(&j);
    tc_json_end(&j);
}

void tc_profile_trace(const tc_profile_parts *p, tc_buf *out) {
    tc_buf_puts(out, "{\"traceEvents\": [\n");
    for (size_t i = 0; i < p->parts.len; i++) {
        const tc_group_list *rows = &p->parts.data[i].rows;
        double first = INFINITY; /* groups of subgraphs are listed before the group that contains them */
        if (i) tc_buf_puts(out, ",\n");
        tc_profile_trace_name(out, (int)i + 1, p->parts.data[i].label);
        for (size_t k = 0; k < rows->len; k++) first = fmin(first, rows->data[k].start);
        for (size_t k = 0; k < rows->len; k++) {
            tc_buf_puts(out, ",\n");
            tc_profile_trace_slice(out, &p->limits, (int)i + 1, (rows->data[k].start - first) * 1e-3, &rows->data[k]);
        }
    }
    tc_buf_puts(out, "\n]}\n");
}

/* ---- tables: the slowest first ---- */
static const struct {
    const char *name;
    double of_ns;
    int digits;
} units[] = {{"ns", 1, 0}, {"us", 1e-3, 1}, {"ms", 1e-6, 4}, {"s", 1e-9, 7}};

static int slower(const void *a, const void *b) {
    double x = ((const tc_group_times *)a)->ns, y = ((const tc_group_times *)b)->ns;
    return (x < y) - (x > y);
}

typedef const char *(*text_of)(const tc_group_times *);
static const char *their_operators(const tc_group_times *r) { return *r->operators ? r->operators : r->name; }
static const char *their_source(const tc_group_times *r) { return *r->source ? r->source : !*r->operators ? r->name : "-"; }

/* Adds up rows with equal text. The strings still belong to `rows`. */
static tc_group_list merge(const tc_group_list *rows, text_of by) {
    tc_group_list out = {0};
    tc_map at = {.borrows = true};
    for (size_t k = 0; k < rows->len; k++) {
        const tc_group_times *r = &rows->data[k];
        void **place = tc_map_put(&at, by(r), strlen(by(r)));
        if (!*place) {
            tc_vec_push(&out, *r);
            *place = (void *)out.len;
            continue;
        }
        tc_group_times *to = &out.data[(size_t)*place - 1];
        to->ns += r->ns, to->bytes += r->bytes, to->flops += r->flops, to->calls += r->calls;
    }
    tc_map_free(&at);
    return out;
}

/* Sorts rows and prints them. last: heading of the last column, filled by `text`. */
static void table(const tc_profile_parts *p, const tc_profile_part *part, tc_group_list *rows, const char *last, text_of text, bool with_source,
                  tc_buf *out) {
    const char *unit = units[p->unit].name;
    const double scale = units[p->unit].of_ns, whole = part->ns > 0 ? part->ns : 1;
    const int digits = units[p->unit].digits;
    double ns = 0, bytes = 0, flops = 0, least = 0;
    if (rows->len) qsort(rows->data, rows->len, sizeof *rows->data, slower);
    tc_buf_printf(out, "%12s %6s %7s %10s %10s %7s  ", unit, "%", "calls", "KB", "KFLOP", "% limit");
    if (with_source) tc_buf_printf(out, "%-22s ", "source");
    tc_buf_printf(out, "%s\n", last);
    for (size_t k = 0; k < rows->len; k++) {
        const tc_group_times *r = &rows->data[k];
        tc_buf_printf(out, "%12.*f %6.1f %7lld %10.1f %10.1f %7.1f  ", digits, r->ns * scale, 100 * r->ns / whole, (long long)r->calls,
                      r->bytes * 1e-3, r->flops * 1e-3, percent(&p->limits, r));
        if (with_source) tc_buf_printf(out, "%-22s ", *r->source ? r->source : "-");
        tc_buf_printf(out, *r->operators ? "%s\n" : "(%s)\n", text(r));
        ns += r->ns, bytes += r->bytes, flops += r->flops, least += floor_of(&p->limits, r);
    }
    tc_buf_printf(out, "%12.*f %6.1f %7s %10.1f %10.1f %7.1f  all\n", digits, ns * scale, 100 * ns / whole, "", bytes * 1e-3, flops * 1e-3,
                  ns > 0 ? 100 * least / ns : 0);
}

void tc_profile_table(const tc_profile_parts *p, tc_buf *out) {
    tc_buf_printf(out, "machine: %.1f GFLOP/s, %.1f GB/s\n", p->limits.flops * 1e-9, p->limits.bytes * 1e-9);
    for (size_t i = 0; i < p->parts.len; i++) {
        const tc_profile_part *part = &p->parts.data[i];
        tc_group_list groups = merge(&part->rows, their_operators), lines = merge(&part->rows, their_source), all = {0};
        for (size_t k = 0; k < part->rows.len; k++) tc_vec_push(&all, part->rows.data[k]);
        tc_buf_printf(out, "\n%s: %.*f %s\ngroups:\n", part->label, units[p->unit].digits, part->ns * units[p->unit].of_ns, units[p->unit].name);
        table(p, part, &all, "operators", their_operators, true, out);
        tc_buf_puts(out, "by operators:\n");
        table(p, part, &groups, "operators", their_operators, false, out);
        tc_buf_puts(out, "by source line:\n");
        table(p, part, &lines, "source", their_source, false, out);
        tc_vec_free(&all);
        tc_vec_free(&groups);
        tc_vec_free(&lines);
    }
}

/* ---- picture ---- */
static void xml(tc_buf *b, const char *s) {
    for (; *s; s++)
        if (strchr("<>&\"'", *s) || (unsigned char)*s < ' ') tc_buf_printf(b, "&#%d;", (unsigned char)*s < ' ' ? ' ' : *s);
        else tc_buf_putc(b, *s);
}

/* red: far from the machine's limit; green: near */
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
            while (room && (cut[room] & 0xc0) == 0x80) room--; /* not inside a UTF-8 character */
            cut[room] = 0;
        }
        tc_buf_printf(b, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
        xml(b, cut);
        tc_buf_puts(b, "</text>");
        free(cut);
    }
    tc_buf_puts(b, "</g>\n");
}

static void part_svg(const tc_profile_parts *p, const tc_profile_part *part, double top, tc_buf *b) {
    double ns = 0, x = 10;
    tc_buf tip = {0};
    for (size_t k = 0; k < part->rows.len; k++) ns += part->rows.data[k].ns;
    tc_buf_printf(b, "<text x=\"10\" y=\"%.1f\" font-weight=\"bold\">", top + 14);
    xml(b, part->label);
    tc_buf_printf(b, ": %.1f us</text>\n", part->ns * 1e-3);
    for (size_t k = 0, end; k < part->rows.len && ns > 0; k = end) { /* neighbours from one source line share a box above theirs */
        const tc_group_times *first = &part->rows.data[k];
        double together = 0, least = 0, start = x;
        for (end = k; end < part->rows.len && !strcmp(part->rows.data[end].source, first->source); end++) {
            const tc_group_times *r = &part->rows.data[end];
            double w = r->ns / ns * 1180;
            tip.len = 0;
            tc_buf_printf(&tip, "%s: %.1f us, %.1f KB, %.1f KFLOP, %.0f %% of the limit, %s; %s", r->name, r->ns * 1e-3, r->bytes * 1e-3,
                          r->flops * 1e-3, percent(&p->limits, r), r->compiled ? "compiled" : "not compiled", r->operators);
            box(b, x, top + 38, w, (int)percent(&p->limits, r), r->name, tc_buf_str(&tip));
            x += w, together += r->ns, least += floor_of(&p->limits, r);
        }
        tip.len = 0;
        tc_buf_printf(&tip, "%s: %.1f us", *first->source ? first->source : "no source line", together * 1e-3);
        box(b, start, top + 20, x - start, together > 0 ? (int)(100 * least / together) : 0, first->source, tc_buf_str(&tip));
    }
    tc_buf_free(&tip);
}

void tc_profile_svg(const tc_profile_parts *p, tc_buf *out) {
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
