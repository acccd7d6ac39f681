/* The modules corpus (ops/modules): a module is constructed, given the case's state, and called; its outputs and the buffers that the call
 * changed are compared. Then the call and its gradients are captured as one program, and the program's outputs, gradients and buffers too.
 * Usage: conform-modules FOLDER CORPUS [NAME[/ID]]. */
#include "cases.h"

static const char helpers[] = "import torch\n"
                              "def prepare(m, state, wide, training):\n"
                              "    if wide:\n"
                              "        m.double()\n"
                              "    if state:\n"
                              "        m.load_state_dict(state)\n"
                              "    return m.train(training)\n"
                              "def leaves(r):\n"
                              "    if isinstance(r, torch.Tensor):\n"
                              "        return [r]\n"
                              "    if isinstance(r, dict):\n"
                              "        r = list(r.values())\n"
                              "    return [t for e in r for t in leaves(e)] if isinstance(r, (tuple, list)) else []\n"
                              "def gradients(m, result, args, wrt, cot):\n"
                              "    named = dict(m.named_parameters())\n"
                              "    inputs = [named[n[2:]] if n.startswith('p.') else args[n] for n in wrt]\n"
                              "    r = leaves(result)\n"
                              "    return r, torch.autograd.grad([r[int(n[1:])] for n in cot], inputs, list(cot.values()))\n";

typedef struct {
    const test_case *t;
    const tc_tensors *all;
    tc_buf *why;
    bool wrong;
    module *m;
    dict *seen; /* what the case's expressions see */
    tc_program *program;
    tc_status st;
} job;

static tc_tensor stored(C *c, job *j, const char *name) {
    tc_tensor x;
    if (!take(j->all, j->t, name, has(&j->t->cplx, name), &x)) tc_raise(c, "KeyError", "%s is not in the file", name);
    return x;
}

static V given(C *c, job *j, const char *name, bool requires_grad) {
    tc_tensor x = stored(c, j, name);
    V v = tc_value_of_tensor(c, &x, requires_grad);
    tc_tensor_deinit(&x);
    return v;
}

static bool is_double(V v) { return tc_tensor_of_value(v)->dtype == TC_F64; }

/* The module with the case's state, in the case's mode: seen as m. */
static void construct(C *c, job *j) {
    const test_case *t = j->t;
    dict *state = tc_dict(c);
    bool wide = false;
    j->m = tc_lang_load(c, "case.py", helpers, sizeof helpers - 1);
    j->seen = tc_dict(c);
    for (int i = 0; i < t->ctor_args.n; i++) {
        V v = given(c, j, t->ctor_args.data[i], false);
        wide = wide || is_double(v);
        tc_dict_setc(c, j->seen, t->ctor_args.data[i], v);
    }
    for (int i = 0; i < t->state.n; i++) {
        char name[512];
        snprintf(name, sizeof name, "p.%s", t->state.data[i]);
        V v = given(c, j, name, false);
        wide = wide || is_double(v);
        tc_dict_setc(c, state, t->state.data[i], v);
    }
    tc_generator_seed(&gen, CORPUS_SEED);
    tc_dict_setc(c, j->seen, "m", tc_lang_eval(c, j->m, j->seen, "constructor", t->ctor));
    tc_dict_setc(c, j->seen, "state", (V)state);
    char text[64];
    snprintf(text, sizeof text, "prepare(m, state, %s, %s)", wide ? "True" : "False", strcmp(t->mode, "train") ? "False" : "True");
    tc_lang_eval(c, j->m, j->seen, "state", text);
    tc_generator_seed(&gen, t->seeded ? t->seed : CORPUS_SEED);
}

static void call(C *c, void *ctx) {
    job *j = ctx;
    const test_case *t = j->t;
    construct(c, j);
    for (int i = 0; i < t->args.n; i++) tc_dict_setc(c, j->seen, t->args.data[i], given(c, j, t->args.data[i], false));
    V result = tc_lang_eval(c, j->m, j->seen, "call", t->call);
    j->wrong = !check_outputs(c, t, j->all, result, j->why);
    for (int i = 0; i < t->state_after.n && !j->wrong; i++) {
        char name[512];
        snprintf(name, sizeof name, "m.state_dict()['%s']", t->state_after.data[i]);
        V now = tc_lang_eval(c, j->m, j->seen, "state", name);
        snprintf(name, sizeof name, "s.%s", t->state_after.data[i]);
        tc_tensor want = stored(c, j, name);
        j->wrong = !agree(tc_tensor_of_value(now), &want, true, t->rtol, t->atol, name, j->why);
        tc_tensor_deinit(&want);
    }
}

/* ---- the same as a program with gradients ---- */
static V input(C *c, job *j, tc_capture *k, const char *name) {
    tc_tensor x = stored(c, j, name);
    char sizes[TC_MAX_RANK][24];
    tc_capture_input in = {.name = name, .kind = TC_INPUT_TENSOR, .dtype = x.dtype, .rank = x.rank, .requires_grad = has(&j->t->wrt, name)};
    for (int i = 0; i < x.rank; i++) {
        snprintf(sizes[i], sizeof sizes[i], "%lld", (long long)x.size[i]);
        in.size[i] = sizes[i];
    }
    tc_tensor_deinit(&x);
    return tc_capture_tensor(k, &in);
}

static V list_of(C *c, const names *n) {
    list *l = tc_list(c, 0);
    for (int i = 0; i < n->n; i++) tc_list_push(c, l, tc_strn(c, n->data[i], strlen(n->data[i])));
    return (V)l;
}

static void capture(C *c, void *ctx) {
    job *j = ctx;
    const test_case *t = j->t;
    dict *tensors = tc_dict(c), *cot = tc_dict(c);
    construct(c, j);
    tc_capture *k = tc_capture_begin(c, "case");
    tc_capture_state(k, tc_dict_gets(c, j->seen, tc_intern(c, "m", 1)));
    for (int i = 0; i < t->args.n; i++) {
        V v = input(c, j, k, t->args.data[i]);
        tc_dict_setc(c, j->seen, t->args.data[i], v);
        tc_dict_setc(c, tensors, t->args.data[i], v);
    }
    for (int i = 0; i < t->cot.n; i++) tc_dict_setc(c, cot, t->cot.data[i], input(c, j, k, t->cot.data[i]));
    tc_dict_setc(c, j->seen, "result", tc_lang_eval(c, j->m, j->seen, "call", t->call));
    tc_dict_setc(c, j->seen, "given_args", (V)tensors);
    tc_dict_setc(c, j->seen, "given_cot", (V)cot);
    tc_dict_setc(c, j->seen, "given_wrt", list_of(c, &t->wrt));
    tc_capture_outputs(k, tc_lang_eval(c, j->m, j->seen, "gradients", "gradients(m, result, given_args, given_wrt, given_cot)"), NULL, 0);
    j->program = tc_capture_end(k);
}

static void leave(C *c, void *ctx) {
    (void)ctx;
    tc_capture_abandon(c);
}

/* Outputs and gradients in order, then the buffers that the run changed. */
static void compare(job *j, tc_exec *e, const tc_tensor *results) {
    const test_case *t = j->t;
    const tc_program *p = j->program;
    bool value = !strcmp(t->check, "value") || t->seeded;
    for (int i = 0, k = 0; i < p->noutputs && !j->wrong; i++) {
        char name[512], what[600];
        tc_tensor want;
        if (p->outputs[i].kind != TC_OUT_USER) continue;
        bool output = k < t->out.n;
        if (k >= t->out.n + t->wrt.n) break;
        snprintf(name, sizeof name, "%s%s", output ? "" : "g.", output ? t->out.data[k] : t->wrt.data[k - t->out.n]);
        k++;
        if (!take(j->all, t, name, has(&t->cplx, name), &want)) continue;
        snprintf(what, sizeof what, "captured %s", name);
        j->wrong = !agree(&results[i], &want, output ? value : true, output ? t->rtol : t->grtol, output ? t->atol : t->gatol, what, j->why);
        tc_tensor_deinit(&want);
    }
    for (int i = 0; i < p->ninputs && !j->wrong; i++) {
        char name[512];
        tc_tensor want;
        snprintf(name, sizeof name, "s.%s", p->inputs[i].name);
        if (p->inputs[i].kind != TC_IN_BUFFER || !has(&t->state_after, p->inputs[i].name) || !take(j->all, t, name, false, &want)) continue;
        j->wrong = !agree(tc_exec_state(e, i), &want, true, t->rtol, t->atol, name, j->why);
        tc_tensor_deinit(&want);
    }
}

static tc_status run_program(job *j) {
    const test_case *t = j->t;
    const tc_program *p = j->program;
    tc_tensor *in = tc_xcalloc((size_t)(t->args.n + t->cot.n + 1), sizeof *in), *results = tc_xcalloc((size_t)p->noutputs + 1, sizeof *results);
    tc_exec *e = NULL;
    int n = 0;
    for (; n < t->args.n + t->cot.n; n++) {
        const char *name = n < t->args.n ? t->args.data[n] : t->cot.data[n - t->args.n];
        if (!take(j->all, t, name, has(&t->cplx, name), &in[n])) break;
    }
    tc_generator_seed(&gen, t->seeded ? t->seed : CORPUS_SEED);
    tc_status st = tc_exec_create(p, &(tc_exec_options){.threads = 1}, &e);
    if (!st) st = tc_exec_run(e, in, n, &gen, results, p->noutputs);
    if (!st) compare(j, e, results);
    for (int i = 0; i < p->noutputs; i++) tc_tensor_deinit(&results[i]);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&in[i]);
    tc_exec_destroy(e);
    free(in);
    free(results);
    return st;
}

static verdict run_case(C *c, const test_case *t, const tc_tensors *all, tc_status wide, tc_buf *why) {
    job j = {.t = t, .all = all, .why = why};
    (void)wide;
    tc_status st = tc_lang_run(c, call, &j);
    if (!st && !j.wrong && t->grad && t->cot.n) {
        st = tc_lang_run(c, capture, &j);
        if (st) tc_status_free(tc_lang_run(c, leave, NULL));
        else st = run_program(&j);
        tc_program_release(j.program);
        if (st) tc_buf_puts(why, "captured: ");
    }
    return case_ended(st, j.wrong, why);
}

int main(int argc, char **argv) { return run_corpus(argc, argv, run_case); }
