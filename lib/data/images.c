/* Image files: `images: FOLDER` with one subfolder per class (numbered in the order of their names, as in torchvision's ImageFolder), or
 * `images: LIST`, a text with one line "FILE LABEL" per image (a blank, tab or comma before the label; labels are numbers, or words numbered in
 * sorted order; paths are relative to the list's folder).
 *
 *     x  u8 [channels, height, width]    y  i64, the class
 *
 * Files are decoded when a batch is gathered; only their names are kept. Images are resampled to the size of the first one, or `size: [H, W]`, with a
 * triangle filter as in F.interpolate(mode="bilinear", antialias=True). */
#include "data/data.h"

#include "base/file.h"
#include "base/text.h"
#include "kernel/image.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

enum { MOST_DEPTH = 16 };

typedef struct {
    const char *path, *label;
} entry;
struct tc_image_set {
    TC_VEC(entry) files;
    TC_VEC(const char *) classes; /* class names, in order; empty: labels are numbers */
    tc_image_mode mode;
    int64_t size[3]; /* channels, height, width */
    bool resample;
};

void tc_image_set_close(tc_image_set *s) {
    if (!s) return;
    tc_vec_free(&s->files);
    tc_vec_free(&s->classes);
    free(s);
}

/* ---- listing files ---- */
static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static bool is_image_name(const char *name) {
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".pbm", ".pnm", ".tif", ".tiff"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (!strcasecmp(dot, ends[i])) return true;
    return false;
}

static bool is_shown(const char *name) { return name[0] != '.'; }

/* Refuses to enter a folder twice within a class: cyclic symbolic links would give any number of images. */
static tc_status enter(tc_map *entered, const char *folder) {
    struct stat info;
    if (stat(folder, &info)) return tc_error(TC_ENV, "%s: %s", folder, strerror(errno));
    struct {
        uint64_t device, node;
    } id = {(uint64_t)info.st_dev, (uint64_t)info.st_ino};
    void **place = tc_map_put(entered, (const char *)&id, sizeof id);
    if (*place) return tc_error(TC_CONTENT, "%s: a link to a folder that its class holds already", folder);
    *place = entered;
    return NULL;
}

/* Adds the images of a class's folder and its subfolders, in order of name. */
static tc_status add_class(tc_image_set *set, tc_arena *a, const char *folder, const char *label, tc_map *entered, int depth) {
    char **names;
    size_t n = 0;
    if (depth > MOST_DEPTH) return tc_error(TC_CONTENT, "%s: folders more than %d deep", folder, MOST_DEPTH);
    tc_status st = enter(entered, folder);
    if (!st) st = tc_folder_names(a, folder, is_shown, &names, &n);
    for (size_t i = 0; i < n && !st; i++) {
        const char *path = tc_arena_printf(a, "%s/%s", folder, names[i]);
        mode_t type = 0;
        st = tc_path_type(path, &type);
        entry e = {path, label};
        if (st) break;
        if (type == S_IFDIR) st = add_class(set, a, path, label, entered, depth + 1);
        else if ((type == S_IFREG || !type) && is_image_name(path)) tc_vec_push(&set->files, e); /* a dangling link is an error when it is read */
    }
    return st;
}

static tc_status read_folder(tc_image_set *set, tc_arena *a, const char *path) {
    char **names;
    size_t n;
    TC_TRY(tc_folder_names(a, path, is_shown, &names, &n));
    tc_status st = NULL;
    for (size_t i = 0; i < n && !st; i++) {
        const char *folder = tc_arena_printf(a, "%s/%s", path, names[i]);
        mode_t type = 0;
        st = tc_path_type(folder, &type);
        if (st || type != S_IFDIR) continue;
        tc_vec_push(&set->classes, names[i]);
        tc_map entered = {0};
        st = add_class(set, a, folder, names[i], &entered, 0);
        tc_map_free(&entered);
    }
    if (!st && !set->classes.len) st = tc_error(TC_CONTENT, "%s: no folder in it, expected one a class", path);
    return st;
}

static tc_status read_list(tc_image_set *set, tc_arena *a, const tc_data_spec *s, const char *path) {
    tc_buf b = {0};
    TC_TRY(tc_data_load(s, s->images, &b));
    /* Paths are relative to the list's folder, or, when a command made the list, to the recipe's. */
    const char *slash = strrchr(path, '/'), *from = tc_data_command(s->images) && s->dir ? tc_arena_printf(a, "%s/", s->dir) : path;
    int folder = from != path ? (int)strlen(from) : tc_data_command(s->images) ? 0 : slash ? (int)(slash - path) + 1 : 0;
    int64_t line = 0, number;
    bool words = false;
    tc_status st = NULL;
    for (char *p = b.data, *end = b.data + b.len, *next; p < end && !st; p = next) {
        char *stop = memchr(p, '\n', (size_t)(end - p));
        next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        while (stop > p && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t')) stop--;
        line++;
        if (stop == p) continue;
        char *label = stop;
        while (label > p && label[-1] != ' ' && label[-1] != '\t' && label[-1] != ',') label--;
        if (label == p || label == stop) {
            st = tc_error(TC_CONTENT, "%s:%lld: expected FILE LABEL", path, (long long)line);
            break;
        }
        entry e = {.label = tc_arena_printf(a, "%.*s", (int)(stop - label), label)};
        int n = (int)(label - p) - 1;
        while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == ',')) n--;
        if (!n) {
            st = tc_error(TC_CONTENT, "%s:%lld: expected FILE LABEL", path, (long long)line);
            break;
        }
        e.path = *p == '/' ? tc_arena_printf(a, "%.*s", n, p) : tc_arena_printf(a, "%.*s%.*s", folder, from, n, p);
        words |= !tc_parse_i64(e.label, &number);
        tc_vec_push(&set->files, e);
    }
    tc_buf_free(&b);
    for (size_t i = 0; i < set->files.len && words && !st; i++) tc_vec_push(&set->classes, set->files.data[i].label);
    if (!set->classes.len) return st;
    qsort(set->classes.data, set->classes.len, sizeof *set->classes.data, by_text);
    size_t kept = 1;
    for (size_t i = 1; i < set->classes.len; i++)
        if (strcmp(set->classes.data[i], set->classes.data[kept - 1])) set->classes.data[kept++] = set->classes.data[i];
    set->classes.len = kept;
    return st;
}

static tc_status class_of(const tc_image_set *set, const entry *e, int64_t *out) {
    if (!set->classes.len) {
        if (tc_parse_i64(e->label, out)) return NULL;
        return tc_error(TC_CONTENT, "%s: label '%s', expected a number as in the training data", e->path, e->label);
    }
    const char *const *at = bsearch(&e->label, set->classes.data, set->classes.len, sizeof *set->classes.data, by_text);
    if (!at) return tc_error(TC_CONTENT, "%s: class '%s' is not in the training data", e->path, e->label);
    *out = at - (const char *const *)set->classes.data;
    return NULL;
}

/* ---- pixels ---- */
/* One axis: from `have` to `want` values, a stride apart in both. Sums are float64 in ascending order. */
static void resample_axis(const float *from, int64_t have, float *to, int64_t want, int64_t stride) {
    double scale = (double)have / (double)want, reach = scale > 1 ? scale : 1;
    for (int64_t i = 0; i < want; i++) {
        double center = ((double)i + 0.5) * scale, sum = 0, weight = 0;
        int64_t lo = (int64_t)floor(center - reach + 0.5), hi = (int64_t)floor(center + reach + 0.5);
        for (int64_t k = lo < 0 ? 0 : lo; k < hi && k < have; k++) {
            double w = 1 - fabs((double)k + 0.5 - center) / reach;
            if (w <= 0) continue;
            weight += w;
            sum += w * (double)from[k * stride];
        }
        to[i * stride] = (float)(sum / weight);
    }
}

/* [H, W, C] bytes to [C, h, w]: through float32, rows first. */
static void resample(const tc_tensor *t, const int64_t *size, float *work, unsigned char *to) {
    const unsigned char *from = tc_tensor_data(t);
    int64_t h = t->size[0], w = t->size[1], c = size[0];
    float *wide = work + w, *done = wide + h * size[2];
    for (int64_t k = 0; k < c; k++) {
        for (int64_t y = 0; y < h; y++) {
            for (int64_t x = 0; x < w; x++) work[x] = from[(y * w + x) * c + k];
            resample_axis(work, w, wide + y * size[2], size[2], 1);
        }
        for (int64_t x = 0; x < size[2]; x++) resample_axis(wide + x, h, done + x, size[1], size[2]);
        for (int64_t i = 0; i < size[1] * size[2]; i++) *to++ = (unsigned char)floorf(done[i] + 0.5f);
    }
}

/* Touches the pages of a mapped file, so that decoding does not wait for the disk. */
static void touch(const tc_blob *b) {
    enum { PAGE = 4096 };
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < b->len; i += PAGE) sum = (unsigned char)(sum + b->data[i]);
}

static tc_status decode(const tc_image_set *set, const entry *e, tc_tensor *out, tc_data_times *times) {
    tc_blob *b;
    double start = times ? tc_now() : 0;
    TC_TRY(tc_blob_open(e->path, &b));
    if (times) {
        touch(b);
        times->read += tc_now() - start;
        start = tc_now();
    }
    tc_status st = tc_image_decode(e->path, b->data, b->len, set->mode, out);
    if (times) times->decode += tc_now() - start;
    tc_blob_release(b);
    return st;
}

tc_status tc_image_set_get(const tc_image_set *set, int64_t i, unsigned char *to, tc_data_times *times) {
    const entry *e = &set->files.data[i];
    const int64_t *size = set->size;
    tc_tensor t;
    TC_TRY(decode(set, e, &t, times), "image %lld", (long long)i);
    int64_t h = t.size[0], w = t.size[1], c = size[0];
    tc_status st = NULL;
    if (h == size[1] && w == size[2]) {
        const unsigned char *from = tc_tensor_data(&t);
        for (int64_t p = 0; p < h * w; p++)
            for (int64_t k = 0; k < c; k++) to[k * h * w + p] = *from++;
    } else if (set->resample && h * size[2] > TC_IMAGE_MOST / (int64_t)sizeof(float)) {
        st = tc_error(TC_CONTENT, "%s: %lld by %lld pixels are too many to resample to %lld by %lld", e->path, (long long)w, (long long)h,
                      (long long)size[2], (long long)size[1]);
    } else if (set->resample) {
        double start = times ? tc_now() : 0;
        float *work = tc_xmalloc((size_t)(w + h * size[2] + size[1] * size[2]) * sizeof *work);
        resample(&t, size, work, to);
        free(work);
        if (times) times->resample += tc_now() - start;
    } else {
        st = tc_status_add(tc_error(TC_CONTENT, "%s: %lld by %lld pixels, expected %lld by %lld as the first image has", e->path, (long long)w,
                                    (long long)h, (long long)size[2], (long long)size[1]),
                           "size: [HEIGHT, WIDTH] resamples images of other sizes");
    }
    tc_tensor_deinit(&t);
    return st;
}

/* ---- the set ---- */
static tc_status read_size(tc_image_set *set, const tc_data_spec *s) {
    const tc_yaml *v = s->size;
    tc_tensor first;
    static const tc_image_mode modes[] = {TC_IMAGE_UNCHANGED, TC_IMAGE_GRAY, TC_IMAGE_GRAY_ALPHA, TC_IMAGE_RGB, TC_IMAGE_RGB_ALPHA};
    if (s->channels < 1 || s->channels > 4)
        return tc_yaml_error(tc_yaml_get(s->node, "channels"), "found %lld, expected 1 to 4", (long long)s->channels);
    set->mode = modes[s->channels];
    set->size[0] = s->channels;
    set->resample = v != NULL;
    if (v) {
        if (v->kind != TC_YAML_LIST || v->n != 2) return tc_yaml_error(v, "expected [HEIGHT, WIDTH]");
        for (int k = 0; k < 2; k++) {
            TC_TRY(tc_yaml_int(v->items[k], &set->size[k + 1]));
            if (set->size[k + 1] < 1 || set->size[k + 1] > 1 << 14) return tc_yaml_error(v->items[k], "expected a size of 1 to %d", 1 << 14);
        }
        return NULL;
    }
    TC_TRY(decode(set, &set->files.data[0], &first, NULL));
    set->size[1] = first.size[0], set->size[2] = first.size[1];
    tc_tensor_deinit(&first);
    return NULL;
}

/* Keeps the files that belong to the set. */
static void select_files(tc_image_set *set, const tc_data_spec *s) {
    size_t kept = 0;
    for (size_t i = 0; i < set->files.len; i++)
        if (tc_data_takes(s, (int64_t)i) && (!s->limit || (int64_t)kept < s->limit)) set->files.data[kept++] = set->files.data[i];
    set->files.len = kept;
}

tc_status tc_data_read_images(tc_dataset *d, const tc_data_spec *s) {
    tc_image_set *set = d->images = tc_xcalloc(1, sizeof *set);
    tc_arena *a = &d->arena;
    bool command = tc_data_command(s->images) != NULL;
    const char *path = s->dir && s->images[0] != '/' && !command ? tc_arena_printf(a, "%s/%s", s->dir, s->images) : s->images;
    struct stat info;
    if (s->shape) return tc_yaml_error(s->shape, "images have sizes of their own: give size: [HEIGHT, WIDTH]");
    bool folder = !command && !stat(path, &info) && S_ISDIR(info.st_mode);
    TC_TRY(folder ? read_folder(set, a, path) : read_list(set, a, s, path));
    select_files(set, s);
    d->kind = TC_DATA_TABLE;
    d->col[0].name = "x";
    d->col[1].name = "y";
    d->ncols = 2;
    d->count = (int64_t)set->files.len;
    if (!d->count) return tc_yaml_error(s->node, "%s holds no image", s->images);
    const tc_image_set *like = s->train && s->train->images ? s->train->images : set;
    TC_TRY(read_size(set, s));
    d->col[0].data = (tc_tensor){.dtype = TC_U8, .rank = 4, .size = {d->count, set->size[0], set->size[1], set->size[2]}};
    tc_contiguous_strides(4, d->col[0].data.size, d->col[0].data.stride);
    TC_TRY(tc_tensor_empty(TC_I64, 1, &d->count, &d->col[1].data));
    for (int64_t i = 0; i < d->count; i++) TC_TRY(class_of(like, &set->files.data[i], (int64_t *)tc_tensor_data(&d->col[1].data) + i));
    return NULL;
}
