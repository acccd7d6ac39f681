/* The inputs of a run: parses --input (literals, records, text, raw bytes, images) and supplies each record's tensors (run.h). */
#include "tc-run/run.h"

#include <stdio.h>
#include <unistd.h>

typedef struct {
    const tc_input *in;
    int index;        /* in program->inputs */
    bool written;     /* the program mutates this input */
    tc_tensor fixed;  /* literal, text or raw */
    const feed *from; /* else */
    const char *key;
} slot;

struct inputs {
    TC_VEC(slot) slots;
    const tc_program *program;
    dims dims;
};

static bool is_written(const tc_program *p, int index) {
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_USER_INPUT && p->outputs[i].target == index) return true;
    return false;
}

/* Finds an input by name, or by position among all arguments. */
static tc_status find_slot(tc_cmd *c, inputs *in, const char *name, slot **out) {
    const tc_program *p = in->program;
    char *end;
    long number = strtol(name, &end, 10);
    if (end == name || *end) number = -1;
    for (size_t i = 0; i < in->slots.len; i++)
        if (!strcmp(in->slots.data[i].in->name, name)) {
            *out = &in->slots.data[i];
            return NULL;
        }
    size_t seen = 0;
    for (int i = 0; i < p->ninputs; i++) {
        bool user = p->inputs[i].kind == TC_IN_USER, leaf = p->inputs[i].kind == TC_IN_LEAF;
        if (leaf && (!strcmp(p->inputs[i].name, name) || number == 0)) return tc_usage(c, "input %s was fixed when the program was exported", name);
        if (user && number == 0) {
            *out = &in->slots.data[seen];
            return NULL;
        }
        number -= user || leaf;
        seen += user;
    }
    tc_buf b = {0};
    for (size_t i = 0; i < in->slots.len; i++) tc_buf_printf(&b, "%s%s", i ? ", " : "", in->slots.data[i].in->name);
    tc_status st = tc_usage(c, "there is no input %s; the program takes %s", name, b.len ? b.data : "none");
    tc_buf_free(&b);
    return st;
}

/* The shape for bytes: text: one element per byte; raw: the program's sizes, of which one may be a symbol without --dim. */
static tc_status shape_bytes(tc_cmd *c, const dims *given, const tc_meta *m, const char *name, bool text, int64_t n, int64_t *size) {
    int64_t known = 1;
    int open = -1;
    if (text) {
        if (m->rank < 1 || m->rank > 2) return tc_usage(c, "input %s has %d dimensions: text fits one or two", name, m->rank);
        size[0] = m->rank == 1 ? n : 1;
        if (m->rank == 2) size[1] = n;
        return NULL;
    }
    for (int d = 0; d < m->rank; d++) {
        if (dims_size(given, m->size[d], &size[d])) {
            known *= size[d];
        } else {
            if (open >= 0) return tc_usage(c, "input %s has two open sizes: raw bytes cannot tell them, --dim SYM=N can", name);
            open = d;
        }
    }
    if (open < 0 ? n != known : !known || n % known) return tc_error(TC_CONTENT, "input %s: %lld elements do not fill its sizes", name, (long long)n);
    if (open >= 0) size[open] = n / known;
    return NULL;
}

static tc_status read_bytes(tc_cmd *c, const dims *given, slot *s, bool text, const char *value) {
    const tc_value *v = s->in->value;
    tc_stream *stream;
    tc_storage *data;
    tc_tensor bytes = {0};
    int64_t size[TC_MAX_RANK], stride[TC_MAX_RANK];
    char who[128];
    snprintf(who, sizeof who, "--input %.100s", s->in->name);
    if (v->kind != TC_V_TENSOR) return tc_usage(c, "input %s is a number, not bytes", s->in->name);
    if (*value != '@') return tc_usage(c, "input %s:%s takes @FILE or @-", s->in->name, text ? "text" : "raw");
    bool in = !strcmp(value, "@-");
    if (in) TC_TRY(tc_cmd_claim_stdin(c, who));
    TC_TRY(in ? tc_stream_open_fd(STDIN_FILENO, "stdin", &stream) : tc_stream_open(value + 1, &stream));
    tc_dtype d = text ? TC_U8 : v->meta.dtype;
    tc_status st = tc_stream_rest(stream, tc_dtype_size(d), &data);
    tc_stream_close(stream);
    if (st) return st;
    int64_t n = (int64_t)(data->bytes / tc_dtype_size(d));
    if (!n && in) st = tc_error(TC_CONTENT, "stdin: nothing arrived: did the command before fail?");
    else if (data->bytes % tc_dtype_size(d))
        st = tc_error(TC_CONTENT, "input %s: %zu bytes are no whole number of elements", s->in->name, data->bytes);
    if (!st) st = shape_bytes(c, given, &v->meta, s->in->name, text, n, size);
    if (!st && d == TC_BOOL) st = tc_storage_bools(&data);
    if (!st) {
        tc_contiguous_strides(v->meta.rank, size, stride);
        st = tc_tensor_view(data, d, v->meta.rank, size, stride, 0, &bytes);
    }
    tc_storage_release(data);
    if (st || !text) {
        s->fixed = bytes;
        return st;
    }
    st = tc_tensor_cast(&bytes, v->meta.dtype, &s->fixed);
    tc_tensor_deinit(&bytes);
    return st;
}

/* An --input: [NAME[:HINT]=]VALUE; name and hint may be NULL. */
typedef struct {
    const char *spec, *value;
    char *name, *hint;
} input_option;
/* Parses one --input. *by_key: a file without NAME= for several inputs, which take their tensors by key. */
static tc_status parse_one(tc_cmd *c, inputs *in, feeds *f, const input_option *o, feed **by_key) {
    const char *spec = o->spec, *name = o->name, *hint = o->hint, *value = o->value;
    slot *s = NULL;
    const char *key = NULL;
    feed *e;
    if (name) TC_TRY(find_slot(c, in, name, &s));
    else if (in->slots.len == 1) s = &in->slots.data[0];
    else if (*value != '@') return tc_usage(c, "--input %s: the program takes %zu inputs, say which (NAME=%s)", spec, in->slots.len, value);
    if (s && (s->fixed.storage || s->from)) return tc_usage(c, "input %s is given twice", s->in->name);
    if (s && hint) return read_bytes(c, &in->dims, s, !strcmp(hint, "text"), value);
    if (*value == ':') return tc_usage(c, "--input %s: an expression is fixed at export; give a tensor or a number here", spec);
    if (*value != '@') return dims_literal(c, &in->dims, value, &s->fixed);
    char who[128];
    snprintf(who, sizeof who, "--input %.100s", s ? s->in->name : spec);
    TC_TRY(feed_open(c, f, value + 1, who, &e, &key));
    if (s) {
        s->from = e;
        s->key = key;
    } else if (key) {
        return tc_usage(c, "--input %s: the program takes %zu inputs, say which (NAME=%s)", spec, in->slots.len, value);
    } else {
        *by_key = e;
    }
    return NULL;
}

static tc_status missing(tc_cmd *c, const inputs *in, const char *path) {
    tc_buf names = {0}, page = {0};
    int n = 0;
    for (size_t i = 0; i < in->slots.len; i++) {
        const slot *s = &in->slots.data[i];
        if (!s->fixed.storage && !s->from) tc_buf_printf(&names, "%s%s", n++ ? ", " : "", s->in->name);
    }
    if (!n) return NULL;
    signature_print(&page, in->program, path, tc_cmd_get(c, TC_OPT_model));
    tc_status st = tc_usage(c, "no value for input %s", names.data);
    for (char *line = page.data, *next; line; line = next) { /* one line each */
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        tc_status_add(st, "%s", line);
    }
    tc_buf_free(&names);
    tc_buf_free(&page);
    return st;
}

tc_status inputs_open(tc_cmd *c, const tc_program *p, const char *path, feeds *f, inputs **out) {
    inputs *in = *out = tc_xcalloc(1, sizeof *in);
    feed *by_key = NULL;
    in->program = p;
    TC_TRY(dims_open(c, p, &in->dims));
    for (int i = 0; i < p->ninputs; i++) {
        slot s = {.in = &p->inputs[i], .index = i, .written = is_written(p, i)};
        if (p->inputs[i].kind == TC_IN_USER) tc_vec_push(&in->slots, s);
    }
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_input); i++) {
        input_option o = {.spec = tc_cmd_value(c, TC_OPT_input, i)};
        split_spec(o.spec, &o.name, &o.hint, &o.value);
        tc_status st = in->slots.len ? parse_one(c, in, f, &o, &by_key) : tc_usage(c, "--input %s: the program takes no inputs", o.spec);
        free(o.name);
        free(o.hint);
        if (st) return st;
    }
    for (size_t i = 0; by_key && i < in->slots.len; i++) {
        slot *s = &in->slots.data[i];
        if (!s->fixed.storage && !s->from) s->from = by_key, s->key = s->in->name;
    }
    return missing(c, in, path);
}

void inputs_close(inputs *in) {
    if (!in) return;
    for (size_t i = 0; i < in->slots.len; i++) tc_tensor_deinit(&in->slots.data[i].fixed);
    tc_vec_free(&in->slots);
    dims_close(&in->dims);
    free(in);
}

int inputs_count(const inputs *in) { return (int)in->slots.len; }

tc_status inputs_get(const inputs *in, tc_tensor *out) {
    for (size_t i = 0; i < in->slots.len; i++) {
        const slot *s = &in->slots.data[i];
        const tc_tensor *t = &s->fixed;
        if (s->from) TC_TRY(feed_pick(s->from, s->key, s->in->name, &t));
        if (s->from && s->from->record.format == tc_image_format && !s->key) {
            TC_TRY(image_fit(tc_stream_name(s->from->stream), t, s->in, &out[i]), "input %s", s->in->name);
        } else if (s->written) {
            TC_TRY(tc_tensor_clone(t, &out[i]));
        } else {
            out[i] = tc_tensor_share(t);
        }
        TC_TRY(dims_check(&in->dims, s->in, &out[i]));
    }
    return NULL;
}
