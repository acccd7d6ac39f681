/* Loop IR: how pointwise operators, reductions, scans, gathers, pads, cats and views are defined, once, for both executors.
 *
 * A loop is a set of axes (an iteration space) and a list of instructions in SSA form. An instruction has one value for each point of the axes
 * it varies over (`axes`, a bit mask, derived from its operands); a reduction removes axes. Softmax over the last dimension:
 *
 *     axes   0: parallel N      1: inner M
 *     %0 = load x[a0, a1]                     {0,1}
 *     %1 = reduce max %0 over {1}             {0}
 *     %2 = exp (%0 - %1)                      {0,1}
 *     %3 = reduce sum %2 over {1}             {0}
 *     store y[a0, a1] = %2 / %3
 *
 * A loop contains no schedule: the executor and the emitter derive stages from the reductions, and choose blocks, loop order and threads. Neither
 * changes the result's bits: a reduction adds its elements in the fixed order (tc-numerics(7), kernel/tree.h) over its axes in row-major order, and
 * every instruction rounds to its own type. Fusion replaces loads in one loop by the values that another loop stores, and changes no bits either.
 *
 * An element of memory is addressed by its indices, one affine expression for each dimension; strides are applied when a loop is bound. */
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
    TC_R_ARGMAX /* i64: row-major index over the reduced axes; the first of ties; NaN counts as largest */,
    TC_R_ARGMIN,
    TC_R_ANY,
    TC_R_ALL,
    TC_R_WELFORD /* tuple of f64: mean, M2 (sum of squared differences from the mean), count */,
    TC_R_LOGADDEXP /* log(e^a + e^b); in scans only, of floats and complex numbers */,
    TC_R_COUNT
} tc_reduce_op;

/* The elements of a reduction are in row-major order of the axes in `over` (ascending axis number). SUM, PROD and WELFORD add in leaves and merge
 * them by the tree of kernel/tree.h; the results of the others do not depend on an order. Of no elements, SUM, PROD and WELFORD give +0, 1 and
 * {0, 0, 0}; MAX and MIN -inf and +inf (lowest and highest integer); ANY and ALL false and true. */

/* base + the sum of term[i].coef * (index along term[i].axis) */
typedef struct {
    tc_sym base;
    int n; /* terms */
    struct {
        int axis;
        tc_sym coef;
    } term[4];
} tc_affine;

typedef enum {
    TC_L_CONST,  /* imm */
    TC_L_HOST,   /* host: a symbolic number, computed once in a run */
    TC_L_INDEX,  /* i64 value of the affine expression index[0] */
    TC_L_LOAD,   /* the element of buffer at index (plus gathered indices) where pred holds; 0 elsewhere */
    TC_L_CAST,   /* a[0] converted to dtype with PyTorch's rules */
    TC_L_ROUND,  /* f32 (c64) a[0] rounded to the 16- or 8-bit type `narrow` (c32) and back, as storing and loading would do */
    TC_L_SCALAR, /* op: a tc_scalar_op, applied to a[0..arity) */
    TC_L_REDUCE, /* op: a tc_reduce_op over the axes in `over`; tuple results are read with TC_L_PART */
    TC_L_SCAN,   /* op: an inclusive scan along the single axis in `over`, ascending, which it keeps. f32 SUM, PROD and LOGADDEXP accumulate in f64,
                  * complex PROD and LOGADDEXP in c128 */
    TC_L_PART,   /* component `part` of the tuple a[0] */
    TC_L_RAND    /* u32: word `part` of the four that Philox makes of a key (host) and a counter a[0] (base/rng.h) */
} tc_lkind;

typedef struct {
    tc_lkind kind;
    uint8_t op; /* tc_scalar_op or tc_reduce_op */
    uint8_t part;
    tc_dtype dtype;         /* of the value: f32 f64, c64 c128, integers, bool. Loads of f16, bf16 and f8 give f32, of c32 c64 */
    tc_dtype narrow;        /* TC_L_ROUND */
    uint64_t axes;          /* bit mask: the value varies over these */
    uint64_t over;          /* REDUCE, SCAN: bit mask; the operand need not vary over them */
    tc_lv a[3];             /* operands; TC_LV_NONE: unused */
    tc_scalar imm;          /* CONST */
    tc_sym host;            /* HOST, RAND */
    int buffer;             /* LOAD: number in tc_loop.buffers */
    int rank;               /* LOAD: dimensions of the buffer */
    const tc_affine *index; /* LOAD: rank entries; INDEX: one */
    const tc_lv *gather;    /* LOAD: for each dimension the i64 value that is added to its index, or TC_LV_NONE; NULL: none */
    tc_lv pred;             /* LOAD: a bool, or TC_LV_NONE */
    bool checked;           /* LOAD: a gathered index outside [0, size) is a run-time error (IndexError), else undefined */
    const tc_node *node;    /* whose rule made it (of equal ones the first), for messages; NULL: a pass */
} tc_linst;

/* Executed for every point of `axes` (those of value, index and predicate) where pred holds. Stores to one buffer are executed in order, and write
 * different elements, except that the first may fill all. The value has the buffer's compute type (tc_dtype_compute), already rounded to the
 * type that the buffer holds. */
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
    tc_value *value; /* the graph's value that it holds; NULL: a temporary */
    tc_dtype dtype;  /* of the elements in memory */
    int rank;
    const tc_sym *size;
    bool written;
    bool replaced; /* read, in a loop for tiles: the block is in the tile, where the result's replaces it */
} tc_lbuffer;

typedef struct tc_loop {
    tc_arena *arena; /* the program's */
    tc_symctx *sym;
    tc_laxis axes[64];
    int naxes;
    TC_VEC(tc_linst) inst;
    TC_VEC(tc_lstore) stores;
    TC_VEC(tc_lbuffer) buffers;
    const tc_node **nodes; /* the nodes that it computes, for -v, profiles and comments in emitted C */
    int nnodes;
    /* region: the loop is the epilogue of a kernel (pass/epilogue.h), which runs it on one block of the result after another: a range of rows by a
     * range of columns. columns: the axes whose points, in row-major order, number the columns; the other axes number the rows. */
    bool region;
    uint64_t columns;
    bool tile; /* the loop makes an operand of the kernel that follows, which runs it on one block of the operand after another (pass/tiles.h) */
} tc_loop;

tc_loop *tc_loop_create(tc_program *p); /* allocated in the program's arena; tc_loop_free frees its vectors */
tc_loop *tc_loop_copy(const tc_loop *l);
void tc_loop_free(tc_loop *l); /* NULL is allowed */
/* Adds an instruction and sets its `axes`, or returns an equal one that the loop has already. Index arrays must be in the arena. */
tc_lv tc_loop_push(tc_loop *l, tc_linst in);
int tc_loop_axis(tc_loop *l, tc_sym extent);                                /* a new axis; -1 when all 64 are used */
int tc_loop_buffer(tc_loop *l, tc_value *v);                                /* the buffer of a value of the graph, added where missing */
int tc_loop_temp(tc_loop *l, tc_dtype dtype, int rank, const tc_sym *size); /* a new temporary */
void tc_loop_store(tc_loop *l, tc_lstore st);                               /* adds a store and sets its axes */
/* The values that an instruction reads: operands, predicate, gathered indices. Returns how many. */
enum { TC_LOOP_OPERANDS = 4 + TC_MAX_RANK };
int tc_loop_operands(const tc_linst *in, tc_lv out[TC_LOOP_OPERANDS]);
void tc_loop_rename(tc_loop *l, tc_linst *in, const tc_lv *to); /* replaces each of them, v, by to[v] */
uint64_t tc_affine_axes(const tc_affine *a);
bool tc_affine_equal(const tc_affine *a, const tc_affine *b);
bool tc_loop_is_pointwise(const tc_loop *l);                        /* one store to every element, without reductions, scans and random numbers */
bool tc_loop_same_index(const tc_lstore *st, const tc_linst *load); /* does the load read what is stored, were the buffers the same? */
bool tc_affine_is_axis(const tc_affine *a, int *out_axis);          /* exactly one axis, coefficient 1, base 0 */
bool tc_affine_is_zero(const tc_affine *a);
/* Appends the instructions and, if `stores`, the stores of `from`. Axis a of it becomes as[a], an expression of the axes of l; where `from` reduces or
 * scans over a, as[a] must be a single axis. Instruction i is not copied if given[i] is a value of l, which then replaces it; out_at[i] returns
 * the value in l. False: an index would have more than 4 terms; l is incomplete then, and must be dropped. */
bool tc_loop_append(tc_loop *l, const tc_loop *from, const tc_affine as[64], const tc_lv *given, bool stores, tc_lv *out_at);
tc_affine tc_affine_axis(tc_symctx *sym, int axis); /* the axis itself */
/* Solves for the axes of l such that its index `stored` (rank entries, of a store) equals `found`: axis a is as[a], 0 where nothing is stored along it.
 * False: not every stored dimension is an axis of its own. */
bool tc_loop_axes_at(const tc_loop *l, const tc_affine *stored, const tc_affine *found, int rank, tc_affine as[64]);
/* Replaces *index by a copy in the arena in which each axis x is as[x]. False: an expression would have more than 4 terms. */
bool tc_affine_compose(const tc_loop *l, const tc_affine **index, int rank, const tc_affine as[64]);
/* Calls fn for every symbolic number in the loop: extents, indices and host values. */
void tc_loop_each_number(const tc_loop *l, void (*fn)(void *ctx, tc_sym number), void *ctx);

/* The table of scalar operations as data; types and result are explained in kernel/scalar.def. */
typedef struct {
    const char *name;
    int arity;
    char types;
    enum { TC_RESULT_SAME, TC_RESULT_BOOL, TC_RESULT_REAL, TC_RESULT_CPLX } result;
} tc_scalar_info;
extern const tc_scalar_info tc_scalar_ops[TC_X_COUNT];
tc_dtype tc_scalar_result(tc_scalar_op op, tc_dtype operand); /* the type of the result; operand: the type of the last operand */
extern const char *const tc_reduce_names[TC_R_COUNT];

/* Checks types, axes, and that operands are defined before their use. TC_CONTENT names the instruction. */
tc_status tc_loop_verify(const tc_loop *l);
void tc_loop_print(tc_buf *b, const tc_loop *l);

#endif
