/* Weight-only quantisation (quantize.h). Nodes that compute the quantised weight are inserted before its product and folded at once (small weights in
 * batches), so that at most one large weight is held in float32. */
#include "pass/quantize.h"

#include "op/emit.h"
#include "pass/dce.h"
#include "pass/fold.h"
#include "pass/freeze.h"

#include <stdint.h>
#include <string.h>

#define ATEN(op, fmt, ...) tc_emit_call(e, "aten::" op, fmt, __VA_ARGS__)

enum { LEAST_N = 16, LEAST_K = 32 }; /* smaller weights gain nothing */

#define WAITING ((int64_t)64 << 20) /* float32 bytes of weights that are folded in one batch */

/* A quantised weight (of a matrix or of its transpose), found through the first product that uses it, whose node reads levels and scales (and zeros). */
typedef struct {
    const tc_value *of;
    bool rows;
    tc_value *mm;
} small;
typedef struct {
    tc_program *p;
    const tc_eval *eval;
    const tc_quantize_options *o;
    bool *constant;     /* by value id */
    bool *inside;       /* by value id: a quantised weight depends on it */
    int *input;         /* by value id: index of the program input, or -1 */
    size_t n;           /* of them */
    const char **why;   /* by input: why the weight is not quantised; "": it is */
    tc_rewrite rewrite; /* results of products */
    TC_VEC(small) made;
    int64_t waiting;   /* float32 bytes not folded yet */
    uint32_t unfolded; /* first value id that is not folded yet */
    int products;
} quantiser;

/* ---- finding products with a weight ---- */
typedef struct {
    const char *name;
    int x, w, bias;
    bool rows; /* the weight is [N, K], else [K, N] */
} product;
static const product products[] = {{"aten.linear.default", 0, 1, 2, true},
                                   {"aten.addmm.default", 1, 2, 0, false},
                                   {"aten.mm.default", 0, 1, -1, false},
                                   {"aten.matmul.default", 0, 1, -1, false}};
static const product *product_of(const tc_node *n) {
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (!strcmp(products[i].name, tc_op_name(n->op))) return &products[i];
    return NULL;
}

static tc_value *tensor_arg(const tc_node *n, int i) {
    tc_value *v = i < 0 || i >= n->nargs ? NULL : tc_arg_value(n, i);
    return v && v->kind == TC_V_TENSOR ? v : NULL;
}
static bool is_constant(const quantiser *q, const tc_value *v) { return v && v->id < q->n && q->constant[v->id]; }
/* The index of the input that v is, or is a view of; -1: none. */
static int input_of(const quantiser *q, const tc_value *v) {
    while (v && v->producer && tc_op_schema(v->producer->op)->is_view) v = tensor_arg(v->producer, 0);
    return v && v->id < q->n ? q->input[v->id] : -1;
}
static void list_inputs(quantiser *q) {
    for (size_t i = 0; i < q->n; i++) q->input[i] = -1;
    for (int i = q->p->ninputs; i-- > 0;) {
        const tc_input *in = &q->p->inputs[i];
        if (in->value) q->input[in->value->id] = in->alias_of >= 0 ? in->alias_of : i;
    }
}
static bool fixed_sizes(const tc_value *w, int64_t size[2]) {
    return w->meta.rank == 2 && tc_sym_const_int(w->meta.size[0], &size[0]) && tc_sym_const_int(w->meta.size[1], &size[1]);
}
static bool factor_is_one(const tc_node *n, int i) { return i >= n->nargs || (!n->args[i].is_sym && tc_arg_float(n, i) == 1); }

/* Why the weight of product n cannot be quantised; NULL: it can. *out_group: group size for four bits. */
static const char *refusal(const quantiser *q, const tc_node *n, const product *p, int64_t *out_group) {
    const tc_value *x = tensor_arg(n, p->x), *w = tensor_arg(n, p->w);
    int64_t size[2], group = q->o->group;
    if (!x || x->meta.rank < 1 || !fixed_sizes(w, size)) return "it has not two dimensions of fixed sizes";
    const tc_dtype d = w->meta.dtype;
    if ((d != TC_F32 && d != TC_BF16 && d != TC_F16) || x->meta.dtype != d) return "its type is not float32, bfloat16 or float16";
    if (!strcmp(p->name, "aten.addmm.default") && !(factor_is_one(n, 3) && factor_is_one(n, 4))) return "its product is scaled";
    const int64_t rows = size[p->rows ? 0 : 1], k = size[p->rows ? 1 : 0];
    if (rows < LEAST_N || k < LEAST_K) return "it is smaller than 16 x 32";
    if (q->o->bits == 8) return NULL;
    for (int64_t g = 128; !group && g >= 32; g /= 2)
        if (k % g == 0) group = g;
    *out_group = group;
    return group && k % group == 0 ? NULL : "its columns are no whole groups";
}

/* ---- quantising a weight ---- */
/* x rounded to dtype d and back to float32, with scales of 0 replaced. */
static tc_value *as_stored(tc_emit *e, tc_value *x, tc_dtype d) { return tc_e_cast(e, tc_e_cast(e, x, d), TC_F32); }
static tc_value *as_scale(tc_emit *e, tc_value *x, tc_dtype d) {
    return ATEN("clamp_min", "vz", as_stored(e, x, d), tc_scalar_float(d == TC_F16 ? 0x1p-24 : 0x1p-126));
}
static tc_value *nearest(tc_emit *e, tc_value *x, int lo, int hi) { return ATEN("clamp", "vii", ATEN("round", "v", x), (int64_t)lo, (int64_t)hi); }

/* w: float32 [N, K]. The levels int8 [N, K], the scales [N] of type d. */
static void eight_bits(tc_emit *e, tc_value *w, tc_dtype d, tc_value *out[2]) {
    tc_value *most = ATEN("amax", "vIb", ATEN("abs", "v", w), (int64_t[]){1}, 1, 1);
    tc_value *scale = as_scale(e, tc_e_muls(e, most, 1.0 / 127), d);
    out[0] = tc_e_cast(e, nearest(e, tc_e_div(e, w, scale), -127, 127), TC_I8);
    out[1] = tc_e_cast(e, ATEN("squeeze.dim", "vi", scale, (int64_t)1), d);
}
/* The packed levels [N', K / 2] and scales and zeros [K / group, N', 2] of type d; N' is N rounded up to 16. */
static void four_bits(tc_emit *e, tc_value *w, int64_t n, int64_t k, int64_t group, tc_dtype d, tc_value *out[2]) {
    const int64_t more = (16 - n % 16) % 16;
    w = ATEN("reshape", "vI", w, ((int64_t[]){n, k / group, group}), 3);
    tc_value *lo = ATEN("amin", "vIb", w, (int64_t[]){2}, 1, 1), *hi = ATEN("amax", "vIb", w, (int64_t[]){2}, 1, 1);
    tc_value *scale = as_scale(e, tc_e_muls(e, tc_e_sub(e, hi, lo), 1.0 / 15), d), *zero = as_stored(e, tc_e_add(e, lo, tc_e_muls(e, scale, 8)), d);
    tc_value *q = nearest(e, tc_e_adds(e, tc_e_div(e, tc_e_sub(e, w, zero), scale), 8), 0, 15);
    tc_value *both = ATEN("cat", "Vi", ((tc_value *[]){scale, zero}), 2, (int64_t)2);
    q = ATEN("reshape", "vI", tc_e_cast(e, q, TC_I32), ((int64_t[]){n, k}), 2);
    if (more) q = ATEN("constant_pad_nd", "vI", q, ((int64_t[]){0, 0, 0, more}), 4);
    if (more) both = ATEN("constant_pad_nd", "vI", both, ((int64_t[]){0, 0, 0, 0, 0, more}), 6);
    out[0] = ATEN("_convert_weight_to_int4pack_for_cpu", "vi", q, (int64_t)1);
    out[1] = tc_e_cast(e, ATEN("contiguous", "v", ATEN("transpose.int", "vii", both, (int64_t)0, (int64_t)1)), d);
}

/* ---- replacing a product ---- */
/* The entry of this weight, made when a product with it is first met. */
static small *entry_of(quantiser *q, const tc_value *w, bool rows) {
    for (; w->producer && w->meta.rank == 2 && !strcmp(tc_op_name(w->producer->op), "aten.t.default"); rows = !rows) w = tensor_arg(w->producer, 0);
    for (size_t i = 0; i < q->made.len; i++)
        if (q->made.data[i].of == w && q->made.data[i].rows == rows) return &q->made.data[i];
    tc_vec_push(&q->made, ((small){.of = w, .rows = rows}));
    return &q->made.data[q->made.len - 1];
}
/* Inserts before n: x flattened to [rows, K], the quantised product, its result reshaped to [..., N], the bias. *out_mm: the product's result. */
static tc_value *write_product(const quantiser *q, tc_emit *e, const tc_node *n, const product *p, int64_t group, tc_value *const part[2],
                               tc_value **out_mm) {
    tc_value *x = tensor_arg(n, p->x), *w = tensor_arg(n, p->w), *bias = tensor_arg(n, p->bias), *level[2] = {part[0], part[1]}, *y;
    const tc_meta *out = &n->outs[0]->meta;
    int64_t size[2];
    fixed_sizes(w, size);
    const int64_t rows = size[p->rows ? 0 : 1], k = size[p->rows ? 1 : 0];
    tc_sym first = tc_sym_int(q->p->sym, 1);
    for (int i = 0; i + 1 < x->meta.rank; i++) first = tc_sym_mul(q->p->sym, first, x->meta.size[i]);
    if (x->meta.rank != 2) x = ATEN("reshape", "vS", x, ((tc_sym[]){first, tc_sym_int(q->p->sym, k)}), 2);
    if (!level[0]) {
        tc_value *wide = tc_e_cast(e, p->rows ? w : ATEN("t", "v", w), TC_F32);
        if (q->o->bits == 8) eight_bits(e, wide, w->meta.dtype, level);
        else four_bits(e, wide, rows, k, group, w->meta.dtype, level);
    }
    if (q->o->bits == 8) y = ATEN("_weight_int8pack_mm", "vvv", x, level[0], level[1]);
    else y = ATEN("_weight_int4pack_mm_for_cpu", "vviv", x, level[0], group, level[1]);
    *out_mm = y;
    if (q->o->bits == 4 && rows % 16) y = ATEN("narrow", "viii", y, (int64_t)1, (int64_t)0, rows);
    if (out->rank != 2) y = ATEN("reshape", "vS", y, out->size, out->rank);
    return bias ? tc_e_add(e, y, bias) : y;
}

static tc_status fold_waiting(quantiser *q) {
    if (!q->waiting) return NULL;
    q->waiting = 0;
    return tc_fold(q->p, q->eval, &(tc_fold_options){.max_bytes = SIZE_MAX / 2, .parameters = true, .from = q->unfolded});
}

static tc_status quantise_product(quantiser *q, tc_node *n) {
    const product *p = product_of(n);
    int64_t group = 0;
    if (!p || !is_constant(q, tensor_arg(n, p->w)) || is_constant(q, tensor_arg(n, p->x))) return NULL;
    tc_value *w = tensor_arg(n, p->w), *part[2] = {NULL, NULL}, *mm;
    const int input = input_of(q, w);
    const char *why = refusal(q, n, p, &group);
    if (input >= 0) q->why[input] = why ? why : "";
    if (why) return NULL;
    tc_emit e = {.graph = n->graph, .before = n, .source = n->source, .origin = n->origin ? n->origin : n};
    if (!q->waiting) q->unfolded = q->p->graph->nvalues;
    small *s = entry_of(q, w, p->rows);
    if (s->mm) part[0] = tc_arg_value(s->mm->producer, 1), part[1] = tc_arg_value(s->mm->producer, q->o->bits == 8 ? 2 : 3);
    tc_value *y = write_product(q, &e, n, p, group, part, &mm);
    if (e.status) return e.status;
    q->rewrite.to[n->outs[0]->id] = y;
    q->products++;
    q->inside[w->id] = true;
    if (s->mm) return NULL;
    int64_t size[2];
    fixed_sizes(w, size);
    s->mm = mm, q->waiting += 1 + size[0] * size[1] * 4;
    return q->waiting < WAITING ? NULL : fold_waiting(q);
}

static void note_inside(void *ctx, tc_value **place) {
    const quantiser *q = ctx;
    if ((*place)->id < q->n) q->inside[(*place)->id] = true;
}
/* Marks values that original products' quantised weights depend on; nodes made by this pass do not count. */
static void follow_inside(quantiser *q) {
    for (tc_node *n = q->p->graph->last; n; n = n->prev) {
        bool inside = false;
        for (int i = 0; i < n->nouts; i++) inside |= n->outs[i]->id < q->n && q->inside[n->outs[i]->id];
        if (inside) tc_node_each_input(n, note_inside, q);
    }
    for (size_t i = 0; i < q->n; i++)
        if (q->inside[i] && q->input[i] >= 0 && !q->why[q->input[i]]) q->why[q->input[i]] = "";
}

/* ---- the program ---- */
static int64_t weight_bytes(const tc_program *p) {
    int64_t n = 0;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].data.storage && p->inputs[i].alias_of < 0)
            n += tc_tensor_numel(&p->inputs[i].data) * (int64_t)tc_dtype_size(p->inputs[i].data.dtype);
    return n;
}

typedef struct {
    const quantiser *q;
    const tc_node *node;
} readers;
static void note_reader(void *ctx, tc_value **place) {
    const readers *r = ctx;
    const int i = input_of(r->q, *place);
    if (i < 0 || tc_op_schema(r->node->op)->is_view || (r->q->why[i] && *r->q->why[i])) return;
    tc_buf b = {0};
    tc_buf_printf(&b, "%s reads it%s", tc_op_name(r->node->op), r->q->why[i] ? ", too: it is kept beside the quantised one" : "");
    r->q->why[i] = tc_arena_strdup(&r->q->p->arena, tc_buf_str(&b));
    tc_buf_free(&b);
}
/* After all products: reports which weights are quantised, kept besides, or left, and why. */
static void report(quantiser *q, tc_quantised *out) {
    readers r = {q, NULL};
    for (tc_node *n = q->p->graph->first; n; n = n->next) {
        r.node = n;
        tc_node_each_input(n, note_reader, &r);
    }
    for (int i = 0; i < q->p->ninputs; i++) {
        const tc_input *in = &q->p->inputs[i];
        const bool weight = in->kind == TC_IN_PARAMETER || in->kind == TC_IN_BUFFER || (in->kind == TC_IN_CONSTANT && q->why[i]);
        if (!weight || in->alias_of >= 0 || in->data.rank < 2 || !tc_is_float(in->data.dtype) || !in->value || in->value->id >= q->n) continue;
        const char *why = q->why[i] ? q->why[i] : "nothing reads it";
        if (*why) out->left++;
        else out->done++;
        if (q->o->note) q->o->note(q->o->ctx, in->name, *why ? why : NULL);
    }
}

tc_status tc_quantize(tc_program *p, const tc_eval *eval, const tc_quantize_options *o, tc_quantised *out) {
    quantiser q = {.p = p, .eval = eval, .o = o, .n = p->graph->nvalues};
    tc_status s = NULL;
    *out = (tc_quantised){.before = weight_bytes(p)};
    q.constant = tc_xcalloc(q.n + 1, sizeof *q.constant), q.inside = tc_xcalloc(q.n + 1, sizeof *q.inside);
    q.input = tc_xcalloc(q.n + 1, sizeof *q.input);
    list_inputs(&q);
    q.rewrite = (tc_rewrite){tc_xcalloc(q.n + 1, sizeof(tc_value *)), q.n};
    size_t most = (size_t)p->ninputs + 1; /* inputs made by this pass have larger indices */
    for (const tc_node *n = p->graph->first; n; n = n->next) most += 2;
    q.why = tc_xcalloc(most, sizeof *q.why);
    tc_constant_values(p, q.constant);
    for (tc_node *n = p->graph->first; n && !s; n = n->next) s = quantise_product(&q, n);
    if (!s) s = fold_waiting(&q);
    follow_inside(&q);
    tc_graph_apply_rewrite(p->graph, &q.rewrite);
    for (int i = 0; i < p->noutputs; i++) {
        const tc_value *v = p->outputs[i].value;
        if (v && v->id < q.n && q.rewrite.to[v->id]) p->outputs[i].value = q.rewrite.to[v->id];
    }
    tc_dce(p, false);
    if (!s) report(&q, out);
    tc_drop_weights(p);
    out->after = weight_bytes(p);
    out->products = q.products;
    free(q.constant);
    free(q.inside);
    free(q.input);
    free(q.rewrite.to);
    free(q.why);
    tc_vec_free(&q.made);
    return s;
}
