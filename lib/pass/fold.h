/* Computing at compile time what does not depend on any input. */
#ifndef TC_PASS_FOLD_H
#define TC_PASS_FOLD_H

#include "op/op.h"

typedef struct {
    size_t max_bytes; /* of one folded result; 0: 1 MiB */
    uint32_t from;    /* values made before this id stay */
    bool parameters;  /* also fold what depends on parameters and buffers alone (inference with fixed weights) */
} tc_fold_options;

/* Values that only constants reach, and that something else reads, become constants of the program (names "_folded", "_folded_1"). Random, impure
 * and data-dependent nodes, views of what is stored and plain factories (zeros, full) that nothing constant reads stay. The program must be
 * functional. */
tc_status tc_fold(tc_program *p, const tc_eval *eval, const tc_fold_options *options);

#endif
