/* Detection of instruction sets: each compiler flag of a row of isa.tab is looked up here as a CPUID bit plus the register
 * state that the operating system must save for it. */
#include "base/cpu.h"

#include "base/mem.h"

static const struct {
    const char *name, *flags;
} rows[] = {
#define X(name, flags) {#name, flags},
    TC_ISA_ROWS(X)
#undef X
};

const char *tc_isa_name(tc_isa_row row) { return rows[row].name; }

#if defined(__x86_64__)
#include <cpuid.h>

enum { EBX = 1, ECX = 2, EDX = 3 };
enum { SSE = 0x2, AVX = 0x6, AVX512 = 0xe6, AMX = 0x60000 }; /* bits of XCR0 */

/* clang-format off */
static const struct { const char *flag; unsigned leaf, reg, bit, xcr0; } bits[] = {
    {"-mpclmul", 1, ECX, 1, SSE}, {"-mpopcnt", 1, ECX, 23, SSE}, {"-mavx", 1, ECX, 28, AVX}, {"-mfma", 1, ECX, 12, AVX}, {"-mf16c", 1, ECX, 29, AVX},
    {"-mavx2", 7, EBX, 5, AVX}, {"-mbmi2", 7, EBX, 8, SSE}, {"-mbmi", 7, EBX, 3, SSE},
    {"-mavx512f", 7, EBX, 16, AVX512}, {"-mavx512dq", 7, EBX, 17, AVX512}, {"-mavx512cd", 7, EBX, 28, AVX512},
    {"-mavx512bw", 7, EBX, 30, AVX512}, {"-mavx512vl", 7, EBX, 31, AVX512}, {"-mavx512vnni", 7, ECX, 11, AVX512},
    {"-mavx512vbmi", 7, ECX, 1, AVX512}, {"-mamx-bf16", 7, EDX, 22, AMX}, {"-mamx-tile", 7, EDX, 24, AMX}, {"-mamx-int8", 7, EDX, 25, AMX},
};
/* clang-format on */

static uint64_t saved_state(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return SSE;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}

static bool has_flag(const char *flag, size_t n) {
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        if (strlen(bits[i].flag) != n || memcmp(bits[i].flag, flag, n)) continue;
        unsigned r[4];
        if (!__get_cpuid_count(bits[i].leaf, 0, &r[0], &r[1], &r[2], &r[3])) return false;
        return (r[bits[i].reg] >> bits[i].bit & 1) && (saved_state() & bits[i].xcr0) == bits[i].xcr0;
    }
    return strncmp(flag, "-mprefer-", 9) == 0 || strncmp(flag, "-mtune", 6) == 0; /* an instruction set unknown here is not supported */
}

void tc_cpu_model(char out[64]) {
    unsigned r[12] = {0};
    bool ok = true;
    for (unsigned i = 0; i < 3; i++) ok = ok && __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
    memset(out, 0, 64);
    if (ok) memcpy(out, r, 48);
}
#else
static bool has_flag(const char *flag, size_t n) { return (void)flag, n == 0; }
void tc_cpu_model(char out[64]) { memset(out, 0, 64); }
#endif

bool tc_cpu_has(const char *flag) { return has_flag(flag, strlen(flag)); }

bool tc_isa_supported(tc_isa_row row) {
    for (const char *f = rows[row].flags; *f;) {
        size_t n = strcspn(f, " ");
        if (n && !has_flag(f, n)) return false;
        f += n + strspn(f + n, " ");
    }
    return true;
}

tc_status tc_isa_choose(const char *cap, tc_isa_row *out_row) {
    int top = TC_ROW_COUNT - 1;
    if (!cap) cap = getenv("TC_ISA");
    if (cap && *cap) {
        for (top = 0; top < TC_ROW_COUNT && strcmp(rows[top].name, cap); top++) {}
        if (top == TC_ROW_COUNT) {
            tc_buf b = {0};
            for (int i = 0; i < TC_ROW_COUNT; i++) tc_buf_printf(&b, "%s%s", i ? ", " : "", rows[i].name);
            tc_status s = tc_error(TC_USAGE, "instruction set '%s', expected one of %s", cap, tc_buf_str(&b));
            tc_buf_free(&b);
            return s;
        }
    }
    while (top > 0 && !tc_isa_supported((tc_isa_row)top)) top--;
    *out_row = (tc_isa_row)top;
    return NULL;
}
