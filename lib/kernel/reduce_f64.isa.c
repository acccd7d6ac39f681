/* Reductions of float64 in the fixed order. */
#include <string.h>

#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/row_fold.h"
#include "kernel/scalar_arith.h"
#include "kernel/scalar_log.h"

#define T double
#define S f64
#include "kernel/reduce_float.h"
