/* The default constants, measured on Intel processors with AVX-512 and 1 or 2 MiB of L2; what differs for AMD's; the table of names and ranges. */
#include "runtime/cost_model.h"

#define NEVER (INT64_C(1) << 40)
enum { MIB = 1 << 20 };
const tc_costs tc_costs_shipped = {.near_bytes = 384 << 10, .far_bytes = 4 * MIB, .chain_bytes = 4 * MIB, .task_ops = 65536, .table_uses = 4 << 16};

/* AMD's hardware prefetchers follow several streams from L3 better than our prefetch instructions do (Zen 4, 1M floats in L3, with and without ours:
 * clamp 214 and 127 us, smooth_l1_loss 848 and 470, layer norm 484 and 420). From memory, our prefetches still help reductions (softmax of 16M floats
 * 10.7 and 13.3 ms), but not chains (clamp 5.6 and 4.1 ms). */
tc_costs tc_costs_of(const tc_cpu *cpu) {
    tc_costs c = tc_costs_shipped;
    const int64_t l3 = tc_cpu_amd_l3(cpu);
    if (l3 > c.far_bytes) c.far_bytes = l3, c.chain_bytes = NEVER;
    return c;
}

const tc_cost_row tc_cost_rows[TC_COST_ROWS] = {{"near_bytes", offsetof(tc_costs, near_bytes), 0, INT64_C(1) << 30},
                                                {"far_bytes", offsetof(tc_costs, far_bytes), 0, NEVER},
                                                {"chain_bytes", offsetof(tc_costs, chain_bytes), 0, NEVER},
                                                {"task_ops", offsetof(tc_costs, task_ops), 1, NEVER},
                                                {"table_uses", offsetof(tc_costs, table_uses), 1, NEVER}};
