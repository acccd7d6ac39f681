/* Loop IR: how pointwise operators, reductions, scans, gathers, pads, cats and views are defined, once, for both executors.
 *
 * A loop is a set of axes and a list of instructions in single-assignment form. Each instruction gives a value for every point
 * of the axes it varies over (`axes`, a bit mask, derived from its operands); a reduction removes axes. Softmax over the last dimension:
 *
 *     axes   0: parallel N      1: inner M
 *     %0 = load x[a0, a1]                     {0,1}
 *     %1 = reduce max %0 over {1}             {0}
 *     %2 = exp (%0 - %1)                      {0,1}
 *     %3 = reduce sum %2 over {1}             {0}
 *     store y[a0, a1] = %2 / %3
 *
 * There is no schedule in it: the executor and the emitter derive stages from the reductions, and choose blocks, order and
 * threads. Bits are fixed by the contract: every reduction's order is that of NUMERICS 4 over its axes in row-major order,
 * every instruction rounds to its own type. Fusion substitutes one loop's loads by another's values; it never changes bits.
 *
 * Memory is addressed by logical index, one affine expression a dimension; strides enter when a loop is bound. */
#ifndef TC_LOOP_LOOP_H
#define TC_LOOP_LOOP_H

#include "graph/graph.h"
#include "kernel/scalar_op.h"

typedef int32_t tc_lv; /* index of an instruction in its loop; -1: none */
#define TC_LV_NONE (-1)

typedef enum {
    TC_R_SUM,
    TC_R_PROD,
    TC_R_MAX,
    TC_R_MIN,
    TC_R_ARGMAX /* first of ties, NaN wins; i64 row-major index over the reduced axes */,
    TC_R_ARGMIN,
    TC_R_ANY,
    TC_R_ALL,
    TC_R_WELFORD /* tuple of f64: mean, M2, count; accumulates in float64 */,
    TC_R_LOGADDEXP /* log(e^a + e^b); scans of floats and complex numbers only */,
    TC_R_COUNT
} tc_reduce_op;

/* Reductions see their elements in row-major order of the axes in `over` (ascending axis number). SUM, PROD and WELFORD go by leaves
 * and the tree of kernel/tree.h; nothing to reduce gives +0, 1, {0, 0, 0}. The others have no order; ARGMAX and ARGMIN take the first
 * of ties; nothing gives -inf, +inf (lowest, highest integer), false, true. */

/* base + sum of coef[i] * axis[i] */
typedef struct {
    tc_sym base;
    int n;
    struct {
        int axis;
        tc_sym coef;
    } term[4];
} tc_affine;

typedef enum {
    TC_L_CONST,  /* imm */
    TC_L_HOST,   /* host: a symbolic number computed once a run */
    TC_L_INDEX,  /* i64 value of an affine expression of axes */
    TC_L_LOAD,   /* buffer at index (and gathered offsets), where pred holds; else 0 */
    TC_L_CAST,   /* a[0] converted to dtype with PyTorch's rules */
    TC_L_ROUND,  /* f32 (c64) a[0] rounded to the 16- or 8-bit type `narrow` (c32) and back: what storing and loading would do */
    TC_L_SCALAR, /* op of the table */
    TC_L_REDUCE, /* op: tc_reduce_op over `over`; tuple results are read with TC_L_PART */
    TC_L_SCAN, /* op: inclusive scan along the single axis in `over`, ascending; keeps that axis. SUM, PROD and LOGADDEXP of f32 carry in f64, PROD and LOGADDEXP of complex in c128 */
    TC_L_PART, /* component `part` of tuple a[0] */
    TC_L_RAND  /* Philox bits u32x4 component `part` of key (host) and counter a[0]: NUMERICS 10 */
} tc_lkind;

typedef struct {
    tc_lkind kind;
    uint8_t op; /* tc_scalar_op or tc_reduce_op */
    uint8_t part;
    tc_dtype dtype;  /* of the value: f32 f64, c64 c128, integers, bool. Loads of f16, bf16, f8 give f32, those of c32 c64 */
    tc_dtype narrow; /* TC_L_ROUND */
    uint64_t axes;   /* it varies over these */
    uint64_t over;   /* REDUCE, SCAN; the operand need not vary over them */
    tc_lv a[3];
    tc_scalar imm;
    tc_sym host;
    int buffer;
    int rank;
    const tc_affine *index; /* LOAD: rank entries; INDEX: one */
    const tc_lv *gather;    /* LOAD: i64 added to the index of each dimension, TC_LV_NONE where affine; NULL: all affine */
    tc_lv pred;
    bool checked; /* gathered: an index outside [0, size) is a run-time error (IndexError), not undefined */
} tc_linst;

/* Executed for every point of `axes` (those of value, index and predicate). Stores to one buffer happen in order and, but for a
 * first that fills, write different elements. The value has the buffer's compute type, already rounded to what it holds. */
typedef struct {
    int buffer;
    int rank;
    const tc_affine *index;
    tc_lv value;
    tc_lv pred;
    uint64_t axes;
} tc_lstore;

typedef struct {
    tc_sym extent;
    const char *name;
} tc_laxis;
typedef struct {
    tc_value *value;
    tc_dtype dtype;
    int rank;
    const tc_sym *size;
    bool written;
} tc_lbuffer; /* value of the graph that it holds */

typedef struct tc_loop {
    tc_arena *arena; /* the program's */
    tc_symctx *sym;
    tc_laxis axes[64];
    int naxes;
    TC_VEC(tc_linst) inst;
    TC_VEC(tc_lstore) stores;
    TC_VEC(tc_lbuffer) buffers;
    const tc_node **nodes;
    int nnodes; /* what it computes, for -v, profiles and comments in emitted C */
    /* An epilogue (pass/epilogue.h): it is run on regions, a range of the points of the axes that are no columns by one of those that
     * are, both in row-major order. */
    bool region;
    uint64_t columns;
} tc_loop;

tc_loop *tc_loop_create(tc_program *p); /* lives in the program's arena; its vectors until tc_loop_free */
tc_loop *tc_loop_copy(const tc_loop *l);
void tc_loop_free(tc_loop *l); /* NULL is allowed */
/* Adds an instruction, filling `axes`, or returns an equal one that is there. Index arrays must live in the arena. */
tc_lv tc_loop_push(tc_loop *l, tc_linst in);
int tc_loop_axis(tc_loop *l, tc_sym extent);                                /* a new axis; -1 when all 64 are used */
int tc_loop_buffer(tc_loop *l, tc_value *v);                                /* the buffer of a tensor value, added when new */
int tc_loop_temp(tc_loop *l, tc_dtype dtype, int rank, const tc_sym *size); /* a buffer that no value of the graph stands for */
void tc_loop_store(tc_loop *l, tc_lstore st);                               /* fills axes */
uint64_t tc_affine_axes(const tc_affine *a);
bool tc_affine_equal(const tc_affine *a, const tc_affine *b);
bool tc_affine_is_axis(const tc_affine *a, int *out_axis); /* exactly one axis, coefficient 1, base 0 */
bool tc_affine_is_zero(const tc_affine *a);
/* Appends what `from` computes and stores (stores false: nothing is stored), with axis a of it standing for as[a], an expression of the axes of l; those
 * that are summed or scanned over are one axis each. Instruction i is given[i] where that is a value of l; out_at[i] is what it became. False:
 * an index would have more terms than there is room for, and l is worth nothing. */
bool tc_loop_append(tc_loop *l, const tc_loop *from, const tc_affine as[64], const tc_lv *given, bool stores, tc_lv *out_at);
tc_affine tc_affine_axis(tc_symctx *sym, int axis); /* the axis itself */
/* Every symbolic number that the loop goes over, indexes by or computes with; none is NULL. */
void tc_loop_each_number(const tc_loop *l, void (*fn)(void *ctx, tc_sym number), void *ctx);

/* The scalar table as data. types and result are the letters and words of scalar.def. */
typedef struct {
    const char *name;
    int arity;
    char types;
    enum { TC_RESULT_SAME, TC_RESULT_BOOL, TC_RESULT_REAL, TC_RESULT_CPLX } result;
} tc_scalar_info;
extern const tc_scalar_info tc_scalar_ops[TC_X_COUNT];
tc_dtype tc_scalar_result(tc_scalar_op op, tc_dtype operand); /* the type of the result; operand: of the last one */
extern const char *const tc_reduce_names[TC_R_COUNT];

tc_status tc_loop_verify(const tc_loop *l); /* types against the table, axes, dominance; TC_CONTENT naming the instruction */
void tc_loop_print(tc_buf *b, const tc_loop *l);

#endif
