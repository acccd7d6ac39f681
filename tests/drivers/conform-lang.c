/* The lang corpus: model files captured by tc-export with the stored parameters and run by tc-run on the stored inputs, at the second
 * sizes too, in train mode where the file has it; and files that must be refused, with their line.
 * Usage: conform-lang FOLDER CORPUS [NAME]. Gradients of these files are not asked for here. */
#include "conform.h"

#include "base/json.h"
#include "file/safetensors.h"
#include "scratch.h"

#include <ctype.h>
#include <dirent.h>

static const char *corpus, *folder;
static char scratch[256];

typedef struct {
    char *path, *type;
} tensor_input; /* "batch.cat.0", "2x3xi64" */
typedef struct {
    tc_arena a;
    char *cls, *config;       /* config: an expression, or NULL */
    TC_VEC(char *) args;      /* NAME=EXPR */
    TC_VEC(char *) constants; /* PATH=:EXPR */
    TC_VEC(tensor_input) tensors;
    struct {
        char *path, *symbol;
    } dynamic[32];
    int ndynamic;
    bool train;
} header;

/* ---- JSON to expressions of the model language ---- */
static void expression(tc_jread *j, tc_buf *b) {
    bool first = true;
    switch (tc_jr_peek(j)) {
    case TC_JR_NULL: tc_jr_null(j), tc_buf_puts(b, "None"); break;
    case TC_JR_BOOL: tc_buf_puts(b, tc_jr_bool(j) ? "True" : "False"); break;
    case TC_JR_ARRAY:
        tc_buf_putc(b, '[');
        for (tc_jr_array(j); tc_jr_item(j); first = false) {
            if (!first) tc_buf_puts(b, ", ");
            expression(j, b);
        }
        tc_buf_putc(b, ']');
        break;
    case TC_JR_OBJECT:
        tc_buf_putc(b, '{');
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key); first = false) {
            tc_buf_printf(b, "%s\"%.*s\": ", first ? "" : ", ", (int)key.n, key.s);
            expression(j, b);
        }
        tc_buf_putc(b, '}');
        break;
    default: { /* numbers and strings are written alike */ tc_str s = tc_jr_skip(j); tc_buf_append(b, s.s, s.n);
    }
    }
}

static void keywords(tc_jread *j, tc_buf *b) {
    bool first = true;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key); first = false) {
        tc_buf_printf(b, "%s%.*s=", first ? "" : ", ", (int)key.n, key.s);
        expression(j, b);
    }
}

static const char *symbol_of(const header *h, const char *path, int axis) {
    char key[256];
    snprintf(key, sizeof key, "%s.%d", path, axis);
    for (int i = 0; i < h->ndynamic; i++)
        if (!strcmp(h->dynamic[i].path, key)) return h->dynamic[i].symbol;
    return NULL;
}

/* [[2, 3], "float32", {...}], {"list": [...]}, {"dict": {...}} or a constant. */
static void read_input(tc_jread *j, header *h, const char *path) {
    tc_buf b = {0};
    tc_jr_mark here = tc_jr_tell(j);
    tc_jr_kind k = tc_jr_peek(j);
    if (k == TC_JR_OBJECT) {
        int i = 0;
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            if (tc_str_is(key, "list")) {
                for (tc_jr_array(j); tc_jr_item(j);) read_input(j, h, tc_arena_printf(&h->a, "%s.%d", path, i++));
            } else {
                tc_jr_object(j);
                for (tc_str name; tc_jr_member(j, &name);) read_input(j, h, tc_arena_printf(&h->a, "%s.%.*s", path, (int)name.n, name.s));
            }
        }
        return;
    }
    bool tensor = false;
    if (k == TC_JR_ARRAY) {
        tc_jr_array(j);
        tensor = tc_jr_peek(j) == TC_JR_ARRAY;
        tc_jr_seek(j, here);
    }
    if (!tensor) {
        expression(j, &b);
        char *text = tc_arena_printf(&h->a, "%s=:%s", path, tc_buf_str(&b));
        tc_vec_push(&h->constants, text);
        tc_buf_free(&b);
        return;
    }
    int axis = 0, item = 0;
    for (tc_jr_array(j); tc_jr_item(j); item++) {
        if (item == 0) {
            for (tc_jr_array(j); tc_jr_item(j); axis++) {
                int64_t n = tc_jr_int(j);
                const char *s = symbol_of(h, path, axis);
                if (s) tc_buf_printf(&b, "%sx", s);
                else tc_buf_printf(&b, "%lldx", (long long)n);
            }
        } else if (item == 1) {
            tc_str s = tc_jr_string(j);
            tc_buf_append(&b, s.s, s.n);
        } else {
            tc_jr_skip(j);
        }
    }
    tensor_input in = {tc_arena_strdup(&h->a, path), tc_arena_strdup(&h->a, tc_buf_str(&b))};
    tc_vec_push(&h->tensors, in);
    tc_buf_free(&b);
}

static bool read_header(const char *line, size_t n, header *h) {
    tc_jread j;
    tc_jr_mark inputs = {0};
    tc_jr_init(&j, "header", line, n);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        tc_buf b = {0};
        if (tc_str_is(key, "class")) {
            h->cls = tc_jr_strdup(&j, &h->a);
        } else if (tc_str_is(key, "config")) {
            char *cls = NULL;
            tc_jr_object(&j);
            for (tc_str k; tc_jr_member(&j, &k);) {
                if (tc_str_is(k, "class")) cls = tc_jr_strdup(&j, &h->a);
                else keywords(&j, &b);
            }
            h->config = tc_arena_printf(&h->a, "%s(%s)", cls, tc_buf_str(&b));
        } else if (tc_str_is(key, "args")) {
            tc_jr_object(&j);
            for (tc_str k; tc_jr_member(&j, &k);) {
                b.len = 0;
                tc_buf_printf(&b, "%.*s=", (int)k.n, k.s);
                expression(&j, &b);
                char *text = tc_arena_strdup(&h->a, b.data);
                tc_vec_push(&h->args, text);
            }
        } else if (tc_str_is(key, "dynamic")) {
            tc_jr_object(&j);
            for (tc_str k; tc_jr_member(&j, &k);) {
                char *path = tc_arena_strndup(&h->a, k.s, k.n), *symbol = tc_jr_strdup(&j, &h->a);
                if (h->ndynamic < 32) h->dynamic[h->ndynamic].path = path, h->dynamic[h->ndynamic++].symbol = symbol;
            }
        } else if (tc_str_is(key, "train")) {
            h->train = tc_jr_peek(&j) == TC_JR_BOOL ? tc_jr_bool(&j) : (tc_jr_skip(&j), true);
        } else {
            if (tc_str_is(key, "inputs")) inputs = tc_jr_tell(&j);
            tc_jr_skip(&j);
        }
        tc_buf_free(&b);
    }
    tc_jr_mark end = tc_jr_tell(&j);
    if (inputs.p && tc_jr_ok(&j)) { /* after the symbols are known */
        tc_jr_seek(&j, inputs);
        tc_jr_object(&j);
        for (tc_str k; tc_jr_member(&j, &k);) read_input(&j, h, tc_arena_strndup(&h->a, k.s, k.n));
        if (tc_jr_ok(&j)) tc_jr_seek(&j, end);
    }
    tc_status st = tc_jr_finish(&j);
    bool ok = !st && h->cls;
    tc_status_free(st);
    return ok;
}

/* The name of the constructor's first parameter. */
static void first_parameter(const char *text, const char *cls, char *out, size_t room) {
    char head[256];
    snprintf(head, sizeof head, "class %s", cls);
    const char *p = strstr(text, head), *init = p ? strstr(p, "def __init__(self") : NULL;
    snprintf(out, room, "config");
    if (!init) return;
    p = init + 17;
    while (*p == ',' || isspace((unsigned char)*p)) p++;
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    if (n && n < room) snprintf(out, room, "%.*s", (int)n, p);
}

/* ---- exporting and running ---- */
static tc_status write_subset(const tc_tensors *all, const char *prefix, const char *path) {
    tc_tensors set = {0};
    tc_out *o;
    size_t n = strlen(prefix);
    tc_status st = NULL;
    for (size_t i = 0; i < all->items.len && !st; i++)
        if (!strncmp(all->items.data[i].name, prefix, n))
            st = tc_tensors_add(&set, all->items.data[i].name + n, tc_tensor_share(&all->items.data[i].tensor));
    if (!st) st = tc_out_open(path, &o);
    if (!st) st = tc_out_finish(o, tc_safetensors_write(o, &set));
    tc_tensors_deinit(&set);
    return st;
}

static bool any(const tc_tensors *all, const char *prefix) {
    for (size_t i = 0; i < all->items.len; i++)
        if (!strncmp(all->items.data[i].name, prefix, strlen(prefix))) return true;
    return false;
}

static int export_model(const header *h, const char *stored, const char *source, const char *text, bool weights, const char *pt2, tc_buf *why) {
    command c = {0};
    bool example = stored && h->ndynamic > 0;
    arg(&c, "tc-export");
    arg(&c, "%s:%s", source, h->cls);
    if (h->config) {
        char name[512];
        first_parameter(text, h->cls, name, sizeof name);
        arg(&c, "--arg");
        arg(&c, "%s=%s", name, h->config);
    }
    for (size_t i = 0; i < h->args.len; i++) arg(&c, "--arg"), arg(&c, "%s", h->args.data[i]);
    for (size_t i = 0; i < h->tensors.len && !example; i++) arg(&c, "--input"), arg(&c, "%s=%s", h->tensors.data[i].path, h->tensors.data[i].type);
    for (size_t i = 0; i < h->tensors.len && example; i++) /* as torch.export captures: the inputs are the example, the free sizes are named */
        arg(&c, "--input"), arg(&c, "%s=@%s/%s.safetensors#in.%s", h->tensors.data[i].path, folder, stored, h->tensors.data[i].path);
    for (int i = 0; i < h->ndynamic && example; i++) arg(&c, "--dim"), arg(&c, "%s=%s", h->dynamic[i].path, h->dynamic[i].symbol);
    for (size_t i = 0; i < h->constants.len; i++) arg(&c, "--input"), arg(&c, "%s", h->constants.data[i]);
    if (weights) arg(&c, "--weights"), arg(&c, "%s/w.safetensors", scratch);
    arg(&c, "-o");
    arg(&c, "%s", pt2);
    int rc = run_command(&c, NULL, 60, NULL, why);
    command_free(&c);
    return rc;
}

typedef TC_VEC(int) indices;

/* The outputs of a program that are tensors, by index; complex ones are marked by a negative index - 1. */
static int tensor_outputs(const char *pt2, const char *model, indices *out, tc_buf *why) {
    command c = {0};
    tc_buf text = {0};
    arg(&c, "tc-run");
    arg(&c, "%s", pt2);
    if (model) arg(&c, "--model"), arg(&c, "%s", model);
    arg(&c, "--signature");
    arg(&c, "--json");
    int rc = run_command(&c, NULL, 30, &text, why), index = 0;
    for (char *line = text.data, *next; !rc && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (strncmp(line, "{\"output\"", 9)) continue;
        bool complex = strstr(line, "\"dtype\": \"c");
        int entry = complex ? -1 - index : index;
        if (strstr(line, "\"dtype\"")) tc_vec_push(out, entry);
        index++;
    }
    command_free(&c);
    tc_buf_free(&text);
    return rc;
}

static bool is_half(const char *name) { return !strcmp(name, "l_autocast") || !strcmp(name, "t_dtype") || !strcmp(name, "l_scalar_promotion"); }

static int run_set(const header *h, const char *name, const char *pt2, const char *model, const char *in, const char *out, const char *buffers,
                   const tc_tensors *all, tc_buf *why) {
    char data[512], key[256];
    command c = {0};
    indices outs = {0};
    int rc = tensor_outputs(pt2, model, &outs, why);
    snprintf(data, sizeof data, "%s/%s.safetensors", folder, name);
    arg(&c, "tc-run");
    arg(&c, "%s", pt2);
    if (model) arg(&c, "--model"), arg(&c, "%s", model);
    for (size_t i = 0; i < h->tensors.len; i++)
        arg(&c, "--input"), arg(&c, "%s=@%s#%s.%s", h->tensors.data[i].path, data, in, h->tensors.data[i].path);
    int wanted = 0;
    for (;; wanted++) {
        snprintf(key, sizeof key, "%s.%d", out, wanted);
        const tc_tensor *t = tc_tensors_find(all, key);
        if (!t) break;
        if ((size_t)wanted >= outs.len) continue;
        int index = outs.data[wanted];
        if (index >= 0) {
            arg(&c, "--expect");
            arg(&c, "%d=@%s#%s", index, data, key);
            continue;
        }
        tc_tensor pairs, value; /* stored as pairs */
        int64_t stride[TC_MAX_RANK];
        char path[512];
        tc_out *o;
        tc_tensors set = {0};
        if (tc_tensor_clone(t, &pairs)) continue;
        tc_contiguous_strides(pairs.rank - 1, pairs.size, stride);
        if (!tc_tensor_view(pairs.storage, tc_dtype_to_complex(pairs.dtype), pairs.rank - 1, pairs.size, stride, 0, &value)) {
            snprintf(path, sizeof path, "%s/c%d.safetensors", scratch, wanted);
            tc_status_free(tc_tensors_add(&set, "v", value));
            if (!tc_out_open(path, &o)) tc_status_free(tc_out_finish(o, tc_safetensors_write(o, &set)));
            tc_tensors_deinit(&set);
            arg(&c, "--expect");
            arg(&c, "%d=@%s#v", -1 - index, path);
        }
        tc_tensor_deinit(&pairs);
    }
    size_t n = strlen(buffers);
    for (size_t i = 0; i < all->items.len; i++)
        if (n && !strncmp(all->items.data[i].name, buffers, n))
            arg(&c, "--expect"), arg(&c, "%s=@%s#%s", all->items.data[i].name + n, data, all->items.data[i].name);
    arg(&c, "--rtol");
    arg(&c, "%s", is_half(name) ? "1e-2" : "1e-4");
    arg(&c, "--atol");
    arg(&c, "%s", is_half(name) ? "1e-3" : "1e-5");
    if (!rc && (size_t)wanted != outs.len) {
        tc_buf_printf(why, "%zu tensors come out, expected %d", outs.len, wanted);
        rc = 3;
    }
    if (!rc) rc = run_command(&c, NULL, 60, NULL, why);
    tc_vec_free(&outs);
    command_free(&c);
    return rc;
}

static void run_model(const char *name) {
    char path[512], pt2[512];
    tc_buf text = {0}, why = {0};
    tc_tensors all = {0};
    header h = {0};
    snprintf(path, sizeof path, "%s/%s.py", folder, name);
    tc_status st = tc_file_read(path, 16 << 20, &text);
    size_t first = st ? 0 : strcspn(text.data, "\n");
    if (st || first < 6 || strncmp(text.data, "# tc: ", 6) || !read_header(text.data + 6, first - 6, &h)) {
        tc_status_free(st);
        tc_buf_free(&text);
        return;
    }
    char data[512];
    snprintf(data, sizeof data, "%s/%s.safetensors", folder, name);
    st = tc_tensors_load(data, &all);
    snprintf(pt2, sizeof pt2, "%s/m.pt2", scratch);
    char weights[512];
    snprintf(weights, sizeof weights, "%s/w.safetensors", scratch);
    if (!st) st = write_subset(&all, "p.", weights);
    int rc = st ? 3 : export_model(&h, name, path, text.data, any(&all, "p."), pt2, &why);
    if (st) tc_buf_puts(&why, tc_status_message(st));
    tc_status_free(st);
    if (verdict_of(rc) == CASE_PASS) rc = run_set(&h, name, pt2, "model", "in", "out", "b.", &all, &why);
    report(verdict_of(rc), corpus, name, tc_buf_str(&why));
    if (any(&all, "out2.")) {
        char label[256];
        snprintf(label, sizeof label, "%s#2", name);
        if (rc != 5) why.len = 0;
        if (access(pt2, F_OK) == 0 && rc != 5) rc = run_set(&h, name, pt2, "model", "in2", "out2", "", &all, &why);
        report(verdict_of(rc), corpus, label, tc_buf_str(&why));
    }
    unlink(pt2);
    tc_tensors_deinit(&all);
    tc_arena_free(&h.a);
    tc_buf_free(&text);
    tc_buf_free(&why);
}

/* ---- files that must be refused ---- */
static bool contains_word(const char *text, const char *word) { return strcasestr(text, word) != NULL; }

static void run_error(const row *r) {
    char path[512], label[256];
    header h = {0};
    tc_buf text = {0}, why = {0};
    snprintf(path, sizeof path, "%s/errors/%s", folder, r->cell[0]);
    snprintf(label, sizeof label, "errors/%s", r->cell[0]);
    tc_status st = tc_file_read(path, 256 << 20, &text);
    size_t first = st ? 0 : strcspn(text.data, "\n");
    bool headed = !st && first > 6 && !strncmp(text.data, "# tc: ", 6) && read_header(text.data + 6, first - 6, &h);
    tc_status_free(st);
    if (!headed) {
        h.cls = (char *)(uintptr_t) "Model";
        tensor_input x = {(char *)(uintptr_t) "x", (char *)(uintptr_t) "2x3xf32"};
        tc_vec_push(&h.tensors, x);
    }
    int rc = export_model(&h, NULL, path, tc_buf_str(&text), false, "/dev/null", &why);
    verdict v = CASE_FAIL;
    bool may_succeed = r->n > 3 && strstr(r->cell[2], "must succeed");
    if (rc == 0) {
        v = may_succeed ? CASE_PASS : CASE_FAIL;
        tc_buf_printf(&why, "no error, expected %s", r->cell[2]);
    } else if (rc == 124 || rc > 128) {
        tc_buf_printf(&why, "ended with %d", rc);
    } else {
        int lo = atoi(r->cell[1]), hi = strchr(r->cell[1], '-') ? atoi(strchr(r->cell[1], '-') + 1) : lo, line = 0;
        const char *p = strstr(tc_buf_str(&why), r->cell[0]);
        if (p && p[strlen(r->cell[0])] == ':') line = atoi(p + strlen(r->cell[0]) + 1);
        bool named = true;
        char words[512];
        snprintf(words, sizeof words, "%s", r->n > 3 ? r->cell[3] : "");
        for (char *w = words, *next; w && *w; w = next) {
            next = strchr(w, ',');
            if (next) *next++ = 0;
            while (*w == ' ') w++;
            named = named && contains_word(tc_buf_str(&why), w);
        }
        v = named && (lo == 0 || (line >= lo && line <= hi)) ? CASE_PASS : rc == 5 ? CASE_NOT_YET : CASE_FAIL;
        tc_buf_printf(&why, " (expected line %s, naming %s)", r->cell[1], r->n > 3 ? r->cell[3] : "");
    }
    report(v, corpus, label, tc_buf_str(&why));
    tc_arena_free(&h.a);
    tc_buf_free(&text);
    tc_buf_free(&why);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    folder = argv[1];
    corpus = argv[2];
    if (!scratch_folder(scratch, sizeof scratch, "conform-lang")) return 1;
    const char *only = argc > 3 ? argv[3] : NULL;
    DIR *d = opendir(folder);
    TC_VEC(char *) found = {0};
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 3, ".py")) continue;
        char *s = strndup(e->d_name, n - 3);
        tc_vec_push(&found, s);
    }
    if (d) closedir(d);
    qsort(found.data, found.len, sizeof *found.data, by_text);
    for (size_t i = 0; i < found.len; i++)
        if (!only || !strcmp(only, found.data[i])) run_model(found.data[i]);
    char path[512];
    tc_buf text = {0};
    snprintf(path, sizeof path, "%s/errors/EXPECT.tsv", folder);
    tc_status st = tc_file_read(path, 1 << 20, &text);
    int number = 0;
    for (char *line = text.data, *next; !st && line && *line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        row r = split_row(line);
        if (number && r.n >= 3 && (!only || !strcmp(only, r.cell[0]))) run_error(&r);
    }
    tc_status_free(st);
    tc_status_free(tc_remove_tree(scratch));
    return 0;
}
