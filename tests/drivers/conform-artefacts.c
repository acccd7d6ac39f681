/* Files of tensors that others wrote, against the digests of EXPECT-tensors.tsv: every tensor's type, sizes, strides and bytes; and every
 * file of INDEX.tsv opens, or is refused where it is none.
 * Usage: conform-artefacts CORPUS NAME [CASE-PREFIX] */
#include "conform.h"

#include "ckpt/ckpt.h"

#include <sodium.h>

static const char *root, *corpus, *only;

/* ---- what is expected of a file ---- */
typedef struct {
    const char *tensor, *dtype, *shape, *stride, *digest;
} expected;
typedef struct {
    const char *file;
    TC_VEC(expected) tensors;
} file_case;
static TC_VEC(file_case *) cases;

static file_case *case_of(const char *file) {
    for (size_t i = 0; i < cases.len; i++)
        if (!strcmp(cases.data[i]->file, file)) return cases.data[i];
    file_case *f = tc_xcalloc(1, sizeof *f);
    f->file = file;
    tc_vec_push(&cases, f);
    return f;
}

static char *read_text(const char *name) { /* kept until the end */
    tc_buf path = {0}, text = {0};
    tc_buf_printf(&path, "%s/%s", root, name);
    tc_status st = tc_file_read(path.data, 64 << 20, &text);
    if (st) fprintf(stderr, "%s\n", tc_status_message(st)), exit(2);
    tc_buf_free(&path);
    return text.data;
}

/* ---- a tensor ---- */
static tc_status hash(void *self, const void *p, size_t n) {
    crypto_hash_sha256_update(self, p, n);
    return NULL;
}

static void join(tc_buf *b, const int64_t *v, int n, const char *none) {
    b->len = 0;
    for (int d = 0; d < n; d++) tc_buf_printf(b, "%s%lld", d ? "x" : "", (long long)v[d]);
    if (!n) tc_buf_puts(b, none);
}

static void check_tensor(const tc_ckpt *c, const expected *e, tc_buf *why) {
    int64_t i = tc_ckpt_find(c, e->tensor);
    if (i < 0) {
        tc_buf_printf(why, "%s is missing; ", e->tensor);
        return;
    }
    tc_ckpt_head h = tc_ckpt_entry_head(c, (size_t)i);
    crypto_hash_sha256_state s;
    unsigned char sum[32];
    char digest[65];
    tc_buf shape = {0}, stride = {0};
    crypto_hash_sha256_init(&s);
    tc_status st = tc_ckpt_stream(c, (size_t)i, NULL, h.dtype, (tc_sink){hash, &s});
    crypto_hash_sha256_final(&s, sum);
    sodium_bin2hex(digest, sizeof digest, sum, sizeof sum);
    join(&shape, h.size, h.rank, "scalar");
    join(&stride, h.stride, h.stride ? h.rank : 0, "-");
    if (st) tc_buf_printf(why, "%s: %s; ", e->tensor, tc_status_message(st));
    else if (strcmp(tc_dtypes[h.dtype].torch, e->dtype)) tc_buf_printf(why, "%s is %s, expected %s; ", e->tensor, tc_dtypes[h.dtype].torch, e->dtype);
    else if (strcmp(shape.data, e->shape)) tc_buf_printf(why, "%s is %s, expected %s; ", e->tensor, shape.data, e->shape);
    else if (strcmp(stride.data, e->stride)) tc_buf_printf(why, "%s has strides %s, expected %s; ", e->tensor, stride.data, e->stride);
    else if (strcmp(digest, e->digest)) tc_buf_printf(why, "%s has other bytes; ", e->tensor);
    tc_status_free(st);
    tc_buf_free(&shape);
    tc_buf_free(&stride);
}

static void run(const char *file, const char *kind) {
    file_case *f = case_of(file);
    tc_buf path = {0}, why = {0};
    tc_ckpt *c = NULL;
    if (only && strncmp(file, only, strlen(only))) return;
    tc_buf_printf(&path, "%s/%s", root, file);
    tc_status st = tc_ckpt_open_as(path.data, (tc_ckpt_options){.raw = true, .check_all = true}, &c);
    if (!strcmp(kind, "other")) {
        if (tc_status_code(st) != TC_CONTENT) tc_buf_puts(&why, "should be refused");
    } else if (st) {
        tc_buf_puts(&why, tc_status_message(st));
    } else {
        for (size_t i = 0; i < f->tensors.len; i++) check_tensor(c, &f->tensors.data[i], &why);
        if (f->tensors.len && f->tensors.len != tc_ckpt_count(c)) tc_buf_printf(&why, "%zu tensors, expected %zu", tc_ckpt_count(c), f->tensors.len);
        if (!tc_ckpt_count(c)) tc_buf_puts(&why, "no tensors");
    }
    report(!why.len ? CASE_PASS : tc_status_code(st) == TC_UNSUPPORTED ? CASE_NOT_YET : CASE_FAIL, corpus, file, tc_buf_str(&why));
    tc_status_free(st);
    tc_ckpt_close(c);
    tc_buf_free(&path);
    tc_buf_free(&why);
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: conform-artefacts CORPUS NAME [CASE-PREFIX]\n"), 2;
    root = argv[1], corpus = argv[2], only = argc > 3 ? argv[3] : NULL;
    char *next = NULL, *line = strtok_r(read_text("EXPECT-tensors.tsv"), "\n", &next);
    row head = split_row(line);
    while ((line = strtok_r(NULL, "\n", &next))) {
        row r = split_row(line);
        expected e = {r.cell[column(&head, "tensor")], r.cell[column(&head, "dtype")], r.cell[column(&head, "shape")],
                      r.cell[column(&head, "stride")], r.cell[column(&head, "sha256_contiguous_le")]};
        file_case *f = case_of(r.cell[column(&head, "file")]);
        tc_vec_push(&f->tensors, e);
    }
    line = strtok_r(read_text("INDEX.tsv"), "\n", &next);
    head = split_row(line);
    while ((line = strtok_r(NULL, "\n", &next))) {
        row r = split_row(line);
        const char *file = r.cell[column(&head, "file")], *kind = r.cell[column(&head, "kind")];
        if (!strchr(file, '/')) continue; /* the corpus's own tables */
        run(file, kind);
    }
    return 0;
}
