/* Writing safetensors: the layout of the reference implementation, so that equal content gives equal bytes. */
#include "file/safetensors.h"

#include "base/json_write.h"
#include "file/content.h"

/* The order of types in which the reference implementation lays out data: large elements first, so that all are aligned. */
static const unsigned char rank_of_type[TC_DTYPE_COUNT] = {
    [TC_U64] = 20,   [TC_I64] = 19,   [TC_F64] = 18, [TC_C64] = 17, [TC_F32] = 16,       [TC_U32] = 15,       [TC_I32] = 14,
    [TC_BF16] = 13,  [TC_F16] = 12,   [TC_U16] = 11, [TC_I16] = 10, [TC_F8E5M2FNUZ] = 9, [TC_F8E4M3FNUZ] = 8, [TC_F8E8M0] = 7,
    [TC_F8E4M3] = 6, [TC_F8E5M2] = 5, [TC_I8] = 4,   [TC_U8] = 3,   [TC_BOOL] = 2,
};

static int by_type_and_name(const void *a, const void *b) {
    const tc_head *x = *(const tc_head *const *)a, *y = *(const tc_head *const *)b;
    int p = rank_of_type[x->dtype], q = rank_of_type[y->dtype];
    return p != q ? q - p : strcmp(x->name, y->name);
}

static void put_entry(tc_json *w, const tc_head *h, size_t begin) {
    tc_json_key(w, h->name);
    tc_json_object(w);
    tc_json_key(w, "dtype");
    tc_json_string(w, tc_dtypes[h->dtype].safetensors);
    tc_json_key(w, "shape");
    tc_json_array(w);
    for (int d = 0; d < h->rank; d++) tc_json_int(w, h->size[d]);
    tc_json_end(w);
    tc_json_key(w, "data_offsets");
    tc_json_array(w);
    tc_json_int(w, (int64_t)begin);
    tc_json_int(w, (int64_t)(begin + tc_head_bytes(h)));
    tc_json_end(w);
    tc_json_end(w);
}

static void put_header(tc_buf *b, const tc_content *c, const tc_head *const *order) {
    tc_json w = {.b = b, .tight = true};
    size_t at = 0;
    tc_json_object(&w);
    if (c->nmetadata) {
        tc_json_key(&w, "__metadata__");
        tc_json_object(&w);
        for (size_t i = 0; i < c->nmetadata; i++) tc_json_key(&w, c->metadata[i].key), tc_json_string(&w, c->metadata[i].value);
        tc_json_end(&w);
    }
    for (size_t i = 0; i < c->n; i++) {
        put_entry(&w, order[i], at);
        at += tc_head_bytes(order[i]);
    }
    tc_json_end(&w);
    while (b->len % 8) tc_buf_putc(b, ' ');
}

tc_status tc_safetensors_write_content(tc_out *o, const tc_content *c) {
    const tc_head **order = tc_xcalloc(c->n + 1, sizeof *order);
    tc_buf b = {0};
    tc_status st = NULL;
    for (size_t i = 0; i < c->n; i++) {
        order[i] = &c->heads[i];
        if (!st && !tc_dtypes[order[i]->dtype].safetensors)
            st = tc_error(TC_UNSUPPORTED, "%s: safetensors has no type %s", order[i]->name, tc_dtypes[order[i]->dtype].torch);
        if (!st && !strcmp(order[i]->name, "__metadata__")) st = tc_error(TC_UNSUPPORTED, "safetensors cannot hold a tensor named __metadata__");
    }
    if (!st) {
        qsort(order, c->n, sizeof *order, by_type_and_name);
        put_header(&b, c, order);
        uint64_t len = b.len;
        st = tc_out_write(o, &len, 8);
        if (!st) st = tc_out_write(o, b.data, b.len);
    }
    for (size_t i = 0; i < c->n && !st; i++) st = c->stream(c->self, (size_t)(order[i] - c->heads), tc_sink_out(o));
    tc_buf_free(&b);
    free(order);
    return st;
}

tc_status tc_safetensors_write(tc_out *o, const tc_tensors *t) {
    tc_head *heads;
    tc_content c = tc_content_of(t, &heads);
    tc_status st = tc_safetensors_write_content(o, &c);
    free(heads);
    return st;
}
