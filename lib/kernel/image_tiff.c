/* TIFF 6.0, the first image of a file: grey, RGB(A) and palettes with 8 bits per sample (grey also with 1), interleaved samples, in strips or tiles
 * that are uncompressed or packed by PackBits, LZW or deflate, with or without the horizontal predictor.
 *
 *     II*\0 OFFSET ... OFFSET: COUNT entries of 12 bytes (tag, type, count, value or its offset) */
#include "kernel/image.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct {
    const unsigned char *p;
    size_t n;
    bool big;
    tc_image_sink *s;
    uint32_t entries, count; /* offset of the first entry; number of entries */
    int64_t w, h, bits, channels, method, photo, rows, tile_w, predictor, planar;
    unsigned char colour[256][3]; /* of a palette */
} tiff;

static uint32_t get(const tiff *t, size_t at, int bytes) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)t->p[at + (size_t)i] << 8 * (t->big ? bytes - 1 - i : i);
    return v;
}
/* The values of a tag: `n` of them, `bytes` each, at offset `from`; n is 0 where the tag is missing or does not fit the file. */
typedef struct {
    size_t from;
    uint32_t n, bytes;
} field;
static field find(const tiff *t, uint32_t name) {
    for (uint32_t k = 0; k < t->count; k++) {
        size_t at = t->entries + 12 * (size_t)k;
        if (get(t, at, 2) != name) continue;
        uint32_t type = get(t, at + 2, 2), n = get(t, at + 4, 4), bytes = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;
        size_t from = (uint64_t)n * bytes <= 4 ? at + 8 : get(t, at + 8, 4);
        if (!bytes || from > t->n || (t->n - from) / bytes < n) break;
        return (field){from, n, bytes};
    }
    return (field){0};
}
static int64_t value(const tiff *t, const field *f, uint32_t i, int64_t otherwise) {
    return i < f->n ? (int64_t)get(t, f->from + (size_t)i * f->bytes, (int)f->bytes) : otherwise;
}
static int64_t tag(const tiff *t, uint32_t name, uint32_t i, int64_t otherwise) {
    field f = find(t, name);
    return value(t, &f, i, otherwise);
}

static bool read_head(tiff *t) {
    if (t->n < 8) return tc_image_fail(t->s, "%zu bytes, expected a header", t->n);
    size_t at = get(t, 4, 4);
    if (at < 2 || at > t->n - 2 || (t->n - at - 2) / 12 < get(t, at, 2))
        return tc_image_fail(t->s, "the directory at byte %zu ends behind the file", at);
    t->entries = (uint32_t)at + 2, t->count = get(t, at, 2);
    t->w = tag(t, 256, 0, 0), t->h = tag(t, 257, 0, 0), t->bits = tag(t, 258, 0, 1), t->method = tag(t, 259, 0, 1), t->photo = tag(t, 262, 0, 1);
    t->channels = tag(t, 277, 0, 1), t->predictor = tag(t, 317, 0, 1), t->planar = tag(t, 284, 0, 1);
    t->tile_w = tag(t, 322, 0, 0), t->rows = t->tile_w ? tag(t, 323, 0, 0) : tag(t, 278, 0, t->h);
    if (t->rows > t->h && !t->tile_w) t->rows = t->h;
    if (t->tile_w % 16 || (t->tile_w && t->rows % 16)) return tc_image_fail(t->s, "tiles of %lld by %lld", (long long)t->tile_w, (long long)t->rows);
    field map = find(t, 320);
    for (uint32_t v = 0; v < 256; v++)
        for (uint32_t k = 0; k < 3; k++) t->colour[v][k] = (unsigned char)(value(t, &map, k * 256 + v, 0) >> 8);
    for (uint32_t k = 1; k < t->channels && k < 4; k++)
        if (tag(t, 258, k, t->bits) != t->bits) return tc_image_fail(t->s, "samples of several sizes");
    bool sizes = t->w > 0 && t->h > 0 && t->w <= TC_IMAGE_SIDE && t->h <= TC_IMAGE_SIDE && t->rows > 0 && t->rows <= TC_IMAGE_SIDE;
    if (!sizes || t->tile_w > TC_IMAGE_SIDE)
        return tc_image_fail(t->s, "sizes %lld by %lld in parts of %lld rows", (long long)t->w, (long long)t->h, (long long)t->rows);
    bool gray = t->photo <= 1 && t->channels >= 1 && t->channels <= 2 && (t->bits == 8 || (t->bits == 1 && t->channels == 1)),
         rgb = t->photo == 2 && (t->channels == 3 || t->channels == 4) && t->bits == 8;
    bool palette = t->photo == 3 && t->channels == 1 && t->bits == 8;
    if (!(gray || rgb || palette) || (t->planar != 1 && t->channels > 1))
        return tc_image_fail(t->s, "%lld samples of %lld bits, photometric %lld, planar %lld are not read", (long long)t->channels,
                             (long long)t->bits, (long long)t->photo, (long long)t->planar);
    return true;
}

/* ---- decompression: from n bytes exactly `want` bytes; false: the data are damaged ---- */
static bool packbits(const unsigned char *p, size_t n, unsigned char *to, size_t want) {
    size_t at = 0, out = 0;
    while (out < want) {
        if (at >= n) return false;
        int c = (signed char)p[at++];
        size_t run = c >= 0 ? (size_t)c + 1 : (size_t)(1 - c);
        if (c == -128) continue;
        if (run > want - out || (c >= 0 ? run : 1) > n - at) return false;
        if (c >= 0) memcpy(to + out, p + at, run);
        else memset(to + out, p[at], run);
        at += c >= 0 ? run : 1;
        out += run;
    }
    return true;
}
enum { LZW_CLEAR = 256, LZW_END = 257, LZW_MOST = 4096 };
typedef struct {
    size_t at[LZW_MOST]; /* offset in the output where the string of a code occurs */
    uint16_t len[LZW_MOST];
} lzw_table;
/* Strings are kept as offsets into the output: each new code is the string written before, extended by the byte that followed it. */
static bool lzw(const unsigned char *p, size_t n, unsigned char *to, size_t want, lzw_table *t) {
    size_t bit = 0, out = 0, last = 0, last_len = 0;
    int width = 9, next = 258;
    while (out < want) {
        if (bit + (size_t)width > n * 8) return false;
        int code = 0;
        for (int i = 0; i < width; i++, bit++) code = code << 1 | (p[bit / 8] >> (7 - bit % 8) & 1);
        if (code == LZW_END) return false;
        if (code == LZW_CLEAR) {
            width = 9, next = 258, last_len = 0;
            continue;
        }
        if (code > next || (code >= 256 && !last_len) || (code == next && next >= LZW_MOST)) return false;
        if (last_len && next < LZW_MOST) t->at[next] = last, t->len[next++] = (uint16_t)(last_len + 1);
        size_t len = code < 256 ? 1 : t->len[code];
        if (len > want - out) return false;
        if (code < 256) to[out] = (unsigned char)code;
        for (size_t i = 0; code > 257 && i < len; i++) to[out + i] = to[t->at[code] + i]; /* may overlap */
        last = out, last_len = len;
        out += len;
        if (next >= (1 << width) - 1 && width < 12) width++;
    }
    return true;
}
static bool unpack(tiff *t, const unsigned char *p, size_t n, unsigned char *to, size_t want, lzw_table *w) {
    uLongf got = want;
    switch (t->method) {
    case 1:
        if (n < want) return false;
        memcpy(to, p, want);
        return true;
    case 5: return lzw(p, n, to, want, w);
    case 8:
    case 32946: return uncompress(to, &got, p, n) == Z_OK && got == want;
    case 32773: return packbits(p, n, to, want);
    default: return tc_image_fail(t->s, "compression %lld is not read", (long long)t->method);
    }
}

/* ---- copies a part (strip or tile), rows of `wide` pixels, to the image at (y, x) ---- */
static void place(const tiff *t, unsigned char *part, int64_t wide, int64_t y, int64_t x, int64_t rows, unsigned char *out, int channels) {
    int64_t row = t->bits == 1 ? (wide + 7) / 8 : wide * t->channels, cols = x + wide > t->w ? t->w - x : wide;
    for (int64_t r = 0; r < rows && y + r < t->h; r++) {
        unsigned char *p = part + r * row, *to = out + ((y + r) * t->w + x) * channels;
        for (int64_t i = t->channels; t->predictor == 2 && t->bits == 8 && i < row; i++) p[i] = (unsigned char)(p[i] + p[i - t->channels]);
        for (int64_t i = 0; i < cols * t->channels; i++) {
            int v = t->bits == 1 ? (p[i / 8] >> (7 - i % 8) & 1) * 255 : p[i];
            if (t->photo == 3)
                for (uint32_t k = 0; k < 3; k++) to[3 * i + k] = t->colour[v][k];
            else to[i] = (unsigned char)(t->photo == 0 && i % t->channels == 0 ? 255 - v : v);
        }
    }
}

static bool read_parts(tiff *t, unsigned char *out, int channels, unsigned char *part, lzw_table *w) {
    int64_t wide = t->tile_w ? t->tile_w : t->w, row = t->bits == 1 ? (wide + 7) / 8 : wide * t->channels;
    uint32_t i = 0;
    int64_t left = (int64_t)t->n + t->w * t->h * t->channels; /* limit on packed bytes: parts may share bytes, but not without bound */
    field places = find(t, t->tile_w ? 324 : 273), lengths = find(t, t->tile_w ? 325 : 279);
    for (int64_t y = 0; y < t->h; y += t->rows)
        for (int64_t x = 0; x < t->w; x += wide, i++) {
            int64_t rows = !t->tile_w && y + t->rows > t->h ? t->h - y : t->rows, at = value(t, &places, i, -1), n = value(t, &lengths, i, -1);
            if (at < 0 || n < 0 || at > (int64_t)t->n || n > (int64_t)t->n - at) return tc_image_fail(t->s, "part %u lies outside the file", i);
            if ((left -= n) < 0) return tc_image_fail(t->s, "the parts up to %u lie over one another", i);
            if (!unpack(t, t->p + at, (size_t)n, part, (size_t)(row * rows), w))
                return *t->s->why ? false : tc_image_fail(t->s, "part %u: damaged data", i);
            place(t, part, wide, y, x, rows, out, channels);
        }
    return true;
}

bool tc_image_tiff(const unsigned char *data, size_t n, tc_image_sink *s) {
    tiff t = {.p = data, .n = n, .big = data[0] == 'M', .s = s};
    if (!read_head(&t)) return false;
    int channels = t.photo == 3 ? 3 : (int)t.channels;
    int64_t wide = t.tile_w ? t.tile_w : t.w;
    int64_t parts = ((t.w + wide - 1) / wide) * ((t.h + t.rows - 1) / t.rows), part_bytes = wide * t.rows * t.channels;
    if (part_bytes > TC_IMAGE_MOST || part_bytes * parts > 2 * (int64_t)TC_IMAGE_MOST)
        return tc_image_fail(s, "%lld parts of %lld by %lld pixels", (long long)parts, (long long)wide, (long long)t.rows);
    unsigned char *out = s->begin(s, t.h, t.w, channels);
    if (!out) return false;
    unsigned char *part = malloc((size_t)part_bytes);
    lzw_table *w = t.method == 5 ? malloc(sizeof *w) : NULL;
    bool done = part && (w || t.method != 5) && read_parts(&t, out, channels, part, w);
    free(part);
    free(w);
    return done;
}
