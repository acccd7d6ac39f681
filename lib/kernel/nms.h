/* Non-maximum suppression of overlapping boxes. */
#ifndef TC_KERNEL_NMS_H
#define TC_KERNEL_NMS_H

#include "kernel/kernel.h"

extern const tc_kernel tc_k_nms; /* torchvision::nms(Tensor dets [N, 4], Tensor scores [N], float iou_threshold): i64, best first */

#endif
