/* tc-ckpt ls (names, dtypes, shapes, without reading data) and show (tensors and values as text). */
#include "tc-ckpt/view.h"

#include "base/json_write.h"
#include "base/text.h"

#include <stdio.h>

static size_t head_bytes(const tc_ckpt_head *h) {
    size_t n = tc_dtype_size(h->dtype);
    for (int d = 0; d < h->rank; d++) n *= (size_t)h->size[d];
    return n;
}

static bool packed(const tc_ckpt_head *h) {
    int64_t step = 1;
    if (!h->stride || !head_bytes(h)) return true;
    for (int d = h->rank - 1; d >= 0; d--) {
        if (h->size[d] != 1 && h->stride[d] != step) return false;
        step *= h->size[d];
    }
    return true;
}

/* Names come from files: control characters are shown as \xNN. */
static void put_name(tc_buf *b, const char *name) {
    tc_put_shown(b, name, strlen(name), "");
    tc_buf_puts(b, "");
}

static void put_ints(tc_json *j, const char *key, const int64_t *v, int n) {
    tc_json_key(j, key);
    tc_json_array(j);
    for (int d = 0; d < n; d++) tc_json_int(j, v[d]);
    tc_json_end(j);
}

static void print_json(const char *name, const tc_ckpt_head *h) {
    tc_buf line = {0};
    tc_json j = {.b = &line};
    tc_json_object(&j);
    tc_json_key(&j, "name");
    tc_json_string(&j, name);
    tc_json_key(&j, "dtype");
    tc_json_string(&j, tc_dtypes[h->dtype].name);
    put_ints(&j, "shape", h->size, h->rank);
    tc_json_key(&j, "bytes");
    tc_json_int(&j, (int64_t)head_bytes(h));
    tc_json_key(&j, "offset");
    if (h->offset >= 0) tc_json_int(&j, h->offset);
    else tc_json_null(&j);
    tc_json_key(&j, "file");
    tc_json_string(&j, h->file);
    if (!packed(h)) put_ints(&j, "stride", h->stride, h->rank);
    if (h->parts > 1) tc_json_key(&j, "parts"), tc_json_int(&j, (int64_t)h->parts);
    tc_json_end(&j);
    puts(line.data);
    tc_buf_free(&line);
}

static void print_line(const char *name, const tc_ckpt_head *h) {
    tc_buf type = {0}, place = {0}, shown = {0};
    for (int d = 0; d < h->rank; d++) tc_buf_printf(&type, "%lldx", (long long)h->size[d]);
    tc_buf_puts(&type, tc_dtypes[h->dtype].name);
    if (h->parts > 1) tc_buf_printf(&place, "%zu parts", h->parts);
    else if (h->offset >= 0) tc_buf_printf(&place, "%lld", (long long)h->offset);
    else tc_buf_puts(&place, "-");
    put_name(&shown, name);
    printf("%-24s %12zu %12s  %s\n", type.data, head_bytes(h), place.data, shown.data);
    tc_buf_free(&type);
    tc_buf_free(&place);
    tc_buf_free(&shown);
}

static tc_status list_one(tc_cmd *c, const char *path) {
    view v;
    size_t bytes = 0;
    TC_TRY(view_open(c, path, (tc_ckpt_options){.raw = true}, &v));
    for (size_t i = 0; i < view_count(&v); i++) {
        tc_ckpt_head h = view_head(&v, i);
        if (c->json) print_json(view_name(&v, i), &h);
        else print_line(view_name(&v, i), &h);
        bytes += head_bytes(&h);
    }
    if (!c->json) printf("%zu tensors, %zu bytes\n", view_count(&v), bytes);
    view_close(&v);
    return NULL;
}

tc_status run_ls(tc_cmd *c) {
    if (!c->noperands) return list_one(c, NULL);
    for (int i = 0; i < c->noperands; i++) {
        if (c->noperands > 1 && !c->json) printf("%s:\n", c->operands[i]);
        TC_TRY(list_one(c, c->operands[i]));
    }
    return NULL;
}

/* ---- show ---- */
static void put_elements(tc_json *j, const tc_tensor *t, int d, int64_t at) {
    if (d == t->rank) {
        tc_scalar s = tc_scalar_load(t->dtype, t->storage->data, t->offset + at);
        switch (s.kind) {
        case TC_KIND_BOOL: tc_json_bool(j, s.i != 0); return;
        case TC_KIND_INT:
            if (t->dtype == TC_U64) tc_json_uint(j, (uint64_t)s.i);
            else tc_json_int(j, s.i);
            return;
        case TC_KIND_FLOAT: tc_json_double(j, s.f); return;
        case TC_KIND_COMPLEX:
            tc_json_array(j);
            tc_json_double(j, s.re);
            tc_json_double(j, s.im);
            tc_json_end(j);
            return;
        }
    }
    tc_json_array(j);
    for (int64_t i = 0; i < t->size[d]; i++) put_elements(j, t, d + 1, at + i * t->stride[d]);
    tc_json_end(j);
}

static void print_text(const char *name, const char *value) {
    tc_buf b = {0};
    put_name(&b, name);
    tc_buf_printf(&b, " = %s\n", value);
    tc_cmd_show(stdout, b.data, b.len);
    tc_buf_free(&b);
}

static void print_values(const tc_cmd *c, const char *name, const tc_tensor *t) {
    tc_buf b = {0};
    if (c->json) {
        tc_json j = {.b = &b};
        tc_json_object(&j);
        tc_json_key(&j, "name");
        tc_json_string(&j, name);
        tc_json_key(&j, "dtype");
        tc_json_string(&j, tc_dtypes[t->dtype].name);
        put_ints(&j, "shape", t->size, t->rank);
        tc_json_key(&j, "data");
        put_elements(&j, t, 0, 0);
        tc_json_end(&j);
        puts(b.data);
    } else {
        tc_tensor_print(&b, t);
        print_text(name, b.data);
    }
    tc_buf_free(&b);
}

static tc_status show_named(const tc_cmd *c, const view *v, const char *name) {
    int64_t i = view_find(v, name);
    size_t n;
    const tc_metadata *values = tc_ckpt_values(v->ckpt, &n);
    for (size_t k = 0; i < 0 && k < n; k++) {
        if (strcmp(values[k].key, name)) continue;
        tc_buf b = {0};
        tc_json j = {.b = &b};
        tc_json_object(&j);
        tc_json_key(&j, "name"), tc_json_string(&j, name);
        tc_json_key(&j, "value"), tc_json_raw(&j, values[k].value, strlen(values[k].value));
        tc_json_end(&j);
        if (c->json) puts(b.data);
        else print_text(name, values[k].value);
        tc_buf_free(&b);
        return NULL;
    }
    if (i < 0) return tc_error(TC_CONTENT, "%s has no tensor %s (tc-ckpt ls %s lists them)", v->path, name, v->path);
    tc_tensor t;
    TC_TRY(view_tensor(v, (size_t)i, &t));
    print_values(c, name, &t);
    tc_tensor_deinit(&t);
    return NULL;
}

static void put_texts(tc_json *j, const char *key, const tc_metadata *m, size_t n, bool json) {
    if (!n) return;
    tc_json_key(j, key);
    tc_json_object(j);
    for (size_t i = 0; i < n; i++) {
        tc_json_key(j, m[i].key);
        if (json) tc_json_raw(j, m[i].value, strlen(m[i].value));
        else tc_json_string(j, m[i].value);
    }
    tc_json_end(j);
}

static void print_texts(const tc_metadata *m, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tc_buf key = {0}, value = {0};
        put_name(&key, m[i].key);
        put_name(&value, m[i].value);
        printf("  %s: %s\n", key.data, value.data);
        tc_buf_free(&key);
        tc_buf_free(&value);
    }
}

static void show_summary(const tc_cmd *c, const view *v) {
    size_t bytes = 0, per[TC_DTYPE_COUNT] = {0}, nvalues, nmeta;
    const tc_metadata *values = tc_ckpt_values(v->ckpt, &nvalues), *meta = tc_ckpt_metadata(v->ckpt, &nmeta);
    int64_t step = tc_ckpt_step(v->ckpt);
    for (size_t i = 0; i < view_count(v); i++) {
        tc_ckpt_head h = view_head(v, i);
        bytes += head_bytes(&h);
        per[h.dtype] += head_bytes(&h) / tc_dtype_size(h.dtype);
    }
    if (c->json) {
        tc_buf b = {0};
        tc_json j = {.b = &b};
        tc_json_object(&j);
        tc_json_key(&j, "path"), tc_json_string(&j, v->path);
        tc_json_key(&j, "format"), tc_json_string(&j, tc_ckpt_format(v->ckpt));
        tc_json_key(&j, "tensors"), tc_json_int(&j, (int64_t)view_count(v));
        tc_json_key(&j, "bytes"), tc_json_int(&j, (int64_t)bytes);
        tc_json_key(&j, "elements");
        tc_json_object(&j);
        for (int d = 0; d < TC_DTYPE_COUNT; d++)
            if (per[d]) tc_json_key(&j, tc_dtypes[d].name), tc_json_int(&j, (int64_t)per[d]);
        tc_json_end(&j);
        put_texts(&j, "metadata", meta, nmeta, false);
        put_texts(&j, "values", values, nvalues, true);
        if (step >= 0) tc_json_key(&j, "step"), tc_json_int(&j, step);
        tc_json_end(&j);
        puts(b.data);
        tc_buf_free(&b);
        return;
    }
    printf("%s: %s, %zu tensors, %zu bytes\n", v->path, tc_ckpt_format(v->ckpt), view_count(v), bytes);
    for (int d = 0; d < TC_DTYPE_COUNT; d++)
        if (per[d]) printf("  %s: %zu elements\n", tc_dtypes[d].name, per[d]);
    print_texts(meta, nmeta);
    print_texts(values, nvalues);
    if (step < 0) return;
    const char *state = tc_ckpt_state(v->ckpt);
    tc_buf shown = {0};
    tc_put_shown(&shown, state, strcspn(state, "\n"), "");
    printf("  step %lld\n  state %s\n", (long long)step, tc_buf_str(&shown));
    tc_buf_free(&shown);
}

tc_status run_show(tc_cmd *c) {
    view v;
    TC_TRY(view_open(c, c->noperands ? c->operands[0] : NULL, (tc_ckpt_options){.raw = true}, &v));
    tc_status st = NULL;
    if (c->noperands < 2) show_summary(c, &v);
    for (int i = 1; i < c->noperands && !st; i++) st = show_named(c, &v, c->operands[i]);
    view_close(&v);
    return st;
}
