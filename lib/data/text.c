/* Text as tokens. `text`: one stream, tokens are its bytes or the characters present (sorted, from 0), cut into windows.
 * `names`: words, one per line; token 0 is the boundary, the characters present count from 1. A word "emma" is 0 5 13 13 1 0; with
 * `context: 3` its samples are (0 0 0 -> 5), (0 0 5 -> 13), ...; with `pad: -100` it is one sample x = 0 5 13 13 1, y = 5 13 13 1 0. */
#include "data/data.h"

enum { UNICODE = 0x110000 };

/* Decodes one character of UTF-8 at p (n bytes left); returns its length, 0 when malformed. */
static size_t decode(const unsigned char *p, size_t n, uint32_t *out) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t k = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
    if (!k || k > n) return 0;
    uint32_t c = k == 1 ? p[0] : p[0] & (0x7fu >> k);
    for (size_t i = 1; i < k; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    *out = c;
    return c < least[k] || c >= UNICODE ? 0 : k;
}

/* The characters of the file as code points; bytes: each byte. */
static tc_status characters(const char *name, const tc_buf *b, bool bytes, uint32_t **out, int64_t *out_n) {
    uint32_t *c = tc_xcalloc(b->len ? b->len : 1, sizeof *c);
    int64_t n = 0;
    for (size_t i = 0; i < b->len;) {
        size_t k = 1;
        if (bytes) c[n] = (unsigned char)b->data[i];
        else k = decode((const unsigned char *)b->data + i, b->len - i, &c[n]);
        if (!k) {
            free(c);
            return tc_status_add(tc_error(TC_CONTENT, "%s: not UTF-8 at byte %zu", name, i), "take its bytes: as: bytes");
        }
        n++;
        i += k;
    }
    *out = c;
    *out_n = n;
    return NULL;
}

/* The sorted characters present, without `skip`, or those of `train`. Returns the token of every character of c: its index in them + first, -1 for one
 * that is none of them; to be freed. */
static int32_t *vocabulary(tc_dataset *d, const tc_dataset *train, const uint32_t *c, int64_t n, uint32_t skip, int32_t first) {
    uint32_t top = train && train->nvocab ? train->vocab[train->nvocab - 1] : 0;
    for (int64_t i = 0; i < n; i++) top = c[i] > top ? c[i] : top;
    int32_t *rank = tc_xcalloc((size_t)top + 1, sizeof *rank);
    for (uint32_t i = 0; i <= top; i++) rank[i] = -1;
    if (train) {
        d->vocab = tc_arena_dup(&d->arena, train->vocab, (size_t)train->nvocab * sizeof *d->vocab);
        d->nvocab = train->nvocab;
    } else {
        for (int64_t i = 0; i < n; i++)
            if (c[i] != skip) rank[c[i]] = 0;
        for (uint32_t i = 0; i <= top; i++) d->nvocab += rank[i] == 0;
        d->vocab = TC_NEWN(&d->arena, uint32_t, (size_t)d->nvocab);
        int64_t k = 0;
        for (uint32_t i = 0; i <= top; i++)
            if (rank[i] == 0) d->vocab[k++] = i;
    }
    for (int64_t k = 0; k < d->nvocab; k++) rank[d->vocab[k]] = (int32_t)k + first;
    return rank;
}

static tc_status two_columns(tc_dataset *d) {
    d->col[0].name = "x";
    d->col[1].name = "y";
    d->ncols = 2;
    return NULL;
}

/* ---- text ---- */

static tc_status part_of(const tc_data_spec *s, int64_t n, int64_t *from, int64_t *to) {
    double a = 0, b = 1;
    if (s->range) {
        if (s->range->kind != TC_YAML_LIST || s->range->n != 2) return tc_yaml_error(s->range, "expected [from, to], as parts of the whole");
        TC_TRY(tc_yaml_double(s->range->items[0], &a));
        TC_TRY(tc_yaml_double(s->range->items[1], &b));
        if (!(a >= 0 && a < b && b <= 1)) return tc_yaml_error(s->range, "expected 0 <= from < to <= 1");
    }
    /* 0.9 is slightly more than 9/10: a part is rounded to a millionth before it is multiplied. */
    *from = (int64_t)((__int128)n * (int64_t)(a * 1e6 + 0.5) / 1000000);
    *to = (int64_t)((__int128)n * (int64_t)(b * 1e6 + 0.5) / 1000000);
    return NULL;
}

tc_status tc_data_read_text(tc_dataset *d, const tc_data_spec *s) {
    bool bytes = !s->as || strcmp(s->as, "bytes") == 0;
    if (!bytes && strcmp(s->as, "chars")) return tc_yaml_error(tc_yaml_get(s->node, "as"), "found '%s', expected bytes or chars", s->as);
    if (s->block < 1 || s->block > 1 << 30) return tc_yaml_error(s->node, "text needs block: N, the tokens of a window");
    tc_buf b = {0};
    TC_TRY(tc_data_load(s, s->text, &b));
    uint32_t *c;
    int64_t n, from = 0, to = 0;
    tc_status st = characters(s->text, &b, bytes, &c, &n);
    tc_buf_free(&b);
    if (st) return st;
    int32_t *rank = bytes ? NULL : vocabulary(d, s->train && s->train->vocab ? s->train : NULL, c, n, UINT32_MAX, 0);
    st = part_of(s, n, &from, &to);
    if (!st && to - from <= s->block)
        st = tc_error(TC_CONTENT, "%s: %lld tokens in this part, expected more than block: %lld", s->text, (long long)(to - from),
                      (long long)s->block);
    if (!st) st = tc_tensor_empty(TC_I64, 1, (int64_t[]){to - from}, &d->col[0].data);
    if (!st) {
        int64_t *tokens = tc_tensor_data(&d->col[0].data);
        for (int64_t i = from; i < to && !st; i++) {
            tokens[i - from] = rank ? (int64_t)rank[c[i]] : (int64_t)c[i];
            if (tokens[i - from] < 0)
                st = tc_error(TC_CONTENT, "%s: character U+%04X at %lld is not in the training text", s->text, c[i], (long long)i);
        }
        d->kind = TC_DATA_WINDOWS;
        d->block = s->block;
        d->count = to - from - s->block - (s->train ? 0 : 1);
        if (d->count < 1) d->count = 1;
    }
    free(rank);
    free(c);
    return st ? st : two_columns(d);
}

/* ---- names ---- */

typedef struct {
    const uint32_t *c;
    int64_t n;
    const tc_data_spec *s;
    int64_t words, chars;
} word_list;

/* Calls fn with the first character and the length of each word that belongs to the set. */
static void each_word(word_list *w, void (*fn)(void *ctx, const uint32_t *c, int64_t n), void *ctx) {
    int64_t line = 0;
    for (int64_t i = 0; i < w->n;) {
        int64_t e = i;
        while (e < w->n && w->c[e] != '\n') e++;
        if (e > i) {
            if (tc_data_takes(w->s, line)) fn(ctx, w->c + i, e - i);
            line++;
        }
        i = e + 1;
    }
}

static void count_word(void *ctx, const uint32_t *c, int64_t n) {
    (void)c;
    word_list *w = ctx;
    w->words++;
    w->chars += n;
}

typedef struct {
    tc_dataset *d;
    const int32_t *rank;
    int64_t *x, *y;
    int64_t context, at, word;
    uint32_t unknown;
} filler;

static int64_t token(filler *f, uint32_t c) {
    if (f->rank[c] < 0) f->unknown = c;
    return f->rank[c];
}

static void fill_windows(void *ctx, const uint32_t *c, int64_t n) {
    filler *f = ctx;
    for (int64_t i = 0; i <= n; i++, f->at++) {
        for (int64_t k = 0; k < f->context; k++) {
            int64_t j = i - f->context + k;
            f->x[f->at * f->context + k] = j < 0 ? 0 : token(f, c[j]);
        }
        f->y[f->at] = i < n ? token(f, c[i]) : 0;
    }
}

static void fill_sequence(void *ctx, const uint32_t *c, int64_t n) {
    filler *f = ctx;
    f->d->offset[f->word++] = f->at;
    f->x[f->at++] = 0;
    for (int64_t i = 0; i < n; i++) f->x[f->at++] = token(f, c[i]);
    f->x[f->at++] = 0;
    f->d->offset[f->word] = f->at;
}

/* Removes the \r of lines that end in \r\n: they are no letters of the words. */
static int64_t plain_lines(uint32_t *c, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (c[i] != '\r' || (i + 1 < n && c[i + 1] != '\n')) c[kept++] = c[i];
    return kept;
}

tc_status tc_data_read_names(tc_dataset *d, const tc_data_spec *s) {
    bool windows = s->context > 0;
    if (windows == s->has_pad || s->context > 1 << 20)
        return tc_yaml_error(s->node, "names need either context: N (windows) or pad: VALUE (whole words)");
    tc_buf b = {0};
    TC_TRY(tc_data_load(s, s->names, &b));
    word_list w = {.s = s};
    uint32_t *c;
    tc_status st = characters(s->names, &b, false, &c, &w.n);
    tc_buf_free(&b);
    if (st) return st;
    w.n = plain_lines(c, w.n);
    w.c = c;
    int32_t *rank = vocabulary(d, s->train, c, w.n, '\n', 1);
    each_word(&w, count_word, &w);
    filler f = {.d = d, .rank = rank, .context = s->context, .unknown = UINT32_MAX};
    if (windows) {
        d->kind = TC_DATA_TABLE;
        d->count = w.chars + w.words;
        st = tc_tensor_empty(TC_I64, 2, (int64_t[]){d->count, s->context}, &d->col[0].data);
        if (!st) st = tc_tensor_empty(TC_I64, 1, &d->count, &d->col[1].data);
    } else {
        d->kind = TC_DATA_SEQUENCES;
        d->count = w.words;
        d->pad = s->pad;
        d->offset = TC_NEWN(&d->arena, int64_t, (size_t)w.words + 1);
        st = tc_tensor_empty(TC_I64, 1, (int64_t[]){w.chars + 2 * w.words}, &d->col[0].data);
    }
    if (!st) {
        f.x = tc_tensor_data(&d->col[0].data);
        f.y = windows ? tc_tensor_data(&d->col[1].data) : NULL;
        each_word(&w, windows ? fill_windows : fill_sequence, &f);
        if (f.unknown != UINT32_MAX) st = tc_error(TC_CONTENT, "%s: character U+%04X is not in the training words", s->names, f.unknown);
    }
    free(rank);
    free(c);
    return st ? st : two_columns(d);
}
