/* Tensors as text, exactly as PyTorch prints them. Without other options: four digits, scientific form when the range asks for it, columns of one
 * width, lines of 80, and "..." for what lies between three items at each end when there are more than 1000 elements. */
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>

const tc_print_options tc_print_default = {.precision = 4, .threshold = 1000, .edge = 3, .line = 80, .scientific = -1};

/* How the numbers of one tensor are written: found from all that will be shown, then applied to each. */
typedef struct {
    bool floating, int_mode, sci_mode;
    int width;
    double min, max; /* magnitudes of finite values that are not 0 */
    bool any;
} form;

typedef struct {
    tc_buf *out;
    const tc_tensor *t;
    const tc_print_options *o;
    form f[2]; /* second: imaginary parts */
    bool complex, summarize;
} printer;

static double component(const printer *p, int64_t offset, int part) {
    tc_scalar s = tc_scalar_load(p->t->dtype, p->t->storage->data, offset);
    if (s.kind == TC_KIND_COMPLEX) return part ? s.im : s.re;
    return s.f;
}

static int write_number(char *dst, size_t room, const form *f, int precision, double v) {
    if (isnan(v)) return snprintf(dst, room, "nan");
    if (isinf(v)) return snprintf(dst, room, v < 0 ? "-inf" : "inf");
    if (f->sci_mode) return snprintf(dst, room, "%.*e", precision, v);
    if (f->int_mode) return snprintf(dst, room, "%.0f.", v);
    return snprintf(dst, room, "%.*f", precision, v);
}

static int write_integer(char *dst, size_t room, const printer *p, int64_t offset) {
    tc_scalar s = tc_scalar_load(p->t->dtype, p->t->storage->data, offset);
    if (p->t->dtype == TC_BOOL) return snprintf(dst, room, s.i ? "True" : "False");
    if (p->t->dtype == TC_U64) return snprintf(dst, room, "%llu", (unsigned long long)s.i);
    return snprintf(dst, room, "%lld", (long long)s.i);
}

/* ---- finding the form: range first, then widths ---- */
static void see_range(printer *p, int64_t offset) {
    for (int part = 0; part <= p->complex; part++) {
        form *f = &p->f[part];
        double v = component(p, offset, part), m = fabs(v);
        if (!isfinite(v) || v == 0) continue;
        f->min = f->any ? fmin(f->min, m) : m;
        f->max = f->any ? fmax(f->max, m) : m;
        f->any = true;
        if (v != ceil(v)) f->int_mode = false;
    }
}

static void see_width(printer *p, int64_t offset) {
    char text[400];
    if (!p->f[0].floating) {
        int n = write_integer(text, sizeof text, p, offset);
        if (n > p->f[0].width) p->f[0].width = n;
        return;
    }
    for (int part = 0; part <= p->complex; part++) {
        double v = component(p, offset, part);
        if (!isfinite(v) || v == 0) continue;
        int n = write_number(text, sizeof text, &p->f[part], p->o->precision, v);
        if (n > p->f[part].width) p->f[part].width = n;
    }
}

static void each_shown(printer *p, int dim, int64_t offset, void (*fn)(printer *, int64_t)) {
    if (dim == p->t->rank) {
        fn(p, offset);
        return;
    }
    int64_t n = p->t->size[dim], edge = p->o->edge;
    for (int64_t i = 0; i < n; i++) {
        if (p->summarize && n > 2 * edge && i == edge) i = n - edge;
        if (i == n) break; /* edge 0 shows nothing */
        each_shown(p, dim + 1, offset + i * p->t->stride[dim], fn);
    }
}

static void find_form(printer *p) {
    if (p->f[0].floating) each_shown(p, 0, p->t->offset, see_range);
    for (int part = 0; part <= p->complex; part++) {
        form *f = &p->f[part];
        f->sci_mode = f->any && (p->o->scientific >= 0 ? p->o->scientific : f->max / f->min > 1000.0 || f->max > 1.0e8 || f->min < 1.0e-4);
    }
    each_shown(p, 0, p->t->offset, see_width);
}

/* ---- writing ---- */
static void put_element(printer *p, int64_t offset) {
    char text[400];
    int n = p->f[0].floating ? write_number(text, sizeof text, &p->f[0], p->o->precision, component(p, offset, 0))
                             : write_integer(text, sizeof text, p, offset);
    tc_buf_printf(p->out, "%*s%s", p->f[0].width > n ? p->f[0].width - n : 0, "", text);
    if (!p->complex) return;
    write_number(text, sizeof text, &p->f[1], p->o->precision, component(p, offset, 1)); /* PyTorch strips the padding again */
    tc_buf_printf(p->out, "%s%sj", text[0] == '-' ? "" : "+", text);
}

static void put_vector(printer *p, int64_t offset, int64_t n, int64_t stride, int indent) {
    int length = p->f[0].width + 2 + (p->complex ? p->f[1].width + 1 : 0);
    int per_line = (p->o->line - indent) / length, column = 0;
    if (per_line < 1) per_line = 1;
    const int64_t edge = p->o->edge;
    bool cut = p->summarize && n > 2 * edge;
    tc_buf_putc(p->out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (column == per_line) tc_buf_printf(p->out, ",\n%*s", indent + 1, ""), column = 0;
        else if (i) tc_buf_puts(p->out, ", ");
        column++;
        if (cut && i == edge) {
            tc_buf_puts(p->out, edge ? " ..." : "...");
            i = n - edge - 1;
        } else {
            put_element(p, offset + i * stride);
        }
    }
    tc_buf_putc(p->out, ']');
}

static void put(printer *p, int dim, int64_t offset, int indent) {
    const tc_tensor *t = p->t;
    int left = t->rank - dim;
    if (left == 0) {
        put_element(p, offset);
        return;
    }
    int64_t n = t->size[dim], stride = t->stride[dim];
    if (left == 1) {
        put_vector(p, offset, n, stride, indent);
        return;
    }
    tc_buf_putc(p->out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i) {
            tc_buf_putc(p->out, ',');
            for (int k = 1; k < left; k++) tc_buf_putc(p->out, '\n');
            tc_buf_printf(p->out, "%*s", indent + 1, "");
        }
        if (p->summarize && n > 2 * p->o->edge && i == p->o->edge) {
            tc_buf_puts(p->out, "...");
            i = n - p->o->edge - 1;
        } else {
            put(p, dim + 1, offset + i * stride, indent + 1);
        }
    }
    tc_buf_putc(p->out, ']');
}

/* ", dtype=torch.float64" and the like, on a new line when the last one would pass `line` columns. */
static void put_suffix(tc_buf *b, size_t start, int *io_last_line, int indent, int line, const char *suffix) {
    if (*io_last_line < 0) {
        const char *text = b->data + start, *nl = strrchr(text, '\n');
        int len = (int)(b->len - start);
        *io_last_line = len - (nl ? (int)(nl - text) : -1) + 1;
    }
    int len = (int)strlen(suffix);
    if (*io_last_line + len + 2 > line) {
        tc_buf_printf(b, ",\n%*s%s", indent, "", suffix);
        *io_last_line = indent + len;
    } else {
        tc_buf_printf(b, ", %s", suffix);
        *io_last_line += len + 2;
    }
}

static void put_size(tc_buf *b, const tc_tensor *t) {
    tc_buf_puts(b, "size=(");
    for (int d = 0; d < t->rank; d++) tc_buf_printf(b, "%s%lld", d ? ", " : "", (long long)t->size[d]);
    tc_buf_puts(b, t->rank == 1 ? ",)" : ")");
}

void tc_tensor_print(tc_buf *b, const tc_tensor *t) { tc_tensor_print_as(b, t, &tc_print_default); }

void tc_tensor_print_as(tc_buf *b, const tc_tensor *t, const tc_print_options *o) {
    static const char prefix[] = "tensor(";
    int indent = (int)sizeof prefix - 1, last_line = -1;
    size_t start = b->len;
    int64_t n = tc_tensor_numel(t);
    tc_dtype d = t->dtype;
    tc_buf suffix = {0};
    tc_buf_puts(b, prefix);
    if (n == 0) {
        tc_buf_puts(b, "[]");
        if (t->rank != 1) {
            put_size(&suffix, t);
            put_suffix(b, start, &last_line, indent, o->line, suffix.data);
            suffix.len = 0;
        }
    } else {
        printer p = {.out = b, .t = t, .o = o, .complex = tc_is_complex(d), .summarize = (double)n > o->threshold};
        for (int part = 0; part < 2; part++) p.f[part] = (form){.floating = tc_is_float(d) || tc_is_complex(d), .int_mode = true, .width = 1};
        find_form(&p);
        put(&p, 0, t->offset, indent);
        if (!o->edge) {
            put_size(&suffix, t);
            put_suffix(b, start, &last_line, indent, o->line, suffix.data);
            suffix.len = 0;
        }
    }
    bool usual = d == TC_F32 || (n != 0 && (d == TC_C64 || d == TC_I64 || d == TC_BOOL));
    if (!usual) {
        tc_buf_printf(&suffix, "dtype=torch.%s", tc_dtypes[d].torch);
        put_suffix(b, start, &last_line, indent, o->line, suffix.data);
    }
    tc_buf_free(&suffix);
    tc_buf_putc(b, ')');
}
