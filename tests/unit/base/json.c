/* The JSON reader: values, strings, places of errors, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static tc_jread reader(const char *text) {
    tc_jread j;
    tc_jr_init(&j, "x.json", text, strlen(text));
    return j;
}

static void refuses(const char *text, const char *message) {
    tc_jread j = reader(text);
    tc_jr_skip(&j);
    tc_status s = tc_jr_finish(&j);
    assert_string_equal(tc_status_message(s), message);
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    tc_status_free(s);
}

static void test_walk(void **state) {
    (void)state;
    tc_jread j = reader(" {\"a\": [1, -2, 9223372036854775807], \"b\": {\"c\": null, \"d\": [true, false]}, \"skip\": [{\"x\": [[]]}, 1e3], \"e\": "
                        "\"q\\\"\\u00e9\\ud83d\\ude00\"} ");
    int64_t sum = 0;
    int bools = 0, keys = 0;
    bool null = false;
    tc_jr_object(&j);
    for (tc_str k; tc_jr_member(&j, &k); keys++) {
        if (tc_str_is(k, "a")) {
            for (tc_jr_array(&j); tc_jr_item(&j);) sum ^= tc_jr_int(&j);
        } else if (tc_str_is(k, "b")) {
            tc_jr_object(&j);
            for (tc_str q; tc_jr_member(&j, &q);) {
                if (tc_str_is(q, "c")) null = tc_jr_null(&j);
                else
                    for (tc_jr_array(&j); tc_jr_item(&j);) bools = bools * 2 + tc_jr_bool(&j);
            }
        } else if (tc_str_is(k, "e")) {
            assert_true(tc_str_is(tc_jr_string(&j), "q\"\xc3\xa9\xf0\x9f\x98\x80"));
        } else {
            assert_true(tc_str_is(tc_jr_skip(&j), "[{\"x\": [[]]}, 1e3]"));
        }
    }
    assert_null(tc_jr_finish(&j));
    assert_int_equal(sum, 1 ^ -2 ^ INT64_MAX);
    assert_int_equal(bools, 2);
    assert_int_equal(keys, 4);
    assert_true(null);
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool integer;
        int64_t i;
        double d;
    } cases[] = {{"0", true, 0, 0},
                 {"-9223372036854775808", true, INT64_MIN, -9223372036854775808.0},
                 {"9223372036854775808", false, 0, 9223372036854775808.0},
                 {"0.1", false, 0, 0.1},
                 {"-1.5e-3", false, 0, -1.5e-3},
                 {"1e400", false, 0, INFINITY},
                 {"4.9406564584124654e-324", false, 0, 4.9406564584124654e-324}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tc_jread j = reader(cases[k].text);
        int64_t i;
        double d;
        assert_int_equal(tc_jr_number(&j, &i, &d), cases[k].integer);
        assert_null(tc_jr_finish(&j));
        assert_int_equal(i, cases[k].i);
        assert_true(d == cases[k].d);
    }
}

static void test_refusals(void **state) {
    (void)state;
    refuses("", "x.json:1:1: the text ends, expected a value");
    refuses("[1,\n 2 3]", "x.json:2:4: found '3', expected ',' or ']'");
    refuses("[1,]", "x.json:1:4: found ']', expected a value");
    refuses("{\"a\" 1}", "x.json:1:6: found '1', expected ':'");
    refuses("{1: 2}", "x.json:1:2: found '1', expected a name in double quotes");
    refuses("\"abc", "x.json:1:1: a string has no end");
    refuses("\"a\tb\"", "x.json:1:3: a control character in a string");
    refuses("\"\xff\"", "x.json:1:2: a string is not UTF-8");
    refuses("\"\\ud800\"", "x.json:1:2: half of a surrogate pair in a string");
    refuses("\"\\u0000\"", "x.json:1:2: a NUL character in a string");
    refuses("01", "x.json:1:1: a number begins with 0");
    refuses("1.", "x.json:1:3: the text ends, expected a digit");
    refuses("NaN", "x.json:1:1: found 'N', expected a value");
    refuses("{} x", "x.json:1:4: found 'x', expected nothing more");
    tc_buf deep = {0};
    for (int i = 0; i < 100000; i++) tc_buf_putc(&deep, '[');
    refuses(deep.data, "x.json:1:257: nested deeper than 256");
    tc_buf_free(&deep);
}

/* Strings end where they should wherever the byte that ends or breaks them stands, as names and as values. */
static void test_strings_of_all_lengths(void **state) {
    (void)state;
    static const struct {
        const char *put;
        bool good;
    } odd[] = {{"x", true}, {"\\n", true}, {"\\\"", true}, {"\xc3\xa9", true}, {"}", true}, {"\t", false}, {"\x80", false}, {"\"", false}};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
        for (int n = 0; n < 40; n++)
            for (int at = 0; at <= n; at++) {
                char s[120], text[300];
                snprintf(s, sizeof s, "%.*s%s%.*s", at, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", odd[k].put, n - at,
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ");
                snprintf(text, sizeof text, "{\"first\": 1, \"%s\": \"%s\"}", s, s);
                tc_jread j = reader(text);
                tc_str key;
                tc_jr_object(&j);
                assert_true(tc_jr_member(&j, &key) && tc_str_is(key, "first"));
                assert_int_equal(tc_jr_int(&j), 1);
                bool more = tc_jr_member(&j, &key);
                size_t want = (size_t)n + (strlen(odd[k].put) == 2 && odd[k].put[0] == '\\' ? 1 : strlen(odd[k].put));
                if (odd[k].good) {
                    assert_true(more);
                    assert_int_equal(key.n, want);
                    assert_memory_equal(key.s, s, (size_t)at);
                    assert_int_equal(tc_jr_string(&j).n, want);
                    assert_false(tc_jr_member(&j, &key));
                } else {
                    tc_jr_skip(&j);
                }
                tc_status st = tc_jr_finish(&j);
                assert_int_equal(st == NULL, odd[k].good);
                tc_status_free(st);
            }
    refuses("{\"a\": 1 \"b\": 2}", "x.json:1:9: found '\"', expected ',' or '}'");
    refuses("{, \"a\": 1}", "x.json:1:2: found ',', expected a name in double quotes");
    refuses("{\"a\": 1,}", "x.json:1:9: found '}', expected a name in double quotes");
    refuses("{\"a\"", "x.json:1:5: the text ends, expected ':'");
}

/* A value that is passed over unread ends where it does when it is read: brackets, quotes and backslashes in strings at every place of a block. */
static void test_unread_values_end_where_read_ones_do(void **state) {
    (void)state;
    static const char *const bits[] = {"\"}]\"",
                                       "\"\\\\\"",
                                       "\"\\\"[{\"",
                                       "[1, {}]",
                                       "{\"a\\\\\\\"\": [\"b\"]}",
                                       "12345",
                                       "\"long enough to reach over blocks of sixty-four bytes \\\\\\\\ }}}}]]]] end\"",
                                       "null"};
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        tc_buf b = {0};
        tc_buf_puts(&b, round % 2 ? "[" : "[[");
        for (int i = 0, n = round % 40; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            tc_buf_printf(&b, "%s%*s%s", i ? "," : "", (int)(seed >> 28), "", bits[seed >> 16 & 7]);
        }
        tc_buf_puts(&b, round % 2 ? "]" : "], 7]");
        size_t end = b.len;
        tc_buf_puts(&b, ", \"behind\", [1]");
        if (round / 40 % 2) tc_buf_printf(&b, "%5000s", ""); /* of long texts the blocks are read otherwise */
        tc_jread j, k;
        tc_jr_init(&j, "x.json", b.data, b.len);
        tc_jr_init(&k, "x.json", b.data, b.len);
        tc_str text = tc_jr_skip(&j);
        assert_int_equal(text.n, end);
        tc_jr_skip_unread(&k);
        assert_true(tc_jr_ok(&k));
        assert_int_equal(k.p - k.text, end);
        assert_int_equal(k.depth, 0);
        tc_jr_init(&j, "x.json", b.data, b.len);
        assert_true(tc_jr_skip_same(&j, text));
        assert_int_equal(j.p - j.text, end);
        assert_false(tc_jr_skip_same(&j, text));
        tc_jr_init(&j, "x.json", b.data, end - 1);
        tc_jr_skip_unread(&j);
        assert_false(tc_jr_ok(&j));
        tc_status_free(tc_jr_finish(&j));
        tc_buf_free(&k.scratch);
        tc_buf_free(&b);
    }
}

static void test_errors_end_loops(void **state) {
    (void)state;
    tc_jread j = reader("[1, x");
    int n = 0;
    for (tc_jr_array(&j); tc_jr_item(&j); n++) tc_jr_int(&j);
    assert_int_equal(n, 2);
    assert_false(tc_jr_object(&j));
    assert_int_equal(tc_jr_int(&j), 0);
    tc_jr_fail(&j, TC_UNSUPPORTED, "a later failure");
    tc_status s = tc_jr_finish(&j);
    assert_string_equal(tc_status_message(s), "x.json:1:5: found 'x', expected a number");
    tc_status_free(s);
}

/* Texts that end too early, each before memory that cannot be read. */
static void test_nothing_behind_the_end_is_read(void **state) {
    (void)state;
    const char *texts[] = {"",      " ",       "-", "1.",  "1e",    "1e+", "tru",    "nul",       "\"",        "\"a",
                           "\"a\\", "\"\\u12", "[", "[0,", "[0,  ", "{",   "{\"a\"", "{\"a\":  ", "{\"a\": 1,"};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(two != MAP_FAILED && !mprotect(two + page, page, PROT_NONE));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int how = 0; how < 4; how++) {
            const size_t n = strlen(texts[i]);
            tc_jread j;
            int64_t number;
            double d;
            tc_jr_init(&j, "x.json", memcpy(two + page - n, texts[i], n), n);
            if (how == 0) tc_jr_skip(&j);
            else if (how == 1) tc_jr_number(&j, &number, &d);
            else if (how == 2) tc_jr_string(&j);
            else
                for (tc_jr_array(&j); tc_jr_item(&j);) tc_jr_int(&j);
            tc_status s = tc_jr_finish(&j);
            assert_int_equal(tc_status_code(s), TC_CONTENT);
            tc_status_free(s);
        }
    munmap(two, 2 * page);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_strings_of_all_lengths),
                                       cmocka_unit_test(test_unread_values_end_where_read_ones_do),
                                       cmocka_unit_test(test_errors_end_loops),
                                       cmocka_unit_test(test_nothing_behind_the_end_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
