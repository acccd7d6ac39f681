/* Kernels that order rows or write by index, as C: writes their arguments as the structures of ckernels_index.h. */
#include "runtime/to_c_write.h"

static int wrapped(int64_t d, int rank) { return rank ? (int)(d < 0 ? d + rank : d) : 0; }

/* A tc_c_type in braces: size, kind, and the bits of infinity (1 for bool, whose elements are 0 or 1). */
static tc_status type_text(writer *w, tc_dtype d, const char **out) {
    static const struct {
        tc_dtype d;
        const char *kind, *infinity;
    } floats[] = {{TC_F32, "TC_C_F32", "0x7f800000u"},
                  {TC_F64, "TC_C_F64", "0x7ff0000000000000u"},
                  {TC_F16, "TC_C_F16", "0x7c00u"},
                  {TC_BF16, "TC_C_BF16", "0x7f80u"}};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (floats[i].d == d) *out = TC_TEXT(w, "{%zu, %s, %s}", tc_dtype_size(d), floats[i].kind, floats[i].infinity);
    if (tc_is_integral(d))
        *out = TC_TEXT(w, "{%zu, %s, %d}", tc_dtype_size(d), tc_dtypes[d].is_signed ? "TC_C_SIGNED" : "TC_C_UNSIGNED", d == TC_BOOL);
    else if (d != TC_F32 && d != TC_F64 && d != TC_F16 && d != TC_BF16)
        return tc_error(TC_UNSUPPORTED, "an operator on rows of %s as C", tc_dtypes[d].torch);
    return NULL;
}

/* sorted_sequence, self, out_int32, right, side, sorter */
static tc_status write_search(writer *w, const call *c) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args, .nargs = c->group->node->nargs};
    to_c_operand rows, values, sorter = {NULL, "NULL"};
    const char *type, *result, *sorted = "{8, TC_C_SIGNED, 0}", *out;
    TC_TRY(to_c_argument(w, k, 0, &rows));
    TC_TRY(to_c_argument(w, k, 1, &values));
    if (kc.nargs > 5) TC_TRY(to_c_argument(w, k, 5, &sorter));
    TC_TRY(to_c_address(w, k->out_id[0], &out));
    bool right = tc_k_bool(&kc, 3) || (kc.nargs > 4 && tc_k_given(&kc, 4) && !strcmp(k->args[4].string, "right"));
    if (rows.t->dtype != values.t->dtype) return tc_error(TC_UNSUPPORTED, "searchsorted of two element types as C");
    TC_TRY(type_text(w, rows.t->dtype, &type));
    TC_TRY(type_text(w, k->outs[0].dtype, &result));
    if (sorter.t) TC_TRY(type_text(w, sorter.t->dtype, &sorted));
    int64_t total = tc_tensor_numel(values.t), n = rows.t->size[rows.t->rank - 1],
            per = rows.t->rank == 1 ? total : values.t->size[values.t->rank - 1];
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_search c = {%s, %s, %s, %lld, %lld, %lld, %d};\n", type, sorted, result, (long long)n,
                  (long long)(per ? per : 1), (long long)total, right);
    tc_buf_printf(&w->calls, "        if (tc_c_searchsorted(&c, %s, %s, %s, %s)) return 1;\n    }\n", rows.at, values.at, sorter.at, out);
    return NULL;
}

tc_status to_c_rows(writer *w, const call *c, const char *kind) {
    static const struct {
        const char *name, *pick;
        int dim, k, descending; /* arguments; -1: none */
    } forms[] = {{"sort", "TC_C_FIRST", 2, -1, 3},   {"topk", "TC_C_TOP", 2, 1, 3},        {"first", "TC_C_FIRST", 2, 1, 3},
                 {"kthvalue", "TC_C_KTH", 2, 1, -1}, {"median", "TC_C_MEDIAN", 1, -1, -1}, {"nanmedian", "TC_C_NANMEDIAN", 1, -1, -1},
                 {"mode", "TC_C_MODE", 1, -1, -1}};
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args};
    to_c_operand in;
    const char *type, *values, *indices;
    size_t f = 0, used = 0;
    if (!strcmp(kind, "searchsorted")) return write_search(w, c);
    while (strcmp(forms[f].name, kind)) f++;
    TC_TRY(to_c_argument(w, k, 0, &in));
    TC_TRY(to_c_address(w, k->out_id[0], &values));
    TC_TRY(to_c_address(w, k->out_id[1], &indices));
    TC_TRY(type_text(w, in.t->dtype, &type));
    int dim = wrapped(tc_k_int(&kc, forms[f].dim), in.t->rank);
    int64_t n = in.t->rank ? in.t->size[dim] : 1, stride = 1;
    for (int d = dim + 1; d < in.t->rank; d++) stride *= in.t->size[d];
    int64_t rows = n ? tc_tensor_numel(in.t) / n : 0;
    if (!rows) return NULL;
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_rows c = {%s, %lld, %lld, %lld, %lld, %d, %s};\n", type, (long long)rows, (long long)n,
                  (long long)stride, (long long)(forms[f].k < 0 ? n : tc_k_int(&kc, forms[f].k)),
                  forms[f].descending >= 0 && tc_k_bool(&kc, forms[f].descending),
                  !strcmp(kind, "topk") && !tc_k_bool(&kc, 4) ? "TC_C_UNSORTED" : forms[f].pick);
    tc_buf_printf(&w->calls, "        tc_c_order_rows(&c, %s, %s, (int64_t *)(%s), %s);\n    }\n", in.at, values, indices,
                  to_c_scratch(w, &used, (size_t)n * 32));
    return NULL;
}

/* ---- writing by index ---- */
enum { MAX = 16 };
/* The members of tc_c_scatter (ckernels_index.h). */
typedef struct {
    const char *mode;
    bool include_self, wraps;
    int nindex, rank, free_rank;
    int64_t size[2 * MAX], dest[2 * MAX], from[2 * MAX], number[2 * MAX]; /* the space of sources */
    int64_t limit[MAX], reach[MAX], index[MAX][2 * MAX];
    int64_t free_size[MAX], free_out[MAX], free_value[MAX];
    double alpha;
    const char *value, *index_at[MAX];
    tc_dtype index_type;
} plan;

static tc_status mode_of(const char *name, const char **out) {
    static const char *const names[][2] = {{"sum", "TC_C_SUM"},   {"add", "TC_C_SUM"},   {"prod", "TC_C_PROD"}, {"multiply", "TC_C_PROD"},
                                           {"mean", "TC_C_MEAN"}, {"amax", "TC_C_AMAX"}, {"amin", "TC_C_AMIN"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], name)) return *out = names[i][1], NULL;
    return tc_error(TC_UNSUPPORTED, "the reduction '%s' as C", name);
}

static void add_index(plan *p, const to_c_operand *x, int64_t limit, int64_t reach) {
    p->limit[p->nindex] = limit, p->reach[p->nindex] = reach;
    p->index_type = x->t->dtype;
    p->index_at[p->nindex++] = x->at;
}

/* index_add, index_copy, index_reduce: self, dim, index, source */
static tc_status plan_by_dim(writer *w, const kernel_call *k, plan *p) {
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *out = &k->outs[0];
    to_c_operand index, source;
    TC_TRY(to_c_argument(w, k, 2, &index));
    TC_TRY(to_c_argument(w, k, 3, &source));
    int dim = wrapped(tc_k_int(&kc, 1), out->rank);
    bool whole = source.t->rank == out->rank;
    p->rank = 1, p->size[0] = tc_tensor_numel(index.t), p->number[0] = 1;
    p->from[0] = source.t->rank ? source.t->stride[dim] : 0;
    add_index(p, &index, out->rank ? out->size[dim] : 1, out->rank ? out->stride[dim] : 0);
    p->index[0][0] = index.t->rank ? index.t->stride[0] : 0;
    for (int d = 0; d < out->rank; d++) {
        if (d == dim) continue;
        p->free_size[p->free_rank] = out->size[d], p->free_out[p->free_rank] = out->stride[d];
        p->free_value[p->free_rank++] = whole ? source.t->stride[d] : 0;
    }
    p->value = source.at;
    return NULL;
}

/* scatter, scatter_add, scatter_reduce: self, dim, index, src or value. The number of a source counts along dim alone. */
static tc_status plan_columns(writer *w, const kernel_call *k, plan *p) {
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *out = &k->outs[0];
    to_c_operand index, source;
    TC_TRY(to_c_argument(w, k, 2, &index));
    TC_TRY(to_c_argument(w, k, 3, &source));
    int dim = wrapped(tc_k_int(&kc, 1), out->rank);
    p->rank = index.t->rank;
    add_index(p, &index, out->rank ? out->size[dim] : 1, out->rank ? out->stride[dim] : 0);
    for (int d = 0; d < p->rank; d++) {
        p->size[d] = index.t->size[d], p->index[0][d] = index.t->stride[d];
        p->from[d] = source.t && source.t->rank ? source.t->stride[d] : 0;
        p->dest[d] = d == dim || !out->rank ? 0 : out->stride[d];
        p->number[d] = d == dim;
    }
    p->value = source.at;
    if (source.t) return NULL;
    char bytes[16];
    tc_buf text = {0};
    tc_scalar_store(out->dtype, bytes, 0, k->args[3].num);
    for (size_t i = 0; i < tc_dtype_size(out->dtype); i++) tc_buf_printf(&text, "\\x%02x", (unsigned char)bytes[i]);
    p->value = TC_TEXT(w, "\"%s\"", tc_buf_str(&text));
    tc_buf_free(&text);
    return NULL;
}

/* put: self, index, source, accumulate; indices into the flattened tensor */
static tc_status plan_put(writer *w, const kernel_call *k, plan *p) {
    to_c_operand index, source;
    TC_TRY(to_c_argument(w, k, 1, &index));
    TC_TRY(to_c_argument(w, k, 2, &source));
    p->rank = 1, p->size[0] = tc_tensor_numel(index.t), p->number[0] = p->from[0] = 1, p->wraps = true;
    add_index(p, &index, tc_tensor_numel(&k->outs[0]), 1);
    p->index[0][0] = 1;
    p->value = source.at;
    return NULL;
}

/* index_put: self, indices, values, accumulate. The indices are broadcast together. The other dimensions are free: first those before the position of the
 * broadcast dimensions in the indexed result, then those after it. */
static tc_status plan_index_put(writer *w, const kernel_call *k, plan *p) {
    const tc_tensor *out = &k->outs[0];
    const tc_karg *x = &k->args[1];
    to_c_operand values;
    int others[MAX], indexed[MAX], nothers = 0, n = 0;
    TC_TRY(to_c_argument(w, k, 2, &values));
    for (int d = 0; d < out->rank; d++) {
        const tc_tensor *t = d < x->n ? x->tensors[d] : NULL;
        if (!t) {
            others[nothers++] = d;
            continue;
        }
        if (n && t->dtype != x->tensors[indexed[0]]->dtype) return tc_error(TC_UNSUPPORTED, "index_put with indices of two types as C");
        indexed[n++] = d;
        if (t->rank > p->rank) p->rank = t->rank;
    }
    for (int b = 0; b < p->rank; b++) p->size[b] = 1;
    for (int i = 0; i < n; i++) {
        const tc_tensor *t = x->tensors[indexed[i]];
        to_c_operand o = {t, NULL};
        TC_TRY(to_c_address(w, (int)(t - w->b->t), &o.at));
        add_index(p, &o, out->size[indexed[i]], out->stride[indexed[i]]);
        for (int d = 0; d < t->rank; d++) {
            if (t->size[d] == 1) continue;
            p->size[d + p->rank - t->rank] = t->size[d];
            p->index[i][d + p->rank - t->rank] = t->stride[d];
        }
    }
    int64_t step = 1, vstride[2 * MAX] = {0};
    int total = nothers + p->rank, at = n && indexed[n - 1] - indexed[0] == n - 1 ? indexed[0] : 0;
    for (int d = 0; d < values.t->rank && d < total; d++) {
        const int own = values.t->rank - 1 - d;
        vstride[total - 1 - d] = values.t->size[own] == 1 ? 0 : values.t->stride[own];
    }
    for (int b = p->rank - 1; b >= 0; step *= p->size[b--]) p->number[b] = step, p->from[b] = vstride[at + b];
    for (int d = 0; d < nothers; d++) {
        p->free_size[d] = out->size[others[d]], p->free_out[d] = out->stride[others[d]];
        p->free_value[d] = vstride[d < at ? d : d + p->rank];
    }
    p->free_rank = nothers, p->wraps = true, p->value = values.at;
    return NULL;
}

static tc_status make_plan(writer *w, const call *c, const char *kind, plan *p) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args, .nargs = c->group->node->nargs};
    *p = (plan){.mode = "TC_C_SET", .include_self = true, .alpha = 1};
    if (!strncmp(kind, "index_", 6) && strcmp(kind, "index_put")) {
        if (!strcmp(kind, "index_add")) p->mode = "TC_C_SUM", p->alpha = tc_k_float(&kc, 4);
        if (!strcmp(kind, "index_reduce")) {
            TC_TRY(mode_of(k->args[4].string, &p->mode));
            p->include_self = tc_k_bool(&kc, 5);
        }
        return plan_by_dim(w, k, p);
    }
    if (!strcmp(kind, "put") || !strcmp(kind, "index_put")) {
        if (tc_k_bool(&kc, 3)) p->mode = "TC_C_SUM";
        return *kind == 'p' ? plan_put(w, k, p) : plan_index_put(w, k, p);
    }
    if (!strcmp(kind, "scatter_add")) p->mode = "TC_C_SUM";
    if (!strcmp(kind, "scatter_reduce")) {
        TC_TRY(mode_of(k->args[4].string, &p->mode));
        p->include_self = kc.nargs > 5 ? tc_k_bool(&kc, 5) : true;
    }
    return plan_columns(w, k, p);
}

static void field(writer *w, const char *name, const int64_t *v, int n) {
    if (n) tc_buf_printf(&w->calls, ".%s = {%s}, ", name, to_c_list(w, v, n));
}

tc_status to_c_scatter(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_tensor *out = &k->outs[0];
    const char *to, *type, *index_type;
    to_c_operand self;
    plan p;
    int64_t sources = 1, free_count = 1;
    size_t used = 0;
    TC_TRY(to_c_argument(w, k, 0, &self));
    TC_TRY(to_c_address(w, k->out_id[0], &to));
    TC_TRY(make_plan(w, c, kind, &p));
    TC_TRY(type_text(w, out->dtype, &type));
    for (int d = 0; d < p.rank; d++) sources *= p.size[d];
    for (int d = 0; d < p.free_rank; d++) free_count *= p.free_size[d];
    if (p.rank > MAX) return tc_error(TC_UNSUPPORTED, "%s with more than %d dimensions as C", kind, MAX);
    if (strcmp(to, self.at)) tc_buf_printf(&w->calls, "    tc_c_bytes(%s, %s, %zu);\n", to, self.at, tc_tensor_bytes(out));
    if (!sources || !free_count) return NULL;
    TC_TRY(type_text(w, p.index_type, &index_type));
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_scatter c = {%s, %s, %s, %d, %d, %d, %d, %d, %lld, %lld, ", type, index_type, p.mode,
                  p.include_self, p.wraps, p.nindex, p.rank, p.free_rank, (long long)sources, (long long)free_count);
    field(w, "size", p.size, p.rank), field(w, "dest", p.dest, p.rank), field(w, "from", p.from, p.rank), field(w, "number", p.number, p.rank);
    field(w, "limit", p.limit, p.nindex), field(w, "reach", p.reach, p.nindex);
    for (int i = 0; i < p.nindex && p.rank; i++) tc_buf_printf(&w->calls, ".index[%d] = {%s}, ", i, to_c_list(w, p.index[i], p.rank));
    field(w, "free_size", p.free_size, p.free_rank), field(w, "free_out", p.free_out, p.free_rank), field(w, "free_value", p.free_value, p.free_rank);
    tc_buf_printf(&w->calls, ".alpha = %a};\n        const void *const index[] = {", p.alpha);
    for (int i = 0; i < p.nindex; i++) tc_buf_printf(&w->calls, "%s, ", p.index_at[i]);
    tc_buf_printf(&w->calls, "NULL};\n        if (tc_c_scatter_run(&c, %s, %s, index, %s)) return 1;\n    }\n", to, p.value,
                  to_c_scratch(w, &used, (size_t)sources * 48));
    return NULL;
}
