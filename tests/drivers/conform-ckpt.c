/* Checkpoints of PyTorch against what PyTorch reads from them: DCP's own storage, its HuggingFace storage, torch.save; damaged ones against the
 * verdict of EXPECT.tsv. What tc converts is compared by tc-ckpt diff, and written in every format and read back.
 * Usage: conform-ckpt CORPUS NAME [CASE-PREFIX] */
#include "conform.h"

#include "base/json.h"
#include "ckpt/ckpt.h"
#include "scratch.h"

#include <dirent.h>
#include <sys/stat.h>

static const char *root, *corpus, *only;
static char work[256];
enum { SECONDS = 20 };

static bool wanted(const char *name) { return !only || !strncmp(name, only, strlen(only)); }

static void first_line(tc_buf *b) {
    if (b->len) b->data[strcspn(b->data, "\n")] = 0;
}

/* Runs tc-ckpt with up to five words; on another exit code than 0 appends what it said to why. */
static int tc(tc_buf *why, const char *a, const char *b, const char *c, const char *d, const char *e) {
    command cmd = {0};
    tc_buf err = {0};
    const char *const words[] = {"tc-ckpt", "-q", a, b, c, d, e};
    for (int i = 0; i < 7 && words[i]; i++) arg(&cmd, "%s", words[i]);
    int code = run_command(&cmd, NULL, SECONDS, NULL, &err);
    first_line(&err);
    if (code && why) tc_buf_printf(why, "tc-ckpt %s: exit %d: %s", a, code, tc_buf_str(&err));
    tc_buf_free(&err);
    command_free(&cmd);
    return code;
}

/* The expected tensors in another format and back. Types that .npz lacks are left to the others. */
static verdict round_trip(const char *full, tc_buf *why) {
    static const char *const forms[] = {"pt", "hf", "dcp", "npz"};
    char path[512];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/again.%s", work, forms[i]);
        tc_status_free(tc_remove_tree(path));
        tc_buf problem = {0};
        command cmd = {0};
        arg(&cmd, "tc-ckpt"), arg(&cmd, "-q"), arg(&cmd, "convert"), arg(&cmd, "%s", full), arg(&cmd, "--to"), arg(&cmd, "%s", forms[i]),
            arg(&cmd, "-o"), arg(&cmd, "%s", path);
        int code = run_command(&cmd, NULL, SECONDS, NULL, &problem);
        command_free(&cmd);
        bool lacks = i == 3 && code == 2 && strstr(tc_buf_str(&problem), ".npy has no type");
        if (code && !lacks) tc_buf_printf(why, "--to %s: exit %d: %s", forms[i], code, tc_buf_str(&problem));
        tc_buf_free(&problem);
        if (lacks) continue;
        if (code || tc(why, "diff", path, full, NULL, NULL)) return CASE_FAIL;
    }
    return CASE_PASS;
}

/* source converts to the tensors of full. */
static void good(const char *name, const char *source, const char *full) {
    char out[512];
    tc_buf why = {0};
    if (!wanted(name)) return;
    snprintf(out, sizeof out, "%s/out.safetensors", work);
    int code = tc(&why, "verify", source, NULL, NULL, NULL);
    if (!code) code = tc(&why, "convert", source, "-o", out, NULL);
    if (!code) code = tc(&why, "diff", out, full, NULL, NULL);
    if (!code) code = tc(&why, "diff", source, full, NULL, NULL);
    verdict v = code == 5 ? CASE_NOT_YET : code ? CASE_FAIL : round_trip(full, &why);
    report(v, corpus, name, tc_buf_str(&why));
    tc_buf_free(&why);
}

/* The values that are no tensors. A tuple stands in the corpus as Python's text of it. */
static void values(const char *name, const char *source, const char *json) {
    tc_buf text = {0}, why = {0};
    tc_ckpt *c = NULL;
    tc_jread j;
    if (!wanted(name)) return;
    tc_status st = tc_file_read(json, 1 << 20, &text);
    if (!st) st = tc_ckpt_open(source, &c);
    size_t n = 0, seen = 0;
    const tc_metadata *v = c ? tc_ckpt_values(c, &n) : NULL;
    tc_jr_init(&j, json, tc_buf_str(&text), text.len);
    tc_jr_object(&j);
    for (tc_str key; !st && tc_jr_member(&j, &key);) {
        tc_buf want = {0};
        bool found = false;
        tc_str raw = {0};
        char *k = tc_xmalloc(key.n + 1);
        memcpy(k, key.s, key.n), k[key.n] = 0;
        raw = tc_jr_skip(&j);
        for (size_t i = 0; i < raw.n; i++)
            if (raw.s[i] != '\n' && !(raw.s[i] == ' ' && i && (raw.s[i - 1] == ' ' || raw.s[i - 1] == '\n' || raw.s[i - 1] == '[')))
                tc_buf_putc(&want, raw.s[i]);
        tc_buf_puts(&want, "");
        for (size_t i = 0; i < n && !found; i++) {
            if (strcmp(v[i].key, k)) continue;
            found = true;
            tc_buf have = {0}, squeezed = {0};
            tc_buf_puts(&have, v[i].value);
            for (size_t p = 0; p < have.len; p++)
                if (have.data[p] != ' ') tc_buf_putc(&squeezed, have.data[p]);
            tc_buf_puts(&squeezed, "");
            tc_buf plain = {0};
            for (size_t p = 0; p < want.len; p++)
                if (want.data[p] != ' ') tc_buf_putc(&plain, want.data[p]);
            tc_buf_puts(&plain, "");
            if (plain.data[0] == '"' && plain.data[1] == '(')
                plain.data[1] = '[', plain.data[plain.len - 2] = ']', plain.data[plain.len - 1] = 0, memmove(plain.data, plain.data + 1, plain.len);
            if (strcmp(plain.data, squeezed.data)) tc_buf_printf(&why, "%s is %s, expected %s; ", k, have.data, want.data);
            tc_buf_free(&have);
            tc_buf_free(&squeezed);
            tc_buf_free(&plain);
        }
        if (!found) tc_buf_printf(&why, "%s is missing; ", k);
        seen++;
        tc_buf_free(&want);
        free(k);
    }
    if (!st) st = tc_jr_finish(&j);
    if (!st && n != seen) tc_buf_printf(&why, "%zu values, expected %zu", n, seen);
    report(st || why.len ? CASE_FAIL : CASE_PASS, corpus, name, st ? tc_status_message(st) : tc_buf_str(&why));
    tc_status_free(st);
    tc_ckpt_close(c);
    tc_buf_free(&text);
    tc_buf_free(&why);
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void folders(const char *kind, const char *expect) {
    char path[512], full[512], name[300], json[512];
    TC_VEC(char *) names = {0};
    snprintf(path, sizeof path, "%s/%s", root, kind);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') tc_vec_push(&names, tc_xstrdup(e->d_name));
    if (d) closedir(d);
    if (names.len) qsort(names.data, names.len, sizeof *names.data, compare);
    for (size_t i = 0; i < names.len; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", root, kind, names.data[i]);
        snprintf(full, sizeof full, "%s/%s%s/%s/full.safetensors", root, expect, kind, names.data[i]);
        snprintf(json, sizeof json, "%s/%s%s/%s/full_other.json", root, expect, kind, names.data[i]);
        snprintf(name, sizeof name, "%s/%s", kind, names.data[i]);
        good(name, path, full);
        if (access(json, F_OK) == 0) {
            snprintf(name, sizeof name, "%s/%s values", kind, names.data[i]);
            values(name, path, json);
        }
        snprintf(path, sizeof path, "%s/%s/%s/sharded", root, kind, names.data[i]);
        if (access(path, F_OK) == 0) {
            snprintf(name, sizeof name, "%s/%s/sharded", kind, names.data[i]);
            good(name, path, full);
        }
        free(names.data[i]);
    }
    tc_vec_free(&names);
}

/* ---- torch.save ---- */
static void each_row(const char *path, void (*visit)(const row *head, const row *r)) {
    tc_buf text = {0};
    tc_status st = tc_file_read(path, 16 << 20, &text);
    if (st) {
        tc_status_free(st);
        return;
    }
    char *next = NULL, *line = strtok_r(text.data, "\n", &next);
    row head = split_row(line);
    while ((line = strtok_r(NULL, "\n", &next))) {
        row r = split_row(line);
        visit(&head, &r);
        free(r.cell);
    }
    free(head.cell);
    tc_buf_free(&text);
}

static void saved(const row *head, const row *r) {
    char name[300], path[512], full[512];
    const char *file = r->cell[column(head, "file")], *of = r->cell[column(head, "full")];
    snprintf(name, sizeof name, "pt/%s", file);
    if (!strcmp(file, "-") || !wanted(name)) return;
    snprintf(path, sizeof path, "%s/pt/%s", root, file);
    snprintf(full, sizeof full, "%s/pt/%s", root, of);
    if (strcmp(of, "-")) {
        good(name, path, full);
        return;
    }
    /* Complex, sparse, quantised: read, or refused by name; never anything else. */
    tc_buf why = {0};
    int code = tc(&why, "verify", path, NULL, NULL, NULL);
    report(code == 0 || code == 5 ? CASE_PASS : CASE_FAIL, corpus, name, tc_buf_str(&why));
    tc_buf_free(&why);
}

/* ---- damaged ---- */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void broken(const row *head, const row *r) {
    static const char *const ways[] = {"ls", "verify", "convert"};
    const char *file = r->cell[column(head, "file")], *expect = r->cell[column(head, "verdict")];
    char name[300];
    tc_buf why = {0};
    snprintf(name, sizeof name, "broken/%s", file);
    if (!wanted(name)) return;
    bool must = !strcmp(expect, "reject");
    for (int i = 0; i < 3; i++) {
        command cmd = {0};
        tc_buf err = {0}, out = {0};
        arg(&cmd, "sh"), arg(&cmd, "-c"),
            arg(&cmd, "ulimit -v 900000; exec tc-ckpt %s '%s/broken/%s' %s", ways[i], root, file, i == 2 ? "-o /dev/null" : "");
        double begin = now();
        int code = run_command(&cmd, NULL, SECONDS, &out, &err);
        double took = now() - begin;
        size_t lines = 0;
        for (size_t k = 0; k < err.len; k++) lines += err.data[k] == '\n';
        const char *text = tc_buf_str(&err);
        if (must ? code != 3 : code != 0 && code != 3) tc_buf_printf(&why, "%s: exit %d: %s; ", ways[i], code, text);
        else if (took > 2) tc_buf_printf(&why, "%s: %.1f s; ", ways[i], took);
        else if (code == 3 && (strncmp(text, "tc-ckpt: ", 9) || !lines || (lines > 1 && !strstr(file, "forbidden"))))
            tc_buf_printf(&why, "%s: said %s; ", ways[i], text);
        else if (strstr(file, "forbidden") && !strstr(text, "forbidden")) tc_buf_printf(&why, "%s: does not name the global: %s; ", ways[i], text);
        command_free(&cmd);
        tc_buf_free(&err);
        tc_buf_free(&out);
    }
    report(why.len ? CASE_FAIL : CASE_PASS, corpus, name, tc_buf_str(&why));
    tc_buf_free(&why);
}

int main(int argc, char **argv) {
    char path[512];
    if (argc < 3) return fprintf(stderr, "usage: conform-ckpt CORPUS NAME [CASE-PREFIX]\n"), 2;
    root = argv[1], corpus = argv[2], only = argc > 3 ? argv[3] : NULL;
    if (!scratch_folder(work, sizeof work, "conform-ckpt")) return 1;
    folders("dcp", "");
    folders("hf", "expect/");
    snprintf(path, sizeof path, "%s/pt/INDEX.tsv", root);
    each_row(path, saved);
    snprintf(path, sizeof path, "%s/broken/EXPECT.tsv", root);
    each_row(path, broken);
    tc_status_free(tc_remove_tree(work));
    return 0;
}
