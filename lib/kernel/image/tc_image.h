/* libpng and libjpeg-turbo behind one table, so that no program starts with them: tc-image.so is opened by the first image that needs it
 * (kernel/image.c). Both libraries keep their defaults, which are torchvision's and Pillow's: JPEG with the accurate integer transform and
 * smooth upsampling, PNG without gamma.
 *
 * Only eight bits a sample: of sixteen the upper ones are kept. Metadata chunks are skipped, damage is an error. */
#ifndef TC_KERNEL_IMAGE_TC_IMAGE_H
#define TC_KERNEL_IMAGE_TC_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_IMAGE_VERSION 1

enum { TC_IMAGE_SIDE = 1 << 20 }; /* no image is wider or higher */

/* Where the pixels go: begin() is called once when the sizes are known, and answers the place of height * width * channels bytes, rows of
 * pixels of samples, or NULL to stop. */
typedef struct tc_image_sink {
    unsigned char *(*begin)(struct tc_image_sink *s, int64_t height, int64_t width, int channels);
    char why[256]; /* a failure, in words */
} tc_image_sink;

typedef struct {
    int version;
    /* false: s->why. gray: one channel whatever the file has (JPEG: its brightness). CMYK becomes RGB. */
    bool (*jpeg)(const unsigned char *data, size_t n, bool gray, tc_image_sink *s);
    /* 1, 2 (gray and opacity), 3 or 4 channels, as the file has; palettes become RGB */
    bool (*png)(const unsigned char *data, size_t n, tc_image_sink *s);
} tc_image_table; /* the symbol tc_image */

#endif
