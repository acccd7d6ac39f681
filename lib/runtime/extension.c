/* Loads extensions and runs their kernels (extension.h): the functions of tc_ops.h behind the handles of a call.
 *
 *     tc_kcall --run--> extension_call { tc_ops_call, handles of arguments and results, what the kernel makes } --> the extension's kernel */
#include "runtime/extension.h"

#include "base/file.h"
#include "base/text.h"
#include "codegen/module.h"
#include "codegen/trust.h"
#include "op/extension.h"
#include "runtime/frame.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct tc_ops_tensor {
    const tc_ops_api *api; /* first: tc_ops.h reads it */
    const tc_extension *of;
    const tc_tensor *t;
};

/* A tensor that the kernel made, or an entry of a list. */
typedef struct made {
    tc_ops_tensor handle;
    tc_tensor t;
    struct made *next;
} made;

/* One call; handles are filled when they are asked for. */
typedef struct {
    tc_ops_call c; /* first: what the kernel gets */
    tc_kcall *k;
    const tc_extension_op *o;
    made *made;
    tc_status failure;
    bool inside; /* of a parallel loop */
    tc_ops_tensor args[TC_EXTENSION_PARAMS], results[TC_EXTENSION_RESULTS];
} extension_call;

static extension_call *call_of(tc_ops_call *c) { return (extension_call *)c; }

static int fail(tc_ops_call *c, const char *message) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* parts of a parallel loop may fail at once: the first counts */
    extension_call *f = call_of(c);
    tc_buf b = {0};
    tc_put_shown(&b, message, strlen(message), "");
    pthread_mutex_lock(&lock);
    if (!f->failure) f->failure = tc_error(TC_CONTENT, "%s: %s", tc_op_name(f->o->op), tc_buf_str(&b));
    pthread_mutex_unlock(&lock);
    tc_buf_free(&b);
    return 1;
}

/* ---- arguments ---- */
static bool out_of_range(const extension_call *f, int i) { return i < 0 || i >= f->o->schema->nparams; }

/* The kernel's argument i, or NULL: it is none, or one that the kernel writes to. */
static const tc_karg *karg(tc_ops_call *c, int i) {
    const extension_call *f = call_of(c);
    return out_of_range(f, i) || f->o->to[i] >= 0 ? NULL : &f->k->args[f->o->from[i]];
}

static tc_ops_tensor *handle(const extension_call *f, tc_ops_tensor *h, const tc_tensor *t) {
    *h = (tc_ops_tensor){f->c.api, f->o->of, t};
    return h;
}

static tc_ops_tensor *keep(extension_call *f, tc_tensor t) {
    made *m = tc_xcalloc(1, sizeof *m);
    m->t = t;
    m->next = f->made;
    f->made = m;
    return handle(f, &m->handle, &m->t);
}

static tc_ops_tensor *arg(tc_ops_call *c, int i) {
    extension_call *f = call_of(c);
    if (out_of_range(f, i)) return NULL;
    if (f->o->to[i] >= 0) return handle(f, &f->args[i], &f->k->outs[f->o->to[i]]);
    const tc_karg *a = &f->k->args[f->o->from[i]];
    return a->kind == TC_K_TENSOR && a->tensor ? handle(f, &f->args[i], a->tensor) : NULL;
}
static int list(tc_ops_call *c, int i) {
    const tc_karg *a = karg(c, i);
    return a && a->kind == TC_K_TENSORS ? a->n : 0;
}
static tc_ops_tensor *item(tc_ops_call *c, int i, int k) {
    extension_call *f = call_of(c);
    const tc_karg *a = karg(c, i);
    if (!a || a->kind != TC_K_TENSORS || k < 0 || k >= a->n || !a->tensors[k]) return NULL;
    if (f->o->strided) return keep(f, tc_tensor_share(a->tensors[k]));
    tc_tensor t;
    tc_status s = tc_tensor_contiguous(a->tensors[k], &t);
    if (!s) return keep(f, t);
    fail(c, tc_status_message(s));
    tc_status_free(s);
    return NULL;
}
static int given(tc_ops_call *c, int i) {
    const extension_call *f = call_of(c);
    return !out_of_range(f, i) && (f->o->to[i] >= 0 || f->k->args[f->o->from[i]].kind != TC_K_NONE);
}
static int64_t integer(tc_ops_call *c, int i) {
    const tc_karg *a = karg(c, i);
    return a && a->kind == TC_K_NUMBER ? tc_scalar_to_int(a->num) : 0;
}
static double number(tc_ops_call *c, int i) {
    const tc_karg *a = karg(c, i);
    return a && a->kind == TC_K_NUMBER ? tc_scalar_to_double(a->num) : 0;
}
static const int64_t *integers(tc_ops_call *c, int i, int *out_n) {
    const tc_karg *a = karg(c, i);
    const bool is = a && a->kind == TC_K_INTS;
    *out_n = is ? a->n : 0;
    return is ? a->ints : NULL;
}
static const double *numbers(tc_ops_call *c, int i, int *out_n) {
    const tc_karg *a = karg(c, i);
    const bool is = a && a->kind == TC_K_FLOATS;
    *out_n = is ? a->n : 0;
    return is ? a->floats : NULL;
}
static const char *text(tc_ops_call *c, int i) {
    const tc_karg *a = karg(c, i);
    return a && a->kind == TC_K_STRING ? a->string : NULL;
}
static int type(tc_ops_call *c, int i) {
    const tc_karg *a = karg(c, i);
    return a && a->kind == TC_K_DTYPE ? call_of(c)->o->of->code[a->dtype] : 0;
}
static tc_ops_tensor *result(tc_ops_call *c, int i) {
    extension_call *f = call_of(c);
    if (i < 0 || i >= f->o->schema->nrets) return NULL;
    return handle(f, &f->results[i], &f->k->outs[f->o->result[i]]);
}

/* ---- tensors ---- */
static int t_dtype(const tc_ops_tensor *t) { return t->of->code[t->t->dtype]; }
static int element_bytes(const tc_ops_tensor *t) { return (int)tc_dtype_size(t->t->dtype); }
static int t_rank(const tc_ops_tensor *t) { return t->t->rank; }
static const int64_t *sizes(const tc_ops_tensor *t) { return t->t->size; }
static const int64_t *strides(const tc_ops_tensor *t) { return t->t->stride; }
static void *data(const tc_ops_tensor *t) { return tc_tensor_data(t->t); }

static tc_ops_tensor *kept(tc_ops_call *c, tc_status s, tc_tensor t) {
    if (!s) return keep(call_of(c), t);
    fail(c, tc_status_message(s));
    tc_status_free(s);
    return NULL;
}
static tc_ops_tensor *empty(tc_ops_call *c, int dtype, int rank, const int64_t *size) {
    const tc_extension *x = call_of(c)->o->of;
    tc_tensor t = {0};
    if (dtype <= 0 || dtype >= x->ndtypes || x->dtype[dtype] == TC_DTYPE_NONE)
        return kept(c, tc_error(TC_CONTENT, "empty: there is not a dtype %d", dtype), t);
    if (rank < 0 || rank > TC_MAX_RANK) return kept(c, tc_error(TC_CONTENT, "empty: a rank of %d", rank), t);
    tc_status s = NULL;
    for (int d = 0; d < rank && !s; d++)
        if (size[d] < 0) s = tc_error(TC_CONTENT, "empty: a size of %lld", (long long)size[d]);
    if (!s) s = tc_tensor_empty(x->dtype[dtype], rank, size, &t);
    return kept(c, s, t);
}
static tc_ops_tensor *view(tc_ops_call *c, const tc_ops_tensor *of, int rank, const int64_t *size, const int64_t *stride, int64_t offset) {
    tc_tensor t = {0};
    if (!of || rank < 0 || rank > TC_MAX_RANK) return kept(c, tc_error(TC_CONTENT, "view: no tensor, or a rank of %d", rank), t);
    int64_t from;
    if (!tc_add_i64(of->t->offset, offset, &from)) from = -1;
    return kept(c, tc_tensor_view(of->t->storage, of->t->dtype, rank, size, stride, from, &t), t);
}

/* ---- operators of tc ---- */
static tc_status value_arg(tc_arena *a, tc_symctx *s, const tc_extension *x, const tc_ops_value *v, tc_arg *to) {
    *to = (tc_arg){.kind = TC_A_NONE};
    if (v->n < 0) return tc_error(TC_CONTENT, "a list of negative length");
    const int n = v->n;
    switch (v->kind) {
    case TC_OPS_IS_NONE: return NULL;
    case TC_OPS_IS_TENSOR:
        if (v->is.tensor) *to = (tc_arg){.kind = TC_A_VALUE, .value = TC_NEW(a, tc_value)}, to->value->aux = (void *)(uintptr_t)v->is.tensor->t;
        break;
    case TC_OPS_IS_TENSORS:
        *to = (tc_arg){.kind = TC_A_VALUES, .n = n, .values = TC_NEWN(a, tc_value *, (size_t)n + 1)};
        for (int i = 0; i < n; i++)
            if (v->is.tensors[i]) to->values[i] = TC_NEW(a, tc_value), to->values[i]->aux = (void *)(uintptr_t)v->is.tensors[i]->t;
        break;
    case TC_OPS_IS_INT: *to = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_int(v->is.integer)}; break;
    case TC_OPS_IS_BOOL: *to = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(v->is.integer != 0)}; break;
    case TC_OPS_IS_FLOAT: *to = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_float(v->is.number)}; break;
    case TC_OPS_IS_TEXT: *to = (tc_arg){.kind = TC_A_STRING, .string = v->is.text}; break;
    case TC_OPS_IS_TYPE:
        if (v->is.integer <= 0 || v->is.integer >= x->ndtypes) return tc_error(TC_CONTENT, "there is not a dtype %lld", (long long)v->is.integer);
        *to = (tc_arg){.kind = TC_A_DTYPE, .dtype = x->dtype[v->is.integer]};
        break;
    case TC_OPS_IS_INTS: {
        tc_sym *syms = TC_NEWN(a, tc_sym, (size_t)n + 1);
        for (int i = 0; i < n; i++) syms[i] = tc_sym_int(s, v->is.integers[i]);
        *to = (tc_arg){.kind = TC_A_INTS, .n = n, .syms = syms};
        break;
    }
    default: return tc_error(TC_CONTENT, "an argument of no known kind");
    }
    return NULL;
}

/* Runs an operator that a kernel calls: rare, and on one thread, as the pool is the kernel's. */
static tc_status evaluate(const tc_op *op, tc_arg *args, int nargs, tc_tensor *out, int nresults) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static tc_evaluator *evaluator;
    pthread_mutex_lock(&lock);
    tc_status s = evaluator ? NULL : tc_evaluator_create(&(tc_exec_options){.threads = 1}, &evaluator);
    if (!s) {
        const tc_eval e = tc_evaluator_eval(evaluator);
        s = e.call(e.self, op, args, nargs, NULL, out, nresults);
    }
    pthread_mutex_unlock(&lock);
    return s;
}

static int op_call(tc_ops_call *c, const char *name, const tc_ops_value *values, int nargs, tc_ops_tensor **out_results, int nresults) {
    enum { MOST = 16 };
    extension_call *f = call_of(c);
    tc_arena a = {0};
    tc_arg args[TC_EXTENSION_PARAMS];
    tc_tensor out[MOST] = {{0}};
    const tc_op *op = tc_op_find(name);
    tc_status s = NULL;
    if (!op || tc_extension_op_of(op)) s = tc_error(TC_CONTENT, "tc has no operator %s", name);
    else if (nargs < 0 || nargs > tc_op_schema(op)->nparams || nargs > TC_EXTENSION_PARAMS || nresults < 1 || nresults > MOST || tc_op_mutates(op))
        s = tc_error(TC_CONTENT, "%s: wrong numbers of arguments or results, or it writes to its arguments", name);
    tc_symctx *syms = tc_symctx_create();
    for (int i = 0; i < nargs && !s; i++) s = value_arg(&a, syms, f->o->of, &values[i], &args[i]);
    if (!s) s = evaluate(op, args, nargs, out, nresults);
    for (int i = 0; i < nresults && !s; i++) out_results[i] = keep(f, out[i]);
    tc_symctx_destroy(syms);
    tc_arena_free(&a);
    if (!s) return 0;
    fail(c, tc_status_message(s));
    tc_status_free(s);
    return 1;
}

/* ---- running ---- */
typedef struct {
    void (*fn)(void *ctx, int64_t begin, int64_t end);
    void *ctx;
} range;
static void run_range(void *ctx, int64_t begin, int64_t end, int worker) {
    const range *r = ctx;
    (void)worker;
    r->fn(r->ctx, begin, end);
}
static void parallel(tc_ops_call *c, int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx) {
    extension_call *f = call_of(c);
    const bool nested = __atomic_exchange_n(&f->inside, true, __ATOMIC_ACQ_REL);
    if (n > 0) tc_parallel_for(nested ? NULL : f->k->pool, n, grain > 0 ? grain : 1, run_range, &(range){fn, ctx});
    if (!nested) __atomic_store_n(&f->inside, false, __ATOMIC_RELEASE);
}

static const tc_ops_api api = {.bytes = sizeof api,
                               .version = TC_OPS_VERSION,
                               .arg = arg,
                               .list = list,
                               .item = item,
                               .given = given,
                               .integer = integer,
                               .number = number,
                               .integers = integers,
                               .numbers = numbers,
                               .text = text,
                               .type = type,
                               .result = result,
                               .dtype = t_dtype,
                               .element_bytes = element_bytes,
                               .rank = t_rank,
                               .sizes = sizes,
                               .strides = strides,
                               .data = data,
                               .empty = empty,
                               .view = view,
                               .op = op_call,
                               .set_error = fail,
                               .parallel = parallel};

/* What the kernel writes to begins as the argument's value: a copy, unless the result lies in the argument's memory. */
static tc_status begin_writes(const tc_extension_op *o, tc_kcall *k) {
    for (int i = 0; i < o->schema->nparams; i++) {
        if (o->to[i] < 0 || o->from[i] < 0) continue;
        const tc_tensor *from = k->args[o->from[i]].tensor, *to = &k->outs[o->to[i]];
        if (tc_tensor_data(from) == tc_tensor_data(to) && tc_tensor_is_contiguous(from)) continue;
        tc_tensor t;
        TC_TRY(tc_tensor_contiguous(from, &t));
        if (tc_tensor_bytes(to)) memcpy(tc_tensor_data(to), tc_tensor_data(&t), tc_tensor_bytes(to));
        tc_tensor_deinit(&t);
    }
    return NULL;
}

static tc_status run(tc_kcall *k) {
    const tc_extension_op *o = (const tc_extension_op *)k->kernel;
    extension_call f;
    f.c.api = &api;
    f.k = k, f.o = o, f.made = NULL, f.failure = NULL, f.inside = false;
    if (o->schema != o->functional) TC_TRY(begin_writes(o, k));
    const int code = o->run(&f.c);
    if (code && !f.failure) f.failure = tc_error(TC_CONTENT, "%s: its kernel returned %d", tc_op_name(o->op), code);
    for (made *m = f.made, *next; m; m = next) {
        next = m->next;
        tc_tensor_deinit(&m->t);
        free(m);
    }
    return f.failure;
}

tc_status tc_extension_call(const tc_node *n, tc_tensor *t, tc_tensor *outs, struct tc_pool *pool) {
    kernel_call *k = tc_xcalloc(1, sizeof *k);
    tc_status s = kernel_args(n, t, NULL, 0, true, k);
    k->k.outs = outs, k->k.nouts = n->nouts, k->k.pool = pool, k->k.kernel = n->op->kernel;
    if (!s) s = run(&k->k);
    k->k.outs = NULL;
    kernel_call_free(k);
    return s;
}

/* ---- loading ---- */
static tc_status read_table(tc_extension *x, const tc_ops_extension *given_table, tc_ops_extension *t) {
    if (!given_table) return tc_error(TC_CONTENT, "%s gave no table: it refuses this tc", TC_OPS_SYMBOL);
    if (given_table->version > TC_OPS_VERSION)
        return tc_error(TC_CONTENT, "made for version %u of tc_ops.h, expected at most %d: a later tc runs it", given_table->version, TC_OPS_VERSION);
    if (!given_table->version || given_table->bytes < offsetof(tc_ops_extension, name))
        return tc_error(TC_CONTENT, "its table is not one of tc_ops.h");
    *t = (tc_ops_extension){0};
    memcpy(t, given_table, given_table->bytes < sizeof *t ? given_table->bytes : sizeof *t);
    if (!t->ops || !t->nops || t->operator_bytes < offsetof(tc_ops_operator, flags)) return tc_error(TC_CONTENT, "it has no operators");
    if (!t->dtypes || t->ndtypes >= sizeof x->dtype / sizeof *x->dtype) return tc_error(TC_CONTENT, "it does not say what its dtypes are");
    x->ndtypes = (int)t->ndtypes + 1;
    x->dtype[0] = TC_DTYPE_NONE;
    for (uint32_t i = 0; i < t->ndtypes; i++) {
        const tc_dtype d = t->dtypes[i] ? tc_dtype_parse(t->dtypes[i], strlen(t->dtypes[i])) : TC_DTYPE_NONE;
        x->dtype[i + 1] = d;
        if (d != TC_DTYPE_NONE) x->code[d] = (uint8_t)(i + 1);
    }
    x->name = tc_xstrdup(t->name ? t->name : "");
    return NULL;
}

/* Loads the file from a sealed copy, so that what runs is what was checked. It stays loaded, since rows lead to its code, and so does its descriptor: the
 * loader knows libraries by their names, and the next descriptor of that number would be taken for this one. */
static tc_status open_library(const char *path, bool trusted, void **out) {
    tc_blob *file;
    char name[40];
    int fd;
    bool runs = false;
    TC_TRY(tc_blob_open(path, &file));
    tc_status s = tc_code_seal(&(tc_native_code){file->data, file->len, "", TC_OPS_SYMBOL}, trusted, &fd, &runs);
    tc_blob_release(file);
    if (s) return s;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (!runs)
        s = tc_status_add(tc_error(TC_USAGE, "this user did not build it, so its code is not run"),
                          "tc-compile --ops SOURCE.c -o FILE.so makes your own; --trust runs this one");
    else if (!(*out = dlopen(name, RTLD_NOW | RTLD_LOCAL))) {
        const char *why = dlerror(), *colon = strstr(why, ": ");
        s = tc_error(TC_CONTENT, "it cannot be loaded: %s", colon ? colon + 2 : why);
    }
    if (s) close(fd);
    return s;
}

static tc_status load(const char *path, bool trusted) {
    void *so;
    TC_TRY(open_library(path, trusted, &so));
    const tc_ops_extension *(*entry)(const tc_ops_api *) = NULL;
    *(void **)&entry = dlsym(so, TC_OPS_SYMBOL);
    tc_extension *x = tc_xcalloc(1, sizeof *x);
    tc_ops_extension t;
    tc_status s = entry ? read_table(x, entry(&api), &t) : tc_error(TC_CONTENT, "no extension: it does not define %s", TC_OPS_SYMBOL);
    bool some = false;
    x->path = tc_xstrdup(path);
    if (!s) s = tc_extension_register(x, &t, run, &some);
    if (!some) { /* the library stays loaded even then: its constructors may have left pointers to its code */
        free((void *)(uintptr_t)x->path);
        free((void *)(uintptr_t)x->name);
        free(x);
    }
    return s;
}

tc_status tc_extension_load(const char *path, bool trusted) {
    if (access(path, R_OK)) return tc_error(TC_ENV, "%s: %s", path, strerror(errno));
    return tc_annotate(load(path, trusted), "%s", path);
}

tc_status tc_extension_trust(const void *code, size_t len) { return tc_trust_add(&(tc_native_code){code, len, "", TC_OPS_SYMBOL}); }

void tc_extension_list(tc_buf *out) {
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        const tc_extension_op *o = tc_extension_op_of(op);
        if (!o || o->op != op) continue;
        tc_buf_printf(out, "%s\tshape: %s\tgradient: %s\tkernel: %s\n", o->text, o->shape ? o->shape : "as the first tensor",
                      o->gradient ? o->gradient : "none", o->of->path);
    }
}
