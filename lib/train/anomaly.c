/* Anomaly detection: after a step diverged, runs its micro-batches again, operator by operator, to find the operator that produced the first NaN (as
 * torch.autograd.detect_anomaly, but at no cost for normal steps). */
#include "train/internal.h"

#include <math.h>

double tc_train_worst(const tc_tensor *x) {
    int64_t n = tc_tensor_numel(x);
    const void *data = tc_tensor_data(x);
    double worst = 0;
    if (x->dtype == TC_F32) {
        uint32_t most = 0; /* float bits without the sign compare like magnitudes */
        for (int64_t i = 0; i < n; i++) {
            uint32_t m = ((const uint32_t *)data)[i] & 0x7fffffffu;
            if (m > most) most = m;
        }
        return most > 0x7f800000u ? NAN : most == 0x7f800000u ? INFINITY : 0;
    }
    for (int64_t i = 0; tc_is_float(x->dtype) && i < n; i++) {
        double v = tc_scalar_to_double(tc_scalar_load(x->dtype, data, i));
        if (isnan(v)) return v;
        if (isinf(v)) worst = INFINITY;
    }
    return worst;
}

/* ---- finiteness check at memory bandwidth: every gradient of every step is checked ---- */

typedef uint32_t bits __attribute__((vector_size(16), aligned(4))); /* what the baseline has: wider ones go through memory */
enum { LANES = sizeof(bits) / 4, BLOCK = 4 * LANES, GRAIN = 1 << 16 };

typedef struct {
    const uint32_t *data;
    int64_t n;
    bool found;
} finite_check;

/* Adding one to an exponent of all ones (NaN or infinity only) carries into the sign bit. */
static bits carries(const uint32_t *x) { return (*(const bits *)x & 0x7fffffffu) + 0x00800000u; }

/* In blocks of BLOCK. */
static void check_blocks(void *ctx, int64_t begin, int64_t end, int worker) {
    finite_check *k = ctx;
    bits any = {0}, more = {0};
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const uint32_t *x = k->data + i * BLOCK;
        any |= carries(x) | carries(x + LANES);
        more |= carries(x + 2 * LANES) | carries(x + 3 * LANES);
    }
    any |= more;
    uint32_t one = 0;
    for (int i = 0; i < LANES; i++) one |= any[i];
    if (one >> 31) __atomic_store_n(&k->found, true, __ATOMIC_RELAXED);
}

bool tc_train_all_finite(const tc_tensor *x, tc_pool *pool) {
    if (x->dtype != TC_F32) return tc_train_worst(x) == 0;
    finite_check k = {.data = tc_tensor_data(x), .n = tc_tensor_numel(x)};
    tc_parallel_for(pool, k.n / BLOCK, GRAIN / BLOCK, check_blocks, &k);
    for (int64_t i = k.n / BLOCK * BLOCK; i < k.n; i++) k.found |= ((k.data[i] & 0x7fffffffu) + 0x00800000u) >> 31;
    return !k.found;
}

/* The same for any strides. */
static double look(const tc_tensor *x) {
    tc_tensor own;
    if (tc_tensor_is_contiguous(x)) return tc_train_worst(x);
    tc_status s = tc_tensor_contiguous(x, &own);
    double worst = s ? 0 : tc_train_worst(&own);
    if (!s) tc_tensor_deinit(&own);
    tc_status_free(s);
    return worst;
}

/* State of the search. Infinities that the model creates on purpose (masks), and values computed from them, are not reported: `meant` marks them. */
typedef struct {
    const tc_graph *main;
    bool *meant; /* by value id of main */
    const tc_node *nan, *inf;
    const tc_value *nan_value, *inf_value;
} search;

static bool infinite_scalar(const tc_node *n) {
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_SCALAR && !n->args[i].is_sym && !isfinite(tc_scalar_to_double(n->args[i].scalar))) return true;
    return false;
}

typedef struct {
    const search *s;
    bool meant;
    int tensors;
} input_look;

static void look_input(void *ctx, tc_value **place) {
    input_look *l = ctx;
    const tc_value *v = *place;
    if (v->kind != TC_V_TENSOR) return;
    l->tensors++;
    const tc_value *from = v;
    while (from->producer && from->producer->op->view_alias && from->producer->args[0].kind == TC_A_VALUE) from = from->producer->args[0].value;
    l->meant |= from->graph == l->s->main && l->s->meant[from->id];
}

static tc_status after(void *ctx, const tc_exec_event *event) {
    search *s = ctx;
    for (int i = 0; i < event->nvalues && !s->nan; i++) {
        double found = look(event->tensors[i]);
        const tc_node *n = event->nodes[event->nnodes - 1];
        const tc_value *v = event->values[i];
        if (isnan(found)) {
            s->nan = n;
            s->nan_value = v;
        }
        if (!isinf(found) || v->graph != s->main) continue;
        input_look l = {.s = s};
        tc_node_each_input(n, look_input, &l);
        if (l.meant || !l.tensors || infinite_scalar(n)) s->meant[v->id] = true;
        else if (!s->inf) {
            s->inf = n;
            s->inf_value = v;
        }
    }
    return NULL;
}

static void describe_one(tc_buf *b, const char *what, const tc_node *n, const tc_value *v) {
    const tc_node *from = n->origin ? n->origin : n;
    tc_buf_printf(b, "; the first %s is made by %s", what, tc_op_name(from->op));
    if (v->name) tc_buf_printf(b, " (%s)", v->name);
    if (from->source.file) tc_buf_printf(b, " at %s:%d", from->source.file, from->source.line);
    if (from->source.calls) tc_buf_printf(b, " in %s", tc_source_module(&from->source));
}

/* An infinity is reported first: overflow soon produces NaN. */
static void describe(const search *s, tc_buf *b) {
    if (s->inf) describe_one(b, "infinity", s->inf, s->inf_value);
    if (s->nan) describe_one(b, "NaN", s->nan, s->nan_value);
}

/* Is a weight or batch column not finite before anything is computed? */
static bool bad_input(tc_trainer *t, const tc_tensor *columns, tc_buf *b) {
    for (size_t i = 0; i < t->weights.len; i++)
        if (tc_train_worst(&t->weights.data[i].data) != 0) {
            tc_buf_printf(b, "; %s was not finite before", t->weights.data[i].fqn);
            return true;
        }
    for (int i = 0; i < t->train->ncols; i++)
        if (look(&columns[i]) != 0) {
            tc_buf_printf(b, "; the data are not finite: %s", t->train->col[i].name);
            return true;
        }
    return false;
}

static tc_status search_micro(tc_trainer *t, int64_t k, tc_exec *e, search *found, tc_buf *b) {
    const tc_program *p = tc_exec_program(e);
    tc_tensor columns[TC_DATA_MAX_COLUMNS] = {0}, *out = tc_xcalloc((size_t)p->noutputs, sizeof *out);
    tc_status s = tc_train_batch_again(t, k, columns);
    if (!s && !bad_input(t, columns, b)) {
        found->main = p->graph;
        found->meant = tc_xcalloc(p->graph->nvalues + 1, sizeof *found->meant);
        tc_exec_set_profile(e, after, found);
        s = tc_train_run_micro(t, e, k, columns, out);
        free(found->meant);
        describe(found, b);
    }
    for (int i = 0; i < p->noutputs; i++) tc_tensor_deinit(&out[i]);
    for (int i = 0; i < t->train->ncols; i++) tc_tensor_deinit(&columns[i]);
    free(out);
    return s;
}

/* All ranks, which diverge together, get what the first rank found that found something. */
static tc_status share_findings(tc_dist *d, tc_buf *why) {
    const int size = tc_dist_size(d), rank = tc_dist_rank(d);
    int64_t from_last = why->len ? size - rank : 0;
    TC_TRY(tc_dist_max(d, &from_last));
    const int root = size - (int)from_last;
    if (size == 1 || root == size) return NULL;
    if (rank == root) tc_buf_printf(why, " (rank %d)", rank);
    int64_t n = (int64_t)why->len;
    TC_TRY(tc_dist_broadcast(d, &n, sizeof n, root));
    char *text = tc_xcalloc((size_t)n + 1, 1);
    if (rank == root) memcpy(text, tc_buf_str(why), (size_t)n);
    tc_status s = tc_dist_broadcast(d, text, (size_t)n, root);
    why->len = 0;
    tc_buf_puts(why, text);
    free(text);
    return s;
}

tc_status tc_train_diverged(tc_trainer *t, const char *what, double value) {
    tc_buf why = {0};
    tc_exec *e = NULL;
    tc_status s = tc_train_make_exec(t, tc_exec_program(t->micro_exec), true, &e);
    for (int64_t k = 0; k < t->r->accumulate && !s && !why.len; k++) s = search_micro(t, k, e, &(search){0}, &why);
    if (e) tc_exec_destroy(e);
    tc_status_free(s); /* the divergence is the error */
    tc_status_free(share_findings(t->o.dist, &why));
    s = tc_error(TC_DIVERGED, "step %lld: the %s is %s%s", (long long)t->step + 1, what, isnan(value) ? "NaN" : "infinite", tc_buf_str(&why));
    tc_buf_free(&why);
    return s;
}
