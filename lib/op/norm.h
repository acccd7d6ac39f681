/* What the layer norms (norm.c) and the norms of channels (norm_batch.c) share. */
#ifndef TC_OP_NORM_H
#define TC_OP_NORM_H

#include "op/lower.h"
#include "op/shape.h"

/* Fails unless weight, bias and running statistics (`args`, n of them; -1: no such argument) have one type: the input's, or float32 for a 16-bit input. */
tc_status tc_norm_check_types(tc_shape_ctx *c, int n, const int *args);
/* The type of the statistics that are returned: that of the first of these arguments that is given, else the input's. */
tc_dtype tc_norm_stat_type(const tc_shape_ctx *c, int n, const int *args);
/* 1 / sqrt(var + eps), in float64. */
tc_lv tc_norm_rstd(tc_lower *l, tc_lv var, double eps);

/* mean and 1 / std, which broadcast to the input, and their gradients in a double backward (NULL: none). `count` elements share one of each. */
typedef struct {
    tc_value *mean, *rstd, *grad_mean, *grad_rstd;
    tc_sym count;
} tc_norm_stats;
/* The part of x's gradient that comes through the statistics: grad_mean / count - grad_rstd rstd^3 (x - mean) / count. */
tc_value *tc_norm_grad_through(tc_emit *e, tc_value *x, const tc_norm_stats *s);

/* Does element i of a backward operator's output_mask, argument `arg`, ask for that gradient? A mask that is not given asks for all. */
bool tc_norm_wants(const tc_node *n, int arg, int i);
/* 16-bit gradients are computed in float32 and rounded once: v in the type to compute with; NULL for NULL. */
tc_value *tc_norm_wide(tc_emit *e, tc_value *v);
/* Makes v result i of a backward operator, in the type of argument `like`. */
void tc_norm_result_as(tc_emit *e, const tc_node *n, int i, tc_value *v, int like);

#endif
