/* Images as tensors (image.h): detects the format, calls its reader, converts to the channels asked for. */
#include "kernel/image.h"

#include "kernel/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ---- */
static tc_status open_table(const tc_image_table **out) {
    static tc_shim shim = {
        .file = "tc-image.so", .symbol = "tc_image", .purpose = "PNG and JPEG need", .version = TC_IMAGE_VERSION, .lock = PTHREAD_MUTEX_INITIALIZER};
    const void *table;
    TC_TRY(tc_shim_table(&shim, &table));
    *out = table;
    return NULL;
}

/* ---- kinds of files ---- */
typedef enum { NONE, PNG, JPEG, PNM, BMP, TIFF, JPEG2000, WEBP, GIF } file_kind;

static file_kind kind_of(const unsigned char *p, size_t n) {
    static const struct {
        file_kind kind;
        size_t at, n;
        const char *magic;
    } kinds[] = {
        {PNG, 0, 8, "\x89PNG\r\n\x1a\n"},   {JPEG, 0, 3, "\xff\xd8\xff"},         {BMP, 0, 2, "BM"},    {TIFF, 0, 4, "II*\0"}, {TIFF, 0, 4, "MM\0*"},
        {JPEG2000, 0, 8, "\0\0\0\x0cjP  "}, {JPEG2000, 0, 4, "\xff\x4f\xff\x51"}, {WEBP, 8, 4, "WEBP"}, {GIF, 0, 4, "GIF8"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n >= kinds[i].at + kinds[i].n && !memcmp(p + kinds[i].at, kinds[i].magic, kinds[i].n) &&
            (kinds[i].kind != BMP || n < 10 || !(p[6] | p[7] | p[8] | p[9])))
            return kinds[i].kind;
    bool pnm = n >= 3 && p[0] == 'P' && p[1] >= '1' && p[1] <= '6' && (p[2] == ' ' || (p[2] >= '\t' && p[2] <= '\r') || p[2] == '#');
    return pnm ? PNM : NONE;
}
bool tc_image_is(const void *data, size_t n) { return kind_of(data, n) != NONE; }

/* ---- channels ---- */
static void convert_row(const unsigned char *from, int have, unsigned char *to, int want, int64_t width) {
    for (int64_t i = 0; i < width; i++, from += have, to += want) {
        unsigned char gray = from[0], alpha = have % 2 ? 255 : from[have - 1];
        if (have > 2 && want < 3) gray = (unsigned char)((9794 * from[0] + 19235 * from[1] + 3739 * from[2] + 16384) >> 15);
        for (int k = 0; k < (want < 3 ? 1 : 3); k++) to[k] = have > 2 && want > 2 ? from[k] : gray;
        if (want % 2 == 0) to[want - 1] = alpha;
    }
}
static tc_status convert(tc_tensor *t, int want) {
    int have = (int)t->size[2];
    if (!want || want == have) return NULL;
    tc_tensor to;
    TC_TRY(tc_tensor_empty(TC_U8, 3, (int64_t[]){t->size[0], t->size[1], want}, &to));
    for (int64_t y = 0; y < t->size[0]; y++)
        convert_row((unsigned char *)tc_tensor_data(t) + y * t->size[1] * have, have, (unsigned char *)tc_tensor_data(&to) + y * t->size[1] * want,
                    want, t->size[1]);
    tc_tensor_deinit(t);
    *t = to;
    return NULL;
}

/* ---- decoding ---- */
bool tc_image_fail(tc_image_sink *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    return false;
}

typedef struct {
    tc_image_sink base;
    tc_tensor t;
    tc_status st;
    int want; /* channels to convert to; 0: as in the file */
} target;

static unsigned char *begin(tc_image_sink *s, int64_t height, int64_t width, int channels) {
    target *o = (target *)s;
    if (o->t.storage) return NULL;
    int most = o->want > channels ? o->want : channels;
    bool fits = height <= TC_IMAGE_SIDE && width <= TC_IMAGE_SIDE && height * width * most <= TC_IMAGE_MOST;
    if (height < 1 || width < 1 || !fits) {
        o->st = tc_error(TC_CONTENT, "an image of %lld by %lld pixels, %d bytes each; expected at most %d MiB", (long long)width, (long long)height,
                         most, TC_IMAGE_MOST >> 20);
        return NULL;
    }
    o->st = tc_tensor_empty(TC_U8, 3, (int64_t[]){height, width, channels}, &o->t);
    return o->st ? NULL : tc_tensor_data(&o->t);
}

tc_status tc_image_decode(const char *name, const void *data, size_t n, tc_image_mode mode, tc_tensor *out) {
    static const char *const words[] = {"", "PNG", "JPEG", "PNM", "BMP", "TIFF", "JPEG 2000", "WebP", "GIF"};
    const tc_image_table *lib_table = NULL;
    target to = {.base.begin = begin, .want = (int)mode};
    file_kind kind = kind_of(data, n);
    bool done = false, gray = mode == TC_IMAGE_GRAY || mode == TC_IMAGE_GRAY_ALPHA;
    if (kind == PNG || kind == JPEG) TC_TRY(open_table(&lib_table));
    switch (kind) {
    case PNG: done = lib_table->png(data, n, &to.base); break;
    case JPEG: done = lib_table->jpeg(data, n, gray, &to.base); break;
    case PNM: done = tc_image_pnm(data, n, &to.base); break;
    case BMP: done = tc_image_bmp(data, n, &to.base); break;
    case TIFF: done = tc_image_tiff(data, n, &to.base); break;
    case NONE: return tc_error(TC_CONTENT, "%s: %zu bytes that are no image, expected PNG, JPEG, PNM, BMP or TIFF", name, n);
    default: return tc_error(TC_UNSUPPORTED, "%s: %s images are not read; PNG, JPEG, PNM, BMP and TIFF are", name, words[kind]);
    }
    tc_status st = to.st;
    if (!st && !done) st = tc_error(TC_CONTENT, "%s: %s", words[kind], *to.base.why ? to.base.why : "not enough memory");
    if (!st) st = convert(&to.t, (int)mode);
    if (st) {
        tc_tensor_deinit(&to.t);
        return tc_annotate(st, "%s", name);
    }
    *out = to.t;
    return NULL;
}

/* ---- the operator ---- */
static tc_status run_decode(tc_kcall *c) {
    const tc_tensor *data = tc_k_tensor(c, 0);
    tc_tensor t;
    if (tc_k_bool(c, 2)) return tc_error(TC_UNSUPPORTED, "image.decode_image: apply_exif_orientation is not supported");
    TC_TRY(tc_image_decode("image.decode_image", tc_tensor_data(data), (size_t)data->size[0], (tc_image_mode)tc_k_int(c, 1), &t));
    int64_t h = t.size[0], w = t.size[1], channels = t.size[2];
    tc_status st = c->alloc(c, 0, TC_U8, 3, (int64_t[]){channels, h, w});
    const unsigned char *from = tc_tensor_data(&t);
    unsigned char *to = st ? NULL : tc_tensor_data(&c->outs[0]);
    for (int64_t i = 0; to && i < h * w; i++)
        for (int64_t k = 0; k < channels; k++) to[k * h * w + i] = *from++;
    tc_tensor_deinit(&t);
    return st;
}
const tc_kernel tc_k_decode_image = {.name = "decode_image", .flags = TC_KF_CONTIGUOUS | TC_KF_DYNAMIC, .run = run_decode};
