/* Executes bound nests. Every worker has a table of pointers, one for each value; a step calls a primitive with pointers of this table. */
#include "base/ints.h"
#include "runtime/block_impl.h"

typedef struct {
    tc_block *b;
    const nest *n;
    void *const *data;
    char *scratch;
    tc_abi_fault *fault;
    walk *walks; /* by worker; set up by start_nest */
    tc_epilogue_plain plain;
    tc_epilogue rest;
    tc_half_rows half;
    void **tile_data; /* tiles: data of each worker, [worker][buffer] */
} job;

/* Prefetches the lines of one piece of work. Addresses may be outside the tensor, which is harmless for prefetches. */
static inline void prefetch_lines(walk *w, int stage) {
    const nest *n = w->n;
    for (int k = 0; k < n->nstreams; k++) {
        const char *at = w->next_line[k], *end = at + n->streams[k].pace[stage] * LINE;
        if (end > w->end_line[k]) end = w->end_line[k];
        w->next_line[k] = end > at ? end : at;
        if (n->streams[k].written)
            for (; at < end; at += LINE) __builtin_prefetch(at, 1);
        else
            for (; at < end; at += LINE) __builtin_prefetch(at);
    }
}

/* Executes an element-wise step in pieces, with prefetches between them. */
static void run_pieces(walk *w, const step *s, int stage) {
    const int used[5] = {s->out, s->a, s->b, s->c, s->d};
    char *at[5] = {0};
    size_t by[5] = {0};
    int64_t left = w->count[s->cls], n = w->n->piece;
    for (int k = 0; k < 5; k++)
        if (used[k] >= 0) at[k] = w->ptr[used[k]], by[k] = (size_t)n << w->n->places[used[k]].shift;
    for (int k = 0; k < 4; k++)
        if (s->narrow >> k & 1) by[1 + k] = 0;
    for (;; left -= n) {
        const int64_t now = left > n ? n : left;
        if (s->kind == S_CAST) s->cast(at[0], at[1], now);
        else if (s->kind == S_SELECT) s->select(at[0], at[1], at[2], at[3], at[4], s->negate, now);
        else s->fn(at[0], at[1], at[2], at[3], now);
        if (left <= n) break;
        for (int k = 0; k < 5; k++) at[k] += by[k];
        prefetch_lines(w, stage);
    }
}

/* A primitive with one or two narrow operands, which have one element for each row, for each run of a row, or in all. */
static void run_fn_narrow(const walk *w, const step *s) {
    const nest *n = w->n;
    int64_t all = w->count[s->cls], fast = s->thin ? run_length(n) : n->col ? w->r : w->c;
    char *out = w->ptr[s->out];
    const char *at[3] = {w->ptr[s->a], w->ptr[s->b], s->c < 0 ? NULL : w->ptr[s->c]};
    if (s->narrow == s->fixed || (all <= fast && !s->thin)) {
        s->fn(out, at[0], at[1], at[2], all);
        return;
    }
    const size_t size = (size_t)1 << s->shift;
    int64_t len = s->thin ? fast - w->i0 % fast : fast; /* a block may begin and end within a run */
    for (int64_t done = 0; done < all; done += len, len = fast) {
        if (len > all - done) len = all - done;
        s->fn(out, at[0], at[1], at[2], len);
        out += (size_t)len * size;
        for (int k = 0; k < 3; k++)
            if (at[k] && !(s->fixed >> k & 1)) at[k] += s->narrow >> k & 1 ? size : (size_t)len * size;
    }
}

static inline void run_step(walk *w, const step *s) {
    void **ptr = w->ptr;
    switch (s->kind) {
    case S_FN: s->fn(ptr[s->out], ptr[s->a], s->b < 0 ? NULL : ptr[s->b], s->c < 0 ? NULL : ptr[s->c], w->count[s->cls]); break;
    case S_FN_NARROW: run_fn_narrow(w, s); break;
    case S_SELECT: s->select(ptr[s->out], ptr[s->a], ptr[s->b], ptr[s->c], ptr[s->d], s->negate, w->count[s->cls]); break;
    case S_TABLE: w->b->isa->move->lookup(ptr[s->out], ptr[s->a], w->b->tables->list.data[s->aux].entries, w->count[s->cls]); break;
    case S_CAST: s->cast(ptr[s->out], ptr[s->a], w->count[s->cls]); break;
    case S_CONST:
    case S_HOST: memcpy(ptr[s->out], w->n->con[s->aux].bytes, tc_dtype_size((tc_dtype)s->dtype)); break;
    case S_LOAD: run_load(w, s); break;
    case S_GATHER: run_gather(w, s); break;
    case S_STORE:
        if (!w->skip_row_stores || w->n->acc[s->aux].cls & CLS_I) run_store(w, s);
        break;
    case S_BROADCAST: run_broadcast(w, s); break;
    case S_INDEX: run_index(w, s); break;
    case S_REDUCE: run_reduce(w, s); break;
    case S_FINISH:
        if (w->shared) memcpy(ptr[s->out], w->shared + (size_t)s->aux * part_bytes(w->n), reduced_bytes(w, s));
        else run_finish(w, s);
        break;
    case S_SCAN: run_scan(w, s); break;
    case S_PART:
        for (int64_t k = 0; k < w->count[s->cls]; k++) ((double *)ptr[s->out])[k] = ((const double *)ptr[s->a])[k * 3 + s->part];
        break;
    default: break;
    }
}

static void run_steps(walk *w, const steps *list) {
    const step *end = list->data + list->len;
    for (const step *s = list->data; s < end; s++) run_step(w, s);
}

/* The body of a stage on one block. fresh: the block is at other addresses than the one before. */
static void run_body(walk *w, int stage, bool fresh) {
    const nest *n = w->n;
    const steps *list = &n->body[stage];
    if (!n->nstreams) {
        run_steps(w, list);
        return;
    }
    for (int k = 0; k < n->nstreams && fresh; k++) {
        w->next_line[k] = (const char *)w->ptr[n->streams[k].place] + n->streams[k].lead;
        w->end_line[k] = w->next_line[k] + n->streams[k].bytes;
    }
    const step *end = list->data + list->len;
    for (const step *s = list->data; s < end; s++) {
        prefetch_lines(w, stage);
        if (s->pieces > 1) run_pieces(w, s, stage);
        else run_step(w, s);
    }
}

static inline void set_counts(walk *w, int64_t r, int64_t c) {
    w->r = r;
    w->c = c;
    w->count[CLS_0] = 1;
    w->count[CLS_O] = r;
    w->count[CLS_I] = c;
    w->count[CLS_OI] = r * c;
}

/* Sets the pointers of values in memory or in a row buffer, for the block at o0, i0. */
static inline void move_to_block(walk *w) {
    const nest *n = w->n;
    for (int k = 0; k < n->nmoving; k++) {
        const place *p = &n->places[n->moving[k]];
        if (p->kind == P_KEPT) {
            w->ptr[n->moving[k]] = w->scratch + p->offset + ((size_t)(w->i0 * (p->cls & CLS_O ? w->r : 1)) << p->shift);
            continue;
        }
        const access *a = &n->acc[p->acc];
        int64_t off = a->at.base + (p->cls & CLS_O ? w->row[p->acc] : 0) + (p->cls & CLS_I ? affine_offset(&n->I, a->at.i, w->i0) : 0);
        w->ptr[n->moving[k]] =
            (char *)w->data[a->buffer] + off * ((int64_t)1 << p->shift); /* may be outside the tensor if a predicate is false there */
    }
}

static void move_to_row(walk *w, int64_t o0) {
    const nest *n = w->n;
    w->o0 = o0;
    w->i0 = 0;
    set_counts(w, n->O.total - o0 < n->R ? n->O.total - o0 : n->R, n->C < n->I.total ? n->C : n->I.total);
    if (n->O.n)
        for (int k = 0; k < n->nacc; k++) w->row[k] = affine_offset(&n->O, n->acc[k].at.o, o0);
    move_to_block(w);
}

static void *const *data_of(const job *j, int worker) { return j->tile_data ? j->tile_data + (size_t)worker * (size_t)j->b->nbuffers : j->data; }
static walk *start_nest(job *j, const nest *n, int worker) {
    walk *w = &j->walks[worker];
    if (w->n == n) return w;
    char *scratch = j->scratch + (size_t)worker * j->b->scratch;
    size_t table = tc_pad64((size_t)n->nplaces * sizeof(void *));
    *w = (walk){.b = j->b,
                .n = n,
                .data = data_of(j, worker),
                .scratch = scratch,
                .fault = j->fault,
                .ptr = (void **)scratch,
                .row = (int64_t *)(scratch + table)};
    for (int k = 0; k < n->nplaces; k++) w->ptr[k] = scratch + n->places[k].offset;
    memset(w->row, 0, (size_t)n->nacc * 8);
    forget_lists(w);
    move_to_row(w, 0);
    run_steps(w, &n->once);
    return w;
}
static walk *start(job *j, int worker) { return start_nest(j, j->n, worker); }

/* Executes all stages for the current rows. */
static void run_stages(walk *w) {
    const nest *n = w->n;
    for (int s = 0; s < n->nstages; s++) {
        run_steps(w, &n->row[s]);
        if (!n->body[s].len) continue;
        for (int k = 0; k < n->nred; k++) reduction_start(w, &n->red[k]);
        for (int64_t i0 = 0; i0 < n->I.total; i0 += n->C) {
            w->i0 = i0;
            set_counts(w, w->r, n->I.total - i0 < n->C ? n->I.total - i0 : n->C);
            if (n->C < n->I.total) move_to_block(w);
            run_body(w, s, n->C < n->I.total || !s);
        }
        w->i0 = 0;
        set_counts(w, w->r, n->C);
    }
    run_steps(w, &n->row[n->nstages]);
}

static kept_walk *keep_walk(const tc_block *b, const nest *n) {
    const size_t table = (size_t)n->nplaces * sizeof(void *), rows = (size_t)n->nacc * sizeof(int64_t);
    kept_walk *k = tc_xcalloc(1, sizeof *k + table + rows + (size_t)n->nmoving * sizeof(kept_address));
    k->w = (walk){.b = b, .n = n, .ptr = (void **)(k + 1), .row = (int64_t *)((char *)(k + 1) + table)};
    k->at = (kept_address *)((char *)(k + 1) + table + rows);
    for (int i = 0; i < n->nmoving; i++) {
        const place *p = &n->places[n->moving[i]];
        if (p->kind == P_MEM) k->at[k->n++] = (kept_address){n->moving[i], n->acc[p->acc].buffer, n->acc[p->acc].at.base * ((int64_t)1 << p->shift)};
    }
    return k;
}

/* A nest of a single block. */
static void run_single(nest *n, const job *j) {
    if (!n->kept) n->kept = keep_walk(j->b, n);
    walk *w = &n->kept->w;
    w->data = j->data, w->fault = j->fault;
    if (w->scratch != j->scratch) {
        w->scratch = j->scratch;
        for (int k = 0; k < n->nplaces; k++) w->ptr[k] = w->scratch + n->places[k].offset;
    }
    for (const kept_address *at = n->kept->at, *end = at + n->kept->n; at < end; at++) w->ptr[at->place] = (char *)w->data[at->buffer] + at->offset;
    set_counts(w, n->R, n->C);
    forget_lists(w);
    run_steps(w, &n->once);
    run_stages(w);
}

static void run_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    job *j = ctx;
    walk *w = start(j, worker);
    for (int64_t k = begin; k < end; k++) {
        move_to_row(w, k * j->n->R);
        run_stages(w);
    }
}

/* Tasks of a nest without reductions: one for each block. */
static void run_blocks(void *ctx, int64_t begin, int64_t end, int worker) {
    job *j = ctx;
    const nest *n = j->n;
    walk *w = start(j, worker);
    int64_t cols = (n->I.total + n->C - 1) / n->C, row = -1;
    for (int64_t k = begin; k < end; k++) {
        if (k / cols != row) {
            row = k / cols;
            move_to_row(w, row * n->R);
            run_steps(w, &n->row[0]);
        }
        w->i0 = k % cols * n->C;
        set_counts(w, w->r, n->I.total - w->i0 < n->C ? n->I.total - w->i0 : n->C);
        move_to_block(w);
        run_body(w, 0, true);
    }
}

/* ---- few long rows or columns, in chunks (nest.chunked) ---- */
typedef struct {
    job *j;
    int64_t o; /* first row */
    int stage;
    char *parts, *shared; /* results of reductions: [chunk][reduction], and merged [reduction], each part_bytes */
} chunk_job;

/* Every worker executes the row steps up to a stage itself. */
static walk *chunk_start(chunk_job *wj, int worker, int stage) {
    walk *w = start(wj->j, worker);
    w->shared = wj->shared;
    w->skip_row_stores = worker != 0;
    if (w->o0 != wj->o || w->stage < 0) {
        move_to_row(w, wj->o);
        w->stage = 0;
    }
    w->i0 = 0;
    set_counts(w, w->r, w->n->C);
    for (; w->stage <= stage; w->stage++) run_steps(w, &w->n->row[w->stage]);
    return w;
}

static void run_chunks(void *ctx, int64_t begin, int64_t end, int worker) {
    chunk_job *wj = ctx;
    walk *w = chunk_start(wj, worker, wj->stage);
    const nest *n = w->n;
    const steps *finish = &n->row[wj->stage + 1];
    for (int64_t k = begin; k < end; k++) {
        int64_t first = k * n->chunk, last = first + n->chunk < n->I.total ? first + n->chunk : n->I.total;
        for (int r = 0; r < n->nred; r++) reduction_start(w, &n->red[r]);
        for (int64_t i0 = first; i0 < last; i0 += n->C) {
            w->i0 = i0;
            set_counts(w, w->r, last - i0 < n->C ? last - i0 : n->C);
            move_to_block(w);
            run_body(w, wj->stage, true);
        }
        w->i0 = first;
        for (size_t f = 0; f < finish->len; f++)
            if (finish->data[f].kind == S_FINISH)
                export_part(w, &finish->data[f], wj->parts + (size_t)(k * n->nred + finish->data[f].aux) * part_bytes(n));
    }
    w->i0 = 0;
    set_counts(w, w->r, n->C);
}

static void run_chunked(job *j, tc_pool *pool, int workers) {
    const nest *n = j->n;
    const int64_t chunks = chunk_count(n);
    const size_t part = part_bytes(n);
    chunk_job wj = {.j = j, .parts = j->scratch + n->partial};
    wj.shared = wj.parts + (size_t)(chunks * n->nred) * part;
    for (wj.o = 0; wj.o < n->O.total; wj.o += n->R) {
        for (int k = 0; k < workers; k++) j->walks[k].stage = -1;
        for (wj.stage = 0; wj.stage < n->nstages; wj.stage++) {
            if (n->body[wj.stage].len) tc_parallel_for(pool, chunks, 1, run_chunks, &wj);
            walk *w = chunk_start(&wj, 0, wj.stage);
            const steps *finish = &n->row[wj.stage + 1];
            for (size_t f = 0; f < finish->len; f++) {
                const size_t at = (size_t)finish->data[f].aux * part;
                if (finish->data[f].kind == S_FINISH) merge_parts(w, &finish->data[f], wj.parts + at, chunks, (size_t)n->nred * part, wj.shared + at);
            }
        }
        chunk_start(&wj, 0, n->nstages);
    }
}

/* ---- regions ---- */
static void run_region(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    job *j = ctx;
    const bool whole = j->b->nnests > 1 && nc == j->n->I.total;
    walk *w = start_nest(j, j->n + whole, worker);
    const nest *n = w->n;
    for (int64_t o = r0; o < r0 + nr; o += n->R) {
        int64_t r = r0 + nr - o < n->R ? r0 + nr - o : n->R;
        move_to_row(w, o);
        set_counts(w, r, n->C);
        run_steps(w, &n->row[0]);
        for (w->i0 = c0; w->i0 < c0 + nc; w->i0 += n->C) {
            set_counts(w, r, c0 + nc - w->i0 < n->C ? c0 + nc - w->i0 : n->C);
            move_to_block(w);
            run_steps(w, &n->body[0]);
        }
        w->i0 = 0;
    }
}

static void run_half_region(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    const job *j = ctx;
    (void)worker;
    j->b->isa->half_rows(&j->half, r0, nr, c0, nc);
}

static size_t one_region_scratch(const tc_block *b, int workers) {
    return tc_pad64(sizeof(job)) + tc_pad64((size_t)workers * sizeof(walk)) + tc_pad64((size_t)workers * b->scratch);
}
size_t tc_block_region_scratch(const tc_block *b, int workers) {
    return one_region_scratch(b, workers) + (b->rest ? tc_block_region_scratch(b->rest->block, workers) : 0);
}

static tc_status evaluate_hosts(nest *n, const tc_symvalue *vars, size_t nvars) {
    if (!n->hosts) return NULL;
    for (int k = 0; k < n->ncon; k++) {
        constant *c = &n->con[k];
        if (!c->host) continue;
        tc_symvalue v;
        TC_TRY(tc_sym_eval(c->host, vars, nvars, &v));
        tc_scalar s = tc_sym_type(c->host) == TC_SYM_FLOAT ? tc_scalar_float(v.f) : tc_scalar_int(v.i);
        tc_scalar_store(c->dtype, c->bytes, 0, s);
    }
    return NULL;
}

tc_status tc_block_run(tc_block *b, const tc_block_args *args, void *temps, tc_pool *pool) {
    void *table[64];
    int workers = tc_pool_threads(pool);
    walk some[8];
    walk *walks = workers <= 8 ? some : tc_xcalloc((size_t)workers, sizeof *walks);
    void *const *all = args->data;
    void **own = NULL;
    if (b->temps) {
        own = b->nbuffers <= 64 ? table : tc_xcalloc((size_t)b->nbuffers, sizeof *own);
        for (int k = 0; k < b->nbuffers; k++) own[k] = b->temp_offset[k] == SIZE_MAX ? args->data[k] : (char *)temps + b->temp_offset[k];
        all = own;
    }
    tc_status st = NULL;
    for (int k = 0; k < b->nnests && !st; k++) {
        nest *n = &b->nests[k];
        st = evaluate_hosts(n, args->vars, args->nvars);
        if (st) break;
        job j = {.b = b, .n = n, .data = all, .scratch = args->scratch, .fault = args->fault, .walks = walks};
        if (n->single_block) {
            run_single(n, &j);
            continue;
        }
        for (int i = 0; i < workers; i++) walks[i].n = NULL;
        tc_range_fn fn = n->reduces ? run_rows : run_blocks;
        if (n->chunked && workers > 1) {
            run_chunked(&j, pool, workers);
            continue;
        }
        if (n->items <= n->grain) {
            if (n->items) fn(&j, 0, n->items, 0);
        } else tc_parallel_for(pool, n->items, n->grain, fn, &j);
    }
    if (own != table) free(own);
    if (walks != some) free(walks);
    return st;
}

tc_status tc_block_regions(tc_block *b, const tc_block_args *args, const void *result, int workers, tc_epilogue *out) {
    job *j = args->scratch;
    walk *walks = (walk *)((char *)args->scratch + tc_pad64(sizeof *j));
    *out = (tc_epilogue){0};
    if (!b->nnests) return NULL; /* stores nothing */
    for (int k = 0; k < b->nnests; k++) TC_TRY(evaluate_hosts(&b->nests[k], args->vars, args->nvars));
    for (int i = 0; i < workers; i++) walks[i].n = NULL;
    *j = (job){.b = b, .n = b->nests, .data = args->data, .fault = args->fault, .walks = walks};
    j->scratch = (char *)walks + tc_pad64((size_t)workers * sizeof *walks);
    if (b->plain.half) j->half = half_regions(b, args->data);
    *out = (tc_epilogue){b->plain.half ? run_half_region : run_region, j, plain_regions(b, args->data, result, &j->plain) ? &j->plain : NULL, NULL};
    if (!out->plain || !b->rest) return NULL;
    out->rest = &j->rest;
    tc_block_args rest = *args;
    rest.scratch = (char *)args->scratch + one_region_scratch(b, workers);
    return tc_block_regions(b->rest->block, &rest, result, workers, &j->rest);
}

/* ---- tiles ---- */
static void run_tile(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *tile, int worker) {
    job *j = ctx;
    void **data = j->tile_data + (size_t)worker * (size_t)j->b->nbuffers;
    const tc_loop *l = j->b->schedule->loop;
    for (int k = 0; k < j->b->nbuffers; k++) /* where element 0 of the operand would be */
        if (l->buffers.data[k].written || l->buffers.data[k].replaced)
            data[k] = (void *)((uintptr_t)tile - (uintptr_t)(r0 * TC_TILE_COLUMNS + c0) * tc_dtype_size(l->buffers.data[k].dtype));
    run_region(j, r0, nr, c0, nc, worker);
}
static size_t tile_tables(const tc_block *b, int workers) { return tc_pad64((size_t)workers * (size_t)b->nbuffers * sizeof(void *)); }
size_t tc_block_tiles_scratch(const tc_block *b, int workers) { return one_region_scratch(b, workers) + tile_tables(b, workers); }
tc_status tc_block_tiles(tc_block *b, const tc_block_args *args, int workers, tc_tiles *out) {
    void **tables = args->scratch;
    tc_block_args behind = *args;
    tc_epilogue regions;
    behind.scratch = (char *)args->scratch + tile_tables(b, workers);
    TC_TRY(tc_block_regions(b, &behind, NULL, workers, &regions));
    for (int w = 0; w < workers; w++) memcpy(tables + (size_t)w * (size_t)b->nbuffers, args->data, (size_t)b->nbuffers * sizeof *args->data);
    job *j = regions.ctx;
    if (j) j->tile_data = tables;
    out->fn = j ? run_tile : NULL, out->ctx = j;
    return NULL;
}
