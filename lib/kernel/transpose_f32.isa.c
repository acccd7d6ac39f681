/* Transposition of elements of 4 bytes. */
#include "kernel/vec_f32.h"

#include "kernel/transpose_type.h"
