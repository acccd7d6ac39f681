/* Matrix products as kernels (matmul.h): reads the arguments as strided operands and picks the product: floats by gemm.h, 16-bit floats after widening,
 * float32 from rounded operands where --fp32-precision allows it (fp32_precision.h), integers by gemm_int.h, int8 by gemm_i8.h. */
#include "kernel/matmul.h"

#include <string.h>

#include "base/ints.h"
#include "kernel/fp32_precision.h"
#include "kernel/gemm_external.h"
#include "kernel/gemm_i8.h"
#include "kernel/isa.h"
#include "kernel/narrow.h"

/* One operand as a batch of matrices: element (b, i, j) is data[b * bs + i * rs + j * cs], strides in elements; 0 along a broadcast dimension. data NULL:
 * no operand. */
typedef struct {
    const void *data;
    int64_t bs, rs, cs, batch, rows, cols;
} operand;
typedef struct {
    tc_dtype dtype, factor; /* dtype: of add and the result; factor: of a and b as the product reads them */
    int64_t batch, m, n, k;
    operand a, b, add;
    double alpha, beta;
    tc_scalar ialpha, ibeta;
    const tc_epilogue *epilogue;
    const void *packed; /* b, packed; only where batch is 1 */
    tc_dtype packed_type;
    const int64_t *knob;
} product;

/* rows, cols: the dimensions of t that are rows and columns; of a 3-D tensor dimension 0 is the batch. */
static operand matrix(const tc_tensor *t, int rows, int cols) {
    operand o = {t->storage ? tc_tensor_data(t) : NULL, .batch = t->rank == 3 ? t->size[0] : 1, .rows = t->size[rows], .cols = t->size[cols]};
    if (t->rank == 3) o.bs = t->size[0] == 1 ? 0 : t->stride[0];
    o.rs = t->size[rows] == 1 ? 0 : t->stride[rows];
    o.cs = t->size[cols] == 1 ? 0 : t->stride[cols];
    return o;
}
/* `self` of addmm and baddbmm, broadcast to batch x m x n. */
static operand broadcast(const tc_tensor *t, int64_t batch, int64_t m, int64_t n) {
    operand o = {tc_tensor_data(t), .batch = batch, .rows = m, .cols = n};
    int r = t->rank;
    if (r >= 1 && t->size[r - 1] != 1) o.cs = t->stride[r - 1];
    if (r >= 2 && t->size[r - 2] != 1) o.rs = t->stride[r - 2];
    if (r >= 3 && t->size[r - 3] != 1) o.bs = t->stride[r - 3];
    return o;
}

/* The type that a product of d computes with: narrow floats become float32 where the instruction set has no product for them. */
static tc_dtype work_type(const tc_isa_ops *isa, tc_dtype d) { return tc_is_narrow(d) && !(d == TC_BF16 && isa->gemm_bf16) ? TC_F32 : d; }

/* ---- floats ---- */
typedef struct {
    const product *p;
    void *c;
} jobs;
static void make_job(void *ctx, int64_t i, tc_gemm *out) {
    const jobs *js = ctx;
    const product *p = js->p;
    const int64_t e = (int64_t)tc_dtype_size(p->dtype), f = (int64_t)tc_dtype_size(p->factor);
    *out = (tc_gemm){.dtype = p->factor,
                     .rounded = p->dtype == TC_BF16,
                     .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .a = (const char *)p->a.data + i * p->a.bs * f,
                     .b = (const char *)p->b.data + i * p->b.bs * f,
                     .a_rs = p->a.rs,
                     .a_cs = p->a.cs,
                     .b_rs = p->b.rs,
                     .b_cs = p->b.cs,
                     .c = (char *)js->c + i * p->m * p->n * e,
                     .c_rs = p->n,
                     .c_cs = 1,
                     .alpha = p->alpha,
                     .beta = p->beta,
                     .epilogue = p->epilogue,
                     .row0 = i * p->m,
                     .packed = p->packed,
                     .packed_type = p->packed_type,
                     .task_cols = p->knob ? p->knob[0] : 0,
                     .task_rows = p->knob ? p->knob[1] : 0,
                     .add_rs = p->add.rs,
                     .add_cs = p->add.cs};
    if (p->add.data) out->add = (const char *)p->add.data + i * p->add.bs * e;
}

/* Replaces an operand of a narrow type by a float32 copy at *at, which is advanced. The copy keeps the order of memory (rows or columns contiguous). */
static void widen(const tc_isa_ops *isa, tc_pool *pool, tc_dtype d, operand *o, char **at) {
    float *out = (float *)*at;
    if (!o->data) return;
    const int64_t batch = o->bs ? o->batch : 1, rows = o->rs ? o->rows : 1, cols = o->cs ? o->cols : 1; /* as stored: once where it broadcasts */
    const bool transposed = o->rs == 1 && o->cs != 1;
    tc_widen(isa, pool, d, o->data, (const int64_t[]){1, batch, transposed ? cols : rows, transposed ? rows : cols},
             (const int64_t[]){0, o->bs, transposed ? o->cs : o->rs, transposed ? o->rs : o->cs}, out);
    o->data = out, o->bs = o->bs ? rows * cols : 0, o->rs = !o->rs ? 0 : transposed ? 1 : cols, o->cs = !o->cs ? 0 : transposed ? rows : 1;
    *at += (size_t)(batch * rows * cols) * 4;
}

/* ---- float32 from rounded operands ---- */
static tc_fp32 precision(const tc_kcall *c, const product *p) { return p->dtype == TC_F32 ? c->numerics.matmul : TC_FP32_IEEE; }
static tc_dtype factor_type(const tc_kcall *c, tc_fp32 mode) { return tc_rounded_type(mode, c->isa->gemm_bf16 != NULL); }
/* Replaces an operand by its rounded copy (fp32_precision.h) at *at, which is advanced. k runs along the columns of the left operand, along the rows of the
 * right one. */
static void round_factor(const tc_kcall *c, tc_fp32 mode, operand *o, bool left, char **at) {
    const int64_t parts = tc_rounded_parts(mode);
    const tc_dtype type = factor_type(c, mode);
    const bool transposed = o->rs == 1 && o->cs != 1; /* the copy keeps the order of memory */
    tc_rounded_operand f = {o->data, o->bs ? o->batch : 1, o->rows, o->cols, o->bs, o->rs, o->cs, left, left != transposed};
    if (transposed) f.rows = o->cols, f.cols = o->rows, f.rs = o->cs, f.cs = 1;
    tc_round_operand(c->isa, c->pool, mode, type, &f, *at);
    const int64_t line = f.along ? parts * f.cols : f.cols;
    o->data = *at, o->bs = o->bs ? parts * o->rows * o->cols : 0, o->rs = transposed ? 1 : line, o->cs = transposed ? line : 1;
    *at += tc_pad64((size_t)(f.batch * parts * o->rows * o->cols) * tc_dtype_size(type));
}
static size_t factor_bytes(const tc_kcall *c, tc_fp32 mode, int64_t n) {
    return tc_pad64((size_t)(n * tc_rounded_parts(mode)) * tc_dtype_size(factor_type(c, mode)));
}

/* ---- few rows: b is widened a window of columns at a time, which stays in L2 until it is used, instead of as a whole ---- */
enum { FEW_ROWS = 16, WINDOW_BYTES = 256 << 10 };
static bool uses_windows(const product *p, bool packed) { return p->m <= FEW_ROWS && !packed; }
/* Columns of a window: as WINDOW_BYTES allow, but no fewer than make reads of 1 KiB, and no more than give every thread a window. */
static int64_t window_cols(const product *p, int threads) {
    const int64_t fit = WINDOW_BYTES / 4 / (p->k + 1) / 32 * 32, least = p->b.cs == 1 ? 512 : 32, w = fit < least ? least : fit,
                  share = (p->batch * p->n / threads + 31) / 32 * 32, most = share && share < p->n ? share : p->n;
    return w < most ? w : most;
}
static size_t window_bytes(const tc_isa_ops *isa, const product *p, int64_t w) {
    return tc_pad64((size_t)(p->k * w) * 4) + tc_pad64(tc_gemm_scratch_most(isa, TC_F32, p->m, w, p->k, 1));
}
typedef struct {
    const tc_kcall *c;
    const product *p; /* a and add are float32 already, b is not */
    tc_dtype dtype;   /* of b */
    float *out;
    char *scratch;
    const tc_epilogue *epilogue;
    int64_t cols; /* window_cols */
} windows;
static void run_windows(void *ctx, int64_t begin, int64_t end, int worker) {
    const windows *x = ctx;
    const product *p = x->p;
    const int64_t w = x->cols, each = (p->n + w - 1) / w;
    for (int64_t t = begin; t < end; t++) {
        const int64_t i = t / each, c0 = t % each * w, n = p->n - c0 < w ? p->n - c0 : w;
        char *buffer = x->scratch + window_bytes(x->c->isa, p, w) * (size_t)worker, *rest = buffer;
        operand b = p->b;
        b.data = (const char *)b.data + (i * b.bs + c0 * b.cs) * 2;
        b.batch = 1, b.cols = n;
        widen(x->c->isa, NULL, x->dtype, &b, &rest);
        tc_gemm j;
        make_job(&(jobs){p, x->out}, i, &j);
        j.n = n, j.b = b.data, j.b_rs = b.rs, j.b_cs = b.cs, j.c = (float *)j.c + c0, j.epilogue = NULL;
        if (j.add) j.add = (const float *)j.add + c0 * j.add_cs;
        tc_gemm_run_one(x->c->isa, NULL, buffer + tc_pad64((size_t)(p->k * n) * 4), &j);
        x->epilogue->fn(x->epilogue->ctx, i * p->m, p->m, c0, n, worker);
    }
}

/* ---- integers ---- */
typedef struct {
    const product *p;
    char *c;
    tc_gemm_int_fn block;
    int64_t rows, cols; /* how many blocks down and across a matrix */
    const tc_epilogue *epilogue;
} int_blocks;
static void run_int_blocks(void *ctx, int64_t begin, int64_t end, int worker) {
    const int_blocks *x = ctx;
    const product *p = x->p;
    int64_t e = (int64_t)tc_dtype_size(p->dtype);
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / (x->rows * x->cols), r0 = t / x->cols % x->rows * TC_GEMM_INT_ROWS, c0 = t % x->cols * TC_GEMM_INT_COLS;
        int64_t nr = p->m - r0 < TC_GEMM_INT_ROWS ? p->m - r0 : TC_GEMM_INT_ROWS, nc = p->n - c0 < TC_GEMM_INT_COLS ? p->n - c0 : TC_GEMM_INT_COLS;
        tc_gemm_int j = {.m = p->m,
                         .n = p->n,
                         .k = p->k,
                         .a = (const char *)p->a.data + i * p->a.bs * e,
                         .b = (const char *)p->b.data + i * p->b.bs * e,
                         .a_rs = p->a.rs,
                         .a_cs = p->a.cs,
                         .b_rs = p->b.rs,
                         .b_cs = p->b.cs,
                         .add_rs = p->add.rs,
                         .add_cs = p->add.cs,
                         .c = x->c + i * p->m * p->n * e,
                         .alpha = (uint64_t)tc_scalar_to_int(p->ialpha),
                         .beta = (uint64_t)tc_scalar_to_int(p->ibeta)};
        if (p->add.data && j.beta) j.add = (const char *)p->add.data + i * p->add.bs * e;
        x->block(&j, r0, nr, c0, nc);
        if (x->epilogue) x->epilogue->fn(x->epilogue->ctx, i * p->m + r0, nr, c0, nc, worker);
    }
}
static void integers(const tc_kcall *c, const product *p, void *out) {
    int bytes = (int)tc_dtype_size(p->dtype);
    int_blocks x = {p,
                    out,
                    c->isa->gemm_int[bytes == 8 ? 3 : bytes / 2],
                    (p->m + TC_GEMM_INT_ROWS - 1) / TC_GEMM_INT_ROWS,
                    (p->n + TC_GEMM_INT_COLS - 1) / TC_GEMM_INT_COLS,
                    c->epilogue};
    int64_t all = p->batch * x.rows * x.cols;
    tc_parallel_for(c->pool, all, 1 + 64 / (p->k + 1), run_int_blocks, &x);
}

/* ---- arguments ---- */
enum { MM, BMM, ADDMM, BADDBMM };
enum { EXTERNAL = 2 }; /* number of the knob after those of tc_gemm_knobs */
static product read_args(const tc_kcall *c, int form) {
    int first = form == ADDMM || form == BADDBMM;
    const tc_tensor *a = tc_k_tensor(c, first), *b = tc_k_tensor(c, first + 1);
    product p = {.dtype = a->dtype, .batch = 1, .alpha = 1, .beta = 1, .ialpha = tc_scalar_int(1), .ibeta = tc_scalar_int(1)};
    if (first) { p.beta = tc_k_float(c, 3), p.alpha = tc_k_float(c, 4), p.ibeta = c->args[3].num, p.ialpha = c->args[4].num; }
    const int at = form == BMM || form == BADDBMM; /* of the rows */
    if (at) p.batch = a->size[0];
    p.m = a->size[at], p.k = a->size[at + 1], p.n = b->size[at + 1];
    p.a = matrix(a, at, at + 1), p.b = matrix(b, at, at + 1);
    if (first && p.beta != 0) p.add = broadcast(tc_k_tensor(c, 0), p.batch, p.m, p.n);
    return p;
}

static size_t scratch_of(const tc_kcall *c, int threads, int form) {
    product p = read_args(c, form);
    if (!tc_is_float(p.dtype)) return 0;
    const tc_fp32 mode = precision(c, &p);
    if (mode)
        return tc_gemm_scratch(c->isa, factor_type(c, mode), p.m, p.n, p.k * tc_rounded_parts(mode), c->packed != NULL, threads) +
               factor_bytes(c, mode, p.batch * p.m * p.k) + (c->packed ? 0 : factor_bytes(c, mode, p.batch * p.k * p.n)) + 64;
    tc_dtype work = work_type(c->isa, p.dtype);
    if (work != p.dtype && uses_windows(&p, c->packed))
        return 4 * (size_t)(p.batch * (2 * p.m * p.n + p.m * p.k)) + window_bytes(c->isa, &p, window_cols(&p, threads)) * (size_t)threads + 256;
    size_t n = tc_gemm_scratch(c->isa, work, p.m, p.n, p.k, c->packed != NULL, threads);
    if (work != p.dtype) n += 4 * (size_t)(p.batch * (2 * p.m * p.n + p.m * p.k + (c->packed ? 0 : p.k * p.n))) + 256;
    return n;
}
static tc_status run_of(tc_kcall *c, int form) {
    product p = read_args(c, form);
    void *out = tc_tensor_data(&c->outs[0]);
    if (tc_is_complex(p.dtype)) return tc_error(TC_UNSUPPORTED, "matrix product of %s is not supported", tc_dtypes[p.dtype].torch);
    if (!tc_is_float(p.dtype)) {
        integers(c, &p, out);
        return NULL;
    }
    jobs js = {&p, out};
    char *scratch = c->scratch;
    const tc_dtype d = p.dtype, work = work_type(c->isa, d);
    const tc_fp32 mode = precision(c, &p);
    tc_narrowing round = {c->isa, d, NULL, out, p.n, c->epilogue};
    tc_epilogue rounds = {tc_narrow_region, &round};
    p.epilogue = c->epilogue, p.packed = c->packed, p.packed_type = d, p.knob = c->knob, p.factor = d;
    if (mode) {
        round_factor(c, mode, &p.a, true, &scratch);
        if (!c->packed) round_factor(c, mode, &p.b, false, &scratch);
        p.k *= tc_rounded_parts(mode), p.factor = p.packed_type = factor_type(c, mode);
    } else if (work != d) {
        widen(c->isa, c->pool, d, &p.a, &scratch);
        const bool few = uses_windows(&p, c->packed);
        if (!c->packed && !few) widen(c->isa, c->pool, d, &p.b, &scratch);
        widen(c->isa, c->pool, d, &p.add, &scratch);
        round.wide = js.c = scratch, scratch += 4 * (size_t)(p.batch * p.m * p.n);
        p.dtype = p.factor = work;
        p.epilogue = &rounds;
        if (few) {
            windows x = {c, &p, d, js.c, tc_align64(scratch), &rounds, window_cols(&p, tc_pool_threads(c->pool))};
            if (p.n) tc_parallel_for(c->pool, p.batch * ((p.n + x.cols - 1) / x.cols), 1, run_windows, &x);
            return NULL;
        }
    }
    bool done = false;
    if (d == TC_F32 && !mode && c->knob[EXTERNAL]) TC_TRY(tc_gemm_external_run(c->knob[EXTERNAL], c->pool, p.batch, make_job, &js, &done));
    if (done) return NULL;
    tc_gemm_run(c->isa, c->pool, scratch, p.batch, make_job, &js);
    return NULL;
}

static int knobs_of(const tc_kcall *c, tc_knob *out, int form) {
    const product p = read_args(c, form);
    if (!tc_is_float(p.dtype)) return 0;
    const int n = tc_gemm_knobs(p.m, p.n, out);
    if (p.dtype != TC_F32 || precision(c, &p)) return n;
    out[EXTERNAL] = tc_gemm_external_knob();
    return EXTERNAL + 1;
}

/* ---- packing b ahead of time (tc_kernel.pack) ---- */
/* Panels of rounded operands. The columns of one panel at a time are rounded into a buffer behind the panels, and packed from there. */
static int64_t panel_cols(const tc_kcall *c, tc_dtype d) { return (d == TC_BF16 ? c->isa->gemm_bf16 : c->isa->gemm_f32)->nr; }
static size_t rounded_panels(const tc_kcall *c, tc_fp32 mode, const product *p) {
    return tc_pad64(tc_gemm_packed_bytes(c->isa, factor_type(c, mode), p->n, p->k * tc_rounded_parts(mode)));
}
static void pack_rounded(const tc_kcall *c, tc_fp32 mode, const product *p, char *out) {
    const tc_dtype d = factor_type(c, mode);
    const int64_t nr = panel_cols(c, d), k = p->k * tc_rounded_parts(mode);
    char *const buffer = out + rounded_panels(c, mode, p);
    for (int64_t c0 = 0; c0 < p->n; c0 += nr, out += tc_gemm_packed_bytes(c->isa, d, nr, k)) {
        const int64_t n = p->n - c0 < nr ? p->n - c0 : nr;
        operand b = p->b;
        char *at = buffer;
        b.data = (const float *)b.data + c0 * b.cs, b.cols = n;
        round_factor(c, mode, &b, false, &at);
        tc_gemm_pack(c->isa, c->pool, &(tc_gemm){.dtype = d, .n = n, .k = k, .b = b.data, .b_rs = b.rs, .b_cs = b.cs, .packed_type = d}, out);
    }
}
static size_t pack_bytes(const tc_kcall *c, int form, int arg, int *out_arg) {
    product p = read_args(c, form);
    const tc_fp32 mode = precision(c, &p);
    *out_arg = arg;
    if (mode && p.n >= 16 && p.k >= 16) return rounded_panels(c, mode, &p) + factor_bytes(c, mode, p.k * panel_cols(c, factor_type(c, mode)));
    if (!mode && c->knob[EXTERNAL]) return 0; /* an external product reads weights in place */
    if (!tc_is_float(p.dtype) || (!tc_is_narrow(p.dtype) && p.m > TC_GEMM_PACK_ROWS) || p.n < 16 || p.k < 16) return 0;
    const tc_dtype work = work_type(c->isa, p.dtype);
    return tc_gemm_packed_bytes(c->isa, work, p.n, p.k) / tc_dtype_size(work) * tc_dtype_size(p.dtype);
}
static void pack_form(const tc_kcall *c, int form, void *out) {
    product p = read_args(c, form);
    const tc_fp32 mode = precision(c, &p);
    if (mode) {
        pack_rounded(c, mode, &p, out);
        return;
    }
    tc_gemm j = {.dtype = p.dtype, .n = p.n, .k = p.k, .b = p.b.data, .b_rs = p.b.rs, .b_cs = p.b.cs, .packed_type = p.dtype};
    /* panels of a narrow type stay narrow: half the memory of float32, and half the bytes to read for a product of one row */
    (work_type(c->isa, p.dtype) != p.dtype ? tc_gemm_pack_as : tc_gemm_pack)(c->isa, c->pool, &j, out);
}
#define PACKS(id, FORM, arg)                                                                                     \
    static size_t pack_bytes_##id(const tc_kcall *c, int *out_arg) { return pack_bytes(c, FORM, arg, out_arg); } \
    static void pack_##id(const tc_kcall *c, void *out) { pack_form(c, FORM, out); }
PACKS(mm, MM, 1)
PACKS(addmm, ADDMM, 2)

/* ---- int8 with int32 sums ---- */
static tc_gemm_i8 int_mm_job(const tc_kcall *c) {
    const tc_tensor *a = tc_k_tensor(c, 0), *b = tc_k_tensor(c, 1);
    operand x = matrix(a, 0, 1), y = matrix(b, 0, 1);
    return (tc_gemm_i8){.m = a->size[0],
                        .n = b->size[1],
                        .k = a->size[1],
                        .a = x.data,
                        .b = y.data,
                        .a_rs = x.rs,
                        .a_cs = x.cs,
                        .b_rs = y.rs,
                        .b_cs = y.cs,
                        .packed = c->packed,
                        .epilogue = c->epilogue};
}
static size_t scratch_int_mm(const tc_kcall *c, int threads) {
    return tc_gemm_i8_scratch(c->isa, tc_k_tensor(c, 1)->size[1], tc_k_tensor(c, 1)->size[0], c->packed != NULL, threads);
}
static tc_status run_int_mm(tc_kcall *c) {
    tc_gemm_i8 j = int_mm_job(c);
    j.c = tc_tensor_data(&c->outs[0]);
    tc_gemm_i8_run(c->isa, c->pool, c->scratch, &j);
    return NULL;
}
static size_t pack_bytes_int_mm(const tc_kcall *c, int *out_arg) {
    const tc_tensor *b = tc_k_tensor(c, 1);
    *out_arg = 1;
    return b->size[0] < 16 || b->size[1] < 16 ? 0 : tc_gemm_i8_packed_bytes(c->isa, b->size[1], b->size[0]);
}
static void pack_int_mm(const tc_kcall *c, void *out) {
    tc_gemm_i8 j = int_mm_job(c);
    tc_gemm_i8_pack(c->isa, c->pool, &j, out);
}
const tc_kernel tc_k_int_mm = {"int_mm", TC_KF_EPILOGUE, run_int_mm, scratch_int_mm, pack_bytes_int_mm, pack_int_mm, .row_dims = -1};

/* ---- grouped products (_grouped_mm). Group g spans [offs[g - 1], offs[g]) of
 *        GROUP_ROWS      the rows of self [M, K];       mat2 is [G, K, N]
 *        GROUP_COLUMNS   the columns of mat2 [K, N];    self is [G, M, K]
 *        GROUP_INNER     k of self [M, K], mat2 [K, N]; the result is a matrix for each group
 *      What lies beyond the last group is 0. ---- */
typedef enum { GROUP_ROWS, GROUP_COLUMNS, GROUP_INNER, GROUP_BATCH /* both 3-D, no offs */ } grouping;
typedef struct {
    grouping form;
    product p; /* the whole matrices, which bound each group's */
    int64_t groups;
} groups;
static groups read_groups(const tc_kcall *c) {
    const tc_tensor *a = tc_k_tensor(c, 0), *b = tc_k_tensor(c, 1);
    const int ra = a->rank == 3, rb = b->rank == 3;
    static const grouping forms[2][2] = {{GROUP_INNER, GROUP_ROWS}, {GROUP_COLUMNS, GROUP_BATCH}};
    groups g = {.form = forms[ra][rb], .groups = ra ? a->size[0] : rb ? b->size[0] : tc_k_tensor(c, 2)->size[0]};
    g.p = (product){.dtype = a->dtype, .batch = 1, .m = a->size[ra], .k = a->size[ra + 1], .n = b->size[rb + 1], .alpha = 1, .beta = 1};
    g.p.a = matrix(a, ra, ra + 1), g.p.b = matrix(b, rb, rb + 1);
    return g;
}
static int64_t end_of_group(const tc_tensor *offs, int64_t i) { /* int32 or int64 */
    const void *at = tc_tensor_data(offs);
    i *= offs->stride[0];
    return offs->dtype == TC_I64 ? ((const int64_t *)at)[i] : ((const int32_t *)at)[i];
}
/* Offsets come from a tensor: they must ascend and stay inside the matrices. */
static tc_status check_groups(const groups *g, const tc_tensor *offs) {
    const int64_t most = g->form == GROUP_ROWS ? g->p.m : g->form == GROUP_COLUMNS ? g->p.n : g->p.k;
    for (int64_t i = 0, begin = 0, end; i < g->groups; begin = end, i++) {
        end = end_of_group(offs, i);
        if (end < begin || end > most)
            return tc_error(TC_CONTENT, "offs[%lld] = %lld, expected %lld to %lld", (long long)i, (long long)end, (long long)begin, (long long)most);
    }
    return NULL;
}
/* The job of group i, which spans [begin, end). c: the whole result, rows of n elements. */
static tc_gemm group_job(const groups *g, int64_t i, int64_t begin, int64_t end, char *c) {
    const product *p = &g->p;
    const int64_t e = (int64_t)tc_dtype_size(p->dtype);
    const int64_t rows = g->form == GROUP_ROWS ? begin : 0, cols = g->form == GROUP_COLUMNS ? begin : 0, k = g->form == GROUP_INNER ? begin : 0;
    return (tc_gemm){.dtype = p->dtype,
                     .rounded = p->dtype == TC_BF16,
                     .m = g->form == GROUP_ROWS ? end - begin : p->m,
                     .n = g->form == GROUP_COLUMNS ? end - begin : p->n,
                     .k = g->form == GROUP_INNER ? end - begin : p->k,
                     .a = (const char *)p->a.data + (i * p->a.bs + rows * p->a.rs + k * p->a.cs) * e,
                     .b = (const char *)p->b.data + (i * p->b.bs + k * p->b.rs + cols * p->b.cs) * e,
                     .a_rs = p->a.rs,
                     .a_cs = p->a.cs,
                     .b_rs = p->b.rs,
                     .b_cs = p->b.cs,
                     .c = c + ((g->form >= GROUP_INNER ? i * p->m * p->n : 0) + rows * p->n + cols) * e,
                     .c_rs = p->n,
                     .c_cs = 1,
                     .alpha = 1,
                     .beta = 1};
}
static size_t scratch_grouped(const tc_kcall *c, int threads) {
    const groups g = read_groups(c);
    const product *p = &g.p;
    const tc_dtype work = work_type(c->isa, p->dtype);
    size_t most = tc_gemm_scratch_most(c->isa, work, p->m, p->n, p->k, threads);
    if (work != p->dtype)
        most += 4 * (size_t)(tc_tensor_numel(&c->outs[0]) + tc_tensor_numel(tc_k_tensor(c, 0)) + tc_tensor_numel(tc_k_tensor(c, 1))) + 256;
    return most;
}
static tc_status run_grouped(tc_kcall *c) {
    groups g = read_groups(c);
    product *p = &g.p;
    const tc_tensor *offs = tc_k_given(c, 2) ? tc_k_tensor(c, 2) : NULL;
    const int64_t all = tc_tensor_numel(&c->outs[0]);
    const tc_dtype d = p->dtype, work = work_type(c->isa, d);
    char *scratch = c->scratch, *out = tc_tensor_data(&c->outs[0]);
    if (offs) TC_TRY(check_groups(&g, offs));
    if (work != d) {
        widen(c->isa, c->pool, d, &p->a, &scratch);
        widen(c->isa, c->pool, d, &p->b, &scratch);
        out = scratch, scratch += 4 * (size_t)all;
    }
    p->dtype = work;
    memset(out, 0, (size_t)all * tc_dtype_size(work));
    for (int64_t i = 0, begin = 0, end = 0; i < g.groups; begin = end, i++) {
        if (offs) end = end_of_group(offs, i);
        tc_gemm j = group_job(&g, i, begin, end, out);
        if (j.k) tc_gemm_run_one(c->isa, c->pool, scratch, &j);
    }
    if (work != d) c->isa->cast[TC_F32][d](tc_tensor_data(&c->outs[0]), out, all);
    return NULL;
}
const tc_kernel tc_k_grouped_mm = {"grouped_mm", 0, run_grouped, scratch_grouped};

#define KERNEL(id, FORM, kflags, ...)                                                                   \
    static tc_status run_##id(tc_kcall *c) { return run_of(c, FORM); }                                  \
    static size_t scratch_##id(const tc_kcall *c, int threads) { return scratch_of(c, threads, FORM); } \
    static int knobs_##id(const tc_kcall *c, tc_knob *out) { return knobs_of(c, out, FORM); }           \
    const tc_kernel tc_k_##id = {#id, kflags, run_##id, scratch_##id, __VA_ARGS__, .knobs = knobs_##id};
KERNEL(mm, MM, TC_KF_EPILOGUE, pack_bytes_mm, pack_mm, .row_dims = -1)
KERNEL(bmm, BMM, TC_KF_EPILOGUE, NULL, NULL, .row_dims = -1)
KERNEL(addmm, ADDMM, TC_KF_EPILOGUE, pack_bytes_addmm, pack_addmm, .row_dims = -1)
KERNEL(baddbmm, BADDBMM, TC_KF_EPILOGUE, NULL, NULL, .row_dims = -1)
