/* Version 1 of the compiled-code interface, written by hand: one group, y = max(x, 0) + c over [A, B], rows of x with any stride.
 * Kept and run for ever: what loads this today must load it in ten years. Flags: cc -O2 -shared -fPIC -I lib/codegen. */
#include "tc_abi.h"

typedef struct {
    const tc_abi_call *call;
} relu_ctx;

static void relu_rows(void *ctx, int64_t begin, int64_t end, int worker) {
    const tc_abi_call *c = ((const relu_ctx *)ctx)->call;
    const tc_abi_buffer *x = &c->buffers[0], *y = &c->buffers[1];
    const float add = (float)c->numbers[0].f;
    (void)worker;
    for (int64_t a = begin; a < end; a++)
        for (int64_t b = 0; b < c->extents[1]; b++) {
            float v = ((const float *)x->data)[a * x->stride[0] + b * x->stride[1]];
            ((float *)y->data)[a * c->extents[1] + b] = (v > 0.0f || v != v ? v : 0.0f) + add;
        }
}

static void relu_run(const tc_abi_call *c) {
    relu_ctx ctx = {c};
    if (c->parallel_for) c->parallel_for(c->pool, c->extents[0], 1, relu_rows, &ctx);
    else relu_rows(&ctx, 0, c->extents[0], 0);
}

static const uint8_t dense[2] = {0, 1};
static const tc_abi_group groups[1] = {
    {{0x74, 0x63, 0x01}, "g0_relu", 2, 2, 1, dense, NULL, relu_run},
};
__attribute__((visibility("default"))) const tc_abi_module tc_abi_module_1 = {TC_ABI_VERSION, 1, groups, "portable", "by hand"};
