/* Which rows of lib/isa.tab this processor and operating system can run. The rows are known from build/gen/isa_rows.h, made
 * from the table, so a new row needs its line in the table and its flags' bits in cpu.c. */
#ifndef TC_BASE_CPU_H
#define TC_BASE_CPU_H

#include "base/status.h"
#include "isa_rows.h" /* TC_ISA_ROWS(X): X(portable, "") X(avx2, "-mavx2 ...") ... */

typedef enum {
#define X(name, flags) TC_ROW_##name,
    TC_ISA_ROWS(X)
#undef X
        TC_ROW_COUNT
} tc_isa_row;

const char *tc_isa_name(tc_isa_row row);
bool tc_isa_supported(tc_isa_row row);
bool tc_cpu_has(const char *flag); /* of a compiler flag of cpu.c's table, "-mavx512vnni": the CPU and the system support it */
/* The best row that is supported and not above `cap`, a row's name; NULL: TC_ISA from the environment, or no cap.
 * TC_USAGE naming the rows when the cap is none. */
tc_status tc_isa_choose(const char *cap, tc_isa_row *out_row);
/* "Intel(R) Xeon(R) ...", for reports; "" when unknown. */
void tc_cpu_model(char out[64]);

#endif
