/* Chains of calls that are executed on one slice of dimension 0 after another (slices.c). */
#ifndef TC_RUNTIME_SLICES_H
#define TC_RUNTIME_SLICES_H

#include "runtime/frame.h"

/* Finds the chains of b, and adapts the sizes and live ranges of roots to them. b: its memory is not planned yet; slots: entries of b->t. */
void slices_find(const frame *f, bound *b, size_t slots);
/* Between slices_begin and slices_end, the tensors of a chain show entries [at, at + result) of dimension 0, as slices_select says. */
void slices_begin(bound *b, slices *s);
int64_t slices_select(bound *b, const slices *s, int64_t at);
void slices_end(bound *b, const slices *s);
void slices_free(bound *b);

#endif
