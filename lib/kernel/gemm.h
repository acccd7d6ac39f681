/* Matrix products with a fixed order of summation (tc-numerics(7)): c[i, j] = sum over k of a[i, k] b[k, j]. k is cut into leaves of 256;
 * a leaf is a chain of fma over ascending k that begins at +0, and the sums of the leaves are merged by the tree of kernel/tree.h.
 * Convolutions are the same product, with operands addressed through tables of offsets and with k that are absent (taps in the padding).
 *
 *     a   element (i, k): a[i * a_rs + (a_k ? a_k[k] : k * a_cs)]
 *     b   element (k, j): b[(b_k ? b_k[k] : k * b_rs) + j * b_cs]
 *     c   element (i, j): c[i * c_rs + j * c_cs]
 *     segments the ranges of k that are present, ascending, not overlapping; NULL: all. A leaf with no k present is left out of the tree.
 *
 * Strides and offsets are in elements. Threads split rows and columns only, never k, so the bits do not depend on their number. */
#ifndef TC_KERNEL_GEMM_H
#define TC_KERNEL_GEMM_H

#include "kernel/narrow.h"

/* The range [k, k + n) is present. */
typedef struct {
    int64_t k, n;
} tc_gemm_segment;

typedef struct {
    /* Of a and b: TC_F32, TC_F64, or, where the instruction set has gemm_bf16, TC_BF16. Products of bfloat16 are summed in float32, in the order of
     * the instruction (gemm_bf16.isa.c), without leaves; they take neither offset tables nor segments. */
    tc_dtype dtype;
    bool rounded; /* TC_BF16 only: c and add are bfloat16 too, and results are rounded last; false: c and add are float32 */
    int64_t m, n, k;
    const void *a, *b;
    int64_t a_rs, a_cs, b_rs, b_cs;
    const int64_t *a_k, *b_k;
    const tc_gemm_segment *segments;
    int nsegments;
    void *c;
    int64_t c_rs, c_cs;
    /* c = alpha * product + beta * add, computed as fma(beta, add, alpha * product); a factor of 1 is not applied. add is read at
     * add[i * add_rs + j * add_cs]; NULL: nothing is added. */
    double alpha, beta;
    const void *add;
    int64_t add_rs, add_cs;
    const tc_epilogue *epilogue; /* or NULL; called with rows row0 + i and columns j */
    int64_t row0;
    bool swapped;         /* set by tc_gemm_run: the product is computed transposed; the epilogue still sees rows and columns of the original */
    const void *packed;   /* b in packed panels, as tc_gemm_pack or tc_gemm_pack_as wrote them, or NULL */
    tc_dtype packed_type; /* element type of the panels: a 16-bit float or TC_I8 is widened to float32 panel by panel; any other: panels of dtype */
    /* Quantised weights of four bits, where not 0: packed_type is TC_U8, and q means the weight fma(q - 8, scale, zero), with one scale and one zero
     * for `group` consecutive k of a column; group divides 256 and k. A panel of nr columns is, for each group of k: nr scales, nr zeros (both of
     * scale_type), then [group][nr / 2] bytes: byte i holds column i in its low and column nr / 2 + i in its high four bits. */
    int64_t group;
    tc_dtype scale_type;
    int64_t l2_bytes;             /* set by tc_gemm_run: tc_isa_ops.l2_bytes */
    int64_t task_cols, task_rows; /* tuning: about so many columns and rows of c are one task of a thread; 0: chosen from the sizes */
} tc_gemm;

/* Are the panels of b widened to float32 before use? */
static inline bool tc_gemm_widens(const tc_gemm *j) {
    return j->packed && j->dtype == TC_F32 && (j->group || j->packed_type == TC_I8 || tc_is_narrow(j->packed_type));
}
/* Bytes of the first k rows of a panel of nr columns, of packed_type; where b has groups, k is a multiple of the group. */
static inline int64_t tc_gemm_panel_bytes(const tc_gemm *j, int nr, int64_t k) {
    if (!j->group) return k * nr * (int64_t)tc_dtype_size(j->packed_type);
    return k * nr / 2 + k / j->group * 2 * nr * (int64_t)tc_dtype_size(j->scale_type);
}

/* Bytes of scratch that tc_gemm_run needs for jobs of exactly this size on so many threads: a smaller job may need more, as it is blocked
 * otherwise. packed: the jobs' `packed` will be set. */
size_t tc_gemm_scratch(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, bool packed, int threads);
/* An upper bound for every job of at most these sizes whose b is not packed. */
size_t tc_gemm_scratch_most(const tc_isa_ops *isa, tc_dtype dtype, int64_t m, int64_t n, int64_t k, int threads);
/* Packs b once for all products that share it. Only b (pointer, strides, offset table), segments, n and k of the job are read; out is tc_gemm.packed. */
size_t tc_gemm_packed_bytes(const tc_isa_ops *isa, tc_dtype dtype, int64_t n, int64_t k);
void tc_gemm_pack(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out);
/* The same for products of float32 whose b has elements of packed_type: they keep that type. Not for groups (weight_only.c packs those). */
void tc_gemm_pack_as(const tc_isa_ops *isa, tc_pool *pool, const tc_gemm *job, void *out);
/* The tuning knobs "columns" and "rows": values of task_cols and task_rows that fit an m x n result. Returns how many knobs were written. */
int tc_gemm_knobs(int64_t m, int64_t n, tc_knob *out);
/* Runs `count` jobs of equal sizes, split over jobs, columns and rows. make(ctx, i) writes job i; any thread may call it, more than once. */
void tc_gemm_run(const tc_isa_ops *isa, tc_pool *pool, void *scratch, int64_t count, void (*make)(void *ctx, int64_t i, tc_gemm *out_job), void *ctx);
void tc_gemm_run_one(const tc_isa_ops *isa, tc_pool *pool, void *scratch, const tc_gemm *job);

/* ---- per instruction set ---- */
enum { TC_GEMM_MC = 224, TC_GEMM_NC = 512 }; /* rows and columns of a block: at most MC rows; NC is what other kernels plan with */
/* Packing weights ahead of time saves at least 5 % up to this number of rows: packing an element costs what some 40 rows do with it (measured). */
enum { TC_GEMM_PACK_ROWS = 800 };
typedef struct tc_gemm_ops {
    int mr, nr; /* rows and columns of a register tile */
    int rows;   /* of a block, at most, a multiple of mr; tuning may choose up to TC_GEMM_MC */
    /* block computes rows [r0, r0 + nr), columns [c0, c0 + nc) of c, nr <= TC_GEMM_MC. work: work_bytes(nr, nc, k) bytes of the caller's own.
     * packed: the panels of these columns, for all k, or NULL: b is packed, or read in place, as the block goes. */
    size_t (*work_bytes)(int64_t nr, int64_t nc, int64_t k);
    void (*block)(const tc_gemm *job, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *work, const void *packed, int worker);
    /* pack writes columns [c0, c0 + nc) of b as panels of nr columns, [panel][k][nr]: only the k that are present, missing columns of the last
     * panel as zeros. pack_bytes is proportional to the number of panels. */
    size_t (*pack_bytes)(int64_t nc, int64_t k);
    void (*pack)(const tc_gemm *job, int64_t c0, int64_t nc, void *out);
} tc_gemm_ops;
/* Calls the epilogue `then`, if there is one, for a finished region of c. */
static inline void tc_gemm_finished(const tc_gemm *j, const tc_epilogue *then, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker) {
    if (!then) return;
    if (j->swapped) then->fn(then->ctx, j->row0 + c0, nc, r0, nr, worker);
    else then->fn(then->ctx, j->row0 + r0, nr, c0, nc, worker);
}
#endif
