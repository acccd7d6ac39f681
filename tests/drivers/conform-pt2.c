/* The pt2 corpus: programs that PyTorch wrote, run by tc-run on the stored inputs and compared with the stored outputs, a second
 * set of sizes and what the program writes to included. Usage: conform-pt2 FOLDER CORPUS [NAME] */
#include "conform.h"

#include "base/json.h"
#include "file/npy.h"
#include "file/tensors.h"
#include "scratch.h"

#include <ctype.h>

typedef struct {
    char *name;
    bool leaf;
} input;
typedef TC_VEC(input) input_list;
typedef TC_VEC(char *) name_list;

static const char *corpus, *folder;
static char scratch[256];

/* The message of an error that was printed as JSON, in place. */
static void message_of(tc_buf *err) {
    tc_jread j;
    tc_buf message = {0};
    tc_jr_init(&j, NULL, tc_buf_str(err), err->len ? strcspn(err->data, "\n") : 0);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        bool wanted = tc_str_is(key, "message");
        if (!wanted) {
            tc_jr_skip(&j);
            continue;
        }
        tc_str s = tc_jr_string(&j);
        tc_buf_append(&message, s.s, s.n);
    }
    tc_status_free(tc_jr_finish(&j));
    if (message.len) {
        tc_buf_free(err);
        *err = message;
    }
}

/* The inputs of a program by tc-run --signature --json; its exit code, err holding why not. */
static int read_signature(const char *pt2, const char *model, input_list *out, name_list *outputs, tc_buf *err) {
    command c = {0};
    tc_buf text = {0};
    arg(&c, "tc-run");
    arg(&c, "%s", pt2);
    if (model) arg(&c, "--model"), arg(&c, "%s", model);
    arg(&c, "--signature");
    arg(&c, "--json");
    int rc = run_command(&c, NULL, 60, &text, err);
    if (rc) message_of(err);
    for (char *line = text.data, *next; !rc && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        tc_jread j;
        input in = {0};
        tc_jr_init(&j, "signature", line, strlen(line));
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (tc_str_is(key, "input")) {
                tc_str s = tc_jr_string(&j);
                in.name = strndup(s.s, s.n);
            } else if (tc_str_is(key, "output")) {
                tc_str s = tc_jr_string(&j);
                tc_vec_push(outputs, strndup(s.s, s.n));
            } else {
                if (tc_str_is(key, "value")) in.leaf = true;
                tc_jr_skip(&j);
            }
        }
        tc_status_free(tc_jr_finish(&j));
        if (in.name) tc_vec_push(out, in);
    }
    command_free(&c);
    tc_buf_free(&text);
    return rc;
}

/* "int:4", "float:0.5", "bool:True" as a literal of the command line; false for anything else. */
static bool literal(const char *text, tc_buf *out) {
    out->len = 0;
    if (!strncmp(text, "int:", 4)) tc_buf_printf(out, "i64=%s", text + 4);
    else if (!strncmp(text, "float:", 6)) tc_buf_printf(out, "f64=%s", text + 6);
    else if (!strncmp(text, "bool:", 5)) tc_buf_printf(out, "bool=%s", text + 5);
    else return false;
    return true;
}

/* The value of "in3=" or "out3=" in a description of the index, up to the next blank; false when it is not there. */
static bool described(const char *text, const char *kind, int number, tc_buf *out) {
    char key[24];
    snprintf(key, sizeof key, "%s%d=", kind, number);
    const char *p = text ? strstr(text, key) : NULL;
    while (p && p > text && p[-1] != ' ') p = strstr(p + 1, key);
    if (!p) return false;
    p += strlen(key);
    out->len = 0;
    tc_buf_append(out, p, strcspn(p, " "));
    return true;
}

/* A number that the program must return, as a file that tc-run can expect. */
static bool write_number(const char *text, const char *path) {
    tc_buf b = {0};
    tc_out *o;
    tc_scalar v = {0};
    tc_dtype d = TC_I64;
    tc_tensor t;
    bool ok = literal(text, &b);
    if (ok && b.data[0] == 'i') v = tc_scalar_int(strtoll(b.data + 4, NULL, 10));
    else if (ok && b.data[0] == 'f') v = tc_scalar_float(strtod(b.data + 4, NULL)), d = TC_F64;
    else v = tc_scalar_bool(ok && !strcmp(b.data, "bool=True")), d = TC_BOOL;
    if (ok && !tc_tensor_scalar(d, v, &t)) {
        if (!tc_out_open(path, &o)) tc_status_free(tc_out_finish(o, tc_npy_write(o, &t)));
        tc_tensor_deinit(&t);
    }
    tc_buf_free(&b);
    return ok;
}

typedef struct {
    const char *pt2, *model, *prefix, *inputs, *outputs, *in_desc, *out_desc;
    double tolerance;
    char *const *output_names;
    size_t noutputs;
} job;

static void add_inputs(command *c, const job *j, const input_list *sig, const tc_tensors *in) {
    tc_buf b = {0}, lit = {0};
    char key[256];
    for (int i = 0; i < (int)sig->len; i++) {
        if (sig->data[i].leaf) continue;
        snprintf(key, sizeof key, "%sin%d", j->prefix, i);
        if (tc_tensors_find(in, key)) {
            arg(c, "--input");
            arg(c, "%s=@%s#%s", sig->data[i].name, j->inputs, key);
        } else if (described(j->in_desc, "in", i, &b) && literal(b.data, &lit)) {
            arg(c, "--input");
            arg(c, "%s=%s", sig->data[i].name, lit.data);
        }
    }
    tc_buf_free(&b);
    tc_buf_free(&lit);
}

static void add_expected(command *c, const job *j, const input_list *sig, const tc_tensors *out) {
    tc_buf b = {0};
    size_t n = strlen(j->prefix);
    for (size_t i = 0; i < out->items.len; i++) {
        const char *key = out->items.data[i].name, *rest = key + n;
        if (strncmp(key, j->prefix, n)) continue;
        if (!strncmp(rest, "out", 3) && isdigit((unsigned char)rest[3])) {
            arg(c, "--expect");
            arg(c, "%s=@%s#%s", rest + 3, j->outputs, key);
        } else if (!strncmp(rest, "mut.in", 6)) {
            int k = atoi(rest + 6);
            arg(c, "--expect");
            arg(c, "%s=@%s#%s", k < (int)sig->len ? sig->data[k].name : "?", j->outputs, key);
        } else if (!strncmp(rest, "buf.", 4)) {
            arg(c, "--expect");
            arg(c, "%s=@%s#%s", rest + 4, j->outputs, key);
        }
    }
    for (int i = 0; i < 200; i++) {
        char path[512];
        if (!described(j->out_desc, "out", i, &b)) break;
        snprintf(path, sizeof path, "%s/out%d.npy", scratch, i);
        if (!write_number(b.data, path)) continue;
        arg(c, "--expect");
        arg(c, "%d=@%s", i, path);
    }
    tc_buf_free(&b);
}

/* Random results: only the types are compared. */
static verdict check_types(const job *j, const char *path, tc_buf *why) {
    static const char *const shorts[][2] = {{"float32", "f32"}, {"int64", "i64"},     {"bool", "bool"},
                                            {"float16", "f16"}, {"bfloat16", "bf16"}, {"float64", "f64"}};
    tc_tensors t = {0};
    tc_buf want = {0}, found = {0}, b = {0};
    tc_status st = tc_tensors_load(path, &t);
    verdict v = CASE_PASS;
    for (size_t i = 0; !st && i < j->noutputs; i++) {
        const tc_tensor *result = tc_tensors_find(&t, j->output_names[i]); /* the file orders them by their types */
        if (!result || !described(j->out_desc, "out", (int)i, &b)) continue;
        char *open = strchr(b.data, '[');
        want.len = found.len = 0;
        for (char *p = open ? open + 1 : NULL; p && *p && *p != ']'; p++) tc_buf_putc(&want, *p == ',' ? 'x' : *p);
        if (want.len) tc_buf_putc(&want, 'x');
        for (size_t k = 0; open && k < sizeof shorts / sizeof *shorts; k++)
            if (strlen(shorts[k][0]) == (size_t)(open - b.data) && !strncmp(shorts[k][0], b.data, (size_t)(open - b.data)))
                tc_buf_puts(&want, shorts[k][1]);
        tc_tensor_print_type(&found, result);
        if (!strcmp(tc_buf_str(&want), found.data)) continue;
        v = CASE_FAIL;
        tc_buf_printf(why, "out%zu is %s, expected %s", i, found.data, tc_buf_str(&want));
    }
    if (st) {
        v = CASE_FAIL;
        tc_buf_puts(why, tc_status_message(st));
        tc_status_free(st);
    }
    tc_tensors_deinit(&t);
    tc_buf_free(&want);
    tc_buf_free(&found);
    tc_buf_free(&b);
    return v;
}

static verdict run_job(job *j, tc_buf *why) {
    input_list sig = {0};
    name_list names = {0};
    tc_tensors in = {0}, out = {0};
    command c = {0};
    char result[512];
    int rc = read_signature(j->pt2, j->model, &sig, &names, why);
    j->output_names = names.data, j->noutputs = names.len;
    bool shapes = access(j->outputs, F_OK) != 0;
    tc_status st = rc ? NULL : tc_tensors_load(j->inputs, &in);
    if (!rc && !st && !shapes) st = tc_tensors_load(j->outputs, &out);
    if (st) tc_buf_puts(why, tc_status_message(st));
    if (!rc && !st) {
        arg(&c, "tc-run");
        arg(&c, "%s", j->pt2);
        if (j->model) arg(&c, "--model"), arg(&c, "%s", j->model);
        add_inputs(&c, j, &sig, &in);
        if (shapes) {
            snprintf(result, sizeof result, "%s/result.safetensors", scratch);
            arg(&c, "-o");
            arg(&c, "%s", result);
        } else {
            add_expected(&c, j, &sig, &out);
            arg(&c, "--rtol");
            arg(&c, "%g", j->tolerance);
            arg(&c, "--atol");
            arg(&c, "%g", j->tolerance);
        }
        rc = run_command(&c, NULL, 120, NULL, why);
        if (rc == 124) tc_buf_puts(why, "no end after 120 s");
        if (rc > 128) tc_buf_printf(why, "died of signal %d", rc - 128);
    }
    verdict v = st ? CASE_FAIL : verdict_of(rc);
    if (v == CASE_PASS && shapes) v = check_types(j, result, why);
    tc_status_free(st);
    for (size_t i = 0; i < sig.len; i++) free(sig.data[i].name);
    tc_vec_free(&sig);
    for (size_t i = 0; i < names.len; i++) free(names.data[i]);
    tc_vec_free(&names);
    tc_tensors_deinit(&in);
    tc_tensors_deinit(&out);
    command_free(&c);
    return v;
}

/* Programs of an archive of several: the keys of its inputs begin with their names. */
static int programs_of(const char *inputs, char names[][128], int max) {
    tc_tensors t = {0};
    int n = 0;
    tc_status st = tc_tensors_load(inputs, &t);
    tc_status_free(st);
    for (size_t i = 0; !st && i < t.items.len; i++) {
        const char *key = t.items.data[i].name, *last = strrchr(key, '.');
        char prefix[128];
        if (!last || strncmp(last + 1, "in", 2)) snprintf(prefix, sizeof prefix, "%s", "");
        else snprintf(prefix, sizeof prefix, "%.*s", (int)(last - key), key);
        int k = 0;
        while (k < n && strcmp(names[k], prefix)) k++;
        if (k == n && n < max) snprintf(names[n++], 128, "%s", prefix);
    }
    tc_tensors_deinit(&t);
    if (!n) names[n++][0] = 0;
    return n;
}

static void run_row(const row *head, const row *r, const char *notes_of_io) {
    const char *name = r->cell[column(head, "name")], *io = r->cell[column(head, "io")], *dtype = r->cell[column(head, "dtype")];
    bool half = strstr(dtype, "16") || strstr(name, "autocast") || strstr(name, "dtype_zoo");
    for (int set = 1; set <= 2; set++) {
        char pt2[512], in[512], out[512], label[256], names[8][128];
        const char *suffix = set == 2 ? "2" : "", *second = strstr(notes_of_io, "second set of inputs: ");
        snprintf(pt2, sizeof pt2, "%s/%s.pt2", folder, name);
        snprintf(in, sizeof in, "%s/%s.inputs%s.safetensors", folder, io, suffix);
        snprintf(out, sizeof out, "%s/%s.outputs%s.safetensors", folder, io, suffix);
        if (access(in, F_OK)) continue;
        int n = programs_of(in, names, 8);
        tc_buf why = {0};
        verdict worst = CASE_PASS;
        for (int k = 0; k < n; k++) {
            char prefix[136];
            snprintf(prefix, sizeof prefix, "%.128s%s", names[k], *names[k] ? "." : "");
            job j = {.pt2 = pt2,
                     .model = *names[k] ? names[k] : NULL,
                     .prefix = prefix,
                     .inputs = in,
                     .outputs = out,
                     .tolerance = half                     ? 2e-2
                                  : strstr(name, "linalg") ? 1e-3
                                                           : 1e-4,
                     .in_desc = set == 1 ? r->cell[column(head, "inputs")]
                                : second ? second + 22
                                         : NULL,
                     .out_desc = set == 1 ? r->cell[column(head, "outputs")] : NULL};
            why.len = 0;
            verdict v = run_job(&j, &why);
            if (v == CASE_FAIL || worst == CASE_PASS) worst = v;
            if (v != CASE_PASS) break;
        }
        snprintf(label, sizeof label, "%s%s", name, set == 2 ? "#2" : "");
        report(worst, corpus, label, tc_buf_str(&why));
        tc_buf_free(&why);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    folder = argv[1];
    corpus = argv[2];
    if (!scratch_folder(scratch, sizeof scratch, "conform-pt2")) return 1;
    char path[512];
    tc_buf text = {0};
    snprintf(path, sizeof path, "%s/index.tsv", folder);
    tc_status st = tc_file_read(path, 16 << 20, &text);
    if (st) {
        fprintf(stderr, "%s\n", tc_status_message(st));
        return 1;
    }
    TC_VEC(row) rows = {0};
    for (char *line = text.data, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        row r = split_row(line);
        tc_vec_push(&rows, r);
    }
    const row *head = &rows.data[0];
    int cname = column(head, "name"), cio = column(head, "io"), cnotes = column(head, "notes");
    for (size_t i = 1; i < rows.len; i++) {
        const char *notes = "";
        for (size_t k = 1; k < rows.len; k++)
            if (!strcmp(rows.data[k].cell[cname], rows.data[i].cell[cio])) notes = rows.data[k].cell[cnotes];
        if (argc > 3 && strcmp(argv[3], rows.data[i].cell[cname])) continue;
        run_row(head, &rows.data[i], notes);
    }
    for (size_t i = 0; i < rows.len; i++) free(rows.data[i].cell);
    tc_vec_free(&rows);
    tc_buf_free(&text);
    tc_status_free(tc_remove_tree(scratch));
    return 0;
}
