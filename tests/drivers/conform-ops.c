/* The ops corpus: each case's expression is evaluated in the model language on the case's tensors and compared with what PyTorch
 * computed; gradients come from a module that calls torch.autograd.grad, captured and run. Also rng/ (random streams, bit for bit).
 * With TC_FREE_SIZES set every expression is captured as a module whose sizes are all free, and its outputs come from that program too.
 * Usage: conform-ops FOLDER CORPUS [NAME[/ID]]. */
#include "cases.h"

#include <fnmatch.h>

/* ---- evaluating ---- */
typedef struct {
    const test_case *t;
    const tc_tensors *all;
    tc_buf *why;
    bool wrong;
    tc_tensor *given;
} job;

static void evaluate(C *c, void *ctx) {
    job *j = ctx;
    const test_case *t = j->t;
    dict *d = tc_dict(c);
    V made[64];
    for (int i = 0; i < t->args.n && i < 64; i++) {
        made[i] =
            tc_value_of_tensor(c, &j->given[i], (t->grad && has(&t->wrt, t->args.data[i]) && !t->mutated.n) || has(&t->leaves, t->args.data[i]));
        tc_dict_setc(c, d, t->args.data[i], made[i]);
    }
    module *m = tc_lang_load(c, "case.py", "import torch\n", 13);
    tc_generator_seed(&gen, t->seeded ? t->seed : CORPUS_SEED);
    j->wrong = !check_outputs(c, t, j->all, tc_lang_eval(c, m, d, "case", t->expr), j->why);
    for (int i = 0; i < t->args.n && !j->wrong; i++) {
        char name[64];
        tc_tensor want;
        if (!has(&t->mutated, t->args.data[i])) continue;
        snprintf(name, sizeof name, "m.%s", t->args.data[i]);
        if (!take(j->all, t, name, has(&t->cplx, name) || has(&t->cplx, t->args.data[i]), &want)) continue;
        j->wrong = !agree(tc_tensor_of_value(made[i]), &want, !strcmp(t->check, "value"), t->rtol, t->atol, name, j->why);
        tc_tensor_deinit(&want);
    }
}

/* ---- gradients ---- */
static const char helper[] = "import torch\n"
                             "def leaves(r):\n"
                             "    if isinstance(r, torch.Tensor):\n"
                             "        return [r]\n"
                             "    out = []\n"
                             "    if isinstance(r, dict):\n"
                             "        r = list(r.values())\n"
                             "    if isinstance(r, (tuple, list)):\n"
                             "        for e in r:\n"
                             "            out += leaves(e)\n"
                             "    return out\n";

/* Small integer arguments as lines of the source: "        a1 = [1, 3]". */
static void write_integers(const test_case *t, const tc_tensor *operands, tc_buf *text) {
    for (int i = 0; i < t->args.n; i++) {
        const tc_tensor *v = &operands[i];
        if (!tc_is_integral(v->dtype) || v->rank > 1 || tc_tensor_numel(v) > 64) continue;
        tc_buf_printf(text, "        %s = %s", t->args.data[i], v->rank ? "[" : "");
        for (int64_t k = 0; k < tc_tensor_numel(v); k++)
            tc_buf_printf(text, "%s%lld", k ? ", " : "", (long long)tc_scalar_load(v->dtype, v->storage->data, v->offset + k).i);
        tc_buf_puts(text, v->rank ? "]\n" : "\n");
    }
}

static bool free_sizes;

/* constants: a graph has to know how many results there are, so integers that may say so stand in the source, as a model would have them. */
static tc_status run_gradients(const test_case *t, const tc_tensors *all, const tc_tensor *operands, bool constants, tc_buf *why, bool *out_wrong) {
    tc_buf text = {0};
    tc_capture_input in[128] = {{0}};
    tc_tensor given[128] = {{0}}, results[64] = {{0}};
    int n = 0;
    tc_buf_puts(&text, helper);
    tc_buf_puts(&text, "class Case(torch.nn.Module):\n    def forward(self");
    for (int i = 0; i < t->args.n + t->cot.n; i++) tc_buf_printf(&text, ", %s", i < t->args.n ? t->args.data[i] : t->cot.data[i - t->args.n]);
    tc_buf_puts(&text, "):\n");
    if (constants) write_integers(t, operands, &text);
    tc_buf_printf(&text, "        o = leaves(%s)\n        return torch.autograd.grad([", t->expr);
    for (int i = 0; i < t->cot.n; i++) tc_buf_printf(&text, "%so[%s]", i ? ", " : "", t->cot.data[i] + 1);
    tc_buf_puts(&text, "], [");
    for (int i = 0; i < t->wrt.n; i++) tc_buf_printf(&text, "%s%s", i ? ", " : "", t->wrt.data[i]);
    tc_buf_puts(&text, "], [");
    for (int i = 0; i < t->cot.n; i++) tc_buf_printf(&text, "%s%s", i ? ", " : "", t->cot.data[i]);
    tc_buf_puts(&text, "])\n");
    static char sizes[128 * TC_MAX_RANK][24];
    for (; n < t->args.n + t->cot.n && n < 128; n++) {
        bool arg = n < t->args.n;
        const char *name = arg ? t->args.data[n] : t->cot.data[n - t->args.n];
        if (arg) given[n] = tc_tensor_share(&operands[n]);
        else if (!take(all, t, name, has(&t->cplx, name), &given[n])) break;
        in[n] = (tc_capture_input){
            .name = name, .kind = TC_INPUT_TENSOR, .dtype = given[n].dtype, .rank = given[n].rank, .requires_grad = arg && has(&t->wrt, name)};
        if (free_sizes) in[n].example = given[n];
        for (int d = 0; d < given[n].rank && !free_sizes; d++) {
            snprintf(sizes[n * TC_MAX_RANK + d], 24, "%lld", (long long)given[n].size[d]);
            in[n].size[d] = sizes[n * TC_MAX_RANK + d];
        }
    }
    tc_capture_request r = {.path = "case.py",
                            .text = text.data,
                            .len = text.len,
                            .class_name = "Case",
                            .inputs = in,
                            .ninputs = n,
                            .eval = true,
                            .run = tc_evaluator_eval(evaluator)};
    tc_capture_result made = {0};
    tc_exec *e = NULL;
    tc_status st = n == t->args.n + t->cot.n ? tc_capture_source(&r, &made) : tc_error(TC_CONTENT, "a cotangent is missing in the file");
    if (!st) st = tc_exec_create(made.model, &(tc_exec_options){.threads = 1}, &e);
    if (!st) tc_generator_seed(&gen, t->seeded ? t->seed : CORPUS_SEED);
    int nout = made.model ? made.model->noutputs : 0;
    if (!st && nout > 64) st = tc_error(TC_CONTENT, "%d outputs", nout);
    if (!st) st = tc_exec_run(e, given, n, &gen, results, nout);
    for (int i = 0, k = 0; i < nout && !st && !*out_wrong; i++) {
        char name[64];
        tc_tensor want;
        if (made.model->outputs[i].kind != TC_OUT_USER || k >= t->wrt.n) continue;
        snprintf(name, sizeof name, "g.%s", t->wrt.data[k++]);
        bool complex = has(&t->cplx, name) || tc_is_complex(results[i].dtype);
        if (!take(all, t, name, complex, &want)) {
            tc_buf_printf(why, "%s is not in the file", name);
            *out_wrong = true;
            break;
        }
        *out_wrong = !agree(&results[i], &want, true, t->grtol, t->gatol, name, why);
        tc_tensor_deinit(&want);
    }
    for (int i = 0; i < nout && i < 64; i++) tc_tensor_deinit(&results[i]);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&given[i]);
    tc_exec_destroy(e);
    tc_program_release(made.model);
    if (made.train != made.model) tc_program_release(made.train);
    free(made.printed);
    tc_buf_free(&text);
    return st;
}

/* ---- random streams: lines, each an assignment or an expression with a result ---- */
static void evaluate_lines(C *c, void *ctx) {
    job *j = ctx;
    const test_case *t = j->t;
    dict *d = tc_dict(c);
    module *m = tc_lang_load(c, "case.py", "import torch\n", 13);
    tc_generator_seed(&gen, t->seed);
    for (int i = 0; i < t->lines.n && !j->wrong; i++) {
        const char *line = t->lines.data[i], *eq = strstr(line, " = ");
        char what[64];
        bool assigns = !t->out.data[i];
        V v = tc_lang_eval(c, m, d, "case", assigns && eq ? eq + 3 : line);
        if (assigns && eq) {
            char *name = tc_arena_strndup(&c->arena, line, (size_t)(eq - line));
            tc_dict_setc(c, d, name, v);
            continue;
        }
        const tc_tensor *x = tc_tensor_of_value(v);
        tc_tensor want;
        snprintf(what, sizeof what, "line %d", i);
        if (assigns) continue;
        if (!x || !take(j->all, t, t->out.data[i], has(&t->cplx, t->out.data[i]), &want)) {
            tc_buf_printf(j->why, "%s gives no tensor", what);
            j->wrong = true;
            return;
        }
        j->wrong = !agree(x, &want, true, t->rtol, t->atol, what, j->why);
        tc_tensor_deinit(&want);
    }
}

/* ---- one case ---- */
/* wide: what the reader says of tensors of too many dimensions, if the file has any. */
static verdict run_case(C *c, const test_case *t, const tc_tensors *all, tc_status wide, tc_buf *why) {
    bool error = t->check && !strcmp(t->check, "error");
    tc_tensor given[64] = {{0}};
    job j = {.t = t, .all = all, .why = why, .given = given};
    for (int i = 0; i < t->args.n && i < 64; i++)
        if (!take(all, t, t->args.data[i], has(&t->cplx, t->args.data[i]), &given[i])) {
            if (wide) {
                tc_buf_puts(why, tc_status_message(wide));
                return tc_status_code(wide) == TC_UNSUPPORTED ? CASE_NOT_YET : error ? CASE_PASS : CASE_FAIL;
            }
            tc_buf_printf(why, "argument %s is not in the file", t->args.data[i]);
            return CASE_FAIL;
        }
    tc_status st = tc_lang_run(c, t->lines.n ? evaluate_lines : evaluate, &j);
    verdict v;
    if (st && tc_status_code(st) == TC_UNSUPPORTED) v = CASE_NOT_YET;
    else if (error) v = st ? CASE_PASS : CASE_FAIL;
    else v = st || j.wrong ? CASE_FAIL : CASE_PASS;
    if (st && v != CASE_PASS) tc_buf_puts(why, tc_status_message(st));
    if (error && !st) {
        why->len = 0;
        tc_buf_printf(why, "no error, expected %s", t->error ? t->error : "one");
    }
    tc_status_free(st);
    if (v == CASE_PASS && t->grad && !error && t->cot.n) {
        bool wrong = false;
        st = run_gradients(t, all, given, false, why, &wrong);
        if (st) {
            tc_status again = run_gradients(t, all, given, true, why, &wrong);
            tc_status_free(again ? again : st);
            if (!again) st = NULL;
        }
        if (st) {
            v = tc_status_code(st) == TC_UNSUPPORTED ? CASE_NOT_YET : CASE_FAIL;
            tc_buf_printf(why, "gradient: %s", tc_status_message(st));
            tc_status_free(st);
        } else if (wrong) {
            v = CASE_FAIL;
        }
    }
    for (int i = 0; i < t->args.n && i < 64; i++) tc_tensor_deinit(&given[i]);
    return v;
}

/* ---- tests/oracle/NOT-ops.tsv: operator, cases as patterns, reason. A listed failure is a failure, and says why ---- */
static tc_buf listed;

static void read_listed(void) {
    char path[1024];
    snprintf(path, sizeof path, "%.900s/tests/oracle/NOT-ops.tsv", getenv("TC_ROOT") ? getenv("TC_ROOT") : ".");
    tc_status_free(tc_file_read(path, 1 << 20, &listed));
}

static void say_reason(const test_case *t, tc_buf *why) {
    char line[1024];
    for (const char *p = listed.data, *end; p && *p; p = *end ? end + 1 : end) {
        end = strchrnul(p, '\n');
        snprintf(line, sizeof line, "%.*s", (int)(end - p < 1000 ? end - p : 1000), p);
        char *cases = strchr(line, '\t'), *reason = cases ? strchr(cases + 1, '\t') : NULL, *save = NULL;
        if (!reason) continue;
        *cases++ = 0, *reason++ = 0;
        if (strcmp(line, case_file)) continue;
        for (char *w = strtok_r(cases, " ", &save); w; w = strtok_r(NULL, " ", &save))
            if (!fnmatch(w, t->id, 0)) tc_buf_printf(why, " [NOT-ops: %s]", reason);
    }
}

static verdict run_listed(C *c, const test_case *t, const tc_tensors *all, tc_status wide, tc_buf *why) {
    verdict v = run_case(c, t, all, wide, why);
    if (v == CASE_FAIL) say_reason(t, why);
    return v;
}

int main(int argc, char **argv) {
    char path[1024];
    if (argc < 3) return 2;
    corpus = argv[2];
    free_sizes = getenv("TC_FREE_SIZES") != NULL;
    read_listed();
    run_folder(argv[1], argc > 3 ? argv[3] : NULL, run_listed);
    snprintf(path, sizeof path, "%s/rng", argv[1]);
    corpus = "rng";
    run_folder(path, argc > 3 ? argv[3] : NULL, run_case);
    return 0;
}
