/* Sharded tensors: checks that the pieces cover the tensor exactly, and streams it in row-major order through a buffer of a few megabytes. */
#include "ckpt/internal.h"

#include "tensor/convert.h"

/* Bytes: of the buffer; of the buffer for permuted tensors, each of which touches every page of the file; of resident pages before they are released. */
enum { SLAB = 4 << 20, SLAB_MOVED = 64 << 20, FORGET = 32 << 20 };

tc_entry *tc_ckpt_entry(tc_ckpt *c, const char *name) {
    void **slot = tc_map_put(&c->by_name, name, strlen(name));
    if (!*slot) {
        tc_entry *e = TC_NEW(&c->arena, tc_entry);
        e->name = tc_arena_strdup(&c->arena, name);
        e->rank = -1;
        tc_vec_push(&c->entries, e);
        *slot = e;
    }
    return *slot;
}

void tc_ckpt_note(tc_ckpt *c, const char *name, const char *what) {
    tc_metadata m = {tc_arena_strdup(&c->arena, name), tc_arena_strdup(&c->arena, what)};
    tc_vec_push(&c->notes, m);
}

static tc_status differs(const tc_entry *e, const tc_piece *p, const char *what) {
    const tc_piece *first = &e->pieces.data[0];
    return tc_error(TC_CONTENT, "%s: %s has another %s than %s%s", p->file, e->name, what, e->pieces.len ? "in " : "the checkpoint says",
                    e->pieces.len ? first->file : "");
}

tc_status tc_ckpt_add_piece(tc_ckpt *c, tc_entry *e, tc_tensor t, const int64_t *offset, const char *file) {
    tc_piece p = {.data = t, .file = file};
    (void)c;
    if (e->rank < 0) e->rank = t.rank, e->dtype = t.dtype;
    if (offset) memcpy(p.offset, offset, (size_t)t.rank * sizeof *offset);
    tc_status st = e->dtype != t.dtype ? differs(e, &p, "type") : e->rank != t.rank ? differs(e, &p, "number of dimensions") : NULL;
    if (st) {
        tc_tensor_deinit(&t);
        return st;
    }
    if (!e->pieces.len) { /* nearly always the only piece: allocate exactly one */
        e->pieces.data = tc_xmalloc(sizeof p);
        e->pieces.cap = 1;
    }
    tc_vec_push(&e->pieces, p);
    return NULL;
}

/* ---- do the pieces cover the tensor? ---- */
static int by_offset(const void *a, const void *b) {
    const tc_piece *x = a, *y = b;
    for (int d = 0; d < x->data.rank; d++)
        if (x->offset[d] != y->offset[d]) return x->offset[d] < y->offset[d] ? -1 : 1;
    return strcmp(x->file, y->file);
}

static bool meet(const tc_piece *a, const tc_piece *b) {
    for (int d = 0; d < a->data.rank; d++)
        if (a->offset[d] >= b->offset[d] + b->data.size[d] || b->offset[d] >= a->offset[d] + a->data.size[d]) return false;
    return true;
}

static tc_status inside(const tc_entry *e, const tc_piece *p, int64_t *io_size) {
    for (int d = 0; d < e->rank; d++) {
        int64_t end;
        if (p->offset[d] < 0) return tc_error(TC_CONTENT, "%s: %s: negative offset %lld", p->file, e->name, (long long)p->offset[d]);
        if (!tc_add_i64(p->offset[d], p->data.size[d], &end))
            return tc_error(TC_CONTENT, "%s: %s: offset %lld overflows with the part's size", p->file, e->name, (long long)p->offset[d]);
        if (e->sized && end > e->size[d])
            return tc_error(TC_CONTENT, "%s: a part of %s reaches %lld of %lld in dimension %d", p->file, e->name, (long long)end,
                            (long long)e->size[d], d);
        if (end > io_size[d]) io_size[d] = end;
    }
    return NULL;
}

tc_status tc_ckpt_check_entry(tc_ckpt *c, tc_entry *e) {
    int64_t size[TC_MAX_RANK] = {0}, total = 1, sum = 0;
    (void)c;
    if (e->rank < 0) return tc_error(TC_CONTENT, "%s: %s has no parts", c->path, e->name);
    for (size_t i = 0; i < e->pieces.len; i++) TC_TRY(inside(e, &e->pieces.data[i], size));
    if (!e->sized) memcpy(e->size, size, sizeof size);
    for (int d = 0; d < e->rank; d++)
        if (!tc_mul_i64(total, e->size[d], &total)) return tc_error(TC_CONTENT, "%s: the sizes of %s overflow", c->path, e->name);
    if (e->pieces.len > 1) qsort(e->pieces.data, e->pieces.len, sizeof *e->pieces.data, by_offset);
    for (size_t i = 0; i < e->pieces.len; i++) {
        const tc_piece *p = &e->pieces.data[i];
        sum += tc_tensor_numel(&p->data); /* disjoint pieces lie inside the tensor, so the sum cannot overflow */
        if (!tc_tensor_numel(&p->data)) continue;
        for (size_t k = i + 1; k < e->pieces.len && e->rank; k++) { /* sorted: only pieces that begin before this one ends */
            const tc_piece *q = &e->pieces.data[k];
            if (q->offset[0] >= p->offset[0] + p->data.size[0]) break;
            if (tc_tensor_numel(&q->data) && meet(p, q))
                return tc_error(TC_CONTENT, "%s: parts of %s in %s and %s overlap", c->path, e->name, p->file, q->file);
        }
        if (!e->rank && i) return tc_error(TC_CONTENT, "%s: parts of %s in %s and %s overlap", c->path, e->name, e->pieces.data[0].file, p->file);
    }
    if (sum == total) return NULL;
    return tc_error(TC_CONTENT, "%s: the parts of %s hold %lld of its %lld elements: a part is missing or stands elsewhere", c->path, e->name,
                    (long long)sum, (long long)total);
}

/* ---- reading ---- */
typedef struct {
    int rank;
    int64_t size[TC_MAX_RANK];
    size_t item;
    size_t touched; /* bytes of mapped files read since pages were last released */
    const tc_entry *e;
    const int *perm;
} reader;

static const tc_blob *blob_of(const tc_storage *s) { return s->deleter == tc_blob_deleter ? s->ctx : NULL; }

static void forget(reader *r) {
    for (size_t i = 0; i < r->e->pieces.len; i++) {
        const tc_tensor *t = &r->e->pieces.data[i].data;
        const tc_blob *b = blob_of(t->storage);
        if (b) tc_blob_forget(b, t->storage->data, t->storage->bytes);
    }
    r->touched = 0;
}

/* A line of n elements; strides in bytes. */
static void copy_line(char *dst, int64_t to_step, const char *src, int64_t from_step, int64_t n, size_t item) {
    if (from_step == (int64_t)item && to_step == (int64_t)item) {
        memcpy(dst, src, (size_t)n * item);
        return;
    }
#define LINE(bytes)                                                                            \
    case bytes:                                                                                \
        for (int64_t i = 0; i < n; i++) memcpy(dst + i * to_step, src + i * from_step, bytes); \
        return;
    switch (item) { LINE(1) LINE(2) LINE(4) LINE(8) LINE(16) }
#undef LINE
}

/* One dimension of a box: count, and strides in bytes of source and destination. */
typedef struct {
    int64_t n, from, to;
} axis;
static int by_source(const void *a, const void *b) {
    const axis *x = a, *y = b;
    return x->from > y->from ? -1 : x->from < y->from;
}

/* Copies a box in the order of the file, so that each page is touched once. */
static void copy_axes(reader *r, axis *x, int rank, char *dst, const char *src) {
    int64_t at[TC_MAX_RANK] = {0}, lines = 1;
    if (rank > 1) qsort(x, (size_t)rank, sizeof *x, by_source);
    int inner = rank - 1;
    for (int d = 0; d < inner; d++) lines *= x[d].n;
    size_t run = (size_t)x[inner].n * (size_t)x[inner].from, around = 64 << 10; /* the system maps this much around a page */
    int64_t jump = inner ? x[inner - 1].from : 0;
    size_t cost = run + ((size_t)jump < around ? (size_t)jump : around);
    for (int64_t line = 0; line < lines; line++) {
        int64_t s = 0, t = 0;
        for (int d = 0; d < inner; d++) s += at[d] * x[d].from, t += at[d] * x[d].to;
        copy_line(dst + t, x[inner].to, src + s, x[inner].from, x[inner].n, r->item);
        for (int d = inner - 1; d >= 0 && ++at[d] == x[d].n; d--) at[d] = 0;
        r->touched += cost;
        if (r->touched > FORGET) forget(r);
    }
}

/* Copies the intersection of the box [low, high) and piece p into dst, the packed box. */
static void copy_box(reader *r, const tc_piece *p, const int64_t *low, const int64_t *high, char *dst) {
    const char *src = tc_tensor_data(&p->data);
    axis x[TC_MAX_RANK];
    int64_t step = (int64_t)r->item;
    for (int d = r->rank - 1; d >= 0; d--) {
        int s = r->perm[d];
        int64_t begin = p->offset[s], end = begin + p->data.size[s];
        int64_t from = begin > low[d] ? begin : low[d], to = end < high[d] ? end : high[d];
        if (to <= from) return;
        x[d] = (axis){to - from, p->data.stride[s] * (int64_t)r->item, step};
        src += (from - begin) * x[d].from;
        dst += (from - low[d]) * step;
        step *= high[d] - low[d];
    }
    copy_axes(r, x, r->rank, dst, src);
}

typedef struct {
    reader r;
    tc_dtype from, to;
    char *box, *cast;
    int64_t slab;
    tc_sink sink;
} streamer;

/* Converts n elements, a small buffer at a time, and passes them to the sink. */
static tc_status give(streamer *s, const void *data, int64_t n) {
    const char *p = data;
    int64_t most = SLAB / 16;
    if (s->from == s->to) return s->sink.write(s->sink.self, data, (size_t)n * s->r.item);
    for (int64_t done = 0, m; done < n; done += m, p += m * (int64_t)s->r.item) {
        m = n - done < most ? n - done : most;
        const char *from = p;
        if ((uintptr_t)p % s->r.item) { /* unaligned in its file */
            memcpy(s->box, p, (size_t)m * s->r.item);
            from = s->box;
        }
        tc_convert(s->to, s->cast, s->from, from, (size_t)m);
        TC_TRY(s->sink.write(s->sink.self, s->cast, (size_t)m * tc_dtype_size(s->to)));
    }
    return NULL;
}

/* A single contiguous piece: passes the mapping to the sink without a buffer. */
static tc_status stream_whole(streamer *s, const tc_tensor *t, int64_t numel) {
    const char *p = tc_tensor_data(t);
    int64_t most = SLAB / (int64_t)s->r.item;
    const tc_blob *b = blob_of(t->storage);
    for (int64_t done = 0; done < numel; done += most) {
        int64_t n = numel - done < most ? numel - done : most;
        TC_TRY(give(s, p + done * (int64_t)s->r.item, n));
        if (b) tc_blob_forget(b, p + done * (int64_t)s->r.item, (size_t)n * s->r.item);
    }
    return NULL;
}

/* Streams box by box: leading dimensions one index at a time, one dimension in steps, the rest whole. */
static tc_status stream_boxes(streamer *s) {
    reader *r = &s->r;
    int cut = r->rank - 1;
    int64_t inner = 1, low[TC_MAX_RANK] = {0}, high[TC_MAX_RANK];
    while (cut > 0 && inner * r->size[cut] * (int64_t)r->item <= s->slab) inner *= r->size[cut--];
    int64_t step = s->slab / (inner * (int64_t)r->item);
    if (step < 1) step = 1;
    memcpy(high, r->size, sizeof high);
    for (int d = 0; d < cut; d++) high[d] = 1;
    for (;;) {
        for (low[cut] = 0; low[cut] < r->size[cut]; low[cut] = high[cut]) {
            high[cut] = r->size[cut] - low[cut] < step ? r->size[cut] : low[cut] + step;
            for (size_t i = 0; i < r->e->pieces.len; i++) copy_box(r, &r->e->pieces.data[i], low, high, s->box);
            TC_TRY(give(s, s->box, inner * (high[cut] - low[cut])));
        }
        int d = cut - 1;
        while (d >= 0 && high[d] == r->size[d]) low[d] = 0, high[d] = 1, d--;
        if (d < 0) return NULL;
        low[d]++, high[d]++;
    }
}

static tc_status stream_entry(const tc_entry *e, const int *perm, tc_dtype to, tc_sink sink) {
    static const int same[TC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    streamer s = {
        .r = {.rank = e->rank, .item = tc_dtype_size(e->dtype), .e = e, .perm = perm ? perm : same}, .from = e->dtype, .to = to, .sink = sink};
    int64_t numel = 1;
    bool moved = false;
    for (int d = 0; d < e->rank; d++) s.r.size[d] = e->size[s.r.perm[d]], numel *= e->size[d], moved = moved || s.r.perm[d] != d;
    if (!numel) return NULL;
    bool whole =
        e->pieces.len == 1 && !moved && tc_tensor_numel(&e->pieces.data[0].data) == numel && tc_tensor_is_contiguous(&e->pieces.data[0].data);
    for (size_t k = 0; k < e->pieces.len; k++) moved = moved || !tc_tensor_is_contiguous(&e->pieces.data[k].data);
    s.slab = moved && !whole ? SLAB_MOVED : SLAB;
    s.box = tc_xmalloc((size_t)(numel * (int64_t)s.r.item < s.slab ? (size_t)numel * s.r.item : (size_t)s.slab) + 64);
    if (to != e->dtype) s.cast = tc_xmalloc((size_t)SLAB / 16 * tc_dtype_size(to) + 64);
    tc_status st;
    if (whole) st = stream_whole(&s, &e->pieces.data[0].data, numel);
    else st = stream_boxes(&s);
    if (s.r.touched) forget(&s.r); /* bounds memory for many small tensors, too */
    free(s.box);
    free(s.cast);
    return st;
}

tc_status tc_ckpt_stream(const tc_ckpt *c, size_t i, const int *perm, tc_dtype to, tc_sink sink) {
    return stream_entry(c->entries.data[i], perm, to, sink);
}

/* Treats the box as a tensor whose pieces, shifted by low, may extend beyond its edges. */
tc_status tc_ckpt_stream_box(const tc_ckpt *c, size_t i, const int64_t *low, const int64_t *size, tc_sink sink) {
    const tc_entry *whole = c->entries.data[i];
    if (!memcmp(size, whole->size, sizeof *size * (size_t)whole->rank)) return stream_entry(whole, NULL, whole->dtype, sink);
    tc_entry box = *whole;
    memcpy(box.size, size, sizeof *size * (size_t)whole->rank);
    box.pieces.data = tc_xcalloc(whole->pieces.len, sizeof *box.pieces.data);
    box.pieces.len = 0;
    for (size_t k = 0; k < whole->pieces.len; k++) {
        tc_piece p = whole->pieces.data[k];
        bool meets = true;
        for (int d = 0; d < whole->rank; d++) {
            p.offset[d] -= low[d];
            meets = meets && p.offset[d] < size[d] && p.offset[d] + p.data.size[d] > 0;
        }
        if (meets) box.pieces.data[box.pieces.len++] = p;
    }
    tc_status st = stream_entry(&box, NULL, whole->dtype, sink);
    free(box.pieces.data);
    return st;
}

typedef struct {
    char *to;
} filler;
static tc_status fill(void *self, const void *p, size_t n) {
    filler *f = self;
    memcpy(f->to, p, n);
    f->to += n;
    return NULL;
}

void tc_ckpt_forget(const tc_ckpt *c, size_t i) {
    reader r = {.e = c->entries.data[i]};
    forget(&r);
}

tc_status tc_ckpt_tensor(const tc_ckpt *c, size_t i, tc_tensor *out) {
    const tc_entry *e = c->entries.data[i];
    if (e->pieces.len == 1) {
        const tc_tensor *t = &e->pieces.data[0].data;
        if (!t->storage->bytes || (uintptr_t)tc_tensor_data(t) % tc_dtype_size(t->dtype) == 0) {
            *out = tc_tensor_share(t);
            return NULL;
        }
    }
    TC_TRY(tc_tensor_empty(e->dtype, e->rank, e->size, out), "%s", e->name);
    if (!tc_tensor_bytes(out)) return NULL;
    filler f = {tc_tensor_data(out)};
    return tc_ckpt_stream(c, i, NULL, e->dtype, (tc_sink){fill, &f});
}
