/* Which rows of lib/isa.tab this processor and operating system can run. The rows are known from build/gen/isa_rows.h, made
 * from the table, so a new row needs its line in the table and its flags' bits in cpu.c. */
#ifndef TC_BASE_CPU_H
#define TC_BASE_CPU_H

#include "base/status.h"
#include "isa_rows.h" /* TC_ISA_ROWS(X): X(portable, "") X(avx2, "-mavx2 ...") ...; TC_ISA_TILES(X): X(amx, avx512, "-mamx-tile ...") ... */

typedef enum {
#define X(name, flags) TC_ROW_##name,
    TC_ISA_ROWS(X)
#undef X
        TC_ROW_COUNT
} tc_isa_row;

/* The products of a row itself, or those of an extension line of the table, which belong to a row; in ascending order: each includes those before it
 * of the same row. */
typedef enum {
    TC_TILES_NONE,
#define X(name, row, flags) TC_TILES_##name,
    TC_ISA_TILES(X)
#undef X
        TC_TILES_COUNT
} tc_isa_tiles;

/* How the processor and the operating system are queried; tests replace it. */
typedef struct tc_cpu {
    void (*cpuid)(unsigned leaf, unsigned sub, unsigned out[4]); /* eax, ebx, ecx, edx of a leaf that it has */
    uint64_t (*saved)(void);       /* XCR0: the register state that the system saves. Called only if CPUID has OSXSAVE */
    bool (*grant)(unsigned state); /* requests state that a process gets on demand: bit number of XCR0 */
} tc_cpu;
/* Are all flags of a row ("-mavx2 -mfma") known to cpu.c's table, and does cpu have them and save their state? If all else is there, requests the
 * state of AMX, which the process keeps. */
bool tc_cpu_runs(const tc_cpu *cpu, const char *flags);
extern const tc_cpu tc_cpu_here;
bool tc_cpu_has(const char *flags); /* this processor, this system */

const char *tc_isa_name(tc_isa_row row);
const char *tc_isa_flags(tc_isa_row row);                                         /* compiler flags, "-mavx2 -mfma -mf16c" */
const char *tc_isa_tiles_name(tc_isa_row row, tc_isa_tiles tiles);                /* of the row if tiles is TC_TILES_NONE */
bool tc_isa_find(const char *name, tc_isa_row *out_row, tc_isa_tiles *out_tiles); /* a line of the table */
bool tc_isa_supported(tc_isa_row row);
bool tc_isa_tiles_supported(tc_isa_tiles tiles); /* with their row */
/* The best row that is supported and not above `cap`, a line's name; NULL: TC_ISA from the environment, or no cap.
 * TC_USAGE naming the lines when the cap is none. */
tc_status tc_isa_choose(const char *cap, tc_isa_row *out_row);
tc_status tc_isa_choose_tiles(const char *cap, tc_isa_row *out_row, tc_isa_tiles *out_tiles);
const char *tc_isa_chosen_name(void); /* name of the line chosen with cap NULL; "unknown" if TC_ISA names none */
/* Bytes of the L3 cache that cores of an AMD processor share; 0: another vendor, or none. */
int64_t tc_cpu_amd_l3(const tc_cpu *cpu);
/* "Intel(R) Xeon(R) ...", for reports; "" when unknown. */
void tc_cpu_model(char out[64]);

#endif
