/* The onnx corpus: ONNX's own backend cases, imported, run in a process of their own and compared with the stored outputs.
 * Usage: conform-onnx FOLDER CORPUS [CASE or beginning*] */
#include "conform.h"

#include "base/rng.h"
#include "onnx/onnx.h"
#include "runtime/runtime.h"

#include <dirent.h>

enum { SECONDS = 60 };
static const double RTOL = 1e-3, ATOL = 1e-7; /* of ONNX's own backend tests */

static tc_status fail(const char *text) { return tc_error(TC_DIFFERENT, "%s", text); }

static tc_onnx_data_kind kind_of(const tc_onnx_type *t) {
    return t->kind == TC_ONNX_T_SEQUENCE ? TC_ONNX_IS_SEQUENCE : t->kind == TC_ONNX_T_OPTIONAL ? TC_ONNX_IS_OPTIONAL : TC_ONNX_IS_TENSOR;
}

static tc_status load(const char *path, const tc_onnx_type *t, tc_onnx_data *out) {
    tc_blob *b;
    tc_onnx_data_kind k = kind_of(t);
    TC_TRY(tc_blob_open(path, &b));
    tc_status st = tc_onnx_read_data(b, k, out);
    tc_blob_release(b);
    return st;
}

static bool is_random(const tc_onnx_model *m) {
    static const char *const ops[] = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"};
    for (size_t i = 0; i < m->graph.nodes.len; i++)
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
            if (!strcmp(m->graph.nodes.data[i].op, ops[k])) return true;
    return false;
}

static tc_status compare(const tc_tensor *found, const tc_onnx_tensor *want, const char *name, bool types_only) {
    tc_diff d;
    tc_status st;
    if (types_only) {
        bool same = found->dtype == want->data.dtype && found->rank == want->data.rank;
        for (int i = 0; same && i < found->rank; i++) same = found->size[i] == want->data.size[i];
        return same ? NULL : fail("the result has another type");
    }
    bool real = tc_is_float(found->dtype) || tc_is_complex(found->dtype);
    double rtol = RTOL, atol = ATOL;
    if (found->dtype == TC_F16 || found->dtype == TC_BF16) rtol = 1e-2, atol = 1e-3;
    st = tc_tensor_compare(found, &want->data, real ? rtol : 0, real ? atol : 0, &d);
    if (st && d.count)
        st = tc_annotate(st, "%s: %lld elements differ, the first at %lld, largest error %g (relative %g)", name, (long long)d.count,
                         (long long)d.first, d.max_abs, d.max_rel);
    return st ? tc_annotate(st, "%s", name) : NULL;
}

/* Strings are results that the program has as constants. */
static tc_status compare_strings(const tc_program *p, int *k, const tc_onnx_tensor *want) {
    for (size_t i = 0; i < want->nstrings; i++, (*k)++) {
        const tc_output *o = *k < p->noutputs ? &p->outputs[*k] : NULL;
        if (!o || o->kind != TC_OUT_LEAF || o->leaf.kind != TC_A_STRING) return fail("a result is no string");
        if (strcmp(o->leaf.string, want->strings[i]))
            return tc_error(TC_DIFFERENT, "%s is '%s', expected '%s'", o->name, o->leaf.string, want->strings[i]);
    }
    return NULL;
}

static bool initialised(const tc_onnx_model *m, const char *name) {
    for (size_t i = 0; i < m->graph.inits.len; i++)
        if (!strcmp(m->graph.inits.data[i].name, name)) return true;
    return false;
}

typedef struct {
    const tc_onnx_model *m;
    char folder[700];
    tc_onnx_data in[64], out[64];
    const tc_onnx_value *input[64];
    int nin, nout;
} case_data;

static tc_status read_set(case_data *s) {
    char path[800];
    for (size_t i = 0; i < s->m->graph.inputs.len && s->nin < 64; i++) {
        const tc_onnx_value *v = &s->m->graph.inputs.data[i];
        snprintf(path, sizeof path, "%s/input_%d.pb", s->folder, s->nin);
        if (initialised(s->m, v->name) || access(path, F_OK)) continue;
        s->input[s->nin] = v;
        TC_TRY(load(path, &v->type, &s->in[s->nin]));
        s->nin++;
    }
    for (size_t i = 0; i < s->m->graph.outputs.len && s->nout < 64; i++) {
        snprintf(path, sizeof path, "%s/output_%zu.pb", s->folder, i);
        if (access(path, F_OK)) break;
        TC_TRY(load(path, &s->m->graph.outputs.data[i].type, &s->out[s->nout]));
        s->nout++;
    }
    return NULL;
}

static tc_status import(const case_data *s, tc_evaluator *ev, tc_program **out) {
    tc_onnx_fixed fixed[64];
    int n = 0;
    for (int i = 0; i < s->nin; i++) {
        const tc_onnx_data *d = &s->in[i];
        const tc_onnx_tensor *text = NULL;
        tc_tensor *items = tc_xcalloc(d->items.len + 1, sizeof *items);
        for (size_t k = 0; k < d->items.len; k++) {
            if (d->items.data[k].type == TC_ONNX_STRING) text = &d->items.data[k];
            items[k] = d->items.data[k].data;
        }
        bool sequence = s->input[i]->type.kind == TC_ONNX_T_SEQUENCE ||
                        (s->input[i]->type.kind == TC_ONNX_T_OPTIONAL && s->input[i]->type.of && s->input[i]->type.of->kind == TC_ONNX_T_SEQUENCE);
        fixed[n++] = (tc_onnx_fixed){
            .name = s->input[i]->name, .items = items, .n = (int)d->items.len, .text = text, .is_sequence = sequence, .absent = d->absent};
    }
    tc_side_programs all = {0};
    TC_TRY(tc_onnx_import(s->m, &(tc_onnx_options){.run = tc_evaluator_eval(ev), .fixed = fixed, .nfixed = n}, &all, NULL));
    *out = all.data[0];
    tc_vec_free(&all);
    return NULL;
}

static tc_status run(const case_data *s, const tc_program *p) {
    tc_exec *e;
    tc_generator gen = {0};
    tc_generator_seed(&gen, 0);
    TC_TRY(tc_exec_create(p, &(tc_exec_options){.threads = 1}, &e));
    tc_tensor given[256];
    int n = 0;
    for (int i = 0; i < s->nin; i++)
        for (size_t k = 0; k < s->in[i].items.len; k++)
            if (s->in[i].items.data[k].data.storage) given[n++] = s->in[i].items.data[k].data;
    tc_tensor *results = tc_xcalloc((size_t)p->noutputs + 1, sizeof *results);
    TC_TRY(tc_exec_run(e, given, n, &gen, results, p->noutputs), "running");
    int k = 0;
    for (int i = 0; i < s->nout; i++) {
        if (s->out[i].absent) {
            if (k < p->noutputs && p->outputs[k].kind == TC_OUT_LEAF) k++;
            continue;
        }
        for (size_t j = 0; j < s->out[i].items.len; j++) {
            const tc_onnx_tensor *want = &s->out[i].items.data[j];
            if (want->type == TC_ONNX_STRING) {
                TC_TRY(compare_strings(p, &k, want));
                continue;
            }
            if (k >= p->noutputs) return fail("fewer results than expected");
            if (!results[k].storage) return fail("a result is no tensor");
            TC_TRY(compare(&results[k], want, p->outputs[k].name, is_random(s->m)));
            k++;
        }
    }
    if (k != p->noutputs) return fail("more results than expected");
    return NULL;
}

/* The models of light/ stand alone beside their one output; their input is 0, 1/n, 2/n, ... as ONNX's own runner gives it. */
static tc_status run_light(const char *stem) {
    char path[700];
    tc_blob *b;
    tc_onnx_model *m;
    tc_evaluator *ev;
    tc_program *p;
    case_data *s = tc_xcalloc(1, sizeof *s);
    snprintf(path, sizeof path, "%s.onnx", stem);
    TC_TRY(tc_blob_open(path, &b));
    TC_TRY(tc_onnx_read(b, &m));
    TC_TRY(tc_evaluator_create(&(tc_exec_options){.threads = 1}, &ev));
    s->m = m;
    snprintf(path, sizeof path, "%s_output_0.pb", stem);
    TC_TRY(load(path, &m->graph.outputs.data[0].type, &s->out[0]));
    s->nout = 1;
    for (size_t i = 0; i < m->graph.inputs.len; i++) {
        const tc_onnx_value *v = &m->graph.inputs.data[i];
        if (initialised(m, v->name)) continue;
        tc_onnx_tensor t = {.name = v->name, .type = v->type.elem, .rank = v->type.rank};
        TC_TRY(tc_tensor_empty(TC_F32, v->type.rank, v->type.size, &t.data));
        int64_t n = tc_tensor_numel(&t.data);
        for (int64_t k = 0; k < n; k++) ((float *)tc_tensor_data(&t.data))[k] = (float)((double)k / (double)n);
        tc_vec_push(&s->in[s->nin].items, t);
        s->input[s->nin++] = v;
    }
    TC_TRY(import(s, ev, &p));
    return run(s, p);
}

static tc_status run_case(const char *folder) {
    char path[600];
    snprintf(path, sizeof path, "%s.onnx", folder);
    if (!access(path, F_OK)) return run_light(folder);
    tc_blob *b;
    tc_onnx_model *m;
    tc_evaluator *ev;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    TC_TRY(tc_blob_open(path, &b));
    TC_TRY(tc_onnx_read(b, &m));
    TC_TRY(tc_evaluator_create(&(tc_exec_options){.threads = 1}, &ev));
    for (int k = 0; k < 16; k++) {
        case_data *s = tc_xcalloc(1, sizeof *s);
        tc_program *p;
        s->m = m;
        snprintf(s->folder, sizeof s->folder, "%s/test_data_set_%d", folder, k);
        if (access(s->folder, F_OK)) break;
        TC_TRY(read_set(s));
        TC_TRY(import(s, ev, &p));
        TC_TRY(run(s, p));
        tc_program_release(p);
    }
    return NULL;
}

/* The case in a process of its own: a crash or a loop is that case's failure. */
static verdict isolated(const char *folder, tc_buf *why) {
    int fds[2], status = 0;
    if (pipe(fds)) return CASE_FAIL;
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        alarm(SECONDS);
        tc_status st = run_case(folder);
        const char *text = tc_status_message(st);
        ssize_t w = write(fds[1], text, strlen(text));
        _exit(w < 0 ? 1 : (int)tc_status_code(st));
    }
    close(fds[1]);
    char chunk[4096];
    for (ssize_t n; (n = read(fds[0], chunk, sizeof chunk)) > 0;) tc_buf_append(why, chunk, (size_t)n);
    close(fds[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) {
        tc_buf_printf(why, "died of signal %d", WTERMSIG(status));
        return CASE_FAIL;
    }
    return verdict_of(WEXITSTATUS(status));
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char path[512];
    tc_buf text = {0};
    snprintf(path, sizeof path, "%s/cases.tsv", argv[1]);
    tc_status st = tc_file_read(path, 64 << 20, &text);
    if (st) {
        fprintf(stderr, "%s\n", tc_status_message(st));
        return 1;
    }
    row head = {0};
    const char *only = argc > 3 ? argv[3] : NULL;
    size_t n = only ? strlen(only) : 0;
    bool prefix = n && only[n - 1] == '*';
    for (char *line = text.data, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        row r = split_row(line);
        if (!head.n) {
            head = r;
            continue;
        }
        const char *name = r.cell[column(&head, "case")];
        if (only && (prefix ? strncmp(name, only, n - 1) : strcmp(name, only))) continue;
        char folder[512];
        tc_buf why = {0};
        snprintf(folder, sizeof folder, "%s/%s/%s", argv[1], r.cell[column(&head, "folder")], name);
        verdict v = isolated(folder, &why);
        report(v, argv[2], name, tc_buf_str(&why));
        tc_buf_free(&why);
        free(r.cell);
    }
    return 0;
}
