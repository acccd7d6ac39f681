/* tc-export --profile-shapes: declares inputs from the shapes that tc-run recorded, one line per run; sizes that differ between runs become symbols.
 *
 *     x=1x8xf32 t=1xi64
 *     x=7x8xf32 t=7xi64      ->  x=S0x8xf32 t=S0xi64: sizes that are equal in every run share a symbol */
#include "cmd/source.h"

#include <stdio.h>

typedef struct {
    const char *name;
    tc_dtype dtype;
    int rank;
    TC_VEC(int64_t) sizes; /* rank sizes per run; -1: the run lacks the input */
} seen_input;

typedef struct {
    tc_cmd *c;
    tc_cmd_source *q;
    const char *path;
    TC_VEC(seen_input) inputs;
    int64_t line, runs;
} seen;

static seen_input *find(seen *s, const char *name, size_t n) {
    for (size_t i = 0; i < s->inputs.len; i++)
        if (strlen(s->inputs.data[i].name) == n && !memcmp(s->inputs.data[i].name, name, n)) return &s->inputs.data[i];
    tc_vec_push(&s->inputs, ((seen_input){.name = tc_arena_strndup(&s->q->arena, name, n), .rank = -1}));
    return &s->inputs.data[s->inputs.len - 1];
}

/* Parses "7x8xf32". False: not of that form. */
static bool read_type(const char *p, size_t n, tc_dtype *dtype, int64_t *size, int *rank) {
    const char *end = p + n;
    for (*rank = 0; p < end && *p >= '0' && *p <= '9'; ++*rank) {
        char *stop;
        if (*rank == TC_MAX_RANK) return false;
        size[*rank] = strtoll(p, &stop, 10);
        if (*stop != 'x' || stop >= end || size[*rank] < 0) return false;
        p = stop + 1;
    }
    *dtype = tc_dtype_parse(p, (size_t)(end - p));
    return *dtype != TC_DTYPE_NONE;
}

static tc_status bad(const seen *s, const char *what, const char *word, size_t n) {
    return tc_error(TC_CONTENT, "%s:%lld: %.*s: %s", s->path, (long long)s->line, (int)(n < 80 ? n : 80), word, what);
}

static tc_status read_word(seen *s, const char *word, size_t n) {
    const char *eq = memchr(word, '=', n);
    int64_t size[TC_MAX_RANK];
    tc_dtype dtype;
    int rank;
    if (!eq || eq == word || !read_type(eq + 1, n - (size_t)(eq + 1 - word), &dtype, size, &rank))
        return bad(s, "expected NAME=SIZESxDTYPE, as in x=2x8xf32", word, n);
    seen_input *in = find(s, word, (size_t)(eq - word));
    if (in->rank < 0) in->dtype = dtype, in->rank = rank;
    if (in->dtype != dtype || in->rank != rank) return bad(s, "another type or rank than in the lines before", word, n);
    while ((int64_t)in->sizes.len < s->runs * rank) tc_vec_push(&in->sizes, -1);
    if ((int64_t)in->sizes.len > s->runs * rank) return bad(s, "a second time in the line", word, n);
    for (int d = 0; d < rank; d++) tc_vec_push(&in->sizes, size[d]);
    return NULL;
}

static tc_status read_runs(seen *s, const tc_blob *b) {
    const char *p = (const char *)b->data, *end = p + b->len;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        s->line++;
        bool any = false;
        while (p < stop) {
            size_t n = 0;
            while (p + n < stop && p[n] != ' ' && p[n] != '\t' && p[n] != '\r') n++;
            if (n) TC_TRY(read_word(s, p, n));
            any |= n > 0;
            p += n + 1;
        }
        p = stop + 1;
        s->runs += any;
    }
    for (size_t i = 0; i < s->inputs.len; i++)
        while ((int64_t)s->inputs.data[i].sizes.len < s->runs * s->inputs.data[i].rank) tc_vec_push(&s->inputs.data[i].sizes, -1);
    return NULL;
}

/* ---- which sizes differ ---- */
static bool varies(const seen *s, const seen_input *in, int d) {
    int64_t first = -1;
    for (int64_t r = 0; r < s->runs; r++) {
        int64_t v = in->sizes.data[r * in->rank + d];
        if (first < 0) first = v;
        if (v >= 0 && v != first) return true;
    }
    return false;
}

static bool alike(const seen *s, const seen_input *a, int d, const seen_input *b, int e) {
    for (int64_t r = 0; r < s->runs; r++)
        if (a->sizes.data[r * a->rank + d] != b->sizes.data[r * b->rank + e]) return false;
    return true;
}

/* The text of a size: a number, the symbol of an earlier size that was equal in every run, or a new symbol. */
static const char *size_text(seen *s, tc_capture_input *made, size_t at, int d, int *symbols) {
    const seen_input *in = &s->inputs.data[at];
    for (size_t i = 0; varies(s, in, d) && i <= at; i++)
        for (int e = 0; e < (i == at ? d : s->inputs.data[i].rank); e++)
            if (varies(s, &s->inputs.data[i], e) && alike(s, in, d, &s->inputs.data[i], e)) return made[i].size[e];
    if (varies(s, in, d)) return tc_arena_printf(&s->q->arena, "S%d", (*symbols)++);
    for (int64_t r = 0; r < s->runs; r++)
        if (in->sizes.data[r * in->rank + d] >= 0) return tc_arena_printf(&s->q->arena, "%lld", (long long)in->sizes.data[r * in->rank + d]);
    return "1";
}

/* Makes sizes that --input declares as numbers but that differ between runs into symbols; declared symbols stay, sizes of example tensors are
 * dynamic. */
static tc_status widen(const seen *s, const seen_input *in, const tc_capture_input *made, tc_capture_input *given) {
    if (given->example.storage) return NULL;
    if (given->rank != made->rank || given->dtype != made->dtype)
        return tc_error(TC_CONTENT, "%s: %s is %s of rank %d there, --input declares %s of rank %d", s->path, made->name, tc_dtypes[made->dtype].name,
                        made->rank, tc_dtypes[given->dtype].name, given->rank);
    for (int d = 0; d < made->rank; d++)
        if (varies(s, in, d) && *given->size[d] >= '0' && *given->size[d] <= '9') given->size[d] = made->size[d];
    return NULL;
}

static tc_status declare(seen *s) {
    tc_status st = NULL;
    for (size_t k = 0; k < s->q->inputs.len; k++)
        if (!s->q->inputs.data[k].name)
            return tc_usage(s->c, "--input without a name beside --profile-shapes: expected --input NAME=..., as %s has names", s->path);
    tc_capture_input *made = tc_xcalloc(s->inputs.len + 1, sizeof *made);
    int symbols = 0;
    for (size_t i = 0; i < s->inputs.len && !st; i++) {
        made[i] = (tc_capture_input){.name = s->inputs.data[i].name, .dtype = s->inputs.data[i].dtype, .rank = s->inputs.data[i].rank};
        for (int d = 0; d < made[i].rank; d++) made[i].size[d] = size_text(s, made, i, d, &symbols);
        bool given = false;
        for (size_t k = 0; k < s->q->inputs.len && !given; k++) {
            given = s->q->inputs.data[k].name && !strcmp(s->q->inputs.data[k].name, made[i].name);
            if (given) st = widen(s, &s->inputs.data[i], &made[i], &s->q->inputs.data[k]);
        }
        if (given) continue;
        tc_vec_push(&s->q->inputs, made[i]);
        tc_buf b = {0};
        for (int d = 0; d < made[i].rank; d++) tc_buf_printf(&b, "%sx", made[i].size[d]);
        tc_cmd_verbose(s->c, "--input %s=%s%s, as %lld runs had it", made[i].name, tc_buf_str(&b), tc_dtypes[made[i].dtype].name, (long long)s->runs);
        tc_buf_free(&b);
    }
    free(made);
    return st;
}

tc_status tc_cmd_source_shapes(tc_cmd *c, tc_cmd_source *q) {
    const char *path = tc_cmd_get(c, TC_OPT_profile_shapes);
    tc_blob *b;
    if (!path) return NULL;
    TC_TRY(tc_cmd_read(c, path, "--profile-shapes", &b));
    seen s = {.c = c, .q = q, .path = path};
    tc_status st = read_runs(&s, b);
    if (!st) st = declare(&s);
    for (size_t i = 0; i < s.inputs.len; i++) tc_vec_free(&s.inputs.data[i].sizes);
    tc_vec_free(&s.inputs);
    tc_blob_release(b);
    return st;
}
