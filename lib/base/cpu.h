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

/* A row's own products, or those of a line of the table that has a row: low to high, each has what the ones before it of the row have. */
typedef enum {
    TC_TILES_NONE,
#define X(name, row, flags) TC_TILES_##name,
    TC_ISA_TILES(X)
#undef X
        TC_TILES_COUNT
} tc_isa_tiles;

/* What a processor and an operating system answer; tests give others. */
typedef struct tc_cpu {
    void (*cpuid)(unsigned leaf, unsigned sub, unsigned out[4]); /* eax, ebx, ecx, edx of a leaf that it has */
    uint64_t (*saved)(void);                                     /* XCR0: register state that the system saves. Asked where CPUID has OSXSAVE */
    bool (*grant)(unsigned state);                               /* asks the system for state that a process gets on request: bit number of XCR0 */
} tc_cpu;
/* Every flag of a row, "-mavx2 -mfma", is of cpu.c's table and cpu has it and saves its state. A process asks for the state of AMX when
 * everything else is there, and keeps it. */
bool tc_cpu_runs(const tc_cpu *cpu, const char *flags);
extern const tc_cpu tc_cpu_here;
bool tc_cpu_has(const char *flags); /* this processor, this system */

const char *tc_isa_name(tc_isa_row row);
const char *tc_isa_flags(tc_isa_row row);                                         /* compiler flags, "-mavx2 -mfma -mf16c" */
const char *tc_isa_tiles_name(tc_isa_row row, tc_isa_tiles tiles);                /* the row's where there are none */
bool tc_isa_find(const char *name, tc_isa_row *out_row, tc_isa_tiles *out_tiles); /* a line of the table */
bool tc_isa_supported(tc_isa_row row);
bool tc_isa_tiles_supported(tc_isa_tiles tiles); /* with their row */
/* The best row that is supported and not above `cap`, a line's name; NULL: TC_ISA from the environment, or no cap.
 * TC_USAGE naming the lines when the cap is none. */
tc_status tc_isa_choose(const char *cap, tc_isa_row *out_row);
tc_status tc_isa_choose_tiles(const char *cap, tc_isa_row *out_row, tc_isa_tiles *out_tiles);
const char *tc_isa_chosen_name(void); /* of the line that is chosen without a cap of its own; "unknown" where TC_ISA is none */
/* Bytes of the L3 cache that a core of an AMD processor shares with others; 0: another maker's, or none. */
int64_t tc_cpu_amd_l3(const tc_cpu *cpu);
/* "Intel(R) Xeon(R) ...", for reports; "" when unknown. */
void tc_cpu_model(char out[64]);

#endif
