/* Converts a pickle's values to tensors: the functions of torch._utils that rebuild them, as tables of arguments; then gives them names. */
#include "base/json_write.h"
#include "file/source.h"
#include "file/torch.h"

#include <math.h>

tc_status tc_saved_error(const tc_saved *t, tc_code code, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_status st = tc_error(code, "%s: %s%s%s", t->file, t->part ? t->part : "", t->part ? ": " : "", b.data);
    tc_buf_free(&b);
    return st;
}

void tc_saved_deinit(tc_saved *t) {
    tc_map_free(&t->names);
    for (size_t i = 0; i < t->storages.len; i++) tc_storage_release(t->storages.entries[i].value);
    tc_map_free(&t->storages);
}

tc_storage *tc_saved_wrap(tc_blob *b, size_t offset, size_t n) {
    tc_storage *s = tc_storage_wrap(n ? b->data + offset : NULL, n, tc_blob_deleter, tc_blob_retain(b));
    s->read_only = true;
    return s;
}

/* ---- storages ---- */
bool tc_saved_storage_type(const char *global, tc_saved_id *out) {
    static const struct {
        const char *name;
        tc_dtype dtype;
    } types[] = {{"DoubleStorage", TC_F64},
                 {"FloatStorage", TC_F32},
                 {"HalfStorage", TC_F16},
                 {"BFloat16Storage", TC_BF16},
                 {"LongStorage", TC_I64},
                 {"IntStorage", TC_I32},
                 {"ShortStorage", TC_I16},
                 {"CharStorage", TC_I8},
                 {"ByteStorage", TC_U8},
                 {"BoolStorage", TC_BOOL},
                 {"ComplexFloatStorage", TC_C64},
                 {"ComplexDoubleStorage", TC_C128},
                 {"ComplexHalfStorage", TC_C32},
                 {"UntypedStorage", TC_DTYPE_NONE},
                 {"_UntypedStorage", TC_DTYPE_NONE},
                 {"Float8_e4m3fnStorage", TC_F8E4M3},
                 {"Float8_e5m2Storage", TC_F8E5M2},
                 {"Float8_e4m3fnuzStorage", TC_F8E4M3FNUZ},
                 {"Float8_e5m2fnuzStorage", TC_F8E5M2FNUZ},
                 {"Float8_e8m0fnuStorage", TC_F8E8M0}};
    static const struct {
        const char *name, *what;
        tc_dtype bytes;
    } quantised[] = {{"QInt8Storage", "qint8", TC_I8},
                     {"QUInt8Storage", "quint8", TC_U8},
                     {"QInt32Storage", "qint32", TC_I32},
                     {"QUInt4x2Storage", "quint4x2", TC_U8},
                     {"QUInt2x4Storage", "quint2x4", TC_U8}};
    if (strncmp(global, "torch.", 6)) return false;
    const char *name = strrchr(global, '.') + 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name)) {
            out->dtype = types[i].dtype;
            return true;
        }
    for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++)
        if (!strcmp(quantised[i].name, name)) {
            out->dtype = quantised[i].bytes;
            out->type = quantised[i].what;
            return true;
        }
    return false;
}

tc_status tc_saved_id_of(tc_saved *t, const tc_pk *v, tc_saved_id *out) {
    const tc_pk *id = v && v->kind == TC_PK_PERSISTENT ? v->args
                      : t->plain_ids                   ? v
                                                       : NULL,
                *type = tc_pk_arg(id, 1), *key = tc_pk_arg(id, 2), *n = tc_pk_arg(id, 4);
    *out = (tc_saved_id){0};
    if (!id || !tc_pk_is(tc_pk_arg(id, 0), "storage") || !type || type->kind != TC_PK_GLOBAL || !key || !n)
        return tc_saved_error(t, TC_CONTENT, "a tensor whose storage is none");
    if (!tc_saved_storage_type(type->s, out)) return tc_saved_error(t, TC_UNSUPPORTED, "a storage of type %.100s", type->s);
    if (key->kind == TC_PK_INT) out->key = tc_arena_printf(&t->out->arena, "%lld", (long long)key->i);
    else if (key->kind == TC_PK_STRING && !memchr(key->s, 0, key->n)) out->key = tc_arena_strndup(&t->out->arena, key->s, key->n);
    else return tc_saved_error(t, TC_CONTENT, "a storage whose key is no text");
    if (!tc_pk_to_int(n, &out->numel) || out->numel < 0) return tc_saved_error(t, TC_CONTENT, "storage %s: a bad number of elements", out->key);
    return NULL;
}

/* An aligned copy of a storage; elements are byte-swapped if the file has the other byte order. */
static tc_status own_copy(const tc_saved *t, tc_dtype d, tc_storage **io) {
    tc_storage *c;
    TC_TRY(tc_storage_alloc((*io)->bytes, &c));
    if (c->bytes) memcpy(c->data, (*io)->data, c->bytes);
    if (t->swap) tc_swap_bytes(c->data, c->bytes, tc_is_complex(d) ? tc_dtype_size(d) / 2 : tc_dtype_size(d));
    tc_storage_release(*io);
    *io = c;
    return NULL;
}

/* The storage with that id as elements of type d; cached in t. */
static tc_status storage_of(tc_saved *t, const tc_saved_id *id, tc_dtype d, tc_storage **out) {
    size_t size = tc_dtype_size(d), unit = id->dtype == TC_DTYPE_NONE ? 1 : tc_dtype_size(id->dtype), bytes;
    tc_buf name = {0};
    tc_buf_printf(&name, "%s %s", id->key, t->swap || !t->out->raw ? tc_dtypes[d].name : "");
    void **slot = tc_map_put(&t->storages, name.data, name.len);
    tc_buf_free(&name);
    if (*slot) {
        *out = *slot;
        return NULL;
    }
    tc_storage *s = NULL;
    if (!tc_mul_size((size_t)id->numel, unit, &bytes)) return tc_saved_error(t, TC_CONTENT, "storage %s: its size overflows", id->key);
    TC_TRY(t->open(t, id, bytes, &s));
    tc_status st = NULL;
    if ((t->swap && size > 1) || (!t->out->raw && (uintptr_t)s->data % size)) st = own_copy(t, d, &s);
    if (!st && d == TC_BOOL && !t->out->raw) st = tc_storage_bools(&s);
    if (st) {
        tc_storage_release(s);
        return st;
    }
    *slot = s;
    *out = s;
    return NULL;
}

/* ---- tensors ---- */
static tc_status view_of(tc_saved *t, const tc_pk *storage, tc_dtype d, const tc_pk *offset, const tc_pk *size, const tc_pk *stride, tc_tensor *out) {
    tc_saved_id id;
    tc_storage *s = NULL;
    int64_t at, sizes[TC_MAX_RANK], strides[TC_MAX_RANK];
    int rank = 0, nstrides = 0;
    TC_TRY(tc_saved_id_of(t, storage, &id));
    if (d == TC_DTYPE_NONE) d = id.dtype == TC_DTYPE_NONE ? TC_U8 : id.dtype;
    if (!tc_pk_to_int(offset, &at) || at < 0) return tc_saved_error(t, TC_CONTENT, "storage %s: a tensor with a bad offset", id.key);
    if (!tc_pk_to_sizes(size, sizes, TC_MAX_RANK, &rank) || !tc_pk_to_sizes(stride, strides, TC_MAX_RANK, &nstrides) || rank != nstrides)
        return tc_saved_error(t, TC_CONTENT, "storage %s: a tensor with bad sizes or strides (at most %d dimensions)", id.key, TC_MAX_RANK);
    for (int i = 0; i < rank; i++)
        if (sizes[i] < 0 || strides[i] < 0) return tc_saved_error(t, TC_CONTENT, "storage %s: a tensor with a negative size or stride", id.key);
    TC_TRY(storage_of(t, &id, d, &s));
    tc_status st = tc_tensor_view(s, d, rank, sizes, strides, at, out);
    return st ? tc_annotate(st, "%s: storage %s", t->file, id.key) : NULL;
}

/* torch.float32 and the like. */
static tc_dtype dtype_of(const tc_pk *v) {
    if (!v || v->kind != TC_PK_GLOBAL || strncmp(v->s, "torch.", 6)) return TC_DTYPE_NONE;
    return tc_dtype_parse(v->s, strlen(v->s));
}

static void flip(char *p, size_t size) { p[size - 1] = (char)(p[size - 1] ^ 0x80); } /* flips the sign of a little-endian float */

/* Applies the conjugate and negative bits of a tensor, PyTorch's lazy conjugation and negation. */
static tc_status apply_bits(const tc_pk *bits, tc_tensor *io) {
    const tc_pk *conj = tc_pk_get(bits, "conj"), *neg = tc_pk_get(bits, "neg");
    bool c = conj && conj->kind == TC_PK_BOOL && conj->b && tc_is_complex(io->dtype), n = neg && neg->kind == TC_PK_BOOL && neg->b;
    if ((!c && !n) || tc_is_integral(io->dtype)) return NULL;
    tc_tensor done;
    TC_TRY(tc_tensor_clone(io, &done));
    size_t part = tc_dtype_size(io->dtype) / (tc_is_complex(io->dtype) ? 2 : 1), parts = tc_tensor_bytes(&done) / part;
    char *p = tc_tensor_data(&done);
    for (size_t i = 0; i < parts; i++) {
        if (n) flip(p + i * part, part);
        if (c && i % 2) flip(p + i * part, part);
    }
    tc_tensor_deinit(io);
    *io = done;
    return NULL;
}

static tc_status rebuild(tc_saved *t, const tc_pk *v, const char *function, tc_tensor *out, const char **out_what, int depth);

/* func(*args) for a function of torch._utils; *out_is is false if the function does not make a tensor. */
static tc_status call(tc_saved *t, const char *function, const tc_pk *args, bool *out_is, tc_tensor *out, const char **out_what, int depth) {
    static const struct {
        const char *name, *what;
    } others[] = {{"torch._utils._rebuild_qtensor", "a quantised tensor"},
                  {"torch._utils._rebuild_sparse_tensor", "a sparse tensor"},
                  {"torch._utils._rebuild_sparse_csr_tensor", "a sparse tensor"},
                  {"torch._utils._rebuild_nested_tensor", "a nested tensor"},
                  {"torch._utils._rebuild_wrapper_subclass", "a tensor of a subclass"},
                  {"torch._utils._rebuild_meta_tensor_no_storage", "a tensor without data (meta)"},
                  {"torch._utils._rebuild_device_tensor_from_numpy", "a tensor kept as a NumPy array"},
                  {"torch._utils._rebuild_device_tensor_from_cpu_tensor", "a tensor of another device"}};
    const char *name = strrchr(function, '.') + 1;
    *out_is = true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(others[i].name, function)) {
            *out_what = others[i].what;
            return NULL;
        }
    if (strncmp(function, "torch._utils.", 13) && strncmp(function, "torch._tensor.", 14)) {
        *out_is = false;
        return NULL;
    }
    return rebuild(t, args, name, out, out_what, depth);
}

static tc_status rebuild_any(tc_saved *t, const tc_pk *v, tc_tensor *out, const char **out_what, int depth) {
    bool is = false;
    if (depth > 8) return tc_saved_error(t, TC_CONTENT, "a tensor wrapped too often");
    if (v && v->kind == TC_PK_OBJECT && v->callable->kind == TC_PK_GLOBAL) TC_TRY(call(t, v->callable->s, v, &is, out, out_what, depth));
    return is ? NULL : tc_saved_error(t, TC_CONTENT, "a parameter that holds no tensor");
}

static tc_status rebuild(tc_saved *t, const tc_pk *v, const char *function, tc_tensor *out, const char **out_what, int depth) {
    tc_dtype d = TC_DTYPE_NONE;
    if (!strcmp(function, "_rebuild_parameter") || !strcmp(function, "_rebuild_parameter_with_state"))
        return rebuild_any(t, tc_pk_arg(v, 0), out, out_what, depth + 1);
    if (!strcmp(function, "_rebuild_from_type_v2") || !strcmp(function, "_rebuild_from_type")) { /* (function, subclass, its arguments, state) */
        const tc_pk *f = tc_pk_arg(v, 0);
        bool is = false;
        if (depth > 8) return tc_saved_error(t, TC_CONTENT, "a tensor wrapped too often");
        if (f && f->kind == TC_PK_GLOBAL && tc_pk_arg(v, 2)) TC_TRY(call(t, f->s, tc_pk_arg(v, 2), &is, out, out_what, depth + 1));
        if (!is) *out_what = "a tensor of a subclass";
        return NULL;
    }
    bool v3 = !strcmp(function, "_rebuild_tensor_v3");
    if (!v3 && strcmp(function, "_rebuild_tensor") && strcmp(function, "_rebuild_tensor_v2"))
        return tc_saved_error(t, TC_UNSUPPORTED, "a tensor made by %.100s", function);
    if (v3 && (d = dtype_of(tc_pk_arg(v, 6))) == TC_DTYPE_NONE) {
        const tc_pk *type = tc_pk_arg(v, 6);
        *out_what =
            type && type->kind == TC_PK_GLOBAL ? tc_arena_printf(&t->out->arena, "a tensor of type %.60s", type->s) : "a tensor of unknown type";
        return NULL;
    }
    tc_saved_id id;
    TC_TRY(tc_saved_id_of(t, tc_pk_arg(v, 0), &id));
    if (id.type) {
        *out_what = tc_arena_printf(&t->out->arena, "a quantised tensor (%s)", id.type);
        return NULL;
    }
    TC_TRY(view_of(t, tc_pk_arg(v, 0), d, tc_pk_arg(v, 1), tc_pk_arg(v, 2), tc_pk_arg(v, 3), out));
    tc_status st = apply_bits(tc_pk_arg(v, v3 ? 7 : 6), out);
    if (st) tc_tensor_deinit(out);
    return st;
}

/* Is v a tensor (NULL with *out_is), and which? *out_what names a kind that is left out. */
static tc_status read_tensor(tc_saved *t, const tc_pk *v, bool *out_is, tc_tensor *out, const char **out_what) {
    *out_is = false;
    *out_what = NULL;
    if (v->kind == TC_PK_PERSISTENT && t->persistent) {
        *out_is = true;
        return t->persistent(t, v->args, out);
    }
    if (v->kind != TC_PK_OBJECT || v->callable->kind != TC_PK_GLOBAL || !strchr(v->callable->s, '.')) return NULL;
    return call(t, v->callable->s, v, out_is, out, out_what, 0);
}

/* ---- names ---- */
enum { MAX_DEPTH = 200, MAX_VISITS = 1000000, MAX_TEXT = 64 << 20 };

typedef struct {
    tc_saved *t;
    tc_buf name;
    size_t container;
    bool opaque;
    const tc_pk *within[MAX_DEPTH + 1]; /* by depth: the containers being visited */
} walker;

static tc_status walk(walker *w, const tc_pk *v, int depth);

static bool plain(const tc_pk *v) { return v->kind < TC_PK_LIST || v->kind == TC_PK_GLOBAL; }

/* A list without containers is one value, as in torch.distributed.checkpoint. */
static bool all_plain(const tc_pk *v) {
    for (uint32_t i = 0; i < v->len; i++)
        if (!plain(v->items[i])) return false;
    return true;
}

static void put_json(tc_json *w, const tc_pk *v) {
    tc_buf text = {0};
    switch (v->kind) {
    case TC_PK_NONE: tc_json_null(w); break;
    case TC_PK_BOOL: tc_json_bool(w, v->b); break;
    case TC_PK_INT: tc_json_int(w, v->i); break;
    case TC_PK_FLOAT:
        if (isfinite(v->f)) tc_json_double(w, v->f);
        else tc_json_string(w, isnan(v->f) ? "NaN" : v->f > 0 ? "Infinity" : "-Infinity");
        break;
    case TC_PK_STRING: tc_json_stringn(w, v->s, v->n); break;
    case TC_PK_LIST:
    case TC_PK_TUPLE:
    case TC_PK_SET:
        tc_json_array(w);
        for (uint32_t i = 0; i < v->len && w->b->len <= MAX_TEXT; i++) put_json(w, v->items[i]);
        tc_json_end(w);
        break;
    case TC_PK_DICT:
        tc_json_object(w);
        tc_json_end(w);
        break;
    default:
        tc_pk_print(&text, v, 200);
        tc_json_string(w, tc_buf_str(&text));
        tc_buf_free(&text);
    }
}

static tc_status too_long(const walker *w) { return tc_saved_error(w->t, TC_CONTENT, "more than %d MiB of names and values", MAX_TEXT >> 20); }

static tc_status put_value(walker *w, const tc_pk *v) {
    tc_buf b = {0};
    tc_json j = {.b = &b};
    put_json(&j, v);
    tc_status st = b.len > MAX_TEXT ? too_long(w) : NULL;
    if (!st) tc_tensors_add_value(w->t->out, tc_buf_str(&w->name), tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

/* A reference to an enclosing container, that many levels up. */
static tc_status put_within(walker *w, int levels) {
    char text[40];
    snprintf(text, sizeof text, "\"itself, %d level%s up\"", levels, levels > 1 ? "s" : "");
    tc_tensors_add_value(w->t->out, tc_buf_str(&w->name), text);
    return NULL;
}

static tc_status put_tensor(walker *w, tc_tensor tensor, const char *what) {
    const char *name = w->name.len ? w->name.data : "tensor";
    if (what) {
        tc_tensors_leave_out(w->t->out, name, what);
        return NULL;
    }
    TC_TRY(tc_tensors_add(w->t->out, name, tensor), "%s", w->t->file);
    tc_named *n = &w->t->out->items.data[w->t->out->items.len - 1];
    n->container = w->container < strlen(name) ? w->container : 0;
    n->opaque = w->opaque;
    return NULL;
}

/* Visits a child named `key`, or by its number if key is NULL. */
static tc_status enter(walker *w, const tc_pk *key, size_t number, const tc_pk *child, int depth) {
    size_t was = w->name.len, container = w->container;
    if (was) tc_buf_putc(&w->name, '.');
    w->container = w->name.len;
    if (!key) tc_buf_printf(&w->name, "%zu", number);
    else if (key->kind == TC_PK_STRING) tc_buf_append(&w->name, key->s, key->n);
    else if (key->kind == TC_PK_NONE) tc_buf_puts(&w->name, "None"); /* as Python's str */
    else if (key->kind == TC_PK_BOOL) tc_buf_puts(&w->name, key->b ? "True" : "False");
    else tc_pk_print(&w->name, key, 200);
    tc_buf_puts(&w->name, "");
    tc_status st = NULL;
    if (w->name.len > 65536) st = tc_saved_error(w->t, TC_CONTENT, "names that nest beyond 65536 bytes");
    else if (key && key->kind == TC_PK_STRING && memchr(key->s, 0, key->n))
        st = tc_saved_error(w->t, TC_CONTENT, "a key with NUL in it, in %s", w->name.data);
    if (!st) st = walk(w, child, depth + 1);
    w->name.len = was;
    if (w->name.data) w->name.data[was] = 0;
    w->container = container;
    return st;
}

static tc_status walk_dict(walker *w, const tc_pk *v, int depth) {
    for (uint32_t i = 0; i + 1 < v->len; i += 2) TC_TRY(enter(w, v->items[i], 0, v->items[i + 1], depth));
    return NULL;
}

static tc_status walk_list(walker *w, const tc_pk *v, int depth) {
    for (uint32_t i = 0; i < v->len; i++) TC_TRY(enter(w, NULL, i, v->items[i], depth));
    return NULL;
}

/* A pickled module: parameters, buffers and children under their state_dict names. */
static tc_status walk_module(walker *w, const tc_pk *v, int depth) {
    static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
    for (int i = 0; i < 3; i++) {
        const tc_pk *part = tc_pk_get(v, parts[i]);
        if (part && part->kind == TC_PK_DICT)
            for (uint32_t k = 0; k + 1 < part->len; k += 2)
                if (part->items[k + 1]->kind != TC_PK_NONE) TC_TRY(enter(w, part->items[k], 0, part->items[k + 1], depth));
    }
    return NULL;
}

/* numpy.core.multiarray._reconstruct, in NumPy 2 numpy._core.multiarray._reconstruct */
static bool is_array(const tc_pk *v) {
    const char *made_by = v->callable->kind == TC_PK_GLOBAL ? v->callable->s : "", *last = strrchr(made_by, '.');
    return last && !strcmp(last, "._reconstruct") && !strncmp(made_by, "numpy.", 6);
}

static tc_status walk_object(walker *w, const tc_pk *v, int depth) {
    if (is_array(v)) tc_vec_push(&w->t->out->arrays, tc_arena_strdup(&w->t->out->arena, tc_buf_str(&w->name)));
    bool opaque = w->opaque;
    const tc_pk *state = v->state && v->state->kind == TC_PK_TUPLE ? tc_pk_arg(v->state, 0) : v->state;
    size_t before = w->t->out->items.len, values = w->t->out->values.len;
    w->opaque = true;
    if (tc_pk_get(v, "_parameters") && tc_pk_get(v, "_modules")) {
        TC_TRY(walk_module(w, v, depth));
    } else {
        if (state && state->kind == TC_PK_DICT) TC_TRY(walk_dict(w, state, depth));
        if (v->more) TC_TRY(walk_list(w, &v->more->list, depth));
        if (v->more) TC_TRY(walk_dict(w, &v->more->dict, depth));
        for (uint32_t i = 0; i < v->arguments->len; i++) /* an array, a dataclass by position, ... */
            if (!plain(v->arguments->items[i]) && v->arguments->items[i]->kind != TC_PK_PERSISTENT)
                TC_TRY(enter(w, NULL, i, v->arguments->items[i], depth));
    }
    w->opaque = opaque;
    return before == w->t->out->items.len && values == w->t->out->values.len ? put_value(w, v) : NULL;
}

static tc_status walk(walker *w, const tc_pk *v, int depth) {
    tc_tensor tensor = {0};
    const char *what;
    bool is;
    if (depth > MAX_DEPTH) return tc_saved_error(w->t, TC_CONTENT, "nests deeper than %d", MAX_DEPTH);
    if (++w->t->visits > MAX_VISITS) return tc_saved_error(w->t, TC_CONTENT, "more than %d values", MAX_VISITS);
    if (w->t->out->arena.used > MAX_TEXT) return too_long(w);
    TC_TRY(read_tensor(w->t, v, &is, &tensor, &what), "%s", w->name.len ? w->name.data : "tensor");
    if (is) {
        TC_TRY(put_tensor(w, tensor, what));
        void **name = w->t->out->keep_tree ? tc_map_put(&w->t->names, (const char *)&v, sizeof v) : NULL;
        if (name && !*name) *name = (void *)(uintptr_t)(what ? "" : w->t->out->items.data[w->t->out->items.len - 1].name);
        return NULL;
    }
    for (int i = 0; i < depth && !plain(v); i++)
        if (w->within[i] == v) return put_within(w, depth - i);
    w->within[depth] = v;
    switch (v->kind) {
    case TC_PK_DICT:
        if (!v->len) break;
        return walk_dict(w, v, depth);
    case TC_PK_LIST:
    case TC_PK_TUPLE:
    case TC_PK_SET:
        if (all_plain(v)) break;
        return walk_list(w, v, depth);
    case TC_PK_OBJECT: return walk_object(w, v, depth);
    default: break;
    }
    return put_value(w, v);
}

tc_status tc_saved_flatten(tc_saved *t, const tc_pk *root) {
    walker w = {.t = t};
    if (t->prefix) tc_buf_puts(&w.name, t->prefix);
    tc_status st = walk(&w, root, 0);
    if (!st && t->out->keep_tree && !t->out->tree) st = tc_saved_tree(t, root, &t->out->tree);
    tc_buf_free(&w.name);
    return st;
}
