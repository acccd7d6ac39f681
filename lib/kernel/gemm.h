/* Matrix products in the order of NUMERICS 5: c[i, j] = sum over k of a[i, k] b[k, j], where leaf l is an ascending fma chain from
 * +0 over k in [256 l, 256 l + 256) and leaves merge by the tree. Convolutions are the same product with operands that are
 * addressed by offsets and with absent terms.
 *
 *     a   rows of the left operand: a[i * a_rs + (a_k ? a_k[k] : k * a_cs)]
 *     b   b[(b_k ? b_k[k] : k * b_rs) + j * b_cs]
 *     c   c[i * c_rs + j * c_cs]
 *     seg the k that are present, ascending, not overlapping; NULL: all. A leaf without present k is absent from the tree.
 *
 * One job is computed by any number of threads with the same bits: only rows and columns are split. */
#ifndef TC_KERNEL_GEMM_H
#define TC_KERNEL_GEMM_H

#include "kernel/narrow.h"

typedef struct {
    int64_t k, n;
} tc_gemm_seg; /* k .. k + n - 1 are present */

typedef struct {
    /* TC_F32, TC_F64; TC_BF16 where the row has gemm_bf16: of a and b, summed in float32 in one chain in the order of the instruction; no offset
     * tables, no seg */
    tc_dtype dtype;
    bool rounded; /* of TC_BF16: c and add are bfloat16, c rounded last; else float32 */
    int64_t m, n, k;
    const void *a, *b;
    int64_t a_rs, a_cs, b_rs, b_cs;
    const int64_t *a_k, *b_k;
    const tc_gemm_seg *seg;
    int nseg;
    void *c;
    int64_t c_rs, c_cs;
    /* c = alpha * product + beta * add: product * alpha is rounded, then fma(beta, add, .); no factor of 1 is applied.
     * add NULL: none. add is read at add[i * add_rs + j * add_cs]. */
    double alpha, beta;
    const void *add;
    int64_t add_rs, add_cs;
    const tc_epilogue *epilogue; /* or NULL; regions are rows row0 + i and columns j */
    int64_t row0;
    bool swapped;         /* by tc_gemm_run: rows and columns have changed places, the epilogue's have not */
    const void *packed;   /* b as tc_gemm_pack or, in packed_type, tc_gemm_pack_as wrote it, or NULL */
    tc_dtype packed_type; /* a narrow type or TC_I8: the panels are of it, and float32 where they are due; any other: of dtype */
    /* Not 0: packed_type is TC_U8, two columns a byte, low bits first nr / 2, of four bits q that mean fma(q - 8, scale, zero), a scale and a zero for
     * `group` k of a column, which divides 256 and k. A panel is, for each group, nr scales and nr zeros of scale_type and group x nr / 2 bytes. */
    int64_t group;
    tc_dtype scale_type;
    int64_t second_cache;         /* by tc_gemm_run: the instruction set's */
    int64_t task_cols, task_rows; /* columns and rows of the result that a thread takes at once, about; 0: as is decided from sizes */
} tc_gemm;

static inline bool tc_gemm_widens(const tc_gemm *j) {
    return j->packed && j->dtype == TC_F32 && (j->group || j->packed_type == TC_I8 || tc_is_narrow(j->packed_type));
}
/* Bytes of k elements of a panel of nr columns; groups are whole. */
static inline int64_t tc_gemm_panel_bytes(const tc_gemm *j, int nr, int64_t k) {
    if (!j->group) return k * nr * (int64_t)tc_dtype_size(j->packed_type);
    return k * nr / 2 + k / j->group * 2 * nr * (int64_t)tc_dtype_size(j->scale_type);
}

/* Bytes of scratch that tc_gemm_run needs for jobs of this size, with so many threads. A smaller job may need more. packed: b will be. */
size_t tc_gemm_scratch(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, bool packed, int threads);
/* The same, enough for every job of at most these sizes whose b is not packed. */
size_t tc_gemm_scratch_most(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, int threads);
/* The right operand as tiles read it, for products that have it in common. Only b, n and k of the job are read. */
size_t tc_gemm_packed_bytes(const tc_isa_ops *isa, tc_dtype dtype, int64_t n, int64_t k);
void tc_gemm_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out);
/* The panels of float32 with elements of packed_type, which b has; no groups. */
void tc_gemm_pack_as(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out);
/* "columns" and "rows": what task_cols and task_rows may be, of a product of these sizes; how many knobs. */
int tc_gemm_knobs(int64_t m, int64_t n, tc_knob *out);
/* Runs `count` jobs, splitting over jobs, columns and rows. make writes job i; it is called from any thread. */
void tc_gemm_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, int64_t count, void (*make)(void *ctx, int64_t i, tc_gemm *out_job), void *ctx);

/* ---- per instruction set ---- */
enum { TC_GEMM_MC = 224, TC_GEMM_NC = 512 }; /* rows and columns of a block, as a rule */
/* Up to so many rows packing ahead of time earns 5 %: an element costs what some 40 rows do (measured). */
enum { TC_GEMM_PACK_ROWS = 800 };
/* Rows [r0, r0 + nr), columns [c0, c0 + nc) of a job, nr <= TC_GEMM_MC; work is private to the caller and as large as work_bytes(nr, nc, k).
 * packed: the columns' panels of all k from pack (see there), or NULL: packed as they are due. */
typedef struct tc_gemm_ops {
    int mr, nr;
    size_t (*work_bytes)(int64_t nr, int64_t nc, int64_t k);
    void (*block)(const tc_gemm *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker);
    /* panels of nr columns, [panel][k][nr]: present k first, columns padded with zeros; pack_bytes(nc, k), in proportion to panels */
    size_t (*pack_bytes)(int64_t nc, int64_t k);
    void (*pack)(const tc_gemm *job, int64_t c0, int64_t nc, void *out);
} tc_gemm_ops;
/* Tells what follows that a region of a job is finished. */
static inline void tc_gemm_finished(const tc_gemm *j, const tc_epilogue *then, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    if (!then) return;
    if (j->swapped) then->fn(then->ctx, j->row0 + c0, nc, r0, nr, worker);
    else then->fn(then->ctx, j->row0 + r0, nr, c0, nc, worker);
}
#endif
