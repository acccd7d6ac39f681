/* Writes the C of one group (emit.h) from the schedule that emit_plan.c makes.
 *
 *     static void g0_softmax_0(void *ctx, int64_t begin, int64_t end, int worker) {     phase 0, items [begin, end)
 *         for each item: values of the item; then each nest:
 *             loops around; values of the row; pointers; loop over a block: loads, operations, stores or a reduction's block
 *     }
 *     static void g0_softmax(const tc_abi_call *c) { phases in order, in parallel when the caller can }
 *
 * emit_block.c writes the loop over a block. */
#include "codegen/emit_write.h"
#include "kernel/tree.h"

/* ---- where values are computed: per item, per column, per row ---- */
static bool at_item(const emitter *e, size_t v) { return !(e->ph->mask[v] & ~e->ph->par) && !(e->ph->columns && e->ph->mask[v] >> e->ph->vec & 1); }
bool emit_varies(const emitter *e, size_t v) { return e->t->inner >= 0 && e->ph->mask[v] >> e->t->inner & 1; }

void emit_mark(emitter *e, tc_lv v) {
    if (v == TC_LV_NONE) return;
    e->in_nest[v] = true;
    for (tc_lv i = v; i >= 0; i--) {
        if (!e->in_nest[i] || e->at[i] == AT_ITEM || e->at[i] == AT_KEPT || e->at[i] == AT_ARRAY) continue;
        tc_lv ops[TC_LOOP_OPERANDS];
        int n = emit_operands(e, i, ops);
        for (int k = 0; k < n; k++) e->in_nest[ops[k]] = true;
    }
}

/* Values that are constant within an item: computed once, before its nests. */
static void write_item_values(emitter *e) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!e->in_nest[i] || e->at[i] != AT_NONE || !at_item(e, i)) continue;
        emit_declare(e, (tc_lv)i, false);
        e->at[i] = AT_ITEM;
    }
}

/* Does a column value that takes two operations or more, such as where(isinf(m), 0, m), enter values that change from row to row? */
static bool enters_rows(const emitter *e, size_t v) {
    const cphase *ph = e->ph;
    const tc_linst *inst = e->l->inst.data;
    bool chain = false, read = false;
    tc_lv ops[TC_LOOP_OPERANDS];
    if (inst[v].kind != TC_L_SCALAR || inst[v].dtype == TC_BOOL) return false;
    for (int k = emit_operands(e, (tc_lv)v, ops) - 1; k >= 0; k--)
        chain |= inst[ops[k]].kind == TC_L_SCALAR && !ph->mat[ops[k]] && emit_varies(e, (size_t)ops[k]);
    for (size_t i = v + 1; chain && !read && i < e->l->inst.len; i++) {
        if (!e->in_nest[i] || !(ph->mask[i] & ~ph->par)) continue;
        for (int k = emit_operands(e, (tc_lv)i, ops) - 1; k >= 0; k--) read |= ops[k] == (tc_lv)v;
    }
    return read;
}

/* Column values that the surrounding loops do not change and that are expensive or kept: an array filled before the loops. */
static void write_column_values(emitter *e) {
    const cphase *ph = e->ph;
    if (!ph->columns || !(e->t->outer | e->t->over)) return;
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->in_nest[i] || e->at[i] != AT_NONE || !emit_varies(e, i) || ph->mask[i] & ~ph->par) continue;
        if (!cx_heavy(in) && !ph->mat[i] && !enters_rows(e, i)) continue;
        bool *saved = TC_NEWN(e->p->a, bool, e->l->inst.len + 1);
        memcpy(saved, e->in_nest, e->l->inst.len * sizeof *saved);
        memset(e->in_nest, 0, e->l->inst.len * sizeof *saved);
        emit_mark(e, (tc_lv)i);
        if (!ph->mat[i]) emit_line(e, "%s t%zu[%d];", emit_type(in), i, ph->block);
        for (size_t k = 0; k < i; k++)
            if (e->in_nest[k] && e->at[k] == AT_NONE && emit_plain_load(&e->l->inst.data[k]))
                emit_line(e, "const %s *const x%zu = b%d + %s;", emit_ctype(e->l->buffers.data[e->l->inst.data[k].buffer].dtype), k,
                          e->l->inst.data[k].buffer, cx_text(e->p, emit_address(e, &e->p->inst_access[k], emit_ranges(e), false)));
        emit_line(e, "%s for (int64_t i = 0; i < m; i++) {", ph->few ? "TC_IVDEP_ROLLED" : "TC_IVDEP");
        emit_open(e);
        for (size_t k = 0; k <= i; k++) {
            if (!e->in_nest[k] || e->at[k] != AT_NONE) continue;
            emit_declare(e, (tc_lv)k, true);
            e->at[k] = AT_INNER;
        }
        emit_line(e, ph->mat[i] ? "m%zu[i] = v%zu;" : "t%zu[i] = v%zu;", i, i);
        emit_close(e);
        for (size_t k = 0; k < i; k++)
            if (e->at[k] == AT_INNER) e->at[k] = AT_NONE;
        e->at[i] = ph->mat[i] ? AT_KEPT : AT_ARRAY;
        memcpy(e->in_nest, saved, e->l->inst.len * sizeof *saved);
    }
}

/* Values that are constant along the inner range, and pointers to the row. */
static void write_row(emitter *e) {
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (!e->in_nest[i] || e->at[i] != AT_NONE || emit_varies(e, i)) continue;
        emit_declare(e, (tc_lv)i, false);
        e->at[i] = AT_ROW;
    }
}
static void write_pointers(emitter *e) {
    emit_lanes(e);
    emit_repeated(e, REPEAT_BLOCK);
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const tc_linst *in = &e->l->inst.data[i];
        if (!e->in_nest[i] || e->at[i] != AT_NONE || !emit_plain_load(in)) continue;
        emit_line(e, "const %s *const x%zu = b%d + %s;", emit_ctype(e->l->buffers.data[in->buffer].dtype), i, in->buffer,
                  cx_text(e->p, emit_address(e, &e->p->inst_access[i], emit_ranges(e), false)));
    }
    for (int k = 0; e->t->kind == NEST_STORE && k < e->t->n; k++) {
        int s = e->t->item[k], b = e->l->stores.data[s].buffer;
        emit_line(e, "%s *const y%d = b%d + %s;", emit_ctype(e->l->buffers.data[b].dtype), s, b,
                  cx_text(e->p, emit_address(e, &e->p->store_access[s], emit_ranges(e), false)));
    }
}

/* ---- loops ---- */
static int open_loops(emitter *e, uint64_t set) {
    int n = 0;
    for (int axis = 0; axis < 64; axis++) /* by first axis: row-major */
        for (int r = 0; r < e->ph->nr; r++) {
            if (!(set >> r & 1) || e->ph->range[r].axis[0] != axis) continue;
            emit_line(e, "for (int64_t i%d = 0; i%d < n%d; i%d++) {", r, r, r, r);
            emit_open(e);
            n++;
        }
    return n;
}
static void close_loops(emitter *e, int n) {
    while (n-- > 0) emit_close(e);
}
static uint64_t bit(int r) { return r < 0 ? 0 : UINT64_C(1) << r; }

/* ---- nests ---- */
/* A block of a reduction whose blocks start at multiples of 256 (emit_aligned): in pieces of one leaf, between which later blocks are prefetched. */
static void write_pieces(emitter *e) {
    bool idle = emit_idle_block(e);
    if (idle && !emit_each_piece(e)) {
        emit_prefetch(e, "0", "m");
        emit_flush_rows(e, FLUSH_ALL, "", "m");
        return;
    }
    emit_line(e, "for (int64_t p = 0, q; p < m; p = q) {");
    emit_open(e);
    emit_line(e, "q = m - p < 256 ? m : p + 256;");
    emit_prefetch(e, "p", "q");
    if (!idle) emit_block(e, "p", "q");
    emit_flush_rows(e, idle ? FLUSH_ALL : FLUSH_PIECES, " + p", "q - p");
    emit_close(e);
    if (!idle) emit_flush_rows(e, FLUSH_BLOCKS, "", "m");
}
/* Does each row go into the array of emit_row_room elements as a whole? (Where rows are reduced in place, gcc is better off without a constant: it
 * unrolls the reduction of a short one instead of vectorising it.) */
static bool whole_rows(const emitter *e, bool fills) {
    const cexpr n = e->ph->range[e->t->inner].extent;
    return fills && n.is_const && n.v && n.v <= EMIT_BLOCK && !(emit_row_room(e) % n.v);
}
/* The loops over the blocks of a row. fills: rows follow each other in arrays of emit_row_room elements, `fill` of which there are. */
static void write_rows(emitter *e, bool fills) {
    int inner = e->t->inner;
    bool reduces = e->t->kind == NEST_REDUCE;
    if (inner < 0) {
        emit_line(e, "{");
        emit_open(e);
        emit_line(e, "const int64_t m = 1;");
    } else if (whole_rows(e, fills)) {
        emit_line(e, "{");
        emit_open(e);
        emit_line(e, "const int64_t k0 = 0, m = n%d;", inner);
    } else {
        const char *room = T(e, fills ? "%d - fill" : "%d", fills ? emit_row_room(e) : EMIT_BLOCK);
        emit_line(e, "for (int64_t k0 = 0, m; k0 < n%d; k0 += m) {", inner);
        emit_open(e);
        emit_line(e, "m = n%d - k0 < %s ? n%d - k0 : %s;", inner, room, inner, room);
    }
    write_pointers(e);
    if (reduces && emit_aligned(e)) {
        write_pieces(e);
    } else {
        emit_block(e, "0", "m");
        if (reduces) {
            emit_line(e, "fill += m;");
            emit_line(e, "if (fill == %d) {", emit_row_room(e));
            emit_open(e);
            emit_flush_rows(e, FLUSH_ALL, "", "fill");
            emit_line(e, "fill = 0;");
            emit_close(e);
        }
    }
    emit_close(e);
}
static void write_row_reduction(emitter *e) {
    const cnest *t = e->t;
    for (int k = 0; k < t->n; k++) emit_begin_rows(e, t->item[k]);
    if (!emit_aligned(e)) emit_line(e, "int64_t fill = 0;");
    int n = open_loops(e, t->over & ~bit(t->inner));
    write_row(e);
    write_rows(e, !emit_aligned(e));
    close_loops(e, n);
    if (!emit_aligned(e)) {
        emit_line(e, "if (fill) {");
        emit_open(e);
        emit_flush_rows(e, FLUSH_ALL, "", "fill");
        emit_close(e);
    }
    for (int k = 0; k < t->n; k++) emit_keep(e, t->item[k], emit_row_result(e, t->item[k]));
}

static void write_column_block(emitter *e) {
    write_pointers(e);
    emit_prefetch_columns(e);
    emit_block(e, "0", "m");
}

/* Marks what the nest computes: all that its stores, reductions and scans need and that is not yet known. */
static void mark_nest(emitter *e, const cnest *t) {
    memset(e->in_nest, 0, e->l->inst.len * sizeof *e->in_nest);
    for (int k = 0; k < t->n; k++) {
        emit_mark(e, t->kind == NEST_STORE ? e->l->stores.data[t->item[k]].value : e->l->inst.data[t->item[k]].a[0]);
        if (t->kind == NEST_STORE) emit_mark(e, e->l->stores.data[t->item[k]].pred);
    }
    for (int k = 0; k < t->nscans; k++) emit_mark(e, e->l->inst.data[t->scan[k]].a[0]);
}

static void write_nest(emitter *e, const cnest *t) {
    const cphase *ph = e->ph;
    static const char *const what[] = {"reduce", "scan", "store"};
    e->t = t;
    memset(e->segment, 0, e->l->inst.len * sizeof *e->segment);
    for (size_t i = 0; i < e->l->inst.len; i++)
        if (ph->repeat[i]) e->at[i] = AT_ARRAY;
    mark_nest(e, t);
    write_item_values(e);
    write_column_values(e);
    mark_nest(e, t);
    emit_line(e, "{ /* %s */", what[t->kind]);
    emit_open(e);
    int outer = open_loops(e, t->outer & ~t->over & ~bit(t->inner));
    if (t->kind != NEST_REDUCE) {
        for (int k = 0; t->kind == NEST_SCAN && k < t->n; k++) emit_begin_scan(e, t->item[k]);
        for (int k = 0; k < t->nscans; k++) emit_begin_scan(e, t->scan[k]);
        outer += open_loops(e, t->over & ~bit(t->inner));
        write_row(e);
        if (ph->columns) write_column_block(e);
        else write_rows(e, false);
    } else if (ph->columns) {
        bool tree = emit_any_tree(e);
        for (int k = 0; k < t->n; k++) emit_begin_columns(e, t->item[k]);
        emit_line(e, "int64_t at = 0;");
        if (tree) emit_line(e, "int64_t leaves = 0;");
        int n = open_loops(e, t->over);
        write_row(e);
        write_column_block(e);
        emit_line(e, "at++;");
        if (tree) {
            emit_line(e, "if ((at & 255) == 0) {");
            emit_open(e);
            emit_fold_columns(e, false);
            emit_line(e, "leaves++;");
            emit_close(e);
        }
        close_loops(e, n);
        if (tree) {
            emit_line(e, "if (at & 255) {");
            emit_open(e);
            emit_fold_columns(e, true);
            emit_line(e, "leaves++;");
            emit_close(e);
        }
        for (int k = 0; k < t->n; k++) emit_end_columns(e, t->item[k]);
    } else {
        write_row_reduction(e);
    }
    close_loops(e, outer);
    emit_close(e);
    for (int k = 0; k < t->n && t->kind != NEST_STORE; k++) e->at[t->item[k]] = AT_KEPT;
    for (size_t i = 0; i < e->l->inst.len; i++) /* row values go out of scope with their loops; column arrays live outside */
        if (e->at[i] == AT_ROW) e->at[i] = AT_NONE;
    e->t = NULL;
}

/* ---- phases ---- */
static bool has_word(const char *text, const char *w) {
    size_t n = strlen(w);
    for (const char *at = text; (at = strstr(at, w)); at += n) {
        char before = at == text ? ' ' : at[-1], after = at[n];
        bool in = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9') || before == '_' ||
                  before == '.';
        bool out = (after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') || (after >= '0' && after <= '9') || after == '_';
        if (!in && !out) return true;
    }
    return false;
}

static cexpr product(emitter *e, uint64_t set) {
    cexpr n = cx_int(1);
    for (int r = 0; r < e->ph->nr; r++)
        if (set >> r & 1) n = cx_mul(e->p, n, e->ph->range[r].extent.is_const ? e->ph->range[r].extent : (cexpr){.s = T(e, "n%d", r), .sym = NULL});
    return n;
}

/* Columns per block, as C text: a constant, or chosen at run time. */
static const char *width(emitter *e) { return e->ph->wide ? "width" : T(e, "%d", e->ph->block); }
static void write_width(emitter *e) {
    if (!e->ph->wide) return;
    uint64_t others = e->ph->par & emit_ranges(e) & ~bit(e->ph->vec);
    emit_line(e, "const int64_t width = tc_width(c, %s, n%d, %d);", cx_text(e->p, product(e, others)), e->ph->vec, e->ph->block);
}

/* Declares the extents and numbers that the text `body` uses. */
static void declare_used(emitter *e, const char *body) {
    tc_buf ranges = {0}, *saved = e->b;
    int indent = e->indent;
    e->b = &ranges;
    for (int r = 0; r < e->ph->nr; r++)
        if (has_word(body, T(e, "n%d", r))) emit_line(e, "const int64_t n%d = %s;", r, cx_text(e->p, e->ph->range[r].extent));
    e->b = saved;
    e->indent = indent;
    const char *more = tc_buf_str(&ranges);
    for (int i = 0; i < e->l->naxes; i++)
        if (has_word(body, T(e, "e%d", i)) || has_word(more, T(e, "e%d", i))) emit_line(e, "const int64_t e%d = c->extents[%d];", i, i);
    for (int i = 0; i < e->p->d->nnumbers && i < 64; i++)
        if (has_word(body, T(e, "h%d", i)) && tc_sym_type(e->p->d->numbers[i]) == TC_SYM_INT)
            emit_line(e, "const int64_t h%d = c->numbers[%d].i;", i, i);
    tc_buf_puts(e->b, more);
    tc_buf_free(&ranges);
}

/* Writes body in braces, after the declarations that it uses. */
static void write_braces(emitter *e, const tc_buf *body) {
    e->indent = 1;
    emit_line(e, "{");
    e->indent = 2;
    declare_used(e, tc_buf_str(body));
    tc_buf_puts(e->b, tc_buf_str(body));
    e->indent = 1;
    emit_line(e, "}");
}

/* Bytes of scratch for instruction v's kept value, rounded up to 64, as C text. */
static const char *kept_bytes(emitter *e, size_t v) {
    cexpr n = product(e, e->ph->mask[v] & ~e->ph->par);
    if (e->ph->columns && e->ph->mask[v] >> e->ph->vec & 1) {
        const char *all = cx_text(e->p, e->ph->range[e->ph->vec].extent);
        n = cx_mul(e->p, n, (cexpr){.s = T(e, "(%s < %d ? %s : %d)", all, e->ph->block, all, e->ph->block)});
    }
    return T(e, "((%s) * (int64_t)sizeof(%s) + 63) / 64 * 64", cx_text(e->p, n), emit_type(&e->l->inst.data[v]));
}

static bool needs_scratch(const emitter *e) {
    for (size_t i = 0; i < e->l->inst.len; i++)
        if (e->ph->mat[i] == MAT_SCRATCH) return true;
    return false;
}

/* The ranges whose index tuples are the items of the phase. */
static uint64_t item_axes(const emitter *e) { return e->ph->par & emit_ranges(e) & ~(e->ph->columns ? bit(e->ph->vec) : 0); }

/* Declares the variables and column arrays for values that later nests of the phase read. */
static void write_kept(emitter *e) {
    const cphase *ph = e->ph;
    for (size_t i = 0; i < e->l->inst.len; i++) {
        const char *ty = emit_type(&e->l->inst.data[i]);
        if (ph->mat[i] == MAT_SCALAR && e->l->inst.data[i].kind != TC_L_REDUCE && e->l->inst.data[i].kind != TC_L_SCAN)
            ((mat_kind *)ph->mat)[i] = MAT_NONE; /* it is computed per item anyway */
        if (ph->mat[i] == MAT_SCALAR) emit_line(e, "%s m%zu;", ty, i);
        if (ph->mat[i] == MAT_COLUMNS) emit_line(e, "%s m%zu[%d];", ty, i, ph->block);
    }
}

/* One item, then the odometer step to the next (last index fastest). */
static void write_item(emitter *e, uint64_t par) {
    const cphase *ph = e->ph;
    int shown = 0, npar = __builtin_popcountll(par);
    if (ph->columns) {
        const char *w = width(e);
        if (ph->whole) emit_line(e, "const int64_t k0 = 0, m = n%d;", ph->vec);
        else emit_line(e, "const int64_t k0 = j * %s, m = n%d - k0 < %s ? n%d - k0 : %s;", w, ph->vec, w, ph->vec, w);
    }
    write_kept(e);
    emit_repeated(e, REPEAT_ITEM);
    for (int k = 0; k < ph->nnests; k++) write_nest(e, &ph->nest[k]);
    if (ph->columns) emit_line(e, "if (++j < blocks) continue;");
    if (ph->columns) emit_line(e, "j = 0;");
    for (int r = ph->nr - 1; r >= 0; r--) {
        if (!(par >> r & 1)) continue;
        if (++shown == npar) emit_line(e, "i%d++;", r);
        else {
            emit_line(e, "if (++i%d < n%d) continue;", r, r);
            emit_line(e, "i%d = 0;", r);
        }
    }
}

/* Declares the indices of the item `begin`. */
static void write_start(emitter *e, uint64_t par) {
    const cphase *ph = e->ph;
    int npar = __builtin_popcountll(par);
    if (ph->columns) {
        write_width(e);
        emit_line(e, "const int64_t blocks = (n%d + %s - 1) / %s;", ph->vec, width(e), width(e));
    }
    if (npar + ph->columns > 1) {
        emit_line(e, "int64_t rest = begin;");
        if (ph->columns) emit_line(e, "int64_t j = rest %% blocks;");
        if (ph->columns) emit_line(e, "rest /= blocks;");
        for (int r = ph->nr - 1, k = 0; r >= 0; r--) {
            if (!(par >> r & 1)) continue;
            if (++k == npar) emit_line(e, "int64_t i%d = rest;", r);
            else emit_line(e, "int64_t i%d = rest %% n%d;", r, r), emit_line(e, "rest /= n%d;", r);
        }
    } else if (ph->columns) {
        emit_line(e, "int64_t j = begin;");
    } else if (par) {
        emit_line(e, "int64_t i%d = begin;", __builtin_ctzll(par));
    }
}

/* Pointers into the worker's scratch. */
static void write_scratch(emitter *e) {
    emit_line(e, "char *scratch = (char *)c->scratch + worker * %s_bytes(c);", e->name);
    for (size_t i = 0; i < e->l->inst.len; i++) {
        if (e->ph->mat[i] != MAT_SCRATCH) continue;
        emit_line(e, "%s *const m%zu = (%s *)scratch;", emit_type(&e->l->inst.data[i]), i, emit_type(&e->l->inst.data[i]));
        emit_line(e, "scratch += %s;", kept_bytes(e, i));
    }
}

/* Declares the base addresses of the buffers that the text uses. */
static void write_buffers(emitter *e, const char *text) {
    for (size_t i = 0; i < e->l->buffers.len; i++) {
        if (!has_word(text, T(e, "b%zu", i))) continue;
        const char *ty = emit_ctype(e->l->buffers.data[i].dtype);
        bool w = e->l->buffers.data[i].written;
        emit_line(e, "%s%s *const b%zu = (%s%s *)c->buffers[%zu].data;", w ? "" : "const ", ty, i, w ? "" : "const ", ty, i);
    }
}

/* Nothing is stored: an axis of every store is known to be empty. */
static bool stores_nothing(const cphase *ph) {
    for (int r = 0; r < ph->nr; r++)
        if (ph->par >> r & 1 && ph->range[r].extent.is_const && !ph->range[r].extent.v) return true;
    return false;
}

/* Writes a phase as a function over a range of items. Its body is written first, then the declarations of what the body uses in front of it. */
static void write_phase(emitter *e, int index) {
    const bool scratch = needs_scratch(e);
    const uint64_t par = item_axes(e);
    tc_buf body = {0}, start = {0}, kept = {0}, once = {0}, all = {0}, *out = e->b;
    memset(e->at, 0, e->l->inst.len * sizeof *e->at);
    e->b = &body, e->indent = 2;
    write_item(e, par);
    e->b = &once, e->indent = 1;
    memset(e->at, 0, e->l->inst.len * sizeof *e->at); /* it stands in front of the items, where none of their values is known */
    emit_repeated(e, REPEAT_FUNCTION);
    e->b = &start;
    write_start(e, par);
    tc_buf_puts(&all, tc_buf_str(&once));
    tc_buf_puts(&all, tc_buf_str(&start));
    tc_buf_puts(&all, tc_buf_str(&body));
    e->b = &kept;
    if (scratch) write_scratch(e);

    e->b = out, e->indent = 0;
    emit_line(e, "static void %s_%d(void *ctx, int64_t begin, int64_t end, int worker) {", e->name, index);
    e->indent = 1;
    emit_line(e, "const tc_abi_call *const c = (const tc_abi_call *)ctx;");
    tc_buf_puts(&all, tc_buf_str(&kept));
    declare_used(e, tc_buf_str(&all));
    write_buffers(e, tc_buf_str(&all));
    tc_buf_puts(out, tc_buf_str(&kept));
    if (!scratch) emit_line(e, "(void)worker;");
    tc_buf_puts(out, tc_buf_str(&once));
    tc_buf_puts(out, tc_buf_str(&start));
    emit_line(e, "for (int64_t item = begin; item < end; item++) {");
    tc_buf_puts(out, tc_buf_str(&body));
    emit_line(e, "}");
    e->indent = 0;
    emit_line(e, "}");
    tc_buf_free(&once);
    tc_buf_free(&start);
    tc_buf_free(&body);
    tc_buf_free(&kept);
    tc_buf_free(&all);
    e->scratch |= scratch;
}

/* Writes NAME_scratch: the bytes that one worker needs, the maximum over phases. */
static void write_bytes(emitter *e, cphase *ph, int nph) {
    tc_buf *out = e->b, body = {0};
    emit_line(e, "__attribute__((unused)) static int64_t %s_bytes(const tc_abi_call *c) {", e->name);
    emit_line(e, "    int64_t most = 0;");
    for (int k = 0; k < nph; k++) {
        e->ph = &ph[k];
        if (!needs_scratch(e)) continue;
        body.len = 0;
        e->b = &body;
        e->indent = 2;
        emit_line(e, "int64_t bytes = 0;");
        for (size_t i = 0; i < e->l->inst.len; i++)
            if (e->ph->mat[i] == MAT_SCRATCH) emit_line(e, "bytes += %s;", kept_bytes(e, i));
        emit_line(e, "most = bytes > most ? bytes : most;");
        e->b = out;
        write_braces(e, &body);
    }
    e->indent = 0;
    emit_line(e, "    (void)c;");
    emit_line(e, "    return most;");
    emit_line(e, "}");
    emit_line(e, "__attribute__((unused)) static int64_t %s_scratch(const tc_abi_call *c) { return c->workers * %s_bytes(c); }", e->name, e->name);
    tc_buf_free(&body);
}

static void write_entry(emitter *e, cphase *ph, int nph) {
    tc_buf *out = e->b;
    emit_line(e, "static void %s(const tc_abi_call *c) {", e->name);
    emit_line(e, "    (void)c;");
    for (int k = 0; k < nph; k++) {
        if (stores_nothing(&ph[k])) continue;
        e->ph = &ph[k];
        uint64_t par = e->ph->par & emit_ranges(e) & ~(e->ph->columns ? bit(e->ph->vec) : 0);
        cexpr items = product(e, par), each = product(e, emit_ranges(e) & ~par & ~(e->ph->columns ? bit(e->ph->vec) : 0));
        tc_buf body = {0};
        e->b = &body;
        e->indent = 2;
        if (e->ph->columns) {
            const char *w = width(e);
            cexpr n = {.s = T(e, "((n%d + %s - 1) / %s)", e->ph->vec, w, w)};
            write_width(e);
            items = cx_mul(e->p, items, n);
            each = cx_mul(e->p, each, (cexpr){.s = T(e, "(n%d < %s ? n%d : %s)", e->ph->vec, w, e->ph->vec, w)});
        }
        emit_line(e, "tc_run_items(c, %s, %s, %s_%d);", cx_text(e->p, items), cx_text(e->p, each), e->name, k);
        e->b = out;
        write_braces(e, &body);
        tc_buf_free(&body);
    }
    e->indent = 0;
    emit_line(e, "}");
}

void tc_emit_comment(tc_buf *b, const char *s) {
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch < 0x20 || ch >= 0x7f) tc_buf_printf(b, "\\x%02X", ch);
        else if ((ch == '/' && s[1] == '*') || (ch == '*' && s[1] == '/') || (ch == '?' && s[1] == '?')) tc_buf_printf(b, "%c ", ch);
        else if (ch == '\\') tc_buf_puts(b, "\\\\ ");
        else tc_buf_putc(b, (char)ch);
    }
}

/* "softmax  gpt.py:31" and the line of the model's source, where the program carries it. */
static void write_head(emitter *e) {
    const tc_loop *l = e->l;
    int line_shown = -1;
    for (int i = 0; i < l->nnodes; i++) {
        const tc_node *n = l->nodes[i];
        tc_buf_puts(e->b, i ? " * " : "/* ");
        if (n->name) tc_emit_comment(e->b, n->name);
        if (n->source.file) {
            tc_buf_puts(e->b, "   ");
            tc_emit_comment(e->b, n->source.file);
            tc_buf_printf(e->b, ":%d", n->source.line);
            const tc_program *p = n->graph ? n->graph->program : NULL;
            if (p && p->source_text && p->source_file && !strcmp(p->source_file, n->source.file) && n->source.line != line_shown) {
                const char *s = p->source_text;
                for (int k = 1; s && k < n->source.line; k++) s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL;
                if (s) {
                    while (*s == ' ' || *s == '\t') s++;
                    const char *end = strchr(s, '\n');
                    tc_buf_puts(e->b, "   ");
                    tc_emit_comment(e->b, tc_arena_strndup(e->p->a, s, end ? (size_t)(end - s) : strlen(s)));
                }
                line_shown = n->source.line;
            }
        }
        tc_buf_putc(e->b, '\n');
    }
    tc_buf_puts(e->b, l->nnodes ? " */\n" : "");
}

tc_status tc_emit_group(const tc_loop *l, const tc_group_desc *d, const char *name, bool sanitize, tc_emitted *out) {
    tc_arena a = {0};
    cplan p;
    cphase *ph = NULL;
    int nph = 0;
    *out = (tc_emitted){0};
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].kind == TC_L_RAND) return tc_error(TC_UNSUPPORTED, "emitting C: random bits");
    tc_status st = emit_plan_init(&p, l, d, &a);
    if (!st) st = emit_plan_phases(&p, &ph, &nph);
    l = p.l;
    if (!st) {
        emitter e = {.p = &p, .l = l, .name = name, .b = &out->text, .sanitize = sanitize};
        e.at = TC_NEWN(&a, place, l->inst.len + 1);
        e.in_nest = TC_NEWN(&a, bool, l->inst.len + 1);
        e.segment = TC_NEWN(&a, int, l->inst.len + 1);
        write_head(&e);
        tc_buf phases = {0};
        e.b = &phases;
        for (int k = 0; k < nph && !e.st; k++) {
            e.ph = &ph[k];
            if (!stores_nothing(&ph[k])) write_phase(&e, k);
        }
        e.b = &out->text;
        e.indent = 0;
        if (e.scratch) write_bytes(&e, ph, nph);
        tc_buf_puts(&out->text, tc_buf_str(&phases));
        tc_buf_free(&phases);
        e.indent = 0;
        write_entry(&e, ph, nph);
        out->has_scratch = e.scratch;
        st = e.st;
    }
    if (st) tc_buf_free(&out->text);
    tc_arena_free(&a);
    return st;
}

/* Computes what the function that write_bytes emits would return. */
tc_status tc_emit_scratch(const tc_loop *l, const tc_group_desc *d, const int64_t *extents, int64_t *out_bytes) {
    tc_arena a = {0};
    cplan p;
    cphase *ph = NULL;
    int nph = 0;
    *out_bytes = 0;
    tc_status st = emit_plan_init(&p, l, d, &a);
    if (!st) st = emit_plan_phases(&p, &ph, &nph);
    l = p.l;
    for (int k = 0; k < nph; k++) {
        int64_t bytes = 0;
        for (size_t i = 0; i < l->inst.len; i++) {
            if (ph[k].mat[i] != MAT_SCRATCH) continue;
            const tc_linst *in = &l->inst.data[i];
            int64_t n =
                in->kind == TC_L_REDUCE && in->op == TC_R_WELFORD ? (int64_t)sizeof(tc_welford) : (int64_t)tc_dtype_size(tc_dtype_compute(in->dtype));
            for (int r = 0; r < ph[k].nr; r++)
                for (int x = 0; (ph[k].mask[i] & ~ph[k].par) >> r & 1 && x < ph[k].range[r].n; x++) n *= extents[ph[k].range[r].axis[x]];
            if (ph[k].columns && ph[k].mask[i] >> ph[k].vec & 1) {
                int64_t all = 1;
                for (int x = 0; x < ph[k].range[ph[k].vec].n; x++) all *= extents[ph[k].range[ph[k].vec].axis[x]];
                n *= all < ph[k].block ? all : ph[k].block;
            }
            bytes += (n + 63) / 64 * 64;
        }
        if (bytes > *out_bytes) *out_bytes = bytes;
    }
    tc_arena_free(&a);
    return st;
}
