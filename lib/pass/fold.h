/* Constant folding. */
#ifndef TC_PASS_FOLD_H
#define TC_PASS_FOLD_H

#include "op/op.h"

typedef struct {
    size_t max_bytes; /* largest folded result; 0: 1 MiB */
    uint32_t from;    /* values with smaller ids are not folded */
    bool parameters;  /* also fold what depends on parameters and buffers alone (inference with fixed weights) */
} tc_fold_options;

/* Values that depend only on constants, and that another node reads, become constants of the program (names "_folded", "_folded_1"). Not folded: random,
 * impure and data-dependent nodes, views of stored tensors, and factories (zeros, full) that no constant computation reads. The program must be
 * functional. */
tc_status tc_fold(tc_program *p, const tc_eval *eval, const tc_fold_options *options);

#endif
