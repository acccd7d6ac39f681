/* tc.h over the library: handles around tensors, programs and executors. */
#include "base/rng.h"

#include <pthread.h>

#include "file/pt2.h"
#include "op/functionalise.h"
#include "kernel/gemm_external.h"
#include "runtime/tune.h"
#include "tc.h"
#include "tensor/dlpack.h"

/* A failure is a status under its public name. */
static tc_failure *failure(tc_status s) { return (tc_failure *)s; }
static tc_status status(const tc_failure *f) { return (tc_status)(uintptr_t)f; }

int tc_failure_code(const tc_failure *f) { return (int)tc_status_code(status(f)); }
const char *tc_failure_message(const tc_failure *f) { return tc_status_message(status(f)); }
void tc_failure_release(tc_failure *f) {
    if (f) tc_status_free(status(f));
}

/* ---- arrays ---- */
struct tc_array {
    tc_tensor tensor;
    int refs;
};

static tc_array *make_array(tc_tensor t) {
    tc_array *a = tc_xcalloc(1, sizeof *a);
    *a = (tc_array){t, 1};
    return a;
}

static tc_status parse_dtype(const char *name, tc_dtype *out) {
    *out = tc_dtype_parse(name, strlen(name));
    return *out == TC_DTYPE_NONE ? tc_error(TC_USAGE, "there is no element type %s", name) : NULL;
}

static tc_status from_blob(void *data, const char *dtype, int rank, const int64_t *size, const int64_t *strides, void (*deleter)(void *, void *),
                           void *ctx, tc_array **out) {
    tc_dtype d;
    int64_t stride[TC_MAX_RANK] = {0}, last = 0;
    bool empty = false;
    tc_tensor t;
    TC_TRY(parse_dtype(dtype, &d));
    if (rank < 0 || rank > TC_MAX_RANK) return tc_error(TC_UNSUPPORTED, "an array of %d dimensions: tc has at most %d", rank, TC_MAX_RANK);
    if (strides && rank) memcpy(stride, strides, (size_t)rank * sizeof *stride);
    else tc_contiguous_strides(rank, size, stride);
    for (int k = 0; k < rank; k++) {
        int64_t step;
        empty = empty || size[k] == 0;
        if (size[k] > 1 && (!tc_mul_i64(size[k] - 1, stride[k], &step) || !tc_add_i64(last, step, &last)))
            return tc_error(TC_USAGE, "the sizes of an array overflow");
    }
    if ((uintptr_t)data % tc_dtype_size(d)) return tc_error(TC_USAGE, "the data of an array are not aligned to its elements");
    tc_storage *s = tc_storage_wrap(data, empty ? 0 : (size_t)(last + 1) * tc_dtype_size(d), NULL, NULL);
    tc_status st = tc_tensor_view(s, d, rank, size, stride, 0, &t);
    if (!st) s->deleter = deleter, s->ctx = ctx; /* from here on the storage owns the data */
    tc_storage_release(s);
    if (!st) *out = make_array(t);
    return st;
}

tc_failure *tc_array_from_blob(void *data, const char *dtype, int rank, const int64_t *size, const int64_t *strides, void (*deleter)(void *, void *),
                               void *ctx, tc_array **out) {
    tc_status st = from_blob(data, dtype, rank, size, strides, deleter, ctx, out);
    if (st && deleter) deleter(ctx, data);
    return failure(st);
}

static tc_status empty_array(const char *dtype, int rank, const int64_t *size, tc_array **out) {
    tc_dtype d;
    tc_tensor t;
    TC_TRY(parse_dtype(dtype, &d));
    TC_TRY(tc_tensor_empty(d, rank, size, &t));
    *out = make_array(t);
    return NULL;
}
tc_failure *tc_array_empty(const char *dtype, int rank, const int64_t *size, tc_array **out) { return failure(empty_array(dtype, rank, size, out)); }

tc_array *tc_array_retain(tc_array *a) {
    __atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
    return a;
}
void tc_array_release(tc_array *a) {
    if (!a || __atomic_sub_fetch(&a->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    tc_tensor_deinit(&a->tensor);
    free(a);
}
const char *tc_array_dtype(const tc_array *a) { return tc_dtypes[a->tensor.dtype].name; }
int tc_array_rank(const tc_array *a) { return a->tensor.rank; }
int64_t tc_array_size(const tc_array *a, int dim) { return dim >= 0 && dim < a->tensor.rank ? a->tensor.size[dim] : -1; }
int64_t tc_array_stride(const tc_array *a, int dim) { return dim >= 0 && dim < a->tensor.rank ? a->tensor.stride[dim] : -1; }
void *tc_array_data(const tc_array *a) { return tc_tensor_data(&a->tensor); }

tc_failure *tc_array_to_dlpack(const tc_array *a, struct DLManagedTensorVersioned **out) { return failure(tc_tensor_to_dlpack(&a->tensor, out)); }

tc_failure *tc_array_from_dlpack(struct DLManagedTensorVersioned *m, tc_array **out) {
    tc_tensor t;
    tc_status st = tc_tensor_from_dlpack(m, &t);
    if (!st) *out = make_array(t);
    return failure(st);
}

/* ---- models ---- */
typedef struct {
    int index;
    const char *name, *type;
} port;
/* What one run at a time uses. */
typedef struct lane {
    tc_exec *exec;
    tc_tensor *room;  /* of a run: the inputs, then the results */
    uint64_t version; /* of the weights that it has */
    struct lane *next;
} lane;
typedef struct {
    tc_tensor data;
    uint64_t version; /* when it was given; 0: the program's own */
} given_weight;
struct tc_model {
    tc_program *program;
    int threads;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t freed; /* a lane */
    lane *idle;
    int lanes, most_lanes; /* made; 0: as many as there are runs at once */
    given_weight *weights; /* by program input */
    uint64_t version;
    tc_tuning *tuning; /* or NULL */
    bool ran;
    tc_generator generator;
    tc_arena arena;
    port *inputs, *outputs;
    int ninputs, noutputs;
};

static const char *type_text(tc_model *m, const tc_value *v) {
    tc_buf b = {0};
    tc_value_print_type(&b, v);
    const char *s = tc_arena_strdup(&m->arena, tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

static void list_ports(tc_model *m) {
    const tc_program *p = m->program;
    m->inputs = TC_NEWN(&m->arena, port, (size_t)p->ninputs + 1);
    m->outputs = TC_NEWN(&m->arena, port, (size_t)p->noutputs + 1);
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_USER) m->inputs[m->ninputs++] = (port){i, p->inputs[i].name, type_text(m, p->inputs[i].value)};
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind != TC_OUT_LEAF && tc_output_is_result(&p->outputs[i]))
            m->outputs[m->noutputs++] = (port){i, p->outputs[i].name, type_text(m, p->outputs[i].value)};
}

static tc_status open_program(const char *path, const char *name, tc_program **out) {
    tc_archive *a;
    TC_TRY(tc_archive_open_file(path, &a));
    tc_status st = tc_archive_program(a, name, out);
    tc_archive_close(a);
    if (st) return st;
    st = tc_functionalise(*out);
    if (!st) st = tc_program_verify(*out);
    if (st) tc_program_release(*out);
    return st;
}

/* ---- lanes ---- */
/* Is there something that runs share: buffers that they change, the stream of random numbers? */
static bool shares_state(const tc_program *p) {
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_BUFFER || p->outputs[i].kind == TC_OUT_PARAMETER) return true;
    for (const tc_graph *g = p->graph; g; g = g == p->graph ? g->first_sub : g->next_sub)
        for (const tc_node *n = g->first; n; n = n->next)
            if (n->op->flags & TC_OP_RANDOM) return true;
    return false;
}

static tc_status make_lane(tc_model *m, lane **out) {
    lane *l = tc_xcalloc(1, sizeof *l);
    tc_status s = tc_exec_create(m->program, &(tc_exec_options){.threads = m->threads, .keep_packed = true}, &l->exec);
    if (s) return free(l), s;
    tc_exec_set_tuning(l->exec, m->tuning);
    l->room = tc_xcalloc((size_t)m->program->ninputs + (size_t)m->program->noutputs + 1, sizeof *l->room);
    *out = l;
    return NULL;
}

/* The weights that were given since the lane ran last. Under the lock. */
static tc_status renew(const tc_model *m, lane *l) {
    for (int i = 0; i < m->program->ninputs && l->version != m->version; i++)
        if (m->weights[i].version > l->version) TC_TRY(tc_exec_set_state(l->exec, i, &m->weights[i].data));
    l->version = m->version;
    return NULL;
}

static void put_lane(tc_model *m, lane *l) {
    pthread_mutex_lock(&m->lock);
    l->next = m->idle;
    m->idle = l;
    pthread_cond_signal(&m->freed);
    pthread_mutex_unlock(&m->lock);
}

static tc_status take_lane(tc_model *m, lane **out) {
    tc_status s = NULL;
    pthread_mutex_lock(&m->lock);
    while (!m->idle && m->most_lanes && m->lanes == m->most_lanes) pthread_cond_wait(&m->freed, &m->lock);
    lane *l = m->idle;
    if (l) m->idle = l->next;
    else m->lanes++;
    pthread_mutex_unlock(&m->lock);
    if (!l) s = make_lane(m, &l);
    pthread_mutex_lock(&m->lock);
    m->ran = true;
    if (!l) m->lanes--;
    else s = renew(m, l);
    pthread_mutex_unlock(&m->lock);
    if (s && l) put_lane(m, l);
    else *out = l;
    return s;
}

static tc_status open_model(const char *path, const char *name, int threads, tc_model *m) {
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->freed, NULL);
    m->threads = threads;
    TC_TRY(open_program(path, name, &m->program));
    m->most_lanes = shares_state(m->program);
    m->weights = tc_xcalloc((size_t)m->program->ninputs + 1, sizeof *m->weights);
    m->lanes = 1;
    TC_TRY(make_lane(m, &m->idle));
    tc_generator_seed(&m->generator, 0);
    list_ports(m);
    return NULL;
}

tc_failure *tc_model_open(const char *path, const char *name, int threads, tc_model **out) {
    tc_model *m = tc_xcalloc(1, sizeof *m);
    tc_status st = open_model(path, name, threads, m);
    if (st) tc_model_close(m);
    else *out = m;
    return failure(st);
}

void tc_model_close(tc_model *m) {
    if (!m) return;
    for (lane *l = m->idle, *next; l; l = next) {
        next = l->next;
        tc_exec_destroy(l->exec);
        free(l->room);
        free(l);
    }
    for (int i = 0; m->weights && i < m->program->ninputs; i++) tc_tensor_deinit(&m->weights[i].data);
    free(m->weights);
    tc_tuning_destroy(m->tuning);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->freed);
    tc_program_release(m->program);
    tc_arena_free(&m->arena);
    free(m);
}

int tc_model_input_count(const tc_model *m) { return m->ninputs; }
const char *tc_model_input_name(const tc_model *m, int i) { return i >= 0 && i < m->ninputs ? m->inputs[i].name : NULL; }
const char *tc_model_input_type(const tc_model *m, int i) { return i >= 0 && i < m->ninputs ? m->inputs[i].type : NULL; }
int tc_model_output_count(const tc_model *m) { return m->noutputs; }
const char *tc_model_output_name(const tc_model *m, int i) { return i >= 0 && i < m->noutputs ? m->outputs[i].name : NULL; }
const char *tc_model_output_type(const tc_model *m, int i) { return i >= 0 && i < m->noutputs ? m->outputs[i].type : NULL; }
void tc_model_seed(tc_model *m, uint64_t seed) { tc_generator_seed(&m->generator, seed); }

static tc_status run_in(tc_model *m, lane *l, tc_array *const *inputs, tc_array **outputs) {
    tc_tensor *in = l->room, *out = in + m->program->ninputs;
    memset(out, 0, (size_t)m->program->noutputs * sizeof *out);
    for (int i = 0; i < m->ninputs; i++) in[i] = inputs[i]->tensor; /* borrowed */
    for (int i = 0; i < m->noutputs; i++)
        if (outputs[i]) out[m->outputs[i].index] = outputs[i]->tensor;
    TC_TRY(tc_exec_run(l->exec, in, m->ninputs, &m->generator, out, m->program->noutputs));
    for (int i = 0; i < m->noutputs; i++) {
        tc_tensor *t = &out[m->outputs[i].index];
        if (!outputs[i]) outputs[i] = make_array(*t);
        *t = (tc_tensor){0};
    }
    for (int i = 0; i < m->program->noutputs; i++) tc_tensor_deinit(&out[i]); /* numbers that are no arrays */
    return NULL;
}

/* Memory that was lent only for reading (DLPack's read-only flag) is not written. */
static bool read_only(const tc_array *a) { return a->tensor.storage && a->tensor.storage->read_only; }
static tc_status writable(const tc_model *m, tc_array *const *inputs, tc_array *const *outputs) {
    const tc_program *p = m->program;
    for (int i = 0; i < m->noutputs; i++)
        if (outputs[i] && read_only(outputs[i])) return tc_error(TC_USAGE, "the array for output %s is read-only", m->outputs[i].name);
    for (int k = 0; k < p->noutputs; k++)
        for (int i = 0; p->outputs[k].kind == TC_OUT_USER_INPUT && i < m->ninputs; i++)
            if (m->inputs[i].index == p->outputs[k].target && read_only(inputs[i]))
                return tc_error(TC_USAGE, "input %s is read-only, and the program writes to it", m->inputs[i].name);
    return NULL;
}

static tc_status run_model(tc_model *m, tc_array *const *inputs, int ninputs, tc_array **outputs, int noutputs) {
    lane *l = NULL;
    if (ninputs != m->ninputs || noutputs != m->noutputs)
        return tc_error(TC_USAGE, "%d inputs and %d outputs, expected %d and %d", ninputs, noutputs, m->ninputs, m->noutputs);
    for (int i = 0; i < ninputs; i++)
        if (!inputs[i]) return tc_error(TC_USAGE, "input %s is NULL", m->inputs[i].name);
    TC_TRY(writable(m, inputs, outputs));
    TC_TRY(take_lane(m, &l));
    tc_status s = run_in(m, l, inputs, outputs);
    put_lane(m, l);
    return s;
}

tc_failure *tc_model_run(tc_model *m, tc_array *const *inputs, int ninputs, tc_array **outputs, int noutputs) {
    return failure(run_model(m, inputs, ninputs, outputs, noutputs));
}

/* ---- tuning ---- */
tc_failure *tc_gemm_register(tc_gemm_fn fn, void *ctx) {
    if (!fn) return failure(tc_error(TC_USAGE, "the product is NULL"));
    return tc_gemm_external_add(fn, ctx) ? NULL : failure(tc_error(TC_UNSUPPORTED, "more than %d products", TC_GEMM_EXTERNALS));
}

static tc_status tune(tc_model *m, tc_array *const *inputs, int ninputs, double seconds, int rounds) {
    if (ninputs != m->ninputs) return tc_error(TC_USAGE, "%d inputs, expected %d", ninputs, m->ninputs);
    if (m->ran || m->tuning) return tc_error(TC_USAGE, "a model is tuned once, before it runs");
    tc_tensor *in = tc_xcalloc((size_t)ninputs + 1, sizeof *in); /* borrowed */
    const tc_exec_options o = {.threads = m->threads, .keep_packed = true};
    tc_tuned done = {0};
    tc_status s = NULL;
    for (int i = 0; i < ninputs && !s; i++) {
        if (!inputs[i]) s = tc_error(TC_USAGE, "input %s is NULL", m->inputs[i].name);
        else in[i] = inputs[i]->tensor;
    }
    if (!s) s = tc_tuning_create(tc_default_threads(m->threads), &m->tuning);
    if (!s) s = tc_tune(m->program, &o, m->tuning, in, ninputs, &(tc_tune_options){.seconds = seconds, .rounds = rounds}, &done);
    if (!s) tc_exec_set_tuning(m->idle->exec, m->tuning);
    else tc_tuning_destroy(m->tuning), m->tuning = NULL;
    free(in);
    return s;
}

tc_failure *tc_model_tune(tc_model *m, tc_array *const *inputs, int ninputs, double seconds, int rounds) {
    return failure(tune(m, inputs, ninputs, seconds, rounds));
}

/* ---- weights ---- */
static tc_status find_weight(const tc_model *m, const char *name, const tc_array *a, int *out) {
    const tc_program *p = m->program;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if ((in->kind != TC_IN_PARAMETER && in->kind != TC_IN_BUFFER && in->kind != TC_IN_CONSTANT) || !in->value || strcmp(in->name, name)) continue;
        *out = i;
        return a ? NULL : tc_error(TC_USAGE, "the array for %s is NULL", name);
    }
    return tc_error(TC_CONTENT, "the model has no weight %s", name);
}

/* lane: any, which says what fits. */
static tc_status set_weights(tc_model *m, const lane *l, const char *const *names, tc_array *const *arrays, int n, int *index, tc_tensor *data) {
    for (int i = 0; i < n; i++) {
        TC_TRY(find_weight(m, names[i], arrays[i], &index[i]));
        TC_TRY(tc_exec_state_fits(l->exec, index[i], &arrays[i]->tensor));
        /* what runs change is the model's own */
        TC_TRY((m->most_lanes ? tc_tensor_clone : tc_tensor_contiguous)(&arrays[i]->tensor, &data[i]));
    }
    pthread_mutex_lock(&m->lock);
    m->version++;
    for (int i = 0; i < n; i++) {
        given_weight *w = &m->weights[index[i]];
        const tc_tensor old = w->data;
        *w = (given_weight){data[i], m->version};
        data[i] = old;
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

tc_failure *tc_model_set_weights(tc_model *m, const char *const *names, tc_array *const *arrays, int n) {
    lane *l = NULL;
    tc_status s = take_lane(m, &l);
    if (s) return failure(s);
    int *index = tc_xcalloc((size_t)n + 1, sizeof *index);
    tc_tensor *data = tc_xcalloc((size_t)n + 1, sizeof *data);
    s = set_weights(m, l, names, arrays, n, index, data);
    put_lane(m, l);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&data[i]);
    free(index);
    free(data);
    return failure(s);
}
