/* --verify: runs the exported program and the ONNX model on the same inputs (verify.h), made as for tc-bench: floats in [-1, 1), integers 0, or the
 * least number at which the program's own conditions hold, unbound sizes at their least. Inputs and results are matched by position, which ONNX preserves. */
#include "verify.h"

#include "cmd/inputs.h"
#include "cmd/program.h"
#include "file/pt2.h"
#include "runtime/runtime.h"

typedef struct {
    const tc_program *program;
    tc_exec *exec;
    tc_tensor *inputs, *outputs;
    int ninputs;
} side;

static void close_side(side *s) {
    tc_exec_destroy(s->exec);
    for (int i = 0; i < s->ninputs; i++) tc_tensor_deinit(&s->inputs[i]);
    for (int i = 0; s->outputs && i < s->program->noutputs; i++) tc_tensor_deinit(&s->outputs[i]);
    free(s->inputs);
    free(s->outputs);
}

static tc_status run_side(tc_cmd *c, side *s) {
    s->outputs = tc_xcalloc((size_t)s->program->noutputs + 1, sizeof *s->outputs);
    TC_TRY(tc_exec_create(s->program, &(tc_exec_options){.pool = tc_cmd_pool(c), .threads = 1}, &s->exec));
    return tc_exec_run(s->exec, s->inputs, s->ninputs, NULL, s->outputs, s->program->noutputs);
}

/* Drops the resident pages of mapped weights, so that memory holds those of one program at a time. Pages that a run wrote are private and stay. */
static void give_back_weights(const tc_program *p) {
    for (int i = 0; i < p->ninputs; i++) {
        const tc_storage *s = p->inputs[i].data.storage;
        if (s && s->deleter == tc_blob_deleter) tc_blob_forget(s->ctx, s->data, s->bytes);
    }
}

/* A complex tensor viewed as reals with a last dimension of 2, as ONNX models written by tc have it. Shares t's reference. */
static tc_tensor in_parts(const tc_tensor *t) {
    tc_tensor r = *t;
    if (!tc_is_complex(t->dtype) || t->rank == TC_MAX_RANK) return r;
    r.dtype = t->dtype == TC_C128 ? TC_F64 : TC_F32;
    for (int d = 0; d < t->rank; d++) r.stride[d] *= 2;
    r.offset *= 2;
    r.size[r.rank] = 2, r.stride[r.rank++] = 1;
    return r;
}

/* The values of each input: whole numbers are `whole`, floats in [-1, 1). */
static void ranges(const tc_program *p, int whole, double *lo, double *hi) {
    for (int i = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        const tc_value *v = p->inputs[i].value;
        const bool integral = v->kind == TC_V_TENSOR && tc_is_integral(v->meta.dtype), counts = integral && v->meta.dtype != TC_BOOL;
        *lo++ = counts ? whole : integral ? 0 : -1;
        *hi++ = counts ? whole + 1 : 1;
    }
}

/* Makes the inputs, and a copy for the second program, since a run may mutate its inputs. */
static tc_status make_inputs(side *a, side *b, int whole) {
    size_t nvars = tc_sym_var_count(a->program->sym), n = (size_t)a->program->ninputs + 1;
    tc_symvalue *vars = tc_xcalloc(nvars + 1, sizeof *vars);
    double *lo = tc_xcalloc(2 * n, sizeof *lo), *hi = lo + n;
    ranges(a->program, whole, lo, hi);
    tc_status st = tc_cmd_make_inputs(a->program, vars, nvars, lo, hi, &a->inputs, &a->ninputs);
    free(lo);
    b->inputs = tc_xcalloc((size_t)a->ninputs + 1, sizeof *b->inputs);
    for (; !st && b->ninputs < a->ninputs; b->ninputs += !st) {
        tc_tensor *to = &b->inputs[b->ninputs];
        st = tc_tensor_clone(&a->inputs[b->ninputs], to);
        if (!st) *to = in_parts(to);
    }
    free(vars);
    return st;
}

/* The i-th result of a run; mutated values, which are results of an ONNX model, follow the results. NULL: there are fewer. */
static const tc_tensor *result_at(const side *s, int i, const char **out_name) {
    const tc_program *p = s->program;
    for (int k = 0; k < p->noutputs; k++) {
        *out_name = p->outputs[k].name;
        if (s->outputs[k].storage && i-- == 0) return &s->outputs[k];
    }
    for (int k = 0; k < p->noutputs; k++) {
        const tc_output *o = &p->outputs[k];
        if (o->kind < TC_OUT_BUFFER || o->kind > TC_OUT_USER_INPUT || o->target < 0 || i-- != 0) continue;
        *out_name = p->inputs[o->target].name;
        int user = 0;
        for (int n = 0; n < o->target; n++) user += p->inputs[n].kind == TC_IN_USER;
        return o->kind == TC_OUT_USER_INPUT ? &s->inputs[user] : tc_exec_state(s->exec, o->target);
    }
    return NULL;
}

static int user_inputs(const tc_program *p) {
    int n = 0;
    for (int i = 0; i < p->ninputs; i++) n += p->inputs[i].kind == TC_IN_USER;
    return n;
}

static bool is_narrow(const tc_tensor *t) { return t->storage && tc_is_float(t->dtype) && tc_dtype_size(t->dtype) < 4; }

static double tolerance_of(const side *s) {
    bool narrow = false;
    for (int i = 0; i < s->program->ninputs; i++) narrow = narrow || is_narrow(&s->program->inputs[i].data);
    for (int i = 0; i < s->program->noutputs; i++) narrow = narrow || is_narrow(&s->outputs[i]);
    return narrow ? 1e-2 : 1e-4;
}

static tc_status compare(tc_cmd *c, const side *a, const side *b, const char *path) {
    double tolerance = tolerance_of(a);
    const char *worst = NULL, *name, *other;
    const tc_tensor *x, *y;
    for (int i = 0; (x = result_at(a, i, &name)); i++) {
        tc_diff d = {0};
        y = result_at(b, i, &other);
        if (!y) return tc_error(TC_DIFFERENT, "%s: result %s is missing", path, name);
        const tc_tensor seen = in_parts(x);
        TC_TRY(tc_tensor_compare(y, &seen, tolerance, tolerance, &d), "%s: result %s", path, name);
        tc_cmd_note(c, "%s: largest difference %.3g, relative %.3g", name, d.max_abs, d.max_rel);
        if (d.count && !worst) worst = name;
    }
    return worst ? tc_error(TC_DIFFERENT, "%s: result %s differs from the program's", path, worst) : NULL;
}

static tc_status open_model(tc_cmd *c, const char *path, bool values, tc_archive **out_archive) {
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    tc_status st = tc_cmd_onnx(c, b, values, out_archive);
    tc_blob_release(b);
    return st;
}

/* Makes the inputs of both and runs the program: a number that decides a size may have to be more than 0. Else the error of 0 is returned. */
static tc_status run_program(tc_cmd *c, side *a, side *b) {
    enum { MOST = 8 };
    tc_status first = NULL;
    for (int whole = 0; whole <= MOST; whole++) {
        tc_status st = make_inputs(a, b, whole);
        if (!st) st = run_side(c, a);
        if (!first) first = st;
        else if (st) tc_status_free(st);
        else tc_status_free(first), first = NULL;
        if (!st || tc_status_code(first) != TC_CONTENT) break;
        close_side(a), close_side(b);
        *a = (side){.program = a->program}, *b = (side){.program = b->program};
    }
    return first;
}

static tc_status run_both(tc_cmd *c, const tc_program *p, const tc_program *q, const char *path) {
    side a = {.program = p}, b = {.program = q};
    tc_status st = run_program(c, &a, &b);
    give_back_weights(p);
    if (!st) st = run_side(c, &b);
    if (!st) st = compare(c, &a, &b, path);
    close_side(&a), close_side(&b);
    return st;
}

tc_status verify_onnx(tc_cmd *c, const tc_program *p, const char *path, bool values) {
    tc_archive *a;
    tc_program *q = NULL;
    TC_TRY(open_model(c, path, values, &a), "reading %s back", path);
    tc_status st = tc_archive_program(a, tc_archive_name(a, 0), &q);
    int n = user_inputs(p), m = q ? user_inputs(q) : 0;
    if (!st && n != m) st = tc_error(TC_DIFFERENT, "%s has %d inputs, the program %d", path, m, n);
    if (!st) st = run_both(c, p, q, path);
    tc_program_release(q);
    tc_archive_close(a);
    return st;
}
