/* Inside of the block executor: what binding (block_bind.c, block_plan.c) makes and running (block_run.c, block_mem.c, block_reduce.c) walks. */
#ifndef TC_RUNTIME_BLOCK_IMPL_H
#define TC_RUNTIME_BLOCK_IMPL_H

#include "runtime/block.h"

enum { SCAN_ROWS = 4 };                               /* rows that a scan goes along side by side: within a row each element waits for the last */
enum { MAX_AXES = 24 };                               /* outer or inner axes of a nest, after merging */
enum { CLS_0 = 0, CLS_O = 1, CLS_I = 2, CLS_OI = 3 }; /* what a value varies along: bits */

/* Axes of a side, merged where every access allows it. Extents above 1, outermost first. */
typedef struct {
    int n;
    int64_t ext[MAX_AXES];
    int64_t total;
} side;

/* An affine address or number: base + strides along the two sides (in elements, or the coefficients of an index). */
typedef struct {
    int64_t base, o[MAX_AXES], i[MAX_AXES];
} reach;

typedef struct {
    reach at;
    int buffer;
    tc_dtype dtype;     /* in memory */
    uint8_t cls, shift; /* shift: log2 of the element size */
    bool dense;         /* every block is contiguous in memory */
    int ngather;        /* gathered dimensions */
    struct {
        int value;
        int64_t stride, size;
        reach at;
        int dim;
        uint8_t cls; /* split: of the value */
    } * gather;
    bool along[2]; /* split: some gathered value varies along the outer, the inner side and no other */
    bool checked;
    int inst;
    int pred; /* value or -1 */
} access;

typedef enum {
    S_FN,
    S_FN_ONE,
    S_TABLE,
    S_CAST,
    S_CONST,
    S_HOST,
    S_LOAD,
    S_GATHER,
    S_STORE,
    S_SPREAD,
    S_INDEX,
    S_REDUCE,
    S_FINISH,
    S_SCAN,
    S_PART
} step_kind;

typedef struct {
    uint8_t kind, cls, dtype, op;
    uint8_t from_cls, part, shift; /* shift: log2 of the result's size */
    int out, a, b, c;              /* places in the pointer table; -1: none */
    int aux;                       /* access, reduction, constant, table */
    int pieces;                    /* of nest.piece elements, in which it runs where memory is fetched ahead */
    uint8_t one, fixed;            /* S_FN_ONE: bit k: operand k is one element a row of the block (along the slow side); of those, one at all */
    bool thin;                     /* S_LOAD: an element a part; S_FN_ONE: rows are parts: runs along the last of several inner axes */
    union {
        tc_block_fn fn;
        tc_cast_fn cast;
    };
} step;

typedef TC_VEC(step) steps;

/* Where a value lies: a slot of the worker's scratch; a row buffer that moves with the block; memory. */
typedef struct {
    uint8_t kind;
    uint8_t cls, shift;
    size_t offset;
    int acc;
} place;
enum { P_NONE, P_SLOT, P_KEPT, P_MEM };

typedef struct {
    uint8_t op, dtype; /* dtype of the operand */
    bool whole;        /* one block sees all of the inner axes: no state between blocks */
    int64_t stride;    /* columns: elements from one inner index to the next where the operand lies in memory; 0: a block */
    size_t state;      /* offset in the worker's scratch */
    size_t leaf;       /* columns: lanes, a leaf, the levels of the tree */
    int levels;
} reduction;

typedef struct {
    uint8_t bytes[16];
    tc_sym host;
    tc_dtype dtype;
} constant;

/* Memory that later work will read or write, fetched while this block computes: `pace` lines before each piece of work of a stage. A piece is
 * a step, or so many elements of an element-wise one that a block has about as many pieces whatever the number of its steps. Several steps
 * fetch the next block; one alone fetches what lies LEAD bytes ahead of it, since more would not stay in the first cache. */
enum { MAX_AHEAD = 8, PIECE = 128, LINE = 64, LEAD = 2048 };
typedef struct {
    int place;
    bool written;
    int64_t bytes, lead; /* of a whole block; from a block's begin to what is fetched first */
    int *pace;           /* by stage */
} stream;

typedef struct {
    side O, I;
    int64_t R, C; /* block */
    bool col;     /* blocks lie column-major: inner index slow, outer fast */
    bool reduces;
    bool regions; /* blocks are parts of regions (tc_block_regions): pieces of rows, with no memory to fetch ahead */
    int nstages;
    steps once, *row, *body; /* at a worker's start; before stage k (row[nstages]: at the end); in stage k */
    access *acc;
    int nacc;
    place *places;
    int nplaces;
    int *moving;
    int nmoving; /* places whose pointer changes with the block */
    reduction *red;
    int nred;
    constant *con;
    int ncon;
    bool hosts;                 /* some of them are computed in each run */
    size_t scratch, tmp, index; /* bytes a worker; offsets of the conversion and index areas */
    stream ahead[MAX_AHEAD];
    int nahead, piece; /* piece: elements */
    int64_t items, grain;
    bool one; /* all of it is one block */
    struct kept_walk *kept;
    bool wide;      /* few long rows, or columns: each is cut into chunks, stage by stage */
    int64_t chunk;  /* wide: elements, 2^k leaves, so that chunks merge by the same tree as leaves */
    size_t partial; /* wide: offset of the chunks' results in the first worker's scratch */
} nest;

/* Regions of a loop with at most so many columns are often whole rows, and these have a second nest. */
enum { WHOLE_COLUMNS = 1024 };

/* Wide: what a chunk gives of a reduction, for the rows of a block: their values, then from VALUE_BYTES each on those that indices belong to. */
enum { VALUE_BYTES = 32, PART_BYTES = 48 };
static inline size_t part_bytes(const nest *n) { return (size_t)n->R * PART_BYTES; }
static inline int64_t chunk_count(const nest *n) { return (n->I.total + n->chunk - 1) / n->chunk; }

/* What an epilogue's loop computes in the form of tc_epilogue_plain: buffers, -1: none. result -1: nothing. */
typedef struct {
    int result, store, scale, shift, more;
    double low, high;
    tc_lv load, last; /* the result, and what is made of it */
    bool first;       /* more follows */
    bool half;        /* of bf16: run by tc_half_rows, all of it */
    int table;        /* of the block's, whose values are stored; -1: none */
    int64_t cols;     /* of a row, then */
} block_plain;

/* What follows the plain part of an epilogue: a copy of its loop that reads the result instead. */
typedef struct {
    tc_loop loop;
    tc_schedule schedule;
    tc_block *block;
} block_rest;

/* block_table.c: what instruction `to`, a rounding to a 16-bit type, makes of the 16-bit values of `from`. */
typedef struct {
    tc_buf function;   /* its types and instructions, in bytes */
    uint16_t *entries; /* by the bits of the value; one more than there are values */
} block_table;
struct tc_block_tables {
    TC_VEC(block_table) list;
};

struct tc_block {
    const tc_isa_ops *isa;
    const tc_schedule *schedule;
    int nbuffers;
    size_t scratch, temps;
    size_t *temp_offset; /* a buffer; SIZE_MAX: not a temporary */
    nest *nests;
    int nnests;
    block_plain plain; /* of a region loop */
    block_rest *rest;  /* plain.first; or NULL */
    tc_block_tables *tables, *own_tables;
};

/* One worker in one run of a nest. */
typedef struct {
    const tc_block *b;
    const nest *n;
    void *const *data;
    char *scratch;
    void **ptr;   /* by place */
    int64_t *row; /* by access: offset of the block's first row */
    int64_t o0, i0, r, c, count[4];
    const char *ahead[MAX_AHEAD], *ahead_end[MAX_AHEAD]; /* of each stream: next line, end */
    tc_abi_fault *fault;
    const access *split; /* whose indices along the fast side stand in the index area, and from where on, how many; NULL: none */
    int64_t split_at, split_n;
    const char *shared; /* wide: results of reductions, part_bytes each; NULL: finish them here */
    int stage;          /* wide: row steps done so far */
    bool quiet;         /* wide: another worker stores what does not vary along the row */
} walk;

/* The walk of a nest that is one block, kept from run to run with its tables: only the addresses of buffers are filled in. */
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
bool side_chain(const side *s, const int64_t *stride, int64_t last); /* flat indices of the side are `last` elements apart */

static inline int64_t part_length(const nest *n) { return n->I.ext[n->I.n - 1]; }

/* block_plain.c */
void find_plain(tc_block *b, const tc_loop *l, const nest *n, const tc_lv *root); /* b->plain, n being of a region loop; root: find_tables */
bool plain_regions(const tc_block *b, void *const *data, tc_epilogue_plain *out);
tc_half_rows half_regions(const tc_block *b, void *const *data);

/* block_table.c */
/* root[i]: the instruction of whose value instruction i is a function worth a table, used so many times; -1: none. */
void find_tables(const tc_loop *l, const int64_t *extent, int64_t uses, tc_lv *root);
int table_of(tc_block *b, const tc_loop *l, tc_lv from, tc_lv to); /* its place in b->tables, made where it is new */
/* What is made 16 bits wide to look `from` up: itself, or what it rounds. */
tc_dtype half_type(const tc_loop *l, tc_lv v); /* f16 or bf16 where a value of float32 is always one of these; else TC_DTYPE_NONE */
static inline tc_lv table_operand(const tc_loop *l, tc_lv from) { return l->inst.data[from].kind == TC_L_ROUND ? l->inst.data[from].a[0] : from; }

/* block_mem.c */
int64_t reach_offset(const side *s, const int64_t *stride, int64_t flat);
void run_load(walk *w, const step *s);
void run_gather(walk *w, const step *s);
void run_store(walk *w, const step *s);
void run_spread(walk *w, const step *s);
void run_index(walk *w, const step *s);

/* block_reduce.c */
void reduce_start(walk *w, const reduction *r);
void run_reduce(walk *w, const step *s);
void run_finish(walk *w, const step *s);
void run_scan(walk *w, const step *s);
size_t reduction_state(const nest *n, reduction *r);                                                   /* bytes */
void export_part(walk *w, const step *finish, char *part);                                             /* what a chunk's reduction gives */
void merge_parts(const walk *w, const step *finish, char *parts, int64_t n, size_t stride, char *out); /* overwrites parts */
size_t reduced_bytes(const walk *w, const step *finish);                                               /* of the block's rows */

#endif
