/* Statements about lib/base: statuses, arenas, buffers, maps, text, JSON, YAML, files. */
#include "base/crc32.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/yaml.h"
#include "scratch.h"

#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void status_shows_place_and_caret(void **state) {
    (void)state;
    tc_place at = {.file = "a.py", .line = 3, .col = 5, .offset = -1, .text = "x = y + 1"};
    tc_status s = tc_error_at(TC_CONTENT, at, "name '%s' is not defined", "y\x1b");
    s = tc_annotate(s, "capturing");
    assert_string_equal(tc_status_message(s), "capturing: a.py:3:5: name 'y\\x1b' is not defined");
    assert_string_equal(tc_status_detail(s), "    x = y + 1\n        ^");
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    tc_status_free(s);
}

static uint32_t crc_by_bits(const unsigned char *p, size_t n) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void checksums_are_those_of_the_definition(void **state) {
    (void)state;
    unsigned char data[6000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * i * 2654435761u >> 13);
    assert_int_equal(tc_crc32(0, "123456789", 9), 0xcbf43926);
    for (size_t n = 0; n < 4200; n += n < 70 || (n > 1000 && n < 1200) ? 1 : 61)
        for (size_t from = 0; from < 3; from++) {
            uint32_t want = crc_by_bits(data + from, n);
            assert_int_equal(tc_crc32(0, data + from, n), want);
            assert_int_equal(tc_crc32(tc_crc32(0, data + from, n / 3), data + from + n / 3, n - n / 3), want);
        }
}

static void arena_memory_is_zeroed_and_aligned(void **state) {
    (void)state;
    tc_arena a = {0};
    for (int i = 1; i < 3000; i += 7) {
        unsigned char *p = tc_arena_alloc(&a, (size_t)i);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (int k = 0; k < i; k++) assert_int_equal(p[k], 0);
        memset(p, 0xff, (size_t)i);
    }
    tc_arena_free(&a);
    assert_int_equal(a.used, 0);
}

static void texts_printed_in_an_arena_are_whole_and_leave_zeros_behind(void **state) {
    (void)state;
    tc_arena a = {0};
    for (int n = 0; n < 9000; n += 7) { /* shorter and longer than what a block has left */
        const char *s = tc_arena_printf(&a, "%0*d,%s", n, 5, "end");
        assert_int_equal(strlen(s), (n ? n : 1) + 4);
        assert_string_equal(s + strlen(s) - 5, "5,end");
        const unsigned char *p = tc_arena_alloc(&a, 40);
        for (int i = 0; i < 40; i++) assert_int_equal(p[i], 0);
    }
    tc_arena_free(&a);
}

static void map_keeps_insertion_order(void **state) {
    (void)state;
    tc_map m = {0};
    static int values[1000];
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "k%d", i * 7 % 1000);
        tc_map_set(&m, key, &values[i]);
    }
    assert_int_equal(m.len, 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "k%d", i * 7 % 1000);
        assert_string_equal(m.entries[i].key, key);
        assert_ptr_equal(tc_map_find(&m, key), &values[i]);
    }
    assert_null(tc_map_find(&m, "k1000"));
    tc_map_free(&m);
}

static void map_borrows_keys_and_keeps_its_room(void **state) {
    (void)state;
    static char keys[100][12];
    tc_map m = {.borrows = true};
    tc_map_reserve(&m, 100);
    const void *entries = m.entries, *slots = m.slots;
    for (int i = 0; i < 100; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        tc_map_set(&m, keys[i], keys[i]);
    }
    assert_true(m.entries == entries && m.slots == slots);
    for (int i = 0; i < 100; i++) assert_true(m.entries[i].key == keys[i] && tc_map_get(&m, keys[i], strlen(keys[i])) == keys[i]);
    tc_map_free(&m);
}

/* Keys of two words, the second chosen so that a hash without a secret is the same for all: a map would compare each with all before it. */
static void map_is_fast_for_keys_that_were_chosen(void **state) {
    (void)state;
    enum { N = 60000 };
    uint64_t(*keys)[2] = calloc(N, sizeof *keys);
    tc_map m = {.borrows = true};
    clock_t begin = clock();
    assert_non_null(keys);
    for (uint64_t i = 0; i < N; i++) {
        keys[i][0] = i, keys[i][1] = 16 * 0x9e3779b97f4a7c15u;
        assert_true(tc_hash(keys[i], 16, 0) == tc_hash(keys[0], 16, 0));
        *tc_map_put(&m, (const char *)keys[i], 16) = keys[i];
    }
    for (int i = 0; i < N; i++) assert_true(tc_map_get(&m, (const char *)keys[i], 16) == keys[i]);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 2); /* hundredths; with one slot for all: many seconds */
    tc_map_free(&m);
    free(keys);
}

static void json_text_is_pythons(void **state) {
    (void)state;
    tc_buf b = {0};
    tc_json w = {.b = &b};
    tc_json_object(&w);
    tc_json_key(&w, "a\"\n");
    tc_json_array(&w);
    tc_json_double(&w, 0.1);
    tc_json_double(&w, 1e-5);
    tc_json_double(&w, 1e16);
    tc_json_double(&w, 3);
    tc_json_double(&w, NAN);
    tc_json_stringn(&w, "\xff\xc3\xa9", 3);
    tc_json_end(&w);
    tc_json_end(&w);
    assert_string_equal(tc_buf_str(&b), "{\"a\\\"\\n\": [0.1, 1e-05, 1e+16, 3.0, null, \"\\ufffd\xc3\xa9\"]}");
    tc_buf_free(&b);
}

typedef struct {
    int64_t steps;
    double lr;
    bool flag;
    const char *name;
} recipe;
static const tc_yaml_field fields[] = {{"steps", TC_Y_INT, offsetof(recipe, steps)},
                                       {"lr", TC_Y_DOUBLE, offsetof(recipe, lr)},
                                       {"flag", TC_Y_BOOL, offsetof(recipe, flag)},
                                       {"name", TC_Y_STRING, offsetof(recipe, name)},
                                       {0}};

static void yaml_is_typed_by_the_schema(void **state) {
    (void)state;
    tc_arena a = {0};
    tc_yaml *y;
    const char *text = "steps: 1e3\nlr: 1e-3\nflag: true\nname: no\n";
    assert_null(tc_yaml_parse(&a, "r.yaml", text, strlen(text), &y));
    recipe r = {0};
    assert_null(tc_yaml_read(y, fields, &r));
    assert_int_equal(r.steps, 1000);
    assert_true(r.lr == 1e-3);
    assert_true(r.flag);
    assert_string_equal(r.name, "no");
    assert_null(tc_yaml_override(&a, y, NULL, "lr=0.5"));
    assert_null(tc_yaml_read(y, fields, &r));
    assert_true(r.lr == 0.5);
    static const char *const strings[][2] = {
        {"name=f(lambda s: 1, x=[2]) # s", "f(lambda s: 1, x=[2]) # s"}, {"name={'a': 1}", "{'a': 1}"}, {"name='a' + 'b'", "'a' + 'b'"},
        {"name=def f(x):\n  return x", "def f(x):\n  return x"},         {"name=\"a\\x41\"", "aA"},     {"name=|\n  f\n  g", "f\ng"}};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        assert_null(tc_yaml_override(&a, y, fields, strings[i][0]));
        assert_null(tc_yaml_read(y, fields, &r));
        assert_string_equal(r.name, strings[i][1]);
    }
    r.name = NULL;
    assert_null(tc_yaml_override(&a, y, fields, "name=null"));
    assert_null(tc_yaml_read(y, fields, &r));
    assert_null(r.name);
    tc_arena_free(&a);
}

static void yaml_refuses(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"step: 1\n", "r.yaml:1: unknown key 'step'; did you mean 'steps'?"},
        {"steps: many\n", "r.yaml:1:8: steps: found 'many', expected a whole number"},
        {"steps: 9223372036854775808\n", "r.yaml:1:8: steps: found '9223372036854775808', expected a whole number of at most 9223372036854775807"},
        {"lr: 1\nflag: no\n", "r.yaml:2:7: flag: found 'no', expected true or false"},
        {"steps: &a 3\n", "r.yaml:1:8: anchors (&name) are not taken in recipes"},
        {"steps: *a\n", "r.yaml:1:8: aliases (*name) are not taken in recipes"},
        {"steps: !!int 3\n", "r.yaml:1:8: tags (!name) are not taken in recipes"},
        {"steps: 3\nsteps: 4\n", "r.yaml:2:1: this key stands twice"},
        {"steps: [3\n", "r.yaml:2:1: not YAML: did not find expected ',' or ']' while parsing a flow sequence"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_arena a = {0};
        tc_yaml *y;
        recipe r = {0};
        tc_status s = tc_yaml_parse(&a, "r.yaml", cases[i].text, strlen(cases[i].text), &y);
        if (!s) s = tc_yaml_read(y, fields, &r);
        assert_non_null(s);
        assert_string_equal(tc_status_message(s), cases[i].message);
        assert_int_equal(tc_status_code(s), TC_USAGE);
        tc_status_free(s);
        tc_arena_free(&a);
    }
}

static void yaml_nested_text_is_refused_not_followed(void **state) {
    (void)state;
    char text[4001];
    memset(text, '[', 4000);
    text[4000] = 0;
    tc_arena a = {0};
    tc_yaml *y;
    tc_status s = tc_yaml_parse(&a, "r.yaml", text, 4000, &y);
    assert_non_null(s);
    assert_non_null(strstr(tc_status_message(s), "nested deeper"));
    tc_status_free(s);
    tc_arena_free(&a);
}

static void generator_is_pytorchs(void **state) {
    (void)state;
    /* torch.Generator().manual_seed(42): randperm(8), and two float64 normals after two 32-bit draws */
    tc_generator g;
    tc_generator_seed(&g, 42);
    static const int64_t expected[] = {4, 6, 1, 2, 3, 0, 5, 7};
    tc_rng_u32(&g), tc_rng_u32(&g);
    assert_true(tc_rng_normal(&g) == 0.4740400848072344);
    assert_true(tc_rng_normal(&g) == 0.19778664758807965);
    int64_t p[8];
    tc_rng_permutation(&g, 8, p);
    assert_memory_equal(p, expected, sizeof p);
    unsigned char bytes[TC_GENERATOR_STATE_BYTES];
    tc_generator_get_state(&g, bytes);
    tc_generator h;
    assert_null(tc_generator_set_state(&h, bytes, sizeof bytes));
    for (int i = 0; i < 2000; i++) assert_int_equal(tc_rng_u32(&g), tc_rng_u32(&h));
}

static void many_draws_are_the_single_ones(void **state) {
    (void)state;
    tc_generator one, many;
    uint32_t words[2000];
    tc_generator_seed(&one, 7);
    tc_generator_seed(&many, 7);
    static const int64_t counts[] = {0, 1, 622, 1, 1, 623, 624, 625, 3, 1999, 0, 7};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        tc_rng_fill_u32(&many, words, counts[k]);
        for (int64_t i = 0; i < counts[k]; i++) assert_int_equal(words[i], tc_rng_u32(&one));
    }
    assert_memory_equal(&one, &many, sizeof one);
}

static void philox_known_answers(void **state) {
    (void)state;
    /* Random123's kat_vectors, philox4x32 10 */
    static const uint32_t zero[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, ones[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    tc_philox4 r = tc_philox(0, 0, 0);
    assert_memory_equal(r.v, zero, sizeof zero);
    r = tc_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX);
    assert_memory_equal(r.v, ones, sizeof ones);
}

static void output_appears_whole_or_not_at_all(void **state) {
    (void)state;
    char dir[256], path[320], link[320], temporary[320];
    assert_true(scratch_folder(dir, sizeof dir, "tc-base"));
    snprintf(path, sizeof path, "%s/x", dir);
    snprintf(link, sizeof link, "%s/l", dir);
    snprintf(temporary, sizeof temporary, "%s/.x.tmp0", dir);
    assert_int_equal(symlink("x", link), 0);
    assert_null(tc_file_write(link, "first", 5));
    tc_out *o;
    assert_null(tc_out_open(path, &o));
    assert_null(tc_out_write(o, "second", 6));
    assert_int_equal(access(temporary, F_OK), 0);
    tc_status s = tc_out_finish(o, tc_error(TC_CONTENT, "stop"));
    assert_string_equal(tc_status_message(s), "stop");
    tc_status_free(s);
    assert_int_not_equal(access(temporary, F_OK), 0);
    tc_buf b = {0};
    assert_null(tc_file_read(path, 100, &b));
    assert_string_equal(tc_buf_str(&b), "first");
    tc_buf_free(&b);
    assert_null(tc_remove_tree(dir));
    assert_int_not_equal(access(dir, F_OK), 0);
}

static void numbers_and_suggestions(void **state) {
    (void)state;
    int64_t i;
    double d;
    assert_true(tc_parse_i64("-12", &i) && i == -12);
    assert_false(tc_parse_i64("12x", &i) || tc_parse_i64("", &i) || tc_parse_i64("99999999999999999999", &i));
    assert_true(tc_parse_double("1e-3", &d) && d == 1e-3);
    assert_false(tc_parse_double("0x10", &d) || tc_parse_double("1 ", &d));
    static const char *const names[] = {"optimizer", "scheduler"};
    assert_string_equal(tc_suggest("optimiser", names, 2), "optimizer");
    assert_null(tc_suggest("zzzz", names, 2));
    assert_string_equal(tc_suggest("SDG", (const char *const[]){"SGD", "Adam"}, 2), "SGD"); /* letters swapped */
    const char *words = " add add_more sub ";
    assert_true(tc_word_in(words, "add") && tc_word_in(words, "sub") && tc_word_in(words, "add_more"));
    assert_false(tc_word_in(words, "ad") || tc_word_in(words, "more") || tc_word_in(words, "") || tc_word_in(words, "add add_more"));
}

/* Temporary files of killed writers go when the same file is written again; those of others, and of a writer that lives, stay. */
static void left_temporary_files_are_swept(void **state) {
    (void)state;
    static const char *const names[] = {".a.tmp1", ".a.tmp3", ".a.tmp", ".a.tmp1.0", ".a.tmpx", ".ab.tmp1"};
    char dir[256], path[300], a[300];
    tc_out *first, *second;
    assert_true(scratch_folder(dir, sizeof dir, "tc-sweep"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_null(tc_file_write(path, "x", 1));
    }
    snprintf(path, sizeof path, "%s/.a.tmp0", dir); /* nobody's file, nor is the link */
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/.a.tmp2", dir);
    assert_int_equal(symlink(".a.tmp", path), 0);
    snprintf(a, sizeof a, "%s/a", dir);
    assert_null(tc_out_open(a, &first));  /* as .a.tmp1 */
    assert_null(tc_out_open(a, &second)); /* as .a.tmp3 */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, i >= 2); /* those of the writers are new */
    }
    assert_null(tc_out_write(first, "1", 1));
    assert_null(tc_out_write(second, "22", 2));
    assert_null(tc_out_finish(second, NULL));
    assert_null(tc_out_finish(first, NULL));
    tc_buf b = {0};
    assert_null(tc_file_read(a, 10, &b));
    assert_string_equal(tc_buf_str(&b), "1");
    tc_buf_free(&b);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/.a.tmp%d", dir, i);
        assert_int_equal(access(path, F_OK) == 0, i % 2 == 0);
    }
    assert_null(tc_remove_tree(dir));
}

/* The same for folders: what is written appears whole, beside living writers of the same name, and never in the place of another's tree. */
static void output_folders_appear_whole_and_are_swept(void **state) {
    (void)state;
    char dir[256], path[300], a[300];
    tc_out_dir *first, *second;
    assert_true(scratch_folder(dir, sizeof dir, "tc-folder"));
    snprintf(path, sizeof path, "%s/.a.tmp0", dir); /* a killed writer's */
    assert_null(tc_make_dirs(path));
    snprintf(path, sizeof path, "%s/.a.tmp0/old", dir);
    assert_null(tc_file_write(path, "x", 1));
    snprintf(path, sizeof path, "%s/.a.tmp1", dir); /* nobody's */
    assert_null(tc_file_write(path, "x", 1));
    snprintf(a, sizeof a, "%s/a//", dir);
    assert_null(tc_out_dir_open(a, &first));
    assert_null(tc_out_dir_open(a, &second));
    snprintf(path, sizeof path, "%s/.a.tmp0", dir);
    assert_string_equal(tc_out_dir_path(first), path);
    snprintf(path, sizeof path, "%s/.a.tmp2", dir);
    assert_string_equal(tc_out_dir_path(second), path);
    snprintf(path, sizeof path, "%s/.a.tmp0/old", dir);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/.a.tmp0/new", dir);
    assert_null(tc_file_write(path, "1", 1));
    assert_null(tc_out_dir_finish(first, NULL));
    snprintf(path, sizeof path, "%s/a/new", dir);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/.a.tmp2/new", dir);
    assert_null(tc_file_write(path, "2", 1));
    tc_status s = tc_out_dir_finish(second, NULL); /* the first was quicker: its folder stays */
    assert_non_null(s);
    assert_non_null(strstr(tc_status_message(s), "rename"));
    tc_status_free(s);
    s = tc_out_dir_open(a, &first); /* what holds something is not replaced */
    assert_non_null(s);
    assert_non_null(strstr(tc_status_message(s), "not empty"));
    tc_status_free(s);
    assert_null(tc_remove_tree(a));
    assert_null(tc_out_dir_open(a, &first));
    s = tc_out_dir_finish(first, tc_error(TC_ENV, "no room"));
    assert_string_equal(tc_status_message(s), "no room");
    tc_status_free(s);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/.a.tmp%d", dir, i);
        assert_int_equal(access(path, F_OK) == 0, i == 1);
    }
    snprintf(path, sizeof path, "%s/none/a", dir);
    s = tc_out_dir_open(path, &first);
    assert_non_null(s);
    tc_status_free(s);
    assert_null(tc_remove_tree(dir));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_shows_place_and_caret),
        cmocka_unit_test(left_temporary_files_are_swept),
        cmocka_unit_test(output_folders_appear_whole_and_are_swept),
        cmocka_unit_test(checksums_are_those_of_the_definition),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
        cmocka_unit_test(texts_printed_in_an_arena_are_whole_and_leave_zeros_behind),
        cmocka_unit_test(map_keeps_insertion_order),
        cmocka_unit_test(map_borrows_keys_and_keeps_its_room),
        cmocka_unit_test(map_is_fast_for_keys_that_were_chosen),
        cmocka_unit_test(json_text_is_pythons),
        cmocka_unit_test(yaml_is_typed_by_the_schema),
        cmocka_unit_test(yaml_refuses),
        cmocka_unit_test(yaml_nested_text_is_refused_not_followed),
        cmocka_unit_test(generator_is_pytorchs),
        cmocka_unit_test(many_draws_are_the_single_ones),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(output_appears_whole_or_not_at_all),
        cmocka_unit_test(numbers_and_suggestions),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
