/* The ops corpus: each case's expression is evaluated in the model language on the case's tensors and compared with what PyTorch
 * computed; gradients come from a module that calls torch.autograd.grad, captured and run. Also rng/ (random streams, bit for bit).
 * Usage: conform-ops FOLDER CORPUS [NAME[/ID]]. Every file of cases runs in a child, so that one that dies is one failure. */
#include "conform.h"

#include "base/json.h"
#include "base/rng.h"
#include "capture/capture.h"
#include "capture/torch.h"
#include "file/tensors.h"
#include "runtime/runtime.h"

#include <dirent.h>

enum { CASE_SECONDS = 20, CASES_PER_CONTEXT = 64, CORPUS_SEED = 42 }; /* the generator is seeded so before each case */

typedef struct {
    char **data;
    int n;
} names;
typedef struct {
    char *id, *expr, *check, *ret, *error;
    names args, out, cplx, cot, wrt, mutated, lines;
    bool is_free[64], seeded, grad;
    uint64_t seed;
    double rtol, atol, grtol, gatol;
} test_case;

static const char *corpus;
static tc_evaluator *evaluator;
static tc_generator gen;

/* ---- reading a case ---- */
static char *string(tc_jread *j, tc_arena *a) { return tc_jr_null(j) ? NULL : tc_jr_strdup(j, a); }

static names name_list(tc_jread *j, tc_arena *a) {
    TC_VEC(char *) v = {0};
    for (tc_jr_array(j); tc_jr_item(j);) {
        char *s = string(j, a);
        tc_vec_push(&v, s);
    }
    names n = {v.len ? tc_arena_dup(a, v.data, v.len * sizeof *v.data) : NULL, (int)v.len};
    tc_vec_free(&v);
    return n;
}

static uint64_t whole(tc_jread *j) { /* seeds up to 2^64 - 1 */
    tc_str s = tc_jr_skip(j);
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)(s.n < 31 ? s.n : 31), s.s);
    return text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
}

static bool read_case(const char *line, size_t n, tc_arena *a, test_case *t) {
    tc_jread j;
    tc_jr_init(&j, "case", line, n);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "id")) t->id = string(&j, a);
        else if (tc_str_is(key, "expr")) t->expr = string(&j, a);
        else if (tc_str_is(key, "check")) t->check = string(&j, a);
        else if (tc_str_is(key, "ret")) t->ret = string(&j, a);
        else if (tc_str_is(key, "args")) t->args = name_list(&j, a);
        else if (tc_str_is(key, "out")) t->out = name_list(&j, a);
        else if (tc_str_is(key, "cplx")) t->cplx = name_list(&j, a);
        else if (tc_str_is(key, "cot")) t->cot = name_list(&j, a);
        else if (tc_str_is(key, "wrt")) t->wrt = name_list(&j, a);
        else if (tc_str_is(key, "mutated")) t->mutated = name_list(&j, a);
        else if (tc_str_is(key, "lines")) t->lines = name_list(&j, a);
        else if (tc_str_is(key, "grad")) t->grad = tc_jr_bool(&j);
        else if (tc_str_is(key, "seed")) t->seed = whole(&j), t->seeded = true;
        else if (tc_str_is(key, "rtol")) t->rtol = tc_jr_double(&j);
        else if (tc_str_is(key, "atol")) t->atol = tc_jr_double(&j);
        else if (tc_str_is(key, "grtol")) t->grtol = tc_jr_double(&j);
        else if (tc_str_is(key, "gatol")) t->gatol = tc_jr_double(&j);
        else if (tc_str_is(key, "free")) {
            for (tc_jr_array(&j); tc_jr_item(&j);) {
                int64_t i = tc_jr_int(&j);
                if (i >= 0 && i < 64) t->is_free[i] = true;
            }
        } else if (tc_str_is(key, "error")) {
            tc_jr_object(&j);
            for (tc_str k; tc_jr_member(&j, &k);) {
                if (tc_str_is(k, "type")) t->error = string(&j, a);
                else tc_jr_skip(&j);
            }
        } else tc_jr_skip(&j);
    }
    tc_status st = tc_jr_finish(&j);
    bool ok = !st;
    tc_status_free(st);
    return ok;
}

static bool has(const names *n, const char *name) {
    for (int i = 0; i < n->n; i++)
        if (!strcmp(n->data[i], name)) return true;
    return false;
}

/* A fresh copy of tensor ID.NAME; pairs become complex numbers. false: the file has none of that name. */
static bool take(const tc_tensors *all, const test_case *t, const char *name, bool complex, tc_tensor *out) {
    char key[512];
    snprintf(key, sizeof key, "%s.%s", t->id, name);
    const tc_tensor *stored = tc_tensors_find(all, key);
    tc_tensor c;
    if (!stored || tc_tensor_clone(stored, &c)) return false;
    if (!complex) {
        *out = c;
        return true;
    }
    int64_t stride[TC_MAX_RANK];
    tc_contiguous_strides(c.rank - 1, c.size, stride);
    tc_status st = tc_tensor_view(c.storage, tc_dtype_to_complex(c.dtype), c.rank - 1, c.size, stride, 0, out);
    tc_tensor_deinit(&c);
    tc_status_free(st);
    return !st;
}

/* ---- comparing ---- */
static bool agree(const tc_tensor *found, const tc_tensor *want, bool value, double rtol, double atol, const char *what, tc_buf *why) {
    tc_diff d = {0};
    tc_status st = tc_tensor_compare(found, want, rtol, atol, &d);
    if (st && why) tc_buf_printf(why, "%s: %s", what, tc_status_message(st));
    bool ok = !st && (!value || d.count == 0);
    if (!st && !ok) {
        tc_tensor c;
        tc_buf_printf(why, "%s: %lld of %lld differ, largest error %.3g, relative %.3g", what, (long long)d.count, (long long)tc_tensor_numel(found),
                      d.max_abs, d.max_rel);
        if (!tc_tensor_contiguous(found, &c)) {
            tc_scalar x = tc_scalar_load(c.dtype, tc_tensor_data(&c), d.first), y = tc_scalar_load(want->dtype, tc_tensor_data(want), d.first);
            tc_buf_printf(why, "; element %lld is %.9g, expected %.9g", (long long)d.first, tc_scalar_to_double(x), tc_scalar_to_double(y));
            tc_tensor_deinit(&c);
        }
    }
    tc_status_free(st);
    return ok;
}

/* ---- evaluating ---- */
typedef struct {
    const test_case *t;
    const tc_tensors *all;
    tc_buf *why;
    bool wrong;
    tc_tensor *given;
} job;

static void leaves(V v, V *out, int *n, int max) {
    kind k = tc_kind_of(v);
    if (k == K_TENSOR) {
        if (*n < max) out[*n] = v;
        ++*n;
    } else if (k == K_TUPLE || k == K_SIZE) {
        for (size_t i = 0; i < ((tuple *)v)->n; i++) leaves(((tuple *)v)->a[i], out, n, max);
    } else if (k == K_LIST) {
        for (size_t i = 0; i < ((list *)v)->n; i++) leaves(((list *)v)->a[i], out, n, max);
    } else if (k == K_DICT) {
        for (size_t i = 0; i < ((dict *)v)->used; i++)
            if (((dict *)v)->e[i].key) leaves(((dict *)v)->e[i].val, out, n, max);
    }
}

static void check_outputs(C *c, job *j, V result) {
    const test_case *t = j->t;
    V found[256];
    int n = 0;
    char what[64];
    leaves(result, found, &n, 256);
    if (n != t->out.n) {
        tc_buf_printf(j->why, "%d tensors, expected %d", n, t->out.n);
        j->wrong = true;
        return;
    }
    if (n == 0 && t->ret && strcmp(t->check, "shape")) {
        if (tc_kind_of(result) == K_SIZE) result = tc_tuple(c, ((tuple *)result)->n, ((tuple *)result)->a); /* written as a tuple */
        str *s = tc_repr(c, result);
        if (strcmp(s->s, t->ret)) {
            tc_buf_printf(j->why, "%s, expected %s", s->s, t->ret);
            j->wrong = true;
        }
    }
    bool value = !strcmp(t->check, "value") || t->seeded;
    for (int i = 0; i < n && !j->wrong; i++) {
        const tc_tensor *x = tc_tensor_of_value(found[i]);
        tc_tensor want;
        snprintf(what, sizeof what, "output %d", i);
        if (!x || !take(j->all, t, t->out.data[i], has(&t->cplx, t->out.data[i]), &want)) {
            tc_buf_printf(j->why, "%s is no concrete tensor", what);
            j->wrong = true;
            return;
        }
        j->wrong = !agree(x, &want, value && !(i < 64 && t->is_free[i]), t->rtol, t->atol, what, j->why);
        tc_tensor_deinit(&want);
    }
}

static void evaluate(C *c, void *ctx) {
    job *j = ctx;
    const test_case *t = j->t;
    dict *d = tc_dict(c);
    V made[64];
    for (int i = 0; i < t->args.n && i < 64; i++) {
        made[i] = tc_value_of_tensor(c, &j->given[i], t->grad && has(&t->wrt, t->args.data[i]) && !t->mutated.n);
        tc_dict_setc(c, d, t->args.data[i], made[i]);
    }
    module *m = tc_lang_load(c, "case.py", "import torch\n", 13);
    tc_generator_seed(&gen, t->seeded ? t->seed : CORPUS_SEED);
    check_outputs(c, j, tc_lang_eval(c, m, d, "case", t->expr));
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
        for (int d = 0; d < given[n].rank; d++) {
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
    tc_lang_reset_steps(c);
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
        if (st && tc_status_code(st) == TC_UNSUPPORTED) {
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

static tc_status new_context(C **c) {
    tc_lang_destroy(*c);
    *c = NULL;
    return tc_lang_create_with(&(tc_lang_options){.max_memory = (size_t)512 << 20}, tc_evaluator_eval(evaluator), &gen, c);
}

/* The cases of a file from number `first`; says before each which it is, so that the parent knows where the child died. */
/* Tensors of the file. One that has too many dimensions for tc is an error of the cases that take it, *out_wide, not of the others. */
static tc_status load_tensors(const char *path, tc_tensors *out, tc_status *out_wide) {
    tc_status st = tc_tensors_load(path, out);
    if (!st) return NULL;
    tc_tensors rest = {.leave_wide = true};
    tc_status other = tc_tensors_load(path, &rest);
    if (other) {
        tc_status_free(other);
        return st;
    }
    *out_wide = st;
    *out = rest;
    return NULL;
}

static int run_file(const char *stem, const char *name, int first, const char *only, int say) {
    char path[1100];
    tc_buf text = {0};
    tc_tensors all = {0};
    tc_status wide = NULL;
    C *c = NULL;
    snprintf(path, sizeof path, "%.1000s.jsonl", stem);
    tc_status st = tc_file_read(path, (size_t)1 << 30, &text);
    snprintf(path, sizeof path, "%.1000s.safetensors", stem);
    if (!st && access(path, F_OK) == 0) st = load_tensors(path, &all, &wide);
    tc_status unreadable = st; /* every case of the file is then what the reader says */
    if (!st) st = tc_evaluator_create(&(tc_exec_options){.threads = 1}, &evaluator);
    if (st && st != unreadable) return 1;
    int number = 0;
    for (char *line = text.data, *next; line && *line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (number < first) continue;
        tc_arena a = {0};
        test_case t = {.check = (char *)(uintptr_t) "value"};
        tc_buf why = {0};
        char label[512];
        if (read_case(line, strlen(line), &a, &t) && t.id && (!only || !strcmp(only, t.id))) {
            snprintf(label, sizeof label, "%s/%s", name, t.id);
            dprintf(say, "%d %s\n", number, label);
            alarm(CASE_SECONDS);
            if (!unreadable && (!c || number % CASES_PER_CONTEXT == 0)) tc_status_free(new_context(&c));
            verdict v = c ? run_case(c, &t, &all, wide, &why) : tc_status_code(unreadable) == TC_UNSUPPORTED ? CASE_NOT_YET : CASE_FAIL;
            if (unreadable) tc_buf_puts(&why, tc_status_message(unreadable));
            alarm(0);
            tc_buf shown = {0};
            tc_buf_printf(&shown, "%s: %s", t.expr ? t.expr : t.lines.n ? t.lines.data[0] : "", tc_buf_str(&why));
            report(v, corpus, label, shown.data);
            tc_buf_free(&shown);
        }
        tc_buf_free(&why);
        tc_arena_free(&a);
    }
    return 0;
}

/* Runs the file in children until its last case was reached. */
static void run_guarded(const char *stem, const char *name, const char *only) {
    for (int first = 0;;) {
        int p[2], status = 0, at = -1;
        char line[600], label[600] = "";
        if (pipe(p)) return;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            close(p[0]);
            int rc = run_file(stem, name, first, only, p[1]);
            fflush(stdout);
            _exit(rc);
        }
        close(p[1]);
        FILE *f = fdopen(p[0], "r");
        while (fgets(line, sizeof line, f)) sscanf(line, "%d %599s", &at, label);
        fclose(f);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (!WIFSIGNALED(status)) return;
        char why[64];
        if (WTERMSIG(status) == SIGALRM) snprintf(why, sizeof why, "no end after %d s", CASE_SECONDS);
        else snprintf(why, sizeof why, "died of signal %d", WTERMSIG(status));
        report(CASE_FAIL, corpus, *label ? label : name, why);
        if (at < 0) return;
        first = at + 1;
    }
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void run_folder(const char *folder, const char *only) {
    DIR *d = opendir(folder);
    TC_VEC(char *) found = {0};
    char name[256], *id = NULL;
    snprintf(name, sizeof name, "%s", only ? only : "");
    if (only && (id = strchr(name, '/'))) *id++ = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 7 || strcmp(e->d_name + n - 6, ".jsonl")) continue;
        char *s = strndup(e->d_name, n - 6);
        tc_vec_push(&found, s);
    }
    if (d) closedir(d);
    qsort(found.data, found.len, sizeof *found.data, by_text);
    for (size_t i = 0; i < found.len; i++) {
        char stem[1024];
        snprintf(stem, sizeof stem, "%s/%s", folder, found.data[i]);
        if (!only || !strcmp(name, found.data[i])) run_guarded(stem, found.data[i], id);
        free(found.data[i]);
    }
    tc_vec_free(&found);
}

int main(int argc, char **argv) {
    char path[1024];
    if (argc < 3) return 2;
    corpus = argv[2];
    run_folder(argv[1], argc > 3 ? argv[3] : NULL);
    snprintf(path, sizeof path, "%s/rng", argv[1]);
    corpus = "rng";
    run_folder(path, argc > 3 ? argv[3] : NULL);
    return 0;
}
