/* Transposition of elements of 8 bytes. */
#include "kernel/vec_f64.h"

#include "kernel/transpose_type.h"
