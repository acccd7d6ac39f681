/* Images as tensors: PNG and JPEG through tc-image.so (kernel/image/tc_image.h), PNM, BMP and TIFF by readers of our own.
 *
 *     tc_tensor t;  TC_TRY(tc_image_decode("cat.png", bytes, n, TC_IMAGE_RGB, &t));   // u8 [height, width, 3]
 *
 * An image of more than TC_IMAGE_MOST bytes is refused before anything is decoded. */
#ifndef TC_KERNEL_IMAGE_H
#define TC_KERNEL_IMAGE_H

#include "kernel/image/tc_image.h"
#include "kernel/kernel.h"

enum { TC_IMAGE_MOST = 192 << 20 };

/* torchvision.io.ImageReadMode */
typedef enum { TC_IMAGE_UNCHANGED, TC_IMAGE_GRAY, TC_IMAGE_GRAY_ALPHA, TC_IMAGE_RGB, TC_IMAGE_RGB_ALPHA } tc_image_mode;

/* Do the first n bytes (16 are enough) begin an image? */
bool tc_image_is(const void *data, size_t n);
/* Decodes to u8 [height, width, channels], contiguous. Grey becomes colour by repetition; colour becomes grey as 0.2989 R + 0.587 G + 0.114 B in
 * units of 1/32768, for JPEG as the luma it stores. name: for messages. TC_CONTENT: damaged or too large; TC_UNSUPPORTED: a format that is not read;
 * TC_ENV: tc-image.so cannot be loaded. */
tc_status tc_image_decode(const char *name, const void *data, size_t n, tc_image_mode mode, tc_tensor *out);

extern const tc_kernel tc_k_decode_image; /* image::decode_image(Tensor data, int mode, bool apply_exif_orientation): u8 [C, H, W] */

/* ---- our own readers, with the contract of the functions in tc_image_table ---- */
bool tc_image_pnm(const unsigned char *data, size_t n, tc_image_sink *s);
bool tc_image_bmp(const unsigned char *data, size_t n, tc_image_sink *s);
bool tc_image_tiff(const unsigned char *data, size_t n, tc_image_sink *s);
bool tc_image_fail(tc_image_sink *s, const char *fmt, ...) TC_PRINTF(2, 3); /* sets why; false */

#endif
