/* Kernels: the operators that are not loops (matrix product, convolution, attention, sort, scatter, random fill, ...).
 *
 * A kernel is freestanding C over strided tensors whose sizes are known. It allocates nothing and prints nothing: the executor
 * gives it results, scratch and the pool. What differs per instruction set stands in *.isa.c files, compiled once for each row
 * of isa.tab into a table of functions (tc_isa_ops); the kernel picks from call->isa. */
#ifndef TC_KERNEL_KERNEL_H
#define TC_KERNEL_KERNEL_H

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
        tc_dtype dtype; /* also codes of layout and memory format in num */
    };
} tc_karg;

/* What follows on each finished region of a kernel's result 0: activation, residual. Rows [r0, r0+nr), columns [c0, c0+nc) of the
 * result seen as a matrix (tc_kernel.row_dims) have their last values, in the result's type and memory. The regions of a call do not
 * overlap, make up the whole result, and may be reported by any worker; what a region's epilogue writes may be the region itself, so the
 * kernel reads no finished region again. */
typedef struct tc_epilogue {
    void (*fn)(void *ctx, int64_t r0, int64_t nr, int64_t c0, int64_t nc, int worker);
    void *ctx;
    const struct tc_epilogue_plain *plain; /* its first part in another form, or NULL */
    const struct tc_epilogue *rest;        /* what a kernel that computes plain calls instead, or NULL: it then reports no regions */
} tc_epilogue;

/* x becomes table[min(max(fma(x, scale[c], shift[c]) + more[r, c], low), high)] in its place, each rounded to the result's type; what is NULL
 * is left out. Values are of the result's type, f32, f64 or bf16, whose scale and shift are f32. Maximum and minimum are those of scalar.h with x as
 * the first operand. */
typedef struct tc_epilogue_plain {
    const void *scale, *shift; /* by column; both or neither */
    const void *more;          /* rows x columns in the order of the result's memory, which it does not share */
    double low, high;          /* no NaN; infinite where there is no bound */
    const uint16_t *table;     /* of bf16 alone: by the bits of a value; an element past its end can be read */
} tc_epilogue_plain;

/* What products of float32 may round their factors to; sums stay float32. BF16X3: the sum of two bfloat16, less the product of the lower parts. */
typedef enum { TC_FP32_IEEE, TC_FP32_BF16X3, TC_FP32_TF32, TC_FP32_BF16 } tc_fp32;
/* Where results may leave the numeric contract. */
typedef struct {
    bool fast;            /* --numerics=fast */
    tc_fp32 matmul, conv; /* --fp32-precision; convolutions take BF16X3 as IEEE */
} tc_numerics;

/* What a kernel may do otherwise than it decides from sizes, with the same bits; tc-compile --tune tries the values. */
enum { TC_KNOBS = 3, TC_KNOB_VALUES = 6 };
typedef struct {
    const char *name;
    int64_t values[TC_KNOB_VALUES + 1]; /* positive, of those that fit the call; ended by 0 */
} tc_knob;

typedef struct tc_kcall {
    const tc_karg *args;
    int nargs; /* schema order */
    tc_tensor *outs;
    int nouts; /* allocated, contiguous unless the kernel's flags say otherwise; storage NULL: made with alloc */
    tc_status (*alloc)(struct tc_kcall *call, int out, tc_dtype dtype, int rank, const int64_t *size); /* data-dependent results */
    void *scratch; /* 64-byte aligned, as large as scratch() asked */
    tc_pool *pool;
    const tc_isa_ops *isa;
    struct tc_generator *gen;
    const tc_epilogue *epilogue; /* or NULL */
    tc_numerics numerics;
    int64_t knob[TC_KNOBS]; /* by number of tc_kernel.knobs; 0: as the kernel decides; scratch and pack_bytes see them */
    const void *packed;     /* what pack made, or NULL; not read by scratch, only seen to be there */
} tc_kcall;

enum {
    TC_KF_CONTIGUOUS = 1,     /* tensors must be contiguous: the executor copies those that are not */
    TC_KF_EPILOGUE = 2,       /* takes an epilogue */
    TC_KF_INPLACE0 = 4,       /* result 0 may lie where argument 0 does: the kernel reports bad arguments before it writes */
    TC_KF_DYNAMIC = 8,        /* results are made with alloc */
    TC_KF_SPARE_RESULTS = 16, /* results after the first that nothing reads may be left without storage */
    TC_KF_ENTRIES = 32        /* entry i along dimension 0 of the results depends on entry i of argument 0 alone, and all of the others */
};

/* Tensors of three to five dimensions may lie channels last: N (D) (H) W C in memory under sizes in the order N C (D) (H) W. What a call
 * takes of argument 0 and result 0; everything else is contiguous. SAME: both or neither. ANY: each on its own. */
typedef enum { TC_LAYOUT_PLANES, TC_LAYOUT_SAME, TC_LAYOUT_ANY } tc_layouts;

enum { TC_ROWS_POSITIONS = 1000 };

enum { TC_PACKED_ARGS = 2 };

typedef struct tc_kernel {
    const char *name;
    unsigned flags;
    tc_status (*run)(tc_kcall *call);
    size_t (*scratch)(const tc_kcall *call, int threads); /* bytes; NULL: none. Sizes only, no data. */
    /* A form of argument *out_arg (and the pack_more after it) that may be made once, when they do not change from run to run: its bytes, 0 where
     * it would not earn 5 %. Sizes only. pack writes it, 64-byte aligned; later calls get it as `packed`. NULL: never. */
    size_t (*pack_bytes)(const tc_kcall *call, int *out_arg);
    void (*pack)(const tc_kcall *call, void *out);
    tc_layouts (*layouts)(const tc_kcall *call); /* sizes and dtypes only, no strides; results that nothing reads are not counted. NULL: PLANES */
    /* TC_KF_EPILOGUE: dimensions of result 0 that are rows, in row-major order; the others are columns. Negative: all but so many. */
    int row_dims; /* TC_ROWS_POSITIONS: all but dimension 1; regions then come only where result 0 lies channels last */
    int (*knobs)(const tc_kcall *call, tc_knob *out); /* writes at most TC_KNOBS, returns how many. Sizes, isa and knobs before; NULL: none */
    int pack_more;                                    /* below TC_PACKED_ARGS */
} tc_kernel;

/* A knob with those of `all` (ended by 0) that are below `end`. */
static inline tc_knob tc_knob_below(const char *name, const int64_t *all, int64_t end) {
    tc_knob k = {.name = name};
    for (int n = 0; all[n] && all[n] < end && n < TC_KNOB_VALUES; n++) k.values[n] = all[n];
    return k;
}

static inline const tc_tensor *tc_k_tensor(const tc_kcall *c, int i) { return c->args[i].kind == TC_K_TENSOR ? c->args[i].tensor : NULL; }
static inline bool tc_k_given(const tc_kcall *c, int i) { return c->args[i].kind != TC_K_NONE; }
static inline int64_t tc_k_int(const tc_kcall *c, int i) { return tc_scalar_to_int(c->args[i].num); }
static inline double tc_k_float(const tc_kcall *c, int i) { return tc_scalar_to_double(c->args[i].num); }
static inline bool tc_k_bool(const tc_kcall *c, int i) { return c->args[i].num.i != 0; }

#endif
