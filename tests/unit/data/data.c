/* Statements about data sets: what PyTorch-written loaders of the same files give (torch.Generator order included). */
#include "data/data.h"

#include "base/file.h"
#include "scratch.h"

#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <zlib.h>

#include <cmocka.h>

static char dir[256];
static tc_arena arena;

static tc_dataset *open_set(const char *yaml, const char *part, const tc_dataset *train) {
    tc_yaml *y;
    assert_null(tc_yaml_parse(&arena, "r.yaml", yaml, strlen(yaml), &y));
    tc_dataset *d;
    tc_data_options o = {.dir = dir, .train = train};
    tc_status s = tc_data_open(tc_data_merge(&arena, y, part), &o, &d);
    if (s) fail_msg("%s", tc_status_message(s));
    return d;
}

static void write_file(const char *name, const void *p, size_t n) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_null(tc_file_write(path, p, n));
}

static void shuffled_epochs_are_randperm(void **state) {
    (void)state;
    unsigned char idx[8 + 8 + 40] = {0, 0, 8, 2, 0, 0, 0, 10, 0, 0, 0, 4};
    for (int i = 0; i < 40; i++) idx[12 + i] = (unsigned char)i;
    write_file("x", idx, 52);
    char gz[512];
    snprintf(gz, sizeof gz, "%s/x.gz", dir);
    for (int i = 0; i < 2; i++) { /* two members, as of cat a.gz b.gz */
        gzFile f = gzopen(gz, i ? "ab" : "wb");
        gzwrite(f, idx + 30 * i, i ? 22 : 30);
        gzclose(f);
    }
    tc_dataset *d = open_set("idx: {x: x.gz}\nnormalize: {x: {divide: 255, mean: 0.5, std: 0.25}}\nshape: {x: [1, 2, 2]}\n", "train", NULL);
    assert_int_equal(d->count, 10);
    tc_sampler s;
    assert_null(tc_sampler_init(&s, d, 4, 5));
    assert_int_equal(s.per_epoch, 2);
    tc_generator g;
    tc_generator_seed(&g, 5);
    int64_t perm[10], index[4];
    for (int e = 0; e < 3; e++) {
        tc_rng_permutation(&g, 10, perm);
        for (int b = 0; b < 2; b++) {
            tc_sampler_next(&s, index);
            assert_memory_equal(index, perm + 4 * b, sizeof index);
        }
    }
    tc_sampler_seek(&s, 5); /* the second batch of the third epoch again */
    tc_sampler_next(&s, index);
    assert_memory_equal(index, perm + 4, sizeof index);
    tc_tensor x;
    assert_null(tc_data_gather(d, (int64_t[]){3}, 1, TC_F32, &x, NULL));
    assert_int_equal(x.rank, 4);
    assert_true(((float *)tc_tensor_data(&x))[1] == (13.0f / 255.0f - 0.5f) / 0.25f);
    tc_tensor_deinit(&x);
    tc_sampler_deinit(&s);
    tc_data_close(d);
}

static void text_is_characters_present(void **state) {
    (void)state;
    write_file("t", "h\xc3\xa9lo hello ll", 14);
    const char *yaml = "text: t\nas: chars\nblock: 3\ntrain: {range: [0, 0.7]}\nval: {range: [0.7, 1]}\n";
    tc_dataset *d = open_set(yaml, "train", NULL);
    static const uint32_t vocab[] = {' ', 'e', 'h', 'l', 'o', 0xe9};
    assert_int_equal(d->nvocab, 6);
    assert_memory_equal(d->vocab, vocab, sizeof vocab);
    assert_int_equal(d->count, 9 - 3 - 1); /* randint(0, len - block - 1) */
    tc_tensor xy[2];
    assert_null(tc_data_gather(d, (int64_t[]){0, 2}, 2, TC_F32, xy, NULL));
    static const int64_t x[] = {2, 5, 3, 3, 4, 0}, y[] = {5, 3, 4, 4, 0, 2};
    assert_memory_equal(tc_tensor_data(&xy[0]), x, sizeof x);
    assert_memory_equal(tc_tensor_data(&xy[1]), y, sizeof y);
    tc_tensor_deinit(&xy[0]);
    tc_tensor_deinit(&xy[1]);
    tc_dataset *v = open_set(yaml, "val", d);
    assert_int_equal(v->order, TC_ORDER_SEQUENTIAL);
    tc_data_close(v);
    tc_data_close(d);
}

static void names_as_windows_and_padded(void **state) {
    (void)state;
    write_file("n", "ab\r\nc\nba\r", 9); /* the \r of a line's end is no letter */
    tc_dataset *d = open_set("names: n\ncontext: 2\nrows: {every: 3, except: 1}\n", "train", NULL);
    assert_int_equal(d->count, 6);
    static const int64_t x[] = {0, 0, 0, 1, 1, 2, 0, 0, 0, 2, 2, 1}, y[] = {1, 2, 0, 2, 1, 0};
    assert_memory_equal(tc_tensor_data(&d->col[0].data), x, sizeof x);
    assert_memory_equal(tc_tensor_data(&d->col[1].data), y, sizeof y);
    tc_data_close(d);
    d = open_set("names: n\npad: -100\n", "train", NULL);
    tc_tensor xy[2];
    assert_null(tc_data_gather(d, (int64_t[]){1, 0}, 2, TC_F32, xy, NULL));
    static const int64_t px[] = {0, 3, 0, 0, 1, 2}, py[] = {3, 0, -100, 1, 2, 0};
    assert_memory_equal(tc_tensor_data(&xy[0]), px, sizeof px);
    assert_memory_equal(tc_tensor_data(&xy[1]), py, sizeof py);
    tc_tensor_deinit(&xy[0]);
    tc_tensor_deinit(&xy[1]);
    tc_data_close(d);
}

static void csv_standardises_by_the_training_rows(void **state) {
    (void)state;
    const char *text = "a,kind,t\r\n1,\"x,1\",10\n3,y,20\n,y,30\n100,z,40\n";
    write_file("c", text, strlen(text));
    const char *yaml = "csv: c\ncolumns: [a, {kind: ['x,1', y]}]\ntarget: t\ntarget_scale: 10\nstandardize: true\n"
                       "train: {rows: {every: 4, except: 3}}\nval: {rows: {every: 4, only: 3}}\n";
    tc_dataset *d = open_set(yaml, "train", NULL), *v = open_set(yaml, "val", d);
    static const float x[] = {-1, 1, 0, 1, 0, 1, 0, 0, 1}, y[] = {1, 2, 3}, vx[] = {98, 0, 0};
    assert_memory_equal(tc_tensor_data(&d->col[0].data), x, sizeof x);
    assert_memory_equal(tc_tensor_data(&d->col[1].data), y, sizeof y);
    assert_memory_equal(tc_tensor_data(&v->col[0].data), vx, sizeof vx);
    tc_data_close(v);
    tc_data_close(d);
}

/* What F.interpolate(mode="bilinear", antialias=True) gives, rounded: narrower, wider, both ways. */
static void images_are_resampled(void **state) {
    (void)state;
    static const struct {
        const char *head, *yaml;
        int n;
        unsigned char pixels[20];
        int64_t size[2];
        unsigned char want[9];
    } cases[] = {
        {"P5 4 1 255\n", "images: list\nsize: [1, 2]\nchannels: 1\n", 4, {0, 40, 80, 200}, {1, 2}, {29, 126}},
        {"P5 4 1 255\n", "images: list\nsize: [1, 6]\nchannels: 1\n", 4, {0, 40, 80, 200}, {1, 6}, {0, 20, 47, 73, 140, 200}},
        {"P5 5 4 255\n",
         "images: list\nsize: [3, 3]\nchannels: 1\n",
         20,
         {0, 11, 22, 33, 44, 55, 66, 77, 88, 99, 110, 121, 132, 143, 154, 165, 176, 187, 198, 209},
         {3, 3},
         {21, 39, 56, 87, 105, 122, 153, 171, 188}},
    };
    write_file("list", "a.pgm 7\n", 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_buf b = {0};
        tc_tensor t[2];
        tc_buf_puts(&b, cases[i].head);
        tc_buf_append(&b, cases[i].pixels, (size_t)cases[i].n);
        write_file("a.pgm", b.data, b.len);
        tc_dataset *d = open_set(cases[i].yaml, "train", NULL);
        assert_null(tc_data_gather(d, (int64_t[]){0}, 1, TC_F32, t, NULL));
        assert_int_equal(t[0].size[2], cases[i].size[0]);
        assert_int_equal(t[0].size[3], cases[i].size[1]);
        assert_memory_equal(tc_tensor_data(&t[0]), cases[i].want, (size_t)(cases[i].size[0] * cases[i].size[1]));
        assert_int_equal(*(int64_t *)tc_tensor_data(&t[1]), 7);
        for (int k = 0; k < 2; k++) tc_tensor_deinit(&t[k]);
        tc_data_close(d);
        tc_buf_free(&b);
    }
}

static void refusals_name_the_file(void **state) {
    (void)state;
    write_file("bad", "\0\0\x08\x01\0\0\0\x05xyz", 11);
    write_file("two", "\0\0\x08\x01\0\0\0\2ab", 10);
    write_file("three", "\0\0\x08\x01\0\0\0\3abc", 11);
    write_file("cut.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b", 11);
    static const struct {
        const char *yaml, *message;
        tc_code code;
    } cases[] = {
        {"idx: {x: bad}\n", "r.yaml:1: idx: bad: 3 bytes of data, expected 5", TC_CONTENT},
        {"idx: {x: absent}\n", "r.yaml:1: idx: DIR/absent: cannot open: No such file or directory", TC_ENV},
        {"idx: {x: cut.gz}\n", "r.yaml:1: idx: DIR/cut.gz: the gzip data end early", TC_CONTENT},
        {"idx: {x: three, y: two}\nlimit: 1\n", "r.yaml:1: idx: two: 2 samples, expected 3 as in the columns before", TC_CONTENT},
        {"idx: {x: two}\nrows: {every: 2, only: 2}\n", "r.yaml:2:24: rows.only: found 2, expected 0 to 1", TC_USAGE},
        {"idx: {x: two}\nrows: {every: 0, except: 0}\n", "r.yaml:2:15: rows.every: found 0, expected 1 or more", TC_USAGE},
        {"txt: a\n", "r.yaml:1: unknown key 'txt'; did you mean 'text'?", TC_USAGE},
        {"text: t\nidx: {x: bad}\n", "r.yaml:1:1: two sources of data, expected one of idx, text, names, csv, safetensors, images", TC_USAGE},
        {"text: t\nblock: 3\nas: words\n", "r.yaml:3:5: as: found 'words', expected bytes or chars", TC_USAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_yaml *y;
        assert_null(tc_yaml_parse(&arena, "r.yaml", cases[i].yaml, strlen(cases[i].yaml), &y));
        tc_dataset *d;
        tc_status s = tc_data_open(tc_data_merge(&arena, y, "train"), &(tc_data_options){.dir = dir}, &d);
        assert_non_null(s);
        tc_buf want = {0};
        const char *at = strstr(cases[i].message, "DIR");
        if (at) tc_buf_printf(&want, "%.*s%s%s", (int)(at - cases[i].message), cases[i].message, dir, at + 3);
        else tc_buf_puts(&want, cases[i].message);
        assert_string_equal(tc_status_message(s), want.data);
        assert_int_equal(tc_status_code(s), cases[i].code);
        tc_buf_free(&want);
        tc_status_free(s);
    }
}

static int make_dir(void **state) {
    (void)state;
    return scratch_folder(dir, sizeof dir, "tc-data") ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    tc_arena_free(&arena);
    return tc_remove_tree(dir) ? -1 : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffled_epochs_are_randperm), cmocka_unit_test(text_is_characters_present),
        cmocka_unit_test(names_as_windows_and_padded),  cmocka_unit_test(csv_standardises_by_the_training_rows),
        cmocka_unit_test(images_are_resampled),         cmocka_unit_test(refusals_name_the_file),
    };
    return cmocka_run_group_tests_name("data", tests, make_dir, remove_dir);
}
