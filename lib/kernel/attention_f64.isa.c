/* Attention for float64. */
#include <math.h>

#include "kernel/attention_impl.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#define T double
#define S f64
#define BITS TC_F64
#define EXP tc_x_exp_f64
#define LOG tc_x_log_f64
#define FMA __builtin_fma
#define TREE tc_tree_f64
#define TREE_PUSH tc_tree_f64_push
#define TREE_SUM tc_tree_f64_sum
#include "kernel/attention_type.h"
