/* The convolution loops of one type and instruction set, and their table; included by conv_f32.isa.c and conv_f64.isa.c after vec_*.h. */
#include "kernel/conv_lanes.h"
#include "kernel/conv_tile.h"
#include "kernel/conv_place.h"
#include "kernel/conv_block.h"
#include "kernel/conv_grad_tile.h"

extern const tc_conv_ops TC_ROW(N_(tc_conv));
const tc_conv_ops TC_ROW(N_(tc_conv)) = {MR,         NR,  work_bytes, conv_block, pack_panel, grad_tile, grad_transpose, VL, to_lanes,
                                         from_lanes, row, row_last,   grad_row,   push,       sum};
