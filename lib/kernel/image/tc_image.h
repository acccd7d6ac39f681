/* libpng and libjpeg-turbo as a table of functions in a library of its own, so that programs start without them: tc-image.so is opened by the first
 * image that needs it (kernel/image.c). Both libraries are used with their defaults, as torchvision and Pillow do: JPEG with the accurate integer
 * transform and smooth upsampling, PNG without gamma correction.
 *
 * Samples are eight bits; of sixteen the upper eight are kept. Metadata is skipped; damaged data are an error. */
#ifndef TC_KERNEL_IMAGE_TC_IMAGE_H
#define TC_KERNEL_IMAGE_TC_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_IMAGE_VERSION 1

enum { TC_IMAGE_SIDE = 1 << 20 }; /* limit on width and height */

/* Where the pixels go: begin() is called once, when the sizes are known, and returns a buffer of height * width * channels bytes, or NULL to stop. */
typedef struct tc_image_sink {
    unsigned char *(*begin)(struct tc_image_sink *s, int64_t height, int64_t width, int channels);
    char why[256]; /* a failure, in words */
} tc_image_sink;

typedef struct {
    int version;
    /* Both return false on failure, with s->why. gray: one channel, the luma, whatever the file has. CMYK becomes RGB. */
    bool (*jpeg)(const unsigned char *data, size_t n, bool gray, tc_image_sink *s);
    /* 1, 2 (grey and alpha), 3 or 4 channels, as in the file; palettes become RGB */
    bool (*png)(const unsigned char *data, size_t n, tc_image_sink *s);
} tc_image_table; /* the symbol tc_image */

#endif
