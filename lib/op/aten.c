/* PyTorch 2.15's schemas as an embedded sorted text: in-place and out forms take their schemas from it, and an operator that tc lacks is distinguished
 * from a name that does not exist. Looked up by binary search, so that nothing is built at start. */
#include "base/embedded.h"
#include "op/schema.h"

#include <pthread.h>
#include <string.h>

__asm__(".section .rodata\n"
        ".global tc_aten_text\n.hidden tc_aten_text\n"
        "tc_aten_text:\n"
        ".incbin \"lib/op/aten_schemas.txt\"\n"
        ".global tc_aten_text_end\n.hidden tc_aten_text_end\n"
        "tc_aten_text_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char tc_aten_text[] __attribute__((visibility("hidden")));
extern const char tc_aten_text_end[] __attribute__((visibility("hidden")));

static const char *line_start(const char *p) {
    while (p > tc_aten_text && p[-1] != '\n') p--;
    return p;
}

static size_t line_len(const char *p) {
    const char *e = memchr(p, '\n', (size_t)(tc_aten_text_end - p));
    return (size_t)((e ? e : tc_aten_text_end) - p);
}

/* Compares the start of a line with the n bytes of prefix: 0 if equal, < 0 if the line sorts before. */
static int order(const char *line, size_t len, const char *prefix, size_t n) {
    int c = memcmp(line, prefix, len < n ? len : n);
    return c ? c : len < n ? -1 : 0;
}

/* The first line that does not sort before prefix; the end if there is none. */
static const char *lower_bound(const char *prefix, size_t n) {
    const char *lo = tc_aten_text, *hi = tc_aten_text_end;
    while (lo < hi) {
        const char *mid = line_start(lo + (hi - lo) / 2);
        size_t len = line_len(mid);
        if (order(mid, len, prefix, n) < 0) lo = mid + len < tc_aten_text_end ? mid + len + 1 : tc_aten_text_end;
        else hi = mid;
    }
    return lo;
}

void tc_aten_each(const char *prefix, size_t n, bool (*fn)(void *ctx, const char *line, size_t len), void *ctx) {
    char key[128];
    static const char ends[2] = {'(', '.'}; /* in sorted order */
    if (n + 1 > sizeof key) return;
    memcpy(key, prefix, n);
    for (int e = 0; e < 2; e++) {
        key[n] = ends[e];
        for (const char *p = lower_bound(key, n + 1); p < tc_aten_text_end;) {
            size_t len = line_len(p);
            if (order(p, len, key, n + 1) != 0) break;
            if (!fn(ctx, p, len)) return;
            p += len + 1;
        }
    }
}

/* aten_generated.txt, unpacked at first use. */
extern const tc_embedded tc_aten_generated;
static tc_buf generated;
static void unpack(void) { tc_embedded_append(&generated, &tc_aten_generated); }
static const char *generated_line(const char *begin, size_t n, size_t *out_len) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, unpack);
    for (const char *p = generated.data, *end; p && *p; p = *end ? end + 1 : end) {
        end = strchrnul(p, '\n');
        *out_len = (size_t)(end - p);
        if (!order(p, *out_len, begin, n)) return p;
    }
    return NULL;
}

const char *tc_aten_line(const char *key, size_t n, size_t *out_len) {
    char k[128];
    if (n + 1 > sizeof k) return NULL;
    memcpy(k, key, n);
    k[n] = '(';
    const char *p = lower_bound(k, n + 1);
    if (p >= tc_aten_text_end || order(p, line_len(p), k, n + 1) != 0)
        return n > 3 && !memcmp(key + n - 3, "out", 3) ? generated_line(k, n + 1, out_len) : NULL;
    *out_len = line_len(p);
    return p;
}
