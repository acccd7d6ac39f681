/* A row is chosen only where the processor has its flags and the operating system saves, and grants, the registers of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"

#if defined __x86_64__
static struct {
    unsigned leaf1_c, leaf7_b, leaf7_c, leaf7_d, leaf7_1a, tiles, rows; /* registers of CPUID; of leaf 0x1d: tiles and bytes of a row, rows */
    uint64_t xcr0;
    bool grants, has_1d;
    const char *maker;
    int asked_grant, asked_state, asked_cpuid;
} as;
static void cpuid(unsigned leaf, unsigned sub, unsigned out[4]) {
    memset(out, 0, 4 * sizeof *out);
    as.asked_cpuid++;
    if (leaf == 0) out[0] = as.has_1d ? 0x1d : 7, memcpy(&out[1], as.maker, 4), memcpy(&out[3], as.maker + 4, 4), memcpy(&out[2], as.maker + 8, 4);
    if (leaf == 1) out[2] = as.leaf1_c;
    else if (leaf == 7 && sub == 0) out[0] = 1, out[1] = as.leaf7_b, out[2] = as.leaf7_c, out[3] = as.leaf7_d;
    else if (leaf == 7 && sub == 1) out[0] = as.leaf7_1a;
    else if (leaf == 0x1d && sub == 1) out[0] = 8192 | 1024u << 16, out[1] = as.tiles, out[2] = as.rows;
    else if (leaf == 0x80000000) out[0] = 0x80000020;
    else if (leaf == 0x8000001d && sub == 3) out[0] = 3 | 3 << 5, out[1] = 63 | 15u << 22, out[2] = 32767;
}
static uint64_t saved(void) {
    as.asked_state++;
    return as.xcr0;
}
static bool grant(unsigned state) {
    as.asked_grant++;
    return state == 18 && as.grants;
}
static const tc_cpu fake = {cpuid, saved, grant};

static const char *flags_of(const char *name) {
#define X(line, flags) \
    if (!strcmp(name, #line)) return flags;
    TC_ISA_ROWS(X)
#undef X
#define X(line, row, flags) \
    if (!strcmp(name, #line)) return flags;
    TC_ISA_TILES(X)
#undef X
    fail_msg("no line %s", name);
    return NULL;
}
static bool runs(const char *name) { return tc_cpu_runs(&fake, flags_of(name)); }
/* Everything that a Sapphire Rapids under Linux has. */
static void everything(void) {
    memset(&as, 0, sizeof as);
    as.leaf1_c = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;
    as.leaf7_b = 1u << 5 | 1u << 8 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    as.leaf7_c = 1u << 11, as.leaf7_d = 1u << 22 | 1u << 24 | 1u << 25, as.leaf7_1a = 1u << 5;
    as.tiles = 64 | 8u << 16, as.rows = 16, as.has_1d = true;
    as.xcr0 = 0x602e7, as.grants = true, as.maker = "GenuineIntel";
}

static void all_there(void **s) {
    (void)s;
    everything();
    static const char *const names[] = {"portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        as.asked_grant = 0;
        assert_true(runs(names[i]));
        assert_int_equal(as.asked_grant, i == 5); /* nobody is asked for what is not used */
        assert_in_range(as.asked_cpuid, 0, 5);    /* a leaf once */
        as.asked_cpuid = 0;
    }
}
/* A line is lost with each of its bits, and none is asked of the system after that. */
static void one_bit_less(void **s) {
    (void)s;
    struct {
        unsigned *of;
        int bit;
        const char *lost, *kept; /* one line each, or NULL */
    } bits[] = {
        {&as.leaf7_d, 22, "amx", "avx512_bf16"}, {&as.leaf7_d, 24, "amx", "avx512_bf16"},
        {&as.leaf7_d, 25, "amx", "avx512_bf16"}, {&as.leaf7_1a, 5, "amx", "avx512_vnni"},
        {&as.leaf7_1a, 5, "avx512_bf16", NULL},  {&as.leaf7_c, 11, "avx512_vnni", "avx512"},
        {&as.leaf7_b, 16, "avx512", "avx2"},     {&as.leaf7_b, 5, "avx2", "portable"},
        {&as.leaf1_c, 12, "avx2", "portable"},   {&as.leaf1_c, 27 /* OSXSAVE */, "amx", "portable"},
        {&as.leaf1_c, 27, "avx2", "portable"},   {&as.leaf1_c, 27, "avx512_bf16", NULL},
    };
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        everything();
        *bits[i].of &= ~(1u << bits[i].bit);
        assert_false(runs(bits[i].lost));
        assert_int_equal(as.asked_grant, 0);
        if (bits[i].kept) assert_true(runs(bits[i].kept));
        if (bits[i].bit == 27) assert_int_equal(as.asked_state, 0); /* XGETBV would be an invalid instruction */
    }
}
static void state_not_saved(void **s) {
    (void)s;
    static const int amx[] = {17, 18}, vectors[] = {1, 2, 5, 6, 7};
    for (int i = 0; i < 2; i++) {
        everything();
        as.xcr0 &= ~((uint64_t)1 << amx[i]);
        assert_false(runs("amx"));
        assert_int_equal(as.asked_grant, 0);
        assert_true(runs("avx512_bf16"));
    }
    for (int i = 0; i < 5; i++) {
        everything();
        as.xcr0 &= ~((uint64_t)1 << vectors[i]);
        assert_false(runs("amx"));
        assert_false(runs("avx512_bf16"));
        assert_false(runs("avx512"));
        assert_int_equal(runs("avx2"), vectors[i] >= 5);
    }
}
static void refused(void **s) {
    (void)s;
    everything();
    as.grants = false;
    assert_false(runs("amx"));
    assert_int_equal(as.asked_grant, 1);
    assert_true(runs("avx512_bf16"));
    for (int i = 0; i < 3; i++) { /* other tiles than kernels configure */
        everything();
        if (i == 0) as.tiles = 64 | 4u << 16;
        if (i == 1) as.tiles = 32 | 8u << 16;
        if (i == 2) as.has_1d = false;
        assert_false(runs("amx"));
        assert_int_equal(as.asked_grant, 0);
    }
    assert_false(tc_cpu_runs(&fake, "-mavx -mno-such-thing"));
}
/* 16 ways of 32768 sets of 64 bytes, told by AMD's processors alone. */
static void shared_cache(void **s) {
    (void)s;
    everything();
    assert_int_equal(tc_cpu_amd_l3(&fake), 0);
    as.maker = "AuthenticAMD";
    assert_int_equal(tc_cpu_amd_l3(&fake), 32 << 20);
}
#endif

/* The cap's line, whatever this machine has; a name that is no line is told. */
static void caps(void **s) {
    (void)s;
    tc_isa_row row, top;
    tc_isa_tiles tiles;
    assert_null(tc_isa_choose_tiles("portable", &row, &tiles));
    assert_int_equal(row, TC_ROW_portable);
    assert_int_equal(tiles, TC_TILES_NONE);
    for (int t = 0; t < TC_TILES_COUNT; t++) { /* never above the cap, never what the machine has not got */
        assert_null(tc_isa_choose_tiles(t ? tc_isa_tiles_name(TC_ROW_portable, (tc_isa_tiles)t) : "avx512", &row, &tiles));
        assert_true((int)tiles <= t);
        assert_true(tc_isa_supported(row) && tc_isa_tiles_supported(tiles));
        if (tc_isa_tiles_supported((tc_isa_tiles)t) && row == TC_ROW_COUNT - 1) assert_int_equal(tiles, t);
    }
    assert_true(tc_isa_find("amx", &top, &tiles) && top == TC_ROW_avx512 && tiles == TC_TILES_amx);
    tc_status e = tc_isa_choose("avx3", &row);
    assert_non_null(e);
    assert_non_null(strstr(tc_status_message(e), "avx512, avx512_vnni, avx512_bf16, amx"));
    tc_status_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined __x86_64__
        cmocka_unit_test(all_there),
        cmocka_unit_test(one_bit_less),
        cmocka_unit_test(state_not_saved),
        cmocka_unit_test(refused),
        cmocka_unit_test(shared_cache),
#endif
        cmocka_unit_test(caps)
    };
    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
