/* The optim corpus (ops/optim): optimisers step by step, LBFGS with its closure, schedules of learning rates, clipping and averaged models.
 * All is evaluated in the model language on concrete tensors; the gradient of LBFGS's loss is a captured program that the closure runs.
 * Usage: conform-optim FOLDER CORPUS [NAME[/ID]]. */
#include "cases.h"

static const char helpers[] = "import torch\n"
                              "def parameter(t):\n"
                              "    return torch.nn.Parameter(t)\n"
                              "def set_grad(p, g):\n"
                              "    p.grad = g\n"
                              "def closure(opt, p, program):\n"
                              "    def f():\n"
                              "        opt.zero_grad()\n"
                              "        loss, g = program(p)\n"
                              "        p.grad = g\n"
                              "        return loss\n"
                              "    return f\n"
                              "def rates(opt, key):\n"
                              "    return [float(g[key] if key in g else g['betas'][0]) for g in opt.param_groups]\n"
                              "def wrong(found, want, rtol, atol):\n"
                              "    return len(found) != len(want) or any(not abs(x - r) <= atol + rtol * abs(r) for x, r in zip(found, want))\n"
                              "def schedule(opt, sched, lr, momentum, metrics, rtol, atol):\n"
                              "    for i in range(len(lr)):\n"
                              "        if i:\n"
                              "            opt.step()\n"
                              "            sched.step(metrics[i - 1]) if metrics else sched.step()\n"
                              "        for key, want in (('lr', lr), ('momentum', momentum)):\n"
                              "            if want and wrong(rates(opt, key), want[i], rtol, atol):\n"
                              "                return f'{key} after step {i} is {rates(opt, key)}, expected {want[i]}'\n"
                              "    return ''\n"
                              "def assign(m, state):\n"
                              "    with torch.no_grad():\n"
                              "        for k, v in m.state_dict().items():\n"
                              "            v.copy_(state[k])\n";

typedef struct {
    const test_case *t;
    const tc_tensors *all;
    tc_buf *why;
    bool wrong;
    module *m;
    dict *seen;
    tc_exec *loss; /* (p0, constants) -> (loss, gradient) */
} job;

static V eval(C *c, job *j, const char *text) { return tc_lang_eval(c, j->m, j->seen, "case", text); }
static void let(C *c, job *j, const char *name, V v) { tc_dict_setc(c, j->seen, name, v); }

/* Tensor ID.NAME; NULL: the file has none. */
static V stored(C *c, job *j, const char *name) {
    tc_tensor x;
    if (!take(j->all, j->t, name, false, &x)) return NULL;
    V v = tc_value_of_tensor(c, &x, false);
    tc_tensor_deinit(&x);
    return v;
}

/* The tensor `found` against ID.NAME. */
static void expect(C *c, job *j, V found, const char *name) {
    tc_tensor want;
    if (j->wrong) return;
    if (!take(j->all, j->t, name, false, &want)) tc_raise(c, "KeyError", "%s is not in the file", name);
    const tc_tensor *x = tc_tensor_of_value(found);
    if (x) j->wrong = !agree(x, &want, true, j->t->rtol, j->t->atol, name, j->why);
    else tc_buf_printf(j->why, "%s is no tensor", name), j->wrong = true;
    tc_tensor_deinit(&want);
}

/* NAME p0 of the params: a parameter with the value ID.p0, or with its gradient ID.g.p0 only. */
static void parameters(C *c, job *j) {
    for (int i = 0; i < j->t->params.n; i++) {
        char text[200];
        const char *p = j->t->params.data[i];
        V v = stored(c, j, p);
        snprintf(text, sizeof text, "g.%s", p);
        V g = stored(c, j, text);
        if (!v && !g) tc_raise(c, "KeyError", "%s is not in the file", p);
        let(c, j, "given", v ? v : g);
        let(c, j, p, eval(c, j, v ? "parameter(given)" : "parameter(torch.zeros_like(given))"));
        snprintf(text, sizeof text, "set_grad(%s, given)", p);
        if (g) eval(c, j, text);
    }
}

static int steps_of(const test_case *t) {
    const char *s = case_text(t, "steps");
    return s ? (int)strtol(s, NULL, 10) : 0;
}

static void optimiser(C *c, job *j) {
    const test_case *t = j->t;
    let(c, j, "opt", eval(c, j, t->ctor));
    for (int s = 1, n = steps_of(t); s <= n && !j->wrong; s++) {
        char text[200];
        for (int i = 0; i < t->params.n; i++) {
            snprintf(text, sizeof text, "s%d.g.%s", s, t->params.data[i]);
            V g = stored(c, j, text);
            let(c, j, "given", g ? g : c->none);
            snprintf(text, sizeof text, "set_grad(%s, given)", t->params.data[i]);
            eval(c, j, text);
        }
        eval(c, j, "opt.step()");
        for (int i = 0; i < t->params.n; i++) {
            snprintf(text, sizeof text, "s%d.%s", s, t->params.data[i]);
            expect(c, j, eval(c, j, t->params.data[i]), text);
        }
    }
}

/* ---- LBFGS ---- */
static tc_status capture_loss(const test_case *t, const tc_tensors *all, tc_exec **out) {
    names constants = {0};
    tc_capture_input in[16] = {{0}};
    tc_tensor held[16] = {{0}};
    char sizes[16][TC_MAX_RANK][24];
    tc_buf text = {0};
    tc_jread j, k;
    const char *loss = case_text(t, "loss"), *of = case_text(t, "const");
    tc_jr_init(&j, "loss", loss, strlen(loss));
    tc_jr_init(&k, "const", of, strlen(of));
    constants = name_list(&k, t->arena);
    tc_buf_puts(&text, "import torch\nclass Loss(torch.nn.Module):\n    def forward(self, p0");
    for (int i = 0; i < constants.n; i++) tc_buf_printf(&text, ", %s", constants.data[i]);
    tc_buf_printf(&text, "):\n        loss = %s\n        return loss, torch.autograd.grad(loss, p0)[0]\n", tc_jr_strdup(&j, t->arena));
    tc_status_free(tc_jr_finish(&j));
    tc_status_free(tc_jr_finish(&k));
    for (int i = 0; i <= constants.n && i < 16; i++) {
        const char *name = i ? constants.data[i - 1] : "p0";
        if (!take(all, t, name, false, &held[i])) continue;
        in[i] = (tc_capture_input){.name = name, .kind = TC_INPUT_TENSOR, .dtype = held[i].dtype, .rank = held[i].rank, .requires_grad = !i};
        for (int d = 0; d < held[i].rank; d++) {
            snprintf(sizes[i][d], sizeof sizes[i][d], "%lld", (long long)held[i].size[d]);
            in[i].size[d] = sizes[i][d];
        }
        tc_tensor_deinit(&held[i]);
    }
    tc_capture_request r = {.path = "loss.py",
                            .text = text.data,
                            .len = text.len,
                            .class_name = "Loss",
                            .inputs = in,
                            .ninputs = constants.n + 1,
                            .eval = true,
                            .run = tc_evaluator_eval(evaluator)};
    tc_capture_result made = {0};
    tc_status st = tc_capture_source(&r, &made);
    if (!st) st = tc_exec_create(made.model, &(tc_exec_options){.threads = 1}, out);
    tc_program_release(made.model);
    free(made.printed);
    tc_buf_free(&text);
    return st;
}

static V run_loss(C *c, args *A) {
    job *j = ((native *)A->a[0])->data;
    tc_tensor in[16] = {{0}}, out[2] = {{0}};
    const tc_tensor *p = tc_tensor_of_value(A->a[1]);
    const tc_program *program = tc_exec_program(j->loss);
    int n = 0;
    tc_status st = NULL;
    for (int i = 0; i < program->ninputs && n < 16; i++) {
        if (program->inputs[i].kind != TC_IN_USER) continue;
        if (!n) in[n++] = tc_tensor_share(p);
        else if (take(j->all, j->t, program->inputs[i].name, false, &in[n])) n++;
    }
    st = tc_exec_run(j->loss, in, n, NULL, out, 2);
    V pair[2] = {st ? NULL : tc_value_of_tensor(c, &out[0], false), st ? NULL : tc_value_of_tensor(c, &out[1], false)};
    for (int i = 0; i < n; i++) tc_tensor_deinit(&in[i]);
    for (int i = 0; i < 2; i++) tc_tensor_deinit(&out[i]);
    if (st) tc_raise_status(c, "RuntimeError", st);
    return tc_tuple(c, 2, pair);
}

static void lbfgs(C *c, job *j) {
    const test_case *t = j->t;
    V holder = tc_native(c, "loss", run_loss, j);
    let(c, j, "opt", eval(c, j, t->ctor));
    let(c, j, "program", tc_method(c, holder, holder));
    let(c, j, "losses", eval(c, j, case_text(t, "losses")));
    let(c, j, "f", eval(c, j, "closure(opt, p0, program)"));
    for (int s = 1, n = steps_of(t); s <= n && !j->wrong; s++) {
        char text[200];
        let(c, j, "loss", eval(c, j, "float(opt.step(f))"));
        snprintf(text, sizeof text, "wrong([loss], [losses[%d]], %.17g, %.17g)", s - 1, t->rtol, t->atol);
        if (eval(c, j, text) == c->true_) {
            tc_buf_printf(j->why, "the loss at step %d is %s", s, tc_repr(c, eval(c, j, "loss"))->s);
            j->wrong = true;
        }
        snprintf(text, sizeof text, "s%d.p0", s);
        expect(c, j, eval(c, j, "p0"), text);
    }
}

/* ---- schedulers, clipping, averaging ---- */
static const char *expression_of(const test_case *t, const char *key) {
    const char *s = case_text(t, key);
    return s ? s : "None";
}

static void scheduler(C *c, job *j) {
    const test_case *t = j->t;
    char text[200];
    tc_jread r;
    const char *opt = case_text(t, "opt");
    let(c, j, "p0", eval(c, j, "parameter(torch.zeros(2))"));
    let(c, j, "p1", eval(c, j, "parameter(torch.zeros(2))"));
    tc_jr_init(&r, "opt", opt, strlen(opt));
    let(c, j, "opt", eval(c, j, tc_jr_strdup(&r, t->arena)));
    tc_status_free(tc_jr_finish(&r));
    let(c, j, "sched", eval(c, j, t->ctor));
    static const char *const lists[] = {"lr", "momentum", "metrics"};
    for (int i = 0; i < 3; i++) let(c, j, lists[i], eval(c, j, expression_of(t, lists[i])));
    snprintf(text, sizeof text, "schedule(opt, sched, lr, momentum, metrics, %.17g, %.17g)", t->rtol, t->atol);
    const char *said = tc_as_str(eval(c, j, text))->s;
    tc_buf_puts(j->why, said);
    j->wrong = *said;
}

static void clip(C *c, job *j) {
    const test_case *t = j->t;
    V r = eval(c, j, t->expr);
    if (t->out.n) expect(c, j, r, t->out.data[0]);
    for (int i = 0; i < t->params.n; i++) {
        char text[200], name[200];
        snprintf(text, sizeof text, "%s.grad", t->params.data[i]);
        snprintf(name, sizeof name, "after.%s", t->params.data[i]);
        expect(c, j, eval(c, j, text), name);
    }
}

static dict *state_of(C *c, job *j, const char *prefix) {
    dict *d = tc_dict(c);
    for (int i = 0; i < j->t->state.n; i++) {
        char name[600];
        snprintf(name, sizeof name, "%s%s", prefix, j->t->state.data[i]);
        V v = stored(c, j, name);
        if (!v) tc_raise(c, "KeyError", "%s is not in the file", name);
        tc_dict_setc(c, d, j->t->state.data[i], v);
    }
    return d;
}

static void averaging(C *c, job *j) {
    const test_case *t = j->t;
    tc_jread r;
    const char *model = case_text(t, "model"), *of = case_text(t, "avg_state");
    tc_jr_init(&r, "model", model, strlen(model));
    let(c, j, "m", eval(c, j, tc_jr_strdup(&r, t->arena)));
    tc_status_free(tc_jr_finish(&r));
    tc_jr_init(&r, "avg_state", of, strlen(of));
    names averaged = name_list(&r, t->arena);
    tc_status_free(tc_jr_finish(&r));
    let(c, j, "state", (V)state_of(c, j, "p."));
    eval(c, j, "assign(m, state)");
    let(c, j, "avg", eval(c, j, t->ctor));
    for (int s = 1, n = steps_of(t); s <= n; s++) {
        char text[600], name[700];
        snprintf(text, sizeof text, "s%d.p.", s);
        let(c, j, "state", (V)state_of(c, j, text));
        eval(c, j, "assign(m, state)");
        eval(c, j, "avg.update_parameters(m)");
        for (int i = 0; i < averaged.n; i++) {
            snprintf(text, sizeof text, "avg.state_dict()['%s']", averaged.data[i]);
            snprintf(name, sizeof name, "s%d.avg.%s", s, averaged.data[i]);
            expect(c, j, eval(c, j, text), name);
        }
    }
}

static void run(C *c, void *ctx) {
    job *j = ctx;
    const test_case *t = j->t;
    j->m = tc_lang_load(c, "case.py", helpers, sizeof helpers - 1);
    j->seen = tc_dict(c);
    tc_generator_seed(&gen, CORPUS_SEED);
    parameters(c, j);
    if (case_text(t, "lr")) scheduler(c, j);
    else if (case_text(t, "model")) averaging(c, j);
    else if (j->loss) lbfgs(c, j);
    else if (t->ctor) optimiser(c, j);
    else clip(c, j);
}

static verdict run_case(C *c, const test_case *t, const tc_tensors *all, tc_status wide, tc_buf *why) {
    job j = {.t = t, .all = all, .why = why};
    (void)wide;
    tc_status st = case_text(t, "loss") ? capture_loss(t, all, &j.loss) : NULL;
    if (!st) st = tc_lang_run(c, run, &j);
    tc_exec_destroy(j.loss);
    return case_ended(st, j.wrong, why);
}

int main(int argc, char **argv) { return run_corpus(argc, argv, run_case); }
