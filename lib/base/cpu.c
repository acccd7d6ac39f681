/* Detection of instruction sets: each compiler flag of a row of isa.tab is looked up here as a CPUID bit plus the register
 * state that the operating system must save for it. */
#include "base/cpu.h"

#include "base/mem.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const struct {
    const char *name, *flags;
} rows[] = {
#define X(name, flags) {#name, flags},
    TC_ISA_ROWS(X)
#undef X
};

static const struct {
    const char *name;
    tc_isa_row row;
    const char *flags;
} tiles_of[] = {{NULL, TC_ROW_portable, ""},
#define X(name, row, flags) {#name, TC_ROW_##row, flags},
                TC_ISA_TILES(X)
#undef X
};

const char *tc_isa_name(tc_isa_row row) { return rows[row].name; }
const char *tc_isa_flags(tc_isa_row row) { return rows[row].flags; }
const char *tc_isa_tiles_name(tc_isa_row row, tc_isa_tiles tiles) { return tiles ? tiles_of[tiles].name : rows[row].name; }

#if defined(__x86_64__)
enum { EAX, EBX, ECX, EDX };
enum { SSE = 0x2, AVX = 0x6, AVX512 = 0xe6, AMX = 0x600e6, AMX_DATA = 18 }; /* bits of XCR0; the number of one */

/* clang-format off */
static const struct { const char *flag; unsigned leaf, sub, reg, bit, xcr0; } bits[] = {
    {"-mpclmul", 1, 0, ECX, 1, SSE}, {"-mpopcnt", 1, 0, ECX, 23, SSE},
    {"-mavx", 1, 0, ECX, 28, AVX}, {"-mfma", 1, 0, ECX, 12, AVX}, {"-mf16c", 1, 0, ECX, 29, AVX},
    {"-mavx2", 7, 0, EBX, 5, AVX}, {"-mbmi2", 7, 0, EBX, 8, SSE}, {"-mbmi", 7, 0, EBX, 3, SSE},
    {"-mavx512f", 7, 0, EBX, 16, AVX512}, {"-mavx512dq", 7, 0, EBX, 17, AVX512}, {"-mavx512cd", 7, 0, EBX, 28, AVX512},
    {"-mavx512bw", 7, 0, EBX, 30, AVX512}, {"-mavx512vl", 7, 0, EBX, 31, AVX512}, {"-mavx512vnni", 7, 0, ECX, 11, AVX512},
    {"-mavx512vbmi", 7, 0, ECX, 1, AVX512}, {"-mavx512bf16", 7, 1, EAX, 5, AVX512},
    {"-mamx-bf16", 7, 0, EDX, 22, AMX}, {"-mamx-tile", 7, 0, EDX, 24, AMX}, {"-mamx-int8", 7, 0, EDX, 25, AMX},
};
/* clang-format on */

static void ask_cpuid(unsigned leaf, unsigned sub, unsigned out[4]) { __cpuid_count(leaf, sub, out[0], out[1], out[2], out[3]); }
static uint64_t ask_saved(void) {
    unsigned a, d;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}
/* AMX must be requested from Linux (5.16), for the process and its threads. If the request fails (older kernels, system call filters), there is no
 * AMX. */
static bool ask_grant(unsigned state) {
    enum { REQ_XCOMP_PERM = 0x1023 }; /* of arch_prctl(2), asm/prctl.h */
    return syscall(SYS_arch_prctl, REQ_XCOMP_PERM, (unsigned long)state) == 0;
}
const tc_cpu tc_cpu_here = {ask_cpuid, ask_saved, ask_grant};

/* Cached answers of CPUID: under a hypervisor each query takes 10 us. */
typedef struct {
    const tc_cpu *cpu;
    struct {
        unsigned leaf, sub, r[4];
    } list[8];
    int n;
    bool knows_saved;
    uint64_t saved;
} answers;

/* The registers of a CPUID leaf that may not exist: leaf 0 (or 0x80000000) gives the last leaf, leaf 7 its last subleaf. */
static const unsigned *ask(answers *a, unsigned leaf, unsigned sub) {
    static const unsigned none[4];
    for (int i = 0; i < a->n; i++)
        if (a->list[i].leaf == leaf && a->list[i].sub == sub) return a->list[i].r;
    const unsigned first = leaf & 0x80000000;
    if (leaf != first && ask(a, first, 0)[EAX] < leaf) return none;
    if (leaf == 7 && sub && ask(a, 7, 0)[EAX] < sub) return none;
    TC_ASSERT(a->n < (int)(sizeof a->list / sizeof *a->list));
    a->list[a->n].leaf = leaf, a->list[a->n].sub = sub;
    a->cpu->cpuid(leaf, sub, a->list[a->n].r);
    return a->list[a->n++].r;
}
static uint64_t saved_state(answers *a) {
    if (!a->knows_saved) a->saved = ask(a, 1, 0)[ECX] >> 27 & 1 ? a->cpu->saved() : SSE; /* OSXSAVE */
    a->knows_saved = true;
    return a->saved;
}
/* The tile configuration of the kernels: palette 1 has 8 tiles of 16 rows of 64 bytes. */
static bool has_tiles(answers *a) {
    const unsigned *r = ask(a, 0x1d, 1);
    return r[EBX] >> 16 >= 8 && (r[EBX] & 0xffff) >= 64 && (r[ECX] & 0xffff) >= 16;
}
static bool has_flag(answers *a, const char *flag, size_t n) {
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        if (strlen(bits[i].flag) != n || memcmp(bits[i].flag, flag, n)) continue;
        if (!(ask(a, bits[i].leaf, bits[i].sub)[bits[i].reg] >> bits[i].bit & 1)) return false;
        if ((saved_state(a) & bits[i].xcr0) != bits[i].xcr0) return false;
        return bits[i].xcr0 != AMX || has_tiles(a);
    }
    return strncmp(flag, "-mprefer-", 9) == 0 || strncmp(flag, "-mtune", 6) == 0; /* an instruction set unknown here is not supported */
}
static bool runs(answers *a, const char *flags) {
    bool tiles = false;
    for (const char *f = flags; *f;) {
        size_t n = strcspn(f, " ");
        if (n && !has_flag(a, f, n)) return false;
        tiles |= n > 5 && !memcmp(f, "-mamx", 5);
        f += n + strspn(f + n, " ");
    }
    return !tiles || a->cpu->grant(AMX_DATA);
}

int64_t tc_cpu_amd_l3(const tc_cpu *cpu) {
    enum { CACHES = 0x8000001d, L3 = 3 };
    answers a = {.cpu = cpu};
    const unsigned *r = ask(&a, 0, 0);
    if (memcmp((unsigned[]){r[EBX], r[EDX], r[ECX]}, "AuthenticAMD", 12)) return 0;
    r = ask(&a, CACHES, L3);
    const int64_t ways = (r[EBX] >> 22) + 1, parts = (r[EBX] >> 12 & 0x3ff) + 1, line = (r[EBX] & 0xfff) + 1, sets = (int64_t)r[ECX] + 1;
    return (r[EAX] >> 5 & 7) == L3 ? ways * parts * line * sets : 0;
}

void tc_cpu_model(char out[64]) {
    unsigned r[12] = {0};
    bool ok = true;
    for (unsigned i = 0; i < 3; i++) ok = ok && __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
    memset(out, 0, 64);
    if (ok) memcpy(out, r, 48);
}
#else
typedef struct {
    const tc_cpu *cpu;
} answers;
const tc_cpu tc_cpu_here = {0};
static bool runs(answers *a, const char *flags) { return (void)a, !*flags; }
int64_t tc_cpu_amd_l3(const tc_cpu *cpu) { return (void)cpu, 0; }
void tc_cpu_model(char out[64]) { memset(out, 0, 64); }
#endif

bool tc_cpu_runs(const tc_cpu *cpu, const char *flags) { return runs(&(answers){.cpu = cpu}, flags); }
bool tc_cpu_has(const char *flags) { return tc_cpu_runs(&tc_cpu_here, flags); }

bool tc_isa_supported(tc_isa_row row) { return tc_cpu_has(rows[row].flags); }
bool tc_isa_tiles_supported(tc_isa_tiles tiles) {
    answers a = {.cpu = &tc_cpu_here};
    return !tiles || (runs(&a, rows[tiles_of[tiles].row].flags) && runs(&a, tiles_of[tiles].flags));
}

bool tc_isa_find(const char *name, tc_isa_row *out_row, tc_isa_tiles *out_tiles) {
    *out_tiles = TC_TILES_NONE;
    for (int i = 0; i < TC_ROW_COUNT; i++)
        if (!strcmp(rows[i].name, name)) return *out_row = (tc_isa_row)i, true;
    for (int i = 1; i < TC_TILES_COUNT; i++)
        if (!strcmp(tiles_of[i].name, name)) return *out_row = tiles_of[i].row, *out_tiles = (tc_isa_tiles)i, true;
    return false;
}

tc_status tc_isa_choose_tiles(const char *cap, tc_isa_row *out_row, tc_isa_tiles *out_tiles) {
    tc_isa_row row = TC_ROW_COUNT - 1;
    tc_isa_tiles tiles = TC_TILES_COUNT - 1;
    if (!cap) cap = getenv("TC_ISA");
    if (cap && *cap && !tc_isa_find(cap, &row, &tiles)) {
        tc_buf b = {0};
        for (int i = 0; i < TC_ROW_COUNT; i++) tc_buf_printf(&b, "%s%s", i ? ", " : "", rows[i].name);
        for (int i = 1; i < TC_TILES_COUNT; i++) tc_buf_printf(&b, ", %s", tiles_of[i].name);
        tc_status s = tc_error(TC_USAGE, "instruction set '%s', expected one of %s", cap, tc_buf_str(&b));
        tc_buf_free(&b);
        return s;
    }
    answers a = {.cpu = &tc_cpu_here};
    while (row > 0 && !runs(&a, rows[row].flags)) row--;
    while (tiles && (tiles_of[tiles].row != row || !runs(&a, tiles_of[tiles].flags))) tiles--;
    *out_row = row, *out_tiles = tiles;
    return NULL;
}
tc_status tc_isa_choose(const char *cap, tc_isa_row *out_row) {
    tc_isa_tiles tiles;
    return tc_isa_choose_tiles(cap, out_row, &tiles);
}
const char *tc_isa_chosen_name(void) {
    tc_isa_row row;
    tc_isa_tiles tiles;
    tc_status s = tc_isa_choose_tiles(NULL, &row, &tiles);
    const char *name = s ? "unknown" : tc_isa_tiles_name(row, tiles);
    tc_status_free(s);
    return name;
}
