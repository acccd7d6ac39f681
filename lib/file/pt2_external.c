/* Weights stored outside an archive: in another .pt2 that it names, or in FILE.safetensors beside FILE.pt2.
 *
 *     extra/tc/weights      NAME/SUM: the file NAME in the same folder, and a CRC-32 (hex) over the names, sizes and checksums of its weights
 *                           and constants in its ZIP directory, which shows without reading them whether the weights were replaced.
 *                           Archives of older versions have NAME only.
 *
 * NAME has no folder, so that an archive cannot refer to files elsewhere and both files can be moved together. */
#include "base/crc32.h"
#include "file/pt2_read.h"

enum { SUM_DIGITS = 8, LONGEST = 255 };

static uint32_t weights_sum(const tc_archive *a) {
    const size_t root = strlen(a->root);
    uint32_t sum = 0;
    tc_buf line = {0};
    for (size_t i = 0; i < a->zip->n; i++) {
        const tc_zip_entry *e = &a->zip->entries[i];
        if (strncmp(e->name + root, "data/", 5)) continue;
        line.len = 0;
        tc_buf_printf(&line, "%s %zu %08x\n", e->name + root, e->size, e->crc);
        sum = tc_crc32(sum, line.data, line.len);
    }
    tc_buf_free(&line);
    return sum;
}

tc_extra tc_archive_name_external(const tc_archive *a, tc_arena *arena) {
    const char *text = tc_arena_printf(arena, "%s/%0*x", tc_path_last(tc_archive_path(a)), SUM_DIGITS, weights_sum(a));
    return (tc_extra){"extra/tc/weights", text, strlen(text)};
}

static bool is_sum(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(p[i] >= '0' && p[i] <= '9') && !(p[i] >= 'a' && p[i] <= 'f')) return false;
    return n == SUM_DIGITS;
}

tc_status tc_archive_external(const tc_archive *a, tc_arena *arena, tc_external_weights *out) {
    const unsigned char *name;
    size_t n;
    bool found;
    mode_t type; /* it must be a regular file: opening a pipe would block */
    const char *path = tc_archive_path(a);
    *out = (tc_external_weights){0};
    TC_TRY(tc_archive_entry(a, "extra/tc/weights", &name, &n, &found));
    if (!found) {
        size_t stem = strlen(path);
        if (stem > 4 && !strcmp(path + stem - 4, ".pt2")) stem -= 4;
        const char *beside = tc_arena_printf(arena, "%.*s.safetensors", (int)stem, path);
        TC_TRY(tc_path_type(beside, &type));
        if (type == S_IFREG) out->path = beside;
        return NULL;
    }
    const unsigned char *slash = memchr(name, '/', n);
    const size_t len = slash ? (size_t)(slash - name) : n;
    const bool folder = (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
    if (!len || len > LONGEST || folder || memchr(name, 0, len) || (slash && !is_sum(slash + 1, n - len - 1)))
        return tc_error(TC_CONTENT, "%s: extra/tc/weights is not a file name and a checksum", path);
    out->path = tc_arena_printf(arena, "%.*s%.*s", (int)(tc_path_last(path) - path), path, (int)len, (const char *)name);
    out->archive = true;
    if (slash) out->sum = tc_arena_strndup(arena, (const char *)slash + 1, SUM_DIGITS);
    TC_TRY(tc_path_type(out->path, &type));
    if (type != S_IFREG) return tc_error(TC_ENV, "%s, which holds the weights of %s, is missing", out->path, path);
    return NULL;
}

tc_status tc_archive_open_external(const tc_archive *a, const tc_external_weights *o, tc_archive **out_archive) {
    tc_archive *from;
    TC_TRY(tc_archive_open_file(o->path, &from));
    char found[SUM_DIGITS + 1];
    snprintf(found, sizeof found, "%0*x", SUM_DIGITS, weights_sum(from));
    if (o->sum && strcmp(found, o->sum)) {
        tc_archive_close(from);
        return tc_error(TC_CONTENT, "%s has changed since %s was made of it: its weights have checksum %s, expected %s", o->path, tc_archive_path(a),
                        found, o->sum);
    }
    *out_archive = from;
    return NULL;
}
