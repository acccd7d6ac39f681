/* The ranks that run one program together, each on data of its own: what collectives call (kernel/ranks.h), filled in by dist. A C unit that tc-compile
 * writes gets the same struct from its caller. All ranks make the same calls in the same order. */
#ifndef TC_BASE_COMM_H
#define TC_BASE_COMM_H

#include <stddef.h>

typedef struct tc_comm {
    int rank, size; /* rank: 0 .. size - 1 */
    /* Each returns 0, or another number for a failure. n: bytes of a block. */
    int (*all_gather)(void *self, const void *mine, void *all, size_t n); /* all: `size` blocks, those of the ranks in order; mine is none of them */
    int (*all_to_all)(void *self, const void *blocks, void *got, size_t n); /* block r of `blocks` goes to rank r; block r of `got` comes from it */
    int (*broadcast)(void *self, void *data, size_t n, int root);           /* root's block is copied to all */
    const char *(*failure)(void *self);                                     /* one line: what failed last; may be NULL */
    void *self;
} tc_comm;

#endif
