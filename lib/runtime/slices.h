/* Chains of calls that are run by slices of dimension 0 (slices.c). */
#ifndef TC_RUNTIME_SLICES_H
#define TC_RUNTIME_SLICES_H

#include "runtime/frame.h"

/* Finds the chains of a bound program of so many roots whose memory is not planned yet, and says there what they need. */
void slices_find(const frame *f, bound *b, size_t slots);
/* Tensors of the chain show entries [at, at + result) of dimension 0 between begin and end. */
void slices_begin(bound *b, slices *s);
int64_t slices_show(bound *b, const slices *s, int64_t at);
void slices_end(bound *b, const slices *s);
void slices_free(bound *b);

#endif
