/* Tensors of a checkpoint that share memory, for formats that store it once. */
#ifndef TC_CKPT_SHARED_H
#define TC_CKPT_SHARED_H

#include "ckpt/ckpt.h"

/* A tensor to be written. */
typedef struct {
    size_t from; /* index in the checkpoint */
    int perm[TC_MAX_RANK];
} change;

/* Sets same_as, at and stride of each of n heads, whose same_as is its own index. changes: head by head, what is written as it. */
void find_shared(const tc_ckpt *c, tc_head *heads, const change *changes, size_t n);
/* For torch.save: tensors that lie densely in another order than row-major (channels_last) are streamed in that order and keep their strides. */
void keep_order(const tc_ckpt *c, tc_head *heads, change *changes, size_t n);

#endif
