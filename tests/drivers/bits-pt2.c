/* The bits test over PyTorch's programs: results of each do not depend on fusion, on the number of threads or on the instruction set.
 * Usage: bits-pt2 FOLDER CORPUS [NAME]. FOLDER is the pt2 corpus; programs that tc lacks operators for are left to its own runner.
 * Half types hold over threads and fusion for one instruction set (tc-numerics(7), "Half types"). */
#include "conform.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "file/pt2.h"
#include "file/tensors.h"
#include "op/functionalise.h"
#include "runtime/runtime.h"

#include <dirent.h>

enum { MAX_IO = 512 };
typedef struct {
    const char *name;
    tc_exec_options o;
} variant;
typedef struct {
    tc_tensor t[MAX_IO];
    int n;
} results;

static void results_free(results *r) {
    for (int i = 0; i < r->n; i++) tc_tensor_deinit(&r->t[i]);
    r->n = 0;
}

/* Outputs, then the state that the program mutates. */
static tc_status run(const tc_program *p, const tc_exec_options *o, const tc_tensors *in, results *out) {
    tc_exec *e;
    tc_tensor given[MAX_IO] = {{0}};
    int n = 0, leaf = 0;
    tc_generator g;
    tc_generator_seed(&g, 1);
    out->n = 0;
    TC_TRY(tc_exec_create(p, o, &e));
    tc_status s = NULL;
    for (int i = 0; i < p->ninputs && !s; i++) {
        const tc_input *pi = &p->inputs[i];
        if (pi->kind == TC_IN_LEAF) leaf++;
        if (pi->kind != TC_IN_USER || n == MAX_IO) continue;
        char key[32];
        snprintf(key, sizeof key, "in%d", leaf++);
        const tc_tensor *t = tc_tensors_find(in, key);
        if (t) s = tc_tensor_clone(t, &given[n++]); /* inputs may be written to */
        else if (pi->value && pi->value->kind == TC_V_SYM) s = tc_tensor_scalar(TC_I64, tc_scalar_int(4), &given[n++]);
        else s = tc_error(TC_UNSUPPORTED, "no input %s in the corpus", key);
    }
    if (!s && p->noutputs > MAX_IO / 2) s = tc_error(TC_UNSUPPORTED, "too many outputs");
    if (!s) s = tc_exec_run(e, given, n, &g, out->t, out->n = p->noutputs);
    for (int i = 0; i < p->noutputs && !s; i++)
        if (p->outputs[i].target >= 0 && tc_exec_state(e, p->outputs[i].target))
            s = tc_tensor_clone(tc_exec_state(e, p->outputs[i].target), &out->t[out->n++]);
    for (int i = 0; i < n; i++)
        if (s || out->n == MAX_IO) tc_tensor_deinit(&given[i]);
        else out->t[out->n++] = given[i];
    tc_exec_destroy(e);
    return s;
}

static bool same(const results *a, const results *b, tc_buf *why) {
    for (int i = 0; i < a->n; i++) {
        tc_diff d;
        if (!a->t[i].storage && !b->t[i].storage) continue;
        tc_status s = tc_tensor_compare(&a->t[i], &b->t[i], 0, 0, &d);
        if (s) tc_buf_printf(why, "result %d: %s", i, tc_status_message(s));
        else if (d.count)
            tc_buf_printf(why, "result %d: %lld elements differ, the first at %lld, by %g at most", i, (long long)d.count, (long long)d.first,
                          d.max_abs);
        tc_status_free(s);
        if (why->len) return false;
    }
    return true;
}

static bool has_half(const tc_program *p) {
    for (const tc_node *n = p->graph->first; n; n = n->next)
        for (int i = 0; i < n->nouts; i++)
            if (n->outs[i]->kind == TC_V_TENSOR && tc_dtype_compute(n->outs[i]->meta.dtype) != n->outs[i]->meta.dtype) return true;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].value && p->inputs[i].value->kind == TC_V_TENSOR &&
            tc_dtype_compute(p->inputs[i].value->meta.dtype) != p->inputs[i].value->meta.dtype)
            return true;
    return false;
}

static tc_status load(const char *folder, const char *name, tc_program **p, tc_tensors *in) {
    char path[512];
    tc_archive *a;
    snprintf(path, sizeof path, "%s/%s.pt2", folder, name);
    TC_TRY(tc_archive_open_file(path, &a));
    tc_status s = tc_archive_program(a, NULL, p);
    tc_archive_close(a);
    if (s) return s;
    snprintf(path, sizeof path, "%s/%.*s.inputs.safetensors", folder, (int)strcspn(name, "."), name);
    s = tc_functionalise(*p);
    if (!s) s = tc_tensors_load(path, in);
    if (s) tc_program_release(*p);
    return s;
}

static void check(const char *folder, const char *corpus, const char *name, const variant *v, int nv) {
    tc_program *p;
    tc_tensors in = {0};
    results want = {0}, got = {0};
    tc_buf why = {0};
    tc_status s = load(folder, name, &p, &in);
    if (s) {
        tc_status_free(s);
        return;
    }
    s = run(p, &(tc_exec_options){.threads = 1, .no_fuse = true}, &in, &want);
    bool lacks = tc_status_code(s) == TC_UNSUPPORTED, half = has_half(p);
    for (int i = 0; i < nv && !s && !why.len; i++) {
        tc_buf found = {0};
        if (half && v[i].o.isa) continue;
        s = run(p, &v[i].o, &in, &got);
        if (s || !same(&want, &got, &found)) tc_buf_printf(&why, "%s: %s", v[i].name, s ? tc_status_message(s) : tc_buf_str(&found));
        tc_buf_free(&found);
        results_free(&got);
    }
    if (s && !why.len) tc_buf_puts(&why, tc_status_message(s));
    if (!lacks) report(why.len ? CASE_FAIL : CASE_PASS, corpus, name, tc_buf_str(&why));
    tc_status_free(s);
    tc_buf_free(&why);
    results_free(&want);
    tc_tensors_deinit(&in);
    tc_program_release(p);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
    variant v[16] = {{"fused, 1 thread", {.threads = 1}}, {"fused, 2 threads", {.threads = 2}}, {"fused, 7 threads", {.threads = 7}}};
    int nv = 3;
    tc_isa_row best;
    tc_status s = tc_isa_choose(NULL, &best);
    if (s || argc < 3) return fprintf(stderr, "usage: bits-pt2 FOLDER CORPUS [NAME]\n"), 2;
    for (tc_isa_row r = 0; r < best && nv < 16; r++) v[nv++] = (variant){tc_isa_ops_of(r)->name, {.threads = 1, .isa = tc_isa_ops_of(r)}};
    TC_VEC(char *) names = {0};
    DIR *d = opendir(argv[1]);
    for (struct dirent *f; d && (f = readdir(d));) {
        size_t n = strlen(f->d_name);
        if (n <= 4 || strcmp(f->d_name + n - 4, ".pt2")) continue;
        char *name = strndup(f->d_name, n - 4);
        if (argc > 3 && strcmp(name, argv[3])) free(name);
        else tc_vec_push(&names, name);
    }
    if (d) closedir(d);
    if (names.len) qsort(names.data, names.len, sizeof *names.data, by_name);
    for (size_t i = 0; i < names.len; i++) {
        fflush(stdout);
        pid_t pid = fork(); /* a crash is one failure */
        if (!pid) {
            check(argv[1], argv[2], names.data[i], v, nv);
            exit(0);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (WIFSIGNALED(status)) report(CASE_FAIL, argv[2], names.data[i], strsignal(WTERMSIG(status)));
        free(names.data[i]);
    }
    tc_vec_free(&names);
    return 0;
}
