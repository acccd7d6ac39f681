/* Decodes an image file into the tensor that an input expects.
 *
 *     input          tensor
 *     u8, rank 1     the file's bytes: the program decodes them
 *     rank 2         [H, W], grey
 *     rank 3         [C, H, W], or [H, W, C] where the last size is 1, 3 or 4 and the first is none of these
 *     rank 4         the same with a leading dimension of 1
 *
 * C is the input's, else the file's. Integers hold 0..255, floating-point numbers 0..1: v / 255 in float32, as torchvision's ToTensor. */
#include "tc-run/run.h"

#include "kernel/image.h"

static bool is_channels(tc_sym s, int64_t *out) { return tc_sym_const_int(s, out) && (*out == 1 || *out == 3 || *out == 4); }

/* Permutes [H, W, C] to the layout that the input's sizes ask for. */
static tc_status lay_out(const tc_tensor *pixels, int rank, bool last, tc_tensor *out) {
    int64_t size[4] = {1}, stride[4] = {0};
    int from = rank == 4;
    for (int k = from; k < rank; k++) {
        int d = rank == 2 ? k : last ? k - from : (k - from + 2) % 3;
        size[k] = pixels->size[d], stride[k] = pixels->stride[d];
    }
    return tc_tensor_view(pixels->storage, TC_U8, rank, size, stride, pixels->offset, out);
}

static tc_status scaled(const tc_tensor *bytes, tc_dtype dtype, tc_tensor *out) {
    tc_tensor t, flat;
    if (!tc_is_float(dtype)) return tc_tensor_cast(bytes, dtype, out);
    TC_TRY(tc_tensor_contiguous(bytes, &flat));
    tc_status st = tc_tensor_empty(TC_F32, bytes->rank, bytes->size, &t);
    const unsigned char *from = st ? NULL : tc_tensor_data(&flat);
    for (int64_t i = 0, n = st ? 0 : tc_tensor_numel(&t); i < n; i++) ((float *)tc_tensor_data(&t))[i] = (float)from[i] / 255.0f;
    tc_tensor_deinit(&flat);
    if (st || dtype == TC_F32) {
        if (!st) *out = t;
        return st;
    }
    st = tc_tensor_cast(&t, dtype, out);
    tc_tensor_deinit(&t);
    return st;
}

tc_status image_fit(const char *file, const tc_tensor *bytes, const tc_input *in, tc_tensor *out) {
    if (in->value->kind != TC_V_TENSOR) return tc_error(TC_USAGE, "input %s is a number, not an image", in->name);
    const tc_meta *m = &in->value->meta;
    int64_t first = 0, channels = 0;
    if (m->rank == 1 && m->dtype == TC_U8) {
        *out = tc_tensor_share(bytes);
        return NULL;
    }
    if (m->rank < 2 || m->rank > 4)
        return tc_error(TC_CONTENT, "%s is an image, input %s has %d dimensions, expected 2 to 4 (or the file's bytes: %s:raw=)", file, in->name,
                        m->rank, in->name);
    int at = m->rank - 3;
    bool last = m->rank > 2 && !is_channels(m->size[at], &first) && is_channels(m->size[m->rank - 1], &channels);
    if (m->rank == 2) channels = 1;
    else if (!last) channels = first;
    tc_tensor pixels, view = {0};
    TC_TRY(tc_image_decode(file, tc_tensor_data(bytes), tc_tensor_bytes(bytes), (tc_image_mode)channels, &pixels));
    tc_status st = lay_out(&pixels, m->rank, last, &view);
    tc_tensor_deinit(&pixels);
    if (!st) st = scaled(&view, m->dtype, out);
    tc_tensor_deinit(&view);
    return st;
}
