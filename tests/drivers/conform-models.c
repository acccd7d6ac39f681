/* The models corpus: real ONNX models, run by tc-run on the stored inputs and compared with the stored outputs; those without
 * reference outputs must run on inputs made here and give finite values. Usage: conform-models FOLDER CORPUS [MODEL] */
#include "conform.h"

#include "base/json.h"
#include "file/npy.h"
#include "file/tensors.h"
#include "sym/sym.h"
#include "scratch.h"

#include <math.h>

static char scratch[256];

typedef struct {
    char *name, *dtype, *size[16];
    int rank;
} port;
typedef TC_VEC(port) ports;

/* Inputs, and outputs, in order, by tc-run --signature --json. */
static int read_signature(const char *model, ports *in, ports *out, tc_buf *err) {
    command c = {0};
    tc_buf text = {0};
    arg(&c, "tc-run");
    arg(&c, "%s", model);
    arg(&c, "--signature");
    arg(&c, "--json");
    int rc = run_command(&c, NULL, 60, &text, err);
    for (char *line = text.data, *next; !rc && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        tc_jread j;
        port p = {0};
        bool is_output = false;
        tc_jr_init(&j, "signature", line, strlen(line));
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (tc_str_is(key, "input") || tc_str_is(key, "output")) {
                is_output = tc_str_is(key, "output");
                tc_str s = tc_jr_string(&j);
                p.name = strndup(s.s, s.n);
            } else if (tc_str_is(key, "dtype")) {
                tc_str s = tc_jr_string(&j);
                p.dtype = strndup(s.s, s.n);
            } else if (tc_str_is(key, "shape")) {
                for (tc_jr_array(&j); tc_jr_item(&j);) {
                    int64_t v;
                    double d;
                    char *one = NULL;
                    if (tc_jr_peek(&j) == TC_JR_NUMBER) {
                        tc_jr_number(&j, &v, &d);
                        if (asprintf(&one, "%lld", (long long)v) < 0) one = NULL;
                    } else {
                        tc_str e = tc_jr_string(&j);
                        one = strndup(e.s, e.n);
                    }
                    if (p.rank < 16) p.size[p.rank++] = one;
                }
            } else {
                tc_jr_skip(&j);
            }
        }
        tc_status_free(tc_jr_finish(&j));
        if (!p.name) continue;
        if (is_output) tc_vec_push(out, p);
        else tc_vec_push(in, p);
    }
    command_free(&c);
    tc_buf_free(&text);
    return rc;
}

static void free_ports(ports *p) {
    for (size_t i = 0; i < p->len; i++) {
        free(p->data[i].name);
        free(p->data[i].dtype);
        for (int d = 0; d < p->data[i].rank; d++) free(p->data[i].size[d]);
    }
    tc_vec_free(p);
}

/* Sizes for the inputs: 4 for every symbol; where an expression ("total - new") is not positive then, a symbol is doubled. */
static bool choose_sizes(const ports *in, int64_t size[][16]) {
    tc_symctx *c = tc_symctx_create();
    tc_symvalue values[64];
    bool ok = false;
    for (int grown = -1; grown < 64 && !ok; grown++) {
        ok = true;
        for (int i = 0; i < 64; i++) values[i] = (tc_symvalue){.i = i == grown ? 8 : 4, .bound = true};
        for (size_t i = 0; i < in->len && i < 64 && ok; i++)
            for (int d = 0; d < in->data[i].rank && ok; d++) {
                tc_sym e;
                tc_status st = tc_sym_parse(c, in->data[i].size[d], strlen(in->data[i].size[d]), &e);
                if (!st) st = tc_sym_eval_int(e, values, 64, &size[i][d]);
                ok = !st && size[i][d] > 0;
                tc_status_free(st);
            }
    }
    tc_symctx_destroy(c);
    return ok;
}

static bool all_finite(const tc_tensor *t) {
    tc_tensor c;
    bool ok = true;
    if (!tc_is_float(t->dtype) || tc_tensor_contiguous(t, &c)) return true;
    for (int64_t i = 0; i < tc_tensor_numel(&c) && ok; i++) ok = isfinite(tc_scalar_to_double(tc_scalar_load(c.dtype, tc_tensor_data(&c), i)));
    tc_tensor_deinit(&c);
    return ok;
}

/* Without reference outputs: ones (halves for floats) in, finite values out. */
static verdict run_alone(const char *model, tc_buf *why) {
    ports in = {0}, out = {0};
    command c = {0};
    char result[512];
    tc_tensors t = {0};
    int64_t size[64][16] = {{0}};
    int rc = read_signature(model, &in, &out, why);
    if (!rc && !choose_sizes(&in, size)) {
        rc = 3;
        tc_buf_puts(why, "no sizes for its inputs were found");
    }
    snprintf(result, sizeof result, "%s/result.safetensors", scratch);
    if (!rc) {
        arg(&c, "tc-run");
        arg(&c, "%s", model);
        for (size_t i = 0; i < in.len; i++) {
            const char *dtype = in.data[i].dtype ? in.data[i].dtype : "i64";
            tc_buf sizes = {0};
            for (int d = 0; d < in.data[i].rank; d++) tc_buf_printf(&sizes, "%lldx", (long long)size[i][d]);
            arg(&c, "--input");
            arg(&c, "%s=%s%s=%s", in.data[i].name, tc_buf_str(&sizes), dtype, *dtype == 'f' ? "0.5" : "1");
            tc_buf_free(&sizes);
        }
        arg(&c, "-o");
        arg(&c, "%s", result);
        rc = run_command(&c, NULL, 120, NULL, why);
    }
    verdict v = verdict_of(rc);
    if (v == CASE_PASS) {
        tc_status st = tc_tensors_load(result, &t);
        if (st) {
            v = CASE_FAIL;
            tc_buf_puts(why, tc_status_message(st));
        }
        tc_status_free(st);
    }
    for (size_t i = 0; v == CASE_PASS && i < t.items.len; i++)
        if (!all_finite(&t.items.data[i].tensor)) {
            v = CASE_FAIL;
            tc_buf_printf(why, "%s has values that are not finite", t.items.data[i].name);
        }
    tc_tensors_deinit(&t);
    command_free(&c);
    free_ports(&in);
    free_ports(&out);
    return v;
}

static verdict run_set(const char *model, const char *folder, double tolerance, tc_buf *why) {
    ports in = {0}, out = {0};
    command c = {0};
    char path[800];
    int rc = read_signature(model, &in, &out, why);
    if (!rc) {
        arg(&c, "tc-run");
        arg(&c, "%s", model);
        for (size_t i = 0; i < in.len; i++) {
            snprintf(path, sizeof path, "%s/input_%zu.npy", folder, i);
            arg(&c, "--input");
            arg(&c, "%s=@%s", in.data[i].name, path);
        }
        for (int i = 0;; i++) {
            snprintf(path, sizeof path, "%s/output_%d.npy", folder, i);
            if (access(path, F_OK)) break;
            arg(&c, "--expect");
            arg(&c, "%d=@%s", i, path);
        }
        arg(&c, "--rtol");
        arg(&c, "%g", tolerance);
        arg(&c, "--atol");
        arg(&c, "%g", tolerance);
        rc = run_command(&c, NULL, 120, NULL, why);
    }
    command_free(&c);
    free_ports(&in);
    free_ports(&out);
    return verdict_of(rc);
}

/* ONNX Runtime's own difference between optimisation levels ("0.67,0.37|..."), its largest, or 1e-3. */
static double tolerance_of(const char *text) {
    double worst = 1e-3;
    for (const char *p = text; *p;) {
        char *end;
        double v = strtod(p, &end);
        if (end != p && v > worst) worst = v;
        p = end == p ? p + 1 : end;
    }
    return worst;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char path[512];
    tc_buf text = {0};
    if (!scratch_folder(scratch, sizeof scratch, "conform-models")) return 1;
    snprintf(path, sizeof path, "%s/models.tsv", argv[1]);
    tc_status st = tc_file_read(path, 16 << 20, &text);
    if (st) {
        fprintf(stderr, "%s\n", tc_status_message(st));
        return 1;
    }
    row head = {0};
    for (char *line = text.data, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        row r = split_row(line);
        if (!head.n) {
            head = r;
            continue;
        }
        const char *name = r.cell[column(&head, "name")];
        int sets = atoi(r.cell[column(&head, "sets")]);
        double tolerance = tolerance_of(r.cell[column(&head, "ort_maxdiff_disabled_vs_all")]);
        if (argc > 3 && strcmp(argv[3], name)) continue;
        char model[600], folder[700];
        snprintf(model, sizeof model, "%s/%s/model.onnx", argv[1], name);
        verdict v = CASE_PASS;
        tc_buf why = {0};
        for (int k = 0; k < sets && v == CASE_PASS; k++) {
            snprintf(folder, sizeof folder, "%s/%s/set%d", argv[1], name, k);
            v = run_set(model, folder, tolerance, &why);
        }
        if (!sets) v = run_alone(model, &why);
        report(v, argv[2], name, tc_buf_str(&why));
        tc_buf_free(&why);
    }
    tc_status_free(tc_remove_tree(scratch));
    return 0;
}
