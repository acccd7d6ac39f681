/* The interface between tc and compiled code: plain C, no dependence on any other header of tc, versioned.
 *
 * A group is one fused loop (softmax with what is before and after it). tc makes one flat list of calls for a program and a tuple of
 * sizes; an entry is a kernel, an interpreted group or a compiled group. The last two are filled in the same way:
 *
 *     tc_abi_call ---- buffers[]   address of element 0, sizes and strides in elements
 *                 |--- extents[]   of the loop's axes
 *                 |--- numbers[]   of the symbolic expressions that are not constant
 *                 |--- scratch     bytes that the group asked for
 *                 '--- parallel_for, pool    NULL: serial
 *
 * A compiled module is a shared object that exports one symbol, tc_abi_module_1, refers to libc and libm only, allocates nothing,
 * prints nothing and keeps no state. Its groups are found by key: the BLAKE2b hash of the loop's canonical text, so a module serves
 * every program that holds an equal loop. Bits do not depend on workers (tc-numerics(7)). */
#ifndef TC_ABI_H
#define TC_ABI_H

#include <stddef.h>
#include <stdint.h>

#define TC_ABI_VERSION 1
#define TC_ABI_SYMBOL "tc_abi_module_1"
#define TC_ABI_KEY_BYTES 32

typedef struct {
    void *data;            /* element at index 0, 0, ...; read-only where the group does not store */
    const int64_t *size;   /* one for each dimension */
    const int64_t *stride; /* in elements; 0 where a size is broadcast, never negative */
} tc_abi_buffer;

typedef union {
    int64_t i;
    double f;
} tc_abi_number; /* int and bool expressions: i; float expressions: f */

/* fn runs items [begin, end); worker is in 0..workers-1 and unique among concurrent calls. */
typedef void (*tc_abi_range_fn)(void *ctx, int64_t begin, int64_t end, int worker);
/* Splits count items into ranges of at least `grain` items, each item exactly once; returns when all are done. */
typedef void (*tc_abi_parallel_fn)(void *pool, int64_t count, int64_t grain, tc_abi_range_fn fn, void *ctx);

/* The first index that a gather found outside its dimension. The results are then undefined. */
typedef struct {
    int32_t set;  /* 1 when there is one; written atomically */
    int32_t inst; /* instruction of the loop */
    int32_t dim;  /* dimension of the buffer that it reads */
    int64_t index, size;
} tc_abi_fault;

typedef struct {
    uint32_t bytes;  /* sizeof(tc_abi_call) of the caller: fields are only ever added at the end */
    int32_t workers; /* at least 1 */
    const tc_abi_buffer *buffers;
    const int64_t *extents;
    const tc_abi_number *numbers;
    void *scratch;                   /* 64-byte aligned, as large as tc_abi_group.scratch asked; contents undefined */
    tc_abi_parallel_fn parallel_for; /* NULL: the group runs everything in the caller, as worker 0 */
    void *pool;                      /* first argument of parallel_for */
    tc_abi_fault *fault;             /* where a checked gather reports; zeroed by the caller */
} tc_abi_call;

typedef struct {
    uint8_t key[TC_ABI_KEY_BYTES];
    const char *name; /* "g3_softmax": for profiles and messages */
    int32_t nbuffers, naxes, nnumbers;
    const uint8_t *dense; /* nbuffers flags: 1: the code takes this buffer as contiguous, row-major; 2: it takes the last stride as 1; the caller
                              checks (strides of sizes 1 do not matter) and interprets the group when it is not so */
    int64_t (*scratch)(const tc_abi_call *call); /* bytes for these extents, numbers and workers; NULL: none. Reads no data */
    void (*run)(const tc_abi_call *call);
} tc_abi_group;

typedef struct {
    uint32_t version; /* TC_ABI_VERSION */
    uint32_t ngroups;
    const tc_abi_group *groups; /* ascending by key */
    const char *isa;            /* row of isa.tab that the code needs: "avx2" */
    const char *made_by;        /* tc's version and the compiler's, for people */
} tc_abi_module;

#endif
