/* Values of the model language as JSON, for the state in a checkpoint. Code (lambdas, the optimizer) is omitted from dicts. JSON is read as YAML, of
 * which it is a part. */
#include "base/json_write.h"
#include "base/text.h"
#include "capture/torch.h"
#include "train/internal.h"

enum { MAX_DEPTH = 20 };

static bool writable(C *c, V v, int depth) {
    switch (tc_kind_of(v)) {
    case K_NONE:
    case K_BOOL:
    case K_INT:
    case K_FLOAT:
    case K_STR: return true;
    case K_TUPLE:
    case K_LIST: {
        size_t n;
        V *items = tc_items(v, &n);
        for (size_t i = 0; i < n; i++)
            if (depth >= MAX_DEPTH || !writable(c, items[i], depth + 1)) return false;
        return true;
    }
    case K_DICT: return depth < MAX_DEPTH;
    case K_TENSOR: return tc_index(c, tc_call_method(c, v, tc_intern(c, "numel", 5), 0, NULL), "numel") == 1; /* a learning rate tensor: its number */
    default: return false;
    }
}

static void write_at(C *c, V v, tc_json *w, int depth);
/* A rate that is a tensor of one element: {"float32": 0.1}, in as many lists as it has dimensions. */
static void write_tensor(C *c, V v, tc_json *w) {
    tc_json_object(w);
    tc_json_key(w, tc_dtypes[tc_torch_dtype(v)].torch);
    for (int i = 0; i < tc_torch_rank(v); i++) tc_json_array(w);
    write_at(c, tc_call_method(c, v, tc_intern(c, "item", 4), 0, NULL), w, 0);
    for (int i = 0; i < tc_torch_rank(v); i++) tc_json_end(w);
    tc_json_end(w);
}
static void write_at(C *c, V v, tc_json *w, int depth) {
    switch (tc_kind_of(v)) {
    case K_NONE: tc_json_null(w); break;
    case K_BOOL: tc_json_bool(w, tc_truth(c, v)); break;
    case K_INT: tc_json_int(w, tc_index(c, v, "state")); break;
    case K_FLOAT: {
        tc_buf b = {0};
        tc_float_repr(&b, tc_flt(v)); /* "inf", "nan": as strings, which the reader turns back */
        bool finite = strspn(b.data, "0123456789.e+-") == b.len;
        if (finite) tc_json_raw(w, b.data, b.len);
        else tc_json_string(w, b.data);
        tc_buf_free(&b);
        break;
    }
    case K_STR: tc_json_stringn(w, tc_as_str(v)->s, tc_as_str(v)->len); break;
    case K_TENSOR: write_tensor(c, v, w); break;
    case K_DICT: {
        V key, value;
        tc_json_object(w);
        for (size_t i = 0; tc_dict_next((dict *)v, &i, &key, &value);) {
            if (!writable(c, value, depth + 1)) continue;
            tc_json_key(w, tc_to_str(c, key)->s);
            write_at(c, value, w, depth + 1);
        }
        tc_json_end(w);
        break;
    }
    default: {
        size_t n;
        V *items = tc_items(v, &n);
        tc_json_array(w);
        for (size_t i = 0; i < n; i++) write_at(c, items[i], w, depth + 1);
        tc_json_end(w);
    }
    }
}
void tc_train_write_value(C *c, V v, tc_json *w) { write_at(c, v, w, 0); }

V tc_train_like_number(C *c, double value, V like) {
    if (!like || tc_kind_of(like) != K_TENSOR) return tc_float(c, value);
    V given[2] = {tc_getattr(c, like, tc_intern(c, "shape", 5)), tc_float(c, value)};
    return tc_call_method(c, like, tc_intern(c, "new_full", 8), 2, given);
}

bool tc_train_keys_are_numbers(const dict *d) {
    V key, value;
    size_t i = 0;
    return tc_dict_next(d, &i, &key, &value) && tc_kind_of(key) == K_INT;
}

V tc_train_read_value(C *c, const tc_yaml *y, V like) {
    kind k = like ? tc_kind_of(like) : K_NONE;
    const bool one = y->kind == TC_YAML_MAP && y->n == 1 && y->items[0]->kind != TC_YAML_MAP;
    if (one && tc_dtype_parse(y->keys[0], strlen(y->keys[0])) != TC_DTYPE_NONE) { /* a tensor */
        for (y = y->items[0]; y->kind == TC_YAML_LIST && y->n == 1;) y = y->items[0];
        if (k != K_TENSOR) k = K_FLOAT; /* of a recipe whose rate was one */
    }
    if (y->kind == TC_YAML_LIST) {
        list *l = tc_list(c, 4);
        size_t n = 0;
        V *old = k == K_LIST || k == K_TUPLE ? tc_items(like, &n) : NULL;
        for (int i = 0; i < y->n; i++) tc_list_push(c, l, tc_train_read_value(c, y->items[i], (size_t)i < n ? old[i] : NULL));
        return k == K_TUPLE ? tc_tuple(c, l->n, l->a) : (V)l;
    }
    if (y->kind == TC_YAML_MAP) {
        dict *d = tc_dict(c), *old = k == K_DICT ? (dict *)like : NULL;
        for (int i = 0; i < y->n; i++) {
            int64_t number;
            V key = old && tc_train_keys_are_numbers(old) && tc_parse_i64(y->keys[i], &number) ? tc_int(c, number) : tc_strz(c, y->keys[i]);
            tc_dict_set(c, d, key, tc_train_read_value(c, y->items[i], old ? tc_dict_get(c, old, key) : NULL));
        }
        return (V)d;
    }
    int64_t i;
    double f;
    if (tc_yaml_is_null(y)) return c->none;
    if (k == K_TENSOR && tc_parse_double(y->text, &f)) return tc_train_like_number(c, f, like);
    if (k == K_FLOAT && tc_parse_double(y->text, &f)) return tc_float(c, f);
    if (y->quoted) return tc_strz(c, y->text);
    if (!strcmp(y->text, "true") || !strcmp(y->text, "false")) return tc_bool(c, *y->text == 't');
    if (tc_parse_i64(y->text, &i)) return tc_int(c, i);
    if (tc_parse_double(y->text, &f)) return tc_float(c, f);
    return tc_strz(c, y->text);
}
