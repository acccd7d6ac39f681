/* Kernels: the operators that are not expressed as loop IR (matrix product, convolution, attention, sort, scatter, random fill, ...).
 *
 * A kernel is freestanding C over strided tensors of known sizes. It allocates nothing and prints nothing: the executor passes results, scratch and
 * the thread pool in a tc_kcall. Code that depends on the instruction set stands in *.isa.c files, compiled once for each row of isa.tab into a table
 * of functions (tc_isa_ops, kernel/isa.h), which kernels reach through call->isa. */
#ifndef TC_KERNEL_KERNEL_H
#define TC_KERNEL_KERNEL_H

#include "base/comm.h"
#include "base/pool.h"
#include "tensor/tensor.h"

typedef struct tc_isa_ops tc_isa_ops; /* kernel/isa.h */
struct tc_generator;                  /* base/rng.h */

typedef enum { TC_K_NONE, TC_K_TENSOR, TC_K_TENSORS, TC_K_NUMBER, TC_K_INTS, TC_K_FLOATS, TC_K_STRING, TC_K_DTYPE } tc_karg_kind;
typedef struct {
    tc_karg_kind kind;
    int n; /* length of lists */
    union {
        const tc_tensor *tensor;
        const tc_tensor *const *tensors; /* entries may be NULL */
        tc_scalar num;                   /* int, float, bool, Scalar */
        const int64_t *ints;
        const double *floats;
        const char *string;
        tc_dtype dtype; /* codes of layout and memory format are in num instead */
    };
} tc_karg;

/* The epilogue: what the executor runs on each finished region of a kernel's result 0 (bias, activation, residual). fn is called when rows
 * [r0, r0 + nr), columns [c0, c0 + nc) of the result, seen as a matrix (tc_kernel.row_dims), hold their final values in memory. The regions of a call
 * are disjoint and together cover the result; any worker may call, several at once. fn may overwrite the region, so the kernel does not read a
 * finished region again. */
typedef struct tc_epilogue {
    void (*fn)(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker);
    void *ctx;
    /* The first part of fn in a form that a kernel can apply in registers, or NULL. A kernel that applies `plain` calls `rest` instead of this
     * epilogue; where rest is NULL it calls nothing. */
    const struct tc_epilogue_plain *plain;
    const struct tc_epilogue *rest;
} tc_epilogue;

/* x becomes table[min(max(fma(x, scale[c], shift[c]) + more[r, c], low), high)], rounded to the result's type after each step; steps whose pointer is
 * NULL are left out. Arrays have the type of the result, f32, f64 or bf16, but scale and shift of bf16 are f32. max and min are those of scalar.h
 * with x as the first operand. */
typedef struct tc_epilogue_plain {
    const void *scale, *shift; /* by column; both or neither */
    const void *more;          /* rows x columns, in the memory order of the result; does not overlap it */
    double low, high;          /* not NaN; infinite where there is no bound */
    const uint16_t *table;     /* bf16 only: 65536 results, by the bits of x, and one more element that may be read */
} tc_epilogue_plain;

/* An operand that the kernel computes block by block (tc_kernel.tile_args): fn writes rows [r0, r0 + nr), columns [c0, c0 + nc) of it to `tile`, the block's
 * first element; rows of the tile are TC_TILE_COLUMNS elements apart, nc is at most so many. The operand is seen as a matrix whose columns are its last
 * dimension. Any worker may call, several at once. An operand that is computed from tc_kernel.tile_from replaces that argument's block, which the kernel
 * computes to `tile` before. */
enum { TC_TILE_COLUMNS = 128, TC_TILES = 2 };
typedef struct tc_tiles {
    int arg;
    void (*fn)(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, void *tile, int worker);
    void *ctx;
} tc_tiles;

/* What float32 products may round their operands to (fp32_precision.h); sums stay float32. BF16X3: operands as the sum of two bfloat16, without the product
 * of the two low parts. */
typedef enum { TC_FP32_IEEE, TC_FP32_BF16X3, TC_FP32_TF32, TC_FP32_BF16 } tc_fp32;
/* Where results may deviate from the default numerics (tc-numerics(7)). */
typedef struct {
    bool fast;            /* --numerics=fast */
    tc_fp32 matmul, conv; /* --fp32-precision; convolutions take BF16X3 as IEEE */
} tc_numerics;

/* A tuning knob: a parameter that a kernel otherwise derives from the sizes. It changes speed, never bits. tc-compile --tune tries the values. */
enum { TC_KNOBS = 3, TC_KNOB_VALUES = 6 };
typedef struct {
    const char *name;
    int64_t values[TC_KNOB_VALUES + 1]; /* positive; those that fit the call; ended by 0 */
} tc_knob;

typedef struct tc_kcall {
    const tc_karg *args; /* in the order of the operator's schema */
    int nargs;
    tc_tensor *outs; /* allocated and contiguous, unless the kernel's flags say otherwise; with TC_KF_DYNAMIC storage is NULL until alloc */
    int nouts;
    tc_status (*alloc)(struct tc_kcall *call, int out, tc_dtype dtype, int rank, const int64_t *size); /* results whose size depends on data */
    void *scratch; /* 64-byte aligned, of the size that tc_kernel.scratch returned */
    tc_pool *pool;
    const tc_isa_ops *isa;
    struct tc_generator *gen;
    const tc_comm *comm;         /* of collectives; NULL: there are no ranks */
    const tc_epilogue *epilogue; /* or NULL */
    const tc_tiles *tiles;       /* the operands without storage; fn is set in run only */
    int ntiles;
    tc_numerics numerics;
    int64_t
        knob[TC_KNOBS]; /* values of the knobs, numbered as tc_kernel.knobs writes them; 0: the kernel decides. Also set for scratch and pack_bytes */
    const void *packed; /* what tc_kernel.pack wrote, or NULL. In scratch() it only says whether there will be one */
    const struct tc_kernel *kernel; /* the kernel that runs: operators of extensions have one function for all */
} tc_kcall;

enum {
    TC_KF_CONTIGUOUS = 1,     /* arguments must be contiguous: the executor copies those that are not */
    TC_KF_EPILOGUE = 2,       /* takes an epilogue */
    TC_KF_INPLACE0 = 4,       /* result 0 may share the memory of argument 0; the kernel reports bad arguments before it writes */
    TC_KF_DYNAMIC = 8,        /* results are allocated by the kernel, with alloc */
    TC_KF_SPARE_RESULTS = 16, /* results after the first that nothing reads may be passed without storage */
    TC_KF_ENTRIES = 32        /* entry i along dimension 0 of the results depends only on entry i of argument 0, and on all of the other arguments */
};

/* Memory layouts of argument 0 and result 0 that a call takes, for tensors of three to five dimensions: PLANES: both contiguous, N C (D) (H) W; SAME:
 * both contiguous or both channels last, N (D) (H) W C in memory under unchanged sizes; ANY: each in either layout. All other tensors are
 * contiguous. */
typedef enum { TC_LAYOUT_PLANES, TC_LAYOUT_SAME, TC_LAYOUT_ANY } tc_layouts;

enum { TC_ROWS_POSITIONS = 1000 }; /* a value of tc_kernel.row_dims */

enum { TC_PACKED_ARGS = 2 }; /* arguments that can be packed together */

typedef struct tc_kernel {
    const char *name;
    unsigned flags;
    tc_status (*run)(tc_kcall *call);
    size_t (*scratch)(const tc_kcall *call, int threads); /* bytes; NULL: none. Sees sizes and dtypes, not data */
    /* Packing ahead of time, for arguments that are the same in every run (weights): pack_bytes gives the size of a packed form of argument *out_arg
     * and the pack_more arguments after it, 0 where it would save less than 5 % (sizes only, no data); pack writes it, 64-byte aligned, and later
     * calls get it as tc_kcall.packed. NULL: there is no such form. */
    size_t (*pack_bytes)(const tc_kcall *call, int *out_arg);
    void (*pack)(const tc_kcall *call, void *out);
    tc_layouts (*layouts)(const tc_kcall *call); /* sees sizes and dtypes, no strides; nouts leaves out results that nothing reads. NULL: PLANES */
    /* With TC_KF_EPILOGUE: how many leading dimensions of result 0 are rows of the matrix that regions refer to; the others are columns. Negative:
     * all but so many. TC_ROWS_POSITIONS: all dimensions but 1 are rows; the epilogue is then called only where result 0 is channels last. */
    int row_dims;
    int (*knobs)(const tc_kcall *call,
                 tc_knob *out); /* writes at most TC_KNOBS, returns how many; sees sizes, isa and the values of earlier knobs. NULL: none */
    int pack_more;              /* see pack_bytes; below TC_PACKED_ARGS */
    unsigned tile_args;         /* bit i: argument i may come in tiles (tc_tiles); it has no storage then. At most TC_TILES */
    int tile_from, tile_to;     /* argument tile_to is computed from tile_from, which is read only for that and has no storage either; 0: none */
} tc_kernel;

/* A knob whose values are those of `all` (ended by 0) that are below `end`. */
static inline tc_knob tc_knob_below(const char *name, const int64_t *all, int64_t end) {
    tc_knob k = {.name = name};
    for (int n = 0; all[n] && all[n] < end && n < TC_KNOB_VALUES; n++) k.values[n] = all[n];
    return k;
}

/* Argument i, as the type the schema gives it; tc_k_tensor gives NULL for an absent tensor. */
static inline const tc_tensor *tc_k_tensor(const tc_kcall *c, int i) { return c->args[i].kind == TC_K_TENSOR ? c->args[i].tensor : NULL; }
static inline bool tc_k_given(const tc_kcall *c, int i) { return c->args[i].kind != TC_K_NONE; }
static inline int64_t tc_k_int(const tc_kcall *c, int i) { return tc_scalar_to_int(c->args[i].num); }
/* Argument i as a dimension of a tensor of this rank; negative ones count from the end. */
static inline int tc_k_dim(const tc_kcall *c, int i, int rank) {
    const int64_t d = tc_k_int(c, i);
    return (int)(d < 0 ? d + rank : d);
}
static inline double tc_k_float(const tc_kcall *c, int i) { return tc_scalar_to_double(c->args[i].num); }
static inline bool tc_k_bool(const tc_kcall *c, int i) { return c->args[i].num.i != 0; }

#endif
