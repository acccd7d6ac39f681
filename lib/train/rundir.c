/* Files of a run directory other than checkpoints: metrics.jsonl, environment. */
#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_write.h"
#include "kernel/fp32_precision.h"
#include "op/op.h"
#include "train/rundir.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/utsname.h>
#include <unistd.h>

tc_status tc_train_metrics_add(const char *dir, const char *line, size_t n) {
    tc_buf path = {0};
    tc_buf_printf(&path, "%s/metrics.jsonl", dir);
    int fd = open(path.data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    tc_status s = fd < 0 ? tc_error(TC_ENV, "%s: cannot open: %s", path.data, strerror(errno)) : tc_write_all(fd, line, n, path.data);
    if (fd >= 0) close(fd);
    tc_buf_free(&path);
    return s;
}

static int64_t step_of(const char *line, size_t n) {
    tc_jread j;
    int64_t step = INT64_MAX;
    tc_jr_init(&j, NULL, line, n);
    tc_jr_object(&j);
    for (tc_str key; tc_jr_member(&j, &key);) {
        if (tc_str_is(key, "step")) step = tc_jr_int(&j);
        else tc_jr_skip(&j);
    }
    tc_status s = tc_jr_finish(&j);
    if (!s) return step;
    tc_status_free(s);
    return INT64_MAX; /* an incomplete last line is dropped, too */
}

tc_status tc_train_metrics_rewind(const char *dir, int64_t step) {
    tc_buf path = {0}, all = {0}, kept = {0};
    tc_buf_printf(&path, "%s/metrics.jsonl", dir);
    mode_t type = 0;
    tc_status s = tc_path_type(path.data, &type);
    if (!s && type) s = tc_file_read(path.data, (size_t)4 << 30, &all);
    for (size_t i = 0; i < all.len && !s;) {
        const char *nl = memchr(all.data + i, '\n', all.len - i);
        size_t n = nl ? (size_t)(nl - all.data) - i + 1 : all.len - i;
        if (nl && step_of(all.data + i, n) <= step) tc_buf_append(&kept, all.data + i, n);
        i += n;
    }
    if (!s && kept.len != all.len) s = tc_file_write(path.data, kept.data, kept.len);
    tc_buf_free(&path);
    tc_buf_free(&all);
    tc_buf_free(&kept);
    return s;
}

static bool half_written(const char *name) {
    static const char *const stems[] = {".step-", ".latest.", ".model.pt2.", ".recipe.yaml.", ".metrics.jsonl.", ".environment."};
    const char *tmp = strstr(name, ".tmp");
    if (!tmp || !tmp[4] || strspn(tmp + 4, "0123456789.") != strlen(tmp + 4)) return false;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0) return true;
    return false;
}

tc_status tc_train_sweep(const char *dir) {
    tc_arena a = {0};
    char **names;
    size_t n;
    tc_status s = tc_folder_names(&a, dir, half_written, &names, &n);
    for (size_t i = 0; i < n && !s; i++) s = tc_remove_tree(tc_arena_printf(&a, "%s/%s", dir, names[i]));
    tc_arena_free(&a);
    return s;
}

/* Reads the commit of HEAD of the repository that contains the working directory, without running git. */
static void git_revision(tc_buf *out) {
    tc_buf up = {0}, path = {0}, head = {0};
    for (int i = 0; i < 8 && !head.len; i++) {
        path.len = 0;
        tc_buf_printf(&path, "%s.git/HEAD", tc_buf_str(&up));
        if (access(path.data, R_OK) == 0) tc_status_free(tc_file_read(path.data, 4096, &head));
        else tc_buf_puts(&up, "../");
    }
    while (head.len && (head.data[head.len - 1] == '\n' || head.data[head.len - 1] == '\r')) head.data[--head.len] = 0;
    if (strncmp(tc_buf_str(&head), "ref: ", 5) == 0) {
        path.len = 0;
        tc_buf_printf(&path, "%s.git/%s", tc_buf_str(&up), head.data + 5);
        if (access(path.data, R_OK) == 0) tc_status_free(tc_file_read(path.data, 4096, out));
        while (out->len && out->data[out->len - 1] == '\n') out->data[--out->len] = 0;
    } else {
        tc_buf_puts(out, tc_buf_str(&head));
    }
    tc_buf_free(&up);
    tc_buf_free(&path);
    tc_buf_free(&head);
}

typedef struct {
    crypto_generichash_state state;
    const uint32_t *number; /* by value id: place among the results of the graph's nodes, from 1; 0: an input */
} operators_hash;

static void hash_operand(void *ctx, tc_value **place) {
    operators_hash *h = ctx;
    crypto_generichash_update(&h->state, (const unsigned char *)&h->number[(*place)->id], sizeof *h->number);
}

static void hash_graph(operators_hash *h, const tc_graph *g) {
    uint32_t *number = tc_xcalloc(g->nvalues + 1, sizeof *number), count = 0;
    for (const tc_node *n = g->first; n; n = n->next) {
        const char *name = tc_op_name(n->op);
        crypto_generichash_update(&h->state, (const unsigned char *)name, strlen(name) + 1);
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) hash_graph(h, n->args[i].graph);
        h->number = number;
        tc_node_each_input(n, hash_operand, h);
        for (int i = 0; i < n->nouts; i++)
            if (n->outs[i]) number[n->outs[i]->id] = ++count;
    }
    h->number = number;
    for (int i = 0; i < g->noutputs; i++) hash_operand(h, &g->outputs[i]);
    free(number);
}

void tc_train_operators(const tc_program *const *programs, int n, char out[65]) {
    unsigned char digest[32];
    operators_hash h;
    crypto_generichash_init(&h.state, NULL, 0, sizeof digest);
    for (int i = 0; i < n; i++)
        if (programs[i]) hash_graph(&h, programs[i]->graph);
    crypto_generichash_final(&h.state, digest, sizeof digest);
    sodium_bin2hex(out, 65, digest, sizeof digest);
}

tc_status tc_train_write_environment(const char *dir, const char *origin, const char *operators, tc_numerics numerics, int threads, int ranks) {
    char cpu[64], how[64];
    tc_cpu_model(cpu);
    tc_numerics_text(numerics, how);
    struct utsname u;
    uname(&u);
    tc_buf b = {0}, path = {0}, revision = {0};
    git_revision(&revision);
    tc_json w = {.b = &b};
    tc_json_object(&w);
    char *directory = realpath(origin ? origin : ".", NULL);
    const struct {
        const char *key, *value;
    } texts[] = {{"version", TC_VERSION},
                 {"numerics", how},
                 {"directory", directory ? directory : "."},
                 {"operators", operators},
                 {"cpu", cpu + strspn(cpu, " ")},
                 {"isa", tc_isa_chosen_name()},
                 {"system", u.sysname},
                 {"release", u.release},
                 {"machine", u.machine},
                 {"revision", tc_buf_str(&revision)}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!texts[i].value) continue;
        tc_json_key(&w, texts[i].key);
        tc_json_string(&w, texts[i].value);
    }
    free(directory);
    tc_json_key(&w, "threads");
    tc_json_int(&w, threads);
    tc_json_key(&w, "ranks");
    tc_json_int(&w, ranks);
    tc_json_key(&w, "variables"); /* only TC_*: other variables may be private */
    tc_json_object(&w);
    for (char **e = environ; *e; e++) {
        const char *eq = strchr(*e, '=');
        if (strncmp(*e, "TC_", 3) || !eq) continue;
        tc_buf name = {0};
        tc_buf_append(&name, *e, (size_t)(eq - *e));
        tc_json_key(&w, name.data);
        tc_json_string(&w, eq + 1);
        tc_buf_free(&name);
    }
    tc_json_end(&w);
    tc_json_end(&w);
    tc_buf_putc(&b, '\n');
    tc_buf_printf(&path, "%s/environment", dir);
    tc_status s = tc_file_write(path.data, b.data, b.len);
    tc_buf_free(&b);
    tc_buf_free(&path);
    tc_buf_free(&revision);
    return s;
}

tc_status tc_train_recorded(const char *dir, const char *key, tc_arena *a, const char **out) {
    tc_buf b = {0};
    *out = NULL;
    TC_TRY(tc_file_read(tc_arena_printf(a, "%s/environment", dir), 1 << 20, &b));
    tc_jread j;
    tc_jr_init(&j, dir, b.data, b.len);
    tc_jr_object(&j);
    for (tc_str k; tc_jr_member(&j, &k);) {
        if (tc_str_is(k, key)) *out = tc_jr_strdup(&j, a);
        else tc_jr_skip(&j);
    }
    tc_status s = tc_jr_finish(&j);
    tc_buf_free(&b);
    return s;
}
