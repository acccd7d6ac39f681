/* Uncompressed images: PNM ("P1".."P6": bits, grey or colour, as text or bytes) and BMP (palettes of 1, 4 and 8 bits, 16, 24 and 32 bits). */
#include "kernel/image.h"

#include <string.h>

/* ---- PNM: P6 WIDTH HEIGHT MAX, one blank, samples; '#' begins a comment ---- */
typedef struct {
    const unsigned char *p;
    size_t n, at;
} text;

static bool blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool next_number(text *t, int64_t most, int64_t *out) {
    while (t->at < t->n && (blank(t->p[t->at]) || t->p[t->at] == '#')) {
        bool comment = t->p[t->at++] == '#';
        while (comment && t->at < t->n && t->p[t->at] != '\n') t->at++;
    }
    size_t from = t->at;
    for (*out = 0; t->at < t->n && t->p[t->at] >= '0' && t->p[t->at] <= '9' && *out <= most; t->at++) *out = *out * 10 + t->p[t->at] - '0';
    return t->at > from && *out <= most;
}
static bool next_bit(text *t, int64_t *out) { /* digits need no blanks between them */
    while (t->at < t->n && blank(t->p[t->at])) t->at++;
    if (t->at >= t->n || (t->p[t->at] != '0' && t->p[t->at] != '1')) return false;
    *out = t->p[t->at++] - '0';
    return true;
}
/* v from [0, most] scaled to [0, 255], ties to even */
static unsigned char to_byte(int64_t v, int64_t most) {
    int64_t q = v * 255 / most, twice = 2 * (v * 255 % most);
    q += twice > most || (twice == most && q % 2);
    return (unsigned char)(q > 255 ? 255 : q);
}

static bool pnm_text(text *t, tc_image_sink *s, unsigned char *out, int64_t count, bool bits, int64_t most) {
    for (int64_t i = 0, v; i < count; i++) {
        if (!(bits ? next_bit(t, &v) : next_number(t, most, &v))) return tc_image_fail(s, "at byte %zu: expected a sample", t->at);
        out[i] = bits ? (v ? 0 : 255) : to_byte(v, most);
    }
    return true;
}
static void pnm_bits(const unsigned char *p, unsigned char *out, int64_t h, int64_t w) {
    for (int64_t y = 0; y < h; y++, p += (w + 7) / 8)
        for (int64_t x = 0; x < w; x++) *out++ = p[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
}

bool tc_image_pnm(const unsigned char *data, size_t n, tc_image_sink *s) {
    text t = {data, n, 2};
    int64_t w, h, most = 1;
    int type = data[1] - '0', channels = type % 3 == 0 ? 3 : 1;
    bool bits = type % 3 == 1, bytes = type > 3;
    if (!next_number(&t, TC_IMAGE_SIDE, &w) || !next_number(&t, TC_IMAGE_SIDE, &h) || (!bits && !next_number(&t, 65535, &most)) || !most)
        return tc_image_fail(s, "at byte %zu: expected width, height and the largest sample", t.at);
    unsigned char *out = s->begin(s, h, w, channels);
    int64_t count = w * h * channels, wide = most > 255 ? 2 : 1, need = bits ? (w + 7) / 8 * h : count * wide;
    if (!out) return false;
    if (!bytes) return pnm_text(&t, s, out, count, bits, most);
    const unsigned char *p = data + ++t.at;
    if (t.at > n || (int64_t)(n - t.at) < need) return tc_image_fail(s, "%zu bytes, expected %lld behind the header", n, (long long)need);
    if (bits) pnm_bits(p, out, h, w);
    else if (most == 255) memcpy(out, p, (size_t)count);
    else
        for (int64_t i = 0; i < count; i++) out[i] = to_byte(wide == 2 ? p[2 * i] << 8 | p[2 * i + 1] : p[i], most);
    return true;
}

/* ---- BMP: "BM", offset of the pixels at 10, a header of its own length at 14, palette, rows from below padded to 4 bytes ---- */
static uint32_t u32(const unsigned char *p) { return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24; }
static uint32_t u16(const unsigned char *p) { return p[0] | (uint32_t)p[1] << 8; }

typedef struct {
    int64_t w, h;
    bool down; /* the first row is the upper one */
    uint32_t bits, method, mask[4], ncolours;
    size_t head, entry, pixels; /* bytes of the header, of a colour; place of the rows */
    const unsigned char *palette;
} bitmap;

static bool bmp_header(const unsigned char *p, size_t n, bitmap *b, tc_image_sink *s) {
    if (n < 26) return tc_image_fail(s, "%zu bytes, expected a header", n);
    b->pixels = u32(p + 10), b->head = u32(p + 14);
    if ((b->head != 12 && b->head < 40) || b->head > n - 14) return tc_image_fail(s, "a header of %zu bytes", b->head);
    bool old = b->head == 12;
    int32_t w = old ? (int32_t)u16(p + 18) : (int32_t)u32(p + 18), h = old ? (int32_t)u16(p + 20) : (int32_t)u32(p + 22);
    b->w = w, b->h = h < 0 ? -(int64_t)h : h, b->down = h < 0;
    b->bits = u16(p + (old ? 24 : 28)), b->entry = old ? 3 : 4;
    b->method = old ? 0 : u32(p + 30);
    b->ncolours = b->bits <= 8 ? (old || !u32(p + 46) ? 1u << b->bits : u32(p + 46)) : 0;
    if (b->bits != 1 && b->bits != 4 && b->bits != 8 && b->bits != 16 && b->bits != 24 && b->bits != 32)
        return tc_image_fail(s, "%u bits a pixel", b->bits);
    if (b->method != 0 && b->method != 3) return tc_image_fail(s, "compression %u is not read", b->method);
    if (b->ncolours > 1u << (b->bits & 15)) return tc_image_fail(s, "a palette of %u colours for %u bits", b->ncolours, b->bits);
    b->palette = p + 14 + b->head;
    static const uint32_t plain[2][4] = {{0x7c00, 0x3e0, 0x1f, 0}, {0xff0000, 0xff00, 0xff, 0}};
    memcpy(b->mask, plain[b->bits == 32], sizeof b->mask);
    if (b->method == 3) {
        size_t more = b->head == 40 ? 3 : 4; /* the 40-byte header has three masks after it, newer ones hold four */
        if (b->bits < 16 || n < 54 + 4 * more) return tc_image_fail(s, "masks of colours for %u bits a pixel", b->bits);
        for (size_t k = 0; k < more; k++) b->mask[k] = u32(p + 54 + 4 * k);
    }
    if ((size_t)(b->palette - p) + b->ncolours * b->entry > n) return tc_image_fail(s, "the palette ends behind the file");
    return true;
}

static bool gray_ramp(const bitmap *b) {
    uint32_t top = (1u << b->bits) - 1;
    for (uint32_t i = 0; i < b->ncolours; i++)
        for (int k = 0; k < 3; k++)
            if (b->palette[i * b->entry + (size_t)k] != i * 255 / top) return false;
    return b->ncolours == top + 1;
}
static unsigned char masked(uint32_t v, uint32_t mask) {
    if (!mask) return 255;
    int shift = __builtin_ctz(mask);
    uint32_t top = mask >> shift;
    return (unsigned char)((((uint64_t)(v & mask) >> shift) * 255 + top / 2) / top);
}
static bool bmp_row(const bitmap *b, const unsigned char *p, unsigned char *to, int channels) {
    for (int64_t x = 0; x < b->w; x++, to += channels) {
        if (b->bits <= 8) {
            uint32_t per = 8 / b->bits, i = p[x / per] >> (8 - b->bits * (x % per + 1)) & ((1u << b->bits) - 1);
            if (i >= b->ncolours) return false;
            for (int k = 0; k < channels; k++) to[k] = b->palette[i * b->entry + (size_t)(2 - k)];
        } else if (b->bits == 24) {
            for (int k = 0; k < 3; k++) to[k] = p[3 * x + 2 - k];
        } else {
            uint32_t v = b->bits == 16 ? u16(p + 2 * x) : u32(p + 4 * x);
            for (int k = 0; k < channels; k++) to[k] = masked(v, b->mask[k]);
        }
    }
    return true;
}

bool tc_image_bmp(const unsigned char *data, size_t n, tc_image_sink *s) {
    bitmap b = {0};
    if (!bmp_header(data, n, &b, s)) return false;
    int channels = b.bits <= 8 && gray_ramp(&b) ? 1 : b.bits > 8 && b.mask[3] ? 4 : 3;
    int64_t row = (b.w * b.bits + 31) / 32 * 4;
    unsigned char *out = s->begin(s, b.h, b.w, channels);
    if (!out) return false;
    if (b.pixels > n || (int64_t)(n - b.pixels) < row * b.h)
        return tc_image_fail(s, "%zu bytes, expected %lld rows of %lld at byte %zu", n, (long long)b.h, (long long)row, b.pixels);
    for (int64_t y = 0; y < b.h; y++)
        if (!bmp_row(&b, data + b.pixels + y * row, out + (b.down ? y : b.h - 1 - y) * b.w * channels, channels))
            return tc_image_fail(s, "row %lld: a colour that the palette lacks", (long long)y);
    return true;
}
