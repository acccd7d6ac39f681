/* Tensors by key from a safetensors file: columns in the order of their names. A row is a sample, or with `batches: true` a whole
 * micro-batch, given in the order of the file. */
#include "data/data.h"

#include "file/tensors.h"

static int by_name(const void *a, const void *b) { return strcmp((*(const tc_named *const *)a)->name, (*(const tc_named *const *)b)->name); }

static tc_status add_columns(tc_dataset *d, const tc_data_spec *s, const tc_tensors *t) {
    if (t->items.len < 1 || t->items.len > TC_DATA_MAX_COLUMNS)
        return tc_error(TC_CONTENT, "%s: %zu tensors, expected 1 to %d", s->safetensors, t->items.len, TC_DATA_MAX_COLUMNS);
    const tc_named *sorted[TC_DATA_MAX_COLUMNS];
    for (size_t i = 0; i < t->items.len; i++) sorted[i] = &t->items.data[i];
    qsort(sorted, t->items.len, sizeof *sorted, by_name);
    for (size_t i = 0; i < t->items.len; i++) {
        const tc_tensor *x = &sorted[i]->tensor;
        if (!x->rank)
            return tc_error(TC_CONTENT, "%s: %s is a single number, expected a leading dimension of samples", s->safetensors, sorted[i]->name);
        if (i && x->size[0] != d->count)
            return tc_error(TC_CONTENT, "%s: %s has %lld rows, %s has %lld", s->safetensors, sorted[i]->name, (long long)x->size[0], sorted[0]->name,
                            (long long)d->count);
        d->count = x->size[0];
        d->col[i].name = tc_arena_strdup(&d->arena, sorted[i]->name);
        TC_TRY(tc_tensor_contiguous(x, &d->col[i].data));
        d->ncols = (int)i + 1;
    }
    return NULL;
}

tc_status tc_data_read_safetensors(tc_dataset *d, const tc_data_spec *s) {
    if (s->rows) return tc_yaml_error(s->rows, "rows: is not for safetensors");
    d->kind = s->batches ? TC_DATA_BATCHES : TC_DATA_TABLE;
    tc_blob *b;
    tc_tensors t = {0};
    TC_TRY(tc_data_blob(s, s->safetensors, &b));
    tc_status st = tc_tensors_load_blob(b, &t);
    tc_blob_release(b);
    if (!st) st = add_columns(d, s, &t);
    tc_tensors_deinit(&t);
    return st;
}
