/* Comma-separated tables (RFC 4180): x is the numeric columns, then one-hot categories, in the order of `columns`; y is `target`.
 * With `standardize` the numeric columns have mean 0 and deviation 1 over the training rows (population deviation; empty cells are left
 * out of the statistics and become 0, the mean); without it empty cells are NaN. All in float64, stored as float32. */
#include "data/data.h"

#include "base/text.h"

#include <math.h>

typedef struct {
    TC_VEC(char *) cells;
    int64_t open; /* the line of a quote that nothing closes, or 0 */
} row_cells;

/* Splits one record starting at *p into cells, in place; returns false at the end of the text. */
static bool next_record(char **p, char *end, row_cells *r, int64_t *line) {
    r->cells.len = 0;
    if (*p >= end) return false;
    char *in = *p;
    for (;;) {
        char *cell = in, *out = in;
        if (in < end && *in == '"') {
            cell = out = ++in;
            int64_t begin = *line + 1;
            for (; in < end; in++) {
                if (*in == '"' && in + 1 < end && in[1] == '"') in++;
                else if (*in == '"') break;
                *line += *in == '\n';
                *out++ = *in;
            }
            if (in == end) r->open = begin;
            in += in < end;
        }
        while (in < end && *in != ',' && *in != '\n') *out++ = *in++;
        bool last = in >= end || *in == '\n';
        if (last && out > cell && out[-1] == '\r') out--;
        char *next = in < end ? in + 1 : end;
        *out = 0;
        tc_vec_push(&r->cells, cell);
        in = next;
        if (last) break;
    }
    *p = in;
    ++*line;
    return true;
}

typedef struct {
    int64_t column;
    const tc_yaml *categories;
    const char *name;
    int at;
} source;

/* The place of a column in the header; `at`: where the recipe names it. */
static tc_status find_column(const tc_data_spec *s, const row_cells *head, const char *name, const tc_yaml *at, int64_t *out) {
    for (size_t k = 0; k < head->cells.len; k++)
        if (strcmp(head->cells.data[k], name) == 0) {
            *out = (int64_t)k;
            return NULL;
        }
    const char *near = tc_suggest(name, (const char *const *)head->cells.data, head->cells.len);
    if (near) return tc_yaml_error(at, "no column '%s' in %s; did you mean '%s'?", name, s->csv, near);
    tc_buf all = {0};
    for (size_t k = 0; k < head->cells.len && all.len < 200; k++) tc_buf_printf(&all, "%s%s", k ? ", " : "", head->cells.data[k]);
    tc_status st = tc_yaml_error(at, "no column '%s' in %s, expected one of %.200s", name, s->csv, tc_buf_str(&all));
    tc_buf_free(&all);
    return st;
}

static tc_status needs_columns(const tc_data_spec *s) {
    return tc_yaml_error(s->node, "csv needs columns: [NAME, ..., {NAME: [CATEGORY, ...]}] and target: NAME");
}

static tc_status find_columns(const tc_data_spec *s, const row_cells *head, source *src, int *out_n, int *out_width, int *out_numeric) {
    const tc_yaml *y = s->columns;
    if (!y || y->kind != TC_YAML_LIST || !y->n || y->n > 1000) return needs_columns(s);
    int n = 0, numeric = 0, width = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < y->n; i++) {
            const tc_yaml *e = y->items[i];
            bool category = e->kind == TC_YAML_MAP && e->n == 1 && e->items[0]->kind == TC_YAML_LIST;
            if (!category && e->kind != TC_YAML_SCALAR) return tc_yaml_error(e, "expected a column's name, or {NAME: [CATEGORY, ...]}");
            if (category != (pass == 1)) continue;
            source *o = &src[n++];
            *o = (source){.name = category ? e->keys[0] : e->text, .categories = category ? e->items[0] : NULL, .at = width};
            TC_TRY(find_column(s, head, o->name, e, &o->column));
            width += category ? e->items[0]->n : 1;
            numeric += !category;
        }
    *out_n = n;
    *out_width = width;
    *out_numeric = numeric;
    return NULL;
}

/* A number, which blanks may surround; NaN for an empty cell. Changes the cell. */
static tc_status cell_number(const tc_data_spec *s, char *cell, const char *column, int64_t line, double *out) {
    *out = NAN;
    cell += strspn(cell, " \t");
    size_t n = strlen(cell);
    while (n && strchr(" \t", cell[n - 1])) cell[--n] = 0;
    if (!n || tc_parse_double(cell, out)) return NULL;
    return tc_error(TC_CONTENT, "%s:%lld: column %s: found '%.40s', expected a number", s->csv, (long long)line, column, cell);
}

static tc_status read_rows(tc_dataset *d, const tc_data_spec *s, tc_buf *b, double **out_x, double **out_y, int *out_width, int *out_numeric) {
    char *p = b->data, *end = b->data + b->len;
    if (b->len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) p += 3; /* the mark that spreadsheets put before UTF-8 */
    row_cells r = {0};
    int64_t line = 0, row = 0;
    TC_VEC(double) x = {0}, y = {0};
    source src[1000];
    int n = 0, width = 0;
    tc_status st =
        next_record(&p, end, &r, &line) ? find_columns(s, &r, src, &n, &width, out_numeric) : tc_error(TC_CONTENT, "%s: empty file", s->csv);
    int64_t target = -1;
    size_t ncells = r.cells.len;
    if (!st && s->target_scale == 0) st = tc_yaml_error(tc_yaml_get(s->node, "target_scale"), "division by zero");
    if (!st) st = s->target ? find_column(s, &r, s->target, tc_yaml_get(s->node, "target"), &target) : needs_columns(s);
    while (!st && (!s->limit || (int64_t)y.len < s->limit) && next_record(&p, end, &r, &line)) {
        if (r.cells.len == 1 && !*r.cells.data[0]) continue;
        if (r.open) st = tc_error(TC_CONTENT, "%s:%lld: a quote that nothing closes", s->csv, (long long)r.open);
        else if (r.cells.len != ncells)
            st = tc_error(TC_CONTENT, "%s:%lld: %zu cells, expected %zu as in the header", s->csv, (long long)line, r.cells.len, ncells);
        if (st || !tc_data_takes(s, row++)) continue;
        for (int i = 0; i < n && !st; i++) {
            char *cell = r.cells.data[src[i].column];
            double v;
            if (!src[i].categories) {
                st = cell_number(s, cell, src[i].name, line, &v);
                tc_vec_push(&x, v);
                continue;
            }
            for (int k = 0; k < src[i].categories->n; k++)
                tc_vec_push(&x, src[i].categories->items[k]->text && !strcmp(src[i].categories->items[k]->text, cell) ? 1.0 : 0.0);
        }
        double v;
        if (!st) st = cell_number(s, r.cells.data[target], s->target, line, &v);
        if (!st) tc_vec_push(&y, v / s->target_scale);
    }
    tc_vec_free(&r.cells);
    if (st) {
        tc_vec_free(&x);
        tc_vec_free(&y);
        return st;
    }
    d->count = (int64_t)y.len;
    *out_x = x.data;
    *out_y = y.data;
    *out_width = width;
    return NULL;
}

static void standardize(tc_dataset *d, const tc_dataset *train, double *x, int width, int numeric) {
    d->mean = TC_NEWN(&d->arena, double, (size_t)numeric);
    d->std = TC_NEWN(&d->arena, double, (size_t)numeric);
    for (int j = 0; j < numeric; j++) {
        double sum = 0, sq = 0;
        int64_t n = 0;
        for (int64_t i = 0; i < d->count; i++)
            if (!isnan(x[i * width + j])) sum += x[i * width + j], n++;
        d->mean[j] = n ? sum / (double)n : 0;
        for (int64_t i = 0; i < d->count; i++) {
            double e = x[i * width + j] - d->mean[j];
            if (!isnan(e)) sq += e * e;
        }
        d->std[j] = n ? sqrt(sq / (double)n) : 1;
        if (d->std[j] == 0) d->std[j] = 1;
        double mean = train && train->mean ? train->mean[j] : d->mean[j], std = train && train->std ? train->std[j] : d->std[j];
        for (int64_t i = 0; i < d->count; i++) x[i * width + j] = (x[i * width + j] - mean) / std;
    }
}

tc_status tc_data_read_csv(tc_dataset *d, const tc_data_spec *s) {
    tc_buf b = {0};
    TC_TRY(tc_data_load(s, s->csv, &b));
    double *x = NULL, *y = NULL;
    int width = 0, numeric = 0;
    tc_buf_putc(&b, '\n'); /* room for the NUL of the last cell */
    b.len--;
    tc_status st = read_rows(d, s, &b, &x, &y, &width, &numeric);
    tc_buf_free(&b);
    if (st) return st;
    if (s->standardize) standardize(d, s->train, x, width, numeric);
    d->kind = TC_DATA_TABLE;
    d->col[0].name = "x";
    d->col[1].name = "y";
    d->ncols = 2;
    st = tc_tensor_empty(TC_F32, 2, (int64_t[]){d->count, width}, &d->col[0].data);
    if (!st) st = tc_tensor_empty(TC_F32, 1, &d->count, &d->col[1].data);
    for (int64_t i = 0; !st && i < d->count * width; i++)
        ((float *)tc_tensor_data(&d->col[0].data))[i] = s->standardize && isnan(x[i]) ? 0 : (float)x[i];
    for (int64_t i = 0; !st && i < d->count; i++) ((float *)tc_tensor_data(&d->col[1].data))[i] = (float)y[i];
    free(x);
    free(y);
    return st;
}
