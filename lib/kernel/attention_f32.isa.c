/* Attention for float32, with weights rounded to bfloat16 where products take that. */
#include <math.h>

#include "kernel/attention_impl.h"
#include "kernel/row_fold.h"
#include "kernel/scalar.h"
#include "kernel/vec_f32.h"

#include "kernel/half_plain.h"

#include "kernel/attention_rounded.h"

#define BITS TC_F32
#define ROUNDED a->isa->attention_weights
#define EXP tc_x_exp_f32
#define LOG tc_x_log_f32
#define TREE tc_tree_f32
#define TREE_PUSH tc_tree_f32_push
#define TREE_SUM tc_tree_f32_sum
#include "kernel/attention_type.h"
