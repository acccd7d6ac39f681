/* Attention on float32. */
#include <math.h>

#include "kernel/attention_impl.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#define T float
#define S f32
#define BITS TC_F32
#define EXP tc_x_exp_f32
#define LOG tc_x_log_f32
#define FMA __builtin_fmaf
#define TREE tc_tree_f32
#define TREE_PUSH tc_tree_f32_push
#define TREE_SUM tc_tree_f32_sum
#include "kernel/attention_type.h"
