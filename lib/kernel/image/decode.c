/* libpng and libjpeg-turbo behind the table of tc_image.h. They report errors by longjmp; no state is kept between calls. */
#include "tc_image.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

/* ---- JPEG ---- */
/* A progressive file of a few kilobytes can contain millions of scans, each as slow as decoding the image: SCANS are always allowed, more only while
 * the pixels of all scans stay below MOST_SCANNED, which is about half a second. */
enum { SCANS = 16, MOST_SCANS = 500 };
static const int64_t MOST_SCANNED = (int64_t)1 << 30;

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char *why;
} jpeg_failure;

static void jpeg_fail(j_common_ptr j) {
    jpeg_failure *f = (jpeg_failure *)j->err;
    char text[JMSG_LENGTH_MAX];
    j->err->format_message(j, text);
    snprintf(f->why, sizeof((tc_image_sink *)0)->why, "%s", text);
    longjmp(f->back, 1);
}
/* level -1: a warning that the data are damaged; the library would continue with grey pixels. Warnings that occur for valid files are ignored. */
static void jpeg_message(j_common_ptr j, int level) {
    int code = j->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR) jpeg_fail(j);
}
static void jpeg_progress(j_common_ptr j) {
    const struct jpeg_decompress_struct *d = (j_decompress_ptr)j;
    if (!j->is_decompressor || d->input_scan_number <= SCANS) return;
    int64_t pixels = (int64_t)d->image_width * d->image_height, most = MOST_SCANNED / (pixels ? pixels : 1);
    most = most < SCANS ? SCANS : most > MOST_SCANS ? MOST_SCANS : most;
    if (d->input_scan_number <= most) return;
    snprintf(((jpeg_failure *)j->err)->why, sizeof((tc_image_sink *)0)->why, "more than %d scans", (int)most);
    longjmp(((jpeg_failure *)j->err)->back, 1);
}

static unsigned char from_ink(int light, int ink) { /* light - light * ink / 255, rounded */
    int v = light * ink + 128;
    v = light - (((v >> 8) + v) >> 8);
    return (unsigned char)(v < 0 ? 0 : v);
}
static void cmyk_to_rgb(unsigned char *to, const unsigned char *from, size_t width, bool inverted) {
    for (size_t i = 0; i < width; i++, from += 4, to += 3) {
        int flip = inverted ? 255 : 0, light = 255 - (from[3] ^ flip);
        for (int k = 0; k < 3; k++) to[k] = from_ink(light, from[k] ^ flip);
    }
}

/* Reads all rows; CMYK rows are read to `inks` and converted. */
static bool jpeg_rows(struct jpeg_decompress_struct *j, unsigned char *out, unsigned char *inks) {
    size_t row = (size_t)j->output_width * (j->output_components == 4 ? 3 : (size_t)j->output_components);
    while (j->output_scanline < j->output_height) {
        unsigned char *to = out + j->output_scanline * row, *at = inks ? inks : to;
        jpeg_read_scanlines(j, &at, 1);
        if (inks) cmyk_to_rgb(to, inks, j->output_width, j->saw_Adobe_marker);
    }
    return jpeg_finish_decompress(j);
}

static bool decode_jpeg(const unsigned char *data, size_t n, bool gray, tc_image_sink *s) {
    struct jpeg_decompress_struct j;
    struct jpeg_progress_mgr progress = {.progress_monitor = jpeg_progress};
    jpeg_failure f = {.why = s->why};
    unsigned char *volatile inks = NULL;
    j.err = jpeg_std_error(&f.base);
    f.base.error_exit = jpeg_fail;
    f.base.emit_message = jpeg_message;
    if (setjmp(f.back)) {
        jpeg_destroy_decompress(&j);
        free(inks);
        return false;
    }
    jpeg_create_decompress(&j);
    j.progress = &progress;
    jpeg_mem_src(&j, data, n);
    jpeg_read_header(&j, TRUE);
    bool ink = j.jpeg_color_space == JCS_CMYK || j.jpeg_color_space == JCS_YCCK;
    bool one = j.num_components == 1 || (gray && j.jpeg_color_space == JCS_YCbCr);
    j.out_color_space = one ? JCS_GRAYSCALE : ink ? JCS_CMYK : JCS_RGB;
    unsigned char *out = s->begin(s, j.image_height, j.image_width, one ? 1 : 3);
    if (out) jpeg_start_decompress(&j);
    if (out && ink) inks = malloc((size_t)j.output_width * 4);
    bool done = out && (!ink || inks) && jpeg_rows(&j, out, inks);
    jpeg_destroy_decompress(&j);
    free(inks);
    return done;
}

/* ---- PNG ---- */
typedef struct {
    const unsigned char *at;
    size_t left;
    char *why;
} png_input;

static void png_fail(png_structp p, png_const_charp text) {
    snprintf(((png_input *)png_get_error_ptr(p))->why, sizeof((tc_image_sink *)0)->why, "%s", text);
    png_longjmp(p, 1);
}
static void png_silent(png_structp p, png_const_charp text) { (void)p, (void)text; }
static void png_take(png_structp p, png_bytep to, size_t n) {
    png_input *in = png_get_io_ptr(p);
    if (n > in->left) png_error(p, "the file ends early");
    memcpy(to, in->at, n);
    in->at += n;
    in->left -= n;
}

/* Asks libpng for eight bits per sample, with palettes and transparent colours expanded. Returns the number of channels. */
static int png_form(png_structp p, png_infop info) {
    int type = png_get_color_type(p, info);
    if (png_get_bit_depth(p, info) == 16) png_set_strip_16(p);
    png_set_expand(p);
    png_set_interlace_handling(p);
    bool alpha = type & PNG_COLOR_MASK_ALPHA || png_get_valid(p, info, PNG_INFO_tRNS);
    return (type & PNG_COLOR_MASK_COLOR ? 3 : 1) + alpha;
}

static bool decode_png(const unsigned char *data, size_t n, tc_image_sink *s) {
    png_input in = {data, n, s->why};
    png_structp p = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, png_fail, png_silent);
    png_infop info = p ? png_create_info_struct(p) : NULL;
    png_bytep *volatile rows = NULL;
    if (!info || setjmp(png_jmpbuf(p))) {
        png_destroy_read_struct(&p, &info, NULL);
        free(rows);
        return false;
    }
    png_set_read_fn(p, &in, png_take);
    png_set_user_limits(p, TC_IMAGE_SIDE, TC_IMAGE_SIDE);
    png_set_keep_unknown_chunks(p, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* texts, profiles: not unpacked */
    png_read_info(p, info);
    size_t width = png_get_image_width(p, info), height = png_get_image_height(p, info);
    int channels = png_form(p, info);
    png_read_update_info(p, info);
    bool fits = png_get_rowbytes(p, info) == width * (size_t)channels;
    unsigned char *out = fits ? s->begin(s, (int64_t)height, (int64_t)width, channels) : NULL;
    if (out) rows = malloc(height * sizeof *rows);
    bool done = out && rows;
    for (size_t y = 0; done && y < height; y++) rows[y] = out + y * width * (size_t)channels;
    if (done) png_read_image(p, rows);
    if (done) png_read_end(p, NULL);
    png_destroy_read_struct(&p, &info, NULL);
    free(rows);
    return done;
}

extern const tc_image_table tc_image;
__attribute__((visibility("default"))) const tc_image_table tc_image = {TC_IMAGE_VERSION, decode_jpeg, decode_png};
