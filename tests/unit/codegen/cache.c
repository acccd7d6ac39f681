/* The compiler driver, the cache, the trust record and the loader: a warm compile starts no compiler, a damaged entry is rebuilt, code that
 * the user did not compile is not loaded, and what is loaded computes. */
#include "base/file.h"
#include "codegen/cache.h"
#include "codegen/module.h"
#include "codegen/trust.h"
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const char *root;
static tc_buf specimen;

static int setup(void **state) {
    (void)state;
    if (!(root = scratch_home("tc-cache"))) return -1;
    setenv("TMPDIR", root, 1);
    tc_buf h = {0}, c = {0};
    assert_null(tc_file_read("lib/codegen/tc_abi.h", 1 << 20, &h));
    assert_null(tc_file_read("tests/specimen/abi1.c", 1 << 20, &c));
    const char *include = "#include \"tc_abi.h\"\n", *at = strstr(c.data, include);
    tc_buf_append(&specimen, c.data, (size_t)(at - c.data));
    tc_buf_append(&specimen, h.data, h.len);
    tc_buf_puts(&specimen, at + strlen(include));
    tc_buf_free(&h);
    tc_buf_free(&c);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    tc_buf_free(&specimen);
    tc_status_free(tc_remove_tree(root));
    return 0;
}

static void build(const tc_cc_options *o, tc_buf *out, bool *hit) {
    tc_status s = tc_cc_cached(specimen.data, specimen.len, TC_CC_SHARED, o, out, hit);
    if (s) fail_msg("%s\n%s", tc_status_message(s), tc_status_detail(s));
}

static void test_cache(void **state) {
    (void)state;
    tc_buf a = {0}, b = {0}, c = {0}, dir = {0};
    bool hit;
    tc_cc_options o = {.isa = "portable"}, other = {.isa = "portable", .cflags = "-O1"};
    build(&o, &a, &hit);
    assert_false(hit);
    build(&o, &b, &hit);
    assert_true(hit);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    build(&other, &c, &hit);
    assert_false(hit); /* flags are part of the key */
    assert_null(tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", &dir));
    char path[2][512];
    int n = 0;
    DIR *d = opendir(dir.data); /* damage every entry */
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        assert_true(n < 2);
        snprintf(path[n], sizeof path[n], "%s/%s", dir.data, e->d_name);
        FILE *f = fopen(path[n++], "r+b");
        fseek(f, 1000, SEEK_SET);
        int ch = fgetc(f);
        fseek(f, 1000, SEEK_SET);
        fputc(ch ^ 1, f);
        fclose(f);
    }
    closedir(d);
    c.len = 0;
    build(&o, &c, &hit);
    assert_false(hit);
    c.len = 0;
    build(&o, &c, &hit);
    assert_true(hit);
    assert_memory_equal(a.data, c.data, a.len);
    /* an entry under the name of another */
    tc_buf_printf(&dir, "/.aside");
    assert_int_equal(rename(path[0], dir.data) | rename(path[1], path[0]) | rename(dir.data, path[1]), 0);
    build(&o, &c, &hit);
    assert_false(hit);
    build(&other, &c, &hit);
    assert_false(hit);
    tc_buf_free(&a);
    tc_buf_free(&b);
    tc_buf_free(&c);
    tc_buf_free(&dir);
}

/* A new entry removes the least recently used ones until all fit, and what writers left that were killed long ago; nothing else in the folder. */
static void test_size(void **state) {
    (void)state;
    static const char *const text[] = {"char a[400000] = {1};", "char b[400000] = {1};", "char c[400000] = {1};"};
    static const int use[] = {0, 1, 0, 2, 0, 1}, hit[] = {0, 0, 1, 0, 1, 0}; /* 2 removes 1, since 0 was used again */
    tc_buf dir = {0}, other = {0}, left = {0};
    assert_null(tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", &dir));
    assert_null(tc_remove_tree(dir.data));
    assert_null(tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", &dir));
    tc_buf_printf(&other, "%s/tuning", dir.data);
    tc_buf_printf(&left, "%s/.%064d.tmp0", dir.data, 7);
    assert_null(tc_file_write(other.data, text, sizeof text));
    assert_null(tc_file_write(left.data, text, sizeof text));
    const struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, other.data, long_ago, 0) | utimensat(AT_FDCWD, left.data, long_ago, 0), 0);
    setenv("TC_CACHE_SIZE", "1", 1);
    for (size_t i = 0; i < sizeof use / sizeof *use; i++) {
        tc_buf out = {0};
        bool found;
        assert_null(tc_cc_cached(text[use[i]], strlen(text[use[i]]), TC_CC_OBJECT, &(tc_cc_options){.cflags = "-g0"}, &out, &found));
        if (found != hit[i]) fail_msg("use %zu, of text %d: %s", i, use[i], found ? "found" : "not found");
        tc_buf_free(&out);
        usleep(20000); /* times of files have the resolution of the kernel's tick */
    }
    unsetenv("TC_CACHE_SIZE");
    assert_int_equal(access(other.data, F_OK), 0);
    assert_int_equal(access(left.data, F_OK), -1);
    tc_buf_free(&dir);
    tc_buf_free(&other);
    tc_buf_free(&left);
}

/* Comments are no part of the key: a line added to the source of a model compiles nothing. Literals that look like them are. */
static void test_text(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool hit;
    } cases[] = {{"const char *s = \"/* a */\", q = '\"'; /* net.py:1 'x */\nint x;\n", false},
                 {"const char *s = \"/* a */\", q = '\"'; /* net.py:20 \" */\nint x;\n", true},
                 {"const char *s = \"/* a */\", q = '\"'; /* net.py:20\n*/\nint x;\n", false},
                 {"const char *s = \"/* b */\", q = '\"'; /* net.py:1 'x */\nint x;\n", false},
                 {"const char *s = \"/* \\\" a */\", q = '\"'; /* net.py:1 */\nint x;\n", false},
                 {"const char *s = \"/* a */\", q = '\"'; /* net.py:1 */\nint y;\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_buf out = {0};
        bool hit;
        assert_null(tc_cc_cached(cases[i].text, strlen(cases[i].text), TC_CC_OBJECT, &(tc_cc_options){0}, &out, &hit));
        if (hit != cases[i].hit) fail_msg("%s: %s", cases[i].text, hit ? "found" : "not found");
        tc_buf_free(&out);
    }
}

static void test_errors(void **state) {
    (void)state;
    tc_buf out = {0};
    tc_status s = tc_cc_build("int f( {", 8, TC_CC_SHARED, &(tc_cc_options){0}, &out);
    assert_int_equal(tc_status_code(s), TC_ENV);
    assert_non_null(strstr(tc_status_message(s), "cc.log"));
    assert_non_null(strstr(tc_status_detail(s), "error"));
    tc_status_free(s);
    s = tc_cc_build("", 0, TC_CC_SHARED, &(tc_cc_options){.cc = "no-such-compiler"}, &out);
    assert_int_equal(tc_status_code(s), TC_ENV);
    assert_non_null(strstr(tc_status_message(s), "no-such-compiler: no such compiler"));
    tc_status_free(s);
    s = tc_cc_build("", 0, TC_CC_SHARED, &(tc_cc_options){.isa = "z80"}, &out);
    assert_int_equal(tc_status_code(s), TC_USAGE);
    tc_status_free(s);
    tc_buf_free(&out);
}

static void test_trust(void **state) {
    (void)state;
    tc_buf so = {0}, dir = {0};
    bool hit;
    build(&(tc_cc_options){.isa = "portable"}, &so, &hit);
    tc_modules *m = tc_modules_create();
    const char *note;
    const tc_native_code code = {so.data, so.len, "portable", "scope"}, other = {so.data, so.len, "portable", "other"};
    assert_null(tc_modules_load(m, &code, false, &note));
    assert_string_equal(note, "this user did not compile it");
    assert_int_equal(tc_modules_groups(m), 0);
    assert_null(tc_trust_add(&code));
    assert_null(tc_modules_load(m, &other, false, &note));
    assert_non_null(note); /* the record is for one scope */
    assert_null(tc_modules_load(m, &code, false, &note));
    assert_null(note);
    assert_int_equal(tc_modules_groups(m), 1);
    uint8_t key[TC_ABI_KEY_BYTES] = {0x74, 0x63, 0x01};
    const tc_abi_group *g = tc_modules_find(m, key);
    assert_non_null(g);
    assert_string_equal(g->name, "g0_relu");
    key[5] = 1;
    assert_null(tc_modules_find(m, key));
    so.data[2000] ^= 1; /* another byte is other code */
    assert_null(tc_modules_load(m, &code, false, &note));
    assert_non_null(note);
    so.data[2000] ^= 1;
    assert_null(tc_user_dir("XDG_DATA_HOME", ".local/share", "tc-trusted", &dir));
    assert_int_equal(chmod(dir.data, 0755), 0); /* a record that others may read is none */
    assert_null(tc_modules_load(m, &code, false, &note));
    assert_non_null(note);
    assert_int_equal(tc_status_code(tc_trust_add(&code)), TC_ENV);
    assert_int_equal(chmod(dir.data, 0700), 0);
    tc_status s = tc_modules_load(m, &(tc_native_code){"\177ELF garbage", 12, "portable", ""}, true, &note);
    assert_int_equal(tc_status_code(s), TC_CONTENT);
    tc_status_free(s);
    tc_modules_destroy(m);
    tc_buf_free(&so);
    tc_buf_free(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cache), cmocka_unit_test(test_size), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_errors), cmocka_unit_test(test_trust)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
