/* Internals of the block executor: the structures that binding makes (block_bind.c, block_plan.c, block_place.c) and that running executes (block_run.c,
 * block_mem.c, block_reduce.c). */
#ifndef TC_RUNTIME_BLOCK_IMPL_H
#define TC_RUNTIME_BLOCK_IMPL_H

#include "runtime/block.h"

enum { SCAN_ROWS = 4 }; /* rows that are scanned together, because within a row each element depends on the one before */
enum { MAX_AXES = 24 }; /* outer or inner axes of a nest, after merging */
enum { CLS_0 = 0, CLS_O = 1, CLS_I = 2, CLS_OI = 3 }; /* class of a value: bit mask of the sides (outer, inner) along which it varies */

/* The outer or inner axes of a nest, outermost first, without axes of extent 1. Neighbouring axes are merged if every access allows it. A flat index
 * of a side numbers its points in row-major order. */
typedef struct {
    int n;
    int64_t ext[MAX_AXES];
    int64_t total; /* points */
} side;

/* An affine expression: base + strides along the axes of the two sides (for an address: in elements). */
typedef struct {
    int64_t base, o[MAX_AXES], i[MAX_AXES];
} affine;

/* A load, a store or an index value. */
typedef struct {
    affine at;          /* the address (without gathered dimensions), or the index */
    int buffer;         /* -1: an index */
    tc_dtype dtype;     /* in memory */
    uint8_t cls, shift; /* shift: log2 of the element size */
    bool dense;         /* every block is contiguous in memory */
    int ngather;        /* gathered dimensions */
    struct {
        int value;            /* the gathered index */
        int64_t stride, size; /* of the dimension */
        affine at;            /* is added to the index */
        int dim;
        uint8_t cls; /* split: class of the value */
    } * gather;
    bool along[2]; /* split: a gathered value varies along the outer (inner) side only */
    size_t list;   /* split: offset of its index_list in the worker's scratch */
    bool checked;
    int inst; /* -1: a store */
    int pred; /* a value, or -1 */
} access;

/* The offsets along the fast side of a split gather, kept from block to block. runs: where contiguous ones begin, if they are few. */
typedef struct {
    int64_t at, n; /* of the flat index `at` and those that follow; n 0: not computed */
    int64_t nruns; /* 0: there are many */
    int64_t offset[];
} index_list;
enum { LONG_RUN = 16 };
static inline int64_t index_list_runs(int64_t n) { return n / LONG_RUN; } /* at most; they follow n offsets */

typedef enum {
    S_FN,
    S_FN_NARROW,
    S_SELECT,
    S_TABLE,
    S_CAST,
    S_CONST,
    S_HOST,
    S_LOAD,
    S_GATHER,
    S_STORE,
    S_BROADCAST,
    S_INDEX,
    S_REDUCE,
    S_FINISH,
    S_SCAN,
    S_PART
} step_kind;

/* A step is one call of a primitive on a block. Values are numbered; their number is their place in walk.ptr. */
typedef struct {
    uint8_t kind, cls, dtype, op;
    uint8_t from_cls, part, shift; /* shift: log2 of the result's element size */
    int out, a, b, c, d;           /* values; -1: none */
    int aux;                       /* number of the access, reduction, constant or table */
    int pieces;                    /* how many calls of nest.piece elements it takes if the nest prefetches */
    /* S_FN_NARROW, S_SELECT: bit k: operand k has one element for each row of the block (along the slow side), or for each run if `thin`; those with a bit in
     * `fixed` have one element in all. */
    uint8_t narrow, fixed;
    bool thin;   /* S_LOAD: loads one element for each run along the last of several inner axes */
    bool negate; /* S_SELECT */
    union {
        tc_block_fn fn;
        tc_cast_fn cast;
        tc_block_select select;
    };
} step;

typedef TC_VEC(step) steps;

/* Where a value is: in a slot of the worker's scratch, at the block's position in a row buffer, or in a tensor in memory. */
typedef struct {
    uint8_t kind;
    uint8_t cls, shift;
    size_t offset; /* P_SLOT, P_KEPT: in the scratch */
    int acc;       /* P_MEM: the access */
} place;
enum { P_NONE, P_SLOT, P_KEPT /* a row buffer */, P_MEM };

typedef struct {
    uint8_t op, dtype; /* dtype of the operand */
    bool whole;        /* one block has all of the inner axes, so no state is carried between blocks */
    int64_t stride;    /* column mode: if the operand is read from memory, elements from one inner index to the next; 0: the operand is a block */
    size_t state;      /* offset in the worker's scratch */
    size_t leaf;       /* column mode: offset in the state of a leaf [R], the levels of the tree [levels][R], the lanes [16][R] */
    int levels;
} reduction;

typedef struct {
    uint8_t bytes[16];
    tc_sym host;
    tc_dtype dtype;
} constant;

/* Memory that is read or written sequentially, and prefetched while the block before is computed: `pace` cache lines before each piece of work of a stage.
 * A piece is a step, or a part of an element-wise step, so that a block has about as many pieces whatever the number of its steps. Nests of several
 * steps prefetch the next block; those of a single step what is PREFETCH_DISTANCE bytes ahead, since more would not stay in L1. */
enum { MAX_STREAMS = 8, PIECE = 128 /* elements */, LINE = 64, PREFETCH_DISTANCE = 2048 };
typedef struct {
    int place; /* the value */
    bool written;
    int64_t bytes, lead; /* of a block; from the begin of the block to the first prefetched line */
    int *pace;           /* by stage */
} stream;

typedef struct {
    side O, I;
    int64_t R, C; /* rows and columns of a block */
    bool col;     /* column mode: blocks are column-major, the inner index is the slow one */
    bool reduces;
    bool regions; /* blocks are parts of regions (tc_block_regions), which may have a part of the columns; nothing is prefetched */
    int nstages;
    steps once, *row, *body; /* executed at a worker's start; for R rows before stage k (row[nstages]: after the last); for each block in stage k */
    access *acc;
    int nacc;
    place *places; /* by value */
    int nplaces;
    int *moving; /* values whose pointer changes with the block */
    int nmoving;
    reduction *red;
    int nred;
    constant *con;
    int ncon;
    bool hosts;                 /* some constants are evaluated in each run */
    size_t scratch, tmp, index; /* bytes for a worker; offsets of the buffers for conversions and for indices */
    stream streams[MAX_STREAMS];
    int nstreams, piece;  /* piece: elements */
    int64_t items, grain; /* parallel tasks, and how many a thread takes at least */
    bool single_block;    /* the nest is one block */
    struct kept_walk *kept;
    bool chunked;   /* few long rows or columns: each is cut into chunks for the threads, stage by stage */
    int64_t chunk;  /* chunked: elements, 2^k leaves, so that chunks merge by the same tree as leaves */
    size_t partial; /* chunked: offset of the chunks' results in the first worker's scratch */
} nest;

/* The regions of a loop with at most so many columns often have all columns; such regions have a second nest. */
enum { WHOLE_COLUMNS = 1024 };

/* Chunked: the result of a reduction of a chunk, for the R rows of a block: R values of VALUE_BYTES; for argmax and argmin these are indices, and the
 * values follow. */
enum { VALUE_BYTES = 32, PART_BYTES = 48 };
static inline size_t part_bytes(const nest *n) { return (size_t)n->R * PART_BYTES; }
static inline int64_t chunk_count(const nest *n) { return (n->I.total + n->chunk - 1) / n->chunk; }

/* The plain part of an epilogue's loop (tc_epilogue_plain): numbers of buffers; -1: absent. result -1: there is no such part. */
typedef struct {
    int result, store, scale, shift, more; /* more: the residual */
    double low, high;
    tc_lv load, last; /* the load of the kernel's result; the last instruction of the plain part */
    bool first;       /* the loop has further instructions */
    bool half;        /* of bf16: the whole loop is executed by tc_half_rows */
    int table;        /* half: number of the table through which values are stored; -1: none */
    int64_t cols;     /* half: columns */
} block_plain;

/* The rest of an epilogue after its plain part: a copy of the loop that loads the kernel's result in place of block_plain.last. */
typedef struct {
    tc_loop loop;
    tc_schedule schedule;
    tc_block *block;
} block_rest;

/* block_table.c: a table of a function from a 16-bit type to a 16-bit type. */
typedef struct {
    tc_buf function;   /* a text that describes the function: its types and instructions */
    uint16_t *entries; /* by the bits of the argument; 65536, and one more because look-ups read 32 bits */
} block_table;
struct tc_block_tables {
    TC_VEC(block_table) list;
};

struct tc_block {
    const tc_isa_ops *isa;
    const tc_schedule *schedule;
    int nbuffers;
    size_t scratch, temps;
    size_t *temp_offset; /* by buffer; SIZE_MAX: not a temporary */
    nest *nests;
    int nnests;
    block_plain plain;                    /* of a region loop */
    block_rest *rest;                     /* if plain.first; else NULL */
    tc_block_tables *tables, *own_tables; /* own_tables: NULL if they are shared */
};

/* The state of one worker in a run of a nest. */
typedef struct {
    const tc_block *b;
    const nest *n;
    void *const *data;
    char *scratch;
    void **ptr;                     /* by value: its address for the current block */
    int64_t *row;                   /* by access: offset of the block's first row, in elements */
    int64_t o0, i0, r, c, count[4]; /* flat indices of the block's first row and column; its rows and columns; elements by class */
    const char *next_line[MAX_STREAMS], *end_line[MAX_STREAMS]; /* by stream: what is prefetched next, and the end */
    tc_abi_fault *fault;
    const char *shared;   /* chunked: results of reductions, part_bytes each; NULL: run_finish computes them */
    int stage;            /* chunked: how many lists of row steps have been executed */
    bool skip_row_stores; /* chunked: another worker stores what does not vary along the row */
} walk;

/* The walk of a nest of a single block, kept between runs: only the addresses of buffers are set again. */
typedef struct {
    int place, buffer;
    int64_t offset; /* bytes */
} kept_address;
typedef struct kept_walk {
    walk w;
    kept_address *at;
    int n;
} kept_walk;

/* block_bind.c */
bool side_chain(const side *s, const int64_t *stride, int64_t last); /* is the stride of flat indices of the side constant, namely `last`? */

/* Elements of a run along the last inner axis. */
static inline int64_t run_length(const nest *n) { return n->I.ext[n->I.n - 1]; }

/* block_plain.c */
void find_plain(tc_block *b, const tc_loop *l, const nest *n, const tc_lv *root); /* sets b->plain of a region loop; root: of find_tables */
bool plain_regions(const tc_block *b, void *const *data, const void *kernel_result, tc_epilogue_plain *out);
tc_half_rows half_regions(const tc_block *b, void *const *data);

/* block_table.c */
/* root[i]: instruction i is a function of the value of this instruction alone, and worth a table (it is evaluated at least `uses` times); -1: none. */
void find_tables(const tc_loop *l, const int64_t *extent, int64_t uses, tc_lv *root);
int table_of(tc_block *b, const tc_loop *l, tc_lv from, tc_lv to); /* number in b->tables of the table from `from` to `to`, computed if it is new */
tc_dtype half_type(const tc_loop *l, tc_lv v);                     /* f16 or bf16 if every value of v (of f32) is such a number; else TC_DTYPE_NONE */
/* The value that is converted to 16 bits to look up `from`: from itself, or the operand of its rounding. */
static inline tc_lv table_operand(const tc_loop *l, tc_lv from) { return l->inst.data[from].kind == TC_L_ROUND ? l->inst.data[from].a[0] : from; }

/* block_mem.c */
int64_t affine_offset(const side *s, const int64_t *stride, int64_t flat);
void run_load(walk *w, const step *s);
void run_gather(walk *w, const step *s);
void forget_lists(walk *w); /* at the start of a run */
void run_store(walk *w, const step *s);
void run_broadcast(walk *w, const step *s);
void run_index(walk *w, const step *s);

/* block_reduce.c */
void reduction_start(walk *w, const reduction *r);
void run_reduce(walk *w, const step *s);
void run_finish(walk *w, const step *s);
void run_scan(walk *w, const step *s);
size_t reduction_state(const nest *n, reduction *r);                                                   /* bytes */
void export_part(walk *w, const step *finish, char *part);                                             /* writes the result of a chunk */
void merge_parts(const walk *w, const step *finish, char *parts, int64_t n, size_t stride, char *out); /* of n chunks; overwrites parts */
size_t reduced_bytes(const walk *w, const step *finish);                                               /* of the result, for the block's rows */

#endif
