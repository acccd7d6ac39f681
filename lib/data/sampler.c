/* The order of samples: shuffled epochs, random starts, in order, or by weights. Streams are PyTorch's for one torch.Generator(seed). */
#include "base/text.h"
#include "data/data.h"
#include "file/tensors.h"
#include "kernel/isa.h"
#include "kernel/random.h"

#include <math.h>

/* ---- the recipe's keys ---- */

tc_status tc_data_read_order(tc_dataset *d, const tc_data_spec *s) {
    static const char *const names[] = {"shuffle", "random", "sequential", "weighted"};
    enum { N = sizeof names / sizeof *names };
    d->order = s->train || d->kind == TC_DATA_BATCHES ? TC_ORDER_SEQUENTIAL : d->kind == TC_DATA_WINDOWS ? TC_ORDER_RANDOM : TC_ORDER_SHUFFLE;
    for (int i = 0; s->order && i <= N; i++) {
        if (i == N) return tc_yaml_error(tc_yaml_get(s->node, "order"), "found '%s', expected shuffle, random, sequential or weighted", s->order);
        if (strcmp(s->order, names[i])) continue;
        d->order = (tc_data_order)i;
        break;
    }
    static const char *const keys[] = {"weights", "num_samples", "replacement"};
    for (int i = 0; i < 3 && d->order != TC_ORDER_WEIGHTED; i++) {
        const tc_yaml *y = tc_yaml_get(s->node, keys[i]);
        if (!tc_yaml_is_null(y)) return tc_yaml_error(y, "a key of order: weighted");
    }
    return NULL;
}

/* {y: [W of class 0, ...]} or {y: balanced}, which is 1 / (samples of the class). */
static tc_status weights_of_classes(const tc_dataset *d, const tc_yaml *node, double *w) {
    int c = node->n == 1 ? tc_data_find(d, node->keys[0]) : -1;
    const tc_tensor *t = c < 0 ? NULL : &d->col[c].data;
    if (!t || !t->storage || t->rank != 1) return tc_yaml_error(node, "expected {COLUMN: ...} of a column with one class number a sample");
    const tc_yaml *of = node->items[0];
    bool balanced = of->kind == TC_YAML_SCALAR && !strcmp(of->text, "balanced");
    if (!balanced && of->kind != TC_YAML_LIST) return tc_yaml_error(of, "expected balanced, or a list of weights, one a class");
    int64_t most = balanced ? d->count : of->n;
    double *by_class = tc_xcalloc((size_t)most + 1, sizeof *by_class);
    tc_status st = NULL;
    for (int i = 0; i < of->n && !st && !balanced; i++) st = tc_yaml_double(of->items[i], &by_class[i]);
    for (int pass = 0; pass < 2 && !st; pass++) {
        for (int64_t i = 0; i < d->count && !st; i++) {
            double k = tc_scalar_to_double(tc_scalar_load(t->dtype, tc_tensor_data(t), i));
            if (!(k >= 0 && k < (double)most) || k != floor(k))
                st = tc_yaml_error(of, "sample %lld has class %g, expected 0 to %lld", (long long)i, k, (long long)most - 1);
            else if (pass) w[i] = balanced ? 1 / by_class[(int64_t)k] : by_class[(int64_t)k];
            else if (balanced) by_class[(int64_t)k]++;
        }
    }
    free(by_class);
    return st;
}

static tc_status wrong_count(const tc_yaml *node, int64_t found, int64_t want) {
    return tc_yaml_error(node, "%lld weights for %lld samples", (long long)found, (long long)want);
}

static tc_status weights_of_text(const tc_data_spec *s, tc_buf *b, int64_t count, double *w) {
    int64_t n = 0, line = 1;
    for (char *p = b->data, *end = b->data + b->len, *next; p < end; p = next, line++) {
        char *stop = memchr(p, '\n', (size_t)(end - p));
        next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        while (stop > p && (stop[-1] == '\r' || stop[-1] == ' ')) stop--;
        if (stop == p) continue;
        double v;
        *stop = 0; /* a tc_buf has room for one more byte */
        if (!tc_parse_double(p, &v)) return tc_error(TC_CONTENT, "%s:%lld: found '%.40s', expected a weight", s->weights->text, (long long)line, p);
        if (n < count) w[n] = v;
        n++;
    }
    return n == count ? NULL : wrong_count(s->weights, n, count);
}

/* One number per line, or a .npy of one dimension. */
static tc_status weights_of_file(const tc_data_spec *s, int64_t count, double *w) {
    const char *name;
    tc_buf b = {0};
    TC_TRY(tc_yaml_string(s->weights, &name));
    TC_TRY(tc_data_load(s, name, &b));
    if (b.len < 6 || memcmp(b.data, "\x93NUMPY", 6)) {
        tc_status st = weights_of_text(s, &b, count, w);
        tc_buf_free(&b);
        return st;
    }
    tc_tensors all = {0};
    tc_blob *blob = tc_blob_adopt(b.data, b.len, name);
    tc_status st = tc_tensors_load_blob(blob, &all);
    tc_blob_release(blob);
    const tc_tensor *t = st ? NULL : &all.items.data[0].tensor;
    if (!st && t->rank != 1) st = tc_yaml_error(s->weights, "%s has %d dimensions, expected 1", name, t->rank);
    else if (!st && t->size[0] != count) st = wrong_count(s->weights, t->size[0], count);
    for (int64_t i = 0; i < count && !st; i++) w[i] = tc_scalar_to_double(tc_scalar_load(t->dtype, t->storage->data, t->offset + i * t->stride[0]));
    tc_tensors_deinit(&all);
    return st;
}

static tc_status fill_weights(const tc_dataset *d, const tc_data_spec *s, double *w) {
    const tc_yaml *node = s->weights;
    if (node->kind == TC_YAML_MAP) return weights_of_classes(d, node, w);
    if (node->kind == TC_YAML_SCALAR) return weights_of_file(s, d->count, w);
    if (node->n != d->count) return wrong_count(node, node->n, d->count);
    for (int i = 0; i < node->n; i++) TC_TRY(tc_yaml_double(node->items[i], &w[i]));
    return NULL;
}

tc_status tc_data_read_weights(tc_dataset *d, const tc_data_spec *s) {
    if (d->order != TC_ORDER_WEIGHTED || s->train) return NULL; /* validation is always in order */
    const tc_yaml *order = tc_yaml_get(s->node, "order");
    if (d->kind == TC_DATA_WINDOWS || d->kind == TC_DATA_BATCHES) return tc_yaml_error(order, "weighted is of samples, not of windows or batches");
    if (tc_yaml_is_null(s->weights)) return tc_yaml_error(order, "weighted needs weights:");
    TC_TRY(tc_tensor_empty(TC_F64, 1, &d->count, &d->weights));
    double *w = tc_tensor_data(&d->weights), sum = 0;
    TC_TRY(fill_weights(d, s, w), "weights");
    int64_t positive = 0;
    for (int64_t i = 0; i < d->count; i++) {
        if (!(w[i] >= 0) || isinf(w[i])) return tc_yaml_error(s->weights, "sample %lld has weight %g, expected 0 or more", (long long)i, w[i]);
        positive += w[i] > 0;
        sum += w[i];
    }
    if (!(sum > 0) || isinf(sum)) return tc_yaml_error(s->weights, "the weights sum up to %g", sum);
    d->replacement = s->replacement;
    const tc_yaml *draws = tc_yaml_get(s->node, "num_samples");
    d->draws = tc_yaml_is_null(draws) ? d->count : s->num_samples;
    if (d->draws < 1) return tc_yaml_error(draws, "found %lld, expected 1 or more", (long long)d->draws);
    if (!d->replacement && d->draws > positive)
        return tc_yaml_error(draws ? draws : s->weights, "%lld samples without replacement of %lld with a weight", (long long)d->draws,
                             (long long)positive);
    return NULL;
}

/* ---- a weighted epoch: torch.multinomial ---- */

typedef struct {
    double key;
    int64_t index;
} ranked;

static int by_key(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : (x->index > y->index) - (x->index < y->index);
}

/* Without replacement (and for a single draw): the largest of weight / exponential noise. */
static tc_status draw_distinct(tc_sampler *s) {
    const tc_dataset *d = s->d;
    tc_tensor noise;
    TC_TRY(tc_tensor_empty(TC_F64, 1, &d->count, &noise));
    tc_karg args[2] = {{.kind = TC_K_TENSOR, .tensor = &noise}, {.kind = TC_K_NUMBER, .num = tc_scalar_float(1)}};
    tc_kcall call = {.args = args, .nargs = 2, .outs = &noise, .nouts = 1, .gen = &s->gen};
    tc_status st = tc_k_exponential.run(&call);
    ranked *r = tc_xcalloc((size_t)d->count, sizeof *r);
    const double *w = tc_tensor_data(&d->weights), *q = tc_tensor_data(&noise);
    for (int64_t i = 0; i < d->count && !st; i++) r[i] = (ranked){w[i] / q[i], i};
    qsort(r, (size_t)d->count, sizeof *r, by_key);
    for (int64_t i = 0; i < d->draws; i++) s->perm[i] = r[i].index;
    free(r);
    tc_tensor_deinit(&noise);
    return st;
}

static tc_status draw_weighted(tc_sampler *s) {
    const tc_dataset *d = s->d;
    if (!d->replacement || d->draws == 1) return draw_distinct(s);
    const tc_isa_ops *isa;
    tc_tensor out;
    TC_TRY(tc_isa_ops_choose(&isa));
    TC_TRY(tc_tensor_empty(TC_I64, 1, &d->draws, &out));
    tc_karg args[3] = {{.kind = TC_K_TENSOR, .tensor = &d->weights}};
    tc_kcall call = {.args = args, .nargs = 1, .outs = &out, .nouts = 1, .gen = &s->gen, .isa = isa};
    call.scratch = tc_xmalloc(tc_k_multinomial.scratch(&call, 1));
    tc_status st = tc_k_multinomial.run(&call);
    if (!st) memcpy(s->perm, tc_tensor_data(&out), (size_t)d->draws * sizeof *s->perm);
    free(call.scratch);
    tc_tensor_deinit(&out);
    return st;
}

/* ---- batches ---- */

tc_status tc_sampler_init(tc_sampler *s, const tc_dataset *d, int64_t batch, uint64_t seed) {
    *s = (tc_sampler){.d = d, .batch = d->kind == TC_DATA_BATCHES ? 1 : batch};
    bool weighted = d->order == TC_ORDER_WEIGHTED;
    int64_t most = weighted ? d->draws : d->count;
    if (s->batch < 1) return tc_error(TC_USAGE, "a batch of %lld samples, expected 1 or more", (long long)batch);
    /* Random starts have no epochs: an epoch is the number of batches that cover the tokens once. */
    int64_t items = d->kind == TC_DATA_WINDOWS && d->order != TC_ORDER_SHUFFLE ? d->count / d->block : most;
    if (d->order != TC_ORDER_RANDOM && s->batch > items)
        return tc_error(TC_USAGE, "a batch of %lld samples of %s of %lld, expected at most %lld", (long long)batch, weighted ? "an epoch" : "a set",
                        (long long)items, (long long)items);
    tc_generator_seed(&s->gen, seed);
    s->per_epoch = items / s->batch > 0 ? items / s->batch : 1;
    if (weighted || d->order == TC_ORDER_SHUFFLE) s->perm = tc_xcalloc((size_t)most, sizeof *s->perm);
    return NULL;
}

static void begin_epoch(tc_sampler *s) {
    if (s->d->order == TC_ORDER_SHUFFLE) tc_rng_permutation(&s->gen, s->d->count, s->perm);
    tc_status st = s->d->order == TC_ORDER_WEIGHTED ? draw_weighted(s) : NULL;
    if (st) TC_BUG("%s", tc_status_message(st)); /* the weights were checked by tc_data_read_weights */
}

void tc_sampler_next(tc_sampler *s, int64_t *index) {
    const tc_dataset *d = s->d;
    int64_t i = s->given % s->per_epoch;
    if (i == 0) begin_epoch(s);
    if (s->perm) {
        memcpy(index, s->perm + i * s->batch, (size_t)s->batch * sizeof *index);
    } else if (d->order == TC_ORDER_RANDOM) {
        for (int64_t k = 0; k < s->batch; k++) index[k] = (int64_t)tc_rng_below(&s->gen, (uint64_t)d->count);
    } else {
        int64_t step = d->kind == TC_DATA_WINDOWS ? d->block : 1;
        for (int64_t k = 0; k < s->batch; k++) index[k] = (i * s->batch + k) * step % d->count;
    }
    s->given++;
}

void tc_sampler_seek(tc_sampler *s, int64_t batches) {
    uint64_t seed = s->gen.seed;
    tc_generator_seed(&s->gen, seed);
    s->given = 0;
    int64_t *index = tc_xcalloc((size_t)s->batch, sizeof *index);
    /* The state after n batches follows from the seed: draw them again, which takes well under a second for a million steps. */
    while (s->given < batches) tc_sampler_next(s, index);
    free(index);
}

void tc_sampler_deinit(tc_sampler *s) {
    free(s->perm);
    *s = (tc_sampler){0};
}
