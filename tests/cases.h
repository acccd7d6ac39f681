/* Cases of ../shared/oracle/ops, read, run and compared: what conform-ops, conform-modules and conform-optim share.
 *
 *     static verdict run_case(C *c, const test_case *t, const tc_tensors *all, tc_status wide, tc_buf *why) { ... }
 *     int main(int argc, char **argv) { return run_corpus(argc, argv, run_case); }
 *
 * A folder holds NAME.jsonl, a case a line, and NAME.safetensors with the case's tensors as ID.NAME. Every file runs in a child, so that
 * a case that dies is one failure. */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "conform.h"

#include "base/json.h"
#include "base/rng.h"
#include "capture/capture.h"
#include "capture/torch.h"
#include "file/tensors.h"
#include "runtime/runtime.h"

#include <dirent.h>
#include <stddef.h>

enum { CASE_SECONDS = 20, CASES_PER_CONTEXT = 64, CORPUS_SEED = 42 }; /* the generator is seeded so before each case */

typedef struct {
    char **data;
    int n;
} names;
typedef struct {
    const char *line; /* the whole case; case_text and case_names read further members from it */
    tc_arena *arena;
    char *id, *expr, *check, *ret, *error, *ctor, *mode, *call;
    names args, out, cplx, cot, wrt, leaves, mutated, lines, ctor_args, state, state_after, params;
    bool is_free[64], seeded, grad;
    uint64_t seed;
    double rtol, atol, grtol, gatol;
} test_case;
typedef verdict (*case_fn)(C *c, const test_case *t, const tc_tensors *all, tc_status wide, tc_buf *why);

static const char *corpus, *case_file; /* case_file: the name of the file that is read */
static tc_evaluator *evaluator;
static tc_generator gen;

/* ---- reading a case ---- */
static inline char *case_string(tc_jread *j, tc_arena *a) { return tc_jr_null(j) ? NULL : tc_jr_strdup(j, a); }

static inline names name_list(tc_jread *j, tc_arena *a) {
    TC_VEC(char *) v = {0};
    for (tc_jr_array(j); tc_jr_item(j);) {
        char *s = case_string(j, a);
        tc_vec_push(&v, s);
    }
    names n = {v.len ? tc_arena_dup(a, v.data, v.len * sizeof *v.data) : NULL, (int)v.len};
    tc_vec_free(&v);
    return n;
}

static inline uint64_t whole(tc_jread *j) { /* seeds up to 2^64 - 1 */
    tc_str s = tc_jr_skip(j);
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)(s.n < 31 ? s.n : 31), s.s);
    return text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
}

static inline bool read_special(test_case *t, tc_str key, tc_jread *j) {
    if (tc_str_is(key, "grad")) t->grad = tc_jr_bool(j);
    else if (tc_str_is(key, "seed")) t->seed = whole(j), t->seeded = true;
    else if (tc_str_is(key, "free")) {
        for (tc_jr_array(j); tc_jr_item(j);) {
            int64_t i = tc_jr_int(j);
            if (i >= 0 && i < 64) t->is_free[i] = true;
        }
    } else if (tc_str_is(key, "error")) {
        tc_jr_object(j);
        for (tc_str k; tc_jr_member(j, &k);) {
            if (tc_str_is(k, "type")) t->error = case_string(j, t->arena);
            else tc_jr_skip(j);
        }
    } else return false;
    return true;
}

static inline bool read_case(const char *line, tc_arena *a, test_case *t) {
    enum kind_of_member { TEXT, LIST, NUMBER };
    static const struct {
        const char *key;
        size_t at;
        enum kind_of_member is;
    } members[] = {
        {"id", offsetof(test_case, id), TEXT},
        {"expr", offsetof(test_case, expr), TEXT},
        {"check", offsetof(test_case, check), TEXT},
        {"ret", offsetof(test_case, ret), TEXT},
        {"ctor", offsetof(test_case, ctor), TEXT},
        {"mode", offsetof(test_case, mode), TEXT},
        {"call", offsetof(test_case, call), TEXT},
        {"args", offsetof(test_case, args), LIST},
        {"out", offsetof(test_case, out), LIST},
        {"cplx", offsetof(test_case, cplx), LIST},
        {"cot", offsetof(test_case, cot), LIST},
        {"wrt", offsetof(test_case, wrt), LIST},
        {"requires_grad", offsetof(test_case, leaves), LIST},
        {"mutated", offsetof(test_case, mutated), LIST},
        {"lines", offsetof(test_case, lines), LIST},
        {"ctor_args", offsetof(test_case, ctor_args), LIST},
        {"state", offsetof(test_case, state), LIST},
        {"state_after", offsetof(test_case, state_after), LIST},
        {"params", offsetof(test_case, params), LIST},
        {"rtol", offsetof(test_case, rtol), NUMBER},
        {"atol", offsetof(test_case, atol), NUMBER},
        {"grtol", offsetof(test_case, grtol), NUMBER},
        {"gatol", offsetof(test_case, gatol), NUMBER},
    };
    tc_jread j;
    t->line = line, t->arena = a;
    tc_jr_init(&j, "case", line, strlen(line));
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        size_t i = 0, n = sizeof members / sizeof *members;
        if (read_special(t, key, &j)) continue;
        while (i < n && !tc_str_is(key, members[i].key)) i++;
        void *to = i < n ? (char *)t + members[i].at : NULL;
        if (!to) tc_jr_skip(&j);
        else if (members[i].is == TEXT) *(char **)to = case_string(&j, a);
        else if (members[i].is == LIST) *(names *)to = name_list(&j, a);
        else *(double *)to = tc_jr_double(&j);
    }
    tc_status st = tc_jr_finish(&j);
    bool ok = !st && t->id;
    tc_status_free(st);
    return ok;
}

/* The text of member `key` as it stands in the case (a JSON value), or NULL. */
static inline const char *case_text(const test_case *t, const char *key) {
    tc_jread j;
    char *found = NULL;
    tc_jr_init(&j, "case", t->line, strlen(t->line));
    tc_jr_object(&j);
    for (tc_str k; tc_jr_member(&j, &k);) {
        bool is = tc_str_is(k, key);
        tc_str v = tc_jr_skip(&j);
        if (is) found = tc_arena_strndup(t->arena, v.s, v.n);
    }
    tc_status_free(tc_jr_finish(&j));
    return found;
}

static inline bool has(const names *n, const char *name) {
    for (int i = 0; i < n->n; i++)
        if (!strcmp(n->data[i], name)) return true;
    return false;
}

/* A fresh copy of tensor ID.NAME; pairs become complex numbers. false: the file has none of that name. */
static inline bool take(const tc_tensors *all, const test_case *t, const char *name, bool complex, tc_tensor *out) {
    char key[640];
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
static inline bool agree(const tc_tensor *found, const tc_tensor *want, bool value, double rtol, double atol, const char *what, tc_buf *why) {
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

static inline void leaves(V v, V *out, int *n, int max) {
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

/* The tensors of a result against the case's outputs; numbers and structure by their text where there is no tensor. */
static inline bool check_outputs(C *c, const test_case *t, const tc_tensors *all, V result, tc_buf *why) {
    V found[256];
    int n = 0;
    char what[64];
    leaves(result, found, &n, 256);
    if (n != t->out.n || n > 256) {
        tc_buf_printf(why, "%d tensors, expected %d", n, t->out.n);
        return false;
    }
    if (n == 0 && t->ret && strcmp(t->check, "shape")) {
        if (tc_kind_of(result) == K_SIZE) result = tc_tuple(c, ((tuple *)result)->n, ((tuple *)result)->a); /* written as a tuple */
        str *s = tc_repr(c, result);
        if (strcmp(s->s, t->ret)) tc_buf_printf(why, "%s, expected %s", s->s, t->ret);
        return !strcmp(s->s, t->ret);
    }
    bool value = !strcmp(t->check, "value") || t->seeded, same = true;
    for (int i = 0; i < n && same; i++) {
        const tc_tensor *x = tc_tensor_of_value(found[i]);
        tc_tensor want;
        snprintf(what, sizeof what, "output %d", i);
        if (!x || !take(all, t, t->out.data[i], has(&t->cplx, t->out.data[i]), &want)) {
            tc_buf_printf(why, "%s is no concrete tensor", what);
            return false;
        }
        same = agree(x, &want, value && !(i < 64 && t->is_free[i]), t->rtol, t->atol, what, why);
        tc_tensor_deinit(&want);
    }
    return same;
}

static inline tc_status new_context(C **c) {
    tc_lang_destroy(*c);
    *c = NULL;
    return tc_lang_create_with(&(tc_lang_options){.max_memory = (size_t)512 << 20}, tc_evaluator_eval(evaluator), &gen, c);
}

/* Tensors of the file. One that has too many dimensions for tc is an error of the cases that take it, *out_wide, not of the others. */
static inline tc_status load_tensors(const char *path, tc_tensors *out, tc_status *out_wide) {
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

static inline void run_line(const char *line, const char *name, int number, C *c, const tc_tensors *all, tc_status wide, tc_status unreadable,
                            const char *only, int say, case_fn fn) {
    tc_arena a = {0};
    test_case t = {.check = (char *)(uintptr_t) "value"};
    tc_buf why = {0}, shown = {0};
    char label[512];
    bool sound = read_case(line, &a, &t);
    if (!only || !t.id || !strcmp(only, t.id)) {
        snprintf(label, sizeof label, "%s/%s", name, t.id ? t.id : "unreadable");
        dprintf(say, "%d %s\n", number, label);
        case_file = name;
        alarm(CASE_SECONDS);
        verdict v = CASE_FAIL;
        if (!sound) tc_buf_puts(&why, "the case is not valid");
        else if (unreadable)
            tc_buf_puts(&why, tc_status_message(unreadable)), v = tc_status_code(unreadable) == TC_UNSUPPORTED ? CASE_NOT_YET : CASE_FAIL;
        else v = fn(c, &t, all, wide, &why);
        alarm(0);
        const char *what = t.expr ? t.expr : t.call ? t.ctor : t.ctor ? t.ctor : t.lines.n ? t.lines.data[0] : "";
        tc_buf_printf(&shown, "%s: %s", what, tc_buf_str(&why));
        report(v, corpus, label, shown.data);
    }
    tc_buf_free(&shown);
    tc_buf_free(&why);
    tc_arena_free(&a);
}

/* The cases of a file from number `first`; says before each which it is, so that the parent knows where the child died. */
static inline int run_file(const char *stem, const char *name, int first, const char *only, int say, case_fn fn) {
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
    if (!st) st = new_context(&c);
    if (st && st != unreadable) return 1;
    int number = 0;
    for (char *line = text.data, *next; line && *line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (number < first) continue;
        if (c && number % CASES_PER_CONTEXT == 0 && (st = new_context(&c))) return 1;
        run_line(line, name, number, c, &all, wide, unreadable, only, say, fn);
    }
    return 0;
}

/* Runs the file in children until its last case was reached. */
static inline void run_guarded(const char *stem, const char *name, const char *only, case_fn fn) {
    for (int first = 0;;) {
        int p[2], status = 0, at = -1;
        char line[600], label[600] = "";
        if (pipe(p)) return;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            close(p[0]);
            int rc = run_file(stem, name, first, only, p[1], fn);
            fflush(stdout);
            _exit(rc);
        }
        close(p[1]);
        FILE *f = fdopen(p[0], "r");
        while (fgets(line, sizeof line, f)) sscanf(line, "%d %599s", &at, label);
        fclose(f);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        char why[64];
        if (WIFEXITED(status)) snprintf(why, sizeof why, "the runner cannot go on");
        else if (WTERMSIG(status) == SIGALRM) snprintf(why, sizeof why, "no end after %d s", CASE_SECONDS);
        else snprintf(why, sizeof why, "died of signal %d", WTERMSIG(status));
        report(CASE_FAIL, corpus, *label ? label : name, why);
        if (at < 0 || WIFEXITED(status)) return;
        first = at + 1;
    }
}

static inline int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static inline void run_folder(const char *folder, const char *only, case_fn fn) {
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
        if (!only || !strcmp(name, found.data[i])) run_guarded(stem, found.data[i], id, fn);
        free(found.data[i]);
    }
    tc_vec_free(&found);
}

/* How a case ended that the language ran: st is released, its message goes to why. wrong: a result is not the expected one. */
static inline verdict case_ended(tc_status st, bool wrong, tc_buf *why) {
    verdict v = !st ? wrong ? CASE_FAIL : CASE_PASS : tc_status_code(st) == TC_UNSUPPORTED ? CASE_NOT_YET : CASE_FAIL;
    if (st) tc_buf_puts(why, tc_status_message(st));
    tc_status_free(st);
    return v;
}

/* main of a driver: FOLDER CORPUS [NAME[/ID]]. The exit code. */
static inline int run_corpus(int argc, char **argv, case_fn fn) {
    if (argc < 3) return 2;
    corpus = argv[2];
    run_folder(argv[1], argc > 3 ? argv[3] : NULL, fn);
    return 0;
}

#endif
